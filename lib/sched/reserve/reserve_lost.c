/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes changed, and the timeline was made again: reservations are put back, and those that lost
 * nodes are repaired.
 *
 * First all pieces go back where they were. Then each reservation that lost nodes, in the order of
 * acceptance, gets other nodes for what lay there, at the same time. If there are none,
 * reservations that were accepted later make way, the newest first; each of them that does not fit
 * any more where it was is repaired in the same way. The re-planner of YARN also serves the oldest
 * first, but deletes the others; here a reservation that fits elsewhere is moved. */
#include "sched/reserve/reserve_in.h"
#include "sched/wake/wake.h"

void gang__reserve_leave_timeline(gang_sched *s)
{
    for (struct gang__reserve *r = s->reserve.all ? s->reserve.all->first : NULL; r; r = r->next) {
        for (struct gang__reserve_piece *p = r->piece; p; p = p->next)
            p->id = 0;
        gang__timeline_free(r->inside); /* no member lies there any more */
        r->inside = NULL;
    }
}

void gang__reserve_note_new_timeline(gang_sched *s)
{
    if (s->reserve.count > 0)
        gang__wake_reservations(s, GANG__RESERVE_TIMELINE);
}

/* ---- where they were ------------------------------------------------------------------------- */

static void report_lost(gang_sched *s, const struct gang__reserve *r, int64_t instance,
                        int32_t outcome, const char *text)
{
    gang__reserve_report(s, r, instance, GANG_RESERVATION_LOST, outcome, text);
}

bool gang__reserve_put_pieces(gang_sched *s)
{
    for (struct gang__reserve *r = s->reserve.all->first; r; r = r->next) {
        if (r->aside) /* memory was short in an earlier repair */
            r->aside = false;
        for (struct gang__reserve_piece *p = r->piece; p; p = p->next)
            if (!p->id &&
                !gang__reserve_enter(s, r, p)) /* on lost nodes, too, which have no capacity */
                return false;
    }
    return true;
}

/* Note whether the piece is hurt. If its stage stays on its nodes, the host hears of it once. */
static bool note_hurt(gang_sched *s, struct gang__reserve *r, struct gang__reserve_piece *p)
{
    bool reported = p->hurt;
    int64_t lost = gang__reserve_count_lost(s, r, p, NULL);
    p->hurt = lost > 0;
    if (r->stage[p->stage].stays && p->hurt && !reported &&
        !(r->flags & GANG_RESERVATION_MAINTENANCE))
        report_lost(s, r, p->instance, GANG_RESERVATION_REDUCED, "some of its nodes are not up");
    return lost >= 0;
}

/* ---- one piece ------------------------------------------------------------------------------- */

static void replace(gang_sched *s, struct gang__reserve *r, struct gang__reserve_piece *p,
                    struct gang__reserve_piece *rest)
{
    p->booking = 0; /* `rest` keeps the booking */
    gang__reserve_drop(s, r, p);
    if (rest->run_count > 0) {
        gang__reserve_insert(r, rest);
        return;
    }
    if (rest->booking)
        gang__bookings_remove(r->usage, rest->booking - 1);
    gang__release(&s->mem, rest);
}

/* Find other nodes for what is lost, at the same time, beside the rest. */
static gang_result move_lost(gang_sched *s, struct gang__reserve *r, struct gang__reserve_piece *p,
                             const struct gang__reserve_piece *rest)
{
    uint32_t groups = r->stage[p->stage].request->group_count;
    int64_t *lost = gang__zalloc(&s->mem, groups, sizeof(*lost));
    struct gang__reserve_portion portion = {
        p->stage, lost, p->instance, gang__max(p->start_ns, s->now_ns), p->end_ns, true};
    gang_result w = GANG_ENOMEM;
    bool some = false;
    if (lost && rest->run_count > 0 && gang__reserve_count_lost(s, r, p, lost) >= 0)
        some = true;
    for (uint32_t i = 0; lost && rest->run_count == 0 && i < p->run_count; i++, some = true)
        lost[p->run[i].group] += (int64_t)p->run[i].tasks * p->run[i].nodes;
    if (some)
        w = portion.end_ns > portion.start_ns ? gang__reserve_place_lost(s, r, &portion)
                                              : GANG_ENOFIT;
    gang__release(&s->mem, lost);
    return w;
}

/* ---- making way ------------------------------------------------------------------------------ */

