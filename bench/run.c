/* SPDX-License-Identifier: Apache-2.0 */
/* A loop runs in three parts, each begun by all threads together: warming up, operations timed one
 * by one, batches of operations. */
#include "run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "loops.h"

struct bench_result *results_add(struct bench_results *results, const char *name, int32_t threads)
{
    if (results->count == results->cap) {
        results->cap = results->cap ? 2 * results->cap : 64;
        results->items = realloc(results->items, results->cap * sizeof(*results->items));
        if (!results->items)
            bench_die("out of memory");
    }
    struct bench_result *r = &results->items[results->count++];
    *r = (struct bench_result){.threads = threads,
                               .ns_per_op = -1,
                               .batch = -1,
                               .together = -1,
                               .cpu_ns = -1,
                               .ops_per_s = -1,
                               .wall_ops_per_s = -1,
                               .bytes_per_node = -1,
                               .allocs_per_op = -1,
                               .retries = -1,
                               .helps = -1,
                               .refused = -1};
    snprintf(r->name, sizeof(r->name), "%s", name);
    r->histogram = histogram_new();
    return r;
}

void results_free(struct bench_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        histogram_free(results->items[i].histogram);
    free(results->items);
}

/* ---- threads ------------------------------------------------------------------------------- */

enum { MIN_OPERATIONS = 5 };

