/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_DEFAULT */

#include "work.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cycle.h"
#include "stage.h"

enum work_kind {
    WORK_PAIR,
    WORK_RANDOM,
    WORK_RESIZE,
    WORK_REFUSE,
    WORK_READ,
    WORK_STATE,
    WORK_CYCLE
};

struct work {
    const char *name;
    enum bench_pattern pattern;
    int32_t fill;
    enum work_kind kind;
    struct bench_request request;
    int64_t operations; /* calls, or pairs of calls */
    int64_t rack;       /* nodes a rack; 0: RACK_NODES */
};

/* Those that share a cluster follow each other. */
static const struct work works[] = {
    {"alloc_free_node_1", PATTERN_NODES, 90, WORK_PAIR, {SHAPE_NODE, .tasks = 1}, 2000, 0},
    {"alloc_free_node_8", PATTERN_NODES, 90, WORK_PAIR, {SHAPE_NODE, .tasks = 8}, 500, 0},
    {"alloc_free_node_64", PATTERN_NODES, 90, WORK_PAIR, {SHAPE_NODE, .tasks = 64}, 100, 0},
    {"alloc_free_node_512", PATTERN_NODES, 90, WORK_PAIR, {SHAPE_NODE, .tasks = 512}, 20, 0},
    {"alloc_free_rack_8",
     PATTERN_NODES,
     90,
     WORK_PAIR,
     {SHAPE_NODE, .where = WHERE_RACK, .tasks = 8},
     500,
     0},
    {"alloc_free_exclusive_64",
     PATTERN_NODES,
     90,
     WORK_PAIR,
     {SHAPE_HALF, .tasks = 64, .exclusive = true},
     100,
     0},
    {"grow_shrink_node",
     PATTERN_NODES,
     90,
     WORK_RESIZE,
     {SHAPE_NODE, .tasks = 8, .extra = 1},
     500,
     0},
    {"refuse_node_1024", PATTERN_NODES, 90, WORK_REFUSE, {SHAPE_NODE, .tasks = 1024}, 100, 0},
    {"read", PATTERN_NODES, 90, WORK_READ, {SHAPE_NODE, .tasks = 1}, 2000, 0},
    {"drain_up", PATTERN_NODES, 90, WORK_STATE, {SHAPE_NODE, .tasks = 1}, 2000, 0},
    {"alloc_free_random_node", PATTERN_NODES, 90, WORK_RANDOM, {SHAPE_NODE, .tasks = 1}, 2000, 0},
    {"alloc_free_gpu", PATTERN_GPUS, 90, WORK_PAIR, {SHAPE_GPU, .tasks = 1}, 2000, 0},
    {"alloc_free_share", PATTERN_GPUS, 90, WORK_PAIR, {SHAPE_SHARE, .tasks = 1}, 2000, 0},
    {"alloc_free_random_gpu", PATTERN_GPUS, 90, WORK_RANDOM, {SHAPE_GPU, .tasks = 1}, 2000, 0},
    {"refuse_full_gpu", PATTERN_NODES, 100, WORK_REFUSE, {SHAPE_GPU, .tasks = 1}, 2000, 0},
    {"refuse_full_node_64", PATTERN_NODES, 100, WORK_REFUSE, {SHAPE_NODE, .tasks = 64}, 2000, 0},
    {"alloc_free_block_32",
     PATTERN_NODES,
     90,
     WORK_PAIR,
     {SHAPE_NODE, .where = WHERE_RACK, .tasks = 32},
     200,
     512},
    {"sched_full_1gpu", PATTERN_NODES, 90, WORK_CYCLE, {SHAPE_GPU, .tasks = 1}, 1000, 0},
    {"sched_full_gang", PATTERN_NODES, 90, WORK_CYCLE, {SHAPE_NODE, .tasks = 4}, 500, 0},
    {"sched_idle", PATTERN_NODES, 100, WORK_CYCLE, {SHAPE_NODE, .tasks = 1}, 200, 0},
    {"sched_one_freed", PATTERN_NODES, 100, WORK_CYCLE, {SHAPE_NODE, .tasks = 1}, 20, 0},
    {"sched_decide", PATTERN_NODES, 0, WORK_CYCLE, {SHAPE_GPU, .tasks = 1}, 10, 0},
    {"sched_fair_16", PATTERN_NODES, 0, WORK_CYCLE, {SHAPE_GPU, .tasks = 1}, 500, 0},
    {"sched_fair_1000", PATTERN_NODES, 0, WORK_CYCLE, {SHAPE_GPU, .tasks = 1}, 500, 0},
    {"sched_fair_16000", PATTERN_NODES, 0, WORK_CYCLE, {SHAPE_GPU, .tasks = 1}, 500, 0},
};
enum { WORKS = sizeof(works) / sizeof(works[0]) };

void work_list(FILE *file)
{
    for (size_t i = 0; i < WORKS; i++)
        fprintf(file, "%s\n", works[i].name);
}

struct bench {
    const struct work *work;
    struct stage *stage;
    void *request;
    uint64_t grown, random;
    struct cycle_work *cycle; /* WORK_CYCLE: it has a cluster of its own */
};

