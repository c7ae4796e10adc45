/* SPDX-License-Identifier: Apache-2.0 */
/* Threads submit jobs, command them and report about them, while the owner of the scheduler runs
 * it. In the end every accepted job has ended once, as some thread
 * asked, and no capacity and no memory stays taken.
 *   GANG_SEED           where the threads' chances begin
 *   GANG_TEST_SECONDS   how long, 2 by default */
#include <gangsched/gangsched.h>
#include <gangsched/sched.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "chance.h"
#include "support.h"

enum {
    THREADS = 4,
    JOBS = 400, /* of each thread in each round, at most */
    ARRAY = 3,  /* jobs of an array */
    NODES = 5,
    LEAVES = 3,
    DRAIN = 2000 /* runs after which everything must have ended */
};

#define SECOND ((int64_t)1000000000)

/* What threads and host know of a job; its cookie is its index plus one. The jobs of an array
 * share the cookie of the first, so they are counted together. */
struct job {
    _Atomic gang_job_id
        id; /* release when submitted: pairs with the acquire in the commanding thread */
    _Atomic gang_alloc_id alloc;
    atomic_int part_of; /* jobs of this cookie */
    atomic_int ended;
    atomic_int starts;
    atomic_bool cancelled;
};

struct counted_mem {
    struct gang_mem mem;
    _Atomic int64_t blocks;
};

static struct counted_mem mem;
static struct stage s; /* its allocator is not used: it is for one thread */
static gang_sched *sched;
static struct job jobs[THREADS * JOBS];
static atomic_int working;
static atomic_llong submitted, ended, calls;
static int64_t runs, callbacks;
static uint64_t base_seed;
static bool host_may_refuse;

static void *count_alloc(size_t bytes, void *user)
{
    struct counted_mem *m = user;
    void *memory = malloc(bytes ? bytes : 1);
    if (memory)
        atomic_fetch_add(&m->blocks, 1);
    return memory;
}

static void count_release(void *memory, void *user)
{
    struct counted_mem *m = user;
    atomic_fetch_sub(&m->blocks, 1);
    free(memory);
}

/* ---- the host, on the owner's thread ---- */

static struct job *job_of(const struct gang_event *e)
{
    test_assert(e->cookie >= 1 && e->cookie <= THREADS * JOBS);
    callbacks++;
    return &jobs[e->cookie - 1];
}

static int32_t on_start(const struct gang_event *e, void *user)
{
    uint64_t *seed = user;
    struct job *job = job_of(e);
    test_assert(e->alloc != GANG_ID_NONE && e->state == GANG_JOB_RUNNING);
    if (host_may_refuse && chance_of(seed) % 16 == 0)
        return 1;
    atomic_fetch_add(&job->starts, 1);
    atomic_store(&job->alloc, e->alloc);
    return 0;
}

/* Some stop later, when the owner asks or kills; some at once. */
static int32_t on_stop(const struct gang_event *e, void *user)
{
    uint64_t *seed = user;
    (void)job_of(e);
    uint64_t what = chance_of(seed) % 3;
    if (what == 0) /* a report from within */
        test_assert(gang_report_tasks(sched, e->job, e->gang, e->alloc, e->tasks, e->task_count,
                                      GANG_TASK_STOPPED) == GANG_OK);
    return what == 1;
}

static int32_t on_state(const struct gang_event *e, void *user)
{
    (void)user;
    struct job *job = job_of(e);
    if (e->state != GANG_JOB_ENDED)
        return 0;
    int before = atomic_fetch_add(&job->ended, 1), all = atomic_load(&job->part_of);
    test_assert(all == 0 || before < all); /* 0: its thread is still inside the submission */
    test_assert(e->end != GANG_END_NONE && e->end != GANG_END_REFUSED);
    test_assert(e->end != GANG_END_CANCELLED || atomic_load(&job->cancelled));
    test_assert(e->end != GANG_END_SUCCESS || atomic_load(&job->starts) > 0);
    atomic_fetch_add(&ended, 1);
    return 0;
}

