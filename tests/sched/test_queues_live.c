/* SPDX-License-Identifier: Apache-2.0 */
/* Queues with jobs in them: changes at run time, amounts that follow the nodes, limits, users,
 * job order and queue order. */
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

static struct gang_queue_spec queue_named(const char *name, const char *parent)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = name;
    q.parent = parent;
    return q;
}

static struct gang_quota gpus_amount(int64_t gpus)
{
    return (struct gang_quota){"gpu", gpus * 1000, NULL, 0, 0};
}

/* Two leaves side by side, changed by the caller before they are set. */
static struct gang_queue_spec pair[2];

static void make_pair(void)
{
    pair[0] = queue_named("a", NULL);
    pair[1] = queue_named("b", NULL);
}

static void set_pair(void)
{
    host_queues(&h, pair, 2);
}

static int64_t tasks_in(const char *name)
{
    return host_queue(&h, name).tasks;
}

static void end_job(gang_job_id id)
{
    MUST(gang_report_end(h.s, id, 1));
}

static gang_job_id submit_as(const char *user, const char *queue, int64_t count, int64_t priority)
{
    struct gang_job_spec *job = host_spec(queue, count, count, priority);
    job->user = user;
    return host_submit(&h, job);
}

/* ---- nothing changes on an error ---- */

enum { MOST_QUEUES = 16 };

struct picture {
    size_t count;
    struct gang_queue_info q[MOST_QUEUES];
};

static void take_picture(struct picture *p)
{
    memset(p, 0, sizeof(*p));
    for (gang_queue_id id = gang_queue_next(h.s, GANG_ID_NONE); id; id = gang_queue_next(h.s, id)) {
        p->q[p->count].size = sizeof(p->q[0]);
        MUST(gang_queue_get(h.s, id, &p->q[p->count++]));
    }
}

static struct picture before, after;

static void refuse_change(const struct gang_queue_spec *q, gang_result code, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    take_picture(&before);
    gang_result r = gang_queue_change(h.s, q, &error);
    ck_assert_msg(r == code, "%s: %s: %s", gang_result_name(r), error.path, error.text);
    ck_assert_str_eq(error.path, path);
    take_picture(&after);
    ck_assert_mem_eq(&before, &after, sizeof(before));
    host_check(&h);
}

static void refuse_tree(const struct gang_queue_spec *q, size_t count, gang_result code,
                        const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    take_picture(&before);
    gang_result r = gang_sched_set_queues(h.s, q, count, &error);
    ck_assert_msg(r == code, "%s: %s: %s", gang_result_name(r), error.path, error.text);
    ck_assert_str_eq(error.path, path);
    take_picture(&after);
    ck_assert_mem_eq(&before, &after, sizeof(before));
    host_check(&h);
}

static void set_with_jobs(void)
{
    static struct gang_quota two, six;
    two = gpus_amount(2);
    six = gpus_amount(6);
    make_pair();
    pair[0].guaranteed = &two;
    pair[0].guaranteed_count = 1;
    pair[0].limit = &six;
    pair[0].limit_count = 1;
    set_pair();
    host_gang(&h, "a", 2, 0);
    host_gang(&h, "b", 6, 0);
    host_gang(&h, "b", 6, 0);
    host_run(&h, 1);
}

START_TEST(a_change_that_is_refused_changes_nothing)
{
    struct gang_quota one = gpus_amount(1), unicorn = {"unicorn", 1, NULL, 0, 0};
    struct gang_quota there = {"gpu", 1000, "mars", 0, 0};
    set_with_jobs();
    struct gang_queue_spec q = pair[0];
    q.limit = &one; /* below the guarantee */
    refuse_change(&q, GANG_EINVAL, "limit.gpu");
    q.limit = &unicorn;
    refuse_change(&q, GANG_ENOENT, "limit.unicorn");
    q.limit = &there;
    refuse_change(&q, GANG_ENOENT, "limit[0].partition");
    q = pair[0];
    q.parent = "a";
    refuse_change(&q, GANG_ECYCLE, "parent");
    q.parent = "c";
    refuse_change(&q, GANG_ENOENT, "parent");
    q.parent = "b"; /* which has jobs */
    refuse_change(&q, GANG_EINVAL, "");
    q = pair[0];
    q.name = "c";
    refuse_change(&q, GANG_ENOENT, "name");
    q.name = NULL;
    refuse_change(&q, GANG_EINVAL, "name");
    q = pair[0];
    q.max_running = -1;
    refuse_change(&q, GANG_ERANGE, "max_running");
    q = pair[0];
    q.order = 9;
    refuse_change(&q, GANG_EINVAL, "order");
}
END_TEST

