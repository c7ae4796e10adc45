/* SPDX-License-Identifier: Apache-2.0 */
/* Views of jobs and queues (view.h): they are what the queries return at that instant, and stay
 * so. */
#include "base/atomic.h"
#include "sched/holding_host.h"
#include "sched/view_sums.h"

static struct host h;

static void setup(void)
{
    struct gang_queue_spec q[3] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT,
                                   GANG_QUEUE_SPEC_INIT};
    host_open(&h, 2, 4);
    q[0].name = "top";
    q[1].name = "a";
    q[2].name = "b";
    q[1].parent = q[2].parent = "top";
    host_queues(&h, q, 3);
}

static gang_view *taken(gang_sched *s)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_view *view;
    EXPECT_RESULT(gang_sched_view(s, &view, &error), GANG_OK, &error);
    return view;
}

static struct gang_job_info job_in(const gang_view *view, gang_job_id id)
{
    struct gang_job_info job = GANG_JOB_INFO_INIT;
    MUST(gang_view_job(view, id, &job));
    return job;
}

/* A view says what the queries say now. */
static void check_same(gang_sched *s, const gang_view *view)
{
    gang_job_id id = GANG_ID_NONE;
    gang_queue_id queue = GANG_ID_NONE;
    do {
        ck_assert_uint_eq(gang_view_job_next(view, id), gang_job_next(s, id));
        id = gang_job_next(s, id);
        struct gang_job_info now = GANG_JOB_INFO_INIT, seen = GANG_JOB_INFO_INIT;
        gang_result r = gang_job_get(s, id, &now);
        ck_assert_int_eq(gang_view_job(view, id, &seen), r);
        if (r != GANG_OK)
            continue;
        ck_assert_str_eq(seen.name, now.name);
        ck_assert_str_eq(seen.user, now.user);
        ck_assert_ptr_ne(seen.name, now.name);
        seen.name = now.name;
        seen.user = now.user;
        ck_assert_mem_eq(&seen, &now, sizeof(now));
    } while (id != GANG_ID_NONE);
    do {
        ck_assert_uint_eq(gang_view_queue_next(view, queue), gang_queue_next(s, queue));
        queue = gang_queue_next(s, queue);
        struct gang_queue_info now = GANG_QUEUE_INFO_INIT, seen = GANG_QUEUE_INFO_INIT;
        gang_queue_id found;
        gang_result r = gang_queue_get(s, queue, &now);
        ck_assert_int_eq(gang_view_queue(view, queue, &seen), r);
        ck_assert_mem_eq(&seen, &now, sizeof(now));
        if (r == GANG_OK)
            MUST(gang_view_queue_find(view, now.name, &found));
        ck_assert(r != GANG_OK || found == queue);
    } while (queue != GANG_ID_NONE);
}

START_TEST(a_view_stays_as_it_was)
{
    struct gang_job_spec *spec = host_spec("a", 4, 4, 0);
    setup();
    spec->name = "train";
    spec->user = "ann";
    spec->cookie = 7;
    gang_job_id first = host_submit(&h, spec), second = host_gang(&h, "b", 8, 0);
    gang_view *before = taken(h.s);
    ck_assert_uint_eq(gang_view_job_next(before, GANG_ID_NONE), GANG_ID_NONE); /* no run yet */
    host_run(&h, HOST_SECOND);
    gang_view *view = taken(h.s);
    check_same(h.s, view);
    MUST(gang_report_end(h.s, first, 1));
    host_run(&h, HOST_SECOND);
    ck_assert(!host_has(&h, first));
    ck_assert_int_eq(host_job_state(&h, second), GANG_JOB_RUNNING);
    struct gang_job_info job = job_in(view, first);
    ck_assert_int_eq(job.state, GANG_JOB_RUNNING);
    ck_assert_int_eq(job.tasks, 4);
    ck_assert_uint_eq(job.cookie, 7);
    ck_assert_str_eq(job.name, "train");
    ck_assert_str_eq(job.user, "ann");
    ck_assert_int_eq(job_in(view, second).state, GANG_JOB_PENDING);
    ck_assert_int_eq(gang_view_now_ns(view), h.now_ns - HOST_SECOND);
    ck_assert_uint_eq(gang_view_job_next(before, GANG_ID_NONE), GANG_ID_NONE);
    gang_view_unref(before);
    gang_view_unref(view);
    host_close(&h);
}
END_TEST

