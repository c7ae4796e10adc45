/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs with groups that start after one another: data, training, serving. Each gang has work of its
 * own. */
#include <stddef.h>

#include "sim/simulated.h"

static struct simulated s;
static struct gang_job_spec job;
static struct gang_group_spec group[4];
static struct gang_group_after after[8];
static char said[4096]; /* events, a line each */

static int32_t note(const struct gang_sim_event *e, void *user)
{
    static const char *const name[] = {"submitted", "refused",   "started",   "grew",
                                       "shrank",    "stopped",   "suspended", "resumed",
                                       "ended",     "node-down", "node-up",   "gang-ended"};
    (void)user;
    size_t used = strlen(said);
    if (e->index != 0 || used + 64 > sizeof(said))
        return 0;
    snprintf(said + used, sizeof(said) - used, "%" PRId64 " %s %d\n", e->now_ns / SECOND,
             name[e->what], e->gang);
    return 0;
}

static void open_two(void)
{
    const struct gang_job_spec spec = GANG_JOB_SPEC_INIT;
    sim_open(&s, 2, 4);
    s.ops.event = note;
    s.opts.record = GANG_SIM_RECORD_ALLOCATIONS;
    said[0] = 0;
    job = spec;
    job.loss = GANG_LOSS_RESTART;
    job.max_restarts = 100;
    job.request.groups = group;
    job.group_after = after;
}

static void close_all(void)
{
    sim_close(&s);
}

static void add_group(int64_t gpus, int64_t min)
{
    const struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_group_spec *x = &group[job.request.group_count++];
    *x = g;
    x->count = gpus;
    x->min = min;
    x->gpu_milli = 1000;
}

static void add_after(int32_t who, int32_t whom, int32_t when)
{
    after[job.group_after_count++] = (struct gang_group_after){who, whom, when, 0};
}

static size_t submit(const int64_t *run_s)
{
    struct gang_error error = GANG_ERROR_INIT;
    int64_t run_ns[4];
    size_t index;
    for (size_t i = 0; i < job.request.group_count; i++)
        run_ns[i] = run_s[i] * SECOND;
    gang_result r =
        gang_sim_submit_groups(s.sim, &job, run_ns, job.request.group_count, &index, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    return index;
}

/* Data on one GPU for 10 s, training on four for 100 s, serving on two for 30 s. */
static void three(int64_t min)
{
    add_group(1, 1);
    add_group(4, min);
    add_group(2, 2);
    add_after(1, 0, GANG_AFTER_SUCCESS);
    add_after(2, 1, GANG_AFTER_SUCCESS);
}

static const int64_t three_s[] = {10, 100, 30};

static struct gang_sim_stats stats(void)
{
    struct gang_sim_stats st = GANG_SIM_STATS_INIT;
    MUST(gang_sim_get_stats(s.sim, NULL, &st));
    return st;
}

/* ---- one after the other ---- */

START_TEST(each_gang_runs_its_given_time)
{
    three(4);
    sim_make(&s, NULL);
    ck_assert_uint_eq(submit(three_s), 0);
    sim_run(&s, -1);
    struct gang_sim_job j = sim_get(&s, 0);
    ck_assert_int_eq(j.end, GANG_END_SUCCESS);
    ck_assert_time(j.start_ns, 0);
    ck_assert_time(j.end_ns, 140);
    ck_assert_time(j.run_ns, 140);
    ck_assert_time(j.ran_ns, 140);
    ck_assert_int_eq(j.wait_ns, 0);
    ck_assert_int_eq(j.starts, 3);
    ck_assert_int_eq(j.preemptions, 0);
    ck_assert_int_eq(j.tasks, 7);
    ck_assert_int_eq(j.gpu_milli, 7000);
    ck_assert_str_eq(said, "0 submitted 0\n0 started 0\n"
                           "10 gang-ended 0\n10 started 1\n"
                           "110 gang-ended 1\n110 started 2\n"
                           "140 gang-ended 2\n140 ended 0\n");
    /* 10 x 1, 100 x 4 and 30 x 2 GPU-seconds of 140 x 8 */
    ck_assert_double_eq_tol(stats().gpu_utilisation, 470.0 / 1120, 1e-12);
    ck_assert_double_eq_tol(stats().slowdown.mean, 1, 1e-12);
    ck_assert_double_eq_tol(stats().goodput, 1, 1e-12);
}
END_TEST

START_TEST(rows_of_allocations_are_those_of_gangs)
{
    static const int64_t begin[] = {0, 10, 110}, end[] = {10, 110, 140}, gpus[] = {1, 4, 2};
    three(4);
    sim_make(&s, NULL);
    submit(three_s);
    sim_run(&s, -1);
    ck_assert_uint_eq(gang_sim_allocation_count(s.sim), 3);
    for (size_t i = 0; i < 3; i++) {
        struct gang_sim_allocation a = {.size = sizeof(a)};
        MUST(gang_sim_get_allocation(s.sim, i, &a));
        ck_assert_time(a.begin_ns, begin[i]);
        ck_assert_time(a.end_ns, end[i]);
        ck_assert_int_eq(a.gpu_milli, gpus[i] * 1000);
        ck_assert_int_eq(a.gang, (int64_t)i);
        a.size = offsetof(struct gang_sim_allocation, gang); /* as it was once */
        a.gang = 77;
        MUST(gang_sim_get_allocation(s.sim, i, &a));
        ck_assert_int_eq(a.gang, 77);
        a.size--;
        ck_assert_int_eq(gang_sim_get_allocation(s.sim, i, &a), GANG_EINVAL);
    }
}
END_TEST

START_TEST(with_one_run_time_each_gang_runs_so_long)
{
    three(4);
    sim_make(&s, NULL);
    MUST(gang_sim_submit(s.sim, &job, 20 * SECOND, NULL, NULL));
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).end_ns, 60);
    ck_assert_time(sim_get(&s, 0).run_ns, 60);
}
END_TEST

