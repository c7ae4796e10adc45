/* SPDX-License-Identifier: Apache-2.0 */
/* Stops, fences and moves of a job go on in a scheduler that is made anew (gang_job_spec.stops). */
#include "sched/restored_host.h"

#define SECOND ((int64_t)HOST_SECOND)

static struct host h, anew;

/* A job, which the host keeps, too. */
struct one {
    struct gang_group_spec group;
    struct gang_job_spec spec;
    gang_job_id id;
    struct restored kept;
};

static void open_both(size_t nodes)
{
    host_open_slow(&h, nodes, 4, 60 * SECOND);
    h.refuse = "lost"; /* lost tasks may still run */
    h.answer = GANG_EBUSY;
    h.now_ns = 1000 * SECOND;
}

/* So many tasks of so many GPUs. */
static void describe(struct one *job, int64_t count, int64_t min, int64_t gpus)
{
    job->group = group_of(count, 100, gpus * 1000);
    job->group.min = min;
    job->spec = host_job(&job->group, 1);
    job->spec.queue = "default";
}

static void submit_described(struct one *job)
{
    job->id = host_submit(&h, &job->spec);
    host_run(&h, 0);
}

static void submit(struct one *job, int64_t count, int64_t min, int64_t gpus)
{
    describe(job, count, min, gpus);
    submit_described(job);
}

static void open_anew(size_t nodes)
{
    host_open_slow(&anew, nodes, 4, 60 * SECOND);
    anew.now_ns = h.now_ns;
}

/* The manager is killed, and made anew from what its host kept. */
static void make_anew(size_t nodes, struct one *const *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        restored_keep(&jobs[i]->kept, &h, jobs[i]->id);
    open_anew(nodes);
    anew.refuse = "lost";
    anew.answer = GANG_EBUSY;
    for (size_t i = 0; i < count; i++)
        restored_submit(&jobs[i]->kept, &anew, jobs[i]->id, &jobs[i]->spec);
    host_run(&anew, 0);
    for (size_t i = 0; i < count; i++) {
        struct restored now;
        restored_keep(&now, &anew, jobs[i]->id);
        ck_assert_mem_eq(&now.past, &jobs[i]->kept.past, sizeof(now.past));
        ck_assert_uint_eq(now.stop_count, jobs[i]->kept.stop_count);
        for (size_t k = 0; k < now.stop_count; k++) {
            struct gang_job_stop a = now.stop[k], b = jobs[i]->kept.stop[k];
            ck_assert_uint_eq(a.task_count, b.task_count);
            ck_assert_mem_eq(a.tasks, b.tasks, a.task_count * sizeof(*a.tasks));
            ck_assert_uint_eq(a.kept_count, b.kept_count);
            for (size_t n = 0; n < a.kept_count; n++)
                ck_assert_mem_eq(&a.kept[n], &b.kept[n], sizeof(a.kept[n]));
            a.tasks = b.tasks = NULL;
            a.kept = b.kept = NULL;
            ck_assert_uint_eq(a.target_count, b.target_count);
            a.targets = b.targets = NULL;
            ck_assert_mem_eq(&a, &b, sizeof(a));
        }
        ck_assert_int_eq(host_tasks(&anew, jobs[i]->id), host_tasks(&h, jobs[i]->id));
        ck_assert_int_eq(host_job_state(&anew, jobs[i]->id), host_job_state(&h, jobs[i]->id));
    }
    ck_assert_int_eq(host_gpus_free(&anew), host_gpus_free(&h));
    ck_assert_int_ge(gang_sched_next(anew.s), gang_sched_next(h.s)); /* no time is missed */
}

static void close_both(void)
{
    host_close(&h);
    host_close(&anew);
}

