/* SPDX-License-Identifier: Apache-2.0 */
/* libgangsched, through its public headers, with an allocator that counts. */
#include <gangsched/gangsched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"
#include "ours.h"

struct heap {
    _Atomic int64_t calls, live;
};

struct cluster {
    gang_cluster *c;
    gang_worker *builder;
    gang_node_id *ids; /* by index */
    struct heap heap;
    struct bench_scene scene;
    struct machine *machines;
    gang_worker *workers[MAX_THREADS]; /* those that threads use */
    size_t worker_count;
};

struct worker {
    gang_worker *w;
    struct cluster *of;
    struct gang_placement *places;
    gang_snapshot *snapshot; /* taken again and again */
};

void ours_check(gang_result r, const struct gang_error *error, const char *what)
{
    if (r != GANG_OK)
        bench_die("gangsched: %s: %s", what,
                  error && error->text[0] ? error->text : gang_strerror(r));
}

/* ---- memory: what is given out, counted --------------------------------------------------- */

enum { HEADER = 16 }; /* keeps the alignment of malloc(), holds the size */

static void *heap_alloc(size_t bytes, void *user)
{
    struct heap *heap = user;
    unsigned char *memory = malloc(bytes + HEADER);
    if (!memory)
        return NULL;
    memcpy(memory, &bytes, sizeof(bytes));
    atomic_fetch_add_explicit(&heap->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&heap->live, (int64_t)bytes, memory_order_relaxed);
    return memory + HEADER;
}

static void heap_release(void *memory, void *user)
{
    struct heap *heap = user;
    unsigned char *start = (unsigned char *)memory - HEADER;
    size_t bytes;
    memcpy(&bytes, start, sizeof(bytes));
    atomic_fetch_sub_explicit(&heap->live, (int64_t)bytes, memory_order_relaxed);
    free(start);
}

/* ---- machines ------------------------------------------------------------------------------ */

/* The text and the parts of node specifications; all nodes share the parts. */
struct machine {
    struct gang_gpu_spec gpus[2][NODE_GPUS]; /* of the common and of the rare model */
    struct gang_numa_spec numas[NODE_NUMAS];
    struct gang_core_spec cores[NODE_CORES];
    struct gang_link_spec links[NODE_GPUS * (NODE_GPUS - 1) / 2];
    struct gang_label rare;
    char (*names)[16];
    char (*rack_names)[16];
    struct gang_label *racks;
};

static int64_t rack_nodes(const struct bench_scene *scene)
{
    return scene->rack ? scene->rack : RACK_NODES;
}

static struct machine *machine_new(int64_t nodes, int64_t rack)
{
    struct machine *m = bench_calloc(1, sizeof(*m));
    for (int i = 0; i < NODE_GPUS; i++) {
        struct gang_gpu_spec gpu = {.model = "A100-SXM4-80GB",
                                    .memory_bytes = (int64_t)80 << 30,
                                    .numa = i / (NODE_GPUS / NODE_NUMAS)};
        m->gpus[0][i] = m->gpus[1][i] = gpu;
        m->gpus[1][i].model = "H100-SXM5-80GB";
    }
    for (int i = 0; i < NODE_NUMAS; i++)
        m->numas[i] = (struct gang_numa_spec){i, i, NODE_MEMORY / NODE_NUMAS};
    for (int i = 0; i < NODE_CORES; i++)
        m->cores[i] = (struct gang_core_spec){i, i / (NODE_CORES / NODE_NUMAS), 1, 0, NULL};
    size_t links = 0;
    for (int a = 0; a < NODE_GPUS; a++)
        for (int b = a + 1; b < NODE_GPUS; b++)
            m->links[links++] = (struct gang_link_spec){a, b, GANG_LINK_NVLINK, 1, 600000};
    m->rare = (struct gang_label){"fabric", "rare"};

    int64_t racks = (nodes + rack - 1) / rack;
    m->names = bench_calloc((size_t)nodes, sizeof(*m->names));
    m->rack_names = bench_calloc((size_t)racks, sizeof(*m->rack_names));
    m->racks = bench_calloc((size_t)racks, sizeof(*m->racks));
    for (int64_t i = 0; i < nodes; i++)
        snprintf(m->names[i], sizeof(m->names[i]), "n%07d", (int)i);
    for (int64_t i = 0; i < racks; i++) {
        snprintf(m->rack_names[i], sizeof(m->rack_names[i]), "r%06d", (int)i);
        m->racks[i] = (struct gang_label){"rack", m->rack_names[i]};
    }
    return m;
}

