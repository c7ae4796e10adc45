/* SPDX-License-Identifier: Apache-2.0 */
/* Many nodes in one call, and nodes that share what their machines have in common. */
#include <gangsched/gangsched.h>

#include "support.h"

enum { NODES = 100 };

static struct stage s;
static const char *const levels[] = {"rack"};
static struct gang_node_spec spec[NODES];
static gang_node_id id[NODES];
static char name[NODES][8];
static struct gang_label rack[NODES];

static void open_stage(void)
{
    static struct box_arrays arrays;
    stage_open(&s, levels, 1);
    struct box box = {.cpu = 8000, .memory = GIB, .gpus = 4, .model = "A", .numas = 2, .cores = 8};
    for (int i = 0; i < NODES; i++) {
        snprintf(name[i], sizeof(name[i]), "n%d", i);
        rack[i] = (struct gang_label){"rack", i < NODES / 2 ? "r0" : "r1"};
        spec[i] = box_spec(&box, &arrays);
        spec[i].name = name[i];
        spec[i].topology = &rack[i];
        spec[i].topology_count = 1;
    }
}

static void close_stage(void)
{
    stage_close(&s);
}

/* Nothing of a refused batch is left: all its names, slots and places can be used. */
static void check_nothing_added(void)
{
    gang_node_id found;
    ck_assert_int_eq(gang_node_count(s.c), 0);
    ck_assert_uint_eq(gang_node_next(s.c, GANG_ID_NONE), GANG_ID_NONE);
    for (int i = 0; i < NODES; i++) {
        ck_assert_uint_eq(id[i], GANG_ID_NONE);
        ck_assert_int_eq(gang_node_find(s.c, name[i], &found), GANG_ENOENT);
    }
    stage_check(&s);
}

static gang_result add(struct gang_error *error)
{
    return gang_nodes_add(s.w, spec, NODES, id, error);
}

START_TEST(all_come_up_in_their_order)
{
    spec[3].state = GANG_NODE_DRAINING;
    MUST(add(NULL));
    ck_assert_int_eq(gang_node_count(s.c), NODES);
    gang_node_id at = GANG_ID_NONE, found;
    for (int i = 0; i < NODES; i++) {
        at = gang_node_next(s.c, at);
        ck_assert_uint_eq(at, id[i]);
        ck_assert_str_eq(stage_node(&s, at).name, name[i]);
        ck_assert_int_eq(stage_node(&s, at).state, i == 3 ? GANG_NODE_DRAINING : GANG_NODE_UP);
        MUST(gang_node_find(s.c, name[i], &found));
        ck_assert_uint_eq(found, id[i]);
    }
    stage_check(&s);
    struct gang_group_spec g = group_of(NODES / 2, 8000, 4000);
    g.same = "rack";
    struct gang_request_spec q = request_of(&g, 1);
    gang_request *request = stage_request(&s, &q);
    gang_alloc_id gang;
    MUST(gang_alloc(s.w, request, &gang, NULL)); /* only r1 has so many that are up */
    ck_assert_uint_eq(stage_tasks_on(&s, gang, id[NODES - 1]), 1);
    MUST(gang_alloc_free(s.w, gang));
    gang_request_free(request);
}
END_TEST

START_TEST(none_and_no_ids_are_fine)
{
    MUST(gang_nodes_add(s.w, NULL, 0, NULL, NULL));
    ck_assert_int_eq(gang_node_count(s.c), 0);
    MUST(gang_nodes_add(s.w, spec, NODES, NULL, NULL));
    ck_assert_int_eq(gang_node_count(s.c), NODES);
}
END_TEST

static void refused(gang_result code, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    memset(id, 0xff, sizeof(id));
    EXPECT_ERROR(add(&error), code, &error, path, NULL);
    check_nothing_added();
}

