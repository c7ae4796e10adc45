/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: how cores and network cards go with GPUs; tasks that lie in one NUMA domain or nowhere.
 *   GANG_SEED   of the random machines */
#include <gangsched/gangsched.h>

#include "chance.h"
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

/* 16 cores in four domains of four, 0-1 in one package, 2-3 in the other; two GPUs in each. */
static struct gang_node_spec four_domains(void)
{
    static const struct box box = {
        .name = "n1", .cpu = 16000, .memory = 64 * GIB, .cores = 16, .numas = 4, .gpus = 8};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    for (int i = 0; i < 4; i++) {
        arrays.numa[i].package = i / 2;
        arrays.numa[i].memory_bytes = 16 * GIB;
    }
    return spec;
}

static gang_node_id add(const struct gang_node_spec *spec)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_node_id id;
    gang_result r = gang_node_add(s.w, spec, &id, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    return id;
}

static struct gang_group_spec task_of(int64_t cpu_milli, int64_t gpu_milli, int32_t numa)
{
    struct gang_group_spec g = group_of(1, cpu_milli, gpu_milli);
    g.numa = numa;
    return g;
}

static struct gang_task place(int64_t cpu_milli, int64_t gpu_milli, int32_t numa)
{
    struct gang_group_spec g = task_of(cpu_milli, gpu_milli, numa);
    return stage_only_task(&s, stage_alloc_group(&s, &g));
}

/* A task that takes exactly these GPUs and the cores that go with them. */
static gang_alloc_id hold(gang_node_id node, uint64_t gpus, int64_t cpu_milli)
{
    struct gang_group_spec g = group_of(1, cpu_milli, 1000 * __builtin_popcountll(gpus));
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_placement at = GANG_PLACEMENT_INIT;
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    at.node = node;
    at.gpus = gpus;
    at.any_devices = 0;
    MUST(gang_alloc_adopt(s.w, request, &at, 1, &id, NULL));
    gang_request_free(request);
    return id;
}

static void assert_refused(const struct gang_group_spec *g, gang_result result, int32_t why)
{
    struct outcome o = stage_try_group(&s, g);
    EXPECT_OUTCOME(o, result);
    ck_assert_int_eq(o.error.constraint, why);
}

/* ---- strictly in one domain ---- */

START_TEST(strict_tasks_lie_in_one_domain)
{
    struct gang_node_spec spec = four_domains();
    add(&spec);
    uint64_t gpus = 0, cores = 0;
    for (int i = 0; i < 4; i++) {
        struct gang_task t = place(3000, 2000, GANG_NUMA_STRICT);
        int d = __builtin_ctzll(t.gpus) / 2;
        ck_assert_uint_eq(t.gpus, UINT64_C(3) << 2 * d);
        ck_assert_uint_eq(t.cores[0] & ~(UINT64_C(15) << 4 * d), 0);
        ck_assert_int_eq(t.core_count, 3);
        ck_assert_uint_eq(t.gpus & gpus, 0);
        ck_assert_uint_eq(t.cores[0] & cores, 0);
        gpus |= t.gpus;
        cores |= t.cores[0];
    }
    struct gang_group_spec two = task_of(2000, 0, GANG_NUMA_STRICT);
    assert_refused(&two, GANG_ENOFIT, GANG_CONSTRAINT_NUMA); /* four cores are free, one a domain */
    place(2000, 0, GANG_NUMA_PREFER);
}
END_TEST

START_TEST(strict_tasks_that_fit_no_domain_never_fit)
{
    struct gang_node_spec spec = four_domains();
    add(&spec);
    struct gang_group_spec g = task_of(0, 3000, GANG_NUMA_STRICT);
    assert_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_NUMA);
    g = task_of(5000, 0, GANG_NUMA_STRICT);
    assert_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_NUMA);
    g = task_of(5000, 1000, GANG_NUMA_STRICT);
    assert_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_NUMA);
    struct outcome o = stage_try_group(&s, &g);
    ck_assert_ptr_nonnull(strstr(o.error.text, "NUMA"));
    g = task_of(1000, 9000, GANG_NUMA_STRICT); /* not even the node has them */
    assert_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_KIND);
    g = task_of(17000, 1000, GANG_NUMA_STRICT);
    assert_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_KIND);
}
END_TEST

