/* SPDX-License-Identifier: Apache-2.0 */
/* Every job ends once its host behaves (liveness.h): random jobs of one to three gangs. */
#include "sched/liveness.h"

/* Jobs of a world. */
enum world_kind {
    PLAIN,   /* gangs that depend on each other, in queues that preempt in several ways */
    ANY_KIND /* and announced jobs, arrays, dependencies, roles, times, reservations, limits */
};

static enum world_kind kind;
static int64_t submitted, refused, reservations;

static bool draw(int64_t one_in)
{
    return kind == ANY_KIND && below(one_in) == 0;
}

/* What else a job may have. Whatever it points to is read by the submission. */
static void vary(struct gang_job_spec *job)
{
    static const char *const array[] = {"a", "b"};
    static struct gang_job_after after;
    static int32_t roles[3], protected_groups[3];
    static int64_t order[3];
    if (kind == ANY_KIND)
        bound(job);
    for (int i = 0; i < 3; i++) {
        roles[i] = below(2) ? GANG_ROLE_MEMBER : (int32_t)below(5);
        protected_groups[i] = below(4) == 0;
        order[i] = below(3);
    }
    job->roles = draw(3) ? roles : NULL;
    job->protected_groups = draw(4) ? protected_groups : NULL;
    job->group_order = draw(4) ? order : NULL;
    job->announced = draw(5);
    job->start_full = draw(4);
    job->never_preempts = draw(5);
    if (draw(4)) {
        job->array = array[below(2)];
        job->array_max_running = below(3);
    }
    if (draw(5)) {
        after = (struct gang_job_after){some_job(), (int32_t)below(3), 0};
        job->after = after.job != GANG_ID_NONE ? &after : NULL;
        job->after_count = after.job != GANG_ID_NONE;
    }
    if (draw(6))
        job->reservation = "r";
}

/* Some of what the jobs of any kind ask for does not go together. */
static void try_submit(const struct gang_job_spec *job)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    gang_result r = draw(6) ? gang_job_submit_array(h->s, job, 1 + below(3), &id, &error)
                            : gang_job_submit(h->s, job, &id, &error);
    ck_assert_msg(r == GANG_OK || (kind == ANY_KIND && error.path[0]), "%s: %s: %s",
                  gang_result_name(r), error.path, error.text);
    submitted += r == GANG_OK;
    refused += r != GANG_OK;
}

static void reserve(void)
{
    struct gang_group_spec group = host_gpus(1 + below(GPUS), 1);
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    struct gang_reservation_spec spec = GANG_RESERVATION_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_reservation_id id = gang_reservation_next(h->s, GANG_ID_NONE);
    int64_t when;
    if (id != GANG_ID_NONE && below(2)) {
        MUST(gang_reservation_cancel(h->s, id));
        return;
    }
    stage.groups = &group;
    stage.group_count = 1;
    spec.name = "r";
    spec.stages = &stage;
    spec.stage_count = 1;
    spec.arrival_ns = h->now_ns;
    spec.start_ns = below(2) ? -1 : h->now_ns + seconds(10);
    spec.duration_ns = seconds(10);
    spec.flags = below(3) == 0 ? GANG_RESERVATION_IGNORE_JOBS : 0;
    gang_result r = gang_reservation_add(h->s, &spec, &id, &when, &error);
    reservations += r == GANG_OK;
    ck_assert_msg(r == GANG_OK || r == GANG_EEXIST || r == GANG_ENOFIT || r == GANG_ENEVER,
                  "%s: %s: %s", gang_result_name(r), error.path, error.text);
}

static void submit(void)
{
    static const char *const queue[] = {"requeue", "suspend", "cancel", "slice"};
    static struct gang_group_spec group[3];
    static struct gang_group_after after[2];
    size_t gangs = 1 + (size_t)below(3);
    for (size_t i = 0; i < gangs; i++) {
        int64_t count = 1 + below(gangs == 1 ? 8 : 4);
        group[i] = host_gpus(count, 1 + below(count));
        if (i > 0)
            after[i - 1] = (struct gang_group_after){(int32_t)i, (int32_t)below((int64_t)i),
                                                     (int32_t)below(3), 0};
    }
    struct gang_job_spec job = host_job(group, gangs);
    job.group_after = gangs > 1 ? after : NULL;
    job.group_after_count = gangs - 1;
    job.queue = queue[below(4)];
    job.priority = below(4);
    job.loss = (int32_t)below(5);
    job.max_restarts = job.loss == GANG_LOSS_RESTART ? below(3) : 0;
    job.hold = below(10) == 0;
    vary(&job);
    try_submit(&job);
}

