/* SPDX-License-Identifier: Apache-2.0 */
#include "cycle.h"

#include <gangsched/gangsched.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "impl.h"
#include "ours.h"

/* ---- cases --------------------------------------------------------------------------------- */

enum kind {
    DECIDE,  /* jobs are submitted; one run starts them all */
    IDLE,    /* many wait, and nothing can start; then one node comes free */
    RECLAIM, /* a gang is owed what jobs of another queue have */
    ADMIT,   /* many jobs over many queues: submitted and started */
    FULL,    /* one job: submitted, started, ended */
    TAKERS,  /* jobs that preempt one job each, in one run */
    USERS    /* a fair leaf: jobs of many users start; then one ends, and one that waits starts */
};

enum { OPS = 2 };

struct cycle_case {
    enum kind kind;
    const char *ops[OPS];
    int64_t nodes, gang, jobs, queues; /* USERS: `queues` users of one queue */
    int32_t fill;
    enum bench_shape shape;
    const char *more; /* ends the names */
    bool scattered;   /* victims lie anywhere, and not where the newest are */
};

#define OWN_REQUESTS "/requests:own"

static const struct cycle_case cases[] = {
    {DECIDE, {"sched_submit", "sched_decide"}, 5000, 1, 10000, 10, 0, SHAPE_GPU, "", false},
    {DECIDE, {"sched_submit", "sched_decide"}, 5000, 20, 500, 10, 0, SHAPE_GPU, "", false},
    {DECIDE, {"sched_submit", "sched_decide"}, 5000, 500, 20, 10, 0, SHAPE_GPU, "", false},
    {DECIDE, {"sched_submit", "sched_decide"}, 5000, 10000, 1, 10, 0, SHAPE_GPU, "", false},
    {IDLE, {"sched_idle", "sched_one_freed"}, 1000, 1, 1000000, 1000, 100, SHAPE_NODE, "", false},
    {RECLAIM, {"sched_reclaim"}, 500, 50, 4000, 2, 100, SHAPE_NODE, "/victims:together", false},
    {RECLAIM, {"sched_reclaim"}, 500, 50, 4000, 2, 100, SHAPE_NODE, "/victims:scattered", true},
    {RECLAIM, {"sched_reclaim"}, 5000, 500, 40000, 2, 100, SHAPE_NODE, "/victims:together", false},
    {RECLAIM, {"sched_reclaim"}, 5000, 500, 40000, 2, 100, SHAPE_NODE, "/victims:scattered", true},
    {TAKERS, {"sched_takers"}, 500, 1, 4000, 2, 100, SHAPE_GPU, "/requests:alike", false},
    {TAKERS, {"sched_takers"}, 500, 1, 4000, 2, 100, SHAPE_GPU, OWN_REQUESTS, false},
    {ADMIT, {"sched_admit"}, 6250, 1, 50000, 1000, 0, SHAPE_GPU, "", false},
    {FULL, {"sched_full_1gpu", "sched_start_1gpu"}, 1024, 1, 1, 16, 90, SHAPE_GPU, "", false},
    {FULL, {"sched_full_1gpu", "sched_start_1gpu"}, 4096, 1, 1, 16, 90, SHAPE_GPU, "", false},
    {FULL, {"sched_full_gang", "sched_start_gang"}, 1024, 4, 1, 16, 90, SHAPE_NODE, "", false},
    {FULL, {"sched_full_gang", "sched_start_gang"}, 4096, 4, 1, 16, 90, SHAPE_NODE, "", false},
    {USERS, {"sched_fair_decide", "sched_fair_freed"}, 2048, 1, 16384, 16, 0, SHAPE_GPU, "", false},
    {USERS,
     {"sched_fair_decide", "sched_fair_freed"},
     2048,
     1,
     16384,
     1000,
     0,
     SHAPE_GPU,
     "",
     false},
    {USERS,
     {"sched_fair_decide", "sched_fair_freed"},
     2048,
     1,
     16384,
     16000,
     0,
     SHAPE_GPU,
     "",
     false},
};