/* The best pair is linked, but its domain has no cores: the other one takes the task. */
START_TEST(a_good_set_without_cores_hides_no_other)
{
    struct gang_node_spec spec = four_domains();
    struct gang_link_spec link = {0, 1, GANG_LINK_NVLINK, 1, 300000};
    spec.links = &link;
    spec.link_count = 1;
    gang_node_id node = add(&spec);
    gang_alloc_id held =
        hold(node, 0, 2000); /* cores 0-1: without GPUs the first of equal domains */
    ck_assert_uint_eq(stage_only_task(&s, held).cores[0], 0x03);
    struct gang_group_spec g = task_of(3000, 2000, GANG_NUMA_STRICT);
    g.count = g.min = 3;
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    for (size_t i = 0; i < list->count; i++)
        ck_assert_uint_eq(list->task[i].gpus & 3, 0);
    g.count = g.min = 1;
    assert_refused(&g, GANG_ENOFIT, GANG_CONSTRAINT_NUMA);
    g.numa = GANG_NUMA_PREFER;
    g.cpu_milli = 0;
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 3);
}
END_TEST

START_TEST(strict_memory_is_that_of_the_domain)
{
    struct gang_node_spec spec = four_domains();
    arrays.numa[2].memory_bytes = 32 * GIB;
    add(&spec);
    struct gang_group_spec g = task_of(0, 1000, GANG_NUMA_STRICT);
    g.memory_bytes = 17 * GIB;
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_uint_eq(t.gpus & ~UINT64_C(0x30), 0);
    g.memory_bytes = 33 * GIB;
    assert_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_NUMA);
    g.gpu_milli = 0; /* neither GPUs nor cores, but still one domain */
    assert_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_NUMA);
    g.memory_bytes = 32 * GIB;
    stage_alloc_group(&s, &g);
}
END_TEST

START_TEST(unknown_memory_of_a_domain_is_not_checked)
{
    struct gang_node_spec spec = four_domains();
    arrays.numa[3].memory_bytes = 0;
    add(&spec);
    struct gang_group_spec g = task_of(1000, 1000, GANG_NUMA_STRICT);
    g.memory_bytes = 64 * GIB;
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_uint_eq(t.gpus & ~UINT64_C(0xc0), 0);
    ck_assert_uint_eq(t.cores[0] & ~UINT64_C(0xf000), 0);
}
END_TEST

START_TEST(a_machine_without_domains_is_one)
{
    struct box box = {.name = "n1", .cpu = 8000, .memory = 8 * GIB, .cores = 8, .gpus = 4};
    stage_add(&s, &box);
    struct gang_group_spec g = task_of(8000, 4000, GANG_NUMA_STRICT);
    g.memory_bytes = 8 * GIB;
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_uint_eq(t.gpus, 15);
    ck_assert_uint_eq(t.cores[0], 255);
}
END_TEST

START_TEST(devices_and_cores_of_unknown_domain_are_in_none)
{
    struct gang_node_spec spec = four_domains();
    for (int i = 0; i < 8; i++)
        arrays.gpu[i].numa = i == 5 ? 2 : -1;
    for (int i = 8; i < 11; i++)
        arrays.core[i].numa = -1;
    add(&spec);
    struct gang_group_spec g = task_of(2000, 1000, GANG_NUMA_STRICT);
    assert_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_NUMA);
    struct gang_task t = place(1000, 1000, GANG_NUMA_STRICT);
    ck_assert_uint_eq(t.gpus, 1 << 5);
    ck_assert_uint_eq(t.cores[0], 1 << 11);
    t = place(3000, 1000, GANG_NUMA_PREFER);
    ck_assert_uint_ne(t.gpus, 0);
    ck_assert_int_eq(t.core_count, 3);
}
END_TEST

