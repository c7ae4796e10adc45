/* SPDX-License-Identifier: Apache-2.0 */
/* The sequential specification of a small cluster, for linear.h: what is free on each node and of
 * one cluster-wide kind, what each allocation holds, and the possible answers of each call. It
 * shares no code with the library.
 *
 * One call may be several operations where its promise is of several steps:
 *   reading a node       the capacity that is reported, then the record
 *   describing it again  the record; then the capacity that is reported; then what counts for
 *                        "could ever fit"
 *   removing, adding     the record; then what counts for "could ever fit"
 *   a refused gang       that it does not fit now; and that it could, or could not, ever
 * A search that is under way may place on a device that is marked unhealthy meanwhile: so refusals
 * are checked for health, grants are not. */
#ifndef GANG_TESTS_PLACE_LINEAR_CLUSTER_H
#define GANG_TESTS_PLACE_LINEAR_CLUSTER_H

#include <gangsched/gangsched.h>
#include <stdio.h>

#include "linear.h"

enum {
    LC_NODES = 6,
    LC_GPUS = 2,    /* of a node, at most */
    LC_CORES = 3,   /* of a node that names them */
    LC_ALLOCS = 14, /* of a history */
    LC_TASKS = 10,  /* numbers of tasks that an allocation may use up */
    LC_CALL_TASKS = 4,
    LC_SHAPES = 8,
    LC_SHARE = 1000,
    LC_POOL = 4 /* size of the cluster-wide kind at first */
};

/* What one task takes, and how many there are. */
struct lc_shape {
    int cpu, pages;     /* millicores; pages of memory */
    int devices, share; /* milli-GPUs of each of `devices` */
    int licence;        /* of the cluster-wide kind */
    int min, count;
    int policy;
};

static const struct lc_shape lc_shape[LC_SHAPES] = {
    {1000, 1, 0, 0, 0, 1, 3, GANG_POLICY_PACK},    {1000, 0, 0, 0, 0, 2, 4, GANG_POLICY_SPREAD},
    {500, 1, 1, 1000, 0, 2, 3, GANG_POLICY_PACK},  {500, 1, 1, 500, 0, 3, 4, GANG_POLICY_SPREAD},
    {1000, 2, 2, 1000, 0, 1, 2, GANG_POLICY_PACK}, {2000, 1, 0, 0, 1, 2, 3, GANG_POLICY_SPREAD},
    {0, 0, 1, 250, 1, 2, 4, GANG_POLICY_PACK},     {1500, 1, 0, 0, 0, 3, 4, GANG_POLICY_FIRST},
};

/* ---- states ---------------------------------------------------------------------------------- */

/* No padding anywhere: states are compared byte by byte. */
struct lc_node {
    int32_t state; /* GANG_NODE_*; -1: never was there */
    int32_t cpu;   /* free millicores; below: free pages, milli-GPUs of each device, cores */
    int32_t pages;
    int32_t share[LC_GPUS];
    int32_t cores;                        /* bits; 0 all along: not named */
    int32_t unhealthy;                    /* devices, as bits */
    int32_t capacity;                     /* millicores, as it is committed */
    int32_t reported;                     /* as it is reported */
    int32_t known;                        /* for "could ever fit" */
    int32_t full_pages, gpus, full_cores; /* never change */
};

struct lc_task {
    int16_t number, node; /* node -1: not held */
    int16_t gpus, cores;  /* bits */
};

struct lc_alloc {
    int32_t life; /* 0: not yet; 1; 2: over */
    int32_t shape;
    struct lc_task task[LC_TASKS]; /* by number */
};

struct lc_state {
    struct lc_node node[LC_NODES];
    int32_t pool, pool_capacity, pool_reported, pool_known;
    struct lc_alloc alloc[LC_ALLOCS];
};

/* ---- histories ------------------------------------------------------------------------------- */

enum lc_kind {
    LC_ALLOC, /* a gang by shape */
    LC_ADOPT, /* exact places */
    LC_NEVER, /* of a refused gang: it could never fit */
    LC_EVER,  /* and: it could */
    LC_FREE,
    LC_GROW,
    LC_SHRINK,
    LC_LOOK, /* totals of an allocation */
    LC_READ_REPORTED,
    LC_READ, /* a node's record */
    LC_READ_POOL,
    LC_SET_STATE,
    LC_MARK, /* a device unhealthy */
    LC_HEAL,
    LC_CHANGE,
    LC_CHANGE_REPORTED,
    LC_CHANGE_KNOWN,
    LC_REMOVE,
    LC_REMOVE_KNOWN,
    LC_ADD,
    LC_ADD_KNOWN,
    LC_RESIZE,
    LC_RESIZE_KNOWN,
    LC_KINDS
};

