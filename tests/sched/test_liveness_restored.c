/* SPDX-License-Identifier: Apache-2.0 */
/* Every job ends once its host behaves (liveness.h), also if that host is killed and made anew at
 * times: in a new scheduler it submits its jobs as they were (gang_job_get_past()). Some of their
 * tasks have ended meanwhile, others are gone, and nodes are in other states. At other times it
 * goes on with a copy of its scheduler. The queues have guarantees, budgets, orders and limits;
 * what is not preemptible has a place only within a guarantee. */
#include "sched/liveness.h"
#include "sched/restored_host.h"

enum { OWNER = 4, QUEUES, JOBS = 512 };

/* What the host keeps of a job beside its past. */
struct kept_job {
    gang_job_id id;
    bool over;
    struct gang_group_spec group[2];
    int32_t roles[2], protected_groups[2];
    struct gang_job_after after;
    struct gang_job_spec spec;
};

static struct kept_job job[JOBS];
static size_t jobs;
static struct gang_queue_spec queue[QUEUES];
static struct gang_quota guaranteed;
static struct gang_budget budget;
static struct gang_sched_opts opts;
static int64_t submitted, refused, restored, runs_on, stops, lost, copied;
static uint64_t world_now;

/* ---- jobs ------------------------------------------------------------------------------------ */

static void vary(struct kept_job *k)
{
    static const char *const array[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        k->roles[i] = below(2) ? GANG_ROLE_MEMBER : (int32_t)below(5);
        k->protected_groups[i] = one_in(4);
    }
    k->spec.roles = one_in(3) ? k->roles : NULL;
    k->spec.protected_groups = one_in(4) ? k->protected_groups : NULL;
    k->spec.start_full = one_in(4);
    k->spec.never_preempts = one_in(5);
    if (one_in(4)) {
        k->spec.array = array[below(2)];
        k->spec.array_max_running = below(3);
    }
    k->after = (struct gang_job_after){one_in(5) ? some_job() : GANG_ID_NONE, (int32_t)below(3), 0};
    k->spec.after = k->after.job != GANG_ID_NONE ? &k->after : NULL;
    k->spec.after_count = k->after.job != GANG_ID_NONE;
}

/* May the job be of a kind that is not preemptible? */
static bool fits_guarantee(const struct kept_job *k)
{
    int64_t min = 0;
    for (size_t i = 0; i < k->spec.request.group_count; i++)
        min += k->group[i].min;
    return k->spec.queue == queue[OWNER].name && min * 1000 <= guaranteed.amount;
}

static void submit(void)
{
    struct kept_job *k = &job[jobs];
    struct gang_error error = GANG_ERROR_INIT;
    size_t groups = 1 + (size_t)below(2);
    ck_assert_uint_lt(jobs, JOBS);
    memset(k, 0, sizeof(*k));
    for (size_t i = 0; i < groups; i++) {
        int64_t count = 1 + below(groups == 1 ? 8 : 4);
        k->group[i] = host_gpus(count, 1 + below(count));
    }
    k->spec = host_job(k->group, groups);
    k->spec.queue = queue[below(QUEUES)].name;
    k->spec.priority = below(4);
    k->spec.loss = (int32_t)below(5);
    k->spec.max_restarts = k->spec.loss == GANG_LOSS_RESTART ? below(3) : 0;
    k->spec.hold = one_in(10);
    k->spec.user = below(2) ? "u" : "v";
    bound(&k->spec);
    vary(k);
    if (fits_guarantee(k))
        k->spec.preemptible = (int32_t)below(3);
    gang_result r = gang_job_submit(h->s, &k->spec, &k->id, &error);
    ck_assert_msg(r == GANG_OK || error.path[0], "%s: %s: %s", gang_result_name(r), error.path,
                  error.text);
    submitted += r == GANG_OK;
    refused += r != GANG_OK;
    jobs += r == GANG_OK;
}

/* The host hears of the end of a job. */
static void hear(struct host *host, const struct host_event *e)
{
    for (size_t i = 0; i < jobs && e->state == GANG_JOB_ENDED; i++)
        if (job[i].id == e->job && strcmp(e->op, "state") == 0) {
            job[i].over = true;
            ck_assert_msg(e->end != GANG_END_REFUSED,
                          "world %" PRIu64 ": job %" PRIu64 " is refused", world_now, e->job);
        }
    answer(host, e);
}

