/* SPDX-License-Identifier: Apache-2.0 */
/* gang_report_places(): what really runs on a node. The books follow tasks that run elsewhere on
 * their node, what others use is not given away, and conflicts are reported. */
#include "sched/places_host.h"

static gang_job_id one_gpu(void)
{
    return host_gang(&h, "default", 1, 0);
}

static uint64_t gpus_of(gang_job_id job)
{
    return task_of(job, 0).gpus;
}

/* ---- tasks of jobs --------------------------------------------------------------------------- */

START_TEST(a_report_that_agrees_changes_nothing)
{
    struct gang_reported_place p[2];
    open_places(1, 4);
    gang_job_id a = one_gpu(), b = one_gpu();
    host_run(&h, 1);
    uint64_t of_a = gpus_of(a), of_b = gpus_of(b);
    p[0] = place_of(a, 0, of_a);
    p[1] = place_of(b, 0, 0);
    p[1].any_devices = 1; /* not known */
    report(host_node(&h, 0), p, 2, 0);
    size_t events = h.count;
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 0);
    ck_assert_int_eq(rebound, 0);
    ck_assert_uint_eq(h.count, events);
    ck_assert_uint_eq(gpus_of(a), of_a);
    ck_assert_uint_eq(gpus_of(b), of_b);
    host_close(&h);
}
END_TEST

START_TEST(the_books_follow_a_task_to_free_devices)
{
    open_places(1, 4);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = one_gpu();
    host_run(&h, 1);
    uint64_t was = gpus_of(a), now = was == 8 ? 4 : 8;
    struct gang_reported_place p = place_of(a, 0, now);
    report(node, &p, 1, 0);
    gang_job_id rest = host_gang(&h, "default", 3, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 0);
    ck_assert_int_eq(rebound, 1);
    ck_assert_uint_eq(gpus_of(a), now);
    ck_assert_int_eq(host_job_state(&h, rest), GANG_JOB_RUNNING);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_uint_eq(task_of(rest, i).gpus & now, 0);
    host_end_job(&h, a);
    ck_assert_uint_eq(free_gpus(node), now);
    host_close(&h);
}
END_TEST