START_TEST(a_refused_one_refuses_all)
{
    struct gang_error error = GANG_ERROR_INIT;
    spec[70].cpu_milli = -1;
    refused(GANG_ERANGE, "nodes[70].cpu_milli");
    spec[70].cpu_milli = 8000;
    rack[99].key = "row";
    refused(GANG_ENOENT, "nodes[99].topology[0].key");
    rack[99].key = "rack";
    spec[50].name = name[49];
    refused(GANG_EEXIST, "nodes[50].name");
    spec[50].name = name[50];
    spec[1].size -= 8;
    refused(GANG_EINVAL, "nodes[1].size");
    spec[1].size += 8;
    EXPECT_RESULT(gang_nodes_add(s.w, NULL, 1, NULL, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_nodes_add(NULL, spec, 1, NULL, &error), GANG_EINVAL, &error);
    MUST(add(NULL));
    stage_check(&s);
}
END_TEST

/* Not even lists that wait to be freed, of each of its nodes; and slots in their order. */
START_TEST(a_refused_batch_leaves_nothing_behind)
{
    spec[NODES - 1].name = name[0];
    refused(GANG_EEXIST, "nodes[99].name"); /* tables have grown */
    MUST(gang_cluster_recycle(s.c));
    long live = s.mem.live;
    refused(GANG_EEXIST, "nodes[99].name");
    ck_assert_int_eq(s.mem.live, live);
    spec[NODES - 1].name = name[NODES - 1];
    MUST(add(NULL));
    for (int i = 0; i < NODES; i++)
        ck_assert_uint_eq((uint32_t)id[i], (uint32_t)i + 1);
}
END_TEST

START_TEST(out_of_memory_changes_nothing)
{
    gang_result r = GANG_ENOMEM;
    long at = 1;
    for (; r == GANG_ENOMEM; at++) {
        memset(id, 0xff, sizeof(id));
        s.mem.calls = 0;
        s.mem.fail_at = at;
        r = add(NULL);
        s.mem.fail_at = 0;
        if (r == GANG_ENOMEM)
            check_nothing_added();
    }
    ck_assert_int_eq(r, GANG_OK);
    ck_assert_int_gt(at, NODES); /* each node asks at least once */
    ck_assert_int_eq(gang_node_count(s.c), NODES);
    stage_check(&s);
}
END_TEST

/* Recycled slots come in any order. */
START_TEST(slots_of_removed_nodes_are_used_again)
{
    gang_node_id old[NODES];
    MUST(add(NULL));
    memcpy(old, id, sizeof(old));
    for (int i = 0; i < NODES; i += 2)
        MUST(gang_node_remove(s.w, id[i]));
    MUST(gang_cluster_recycle(s.c));
    for (int i = 0; i < NODES / 2; i++)
        spec[i].name = name[2 * i];
    MUST(gang_nodes_add(s.w, spec, NODES / 2, id, NULL));
    for (int i = 0; i < NODES / 2; i++) {
        ck_assert_uint_lt((uint32_t)id[i], NODES + 2);
        for (int k = 0; k < NODES; k++)
            ck_assert_uint_ne(id[i], old[k]);
    }
    stage_check(&s);
    struct gang_group_spec g = group_of(NODES, 8000, 4000);
    MUST(gang_alloc_free(s.w, stage_alloc_group(&s, &g)));
}
END_TEST

/* ---- what is shared -------------------------------------------------------------------------- */

/* A node of the same make costs next to nothing; of each make there is one. */
START_TEST(machines_of_one_make_are_kept_once)
{
    char cpuset[8][4];
    struct gang_core_spec core[8];
    memcpy(core, spec[0].cores, sizeof(core));
    for (int i = 0; i < 8; i++) {
        snprintf(cpuset[i], sizeof(cpuset[i]), "%d", i);
        core[i].cpuset = cpuset[i];
    }
    for (int i = 1; i < NODES; i += 2)
        spec[i].cores = core;
    MUST(gang_nodes_add(s.w, spec, 2, id, NULL));
    long before = s.mem.live;
    MUST(gang_nodes_add(s.w, spec + 2, 10, id + 2, NULL));
    ck_assert_int_le(s.mem.live - before, 14); /* a block a node, and tables that grew */
    for (int i = 0; i < 12; i++) {
        struct gang_node_spec *copy;
        MUST(gang_node_get_spec(s.c, id[i], &copy));
        ck_assert_str_eq(copy->name, name[i]);
        ck_assert_str_eq(copy->cores[7].cpuset ? copy->cores[7].cpuset : "", i % 2 ? "7" : "");
        gang_node_spec_free(copy);
    }
}
END_TEST

/* What says of one node alone stays its own. */
START_TEST(uuids_and_labels_are_each_nodes_own)
{
    struct gang_gpu_spec gpu[2][4];
    const struct gang_label label[2] = {{"a", "x"}, {"a", "y"}};
    for (int i = 0; i < 2; i++) {
        memcpy(gpu[i], spec[0].gpus, sizeof(gpu[i]));
        gpu[i][2].uuid = i ? "GPU-1" : "GPU-0";
        spec[i].gpus = gpu[i];
        spec[i].labels = &label[i];
        spec[i].label_count = 1;
    }
    MUST(gang_nodes_add(s.w, spec, 3, id, NULL));
    for (int i = 0; i < 3; i++) {
        struct gang_node_spec *copy;
        MUST(gang_node_get_spec(s.c, id[i], &copy));
        ck_assert_uint_eq(copy->label_count, i < 2);
        if (i < 2) {
            ck_assert_str_eq(copy->gpus[2].uuid, i ? "GPU-1" : "GPU-0");
            ck_assert_str_eq(copy->labels[0].value, i ? "y" : "x");
        } else {
            ck_assert_ptr_null(copy->gpus[2].uuid);
        }
        ck_assert_ptr_null(copy->gpus[1].uuid);
        gang_node_spec_free(copy);
    }
    /* A GPU of another name is another GPU. */
    struct gang_error error = GANG_ERROR_INIT;
    gpu[0][2].uuid = "GPU-9";
    EXPECT_RESULT(gang_node_change(s.w, id[0], &spec[0], &error), GANG_EINVAL, &error);
    gpu[1][3].uuid = "\n"; /* also of a make that is known */
    spec[1].name = "other";
    EXPECT_ERROR(gang_node_add(s.w, &spec[1], NULL, &error), GANG_EINVAL, &error, "gpus[3].uuid",
                 NULL);
}
END_TEST

/* Any difference of the machine is seen, also against the one described just before. */
START_TEST(machines_that_differ_have_types_of_their_own)
{
    struct gang_core_spec core[8];
    struct gang_gpu_spec gpu[4];
    struct gang_nic_spec nic = {.name = "eth0", .numa = -1};
    memcpy(core, spec[1].cores, sizeof(core));
    memcpy(gpu, spec[2].gpus, sizeof(gpu));
    core[7].threads = 2;
    gpu[3].memory_bytes = GIB;
    spec[1].cores = core;
    spec[2].gpus = gpu;
    spec[3].nics = &nic;
    spec[3].nic_count = 1;
    spec[4].memory_bytes = 2 * GIB;
    MUST(gang_nodes_add(s.w, spec, 6, id, NULL));
    for (int i = 0; i < 6; i++) {
        struct gang_node_spec *copy;
        MUST(gang_node_get_spec(s.c, id[i], &copy));
        ck_assert_int_eq(copy->cores[7].threads, i == 1 ? 2 : 1);
        ck_assert_int_eq(copy->gpus[3].memory_bytes, i == 2 ? GIB : 0);
        ck_assert_uint_eq(copy->nic_count, i == 3);
        ck_assert_int_eq(stage_node(&s, id[i]).memory_bytes, i == 4 ? 2 * GIB : GIB);
        gang_node_spec_free(copy);
    }
}
END_TEST

/* A refusal of the first node also meets a node described as like it. */
START_TEST(an_empty_cpuset_is_always_refused)
{
    struct gang_core_spec core[8];
    memcpy(core, spec[1].cores, sizeof(core));
    core[3].cpuset = "";
    spec[1].cores = core;
    for (int i = 0; i < 2; i++) {
        struct gang_error error = GANG_ERROR_INIT;
        EXPECT_ERROR(gang_node_add(s.w, &spec[1], NULL, &error), GANG_EINVAL, &error,
                     "cores[3].cpuset", NULL);
        MUST(gang_node_add(s.w, &spec[2 + i], NULL, NULL));
    }
}
END_TEST

/* The last node of a make takes it along. */
START_TEST(a_make_ends_with_its_last_node)
{
    MUST(gang_nodes_add(s.w, spec, 1, id, NULL));
    spec[1].memory_bytes = 2 * GIB;
    long before = s.mem.live;
    for (int i = 0; i < 100; i++) {
        MUST(gang_node_add(s.w, &spec[1], &id[1], NULL));
        MUST(gang_node_remove(s.w, id[1]));
        MUST(gang_cluster_recycle(s.c));
    }
    ck_assert_int_le(s.mem.live - before, 12); /* tables that grew once */
    MUST(gang_node_add(s.w, &spec[0 + 2], &id[2], NULL));
    stage_check(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node batch");
    TCase *batch = tcase_create("batch");
    tcase_add_checked_fixture(batch, open_stage, close_stage);
    tcase_add_test(batch, all_come_up_in_their_order);
    tcase_add_test(batch, none_and_no_ids_are_fine);
    tcase_add_test(batch, a_refused_one_refuses_all);
    tcase_add_test(batch, a_refused_batch_leaves_nothing_behind);
    tcase_add_test(batch, out_of_memory_changes_nothing);
    tcase_add_test(batch, slots_of_removed_nodes_are_used_again);
    suite_add_tcase(suite, batch);
    TCase *shared = tcase_create("shared");
    tcase_add_checked_fixture(shared, open_stage, close_stage);
    tcase_add_test(shared, machines_of_one_make_are_kept_once);
    tcase_add_test(shared, uuids_and_labels_are_each_nodes_own);
    tcase_add_test(shared, machines_that_differ_have_types_of_their_own);
    tcase_add_test(shared, an_empty_cpuset_is_always_refused);
    tcase_add_test(shared, a_make_ends_with_its_last_node);
    suite_add_tcase(suite, shared);
    return run_suite(suite);
}
