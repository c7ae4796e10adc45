/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees and limits in force, given the capacity. */
#include "chance.h"
#include "tree.h"

/* A tree with its resolved amounts. */
static struct gang__queues *tree;
static int64_t total[GANG__DIMS], guarantees[64 * GANG__DIMS], limits[64 * GANG__DIMS];

static void resolve_as(bool scale)
{
    ck_assert_uint_le(tree->count, 64);
    memset(guarantees, 0x55, sizeof(guarantees));
    memset(limits, 0x55, sizeof(limits));
    gang__queues_resolve(tree, total, scale, guarantees, limits);
}

static void resolve(void)
{
    resolve_as(true);
}

static void plant(const struct gang_queue_spec *specs, size_t count)
{
    tree_free(tree);
    tree = tree_of(specs, count);
    memset(total, 0, sizeof(total));
}

static int64_t guaranteed(const char *name, uint32_t d)
{
    return guarantees[(size_t)queue_in(tree, name)->index * tree->dims + d];
}

static int64_t limited(const char *name, uint32_t d)
{
    return limits[(size_t)queue_in(tree, name)->index * tree->dims + d];
}

static void open_tree(void)
{
    tree = NULL;
    tree_open();
}

static void close_tree(void)
{
    tree_free(tree);
    tree_close();
}

/* ---- amounts ------------------------------------------------------------------------------- */

/* hadoop, TestAbsoluteResourceConfiguration: a node of two is lost. */
START_TEST(yarn_scales_guarantees_above_the_cluster)
{
    const struct gang_quota large[] = {{"memory", 100 * GIB, NULL, 0, 0},
                                       {"cpu", 10000, NULL, 0, 0}};
    const struct gang_quota small[] = {{"memory", 50 * GIB, NULL, 0, 0},
                                       {"cpu", 10000, NULL, 0, 0}};
    const struct gang_quota all[] = {{"memory", 0, NULL, GANG_WHOLE, 0},
                                     {"cpu", 0, NULL, GANG_WHOLE, 0}};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("b", NULL), queue_of("c", NULL)};
    for (int i = 0; i < 3; i++) {
        queue_guarantee(&t[i], i ? small : large, 2);
        queue_limit(&t[i], all, 2);
    }
    plant(t, 3);
    total[GANG_KIND_MEMORY] = 250 * GIB;
    total[GANG_KIND_CPU] = 40000;
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_MEMORY), 100 * GIB); /* not raised */
    ck_assert_int_eq(guaranteed("a", GANG_KIND_CPU), 10000);
    total[GANG_KIND_MEMORY] = 125 * GIB;
    total[GANG_KIND_CPU] = 20000;
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_MEMORY), 64000 * MIB);
    ck_assert_int_eq(guaranteed("a", GANG_KIND_CPU) / 1000, 6);
    for (const char *name = "bc"; *name; name++) {
        char queue[] = {*name, '\0'};
        ck_assert_int_eq(guaranteed(queue, GANG_KIND_MEMORY), 32000 * MIB);
        ck_assert_int_eq(guaranteed(queue, GANG_KIND_CPU), 6666);
        ck_assert_int_eq(limited(queue, GANG_KIND_MEMORY), 128000 * MIB);
        ck_assert_int_eq(limited(queue, GANG_KIND_CPU), 20000);
    }
}
END_TEST

START_TEST(scaling_applies_down_the_tree)
{
    const struct gang_quota eight = {"gpu", 8000, NULL, 0, 0}, six = {"gpu", 6000, NULL, 0, 0};
    const struct gang_quota one = {"gpu", 1000, NULL, 0, 0};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("a1", "a"), queue_of("a2", "a")};
    queue_guarantee(&t[0], &eight, 1);
    queue_guarantee(&t[1], &six, 1);
    queue_guarantee(&t[2], &one, 1);
    plant(t, 3);
    total[GANG_KIND_GPU] = 7000;
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_GPU), 7000);
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_GPU), 6000); /* the parent still covers both */
    total[GANG_KIND_GPU] = 3500;
    resolve();
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_GPU), 3000);
    ck_assert_int_eq(guaranteed("a2", GANG_KIND_GPU), 500);
    total[GANG_KIND_GPU] = 0;
    resolve();
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_GPU), 0);
}
END_TEST

