/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations with time-shared cores or devices: the record has them, the nodes do not count
 * them. */
#include <gangsched/gangsched.h>

#include "place/alloc/alloc.h"
#include "place/whatif/timeshare.h"
#include "suite.h"
#include "support.h"

static struct stage s;
static gang_node_id node[2];
static gang_snapshot *view;

static void setup(void)
{
    static const char *const names[] = {"n0", "n1"};
    stage_open(&s, NULL, 0);
    for (int i = 0; i < 2; i++) {
        struct box box = {
            .name = names[i], .cpu = 4000, .memory = 8 * GIB, .gpus = 4, .cores = 4, .numas = 1};
        node[i] = stage_add(&s, &box);
    }
    MUST(gang_snapshot_new(s.c, &view));
    MUST(gang_snapshot_take(s.w, view));
}

static void teardown(void)
{
    gang_snapshot_free(view);
    stage_close(&s);
}

static gang_request *new_request(int64_t count, int64_t min, int64_t gpu_milli)
{
    struct gang_group_spec g = group_of(count, 2000, gpu_milli);
    g.min = min;
    g.memory_bytes = GIB;
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request;
    MUST(gang_request_new(s.c, &spec, &request, NULL));
    return request;
}

static int64_t cpu_free(int i)
{
    return stage_node(&s, node[i]).cpu_free;
}

static int64_t in_view(int i)
{
    struct gang_node_info info = {.size = sizeof(info)};
    MUST(gang_snapshot_node_get(view, node[i], &info));
    return info.cpu_free;
}

START_TEST(time_shared_places_are_neither_taken_nor_released)
{
    gang_request *request = new_request(4, 4, 1000);
    gang_alloc_id id, other;
    MUST(gang__timeshare_alloc(s.w, view, request, GANG__TIMESHARE_CPU, &id));
    ck_assert_int_eq(cpu_free(0) + cpu_free(1), 8000);
    ck_assert_int_eq(stage_node(&s, node[0]).memory_free, 6 * GIB);
    ck_assert_int_eq(stage_node(&s, node[0]).gpu_free, 2000);
    const struct task_list *list = stage_tasks(&s, id);
    ck_assert_uint_eq(list->count, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(list->task[i].cpu_milli, 2000);
        ck_assert_int_eq(list->task[i].core_count, 2);
    }
    stage_check(&s);
    MUST(gang_alloc(s.w, request, &other, NULL)); /* any other request gets the cores */
    stage_check(&s);
    MUST(gang__alloc_remove_tasks(s.w, id, (int64_t[]){1, 2}, 2));
    ck_assert_int_eq(cpu_free(0) + cpu_free(1), 0);
    stage_check(&s);
    MUST(gang_alloc_free(s.w, id));
    ck_assert_int_eq(cpu_free(0) + cpu_free(1), 0);
    MUST(gang_alloc_free(s.w, other));
    ck_assert_int_eq(cpu_free(0) + cpu_free(1), 8000);
    stage_check(&s);
    gang_request_free(request);
}
END_TEST

START_TEST(devices_are_time_shared_or_taken)
{
    gang_request *request = new_request(2, 2, 2000);
    gang_alloc_id id;
    MUST(gang__timeshare_alloc(s.w, view, request, GANG__TIMESHARE_CPU | GANG__TIMESHARE_GPU, &id));
    ck_assert_int_eq(stage_node(&s, node[0]).gpu_free + stage_node(&s, node[1]).gpu_free, 8000);
    ck_assert_int_eq(stage_tasks(&s, id)->task[0].gpu_count, 2);
    MUST(gang_alloc_free(s.w, id));
    stage_check(&s);
    gang_request_free(request);
}
END_TEST

START_TEST(the_snapshot_says_where_and_the_cluster_whether)
{
    gang_request *request = new_request(2, 2, 0), *all = new_request(4, 4, 0);
    gang_alloc_id id, big;
    MUST(gang_snapshot_set_state(view, node[0], GANG_NODE_DRAINING));
    MUST(gang__timeshare_alloc(s.w, view, request, GANG__TIMESHARE_CPU, &id));
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 2);
    ck_assert_int_eq(gang__timeshare_alloc(s.w, view, all, GANG__TIMESHARE_CPU, &big), GANG_ENOFIT);
    ck_assert_uint_eq(big, GANG_ID_NONE);
    struct gang_group_spec g = group_of(1, 0, 0);
    g.memory_bytes = 6 * GIB;
    MUST(gang_node_set_state(s.w, node[0], GANG_NODE_DOWN));
    gang_alloc_id memory = stage_alloc_group(&s, &g);
    ck_assert_int_eq(gang__timeshare_alloc(s.w, view, request, GANG__TIMESHARE_CPU, &big),
                     GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, memory));
    MUST(gang_alloc_free(s.w, id));
    stage_check(&s);
    gang_request_free(request);
    gang_request_free(all);
}
END_TEST