START_TEST(each_step_keeps_its_deadline)
{
    static struct one job;
    struct one *all[] = {&job};
    open_both(1);
    submit(&job, 4, 1, 1);
    MUST(gang_job_set_target(h.s, job.id, 3));
    host_run(&h, 0);
    MUST(gang_job_set_target(h.s, job.id, 2));
    host_run(&h, 20 * SECOND);
    make_anew(1, all, 1);
    ck_assert_uint_eq(job.kept.stop_count, 2);
    host_run(&anew, 40 * SECOND);
    ck_assert_int_eq(host_ops(&anew, job.id, "kill"), 1);
    ck_assert_int_eq(host_last(&anew, job.id, "kill")->tasks[0], 3);
    ck_assert_int_eq(host_gpus_free(&anew), 1);
    host_run(&anew, 20 * SECOND);
    ck_assert_int_eq(host_ops(&anew, job.id, "kill"), 2);
    ck_assert_int_eq(host_last(&anew, job.id, "kill")->tasks[0], 2);
    ck_assert_int_eq(host_gpus_free(&anew), 2);
    close_both();
}
END_TEST

START_TEST(a_stop_of_the_whole_gang_follows_one_of_single_tasks)
{
    static struct one job;
    struct one *all[] = {&job};
    open_both(1);
    submit(&job, 4, 1, 1);
    MUST(gang_job_set_target(h.s, job.id, 3));
    host_run(&h, 0);
    MUST(gang_job_requeue(h.s, job.id));
    host_run(&h, 20 * SECOND);
    make_anew(1, all, 1);
    ck_assert_uint_eq(job.kept.stop_count, 2);
    ck_assert_uint_eq(job.kept.stop[1].task_count, 3);
    host_run(&anew, 40 * SECOND);
    ck_assert_int_eq(host_ops(&anew, job.id, "kill"), 1);
    ck_assert_int_eq(host_job_state(&anew, job.id), GANG_JOB_STOPPING);
    host_report_all(&anew, job.id, 0, GANG_TASK_STOPPED);
    host_run(&anew, 0);
    ck_assert_int_eq(host_job_state(&anew, job.id), GANG_JOB_RUNNING); /* it started again */
    close_both();
}
END_TEST

static void lose_first_task(struct one *job)
{
    MUST(gang_report_node_lost(h.s, host_node_of(&h, job->id, 0)));
    host_run(&h, 10 * SECOND);
}

START_TEST(a_fence_keeps_its_places_until_its_time)
{
    static struct one job;
    struct one *all[] = {&job};
    open_both(1);
    submit(&job, 1, 1, 2);
    job.spec.loss = GANG_LOSS_COUNT;
    lose_first_task(&job);
    make_anew(1, all, 1);
    ck_assert_uint_eq(job.kept.stop_count, 1);
    ck_assert_int_eq(job.kept.stop[0].what, GANG_STOP_FENCED);
    ck_assert_int_eq(host_gpus_free(&anew), 2);
    host_run(&anew, job.kept.stop[0].next_ns - anew.now_ns - 1);
    ck_assert_int_eq(host_gpus_free(&anew), 2);
    host_run(&anew, 1);
    ck_assert_int_eq(host_gpus_free(&anew), 4);
    ck_assert_int_eq(host_end(&anew, job.id), GANG_END_FAILED);
    close_both();
}
END_TEST

START_TEST(a_fenced_task_is_placed_again_when_it_is_over)
{
    static struct one job;
    struct one *all[] = {&job};
    open_both(2);
    describe(&job, 2, 2, 4);
    job.spec.loss = GANG_LOSS_REFILL;
    submit_described(&job);
    lose_first_task(&job);
    ck_assert_int_eq(host_tasks(&h, job.id), 1);
    make_anew(2, all, 1);
    int64_t first = 0;
    ck_assert_int_eq(job.kept.stop[0].what, GANG_STOP_FENCED);
    MUST(gang_report_tasks(anew.s, job.id, 0, GANG_ID_NONE, &first, 1, GANG_TASK_STOPPED));
    host_run(&anew, 0);
    ck_assert_int_eq(host_tasks(&anew, job.id), 2); /* its node is up here */
    ck_assert_int_eq(host_last(&anew, job.id, "grow")->tasks[0], 0);
    close_both();
}
END_TEST