static const struct cycle_case quick_cases[] = {
    {DECIDE, {"sched_submit", "sched_decide"}, 128, 1, 200, 10, 0, SHAPE_GPU, "", false},
    {DECIDE, {"sched_submit", "sched_decide"}, 128, 20, 10, 10, 0, SHAPE_GPU, "", false},
    {IDLE, {"sched_idle", "sched_one_freed"}, 128, 1, 10000, 128, 100, SHAPE_NODE, "", false},
    {RECLAIM, {"sched_reclaim"}, 128, 12, 1024, 2, 100, SHAPE_NODE, "/victims:together", false},
    {RECLAIM, {"sched_reclaim"}, 128, 12, 1024, 2, 100, SHAPE_NODE, "/victims:scattered", true},
    {TAKERS, {"sched_takers"}, 128, 1, 1024, 2, 100, SHAPE_GPU, OWN_REQUESTS, false},
    {ADMIT, {"sched_admit"}, 128, 1, 1000, 100, 0, SHAPE_GPU, "", false},
    {FULL, {"sched_full_1gpu", "sched_start_1gpu"}, 128, 1, 1, 16, 90, SHAPE_GPU, "", false},
    {FULL, {"sched_full_gang", "sched_start_gang"}, 128, 4, 1, 16, 90, SHAPE_NODE, "", false},
    {USERS, {"sched_fair_decide", "sched_fair_freed"}, 128, 1, 1024, 16, 0, SHAPE_GPU, "", false},
    {USERS, {"sched_fair_decide", "sched_fair_freed"}, 128, 1, 1024, 1000, 0, SHAPE_GPU, "", false},
};

static const struct cycle_case *case_at(const struct bench_options *options, size_t at)
{
    size_t count = options->quick ? sizeof(quick_cases) / sizeof(quick_cases[0])
                                  : sizeof(cases) / sizeof(cases[0]);
    const struct cycle_case *all = options->quick ? quick_cases : cases;
    return at < count ? &all[at] : NULL;
}

static void name_of(const struct cycle_case *c, int op, char *name)
{
    snprintf(name, BENCH_NAME,
             "%s/%s/nodes:%" PRId64 "/gang:%" PRId64 "/fill:%d/threads:1/jobs:%" PRId64
             "/%s:%" PRId64 "%s",
             bench_gangsched.name, c->ops[op], c->nodes, c->gang, c->fill, c->jobs,
             c->kind == USERS ? "users" : "queues", c->queues, c->more);
}

static bool asked_for(const struct bench_options *options, const struct cycle_case *c)
{
    bool threads = false, nodes = !options->nodes_given;
    for (size_t i = 0; i < options->thread_count; i++)
        threads = threads || options->threads[i] == 1;
    for (size_t i = 0; i < options->node_count; i++)
        nodes = nodes || options->nodes[i] == c->nodes;
    return threads && nodes;
}

/* Results wanted of a case; false: none. */
static bool choose(const struct bench_options *options, const regex_t *filter,
                   const struct cycle_case *c, bool *wanted)
{
    char name[BENCH_NAME];
    bool some = false;
    for (int op = 0; op < OPS; op++) {
        wanted[op] = c->ops[op] && asked_for(options, c);
        if (wanted[op] && options->filter) {
            name_of(c, op, name);
            wanted[op] = regexec(filter, name, 0, NULL, 0) == 0;
        }
        some = some || wanted[op];
    }
    return some;
}

size_t cycle_list(const struct bench_options *options, FILE *file)
{
    regex_t filter;
    const struct cycle_case *c;
    bool wanted[OPS];
    char name[BENCH_NAME];
    size_t count = 0;
    bench_filter_open(options, &filter);
    for (size_t i = 0; (c = case_at(options, i)) != NULL; i++)
        for (int op = 0; choose(options, &filter, c, wanted) && op < OPS; op++) {
            if (!wanted[op])
                continue;
            name_of(c, op, name);
            count++;
            if (file)
                fprintf(file, "%s\n", name);
        }
    bench_filter_close(options, &filter);
    return count;
}

/* ---- a cluster with a scheduler ------------------------------------------------------------ */

struct site {
    const struct cycle_case *c;
    void *cluster;
    gang_sched *sched;
    int64_t now_ns;
    int64_t started;          /* calls of op start, */
    gang_job_id last;         /* and the job of the last one, */
    int64_t last_user;        /* and its user: form_user() */
    gang_job_id *jobs;        /* those that are to be ended */
    struct gang_run_info did; /* the last run */
    uint64_t random;
    double seconds;
};

