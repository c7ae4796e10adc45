/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: the worked rows of YARN's reservation system (TestGreedyReservationAgent),
 * and what a request may be, by hand. test_admit_random.c compares with a naive calendar. */
#include "plan/admit/admit.h"

#include "plan/audit.h"
#include "support.h"

enum { NODES = 8, GPUS = 8, UNITS = 100 };

static const int64_t NODE[GANG__FREE_KINDS] = {64, 512, GPUS};

/* 100 units of a pool, and eight nodes of 8 GPUs. */
struct fixture {
    struct fail_mem mem;
    struct gang__timeline *t;
    struct gang__bookings *usage;
    struct gang__admitted got;
};

static void fixture_open(struct fixture *d)
{
    int64_t capacity[NODES][GANG__FREE_KINDS];
    *d = (struct fixture){.t = NULL};
    fail_mem_init(&d->mem, 0);
    for (size_t i = 0; i < NODES; i++)
        memcpy(capacity[i], NODE, sizeof(NODE));
    MUST(gang__timeline_new(&d->mem.mem, capacity[0], NODES, UNITS, 0, &d->t));
}

static void fixture_close(struct fixture *d)
{
    gang__timeline_free(d->t);
    gang__bookings_free(d->usage);
    gang__admitted_free(&d->got, &d->mem.mem);
    ck_assert_int_eq(d->mem.live, 0);
}

/* A user with limits, in units. */
static void limit(struct fixture *d, int64_t peak, int64_t average, int64_t window)
{
    struct gang__bookings_limit limit = GANG__BOOKINGS_NO_LIMIT;
    limit.peak[GANG__FREE_POOL] = peak;
    limit.average[GANG__FREE_POOL] = average;
    limit.window_ns = window;
    MUST(gang__bookings_new(&d->mem.mem, &limit, &d->usage));
}

static uint32_t take(struct fixture *d, int64_t units, int64_t start, int64_t end)
{
    struct gang__occupation o = {.start_ns = start, .end_ns = end, .pool = units};
    uint32_t id;
    MUST(gang__timeline_add(d->t, &o, &id));
    return id;
}

static uint32_t take_nodes(struct fixture *d, uint32_t first, uint32_t count, int64_t start,
                           int64_t end)
{
    struct gang__time_place place[NODES];
    struct gang__occupation o = {
        .start_ns = start, .end_ns = end, .place = place, .place_count = count, .whole = true};
    uint32_t id;
    for (uint32_t i = 0; i < count; i++)
        place[i] = (struct gang__time_place){.node = first + i};
    MUST(gang__timeline_add(d->t, &o, &id));
    return id;
}

/* The two reservations that are there in all of YARN's tests. */
static void basic_plan(struct fixture *d)
{
    const int64_t f[] = {10, 10, 20, 20, 20, 10, 10};
    for (int i = 0; i < 7; i++) {
        take(d, f[i], i, i + 1);
        take(d, 5, 5 + i, 6 + i);
    }
}

/* So many containers of so many units, `gang` at a time. */
static struct gang__admit_stage containers(int64_t count, int64_t units, int64_t gang,
                                           int64_t duration)
{
    return (struct gang__admit_stage){
        .duration_ns = duration, .pool = count * units, .gang = gang * units};
}

static struct gang__admit_request ask_of(int64_t arrival, int64_t deadline,
                                         const struct gang__admit_stage *stage, size_t count,
                                         int combine, int prefer)
{
    return (struct gang__admit_request){.arrival_ns = arrival,
                                        .deadline_ns = deadline,
                                        .stage = stage,
                                        .stage_count = count,
                                        .combine = combine,
                                        .prefer = prefer};
}

static gang_result admit(struct fixture *d, struct gang__admit_request *request)
{
    request->usage = d->usage;
    gang_result r = gang__admit(d->t, request, &d->got);
    ck_assert((r == GANG_OK) == (d->got.why == GANG__ADMIT_FITS));
    ck_assert((r == GANG_OK) == (d->got.count > 0));
    return r;
}

struct row {
    uint32_t stage;
    int64_t start, end, pool;
};

static void expect(const struct fixture *d, size_t count, const struct row *row)
{
    ck_assert_uint_eq(d->got.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct gang__admit_piece *p = &d->got.piece[i];
        ck_assert_uint_eq(p->stage, row[i].stage);
        ck_assert_int_eq(p->start_ns, row[i].start);
        ck_assert_int_eq(p->end_ns, row[i].end);
        ck_assert_int_eq(p->pool, row[i].pool);
    }
}

static void expect_why(const struct fixture *d, int why, uint32_t stage, int64_t wanted,
                       int64_t has, int64_t next)
{
    ck_assert_int_eq(d->got.why, why);
    ck_assert_uint_eq(d->got.stage, stage);
    ck_assert_int_eq(d->got.wanted, wanted);
    ck_assert_int_eq(d->got.has, has);
    ck_assert_int_eq(d->got.next_ns, next);
}

