/* SPDX-License-Identifier: Apache-2.0 */
/* core.h: the health of devices. */
#include <gangsched/gangsched.h>

#include "core/nodes/nodes.h"
#include "support.h"

static struct stage s;

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
}

static void close_stage(void)
{
    stage_close(&s);
}

static gang_node_id add_box(const char *name, size_t gpus)
{
    struct box box = {.name = name, .cpu = 64000, .gpus = gpus, .model = "V100", .gpu_memory = GIB};
    return stage_add(&s, &box);
}

/* A node with some devices unhealthy from the start. */
static struct gang_node_spec sick_spec(const char *name, size_t gpus, uint64_t unhealthy)
{
    static struct box_arrays arrays;
    struct box box = {.name = name, .cpu = 64000, .gpus = gpus, .model = "V100", .gpu_memory = GIB};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    for (size_t i = 0; i < gpus; i++)
        arrays.gpu[i].state = unhealthy >> i & 1 ? GANG_GPU_UNHEALTHY : GANG_GPU_OK;
    return spec;
}

static gang_node_id add_sick(const char *name, size_t gpus, uint64_t unhealthy)
{
    struct gang_node_spec spec = sick_spec(name, gpus, unhealthy);
    gang_node_id id;
    MUST(gang_node_add(s.w, &spec, &id, NULL));
    return id;
}

static void set_health(gang_node_id node, int32_t gpu, int32_t state)
{
    MUST(gang_gpu_set_state(s.w, node, gpu, state));
}

static uint64_t unhealthy(gang_node_id node)
{
    return stage_node(&s, node).gpu_unhealthy;
}

static struct outcome try_gpus(int64_t tasks, int64_t milli, int64_t devices)
{
    struct gang_group_spec g = group_of(tasks, 0, milli);
    g.gpu_devices = devices;
    return stage_try_group(&s, &g);
}

/* ---- setting and reading --------------------------------------------------------------------- */

START_TEST(health_is_read_as_it_was_set)
{
    gang_node_id a = add_box("a", 4), b = add_box("b", 4);
    ck_assert_uint_eq(unhealthy(a), 0);
    set_health(a, 0, GANG_GPU_UNHEALTHY);
    set_health(a, 3, GANG_GPU_UNHEALTHY);
    set_health(a, 3, GANG_GPU_UNHEALTHY); /* again */
    ck_assert_uint_eq(unhealthy(a), 9);
    ck_assert_uint_eq(unhealthy(b), 0);
    struct gang_node_info info = stage_node(&s, a);
    ck_assert_int_eq(info.gpus_free, 4); /* of what is taken it says nothing */
    ck_assert_uint_eq(info.gpu_mask, 15);
    set_health(a, 0, GANG_GPU_OK);
    set_health(a, 0, GANG_GPU_OK);
    set_health(a, 1, GANG_GPU_OK); /* as it is */
    ck_assert_uint_eq(unhealthy(a), 8);
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 1);
    set_health(a, 3, GANG_GPU_OK);
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 0); /* no thread reads any more */
}
END_TEST

START_TEST(each_of_sixty_four_devices_has_its_own)
{
    gang_node_id id = add_box("n", 64);
    static const int32_t some[] = {0, 1, 38, 39, 40, 41, 62, 63};
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        set_health(id, some[i], GANG_GPU_UNHEALTHY);
        mask |= UINT64_C(1) << some[i];
        ck_assert_uint_eq(unhealthy(id), mask);
    }
    struct gang_group_spec g = group_of(56, 0, 1000);
    gang_alloc_id all = stage_alloc_group(&s, &g);
    const struct task_list *list = stage_tasks(&s, all);
    for (size_t i = 0; i < list->count; i++)
        ck_assert_uint_eq(list->task[i].gpus & mask, 0);
    EXPECT_OUTCOME(try_gpus(1, 1, 0), GANG_ENOFIT);
    for (size_t i = sizeof(some) / sizeof(some[0]); i-- > 0;) {
        set_health(id, some[i], GANG_GPU_OK);
        ck_assert_uint_eq(stage_only_task(&s, try_gpus(1, 1000, 0).id).gpus, UINT64_C(1)
                                                                                 << some[i]);
    }
}
END_TEST

