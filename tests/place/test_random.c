/* SPDX-License-Identifier: Apache-2.0 */
/* Random calls on small clusters, compared after every call with naive books of the test's own,
 * kept only from gang_alloc_each(). Nothing is taken twice, constraints hold, gangs
 * are whole, and what is refused could not have been given.
 *   GANG_SEED           begins with this cluster
 *   GANG_TEST_SECONDS   how long, 3 by default */
#include <gangsched/gangsched.h>

#include <inttypes.h>
#include <time.h>

#include "chance.h"
#include "support.h"

enum {
    MAX_NODES = 40, /* also those that are removed but held */
    LIVE_NODES = 12,
    MAX_GPUS = 8,
    MAX_ALLOCS = 24,
    MAX_TASKS = 64,
    STEPS = 250 /* calls on one cluster */
};

/* ---- the books ---- */

/* A machine as it was described. */
struct machine {
    gang_node_id id;
    char name[20];
    int64_t cpu, pages, nics;
    int gpus;
    int model[MAX_GPUS];      /* into model_name[] */
    int64_t memory[MAX_GPUS]; /* bytes; 0: unknown */
    uint64_t sick;            /* GPUs that are unhealthy */
    int cores;                /* 0: not known */
    int zone;                 /* label; 0: none */
    bool batch;               /* is in the partition */
    int block, rack;          /* 0: in none */
    int32_t state;
    bool removed;
};

/* One group of a request. */
struct task_group {
    int64_t count, min, cpu, pages, nics, lics;
    int devices;
    int64_t share;  /* milli-GPUs of each device; 0: by memory */
    int64_t memory; /* bytes of each device */
    int model;      /* -1: any */
    int zone;       /* 0: any; n: in zone n; -n: not in zone n */
    bool batch;
    int same, prefer; /* levels; -1: none */
};

struct order {
    struct task_group group[2];
    int groups;
    int64_t min, count; /* of the whole request */
    int same;           /* of the request, or of a set around all groups: the narrower one */
    bool plain;         /* one group, no domains */
    int app;            /* label "app"; 0: none */
    struct peer {
        int app;   /* -1: any */
        int level; /* -1: on a node */
        bool near, group;
    } peer[2];
    int peers;
    bool alone; /* has its nodes to itself */
};

struct grant {
    gang_alloc_id id;
    struct order order;
    bool adopted; /* its places were the test's choice */
    size_t tasks;
    struct gang_task task[MAX_TASKS];
};

static struct stage s;
static struct machine machine[MAX_NODES];
static int machines;
static struct grant grant[MAX_ALLOCS];
static int grants;
static int64_t lic_capacity;
static int32_t nic_kind, lic_kind;
static int node_number;

static const char *const model_name[] = {"T4", "V100", NULL};
static const char *const zone_name[] = {NULL, "a", "b"};
static const char *const level_name[] = {"block", "rack"};
static const char *const app_name[] = {NULL, "db", "web"};

/* Where it went wrong. */
static uint64_t run_seed;
static int step;
static const char *doing;

#define CHECK(condition, ...)                                                            \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            printf("GANG_SEED=%" PRIu64 " step %d, %s: ", run_seed, step, doing);        \
            printf(__VA_ARGS__);                                                         \
            printf("\n");                                                                \
            fflush(stdout);                                                              \
            ck_abort_msg("GANG_SEED=%" PRIu64 " step %d, %s: %s", run_seed, step, doing, \
                         #condition);                                                    \
        }                                                                                \
    } while (0)

static struct machine *machine_of(gang_node_id id)
{
    for (int i = 0; i < machines; i++)
        if (machine[i].id == id)
            return &machine[i];
    CHECK(false, "a task on a node that nobody added");
    return NULL;
}

/* The free capacity of a machine, by the books. */
struct capacity {
    int64_t cpu, pages, nics, lics;
    int64_t gpu[MAX_GPUS];
    uint64_t cores; /* not owned */
    int64_t shared; /* millicores of tasks without cores */
    int tasks;
};

/* Which tasks count: all, none, or those of one allocation. */
static const struct grant nobody;
#define EVERYBODY NULL

static bool is_counted(const struct grant *g, const struct grant *whose)
{
    return whose == EVERYBODY || g->id == whose->id;
}

static bool is_on(const struct grant *g, const struct machine *m)
{
    for (size_t k = 0; k < g->tasks; k++)
        if (g->task[k].node == m->id)
            return true;
    return false;
}

/* Does one allocation have the machine alone? */
static bool is_kept(const struct machine *m)
{
    for (int g = 0; g < grants; g++)
        if (grant[g].order.alone && is_on(&grant[g], m))
            return true;
    return false;
}

static struct capacity capacity_of(const struct machine *m, const struct grant *whose)
{
    struct capacity r = {m->cpu, m->pages, m->nics, 0, {0}, 0, 0, 0};
    for (int i = 0; i < m->gpus; i++)
        r.gpu[i] = 1000;
    for (int i = 0; i < m->cores; i++)
        r.cores |= UINT64_C(1) << i;
    for (int g = 0; g < grants; g++) {
        for (size_t k = 0; k < grant[g].tasks && is_counted(&grant[g], whose); k++) {
            const struct gang_task *t = &grant[g].task[k];
            if (t->node != m->id)
                continue;
            const struct task_group *w = &grant[g].order.group[t->group];
            r.tasks++;
            r.cpu -= t->cpu_milli;
            r.pages -= t->memory_bytes / GANG_PAGE_BYTES;
            r.nics -= w->nics;
            CHECK((r.cores & t->cores[0]) == t->cores[0], "a core twice on %s", m->name);
            r.cores &= ~t->cores[0];
            r.shared += t->core_count ? 0 : t->cpu_milli;
            for (int i = 0; i < MAX_GPUS; i++)
                r.gpu[i] -= t->gpus >> i & 1 ? t->gpu_share : 0;
        }
    }
    if (whose == EVERYBODY && is_kept(m))
        r = (struct capacity){.tasks = r.tasks};
    return r;
}

