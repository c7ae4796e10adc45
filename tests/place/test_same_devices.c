/* SPDX-License-Identifier: Apache-2.0 */
/* gang_group_spec.same_devices: the tasks of a group have GPUs of the same numbers.
 *   - Random calls on small clusters, compared with a search through all sets of numbers.
 *   GANG_SEED   of the random clusters */
#include <gangsched/gangsched.h>

#include <inttypes.h>

#include "chance.h"
#include "suite.h"
#include "support.h"

enum { MAX_NODES = 6, MAX_GPUS = 6, CLUSTERS = 60, STEPS = 60, HELD = 16 };

#define CHECK(condition, ...)                                         \
    do {                                                              \
        if (!(condition)) {                                           \
            printf("GANG_SEED=%" PRIu64 ": ", seed);                  \
            printf(__VA_ARGS__);                                      \
            printf("\n");                                             \
            ck_abort_msg("GANG_SEED=%" PRIu64 ": " #condition, seed); \
        }                                                             \
    } while (0)

static struct stage s;
static uint64_t seed;

static void setup(void)
{
    static const char *const levels[] = {"rack"};
    stage_open(&s, levels, 1);
}

static void teardown(void)
{
    stage_close(&s);
}

/* ---- the naive search ---- */

static gang_node_id node[MAX_NODES];
static int gpus_of[MAX_NODES], rack_of[MAX_NODES], nodes;

/* A request: `count` tasks, at least `min`, with `gpus` GPUs each; and a second group of `second`
 * tasks with one GPU. */
struct asked {
    int64_t count, min, gpus, second;
    bool in_rack;
};

static uint64_t free_of(int i, bool empty)
{
    return empty ? (UINT64_C(1) << gpus_of[i]) - 1 : stage_node(&s, node[i]).gpu_mask;
}

/* Do the minima go to nodes of the rack (-1: of any), with these two sets? */
static bool fits_with(const struct asked *a, int rack, bool empty, uint64_t x, uint64_t y)
{
    int64_t both = 0, only_x = 0, only_y = 0, either = 0;
    for (int i = 0; i < nodes; i++) {
        uint64_t free = free_of(i, empty);
        bool has_x = !(x & ~free), has_y = !(y & ~free);
        if (rack >= 0 && rack_of[i] != rack)
            continue;
        both += has_x && has_y && !(x & y);
        either += has_x && has_y && (x & y);
        only_x += has_x && !has_y;
        only_y += !has_x && has_y;
    }
    int64_t lacks_x = a->min - both - only_x, lacks_y = a->second - both - only_y;
    return (lacks_x > 0 ? lacks_x : 0) + (lacks_y > 0 ? lacks_y : 0) <= either;
}

static bool fits(const struct asked *a, bool empty)
{
    for (int rack = a->in_rack ? 0 : -1; rack < (a->in_rack ? 2 : 0); rack++)
        for (uint64_t x = 1; x < UINT64_C(1) << MAX_GPUS; x++)
            for (int y = 0; y < (a->second ? MAX_GPUS : 1); y++)
                if (__builtin_popcountll(x) == a->gpus &&
                    fits_with(a, rack, empty, x, UINT64_C(1) << y))
                    return true;
    return false;
}

/* Nodes that have the set free, at most `most`. */
static int64_t count_with(uint64_t set, int64_t most)
{
    int64_t count = 0;
    for (int i = 0; i < nodes; i++)
        count += !(set & ~free_of(i, false));
    return count < most ? count : most;
}

static int64_t best_count(int64_t gpus, int64_t most)
{
    int64_t best = 0;
    for (uint64_t x = 1; x < UINT64_C(1) << MAX_GPUS; x++)
        if (__builtin_popcountll(x) == gpus && count_with(x, most) > best)
            best = count_with(x, most);
    return best;
}

/* ---- random calls ---- */

static gang_alloc_id held[HELD];
static int holds;

static void add_nodes(void)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    nodes = 2 + (int)below(MAX_NODES - 1);
    for (int i = 0; i < nodes; i++) {
        rack_of[i] = (int)below(2);
        gpus_of[i] = one_in(3) ? 2 + (int)below(MAX_GPUS - 1) : MAX_GPUS;
        struct gang_label at = {"rack", rack_of[i] ? "r1" : "r0"};
        struct box box = {.name = names[i],
                          .cpu = 64000,
                          .memory = GIB,
                          .gpus = (size_t)gpus_of[i],
                          .numas = one_in(2) ? 2 : 0,
                          .place = &at,
                          .place_count = 1};
        node[i] = stage_add(&s, &box);
    }
}

