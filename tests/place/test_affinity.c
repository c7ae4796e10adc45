/* SPDX-License-Identifier: Apache-2.0 */
/* Affinity between jobs: labels, nearness and distance, soft rules, the rules of running
 * allocations. */
#include <gangsched/gangsched.h>

#include "base/atomic.h"
#include "support.h"

static struct stage s;
static gang_node_id node[6];
static const char *const levels[] = {"zone", "rack"};

/* Zones z0 (racks r0, r1) and z1 (rack r2), two nodes of four cores in each rack. */
static void open_stage(void)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3", "n4", "n5"};
    static const char *const zones[] = {"z0", "z0", "z1"}, *const racks[] = {"r0", "r1", "r2"};
    stage_open(&s, levels, 2);
    for (int i = 0; i < 6; i++) {
        struct gang_label place[] = {{"zone", zones[i / 2]}, {"rack", racks[i / 2]}};
        struct box box = {
            .name = names[i], .cpu = 4000, .memory = GIB, .place = place, .place_count = 2};
        node[i] = stage_add(&s, &box);
    }
}

static void close_stage(void)
{
    stage_close(&s);
}

/* A job of `count` tasks of a core each, with a label "app" (NULL: none) and rules. */
static struct gang_request_spec job_of(struct gang_group_spec *g, struct gang_label *label,
                                       const char *app, int64_t count,
                                       const struct gang_affinity_rule *rules, size_t rule_count)
{
    *g = group_of(count, 1000, 0);
    struct gang_request_spec spec = request_of(g, 1);
    *label = (struct gang_label){"app", app};
    spec.labels = label;
    spec.label_count = app != NULL;
    spec.affinity = rules;
    spec.affinity_count = rule_count;
    spec.policy = GANG_POLICY_FIRST;
    return spec;
}

static struct outcome try_job(const char *app, int64_t count,
                              const struct gang_affinity_rule *rules, size_t rule_count)
{
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, app, count, rules, rule_count);
    struct outcome o = stage_try(&s, &spec);
    stage_check(&s);
    return o;
}

static gang_alloc_id place_job(const char *app, int64_t count,
                               const struct gang_affinity_rule *rules, size_t rule_count)
{
    struct outcome o = try_job(app, count, rules, rule_count);
    ck_assert_msg(o.result == GANG_OK, "%s: %s", gang_result_name(o.result), o.error.text);
    return o.id;
}

static void refuse_job(const char *app, int64_t count, const struct gang_affinity_rule *rules,
                       size_t rule_count)
{
    struct outcome o = try_job(app, count, rules, rule_count);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_AFFINITY);
    ck_assert_int_eq(o.error.kind, -1);
}

/* On which nodes it runs, as bits; each task counts. */
static unsigned nodes_of(gang_alloc_id id)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < 6; i++)
        bits |= stage_tasks_on(&s, id, node[i]) ? 1u << i : 0;
    return bits;
}

/* An exact place for a job with a label. */
static gang_alloc_id put_on(const char *app, int at)
{
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, app, 1, NULL, 0);
    gang_request *request = stage_request(&s, &spec);
    struct gang_placement place = GANG_PLACEMENT_INIT;
    gang_alloc_id id;
    place.node = node[at];
    MUST(gang_alloc_adopt(s.w, request, &place, 1, &id, NULL));
    gang_request_free(request);
    stage_check(&s);
    return id;
}

#define FAR(key, value, level)  \
    {                           \
        key, value, level, 0, 0 \
    }
#define NEAR(key, value, level) \
    {                           \
        key, value, level, 1, 0 \
    }

/* ---- distance ---- */

START_TEST(no_task_goes_beside_a_job_to_stay_away_from)
{
    const struct gang_affinity_rule far = FAR("app", "db", NULL);
    put_on("db", 0);
    gang_alloc_id b = place_job("web", 4, &far, 1);
    ck_assert_uint_eq(nodes_of(b), 1u << 1);
}
END_TEST