/* ---- submitters and reporters ---- */

struct thread {
    pthread_t thread;
    uint64_t seed;
    int number, next;
};

/* A submitted job of any thread, or NULL. */
static struct job *some_job(struct thread *t)
{
    struct job *job = &jobs[chance_of(&t->seed) % (THREADS * JOBS)];
    return atomic_load_explicit(&job->id, memory_order_acquire) ? job : NULL;
}

static void submit(struct thread *t)
{
    static const char *const queue[LEAVES] = {"a1", "a2", "b"};
    if (t->next == JOBS)
        return;
    int index = t->number * JOBS + t->next;
    struct job *job = &jobs[index];
    int64_t count = 1 + (int64_t)(chance_of(&t->seed) % 5);
    struct gang_group_spec group = group_of(count, 1000, chance_of(&t->seed) % 2 ? 1000 : 0);
    struct gang_job_spec spec = GANG_JOB_SPEC_INIT;
    gang_job_id id = GANG_ID_NONE;
    group.min = 1 + (int64_t)(chance_of(&t->seed) % (uint64_t)count);
    spec.request = request_of(&group, 1);
    spec.queue = queue[chance_of(&t->seed) % LEAVES];
    spec.priority = (int64_t)(chance_of(&t->seed) % 3);
    /* Where nothing is guaranteed, what is protected would never start. */
    bool guaranteed = strcmp(spec.queue, "a2") == 0;
    spec.preemptible =
        chance_of(&t->seed) % 3 || !guaranteed ? GANG_PREEMPTIBLE : GANG_SEMI_PREEMPTIBLE;
    spec.hold = chance_of(&t->seed) % 8 == 0;
    spec.announced = chance_of(&t->seed) % 6 == 0;
    spec.loss = GANG_LOSS_RESTART;
    spec.max_restarts = 1;
    spec.cookie = (uint64_t)index + 1;
    bool array = chance_of(&t->seed) % 8 == 0;
    gang_result r = array ? gang_job_submit_array(sched, &spec, ARRAY, &id, NULL)
                          : gang_job_submit(sched, &spec, &id, NULL);
    test_assert(r == GANG_OK && id != GANG_ID_NONE);
    atomic_fetch_add(&submitted, array ? ARRAY : 1);
    atomic_store(&job->part_of, array ? ARRAY : 1);
    atomic_store_explicit(&job->id, id, memory_order_release);
    t->next++;
}

static void command(struct thread *t)
{
    struct job *job = some_job(t);
    if (!job)
        return;
    gang_job_id id =
        atomic_load(&job->id) + chance_of(&t->seed) % (uint64_t)atomic_load(&job->part_of);
    gang_result r = GANG_OK;
    switch (chance_of(&t->seed) % 8) {
    case 0:
        atomic_store(&job->cancelled, true);
        r = gang_job_cancel(sched, id);
        break;
    case 1:
        r = gang_job_hold(sched, id);
        break;
    case 2:
    case 3:
        r = gang_job_release(sched, id);
        break;
    case 4:
        r = gang_job_set_priority(sched, id, (int64_t)(chance_of(&t->seed) % 4));
        break;
    case 5: /* often for nothing: most jobs are not announced */
        r = gang_job_add_tasks(sched, id, 0, 1);
        break;
    case 6:
        r = gang_job_complete(sched, id);
        break;
    default:
        r = gang_job_set_target(sched, id, (int64_t)(chance_of(&t->seed) % 4));
        break;
    }
    test_assert(r == GANG_OK);
}

