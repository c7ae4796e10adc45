/* SPDX-License-Identifier: Apache-2.0 */
/* Small promises to a host: what events and queries say during a callback, late reports, names of
 * groups, the groups of a gang, tasks that run in turn, nodes that the host sets itself. */
#include "sched/host.h"

static struct host h;

/* ---- states ---------------------------------------------------------------------------------- */

static int seen;

/* In each callback the event and the query agree. */
static void states_agree(struct host *at, const struct host_event *e)
{
    struct gang_job_info info = GANG_JOB_INFO_INIT;
    MUST(gang_job_get(at->s, e->job, &info));
    ck_assert_msg(info.state == e->state, "op %s says %d, gang_job_get() %d", e->op, e->state,
                  info.state);
    seen++;
}

/* _i: the grace; requeue, or suspend and resume */
START_TEST(events_and_queries_agree_on_the_state)
{
    host_open(&h, 1, 4);
    host_preempts(&h, _i % 2 ? 10 : 0,
                  _i / 2 ? GANG_PREEMPT_MODE_SUSPEND : GANG_PREEMPT_MODE_REQUEUE);
    h.lingers = true;
    h.during = states_agree;
    seen = 0;
    gang_job_id low = host_gang(&h, "default", 4, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "default", 4, 1);
    host_run(&h, 1);
    const char *op = _i / 2 ? "suspend" : "preempt";
    ck_assert_int_eq(host_last(&h, low, op)->state, GANG_JOB_STOPPING);
    host_run(&h, 10);
    ck_assert_int_eq(host_last(&h, low, "kill")->state, GANG_JOB_STOPPING);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    host_end_job(&h, high);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_RUNNING);
    ck_assert_int_gt(seen, 8);
    host_close(&h);
}
END_TEST

/* ---- what each op holds: the table at struct gang_host_ops ---------------------------------- */

enum { NO_TASKS = 1, TASKS = 2, DEADLINE = 4, NO_DEADLINE = 8 };

static const struct row {
    const char *op;
    unsigned states; /* bit of each GANG_JOB_* that it may say */
    unsigned holds;
} table[] = {
    {"start", 1u << GANG_JOB_RUNNING, NO_TASKS | NO_DEADLINE},
    {"resume", 1u << GANG_JOB_RUNNING, NO_TASKS | NO_DEADLINE},
    {"grow", 1u << GANG_JOB_RUNNING, TASKS | NO_DEADLINE},
    {"shrink", 1u << GANG_JOB_RUNNING, TASKS | DEADLINE},
    {"preempt", 1u << GANG_JOB_STOPPING, NO_TASKS | DEADLINE},
    {"suspend", 1u << GANG_JOB_STOPPING, NO_TASKS | DEADLINE},
    {"kill", 1u << GANG_JOB_STOPPING, NO_TASKS | NO_DEADLINE},
    {"kill", 1u << GANG_JOB_RUNNING, TASKS | NO_DEADLINE}, /* after shrink */
    {"lost", 1u << GANG_JOB_RUNNING | 1u << GANG_JOB_STOPPING, TASKS | DEADLINE},
    {"state", ~0u, NO_TASKS | NO_DEADLINE},
};

static unsigned seen_rows; /* bit of each row that an event was like */

static void as_the_table_says(struct host *at, const struct host_event *e)
{
    (void)at;
    unsigned holds =
        (e->task_count > 0 ? TASKS : NO_TASKS) | (e->deadline_ns != 0 ? DEADLINE : NO_DEADLINE);
    bool ends = e->state == GANG_JOB_ENDED;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (strcmp(table[i].op, e->op) == 0 && (table[i].states & 1u << e->state) &&
            table[i].holds == holds && (!ends || e->end != GANG_END_NONE)) {
            seen_rows |= 1u << i;
            return;
        }
    ck_abort_msg("op %s: state %d, end %d, %zu tasks, deadline %" PRId64, e->op, e->state, e->end,
                 e->task_count, e->deadline_ns);
}

/* _i: requeue, or suspend and resume. A gang is preempted, or suspended, and killed; an elastic one
 * grows, shrinks, loses a task, and ends. */
