/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: the three ways to ask for GPUs, and which devices are given. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
static struct box_arrays arrays;

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
}

static void close_stage(void)
{
    stage_close(&s);
}

static gang_node_id add_box(const char *name, size_t gpus, int64_t gpu_memory)
{
    struct box box = {
        .name = name, .cpu = 64000, .gpus = gpus, .model = "V100", .gpu_memory = gpu_memory};
    return stage_add(&s, &box);
}

/* A node with the devices of `arrays` and `links`. */
static gang_node_id add_described(size_t gpus, const struct gang_link_spec *links, size_t count,
                                  const uint8_t *near)
{
    struct box box = {.name = "n1", .cpu = 64000, .gpus = gpus, .numas = 2};
    struct gang_gpu_spec gpu[GANG_MAX_GPUS];
    memcpy(gpu, arrays.gpu, sizeof(gpu));
    struct gang_node_spec spec = box_spec(&box, &arrays);
    gang_node_id id;
    for (size_t i = 0; i < gpus; i++) {
        arrays.gpu[i].model = gpu[i].model;
        arrays.gpu[i].memory_bytes = gpu[i].memory_bytes;
    }
    spec.links = links;
    spec.link_count = count;
    spec.gpu_locality = near;
    MUST(gang_node_add(s.w, &spec, &id, NULL));
    return id;
}

static struct gang_task place_one(int64_t gpu_milli, int64_t devices)
{
    struct gang_group_spec g = group_of(1, 0, gpu_milli);
    g.gpu_devices = devices;
    return stage_only_task(&s, stage_alloc_group(&s, &g));
}

static struct outcome try_one(int64_t gpu_milli, int64_t devices)
{
    struct gang_group_spec g = group_of(1, 0, gpu_milli);
    g.gpu_devices = devices;
    return stage_try_group(&s, &g);
}

/* ---- whole devices ---- */

START_TEST(whole_devices_are_given_to_one_task)
{
    struct gang_group_spec g = group_of(3, 0, 2000);
    gang_node_id id = add_box("n1", 8, 0);
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    uint64_t taken = 0;
    ck_assert_uint_eq(list->count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct gang_task *t = &list->task[i];
        ck_assert_int_eq(t->gpu_count, 2);
        ck_assert_int_eq(t->gpu_share, 1000);
        ck_assert_int_eq(__builtin_popcountll(t->gpus), 2);
        ck_assert_uint_eq(t->gpus & taken, 0);
        ck_assert_uint_lt(t->gpus, 256);
        taken |= t->gpus;
    }
    struct gang_node_info info = stage_node(&s, id);
    ck_assert_uint_eq(info.gpu_mask, 255 & ~taken);
    ck_assert_int_eq(info.gpu_free, 2000);
}
END_TEST

START_TEST(devices_of_a_task_are_on_one_node)
{
    add_box("n1", 2, 0);
    add_box("n2", 2, 0);
    EXPECT_OUTCOME(try_one(3000, 0), GANG_ENEVER);
    EXPECT_OUTCOME(try_one(2000, 0), GANG_OK);
    EXPECT_OUTCOME(try_one(2000, 2), GANG_OK); /* said twice is allowed */
    EXPECT_OUTCOME(try_one(1000, 0), GANG_ENOFIT);
}
END_TEST

START_TEST(a_whole_device_is_never_a_shared_one)
{
    gang_node_id id = add_box("n1", 2, 0);
    place_one(1, 2); /* a thousandth of both */
    ck_assert_int_eq(stage_node(&s, id).gpu_free, 1998);
    ck_assert_int_eq(stage_node(&s, id).gpus_free, 0);
    EXPECT_OUTCOME(try_one(1000, 0), GANG_ENOFIT);
    EXPECT_OUTCOME(try_one(999, 0), GANG_OK);
    EXPECT_OUTCOME(try_one(999, 0), GANG_OK);
    EXPECT_OUTCOME(try_one(1, 0), GANG_ENOFIT);
}
END_TEST

