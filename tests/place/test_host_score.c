/* SPDX-License-Identifier: Apache-2.0 */
/* GANG_POLICY_HOST: a function of the host's scores the nodes. */
#include <gangsched/gangsched.h>

#include "base/atomic.h"
#include "support.h"

static struct stage s;
static gang_node_id node[4];
static const char *const levels[] = {"rack"};

/* Orders to the function, and what it saw. */
static struct script {
    int32_t result;    /* to be returned at the call of this number, from 1 */
    int at_call;       /* 0: never */
    int64_t score[4];  /* by node */
    void (*act)(void); /* in each call */
    int calls;
    size_t count; /* of candidates, in the last call */
    struct gang_candidate seen[4];
    int32_t group;
} script;

static int32_t score(int32_t group, const struct gang_candidate *candidates, size_t candidate_size,
                     size_t count, int64_t *scores, void *user)
{
    ck_assert_ptr_eq(user, &script);
    ck_assert_uint_ge(candidate_size, sizeof(*candidates));
    ck_assert_uint_ge(count, 1);
    script.calls++;
    script.group = group;
    script.count = count;
    for (size_t i = 0; i < count; i++) {
        const struct gang_candidate *c =
            (const void *)((const char *)candidates + i * candidate_size);
        if (count <= 4)
            script.seen[i] = *c;
        for (int k = 0; k < 4; k++)
            if (c->node == node[k])
                scores[i] = script.score[k];
    }
    if (script.act)
        script.act();
    return script.calls == script.at_call ? script.result : 0;
}

static struct gang_request_spec by_host(const struct gang_group_spec *g)
{
    struct gang_request_spec spec = request_of(g, 1);
    spec.policy = GANG_POLICY_HOST;
    spec.score = score;
    spec.score_user = &script;
    return spec;
}

static void open_stage(void)
{
    static const struct gang_label rack = {"rack", "r1"};
    stage_open(&s, levels, 1);
    memset(&script, 0, sizeof(script));
    for (int i = 0; i < 4; i++) {
        char name[20];
        snprintf(name, sizeof(name), "n%d", i);
        struct box box = {.name = name,
                          .cpu = 16000,
                          .memory = 64 * GIB,
                          .gpus = 4,
                          .place = &rack,
                          .place_count = 1};
        node[i] = stage_add(&s, &box);
    }
}

static void close_stage(void)
{
    stage_close(&s);
}

static gang_node_id place_one(const struct gang_request_spec *spec)
{
    gang_alloc_id id = stage_alloc(&s, spec);
    gang_node_id where = stage_tasks(&s, id)->task[0].node;
    MUST(gang_alloc_free(s.w, id));
    return where;
}

START_TEST(the_highest_score_wins)
{
    struct gang_group_spec g = group_of(1, 1000, 1000);
    struct gang_request_spec spec = by_host(&g);
    for (int in_rack = 0; in_rack < 2; in_rack++) {
        g.same = in_rack ? "rack" : NULL;
        for (int i = 0; i < 4; i++) {
            for (int k = 0; k < 4; k++)
                script.score[k] = k == i ? -5 : -6 - k;
            ck_assert_uint_eq(place_one(&spec), node[i]);
        }
        memset(script.score, 0, sizeof(script.score)); /* equals: the first */
        ck_assert_uint_eq(place_one(&spec), node[0]);
    }
}
END_TEST