static void machine_free(struct machine *m)
{
    if (!m)
        return;
    free(m->names);
    free(m->rack_names);
    free(m->racks);
    free(m);
}

static void machine_spec(const struct cluster *k, int64_t node, struct gang_node_spec *spec)
{
    const struct machine *m = k->machines;
    int64_t place = node % RARE_STRIDE;
    *spec = (struct gang_node_spec)GANG_NODE_SPEC_INIT;
    spec->name = m->names[node];
    spec->cpu_milli = NODE_CORES * 1000;
    spec->memory_bytes = NODE_MEMORY;
    spec->gpus = m->gpus[k->scene.rare && place == RARE_MODEL_AT];
    spec->gpu_count = NODE_GPUS;
    spec->links = m->links;
    spec->link_count = sizeof(m->links) / sizeof(m->links[0]);
    spec->numas = m->numas;
    spec->numa_count = NODE_NUMAS;
    spec->cores = m->cores;
    spec->core_count = NODE_CORES;
    spec->topology = &m->racks[node / rack_nodes(&k->scene)];
    spec->topology_count = 1;
    if (k->scene.rare && place == RARE_LABEL_AT) {
        spec->labels = &m->rare;
        spec->label_count = 1;
    }
}

/* ---- cluster ------------------------------------------------------------------------------- */

static void *ours_open(const struct bench_scene *scene)
{
    static const char *const levels[] = {"rack"};
    struct gang_error error = GANG_ERROR_INIT;
    struct cluster *k = bench_calloc(1, sizeof(*k));
    k->scene = *scene;
    k->ids = bench_calloc((size_t)scene->nodes, sizeof(*k->ids));
    struct gang_mem mem = GANG_MEM_INIT;
    mem.alloc = heap_alloc;
    mem.release = heap_release;
    mem.user = &k->heap;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    opts.levels = levels;
    opts.level_count = 1;
    opts.mem = &mem;
    ours_check(gang_cluster_new(&opts, &k->c, &error), &error, "gang_cluster_new");
    ours_check(gang_worker_new(k->c, &k->builder), NULL, "gang_worker_new");
    k->machines = machine_new(scene->nodes, rack_nodes(scene));
    return k;
}

static void add_one_by_one(struct cluster *k)
{
    struct gang_error error = GANG_ERROR_INIT;
    for (int64_t i = 0; i < k->scene.nodes; i++) {
        struct gang_node_spec spec;
        machine_spec(k, i, &spec);
        ours_check(gang_node_add(k->builder, &spec, &k->ids[i], &error), &error, "gang_node_add");
    }
}

/* The texts of the specifications are there already: only the library's time is taken. */
static int64_t ours_build(void *cluster, bool bulk)
{
    struct cluster *k = cluster;
    struct gang_error error = GANG_ERROR_INIT;
    size_t count = (size_t)k->scene.nodes;
    struct gang_node_spec *specs = bulk ? bench_calloc(count, sizeof(*specs)) : NULL;
    for (size_t i = 0; bulk && i < count; i++)
        machine_spec(k, (int64_t)i, &specs[i]);
    int64_t ns = bench_now();
    if (bulk)
        ours_check(gang_nodes_add(k->builder, specs, count, k->ids, &error), &error,
                   "gang_nodes_add");
    else
        add_one_by_one(k);
    ns = bench_now() - ns;
    if (gang_node_count(k->c) != k->scene.nodes)
        bench_die("gangsched: %lld nodes were added, %lld are there", (long long)k->scene.nodes,
                  (long long)gang_node_count(k->c));
    free(specs);
    machine_free(k->machines);
    k->machines = NULL;
    return ns;
}

gang_cluster *ours_cluster(void *cluster)
{
    return ((struct cluster *)cluster)->c;
}

static void ours_close(void *cluster)
{
    struct cluster *k = cluster;
    gang_worker_free(k->builder);
    gang_cluster_free(k->c);
    int64_t left = atomic_load(&k->heap.live);
    if (left)
        bench_die("gangsched: %lld bytes were not given back", (long long)left);
    machine_free(k->machines);
    free(k->ids);
    free(k);
}

