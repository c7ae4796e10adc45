/* SPDX-License-Identifier: Apache-2.0 */
/* gang_node_each(): which jobs have tasks on a node?. */
#include "sched/host.h"

static struct host h;

struct seen {
    gang_job_id job;
    gang_alloc_id alloc;
    int32_t state, kept;
    size_t count;
    int64_t task[16];
};

static struct seen seen[16];
static size_t seen_count;
static int32_t end_with;

static int32_t see(const struct gang_node_item *item, void *user)
{
    ck_assert_ptr_eq(user, &h);
    ck_assert_uint_eq(item->size, sizeof(*item));
    ck_assert_uint_lt(seen_count, 16);
    ck_assert_uint_gt(item->task_count, 0);
    struct seen *to = &seen[seen_count++];
    *to = (struct seen){item->job, item->alloc, item->state, item->kept, item->task_count, {0}};
    for (size_t i = 0; i < item->task_count; i++)
        to->task[i] = item->tasks[i];
    return end_with;
}

static gang_result look(gang_node_id node)
{
    seen_count = 0;
    return gang_node_each(h.s, node, see, &h);
}

START_TEST(jobs_are_named_with_their_tasks)
{
    host_open(&h, 2, 4);
    gang_job_id first = host_gang(&h, "default", 6, 0), second = host_gang(&h, "default", 2, 0);
    host_run(&h, 1);
    gang_node_id node = host_node_of(&h, second, 0);
    MUST(look(node));
    ck_assert_uint_eq(seen_count, 2);
    ck_assert_uint_eq(seen[0].job, first);
    ck_assert_int_eq(seen[0].state, GANG_JOB_RUNNING);
    ck_assert_uint_eq(seen[0].alloc, gang_job_alloc(h.s, first, 0));
    ck_assert_uint_eq(seen[0].count, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_uint_eq(host_node_of(&h, first, seen[0].task[i]), node);
    ck_assert_int_lt(seen[0].task[0], seen[0].task[1]);
    ck_assert_uint_eq(seen[1].job, second);
    ck_assert_uint_eq(seen[1].count, 2);
    host_close(&h);
}
END_TEST

START_TEST(a_stopping_job_is_named_until_it_has_stopped)
{
    host_open_slow(&h, 1, 4, 60);
    gang_job_id low = host_gang(&h, "default", 4, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "default", 4, 1);
    host_run(&h, 1);
    MUST(look(host_node(&h, 0)));
    ck_assert_uint_eq(seen[0].job, low);
    ck_assert_int_eq(seen[0].state, GANG_JOB_STOPPING);
    ck_assert_int_eq(seen[0].kept, 0);
    for (size_t i = 1; i < seen_count; i++) /* what is free there */
        ck_assert(seen[i].job == high && seen[i].kept == 1);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    MUST(look(host_node(&h, 0)));
    ck_assert_uint_eq(seen_count, 1);
    ck_assert_uint_eq(seen[0].job, high);
    host_close(&h);
}
END_TEST

START_TEST(places_that_are_kept_are_named_with_the_job_that_gets_them)
{
    host_open_slow(&h, 2, 4, 60);
    gang_job_id low = host_gang(&h, "default", 4, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "default", 8, 1); /* one node is free, and kept for it */
    host_run(&h, 1);
    gang_node_id used = host_node_of(&h, low, 0), other = host_node(&h, 0);
    other = other == used ? host_node(&h, 1) : other;
    MUST(look(other));
    ck_assert_uint_eq(seen_count, 1);
    ck_assert_uint_eq(seen[0].job, high);
    ck_assert_int_eq(seen[0].kept, 1);
    ck_assert_int_eq(seen[0].state, GANG_JOB_PENDING);
    MUST(look(used));
    ck_assert_uint_eq(seen[0].job, low);
    ck_assert_int_eq(seen[0].kept, 0);
    host_close(&h);
}
END_TEST

START_TEST(an_allocation_of_others_is_named_without_a_job)
{
    struct gang_group_spec g = host_gpus(2, 2);
    struct gang_request_spec spec = request_of(&g, 1);
    host_open(&h, 1, 4);
    gang_job_id job = host_gang(&h, "default", 2, 0);
    host_run(&h, 1);
    gang_alloc_id alloc = stage_alloc(&h.stage, &spec);
    MUST(look(host_node(&h, 0)));
    ck_assert_uint_eq(seen_count, 2);
    ck_assert_uint_eq(seen[0].job, job);
    ck_assert_uint_eq(seen[1].job, GANG_ID_NONE);
    ck_assert_uint_eq(seen[1].alloc, alloc);
    ck_assert_int_eq(seen[1].state, GANG_JOB_ENDED);
    MUST(gang_alloc_free(h.stage.w, alloc));
    host_close(&h);
}
END_TEST

START_TEST(a_visitor_ends_the_visit_and_bad_calls_are_refused)
{
    host_open(&h, 2, 4);
    gang_node_id empty = host_node(&h, 0);
    MUST(look(empty));
    ck_assert_uint_eq(seen_count, 0);
    host_gang(&h, "default", 4, 0);
    host_gang(&h, "default", 4, 0);
    host_run(&h, 1);
    end_with = 7;
    ck_assert_int_eq(look(empty), 7);
    end_with = 0;
    ck_assert_uint_eq(seen_count, 1);
    ck_assert_int_eq(gang_node_each(NULL, empty, see, &h), GANG_EINVAL);
    ck_assert_int_eq(gang_node_each(h.s, empty, NULL, &h), GANG_EINVAL);
    ck_assert_int_eq(look(GANG_ID_NONE), GANG_ESTALE);
    ck_assert_int_eq(look(empty + 1000), GANG_ESTALE);
    host_close(&h);
}
END_TEST

START_TEST(memory_that_runs_out_is_a_result)
{
    host_open(&h, 1, 4);
    host_gang(&h, "default", 4, 0);
    host_run(&h, 1);
    gang_result r = GANG_ENOMEM;
    for (long n = 1; r != GANG_OK; n++) {
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        r = look(host_node(&h, 0));
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
    }
    ck_assert_uint_eq(seen_count, 1);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_jobs");
    TCase *tc = tcase_create("node_jobs");
    tcase_add_test(tc, jobs_are_named_with_their_tasks);
    tcase_add_test(tc, a_stopping_job_is_named_until_it_has_stopped);
    tcase_add_test(tc, places_that_are_kept_are_named_with_the_job_that_gets_them);
    tcase_add_test(tc, an_allocation_of_others_is_named_without_a_job);
    tcase_add_test(tc, a_visitor_ends_the_visit_and_bad_calls_are_refused);
    tcase_add_test(tc, memory_that_runs_out_is_a_result);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
