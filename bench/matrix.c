/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

struct maker {
    struct bench_matrix *matrix;
    const struct bench_options *options;
    regex_t filter;
    struct bench_scene scene;
    bool every; /* not --quick */
};

/* ---- one loop ------------------------------------------------------------------------------ */

static const char *pattern_tag(const struct bench_scene *scene)
{
    if (scene->packed)
        return "/cluster:packed";
    return scene->pattern == PATTERN_FRAGMENTED ? "/cluster:fragmented" : "";
}

static bool is_wanted(const struct maker *m, const char *name)
{
    return name[0] && (!m->options->filter || regexec(&m->filter, name, 0, NULL, 0) == 0);
}

/* `ops` names one or two results, "alloc_gpu" or "alloc_gpu free"; `more` ends both names. */
__attribute__((format(printf, 6, 7))) static void add(struct maker *m, enum bench_kind kind,
                                                      struct bench_request request, int64_t threads,
                                                      const char *ops, const char *more, ...)
{
    struct bench_loop loop = {.scene = m->scene, .kind = kind, .request = request};
    char tail[64];
    va_list arguments;
    va_start(arguments, more);
    vsnprintf(tail, sizeof(tail), more, arguments);
    va_end(arguments);
    loop.threads = (int32_t)threads;
    loop.seconds = m->every ? 0.1 : 0.02;
    loop.rate = m->options->rate ? m->options->rate : 100000;
    for (int i = 0; i < BENCH_OPS && *ops; i++) {
        size_t length = strcspn(ops, " ");
        snprintf(loop.name[i], sizeof(loop.name[i]),
                 "%s/%.*s/nodes:%" PRId64 "/gang:%" PRId64 "/fill:%d/threads:%" PRId64 "%s%s",
                 m->scene.impl->name, (int)length, ops, m->scene.nodes, request.tasks,
                 m->scene.fill, threads, pattern_tag(&m->scene), tail);
        loop.wanted[i] = is_wanted(m, loop.name[i]);
        ops += length + (ops[length] == ' ');
    }
    if (!loop.wanted[0] && !loop.wanted[1])
        return;
    struct bench_matrix *all = m->matrix;
    if (all->count == all->cap) {
        all->cap = all->cap ? 2 * all->cap : 256;
        all->loops = realloc(all->loops, all->cap * sizeof(*all->loops));
        if (!all->loops)
            bench_die("out of memory");
    }
    all->loops[all->count++] = loop;
}

static struct bench_request request_of(enum bench_shape shape, int64_t tasks)
{
    return (struct bench_request){.shape = shape, .tasks = tasks};
}

/* Do the requests of all threads fit at once, also after drawing at random? */
static bool fits(const struct maker *m, struct bench_request request, int64_t threads)
{
    return scene_capacity(&m->scene, &request) >= threads;
}

/* Is enough live for all threads to draw from? */
static bool draws(const struct maker *m, int64_t live, int64_t threads)
{
    return live * m->scene.fill / 100 >= 2 * 64 * threads;
}

static const int64_t gangs[] = {1, 8, 64, 512, 1024, 8192};
enum { GANGS = sizeof(gangs) / sizeof(gangs[0]) };

static bool gang_is_measured(const struct maker *m, int64_t gang)
{
    if (!m->every)
        return gang <= 64;
    return gang <= 1024 || m->scene.nodes >= 100000;
}

static bool is_python(const struct maker *m)
{
    return m->scene.impl == &bench_python;
}

static bool is_ours(const struct maker *m)
{
    return m->scene.impl == &bench_gangsched;
}

static size_t thread_counts(const struct maker *m)
{
    return is_python(m) ? 1 : m->options->thread_count;
}

static int64_t threads_at(const struct maker *m, size_t i)
{
    return is_python(m) ? 1 : m->options->threads[i];
}

static void scene(struct maker *m, enum bench_pattern pattern, int32_t fill)
{
    m->scene.pattern = pattern;
    m->scene.fill = fill;
    m->scene.fill_gang = 1;
    m->scene.packed = m->scene.rare = m->scene.build = false;
}

/* ---- scenes -------------------------------------------------------------------------------- */

static void pairs_of_nodes(struct maker *m)
{
    for (size_t g = 0; g < GANGS; g++)
        for (size_t t = 0; t < thread_counts(m); t++) {
            struct bench_request request = request_of(SHAPE_NODE, gangs[g]);
            if (gang_is_measured(m, gangs[g]) && fits(m, request, threads_at(m, t)))
                add(m, LOOP_NEWEST, request, threads_at(m, t), "alloc_node free", "%s", "");
        }
    struct bench_request half = request_of(SHAPE_HALF, 64);
    for (size_t t = 0; t < thread_counts(m); t++)
        if (m->every && !is_python(m) && fits(m, half, threads_at(m, t)))
            add(m, LOOP_NEWEST, half, threads_at(m, t), "alloc_half free", "%s", "/of:half");
}

