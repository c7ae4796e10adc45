/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds of random jobs on a host that refuses, is slow, reports from within its callbacks and
 * about old allocations. Then it behaves: every job must end, and all capacity must be free. One
 * thread: a world always shows the same.
 *   GANG_SEED           the first world; without it the worlds are always the same
 *   GANG_TEST_SECONDS   how long, 1 by default; GANG_TEST_QUICK: WORLDS worlds */
#ifndef GANG_TESTS_SCHED_LIVENESS_H
#define GANG_TESTS_SCHED_LIVENESS_H

#include <time.h>

#include "chance.h"
#include "sched/host.h"

enum { NODES = 2, GPUS = 4, STEPS = 60, DRAIN = 400, OLD = 64, STUCK = 8, WORLDS = 10 };

static struct host host_of[2], *h = &host_of[0]; /* the second is for a host that is made anew */
static bool misbehaves, completes;               /* jobs that were announced, in the end */
static gang_alloc_id old_alloc[OLD];

static inline gang_job_id some_job(void)
{
    gang_job_id id = gang_job_next(h->s, GANG_ID_NONE);
    for (int64_t n = below(8); n > 0 && id != GANG_ID_NONE; n--)
        id = gang_job_next(h->s, id);
    return id != GANG_ID_NONE ? id : gang_job_next(h->s, GANG_ID_NONE);
}

/* A report about one task or all, of the present allocation or an old one. */
static inline void report(gang_job_id id, int32_t gang, gang_alloc_id alloc)
{
    static const int32_t what[] = {GANG_TASK_STARTED, GANG_TASK_SUCCEEDED, GANG_TASK_SUCCEEDED,
                                   GANG_TASK_FAILED,  GANG_TASK_STOPPED,   GANG_TASK_STOPPED,
                                   GANG_TASK_IDLE};
    int64_t task = below(4);
    bool all = below(3) == 0;
    MUST(gang_report_tasks(h->s, id, gang, alloc, all ? NULL : &task, !all, what[below(7)]));
}

/* In each callback, and at each grant that the host has not heard of. */
static inline void answer(struct host *host, const struct host_event *e)
{
    static const int32_t values[] = {1, GANG_EBUSY, GANG_ENOENT};
    host->refuse = NULL;
    host->lingers = misbehaves && below(2);
    if (!misbehaves)
        return;
    if (e->alloc != GANG_ID_NONE)
        old_alloc[below(OLD)] = e->alloc;
    if (below(4) == 0)
        report(e->job, e->part, below(2) ? e->alloc : GANG_ID_NONE);
    if (below(8) == 0)
        MUST(gang_job_set_target(h->s, e->job, below(4)));
    if (below(6) == 0) {
        host->refuse = e->op;
        host->answer = values[below(3)];
    }
}

static inline int64_t seconds(int64_t end)
{
    return (1 + below(end)) * HOST_SECOND;
}

/* Times and bounds of a job. */
static inline void bound(struct gang_job_spec *job)
{
    if (one_in(4))
        job->time_limit_ns = seconds(20);
    if (one_in(6))
        job->begin_ns = h->now_ns + seconds(10);
    if (one_in(8))
        job->deadline_ns = h->now_ns + seconds(60);
    if (one_in(4)) {
        job->start_within_ns = seconds(10);
        job->back_off_ns = below(2) * HOST_SECOND;
    }
    if (one_in(4))
        job->heartbeat_ns = seconds(5);
    if (one_in(3))
        job->refill_ns = seconds(5);
    if (one_in(3))
        job->restart_delay_ns = HOST_SECOND;
    if (one_in(5))
        job->parallelism = 1 + below(3);
}

static inline void command(gang_job_id id)
{
    switch (below(8)) {
    case 0:
        MUST(gang_job_hold(h->s, id));
        break;
    case 1:
    case 2:
        MUST(gang_job_release(h->s, id));
        break;
    case 3:
        MUST(gang_job_requeue(h->s, id));
        break;
    case 4:
        MUST(gang_job_set_priority(h->s, id, below(4)));
        break;
    case 5:
        if (below(4) == 0)
            MUST(gang_job_cancel(h->s, id));
        break;
    default:
        MUST(gang_job_set_target(h->s, id, below(6) - 1));
        break;
    }
}

