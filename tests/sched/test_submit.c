/* SPDX-License-Identifier: Apache-2.0 */
/* Submitting: refusals and the place they name, the queue of a job, arrays, jobs that run
 * already, and commands. */
#include "sched/host.h"

static struct host h;

/* q (limit 6 GPUs) with the leaves q.a (limit 4) and q.b; closed; and draining. */
static void set_tree(void)
{
    static const struct gang_quota six = {"gpu", 6000, NULL, 0, 0},
                                   four = {"gpu", 4000, NULL, 0, 0};
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT,
                                  GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    q[0].name = "q";
    q[0].limit = &six;
    q[0].limit_count = 1;
    q[0].submit_acl = "boss staff";
    q[0].max_pending = 3;
    q[1].name = "a";
    q[1].parent = "q";
    q[1].limit = &four;
    q[1].limit_count = 1;
    q[1].max_time_limit_ns = 1000;
    q[1].submit_acl = "ann";
    q[2].name = "b";
    q[2].parent = "q";
    q[2].default_time_limit_ns = 777;
    q[3].name = "closed";
    q[3].state = GANG_QUEUE_CLOSED;
    q[4].name = "draining";
    q[4].state = GANG_QUEUE_DRAINING;
    host_queues(&h, q, 5);
}

static void open_tree(void)
{
    host_open(&h, 2, 4);
    set_tree();
}

static void close_tree(void)
{
    host_close(&h);
}

/* The error, and where it says it lies. */
static void refused(const struct gang_job_spec *job, gang_result code, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id = 77;
    gang_result r = gang_job_submit(h.s, job, &id, &error);
    ck_assert_msg(r == code, "%s, not %s: %s: %s", gang_result_name(r), gang_result_name(code),
                  error.path, error.text);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    ck_assert_int_eq(error.code, code);
    ck_assert_str_eq(error.path, path);
    ck_assert_int_ne(error.text[0], 0);
    ck_assert_int_eq(gang_job_submit(h.s, job, &id, NULL), code); /* no explanation is needed */
}

static struct gang_job_spec *job_of(const char *user, const char *queue, int64_t count)
{
    struct gang_job_spec *job = host_spec(queue, count, count, 0);
    job->user = user;
    return job;
}

/* ---- queues ---- */

START_TEST(a_queue_that_is_not_there_is_enoent)
{
    refused(job_of("boss", "nowhere", 1), GANG_ENOENT, "queue");
    refused(job_of("boss", NULL, 1), GANG_ENOENT, "queue"); /* there is no "default" any more */
}
END_TEST

START_TEST(only_leaves_take_jobs)
{
    refused(job_of("boss", "q", 1), GANG_EINVAL, "queue");
}
END_TEST

START_TEST(closed_and_draining_queues_take_none)
{
    refused(job_of("boss", "closed", 1), GANG_ECLOSED, "queue");
    refused(job_of("boss", "draining", 1), GANG_ECLOSED, "queue");
}
END_TEST

START_TEST(users_named_by_the_queue_or_an_ancestor_may_submit)
{
    static const char *const staff[] = {"other", "staff"};
    refused(job_of("eve", "a", 1), GANG_EPERM, "queue");
    refused(job_of("ann", "b", 1), GANG_EPERM, "queue");
    host_submit(&h, job_of("ann", "a", 1));
    host_submit(&h, job_of("boss", "a", 1));
    struct gang_job_spec *job = job_of("eve", "b", 1);
    job->user_groups = staff;
    job->user_group_count = 2;
    host_submit(&h, job);
    ck_assert_int_eq(gang_sched_may(h.s, "a", GANG_MAY_SUBMIT, "ann", NULL, 0), GANG_OK);
    ck_assert_int_eq(gang_sched_may(h.s, "b", GANG_MAY_SUBMIT, "ann", NULL, 0), GANG_EPERM);
    ck_assert_int_eq(gang_sched_may(h.s, "b", GANG_MAY_SUBMIT, "eve", staff, 2), GANG_OK);
    ck_assert_int_eq(gang_sched_may(h.s, "c", GANG_MAY_SUBMIT, "eve", staff, 2), GANG_ENOENT);
    ck_assert_int_eq(gang_sched_may(h.s, "a", 7, "ann", NULL, 0), GANG_EINVAL);
    ck_assert_int_eq(gang_sched_may(h.s, NULL, 0, "ann", NULL, 0), GANG_EINVAL);
    ck_assert_int_eq(gang_sched_may(NULL, "a", 0, "ann", NULL, 0), GANG_EINVAL);
    ck_assert_int_eq(gang_sched_may(h.s, "a", 0, NULL, NULL, 0), GANG_EINVAL);
}
END_TEST