static void whole_nodes(struct maker *m, int32_t fill)
{
    scene(m, PATTERN_NODES, fill);
    pairs_of_nodes(m);
    if (fill != 90 || is_python(m))
        return;
    static const int64_t resized[] = {1, 64};
    for (size_t t = 0; t < thread_counts(m); t++) {
        int64_t threads = threads_at(m, t);
        for (size_t g = 0; g < 2; g++) {
            struct bench_request request = request_of(SHAPE_NODE, resized[g]);
            request.extra = resized[g] == 1 ? 4 : 16;
            if (fits(m, request, threads))
                add(m, LOOP_RESIZE, request, threads, "grow shrink", "%s", "");
        }
        add(m, LOOP_STATE, request_of(SHAPE_NODE, 1), threads, "node_change", "%s", "");
        add(m, LOOP_READ, request_of(SHAPE_NODE, 1), threads, "read", "%s", "");
        if (m->scene.impl->snapshot)
            add(m, LOOP_SNAPSHOT, request_of(SHAPE_NODE, 1), threads, "snapshot", "%s", "");
        if (m->scene.impl->snapshot && threads > 1)
            add(m, LOOP_BESIDE, request_of(SHAPE_NODE, 1), threads, "snapshot alloc_node", "%s",
                "/beside:other");
    }
    for (size_t g = 0; g < GANGS; g++) { /* the smallest gang for which too few nodes are free */
        struct bench_request request = request_of(SHAPE_NODE, gangs[g]);
        if (!fits(m, request, 1) && gangs[g] <= m->scene.nodes) {
            add(m, LOOP_REFUSE, request, 1, "refuse", "%s", "");
            break;
        }
    }
    if (m->scene.impl == &bench_mutex && m->scene.nodes < MAX_NODES)
        for (size_t g = 1; g < GANGS; g++) {
            struct bench_request request = request_of(SHAPE_NODE, gangs[g]);
            request.restart = true;
            if (gangs[g] <= 1024 && gang_is_measured(m, gangs[g]) && fits(m, request, 1))
                add(m, LOOP_NEWEST, request, 1, "alloc_node free", "%s", "/search:restarted");
        }
}

/* The free nodes are the last: what first-fit comes to by itself. */
static void packed_nodes(struct maker *m, int32_t fill)
{
    scene(m, PATTERN_NODES, fill);
    m->scene.packed = true;
    pairs_of_nodes(m);
    if (fill != 90)
        return;
    for (size_t t = 0; t < thread_counts(m); t++)
        if (!is_python(m) && draws(m, m->scene.nodes, threads_at(m, t)) &&
            fits(m, request_of(SHAPE_NODE, 1), threads_at(m, t)))
            add(m, LOOP_RANDOM, request_of(SHAPE_NODE, 1), threads_at(m, t),
                "alloc_node free_random", "%s", "/after:random");
}

/* The live objects are gangs: any gang is freed, and another placed. */
static void random_gangs(struct maker *m, int64_t gang)
{
    scene(m, PATTERN_NODES, 90);
    m->scene.fill_gang = gang;
    for (size_t t = 0; t < thread_counts(m); t++) {
        int64_t threads = threads_at(m, t);
        struct bench_request request = request_of(SHAPE_NODE, gang);
        if (fits(m, request, threads) && draws(m, m->scene.nodes / gang, threads))
            add(m, LOOP_RANDOM, request, threads, "alloc_node free_random", "%s", "/after:random");
    }
}

/* After the others: it changes which GPUs are free. */
static void random_gpus(struct maker *m)
{
    for (size_t t = 0; t < thread_counts(m); t++)
        if (fits(m, request_of(SHAPE_GPU, 1), threads_at(m, t)) &&
            draws(m, m->scene.nodes * NODE_GPUS, threads_at(m, t)))
            add(m, LOOP_RANDOM, request_of(SHAPE_GPU, 1), threads_at(m, t), "alloc_gpu free_random",
                "%s", "/of:gpu/after:random");
}

static void gpus(struct maker *m, int32_t fill)
{
    scene(m, PATTERN_GPUS, fill);
    for (size_t t = 0; t < thread_counts(m); t++) {
        int64_t threads = threads_at(m, t);
        if (!fits(m, request_of(SHAPE_GPU, 1), threads))
            continue;
        add(m, LOOP_NEWEST, request_of(SHAPE_GPU, 1), threads, "alloc_gpu free", "%s", "/of:gpu");
        if (!is_python(m) && (fill == 90 || fill == 0))
            add(m, LOOP_NEWEST, request_of(SHAPE_SHARE, 1), threads, "alloc_share free", "%s",
                "/of:share");
    }
    if (is_ours(m) && fill >= 10)
        random_gpus(m);
}