/* KAI has an owner with 1 above one with 3, Volcano a root with 0. */
START_TEST(children_keep_what_they_state_above_their_parent)
{
    const struct gang_quota one = {"gpu", 1000, NULL, 0, 0}, three = {"gpu", 3000, NULL, 0, 0};
    const struct gang_quota none = {"gpu", 0, NULL, 0, 0};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("a1", "a"), queue_of("b", NULL),
                                  queue_of("b1", "b")};
    queue_guarantee(&t[0], &one, 1);
    queue_guarantee(&t[1], &three, 1);
    queue_guarantee(&t[2], &none, 1);
    queue_guarantee(&t[3], &three, 1);
    plant(t, 4);
    total[GANG_KIND_GPU] = 10000;
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_GPU), 1000);
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_GPU), 3000);
    ck_assert_int_eq(guaranteed("b1", GANG_KIND_GPU), 3000);
    total[GANG_KIND_GPU] = 500; /* half of what the top states */
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_GPU), 500);
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_GPU), 500); /* and never more than there is */
    ck_assert_int_eq(guaranteed("b1", GANG_KIND_GPU), 500);
}
END_TEST

/* As if they named it: with all that follows for siblings and where the cluster is smaller. */
START_TEST(a_parent_that_names_none_has_the_sum_of_its_children)
{
    const struct gang_quota one = {"gpu", 1000, NULL, 0, 0}, three = {"gpu", 3000, NULL, 0, 0};
    const struct gang_quota half = {"gpu", 0, NULL, GANG_WHOLE / 2, 0};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("a1", "a"), queue_of("a2", "a"),
                                  queue_of("a3", "a"), queue_of("b", NULL), queue_of("b1", "b"),
                                  queue_of("c", NULL), queue_of("c1", "c")};
    queue_guarantee(&t[1], &three, 1);
    queue_guarantee(&t[2], &one, 1);
    queue_guarantee(&t[5], &half, 1);
    plant(t, 8);
    total[GANG_KIND_GPU] = 10000;
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_GPU), 4000);
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_GPU), 3000);
    ck_assert_int_eq(guaranteed("a3", GANG_KIND_GPU), 0);
    ck_assert_int_eq(guaranteed("a", GANG_KIND_CPU), GANG__NO_BOUND); /* as in a1 */
    ck_assert_int_eq(guaranteed("b", GANG_KIND_GPU), 0);              /* half of nothing */
    ck_assert_int_eq(guaranteed("b1", GANG_KIND_GPU), 0);
    ck_assert_int_eq(guaranteed("c", GANG_KIND_GPU), 0);
    ck_assert_int_eq(guaranteed("c", GANG_KIND_CPU), 0);
    total[GANG_KIND_GPU] = 2000;
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_GPU), 2000);
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_GPU), 1500);
    ck_assert_int_eq(guaranteed("a2", GANG_KIND_GPU), 500);
}
END_TEST

START_TEST(an_unmanaged_kind_is_unlimited)
{
    const struct gang_quota gpu = {"gpu", 4000, NULL, 0, 0};
    const struct gang_quota free_cpu[] = {{"gpu", GANG_UNLIMITED, NULL, 0, 0},
                                          {"cpu", 100, NULL, 0, 0}};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("a1", "a"), queue_of("b", NULL),
                                  queue_of("c", NULL)};
    queue_guarantee(&t[0], &gpu, 1);
    queue_guarantee(&t[1], free_cpu, 2);
    queue_guarantee(&t[3], free_cpu, 1);
    plant(t, 4);
    total[GANG_KIND_GPU] = 8000;
    total[GANG_KIND_CPU] = 50;
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_CPU), GANG__NO_BOUND);
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_GPU), 4000); /* capped by its parent's */
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_CPU), 50);   /* scaled to what there is */
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_MEMORY), GANG__NO_BOUND);
    ck_assert_int_eq(guaranteed("b", GANG_KIND_GPU), 0); /* names no kind: nothing */
    ck_assert_int_eq(guaranteed("b", GANG_KIND_MEMORY), 0);
    ck_assert_int_eq(guaranteed("c", GANG_KIND_GPU), GANG__NO_BOUND);
}
END_TEST