START_TEST(candidates_are_described)
{
    struct gang_group_spec g = group_of(1, 6000, 500);
    struct gang_request_spec spec = by_host(&g);
    g.memory_bytes = 16 * GIB;
    script.score[2] = 1;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_int_eq(script.group, 0);
    ck_assert_uint_eq(script.count, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(script.seen[i].node, node[i]);
    ck_assert_int_eq(script.seen[2].cpu_free, 16000);
    g.count = g.min = 2;
    gang_alloc_id more = stage_alloc(&s, &spec); /* one beside the first, then none */
    ck_assert_int_eq(script.calls, 3);
    ck_assert_uint_eq(script.count, 3); /* it is full now */
    ck_assert_uint_eq(stage_tasks_on(&s, more, node[2]), 1);
    ck_assert_uint_eq(stage_tasks_on(&s, more, node[0]), 1);
    MUST(gang_alloc_free(s.w, more));
    script.score[0] = 2;
    more = stage_alloc(&s, &spec);
    ck_assert_int_eq(script.seen[0].tasks, 1);
    ck_assert_int_eq(script.seen[0].cpu_free, 10000);
    ck_assert_int_eq(script.seen[0].memory_free, 48 * GIB);
    ck_assert_int_eq(script.seen[0].gpu_free, 3500);
    ck_assert_int_eq(script.seen[0].gpus_free, 3);
    ck_assert_int_eq(script.seen[2].tasks, 0); /* not of this gang */
    ck_assert_int_eq(script.seen[2].cpu_free, 10000);
    MUST(gang_alloc_free(s.w, id));
    MUST(gang_alloc_free(s.w, more));
}
END_TEST

START_TEST(groups_are_distinguished)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(1, 1000, 4000)};
    struct gang_request_spec spec = by_host(g);
    spec.group_count = 2;
    stage_alloc(&s, &spec);
    ck_assert_int_eq(script.calls, 2);
    ck_assert_int_eq(script.group, 0); /* the harder one went first */
}
END_TEST

/* ---- what it leaves out ---------------------------------------------------------------------- */

START_TEST(a_node_can_be_left_out)
{
    struct gang_group_spec g = group_of(12, 0, 1000);
    struct gang_request_spec spec = by_host(&g);
    script.score[1] = INT64_MIN;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 0);
    g.count = 1;
    g.min = 1;
    struct outcome o = stage_try(&s, &spec); /* all but that one are full */
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, id));
    g.count = g.min = 13;
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENOFIT); /* with it they would fit */
}
END_TEST

/* Whatever else is asked for: a node that is left out stays so. */
START_TEST(a_vetoed_node_is_left_out_of_every_call)
{
    enum { WAYS = 9 };
    script.score[0] = script.score[1] = INT64_MIN;
    for (int way = 0; way < WAYS; way++) {
        struct gang_group_spec g[] = {group_of(4, 1000, 1000), group_of(2, 2000, 0)};
        struct gang_request_spec spec = by_host(g);
        struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
        g[0].same = way == 1 ? "node" : way == 2 ? "rack" : NULL;
        g[0].prefer = way == 3 ? "node" : NULL;
        g[0].subgroup_size = way == 4 || way == 5 ? 2 : 0;
        g[0].subgroup_same = way == 4 ? "node" : way == 5 ? "rack" : NULL;
        g[0].spread = way == 6 ? "rack" : NULL;
        spec.exclusive = way == 7;
        set.same = "rack";
        if (way == 8) {
            g[0].group_set = g[1].group_set = 0;
            spec.group_count = 2;
            spec.group_sets = &set;
            spec.group_set_count = 1;
        }
        struct outcome o = stage_try(&s, &spec);
        ck_assert_msg(o.result == GANG_OK, "%d: %s", way, o.error.text);
        ck_assert_uint_eq(stage_tasks_on(&s, o.id, node[0]), 0);
        ck_assert_uint_eq(stage_tasks_on(&s, o.id, node[1]), 0);
        MUST(gang_alloc_free(s.w, o.id));
        script.score[2] = script.score[3] = INT64_MIN; /* and then there is none */
        o = stage_try(&s, &spec);
        ck_assert_msg(o.result == GANG_ENOFIT, "%d: %s", way, gang_result_name(o.result));
        script.score[2] = script.score[3] = 0;
        o = stage_try(&s, &spec); /* it thought better of it */
        EXPECT_OUTCOME(o, GANG_OK);
        MUST(gang_alloc_free(s.w, o.id));
    }
}
END_TEST

START_TEST(all_may_be_left_out)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = by_host(&g);
    for (int i = 0; i < 4; i++)
        script.score[i] = INT64_MIN;
    struct outcome o = stage_try(&s, &spec);
    EXPECT_OUTCOME(o, GANG_ENOFIT); /* not for ever: it may think better of it */
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_NONE);
    ck_assert_ptr_nonnull(strstr(o.error.text, "score"));
    gang_request *request = stage_request(&s, &spec);
    int calls = script.calls;
    ck_assert_int_eq(gang_alloc_test(s.w, request, NULL), GANG_ENOFIT);
    ck_assert_int_gt(script.calls, calls);
    calls = script.calls;
    MUST(gang_request_fits_ever(s.w, request, NULL)); /* is not asked */
    ck_assert_int_eq(script.calls, calls);
    gang_request_free(request);
    g.cpu_milli = 17000;
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
    ck_assert_int_eq(script.calls, calls); /* there was no candidate */
}
END_TEST