START_TEST(tasks_that_changed_places_change_them_in_the_books)
{
    struct gang_reported_place p[4];
    gang_job_id job[4];
    uint64_t gpus[4];
    open_places(1, 4);
    for (int i = 0; i < 4; i++)
        job[i] = one_gpu();
    host_run(&h, 1);
    for (int i = 0; i < 4; i++)
        gpus[i] = gpus_of(job[i]);
    for (int i = 0; i < 4; i++)
        p[i] = place_of(job[i], 0, gpus[(i + 1) % 4]);
    report(host_node(&h, 0), p, 4, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 0);
    ck_assert_int_eq(rebound, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(gpus_of(job[i]), gpus[(i + 1) % 4]);
    host_close(&h);
}
END_TEST

START_TEST(a_task_that_is_being_suspended_resumes_where_it_ran)
{
    open_places(1, 3);
    host_preempts(&h, 60, GANG_PREEMPT_MODE_SUSPEND);
    struct gang_group_spec g = host_gpus(1, 1);
    g.gpu_milli = 2000;
    struct gang_job_spec spec = host_job(&g, 1);
    gang_job_id low = host_submit(&h, &spec);
    host_run(&h, 1);
    uint64_t was = gpus_of(low), now = was == 3 ? 6 : 3;
    gang_job_id high = host_gang(&h, "default", 2, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    struct gang_reported_place p = place_of(low, 0, now);
    report(host_node(&h, 0), &p, 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(rebound, 1);
    ck_assert_uint_eq(told_count, 0);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_SUSPENDED);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    host_end_job(&h, high);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 1);
    ck_assert_uint_eq(gpus_of(low), now);
    host_close(&h);
}
END_TEST

/* Job a runs on the GPU of job b. It is not given away when b ends. */
START_TEST(a_task_on_the_device_of_another_is_a_conflict)
{
    open_places(1, 4);
    gang_node_id node = host_node(&h, 0);
    struct gang_job_spec *spec = host_spec("default", 1, 1, 0);
    spec->cookie = 11;
    gang_job_id a = host_submit(&h, spec);
    spec->cookie = 22;
    gang_job_id b = host_submit(&h, spec);
    host_run(&h, 1);
    uint64_t of_a = gpus_of(a), of_b = gpus_of(b);
    gang_alloc_id alloc_b = gang_job_alloc(h.s, b, 0);
    struct gang_reported_place p = place_of(a, 0, of_b);
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_TAKEN);
    ck_assert_uint_eq(told[0].node, node);
    ck_assert_uint_eq(told[0].job, a);
    ck_assert_uint_eq(told[0].cookie, 11);
    ck_assert_int_eq(told[0].task, 0);
    ck_assert_uint_eq(told[0].booked_job, b);
    ck_assert_uint_eq(told[0].booked_cookie, 22);
    ck_assert_uint_eq(told[0].booked_alloc, alloc_b);
    ck_assert_int_eq(told[0].booked_task, 0);
    ck_assert_uint_eq(told[0].gpus, of_b);
    ck_assert_int_eq(last_code, GANG_LOG_CONFLICT);
    ck_assert_uint_eq(gpus_of(a), of_a);
    gang_job_id c = host_gang(&h, "default", 3, 0); /* two GPUs are free, then b's */
    MUST(gang_report_end(h.s, b, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_PENDING);
    ck_assert_uint_eq(free_gpus(node) & (of_a | of_b), 0);
    report(node, &p, 1, 0); /* b is over: a has its GPU, and gives its own */
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 0);
    ck_assert_uint_eq(gpus_of(a), of_b);
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_RUNNING);
    host_close(&h);
}
END_TEST

START_TEST(what_a_task_uses_in_conflict_goes_with_the_task)
{
    open_places(1, 2);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = one_gpu(), b = one_gpu();
    host_run(&h, 1);
    struct gang_reported_place p = place_of(a, 0, gpus_of(b));
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    host_end_job(&h, b);
    ck_assert_uint_eq(free_gpus(node), 0);
    host_end_job(&h, a);
    ck_assert_uint_eq(free_gpus(node), 3);
    host_close(&h);
}
END_TEST

START_TEST(a_chain_of_moves_ends_at_a_device_that_is_taken)
{
    struct gang_reported_place p[2];
    open_places(1, 3);
    gang_job_id a = one_gpu(), b = one_gpu(), c = one_gpu();
    host_run(&h, 1);
    uint64_t of_a = gpus_of(a), of_b = gpus_of(b), of_c = gpus_of(c);
    p[0] = place_of(a, 0, of_b);
    p[1] = place_of(b, 0, of_c); /* c is not listed, and stays */
    report(host_node(&h, 0), p, 2, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 2);
    ck_assert_uint_eq(told[0].job, a);
    ck_assert_uint_eq(told[0].booked_job, b);
    ck_assert_uint_eq(told[1].job, b);
    ck_assert_uint_eq(told[1].booked_job, c);
    ck_assert_uint_eq(gpus_of(a), of_a);
    ck_assert_uint_eq(gpus_of(b), of_b);
    ck_assert_uint_eq(gpus_of(c), of_c);
    host_close(&h);
}
END_TEST

START_TEST(devices_that_do_not_suit_are_a_conflict)
{
    open_places(1, 4);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = one_gpu();
    host_run(&h, 1);
    uint64_t of_a = gpus_of(a);
    struct gang_reported_place p = place_of(a, 0, 15); /* four for one */
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_UNSUITABLE);
    ck_assert_uint_eq(gpus_of(a), of_a);
    ck_assert_uint_eq(free_gpus(node), 0);
    p.gpus = UINT64_C(1) << 40;
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_UNSUITABLE);
    ck_assert_uint_eq(free_gpus(node), 15 & ~of_a);
    host_close(&h);
}
END_TEST

