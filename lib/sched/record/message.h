/* SPDX-License-Identifier: Apache-2.0 */
/* What other threads leave in the inbox (owner: intake). */
#ifndef GANG__SCHED_MESSAGE_H
#define GANG__SCHED_MESSAGE_H

#include "sched/record/types.h"

enum gang__message_what {
    GANG__MESSAGE_SUBMIT,
    GANG__MESSAGE_HOLD,
    GANG__MESSAGE_RELEASE,
    GANG__MESSAGE_CANCEL,
    GANG__MESSAGE_REQUEUE,
    GANG__MESSAGE_PRIORITY,
    GANG__MESSAGE_TARGET,
    GANG__MESSAGE_TIME_LIMIT,
    GANG__MESSAGE_ADD_TASKS,
    GANG__MESSAGE_COMPLETE,
    GANG__MESSAGE_TASKS,
    GANG__MESSAGE_END,
    GANG__MESSAGE_NODE_LOST,
    GANG__MESSAGE_NODE_UP,
    GANG__MESSAGE_NODE_DRAIN,
    GANG__MESSAGE_PLACES
};

/* The head of every message. */
struct gang__message {
    struct gang__message *next;
    enum gang__message_what what;
    int32_t how; /* GANG_TASK_*, success, GANG_PLACES_* */
};

/* Any message but that of submitted jobs, which lies in the first of them. */
struct gang__command {
    struct gang__message head;
    gang_job_id job;
    int64_t value; /* NODE_*, PLACES: the node */
    int64_t deadline_ns;
    uint64_t stamp; /* NODE_*: of the states of nodes, when it was left */
    gang_alloc_id alloc;
    uint32_t gang; /* index of the gang; ADD_TASKS: of the group in the job */
    size_t count;
    int64_t tasks[]; /* count of them; all: count is SIZE_MAX. PLACES: struct gang__real_place */
};

/* A place that a host reported, in a message: a row of numbers, like `tasks`. */
struct gang__real_place {
    uint64_t job;
    int64_t task, gang;
    int64_t any_devices, any_cores; /* 0 or 1 */
    uint64_t gpus;
    int64_t gpu_share; /* 1000: all of a device */
    int64_t cpu_milli, memory_bytes;
    uint64_t cores[GANG_MAX_CORES / 64];
};
enum { GANG__PLACE_WORDS = sizeof(struct gang__real_place) / sizeof(int64_t) };

static inline struct gang__command *gang__command_of(struct gang__message *m)
{
    return (struct gang__command *)(void *)m;
}

#endif
