/* SPDX-License-Identifier: Apache-2.0 */
/* A host that reports what really runs on its nodes, and notes the conflicts that it hears of. */
#ifndef GANG_TESTS_SCHED_PLACES_HOST_H
#define GANG_TESTS_SCHED_PLACES_HOST_H

#include "sched/host.h"

enum { PLACES = 64 };

static struct host h;
static struct gang_place_conflict told[PLACES];
static size_t told_count;
static int32_t last_code, rebound; /* of op log_entry; entries of GANG_LOG_REBOUND */

static inline int32_t note_conflict(const struct gang_place_conflict *c, void *user)
{
    ck_assert_ptr_eq(user, &h);
    ck_assert_uint_eq(c->size, sizeof(*c));
    ck_assert_int_eq(c->now_ns, h.now_ns);
    ck_assert_ptr_nonnull(c->text);
    ck_assert_uint_gt(strlen(c->text), 0);
    ck_assert_uint_lt(told_count, PLACES);
    told[told_count++] = *c;
    return 0;
}

static inline int32_t note_entry(const struct gang_log_entry *e, void *user)
{
    (void)user;
    last_code = e->code;
    rebound += e->code == GANG_LOG_REBOUND;
    return 0;
}

/* `nodes` machines of so many GPUs and twice the cores, which have no names. */
static inline void open_places(size_t nodes, size_t gpus)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    ops.conflict = note_conflict;
    ops.log_entry = note_entry;
    opts.default_queue = "default";
    host_open_with(&h, nodes, gpus, &opts, &ops);
    told_count = 0;
    rebound = last_code = 0;
}

static inline struct gang_task task_of(gang_job_id job, int64_t task)
{
    struct gang_task t = GANG_TASK_INIT;
    MUST(gang_alloc_task(h.stage.c, gang_job_alloc(h.s, job, 0), task, &t));
    return t;
}

/* A task of a job, on these devices. */
static inline struct gang_reported_place place_of(gang_job_id job, int64_t task, uint64_t gpus)
{
    struct gang_reported_place p = GANG_REPORTED_PLACE_INIT;
    p.job = job;
    p.task = task;
    p.any_devices = 0;
    p.gpus = gpus;
    return p;
}

static inline void report(gang_node_id node, const struct gang_reported_place *p, size_t count,
                          uint32_t flags)
{
    told_count = 0;
    MUST(gang_report_places(h.s, node, p, count, flags));
}

static inline uint64_t free_gpus(gang_node_id node)
{
    return stage_node(&h.stage, node).gpu_mask;
}

#endif