START_TEST(distance_counts_whole_domains)
{
    const struct gang_affinity_rule rack = FAR("app", "db", "rack"),
                                    zone = FAR("app", "db", "zone");
    put_on("db", 0);
    ck_assert_uint_eq(nodes_of(place_job("web", 1, &rack, 1)), 1u << 2);
    ck_assert_uint_eq(nodes_of(place_job("web", 1, &zone, 1)), 1u << 4);
}
END_TEST

START_TEST(other_values_and_keys_do_not_matter)
{
    const struct gang_affinity_rule value = FAR("app", "cache", "node"),
                                    key = FAR("tier", NULL, "zone");
    put_on("db", 0);
    ck_assert_uint_eq(nodes_of(place_job("web", 1, &value, 1)), 1u);
    ck_assert_uint_eq(nodes_of(place_job("web", 1, &key, 1)), 1u);
}
END_TEST

START_TEST(a_rule_without_a_value_means_any)
{
    const struct gang_affinity_rule any = FAR("app", NULL, NULL);
    put_on("db", 0);
    put_on("", 1);
    put_on("cache", 2);
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, &any, 1)), 1u << 3);
}
END_TEST

START_TEST(replicas_keep_apart_until_one_is_freed)
{
    const struct gang_affinity_rule apart = FAR("app", "web", "rack");
    gang_alloc_id id[3];
    unsigned all = 0;
    for (int i = 0; i < 3; i++) {
        id[i] = place_job("web", 2, &apart, 1);
        all |= nodes_of(id[i]);
    }
    ck_assert_uint_eq(all, 1u << 0 | 1u << 2 | 1u << 4);
    refuse_job("web", 1, &apart, 1);
    MUST(gang_alloc_free(s.w, id[1]));
    ck_assert_uint_eq(nodes_of(place_job("web", 1, &apart, 1)), 1u << 2);
}
END_TEST

START_TEST(its_own_tasks_do_not_count)
{
    const struct gang_affinity_rule apart = FAR("app", "web", "zone");
    gang_alloc_id id = place_job("web", 24, &apart, 1); /* everywhere */
    ck_assert_uint_eq(nodes_of(id), 63);
}
END_TEST

START_TEST(all_rules_must_hold)
{
    const struct gang_affinity_rule both[] = {FAR("app", "db", "rack"), FAR("app", "web", NULL)};
    put_on("db", 0);
    put_on("web", 2);
    put_on("web", 3);
    put_on("web", 4);
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, both, 2)), 1u << 5);
    refuse_job(NULL, 5, both, 2);
}
END_TEST

START_TEST(a_node_in_no_domain_is_near_no_job)
{
    const struct gang_affinity_rule far = FAR("app", "db", "zone"),
                                    near = NEAR("app", "db", "zone");
    struct box box = {.name = "alone", .cpu = 64000, .memory = GIB};
    gang_node_id alone = stage_add(&s, &box);
    put_on("db", 0);
    put_on("db", 4);
    gang_alloc_id id = place_job(NULL, 3, &far, 1);
    ck_assert_uint_eq(stage_tasks_on(&s, id, alone), 3);
    id = place_job(NULL, 20, &near, 1);
    ck_assert_uint_eq(stage_tasks_on(&s, id, alone), 0);
    refuse_job(NULL, 3, &near, 1);
}
END_TEST

/* ---- what others keep out ---- */

START_TEST(anti_affinity_of_a_running_job_keeps_others_away)
{
    const struct gang_affinity_rule far = FAR("app", "web", "rack"), alone = FAR("app", NULL, NULL);
    gang_alloc_id a = place_job("db", 1, &far, 1);
    ck_assert_uint_eq(nodes_of(a), 1u);
    ck_assert_uint_eq(nodes_of(place_job("web", 1, NULL, 0)), 1u << 2);
    ck_assert_uint_eq(nodes_of(place_job("cache", 1, NULL, 0)), 1u); /* not meant */
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, NULL, 0)), 1u);
    MUST(gang_alloc_free(s.w, a));
    ck_assert_uint_eq(nodes_of(place_job("web", 1, NULL, 0)), 1u);
    ck_assert_uint_eq(nodes_of(place_job("batch", 1, &alone, 1)), 1u << 1);
    ck_assert_uint_eq(nodes_of(place_job("web", 1, NULL, 0)), 1u << 0);
}
END_TEST

