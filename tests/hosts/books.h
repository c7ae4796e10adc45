/* SPDX-License-Identifier: Apache-2.0 */
/* The books of a random host, kept from what the callbacks say and from nothing else: which task
 * holds which devices and cores of which node, from the callback that starts it until it has
 * stopped. After each event the scheduler runs, and books_run() compares.
 *   - No device and no core has two tasks. A task has one number, of its group, and no other task
 *     of its job has it; the number of a task that ended well does not come again.
 *   - No queue, at any height, holds more than its limit, nor counts more (gang_queue_info.held).
 *   - What the library lists runs, and what runs without being asked to stop is listed.
 * Uses the public headers alone. */
#ifndef GANG_TESTS_HOSTS_BOOKS_H
#define GANG_TESTS_HOSTS_BOOKS_H

#include <gangsched/gangsched.h>
#include <gangsched/sched.h>

#include <string.h>

#include "chance.h"
#include "queue_tree.h"
#include "suite.h"

#define BOOKS_SECOND ((int64_t)1000000000)

enum { BOOKS_TASKS = 1024, BOOKS_JOBS = 1024, BOOKS_GROUPS = 4 };

/* How the host answers the library. */
enum { OBEYS, REFUSES, IS_BUSY, NEVER_CONFIRMS, MANNERS };

/* A task that holds its places, or (kept) that is suspended. */
struct books_task {
    gang_job_id job;
    gang_alloc_id alloc;
    int32_t gang;
    int64_t run;     /* that started it */
    int64_t gone_ns; /* killed: its places are given away then; 0: not killed */
    bool asked;      /* to stop */
    bool dying;      /* it stops some time, and the host reports it */
    struct gang_task at;
};

struct books_job {
    gang_job_id id; /* GANG_ID_NONE: this place is free */
    int queue;
    int32_t groups, loss;
    int64_t count[BOOKS_GROUPS]; /* of its groups */
    int64_t tasks;               /* all of them */
    int64_t started, ended;      /* tasks, in its life */
    uint64_t over;               /* numbers of tasks that ended well, since its last start */
    int what;                    /* the host's own */
    int64_t limit_ns;
};

struct books {
    gang_cluster *cluster;
    gang_worker *worker;
    gang_sched *s;
    int64_t now_ns, kill_wait_ns;
    int manner;
    struct queue_tree tree;
    struct books_task task[BOOKS_TASKS], kept[BOOKS_TASKS];
    size_t tasks, kepts;
    struct books_job job[BOOKS_JOBS];
    int jobs;                                    /* alive */
    void (*started)(const struct gang_event *e); /* after the books are written; or NULL */
    void (*ended)(const struct books_job *j, const struct gang_event *e);
    /* over all worlds */
    uint64_t seed;
    int64_t events, runs, starts, stops, kills, resumes, refused, busy, ends;
    bool calm; /* nothing has happened since the last run, in which the host refused nothing */
};

static struct books books;

#define BOOKS_CHECK(condition, ...)                                                               \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            printf("GANG_SEED=%" PRIu64 " event %" PRId64 ": ", books.seed, books.events);        \
            printf(__VA_ARGS__);                                                                  \
            printf("\n");                                                                         \
            fflush(stdout);                                                                       \
            ck_abort_msg("GANG_SEED=%" PRIu64 " event %" PRId64 ": %s", books.seed, books.events, \
                         #condition);                                                             \
        }                                                                                         \
    } while (0)

static inline struct books_job *books_job_of(gang_job_id id)
{
    for (int i = 0; i < BOOKS_JOBS; i++)
        if (books.job[i].id == id)
            return &books.job[i];
    return NULL;
}

static inline int64_t books_gpus(const struct books_task *t)
{
    return (int64_t)t->at.gpu_count * t->at.gpu_share;
}

/* ---- what must hold ---- */

/* Milli-GPUs that tasks of the queue and below hold. */
static inline int64_t books_held(int q)
{
    int64_t sum = 0;
    for (size_t i = 0; i < books.tasks; i++) {
        const struct books_job *of = books_job_of(books.task[i].job);
        sum += of && tree_is_below(&books.tree, of->queue, q) ? books_gpus(&books.task[i]) : 0;
    }
    return sum;
}

/* What the queue holds, as the library counts it; what is promised counts, too. */
static inline int64_t books_counted(int q)
{
    struct gang_queue_info info = GANG_QUEUE_INFO_INIT;
    gang_queue_id id;
    test_must(gang_queue_find(books.s, books.tree.spec[q].name, &id));
    test_must(gang_queue_get(books.s, id, &info));
    return info.held[GANG_KIND_GPU];
}

