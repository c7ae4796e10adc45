/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes for one allocation alone: wholly free before, wholly taken while it has a task there. */
#include <gangsched/gangsched.h>

#include "chance.h"
#include "support.h"

static struct stage s;
static gang_node_id node[4];
static const char *const levels[] = {"rack"};

/* Four machines of 8 cores, 2 GPUs and 4 network cards, two in each of two racks; the cores of the
 * first have names. */
static void open_stage(void)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3"}, *const racks[] = {"r0", "r1"};
    static const struct gang_amount nics = {"nic", 4};
    stage_open(&s, levels, 1);
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 10, NULL));
    for (int i = 0; i < 4; i++) {
        struct gang_label place = {"rack", racks[i / 2]};
        struct box box = {.name = names[i],
                          .cpu = 8000,
                          .memory = 8 * GIB,
                          .gpus = 2,
                          .cores = i ? 0 : 8,
                          .amounts = &nics,
                          .amount_count = 1,
                          .place = &place,
                          .place_count = 1};
        node[i] = stage_add(&s, &box);
    }
}

static void close_stage(void)
{
    stage_close(&s);
}

static struct gang_request_spec alone_of(struct gang_group_spec *g, int64_t count, int64_t cpu)
{
    *g = group_of(count, cpu, 0);
    struct gang_request_spec spec = request_of(g, 1);
    spec.exclusive = 1;
    spec.policy = GANG_POLICY_FIRST;
    return spec;
}

static gang_alloc_id alone(int64_t count, int64_t min, int64_t cpu)
{
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, count, cpu);
    g.min = min;
    gang_alloc_id id = stage_alloc(&s, &spec);
    stage_check(&s);
    return id;
}

static gang_alloc_id one_task(int64_t cpu)
{
    struct gang_group_spec g = group_of(1, cpu, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = GANG_POLICY_FIRST;
    return stage_alloc(&s, &spec);
}

static bool is_full(int i)
{
    struct gang_node_info info = stage_node(&s, node[i]);
    return info.cpu_free == 0 && info.memory_free == 0 && info.gpu_free == 0;
}

static bool is_empty(int i)
{
    struct gang_node_info info = stage_node(&s, node[i]);
    return info.cpu_free == info.cpu_milli && info.memory_free == info.memory_bytes &&
           info.gpu_free == 2000;
}

START_TEST(its_nodes_are_taken_whole)
{
    gang_alloc_id id = alone(2, 2, 1000);
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    ck_assert(is_full(0));
    ck_assert(is_empty(1));
    MUST(gang_alloc_get(s.c, id, &info)); /* what it holds beside its tasks is not reported */
    ck_assert_int_eq(info.tasks, 2);
    ck_assert_int_eq(info.cpu_milli, 2000);
    ck_assert_int_eq(info.gpu_milli, 0);
    const struct task_list *list = stage_tasks(&s, id);
    ck_assert_uint_eq(list->count, 2);
    ck_assert_int_eq(list->task[0].core_count, 1);
    ck_assert_uint_eq(list->task[0].cores[0] | list->task[1].cores[0], 3);
    one_task(100);
    ck_assert(is_full(0));
    MUST(gang_alloc_free(s.w, id));
    ck_assert(is_empty(0));
    stage_check(&s);
}
END_TEST

START_TEST(only_wholly_free_nodes_will_do)
{
    gang_alloc_id other = one_task(100);
    gang_alloc_id id = alone(1, 1, 1000);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 1);
    alone(1, 1, 0); /* also for tasks that take nothing */
    ck_assert(is_full(2));
    alone(1, 1, 1000);
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, 1, 1000);
    struct outcome o = stage_try(&s, &spec);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_EXCLUSIVE);
    MUST(gang_alloc_free(s.w, other));
    stage_alloc(&s, &spec);
    ck_assert(is_full(0));
}
END_TEST

