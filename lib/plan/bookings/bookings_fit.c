/* SPDX-License-Identifier: Apache-2.0 */
/* What limits say of something that is to be booked.
 *
 * A booking that is to begin at s is within a limit if no *vertex* is above it. For an instant
 * these are the steps in it. For windows of length W: the integral over [x, x + W), as x goes on,
 * bends only where x or x + W is at a step (vertices that stay where they are when s changes) or
 * at the start or the end of a new piece (these go with s). Each vertex by itself gives exactly
 * the first later s at which it is not above: one that stays, as pieces leave its window; one that
 * goes along, as the window leaves what is booked. The earliest start is found by going from
 * vertex to vertex until none of them moves it: what is skipped is known not to fit. The latest is
 * the earliest with time reversed. */
#include <assert.h>

#include "plan/bookings/bookings_in.h"

/* ---- a question ---------------------------------------------------------------------------- */

struct question {
    const struct gang__bookings_step *step;
    size_t steps;
    bool back; /* time is reversed: so are the pieces, about their common start */
    const struct gang__bookings_limit *limit;
    const struct gang__bookings_piece *piece;
    size_t pieces;
    struct gang__bookings_excess *excess; /* not NULL: describe the first, and stop */
    int kind;                             /* that is looked at */
};

static int64_t starts(const struct question *q, size_t i, int64_t at)
{
    const struct gang__bookings_piece *p = &q->piece[i];
    return q->back ? at - p->offset_ns - p->duration_ns : at + p->offset_ns;
}

static int64_t ends(const struct question *q, size_t i, int64_t at)
{
    return starts(q, i, at) + q->piece[i].duration_ns;
}

static gang__i128 amount_after(const struct question *q, size_t steps)
{
    return steps ? q->step[steps - 1].amount[q->kind] : 0;
}

static gang__i128 integral_to(const struct question *q, int64_t at)
{
    size_t n = gang__bookings_steps_until(q->step, q->steps, at);
    if (!n)
        return 0;
    const struct gang__bookings_step *s = &q->step[n - 1];
    return s->integral[q->kind] + s->amount[q->kind] * ((gang__i128)at - s->at_ns);
}

/* Booked in the window that begins there. */
static gang__i128 booked(const struct question *q, int64_t x)
{
    return integral_to(q, x + q->limit->window_ns) - integral_to(q, x);
}

/* What the pieces bring into it. */
static gang__i128 brought(const struct question *q, int64_t x, int64_t at)
{
    gang__i128 sum = 0;
    for (size_t i = 0; i < q->pieces; i++) {
        int64_t from = starts(q, i, at), to = ends(q, i, at), end = x + q->limit->window_ns;
        from = from > x ? from : x;
        to = to < end ? to : end;
        if (from < to)
            sum += (gang__i128)q->piece[i].amount[q->kind] * (to - from);
    }
    return sum;
}

/* a / b, rounded up; a >= 0, b > 0. */
static gang__i128 divide_up(gang__i128 a, gang__i128 b)
{
    return (a + b - 1) / b;
}

/* What stands against it. Returns GANG__NEVER. */
static int64_t excess_at(const struct question *q, bool average, int64_t at, gang__i128 wanted,
                         int64_t limit)
{
    int64_t n = wanted > INT64_MAX ? INT64_MAX : (int64_t)wanted;
    *q->excess = (struct gang__bookings_excess){q->kind, average, at, n, limit};
    return GANG__NEVER;
}

/* ---- instants ------------------------------------------------------------------------------ */

/* How much is too much after the first `steps` steps. */
static int64_t peak_excess(const struct question *q, size_t i, size_t steps, int64_t at)
{
    int64_t from = starts(q, i, at);
    bool before = !steps || q->step[steps - 1].at_ns < from;
    return excess_at(q, false, before ? from : q->step[steps - 1].at_ns,
                     amount_after(q, steps) + q->piece[i].amount[q->kind], q->limit->peak[q->kind]);
}

