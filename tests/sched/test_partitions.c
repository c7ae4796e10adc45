/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that may run in several partitions (gang_job_spec.partitions): tried in order, with the
 * limits, guarantees and capacity of each. */
#include "chance.h"
#include "sched/forecast_host.h"

enum { PARTITIONS = 3, NODES = 2, GPUS = 4, JOBS = 200, STEPS = 150 };

static struct host h;
static gang_node_id node[PARTITIONS][NODES];
static const char *const names[PARTITIONS] = {"a", "b", "c"};

static void add_nodes(int partition)
{
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%s%d", names[partition], i);
        struct box box = {.name = name,
                          .cpu = 16000,
                          .memory = 64 * GIB,
                          .gpus = GPUS,
                          .partitions = &names[partition],
                          .partition_count = 1};
        node[partition][i] = stage_add(&h.stage, &box);
    }
}

/* Partitions "a" and "b", of two nodes of four GPUs each; queues "x" and "y". */
static void setup(void)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    host_open(&h, 0, 0);
    add_nodes(0);
    add_nodes(1);
    q[0].name = "x";
    q[1].name = "y";
    q[0].reclaim = GANG_PREEMPT_NEVER;
    host_queues(&h, q, 2);
}

static void teardown(void)
{
    host_close(&h);
}

static struct gang_quota gpus_in(const char *partition, int64_t gpus)
{
    return (struct gang_quota){"gpu", gpus * 1000, partition, 0, 0};
}

/* A gang of single tasks of so many GPUs that runs in one of the first `count` partitions. */
static struct gang_job_spec *spec_in(const char *queue, size_t count, int64_t tasks, int64_t gpus)
{
    static struct gang_group_spec g;
    static struct gang_job_spec job;
    g = group_of(tasks, 1000, gpus * 1000);
    g.min = tasks;
    job = host_job(&g, 1);
    job.queue = queue;
    job.partitions = names;
    job.partition_count = count;
    return &job;
}

static gang_job_id submit(const char *queue, int64_t tasks)
{
    return host_submit(&h, spec_in(queue, 2, tasks, GPUS));
}

/* A job that names one partition in its group. */
static gang_job_id submit_to(const char *queue, const char *partition, int64_t tasks,
                             int64_t priority)
{
    struct gang_group_spec g = group_of(tasks, 1000, GPUS * 1000);
    g.min = tasks;
    g.partition = partition;
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = queue;
    job.priority = priority;
    return host_submit(&h, &job);
}

static int partition_of_node(gang_node_id id)
{
    for (int p = 0; p < PARTITIONS; p++)
        for (int i = 0; i < NODES; i++)
            if (node[p][i] == id)
                return p;
    return -1;
}

/* The number of the partition in which all tasks of the job run; -1: it does not run. */
static int runs_in(gang_job_id id)
{
    int64_t tasks = host_tasks(&h, id);
    int in = tasks > 0 ? partition_of_node(host_node_of(&h, id, 0)) : -1;
    for (int64_t t = 1; t < tasks; t++)
        ck_assert_int_eq(partition_of_node(host_node_of(&h, id, t)), in);
    return in;
}

START_TEST(the_first_partition_with_a_place_is_taken)
{
    gang_job_id job[4];
    for (int i = 0; i < 4; i++)
        job[i] = submit("x", i == 1 ? 2 : 1);
    gang_job_id last = submit("x", 2);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(job[0]), 0);
    ck_assert_int_eq(runs_in(job[1]), 1); /* never some tasks in each */
    ck_assert_int_eq(runs_in(job[2]), 0);
    ck_assert_int_eq(runs_in(job[3]), -1);
    ck_assert_int_eq(runs_in(last), -1);
    host_end_job(&h, job[1]);
    ck_assert_int_eq(runs_in(job[3]), 1);
    ck_assert_int_eq(runs_in(last), -1);
    host_end_job(&h, job[0]);
    ck_assert_int_eq(runs_in(last), -1); /* one node of each is free */
    host_end_job(&h, job[2]);
    ck_assert_int_eq(runs_in(last), 0);
}
END_TEST

