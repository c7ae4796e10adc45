/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler as an object: making and freeing it, the bounds of a run, and its own figures. */
#include "sched/host.h"

static struct host h;

static void open_two(void)
{
    host_open(&h, 2, 4);
}

static void close_two(void)
{
    host_close(&h);
}

/* ---- making it ---- */

static gang_result try_new(const struct gang_sched_opts *opts, const struct gang_host_ops *ops,
                           struct gang_error *error)
{
    gang_sched *s = (gang_sched *)(void *)&h;
    gang_result r = gang_sched_new(h.stage.c, opts, ops, &h, &s, error);
    ck_assert((r == GANG_OK) == (s != NULL));
    gang_sched_free(s);
    return r;
}

START_TEST(all_options_have_defaults)
{
    gang_sched *s;
    MUST(gang_sched_new(h.stage.c, NULL, NULL, NULL, &s, NULL));
    ck_assert_ptr_eq(gang_sched_cluster(s), h.stage.c);
    ck_assert_ptr_null(gang_sched_cluster(NULL));
    gang_job_id id;
    MUST(gang_job_submit(s, host_spec("default", 8, 8, 0), &id, NULL));
    MUST(gang_sched_run(s, -5, NULL, NULL)); /* any time will do for the first */
    struct gang_job_info info = {.size = sizeof(info)};
    MUST(gang_job_get(s, id, &info));
    ck_assert_int_eq(info.tasks, 8);
    ck_assert_int_eq(host_gpus_free(&h), 0);
    gang_sched_free(s);
    ck_assert_int_eq(host_gpus_free(&h), 8);
    gang_sched_free(NULL);
}
END_TEST