static int32_t on_start(const struct gang_event *event, void *user)
{
    struct site *s = user;
    s->last = event->job;
    s->last_user = (int64_t)event->cookie;
    s->started++;
    return 0;
}

/* One queue, shared evenly by its users. */
static void set_fair_queue(struct site *s)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_queue_spec spec = GANG_QUEUE_SPEC_INIT;
    spec.name = "q0000";
    spec.order = GANG_ORDER_FAIR;
    ours_check(gang_sched_set_queues(s->sched, &spec, 1, &error), &error, "gang_sched_set_queues");
}

/* Queues lie in cohorts of a hundred, when there are that many. */
static void set_queues(struct site *s)
{
    enum { COHORT = 100 };
    struct gang_error error = GANG_ERROR_INIT;
    size_t count = (size_t)s->c->queues,
           cohorts = s->c->kind == ADMIT ? (count + COHORT - 1) / COHORT : 0;
    struct gang_queue_spec *specs = bench_calloc(count + cohorts, sizeof(*specs));
    char(*names)[16] = bench_calloc(count + cohorts, sizeof(*names));
    struct gang_quota quota = {.kind = "gpu"};
    quota.amount = s->c->nodes * NODE_GPUS * 1000;
    bool owed = s->c->kind == RECLAIM || s->c->kind == TAKERS; /* the first is guaranteed all */
    if (!owed)
        quota.amount /= s->c->queues;
    for (size_t i = 0; i < count + cohorts; i++) {
        specs[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        snprintf(names[i], sizeof(names[i]), i < count ? "q%04d" : "c%04d",
                 (int)(i < count ? i : i - count));
        specs[i].name = names[i];
        if (i < count && cohorts)
            specs[i].parent = names[count + i / COHORT];
        if (i < count && (!owed || i == 0)) {
            specs[i].guaranteed = &quota;
            specs[i].guaranteed_count = 1;
        }
    }
    ours_check(gang_sched_set_queues(s->sched, specs, count + cohorts, &error), &error,
               "gang_sched_set_queues");
    free(specs);
    free(names);
}

static struct site *site_new(const struct cycle_case *c, uint64_t seed)
{
    struct bench_scene scene = {.impl = &bench_gangsched, .nodes = c->nodes};
    struct gang_error error = GANG_ERROR_INIT;
    struct site *s = bench_calloc(1, sizeof(*s));
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    ops.start = on_start;
    s->c = c;
    s->random = seed;
    s->cluster = bench_gangsched.open(&scene);
    (void)bench_gangsched.build(s->cluster, true);
    ours_check(gang_sched_new(ours_cluster(s->cluster), &opts, &ops, s, &s->sched, &error), &error,
               "gang_sched_new");
    s->did = (struct gang_run_info)GANG_RUN_INFO_INIT;
    s->jobs =
        bench_calloc((size_t)(c->jobs > c->nodes * NODE_GPUS ? c->jobs : c->nodes * NODE_GPUS),
                     sizeof(*s->jobs));
    if (c->kind == USERS)
        set_fair_queue(s);
    else
        set_queues(s);
    return s;
}

static void site_free(struct site *s)
{
    enum { AUDITED = 100000 }; /* jobs: the audit takes longer than what is measured */
    struct gang_error error = GANG_ERROR_INIT;
    if (s->c->jobs <= AUDITED)
        ours_check(gang_sched_check(s->sched, &error), &error, "gang_sched_check");
    gang_sched_free(s->sched);
    if (bench_gangsched.audit(s->cluster) != 0)
        bench_die("gangsched: something is taken of a cluster without jobs");
    bench_gangsched.close(s->cluster);
    free(s->jobs);
    free(s);
}

static void run(struct site *s)
{
    s->did.size = sizeof(s->did);
    ours_check(gang_sched_run(s->sched, ++s->now_ns, NULL, &s->did), NULL, "gang_sched_run");
}

static void expect(const struct site *s, const char *what, int64_t is, int64_t must)
{
    if (is != must)
        bench_die("%s, %" PRId64 " nodes: %" PRId64 " %s, not %" PRId64, s->c->ops[0], s->c->nodes,
                  is, what, must);
}

/* Common parts of the jobs of one kind; the specification points into it. */
struct form {
    struct gang_group_spec group;
    struct gang_job_spec job;
    char queue[16], user[16];
};

static void form_init(struct form *f, enum bench_shape shape, int64_t tasks)
{
    f->group = (struct gang_group_spec)GANG_GROUP_SPEC_INIT;
    f->group.count = f->group.min = tasks;
    f->group.cpu_milli = (int64_t)bench_need[shape].cores * 1000;
    f->group.memory_bytes = bench_need[shape].memory_bytes;
    f->group.gpu_milli = bench_need[shape].gpu_milli;
    f->job = (struct gang_job_spec)GANG_JOB_SPEC_INIT;
    f->job.request.groups = &f->group;
    f->job.request.group_count = 1;
    f->job.queue = f->queue;
}

static void form_queue(struct form *f, int64_t queue)
{
    snprintf(f->queue, sizeof(f->queue), "q%04d", (int)queue);
}

static void form_user(struct form *f, int64_t user)
{
    snprintf(f->user, sizeof(f->user), "u%05d", (int)user);
    f->job.user = f->user;
    f->job.cookie = (uint64_t)user;
}

static gang_job_id submit(struct site *s, const struct form *f)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    ours_check(gang_job_submit(s->sched, &f->job, &id, &error), &error, "gang_job_submit");
    return id;
}