/* How much of the pool is free, all along? */
static void expect_free(struct fixture *d, int64_t from, int64_t to, int64_t units)
{
    int64_t unused[GANG__FREE_DIMS], next;
    for (; from < to; from = next) {
        next = gang__timeline_sum_at(d->t, from, unused);
        ck_assert_int_eq(unused[GANG__FREE_POOL], units);
    }
}

/* ---- the worked rows ----------------------------------------------------------------------- */

START_TEST(simple_gangs_lie_early_or_late)
{
    struct gang__admit_stage s = containers(10, 2, 5, 10);
    const int prefer[] = {GANG__ADMIT_EARLIEST, GANG__ADMIT_LATEST};
    const int64_t start[] = {5, 10};
    for (int i = 0; i < 2; i++) {
        struct fixture d;
        struct gang__admit_request request = ask_of(5, 20, &s, 1, GANG__ADMIT_ALL, prefer[i]);
        fixture_open(&d);
        basic_plan(&d);
        MUST(admit(&d, &request));
        expect(&d, 1, &(struct row){0, start[i], start[i] + 10, 20});
        ck_assert_int_eq(d.got.piece[0].gangs, 2);
        fixture_close(&d);
    }
}
END_TEST

START_TEST(under_a_cap_they_lie_back_to_back)
{
    struct gang__admit_stage s = containers(20, 2, 20, 10), large = containers(45, 2, 45, 10);
    const int prefer[] = {GANG__ADMIT_EARLIEST, GANG__ADMIT_LATEST};
    const int64_t start[][2] = {{5, 15}, {90, 80}};
    for (int i = 0; i < 2; i++) {
        struct fixture d;
        struct gang__admit_request request = ask_of(5, 100, &s, 1, GANG__ADMIT_ALL, prefer[i]);
        struct gang__admit_request more = ask_of(5, 100, &large, 1, GANG__ADMIT_ALL, prefer[i]);
        fixture_open(&d);
        basic_plan(&d);
        limit(&d, 40, 40, 100);
        for (int n = 0; n < 2; n++) {
            MUST(admit(&d, &request));
            expect(&d, 1, &(struct row){0, start[i][n], start[i][n] + 10, 40});
        }
        ck_assert_int_eq(admit(&d, &more), GANG_ENEVER);
        expect_why(&d, GANG__ADMIT_PEAK, 0, 90, 40, GANG__NEVER);
        ck_assert_int_eq(d.got.item, GANG__FREE_POOL);
        fixture_close(&d);
    }
}
END_TEST

START_TEST(a_chain_goes_around_what_is_full)
{
    const struct gang__admit_stage s[] = {containers(10, 2, 1, 10), containers(10, 1, 10, 20),
                                          containers(10, 2, 1, 10), containers(10, 1, 10, 20)};
    const int prefer[] = {GANG__ADMIT_EARLIEST, GANG__ADMIT_LATEST};
    const struct row row[][4] = {
        {{0, 0, 10, 20}, {1, 10, 30, 10}, {2, 32, 42, 20}, {3, 42, 62, 10}},
        {{0, 0, 10, 20}, {1, 10, 30, 10}, {2, 40, 50, 20}, {3, 50, 70, 10}}};
    for (int i = 0; i < 2; i++) {
        struct fixture d;
        struct gang__admit_request request = ask_of(0, 70, s, 4, GANG__ADMIT_ORDER, prefer[i]);
        fixture_open(&d);
        basic_plan(&d);
        take(&d, 100, 30, 32);
        MUST(admit(&d, &request));
        expect(&d, 4, row[i]);
        fixture_close(&d);
    }
}
END_TEST

START_TEST(without_a_gap_a_chain_is_placed_as_one)
{
    const struct gang__admit_stage s[] = {containers(10, 2, 1, 10), containers(10, 1, 10, 20),
                                          containers(10, 2, 1, 10), containers(10, 1, 10, 20)};
    struct gang__admit_request request = ask_of(0, 60, s, 4, GANG__ADMIT_ORDER_NO_GAP, 0);
    struct fixture d;
    fixture_open(&d);
    basic_plan(&d);
    MUST(admit(&d, &request));
    expect(&d, 4,
           (struct row[]){{0, 0, 10, 20}, {1, 10, 30, 10}, {2, 30, 40, 20}, {3, 40, 60, 10}});
    gang__admitted_undo(d.t, &d.got);
    take(&d, 100, 30, 32);
    request.deadline_ns = 70; /* and then it is not possible any more */
    ck_assert_int_eq(admit(&d, &request), GANG_ENOFIT);
    expect_why(&d, GANG__ADMIT_FULL, 0, 10, 0, 32);
    fixture_close(&d);
}
END_TEST