START_TEST(soft_rules_keep_no_job_away)
{
    const struct gang_affinity_rule soft = {"app", "web", "zone", 0, 1};
    ck_assert_uint_eq(nodes_of(place_job("db", 1, &soft, 1)), 1u);
    ck_assert_uint_eq(nodes_of(place_job("web", 1, NULL, 0)), 1u);
}
END_TEST

START_TEST(a_job_with_labels_only_obeys_rules_of_other_jobs)
{
    const struct gang_affinity_rule far = FAR("app", "web", "zone");
    place_job("db", 5, &far, 1);
    place_job("web", 8, NULL, 0);
    refuse_job("web", 1, NULL, 0);
    EXPECT_OUTCOME(try_job("db", 1, NULL, 0), GANG_OK);
}
END_TEST

/* ---- nearness ---- */

START_TEST(affinity_places_tasks_only_near_a_matching_job)
{
    const struct gang_affinity_rule near = NEAR("app", "db", NULL),
                                    rack = NEAR("app", "db", "rack");
    refuse_job(NULL, 1, &near, 1);
    put_on("db", 3);
    ck_assert_uint_eq(nodes_of(place_job(NULL, 3, &near, 1)), 1u << 3);
    refuse_job(NULL, 1, &near, 1); /* full */
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, &rack, 1)), 1u << 2);
}
END_TEST

START_TEST(a_waiting_request_sees_matching_jobs_come_and_go)
{
    const struct gang_affinity_rule rules[] = {NEAR("app", "db", NULL), FAR("app", "x", "rack")};
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, NULL, 1, rules, 2);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENOFIT);
    gang_alloc_id x = put_on("x", 1);
    ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENOFIT);
    put_on("db", 0);
    ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, x));
    MUST(gang_alloc(s.w, request, &id, NULL));
    MUST(gang_alloc_free(s.w, id));
    gang_request_free(request);
}
END_TEST

START_TEST(the_first_job_of_its_kind_starts_with_a_soft_rule)
{
    const struct gang_affinity_rule near = NEAR("app", "web", "rack");
    const struct gang_affinity_rule soft = {"app", "web", "rack", 1, 1};
    refuse_job("web", 1, &near, 1); /* it is not its own peer */
    ck_assert_uint_eq(nodes_of(place_job("web", 8, &soft, 1)), 3u);
    refuse_job("web", 1, &near, 1);
    put_on("web", 5);
    ck_assert_uint_eq(nodes_of(place_job("web", 2, &near, 1)), 1u << 4);
}
END_TEST

START_TEST(near_one_and_far_from_another)
{
    const struct gang_affinity_rule rules[] = {NEAR("app", "data", "rack"), FAR("app", "db", NULL),
                                               NEAR("app", "data", "zone"),
                                               FAR("app", "x", "zone")};
    put_on("data", 2);
    put_on("db", 2);
    put_on("x", 4);
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, rules, 4)), 1u << 3);
}
END_TEST

START_TEST(a_missing_matching_job_is_a_temporary_refusal)
{
    const struct gang_affinity_rule near = NEAR("app", "db", NULL), far = FAR("app", NULL, "zone");
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, "web", 1, &near, 1);
    gang_request *request = stage_request(&s, &spec);
    MUST(gang_request_fits_ever(s.w, request, NULL));
    gang_request_free(request);
    put_on("db", 0);
    put_on("db", 4);
    refuse_job("web", 1, &far, 1);
    EXPECT_OUTCOME(try_job("web", 25, &far, 1), GANG_ENEVER);
}
END_TEST

/* ---- soft rules ---- */

