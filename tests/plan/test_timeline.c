/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: what fits when, by hand. Against a naive one: test_timeline_random.c. */
#include "plan/timeline/timeline.h"

#include "plan/audit.h"
#include "support.h"

enum { GPUS = 8 };

/* So many nodes of 8 GPUs, 64 cores, 512 units of memory. */
struct fixture {
    struct fail_mem mem;
    struct gang__timeline *t;
    struct gang__time_fit fit;
};

static const int64_t NODE[GANG__FREE_KINDS] = {64, 512, GPUS};

static gang_result desk_try(struct fixture *d, size_t nodes, int64_t pool)
{
    int64_t *capacity = calloc(nodes + 1, sizeof(NODE));
    ck_assert_ptr_nonnull(capacity);
    for (size_t i = 0; i < nodes; i++)
        memcpy(&capacity[i * GANG__FREE_KINDS], NODE, sizeof(NODE));
    gang_result r = gang__timeline_new(&d->mem.mem, capacity, nodes, pool, 0, &d->t);
    free(capacity);
    return r;
}

static struct fixture *fixture_new(size_t nodes, int64_t pool)
{
    struct fixture *d = calloc(1, sizeof(*d));
    ck_assert_ptr_nonnull(d);
    fail_mem_init(&d->mem, 0);
    MUST(desk_try(d, nodes, pool));
    return d;
}

static void fixture_free(struct fixture *d)
{
    gang__timeline_free(d->t);
    gang__time_fit_free(&d->fit, &d->mem.mem);
    ck_assert_int_eq(d->mem.live, 0);
    free(d);
}

/* GPUs of nodes first, first + 1, ... from start to end; GPUS: the nodes whole. */
static uint32_t occupy(struct fixture *d, uint32_t first, uint32_t nodes, int64_t gpus,
                       int64_t start, int64_t end)
{
    struct gang__time_group one = {1, {8 * gpus, 64 * gpus, gpus}, 0, {0}};
    struct gang__time_place place[64];
    struct gang__occupation o = {start, end, &one, 1, place, nodes, 0, gpus == GPUS};
    uint32_t id;
    for (uint32_t i = 0; i < nodes; i++)
        place[i] = (struct gang__time_place){first + i, 0, 1};
    MUST(gang__timeline_add(d->t, &o, &id));
    return id;
}

/* When so many tasks of so many GPUs start; -1: never. GPUS: of whole nodes. */
static int64_t start_of(struct fixture *d, int64_t tasks, int64_t gpus, int64_t from,
                        int64_t duration, const uint64_t *nodes)
{
    struct gang__time_group one = {tasks, {8 * gpus, 64 * gpus, gpus}, 0, {0}};
    struct gang__time_request request = {&one, 1, duration, nodes, gpus == GPUS, NULL, NULL};
    gang_result r = gang__timeline_earliest(d->t, &request, from, &d->fit);
    ck_assert(r == GANG_OK || r == GANG_ENEVER);
    ck_assert(r == GANG_OK || d->fit.count == 0);
    return r == GANG_OK ? d->fit.start_ns : -1;
}

static void expect_nodes(const struct fixture *d, size_t count, const uint32_t *nodes)
{
    ck_assert_uint_eq(d->fit.count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(d->fit.place[i].node, nodes[i]);
}

START_TEST(on_idle_nodes_a_gang_starts_at_once_on_the_first_ones)
{
    struct fixture *d = fixture_new(4, 0);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 10, NULL), 0);
    expect_nodes(d, 2, (uint32_t[]){0, 1});
    ck_assert_int_eq(start_of(d, 4, GPUS, 7, GANG__NEVER, NULL), 7);
    ck_assert_int_eq(start_of(d, 5, GPUS, 0, 10, NULL), -1);
    fixture_free(d);
}
END_TEST

START_TEST(a_gang_starts_when_the_last_node_that_it_needs_comes_free)
{
    struct fixture *d = fixture_new(4, 0);
    const int64_t ends[] = {40, 10, 30, 20};
    for (uint32_t i = 0; i < 4; i++)
        occupy(d, i, 1, GPUS, 0, ends[i]);
    ck_assert_int_eq(start_of(d, 1, GPUS, 0, 5, NULL), 10);
    expect_nodes(d, 1, (uint32_t[]){1});
    ck_assert_int_eq(start_of(d, 3, GPUS, 0, 5, NULL), 30);
    expect_nodes(d, 3, (uint32_t[]){1, 2, 3});
    ck_assert_int_eq(start_of(d, 3, GPUS, 35, 5, NULL), 35);
    fixture_free(d);
}
END_TEST

