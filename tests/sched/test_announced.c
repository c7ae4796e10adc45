/* SPDX-License-Identifier: Apache-2.0 */
/* Announced jobs (gang_job_spec.announced): their tasks come one after the other. */
#include "chance.h"
#include "sched/forecast_host.h"
#include "sched/leaf.h"

static struct host h;

/* One node of eight GPUs. */
static void setup(void)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 1, 8);
    q.name = "q";
    host_queues(&h, &q, 1);
    host_run(&h, HOST_SECOND);
}

static void teardown(void)
{
    host_close(&h);
}

/* An announced gang of `count` tasks of one GPU each. */
static struct gang_job_spec *announced(int64_t count, int64_t min)
{
    struct gang_job_spec *job = host_spec("q", count, min, 0);
    job->announced = 1;
    return job;
}

static void come(gang_job_id id, int64_t count)
{
    MUST(gang_job_add_tasks(h.s, id, 0, count));
}

static void run(int64_t seconds)
{
    host_run(&h, seconds * HOST_SECOND);
}

static int64_t missing(gang_job_id id)
{
    return host_job_info(&h, id).missing;
}

static void ended(gang_job_id id, int32_t end)
{
    ck_assert(!host_has(&h, id));
    ck_assert_int_eq(host_end(&h, id), end);
}

/* ---- waiting --------------------------------------------------------------------------------- */

START_TEST(it_waits_until_all_tasks_have_come)
{
    gang_job_id id = host_submit(&h, announced(4, 4));
    run(1);
    leaf_explain(&h, id, 0);
    ck_assert_int_eq(reason.reason, GANG_WAIT_ANNOUNCED);
    ck_assert_int_eq(reason.category, GANG_WAIT_CATEGORY_HELD);
    ck_assert_int_eq(reason.requested, 4);
    ck_assert_int_eq(reason.used, 0);
    ck_assert_int_eq(reason.group, 0);
    ck_assert_int_eq(reason.until_ns, 0);
    ck_assert_str_eq(reason_text, "it is announced: 4 of its 4 tasks are missing");
    come(id, 2);
    come(id, 1);
    run(1);
    leaf_explain(&h, id, 0);
    ck_assert_int_eq(reason.used, 3);
    ck_assert_str_eq(reason_text, "it is announced: 1 of its 4 tasks is missing");
    ck_assert_int_eq(missing(id), 1);
    come(id, -2);
    run(1);
    ck_assert_int_eq(missing(id), 3);
    ck_assert_int_eq(host_ops(&h, id, "start"), 0);
    come(id, 3);
    run(1);
    ck_assert_int_eq(missing(id), 0);
    ck_assert_int_eq(host_tasks(&h, id), 4);
}
END_TEST

START_TEST(tasks_may_come_before_a_run_accepts_the_job)
{
    gang_job_id id = host_submit(&h, announced(2, 2));
    come(id, 2);
    run(1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    ck_assert_int_eq(h.log[0], 0);
}
END_TEST

/* It keeps its age, and holds back nothing before it is complete. */
START_TEST(it_keeps_its_age_and_holds_back_no_other_job)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "q";
    q.block = GANG_BLOCK_STRICT;
    host_queues(&h, &q, 1);
    gang_job_id wide = host_submit(&h, announced(8, 8));
    gang_job_id small = host_gang(&h, "q", 2, 0);
    run(1);
    ck_assert_int_eq(host_tasks(&h, small), 2);
    ck_assert_int_eq(host_queue(&h, "q").demand[GANG_KIND_GPU], 2000);
    ck_assert_int_eq(host_queue(&h, "q").pending, 1);
    come(wide, 8);
    gang_job_id next = host_gang(&h, "q", 2, 0);
    run(1);
    ck_assert_int_eq(host_queue(&h, "q").demand[GANG_KIND_GPU], 12000);
    ck_assert_int_eq(host_tasks(&h, next), 0); /* the older one is first */
    host_end_job(&h, small);
    ck_assert_int_eq(host_tasks(&h, wide), 8);
    ck_assert_int_eq(host_tasks(&h, next), 0);
}
END_TEST

