/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: domains inside a machine, slices, spreading, bounds, and few nodes. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
static const char *const levels[] = {"block", "rack"};
static gang_node_id node[16];
static int nodes;

static void open_stage(void)
{
    stage_open(&s, levels, 2);
    nodes = 0;
}

static void close_stage(void)
{
    stage_close(&s);
}

/* A node in a rack of block "b" (NULL: in none) with so many GPUs and named cores, dealt out to two
 * NUMA domains on a package each. GPUs 2i and 2i + 1 are linked. */
static int add_machine(const char *rack, size_t gpus, size_t cores, const char *label)
{
    static struct gang_gpu_spec gpu[GANG_MAX_GPUS];
    static struct gang_core_spec core[GANG_MAX_CORES];
    struct gang_link_spec link[GANG_MAX_GPUS / 2];
    struct gang_numa_spec numa[2] = {{0, 0, 0}, {1, 1, 0}};
    struct gang_label place[] = {{"block", "b"}, {"rack", rack}}, color = {"color", label};
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    char name[8];
    for (size_t i = 0; i < gpus; i++) {
        gpu[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
        gpu[i].numa = i * 2 >= gpus;
        if (i % 2 == 0 && i + 1 < gpus)
            link[i / 2] =
                (struct gang_link_spec){(int32_t)i, (int32_t)i + 1, GANG_LINK_NVLINK, 1, 50000};
    }
    for (size_t i = 0; i < cores; i++) {
        core[i] = (struct gang_core_spec){.os_index = (int32_t)i, .numa = i * 2 >= cores};
        core[i].threads = 1;
    }
    snprintf(name, sizeof(name), "n%d", nodes);
    spec.name = name;
    spec.cpu_milli = 1000 * (int64_t)cores;
    spec.gpus = gpu;
    spec.gpu_count = gpus;
    spec.links = link;
    spec.link_count = gpus / 2;
    spec.numas = numa;
    spec.numa_count = 2;
    spec.cores = core;
    spec.core_count = cores;
    spec.topology = place;
    spec.topology_count = rack ? 2 : 0;
    spec.labels = &color;
    spec.label_count = label != NULL;
    MUST(gang_node_add(s.w, &spec, &node[nodes], NULL));
    return nodes++;
}

static int add(const char *rack, size_t gpus, size_t cores)
{
    return add_machine(rack, gpus, cores, NULL);
}

/* Take tasks on a node by name. */
static gang_alloc_id take(int i, int64_t count, int64_t cpu, int64_t gpu)
{
    char name[8];
    const char *value = name;
    struct gang_label_rule rule = {"node", &value, 1, GANG_LABEL_IN, 0};
    struct gang_group_spec g = group_of(count, cpu, gpu);
    snprintf(name, sizeof(name), "n%d", i);
    g.labels = &rule;
    g.label_count = 1;
    return stage_alloc_group(&s, &g);
}

static uint64_t gpus_of(gang_alloc_id id)
{
    const struct task_list *list = stage_tasks(&s, id);
    uint64_t gpus = 0;
    for (size_t i = 0; i < list->count; i++)
        gpus |= list->task[i].gpus;
    return gpus;
}

/* "2 0 4": tasks on each node. */
static const char *shares(gang_alloc_id id)
{
    static char text[64];
    text[0] = '\0';
    for (int i = 0; i < nodes; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), i ? " %zu" : "%zu",
                 stage_tasks_on(&s, id, node[i]));
    return text;
}

static void grow(gang_alloc_id id, int64_t tasks, int64_t want)
{
    int64_t granted = -1;
    gang_result r = gang_alloc_grow(s.w, id, 0, tasks, &granted, NULL);
    ck_assert_int_eq(granted, want);
    ck_assert_int_eq(r, want ? GANG_OK : GANG_ENOFIT);
}

/* ---- domains inside a machine ---- */

START_TEST(a_gang_lies_on_one_node)
{
    struct gang_group_spec g = group_of(4, 1000, 1000);
    g.same = "node";
    add(NULL, 3, 8);
    add(NULL, 4, 8);
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "0 4");
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    g.count = g.min = 5;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

START_TEST(a_job_of_two_groups_lies_on_one_node)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 1000), group_of(1, 4000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    spec.same = "node";
    add(NULL, 2, 5); /* too few cores */
    add(NULL, 2, 6);
    ck_assert_str_eq(shares(stage_alloc(&s, &spec)), "0 3");
}
END_TEST