START_TEST(a_task_without_gpus_gets_none)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    add_box("n1", 2, 0);
    struct gang_task task = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_int_eq(task.gpu_count, 0);
    ck_assert_int_eq(task.gpu_share, 0);
    ck_assert_uint_eq(task.gpus, 0);
}
END_TEST

/* ---- shares ---- */

START_TEST(a_share_never_spans_devices)
{
    gang_node_id id = add_box("n1", 4, 0);
    struct gang_group_spec g = group_of(4, 0, 600);
    stage_alloc_group(&s, &g);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(stage_node(&s, id).gpu_share_free[i], 400);
    EXPECT_OUTCOME(try_one(401, 0), GANG_ENOFIT); /* 1600 are free */
    EXPECT_OUTCOME(try_one(400, 0), GANG_OK);
}
END_TEST

START_TEST(shares_fill_a_device_before_the_next)
{
    gang_node_id id = add_box("n1", 4, 0);
    struct gang_group_spec g = group_of(1, 0, 250);
    for (int i = 0; i < 4; i++) {
        stage_alloc_group(&s, &g);
        ck_assert_int_eq(stage_node(&s, id).gpus_free, 3);
    }
    stage_alloc_group(&s, &g);
    ck_assert_int_eq(stage_node(&s, id).gpus_free, 2);
}
END_TEST

START_TEST(a_share_is_shown_as_it_is)
{
    add_box("n1", 4, 0);
    struct gang_task task = place_one(333, 3);
    ck_assert_int_eq(task.gpu_count, 3);
    ck_assert_int_eq(task.gpu_share, 333);
    ck_assert_int_eq(__builtin_popcountll(task.gpus), 3);
}
END_TEST

START_TEST(a_share_of_several_devices_takes_different_ones)
{
    gang_node_id id = add_box("n1", 2, 0);
    EXPECT_OUTCOME(try_one(100, 3), GANG_ENEVER);
    place_one(500, 2);
    ck_assert_int_eq(stage_node(&s, id).gpu_share_free[0], 500);
    ck_assert_int_eq(stage_node(&s, id).gpu_share_free[1], 500);
    EXPECT_OUTCOME(try_one(501, 2), GANG_ENOFIT);
    place_one(500, 2);
    ck_assert_int_eq(stage_node(&s, id).gpu_free, 0);
}
END_TEST

/* Free are 500, 500 and 1000: two tasks fit, if neither takes both of the smaller ones. */
START_TEST(shares_of_several_devices_fit_whenever_they_can)
{
    struct gang_group_spec g = group_of(2, 0, 500);
    add_box("n1", 3, 0);
    place_one(500, 2);
    g.gpu_devices = 2;
    stage_alloc_group(&s, &g);
    EXPECT_OUTCOME(try_one(1, 0), GANG_ENOFIT);
}
END_TEST

START_TEST(many_shares_of_several_devices_fit_whenever_they_can)
{
    struct gang_group_spec g = group_of(16, 0, 100);
    add_box("n1", 5, 0);
    g.gpu_devices = 3;
    gang_alloc_id id = stage_alloc_group(&s, &g); /* 4800 of 5000 */
    MUST(gang_alloc_free(s.w, id));
    g.count = g.min = 17;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

/* ---- memory ---- */

static struct gang_group_spec group_of_memory(int64_t count, int64_t bytes, int64_t devices)
{
    struct gang_group_spec g = group_of(count, 0, 0);
    g.gpu_memory_bytes = bytes;
    g.gpu_devices = devices;
    return g;
}

START_TEST(memory_is_rounded_up_to_a_thousandth)
{
    gang_node_id id = add_box("n1", 1, 3 * GIB);
    struct gang_group_spec g = group_of_memory(1, GIB, 0);
    struct gang_task task = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_int_eq(task.gpu_share, 334);
    ck_assert_int_eq(task.gpu_count, 1);
    stage_alloc_group(&s, &g);
    ck_assert_int_eq(stage_node(&s, id).gpu_free, 332);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    g = group_of_memory(1, 1, 0);
    ck_assert_int_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpu_share, 1);
}
END_TEST