START_TEST(soft_rules_are_dropped_last_one_first)
{
    const struct gang_affinity_rule rules[] = {
        {"app", "a", "zone", 0, 1}, {"app", "b", "rack", 1, 1}, {"app", "c", NULL, 0, 1}};
    put_on("a", 0); /* away from z0, and */
    put_on("b", 4); /* in r2, and */
    gang_alloc_id c = put_on("c", 4);
    ck_assert_uint_eq(nodes_of(place_job(NULL, 2, rules, 3)), 1u << 5); /* not beside c */
    /* Without n4, r2 has too little free: so beside c. */
    ck_assert_uint_eq(nodes_of(place_job(NULL, 4, rules, 3)), 1u << 4 | 1u << 5);
    /* Nor in r2 at all, nor in z1. */
    ck_assert_uint_eq(nodes_of(place_job(NULL, 2, rules, 3)), 1u);
    MUST(gang_alloc_free(s.w, c));
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, rules, 3)), 1u << 4);
}
END_TEST

START_TEST(hard_rules_are_never_dropped)
{
    const struct gang_affinity_rule rules[] = {{"app", "a", NULL, 1, 1}, FAR("app", "b", "zone")};
    put_on("a", 0);
    put_on("b", 1);
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, rules, 2)), 1u << 4);
    refuse_job(NULL, 8, rules, 2);
}
END_TEST

/* ---- growing and shrinking ---- */

START_TEST(growth_keeps_the_rules)
{
    const struct gang_affinity_rule far = FAR("app", "web", "rack");
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, "web", 24, &far, 1);
    struct gang_error error = GANG_ERROR_INIT;
    int64_t granted;
    g.min = 1;
    gang_alloc_id a = stage_alloc(&s, &spec);
    gang_alloc_id b = put_on("web", 2);
    MUST(gang_alloc_grow(s.w, a, 0, 30, &granted, NULL));
    ck_assert_int_eq(granted, 15);
    ck_assert_uint_eq(nodes_of(a), 3u | 1u << 4 | 1u << 5);
    stage_check(&s);
    EXPECT_RESULT(gang_alloc_grow(s.w, a, 0, 1, &granted, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_AFFINITY);
    MUST(gang_alloc_free(s.w, b));
    MUST(gang_alloc_grow(s.w, a, 0, 30, &granted, NULL));
    ck_assert_int_eq(granted, 8);
    stage_check(&s);
}
END_TEST

START_TEST(released_tasks_keep_no_job_away)
{
    const struct gang_affinity_rule far = FAR("app", "web", NULL);
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, "web", 6, NULL, 0);
    g.min = 1;
    gang_alloc_id a = stage_alloc(&s, &spec);
    MUST(gang_alloc_grow(s.w, a, 0, 5, NULL, NULL));
    ck_assert_uint_eq(nodes_of(a), 3u);
    const int64_t four[] = {0, 1, 2, 3};
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, &far, 1)), 1u << 2);
    MUST(gang_alloc_shrink(s.w, a, four, 4, NULL));
    stage_check(&s);
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, &far, 1)), 1u);
    const int64_t one[] = {4};
    MUST(gang_alloc_shrink(s.w, a, one, 1, NULL));
    stage_check(&s);
    refuse_job(NULL, 20, &far, 1);
}
END_TEST

START_TEST(adopting_ignores_rules_but_counts)
{
    const struct gang_affinity_rule far = FAR("app", NULL, "zone");
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, "web", 2, &far, 1);
    gang_request *request = stage_request(&s, &spec);
    struct gang_placement place[2] = {GANG_PLACEMENT_INIT, GANG_PLACEMENT_INIT};
    gang_alloc_id id;
    put_on("db", 0);
    place[0].node = node[0];
    place[1].node = node[4];
    MUST(gang_alloc_adopt(s.w, request, place, 2, &id, NULL));
    stage_check(&s);
    refuse_job("x", 1, NULL, 0); /* its rule keeps others out */
    MUST(gang_alloc_free(s.w, id));
    gang_request_free(request);
    ck_assert_uint_eq(nodes_of(place_job("x", 1, NULL, 0)), 1u);
}
END_TEST

