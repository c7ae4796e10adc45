/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of other threads: a lock-free stack, which the owner takes as a whole. A thread that is
 * stopped while it submits holds up no other thread. commands.c puts commands and reports in,
 * submit.c jobs. */
#include "sched/intake/intake_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

void gang__inbox_put(gang_sched *s, struct gang__message *m)
{
    struct gang__message *first = gang__load(&s->intake.inbox);
    /* release -> gang__swap in gang__inbox_take_out(), which reads the message. A failure may be
     * relaxed: what it loads is only stored. */
    do
        m->next = first;
    while (!atomic_compare_exchange_weak_explicit(&s->intake.inbox, &first, m, memory_order_release,
                                                  memory_order_relaxed));
    if (!first && s->ops.wake)
        s->ops.wake(s->user);
}

bool gang__inbox_waits(const gang_sched *s)
{
    return s->intake.backlog || gang__load(&s->intake.inbox);
}

void gang__inbox_take_out(gang_sched *s)
{
    struct gang__message *m = gang__swap(&s->intake.inbox, NULL), *ordered = NULL;
    while (m) {
        struct gang__message *next = m->next;
        m->next = ordered;
        ordered = m;
        m = next;
    }
    struct gang__message **end = &s->intake.backlog;
    while (*end)
        end = &(*end)->next;
    *end = ordered;
}

/* Take in the jobs of the first message in the backlog. A job may be freed at once, and its message
 * with it: the next job carries the rest. False: not now, the rest is left. */
static bool take_jobs(gang_sched *s, struct gang__job *job)
{
    struct gang__message *after = s->intake.backlog->next;
    while (job) {
        struct gang__job *next = job->next;
        job->next = NULL;
        if (!gang__job_take(s, job)) {
            job->next = next;
            job->submit = (struct gang__message){after, GANG__MESSAGE_SUBMIT, 0};
            s->intake.backlog = &job->submit;
            return false;
        }
        job = next;
    }
    s->intake.backlog = after;
    return true;
}

static void set_priority(gang_sched *s, struct gang__job *job, int64_t priority)
{
    for (uint32_t i = 0; i < job->gang_count; i++) {
        gang__order_leave(s, &job->gang[i]);
        gang__victims_leave(&job->gang[i]);
    }
    job->priority = priority;
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].alloc != GANG_ID_NONE)
            gang__victims_enter(s, &job->gang[i]);
    gang__wake_preemption(s);
    gang__job_settle(s, job);
}

static void set_time_limit(gang_sched *s, struct gang__job *job, int64_t limit)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        gang__order_leave(s, &job->gang[i]);
    job->time_limit_ns = limit;
    job->reserve.limit_kept = false;
    for (uint32_t i = 0; i < job->gang_count; i++)
        gang__wake_holding(s, &job->gang[i]);
    gang__wake_calendar(s);
    gang__job_settle(s, job);
}

static bool holds_something(const struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].alloc != GANG_ID_NONE)
            return true;
    return false;
}

static bool report_tasks(gang_sched *s, struct gang__job *job, const struct gang__command *m)
{
    bool all = m->count == SIZE_MAX;
    const struct gang__task_report report = {m->gang, m->alloc, all ? NULL : m->tasks,
                                             all ? 0 : m->count, m->head.how};
    return gang__reports_tasks(s, job, &report);
}

/* False: not now. */
static bool command(gang_sched *s, struct gang__job *job, const struct gang__command *m)
{
    switch (m->head.what) {
    case GANG__MESSAGE_HOLD:
    case GANG__MESSAGE_RELEASE:
        job->held = m->head.what == GANG__MESSAGE_HOLD;
        gang__job_settle(s, job);
        return true;
    case GANG__MESSAGE_CANCEL:
        gang__job_stop(s, job, GANG_REASON_CANCEL, GANG_END_CANCELLED);
        return true;
    case GANG__MESSAGE_REQUEUE:
        if (holds_something(job) && !job->ending)
            gang__job_stop(s, job, GANG_REASON_REQUEUE, GANG_END_NONE);
        return true;
    case GANG__MESSAGE_PRIORITY:
        set_priority(s, job, m->value);
        return true;
    case GANG__MESSAGE_TARGET:
        return gang__reports_target(s, job, m->value);
    case GANG__MESSAGE_TIME_LIMIT:
        set_time_limit(s, job, m->value);
        return true;
    case GANG__MESSAGE_ADD_TASKS:
        return gang__announced_add(s, job, m->gang, m->value);
    case GANG__MESSAGE_COMPLETE:
        return gang__announced_complete(s, job);
    case GANG__MESSAGE_TASKS:
        return report_tasks(s, job, m);
    case GANG__MESSAGE_END:
        return gang__reports_end(s, job, m->head.how != 0);
    default:
        return true;
    }
}