START_TEST(tasks_that_no_book_has_are_told_and_held)
{
    struct gang_reported_place p[3];
    open_places(2, 2);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = one_gpu();
    host_run(&h, 1);
    gang_node_id there = task_of(a, 0).node, other = there == node ? host_node(&h, 1) : node;
    p[0] = place_of(a, 0, 1); /* on the other node */
    p[1] = place_of(a, 7, 2); /* no such task */
    report(other, p, 2, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 2);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_ELSEWHERE);
    ck_assert_int_eq(told[1].what, GANG_CONFLICT_UNKNOWN);
    ck_assert_uint_eq(free_gpus(other), 0);
    p[2] = place_of(999, 0, 2); /* no such job */
    report(other, &p[2], 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_UNKNOWN);
    ck_assert_uint_eq(told[0].job, 999);
    ck_assert_uint_eq(free_gpus(other), 1);
    report(other, NULL, 0, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(free_gpus(other), 3);
    p[0] = place_of(a, 0, task_of(a, 0).gpus); /* twice */
    p[1] = p[0];
    report(there, p, 2, 0);
    host_run(&h, 1);
    ck_assert_uint_ge(told_count, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_ELSEWHERE);
    host_close(&h);
}
END_TEST

/* The kill was over for the library, but the processes are not. */
START_TEST(a_task_that_was_killed_and_runs_on_keeps_its_device)
{
    open_places(1, 1);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = one_gpu();
    host_run(&h, 1);
    MUST(gang_job_cancel(h.s, a)); /* refused: stopped at once */
    host_run(&h, 1);
    ck_assert(!host_has(&h, a));
    struct gang_reported_place p = place_of(a, 0, 1);
    report(node, &p, 1, 0);
    gang_job_id b = one_gpu();
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_UNKNOWN);
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_PENDING);
    report(node, NULL, 0, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_RUNNING);
    host_close(&h);
}
END_TEST

/* ---- others ---------------------------------------------------------------------------------- */

static size_t others_seen;
static int64_t others_gpus;

static int32_t add_gpus(const struct gang_task *task, void *user)
{
    (void)user;
    others_gpus += task->gpu_count;
    return 0;
}

static int32_t see_others(const struct gang_node_item *item, void *user)
{
    (void)user;
    if (item->job != GANG_ID_NONE)
        return 0;
    others_seen++;
    MUST(gang_alloc_each(h.stage.c, item->alloc, add_gpus, NULL));
    return 0;
}

START_TEST(what_others_use_is_held_until_they_have_gone)
{
    open_places(1, 4);
    gang_node_id node = host_node(&h, 0);
    struct gang_reported_place p = place_of(GANG_ID_NONE, 0, 5);
    p.memory_bytes = 3 * 4096;
    p.cpu_milli = 500;
    report(node, &p, 1, 0);
    gang_job_id a = host_gang(&h, "default", 3, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 0); /* it is free, and theirs */
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_PENDING);
    struct gang_node_info info = stage_node(&h.stage, node);
    ck_assert_uint_eq(info.gpu_mask, 10);
    ck_assert_int_eq(info.cpu_free, info.cpu_milli - 500);
    ck_assert_int_eq(info.memory_free, info.memory_bytes - 3 * 4096);
    others_seen = 0;
    others_gpus = 0;
    MUST(gang_node_each(h.s, node, see_others, NULL));
    ck_assert_uint_eq(others_seen, 1);
    ck_assert_int_eq(others_gpus, 2);
    p.gpus = 4; /* the next report replaces it */
    p.memory_bytes = p.cpu_milli = 0;
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_RUNNING);
    info = stage_node(&h.stage, node);
    ck_assert_uint_eq(info.gpu_mask, 0);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_uint_ne(task_of(a, i).gpus, 4);
    host_close(&h);
}
END_TEST

