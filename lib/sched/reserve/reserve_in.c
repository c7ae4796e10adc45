/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs inside and outside of reservations: who may start where (reserve.h). */
#include <stdlib.h>
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/record/places.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/wait_order.h"
#include "sched/record/record.h"
#include "sched/reserve/reserve.h"
#include "sched/reserve/reserves.h"
#include "sched/wake/wake.h"
#include "sched/where/where.h"

/* ---- who belongs to one -------------------------------------------------------------------------- */

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

static bool draws(const gang_sched *s, const struct gang__reserve *r, const struct gang__job *job)
{
    return r->flags & GANG_RESERVATION_MAGNETIC && gang__reserve_allows(s, r, job);
}

bool gang__reserve_drawn(const gang_sched *s, const struct gang__gang *u)
{
    bool drawn = u->job->reserve.named != NULL;
    for (const struct gang__reserve *r = s->reserve.count ? s->reserve.all->first : NULL;
         r && s->reserve.all->magnetic && !drawn; r = r->next)
        drawn = draws(s, r, u->job);
    return drawn;
}

uint64_t gang__reserve_apart(const gang_sched *s, const struct gang__gang *u)
{
    const struct gang__job *job = u->job;
    bool drawn = false;
    for (const struct gang__reserve *r = s->reserve.all->first;
         r && s->reserve.all->magnetic && !drawn; r = r->next)
        drawn = draws(s, r, job);
    if (drawn || (job->leaf->q->backfill != GANG_BACKFILL_NONE && job->leaf->q->plan_depth > 1))
        return gang__hash_number(u->index, job->id) | 1;
    return gang__hash_number((uint64_t)job->time_limit_ns,
                             job->reserve.named ? job->reserve.named->id : 0) |
           1;
}

bool gang__reserve_holds(const gang_sched *s, const struct gang__job *job)
{
    const struct gang__reserve *r = job->reserve.named;
    if (!r || r->flags & GANG_RESERVATION_FLEX)
        return true;
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].alloc != GANG_ID_NONE) /* it grows */
            return true;
    return gang__reserve_active(s, r);
}

bool gang__reserve_confines(const struct gang__gang *u)
{
    const struct gang__reserve *r = u->job->reserve.named;
    return u->reserve.inside_of || (r && !(r->flags & GANG_RESERVATION_FLEX));
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
            r->idle_since_ns = s->now_ns; /* until now it was not */
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
            gang__job_settle(s, job);
    }
    gang__wake_calendar(s);
}

/* ---- the timeline inside --------------------------------------------------------------------------- */

void gang__reserve_keep_end(gang_sched *s, struct gang__gang *u)
{
    struct gang__job *job = u->job;
    int64_t end_ns = gang__reserve_until(u);
    if (u->reserve.inside_of)
        end_ns = gang__least(end_ns, u->reserve.inside_of->before_ns);
    if (job->time_limit_ns > 0 || u->alloc == GANG_ID_NONE || end_ns == GANG__NEVER)
        return;
    job->time_limit_ns = end_ns - job->leaf->q->grace_ns - job->started_ns;
    if (job->time_limit_ns < 1)
        job->time_limit_ns = 1;
    job->reserve.limit_kept = true;
    gang__timer_set(s, job);
}

void gang__reserve_forget_end(gang_sched *s, struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__gang *u = &job->gang[i];
        if (u->alloc != GANG_ID_NONE || u->stop.first || u->stop.moving)
            return;
    }
    for (uint32_t i = 0; i < job->gang_count; i++)
        gang__order_leave(s, &job->gang[i]);
    job->time_limit_ns = 0;
    job->reserve.limit_kept = false;
    gang__wake_calendar(s);
}

/* Who lies inside is to be entered anew; `out`: outside. */
static void clear(gang_sched *s, struct gang__reserve *r, bool out)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        bool some = false;
        for (uint32_t i = 0; i < job->gang_count; i++) {
            struct gang__gang *u = &job->gang[i];
            if (u->reserve.inside_of != r)
                continue;
            gang__calendar_drop(s, u);
            gang__calendar_vacate(s, u);
            if (out)
                gang__reserve_keep_end(s, u);
            u->reserve.inside_of = out ? NULL : r;
            gang__wake_holding(s, u);
            some = true;
        }
        if (some && out && job->state != GANG_JOB_ENDED)
            gang__timer_set(s, job);
    }
}