START_TEST(a_gang_that_ends_before_a_reservation_runs_before_it)
{
    struct fixture *d = fixture_new(2, 0);
    occupy(d, 0, 2, GPUS, 100, 200);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 100, NULL), 0);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 101, NULL), 200);
    ck_assert_int_eq(start_of(d, 2, GPUS, 1, 100, NULL), 200);
    ck_assert_int_eq(start_of(d, 1, GPUS, 150, GANG__NEVER, NULL), 200);
    fixture_free(d);
}
END_TEST

START_TEST(tasks_share_nodes_and_whole_nodes_are_not_shared)
{
    struct fixture *d = fixture_new(2, 0);
    occupy(d, 0, 1, 4, 0, 50);
    ck_assert_int_eq(start_of(d, 3, 4, 0, 10, NULL), 0);
    ck_assert_int_eq(start_of(d, 4, 4, 0, 10, NULL), 50);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 10, NULL), 50);
    ck_assert_int_eq(start_of(d, 1, GPUS, 0, 10, NULL), 0);
    expect_nodes(d, 1, (uint32_t[]){1});
    fixture_free(d);
}
END_TEST

START_TEST(capacity_free_twice_but_not_between_is_not_enough)
{
    struct fixture *d = fixture_new(1, 0);
    occupy(d, 0, 1, 6, 10, 20);
    ck_assert_int_eq(start_of(d, 1, 2, 0, 40, NULL), 0);
    ck_assert_int_eq(start_of(d, 1, 3, 0, 40, NULL), 20);
    ck_assert_int_eq(start_of(d, 1, 3, 0, 10, NULL), 0);
    fixture_free(d);
}
END_TEST

START_TEST(only_the_nodes_of_the_filter_are_used)
{
    struct fixture *d = fixture_new(70, 0);
    uint64_t nodes[2] = {0, UINT64_C(1) << 5 | UINT64_C(1) << 3};
    occupy(d, 67, 1, GPUS, 0, 30);
    ck_assert_int_eq(start_of(d, 1, GPUS, 0, 10, nodes), 0);
    expect_nodes(d, 1, (uint32_t[]){69});
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 10, nodes), 30);
    expect_nodes(d, 2, (uint32_t[]){67, 69});
    ck_assert_int_eq(start_of(d, 3, GPUS, 0, 10, nodes), -1);
    fixture_free(d);
}
END_TEST

START_TEST(a_bound_on_tasks_a_node_spreads_them)
{
    struct fixture *d = fixture_new(3, 0);
    struct gang__time_group one = {4, {0, 0, 1}, 2, {0}};
    struct gang__time_request request = {&one, 1, 10, NULL, false, NULL, NULL};
    MUST(gang__timeline_earliest(d->t, &request, 0, &d->fit));
    expect_nodes(d, 2, (uint32_t[]){0, 1});
    occupy(d, 0, 2, GPUS, 0, 20);
    MUST(gang__timeline_earliest(d->t, &request, 0, &d->fit));
    ck_assert_int_eq(d->fit.start_ns, 20);
    one.count = 7;
    ck_assert_int_eq(gang__timeline_earliest(d->t, &request, 0, &d->fit), GANG_ENEVER);
    fixture_free(d);
}
END_TEST

START_TEST(groups_of_a_gang_start_together)
{
    struct fixture *d = fixture_new(2, 0);
    struct gang__time_group group[2] = {{1, {0, 0, GPUS}, 0, {0}}, {3, {8, 0, 2}, 0, {0}}};
    struct gang__time_request request = {group, 2, 10, NULL, false, NULL, NULL};
    occupy(d, 0, 1, 4, 0, 30);
    MUST(gang__timeline_earliest(d->t, &request, 0, &d->fit));
    ck_assert_int_eq(d->fit.start_ns, 30);
    ck_assert_uint_eq(d->fit.count, 2);
    ck_assert_int_eq(d->fit.place[0].tasks, 1);
    ck_assert_int_eq(d->fit.place[1].tasks, 3);
    group[1].count = 2;
    MUST(gang__timeline_earliest(d->t, &request, 0, &d->fit));
    ck_assert_int_eq(d->fit.start_ns, 0);
    expect_nodes(d, 2, (uint32_t[]){0, 1});
    ck_assert_uint_eq(d->fit.place[0].group, 1);
    fixture_free(d);
}
END_TEST

