/* SPDX-License-Identifier: Apache-2.0 */
/* Random jobs of one to three gangs, on a host that refuses, is slow, reports from within its
 * callbacks and about old allocations. Then it behaves: every job must end, and all capacity must
 * be free. One thread: a world always shows the same.
 *   GANG_SEED           the first world; without it the worlds are always the same
 *   GANG_TEST_SECONDS   how long, 1 by default; GANG_TEST_QUICK: WORLDS worlds */
#include <time.h>

#include "chance.h"
#include "host.h"

enum { NODES = 2, GPUS = 4, STEPS = 60, DRAIN = 400, OLD = 64, STUCK = 8, WORLDS = 10 };

/* Jobs of a world. */
enum world_kind {
    PLAIN,   /* gangs that depend on each other, in queues that preempt in several ways */
    ANY_KIND /* and announced jobs, arrays, dependencies, roles, times, reservations, limits */
};

static struct host h;
static enum world_kind kind;
static bool misbehaves;
static int64_t submitted, refused, reservations;
static gang_alloc_id old_alloc[OLD];

static gang_job_id some_job(void)
{
    gang_job_id id = gang_job_next(h.s, GANG_ID_NONE);
    for (int64_t n = below(8); n > 0 && id != GANG_ID_NONE; n--)
        id = gang_job_next(h.s, id);
    return id != GANG_ID_NONE ? id : gang_job_next(h.s, GANG_ID_NONE);
}

/* A report about one task or all, of the present allocation or an old one. */
static void report(gang_job_id id, int32_t gang, gang_alloc_id alloc)
{
    static const int32_t what[] = {GANG_TASK_STARTED, GANG_TASK_SUCCEEDED, GANG_TASK_SUCCEEDED,
                                   GANG_TASK_FAILED,  GANG_TASK_STOPPED,   GANG_TASK_STOPPED,
                                   GANG_TASK_IDLE};
    int64_t task = below(4);
    bool all = below(3) == 0;
    MUST(gang_report_tasks(h.s, id, gang, alloc, all ? NULL : &task, !all, what[below(7)]));
}

/* In each callback, and at each grant that the host has not heard of. */
static void answer(struct host *host, const struct host_event *e)
{
    static const int32_t values[] = {1, GANG_EBUSY, GANG_ENOENT};
    host->refuse = NULL;
    host->lingers = misbehaves && below(2);
    if (!misbehaves)
        return;
    if (e->alloc != GANG_ID_NONE)
        old_alloc[below(OLD)] = e->alloc;
    if (below(4) == 0)
        report(e->job, e->part, below(2) ? e->alloc : GANG_ID_NONE);
    if (below(8) == 0)
        MUST(gang_job_set_target(h.s, e->job, below(4)));
    if (below(6) == 0) {
        host->refuse = e->op;
        host->answer = values[below(3)];
    }
}

static bool draw(int64_t one_in)
{
    return kind == ANY_KIND && below(one_in) == 0;
}

static int64_t seconds(int64_t end)
{
    return (1 + below(end)) * HOST_SECOND;
}

/* Times and bounds of a job. */
static void bound(struct gang_job_spec *job)
{
    if (draw(4))
        job->time_limit_ns = seconds(20);
    if (draw(6))
        job->begin_ns = h.now_ns + seconds(10);
    if (draw(8))
        job->deadline_ns = h.now_ns + seconds(60);
    if (draw(4)) {
        job->start_within_ns = seconds(10);
        job->back_off_ns = below(2) * HOST_SECOND;
    }
    if (draw(4))
        job->heartbeat_ns = seconds(5);
    if (draw(3))
        job->refill_ns = seconds(5);
    if (draw(3))
        job->restart_delay_ns = HOST_SECOND;
    if (draw(5))
        job->parallelism = 1 + below(3);
}