static const char *const lc_kind_name[LC_KINDS] = {
    "alloc",      "adopt",  "  never", "  ever", "free",    "grow",   "shrink", "look",
    "  capacity", "read",   "pool",    "state",  "mark",    "heal",   "change", "reported",
    "  known",    "remove", "  known", "add",    "  known", "resize", "  known"};

struct lc_call {
    enum lc_kind kind;
    gang_result result;
    int thread;
    int alloc, node, shape; /* by number; -1: none */
    int number;             /* state to set, capacity, task to give back, what was read */
    struct lc_task task[LC_CALL_TASKS]; /* granted, or asked for by LC_ADOPT */
    int tasks;
    int wanted;       /* LC_GROW: tasks asked for */
    bool any_devices; /* LC_ADOPT */
    uint64_t quiet;   /* when the caller had let go of the allocation, reading its tasks included */
    struct lc_node seen; /* LC_READ */
};

struct lc_history {
    struct linear_op op[LINEAR_OPS];
    struct lc_call call[LINEAR_OPS];
    unsigned count;
};

/* ---- what fits ------------------------------------------------------------------------------- */

/* Tasks of a shape that fit what is free, beside those that are there; on all devices but some. */
static inline int lc_fit(const struct lc_shape *s, int cpu, int pages, const int32_t *share,
                         int gpus, int without)
{
    int most = 1000;
    if (s->cpu && cpu / s->cpu < most)
        most = cpu / s->cpu;
    if (s->pages && pages / s->pages < most)
        most = pages / s->pages;
    if (s->devices) {
        int fit = 0;
        for (int i = 0; i < gpus; i++)
            fit += without >> i & 1 ? 0 : share[i] / s->share;
        if (fit / s->devices < most)
            most = fit / s->devices;
    }
    return most;
}

static inline int lc_fit_node(const struct lc_shape *s, const struct lc_node *n, int without)
{
    return lc_fit(s, n->cpu, n->pages, n->share, n->gpus, without);
}

static inline int lc_fit_pool(const struct lc_shape *s, int pool)
{
    return s->licence ? pool / s->licence : 1000;
}

/* Tasks that fit now, on nodes that are up. */
static inline int lc_fit_now(const struct lc_state *st, const struct lc_shape *s)
{
    int fit = 0;
    for (int i = 0; i < LC_NODES; i++)
        if (st->node[i].state == GANG_NODE_UP)
            fit += lc_fit_node(s, &st->node[i], st->node[i].unhealthy);
    return fit < lc_fit_pool(s, st->pool) ? fit : lc_fit_pool(s, st->pool);
}

/* Tasks that would fit if all was up and empty: at least, or at most, while nodes change. */
static inline int lc_fit_ever(const struct lc_state *st, const struct lc_shape *s, bool at_most)
{
    static const int32_t full[LC_GPUS] = {LC_SHARE, LC_SHARE};
    int fit = 0;
    for (int i = 0; i < LC_NODES; i++) {
        const struct lc_node *n = &st->node[i];
        int reported = n->state == -1 || n->state == GANG_NODE_REMOVED ? 0 : n->reported,
            known = n->known;
        int cpu = (reported > known) == at_most ? reported : known;
        if (cpu)
            fit += lc_fit(s, cpu, n->full_pages, full, n->gpus, 0);
    }
    int pool = (st->pool_reported > st->pool_known) == at_most ? st->pool_reported : st->pool_known;
    return fit < lc_fit_pool(s, pool) ? fit : lc_fit_pool(s, pool);
}

/* ---- taking and giving back ------------------------------------------------------------------ */

static inline bool lc_take(struct lc_state *st, const struct lc_shape *s, const struct lc_task *t,
                           bool must_be_up)
{
    struct lc_node *n = &st->node[t->node];
    if (n->state == -1 || n->state == GANG_NODE_REMOVED || (must_be_up && n->state != GANG_NODE_UP))
        return false;
    n->cpu -= s->cpu;
    n->pages -= s->pages;
    st->pool -= s->licence;
    if (n->cpu < 0 || n->pages < 0 || st->pool < 0 || (t->cores & ~n->cores))
        return false;
    n->cores &= ~t->cores;
    /* A whole number of cores is cores by name, if the node names them. */
    int own = n->full_cores && s->cpu % 1000 == 0 ? s->cpu / 1000 : 0;
    int devices = 0;
    for (int i = 0; i < LC_GPUS; i++) {
        if (!(t->gpus >> i & 1))
            continue;
        devices++;
        n->share[i] -= s->share;
        if (i >= n->gpus || n->share[i] < 0)
            return false;
    }
    return devices == s->devices && __builtin_popcount((unsigned)t->cores) == own;
}