START_TEST(equal_jobs_fill_all_partitions_in_one_run)
{
    gang_job_id job[5];
    for (int i = 0; i < 5; i++)
        job[i] = submit("x", 1);
    host_run(&h, 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(runs_in(job[i]), i / 2);
    ck_assert_int_eq(runs_in(job[4]), -1);
}
END_TEST

/* The limits of a queue in "a" and "b". */
static void set_limits(int64_t a, int64_t b)
{
    struct gang_quota limit[2] = {gpus_in("a", a), gpus_in("b", b)};
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    q[0].name = "x";
    q[0].limit = limit;
    q[0].limit_count = 2;
    q[1].name = "y";
    host_queues(&h, q, 2);
}

START_TEST(a_limit_leads_to_the_next_partition)
{
    set_limits(4, 4);
    gang_job_id first = submit("x", 1), second = submit("x", 1), third = submit("x", 1);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(first), 0);
    ck_assert_int_eq(runs_in(second), 1);
    ck_assert_int_eq(runs_in(third), -1); /* both have free nodes */
    gang_job_id named = submit_to("x", "b", 1, 0);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(named), -1);
    host_end_job(&h, second); /* its usage counts in "b" alone */
    ck_assert_int_eq(runs_in(third), 1);
    host_end_job(&h, first);
    ck_assert_int_eq(runs_in(named), -1);
    host_end_job(&h, third);
    ck_assert_int_eq(runs_in(named), 1);
}
END_TEST

START_TEST(capacity_of_one_partition_wakes_a_job_at_the_limit_of_another)
{
    set_limits(4, 8);
    gang_job_id other = submit_to("y", "b", 2, 0);
    gang_job_id first = submit("x", 1);
    host_run(&h, 0);
    gang_job_id waits = submit("x", 1);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(first), 0);
    ck_assert_int_eq(runs_in(waits), -1);
    host_end_job(&h, other);
    ck_assert_int_eq(runs_in(waits), 1);
    waits = submit("x", 2);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(waits), -1);
    set_limits(8, 4);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(waits), -1);
    host_end_job(&h, first);
    ck_assert_int_eq(runs_in(waits), 0);
}
END_TEST

START_TEST(a_starved_job_bars_others_in_each_of_its_partitions)
{
    struct gang_quota limit = gpus_in("a", 4);
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    gang_job_id small[6], large;
    q.name = "x";
    q.limit = &limit;
    q.limit_count = 1;
    q.max_bypasses = 2;
    host_queues(&h, &q, 1);
    submit_to("x", "a", 1, 0); /* so that "a" is at its limit */
    small[0] = submit_to("x", "b", 1, 0);
    host_run(&h, 0);
    large = submit("x", 2);
    host_run(&h, 0);
    for (int i = 1; i < 6; i++)
        small[i] = submit_to("x", "b", 1, 0);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(small[1]), 1);
    host_end_job(&h, small[0]);
    ck_assert_int_eq(runs_in(small[2]), 1);
    host_end_job(&h, small[1]);
    ck_assert_int_eq(runs_in(small[3]), -1); /* two have passed */
    host_end_job(&h, small[2]);
    ck_assert_int_eq(runs_in(large), 1);
}
END_TEST

/* Queue "x" is guaranteed `a` and `b` GPUs there, "y" the rest. */
static void set_guarantees(int64_t a, int64_t b)
{
    struct gang_quota of_x[2] = {gpus_in("a", a), gpus_in("b", b)};
    struct gang_quota of_y[2] = {gpus_in("a", 8 - a), gpus_in("b", 8 - b)};
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    q[0].name = "x";
    q[0].guaranteed = of_x;
    q[1].name = "y";
    q[1].guaranteed = of_y;
    q[0].guaranteed_count = q[1].guaranteed_count = 2;
    q[1].grace_ns = HOST_SECOND;
    host_queues(&h, q, 2);
}

START_TEST(a_guarantee_is_reclaimed_in_the_partition_that_has_it)
{
    gang_job_id other[4];
    set_guarantees(0, 8);
    for (int i = 0; i < 4; i++)
        other[i] = submit_to("y", names[i / 2], 1, 0);
    host_run(&h, 0);
    gang_job_id mine = submit("x", 1);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(mine), 1);
    ck_assert_int_eq(runs_in(other[0]), 0);
    ck_assert_int_eq(runs_in(other[1]), 0);
    ck_assert_int_eq((runs_in(other[2]) == 1) + (runs_in(other[3]) == 1), 1);
}
END_TEST

START_TEST(while_victims_stop_the_queues_count_that_partition_alone)
{
    gang_job_id other[4];
    set_guarantees(0, 8);
    h.lingers = true;
    for (int i = 0; i < 4; i++)
        other[i] = submit_to("y", names[i / 2], 1, 0);
    host_run(&h, 0);
    gang_job_id mine = submit("x", 1);
    host_run(&h, 0); /* with an audit of all usage */
    ck_assert_int_eq(runs_in(mine), -1);
    h.lingers = false;
    for (int i = 2; i < 4; i++)
        if (host_ops(&h, other[i], "preempt") > 0)
            host_report(&h, other[i], 0, GANG_TASK_STOPPED);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(mine), 1);
}
END_TEST