static int32_t only_odd(const char *queue, int32_t action, const char *user_name,
                        const char *const *groups, size_t group_count, void *user)
{
    ck_assert_ptr_eq(user, &h);
    ck_assert(action == GANG_MAY_SUBMIT || action == GANG_MAY_ADMINISTER);
    ck_assert_str_eq(queue, "default");
    ck_assert((groups != NULL) == (group_count > 0));
    return strlen(user_name) % 2 == 0;
}

START_TEST(the_may_op_overrides_the_lists)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    ops.may = only_odd;
    host_open_with(&h, 2, 4, &opts, &ops);
    host_submit(&h, job_of("odd", "default", 1));
    refused(job_of("even", "default", 1), GANG_EPERM, "queue");
    ck_assert_int_eq(gang_sched_may(h.s, "default", GANG_MAY_ADMINISTER, "even", NULL, 0),
                     GANG_EPERM);
    host_close(&h);
}
END_TEST

START_TEST(max_pending_bounds_waiting_jobs)
{
    gang_job_id first, running = host_submit(&h, job_of("boss", "b", 6));
    host_run(&h, 1);
    host_submit(&h, job_of("boss", "b", 1));
    host_submit(&h, job_of("boss", "b", 1));
    host_submit(&h, job_of("boss", "b", 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_queue(&h, "q").pending, 3);
    refused(job_of("boss", "b", 1), GANG_ELIMIT, "queue");
    refused(job_of("boss", "a", 1), GANG_ELIMIT, "queue"); /* of the one above */
    MUST(gang_job_cancel(h.s, running));
    host_run(&h, 1);
    ck_assert_int_eq(gang_job_submit_array(h.s, job_of("boss", "b", 1), 4, &first, NULL),
                     GANG_ELIMIT);
    ck_assert_uint_eq(first, GANG_ID_NONE);
    MUST(gang_job_submit_array(h.s, job_of("boss", "b", 1), 3, &first, NULL));
}
END_TEST

/* Also before a run has looked at them; and what was refused does not count. */
START_TEST(max_pending_holds_between_runs)
{
    gang_job_id first;
    for (int i = 0; i < 3; i++) {
        host_submit(&h, job_of("boss", "b", 1));
        ck_assert_int_eq(gang_job_submit_array(h.s, job_of("boss", "a", 1), 3, &first, NULL),
                         GANG_ELIMIT);
    }
    refused(job_of("boss", "b", 1), GANG_ELIMIT, "queue");
    refused(job_of("boss", "b", 7), GANG_ELIMIT, "queue");
    host_run(&h, 1); /* they run */
    for (int i = 0; i < 3; i++)
        refused(job_of("boss", "b", 7), GANG_ENEVER, "queue");
    host_submit(&h, job_of("boss", "b", 5));
    set_tree(); /* a job submitted under the old view still counts after a run has accepted it */
    host_run(&h, 1);
    host_submit(&h, job_of("boss", "b", 5));
    host_submit(&h, job_of("boss", "b", 5));
    refused(job_of("boss", "b", 5), GANG_ELIMIT, "queue");
}
END_TEST

START_TEST(time_limits_are_bounded_and_defaulted)
{
    struct gang_job_spec *job = job_of("boss", "a", 1);
    job->time_limit_ns = 1001;
    refused(job, GANG_ELIMIT, "time_limit_ns");
    job->time_limit_ns = 1000;
    host_submit(&h, job);
    host_submit(&h, job_of("boss", "b", 1));
    host_run(&h, 0);
    ck_assert_int_eq(gang_sched_next(h.s), 777);
    host_run(&h, 777);
    ck_assert_int_eq(gang_sched_next(h.s), 1000);
}
END_TEST

/* ---- never ---- */

START_TEST(a_job_that_can_never_run_is_refused_with_the_numbers)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    refused(job_of("boss", "a", 5), GANG_ENEVER, "queue");
    EXPECT_RESULT(gang_job_submit(h.s, job_of("boss", "a", 5), &id, &error), GANG_ENEVER, &error);
    ck_assert_int_eq(error.kind, GANG_KIND_GPU);
    ck_assert_int_eq(error.requested, 5000);
    ck_assert_int_eq(error.available, 4000);
    EXPECT_RESULT(gang_job_submit(h.s, job_of("boss", "b", 7), &id, &error), GANG_ENEVER, &error);
    ck_assert_int_eq(error.available, 6000); /* of the one above */
    ck_assert_ptr_nonnull(strstr(error.text, "\"q\""));
    struct gang_group_spec g = group_of(1, 1000, 5000); /* no node has so many */
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "b";
    job.user = "boss";
    EXPECT_RESULT(gang_job_submit(h.s, &job, &id, &error), GANG_ENEVER, &error);
    struct gang_job_spec *elastic = host_spec("b", 8, 6, 0); /* the gang counts, not all */
    elastic->user = "boss";
    host_submit(&h, elastic);
}
END_TEST