START_TEST(groups_that_wait_for_the_same_are_one_gang)
{
    static const int64_t run_s[] = {10, 50, 20};
    add_group(1, 1);
    add_group(2, 2);
    add_group(2, 2);
    add_after(1, 0, GANG_AFTER_END);
    add_after(2, 0, GANG_AFTER_END);
    add_after(2, 0, GANG_AFTER_END); /* twice: another gang, as the scheduler has it */
    sim_make(&s, NULL);
    submit(run_s);
    job.group_after_count = 2;
    submit(run_s);
    sim_run(&s, -1);
    ck_assert_int_eq(sim_get(&s, 0).starts, 3);
    ck_assert_int_eq(sim_get(&s, 1).starts, 2);
    ck_assert_time(sim_get(&s, 0).end_ns, 60);
    ck_assert_time(sim_get(&s, 1).end_ns, 60);
}
END_TEST

START_TEST(gangs_may_run_beside_each_other)
{
    static const int64_t run_s[] = {50, 20, 100};
    add_group(1, 1);
    add_group(2, 2);
    add_group(2, 2);
    add_after(1, 0, GANG_AFTER_START);
    add_after(2, 1, GANG_AFTER_SUCCESS);
    sim_make(&s, NULL);
    submit(run_s);
    sim_run(&s, -1);
    struct gang_sim_job j = sim_get(&s, 0);
    ck_assert_time(j.end_ns, 120); /* 20 and 100: the first is shorter than these */
    ck_assert_time(j.run_ns, 120);
    ck_assert_time(j.ran_ns, 120);
    ck_assert_str_eq(said, "0 submitted 0\n0 started 0\n0 started 1\n"
                           "20 gang-ended 1\n20 started 2\n50 gang-ended 0\n"
                           "120 gang-ended 2\n120 ended 0\n");
    ck_assert_double_eq_tol(stats().gpu_utilisation, (50 + 40 + 200) / 960.0, 1e-12);
}
END_TEST

START_TEST(a_gang_waits_for_a_gap_between_two)
{
    three(4);
    sim_job(&s, 5, 50,
            8); /* comes when one GPU is taken, and is first in the queue when it is free */
    sim_make(&s, NULL);
    size_t index = submit(three_s);
    sim_run(&s, -1);
    struct gang_sim_job j = sim_get(&s, index);
    ck_assert_uint_eq(index, 1);
    ck_assert_time(sim_get(&s, 0).end_ns, 60 + (sim_get(&s, 0).start_ns / SECOND - 10));
    ck_assert_int_eq(j.ran_ns, 140 * SECOND);
    ck_assert_int_eq(j.end_ns, j.ran_ns + j.wait_ns);
    ck_assert_int_eq(j.wait_ns % (50 * SECOND), 0);
}
END_TEST

