/* SPDX-License-Identifier: Apache-2.0 */
/* Audit of reservations: pieces are in order and in the calendar, members lie inside one that
 * exists. */
#include "sched/reserve/reserve_in.h"

static gang_result wrong(struct gang_error *error, const struct gang__reserve *r, const char *text)
{
    return gang__error(error, GANG_EINVAL, "reservations", "\"%s\": %s", r->name, text);
}

static gang_result check_one(const gang_sched *s, const struct gang__reserve *r,
                             struct gang_error *error)
{
    int64_t last = INT64_MIN;
    bool settled =
        s->calendar && s->calendar->timeline && !(s->wake.reservations & GANG__RESERVE_TIMELINE);
    if (!r->piece && !r->over && s->reserve.all->due_ns > s->now_ns)
        return wrong(error, r, "it has no pieces, and is not over");
    if (r->aside)
        return wrong(error, r, "it made way for an older one, and was not placed again");
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next) {
        if (p->start_ns < last || p->start_ns >= p->end_ns || p->stage >= r->stage_count)
            return wrong(error, r, "its pieces are out of order");
        if (settled && !p->id && p->run_count > 0)
            return wrong(error, r, "a piece of it is not in the calendar");
        last = p->start_ns;
    }
    for (const struct gang__reserve_gap *gap = r->gap; gap; gap = gap->next)
        for (uint32_t group = 0; group < gap->groups; group++)
            if (gap->stage >= r->stage_count || gap->count[group] < 0)
                return wrong(error, r, "a gap of it has a negative count");
    return GANG_OK;
}

static gang_result check_members(const gang_sched *s, struct gang_error *error)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        const struct gang__reserve *named = job->reserve.named;
        if (named && gang__reserve_of(s, named->id) != named)
            return gang__error(error, GANG_EINVAL, "reservations",
                               "job %llu waits for a reservation that does not exist",
                               (unsigned long long)job->id);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            const struct gang__gang *g = &job->gang[i];
            if (g->reserve.inside_of &&
                gang__reserve_of(s, g->reserve.inside_of->id) != g->reserve.inside_of)
                return gang__error(error, GANG_EINVAL, "reservations",
                                   "job %llu is inside a reservation that does not exist",
                                   (unsigned long long)job->id);
            if (g->calendar.beside && !g->reserve.inside_of)
                return gang__error(error, GANG_EINVAL, "reservations",
                                   "job %llu holds a kind beside a reservation, and is in none",
                                   (unsigned long long)job->id);
            if (g->reserve.inside_of && !g->reserve.inside_of->inside &&
                (g->calendar.occupies || g->calendar.plan))
                return wrong(error, g->reserve.inside_of,
                             "a member lies inside, and there is no timeline inside");
        }
    }
    return GANG_OK;
}

gang_result gang__reserve_check(gang_sched *s, struct gang_error *error)
{
    uint32_t count = 0, magnetic = 0;
    size_t gaps = 0;
    gang_result r = check_members(s, error);
    for (const struct gang__reserve *v = s->reserve.all ? s->reserve.all->first : NULL;
         v && r == GANG_OK; v = v->next) {
        count++;
        magnetic += (v->flags & GANG_RESERVATION_MAGNETIC) != 0;
        for (const struct gang__reserve_gap *gap = v->gap; gap; gap = gap->next)
            gaps++;
        r = check_one(s, v, error);
    }
    if (r == GANG_OK && s->reserve.all && gaps != s->reserve.all->gaps)
        return gang__error(error, GANG_EINVAL, "reservations", "%zu gaps, counted otherwise", gaps);
    if (r == GANG_OK &&
        (count != s->reserve.count || (count && magnetic != s->reserve.all->magnetic)))
        return gang__error(error, GANG_EINVAL, "reservations", "%u reservations, counted otherwise",
                           count);
    return r;
}
