/* SPDX-License-Identifier: Apache-2.0 */
/* Short histories of two to four threads on one to four tiny nodes are recorded and must be
 * linearizable: an order of the calls exists, inside their intervals, in which the specification of
 * linear_cluster.h gives the same answers. A refusal is an answer like any other.
 *
 * Half of them run freely, with delays at the steps of the commit. In the other half only the
 * thread with the baton runs, and at every step it may pass the baton on. The seed alone decides
 * the order, so that a history repeats by its seed, and a thread may stand at a step for any length
 * of time.
 *
 * GANG_TEST_SECONDS runs so long instead of so many histories. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "base/atomic.h"
#include "base/draw.h"
#include "chance.h"
#include "linear_cluster.h"
#include "suite.h"

enum {
    PLAYERS = 4,
    MOST_CALLS = 6, /* of one player in one history */
    SHARED = 2,     /* initial allocations; any thread may free them */
    NODES = 4,
    SPARE = NODES, /* the node that is added, if any */
    REUSE = 40     /* histories on one cluster */
};

/* ---- the baton ------------------------------------------------------------------------------- */

static struct {
    bool on; /* in this history; the fields below belong to the thread with the baton */
    uint64_t seed;
    unsigned one_in;            /* passed on at one of so many steps */
    int players;                /* how many there are */
    unsigned weight[PLAYERS];   /* how likely each one is to get it; 0: is through */
    bool structure_is_changing; /* a thread holds the mutex under which nodes are added */
    sem_t turn[PLAYERS];
} baton;

static _Thread_local int my_number = -1; /* -1: not in a history */

/* Some are slow for a while and others fast. */
static void baton_shuffle(void)
{
    for (int i = 0; i < baton.players; i++)
        if (baton.weight[i])
            baton.weight[i] = chance_of(&baton.seed) >> 20 & 1 ? 1 : 12;
}

static int baton_choose(void)
{
    unsigned sum = 0;
    if ((chance_of(&baton.seed) >> 20) % 16 == 0)
        baton_shuffle();
    for (int i = 0; i < baton.players; i++)
        sum += baton.weight[i];
    if (!sum)
        return -1;
    unsigned at = (unsigned)((chance_of(&baton.seed) >> 20) % sum);
    int i = 0;
    while (at >= baton.weight[i])
        at -= baton.weight[i++];
    return i;
}

static void baton_pass(void)
{
    int next = baton_choose();
    if (next == my_number)
        return;
    sem_post(&baton.turn[next]);
    sem_wait(&baton.turn[my_number]);
}

static void baton_begin(uint64_t seed, int players)
{
    static const unsigned one_in[4] = {1, 2, 4, 12};
    baton.seed = seed;
    baton.one_in = one_in[seed >> 20 & 3];
    baton.players = players;
    baton.structure_is_changing = false;
    for (int i = 0; i < players; i++)
        baton.weight[i] = 1;
    sem_post(&baton.turn[baton_choose()]);
}

static void baton_end(void)
{
    baton.weight[my_number] = 0;
    int next = baton_choose();
    if (next >= 0)
        sem_post(&baton.turn[next]);
}

/* Another thread has to act first. */
static void let_others_run(void)
{
    if (baton.on && my_number >= 0)
        baton_pass();
    else
        sched_yield();
}

/* ---- time and delays ------------------------------------------------------------------------- */

static gang__a64 the_clock;

static uint64_t now(void)
{
    return atomic_fetch_add(&the_clock, 1);
}

static _Thread_local uint64_t delay_seed; /* 0: no delays */
static _Thread_local unsigned delay_one_in;
static _Thread_local int delay_often_at; /* a step */

/* A step to wait at more often than at others: every other time one of the commit. */
static int step_of(uint64_t dice)
{
    return (int)((dice >> 8) % (dice & 1 ? GANG__STEP_UPDATE : GANG__STEP_COUNT));
}

/* Yield; or sleep through the beginnings and endings of some calls of others, if there are any. */
static void delay(enum gang__step step)
{
    if (baton.on && my_number >= 0) {
        if ((chance_of(&baton.seed) >> 20) % baton.one_in == 0)
            baton_pass();
        return;
    }
    if (!delay_seed || chance_of(&delay_seed) % ((int)step == delay_often_at ? 2 : delay_one_in))
        return;
    uint64_t dice = chance_of(&delay_seed);
    uint64_t until = atomic_load(&the_clock) + 1 + (dice >> 8) % 8;
    unsigned turns = dice & 1 ? 1 : 1 + (unsigned)(dice >> 16) % 100;
    while (turns-- && atomic_load(&the_clock) < until)
        sched_yield();
}