/* The first start >= at at which this piece exceeds no limit of an instant; GANG__NEVER: none. */
static int64_t past_peak(const struct question *q, size_t i, int64_t at)
{
    int64_t peak = q->limit->peak[q->kind], amount = q->piece[i].amount[q->kind];
    if (peak == GANG__NO_LIMIT || amount == 0)
        return at;
    size_t n = gang__bookings_steps_until(q->step, q->steps, starts(q, i, at));
    for (;; n++) {
        bool more = n < q->steps;
        if (amount_after(q, n) + amount > peak) {
            if (q->excess)
                return peak_excess(q, i, n, at);
            if (!more)
                return GANG__NEVER;
            at += q->step[n].at_ns - starts(q, i, at);
        }
        if (!more || q->step[n].at_ns >= ends(q, i, at))
            return at;
    }
}

/* ---- windows ------------------------------------------------------------------------------- */

/* How far a window with that capacity must move until it suffices. -1: for ever. */
static int64_t distance_past(const struct question *q, int64_t x, gang__i128 capacity)
{
    int64_t begin = x, window = q->limit->window_ns;
    gang__i128 over = booked(q, x) - capacity;
    if (over <= 0)
        return 0;
    if (capacity < 0)
        return -1;
    size_t a = gang__bookings_steps_until(q->step, q->steps, x),
           b = gang__bookings_steps_until(q->step, q->steps, x + window);
    while (over > 0) {
        /* Each excess ends, since each booking does. */
        assert(a < q->steps);
        gang__i128 slope = amount_after(q, b) - amount_after(q, a);
        int64_t distance = q->step[a].at_ns - x;
        if (b < q->steps && q->step[b].at_ns - window - x < distance)
            distance = q->step[b].at_ns - window - x;
        if (slope < 0 && divide_up(over, -slope) <= distance)
            return x + (int64_t)divide_up(over, -slope) - begin;
        over += slope * distance;
        x += distance;
        while (a < q->steps && q->step[a].at_ns <= x)
            a++;
        while (b < q->steps && q->step[b].at_ns <= x + window)
            b++;
    }
    return x - begin;
}

/* How the pieces lie to a window that stays, when they begin at `at`. */
struct overlap {
    bool touches;
    gang__i128 slope; /* by which what they bring changes as they go on */
    int64_t distance; /* so far it is so */
};

static void bound_distance(struct overlap *s, int64_t distance)
{
    s->distance = distance > 0 && distance < s->distance ? distance : s->distance;
}

static struct overlap overlap_of(const struct question *q, int64_t x, int64_t at)
{
    struct overlap s = {false, 0, INT64_MAX};
    int64_t end = x + q->limit->window_ns;
    for (size_t i = 0; i < q->pieces; i++) {
        int64_t from = starts(q, i, at), to = ends(q, i, at), amount = q->piece[i].amount[q->kind];
        if (amount == 0 || from > end)
            continue;
        s.touches = s.touches || to >= x;
        if (to >= x && to < end)
            s.slope += amount;
        if (from >= x && from < end)
            s.slope -= amount;
        bound_distance(&s, x - to);
        bound_distance(&s, end - to);
        bound_distance(&s, x - from);
        bound_distance(&s, end - from);
        bound_distance(&s, end + 1 - from); /* then it does not touch the window any more */
    }
    return s;
}

/* The first start >= at at which the window from x does not exceed its limit, or does not touch the
 * pieces. */
static int64_t past_window(const struct question *q, int64_t x, gang__i128 limit, int64_t at)
{
    gang__i128 here = booked(q, x), over;
    for (;;) {
        struct overlap s = overlap_of(q, x, at);
        if (!s.touches || (over = here + brought(q, x, at) - limit) <= 0)
            return at;
        if (q->excess)
            return excess_at(q, true, x, divide_up(over + limit, q->limit->window_ns),
                             q->limit->average[q->kind]);
        if (s.slope < 0 && divide_up(over, -s.slope) <= s.distance)
            at += (int64_t)divide_up(over, -s.slope);
        else
            at += s.distance;
    }
}