START_TEST(missing_arguments_are_einval)
{
    gang_sched *s;
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(gang_sched_new(NULL, NULL, NULL, NULL, &s, &error), GANG_EINVAL, &error);
    ck_assert_ptr_null(s);
    ck_assert_int_eq(error.code, GANG_EINVAL);
    ck_assert_int_eq(gang_sched_new(h.stage.c, NULL, NULL, NULL, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_sched_run(NULL, 0, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_sched_next(NULL), INT64_MAX);
    ck_assert_int_eq(gang_sched_check(NULL, NULL), GANG_EINVAL);
}
END_TEST

/* Options as a later version of the library may know them. */
struct later_opts {
    struct gang_sched_opts opts;
    int64_t more;
};

START_TEST(options_of_another_size_are_taken_or_refused)
{
    struct later_opts later = {.opts = GANG_SCHED_OPTS_INIT};
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    later.opts.size = sizeof(later);
    ck_assert_int_eq(try_new(&later.opts, NULL, NULL), GANG_OK);
    later.more = 1;
    ck_assert_int_eq(try_new(&later.opts, NULL, NULL), GANG_E2BIG);
    opts.size = offsetof(struct gang_sched_opts, saturation);
    ck_assert_int_eq(try_new(&opts, NULL, NULL), GANG_OK);
    opts.size = 4;
    ck_assert_int_eq(try_new(&opts, NULL, NULL), GANG_EINVAL);
    opts.size = (size_t)1 << 30;
    ck_assert_int_eq(try_new(&opts, NULL, NULL), GANG_EINVAL);
}
END_TEST

struct later_ops {
    struct gang_host_ops ops;
    void *more;
};

START_TEST(ops_of_another_size_are_taken_or_refused)
{
    struct later_ops later = {.ops = GANG_HOST_OPS_INIT};
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    later.ops.size = sizeof(later);
    ck_assert_int_eq(try_new(NULL, &later.ops, NULL), GANG_OK);
    later.more = &h;
    ck_assert_int_eq(try_new(NULL, &later.ops, NULL), GANG_E2BIG);
    ops.size = 0;
    ck_assert_int_eq(try_new(NULL, &ops, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(numbers_out_of_range_are_refused)
{
    int64_t *member[6];
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    member[0] = &opts.half_life_ns;
    member[1] = &opts.usage_weight;
    member[2] = &opts.refused_ns;
    member[3] = &opts.max_preempted_tasks;
    member[4] = &opts.saturation;
    member[5] = &opts.max_moves; /* -1 means none */
    for (int i = 0; i < 6; i++) {
        struct gang_error error = GANG_ERROR_INIT;
        *member[i] = -1 - (i == 5);
        EXPECT_RESULT(try_new(&opts, NULL, &error), GANG_ERANGE, &error);
        *member[i] = 0;
    }
    opts.max_moves = -1;
    ck_assert_int_eq(try_new(&opts, NULL, NULL), GANG_OK);
    opts.reserved0 = 1;
    ck_assert_int_eq(try_new(&opts, NULL, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(an_unknown_excluded_kind_is_enoent)
{
    const char *kinds[] = {"gpu", "unicorn"};
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    opts.excluded_kinds = kinds;
    opts.excluded_kind_count = 1;
    EXPECT_RESULT(try_new(&opts, NULL, &error), GANG_OK, &error);
    opts.excluded_kind_count = 2;
    EXPECT_ERROR(try_new(&opts, NULL, &error), GANG_ENOENT, &error, "excluded_kinds[1]", NULL);
}
END_TEST

START_TEST(contradictory_rules_are_refused)
{
    struct gang_queue_rule rule = GANG_QUEUE_RULE_INIT;
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    opts.rules = &rule;
    opts.rule_count = 1;
    rule.match = 77;
    rule.queue = "default";
    EXPECT_RESULT(try_new(&opts, NULL, &error), GANG_EINVAL, &error);
    ck_assert_int_eq(strncmp(error.path, "rules[0]", 8), 0);
    rule.match = GANG_MATCH_ALL;
    EXPECT_RESULT(try_new(&opts, NULL, &error), GANG_OK, &error);
}
END_TEST

START_TEST(without_queues_there_is_one_unlimited_queue)
{
    struct gang_queue_info q = host_queue(&h, "default");
    ck_assert_uint_eq(q.parent, GANG_ID_NONE);
    ck_assert_int_eq(q.is_leaf, 1);
    ck_assert_int_eq(q.state, GANG_QUEUE_OPEN);
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(q.limit[k], GANG_UNLIMITED);
        ck_assert_int_eq(q.guarantee[k], GANG_UNLIMITED);
    }
    ck_assert_uint_eq(gang_queue_next(h.s, GANG_ID_NONE), q.id);
    ck_assert_uint_eq(gang_queue_next(h.s, q.id), GANG_ID_NONE);
    gang_job_id id = host_gang(&h, "", 1, 0); /* the default queue of the options */
    host_run(&h, 1);
    ck_assert_uint_eq(host_job_info(&h, id).queue, q.id);
}
END_TEST

START_TEST(more_schedulers_than_workers_is_elimit)
{
    gang_worker *w[1024];
    int n = 0;
    while (n < 1024 && gang_worker_new(h.stage.c, &w[n]) == GANG_OK)
        n++;
    ck_assert_int_eq(try_new(NULL, NULL, NULL), GANG_ELIMIT);
    while (n > 0)
        gang_worker_free(w[--n]);
    ck_assert_int_eq(try_new(NULL, NULL, NULL), GANG_OK);
}
END_TEST

/* ---- the run ---- */

START_TEST(time_does_not_go_back)
{
    host_run(&h, 100);
    ck_assert_int_eq(gang_sched_run(h.s, 99, NULL, NULL), GANG_EINVAL);
    host_run(&h, 0); /* it may stand still */
}
END_TEST

START_TEST(bounds_of_a_run_are_checked)
{
    struct gang_run_opts opts = GANG_RUN_OPTS_INIT;
    opts.max_steps = -1;
    ck_assert_int_eq(gang_sched_run(h.s, 1, &opts, NULL), GANG_EINVAL);
    opts.size = 1;
    ck_assert_int_eq(gang_sched_run(h.s, 1, &opts, NULL), GANG_EINVAL);
    struct {
        struct gang_run_opts opts;
        int64_t more;
    } later = {{sizeof(later), 0}, 1};
    ck_assert_int_eq(gang_sched_run(h.s, 1, &later.opts, NULL), GANG_E2BIG);
}
END_TEST

START_TEST(run_info_follows_the_size_rule)
{
    struct {
        struct gang_run_info info;
        int64_t more;
    } later = {{.size = sizeof(later)}, 77};
    struct gang_run_info less = GANG_RUN_INFO_INIT;
    host_gang(&h, "", 1, 0);
    less.size = offsetof(struct gang_run_info, started);
    ck_assert_int_eq(gang_sched_run(h.s, h.now_ns, NULL, &less), GANG_EINVAL);
    h.now_ns++;
    MUST(gang_sched_run(h.s, h.now_ns, NULL, &later.info));
    ck_assert_int_eq(later.info.messages, 1);
    ck_assert_int_eq(later.info.jobs_tried, 1);
    ck_assert_uint_eq(later.info.size, sizeof(later));
    ck_assert_int_eq(later.more, 0);
}
END_TEST

static int calls;

static void reenter(struct host *host, const struct host_event *e)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct gang_job_info info = {.size = sizeof(info)};
    struct gang_queue_info queue;
    gang_queue_id id;
    queue.size = sizeof(queue);
    q.name = "another";
    calls++;
    ck_assert_int_eq(gang_sched_run(host->s, host->now_ns, NULL, NULL), GANG_EBUSY);
    ck_assert_int_eq(gang_sched_set_queues(host->s, &q, 1, NULL), GANG_EBUSY);
    ck_assert_int_eq(gang_queue_add(host->s, &q, NULL, NULL), GANG_EBUSY);
    q.name = "default";
    ck_assert_int_eq(gang_queue_change(host->s, &q, NULL), GANG_EBUSY);
    MUST(gang_queue_find(host->s, "default", &id));
    ck_assert_int_eq(gang_queue_remove(host->s, id, NULL), GANG_EBUSY);
    ck_assert_int_eq(gang_queue_set_state(host->s, id, GANG_QUEUE_CLOSED), GANG_EBUSY);
    MUST(gang_queue_get(host->s, id, &queue)); /* asking is allowed */
    MUST(gang_job_get(host->s, e->job, &info));
    ck_assert_uint_eq(gang_job_alloc(host->s, e->job, 0), info.alloc);
}

START_TEST(callbacks_may_query_but_not_run_nor_change_queues)
{
    gang_job_id id = host_gang(&h, "", 1, 0);
    h.during = reenter;
    calls = 0;
    host_run(&h, 1);
    MUST(gang_job_cancel(h.s, id));
    host_run(&h, 1);
    ck_assert_int_eq(calls, 4); /* start, running; preempt, ended */
}
END_TEST

START_TEST(a_run_counts_what_it_did)
{
    struct gang_run_info r;
    gang_job_id a = host_gang(&h, "", 4, 0);
    gang_job_id b = host_submit(&h, host_spec("", 4, 2, 0));
    r = host_run_info(&h, 1);
    ck_assert_int_eq(r.messages, 2);
    ck_assert_int_eq(r.started, 2);
    ck_assert_int_eq(r.tasks_granted, 8);
    ck_assert_int_ge(r.jobs_tried, 2);
    ck_assert_int_eq(r.ended, 0);
    ck_assert_int_eq(r.more, 0);
    ck_assert_int_gt(r.steps, 0);
    host_gang(&h, "", 4, 9);
    r = host_run_info(&h, 1);
    ck_assert_int_eq(r.started, 1);
    ck_assert_int_eq(r.tasks_granted, 4);
    ck_assert_int_ge(r.tasks_preempted, 4);
    MUST(gang_report_end(h.s, a, 1));
    MUST(gang_report_end(h.s, b, 1));
    r = host_run_info(&h, 1);
    ck_assert_int_ge(r.ended, 1);
    r = host_run_info(&h, 1); /* nothing is left to do */
    ck_assert_int_eq(r.messages + r.jobs_tried + r.started + r.ended, 0);
}
END_TEST

START_TEST(a_gang_is_not_tried_again_while_nothing_changed_for_it)
{
    host_gang(&h, "", 8, 0);
    for (int i = 0; i < 50; i++)
        host_gang(&h, "", 1 + i % 8, 0);
    host_run(&h, 1);
    struct gang_run_info r = host_run_info(&h, 1);
    ck_assert_int_eq(r.jobs_tried, 0);
    host_gang(&h, "", 4, 0);
    r = host_run_info(&h, 1);
    ck_assert_int_le(r.jobs_tried, 2);
}
END_TEST

/* ---- bounded runs ---- */

/* Many jobs of many shapes and priorities in two queues that reclaim and preempt; some jobs end. */
static void submit_mixture(void)
{
    struct gang_quota half = {"gpu", 0, NULL, GANG_WHOLE / 2, 0};
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    for (int i = 0; i < 2; i++) {
        q[i].name = i ? "b" : "a";
        q[i].guaranteed = &half;
        q[i].guaranteed_count = 1;
    }
    host_queues(&h, q, 2);
    for (int i = 0; i < 12; i++)
        host_submit(&h, host_spec("a", 2 + i % 3, 1 + i % 2, i % 4));
}

static int64_t run_bounded(int64_t max_steps)
{
    struct gang_run_opts opts = GANG_RUN_OPTS_INIT;
    struct gang_run_info info = GANG_RUN_INFO_INIT;
    int64_t runs = 0;
    opts.max_steps = max_steps;
    do {
        MUST(gang_sched_run(h.s, h.now_ns, &opts, &info));
        host_check(&h);
        ck_assert_int_eq(info.more, gang_sched_next(h.s) == INT64_MIN);
        ck_assert_int_lt(++runs, 100000);
        if (max_steps) /* the victims of one job are computed in one step */
            ck_assert_int_lt(info.steps, max_steps + 64);
    } while (info.more);
    return runs;
}

/* The running jobs with their numbers of tasks, as one text. */
static void end_state(char *text, size_t bytes, int64_t max_steps)
{
    size_t n = 0;
    open_two();
    submit_mixture();
    h.now_ns = 5;
    run_bounded(max_steps);
    for (int i = 0; i < 6; i++)
        host_submit(&h, host_spec("b", 3 + i % 4, 1 + i % 3, i % 2));
    run_bounded(max_steps);
    for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id; id = gang_job_next(h.s, id)) {
        struct gang_job_info info = host_job_info(&h, id);
        n += (size_t)snprintf(text + n, bytes - n, "%" PRIu64 ":%d:%" PRId64 " ", id, info.state,
                              info.tasks);
    }
    close_two();
}

START_TEST(a_run_of_few_steps_continues_in_the_next_run)
{
    open_two();
    submit_mixture();
    h.now_ns = 5;
    ck_assert_int_gt(run_bounded(3), 4);
    ck_assert_int_eq(host_gpus_free(&h), 0);
    test_assert(host_is_idle(&h));
    close_two();
}
END_TEST

static const int64_t bounds[] = {1, 2, 3, 7, 20, 100};

START_TEST(the_schedule_does_not_depend_on_max_steps)
{
    char whole[1024], parts[1024];
    end_state(whole, sizeof(whole), 0);
    end_state(parts, sizeof(parts), bounds[_i]);
    ck_assert_str_eq(parts, whole);
}
END_TEST

/* ---- when is the next one? ---- */

START_TEST(the_next_run_is_due_at_the_earliest_timer)
{
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
    struct gang_job_spec *job = host_spec("", 8, 8, 0);
    job->time_limit_ns = 1000;
    gang_job_id id = host_submit(&h, job);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MIN);
    host_run(&h, 7);
    ck_assert_int_eq(gang_sched_next(h.s), 1007);
    job = host_spec("", 1, 1, 0);
    job->start_within_ns = 500;
    host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(gang_sched_next(h.s), 508);
    MUST(gang_report_end(h.s, id, 1));
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MIN);
    host_run(&h, 1);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
}
END_TEST

START_TEST(a_queue_change_that_unblocks_a_job_makes_a_run_due_now)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    gang_queue_id id;
    q.name = "default";
    q.max_running = 1;
    host_queues(&h, &q, 1);
    host_gang(&h, "", 1, 0);
    gang_job_id second = host_gang(&h, "", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, second), GANG_JOB_PENDING);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
    q.max_running = 2;
    MUST(gang_queue_change(h.s, &q, NULL));
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MIN);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, second), GANG_JOB_RUNNING);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
    MUST(gang_queue_find(h.s, "default", &id));
    MUST(gang_queue_set_state(h.s, id, GANG_QUEUE_CLOSED));
    host_run(&h, 1);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
}
END_TEST