START_TEST(a_hold_and_a_dependency_come_first)
{
    gang_job_id first = host_gang(&h, "q", 1, 0);
    struct gang_job_after after = {first, GANG_AFTER_END, 0};
    struct gang_job_spec *job = announced(2, 2);
    job->hold = 1;
    job->after = &after;
    job->after_count = 1;
    gang_job_id id = host_submit(&h, job);
    come(id, 2);
    run(1);
    leaf_explain(&h, id, 0);
    ck_assert_int_eq(reason.reason, GANG_WAIT_HOLD);
    MUST(gang_job_release(h.s, id));
    run(1);
    leaf_explain(&h, id, 0);
    ck_assert_int_eq(reason.reason, GANG_WAIT_AFTER);
    host_end_job(&h, first);
    ck_assert_int_eq(host_tasks(&h, id), 2);
}
END_TEST

/* ---- fewer than announced -------------------------------------------------------------------- */

START_TEST(it_goes_on_with_those_that_have_come)
{
    gang_job_id id = host_submit(&h, announced(6, 3));
    come(id, 4);
    run(1);
    ck_assert_int_eq(host_ops(&h, id, "start"), 0);
    MUST(gang_job_complete(h.s, id));
    run(1);
    run(1);
    struct gang_job_info info = host_job_info(&h, id);
    ck_assert_int_eq(info.tasks, 4);
    ck_assert_int_eq(info.count, 4);
    ck_assert_int_eq(info.min, 3);
    ck_assert_int_eq(info.missing, 0);
    MUST(gang_job_set_target(h.s, id, -1));
    run(1);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    MUST(gang_job_requeue(h.s, id)); /* it is complete for good */
    run(1);
    run(1);
    ck_assert_int_eq(host_tasks(&h, id), 4);
}
END_TEST

START_TEST(too_few_tasks_end_it)
{
    gang_job_id id = host_submit(&h, announced(4, 3)), other = host_gang(&h, "q", 1, 0);
    struct gang_job_spec *job = host_spec("q", 1, 1, 0);
    struct gang_job_after after = {id, GANG_AFTER_SUCCESS, 0};
    job->after = &after;
    job->after_count = 1;
    gang_job_id depends = host_submit(&h, job);
    come(id, 2);
    MUST(gang_job_complete(h.s, id));
    run(1);
    ended(id, GANG_END_UNSTARTED);
    ended(depends, GANG_END_CANCELLED);
    ck_assert_int_eq(host_tasks(&h, other), 1);
}
END_TEST

