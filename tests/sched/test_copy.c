/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of a scheduler decides as the original: random worlds are copied in the midst of
 * whatever is under way, and both go on with the same events. Their callbacks must be the same,
 * call by call: jobs, places, times, devices. Half of them are copies for hosts
 * (gang_sched_copy()), with messages that no run has processed and with heartbeats. The others
 * are copies for forecasts. Nodes may have changed since the last run. In one test the original
 * alone is asked why its jobs preempt no others: the questions change nothing.
 *   GANG_SEED           begins with this world
 *   GANG_TEST_SECONDS   how long each test, 3 by default */
#include <gangsched/gangsched.h>

#include <stdarg.h>
#include <string.h>

#include "chance.h"
#include "sched/copy/copy.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/record/job_record.h"
#include "sched/slice/slice.h"
#include "suite.h"
#include "support.h"

enum { LOG = 1 << 20, NODES = 10, STEPS = 40, MOST_STEPS = 100000 };
#define SECOND INT64_C(1000000000)

struct side {
    gang_cluster *c;
    gang_worker *w;
    gang_sched *s;
    size_t used;
    char log[LOG]; /* the callbacks of this step */
};

static struct side side[2];
static int sides; /* 2: the copy goes along */
static int64_t now_ns;
static uint64_t world;
static int step, nodes_made;
static int64_t starts_seen, stops_seen, copies_busy, copies_sliced, copies_midway;
static int64_t begins_seen, losses_seen, restores_seen, inside_seen, copies_reserved;
static bool slicing;  /* gangs of some queues take turns */
static bool reserves; /* in this world something is reserved now and then */
static bool whole;    /* it is copied for a host */
static bool memory;   /* devices are asked for by memory */
static bool starving; /* copies are tried with too little memory */
static bool asking;   /* the original is asked why its jobs preempt no others, the copy is not */
static struct fail_mem heap;
static int64_t messages_copied, heartbeats_copied, changes_copied;
static int names_made;
static int64_t answers_seen, nexts_seen;

/* ---- the host ---- */

static void say(struct side *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    to->used += (size_t)vsnprintf(to->log + to->used, LOG - to->used, format, args);
    va_end(args);
    ck_assert_uint_lt(to->used, LOG - 1);
}

static int32_t say_task(const struct gang_task *t, void *user)
{
    say(user, " %d@%" PRIx64 ":%" PRIx64 ",%" PRIx64, t->group, t->node, t->gpus, t->cores[0]);
    return 0;
}

static int32_t record_event(const char *op, const struct gang_event *e, void *user)
{
    struct side *to = user;
    say(to, "%s %" PRIu64 ".%d state %d end %d reason %d because %" PRIu64 " until %" PRId64, op,
        e->job, e->gang, e->state, e->end, e->reason, e->preemptor, e->deadline_ns);
    for (size_t i = 0; i < e->task_count; i++)
        say(to, " #%" PRId64, e->tasks[i]);
    if (e->alloc != GANG_ID_NONE)
        (void)!gang_alloc_each(to->c, e->alloc, say_task, to);
    say(to, "\n");
    return 0;
}

/* Both hosts refuse a time-sliced gang now and then; in some worlds they refuse any gang any
 * request. */
static int32_t refuse(const struct gang_event *e)
{
    uint64_t x = (e->job ^ (uint64_t)e->now_ns) * UINT64_C(0x9e3779b97f4a7c15);
    return (slicing || world % 3 == 0) && x >> 60 == 0;
}

static int32_t refuse_any(const struct gang_event *e)
{
    return world % 3 == 0 && refuse(e);
}

static int32_t on_start(const struct gang_event *e, void *user)
{
    starts_seen++;
    (void)record_event("start", e, user);
    return refuse(e);
}

static int32_t on_grow(const struct gang_event *e, void *user)
{
    (void)record_event("grow", e, user);
    return refuse_any(e);
}

static int32_t on_shrink(const struct gang_event *e, void *user)
{
    (void)record_event("shrink", e, user);
    return refuse_any(e);
}

static int32_t on_preempt(const struct gang_event *e, void *user)
{
    stops_seen++;
    (void)record_event("preempt", e, user);
    return refuse_any(e);
}

static int32_t on_kill(const struct gang_event *e, void *user)
{
    return record_event("kill", e, user);
}

static int32_t on_suspend(const struct gang_event *e, void *user)
{
    (void)record_event("suspend", e, user);
    return refuse(e);
}

static int32_t on_resume(const struct gang_event *e, void *user)
{
    (void)record_event("resume", e, user);
    return refuse(e);
}

static int32_t on_state(const struct gang_event *e, void *user)
{
    return record_event("state", e, user);
}

static int64_t on_predict(const struct gang_event *e, void *user)
{
    (void)user;
    return e->job % 3 ? 0 : (int64_t)(1 + e->job % 7) * 5 * SECOND;
}

static int64_t on_overrun(const struct gang_event *e, void *user)
{
    record_event("overrun", e, user);
    return e->job % 2 ? 0 : 4 * SECOND;
}

static int32_t on_reservation(const struct gang_reservation_event *e, void *user)
{
    struct side *to = user;
    begins_seen += e->what == GANG_RESERVATION_BEGIN;
    losses_seen += e->what == GANG_RESERVATION_LOST;
    restores_seen += e->what == GANG_RESERVATION_RESTORED;
    say(to, "reservation %" PRIu64 " %d.%d time %" PRId64 " from %" PRId64 " to %" PRId64, e->id,
        e->what, e->outcome, e->instance, e->start_ns, e->end_ns);
    for (size_t i = 0; i < e->node_count; i++)
        say(to, " @%" PRIx64, e->nodes[i]);
    for (size_t i = 0; i < e->job_count; i++)
        say(to, " %" PRIu64, e->jobs[i]);
    say(to, "\n");
    return 0;
}

