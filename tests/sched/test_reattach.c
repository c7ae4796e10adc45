/* SPDX-License-Identifier: Apache-2.0 */
/* A manager is killed and made anew from what its host kept: the specification of each job, its
 * past, and the places of its tasks. From then on it decides as the one that lived: the same
 * callbacks with the same tasks on the same nodes, devices and cores, the same books.
 *   GANG_SEED   another world */
#include <stdarg.h>

#include "chance.h"
#include "sched/host.h"
#include "sched/record/job_record.h"

enum {
    SLICED_NODES = 16, /* of NODES: of the partition that queue "e" shares in time */
    NODES = 100 + SLICED_NODES,
    GPUS = 8,
    JOBS = 1400,
    LOG = 1 << 20,
    STEPS_AFTER = 30,
    STEPS_QUICK = 8, /* the same where a sanitizer makes each one slow */
    SLICING = 4,     /* the queue that slices */
    QUEUES = 5
};
#define SECONDS(n) ((n)*INT64_C(1000000000))

/* What the host keeps of a job. */
struct kept {
    gang_job_id id;
    const char *user;
    int32_t queue, loss, hold, announced, over;
    int64_t count, min, priority, limit_s, add_cores, gpus;
    int64_t arrived;
    int64_t reported_ns; /* the last report about one task */
};

struct side {
    gang_cluster *c;
    gang_worker *w;
    gang_sched *s;
    size_t used;
    char log[LOG]; /* the callbacks of this step */
    bool keeps;    /* the host keeps books of this one */
};

static struct side lived, anew;
static struct kept jobs[JOBS];
static size_t job_count;
static bool quiet; /* most jobs are held, so that some capacity is free, and gangs move */
static int64_t now_ns;
static const char *const queue_name[QUEUES] = {"a", "b", "c", "d", "e"};
static const char *const user_name[] = {"u", "v", "w", "x", "y"};

/* ---- the host -------------------------------------------------------------------------------- */

static void say(struct side *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
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
    say(user, " %" PRId64 "@%" PRIx64 ":%" PRIx64 ",%" PRIx64, t->task, t->node, t->gpus,
        t->cores[0]);
    return 0;
}

static struct kept *kept_of(gang_job_id id)
{
    return id >= 1 && id <= job_count ? &jobs[id - 1] : NULL; /* the ids are 1, 2, ... */
}

static int32_t note(const char *op, const struct gang_event *e, void *user)
{
    struct side *to = user;
    say(to, "%s %" PRIu64 " state %d end %d reason %d because %" PRIu64 " until %" PRId64, op,
        e->job, e->state, e->end, e->reason, e->preemptor, e->deadline_ns);
    for (size_t i = 0; i < e->task_count; i++)
        say(to, " #%" PRId64, e->tasks[i]);
    if (e->alloc != GANG_ID_NONE)
        (void)!gang_alloc_each(to->c, e->alloc, say_task, to);
    say(to, "\n");
    return 0;
}

static int32_t on_start(const struct gang_event *e, void *user)
{
    return note("start", e, user);
}
static int32_t on_grow(const struct gang_event *e, void *user)
{
    return note("grow", e, user);
}
static int32_t on_preempt(const struct gang_event *e, void *user)
{
    return note("preempt", e, user);
}
static int32_t on_suspend(const struct gang_event *e, void *user)
{
    return note("suspend", e, user);
}
static int32_t on_resume(const struct gang_event *e, void *user)
{
    return note("resume", e, user);
}
static int32_t on_shrink(const struct gang_event *e, void *user)
{
    return note("shrink", e, user);
}
static int32_t on_kill(const struct gang_event *e, void *user)
{
    return note("kill", e, user);
}

/* Tasks of every second job may still run. */
static int32_t on_lost(const struct gang_event *e, void *user)
{
    (void)note("lost", e, user);
    return e->job % 2 ? GANG_EBUSY : 0;
}

static int32_t on_state(const struct gang_event *e, void *user)
{
    struct side *to = user;
    struct kept *k = to->keeps ? kept_of(e->job) : NULL;
    if (k && (e->state == GANG_JOB_PENDING || e->state == GANG_JOB_ENDED))
        k->over = e->state == GANG_JOB_ENDED;
    return note("state", e, user);
}

static void set_queues(struct side *to)
{
    struct gang_queue_spec q[QUEUES];
    struct gang_quota part = {"gpu", (NODES - SLICED_NODES) * GPUS * 1000 / 4, NULL, 0, 0};
    const struct gang_budget of_all = {"gpu", 60 * 1000 * 1000, 0, 0, GANG_BUDGET_FINISH},
                             of_each = {"gpu", 2000 * 1000, 200 * SECONDS(1), 1,
                                        GANG_BUDGET_FINISH};
    for (int i = 0; i < QUEUES; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i].name = queue_name[i];
        q[i].grace_ns = SECONDS(30);
        q[i].max_blocked_ns = -1;
        if (i < 3) {
            q[i].guaranteed = &part;
            q[i].guaranteed_count = 1;
        }
        q[i].preempt_mode = i == 2 ? GANG_PREEMPT_MODE_SUSPEND : GANG_PREEMPT_MODE_REQUEUE;
    }
    q[1].budgets = &of_all;
    q[3].budgets = &of_each;
    q[1].budget_count = q[3].budget_count = 1;
    q[3].order = GANG_ORDER_MULTIFACTOR;
    q[3].priority_weight_fair_share = 1000 * GANG_WHOLE;
    q[3].priority_period_ns = SECONDS(1); /* the first run computes priorities: so does each */
    q[SLICING].quantum_ns = SECONDS(40);
    q[SLICING].quantum_rows = 5;
    q[SLICING].quantum_gpus = !quiet;
    MUST(gang_sched_set_queues(to->s, q, QUEUES, NULL));
}