START_TEST(a_snapshot_takes_time_shared_places_on_request)
{
    gang_request *request = new_request(2, 2, 0);
    gang_alloc_id a, b;
    MUST(gang__timeshare_alloc(s.w, view, request, GANG__TIMESHARE_CPU, &a));
    MUST(gang_snapshot_take(s.w, view));
    ck_assert_int_eq(in_view(0) + in_view(1), 8000);
    MUST(gang__timeshare_snapshot(view, a));
    ck_assert_int_eq(in_view(0) + in_view(1), 4000);
    ck_assert_int_eq(gang__timeshare_snapshot(view, a), GANG_ENOFIT); /* they are taken there */
    ck_assert_int_eq(in_view(0) + in_view(1), 4000);
    MUST(gang__timeshare_alloc(s.w, view, request, GANG__TIMESHARE_CPU, &b));
    for (size_t i = 0; i < 2; i++)
        ck_assert_uint_ne(stage_tasks(&s, a)->task[i].node, stage_tasks(&s, b)->task[0].node);
    MUST(gang_snapshot_release(view, a)); /* its memory, and not what is lent */
    ck_assert_int_eq(in_view(0) + in_view(1), 4000);
    MUST(gang_alloc_free(s.w, a));
    MUST(gang_alloc_free(s.w, b));
    gang_request_free(request);
}
END_TEST

struct sums {
    int64_t cpu, cores;
    int64_t last;
};

static int32_t sum_up(gang_node_id n, unsigned word, uint64_t payload, int64_t task, void *user)
{
    struct sums *sums = user;
    ck_assert(n == node[0] || n == node[1]);
    ck_assert_int_ge(task, sums->last);
    sums->last = task;
    if (word == GANG__WORD_HEAD)
        sums->cpu += (int64_t)payload;
    else
        sums->cores += gang__popcount(payload);
    return 0;
}

static int32_t say_seven(gang_node_id n, unsigned word, uint64_t payload, int64_t task, void *user)
{
    (void)n, (void)word, (void)payload, (void)task, (void)user;
    return 7;
}

static gang_result grow(gang_alloc_id id, int64_t tasks, int64_t *granted)
{
    const struct gang__timeshare_growth growth = {id, 0, GANG__TIMESHARE_CPU, tasks};
    return gang__timeshare_grow(s.w, view, &growth, granted);
}

START_TEST(a_time_shared_allocation_grows_on_a_snapshot)
{
    gang_request *request = new_request(4, 2, 0);
    struct sums sums = {0, 0, 0};
    gang_alloc_id id;
    int64_t granted;
    MUST(gang__timeshare_alloc(s.w, view, request, GANG__TIMESHARE_CPU, &id));
    MUST(gang__timeshare_snapshot(view, id));
    MUST(grow(id, 2, &granted));
    ck_assert_int_eq(granted, 2);
    ck_assert_int_eq(cpu_free(0) + cpu_free(1), 8000);
    MUST(gang__timeshare_each(s.c, id, sum_up, &sums));
    ck_assert_int_eq(sums.cpu, 8000);
    ck_assert_int_eq(sums.cores, 8);
    ck_assert_int_eq(sums.last, 3);
    ck_assert_int_eq(gang__timeshare_each(s.c, id, say_seven, NULL), 7);
    ck_assert_int_eq(grow(id, 1, &granted), GANG_ERANGE);
    ck_assert_int_eq(grow(id, 0, &granted), GANG_EINVAL);
    stage_check(&s);
    MUST(gang_alloc_free(s.w, id));
    ck_assert_int_eq(gang__timeshare_each(s.c, id, sum_up, &sums), GANG_ESTALE);
    ck_assert_int_eq(grow(id, 1, &granted), GANG_ESTALE);
    stage_check(&s);
    gang_request_free(request);
}
END_TEST

START_TEST(time_sharing_needs_a_snapshot_and_no_exclusive_nodes)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_snapshot *never;
    gang_request *request;
    gang_alloc_id id = 1;
    MUST(gang_request_new(s.c, &spec, &request, NULL));
    MUST(gang_snapshot_new(s.c, &never));
    ck_assert_int_eq(gang__timeshare_alloc(s.w, never, request, GANG__TIMESHARE_CPU, &id),
                     GANG_EINVAL);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    gang_snapshot_free(never);
    gang_request_free(request);
    spec.exclusive = 1;
    MUST(gang_request_new(s.c, &spec, &request, NULL));
    ck_assert_int_eq(gang__timeshare_alloc(s.w, view, request, GANG__TIMESHARE_CPU, &id),
                     GANG_EINVAL);
    gang_request_free(request);
}
END_TEST

START_TEST(time_sharing_survives_each_failed_memory_allocation)
{
    gang_request *request = new_request(4, 2, 0);
    bool done = false;
    for (long n = 1; !done; n++) {
        gang_alloc_id id = GANG_ID_NONE;
        int64_t granted;
        s.mem.fail_at = s.mem.calls + n;
        gang_result r = gang__timeshare_alloc(s.w, view, request, GANG__TIMESHARE_CPU, &id);
        if (r == GANG_OK)
            r = grow(id, 1, &granted);
        done = s.mem.fail_at > s.mem.calls;
        s.mem.fail_at = 0;
        ck_assert(r == (done ? GANG_OK : GANG_ENOMEM));
        stage_check(&s);
        if (id)
            MUST(gang_alloc_free(s.w, id));
        ck_assert_int_eq(stage_node(&s, node[0]).memory_free, 8 * GIB);
    }
    gang_request_free(request);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lend");
    TCase *t = tcase_create("lend");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, time_shared_places_are_neither_taken_nor_released);
    tcase_add_test(t, devices_are_time_shared_or_taken);
    tcase_add_test(t, the_snapshot_says_where_and_the_cluster_whether);
    tcase_add_test(t, a_snapshot_takes_time_shared_places_on_request);
    tcase_add_test(t, a_time_shared_allocation_grows_on_a_snapshot);
    tcase_add_test(t, time_sharing_needs_a_snapshot_and_no_exclusive_nodes);
    tcase_add_test(t, time_sharing_survives_each_failed_memory_allocation);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