/* A task of another job takes some GPU. */
static void disturb(void)
{
    struct gang_group_spec g = group_of(1, 0, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    struct gang_placement at = GANG_PLACEMENT_INIT;
    int i = (int)below(nodes);
    at.node = node[i];
    at.gpus = UINT64_C(1) << below(gpus_of[i]);
    at.any_devices = 0;
    if (gang_alloc_adopt(s.w, request, &at, 1, &held[holds], NULL) == GANG_OK)
        holds++;
    gang_request_free(request);
}

/* The set of a group; all its tasks must have it. 0: it has no tasks. */
static uint64_t set_of(gang_alloc_id id, int32_t group, int64_t *tasks)
{
    const struct task_list *list = stage_tasks(&s, id);
    uint64_t set = 0;
    *tasks = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->task[i].group != group)
            continue;
        CHECK(!set || set == list->task[i].gpus, "GPUs %" PRIx64 " and %" PRIx64, set,
              list->task[i].gpus);
        set = list->task[i].gpus;
        ++*tasks;
    }
    return set;
}

static void grow(const struct asked *a, gang_alloc_id id)
{
    int64_t tasks, granted, more = 1 + below(3);
    uint64_t set = set_of(id, 0, &tasks);
    int64_t want = a->count - tasks < more ? a->count - tasks : more;
    int64_t most = set ? count_with(set, want) : best_count(a->gpus, want);
    struct gang_error error = GANG_ERROR_INIT;
    if (want < 1)
        return;
    gang_result r = gang_alloc_grow(s.w, id, 0, more, &granted, &error);
    CHECK(granted == most, "%" PRId64 " tasks more, not %" PRId64, granted, most);
    (void)set_of(id, 0, &tasks);
    CHECK((r == GANG_OK) == (most > 0), "%s", gang_result_name(r));
}

static void allocate(void)
{
    struct asked a = {1 + below(5), 0, 1 + below(3), one_in(3) ? 1 + below(3) : 0, one_in(3)};
    struct gang_group_spec g[2] = {group_of(a.count, 100, a.gpus * 1000),
                                   group_of(a.second, 100, 1000)};
    struct gang_request_spec spec = request_of(g, a.second ? 2 : 1);
    int64_t tasks;
    a.min = g[0].min = 1 + below(a.count);
    g[0].same_devices = g[1].same_devices = 1;
    spec.same = a.in_rack ? "rack" : NULL;
    if (one_in(4))
        spec.policy = GANG_POLICY_FIRST + (int32_t)below(8);
    int64_t best = best_count(a.gpus, a.count);
    bool expected = fits(&a, false);
    struct outcome o = stage_try(&s, &spec);
    gang_result want = expected ? GANG_OK : fits(&a, true) ? GANG_ENOFIT : GANG_ENEVER;
    CHECK(o.result == want,
          "%s, not %s: %" PRId64 " of %" PRId64 " tasks of %" PRId64 " GPUs, beside %" PRId64
          ": %s",
          gang_result_name(o.result), gang_result_name(want), a.min, a.count, a.gpus, a.second,
          o.error.text);
    g[0].same_devices = g[1].same_devices = 0;
    if (o.result != GANG_OK) { /* was it for this reason? */
        gang_request *request = stage_request(&s, &spec);
        gang_result r = o.result == GANG_ENOFIT ? gang_alloc_test(s.w, request, NULL)
                                                : gang_request_fits_ever(s.w, request, NULL);
        CHECK((r == GANG_OK) == (o.error.constraint == GANG_CONSTRAINT_SAME_DEVICES),
              "constraint %d, without it %s: %s", o.error.constraint, gang_result_name(r),
              o.error.text);
        gang_request_free(request);
        return;
    }
    held[holds++] = o.id;
    uint64_t set = set_of(o.id, 0, &tasks);
    CHECK(tasks == a.min, "%" PRId64 " tasks", tasks);
    int64_t left = count_with(set, a.count) + tasks;
    CHECK(a.second || a.in_rack || (left < a.count ? left : a.count) == best,
          "%" PRId64 " nodes have %" PRIx64 ", the best set %" PRId64, left, set, best);
    (void)set_of(o.id, 1, &tasks);
    CHECK(tasks == a.second, "%" PRId64 " tasks of the second group", tasks);
    if (!a.second && !a.in_rack)
        grow(&a, o.id);
}

