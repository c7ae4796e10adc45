/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs belong to a reservation, and what their membership means for them. */
#include <string.h>

#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve_in.h"
#include "sched/wake/wake.h"

/* ---- membership ------------------------------------------------------------------------------ */

bool gang__reserve_allows(const gang_sched *s, const struct gang__reserve *r,
                          const struct gang__job *job)
{
    bool named = r->user_count == 0;
    if (r->flags & GANG_RESERVATION_MAINTENANCE)
        return false;
    for (size_t i = 0; i < r->user_count && !named; i++)
        named = strcmp(r->user[i], job->user) == 0;
    const struct gang__queue_state *queue =
        r->queue == GANG_ID_NONE ? NULL : gang__queue_state_of(s, r->queue);
    return named && (r->job == GANG_ID_NONE || r->job == job->id) &&
           (r->queue == GANG_ID_NONE || (queue && gang__queue_is_below(job->leaf, queue)));
}

/* Does a magnetic reservation match the job? */
bool gang__reserve_matches(const gang_sched *s, const struct gang__reserve *r,
                           const struct gang__job *job)
{
    return r->flags & GANG_RESERVATION_MAGNETIC && gang__reserve_allows(s, r, job);
}

bool gang__reserve_has_match(const gang_sched *s, const struct gang__gang *g)
{
    bool matches = g->job->reserve.named != NULL;
    for (const struct gang__reserve *r = s->reserve.count ? s->reserve.all->first : NULL;
         r && s->reserve.all->magnetic && !matches; r = r->next)
        matches = gang__reserve_matches(s, r, g->job);
    return matches;
}

uint64_t gang__reserve_class_salt(const gang_sched *s, const struct gang__gang *g)
{
    const struct gang__job *job = g->job;
    bool matches = false;
    for (const struct gang__reserve *r = s->reserve.all->first;
         r && s->reserve.all->magnetic && !matches; r = r->next)
        matches = gang__reserve_matches(s, r, job);
    if (matches || (job->leaf->q->backfill != GANG_BACKFILL_NONE && job->leaf->q->plan_depth > 1))
        return gang__hash_number(g->index, job->id) | 1;
    return gang__hash_number((uint64_t)job->time_limit_ns,
                             job->reserve.named ? job->reserve.named->id : 0) |
           1;
}

bool gang__reserve_may_try(const gang_sched *s, const struct gang__job *job)
{
    const struct gang__reserve *r = job->reserve.named;
    if (!r || r->flags & GANG_RESERVATION_FLEX)
        return true;
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].alloc != GANG_ID_NONE) /* it grows */
            return true;
    return gang__reserve_active(s, r);
}

bool gang__reserve_confines(const struct gang__gang *g)
{
    const struct gang__reserve *r = g->job->reserve.named;
    return g->reserve.inside_of || (r && !(r->flags & GANG_RESERVATION_FLEX));
}

bool gang__reserve_join(gang_sched *s, struct gang__job *job)
{
    if (job->reserve.id == GANG_ID_NONE)
        return true;
    job->reserve.named = gang__reserve_of(s, job->reserve.id);
    return job->reserve.named != NULL;
}

void gang__reserve_leave(gang_sched *s, const struct gang__job *job)
{
    for (struct gang__reserve *r = s->reserve.all ? s->reserve.all->first : NULL; r; r = r->next) {
        if (r->job == job->id)
            r->over = true;
        bool member = r->over || job->reserve.named == r;
        for (uint32_t i = 0; i < job->gang_count; i++)
            member = member || job->gang[i].reserve.inside_of == r;
        if (!member)
            continue;
        s->reserve.all->due_ns = s->now_ns;
        if (r->idle_since_ns != INT64_MAX)
            r->idle_since_ns = s->now_ns; /* idle since this member left */
    }
}

int64_t gang__reserve_running(const gang_sched *s, const struct gang__reserve *r)
{
    int64_t count = 0;
    bool flexible = r->flags & GANG_RESERVATION_FLEX;
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++)
            count +=
                (job->gang[i].reserve.inside_of == r || (flexible && job->reserve.named == r)) &&
                gang__gang_holds(&job->gang[i]) != GANG_ID_NONE;
    }
    return count;
}

int64_t gang__reserve_waiting(const gang_sched *s, const struct gang__reserve *r)
{
    int64_t count = 0;
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        count += job->reserve.named == r && job->counted_pending;
    }
    return count;
}

void gang__reserve_wake(gang_sched *s, struct gang__reserve *r)
{
    r->open = gang__reserve_active(s, r);
    for (struct gang__set_link *n = gang__set_first(&s->by_id), *next; n; n = next) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        next = gang__set_next(n);
        if (job->reserve.named == r && job->state != GANG_JOB_ENDED)
            gang__wake_job(s, job, GANG__WAKE_SETTLE);
    }
    gang__wake_calendar(s);
}

/* ---- until when a member runs ---------------------------------------------------------------- */

int64_t gang__reserve_inside_end(const struct gang__gang *g)
{
    if (!g->reserve.inside_of)
        return GANG__NEVER;
    int64_t end_ns = gang__reserve_end_of(g->reserve.inside_of, g->reserve.inside_of->current);
    if (end_ns == INT64_MIN) /* it lost all there was */
        return g->reserve.until_ns;
    return gang__min(end_ns, g->reserve.until_ns); /* it may have got more elsewhere */
}

int64_t gang__reserve_stop_ns(const struct gang__job *job)
{
    int64_t stop = INT64_MAX;
    for (uint32_t i = 0; i < job->gang_count && job->time_limit_ns <= 0; i++) {
        const struct gang__gang *g = &job->gang[i];
        int64_t end = g->alloc != GANG_ID_NONE ? gang__reserve_inside_end(g) : GANG__NEVER;
        if (end != GANG__NEVER && end - job->leaf->q->grace_ns < stop)
            stop = end - job->leaf->q->grace_ns;
    }
    return stop;
}

void gang__reserve_keep_end(gang_sched *s, struct gang__gang *g)
{
    struct gang__job *job = g->job;
    int64_t end_ns = gang__reserve_inside_end(g);
    if (g->reserve.inside_of)
        end_ns = gang__min(end_ns, g->reserve.inside_of->before_ns);
    if (job->time_limit_ns > 0 || g->alloc == GANG_ID_NONE || end_ns == GANG__NEVER)
        return;
    job->time_limit_ns = end_ns - job->leaf->q->grace_ns - job->started_ns;
    if (job->time_limit_ns < 1)
        job->time_limit_ns = 1;
    job->reserve.limit_kept = true;
    gang__wake_job(s, job, GANG__WAKE_TIMER);
}

void gang__reserve_forget_end(gang_sched *s, struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__gang *g = &job->gang[i];
        if (g->alloc != GANG_ID_NONE || g->stop.first || g->stop.moving)
            return;
    }
    for (uint32_t i = 0; i < job->gang_count; i++)
        gang__order_leave(s, &job->gang[i]);
    job->time_limit_ns = 0;
    job->reserve.limit_kept = false;
    gang__wake_calendar(s);
}
