/* SPDX-License-Identifier: Apache-2.0 */
/* The books of the host in test_events.c: what it runs, by the callbacks, the nodes and
 * queues as it made them, and the rules that must hold when something starts. */
#ifndef GANG_TESTS_EVENTS_BOOKS_H
#define GANG_TESTS_EVENTS_BOOKS_H

#include <gangsched/gangsched.h>
#include <gangsched/sched.h>

#include <inttypes.h>
#include <time.h>

#include "chance.h"
#include "sched/record/state.h"
#include "support.h"

enum {
    MAX_NODES = 10,
    MAX_QUEUES = 8,
    MAX_WORKS = 700,
    MAX_TASKS = 24,
    MAX_PARTS = 2,
    MOST_NUMBERS = 512, /* of tasks in an allocation */
    STEPS = 200,        /* events in one world */
    CALM_RUNS = 16      /* without events nothing may change after so many runs */
};

enum { FOR_ITSELF = 1, FOR_OTHERS };

enum { CPU = GANG_KIND_CPU, MEMORY = GANG_KIND_MEMORY, GPU = GANG_KIND_GPU, KINDS = 3 };

#define SECOND ((int64_t)1000000000)
static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- the host's books ---- */

struct machine {
    gang_node_id id;
    bool there;
    char name[16];
    int64_t capacity[KINDS];
    int32_t state;
    int64_t left; /* a message about it was left after this run began */
};

/* A queue, as it was last accepted. */
struct line {
    const char *name;
    int parent; /* -1: top */
    bool there, is_leaf, extends;
    int64_t guarantee[KINDS], limit[KINDS]; /* GANG_UNLIMITED; guarantee: not managed */
    int64_t priority, grace, min_runtime, max_running, user_percent;
    double weight;
    int32_t state, fixed, within, reclaim, preempt, order, block;
};

/* A task that the host runs. */
struct place {
    int64_t task;
    gang_node_id node;
    int32_t group;
    int64_t amount[KINDS];
    uint64_t gpus, cores; /* of the node */
    bool stopping;        /* asked to stop */
    bool idle;            /* said to be: it may be given back without a word */
    bool shaken;          /* its node was lost once, and may have come back since */
    int64_t deadline;
};

/* One gang of a job. */
struct gang {
    gang_alloc_id alloc;
    int tasks;
    struct place place[MAX_TASKS];
    bool stopping; /* asked to stop whole */
    bool suspending;
    bool gone_at_once;            /* asked to stop without grace: op kill may follow, or not */
    char preempted[MOST_NUMBERS]; /* by number: asked to stop, FOR_* */
    bool may_be_gone;             /* would not be suspended: it is asked to stop, or gone */
    gang_job_id because;
    int64_t started_ns;
    bool kept_unsure; /* messages about it were under way when it was suspended */
    int kept;         /* where it was when it was suspended */
    struct place kept_place[MAX_TASKS];
};

struct work {
    gang_job_id id;
    uint64_t cookie;
    int queue;
    int groups;
    int64_t min[2], count[2], need[2][KINDS];
    int64_t priority;
    int32_t preemptible, loss;
    const char *user;
    bool never_preempts, in_parts, has_roles;
    int64_t time_limit, start_within, heartbeat, begin, deadline;
    int after; /* a work, or -1 */
    int32_t after_when;
    /* what became of it */
    bool taken, ended, cancelled, failed, ended_by_host, preempted;
    bool must_not_start; /* the job that it waited for did not succeed */
    int32_t state, end;
    bool held;
    int64_t hold_run; /* number of the run before which it was held */
    int64_t started_ns;
    bool ever_started;
    int64_t lost[2], done[2]; /* since it started */
    int64_t perhaps_lost[2];  /* it was idle: given back before its node was lost, or not */
    int64_t left;             /* messages about it were left after this run began */
    bool start_asked;         /* or to grow, in this run */
    struct gang gang[MAX_PARTS];
};

/* A preemption for another job in this run. */
struct preemption {
    int victim, taker;
};