START_TEST(many_small_gangs_fill_the_plan)
{
    const int prefer[] = {GANG__ADMIT_EARLIEST, GANG__ADMIT_LATEST, GANG__ADMIT_CHEAPEST};
    struct gang__admit_stage s = containers(200, 1, 10, 10);
    for (int i = 0; i < 3; i++) {
        struct fixture d;
        struct gang__admit_request request = ask_of(100, 120, &s, 1, GANG__ADMIT_ALL, prefer[i]);
        fixture_open(&d);
        basic_plan(&d);
        MUST(admit(&d, &request));
        expect(&d, 2, (struct row[]){{0, 100, 110, 100}, {0, 110, 120, 100}});
        expect_free(&d, 100, 120, 0);
        fixture_close(&d);
    }
}
END_TEST

START_TEST(the_first_alternative_that_can_be_placed_is_taken)
{
    const struct gang__admit_stage s[] = {containers(110, 1, 110, 10), containers(10, 2, 5, 10),
                                          containers(5, 1, 5, 10)};
    struct gang__admit_request request =
        ask_of(100, 120, s, 3, GANG__ADMIT_ANY, GANG__ADMIT_LATEST);
    struct fixture d;
    fixture_open(&d);
    basic_plan(&d);
    MUST(admit(&d, &request));
    expect(&d, 1, &(struct row){1, 110, 120, 20});
    request.stage_count = 1;
    ck_assert_int_eq(admit(&d, &request), GANG_ENEVER);
    expect_why(&d, GANG__ADMIT_LARGER, 0, 110, 100, GANG__NEVER);
    fixture_close(&d);
}
END_TEST

START_TEST(all_stages_lie_in_the_window_or_none)
{
    const struct gang__admit_stage s[] = {containers(5, 1, 5, 10), containers(10, 2, 10, 20)};
    const struct gang__admit_stage much[] = {containers(55, 1, 5, 10), containers(55, 2, 5, 20)};
    struct gang__admit_request request =
        ask_of(100, 120, s, 2, GANG__ADMIT_ALL, GANG__ADMIT_EARLIEST);
    struct fixture d;
    fixture_open(&d);
    basic_plan(&d);
    MUST(admit(&d, &request));
    expect(&d, 2, (struct row[]){{0, 100, 110, 5}, {1, 100, 120, 20}});
    gang__admitted_undo(d.t, &d.got);
    request.prefer = GANG__ADMIT_LATEST;
    MUST(admit(&d, &request));
    expect(&d, 2, (struct row[]){{1, 100, 120, 20}, {0, 110, 120, 5}});
    gang__admitted_undo(d.t, &d.got);
    request.stage = much; /* 110 units of the second, and only one gang after the other */
    ck_assert_int_eq(admit(&d, &request), GANG_ENEVER);
    ck_assert_int_eq(d.got.why, GANG__ADMIT_FULL);
    ck_assert_uint_eq(d.got.stage, 1);
    expect_free(&d, 100, 120, 100);
    fixture_close(&d);
}
END_TEST

/* ---- nodes --------------------------------------------------------------------------------- */

START_TEST(gangs_get_nodes)
{
    struct gang__time_group eight = {.count = 16, .need = {64, 512, GPUS}};
    struct gang__admit_stage s = {.duration_ns = 10, .group = &eight, .group_count = 1, .gang = 4};
    struct gang__admit_request request =
        ask_of(0, 100, &s, 1, GANG__ADMIT_ALL, GANG__ADMIT_EARLIEST);
    struct fixture d;
    fixture_open(&d);
    take_nodes(&d, 1, 3, 0, 25); /* one gang fits beside it, two after */
    MUST(admit(&d, &request));
    expect(&d, 4, (struct row[]){{0, 0, 10, 0}, {0, 10, 20, 0}, {0, 20, 30, 0}, {0, 25, 35, 0}});
    gang__admitted_undo(d.t, &d.got);
    take_nodes(&d, 0, 1, 20, 25);
    take_nodes(&d, 4, 1, 20, 25);
    MUST(admit(&d, &request));
    expect(&d, 3, (struct row[]){{0, 0, 10, 0}, {0, 10, 20, 0}, {0, 25, 35, 0}});
    ck_assert_int_eq(d.got.piece[0].gangs, 1);
    ck_assert_int_eq(d.got.piece[1].gangs, 1);
    ck_assert_int_eq(d.got.piece[2].gangs, 2);
    ck_assert_uint_eq(d.got.piece[2].place_count, 8);
    const uint32_t first[] = {0, 4, 5, 6};
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(d.got.place[d.got.piece[0].place + i].node, first[i]);
    fixture_close(&d);
}
END_TEST