START_TEST(a_gang_takes_as_many_nodes_as_it_needs)
{
    gang_alloc_id id = alone(20, 20, 1000);
    ck_assert(is_full(0) && is_full(1) && is_full(2));
    ck_assert(is_empty(3));
    MUST(gang_alloc_free(s.w, id));
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, 33, 1000);
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
    one_task(1000);
    g = group_of(32, 1000, 0);
    struct outcome o = stage_try(&s, &spec);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_EXCLUSIVE);
}
END_TEST

START_TEST(its_groups_share_nodes)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 2000), group_of(4, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    spec.exclusive = 1;
    for (int policy = GANG_POLICY_PACK; policy <= GANG_POLICY_TOPOLOGY; policy++) {
        spec.policy = policy;
        gang_alloc_id id = stage_alloc(&s, &spec);
        stage_check(&s);
        for (int i = 0; i < 4; i++)
            ck_assert(stage_tasks_on(&s, id, node[i]) ? is_full(i) : is_empty(i));
        MUST(gang_alloc_free(s.w, id));
    }
}
END_TEST

START_TEST(in_one_domain)
{
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, 10, 1000);
    gang_alloc_id other = one_task(1000);
    spec.same = "rack";
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert(is_full(2) && is_full(3));
    MUST(gang_alloc_free(s.w, id));
    one_task(7500);
    one_task(1000);
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_OK);
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, other));
    stage_check(&s);
}
END_TEST

START_TEST(growth_uses_what_it_holds_then_fresh_nodes)
{
    gang_alloc_id id = alone(20, 2, 1000);
    int64_t granted;
    MUST(gang_alloc_grow(s.w, id, 0, 5, &granted, NULL));
    ck_assert_int_eq(granted, 5);
    stage_check(&s);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 7);
    ck_assert(is_full(0) && is_empty(1));
    const struct task_list *list = stage_tasks(&s, id);
    uint64_t cores = 0;
    for (size_t i = 0; i < list->count; i++) {
        ck_assert_uint_eq(cores & list->task[i].cores[0], 0);
        cores |= list->task[i].cores[0];
    }
    gang_alloc_id other = one_task(100); /* on n1 */
    MUST(gang_alloc_grow(s.w, id, 0, 9, &granted, NULL));
    ck_assert_int_eq(granted, 9);
    stage_check(&s);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 8);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[2]), 8);
    one_task(100);
    gang_alloc_id last = one_task(8000); /* n3 */
    MUST(gang_alloc_free(s.w, last));
    MUST(gang_alloc_grow(s.w, id, 0, 9, &granted, NULL));
    ck_assert_int_eq(granted, 4);
    stage_check(&s);
    MUST(gang_alloc_free(s.w, other));
    MUST(gang_alloc_free(s.w, id));
    ck_assert(is_empty(0) && is_empty(2) && is_empty(3));
    stage_check(&s);
}
END_TEST