START_TEST(a_job_ends_with_its_chief)
{
    static const int64_t run_s[] = {10, 100, 1000};
    static const int32_t roles[] = {GANG_ROLE_MEMBER, GANG_ROLE_CHIEF, GANG_ROLE_SIDECAR};
    three(4);
    job.roles = roles;
    after[1] = (struct gang_group_after){2, 0, GANG_AFTER_START, 0}; /* a board beside it */
    sim_make(&s, NULL);
    submit(run_s);
    sim_run(&s, -1);
    ck_assert_int_eq(sim_get(&s, 0).end, GANG_END_SUCCESS);
    ck_assert_time(sim_get(&s, 0).end_ns, 110);
    ck_assert_time(sim_get(&s, 0).run_ns, 110);
    ck_assert_double_eq_tol(stats().gpu_utilisation, (10 + 400 + 220) / 880.0, 1e-12);
}
END_TEST

/* ---- elastic ---- */

START_TEST(a_gang_with_fewer_tasks_is_slower_and_the_next_need_not_wait_for_the_rest)
{
    for (int64_t busy = 6; busy <= 7; busy++) { /* leaves its minimum of two, or... */
        static const int64_t run_s[] = {10, 100, 30};
        sim_close(&s);
        open_two();
        add_group(1, 1);
        add_group(4, busy == 6 ? 2 : 1);
        add_group(1, 1);
        add_after(1, 0, GANG_AFTER_SUCCESS);
        add_after(2, 1, GANG_AFTER_SUCCESS);
        sim_job(&s, 0, 10000, busy);
        sim_make(&s, NULL);
        sim_run(&s, 1);
        size_t index = submit(run_s);
        sim_run(&s, -1);
        struct gang_sim_job j = sim_get(&s, index);
        ck_assert_int_eq(j.end, GANG_END_SUCCESS);
        ck_assert_time(j.end_ns, 1 + 10 + (busy == 6 ? 200 : 400) + 30);
        ck_assert_int_eq(j.starts, 3);
    }
}
END_TEST

/* ---- preempted, lost ---- */

/* At 40 a job of higher priority takes all for 10 s. */
static void preempt(int64_t grace_s)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_trace_job t = GANG_TRACE_JOB_INIT;
    q.name = "q";
    q.grace_ns = grace_s * SECOND;
    s.opts.queues = &q;
    s.opts.queue_count = 1;
    g.count = g.min = 8;
    g.gpu_milli = 1000;
    t.groups = &g;
    t.group_count = 1;
    t.submit_ns = 40 * SECOND;
    t.run_ns = 10 * SECOND;
    t.priority = 1;
    MUST(gang_trace_add(s.trace, &t, NULL));
    three(4);
    sim_make(&s, NULL);
    submit(three_s);
    sim_run(&s, -1);
}

START_TEST(a_preempted_job_resumes_with_the_gang_that_ran)
{
    s.opts.restart_ns = 7 * SECOND;
    preempt(0);
    struct gang_sim_job j = sim_get(&s, 1);
    ck_assert_time(sim_get(&s, 0).start_ns, 40);
    ck_assert_time(j.end_ns, 140 + 10 + 7);
    ck_assert_time(j.wait_ns, 10);
    ck_assert_time(j.ran_ns, 147);
    ck_assert_time(j.lost_ns, 7);
    ck_assert_int_eq(j.starts, 4);
    ck_assert_int_eq(j.preemptions, 1);
    ck_assert_double_eq_tol(stats().lost_gpu_s, 28, 1e-9);
}
END_TEST

START_TEST(a_gang_takes_its_time_to_stop)
{
    s.opts.stop_ns = 5 * SECOND;
    preempt(30);
    struct gang_sim_job j = sim_get(&s, 1);
    ck_assert_time(sim_get(&s, 0).start_ns, 45);
    ck_assert_time(j.end_ns, 155);
    ck_assert_time(j.lost_ns, 5);
    ck_assert_time(j.ran_ns, 145);
    ck_assert_time(j.wait_ns, 10);
}
END_TEST

START_TEST(a_killed_gang_resumes_from_its_checkpoint)
{
    s.opts.stop_ns = 60 * SECOND; /* longer than the grace */
    s.opts.checkpoint_ns = 20 * SECOND;
    preempt(2);
    struct gang_sim_job j = sim_get(&s, 1);
    ck_assert_time(sim_get(&s, 0).start_ns, 42);
    ck_assert_time(j.end_ns, 52 + 80 + 30); /* of 30 s of training 20 were saved */
    ck_assert_time(j.lost_ns, 12);
}
END_TEST