static int64_t lics_free(const struct grant *whose)
{
    int64_t lics = lic_capacity;
    for (int g = 0; g < grants; g++)
        for (size_t k = 0; k < grant[g].tasks && is_counted(&grant[g], whose); k++)
            lics -= grant[g].order.group[grant[g].task[k].group].lics;
    return lics;
}

static bool names_cores(const struct machine *m)
{
    return m->cores > 0 && m->cpu <= 1000 * m->cores;
}

/* ---- how many tasks fit, exactly ---- */

static int64_t share_on(const struct task_group *w, const struct machine *m, int gpu)
{
    if (w->share)
        return w->share;
    if (m->memory[gpu] == 0 || w->memory > m->memory[gpu])
        return 0;
    int64_t milli = 0; /* the smallest that suffices, by trying */
    while (milli * m->memory[gpu] < w->memory * 1000)
        milli++;
    return milli;
}

/* Tasks that take `share` of each of w->devices different devices. So many as sum(min(c, T)) >= T *
 * devices allows, where c is what one device can hold: the theorem of Gale and Ryser. */
static int64_t fit_share(const struct task_group *w, const struct machine *m,
                         const struct capacity *r, int64_t share)
{
    int64_t tasks = 0;
    for (;; tasks++) {
        int64_t places = 0;
        for (int i = 0; i < m->gpus; i++) {
            if (share_on(w, m, i) != share || (w->model >= 0 && m->model[i] != w->model))
                continue;
            int64_t holds = r->gpu[i] / share;
            places += holds < tasks + 1 ? holds : tasks + 1;
        }
        if (places < (tasks + 1) * w->devices)
            return tasks;
    }
}