static bool apply_message(gang_sched *s, const struct gang__command *m)
{
    enum gang__message_what what = m->head.what;
    if (what == GANG__MESSAGE_NODE_LOST)
        return gang__nodes_lost(s, (gang_node_id)m->value, m->stamp);
    if (what == GANG__MESSAGE_NODE_UP)
        return gang__nodes_up(s, (gang_node_id)m->value, m->stamp);
    if (what == GANG__MESSAGE_NODE_DRAIN)
        return gang__nodes_drain(s, (gang_node_id)m->value, m->stamp, m->deadline_ns);
    if (what == GANG__MESSAGE_PLACES)
        return gang__reports_places(s, (gang_node_id)m->value,
                                    (const struct gang__real_place *)(const void *)m->tasks,
                                    m->count / GANG__PLACE_WORDS, (uint32_t)m->head.how);
    struct gang__job *job = gang__job_of(s, m->job);
    if (job && job->state != GANG_JOB_ENDED)
        return command(s, job, m);
    /* A host may report that a task stopped when its kill was over already. */
    bool late = what == GANG__MESSAGE_TASKS && m->head.how == GANG_TASK_STOPPED;
    if (what == GANG__MESSAGE_TASKS || what == GANG__MESSAGE_END)
        gang__log_unknown(s, late ? GANG_LOG_LATE : GANG_LOG_IGNORED, m->job,
                          "a report about job %llu is ignored: it has ended, or does not exist",
                          (unsigned long long)m->job);
    return true;
}

/* Take in the first message of the backlog; it leaves the backlog if it was taken in. */
static bool take_first(gang_sched *s)
{
    struct gang__message *m = s->intake.backlog;
    if (m->what == GANG__MESSAGE_SUBMIT)
        return take_jobs(s, gang__message_job(m));
    if (!apply_message(s, gang__command_of(m)))
        return false;
    s->intake.backlog = m->next;
    gang__release(&s->mem, m);
    return true;
}

/* Prefetch: another processor wrote the next message while this one is taken in. */
static void fetch_next(const struct gang__message *m)
{
    const struct gang__message *next = m->next;
    if (!next)
        return;
    if (next->next)
        __builtin_prefetch(next->next);
    for (size_t at = 64; next->what == GANG__MESSAGE_SUBMIT &&
                         at < sizeof(struct gang__job) + sizeof(struct gang__gang);
         at += 64)
        __builtin_prefetch((const char *)gang__message_job(next) + at, 1);
}

/* Does the message only say that what the scheduler asked for was done, or that it goes on? Then it
 * is no event from outside: nothing changes that others wait for. */
static bool is_answer(const struct gang__message *m)
{
    return m->what == GANG__MESSAGE_TASKS &&
           (m->how == GANG_TASK_STOPPED || m->how == GANG_TASK_STARTED ||
            m->how == GANG_TASK_HEARTBEAT);
}

bool gang__inbox_step(gang_sched *s)
{
    const struct gang__message *m = s->intake.backlog;
    if (!m || !gang__run_step(s))
        return false;
    bool answers = is_answer(m);
    fetch_next(m);
    if (!take_first(s)) { /* again in the next run, and before all that came after it */
        s->no_memory = s->unfinished = true;
        return false;
    }
    s->info.messages++;
    gang__stats_add_all(s, GANG__STAT_MESSAGES, 1);
    if (!answers)
        gang__wake_event(s);
    return true;
}

void gang__inbox_free(gang_sched *s)
{
    gang__inbox_take_out(s);
    while (s->intake.backlog) {
        struct gang__message *m = s->intake.backlog;
        s->intake.backlog = m->next;
        if (m->what != GANG__MESSAGE_SUBMIT) {
            gang__release(&s->mem, m);
            continue;
        }
        for (struct gang__job *next, *job = gang__message_job(m); job; job = next) {
            next = job->next;
            gang__job_free(s, job);
        }
    }
}
