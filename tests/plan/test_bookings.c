/* SPDX-License-Identifier: Apache-2.0 */
/* What a user may book: by hand, the rows of YARN's TestCapacityOverTimePolicy, and against sums
 * over every instant and every window. */
#include "plan/bookings/bookings.h"

#include "chance.h"
#include "plan/audit.h"
#include "support.h"

#define MINUTE ((int64_t)60 * 1000 * 1000 * 1000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const struct gang__bookings_limit NO_LIMIT = GANG__BOOKINGS_NO_LIMIT;

struct fixture {
    struct fail_mem mem;
    struct gang__bookings *u;
};

static void fixture_open(struct fixture *d, int64_t peak, int64_t average, int64_t window)
{
    struct gang__bookings_limit limit = NO_LIMIT;
    limit.peak[GANG__FREE_POOL] = peak;
    limit.average[GANG__FREE_POOL] = average;
    limit.window_ns = window;
    fail_mem_init(&d->mem, 0);
    MUST(gang__bookings_new(&d->mem.mem, &limit, &d->u));
}

static void fixture_close(struct fixture *d)
{
    gang__bookings_free(d->u);
    ck_assert_int_eq(d->mem.live, 0);
}

static uint32_t book(struct fixture *d, int64_t start, int64_t end, int64_t units)
{
    uint32_t id;
    MUST(gang__bookings_add(d->u, start, end, (int64_t[GANG__FREE_DIMS]){[GANG__FREE_POOL] = units},
                            &id));
    return id;
}

static struct gang__bookings_piece piece_of(int64_t offset, int64_t duration, int64_t units)
{
    return (struct gang__bookings_piece){offset, duration, {[GANG__FREE_POOL] = units}};
}

static bool fits(struct fixture *d, int64_t start, int64_t duration, int64_t units)
{
    struct gang__bookings_piece p = piece_of(0, duration, units);
    return gang__bookings_fit(d->u, &p, 1, start, NULL);
}

START_TEST(bookings_add_up_to_steps)
{
    struct fixture d;
    int64_t amount[GANG__FREE_DIMS];
    fixture_open(&d, GANG__NO_LIMIT, GANG__NO_LIMIT, 0);
    ck_assert(bookings_at(d.u, 0, amount) == GANG__NEVER && amount[GANG__FREE_POOL] == 0);
    book(&d, 10, 30, 5);
    uint32_t id = book(&d, 20, 40, 2);
    ck_assert(bookings_at(d.u, 9, amount) == 10 && amount[GANG__FREE_POOL] == 0);
    ck_assert(bookings_at(d.u, 20, amount) == 30 && amount[GANG__FREE_POOL] == 7);
    ck_assert(bookings_at(d.u, 30, amount) == 40 && amount[GANG__FREE_POOL] == 2);
    gang__bookings_remove(d.u, id);
    ck_assert_uint_eq(book(&d, 30, 50, 2), id);
    ck_assert(bookings_at(d.u, 20, amount) == 30 && amount[GANG__FREE_POOL] == 5);
    gang__bookings_set_aside(d.u, id, true);
    ck_assert(bookings_at(d.u, 30, amount) == GANG__NEVER && amount[GANG__FREE_POOL] == 0);
    gang__bookings_set_aside(d.u, id, false);
    ck_assert(bookings_at(d.u, 30, amount) == 50 && amount[GANG__FREE_POOL] == 2);
    gang__bookings_remove(d.u, id);
    ck_assert(bookings_at(d.u, 30, amount) == GANG__NEVER && amount[GANG__FREE_POOL] == 0);
    ck_assert_uint_eq(book(&d, 1, 2, 1), id);
    fixture_close(&d);
}
END_TEST