START_TEST(refused_growth_gives_the_reason)
{
    gang_alloc_id id = alone(40, 6, 1000);
    struct gang_error error = GANG_ERROR_INIT;
    int64_t granted;
    gang_alloc_id others[3];
    for (int i = 0; i < 3; i++)
        others[i] = one_task(7500);
    MUST(gang_alloc_grow(s.w, id, 0, 9, &granted, NULL));
    ck_assert_int_eq(granted, 2);
    EXPECT_RESULT(gang_alloc_grow(s.w, id, 0, 1, &granted, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_EXCLUSIVE);
    for (int i = 0; i < 3; i++)
        MUST(gang_alloc_free(s.w, others[i]));
    MUST(gang_alloc_grow(s.w, id, 0, 100, &granted, NULL));
    ck_assert_int_eq(granted, 24);
    EXPECT_RESULT(gang_alloc_grow(s.w, id, 0, 1, &granted, &error), GANG_ENEVER, &error);
    stage_check(&s);
}
END_TEST

START_TEST(a_node_goes_back_with_its_last_task)
{
    gang_alloc_id id = alone(16, 1, 1000);
    int64_t granted;
    MUST(gang_alloc_grow(s.w, id, 0, 9, &granted, NULL));
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 2);
    const int64_t one[] = {8}, most[] = {2, 3, 5}, last[] = {9};
    MUST(gang_alloc_shrink(s.w, id, one, 1, NULL));
    stage_check(&s);
    ck_assert(is_full(1)); /* still */
    MUST(gang_alloc_shrink(s.w, id, most, 3, NULL));
    stage_check(&s);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 5);
    ck_assert(is_full(0));
    ck_assert_int_eq(gang_alloc_shrink(s.w, id, most, 1, NULL), GANG_ENOENT);
    const int64_t holder[] = {UINT32_MAX};
    ck_assert_int_eq(gang_alloc_shrink(s.w, id, holder, 1, NULL), GANG_ENOENT);
    MUST(gang_alloc_shrink(s.w, id, last, 1, NULL));
    stage_check(&s);
    ck_assert(is_empty(1));
    MUST(gang_alloc_grow(s.w, id, 0, 4, &granted, NULL)); /* on what it kept, and one more */
    stage_check(&s);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 8);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 1);
    MUST(gang_alloc_free(s.w, id));
    ck_assert(is_empty(0) && is_empty(1));
    stage_check(&s);
}
END_TEST

START_TEST(licences_go_back_at_once)
{
    static const struct gang_amount lic = {"lic", 2};
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, 4, 1000);
    struct gang_kind_info pool = GANG_KIND_INFO_INIT;
    int32_t kind;
    g.min = 1;
    g.amounts = &lic;
    g.amount_count = 1;
    gang_alloc_id id = stage_alloc(&s, &spec);
    MUST(gang_alloc_grow(s.w, id, 0, 3, NULL, NULL));
    const int64_t two[] = {1, 2};
    MUST(gang_alloc_shrink(s.w, id, two, 2, NULL));
    stage_check(&s);
    MUST(gang_kind_find(s.c, "lic", &kind));
    MUST(gang_kind_get(s.c, kind, &pool));
    ck_assert_int_eq(pool.available, 6);
    ck_assert(is_full(0));
    MUST(gang_alloc_grow(s.w, id, 0, 2, NULL, NULL));
    stage_check(&s);
    MUST(gang_alloc_free(s.w, id));
    ck_assert(is_empty(0));
}
END_TEST

START_TEST(growing_and_shrinking_for_long)
{
    gang_alloc_id id = alone(24, 1, 1000);
    chance_state = 7;
    for (int i = 0; i < 400; i++) {
        if (one_in(2)) {
            gang_result r = gang_alloc_grow(s.w, id, 0, 1 + below(9), NULL, NULL);
            ck_assert(r == GANG_OK || r == GANG_ERANGE);
        } else {
            const struct task_list *list = stage_tasks(&s, id);
            if (list->count < 2)
                continue;
            const int64_t task = list->task[below((int64_t)list->count)].task;
            MUST(gang_alloc_shrink(s.w, id, &task, 1, NULL));
        }
        stage_check(&s);
        for (int n = 0; n < 4; n++)
            ck_assert(stage_tasks_on(&s, id, node[n]) ? is_full(n) : is_empty(n));
    }
    MUST(gang_alloc_free(s.w, id));
}
END_TEST

START_TEST(adopting_takes_the_rest_too)
{
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, 4, 1000);
    gang_request *request = stage_request(&s, &spec);
    struct gang_placement place[2] = {GANG_PLACEMENT_INIT, GANG_PLACEMENT_INIT};
    gang_alloc_id id, other = one_task(2000);
    place[0].node = node[0]; /* the node is in use: the request gets the rest */
    place[1].node = node[1];
    MUST(gang_alloc_adopt(s.w, request, place, 2, &id, NULL));
    stage_check(&s);
    ck_assert(is_full(0) && is_full(1));
    MUST(gang_alloc_free(s.w, other));
    MUST(gang_alloc_free(s.w, id));
    ck_assert(is_empty(0) && is_empty(1));
    gang_request_free(request);
}
END_TEST

