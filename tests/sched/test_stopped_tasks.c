/* SPDX-License-Identifier: Apache-2.0 */
/* A task that was reported stopped or ended, or was killed, is not shown any more, although other
 * tasks keep its place; and no later event names it. */
#include "sched/host.h"

enum { GRACE = 60 };

static struct host h;
static gang_job_id low, high;

/* A gang of 8 GPUs, of which `min` are its minimum, and one of `count` that preempts it. */
static void open_with(int64_t min, int64_t count)
{
    host_open_slow(&h, 2, 4, GRACE);
    low = host_submit(&h, host_spec("default", 8, min, 0));
    host_run(&h, 1);
    high = host_gang(&h, "default", count, 1);
    host_run(&h, 1);
}

static gang_alloc_id alloc_of(gang_job_id id, const char *op)
{
    return host_last(&h, id, op)->alloc;
}

static int count_lines(const char *text, size_t length, void *user)
{
    for (size_t i = 0; i < length; i++)
        *(int *)user += text[i] == '\n';
    return 0;
}

static char text[8192];

static int collect(const char *bytes, size_t length, void *used)
{
    size_t *at = used;
    ck_assert_uint_lt(*at + length, sizeof(text));
    memcpy(text + *at, bytes, length);
    text[ *at += length] = '\0';
    return 0;
}

/* All public calls agree. */
static void check_shown(gang_alloc_id alloc, int64_t tasks)
{
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    int lines = 0;
    int64_t objects = 0;
    size_t used = 0;
    ck_assert_uint_eq(stage_tasks(&h.stage, alloc)->count, (size_t)tasks);
    MUST(gang_alloc_get(h.stage.c, alloc, &info));
    ck_assert_int_eq(info.tasks, tasks);
    ck_assert_int_eq(info.gpu_milli, 1000 * tasks);
    MUST(gang_alloc_write_hosts(h.stage.c, alloc, -1, GANG_HOSTS_PLAIN, count_lines, &lines));
    ck_assert_int_eq(lines, tasks);
    MUST(gang_alloc_write_json(h.stage.c, alloc, collect, &used));
    for (const char *at = text; (at = strstr(at, "\"task\":")) != NULL; at++)
        objects++;
    ck_assert_int_eq(objects, tasks);
}

static bool is_shown(gang_alloc_id alloc, int64_t task)
{
    const struct task_list *list = stage_tasks(&h.stage, alloc);
    for (size_t i = 0; i < list->count; i++)
        if (list->task[i].task == task)
            return true;
    return false;
}

/* _i: stopped, succeeded, failed */
START_TEST(tasks_that_have_stopped_are_not_shown)
{
    static const int32_t what[] = {GANG_TASK_STOPPED, GANG_TASK_SUCCEEDED, GANG_TASK_FAILED};
    open_with(8, 8);
    gang_alloc_id alloc = alloc_of(low, "preempt");
    check_shown(alloc, 8);
    host_report(&h, low, 5, what[_i]);
    host_report(&h, low, 2, what[_i]);
    host_run(&h, 1);
    check_shown(alloc, 6);
    test_assert(!is_shown(alloc, 2) && !is_shown(alloc, 5) && is_shown(alloc, 7));
    ck_assert_int_eq(host_gpus_free(&h), 0); /* they keep their places */
    host_run(&h, GRACE);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    host_close(&h);
}
END_TEST

/* The host looks at what it is to kill. */
static size_t shown_at_kill;

static void look(struct host *host, const struct host_event *e)
{
    if (strcmp(e->op, "kill") == 0)
        shown_at_kill = stage_tasks(&host->stage, e->alloc)->count;
}

START_TEST(a_kill_of_a_gang_means_the_tasks_that_are_shown)
{
    open_with(8, 8);
    for (int64_t i = 1; i < 8; i++)
        host_report(&h, low, i, GANG_TASK_STOPPED);
    host_run(&h, 1);
    h.during = look;
    host_run(&h, GRACE);
    ck_assert_uint_eq(shown_at_kill, 1);
    const struct host_event *kill = host_last(&h, low, "kill");
    ck_assert_uint_eq(kill->task_count, 0);
    ck_assert_uint_eq(kill->because, high);
    ck_assert_int_eq(kill->reason, GANG_REASON_PREEMPT);
    ck_assert_int_eq(kill->state, GANG_JOB_STOPPING);
    ck_assert_int_eq(kill->end, GANG_END_NONE);
    ck_assert_int_eq(kill->deadline_ns, 0);
    h.during = NULL;
    host_close(&h);
}
END_TEST