/* Queue "x" is guaranteed 4 GPUs in "b" and none in "a". */
static void set_rules(int32_t borrow, int32_t preempt)
{
    struct gang_quota of_x[2] = {gpus_in("a", 0), gpus_in("b", 4)};
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    q[0].name = "x";
    q[0].guaranteed = of_x;
    q[0].guaranteed_count = 2;
    q[0].partition_borrow = borrow;
    q[0].partition_preempt = preempt;
    q[1].name = "y";
    host_queues(&h, q, 2);
}

START_TEST(a_queue_may_borrow_last)
{
    gang_job_id job[4];
    set_rules(GANG_PARTITION_BORROW_LAST, GANG_PARTITION_PREEMPT_LAST);
    for (int i = 0; i < 4; i++)
        job[i] = submit("x", 1);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(job[0]), 1); /* inside the guarantee */
    ck_assert_int_eq(runs_in(job[1]), 0); /* then in order */
    ck_assert_int_eq(runs_in(job[2]), 0);
    ck_assert_int_eq(runs_in(job[3]), 1);
}
END_TEST

START_TEST(by_default_a_queue_borrows_in_order)
{
    set_rules(GANG_PARTITION_BORROW_IN_ORDER, GANG_PARTITION_PREEMPT_LAST);
    gang_job_id job = submit("x", 1);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(job), 0);
}
END_TEST

/* The whole of "a" runs a job of lower priority, and "b" is free. */
static int urgent_runs_in(int32_t preempt)
{
    set_rules(GANG_PARTITION_BORROW_IN_ORDER, preempt);
    submit_to("x", "a", 2, 0);
    host_run(&h, 0);
    struct gang_job_spec *spec = spec_in("x", 2, 2, GPUS);
    spec->priority = 10;
    gang_job_id urgent = host_submit(&h, spec);
    host_run(&h, 0);
    return runs_in(urgent);
}

START_TEST(a_queue_may_preempt_in_the_order_of_partitions)
{
    ck_assert_int_eq(urgent_runs_in(GANG_PARTITION_PREEMPT_IN_ORDER), 0);
}
END_TEST

START_TEST(by_default_a_queue_preempts_last)
{
    ck_assert_int_eq(urgent_runs_in(GANG_PARTITION_PREEMPT_LAST), 1);
}
END_TEST

START_TEST(jobs_have_the_partitions_of_their_queue)
{
    static const char *const b[] = {"b", "a"};
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_queue_spec child = GANG_QUEUE_SPEC_INIT;
    q[0].name = "x";
    q[0].partitions = b;
    q[0].partition_count = 2;
    q[1].name = "y";
    child.partitions = b;
    child.partition_count = 1;
    child.reclaim = GANG_PREEMPT_NEVER;
    q[1].child = &child;
    host_queues(&h, q, 2);
    gang_job_id plain = host_submit(&h, spec_in("x", 0, 2, GPUS));
    host_run(&h, 0);
    gang_job_id own = host_submit(&h, spec_in("x", 2, 1, GPUS));
    gang_job_id next = host_submit(&h, spec_in("x", 0, 1, GPUS));
    gang_job_id named = submit_to("x", "b", 1, 0);
    gang_job_id made = host_submit(&h, spec_in("y.new", 0, 1, GPUS));
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(plain), 1);
    ck_assert_int_eq(runs_in(own), 0);
    ck_assert_int_eq(runs_in(next), 0);
    ck_assert_int_eq(runs_in(named), -1);
    ck_assert_int_eq(runs_in(made), -1);
    host_end_job(&h, plain);
    ck_assert_int_eq(runs_in(named), 1);
    ck_assert_int_eq(runs_in(made), 1);
}
END_TEST

START_TEST(a_preempted_job_may_start_in_another_partition)
{
    gang_job_id first = submit("x", 2), second = submit("x", 2);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(second), 1);
    gang_job_id urgent = submit_to("x", "b", 2, 10);
    MUST(gang_report_end(h.s, first, 1));
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(urgent), 1);
    ck_assert_int_eq(runs_in(second), 0);
}
END_TEST