static const struct gang_host_ops ops = {.size = sizeof(ops),
                                         .start = on_start,
                                         .grow = on_grow,
                                         .shrink = on_shrink,
                                         .preempt = on_preempt,
                                         .kill = on_kill,
                                         .suspend = on_suspend,
                                         .resume = on_resume,
                                         .state = on_state,
                                         .predict = on_predict,
                                         .overrun = on_overrun,
                                         .reservation = on_reservation};

static const char *const partitions[] = {"p0", "p1"};

/* ---- events: chosen once, done to both ---- */

#define BOTH(call)                                                               \
    do {                                                                         \
        for (int k = 0; k < sides; k++) {                                        \
            const struct side *at = &side[k];                                    \
            result[k] = (call);                                                  \
        }                                                                        \
        ck_assert_msg(sides < 2 || result[0] == result[1],                       \
                      "world %" PRIu64 " step %d: %s, the copy %s", world, step, \
                      gang_result_name(result[0]), gang_result_name(result[1])); \
    } while (0)

static void add_node(void)
{
    gang_result result[2] = {0, 0};
    char name[32], rack[8], part[8];
    snprintf(name, sizeof(name), "n%d", nodes_made++);
    snprintf(rack, sizeof(rack), "r%d", (int)below(3));
    snprintf(part, sizeof(part), "p%d", (int)below(2));
    struct gang_gpu_spec gpu[8];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    const struct gang_label place = {"rack", rack};
    const char *const in[] = {part};
    size_t gpus = index_below(5);
    const char *model = one_in(2) ? "h" : "v";
    int64_t bytes = (one_in(3) ? 16 : 40) * GIB;
    for (size_t i = 0; i < gpus; i++) {
        if (memory && one_in(10)) /* also on one node, and as no other has it */
            bytes = (4 + below(80)) * GIB;
        gpu[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
        gpu[i].model = model;
        gpu[i].memory_bytes = bytes;
    }
    struct gang_core_spec core[16];
    size_t cores = one_in(2) ? 8 : 0;
    for (size_t i = 0; i < cores; i++)
        core[i] = (struct gang_core_spec){.os_index = (int32_t)i, .numa = -1, .threads = 1};
    spec.name = name;
    spec.cpu_milli = 8000;
    spec.memory_bytes = (8 + below(8)) * GIB;
    spec.gpus = gpu;
    spec.gpu_count = gpus;
    spec.cores = core;
    spec.core_count = cores;
    spec.topology = &place;
    spec.topology_count = 1;
    spec.partitions = in;
    spec.partition_count = one_in(2);
    gang_node_id id[2] = {0, 0};
    BOTH(gang_node_add(at->w, &spec, &id[k], NULL));
    ck_assert(sides < 2 || id[0] == id[1]);
}

static gang_node_id some_node(void)
{
    gang_node_id chosen = GANG_ID_NONE;
    int n = 0;
    for (gang_node_id id = gang_node_next(side[0].c, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_node_next(side[0].c, id))
        if (one_in(++n))
            chosen = id;
    return chosen;
}

static void change_node(void)
{
    gang_result result[2] = {0, 0};
    gang_node_id id = some_node();
    int64_t what = below(8);
    if (what == 0 && gang_node_count(side[0].c) > 4) {
        BOTH(gang_node_remove(at->w, id));
    } else if (what == 1) {
        BOTH(gang_report_node_lost(at->s, id));
    } else if (what == 2) {
        int32_t state = one_in(2) ? GANG_GPU_UNHEALTHY : GANG_GPU_OK;
        BOTH(gang_gpu_set_state(at->w, id, 0, state));
    } else {
        int32_t state = one_in(3) ? GANG_NODE_DRAINING : GANG_NODE_UP;
        BOTH(gang_node_set_state(at->w, id, state));
    }
}

static gang_job_id some_job(int32_t state)
{
    gang_job_id chosen = GANG_ID_NONE;
    int n = 0;
    for (gang_job_id id = gang_job_next(side[0].s, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_job_next(side[0].s, id)) {
        struct gang_job_info info = {.size = sizeof(info)};
        if (gang_job_get(side[0].s, id, &info) == GANG_OK && (state < 0 || info.state == state) &&
            one_in(++n))
            chosen = id;
    }
    return chosen;
}

static const char *const leaf[] = {"a1", "a2", "b", "c"};

/* One that is not over; GANG_ID_NONE: there is none. Valid until the next change: its name. */
static gang_reservation_id some_reservation(const char **name)
{
    gang_reservation_id chosen = GANG_ID_NONE;
    int n = 0;
    for (gang_reservation_id id = gang_reservation_next(side[0].s, GANG_ID_NONE);
         id != GANG_ID_NONE; id = gang_reservation_next(side[0].s, id))
        if (one_in(++n))
            chosen = id;
    struct gang_reservation_info info = {.size = sizeof(info)};
    if (chosen != GANG_ID_NONE)
        MUST(gang_reservation_get(side[0].s, chosen, &info));
    *name = info.name;
    return chosen;
}

/* What does not depend on its groups: queue, user, times. */
static void draw_policy(struct gang_job_spec *job)
{
    job->queue = leaf[below(4)];
    job->priority = below(3);
    job->user = one_in(2) ? "ann" : "bob";
    job->preemptible = one_in(4) ? (int32_t)below(3) : GANG_PREEMPTIBLE;
    job->time_limit_ns = one_in(4) ? 0 : (5 + below(60)) * SECOND;
    job->loss = (int32_t)below(5);
    job->max_restarts = 3;
    job->restart_delay_ns = one_in(2) ? 3 * SECOND : 0;
    job->refill_ns = one_in(2) ? 20 * SECOND : 0;
    job->start_within_ns = one_in(12) ? 40 * SECOND : 0;
    job->prefer_wait_ns = one_in(3) ? below(40) * SECOND : 0;
    job->back_off_ns = one_in(2) ? 5 * SECOND : 0;
    job->heartbeat_ns = whole && one_in(4) ? (5 + below(20)) * SECOND : 0;
    job->hold = one_in(12);
    job->announced = one_in(8);
    job->begin_ns = one_in(12) ? now_ns + below(30) * SECOND : 0;
    job->deadline_ns = one_in(12) ? now_ns + (20 + below(200)) * SECOND : 0;
}

static void submit(void)
{
    gang_result result[2] = {0, 0};
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    struct gang_group_spec group[3] = {group_of(1 + below(4), 500 * below(5), 1000 * below(3)),
                                       group_of(1 + below(3), 1000, 0),
                                       group_of(1 + below(3), 1000, 1000 * below(3))};
    const struct gang_label label = {"team", one_in(2) ? "x" : "y"};
    const struct gang_affinity_rule peer = {"team", one_in(2) ? "x" : NULL,
                                            one_in(2) ? "rack" : NULL, 0, one_in(2)};
    const char *models[] = {"h", "v"};
    struct gang_job_after after = {some_job(-1), (int32_t)below(3), 0};
    struct gang_group_after then[2] = {{1, 0, (int32_t)below(3), 0},
                                       {2, (int32_t)below(2), (int32_t)below(3), 0}};
    size_t groups = one_in(3) ? 2 + index_below(2) : 1;
    for (size_t i = 0; i < groups; i++) {
        group[i].min = one_in(2) ? group[i].count : 1;
        group[i].cpu_milli = slicing && !one_in(4) ? 1000 * (2 + below(7)) : group[i].cpu_milli;
    }
    if (one_in(6) && group[0].gpu_milli == 0)
        group[0].gpu_milli = 250;
    if (one_in(8))
        group[0].gpu_models = models;
    if (memory && one_in(2) && group[0].gpu_milli > 0) {
        group[0].gpu_milli = 0;
        group[0].gpu_memory_bytes = (4 + below(20)) * GIB;
    }
    group[0].gpu_model_count = group[0].gpu_models && group[0].gpu_milli ? 1 + index_below(2) : 0;
    group[0].partition = one_in(8) ? "p0" : NULL;
    job.partitions = partitions;
    job.partition_count = one_in(4) ? 2 : 0;
    job.request.prefer = one_in(3) ? "rack" : NULL;
    group[0].where = one_in(10) ? "node != n3" : NULL;
    group[0].memory_bytes = one_in(3) ? GIB : 0;
    job.request.groups = group;
    job.request.group_count = groups;
    job.request.same = one_in(6) && groups == 1 ? "rack" : NULL;
    job.request.labels = &label;
    job.request.label_count = one_in(5);
    job.request.affinity = &peer;
    job.request.affinity_count = one_in(8);
    job.request.exclusive = one_in(15);
    draw_policy(&job);
    job.after = &after;
    job.after_count = after.job != GANG_ID_NONE && one_in(8);
    job.group_after = then;
    job.group_after_count = groups > 1 && one_in(2) && !job.request.same ? groups - 1 : 0;
    char named[32] = "";
    const char *name = NULL;
    if (reserves && one_in(2) && some_reservation(&name) != GANG_ID_NONE) {
        snprintf(named, sizeof(named), "%s", name); /* each has its own */
        job.reservation = named;
    }
    int64_t count = one_in(5) ? 1 + below(5) : 1;
    gang_job_id id[2] = {0, 0};
    BOTH(gang_job_submit_array(at->s, &job, count, &id[k], NULL));
    ck_assert(sides < 2 || id[0] == id[1]);
}

static void end_job(void)
{
    gang_result result[2] = {0, 0};
    gang_job_id id = some_job(GANG_JOB_RUNNING);
    int32_t success = !one_in(4);
    if (id != GANG_ID_NONE)
        BOTH(gang_report_end(at->s, id, success));
}

static void task_ends(void)
{
    gang_result result[2] = {0, 0};
    gang_job_id id = some_job(GANG_JOB_RUNNING);
    int64_t task = below(3);
    int32_t part = (int32_t)below(3);
    int32_t what = one_in(2) ? GANG_TASK_FAILED : one_in(4) ? GANG_TASK_IDLE : GANG_TASK_SUCCEEDED;
    const int64_t *tasks = one_in(3) ? NULL : &task;
    if (id != GANG_ID_NONE)
        BOTH(gang_report_tasks(at->s, id, part, GANG_ID_NONE, tasks, tasks != NULL, what));
}

/* Its heartbeats are due from now on, or again. */
static void task_lives(void)
{
    gang_result result[2] = {0, 0};
    gang_job_id id = some_job(GANG_JOB_RUNNING);
    int64_t task = below(3);
    const int64_t *tasks = one_in(2) ? &task : NULL;
    if (id != GANG_ID_NONE)
        BOTH(gang_report_tasks(at->s, id, 0, GANG_ID_NONE, tasks, tasks != NULL,
                               GANG_TASK_HEARTBEAT));
}

static void report_stopped(void)
{
    gang_result result[2] = {0, 0};
    gang_job_id id = some_job(one_in(2) ? GANG_JOB_STOPPING : GANG_JOB_RUNNING);
    int32_t part = (int32_t)below(3);
    if (id != GANG_ID_NONE)
        BOTH(gang_report_tasks(at->s, id, part, GANG_ID_NONE, NULL, 0, GANG_TASK_STOPPED));
}

static void command(void)
{
    gang_result result[2] = {0, 0};
    gang_job_id id = some_job(-1);
    int64_t what = below(9), value = below(4);
    int32_t group = (int32_t)below(2);
    if (id == GANG_ID_NONE)
        return;
    if (what == 0)
        BOTH(gang_job_cancel(at->s, id));
    else if (what == 1)
        BOTH(gang_job_hold(at->s, id));
    else if (what == 2)
        BOTH(gang_job_release(at->s, id));
    else if (what == 3)
        BOTH(gang_job_set_priority(at->s, id, value));
    else if (what == 4)
        BOTH(gang_job_requeue(at->s, id));
    else if (what == 5)
        BOTH(gang_job_set_target(at->s, id, value));
    else if (what == 6) /* mostly for nothing: too many, or the job was not announced */
        BOTH(gang_job_add_tasks(at->s, id, group, value ? value : -1));
    else if (what == 7)
        BOTH(gang_job_complete(at->s, id));
    else
        BOTH(gang_job_set_time_limit(at->s, id, (1 + value) * 20 * SECOND));
}

static struct gang_queue_spec random_queue(const char *name, const char *parent,
                                           struct gang_quota quota[2])
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    static struct gang_budget all[8];
    static size_t next;
    struct gang_budget *budget = &all[next++ % 8]; /* set_queues() makes five queues */
    quota[0] = (struct gang_quota){"gpu", 1000 * below(6), NULL, 0, 0};
    quota[1] = (struct gang_quota){"gpu", 1000 * (6 + below(12)), one_in(3) ? "p1" : NULL, 0, 0};
    q.name = name;
    q.parent = parent;
    q.guaranteed = &quota[0];
    q.guaranteed_count = !parent && !one_in(3);
    q.limit = &quota[1];
    q.limit_count = !parent && one_in(3);
    q.grace_ns = one_in(2) ? 10 * SECOND : 0;
    q.order = (int32_t)below(7);
    q.priority_weight_age = below(3) * 100;
    q.priority_weight_fair_share = below(3) * 100;
    q.priority_weight_size = below(3) * 100;
    q.priority_weight_job = below(3);
    q.priority_max_age_ns = 60 * SECOND;
    q.priority_period_ns = 5 * SECOND;
    q.block = one_in(6);
    q.preempt_mode = one_in(3)   ? GANG_PREEMPT_MODE_SUSPEND
                     : one_in(6) ? GANG_PREEMPT_MODE_CANCEL
                                 : GANG_PREEMPT_MODE_REQUEUE;
    q.within = one_in(3) ? GANG_PREEMPT_LOWER : 0;
    q.min_runtime_ns = one_in(5) ? 10 * SECOND : -1;
    q.max_running = one_in(8) ? 3 : 0;
    q.nonpreemptible = one_in(3) ? (int32_t)below(3) : 0;
    q.user_limit = one_in(4) ? GANG_WHOLE / 2 : 0;
    q.backfill = one_in(2) ? GANG_BACKFILL_NONE : (int32_t)below(4);
    q.backfill_order = (int32_t)below(5);
    q.plan_depth = one_in(2) ? 0 : 1 + below(4);
    q.child_order = (int32_t)below(4);
    q.surplus = (int32_t)below(2);
    q.partition_borrow = (int32_t)below(2);
    q.partition_preempt = (int32_t)below(2);
    q.partitions = partitions;
    q.partition_count = one_in(6) ? 1 + index_below(2) : 0;
    q.overrun = (int32_t)below(4);
    q.extend_ns = one_in(2) ? 6 * SECOND : 0;
    q.max_bypasses = one_in(4) ? 1 + below(4) : 0;
    q.max_wait_ns = one_in(6) ? 20 * SECOND : 0;
    q.weight = (double)(1 + below(3));
    q.across = (int32_t)below(3);
    if (!slicing && one_in(3)) {
        budget[0] = (struct gang_budget){"gpu", 1000 * (50 + below(400)),
                                         one_in(2) ? (10 + below(60)) * SECOND : 0, one_in(3),
                                         (int32_t)below(3)};
        q.budgets = budget;
        q.budget_count = 1;
    }
    if (slicing) {
        q.quantum_ns = one_in(3) ? 0 : one_in(5) ? -1 : (2 + below(10)) * SECOND;
        q.quantum_rows = q.quantum_ns > 0 ? below(5) : 0;
        q.quantum_gpus = q.quantum_ns > 0 && one_in(2);
        q.preempt_mode = q.quantum_ns < 0 ? q.preempt_mode : GANG_PREEMPT_MODE_REQUEUE;
    }
    return q;
}

static void set_queues(void)
{
    gang_result result[2] = {0, 0};
    struct gang_quota quota[5][2];
    struct gang_queue_spec q[5] = {
        random_queue("a", NULL, quota[0]), random_queue("a1", "a", quota[1]),
        random_queue("a2", "a", quota[2]), random_queue("b", NULL, quota[3]),
        random_queue("c", NULL, quota[4])};
    for (size_t i = 0; slicing && i < 5; i++)
        if (q[i].quantum_ns >= 0 &&
            (q[i].quantum_ns > 0 || (i > 0 && i < 3 && q[0].quantum_ns > 0)))
            q[i].backfill = GANG_BACKFILL_NONE;
    BOTH(gang_sched_set_queues(at->s, q, 5, NULL));
    ck_assert_msg(result[0] == GANG_OK, "world %" PRIu64 ": %s", world,
                  gang_result_name(result[0]));
}

/* ---- what is reserved ---- */

/* What a stage points to. */
struct stage_storage {
    struct gang_group_spec group[2];
    char node[2][32];
    const char *nodes[2];
};

static void draw_stage(struct gang_reservation_stage *stage, struct stage_storage *storage)
{
    *stage = (struct gang_reservation_stage)GANG_RESERVATION_STAGE_INIT;
    int64_t kind = below(8);
    if (kind < 2) {
        for (int i = 0; i < 2; i++) {
            snprintf(storage->node[i], sizeof(storage->node[i]), "n%d", (int)below(nodes_made));
            storage->nodes[i] = storage->node[i];
        }
        stage->nodes = storage->nodes;
        stage->node_count = 1 + index_below(2);
        return;
    }
    if (kind == 2) {
        stage->level = "rack";
        stage->domain = one_in(2) ? "r1" : NULL;
        stage->domain_count = stage->domain ? 0 : 1;
        return;
    }
    int64_t gang = 1 + below(3);
    storage->group[0] = group_of(gang * (1 + below(3)), 1000 * below(4), 1000 * below(3));
    storage->group[1] = group_of(gang, 1000, 0);
    storage->group[0].min = storage->group[1].min = 0;
    storage->group[0].max_per_node = one_in(3);
    storage->group[0].partition = one_in(6) ? "p0" : NULL;
    storage->group[0].where = one_in(6) ? "node != n3" : NULL;
    stage->groups = storage->group;
    stage->group_count = one_in(4) ? 2 : 1;
    stage->gang_size = one_in(2) ? gang : 0;
    stage->exclusive = one_in(3);
}

static struct gang_reservation_spec draw_reservation(struct gang_reservation_stage *stage,
                                                     struct stage_storage *storage)
{
    static const char *const users[] = {"ann"};
    struct gang_reservation_spec spec = GANG_RESERVATION_SPEC_INIT;
    spec.stages = stage;
    spec.stage_count = one_in(4) ? 2 : 1;
    for (size_t i = 0; i < spec.stage_count; i++)
        draw_stage(&stage[i], &storage[i]);
    spec.owner = one_in(2) ? "ann" : "bob";
    spec.duration_ns = (2 + below(40)) * SECOND;
    spec.arrival_ns = now_ns + below(40) * SECOND;
    spec.start_ns = one_in(3) ? spec.arrival_ns : -1;
    spec.objective = one_in(3) ? (int32_t)below(3) : 0;
    spec.combine = (int32_t)below(4);
    if (spec.objective || one_in(3))
        spec.deadline_ns = spec.arrival_ns + spec.duration_ns * (2 + below(4));
    if (one_in(3)) {
        spec.period_ns = spec.duration_ns * (2 + below(3));
        spec.repetitions = one_in(2) ? 1 + below(12) : 0;
    }
    spec.flags = one_in(2) ? 1 << below(5) : 0;
    spec.queue = one_in(4) ? "a" : NULL;
    spec.users = users;
    spec.user_count = one_in(4);
    spec.job = one_in(8) ? some_job(-1) : GANG_ID_NONE;
    spec.purge_ns = one_in(4) ? (1 + below(20)) * SECOND : 0;
    spec.notice_ns = one_in(3) ? (1 + below(20)) * SECOND : 0;
    return spec;
}

static void reserve(void)
{
    gang_result result[2] = {0, 0};
    struct gang_reservation_stage stage[2];
    struct stage_storage storage[2];
    int64_t when[2] = {0, 0};
    gang_reservation_id id[2] = {0, 0};
    char name[32];
    struct gang_reservation_spec spec = draw_reservation(stage, storage);
    snprintf(name, sizeof(name), "r%d", names_made++);
    spec.name = name;
    BOTH(gang_reservation_add(at->s, &spec, &id[k], &when[k], NULL));
    ck_assert(sides < 2 || (id[0] == id[1] && when[0] == when[1]));
}

static void change_reservation(void)
{
    gang_result result[2] = {0, 0};
    struct gang_reservation_stage stage[2];
    struct stage_storage storage[2];
    int64_t when[2] = {0, 0};
    const char *name;
    char same[32];
    gang_reservation_id id = some_reservation(&name);
    if (id == GANG_ID_NONE)
        return;
    if (one_in(3)) {
        BOTH(gang_reservation_cancel(at->s, id));
        return;
    }
    snprintf(same, sizeof(same), "%s", name);
    struct gang_reservation_spec spec = draw_reservation(stage, storage);
    spec.name = same;
    BOTH(gang_reservation_change(at->s, id, &spec, &when[k], NULL));
    ck_assert(sides < 2 || when[0] == when[1]);
}

static void limit_owner(void)
{
    gang_result result[2] = {0, 0};
    struct gang_reservation_limit limit = GANG_RESERVATION_LIMIT_INIT;
    const char *owner = one_in(2) ? "ann" : NULL;
    limit.max_gpu_milli = 1000 * (8 + below(20));
    limit.average_cpu_milli = one_in(2) ? 1000 * (20 + below(40)) : -1;
    limit.window_ns = 60 * SECOND;
    const struct gang_reservation_limit *set = one_in(3) ? NULL : &limit;
    BOTH(gang_reservation_set_limit(at->s, owner, set, NULL));
}

static void happen_to_reservations(void)
{
    int64_t what = below(10);
    if (what < 5)
        reserve();
    else if (what < 7)
        change_reservation();
    else if (what < 8)
        limit_owner();
}

/* A leaf accepts no job, or starts none, for a while. */
static void set_queue_state(void)
{
    gang_result result[2] = {0, 0};
    gang_queue_id id;
    int32_t state = one_in(2) ? GANG_QUEUE_OPEN : (int32_t)below(3);
    MUST(gang_queue_find(side[0].s, leaf[below(4)], &id));
    BOTH(gang_queue_set_state(at->s, id, state));
}

static int32_t no_text(const char *text, size_t length, void *user)
{
    (void)text, (void)length, (void)user;
    return 0;
}

/* On both sides: it may change which of several equal nodes a later search takes. */
static void explain_one(void)
{
    gang_job_id id = some_job(-1);
    for (int k = 0; id != GANG_ID_NONE && k < sides; k++)
        MUST(gang_job_write_explanation(side[k].s, id, no_text, NULL));
}

static void happen(void)
{
    int64_t what = below(20);
    explain_one();
    if (reserves && one_in(6))
        happen_to_reservations();
    else if (whole && one_in(5))
        task_lives();
    else if (what < 9)
        submit();
    else if (what < 12)
        end_job();
    else if (what < 13)
        task_ends();
    else if (what < 14)
        report_stopped();
    else if (what < 16)
        command();
    else if (what < 17)
        change_node();
    else if (what < 18 && nodes_made < 3 * NODES)
        add_node();
    else if (one_in(20))
        set_queues();
    else if (one_in(10))
        set_queue_state();
}

/* ---- both sides ---- */

static void check(struct side *at, const char *which)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_sched_check(at->s, &error);
    ck_assert_msg(r == GANG_OK, "world %" PRIu64 " step %d, %s: %s: %s", world, step, which,
                  error.path, error.text);
    r = gang_cluster_check(at->c, &error);
    ck_assert_msg(r == GANG_OK, "world %" PRIu64 " step %d, %s: %s", world, step, which,
                  error.text);
}

static int32_t put_text(const char *text, size_t length, void *user)
{
    (void)user;
    return fwrite(text, 1, length, stderr) == length ? 0 : -1;
}

/* When something differs: the reasons of the waiting jobs. */
static void print_explanations(void)
{
    for (int k = 0; k < sides; k++)
        for (gang_job_id id = gang_job_next(side[k].s, GANG_ID_NONE); id != GANG_ID_NONE;
             id = gang_job_next(side[k].s, id)) {
            fprintf(stderr, "\n%s: ", k ? "copy" : "original");
            (void)!gang_job_write_explanation(side[k].s, id, put_text, NULL);
        }
}

static int32_t say_piece(const struct gang_plan_item *item, void *user)
{
    say(user, "%" PRIu64 " %" PRId64 " stage %d from %" PRId64 " to %" PRId64, item->id,
        item->instance, item->gang, item->start_ns, item->end_ns);
    for (size_t i = 0; i < item->node_count; i++)
        say(user, " %" PRIx64, item->nodes[i]);
    say(user, "\n");
    return 0;
}

/* The log goes on with what is reserved, and where. */
static void say_reservations(struct side *at)
{
    for (gang_reservation_id id = gang_reservation_next(at->s, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_reservation_next(at->s, id)) {
        struct gang_reservation_info i = {.size = sizeof(i)};
        MUST(gang_reservation_get(at->s, id, &i));
        say(at, "%s state %d time %" PRId64 " runs %" PRId64 " waits %" PRId64 "\n", i.name,
            i.state, i.instance, i.running, i.waiting);
        MUST(gang_reservation_pieces(at->s, id, say_piece, at));
        inside_seen += i.running;
    }
}

/* Only the original is asked about all its jobs: what follows must not depend on it. */
static void ask_all(void)
{
    for (gang_job_id id = gang_job_next(side[0].s, GANG_ID_NONE);
         asking && sides > 1 && id != GANG_ID_NONE; id = gang_job_next(side[0].s, id)) {
        struct gang_preemption *p;
        MUST(gang_job_explain_preemption(side[0].s, id, &p));
        answers_seen += p->outcome != GANG_PREEMPTION_NONE;
        nexts_seen += p->outcome == GANG_PREEMPTION_NEXT;
        gang_preemption_free(p);
    }
}

static void run_both(void)
{
    struct gang_run_opts opts = GANG_RUN_OPTS_INIT;
    struct gang_run_info info = GANG_RUN_INFO_INIT;
    opts.max_steps = MOST_STEPS;
    for (int k = 0; k < sides; k++) {
        side[k].used = 0;
        side[k].log[0] = '\0';
        MUST(gang_sched_run(side[k].s, now_ns, &opts, &info));
        ck_assert_msg(!info.more, "world %" PRIu64 " step %d: they preempt each other without end",
                      world, step);
        check(&side[k], k ? "the copy" : "the original");
        say_reservations(&side[k]);
    }
    if (sides > 1 && strcmp(side[0].log, side[1].log) != 0)
        print_explanations();
    ck_assert_msg(sides < 2 || strcmp(side[0].log, side[1].log) == 0,
                  "world %" PRIu64 " step %d: the original\n%s\nthe copy\n%s", world, step,
                  side[0].log, side[1].log);
    if (sides > 1 && gang_sched_next(side[0].s) != gang_sched_next(side[1].s))
        print_explanations();
    ck_assert_msg(sides < 2 || gang_sched_next(side[0].s) == gang_sched_next(side[1].s),
                  "world %" PRIu64 " step %d: next at %" PRId64 ", of the copy %" PRId64, world,
                  step, gang_sched_next(side[0].s), gang_sched_next(side[1].s));
    for (gang_job_id id = gang_job_next(side[0].s, GANG_ID_NONE); sides > 1 && id != GANG_ID_NONE;
         id = gang_job_next(side[0].s, id)) {
        struct gang_job_info a = {.size = sizeof(a)}, b = {.size = sizeof(b)};
        MUST(gang_job_get(side[0].s, id, &a));
        MUST(gang_job_get(side[1].s, id, &b));
        ck_assert_msg(a.state == b.state && a.tasks == b.tasks && a.planned_ns == b.planned_ns &&
                          a.started_ns == b.started_ns && a.preemptions == b.preemptions &&
                          a.slice_row == b.slice_row && a.suspended_ns == b.suspended_ns,
                      "world %" PRIu64 " step %d: job %" PRIu64 " planned %" PRId64
                      ", in the copy %" PRId64,
                      world, step, id, a.planned_ns, b.planned_ns);
    }
}

static void open_world(void)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_cluster_opts cluster = GANG_CLUSTER_OPTS_INIT;
    const char *const levels[] = {"rack"};
    static const int32_t policies[] = {
        GANG_POLICY_DEFAULT,        GANG_POLICY_PACK, GANG_POLICY_SPREAD,  GANG_POLICY_BEST_FIT,
        GANG_POLICY_GPU_CLUSTERING, GANG_POLICY_FGD,  GANG_POLICY_HEADROOM};
    memset(side, 0, sizeof(side));
    fail_mem_init(&heap, 0);
    cluster.mem = opts.mem = &heap.mem;
    sides = 1;
    nodes_made = names_made = 0;
    memory = one_in(5);
    reserves = one_in(2);
    whole = one_in(2);
    now_ns = SECOND;
    cluster.levels = levels;
    cluster.level_count = 1;
    cluster.policy = policies[below(7)];
    MUST(gang_cluster_new(&cluster, &side[0].c, NULL));
    MUST(gang_worker_new(side[0].c, &side[0].w));
    MUST(gang_kind_add(side[0].w, "seats", NULL, GANG_SCOPE_CLUSTER, 7, NULL));
    MUST(gang_partition_set(side[0].w, "p0", (int32_t)below(3)));
    MUST(gang_partition_set(side[0].w, "p1", GANG_PARTITION_SHARED));
    for (int i = 0; i < NODES; i++)
        add_node();
    opts.half_life_ns = one_in(4) ? 30 * SECOND : 0;
    MUST(gang_sched_new(side[0].c, &opts, &ops, &side[0], &side[0].s, NULL));
    set_queues();
}

/* In either order. */
static void close_world(void)
{
    int first = sides > 1 && one_in(2);
    for (int k = 0; k < sides; k++) {
        struct side *at = &side[k ^ first];
        gang_sched_free(at->s);
        gang_cluster_free(at->c);
    }
    ck_assert_msg(heap.live == 0, "world %" PRIu64 ": %ld blocks are lost", world, heap.live);
}

static void take_step(void)
{
    for (int64_t n = below(4); n > 0; n--)
        happen();
    int64_t next = gang_sched_next(side[0].s);
    now_ns += one_in(3) ? 0 : (1 + below(5)) * SECOND;
    if (one_in(3) && next > now_ns && next < now_ns + 60 * SECOND)
        now_ns = next;
    ask_all(); /* before messages are taken in, */
    run_both();
    ask_all(); /* and when nothing is left to do */
}

/* Does the copy hold gangs in a matrix? Are some of them still suspending? */
static void count_slices(void)
{
    bool sliced = false, midway = false;
    for (const struct gang__matrix *m = side[0].s->slice.matrices; m; m = m->next) {
        sliced = sliced || m->rows > 1;
        for (const struct gang__sliced *x = m->first; x; x = x->next)
            midway = midway || (x->gang && x->state == GANG__SLICED_STOPS && x->left > 0);
    }
    copies_sliced += sliced;
    copies_midway += midway;
}

/* What no run has seen yet; in a copy for a host this includes messages. */
static void happen_before(void)
{
    uint64_t epoch = side[0].c->nodes.epoch, states = side[0].c->nodes.states;
    if (reserves && one_in(2))
        happen_to_reservations();
    for (int64_t n = whole && one_in(2) ? 1 + below(6) : 0; n > 0; n--)
        happen();
    if (one_in(3))
        add_node();
    if (one_in(3)) {
        gang_result result[2] = {0, 0};
        int32_t state = one_in(2) ? GANG_NODE_DOWN : one_in(2) ? GANG_NODE_DRAINING : GANG_NODE_UP;
        gang_node_id id = some_node();
        BOTH(gang_node_set_state(at->w, id, state));
    }
    changes_copied += epoch != side[0].c->nodes.epoch || states != side[0].c->nodes.states;
}

static void count_messages(void)
{
    const gang_sched *s = side[0].s;
    messages_copied += s->intake.backlog != NULL;
    for (gang_job_id id = gang_job_next(side[0].s, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_job_next(side[0].s, id))
        heartbeats_copied += gang__job_of(s, id)->heartbeats != NULL;
}

static gang_result make_copy(struct gang_error *error)
{
    return whole ? gang_sched_copy(side[0].s, &ops, &side[1], &side[1].c, &side[1].s, error)
                 : gang__sched_copy(side[0].s, &ops, &side[1], &side[1].s, error);
}

/* Each allocation fails in turn: nothing is lost, and nothing is there. */
static void starve(void)
{
    gang_result r = GANG_ENOMEM;
    for (long n = 1; r != GANG_OK; n++) {
        long live = heap.live;
        heap.calls = 0;
        heap.fail_at = n;
        r = make_copy(NULL);
        heap.fail_at = 0;
        ck_assert_msg(r == GANG_OK || (r == GANG_ENOMEM && !side[1].s && !side[1].c),
                      "world %" PRIu64 ", allocation %ld: %s", world, n, gang_result_name(r));
        gang_cluster *c = gang_sched_cluster(side[1].s);
        gang_sched_free(side[1].s);
        gang_cluster_free(c);
        side[1].s = NULL;
        side[1].c = NULL;
        ck_assert_msg(heap.live == live, "world %" PRIu64 ", allocation %ld: %ld are lost", world,
                      n, heap.live - live);
    }
}

static void copy_world(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    happen_before();
    if (starving)
        starve();
    gang_result r = make_copy(&error);
    ck_assert_msg(r == GANG_OK, "world %" PRIu64 ": %s: %s", world, error.path, error.text);
    ck_assert(!whole || side[1].c == gang_sched_cluster(side[1].s));
    side[1].c = gang_sched_cluster(side[1].s);
    count_messages();
    MUST(gang_worker_new(side[1].c, &side[1].w));
    sides = 2;
    copies_busy += side[0].s->stop.handovers != NULL;
    copies_reserved += side[0].s->reserve.count > 0;
    count_slices();
    check(&side[0], "the original");
    check(&side[1], "the copy");
}

static void live(void)
{
    open_world();
    int before = (int)below(STEPS);
    for (step = 0; step < before; step++)
        take_step();
    copy_world();
    for (; step < before + STEPS; step++)
        take_step();
    close_world();
}

static void live_on(void)
{
    const char *seconds = getenv("GANG_TEST_SECONDS");
    time_t end = time(NULL) + (seconds ? atoi(seconds) : 3);
    int64_t worlds = 0;
    world = test_seed();
    do {
        chance_state = world;
        live();
        world++;
        worlds++;
    } while (time(NULL) < end);
    printf("%" PRId64 " worlds, %" PRId64 " starts, %" PRId64 " preemptions, %" PRId64
           " copies with a stopping gang, %" PRId64 " of several rows, %" PRId64
           " in the midst of a change of turns, %" PRId64 " with something reserved; %" PRId64
           " times something reserved began, %" PRId64 " times it lost nodes, %" PRId64
           " times it grew again, %" PRId64 " times a job ran inside\n",
           worlds, starts_seen, stops_seen, copies_busy, copies_sliced, copies_midway,
           copies_reserved, begins_seen, losses_seen, restores_seen, inside_seen);
    printf("%" PRId64 " copies with messages, %" PRId64 " jobs with heartbeats, %" PRId64
           " copies with nodes that changed\n",
           messages_copied, heartbeats_copied, changes_copied);
    ck_assert_int_gt(starts_seen, 0);
    if (asking)
        printf("%" PRId64 " answers, %" PRId64 " that a job is next\n", answers_seen, nexts_seen);
    ck_assert(!asking || worlds < 30 || answers_seen > 0);
    ck_assert(!asking || worlds < 200 || nexts_seen > 0); /* in one world of forty */
    ck_assert(worlds < 100 || (messages_copied > 0 && heartbeats_copied > 0 && changes_copied > 0));
    ck_assert(worlds < 30 || slicing ||
              (copies_reserved > 0 && begins_seen > 0 && inside_seen > 0));
}

START_TEST(a_copy_decides_like_its_original)
{
    slicing = asking = starving = false;
    live_on();
}
END_TEST

START_TEST(a_copy_rotates_time_slices_like_its_original)
{
    slicing = true;
    asking = starving = false;
    live_on();
}
END_TEST

START_TEST(questions_about_preemption_change_nothing)
{
    asking = true;
    starving = slicing = false;
    live_on();
    slicing = true;
    live_on();
}
END_TEST

/* A question was the reason that the next event from outside led to a preemption. */
START_TEST(questions_change_nothing_in_a_world_where_one_did)
{
    asking = true;
    starving = slicing = false;
    chance_state = world = UINT64_C(20785062410);
    live();
}
END_TEST

START_TEST(a_failed_copy_leaks_nothing)
{
    starving = true;
    asking = slicing = false;
    live_on();
    slicing = true;
    live_on();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy");
    TCase *tests = tcase_create("copy");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, a_copy_decides_like_its_original);
    tcase_add_test(tests, a_copy_rotates_time_slices_like_its_original);
    tcase_add_test(tests, questions_about_preemption_change_nothing);
    tcase_add_test(tests, questions_change_nothing_in_a_world_where_one_did);
    tcase_add_test(tests, a_failed_copy_leaks_nothing);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