static inline void books_check_limits(void)
{
    for (int q = 0; q < books.tree.count; q++) {
        if (books.tree.spec[q].limit_count == 0)
            continue;
        int64_t held = books_held(q), limit = books.tree.limit[q].amount;
        BOOKS_CHECK(held <= limit, "queue %s holds %" PRId64 " of %" PRId64,
                    books.tree.spec[q].name, held, limit);
    }
}

/* `between`: also that the library counts all that is held. A callback may ask before the books
 * have heard its answer. */
static inline void books_check_counts(bool between)
{
    for (int q = 0; q < books.tree.count; q++) {
        if (books.tree.spec[q].limit_count == 0)
            continue;
        int64_t counted = books_counted(q), held = books_held(q),
                limit = books.tree.limit[q].amount;
        BOOKS_CHECK((!between || held <= counted) && counted <= limit,
                    "queue %s holds %" PRId64 ", counts %" PRId64 " of %" PRId64,
                    books.tree.spec[q].name, held, counted, limit);
    }
}

static inline bool books_share_cores(const struct gang_task *a, const struct gang_task *b)
{
    for (int i = 0; i < GANG_MAX_CORES / 64; i++)
        if (a->cores[i] & b->cores[i])
            return true;
    return false;
}

static inline bool books_same_place(const struct gang_task *a, const struct gang_task *b)
{
    return a->task == b->task && a->node == b->node && a->group == b->group && a->gpus == b->gpus &&
           memcmp(a->cores, b->cores, sizeof(a->cores)) == 0;
}

static inline void books_check_new(const struct books_task *t, const struct books_job *j)
{
    int64_t first = 0;
    for (int g = 0; g < t->at.group; g++)
        first += j->count[g];
    BOOKS_CHECK(t->at.task >= first && t->at.task < first + j->count[t->at.group],
                "task %" PRId64 " is not of group %d", t->at.task, t->at.group);
    BOOKS_CHECK(!(j->over >> t->at.task & 1), "task %" PRId64 " of job %" PRIu64 " comes again",
                t->at.task, t->job);
    for (size_t i = 0; i < books.tasks; i++) {
        const struct books_task *o = &books.task[i];
        BOOKS_CHECK(o->job != t->job || o->at.task != t->at.task,
                    "job %" PRIu64 " has two tasks %" PRId64, t->job, t->at.task);
        if (o->at.node != t->at.node)
            continue;
        bool shared = o->at.gpu_share < 1000 && t->at.gpu_share < 1000;
        BOOKS_CHECK(shared || !(o->at.gpus & t->at.gpus),
                    "task %" PRId64 " of job %" PRIu64 " starts on a GPU of job %" PRIu64
                    " (asked %d)",
                    t->at.task, t->job, o->job, o->asked);
        BOOKS_CHECK(!books_share_cores(&o->at, &t->at),
                    "jobs %" PRIu64 " and %" PRIu64 " share cores", t->job, o->job);
    }
}

struct books_reader {
    gang_job_id job;
    size_t count;
};

static inline int32_t books_is_known(const struct gang_task *task, void *user)
{
    struct books_reader *r = user;
    r->count++;
    for (size_t i = 0; i < books.tasks; i++)
        if (books.task[i].job == r->job && books_same_place(&books.task[i].at, task))
            return 0;
    BOOKS_CHECK(false, "task %" PRId64 " of job %" PRIu64 " is listed and does not run", task->task,
                r->job);
    return 0;
}

static inline void books_check(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_sched_check(books.s, &error);
    BOOKS_CHECK(r == GANG_OK, "gang_sched_check: %s: %s", error.path, error.text);
    for (size_t i = 0; i < books.tasks; i++) {
        const struct books_task *t = &books.task[i];
        struct gang_task now = GANG_TASK_INIT;
        if (t->asked)
            continue;
        r = gang_alloc_task(books.cluster, t->alloc, t->at.task, &now);
        BOOKS_CHECK(r == GANG_OK && books_same_place(&now, &t->at),
                    "task %" PRId64 " of job %" PRIu64 " runs and is not listed there: %s",
                    t->at.task, t->job, gang_result_name(r));
    }
    gang_job_id id = GANG_ID_NONE;
    while ((id = gang_job_next(books.s, id)) != GANG_ID_NONE) {
        BOOKS_CHECK(books_job_of(id), "job %" PRIu64 " has ended", id);
        for (int32_t k = 0; k < BOOKS_GROUPS; k++) {
            struct books_reader reader = {.job = id};
            gang_alloc_id alloc = gang_job_alloc(books.s, id, k);
            if (alloc != GANG_ID_NONE)
                test_must(gang_alloc_each(books.cluster, alloc, books_is_known, &reader));
        }
    }
    books_check_limits();
    books_check_counts(true);
}

