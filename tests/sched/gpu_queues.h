/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of queues with guarantees and limits in GPUs, built one by one. */
#ifndef GANG_TESTS_SCHED_GPU_QUEUES_H
#define GANG_TESTS_SCHED_GPU_QUEUES_H

#include "sched/host.h"

static struct gang_queue_spec queue[4];
static struct gang_quota quota[12];
static size_t queues, quotas;

static inline const struct gang_quota *gpus(int64_t count)
{
    quota[quotas] = (struct gang_quota){"gpu", count * 1000, NULL, 0, 0};
    return &quota[quotas++];
}

/* Guarantee and limit in GPUs; negative: none. */
static inline struct gang_queue_spec *add_gpu_queue(const char *name, const char *parent,
                                                    int64_t guarantee, int64_t limit)
{
    struct gang_queue_spec *q = &queue[queues++];
    *q = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
    q->name = name;
    q->parent = parent;
    q->guaranteed_count = guarantee >= 0;
    q->limit_count = limit >= 0;
    if (guarantee >= 0)
        q->guaranteed = gpus(guarantee);
    if (limit >= 0)
        q->limit = gpus(limit);
    return q;
}

#endif