START_TEST(all_memory_is_the_whole_device)
{
    gang_node_id id = add_box("n1", 2, 16 * GIB);
    struct gang_group_spec g = group_of_memory(1, 16 * GIB, 2);
    struct gang_task task = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_int_eq(task.gpu_share, 1000);
    ck_assert_int_eq(task.gpu_count, 2);
    ck_assert_int_eq(stage_node(&s, id).gpus_free, 0);
    g = group_of_memory(1, 16 * GIB + 1, 1);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

START_TEST(devices_of_unknown_memory_give_none)
{
    struct gang_group_spec g = group_of_memory(1, 1, 0);
    add_box("n1", 4, 0);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    gang_node_id known = add_box("n2", 1, GIB);
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).node, known);
}
END_TEST

START_TEST(the_same_memory_is_another_share_of_another_device)
{
    struct gang_group_spec g = group_of_memory(3, 8 * GIB, 0);
    gang_node_id small = add_box("n1", 1, 16 * GIB), large = add_box("n2", 1, 32 * GIB);
    g.count = g.min = 6;
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    for (size_t i = 0; i < list->count; i++)
        ck_assert_int_eq(list->task[i].gpu_share, list->task[i].node == small ? 500 : 250);
    ck_assert_int_eq(stage_node(&s, small).gpu_free, 0);
    ck_assert_int_eq(stage_node(&s, large).gpu_free, 0);
}
END_TEST

/* The first device alone has its size; the two others go together. */
START_TEST(memory_of_several_devices_is_found_among_unlike_ones)
{
    memset(&arrays, 0, sizeof(arrays));
    arrays.gpu[0].memory_bytes = 16 * GIB;
    arrays.gpu[1].memory_bytes = arrays.gpu[2].memory_bytes = 32 * GIB;
    add_described(3, NULL, 0, NULL);
    struct gang_group_spec g = group_of_memory(4, 8 * GIB, 2);
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    for (size_t i = 0; i < list->count; i++) {
        ck_assert_uint_eq(list->task[i].gpus, 6);
        ck_assert_int_eq(list->task[i].gpu_share, 250);
    }
}
END_TEST

/* The task fits on both, and for eight gibibytes the one gives a half and the other a quarter. */
START_TEST(memory_of_several_devices_is_not_of_unlike_ones)
{
    memset(&arrays, 0, sizeof(arrays));
    arrays.gpu[0].memory_bytes = 16 * GIB;
    arrays.gpu[1].memory_bytes = 32 * GIB;
    gang_node_id id = add_described(2, NULL, 0, NULL);
    struct gang_group_spec g = group_of_memory(1, 8 * GIB, 2);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    g.gpu_devices = 1;
    g.count = g.min = 6;
    stage_alloc_group(&s, &g);
    ck_assert_int_eq(stage_node(&s, id).gpu_free, 0);
    g.count = g.min = 7;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

/* A card is not filled beyond its memory by parts that are each rounded up. */
START_TEST(parts_of_memory_never_add_up_to_more_than_the_device)
{
    gang_node_id id = add_box("n1", 2, 7 * GIB); /* a gibibyte is 143 of a thousand */
    struct gang_group_spec g = group_of_memory(12, GIB, 0);
    stage_alloc_group(&s, &g);
    ck_assert_int_eq(stage_node(&s, id).gpu_share_free[0], 1000 - 6 * 143);
    ck_assert_int_eq(stage_node(&s, id).gpu_share_free[1], 1000 - 6 * 143);
    g.count = g.min = 1;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT); /* 2 * 142 are left */
    EXPECT_OUTCOME(try_one(142, 2), GANG_OK);
}
END_TEST

