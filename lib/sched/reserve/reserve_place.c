/* SPDX-License-Identifier: Apache-2.0 */
/* Placing a reservation in the calendar: for the first time, and its instances and lost pieces
 * again. */
#include <string.h>

#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/reserve/reserve_in.h"
#include "sched/wake/wake.h"

/* ---- what makes way -------------------------------------------------------------------------- */

/* The running jobs that the reservation may ignore. */
static void withdraw_jobs(struct gang__trial *t, const struct gang__reserve *r)
{
    struct gang__set_link *n = NULL;
    if (r->flags & GANG_RESERVATION_IGNORE_JOBS)
        n = gang__set_first(&t->s->by_id);
    for (; n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            const struct gang__gang *g = &job->gang[i];
            if (!g->reserve.inside_of && g->calendar.occupies)
                gang__trial_withdraw(t, g->calendar.occupies - 1);
            if (g->calendar.beside)
                gang__trial_withdraw(t, g->calendar.beside - 1);
        }
    }
}

/* The reservations that this one may overlap: those that were accepted before it. */
static void withdraw_older(struct gang__trial *t, const struct gang__reserve *r)
{
    if (!(r->flags & GANG_RESERVATION_OVERLAP))
        return;
    for (const struct gang__reserve *o = t->s->reserve.all->first; o; o = o->next)
        if (o != r && (!r->accepted || o->accepted <= r->accepted))
            gang__reserve_withdraw_from(t, o);
}

bool gang__reserve_fits(gang_sched *s, const struct gang__reserve *r,
                        const struct gang__occupation *o)
{
    bool fits = gang__timeline_fits(s->calendar->timeline, o);
    if (fits || !(r->flags & GANG_RESERVATION_OVERLAP))
        return fits;
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->timeline);
    withdraw_older(&t, r);
    fits = gang__timeline_fits(s->calendar->timeline, o);
    gang__trial_drop(&t);
    return fits;
}

/* ---- the first instances --------------------------------------------------------------------- */

/* From the begin of the first instance to its end. */
static int64_t first_span(const struct gang__admitted *got, int64_t *end_ns)
{
    int64_t begin_ns = INT64_MAX;
    *end_ns = INT64_MIN;
    for (size_t i = 0; i < got->count; i++) {
        const struct gang__admit_piece *p = &got->piece[i];
        if (p->instance > 0)
            continue;
        begin_ns = gang__min(begin_ns, p->start_ns);
        *end_ns = p->end_ns > *end_ns ? p->end_ns : *end_ns;
    }
    return *end_ns - begin_ns;
}

/* One instance has ended when the next one begins. If pieces of the first are further apart than
 * the period, it is asked for later, as late as the last of its pieces demands. */
static gang_result admit_apart(gang_sched *s, struct gang__reserve *r,
                               struct gang__reserve_request *request)
{
    enum { TRIES = 64 };
    struct gang__admitted *got = &s->reserve.all->got;
    int64_t end_ns;
    if (r->period_ns && r->start_ns >= 0)
        request->a.deadline_ns =
            gang__min(request->a.deadline_ns, gang__add_sat(r->start_ns, r->period_ns));
    gang_result w = gang__reserve_admit_whole(s, r, request);
    for (int i = 0; w == GANG_OK && r->period_ns; i++) {
        if (first_span(got, &end_ns) <= r->period_ns)
            return w;
        gang__admitted_undo(s->calendar->timeline, got);
        request->a.arrival_ns = end_ns - r->period_ns;
        got->why = GANG__ADMIT_BAD_PERIOD;
        w = i < TRIES ? gang__reserve_admit_whole(s, r, request) : GANG_ENOFIT;
    }
    return w;
}