START_TEST(parts_of_cores_bind_only_the_devices)
{
    struct gang_node_spec spec = four_domains();
    add(&spec);
    struct gang_task t = place(7500, 2000, GANG_NUMA_STRICT); /* more than a domain's cores */
    ck_assert_int_eq(t.core_count, 0);
    ck_assert_uint_eq(t.gpus & t.gpus >> 1 & 0x55, t.gpus & 0x55);
    t = place(8500, 0, GANG_NUMA_STRICT);
    ck_assert_int_eq(t.core_count, 0);
}
END_TEST

START_TEST(shares_of_several_devices_lie_in_one_domain)
{
    struct gang_node_spec spec = four_domains();
    add(&spec);
    struct gang_group_spec g = task_of(1000, 400, GANG_NUMA_STRICT);
    g.gpu_devices = 2;
    g.count = g.min = 8; /* two a domain */
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    for (size_t i = 0; i < list->count; i++) {
        int d = __builtin_ctzll(list->task[i].gpus) / 2;
        ck_assert_uint_eq(list->task[i].gpus, UINT64_C(3) << 2 * d);
        ck_assert_uint_eq(list->task[i].cores[0] & ~(UINT64_C(15) << 4 * d), 0);
    }
    g.count = g.min = 1;
    assert_refused(&g, GANG_ENOFIT, GANG_CONSTRAINT_KIND);
    g.gpu_milli = 200;
    g.gpu_devices = 3;
    assert_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_NUMA);
}
END_TEST

/* A share fills a device that is begun, also strictly; then the tightest domain. */
START_TEST(strict_tasks_pack)
{
    struct gang_node_spec spec = four_domains();
    add(&spec);
    uint64_t first = place(0, 300, GANG_NUMA_STRICT).gpus;
    ck_assert_uint_eq(place(1000, 300, GANG_NUMA_STRICT).gpus, first);
    struct gang_task t = place(2000, 0, GANG_NUMA_STRICT);
    struct gang_task u = place(1000, 0, GANG_NUMA_STRICT);
    ck_assert_uint_eq(t.cores[0] & ~UINT64_C(15), 0); /* three were free beside the share */
    ck_assert_uint_eq(u.cores[0] & ~UINT64_C(15), 0);
}
END_TEST

START_TEST(strict_growth_is_refused_when_no_domain_is_left)
{
    struct gang_node_spec spec = four_domains();
    add(&spec);
    struct gang_group_spec g = task_of(3000, 1000, GANG_NUMA_STRICT);
    int64_t granted;
    g.count = 5;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    MUST(gang_alloc_grow(s.w, id, 0, 4, &granted, NULL));
    ck_assert_int_eq(granted, 3);
    ck_assert_int_eq(gang_alloc_grow(s.w, id, 0, 1, &granted, NULL), GANG_ENEVER);
}
END_TEST

START_TEST(adopted_tasks_may_lie_anywhere)
{
    struct gang_node_spec spec = four_domains();
    gang_node_id node = add(&spec);
    struct gang_group_spec g = task_of(6000, 2000, GANG_NUMA_STRICT);
    struct gang_request_spec rs = request_of(&g, 1);
    struct gang_placement at = GANG_PLACEMENT_INIT;
    gang_request *request = stage_request(&s, &rs);
    gang_alloc_id id;
    at.node = node;
    at.any_devices = 0;
    at.gpus = 1 << 0 | 1 << 7;
    MUST(gang_alloc_adopt(s.w, request, &at, 1, &id, NULL));
    struct gang_task t = stage_only_task(&s, id);
    ck_assert_uint_eq(t.gpus, at.gpus);
    ck_assert_int_eq(t.core_count, 6);
    ck_assert_int_eq(__builtin_popcountll(t.cores[0] & 0xf00f), 6); /* three beside each */
    gang_request_free(request);
}
END_TEST