START_TEST(a_found_place_can_be_added_and_then_blocks_others)
{
    struct fixture *d = fixture_new(4, 0);
    for (int64_t i = 0; i < 3; i++) {
        ck_assert_int_eq(start_of(d, 3, GPUS, 0, 10, NULL), 10 * i);
        struct gang__occupation o = {.start_ns = 10 * i,
                                     .end_ns = 10 * i + 10,
                                     .place = d->fit.place,
                                     .place_count = d->fit.count,
                                     .whole = true};
        uint32_t id;
        ck_assert(gang__timeline_fits(d->t, &o));
        MUST(gang__timeline_add(d->t, &o, &id));
        ck_assert(!gang__timeline_fits(d->t, &o));
    }
    ck_assert_int_eq(start_of(d, 1, GPUS, 0, 30, NULL), 0);
    expect_nodes(d, 1, (uint32_t[]){3});
    fixture_free(d);
}
END_TEST

START_TEST(a_job_that_runs_longer_puts_a_start_off)
{
    struct fixture *d = fixture_new(2, 0);
    uint32_t id = occupy(d, 0, 2, GPUS, 0, 10);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 5, NULL), 10);
    gang__timeline_move(d->t, id, 0, 25);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 5, NULL), 25);
    gang__timeline_move(d->t, id, 5, GANG__NEVER);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 5, NULL), 0);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 6, NULL), -1);
    gang__timeline_remove(d->t, id);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 6, NULL), 0);
    fixture_free(d);
}
END_TEST

START_TEST(ids_of_removed_occupations_are_reused)
{
    struct fixture *d = fixture_new(2, 0);
    uint32_t a = occupy(d, 0, 1, 1, 0, 10), b = occupy(d, 0, 1, 1, 0, 10);
    ck_assert_uint_ne(a, b);
    gang__timeline_remove(d->t, a);
    ck_assert_uint_eq(occupy(d, 1, 1, 1, 0, 10), a);
    fixture_free(d);
}
END_TEST

START_TEST(maintenance_beside_a_running_job_takes_nothing_twice)
{
    struct fixture *d = fixture_new(2, 0);
    int64_t unused[GANG__FREE_DIMS];
    uint32_t job = occupy(d, 0, 1, 4, 0, 50), down = occupy(d, 0, 1, GPUS, 20, 40);
    ck_assert_int_eq(gang__timeline_sum_at(d->t, 30, unused), 40);
    ck_assert_int_eq(unused[GANG__FREE_GPU], GPUS);
    ck_assert_int_eq(unused[GANG__FREE_NODES], 1);
    ck_assert_int_eq(start_of(d, 2, 1, 25, 10, NULL), 25);
    expect_nodes(d, 1, (uint32_t[]){1});
    gang__timeline_remove(d->t, job);
    (void)gang__timeline_sum_at(d->t, 30, unused);
    ck_assert_int_eq(unused[GANG__FREE_GPU], GPUS);
    gang__timeline_remove(d->t, down);
    ck_assert_int_eq(gang__timeline_sum_at(d->t, 30, unused), GANG__NEVER);
    ck_assert_int_eq(unused[GANG__FREE_GPU], 2 * GPUS);
    ck_assert_int_eq(unused[GANG__FREE_NODES], 2);
    fixture_free(d);
}
END_TEST

START_TEST(time_that_has_passed_is_not_planned_for)
{
    struct fixture *d = fixture_new(2, 0);
    occupy(d, 0, 1, GPUS, 0, 20);
    occupy(d, 1, 1, GPUS, 30, 60);
    gang__timeline_advance(d->t, 10);
    ck_assert_int_eq(start_of(d, 1, GPUS, 0, 20, NULL), 10);
    expect_nodes(d, 1, (uint32_t[]){1});
    gang__timeline_advance(d->t, 20);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 10, NULL), 20);
    gang__timeline_advance(d->t, 30);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, 10, NULL), 60);
    ck_assert_int_eq(start_of(d, 1, GPUS, 0, GANG__NEVER, NULL), 30);
    expect_nodes(d, 1, (uint32_t[]){0});
    fixture_free(d);
}
END_TEST