START_TEST(busy_or_down_nodes_do_not_make_a_job_impossible)
{
    gang_node_id n = gang_node_next(h.stage.c, GANG_ID_NONE);
    host_submit(&h, job_of("boss", "b", 6));
    host_run(&h, 1);
    MUST(gang_node_set_state(h.stage.w, n, GANG_NODE_DOWN));
    host_submit(&h, job_of("boss", "b", 6));
    host_run(&h, 1);
}
END_TEST

/* ---- what it is made of ---- */

static struct gang_job_spec *plain(void)
{
    return job_of("boss", "b", 1);
}

START_TEST(structs_follow_the_size_rule)
{
    struct gang_job_spec *job = plain();
    job->size = 8;
    refused(job, GANG_EINVAL, "");
    job = plain();
    job->size = 0;
    refused(job, GANG_EINVAL, "");
    struct {
        struct gang_job_spec job;
        int64_t more;
    } later = {*plain(), 1};
    later.job.size = sizeof(later);
    refused(&later.job, GANG_E2BIG, "");
    later.more = 0;
    host_submit(&h, &later.job);
    gang_job_id id;
    ck_assert_int_eq(gang_job_submit(h.s, NULL, &id, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_job_submit(h.s, plain(), NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_job_submit(NULL, plain(), &id, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(times_are_not_negative)
{
    static const struct {
        const char *path;
        size_t at;
    } member[] = {
        {"time_limit_ns", offsetof(struct gang_job_spec, time_limit_ns)},
        {"max_restarts", offsetof(struct gang_job_spec, max_restarts)},
        {"restart_delay_ns", offsetof(struct gang_job_spec, restart_delay_ns)},
        {"refill_ns", offsetof(struct gang_job_spec, refill_ns)},
        {"start_within_ns", offsetof(struct gang_job_spec, start_within_ns)},
        {"back_off_ns", offsetof(struct gang_job_spec, back_off_ns)},
        {"heartbeat_ns", offsetof(struct gang_job_spec, heartbeat_ns)},
    };
    for (size_t i = 0; i < sizeof(member) / sizeof(member[0]); i++) {
        struct gang_job_spec *job = plain();
        *(int64_t *)(void *)((char *)job + member[i].at) = -1;
        refused(job, GANG_ERANGE, member[i].path);
    }
    struct gang_job_spec *job = plain();
    job->submit = -2;
    refused(job, GANG_ERANGE, "submit");
}
END_TEST

START_TEST(values_outside_an_enumeration_are_refused)
{
    static char name[GANG_MAX_NAME + 2];
    memset(name, 'x', sizeof(name) - 1);
    struct gang_job_spec *job = plain();
    job->preemptible = 3;
    refused(job, GANG_EINVAL, "preemptible");
    job = plain();
    job->loss = -1;
    refused(job, GANG_EINVAL, "loss");
    job = plain();
    job->name = name;
    refused(job, GANG_EINVAL, "name");
    job = plain();
    job->user = name;
    refused(job, GANG_EINVAL, "user");
    job = plain();
    job->request.group_count = 0;
    refused(job, GANG_EINVAL, "request.groups");
}
END_TEST

START_TEST(errors_of_the_request_name_their_place)
{
    struct gang_group_spec g[2] = {host_gpus(1, 1), host_gpus(1, 1)};
    struct gang_job_spec job = host_job(g, 2);
    job.queue = "b";
    job.user = "boss";
    g[1].min = 2;
    refused(&job, GANG_ERANGE, "request.groups[1].min");
}
END_TEST

START_TEST(roles_and_dependencies_are_checked)
{
    static const int32_t roles[] = {GANG_ROLE_SIDECAR + 1};
    struct gang_job_after after = {GANG_ID_NONE, 0, 0};
    struct gang_job_spec *job = plain();
    job->roles = roles;
    refused(job, GANG_EINVAL, "roles[0]");
    job = plain();
    job->after = &after;
    job->after_count = 1;
    refused(job, GANG_EINVAL, "after[0]");
    after = (struct gang_job_after){1, 3, 0};
    refused(job, GANG_EINVAL, "after[0]");
    after.when = GANG_AFTER_END;
    job->after_size = 4;
    refused(job, GANG_EINVAL, "after_size");
}
END_TEST

/* ---- groups that come first ---- */

static struct gang_group_spec group[3];

static struct gang_job_spec three(const struct gang_group_after *after, size_t count)
{
    for (int i = 0; i < 3; i++)
        group[i] = host_gpus(1, 1);
    struct gang_job_spec job = host_job(group, 3);
    job.queue = "b";
    job.user = "boss";
    job.group_after = after;
    job.group_after_count = count;
    return job;
}

START_TEST(group_dependencies_name_other_existing_groups)
{
    static const struct gang_group_after bad[] = {
        {3, 0, 0, 0}, {-1, 0, 0, 0}, {0, 3, 0, 0}, {0, 0, 0, 0}, {0, 1, 3, 0}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct gang_job_spec job = three(&bad[i], 1);
        refused(&job, GANG_EINVAL, "group_after[0]");
    }
    const struct gang_group_after good = {1, 0, 0, 0};
    struct gang_job_spec job = three(&good, 1);
    job.group_after_size = 4;
    refused(&job, GANG_EINVAL, "group_after_size");
}
END_TEST

START_TEST(circular_group_dependencies_are_refused)
{
    static const struct gang_group_after circle[] = {{0, 1, 0, 0}, {1, 2, 0, 0}, {2, 0, 1, 0}};
    struct gang_job_spec job = three(circle, 3);
    refused(&job, GANG_ECYCLE, "group_after");
    job = three(circle, 2);
    host_submit(&h, &job);
    host_run(&h, 1);
}
END_TEST

START_TEST(constraints_across_dependent_groups_are_refused)
{
    static const struct gang_group_after after = {1, 0, GANG_AFTER_START, 0};
    struct gang_running_spec place = {.node = "n0"};
    struct gang_job_spec job = three(&after, 1);
    job.request.min = 4;
    for (int i = 0; i < 3; i++)
        group[i].count = 2;
    refused(&job, GANG_EINVAL, "group_after");
    job = three(&after, 1);
    job.request.same = "node";
    refused(&job, GANG_EINVAL, "group_after");
    job = three(&after, 1);
    job.running = 1;
    job.places = &place;
    job.place_count = 1;
    refused(&job, GANG_ENOTSUP, "running");
}
END_TEST

/* ---- mapping ---- */

static const struct gang_queue_rule *rules_of(int which)
{
    static struct gang_queue_rule rule[4];
    for (int i = 0; i < 4; i++)
        rule[i] = (struct gang_queue_rule)GANG_QUEUE_RULE_INIT;
    rule[0].match = GANG_MATCH_NAME;
    rule[0].pattern = "train*";
    rule[0].queue = "b";
    rule[1].match = GANG_MATCH_GROUP;
    rule[1].pattern = "staff";
    rule[1].queue = "a";
    rule[2].match = GANG_MATCH_LABEL;
    rule[2].pattern = "team";
    rule[2].queue = "team.%label.team";
    rule[3].match = GANG_MATCH_USER;
    rule[3].pattern = "eve";
    rule[3].queue = "nowhere";
    rule[3].fallback = GANG_FALLBACK_REJECT;
    return rule + which;
}

/* a, b, and team; the children of team are made on demand, two at most. */
static void open_rules(void)
{
    static struct gang_queue_spec child = GANG_QUEUE_SPEC_INIT;
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.rules = rules_of(0);
    opts.rule_count = 4;
    opts.default_queue = "a";
    host_open_with(&h, 2, 4, &opts, &ops);
    child.max_running = 1;
    q[0].name = "a";
    q[1].name = "b";
    q[2].name = "team";
    q[2].child = &child;
    q[2].max_children = 2;
    q[2].child_idle_ns = 100;
    host_queues(&h, q, 3);
}

static const char *queue_of(gang_job_id id)
{
    static struct gang_queue_info info;
    info.size = sizeof(info);
    MUST(gang_queue_get(h.s, host_job_info(&h, id).queue, &info));
    return info.name;
}

static const char *led(const struct gang_job_spec *job)
{
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    return queue_of(id);
}

static struct gang_job_spec *labelled(const char *team)
{
    static struct gang_label label;
    struct gang_job_spec *job = job_of("u", NULL, 1);
    label = (struct gang_label){"team", team};
    job->request.labels = &label;
    job->request.label_count = 1;
    return job;
}

START_TEST(the_first_rule_that_leads_to_a_queue_wins)
{
    static const char *const staff[] = {"staff"};
    struct gang_job_spec *job = job_of("u", NULL, 1);
    job->name = "training";
    job->user_groups = staff;
    job->user_group_count = 1;
    ck_assert_str_eq(led(job), "b");
    job->name = "other";
    ck_assert_str_eq(led(job), "a");
    ck_assert_str_eq(led(job_of("u", "", 1)), "a");  /* the default */
    ck_assert_str_eq(led(job_of("u", "b", 1)), "b"); /* rules apply to jobs that name no queue */
    refused(job_of("eve", NULL, 1), GANG_EPERM, "queue");
}
END_TEST

START_TEST(queues_are_made_on_demand_and_removed_when_idle)
{
    gang_queue_id id;
    gang_job_id first = host_submit(&h, labelled("red")), more = host_submit(&h, labelled("red"));
    host_run(&h, 1);
    ck_assert_str_eq(queue_of(first), "team.red");
    ck_assert_int_eq(host_job_state(&h, more), GANG_JOB_PENDING); /* as its specification says */
    ck_assert_str_eq(led(job_of("u", "team.blue", 1)), "team.blue");
    ck_assert_str_eq(led(labelled("green")), "a"); /* no more than two */
    MUST(gang_report_end(h.s, first, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, more), GANG_JOB_RUNNING);
    MUST(gang_report_end(h.s, more, 1));
    host_run(&h, 1);
    int64_t idle = h.now_ns;
    ck_assert_int_eq(gang_sched_next(h.s), idle + 100);
    host_run(&h, 99);
    MUST(gang_queue_find(h.s, "team.red", &id));
    host_run(&h, 1);
    ck_assert_int_eq(gang_queue_find(h.s, "team.red", &id), GANG_ENOENT);
    ck_assert_str_eq(led(labelled("green")), "team.green");
}
END_TEST

START_TEST(max_queues_bounds_queues_made_on_demand)
{
    gang_job_id id[3];
    const char *const name[] = {"team.x", "team.y", "team.z"};
    for (int i = 0; i < 3; i++)
        id[i] = host_submit(&h, job_of("u", name[i], 1)); /* each fits, as yet */
    host_run(&h, 1);
    ck_assert_str_eq(queue_of(id[0]), "team.x");
    ck_assert_str_eq(queue_of(id[1]), "team.y");
    ck_assert_int_eq(host_end(&h, id[2]), GANG_END_REFUSED);
    refused(job_of("u", "team.z", 1), GANG_ELIMIT, "queue");
}
END_TEST

START_TEST(a_parent_of_queues_made_on_demand_takes_no_jobs)
{
    refused(job_of("u", "team", 1), GANG_EINVAL, "queue");
    refused(job_of("u", "b.x", 1), GANG_ENOENT, "queue");
}
END_TEST

/* ---- arrays ---- */

START_TEST(an_array_has_consecutive_ids_and_one_specification)
{
    gang_job_id first, next;
    struct gang_job_spec *job = plain();
    job->cookie = 99;
    MUST(gang_job_submit_array(h.s, job, 2, &first, NULL));
    next = host_submit(&h, plain());
    ck_assert_uint_eq(next, first + 2);
    host_run(&h, 1);
    for (gang_job_id id = first; id < next; id++) {
        ck_assert_uint_eq(host_job_info(&h, id).cookie, 99);
        ck_assert_int_eq(host_tasks(&h, id), 1);
    }
}
END_TEST

START_TEST(a_refused_array_leaks_nothing)
{
    gang_job_id first = 7;
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(gang_job_submit_array(h.s, job_of("boss", "a", 5), 3, &first, &error),
                  GANG_ENEVER, &error);
    ck_assert_uint_eq(first, GANG_ID_NONE);
    EXPECT_ERROR(gang_job_submit_array(h.s, plain(), 0, &first, &error), GANG_ERANGE, &error,
                 "count", NULL);
    EXPECT_RESULT(gang_job_submit_array(h.s, plain(), INT64_MAX, &first, &error), GANG_ERANGE,
                  &error);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
    ck_assert_uint_eq(host_submit(&h, plain()), 1); /* no id was used up */
}
END_TEST

/* ---- jobs that run already ---- */

static struct gang_running_spec place[4];
static const char *device[4][2] = {{"0", NULL}, {"1", NULL}, {"3", NULL}, {"2", NULL}};

static struct gang_job_spec *running(int64_t count, size_t places)
{
    struct gang_job_spec *job = job_of("boss", "b", count);
    job->running = 1;
    job->places = place;
    job->place_count = places;
    for (int i = 0; i < 4; i++)
        place[i] = (struct gang_running_spec){
            .node = i < 2 ? "n1" : "n0", .devices = device[i], .device_count = 1};
    return job;
}

START_TEST(an_adopted_job_has_the_given_places)
{
    struct gang_job_spec *job = running(4, 4);
    job->submit = 3;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 5);
    struct gang_job_info info = host_job_info(&h, id);
    ck_assert_int_eq(info.state, GANG_JOB_RUNNING);
    ck_assert_int_eq(info.tasks, 4);
    ck_assert_int_eq(info.started_ns, 5);
    ck_assert_int_eq(host_ops(&h, id, "start"), 0);
    const struct task_list *list = stage_tasks(&h.stage, info.alloc);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(list->task[i].gpus, UINT64_C(1) << (device[i][0][0] - '0'));
    ck_assert_int_eq(host_queue(&h, "b").used[GANG_KIND_GPU], 4000);
}
END_TEST

START_TEST(tasks_without_a_node_do_not_run)
{
    struct gang_job_spec *job = running(4, 4);
    place[1].node = NULL;
    place[2].device_count = 0; /* any */
    job->stale = 1;
    gang_job_id id = host_submit(&h, job);
    MUST(gang_sched_run(h.s, h.now_ns, NULL, NULL));
    ck_assert_int_eq(host_queue(&h, "b").limit[GANG_KIND_GPU], 6000);
    host_check(&h);
    (void)id;
}
END_TEST

START_TEST(contradictory_places_are_refused)
{
    struct gang_job_spec *job = running(4, 4);
    place[2].node = "n9";
    refused(job, GANG_ENOENT, "places[2]");
    job = running(4, 4);
    device[1][0] = "x";
    refused(job, GANG_EINVAL, "places[1].devices[0]");
    device[1][0] = "64";
    refused(job, GANG_EINVAL, "places[1].devices[0]");
    device[1][0] = "1";
    job = running(3, 4);
    refused(job, GANG_EINVAL, "places[3]");
}
END_TEST

START_TEST(an_adopted_job_whose_places_are_taken_ends)
{
    gang_job_id first = host_submit(&h, running(2, 2)), second = host_submit(&h, running(2, 2));
    gang_job_id wrong = host_submit(&h, running(4, 4));
    device[2][0] = "7"; /* no such device there */
    gang_job_id none = host_submit(&h, running(4, 4));
    device[2][0] = "3";
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_end(&h, second), GANG_END_REFUSED);
    ck_assert_int_eq(host_end(&h, wrong), GANG_END_REFUSED);
    ck_assert_int_eq(host_end(&h, none), GANG_END_REFUSED);
    ck_assert(!host_has(&h, second));
    ck_assert_int_eq(host_gpus_free(&h), 6);
}
END_TEST

START_TEST(adopted_jobs_enter_closed_queues_and_exceed_limits)
{
    struct gang_job_spec *job = running(4, 4);
    job->queue = "closed";
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 4);
}
END_TEST

/* ---- commands ---- */

START_TEST(unknown_ids_are_stale)
{
    gang_job_id id = host_submit(&h, plain());
    struct gang_job_info info = {.size = sizeof(info)};
    const gang_job_id wrong[] = {GANG_ID_NONE, id + 1, UINT64_MAX};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(gang_job_hold(h.s, wrong[i]), GANG_ESTALE);
        ck_assert_int_eq(gang_job_release(h.s, wrong[i]), GANG_ESTALE);
        ck_assert_int_eq(gang_job_cancel(h.s, wrong[i]), GANG_ESTALE);
        ck_assert_int_eq(gang_job_set_priority(h.s, wrong[i], 1), GANG_ESTALE);
        ck_assert_int_eq(gang_job_set_target(h.s, wrong[i], 1), GANG_ESTALE);
        ck_assert_int_eq(gang_job_set_time_limit(h.s, wrong[i], 1), GANG_ESTALE);
        ck_assert_int_eq(gang_report_end(h.s, wrong[i], 1), GANG_ESTALE);
        ck_assert_int_eq(gang_report_tasks(h.s, wrong[i], 0, 0, NULL, 0, 0), GANG_ESTALE);
        ck_assert_int_eq(gang_job_get(h.s, wrong[i], &info), GANG_ESTALE);
        ck_assert_uint_eq(gang_job_alloc(h.s, wrong[i], 0), GANG_ID_NONE);
    }
    ck_assert_int_eq(gang_job_get(h.s, id, &info), GANG_ESTALE); /* not taken in yet */
    ck_assert_int_eq(gang_job_get(h.s, id, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_job_hold(NULL, id), GANG_EINVAL);
    ck_assert_int_eq(gang_job_set_target(h.s, id, -2), GANG_ERANGE);
    ck_assert_int_eq(gang_job_set_time_limit(h.s, id, -1), GANG_ERANGE);
    ck_assert_int_eq(gang_report_tasks(h.s, id, -1, 0, NULL, 0, 0), GANG_EINVAL);
    ck_assert_int_eq(gang_report_tasks(h.s, id, 0, 0, NULL, 0, 6), GANG_EINVAL);
    ck_assert_int_eq(gang_report_node_lost(h.s, GANG_ID_NONE), GANG_EINVAL);
    host_run(&h, 1);
    info.size = 4;
    ck_assert_int_eq(gang_job_get(h.s, id, &info), GANG_EINVAL);
}
END_TEST

START_TEST(commands_about_ended_jobs_do_nothing)
{
    gang_job_id id = host_submit(&h, plain());
    host_run(&h, 1);
    MUST(gang_job_cancel(h.s, id));
    MUST(gang_job_set_priority(h.s, id, 3));
    MUST(gang_job_hold(h.s, id));
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_CANCELLED);
    MUST(gang_job_cancel(h.s, id));
    MUST(gang_job_set_target(h.s, id, 0));
    size_t count = h.count;
    host_run(&h, 1);
    ck_assert_uint_eq(h.count, count);
}
END_TEST

START_TEST(a_held_job_waits_until_it_is_released)
{
    struct gang_job_spec *job = plain();
    job->hold = 1;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_info(&h, id).held, 1);
    ck_assert_int_eq(host_queue(&h, "b").demand[GANG_KIND_GPU], 0); /* it could not run */
    MUST(gang_job_release(h.s, id));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    MUST(gang_job_hold(h.s, id));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
}
END_TEST