static inline void lc_give(struct lc_state *st, const struct lc_shape *s, struct lc_task *t)
{
    struct lc_node *n = &st->node[t->node];
    n->cpu += s->cpu;
    n->pages += s->pages;
    n->cores |= t->cores;
    st->pool += s->licence;
    for (int i = 0; i < LC_GPUS; i++)
        if (t->gpus >> i & 1)
            n->share[i] += s->share;
    memset(t, 0, sizeof(*t));
    t->node = -1;
}

static inline int lc_held(const struct lc_alloc *a)
{
    int held = 0;
    for (int i = 0; i < LC_TASKS; i++)
        held += a->task[i].node >= 0;
    return held;
}

static inline bool lc_take_all(struct lc_state *st, const struct lc_call *c, bool must_be_up)
{
    struct lc_alloc *a = &st->alloc[c->alloc];
    for (int i = 0; i < c->tasks; i++) {
        const struct lc_task *t = &c->task[i];
        if (t->number >= LC_TASKS || a->task[t->number].node >= 0 ||
            !lc_take(st, &lc_shape[a->shape], t, must_be_up))
            return false;
        a->task[t->number] = *t;
    }
    return true;
}

/* ---- one operation --------------------------------------------------------------------------- */

/* Would these places be taken? */
static inline bool lc_places_fit(const struct lc_state *st, const struct lc_call *c)
{
    const struct lc_shape *s = &lc_shape[c->shape];
    int on[LC_NODES] = {0};
    if (lc_fit_pool(s, st->pool) < c->tasks)
        return false;
    for (int i = 0; i < c->tasks; i++) {
        const struct lc_node *n = &st->node[c->task[i].node];
        if (lc_fit_node(s, n, 0) < ++on[c->task[i].node])
            return false;
        for (int k = 0; k < LC_GPUS && !c->any_devices; k++)
            if ((c->task[i].gpus >> k & 1) && (k >= n->gpus || n->share[k] < s->share))
                return false;
    }
    return true;
}

static inline bool lc_on_gone(const struct lc_state *st, const struct lc_call *c)
{
    for (int i = 0; i < c->tasks; i++)
        if (st->node[c->task[i].node].state == GANG_NODE_REMOVED)
            return true;
    return false;
}

static inline bool lc_step_alloc(const struct lc_call *c, struct lc_state *st)
{
    const struct lc_shape *s = &lc_shape[c->shape];
    bool adopt = c->kind == LC_ADOPT;
    if (c->result == GANG_ESTALE)
        return adopt && lc_on_gone(st, c);
    if (c->result == GANG_ENOFIT && adopt)
        return !lc_places_fit(st, c);
    if (c->result == GANG_ENOFIT || c->result == GANG_ENEVER)
        return lc_fit_now(st, s) < s->min;
    struct lc_alloc *a = &st->alloc[c->alloc];
    if (c->result != GANG_OK || a->life != 0 || (!adopt && c->tasks != s->min))
        return false;
    a->life = 1;
    a->shape = c->shape;
    return lc_take_all(st, c, !adopt);
}

static inline bool lc_step_grow(const struct lc_call *c, struct lc_state *st)
{
    struct lc_alloc *a = &st->alloc[c->alloc];
    const struct lc_shape *s = &lc_shape[a->shape];
    int held = lc_held(a);
    if (c->result == GANG_ERANGE)
        return held >= s->count;
    if (c->result == GANG_ENOFIT || c->result == GANG_ENEVER)
        return held < s->count && lc_fit_now(st, s) < (held < s->min ? s->min - held : 1);
    int most = c->wanted > s->min - held ? c->wanted : s->min - held;
    return c->result == GANG_OK && c->tasks > 0 && c->tasks <= most &&
           held + c->tasks <= s->count && held + c->tasks >= s->min && lc_take_all(st, c, true);
}