START_TEST(each_op_holds_what_the_table_says)
{
    seen_rows = 0;
    host_open(&h, 2, 4);
    host_preempts(&h, 10, _i ? GANG_PREEMPT_MODE_SUSPEND : GANG_PREEMPT_MODE_REQUEUE);
    h.lingers = true;
    h.during = as_the_table_says;
    host_gang(&h, "default", 8, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "default", 8, 1);
    host_run(&h, 1);
    host_run(&h, 10);
    host_end_job(&h, high);
    host_run(&h, 1);
    gang_job_id elastic = host_submit(&h, host_spec("default", 8, 2, 2));
    host_run(&h, 1);
    host_run(&h, 10);
    MUST(gang_job_set_target(h.s, elastic, 5));
    host_run(&h, 1);
    host_run(&h, 10);
    MUST(gang_report_node_lost(h.s, host_node(&h, 1)));
    host_run(&h, 1);
    host_run(&h, 10);
    unsigned never = _i ? 1u << 4 : 1u << 1 | 1u << 5; /* the other mode's */
    ck_assert_uint_eq(seen_rows | never, (1u << sizeof(table) / sizeof(*table)) - 1);
    host_close(&h);
}
END_TEST

/* ---- late reports ---------------------------------------------------------------------------- */

static int errors_of_host;

static int32_t count_errors(int32_t level, const char *text, void *user)
{
    (void)text, (void)user;
    errors_of_host += level == 0;
    return 0;
}

/* The host could not know that its kill, or the job, was over already. _i: the job waits again, has
 * started again, has ended. */
START_TEST(a_late_report_that_a_task_stopped_is_no_error_of_the_host)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.default_queue = "default";
    ops.log = count_errors;
    host_open_with(&h, 1, 4, &opts, &ops);
    h.lingers = true;
    errors_of_host = 0;
    gang_job_id id = host_gang(&h, "default", 4, 0);
    host_run(&h, 1);
    gang_alloc_id alloc = gang_job_alloc(h.s, id, 0);
    if (_i == 0)
        MUST(gang_job_hold(h.s, id));
    if (_i == 2)
        MUST(gang_job_cancel(h.s, id));
    else
        MUST(gang_job_requeue(h.s, id));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "kill"), 1);
    ck_assert_int_eq(host_has(&h, id), _i != 2);
    int64_t task = 0;
    MUST(gang_report_tasks(h.s, id, 0, alloc, &task, 1, GANG_TASK_STOPPED));
    if (_i == 1)
        MUST(gang_report_tasks(h.s, id, 0, GANG_ID_NONE, &task, 1, GANG_TASK_STOPPED));
    host_run(&h, 1);
    ck_assert_int_eq(errors_of_host, 0);
    MUST(gang_report_tasks(h.s, id, 0, alloc, &task, 1, GANG_TASK_SUCCEEDED));
    host_run(&h, 1);
    ck_assert_int_eq(errors_of_host, 1);
    host_close(&h);
}
END_TEST

/* ---- groups ---------------------------------------------------------------------------------- */