/* ---- a host that is made anew ---------------------------------------------------------------- */

static void open_host(struct host *to)
{
    struct gang_host_ops ops = host_table();
    host_open_with(to, NODES, GPUS, &opts, &ops);
    memset(old_alloc, 0, sizeof(old_alloc));
    host_queues(to, queue, QUEUES);
    to->during = hear;
}

static void restore_node(struct host *to, int i)
{
    struct gang_node_info info = {.size = sizeof(info)};
    MUST(gang_node_get(h->stage.c, host_node(h, i), &info));
    int32_t state = one_in(8) ? GANG_NODE_DOWN : one_in(8) ? GANG_NODE_UP : info.state;
    MUST(gang_node_set_state(to->stage.w, host_node(to, i), state));
}

static int32_t restore_usage(const struct gang_past_usage *u, void *user)
{
    MUST(gang_past_usage_restore(user, u, NULL));
    return 0;
}

static bool is_in_a_stop(const struct restored *k, int64_t task)
{
    for (size_t i = 0; i < k->stop_count; i++)
        for (size_t n = 0; n < k->stop[i].task_count; n++)
            if (k->task[i][n] == task)
                return true;
    return false;
}

/* Some tasks that ran have ended meanwhile, or are gone. */
static void lose_tasks(struct restored *k)
{
    static const int32_t what[] = {GANG_TASK_STARTED, GANG_TASK_SUCCEEDED, GANG_TASK_FAILED};
    for (size_t i = 0; i < k->place_count; i++)
        if (k->place[i].node && k->place[i].what == GANG_TASK_STARTED && one_in(6) &&
            !is_in_a_stop(k, k->place[i].task)) {
            k->place[i] = (struct gang_running_spec){.what = what[below(3)],
                                                     .numbered = 1,
                                                     .task = k->place[i].task,
                                                     .grouped = 1,
                                                     .group = k->place[i].group};
            lost++;
        }
}

static void restore_job(struct host *to, const struct kept_job *k)
{
    static struct restored kept;
    struct gang_job_spec spec = k->spec;
    if (!host_has(h, k->id)) { /* no run has accepted it yet */
        spec.id = k->id;
        ck_assert_uint_eq(host_submit(to, &spec), k->id);
        return;
    }
    struct gang_job_info info = host_job_info(h, k->id);
    restored_keep(&kept, h, k->id);
    spec.hold = info.held;
    spec.priority = info.priority;
    if (one_in(3))
        lose_tasks(&kept);
    runs_on += info.state == GANG_JOB_RUNNING;
    stops += kept.stop_count > 0;
    restored_submit(&kept, to, k->id, &spec);
}

/* The host reports what has happened meanwhile, before the first run or after it. */
static void report_some(void)
{
    for (size_t i = 0; i < jobs; i++)
        if (!job[i].over && one_in(8))
            report(job[i].id, 0, GANG_ID_NONE);
}

static void make_anew(void)
{
    struct host *to = h == &host_of[0] ? &host_of[1] : &host_of[0];
    open_host(to);
    to->now_ns = h->now_ns + (one_in(2) ? 0 : seconds(5));
    for (int i = 0; i < NODES; i++)
        restore_node(to, i);
    MUST(gang_past_usage_each(h->s, restore_usage, to->s));
    for (size_t i = 0; i < jobs; i++)
        if (!job[i].over)
            restore_job(to, &job[i]);
    host_close(h);
    h = to;
    host_follow_decisions(h);
    restored++;
    if (one_in(3))
        report_some();
}

/* The host changes to a copy of its scheduler, and forgets the original. */
static void go_on_with_copy(void)
{
    struct gang_host_ops ops = host_table();
    gang_cluster *c;
    gang_sched *s;
    MUST(gang_sched_copy(h->s, &ops, h, &c, &s, NULL));
    gang_sched_free(h->s);
    gang_worker_free(h->stage.w);
    gang_cluster_free(h->stage.c);
    h->s = s;
    h->stage.c = c;
    MUST(gang_worker_new(c, &h->stage.w));
    copied++;
}

/* ---- worlds ---------------------------------------------------------------------------------- */

static void step(void)
{
    gang_job_id id = some_job();
    int64_t what = below(10);
    if (what < 3 || id == GANG_ID_NONE)
        submit();
    else if (what < 5)
        command(id);
    else if (what < 9)
        report(id, 0, below(3) ? GANG_ID_NONE : old_alloc[below(OLD)]);
    else
        change_node();
}