START_TEST(an_excess_names_kind_and_time)
{
    struct fixture d;
    struct gang__bookings_excess e;
    fixture_open(&d, 10, 4, 100);
    book(&d, 50, 70, 8);
    struct gang__bookings_piece p = piece_of(0, 30, 3);
    ck_assert(!gang__bookings_fit(d.u, &p, 1, 30, &e));
    ck_assert(e.kind == GANG__FREE_POOL && !e.average && e.at_ns == 50);
    ck_assert(e.wanted == 11 && e.limit == 10);
    ck_assert(!gang__bookings_fit(d.u, &p, 1, 60, &e));
    ck_assert(e.at_ns == 60 && e.wanted == 11);
    p = piece_of(0, 50, 7); /* 350 and some of 160, where 400 may be */
    ck_assert(!gang__bookings_fit(d.u, &p, 1, 70, &e));
    ck_assert(e.kind == GANG__FREE_POOL && e.average && e.wanted == 6 && e.limit == 4);
    ck_assert(gang__bookings_fit(d.u, &p, 1, 200, &e));
    ck_assert_int_eq(e.kind, -1);
    /* [50, 150) has 160 and 7 x (150 - start), and [s - 50, s + 50) has 350 and 8 x (120 - s). */
    ck_assert_int_eq(gang__bookings_earliest(d.u, &p, 1, 70, 1000), 116);
    ck_assert_int_eq(gang__bookings_earliest(d.u, &p, 1, 70, 115), GANG__NEVER);
    ck_assert_int_eq(gang__bookings_latest(d.u, &p, 1, 0, 1000), 1000);
    ck_assert_int_eq(gang__bookings_latest(d.u, &p, 1, 70, 115), GANG__NEVER);
    fixture_close(&d);
}
END_TEST

START_TEST(bookings_above_a_lowered_limit_stay_and_get_no_more)
{
    struct fixture d;
    struct gang__bookings_limit lower = NO_LIMIT;
    fixture_open(&d, GANG__NO_LIMIT, GANG__NO_LIMIT, 0);
    book(&d, 100, 200, 10);
    lower.peak[GANG__FREE_POOL] = 5;
    lower.average[GANG__FREE_POOL] = 5;
    lower.window_ns = 50;
    MUST(gang__bookings_set_limit(d.u, &lower));
    ck_assert(!fits(&d, 150, 10, 1));
    ck_assert(fits(&d, 0, 50, 1));   /* no window that it touches is over */
    ck_assert(!fits(&d, 0, 80, 1));  /* [75, 125) has 5 x 50 of the old, and some more */
    ck_assert(fits(&d, 150, 10, 0)); /* nothing is always within */
    lower.window_ns = -1;
    ck_assert_int_eq(gang__bookings_set_limit(d.u, &lower), GANG_ERANGE);
    ck_assert(!fits(&d, 150, 10, 1));
    fixture_close(&d);
}
END_TEST

/* ---- the rows of TestCapacityOverTimePolicy: 1,000 containers, 24 h, 75 % and 25 % ----------- */

/* May a new user book so many times so much, all from the same time, each `instances` times? */
static bool accepts(int times, int64_t units, int64_t duration, int64_t period, int instances)
{
    struct fixture d;
    struct gang__bookings_piece piece[64];
    bool all = true;
    fixture_open(&d, 750, 250, DAY);
    for (int i = 0; i < instances; i++)
        piece[i] = piece_of(i * period, duration, units);
    for (int n = 0; n < times && all; n++) {
        all = gang__bookings_fit(d.u, piece, (size_t)instances, DAY, NULL);
        for (int i = 0; i < instances && all; i++)
            book(&d, DAY + i * period, DAY + i * period + duration, units);
    }
    fixture_close(&d);
    return all;
}

/* The rows that are answered as YARN answers them. */
START_TEST(limits_over_time_are_those_of_yarn)
{
    ck_assert(accepts(1, 250, HOUR, 0, 1));
    ck_assert(accepts(1, 740, MINUTE, 0, 1));
    ck_assert(!accepts(1, 760, HOUR, 0, 1));
    ck_assert(!accepts(1, 1100, HOUR, 0, 1));
    ck_assert(accepts(3, 250, MINUTE, 0, 1));
    ck_assert(!accepts(4, 250, MINUTE, 0, 1));
    ck_assert(!accepts(1, 260, DAY, 0, 1));
    ck_assert(!accepts(1, 510, DAY / 2, 0, 1));
}
END_TEST

/* YARN's policy of the 3.x versions refuses these, for it takes the running integral for a step
 * function, which is too much between its steps. No window of 24 h has more than 25 % here, so
 * they are accepted. */