/* What else a job may have. Whatever it points to is read by the submission. */
static void vary(struct gang_job_spec *job)
{
    static const char *const array[] = {"a", "b"};
    static struct gang_job_after after;
    static int32_t roles[3], protected_groups[3];
    static int64_t order[3];
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
    gang_result r = draw(6) ? gang_job_submit_array(h.s, job, 1 + below(3), &id, &error)
                            : gang_job_submit(h.s, job, &id, &error);
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
    gang_reservation_id id = gang_reservation_next(h.s, GANG_ID_NONE);
    int64_t when;
    if (id != GANG_ID_NONE && below(2)) {
        MUST(gang_reservation_cancel(h.s, id));
        return;
    }
    stage.groups = &group;
    stage.group_count = 1;
    spec.name = "r";
    spec.stages = &stage;
    spec.stage_count = 1;
    spec.arrival_ns = h.now_ns;
    spec.start_ns = below(2) ? -1 : h.now_ns + seconds(10);
    spec.duration_ns = seconds(10);
    spec.flags = below(3) == 0 ? GANG_RESERVATION_IGNORE_JOBS : 0;
    gang_result r = gang_reservation_add(h.s, &spec, &id, &when, &error);
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

static void command(gang_job_id id)
{
    switch (below(8)) {
    case 0:
        MUST(gang_job_hold(h.s, id));
        break;
    case 1:
    case 2:
        MUST(gang_job_release(h.s, id));
        break;
    case 3:
        MUST(gang_job_requeue(h.s, id));
        break;
    case 4:
        MUST(gang_job_set_priority(h.s, id, below(4)));
        break;
    case 5:
        if (below(4) == 0)
            MUST(gang_job_cancel(h.s, id));
        break;
    default:
        MUST(gang_job_set_target(h.s, id, below(6) - 1));
        break;
    }
}

/* Of announced jobs, and of times. Messages about other jobs do nothing. */
static void command_any_kind(gang_job_id id)
{
    int64_t what = below(6);
    if (what < 3)
        MUST(gang_job_add_tasks(h.s, id, (int32_t)below(3), below(4) ? 1 + below(3) : -1));
    else if (what == 3)
        MUST(gang_job_complete(h.s, id));
    else if (what == 4)
        MUST(gang_job_set_time_limit(h.s, id, below(20) * HOST_SECOND));
    else
        reserve();
}

static void change_node(void)
{
    gang_node_id node = host_node(&h, (int)below(NODES));
    int64_t what = below(6);
    if (what == 0)
        MUST(gang_report_node_lost(h.s, node));
    else if (what == 1)
        MUST(gang_report_node_draining(h.s, node, h.now_ns + below(5) * HOST_SECOND));
    else
        MUST(gang_report_node_up(h.s, node));
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
    host_open_with(&h, NODES, GPUS, &opts, &ops);
    memset(old_alloc, 0, sizeof(old_alloc));
    host_queues(&h, q, 4);
    h.during = answer;
    host_follow_decisions(&h);
}

static int32_t count_reason(const struct gang_wait *wait, void *user)
{
    (void)wait;
    ++*(int *)user;
    return 0;
}

/* What the host does for a job in the end. */
static void help(gang_job_id id)
{
    struct gang_job_info info = host_job_info(&h, id);
    if (info.held)
        MUST(gang_job_release(h.s, id));
    if (kind == ANY_KIND)
        MUST(gang_job_complete(h.s, id));
    int32_t what = info.state == GANG_JOB_STOPPING ? GANG_TASK_STOPPED : GANG_TASK_SUCCEEDED;
    for (int32_t gang = 0; gang < 3; gang++)
        if (gang_job_alloc(h.s, id, gang) != GANG_ID_NONE || what == GANG_TASK_STOPPED)
            MUST(gang_report_tasks(h.s, id, gang, GANG_ID_NONE, NULL, 0, what));
}

/* The oldest job that is left; it may wait without a reason for a few runs at most. */
static void look_at_first(uint64_t world, int *silent)
{
    int reasons = 0;
    gang_job_id id = gang_job_next(h.s, GANG_ID_NONE);
    if (id == GANG_ID_NONE || host_job_state(&h, id) != GANG_JOB_PENDING)
        return;
    MUST(gang_job_explain(h.s, id, count_reason, &reasons));
    *silent = reasons ? 0 : *silent + 1;
    ck_assert_msg(*silent < STUCK, "world %" PRIu64 ": job %" PRIu64 " waits without a reason",
                  world, id);
}

static int print(const char *text, size_t size, void *user)
{
    (void)user;
    (void)!fwrite(text, 1, size, stderr);
    return 0;
}

static void say_why(gang_job_id id)
{
    (void)!gang_job_write_explanation(h.s, id, print, NULL);
    fputc('\n', stderr);
}

static void drain(uint64_t world)
{
    int silent = 0;
    misbehaves = false;
    for (int i = 0; i < NODES; i++)
        MUST(gang_report_node_up(h.s, host_node(&h, i)));
    for (int i = 0; i < DRAIN && gang_job_next(h.s, GANG_ID_NONE) != GANG_ID_NONE; i++) {
        for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id != GANG_ID_NONE;
             id = gang_job_next(h.s, id))
            help(id);
        h.count = 0;
        host_run(&h,
                 i < DRAIN / 2 ? HOST_SECOND : INT64_C(60) * HOST_SECOND); /* back-off doubles */
        look_at_first(world, &silent);
    }
    gang_job_id left = gang_job_next(h.s, GANG_ID_NONE);
    if (left != GANG_ID_NONE)
        say_why(left);
    ck_assert_msg(left == GANG_ID_NONE, "world %" PRIu64 ": job %" PRIu64 " is left in state %d",
                  world, left, left == GANG_ID_NONE ? -1 : host_job_state(&h, left));
    host_run(&h, INT64_C(10) * HOST_SECOND); /* fences end */
    ck_assert_int_eq(host_gpus_free(&h), NODES * GPUS);
}

static void live(uint64_t world, enum world_kind of)
{
    kind = of;
    chance_state = world;
    open_world();
    misbehaves = true;
    for (int i = 0; i < STEPS; i++) {
        for (int64_t n = below(4); n >= 0; n--)
            step();
        h.count = 0;
        host_run(&h, below(3) * HOST_SECOND);
    }
    drain(world);
    host_close(&h);
}

/* Lives in worlds of a kind for the time that is given. Returns how many. */
static uint64_t live_on(enum world_kind of)
{
    const char *given = getenv("GANG_TEST_SECONDS");
    bool quick = getenv("GANG_TEST_QUICK") != NULL;
    double limit = given ? atof(given) : 1;
    uint64_t first = getenv("GANG_SEED") ? test_seed() : 1, worlds = 0;
    time_t from = time(NULL);
    do
        live(first + worlds++, of);
    while (quick ? worlds < WORLDS : difftime(time(NULL), from) < limit);
    printf("%" PRIu64 " worlds from seed %" PRIu64 "\n", worlds, first);
    return worlds;
}

START_TEST(every_job_ends)
{
    live_on(PLAIN);
}
END_TEST

START_TEST(every_job_of_any_kind_ends)
{
    submitted = refused = reservations = 0;
    uint64_t worlds = live_on(ANY_KIND);
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
    live(worlds[_i], PLAIN);
}
END_TEST

START_TEST(every_job_of_any_kind_ends_in_worlds_where_one_did_not)
{
    static const uint64_t worlds[] = {1001163, 2002886};
    live(worlds[_i], ANY_KIND);
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