/* ---- nodes that change ---- */

START_TEST(a_node_that_moves_takes_its_jobs_along)
{
    static struct box_arrays arrays;
    const struct gang_affinity_rule far = FAR("app", "db", "rack");
    struct gang_label place[] = {{"zone", "z1"}, {"rack", "r2"}};
    struct box box = {.name = "n0", .cpu = 4000, .memory = GIB, .place = place, .place_count = 2};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    put_on("db", 0);
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, &far, 1)), 1u << 2);
    MUST(gang_node_change(s.w, node[0], &spec, NULL));
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, &far, 1)), 1u << 1);
}
END_TEST

START_TEST(tasks_that_take_nothing_count_while_their_node_is_there)
{
    const struct gang_affinity_rule far = FAR("app", "ghost", NULL);
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, "ghost", 1, NULL, 0);
    g.cpu_milli = 0;
    gang_alloc_id ghost = stage_alloc(&s, &spec);
    ck_assert_uint_eq(nodes_of(ghost), 1u);
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, &far, 1)), 1u << 1);
    MUST(gang_node_remove(s.w, node[0]));
    MUST(gang_cluster_recycle(s.c));
    struct box box = {.name = "new", .cpu = 4000, .memory = GIB};
    gang_node_id id = stage_add(&s, &box);
    ck_assert_uint_eq((uint32_t)id, (uint32_t)node[0]); /* the same slot */
    gang_alloc_id b = place_job(NULL, 1, &far, 1);
    ck_assert_uint_eq(stage_tasks_on(&s, b, id), 1);
    MUST(gang_alloc_free(s.w, b));
    gang_alloc_id more = stage_alloc(&s, &spec); /* a ghost on the new one */
    ck_assert_uint_eq(stage_tasks_on(&s, more, id), 1);
    stage_check(&s);
    MUST(gang_alloc_free(s.w, ghost));
    ck_assert_uint_eq(nodes_of(place_job(NULL, 1, &far, 1)), 1u << 1);
    MUST(gang_alloc_free(s.w, more));
    stage_check(&s);
}
END_TEST

/* ---- several groups, domains, snapshots ---- */

START_TEST(all_groups_keep_the_rules_inside_their_domain)
{
    const struct gang_affinity_rule far = FAR("app", "db", NULL);
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(3, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    spec.same = "rack";
    spec.affinity = &far;
    spec.affinity_count = 1;
    for (int i = 0; i < 5; i++)
        put_on("db", i);
    ck_assert_uint_eq(nodes_of(stage_alloc(&s, &spec)), 1u << 5);
    struct outcome o = stage_try(&s, &spec);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
}
END_TEST

START_TEST(a_snapshot_is_judged_by_what_runs_now)
{
    const struct gang_affinity_rule far = FAR("app", "db", "zone");
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, NULL, 9, &far, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_snapshot *snap;
    MUST(gang_snapshot_new(s.c, &snap));
    MUST(gang_snapshot_take(s.w, snap));
    gang_alloc_id db = put_on("db", 0);
    ck_assert_int_eq(gang_snapshot_test(s.w, snap, request, NULL), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, db));
    MUST(gang_snapshot_place(s.w, snap, request, NULL));
    gang_snapshot_free(snap);
    gang_request_free(request);
}
END_TEST

/* ---- the specification ---- */

static gang_result compile(struct gang_request_spec *spec, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request = (gang_request *)spec;
    gang_result r = gang_request_new(s.c, spec, &request, &error);
    ck_assert((r == GANG_OK) == (request != NULL));
    if (r != GANG_OK)
        ck_assert_str_eq(error.path, path);
    gang_request_free(request);
    return r;
}