static struct stage stage;
static gang_sched *sched;
static struct machine machine[MAX_NODES];
static struct line line[MAX_QUEUES];
static struct work work[MAX_WORKS];
static int works;
static struct preemption preemption[256];
static int preemptions;
static int64_t now_ns;
static int64_t runs, settled; /* begun; the last one that was not cut short */
static bool in_run, host_is_kind;
static int node_number;
static int64_t ops_seen, events_done, evictions_done, starts_done, submits_from_within;

/* Where it went wrong. */
static uint64_t run_seed;
static int step;
static const char *doing;

#define CHECK(condition, ...)                                                                   \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            printf("GANG_SEED=%" PRIu64 " step %d run %" PRId64 ", %s: ", run_seed, step, runs, \
                   doing);                                                                      \
            printf(__VA_ARGS__);                                                                \
            printf("\n");                                                                       \
            fflush(stdout);                                                                     \
            ck_abort_msg("GANG_SEED=%" PRIu64 " step %d, %s: %s", run_seed, step, doing,        \
                         #condition);                                                           \
        }                                                                                       \
    } while (0)

/* The latest events, printed when $GANG_TEST_TRACE is set. */
#define TRACE(...)                                  \
    do {                                            \
        if (getenv("GANG_TEST_TRACE")) {            \
            printf("%4d/%" PRId64 " ", step, runs); \
            printf(__VA_ARGS__);                    \
            printf("\n");                           \
        }                                           \
    } while (0)

static int index_of(const struct work *w)
{
    return (int)(w - work);
}

static struct work *work_of(gang_job_id id)
{
    for (int i = 0; i < works; i++)
        if (work[i].id == id)
            return &work[i];
    return NULL;
}

static const struct machine *machine_of(gang_node_id id)
{
    for (int i = 0; i < MAX_NODES; i++)
        if (machine[i].there && machine[i].id == id)
            return &machine[i];
    return NULL;
}

/* May the library have given this task up by itself? */
static bool may_vanish(const struct work *w, const struct place *p)
{
    const struct machine *m = machine_of(p->node);
    return w->heartbeat || p->idle || p->shaken || !m || m->state == GANG_NODE_DOWN;
}

/* Are there messages about it that no run need have taken yet? */
static bool is_unsettled(const struct work *w)
{
    return w->left >= settled;
}

static bool is_in(int queue, int ancestor)
{
    for (; queue >= 0; queue = line[queue].parent)
        if (queue == ancestor)
            return true;
    return false;
}

/* What a queue and all below it certainly use. A stopping task leaves the books at once. */
static int64_t used_in(int queue, int kind)
{
    int64_t sum = 0;
    for (int i = 0; i < works; i++) {
        const struct work *w = &work[i];
        for (int k = 0; !w->ended && k < MAX_PARTS && is_in(w->queue, queue); k++)
            for (int t = 0; t < w->gang[k].tasks; t++)
                if (!w->gang[k].place[t].stopping && !may_vanish(w, &w->gang[k].place[t]))
                    sum += w->gang[k].place[t].amount[kind];
    }
    return sum;
}

/* The part of that used by work that no job may preempt: all of a non-preemptible job, and the
 * minimum of a semi-preemptible one. */
static int64_t fixed_in(int queue, int kind)
{
    int64_t sum = 0;
    for (int i = 0; i < works; i++) {
        const struct work *w = &work[i];
        if (w->ended || w->preemptible == GANG_PREEMPTIBLE || !is_in(w->queue, queue))
            continue;
        int64_t counted[2] = {0, 0};
        for (int t = 0; t < w->gang[0].tasks; t++) {
            const struct place *p = &w->gang[0].place[t];
            if (p->stopping) /* a stopping task leaves the books at once */
                continue;
            bool core =
                counted[p->group]++ + w->done[p->group] + w->lost[p->group] < w->min[p->group];
            if (!may_vanish(w, p) && (core || w->preemptible == GANG_NOT_PREEMPTIBLE))
                sum += p->amount[kind];
        }
    }
    return sum;
}