START_TEST(a_tree_that_is_refused_changes_nothing)
{
    struct gang_quota most = {"gpu", 0, NULL, GANG_WHOLE * 2 / 3, 0};
    set_with_jobs();
    struct gang_queue_spec q[] = {pair[0], pair[1], queue_named("c", NULL)};
    refuse_tree(q, 1, GANG_EBUSY, ""); /* b has jobs */
    q[2].name = "b";
    refuse_tree(q, 3, GANG_EEXIST, "queues[2].name");
    q[2].name = "c";
    q[1].guaranteed = q[2].guaranteed = &most;
    q[1].guaranteed_count = q[2].guaranteed_count = 1;
    struct gang_error error = GANG_ERROR_INIT;
    take_picture(&before);
    EXPECT_RESULT(gang_sched_set_queues(h.s, q, 3, &error), GANG_EINVAL, &error);
    take_picture(&after);
    ck_assert_mem_eq(&before, &after, sizeof(before));
    ck_assert_int_eq(gang_sched_set_queues(NULL, q, 2, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_sched_set_queues(h.s, NULL, 2, NULL), GANG_EINVAL);
}
END_TEST

/* ---- changes one by one ---- */

START_TEST(queues_come_and_go)
{
    struct gang_queue_spec c = queue_named("c", NULL), d = queue_named("d", "c"), *copy;
    gang_queue_id id, child;
    set_with_jobs();
    MUST(gang_queue_add(h.s, &c, &id, NULL));
    ck_assert_int_eq(gang_queue_add(h.s, &c, &child, NULL), GANG_EEXIST);
    ck_assert_uint_eq(child, GANG_ID_NONE);
    MUST(gang_queue_add(h.s, &d, &child, NULL));
    ck_assert_int_eq(host_queue(&h, "c").is_leaf, 0);
    ck_assert_int_eq(gang_queue_remove(h.s, id, NULL), GANG_EBUSY); /* it has a child */
    gang_job_id job = host_gang(&h, "d", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gang_queue_remove(h.s, child, NULL), GANG_EBUSY); /* it has a job */
    ck_assert_int_eq(host_queue(&h, "c").running + host_queue(&h, "c").pending, 1);
    MUST(gang_job_cancel(h.s, job));
    host_run(&h, 1);
    MUST(gang_queue_remove(h.s, child, NULL));
    struct gang_queue_info info = {.size = sizeof(info)};
    ck_assert_int_eq(gang_queue_get(h.s, child, &info), GANG_ESTALE);
    ck_assert_int_eq(gang_queue_remove(h.s, child, NULL), GANG_ESTALE);
    ck_assert_int_eq(gang_queue_set_state(h.s, child, GANG_QUEUE_OPEN), GANG_ESTALE);
    ck_assert_int_eq(gang_queue_get_spec(h.s, child, &copy), GANG_ESTALE);
    ck_assert_int_eq(host_queue(&h, "c").is_leaf, 1);
    MUST(gang_queue_add(h.s, &d, &child, NULL));
    MUST(gang_queue_remove(h.s, child, NULL));
    MUST(gang_queue_remove(h.s, id, NULL));
    host_check(&h);
}
END_TEST

/* The queue before it goes between submission and the run that takes it in. */
START_TEST(a_submitted_job_keeps_its_queue_while_another_goes)
{
    const struct gang_queue_spec few[3] = {queue_named("a", NULL), queue_named("b", NULL),
                                           queue_named("c", NULL)};
    host_queues(&h, few, 3);
    gang_job_id id = host_gang(&h, "b", 1, 0);
    MUST(gang_queue_remove(h.s, host_queue_id(&h, "a"), NULL));
    host_run(&h, 1);
    ck_assert_uint_eq(host_job_info(&h, id).queue, host_queue_id(&h, "b"));
    ck_assert_int_eq(tasks_in("b"), 1);
    ck_assert_int_eq(tasks_in("c"), 0);
}
END_TEST

START_TEST(the_last_queue_stays)
{
    ck_assert_int_eq(gang_queue_remove(h.s, host_queue_id(&h, "default"), NULL), GANG_EBUSY);
}
END_TEST

START_TEST(a_queue_that_moves_takes_its_jobs_with_it)
{
    struct gang_queue_spec q[] = {queue_named("p", NULL), queue_named("o", NULL),
                                  queue_named("leaf", "p"), queue_named("other", "o")};
    struct gang_quota four = gpus_amount(4);
    q[1].limit = &four;
    q[1].limit_count = 1;
    host_queues(&h, q, 4);
    gang_queue_id id = host_queue_id(&h, "leaf");
    gang_job_id first = host_gang(&h, "leaf", 4, 0), second = host_gang(&h, "leaf", 4, 0);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("p"), 8);
    q[2].parent = "o";
    MUST(gang_queue_change(h.s, &q[2], NULL));
    host_check(&h);
    ck_assert_uint_eq(host_queue_id(&h, "leaf"), id);
    ck_assert_int_eq(tasks_in("p"), 0);
    ck_assert_int_eq(tasks_in("o"), 8); /* above its limit: running jobs go on */
    ck_assert_int_eq(host_queue(&h, "o").used[GANG_KIND_GPU], 8000);
    ck_assert_int_eq(host_queue(&h, "o").limit[GANG_KIND_GPU], 4000);
    gang_job_id third = host_gang(&h, "leaf", 1, 0);
    end_job(first);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, third), GANG_JOB_PENDING);
    end_job(second);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, third), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_queue(&h, "o").running, 1);
}
END_TEST