START_TEST(a_gang_whose_last_tasks_are_fenced_waits_for_them)
{
    static struct one job;
    struct one *all[] = {&job};
    open_both(2);
    describe(&job, 2, 2, 4);
    job.spec.loss = GANG_LOSS_RESTART;
    job.spec.max_restarts = 5;
    submit_described(&job);
    lose_first_task(&job); /* the other one is asked to stop */
    int64_t other = 1;
    MUST(gang_report_tasks(h.s, job.id, 0, GANG_ID_NONE, &other, 1, GANG_TASK_STOPPED));
    host_run(&h, 0);
    ck_assert_int_eq(host_job_state(&h, job.id), GANG_JOB_STOPPING);
    make_anew(2, all, 1);
    ck_assert_uint_eq(job.kept.stop_count, 1);
    int64_t first = 0;
    MUST(gang_report_tasks(anew.s, job.id, 0, GANG_ID_NONE, &first, 1, GANG_TASK_FAILED));
    host_run(&anew, 0);
    ck_assert_int_eq(host_job_state(&anew, job.id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_tasks(&anew, job.id), 2);
    close_both();
}
END_TEST

/* Two nodes of four GPUs, and a gang on each; a job that needs a whole node. */
static void fragment(struct one *a, struct one *b, struct one *large)
{
    static struct one full;
    open_both(2);
    submit(&full, 1, 1, 2);
    submit(a, 1, 1, 2);
    submit(b, 1, 1, 2);
    MUST(gang_report_end(h.s, full.id, 1));
    host_run(&h, 0);
    ck_assert_int_eq(host_gpus_free(&h), 4);
    submit(large, 1, 1, 4);
    ck_assert_int_eq(host_job_state(&h, large->id), GANG_JOB_PENDING);
}

static struct one *mover_of(struct one *a, struct one *b)
{
    return host_job_state(&h, a->id) == GANG_JOB_STOPPING ? a : b;
}

START_TEST(a_move_goes_on)
{
    static struct one a, b, large;
    struct one *all[] = {&a, &b, &large};
    fragment(&a, &b, &large);
    struct one *mover = mover_of(&a, &b);
    make_anew(2, all, 3);
    ck_assert_int_eq(mover->kept.stop[0].reason, GANG_REASON_MOVE);
    host_report_all(&anew, mover->id, 0, GANG_TASK_STOPPED);
    host_run(&anew, SECOND);
    ck_assert_int_eq(host_job_state(&anew, large.id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&anew, mover->id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_gpus_free(&anew), 0);
    ck_assert_int_eq(host_last(&anew, mover->id, "start")->reason, GANG_REASON_MOVE);
    close_both();
}
END_TEST

START_TEST(a_move_that_is_cancelled_ends)
{
    static struct one a, b, large;
    struct one *all[] = {&a, &b, &large};
    fragment(&a, &b, &large);
    struct one *mover = mover_of(&a, &b);
    make_anew(2, all, 3);
    MUST(gang_job_cancel(anew.s, large.id));
    host_run(&anew, SECOND);
    host_report_all(&anew, mover->id, 0, GANG_TASK_STOPPED);
    host_run(&anew, SECOND);
    ck_assert_int_eq(host_job_state(&anew, mover->id), GANG_JOB_RUNNING);
    close_both();
}
END_TEST

/* What is free at its new places is kept all the same. */
START_TEST(a_move_that_was_given_up_keeps_its_new_places)
{
    static struct one a, b, large, next;
    struct one *all[] = {&a, &b, &large, &next};
    fragment(&a, &b, &large);
    struct one *mover = mover_of(&a, &b);
    MUST(gang_job_hold(h.s, mover->id));
    mover->spec.hold = 1;
    host_run(&h, 0);
    submit(&next, 1, 1, 1);
    ck_assert_int_eq(host_job_state(&h, next.id), GANG_JOB_PENDING);
    make_anew(2, all, 4);
    ck_assert_uint_eq(mover->kept.stop[0].target_count, 1);
    ck_assert_int_eq(host_job_state(&anew, next.id), GANG_JOB_PENDING);
    host_report_all(&h, mover->id, 0, GANG_TASK_STOPPED);
    host_report_all(&anew, mover->id, 0, GANG_TASK_STOPPED);
    host_run(&h, SECOND);
    host_run(&anew, SECOND);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(host_job_state(&anew, all[i]->id), host_job_state(&h, all[i]->id));
    ck_assert_int_eq(host_job_state(&anew, large.id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_gpus_free(&anew), host_gpus_free(&h));
    close_both();
}
END_TEST

/* Four nodes with a gang of two GPUs on each, and a large job, for which two of them move. */
static void fragment_four(struct one part[8], struct one *large)
{
    open_both(4);
    for (int i = 0; i < 8; i++)
        submit(&part[i], 1, 1, 2);
    for (int i = 0; i < 8; i += 2)
        MUST(gang_report_end(h.s, part[i].id, 1));
    host_run(&h, 0);
    submit(large, 2, 2, 4);
}

/* A large job for which two gangs move; one of them has stopped. */
START_TEST(a_gang_that_has_stopped_starts_elsewhere_when_the_others_have)
{
    static struct one part[8], large;
    struct one *all[5], *movers[4];
    size_t count = 0, moves = 0;
    fragment_four(part, &large);
    for (int i = 1; i < 8; i += 2) {
        all[count++] = &part[i];
        if (host_job_state(&h, part[i].id) == GANG_JOB_STOPPING)
            movers[moves++] = &part[i];
    }
    all[count++] = &large;
    ck_assert_uint_eq(moves, 2);
    host_report_all(&h, movers[0]->id, 0, GANG_TASK_STOPPED);
    host_run(&h, SECOND);
    make_anew(4, all, count);
    ck_assert_int_eq(movers[0]->kept.stop[0].what, GANG_STOP_MOVED);
    host_run(&anew, SECOND);
    ck_assert_int_eq(host_job_state(&anew, large.id), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&anew, movers[0]->id), GANG_JOB_STOPPING);
    host_report_all(&anew, movers[1]->id, 0, GANG_TASK_STOPPED);
    host_run(&anew, SECOND);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(host_job_state(&anew, all[i]->id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_last(&anew, movers[0]->id, "start")->reason, GANG_REASON_MOVE);
    ck_assert_int_eq(host_gpus_free(&anew), 0);
    close_both();
}
END_TEST

START_TEST(a_move_without_the_other_gangs_of_its_plan_ends)
{
    static struct one part[8], large;
    struct one *mover = NULL;
    fragment_four(part, &large);
    for (int i = 1; i < 8; i += 2)
        if (host_job_state(&h, part[i].id) == GANG_JOB_STOPPING)
            mover = &part[i];
    host_report_all(&h, mover->id, 0, GANG_TASK_STOPPED);
    host_run(&h, SECOND);
    restored_keep(&mover->kept, &h, mover->id);
    open_anew(4);
    restored_submit(&mover->kept, &anew, mover->id, &mover->spec);
    host_run(&anew, 0); /* nothing is known of the job for which it moved */
    ck_assert_int_eq(host_job_state(&anew, mover->id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_gpus_free(&anew), 14);
    close_both();
}
END_TEST

/* What a task held that has stopped stays taken until the others of its step have stopped. */
START_TEST(a_step_of_which_a_task_has_stopped_goes_on)
{
    static struct one job, next;
    struct one *both[] = {&job, &next};
    open_both(1);
    submit(&job, 4, 1, 1);
    MUST(gang_job_set_target(h.s, job.id, 1));
    host_run(&h, 0);
    host_report(&h, job.id, 2, GANG_TASK_STOPPED);
    host_run(&h, SECOND);
    ck_assert_int_eq(host_gpus_free(&h), 0);
    submit(&next, 1, 1, 1);
    make_anew(1, both, 2);
    ck_assert_uint_eq(job.kept.stop[0].kept_count, 1);
    ck_assert_int_eq(job.kept.kept[0][0].task, 2);
    ck_assert_int_eq(host_gpus_free(&anew), 0);
    ck_assert_int_eq(host_job_state(&anew, next.id), GANG_JOB_PENDING);
    host_report(&anew, job.id, 1, GANG_TASK_STOPPED);
    host_report(&anew, job.id, 3, GANG_TASK_STOPPED);
    host_run(&anew, SECOND);
    ck_assert_int_eq(host_job_state(&anew, next.id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_gpus_free(&anew), 2);
    close_both();
}
END_TEST

START_TEST(a_gang_of_which_a_task_has_stopped_goes_on_to_stop)
{
    static struct one job, next;
    struct one *both[] = {&job, &next};
    open_both(1);
    submit(&job, 4, 4, 1);
    MUST(gang_job_requeue(h.s, job.id));
    host_run(&h, 0);
    host_report(&h, job.id, 0, GANG_TASK_STOPPED);
    host_report(&h, job.id, 3, GANG_TASK_STOPPED);
    host_run(&h, SECOND);
    submit(&next, 1, 1, 1);
    make_anew(1, both, 2);
    ck_assert_int_eq(host_job_state(&anew, next.id), GANG_JOB_PENDING);
    host_report(&anew, job.id, 1, GANG_TASK_STOPPED);
    host_run(&anew, SECOND);
    ck_assert_int_eq(host_job_state(&anew, next.id), GANG_JOB_PENDING);
    host_report(&anew, job.id, 2, GANG_TASK_STOPPED);
    host_run(&anew, SECOND);
    ck_assert_int_eq(host_gpus_free(&anew) == 0, host_job_state(&anew, job.id) == GANG_JOB_RUNNING);
    close_both();
}
END_TEST

START_TEST(a_fence_of_which_a_task_is_over_goes_on)
{
    static struct one job, next;
    struct one *both[] = {&job, &next};
    open_both(1);
    submit(&job, 4, 1, 1);
    job.spec.loss = GANG_LOSS_COUNT;
    const int64_t lost[] = {1, 2};
    MUST(gang_report_node_lost(h.s, host_node(&h, 0)));
    host_run(&h, SECOND);
    MUST(gang_report_node_up(h.s, host_node(&h, 0)));
    MUST(gang_report_tasks(h.s, job.id, 0, GANG_ID_NONE, lost, 2, GANG_TASK_STOPPED));
    host_run(&h, SECOND);
    submit(&next, 2, 2, 1);
    make_anew(1, both, 2);
    ck_assert_int_eq(host_job_state(&anew, next.id), host_job_state(&h, next.id));
    close_both();
}
END_TEST

/* A host that lists the lost tasks that have stopped as failed, too, says it twice. */
START_TEST(a_fenced_task_that_has_stopped_counts_once)
{
    static struct one job;
    const int64_t lost[] = {1, 2};
    open_both(1);
    describe(&job, 4, 1, 1);
    job.spec.loss = GANG_LOSS_COUNT;
    submit_described(&job);
    MUST(gang_report_node_lost(h.s, host_node(&h, 0)));
    host_run(&h, SECOND);
    MUST(gang_report_tasks(h.s, job.id, 0, GANG_ID_NONE, lost, 2, GANG_TASK_STOPPED));
    host_run(&h, SECOND);
    restored_keep(&job.kept, &h, job.id);
    ck_assert_uint_eq(job.kept.stop_count, 1);
    ck_assert_uint_eq(job.kept.stop[0].kept_count, 2);
    for (int i = 0; i < 2; i++)
        restored_ended(&job.kept, lost[i], GANG_TASK_FAILED);
    open_anew(1);
    restored_submit(&job.kept, &anew, job.id, &job.spec);
    host_run(&anew, 0);
    MUST(gang_sched_check(anew.s, NULL));
    struct gang_job_info then = GANG_JOB_INFO_INIT, now = GANG_JOB_INFO_INIT;
    MUST(gang_job_get(h.s, job.id, &then));
    MUST(gang_job_get(anew.s, job.id, &now));
    ck_assert_int_eq(now.state, then.state);
    ck_assert_int_eq(now.tasks, then.tasks);
    ck_assert_int_eq(host_gpus_free(&anew), host_gpus_free(&h));
    close_both();
}
END_TEST

/* A preemptor takes five of eight GPUs. What a victim held stays kept for it, also what it will not
 * use, until the other one has stopped. */
static void open_preemption(struct one *a, struct one *b, struct one *high, int64_t min)
{
    open_both(2);
    h.lingers = true;
    submit(a, 4, min, 1);
    submit(b, 4, 4, 1);
    describe(high, 5, 5, 1);
    high->spec.priority = 5;
    submit_described(high);
    ck_assert_int_eq(host_job_state(&h, b->id), GANG_JOB_STOPPING);
}

/* One of the victims has stopped. */
static void open_half_preempted(struct one *a, struct one *b, struct one *high)
{
    open_preemption(a, b, high, 4);
    host_report_all(&h, b->id, 0, GANG_TASK_STOPPED);
    host_run(&h, SECOND);
}

static void check_kept(struct one *over, struct one *other, struct one *high)
{
    static struct one next;
    struct one *all[] = {over->id < other->id ? over : other, over->id < other->id ? other : over,
                         high, &next};
    submit(&next, 1, 1, 1);
    ck_assert_int_eq(host_job_state(&h, next.id), GANG_JOB_PENDING);
    make_anew(2, all, 4);
    anew.lingers = true;
    bool shown = false;
    for (size_t k = 0; k < over->kept.stop_count; k++)
        shown = shown || over->kept.stop[k].what == GANG_STOP_STOPPED;
    test_assert(shown);
    ck_assert_int_eq(host_job_state(&anew, next.id), GANG_JOB_PENDING);
    host_report_all(&h, other->id, 0, GANG_TASK_STOPPED);
    host_report_all(&anew, other->id, 0, GANG_TASK_STOPPED);
    host_run(&h, SECOND);
    host_run(&anew, SECOND);
    ck_assert_int_eq(host_job_state(&anew, high->id), GANG_JOB_RUNNING);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(host_job_state(&anew, all[i]->id), host_job_state(&h, all[i]->id));
        ck_assert_int_eq(host_tasks(&anew, all[i]->id), host_tasks(&h, all[i]->id));
    }
    ck_assert_int_eq(host_gpus_free(&anew), host_gpus_free(&h));
    MUST(gang_cluster_check(anew.stage.c, NULL));
    close_both();
}

START_TEST(what_a_victim_has_left_is_kept_for_its_preemptor)
{
    static struct one a, b, high;
    open_half_preempted(&a, &b, &high);
    ck_assert_int_eq(host_job_state(&h, b.id), GANG_JOB_PENDING);
    check_kept(&b, &a, &high);
}
END_TEST

/* Some of its tasks stopped for the preemptor; it runs on with the others. */
START_TEST(what_tasks_of_a_gang_that_runs_on_held_is_kept)
{
    static struct one a, b, high;
    open_preemption(&a, &b, &high, 1);
    ck_assert_int_eq(host_job_state(&h, a.id), GANG_JOB_RUNNING);
    restored_keep(&a.kept, &h, a.id);
    ck_assert_uint_eq(a.kept.stop_count, 1);
    for (size_t i = 0; i < a.kept.stop[0].task_count; i++)
        host_report(&h, a.id, a.kept.task[0][i], GANG_TASK_STOPPED);
    host_run(&h, SECOND);
    ck_assert_int_eq(host_job_state(&h, high.id), GANG_JOB_PENDING);
    check_kept(&a, &b, &high);
}
END_TEST

/* The job of a victim has ended since: what it had is free, but for the places of the preemptor. */
START_TEST(the_places_of_a_preemptor_are_kept_when_a_victim_has_ended)
{
    static struct one a, b, high, next;
    struct one *all[] = {&a, &high, &next};
    open_half_preempted(&a, &b, &high);
    MUST(gang_job_cancel(h.s, b.id));
    host_run(&h, SECOND);
    test_assert(!host_has(&h, b.id));
    submit(&next, 4, 4, 1);
    open_anew(2);
    anew.lingers = true;
    for (size_t i = 0; i < 3; i++) {
        restored_keep(&all[i]->kept, &h, all[i]->id);
        restored_submit(&all[i]->kept, &anew, all[i]->id, &all[i]->spec);
    }
    host_run(&anew, 0);
    ck_assert_int_lt(host_gpus_free(&anew), 4);
    ck_assert_int_eq(host_job_state(&anew, next.id), GANG_JOB_PENDING);
    host_report_all(&anew, a.id, 0, GANG_TASK_STOPPED);
    host_run(&anew, SECOND);
    ck_assert_int_eq(host_job_state(&anew, high.id), GANG_JOB_RUNNING);
    close_both();
}
END_TEST

START_TEST(what_is_kept_for_no_job_is_free)
{
    static struct one a, b, high;
    open_half_preempted(&a, &b, &high);
    restored_keep(&b.kept, &h, b.id);
    open_anew(2);
    restored_submit(&b.kept, &anew, b.id, &b.spec);
    host_run(&anew, 0);
    ck_assert_int_eq(host_job_state(&anew, b.id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_gpus_free(&anew), 4);
    MUST(gang_cluster_check(anew.stage.c, NULL));
    close_both();
}
END_TEST

START_TEST(memory_that_runs_out_for_what_is_kept_is_tried_again)
{
    static struct one a, b, high;
    struct one *all[] = {&a, &b, &high};
    open_half_preempted(&a, &b, &high);
    open_anew(2);
    for (size_t i = 0; i < 3; i++) {
        restored_keep(&all[i]->kept, &h, all[i]->id);
        restored_submit(&all[i]->kept, &anew, all[i]->id, &all[i]->spec);
    }
    host_run_short_of_memory(&anew);
    host_report_all(&anew, a.id, 0, GANG_TASK_STOPPED);
    host_run(&anew, SECOND);
    ck_assert_int_eq(host_job_state(&anew, high.id), GANG_JOB_RUNNING);
    MUST(gang_cluster_check(anew.stage.c, NULL));
    close_both();
}
END_TEST

START_TEST(places_that_are_kept_twice_are_refused)
{
    static struct one job;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_job_spec spec;
    gang_job_id id;
    open_both(1);
    submit(&job, 4, 1, 1);
    MUST(gang_job_set_target(h.s, job.id, 1));
    host_run(&h, 0);
    host_report(&h, job.id, 2, GANG_TASK_STOPPED);
    host_run(&h, 0);
    restored_keep(&job.kept, &h, job.id);
    spec = job.spec;
    spec.running = 1;
    spec.past = &job.kept.past;
    spec.places = job.kept.place;
    spec.place_count = job.kept.place_count;
    spec.stops = job.kept.stop;
    spec.stop_count = 1;
    job.kept.kept[0][0].task = 1;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops[0].kept[0]",
                 "another place");
    job.kept.kept[0][0].task = 2;
    job.kept.kept[0][0].node = 12345;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops[0].kept[0]",
                 "no such node");
    job.kept.kept[0][0].size = 1;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops[0].kept[0]",
                 "not set up");
    job.kept.stop[0].kept_count = SIZE_MAX;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_ERANGE, &error, "stops[0].kept",
                 "too many");
    job.kept.stop[0].kept_count = 1;
    job.kept.stop[0].kept = NULL;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops[0].kept",
                 "missing");
    host_close(&h);
}
END_TEST