START_TEST(the_latest_view_is_the_one_published_last)
{
    setup();
    ck_assert_ptr_null(gang_sched_latest_view(h.s));
    MUST(gang_sched_publish_view(h.s, NULL));
    gang_view *first = gang_sched_latest_view(h.s), *same = gang_sched_latest_view(h.s);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_eq(first, same);
    ck_assert_int_eq(gang_view_now_ns(first), INT64_MIN);
    gang_view_unref(same);
    gang_job_id id = host_gang(&h, "a", 2, 0);
    host_run(&h, HOST_SECOND);
    gang_view *unseen = taken(h.s); /* it is not published */
    same = gang_sched_latest_view(h.s);
    ck_assert_ptr_eq(first, same);
    gang_view_unref(same);
    MUST(gang_sched_publish_view(h.s, NULL));
    gang_view *second = gang_sched_latest_view(h.s);
    ck_assert_ptr_ne(second, first);
    ck_assert_ptr_ne(second, unseen);
    ck_assert_int_eq(job_in(second, id).tasks, 2);
    ck_assert_int_eq(gang_view_now_ns(second), h.now_ns);
    ck_assert_uint_eq(gang_view_job_next(first, GANG_ID_NONE), GANG_ID_NONE);
    gang_view_unref(unseen);
    gang_view_unref(first);
    gang_view_unref(second);
    host_close(&h);
}
END_TEST

static int published;

/* The owner publishes, between the two steps of a reader. */
static void publish_meanwhile(enum gang__step step)
{
    if (step != GANG__STEP_VIEW)
        return;
    for (int i = 0; i < 3; i++, published++)
        MUST(gang_sched_publish_view(h.s, NULL));
}

START_TEST(a_view_that_a_reader_is_about_to_hold_is_not_freed)
{
    setup();
    gang_job_id id = host_gang(&h, "a", 2, 0);
    host_run(&h, HOST_SECOND);
    MUST(gang_sched_publish_view(h.s, NULL));
    long live = atomic_load(&h.stage.mem.live);
    atomic_store(&gang__hook_now, publish_meanwhile);
    gang_view *view = gang_sched_latest_view(h.s), *latest;
    atomic_store(&gang__hook_now, NULL);
    ck_assert_int_eq(published, 3);
    ck_assert_int_eq(atomic_load(&h.stage.mem.live), live + 3);
    ck_assert_int_eq(job_in(view, id).tasks, 2);
    latest = gang_sched_latest_view(h.s);
    ck_assert_ptr_ne(view, latest);
    gang_view_unref(latest);
    MUST(gang_sched_publish_view(h.s, NULL)); /* gives up all older views */
    ck_assert_int_eq(atomic_load(&h.stage.mem.live), live + 1);
    ck_assert_int_eq(job_in(view, id).tasks, 2);
    gang_view_unref(view);
    ck_assert_int_eq(atomic_load(&h.stage.mem.live), live);
    host_close(&h);
}
END_TEST

START_TEST(a_held_view_outlives_scheduler_and_cluster)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct fail_mem mem;
    struct gang_job_spec *spec = host_spec("default", 1, 1, 0);
    gang_sched *s;
    gang_job_id id;
    host_open_cluster(&h, 1, 4);
    fail_mem_init(&mem, 0);
    opts.mem = &mem.mem;
    opts.default_queue = "default";
    MUST(gang_sched_new(h.stage.c, &opts, NULL, NULL, &s, NULL));
    spec->user = "ann";
    MUST(gang_job_submit(s, spec, &id, NULL));
    MUST(gang_sched_run(s, 5, NULL, NULL));
    MUST(gang_sched_publish_view(s, NULL));
    gang_view *view = gang_sched_latest_view(s), *other = gang_view_ref(view);
    ck_assert_ptr_eq(view, other);
    gang_sched_free(s);
    stage_close(&h.stage);
    gang_view_unref(other);
    ck_assert_str_eq(job_in(view, id).user, "ann");
    ck_assert_int_eq(gang_view_now_ns(view), 5);
    (void)view_check(view);
    gang_view_unref(view);
    ck_assert_int_eq(atomic_load(&mem.live), 0);
}
END_TEST

static gang_result in_callback;

static void take_in_callback(struct host *host, const struct host_event *e)
{
    gang_view *view;
    (void)e;
    in_callback = gang_sched_view(host->s, &view, NULL);
    ck_assert_ptr_null(view);
    ck_assert_int_eq(gang_sched_publish_view(host->s, NULL), in_callback);
    view = gang_sched_latest_view(host->s);
    ck_assert_ptr_nonnull(view);
    gang_view_unref(view);
}

