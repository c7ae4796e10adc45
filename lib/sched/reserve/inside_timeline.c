/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline inside a reservation: its nodes have what is reserved of them, and all of that is
 * taken before the reservation begins, between its stages and after its end. */
#include <stdlib.h>
#include <string.h>

#include "sched/calendar/calendar.h"
#include "sched/reserve/reserve_in.h"
#include "sched/wake/wake.h"

/* ---- making it ------------------------------------------------------------------------------- */

/* Amounts of each slot: GANG__FREE_KINDS, and calendar.more.count further ones. */
struct amounts {
    int64_t *of, *more;
};

static void raise_to(int64_t *amount, int64_t by, int64_t most)
{
    *amount = *amount + by < most ? *amount + by : most;
}

/* The reserved capacity of each node at a time, for the current instance. */
static bool amounts_at(gang_sched *s, const struct gang__reserve *r, int64_t at_ns,
                       const struct amounts *amount)
{
    const struct gang__calendar *cal = s->calendar;
    struct gang__occupation o;
    uint32_t more = cal->more.count;
    memset(amount->of, 0, (size_t)cal->end * GANG__FREE_KINDS * sizeof(*amount->of));
    memset(amount->more, 0, (size_t)cal->end * more * sizeof(*amount->more));
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next) {
        if (p->instance != r->current || p->start_ns > at_ns || p->end_ns <= at_ns)
            continue;
        if (!gang__reserve_lay_out(s, r, p, &o))
            return false;
        for (size_t i = 0; i < o.place_count; i++) {
            const struct gang__time_place *at = &o.place[i];
            const struct gang__time_group *g = &o.group[o.whole ? 0 : at->group];
            size_t first = (size_t)at->node * GANG__FREE_KINDS;
            for (size_t k = 0; k < GANG__FREE_KINDS; k++)
                raise_to(&amount->of[first + k],
                         o.whole ? cal->capacity[first + k] : g->need[k] * at->tasks,
                         cal->capacity[first + k]);
            first = (size_t)at->node * more;
            for (size_t k = 0; k < more; k++)
                raise_to(&amount->more[first + k],
                         o.whole ? cal->more_capacity[first + k] : g->more[k] * at->tasks,
                         cal->more_capacity[first + k]);
        }
    }
    return true;
}

/* From one time to another, all capacity of its nodes except `amount` is taken. */
static bool bar(gang_sched *s, struct gang__timeline *inside, const struct amounts *most,
                const struct amounts *amount, int64_t from_ns, int64_t to_ns)
{
    uint32_t more = s->calendar->more.count;
    uint32_t end = s->calendar->end, n = 0, id;
    struct gang__time_group *group = gang__zalloc(&s->mem, end + 1, sizeof(*group));
    struct gang__time_place *place = gang__zalloc(&s->mem, end + 1, sizeof(*place));
    bool done = group && place;
    for (uint32_t slot = 0; slot < end && done; slot++) {
        bool some = false;
        group[n] = (struct gang__time_group){.count = 1};
        for (int k = 0; k < GANG__FREE_KINDS; k++) {
            size_t at = (size_t)slot * GANG__FREE_KINDS + (size_t)k;
            group[n].need[k] = most->of[at] - (amount ? amount->of[at] : 0);
            some = some || group[n].need[k] > 0;
        }
        for (uint32_t k = 0; k < more; k++) {
            size_t at = (size_t)slot * more + k;
            group[n].more[k] = most->more[at] - (amount ? amount->more[at] : 0);
            some = some || group[n].more[k] > 0;
        }
        place[n] = (struct gang__time_place){slot, n, 1};
        n += some;
    }
    struct gang__occupation o = {from_ns, to_ns, group, n, place, n, 0, false};
    if (done && n > 0)
        done = gang__timeline_add(inside, &o, &id) == GANG_OK;
    gang__release(&s->mem, group);
    gang__release(&s->mem, place);
    return done;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* List the instants at which a piece begins or ends, each once. Without `time`, only count them,
 * with repeats. */
static size_t list_times(const struct gang__reserve *r, int64_t *time)
{
    size_t n = 0, kept = 0;
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
        if (p->instance == r->current) {
            if (time) {
                time[n] = p->start_ns;
                time[n + 1] = p->end_ns;
            }
            n += 2;
        }
    if (!time)
        return n;
    qsort(time, n, sizeof(*time), by_time);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || time[kept - 1] != time[i])
            time[kept++] = time[i];
    return kept;
}

/* Its nodes have the most that is reserved of them at any time; the rest is taken, all of it before
 * and after. */
static bool make_inside(gang_sched *s, struct gang__reserve *r, int64_t *time,
                        const struct amounts *most, const struct amounts *amount)
{
    size_t n = list_times(r, time), end = s->calendar->end;
    uint32_t more = s->calendar->more.count;
    for (size_t i = 0; i + 1 < n; i++) {
        if (!amounts_at(s, r, time[i], amount))
            return false;
        for (size_t k = 0; k < end * GANG__FREE_KINDS; k++)
            most->of[k] = amount->of[k] > most->of[k] ? amount->of[k] : most->of[k];
        for (size_t k = 0; k < end * more; k++)
            most->more[k] = amount->more[k] > most->more[k] ? amount->more[k] : most->more[k];
    }
    if (gang__timeline_new(&s->mem, most->of, end, 0, s->now_ns, &r->inside) != GANG_OK)
        return false;
    int guard[GANG__MORE_MAX];
    gang__more_guards(&s->calendar->more, guard);
    bool done =
        more == 0 || gang__timeline_count_more(r->inside, most->more, guard, more) == GANG_OK;
    for (size_t i = 0; i + 1 < n && done; i++)
        done = amounts_at(s, r, time[i], amount) &&
               bar(s, r->inside, most, amount, time[i], time[i + 1]);
    if (done && n > 0 && time[0] > s->now_ns)
        done = bar(s, r->inside, most, NULL, s->now_ns, time[0]);
    if (done && n > 0)
        done = bar(s, r->inside, most, NULL, time[n - 1], GANG__NEVER);
    return done;
}

