/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster in the state that a scene describes, and what is live in it. */
#ifndef BENCH_STAGE_H
#define BENCH_STAGE_H

#include <stddef.h>

#include "impl.h"

struct live {
    uint64_t id;
    enum bench_shape shape;
    int64_t tasks;
};

struct stage {
    struct bench_scene scene;
    void *cluster;
    void *workers[MAX_THREADS];
    int32_t worker_count;
    struct live *live;
    size_t live_count, live_cap;
    int64_t taken_milli; /* milli-GPUs that the live allocations hold */
    int64_t build_ns;
    double bytes_per_node; /* before anything was allocated */
};

/* Builds and fills; the same seed gives the same cluster to every implementation. */
struct stage *stage_new(const struct bench_scene *scene, int32_t threads, int64_t largest_gang,
                        uint64_t seed);
/* Frees; first compares what the implementation says is taken with what must be taken. */
void stage_free(struct stage *stage);

/* How many such requests fit on a freshly filled scene, as far as that can be computed. */
int64_t scene_capacity(const struct bench_scene *scene, const struct bench_request *request);

#endif
