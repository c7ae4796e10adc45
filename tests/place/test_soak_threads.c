/* SPDX-License-Identifier: Apache-2.0 */
/* Memory stays bounded while threads do everything there is to do (stress.h) on and on; also while
 * one of them is stopped for good in the midst of a commit.
 *
 * The run is cut into windows of equally many calls. At the end of each one all threads wait, what
 * they hold is freed, all nodes are made what they were at first, what was removed is reclaimed,
 * and two numbers are noted: the bytes that the cluster's allocator gave and did not get back, and
 * the resident size of the process. The first third of the windows is the warm-up: tables double,
 * caches of workers fill. The rule is about the other two thirds:
 *
 *     least bytes of the last third    <= least bytes of the middle third + 4 KiB for each thread
 *     least resident of the last third <= least resident of the middle third + 1 MiB + 2 percent
 *
 * (a buffer may be cached that was not before, hence not exactly flat; a leak of one byte in each
 * call is far beyond that in a run of seconds already, where a window has thousands of calls).
 *
 * While a thread is stopped *inside* the library, what gang_cluster_recycle() gives back has to
 * wait for it: removed nodes, and descriptions that were replaced. Nothing else does. So in that
 * part of the run nodes change their state but do not come and go.
 *
 * GANG_TEST_SECONDS runs so long instead; tests/soak.sh does. */
#include <pthread.h>
#include <semaphore.h>

#include "base/atomic.h"
#include "stress.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RESIDENT_COUNTS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define RESIDENT_COUNTS 0 /* they keep what is freed */
#endif
#endif
#ifndef RESIDENT_COUNTS
#define RESIDENT_COUNTS 1
#endif

enum { THREADS = 3, MOST_SAMPLES = 1 << 16, KEPT = 80 };

static struct run {
    struct stress s;
    pthread_barrier_t barrier;
    int64_t acts;    /* of each thread in each window */
    int64_t windows; /* 0: until the time is over */
    time_t end;
    bool over;
    size_t samples;
} run;

static struct sample {
    int64_t bytes, resident;
} sample[MOST_SAMPLES];

/* ---- what is held
 * ---------------------------------------------------------------------------------- */

static int64_t resident_bytes(void)
{
    char line[256];
    long long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    ck_assert_ptr_nonnull(status);
    while (fgets(line, sizeof(line), status))
        if (sscanf(line, "VmRSS: %lld kB", &kib) == 1)
            break;
    fclose(status);
    return kib * 1024;
}

/* Everything as it was at first. */
static void make_as_new(struct stress *s, bool reclaim)
{
    struct stress_node n;
    stress_free_all(s);
    for (int i = 0; i < STRESS_NODES; i++) {
        const struct gang_node_spec *spec = stress_node_spec(s, i, 0, &n);
        gang_node_id id;
        gang_result r = gang_node_find(s->c, spec->name, &id);
        if (!reclaim && spec->gpu_count)
            stress_must(gang_gpu_set_state(s->w, id, 0, GANG_GPU_OK));
        if (!reclaim)
            r = gang_node_set_state(s->w, id, GANG_NODE_UP);
        else if (r == GANG_OK)
            r = gang_node_change(s->w, id, spec, NULL);
        else
            r = gang_node_add(s->w, spec, NULL, NULL);
        stress_must(r);
    }
    if (reclaim)
        stress_must(gang_cluster_recycle(s->c));
}

static struct sample least_of(size_t from, size_t end)
{
    struct sample least = sample[from];
    for (size_t i = from; i < end; i++) {
        if (sample[i].bytes < least.bytes)
            least.bytes = sample[i].bytes;
        if (sample[i].resident < least.resident)
            least.resident = sample[i].resident;
    }
    return least;
}

static void check_flat(void)
{
    size_t n = run.samples;
    ck_assert_uint_ge(n, 6);
    struct sample middle = least_of(n / 3, 2 * n / 3), last = least_of(2 * n / 3, n);
    printf(
        "%zu windows of %lld calls: least bytes held %lld in the middle third, %lld in the last; "
        "least resident %lld and %lld KiB\n",
        n, (long long)(run.acts * THREADS), (long long)middle.bytes, (long long)last.bytes,
        (long long)middle.resident / 1024, (long long)last.resident / 1024);
    ck_assert_int_le(last.bytes, middle.bytes + THREADS * 4096);
    if (RESIDENT_COUNTS)
        ck_assert_int_le(last.resident, middle.resident + (1 << 20) + middle.resident / 50);
}

/* ---- threads
 * ----------------------------------------------------------------------------------------- */

struct thread {
    pthread_t thread;
    struct stress_actor actor;
    bool is_first;
    bool reclaims;
};

/* One thread, while the others wait. */
static void end_window(const struct thread *t)
{
    make_as_new(t->actor.s, t->reclaims);
    if (run.samples < MOST_SAMPLES)
        sample[run.samples++] =
            (struct sample){atomic_load(&t->actor.s->mem.bytes), resident_bytes()};
    run.over = run.windows ? run.samples == (size_t)run.windows : time(NULL) >= run.end;
}