START_TEST(named_nodes_are_taken_whole)
{
    const uint32_t node[] = {2, 5};
    struct gang__admit_stage s = {.duration_ns = 10, .node = node, .node_count = 2};
    struct gang__admit_request request =
        ask_of(0, 100, &s, 1, GANG__ADMIT_ALL, GANG__ADMIT_EARLIEST);
    struct gang__bookings_limit limit = GANG__BOOKINGS_NO_LIMIT;
    struct fixture d;
    fixture_open(&d);
    limit.peak[GANG__FREE_GPU] = 20;
    MUST(gang__bookings_new(&d.mem.mem, &limit, &d.usage));
    take_nodes(&d, 5, 1, 0, 7);
    MUST(admit(&d, &request));
    expect(&d, 1, &(struct row){0, 7, 17, 0});
    ck_assert(d.got.piece[0].whole && d.got.piece[0].place_count == 2);
    ck_assert(d.got.place[0].node == 2 && d.got.place[1].node == 5);
    int64_t booked[GANG__FREE_DIMS];
    ck_assert_int_eq(bookings_at(d.usage, 7, booked), 17);
    ck_assert(booked[GANG__FREE_GPU] == 16 && booked[GANG__FREE_NODES] == 2);
    /* A node more is too many GPUs, at the same time. */
    const uint32_t other[] = {0};
    s.node = other;
    s.node_count = 1;
    MUST(admit(&d, &request));
    expect(&d, 1, &(struct row){0, 17, 27, 0});
    request.deadline_ns = 20;
    s.node = (const uint32_t[]){1};
    ck_assert_int_eq(admit(&d, &request), GANG_ENOFIT);
    expect_why(&d, GANG__ADMIT_PEAK, 0, 24, 20, 17);
    fixture_close(&d);
}
END_TEST

START_TEST(so_many_whole_nodes_of_some)
{
    const uint64_t mask = 0xf0;
    struct gang__time_group node = {.count = 3, .max_per_node = 1};
    struct gang__admit_stage s = {
        .duration_ns = 10, .group = &node, .group_count = 1, .whole = true, .nodes = &mask};
    struct gang__admit_request request = ask_of(0, 20, &s, 1, GANG__ADMIT_ALL, GANG__ADMIT_LATEST);
    struct fixture d;
    fixture_open(&d);
    take_nodes(&d, 4, 2, 15, 50);
    MUST(admit(&d, &request));
    expect(&d, 1, &(struct row){0, 5, 15, 0});
    ck_assert_uint_eq(d.got.place[d.got.place_count - 1].node, 6);
    node.count = 5;
    ck_assert_int_eq(admit(&d, &request), GANG_ENEVER);
    expect_why(&d, GANG__ADMIT_LARGER, 0, 5, 4, GANG__NEVER);
    fixture_close(&d);
}
END_TEST

/* ---- when ---------------------------------------------------------------------------------- */

START_TEST(a_fixed_start_is_kept_or_nothing_is)
{
    struct gang__admit_stage s = containers(30, 2, 10, 10);
    struct gang__admit_request request =
        ask_of(0, 100, &s, 1, GANG__ADMIT_ALL, GANG__ADMIT_EARLIEST);
    struct fixture d;
    fixture_open(&d);
    take(&d, 50, 20, 40);
    request.fixed = true;
    request.start_ns = 10;
    MUST(admit(&d, &request));
    expect(&d, 1, &(struct row){0, 10, 20, 60});
    request.start_ns = 15; /* not even those gangs that would fit */
    ck_assert_int_eq(admit(&d, &request), GANG_ENOFIT);
    expect_why(&d, GANG__ADMIT_FULL, 0, 3, 0, 40);
    request.start_ns = 95;
    ck_assert_int_eq(admit(&d, &request), GANG_ENEVER);
    expect_why(&d, GANG__ADMIT_SHORT, 0, 10, 5, GANG__NEVER);
    fixture_close(&d);
}
END_TEST

START_TEST(a_fixed_start_is_that_of_the_first_stage_in_an_order)
{
    const struct gang__admit_stage s[] = {containers(60, 1, 0, 10), containers(60, 1, 0, 10)};
    struct gang__admit_request request =
        ask_of(0, 100, s, 2, GANG__ADMIT_ORDER, GANG__ADMIT_EARLIEST);
    struct fixture d;
    fixture_open(&d);
    take(&d, 50, 20, 40);
    request.fixed = true;
    request.start_ns = 10;
    MUST(admit(&d, &request));
    expect(&d, 2, (struct row[]){{0, 10, 20, 60}, {1, 40, 50, 60}});
    gang__admitted_undo(d.t, &d.got);
    request.combine = GANG__ADMIT_ORDER_NO_GAP;
    ck_assert_int_eq(admit(&d, &request), GANG_ENOFIT);
    expect_why(&d, GANG__ADMIT_FULL, 0, 1, 0, 40);
    request.combine = GANG__ADMIT_ALL; /* 120 at the same time */
    ck_assert_int_eq(admit(&d, &request), GANG_ENEVER);
    ck_assert_int_eq(d.got.why, GANG__ADMIT_FULL);
    const struct gang__admit_stage both[] = {containers(40, 1, 0, 10), containers(40, 1, 0, 10)};
    request.stage = both; /* one of them fits at 20, for both at 40 */
    request.start_ns = 20;
    ck_assert_int_eq(admit(&d, &request), GANG_ENOFIT);
    expect_why(&d, GANG__ADMIT_FULL, 1, 1, 0, 40);
    fixture_close(&d);
}
END_TEST