static int64_t fit_gpus(const struct task_group *w, const struct machine *m,
                        const struct capacity *r)
{
    int64_t tasks = 0;
    bool done[1001] = {false};
    if (w->share == 1000) { /* only devices that are wholly free */
        int64_t free = 0;
        for (int i = 0; i < m->gpus; i++)
            free += r->gpu[i] == 1000 && (w->model < 0 || m->model[i] == w->model);
        return free / w->devices;
    }
    for (int i = 0; i < m->gpus; i++) {
        int64_t share = share_on(w, m, i);
        if (share == 0 || done[share])
            continue;
        done[share] = true;
        tasks += fit_share(w, m, r, share);
    }
    return tasks;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t fit_capacity(const struct task_group *w, const struct machine *m,
                            const struct capacity *r)
{
    int64_t tasks = MAX_TASKS;
    if (w->cpu)
        tasks = least(tasks, r->cpu / w->cpu);
    if (w->pages)
        tasks = least(tasks, r->pages / w->pages);
    if (w->nics)
        tasks = least(tasks, r->nics / w->nics);
    if (w->devices)
        tasks = least(tasks, fit_gpus(w, m, r));
    return tasks;
}

static bool matches(const struct task_group *w, const struct machine *m)
{
    bool zone = w->zone == 0 || (w->zone > 0 ? m->zone == w->zone : m->zone != -w->zone);
    return zone && (!w->batch || m->batch);
}

/* Is one of the tasks of a grant in the same domain as a machine? */
static bool is_near(const struct grant *g, const struct machine *m, int level)
{
    for (size_t k = 0; k < g->tasks; k++) {
        const struct machine *at = machine_of(g->task[k].node);
        if (level < 0    ? at == m
            : level == 0 ? m->block && at->block == m->block
                         : m->rack && at->rack == m->rack && at->block == m->block)
            return true;
    }
    return false;
}

static bool means(const struct peer *peer, const struct order *o)
{
    return o->app && (peer->app < 0 || peer->app == o->app);
}

/* Do the rules admit the machine that must be kept, its own and those of others? */
static bool is_admitted(const struct order *o, const struct grant *self, const struct machine *m)
{
    bool near[2] = {false, false};
    for (int i = 0; i < grants; i++) {
        const struct grant *g = &grant[i];
        if (self && g->id == self->id)
            continue;
        for (int k = 0; k < o->peers; k++) {
            const struct peer *peer = &o->peer[k];
            if (!means(peer, &g->order) || !is_near(g, m, peer->level))
                continue;
            near[k] = true;
            if (!peer->near && !peer->group)
                return false;
        }
        for (int k = 0; k < g->order.peers; k++) {
            const struct peer *peer = &g->order.peer[k];
            if (!peer->near && !peer->group && means(peer, o) && is_near(g, m, peer->level))
                return false;
        }
    }
    for (int k = 0; k < o->peers; k++)
        if (o->peer[k].near && !o->peer[k].group && !near[k])
            return false;
    return true;
}

static bool is_untouched(const struct machine *m, const struct capacity *r)
{
    bool whole = r->cpu == m->cpu && r->pages == m->pages && r->nics == m->nics;
    for (int i = 0; i < m->gpus; i++)
        whole = whole && r->gpu[i] == 1000;
    return whole;
}

/* Tasks of a group of an order that fit in all, now (EVERYBODY), or if all nodes were up and others
 * were gone. `self`: what the order has already; NULL: nothing. */
static int64_t fit_all(const struct order *o, const struct task_group *w, const struct grant *self,
                       const struct grant *whose)
{
    int64_t tasks = 0;
    for (int i = 0; i < machines; i++) {
        const struct machine *m = &machine[i];
        if (m->removed || (whose == EVERYBODY && m->state != GANG_NODE_UP) || !matches(w, m))
            continue;
        if (whose == EVERYBODY && !is_admitted(o, self, m))
            continue;
        bool own = o->alone && self && is_on(self, m);
        struct capacity r = capacity_of(m, own ? self : whose);
        if (o->alone && !own && !is_untouched(m, &r))
            continue;
        for (int k = 0; k < m->gpus && whose == EVERYBODY; k++)
            r.gpu[k] = m->sick >> k & 1 ? 0 : r.gpu[k];
        tasks += fit_capacity(w, m, &r);
    }
    if (w->lics)
        tasks = least(tasks, lics_free(whose) / w->lics);
    return tasks;
}

/* ---- comparing ---- */

static void check_node(const struct machine *m)
{
    struct gang_node_info info = {.size = sizeof(info)};
    struct capacity r = capacity_of(m, EVERYBODY);
    gang_result result = gang_node_get(s.c, m->id, &info);
    if (m->removed && r.tasks == 0) {
        /* Tasks that want nothing hold nothing. */
        CHECK(result == GANG_ESTALE, "%s is empty and removed, but not stale", m->name);
        return;
    }
    if (m->removed && result == GANG_ESTALE)
        CHECK(r.cpu == m->cpu && r.pages == m->pages && r.nics == m->nics, "%s is stale, but held",
              m->name);
    if (m->removed && result == GANG_ESTALE)
        return;
    CHECK(result == GANG_OK, "%s: %s", m->name, gang_result_name(result));
    CHECK(info.state == (m->removed ? GANG_NODE_REMOVED : m->state), "state of %s", m->name);
    CHECK(strcmp(info.name, m->name) == 0, "name of %s", m->name);
    CHECK(info.cpu_milli == m->cpu && info.cpu_free == r.cpu, "cpu of %s", m->name);
    CHECK(info.memory_bytes == m->pages * GANG_PAGE_BYTES, "memory of %s", m->name);
    CHECK(info.memory_free == r.pages * GANG_PAGE_BYTES, "free memory of %s", m->name);
    CHECK(info.amount[nic_kind] == m->nics, "cards of %s", m->name);
    CHECK(info.amount_free[nic_kind] == r.nics, "free cards of %s", m->name);
    CHECK(r.cpu >= 0 && r.pages >= 0 && r.nics >= 0, "%s is over-committed", m->name);
    int64_t free = 0;
    for (int i = 0; i < m->gpus; i++) {
        CHECK(r.gpu[i] >= 0, "GPU %d of %s is over-committed", i, m->name);
        CHECK(info.gpu_share_free[i] == r.gpu[i], "GPU %d of %s", i, m->name);
        CHECK((info.gpu_mask >> i & 1) == (r.gpu[i] == 1000), "mask of %s", m->name);
        free += r.gpu[i];
    }
    CHECK(info.gpu_unhealthy == m->sick, "health of %s", m->name);
    CHECK(info.gpu_free == free, "GPUs of %s", m->name);
    CHECK(info.gpus_free == __builtin_popcountll(info.gpu_mask), "free GPUs of %s", m->name);
    if (names_cores(m)) /* the unowned cores carry the tasks that share them */
        CHECK(1000 * (int64_t)__builtin_popcountll(r.cores) >= r.shared + r.cpu,
              "%s: the shared cores are too few", m->name);
}

struct reader {
    size_t tasks;
    struct gang_task task[MAX_TASKS];
};

static int32_t read_task(const struct gang_task *task, void *user)
{
    struct reader *reader = user;
    CHECK(reader->tasks < MAX_TASKS, "too many tasks");
    CHECK(reader->tasks == 0 || reader->task[reader->tasks - 1].task < task->task, "task order");
    reader->task[reader->tasks++] = *task;
    return 0;
}

static struct reader *read_alloc(gang_alloc_id id)
{
    static struct reader reader;
    reader.tasks = 0;
    CHECK(gang_alloc_each(s.c, id, read_task, &reader) == GANG_OK, "cannot be read");
    return &reader;
}

/* Everything is as the books say. */
static void check_all(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_kind_info info = GANG_KIND_INFO_INIT;
    int live = 0, counted = 0;
    for (int i = 0; i < machines; i++) {
        check_node(&machine[i]);
        live += !machine[i].removed;
    }
    CHECK(gang_node_count(s.c) == live, "number of nodes");
    for (int g = 0; g < grants; g++) {
        struct reader *reader = read_alloc(grant[g].id);
        CHECK(reader->tasks == grant[g].tasks, "number of tasks");
        CHECK(memcmp(reader->task, grant[g].task, reader->tasks * sizeof(reader->task[0])) == 0,
              "a task moved");
    }
    for (gang_alloc_id id = gang_alloc_next(s.c, GANG_ID_NONE); id; id = gang_alloc_next(s.c, id))
        counted++;
    CHECK(counted == grants, "number of allocations");
    CHECK(gang_kind_get(s.c, lic_kind, &info) == GANG_OK, "the pool");
    CHECK(info.capacity == lic_capacity && info.available == lics_free(EVERYBODY), "licences");
    CHECK(info.available >= 0, "licences are over-committed");
    CHECK(gang_cluster_check(s.c, &error) == GANG_OK, "%s", error.text);
}

/* ---- nodes ---- */

static void describe(struct machine *m, struct gang_node_spec *spec, struct box_arrays *arrays)
{
    static struct gang_amount nics;
    static struct gang_label label, place[2];
    static const char *const batch = "batch";
    static char block[8], rack[8];
    struct box box = {.name = m->name,
                      .cpu = m->cpu,
                      .memory = m->pages * GANG_PAGE_BYTES + GANG_PAGE_BYTES / 2,
                      .gpus = (size_t)m->gpus,
                      .cores = (size_t)m->cores,
                      .amounts = &nics,
                      .amount_count = 1,
                      .labels = &label,
                      .label_count = m->zone ? 1 : 0,
                      .partitions = &batch,
                      .partition_count = m->batch ? 1 : 0,
                      .place = place,
                      .state = m->state};
    nics = (struct gang_amount){"nic", m->nics};
    label = (struct gang_label){"zone", zone_name[m->zone]};
    snprintf(block, sizeof(block), "b%d", m->block % 10);
    snprintf(rack, sizeof(rack), "r%d", m->rack % 10);
    if (m->rack)
        place[box.place_count++] = (struct gang_label){"rack", rack};
    if (m->block)
        place[box.place_count++] = (struct gang_label){"block", block};
    *spec = box_spec(&box, arrays);
    for (int i = 0; i < m->gpus; i++) {
        arrays->gpu[i].model = model_name[m->model[i]];
        arrays->gpu[i].memory_bytes = m->memory[i];
        arrays->gpu[i].state = m->sick >> i & 1 ? GANG_GPU_UNHEALTHY : GANG_GPU_OK;
    }
}

static struct box_arrays spec_arrays;

static void add_node(void)
{
    struct machine *m = &machine[machines];
    struct gang_node_spec spec;
    int live = 0;
    for (int i = 0; i < machines; i++)
        live += !machine[i].removed;
    if (live == LIVE_NODES || machines == MAX_NODES)
        return;
    doing = "add";
    memset(m, 0, sizeof(*m));
    snprintf(m->name, sizeof(m->name), "n%d", node_number++);
    m->gpus = one_in(3) ? 0 : (int)below(MAX_GPUS + 1);
    int model = (int)below(3);
    int64_t memory = below(3) * 8 * GIB;
    for (int i = 0; i < m->gpus; i++) {
        m->model[i] = one_in(4) ? (int)below(3) : model;
        m->memory[i] = one_in(4) ? below(3) * 8 * GIB : memory;
        m->sick |= (uint64_t)one_in(30) << i;
    }
    m->cores = one_in(3) ? 0 : (int)below(17);
    m->cpu =
        m->cores && !one_in(4) ? 1000 * m->cores - (one_in(3) ? below(1000) : 0) : below(16) * 1000;
    m->pages = below(64);
    m->nics = below(4);
    m->zone = (int)below(3);
    m->batch = one_in(2);
    m->block = (int)below(3);
    m->rack = (int)below(3);
    m->state = one_in(8) ? GANG_NODE_DRAINING : GANG_NODE_UP;
    describe(m, &spec, &spec_arrays);
    CHECK(gang_node_add(s.w, &spec, &m->id, NULL) == GANG_OK, "refused");
    machines++;
}

static struct machine *some_machine(void)
{
    return machines ? &machine[below(machines)] : NULL;
}

static void set_state(void)
{
    struct machine *m = some_machine();
    int32_t state = one_in(2) ? GANG_NODE_UP : (int32_t)below(3);
    if (!m)
        return;
    doing = "set state";
    gang_result r = gang_node_set_state(s.w, m->id, state);
    CHECK(r == (m->removed ? GANG_ESTALE : GANG_OK), "%s", gang_result_name(r));
    if (!m->removed)
        m->state = state;
}

static void set_health(void)
{
    struct machine *m = some_machine();
    if (!m)
        return;
    doing = "set health";
    int gpu = (int)below(MAX_GPUS);
    bool heal = !one_in(3);
    gang_result r = gang_gpu_set_state(s.w, m->id, gpu, heal ? GANG_GPU_OK : GANG_GPU_UNHEALTHY);
    if (m->removed) /* stale as soon as nothing of it is held */
        CHECK(r == GANG_ESTALE || (r == GANG_EINVAL && gpu >= m->gpus), "%s", gang_result_name(r));
    else
        CHECK(r == (gpu < m->gpus ? GANG_OK : GANG_EINVAL), "%s", gang_result_name(r));
    if (r == GANG_OK)
        m->sick = heal ? m->sick & ~(UINT64_C(1) << gpu) : m->sick | UINT64_C(1) << gpu;
}

static void remove_node(void)
{
    struct machine *m = some_machine();
    if (!m)
        return;
    doing = "remove";
    gang_result r = gang_node_remove(s.w, m->id);
    CHECK(r == (m->removed ? GANG_ESTALE : GANG_OK), "%s", gang_result_name(r));
    m->removed = true;
}

/* Forget what is gone for good, so that the tables take more. */
static void forget_nodes(void)
{
    for (int i = 0; i < machines;) {
        struct capacity r = capacity_of(&machine[i], EVERYBODY);
        if (machine[i].removed && r.tasks == 0)
            machine[i] = machine[--machines];
        else
            i++;
    }
}

static void change_node(void)
{
    struct machine *m = some_machine(), now;
    struct gang_node_spec spec;
    struct gang_error error = GANG_ERROR_INIT;
    if (!m)
        return;
    if (is_kept(m)) /* what it keeps of the new capacity is no matter here */
        return;
    doing = "change";
    now = *m;
    now.pages = one_in(2) ? m->pages : below(64);
    now.nics = one_in(2) ? m->nics : below(4);
    if (one_in(2))
        now.cpu = names_cores(m) ? below(1000 * m->cores + 1)
                                 : (m->cores ? 1000 * m->cores + 1 : 0) + below(16000);
    now.zone = (int)below(3);
    now.batch = one_in(2);
    now.state = (int32_t)below(2);
    now.sick = one_in(2) ? m->sick : m->sick & (uint64_t)below(256);
    describe(&now, &spec, &spec_arrays);
    gang_result r = gang_node_change(s.w, m->id, &spec, &error);
    if (m->removed) {
        CHECK(r == GANG_ESTALE, "%s", gang_result_name(r));
        return;
    }
    struct capacity left = capacity_of(&now, EVERYBODY);
    bool enough = left.cpu >= 0 && left.pages >= 0 && left.nics >= 0;
    CHECK(r == (enough ? GANG_OK : GANG_EBUSY), "%s: %s", gang_result_name(r), error.text);
    if (r == GANG_OK)
        *m = now;
}

static void resize_pool(void)
{
    int64_t capacity = below(40);
    doing = "resize";
    gang_result r = gang_kind_resize(s.w, lic_kind, capacity);
    bool enough = capacity >= lic_capacity - lics_free(EVERYBODY);
    CHECK(r == (enough ? GANG_OK : GANG_EBUSY), "%s", gang_result_name(r));
    if (enough)
        lic_capacity = capacity;
}

/* ---- requests ---- */

static void random_group(struct task_group *w, bool domains)
{
    memset(w, 0, sizeof(*w));
    w->count = 1 + below(one_in(3) ? 12 : 4);
    w->min = one_in(3) ? below(w->count + 1) : w->count;
    w->cpu = one_in(5) ? 0 : one_in(3) ? 1 + below(3000) : 1000 * below(5);
    w->pages = one_in(2) ? 0 : below(12);
    w->nics = one_in(6) ? 1 : 0;
    w->lics = one_in(6) ? 1 + below(3) : 0;
    w->model = one_in(5) ? (int)below(2) : -1;
    w->zone = one_in(4) ? (int)below(5) - 2 : 0;
    w->batch = one_in(8);
    w->same = domains && one_in(2) ? (int)below(2) : -1;
    w->prefer = domains && one_in(3) ? (int)below(2) : -1;
    switch (below(5)) {
    case 0: /* whole devices */
        w->devices = 1 + (int)below(one_in(3) ? MAX_GPUS : 2);
        w->share = 1000;
        break;
    case 1: /* a part of one or more */
        w->devices = 1 + (one_in(2) ? (int)below(3) : 0);
        w->share = 1 + below(one_in(2) ? 999 : 400);
        break;
    case 2: /* memory of one or more */
        w->devices = 1 + (one_in(3) ? (int)below(3) : 0);
        w->memory = 1 + below(one_in(2) ? 17 * GIB : 4 * GIB);
        break;
    default:
        w->model = -1;
        break;
    }
}

/* Tasks that take nothing may be nowhere: those are not for rules. */
static bool takes_something(const struct order *o)
{
    for (int i = 0; i < o->groups; i++)
        if (!o->group[i].cpu && !o->group[i].pages && !o->group[i].nics && !o->group[i].devices)
            return false;
    return true;
}

static void random_peers(struct order *o)
{
    if (!takes_something(o))
        return;
    o->app = one_in(3) ? 1 + (int)below(2) : 0;
    o->alone = one_in(10);
    o->peers = one_in(4) ? 1 + (int)below(2) : 0;
    for (int i = 0; i < o->peers; i++)
        o->peer[i] = (struct peer){one_in(4) ? -1 : 1 + (int)below(2), (int)below(3) - 1, one_in(3),
                                   one_in(3)};
}

static void random_order(struct order *o)
{
    bool domains = one_in(4);
    memset(o, 0, sizeof(*o));
    o->groups = one_in(4) ? 2 : 1;
    o->same = domains && one_in(3) ? (int)below(2) : -1;
    int64_t sum = 0;
    for (int i = 0; i < o->groups; i++) {
        random_group(&o->group[i], domains);
        sum += o->group[i].min;
        o->count += o->group[i].count;
    }
    o->min = sum == 0 || one_in(6) ? sum + 1 + below(o->count - sum + (o->count == sum)) : sum;
    o->min = least(o->min, o->count);
    o->plain = o->groups == 1 && !domains;
    random_peers(o);
}

static gang_request *request_new(const struct order *o, int32_t policy)
{
    struct gang_group_spec g[2];
    struct gang_amount amounts[2][2];
    struct gang_label_rule rule[2];
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, (size_t)o->groups);
    struct gang_affinity_rule peer[2];
    const struct gang_label app = {"app", app_name[o->app]};
    const char *zone[2];
    for (int i = 0; i < o->peers; i++) {
        const struct peer *from = &o->peer[i];
        peer[i] = (struct gang_affinity_rule){"app", from->app < 0 ? NULL : app_name[from->app],
                                              from->level < 0 ? NULL : level_name[from->level],
                                              from->near, from->group};
    }
    spec.labels = &app;
    spec.label_count = o->app ? 1 : 0;
    spec.affinity = peer;
    spec.affinity_count = (size_t)o->peers;
    spec.exclusive = o->alone;
    for (int i = 0; i < o->groups; i++) {
        const struct task_group *w = &o->group[i];
        g[i] = group_of(w->count, w->cpu, w->share == 1000 ? 1000 * w->devices : w->share);
        g[i].min = w->min;
        g[i].memory_bytes = w->pages ? w->pages * GANG_PAGE_BYTES - GANG_PAGE_BYTES / 3 : 0;
        g[i].gpu_memory_bytes = w->memory;
        g[i].gpu_devices = w->devices;
        amounts[i][0] = (struct gang_amount){"nic", w->nics};
        amounts[i][1] = (struct gang_amount){"lic", w->lics};
        g[i].amounts = amounts[i];
        g[i].amount_count = 2;
        zone[i] = zone_name[w->zone < 0 ? -w->zone : w->zone];
        rule[i] = (struct gang_label_rule){"zone", &zone[i], 1,
                                           w->zone < 0 ? GANG_LABEL_NOT_IN : GANG_LABEL_IN, 0};
        g[i].labels = &rule[i];
        g[i].label_count = w->zone ? 1 : 0;
        g[i].gpu_models = w->model >= 0 ? &model_name[w->model] : NULL;
        g[i].gpu_model_count = w->model >= 0 ? 1 : 0;
        g[i].partition = w->batch ? "batch" : NULL;
        g[i].same = w->same >= 0 ? level_name[w->same] : NULL;
        g[i].prefer = w->prefer >= 0 ? level_name[w->prefer] : NULL;
    }
    spec.min = o->min;
    spec.policy = policy;
    if (o->same >= 0 && one_in(2)) { /* by a set around all groups, or by the request */
        set.same = level_name[o->same];
        spec.group_sets = &set;
        spec.group_set_count = 1;
        for (int i = 0; i < o->groups; i++)
            g[i].group_set = 0;
    } else if (o->same >= 0) {
        spec.same = level_name[o->same];
    }
    return stage_request(&s, &spec);
}