static void *act(void *user)
{
    struct thread *t = user;
    do {
        for (int64_t i = 0; i < run.acts; i++)
            stress_act(&t->actor);
        pthread_barrier_wait(&run.barrier);
        if (t->is_first)
            end_window(t);
        pthread_barrier_wait(&run.barrier);
    } while (!run.over);
    return NULL;
}

/* A worker keeps some buffers of what it freed, of each size; let it keep as many as it ever will.
 * Tasks that need nothing make records of any size. */
static void fill_caches(struct stress *s, gang_worker *w)
{
    static gang_alloc_id id[KEPT];
    stress_must(gang_worker_preallocate(w, 512));
    for (int64_t tasks = 4; tasks <= 256; tasks *= 2) {
        struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
        struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
        gang_request *q;
        group.count = group.min = tasks;
        spec.groups = &group;
        spec.group_count = 1;
        stress_must(gang_request_new(s->c, &spec, &q, NULL));
        for (int i = 0; i < KEPT; i++)
            stress_must(gang_alloc(s->w, q, &id[i], NULL));
        for (int i = 0; i < KEPT; i++)
            stress_must(gang_alloc_free(w, id[i]));
        gang_request_free(q);
    }
}

static void soak(uint64_t seed, bool nodes)
{
    struct thread thread[THREADS];
    const char *seconds = getenv("GANG_TEST_SECONDS");
    bool quick = getenv("GANG_TEST_QUICK") != NULL;
    run.samples = 0;
    run.over = false;
    run.windows = seconds ? 0 : quick ? 12 : 24;
    run.acts = seconds ? 20000 : quick ? 400 : 4000;
    run.end = time(NULL) + (seconds ? atoi(seconds) / 2 : 0);
    for (size_t i = 0; i < MOST_SAMPLES; i++) /* resident from now on */
        sample[i].bytes = sample[i].resident = -1;
    pthread_barrier_init(&run.barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        thread[i] = (struct thread){.is_first = i == 0, .reclaims = nodes};
        thread[i].actor = (struct stress_actor){
            .s = &run.s, .seed = seed * 31 + (uint64_t)i * 2 + 1, .nodes = nodes && i < 2};
        stress_must(gang_worker_new(run.s.c, &thread[i].actor.w));
    }
    for (int i = 0; i < THREADS; i++)
        fill_caches(&run.s, thread[i].actor.w);
    fill_caches(&run.s, run.s.w);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i].thread, NULL, act, &thread[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i].thread, NULL);
        gang_worker_free(thread[i].actor.w);
    }
    pthread_barrier_destroy(&run.barrier);
    check_flat();
}

START_TEST(memory_is_flat_while_nodes_come_and_go)
{
    uint64_t seed = test_seed();
    stress_open(&run.s, seed, false);
    soak(seed, true);
    stress_check(&run.s);
    stress_check_free(&run.s);
    stress_close(&run.s);
}
END_TEST

/* ---- a thread that is stopped for good
 * ------------------------------------------------------------------ */

static _Thread_local bool is_victim;
static sem_t stopped, go_on;

static void stop_victim(enum gang__step step)
{
    if (!is_victim || step != GANG__STEP_DECIDE)
        return;
    is_victim = false;
    sem_post(&stopped);
    sem_wait(&go_on);
}

static void *be_victim(void *user)
{
    gang_alloc_id id;
    struct stress *s = user;
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *q;
    gang_worker *w;
    group.count = group.min = STRESS_NODES;
    group.cpu_milli = 500;
    spec.groups = &group;
    spec.group_count = 1;
    spec.policy = GANG_POLICY_SPREAD;
    stress_must(gang_worker_new(s->c, &w));
    stress_must(gang_request_new(s->c, &spec, &q, NULL));
    is_victim = true;
    stress_must(gang_alloc(w, q, &id, NULL));
    stress_must(gang_alloc_free(w, id));
    gang_worker_free(w);
    gang_request_free(q);
    return NULL;
}

START_TEST(memory_is_flat_though_a_thread_is_stopped)
{
    pthread_t victim;
    uint64_t seed = test_seed();
    stress_open(&run.s, seed, true);
    sem_init(&stopped, 0, 0);
    sem_init(&go_on, 0, 0);
    atomic_store(&gang__hook_now, stop_victim);
    ck_assert_int_eq(pthread_create(&victim, NULL, be_victim, &run.s), 0);
    sem_wait(&stopped); /* it has claimed all nodes */
    soak(seed, false);
    sem_post(&go_on);
    pthread_join(victim, NULL);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    make_as_new(&run.s, true);
    stress_check(&run.s);
    stress_check_free(&run.s);
    sem_destroy(&stopped);
    sem_destroy(&go_on);
    stress_close(&run.s);
}
END_TEST

int main(void)
{
    const char *seconds = getenv("GANG_TEST_SECONDS");
    Suite *suite = suite_create("soak_threads");
    TCase *t = tcase_create("soak");
    tcase_set_timeout(t, 300.0 + (seconds ? atoi(seconds) : 0));
    tcase_add_test(t, memory_is_flat_while_nodes_come_and_go);
    tcase_add_test(t, memory_is_flat_though_a_thread_is_stopped);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