static void make(struct side *to)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_cluster_opts cluster = GANG_CLUSTER_OPTS_INIT;
    static const char *const partition = "shared";
    memset(to, 0, sizeof(*to));
    ops.start = on_start;
    ops.grow = on_grow;
    ops.shrink = on_shrink;
    ops.preempt = on_preempt;
    ops.suspend = on_suspend;
    ops.resume = on_resume;
    ops.kill = on_kill;
    ops.lost = on_lost;
    ops.state = on_state;
    opts.preempt_cooldown_ns = -1;
    opts.half_life_ns = SECONDS(600);
    opts.fence_ns = SECONDS(90);
    MUST(gang_cluster_new(&cluster, &to->c, NULL));
    MUST(gang_worker_new(to->c, &to->w));
    for (int i = 0; i < NODES; i++) {
        struct gang_node_spec node = GANG_NODE_SPEC_INIT;
        struct gang_gpu_spec gpu[GPUS];
        struct gang_core_spec core[32];
        char name[16];
        gang_node_id id;
        memset(gpu, 0, sizeof(gpu));
        memset(core, 0, sizeof(core));
        for (int k = 0; k < GPUS; k++)
            gpu[k].numa = -1;
        for (int k = 0; k < 32; k++)
            core[k] = (struct gang_core_spec){.os_index = k, .numa = -1, .threads = 1};
        snprintf(name, sizeof(name), "n%d", i);
        node.name = name;
        node.cpu_milli = 32000;
        node.memory_bytes = 256 * GIB;
        node.gpus = gpu;
        node.gpu_count = GPUS;
        node.cores = core;
        node.core_count = 32;
        node.partitions = &partition;
        node.partition_count = i >= NODES - SLICED_NODES;
        MUST(gang_node_add(to->w, &node, &id, NULL));
    }
    MUST(gang_partition_set(to->w, partition, GANG_PARTITION_EXCLUSIVE));
    MUST(gang_sched_new(to->c, &opts, &ops, to, &to->s, NULL));
    set_queues(to);
}

static void end(struct side *to)
{
    gang_sched_free(to->s);
    gang_worker_free(to->w);
    gang_cluster_free(to->c);
}