static inline void change_node(void)
{
    gang_node_id node = host_node(h, (int)below(NODES));
    int64_t what = below(6);
    if (what == 0)
        MUST(gang_report_node_lost(h->s, node));
    else if (what == 1)
        MUST(gang_report_node_draining(h->s, node, h->now_ns + below(5) * HOST_SECOND));
    else
        MUST(gang_report_node_up(h->s, node));
}

static inline int32_t count_reason(const struct gang_wait *wait, void *user)
{
    (void)wait;
    ++*(int *)user;
    return 0;
}

/* What the host does for a job in the end. */
static inline void help(gang_job_id id)
{
    struct gang_job_info info = host_job_info(h, id);
    if (info.held)
        MUST(gang_job_release(h->s, id));
    if (completes)
        MUST(gang_job_complete(h->s, id));
    int32_t what = info.state == GANG_JOB_STOPPING ? GANG_TASK_STOPPED : GANG_TASK_SUCCEEDED;
    for (int32_t gang = 0; gang < 3; gang++)
        if (gang_job_alloc(h->s, id, gang) != GANG_ID_NONE || what == GANG_TASK_STOPPED)
            MUST(gang_report_tasks(h->s, id, gang, GANG_ID_NONE, NULL, 0, what));
}

static inline int print(const char *text, size_t size, void *user)
{
    (void)user;
    (void)!fwrite(text, 1, size, stderr);
    return 0;
}

static inline void say_why(gang_job_id id)
{
    (void)!gang_job_write_explanation(h->s, id, print, NULL);
    fputc('\n', stderr);
}

/* The oldest job that is left; it may wait without a reason for a few runs at most. */
static inline void look_at_first(uint64_t world, int *silent)
{
    int reasons = 0;
    gang_job_id id = gang_job_next(h->s, GANG_ID_NONE);
    if (id == GANG_ID_NONE || host_job_state(h, id) != GANG_JOB_PENDING)
        return;
    MUST(gang_job_explain(h->s, id, count_reason, &reasons));
    *silent = reasons ? 0 : *silent + 1;
    if (*silent == STUCK)
        say_why(id);
    ck_assert_msg(*silent < STUCK, "world %" PRIu64 ": job %" PRIu64 " waits without a reason",
                  world, id);
}

static inline void drain(uint64_t world)
{
    int silent = 0;
    misbehaves = false;
    for (int i = 0; i < NODES; i++)
        MUST(gang_report_node_up(h->s, host_node(h, i)));
    for (int i = 0; i < DRAIN && gang_job_next(h->s, GANG_ID_NONE) != GANG_ID_NONE; i++) {
        for (gang_job_id id = gang_job_next(h->s, GANG_ID_NONE); id != GANG_ID_NONE;
             id = gang_job_next(h->s, id))
            help(id);
        h->count = 0;
        host_run(h, i < DRAIN / 2 ? HOST_SECOND : INT64_C(60) * HOST_SECOND); /* back-off doubles */
        look_at_first(world, &silent);
    }
    gang_job_id left = gang_job_next(h->s, GANG_ID_NONE);
    for (gang_job_id id = left; id != GANG_ID_NONE; id = gang_job_next(h->s, id))
        say_why(id);
    ck_assert_msg(left == GANG_ID_NONE, "world %" PRIu64 ": job %" PRIu64 " is left in state %d",
                  world, left, left == GANG_ID_NONE ? -1 : host_job_state(h, left));
    host_run(h, INT64_C(10) * HOST_SECOND); /* fences end */
    ck_assert_int_eq(host_gpus_free(h), NODES * GPUS);
}

/* Lives in worlds for the time that is given. Returns how many. */
static inline uint64_t live_on(void (*live)(uint64_t world))
{
    const char *given = getenv("GANG_TEST_SECONDS");
    bool quick = getenv("GANG_TEST_QUICK") != NULL;
    double limit = given ? atof(given) : 1;
    uint64_t first = getenv("GANG_SEED") ? test_seed() : 1, worlds = 0;
    time_t from = time(NULL);
    do
        live(first + worlds++);
    while (quick ? worlds < WORLDS : difftime(time(NULL), from) < limit);
    printf("%" PRIu64 " worlds from seed %" PRIu64 "\n", worlds, first);
    return worlds;
}

#endif