START_TEST(a_snapshot_plans_strictly_too)
{
    struct gang_node_spec spec = four_domains();
    gang_node_id node = add(&spec);
    gang_alloc_id held[4];
    for (int i = 0; i < 4; i++)
        held[i] = hold(node, UINT64_C(1) << 2 * i, 2000);
    struct gang_group_spec g = task_of(3000, 1000, GANG_NUMA_STRICT);
    struct gang_request_spec rs = request_of(&g, 1);
    gang_request *request = stage_request(&s, &rs);
    gang_snapshot *snapshot;
    struct gang_error error = GANG_ERROR_INIT;
    MUST(gang_snapshot_new(s.c, &snapshot));
    MUST(gang_snapshot_take(s.w, snapshot));
    EXPECT_RESULT(gang_snapshot_test(s.w, snapshot, request, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_NUMA);
    MUST(gang_snapshot_release(snapshot, held[2]));
    MUST(gang_snapshot_test(s.w, snapshot, request, NULL));
    gang_snapshot_free(snapshot);
    gang_request_free(request);
}
END_TEST

/* The four domains' GPUs are slices of four parents, two each, that a task takes together. */
static gang_node_id add_sliced(void)
{
    static const struct gang_profile_spec profile = {"both", NULL, 2, 0x1};
    static const char *const parent[4] = {"a", "b", "c", "d"};
    struct gang_node_spec spec = four_domains();
    for (int i = 0; i < 8; i++) {
        arrays.gpu[i].parent = parent[i / 2];
        arrays.gpu[i].mig_index = i % 2;
    }
    spec.profiles = &profile;
    spec.profile_count = 1;
    return add(&spec);
}

START_TEST(instances_of_profiles_lie_in_one_domain)
{
    gang_node_id node = add_sliced();
    hold(node, 0, 2000); /* two cores of the first domain */
    struct gang_group_spec g = task_of(3000, 1000, GANG_NUMA_STRICT);
    g.profile = "both";
    g.count = g.min = 3;
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    for (size_t i = 0; i < list->count; i++) {
        int d = __builtin_ctzll(list->task[i].gpus) / 2;
        ck_assert_int_ne(d, 0);
        ck_assert_uint_eq(list->task[i].gpus, UINT64_C(3) << 2 * d);
        ck_assert_uint_eq(list->task[i].cores[0] & ~(UINT64_C(15) << 4 * d), 0);
    }
    g.count = g.min = 1;
    assert_refused(&g, GANG_ENOFIT, GANG_CONSTRAINT_NUMA);
    g.gpu_milli = 2000;
    assert_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_NUMA);
}
END_TEST

/* Cores are elsewhere: the instance stays whole. */
START_TEST(instances_of_profiles_are_not_moved)
{
    gang_node_id node = add_sliced();
    hold(node, 0, 4000);
    struct gang_group_spec g = task_of(3000, 1000, GANG_NUMA_PREFER);
    g.profile = "both";
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_uint_eq(t.gpus, 3);
    ck_assert_int_eq(t.core_count, 3);
}
END_TEST

/* The second model has a link, the first is liked better: first one domain with it, then the
 * other. */
START_TEST(ranked_models_go_before_links_strictly_too)
{
    static const char *const models[] = {"H100", "A100"};
    struct gang_link_spec link = {0, 1, GANG_LINK_NVLINK, 1, 0};
    struct gang_node_spec spec = four_domains();
    spec.links = &link;
    spec.link_count = 1;
    for (int i = 0; i < 8; i++)
        arrays.gpu[i].model = models[i / 2 == 2 ? 0 : 1];
    add(&spec);
    struct gang_group_spec g = task_of(2000, 2000, GANG_NUMA_STRICT);
    g.gpu_models = models;
    g.gpu_model_count = 2;
    g.models_ranked = 1;
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 3 << 4);
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 3 << 0);
}
END_TEST