START_TEST(a_job_grows_in_its_partition)
{
    gang_job_id other = submit_to("y", "a", 1, 0);
    host_run(&h, 0);
    struct gang_job_spec *spec = spec_in("x", 2, 6, 1);
    ((struct gang_group_spec *)(uintptr_t)spec->request.groups)->min = 3;
    gang_job_id job = host_submit(&h, spec);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(job), 0);
    ck_assert_int_eq(host_tasks(&h, job), 4);
    host_end_job(&h, other);
    ck_assert_int_eq(host_tasks(&h, job), 6);
    ck_assert_int_eq(runs_in(job), 0);
}
END_TEST

/* ---- reasons --------------------------------------------------------------------------------- */

struct seen {
    struct gang_wait wait[8];
    char text[8][512];
    int count;
};

static int32_t note(const struct gang_wait *w, void *user)
{
    struct seen *seen = user;
    if (seen->count < 8) {
        seen->wait[seen->count] = *w;
        snprintf(seen->text[seen->count++], 512, "%s", w->text);
    }
    return 0;
}

START_TEST(the_reasons_name_each_partition)
{
    struct seen seen = {.count = 0};
    set_limits(4, 8);
    submit_to("y", "b", 2, 0);
    host_run(&h, 0);
    gang_job_id job = submit("x", 2); /* never in "a" */
    host_run(&h, 0);
    MUST(gang_job_explain(h.s, job, note, &seen));
    ck_assert_int_ge(seen.count, 2);
    bool limit = false, capacity = false;
    for (int i = 0; i < seen.count; i++) {
        const struct gang_wait *w = &seen.wait[i];
        ck_assert_ptr_nonnull(w->partition);
        ck_assert_int_ne(w->category, GANG_WAIT_CATEGORY_NEVER);
        limit = limit || (w->reason == GANG_WAIT_LIMIT && strcmp(w->partition, "a") == 0);
        capacity = capacity || (w->reason == GANG_WAIT_CAPACITY && strcmp(w->partition, "b") == 0);
        ck_assert_ptr_nonnull(strstr(seen.text[i], "in partition \""));
    }
    ck_assert(limit && capacity);
    set_limits(4, 4); /* nowhere, ever */
    host_run(&h, 0);
    seen.count = 0;
    MUST(gang_job_explain(h.s, job, note, &seen));
    ck_assert_int_eq(seen.wait[0].category, GANG_WAIT_CATEGORY_NEVER);
}
END_TEST

START_TEST(a_job_that_never_fits_in_one_partition_runs_in_another)
{
    struct box box = {.name = "large",
                      .cpu = 16000,
                      .memory = 64 * GIB,
                      .gpus = 8,
                      .partitions = &names[1],
                      .partition_count = 1};
    node[2][0] = stage_add(&h.stage, &box);
    gang_job_id job = host_submit(&h, spec_in("x", 2, 1, 8)), never;
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, job), 1);
    ck_assert_uint_eq(host_node_of(&h, job, 0), node[2][0]);
    ck_assert_int_eq(gang_job_submit(h.s, spec_in("x", 2, 1, 9), &never, NULL), GANG_ENEVER);
}
END_TEST

/* ---- specifications -------------------------------------------------------------------------- */

static void refused(const struct gang_job_spec *job, gang_result r, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), r, &error, path, NULL);
}

START_TEST(bad_lists_are_refused)
{
    static const char *const twice[] = {"a", "b", "a"}, *const nameless[] = {"a", ""};
    const char *many[GANG_MAX_JOB_PARTITIONS + 1];
    struct gang_job_spec *job = spec_in("x", 2, 1, 1);
    for (int i = 0; i <= GANG_MAX_JOB_PARTITIONS; i++)
        many[i] = "a";
    job->prefer_wait_ns = 1;
    refused(job, GANG_ENOTSUP, "partitions");
    job->prefer_wait_ns = 0;
    job->partitions = NULL;
    refused(job, GANG_EINVAL, "partitions");
    job->partitions = many;
    job->partition_count = GANG_MAX_JOB_PARTITIONS + 1;
    refused(job, GANG_ELIMIT, "partitions");
    job->partitions = twice;
    job->partition_count = 3;
    refused(job, GANG_EEXIST, "partitions[2]");
    job->partitions = nameless;
    job->partition_count = 2;
    refused(job, GANG_EINVAL, "partitions[1]");
    job->partitions = names;
    ((struct gang_group_spec *)(uintptr_t)job->request.groups)->partition = "a";
    refused(job, GANG_EINVAL, "partitions");
}
END_TEST