START_TEST(the_groups_of_a_gang_are_known)
{
    struct gang_group_spec g[3] = {host_gpus(1, 1), host_gpus(1, 1), host_gpus(1, 1)};
    struct gang_group_after after = {1, 0, GANG_AFTER_START, 0};
    struct gang_job_spec job = host_job(g, 3);
    int32_t groups[3] = {-1, -1, -1};
    size_t needed = 7;
    job.group_after = &after;
    job.group_after_count = 1;
    host_open(&h, 1, 4);
    gang_job_id id = host_submit(&h, &job);
    ck_assert_int_eq(gang_job_gang_groups(h.s, id, 0, groups, 3, &needed), GANG_ESTALE);
    ck_assert_uint_eq(needed, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gang_job_gang_groups(h.s, id, 0, groups, 1, &needed), GANG_ELIMIT);
    ck_assert_uint_eq(needed, 2);
    ck_assert_int_eq(groups[0], -1);
    MUST(gang_job_gang_groups(h.s, id, 0, groups, 2, &needed));
    ck_assert_uint_eq(needed, 2);
    ck_assert_int_eq(groups[0], 0);
    ck_assert_int_eq(groups[1], 2);
    MUST(gang_job_gang_groups(h.s, id, 1, groups, 3, NULL));
    ck_assert_int_eq(groups[0], 1);
    ck_assert_int_eq(gang_job_gang_groups(h.s, id, 2, groups, 3, NULL), GANG_ENOENT);
    ck_assert_int_eq(gang_job_gang_groups(h.s, id, -1, groups, 3, NULL), GANG_ENOENT);
    ck_assert_int_eq(gang_job_gang_groups(h.s, id, 0, NULL, 3, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_job_gang_groups(NULL, id, 0, groups, 3, NULL), GANG_EINVAL);
    host_close(&h);
}
END_TEST

static int append(const char *text, size_t length, void *user)
{
    char *to = user;
    strncat(to, text, length);
    return 0;
}

/* What the allocation of a gang of the job calls its groups. */
static void check_name(gang_job_id id, int32_t gang, const char *name)
{
    char expected[64], json[4096] = "";
    snprintf(expected, sizeof(expected), "\"group\": \"%s\"", name);
    MUST(gang_alloc_write_json(h.stage.c, gang_job_alloc(h.s, id, gang), append, json));
    ck_assert_msg(strstr(json, expected) != NULL, "%s is not in %s", expected, json);
}

START_TEST(groups_without_names_are_told_apart)
{
    struct gang_group_spec g[3] = {host_gpus(1, 1), host_gpus(1, 1), host_gpus(1, 1)};
    struct gang_group_after after = {2, 0, GANG_AFTER_START, 0};
    struct gang_job_spec job = host_job(g, _i ? 3 : 1);
    g[0].name = g[2].name = NULL;
    g[1].name = "ps";
    job.group_after = &after;
    job.group_after_count = _i == 2;
    host_open(&h, 1, 4);
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    check_name(id, 0, _i ? "groups[0]" : "tasks");
    if (_i) {
        check_name(id, 0, "ps");
        check_name(id, _i == 2, "groups[2]");
    }
    host_close(&h);
}
END_TEST

START_TEST(messages_name_the_group_that_does_not_fit)
{
    struct gang_group_spec g[2] = {host_gpus(1, 1), host_gpus(5, 5)};
    struct gang_job_spec job = host_job(g, 2);
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    g[0].name = g[1].name = NULL;
    host_open(&h, 1, 4);
    EXPECT_ERROR(gang_job_submit(h.s, &job, &id, &error), GANG_ENEVER, &error, NULL, "groups[1]");
    host_close(&h);
}
END_TEST

/* ---- tasks in turn --------------------------------------------------------------------------- */

/* A search: 10 trials, 3 at a time. */
START_TEST(tasks_that_ended_make_way_for_the_next)
{
    struct gang_job_spec *job = host_spec("default", 10, 1, 0);
    int64_t ended = 0;
    job->parallelism = 3;
    host_open(&h, 1, 4);
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    while (host_has(&h, id)) {
        const struct task_list *list = stage_tasks(&h.stage, gang_job_alloc(h.s, id, 0));
        ck_assert_int_eq(host_tasks(&h, id), 10 - ended < 3 ? 10 - ended : 3);
        ck_assert_uint_eq(list->count, (size_t)host_tasks(&h, id));
        host_report(&h, id, list->task[0].task, _i ? GANG_TASK_FAILED : GANG_TASK_SUCCEEDED);
        ended++;
        host_run(&h, 1);
    }
    ck_assert_int_eq(ended, 10);
    ck_assert_int_eq(host_end(&h, id), _i ? GANG_END_FAILED : GANG_END_SUCCESS);
    host_close(&h);
}
END_TEST

/* The first group takes all that may run at once: the second is not over before it has run. */
START_TEST(a_group_that_waits_for_its_turn_is_not_over)
{
    struct gang_group_spec g[2] = {host_gpus(2, 1), host_gpus(2, 0)};
    struct gang_job_spec job = host_job(g, 2);
    const int32_t roles[] = {GANG_ROLE_MEMBER, GANG_ROLE_MEMBER};
    int64_t ended = 0;
    job.parallelism = 1;
    job.roles = roles;
    host_open(&h, 1, 4);
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    while (host_has(&h, id)) {
        ck_assert_int_eq(host_tasks(&h, id), 1);
        host_report(&h, id, stage_tasks(&h.stage, gang_job_alloc(h.s, id, 0))->task[0].task,
                    GANG_TASK_SUCCEEDED);
        ended++;
        host_run(&h, 1);
    }
    ck_assert_int_eq(ended, 4);
    host_close(&h);
}
END_TEST

START_TEST(the_minimum_starts_whatever_the_parallelism)
{
    struct gang_job_spec *job = host_spec("default", 4, 2, 0);
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    job->parallelism = 1;
    host_open(&h, 1, 4);
    id = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    job->parallelism = -1;
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_ERANGE, &error, "parallelism", NULL);
    host_close(&h);
}
END_TEST