/* The newest that was accepted after r. A reservation with running members stays where it is. */
static struct gang__reserve *newest_after(const gang_sched *s, const struct gang__reserve *r)
{
    struct gang__reserve *newest = NULL;
    for (struct gang__reserve *o = s->reserve.all->first; o; o = o->next)
        if (o->accepted > r->accepted && !o->aside && gang__reserve_running(s, o) == 0 &&
            (!newest || o->accepted > newest->accepted))
            newest = o;
    return newest;
}

static void set_aside(gang_sched *s, struct gang__reserve *r)
{
    struct gang__occupation o;
    r->aside = true;
    for (struct gang__reserve_piece *p = r->piece; p; p = p->next) {
        p->tight = p->id != 0;
        gang__reserve_take_out(s, p);
    }
    for (struct gang__reserve_piece *p = r->piece; p; p = p->next) {
        bool known = gang__reserve_lay_out(s, r, p, &o);
        if (known)
            gang__reserve_keep_whole(s, &o);
        p->tight = p->tight && (!known || (o.place_count > 0 && !gang__reserve_fits(s, r, &o)));
    }
}

/* Put its pieces back where they were, if that is free. The others are repaired next. */
static bool put_back(gang_sched *s, struct gang__reserve *r)
{
    struct gang__occupation o;
    r->aside = false;
    for (struct gang__reserve_piece *p = r->piece; p; p = p->next) {
        if (p->id)
            continue;
        if (!gang__reserve_lay_out(s, r, p, &o))
            return false;
        gang__reserve_keep_whole(s, &o);
        bool fits = r->stage[p->stage].stays || p->tight || o.place_count == 0 ||
                    gang__reserve_fits(s, r, &o);
        if (fits && !gang__reserve_enter(s, r, p))
            return false;
    }
    return true;
}

static bool put_all_back(gang_sched *s)
{
    for (struct gang__reserve *r = s->reserve.all->first; r; r = r->next)
        if (r->aside && !put_back(s, r))
            return false;
    return true;
}

/* ---- one reservation ------------------------------------------------------------------------- */

static void drop_instance(gang_sched *s, struct gang__reserve *r, int64_t instance)
{
    for (struct gang__reserve_piece *p = r->piece, *next; p; p = next) {
        next = p->next;
        if (p->instance == instance)
            gang__reserve_drop(s, r, p);
    }
}

/* Place the whole reservation at another time. Only for one that has not begun, does not repeat
 * and has no fixed start. */
static gang_result move_all(gang_sched *s, struct gang__reserve *r)
{
    struct gang__reserve_piece *old = r->piece, *placed;
    struct gang__trial without;
    if (r->begun || r->period_ns || r->start_ns >= 0)
        return GANG_ENOFIT;
    gang__trial_begin(&without, s, s->calendar->timeline);
    gang__reserve_withdraw_from(&without, r);
    r->piece = NULL;
    r->arrival_ns = r->arrival_ns > s->now_ns ? r->arrival_ns : s->now_ns;
    gang_result w = gang__reserve_place_later(s, r);
    placed = r->piece;
    r->piece = old;
    if (w == GANG_OK) {
        gang__reserve_gaps_drop(s, r);
        while (r->piece)
            gang__reserve_drop(s, r, r->piece);
        r->piece = placed;
    }
    gang__trial_drop(&without);
    return w;
}

/* Leave it with the part of the piece that is there, which may be nothing. False: out of memory. */
static bool reduce(gang_sched *s, struct gang__reserve *r, struct gang__reserve_piece *p, bool had)
{
    int64_t instance = p->instance;
    struct gang__occupation o;
    struct gang__reserve_piece *rest = gang__reserve_rest_of(s, r, p);
    struct gang__reserve_gap *gap = gang__reserve_gap_new(s, r, p);
    if (!rest || !gap || !gang__reserve_lay_out(s, r, rest, &o)) {
        gang__release(&s->mem, rest);
        gang__release(&s->mem, gap);
        return false;
    }
    gang__reserve_take_out(s, p);
    if (!had && !gang__reserve_fits(s, r, &o)) /* other reservations took it */
        rest->run_count = 0;
    bool some = rest->run_count > 0;
    if (some && !gang__reserve_enter(s, r, rest)) {
        gang__release(&s->mem, rest);
        gang__release(&s->mem, gap);
        return false;
    }
    gang__reserve_gap_keep(s, r, gap, rest);
    replace(s, r, p, rest);
    for (const struct gang__reserve_piece *q = r->piece; q && !some; q = q->next)
        some = q->instance == instance;
    report_lost(s, r, instance, some ? GANG_RESERVATION_REDUCED : GANG_RESERVATION_DROPPED,
                some ? "there are no other nodes for some of it"
                     : "there are no other nodes for it");
    return true;
}