START_TEST(groups_that_name_a_partition_keep_it)
{
    struct gang_group_spec g[2] = {group_of(1, 1000, GPUS * 1000), group_of(1, 1000, GPUS * 1000)};
    g[0].min = g[1].min = 1;
    g[0].name = "one";
    g[1].name = "two";
    g[0].partition = "b";
    struct gang_job_spec job = host_job(g, 2);
    job.queue = "x";
    job.partitions = names;
    job.partition_count = 2;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 0);
    ck_assert_int_eq(partition_of_node(host_node_of(&h, id, 0)), 1);
    ck_assert_int_eq(partition_of_node(host_node_of(&h, id, 1)), 0);
}
END_TEST

START_TEST(a_single_partition_is_like_naming_it)
{
    gang_job_id job[3];
    for (int i = 0; i < 3; i++)
        job[i] = host_submit(&h, spec_in("x", 1, 1, GPUS));
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(job[1]), 0);
    ck_assert_int_eq(runs_in(job[2]), -1);
}
END_TEST

START_TEST(a_job_that_runs_already_counts_where_it_runs)
{
    struct gang_running_spec place = {.node = "b1"};
    set_limits(8, 4);
    struct gang_job_spec *job = spec_in("x", 2, 1, GPUS);
    job->running = 1;
    job->places = &place;
    job->place_count = 1;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(id), 1);
    gang_job_id named = submit_to("x", "b", 1, 0), other = submit_to("x", "a", 2, 0);
    host_run(&h, 0);
    ck_assert_int_eq(runs_in(named), -1);
    ck_assert_int_eq(runs_in(other), 0);
}
END_TEST

/* ---- plans, copies, memory ------------------------------------------------------------------- */

/* A job that runs in one partition for so many seconds. */
static gang_job_id run_for(const char *partition, int64_t tasks, int64_t seconds)
{
    struct gang_group_spec g = group_of(tasks, 1000, GPUS * 1000);
    g.min = tasks;
    g.partition = partition;
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "y";
    job.time_limit_ns = seconds * (int64_t)HOST_SECOND;
    return host_submit(&h, &job);
}

START_TEST(a_planned_job_starts_where_it_can_first)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    q[0].name = "x";
    q[1].name = "y";
    q[0].backfill = GANG_BACKFILL_EASY;
    q[0].reclaim = GANG_PREEMPT_NEVER;
    host_queues(&h, q, 2);
    gang_job_id long_one = run_for("a", 2, 100), short_one = run_for("b", 2, 10);
    host_run(&h, 0);
    struct gang_job_spec *spec = spec_in("x", 2, 2, GPUS);
    spec->time_limit_ns = 50 * (int64_t)HOST_SECOND;
    gang_job_id job = host_submit(&h, spec);
    host_run(&h, 0);
    ck_assert_int_eq(host_job_info(&h, job).planned_ns, h.now_ns + 100 * (int64_t)HOST_SECOND);
    host_run(&h, HOST_SECOND);
    host_end_job(&h, short_one);
    ck_assert_int_eq(runs_in(job), 1);
    job = host_submit(&h, spec);
    host_run(&h, 0);
    host_end_job(&h, long_one);
    ck_assert_int_eq(runs_in(job), 0);
}
END_TEST

START_TEST(a_forecast_tries_each_partition)
{
    run_for("a", 2, 100);
    gang_job_id ends = run_for("b", 2, 10);
    host_run(&h, 0);
    struct gang_job_spec *spec = spec_in("x", 2, 2, GPUS);
    spec->time_limit_ns = 50 * (int64_t)HOST_SECOND;
    gang_job_id job = host_submit(&h, spec), next = host_submit(&h, spec);
    host_run(&h, 0);
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_of(f, job), h.now_ns + 10 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(start_of(f, next), h.now_ns + 60 * (int64_t)HOST_SECOND);
    gang_forecast_free(f);
    host_end_job(&h, ends);
    ck_assert_int_eq(runs_in(job), 1);
    f = foretell(&h, NULL); /* the copy has it in "b", too */
    ck_assert_int_eq(start_of(f, next), h.now_ns + 50 * (int64_t)HOST_SECOND);
    gang_forecast_free(f);
    check_without_memory(&h, NULL);
}
END_TEST