/* ---- callbacks ---- */

/* Each callback begins with it: limits hold while the library calls. It is printed if
 * $GANG_TEST_TRACE is set. */
static inline void books_called(const char *op, const struct gang_event *e)
{
    books_check_counts(false);
    if (!getenv("GANG_TEST_TRACE"))
        return;
    printf("%" PRId64 "/%" PRId64 " %s job %" PRIu64 " alloc %" PRIx64
           " reason %d state %d end %d for %" PRIu64 " deadline %" PRId64 " at %" PRId64 ":",
           books.events, books.runs, op, e->job, e->alloc, e->reason, e->state, e->end,
           e->preemptor, e->deadline_ns, e->now_ns);
    for (size_t i = 0; i < e->task_count; i++)
        printf(" %" PRId64, e->tasks[i]);
    printf("\n");
}

static inline bool books_concerns(const struct books_task *t, const struct gang_event *e)
{
    if (t->job != e->job || t->alloc != e->alloc)
        return false;
    for (size_t i = 0; i < e->task_count; i++)
        if (e->tasks[i] == t->at.task)
            return true;
    return e->task_count == 0;
}

static inline int32_t books_add(const struct gang_task *task, void *user)
{
    const struct gang_event *e = user;
    struct books_task t = {.job = e->job, .alloc = e->alloc, .gang = e->gang, .at = *task};
    struct books_job *j = books_job_of(e->job);
    t.run = books.runs;
    if (!books_concerns(&t, e))
        return 0;
    BOOKS_CHECK(j, "job %" PRIu64 " is unknown", e->job);
    books_check_new(&t, j);
    BOOKS_CHECK(books.tasks < BOOKS_TASKS, "so many tasks");
    books.task[books.tasks++] = t;
    j->started++;
    return 0;
}

static inline bool books_refuses(void)
{
    bool refuses = books.manner == REFUSES && one_in(6);
    books.refused += refuses;
    return refuses;
}

static inline void books_forget_kept(gang_job_id job)
{
    size_t left = 0;
    for (size_t i = 0; i < books.kepts; i++)
        if (books.kept[i].job != job)
            books.kept[left++] = books.kept[i];
    books.kepts = left;
}

static inline int32_t books_take(const struct gang_event *e)
{
    books.starts++;
    test_must(gang_alloc_each(books.cluster, e->alloc, books_add, (void *)(uintptr_t)e));
    books_check_limits();
    if (books.started)
        books.started(e);
    return 0;
}

/* A gang starts whole: so do the numbers of its groups. */
static inline void books_numbers_come_again(struct books_job *j, int32_t gang)
{
    int32_t groups[BOOKS_GROUPS];
    size_t count;
    test_must(gang_job_gang_groups(books.s, j->id, gang, groups, BOOKS_GROUPS, &count));
    for (size_t i = 0; i < count; i++) {
        int64_t first = 0;
        for (int32_t g = 0; g < groups[i]; g++)
            first += j->count[g];
        for (int64_t k = 0; k < j->count[groups[i]]; k++)
            j->over &= ~(UINT64_C(1) << (first + k));
    }
}

static inline int32_t books_start(const struct gang_event *e, void *user)
{
    books_called("start", e);
    (void)user;
    struct books_job *j = books_job_of(e->job);
    if (books_refuses())
        return 1;
    BOOKS_CHECK(j, "job %" PRIu64 " starts, and has ended", e->job);
    for (size_t i = 0; i < books.tasks; i++)
        BOOKS_CHECK(books.task[i].job != e->job || books.task[i].gang != e->gang,
                    "job %" PRIu64 " runs twice", e->job);
    books_numbers_come_again(j, e->gang);
    books_forget_kept(e->job);
    return books_take(e);
}

static inline int32_t books_grow(const struct gang_event *e, void *user)
{
    books_called("grow", e);
    (void)user;
    BOOKS_CHECK(e->task_count > 0, "job %" PRIu64 " grows by nothing", e->job);
    return books_refuses() ? 1 : books_take(e);
}