static inline bool lc_step_live(const struct lc_call *c, struct lc_state *st)
{
    struct lc_alloc *a = &st->alloc[c->alloc];
    const struct lc_shape *s = &lc_shape[a->shape];
    switch (c->kind) {
    case LC_FREE:
        for (int i = 0; i < LC_TASKS; i++)
            if (a->task[i].node >= 0)
                lc_give(st, s, &a->task[i]);
        a->life = 2;
        return c->result == GANG_OK;
    case LC_GROW:
        return lc_step_grow(c, st);
    case LC_SHRINK:
        if (c->result == GANG_ENOFIT)
            return lc_held(a) <= s->min;
        if (c->result == GANG_ENOENT)
            return a->task[c->number].node < 0;
        if (c->result != GANG_OK || a->task[c->number].node < 0 || lc_held(a) <= s->min)
            return false;
        lc_give(st, s, &a->task[c->number]);
        return true;
    default: /* LC_LOOK */
        return c->result == GANG_OK && c->number == lc_held(a);
    }
}

static inline bool lc_step_read(const struct lc_call *c, const struct lc_state *st)
{
    const struct lc_node *n = &st->node[c->node];
    bool over = n->state == GANG_NODE_REMOVED && n->cpu == n->capacity && n->pages == n->full_pages;
    for (int i = 0; i < n->gpus; i++)
        over = over && n->share[i] == LC_SHARE;
    if (c->result == GANG_ESTALE)
        return over;
    bool same = c->result == GANG_OK && !over && n->state == c->seen.state &&
                n->cpu == c->seen.cpu && n->pages == c->seen.pages &&
                n->unhealthy == c->seen.unhealthy;
    for (int i = 0; i < n->gpus; i++)
        same = same && n->share[i] == c->seen.share[i];
    return same;
}

static inline bool lc_step_node(const struct lc_call *c, struct lc_state *st)
{
    struct lc_node *n = &st->node[c->node];
    bool gone = n->state == GANG_NODE_REMOVED;
    if (c->result == GANG_ESTALE)
        return gone;
    switch (c->kind) {
    case LC_SET_STATE:
        n->state = c->number;
        return c->result == GANG_OK && !gone;
    case LC_MARK:
        n->unhealthy |= c->number;
        return c->result == GANG_OK && !gone;
    case LC_HEAL:
        n->unhealthy &= ~c->number;
        return c->result == GANG_OK && !gone;
    case LC_CHANGE:
        if (c->result == GANG_EBUSY)
            return n->cpu + c->number - n->capacity < 0;
        n->cpu += c->number - n->capacity;
        n->capacity = c->number;
        n->state = GANG_NODE_UP;
        n->unhealthy = 0;
        return c->result == GANG_OK && !gone && n->cpu >= 0;
    case LC_REMOVE:
        n->state = GANG_NODE_REMOVED;
        return c->result == GANG_OK && !gone;
    default: /* LC_ADD */
        if (c->result != GANG_OK || n->state != -1)
            return false;
        n->state = GANG_NODE_UP;
        n->cpu = n->reported = n->capacity;
        n->pages = n->full_pages;
        n->cores = n->full_cores;
        for (int i = 0; i < n->gpus; i++)
            n->share[i] = LC_SHARE;
        return true;
    }
}

static inline bool lc_step(const void *history, unsigned op, void *state)
{
    const struct lc_call *c = &((const struct lc_history *)history)->call[op];
    struct lc_state *st = state;
    switch (c->kind) {
    case LC_ALLOC:
    case LC_ADOPT:
        return lc_step_alloc(c, st);
    case LC_NEVER:
        return lc_fit_ever(st, &lc_shape[c->shape], false) < lc_shape[c->shape].min;
    case LC_EVER:
        return lc_fit_ever(st, &lc_shape[c->shape], true) >= lc_shape[c->shape].min;
    case LC_FREE:
    case LC_GROW:
    case LC_SHRINK:
    case LC_LOOK:
        if (c->result == GANG_EBUSY) /* lc_busy_is_true() */
            return true;
        if (c->result == GANG_ESTALE)
            return st->alloc[c->alloc].life == 2;
        return st->alloc[c->alloc].life == 1 && lc_step_live(c, st);
    case LC_READ_REPORTED:
        return c->result != GANG_OK || st->node[c->node].reported == c->number;
    case LC_READ:
        return lc_step_read(c, st);
    case LC_READ_POOL:
        return c->result == GANG_OK && st->pool == c->number;
    case LC_SET_STATE:
    case LC_MARK:
    case LC_HEAL:
    case LC_CHANGE:
    case LC_REMOVE:
    case LC_ADD:
        return lc_step_node(c, st);
    case LC_CHANGE_REPORTED:
        st->node[c->node].reported = c->number;
        return true;
    case LC_CHANGE_KNOWN:
    case LC_ADD_KNOWN:
        st->node[c->node].known = st->node[c->node].reported;
        return true;
    case LC_REMOVE_KNOWN:
        st->node[c->node].known = 0;
        return true;
    case LC_RESIZE:
        if (c->result == GANG_EBUSY)
            return st->pool + c->number - st->pool_capacity < 0;
        st->pool += c->number - st->pool_capacity;
        st->pool_capacity = st->pool_reported = c->number;
        return c->result == GANG_OK && st->pool >= 0;
    case LC_RESIZE_KNOWN:
        st->pool_known = st->pool_reported;
        return true;
    default:
        return false;
    }
}

