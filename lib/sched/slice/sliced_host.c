/* SPDX-License-Identifier: Apache-2.0 */
/* One gang of a matrix: the host is asked to start, suspend, resume or kill it, and what follows if
 * it refuses. Passes (slice.c) decide when. */
#include <stdlib.h>

#include "place/alloc/alloc.h"
#include "sched/record/state.h"
#include "sched/slice/slice_in.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"

void gang__sliced_report(gang_sched *s, struct gang__gang *g, const char *text)
{
    gang__job_state(s, g->job, GANG_REASON_SLICE, text);
    gang__wake_job(s, g->job, GANG__WAKE_SETTLE);
}

void gang__sliced_suspended(gang_sched *s, struct gang__sliced *x)
{
    x->state = GANG__SLICED_OUT;
    x->killed = false;
    gang__heartbeat_forget_gang(s, x->gang->job, x->gang->index); /* of late reports */
    gang__sliced_report(s, x->gang, "its quantum is over");
}

/* List its tasks, without those that stop anyway. False: not now. */
static bool list_tasks(gang_sched *s, struct gang__sliced *x)
{
    struct gang__found *f = &s->found;
    gang_result r = gang__alloc_find(s->cluster, x->alloc, NULL, 0, f);
    if (r == GANG_OK &&
        !gang__grow(&s->mem, (void **)&x->still, &x->still_cap, f->count + 1, sizeof(*x->still)))
        r = GANG_ENOMEM;
    if (r != GANG_OK) { /* the next run tries again */
        s->no_memory = s->no_memory || r == GANG_ENOMEM;
        gang__wake_next_run(s);
        return false;
    }
    x->left = 0;
    for (size_t i = 0; i < f->count; i++)
        if (!gang__stop_asked(s, x->gang, f->task[i].task))
            x->still[x->left++] = f->task[i].task;
    return true;
}

static struct gang_event event_of(const gang_sched *s, const struct gang__sliced *x,
                                  const char *text)
{
    struct gang_event e = gang__event_of(s, x->gang, GANG_REASON_SLICE, text);
    e.deadline_ns = x->state == GANG__SLICED_STOPS ? x->deadline_ns : 0;
    return e;
}

/* The host did not suspend it: it is preempted like a victim. */
static void preempt(gang_sched *s, struct gang__sliced *x)
{
    struct gang__gang *g = x->gang;
    x->state = GANG__SLICED_RUNS;
    x->left = 0;
    gang__log_job(s, GANG_LOG_REFUSED, g->job,
                  "the host refused to suspend job %llu: it is preempted",
                  (unsigned long long)g->job->id);
    g->job->not_before_ns = gang__add_sat(s->now_ns, s->opts.refused_ns);
    if (gang__stop_tasks(s, g, NULL, 0, GANG_REASON_SLICE, GANG_END_NONE) == GANG_ENOMEM)
        s->no_memory = true;
    else
        gang__wake_slices(s);
}

static void ask_later(const gang_sched *s, struct gang__sliced *x)
{
    x->next_ns = gang__add_sat(s->now_ns, s->opts.stop_again_ns);
}

/* None of it runs: its job ends. If memory is short, the next run asks the host again. */
static void unknown_to_host(gang_sched *s, struct gang__sliced *x)
{
    if (gang__stop_unknown(s, x->gang) != GANG_ENOMEM)
        return;
    x->next_ns = s->now_ns;
    s->no_memory = true;
}

/* A gang that the host cannot suspend now keeps its places. Without a grace it has stopped when the
 * op returns, or is asked again without a deadline. */
static void ask(gang_sched *s, struct gang__sliced *x)
{
    int64_t grace = x->gang->job->leaf->q->grace_ns;
    if (x->deadline_ns == INT64_MAX)
        x->deadline_ns = gang__add_sat(s->now_ns, grace);
    struct gang_event e = event_of(s, x, "its quantum is over");
    int32_t answer = s->ops.suspend && x->left > 0 ? s->ops.suspend(&e, s->user) : GANG_OK;
    if (grace <= 0)
        x->deadline_ns = INT64_MAX;
    if (answer == GANG_EBUSY) {
        ask_later(s, x);
    } else if (answer == GANG_ENOENT) {
        unknown_to_host(s, x);
    } else if (answer != GANG_OK) {
        preempt(s, x);
    } else {
        x->next_ns = x->deadline_ns;
        if (!s->ops.suspend || grace <= 0)
            x->left = 0;
    }
}