static void packed_gpus(struct maker *m)
{
    scene(m, PATTERN_GPUS, 90);
    m->scene.packed = true;
    for (size_t t = 0; t < thread_counts(m); t++)
        add(m, LOOP_NEWEST, request_of(SHAPE_GPU, 1), threads_at(m, t), "alloc_gpu free", "%s",
            "/of:gpu");
    if (!is_python(m))
        random_gpus(m);
}

static void fragmented(struct maker *m)
{
    scene(m, PATTERN_FRAGMENTED, 90);
    pairs_of_nodes(m);
    for (size_t t = 0; t < thread_counts(m); t++)
        if (!is_python(m))
            add(m, LOOP_NEWEST, request_of(SHAPE_GPU, 1), threads_at(m, t), "alloc_gpu free", "%s",
                "/of:gpu");
}

static void gpu_nodes(struct maker *m)
{
    scene(m, PATTERN_NODES, 90);
    m->scene.rare = true;
    struct bench_request request = request_of(SHAPE_NODE, 1);
    for (size_t t = 0; t < thread_counts(m); t++) {
        request.rare = RARE_LABEL;
        if (fits(m, request, threads_at(m, t)))
            add(m, LOOP_NEWEST, request, threads_at(m, t), "alloc_scarce free", "%s", "/by:label");
        request.rare = RARE_MODEL;
        if (fits(m, request, threads_at(m, t)))
            add(m, LOOP_NEWEST, request, threads_at(m, t), "alloc_scarce free", "%s", "/by:model");
    }
}

/* What topology costs: gangs in one rack, if it can be, on few nodes; and of a rack that is too
 * full. */
static void domains(struct maker *m)
{
    static const char *const ops[WHERE_COUNT] = {"alloc_node", "alloc_rack", "alloc_prefer",
                                                 "alloc_topology"};
    static const int64_t sizes[] = {1, 8};
    scene(m, PATTERN_NODES, 90);
    for (size_t t = 0; t < thread_counts(m); t++)
        for (size_t g = 0; g < sizeof(sizes) / sizeof(sizes[0]); g++)
            for (int where = WHERE_RACK; where < WHERE_COUNT; where++) {
                struct bench_request request = request_of(SHAPE_NODE, sizes[g]);
                request.where = (enum bench_where)where;
                /* If there are few racks, none may have eight free nodes. */
                if (fits(m, request, threads_at(m, t)) && m->scene.nodes >= 1000 * sizes[g])
                    add(m, LOOP_NEWEST, request, threads_at(m, t), ops[where], "%s", "/in:rack");
            }
    struct bench_request request = request_of(SHAPE_NODE, RACK_NODES);
    request.where = WHERE_RACK;
    if (m->scene.nodes >= 1000)
        add(m, LOOP_REFUSE, request, 1, "refuse_rack", "%s", "");
}

static void churn(struct maker *m)
{
    scene(m, PATTERN_MIXED, 90);
    for (size_t t = 0; t < thread_counts(m); t++)
        add(m, LOOP_CHURN, request_of(SHAPE_GPU, 1), threads_at(m, t), "churn", "%s", "");
    for (size_t t = 0; t < thread_counts(m); t++)
        add(m, LOOP_OPEN, request_of(SHAPE_GPU, 1), threads_at(m, t), "churn", "/open:%" PRId64,
            m->options->rate ? m->options->rate : 100000);
}

/* All threads on the same node: as much contention as there can be. */
static void one_node(struct maker *m)
{
    scene(m, PATTERN_GPUS, 0);
    for (size_t t = 0; t < thread_counts(m); t++) {
        int64_t threads = threads_at(m, t);
        if (!fits(m, request_of(SHAPE_GPU, 1), threads))
            continue;
        add(m, LOOP_NEWEST, request_of(SHAPE_GPU, 1), threads, "alloc_gpu free", "%s", "/of:gpu");
        add(m, LOOP_NEWEST, request_of(SHAPE_SHARE, 1), threads, "alloc_share free", "%s",
            "/of:share");
        add(m, LOOP_READ, request_of(SHAPE_NODE, 1), threads, "read", "%s", "");
    }
}