START_TEST(gangs_agree_with_a_search_through_all_sets)
{
    seed = test_seed();
    for (int cluster = 0; cluster < CLUSTERS; cluster++, seed++) {
        chance_state = seed;
        setup();
        add_nodes();
        holds = 0;
        for (int step = 0; step < STEPS; step++) {
            if (holds > 0 && (holds == HELD || one_in(3))) {
                int i = (int)below(holds);
                MUST(gang_alloc_free(s.w, held[i]));
                held[i] = held[--holds];
            } else if (one_in(3)) {
                disturb();
            } else {
                allocate();
            }
        }
        teardown();
    }
}
END_TEST

/* ---- single cases ---- */

static void add_two(void)
{
    struct box box = {.name = "a", .cpu = 8000, .memory = GIB, .gpus = 2};
    node[0] = stage_add(&s, &box);
    box.name = "b";
    node[1] = stage_add(&s, &box);
    nodes = 2;
    gpus_of[0] = gpus_of[1] = 2;
}

/* Parts of a device: several tasks share the device of that number. */
START_TEST(parts_of_devices_are_of_one_number)
{
    add_two();
    struct gang_group_spec g = group_of(4, 0, 500);
    int64_t tasks;
    g.same_devices = 1;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_int_eq(__builtin_popcountll(set_of(id, 0, &tasks)), 1);
    ck_assert_int_eq(tasks, 4);
    g.count = g.min = 5;
    struct outcome o = stage_try_group(&s, &g);
    EXPECT_OUTCOME(o, GANG_ENEVER);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_SAME_DEVICES);
    ck_assert_str_eq(o.error.text, "no GPUs of the same numbers are free on so many nodes");
}
END_TEST

/* A snapshot answers, and a task that grows there has the numbers of those that run. */
START_TEST(whole_growth_and_snapshots_know_it)
{
    add_two();
    struct gang_group_spec g = group_of(2, 0, 1000), one = group_of(1, 0, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    gang_snapshot *snapshot;
    g.same_devices = 1;
    g.min = 1;
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id, other = stage_alloc_group(&s, &one), third = stage_alloc_group(&s, &one);
    MUST(gang_alloc(s.w, request, &id, NULL)); /* the first node is full */
    gang_request_free(request);
    EXPECT_RESULT(gang_alloc_grow_whole(s.w, id, 0, 1, &error), GANG_ENOFIT, &error);
    ck_assert_uint_eq(stage_only_task(&s, other).gpus, 1);
    MUST(gang_alloc_free(s.w, third));
    EXPECT_RESULT(gang_alloc_grow_whole(s.w, id, 0, 1, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_SAME_DEVICES);
    g.min = 2;
    request = stage_request(&s, &spec);
    MUST(gang_snapshot_new(s.c, &snapshot));
    MUST(gang_snapshot_take(s.w, snapshot));
    MUST(gang_snapshot_test(s.w, snapshot, request, NULL)); /* GPU 1 of both */
    MUST(gang_snapshot_release(snapshot, id));
    MUST(gang_snapshot_test(s.w, snapshot, request, NULL));
    gang_snapshot_free(snapshot);
    gang_request_free(request);
    MUST(gang_alloc_free(s.w, other));
    MUST(gang_alloc_grow_whole(s.w, id, 0, 1, NULL));
}
END_TEST

START_TEST(wrong_requests_are_refused)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    g.same_devices = 1;
    EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error,
                 "groups[0].same_devices", NULL);
    g.gpu_milli = 1000;
    g.profile = "1g";
    EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error,
                 "groups[0].same_devices", NULL);
    g.profile = NULL;
    g.same_devices = 2;
    EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error,
                 "groups[0].same_devices", NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("same_devices");
    TCase *random = tcase_create("random"), *t = tcase_create("cases");
    tcase_set_timeout(random, 600);
    tcase_add_test(random, gangs_agree_with_a_search_through_all_sets);
    suite_add_tcase(suite, random);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, parts_of_devices_are_of_one_number);
    tcase_add_test(t, whole_growth_and_snapshots_know_it);
    tcase_add_test(t, wrong_requests_are_refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