/* ---- nodes ----------------------------------------------------------------------------------- */

/* _i: lost, draining, up; the host sets another state before the run. */
START_TEST(a_state_that_the_host_sets_after_a_report_stays)
{
    static const int32_t set[] = {GANG_NODE_UP, GANG_NODE_UP, GANG_NODE_DOWN};
    host_open(&h, 1, 4);
    gang_job_id id = host_gang(&h, "default", 4, 0);
    host_run(&h, 1);
    gang_node_id node = host_node(&h, 0);
    if (_i == 0)
        MUST(gang_report_node_lost(h.s, node));
    else if (_i == 1)
        MUST(gang_report_node_draining(h.s, node, 100));
    else
        MUST(gang_report_node_up(h.s, node));
    MUST(gang_node_set_state(h.stage.w, node, set[_i]));
    host_run(&h, 1);
    ck_assert_int_eq(stage_node(&h.stage, node).state, set[_i]);
    test_assert(host_has(&h, id) == (_i == 1)); /* its tasks were lost */
    host_run(&h, 1000);
    ck_assert_int_eq(stage_node(&h.stage, node).state, set[_i]);
    ck_assert_int_eq(host_ops(&h, id, "preempt"), 0);
    if (_i == 1) {
        host_close(&h);
        return;
    }
    MUST(gang_node_set_state(h.stage.w, node, GANG_NODE_UP)); /* a report after it counts */
    MUST(gang_report_node_lost(h.s, node));
    host_run(&h, 1);
    ck_assert_int_eq(stage_node(&h.stage, node).state, GANG_NODE_DOWN);
    MUST(gang_report_node_up(h.s, node));
    MUST(gang_report_node_lost(h.s, node)); /* reports in their order */
    host_run(&h, 1);
    ck_assert_int_eq(stage_node(&h.stage, node).state, GANG_NODE_DOWN);
    host_close(&h);
}
END_TEST

/* A report, and a state set after it, are in a copy, too. */
START_TEST(a_copy_keeps_what_the_host_set)
{
    gang_cluster *cluster;
    gang_sched *copy;
    struct gang_node_info info = {.size = sizeof(info)};
    host_open(&h, 1, 4);
    host_run(&h, 1);
    gang_node_id node = host_node(&h, 0);
    MUST(gang_report_node_lost(h.s, node));
    if (_i)
        MUST(gang_node_set_state(h.stage.w, node, GANG_NODE_UP));
    MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
    MUST(gang_sched_run(copy, h.now_ns, NULL, NULL));
    MUST(gang_node_get(cluster, node, &info));
    ck_assert_int_eq(info.state, _i ? GANG_NODE_UP : GANG_NODE_DOWN);
    gang_sched_free(copy);
    gang_cluster_free(cluster);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_contract");
    TCase *t = tcase_create("host_contract");
    tcase_add_loop_test(t, events_and_queries_agree_on_the_state, 0, 4);
    tcase_add_loop_test(t, each_op_holds_what_the_table_says, 0, 2);
    tcase_add_loop_test(t, a_late_report_that_a_task_stopped_is_no_error_of_the_host, 0, 3);
    tcase_add_test(t, the_groups_of_a_gang_are_known);
    tcase_add_loop_test(t, groups_without_names_are_told_apart, 0, 3);
    tcase_add_test(t, messages_name_the_group_that_does_not_fit);
    tcase_add_loop_test(t, tasks_that_ended_make_way_for_the_next, 0, 2);
    tcase_add_test(t, a_group_that_waits_for_its_turn_is_not_over);
    tcase_add_test(t, the_minimum_starts_whatever_the_parallelism);
    tcase_add_loop_test(t, a_state_that_the_host_sets_after_a_report_stays, 0, 3);
    tcase_add_loop_test(t, a_copy_keeps_what_the_host_set, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