/* An unavailable device breaks no pair: no job will miss it. */
START_TEST(unusable_devices_are_not_spared)
{
    struct gang_link_spec links[] = {{0, 7, GANG_LINK_NVLINK, 1, 0},
                                     {1, 2, GANG_LINK_NVLINK, 1, 0}};
    struct gang_node_spec spec = four_domains();
    spec.links = links;
    spec.link_count = 2;
    for (int i = 0; i < 8; i++)
        arrays.gpu[i].state = i > 2 ? GANG_GPU_UNHEALTHY : GANG_GPU_OK;
    add(&spec);
    ck_assert_uint_eq(place(0, 1000, GANG_NUMA_PREFER).gpus, 1 << 0);
    ck_assert_uint_eq(place(1000, 2000, GANG_NUMA_PREFER).gpus, 1 << 1 | 1 << 2);
}
END_TEST

/* A link into another domain counts, too, when something is taken strictly. */
START_TEST(strict_tasks_leave_the_best_to_others)
{
    struct gang_link_spec link = {0, 7, GANG_LINK_NVLINK, 1, 0};
    struct gang_node_spec spec = four_domains();
    spec.links = &link;
    spec.link_count = 1;
    gang_node_id node = add(&spec);
    hold(node, 0x3c, 0); /* domains 1 and 2 */
    ck_assert_uint_eq(place(0, 1000, GANG_NUMA_STRICT).gpus, 1 << 1);
    ck_assert_uint_eq(place(0, 1000, GANG_NUMA_STRICT).gpus, 1 << 6);
    ck_assert_uint_eq(place(0, 2000, GANG_NUMA_PREFER).gpus, 1 << 0 | 1 << 7);
}
END_TEST

/* ---- preferably ---- */

START_TEST(equal_devices_go_where_the_cores_are)
{
    struct gang_node_spec spec = four_domains();
    gang_node_id node = add(&spec);
    hold(node, 0, 3000); /* one core is left in domain 0 */
    struct gang_task t = place(2000, 1000, GANG_NUMA_PREFER);
    int d = __builtin_ctzll(t.gpus) / 2;
    ck_assert_int_ne(d, 0);
    ck_assert_uint_eq(t.cores[0] & ~(UINT64_C(15) << 4 * d), 0);
    t = place(3000, 2000, GANG_NUMA_PREFER);
    d = __builtin_ctzll(t.gpus) / 2;
    ck_assert_uint_eq(t.gpus, UINT64_C(3) << 2 * d);
    ck_assert_int_ne(d, 0);
    t = place(0, 1000, GANG_NUMA_PREFER); /* half of domain 1 is gone already: pairs stay whole */
    ck_assert_uint_eq(t.gpus, 1 << 3);
}
END_TEST

START_TEST(better_links_go_before_cores)
{
    struct gang_node_spec spec = four_domains();
    struct gang_link_spec link = {0, 1, GANG_LINK_NVLINK, 1, 0};
    spec.links = &link;
    spec.link_count = 1;
    gang_node_id node = add(&spec);
    hold(node, 0, 4000);
    struct gang_task t = place(2000, 2000, GANG_NUMA_PREFER);
    ck_assert_uint_eq(t.gpus, 3);
    ck_assert_int_eq(t.core_count, 2);
    ck_assert_uint_eq(t.cores[0], 0x30); /* of one other domain */
}
END_TEST

START_TEST(cores_are_dealt_out_as_the_devices_are)
{
    struct gang_node_spec spec = four_domains();
    gang_node_id node = add(&spec);
    gang_alloc_id id = hold(node, 0x13, 6000); /* two of domain 0, one of domain 2 */
    ck_assert_uint_eq(stage_only_task(&s, id).cores[0], 0x30f);
    MUST(gang_alloc_free(s.w, id));
    id = hold(node, 0x11, 7000);
    ck_assert_int_eq(__builtin_popcountll(stage_only_task(&s, id).cores[0] & 0xf0f), 7);
}
END_TEST