/* ---- what was given ---- */

static void check_shape(const struct task_group *w, const struct gang_task *t)
{
    const struct machine *m = machine_of(t->node);
    bool named = names_cores(m) && w->cpu % 1000 == 0;
    CHECK(t->cpu_milli == w->cpu, "cpu of a task");
    CHECK(t->memory_bytes == w->pages * GANG_PAGE_BYTES, "memory of a task");
    CHECK(t->gpu_count == w->devices, "devices of a task");
    CHECK(__builtin_popcountll(t->gpus) == w->devices, "device mask of a task");
    CHECK(t->core_count == (named ? w->cpu / 1000 : 0), "cores of a task");
    CHECK(__builtin_popcountll(t->cores[0]) == t->core_count, "core mask of a task");
    CHECK(t->gpus >> m->gpus == 0, "devices that are not there");
    for (int i = 0; i < m->gpus; i++)
        if (t->gpus >> i & 1)
            CHECK(t->gpu_share == share_on(w, m, i), "share of a device");
}

static void check_choice(const struct grant *g, const struct gang_task *t)
{
    const struct task_group *w = &g->order.group[t->group];
    const struct machine *m = machine_of(t->node);
    CHECK(is_admitted(&g->order, g, m), "a task on %s, where rules keep it out", m->name);
    CHECK(!m->removed && m->state == GANG_NODE_UP, "a task on %s, which is not up", m->name);
    CHECK(matches(w, m), "a task on %s, which it did not ask for", m->name);
    for (int i = 0; i < m->gpus; i++)
        if (t->gpus >> i & 1)
            CHECK(!(m->sick >> i & 1) && (w->model < 0 || m->model[i] == w->model),
                  "another model, or unhealthy");
}