START_TEST(the_first_health_is_that_of_the_description)
{
    gang_node_id a = add_sick("a", 4, 5), b = add_sick("b", 4, 0);
    ck_assert_uint_eq(unhealthy(a), 5);
    ck_assert_uint_eq(unhealthy(b), 0);
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 2);
    EXPECT_OUTCOME(try_gpus(7, 1000, 0), GANG_ENOFIT);
    EXPECT_OUTCOME(try_gpus(6, 1000, 0), GANG_OK);
}
END_TEST

START_TEST(the_description_is_given_back_as_it_was)
{
    gang_node_id id = add_sick("a", 4, 5);
    struct gang_node_spec *spec;
    set_health(id, 0, GANG_GPU_OK);
    set_health(id, 1, GANG_GPU_UNHEALTHY);
    MUST(gang_node_get_spec(s.c, id, &spec));
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(spec->gpus[i].state, i % 2 ? GANG_GPU_OK : GANG_GPU_UNHEALTHY);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(a_new_description_sets_it_anew)
{
    gang_node_id id = add_sick("a", 4, 5);
    struct gang_node_spec spec = sick_spec("a", 4, 12);
    gang_alloc_id one = try_gpus(1, 1000, 0).id;
    ck_assert_uint_eq(stage_only_task(&s, one).gpus, 2);
    set_health(id, 1, GANG_GPU_UNHEALTHY);
    MUST(gang_node_change(s.w, id, &spec, NULL));
    ck_assert_uint_eq(unhealthy(id), 12);
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 2);
    struct gang_group_spec g = group_of(1, 1000, 1000);
    MUST(gang_alloc_free(s.w, one));
    gang_alloc_id held = stage_alloc_group(&s, &g);
    struct gang_node_spec healthy = sick_spec("a", 4, 0);
    healthy.cpu_milli = 500; /* a thousand of them are taken */
    ck_assert_int_eq(gang_node_change(s.w, id, &healthy, NULL), GANG_EBUSY);
    ck_assert_uint_eq(unhealthy(id), 12); /* nothing changed */
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 2);
    MUST(gang_alloc_free(s.w, held));
    MUST(gang_node_change(s.w, id, &healthy, NULL));
    ck_assert_uint_eq(unhealthy(id), 0);
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 0);
}
END_TEST

START_TEST(a_new_node_in_an_old_slot_is_well)
{
    gang_node_id a = add_sick("a", 64, UINT64_MAX);
    MUST(gang_node_remove(s.w, a));
    MUST(gang_cluster_recycle(s.c));
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 0);
    gang_node_id b = add_box("b", 64);
    ck_assert_uint_eq((uint32_t)a, (uint32_t)b);
    ck_assert_uint_eq(unhealthy(b), 0);
    EXPECT_OUTCOME(try_gpus(64, 1000, 0), GANG_OK);
    MUST(gang_node_remove(s.w, b));
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    gang_node_id id = add_box("a", 4), none = add_box("b", 0);
    ck_assert_int_eq(gang_gpu_set_state(NULL, id, 0, GANG_GPU_OK), GANG_EINVAL);
    ck_assert_int_eq(gang_gpu_set_state(s.w, id, 0, 2), GANG_EINVAL);
    ck_assert_int_eq(gang_gpu_set_state(s.w, id, 0, -1), GANG_EINVAL);
    ck_assert_int_eq(gang_gpu_set_state(s.w, id, -1, GANG_GPU_UNHEALTHY), GANG_EINVAL);
    ck_assert_int_eq(gang_gpu_set_state(s.w, id, 4, GANG_GPU_UNHEALTHY), GANG_EINVAL);
    ck_assert_int_eq(gang_gpu_set_state(s.w, none, 0, GANG_GPU_UNHEALTHY), GANG_EINVAL);
    ck_assert_int_eq(gang_gpu_set_state(s.w, GANG_ID_NONE, 0, GANG_GPU_OK), GANG_ESTALE);
    ck_assert_int_eq(gang_gpu_set_state(s.w, id + 100, 0, GANG_GPU_OK), GANG_ESTALE);
    ck_assert_int_eq(gang_gpu_set_state(s.w, id + (UINT64_C(1) << 32), 0, GANG_GPU_OK),
                     GANG_ESTALE);
    ck_assert_uint_eq(unhealthy(id), 0);
}
END_TEST