static void close_inside(gang_sched *s, struct gang__reserve *r, bool out)
{
    clear(s, r, out);
    gang__timeline_free(r->inside);
    r->inside = NULL;
}

void gang__reserve_empty(gang_sched *s, struct gang__reserve *r)
{
    close_inside(s, r, true);
}

void gang__reserve_renew(gang_sched *s, struct gang__reserve *r)
{
    if (r->inside)
        close_inside(s, r, false);
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        bool some = false;
        for (uint32_t i = 0; i < job->gang_count; i++)
            some = some || job->gang[i].reserve.inside_of == r;
        if (some && job->state != GANG_JOB_ENDED)
            gang__timer_set(s, job); /* it may end sooner than it did */
    }
}

/* What is reserved of each node at a time, of this time of it. */
static bool amounts_at(gang_sched *s, const struct gang__reserve *r, int64_t at_ns, int64_t *amount)
{
    const struct gang__calendar *a = s->calendar;
    struct gang__occupation o;
    memset(amount, 0, (size_t)a->end * GANG__FREE_KINDS * sizeof(*amount));
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next) {
        if (p->instance != r->current || p->start_ns > at_ns || p->end_ns <= at_ns)
            continue;
        if (!gang__reserve_lay_out(s, r, p, &o))
            return false;
        for (size_t i = 0; i < o.place_count; i++)
            for (int k = 0; k < GANG__FREE_KINDS; k++) {
                size_t at = (size_t)o.place[i].node * GANG__FREE_KINDS + (size_t)k;
                int64_t more = o.whole ? a->capacity[at]
                                       : o.group[o.place[i].group].need[k] * o.place[i].tasks;
                amount[at] =
                    amount[at] + more < a->capacity[at] ? amount[at] + more : a->capacity[at];
            }
    }
    return true;
}

