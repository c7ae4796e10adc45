/* SPDX-License-Identifier: Apache-2.0 */
/* A random host on a random tree of queues, with its own books of what each task holds: from the
 * callback that starts it until it has stopped. It checks after each start, growth and run that no
 * queue holds more than its limit. */
#ifndef GANG_TESTS_SCHED_HOLDING_HOST_H
#define GANG_TESTS_SCHED_HOLDING_HOST_H

#include "chance.h"
#include "queue_tree.h"
#include "sched/host.h"

enum { HOLDING_NODES = 4, HOLDING_GPUS = 4, HOLDING_TASKS = 512 };

/* A task that holds its places. */
struct holding_task {
    gang_job_id job;
    gang_alloc_id alloc;
    int64_t number;
    int queue;  /* of its job */
    bool dying; /* asked to stop: it stops at some time */
};

struct holding {
    struct host h;
    struct queue_tree tree;
    struct holding_task task[HOLDING_TASKS];
    size_t tasks;
    int64_t busy, refused, stops;
    gang_job_id of_queue[4096]; /* by number of the job: its queue + 1 */
};

static struct holding holding;

static inline int holding_queue_of(gang_job_id job)
{
    return (int)holding.of_queue[job % 4096] - 1;
}

/* Milli-GPUs that tasks of the queue and below hold. */
static inline int64_t holding_sum(int q)
{
    int64_t sum = 0;
    for (size_t i = 0; i < holding.tasks; i++)
        sum += tree_is_below(&holding.tree, holding.task[i].queue, q) ? 1000 : 0;
    return sum;
}

static inline void holding_check(void)
{
    for (int q = 0; q < holding.tree.count; q++)
        if (holding.tree.spec[q].limit_count > 0)
            ck_assert_msg(holding_sum(q) <= holding.tree.limit[q].amount,
                          "queue %s holds %" PRId64 " of %" PRId64, holding.tree.spec[q].name,
                          holding_sum(q), holding.tree.limit[q].amount);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static inline bool holding_names(const struct gang_event *e, int64_t task)
{
    for (size_t i = 0; i < e->task_count; i++)
        if (e->tasks[i] == task)
            return true;
    return e->task_count == 0;
}

static inline int32_t holding_start(const struct gang_event *e, void *user)
{
    (void)user;
    const struct task_list *list = stage_tasks(&holding.h.stage, e->alloc);
    if (one_in(12)) {
        holding.refused++;
        return 1;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (!holding_names(e, list->task[i].task))
            continue;
        ck_assert_uint_lt(holding.tasks, HOLDING_TASKS);
        holding.task[holding.tasks++] = (struct holding_task){.job = e->job,
                                                              .alloc = e->alloc,
                                                              .number = list->task[i].task,
                                                              .queue = holding_queue_of(e->job)};
    }
    holding_check();
    return 0;
}

static inline bool holding_concerns(const struct holding_task *t, const struct gang_event *e)
{
    return t->job == e->job && t->alloc == e->alloc && holding_names(e, t->number);
}

static inline void holding_remove(const struct gang_event *e)
{
    size_t left = 0;
    for (size_t i = 0; i < holding.tasks; i++)
        if (!holding_concerns(&holding.task[i], e))
            holding.task[left++] = holding.task[i];
    holding.tasks = left;
}

static inline void holding_dies(const struct gang_event *e)
{
    for (size_t i = 0; i < holding.tasks; i++)
        if (holding_concerns(&holding.task[i], e))
            holding.task[i].dying = true;
}

static inline int32_t holding_stop(const struct gang_event *e, void *user)
{
    (void)user;
    holding.stops++;
    if (one_in(3)) {
        holding.busy++;
        return GANG_EBUSY;
    }
    if (one_in(3)) {
        holding_remove(e);
        return one_in(20) ? GANG_ENOENT : 1;
    }
    holding_dies(e);
    return 0;
}

static inline int32_t holding_suspend(const struct gang_event *e, void *user)
{
    return one_in(4) ? 1 : holding_stop(e, user);
}

static inline int32_t holding_kill(const struct gang_event *e, void *user)
{
    (void)user;
    if (one_in(3))
        return GANG_EBUSY;
    holding_dies(e); /* it confirms each kill later, or never while tests last */
    return 0;
}

static inline int32_t holding_state(const struct gang_event *e, void *user)
{
    (void)user;
    if (e->state == GANG_JOB_RUNNING || e->state == GANG_JOB_STOPPING)
        return 0;
    for (size_t i = 0; i < holding.tasks; i++)
        ck_assert_msg(holding.task[i].job != e->job, "job %" PRIu64 " is in state %d and holds",
                      e->job, e->state);
    return 0;
}

/* ---- the world ------------------------------------------------------------------------------- */

static inline void holding_open(void)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    memset(&holding, 0, sizeof(holding));
    opts.kill_wait_ns = -1;
    ops.start = ops.resume = ops.grow = holding_start;
    ops.preempt = ops.shrink = holding_stop;
    ops.suspend = holding_suspend;
    ops.kill = holding_kill;
    ops.state = holding_state;
    host_open_with(&holding.h, HOLDING_NODES, HOLDING_GPUS, &opts, &ops);
    tree_draw(&holding.tree, HOLDING_NODES * HOLDING_GPUS);
    host_queues(&holding.h, holding.tree.spec, (size_t)holding.tree.count);
}

static inline void holding_submit(void)
{
    int q = tree_some_leaf();
    int64_t count = 1 + below(6);
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_job_spec *job =
        host_spec(holding.tree.spec[q].name, count, 1 + below(count), below(4));
    gang_job_id id;
    job->preemptible = one_in(8)   ? GANG_NOT_PREEMPTIBLE
                       : one_in(4) ? GANG_SEMI_PREEMPTIBLE
                                   : GANG_PREEMPTIBLE;
    job->time_limit_ns = one_in(3) ? (5 + below(100)) * HOST_SECOND : 0;
    if (gang_job_submit(holding.h.s, job, &id, &error) != GANG_OK)
        return;
    holding.of_queue[id % 4096] = (gang_job_id)q + 1;
}

/* A task that is to stop has done so: the host reports it. */
static inline void holding_some_stop(int64_t seldom)
{
    for (size_t i = holding.tasks; i-- > 0;) {
        struct holding_task t = holding.task[i];
        if (!t.dying || !one_in(seldom))
            continue;
        gang_result r =
            gang_report_tasks(holding.h.s, t.job, 0, t.alloc, &t.number, 1, GANG_TASK_STOPPED);
        test_assert(r == GANG_OK || r == GANG_ESTALE);
        holding.task[i] = holding.task[--holding.tasks];
    }
}

/* A job that runs ends by itself, or is cancelled. */
static inline void holding_one_ends(void)
{
    gang_job_id job = holding.tasks ? holding.task[index_below(holding.tasks)].job : GANG_ID_NONE;
    size_t left = 0;
    if (job == GANG_ID_NONE)
        return;
    if (one_in(3)) {
        gang_result r = gang_job_cancel(holding.h.s, job);
        test_assert(r == GANG_OK || r == GANG_ESTALE);
        return;
    }
    gang_result r = gang_report_end(holding.h.s, job, 1);
    test_assert(r == GANG_OK || r == GANG_ESTALE);
    for (size_t i = 0; i < holding.tasks; i++)
        if (holding.task[i].job != job)
            holding.task[left++] = holding.task[i];
    holding.tasks = left;
}

static inline void holding_run(int64_t ns)
{
    host_run(&holding.h, ns);
    holding_check();
}

#endif