START_TEST(a_part_of_a_device_leaves_the_rest)
{
    struct gang_reported_place p[2];
    open_places(1, 1);
    p[0] = place_of(GANG_ID_NONE, 0, 1);
    p[0].gpu_share = 300;
    p[1] = p[0];
    p[1].gpu_share = 200;
    report(host_node(&h, 0), p, 2, 0);
    host_run(&h, 1);
    ck_assert_int_eq(stage_node(&h.stage, host_node(&h, 0)).gpu_share_free[0], 500);
    report(host_node(&h, 0), p, 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(stage_node(&h.stage, host_node(&h, 0)).gpu_share_free[0], 700);
    host_close(&h);
}
END_TEST

START_TEST(others_on_the_device_of_a_job_get_it_before_any_job)
{
    open_places(1, 2);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = host_gang(&h, "default", 2, 0), next = host_gang(&h, "default", 2, 0);
    host_run(&h, 1);
    struct gang_reported_place p = place_of(GANG_ID_NONE, 0, 2);
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_TAKEN);
    ck_assert_uint_eq(told[0].job, GANG_ID_NONE);
    ck_assert_int_eq(told[0].task, -1);
    ck_assert_uint_eq(told[0].booked_job, a);
    ck_assert_uint_eq(told[0].gpus, 2);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_RUNNING);
    host_end_job(&h, a);
    ck_assert_int_eq(host_job_state(&h, next), GANG_JOB_PENDING);
    ck_assert_uint_eq(free_gpus(node), 1);
    report(node, NULL, 0, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, next), GANG_JOB_RUNNING);
    host_close(&h);
}
END_TEST

START_TEST(others_on_the_node_of_an_exclusive_job_are_a_conflict)
{
    open_places(1, 4);
    gang_node_id node = host_node(&h, 0);
    struct gang_job_spec *spec = host_spec("default", 1, 1, 0);
    spec->request.exclusive = 1;
    gang_job_id a = host_submit(&h, spec);
    host_run(&h, 1);
    uint64_t others = 15 & ~gpus_of(a);
    struct gang_reported_place p = place_of(GANG_ID_NONE, 0, others);
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_uint_eq(told[0].booked_job, a);
    ck_assert_uint_eq(told[0].gpus, others);
    host_end_job(&h, a);
    ck_assert_uint_eq(free_gpus(node), 15 & ~others);
    host_close(&h);
}
END_TEST