/* ---- places ---- */

static struct place *find_place(struct gang *p, int64_t task)
{
    for (int i = 0; i < p->tasks; i++)
        if (p->place[i].task == task)
            return &p->place[i];
    return NULL;
}

static void drop_place(struct gang *p, struct place *place)
{
    memmove(place, place + 1, (size_t)(&p->place[--p->tasks] - place) * sizeof(*place));
}

/* What an allocation holds, as the library says. */
struct reader {
    int tasks;
    struct place place[MAX_TASKS];
};

static int32_t read_task(const struct gang_task *task, void *user)
{
    struct reader *r = user;
    CHECK(r->tasks < MAX_TASKS, "too many tasks");
    struct place *p = &r->place[r->tasks++];
    *p = (struct place){.task = task->task, .node = task->node, .group = task->group};
    p->amount[CPU] = task->cpu_milli;
    p->amount[MEMORY] = task->memory_bytes;
    p->amount[GPU] = (int64_t)task->gpu_count * task->gpu_share;
    p->gpus = task->gpus;
    p->cores = task->cores[0];
    return 0;
}

static struct reader *read_alloc(gang_alloc_id id)
{
    static struct reader r;
    r.tasks = 0;
    if (id == GANG_ID_NONE)
        return &r;
    gang_result result = gang_alloc_each(stage.c, id, read_task, &r);
    CHECK(result == GANG_OK || result == GANG_ESTALE, "%s", gang_result_name(result));
    return &r;
}

static const struct place *find_read(const struct reader *r, int64_t task)
{
    for (int i = 0; i < r->tasks; i++)
        if (r->place[i].task == task)
            return &r->place[i];
    return NULL;
}

/* Forget tasks that the library gave up because their node is lost, or they were silent. */
static void drop_vanished(struct work *w, struct gang *p)
{
    const struct reader *r = read_alloc(p->alloc);
    if (p->may_be_gone && r->tasks == 0)
        p->tasks = 0;
    for (int i = p->tasks - 1; i >= 0; i--)
        if (!find_read(r, p->place[i].task) && may_vanish(w, &p->place[i])) {
            w->lost[p->place[i].group] += !p->place[i].idle;
            w->perhaps_lost[p->place[i].group] += p->place[i].idle;
            w->failed = true;
            drop_place(p, &p->place[i]);
        }
}

/* ---- what must hold when something starts ---- */

static int64_t running_of(const struct work *w, int group)
{
    int64_t n = 0;
    for (int t = 0; t < w->gang[0].tasks; t++)
        n += w->gang[0].place[t].group == group && !w->gang[0].place[t].stopping;
    return n;
}

static void check_minima(const struct work *w)
{
    for (int g = 0; g < w->groups && !w->in_parts; g++) {
        int64_t running = running_of(w, g);
        int64_t gone = w->lost[g] + w->perhaps_lost[g] + w->done[g];
        CHECK(running + gone >= w->min[g] && running <= w->count[g],
              "job %d runs %" PRId64 " tasks of group %d", index_of(w), running, g);
    }
}

/* For the reader of the trace. */
static void print_queue(int queue)
{
    for (int i = 0; i < works; i++) {
        const struct work *w = &work[i];
        if (!w->ended && w->id && is_in(w->queue, queue))
            TRACE("  job %d in state %d, preemptible %d: %d tasks, %" PRId64 "+%" PRId64
                  " wanted, lost %" PRId64 "+%" PRId64 ", done %" PRId64 "+%" PRId64,
                  i, w->state, w->preemptible, w->gang[0].tasks, w->min[0], w->min[1], w->lost[0],
                  w->lost[1], w->done[0], w->done[1]);
        for (int t = 0; !w->ended && w->id && t < w->gang[0].tasks; t++)
            TRACE("    task %" PRId64 " of group %d on node %" PRIx64 "%s%s: %" PRId64 " %" PRId64,
                  w->gang[0].place[t].task, w->gang[0].place[t].group, w->gang[0].place[t].node,
                  w->gang[0].place[t].stopping ? " stopping" : "",
                  may_vanish(w, &w->gang[0].place[t]) ? " perhaps gone" : "",
                  w->gang[0].place[t].amount[0], w->gang[0].place[t].amount[2]);
    }
}