START_TEST(the_gpus_of_a_gang_lie_in_one_numa_domain)
{
    struct gang_group_spec g = group_of(2, 0, 1000);
    g.same = "numa";
    add(NULL, 4, 0);
    take(0, 1, 0, 1000); /* one of the two domains is not whole any more */
    ck_assert_uint_eq(gpus_of(stage_alloc_group(&s, &g)), 0xc);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    g.count = g.min = 3;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    g.same = "package";
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

START_TEST(the_cores_of_a_gang_lie_in_one_numa_domain)
{
    struct gang_group_spec g = group_of(2, 2000, 0);
    g.same = "numa";
    add(NULL, 0, 8);
    take(0, 1, 1000, 0);
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    ck_assert_uint_eq(list->task[0].cores[0] | list->task[1].cores[0], 0xf0);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    g.cpu_milli = 1500; /* runs in unowned cores, which belong to no domain */
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

START_TEST(the_gpus_of_a_gang_lie_on_one_island)
{
    struct gang_group_spec g = group_of(2, 0, 1000);
    g.same = "island";
    add(NULL, 4, 0);
    gang_alloc_id first = stage_alloc_group(&s, &g), second = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(gpus_of(first), 3);
    ck_assert_uint_eq(gpus_of(second), 12);
    MUST(gang_alloc_free(s.w, first));
    take(0, 1, 0, 1000);
    MUST(gang_alloc_free(s.w, second));
    take(0, 1, 0, 1000); /* the other of the broken pair */
    ck_assert_uint_eq(gpus_of(stage_alloc_group(&s, &g)), 12);
    g.cpu_milli = 1000;
    g.gpu_milli = 0;
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error,
                 "groups[0].same", NULL);
}
END_TEST

START_TEST(the_gpus_of_a_gang_are_below_one_switch)
{
    struct gang_gpu_spec gpu[6];
    struct gang_link_spec link[15];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    struct gang_group_spec g = group_of(2, 0, 1000);
    size_t links = 0;
    for (int i = 0; i < 6; i++) { /* all are linked, two by two below a switch */
        gpu[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
        gpu[i].pcie = i % 3 + 1;
        for (int k = 0; k < i; k++)
            link[links++] = (struct gang_link_spec){k, i, GANG_LINK_NVLINK, 1, 50000};
    }
    spec.name = "n";
    spec.gpus = gpu;
    spec.gpu_count = 6;
    spec.links = link;
    spec.link_count = links;
    MUST(gang_node_add(s.w, &spec, &node[nodes++], NULL));
    g.same = "pcie";
    ck_assert_uint_eq(gpus_of(stage_alloc_group(&s, &g)), 0x9);
    ck_assert_uint_eq(gpus_of(stage_alloc_group(&s, &g)), 0x12);
    g.count = g.min = 3;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    g.same = "island";
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
}
END_TEST

START_TEST(a_soft_island_preference_falls_back_to_the_node)
{
    struct gang_group_spec g = group_of(3, 0, 1000);
    g.prefer = "island";
    add(NULL, 2, 0);
    add(NULL, 4, 0);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_str_eq(shares(id), "0 3");
    g.count = g.min = 2;
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "2 0");
}
END_TEST

START_TEST(growth_stays_in_the_domain_inside_the_machine)
{
    struct gang_group_spec g = group_of(2, 0, 1000);
    g.min = 1;
    g.same = "island";
    add(NULL, 4, 0);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    uint64_t first = gpus_of(id);
    grow(id, 1, 1);
    ck_assert(gpus_of(id) == (first | first << 1) || gpus_of(id) == (first | first >> 1));
    ck_assert(gpus_of(id) == 3 || gpus_of(id) == 12);
}
END_TEST

START_TEST(a_level_of_the_cluster_hides_a_built_in_one)
{
    static const char *const own[] = {"node"};
    struct stage t;
    struct gang_group_spec g = group_of(2, 1000, 0);
    struct gang_label place = {"node", "pair"};
    stage_open(&t, own, 1);
    struct box a = {.name = "a", .cpu = 1000, .place = &place, .place_count = 1};
    struct box b = {.name = "b", .cpu = 1000, .place = &place, .place_count = 1};
    stage_add(&t, &a);
    stage_add(&t, &b);
    g.same = "node";
    stage_alloc_group(&t, &g);
    stage_close(&t);
}
END_TEST

/* ---- slices ---- */

START_TEST(each_subgroup_lies_on_an_island_of_one_rack)
{
    struct gang_group_spec g = group_of(6, 0, 1000);
    g.same = "rack";
    g.subgroup_size = 2;
    g.subgroup_same = "island";
    add("r1", 4, 0);
    add("r2", 4, 0);
    add("r2", 4, 0);
    take(1, 1, 0, 1000);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    const struct task_list *list = stage_tasks(&s, id);
    ck_assert_str_eq(shares(id), "0 2 4");
    for (size_t i = 0; i < list->count; i += 2) {
        ck_assert_uint_eq(list->task[i].node, list->task[i + 1].node);
        uint64_t pair = list->task[i].gpus | list->task[i + 1].gpus;
        ck_assert(pair == 3 || pair == 12);
    }
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
}
END_TEST

START_TEST(a_subgroup_is_not_split)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    g.subgroup_size = 2;
    g.subgroup_same = "node";
    add(NULL, 0, 3);
    add(NULL, 0, 1);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    add(NULL, 0, 2);
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "2 0 2");
}
END_TEST