static void report(struct thread *t)
{
    struct job *job = some_job(t);
    if (!job || atomic_load(&job->alloc) == GANG_ID_NONE)
        return;
    gang_job_id id = atomic_load(&job->id);
    int64_t task = (int64_t)(chance_of(&t->seed) % 5);
    /* The allocation may be one that ended, or another job's of the array: such a report is
     * dropped. */
    gang_alloc_id alloc = atomic_load(&job->alloc);
    int32_t what = (int32_t)(chance_of(&t->seed) % 6);
    gang_result r = chance_of(&t->seed) % 3
                        ? gang_report_end(sched, id, chance_of(&t->seed) % 4 != 0)
                        : gang_report_tasks(sched, id, 0, alloc, &task, 1, what);
    test_assert(r == GANG_OK);
}

static void *work(void *user)
{
    struct thread *t = user;
    while (t->next < JOBS) {
        uint64_t what = chance_of(&t->seed) % 8;
        if (what < 3)
            submit(t);
        else if (what < 5)
            command(t);
        else
            report(t);
        atomic_fetch_add(&calls, 1);
    }
    atomic_fetch_sub(&working, 1);
    return NULL;
}

/* ---- the owner ---- */

static void must_check(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_sched_check(sched, &error);
    ck_assert_msg(r == GANG_OK, "gang_sched_check: %s %s", error.path, error.text);
    stage_check(&s);
}

