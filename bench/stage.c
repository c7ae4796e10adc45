/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include <stdlib.h>
#include <string.h>

const struct bench_need bench_need[SHAPE_COUNT] = {
    [SHAPE_GPU] = {"gpu", 1000, 4, (int64_t)32 << 30},
    [SHAPE_GPU2] = {"gpu2", 2000, 16, (int64_t)128 << 30},
    [SHAPE_GPU4] = {"gpu4", 4000, 32, (int64_t)256 << 30},
    [SHAPE_NODE] = {"node", 8000, NODE_CORES, NODE_MEMORY},
    [SHAPE_HALF] = {"half", 8000, NODE_CORES / 2, NODE_MEMORY / 2},
    [SHAPE_SHARE] = {"share", 250, 1, (int64_t)8 << 30},
};

/* Rare nodes are left free, else requests for them would measure refusals. */
static bool is_rare(const struct bench_scene *scene, int64_t node)
{
    int64_t place = node % RARE_STRIDE;
    return scene->rare && (place == RARE_LABEL_AT || place == RARE_MODEL_AT);
}

static int64_t rare_nodes(const struct bench_scene *scene, int64_t place)
{
    return scene->rare ? (scene->nodes - place + RARE_STRIDE - 1) / RARE_STRIDE : 0;
}

static int64_t common_nodes(const struct bench_scene *scene)
{
    return scene->nodes - rare_nodes(scene, RARE_LABEL_AT) - rare_nodes(scene, RARE_MODEL_AT);
}

int64_t scene_capacity(const struct bench_scene *scene, const struct bench_request *request)
{
    int64_t common = common_nodes(scene), cap;
    bool whole = request->shape == SHAPE_NODE || request->shape == SHAPE_HALF;
    if (request->rare != RARE_NONE)
        cap = rare_nodes(scene, request->rare == RARE_LABEL ? RARE_LABEL_AT : RARE_MODEL_AT);
    else if (whole && scene->pattern != PATTERN_GPUS && scene->pattern != PATTERN_MIXED)
        cap = scene->nodes - common * scene->fill / 100;
    else if (whole)
        cap = scene->packed ? scene->nodes * (100 - scene->fill) / 100 - 1 : 0;
    else if (scene->pattern == PATTERN_FRAGMENTED || scene->pattern == PATTERN_NODES)
        cap = (scene->nodes - common * scene->fill / 100) * NODE_GPUS;
    else
        cap = scene->nodes * NODE_GPUS - common * NODE_GPUS * scene->fill / 100;
    return cap / (request->tasks + request->extra);
}

/* ---- filling ------------------------------------------------------------------------------- */

struct filler {
    struct stage *stage;
    uint64_t random;
    void *requests[SHAPE_COUNT];
    void *gang;
};

static void *filler_request(struct filler *f, enum bench_shape shape)
{
    if (!f->requests[shape]) {
        struct bench_request request = {.shape = shape, .tasks = 1};
        f->requests[shape] = f->stage->scene.impl->request(f->stage->cluster, &request);
    }
    return f->requests[shape];
}

static void put(struct filler *f, void *request, enum bench_shape shape, const uint32_t *nodes,
                int64_t count)
{
    struct stage *s = f->stage;
    if (s->live_count == s->live_cap) {
        s->live_cap = s->live_cap ? 2 * s->live_cap : 1024;
        s->live = realloc(s->live, s->live_cap * sizeof(*s->live));
        if (!s->live)
            bench_die("out of memory");
    }
    struct live *live = &s->live[s->live_count++];
    live->shape = shape;
    live->tasks = count;
    if (s->scene.impl->place_at(s->workers[0], request, nodes, count, &live->id) != BENCH_PLACED)
        bench_die("%s: cannot fill the cluster", s->scene.impl->name);
    s->taken_milli += bench_need[shape].gpu_milli * count;
}

static void shuffle(uint64_t *random, uint32_t *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)bench_below(random, i);
        uint32_t t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}

static int ascending(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

static void fill_nodes(struct filler *f, uint32_t *nodes, size_t count)
{
    const struct bench_scene *scene = &f->stage->scene;
    size_t gang = (size_t)scene->fill_gang, at = 0;
    if (gang > 1) {
        struct bench_request request = {.shape = SHAPE_NODE, .tasks = scene->fill_gang};
        f->gang = scene->impl->request(f->stage->cluster, &request);
        for (; at + gang <= count; at += gang) {
            qsort(nodes + at, gang, sizeof(*nodes), ascending);
            put(f, f->gang, SHAPE_NODE, nodes + at, scene->fill_gang);
        }
    }
    for (; at < count; at++)
        put(f, filler_request(f, SHAPE_NODE), SHAPE_NODE, nodes + at, 1);
}

static void fill_fragmented(struct filler *f, const uint32_t *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t tasks = 1 + bench_below(&f->random, NODE_GPUS);
        for (uint64_t t = 0; t < tasks; t++)
            put(f, filler_request(f, SHAPE_GPU), SHAPE_GPU, nodes + i, 1);
    }
}