/* From one time to another, all of its nodes but `amount` is taken. */
static bool bar(gang_sched *s, struct gang__timeline *inside, const int64_t *most,
                const int64_t *amount, int64_t from_ns, int64_t to_ns)
{
    uint32_t end = s->calendar->end, n = 0, id;
    struct gang__time_group *group = gang__zalloc(&s->mem, end + 1, sizeof(*group));
    struct gang__time_place *place = gang__zalloc(&s->mem, end + 1, sizeof(*place));
    bool done = group && place;
    for (uint32_t slot = 0; slot < end && done; slot++) {
        bool some = false;
        group[n] = (struct gang__time_group){1, {0, 0, 0}, 0};
        for (int k = 0; k < GANG__FREE_KINDS; k++) {
            size_t at = (size_t)slot * GANG__FREE_KINDS + (size_t)k;
            group[n].need[k] = most[at] - (amount ? amount[at] : 0);
            some = some || group[n].need[k] > 0;
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

/* The instants at which something of it begins or ends, each once. */
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

/* Its nodes have the most that is reserved of them at any time; the rest is barred, all before and after. */
static bool make_inside(gang_sched *s, struct gang__reserve *r, int64_t *time, int64_t *most,
                        int64_t *amount)
{
    size_t n = list_times(r, time), cells = (size_t)s->calendar->end * GANG__FREE_KINDS;
    for (size_t i = 0; i + 1 < n; i++) {
        if (!amounts_at(s, r, time[i], amount))
            return false;
        for (size_t k = 0; k < cells; k++)
            most[k] = amount[k] > most[k] ? amount[k] : most[k];
    }
    if (gang__timeline_new(&s->mem, most, s->calendar->end, 0, s->now_ns, &r->inside) != GANG_OK)
        return false;
    bool done = true;
    for (size_t i = 0; i + 1 < n && done; i++)
        done = amounts_at(s, r, time[i], amount) &&
               bar(s, r->inside, most, amount, time[i], time[i + 1]);
    if (done && n > 0 && time[0] > s->now_ns)
        done = bar(s, r->inside, most, NULL, s->now_ns, time[0]);
    if (done && n > 0)
        done = bar(s, r->inside, most, NULL, time[n - 1], GANG__NEVER);
    return done;
}

/* Ready for members. */
static bool open_inside(gang_sched *s, struct gang__reserve *r)
{
    size_t cells = (size_t)s->calendar->end * GANG__FREE_KINDS + 1;
    if (r->inside) {
        gang__timeline_advance(r->inside, s->now_ns);
        return true;
    }
    int64_t *time = gang__zalloc(&s->mem, list_times(r, NULL) + 1, sizeof(*time));
    int64_t *most = gang__zalloc(&s->mem, cells, sizeof(*most));
    int64_t *amount = gang__zalloc(&s->mem, cells, sizeof(*amount));
    bool done = time && most && amount && make_inside(s, r, time, most, amount);
    gang__release(&s->mem, time);
    gang__release(&s->mem, most);
    gang__release(&s->mem, amount);
    if (!done) {
        gang__timeline_free(r->inside);
        r->inside = NULL;
    }
    return done;
}

/* ---- for planned starts ------------------------------------------------------------------------------ */

int64_t gang__reserve_until(const struct gang__gang *u)
{
    if (!u->reserve.inside_of)
        return GANG__NEVER;
    int64_t end_ns = gang__reserve_end_of(u->reserve.inside_of, u->reserve.inside_of->current);
    if (end_ns == INT64_MIN) /* it lost all there was */
        return u->reserve.until_ns;
    return gang__least(end_ns, u->reserve.until_ns); /* it may have got more elsewhere */
}

int64_t gang__reserve_stop_ns(const struct gang__job *job)
{
    int64_t stop = INT64_MAX;
    for (uint32_t i = 0; i < job->gang_count && job->time_limit_ns <= 0; i++) {
        const struct gang__gang *u = &job->gang[i];
        int64_t end = u->alloc != GANG_ID_NONE ? gang__reserve_until(u) : GANG__NEVER;
        if (end != GANG__NEVER && end - job->leaf->q->grace_ns < stop)
            stop = end - job->leaf->q->grace_ns;
    }
    return stop;
}

/* Beside the others who run there: plans are made anew where it is longer than was known. */
static bool fits_inside(gang_sched *s, const struct gang__gang *u, const struct gang__occupation *o)
{
    bool fits = gang__timeline_fits(u->reserve.inside_of->inside, o);
    if (fits || s->calendar->planned == 0)
        return fits;
    struct gang__trial t;
    gang__trial_begin(&t, s, u->reserve.inside_of->inside);
    gang__trial_withdraw_plans(&t, u->reserve.inside_of);
    fits = gang__timeline_fits(u->reserve.inside_of->inside, o);
    gang__trial_drop(&t);
    return fits;
}

bool gang__reserve_keeps(gang_sched *s, struct gang__gang *u, struct gang__occupation *o)
{
    struct gang__calendar *a = s->calendar;
    if (!u->reserve.inside_of)
        return true;
    size_t bytes = o->group_count * sizeof(*a->group), places = a->places;
    if (!u->reserve.inside_of->inside) { /* making it takes the same arrays */
        struct gang__time_group *group = gang__zalloc(&s->mem, o->group_count, sizeof(*group));
        struct gang__time_place *place = gang__zalloc(&s->mem, places + 1, sizeof(*place));
        bool done = group && place;
        if (done) {
            memcpy(group, a->group, bytes);
            memcpy(place, a->place, places * sizeof(*place));
            done = open_inside(s, u->reserve.inside_of);
        }
        if (done &&
            !gang__grow(&s->mem, (void **)&a->place, &a->place_room, places + 1, sizeof(*a->place)))
            done = false;
        if (done) {
            memcpy(a->group, group, bytes);
            memcpy(a->place, place, places * sizeof(*place));
            a->places = places;
            o->group = a->group;
            o->place = a->place;
        }
        gang__release(&s->mem, group);
        gang__release(&s->mem, place);
        if (!done)
            return false;
    }
    if (fits_inside(s, u, o))
        return true;
    gang__reserve_keep_end(s, u);
    u->reserve.inside_of = NULL;
    return true;
}

/* Inside it, or, of one that is flexible, as if it were not there. GANG_ENOFIT: it is not on. */
static gang_result try_in(gang_sched *s, struct gang__reserve *r, struct gang__gang *u,
                          gang_alloc_id *id, int32_t *why,
                          gang_result (*attempt)(gang_sched *, struct gang__gang *, gang_alloc_id *,
                                                 int32_t *))
{
    if (r->flags & GANG_RESERVATION_FLEX) {
        struct gang__trial t;
        gang__trial_begin(&t, s, s->calendar->when);
        gang__reserve_withdraw_from(&t, r);
        s->reserve.all->tried = r;
        gang_result w = attempt(s, u, id, why);
        s->reserve.all->tried = NULL;
        gang__trial_drop(&t);
        return w;
    }
    if (!gang__reserve_active(s, r))
        return GANG_ENOFIT;
    if (!open_inside(s, r))
        return GANG_ENOMEM;
    u->reserve.inside_of = r;
    u->reserve.until_ns = gang__reserve_end_of(r, r->current);
    gang_result w = attempt(s, u, id, why);
    if (w != GANG_OK && !u->calendar.plan)
        u->reserve.inside_of = NULL;
    return w;
}

/* May the gang use the flexible reservation? NULL: the gang that is being tried. */
static bool uses_flexible(const gang_sched *s, const struct gang__reserve *r,
                          const struct gang__gang *u)
{
    if (!u)
        return r == s->reserve.all->tried;
    return u->job->reserve.named ? r == u->job->reserve.named : draws(s, r, u->job);
}

void gang__reserve_show_for(gang_sched *s, const struct gang__gang *u)
{
    for (struct gang__reserve *r = s->reserve.count ? s->reserve.all->first : NULL; r;
         r = r->next) {
        if (!(r->flags & GANG_RESERVATION_FLEX))
            continue;
        bool uses = uses_flexible(s, r, u);
        for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
            if (p->id && uses)
                gang__timeline_withdraw(s->calendar->when, p->id - 1);
            else if (p->id)
                gang__timeline_restore(s->calendar->when, p->id - 1);
    }
}

static bool refused(gang_result w)
{
    return w == GANG_ENOFIT || w == GANG_ENEVER;
}

gang_result gang__reserve_try(gang_sched *s, struct gang__gang *u, gang_alloc_id *id, int32_t *why,
                              gang_result (*attempt)(gang_sched *, struct gang__gang *,
                                                     gang_alloc_id *, int32_t *))
{
    struct gang__reserve *named = u->job->reserve.named;
    gang_result w = GANG_ENOFIT;
    u->reserve.inside_of = NULL;
    for (struct gang__reserve *r = s->reserve.all ? s->reserve.all->first : NULL; r; r = r->next) {
        if (named ? r != named : !draws(s, r, u->job))
            continue;
        w = try_in(s, r, u, id, why, attempt);
        if (!refused(w) || u->calendar.plan)
            return w;
    }
    if (!named)
        return attempt(s, u, id, why);
    *why = *why == GANG_WAIT_CELLS ? *why : GANG_WAIT_RESERVATION;
    return w;
}

int32_t gang__reserve_why(gang_sched *s, struct gang__gang *u)
{
    if (s->calendar->planned == 0)
        return GANG_WAIT_RESERVATION;
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->when);
    for (struct gang__reserve *r = s->reserve.all->first; r; r = r->next)
        gang__reserve_withdraw_from(&t, r);
    bool fits = gang__backfill_earliest(s, u, s->now_ns) == GANG_OK &&
                s->calendar->fit.start_ns == s->now_ns;
    gang__trial_drop(&t);
    return fits ? GANG_WAIT_RESERVATION : GANG_WAIT_PLANNED;
}

/* ---- placing on the cluster as it is ------------------------------------------------------------------ */

/* Does it need room before all that is reserved has ended? */
bool gang__reserve_binds(const gang_sched *s, const struct gang__gang *u)
{
    int64_t end_ns = INT64_MIN;
    if (s->reserve.count == 0)
        return false;
    if (u->reserve.inside_of)
        return true;
    end_ns = u->alloc != GANG_ID_NONE ? gang__calendar_end(s, u)
                                      : gang__add_sat(s->now_ns, gang__calendar_estimate(s, u));
    for (const struct gang__reserve *r = s->reserve.all->first; r; r = r->next)
        if (r->piece && r->piece->start_ns < end_ns)
            return true;
    return false;
}

/* Marks of nodes, by slot. */
struct marks {
    uint64_t *mask;
    uint32_t end;
};

static bool mark(uint32_t slot, void *user)
{
    struct marks *m = user;
    if (slot < m->end)
        gang__mask_put(m->mask, slot);
    return true;
}

/* Nodes that it may not touch from now to then; inside: those that it may. */
static bool mark_nodes(gang_sched *s, const struct gang__gang *u, int64_t end_ns, bool parts,
                       uint32_t end, bool *inside)
{
    struct gang__reserves *all = s->reserve.all;
    size_t words = end / 64 + 1;
    if (!gang__grow(&s->mem, (void **)&all->mask, &all->mask_room, words, sizeof(*all->mask)))
        return false;
    memset(all->mask, 0, words * sizeof(*all->mask));
    struct marks m = {all->mask, end};
    *inside = u->reserve.inside_of != NULL;
    for (const struct gang__reserve *r = all->first; r; r = r->next)
        for (const struct gang__reserve_piece *p = r->piece; p; p = p->next) {
            bool now = u->reserve.inside_of ? r == u->reserve.inside_of && p->instance == r->current
                                            : p->start_ns < end_ns && r != u->job->reserve.named &&
                                                  (parts || r->stage[p->stage].whole);
            if (now)
                gang__reserve_each_node(p, mark, &m);
        }
    return true;
}

/* When the gang ends if it starts, or grows, on the places that are looked for. A gang that is to
 * start anew has its whole time limit again. */
static int64_t end_of(const struct gang__where *w)
{
    const gang_sched *s = w->s;
    const struct gang__job *job = w->u->job;
    int64_t from_ns = gang__add_sat(s->now_ns, w->later_ns);
    if (w->anew)
        return job->time_limit_ns > 0 ? gang__add_sat(from_ns, job->time_limit_ns) : GANG__NEVER;
    if (w->u->alloc != GANG_ID_NONE)
        return gang__add_sat(gang__calendar_end(s, w->u), w->later_ns);
    return gang__add_sat(from_ns, gang__calendar_estimate(s, w->u));
}

static bool reserved_concerns(const struct gang__where *w)
{
    if (w->s->reserve.count == 0)
        return false;
    int64_t end_ns = w->u->reserve.inside_of ? INT64_MAX : end_of(w);
    bool some = w->u->reserve.inside_of != NULL;
    for (const struct gang__reserve *r = w->s->reserve.all->first; r && !some; r = r->next)
        some = r->piece && r->piece->start_ns < end_ns;
    return some;
}

static gang_result reserved_apply(const struct gang__where *w)
{
    gang_sched *s = w->s;
    bool inside;
    if (!mark_nodes(s, w->u, end_of(w), w->parts, w->on->end, &inside))
        return GANG_ENOMEM;
    for (gang_node_id n = gang_snapshot_node_next(w->on, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_snapshot_node_next(w->on, n)) {
        uint32_t slot = (uint32_t)n;
        bool marked = s->reserve.all->mask[slot / 64] >> (slot % 64) & 1;
        if (marked != inside)
            (void)!gang_snapshot_set_state(w->on, n, GANG_NODE_DOWN);
    }
    return GANG_OK;
}

const struct gang__veto gang__reserve_veto = {"nodes that are reserved", GANG_WAIT_CAPACITY, false,
                                              reserved_concerns, reserved_apply};

struct stopping {
    uint32_t slot;
    bool found;
};

static bool is_slot(uint32_t slot, void *user)
{
    struct stopping *w = user;
    w->found = slot == w->slot;
    return !w->found;
}

struct staying {
    gang_sched *s;
    int64_t until_ns;
    bool barred;
};

static int32_t stays_at(const struct gang_task *task, void *user)
{
    struct staying *w = user;
    struct stopping at = {(uint32_t)task->node, false};
    for (const struct gang__reserve *r = w->s->reserve.all->first; r && !at.found; r = r->next)
        for (const struct gang__reserve_piece *p = r->piece; p && !at.found; p = p->next)
            if (p->start_ns < w->until_ns)
                gang__reserve_each_node(p, is_slot, &at);
    w->barred = at.found;
    return at.found;
}

/* Could a member that runs inside stay where it is until then? Of one in several pieces, each ends at its time. */
static bool could_stay(gang_sched *s, const struct gang__gang *u, int64_t until_ns)
{
    struct gang__timeline *inside = u->reserve.inside_of->inside;
    struct gang__occupation o;
    if (gang__reserve_until(u) < until_ns)
        return false;
    if (!inside || !u->calendar.occupies)
        return true;
    if (!gang__calendar_hold(s, u, gang__gang_holds(u), until_ns, &o))
        return false;
    struct gang__trial t;
    gang__trial_begin(&t, s, inside);
    gang__trial_withdraw(&t, u->calendar.occupies - 1);
    bool fits = fits_inside(s, u, &o);
    gang__trial_drop(&t);
    return fits;
}

bool gang__reserve_stops(gang_sched *s, const struct gang__job *job, int64_t until_ns)
{
    struct staying w = {s, gang__add_sat(until_ns, job->leaf->q->grace_ns), false};
    if (s->reserve.count == 0)
        return false;
    for (uint32_t i = 0; i < job->gang_count && !w.barred; i++) {
        const struct gang__gang *u = &job->gang[i];
        if (u->alloc == GANG_ID_NONE)
            continue;
        if (u->reserve.inside_of)
            w.barred = !could_stay(s, u, w.until_ns);
        else
            (void)!gang_alloc_each(s->cluster, u->alloc, stays_at, &w);
    }
    return w.barred;
}

/* ---- growing ---------------------------------------------------------------------------------------- */

/* Do these places leave room, until the unit ends? */
static gang_result leaves_room(gang_sched *s, const struct gang__gang *u,
                               const struct gang__places *told)
{
    struct gang__occupation o;
    if (!gang__calendar_lay_out(s, u, told->place, told->count, gang__calendar_end(s, u), &o))
        return GANG_ENOMEM;
    return gang__timeline_fits(gang__calendar_when(s, u), &o) ? GANG_OK : GANG_ENOFIT;
}

gang_result gang__reserve_grow(gang_sched *s, struct gang__gang *u, uint32_t group, int64_t step,
                               int64_t *granted)
{
    *granted = 0;
    if (!s->calendar || s->calendar->failed_in == s->runs || !s->calendar->when ||
        !gang__calendar_sync(s))
        return GANG_ENOMEM;
    if (u->reserve.inside_of && !open_inside(s, u->reserve.inside_of))
        return GANG_ENOMEM;
    gang_result r = gang_snapshot_take(s->worker, s->scratch);
    if (r != GANG_OK)
        return GANG_ENOMEM;
    struct gang__where w = {.s = s, .u = u, .on = s->scratch};
    r = gang__where_grow(&w, group, step, &s->placement);
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->when);
    if (r == GANG_OK)
        r = gang__reserve_put_handovers(&t);
    if (r == GANG_OK)
        r = leaves_room(s, u, &s->placement);
    gang__trial_drop(&t);
    if (r == GANG_OK)
        r = gang__alloc_adopt_more(s->worker, u->alloc, s->placement.place,
                                   (int64_t)s->placement.count);
    *granted = r == GANG_OK ? (int64_t)s->placement.count : 0;
    return r;
}