START_TEST(a_changed_priority_sorts_jobs_that_wait_already)
{
    gang_job_id block = host_submit(&h, job_of("boss", "b", 6));
    host_run(&h, 1);
    gang_job_id a = host_submit(&h, job_of("boss", "b", 6));
    gang_job_id b = host_submit(&h, job_of("boss", "b", 6));
    host_run(&h, 1);
    MUST(gang_job_set_priority(h.s, b, 1)); /* and may preempt the first */
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, block), GANG_JOB_PENDING);
    MUST(gang_job_set_priority(h.s, a, 2));
    MUST(gang_job_set_priority(h.s, b, 3));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_RUNNING);
    MUST(gang_job_set_priority(h.s, b, 0)); /* of one that runs, too */
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_RUNNING);
}
END_TEST

START_TEST(a_time_limit_may_be_set_while_the_job_runs)
{
    struct gang_job_spec *job = plain();
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    MUST(gang_job_set_time_limit(h.s, id, 0));
    host_run(&h, 1000);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
    MUST(gang_job_set_time_limit(h.s, id, 2000));
    host_run(&h, 1);
    ck_assert_int_eq(gang_sched_next(h.s), 2001);
    MUST(gang_job_set_time_limit(h.s, id, 500)); /* it has run for longer */
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_TIMEOUT);
    ck_assert_int_eq(host_last(&h, id, "preempt")->reason, GANG_REASON_TIMEOUT);
}
END_TEST

