/* SPDX-License-Identifier: Apache-2.0 */
/* What the library and its peers must be able to do to be measured. */
#ifndef BENCH_IMPL_H
#define BENCH_IMPL_H

#include "bench.h"

/* What happened to a request. */
enum { BENCH_REFUSED = 0, BENCH_PLACED = 1, BENCH_BROKEN = -1 };

struct bench_counters {
    int64_t retries, helps;
    int64_t allocations; /* calls of the allocator */
    int64_t live_bytes;  /* what it has given and not got back */
    bool counted;        /* false: the peer does not count the last two */
};

/* Functions that may be called by several threads take a worker. A NULL member: cannot do it. */
struct bench_impl {
    const char *name;
    /* A cluster without nodes yet. */
    void *(*open)(const struct bench_scene *scene);
    /* Adds the scene's nodes, one by one or all in one call; returns the ns that it took. */
    int64_t (*build)(void *cluster, bool bulk);
    bool can_bulk;
    void (*close)(void *cluster);
    void *(*worker)(void *cluster, int64_t largest_gang);
    void (*worker_end)(void *worker);
    void *(*request)(void *cluster, const struct bench_request *request);
    void (*request_end)(void *request);
    int (*place)(void *worker, void *request, uint64_t *id);
    /* The tasks lie on these nodes. */
    int (*place_at)(void *worker, void *request, const uint32_t *nodes, int64_t count,
                    uint64_t *id);
    bool (*give_back)(void *worker, uint64_t id);
    int (*grow)(void *worker, uint64_t id);
    /* Numbers of the newest tasks of an allocation; false: broken. */
    bool (*newest)(void *worker, uint64_t id, int64_t *tasks, int64_t count);
    bool (*shrink)(void *worker, uint64_t id, int64_t task);
    bool (*set_state)(void *worker, uint32_t node, bool up);
    /* Milli-GPUs that are free on a node. */
    int64_t (*read)(void *worker, uint32_t node);
    bool (*snapshot)(void *worker);
    /* Milli-GPUs taken in all, or -1 after a message: the records contradict each other. */
    int64_t (*audit)(void *cluster);
    /* Does an allocation have `tasks` tasks with all their devices on different places? */
    bool (*holds)(void *worker, uint64_t id, const struct bench_request *request);
    void (*count)(void *cluster, struct bench_counters *counters);
};

extern const struct bench_impl bench_gangsched, bench_mutex, bench_locks, bench_python;

#endif