START_TEST(a_pair_is_a_dimension_of_its_own)
{
    const struct gang_quota fast[] = {{"gpu", 4000, NULL, 0, 0}, {"gpu", 2000, "fast", 0, 0}};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("a1", "a"), queue_of("b", NULL)};
    queue_guarantee(&t[0], fast, 2);
    queue_guarantee(&t[1], &fast[0], 1);
    queue_limit(&t[0], &fast[1], 1);
    plant(t, 3);
    uint32_t d = dim_in(tree, GANG_KIND_GPU, "fast");
    total[GANG_KIND_GPU] = 8000;
    total[d] = 1000;
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_GPU), 4000);
    ck_assert_int_eq(guaranteed("a", d), 1000);
    ck_assert_int_eq(guaranteed("a1", d), GANG__NO_BOUND);
    ck_assert_int_eq(guaranteed("b", d), GANG__NO_BOUND);
    ck_assert_int_eq(guaranteed("b", GANG_KIND_GPU), 0);
    ck_assert_int_eq(limited("a", d), 2000);
    ck_assert_int_eq(limited("a1", d), 2000);
    ck_assert_int_eq(limited("a", GANG_KIND_GPU), GANG__NO_BOUND);
    ck_assert_int_eq(limited("b", d), GANG__NO_BOUND);
}
END_TEST

/* ---- parts and weights --------------------------------------------------------------------- */

START_TEST(parts_are_of_the_parent)
{
    const struct gang_quota quarter = {"gpu", 0, NULL, 250000, 0};
    const struct gang_quota half = {"gpu", 0, NULL, 500000, 0};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("a1", "a"), queue_of("b", NULL),
                                  queue_of("b1", "b")};
    queue_guarantee(&t[0], &quarter, 1);
    queue_guarantee(&t[1], &half, 1);
    queue_limit(&t[0], &half, 1);
    queue_limit(&t[1], &half, 1);
    queue_guarantee(&t[3], &half, 1);
    plant(t, 4);
    total[GANG_KIND_GPU] = 64001;
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_GPU), 16000); /* 16000.25 */
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_GPU), 8000);
    ck_assert_int_eq(limited("a", GANG_KIND_GPU), 32000);
    ck_assert_int_eq(limited("a1", GANG_KIND_GPU), 16000);
    ck_assert_int_eq(guaranteed("b1", GANG_KIND_GPU), 0); /* of nothing */
}
END_TEST

START_TEST(parts_and_amounts_are_scaled_together)
{
    const struct gang_quota half = {"gpu", 0, NULL, 500000, 0}, eight = {"gpu", 8000, NULL, 0, 0};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("b", NULL)};
    queue_guarantee(&t[0], &half, 1);
    queue_guarantee(&t[1], &eight, 1);
    plant(t, 2);
    total[GANG_KIND_GPU] = 8000;
    resolve();
    ck_assert_int_eq(guaranteed("a", GANG_KIND_GPU), 2666); /* 4000 of 12000 */
    ck_assert_int_eq(guaranteed("b", GANG_KIND_GPU), 5333);
}
END_TEST

/* KAI: a queue keeps what it was promised. Parts promise no amount and are scaled: the parts of
 * queues made on demand may sum up to more than the whole. */