/* Neither does a job get it for which the other one was preempted. */
START_TEST(a_preemptor_does_not_get_what_others_use)
{
    open_places(1, 2);
    host_linger(&h, 60);
    gang_node_id node = host_node(&h, 0);
    gang_job_id low = host_gang(&h, "default", 2, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "default", 2, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    struct gang_reported_place p = place_of(GANG_ID_NONE, 0, 1);
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_uint_eq(told[0].booked_job, low);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_PENDING);
    ck_assert_uint_eq(free_gpus(node) & 1, 0);
    report(node, NULL, 0, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    host_close(&h);
}
END_TEST

START_TEST(what_is_held_goes_with_its_node)
{
    open_places(2, 2);
    gang_node_id node = host_node(&h, 0);
    struct gang_reported_place p = place_of(GANG_ID_NONE, 0, 3);
    report(node, &p, 1, 0);
    host_run(&h, 1);
    MUST(gang_node_remove(h.stage.w, node));
    host_run(&h, 1);
    ck_assert_uint_eq(gang_alloc_next(h.stage.c, GANG_ID_NONE), GANG_ID_NONE);
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(last_code, GANG_LOG_IGNORED);
    ck_assert_uint_eq(told_count, 0);
    host_close(&h);
}
END_TEST

START_TEST(a_copy_holds_it_too)
{
    gang_cluster *c;
    gang_sched *copy;
    struct gang_node_info info = GANG_NODE_INFO_INIT;
    open_places(1, 3);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = one_gpu();
    host_run(&h, 1);
    struct gang_reported_place p = place_of(GANG_ID_NONE, 0, gpus_of(a) | 4);
    report(node, &p, 1, 0);
    host_run(&h, 1);
    report(node, &p, 1, 0); /* no run has accepted this one */
    MUST(gang_sched_copy(h.s, NULL, NULL, &c, &copy, NULL));
    MUST(gang_report_end(copy, a, 1));
    MUST(gang_sched_run(copy, h.now_ns, NULL, NULL));
    MUST(gang_node_get(c, node, &info));
    ck_assert_uint_eq(info.gpu_mask, 7 & ~p.gpus);
    MUST(gang_report_places(copy, node, NULL, 0, 0));
    MUST(gang_sched_run(copy, h.now_ns, NULL, NULL));
    MUST(gang_node_get(c, node, &info));
    ck_assert_uint_eq(info.gpu_mask, 7);
    MUST(gang_sched_check(copy, NULL));
    gang_sched_free(copy);
    gang_cluster_free(c);
    host_close(&h);
}
END_TEST

/* ---- complete lists -------------------------------------------------------------------------- */

START_TEST(tasks_that_a_complete_list_lacks_are_over)
{
    open_places(2, 2);
    gang_node_id node = host_node(&h, 0);
    struct gang_job_spec *spec = host_spec("default", 4, 4, 0);
    spec->loss = GANG_LOSS_FAIL;
    gang_job_id a = host_submit(&h, spec);
    host_run(&h, 1);
    struct gang_reported_place p[2];
    size_t count = 0;
    for (int64_t i = 0; i < 4; i++)
        if (task_of(a, i).node == node)
            p[count++] = place_of(a, i, task_of(a, i).gpus);
    ck_assert_uint_eq(count, 2);
    report(node, p, 2, GANG_PLACES_COMPLETE);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_RUNNING);
    report(node, p, 1, 0); /* not complete: nothing is lost */
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_RUNNING);
    report(node, p, 1, GANG_PLACES_COMPLETE);
    host_run(&h, 1);
    ck_assert(!host_has(&h, a));
    ck_assert_int_eq(host_end(&h, a), GANG_END_FAILED);
    host_close(&h);
}
END_TEST