static bool in_one_domain(const struct gang_task *a, const struct gang_task *b, int level)
{
    const struct machine *x = machine_of(a->node), *y = machine_of(b->node);
    if (level == 0)
        return x->block && x->block == y->block;
    return x->rack && x->rack == y->rack && x->block == y->block;
}

/* A task without demand holds nothing of its node: after the node is removed, its place is
 * unknown. */
static bool is_lost(const struct grant *g, const struct gang_task *t)
{
    const struct task_group *w = &g->order.group[t->group];
    return machine_of(t->node)->removed && !w->cpu && !w->pages && !w->nics && !w->devices;
}

/* All tasks are where the demands want them. */
static void check_domains(const struct grant *g)
{
    for (size_t i = 0; i < g->tasks; i++) {
        for (size_t k = i; k < g->tasks; k++) {
            const struct gang_task *a = &g->task[i], *b = &g->task[k];
            if (is_lost(g, a) || is_lost(g, b))
                continue;
            int same = a->group == b->group ? g->order.group[a->group].same : -1;
            CHECK(same < 0 || in_one_domain(a, b, same), "a group in two domains");
            CHECK(g->order.same < 0 || in_one_domain(a, b, g->order.same), "two domains");
        }
    }
}

static void check_minima(const struct grant *g)
{
    int64_t held[2] = {0, 0};
    for (size_t i = 0; i < g->tasks; i++)
        held[g->task[i].group]++;
    for (int i = 0; i < g->order.groups; i++)
        CHECK(held[i] >= g->order.group[i].min && held[i] <= g->order.group[i].count,
              "%" PRId64 " tasks in group %d", held[i], i);
    CHECK(held[0] + held[1] == g->order.min, "%" PRId64 " tasks in all", held[0] + held[1]);
}

