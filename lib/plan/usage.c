/* SPDX-License-Identifier: Apache-2.0 */
/* What a user has booked, and what limits say of it.
 *
 * A booking that is to begin at s is within a limit if no *vertex* is above it. For an instant these are the
 * steps in it. For windows of length W: the integral over [x, x + W), as x goes on, bends only where x or x + W
 * is at a step (vertices that stay where they are when s changes) or at the start or the end of a new piece (these
 * go with s). Each vertex by itself tells exactly the first later s at which it is not above: one that stays, as
 * pieces leave its window; one that goes along, as the window leaves what is booked. The earliest start is found by
 * going from vertex to vertex until none of them moves it: what is skipped is known not to fit. The latest is the
 * earliest with time reversed. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wide.h"
#include "plan/usage.h"

#define TIME_MAX (INT64_C(1) << 62)
#define AMOUNT_MAX (INT64_C(1) << 62)
#define LONGEST (INT64_C(1) << 60)
#define INTEGRAL_MAX ((gang__i128)1 << 124)

struct booking {
    bool in, aside;
    int64_t start_ns, end_ns;
    int64_t amount[GANG__FREE_DIMS];
};

/* From here to the next one so much is booked; up to here its integral is this. */
struct step {
    int64_t at_ns;
    gang__i128 amount[GANG__FREE_DIMS];
    gang__i128 integral[GANG__FREE_DIMS];
};

struct gang__usage {
    struct gang_mem mem;
    struct gang__usage_limit limit;
    struct booking *booking; /* by id */
    size_t room, end, count;
    uint32_t *free_id;
    size_t free_id_room, free_id_count;
    gang__i128 sum[GANG__FREE_DIMS]; /* of all integrals */
    struct step *step[2];            /* [1]: with time reversed */
    size_t step_room[2], step_count;
    bool stale; /* the steps are not those of the bookings */
};

/* ---- making it ----------------------------------------------------------------------------- */

static bool is_limit(const struct gang__usage_limit *limit)
{
    bool sane = limit->window_ns >= 0 && limit->window_ns <= LONGEST;
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        sane = sane && limit->most[k] >= GANG__NO_LIMIT && limit->most[k] <= AMOUNT_MAX &&
               limit->average[k] >= GANG__NO_LIMIT && limit->average[k] <= AMOUNT_MAX;
    return sane;
}

gang_result gang__usage_new(const struct gang_mem *mem, const struct gang__usage_limit *limit,
                            struct gang__usage **usage)
{
    *usage = NULL;
    if (!is_limit(limit))
        return GANG_ERANGE;
    struct gang__usage *u = gang__zalloc(mem, 1, sizeof(*u));
    if (!u)
        return GANG_ENOMEM;
    u->mem = *mem;
    u->limit = *limit;
    *usage = u;
    return GANG_OK;
}

void gang__usage_free(struct gang__usage *u)
{
    if (!u)
        return;
    void *const block[] = {u->booking, u->free_id, u->step[0], u->step[1]};
    for (size_t i = 0; i < sizeof(block) / sizeof(block[0]); i++)
        gang__release(&u->mem, block[i]);
    struct gang_mem mem = u->mem;
    gang__release(&mem, u);
}

gang_result gang__usage_set_limit(struct gang__usage *u, const struct gang__usage_limit *limit)
{
    if (!is_limit(limit))
        return GANG_ERANGE;
    u->limit = *limit;
    return GANG_OK;
}

/* ---- bookings ------------------------------------------------------------------------------ */

static gang__i128 integral_of(const struct booking *b, int kind)
{
    return (gang__i128)b->amount[kind] * (b->end_ns - b->start_ns);
}

static gang_result check_booking(const struct gang__usage *u, const struct booking *b)
{
    if (b->start_ns >= b->end_ns)
        return GANG_EINVAL;
    if (b->start_ns < -LONGEST || b->end_ns > TIME_MAX)
        return GANG_ERANGE;
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        if (b->amount[k] < 0 || b->amount[k] > AMOUNT_MAX ||
            integral_of(b, k) > INTEGRAL_MAX - u->sum[k])
            return GANG_ERANGE;
    return GANG_OK;
}

static bool reserve(struct gang__usage *u)
{
    size_t steps = 2 * (u->count + 1);
    return gang__grow(&u->mem, (void **)&u->booking, &u->room, u->end + 1, sizeof(u->booking[0])) &&
           gang__grow(&u->mem, (void **)&u->free_id, &u->free_id_room, u->end + 1,
                      sizeof(u->free_id[0])) &&
           gang__grow(&u->mem, (void **)&u->step[0], &u->step_room[0], steps,
                      sizeof(struct step)) &&
           gang__grow(&u->mem, (void **)&u->step[1], &u->step_room[1], steps, sizeof(struct step));
}

