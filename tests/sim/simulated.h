/* SPDX-License-Identifier: Apache-2.0 */
/* A small cluster, a trace made by hand, and a simulation of both. */
#ifndef GANG_TESTS_SIM_SIMULATED_H
#define GANG_TESTS_SIM_SIMULATED_H

#include <gangsched/gangsched.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "support.h"

#define SECOND INT64_C(1000000000)

struct simulated {
    struct stage stage;
    gang_trace *trace;
    gang_sim *sim;
    struct gang_sim_opts opts;
    struct gang_sim_ops ops;
};

/* `nodes` of `gpus` GPUs each, 8 cores and 64 GiB. */
static inline void sim_open(struct simulated *s, int nodes, size_t gpus)
{
    const struct gang_sim_opts opts = GANG_SIM_OPTS_INIT;
    const struct gang_sim_ops ops = GANG_SIM_OPS_INIT;
    memset(s, 0, sizeof(*s));
    stage_open(&s->stage, NULL, 0);
    for (int i = 0; i < nodes; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        struct box box = {.name = name, .cpu = 8000, .memory = 64 * GIB, .gpus = gpus};
        stage_add(&s->stage, &box);
    }
    MUST(gang_trace_new(&s->stage.mem.mem, &s->trace));
    s->opts = opts;
    s->ops = ops;
}

static inline void sim_close(struct simulated *s)
{
    gang_sim_free(s->sim);
    gang_trace_free(s->trace);
    stage_close(&s->stage);
}

/* A job of `count` tasks with one GPU each; at least `min` must run. */
static inline void sim_job_of(struct simulated *s, const char *queue, int64_t submit_s,
                              int64_t run_s, int64_t count, int64_t min, int64_t limit_s,
                              const char *user)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_trace_job j = GANG_TRACE_JOB_INIT;
    g.count = count;
    g.min = min;
    g.gpu_milli = 1000;
    j.queue = queue;
    j.user = user;
    j.submit_ns = submit_s * SECOND;
    j.run_ns = run_s * SECOND;
    j.limit_ns = limit_s * SECOND;
    j.groups = &g;
    j.group_count = 1;
    MUST(gang_trace_add(s->trace, &j, NULL));
}

static inline void sim_job(struct simulated *s, int64_t submit_s, int64_t run_s, int64_t gpus)
{
    sim_job_of(s, NULL, submit_s, run_s, gpus, gpus, 0, NULL);
}

static inline void sim_make(struct simulated *s, void *user)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_sched_opts sched = GANG_SCHED_OPTS_INIT;
    sched.mem = &s->stage.mem.mem;
    if (!s->opts.sched)
        s->opts.sched = &sched;
    gang_result r = gang_sim_new(s->stage.c, &s->opts, &s->ops, user, &s->sim, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    r = gang_sim_add_trace(s->sim, s->trace, 0, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
}

/* To the end, or until a time. */
static inline struct gang_sim_info sim_run(struct simulated *s, int64_t until_s)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_sim_bounds bounds = GANG_SIM_BOUNDS_INIT;
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    bounds.has_until = until_s >= 0;
    bounds.until_ns = until_s * SECOND;
    gang_result r = gang_sim_run(s->sim, &bounds, &info, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", gang_result_name(r), error.text);
    return info;
}

static inline struct gang_sim_job sim_get(struct simulated *s, size_t index)
{
    struct gang_sim_job j = {.size = sizeof(j)};
    MUST(gang_sim_get_job(s->sim, index, &j));
    return j;
}

/* In whole seconds. */
#define ck_assert_time(ns, s) ck_assert_int_eq((ns), (s)*SECOND)

/* ---- text ---- */

struct text {
    char *bytes;
    size_t length, cap;
};

static inline int text_write(const char *bytes, size_t length, void *user)
{
    struct text *t = user;
    if (t->length + length + 1 > t->cap) {
        t->cap = (t->length + length + 1) * 2;
        t->bytes = realloc(t->bytes, t->cap);
        ck_assert_ptr_nonnull(t->bytes);
    }
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    t->bytes[t->length] = 0;
    return 0;
}

/* All that a simulation says, to be freed. */
static inline struct text sim_text(const gang_sim *sim)
{
    struct text t = {NULL, 0, 0};
    for (int32_t table = GANG_SIM_JOBS_CSV; table <= GANG_SIM_BATSIM_CSV; table++)
        MUST(gang_sim_write(sim, table, text_write, &t));
    MUST(gang_sim_write_summary(sim, NULL, 1, text_write, &t));
    return t;
}

/* A fork and its cluster end; both are sound. */
static inline void sim_end_fork(gang_sim *fork)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *c = gang_sim_cluster(fork);
    EXPECT_RESULT(gang_sched_check(gang_sim_sched(fork), &error), GANG_OK, &error);
    EXPECT_RESULT(gang_cluster_check(c, &error), GANG_OK, &error);
    gang_sim_free(fork);
    gang_cluster_free(c);
}

#endif
