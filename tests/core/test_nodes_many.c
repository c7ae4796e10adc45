/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of more nodes than one chunk of the node table holds, and of many GPU models. */
#include <gangsched/gangsched.h>

#include "support.h"

enum { NODES = 2200, CHUNK = 1024 }; /* slots of two chunks and a bit */

static struct stage s;
static gang_node_id node[NODES];
static const char *const levels[] = {"half"};

static void add_nodes(void)
{
    char name[20];
    struct gang_label half = {"half", NULL};
    struct box box = {.name = name, .cpu = 1000, .memory = MIB, .place = &half, .place_count = 1};
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        half.value = i < NODES / 2 ? "lower" : "upper";
        node[i] = stage_add(&s, &box);
    }
}

static void open_empty(void)
{
    stage_open(&s, levels, 1);
}

static void open_stage(void)
{
    open_empty();
    add_nodes();
}

static void close_stage(void)
{
    stage_close(&s);
}

START_TEST(all_nodes_are_found_and_walked)
{
    char name[20];
    gang_node_id found;
    int met = 0;
    ck_assert_int_eq(gang_node_count(s.c), NODES);
    for (gang_node_id at = gang_node_next(s.c, GANG_ID_NONE); at; at = gang_node_next(s.c, at))
        ck_assert_uint_eq(at, node[met++]);
    ck_assert_int_eq(met, NODES);
    for (int i = 0; i < NODES; i += 97) {
        snprintf(name, sizeof(name), "n%d", i);
        MUST(gang_node_find(s.c, name, &found));
        ck_assert_uint_eq(found, node[i]);
        ck_assert_str_eq(stage_node(&s, found).name, name);
    }
}
END_TEST

START_TEST(a_gang_over_all_nodes_is_placed_or_not)
{
    struct gang_group_spec g = group_of(NODES, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id, one;
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    MUST(gang_alloc(s.w, request, &id, NULL));
    MUST(gang_alloc_get(s.c, id, &info));
    ck_assert_int_eq(info.tasks, NODES);
    for (int i = 0; i < NODES; i++)
        ck_assert_int_eq(stage_node(&s, node[i]).cpu_free, 0);
    MUST(gang_alloc_free(s.w, id));
    g = group_of(1, 1000, 0);
    one = stage_alloc_group(&s, &g);
    ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, one));
    MUST(gang_alloc(s.w, request, &id, NULL));
    gang_request_free(request);
    g.count = g.min = NODES + 1;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

/* A search finds the one node that fits wherever it is. */
START_TEST(the_last_free_node_is_found)
{
    const int places[] = {0, 1, 31, 1021, 1022, 1023, 1024, 2046, 2047, NODES - 1};
    struct gang_group_spec g = group_of(NODES, 1000, 0);
    gang_alloc_id full = stage_alloc_group(&s, &g);
    g = group_of(1, 1000, 0);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, full));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        for (int policy = GANG_POLICY_PACK; policy <= GANG_POLICY_FIRST; policy++) {
            struct gang_node_info info = stage_node(&s, node[places[i]]);
            const char *value = info.name;
            struct gang_label_rule rule = {"node", &value, 1, GANG_LABEL_NOT_IN, 0};
            g = group_of(NODES - 1, 1000, 0);
            g.labels = &rule;
            g.label_count = 1;
            full = stage_alloc_group(&s, &g); /* all but one */
            g = group_of(1, 1000, 0);
            struct gang_request_spec spec = request_of(&g, 1);
            spec.policy = policy;
            gang_alloc_id id = stage_alloc(&s, &spec);
            ck_assert_uint_eq(stage_tasks_on(&s, id, node[places[i]]), 1);
            EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENOFIT);
            MUST(gang_alloc_free(s.w, id));
            MUST(gang_alloc_free(s.w, full));
        }
    }
}
END_TEST

