/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: cores that a task has for its own, and tasks that share the others. */
#include <gangsched/gangsched.h>

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

static gang_node_id add_box(int64_t cpu, size_t cores, size_t numas, size_t gpus)
{
    struct box box = {
        .name = "n1", .cpu = cpu, .memory = GIB, .cores = cores, .numas = numas, .gpus = gpus};
    return stage_add(&s, &box);
}

static int bits(const struct gang_task *t)
{
    int count = 0;
    for (int i = 0; i < GANG_MAX_CORES / 64; i++)
        count += __builtin_popcountll(t->cores[i]);
    return count;
}

static bool has_core(const struct gang_task *t, int core)
{
    return (t->cores[core / 64] >> (core % 64) & 1) != 0;
}

START_TEST(whole_cores_are_owned)
{
    struct gang_group_spec g = group_of(3, 2000, 0);
    struct gang_task all = GANG_TASK_INIT;
    add_box(8000, 8, 0, 0);
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    for (size_t i = 0; i < 3; i++) {
        const struct gang_task *t = &list->task[i];
        ck_assert_int_eq(t->core_count, 2);
        ck_assert_int_eq(t->cpu_milli, 2000);
        ck_assert_int_eq(bits(t), 2);
        ck_assert_uint_eq(t->cores[0] & all.cores[0], 0); /* no core twice */
        all.cores[0] |= t->cores[0];
    }
    ck_assert_uint_lt(all.cores[0], 256);
}
END_TEST

START_TEST(other_amounts_run_in_the_shared_cores)
{
    const int64_t cpu[] = {1, 500, 1500, 999};
    add_box(8000, 8, 0, 0);
    for (size_t i = 0; i < 4; i++) {
        struct gang_group_spec g = group_of(1, cpu[i], 0);
        struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
        ck_assert_int_eq(t.core_count, 0);
        ck_assert_int_eq(bits(&t), 0);
        ck_assert_int_eq(t.cpu_milli, cpu[i]);
    }
}
END_TEST

START_TEST(a_task_without_cpu_has_no_cores)
{
    struct gang_group_spec g = group_of(1, 0, 1000);
    add_box(8000, 8, 0, 1);
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_int_eq(t.core_count, 0);
    ck_assert_int_eq(bits(&t), 0);
}
END_TEST

START_TEST(without_known_cores_no_task_owns_any)
{
    struct gang_group_spec g = group_of(1, 2000, 0);
    add_box(8000, 0, 0, 0);
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_int_eq(t.core_count, 0);
    ck_assert_int_eq(bits(&t), 0);
}
END_TEST

/* More millicores than cores: owned cores would starve the tasks that share. */
START_TEST(with_more_millicores_than_cores_no_task_owns_any)
{
    struct gang_group_spec g = group_of(8, 2000, 0);
    gang_node_id id = add_box(16000, 8, 0, 0);
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(list->task[i].core_count, 0);
    ck_assert_int_eq(stage_node(&s, id).core_count, 8);
    ck_assert_int_eq(stage_node(&s, id).cpu_free, 0);
}
END_TEST

/* In any order of allocations, the unowned cores carry the tasks that share. */
START_TEST(shared_tasks_always_keep_capacity)
{
    struct gang_group_spec own = group_of(1, 1000, 0), part = group_of(1, 300, 0);
    add_box(4000, 4, 0, 0);
    stage_alloc_group(&s, &part); /* 3700 are free, 3 cores can be owned */
    for (int i = 0; i < 3; i++)
        stage_alloc_group(&s, &own);
    EXPECT_OUTCOME(stage_try_group(&s, &own), GANG_ENOFIT);
    stage_alloc_group(&s, &part);
    stage_alloc_group(&s, &part);
    EXPECT_OUTCOME(stage_try_group(&s, &part), GANG_ENOFIT); /* 100 are left */
}
END_TEST

START_TEST(fewer_millicores_than_cores_limit_first)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    add_box(2500, 8, 0, 0);
    stage_alloc_group(&s, &g);
    stage_alloc_group(&s, &g);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
}
END_TEST