static void run(struct side *to)
{
    struct gang_error error = GANG_ERROR_INIT;
    MUST(gang_sched_run(to->s, now_ns, NULL, NULL));
    if (now_ns % SECONDS(7) == 0)
        EXPECT_RESULT(gang_sched_check(to->s, &error), GANG_OK, &error);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static struct gang_job_spec spec_of(const struct kept *k, struct gang_group_spec *g)
{
    struct gang_job_spec spec = GANG_JOB_SPEC_INIT;
    *g = (struct gang_group_spec)GANG_GROUP_SPEC_INIT;
    g->name = "worker";
    g->count = k->count;
    g->min = k->min;
    g->cpu_milli = 1000 + 1000 * k->add_cores;
    g->memory_bytes = GIB;
    g->gpu_milli = 1000 * k->gpus;
    g->partition = k->queue == SLICING ? "shared" : NULL;
    spec.request.groups = g;
    spec.request.group_count = 1;
    spec.name = "job";
    spec.user = k->user;
    spec.queue = queue_name[k->queue];
    spec.priority = k->priority;
    spec.submit = k - jobs;
    spec.loss = k->loss;
    spec.max_restarts = 3;
    spec.restart_delay_ns = SECONDS(20);
    spec.hold = k->hold;
    spec.announced = k->announced;
    spec.time_limit_ns = SECONDS(k->limit_s);
    return spec;
}

/* A new job, in both managers if there are two. */
static void submit(bool both)
{
    static const int32_t loss[] = {GANG_LOSS_COUNT, GANG_LOSS_RESTART, GANG_LOSS_SHRINK,
                                   GANG_LOSS_REFILL};
    struct kept *k = &jobs[job_count];
    struct gang_group_spec g;
    gang_job_id id;
    if (job_count == JOBS)
        return;
    memset(k, 0, sizeof(*k));
    k->queue = (int32_t)below(QUEUES);
    k->min = 1 + below(6);
    k->count = k->min + (below(2) == 0 ? below(6) : 0);
    k->add_cores = below(3);
    k->gpus = below(8) ? 1 : 1 + below(GPUS); /* gangs move for a large task */
    if (k->gpus > 1)
        k->min = k->count = 1 + below(2);
    if (k->queue == SLICING) { /* rows fill up, and gangs of one row fit beside each other */
        k->add_cores = 3 + below(20);
        k->gpus = below(2);
    }
    k->hold = below(12) == 0 || (quiet && k->gpus == 1 && below(4));
    k->priority = below(3);
    k->limit_s = below(3) ? 0 : 2000 + below(4000);
    k->loss = loss[below(4)];
    k->user = user_name[below(5)];
    k->announced = below(16) == 0;
    struct gang_job_spec spec = spec_of(k, &g);
    MUST(gang_job_submit(lived.s, &spec, &k->id, NULL));
    job_count++;
    if (both) {
        spec.id = k->id; /* the host keeps its ids */
        MUST(gang_job_submit(anew.s, &spec, &id, NULL));
        ck_assert_uint_eq(id, k->id);
    }
}

struct places {
    size_t count;
    struct gang_running_spec place[64];
    struct gang_task task[64];
    char number[64][GPUS][4];
    const char *device[64][GPUS];
    char node[64][GANG_MAX_NAME + 1];
};

static int32_t keep_place(const struct gang_task *t, void *user)
{
    struct places *p = user;
    struct gang_running_spec *at = &p->place[p->count];
    struct gang_node_info info = {.size = sizeof(info)};
    p->task[p->count] = *t;
    MUST(gang_node_get(lived.c, t->node, &info));
    snprintf(p->node[p->count], sizeof(p->node[0]), "%s", info.name);
    *at = (struct gang_running_spec){
        .node = p->node[p->count], .numbered = 1, .task = t->task, .grouped = 1};
    for (unsigned gpu = 0; gpu < GPUS; gpu++)
        if (t->gpus >> gpu & 1) {
            snprintf(p->number[p->count][at->device_count], 4, "%u", gpu);
            p->device[p->count][at->device_count] = p->number[p->count][at->device_count];
            at->device_count++;
        }
    at->devices = p->device[p->count];
    at->cores = p->task[p->count].cores;
    p->count++;
    return 0;
}

static int32_t keep_promised(const struct gang_placement *place, void *user)
{
    struct places *p = user;
    struct gang_task task = {.node = place->node, .gpus = place->any_devices ? 0 : place->gpus};
    memcpy(task.cores, place->cores, sizeof(task.cores));
    (void)keep_place(&task, p);
    p->place[p->count - 1].what = GANG_PLACE_PROMISED;
    p->place[p->count - 1].task = place->task;
    p->place[p->count - 1].numbered = place->task >= 0;
    if (place->any_cores)
        p->place[p->count - 1].cores = NULL;
    return 0;
}

static int32_t keep_resumed(const struct gang_placement *place, void *user)
{
    struct places *p = user;
    struct gang_task task = {.node = place->node, .gpus = place->gpus, .task = place->task};
    memcpy(task.cores, place->cores, sizeof(task.cores));
    (void)keep_place(&task, p);
    p->place[p->count - 1].what = GANG_PLACE_RESUMES;
    if (place->any_cores)
        if (place->any_cores)
            p->place[p->count - 1].cores = NULL;
    return 0;
}

/* Names of nodes where a job failed. */
struct failed {
    size_t count;
    char name[NODES][GANG_MAX_NAME + 1];
    const char *list[NODES];
};

static int32_t keep_failed(gang_node_id node, void *user)
{
    struct failed *f = user;
    struct gang_node_info info = {.size = sizeof(info)};
    MUST(gang_node_get(lived.c, node, &info));
    snprintf(f->name[f->count], sizeof(f->name[0]), "%s", info.name);
    f->list[f->count] = f->name[f->count];
    f->count++;
    return 0;
}

static bool spec_runs(const struct gang_job_past *past)
{
    return past->state != GANG_JOB_PENDING;
}

struct stops {
    size_t count;
    struct gang_job_stop stop[16];
    int64_t task[16][16];
    struct gang_placement kept[16][16], target[16][16]; /* the nodes of both have the same ids */
};

static int32_t keep_stop(const struct gang_job_stop *stop, void *user)
{
    struct stops *to = user;
    ck_assert_uint_lt(to->count, 16);
    ck_assert_uint_le(stop->task_count, 16);
    memcpy(to->task[to->count], stop->tasks, stop->task_count * sizeof(*stop->tasks));
    to->stop[to->count] = *stop;
    to->stop[to->count].tasks = to->task[to->count];
    ck_assert_uint_le(stop->kept_count, 16);
    if (stop->kept_count)
        memcpy(to->kept[to->count], stop->kept, stop->kept_count * sizeof(*stop->kept));
    to->stop[to->count].kept = to->kept[to->count];
    ck_assert_uint_le(stop->target_count, 16);
    if (stop->target_count)
        memcpy(to->target[to->count], stop->targets, stop->target_count * sizeof(*stop->targets));
    to->stop[to->count].targets = to->target[to->count];
    to->count++;
    return 0;
}

/* What stops of a job that lived. */
static const struct stops *stops_of(gang_job_id id)
{
    static struct stops s;
    s.count = 0;
    MUST(gang_job_stop_each(lived.s, id, keep_stop, &s));
    return &s;
}

static bool stops_now(gang_job_id id, int64_t task)
{
    const struct stops *s = stops_of(id);
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->stop[i].task_count; k++)
            if (s->task[i][k] == task)
                return true;
    return false;
}