START_TEST(a_booking_within_the_average_is_accepted_at_any_length)
{
    ck_assert(accepts(1, 250, 25 * HOUR, 0, 1));
    ck_assert(accepts(5, 50, 25 * HOUR, 0, 1));
    ck_assert(accepts(1, 200, 40 * HOUR, 0, 1));
    ck_assert(!accepts(1, 251, 25 * HOUR, 0, 1));
    ck_assert(!accepts(5, 51, 25 * HOUR, 0, 1));
}
END_TEST

/* An instance is not longer than the period. */
START_TEST(limits_over_time_hold_of_repetitions)
{
    const int64_t every[] = {2 * HOUR, DAY};
    for (int i = 0; i < 2; i++) {
        int64_t p = every[i];
        ck_assert(accepts(1, 250, HOUR, p, 40));
        ck_assert(accepts(1, 740, MINUTE, p, 40));
        ck_assert(!accepts(1, 760, HOUR, p, 40));
        ck_assert(!accepts(1, 1100, HOUR, p, 40));
        ck_assert(accepts(3, 250, MINUTE, p, 40));
        ck_assert(!accepts(4, 250, MINUTE, p, 40));
        ck_assert(!accepts(1, 260, p, p, 40)); /* without end, so to speak */
        ck_assert(!accepts(1, 510, p / 2, p, 40));
        ck_assert(accepts(1, 500, p / 2, p, 40));
        ck_assert(accepts(1, 250, p, p, 40)); /* on purpose, as above */
        ck_assert(accepts(5, 50, p, p, 40));
    }
}
END_TEST

/* ---- errors -------------------------------------------------------------------------------- */

START_TEST(wrong_bookings_and_limits_are_refused)
{
    struct fixture d;
    int64_t one[GANG__FREE_DIMS] = {1}, bad[GANG__FREE_DIMS] = {-1},
            huge[GANG__FREE_DIMS] = {INT64_C(1) << 62};
    uint32_t id;
    struct gang__bookings_limit limit = NO_LIMIT;
    struct gang__bookings *u = (void *)&limit;
    fixture_open(&d, 1, 1, 10);
    ck_assert_int_eq(gang__bookings_add(d.u, 5, 5, one, &id), GANG_EINVAL);
    ck_assert_int_eq(gang__bookings_add(d.u, 5, GANG__NEVER, one, &id), GANG_ERANGE);
    ck_assert_int_eq(gang__bookings_add(d.u, INT64_MIN, 5, one, &id), GANG_ERANGE);
    ck_assert_int_eq(gang__bookings_add(d.u, 5, 6, bad, &id), GANG_ERANGE);
    ck_assert_int_eq(gang__bookings_add(d.u, 0, (INT64_C(1) << 62) + 1, one, &id), GANG_ERANGE);
    MUST(gang__bookings_add(d.u, 0, INT64_C(1) << 61, huge, &id));
    MUST(gang__bookings_add(d.u, 0, INT64_C(1) << 61, huge, &id));
    ck_assert_int_eq(gang__bookings_add(d.u, 0, INT64_C(1) << 60, huge, &id), GANG_ERANGE);
    limit.peak[0] = -2;
    ck_assert_int_eq(gang__bookings_new(&d.mem.mem, &limit, &u), GANG_ERANGE);
    ck_assert_ptr_null(u);
    limit = NO_LIMIT;
    limit.window_ns = (INT64_C(1) << 60) + 1;
    ck_assert_int_eq(gang__bookings_new(&d.mem.mem, &limit, &u), GANG_ERANGE);
    gang__bookings_free(NULL);
    fixture_close(&d);
}
END_TEST

START_TEST(without_memory_nothing_is_booked)
{
    bool failed = true;
    for (long at = 1; failed; at++) {
        struct fail_mem mem;
        struct gang__bookings *u;
        int64_t one[GANG__FREE_DIMS] = {1}, amount[GANG__FREE_DIMS];
        uint32_t id;
        int booked = 0;
        fail_mem_init(&mem, at);
        mem.fail_on = true;
        gang_result r = gang__bookings_new(&mem.mem, &NO_LIMIT, &u);
        ck_assert_ptr_eq(r == GANG_OK ? NULL : u, NULL);
        for (int i = 0; i < 20 && r == GANG_OK; i++) {
            r = gang__bookings_add(u, 0, 10, one, &id);
            booked += r == GANG_OK;
        }
        failed = r != GANG_OK;
        ck_assert(!failed || r == GANG_ENOMEM);
        if (u) {
            (void)bookings_at(u, 5, amount);
            ck_assert_int_eq(amount[0], booked);
        }
        gang__bookings_free(u);
        ck_assert_int_eq(mem.live, 0);
    }
}
END_TEST