START_TEST(freed_cores_are_owned_again)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    gang_alloc_id id[8];
    add_box(8000, 8, 0, 0);
    for (int i = 0; i < 8; i++)
        id[i] = stage_alloc_group(&s, &g);
    for (int i = 0; i < 8; i++) {
        struct gang_task before = stage_only_task(&s, id[i]);
        MUST(gang_alloc_free(s.w, id[i]));
        id[i] = stage_alloc_group(&s, &g);
        struct gang_task after = stage_only_task(&s, id[i]);
        ck_assert_uint_eq(after.cores[0], before.cores[0]); /* the only one that was free */
    }
}
END_TEST

/* 8 cores and 4 GPUs in two NUMA domains: cores 0-3 with GPUs 2-3, cores 4-7 with GPUs 0-1. */
static void add_crossed(void)
{
    static struct box_arrays arrays;
    struct box box = {.name = "n1", .cpu = 8000, .cores = 8, .numas = 2, .gpus = 4};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    for (int i = 0; i < 4; i++)
        arrays.gpu[i].numa = i < 2;
    MUST(gang_node_add(s.w, &spec, NULL, NULL));
}

static uint64_t cores_near(const struct gang_task *t)
{
    return t->gpus & 3 ? 0xf0 : 0x0f;
}

START_TEST(cores_are_near_the_devices)
{
    struct gang_group_spec g = group_of(1, 2000, 1000);
    add_crossed();
    for (int i = 0; i < 4; i++) {
        struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
        ck_assert_int_eq(t.core_count, 2);
        ck_assert_uint_eq(t.cores[0] & ~cores_near(&t), 0);
    }
}
END_TEST

START_TEST(cores_farther_away_are_better_than_none)
{
    struct gang_group_spec g = group_of(1, 6000, 1000);
    add_crossed();
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_int_eq(t.core_count, 6);
    ck_assert_uint_eq(t.cores[0] & cores_near(&t), cores_near(&t));
}
END_TEST

/* Cores 0-3, 4-7 and 8-11; a GPU with the first and one with the last. */
START_TEST(devices_in_two_domains_have_cores_in_both)
{
    static struct box_arrays arrays;
    struct box box = {.name = "n1", .cpu = 12000, .cores = 12, .numas = 3, .gpus = 2};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    struct gang_group_spec g = group_of(1, 8000, 2000);
    arrays.gpu[1].numa = 2;
    MUST(gang_node_add(s.w, &spec, NULL, NULL));
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_uint_eq(t.cores[0], 0xf0f);
}
END_TEST

