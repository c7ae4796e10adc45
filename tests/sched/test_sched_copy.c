/* SPDX-License-Identifier: Apache-2.0 */
/* gang_sched_copy() as a host sees it: contents, ownership, refusals. test_copy.c shows that
 * both decide the same in random worlds. */
#include "host.h"
#include "place/state/records.h"
#include "sched/record/state.h"

#define S INT64_C(1000000000)

static struct host here, there;

/* One of `gpus` GPUs that runs for so long, at most. */
static gang_job_id submit(struct host *h, int64_t gpus, int64_t limit_s)
{
    struct gang_group_spec g = group_of(1, 0, 1000 * gpus);
    struct gang_job_spec job = host_job(&g, 1);
    job.time_limit_ns = limit_s * S;
    return host_submit(h, &job);
}

/* The host of a copy of `from`, which knows nothing yet. */
static void copy_to(struct host *to, struct host *from)
{
    struct gang_host_ops ops = host_table();
    struct gang_error error = GANG_ERROR_INIT;
    memset(to, 0, sizeof(*to));
    to->now_ns = from->now_ns;
    gang_result r = gang_sched_copy(from->s, &ops, to, &to->stage.c, &to->s, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", gang_result_name(r), error.text);
    ck_assert_ptr_eq(gang_sched_cluster(to->s), to->stage.c);
    ck_assert_ptr_ne(to->stage.c, from->stage.c);
}

static void close_copy(struct host *h)
{
    struct gang_error error = GANG_ERROR_INIT;
    host_check(h);
    EXPECT_RESULT(gang_cluster_check(h->stage.c, &error), GANG_OK, &error);
    gang_sched_free(h->s);
    gang_cluster_free(h->stage.c);
}

/* Did both hosts get the same callbacks since these counts? */
static void same_events(size_t from_here, size_t from_there)
{
    ck_assert_uint_eq(here.count - from_here, there.count - from_there);
    for (size_t i = 0; i < here.count - from_here; i++) {
        struct host_event a = here.event[from_here + i], b = there.event[from_there + i];
        a.alloc = b.alloc = GANG_ID_NONE; /* new ones have nothing to do with each other */
        ck_assert_msg(memcmp(&a, &b, sizeof(a)) == 0, "%s of job %" PRIu64 ", there %s of %" PRIu64,
                      a.op, a.job, b.op, b.job);
    }
}

/* Four machines of four GPUs: one job runs, one is stopping for another, which waits for the
 * handover. */
static void open_busy_site(void)
{
    host_with_owner(&here, 4, 4);
    for (int i = 0; i < 4; i++)
        submit(&here, 4, 100);
    host_run(&here, 0);
    submit(&here, 3, 100);
    struct gang_group_spec g = group_of(1, 0, 4000);
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "owner";
    job.time_limit_ns = 10 * S;
    job.heartbeat_ns = 7 * S;
    host_submit(&here, &job);
    host_run(&here, S);
    ck_assert_str_eq(here.event[here.count - 1].op, "state");
}

/* Of everything that may lie in the inbox. */
static void post_messages(struct host *h)
{
    struct gang_group_spec g[2] = {group_of(2, 1000, 1000), group_of(1, 1000, 0)};
    struct gang_job_spec job = host_job(g, 2);
    const struct gang_label team = {"team", "x"};
    const struct gang_group_after then = {1, 0, GANG_AFTER_START, 0};
    const struct gang_job_after after = {1, GANG_AFTER_END, 0};
    gang_job_id first;
    int64_t task = 0;
    job.name = "later";
    job.request.labels = &team;
    job.request.label_count = 1;
    job.group_after = &then;
    job.group_after_count = 1;
    job.after = &after;
    job.after_count = 1;
    job.priority = 3;
    job.time_limit_ns = 20 * S;
    MUST(gang_job_submit_array(h->s, &job, 3, &first, NULL));
    MUST(gang_job_set_priority(h->s, first + 1, 9));
    MUST(gang_job_hold(h->s, first + 2));
    MUST(gang_report_tasks(h->s, 1, 0, GANG_ID_NONE, &task, 1, GANG_TASK_FAILED));
    MUST(gang_report_end(h->s, 2, 1));
    submit(h, 2, 5);
}

START_TEST(original_and_copy_both_process_pending_messages)
{
    open_busy_site();
    post_messages(&here);
    copy_to(&there, &here);
    there.lingers = here.lingers;
    size_t before = here.count;
    ck_assert_int_eq(gang_sched_next(there.s), INT64_MIN);
    for (int i = 0; i < 60; i++) {
        host_run(&here, 3 * S);
        host_run(&there, 3 * S);
        ck_assert_int_eq(gang_sched_next(here.s), gang_sched_next(there.s));
        if (i == 3) {
            submit(&here, 1, 4);
            submit(&there, 1, 4);
        }
    }
    same_events(before, 0);
    ck_assert_uint_gt(there.count, 20);
    close_copy(&there);
    host_close(&here);
}
END_TEST

START_TEST(original_and_copy_change_independently)
{
    open_busy_site();
    copy_to(&there, &here);
    size_t before = here.count;
    struct gang_job_info a = host_job_info(&here, 1), b;
    gang_node_id node = gang_node_next(there.stage.c, GANG_ID_NONE);
    ck_assert(node == gang_node_next(here.stage.c, GANG_ID_NONE));
    MUST(gang_worker_new(there.stage.c, &there.stage.w));
    MUST(gang_node_set_state(there.stage.w, node, GANG_NODE_DOWN));
    for (gang_job_id id = 1; id < 6; id++)
        MUST(gang_job_cancel(there.s, id));
    host_run(&there, 40 * S);
    ck_assert_uint_gt(there.count, 0);
    ck_assert_uint_eq(here.count, before);
    ck_assert_int_eq(gang_job_get(there.s, 1, &(struct gang_job_info){.size = sizeof(b)}),
                     GANG_ESTALE);
    b = host_job_info(&here, 1);
    ck_assert_int_eq(memcmp(&a, &b, sizeof(a)), 0);
    host_check(&here);
    gang_worker_free(there.stage.w);
    close_copy(&there);
    host_close(&here);
}
END_TEST

START_TEST(original_or_copy_may_be_freed_first)
{
    open_busy_site();
    post_messages(&here);
    copy_to(&there, &here);
    gang_sched_free(here.s);
    gang_worker_free(here.stage.w);
    gang_cluster_free(here.stage.c);
    there.lingers = true;
    for (int i = 0; i < 40; i++)
        host_run(&there, 3 * S);
    ck_assert_uint_gt(there.count, 10);
    struct host again;
    copy_to(&again, &there); /* of a copy */
    close_copy(&there);
    host_run(&again, S);
    close_copy(&again);
    ck_assert_int_eq(here.stage.mem.live, 0);
}
END_TEST

START_TEST(heartbeats_expire_at_the_same_time_in_both)
{
    struct gang_group_spec g = group_of(2, 1000, 0);
    host_open(&here, 1, 4);
    here.now_ns = S;
    struct gang_job_spec job = host_job(&g, 1);
    job.heartbeat_ns = 10 * S;
    job.loss = GANG_LOSS_FAIL;
    gang_job_id id = host_submit(&here, &job);
    host_run(&here, 0);
    MUST(gang_report_tasks(here.s, id, 0, GANG_ID_NONE, NULL, 0, GANG_TASK_STARTED));
    host_run(&here, 0);
    copy_to(&there, &here);
    ck_assert_int_eq(gang_sched_next(there.s), 11 * S);
    MUST(gang_report_tasks(here.s, id, 0, GANG_ID_NONE, NULL, 0, GANG_TASK_HEARTBEAT));
    host_run(&here, 5 * S);
    host_run(&there, 5 * S);
    host_run(&there, 5 * S);
    ck_assert_str_eq(there.event[there.count - 1].op, "state");
    ck_assert_int_eq(there.event[there.count - 1].end, GANG_END_FAILED);
    host_run(&here, 5 * S);
    ck_assert_int_eq(host_job_info(&here, id).state, GANG_JOB_RUNNING);
    close_copy(&there);
    host_close(&here);
}
END_TEST

/* A queue that accepts two waiting jobs accepts as many in the copy; its messages count. */
START_TEST(submitted_jobs_in_the_inbox_count_in_both)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct gang_group_spec g = group_of(1, 0, 1000);
    struct gang_job_spec job = host_job(&g, 1);
    gang_job_id id;
    host_open(&here, 1, 4);
    q.name = "default";
    q.max_pending = 2;
    MUST(gang_sched_set_queues(here.s, &q, 1, NULL));
    MUST(gang_job_submit_array(here.s, &job, 2, &id, NULL));
    copy_to(&there, &here);
    ck_assert_int_eq(gang_job_submit(here.s, &job, &id, NULL), GANG_ELIMIT);
    ck_assert_int_eq(gang_job_submit(there.s, &job, &id, NULL), GANG_ELIMIT);
    host_run(&there, S);
    MUST(gang_job_submit(there.s, &job, &id, NULL));
    ck_assert_uint_eq(id, 3);
    close_copy(&there);
    host_close(&here);
}
END_TEST