/* EASY on a flat machine of 10: 6 run until 100, 3 until 200; 5 wait. */
START_TEST(a_pool_gives_the_shadow_time_and_extra_units)
{
    struct fixture *d = fixture_new(0, 10);
    struct gang__occupation a = {.end_ns = 100, .pool = 6}, b = {.end_ns = 200, .pool = 3};
    int64_t need[GANG__FREE_DIMS] = {[GANG__FREE_POOL] = 5}, unused[GANG__FREE_DIMS];
    uint32_t id;
    MUST(gang__timeline_add(d->t, &a, &id));
    MUST(gang__timeline_add(d->t, &b, &id));
    ck_assert_int_eq(gang__timeline_earliest_sum(d->t, need, 0, 50), 100);
    (void)gang__timeline_sum_at(d->t, 100, unused);
    ck_assert_int_eq(unused[GANG__FREE_POOL], 7);
    struct gang__occupation head = {.start_ns = 100, .end_ns = 150, .pool = 5};
    ck_assert(gang__timeline_fits(d->t, &head));
    MUST(gang__timeline_add(d->t, &head, &id));
    need[GANG__FREE_POOL] = 1;
    ck_assert(gang__timeline_fits_sum(d->t, need, 0, GANG__NEVER));
    need[GANG__FREE_POOL] = 2;
    ck_assert(gang__timeline_fits_sum(d->t, need, 100, 200));
    ck_assert_int_eq(gang__timeline_earliest_sum(d->t, need, 0, 10), 100);
    need[GANG__FREE_POOL] = 11;
    ck_assert_int_eq(gang__timeline_earliest_sum(d->t, need, 0, 10), GANG__NEVER);
    fixture_free(d);
}
END_TEST

START_TEST(steps_follow_each_other_to_the_end_of_time)
{
    struct fixture *d = fixture_new(2, 0);
    occupy(d, 0, 1, 2, 10, 30);
    occupy(d, 0, 2, 1, 20, 40);
    const int64_t at[] = {0, 10, 20, 30, 40}, all[] = {16, 14, 12, 14, 16},
                  first[] = {8, 6, 5, 7, 8};
    int64_t unused[GANG__FREE_DIMS], t = 0, n = 0;
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(t, at[i]);
        t = gang__timeline_sum_at(d->t, t, unused);
        ck_assert_int_eq(unused[GANG__FREE_GPU], all[i]);
        ck_assert_int_eq(n, at[i]);
        n = timeline_node_at(d->t, 0, n, unused);
        ck_assert_int_eq(unused[GANG__FREE_GPU], first[i]);
    }
    ck_assert_int_eq(t, GANG__NEVER);
    ck_assert_int_eq(n, GANG__NEVER);
    fixture_free(d);
}
END_TEST

START_TEST(wrong_nodes_are_refused)
{
    struct fixture d = {0};
    fail_mem_init(&d.mem, 0);
    int64_t capacity[2 * GANG__FREE_KINDS] = {0};
    ck_assert_int_eq(gang__timeline_new(&d.mem.mem, capacity, 2, -1, 0, &d.t), GANG_ERANGE);
    capacity[5] = -1;
    ck_assert_int_eq(gang__timeline_new(&d.mem.mem, capacity, 2, 0, 0, &d.t), GANG_ERANGE);
    capacity[5] = (INT64_C(1) << 47) + 1;
    ck_assert_int_eq(gang__timeline_new(&d.mem.mem, capacity, 2, 0, 0, &d.t), GANG_ERANGE);
    ck_assert_ptr_null(d.t);
    ck_assert_int_eq(d.mem.live, 0);
    gang__timeline_free(NULL);
}
END_TEST