START_TEST(the_cheapest_start_is_where_least_is_used)
{
    struct gang__admit_stage s = containers(10, 1, 0, 10);
    struct gang__admit_request request =
        ask_of(0, 100, &s, 1, GANG__ADMIT_ALL, GANG__ADMIT_CHEAPEST);
    struct fixture d;
    fixture_open(&d);
    take(&d, 50, 0, 30);
    take(&d, 20, 30, 38);
    take(&d, 30, 38, 42);
    take(&d, 20, 42, 70);
    take(&d, 95, 70, 100);
    MUST(admit(&d, &request));
    expect(&d, 1, &(struct row){0, 42, 52, 10}); /* [28, 38) has 260 of them, [42, 52) 200 */
    MUST(admit(&d, &request));
    expect(&d, 1, &(struct row){0, 52, 62, 10}); /* the first one counts */
    MUST(admit(&d, &request));
    expect(&d, 1, &(struct row){0, 30, 40, 10}); /* as much as [60, 70) */
    fixture_close(&d);
}
END_TEST

START_TEST(repetitions_lie_a_period_apart)
{
    struct gang__admit_stage s = containers(40, 1, 0, 10);
    struct gang__admit_request request =
        ask_of(0, 30, &s, 1, GANG__ADMIT_ALL, GANG__ADMIT_EARLIEST);
    struct fixture d;
    fixture_open(&d);
    take(&d, 70, 0, 4);
    take(&d, 70, 105, 112); /* the second time */
    take(&d, 70, 223, 224); /* the third time */
    request.period_ns = 100;
    request.instances = 3;
    MUST(admit(&d, &request));
    expect(&d, 3, (struct row[]){{0, 12, 22, 40}, {0, 112, 122, 40}, {0, 212, 222, 40}});
    ck_assert_uint_eq(d.got.piece[2].instance, 2);
    gang__admitted_undo(d.t, &d.got);
    request.prefer = GANG__ADMIT_LATEST;
    MUST(admit(&d, &request));
    expect(&d, 3, (struct row[]){{0, 13, 23, 40}, {0, 113, 123, 40}, {0, 213, 223, 40}});
    request.deadline_ns = 21;
    gang__admitted_undo(d.t, &d.got);
    ck_assert_int_eq(admit(&d, &request), GANG_ENOFIT);
    expect_why(&d, GANG__ADMIT_FULL, 0, 1, 0, 12);
    fixture_close(&d);
}
END_TEST

START_TEST(repetitions_keep_to_the_limits_together)
{
    struct gang__admit_stage s = containers(50, 1, 0, 10);
    struct gang__admit_request request =
        ask_of(0, 100, &s, 1, GANG__ADMIT_ALL, GANG__ADMIT_EARLIEST);
    struct fixture d;
    fixture_open(&d);
    limit(&d, GANG__NO_LIMIT, 10, 60); /* 600 in 60 */
    request.period_ns = 49;
    request.instances = 2;
    request.deadline_ns = 49;
    ck_assert_int_eq(admit(&d, &request), GANG_ENEVER); /* 59 from the first to the last */
    expect_why(&d, GANG__ADMIT_AVERAGE, 0, 17, 10, GANG__NEVER);
    request.period_ns = 57; /* 500 and 150 */
    ck_assert_int_eq(admit(&d, &request), GANG_ENEVER);
    request.period_ns = 58; /* 500 and 100 */
    MUST(admit(&d, &request));
    ck_assert_uint_eq(d.got.count, 2);
    fixture_close(&d);
}
END_TEST

START_TEST(a_refusal_gives_the_next_window)
{
    struct gang__admit_stage s = containers(200, 1, 10, 10);
    struct gang__admit_request request =
        ask_of(0, 20, &s, 1, GANG__ADMIT_ALL, GANG__ADMIT_EARLIEST);
    struct fixture d;
    fixture_open(&d);
    take(&d, 95, 5, 40);
    ck_assert_int_eq(admit(&d, &request), GANG_ENOFIT);
    expect_why(&d, GANG__ADMIT_FULL, 0, 20, 0, 40);
    expect_free(&d, 0, 5, 100);
    expect_free(&d, 5, 40, 5);
    expect_free(&d, 40, 100, 100);
    request.arrival_ns = 40;
    request.deadline_ns = 60;
    MUST(admit(&d, &request));
    expect(&d, 2, (struct row[]){{0, 40, 50, 100}, {0, 50, 60, 100}});
    fixture_close(&d);
}
END_TEST

/* Half of the gangs fit soon, but then there are 30 from the first to the last. */
START_TEST(the_next_window_is_as_long_as_the_requested_one)
{
    struct gang__admit_stage s = containers(100, 1, 10, 10);
    struct gang__admit_request request =
        ask_of(0, 20, &s, 1, GANG__ADMIT_ALL, GANG__ADMIT_EARLIEST);
    struct fixture d;
    fixture_open(&d);
    take(&d, 50, 0, 10);
    take(&d, 100, 10, 30);
    take(&d, 50, 30, 60);
    ck_assert_int_eq(admit(&d, &request), GANG_ENOFIT);
    expect_why(&d, GANG__ADMIT_FULL, 0, 10, 5, 30);
    fixture_close(&d);
}
END_TEST