START_TEST(without_devices_one_domain_is_filled)
{
    struct gang_node_spec spec = four_domains();
    gang_node_id node = add(&spec);
    hold(node, 1 << 2, 2000); /* two cores of domain 1 are left */
    ck_assert_uint_eq(place(2000, 0, GANG_NUMA_PREFER).cores[0], 0xc0);
    ck_assert_uint_eq(place(3000, 0, GANG_NUMA_PREFER).cores[0], 0x07);
    ck_assert_uint_eq(place(6000, 0, GANG_NUMA_PREFER).cores[0] & ~UINT64_C(0xff00), 0);
    ck_assert_uint_eq(place(1000, 0, GANG_NUMA_PREFER).cores[0], 0x08);
}
END_TEST

START_TEST(as_few_domains_as_do)
{
    struct gang_node_spec spec = four_domains();
    gang_node_id node = add(&spec);
    hold(node, 0x41, 2000); /* three cores are left in domains 0 and 3 */
    struct gang_task t = place(7000, 0, GANG_NUMA_PREFER);
    ck_assert_uint_eq(t.cores[0], 0xfe); /* a whole one, and the tightest for the rest */
}
END_TEST

START_TEST(without_a_policy_the_lowest_cores_are_taken)
{
    struct gang_node_spec spec = four_domains();
    gang_node_id node = add(&spec);
    hold(node, 0, 1000);
    struct gang_task t = place(6000, 1000, GANG_NUMA_NONE);
    ck_assert_uint_eq(t.cores[0], 0x7e);
    t = place(4000, 0, GANG_NUMA_NONE);
    ck_assert_uint_eq(t.cores[0], 0x780);
}
END_TEST

/* ---- network cards ---- */

START_TEST(of_equal_devices_those_near_a_card)
{
    static const struct gang_nic_spec nics[] = {{"mlx5_0", NULL, 2, 0}, {"eth0", NULL, -1, 0}};
    struct gang_node_spec spec = four_domains();
    spec.nics = nics;
    spec.nic_count = 2;
    add(&spec);
    struct gang_group_spec g = task_of(0, 1000, GANG_NUMA_PREFER);
    g.near_nic = 1;
    gang_alloc_id a = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_only_task(&s, a).gpus, 1 << 4);
    MUST(gang_alloc_free(s.w, a));
    g.gpu_milli = 2000;
    a = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_only_task(&s, a).gpus, 3 << 4);
    MUST(gang_alloc_free(s.w, a));
    g.gpu_milli = 3000; /* and two packages; one has the card */
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus & ~UINT64_C(0xf0), 0);
    g.near_nic = 0;
    g.gpu_milli = 2000;
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 3);
}
END_TEST

/* It is a preference of less weight than links, and of more than the cores. */
START_TEST(a_card_goes_behind_links_and_before_cores)
{
    static const struct gang_nic_spec nic = {"mlx5_0", NULL, 0, 0};
    struct gang_link_spec link = {6, 7, GANG_LINK_XGMI, 1, 50000};
    struct gang_node_spec spec = four_domains();
    spec.nics = &nic;
    spec.nic_count = 1;
    spec.links = &link;
    spec.link_count = 1;
    gang_node_id node = add(&spec);
    struct gang_group_spec g = task_of(2000, 2000, GANG_NUMA_PREFER);
    g.near_nic = 1;
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 3 << 6);
    hold(node, 0, 4000);
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_uint_eq(t.gpus, 3);
    ck_assert_uint_eq(t.cores[0] & 0x0f, 0);
    struct gang_group_spec strict = g;
    strict.numa = GANG_NUMA_STRICT;
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &strict)).gpus & 0x3c, 0x0c);
}
END_TEST

START_TEST(in_a_machine_without_domains_all_are_near_its_cards)
{
    static const struct gang_nic_spec nic = {"eth0", NULL, -1, 0};
    struct box box = {.name = "n1", .cpu = 8000, .gpus = 4};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    spec.nics = &nic;
    spec.nic_count = 1;
    add(&spec);
    struct gang_group_spec g = task_of(0, 2000, GANG_NUMA_STRICT);
    g.near_nic = 1;
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 3);
}
END_TEST

/* ---- links as they are described ---- */