/* Take the tasks of an allocation into the books, and look at those after the first `before`. */
static void take_over(struct grant *g, size_t before)
{
    const struct reader *reader = read_alloc(g->id);
    CHECK(reader->tasks >= before, "tasks were lost");
    g->tasks = reader->tasks;
    memcpy(g->task, reader->task, reader->tasks * sizeof(reader->task[0]));
    for (size_t i = 0; i < g->tasks; i++) {
        CHECK(g->task[i].group < g->order.groups, "no such group");
        check_shape(&g->order.group[g->task[i].group], &g->task[i]);
    }
}

/* New tasks lie between those there were, by their numbers. */
static bool is_new(const struct grant *before, const struct gang_task *task)
{
    for (size_t i = 0; i < before->tasks; i++)
        if (before->task[i].task == task->task)
            return false;
    return true;
}

/* ---- calls ---- */

/* Is a refusal of a plain request right? */
static void check_refusal(const struct order *o, gang_result r, int64_t now, int64_t ever)
{
    gang_result right = now >= o->min ? GANG_OK : ever >= o->min ? GANG_ENOFIT : GANG_ENEVER;
    CHECK(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENEVER, "%s", gang_result_name(r));
    if (o->plain)
        CHECK(r == right, "%s, but %" PRId64 " tasks fit now and %" PRId64 " ever, of %" PRId64,
              gang_result_name(r), now, ever, o->min);
}