START_TEST(there_may_be_1024_cores)
{
    enum { CORES = 1024 };
    struct gang_group_spec g = group_of(1, 1000, 0);
    static gang_alloc_id id[CORES];
    static bool owned[CORES];
    gang_node_id node = add_box(1000 * CORES, CORES, 4, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    for (int i = 0; i < CORES; i++) {
        MUST(gang_alloc(s.w, request, &id[i], NULL));
        struct gang_task t = stage_only_task(&s, id[i]);
        int core = 0;
        while (!has_core(&t, core))
            core++;
        ck_assert_int_eq(t.core_count, 1);
        ck_assert_int_eq(bits(&t), 1);
        ck_assert(!owned[core]);
        owned[core] = true;
    }
    ck_assert_int_eq(stage_node(&s, node).cpu_free, 0);
    for (int i = 0; i < CORES; i++)
        MUST(gang_alloc_free(s.w, id[i]));
    gang_request_free(request);
    g.cpu_milli = 1000 * CORES;
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_int_eq(t.core_count, CORES);
    for (int i = 0; i < CORES / 64; i++)
        ck_assert_uint_eq(t.cores[i], UINT64_MAX);
}
END_TEST

/* A machine with as much of everything as there may be. */
START_TEST(the_largest_node_is_used_whole)
{
    static char name[GANG_MAX_KINDS][8];
    struct gang_amount all[GANG_MAX_KINDS];
    size_t count = 0;
    for (int kind = GANG_KIND_SITE; kind < GANG_MAX_KINDS; kind++) {
        snprintf(name[kind], sizeof(name[kind]), "k%d", kind % 100);
        MUST(gang_kind_add(s.w, name[kind], NULL, GANG_SCOPE_NODE, 0, NULL));
        all[count++] = (struct gang_amount){name[kind], GANG_MAX_AMOUNT};
    }
    struct box box = {.name = "n1",
                      .cpu = 1024000,
                      .memory = GANG_MAX_AMOUNT * GANG_PAGE_BYTES,
                      .gpus = 64,
                      .gpu_memory = 80 * GIB,
                      .cores = 1024,
                      .numas = 256,
                      .amounts = all,
                      .amount_count = count};
    gang_node_id id = stage_add(&s, &box);
    struct gang_group_spec g = group_of(1, 1024000, 64000);
    g.memory_bytes = GANG_MAX_AMOUNT * GANG_PAGE_BYTES;
    g.amounts = all;
    g.amount_count = count;
    gang_alloc_id held = stage_alloc_group(&s, &g);
    struct gang_node_info info = stage_node(&s, id);
    ck_assert_int_eq(info.cpu_free, 0);
    ck_assert_int_eq(info.memory_free, 0);
    ck_assert_int_eq(info.memory_bytes, GANG_MAX_AMOUNT * GANG_PAGE_BYTES);
    ck_assert_int_eq(info.gpu_free, 0);
    for (int kind = GANG_KIND_SITE; kind < GANG_MAX_KINDS; kind++) {
        ck_assert_int_eq(info.amount[kind], GANG_MAX_AMOUNT);
        ck_assert_int_eq(info.amount_free[kind], 0);
    }
    struct gang_task t = stage_only_task(&s, held);
    ck_assert_int_eq(t.core_count, 1024);
    ck_assert_int_eq(t.gpu_count, 64);
    ck_assert_int_eq(t.memory_bytes, info.memory_bytes);
    stage_check(&s);
    MUST(gang_alloc_free(s.w, held));
    info = stage_node(&s, id);
    ck_assert_int_eq(info.cpu_free, 1024000);
    ck_assert_int_eq(info.amount_free[31], GANG_MAX_AMOUNT);
    ck_assert_uint_eq(info.gpu_mask, UINT64_MAX);
}
END_TEST

START_TEST(the_largest_cpu_capacity_is_used_whole)
{
    struct gang_group_spec g = group_of(1, GANG_MAX_CPU_MILLI, 0);
    gang_node_id id = add_box(GANG_MAX_CPU_MILLI, 0, 0, 0);
    gang_alloc_id held = stage_alloc_group(&s, &g);
    ck_assert_int_eq(stage_node(&s, id).cpu_free, 0);
    MUST(gang_alloc_free(s.w, held));
    ck_assert_int_eq(stage_node(&s, id).cpu_free, GANG_MAX_CPU_MILLI);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cores");
    TCase *tests = tcase_create("cores");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, whole_cores_are_owned);
    tcase_add_test(tests, other_amounts_run_in_the_shared_cores);
    tcase_add_test(tests, a_task_without_cpu_has_no_cores);
    tcase_add_test(tests, without_known_cores_no_task_owns_any);
    tcase_add_test(tests, with_more_millicores_than_cores_no_task_owns_any);
    tcase_add_test(tests, shared_tasks_always_keep_capacity);
    tcase_add_test(tests, fewer_millicores_than_cores_limit_first);
    tcase_add_test(tests, freed_cores_are_owned_again);
    tcase_add_test(tests, cores_are_near_the_devices);
    tcase_add_test(tests, cores_farther_away_are_better_than_none);
    tcase_add_test(tests, devices_in_two_domains_have_cores_in_both);
    tcase_add_test(tests, there_may_be_1024_cores);
    tcase_add_test(tests, the_largest_node_is_used_whole);
    tcase_add_test(tests, the_largest_cpu_capacity_is_used_whole);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