/* Find other nodes; newer reservations make way if there are none. GANG_OK; GANG_ENOFIT;
 * GANG_ENOMEM. */
static gang_result find_others(gang_sched *s, struct gang__reserve *r,
                               struct gang__reserve_piece *p, bool had)
{
    struct gang__reserve_piece *rest = gang__reserve_rest_of(s, r, p);
    gang_result w = GANG_ENOMEM;
    if (!rest)
        return w;
    rest->run_count = p->hurt ? rest->run_count : 0; /* else other reservations have all of it */
    gang__reserve_take_out(s, p);
    if (rest->run_count > 0) {
        struct gang__occupation o;
        if (!gang__reserve_lay_out(s, r, rest, &o))
            goto out;
        w = had || gang__reserve_fits(s, r, &o) ? GANG_ENOMEM : GANG_ENOFIT;
        if (w == GANG_ENOFIT || !gang__reserve_enter(s, r, rest))
            goto out;
    }
    while ((w = move_lost(s, r, p, rest)) == GANG_ENOFIT) {
        struct gang__reserve *newest = newest_after(s, r);
        if (!newest)
            break;
        set_aside(s, newest);
    }
    if (w == GANG_OK) {
        replace(s, r, p, rest);
        return w;
    }
    gang__reserve_take_out(s, rest);
out:
    gang__release(&s->mem, rest);
    return w;
}

/* Repair a piece that is hurt, or lost its nodes to an older reservation. False: out of memory. */
static bool repair(gang_sched *s, struct gang__reserve *r, struct gang__reserve_piece *p)
{
    int64_t instance = p->instance;
    bool given = !p->hurt; /* its nodes are there, and an older reservation has them */
    bool had = p->id != 0; /* what is left of it is in the timeline */
    gang_result w = find_others(s, r, p, had);
    if (w == GANG_ENOMEM || !put_all_back(s))
        return false;
    if (w == GANG_OK) {
        report_lost(s, r, instance, GANG_RESERVATION_KEPT, "other nodes at the same time");
        return true;
    }
    w = move_all(s, r);
    if (w == GANG_OK)
        report_lost(s, r, instance, GANG_RESERVATION_LATER, "another time");
    if (w != GANG_ENOFIT)
        return w == GANG_OK;
    if (r->period_ns && given && !r->begun) { /* this instance is dropped */
        report_lost(s, r, instance, GANG_RESERVATION_DROPPED,
                    "there is no capacity for it this time");
        drop_instance(s, r, instance);
        return true;
    }
    return reduce(s, r, p, had);
}

/* A piece that needs repair; NULL: none. */
static struct gang__reserve_piece *needs_repair(const struct gang__reserve *r)
{
    struct gang__reserve_piece *p = r->piece;
    while (p && (p->run_count == 0 || r->stage[p->stage].stays || (p->id && !p->hurt)))
        p = p->next;
    return p;
}

/* The oldest reservation that needs repair; NULL: none. */
static struct gang__reserve *first_to_repair(const gang_sched *s)
{
    struct gang__reserve *first = NULL;
    for (struct gang__reserve *r = s->reserve.all->first; r; r = r->next)
        if ((!first || r->accepted < first->accepted) && needs_repair(r))
            first = r;
    return first;
}

static bool repair_all(gang_sched *s)
{
    struct gang__reserve *r;
    for (r = s->reserve.all->first; r; r = r->next)
        for (struct gang__reserve_piece *p = r->piece; p; p = p->next)
            if (!note_hurt(s, r, p))
                return false;
    while ((r = first_to_repair(s)) != NULL) {
        struct gang__reserve_piece *p = needs_repair(r);
        if (p->end_ns <= s->now_ns)
            gang__reserve_drop(s, r, p);
        else if (!repair(s, r, p))
            return false;
    }
    return true;
}

bool gang__reserve_replace_lost(gang_sched *s)
{
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->timeline);
    bool done =
        gang__reserve_put_pieces(s) && gang__reserve_put_handovers(&t) == GANG_OK && repair_all(s);
    gang__trial_drop(&t);
    if (!done)
        return false;
    for (struct gang__reserve *r = s->reserve.all->first; r; r = r->next)
        gang__reserve_refill_inside(s, r);
    s->reserve.all->due_ns = s->now_ns; /* a reservation without pieces ends now */
    return true;
}