START_TEST(a_draining_queue_starts_those_it_has)
{
    make_pair();
    set_pair();
    gang_job_id first = host_gang(&h, "a", 8, 0), second = host_gang(&h, "a", 8, 0), third;
    host_run(&h, 1);
    MUST(gang_queue_set_state(h.s, host_queue_id(&h, "a"), GANG_QUEUE_DRAINING));
    ck_assert_int_eq(host_queue(&h, "a").state, GANG_QUEUE_DRAINING);
    ck_assert_int_eq(gang_job_submit(h.s, host_spec("a", 1, 1, 0), &third, NULL), GANG_ECLOSED);
    end_job(first);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, second), GANG_JOB_RUNNING);
    ck_assert_int_eq(gang_queue_set_state(h.s, host_queue_id(&h, "a"), 3), GANG_EINVAL);
    ck_assert_int_eq(gang_queue_set_state(NULL, 0, 0), GANG_EINVAL);
}
END_TEST

START_TEST(a_closed_queue_starts_none_until_it_is_open_again)
{
    make_pair();
    set_pair();
    gang_job_id first = host_gang(&h, "a", 8, 0), second = host_gang(&h, "a", 8, 0);
    host_run(&h, 1);
    MUST(gang_queue_set_state(h.s, host_queue_id(&h, "a"), GANG_QUEUE_CLOSED));
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_RUNNING);
    end_job(first);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, second), GANG_JOB_PENDING);
    ck_assert_int_eq(host_queue(&h, "a").demand[GANG_KIND_GPU], 0);
    MUST(gang_queue_set_state(h.s, host_queue_id(&h, "a"), GANG_QUEUE_OPEN));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, second), GANG_JOB_RUNNING);
}
END_TEST

START_TEST(a_limit_below_usage_stops_no_job_and_starts_none)
{
    struct gang_quota two = gpus_amount(2);
    make_pair();
    set_pair();
    gang_job_id jobs[8];
    for (int i = 0; i < 8; i++)
        jobs[i] = host_gang(&h, "a", 1, 0);
    gang_job_id more = host_gang(&h, "a", 1, 0);
    host_run(&h, 1);
    pair[0].limit = &two;
    pair[0].limit_count = 1;
    MUST(gang_queue_change(h.s, &pair[0], NULL));
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("a"), 8);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(host_job_state(&h, more), GANG_JOB_PENDING);
        end_job(jobs[i]);
        host_run(&h, 1);
        if (i >= 6)
            break;
    }
    ck_assert_int_eq(host_job_state(&h, more), GANG_JOB_RUNNING);
}
END_TEST

START_TEST(a_changed_order_sorts_jobs_that_wait_already)
{
    make_pair();
    set_pair();
    gang_job_id block = host_gang(&h, "a", 8, 9);
    gang_job_id old = host_gang(&h, "a", 8, 0), high = host_gang(&h, "a", 8, 5);
    host_run(&h, 1);
    pair[0].order = GANG_ORDER_FIFO;
    pair[0].within = GANG_PREEMPT_NEVER;
    set_pair();
    end_job(block);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, old), GANG_JOB_RUNNING);
    gang_job_id young = host_gang(&h, "a", 8, 0);
    pair[0].order = GANG_ORDER_PRIORITY;
    set_pair();
    end_job(old);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, young), GANG_JOB_PENDING);
}
END_TEST

START_TEST(the_specification_in_force_can_be_read)
{
    struct gang_queue_spec *spec;
    set_with_jobs();
    MUST(gang_queue_get_spec(h.s, host_queue_id(&h, "a"), &spec));
    ck_assert_str_eq(spec->name, "a");
    ck_assert_uint_eq(spec->limit_count, 1);
    ck_assert_int_eq(spec->limit[0].amount, 6000);
    spec->max_running = 5;
    MUST(gang_queue_change(h.s, spec, NULL));
    gang_queue_spec_free(spec);
    gang_queue_spec_free(NULL);
    MUST(gang_queue_get_spec(h.s, host_queue_id(&h, "a"), &spec));
    ck_assert_int_eq(spec->max_running, 5);
    gang_queue_spec_free(spec);
    ck_assert_int_eq(gang_queue_get_spec(h.s, 0, &spec), GANG_ESTALE);
    ck_assert_ptr_null(spec);
    ck_assert_int_eq(gang_queue_get_spec(NULL, 0, &spec), GANG_EINVAL);
}
END_TEST

/* ---- amounts that follow the nodes ---- */

static void add_node(const char *name, const char *partition)
{
    const char *names[] = {partition};
    struct box box = {.name = name,
                      .cpu = 8000,
                      .memory = 64 * GIB,
                      .gpus = 4,
                      .partitions = names,
                      .partition_count = partition != NULL};
    stage_add(&h.stage, &box);
}