/* Each task comes back to its node, devices and cores. */
static inline int32_t books_resume(const struct gang_event *e, void *user)
{
    books_called("resume", e);
    (void)user;
    size_t before = books.tasks;
    if (books_refuses())
        return 1;
    books.resumes++;
    (void)books_take(e);
    for (size_t i = before; i < books.tasks; i++) {
        bool found = false;
        for (size_t k = 0; k < books.kepts && !found; k++)
            found = books.kept[k].job == e->job &&
                    books_same_place(&books.kept[k].at, &books.task[i].at);
        BOOKS_CHECK(found, "task %" PRId64 " of job %" PRIu64 " resumes elsewhere",
                    books.task[i].at.task, e->job);
    }
    books_forget_kept(e->job);
    return 0;
}

static inline void books_remove(const struct gang_event *e)
{
    size_t left = 0;
    for (size_t i = 0; i < books.tasks; i++)
        if (!books_concerns(&books.task[i], e))
            books.task[left++] = books.task[i];
    books.tasks = left;
}

static inline bool books_is_for_others(int32_t reason)
{
    return reason == GANG_REASON_PREEMPT || reason == GANG_REASON_RECLAIM ||
           reason == GANG_REASON_MOVE;
}

/* No task is stopped for another job by the run that started it, nor by the next one while nothing
 * happens. */
static inline void books_check_wasted(const struct books_task *t, const struct gang_event *e)
{
    int64_t since = books.calm ? books.runs - 1 : books.runs;
    BOOKS_CHECK(!books_is_for_others(e->reason) || t->run < since,
                "task of job %" PRIu64 " is stopped for job %" PRIu64 " in run %" PRId64
                ", and started in run %" PRId64,
                e->job, e->preemptor, books.runs, t->run);
}

/* `may_refuse`: a refusal says that the tasks are gone. */
static inline int32_t books_ask(const struct gang_event *e, bool may_refuse)
{
    books.stops++;
    bool busy = books.manner == IS_BUSY && one_in(2);
    bool gone = may_refuse && books.manner == REFUSES && one_in(3);
    books.busy += busy;
    for (size_t i = 0; i < books.tasks; i++) {
        struct books_task *t = &books.task[i];
        if (!books_concerns(t, e))
            continue;
        books_check_wasted(t, e);
        t->asked = true;
        t->dying = t->dying || (!busy && books.manner != NEVER_CONFIRMS);
    }
    if (gone)
        books_remove(e);
    return busy ? GANG_EBUSY : gone ? (one_in(20) ? GANG_ENOENT : 1) : 0;
}

static inline int32_t books_stop(const struct gang_event *e, void *user)
{
    (void)user;
    books_called("stop", e);
    return books_ask(e, true);
}

/* Refused: it is preempted instead. */
static inline int32_t books_suspend(const struct gang_event *e, void *user)
{
    (void)user;
    books_called("suspend", e);
    if (books_refuses())
        return 1;
    books_forget_kept(e->job);
    for (size_t i = 0; i < books.tasks; i++)
        if (books_concerns(&books.task[i], e))
            books.kept[books.kepts++] = books.task[i];
    return books_ask(e, false);
}

static inline int32_t books_kill(const struct gang_event *e, void *user)
{
    books_called("kill", e);
    (void)user;
    if (books.manner == IS_BUSY && one_in(3))
        return GANG_EBUSY;
    books.kills++;
    if (books.kill_wait_ns == 0) {
        books_remove(e);
        return 0;
    }
    for (size_t i = 0; i < books.tasks; i++)
        /* one that was killed before is not concerned */
        if (books_concerns(&books.task[i], e) && books.task[i].gone_ns == 0) {
            BOOKS_CHECK(books.task[i].asked, "job %" PRIu64 " is killed without a word", e->job);
            books.task[i].dying = books.manner != NEVER_CONFIRMS;
            books.task[i].gone_ns =
                books.kill_wait_ns < 0 ? INT64_MAX : e->now_ns + books.kill_wait_ns;
        }
    return 0;
}