static bool is_fenced(gang_job_id id, int64_t task)
{
    const struct stops *s = stops_of(id);
    for (size_t i = 0; i < s->count; i++) {
        for (size_t k = 0; k < s->stop[i].task_count; k++)
            if (s->stop[i].what == GANG_STOP_FENCED && s->task[i][k] == task)
                return true;
        for (size_t k = 0; k < s->stop[i].kept_count; k++)
            if (s->stop[i].what == GANG_STOP_FENCED && s->stop[i].kept[k].task == task)
                return true;
    }
    return false;
}

static void attach(const struct kept *k)
{
    static struct places p;
    struct gang_group_spec g;
    struct gang_job_spec spec = spec_of(k, &g);
    struct gang_job_past past = GANG_JOB_PAST_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_job_info info = {.size = sizeof(info)};
    gang_alloc_id alloc = gang_job_alloc(lived.s, k->id, 0);
    gang_job_id id;
    p.count = 0;
    static struct failed failed_on;
    failed_on.count = 0;
    MUST(gang_job_get_past(lived.s, k->id, &past));
    MUST(gang_job_failed_node_each(lived.s, k->id, keep_failed, &failed_on));
    past.failed_nodes = failed_on.list;
    past.failed_node_count = failed_on.count;
    MUST(gang_job_get(lived.s, k->id, &info));
    if (alloc != GANG_ID_NONE)
        MUST(gang_alloc_each(lived.c, alloc, keep_place, &p));
    MUST(gang_job_suspended_each(lived.s, k->id, keep_resumed, &p));
    const struct stops *stops = stops_of(k->id);
    /* The host knows which tasks ended: of reports that took effect, the manager's own books. */
    const struct gang__gang *g0 = &gang__job_of(lived.s, k->id)->gang[0];
    int64_t failed = g0->failed[0] - (k->loss == GANG_LOSS_REFILL ? 0 : g0->stop.fenced_tasks);
    for (int64_t task = 0; spec_runs(&past) && task < k->count; task++)
        if (g0->ended_tasks && g0->ended_tasks[0] >> task & 1 && !is_fenced(k->id, task))
            p.place[p.count++] = (struct gang_running_spec){
                .what = failed-- > 0 ? GANG_TASK_FAILED : GANG_TASK_SUCCEEDED,
                .numbered = 1,
                .task = task,
                .grouped = 1};
    MUST(gang_job_promised_each(lived.s, k->id, keep_promised, &p));
    spec.id = k->id;
    spec.hold = info.held;
    spec.running = past.state != GANG_JOB_PENDING;
    spec.places = p.place;
    spec.place_count = p.count;
    spec.past = &past;
    spec.stops = stops->stop;
    spec.stop_count = stops->count;
    spec.announced = spec.announced && !spec.running && info.missing > 0;
    if (k->announced && !spec.announced && spec.running == 0)
        spec.announced = 0;
    EXPECT_RESULT(gang_job_submit(anew.s, &spec, &id, &error), GANG_OK, &error);
    if (spec.announced && k->arrived)
        MUST(gang_job_add_tasks(anew.s, k->id, 0, k->arrived));
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct side *side_of(int i)
{
    return i == 0 ? &lived : &anew;
}

static void report_all(struct kept *k, int sides, int32_t what)
{
    for (int i = 0; i < sides; i++)
        MUST(gang_report_tasks(side_of(i)->s, k->id, 0, GANG_ID_NONE, NULL, 0, what));
}

static int32_t first_task(const struct gang_task *t, void *user)
{
    *(int64_t *)user = t->task;
    return 1;
}

static void report_one(struct kept *k, int sides, int32_t what)
{
    int64_t task = -1;
    (void)!gang_alloc_each(lived.c, gang_job_alloc(lived.s, k->id, 0), first_task, &task);
    if (task < 0 || stops_now(k->id, task) || k->reported_ns == now_ns)
        return;
    k->reported_ns = now_ns;
    for (int i = 0; i < sides; i++)
        MUST(gang_report_tasks(side_of(i)->s, k->id, 0, GANG_ID_NONE, &task, 1, what));
}

/* Tasks of one step have stopped, or of a fence: all, or the first half. */
static void report_stopped(struct kept *k, int sides)
{
    const struct stops *s = stops_of(k->id);
    size_t at = s->count ? (size_t)below((int64_t)s->count) : 0;
    size_t count = s->count ? s->stop[at].task_count : 0;
    count -= below(2) ? count / 2 : 0;
    for (int i = 0; count > 0 && i < sides; i++)
        MUST(gang_report_tasks(side_of(i)->s, k->id, 0, GANG_ID_NONE, s->stop[at].tasks, count,
                               GANG_TASK_STOPPED));
}

/* A node is lost; the last one that was is up again. */
static void lose_node(int sides)
{
    static gang_node_id down;
    static int64_t at_ns;
    gang_node_id node;
    char name[16];
    if (at_ns > now_ns)
        down = GANG_ID_NONE;
    snprintf(name, sizeof(name), "n%d", (int)below(NODES));
    MUST(gang_node_find(lived.c, name, &node));
    for (int i = 0; i < sides; i++) {
        if (down != GANG_ID_NONE)
            MUST(gang_report_node_up(side_of(i)->s, down));
        MUST(gang_report_node_lost(side_of(i)->s, node));
    }
    down = node;
    at_ns = now_ns;
}

/* Something happens to a random job. */
static void disturb(int sides)
{
    struct kept *k = job_count ? &jobs[below((int64_t)job_count)] : NULL;
    struct gang_job_info info = {.size = sizeof(info)};
    if (!k || k->over || gang_job_get(lived.s, k->id, &info) != GANG_OK)
        return;
    int64_t what = below(16), value = below(3), tasks = 1 + below(2);
    if (below(40) == 0)
        lose_node(sides);
    if (what < 6 && info.state == GANG_JOB_RUNNING) {
        if (what < 3)
            report_all(k, sides, GANG_TASK_SUCCEEDED);
        else if (info.tasks > 1) /* one that runs is left */
            report_one(k, sides, what == 3 ? GANG_TASK_SUCCEEDED : GANG_TASK_FAILED);
    }
    if (what >= 6 && what < 9)
        report_stopped(k, sides);
    for (int i = 0; i < sides; i++) {
        gang_sched *s = side_of(i)->s;
        if (what == 9)
            MUST(gang_job_set_priority(s, k->id, value));
        if (what == 10)
            MUST(info.held ? gang_job_release(s, k->id) : gang_job_hold(s, k->id));
        if (what == 11)
            MUST(gang_job_cancel(s, k->id));
        if (what == 12)
            MUST(gang_job_set_target(s, k->id, k->min + value));
        if (what == 13)
            MUST(gang_job_requeue(s, k->id));
        if (what == 14 && info.missing >= tasks)
            MUST(gang_job_add_tasks(s, k->id, 0, tasks));
    }
    if (what == 9)
        k->priority = value;
    if (what == 14 && info.missing >= tasks)
        k->arrived += tasks;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a log in their alphabetical order: when several jobs get what stopped for them in
 * one run, the order in which the host hears of them is not kept. */
static void sort_log(struct side *x)
{
    static char *line[1 << 14];
    static char sorted[LOG];
    size_t count = 0, used = 0;
    for (char *at = strtok(x->log, "\n"); at; at = strtok(NULL, "\n")) {
        ck_assert_uint_lt(count, sizeof(line) / sizeof(line[0]));
        line[count++] = at;
    }
    qsort(line, count, sizeof(line[0]), by_text);
    sorted[0] = 0;
    for (size_t i = 0; i < count; i++)
        used += (size_t)sprintf(sorted + used, "%s\n", line[i]);
    memcpy(x->log, sorted, used + 1);
}

static void compare_logs(int step)
{
    sort_log(&lived);
    sort_log(&anew);
    char *a = lived.log, *b = anew.log;
    if (strcmp(a, b) != 0) {
        size_t i = 0;
        while (a[i] && a[i] == b[i])
            i++;
        while (i > 0 && a[i - 1] != '\n')
            i--;
        ck_abort_msg("step %d: lived: %.400s\nanew: %.400s", step, a + i, b + i);
    }
}

static int32_t say_usage(const struct gang_past_usage *u, void *user)
{
    /* keeping the use of a user rounds it: far below what its factor shows */
    uint64_t low = u->what == GANG_PAST_USAGE_USER ? u->low >> 40 : u->low;
    say(user, "%d %s %s %s %" PRId64 ": %" PRIx64 ".%" PRIx64 " at %" PRId64 "\n", u->what,
        u->queue ? u->queue : "-", u->user ? u->user : "-", u->kind ? u->kind : "-", u->period_ns,
        u->high, low, u->at_ns);
    return 0;
}

static void compare_past_usage(int step)
{
    for (int i = 0; i < 2; i++) {
        side_of(i)->used = 0;
        MUST(gang_past_usage_each(side_of(i)->s, say_usage, side_of(i)));
    }
    compare_logs(step);
}

static int32_t give_usage(const struct gang_past_usage *u, void *user)
{
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(gang_past_usage_restore(user, u, &error), GANG_OK, &error);
    return 0;
}

static void compare_books(int step)
{
    for (size_t i = 0; i < job_count; i++) {
        struct gang_job_info a = {.size = sizeof(a)}, b = {.size = sizeof(b)};
        gang_result r = gang_job_get(lived.s, jobs[i].id, &a);
        ck_assert_msg(gang_job_get(anew.s, jobs[i].id, &b) == r, "step %d: job %" PRIu64, step,
                      jobs[i].id);
        if (r != GANG_OK)
            continue;
        ck_assert_msg(
            a.state == b.state && a.tasks == b.tasks && a.started_ns == b.started_ns &&
                a.restarts == b.restarts && a.preemptions == b.preemptions &&
                a.submitted_ns == b.submitted_ns && a.held == b.held && a.count == b.count &&
                a.ends_ns == b.ends_ns && a.missing == b.missing && a.slice_row == b.slice_row &&
                a.suspended_ns == b.suspended_ns,
            "step %d: job %" PRIu64 ": state %d %d tasks %" PRId64 " %" PRId64 " started %" PRId64
            " %" PRId64 " ends %" PRId64 " %" PRId64 " missing %" PRId64 " %" PRId64
            " restarts %" PRId64 " %" PRId64 " min %" PRId64 " count %" PRId64 " "
            " target %" PRId64 " row %d %d suspended %" PRId64 " %" PRId64,
            step, jobs[i].id, a.state, b.state, a.tasks, b.tasks, a.started_ns, b.started_ns,
            a.ends_ns, b.ends_ns, a.missing, b.missing, a.restarts, b.restarts, jobs[i].min,
            jobs[i].count, a.count, a.slice_row, b.slice_row, a.suspended_ns, b.suspended_ns);
        lived.used = anew.used = 0;
        lived.log[0] = anew.log[0] = 0;
        if (a.alloc != GANG_ID_NONE) {
            MUST(gang_alloc_each(lived.c, a.alloc, say_task, &lived));
            MUST(gang_alloc_each(anew.c, b.alloc, say_task, &anew));
            compare_logs(step);
        }
    }
    for (int i = 0; i < QUEUES; i++) {
        struct gang_queue_info a = {.size = sizeof(a)}, b = {.size = sizeof(b)};
        gang_queue_id id;
        MUST(gang_queue_find(lived.s, queue_name[i], &id));
        MUST(gang_queue_get(lived.s, id, &a));
        MUST(gang_queue_find(anew.s, queue_name[i], &id));
        MUST(gang_queue_get(anew.s, id, &b));
        ck_assert_int_eq(a.running, b.running);
        ck_assert_int_eq(a.pending, b.pending);
        ck_assert_int_eq(a.tasks, b.tasks);
        ck_assert_mem_eq(a.used, b.used, sizeof(a.used));
        ck_assert_mem_eq(a.held, b.held, sizeof(a.held));
        ck_assert_mem_eq(a.demand, b.demand, sizeof(a.demand));
        ck_assert_mem_eq(a.share, b.share, sizeof(a.share));
        ck_assert_int_eq(a.rows, b.rows);
        ck_assert_int_eq(a.active_row, b.active_row);
        ck_assert_int_eq(a.quantum_end_ns, b.quantum_end_ns);
    }
}

static void live(int sides)
{
    for (int i = 0; i < sides; i++) {
        side_of(i)->used = 0;
        side_of(i)->log[0] = 0;
        run(side_of(i));
    }
}

/* The nodes are in the states in which they were. */
static void restore_nodes(void)
{
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info info = {.size = sizeof(info)};
        gang_node_id node;
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        MUST(gang_node_find(lived.c, name, &node));
        MUST(gang_node_get(lived.c, node, &info));
        MUST(gang_node_find(anew.c, name, &node));
        MUST(gang_node_set_state(anew.w, node, info.state));
    }
}

static void end_stop(const struct gang__stop *stop)
{
    MUST(gang_report_tasks(lived.s, stop->gang->job->id, 0, stop->alloc, stop->still, stop->left,
                           GANG_TASK_STOPPED));
}

static bool is_unknown(const struct gang__stop *stop)
{
    return stop->stopped && (!stop->gang || kept_of(stop->gang->job->id)->queue == SLICING);
}

/* Not kept, as gang_job_past says: what a handover has of a job that has ended, or of a gang that
 * shared nodes in time. So the rest of such a handover stops before the manager is killed. */
static bool end_half_stopped(void)
{
    bool some = false;
    for (struct gang__handover *x = lived.s->stop.handovers; x; x = x->next) {
        bool half = false;
        for (struct gang__stop *stop = x->stops; stop; stop = stop->next_of_handover)
            half = half || is_unknown(stop);
        for (struct gang__stop *stop = x->stops; half && stop; stop = stop->next_of_handover)
            if (!stop->stopped)
                end_stop(stop);
        some = some || half;
    }
    return some;
}

/* Not kept, as gang_job_past says: that a job was tried in vain after others had stopped for it,
 * and preempts none before the next event. A manager that is made anew tries it at once. */
static bool some_start_failed(void)
{
    for (size_t i = 0; i < job_count; i++) {
        const struct gang__job *job = gang__job_of(lived.s, jobs[i].id);
        if (job && job->gang[0].preempt.handover_failed_at == lived.s->external_events + 1)
            return true;
    }
    return false;
}

/* What a manager that is made anew does not know, or tries again at once, is over. */
static void finish_what_is_not_kept(void)
{
    do {
        set_queues(&lived); /* each job is tried once more, as in a manager that is made anew */
        live(1);
        live(1);
    } while (end_half_stopped() || some_start_failed());
}

/* Does it want another run at once? It may, after a try to preempt what the last run started. */
static bool is_due(const struct side *m)
{
    return gang_sched_next(m->s) <= now_ns;
}

START_TEST(a_manager_made_anew_decides_as_one_that_lived)
{
    int64_t in_state[5] = {0}, held = 0, missing = 0, elastic = 0, restarted = 0, single = 0;
    int64_t several = 0, half = 0, over = 0, fenced = 0, moves = 0, sliced = 0, waiting = 0,
            suspending = 0, empty = 0;
    const int steps = getenv("GANG_TEST_QUICK") ? STEPS_QUICK : STEPS_AFTER;
    chance_state = test_seed() + (uint64_t)_i;
    job_count = 0;
    quiet = _i == 1;
    now_ns = SECONDS(1000);
    make(&lived);
    lived.keeps = true;
    for (int step = 0; step < 60; step++) {
        for (int i = 0; i < 18; i++)
            submit(false);
        for (int i = 0; i < 12; i++)
            disturb(1);
        now_ns += SECONDS(1 + below(10));
        live(1);
    }
    finish_what_is_not_kept();
    make(&anew);
    restore_nodes();
    MUST(gang_past_usage_each(lived.s, give_usage, anew.s));
    size_t alive = 0;
    for (size_t i = 0; i < job_count; i++) {
        struct gang_job_info info = {.size = sizeof(info)};
        if (gang_job_get(lived.s, jobs[i].id, &info) != GANG_OK)
            continue;
        alive++;
        in_state[info.state]++;
        held += info.held;
        missing += info.missing > 0;
        restarted += info.restarts > 0;
        sliced += info.slice_row > 0;
        waiting += info.slice_row > 0 && info.state == GANG_JOB_SUSPENDED;
        elastic += info.state == GANG_JOB_RUNNING && info.tasks > info.min;
        empty += info.state == GANG_JOB_RUNNING && info.tasks == 0;
        const struct stops *stops = stops_of(jobs[i].id);
        several += stops->count > 1;
        for (size_t k = 0; k < stops->count; k++) {
            suspending += stops->stop[k].what == GANG_STOP_SLICE;
            single += !stops->stop[k].whole && stops->stop[k].what < GANG_STOP_FENCED;
            fenced += stops->stop[k].what == GANG_STOP_FENCED;
            half += stops->stop[k].kept_count > 0;
            over += stops->stop[k].what == GANG_STOP_STOPPED;
            moves += stops->stop[k].reason == GANG_REASON_MOVE;
        }
        attach(&jobs[i]);
    }
    printf(
        "%zu jobs: %d pending, %d running, %d stopping, %d suspended; %d held, %d announced, "
        "%d grown, %d without tasks, %d restarted; stops: %d of single tasks, %d fences, %d moves, "
        "%d jobs with "
        "several; %d in rows, of which %d wait and %d are suspending; %d half stopped, %d over\n",
        alive, (int)in_state[0], (int)in_state[1], (int)in_state[2], (int)in_state[3], (int)held,
        (int)missing, (int)elastic, (int)empty, (int)restarted, (int)single, (int)fenced,
        (int)moves, (int)several, (int)sliced, (int)waiting, (int)suspending, (int)half, (int)over);
    ck_assert_int_ge(sliced, 10);
    ck_assert_int_ge(waiting, 5);
    ck_assert_uint_ge(alive, 700);
    live(2);
    for (char *line = strtok(anew.log, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_msg(strncmp(line, "state", 5) == 0 || strncmp(line, "lost", 4) == 0,
                      "made anew, it decides: %s", line);
    ck_assert_str_eq(lived.log, "");
    anew.used = lived.used = 0;
    compare_books(-1);
    for (int step = 0; step < steps; step++) {
        for (int64_t i = below(4); i > 0; i--)
            submit(true);
        for (int i = 0; i < 6; i++)
            disturb(2);
        now_ns += SECONDS(1 + below(20));
        for (int runs = 0; runs == 0 || is_due(&lived) || is_due(&anew); runs++) {
            ck_assert_int_lt(runs, 9);
            live(2);
            compare_logs(step);
        }
        if (step < 5 || step % 10 == 0)
            compare_books(step);
        if (step < 5 || step % 10 == 0)
            compare_past_usage(step);
        ck_assert_int_eq(gang_sched_next(lived.s), gang_sched_next(anew.s));
    }
    end(&lived);
    end(&anew);
}
END_TEST

/* ---- one job --------------------------------------------------------------------------------- */

static struct host h;

static struct gang_job_spec *with_past(struct gang_job_past *past, const char *node,
                                       const char *const *gpu)
{
    static struct gang_running_spec place;
    struct gang_job_spec *job = host_spec("default", 1, 1, 0);
    place = (struct gang_running_spec){.node = node, .devices = gpu, .device_count = 1};
    job->running = past->state != GANG_JOB_PENDING;
    job->places = &place;
    job->place_count = (size_t)job->running;
    job->past = past;
    return job;
}

START_TEST(places_that_are_taken_end_the_job_and_are_named)
{
    static const char *const gpu[] = {"2"};
    struct gang_job_past past = GANG_JOB_PAST_INIT;
    host_open(&h, 2, 4);
    past.state = GANG_JOB_RUNNING;
    gang_job_id first = host_submit(&h, with_past(&past, "n0", gpu));
    gang_job_id second = host_submit(&h, with_past(&past, "n0", gpu));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_RUNNING);
    test_assert(!host_has(&h, second));
    ck_assert_int_eq(host_end(&h, second), GANG_END_REFUSED);
    ck_assert_int_eq(host_gpus_free(&h), 7);
    host_close(&h);
}
END_TEST

START_TEST(ids_of_the_host_are_above_those_given)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    host_open(&h, 2, 4);
    struct gang_job_spec *job = host_spec("default", 1, 1, 0);
    job->id = 100;
    ck_assert_uint_eq(host_submit(&h, job), 100);
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_EEXIST, &error, "id", NULL);
    job->id = 99;
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_EEXIST, &error, "id", NULL);
    job->id = GANG_MAX_JOB_ID + 1;
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_ERANGE, &error, "id", NULL);
    job->id = GANG_ID_NONE;
    ck_assert_uint_eq(host_submit(&h, job), 101);
    job->id = 200;
    MUST(gang_job_submit_array(h.s, job, 3, &id, &error));
    ck_assert_uint_eq(id, 200);
    job->id = GANG_ID_NONE;
    ck_assert_uint_eq(host_submit(&h, job), 203);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, 202), GANG_JOB_RUNNING);
    host_close(&h);
}
END_TEST