static void *ours_worker(void *cluster, int64_t largest_gang)
{
    struct cluster *k = cluster;
    struct worker *w = bench_calloc(1, sizeof(*w));
    if (k->worker_count == MAX_THREADS)
        bench_die("gangsched: too many workers");
    w->of = k;
    ours_check(gang_worker_new(k->c, &w->w), NULL, "gang_worker_new");
    ours_check(gang_worker_preallocate(w->w, largest_gang), NULL, "gang_worker_preallocate");
    w->places = bench_calloc((size_t)largest_gang, sizeof(*w->places));
    for (int64_t i = 0; i < largest_gang; i++)
        w->places[i] = (struct gang_placement)GANG_PLACEMENT_INIT;
    k->workers[k->worker_count++] = w->w;
    return w;
}

static void ours_worker_end(void *worker)
{
    struct worker *w = worker;
    struct cluster *k = w->of;
    for (size_t i = 0; i < k->worker_count; i++)
        if (k->workers[i] == w->w)
            k->workers[i] = k->workers[--k->worker_count];
    gang_snapshot_free(w->snapshot);
    gang_worker_free(w->w);
    free(w->places);
    free(w);
}

static void *ours_request(void *cluster, const struct bench_request *request)
{
    static const char *const rare_model[] = {"H100-SXM5-80GB"};
    static const char *const rare_value[] = {"rare"};
    struct cluster *k = cluster;
    struct gang_label_rule rule = {"fabric", rare_value, 1, GANG_LABEL_IN, 0};
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    group.min = request->tasks;
    group.count = request->tasks + request->extra;
    group.cpu_milli = (int64_t)bench_need[request->shape].cores * 1000;
    group.memory_bytes = bench_need[request->shape].memory_bytes;
    group.gpu_milli = bench_need[request->shape].gpu_milli;
    group.same = request->where == WHERE_RACK ? "rack" : NULL;
    group.prefer = request->where == WHERE_PREFER ? "rack" : NULL;
    if (request->rare == RARE_LABEL) {
        group.labels = &rule;
        group.label_count = 1;
    } else if (request->rare == RARE_MODEL) {
        group.gpu_models = rare_model;
        group.gpu_model_count = 1;
    }
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    spec.groups = &group;
    spec.group_count = 1;
    spec.exclusive = request->exclusive;
    if (request->where == WHERE_TOPOLOGY)
        spec.policy = GANG_POLICY_TOPOLOGY;
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *compiled;
    ours_check(gang_request_new(k->c, &spec, &compiled, &error), &error, "gang_request_new");
    return compiled;
}

static void ours_request_end(void *request)
{
    gang_request_free(request);
}

/* ---- what is measured ---------------------------------------------------------------------- */

static int ours_place(void *worker, void *request, uint64_t *id)
{
    gang_result r = gang_alloc(((struct worker *)worker)->w, request, id, NULL);
    return r == GANG_OK ? BENCH_PLACED : r == GANG_ENOFIT ? BENCH_REFUSED : BENCH_BROKEN;
}

static int ours_place_at(void *worker, void *request, const uint32_t *nodes, int64_t count,
                         uint64_t *id)
{
    struct worker *w = worker;
    for (int64_t i = 0; i < count; i++)
        w->places[i].node = w->of->ids[nodes[i]];
    gang_result r = gang_alloc_adopt(w->w, request, w->places, count, id, NULL);
    return r == GANG_OK ? BENCH_PLACED : r == GANG_ENOFIT ? BENCH_REFUSED : BENCH_BROKEN;
}

static bool ours_give_back(void *worker, uint64_t id)
{
    return gang_alloc_free(((struct worker *)worker)->w, id) == GANG_OK;
}

static int ours_grow(void *worker, uint64_t id)
{
    int64_t granted = 0;
    gang_result r = gang_alloc_grow(((struct worker *)worker)->w, id, 0, 1, &granted, NULL);
    if (r == GANG_OK)
        return granted == 1 ? BENCH_PLACED : BENCH_BROKEN;
    return r == GANG_ENOFIT ? BENCH_REFUSED : BENCH_BROKEN;
}

/* The last tasks of an enumeration, in a ring. */
struct last {
    int64_t *tasks, count, seen;
};

static int32_t last_task(const struct gang_task *task, void *user)
{
    struct last *last = user;
    last->tasks[last->seen++ % last->count] = task->task;
    return 0;
}

static bool ours_newest(void *worker, uint64_t id, int64_t *tasks, int64_t count)
{
    struct last last = {tasks, count, 0};
    return gang_alloc_each(((struct worker *)worker)->of->c, id, last_task, &last) == GANG_OK &&
           last.seen >= count;
}