/* A lower target stays. */
START_TEST(a_target_bounds_it_too)
{
    gang_job_id id = host_submit(&h, announced(6, 1));
    come(id, 5);
    MUST(gang_job_set_target(h.s, id, 2));
    MUST(gang_job_complete(h.s, id));
    run(1);
    run(1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    MUST(gang_job_set_target(h.s, id, -1));
    run(1);
    run(1);
    ck_assert_int_eq(host_tasks(&h, id), 5);
}
END_TEST

static int32_t count_groups(const struct gang_task *task, void *user)
{
    int64_t *count = user;
    count[task->group]++;
    return 0;
}

START_TEST(each_group_has_the_tasks_that_came_of_it)
{
    struct gang_group_spec group[2] = {host_gpus(4, 1), host_gpus(3, 0)};
    int64_t count[2] = {0};
    group[1].name = "other";
    struct gang_job_spec job = host_job(group, 2);
    job.queue = "q";
    job.announced = 1;
    job.request.min = 3;
    gang_job_id id = host_submit(&h, &job), lacks = host_submit(&h, &job);
    MUST(gang_job_add_tasks(h.s, id, 0, 4));
    run(1);
    leaf_explain(&h, id, 0);
    ck_assert_int_eq(reason.group, 1);
    MUST(gang_job_add_tasks(h.s, id, 0, -2));
    MUST(gang_job_add_tasks(h.s, id, 1, 1));
    MUST(gang_job_complete(h.s, id));
    MUST(gang_job_add_tasks(h.s, lacks, 0, 4));
    MUST(gang_job_complete(h.s, lacks)); /* none of the other group came */
    run(1);
    run(1);
    ended(lacks, GANG_END_UNSTARTED);
    MUST(gang_alloc_each(h.stage.c, gang_job_alloc(h.s, id, 0), count_groups, count));
    ck_assert_int_eq(count[0], 2);
    ck_assert_int_eq(count[1], 1);
}
END_TEST

START_TEST(whole_subgroups_and_minima_of_sets_count)
{
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_group_spec group[2] = {host_gpus(6, 2), host_gpus(2, 0)};
    set.name = "both";
    set.min = 5;
    group[0].subgroup_size = 2;
    group[0].subgroup_same = "node";
    group[1].name = "other";
    group[0].group_set = group[1].group_set = 0;
    struct gang_job_spec job = host_job(group, 2);
    job.queue = "q";
    job.announced = 1;
    job.request.group_sets = &set;
    job.request.group_set_count = 1;
    gang_job_id id = host_submit(&h, &job), lacks = host_submit(&h, &job);
    MUST(gang_job_add_tasks(h.s, id, 0, 5));
    MUST(gang_job_add_tasks(h.s, id, 1, 1));
    MUST(gang_job_complete(h.s, id)); /* 4 and 1 */
    MUST(gang_job_add_tasks(h.s, lacks, 0, 3));
    MUST(gang_job_add_tasks(h.s, lacks, 1, 2));
    MUST(gang_job_complete(h.s, lacks)); /* 2 and 2 */
    run(1);
    run(1);
    ck_assert_int_eq(host_tasks(&h, id), 5);
    ended(lacks, GANG_END_UNSTARTED);
}
END_TEST

/* Each gang of the job goes on with its own tasks. */
START_TEST(groups_that_wait_for_others_are_narrowed_as_well)
{
    struct gang_group_spec group[2] = {host_gpus(3, 1), host_gpus(4, 2)};
    struct gang_group_after then = {1, 0, GANG_AFTER_SUCCESS, 0};
    group[1].name = "then";
    struct gang_job_spec job = host_job(group, 2);
    job.queue = "q";
    job.announced = 1;
    job.group_after = &then;
    job.group_after_count = 1;
    gang_job_id id = host_submit(&h, &job);
    MUST(gang_job_add_tasks(h.s, id, 0, 3));
    MUST(gang_job_add_tasks(h.s, id, 1, 2));
    MUST(gang_job_complete(h.s, id));
    run(1);
    run(1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    host_report_all(&h, id, 0, GANG_TASK_SUCCEEDED);
    run(1);
    run(1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
}
END_TEST

/* It still insists on its preferred domain until that wait ends. */
START_TEST(a_wait_for_a_preferred_domain_goes_on)
{
    struct gang_group_spec group = host_gpus(7, 7);
    struct gang_job_spec job = host_job(&group, 1);
    stage_add(&h.stage, &(struct box){.name = "n1", .cpu = 4000, .memory = GIB, .gpus = 2});
    job.queue = "q";
    group.where = "node = n0";
    gang_job_id fills = host_submit(&h, &job);
    run(1);
    group = host_gpus(8, 2);
    job.announced = 1;
    group.prefer = "node";
    job.prefer_wait_ns = 10 * (int64_t)HOST_SECOND;
    job.request.min = 3;
    gang_job_id id = host_submit(&h, &job);
    come(id, 3);
    MUST(gang_job_complete(h.s, id));
    run(1);
    ck_assert_int_eq(host_tasks(&h, id), 0);
    run(10);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    ck_assert_int_eq(host_tasks(&h, fills), 7);
}
END_TEST

/* It keeps its partitions, in their order, and those of each group. */
START_TEST(several_partitions_stay)
{
    static const char *const list[] = {"none", "here"}, *const here[] = {"here"};
    struct box box = {.name = "n1",
                      .cpu = 8000,
                      .memory = GIB,
                      .gpus = 4,
                      .partitions = here,
                      .partition_count = 1};
    struct gang_group_spec group[2] = {host_gpus(3, 1), host_gpus(2, 1)};
    struct gang_job_spec job = host_job(group, 2);
    gang_node_id node = stage_add(&h.stage, &box);
    group[1].name = "other";
    group[1].partition = "here";
    job.queue = "q";
    job.announced = 1;
    job.partitions = list;
    job.partition_count = 2;
    gang_job_id id = host_submit(&h, &job), lacks = host_submit(&h, &job);
    MUST(gang_job_add_tasks(h.s, id, 0, 2));
    MUST(gang_job_add_tasks(h.s, id, 1, 1));
    MUST(gang_job_add_tasks(h.s, lacks, 0, 1));
    MUST(gang_job_complete(h.s, id));
    MUST(gang_job_complete(h.s, lacks));
    run(1);
    run(1);
    ended(lacks, GANG_END_UNSTARTED);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    for (int64_t task = 0; task < 3; task++)
        ck_assert_uint_eq(host_node_of(&h, id, task), node);
    MUST(gang_job_requeue(h.s, id)); /* it waits with all of them again */
    run(1);
    run(1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
}
END_TEST

/* ---- time ------------------------------------------------------------------------------------ */

START_TEST(in_time_it_goes_on_with_those_that_came)
{
    gang_job_id full = host_gang(&h, "q", 8, 0);
    struct gang_job_spec *job = announced(4, 2);
    job->start_within_ns = 10 * (int64_t)HOST_SECOND;
    gang_job_id id = host_submit(&h, job);
    come(id, 2);
    run(1);
    leaf_explain(&h, id, 0);
    ck_assert_int_eq(reason.until_ns, h.now_ns + 10 * (int64_t)HOST_SECOND);
    run(9);
    ck_assert_int_eq(missing(id), 2);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + HOST_SECOND);
    run(1);
    ck_assert_int_eq(missing(id), 0);
    ck_assert_int_eq(host_job_info(&h, id).count, 2);
    run(9); /* from now on it has its time for the start */
    ck_assert(host_has(&h, id));
    host_end_job(&h, full);
    ck_assert_int_eq(host_tasks(&h, id), 2);
}
END_TEST

START_TEST(too_few_in_time_end_it_or_make_it_back_off)
{
    struct gang_job_spec *job = announced(4, 3);
    job->start_within_ns = 10 * (int64_t)HOST_SECOND;
    gang_job_id ends = host_submit(&h, job);
    job->back_off_ns = 5 * (int64_t)HOST_SECOND;
    gang_job_id waits = host_submit(&h, job);
    come(ends, 2);
    come(waits, 2);
    run(0);
    run(10);
    ended(ends, GANG_END_UNSTARTED);
    leaf_explain(&h, waits, 0);
    ck_assert_int_eq(reason.reason, GANG_WAIT_BACK_OFF);
    run(5);
    leaf_explain(&h, waits, 0);
    ck_assert_int_eq(reason.reason, GANG_WAIT_ANNOUNCED);
    come(waits, 1);
    run(10);
    ck_assert_int_eq(host_tasks(&h, waits), 3);
}
END_TEST

START_TEST(a_complete_job_has_its_whole_time_to_start)
{
    gang_job_id full = host_gang(&h, "q", 8, 0);
    struct gang_job_spec *job = announced(2, 2);
    job->start_within_ns = 10 * (int64_t)HOST_SECOND;
    gang_job_id id = host_submit(&h, job);
    run(1);
    run(8);
    come(id, 2);
    run(1);
    run(9);
    ck_assert(host_has(&h, id));
    ck_assert_int_eq(host_tasks(&h, full), 8);
    run(1);
    ended(id, GANG_END_UNSTARTED);
}
END_TEST

/* ---- misuse ---------------------------------------------------------------------------------- */

static void logged(const char *text)
{
    ck_assert_ptr_nonnull(strstr(h.log, text));
    h.log[0] = '\0';
}

START_TEST(commands_that_make_no_sense_do_nothing)
{
    gang_job_id id = host_submit(&h, announced(4, 4)), plain = host_gang(&h, "q", 1, 0);
    come(id, 3);
    run(1);
    come(id, 2);
    run(1);
    logged("more come than were announced");
    come(id, -4);
    run(1);
    logged("more go than came");
    MUST(gang_job_add_tasks(h.s, id, 1, 1));
    run(1);
    logged("no such group");
    ck_assert_int_eq(missing(id), 1);
    come(plain, 1);
    run(1);
    logged("it was not announced");
    MUST(gang_job_complete(h.s, plain));
    run(1);
    logged("it was not announced");
    come(id, 1);
    come(id, 1); /* too late */
    run(1);
    logged("it is complete");
    ck_assert_int_eq(host_tasks(&h, id), 4);
    MUST(gang_job_complete(h.s, id));
    run(1);
    logged("it is complete");
    host_end_job(&h, id);
    come(id, 1);
    MUST(gang_job_complete(h.s, id));
    run(1);
    ck_assert_int_eq(h.log[0], 0);
    ck_assert_int_eq(host_tasks(&h, plain), 1);
}
END_TEST

START_TEST(bad_calls_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_running_spec place = {.node = "n0"};
    gang_job_id id = host_submit(&h, announced(1, 1)), none;
    ck_assert_int_eq(gang_job_add_tasks(NULL, id, 0, 1), GANG_EINVAL);
    ck_assert_int_eq(gang_job_complete(NULL, id), GANG_EINVAL);
    ck_assert_int_eq(gang_job_add_tasks(h.s, id, -1, 1), GANG_EINVAL);
    ck_assert_int_eq(gang_job_add_tasks(h.s, id, 0, 0), GANG_ERANGE);
    ck_assert_int_eq(gang_job_add_tasks(h.s, id, 0, (1 << 24) + 1), GANG_ERANGE);
    ck_assert_int_eq(gang_job_add_tasks(h.s, id, 0, -(1 << 24) - 1), GANG_ERANGE);
    ck_assert_int_eq(gang_job_add_tasks(h.s, id + 1, 0, 1), GANG_ESTALE);
    ck_assert_int_eq(gang_job_complete(h.s, id + 1), GANG_ESTALE);
    ck_assert_int_eq(gang_job_complete(h.s, GANG_ID_NONE), GANG_ESTALE);
    struct gang_job_spec *job = announced(1, 1);
    job->announced = 2;
    EXPECT_ERROR(gang_job_submit(h.s, job, &none, &error), GANG_EINVAL, &error, "announced", NULL);
    job->announced = 1;
    job->start_full = 2;
    EXPECT_ERROR(gang_job_submit(h.s, job, &none, &error), GANG_EINVAL, &error, "start_full", NULL);
    job->start_full = 0;
    job->running = 1;
    job->places = &place;
    job->place_count = 1;
    EXPECT_ERROR(gang_job_submit(h.s, job, &none, &error), GANG_EINVAL, &error, "announced", NULL);
    MUST(gang_job_cancel(h.s, id));
    run(1);
    ended(id, GANG_END_CANCELLED);
}
END_TEST

/* ---- copies, forecasts, memory --------------------------------------------------------------- */

START_TEST(copies_and_forecasts_wait_for_the_same_tasks)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_job_spec *job = announced(4, 2);
    job->time_limit_ns = 5 * (int64_t)HOST_SECOND;
    gang_job_id never = host_submit(&h, job);
    job->start_within_ns = 10 * (int64_t)HOST_SECOND;
    gang_job_id id = host_submit(&h, job), not_accepted;
    come(never, 3);
    come(id, 2);
    run(1);
    int64_t due = h.now_ns + 10 * (int64_t)HOST_SECOND;
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_of(f, never), INT64_MAX);
    ck_assert_int_eq(start_of(f, id), due);
    gang_forecast_free(f);
    not_accepted = host_submit(&h, job);
    come(not_accepted, 4);
    gang_cluster *c;
    gang_sched *s;
    MUST(gang_sched_copy(h.s, &ops, NULL, &c, &s, NULL));
    MUST(gang_job_add_tasks(s, never, 0, 1));
    MUST(gang_sched_run(s, h.now_ns, NULL, NULL));
    struct gang_job_info info = {.size = sizeof(info)};
    MUST(gang_job_get(s, never, &info));
    ck_assert_int_eq(info.tasks, 4);
    MUST(gang_job_get(s, id, &info));
    ck_assert_int_eq(info.missing, 2);
    MUST(gang_job_get(s, not_accepted, &info));
    ck_assert_int_eq(info.tasks, 4);
    MUST(gang_sched_check(s, NULL));
    gang_sched_free(s);
    gang_cluster_free(c);
    ck_assert_int_eq(missing(never), 1);
}
END_TEST

/* Each allocation of the run fails in turn; a later run does the same. */
START_TEST(out_of_memory_is_no_loss)
{
    for (long n = 1; n < 60; n++) {
        struct gang_group_spec group[2] = {host_gpus(3, 1), host_gpus(3, 1)};
        group[1].name = "other";
        struct gang_job_spec job = host_job(group, 2);
        job.queue = "q";
        job.announced = 1;
        job.start_within_ns = _i ? HOST_SECOND : 0;
        gang_job_id id = host_submit(&h, &job);
        run(0);
        MUST(gang_job_add_tasks(h.s, id, 0, 2));
        MUST(gang_job_add_tasks(h.s, id, 1, 1 + n % 2));
        if (!_i)
            MUST(gang_job_complete(h.s, id));
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        h.now_ns += HOST_SECOND;
        gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        for (int i = 0; i < 4 && host_tasks(&h, id) < 3 + n % 2; i++)
            host_run(&h, 1);
        ck_assert_int_eq(host_tasks(&h, id), 3 + n % 2);
        host_end_job(&h, id);
    }
}
END_TEST

/* ---- a host with its own books --------------------------------------------------------------- */

enum { JOBS = 40, GROUPS = 2, STEPS = 250 };

struct booked {
    gang_job_id id;
    size_t groups;
    int64_t announced[GROUPS], min[GROUPS], came[GROUPS];
    int64_t within_ns, since_ns; /* since_ns: since when only tasks are missing; -1 */
    bool complete, held, gone;   /* gone: it is to end, or has ended */
    bool failed;                 /* too few of its tasks came */
};

static struct booked book[JOBS];
static int booked;
static int64_t starts, narrowed, failures, ignored;

static int64_t lacks(const struct booked *b)
{
    int64_t sum = 0;
    for (size_t g = 0; g < b->groups && !b->complete; g++)
        sum += b->announced[g] - b->came[g];
    return sum;
}

static void book_submit(void)
{
    struct booked *b = &book[booked];
    struct gang_group_spec group[GROUPS];
    memset(b, 0, sizeof(*b));
    b->groups = one_in(3) ? 2 : 1;
    for (size_t g = 0; g < b->groups; g++) {
        b->announced[g] = 1 + below(4);
        b->min[g] = one_in(3) ? below(b->announced[g] + 1) : 0;
        b->min[0] = b->min[0] ? b->min[0] : 1;
        group[g] = host_gpus(b->announced[g], b->min[g]);
        group[g].name = g ? "b" : "a";
    }
    struct gang_job_spec job = host_job(group, b->groups);
    job.queue = "q";
    job.priority = below(3);
    job.announced = 1;
    job.hold = b->held = one_in(6);
    job.start_within_ns = b->within_ns = one_in(3) ? (3 + below(10)) * HOST_SECOND : 0;
    b->since_ns = -1;
    b->id = host_submit(&h, &job);
    booked++;
}

/* Does what the header says of those that came; ends the job if they do not suffice. */
static void book_complete(struct booked *b)
{
    for (size_t g = 0; g < b->groups; g++)
        b->failed = b->failed || b->came[g] < b->min[g] || b->came[g] < 1;
    b->gone = b->gone || b->failed;
    narrowed += !b->failed && lacks(b) > 0;
    failures += b->failed;
    b->complete = true;
    for (size_t g = 0; g < b->groups; g++)
        b->announced[g] = b->came[g];
    b->since_ns = -1;
}

static void book_add(struct booked *b)
{
    size_t g = index_below(b->groups + one_in(10)); /* sometimes there is no such group */
    int64_t count = one_in(6) ? -1 - below(3) : 1 + below(one_in(5) ? 6 : 2);
    MUST(gang_job_add_tasks(h.s, b->id, (int32_t)g, count));
    bool ignores = b->gone || b->complete || g >= b->groups || b->came[g] + count < 0 ||
                   b->came[g] + count > b->announced[g];
    ignored += ignores;
    if (ignores)
        return;
    b->came[g] += count;
    if (lacks(b) == 0) {
        b->complete = true;
        b->since_ns = -1;
    }
}

static void book_step(void)
{
    if (booked < JOBS && one_in(3))
        book_submit();
    for (int i = 0; i < 3 && booked > 0; i++) {
        struct booked *b = &book[index_below((size_t)booked)];
        int64_t what = below(12);
        if (what < 7) {
            book_add(b);
        } else if (what == 7) {
            MUST(gang_job_complete(h.s, b->id));
            if (!b->complete && !b->gone)
                book_complete(b);
        } else if (what < 10) {
            MUST(what == 8 ? gang_job_hold(h.s, b->id) : gang_job_release(h.s, b->id));
            b->held = what == 8;
            b->since_ns = b->held ? -1 : b->since_ns;
        } else if (one_in(4)) {
            MUST(gang_job_cancel(h.s, b->id));
            b->gone = true;
        } else if (host_has(&h, b->id) && host_job_state(&h, b->id) == GANG_JOB_RUNNING) {
            MUST(gang_report_end(h.s, b->id, 1));
            b->gone = true;
        }
    }
}

/* In a run, after the messages: times that end. */
static void book_time(struct booked *b)
{
    if (b->gone || b->complete || b->within_ns == 0)
        return;
    if (b->since_ns >= 0 && h.now_ns >= b->since_ns + b->within_ns)
        book_complete(b);
    else if (!b->held && b->since_ns < 0)
        b->since_ns = h.now_ns;
}

static void book_compare(const struct booked *b)
{
    if (!host_has(&h, b->id)) {
        /* a job that is complete may have missed its start after that */
        ck_assert(b->gone || (b->complete && b->within_ns > 0));
        if (b->failed)
            ck_assert_int_eq(host_end(&h, b->id), GANG_END_UNSTARTED);
        return;
    }
    struct gang_job_info info = host_job_info(&h, b->id);
    ck_assert(!b->failed);
    ck_assert_int_eq(info.missing, lacks(b));
    ck_assert(b->complete || info.tasks == 0);
    int64_t count[GROUPS] = {0};
    if (info.alloc == GANG_ID_NONE)
        return;
    starts++;
    MUST(gang_alloc_each(h.stage.c, info.alloc, count_groups, count));
    for (size_t g = 0; g < b->groups; g++) {
        ck_assert_int_ge(count[g], b->min[g]);
        ck_assert_int_le(count[g], b->announced[g]);
    }
}

START_TEST(a_random_host_and_its_books_agree)
{
    chance_state = test_seed() + (uint64_t)_i;
    booked = 0;
    starts = narrowed = failures = ignored = 0;
    for (int step = 0; step < STEPS; step++) {
        book_step();
        h.now_ns += HOST_SECOND;
        MUST(gang_sched_run(h.s, h.now_ns, NULL, NULL));
        for (int i = 0; i < booked; i++)
            book_time(&book[i]);
        host_check(&h);
        for (int i = 0; i < booked; i++)
            book_compare(&book[i]);
    }
    printf("%d jobs, %" PRId64 " checks of a running one, %" PRId64 " narrowed, %" PRId64
           " with too few, %" PRId64 " commands ignored\n",
           booked, starts, narrowed, failures, ignored);
    ck_assert(starts > 0 && ignored > 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("announced");
    TCase *t = tcase_create("announced");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, it_waits_until_all_tasks_have_come);
    tcase_add_test(t, tasks_may_come_before_a_run_accepts_the_job);
    tcase_add_test(t, it_keeps_its_age_and_holds_back_no_other_job);
    tcase_add_test(t, a_hold_and_a_dependency_come_first);
    tcase_add_test(t, it_goes_on_with_those_that_have_come);
    tcase_add_test(t, too_few_tasks_end_it);
    tcase_add_test(t, a_target_bounds_it_too);
    tcase_add_test(t, each_group_has_the_tasks_that_came_of_it);
    tcase_add_test(t, whole_subgroups_and_minima_of_sets_count);
    tcase_add_test(t, groups_that_wait_for_others_are_narrowed_as_well);
    tcase_add_test(t, a_wait_for_a_preferred_domain_goes_on);
    tcase_add_test(t, several_partitions_stay);
    tcase_add_test(t, in_time_it_goes_on_with_those_that_came);
    tcase_add_test(t, too_few_in_time_end_it_or_make_it_back_off);
    tcase_add_test(t, a_complete_job_has_its_whole_time_to_start);
    tcase_add_test(t, commands_that_make_no_sense_do_nothing);
    tcase_add_test(t, bad_calls_are_refused);
    tcase_add_test(t, copies_and_forecasts_wait_for_the_same_tasks);
    tcase_add_loop_test(t, out_of_memory_is_no_loss, 0, 2);
    tcase_add_loop_test(t, a_random_host_and_its_books_agree, 0, 12);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
