/* SPDX-License-Identifier: Apache-2.0 */
/* Audit of gangs: waiting, stopping, handovers and timers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sched/explain/explain_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/usage/usage.h"

static gang_result wrong(struct gang_error *error, const struct gang__gang *g, const char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "jobs[%" PRIu64 "].gangs[%" PRIu32 "]", g->job->id, g->index);
    return gang__error(error, GANG_EINVAL, path, "%s", text);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Wait classes are to be sorted again, because reservations changed. */
static bool resorts(const gang_sched *s)
{
    return s->reserve.count > 0 && s->wake.reservations;
}

/* A bounded wait class has the sums of what its gangs lack. */
static bool class_counts(const struct gang__wait_class *class)
{
    for (uint32_t group = 0; group < class->request_class->request->group_count; group++) {
        int64_t lacks = 0;
        for (const struct gang__set_link *n = gang__set_first(&class->gangs); n;
             n = gang__set_next(n)) {
            const struct gang__gang *g = GANG__OF(struct gang__gang, order.link, n);
            lacks += g->demands ? gang__gang_lacks(g, group) : 0;
        }
        if (lacks != class->bounded.lacks[group])
            return false;
    }
    return true;
}

/* Announced tasks that have not come are counted, and only before the job has started. */
static const char *announced_fault(const struct gang__job *job)
{
    int64_t sum = 0;
    for (uint32_t group = 0; job->options->missing_of && group < job->group_count; group++)
        sum += job->options->missing_of[group];
    if (sum != job->missing)
        return "the sum of its missing tasks is wrong";
    return sum > 0 && job->started_ns > 0 ? "it has started, and tasks of it are missing" : NULL;
}

/* A gang that may be tried is in a wait class, unless memory was short, or its time came and no run
 * has been since. */
static const char *wait_fault(gang_sched *s, struct gang__gang *g)
{
    struct gang__job *job = g->job;
    bool settled = !s->wake.jobs && !s->unfinished && !s->no_memory && !job->undone &&
                   job->due_ns > s->now_ns && !resorts(s);
    const char *announced = announced_fault(job);
    if (announced)
        return announced;
    if (g->demands != (g->order.wait_class || g->stop.handover || g->stop.moving) && settled)
        return "its demand is counted, and it does not wait; or the reverse";
    if (settled && gang__job_may_wait(s, g) != (g->order.wait_class != NULL))
        return "it may be tried, and is in no wait class; or the reverse";
    if (job->ending && g->alloc != GANG_ID_NONE && !job->undone)
        return "the job is to end, and the gang was not asked to stop";
    if (g->starved && g->alloc != GANG_ID_NONE)
        return "it runs, and is marked as starved";
    if (gang__demand_is_bounded(g) && gang__wait_class_head(g->order.wait_class) == g &&
        !class_counts(g->order.wait_class))
        return "it is the first of a wait class that counts wrongly what its gangs lack";
    return NULL;
}

/* ---- stopping -------------------------------------------------------------------------------- */

static bool is_of(const struct gang__handover *handover, const struct gang__stop *stop)
{
    const struct gang__stop *listed = handover->stops;
    while (listed && listed != stop)
        listed = listed->next_of_handover;
    return listed != NULL;
}

static bool is_there(const gang_sched *s, const struct gang__handover *handover)
{
    const struct gang__handover *listed = s->stop.handovers;
    while (listed && listed != handover)
        listed = listed->next;
    return listed != NULL;
}

static bool ascends(const int64_t *task, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (task[i - 1] >= task[i])
            return false;
    return true;
}

static const char *one_stop_fault(const gang_sched *s, const struct gang__stop *stop)
{
    if (stop->stopped || stop->released || !stop->counted)
        return "a stop that is under way is marked as finished";
    if (stop->left == 0 || stop->left > stop->own_count)
        return "a stop under way has no task left to stop, or too many";
    if (!ascends(stop->own, stop->own_count) || !ascends(stop->still, stop->left))
        return "the task numbers of a stop are not ascending";
    if (stop->handover && (!is_there(s, stop->handover) || !is_of(stop->handover, stop)))
        return "a stop names a handover that does not list it";
    return NULL;
}