START_TEST(wrong_occupations_are_refused)
{
    struct fixture *d = fixture_new(2, 0);
    struct gang__time_group one = {1, {0, 0, 1}, 0, {0}};
    struct gang__time_place place[2] = {{0, 0, 1}, {1, 0, 1}};
    struct gang__occupation o = {10, 10, &one, 1, place, 2, 0, false};
    uint32_t id;
    ck_assert_int_eq(gang__timeline_add(d->t, &o, &id), GANG_EINVAL);
    o.end_ns = 20;
    o.pool = -1;
    ck_assert_int_eq(gang__timeline_add(d->t, &o, &id), GANG_ERANGE);
    o.pool = 0;
    place[1].group = 1;
    ck_assert_int_eq(gang__timeline_add(d->t, &o, &id), GANG_EINVAL);
    place[1].group = 0;
    place[1].tasks = -1;
    ck_assert_int_eq(gang__timeline_add(d->t, &o, &id), GANG_ERANGE);
    place[1].tasks = INT64_MAX;
    ck_assert_int_eq(gang__timeline_add(d->t, &o, &id), GANG_ERANGE);
    ck_assert(!gang__timeline_fits(d->t, &o));
    place[1].tasks = 1;
    place[1].node = 2;
    ck_assert_int_eq(gang__timeline_add(d->t, &o, &id), GANG_EINVAL);
    place[0].node = 1;
    place[1].node = 0;
    ck_assert_int_eq(gang__timeline_add(d->t, &o, &id), GANG_EINVAL);
    ck_assert_int_eq(start_of(d, 2, GPUS, 0, GANG__NEVER, NULL), 0);
    fixture_free(d);
}
END_TEST

START_TEST(a_node_has_so_many_occupations_at_most)
{
    struct fixture *d = fixture_new(1, 0);
    struct gang__time_place place = {0, 0, 1};
    struct gang__occupation o = {.end_ns = 1, .place = &place, .place_count = 1, .whole = true};
    uint32_t id;
    for (int64_t i = 65536; i-- > 0;) { /* the last first: each is put in front */
        o.start_ns = i;
        o.end_ns = i + 1;
        MUST(gang__timeline_add(d->t, &o, &id));
    }
    ck_assert_int_eq(gang__timeline_add(d->t, &o, &id), GANG_ELIMIT);
    fixture_free(d);
}
END_TEST

START_TEST(wrong_asks_are_refused)
{
    struct fixture *d = fixture_new(2, 0);
    struct gang__time_group one = {1, {0, 0, 1}, 0, {0}};
    struct gang__time_request request = {&one, 0, 10, NULL, false, NULL, NULL};
    ck_assert_int_eq(gang__timeline_earliest(d->t, &request, 0, &d->fit), GANG_EINVAL);
    request.group_count = 1;
    request.duration_ns = 0;
    ck_assert_int_eq(gang__timeline_earliest(d->t, &request, 0, &d->fit), GANG_EINVAL);
    request.duration_ns = 10;
    one.count = 0;
    ck_assert_int_eq(gang__timeline_earliest(d->t, &request, 0, &d->fit), GANG_ERANGE);
    one.count = 1;
    one.need[0] = -1;
    ck_assert_int_eq(gang__timeline_earliest(d->t, &request, 0, &d->fit), GANG_ERANGE);
    one.need[0] = 65;
    ck_assert_int_eq(gang__timeline_earliest(d->t, &request, 0, &d->fit), GANG_ENEVER);
    fixture_free(d);
}
END_TEST

/* A life in which each allocation fails in turn; what failed changed nothing. */
START_TEST(each_allocation_may_fail)
{
    for (long n = 1;; n++) {
        struct fixture d = {0};
        struct gang__time_group group[3] = {
            {2, {1, 1, 1}, 0, {0}}, {2, {1, 1, 2}, 0, {0}}, {1, {9, 9, 4}, 0, {0}}};
        struct gang__time_place place[3] = {{0, 0, 1}, {0, 1, 2}, {1, 2, 1}};
        struct gang__occupation o = {0, 10, group, 3, place, 3, 0, false};
        struct gang__time_request request = {group, 3, 5, NULL, false, NULL, NULL};
        uint32_t id[100];
        int added = 0;
        fail_mem_init(&d.mem, n);
        gang_result r = desk_try(&d, 2, 0);
        for (; r == GANG_OK && added < 100; added += r == GANG_OK) {
            o.start_ns = 10 * added;
            o.end_ns = o.start_ns + 10;
            r = gang__timeline_add(d.t, &o, &id[added]);
        }
        if (r == GANG_OK)
            r = gang__timeline_earliest(d.t, &request, 0, &d.fit);
        bool failed = d.mem.calls >= n;
        ck_assert_int_eq(r, failed ? GANG_ENOMEM : GANG_OK);
        ck_assert(!failed || d.fit.count == 0);
        while (d.t && added > 0)
            gang__timeline_remove(d.t, id[--added]);
        ck_assert(!d.t || gang__timeline_fits(d.t, &o));
        gang__timeline_free(d.t);
        gang__time_fit_free(&d.fit, &d.mem.mem);
        ck_assert_int_eq(d.mem.live, 0);
        if (!failed)
            break;
    }
}
END_TEST