static bool ours_shrink(void *worker, uint64_t id, int64_t task)
{
    return gang_alloc_shrink(((struct worker *)worker)->w, id, &task, 1, NULL) == GANG_OK;
}

static bool ours_set_state(void *worker, uint32_t node, bool up)
{
    struct worker *w = worker;
    return gang_node_set_state(w->w, w->of->ids[node], up ? GANG_NODE_UP : GANG_NODE_DRAINING) ==
           GANG_OK;
}

static int64_t ours_read(void *worker, uint32_t node)
{
    struct worker *w = worker;
    struct gang_node_info info;
    info.size = sizeof(info);
    return gang_node_get(w->of->c, w->of->ids[node], &info) == GANG_OK ? info.gpu_free : -1;
}

static bool ours_snapshot(void *worker)
{
    struct worker *w = worker;
    if (!w->snapshot && gang_snapshot_new(w->of->c, &w->snapshot) != GANG_OK)
        return false;
    return gang_snapshot_take(w->w, w->snapshot) == GANG_OK &&
           gang_snapshot_node_count(w->snapshot) == w->of->scene.nodes;
}

/* ---- that work was done -------------------------------------------------------------------- */

static int64_t ours_audit(void *cluster)
{
    struct cluster *k = cluster;
    struct gang_error error = GANG_ERROR_INIT;
    if (gang_cluster_check(k->c, &error) != GANG_OK) {
        fprintf(stderr, "gangsched-bench: gangsched: audit: %s\n", error.text);
        return -1;
    }
    int64_t taken = 0;
    for (int64_t i = 0; i < k->scene.nodes; i++) {
        struct gang_node_info info;
        info.size = sizeof(info);
        ours_check(gang_node_get(k->c, k->ids[i], &info), NULL, "gang_node_get");
        taken += NODE_GPUS * 1000 - info.gpu_free;
    }
    return taken;
}

struct tally {
    const struct bench_need *need;
    int64_t tasks;
    gang_node_id node; /* the one before */
    bool wrong;
};

static int32_t tally_task(const struct gang_task *task, void *user)
{
    struct tally *t = user;
    int gpus = 0, cores = 0;
    for (uint64_t mask = task->gpus; mask; mask &= mask - 1)
        gpus++;
    for (size_t i = 0; i < GANG_MAX_CORES / 64; i++)
        for (uint64_t mask = task->cores[i]; mask; mask &= mask - 1)
            cores++;
    bool whole = t->need->gpu_milli >= 1000;
    t->wrong |= gpus != (whole ? t->need->gpu_milli / 1000 : 1) || cores != t->need->cores ||
                task->gpu_share != (whole ? 1000 : t->need->gpu_milli) ||
                (gpus == NODE_GPUS && task->node == t->node);
    t->node = task->node;
    t->tasks++;
    return 0;
}

static bool ours_holds(void *worker, uint64_t id, const struct bench_request *request)
{
    struct tally tally = {&bench_need[request->shape], 0, GANG_ID_NONE, false};
    gang_result r = gang_alloc_each(((struct worker *)worker)->of->c, id, tally_task, &tally);
    return r == GANG_OK && tally.tasks == request->tasks && !tally.wrong;
}

static void ours_count(void *cluster, struct bench_counters *counters)
{
    struct cluster *k = cluster;
    *counters = (struct bench_counters){0};
    for (size_t i = 0; i < k->worker_count; i++) {
        struct gang_worker_stats stats;
        stats.size = sizeof(stats);
        ours_check(gang_worker_get_stats(k->workers[i], &stats), NULL, "gang_worker_get_stats");
        counters->retries += stats.conflicts;
        counters->helps += stats.helps;
    }
    counters->counted = true;
    counters->allocations = atomic_load(&k->heap.calls);
    counters->live_bytes = atomic_load(&k->heap.live);
}

const struct bench_impl bench_gangsched = {
    .name = "gangsched",
    .open = ours_open,
    .build = ours_build,
    .can_bulk = true,
    .close = ours_close,
    .worker = ours_worker,
    .worker_end = ours_worker_end,
    .request = ours_request,
    .request_end = ours_request_end,
    .place = ours_place,
    .place_at = ours_place_at,
    .give_back = ours_give_back,
    .grow = ours_grow,
    .newest = ours_newest,
    .shrink = ours_shrink,
    .set_state = ours_set_state,
    .read = ours_read,
    .snapshot = ours_snapshot,
    .audit = ours_audit,
    .holds = ours_holds,
    .count = ours_count,
};