gang_result gang__reserve_place_first(gang_sched *s, struct gang__reserve *r, int64_t until_ns,
                                      struct gang_error *error)
{
    struct gang__reserve_request request;
    struct gang__trial t;
    int64_t ahead = r->instances < GANG__RESERVE_AHEAD ? r->instances : GANG__RESERVE_AHEAD;
    gang__trial_begin(&t, s, s->calendar->timeline);
    gang_result w =
        gang__reserve_request_make(s, r, &request) ? gang__reserve_put_handovers(&t) : GANG_ENOMEM;
    request.a.period_ns = r->period_ns;
    request.a.instances = ahead;
    s->reserve.all->got.why = GANG__ADMIT_FITS;
    s->reserve.all->got.next_ns = GANG__NEVER;
    if (until_ns && r->period_ns && r->start_ns >= 0 &&
        w == GANG_OK) { /* not more than there are */
        int64_t times = (until_ns - r->start_ns + r->period_ns - 1) / r->period_ns;
        r->instances = times < r->instances ? times : r->instances;
        request.a.instances = times < ahead ? times : ahead;
    }
    if (w == GANG_OK && r->period_ns && request.a.instances < 1) {
        gang__trial_drop(&t);
        gang__reserve_request_free(s, &request);
        return gang__error(error, GANG_EINVAL, "until_ns", "before the first time");
    }
    if (w == GANG_OK) {
        gang__trial_withdraw_plans(&t, NULL);
        withdraw_jobs(&t, r);
        withdraw_older(&t, r);
        w = admit_apart(s, r, &request);
    }
    gang__trial_drop(&t);
    gang__reserve_request_free(s, &request);
    if (w != GANG_OK)
        return gang__reserve_refusal_text(&s->reserve.all->got, r, w, error);
    if (!gang__reserve_note_parts(s, r)) {
        gang__admitted_undo(s->calendar->timeline, &s->reserve.all->got);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    if (!gang__reserve_accept_pieces(s, r, 0, UINT32_MAX))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    r->next_instance = r->period_ns ? request.a.instances : 1;
    if (until_ns && r->period_ns && r->start_ns < 0) {
        int64_t times = until_ns <= r->first_ns
                            ? 0
                            : (until_ns - r->first_ns + r->period_ns - 1) / r->period_ns;
        r->instances = times < r->instances ? times : r->instances;
        for (struct gang__reserve_piece *p = r->piece, *next; p; p = next) {
            next = p->next;
            if (p->instance >= r->instances)
                gang__reserve_drop(s, r, p);
        }
        if (times == 0)
            return gang__error(error, GANG_ENOFIT, "until_ns", "before the first time");
    }
    return GANG_OK;
}

/* ---- again ----------------------------------------------------------------------------------- */

/* The groups of the answer get their numbers in the request: groups with no count were left out of
 * the question. */
static void name_groups(struct gang__admitted *got, const int64_t *count)
{
    for (size_t i = 0; i < got->place_count; i++) {
        uint32_t group = 0;
        for (uint32_t left = got->place[i].group;; group++)
            if (count[group] > 0 && left-- == 0)
                break;
        got->place[i].group = group;
    }
}

/* Place the reservation beside all others; otherwise over those that it may overlap and, with
 * `jobs`, over jobs that it may ignore. Planned starts make way. */
static gang_result admit_more(gang_sched *s, const struct gang__reserve *r,
                              const struct gang__admit_request *a, bool jobs)
{
    int32_t over = GANG_RESERVATION_OVERLAP | (jobs ? GANG_RESERVATION_IGNORE_JOBS : 0);
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->timeline);
    gang__trial_withdraw_plans(&t, NULL);
    gang_result w = gang__admit(s->calendar->timeline, a, &s->reserve.all->got);
    if (w != GANG_OK && w != GANG_ENOMEM && r->flags & over) {
        withdraw_older(&t, r);
        if (jobs)
            withdraw_jobs(&t, r);
        w = gang__admit(s->calendar->timeline, a, &s->reserve.all->got);
    }
    gang__trial_drop(&t);
    return w;
}