START_TEST(only_the_gang_on_the_lost_node_starts_anew)
{
    three(4);
    s.opts.checkpoint_ns = -1;
    sim_make(&s, NULL);
    submit(three_s);
    sim_run(&s, 60);
    struct gang_sim_allocation a = {.size = sizeof(a)};
    MUST(gang_sim_get_allocation(s.sim, 1, &a));
    MUST(gang_sim_set_node_state(s.sim, 60 * SECOND, a.node, GANG_NODE_DOWN));
    sim_run(&s, -1);
    struct gang_sim_job j = sim_get(&s, 0);
    ck_assert_int_eq(j.end, GANG_END_SUCCESS);
    ck_assert_int_eq(j.failures, 1);
    ck_assert_time(j.end_ns, 190); /* 50 s of training again, no data */
    ck_assert_time(j.lost_ns, 50);
    ck_assert_int_eq(j.starts, 4);
    ck_assert_double_eq_tol(stats().lost_gpu_s, 200, 1e-9);
}
END_TEST

START_TEST(tasks_fail_in_all_gangs)
{
    static const int64_t run_s[] = {400, 400, 400};
    three(4);
    s.opts.task_mtbf_ns = 300 * SECOND;
    s.opts.seed = 3;
    sim_make(&s, NULL);
    for (int i = 0; i < 20; i++)
        submit(run_s);
    sim_run(&s, -1);
    ck_assert_int_eq(stats().jobs, 20);
    ck_assert_int_gt(stats().failures, 20);
    for (size_t i = 0; i < 20; i++) {
        struct gang_sim_job j = sim_get(&s, i);
        ck_assert_int_eq(j.ran_ns, 1200 * SECOND + j.lost_ns);
        ck_assert_int_eq(j.ran_ns + j.wait_ns, j.end_ns - j.submit_ns);
        ck_assert_int_eq(j.starts, 3 + j.failures);
    }
}
END_TEST

/* ---- ticks, slices, policies ---- */

START_TEST(a_gang_ends_when_it_does_and_the_next_starts_at_the_pass)
{
    three(4);
    s.opts.pass_ns = 60 * SECOND;
    sim_make(&s, NULL);
    submit(three_s);
    sim_run(&s, -1);
    struct gang_sim_job j = sim_get(&s, 0);
    ck_assert_time(j.end_ns, 60 + 100 + (180 - 160) + 30);
    ck_assert_time(j.ran_ns, 140);
    ck_assert_time(j.wait_ns, 50 + 20);
    ck_assert_int_eq(j.end, GANG_END_SUCCESS);
}
END_TEST

START_TEST(slices_of_a_run_change_nothing)
{
    struct text whole = {NULL, 0, 0};
    for (int64_t step = 1000; step >= 7; step -= 993) {
        sim_close(&s);
        open_two();
        three(2);
        s.opts.task_mtbf_ns = 300 * SECOND;
        s.opts.checkpoint_ns = 11 * SECOND;
        s.opts.restart_ns = 3 * SECOND;
        sim_job(&s, 20, 33, 6);
        sim_make(&s, NULL);
        for (int i = 0; i < 5; i++)
            submit(three_s);
        for (int64_t until = 0; until < 4000; until += step)
            sim_run(&s, until);
        sim_run(&s, 4000);
        struct text t = sim_text(s.sim);
        if (whole.bytes)
            test_assert(strcmp(t.bytes, whole.bytes) == 0);
        else
            whole = t;
        if (whole.bytes != t.bytes)
            free(t.bytes);
    }
    free(whole.bytes);
}
END_TEST

/* All its gangs together would not fit the machine: a selecting policy counts those that may run.
 * */