START_TEST(a_removed_node_is_stale_even_if_it_is_held)
{
    gang_node_id id = add_sick("a", 4, 1);
    gang_alloc_id held = try_gpus(1, 1000, 0).id;
    MUST(gang_node_remove(s.w, id));
    ck_assert_int_eq(gang_gpu_set_state(s.w, id, 0, GANG_GPU_OK), GANG_ESTALE);
    ck_assert_int_eq(gang_gpu_set_state(s.w, id, 1, GANG_GPU_UNHEALTHY), GANG_ESTALE);
    ck_assert_uint_eq(unhealthy(id), 1);
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 1);
    MUST(gang_alloc_free(s.w, held));
    MUST(gang_cluster_recycle(s.c));
    ck_assert_int_eq(gang_gpu_set_state(s.w, id, 0, GANG_GPU_OK), GANG_ESTALE);
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 0);
}
END_TEST

START_TEST(memory_is_wanted_at_the_first_call_alone)
{
    gang_node_id id = add_box("a", 4);
    gang_worker *w;
    MUST(gang_worker_new(s.c, &w));
    s.mem.fail_at = s.mem.calls + 1;
    ck_assert_int_eq(gang_gpu_set_state(w, id, 0, GANG_GPU_UNHEALTHY), GANG_ENOMEM);
    ck_assert_uint_eq(unhealthy(id), 0);
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 0);
    s.mem.fail_at = 0;
    MUST(gang_gpu_set_state(w, id, 0, GANG_GPU_UNHEALTHY));
    s.mem.fail_at = s.mem.calls + 1;
    s.mem.fail_on = true;
    MUST(gang_gpu_set_state(w, id, 1, GANG_GPU_UNHEALTHY));
    MUST(gang_gpu_set_state(w, id, 0, GANG_GPU_OK));
    s.mem.fail_at = 0;
    ck_assert_uint_eq(unhealthy(id), 2);
}
END_TEST

/* ---- what it does to placement --------------------------------------------------------------- */

START_TEST(an_unhealthy_device_keeps_what_runs_and_takes_nothing_new)
{
    gang_node_id id = add_box("a", 2);
    gang_alloc_id whole = try_gpus(1, 1000, 0).id, half = try_gpus(1, 500, 0).id;
    ck_assert_uint_eq(stage_only_task(&s, whole).gpus, 1);
    ck_assert_uint_eq(stage_only_task(&s, half).gpus, 2);
    set_health(id, 0, GANG_GPU_UNHEALTHY);
    set_health(id, 1, GANG_GPU_UNHEALTHY);
    ck_assert_uint_eq(stage_only_task(&s, whole).gpus, 1);
    struct outcome o = try_gpus(1, 500, 0);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_DEVICE);
    ck_assert_int_eq(o.error.kind, -1);
    ck_assert_ptr_nonnull(strstr(o.error.text, "unhealthy"));
    MUST(gang_alloc_free(s.w, whole));
    EXPECT_OUTCOME(try_gpus(1, 1, 0), GANG_ENOFIT); /* what is freed there stays free */
    ck_assert_int_eq(stage_node(&s, id).gpus_free, 1);
    set_health(id, 0, GANG_GPU_OK);
    ck_assert_uint_eq(stage_only_task(&s, try_gpus(1, 1, 0).id).gpus, 1);
    set_health(id, 1, GANG_GPU_OK);
    ck_assert_uint_eq(stage_only_task(&s, try_gpus(1, 500, 0).id).gpus, 2);
}
END_TEST

START_TEST(it_is_never_the_reason_of_never)
{
    gang_node_id id = add_box("a", 2);
    struct gang_group_spec g = group_of(1, 0, 2000);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    gang_alloc_id got;
    gang_request *request = stage_request(&s, &spec);
    set_health(id, 1, GANG_GPU_UNHEALTHY);
    EXPECT_RESULT(gang_request_fits_ever(s.w, request, &error), GANG_OK, &error);
    EXPECT_RESULT(gang_alloc(s.w, request, &got, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_DEVICE);
    ck_assert_int_eq(gang_alloc_test(s.w, request, NULL), GANG_ENOFIT);
    set_health(id, 1, GANG_GPU_OK);
    MUST(gang_alloc_test(s.w, request, NULL));
    MUST(gang_alloc(s.w, request, &got, NULL));
    gang_request_free(request);
    EXPECT_OUTCOME(try_gpus(1, 3000, 0), GANG_ENEVER);
}
END_TEST

/* A short kind is reported first, but not a kind of nodes that could never hold the task. */
START_TEST(the_reason_is_the_one_that_counts)
{
    gang_node_id id = add_box("a", 2);
    add_box("b", 0);
    set_health(id, 0, GANG_GPU_UNHEALTHY);
    set_health(id, 1, GANG_GPU_UNHEALTHY);
    ck_assert_int_eq(try_gpus(1, 1000, 0).error.constraint, GANG_CONSTRAINT_DEVICE);
    add_box("c", 1);
    gang_alloc_id held = try_gpus(1, 1000, 0).id;
    struct outcome o = try_gpus(1, 1000, 0);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_KIND);
    ck_assert_int_eq(o.error.kind, GANG_KIND_GPU);
    ck_assert_int_eq(o.error.available, 0); /* that it could use */
    MUST(gang_alloc_free(s.w, held));
}
END_TEST