static void end(struct site *s, gang_job_id id)
{
    ours_check(gang_report_end(s->sched, id, 1), NULL, "gang_report_end");
}

static void shuffle(struct site *s, uint32_t *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)bench_below(&s->random, i);
        uint32_t t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}

/* Jobs of one GPU that run already on `nodes` whole nodes, one after the other in age or in any
 * order. */
static void fill(struct site *s, int64_t nodes, int64_t first_queue, bool scattered)
{
    struct form f;
    size_t count = (size_t)nodes * NODE_GPUS;
    uint32_t *place = bench_calloc(count, sizeof(*place));
    char name[16];
    struct gang_running_spec at = {.node = name};
    form_init(&f, SHAPE_GPU, 1);
    f.job.running = 1;
    f.job.places = &at;
    f.job.place_count = 1;
    for (size_t i = 0; i < count; i++)
        place[i] = (uint32_t)(i / NODE_GPUS);
    if (scattered)
        shuffle(s, place, count);
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "n%07d", (int)place[i]);
        form_queue(&f, first_queue + (int64_t)i % (s->c->queues - first_queue));
        s->jobs[i] = submit(s, &f);
    }
    free(place);
    run(s);
    expect(s, "jobs run already and were lost", s->did.ended, 0);
    struct gang_queue_info info = {.size = sizeof(info)};
    int64_t tasks = 0;
    for (gang_queue_id q = gang_queue_next(s->sched, GANG_ID_NONE); q != GANG_ID_NONE;
         q = gang_queue_next(s->sched, q)) {
        ours_check(gang_queue_get(s->sched, q, &info), NULL, "gang_queue_get");
        tasks += info.parent == GANG_ID_NONE ? info.tasks : 0;
    }
    expect(s, "tasks run", tasks, (int64_t)count);
}

/* ---- measuring ----------------------------------------------------------------------------- */

/* Where samples of a case go, and for how long. */
struct sink {
    struct bench_histogram *h[OPS];
    int64_t begun_ns;
    int64_t rounds, min;
};

static void record(const struct sink *k, int op, int64_t ns)
{
    histogram_record(k->h[op], ns);
}

static bool goes_on(struct sink *k, const struct site *s)
{
    return k->rounds++ < k->min || (double)(bench_now() - k->begun_ns) < s->seconds * 1e9;
}

/* All jobs are submitted, start in one run, and end in another one. */
static bool decide_once(struct site *s, struct form *f, struct sink *k)
{
    int64_t before = s->started, tasks = s->c->jobs * s->c->gang;
    for (int64_t i = 0; i < s->c->jobs; i++) {
        form_queue(f, i % s->c->queues);
        int64_t ns = k ? bench_now() : 0;
        s->jobs[i] = submit(s, f);
        if (k)
            record(k, 0, bench_now() - ns);
    }
    int64_t ns = k ? bench_now() : 0;
    run(s);
    if (k)
        record(k, 1, (bench_now() - ns) / tasks);
    bool ok = s->started - before == s->c->jobs && s->did.tasks_granted == tasks;
    for (int64_t i = 0; i < s->c->jobs; i++)
        end(s, s->jobs[i]);
    run(s);
    return ok && s->did.ended == s->c->jobs;
}