START_TEST(the_cheapest_start_leaves_capacity_for_the_later_stages)
{
    const struct gang__admit_stage s[] = {containers(10, 1, 0, 10), containers(10, 1, 0, 10)};
    struct gang__admit_request request =
        ask_of(0, 50, s, 2, GANG__ADMIT_ORDER, GANG__ADMIT_CHEAPEST);
    struct fixture d;
    fixture_open(&d);
    take(&d, 50, 0, 10);
    take(&d, 40, 10, 25);
    take(&d, 20, 25, 40); /* and nothing after it, but the second has to be there */
    MUST(admit(&d, &request));
    expect(&d, 2, (struct row[]){{0, 25, 35, 10}, {1, 40, 50, 10}});
    fixture_close(&d);
}
END_TEST

/* Numbers as they are in practice, and as large as they may be. */
START_TEST(times_may_be_those_of_a_clock_or_the_largest)
{
    const int64_t hour = INT64_C(3600) * 1000 * 1000 * 1000, day = 24 * hour;
    const int64_t now[] = {INT64_C(1795000000) * 1000 * 1000 * 1000, -(INT64_C(1) << 60),
                           (INT64_C(1) << 62) - 40 * day};
    struct gang__admit_stage s[] = {containers(50, 1, 0, hour), containers(50, 1, 0, hour)};
    for (int i = 0; i < 3; i++)
        for (int prefer = GANG__ADMIT_EARLIEST; prefer <= GANG__ADMIT_CHEAPEST; prefer++) {
            struct fixture d;
            struct gang__admit_request request =
                ask_of(now[i], now[i] + day, s, 2, GANG__ADMIT_ORDER, prefer);
            fixture_open(&d);
            gang__timeline_free(d.t);
            MUST(gang__timeline_new(&d.mem.mem, NULL, 0, UNITS, now[i], &d.t));
            limit(&d, 100, 5, day);
            take(&d, 60, now[i], now[i] + hour);
            take(&d, 60, now[i] + 20 * day, now[i] + 20 * day + 2 * hour);
            request.period_ns = day;
            request.instances = 30;
            MUST(admit(&d, &request));
            ck_assert_uint_eq(d.got.count, 60);
            ck_assert(prefer == GANG__ADMIT_LATEST || d.got.piece[0].start_ns == now[i] + 2 * hour);
            /* The user has 100 container hours a day now and may have 120. Near the end of time
             * there is no later. */
            ck_assert_int_eq(admit(&d, &request), i < 2 ? GANG_ENOFIT : GANG_ENEVER);
            ck_assert_int_eq(d.got.why, GANG__ADMIT_AVERAGE);
            int64_t next = d.got.next_ns;
            ck_assert(i == 2 || (next > now[i] + 28 * day && next < now[i] + 32 * day));
            request.prefer = GANG__ADMIT_EARLIEST;
            request.deadline_ns = GANG__NEVER;
            ck_assert_int_eq(admit(&d, &request), i < 2 ? GANG_OK : GANG_ENEVER);
            ck_assert(i == 2 || d.got.piece[0].start_ns == next);
            fixture_close(&d);
        }
}
END_TEST

START_TEST(a_change_does_not_stand_in_its_own_way)
{
    struct gang__admit_stage s = containers(80, 1, 0, 10);
    struct gang__admit_request request =
        ask_of(0, 20, &s, 1, GANG__ADMIT_ALL, GANG__ADMIT_EARLIEST);
    struct gang__admitted old = {0};
    struct fixture d;
    fixture_open(&d);
    limit(&d, 90, 90, 10);
    request.usage = d.usage;
    MUST(gang__admit(d.t, &request, &old));
    ck_assert_int_eq(old.piece[0].start_ns, 0);
    request.replaced = &old;
    request.deadline_ns = 12;
    s.pool = 101;
    ck_assert_int_eq(admit(&d, &request), GANG_ENEVER);
    expect_free(&d, 0, 10, 20); /* the old one is where it was */
    int64_t booked[GANG__FREE_DIMS];
    ck_assert_int_eq(bookings_at(d.usage, 0, booked), 10);
    ck_assert_int_eq(booked[GANG__FREE_POOL], 80);
    s.pool = 90;
    request.prefer = GANG__ADMIT_LATEST;
    MUST(admit(&d, &request));
    expect(&d, 1, &(struct row){0, 2, 12, 90});
    ck_assert_uint_eq(old.count, 0);
    expect_free(&d, 0, 2, 100);
    expect_free(&d, 2, 12, 10);
    ck_assert_int_eq(bookings_at(d.usage, 2, booked), 12);
    ck_assert_int_eq(booked[GANG__FREE_POOL], 90);
    gang__admitted_undo(d.t, &d.got);
    expect_free(&d, 0, 12, 100);
    gang__admitted_free(&old, &d.mem.mem);
    fixture_close(&d);
}
END_TEST

/* ---- errors -------------------------------------------------------------------------------- */