/* ---- failing --------------------------------------------------------------------------------- */

/* _i: the call that fails. */
START_TEST(a_failed_score_function_fails_the_call)
{
    static const int32_t results[] = {GANG_EIO, GANG_ENOFIT, GANG_ENEVER, GANG_ENOMEM, 7};
    struct gang_group_spec g = group_of(3, 1000, 0);
    struct gang_request_spec spec = by_host(&g);
    script.at_call = _i + 1;
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        script.calls = 0;
        script.result = results[i];
        struct outcome o = stage_try(&s, &spec);
        EXPECT_ERROR(o.result, results[i], &o.error, "score", NULL);
        ck_assert_int_eq(script.calls, _i + 1); /* and it is not called again */
        ck_assert_int_eq(stage_node(&s, node[0]).cpu_free, 16000);
        gang_request *request = stage_request(&s, &spec);
        script.calls = 0;
        ck_assert_int_eq(gang_alloc_test(s.w, request, NULL), results[i]);
        gang_request_free(request);
    }
    script.calls = 10;
    gang_alloc_id id = stage_alloc(&s, &spec); /* later nothing of it is left */
    MUST(gang_alloc_free(s.w, id));
}
END_TEST

START_TEST(growth_and_snapshots_end_likewise)
{
    struct gang_group_spec g = group_of(3, 1000, 0);
    struct gang_request_spec spec = by_host(&g);
    struct gang_error error = GANG_ERROR_INIT;
    int64_t granted = 5;
    g.min = 1;
    gang_alloc_id id = stage_alloc(&s, &spec);
    script.calls = 0;
    script.at_call = 2;
    script.result = GANG_ENOFIT;
    EXPECT_RESULT(gang_alloc_grow(s.w, id, 0, 2, &granted, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(granted, 0);
    ck_assert_str_eq(error.path, "score");
    ck_assert_uint_eq(stage_tasks(&s, id)->count, 1);
    MUST(gang_alloc_grow(s.w, id, 0, 2, &granted, NULL));
    gang_snapshot *snapshot;
    gang_request *request = stage_request(&s, &spec);
    MUST(gang_snapshot_new(s.c, &snapshot));
    MUST(gang_snapshot_take(s.w, snapshot));
    script.calls = 1;
    EXPECT_ERROR(gang_snapshot_test(s.w, snapshot, request, &error), GANG_ENOFIT, &error, "score",
                 NULL);
    script.calls = 10;
    MUST(gang_snapshot_place(s.w, snapshot, request, NULL));
    gang_request_free(request);
    gang_snapshot_free(snapshot);
}
END_TEST

/* ---- what it may do -------------------------------------------------------------------------- */

static void query(void)
{
    struct gang_node_info info = {.size = sizeof(info)};
    gang_node_id id;
    MUST(gang_node_get(s.c, node[3], &info));
    MUST(gang_node_find(s.c, "n2", &id));
    MUST(gang_cluster_check(s.c, NULL));
    ck_assert_int_eq(gang_node_count(s.c), 4);
    for (gang_alloc_id a = gang_alloc_next(s.c, GANG_ID_NONE); a; a = gang_alloc_next(s.c, a)) {
        struct gang_alloc_info alloc = {.size = sizeof(alloc)};
        MUST(gang_alloc_get(s.c, a, &alloc));
    }
}

START_TEST(the_score_function_may_query)
{
    struct gang_group_spec g = group_of(5, 4000, 0);
    struct gang_request_spec spec = by_host(&g);
    script.act = query;
    stage_alloc(&s, &spec);
    stage_alloc(&s, &spec);
    ck_assert_int_eq(script.calls, 10);
}
END_TEST

/* Another cluster is none of ours: it may even wait there until all have left the library. */
static void manage_another(void)
{
    static struct stage other;
    struct box box = {.name = "x", .cpu = 1000};
    stage_open(&other, NULL, 0);
    gang_node_id id = stage_add(&other, &box);
    MUST(gang_node_remove(other.w, id));
    MUST(gang_cluster_recycle(other.c));
    stage_close(&other);
}

START_TEST(the_score_function_runs_without_locks)
{
    struct gang_group_spec g = group_of(2, 4000, 0);
    struct gang_request_spec spec = by_host(&g);
    script.act = manage_another;
    stage_alloc(&s, &spec);
    ck_assert_int_eq(script.calls, 2);
}
END_TEST

/* ---- others meanwhile ------------------------------------------------------------------------ */

static gang_worker *other;
static gang_alloc_id taken;

/* As another thread would: the best node is filled when its score is known. */
static void take_the_best(void)
{
    struct gang_group_spec g = group_of(16, 1000, 0);
    const char *here = "n1";
    struct gang_label_rule rule = {"node", &here, 1, GANG_LABEL_IN, 0};
    g.labels = &rule;
    g.label_count = 1;
    struct gang_request_spec spec = request_of(&g, 1);
    if (taken)
        return;
    gang_request *request = stage_request(&s, &spec);
    MUST(gang_alloc(other, request, &taken, NULL));
    gang_request_free(request);
}

START_TEST(the_score_function_is_called_again_after_a_conflict)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = by_host(&g);
    struct gang_worker_stats stats = {.size = sizeof(stats)};
    MUST(gang_worker_new(s.c, &other));
    taken = GANG_ID_NONE;
    script.act = take_the_best;
    script.score[1] = 2;
    script.score[3] = 1;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[3]), 1);
    ck_assert_int_eq(script.calls, 2);
    ck_assert_uint_eq(script.count, 3); /* the full one is no candidate */
    MUST(gang_worker_get_stats(s.w, &stats));
    ck_assert_int_eq(stats.conflicts, 1);
}
END_TEST