static void decide(struct site *s, struct sink *k)
{
    struct form f;
    form_init(&f, s->c->shape, s->c->gang);
    while (goes_on(k, s))
        if (!decide_once(s, &f, k))
            bench_die("%s: not all jobs started and ended", s->c->ops[1]);
}

static void admit(struct site *s, struct sink *k)
{
    struct form f;
    form_init(&f, s->c->shape, s->c->gang);
    while (goes_on(k, s)) {
        int64_t before = s->started, ns = bench_now();
        for (int64_t i = 0; i < s->c->jobs; i++) {
            form_queue(&f, i % s->c->queues);
            s->jobs[i] = submit(s, &f);
        }
        run(s);
        record(k, 0, bench_now() - ns);
        expect(s, "jobs started", s->started - before, s->c->jobs);
        for (int64_t i = 0; i < s->c->jobs; i++)
            end(s, s->jobs[i]);
        run(s);
        expect(s, "jobs ended", s->did.ended, s->c->jobs);
    }
}

/* Every queue has a node, and jobs of 1, 2, 4 and 8 GPUs wait in all. */
static void submit_waiting(struct site *s)
{
    enum { AT_ONCE = 10000 }; /* what is not taken in yet is larger than what waits */
    static const enum bench_shape shapes[] = {SHAPE_GPU, SHAPE_GPU2, SHAPE_GPU4, SHAPE_NODE};
    struct form f[4];
    for (int i = 0; i < 4; i++)
        form_init(&f[i], shapes[i], 1);
    for (int64_t i = 0; i < s->c->nodes; i++) {
        form_queue(&f[3], i % s->c->queues);
        s->jobs[i] = submit(s, &f[3]);
    }
    run(s);
    expect(s, "jobs started", s->started, s->c->nodes);
    for (int64_t i = 0; i < s->c->jobs; i++) {
        struct form *one = &f[i / s->c->queues % 4];
        form_queue(one, i % s->c->queues);
        (void)submit(s, one);
        if (i % AT_ONCE == AT_ONCE - 1)
            run(s);
    }
    run(s);
    expect(s, "jobs started", s->started, s->c->nodes);
}

/* The job ends that had the node all the time; some that wait start there. */
static bool free_once(struct site *s, int64_t node, struct sink *k)
{
    end(s, s->jobs[node]);
    int64_t ns = k ? bench_now() : 0;
    run(s);
    if (k)
        record(k, 1, bench_now() - ns);
    return s->did.ended == 1 && s->did.started >= 1;
}

static void idle(struct site *s, struct sink *k)
{
    submit_waiting(s);
    while (goes_on(k, s)) {
        int64_t ns = bench_now();
        run(s);
        record(k, 0, bench_now() - ns);
        expect(s, "jobs started", s->did.started, 0);
    }
    k->rounds = 0;
    k->begun_ns = bench_now();
    for (int64_t i = 0; i < s->c->nodes && goes_on(k, s); i++)
        if (!free_once(s, i, k))
            bench_die("sched_one_freed: nothing ended, or nothing started");
}

static void reclaim(struct site *s, struct sink *k)
{
    struct form f;
    form_init(&f, s->c->shape, s->c->gang);
    fill(s, s->c->nodes, 1, s->c->scattered);
    form_queue(&f, 0);
    while (goes_on(k, s)) {
        gang_job_id id = submit(s, &f);
        int64_t ns = bench_now();
        run(s);
        record(k, 0, bench_now() - ns);
        expect(s, "gangs started", s->did.started, 1);
        expect(s, "tasks evicted", s->did.tasks_preempted, s->c->gang * NODE_GPUS);
        end(s, id);
        run(s);
        expect(s, "jobs started again", s->did.started, s->c->gang * NODE_GPUS);
    }
}