START_TEST(a_stopping_task_that_a_complete_list_lacks_has_stopped)
{
    open_places(1, 2);
    host_linger(&h, 60);
    gang_job_id low = host_gang(&h, "default", 2, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "default", 2, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    report(host_node(&h, 0), NULL, 0, GANG_PLACES_COMPLETE);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

START_TEST(a_listed_task_has_been_heard_of)
{
    open_places(1, 1);
    struct gang_job_spec *spec = host_spec("default", 1, 1, 0);
    spec->heartbeat_ns = (int64_t)10 * HOST_SECOND;
    spec->loss = GANG_LOSS_FAIL;
    gang_job_id a = host_submit(&h, spec);
    host_run(&h, 1);
    host_report(&h, a, 0, GANG_TASK_STARTED);
    host_run(&h, 1);
    struct gang_reported_place p = place_of(a, 0, 1);
    for (int i = 0; i < 4; i++) {
        host_run(&h, (int64_t)6 * HOST_SECOND);
        report(host_node(&h, 0), &p, 1, 0);
        host_run(&h, 1);
        ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_RUNNING);
    }
    host_run(&h, (int64_t)11 * HOST_SECOND);
    ck_assert(!host_has(&h, a) || host_job_state(&h, a) != GANG_JOB_RUNNING);
    host_close(&h);
}
END_TEST

/* ---- cores ----------------------------------------------------------------------------------- */

static void add_core_node(void)
{
    struct box box = {
        .name = "cores", .cpu = 8000, .memory = GIB, .cores = 8, .numas = 2, .gpus = 0};
    stage_add(&h.stage, &box);
}

START_TEST(cores_follow_and_are_held_like_devices)
{
    struct gang_reported_place p[2];
    open_places(0, 0);
    add_core_node();
    host_run(&h, 1);
    gang_node_id node;
    MUST(gang_node_find(h.stage.c, "cores", &node));
    struct gang_group_spec g = group_of(1, 2000, 0);
    struct gang_job_spec spec = host_job(&g, 1);
    gang_job_id a = host_submit(&h, &spec), b = host_submit(&h, &spec);
    host_run(&h, 1);
    uint64_t of_a = task_of(a, 0).cores[0], of_b = task_of(b, 0).cores[0];
    uint64_t rest = 255 & ~(of_a | of_b), two = rest & (~rest + 1);
    two |= (rest & ~two) & (~(rest & ~two) + 1);
    p[0] = place_of(a, 0, 0);
    p[0].any_devices = 1;
    p[0].any_cores = 0;
    p[0].cores[0] = two;
    p[1] = place_of(GANG_ID_NONE, 0, 0);
    p[1].any_cores = 0;
    p[1].cores[0] = of_a | of_b;
    report(node, p, 2, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(task_of(a, 0).cores[0], two);
    ck_assert_uint_eq(told_count, 1); /* those of b */
    ck_assert_uint_eq(told[0].booked_job, b);
    ck_assert_uint_eq(told[0].cores[0], of_b);
    ck_assert_int_eq(stage_node(&h.stage, node).cpu_free, 2000);
    gang_job_id c = host_submit(&h, &spec);
    host_run(&h, 1);
    ck_assert_uint_eq(task_of(c, 0).cores[0] & (two | of_a | of_b), 0);
    host_end_job(&h, b); /* its cores are theirs now */
    ck_assert_int_eq(stage_node(&h.stage, node).cpu_free, 0);
    host_end_job(&h, a);
    ck_assert_int_eq(stage_node(&h.stage, node).cpu_free, 2000);
    host_close(&h);
}
END_TEST

/* ---- calls ----------------------------------------------------------------------------------- */

START_TEST(bad_calls_are_refused)
{
    struct gang_reported_place p = GANG_REPORTED_PLACE_INIT;
    open_places(1, 1);
    gang_node_id node = host_node(&h, 0);
    ck_assert_int_eq(gang_report_places(NULL, node, &p, 1, 0), GANG_EINVAL);
    ck_assert_int_eq(gang_report_places(h.s, GANG_ID_NONE, &p, 1, 0), GANG_EINVAL);
    ck_assert_int_eq(gang_report_places(h.s, node, NULL, 1, 0), GANG_EINVAL);
    ck_assert_int_eq(gang_report_places(h.s, node, &p, 1, 2), GANG_EINVAL);
    p.size = 8;
    ck_assert_int_eq(gang_report_places(h.s, node, &p, 1, 0), GANG_EINVAL);
    p.size = sizeof(p);
    p.gpu_share = 1001;
    ck_assert_int_eq(gang_report_places(h.s, node, &p, 1, 0), GANG_ERANGE);
    p.gpu_share = -1;
    ck_assert_int_eq(gang_report_places(h.s, node, &p, 1, 0), GANG_ERANGE);
    p.gpu_share = 0;
    p.memory_bytes = -1;
    ck_assert_int_eq(gang_report_places(h.s, node, &p, 1, 0), GANG_ERANGE);
    p.memory_bytes = 4096;
    p.job = 1; /* what its tasks have of memory is in the books */
    ck_assert_int_eq(gang_report_places(h.s, node, &p, 1, 0), GANG_EINVAL);
    p.memory_bytes = 0;
    p.task = -1;
    ck_assert_int_eq(gang_report_places(h.s, node, &p, 1, 0), GANG_ERANGE);
    p.job = GANG_ID_NONE;
    p.task = 1;
    ck_assert_int_eq(gang_report_places(h.s, node, &p, 1, 0), GANG_EINVAL);
    p.task = 0;
    p.any_cores = 2;
    ck_assert_int_eq(gang_report_places(h.s, node, &p, 1, 0), GANG_EINVAL);
    ck_assert_int_eq(gang_report_places(h.s, node, &p, (1 << 14) + 1, 0), GANG_ERANGE);
    host_close(&h);
}
END_TEST

/* Each allocation fails in turn: nothing is half done, and the next run does it. */
START_TEST(memory_that_runs_out_delays_a_report)
{
    for (long n = 1, failed = 1; failed; n++) {
        struct gang_reported_place p[3];
        open_places(1, 4);
        gang_node_id node = host_node(&h, 0);
        gang_job_id a = one_gpu(), b = one_gpu();
        host_run(&h, 1);
        uint64_t rest = 15 & ~(gpus_of(a) | gpus_of(b)), one = rest & (~rest + 1);
        p[0] = place_of(a, 0, gpus_of(b));
        p[1] = place_of(b, 0, one);
        p[2] = place_of(GANG_ID_NONE, 0, (rest & ~one) | gpus_of(a));
        uint64_t want_a = p[0].gpus;
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        gang_result r = gang_report_places(h.s, node, p, 3, GANG_PLACES_COMPLETE);
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        if (r == GANG_ENOMEM)
            MUST(gang_report_places(h.s, node, p, 3, GANG_PLACES_COMPLETE));
        h.now_ns++;
        gang_result run = gang_sched_run(h.s, h.now_ns, NULL, NULL);
        ck_assert(run == GANG_OK || run == GANG_ENOMEM);
        failed = h.stage.mem.calls >= n;
        h.stage.mem.fail_at = 0;
        host_check(&h);
        host_run(&h, 1);
        ck_assert_uint_eq(gpus_of(a), want_a);
        ck_assert_uint_eq(gpus_of(b), one);
        ck_assert_uint_eq(free_gpus(node), 0);
        ck_assert_uint_eq(told_count, 0);
        MUST(gang_cluster_check(h.stage.c, NULL));
        host_close(&h);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("places");
    TCase *tc = tcase_create("places");
    tcase_add_test(tc, a_report_that_agrees_changes_nothing);
    tcase_add_test(tc, the_books_follow_a_task_to_free_devices);
    tcase_add_test(tc, tasks_that_changed_places_change_them_in_the_books);
    tcase_add_test(tc, a_task_that_is_being_suspended_resumes_where_it_ran);
    tcase_add_test(tc, a_task_on_the_device_of_another_is_a_conflict);
    tcase_add_test(tc, what_a_task_uses_in_conflict_goes_with_the_task);
    tcase_add_test(tc, a_chain_of_moves_ends_at_a_device_that_is_taken);
    tcase_add_test(tc, devices_that_do_not_suit_are_a_conflict);
    tcase_add_test(tc, tasks_that_no_book_has_are_told_and_held);
    tcase_add_test(tc, a_task_that_was_killed_and_runs_on_keeps_its_device);
    tcase_add_test(tc, what_others_use_is_held_until_they_have_gone);
    tcase_add_test(tc, a_part_of_a_device_leaves_the_rest);
    tcase_add_test(tc, others_on_the_device_of_a_job_get_it_before_any_job);
    tcase_add_test(tc, others_on_the_node_of_an_exclusive_job_are_a_conflict);
    tcase_add_test(tc, a_preemptor_does_not_get_what_others_use);
    tcase_add_test(tc, what_is_held_goes_with_its_node);
    tcase_add_test(tc, a_copy_holds_it_too);
    tcase_add_test(tc, tasks_that_a_complete_list_lacks_are_over);
    tcase_add_test(tc, a_stopping_task_that_a_complete_list_lacks_has_stopped);
    tcase_add_test(tc, a_listed_task_has_been_heard_of);
    tcase_add_test(tc, cores_follow_and_are_held_like_devices);
    tcase_add_test(tc, bad_calls_are_refused);
    tcase_add_test(tc, memory_that_runs_out_delays_a_report);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