void gang__sliced_suspend(gang_sched *s, struct gang__sliced *x)
{
    if (!list_tasks(s, x))
        return;
    x->state = GANG__SLICED_STOPS;
    x->killed = false;
    x->deadline_ns = INT64_MAX;
    gang__heartbeat_forget_gang(s, x->gang->job, x->gang->index);
    ask(s, x);
}

/* The grace has passed. */
static void kill_gang(gang_sched *s, struct gang__sliced *x)
{
    struct gang_event e = event_of(s, x, "the grace has passed");
    e.deadline_ns = 0;
    int32_t answer = s->ops.kill ? s->ops.kill(&e, s->user) : GANG_OK;
    if (answer == GANG_EBUSY) {
        ask_later(s, x);
    } else if (answer == GANG_ENOENT) {
        unknown_to_host(s, x);
    } else if (s->opts.kill_wait_ns == 0) {
        x->left = 0;
    } else {
        x->killed = true;
        x->next_ns =
            s->opts.kill_wait_ns < 0 ? INT64_MAX : gang__add_sat(s->now_ns, s->opts.kill_wait_ns);
    }
}

void gang__sliced_due(gang_sched *s, struct gang__sliced *x)
{
    if (!x->gang || x->state != GANG__SLICED_STOPS || x->left == 0 || x->next_ns > s->now_ns)
        return;
    if (x->killed) /* and the host has not reported it in time */
        x->left = 0;
    else if (x->deadline_ns > s->now_ns)
        ask(s, x);
    else
        kill_gang(s, x);
}

void gang__sliced_resume(gang_sched *s, struct gang__sliced *x)
{
    struct gang__gang *g = x->gang;
    x->state = GANG__SLICED_RUNS;
    struct gang_event e = event_of(s, x, "its quantum begins");
    e.state = GANG_JOB_RUNNING;
    if (s->ops.resume && s->ops.resume(&e, s->user) != 0) {
        gang__log_job(s, GANG_LOG_REFUSED, g->job, "the host refused to resume job %llu",
                      (unsigned long long)g->job->id);
        x->state = GANG__SLICED_OUT;
        x->refused = true;
        return;
    }
    gang__sliced_report(s, g, "its quantum begins");
}

static int32_t is_up(gang_node_id node, unsigned word, uint64_t payload, int64_t task, void *user)
{
    struct gang_node_info info = {.size = sizeof(info)};
    (void)word, (void)payload, (void)task;
    return gang_node_get(user, node, &info) == GANG_OK && info.state == GANG_NODE_UP ? 0 : 1;
}

void gang__sliced_start(gang_sched *s, struct gang__sliced *x)
{
    struct gang__gang *g = x->gang;
    if (gang__timeshare_each(s->cluster, x->alloc, is_up, s->cluster) > 0) {
        gang__slice_undo_grant(s, g);
        return;
    }
    x->state = GANG__SLICED_RUNS;
    s->first_quantum->start(s, g);
}

void gang__slice_undo_grant(gang_sched *s, struct gang__gang *g)
{
    gang__log_job(s, GANG_LOG_PLACES_LOST, g->job,
                  "the places of job %llu are gone before its first quantum: it waits again",
                  (unsigned long long)g->job->id);
    s->first_quantum->undo(s, g, s->now_ns);
}

void gang__slice_tasks_gone(gang_sched *s, struct gang__sliced *x, const int64_t *tasks,
                            size_t count)
{
    if (x->state != GANG__SLICED_STOPS)
        return;
    size_t kept = 0;
    for (size_t i = 0; tasks && i < x->left; i++)
        if (!bsearch(&x->still[i], tasks, count, sizeof(*tasks), gang__by_number))
            x->still[kept++] = x->still[i];
    x->left = kept;
    if (kept == 0)
        gang__wake_slices(s);
}