/* ---- the cluster ----------------------------------------------------------------------------- */

/* A call as its thread saw it; nodes by id. */
struct note {
    struct lc_call c;
    uint64_t call, back;
    gang_node_id node[LC_CALL_TASKS];
    int reported; /* LC_READ */
};

struct hold {
    gang_alloc_id id;
    int number;    /* of the allocation in this history */
    int next_task; /* number of the next task it gets */
    int tasks[LC_TASKS];
    int task_count;
};

struct player {
    pthread_t thread;
    gang_worker *w;
    uint64_t seed;
    unsigned delay_one_in;
    int calls;
    struct note note[MOST_CALLS + SHARED];
    int notes;
    struct hold hold[MOST_CALLS + SHARED];
    int holds;
    int number;
};

static struct game {
    gang_cluster *c;
    gang_worker *w; /* of the main thread */
    gang_request *request[LC_SHAPES];
    int32_t licence;
    struct lc_state begin;
    int nodes, players;
    bool manual_recycle;
    bool tight;                  /* every node fits one task: see move_or_seek() */
    gang_node_id id[LC_NODES];   /* at first */
    _Atomic(gang_node_id) spare; /* once it is added */
    struct hold shared[SHARED];
    bool may_change[LC_NODES], may_remove[LC_NODES];
    _Atomic(int) allocs; /* numbers given so far */
    _Atomic(int) adds;
    _Atomic(bool) lost; /* the place of a task is unknown: no verdict */
    _Atomic(int) ready;
    _Atomic(bool) over;
    pthread_barrier_t barrier;
    struct player player[PLAYERS];
} g;

static gang_result spec_of(int i, int cpu, gang_node_id *id, bool change, gang_worker *w)
{
    const struct lc_node *n = &g.begin.node[i];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    struct gang_gpu_spec gpu[LC_GPUS];
    struct gang_core_spec core[LC_CORES];
    static const struct gang_numa_spec numa = {0, 0, 0};
    char name[16];
    memset(gpu, 0, sizeof(gpu));
    memset(core, 0, sizeof(core));
    for (int k = 0; k < LC_CORES; k++) {
        core[k].os_index = k;
        core[k].threads = 1;
    }
    snprintf(name, sizeof(name), "n%d", i);
    spec.name = name;
    spec.cpu_milli = cpu;
    spec.memory_bytes = n->full_pages * (int64_t)GANG_PAGE_BYTES;
    spec.gpus = gpu;
    spec.gpu_count = (size_t)n->gpus;
    spec.numas = &numa;
    spec.numa_count = 1;
    spec.cores = core;
    spec.core_count = n->full_cores ? LC_CORES : 0;
    return change ? gang_node_change(w, *id, &spec, NULL) : gang_node_add(w, &spec, id, NULL);
}

static void cluster_open(uint64_t *seed)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    uint64_t dice = chance_of(seed);
    g.manual_recycle = dice & 1;
    g.tight = (dice >> 4 & 3) == 0;
    opts.manual_recycle = g.manual_recycle;
    test_must(gang_cluster_new(&opts, &g.c, NULL));
    test_must(gang_worker_new(g.c, &g.w));
    test_must(gang_kind_add(g.w, "licence", NULL, GANG_SCOPE_CLUSTER, LC_POOL, &g.licence));
    g.nodes = 1 + (int)((dice >> 8) % NODES);
    lc_begin(&g.begin);
    for (int i = 0; i <= SPARE; i++) {
        dice = chance_of(seed);
        lc_put_node(&g.begin, i, 1000 + 500 * (int)((dice >> 8) % 5), 1 + (int)((dice >> 16) % 4),
                    (int)((dice >> 24) % (LC_GPUS + 1)), dice >> 32 & 1 ? (1 << LC_CORES) - 1 : 0,
                    i < g.nodes);
        if (g.tight)
            lc_put_node(&g.begin, i, 1000, 1, 0, 0, i < g.nodes);
        if (i < g.nodes)
            test_must(spec_of(i, g.begin.node[i].capacity, &g.id[i], false, g.w));
    }
    for (int i = 0; i < LC_SHAPES; i++) {
        const struct lc_shape *s = &lc_shape[i];
        struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
        struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
        struct gang_amount licence = {"licence", s->licence};
        group.count = s->count;
        group.min = s->min;
        group.cpu_milli = s->cpu;
        group.memory_bytes = s->pages * (int64_t)GANG_PAGE_BYTES;
        group.gpu_milli = s->devices * (int64_t)s->share;
        group.amounts = &licence;
        group.amount_count = s->licence > 0;
        spec.groups = &group;
        spec.group_count = 1;
        spec.policy = s->policy;
        test_must(gang_request_new(g.c, &spec, &g.request[i], NULL));
    }
    for (int i = 0; i < PLAYERS; i++)
        test_must(gang_worker_new(g.c, &g.player[i].w));
}