START_TEST(a_rule_is_checked)
{
    static char longer[GANG_MAX_NAME + 2];
    struct gang_affinity_rule rules[2] = {FAR("a", NULL, NULL), FAR("a", NULL, NULL)},
                              *bad = &rules[1];
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, "web", 1, rules, 2);
    memset(longer, 'x', sizeof(longer) - 1);
    ck_assert_int_eq(compile(&spec, ""), GANG_OK);
    const struct {
        struct gang_affinity_rule rule;
        gang_result result;
        const char *path;
    } cases[] = {
        {{NULL, NULL, NULL, 0, 0}, GANG_EINVAL, "affinity[1].key"},
        {{"", NULL, NULL, 0, 0}, GANG_EINVAL, "affinity[1].key"},
        {{longer, NULL, NULL, 0, 0}, GANG_ELIMIT, "affinity[1].key"},
        {{"a", "\n", NULL, 0, 0}, GANG_EINVAL, "affinity[1].value"},
        {{"a", NULL, "row", 0, 0}, GANG_ENOENT, "affinity[1].level"},
        {{"a", NULL, "numa", 0, 0}, GANG_EINVAL, "affinity[1].level"},
        {{"a", NULL, NULL, 2, 0}, GANG_EINVAL, "affinity[1].colocate"},
        {{"a", NULL, NULL, 0, -1}, GANG_EINVAL, "affinity[1].soft"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        *bad = cases[i].rule;
        ck_assert_int_eq(compile(&spec, cases[i].path), cases[i].result);
    }
    *bad = (struct gang_affinity_rule)FAR("a", "", "node");
    ck_assert_int_eq(compile(&spec, ""), GANG_OK);
    spec.affinity_size = 8;
    ck_assert_int_eq(compile(&spec, "affinity[0]"), GANG_EINVAL);
    spec.affinity_size = sizeof(rules[0]);
    spec.affinity_count = 65;
    ck_assert_int_eq(compile(&spec, "affinity"), GANG_ELIMIT);
    spec.affinity_count = 1;
    spec.affinity = NULL;
    ck_assert_int_eq(compile(&spec, "affinity"), GANG_EINVAL);
}
END_TEST

START_TEST(labels_are_checked)
{
    struct gang_label labels[65];
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, "web", 1, NULL, 0);
    for (int i = 0; i < 65; i++)
        labels[i] = (struct gang_label){i % 2 ? "b" : "a", "v"};
    spec.labels = labels;
    spec.label_count = 2;
    ck_assert_int_eq(compile(&spec, ""), GANG_OK);
    spec.label_count = 3;
    ck_assert_int_eq(compile(&spec, "labels[2].key"), GANG_EINVAL);
    spec.label_count = 65;
    ck_assert_int_eq(compile(&spec, "labels"), GANG_ELIMIT);
    spec.label_count = 1;
    labels[0].value = NULL;
    ck_assert_int_eq(compile(&spec, "labels[0].value"), GANG_EINVAL);
    spec.labels = NULL;
    ck_assert_int_eq(compile(&spec, "labels"), GANG_EINVAL);
}
END_TEST

/* Unused tags are freed: labels that are unique to a job do not pile up. */
START_TEST(labels_of_jobs_that_are_over_take_no_memory)
{
    long before = 0;
    for (int i = 0; i < 3000; i++) {
        char app[16];
        struct gang_group_spec g;
        struct gang_label label;
        snprintf(app, sizeof(app), "job%d", i);
        struct gang_request_spec spec = job_of(&g, &label, app, 1, NULL, 0);
        MUST(gang_alloc_free(s.w, stage_alloc(&s, &spec)));
        if (i == 999)
            before = s.mem.live;
    }
    ck_assert_int_lt(s.mem.live, before + 1000);
}
END_TEST

/* ---- out of memory ---- */

static struct outcome calls[2];

static gang_result live(const struct gang_request_spec *spec, int from)
{
    gang_request *request = NULL;
    gang_result r = gang_request_new(s.c, spec, &request, NULL);
    if (r == GANG_OK)
        r = gang_alloc(s.w, request, &calls[from].id, NULL);
    if (r == GANG_OK) {
        r = gang_alloc_grow(s.w, calls[from].id, 0, 3, NULL, NULL);
        const int64_t some[] = {0, 2};
        if (r == GANG_OK)
            r = gang_alloc_shrink(s.w, calls[from].id, some, 2, NULL);
        gang_result end = gang_alloc_free(s.w, calls[from].id);
        ck_assert(end == GANG_OK || end == GANG_ENOMEM);
        if (end != GANG_OK) {
            s.mem.fail_at = 0;
            MUST(gang_alloc_free(s.w, calls[from].id));
        }
    }
    gang_request_free(request);
    return r;
}