START_TEST(a_past_that_contradicts_itself_is_refused)
{
    static const char *const gpu[] = {"0"};
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_job_past past = GANG_JOB_PAST_INIT, ok = past;
    gang_job_id id;
    host_open(&h, 1, 4);
    past.state = GANG_JOB_ENDED;
    EXPECT_ERROR(gang_job_submit(h.s, with_past(&past, "n0", gpu), &id, &error), GANG_EINVAL,
                 &error, "past.state", NULL);
    past = ok;
    past.restarts = -1;
    EXPECT_ERROR(gang_job_submit(h.s, with_past(&past, "n0", gpu), &id, &error), GANG_ERANGE,
                 &error, "past.restarts", NULL);
    past = ok;
    past.state = GANG_JOB_STOPPING;
    EXPECT_ERROR(gang_job_submit(h.s, with_past(&past, "n0", gpu), &id, &error), GANG_EINVAL,
                 &error, "past.reason", NULL);
    past = ok;
    past.size = 8;
    EXPECT_ERROR(gang_job_submit(h.s, with_past(&past, "n0", gpu), &id, &error), GANG_EINVAL,
                 &error, "past", NULL);
    host_close(&h);
}
END_TEST

START_TEST(a_stopping_job_is_killed_at_its_old_deadline)
{
    static const char *const gpu[] = {"1"};
    struct gang_job_past past = GANG_JOB_PAST_INIT, now = GANG_JOB_PAST_INIT;
    host_open(&h, 1, 4);
    h.now_ns = 1000;
    past.state = GANG_JOB_STOPPING;
    past.reason = GANG_REASON_CANCEL;
    past.end = GANG_END_CANCELLED;
    past.deadline_ns = 1500;
    past.started_ns = 700;
    past.submitted_ns = 600;
    gang_job_id id = host_submit(&h, with_past(&past, "n0", gpu));
    host_run(&h, 0);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_ops(&h, id, "preempt"), 0);
    MUST(gang_job_get_past(h.s, id, &now));
    ck_assert_mem_eq(&now, &past, sizeof(now));
    ck_assert_int_eq(gang_sched_next(h.s), 1500);
    host_run(&h, 500);
    ck_assert_int_eq(host_ops(&h, id, "kill"), 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_CANCELLED);
    ck_assert_int_eq(host_gpus_free(&h), 4);
    host_close(&h);
}
END_TEST

START_TEST(memory_that_runs_out_is_tried_again)
{
    static const char *const gpu[] = {"1"};
    struct gang_job_past past = GANG_JOB_PAST_INIT;
    host_open_slow(&h, 1, 4, 60);
    past.state = GANG_JOB_STOPPING;
    past.reason = GANG_REASON_REQUEUE;
    past.deadline_ns = 100;
    gang_job_id id = host_submit(&h, with_past(&past, "n0", gpu));
    host_run_short_of_memory(&h);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_gpus_free(&h), 3);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reattach");
    TCase *tc = tcase_create("reattach");
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, places_that_are_taken_end_the_job_and_are_named);
    tcase_add_test(tc, ids_of_the_host_are_above_those_given);
    tcase_add_test(tc, a_past_that_contradicts_itself_is_refused);
    tcase_add_test(tc, a_stopping_job_is_killed_at_its_old_deadline);
    tcase_add_test(tc, memory_that_runs_out_is_tried_again);
    tcase_add_loop_test(tc, a_manager_made_anew_decides_as_one_that_lived, 0, 2);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