START_TEST(memory_that_runs_out_is_tried_again)
{
    static struct one job;
    open_both(1);
    submit(&job, 4, 1, 1);
    MUST(gang_job_set_target(h.s, job.id, 3));
    host_run(&h, 0);
    MUST(gang_job_requeue(h.s, job.id));
    host_run(&h, 20 * SECOND);
    restored_keep(&job.kept, &h, job.id);
    open_anew(1);
    restored_submit(&job.kept, &anew, job.id, &job.spec);
    host_run_short_of_memory(&anew);
    ck_assert_int_eq(host_job_state(&anew, job.id), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_gpus_free(&anew), 0);
    close_both();
}
END_TEST

START_TEST(stops_that_contradict_the_places_are_refused)
{
    static struct one job;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_job_spec spec;
    gang_job_id id;
    open_both(1);
    submit(&job, 4, 1, 1);
    MUST(gang_job_set_target(h.s, job.id, 3));
    host_run(&h, 0);
    restored_keep(&job.kept, &h, job.id);
    spec = job.spec;
    spec.running = 1;
    spec.past = &job.kept.past;
    spec.places = job.kept.place;
    spec.place_count = job.kept.place_count;
    spec.stops = job.kept.stop;
    spec.stop_count = 1;
    job.kept.task[0][0] = 7;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops[0].tasks",
                 "no place");
    job.kept.task[0][0] = 3;
    job.kept.stop[1] = job.kept.stop[0];
    spec.stop_count = 2;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops[1].tasks",
                 "twice");
    spec.stop_count = 1;
    job.kept.stop[0].whole = 1;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops", NULL);
    job.kept.stop[0].whole = 0;
    job.kept.stop[0].what = 9;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops[0].what",
                 NULL);
    job.kept.stop[0].what = 0;
    job.kept.stop[0].unasked = 1;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops[0].unasked",
                 NULL);
    job.kept.stop[0].unasked = 0;
    job.kept.stop[0].apart = 1;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops[0].apart",
                 NULL);
    job.kept.stop[0].apart = 0;
    job.kept.stop[0].size = 8;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops[0].size",
                 NULL);
    job.kept.stop[0].size = sizeof(struct gang_job_stop);
    spec.past = NULL;
    EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), GANG_EINVAL, &error, "stops", NULL);
    host_close(&h);
}
END_TEST