START_TEST(each_allocation_may_fail)
{
    const struct gang_affinity_rule rules[] = {FAR("app", "x", "rack"),
                                               NEAR("app", "db", "zone"),
                                               FAR("app", "y", NULL),
                                               {"app", NULL, "rack", 0, 1}};
    struct gang_group_spec g;
    struct gang_label label;
    struct gang_request_spec spec = job_of(&g, &label, "web", 8, rules, 4);
    g.min = 4;
    close_stage();
    for (long n = 1;; n++) {
        gang_result r;
        open_stage();
        put_on("db", 0);
        put_on("x", 5);
        s.mem.fail_on = _i != 0;
        s.mem.fail_at = s.mem.calls + n;
        r = live(&spec, 0);
        bool reached = s.mem.calls >= s.mem.fail_at;
        ck_assert(r == GANG_ENOMEM || r == GANG_OK);
        s.mem.fail_at = 0;
        stage_check(&s);
        MUST(live(&spec, 1));
        stage_check(&s);
        if (!reached)
            break;
        ck_assert_int_lt(n, 500);
        close_stage();
    }
}
END_TEST

/* ---- two at once ---- */

static gang_worker *other;
static const struct gang_request_spec *rival;
static gang_alloc_id rivals;
static gang_result rival_result;
static enum gang__step rival_step;
static bool in_rival;

/* Another gang is placed while one is about to be. */
static void come_between(enum gang__step step)
{
    if (step != rival_step || in_rival || rival_result != 1)
        return;
    gang_request *request;
    in_rival = true;
    MUST(gang_request_new(s.c, rival, &request, NULL));
    rival_result = gang_alloc(other, request, &rivals, NULL);
    gang_request_free(request);
    in_rival = false;
}

static struct outcome place_beside(const struct gang_request_spec *spec,
                                   const struct gang_request_spec *with, enum gang__step step)
{
    gang_request *request = stage_request(&s, spec);
    struct outcome o = {.error = GANG_ERROR_INIT};
    MUST(gang_worker_new(s.c, &other));
    rival = with;
    rival_step = step;
    rival_result = 1;
    atomic_store(&gang__hook_now, come_between);
    o.result = gang_alloc(s.w, request, &o.id, &o.error);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert_int_le(rival_result, 0);
    gang_worker_free(other);
    gang_request_free(request);
    stage_check(&s);
    return o;
}

START_TEST(of_two_jobs_that_exclude_each_other_one_is_refused)
{
    static const enum gang__step steps[] = {GANG__STEP_HOLD, GANG__STEP_ENTER, GANG__STEP_CLAIM,
                                            GANG__STEP_SETTLE};
    const struct gang_affinity_rule far = FAR("app", "web", "zone");
    struct gang_group_spec g[2];
    struct gang_label label[2];
    struct gang_request_spec a = job_of(&g[0], &label[0], "web", 1, &far, 1);
    struct gang_request_spec b = job_of(&g[1], &label[1], "web", 1, &far, 1);
    struct outcome o = place_beside(&a, &b, steps[_i]);
    EXPECT_OUTCOME(o, GANG_OK);
    MUST(rival_result);
    ck_assert_uint_eq(nodes_of(o.id) | nodes_of(rivals), 1u << 0 | 1u << 4);
    /* There are two zones: a third, beside a fourth, finds none, and neither does that. */
    o = place_beside(&a, &b, GANG__STEP_FIND);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    ck_assert_int_eq(rival_result, GANG_ENOFIT);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_AFFINITY);
}
END_TEST

