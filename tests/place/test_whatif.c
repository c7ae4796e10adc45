/* SPDX-License-Identifier: Apache-2.0 */
/* What if: placing, giving back and changing states in a snapshot. The oracle is the cluster
 * itself, to which the same is done. */
#include <gangsched/gangsched.h>

#include "base/atomic.h"
#include "chance.h"
#include "support.h"

static struct stage s;
static gang_snapshot *snap;
static gang_node_id node[12];
static int32_t nic, licence;

enum { NODES = 12 };
static const char *const levels[] = {"block", "rack"};

static void setup(void)
{
    static const struct gang_amount nics = {"nic", 6};
    stage_open(&s, levels, 2);
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, &nic));
    MUST(gang_kind_add(s.w, "licence", NULL, GANG_SCOPE_CLUSTER, 20, &licence));
    for (int i = 0; i < NODES; i++) {
        char name[10], rack[10];
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(rack, sizeof(rack), "r%d", i / 3 % 2);
        struct gang_label place[] = {{"block", i < 6 ? "b0" : "b1"}, {"rack", rack}};
        struct box box = {.name = name,
                          .cpu = i == 11 ? 500000 : 64000,
                          .memory = 64 * GIB,
                          .gpus = i % 6 == 5 ? 0 : (size_t)(i % 3 == 2 ? 16 : 4),
                          .model = i % 2 ? "A100" : "V100",
                          .gpu_memory = 16 * GIB,
                          .cores = 64,
                          .amounts = &nics,
                          .amount_count = i % 4 ? 1 : 0,
                          .place = place,
                          .place_count = 2};
        node[i] = stage_add(&s, &box);
    }
    MUST(gang_snapshot_new(s.c, &snap));
}

static void teardown(void)
{
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    gang_snapshot_free(snap);
    stage_close(&s);
}

/* The snapshot shows what the cluster shows now. */
static void same_as_live(const char *after)
{
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info live = stage_node(&s, node[i]), seen = {.size = sizeof(seen)};
        MUST(gang_snapshot_node_get(snap, node[i], &seen));
        ck_assert_msg(memcmp(&live, &seen, sizeof(live)) == 0,
                      "%s: %s: gpu %d cpu %d memory %d state %d, in the snapshot %d %d %d %d",
                      after, live.name, (int)live.gpu_free, (int)live.cpu_free,
                      (int)(live.memory_free >> 20), live.state, (int)seen.gpu_free,
                      (int)seen.cpu_free, (int)(seen.memory_free >> 20), seen.state);
    }
}

static gang_result place(const struct gang_request_spec *spec, struct gang_error *error)
{
    gang_request *request = stage_request(&s, spec);
    gang_result r = gang_snapshot_place(s.w, snap, request, error);
    gang_request_free(request);
    return r;
}