START_TEST(a_group_of_subgroups_grows_by_subgroups)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    g.min = 2;
    g.subgroup_size = 2;
    g.subgroup_same = "node";
    add(NULL, 0, 3);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    int64_t granted;
    ck_assert_int_eq(gang_alloc_grow(s.w, id, 0, 2, &granted, NULL), GANG_ENEVER);
    add(NULL, 0, 2);
    gang_alloc_id other = take(1, 1, 1000, 0);
    grow(id, 2, 0);
    MUST(gang_alloc_free(s.w, other));
    grow(id, 1, 2); /* a whole slice */
    ck_assert_str_eq(shares(id), "2 2");
}
END_TEST

/* ---- spreading ---- */

START_TEST(tasks_are_spread_over_racks_within_the_skew)
{
    struct gang_group_spec g = group_of(5, 1000, 0);
    g.spread = "rack";
    add("r1", 0, 8);
    add("r2", 0, 8);
    add("r3", 0, 1);
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "2 2 1");
    g.count = g.min = 3; /* r3 is full and stays at none: one more in each of the others */
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    g.max_skew = 2;
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "2 1 0");
    g.max_skew = 0;
    g.spread_soft = 1;
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "2 1 0");
}
END_TEST

START_TEST(only_domains_that_the_constraints_admit_count_for_the_skew)
{
    struct gang_group_spec g = group_of(2, 1000, 0);
    const char *red = "red";
    struct gang_label_rule rule = {"color", &red, 1, GANG_LABEL_IN, 0};
    g.spread = "node";
    g.labels = &rule;
    g.label_count = 1;
    add_machine(NULL, 0, 4, "red");
    add_machine(NULL, 0, 4, "blue");
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "2 0");
}
END_TEST

START_TEST(more_tasks_are_spread_with_those_that_run)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    g.min = 2;
    g.spread = "node";
    add(NULL, 0, 4);
    add(NULL, 0, 4);
    add(NULL, 0, 4);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    grow(id, 1, 1);
    ck_assert_str_eq(shares(id), "1 1 1");
    grow(id, 3, 3);
    ck_assert_str_eq(shares(id), "2 2 2");
}
END_TEST

/* Work with a domain goes to few nodes of itself; not if it is to spread. */
START_TEST(tasks_are_spread_inside_their_domain)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.same = "block";
    g.spread = "rack";
    add("r1", 0, 8);
    add("r2", 0, 8);
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "2 2");
    g.spread = "node";
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "2 2");
    g.same = NULL;
    spec.same = "block";
    ck_assert_str_eq(shares(stage_alloc(&s, &spec)), "2 2");
    g.min = 2;
    g.same = g.prefer = "block";
    spec.policy = GANG_POLICY_TOPOLOGY;
    gang_alloc_id id = stage_alloc(&s, &spec);
    grow(id, 2, 2);
    ck_assert_str_eq(shares(id), "2 2");
}
END_TEST

START_TEST(inside_one_domain_there_is_nothing_to_spread_over)
{
    struct gang_group_spec g = group_of(3, 1000, 0);
    g.same = "node";
    g.spread = "rack";
    add("r1", 0, 4);
    add("r1", 0, 2);
    add("r2", 0, 1);
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "3 0 0");
    g.count = g.min = 5; /* no one node */
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

/* ---- bounds ---- */

START_TEST(no_more_tasks_than_the_bound_are_on_a_node)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    g.max_per_node = 2;
    add(NULL, 0, 8);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    add(NULL, 0, 8);
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "2 2");
    g.min = 3;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    grow(id, 1, 1);
    ck_assert_str_eq(shares(id), "2 2");
}
END_TEST

START_TEST(the_bound_counts_the_tasks_of_its_group_alone)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(3, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].max_per_node = 1;
    add(NULL, 0, 4);
    add(NULL, 0, 1);
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(shares(id), "4 1");
}
END_TEST