/* No job comes near the limits. */
static void set_queues(void)
{
    struct gang_quota guarantee = {"gpu", 8000, NULL, 0, 0}, limit = {"gpu", 1000000, NULL, 0, 0};
    struct gang_queue_spec queue[4];
    static const char *const name[4] = {"a", "a1", "a2", "b"};
    for (int i = 0; i < 4; i++) {
        queue[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        queue[i].name = name[i];
        queue[i].parent = i == 1 || i == 2 ? "a" : NULL;
        queue[i].grace_ns = i == 3 ? 2 * SECOND : -1;
        queue[i].guaranteed = &guarantee;
        queue[i].guaranteed_count = i == 0 || i == 2;
        queue[i].limit = &limit;
        queue[i].limit_count = i > 0;
        queue[i].preempt_mode = i == 1 ? GANG_PREEMPT_MODE_SUSPEND : GANG_PREEMPT_MODE_REQUEUE;
    }
    MUST(gang_sched_set_queues(sched, queue, 4, NULL));
}

static void open_sched(uint64_t *seed)
{
    struct gang_cluster_opts cluster = GANG_CLUSTER_OPTS_INIT;
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    mem.mem = (struct gang_mem){sizeof(struct gang_mem), count_alloc, count_release, &mem};
    cluster.mem = opts.mem = &mem.mem;
    MUST(gang_cluster_new(&cluster, &s.c, NULL));
    MUST(gang_worker_new(s.c, &s.w));
    for (int i = 0; i < NODES; i++) {
        char text[8];
        struct box box = {.name = text, .cpu = 16000, .memory = GIB, .gpus = 8};
        snprintf(text, sizeof(text), "n%d", i);
        (void)stage_add(&s, &box);
    }
    ops.start = ops.resume = on_start;
    ops.preempt = ops.shrink = ops.suspend = on_stop;
    ops.state = on_state;
    MUST(gang_sched_new(s.c, &opts, &ops, seed, &sched, NULL));
    set_queues();
}

/* Every job that is left waits for one that is left, or the scheduler forgot it. */
static int32_t print_why(const struct gang_wait *wait, void *user)
{
    (void)user;
    printf("  it waits: %s\n", wait->text);
    return 0;
}

static void print_remaining_job(void)
{
    struct gang_job_info info;
    gang_job_id id = gang_job_next(sched, GANG_ID_NONE);
    memset(&info, 0, sizeof(info));
    info.size = sizeof(info);
    if (id != GANG_ID_NONE)
        MUST(gang_job_get(sched, id, &info));
    if (id != GANG_ID_NONE)
        MUST(gang_job_explain(sched, id, print_why, NULL));
    ck_abort_msg("%lld of %lld jobs ended; the first that is left is %" PRIu64
                 " in state %d with %" PRId64 " of %" PRId64 " tasks, held %d",
                 (long long)atomic_load(&ended), (long long)atomic_load(&submitted), id, info.state,
                 info.tasks, info.count, info.held);
}

/* All jobs go on and end. */
static void drain(int64_t *now)
{
    host_may_refuse = false;
    for (int i = 0; atomic_load(&ended) < atomic_load(&submitted); i++) {
        if (i == DRAIN)
            print_remaining_job();
        for (gang_job_id id = gang_job_next(sched, GANG_ID_NONE); id != GANG_ID_NONE;
             id = gang_job_next(sched, id)) {
            struct gang_job_info info;
            info.size = sizeof(info);
            MUST(gang_job_get(sched, id, &info));
            if (info.held)
                MUST(gang_job_release(sched, id));
            if (info.missing > 0)
                MUST(gang_job_complete(sched, id));
            if (info.state == GANG_JOB_RUNNING)
                MUST(gang_report_end(sched, id, 1));
        }
        *now += SECOND;
        MUST(gang_sched_run(sched, *now, NULL, NULL));
        runs++;
    }
    ck_assert_uint_eq(gang_job_next(sched, GANG_ID_NONE), GANG_ID_NONE);
}

static void close_sched(void)
{
    must_check();
    for (gang_node_id id = gang_node_next(s.c, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_node_next(s.c, id)) {
        struct gang_node_info info = stage_node(&s, id);
        ck_assert_int_eq(info.cpu_free, info.cpu_milli);
        ck_assert_int_eq(info.gpus_free, info.gpu_count);
    }
    for (int i = 0; i < THREADS * JOBS; i++)
        ck_assert_int_eq(atomic_load(&jobs[i].ended), atomic_load(&jobs[i].part_of));
    gang_sched_free(sched);
    gang_cluster_free(s.c);
    ck_assert_int_eq(atomic_load(&mem.blocks), 0);
}

static void live(uint64_t seed)
{
    struct thread thread[THREADS];
    uint64_t host_seed = seed | 1;
    int64_t now = 0;
    memset(jobs, 0, sizeof(jobs));
    atomic_store(&working, THREADS);
    atomic_store(&submitted, 0);
    atomic_store(&ended, 0);
    host_may_refuse = true;
    open_sched(&host_seed);
    for (int i = 0; i < THREADS; i++) {
        thread[i] = (struct thread){.seed = (seed + (uint64_t)i) * 2 + 1, .number = i};
        ck_assert_int_eq(pthread_create(&thread[i].thread, NULL, work, &thread[i]), 0);
    }
    for (; atomic_load(&working) > 0; runs++) {
        struct gang_run_opts opts = GANG_RUN_OPTS_INIT;
        opts.max_steps = chance_of(&host_seed) % 4 ? 0 : 50;
        now += SECOND / 4;
        MUST(gang_sched_run(sched, now, &opts, NULL));
        if (runs % 16 == 0)
            must_check();
        for (int i = 0; i < 20; i++) /* a submission finds the queues complete, old or new */
            set_queues();
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(thread[i].thread, NULL), 0);
    drain(&now);
    close_sched();
}

START_TEST(messages_from_many_threads_all_arrive)
{
    const char *given = getenv("GANG_TEST_SECONDS");
    double seconds = given ? atof(given) : getenv("GANG_TEST_QUICK") ? 1 : 2;
    struct timespec from, now;
    int64_t worlds = 0;
    base_seed = test_seed();
    timespec_get(&from, TIME_UTC);
    do {
        live(base_seed + (uint64_t)worlds++);
        timespec_get(&now, TIME_UTC);
    } while ((double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9 <
             seconds);
    printf("%lld worlds, %lld calls of threads, %lld runs, %lld callbacks\n", (long long)worlds,
           (long long)atomic_load(&calls), (long long)runs, (long long)callbacks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("concurrent");
    TCase *tests = tcase_create("concurrent");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, messages_from_many_threads_all_arrive);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