static gang_result place_group(const struct gang_group_spec *g)
{
    struct gang_request_spec spec = request_of(g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = place(&spec, &error);
    ck_assert_int_eq(error.code, r);
    return r;
}

/* ---- against the cluster --------------------------------------------------------------------- */

struct random_request {
    struct gang_request_spec spec;
    struct gang_group_spec group[2];
    struct gang_amount amount[2];
    struct gang_group_set_spec set;
};

static void draw(struct random_request *r)
{
    static const int64_t cpus[] = {0, 500, 1000, 2000, 4000, 60000};
    static const int64_t gpus[] = {0, 0, 250, 500, 1000, 1000, 2000, 4000};
    memset(r, 0, sizeof(*r));
    r->spec = (struct gang_request_spec)GANG_REQUEST_SPEC_INIT;
    r->spec.groups = r->group;
    r->spec.group_count = (size_t)(1 + below(2));
    r->spec.policy = (int32_t)below(3);
    if (below(3) == 0)
        r->spec.same = levels[below(2)];
    else if (below(3) == 0)
        r->spec.prefer = levels[below(2)];
    for (size_t i = 0; i < r->spec.group_count; i++) {
        struct gang_group_spec *g = &r->group[i];
        *g = group_of(1 + below(6), cpus[below(6)], gpus[below(8)]);
        g->name = i ? "b" : "a";
        g->memory_bytes = below(4) * GIB;
        r->amount[i] = (struct gang_amount){below(2) ? "nic" : "licence", 1 + below(2)};
        if (below(3) == 0) {
            g->amounts = &r->amount[i];
            g->amount_count = 1;
        }
    }
}

/* The first worker begins its searches where the planner on a snapshot does: everything is the
 * same, to the device. */
START_TEST(placement_on_a_snapshot_equals_placement_on_the_cluster)
{
    gang_alloc_id held[64];
    int count = 0, placed = 0, refused = 0;
    chance_state = test_seed() + (uint64_t)_i;
    MUST(gang_snapshot_take(s.w, snap));
    for (int i = 0; i < 600; i++) {
        struct random_request r;
        struct gang_error error = GANG_ERROR_INIT;
        int64_t what = below(10);
        if (what == 0) {
            gang_node_id id = node[below(NODES)];
            int32_t state = below(3) ? GANG_NODE_UP : GANG_NODE_DRAINING;
            MUST(gang_node_set_state(s.w, id, state));
            MUST(gang_snapshot_set_state(snap, id, state));
            same_as_live("state");
        } else if (what == 1) {
            MUST(gang_snapshot_take(s.w, snap));
            same_as_live("take");
        } else if (what < 5 || count == 64) {
            if (!count)
                continue;
            int64_t k = below(count);
            MUST(gang_snapshot_release(snap, held[k]));
            MUST(gang_alloc_free(s.w, held[k]));
            held[k] = held[--count];
            same_as_live("release");
        } else {
            draw(&r);
            gang_request *request = stage_request(&s, &r.spec);
            gang_result test = gang_snapshot_test(s.w, snap, request, NULL);
            gang_result there = gang_snapshot_place(s.w, snap, request, &error);
            struct outcome live = stage_try(&s, &r.spec);
            gang_request_free(request);
            ck_assert_int_eq(test, there);
            ck_assert_msg(there == live.result, "%s in the snapshot (%s), %s (%s)",
                          gang_result_name(there), error.text, gang_result_name(live.result),
                          live.error.text);
            ck_assert_str_eq(error.text, live.error.text);
            ck_assert_int_eq(error.constraint, live.error.constraint);
            ck_assert_int_eq(error.nodes, live.error.nodes);
            same_as_live("place");
            if (there == GANG_OK)
                held[count++] = live.id;
            placed += there == GANG_OK;
            refused += there == GANG_ENOFIT;
        }
    }
    ck_assert_int_gt(placed, 20);
    ck_assert_int_gt(refused, 5);
}
END_TEST

/* ---- one by one ------------------------------------------------------------------------------ */

START_TEST(later_what_ifs_see_what_was_placed)
{
    struct gang_group_spec g = group_of(12, 1000, 1000);
    struct gang_node_info before[NODES], now;
    MUST(gang_snapshot_take(s.w, snap));
    for (int i = 0; i < NODES; i++)
        before[i] = stage_node(&s, node[i]);
    /* 8 nodes of 4 or 16 GPUs: 4 * 4 + 16 in each block, less those of the last node of each */
    struct gang_totals t = GANG_TOTALS_INIT;
    MUST(gang_snapshot_totals(snap, &t));
    int64_t fit = t.gpus / 12;
    for (int64_t i = 0; i < fit; i++)
        ck_assert_int_eq(place_group(&g), GANG_OK);
    ck_assert_int_eq(place_group(&g), GANG_ENOFIT);
    MUST(gang_snapshot_totals(snap, &t));
    ck_assert_int_eq(t.gpus_free, t.gpus - 12 * fit);
    for (int i = 0; i < NODES; i++) { /* the cluster knows nothing of it */
        now = stage_node(&s, node[i]);
        ck_assert_mem_eq(&now, &before[i], sizeof(now));
    }
    MUST(gang_snapshot_take(s.w, snap));
    same_as_live("take");
}
END_TEST

START_TEST(a_what_if_test_takes_nothing)
{
    struct gang_group_spec g = group_of(4, 1000, 4000);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    MUST(gang_snapshot_take(s.w, snap));
    for (int i = 0; i < 10; i++)
        MUST(gang_snapshot_test(s.w, snap, request, NULL));
    same_as_live("test");
    gang_request_free(request);
}
END_TEST

START_TEST(a_refused_what_if_gives_the_reason_and_takes_nothing)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_amount many = {"licence", 3};
    struct gang_group_spec g = group_of(7, 0, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.amounts = &many;
    g.amount_count = 1;
    MUST(gang_snapshot_take(s.w, snap));
    EXPECT_RESULT(place(&spec, &error), GANG_ENEVER, &error); /* 21 of 20 */
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_POOL);
    ck_assert_int_eq(error.kind, licence);
    same_as_live("refusal");
    g.count = g.min = 4;
    MUST(place(&spec, NULL));
    EXPECT_RESULT(place(&spec, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_POOL);
    ck_assert_int_eq(place(&spec, NULL), GANG_ENOFIT);
    /* The snapshot's own nodes count, not those that came later. */
    struct gang_group_spec large = group_of(1, 900000, 0);
    struct box box = {.name = "later", .cpu = 1000000};
    gang_node_id later = stage_add(&s, &box);
    ck_assert_int_eq(place_group(&large), GANG_ENEVER);
    MUST(gang_snapshot_take(s.w, snap));
    ck_assert_int_eq(place_group(&large), GANG_OK);
    ck_assert_int_eq(place_group(&large), GANG_ENOFIT);
    MUST(gang_node_remove(s.w, later));
}
END_TEST

/* Nodes that were removed since, or moved to another domain, are planned on as they were. */
START_TEST(a_snapshot_plans_on_the_nodes_of_its_instant)
{
    struct gang_group_spec g = group_of(1, 400000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    spec.same = "rack";
    MUST(gang_snapshot_take(s.w, snap));
    MUST(gang_node_remove(s.w, node[11]));
    MUST(gang_cluster_recycle(s.c));
    EXPECT_RESULT(place(&spec, &error), GANG_OK, &error);
    EXPECT_RESULT(place(&spec, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.nodes, NODES);
    MUST(gang_snapshot_take(s.w, snap));
    EXPECT_RESULT(place(&spec, &error), GANG_ENEVER, &error);
    ck_assert_int_eq(gang_snapshot_node_count(snap), NODES - 1);
    /* A domain that is younger than the snapshot has no nodes in it. */
    struct gang_label far[] = {{"block", "b9"}, {"rack", "r9"}};
    struct box box = {.name = "far", .cpu = 500000, .place = far, .place_count = 2};
    stage_add(&s, &box);
    EXPECT_RESULT(place(&spec, &error), GANG_ENEVER, &error);
    MUST(gang_snapshot_take(s.w, snap));
    EXPECT_RESULT(place(&spec, &error), GANG_OK, &error);
}
END_TEST

START_TEST(node_states_of_the_snapshot_decide)
{
    struct gang_group_spec g = group_of(1, 400000, 0); /* only the last one holds it */
    MUST(gang_node_set_state(s.w, node[11], GANG_NODE_DRAINING));
    MUST(gang_snapshot_take(s.w, snap));
    ck_assert_int_eq(place_group(&g), GANG_ENOFIT);
    MUST(gang_snapshot_set_state(snap, node[11], GANG_NODE_UP));
    MUST(place_group(&g));
    MUST(gang_snapshot_take(s.w, snap));
    MUST(gang_node_set_state(s.w, node[11], GANG_NODE_UP));
    ck_assert_int_eq(place_group(&g), GANG_ENOFIT);
}
END_TEST

/* ---- giving back ----------------------------------------------------------------------------- */

static gang_alloc_id shares_of_all(void)
{
    struct gang_amount amounts[] = {{"nic", 2}, {"licence", 1}};
    struct gang_group_spec g = group_of(4, 4000, 250);
    struct gang_request_spec spec = request_of(&g, 1);
    g.memory_bytes = GIB;
    g.amounts = amounts;
    g.amount_count = 2;
    spec.policy = GANG_POLICY_SPREAD;
    return stage_alloc(&s, &spec);
}

START_TEST(a_released_allocation_frees_capacity)
{
    struct gang_group_spec g = group_of(1, 400000, 0);
    gang_alloc_id a = stage_alloc_group(&s, &g), b = shares_of_all();
    MUST(gang_snapshot_take(s.w, snap));
    ck_assert_int_eq(place_group(&g), GANG_ENOFIT);
    MUST(gang_snapshot_release(snap, a));
    MUST(place_group(&g));
    MUST(gang_snapshot_take(s.w, snap));
    same_as_live("the allocations are there");
    MUST(gang_snapshot_release(snap, a));
    MUST(gang_snapshot_release(snap, b));
    MUST(gang_alloc_free(s.w, a));
    MUST(gang_alloc_free(s.w, b));
    same_as_live("both released");
}
END_TEST

START_TEST(an_allocation_outside_the_snapshot_is_not_released)
{
    MUST(gang_snapshot_take(s.w, snap));
    gang_alloc_id young = shares_of_all();
    ck_assert_int_eq(gang_snapshot_release(snap, young), GANG_ERANGE);
    struct gang_totals t = GANG_TOTALS_INIT;
    MUST(gang_snapshot_totals(snap, &t));
    ck_assert_int_eq(t.cpu_free, t.cpu_milli);
    MUST(gang_snapshot_take(s.w, snap));
    MUST(gang_snapshot_release(snap, young));
    ck_assert_int_eq(gang_snapshot_release(snap, young), GANG_ERANGE); /* twice */
    MUST(gang_alloc_free(s.w, young));
    same_as_live("released once");
    ck_assert_int_eq(gang_snapshot_release(snap, young), GANG_ESTALE);
}
END_TEST

/* Whichever word is the one that does not fit, all before it are put back. */
START_TEST(a_refused_release_changes_nothing)
{
    gang_alloc_id young;
    struct gang_node_info before[NODES];
    struct gang_group_spec wide = group_of(40, 1000, 500);
    struct gang_request_spec spec = request_of(&wide, 1);
    stage_alloc(&s, &spec);
    MUST(gang_snapshot_take(s.w, snap));
    for (int i = 0; i < NODES; i++) {
        before[i].size = sizeof(before[i]);
        MUST(gang_snapshot_node_get(snap, node[i], &before[i]));
    }
    young = shares_of_all();
    ck_assert_int_eq(gang_snapshot_release(snap, young), GANG_ERANGE);
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info seen = {.size = sizeof(seen)};
        MUST(gang_snapshot_node_get(snap, node[i], &seen));
        ck_assert_mem_eq(&seen, &before[i], sizeof(seen));
    }
    /* On a node that the snapshot does not know. */
    struct box box = {.name = "later", .cpu = 1000000};
    struct gang_group_spec large = group_of(1, 900000, 0);
    stage_add(&s, &box);
    ck_assert_int_eq(gang_snapshot_release(snap, stage_alloc_group(&s, &large)), GANG_ENOENT);
}
END_TEST

static gang_alloc_id on_node_1(struct gang_group_spec *g)
{
    struct gang_placement where = GANG_PLACEMENT_INIT;
    struct gang_request_spec spec = request_of(g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    where.node = node[1];
    MUST(gang_alloc_adopt(s.w, request, &where, 1, &id, NULL));
    gang_request_free(request);
    return id;
}

/* One word alone would have more free than there is; the others fit, since older work took as
 * much. */
START_TEST(each_word_of_a_snapshot_obeys_its_capacity)
{
    struct gang_group_spec older = group_of(1, 8500, 0), young = group_of(1, 500, 0);
    struct gang_amount one = {_i == 4 ? "nic" : "licence", 1};
    struct gang_node_info before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
    older.memory_bytes = 8 * GIB;
    young.memory_bytes = GIB;
    switch (_i) {
    case 0:
        young.cpu_milli = 9500;
        break;
    case 1:
        young.memory_bytes = 9 * GIB;
        break;
    case 2:
        young.cpu_milli = 1000; /* a core of its own */
        break;
    case 3:
        young.gpu_milli = 250;
        break;
    default:
        young.amounts = &one;
        young.amount_count = 1;
        break;
    }
    on_node_1(&older);
    MUST(gang_snapshot_take(s.w, snap));
    MUST(gang_snapshot_node_get(snap, node[1], &before));
    gang_alloc_id id = on_node_1(&young);
    ck_assert_int_eq(gang_snapshot_release(snap, id), GANG_ERANGE);
    MUST(gang_snapshot_node_get(snap, node[1], &after));
    ck_assert_mem_eq(&before, &after, sizeof(after));
    MUST(gang_snapshot_take(s.w, snap));
    MUST(gang_snapshot_release(snap, id));
}
END_TEST

static gang_alloc_id grown;
static gang_result busy;

static void release_meanwhile(enum gang__step step)
{
    if (step == GANG__STEP_DECIDE)
        busy = gang_snapshot_release(snap, grown);
}

START_TEST(wrong_arguments_are_refused)
{
    struct gang_group_spec g = group_of(2, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *c2;
    gang_worker *w2;
    g.count = 3;
    gang_request *request = stage_request(&s, &spec);
    grown = stage_alloc(&s, &spec);
    EXPECT_RESULT(gang_snapshot_place(s.w, snap, request, &error), GANG_EINVAL,
                  &error); /* never taken */
    ck_assert_int_eq(error.code, GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_test(s.w, snap, request, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_release(snap, grown), GANG_EINVAL);
    MUST(gang_snapshot_take(s.w, snap));
    EXPECT_RESULT(gang_snapshot_place(NULL, snap, request, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_snapshot_place(s.w, NULL, request, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_snapshot_place(s.w, snap, NULL, &error), GANG_EINVAL, &error);
    MUST(gang_cluster_new(NULL, &c2, NULL));
    MUST(gang_worker_new(c2, &w2));
    EXPECT_RESULT(gang_snapshot_place(w2, snap, request, &error), GANG_EINVAL, &error);
    gang_cluster_free(c2);
    ck_assert_int_eq(gang_snapshot_release(NULL, grown), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_release(snap, GANG_ID_NONE), GANG_ESTALE);
    ck_assert_int_eq(gang_snapshot_release(snap, grown + 77), GANG_ESTALE);
    busy = GANG_OK;
    atomic_store(&gang__hook_now, release_meanwhile);
    MUST(gang_alloc_grow(s.w, grown, 0, 1, NULL, NULL));
    ck_assert_int_eq(busy, GANG_EBUSY);
    gang_request_free(request);
}
END_TEST

START_TEST(out_of_memory_changes_nothing)
{
    struct gang_group_spec g = group_of(30, 1000, 500);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.same = "block";
    gang_request *request = stage_request(&s, &spec);
    int failures = 0;
    MUST(gang_snapshot_take(s.w, snap));
    for (long at = 1;; at = 3 - at) {
        struct gang_error error = GANG_ERROR_INIT;
        s.mem.fail_at = s.mem.calls + at;
        gang_result r = gang_snapshot_place(s.w, snap, request, &error);
        bool failed = s.mem.calls >= s.mem.fail_at;
        s.mem.fail_at = 0;
        ck_assert_int_eq(r, failed ? GANG_ENOMEM : GANG_OK);
        ck_assert_int_eq(error.code, r);
        if (!failed)
            break;
        same_as_live("out of memory");
        failures++;
    }
    ck_assert_int_gt(failures, 8);
    struct gang_totals t = GANG_TOTALS_INIT;
    MUST(gang_snapshot_totals(snap, &t));
    ck_assert_int_eq(t.gpu_milli - t.gpu_free, 15000);
    gang_request_free(request);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whatif");
    TCase *t = tcase_create("whatif");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, placement_on_a_snapshot_equals_placement_on_the_cluster, 0, 5);
    tcase_add_test(t, later_what_ifs_see_what_was_placed);
    tcase_add_test(t, a_what_if_test_takes_nothing);
    tcase_add_test(t, a_refused_what_if_gives_the_reason_and_takes_nothing);
    tcase_add_test(t, a_snapshot_plans_on_the_nodes_of_its_instant);
    tcase_add_test(t, node_states_of_the_snapshot_decide);
    tcase_add_test(t, a_released_allocation_frees_capacity);
    tcase_add_test(t, an_allocation_outside_the_snapshot_is_not_released);
    tcase_add_test(t, a_refused_release_changes_nothing);
    tcase_add_loop_test(t, each_word_of_a_snapshot_obeys_its_capacity, 0, 6);
    tcase_add_test(t, wrong_arguments_are_refused);
    tcase_add_test(t, out_of_memory_changes_nothing);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