START_TEST(more_bandwidth_wins)
{
    static const struct gang_link_spec links[] = {{0, 1, GANG_LINK_NVLINK, 1, 25000},
                                                  {2, 5, GANG_LINK_OTHER, 2, 50000},
                                                  {3, 6, GANG_LINK_NVLINK, 1, 0}};
    struct gang_node_spec spec = four_domains();
    spec.links = links;
    spec.link_count = 3;
    add(&spec);
    ck_assert_uint_eq(place(0, 2000, GANG_NUMA_PREFER).gpus, 1 << 2 | 1 << 5);
    ck_assert_uint_eq(place(0, 2000, GANG_NUMA_PREFER).gpus, 3);
    ck_assert_uint_eq(place(0, 1000, GANG_NUMA_PREFER).gpus, 1 << 4); /* breaks no pair */
    ck_assert_uint_eq(place(0, 2000, GANG_NUMA_PREFER).gpus, 1 << 3 | 1 << 6);
    ck_assert_uint_eq(place(0, 1000, GANG_NUMA_PREFER).gpus, 1 << 7);
}
END_TEST

/* Another machine of the same sizes is not taken for one that is remembered. */
START_TEST(machines_that_differ_in_links_have_types_of_their_own)
{
    struct gang_link_spec link = {0, 7, GANG_LINK_NVLINK, 1, 0};
    struct gang_node_spec spec = four_domains();
    spec.links = &link;
    spec.link_count = 1;
    for (int i = 0; i < 6; i++) {
        struct gang_group_spec g = task_of(0, 2000, GANG_NUMA_PREFER);
        link.a = i;
        gang_node_id node = add(&spec);
        gang_alloc_id id = stage_alloc_group(&s, &g);
        ck_assert_uint_eq(stage_only_task(&s, id).gpus, UINT64_C(1) << i | 1 << 7);
        MUST(gang_alloc_free(s.w, id));
        MUST(gang_node_remove(s.w, node));
        MUST(gang_cluster_recycle(s.c)); /* the next shape may lie where this one was */
    }
}
END_TEST

/* ---- as many as fit ---- */

/* Random machines, some things taken: exactly as many strict tasks go there as the domains hold. */
START_TEST(as_many_strict_tasks_as_the_domains_hold)
{
    chance_state = test_seed();
    for (int round = 0; round < 300; round++) {
        struct box box = {.name = "n1", .cpu = 64000, .cores = 64, .numas = (size_t)(1 + below(6))};
        box.gpus = index_below(17);
        struct gang_node_spec spec = box_spec(&box, &arrays);
        struct gang_link_spec link[16];
        for (size_t i = 0; i < box.gpus; i++)
            arrays.gpu[i].numa = (int32_t)below((int64_t)box.numas + 1) - 1;
        for (size_t i = 0; i < 64; i++)
            arrays.core[i].numa = (int32_t)below((int64_t)box.numas + 1) - 1;
        for (size_t i = 0; i + 1 < box.gpus; i += 2)
            link[i / 2] = (struct gang_link_spec){(int32_t)i, (int32_t)i + 1, GANG_LINK_NVLINK, 1,
                                                  1000 * below(3)};
        spec.links = link;
        spec.link_count = box.gpus / 2;
        gang_node_id node = add(&spec);
        struct gang_group_spec other =
            group_of(20, 1000 * below(3), box.gpus ? 1000 * below(3) : 0);
        other.min = 1;
        struct outcome before = stage_try_group(&s, &other);
        if (before.result == GANG_OK)
            (void)!gang_alloc_grow(s.w, before.id, 0, 1 + below(8), NULL, NULL);

        struct gang_node_info info = stage_node(&s, node);
        uint64_t cores = UINT64_MAX;
        if (before.result == GANG_OK) {
            const struct task_list *list = stage_tasks(&s, before.id);
            for (size_t i = 0; i < list->count; i++)
                cores &= ~list->task[i].cores[0];
        }
        int cpu = (int)below(6), gpus = (int)below(4);
        cpu = cpu || gpus ? cpu : 1;
        int64_t holds = 0;
        for (int d = 0; d < (int)box.numas; d++) {
            int here = 0, there = 0;
            for (size_t i = 0; i < box.gpus; i++)
                here += arrays.gpu[i].numa == d && (info.gpu_mask >> i & 1);
            for (size_t i = 0; i < 64; i++)
                there += arrays.core[i].numa == d && (cores >> i & 1);
            int by_gpus = gpus ? here / gpus : 64, by_cores = cpu ? there / cpu : 64;
            holds += by_gpus < by_cores ? by_gpus : by_cores;
        }
        struct gang_group_spec g = task_of(1000 * cpu, 1000 * gpus, GANG_NUMA_STRICT);
        g.count = g.min = holds + 1;
        gang_result r = stage_try_group(&s, &g).result;
        ck_assert(r == GANG_ENOFIT || r == GANG_ENEVER);
        g.count = g.min = holds;
        if (holds)
            stage_alloc_group(&s, &g);
        for (gang_alloc_id at; (at = gang_alloc_next(s.c, GANG_ID_NONE)) != GANG_ID_NONE;)
            MUST(gang_alloc_free(s.w, at));
        MUST(gang_node_remove(s.w, node));
    }
}
END_TEST