START_TEST(first_goes_in_the_clusters_order)
{
    struct gang_group_spec g = group_of(CHUNK + 10, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = GANG_POLICY_FIRST;
    stage_alloc(&s, &spec);
    for (int i = 0; i < NODES; i++)
        ck_assert_int_eq(stage_node(&s, node[i]).cpu_free, i < CHUNK + 10 ? 0 : 1000);
}
END_TEST

START_TEST(a_domain_spans_chunks)
{
    struct gang_group_spec g = group_of(NODES / 2, 1000, 0);
    g.same = "half";
    gang_alloc_id a = stage_alloc_group(&s, &g);
    gang_alloc_id b = stage_alloc_group(&s, &g);
    size_t lower = stage_tasks(&s, a)->task[0].node == node[0];
    for (int i = 0; i < NODES / 2; i += 53) {
        ck_assert_uint_eq(stage_tasks_on(&s, lower ? a : b, node[i]), 1);
        ck_assert_uint_eq(stage_tasks_on(&s, lower ? b : a, node[NODES / 2 + i]), 1);
    }
    g.count = g.min = NODES / 2 + 1;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

START_TEST(slots_of_removed_nodes_are_used_again)
{
    char name[20];
    struct box box = {.name = name, .cpu = 2000};
    for (int i = 0; i < NODES; i += 2)
        MUST(gang_node_remove(s.w, node[i]));
    for (int i = 0; i < NODES; i += 2) {
        snprintf(name, sizeof(name), "again%d", i);
        node[i] = stage_add(&s, &box);
    }
    ck_assert_int_eq(gang_node_count(s.c), NODES);
    struct gang_group_spec g = group_of(NODES + NODES / 2, 1000, 0);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    for (int i = 0; i < NODES; i++)
        ck_assert_int_eq(stage_node(&s, node[i]).cpu_free, 0);
    MUST(gang_alloc_free(s.w, id));
    for (gang_node_id at = gang_node_next(s.c, GANG_ID_NONE); at; at = gang_node_next(s.c, at))
        ck_assert_uint_lt((uint32_t)at, NODES + 200); /* few slots more than nodes */
}
END_TEST

/* ---- GPU models ------------------------------------------------------------------------------ */

/* A node of a model; of a name of its own, or of that one. */
static gang_result add_model_as(int number, const char *as, gang_node_id *id)
{
    static struct box_arrays arrays;
    char name[20], model[20];
    struct box box = {.name = as ? as : name, .cpu = 8000, .gpus = 2, .model = model};
    snprintf(name, sizeof(name), "m%d", number);
    snprintf(model, sizeof(model), "model%d", number);
    struct gang_node_spec spec = box_spec(&box, &arrays);
    struct gang_error error = GANG_ERROR_INIT;
    return gang_node_add(s.w, &spec, id, &error);
}

static gang_result add_model(int number, gang_node_id *id)
{
    return add_model_as(number, NULL, id);
}

/* Neither a node of a name that is there, nor one beside such a node, nor one that is changed. */
START_TEST(a_refused_node_takes_no_gpu_model_away)
{
    static struct box_arrays arrays[2];
    gang_node_id id;
    struct box first = {.name = "first", .cpu = 8000};
    gang_node_id there = stage_add(&s, &first);
    for (int i = 1000; i < 1100; i++) {
        char model[20];
        snprintf(model, sizeof(model), "model%d", i + 1000);
        struct box box = {.name = "second", .cpu = 8000, .gpus = 1, .model = model};
        struct gang_node_spec spec[2] = {box_spec(&box, &arrays[0]), box_spec(&first, &arrays[1])};
        ck_assert_int_eq(add_model_as(i, "first", &id), GANG_EEXIST);
        ck_assert_int_eq(gang_nodes_add(s.w, spec, 2, NULL, NULL), GANG_EEXIST);
        spec[0].name = "first";
        snprintf(model, sizeof(model), "model%d", i + 2000);
        ck_assert_int_eq(gang_node_change(s.w, there, &spec[0], NULL), GANG_EINVAL);
    }
    for (int i = 0; i < 255; i++)
        MUST(add_model(i, &id));
    ck_assert_int_eq(add_model(255, &id), GANG_ELIMIT);
}
END_TEST

START_TEST(there_may_be_255_gpu_models)
{
    static gang_node_id id[255];
    gang_node_id more = 1;
    for (int i = 0; i < 255; i++)
        MUST(add_model(i, &id[i]));
    ck_assert_int_eq(add_model(255, &more), GANG_ELIMIT);
    ck_assert_uint_eq(more, GANG_ID_NONE);
    ck_assert_int_eq(gang_node_count(s.c), 255);
    struct box box = {.name = "old", .cpu = 8000, .gpus = 8, .model = "model17"};
    stage_add(&s, &box); /* a model that is there already */
    box = (struct box){.name = "cpu", .cpu = 8000};
    stage_add(&s, &box);
    for (int i = 0; i < 255; i += 50) {
        char model[20];
        const char *models = model;
        snprintf(model, sizeof(model), "model%d", i);
        struct gang_group_spec g = group_of(1, 1000, 2000);
        g.gpu_models = &models;
        g.gpu_model_count = 1;
        gang_alloc_id held = stage_alloc_group(&s, &g);
        ck_assert_uint_eq(stage_tasks_on(&s, held, id[i]), 1);
        EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    }
    struct gang_group_spec any = group_of(255 - 6 + 4, 1000, 2000);
    stage_alloc_group(&s, &any); /* all that is left, over all models */
    any = group_of(1, 0, 1);
    EXPECT_OUTCOME(stage_try_group(&s, &any), GANG_ENOFIT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("many nodes");
    TCase *many = tcase_create("many nodes");
    tcase_add_checked_fixture(many, open_stage, close_stage);
    tcase_add_test(many, all_nodes_are_found_and_walked);
    tcase_add_test(many, a_gang_over_all_nodes_is_placed_or_not);
    tcase_add_test(many, the_last_free_node_is_found);
    tcase_add_test(many, first_goes_in_the_clusters_order);
    tcase_add_test(many, a_domain_spans_chunks);
    tcase_add_test(many, slots_of_removed_nodes_are_used_again);
    suite_add_tcase(suite, many);
    TCase *models = tcase_create("models");
    tcase_add_checked_fixture(models, open_empty, close_stage);
    tcase_add_test(models, there_may_be_255_gpu_models);
    tcase_add_test(models, a_refused_node_takes_no_gpu_model_away);
    suite_add_tcase(suite, models);
    return run_suite(suite);
}
