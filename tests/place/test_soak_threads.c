/* SPDX-License-Identifier: Apache-2.0 */
/* Memory stays bounded while threads do everything there is to do (stress.h) on and on; also while
 * one of them is stopped for good in the midst of a commit.
 *
 * The run is cut into windows of equally many calls. At the end of each one all threads wait, what
 * they hold is freed, all nodes are made what they were at first, what was removed is reclaimed.
 * What the cluster's allocator gave and did not get back is then a matter of objects, whatever the
 * load of the machine and the order of the calls:
 *
 *     base      what there was before the first window: the cluster, nodes, requests, workers,
 *               trees of label counts
 *     buffers   free data buffers in the caches of workers, which the test reads:
 *               GANG__KEEP_BUFFERS of a class at most, none larger than the largest request needs
 *     scratch   arrays of each worker: SCRATCH_BLOCKS at most; they double, up to SCRATCH_BYTES in
 *               all
 *     match     caches, made when searches for a group have rejected many nodes: MATCH_CACHES at
 *               most
 *
 * The first third of the windows is the warm-up. At the end of each window of the other two
 *
 *     blocks and bytes, less buffers    <= base + scratch of all workers + match
 *
 * and the blocks of a size (in powers of two; less buffers and new match caches) may not rise by
 * more than one for each window without ever falling. The second rule finds a leak early, the first
 * one whatever grows at last. The resident size is only printed: it depends on the C library.
 *
 * While a thread is stopped *inside* the library, what gang_cluster_recycle() gives back has to
 * wait for it: removed nodes, and descriptions that were replaced. Nothing else does. So in that
 * part of the run nodes change their state but do not come and go.
 *
 * GANG_TEST_SECONDS runs so long instead; tests/soak.sh does. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#include "base/atomic.h"
#include "core/nodes/cluster_state.h"
#include "place/request/request.h"
#include "place/request/shared.h"
#include "place/search/match_cache.h"
#include "place/state/records.h"
#include "stress.h"

enum {
    THREADS = 3,
    MOST_SAMPLES = 1 << 14,
    LEAST_WINDOWS = 6,
    KEPT = 80, /* more than GANG__KEEP_BUFFERS */
    MOST_TASKS = 256,
    NODE_WORDS = 8,   /* of a node (stress.h): a record reserves as many for each task */
    MOST_SLOTS = 256, /* of nodes, with those that wait to be reclaimed */
    SCRATCH_BLOCKS = 16,
    SCRATCH_BYTES = 64 << 10,
    MATCH_CACHES = STRESS_REQUESTS * STRESS_GROUPS,
    MATCH_CACHE_BYTES = 1024
};

static struct run {
    struct stress s;
    pthread_barrier_t barrier;
    int64_t acts;    /* of each thread in each window */
    int64_t windows; /* 0: until the time is over */
    time_t end;
    bool over;
    size_t samples;
    int64_t workers;
} run;

/* What is held, less the free buffers of workers. */
struct sample {
    int64_t bytes, blocks, resident;
    int64_t of_size[STRESS_SIZES];
    int64_t buffers, match_caches;
};
static struct sample base, sample[MOST_SAMPLES];

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
            test_must(gang_gpu_set_state(s->w, id, 0, GANG_GPU_OK));
        if (!reclaim)
            r = gang_node_set_state(s->w, id, GANG_NODE_UP);
        else if (r == GANG_OK)
            r = gang_node_change(s->w, id, spec, NULL);
        else
            r = gang_node_add(s->w, spec, NULL, NULL);
        test_must(r);
    }
    if (reclaim)
        test_must(gang_cluster_recycle(s->c));
}

/* The class of the largest record that some request makes. */
static unsigned largest_class(void)
{
    unsigned k = 0;
    while (1 << k < MOST_TASKS * (GANG__TASK_HEAD + NODE_WORDS))
        k++;
    return k;
}

/* While no other thread does anything. */
static void take_out_buffers(struct sample *s, gang_worker *w)
{
    const struct gang__record_cache *cache = gang__record_cache_of(w);
    for (unsigned k = 0; cache && k < 32; k++) {
        int64_t n = cache->buffer_count[k];
        size_t bytes = sizeof(uint64_t) << k;
        ck_assert_msg(n <= (k <= largest_class() ? GANG__KEEP_BUFFERS : 0),
                      "%lld free buffers of class %u", (long long)n, k);
        s->buffers += n;
        s->blocks -= n;
        s->bytes -= n * (int64_t)bytes;
        s->of_size[stress_size_of(bytes)] -= n;
    }
}

static int64_t match_caches_of(const gang_request *request)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < request->group_count; i++)
        for (const struct gang__match_cache *m = gang__load(&request->group[i].match_cache->now); m;
             m = m->older)
            n++;
    return n;
}

static struct sample look(struct stress *s)
{
    struct sample now = {.bytes = atomic_load(&s->mem.bytes),
                         .blocks = atomic_load(&s->mem.blocks),
                         .resident = resident_bytes()};
    for (int i = 0; i < STRESS_SIZES; i++)
        now.of_size[i] = atomic_load(&s->mem.of_size[i]);
    for (int i = 0; i < STRESS_REQUESTS; i++)
        now.match_caches += match_caches_of(s->request[i]);
    run.workers = gang__load(&s->c->commit.worker_end);
    for (int64_t i = 0; i < run.workers; i++)
        take_out_buffers(&now, gang__worker_of(gang__load(&s->c->commit.worker[i])));
    return now;
}