START_TEST(a_requeued_job_stops_and_keeps_its_age)
{
    gang_job_id first = host_submit(&h, plain()), second = host_submit(&h, plain());
    host_run(&h, 1);
    MUST(gang_job_requeue(h.s, first));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, first, "preempt"), 1);
    ck_assert_int_eq(host_last(&h, first, "preempt")->reason, GANG_REASON_REQUEUE);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_RUNNING); /* it fits: at once again */
    ck_assert_int_eq(host_ops(&h, first, "start"), 2);
    ck_assert_int_eq(host_job_info(&h, first).preemptions, 1);
    ck_assert_int_eq(host_job_info(&h, first).restarts, 0);
    ck_assert_int_eq(host_ops(&h, second, "preempt"), 0);
    ck_assert_int_eq(gang_job_requeue(h.s, GANG_ID_NONE), GANG_ESTALE);
}
END_TEST

START_TEST(a_held_and_requeued_job_waits_until_it_is_released)
{
    gang_job_id id = host_submit(&h, plain());
    MUST(gang_job_requeue(h.s, id)); /* nothing, as it does not run */
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_ops(&h, id, "preempt"), 0);
    MUST(gang_job_hold(h.s, id));
    MUST(gang_job_requeue(h.s, id));
    MUST(gang_job_requeue(h.s, id)); /* twice is once */
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    ck_assert_int_eq(host_ops(&h, id, "preempt"), 1);
    MUST(gang_job_release(h.s, id));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
}
END_TEST