START_TEST(relative_guarantees_and_weights_follow_the_nodes)
{
    struct gang_quota part = {"gpu", 0, NULL, GANG_WHOLE / 4, 0};
    struct gang_quota weight[] = {{"cpu", 0, NULL, 0, 3}, {"cpu", 0, NULL, 0, 1}};
    struct gang_quota of_a[] = {part, weight[0]};
    make_pair();
    pair[0].guaranteed = of_a;
    pair[0].guaranteed_count = 2;
    pair[1].guaranteed = &weight[1];
    pair[1].guaranteed_count = 1;
    pair[1].limit = &part;
    pair[1].limit_count = 1;
    set_pair();
    ck_assert_int_eq(host_queue(&h, "a").guarantee[GANG_KIND_GPU], 2000);
    ck_assert_int_eq(host_queue(&h, "a").guarantee[GANG_KIND_CPU], 12000);
    ck_assert_int_eq(host_queue(&h, "b").guarantee[GANG_KIND_CPU], 4000);
    ck_assert_int_eq(host_queue(&h, "b").limit[GANG_KIND_GPU], 2000);
    gang_job_id id = host_gang(&h, "b", 2, 0);
    gang_job_id wide;
    ck_assert_int_eq(gang_job_submit(h.s, host_spec("b", 3, 3, 0), &wide, NULL), GANG_ENEVER);
    host_run(&h, 1);
    add_node("n2", NULL);
    add_node("n3", NULL);
    host_run(&h, 1);
    ck_assert_int_eq(host_queue(&h, "a").guarantee[GANG_KIND_GPU], 4000);
    ck_assert_int_eq(host_queue(&h, "b").guarantee[GANG_KIND_CPU], 8000);
    gang_job_id more = host_gang(&h, "b", 2, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, more), 2);
    MUST(gang_node_set_state(h.stage.w, gang_node_next(h.stage.c, GANG_ID_NONE), GANG_NODE_DOWN));
    ck_assert_int_eq(host_queue(&h, "a").guarantee[GANG_KIND_GPU], 3000);
    ck_assert_int_eq(host_tasks(&h, id), 2);
}
END_TEST

START_TEST(added_nodes_start_jobs_that_waited_for_a_relative_limit)
{
    struct gang_quota part = {"gpu", 0, NULL, GANG_WHOLE / 4, 0};
    make_pair();
    pair[0].limit = &part;
    pair[0].limit_count = 1;
    set_pair();
    gang_job_id id[3];
    for (int i = 0; i < 3; i++)
        id[i] = host_gang(&h, "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id[2]), GANG_JOB_PENDING);
    add_node("n2", NULL);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id[2]), GANG_JOB_RUNNING);
}
END_TEST

START_TEST(quotas_of_a_partition_count_jobs_that_name_it)
{
    add_node("f0", "fast");
    struct gang_quota limit = {"gpu", 1000, "fast", 0, 0};
    make_pair();
    pair[0].limit = &limit;
    pair[0].limit_count = 1;
    set_pair();
    struct gang_group_spec g = host_gpus(1, 1);
    struct gang_job_spec job = host_job(&g, 1);
    g.partition = "fast";
    job.queue = "a";
    gang_job_id first = host_submit(&h, &job), second = host_submit(&h, &job);
    gang_job_id other = host_gang(&h, "a", 8, 0); /* anywhere */
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, second), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_RUNNING);
    limit.amount = 2000;
    set_pair();
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, second), GANG_JOB_RUNNING);
    pair[0].limit_count = 0; /* the pair is no dimension any more */
    set_pair();
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("a"), 10);
}
END_TEST

/* ---- how many run ---- */

START_TEST(max_running_counts_jobs_of_the_queue_and_its_children)
{
    struct gang_queue_spec q[] = {queue_named("p", NULL), queue_named("a", "p"),
                                  queue_named("b", "p")};
    q[0].max_running = 2;
    host_queues(&h, q, 3);
    gang_job_id a = host_gang(&h, "a", 1, 0), b = host_gang(&h, "b", 1, 0);
    gang_job_id c = host_submit(&h, host_spec("a", 2, 1, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_queue(&h, "p").running, 2);
    int64_t waiting = host_queue(&h, "p").pending;
    ck_assert_int_eq(waiting, 1);
    end_job(a);
    end_job(b);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, c), 2);
}
END_TEST

START_TEST(max_running_per_user_bounds_each_user)
{
    make_pair();
    pair[0].max_running_per_user = 1;
    set_pair();
    gang_job_id a = submit_as("ann", "a", 1, 0), b = submit_as("ann", "a", 1, 0);
    gang_job_id c = submit_as("bob", "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_RUNNING);
    pair[0].max_running_per_user = 2; /* while they run */
    set_pair();
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_RUNNING);
    pair[0].max_running_per_user = 0;
    set_pair();
    pair[0].max_running_per_user = 1;
    set_pair();
    gang_job_id d = submit_as("bob", "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, d), GANG_JOB_PENDING);
    end_job(c);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, d), GANG_JOB_RUNNING);
}
END_TEST

/* ---- users ---- */

/* A queue that is guaranteed all 8 GPUs, in which each user gets this many percent at least. */
static void set_users(int64_t percent, int64_t factor_milli)
{
    static struct gang_quota all;
    all = gpus_amount(8);
    make_pair();
    pair[0].guaranteed = &all;
    pair[0].guaranteed_count = 1;
    pair[0].user_limit = percent * (GANG_WHOLE / 100);
    pair[0].user_limit_factor = factor_milli * (GANG_WHOLE / 1000);
    set_pair();
}

static int64_t tasks_of(const char *user)
{
    int64_t sum = 0;
    for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id; id = gang_job_next(h.s, id)) {
        struct gang_job_info info = host_job_info(&h, id);
        sum += strcmp(info.user, user) == 0 ? info.tasks : 0;
    }
    return sum;
}