/* Of announced jobs, and of times. Messages about other jobs do nothing. */
static void command_any_kind(gang_job_id id)
{
    int64_t what = below(6);
    if (what < 3)
        MUST(gang_job_add_tasks(h->s, id, (int32_t)below(3), below(4) ? 1 + below(3) : -1));
    else if (what == 3)
        MUST(gang_job_complete(h->s, id));
    else if (what == 4)
        MUST(gang_job_set_time_limit(h->s, id, below(20) * HOST_SECOND));
    else
        reserve();
}

static void step(void)
{
    gang_job_id id = some_job();
    int64_t what = below(10);
    if (what < 3 || id == GANG_ID_NONE)
        submit();
    else if (draw(4))
        command_any_kind(id);
    else if (what < 5)
        command(id);
    else if (what < 9)
        report(id, (int32_t)below(3), below(3) ? GANG_ID_NONE : old_alloc[below(OLD)]);
    else
        change_node();
}

static void open_world(void)
{
    static const char *const name[] = {"requeue", "suspend", "cancel", "slice"};
    struct gang_queue_spec q[4];
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    for (int i = 0; i < 4; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i].name = name[i];
        q[i].grace_ns = below(3) * HOST_SECOND;
        q[i].preempt_mode = i < 3 ? i : GANG_PREEMPT_MODE_REQUEUE;
    }
    q[3].quantum_ns = 2 * HOST_SECOND;
    if (kind == ANY_KIND) {
        q[0].max_running = below(3);
        q[1].stale_ns = below(3) * HOST_SECOND;
        q[2].max_running_per_user = below(2);
    }
    opts.fence_ns = 2 * HOST_SECOND;
    opts.refused_ns = HOST_SECOND;
    opts.preempt_cooldown_ns = -1;
    host_open_with(h, NODES, GPUS, &opts, &ops);
    memset(old_alloc, 0, sizeof(old_alloc));
    host_queues(h, q, 4);
    h->during = answer;
    host_follow_decisions(h);
}

static void live(uint64_t world, enum world_kind of)
{
    kind = of;
    completes = of == ANY_KIND;
    chance_state = world;
    open_world();
    misbehaves = true;
    for (int i = 0; i < STEPS; i++) {
        for (int64_t n = below(4); n >= 0; n--)
            step();
        h->count = 0;
        host_run(h, below(3) * HOST_SECOND);
    }
    drain(world);
    host_close(h);
}

static void live_plain(uint64_t world)
{
    live(world, PLAIN);
}

static void live_any_kind(uint64_t world)
{
    live(world, ANY_KIND);
}

START_TEST(every_job_ends)
{
    live_on(live_plain);
}
END_TEST

START_TEST(every_job_of_any_kind_ends)
{
    submitted = refused = reservations = 0;
    uint64_t worlds = live_on(live_any_kind);
    printf("%" PRId64 " jobs, %" PRId64 " refused, %" PRId64 " reservations\n", submitted, refused,
           reservations);
    ck_assert_int_gt(submitted, (int64_t)worlds);
    ck_assert_int_gt(submitted, refused);
}
END_TEST

/* Each of these showed a defect once. */
START_TEST(every_job_ends_in_worlds_where_one_did_not)
{
    static const uint64_t worlds[] = {1, 200052, 300638, 400118, 1200088, 2300314};
    live_plain(worlds[_i]);
}
END_TEST

START_TEST(every_job_of_any_kind_ends_in_worlds_where_one_did_not)
{
    static const uint64_t worlds[] = {1001163, 2002886};
    live_any_kind(worlds[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("liveness");
    TCase *t = tcase_create("liveness");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, every_job_ends);
    tcase_add_test(t, every_job_of_any_kind_ends);
    tcase_add_loop_test(t, every_job_ends_in_worlds_where_one_did_not, 0, 6);
    tcase_add_loop_test(t, every_job_of_any_kind_ends_in_worlds_where_one_did_not, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