/* Without ops no callback runs, not even one of the original. */
START_TEST(ops_are_not_shared_with_the_copy)
{
    open_busy_site();
    gang_cluster *c;
    gang_sched *s;
    size_t before = here.count;
    MUST(gang_sched_copy(here.s, NULL, NULL, &c, &s, NULL));
    for (gang_job_id id = 1; id < 5; id++)
        MUST(gang_report_end(s, id, 1));
    MUST(gang_sched_run(s, here.now_ns + 50 * S, NULL, NULL));
    ck_assert_uint_eq(here.count, before);
    gang_sched_free(s);
    gang_cluster_free(c);
    host_close(&here);
}
END_TEST

/* An allocation outside the scheduler is freed by its id. */
START_TEST(allocations_outside_the_scheduler_stay_taken)
{
    struct gang_group_spec g = group_of(1, 0, 3000);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request;
    gang_alloc_id alloc;
    host_open(&here, 1, 4);
    MUST(gang_request_new(here.stage.c, &spec, &request, NULL));
    MUST(gang_alloc(here.stage.w, request, &alloc, NULL));
    gang_request_free(request);
    gang_job_id id = submit(&here, 2, 0);
    copy_to(&there, &here);
    host_run(&there, S);
    ck_assert_int_eq(host_job_info(&there, id).state, GANG_JOB_PENDING);
    MUST(gang_worker_new(there.stage.c, &there.stage.w));
    MUST(gang_alloc_free(there.stage.w, alloc));
    host_run(&there, S);
    ck_assert_int_eq(host_job_info(&there, id).state, GANG_JOB_RUNNING);
    host_run(&here, 2 * S);
    ck_assert_int_eq(host_job_info(&here, id).state, GANG_JOB_PENDING);
    gang_worker_free(there.stage.w);
    close_copy(&there);
    MUST(gang_alloc_free(here.stage.w, alloc));
    host_close(&here);
}
END_TEST