START_TEST(n_users_get_an_nth_each_but_at_least_the_minimum)
{
    static const char *const user[] = {"u0", "u1", "u2", "u3", "u4"};
    static const int64_t most[] = {8, 4, 3, 2,
                                   2}; /* 25 %: all, half, a third, a quarter, a quarter */
    set_users(25, 0);
    for (int u = 0; u <= _i; u++)
        for (int i = 0; i < 8; i++)
            submit_as(user[u], "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("a"), 8);
    for (int u = 0; u <= _i; u++)
        ck_assert_int_le(tasks_of(user[u]), most[_i]);
    ck_assert_int_eq(tasks_of("u0"), most[_i]);
}
END_TEST

START_TEST(the_user_factor_bounds_a_single_user)
{
    set_users(0, 500);
    for (int i = 0; i < 8; i++)
        submit_as("u0", "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_of("u0"), 4);
    for (int i = 0; i < 8; i++)
        submit_as("u1", "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_of("u1"), 4);
    set_users(0, 1000);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_of("u0"), 4);
}
END_TEST

START_TEST(a_whole_gang_counts_against_the_limit_of_its_user)
{
    set_users(50, 0);
    submit_as("u0", "a", 3, 0);
    submit_as("u1", "a", 3, 0);
    submit_as("u1", "a", 3, 0);
    submit_as("u0", "a", 3, 0); /* 6 of 8, with two at work */
    host_run(&h, 1);
    ck_assert_int_eq(tasks_of("u0"), 3);
    ck_assert_int_eq(tasks_of("u1"), 3);
    submit_as("u0", "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_of("u0"), 4);
}
END_TEST

START_TEST(a_user_without_demand_is_not_active)
{
    set_users(50, 0);
    gang_job_id first = submit_as("u1", "a", 2, 0);
    for (int i = 0; i < 8; i++)
        submit_as("u0", "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_of("u0"), 6); /* u1 has all that it wants */
    end_job(first);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_of("u0"), 8);
}
END_TEST

START_TEST(a_user_of_higher_weight_gets_more)
{
    static const struct gang_user_weight heavy[] = {{"u0", 3 * GANG_WHOLE}};
    make_pair();
    pair[0].order = GANG_ORDER_FAIR;
    pair[0].users = heavy;
    pair[0].user_count = 1;
    set_pair();
    for (int i = 0; i < 16; i++)
        submit_as(i % 2 ? "u0" : "u1", "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_of("u0"), 6);
    ck_assert_int_eq(tasks_of("u1"), 2);
}
END_TEST

START_TEST(weights_of_users_may_change_while_they_wait)
{
    static const struct gang_user_weight heavy[] = {{"u1", 3 * GANG_WHOLE}};
    make_pair();
    pair[0].order = GANG_ORDER_FAIR;
    set_pair();
    gang_job_id block = submit_as("u2", "a", 8, 0);
    for (int i = 0; i < 16; i++)
        submit_as(i % 2 ? "u0" : "u1", "a", 1, 0);
    host_run(&h, 1);
    pair[0].users = heavy;
    pair[0].user_count = 1;
    set_pair();
    end_job(block);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_of("u0"), 2);
    ck_assert_int_eq(tasks_of("u1"), 6);
}
END_TEST

START_TEST(fair_order_starts_the_user_with_the_least_usage)
{
    make_pair();
    pair[0].order = GANG_ORDER_FAIR;
    set_pair();
    for (int i = 0; i < 8; i++)
        submit_as("greedy", "a", 1, 0);
    submit_as("modest", "a", 1, 0);
    submit_as("modest", "a", 1, 0);
    gang_job_id high = submit_as("greedy", "a", 1, 5); /* priority is for equals */
    host_run(&h, 1);
    ck_assert_int_eq(tasks_of("modest"), 2);
    ck_assert_int_eq(tasks_of("greedy"), 6);
    ck_assert_int_eq(host_tasks(&h, high), 1);
}
END_TEST

/* ---- orders of a leaf ---- */

static void set_order(int32_t order, int32_t block)
{
    make_pair();
    pair[0].order = order;
    pair[0].block = block;
    pair[0].within = GANG_PREEMPT_NEVER;
    set_pair();
}

START_TEST(shortest_order_puts_jobs_without_a_limit_last)
{
    static const int64_t limit[] = {0, 500, 100, 300};
    gang_job_id id[4], block;
    set_order(GANG_ORDER_SHORTEST, 0);
    block = host_gang(&h, "a", 8, 0);
    host_run(&h, 1);
    for (int i = 0; i < 4; i++) {
        struct gang_job_spec *job = host_spec("a", 8, 8, i == 0);
        job->time_limit_ns = limit[i];
        id[i] = host_submit(&h, job);
    }
    static const int expected[] = {2, 3, 1, 0};
    for (int i = 0; i < 4; i++) {
        end_job(block);
        host_run(&h, 1);
        block = id[expected[i]];
        ck_assert_int_eq(host_job_state(&h, block), GANG_JOB_RUNNING);
    }
}
END_TEST

START_TEST(least_served_order_starts_the_job_with_the_least_service)
{
    make_pair();
    pair[0].order = GANG_ORDER_LEAST_SERVED;
    set_pair();
    gang_job_id old = host_gang(&h, "a", 8, 0);
    host_run(&h, 1);
    h.now_ns += 1000000;
    gang_job_id high = host_gang(&h, "a", 8, 1); /* preempts it */
    host_run(&h, 1);
    gang_job_id fresh = host_gang(&h, "a", 8, 0);
    ck_assert_int_eq(host_job_state(&h, old), GANG_JOB_PENDING);
    end_job(high);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, fresh), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, old), GANG_JOB_PENDING);
}
END_TEST