START_TEST(growth_waits_for_healing)
{
    gang_node_id id = add_box("a", 2);
    struct gang_group_spec g = group_of(2, 0, 1000);
    g.min = 1;
    gang_alloc_id held = stage_alloc_group(&s, &g);
    set_health(id, 1, GANG_GPU_UNHEALTHY);
    ck_assert_int_eq(gang_alloc_grow(s.w, held, 0, 1, NULL, NULL), GANG_ENOFIT);
    set_health(id, 1, GANG_GPU_OK);
    MUST(gang_alloc_grow(s.w, held, 0, 1, NULL, NULL));
}
END_TEST

/* The fullest that holds it, of those that are well. */
START_TEST(nodes_and_devices_that_are_well_are_taken)
{
    gang_node_id a = add_box("a", 1), b = add_box("b", 4);
    for (int policy = GANG_POLICY_PACK; policy <= GANG_POLICY_FIRST; policy++) {
        struct gang_group_spec g = group_of(1, 0, 1000);
        struct gang_request_spec spec = request_of(&g, 1);
        spec.policy = policy;
        set_health(a, 0, GANG_GPU_UNHEALTHY);
        set_health(b, 0, GANG_GPU_UNHEALTHY);
        set_health(b, 2, GANG_GPU_UNHEALTHY);
        gang_alloc_id one = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_only_task(&s, one).node, b);
        ck_assert_uint_eq(stage_only_task(&s, one).gpus, 2);
        g = group_of(1, 0, 500);
        gang_alloc_id two = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_only_task(&s, two).gpus, 8);
        EXPECT_OUTCOME(try_gpus(1, 501, 0), GANG_ENOFIT);
        g = group_of(1, 0, 100);
        g.gpu_devices = 2;
        EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENOFIT);
        set_health(b, 2, GANG_GPU_OK);
        gang_alloc_id three = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_only_task(&s, three).gpus, 12);
        MUST(gang_alloc_free(s.w, one));
        MUST(gang_alloc_free(s.w, two));
        MUST(gang_alloc_free(s.w, three));
    }
}
END_TEST