START_TEST(a_copy_is_independent)
{
    struct fixture d;
    int64_t amount[GANG__FREE_DIMS];
    gang_result r = GANG_ENOMEM;
    struct gang__bookings *copy = NULL;
    fixture_open(&d, 10, -1, 0);
    uint32_t first = book(&d, 0, 10, 3), gone = book(&d, 5, 20, 2);
    (void)book(&d, 5, 30, 4);
    gang__bookings_remove(d.u, gone);
    d.mem.fail_on = true;
    for (long at = 1; r != GANG_OK; at++) {
        long live = d.mem.live;
        d.mem.calls = 0;
        d.mem.fail_at = at;
        r = gang__bookings_copy(&d.mem.mem, d.u, &copy);
        ck_assert(r == GANG_OK || (r == GANG_ENOMEM && !copy && d.mem.live == live));
    }
    d.mem.fail_at = 0;
    gang__bookings_remove(d.u, first);
    struct gang__bookings *own = d.u;
    d.u = copy;
    ck_assert_int_eq(bookings_at(copy, 7, amount), 10);
    ck_assert_int_eq(amount[GANG__FREE_POOL], 7);
    ck_assert_uint_eq(book(&d, 0, 10, 1), gone); /* ids are given again in the same order */
    test_assert(fits(&d, 0, 10, 2) && !fits(&d, 0, 10, 3));
    gang__bookings_free(copy);
    d.u = own;
    ck_assert_int_eq(bookings_at(own, 7, amount), 30);
    ck_assert_int_eq(amount[GANG__FREE_POOL], 4);
    fixture_close(&d);
}
END_TEST

/* ---- against every instant and every window ------------------------------------------------ */

enum { BOOKINGS = 8, PIECES = 3, HORIZON = 40, BEFORE = 20, KINDS = 2 };

struct world {
    struct gang__bookings_limit limit;
    struct {
        bool in, aside;
        uint32_t id;
        int64_t start, end, amount[GANG__FREE_DIMS];
    } booking[BOOKINGS];
    struct gang__bookings_piece piece[PIECES];
    size_t pieces;
};

static int64_t booked_at(const struct world *w, int kind, int64_t at)
{
    int64_t sum = 0;
    for (int i = 0; i < BOOKINGS; i++)
        if (w->booking[i].in && !w->booking[i].aside && w->booking[i].start <= at &&
            at < w->booking[i].end)
            sum += w->booking[i].amount[kind];
    return sum;
}

static int64_t piece_at(const struct world *w, int kind, int64_t start, int64_t at)
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->pieces; i++) {
        const struct gang__bookings_piece *p = &w->piece[i];
        if (start + p->offset_ns <= at && at < start + p->offset_ns + p->duration_ns)
            sum += p->amount[kind];
    }
    return sum;
}

static bool touches(const struct world *w, int kind, int64_t start, int64_t from, int64_t to)
{
    for (size_t i = 0; i < w->pieces; i++) {
        int64_t at = start + w->piece[i].offset_ns;
        if (w->piece[i].amount[kind] > 0 && at <= to && at + w->piece[i].duration_ns >= from)
            return true;
    }
    return false;
}

static bool is_within(const struct world *w, int64_t start)
{
    for (int k = 0; k < KINDS; k++) {
        int64_t window = w->limit.average[k] == GANG__NO_LIMIT ? 0 : w->limit.window_ns;
        for (int64_t at = -BEFORE; at < 3 * HORIZON; at++) {
            int64_t more = piece_at(w, k, start, at), sum = 0;
            if (w->limit.peak[k] != GANG__NO_LIMIT && more > 0 &&
                booked_at(w, k, at) + more > w->limit.peak[k])
                return false;
            for (int64_t t = at; t < at + window; t++)
                sum += booked_at(w, k, t) + piece_at(w, k, start, t);
            if (touches(w, k, start, at, at + window) && sum > w->limit.average[k] * window)
                return false;
        }
    }
    return true;
}