/* GANG_EBUSY says that another thread was using the allocation meanwhile. */
static inline bool lc_busy_is_true(const struct lc_history *h)
{
    for (unsigned i = 0; i < h->count; i++) {
        bool found = h->call[i].result != GANG_EBUSY || h->call[i].alloc < 0;
        for (unsigned k = 0; k < h->count && !found; k++)
            found = k != i && h->call[k].alloc == h->call[i].alloc &&
                    h->call[k].thread != h->call[i].thread && h->op[k].call < h->op[i].back &&
                    h->op[i].call < h->call[k].quiet;
        if (!found)
            return false;
    }
    return true;
}

/* ---- making states and histories ------------------------------------------------------------- */

/* Nodes that are not there yet have state -1, so that they can be added. */
static inline void lc_begin(struct lc_state *st)
{
    memset(st, 0, sizeof(*st));
    for (int i = 0; i < LC_NODES; i++)
        st->node[i].state = -1;
    for (int i = 0; i < LC_ALLOCS; i++)
        for (int k = 0; k < LC_TASKS; k++)
            st->alloc[i].task[k].node = -1;
    st->pool = st->pool_capacity = st->pool_reported = st->pool_known = LC_POOL;
}

static inline void lc_put_node(struct lc_state *st, int i, int cpu, int pages, int gpus, int cores,
                               bool there)
{
    struct lc_node *n = &st->node[i];
    n->capacity = cpu;
    n->full_pages = pages;
    n->gpus = gpus;
    n->full_cores = cores;
    if (!there)
        return;
    n->state = GANG_NODE_UP;
    n->cpu = n->reported = n->known = cpu;
    n->pages = pages;
    n->cores = cores;
    for (int k = 0; k < gpus; k++)
        n->share[k] = LC_SHARE;
}

/* One more operation; NULL if the history is full. */
static inline struct lc_call *lc_add(struct lc_history *h, enum lc_kind kind, uint64_t call,
                                     uint64_t back, int after)
{
    if (h->count == LINEAR_OPS)
        return NULL;
    h->op[h->count] = (struct linear_op){call, back, after};
    struct lc_call *c = &h->call[h->count++];
    *c = (struct lc_call){.kind = kind, .alloc = -1, .node = -1, .shape = -1, .quiet = back};
    return c;
}

static inline enum linear_answer lc_check(struct linear *l, const struct lc_history *h,
                                          const struct lc_state *begin)
{
    l->op = h->op;
    l->count = h->count;
    l->history = h;
    l->step = lc_step;
    l->state_size = sizeof(*begin);
    if (!lc_busy_is_true(h)) {
        l->deepest_done = 0;
        return LINEAR_NO;
    }
    return linear_check(l, begin);
}

/* For people: the operations, and which of them could be put in order. */
static inline void lc_print(FILE *out, const struct lc_history *h, uint64_t done)
{
    for (unsigned i = 0; i < h->count; i++) {
        const struct lc_call *c = &h->call[i];
        fprintf(out, "%c %2u thread %d [%4llu %4llu] %-10s %-11s", done >> i & 1 ? ' ' : '?', i,
                c->thread, (unsigned long long)h->op[i].call, (unsigned long long)h->op[i].back,
                lc_kind_name[c->kind], gang_result_name(c->result));
        if (c->alloc >= 0)
            fprintf(out, " alloc %d", c->alloc);
        if (c->shape >= 0)
            fprintf(out, " shape %d", c->shape);
        if (c->node >= 0)
            fprintf(out, " node %d", c->node);
        fprintf(out, " number %d", c->number);
        for (int k = 0; k < c->tasks; k++)
            fprintf(out, " [task %d node %d gpus %x cores %x]", c->task[k].number, c->task[k].node,
                    (unsigned)c->task[k].gpus, (unsigned)c->task[k].cores);
        if (c->kind == LC_READ)
            fprintf(out, " state %d cpu %d pages %d shares %d %d unhealthy %x", c->seen.state,
                    c->seen.cpu, c->seen.pages, c->seen.share[0], c->seen.share[1],
                    (unsigned)c->seen.unhealthy);
        fputc('\n', out);
    }
}

#endif