START_TEST(out_of_memory_is_no_loss)
{
    gang_result r = GANG_ENOMEM;
    gang_job_id job = GANG_ID_NONE;
    submit_to("y", "a", 2, 0);
    host_run(&h, 0);
    for (long n = 1; r != GANG_OK; n++) {
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        r = gang_job_submit(h.s, spec_in("x", 2, 2, GPUS), &job, NULL);
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
    }
    r = GANG_ENOMEM;
    for (long n = 1; r != GANG_OK; n++) {
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        r = gang_sched_run(h.s, ++h.now_ns, NULL, NULL);
        h.stage.mem.fail_at = 0;
        host_check(&h);
    }
    ck_assert_int_eq(runs_in(job), 1);
}
END_TEST

/* ---- random lives ---------------------------------------------------------------------------- */

/* A job as the host knows it. */
struct known {
    gang_job_id id;
    int queue;
    const char *const *list; /* its partitions, */
    size_t count;            /* so many; 0: it names one in its group: */
    int only;
    int64_t gpus; /* of its single task */
};

struct life {
    struct known job[JOBS];
    int jobs;
    int64_t limit[2][PARTITIONS]; /* GPUs, by queue */
};

static const char *const orders[][PARTITIONS] = {
    {"a", "b", "c"}, {"b", "a", "c"}, {"c", "b", "a"}, {"b", "c", "a"}};

static void set_world(struct life *l)
{
    static const char *const queue[2] = {"x", "y"};
    static struct gang_quota limit[2][PARTITIONS], guarantee[2][PARTITIONS];
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    for (int i = 0; i < 2; i++) {
        for (int p = 0; p < PARTITIONS; p++) {
            l->limit[i][p] = 2 + below(NODES * GPUS - 1);
            limit[i][p] = gpus_in(names[p], l->limit[i][p]);
            guarantee[i][p] = gpus_in(names[p], below(l->limit[i][p] + 1) / 2);
        }
        q[i].name = queue[i];
        q[i].limit = limit[i];
        q[i].limit_count = one_in(4) ? 0 : PARTITIONS;
        for (int p = 0; p < PARTITIONS && q[i].limit_count == 0; p++)
            l->limit[i][p] = NODES * GPUS;
        q[i].guaranteed = guarantee[i];
        q[i].guaranteed_count = one_in(3) ? 0 : PARTITIONS;
        q[i].partition_borrow = one_in(2);
        q[i].partition_preempt = one_in(2);
    }
    host_queues(&h, q, 2);
}

static void submit_some(struct life *l)
{
    struct known *k = &l->job[l->jobs++];
    struct gang_group_spec g = group_of(1, 1000, (1 + below(GPUS)) * 1000);
    g.min = 1;
    k->queue = (int)below(2);
    k->gpus = g.gpu_milli / 1000;
    k->only = (int)below(PARTITIONS);
    k->list = orders[index_below(4)];
    k->count = one_in(3) ? 0 : 1 + index_below(PARTITIONS);
    g.partition = k->count ? NULL : names[k->only];
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = k->queue ? "y" : "x";
    job.priority = below(3);
    job.partitions = k->count ? k->list : NULL;
    job.partition_count = k->count;
    job.preemptible = one_in(6) ? GANG_NOT_PREEMPTIBLE : GANG_PREEMPTIBLE;
    k->id = host_submit(&h, &job);
}

/* May the job run in this partition? */
static bool allows(const struct known *k, int partition)
{
    bool may = k->count == 0 && k->only == partition;
    for (size_t i = 0; i < k->count; i++)
        may = may || strcmp(k->list[i], names[partition]) == 0;
    return may;
}

static int64_t most_free(int partition)
{
    int64_t most = 0;
    for (int i = 0; i < NODES; i++) {
        int64_t free = stage_node(&h.stage, node[partition][i]).gpu_free / 1000;
        most = free > most ? free : most;
    }
    return most;
}

/* Each job that runs is in one of its partitions, inside the limits there. A preemptible job waits
 * only if in each partition the limit or the capacity is short. */
static void check_books(const struct life *l)
{
    int64_t used[2][PARTITIONS] = {{0}};
    for (int i = 0; i < l->jobs; i++) {
        const struct known *k = &l->job[i];
        int in = host_has(&h, k->id) ? runs_in(k->id) : -1;
        if (in < 0)
            continue;
        ck_assert(allows(k, in));
        used[k->queue][in] += k->gpus;
    }
    for (int q = 0; q < 2; q++)
        for (int p = 0; p < PARTITIONS; p++)
            ck_assert_int_le(used[q][p], l->limit[q][p]);
    for (int i = 0; i < l->jobs; i++) {
        const struct known *k = &l->job[i];
        struct gang_job_info info = {.size = sizeof(info)};
        if (gang_job_get(h.s, k->id, &info) != GANG_OK || info.tasks > 0 ||
            info.preemptible != GANG_PREEMPTIBLE)
            continue;
        for (int p = 0; p < PARTITIONS; p++)
            ck_assert_msg(!allows(k, p) || k->gpus > most_free(p) ||
                              used[k->queue][p] + k->gpus > l->limit[k->queue][p],
                          "job %" PRIu64 " could run in %s", k->id, names[p]);
    }
}