/* No more than all objects that there may be. */
static void check_bound(size_t i)
{
    int64_t blocks = base.blocks + run.workers * SCRATCH_BLOCKS + MATCH_CACHES;
    int64_t bytes = base.bytes + run.workers * SCRATCH_BYTES + MATCH_CACHES * MATCH_CACHE_BYTES;
    ck_assert_msg(sample[i].blocks <= blocks && sample[i].bytes <= bytes,
                  "window %zu: %lld blocks, %lld bytes; at most %lld and %lld", i,
                  (long long)sample[i].blocks, (long long)sample[i].bytes, (long long)blocks,
                  (long long)bytes);
}

/* A size that rises from window to window. */
static void check_size(size_t from, size_t end, int size)
{
    for (size_t i = from + 1; i < end; i++)
        if (sample[i].of_size[size] < sample[i - 1].of_size[size])
            return;
    int64_t more = sample[end - 1].of_size[size] - sample[from].of_size[size] -
                   (sample[end - 1].match_caches - sample[from].match_caches);
    ck_assert_msg(more <= (int64_t)(end - from),
                  "%lld more blocks of at most 2^%d bytes in %zu windows, and never fewer",
                  (long long)more, size, end - from);
}

static void check_flat(void)
{
    size_t n = run.samples;
    ck_assert_uint_ge(n, LEAST_WINDOWS);
    const struct sample *one = &sample[n / 3], *last = &sample[n - 1];
    printf("%zu windows of %lld calls: %lld blocks, %lld bytes at first; %lld, %lld after a third; "
           "%lld, %lld at last; %lld free buffers, %lld match caches; resident %lld and %lld KiB\n",
           n, (long long)(run.acts * THREADS), (long long)base.blocks, (long long)base.bytes,
           (long long)one->blocks, (long long)one->bytes, (long long)last->blocks,
           (long long)last->bytes, (long long)last->buffers, (long long)last->match_caches,
           (long long)one->resident / 1024, (long long)last->resident / 1024);
    fflush(stdout); /* a failed check ends the process */
    for (int size = 0; size < STRESS_SIZES; size++)
        check_size(n / 3, n, size);
    for (size_t i = n / 3; i < n; i++)
        check_bound(i);
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
        sample[run.samples++] = look(t->actor.s);
    run.over = run.windows ? run.samples == (size_t)run.windows
                           : run.samples >= LEAST_WINDOWS && time(NULL) >= run.end;
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
    test_must(gang_worker_preallocate(w, 512));
    for (int64_t tasks = 4; tasks <= MOST_TASKS; tasks *= 2) {
        struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
        struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
        gang_request *request;
        group.count = group.min = tasks;
        spec.groups = &group;
        spec.group_count = 1;
        test_must(gang_request_new(s->c, &spec, &request, NULL));
        for (int i = 0; i < KEPT; i++)
            test_must(gang_alloc(s->w, request, &id[i], NULL));
        for (int i = 0; i < KEPT; i++)
            test_must(gang_alloc_free(w, id[i]));
        gang_request_free(request);
    }
}

_Static_assert(offsetof(struct gang__label_count, link) == 0, "see fill_label_counts()");

/* The first use of a label on a node makes a part of a tree; let all parts be there. */
static void fill_label_counts(struct stress *s)
{
    const struct gang__hash_table *names = &gang__shared_at(s->c)->label_counts.names;
    for (size_t i = 0; i < names->cap; i++)
        for (struct gang__hash_link *n = names->bucket[i]; n; n = n->next)
            for (uint32_t at = 0; at < GANG__ROLES * MOST_SLOTS; at++)
                ck_assert(gang__label_count_reserve((struct gang__label_count *)n, &s->mem.mem,
                                                    at / MOST_SLOTS, at % MOST_SLOTS));
}

static void soak(uint64_t seed, bool nodes)
{
    struct thread thread[THREADS];
    const char *seconds = getenv("GANG_TEST_SECONDS");
    bool quick = getenv("GANG_TEST_QUICK") != NULL;
    run.samples = 0;
    run.over = false;
    run.windows = seconds ? 0 : quick ? 12 : 24;
    run.acts = seconds && atoi(seconds) >= 60 ? 20000 : quick ? 400 : 4000;
    run.end = time(NULL) + (seconds ? atoi(seconds) / 2 : 0);
    pthread_barrier_init(&run.barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        thread[i] = (struct thread){.is_first = i == 0, .reclaims = nodes};
        thread[i].actor = (struct stress_actor){
            .s = &run.s, .seed = seed * 31 + (uint64_t)i * 2 + 1, .nodes = nodes && i < 2};
        test_must(gang_worker_new(run.s.c, &thread[i].actor.w));
    }
    for (int i = 0; i < THREADS; i++)
        fill_caches(&run.s, thread[i].actor.w);
    fill_caches(&run.s, run.s.w);
    fill_label_counts(&run.s);
    make_as_new(&run.s, nodes);
    base = look(&run.s);
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
    gang_request *request;
    gang_worker *w;
    group.count = group.min = STRESS_NODES;
    group.cpu_milli = 500;
    spec.groups = &group;
    spec.group_count = 1;
    spec.policy = GANG_POLICY_SPREAD;
    test_must(gang_worker_new(s->c, &w));
    test_must(gang_request_new(s->c, &spec, &request, NULL));
    is_victim = true;
    test_must(gang_alloc(w, request, &id, NULL));
    test_must(gang_alloc_free(w, id));
    gang_worker_free(w);
    gang_request_free(request);
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