START_TEST(on_a_snapshot)
{
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, 16, 1000);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id = alone(1, 1, 1000);
    gang_snapshot *snap;
    MUST(gang_snapshot_new(s.c, &snap));
    MUST(gang_snapshot_take(s.w, snap));
    MUST(gang_snapshot_place(s.w, snap, request, NULL));
    ck_assert_int_eq(gang_snapshot_place(s.w, snap, request, NULL), GANG_ENOFIT);
    MUST(gang_snapshot_release(snap, id)); /* the whole node */
    struct gang_group_spec small = group_of(8, 1000, 0);
    struct gang_request_spec more = request_of(&small, 1);
    gang_request *p = stage_request(&s, &more);
    MUST(gang_snapshot_place(s.w, snap, p, NULL));
    gang_snapshot_free(snap);
    gang_request_free(request);
    gang_request_free(p);
}
END_TEST

START_TEST(a_dry_run_takes_nothing)
{
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, 9, 1000);
    gang_request *request = stage_request(&s, &spec);
    MUST(gang_alloc_test(s.w, request, NULL));
    ck_assert(is_empty(0) && is_empty(1));
    for (int i = 0; i < 3; i++)
        one_task(7500);
    ck_assert_int_eq(gang_alloc_test(s.w, request, NULL), GANG_ENOFIT);
    MUST(gang_request_fits_ever(s.w, request, NULL));
    gang_request_free(request);
}
END_TEST

START_TEST(a_removed_node_goes_back_at_the_end)
{
    gang_alloc_id id = alone(8, 1, 1000);
    MUST(gang_node_remove(s.w, node[0]));
    int64_t granted;
    MUST(gang_alloc_grow(s.w, id, 0, 3, &granted, NULL)); /* not there any more */
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 3);
    stage_check(&s);
    const int64_t first[] = {0};
    MUST(gang_alloc_shrink(s.w, id, first, 1, NULL));
    struct gang_node_info info = {.size = sizeof(info)};
    ck_assert_int_eq(gang_node_get(s.c, node[0], &info), GANG_ESTALE);
    stage_check(&s);
    MUST(gang_alloc_free(s.w, id));
}
END_TEST

/* Nodes that differ: those that are partly used have as much free as smaller ones that are not. */
START_TEST(smaller_nodes_are_found_behind_larger_ones)
{
    gang_node_id small[8];
    gang_alloc_id held[4];
    for (int i = 0; i < 4; i++)
        held[i] = one_task(4500);
    for (int i = 0; i < 8; i++) {
        char name[8];
        snprintf(name, sizeof(name), "s%d", i);
        struct box box = {.name = name, .cpu = 2000, .memory = GIB, .gpus = (size_t)i % 2};
        small[i] = stage_add(&s, &box);
    }
    for (int policy = GANG_POLICY_PACK; policy <= GANG_POLICY_TOPOLOGY; policy++) {
        struct gang_group_spec g;
        struct gang_request_spec spec = alone_of(&g, 16, 1000);
        spec.policy = policy;
        gang_alloc_id id = stage_alloc(&s, &spec);
        for (int i = 0; i < 8; i++)
            ck_assert_uint_eq(stage_tasks_on(&s, id, small[i]), 2);
        MUST(gang_alloc_free(s.w, id));
    }
    for (int i = 0; i < 4; i++)
        MUST(gang_alloc_free(s.w, held[i]));
}
END_TEST