static int removals;

/* As another thread would: nodes go, and their memory is given back. */
static void remove_a_node(void)
{
    gang_node_id id;
    if (removals-- <= 0)
        return;
    struct box box = {.name = "short-lived", .cpu = 500};
    id = stage_add(&s, &box);
    MUST(gang_node_remove(other, id));
    if (gang_node_find(s.c, "n1", &id) == GANG_OK)
        MUST(gang_node_remove(other, id));
    MUST(gang_cluster_recycle(s.c));
}

START_TEST(nodes_may_be_removed_during_a_score)
{
    struct gang_group_spec g = group_of(2, 1000, 0);
    struct gang_request_spec spec = by_host(&g);
    MUST(gang_worker_new(s.c, &other));
    script.act = remove_a_node;
    script.score[1] = 2;
    script.score[3] = 1;
    removals = 3;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[3]), 2);
    ck_assert_int_eq(script.calls, 5); /* three failed tries, two tasks */
    removals = 1000;                   /* without end: it is given up */
    g.min = 1;
    struct outcome o = stage_try(&s, &spec);
    EXPECT_OUTCOME(o, GANG_EBUSY);
    removals = 0;
    MUST(gang_alloc_free(s.w, id));
}
END_TEST

START_TEST(the_function_and_its_policy_go_together)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = by_host(&g);
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *c;
    gang_request *request;
    spec.policy = GANG_POLICY_PACK;
    EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error, "score",
                 NULL);
    spec.policy = GANG_POLICY_HOST;
    spec.score = NULL;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
    opts.policy = GANG_POLICY_HOST;
    EXPECT_RESULT(gang_cluster_new(&opts, &c, &error), GANG_EINVAL, &error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host score");
    TCase *tests = tcase_create("host score");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, the_highest_score_wins);
    tcase_add_test(tests, candidates_are_described);
    tcase_add_test(tests, groups_are_distinguished);
    tcase_add_test(tests, a_node_can_be_left_out);
    tcase_add_test(tests, a_vetoed_node_is_left_out_of_every_call);
    tcase_add_test(tests, all_may_be_left_out);
    tcase_add_loop_test(tests, a_failed_score_function_fails_the_call, 0, 3);
    tcase_add_test(tests, growth_and_snapshots_end_likewise);
    tcase_add_test(tests, the_score_function_may_query);
    tcase_add_test(tests, the_score_function_runs_without_locks);
    tcase_add_test(tests, the_score_function_is_called_again_after_a_conflict);
    tcase_add_test(tests, nodes_may_be_removed_during_a_score);
    tcase_add_test(tests, the_function_and_its_policy_go_together);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
