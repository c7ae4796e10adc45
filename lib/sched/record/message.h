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
    GANG__MESSAGE_NODE_DRAIN
};

/* The head of every message. */
struct gang__message {
    struct gang__message *next;
    enum gang__message_what what;
    int32_t how; /* GANG_TASK_*, success */
};

/* Any message but that of submitted jobs, which lies in the first of them. */
struct gang__command {
    struct gang__message head;
    gang_job_id job;
    int64_t value; /* NODE_*: the node */
    int64_t deadline_ns;
    uint64_t stamp; /* NODE_*: of the states of nodes, when it was left */
    gang_alloc_id alloc;
    uint32_t gang; /* index of the gang; ADD_TASKS: of the group in the job */
    size_t count;
    int64_t tasks[]; /* count of them; all: count is SIZE_MAX */
};

static inline struct gang__command *gang__command_of(struct gang__message *m)
{
    return (struct gang__command *)(void *)m;
}

#endif