static void end_some(struct life *l)
{
    const struct known *k = &l->job[index_below((size_t)l->jobs)];
    if (!host_has(&h, k->id))
        return;
    if (host_tasks(&h, k->id) > 0 && below(3) > 0)
        MUST(gang_report_end(h.s, k->id, 1));
    else
        MUST(gang_job_cancel(h.s, k->id));
}

START_TEST(random_lives_leave_no_place_unused)
{
    static struct life life;
    memset(&life, 0, sizeof(life));
    chance_state = test_seed() + (uint64_t)_i;
    add_nodes(2);
    set_world(&life);
    for (int step = 0; step < STEPS; step++) {
        for (int64_t n = below(4); n > 0 && life.jobs < JOBS; n--)
            submit_some(&life);
        for (int64_t n = below(3); n > 0 && life.jobs > 0; n--)
            end_some(&life);
        host_run(&h, HOST_SECOND);
        check_books(&life);
        if (one_in(10)) {
            set_world(&life);
            for (int i = 0; i < life.jobs; i++) /* limits may be lower than what runs */
                if (host_has(&h, life.job[i].id) && host_tasks(&h, life.job[i].id) > 0)
                    MUST(gang_job_cancel(h.s, life.job[i].id));
            host_run(&h, HOST_SECOND);
        }
        if (one_in(20)) {
            gang_forecast *f = foretell(&h, NULL);
            gang_forecast_free(f);
        }
        h.count = 0;
    }
}
END_TEST

/* Gangs of several groups that grow, are preempted with a grace, suspended, planned, or share
 * nodes in time: each stays in one of its partitions while it holds anything, and the audit after
 * each run finds nothing. */
static void set_wild_world(void)
{
    static struct gang_quota limit[2], guarantee[2];
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    for (int i = 0; i < 2; i++) {
        limit[i] = gpus_in(names[below(PARTITIONS)], 4 + below(5));
        guarantee[i] = gpus_in(names[below(PARTITIONS)], below(5));
        q[i].name = i ? "y" : "x";
        q[i].limit = &limit[i];
        q[i].limit_count = one_in(2);
        q[i].guaranteed = &guarantee[i];
        q[i].guaranteed_count = one_in(2);
        q[i].grace_ns = one_in(2) ? 3 * (int64_t)HOST_SECOND : 0;
        q[i].preempt_mode = one_in(2) ? GANG_PREEMPT_MODE_SUSPEND : GANG_PREEMPT_MODE_REQUEUE;
        q[i].backfill = (int32_t)below(4);
        q[i].plan_depth = below(3);
        q[i].max_bypasses = one_in(3) ? 2 : 0;
        q[i].partition_borrow = one_in(2);
        q[i].partition_preempt = one_in(2);
        if (one_in(4)) {
            q[i].quantum_ns = 5 * (int64_t)HOST_SECOND;
            q[i].backfill = GANG_BACKFILL_NONE;
            q[i].preempt_mode = GANG_PREEMPT_MODE_REQUEUE;
        }
    }
    host_queues(&h, q, 2);
}

static gang_job_id submit_wild(void)
{
    struct gang_group_spec g[2] = {group_of(1 + below(4), 1000, 1000 * below(3)),
                                   group_of(1 + below(2), 2000, 1000 * below(2))};
    size_t groups = one_in(3) ? 2 : 1;
    for (size_t i = 0; i < groups; i++)
        g[i].min = one_in(2) ? g[i].count : 1;
    struct gang_job_spec job = host_job(g, groups);
    if (groups == 2 && one_in(2)) { /* any of the tasks */
        g[0].min = g[1].min = 0;
        job.request.min = 1 + below(g[0].count + g[1].count);
    }
    job.queue = one_in(2) ? "x" : "y";
    job.priority = below(3);
    job.partitions = orders[index_below(4)];
    job.partition_count = 1 + index_below(PARTITIONS);
    job.time_limit_ns = one_in(3) ? 0 : (5 + below(60)) * (int64_t)HOST_SECOND;
    job.preemptible = (int32_t)below(3);
    job.loss = one_in(2) ? GANG_LOSS_RESTART : GANG_LOSS_REFILL;
    job.max_restarts = 3;
    gang_job_id id = GANG_ID_NONE; /* none of the partitions may have so much */
    gang_result r = gang_job_submit(h.s, &job, &id, NULL);
    ck_assert(r == GANG_OK || r == GANG_ENEVER);
    return id;
}