/* ---- what is refused ---- */

static gang_result try_copy(gang_sched *s, const struct gang_host_ops *ops)
{
    gang_cluster *c = (gang_cluster *)&here;
    gang_sched *copy = (gang_sched *)&here;
    gang_result r = gang_sched_copy(s, ops, NULL, &c, &copy, NULL);
    ck_assert_ptr_null(c);
    ck_assert_ptr_null(copy);
    return r;
}

static void try_within(struct host *h, const struct host_event *e)
{
    (void)e;
    ck_assert_int_eq(try_copy(h->s, NULL), GANG_EBUSY);
}

START_TEST(a_copy_from_a_callback_is_refused)
{
    host_open(&here, 1, 4);
    here.during = try_within;
    submit(&here, 1, 0);
    host_run(&here, S);
    ck_assert_uint_gt(here.count, 0);
    here.during = NULL;
    host_close(&here);
}
END_TEST

START_TEST(a_copy_while_an_allocation_changes_is_busy)
{
    struct gang__alloc *a;
    host_open(&here, 1, 4);
    gang_job_id id = submit(&here, 1, 0);
    host_run(&here, S);
    MUST(gang__alloc_lock(here.s->worker, gang_job_alloc(here.s, id, 0), &a));
    ck_assert_int_eq(try_copy(here.s, NULL), GANG_EBUSY);
    (void)gang__alloc_publish(a);
    copy_to(&there, &here);
    ck_assert_int_eq(host_job_info(&there, id).state, GANG_JOB_RUNNING);
    close_copy(&there);
    host_close(&here);
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    struct gang_host_ops bad = GANG_HOST_OPS_INIT;
    gang_cluster *c;
    gang_sched *copy;
    host_open(&here, 1, 4);
    bad.size = 1;
    ck_assert_int_eq(try_copy(here.s, &bad), GANG_EINVAL);
    ck_assert_int_eq(try_copy(NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_sched_copy(here.s, NULL, NULL, NULL, &copy, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_sched_copy(here.s, NULL, NULL, &c, NULL, NULL), GANG_EINVAL);
    host_close(&here);
}
END_TEST

/* Each allocation fails in turn, with messages and heartbeats. Afterwards the original goes on
 * like an earlier copy. */
START_TEST(out_of_memory_leaks_nothing)
{
    gang_result r = GANG_ENOMEM;
    struct gang_host_ops ops = host_table();
    open_busy_site();
    MUST(gang_report_end(here.s, 1, 1)); /* so that "owner" starts, and is watched */
    host_run(&here, 40 * S);
    MUST(gang_report_tasks(here.s, 6, 0, GANG_ID_NONE, NULL, 0, GANG_TASK_STARTED));
    host_run(&here, 0);
    post_messages(&here);
    copy_to(&there, &here);
    there.lingers = true;
    for (long n = 1; r != GANG_OK; n++) {
        long live = here.stage.mem.live;
        gang_cluster *c;
        gang_sched *s;
        here.stage.mem.calls = 0;
        here.stage.mem.fail_at = n;
        r = gang_sched_copy(here.s, &ops, NULL, &c, &s, NULL);
        here.stage.mem.fail_at = 0;
        ck_assert_msg(r == GANG_OK || r == GANG_ENOMEM, "allocation %ld: %s", n,
                      gang_result_name(r));
        gang_sched_free(s);
        gang_cluster_free(c);
        ck_assert_msg(here.stage.mem.live == live, "allocation %ld: %ld are lost", n,
                      here.stage.mem.live - live);
        ck_assert_int_lt(n, 100000);
    }
    size_t before = here.count;
    for (int i = 0; i < 40; i++) {
        host_run(&here, 3 * S);
        host_run(&there, 3 * S);
    }
    same_events(before, 0);
    ck_assert_uint_gt(there.count, 10);
    close_copy(&there);
    host_close(&here);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched copy");
    TCase *tests = tcase_create("copy");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, original_and_copy_both_process_pending_messages);
    tcase_add_test(tests, original_and_copy_change_independently);
    tcase_add_test(tests, original_or_copy_may_be_freed_first);
    tcase_add_test(tests, heartbeats_expire_at_the_same_time_in_both);
    tcase_add_test(tests, submitted_jobs_in_the_inbox_count_in_both);
    tcase_add_test(tests, ops_are_not_shared_with_the_copy);
    tcase_add_test(tests, allocations_outside_the_scheduler_stay_taken);
    tcase_add_test(tests, a_copy_from_a_callback_is_refused);
    tcase_add_test(tests, a_copy_while_an_allocation_changes_is_busy);
    tcase_add_test(tests, wrong_arguments_are_refused);
    tcase_add_test(tests, out_of_memory_leaks_nothing);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