static void refusals(struct maker *m)
{
    scene(m, PATTERN_NODES, 100);
    for (size_t t = 0; t < thread_counts(m); t++) {
        add(m, LOOP_REFUSE, request_of(SHAPE_GPU, 1), threads_at(m, t), "refuse", "%s", "/of:gpu");
        for (size_t g = 0; g < GANGS; g++)
            if (gang_is_measured(m, gangs[g]) && gangs[g] <= m->scene.nodes)
                add(m, LOOP_REFUSE, request_of(SHAPE_NODE, gangs[g]), threads_at(m, t), "refuse",
                    "%s", "");
    }
}

static void builds(struct maker *m)
{
    scene(m, PATTERN_NODES, 0);
    m->scene.build = true;
    add(m, LOOP_BUILD, request_of(SHAPE_NODE, 1), 1, "build", "%s", "/by:one");
    if (m->scene.impl->can_bulk)
        add(m, LOOP_BUILD_BULK, request_of(SHAPE_NODE, 1), 1, "build", "%s", "/by:all");
}

/* ---- all ----------------------------------------------------------------------------------- */

static const int32_t fills[] = {0, 10, 50, 90, 99};
enum { FILLS = sizeof(fills) / sizeof(fills[0]) };

/* Whole nodes beside the mutex in all states: how full, scattered or packed. */
static void all_fills(struct maker *m)
{
    bool beside_all = m->every && (is_ours(m) || m->scene.impl == &bench_mutex);
    for (size_t f = 0; f < FILLS; f++)
        if (fills[f] == 90 || (beside_all && (fills[f] > 0 || is_ours(m))))
            whole_nodes(m, fills[f]);
    for (size_t f = 1; m->every && f < FILLS; f++)
        if (beside_all || (fills[f] == 90 && m->scene.nodes < MAX_NODES))
            packed_nodes(m, fills[f]);
}

/* A million nodes take long to fill: GPUs there only show how cost grows with their number. */
static void all_of_ours(struct maker *m)
{
    bool few = m->scene.nodes >= MAX_NODES;
    if (m->scene.nodes == 1) {
        one_node(m);
        return;
    }
    builds(m);
    all_fills(m);
    for (size_t f = 0; f < FILLS; f++)
        if (fills[f] == 90 || (m->every && (!few || fills[f] == 10)))
            gpus(m, fills[f]);
    refusals(m);
    churn(m);
    domains(m);
    if (few || !m->every)
        return;
    packed_gpus(m);
    fragmented(m);
    gpu_nodes(m);
    for (size_t g = 0; g < GANGS; g++)
        if (gang_is_measured(m, gangs[g]))
            random_gangs(m, gangs[g]);
}

static void all_of_a_peer(struct maker *m)
{
    if (m->scene.nodes == 1) {
        one_node(m);
        return;
    }
    builds(m);
    all_fills(m);
    refusals(m);
    if (m->scene.nodes >= MAX_NODES)
        return;
    gpus(m, 90);
    churn(m);
    if (!m->every)
        return;
    packed_gpus(m);
    fragmented(m);
    gpu_nodes(m);
}

static void all_of_python(struct maker *m)
{
    if (m->scene.nodes >= MAX_NODES || m->scene.nodes == 1 || (!m->every && m->scene.nodes > 1000))
        return;
    whole_nodes(m, 90);
    gpus(m, 90);
    refusals(m);
    if (!m->every)
        return;
    packed_nodes(m, 90);
    packed_gpus(m);
}

void matrix_make(struct bench_matrix *matrix, const struct bench_options *options)
{
    struct maker m = {.matrix = matrix, .options = options, .every = !options->quick};
    bench_filter_open(options, &m.filter);
    for (size_t i = 0; i < options->node_count; i++) {
        m.scene.nodes = options->nodes[i];
        m.scene.impl = &bench_gangsched;
        all_of_ours(&m);
        m.scene.impl = &bench_mutex;
        all_of_a_peer(&m);
        m.scene.impl = &bench_locks;
        all_of_a_peer(&m);
        m.scene.impl = &bench_python;
        all_of_python(&m);
    }
    bench_filter_close(options, &m.filter);
}

size_t matrix_scene(const struct bench_matrix *matrix, size_t at)
{
    const struct bench_scene *a = &matrix->loops[at].scene;
    size_t n = 1;
    for (; at + n < matrix->count; n++) {
        const struct bench_scene *b = &matrix->loops[at + n].scene;
        if (a->impl != b->impl || a->nodes != b->nodes || a->fill != b->fill ||
            a->pattern != b->pattern || a->fill_gang != b->fill_gang || a->packed != b->packed ||
            a->rare != b->rare || a->build != b->build)
            break;
    }
    return n;
}

void matrix_free(struct bench_matrix *matrix)
{
    free(matrix->loops);
}