/* The jobs of queue "cancel" need less than the budget of a period. */
static void draw_budget(struct gang_queue_spec *q)
{
    budget = (struct gang_budget){"gpu", 250000, INT64_C(60) * HOST_SECOND, (int32_t)below(2),
                                  (int32_t)below(3)};
    q->budgets = &budget;
    q->budget_count = 1;
    q->default_time_limit_ns = INT64_C(10) * HOST_SECOND;
}

/* Rules about order and time, which differ from world to world. */
static void draw_rules(struct gang_queue_spec *q)
{
    q->within = (int32_t)below(4);
    q->order = (int32_t)below(7);
    q->min_runtime_ns = one_in(3) ? seconds(5) : 0;
    q->user_limit = one_in(3) ? GANG_WHOLE / 2 : 0;
    q->overrun = one_in(3) ? GANG_OVERRUN_EXTEND : 0;
    q->extend_ns = seconds(5);
}

static void draw_queues(void)
{
    static const char *const name[] = {"requeue", "suspend", "cancel", "slice", "owner"};
    guaranteed = (struct gang_quota){"gpu", (1 + below(2)) * GPUS * 1000, NULL, 0, 0};
    for (int i = 0; i < QUEUES; i++) {
        queue[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        queue[i].name = name[i];
        queue[i].grace_ns = below(3) * HOST_SECOND;
        queue[i].preempt_mode = i < 3 ? i : GANG_PREEMPT_MODE_REQUEUE;
        if (one_in(3))
            draw_rules(&queue[i]);
    }
    queue[0].max_running = below(3);
    queue[1].stale_ns = below(3) * HOST_SECOND;
    queue[2].max_running_per_user = below(2);
    if (one_in(2))
        draw_budget(&queue[2]);
    queue[3].quantum_ns = 2 * HOST_SECOND;
    queue[3].quantum_gpus = (int32_t)below(2);
    queue[OWNER].guaranteed = &guaranteed;
    queue[OWNER].guaranteed_count = 1;
}

static void live(uint64_t world)
{
    static const int64_t kill_wait_ns[] = {0, HOST_SECOND, -1};
    chance_state = world;
    jobs = 0;
    draw_queues();
    opts = (struct gang_sched_opts)GANG_SCHED_OPTS_INIT;
    opts.fence_ns = 2 * HOST_SECOND;
    opts.refused_ns = HOST_SECOND;
    opts.preempt_cooldown_ns = -1;
    opts.kill_wait_ns = kill_wait_ns[below(3)];
    opts.half_life_ns = one_in(2) ? seconds(60) : 0;
    world_now = world;
    open_host(h);
    host_follow_decisions(h);
    misbehaves = true;
    for (int i = 0; i < STEPS; i++) {
        for (int64_t n = below(4); n >= 0; n--)
            step();
        if (one_in(12))
            make_anew();
        else if (one_in(30))
            go_on_with_copy();
        h->count = 0;
        host_run(h, below(3) * HOST_SECOND);
    }
    drain(world);
    host_close(h);
}

START_TEST(every_job_ends_though_its_host_is_made_anew)
{
    submitted = refused = restored = runs_on = stops = lost = copied = 0;
    uint64_t worlds = live_on(live);
    printf("%" PRId64 " jobs, %" PRId64 " refused; %" PRId64 " hosts made anew, %" PRId64
           " jobs ran, %" PRId64 " were stopping, %" PRId64 " tasks were gone, %" PRId64
           " copies\n",
           submitted, refused, restored, runs_on, stops, lost, copied);
    ck_assert_int_gt(submitted, (int64_t)worlds);
    ck_assert_int_gt(restored, (int64_t)worlds);
    ck_assert_int_gt(runs_on, restored);
    ck_assert_int_gt(stops, 0);
    ck_assert_int_gt(lost, 0);
}
END_TEST

/* Each of these showed a defect once. */
START_TEST(every_job_ends_in_worlds_where_one_did_not)
{
    static const uint64_t worlds[] = {4275, 10062, 13154};
    live(worlds[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("liveness_restored");
    TCase *t = tcase_create("liveness_restored");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, every_job_ends_though_its_host_is_made_anew);
    tcase_add_loop_test(t, every_job_ends_in_worlds_where_one_did_not, 0, 3);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