START_TEST(a_withdrawn_commit_keeps_no_job_away)
{
    const struct gang_affinity_rule far = FAR("app", "web", "zone");
    struct gang_group_spec g[2];
    struct gang_label label[2];
    struct gang_request_spec a = job_of(&g[0], &label[0], "web", 1, &far, 1);
    struct gang_request_spec b = job_of(&g[1], &label[1], "web", 9, &far, 1);
    /* The rival would need z0, where the first is about to go: it is refused, the first placed. */
    struct outcome o = place_beside(&a, &b, GANG__STEP_ENTER);
    EXPECT_OUTCOME(o, GANG_OK);
    ck_assert_int_eq(rival_result, GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, o.id));
    EXPECT_OUTCOME(stage_try(&s, &b), GANG_OK);
}
END_TEST

START_TEST(affinity_does_not_count_uncommitted_jobs)
{
    const struct gang_affinity_rule near = NEAR("app", "db", NULL);
    struct gang_group_spec g[2];
    struct gang_label label[2];
    struct gang_request_spec a = job_of(&g[0], &label[0], "db", 1, NULL, 0);
    struct gang_request_spec b = job_of(&g[1], &label[1], "web", 1, &near, 1);
    EXPECT_OUTCOME(place_beside(&a, &b, GANG__STEP_ENTER), GANG_OK);
    ck_assert_int_eq(rival_result, GANG_ENOFIT);
    EXPECT_OUTCOME(stage_try(&s, &b), GANG_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peers");
    TCase *t = tcase_create("peers");
    tcase_add_checked_fixture(t, open_stage, close_stage);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, no_task_goes_beside_a_job_to_stay_away_from);
    tcase_add_test(t, distance_counts_whole_domains);
    tcase_add_test(t, other_values_and_keys_do_not_matter);
    tcase_add_test(t, a_rule_without_a_value_means_any);
    tcase_add_test(t, replicas_keep_apart_until_one_is_freed);
    tcase_add_test(t, its_own_tasks_do_not_count);
    tcase_add_test(t, all_rules_must_hold);
    tcase_add_test(t, a_node_in_no_domain_is_near_no_job);
    tcase_add_test(t, anti_affinity_of_a_running_job_keeps_others_away);
    tcase_add_test(t, soft_rules_keep_no_job_away);
    tcase_add_test(t, a_job_with_labels_only_obeys_rules_of_other_jobs);
    tcase_add_test(t, affinity_places_tasks_only_near_a_matching_job);
    tcase_add_test(t, a_waiting_request_sees_matching_jobs_come_and_go);
    tcase_add_test(t, the_first_job_of_its_kind_starts_with_a_soft_rule);
    tcase_add_test(t, near_one_and_far_from_another);
    tcase_add_test(t, a_missing_matching_job_is_a_temporary_refusal);
    tcase_add_test(t, soft_rules_are_dropped_last_one_first);
    tcase_add_test(t, hard_rules_are_never_dropped);
    tcase_add_test(t, growth_keeps_the_rules);
    tcase_add_test(t, released_tasks_keep_no_job_away);
    tcase_add_test(t, adopting_ignores_rules_but_counts);
    tcase_add_test(t, a_node_that_moves_takes_its_jobs_along);
    tcase_add_test(t, tasks_that_take_nothing_count_while_their_node_is_there);
    tcase_add_test(t, all_groups_keep_the_rules_inside_their_domain);
    tcase_add_test(t, a_snapshot_is_judged_by_what_runs_now);
    tcase_add_test(t, a_rule_is_checked);
    tcase_add_test(t, labels_are_checked);
    tcase_add_test(t, labels_of_jobs_that_are_over_take_no_memory);
    tcase_add_loop_test(t, each_allocation_may_fail, 0, 2);
    tcase_add_loop_test(t, of_two_jobs_that_exclude_each_other_one_is_refused, 0, 4);
    tcase_add_test(t, a_withdrawn_commit_keeps_no_job_away);
    tcase_add_test(t, affinity_does_not_count_uncommitted_jobs);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