static void allocate(void)
{
    struct grant *g = &grant[grants];
    struct gang_error error = GANG_ERROR_INIT;
    if (grants == MAX_ALLOCS)
        return;
    doing = "alloc";
    memset(g, 0, sizeof(*g));
    random_order(&g->order);
    const struct task_group *w = &g->order.group[0];
    int64_t now = fit_all(&g->order, w, NULL, EVERYBODY);
    int64_t ever = fit_all(&g->order, w, NULL, &nobody);
    gang_request *request = request_new(&g->order, (int32_t)below(3));
    if (one_in(3))
        check_refusal(&g->order, gang_alloc_test(s.w, request, &error), now, ever);
    gang_result r = gang_alloc(s.w, request, &g->id, &error);
    check_refusal(&g->order, r, now, ever);
    gang_result fits = gang_request_fits_ever(s.w, request, NULL);
    CHECK(fits == GANG_OK || fits == GANG_ENEVER, "%s", gang_result_name(fits));
    if (g->order.plain)
        CHECK((fits == GANG_OK) == (ever >= g->order.min), "%s ever", gang_result_name(fits));
    else
        CHECK((fits == GANG_ENEVER) == (r == GANG_ENEVER), "two answers");
    gang_request_free(request);
    if (r != GANG_OK)
        return;
    take_over(g, 0);
    for (size_t i = 0; i < g->tasks; i++)
        check_choice(g, &g->task[i]);
    check_minima(g);
    check_domains(g);
    grants++;
}

static struct grant *some_grant(void)
{
    return grants ? &grant[below(grants)] : NULL;
}

static void free_alloc(void)
{
    struct grant *g = some_grant();
    if (!g)
        return;
    doing = "free";
    gang_alloc_id id = g->id;
    CHECK(gang_alloc_free(s.w, id) == GANG_OK, "refused");
    CHECK(gang_alloc_free(s.w, id) == GANG_ESTALE, "freed twice");
    *g = grant[--grants];
}

static int64_t held_of(const struct grant *g, int32_t group)
{
    int64_t held = 0;
    for (size_t i = 0; i < g->tasks; i++)
        held += g->task[i].group == group;
    return held;
}

/* What growing a plain allocation must answer. */
static void check_growth(const struct grant *g, int64_t tasks, gang_result r, int64_t granted)
{
    const struct task_group *w = &g->order.group[0];
    int64_t held = held_of(g, 0), fit = fit_all(&g->order, w, g, EVERYBODY);
    int64_t most = least(least(tasks, w->count - held), fit);
    /* Parts of several devices may be chosen so that fewer tasks follow. */
    int64_t fewest = w->devices > 1 && w->share < 1000 && most > 0 ? 1 : most;
    for (int i = 0; i < g->order.peers; i++) /* some, where a soft rule holds, rather than all */
        fewest = g->order.peer[i].group ? least(fewest, 1) : fewest;
    if (held >= w->min)
        CHECK(granted >= fewest && granted <= most, "%" PRId64 " granted, of %" PRId64, granted,
              most);
    if (granted > 0 || held == w->count)
        return;
    bool ever = fit_all(&g->order, w, g, g) > 0;
    CHECK(r == (ever ? GANG_ENOFIT : GANG_ENEVER), "%s, %s", gang_result_name(r),
          ever ? "but it could" : "and it could not");
}

static void grow(void)
{
    struct grant *g = some_grant();
    if (!g)
        return;
    doing = "grow";
    int32_t group = (int32_t)below(g->order.groups + 1) - 1;
    int64_t tasks = 1 + below(4), granted = -1;
    struct grant before = *g;
    if (before.tasks + 12 > MAX_TASKS)
        return;
    bool complete = true;
    for (int32_t i = 0; i < g->order.groups; i++)
        if (group < 0 || group == i)
            complete = complete && held_of(g, i) == g->order.group[i].count;
    gang_result r = gang_alloc_grow(s.w, g->id, group, tasks, &granted, NULL);
    CHECK((r == GANG_ERANGE) == complete, "%s", gang_result_name(r));
    CHECK((r == GANG_OK) == (granted > 0), "%s", gang_result_name(r));
    if (g->order.plain && !complete)
        check_growth(&before, tasks, r, granted);
    take_over(g, before.tasks);
    CHECK((int64_t)(g->tasks - before.tasks) == granted, "%" PRId64 " granted", granted);
    int64_t new_tasks = 0;
    for (size_t i = 0; i < g->tasks; i++) {
        if (!is_new(&before, &g->task[i]))
            continue;
        CHECK(group < 0 || g->task[i].group == group, "another group");
        check_choice(g, &g->task[i]);
        new_tasks++;
    }
    CHECK(new_tasks == granted, "%" PRId64 " of %" PRId64 " are new", new_tasks, granted);
    if (!g->adopted)
        check_domains(g);
}

static void shrink(void)
{
    struct grant *g = some_grant();
    struct gang_error error = GANG_ERROR_INIT;
    int64_t tasks[MAX_TASKS], count = 0, given[2] = {0, 0};
    bool gone[MAX_TASKS] = {false};
    if (!g)
        return;
    doing = "shrink";
    for (size_t i = 0; i < g->tasks; i++) {
        if (!one_in(3))
            continue;
        gone[i] = true;
        given[g->task[i].group]++;
        tasks[count++] = g->task[i].task;
    }
    if (count == 0)
        return;
    for (int64_t i = count - 1; i > 0; i--) { /* in any order */
        int64_t k = below(i + 1), swap = tasks[i];
        tasks[i] = tasks[k];
        tasks[k] = swap;
    }
    bool too_many = (int64_t)g->tasks - count < g->order.min;
    for (int32_t i = 0; i < g->order.groups; i++)
        too_many = too_many || (given[i] && held_of(g, i) - given[i] < g->order.group[i].min);
    gang_result r = gang_alloc_shrink(s.w, g->id, tasks, count, &error);
    CHECK(r == (too_many ? GANG_ENOFIT : GANG_OK), "%s", gang_result_name(r));
    if (r == GANG_ENOFIT)
        CHECK(error.constraint == GANG_CONSTRAINT_MIN, "constraint %d", (int)error.constraint);
    size_t to = 0;
    for (size_t i = 0; i < g->tasks && r == GANG_OK; i++)
        if (!gone[i])
            g->task[to++] = g->task[i];
    if (r == GANG_OK)
        g->tasks = to;
}