START_TEST(a_kill_of_single_tasks_names_those_that_have_not_stopped)
{
    open_with(2, 4);
    const struct host_event shrink = *host_last(&h, low, "shrink");
    ck_assert_uint_eq(shrink.task_count, 4);
    host_report(&h, low, shrink.tasks[0], GANG_TASK_STOPPED);
    host_report(&h, low, shrink.tasks[2], GANG_TASK_FAILED);
    host_run(&h, 1);
    check_shown(shrink.alloc, 6);
    host_run(&h, GRACE);
    const struct host_event *kill = host_last(&h, low, "kill");
    ck_assert_uint_eq(kill->alloc, shrink.alloc);
    ck_assert_uint_eq(kill->task_count, 2);
    ck_assert_int_eq(kill->tasks[0], shrink.tasks[1]);
    ck_assert_int_eq(kill->tasks[1], shrink.tasks[3]);
    ck_assert_uint_eq(kill->because, high);
    ck_assert_int_eq(kill->state, GANG_JOB_RUNNING);
    ck_assert_int_eq(kill->end, GANG_END_NONE);
    check_shown(shrink.alloc, 4);
    host_close(&h);
}
END_TEST

START_TEST(a_kill_says_how_the_job_ends)
{
    open_with(8, 8);
    MUST(gang_job_cancel(h.s, low));
    host_run(&h, 1);
    host_run(&h, GRACE);
    ck_assert_int_eq(host_last(&h, low, "kill")->end, GANG_END_CANCELLED);
    ck_assert_int_eq(host_end(&h, low), GANG_END_CANCELLED);
    host_close(&h);
}
END_TEST

/* Two victims stop for one gang: the first has stopped, the other takes its time. */
START_TEST(a_victim_that_has_stopped_shows_no_task_while_others_stop)
{
    host_open_slow(&h, 2, 4, GRACE);
    low = host_gang(&h, "default", 4, 0);
    gang_job_id other = host_gang(&h, "default", 4, 0);
    host_run(&h, 1);
    high = host_gang(&h, "default", 8, 1);
    host_run(&h, 1);
    gang_alloc_id alloc = alloc_of(low, "preempt");
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    check_shown(alloc, 0);
    check_shown(alloc_of(other, "preempt"), 4);
    ck_assert_int_eq(host_gpus_free(&h), 0);

    gang_cluster *cluster; /* a copy shows the same */
    gang_sched *copy;
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
    MUST(gang_alloc_get(cluster, alloc, &info));
    ck_assert_int_eq(info.tasks, 0);
    gang_sched_free(copy);
    gang_cluster_free(cluster);

    host_report_all(&h, other, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    host_close(&h);
}
END_TEST

/* The report is accepted while the allocation is read: the release is deferred. */
static int32_t run_now(const struct gang_task *task, void *user)
{
    (void)user;
    if (task->task == 0)
        host_run(&h, 1);
    return 0;
}

START_TEST(a_task_whose_release_is_deferred_is_not_shown)
{
    open_with(2, 4);
    const struct host_event shrink = *host_last(&h, low, "shrink");
    for (size_t i = 0; i < 4; i++)
        host_report(&h, low, shrink.tasks[i], GANG_TASK_STOPPED);
    MUST(gang_alloc_each(h.stage.c, shrink.alloc, run_now, NULL));
    check_shown(shrink.alloc, 4);
    host_run(&h, 1);
    check_shown(shrink.alloc, 4);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stopped_tasks");
    TCase *t = tcase_create("stopped_tasks");
    tcase_add_loop_test(t, tasks_that_have_stopped_are_not_shown, 0, 3);
    tcase_add_test(t, a_kill_of_a_gang_means_the_tasks_that_are_shown);
    tcase_add_test(t, a_kill_of_single_tasks_names_those_that_have_not_stopped);
    tcase_add_test(t, a_kill_says_how_the_job_ends);
    tcase_add_test(t, a_victim_that_has_stopped_shows_no_task_while_others_stop);
    tcase_add_test(t, a_task_whose_release_is_deferred_is_not_shown);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