START_TEST(policies_that_select_look_at_the_gangs_that_may_run)
{
    static const int32_t policy[] = {GANG_SIM_POLICY_SRTF, GANG_SIM_POLICY_LAS,
                                     GANG_SIM_POLICY_LAS_STARTED};
    static const int64_t run_s[] = {10, 100, 30};
    for (size_t i = 0; i < sizeof(policy) / sizeof(policy[0]); i++) {
        sim_close(&s);
        open_two();
        add_group(8, 8);
        add_group(8, 8);
        add_group(8, 8);
        add_after(1, 0, GANG_AFTER_SUCCESS);
        add_after(2, 1, GANG_AFTER_SUCCESS);
        s.opts.policy = policy[i];
        s.opts.las_split_ns = 400 * SECOND; /* after 50 s */
        sim_job(&s, 45, 20, 8);
        sim_make(&s, NULL);
        size_t index = submit(run_s);
        sim_run(&s, -1);
        ck_assert_int_eq(sim_get(&s, index).end, GANG_END_SUCCESS);
        ck_assert_time(sim_get(&s, index).end_ns, 160);
        ck_assert_int_eq(sim_get(&s, index).preemptions, 1);
        /* least left at once; least attained when it has had its share */
        ck_assert_int_eq(sim_get(&s, 0).start_ns / SECOND, i == 0 ? 45 : 50);
    }
}
END_TEST

START_TEST(a_forecast_gives_the_start_of_a_job)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    three(4);
    sim_job_of(&s, NULL, 0, 100, 8, 8, 100, NULL);
    sim_make(&s, NULL);
    sim_run(&s, 1);
    size_t index = submit(three_s);
    sim_run(&s, 2);
    gang_forecast *f;
    struct gang_expected x = {.size = sizeof(x)};
    opts.now_ns = 2 * SECOND;
    MUST(gang_forecast_new(gang_sim_sched(s.sim), &opts, &f, NULL));
    MUST(gang_forecast_run(f, NULL));
    MUST(gang_forecast_get(f, sim_get(&s, index).id, &x));
    gang_forecast_free(f);
    sim_run(&s, -1);
    ck_assert_int_eq(x.start_ns, sim_get(&s, index).start_ns);
    ck_assert_time(sim_get(&s, index).end_ns, 240);
}
END_TEST

/* ---- errors ---- */

static void refused(gang_result want, const char *path, const int64_t *run_ns, size_t count)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    size_t index = 7;
    EXPECT_ERROR(gang_sim_submit_groups(s.sim, &job, run_ns, count, &index, &error), want, &error,
                 path, NULL);
    ck_assert_uint_eq(index, SIZE_MAX);
    MUST(gang_sim_get_info(s.sim, &info));
    ck_assert_int_eq(info.jobs, 0);
}

START_TEST(a_job_that_cannot_be_simulated_is_refused_by_its_path)
{
    static const int64_t good[] = {1, 2, 3}, bad[] = {1, -2, 3};
    three(4);
    sim_make(&s, NULL);
    refused(GANG_EINVAL, "run_ns", good, 2);
    refused(GANG_ERANGE, "run_ns[1]", bad, 3);
    refused(GANG_EINVAL, "", NULL, 3);
    after[2] = (struct gang_group_after){0, 2, GANG_AFTER_END, 0};
    job.group_after_count = 3;
    refused(GANG_ECYCLE, "group_after", good, 3);
    after[2] = (struct gang_group_after){0, 9, GANG_AFTER_END, 0};
    refused(GANG_EINVAL, "group_after[2]", good, 3);
    job.group_after_count = 2;
    job.group_after_size = 3;
    refused(GANG_EINVAL, "group_after_size", good, 3);
    job.group_after_size = sizeof(struct gang_group_after);
    job.running = 1;
    refused(GANG_ENOTSUP, "running", good, 3);
    job.running = 0;
    job.announced = 1;
    refused(GANG_ENOTSUP, "announced", good, 3);
    job.announced = 0;
}
END_TEST

/* Time slices of 10 s. */
static void slice(int64_t grace_s)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "default";
    q.quantum_ns = 10 * SECOND;
    q.quantum_gpus = 1;
    q.grace_ns = grace_s * SECOND;
    MUST(gang_queue_change(gang_sim_sched(s.sim), &q, NULL));
}

/* A job of all GPUs for 60 s. */
static gang_result submit_rival(void)
{
    struct gang_group_spec all = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec rival = GANG_JOB_SPEC_INIT;
    size_t index;
    all.count = all.min = 8;
    all.gpu_milli = 1000;
    rival.request.groups = &all;
    rival.request.group_count = 1;
    return gang_sim_submit(s.sim, &rival, 60 * SECOND, &index, NULL);
}