static void cluster_close(void)
{
    for (int i = 0; i < LC_SHAPES; i++)
        gang_request_free(g.request[i]);
    gang_cluster_free(g.c);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static struct note *note_begin(struct player *p, enum lc_kind kind)
{
    struct note *n = &p->note[p->notes++];
    memset(n, 0, sizeof(*n));
    n->c.kind = kind;
    n->c.thread = p->number;
    n->c.alloc = n->c.node = n->c.shape = -1;
    n->call = now();
    return n;
}

static void note_end(struct note *n, gang_result r)
{
    n->c.result = r;
    n->back = n->c.quiet = now();
}

/* The tasks of an allocation that this history did not know yet. */
struct news {
    struct note *note;
    struct hold *hold;
    int from;
};

static int32_t take_news(const struct gang_task *task, void *user)
{
    struct news *news = user;
    struct lc_call *c = &news->note->c;
    if (task->task < news->from)
        return 0;
    if (c->tasks == LC_CALL_TASKS || task->task >= LC_TASKS) {
        atomic_store(&g.lost, true);
        return 0;
    }
    news->note->node[c->tasks] = task->node;
    c->task[c->tasks++] =
        (struct lc_task){(int16_t)task->task, -1, (int16_t)task->gpus, (int16_t)task->cores[0]};
    news->hold->tasks[news->hold->task_count++] = (int)task->task;
    news->hold->next_task = (int)task->task + 1;
    return 0;
}

/* Where the new tasks are. Others may be about to free it, or have done so. */
static void read_news(struct note *n, struct hold *h)
{
    struct news news = {n, h, h->next_task};
    gang_result r;
    while ((r = gang_alloc_each(g.c, h->id, take_news, &news)) == GANG_EBUSY)
        let_others_run();
    if (r != GANG_OK)
        atomic_store(&g.lost, true);
    n->c.quiet = now();
}

static gang_result allocated(struct player *p, struct note *n, gang_result r, gang_alloc_id id)
{
    note_end(n, r);
    if (r != GANG_OK)
        return r;
    struct hold *h = &p->hold[p->holds++];
    *h = (struct hold){.id = id, .number = atomic_fetch_add(&g.allocs, 1)};
    n->c.alloc = h->number;
    n->c.tasks = 0;
    read_news(n, h);
    return r;
}

static gang_result call_alloc(struct player *p, uint64_t dice)
{
    gang_alloc_id id;
    struct gang_error error = GANG_ERROR_INIT;
    int shape = g.tight ? 0 : (int)(dice % LC_SHAPES);
    struct note *n = note_begin(p, LC_ALLOC);
    n->c.shape = shape;
    gang_result r = gang_alloc(p->w, g.request[shape], &id, dice >> 8 & 1 ? &error : NULL);
    return allocated(p, n, r, id);
}

/* A node of this history; if it may, the one that was added. */
static int any_node(uint64_t dice, gang_node_id *id)
{
    *id = atomic_load(&g.spare);
    if (*id && dice % 8 == 0)
        return SPARE;
    int i = (int)((dice >> 3) % (unsigned)g.nodes);
    *id = g.id[i];
    return i;
}

static gang_result call_adopt(struct player *p, uint64_t dice)
{
    int shape = g.tight ? 0 : (int)(dice % LC_SHAPES);
    const struct lc_shape *s = &lc_shape[shape];
    struct gang_placement place[2] = {GANG_PLACEMENT_INIT, GANG_PLACEMENT_INIT};
    gang_alloc_id id;
    int count = s->count > 1 && !g.tight ? 1 + (int)(dice >> 8 & 1) : 1;
    bool exact = count == 1 && s->devices && (dice >> 9 & 1);
    struct note *n = note_begin(p, LC_ADOPT);
    n->c.shape = shape;
    n->c.tasks = count;
    n->c.any_devices = !exact;
    for (int i = 0; i < count; i++) {
        place[i].any_devices = !exact;
        place[i].gpus = s->devices == 2 ? 3 : 1 + (dice >> 10 & 1);
        n->c.task[i].node = (int16_t)any_node(dice >> (16 + 8 * i), &place[i].node);
        n->c.task[i].gpus = exact ? (int16_t)place[i].gpus : 0;
        n->node[i] = place[i].node;
    }
    gang_result r = gang_alloc_adopt(p->w, g.request[shape], place, count, &id, NULL);
    return allocated(p, n, r, id);
}

static gang_result call_free(struct player *p, const struct hold *h)
{
    struct note *n = note_begin(p, LC_FREE);
    n->c.alloc = h->number;
    gang_result r = gang_alloc_free(p->w, h->id);
    note_end(n, r);
    return r;
}

static gang_result call_look(struct player *p, const struct hold *h)
{
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    struct note *n = note_begin(p, LC_LOOK);
    n->c.alloc = h->number;
    gang_result r = gang_alloc_get(g.c, h->id, &info);
    note_end(n, r);
    n->c.number = (int)info.tasks;
    return r;
}

static gang_result call_grow(struct player *p, struct hold *h, uint64_t dice)
{
    struct note *n = note_begin(p, LC_GROW);
    int64_t granted;
    n->c.alloc = h->number;
    n->c.wanted = 1 + (int)(dice & 1);
    gang_result r = gang_alloc_grow(p->w, h->id, 0, n->c.wanted, &granted, NULL);
    note_end(n, r);
    if (r == GANG_OK) {
        read_news(n, h);
        if (n->c.tasks != granted)
            atomic_store(&g.lost, true);
    }
    return r;
}

static gang_result call_shrink(struct player *p, struct hold *h, uint64_t dice)
{
    struct note *n = note_begin(p, LC_SHRINK);
    int at = (int)(dice % (unsigned)h->task_count);
    int64_t task = h->tasks[at];
    n->c.alloc = h->number;
    n->c.number = (int)task;
    gang_result r = gang_alloc_shrink(p->w, h->id, &task, 1, NULL);
    note_end(n, r);
    if (r == GANG_OK)
        h->tasks[at] = h->tasks[--h->task_count];
    return r;
}

static struct lc_node seen_of(const struct gang_node_info *info)
{
    struct lc_node seen;
    memset(&seen, 0, sizeof(seen));
    seen.state = info->state;
    seen.cpu = (int32_t)info->cpu_free;
    seen.pages = (int32_t)(info->memory_free / GANG_PAGE_BYTES);
    for (int i = 0; i < info->gpu_count; i++)
        seen.share[i] = info->gpu_share_free[i];
    seen.unhealthy = (int32_t)info->gpu_unhealthy;
    return seen;
}

static gang_result call_read(struct player *p, uint64_t dice)
{
    struct gang_node_info info;
    gang_node_id id;
    int node = any_node(dice, &id);
    memset(&info, 0, sizeof(info));
    info.size = sizeof(info);
    struct note *n = note_begin(p, LC_READ);
    gang_result r = gang_node_get(g.c, id, &info);
    note_end(n, r);
    n->c.node = node;
    n->c.seen = seen_of(&info);
    n->reported = (int)info.cpu_milli;
    return r;
}

static gang_result call_pool(struct player *p)
{
    struct gang_kind_info info = GANG_KIND_INFO_INIT;
    struct note *n = note_begin(p, LC_READ_POOL);
    gang_result r = gang_kind_get(g.c, g.licence, &info);
    note_end(n, r);
    n->c.number = (int)info.available;
    return r;
}

/* A call that changes nodes or the size of the cluster-wide kind. */
static gang_result call_structure(struct player *p, uint64_t dice)
{
    gang_node_id id;
    gang_result r;
    int node = any_node(dice >> 16, &id);
    bool fixed = !g.may_change[node] && !g.may_remove[node];
    struct note *n;
    while (baton.on && baton.structure_is_changing)
        let_others_run(); /* they hold a mutex that I would sleep on with the baton in my hands */
    if (baton.on)
        baton.structure_is_changing = true;
    if ((dice & 7) == 0 || fixed) {
        n = note_begin(p, LC_RESIZE);
        n->c.number = 1 + (int)((dice >> 3) % 6);
        r = gang_kind_resize(p->w, g.licence, n->c.number);
    } else if ((dice & 7) == 1 && g.nodes < NODES && atomic_fetch_add(&g.adds, 1) == 0) {
        n = note_begin(p, LC_ADD);
        node = SPARE;
        r = spec_of(SPARE, g.begin.node[SPARE].capacity, &id, false, p->w);
        if (r == GANG_OK)
            atomic_store(&g.spare, id);
        n->c.node = node;
    } else if (g.may_change[node]) {
        n = note_begin(p, LC_CHANGE);
        n->c.node = node;
        n->c.number = 500 + 500 * (int)((dice >> 3) % 6);
        r = spec_of(node, n->c.number, &id, true, p->w);
    } else {
        n = note_begin(p, LC_REMOVE);
        n->c.node = node;
        r = gang_node_remove(p->w, id);
    }
    note_end(n, r);
    if (baton.on)
        baton.structure_is_changing = false;
    return r;
}

static gang_result call_state(struct player *p, uint64_t dice)
{
    static const int32_t states[4] = {GANG_NODE_UP, GANG_NODE_DRAINING, GANG_NODE_UP,
                                      GANG_NODE_DOWN};
    gang_node_id id;
    int node = any_node(dice >> 8, &id);
    struct note *n = note_begin(p, LC_SET_STATE);
    n->c.node = node;
    n->c.number = states[dice & 3];
    gang_result r = gang_node_set_state(p->w, id, n->c.number);
    note_end(n, r);
    return r;
}

/* Of a node with devices. */
static gang_result call_health(struct player *p, uint64_t dice)
{
    gang_node_id id;
    int node = any_node(dice >> 8, &id), gpus = g.begin.node[node].gpus;
    if (!gpus)
        return call_state(p, dice);
    int gpu = (int)(dice >> 1) % gpus & 1;
    struct note *n = note_begin(p, dice & 1 ? LC_MARK : LC_HEAL);
    n->c.node = node;
    n->c.number = 1 << gpu;
    gang_result r = gang_gpu_set_state(p->w, id, gpu, dice & 1 ? GANG_GPU_UNHEALTHY : GANG_GPU_OK);
    note_end(n, r);
    return r;
}

/* One seeks a place for a task, the others move theirs from node to node: a refusal is true or not
 * according to what lies between two steps. */
static void move_or_seek(struct player *p)
{
    uint64_t dice = chance_of(&p->seed) >> 8;
    struct hold *last = p->holds ? &p->hold[p->holds - 1] : NULL;
    bool held = last && p->note[p->notes - 1].c.kind != LC_FREE;
    if (held && (p->number == 0 || dice & 1))
        call_free(p, last);
    else if (p->number == 0)
        call_alloc(p, dice >> 8);
    else
        call_adopt(p, dice >> 8);
}

static void call_something(struct player *p)
{
    if (g.tight && chance_of(&p->seed) >> 20 & 7) {
        move_or_seek(p);
        return;
    }
    uint64_t dice = chance_of(&p->seed), more = chance_of(&p->seed) >> 8;
    struct hold *own = p->holds ? &p->hold[more % (unsigned)p->holds] : NULL;
    struct hold *any = &g.shared[(more >> 8) % SHARED];
    gang_result r = GANG_OK;
    more >>= 16;
    switch ((dice >> 8) % 23) {
    case 0:
    case 1:
    case 2:
    case 3:
        if (own)
            r = call_free(p, own);
        else
            call_alloc(p, more);
        break;
    case 4:
    case 5:
        if (own)
            r = call_grow(p, own, more);
        else
            call_alloc(p, more);
        break;
    case 6:
        if (own)
            r = call_shrink(p, own, more);
        else
            call_adopt(p, more);
        break;
    case 7:
        if (any->id)
            call_free(p, any);
        else
            call_read(p, more);
        break;
    case 8:
        if (any->id)
            call_look(p, any);
        else
            call_pool(p);
        break;
    case 9:
    case 10:
        call_read(p, more);
        break;
    case 11:
        call_state(p, more);
        break;
    case 12:
    case 13:
        call_structure(p, more);
        break;
    case 14:
        call_adopt(p, more);
        break;
    case 20:
    case 21:
    case 22:
        call_health(p, more);
        break;
    default:
        call_alloc(p, more);
        break;
    }
    (void)r;
}

static void *play(void *user)
{
    struct player *p = user;
    for (;;) {
        pthread_barrier_wait(&g.barrier);
        if (atomic_load(&g.over))
            return NULL;
        if (p->number < g.players) {
            atomic_fetch_add(&g.ready, 1);
            if (baton.on)
                sem_wait(&baton.turn[p->number]);
            while (!baton.on && atomic_load(&g.ready) < g.players)
                sched_yield();
            my_number = p->number;
            delay_one_in = p->delay_one_in;
            delay_often_at = step_of(chance_of(&p->seed));
            delay_seed = chance_of(&p->seed) | 1;
            for (int i = 0; i < p->calls; i++)
                call_something(p);
            delay_seed = 0;
            if (baton.on)
                baton_end();
            my_number = -1;
        }
        pthread_barrier_wait(&g.barrier);
    }
}

/* ---- from notes to a history ----------------------------------------------------------------- */

static int16_t node_number(gang_node_id id)
{
    for (int i = 0; i < g.nodes; i++)
        if (g.id[i] == id)
            return (int16_t)i;
    return id == atomic_load(&g.spare) ? SPARE : -1;
}

static bool is_structure(enum lc_kind kind)
{
    return kind == LC_CHANGE || kind == LC_REMOVE || kind == LC_ADD || kind == LC_RESIZE;
}

/* How many changes of nodes or kinds overlap an interval. */
static int structure_calls(uint64_t call, uint64_t back)
{
    int found = 0;
    for (int i = 0; i < PLAYERS; i++)
        for (int k = 0; k < g.player[i].notes; k++) {
            const struct note *n = &g.player[i].note[k];
            found += is_structure(n->c.kind) && n->call < back && call < n->back;
        }
    return found;
}

static struct lc_call *add_part(struct lc_history *h, const struct note *n, enum lc_kind kind,
                                int after)
{
    struct lc_call *c = lc_add(h, kind, n->call, n->back, after);
    ck_assert_ptr_nonnull(c);
    *c = n->c;
    c->kind = kind;
    return c;
}

static void history_add(struct lc_history *h, struct note *n)
{
    int first = (int)h->count;
    if (n->c.result == GANG_OK &&
        (n->c.kind == LC_ALLOC || n->c.kind == LC_ADOPT || n->c.kind == LC_GROW))
        for (int i = 0; i < n->c.tasks; i++) {
            n->c.task[i].node = node_number(n->node[i]);
            ck_assert_int_ge(n->c.task[i].node, 0);
        }
    if (n->c.kind == LC_READ) {
        add_part(h, n, LC_READ_REPORTED, LINEAR_NOT_AFTER)->number = n->reported;
        add_part(h, n, LC_READ, first);
        return;
    }
    add_part(h, n, n->c.kind, LINEAR_NOT_AFTER);
    if (n->c.kind == LC_ALLOC && n->c.result != GANG_OK && structure_calls(n->call, n->back) < 2)
        add_part(h, n, n->c.result == GANG_ENEVER ? LC_NEVER : LC_EVER, LINEAR_NOT_AFTER);
    if (n->c.result != GANG_OK)
        return;
    if (n->c.kind == LC_CHANGE) {
        add_part(h, n, LC_CHANGE_REPORTED, first);
        add_part(h, n, LC_CHANGE_KNOWN, first + 1);
    } else if (n->c.kind == LC_REMOVE) {
        add_part(h, n, LC_REMOVE_KNOWN, first);
    } else if (n->c.kind == LC_ADD) {
        add_part(h, n, LC_ADD_KNOWN, first);
    } else if (n->c.kind == LC_RESIZE) {
        add_part(h, n, LC_RESIZE_KNOWN, first);
    }
}

/* ---- one history ----------------------------------------------------------------------------- */

static struct totals {
    uint64_t histories, calls, granted, refused, busy, stale, lost, gave_up, visits, helps;
} totals;

static void history_begin(uint64_t *seed)
{
    uint64_t dice = chance_of(seed);
    g.players = 2 + (int)((dice >> 8) % (PLAYERS - 1));
    int calls = 1 + (int)((dice >> 16) % (unsigned)(14 / g.players - 1));
    static const unsigned one_in[4] = {4, 12, 40, 200};
    atomic_store(&the_clock, 0);
    atomic_store(&g.allocs, 0);
    atomic_store(&g.adds, 0);
    atomic_store(&g.spare, GANG_ID_NONE);
    atomic_store(&g.lost, false);
    atomic_store(&g.ready, 0);
    memset(g.shared, 0, sizeof(g.shared));
    for (int i = 0; i < LC_NODES; i++) {
        g.may_change[i] = i < g.nodes && (dice >> (24 + 2 * i) & 3) == 1;
        g.may_remove[i] = i < g.nodes && (dice >> (24 + 2 * i) & 3) == 2;
    }
    for (int i = 0; i < PLAYERS; i++) {
        struct player *p = &g.player[i];
        p->number = i;
        p->seed = chance_of(seed);
        p->delay_one_in = one_in[(dice >> (40 + 2 * i)) & 3];
        p->notes = p->holds = 0;
        p->calls = i < g.players ? calls : 0;
    }
    /* Each initial allocation belongs to one player and is recorded as its own. */
    for (int i = 0; i < SHARED && (dice >> (50 + i) & 1); i++) {
        struct player *p = &g.player[i];
        if (call_alloc(p, chance_of(seed) >> 8) == GANG_OK)
            g.shared[i] = p->hold[0];
    }
}

/* Everything as it was at first. */
static void history_undo(void)
{
    for (int i = 0; i < PLAYERS; i++)
        for (int k = 0; k < g.player[i].holds; k++) {
            gang_result r = gang_alloc_free(g.w, g.player[i].hold[k].id);
            test_assert(r == GANG_OK || r == GANG_ESTALE);
        }
    ck_assert_uint_eq(gang_alloc_next(g.c, GANG_ID_NONE), GANG_ID_NONE);
    for (int i = 0; i < g.nodes; i++) {
        int cpu = g.begin.node[i].capacity;
        gang_result r = gang_node_set_state(g.w, g.id[i], GANG_NODE_UP);
        if (r == GANG_OK && g.may_change[i])
            r = spec_of(i, cpu, &g.id[i], true, g.w);
        for (int k = 0; k < g.begin.node[i].gpus && r == GANG_OK; k++)
            r = gang_gpu_set_state(g.w, g.id[i], k, GANG_GPU_OK);
        if (r == GANG_ESTALE)
            r = spec_of(i, cpu, &g.id[i], false, g.w);
        test_must(r);
    }
    if (atomic_load(&g.spare))
        test_must(gang_node_remove(g.w, atomic_load(&g.spare)));
    test_must(gang_kind_resize(g.w, g.licence, LC_POOL));
}

/* All nodes as they are in the end, for the last word on the history. */
static void history_end(struct lc_history *h)
{
    struct player last = {.number = PLAYERS};
    for (int i = 0; i < g.nodes + 1; i++) {
        gang_node_id id = i < g.nodes ? g.id[i] : atomic_load(&g.spare);
        struct gang_node_info info = {.size = sizeof(info)};
        if (!id)
            continue;
        struct note *n = note_begin(&last, LC_READ);
        note_end(n, gang_node_get(g.c, id, &info));
        n->c.node = i < g.nodes ? i : SPARE;
        n->c.seen = seen_of(&info);
        n->reported = (int)info.cpu_milli;
        history_add(h, n);
    }
    call_pool(&last);
    history_add(h, &last.note[last.notes - 1]);
}

static void count_up(const struct lc_history *h)
{
    totals.histories++;
    for (unsigned i = 0; i < h->count; i++) {
        gang_result r = h->call[i].result;
        totals.calls++;
        totals.granted += r == GANG_OK && h->call[i].kind == LC_ALLOC;
        totals.refused += r == GANG_ENOFIT || r == GANG_ENEVER;
        totals.busy += r == GANG_EBUSY;
        totals.stale += r == GANG_ESTALE;
    }
}

static void judge(struct linear *l, uint64_t number)
{
    struct lc_history h = {.count = 0};
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_cluster_check(g.c, &error);
    ck_assert_msg(r == GANG_OK, "history %" PRIu64 ": %s", number, error.text);
    for (int i = 0; i < PLAYERS; i++)
        for (int k = 0; k < g.player[i].notes; k++)
            history_add(&h, &g.player[i].note[k]);
    history_end(&h);
    count_up(&h);
    if (atomic_load(&g.lost)) {
        totals.lost++;
        return;
    }
    enum linear_answer answer = lc_check(l, &h, &g.begin);
    totals.visits += l->visits;
    totals.gave_up += answer == LINEAR_GAVE_UP;
    if (answer == LINEAR_NO) {
        lc_print(stdout, &h, l->deepest_done);
        fflush(stdout);
    }
    ck_assert_msg(answer != LINEAR_NO, "history %" PRIu64 " is not linearizable", number);
}

static void play_history(struct linear *l, uint64_t number, uint64_t seed)
{
    baton.on = false;
    history_begin(&seed);
    baton.on = g.manual_recycle; /* else one might wait for another one in a read section */
    pthread_barrier_wait(&g.barrier);
    if (baton.on)
        baton_begin(gang__mix(seed), g.players);
    pthread_barrier_wait(&g.barrier);
    judge(l, number);
    history_undo();
}

static void note_helps(void)
{
    struct gang_worker_stats stats = {.size = sizeof(stats)};
    for (int i = 0; i < PLAYERS; i++) {
        test_must(gang_worker_get_stats(g.player[i].w, &stats));
        totals.helps += (uint64_t)stats.helps;
    }
}

START_TEST(histories_are_linearizable)
{
    const char *seconds = getenv("GANG_TEST_SECONDS");
    uint64_t most = seconds ? UINT64_MAX : getenv("GANG_TEST_QUICK") ? 1500 : 16000;
    time_t end = time(NULL) + (seconds ? atoi(seconds) : 0);
    uint64_t seed = test_seed();
    struct linear l = {.most_visits = 1000000};
    pthread_barrier_init(&g.barrier, NULL, PLAYERS + 1);
    for (int i = 0; i < PLAYERS; i++)
        sem_init(&baton.turn[i], 0, 0);
    atomic_store(&g.over, false);
    atomic_store(&gang__hook_now, delay);
    for (int i = 0; i < PLAYERS; i++) {
        g.player[i].number = i;
        ck_assert_int_eq(pthread_create(&g.player[i].thread, NULL, play, &g.player[i]), 0);
    }
    for (uint64_t n = 0; n < most && (!seconds || time(NULL) < end);) {
        uint64_t dice = gang__mix(seed + n * UINT64_C(0x9e3779b97f4a7c15));
        cluster_open(&dice);
        for (int k = 0; k < REUSE && n < most; k++, n++)
            play_history(&l, n, gang__mix(dice + n));
        note_helps();
        cluster_close();
    }
    atomic_store(&g.over, true);
    pthread_barrier_wait(&g.barrier);
    for (int i = 0; i < PLAYERS; i++)
        pthread_join(g.player[i].thread, NULL);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    pthread_barrier_destroy(&g.barrier);
    linear_free(&l);
    printf("%" PRIu64 " histories, %" PRIu64 " operations, %" PRIu64 " granted, %" PRIu64
           " refused, %" PRIu64 " busy, %" PRIu64 " stale, %" PRIu64 " helps, %" PRIu64
           " states; no verdict on %" PRIu64 " and %" PRIu64 "\n",
           totals.histories, totals.calls, totals.granted, totals.refused, totals.busy,
           totals.stale, totals.helps, totals.visits, totals.lost, totals.gave_up);
    /* They were about something. */
    ck_assert_uint_gt(totals.granted, totals.histories / 4);
    ck_assert_uint_gt(totals.refused, totals.histories / 4);
    ck_assert_uint_gt(totals.helps, 0);
    ck_assert_uint_gt(totals.busy, 0);
    ck_assert_uint_lt(totals.lost + totals.gave_up, 1 + totals.histories / 20);
}
END_TEST

int main(void)
{
    const char *seconds = getenv("GANG_TEST_SECONDS");
    Suite *suite = suite_create("linear_threads");
    TCase *t = tcase_create("histories");
    tcase_set_timeout(t, 300.0 + (seconds ? atoi(seconds) : 0));
    tcase_add_test(t, histories_are_linearizable);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