static inline int32_t books_state(const struct gang_event *e, void *user)
{
    books_called("state", e);
    (void)user;
    struct books_job *j = books_job_of(e->job);
    BOOKS_CHECK(j, "job %" PRIu64 " ended before", e->job);
    if (e->state == GANG_JOB_RUNNING || e->state == GANG_JOB_STOPPING)
        return 0;
    for (size_t i = 0; i < books.tasks; i++)
        BOOKS_CHECK(books.task[i].job != e->job || (j->groups > 1 && e->state != GANG_JOB_ENDED),
                    "job %" PRIu64 " is in state %d and holds", e->job, e->state);
    if (e->state != GANG_JOB_ENDED)
        return 0;
    books.ends++;
    books_forget_kept(e->job);
    if (books.ended)
        books.ended(j, e);
    memset(j, 0, sizeof(*j));
    books.jobs--;
    return 0;
}

/* ---- the world ---- */

/* A cluster without nodes; the counters go on. */
static inline void books_open(int manner)
{
    struct books old = books;
    memset(&books, 0, sizeof(books));
    books.started = old.started;
    books.ended = old.ended;
    books.seed = old.seed;
    books.events = old.events;
    books.runs = old.runs;
    books.starts = old.starts;
    books.stops = old.stops;
    books.kills = old.kills;
    books.resumes = old.resumes;
    books.refused = old.refused;
    books.busy = old.busy;
    books.ends = old.ends;
    books.manner = manner;
    test_must(gang_cluster_new(NULL, &books.cluster, NULL));
    test_must(gang_worker_new(books.cluster, &books.worker));
}

static inline void books_add_nodes(int nodes, size_t gpus)
{
    struct gang_gpu_spec gpu[16];
    for (size_t i = 0; i < gpus; i++)
        gpu[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
    for (int i = 0; i < nodes; i++) {
        struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        spec.name = name;
        spec.cpu_milli = (int64_t)gpus * 4000;
        spec.memory_bytes = INT64_C(1) << 36;
        spec.gpus = gpu;
        spec.gpu_count = gpus;
        test_must(gang_node_add(books.worker, &spec, NULL, NULL));
    }
}

/* The scheduler, with a tree of queues for so many GPUs; 0: without guarantees and limits. */
static inline void books_open_sched(int64_t gpus, struct gang_host_ops ops)
{
    static const int64_t waits[] = {0, -1, 5 * BOOKS_SECOND};
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    books.kill_wait_ns = waits[index_below(3)];
    if (books.manner == NEVER_CONFIRMS && books.kill_wait_ns < 0)
        books.kill_wait_ns = 7 * BOOKS_SECOND;
    opts.kill_wait_ns = books.kill_wait_ns;
    ops.start = books_start;
    ops.grow = books_grow;
    ops.resume = books_resume;
    ops.preempt = ops.shrink = books_stop;
    ops.suspend = books_suspend;
    ops.kill = books_kill;
    ops.state = books_state;
    test_must(gang_sched_new(books.cluster, &opts, &ops, NULL, &books.s, NULL));
    tree_draw(&books.tree, gpus);
    gang_result r =
        gang_sched_set_queues(books.s, books.tree.spec, (size_t)books.tree.count, &error);
    BOOKS_CHECK(r == GANG_OK, "%s: %s", error.path, error.text);
}

/* Submits, unless the library refuses it, and begins its books. Returns them, or NULL. */
static inline struct books_job *books_submit(struct gang_job_spec *spec, int queue)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct books_job *j = books_job_of(GANG_ID_NONE);
    gang_job_id id;
    spec->queue = books.tree.spec[queue].name;
    if (!j || gang_job_submit(books.s, spec, &id, &error) != GANG_OK)
        return NULL;
    memset(j, 0, sizeof(*j));
    j->id = id;
    j->queue = queue;
    j->loss = spec->loss;
    j->limit_ns = spec->time_limit_ns;
    j->groups = (int32_t)spec->request.group_count;
    for (int g = 0; g < j->groups; g++)
        j->tasks += j->count[g] = spec->request.groups[g].count;
    test_assert(j->tasks <= 64);
    books.jobs++;
    return j;
}

/* A task that runs and was not asked to stop; NULL: there is none. */
static inline struct books_task *books_some_task(void)
{
    struct books_task *t = books.tasks ? &books.task[index_below(books.tasks)] : NULL;
    return t && !t->asked ? t : NULL;
}

/* Reports about a task; from SUCCEEDED on it leaves the books. */
static inline void books_report(struct books_task *t, int32_t what)
{
    struct books_job *j = books_job_of(t->job);
    test_must(gang_report_tasks(books.s, t->job, t->gang, t->alloc, &t->at.task, 1, what));
    if (what < GANG_TASK_SUCCEEDED)
        return;
    j->ended += what == GANG_TASK_SUCCEEDED;
    if (what == GANG_TASK_SUCCEEDED)
        j->over |= UINT64_C(1) << t->at.task;
    *t = books.task[--books.tasks];
}