static void expect_bad(struct fixture *d, struct gang__admit_request request, gang_result result,
                       int why, uint32_t stage, int item)
{
    ck_assert_int_eq(admit(d, &request), result);
    ck_assert_int_eq(d->got.why, why);
    ck_assert_uint_eq(d->got.stage, stage);
    ck_assert_int_eq(d->got.item, item);
}

START_TEST(wrong_windows_and_periods_are_refused)
{
    struct gang__admit_stage s[] = {containers(10, 1, 5, 10), containers(10, 1, 5, 20)};
    struct gang__admit_request good = ask_of(10, 50, s, 2, GANG__ADMIT_ORDER, 0), request;
    struct fixture d;
    fixture_open(&d);
    gang__timeline_advance(d.t, 5);
    request = good, request.deadline_ns = 10;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_WINDOW, 0, 0);
    request = good, request.arrival_ns = 0, request.deadline_ns = 5; /* in the past */
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_WINDOW, 0, 0);
    request = good, request.arrival_ns = INT64_MIN;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_WINDOW, 0, 0);
    request = good, request.fixed = true, request.start_ns = 9;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_WINDOW, 0, 0);
    request = good, request.deadline_ns = GANG__NEVER, request.prefer = GANG__ADMIT_LATEST;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_WINDOW, 0, 0);
    request = good, request.stage_count = 0;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_STAGES, 0, 0);
    request = good, request.stage_count = GANG__ADMIT_STAGES + 1;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_STAGES, 0, 0);
    request = good, request.combine = 4;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_STAGES, 0, 0);
    request = good, request.prefer = -1;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_STAGES, 0, 0);
    request = good, request.period_ns = 29, request.instances = 2;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_PERIOD, 0, 0);
    ck_assert(d.got.wanted == 30 && d.got.has == 29);
    request.period_ns = 30, request.instances = 0;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_PERIOD, 0, 0);
    request.instances = GANG__ADMIT_INSTANCES / 2 + 1;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_PERIOD, 0, 0);
    request.instances = 100, request.period_ns = INT64_C(1) << 54;
    expect_bad(&d, request, GANG_ERANGE, GANG__ADMIT_BAD_DURATION, 0, 0);
    request = good, request.deadline_ns = 39; /* both together take 30 */
    expect_bad(&d, request, GANG_ENEVER, GANG__ADMIT_SHORT, 0, 0);
    ck_assert(d.got.wanted == 30 && d.got.has == 29);
    request.combine = GANG__ADMIT_ANY, request.deadline_ns = 29; /* the longest takes 20 */
    expect_bad(&d, request, GANG_ENEVER, GANG__ADMIT_SHORT, 0, 0);
    MUST(admit(&d, &good));
    fixture_close(&d);
}
END_TEST

START_TEST(wrong_stages_are_refused)
{
    const uint32_t order[] = {3, 2}, none[] = {1, NODES};
    struct gang__time_group group[] = {{.count = 6, .need = {1}}, {.count = 4, .need = {1}}};
    struct gang__admit_stage good = {.duration_ns = 10, .group = group, .group_count = 2};
    struct gang__admit_stage s[2] = {good, good};
    struct gang__admit_request request = ask_of(10, 50, s, 2, GANG__ADMIT_ORDER, 0);
    struct fixture d;
    fixture_open(&d);
    s[1].pool = 1;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_STAGE, 1, 0);
    s[1] = (struct gang__admit_stage){.duration_ns = 10};
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_STAGE, 1, 0);
    s[1].node = order, s[1].node_count = 2;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_STAGE, 1, 1);
    s[1].node = none;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_STAGE, 1, 1);
    s[1] = good, s[1].duration_ns = 0;
    expect_bad(&d, request, GANG_ERANGE, GANG__ADMIT_BAD_DURATION, 1, 0);
    s[1] = good, s[1].gang = 4;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_GANG, 1, 0);
    ck_assert(d.got.wanted == 4 && d.got.has == 6);
    s[1].gang = 2; /* 3 gangs, but 4 of the second group */
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_GANG, 1, 0);
    s[1].gang = 7;
    expect_bad(&d, request, GANG_EINVAL, GANG__ADMIT_BAD_GANG, 1, 0);
    s[1] = good, group[1].count = 0;
    expect_bad(&d, request, GANG_ERANGE, GANG__ADMIT_BAD_GROUP, 0, 1);
    group[1].count = 4, group[1].need[1] = -1;
    expect_bad(&d, request, GANG_ERANGE, GANG__ADMIT_BAD_GROUP, 0, 1);
    group[1].count = INT32_MAX, group[1].need[1] = INT64_C(1) << 47;
    expect_bad(&d, request, GANG_ERANGE, GANG__ADMIT_BAD_AMOUNT, 0, GANG__FREE_MEMORY);
    group[1] = (struct gang__time_group){.count = 4, .need = {1}};
    s[1] = (struct gang__admit_stage){.duration_ns = 10, .pool = -1};
    expect_bad(&d, request, GANG_ERANGE, GANG__ADMIT_BAD_AMOUNT, 1, 0);
    s[1] = good, s[1].gang = 3;
    MUST(admit(&d, &request));
    fixture_close(&d);
}
END_TEST

