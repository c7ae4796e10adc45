/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of gangs: the text of a request, and the class of all gangs with equal requests. */
#ifndef GANG__SCHED_REQUEST_CLASS_H
#define GANG__SCHED_REQUEST_CLASS_H

#include "sched/record/types.h"

/* An amount in one dimension of the queues. */
struct gang__take {
    uint32_t dim;
    int64_t amount;
};

/* A request as its submitter made it, and the text by which requests are compared. Consecutive
 * jobs that ask for the same share one. Any thread counts its references. */
struct gang__request_text {
    gang_request *request; /* with several partitions: in the first one */
    /* With several partitions (gang_job_spec.partitions): the text for each, with a reference. */
    struct gang__request_text **partition;
    uint32_t partition_count; /* 0: at most one */
    uint64_t hash;
    /* Added relaxed: the caller has one. Subtracted with acquire and release in
     * gang__request_text_unref(): each use comes before -> the subtraction of the last one, which
     * frees. */
    gang__a32 refs;
    uint32_t bytes;
    unsigned char key[];
};

/* The text of a request while it is made. Begins with the memory that it may use; what it needs
 * beyond `own` is freed by gang__request_key_free(). */
struct gang__request_key {
    const struct gang_mem *mem;
    unsigned char *bytes; /* `own`, or of `mem` */
    size_t used, cap;
    bool failed; /* out of memory, or too long */
    uint64_t hash;
    unsigned char own[768];
};

/* A request that was submitted lately: the next job that asks for the same shares it. */
struct gang__recent {
    /* 1: some thread reads or writes the rest; gang__store of 0 -> gang__try_lock; no thread
     * waits */
    gang__a32 lock;
    uint64_t epoch; /* of the cluster when it was made: names may mean something else later */
    struct gang__request_text *text; /* NULL: none */
};

/* Numbers of tasks of each group that together meet all minima of a request, and what they take. */
struct gang__choice {
    int64_t *tasks;
    struct gang__take *take;
    uint32_t take_count;
};

/* A request class: a request, and the amounts that it comes to in the dimensions of the queues.
 * All gangs that ask for the same refer to one, so that a start that found no capacity is
 * remembered for all of them. */
struct gang__request_class {
    struct gang__hash_link link; /* in sched.classes, by the hash of its text */
    gang_request *request;
    struct gang__request_text *text; /* its key; holds a reference to it */
    uint32_t refs;
    /* With several partitions: the class for each, with a reference. Gangs of this class wait; they
     * start with one of those. `take` then has what a task takes in each of the partitions. */
    struct gang__request_class **partition;
    uint32_t partition_count; /* 0: at most one */
    uint64_t config_of;       /* sched.config_count when `take` was made */
    bool by_memory; /* it asks for GPUs by memory: `take` and `gang_take` are upper bounds */
    bool exact;     /* every placement of the gang has `gang_tasks` */
    bool even;      /* every placement of the gang takes `gang_take` */
    struct gang__span {
        uint32_t from, count;
    } * group; /* of each group, in `take` */
    struct gang__take *take;
    uint32_t take_count;
    size_t take_cap;
    /* The least that any placement of the gang takes, in each dimension by itself. */
    struct gang__take *gang_take;
    uint32_t gang_take_count;
    int64_t *gang_tasks; /* tasks of each group in the gang; not exact: in its first choice */
    int64_t gang_gpu;    /* by_memory: milli-GPUs that any placement of the gang takes at least */
    /* Not even: the most that a placement takes, in each dimension by itself; and the choice that
     * is being tried, every `choice_stride`-th of all (usage/choices.c). */
    struct gang__take *most_take;
    uint32_t most_take_count, choice_stride;
    struct gang__choice choice;
    /* The minimum over all tasks: capacity that came free and is less does not help. */
    int64_t min_cpu, min_pages, min_gpu;
    struct gang__wait_class *blocked; /* its wait classes that are blocked for want of capacity */
    struct gang__wait_class *ready;   /* its wait classes that may be tried */
    struct gang__class_group *groups; /* groups of wait classes, where some wait for capacity */
    struct gang__request_class *next_blocked,
        **blocked_at; /* in sched.order.blocked_requests; NULL: it is not in it */
};

#endif