START_TEST(amounts_stand_unless_they_are_to_be_scaled)
{
    const struct gang_quota eight = {"gpu", 8000, NULL, 0, 0}, six = {"gpu", 6000, NULL, 0, 0};
    const struct gang_quota whole = {"gpu", 0, NULL, GANG_WHOLE, 0};
    const struct gang_quota half = {"gpu", 0, NULL, GANG_WHOLE / 2, 0};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("a1", "a"), queue_of("b", NULL)};
    queue_guarantee(&t[0], &eight, 1);
    queue_guarantee(&t[1], &six, 1);
    queue_guarantee(&t[2], &six, 1);
    plant(t, 3);
    total[GANG_KIND_GPU] = 7000;
    resolve_as(false);
    ck_assert_int_eq(guaranteed("a", GANG_KIND_GPU), 8000);
    ck_assert_int_eq(guaranteed("a1", GANG_KIND_GPU), 6000);
    ck_assert_int_eq(guaranteed("b", GANG_KIND_GPU), 6000);
    struct gang_queue_spec made[] = {queue_of("a", NULL), queue_of("b", NULL)};
    queue_guarantee(&made[0], &whole, 1);
    queue_guarantee(&made[1], &half, 1);
    tree_free(tree);
    tree = tree_after(NULL, made, 2, (bool[]){true, true});
    total[GANG_KIND_GPU] = 60;
    resolve_as(false);
    ck_assert_int_eq(guaranteed("a", GANG_KIND_GPU), 40);
    ck_assert_int_eq(guaranteed("b", GANG_KIND_GPU), 20);
}
END_TEST

/* Queues at the top with weights, one digit each; resolved for a total of GPUs. */
static void weigh(const char *weights, int64_t gpus)
{
    static const char *const names[] = {"q0", "q1", "q2", "q3", "q4", "q5", "q6"};
    struct gang_queue_spec t[7];
    struct gang_quota quota[7];
    size_t n = strlen(weights);
    for (size_t i = 0; i < n; i++) {
        quota[i] = (struct gang_quota){"gpu", 0, NULL, 0, (weights[i] - '0') * GANG_WHOLE};
        t[i] = queue_of(names[i], NULL);
        queue_guarantee(&t[i], &quota[i], 1);
    }
    plant(t, n);
    total[GANG_KIND_GPU] = gpus;
    resolve();
}

static void ck_guaranteed(const char *name, int64_t amount)
{
    ck_assert_int_eq(guaranteed(name, GANG_KIND_GPU), amount);
}

/* hadoop, documentation: 3w,2w,5w are 30, 20, 50 percent; with 10w beside them half of it. */
START_TEST(yarn_weights_divide_the_parent)
{
    weigh("325", 100000);
    ck_guaranteed("q0", 30000);
    ck_guaranteed("q1", 20000);
    ck_guaranteed("q2", 50000);
    weigh("3:25", 100000); /* ':' is 10 */
    ck_guaranteed("q0", 15000);
    ck_guaranteed("q2", 10000);
    ck_guaranteed("q3", 25000);
    ck_guaranteed("q1", 50000);
    weigh("112", 64000);
    ck_guaranteed("q0", 16000);
    ck_guaranteed("q1", 16000);
    ck_guaranteed("q2", 32000);
    weigh("112", 48000);
    ck_guaranteed("q0", 12000);
    ck_guaranteed("q2", 24000);
}
END_TEST

START_TEST(the_largest_remainder_gets_the_rest)
{
    weigh("111", 100);
    ck_guaranteed("q0", 34); /* the oldest of equals */
    ck_guaranteed("q1", 33);
    ck_guaranteed("q2", 33);
    weigh("123", 100); /* 16.67, 33.33, 50 */
    ck_guaranteed("q0", 17);
    ck_guaranteed("q1", 33);
    ck_guaranteed("q2", 50);
    weigh("1111111", 5);
    ck_guaranteed("q4", 1);
    ck_guaranteed("q5", 0);
    weigh("91", 1);
    ck_guaranteed("q0", 1);
    ck_guaranteed("q1", 0);
    weigh("91", INT64_MAX - 1); /* no overflow */
    ck_assert_int_eq(guaranteed("q0", GANG_KIND_GPU) + guaranteed("q1", GANG_KIND_GPU),
                     INT64_MAX - 1);
}
END_TEST