/* Would these places be free, one after the other? `any`: the library picks the devices. */
static bool places_fit(const struct task_group *w, const struct gang_placement *places,
                       int64_t count, bool any)
{
    for (int i = 0; i < machines; i++) {
        struct machine *m = &machine[i];
        struct capacity r = capacity_of(m, EVERYBODY);
        int64_t here = 0;
        for (int64_t k = 0; k < count; k++) {
            if (places[k].node != m->id)
                continue;
            here++;
            if (m->removed)
                return false;
            for (int gpu = 0; gpu < MAX_GPUS && !any; gpu++) {
                if (!(places[k].gpus >> gpu & 1))
                    continue;
                int64_t share = gpu < m->gpus ? share_on(w, m, gpu) : 0;
                if (share == 0 || r.gpu[gpu] < share)
                    return false;
                r.gpu[gpu] -= share;
            }
        }
        struct task_group counted = *w;
        counted.devices = any ? w->devices : 0;
        r = any ? r : capacity_of(m, EVERYBODY);
        if (fit_capacity(&counted, m, &r) < here)
            return false;
    }
    return w->lics * count <= lics_free(EVERYBODY);
}

static void adopt(void)
{
    struct grant *g = &grant[grants];
    struct gang_placement places[4];
    struct gang_error error = GANG_ERROR_INIT;
    if (grants == MAX_ALLOCS || machines == 0)
        return;
    doing = "adopt";
    memset(g, 0, sizeof(*g));
    random_order(&g->order);
    g->adopted = true;
    g->order.alone = false; /* there may be others there already */
    struct task_group *w = &g->order.group[0];
    if (w->share == 0) /* of the same size on all devices, so that the answer is plain */
        w->memory = w->devices = 0;
    w->model = -1;
    if (!takes_something(&g->order))
        g->order.app = g->order.peers = 0;
    int64_t count = 1 + below(least(4, w->count));
    bool any = one_in(2), stale = false;
    for (int64_t i = 0; i < count; i++) {
        const struct machine *m = some_machine();
        places[i] = (struct gang_placement)GANG_PLACEMENT_INIT;
        places[i].node = m->id;
        places[i].any_devices = any;
        for (int left = w->devices; left > 0;) {
            uint64_t bit = UINT64_C(1) << below(MAX_GPUS);
            left -= !(places[i].gpus & bit);
            places[i].gpus |= bit;
        }
        stale = stale || m->removed;
    }
    bool fit = places_fit(w, places, count, any);
    gang_request *request = request_new(&g->order, GANG_POLICY_PACK);
    gang_result r = gang_alloc_adopt(s.w, request, places, count, &g->id, &error);
    gang_request_free(request);
    if (stale)
        CHECK(r == GANG_ESTALE || r == GANG_ENOFIT, "%s", gang_result_name(r));
    else
        CHECK(r == (fit ? GANG_OK : GANG_ENOFIT), "%s: %s", gang_result_name(r), error.text);
    if (r != GANG_OK)
        return;
    take_over(g, 0);
    CHECK((int64_t)g->tasks == count, "number of tasks");
    for (int64_t i = 0; i < count; i++) {
        CHECK(g->task[i].node == places[i].node, "another node");
        CHECK(any || g->task[i].gpus == places[i].gpus, "other devices");
    }
    grants++;
}

/* ---- runs ---- */

struct call {
    void (*run)(void);
    int weight;
};
static const struct call calls[] = {
    {allocate, 30},   {free_alloc, 14}, {grow, 14},    {shrink, 10},
    {set_state, 8},   {set_health, 8},  {add_node, 7}, {remove_node, 4},
    {change_node, 5}, {resize_pool, 3}, {adopt, 6},
};

static void run(uint64_t seed)
{
    int sum = 0;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        sum += calls[i].weight;
    run_seed = chance_state = seed;
    machines = grants = step = node_number = 0;
    doing = "begin";
    stage_open(&s, level_name, 2);
    lic_capacity = below(30);
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, &nic_kind));
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, lic_capacity, &lic_kind));
    for (int64_t nodes = below(LIVE_NODES) + 1; nodes > 0; nodes--)
        add_node();
    for (step = 1; step <= STEPS; step++) {
        int64_t draw = below(sum);
        size_t i = 0;
        while (draw >= calls[i].weight)
            draw -= calls[i++].weight;
        calls[i].run();
        check_all();
        forget_nodes();
    }
    doing = "end";
    while (grants)
        free_alloc();
    check_all();
    stage_close(&s);
}

START_TEST(random_calls_agree_with_the_books)
{
    const char *given = getenv("GANG_TEST_SECONDS");
    double seconds = given ? atof(given) : getenv("GANG_TEST_QUICK") ? 1.5 : 3;
    uint64_t seed = test_seed();
    struct timespec from, now;
    int64_t runs = 0;
    timespec_get(&from, TIME_UTC);
    do {
        run(seed + (uint64_t)runs++);
        timespec_get(&now, TIME_UTC);
    } while ((double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9 <
             seconds);
    printf("%" PRId64 " clusters, %" PRId64 " calls\n", runs, runs * STEPS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random");
    TCase *tests = tcase_create("random");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, random_calls_agree_with_the_books);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
