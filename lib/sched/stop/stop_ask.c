/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the host to stop tasks, and to kill those whose grace has passed.
 *
 * An answer decides what comes next: the host stops them (the grace begins), it cannot now
 * (GANG_EBUSY: it is asked again), it does not know them (GANG_ENOENT: they have stopped), or it
 * refuses (they count as stopped). */
#include "sched/stop/stop_in.h"
#include "sched/wake/wake.h"

enum { REFUSED = 1 }; /* an answer like any other that is not 0 and has no meaning of its own */

/* The host's op for this stop: shrink for single tasks; otherwise suspend or preempt, as the
 * queue says. */
static int32_t (*op_for(const gang_sched *s,
                        const struct gang__stop *stop))(const struct gang_event *, void *)
{
    if (stop->tasks)
        return s->ops.shrink;
    return stop->suspends ? s->ops.suspend : s->ops.preempt;
}

/* Of single tasks: those that have not stopped. Of a whole gang all that it shows have not. */
static struct gang_event event_of(gang_sched *s, const struct gang__stop *stop, const char *text)
{
    struct gang_event e = gang__event_of(s, stop->gang, stop->reason, text);
    e.alloc = stop->alloc;
    e.tasks = stop->tasks ? stop->still : NULL;
    e.task_count = stop->tasks ? stop->left : 0;
    e.state = gang__job_state_now(stop->gang->job);
    e.preemptor = stop->because;
    e.end = stop->end;
    return e;
}

static bool is_refusal(int32_t answer)
{
    return answer != GANG_OK && answer != GANG_EBUSY && answer != GANG_ENOENT;
}

/* Asks the host to stop the tasks. Returns its answer. */
static int32_t ask(gang_sched *s, struct gang__stop *stop)
{
    struct gang__gang *g = stop->gang;
    struct gang_event e = event_of(s, stop, "asked to stop");
    e.deadline_ns = stop->deadline_ns;
    int32_t (*op)(const struct gang_event *, void *) = op_for(s, stop);
    int32_t answer = op ? op(&e, s->user) : REFUSED;
    if (stop->suspends && is_refusal(answer) && g->places) { /* preempt it instead */
        stop->suspends = false;
        gang__places_forget(s, g);
        answer = s->ops.preempt ? s->ops.preempt(&e, s->user) : REFUSED;
    }
    return answer;
}

void gang__stop_unknown_to_host(gang_sched *s, struct gang__stop *stop)
{
    struct gang__job *job = stop->gang->job;
    gang__log_job(s, GANG_LOG_UNKNOWN, job, "the host does not know what is to stop of job %llu",
                  (unsigned long long)job->id);
    if (stop->tasks)
        return;
    if (stop->suspends)
        gang__places_forget(s, stop->gang);
    for (uint32_t i = 0; i < job->gang_count; i++) /* none of them starts again */
        gang__move_end(s, &job->gang[i]);
    gang__wake_job(s, job, GANG__WAKE_SETTLE);
    job->ending = true;
    if (job->end_wanted == GANG_END_NONE) {
        job->end_wanted = GANG_END_FAILED;
        job->stop_reason = GANG_REASON_END;
    }
}

/* The tasks are asked, or killed, once more. */
static void again_later(gang_sched *s, struct gang__stop *stop)
{
    stop->next_ns = gang__add_sat(s->now_ns, s->opts.stop_again_ns);
}

/* The host kills all that the gang has, with the tasks that were asked to stop before: it is not
 * asked for those again. */
static void killed_all(gang_sched *s, const struct gang__stop *stop)
{
    for (struct gang__stop *o = stop->gang->stop.first; o && !stop->tasks; o = o->next)
        if (!o->killed && !o->fenced) {
            o->killed = true;
            o->next_ns = stop->next_ns;
        }
    gang__wake_holding(s, stop->gang);
}

/* The grace has passed. Returns whether the tasks have stopped. */
static bool kill_tasks(gang_sched *s, struct gang__stop *stop)
{
    struct gang_event e = event_of(s, stop, "the grace has passed");
    int32_t answer = s->ops.kill ? s->ops.kill(&e, s->user) : GANG_OK;
    if (answer == GANG_EBUSY) {
        again_later(s, stop);
        return false;
    }
    if (answer == GANG_ENOENT)
        gang__stop_unknown_to_host(s, stop);
    if (answer == GANG_ENOENT || s->opts.kill_wait_ns == 0)
        return true;
    stop->killed = true;
    stop->next_ns =
        s->opts.kill_wait_ns < 0 ? INT64_MAX : gang__add_sat(s->now_ns, s->opts.kill_wait_ns);
    killed_all(s, stop);
    return false;
}

/* The host was asked to stop the tasks. Returns whether they have stopped. */
static bool take_answer(gang_sched *s, struct gang__stop *stop, int32_t answer)
{
    if (answer == GANG_EBUSY) {
        again_later(s, stop);
        return false;
    }
    if (answer == GANG_ENOENT)
        gang__stop_unknown_to_host(s, stop);
    if (answer != GANG_OK)
        return true;
    stop->next_ns = stop->deadline_ns;
    return stop->deadline_ns <= s->now_ns && kill_tasks(s, stop);
}

bool gang__stop_ask(gang_sched *s, struct gang__stop *stop)
{
    return take_answer(s, stop, ask(s, stop));
}

bool gang__stop_ask_again(gang_sched *s, struct gang__stop *stop)
{
    if (stop->fenced)
        return gang__fence_passed(s, stop);
    if (stop->killed) /* and the host has not reported it in time */
        return true;
    return stop->deadline_ns <= s->now_ns ? kill_tasks(s, stop) : gang__stop_ask(s, stop);
}