START_TEST(a_run_is_no_instant)
{
    setup();
    MUST(gang_sched_publish_view(h.s, NULL));
    host_gang(&h, "a", 2, 0);
    h.during = take_in_callback;
    host_run(&h, HOST_SECOND);
    h.during = NULL;
    ck_assert_int_eq(in_callback, GANG_EBUSY);
    host_close(&h);
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    struct gang_job_info job = GANG_JOB_INFO_INIT;
    struct gang_queue_info queue = GANG_QUEUE_INFO_INIT;
    gang_queue_id id;
    setup();
    gang_view *view = taken(h.s), *none;
    ck_assert_int_eq(gang_sched_view(NULL, &none, NULL), GANG_EINVAL);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(gang_sched_view(h.s, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_sched_publish_view(NULL, NULL), GANG_EINVAL);
    ck_assert_ptr_null(gang_sched_latest_view(NULL));
    ck_assert_ptr_null(gang_view_ref(NULL));
    gang_view_unref(NULL);
    ck_assert_int_eq(gang_view_now_ns(NULL), INT64_MIN);
    ck_assert_int_eq(gang_view_job(NULL, 1, &job), GANG_EINVAL);
    ck_assert_int_eq(gang_view_job(view, 1, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_view_job(view, 1, &job), GANG_ESTALE);
    ck_assert_int_eq(gang_view_queue(NULL, 1, &queue), GANG_EINVAL);
    ck_assert_int_eq(gang_view_queue(view, 1, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_view_queue(view, 77, &queue), GANG_ESTALE);
    ck_assert_int_eq(gang_view_queue_find(view, "x", &id), GANG_ENOENT);
    ck_assert_int_eq(gang_view_queue_find(NULL, "a", &id), GANG_EINVAL);
    ck_assert_int_eq(gang_view_queue_find(view, NULL, &id), GANG_EINVAL);
    ck_assert_int_eq(gang_view_queue_find(view, "a", NULL), GANG_EINVAL);
    ck_assert_uint_eq(gang_view_job_next(NULL, GANG_ID_NONE), GANG_ID_NONE);
    ck_assert_uint_eq(gang_view_job_next(view, UINT64_MAX), GANG_ID_NONE);
    ck_assert_uint_eq(gang_view_queue_next(NULL, GANG_ID_NONE), GANG_ID_NONE);
    ck_assert_uint_eq(gang_view_queue_next(view, 77), GANG_ID_NONE);
    queue.size = 8;
    MUST(gang_queue_find(h.s, "a", &id));
    ck_assert_int_eq(gang_view_queue(view, id, &queue), GANG_EINVAL);
    gang_view_unref(view);
    host_close(&h);
}
END_TEST

START_TEST(out_of_memory_leaves_the_former_view)
{
    setup();
    host_gang(&h, "a", 2, 0);
    host_run(&h, HOST_SECOND);
    MUST(gang_sched_publish_view(h.s, NULL));
    gang_view *first = gang_sched_latest_view(h.s), *view;
    struct gang_error error = GANG_ERROR_INIT;
    h.stage.mem.fail_on = true;
    h.stage.mem.fail_at = h.stage.mem.calls + 1;
    EXPECT_RESULT(gang_sched_view(h.s, &view, &error), GANG_ENOMEM, &error);
    ck_assert_ptr_null(view);
    EXPECT_RESULT(gang_sched_publish_view(h.s, &error), GANG_ENOMEM, &error);
    h.stage.mem.fail_at = 0;
    view = gang_sched_latest_view(h.s);
    ck_assert_ptr_eq(view, first);
    gang_view_unref(view);
    gang_view_unref(first);
    MUST(gang_sched_publish_view(h.s, NULL));
    host_close(&h); /* nothing leaks */
}
END_TEST

START_TEST(a_copy_publishes_its_own_views)
{
    gang_cluster *c;
    gang_sched *copy;
    setup();
    host_gang(&h, "a", 2, 0);
    host_run(&h, HOST_SECOND);
    MUST(gang_sched_publish_view(h.s, NULL));
    MUST(gang_sched_copy(h.s, NULL, NULL, &c, &copy, NULL));
    ck_assert_ptr_null(gang_sched_latest_view(copy));
    gang_view *view = taken(copy);
    check_same(h.s, view);
    gang_sched_free(copy);
    gang_cluster_free(c);
    gang_view_unref(view);
    host_close(&h);
}
END_TEST

/* A random life: limits, preemption, suspension, hosts that are busy. */
START_TEST(a_view_is_what_queries_return)
{
    int worlds = getenv("GANG_TEST_QUICK") ? 4 : 20;
    chance_state = test_seed();
    for (int world = 0; world < worlds; world++) {
        holding_open();
        gang_view *held = taken(holding.h.s);
        uint64_t hash = view_check(held);
        for (int step = 0; step < 100; step++) {
            if (one_in(2))
                holding_submit();
            if (one_in(4))
                holding_one_ends();
            holding_some_stop(2);
            holding_run(below(4) * HOST_SECOND);
            gang_view *view = taken(holding.h.s);
            check_same(holding.h.s, view);
            (void)view_check(view);
            if (!one_in(5)) {
                gang_view_unref(view);
                continue;
            }
            ck_assert_uint_eq(view_check(held), hash);
            gang_view_unref(held);
            held = view;
            hash = view_check(held);
        }
        gang_view_unref(held);
        host_close(&holding.h);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("view");
    TCase *tests = tcase_create("view");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_view_stays_as_it_was);
    tcase_add_test(tests, the_latest_view_is_the_one_published_last);
    tcase_add_test(tests, a_view_that_a_reader_is_about_to_hold_is_not_freed);
    tcase_add_test(tests, a_held_view_outlives_scheduler_and_cluster);
    tcase_add_test(tests, a_run_is_no_instant);
    tcase_add_test(tests, wrong_arguments_are_refused);
    tcase_add_test(tests, out_of_memory_leaves_the_former_view);
    tcase_add_test(tests, a_copy_publishes_its_own_views);
    tcase_add_test(tests, a_view_is_what_queries_return);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