START_TEST(the_target_is_clamped_between_minimum_and_count)
{
    struct gang_job_spec *job = host_spec("b", 5, 2, 0);
    job->user = "boss";
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 5);
    MUST(gang_job_set_target(h.s, id, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    ck_assert_int_eq(host_job_info(&h, id).count, 2);
    ck_assert_int_eq(host_last(&h, id, "shrink")->reason, GANG_REASON_TARGET);
    ck_assert_int_eq(host_queue(&h, "b").demand[GANG_KIND_GPU], 2000);
    MUST(gang_job_set_target(h.s, id, 3));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    MUST(gang_job_set_target(h.s, id, -1));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 5);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("submit");
    TCase *c = tcase_create("a tree");
    tcase_add_checked_fixture(c, open_tree, close_tree);
    tcase_add_test(c, a_queue_that_is_not_there_is_enoent);
    tcase_add_test(c, only_leaves_take_jobs);
    tcase_add_test(c, closed_and_draining_queues_take_none);
    tcase_add_test(c, users_named_by_the_queue_or_an_ancestor_may_submit);
    tcase_add_test(c, max_pending_bounds_waiting_jobs);
    tcase_add_test(c, max_pending_holds_between_runs);
    tcase_add_test(c, time_limits_are_bounded_and_defaulted);
    tcase_add_test(c, a_job_that_can_never_run_is_refused_with_the_numbers);
    tcase_add_test(c, busy_or_down_nodes_do_not_make_a_job_impossible);
    tcase_add_test(c, structs_follow_the_size_rule);
    tcase_add_test(c, times_are_not_negative);
    tcase_add_test(c, values_outside_an_enumeration_are_refused);
    tcase_add_test(c, errors_of_the_request_name_their_place);
    tcase_add_test(c, roles_and_dependencies_are_checked);
    tcase_add_test(c, group_dependencies_name_other_existing_groups);
    tcase_add_test(c, circular_group_dependencies_are_refused);
    tcase_add_test(c, constraints_across_dependent_groups_are_refused);
    tcase_add_test(c, an_array_has_consecutive_ids_and_one_specification);
    tcase_add_test(c, a_refused_array_leaks_nothing);
    tcase_add_test(c, an_adopted_job_has_the_given_places);
    tcase_add_test(c, tasks_without_a_node_do_not_run);
    tcase_add_test(c, contradictory_places_are_refused);
    tcase_add_test(c, an_adopted_job_whose_places_are_taken_ends);
    tcase_add_test(c, adopted_jobs_enter_closed_queues_and_exceed_limits);
    tcase_add_test(c, unknown_ids_are_stale);
    tcase_add_test(c, commands_about_ended_jobs_do_nothing);
    tcase_add_test(c, a_held_job_waits_until_it_is_released);
    tcase_add_test(c, a_changed_priority_sorts_jobs_that_wait_already);
    tcase_add_test(c, a_time_limit_may_be_set_while_the_job_runs);
    tcase_add_test(c, a_requeued_job_stops_and_keeps_its_age);
    tcase_add_test(c, a_held_and_requeued_job_waits_until_it_is_released);
    tcase_add_test(c, the_target_is_clamped_between_minimum_and_count);
    suite_add_tcase(s, c);
    TCase *r = tcase_create("rules");
    tcase_add_checked_fixture(r, open_rules, close_tree);
    tcase_add_test(r, the_first_rule_that_leads_to_a_queue_wins);
    tcase_add_test(r, queues_are_made_on_demand_and_removed_when_idle);
    tcase_add_test(r, max_queues_bounds_queues_made_on_demand);
    tcase_add_test(r, a_parent_of_queues_made_on_demand_takes_no_jobs);
    suite_add_tcase(s, r);
    TCase *m = tcase_create("op may");
    tcase_add_test(m, the_may_op_overrides_the_lists);
    suite_add_tcase(s, m);
    return run_suite(s);
}