START_TEST(exact_places_are_taken_all_the_same)
{
    gang_node_id id = add_box("a", 3);
    struct gang_group_spec g = group_of(2, 0, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_placement place[2] = {GANG_PLACEMENT_INIT, GANG_PLACEMENT_INIT};
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id got;
    set_health(id, 0, GANG_GPU_UNHEALTHY);
    set_health(id, 1, GANG_GPU_UNHEALTHY);
    place[0].node = place[1].node = id;
    MUST(gang_alloc_adopt(s.w, request, place, 1, &got, NULL)); /* any device: a healthy one */
    ck_assert_uint_eq(stage_only_task(&s, got).gpus, 4);
    MUST(gang_alloc_free(s.w, got));
    MUST(gang_alloc_adopt(s.w, request, place, 2, &got, NULL)); /* there is but one */
    MUST(gang_alloc_free(s.w, got));
    place[0].any_devices = 0;
    place[0].gpus = 2;
    MUST(gang_alloc_adopt(s.w, request, place, 2, &got, NULL));
    const struct task_list *list = stage_tasks(&s, got);
    ck_assert_uint_eq(list->task[0].gpus, 2);
    ck_assert_uint_eq(list->task[1].gpus, 4);
    MUST(gang_alloc_free(s.w, got));
    gang_request_free(request);
}
END_TEST

/* ---- snapshots ------------------------------------------------------------------------------- */

START_TEST(a_snapshot_shows_the_health_of_its_instant)
{
    gang_node_id id = add_sick("a", 50, UINT64_C(1) << 45);
    struct gang_node_info info = {.size = sizeof(info)};
    gang_snapshot *snap;
    struct gang_group_spec g = group_of(49, 0, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    struct gang_error error = GANG_ERROR_INIT;
    MUST(gang_snapshot_new(s.c, &snap));
    set_health(id, 3, GANG_GPU_UNHEALTHY);
    MUST(gang_snapshot_take(s.w, snap));
    set_health(id, 3, GANG_GPU_OK);
    set_health(id, 45, GANG_GPU_OK);
    MUST(gang_snapshot_node_get(snap, id, &info));
    ck_assert_uint_eq(info.gpu_unhealthy, UINT64_C(1) << 45 | 8);
    ck_assert_uint_eq(unhealthy(id), 0);
    EXPECT_RESULT(gang_snapshot_test(s.w, snap, request, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_DEVICE);
    MUST(gang_alloc_test(s.w, request, NULL));
    set_health(id, 0, GANG_GPU_UNHEALTHY);
    set_health(id, 1, GANG_GPU_UNHEALTHY);
    MUST(gang_snapshot_take(s.w, snap));
    set_health(id, 1, GANG_GPU_OK);
    ck_assert_int_eq(gang_snapshot_test(s.w, snap, request, NULL), GANG_ENOFIT);
    MUST(gang_snapshot_take(s.w, snap));
    MUST(gang_snapshot_place(s.w, snap, request, NULL));
    MUST(gang_snapshot_node_get(snap, id, &info));
    ck_assert_uint_eq(info.gpu_mask, 1);
    ck_assert_uint_eq(info.gpu_unhealthy, 1);
    gang_snapshot_free(snap);
    gang_request_free(request);
}
END_TEST

/* Nodes that fill their cell to the last word, and past it. */
START_TEST(words_of_health_have_a_place_on_nodes_of_any_size)
{
    static const struct gang_amount amounts[] = {{"x0", 1}, {"x1", 2}, {"x2", 3}};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    gang_node_id id[8];
    for (int i = 0; i < 3; i++)
        MUST(gang_kind_add(s.w, amounts[i].kind, NULL, GANG_SCOPE_NODE, 0, NULL));
    for (size_t i = 0; i < 8; i++) { /* 3 to 10 words and one more */
        struct box box = {.name = names[i],
                          .cpu = 4000,
                          .gpus = 1 + 4 * (i / 2),
                          .cores = 4,
                          .amounts = amounts,
                          .amount_count = i % 4};
        id[i] = stage_add(&s, &box);
    }
    for (size_t i = 0; i < 8; i++)
        set_health(id[i], 0, GANG_GPU_UNHEALTHY);
    for (size_t i = 0; i < 8; i++) {
        struct gang_node_info info = stage_node(&s, id[i]);
        ck_assert_uint_eq(info.gpu_unhealthy, 1);
        ck_assert_int_eq(info.cpu_free, 4000);
        for (unsigned k = 0; k < 3; k++)
            ck_assert_int_eq(info.amount_free[GANG_KIND_SITE + k], k < i % 4 ? k + 1 : 0);
        set_health(id[i], 0, GANG_GPU_OK);
    }
    ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("health");
    TCase *tests = tcase_create("health");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, health_is_read_as_it_was_set);
    tcase_add_test(tests, each_of_sixty_four_devices_has_its_own);
    tcase_add_test(tests, the_first_health_is_that_of_the_description);
    tcase_add_test(tests, the_description_is_given_back_as_it_was);
    tcase_add_test(tests, a_new_description_sets_it_anew);
    tcase_add_test(tests, a_new_node_in_an_old_slot_is_well);
    tcase_add_test(tests, wrong_arguments_are_refused);
    tcase_add_test(tests, a_removed_node_is_stale_even_if_it_is_held);
    tcase_add_test(tests, memory_is_wanted_at_the_first_call_alone);
    tcase_add_test(tests, an_unhealthy_device_keeps_what_runs_and_takes_nothing_new);
    tcase_add_test(tests, it_is_never_the_reason_of_never);
    tcase_add_test(tests, the_reason_is_the_one_that_counts);
    tcase_add_test(tests, growth_waits_for_healing);
    tcase_add_test(tests, nodes_and_devices_that_are_well_are_taken);
    tcase_add_test(tests, exact_places_are_taken_all_the_same);
    tcase_add_test(tests, a_snapshot_shows_the_health_of_its_instant);
    tcase_add_test(tests, words_of_health_have_a_place_on_nodes_of_any_size);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