/* Each node is cut into pieces; pieces chosen at random are taken until the fill is reached. A
 * piece is its node and its shape in one number. */
static void fill_pieces(struct filler *f, const uint32_t *nodes, size_t count)
{
    const struct bench_scene *scene = &f->stage->scene;
    static const enum bench_shape cut[] = {SHAPE_GPU, SHAPE_GPU2, SHAPE_GPU4, SHAPE_NODE};
    uint32_t *pieces = bench_calloc(count * NODE_GPUS + 1, sizeof(*pieces));
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t left = NODE_GPUS;
        while (left > 0) {
            uint32_t k = scene->pattern == PATTERN_MIXED ? (uint32_t)bench_below(&f->random, 4) : 0;
            while (1 << k > left)
                k--;
            left -= 1 << k;
            pieces[n++] = nodes[i] << 2 | k;
        }
    }
    if (!scene->packed)
        shuffle(&f->random, pieces, n);
    int64_t target = (int64_t)count * NODE_GPUS * scene->fill / 100, taken = 0;
    for (size_t i = 0; i < n && taken < target; i++) {
        enum bench_shape shape = cut[pieces[i] & 3];
        uint32_t node = pieces[i] >> 2;
        taken += bench_need[shape].gpu_milli / 1000;
        put(f, filler_request(f, shape), shape, &node, 1);
    }
    free(pieces);
}

static void stage_fill(struct stage *s, uint64_t seed)
{
    const struct bench_scene *scene = &s->scene;
    struct filler f = {.stage = s, .random = seed};
    size_t n = 0;
    uint32_t *nodes = bench_calloc((size_t)scene->nodes, sizeof(*nodes));
    for (int64_t i = 0; i < scene->nodes; i++)
        if (!is_rare(scene, i))
            nodes[n++] = (uint32_t)i;
    bool whole = scene->pattern == PATTERN_NODES || scene->pattern == PATTERN_FRAGMENTED;
    if (whole && !scene->packed)
        shuffle(&f.random, nodes, n);
    if (scene->pattern == PATTERN_NODES)
        fill_nodes(&f, nodes, n * (size_t)scene->fill / 100);
    else if (scene->pattern == PATTERN_FRAGMENTED)
        fill_fragmented(&f, nodes, n * (size_t)scene->fill / 100);
    else
        fill_pieces(&f, nodes, n);
    for (int i = 0; i < SHAPE_COUNT; i++)
        if (f.requests[i])
            scene->impl->request_end(f.requests[i]);
    if (f.gang)
        scene->impl->request_end(f.gang);
    free(nodes);
    /* Threads take every so manieth: no order of filling may be left in it. */
    for (size_t i = s->live_count; i > 1; i--) {
        size_t j = (size_t)bench_below(&f.random, i);
        struct live t = s->live[i - 1];
        s->live[i - 1] = s->live[j];
        s->live[j] = t;
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

struct stage *stage_new(const struct bench_scene *scene, int32_t threads, int64_t largest_gang,
                        uint64_t seed)
{
    struct stage *s = bench_calloc(1, sizeof(*s));
    s->scene = *scene;
    s->cluster = scene->impl->open(scene);
    s->build_ns = scene->impl->build(s->cluster, scene->impl->can_bulk);
    struct bench_counters counters;
    scene->impl->count(s->cluster, &counters);
    s->bytes_per_node = (double)counters.live_bytes / (double)scene->nodes;
    s->worker_count = threads;
    for (int32_t i = 0; i < threads; i++)
        s->workers[i] = scene->impl->worker(s->cluster, largest_gang);
    stage_fill(s, seed);
    return s;
}

void stage_free(struct stage *s)
{
    const struct bench_impl *impl = s->scene.impl;
    int64_t taken = impl->audit(s->cluster);
    if (taken != s->taken_milli)
        bench_die("%s, %lld nodes: %lld milli-GPUs are taken, %lld must be", impl->name,
                  (long long)s->scene.nodes, (long long)taken, (long long)s->taken_milli);
    for (size_t i = 0; i < s->live_count; i++)
        if (!impl->give_back(s->workers[0], s->live[i].id))
            bench_die("%s: cannot free what is live", impl->name);
    taken = impl->audit(s->cluster);
    if (taken != 0)
        bench_die("%s: %lld milli-GPUs are taken of the empty cluster", impl->name,
                  (long long)taken);
    for (int32_t i = 0; i < s->worker_count; i++)
        impl->worker_end(s->workers[i]);
    impl->close(s->cluster);
    free(s->live);
    free(s);
}