bool gang__reserve_open_inside(gang_sched *s, struct gang__reserve *r)
{
    size_t of = (size_t)s->calendar->end * GANG__FREE_KINDS;
    size_t cells = of + (size_t)s->calendar->end * s->calendar->more.count + 1;
    if (r->inside) {
        gang__timeline_advance(r->inside, s->now_ns);
        return true;
    }
    int64_t *time = gang__zalloc(&s->mem, list_times(r, NULL) + 1, sizeof(*time));
    int64_t *most = gang__zalloc(&s->mem, cells, sizeof(*most));
    int64_t *amount = gang__zalloc(&s->mem, cells, sizeof(*amount));
    bool done = time && most && amount;
    if (done)
        done = make_inside(s, r, time, &(struct amounts){most, most + of},
                           &(struct amounts){amount, amount + of});
    gang__release(&s->mem, time);
    gang__release(&s->mem, most);
    gang__release(&s->mem, amount);
    if (!done) {
        gang__timeline_free(r->inside);
        r->inside = NULL;
    }
    return done;
}

/* ---- closing it ------------------------------------------------------------------------------ */

/* The occupations of members leave the timeline. `out`: the members are outside from now on. */
static void clear(gang_sched *s, struct gang__reserve *r, bool out)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        bool some = false;
        for (uint32_t i = 0; i < job->gang_count; i++) {
            struct gang__gang *g = &job->gang[i];
            if (g->reserve.inside_of != r)
                continue;
            gang__calendar_drop(s, g);
            gang__calendar_vacate(s, g);
            if (out)
                gang__reserve_keep_end(s, g);
            g->reserve.inside_of = out ? NULL : r;
            gang__wake_holding(s, g);
            some = true;
        }
        if (some && out && job->state != GANG_JOB_ENDED)
            gang__wake_job(s, job, GANG__WAKE_TIMER);
    }
}

static void close_inside(gang_sched *s, struct gang__reserve *r, bool out)
{
    clear(s, r, out);
    gang__timeline_free(r->inside);
    r->inside = NULL;
}

void gang__reserve_close_inside(gang_sched *s, struct gang__reserve *r)
{
    close_inside(s, r, true);
}

void gang__reserve_refill_inside(gang_sched *s, struct gang__reserve *r)
{
    if (r->inside)
        close_inside(s, r, false);
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        bool some = false;
        for (uint32_t i = 0; i < job->gang_count; i++)
            some = some || job->gang[i].reserve.inside_of == r;
        if (some && job->state != GANG_JOB_ENDED)
            gang__wake_job(s, job, GANG__WAKE_TIMER); /* it may end sooner than it did */
    }
}

/* ---- a source of the calendar ---------------------------------------------------------------- */

/* Does the occupation fit beside the other members that run there? Plans make way, and are made
 * again. */
bool gang__reserve_fits_inside(gang_sched *s, const struct gang__gang *g,
                               const struct gang__occupation *o)
{
    bool fits = gang__timeline_fits(g->reserve.inside_of->inside, o);
    if (fits || s->calendar->planned == 0)
        return fits;
    struct gang__trial t;
    gang__trial_begin(&t, s, g->reserve.inside_of->inside);
    gang__trial_withdraw_plans(&t, g->reserve.inside_of);
    fits = gang__timeline_fits(g->reserve.inside_of->inside, o);
    gang__trial_drop(&t);
    return fits;
}

/* Does what the gang holds still fit inside? Otherwise it is outside from now on. False: out of
 * memory. */
static bool still_fits_inside(gang_sched *s, struct gang__gang *g, struct gang__occupation *o)
{
    struct gang__calendar *cal = s->calendar;
    if (!g->reserve.inside_of)
        return true;
    size_t bytes = o->group_count * sizeof(*cal->group), places = cal->places;
    if (!g->reserve.inside_of->inside) { /* making it takes the same arrays */
        struct gang__time_group *group = gang__zalloc(&s->mem, o->group_count, sizeof(*group));
        struct gang__time_place *place = gang__zalloc(&s->mem, places + 1, sizeof(*place));
        bool done = group && place;
        if (done) {
            memcpy(group, cal->group, bytes);
            memcpy(place, cal->place, places * sizeof(*place));
            done = gang__reserve_open_inside(s, g->reserve.inside_of);
        }
        if (done && !gang__grow(&s->mem, (void **)&cal->place, &cal->place_cap, places + 1,
                                sizeof(*cal->place)))
            done = false;
        if (done) {
            memcpy(cal->group, group, bytes);
            memcpy(cal->place, place, places * sizeof(*place));
            cal->places = places;
            o->group = cal->group;
            o->place = cal->place;
        }
        gang__release(&s->mem, group);
        gang__release(&s->mem, place);
        if (!done)
            return false;
    }
    if (gang__reserve_fits_inside(s, g, o))
        return true;
    gang__reserve_keep_end(s, g);
    g->reserve.inside_of = NULL;
    return true;
}

static struct gang__timeline *inside(const struct gang__gang *g)
{
    return g->reserve.inside_of->inside;
}

const struct gang__calendar_source gang__reserve_source = {
    .withdrawn = gang__reserve_leave_timeline,
    .renewed = gang__reserve_note_new_timeline,
    .inside = inside,
    .until = gang__reserve_inside_end,
    .keeps = still_fits_inside,
    .names = gang__reserve_names};