static gang_job_id left_behind;

static void submit_at_the_end(struct host *host, const struct host_event *e)
{
    if (e->end != GANG_END_NONE && left_behind == GANG_ID_NONE)
        left_behind = host_gang(host, "", 1, 0);
}

START_TEST(a_job_submitted_in_a_callback_starts_in_the_same_run)
{
    gang_job_id id = host_gang(&h, "", 8, 0);
    left_behind = GANG_ID_NONE;
    host_run(&h, 1);
    h.during = submit_at_the_end;
    MUST(gang_job_cancel(h.s, id));
    host_run(&h, 1);
    ck_assert_uint_ne(left_behind, GANG_ID_NONE);
    ck_assert_int_eq(host_job_state(&h, left_behind), GANG_JOB_RUNNING);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
}
END_TEST

/* ---- jobs in order ---- */

START_TEST(jobs_are_walked_in_the_order_of_their_ids)
{
    gang_job_id first;
    MUST(gang_job_submit_array(h.s, host_spec("", 1, 1, 0), 5, &first, NULL));
    ck_assert_uint_eq(gang_job_next(h.s, GANG_ID_NONE), GANG_ID_NONE); /* not taken in yet */
    host_run(&h, 1);
    MUST(gang_job_cancel(h.s, first + 2));
    host_run(&h, 1);
    gang_job_id at = GANG_ID_NONE;
    for (int i = 0; i < 5; i++)
        if (i != 2)
            ck_assert_uint_eq(at = gang_job_next(h.s, at), first + (gang_job_id)i);
    ck_assert_uint_eq(gang_job_next(h.s, at), GANG_ID_NONE);
    ck_assert_uint_eq(gang_job_next(h.s, first + 2), first + 3); /* after one that is gone */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sched");
    TCase *c = tcase_create("a scheduler");
    tcase_add_checked_fixture(c, open_two, close_two);
    tcase_add_test(c, all_options_have_defaults);
    tcase_add_test(c, missing_arguments_are_einval);
    tcase_add_test(c, options_of_another_size_are_taken_or_refused);
    tcase_add_test(c, ops_of_another_size_are_taken_or_refused);
    tcase_add_test(c, numbers_out_of_range_are_refused);
    tcase_add_test(c, an_unknown_excluded_kind_is_enoent);
    tcase_add_test(c, contradictory_rules_are_refused);
    tcase_add_test(c, without_queues_there_is_one_unlimited_queue);
    tcase_add_test(c, more_schedulers_than_workers_is_elimit);
    tcase_add_test(c, time_does_not_go_back);
    tcase_add_test(c, bounds_of_a_run_are_checked);
    tcase_add_test(c, run_info_follows_the_size_rule);
    tcase_add_test(c, callbacks_may_query_but_not_run_nor_change_queues);
    tcase_add_test(c, a_run_counts_what_it_did);
    tcase_add_test(c, a_gang_is_not_tried_again_while_nothing_changed_for_it);
    tcase_add_test(c, the_next_run_is_due_at_the_earliest_timer);
    tcase_add_test(c, a_queue_change_that_unblocks_a_job_makes_a_run_due_now);
    tcase_add_test(c, a_job_submitted_in_a_callback_starts_in_the_same_run);
    tcase_add_test(c, jobs_are_walked_in_the_order_of_their_ids);
    suite_add_tcase(s, c);
    TCase *b = tcase_create("bounded runs");
    tcase_add_test(b, a_run_of_few_steps_continues_in_the_next_run);
    tcase_add_loop_test(b, the_schedule_does_not_depend_on_max_steps, 0,
                        (int)(sizeof(bounds) / sizeof(bounds[0])));
    suite_add_tcase(s, b);
    return run_suite(s);
}