/* Each gang counts its own time slices. _i: a grace, which no simulated gang needs. */
START_TEST(gangs_run_in_time_slices)
{
    three(4);
    sim_make(&s, NULL);
    slice(_i * 5);
    ck_assert_uint_eq(submit(three_s), 0);
    MUST(submit_rival());
    sim_run(&s, -1);
    struct gang_sim_job j = sim_get(&s, 0), r = sim_get(&s, 1);
    ck_assert_int_eq(j.end, GANG_END_SUCCESS);
    ck_assert_time(j.ran_ns, 140);
    ck_assert_time(j.suspended_ns, 60);
    ck_assert_time(j.end_ns, 200);
    ck_assert_time(r.end_ns, 120);
    ck_assert_int_eq(j.preemptions, 0);
    ck_assert_double_eq_tol(stats().goodput, 1, 1e-12);
}
END_TEST

/* Whichever allocation fails, it is refused as a whole, or goes on later, and its gangs run as
 * long as they are to. _i: in time slices beside another job. */
START_TEST(memory_may_be_short_anywhere)
{
    static const int64_t run_ns[] = {10 * SECOND, 100 * SECOND, 30 * SECOND};
    bool failed = true;
    for (long fail = 1; failed; fail++) {
        sim_close(&s);
        open_two();
        three(4);
        sim_make(&s, NULL);
        if (_i)
            slice(5);
        s.stage.mem.calls = 0;
        s.stage.mem.fail_at = fail;
        gang_result r = gang_sim_submit_groups(s.sim, &job, run_ns, 3, NULL, NULL);
        if (r == GANG_ENOMEM) {
            struct gang_sim_info info = GANG_SIM_INFO_INIT;
            MUST(gang_sim_get_info(s.sim, &info));
            ck_assert_int_eq(info.jobs, 0);
            r = gang_sim_submit_groups(s.sim, &job, run_ns, 3, NULL, NULL);
        }
        MUST(r);
        if (_i && submit_rival() != GANG_OK)
            MUST(submit_rival());
        do
            r = gang_sim_run(s.sim, NULL, NULL, NULL);
        while (r == GANG_ENOMEM);
        MUST(r);
        failed = s.stage.mem.calls >= fail;
        s.stage.mem.fail_at = 0;
        struct gang_sim_job j = sim_get(&s, 0);
        ck_assert_int_eq(j.end, GANG_END_SUCCESS);
        ck_assert_time(j.ran_ns, 140);
        ck_assert_int_eq(j.starts, 3);
        ck_assert_int_eq(j.end_ns, j.ran_ns + j.wait_ns + j.suspended_ns);
        if (!_i)
            ck_assert_int_lt(j.wait_ns, SECOND); /* the scheduler tries again a little later */
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim stages");
    TCase *c = tcase_create("two nodes of four");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, open_two, close_all);
    tcase_add_test(c, each_gang_runs_its_given_time);
    tcase_add_loop_test(c, gangs_run_in_time_slices, 0, 2);
    tcase_add_test(c, rows_of_allocations_are_those_of_gangs);
    tcase_add_test(c, with_one_run_time_each_gang_runs_so_long);
    tcase_add_test(c, groups_that_wait_for_the_same_are_one_gang);
    tcase_add_test(c, gangs_may_run_beside_each_other);
    tcase_add_test(c, a_gang_waits_for_a_gap_between_two);
    tcase_add_test(c, a_job_ends_with_its_chief);
    tcase_add_test(c, a_gang_with_fewer_tasks_is_slower_and_the_next_need_not_wait_for_the_rest);
    tcase_add_test(c, a_preempted_job_resumes_with_the_gang_that_ran);
    tcase_add_test(c, a_gang_takes_its_time_to_stop);
    tcase_add_test(c, a_killed_gang_resumes_from_its_checkpoint);
    tcase_add_test(c, only_the_gang_on_the_lost_node_starts_anew);
    tcase_add_test(c, tasks_fail_in_all_gangs);
    tcase_add_test(c, a_gang_ends_when_it_does_and_the_next_starts_at_the_pass);
    tcase_add_test(c, slices_of_a_run_change_nothing);
    tcase_add_test(c, policies_that_select_look_at_the_gangs_that_may_run);
    tcase_add_test(c, a_forecast_gives_the_start_of_a_job);
    tcase_add_test(c, a_job_that_cannot_be_simulated_is_refused_by_its_path);
    tcase_add_loop_test(c, memory_may_be_short_anywhere, 0, 2);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