/* `jobs`: over jobs, too, if the reservation may ignore them. */
static gang_result place_portion(gang_sched *s, struct gang__reserve *r,
                                 const struct gang__reserve_portion *portion, bool jobs)
{
    uint32_t stage = portion->stage;
    const int64_t *count = portion->count;
    struct gang__reserve_request request;
    gang_result w = GANG_ENOMEM;
    if (gang__reserve_request_make(s, r, &request)) {
        request.a.usage = portion->booked ? NULL : r->usage;
        struct gang__admit_stage *one = &request.stage[stage];
        struct gang__time_group *group = request.group;
        for (uint32_t i = 0; i < stage; i++)
            group += r->stage[i].request ? r->stage[i].request->group_count : 0;
        uint32_t groups = 0; /* groups with a count */
        for (size_t g = 0; g < one->group_count; g++)
            if (count[g] > 0) {
                group[groups] = group[g];
                group[groups].count = count[g];
                groups++;
            }
        one->group_count = groups;
        one->duration_ns = portion->end_ns - portion->start_ns;
        one->gang = 0;
        request.a.stage = one;
        request.a.stage_count = 1;
        request.a.combine = GANG__ADMIT_ALL;
        request.a.prefer = GANG__ADMIT_EARLIEST;
        request.a.arrival_ns = portion->start_ns;
        request.a.deadline_ns = portion->end_ns;
        request.a.fixed = true;
        request.a.start_ns = portion->start_ns;
        w = admit_more(s, r, &request.a, jobs);
        if (w == GANG_OK && r->stage[stage].request)
            name_groups(&s->reserve.all->got, count);
    }
    gang__reserve_request_free(s, &request);
    if (w == GANG_OK && !gang__reserve_accept_pieces(s, r, portion->instance, stage))
        w = GANG_ENOMEM;
    return w == GANG_OK || w == GANG_ENOMEM ? w : GANG_ENOFIT;
}

gang_result gang__reserve_place_lost(gang_sched *s, struct gang__reserve *r,
                                     const struct gang__reserve_portion *portion)
{
    return place_portion(s, r, portion, false);
}

static void drop_instance(gang_sched *s, struct gang__reserve *r, int64_t instance)
{
    for (struct gang__reserve_piece *p = r->piece, *next; p; p = next) {
        next = p->next;
        if (p->instance == instance)
            gang__reserve_drop(s, r, p);
    }
}

/* The counts of each group for `gangs` gangs of a stage. */
static void scale(const struct gang__reserve_stage *stage, int64_t gangs, int64_t *count)
{
    for (uint32_t group = 0; stage->request && group < stage->request->group_count; group++)
        count[group] = stage->gang ? stage->count[group] / (stage->count[0] / stage->gang) * gangs
                                   : stage->count[group];
}

gang_result gang__reserve_place_instance(gang_sched *s, struct gang__reserve *r, int64_t instance)
{
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->timeline);
    gang_result w = gang__reserve_put_handovers(&t);
    for (size_t i = 0; i < r->part_count && w == GANG_OK; i++) {
        const struct gang__reserve_part *part = &r->part[i];
        const struct gang__reserve_stage *stage = &r->stage[part->stage];
        uint32_t groups = stage->request ? stage->request->group_count : 0;
        int64_t *count = gang__zalloc(&s->mem, groups + 1, sizeof(*count));
        int64_t start_ns = r->first_ns + instance * r->period_ns + part->offset_ns;
        w = !count ? GANG_ENOMEM : start_ns < s->now_ns ? GANG_ENOFIT : GANG_OK;
        if (count)
            scale(stage, part->gangs, count);
        if (w == GANG_OK)
            w = place_portion(s, r,
                              &(struct gang__reserve_portion){part->stage, count, instance,
                                                              start_ns,
                                                              start_ns + stage->duration_ns, false},
                              true);
        gang__release(&s->mem, count);
    }
    gang__trial_drop(&t);
    if (w != GANG_OK)
        drop_instance(s, r, instance);
    if (s->calendar->planned > 0)
        gang__wake_calendar(s); /* plans are made again where they were */
    return w;
}

gang_result gang__reserve_place_later(gang_sched *s, struct gang__reserve *r)
{
    struct gang__reserve_request request;
    gang_result w = gang__reserve_request_make(s, r, &request) ? GANG_OK : GANG_ENOMEM;
    request.a.usage = NULL;
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->timeline);
    withdraw_older(&t, r);
    if (w == GANG_OK)
        w = gang__reserve_admit_whole(s, r, &request);
    gang__trial_drop(&t);
    gang__reserve_request_free(s, &request);
    if (w == GANG_OK && !gang__reserve_accept_pieces(s, r, r->current, UINT32_MAX))
        w = GANG_ENOMEM;
    return w == GANG_OK || w == GANG_ENOMEM ? w : GANG_ENOFIT;
}