static bool once(struct bench *b)
{
    if (b->cycle)
        return cycle_work_once(b->cycle);
    struct stage *s = b->stage;
    const struct bench_impl *impl = s->scene.impl;
    void *worker = s->workers[0];
    uint64_t id;
    int64_t task;
    uint32_t node = (uint32_t)bench_below(&b->random, (uint64_t)s->scene.nodes);
    size_t live = (size_t)bench_below(&b->random, s->live_count);
    switch (b->work->kind) {
    case WORK_PAIR:
        return impl->place(worker, b->request, &id) == BENCH_PLACED && impl->give_back(worker, id);
    case WORK_RANDOM:
        return impl->give_back(worker, s->live[live].id) &&
               impl->place(worker, b->request, &s->live[live].id) == BENCH_PLACED;
    case WORK_RESIZE:
        return impl->grow(worker, b->grown) == BENCH_PLACED &&
               impl->newest(worker, b->grown, &task, 1) && impl->shrink(worker, b->grown, task);
    case WORK_REFUSE:
        return impl->place(worker, b->request, &id) == BENCH_REFUSED;
    case WORK_READ:
        return impl->read(worker, node) >= 0;
    default:
        return impl->set_state(worker, node, false) && impl->set_state(worker, node, true);
    }
}

/* Tools find it by its name. */
#if defined(__GNUC__) && !defined(__clang__)
#define NO_CLONE __attribute__((noclone))
#else
#define NO_CLONE
#endif

/* Not inlined and not static: instructions are counted between its start and its end. */
int64_t gang_bench_work(struct bench *b, int64_t operations);

NO_CLONE __attribute__((noinline)) int64_t gang_bench_work(struct bench *b, int64_t operations)
{
    int64_t done = 0;
    for (int64_t i = 0; i < operations; i++)
        done += once(b);
    return done;
}

/* Counters of the library that may be preloaded; -1: it is not. */
static int64_t calls_of(const char *counter)
{
    int64_t (*count)(void);
    void *symbol = dlsym(RTLD_DEFAULT, counter);
    if (!symbol)
        return -1;
    memcpy(&count, &symbol, sizeof(count));
    return count();
}

bool work_is_known(const char *name)
{
    for (size_t i = 0; i < WORKS; i++)
        if (strcmp(works[i].name, name) == 0)
            return true;
    return strcmp(name, "all") == 0;
}

enum { WARMING_UP = 100 }; /* binds and grows what is grown once */

static void do_cycle(const struct work *work, int64_t operations, uint64_t seed)
{
    struct bench b = {.work = work, .cycle = cycle_work_new(work->name, seed)};
    int64_t n = operations ? operations : work->operations;
    if (gang_bench_work(&b, WARMING_UP) != WARMING_UP || gang_bench_work(&b, n) != n)
        bench_die("work %s: not all operations were done", work->name);
    printf("{\"work\": \"%s\", \"operations\": %" PRId64 "}\n", work->name, n);
    cycle_work_free(b.cycle);
}

static void do_work(const struct work *work, struct stage *s, int64_t operations)
{
    const struct bench_impl *impl = s->scene.impl;
    struct bench b = {work, s, impl->request(s->cluster, &work->request), 0, s->live_count, NULL};
    int64_t n = operations ? operations : work->operations;
    if (work->kind == WORK_RESIZE &&
        impl->place(s->workers[0], b.request, &b.grown) != BENCH_PLACED)
        bench_die("work %s: no capacity is left", work->name);
    int64_t warm = gang_bench_work(&b, WARMING_UP);
    struct bench_counters before, after;
    impl->count(s->cluster, &before);
    int64_t locks = calls_of("gang_bench_lock_calls"), heap = calls_of("gang_bench_heap_calls");
    int64_t done = gang_bench_work(&b, n);
    int64_t locks_after = calls_of("gang_bench_lock_calls");
    int64_t heap_after = calls_of("gang_bench_heap_calls");
    impl->count(s->cluster, &after);
    if (warm != WARMING_UP || done != n)
        bench_die("work %s: only %" PRId64 " of %" PRId64 " operations were done", work->name, done,
                  n);
    printf("{\"work\": \"%s\", \"operations\": %" PRId64 ", \"allocations\": %" PRId64, work->name,
           n, after.allocations - before.allocations);
    if (locks >= 0)
        printf(", \"lock_calls\": %" PRId64 ", \"heap_calls\": %" PRId64
               ", \"lock_calls_before\": %" PRId64 ", \"heap_calls_before\": %" PRId64,
               locks_after - locks, heap_after - heap, locks, heap);
    printf("}\n");
    if (b.grown && !impl->give_back(s->workers[0], b.grown))
        bench_die("work %s: cannot free", work->name);
    impl->request_end(b.request);
}

static bool is_named(const struct work *work, char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(work->name, names[i]) == 0 || strcmp("all", names[i]) == 0)
            return true;
    return false;
}

int work_run(char *const *names, size_t count, int64_t nodes, int64_t operations, uint64_t seed)
{
    struct stage *s = NULL;
    for (size_t i = 0; i < WORKS; i++) {
        const struct work *work = &works[i];
        if (!is_named(work, names, count))
            continue;
        if (work->kind == WORK_CYCLE) {
            do_cycle(work, operations, seed);
            continue;
        }
        if (s && (s->scene.pattern != work->pattern || s->scene.fill != work->fill ||
                  s->scene.rack != work->rack)) {
            stage_free(s);
            s = NULL;
        }
        if (!s) {
            struct bench_scene scene = {.impl = &bench_gangsched,
                                        .nodes = nodes,
                                        .fill = work->fill,
                                        .pattern = work->pattern,
                                        .rack = work->rack,
                                        .fill_gang = 1};
            s = stage_new(&scene, 1, 1024, seed);
        }
        do_work(work, s, operations);
    }
    if (s)
        stage_free(s);
    return 0;
}