START_TEST(memory_and_shares_go_beside_each_other)
{
    gang_node_id id = add_box("n1", 2, 16 * GIB);
    struct gang_group_spec g = group_of_memory(1, 12 * GIB, 2);
    place_one(250, 0);
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 3);
    ck_assert_int_eq(stage_node(&s, id).gpu_free, 250);
    EXPECT_OUTCOME(try_one(1000, 0), GANG_ENOFIT);
    g = group_of_memory(1, 4 * GIB, 0);
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 2);
}
END_TEST

START_TEST(memory_goes_with_the_model)
{
    static const char *const t4 = "T4";
    memset(&arrays, 0, sizeof(arrays));
    for (int i = 0; i < 4; i++) {
        arrays.gpu[i].model = i < 2 ? "T4" : "A100";
        arrays.gpu[i].memory_bytes = i == 1 ? 0 : 16 * GIB;
    }
    add_described(4, NULL, 0, NULL);
    struct gang_group_spec g = group_of_memory(2, 8 * GIB, 0);
    g.gpu_models = &t4;
    g.gpu_model_count = 1;
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    for (size_t i = 0; i < 2; i++)
        ck_assert_uint_eq(list->task[i].gpus, 1); /* of the other one nothing is known */
    g.count = g.min = 1;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    g.gpu_devices = 2;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

/* ---- fullness ---- */

/* The fullest device that still holds it, on the fullest node that does. */
START_TEST(a_share_goes_where_the_least_is_left)
{
    gang_node_id a = add_box("a", 3, 0), b = add_box("b", 2, 0);
    place_one(300, 0);
    place_one(800, 0);
    ck_assert_int_eq(stage_node(&s, b).gpu_share_free[0], 700);
    ck_assert_int_eq(stage_node(&s, b).gpu_share_free[1], 200);
    struct gang_task task = place_one(200, 0);
    ck_assert_uint_eq(task.node, b);
    ck_assert_uint_eq(task.gpus, 2);
    task = place_one(600, 0);
    ck_assert_uint_eq(task.node, b);
    ck_assert_uint_eq(task.gpus, 1);
    ck_assert_int_eq(stage_node(&s, a).gpus_free, 3); /* still whole */
    task = place_one(101, 0);
    ck_assert_uint_eq(task.node, a);
    EXPECT_OUTCOME(try_one(2000, 0), GANG_OK);
}
END_TEST

START_TEST(a_share_of_several_devices_goes_where_the_least_is_left)
{
    gang_node_id id = add_box("a", 4, 0);
    place_one(700, 0);
    place_one(500, 0); /* 300, 500, 1000, 1000 */
    ck_assert_uint_eq(place_one(200, 2).gpus, 3);
    ck_assert_int_eq(stage_node(&s, id).gpus_free, 2);
    ck_assert_uint_eq(place_one(200, 2).gpus, 6); /* 100 are too few */
    EXPECT_OUTCOME(try_one(1000, 0), GANG_OK);
}
END_TEST

/* ---- models ---- */

START_TEST(only_devices_of_the_models_are_given)
{
    memset(&arrays, 0, sizeof(arrays));
    for (int i = 0; i < 6; i++)
        arrays.gpu[i].model = i % 3 == 0 ? "T4" : i % 3 == 1 ? "A100" : NULL;
    add_described(6, NULL, 0, NULL);
    const char *const t4 = "T4", *const both[] = {"T4", "A100"}, *const none = "H100";
    struct gang_group_spec g = group_of(1, 0, 2000);
    g.gpu_models = &none;
    g.gpu_model_count = 1;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    g.gpu_models = &t4;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_only_task(&s, id).gpus, 1 | 8);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, id));
    g = group_of(4, 0, 500);
    g.gpu_models = &t4;
    g.gpu_model_count = 1;
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(list->task[i].gpus & ~(uint64_t)(1 | 8), 0);
    g = group_of(1, 0, 2000);
    g.gpu_models = both;
    g.gpu_model_count = 2;
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 2 | 16);
    g = group_of(2, 0, 1000);
    stage_alloc_group(&s, &g); /* any model, also an unknown one */
}
END_TEST

/* ---- closeness ---- */