START_TEST(with_rules_on_other_jobs)
{
    const struct gang_affinity_rule far = {"app", "x", "rack", 0, 0};
    const struct gang_label label = {"app", "x"};
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, 6, 1000);
    g.min = 2;
    spec.affinity = &far;
    spec.affinity_count = spec.label_count = 1;
    spec.labels = &label;
    gang_alloc_id a = stage_alloc(&s, &spec), b = stage_alloc(&s, &spec);
    ck_assert(is_full(0) && is_empty(1) && is_full(2) && is_empty(3));
    MUST(gang_alloc_grow(s.w, a, 0, 4, NULL, NULL));
    const int64_t two[] = {1, 3};
    MUST(gang_alloc_shrink(s.w, a, two, 2, NULL));
    stage_check(&s);
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, a));
    MUST(gang_alloc_free(s.w, b));
    stage_check(&s);
}
END_TEST

START_TEST(the_member_is_checked)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, 1, 1000);
    gang_request *request;
    spec.exclusive = 2;
    EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error, "exclusive",
                 NULL);
}
END_TEST

static gang_result live(const struct gang_request_spec *spec, gang_alloc_id *id)
{
    gang_request *request = NULL;
    int64_t granted = 0;
    gang_result r = gang_request_new(s.c, spec, &request, NULL);
    if (r == GANG_OK)
        r = gang_alloc(s.w, request, id, NULL);
    gang_request_free(request);
    if (r == GANG_OK) {
        const int64_t some[] = {0, 2};
        r = gang_alloc_grow(s.w, *id, 0, 9, &granted, NULL);
        if (r == GANG_OK)
            r = gang_alloc_shrink(s.w, *id, some, 2, NULL);
        if (r == GANG_ENOMEM) {
            s.mem.fail_at = 0;
            stage_check(&s);
        }
        gang_result end = gang_alloc_free(s.w, *id);
        if (end != GANG_OK) {
            ck_assert_int_eq(end, GANG_ENOMEM);
            s.mem.fail_at = 0;
            MUST(gang_alloc_free(s.w, *id));
        }
    }
    return r;
}

START_TEST(each_allocation_may_fail)
{
    struct gang_group_spec g;
    struct gang_request_spec spec = alone_of(&g, 16, 1000);
    gang_alloc_id id;
    g.min = 4;
    close_stage();
    for (long n = 1;; n++) {
        open_stage();
        s.mem.fail_on = _i != 0;
        s.mem.fail_at = s.mem.calls + n;
        gang_result r = live(&spec, &id);
        bool reached = s.mem.calls >= s.mem.fail_at;
        ck_assert(r == GANG_ENOMEM || r == GANG_OK);
        s.mem.fail_at = 0;
        stage_check(&s);
        for (int i = 0; i < 4; i++)
            ck_assert(is_empty(i));
        MUST(live(&spec, &id));
        if (!reached)
            break;
        close_stage();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exclusive");
    TCase *t = tcase_create("exclusive");
    tcase_add_checked_fixture(t, open_stage, close_stage);
    tcase_add_test(t, its_nodes_are_taken_whole);
    tcase_add_test(t, only_wholly_free_nodes_will_do);
    tcase_add_test(t, a_gang_takes_as_many_nodes_as_it_needs);
    tcase_add_test(t, its_groups_share_nodes);
    tcase_add_test(t, in_one_domain);
    tcase_add_test(t, growth_uses_what_it_holds_then_fresh_nodes);
    tcase_add_test(t, refused_growth_gives_the_reason);
    tcase_add_test(t, a_node_goes_back_with_its_last_task);
    tcase_add_test(t, licences_go_back_at_once);
    tcase_add_test(t, growing_and_shrinking_for_long);
    tcase_add_test(t, adopting_takes_the_rest_too);
    tcase_add_test(t, on_a_snapshot);
    tcase_add_test(t, a_dry_run_takes_nothing);
    tcase_add_test(t, a_removed_node_goes_back_at_the_end);
    tcase_add_test(t, smaller_nodes_are_found_behind_larger_ones);
    tcase_add_test(t, with_rules_on_other_jobs);
    tcase_add_test(t, the_member_is_checked);
    tcase_add_loop_test(t, each_allocation_may_fail, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