/* The same of the windows that begin or end where piece i begins or ends. */
static int64_t past_edges(const struct question *q, size_t i, gang__i128 limit, int64_t at)
{
    for (int edge = 0; edge < 4; edge++) {
        int64_t x =
            (edge & 1 ? ends(q, i, at) : starts(q, i, at)) - (edge & 2 ? q->limit->window_ns : 0);
        gang__i128 capacity = limit - brought(q, x, at);
        int64_t distance = distance_past(q, x, capacity);
        if (distance == 0)
            continue;
        if (q->excess)
            return excess_at(q, true, x,
                             divide_up(booked(q, x) + limit - capacity, q->limit->window_ns),
                             q->limit->average[q->kind]);
        if (distance < 0)
            return GANG__NEVER;
        at += distance;
    }
    return at;
}

/* What the pieces bring into a window, at most. It does not depend on when they begin. */
static gang__i128 max_brought(const struct question *q)
{
    gang__i128 max = 0;
    for (size_t i = 0; i < q->pieces; i++) {
        gang__i128 first = brought(q, starts(q, i, 0), 0);
        gang__i128 last = brought(q, ends(q, i, 0) - q->limit->window_ns, 0);
        max = first > max ? first : max;
        max = last > max ? last : max;
    }
    return max;
}

static int64_t past_average(const struct question *q, int64_t at, int64_t to)
{
    if (q->limit->average[q->kind] == GANG__NO_LIMIT || q->limit->window_ns == 0)
        return at;
    gang__i128 limit = (gang__i128)q->limit->average[q->kind] * q->limit->window_ns;
    gang__i128 max = max_brought(q);
    if (max == 0)
        return at;
    for (size_t i = 0; i < q->pieces && at <= to; i++)
        if (q->piece[i].amount[q->kind] > 0)
            at = past_edges(q, i, limit, at);
    for (size_t i = 0; i < 2 * q->steps && at <= to; i++) {
        int64_t x = q->step[i / 2].at_ns - (i & 1 ? q->limit->window_ns : 0);
        if (booked(q, x) > limit - max)
            at = past_window(q, x, limit, at);
    }
    return at;
}

/* ---- questions ----------------------------------------------------------------------------- */

static int64_t past_all(struct question *q, int64_t at, int64_t to)
{
    for (q->kind = 0; q->kind < GANG__FREE_DIMS && at <= to; q->kind++) {
        for (size_t i = 0; i < q->pieces && at <= to; i++)
            at = past_peak(q, i, at);
        if (at <= to)
            at = past_average(q, at, to);
    }
    return at;
}

/* The first start in at...to that is within all limits; GANG__NEVER: none. */
static int64_t search(struct question *q, int64_t at, int64_t to)
{
    for (int64_t last = at; at <= to; last = at) {
        at = past_all(q, at, to);
        if (at == last)
            return at;
    }
    return GANG__NEVER;
}

static struct question question_of(struct gang__bookings *u,
                                   const struct gang__bookings_piece *piece, size_t pieces,
                                   bool back)
{
    gang__bookings_refresh(u);
    return (struct question){.step = u->step[back],
                             .steps = u->step_count,
                             .back = back,
                             .limit = &u->limit,
                             .piece = piece,
                             .pieces = pieces};
}

bool gang__bookings_fit(struct gang__bookings *u, const struct gang__bookings_piece *piece,
                        size_t count, int64_t start_ns, struct gang__bookings_excess *excess)
{
    struct gang__bookings_excess none = {.kind = -1};
    struct question q = question_of(u, piece, count, false);
    q.excess = excess ? excess : &none;
    *q.excess = (struct gang__bookings_excess){.kind = -1};
    return search(&q, start_ns, start_ns) == start_ns;
}

int64_t gang__bookings_earliest(struct gang__bookings *u, const struct gang__bookings_piece *piece,
                                size_t count, int64_t from_ns, int64_t to_ns)
{
    struct question q = question_of(u, piece, count, false);
    return search(&q, from_ns, to_ns);
}

int64_t gang__bookings_latest(struct gang__bookings *u, const struct gang__bookings_piece *piece,
                              size_t count, int64_t from_ns, int64_t to_ns)
{
    struct question q = question_of(u, piece, count, true);
    int64_t at = search(&q, -to_ns, -from_ns);
    return at == GANG__NEVER ? GANG__NEVER : -at;
}