/* Tasks that were asked to stop do so, each one time in `seldom`. */
static inline void books_some_stop(int64_t seldom)
{
    for (size_t i = books.tasks; i-- > 0;)
        if (books.task[i].dying && one_in(seldom))
            books_report(&books.task[i], GANG_TASK_STOPPED);
}

/* A job ends by itself: none of its tasks runs on. */
static inline void books_end_job(gang_job_id job, int32_t success)
{
    size_t left = 0;
    test_must(gang_report_end(books.s, job, success));
    for (size_t i = 0; i < books.tasks; i++)
        if (books.task[i].job != job)
            books.task[left++] = books.task[i];
    books.tasks = left;
}

static inline void books_run_at(int64_t now_ns)
{
    size_t left = 0;
    books.now_ns = now_ns;
    for (size_t i = 0; i < books.tasks; i++) /* killed, and given away without a report */
        if (books.task[i].gone_ns == 0 || books.task[i].gone_ns > books.now_ns)
            books.task[left++] = books.task[i];
    books.tasks = left;
    books.runs++;
    test_must(gang_sched_run(books.s, books.now_ns, NULL, NULL));
    books_check();
}

/* What is due now first; then so much time passes, or less if something is due before. */
static inline void books_run(int64_t pause)
{
    if (gang_sched_timeout_ns(books.s, books.now_ns) == 0) {
        books_run_at(books.now_ns);
        books.calm = books.manner != REFUSES;
        books_run_at(books.now_ns);
        books.calm = false;
    }
    int64_t wait = gang_sched_timeout_ns(books.s, books.now_ns);
    if (pause > 0)
        books_run_at(books.now_ns + (wait >= 0 && wait < pause ? wait : pause));
}

/* The host becomes kind, all jobs end, and nothing is taken. */
static inline void books_close(void)
{
    books.manner = OBEYS;
    for (gang_job_id id = 0; (id = gang_job_next(books.s, id)) != GANG_ID_NONE;)
        test_must(gang_job_cancel(books.s, id));
    for (int i = 0; i < 200 && books.jobs > 0; i++) {
        books_some_stop(1);
        books_run(BOOKS_SECOND);
    }
    BOOKS_CHECK(books.jobs == 0 && books.tasks == 0, "%d jobs and %zu tasks do not end", books.jobs,
                books.tasks);
    gang_node_id node = GANG_ID_NONE;
    while ((node = gang_node_next(books.cluster, node)) != GANG_ID_NONE) {
        struct gang_node_info info = GANG_NODE_INFO_INIT;
        test_must(gang_node_get(books.cluster, node, &info));
        BOOKS_CHECK(info.cpu_free == info.cpu_milli && info.gpu_free == info.gpu_count * 1000,
                    "%s is not free", info.name);
    }
    gang_sched_free(books.s);
    gang_cluster_free(books.cluster);
}

/* Events of the whole program: $GANG_EVENTS, or so many. */
static inline int64_t books_wanted(int64_t usual)
{
    const char *given = getenv("GANG_EVENTS");
    return given ? strtoll(given, NULL, 0) : usual;
}

/* Worlds of 400 events, with each manner in turn, until so many events have passed. */
static inline void books_play(int64_t usual, void (*open)(int manner), void (*event)(void),
                              void (*close)(void))
{
    int64_t wanted = books_wanted(usual);
    chance_state = books.seed = test_seed();
    for (int world = 0; books.events < wanted; world++) {
        open(world % MANNERS);
        for (int i = 0; i < 400 && books.events < wanted; i++) {
            books.events++;
            event();
            books_run(below(3) * BOOKS_SECOND);
        }
        close();
    }
    printf("%" PRId64 " events: %" PRId64 " starts, %" PRId64 " resumes, %" PRId64
           " stops asked, %" PRId64 " kills, %" PRId64 " refused, %" PRId64 " busy, %" PRId64
           " jobs ended\n",
           books.events, books.starts, books.resumes, books.stops, books.kills, books.refused,
           books.busy, books.ends);
}

/* Runs the test of a program that has one. */
static inline int books_main(const char *name, const TTest *test)
{
    Suite *suite = suite_create(name);
    TCase *t = tcase_create(name);
    tcase_set_timeout(t, 6000);
    tcase_add_test(t, test);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}

#endif