/* Each job of the first queue preempts one of the other. None is tried twice, but for the last
 * try, which finds that none waits. */
static void takers(struct site *s, struct sink *k)
{
    struct form f;
    fill(s, s->c->nodes, 1, false);
    while (goes_on(k, s)) {
        form_init(&f, s->c->shape, s->c->gang);
        form_queue(&f, 0);
        for (int64_t i = 0; i < s->c->jobs; i++) {
            if (strcmp(s->c->more, OWN_REQUESTS) == 0)
                f.group.memory_bytes -= 4096;
            s->jobs[i] = submit(s, &f);
        }
        int64_t ns = bench_now();
        run(s);
        record(k, 0, (bench_now() - ns) / s->c->jobs);
        expect(s, "jobs started", s->did.started, s->c->jobs);
        expect(s, "tasks evicted", s->did.tasks_preempted, s->c->jobs);
        if (s->did.jobs_tried > s->c->jobs + s->c->queues)
            expect(s, "tries", s->did.jobs_tried, s->c->jobs);
        for (int64_t i = 0; i < s->c->jobs; i++)
            end(s, s->jobs[i]);
        run(s);
        expect(s, "jobs started again", s->did.started, s->c->jobs);
    }
}

static bool full_once(struct site *s, const struct form *f, struct sink *k)
{
    int64_t before = s->started, ns = bench_now();
    gang_job_id id = submit(s, f);
    int64_t submitted = k ? bench_now() : 0;
    run(s);
    int64_t ran = k ? bench_now() : 0;
    bool ok = s->started == before + 1;
    end(s, id);
    run(s);
    if (k) {
        record(k, 0, bench_now() - ns);
        record(k, 1, ran - submitted);
    }
    return ok && s->did.ended == 1;
}

/* Nine tenths of the nodes are taken by jobs of one GPU. */
static void busy(struct site *s, struct form *f)
{
    fill(s, s->c->nodes * s->c->fill / 100, 0, true);
    form_init(f, s->c->shape, s->c->gang);
}

static void full(struct site *s, struct sink *k)
{
    struct form f;
    busy(s, &f);
    while (goes_on(k, s)) {
        form_queue(&f, k->rounds % s->c->queues);
        if (!full_once(s, &f, k))
            bench_die("%s: a job did not start and end", s->c->ops[0]);
    }
}

/* A job for each GPU starts, of one user after the other, a quarter of them in each run; then each
 * user has a job that waits. */
static void fill_for_users(struct site *s, struct form *f, struct sink *k)
{
    int64_t quarter = s->c->jobs / 4;
    form_init(f, s->c->shape, s->c->gang);
    form_queue(f, 0);
    for (int64_t part = 0; part < 4; part++) {
        for (int64_t i = part * quarter; i < (part + 1) * quarter; i++) {
            form_user(f, i % s->c->queues);
            s->jobs[i] = submit(s, f);
        }
        int64_t ns = bench_now();
        run(s);
        if (k)
            record(k, 0, (bench_now() - ns) / quarter);
        expect(s, "jobs started", s->did.started, quarter);
    }
    for (int64_t i = 0; i < s->c->queues; i++) {
        form_user(f, i);
        (void)submit(s, f);
    }
    run(s);
    expect(s, "jobs started", s->did.started, 0);
}

/* The oldest job ends, and one that waits starts; its user submits the next one. */
static bool fair_once(struct site *s, struct form *f, int64_t round, struct sink *k)
{
    int64_t at = round % s->c->jobs;
    end(s, s->jobs[at]);
    int64_t ns = k ? bench_now() : 0;
    run(s);
    if (k)
        record(k, 1, bench_now() - ns);
    s->jobs[at] = s->last;
    form_user(f, s->last_user);
    (void)submit(s, f);
    return s->did.started == 1 && s->did.ended == 1;
}

static void users(struct site *s, struct sink *k)
{
    struct form f;
    fill_for_users(s, &f, k);
    while (goes_on(k, s))
        if (!fair_once(s, &f, k->rounds - 1, k))
            bench_die("%s: not one job ended and one started", s->c->ops[1]);
}