static void count(struct gang__usage *u, const struct booking *b, int sign)
{
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        u->sum[k] += sign * integral_of(b, k);
    u->stale = true;
}

gang_result gang__usage_add(struct gang__usage *u, int64_t start_ns, int64_t end_ns,
                            const int64_t *amount, uint32_t *id)
{
    struct booking b = {true, false, start_ns, end_ns, {0}};
    memcpy(b.amount, amount, sizeof(b.amount));
    gang_result r = check_booking(u, &b);
    if (r != GANG_OK)
        return r;
    if (u->end >= UINT32_MAX || !reserve(u))
        return GANG_ENOMEM;
    *id = u->free_id_count ? u->free_id[--u->free_id_count] : (uint32_t)u->end++;
    u->booking[*id] = b;
    u->count++;
    count(u, &b, 1);
    return GANG_OK;
}

void gang__usage_remove(struct gang__usage *u, uint32_t id)
{
    assert(id < u->end && u->booking[id].in);
    count(u, &u->booking[id], -1);
    u->booking[id].in = false;
    u->count--;
    u->free_id[u->free_id_count++] = id;
}

void gang__usage_move(struct gang__usage *u, uint32_t id, int64_t start_ns, int64_t end_ns)
{
    assert(id < u->end && u->booking[id].in && start_ns < end_ns);
    count(u, &u->booking[id], -1);
    u->booking[id].start_ns = start_ns;
    u->booking[id].end_ns = end_ns;
    count(u, &u->booking[id], 1);
}

void gang__usage_set_aside(struct gang__usage *u, uint32_t id, bool aside)
{
    assert(id < u->end && u->booking[id].in);
    u->booking[id].aside = aside;
    u->stale = true;
}

/* ---- steps --------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    int64_t x = ((const struct step *)a)->at_ns, y = ((const struct step *)b)->at_ns;
    return (x > y) - (x < y);
}

static void note_changes(struct gang__usage *u)
{
    u->step_count = 0;
    for (size_t i = 0; i < u->end; i++) {
        const struct booking *b = &u->booking[i];
        for (int side = 0; side < 2 && b->in && !b->aside; side++) {
            struct step *s = &u->step[0][u->step_count++];
            *s = (struct step){.at_ns = side ? b->end_ns : b->start_ns};
            for (int k = 0; k < GANG__FREE_DIMS; k++)
                s->amount[k] = side ? -(gang__i128)b->amount[k] : b->amount[k];
        }
    }
    if (u->step_count)
        qsort(u->step[0], u->step_count, sizeof(struct step), by_time);
}

static void integrate(struct step *step, size_t steps)
{
    for (size_t i = 1; i < steps; i++)
        for (int k = 0; k < GANG__FREE_DIMS; k++)
            step[i].integral[k] =
                step[i - 1].integral[k] +
                step[i - 1].amount[k] * ((gang__i128)step[i].at_ns - step[i - 1].at_ns);
}

/* From changes to sums; one step an instant. */
static void add_up(struct gang__usage *u)
{
    struct step *step = u->step[0];
    size_t n = 0;
    for (size_t i = 0; i < u->step_count; i++) {
        struct step s = step[i];
        bool same = n > 0 && step[n - 1].at_ns == s.at_ns;
        for (int k = 0; k < GANG__FREE_DIMS && n > 0; k++)
            s.amount[k] += step[n - 1].amount[k];
        step[same ? n - 1 : n++] = s;
    }
    u->step_count = n;
    integrate(step, n);
}

/* What was between two steps is between their mirror images. */
static void reverse(struct gang__usage *u)
{
    size_t n = u->step_count;
    for (size_t i = 0; i < n; i++) {
        u->step[1][i] = (struct step){.at_ns = -u->step[0][n - 1 - i].at_ns};
        if (i + 1 < n)
            memcpy(u->step[1][i].amount, u->step[0][n - 2 - i].amount,
                   sizeof(u->step[1][i].amount));
    }
    integrate(u->step[1], n);
}

static void refresh(struct gang__usage *u)
{
    if (!u->stale)
        return;
    note_changes(u);
    add_up(u);
    reverse(u);
    u->stale = false;
}