static void some_limit(struct gang__bookings_limit *limit)
{
    *limit = NO_LIMIT;
    limit->window_ns = one_in(6) ? 0 : 1 + below(14);
    for (int k = 0; k < KINDS; k++) {
        limit->peak[k] = one_in(3) ? GANG__NO_LIMIT : below(14);
        limit->average[k] = one_in(4) ? GANG__NO_LIMIT : below(8);
    }
}

static void some_change(struct world *w, struct gang__bookings *u)
{
    int i = (int)below(BOOKINGS);
    int64_t start = below(HORIZON), end = start + 1 + below(15);
    if (!w->booking[i].in) {
        w->booking[i].in = true;
        w->booking[i].aside = false;
        w->booking[i].start = start;
        w->booking[i].end = end;
        for (int k = 0; k < KINDS; k++)
            w->booking[i].amount[k] = below(5);
        MUST(gang__bookings_add(u, start, end, w->booking[i].amount, &w->booking[i].id));
    } else if (one_in(2)) {
        w->booking[i].aside = !w->booking[i].aside;
        gang__bookings_set_aside(u, w->booking[i].id, w->booking[i].aside);
    } else {
        w->booking[i].in = false;
        gang__bookings_remove(u, w->booking[i].id);
    }
}

static void some_pieces(struct world *w)
{
    int64_t offset = below(4);
    w->pieces = 1 + index_below(PIECES);
    for (size_t i = 0; i < w->pieces; i++) {
        w->piece[i] = (struct gang__bookings_piece){offset, 1 + below(12), {0}};
        for (int k = 0; k < KINDS; k++)
            w->piece[i].amount[k] = below(7);
        offset += w->piece[i].duration_ns + (one_in(2) ? 0 : below(8));
    }
}

/* All starts in a window, one by one. */
static void compare(const struct world *w, struct gang__bookings *u)
{
    int64_t from = below(HORIZON), to = from + below(HORIZON), first = GANG__NEVER,
            last = GANG__NEVER;
    struct gang__bookings_excess e;
    for (int64_t at = from; at <= to; at++) {
        bool within = is_within(w, at);
        test_assert(gang__bookings_fit(u, w->piece, w->pieces, at, &e) == within);
        test_assert((e.kind < 0) == within && (within || e.wanted > e.limit));
        first = within && first == GANG__NEVER ? at : first;
        last = within ? at : last;
    }
    test_assert(gang__bookings_earliest(u, w->piece, w->pieces, from, to) == first);
    test_assert(gang__bookings_latest(u, w->piece, w->pieces, from, to) == last);
}

START_TEST(limits_are_those_of_sums_over_every_window)
{
    enum { STEPS = 12 };
    const int worlds = getenv("GANG_TEST_QUICK") ? 60 : 300;
    chance_state = test_seed();
    for (int n = 0; n < worlds; n++) {
        struct fail_mem mem;
        struct gang__bookings *u;
        struct world w = {0};
        fail_mem_init(&mem, 0);
        some_limit(&w.limit);
        MUST(gang__bookings_new(&mem.mem, &w.limit, &u));
        for (int i = 0; i < STEPS; i++) {
            some_change(&w, u);
            some_pieces(&w);
            compare(&w, u);
            if (one_in(10)) {
                some_limit(&w.limit);
                MUST(gang__bookings_set_limit(u, &w.limit));
            }
        }
        gang__bookings_free(u);
        test_assert(mem.live == 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("what users book");
    TCase *tests = tcase_create("usage");
    tcase_set_timeout(tests, 240);
    tcase_add_test(tests, bookings_add_up_to_steps);
    tcase_add_test(tests, an_excess_names_kind_and_time);
    tcase_add_test(tests, bookings_above_a_lowered_limit_stay_and_get_no_more);
    tcase_add_test(tests, limits_over_time_are_those_of_yarn);
    tcase_add_test(tests, a_booking_within_the_average_is_accepted_at_any_length);
    tcase_add_test(tests, limits_over_time_hold_of_repetitions);
    tcase_add_test(tests, wrong_bookings_and_limits_are_refused);
    tcase_add_test(tests, without_memory_nothing_is_booked);
    tcase_add_test(tests, a_copy_is_independent);
    tcase_add_test(tests, limits_are_those_of_sums_over_every_window);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