static const char *stop_fault(const gang_sched *s, const struct gang__gang *g)
{
    uint32_t unreleased = 0;
    int64_t fenced = 0;
    bool moves = false;
    for (const struct gang__stop *stop = g->stop.first; stop; stop = stop->next) {
        const char *fault =
            stop->gang == g ? one_stop_fault(s, stop) : "a stop of it names another gang";
        if (fault)
            return fault;
        unreleased++;
        fenced += stop->fenced ? (int64_t)stop->own_count : 0;
    }
    if (fenced != g->stop.fenced_tasks)
        return "its count of fenced tasks is wrong";
    for (const struct gang__handover *handover = s->stop.handovers; handover;
         handover = handover->next)
        for (const struct gang__stop *stop = handover->stops; stop; stop = stop->next_of_handover)
            if (stop->gang == g) {
                unreleased += stop->stopped && !stop->released;
                moves = moves || (g->stop.moving == stop && stop->to && stop->handover == handover);
            }
    for (const struct gang__stop *stop = s->stop.deferred; stop; stop = stop->next_of_handover)
        unreleased += stop->gang == g && stop->counted;
    for (const struct gang__stop *stop = s->stop.kept; stop; stop = stop->next_of_handover)
        unreleased += stop->gang == g;
    if (unreleased != g->stop.unreleased)
        return "its count of unreleased stops is wrong";
    if (g->stop.moving &&
        (!moves || (!g->stop.moving->tasks && g->alloc != GANG_ID_NONE) || g->job->ending))
        return "it is marked as moving, and no stop of it moves it";
    if (g->stop.handover &&
        (!is_there(s, g->stop.handover) || g->stop.handover->taker != g || g->job->ending))
        return "it waits for a handover of another gang";
    if (g->stop.handover && (g->stop.handover->grow_group >= 0) != (g->alloc != GANG_ID_NONE))
        return "its handover is for growth, and it does not run; or the reverse";
    return NULL;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static gang_result check_gang(gang_sched *s, struct gang__gang *g, struct gang_error *error)
{
    const char *fault = wait_fault(s, g);
    if (!fault)
        fault = stop_fault(s, g);
    return fault ? wrong(error, g, fault) : GANG_OK;
}

static gang_result check_job(gang_sched *s, struct gang__job *job, struct gang_error *error)
{
    gang_result r = GANG_OK;
    bool waits = false;
    for (uint32_t i = 0; i < job->gang_count && r == GANG_OK; i++) {
        r = check_gang(s, &job->gang[i], error);
        waits = waits || job->gang[i].order.wait_class || job->gang[i].stop.handover;
    }
    if (r != GANG_OK)
        return r;
    if (!s->wake.jobs && job->state != gang__job_state_now(job))
        return wrong(error, job->gang, "its state is not the one last reported to the host");
    if (!s->wake.jobs && job->paused != (job->state == GANG_JOB_SUSPENDED))
        return wrong(error, job->gang,
                     "it is suspended, and its pause is not counted; or the reverse");
    if (job->ready_ns >= 0 && !waits && job->missing == 0 && !job->undone)
        return wrong(error, job->gang, "it may be granted, and no gang of it waits");
    int64_t due_ns = job->due_ns; /* what has come is kept, see gang__timer_set() */
    if (!s->unfinished && !job->wake.at && due_ns > s->now_ns && due_ns > gang__timer_due(s, job))
        return wrong(error, job->gang, "an event of it is due before its timer");
    return GANG_OK;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static gang_result check_handovers(gang_sched *s, struct gang_error *error)
{
    int64_t promised = 0;
    for (const struct gang__handover *handover = s->stop.handovers; handover;
         handover = handover->next) {
        promised += handover->counted_promised;
        if (!handover->taker || handover->taker->stop.handover != handover || !handover->charged ||
            handover->place_count <= 0)
            return gang__error(error, GANG_EINVAL, "handovers",
                               "a handover has no taker, no places, or is not counted");
        if (handover->counted_promised && handover->taker->job->counted_running)
            return gang__error(error, GANG_EINVAL, "handovers",
                               "a taker that runs is counted as about to run");
        for (size_t i = 0; i < handover->hold_count; i++) {
            struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
            if (gang_alloc_get(s->cluster, handover->holds[i].alloc, &info) != GANG_OK)
                return gang__error(error, GANG_EINVAL, "handovers",
                                   "a kept place is not allocated");
        }
        for (const struct gang__stop *stop = handover->stops; stop; stop = stop->next_of_handover)
            if (stop->handover != handover)
                return gang__error(error, GANG_EINVAL, "handovers",
                                   "a handover lists a stop of another one");
    }
    if (promised != s->root.promised)
        return gang__error(error, GANG_EINVAL, "handovers",
                           "%" PRId64 " takers are about to run, not %" PRId64, promised,
                           s->root.promised);
    return GANG_OK;
}

static gang_result check_starved(gang_sched *s, struct gang_error *error)
{
    size_t count = 0, listed = 0;
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++)
            count += job->gang[i].starved != GANG__STARVED_NOT;
    }
    for (struct gang__gang **at = &s->bypass.starved; *at; at = &(*at)->bypass.next, listed++)
        if (!(*at)->starved || (*at)->bypass.at != at)
            return wrong(error, *at, "it is listed as starved, and is not");
    return count == listed
               ? GANG_OK
               : gang__error(error, GANG_EINVAL, "starved",
                             "%zu gangs are starved, and %zu are listed", count, listed);
}

static gang_result check_leaf(const struct gang__queue_state *q, struct gang_error *error)
{
    if (!gang__set_is_sorted(&q->victims) || !gang__set_is_sorted(&q->elastic_victims))
        return gang__error(error, GANG_EINVAL, q->q->name, "the victims are out of order");
    for (size_t b = 0; b < q->order.classes.cap; b++)
        for (const struct gang__hash_link *n = q->order.classes.bucket[b]; n; n = n->next) {
            const struct gang__wait_class *wait_class = GANG__OF(struct gang__wait_class, link, n);
            if (!gang__set_is_sorted(&wait_class->gangs))
                return gang__error(error, GANG_EINVAL, q->q->name,
                                   "the gangs of a wait class are out of order");
        }
    return GANG_OK;
}

gang_result gang__gangs_check(gang_sched *s, struct gang_error *error)
{
    gang_result r = check_handovers(s, error);
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n && r == GANG_OK;
         n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        if (job->state != GANG_JOB_ENDED)
            r = check_job(s, job, error);
    }
    for (uint32_t i = 0; i < s->queues->count && r == GANG_OK; i++)
        r = check_leaf(s->qs[i], error);
    return r == GANG_OK ? check_starved(s, error) : r;
}