START_TEST(in_strict_order_no_job_passes)
{
    set_order(GANG_ORDER_FIFO, GANG_BLOCK_STRICT);
    gang_job_id block = host_gang(&h, "a", 4, 0);
    gang_job_id wide = host_gang(&h, "a", 8, 0), small = host_gang(&h, "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, small), GANG_JOB_PENDING);
    set_order(GANG_ORDER_FIFO, GANG_BLOCK_NONE);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, small), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, wide), GANG_JOB_PENDING);
    set_order(GANG_ORDER_FIFO, GANG_BLOCK_STRICT);
    gang_job_id last = host_gang(&h, "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, last), GANG_JOB_PENDING);
    MUST(gang_job_cancel(h.s, wide)); /* the way is free */
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, last), GANG_JOB_RUNNING);
    (void)block;
}
END_TEST

/* A more urgent job came, waited in front and started. The earlier job is not tried again,
 * because the capacity that came free is too little for it. */
START_TEST(in_strict_order_the_second_job_bars_once_the_first_has_started)
{
    set_order(GANG_ORDER_PRIORITY, GANG_BLOCK_STRICT);
    gang_job_id half = host_gang(&h, "a", 2, 9), other = host_gang(&h, "a", 2, 9);
    gang_job_id full = host_gang(&h, "a", 4, 9);
    host_run(&h, 1);
    struct gang_group_spec four = host_gpus(1, 1);
    four.gpu_milli = 4000;
    struct gang_job_spec job = host_job(&four, 1);
    job.queue = "a";
    job.priority = 1;
    gang_job_id wide = host_submit(&h, &job);
    host_run(&h, 1);
    gang_job_id urgent = host_gang(&h, "a", 1, 5);
    host_run(&h, 1);
    gang_job_id small = host_gang(&h, "a", 1, 0);
    host_run(&h, 1);
    end_job(half);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, urgent), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, wide), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, small), GANG_JOB_PENDING);
    end_job(other);
    end_job(urgent);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, wide), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, small), GANG_JOB_PENDING);
    end_job(full);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, small), GANG_JOB_RUNNING);
}
END_TEST

/* The same where the other job becomes urgent later, by joining a wait class. */
START_TEST(in_strict_order_the_first_blocked_job_bars)
{
    set_order(GANG_ORDER_PRIORITY, GANG_BLOCK_STRICT);
    gang_job_id half = host_gang(&h, "a", 2, 9);
    host_gang(&h, "a", 2, 9);
    host_gang(&h, "a", 4, 9);
    host_run(&h, 1);
    struct gang_group_spec four = host_gpus(1, 1), three = host_gpus(1, 1);
    four.gpu_milli = 4000;
    three.gpu_milli = 3000;
    struct gang_job_spec job = host_job(&four, 1);
    job.queue = "a";
    job.priority = 1;
    host_submit(&h, &job);
    host_run(&h, 1);
    job = host_job(&three, 1);
    job.queue = "a";
    job.priority = 2; /* bars now */
    host_submit(&h, &job);
    host_run(&h, 1);
    job = host_job(&four, 1);
    job.queue = "a";
    job.priority = 8;
    host_submit(&h, &job);
    gang_job_id small = host_gang(&h, "a", 1, 5);
    end_job(half);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, small), GANG_JOB_PENDING);
}
END_TEST

START_TEST(strict_order_waits_for_a_limit_as_for_capacity)
{
    struct gang_quota five = gpus_amount(5);
    set_order(GANG_ORDER_FIFO, GANG_BLOCK_STRICT);
    pair[0].limit = &five;
    pair[0].limit_count = 1;
    set_pair();
    gang_job_id first = host_gang(&h, "a", 3, 0), second = host_gang(&h, "a", 3, 0);
    gang_job_id third = host_gang(&h, "a", 1, 0), other = host_gang(&h, "b", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, second), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, third), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_RUNNING); /* of another leaf */
    end_job(first);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, third), GANG_JOB_RUNNING);
}
END_TEST

/* ---- turns of queues ---- */

/* Both want more than there is; which got how much, after `runs`. */
static void set_turn(int32_t turn, int64_t a, int64_t b, int64_t priority_of_b)
{
    static struct gang_quota quota[2];
    struct gang_queue_spec q[] = {queue_named("p", NULL), queue_named("a", "p"),
                                  queue_named("b", "p")};
    quota[0] = gpus_amount(a);
    quota[1] = gpus_amount(b);
    q[0].child_order = turn;
    for (int i = 0; i < 2; i++) {
        q[i + 1].guaranteed = &quota[i];
        q[i + 1].guaranteed_count = 1;
        q[i + 1].reclaim = GANG_PREEMPT_NEVER;
    }
    q[2].priority = priority_of_b;
    host_queues(&h, q, 3);
    for (int i = 0; i < 8; i++) {
        host_gang(&h, "a", 1, 0);
        host_gang(&h, "b", 1, 0);
    }
    host_run(&h, 1);
}

START_TEST(by_utilization_queues_fill_up_evenly)
{
    set_turn(GANG_CHILD_ORDER_UTILIZATION, 6, 2, 200);
    ck_assert_int_eq(tasks_in("a"), 6);
    ck_assert_int_eq(tasks_in("b"), 2);
}
END_TEST

