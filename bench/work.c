/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_DEFAULT */

#include "work.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

struct work {
    const char *name;
    struct bench_ask ask;
    int64_t operations; /* pairs of allocate and free, or single calls */
    enum { WORK_PAIR, WORK_REFUSE, WORK_READ } kind;
};

static const struct work works[] = {
    {"alloc_free_gpu", {.shape = SHAPE_GPU, .tasks = 1}, 2000, WORK_PAIR},
    {"alloc_free_share", {.shape = SHAPE_SHARE, .tasks = 1}, 2000, WORK_PAIR},
    {"alloc_free_node_1", {.shape = SHAPE_NODE, .tasks = 1}, 2000, WORK_PAIR},
    {"alloc_free_node_8", {.shape = SHAPE_NODE, .tasks = 8}, 500, WORK_PAIR},
    {"alloc_free_node_64", {.shape = SHAPE_NODE, .tasks = 64}, 100, WORK_PAIR},
    {"alloc_free_node_512", {.shape = SHAPE_NODE, .tasks = 512}, 20, WORK_PAIR},
    {"refuse_node_1024", {.shape = SHAPE_NODE, .tasks = 1024}, 100, WORK_REFUSE},
    {"read", {.shape = SHAPE_NODE, .tasks = 1}, 2000, WORK_READ},
};
enum { WORKS = sizeof(works) / sizeof(works[0]) };

void work_list(FILE *file)
{
    for (size_t i = 0; i < WORKS; i++)
        fprintf(file, "%s\n", works[i].name);
}

/* Not inlined and not static: instructions are counted between its start and its end. */
int64_t gang_bench_work(const struct work *work, struct stage *s, void *ask, int64_t operations);

__attribute__((noinline)) int64_t gang_bench_work(const struct work *work, struct stage *s,
                                                  void *ask, int64_t operations)
{
    const struct bench_impl *impl = s->scene.impl;
    void *worker = s->workers[0];
    int64_t done = 0;
    uint64_t id, random = 1;
    for (int64_t i = 0; i < operations; i++) {
        if (work->kind == WORK_PAIR)
            done += impl->place(worker, ask, &id) == BENCH_PLACED && impl->give_back(worker, id);
        else if (work->kind == WORK_REFUSE)
            done += impl->place(worker, ask, &id) == BENCH_REFUSED;
        else
            done +=
                impl->read(worker, (uint32_t)bench_below(&random, (uint64_t)s->scene.nodes)) >= 0;
    }
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

static const struct work *find(const char *name)
{
    for (size_t i = 0; i < WORKS; i++)
        if (strcmp(works[i].name, name) == 0)
            return &works[i];
    return NULL;
}

static void do_work(const struct work *work, struct stage *s, int64_t operations)
{
    const struct bench_impl *impl = s->scene.impl;
    void *ask = impl->ask(s->cluster, &work->ask);
    int64_t n = operations ? operations : work->operations;
    int64_t warm = gang_bench_work(work, s, ask, 3); /* binds and grows what is grown once */
    struct bench_counters before, after;
    impl->count(s->cluster, &before);
    int64_t locks = calls_of("gang_bench_lock_calls"), heap = calls_of("gang_bench_heap_calls");
    int64_t done = gang_bench_work(work, s, ask, n);
    int64_t locks_after = calls_of("gang_bench_lock_calls");
    int64_t heap_after = calls_of("gang_bench_heap_calls");
    impl->count(s->cluster, &after);
    if (warm != 3 || done != n)
        bench_die("work %s: only %" PRId64 " of %" PRId64 " operations were done", work->name, done,
                  n);
    printf("{\"work\": \"%s\", \"operations\": %" PRId64 ", \"allocations\": %" PRId64, work->name,
           n, after.allocations - before.allocations);
    if (locks >= 0)
        printf(", \"lock_calls\": %" PRId64 ", \"heap_calls\": %" PRId64
               ", \"lock_calls_before\": %" PRId64 ", \"heap_calls_before\": %" PRId64,
               locks_after - locks, heap_after - heap, locks, heap);
    printf("}\n");
    impl->ask_end(ask);
}

int work_run(char *const *names, size_t count, int64_t nodes, int64_t operations, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        if (!find(names[i]))
            bench_die("work: no such work: %s (gangsched-bench work --list tells them)", names[i]);
    struct bench_scene whole = {.impl = &bench_gangsched,
                                .nodes = nodes,
                                .fill = 90,
                                .pattern = PATTERN_NODES,
                                .fill_gang = 1};
    struct bench_scene gpus = whole;
    gpus.pattern = PATTERN_GPUS;
    for (int pass = 0; pass < 2; pass++) {
        const struct bench_scene *scene = pass ? &gpus : &whole;
        struct stage *s = NULL;
        for (size_t i = 0; i < count; i++) {
            const struct work *work = find(names[i]);
            if ((work->ask.shape == SHAPE_NODE) == pass)
                continue;
            if (!s)
                s = stage_new(scene, 1, 1024, seed);
            do_work(work, s, operations);
        }
        if (s)
            stage_free(s);
    }
    return 0;
}