START_TEST(linked_devices_go_together)
{
    const struct gang_link_spec links[] = {{0, 3, GANG_LINK_NVLINK, 1, 0},
                                           {1, 2, GANG_LINK_NVLINK, 1, 0}};
    memset(&arrays, 0, sizeof(arrays));
    add_described(4, links, 2, NULL);
    uint64_t first = place_one(2000, 0).gpus, second = place_one(2000, 0).gpus;
    ck_assert((first == 9 && second == 6) || (first == 6 && second == 9));
}
END_TEST

/* Eight devices, two rings of four that are not numbered one after the other. */
START_TEST(four_devices_of_one_ring_are_chosen)
{
    struct gang_link_spec links[12];
    size_t count = 0;
    for (int32_t i = 0; i < 8; i++)
        for (int32_t k = i + 2; k < 8; k += 2)
            links[count++] = (struct gang_link_spec){i, k, GANG_LINK_NVLINK, 1, 0};
    ck_assert_uint_eq(count, 12);
    memset(&arrays, 0, sizeof(arrays));
    add_described(8, links, count, NULL);
    uint64_t first = place_one(4000, 0).gpus, second = place_one(4000, 0).gpus;
    ck_assert(first == 0x55 || first == 0xaa);
    ck_assert_uint_eq(first | second, 0xff);
}
END_TEST

START_TEST(devices_of_one_numa_domain_go_together)
{
    memset(&arrays, 0, sizeof(arrays));
    add_described(8, NULL, 0, NULL); /* 0-3 and 4-7 */
    place_one(1000, 0);              /* one of a domain */
    uint64_t four = place_one(4000, 0).gpus;
    ck_assert(four == 0x0f || four == 0xf0);
}
END_TEST

START_TEST(closeness_may_be_given)
{
    uint8_t near[16];
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            near[i * 4 + k] = i == k       ? GANG_LOCALITY_LINK
                              : i + k == 3 ? GANG_LOCALITY_PCI /* 0 and 3, 1 and 2 */
                                           : GANG_LOCALITY_SYSTEM;
    memset(&arrays, 0, sizeof(arrays));
    add_described(4, NULL, 0, near);
    uint64_t pair = place_one(2000, 0).gpus;
    ck_assert(pair == 9 || pair == 6);
}
END_TEST

/* ---- large nodes ---- */

START_TEST(sixty_four_devices_are_all_given)
{
    gang_node_id id = add_box("n1", 64, 0);
    struct gang_group_spec g = group_of(64, 1000, 1000);
    gang_alloc_id all = stage_alloc_group(&s, &g);
    const struct task_list *list = stage_tasks(&s, all);
    uint64_t taken = 0;
    for (size_t i = 0; i < 64; i++)
        taken |= list->task[i].gpus;
    ck_assert_uint_eq(taken, UINT64_MAX);
    ck_assert_int_eq(stage_node(&s, id).gpu_free, 0);
    MUST(gang_alloc_free(s.w, all));
    struct gang_task task = place_one(64000, 0);
    ck_assert_uint_eq(task.gpus, UINT64_MAX);
    ck_assert_int_eq(task.gpu_count, 64);
}
END_TEST

/* Above sixteen free devices nodes look alike in the index. */
START_TEST(tasks_of_many_devices_find_the_node_that_has_them)
{
    gang_node_id id[5];
    for (int i = 0; i < 5; i++) {
        char name[20];
        snprintf(name, sizeof(name), "n%d", i);
        id[i] = add_box(name, (size_t)(16 + 4 * i), 0); /* 16 .. 32 */
    }
    for (int policy = GANG_POLICY_PACK; policy <= GANG_POLICY_FIRST; policy++) {
        for (int i = 4; i >= 0; i--) {
            struct gang_group_spec g = group_of(1, 0, 1000 * (16 + 4 * i));
            struct gang_request_spec spec = request_of(&g, 1);
            spec.policy = policy;
            ck_assert_uint_eq(stage_only_task(&s, stage_alloc(&s, &spec)).node, id[i]);
        }
        EXPECT_OUTCOME(try_one(1000, 0), GANG_ENOFIT);
        for (gang_alloc_id at; (at = gang_alloc_next(s.c, GANG_ID_NONE)) != GANG_ID_NONE;)
            MUST(gang_alloc_free(s.w, at));
    }
    EXPECT_OUTCOME(try_one(33000, 0), GANG_ENEVER);
}
END_TEST