START_TEST(by_utilization_the_rest_goes_by_guarantee_too)
{
    set_turn(GANG_CHILD_ORDER_UTILIZATION, 3, 1, 200);
    ck_assert_int_eq(tasks_in("a"), 6);
    ck_assert_int_eq(tasks_in("b"), 2);
}
END_TEST

START_TEST(by_priority_and_utilization_the_higher_gets_the_rest)
{
    set_turn(GANG_CHILD_ORDER_PRIORITY_UTILIZATION, 3, 1, 200);
    ck_assert_int_eq(tasks_in("a"), 3); /* its guarantee */
    ck_assert_int_eq(tasks_in("b"), 5);
}
END_TEST

START_TEST(in_fair_order_the_rest_goes_to_the_higher_priority)
{
    set_turn(GANG_CHILD_ORDER_FAIR, 3, 1, 200);
    ck_assert_int_eq(tasks_in("a"), 3);
    ck_assert_int_eq(tasks_in("b"), 5);
}
END_TEST

START_TEST(the_rest_goes_by_weight)
{
    make_pair();
    pair[0].weight = 3;
    set_pair();
    for (int i = 0; i < 8; i++) {
        host_gang(&h, "b", 1, 0);
        host_gang(&h, "a", 1, 0);
    }
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("a"), 6);
    ck_assert_int_eq(tasks_in("b"), 2);
    ck_assert_int_eq(host_queue(&h, "a").share[GANG_KIND_GPU], 6000);
    ck_assert_int_eq(host_queue(&h, "b").demand[GANG_KIND_GPU], 8000);
}
END_TEST

/* ---- ownership ---- */

START_TEST(usage_above_the_share_is_reclaimed)
{
    struct gang_quota five = gpus_amount(5);
    make_pair();
    pair[0].guaranteed = &five;
    pair[0].guaranteed_count = 1;
    set_pair();
    for (int i = 0; i < 8; i++)
        host_gang(&h, "b", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("b"), 8);
    for (int i = 0; i < 8; i++)
        host_gang(&h, "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_ge(tasks_in("a"), 5);
    ck_assert_int_eq(tasks_in("a") + tasks_in("b"), 8);
}
END_TEST

START_TEST(nothing_is_reclaimed_from_a_queue_that_forbids_it)
{
    struct gang_quota five = gpus_amount(5);
    make_pair();
    pair[0].guaranteed = &five;
    pair[0].guaranteed_count = 1;
    pair[1].no_preemption = 1;
    set_pair();
    host_gang(&h, "b", 8, 0);
    host_run(&h, 1);
    host_gang(&h, "a", 1, 9);
    host_run(&h, 1);
    host_gang(&h, "b", 1, 9);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("a"), 0);
    ck_assert_int_eq(tasks_in("b"), 8);
    pair[1].no_preemption = 0;
    set_pair();
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("a"), 1);
}
END_TEST

START_TEST(capacity_that_may_not_be_lent_stays_idle)
{
    struct gang_quota six = gpus_amount(6), one = gpus_amount(1);
    make_pair();
    pair[0].guaranteed = &six;
    pair[0].guaranteed_count = 1;
    pair[0].lending_limit = &one;
    pair[0].lending_limit_count = 1;
    set_pair();
    for (int i = 0; i < 8; i++)
        host_gang(&h, "b", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("b"), 3);
    one = gpus_amount(4);
    set_pair();
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("b"), 6);
    host_gang(&h, "a", 2, 0);
    host_run(&h, 1);
    ck_assert_int_eq(tasks_in("a"), 2); /* its own, and it was idle */
}
END_TEST

START_TEST(excluded_kinds_do_not_count_for_shares)
{
    static const char *const kinds[] = {"cpu"};
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.excluded_kinds = kinds;
    opts.excluded_kind_count = 1;
    host_open_with(&h, 2, 4, &opts, &ops);
    make_pair();
    set_pair();
    /* a uses much cpu and no gpu: it does not count as having more */
    for (int i = 0; i < 4; i++) {
        struct gang_group_spec g = group_of(1, 1000, 0);
        struct gang_job_spec job = host_job(&g, 1);
        job.queue = "a";
        host_submit(&h, &job);
    }
    host_run(&h, 1);
    for (int i = 0; i < 8; i++) {
        host_gang(&h, "b", 1, 0);
        host_gang(&h, "a", 1, 0);
    }
    host_run(&h, 1);
    ck_assert_int_eq(host_queue(&h, "a").used[GANG_KIND_GPU], 4000);
    ck_assert_int_eq(host_queue(&h, "b").used[GANG_KIND_GPU], 4000);
    host_close(&h);
}
END_TEST

START_TEST(a_queue_with_high_past_usage_gets_less_for_a_while)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.half_life_ns = 1000;
    opts.usage_weight = GANG_WHOLE;
    host_open_with(&h, 2, 4, &opts, &ops);
    make_pair();
    set_pair();
    gang_job_id id = host_gang(&h, "a", 8, 0);
    host_run(&h, 1);
    host_run(&h, 5000);
    end_job(id);
    for (int i = 0; i < 8; i++) {
        host_gang(&h, "a", 1, 0);
        host_gang(&h, "b", 1, 0);
    }
    host_run(&h, 0);
    int64_t early = tasks_in("a");
    ck_assert_int_lt(early, 4);
    ck_assert_int_lt(host_queue(&h, "a").share[GANG_KIND_GPU], 4000);
    host_run(&h, 100000); /* b has used more since */
    ck_assert_int_ge(host_queue(&h, "a").share[GANG_KIND_GPU], 4000);
    host_close(&h);
}
END_TEST