/* ---- what is refused at once ---- */

START_TEST(an_unknown_policy_is_refused)
{
    struct gang_group_spec g = task_of(1000, 1000, 3);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error,
                 "groups[0].numa", NULL);
    g.numa = -1;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
    g.numa = GANG_NUMA_NONE;
    g.near_nic = 2;
    EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error,
                 "groups[0].near_nic", NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("numa");
    TCase *tests = tcase_create("numa");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, strict_tasks_lie_in_one_domain);
    tcase_add_test(tests, strict_tasks_that_fit_no_domain_never_fit);
    tcase_add_test(tests, a_good_set_without_cores_hides_no_other);
    tcase_add_test(tests, strict_memory_is_that_of_the_domain);
    tcase_add_test(tests, unknown_memory_of_a_domain_is_not_checked);
    tcase_add_test(tests, a_machine_without_domains_is_one);
    tcase_add_test(tests, devices_and_cores_of_unknown_domain_are_in_none);
    tcase_add_test(tests, parts_of_cores_bind_only_the_devices);
    tcase_add_test(tests, shares_of_several_devices_lie_in_one_domain);
    tcase_add_test(tests, strict_tasks_pack);
    tcase_add_test(tests, strict_growth_is_refused_when_no_domain_is_left);
    tcase_add_test(tests, adopted_tasks_may_lie_anywhere);
    tcase_add_test(tests, a_snapshot_plans_strictly_too);
    tcase_add_test(tests, instances_of_profiles_lie_in_one_domain);
    tcase_add_test(tests, instances_of_profiles_are_not_moved);
    tcase_add_test(tests, ranked_models_go_before_links_strictly_too);
    tcase_add_test(tests, unusable_devices_are_not_spared);
    tcase_add_test(tests, strict_tasks_leave_the_best_to_others);
    tcase_add_test(tests, equal_devices_go_where_the_cores_are);
    tcase_add_test(tests, better_links_go_before_cores);
    tcase_add_test(tests, cores_are_dealt_out_as_the_devices_are);
    tcase_add_test(tests, without_devices_one_domain_is_filled);
    tcase_add_test(tests, as_few_domains_as_do);
    tcase_add_test(tests, without_a_policy_the_lowest_cores_are_taken);
    tcase_add_test(tests, of_equal_devices_those_near_a_card);
    tcase_add_test(tests, a_card_goes_behind_links_and_before_cores);
    tcase_add_test(tests, in_a_machine_without_domains_all_are_near_its_cards);
    tcase_add_test(tests, more_bandwidth_wins);
    tcase_add_test(tests, machines_that_differ_in_links_have_types_of_their_own);
    tcase_add_test(tests, as_many_strict_tasks_as_the_domains_hold);
    tcase_add_test(tests, an_unknown_policy_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