static void measure(const struct cycle_case *c, const struct bench_options *options,
                    const bool *wanted, struct bench_results *results)
{
    static void (*const by_kind[])(struct site *, struct sink *) = {
        [DECIDE] = decide, [IDLE] = idle,   [RECLAIM] = reclaim, [ADMIT] = admit,
        [FULL] = full,     [USERS] = users, [TAKERS] = takers};
    struct site *s = site_new(c, options->seed);
    struct sink k = {.min = options->quick ? 3 : c->kind == FULL ? 1000 : 5};
    for (int op = 0; op < OPS; op++)
        k.h[op] = histogram_new();
    s->seconds = options->seconds >= 0 ? options->seconds : options->quick ? 0.02 : 0.3;
    k.begun_ns = bench_now();
    by_kind[c->kind](s, &k);
    site_free(s);
    for (int op = 0; op < OPS; op++) {
        char name[BENCH_NAME];
        if (wanted[op]) {
            name_of(c, op, name);
            struct bench_result *r = results_add(results, name, 1);
            histogram_merge(r->histogram, k.h[op]);
            r->iterations = histogram_count(r->histogram);
            r->mean_ns = histogram_mean(r->histogram);
            double each = c->kind == ADMIT ? (double)c->jobs : 1;
            r->ops_per_s = each * 1e9 / (double)histogram_at(r->histogram, 50);
        }
        histogram_free(k.h[op]);
    }
}

void cycle_run(const struct bench_options *options, struct bench_results *results)
{
    regex_t filter;
    const struct cycle_case *c;
    bool wanted[OPS];
    bench_filter_open(options, &filter);
    for (size_t i = 0; (c = case_at(options, i)) != NULL; i++)
        if (choose(options, &filter, c, wanted))
            measure(c, options, wanted, results);
    bench_filter_close(options, &filter);
}

/* ---- for counting instructions ------------------------------------------------------------- */

static const struct cycle_case works[] = {
    {FULL, {"sched_full_1gpu"}, 1024, 1, 1, 16, 90, SHAPE_GPU, "", false},
    {FULL, {"sched_full_gang"}, 1024, 4, 1, 16, 90, SHAPE_NODE, "", false},
    {IDLE, {"sched_idle", "sched_one_freed"}, 128, 1, 10000, 128, 100, SHAPE_NODE, "", false},
    {DECIDE, {"sched_decide"}, 128, 1, 500, 10, 0, SHAPE_GPU, "", false},
    {USERS, {"sched_fair_16"}, 2048, 1, 16384, 16, 0, SHAPE_GPU, "", false},
    {USERS, {"sched_fair_1000"}, 2048, 1, 16384, 1000, 0, SHAPE_GPU, "", false},
    {USERS, {"sched_fair_16000"}, 2048, 1, 16384, 16000, 0, SHAPE_GPU, "", false},
};

struct cycle_work {
    struct site *site;
    int op; /* whose name it has, of the two of its case */
    struct form form;
    int64_t queue, round;
};

struct cycle_work *cycle_work_new(const char *name, uint64_t seed)
{
    for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
        int op = works[i].ops[1] && strcmp(works[i].ops[1], name) == 0;
        if (strcmp(works[i].ops[op], name) != 0)
            continue;
        struct cycle_work *w = bench_calloc(1, sizeof(*w));
        w->op = op;
        w->site = site_new(&works[i], seed);
        if (works[i].kind == IDLE)
            submit_waiting(w->site);
        else if (works[i].kind == USERS)
            fill_for_users(w->site, &w->form, NULL);
        else if (works[i].kind == DECIDE)
            form_init(&w->form, works[i].shape, works[i].gang);
        else
            busy(w->site, &w->form);
        return w;
    }
    return NULL;
}

bool cycle_work_once(struct cycle_work *w)
{
    struct site *s = w->site;
    if (s->c->kind == DECIDE)
        return decide_once(s, &w->form, NULL);
    if (w->op == 1)
        return free_once(s, w->round++, NULL);
    if (s->c->kind == IDLE) {
        run(s);
        return s->did.started == 0;
    }
    if (s->c->kind == USERS)
        return fair_once(s, &w->form, w->round++, NULL);
    form_queue(&w->form, w->queue++ % s->c->queues);
    return full_once(s, &w->form, NULL);
}

void cycle_work_free(struct cycle_work *w)
{
    site_free(w->site);
    free(w);
}