/* Zhao et al., "HiveD": a cell is a whole node here. */
START_TEST(non_preemptible_jobs_leave_the_cells_of_other_queues_whole)
{
    struct gang_quota four = gpus_amount(4);
    struct gang_cell_spec cell = {"node", 1};
    make_pair();
    for (int i = 0; i < 2; i++) {
        pair[i].guaranteed = &four;
        pair[i].guaranteed_count = 1;
        pair[i].cells = &cell;
        pair[i].cell_count = 1;
    }
    set_pair();
    struct gang_job_spec *job = host_spec("a", 1, 1, 0);
    job->preemptible = GANG_NOT_PREEMPTIBLE;
    gang_job_id first = host_submit(&h, job), second = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_uint_eq(host_node_of(&h, first, 0), host_node_of(&h, second, 0));
    struct gang_group_spec g = group_of(1, 1000, 4000);
    struct gang_job_spec whole = host_job(&g, 1);
    whole.queue = "b";
    whole.preemptible = GANG_NOT_PREEMPTIBLE;
    gang_job_id id = host_submit(&h, &whole);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_queue(&h, "b").used_nonpreemptible[GANG_KIND_GPU], 4000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("queues_live");
    TCase *c = tcase_create("changes");
    tcase_add_checked_fixture(c, open_two, close_two);
    tcase_add_test(c, a_change_that_is_refused_changes_nothing);
    tcase_add_test(c, a_tree_that_is_refused_changes_nothing);
    tcase_add_test(c, queues_come_and_go);
    tcase_add_test(c, a_submitted_job_keeps_its_queue_while_another_goes);
    tcase_add_test(c, the_last_queue_stays);
    tcase_add_test(c, a_queue_that_moves_takes_its_jobs_with_it);
    tcase_add_test(c, a_draining_queue_starts_those_it_has);
    tcase_add_test(c, a_closed_queue_starts_none_until_it_is_open_again);
    tcase_add_test(c, a_limit_below_usage_stops_no_job_and_starts_none);
    tcase_add_test(c, a_changed_order_sorts_jobs_that_wait_already);
    tcase_add_test(c, the_specification_in_force_can_be_read);
    tcase_add_test(c, relative_guarantees_and_weights_follow_the_nodes);
    tcase_add_test(c, added_nodes_start_jobs_that_waited_for_a_relative_limit);
    tcase_add_test(c, quotas_of_a_partition_count_jobs_that_name_it);
    suite_add_tcase(s, c);
    TCase *u = tcase_create("users");
    tcase_add_checked_fixture(u, open_two, close_two);
    tcase_add_test(u, max_running_counts_jobs_of_the_queue_and_its_children);
    tcase_add_test(u, max_running_per_user_bounds_each_user);
    tcase_add_loop_test(u, n_users_get_an_nth_each_but_at_least_the_minimum, 0, 5);
    tcase_add_test(u, the_user_factor_bounds_a_single_user);
    tcase_add_test(u, a_whole_gang_counts_against_the_limit_of_its_user);
    tcase_add_test(u, a_user_without_demand_is_not_active);
    tcase_add_test(u, a_user_of_higher_weight_gets_more);
    tcase_add_test(u, weights_of_users_may_change_while_they_wait);
    tcase_add_test(u, fair_order_starts_the_user_with_the_least_usage);
    suite_add_tcase(s, u);
    TCase *o = tcase_create("orders and turns");
    tcase_add_checked_fixture(o, open_two, close_two);
    tcase_add_test(o, shortest_order_puts_jobs_without_a_limit_last);
    tcase_add_test(o, least_served_order_starts_the_job_with_the_least_service);
    tcase_add_test(o, in_strict_order_no_job_passes);
    tcase_add_test(o, in_strict_order_the_second_job_bars_once_the_first_has_started);
    tcase_add_test(o, in_strict_order_the_first_blocked_job_bars);
    tcase_add_test(o, strict_order_waits_for_a_limit_as_for_capacity);
    tcase_add_test(o, by_utilization_queues_fill_up_evenly);
    tcase_add_test(o, by_utilization_the_rest_goes_by_guarantee_too);
    tcase_add_test(o, by_priority_and_utilization_the_higher_gets_the_rest);
    tcase_add_test(o, in_fair_order_the_rest_goes_to_the_higher_priority);
    tcase_add_test(o, the_rest_goes_by_weight);
    tcase_add_test(o, usage_above_the_share_is_reclaimed);
    tcase_add_test(o, nothing_is_reclaimed_from_a_queue_that_forbids_it);
    tcase_add_test(o, capacity_that_may_not_be_lent_stays_idle);
    tcase_add_test(o, non_preemptible_jobs_leave_the_cells_of_other_queues_whole);
    suite_add_tcase(s, o);
    TCase *p = tcase_create("options");
    tcase_add_test(p, excluded_kinds_do_not_count_for_shares);
    tcase_add_test(p, a_queue_with_high_past_usage_gets_less_for_a_while);
    suite_add_tcase(s, p);
    return run_suite(s);
}