/* All sorts of ask, with limits, a repetition, something to be changed. Nothing stays behind when
 * memory ends. */
static gang_result try_without_memory(long at, int prefer, bool fits, bool *failed)
{
    const uint32_t node[] = {1, 6};
    struct gang__time_group group[] = {{.count = 8, .need = {8, 1, 2}}, {.count = 4, .need = {1}}};
    const struct gang__admit_stage s[] = {
        {.duration_ns = 10, .group = group, .group_count = 2, .gang = 2},
        containers(150, 1, 50, 10),
        {.duration_ns = 10, .node = node, .node_count = 2}};
    struct gang__admit_request request = ask_of(0, 150, s, 3, GANG__ADMIT_ORDER, prefer);
    struct gang__admitted old = {0};
    struct fixture d;
    fixture_open(&d);
    limit(&d, 60, 40, 30);
    take(&d, 20, 5, 15);
    take_nodes(&d, 0, 4, 0, 12);
    request.usage = d.usage;
    request.period_ns = 300;
    request.instances = 2;
    struct gang__admit_request first = request;
    first.stage_count = 2;
    MUST(gang__admit(d.t, &first, &old));
    if (!fits)
        take(&d, 90, 0, 120);
    int64_t before[GANG__FREE_DIMS], after[GANG__FREE_DIMS];
    (void)gang__timeline_sum_at(d.t, 10, before);
    request.replaced = &old;
    size_t was = old.count;
    fail_mem_init(&d.mem, 0);
    d.mem.live = 0;
    d.mem.fail_at = at;
    gang_result r = gang__admit(d.t, &request, &d.got);
    *failed = d.mem.calls >= at;
    d.mem.fail_at = 0;
    ck_assert(!*failed || r == GANG_ENOMEM);
    if (r != GANG_OK) {
        (void)gang__timeline_sum_at(d.t, 10, after);
        ck_assert_int_eq(memcmp(before, after, sizeof(before)), 0);
        ck_assert_uint_eq(old.count, was);
        ck_assert_uint_eq(d.got.count, 0);
        gang__admitted_undo(d.t, &old);
    }
    gang__admitted_undo(d.t, &d.got);
    int64_t left[GANG__FREE_DIMS];
    ck_assert_int_eq(bookings_at(d.usage, INT64_MIN, left), GANG__NEVER);
    gang__timeline_free(d.t);
    gang__bookings_free(d.usage);
    gang__admitted_free(&d.got, &d.mem.mem);
    gang__admitted_free(&old, &d.mem.mem);
    return r;
}

START_TEST(without_memory_nothing_is_placed)
{
    for (int prefer = GANG__ADMIT_EARLIEST; prefer <= GANG__ADMIT_CHEAPEST; prefer++)
        for (int fits = 0; fits < 2; fits++) {
            bool failed = true;
            gang_result r = GANG_OK;
            for (long at = 1; failed; at++)
                r = try_without_memory(at, prefer, fits, &failed);
            ck_assert_int_eq(r, fits ? GANG_OK : GANG_ENOFIT);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admission");
    TCase *tests = tcase_create("admit");
    tcase_add_test(tests, simple_gangs_lie_early_or_late);
    tcase_add_test(tests, under_a_cap_they_lie_back_to_back);
    tcase_add_test(tests, a_chain_goes_around_what_is_full);
    tcase_add_test(tests, without_a_gap_a_chain_is_placed_as_one);
    tcase_add_test(tests, many_small_gangs_fill_the_plan);
    tcase_add_test(tests, the_first_alternative_that_can_be_placed_is_taken);
    tcase_add_test(tests, all_stages_lie_in_the_window_or_none);
    tcase_add_test(tests, gangs_get_nodes);
    tcase_add_test(tests, named_nodes_are_taken_whole);
    tcase_add_test(tests, so_many_whole_nodes_of_some);
    tcase_add_test(tests, a_fixed_start_is_kept_or_nothing_is);
    tcase_add_test(tests, a_fixed_start_is_that_of_the_first_stage_in_an_order);
    tcase_add_test(tests, the_cheapest_start_is_where_least_is_used);
    tcase_add_test(tests, repetitions_lie_a_period_apart);
    tcase_add_test(tests, repetitions_keep_to_the_limits_together);
    tcase_add_test(tests, a_refusal_gives_the_next_window);
    tcase_add_test(tests, the_next_window_is_as_long_as_the_requested_one);
    tcase_add_test(tests, the_cheapest_start_leaves_capacity_for_the_later_stages);
    tcase_add_test(tests, times_may_be_those_of_a_clock_or_the_largest);
    tcase_add_test(tests, a_change_does_not_stand_in_its_own_way);
    tcase_add_test(tests, wrong_windows_and_periods_are_refused);
    tcase_add_test(tests, wrong_stages_are_refused);
    tcase_add_test(tests, without_memory_nothing_is_placed);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