/* Also where every device is tried for every task. */
START_TEST(the_bound_holds_for_parts_of_devices_beside_another_group)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(3, 1000, 500)};
    struct gang_request_spec spec = request_of(g, 2);
    g[1].max_per_node = 1;
    add(NULL, 2, 8);
    add(NULL, 2, 8);
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
    g[1].count = g[1].min = 2;
    stage_alloc(&s, &spec);
}
END_TEST

START_TEST(no_more_tasks_than_the_bound_are_in_a_rack)
{
    struct gang_group_spec g = group_of(3, 1000, 0);
    g.max_per_domain = 2;
    g.domain_level = "rack";
    add("r1", 0, 2);
    add("r1", 0, 2);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    add("r2", 0, 1);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[2]), 1);
}
END_TEST

/* A slot without a node among those that are looked at for "never". */
START_TEST(a_removed_node_takes_no_bounded_tasks)
{
    struct gang_group_spec g = group_of(8, 1000, 0);
    g.max_per_node = 3;
    for (int i = 0; i < 3; i++)
        add(NULL, 0, 4);
    MUST(gang_node_remove(s.w, node[1]));
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

/* ---- slices that fail ---- */

START_TEST(tasks_of_a_minimum_form_whole_subgroups)
{
    struct gang_group_spec g[] = {group_of(6, 1000, 0), group_of(1, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].min = 0;
    g[0].subgroup_size = 3;
    g[0].subgroup_same = "node";
    spec.min = 4;
    add(NULL, 0, 2);
    add(NULL, 0, 2);
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
    add(NULL, 0, 3);
    ck_assert_str_eq(shares(stage_alloc(&s, &spec)), "1 0 3");
}
END_TEST

START_TEST(a_partial_subgroup_is_not_kept)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.min = 3;
    g.subgroup_size = 3;
    g.subgroup_prefer = "rack";
    spec.policy = GANG_POLICY_TOPOLOGY;
    for (int i = 0; i < 4; i++)
        add("r1", 0, 4);
    gang_alloc_id id = stage_alloc(&s, &spec);
    grow(id, 3, 3);
    ck_assert_uint_eq(stage_tasks_on(&s, id, GANG_ID_NONE), 6);
}
END_TEST

START_TEST(a_job_with_a_group_without_gpus_has_no_island)
{
    struct gang_group_spec g[] = {group_of(1, 0, 1000), group_of(1, 1000, 0)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 2);
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    spec.prefer = "island";
    EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error, "prefer",
                 NULL);
    spec.prefer = NULL;
    spec.group_sets = &set;
    spec.group_set_count = 1;
    set.same = "pcie";
    g[1].group_set = 0;
    EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error,
                 "group_sets[0].same", NULL);
    g[0].group_set = 0;
    g[1].group_set = -1;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_OK, &error);
    gang_request_free(request);
}
END_TEST

/* ---- few nodes, equally ---- */

START_TEST(as_few_nodes_as_do_take_the_same_number)
{
    struct gang_group_spec g = group_of(12, 0, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = GANG_POLICY_TOPOLOGY;
    for (int i = 0; i < 4; i++)
        add("r1", 8, 0);
    take(0, 5, 0, 1000);
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(shares(id), "0 6 6 0");
    MUST(gang_alloc_free(s.w, id));
    g.count = g.min = 23;
    id = stage_alloc(&s, &spec);
    ck_assert_str_eq(shares(id), "0 8 8 7");
}
END_TEST

START_TEST(the_narrowest_domain_comes_first_then_the_fewest_nodes)
{
    struct gang_group_spec g = group_of(4, 0, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = GANG_POLICY_TOPOLOGY;
    add("r1", 2, 0); /* r1: two nodes; r2: three; r3: one, but a larger one */
    add("r1", 2, 0);
    add("r2", 1, 0);
    add("r2", 1, 0);
    add("r2", 2, 0);
    add("r3", 8, 0);
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(shares(id), "0 0 0 0 0 4");
    take(5, 1, 0, 1000);
    ck_assert_str_eq(shares(stage_alloc(&s, &spec)), "2 2 0 0 0 0");
}
END_TEST

START_TEST(a_gang_larger_than_a_rack_takes_the_fewest)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    g.prefer = "rack";
    add("r1", 0, 2);
    add("r2", 0, 3);
    add("r3", 0, 4);
    add("r4", 0, 2);
    ck_assert_str_eq(shares(stage_alloc_group(&s, &g)), "2 0 4 0");
}
END_TEST

START_TEST(growth_is_placed_near_running_tasks)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.min = 2;
    spec.policy = GANG_POLICY_TOPOLOGY;
    add("r1", 0, 2);
    add("r2", 0, 2);
    add("r2", 0, 3);
    take(0, 1, 1000, 0);
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(shares(id), "0 2 0");
    grow(id, 2, 2);
    ck_assert_str_eq(shares(id), "0 2 2");
}
END_TEST