START_TEST(a_large_node_is_found_while_it_empties)
{
    gang_node_id id = add_box("n1", 40, 0);
    gang_alloc_id held[40];
    struct gang_group_spec g = group_of(1, 0, 1000);
    for (int i = 0; i < 40; i++)
        held[i] = stage_alloc_group(&s, &g);
    for (int i = 0; i < 40; i++) {
        EXPECT_OUTCOME(try_one(1000 * (i + 1), 0), GANG_ENOFIT);
        MUST(gang_alloc_free(s.w, held[i]));
        ck_assert_int_eq(stage_node(&s, id).gpus_free, i + 1);
        struct gang_group_spec all = group_of(1, 0, 1000 * (i + 1));
        MUST(gang_alloc_free(s.w, stage_alloc_group(&s, &all)));
        stage_check(&s);
    }
}
END_TEST

START_TEST(a_cluster_without_gpus_never_fits_any)
{
    struct box box = {.name = "n1", .cpu = 64000};
    stage_add(&s, &box);
    EXPECT_OUTCOME(try_one(1000, 0), GANG_ENEVER);
    EXPECT_OUTCOME(try_one(1, 0), GANG_ENEVER);
    struct gang_group_spec g = group_of_memory(1, 1, 0);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpus");
    TCase *tests = tcase_create("gpus");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, whole_devices_are_given_to_one_task);
    tcase_add_test(tests, devices_of_a_task_are_on_one_node);
    tcase_add_test(tests, a_whole_device_is_never_a_shared_one);
    tcase_add_test(tests, a_task_without_gpus_gets_none);
    tcase_add_test(tests, a_share_never_spans_devices);
    tcase_add_test(tests, shares_fill_a_device_before_the_next);
    tcase_add_test(tests, a_share_is_shown_as_it_is);
    tcase_add_test(tests, a_share_of_several_devices_takes_different_ones);
    tcase_add_test(tests, shares_of_several_devices_fit_whenever_they_can);
    tcase_add_test(tests, many_shares_of_several_devices_fit_whenever_they_can);
    tcase_add_test(tests, memory_is_rounded_up_to_a_thousandth);
    tcase_add_test(tests, all_memory_is_the_whole_device);
    tcase_add_test(tests, devices_of_unknown_memory_give_none);
    tcase_add_test(tests, the_same_memory_is_another_share_of_another_device);
    tcase_add_test(tests, memory_of_several_devices_is_found_among_unlike_ones);
    tcase_add_test(tests, memory_of_several_devices_is_not_of_unlike_ones);
    tcase_add_test(tests, parts_of_memory_never_add_up_to_more_than_the_device);
    tcase_add_test(tests, memory_and_shares_go_beside_each_other);
    tcase_add_test(tests, memory_goes_with_the_model);
    tcase_add_test(tests, a_share_goes_where_the_least_is_left);
    tcase_add_test(tests, a_share_of_several_devices_goes_where_the_least_is_left);
    tcase_add_test(tests, only_devices_of_the_models_are_given);
    tcase_add_test(tests, linked_devices_go_together);
    tcase_add_test(tests, four_devices_of_one_ring_are_chosen);
    tcase_add_test(tests, devices_of_one_numa_domain_go_together);
    tcase_add_test(tests, closeness_may_be_given);
    tcase_add_test(tests, sixty_four_devices_are_all_given);
    tcase_add_test(tests, tasks_of_many_devices_find_the_node_that_has_them);
    tcase_add_test(tests, a_large_node_is_found_while_it_empties);
    tcase_add_test(tests, a_cluster_without_gpus_never_fits_any);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