/* How many steps are not after an instant. */
static size_t steps_until(const struct step *step, size_t count, int64_t at_ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (step[middle].at_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t gang__usage_at(struct gang__usage *u, int64_t at_ns, int64_t amount[GANG__FREE_DIMS])
{
    refresh(u);
    size_t n = steps_until(u->step[0], u->step_count, at_ns);
    for (int k = 0; k < GANG__FREE_DIMS; k++) {
        gang__i128 a = n ? u->step[0][n - 1].amount[k] : 0;
        amount[k] = a > INT64_MAX ? INT64_MAX : (int64_t)a;
    }
    return n < u->step_count ? u->step[0][n].at_ns : GANG__NEVER;
}

/* ---- a question ---------------------------------------------------------------------------- */

struct question {
    const struct step *step;
    size_t steps;
    bool back; /* time is reversed: so are the pieces, about their common start */
    const struct gang__usage_limit *limit;
    const struct gang__usage_piece *piece;
    size_t pieces;
    struct gang__usage_excess *excess; /* not NULL: tell the first, and leave it at that */
    int kind;                          /* that is looked at */
};

static int64_t starts(const struct question *q, size_t i, int64_t at)
{
    const struct gang__usage_piece *p = &q->piece[i];
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
    size_t n = steps_until(q->step, q->steps, at);
    if (!n)
        return 0;
    const struct step *s = &q->step[n - 1];
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
static int64_t tell(const struct question *q, bool average, int64_t at, gang__i128 wanted,
                    int64_t limit)
{
    int64_t n = wanted > INT64_MAX ? INT64_MAX : (int64_t)wanted;
    *q->excess = (struct gang__usage_excess){q->kind, average, at, n, limit};
    return GANG__NEVER;
}

/* ---- instants ------------------------------------------------------------------------------ */

/* After so many steps it is too much. */
static int64_t tell_most(const struct question *q, size_t i, size_t steps, int64_t at)
{
    int64_t from = starts(q, i, at);
    bool before = !steps || q->step[steps - 1].at_ns < from;
    return tell(q, false, before ? from : q->step[steps - 1].at_ns,
                amount_after(q, steps) + q->piece[i].amount[q->kind], q->limit->most[q->kind]);
}

/* The first start >= at at which this piece is nowhere above what may be at an instant; GANG__NEVER: none. */
static int64_t past_most(const struct question *q, size_t i, int64_t at)
{
    int64_t most = q->limit->most[q->kind], amount = q->piece[i].amount[q->kind];
    if (most == GANG__NO_LIMIT || amount == 0)
        return at;
    size_t n = steps_until(q->step, q->steps, starts(q, i, at));
    for (;; n++) {
        bool more = n < q->steps;
        if (amount_after(q, n) + amount > most) {
            if (q->excess)
                return tell_most(q, i, n, at);
            if (!more)
                return GANG__NEVER;
            at += q->step[n].at_ns - starts(q, i, at);
        }
        if (!more || q->step[n].at_ns >= ends(q, i, at))
            return at;
    }
}

/* ---- windows ------------------------------------------------------------------------------- */

/* How far a window, with so much room for what is booked, has to go on until it is enough. -1: for ever. */
static int64_t way_on(const struct question *q, int64_t x, gang__i128 room)
{
    int64_t begin = x, window = q->limit->window_ns;
    gang__i128 over = booked(q, x) - room;
    if (over <= 0)
        return 0;
    if (room < 0)
        return -1;
    size_t a = steps_until(q->step, q->steps, x), b = steps_until(q->step, q->steps, x + window);
    while (over > 0) {
        /* What is over comes to an end, as all that is booked does. */
        assert(a < q->steps);
        gang__i128 slope = amount_after(q, b) - amount_after(q, a);
        int64_t way = q->step[a].at_ns - x;
        if (b < q->steps && q->step[b].at_ns - window - x < way)
            way = q->step[b].at_ns - window - x;
        if (slope < 0 && divide_up(over, -slope) <= way)
            return x + (int64_t)divide_up(over, -slope) - begin;
        over += slope * way;
        x += way;
        while (a < q->steps && q->step[a].at_ns <= x)
            a++;
        while (b < q->steps && q->step[b].at_ns <= x + window)
            b++;
    }
    return x - begin;
}

/* How the pieces lie to a window that stays, when they begin at `at`. */
struct stance {
    bool touches;
    gang__i128 slope; /* by which what they bring changes as they go on */
    int64_t way;      /* so far it is so */
};

static void nearer(struct stance *s, int64_t way)
{
    s->way = way > 0 && way < s->way ? way : s->way;
}

static struct stance stance_of(const struct question *q, int64_t x, int64_t at)
{
    struct stance s = {false, 0, INT64_MAX};
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
        nearer(&s, x - to);
        nearer(&s, end - to);
        nearer(&s, x - from);
        nearer(&s, end - from);
        nearer(&s, end + 1 - from); /* then it does not touch the window any more */
    }
    return s;
}

/* The first start >= at at which the window that begins at x has not too much, or nothing to do with the pieces. */
static int64_t past_window(const struct question *q, int64_t x, gang__i128 limit, int64_t at)
{
    gang__i128 here = booked(q, x), over;
    for (;;) {
        struct stance s = stance_of(q, x, at);
        if (!s.touches || (over = here + brought(q, x, at) - limit) <= 0)
            return at;
        if (q->excess)
            return tell(q, true, x, divide_up(over + limit, q->limit->window_ns),
                        q->limit->average[q->kind]);
        if (s.slope < 0 && divide_up(over, -s.slope) <= s.way)
            at += (int64_t)divide_up(over, -s.slope);
        else
            at += s.way;
    }
}

/* The same of the windows that begin or end where piece i begins or ends. */
static int64_t past_edges(const struct question *q, size_t i, gang__i128 limit, int64_t at)
{
    for (int edge = 0; edge < 4; edge++) {
        int64_t x =
            (edge & 1 ? ends(q, i, at) : starts(q, i, at)) - (edge & 2 ? q->limit->window_ns : 0);
        gang__i128 room = limit - brought(q, x, at);
        int64_t way = way_on(q, x, room);
        if (way == 0)
            continue;
        if (q->excess)
            return tell(q, true, x, divide_up(booked(q, x) + limit - room, q->limit->window_ns),
                        q->limit->average[q->kind]);
        if (way < 0)
            return GANG__NEVER;
        at += way;
    }
    return at;
}

static int64_t past_average(const struct question *q, int64_t at, int64_t to)
{
    gang__i128 limit = (gang__i128)q->limit->average[q->kind] * q->limit->window_ns, all = 0;
    for (size_t i = 0; i < q->pieces; i++)
        all += (gang__i128)q->piece[i].amount[q->kind] * q->piece[i].duration_ns;
    if (q->limit->average[q->kind] == GANG__NO_LIMIT || q->limit->window_ns == 0 || all == 0)
        return at;
    for (size_t i = 0; i < q->pieces && at <= to; i++)
        if (q->piece[i].amount[q->kind] > 0)
            at = past_edges(q, i, limit, at);
    for (size_t i = 0; i < 2 * q->steps && at <= to; i++) {
        int64_t x = q->step[i / 2].at_ns - (i & 1 ? q->limit->window_ns : 0);
        if (booked(q, x) > limit - all)
            at = past_window(q, x, limit, at);
    }
    return at;
}

/* ---- asking -------------------------------------------------------------------------------- */

static int64_t past_all(struct question *q, int64_t at, int64_t to)
{
    for (q->kind = 0; q->kind < GANG__FREE_DIMS && at <= to; q->kind++) {
        for (size_t i = 0; i < q->pieces && at <= to; i++)
            at = past_most(q, i, at);
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

static struct question ask(struct gang__usage *u, const struct gang__usage_piece *piece,
                           size_t pieces, bool back)
{
    refresh(u);
    return (struct question){.step = u->step[back],
                             .steps = u->step_count,
                             .back = back,
                             .limit = &u->limit,
                             .piece = piece,
                             .pieces = pieces};
}

bool gang__usage_fits(struct gang__usage *u, const struct gang__usage_piece *piece, size_t count,
                      int64_t start_ns, struct gang__usage_excess *excess)
{
    struct gang__usage_excess none;
    struct question q = ask(u, piece, count, false);
    q.excess = excess ? excess : &none;
    *q.excess = (struct gang__usage_excess){.kind = -1};
    return search(&q, start_ns, start_ns) == start_ns;
}

int64_t gang__usage_earliest(struct gang__usage *u, const struct gang__usage_piece *piece,
                             size_t count, int64_t from_ns, int64_t to_ns)
{
    struct question q = ask(u, piece, count, false);
    return search(&q, from_ns, to_ns);
}

int64_t gang__usage_latest(struct gang__usage *u, const struct gang__usage_piece *piece,
                           size_t count, int64_t from_ns, int64_t to_ns)
{
    struct question q = ask(u, piece, count, true);
    int64_t at = search(&q, -to_ns, -from_ns);
    return at == GANG__NEVER ? GANG__NEVER : -at;
}