static gang_job_id preemptor[2];
static int32_t number[2];

static int32_t note_number(const struct gang_job_stop *stop, void *user)
{
    (void)user;
    for (int i = 0; i < 2; i++)
        if (stop->preemptor == preemptor[i])
            number[i] = stop->handover;
    return 0;
}

START_TEST(stops_have_the_number_of_their_preemptor_the_earlier_one_the_lower)
{
    gang_job_id low[2];
    host_open_slow(&h, 2, 4, 60 * SECOND);
    for (int i = 0; i < 2; i++)
        low[i] = host_gang(&h, "default", 4, 0);
    host_run(&h, 1);
    for (int i = 0; i < 2; i++) {
        preemptor[i] = host_gang(&h, "default", 4, 1);
        host_run(&h, 1);
    }
    for (int i = 0; i < 2; i++)
        MUST(gang_job_stop_each(h.s, low[i], note_number, NULL));
    ck_assert_int_eq(number[0], 1);
    ck_assert_int_eq(number[1], 2);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stops_kept");
    TCase *tc = tcase_create("stops_kept");
    tcase_add_test(tc, each_step_keeps_its_deadline);
    tcase_add_test(tc, a_stop_of_the_whole_gang_follows_one_of_single_tasks);
    tcase_add_test(tc, a_fence_keeps_its_places_until_its_time);
    tcase_add_test(tc, a_fenced_task_is_placed_again_when_it_is_over);
    tcase_add_test(tc, a_gang_whose_last_tasks_are_fenced_waits_for_them);
    tcase_add_test(tc, a_move_goes_on);
    tcase_add_test(tc, a_move_that_is_cancelled_ends);
    tcase_add_test(tc, a_move_that_was_given_up_keeps_its_new_places);
    tcase_add_test(tc, a_gang_that_has_stopped_starts_elsewhere_when_the_others_have);
    tcase_add_test(tc, a_move_without_the_other_gangs_of_its_plan_ends);
    tcase_add_test(tc, a_step_of_which_a_task_has_stopped_goes_on);
    tcase_add_test(tc, a_gang_of_which_a_task_has_stopped_goes_on_to_stop);
    tcase_add_test(tc, a_fence_of_which_a_task_is_over_goes_on);
    tcase_add_test(tc, a_fenced_task_that_has_stopped_counts_once);
    tcase_add_test(tc, what_a_victim_has_left_is_kept_for_its_preemptor);
    tcase_add_test(tc, what_tasks_of_a_gang_that_runs_on_held_is_kept);
    tcase_add_test(tc, the_places_of_a_preemptor_are_kept_when_a_victim_has_ended);
    tcase_add_test(tc, what_is_kept_for_no_job_is_free);
    tcase_add_test(tc, memory_that_runs_out_for_what_is_kept_is_tried_again);
    tcase_add_test(tc, places_that_are_kept_twice_are_refused);
    tcase_add_test(tc, memory_that_runs_out_is_tried_again);
    tcase_add_test(tc, stops_that_contradict_the_places_are_refused);
    tcase_add_test(tc, stops_have_the_number_of_their_preemptor_the_earlier_one_the_lower);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