/* ---- what greedy placing misses ---- */

START_TEST(two_unequal_domains_take_two_unequal_groups)
{
    /* The larger group would go to the rack that alone has GPUs for the other. */
    struct gang_group_spec g[] = {group_of(3, 2000, 0), group_of(2, 1000, 1000)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].same = g[1].same = "rack";
    add("r1", 2, 6);
    add("r2", 0, 7);
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(shares(id), "2 3");
}
END_TEST

START_TEST(cores_are_left_for_the_work_that_needs_their_gpus)
{
    struct gang_group_spec g[] = {group_of(1, 4000, 0), group_of(2, 2000, 1000)};
    struct gang_request_spec spec = request_of(g, 2);
    spec.policy = GANG_POLICY_FIRST;
    add(NULL, 2, 5);
    add(NULL, 1, 4);
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(shares(id), "2 1");
}
END_TEST

START_TEST(parts_of_devices_go_together_the_one_way_they_fit)
{
    struct gang_group_spec g[] = {group_of(2, 0, 500), group_of(2, 0, 300), group_of(2, 0, 200)};
    struct gang_request_spec spec = request_of(g, 3);
    add(NULL, 2, 0);
    stage_alloc(&s, &spec);
    ck_assert_int_eq(stage_node(&s, node[0]).gpu_free, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("domains");
    TCase *tc = tcase_create("domains");
    tcase_add_checked_fixture(tc, open_stage, close_stage);
    tcase_add_test(tc, a_gang_lies_on_one_node);
    tcase_add_test(tc, a_job_of_two_groups_lies_on_one_node);
    tcase_add_test(tc, the_gpus_of_a_gang_lie_in_one_numa_domain);
    tcase_add_test(tc, the_cores_of_a_gang_lie_in_one_numa_domain);
    tcase_add_test(tc, the_gpus_of_a_gang_lie_on_one_island);
    tcase_add_test(tc, the_gpus_of_a_gang_are_below_one_switch);
    tcase_add_test(tc, a_soft_island_preference_falls_back_to_the_node);
    tcase_add_test(tc, growth_stays_in_the_domain_inside_the_machine);
    tcase_add_test(tc, a_level_of_the_cluster_hides_a_built_in_one);
    tcase_add_test(tc, each_subgroup_lies_on_an_island_of_one_rack);
    tcase_add_test(tc, a_subgroup_is_not_split);
    tcase_add_test(tc, a_group_of_subgroups_grows_by_subgroups);
    tcase_add_test(tc, tasks_are_spread_over_racks_within_the_skew);
    tcase_add_test(tc, only_domains_that_the_constraints_admit_count_for_the_skew);
    tcase_add_test(tc, more_tasks_are_spread_with_those_that_run);
    tcase_add_test(tc, tasks_are_spread_inside_their_domain);
    tcase_add_test(tc, inside_one_domain_there_is_nothing_to_spread_over);
    tcase_add_test(tc, no_more_tasks_than_the_bound_are_on_a_node);
    tcase_add_test(tc, the_bound_counts_the_tasks_of_its_group_alone);
    tcase_add_test(tc, the_bound_holds_for_parts_of_devices_beside_another_group);
    tcase_add_test(tc, no_more_tasks_than_the_bound_are_in_a_rack);
    tcase_add_test(tc, a_removed_node_takes_no_bounded_tasks);
    tcase_add_test(tc, tasks_of_a_minimum_form_whole_subgroups);
    tcase_add_test(tc, a_partial_subgroup_is_not_kept);
    tcase_add_test(tc, a_job_with_a_group_without_gpus_has_no_island);
    tcase_add_test(tc, as_few_nodes_as_do_take_the_same_number);
    tcase_add_test(tc, the_narrowest_domain_comes_first_then_the_fewest_nodes);
    tcase_add_test(tc, a_gang_larger_than_a_rack_takes_the_fewest);
    tcase_add_test(tc, growth_is_placed_near_running_tasks);
    tcase_add_test(tc, two_unequal_domains_take_two_unequal_groups);
    tcase_add_test(tc, cores_are_left_for_the_work_that_needs_their_gpus);
    tcase_add_test(tc, parts_of_devices_go_together_the_one_way_they_fit);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