struct crew {
    struct looper member[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    pthread_barrier_t barrier;
    double seconds;
    struct bench_counters before, after;
};

struct thread_arg {
    struct crew *crew;
    struct looper *looper;
};

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void repeat(struct looper *l, void (*step)(struct looper *), double seconds, int64_t min)
{
    int64_t end = bench_now() + (int64_t)(seconds * 1e9);
    for (int64_t i = 0; i < min || bench_now() < end; i++)
        step(l);
}

/* Have all threads enough batches during which all of them ran? */
static bool together_enough(const struct looper *l)
{
    enum { ENOUGH = 100 };
    for (int32_t i = 0; i < l->loop->threads; i++)
        if (atomic_load_explicit(&l->mates[i].together, memory_order_relaxed) < ENOUGH)
            return false;
    return true;
}

/* Where other programs keep the threads apart, up to eight times the time is given. */
static void repeat_batches(struct looper *l, void (*step)(struct looper *), double seconds)
{
    repeat(l, step, seconds, 2);
    int64_t end = bench_now() + (int64_t)(7 * seconds * 1e9);
    while (l->loop->threads > 1 && !together_enough(l) && bench_now() < end)
        step(l);
}

/* A batch is short beside the time slices in which programs share a processor. */
static void shorten_batch(struct looper *l)
{
    enum { LONGEST_NS = 100000 };
    int64_t ns = l->shortest_batch[0];
    if (ns > LONGEST_NS)
        l->batch = (size_t)((int64_t)l->batch * LONGEST_NS / ns);
    if (l->batch == 0)
        l->batch = 1;
    memset(l->shortest_batch, 0, sizeof(l->shortest_batch));
}

static void *sit(void *user)
{
    struct thread_arg *thread_arg = user;
    struct crew *crew = thread_arg->crew;
    struct looper *l = thread_arg->looper;
    const struct loop_steps *steps = loop_steps(l->loop);
    pthread_barrier_wait(&crew->barrier);
    repeat(l, steps->batch ? steps->batch : steps->timed, crew->seconds / 5, 2);
    shorten_batch(l);
    memset(l->batch_ns, 0, sizeof(l->batch_ns));
    memset(l->batch_ops, 0, sizeof(l->batch_ops));
    for (int i = 0; i < BENCH_OPS; i++) {
        histogram_clear(l->histogram[i]);
        histogram_clear(l->batches[i][0]);
        histogram_clear(l->batches[i][1]);
    }
    atomic_store(&l->together, 0);
    l->refused = 0;
    l->next_arrival = 0;
    pthread_barrier_wait(&crew->barrier); /* the crew's counters are read */
    pthread_barrier_wait(&crew->barrier);
    int64_t start = bench_now();
    repeat(l, steps->timed, crew->seconds, MIN_OPERATIONS);
    l->timed_ns = bench_now() - start;
    pthread_barrier_wait(&crew->barrier);
    double cpu = cpu_now();
    int64_t wall = bench_now();
    if (steps->batch)
        repeat_batches(l, steps->batch, crew->seconds / 2);
    wall = bench_now() - wall;
    l->cpu_share = wall > 0 ? (cpu_now() - cpu) / (double)wall : 1;
    pthread_barrier_wait(&crew->barrier);
    return NULL;
}

static void crew_run(struct crew *crew, const struct bench_loop *loop, const struct stage *stage)
{
    struct thread_arg thread_arg[MAX_THREADS];
    if (pthread_barrier_init(&crew->barrier, NULL, (unsigned)loop->threads + 1))
        bench_die("cannot make a barrier");
    for (int32_t i = 0; i < loop->threads; i++) {
        thread_arg[i] = (struct thread_arg){crew, &crew->member[i]};
        if (pthread_create(&crew->thread[i], NULL, sit, &thread_arg[i]))
            bench_die("cannot start a thread");
    }
    pthread_barrier_wait(&crew->barrier);
    pthread_barrier_wait(&crew->barrier);
    stage->scene.impl->count(stage->cluster, &crew->before);
    pthread_barrier_wait(&crew->barrier);
    pthread_barrier_wait(&crew->barrier);
    pthread_barrier_wait(&crew->barrier);
    for (int32_t i = 0; i < loop->threads; i++)
        pthread_join(crew->thread[i], NULL);
    stage->scene.impl->count(stage->cluster, &crew->after);
    pthread_barrier_destroy(&crew->barrier);
}

/* ---- one loop ------------------------------------------------------------------------------ */

/* Each thread gets its share of what is live, of the loop's shape if it will draw from it. */
static void deal_live(struct crew *crew, const struct bench_loop *loop, struct stage *s)
{
    bool sized = loop->kind == LOOP_RANDOM;
    size_t share = s->live_count / (size_t)loop->threads + 1;
    for (int32_t t = 0; t < loop->threads; t++) {
        struct looper *l = &crew->member[t];
        l->live_cap = share + share / 2 + 2 * BATCH + 64;
        l->live = bench_calloc(l->live_cap, sizeof(*l->live));
    }
    size_t left = 0, dealt = 0;
    for (size_t i = 0; i < s->live_count; i++) {
        const struct live *live = &s->live[i];
        if (sized && (live->shape != loop->request.shape || live->tasks != loop->request.tasks)) {
            s->live[left++] = *live;
            continue;
        }
        struct looper *l = &crew->member[dealt++ % (size_t)loop->threads];
        l->live[l->live_count++] = *live;
        l->held_milli += bench_need[live->shape].gpu_milli * live->tasks;
    }
    s->live_count = left;
    int64_t target = s->scene.nodes * NODE_GPUS * 1000 * s->scene.fill / 100;
    for (int32_t t = 0; t < loop->threads; t++) {
        struct looper *l = &crew->member[t];
        l->target_milli = target / loop->threads;
        if (sized && l->live_count < BATCH)
            bench_die("%s: too little is live to free at random", loop->name[0]);
    }
}

static void gather_live(struct crew *crew, const struct bench_loop *loop, struct stage *s)
{
    size_t need = s->live_count;
    for (int32_t t = 0; t < loop->threads; t++)
        need += crew->member[t].live_count;
    if (need > s->live_cap) {
        s->live = realloc(s->live, need * sizeof(*s->live));
        if (!s->live)
            bench_die("out of memory");
        s->live_cap = need;
    }
    for (int32_t t = 0; t < loop->threads; t++) {
        struct looper *l = &crew->member[t];
        for (size_t i = 0; i < l->live_count; i++)
            s->live[s->live_count++] = l->live[i];
        free(l->live);
    }
    s->taken_milli = 0;
    for (size_t i = 0; i < s->live_count; i++)
        s->taken_milli += bench_need[s->live[i].shape].gpu_milli * s->live[i].tasks;
}

/* Before anything is measured: does a request really get all its devices? */
static void try_once(const struct looper *l)
{
    const struct bench_loop *loop = l->loop;
    if (loop->kind != LOOP_NEWEST && loop->kind != LOOP_RANDOM && loop->kind != LOOP_RESIZE &&
        loop->kind != LOOP_BESIDE)
        return;
    uint64_t id;
    if (l->impl->place(l->worker, l->request, &id) != BENCH_PLACED)
        bench_die("%s: no capacity is left", loop->name[0]);
    if (!l->impl->holds(l->worker, id, &loop->request))
        bench_die("%s: the allocation does not hold what was asked for", loop->name[0]);
    if (!l->impl->give_back(l->worker, id))
        bench_die("%s: cannot free", loop->name[0]);
}

static size_t batch_of(const struct bench_loop *loop)
{
    if (loop->kind == LOOP_RESIZE)
        return (size_t)loop->request.extra;
    if (loop->kind != LOOP_NEWEST && loop->kind != LOOP_RANDOM)
        return BATCH;
    int64_t batch = scene_capacity(&loop->scene, &loop->request) / loop->threads / 2;
    return batch < 1 ? 1 : batch > BATCH ? BATCH : (size_t)batch;
}

static void looper_begin(struct looper *l, const struct bench_loop *loop, struct stage *s,
                         int32_t index, uint64_t seed)
{
    l->stage = s;
    l->loop = loop;
    l->impl = s->scene.impl;
    l->worker = s->workers[index];
    l->request = l->impl->request(s->cluster, &loop->request);
    l->random = seed + (uint64_t)index * 7919 + 1;
    l->batch = batch_of(loop);
    if (loop->kind == LOOP_CHURN || loop->kind == LOOP_OPEN)
        for (enum bench_shape shape = 0; shape <= SHAPE_NODE; shape++) {
            struct bench_request request = {.shape = shape, .tasks = 1};
            l->sizes[shape] = l->impl->request(s->cluster, &request);
        }
    if (loop->kind == LOOP_OPEN)
        l->arrival_step = (int64_t)1000000000 * loop->threads / loop->rate;
    if (index == 0)
        try_once(l);
    if (loop->kind == LOOP_RESIZE &&
        l->impl->place(l->worker, l->request, &l->grown) != BENCH_PLACED)
        bench_die("%s: no capacity is left", loop->name[0]);
    for (int i = 0; i < BENCH_OPS; i++) {
        l->histogram[i] = histogram_new();
        l->batches[i][0] = histogram_new();
        l->batches[i][1] = histogram_new();
    }
}

static void looper_end(struct looper *l)
{
    if (l->loop->kind == LOOP_RESIZE && !l->impl->give_back(l->worker, l->grown))
        bench_die("%s: cannot free", l->loop->name[0]);
    l->impl->request_end(l->request);
    for (int i = 0; i < SHAPE_COUNT; i++)
        if (l->sizes[i])
            l->impl->request_end(l->sizes[i]);
    for (int i = 0; i < BENCH_OPS; i++) {
        histogram_free(l->histogram[i]);
        histogram_free(l->batches[i][0]);
        histogram_free(l->batches[i][1]);
    }
}

/* The batches to judge by: those during which all threads ran, if there are a few. */
static const struct bench_histogram *batches_of(const struct looper *l, int op)
{
    enum { A_FEW = 5 };
    bool few = histogram_count(l->batches[op][0]) < A_FEW && histogram_count(l->batches[op][1]);
    return l->batches[op][few];
}

/* Operations a second of one thread in its median batch, added to *median; returns those over
 * all its time, which is less where other programs had the processor, too. */
static double thread_rate(const struct looper *l, int op, double *median)
{
    if (l->batch_ns[op] <= 0) {
        double rate = (double)histogram_count(l->histogram[op]) * 1e9 / (double)l->timed_ns;
        *median += rate;
        return rate;
    }
    *median += 1e12 / (double)histogram_at(batches_of(l, op), 50);
    return (double)l->batch_ops[op] * 1e9 / (double)l->batch_ns[op];
}

/* Puts the members' measurements together. */
static void summarise(const struct crew *crew, const struct bench_loop *loop, int op,
                      struct bench_result *r)
{
    struct bench_histogram *batches = histogram_new();
    int64_t ns = 0, ops = 0, together = 0, apart = 0;
    bool kept_apart = false;
    double per_second = 0, wall_per_second = 0, cpu_share = 0;
    r->refused = 0;
    for (int32_t t = 0; t < loop->threads; t++) {
        const struct looper *l = &crew->member[t];
        histogram_merge(r->histogram, l->histogram[op]);
        histogram_merge(batches, batches_of(l, op));
        together += histogram_count(l->batches[op][0]);
        apart += histogram_count(l->batches[op][1]);
        kept_apart |= batches_of(l, op) != l->batches[op][0];
        ns += l->batch_ns[op];
        ops += l->batch_ops[op];
        wall_per_second += thread_rate(l, op, &per_second);
        cpu_share += l->cpu_share / loop->threads;
        r->refused += l->refused;
    }
    r->iterations = histogram_count(r->histogram);
    r->mean_ns = histogram_mean(r->histogram);
    if (ops) {
        r->ns_per_op = (double)histogram_at(batches, 50) / 1000;
        r->cpu_ns = (double)ns / (double)ops * cpu_share;
        r->batch = (int64_t)crew->member[0].batch;
        r->together = kept_apart ? 0 : (double)together / (double)(together + apart);
    }
    r->ops_per_s = per_second;
    r->wall_ops_per_s = wall_per_second;
    histogram_free(batches);
    if (!r->iterations)
        bench_die("%s: nothing was measured", r->name);
    if (loop->scene.impl == &bench_gangsched) {
        r->retries = crew->after.retries - crew->before.retries;
        r->helps = crew->after.helps - crew->before.helps;
    }
}

static void run_loop(const struct bench_loop *loop, struct stage *s,
                     const struct bench_options *options, struct bench_results *results)
{
    struct crew *crew = bench_calloc(1, sizeof(*crew));
    crew->seconds = options->seconds >= 0 ? options->seconds : loop->seconds;
    for (int32_t t = 0; t < loop->threads; t++) {
        crew->member[t].mates = crew->member;
        looper_begin(&crew->member[t], loop, s, t, options->seed);
    }
    deal_live(crew, loop, s);
    crew_run(crew, loop, s);
    gather_live(crew, loop, s);

    int64_t all = 0;
    for (int32_t t = 0; t < loop->threads; t++)
        for (int op = 0; op < BENCH_OPS; op++)
            all += crew->member[t].batch_ops[op] + histogram_count(crew->member[t].histogram[op]);
    for (int op = 0; op < BENCH_OPS; op++) {
        if (!loop->wanted[op])
            continue;
        struct bench_result *r = results_add(results, loop->name[op], loop->threads);
        summarise(crew, loop, op, r);
        if (crew->after.counted)
            r->allocs_per_op =
                (double)(crew->after.allocations - crew->before.allocations) / (double)all;
    }
    for (int32_t t = 0; t < loop->threads; t++)
        looper_end(&crew->member[t]);
    free(crew);
}

/* ---- building ------------------------------------------------------------------------------ */

/* One value: the whole build, a few times; also reported per node. */
static void run_build(const struct bench_loop *loop, struct bench_results *results)
{
    const struct bench_impl *impl = loop->scene.impl;
    struct bench_result *r = results_add(results, loop->name[0], 1);
    int times = loop->scene.nodes >= MAX_NODES ? 1 : loop->scene.nodes >= 100000 ? 3 : 9;
    double sum = 0;
    for (int i = 0; i < times; i++) {
        void *cluster = impl->open(&loop->scene);
        int64_t ns = impl->build(cluster, loop->kind == LOOP_BUILD_BULK);
        histogram_record(r->histogram, ns);
        sum += (double)ns;
        struct bench_counters counters;
        impl->count(cluster, &counters);
        r->bytes_per_node = (double)counters.live_bytes / (double)loop->scene.nodes;
        impl->close(cluster);
    }
    r->iterations = times;
    r->mean_ns = sum / times;
    r->ops_per_s = (double)loop->scene.nodes * 1e9 / (double)histogram_at(r->histogram, 50);
    r->wall_ops_per_s = (double)loop->scene.nodes * 1e9 * times / sum;
}

/* ---- a scene ------------------------------------------------------------------------------- */

static bool is_wanted(const struct bench_loop *loop)
{
    return loop->wanted[0] || loop->wanted[1];
}

void run_scene(const struct bench_loop *loops, size_t count, const struct bench_options *options,
               struct bench_results *results)
{
    int32_t threads = 1;
    int64_t largest = loops[0].scene.fill_gang;
    for (size_t i = 0; i < count; i++) {
        int64_t tasks = loops[i].request.tasks + loops[i].request.extra;
        if (loops[i].threads > threads)
            threads = loops[i].threads;
        if (tasks > largest)
            largest = tasks;
    }
    struct stage *s = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!is_wanted(&loops[i]))
            continue;
        if (loops[i].scene.build) {
            run_build(&loops[i], results);
            continue;
        }
        if (!s)
            s = stage_new(&loops[i].scene, threads, largest, options->seed);
        run_loop(&loops[i], s, options, results);
    }
    if (s)
        stage_free(s);
}