static void *count_bytes(size_t bytes, void *user)
{
    *(size_t *)user += bytes;
    return malloc(bytes);
}

static void count_none(void *memory, void *user)
{
    (void)user; /* blocks that grow are counted again, as if none were freed */
    free(memory);
}

/* _i: nodes of each. */
START_TEST(an_occupation_takes_a_kilobyte_and_sixteen_bytes_a_node_at_most)
{
    enum { NODES = 1000, COUNT = 200 };
    static int64_t capacity[NODES * GANG__FREE_KINDS];
    static struct gang__time_place place[NODES];
    size_t used = 0;
    struct gang_mem mem = {sizeof(mem), count_bytes, count_none, &used};
    struct gang__time_group one = {1, {8, 64, 1}, 0, {0}};
    struct gang__timeline *t;
    uint32_t id;
    for (int i = 0; i < NODES; i++)
        memcpy(&capacity[i * GANG__FREE_KINDS], NODE, sizeof(NODE));
    MUST(gang__timeline_new(&mem, capacity, NODES, 0, 0, &t));
    used = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        struct gang__occupation o = {10 * i, 10 * i + 7, &one, 1, place, (size_t)_i, 0, i % 2};
        for (uint32_t p = 0; p < (uint32_t)_i; p++)
            place[p] = (struct gang__time_place){p, 0, 1};
        MUST(gang__timeline_add(t, &o, &id));
    }
    printf("%d nodes: %zu bytes an occupation\n", _i, used / COUNT);
    ck_assert_uint_le(used, (size_t)COUNT * (1024 + 16 * (size_t)_i));
    gang__timeline_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timelines");
    TCase *tests = tcase_create("timelines");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, on_idle_nodes_a_gang_starts_at_once_on_the_first_ones);
    tcase_add_test(tests, a_gang_starts_when_the_last_node_that_it_needs_comes_free);
    tcase_add_test(tests, a_gang_that_ends_before_a_reservation_runs_before_it);
    tcase_add_test(tests, tasks_share_nodes_and_whole_nodes_are_not_shared);
    tcase_add_test(tests, capacity_free_twice_but_not_between_is_not_enough);
    tcase_add_test(tests, only_the_nodes_of_the_filter_are_used);
    tcase_add_test(tests, a_bound_on_tasks_a_node_spreads_them);
    tcase_add_test(tests, groups_of_a_gang_start_together);
    tcase_add_test(tests, a_found_place_can_be_added_and_then_blocks_others);
    tcase_add_test(tests, a_job_that_runs_longer_puts_a_start_off);
    tcase_add_test(tests, ids_of_removed_occupations_are_reused);
    tcase_add_test(tests, maintenance_beside_a_running_job_takes_nothing_twice);
    tcase_add_test(tests, time_that_has_passed_is_not_planned_for);
    tcase_add_test(tests, a_pool_gives_the_shadow_time_and_extra_units);
    tcase_add_test(tests, steps_follow_each_other_to_the_end_of_time);
    tcase_add_test(tests, wrong_nodes_are_refused);
    tcase_add_test(tests, wrong_occupations_are_refused);
    tcase_add_test(tests, a_node_has_so_many_occupations_at_most);
    tcase_add_test(tests, wrong_asks_are_refused);
    tcase_add_test(tests, each_allocation_may_fail);
    tcase_add_loop_test(tests, an_occupation_takes_a_kilobyte_and_sixteen_bytes_a_node_at_most, 1,
                        2);
    tcase_add_loop_test(tests, an_occupation_takes_a_kilobyte_and_sixteen_bytes_a_node_at_most, 64,
                        65);
    tcase_add_loop_test(tests, an_occupation_takes_a_kilobyte_and_sixteen_bytes_a_node_at_most,
                        1000, 1001);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