static bool names_guarantees(int q)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (line[q].guarantee[kind] != 0)
            return true;
    return false;
}

/* A parent that names none has those of its children (gang_queue_spec.guaranteed); the tree has
 * two levels. GANG_UNLIMITED: not managed. */
static int64_t guarantee_in(int q, int kind)
{
    int64_t sum = 0;
    if (names_guarantees(q))
        return line[q].guarantee[kind];
    for (int i = 0; i < MAX_QUEUES; i++)
        if (line[i].there && line[i].parent == q && names_guarantees(i)) {
            if (line[i].guarantee[kind] < 0)
                return GANG_UNLIMITED;
            sum += line[i].guarantee[kind];
        }
    return line[q].limit[kind] >= 0 ? least(sum, line[q].limit[kind]) : sum;
}

/* Limits and guarantees, after `tasks` places from `place` on were granted. */
static void check_quotas(const struct work *w, const struct place *place, int tasks, bool is_fixed)
{
    int64_t granted[KINDS] = {0};
    for (int i = 0; i < tasks * KINDS; i++)
        granted[i % KINDS] += place[i / KINDS].amount[i % KINDS];
    for (int q = w->queue; q >= 0; q = line[q].parent)
        for (int kind = 0; kind < KINDS; kind++) {
            if (!granted[kind])
                continue;
            int64_t used = used_in(q, kind), fixed = fixed_in(q, kind);
            int64_t limit = line[q].limit[kind], guarantee = guarantee_in(q, kind);
            if ((limit >= 0 && used > limit) || (is_fixed && guarantee >= 0 && fixed > guarantee))
                print_queue(q);
            CHECK(limit < 0 || used <= limit, "queue %s uses %" PRId64 " of %" PRId64 " kind %d",
                  line[q].name, used, limit, kind);
            if (!is_fixed || guarantee < 0)
                continue;
            CHECK(fixed <= guarantee, "queue %s: %" PRId64 " not preemptible of %" PRId64,
                  line[q].name, fixed, guarantee);
        }
}

static int64_t jobs_at_work(int queue)
{
    int64_t n = 0;
    for (int i = 0; i < works; i++) {
        bool holds = false;
        for (int k = 0; k < MAX_PARTS; k++)
            holds = holds || work[i].gang[k].tasks > 0;
        n += !work[i].ended && holds && !work[i].heartbeat && is_in(work[i].queue, queue);
    }
    return n;
}

/* Another gang of it than the one that starts. */
static bool works_already(const struct work *w)
{
    int parts = 0;
    for (int k = 0; k < MAX_PARTS; k++)
        parts += w->gang[k].tasks > 0;
    return parts > 1;
}

/* A moving job never ceased to run: it is not counted twice. */
static void check_may_start(const struct work *w, bool moved)
{
    CHECK(!(w->held && w->hold_run < runs), "job %d is held", index_of(w));
    CHECK(moved || line[w->queue].state != GANG_QUEUE_CLOSED, "queue %s is closed",
          line[w->queue].name);
    for (int q = w->queue; q >= 0 && !moved && !works_already(w); q = line[q].parent)
        CHECK(!line[q].max_running || jobs_at_work(q) <= line[q].max_running,
              "%" PRId64 " jobs run in %s", jobs_at_work(q), line[q].name);
    CHECK(!w->must_not_start, "job %d starts after a failure", index_of(w));
    if (w->after < 0 || w->ever_started)
        return;
    const struct work *first = &work[w->after];
    CHECK(first->ended || (w->after_when == GANG_AFTER_START && first->ever_started),
          "job %d starts before job %d", index_of(w), w->after);
}

#endif