START_TEST(weights_divide_the_guarantee_of_the_parent)
{
    const struct gang_quota six = {"gpu", 6000, NULL, 0, 0};
    const struct gang_quota one = {"gpu", 0, NULL, 0, 1}, two = {"gpu", 0, NULL, 0, 2};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("a1", "a"), queue_of("a2", "a"),
                                  queue_of("a3", "a"), queue_of("a11", "a1")};
    queue_guarantee(&t[0], &six, 1);
    queue_guarantee(&t[1], &one, 1);
    queue_guarantee(&t[2], &two, 1);
    queue_guarantee(&t[4], &one, 1);
    plant(t, 5);
    total[GANG_KIND_GPU] = 3000;
    resolve();
    ck_guaranteed("a1", 1000);
    ck_guaranteed("a11", 1000);
    ck_guaranteed("a2", 2000);
    ck_guaranteed("a3", 0);
}
END_TEST

/* For any weights, the whole is divided, and no queue is a unit away from its part. */
START_TEST(a_division_by_weight_is_exact)
{
    chance_state = test_seed();
    for (int round = 0; round < 300; round++) {
        char weights[8] = "";
        int64_t sum = 0, given = 0, gpus = below(1000);
        size_t n = 1 + index_below(7);
        for (size_t i = 0; i < n; i++) {
            weights[i] = (char)('1' + below(9));
            sum += weights[i] - '0';
        }
        weigh(weights, gpus);
        for (size_t i = 0; i < n; i++) {
            const int64_t got = guarantees[i * tree->dims + GANG_KIND_GPU];
            int64_t part = gpus * (weights[i] - '0');
            given += got;
            ck_assert_int_gt((got + 1) * sum, part);
            ck_assert_int_lt((got - 1) * sum, part);
        }
        ck_assert_int_eq(given, gpus);
    }
}
END_TEST

/* ---- limits -------------------------------------------------------------------------------- */

START_TEST(a_limit_is_at_most_the_parents)
{
    const struct gang_quota five = {"gpu", 5000, NULL, 0, 0}, nine = {"gpu", 9000, NULL, 0, 0};
    const struct gang_quota none = {"gpu", GANG_UNLIMITED, NULL, 0, 0};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("a1", "a"), queue_of("a2", "a"),
                                  queue_of("a3", "a"), queue_of("b", NULL)};
    queue_limit(&t[0], &five, 1);
    queue_limit(&t[1], &nine, 1);
    queue_limit(&t[2], &none, 1);
    plant(t, 5);
    total[GANG_KIND_GPU] = 2000;
    resolve();
    ck_assert_int_eq(limited("a", GANG_KIND_GPU), 5000); /* as stated, whatever there is */
    ck_assert_int_eq(limited("a1", GANG_KIND_GPU), 5000);
    ck_assert_int_eq(limited("a2", GANG_KIND_GPU), 5000);
    ck_assert_int_eq(limited("a3", GANG_KIND_GPU), 5000);
    ck_assert_int_eq(limited("b", GANG_KIND_GPU), GANG__NO_BOUND);
    ck_assert_int_eq(limited("a", GANG_KIND_CPU), GANG__NO_BOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queues_resolve");
    TCase *tests = tcase_create("amounts");
    tcase_add_checked_fixture(tests, open_tree, close_tree);
    tcase_add_test(tests, yarn_scales_guarantees_above_the_cluster);
    tcase_add_test(tests, scaling_applies_down_the_tree);
    tcase_add_test(tests, children_keep_what_they_state_above_their_parent);
    tcase_add_test(tests, a_parent_that_names_none_has_the_sum_of_its_children);
    tcase_add_test(tests, an_unmanaged_kind_is_unlimited);
    tcase_add_test(tests, a_pair_is_a_dimension_of_its_own);
    tcase_add_test(tests, parts_are_of_the_parent);
    tcase_add_test(tests, parts_and_amounts_are_scaled_together);
    tcase_add_test(tests, amounts_stand_unless_they_are_to_be_scaled);
    tcase_add_test(tests, yarn_weights_divide_the_parent);
    tcase_add_test(tests, the_largest_remainder_gets_the_rest);
    tcase_add_test(tests, weights_divide_the_guarantee_of_the_parent);
    tcase_add_test(tests, a_division_by_weight_is_exact);
    tcase_add_test(tests, a_limit_is_at_most_the_parents);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