static void disturb(gang_job_id id)
{
    if (!host_has(&h, id))
        return;
    if (host_tasks(&h, id) == 0 || one_in(4))
        MUST(one_in(2) ? gang_job_hold(h.s, id) : gang_job_cancel(h.s, id));
    else if (one_in(2))
        host_report_all(&h, id, 0, one_in(2) ? GANG_TASK_SUCCEEDED : GANG_TASK_FAILED);
    else
        host_report(&h, id, 0, GANG_TASK_FAILED);
}

START_TEST(random_gangs_stay_in_one_partition)
{
    gang_job_id job[JOBS];
    int jobs = 0;
    chance_state = test_seed() + (uint64_t)_i;
    add_nodes(2);
    set_wild_world();
    for (int step = 0; step < STEPS; step++) {
        for (int64_t n = below(4); n > 0 && jobs < JOBS; n--)
            job[jobs++] = submit_wild();
        for (int64_t n = below(3); n > 0 && jobs > 0; n--)
            disturb(job[index_below((size_t)jobs)]);
        if (jobs > 0 && one_in(3)) {
            gang_job_id id = job[index_below((size_t)jobs)];
            if (host_has(&h, id))
                MUST(gang_job_release(h.s, id));
        }
        h.lingers = one_in(2);
        host_run(&h, HOST_SECOND);
        for (int i = 0; i < jobs; i++) {
            gang_alloc_id id = host_has(&h, job[i]) ? gang_job_alloc(h.s, job[i], 0) : GANG_ID_NONE;
            const struct task_list *list = id == GANG_ID_NONE ? NULL : stage_tasks(&h.stage, id);
            for (size_t t = 1; list && t < list->count; t++)
                ck_assert_int_eq(partition_of_node(list->task[t].node),
                                 partition_of_node(list->task[0].node));
        }
        if (one_in(25))
            set_wild_world();
        h.count = 0;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partitions");
    TCase *tests = tcase_create("partitions");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_first_partition_with_a_place_is_taken);
    tcase_add_test(tests, equal_jobs_fill_all_partitions_in_one_run);
    tcase_add_test(tests, a_limit_leads_to_the_next_partition);
    tcase_add_test(tests, capacity_of_one_partition_wakes_a_job_at_the_limit_of_another);
    tcase_add_test(tests, a_starved_job_bars_others_in_each_of_its_partitions);
    tcase_add_test(tests, a_guarantee_is_reclaimed_in_the_partition_that_has_it);
    tcase_add_test(tests, while_victims_stop_the_queues_count_that_partition_alone);
    tcase_add_test(tests, a_queue_may_borrow_last);
    tcase_add_test(tests, by_default_a_queue_borrows_in_order);
    tcase_add_test(tests, a_queue_may_preempt_in_the_order_of_partitions);
    tcase_add_test(tests, by_default_a_queue_preempts_last);
    tcase_add_test(tests, jobs_have_the_partitions_of_their_queue);
    tcase_add_test(tests, a_preempted_job_may_start_in_another_partition);
    tcase_add_test(tests, a_job_grows_in_its_partition);
    tcase_add_test(tests, the_reasons_name_each_partition);
    tcase_add_test(tests, a_job_that_never_fits_in_one_partition_runs_in_another);
    tcase_add_test(tests, bad_lists_are_refused);
    tcase_add_test(tests, groups_that_name_a_partition_keep_it);
    tcase_add_test(tests, a_single_partition_is_like_naming_it);
    tcase_add_test(tests, a_job_that_runs_already_counts_where_it_runs);
    tcase_add_test(tests, a_planned_job_starts_where_it_can_first);
    tcase_add_test(tests, a_forecast_tries_each_partition);
    tcase_add_test(tests, out_of_memory_is_no_loss);
    tcase_add_loop_test(tests, random_lives_leave_no_place_unused, 0, 10);
    tcase_add_loop_test(tests, random_gangs_stay_in_one_partition, 0, 20);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
