/* SPDX-License-Identifier: Apache-2.0 */
/* Headroom: the node, and for a part of a device the device, that keeps most of its free GPUs
 * usable for the mix of shapes that is expected (mix.h).
 *
 * Each shape t that asks for GPUs values what is free on a node. With D the milli-GPUs of one task,
 *
 *     A  milli-GPUs that tasks of t could take there: whole free devices, or whole parts of each,
 *        but no more than free cpu and memory go round for
 *     L  milli-GPUs on the devices on which a task fits, as fragmentation gradient descent
 *          counts them
 *     value = weight x D^(1/4) x (10 x A^(2/3) + L)
 *
 * and nothing if not even one task fits. A task goes where the sum of values falls least; of equals
 * where fewest milli-GPUs stay free, then least cpu, then the first. The value is concave in A: the
 * last usable piece is the dearest, so that crumbs are left on the nodes that have crumbs. The
 * fourth root lets tasks of many devices count for more than their number, but not for all of their
 * size.
 *
 * Found by experiment on the workloads of Weng et al., "Beware of Fragmentation", USENIX ATC 2023,
 * where it allocates at least as much as the paper's policy on each of them (bench/openb.py shows
 * both); the two exponents and the equal weight of the terms are empirical. Weighting by larger
 * roots, or L by less, was worse: tasks of eight devices are then refused early.
 *
 * Whole numbers only. The value depends on the class of the node, on free cpu and memory, and on
 * the free parts of the devices in any order; it is remembered in a table of the worker's. */
#include <string.h>

#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/request/request.h"
#include "place/search/policy.h"
#include "place/state/records.h"

enum {
    CACHE_LOG = 15, /* entries, as a power of two */
    CACHED_GPUS = 8,
    PER_LINE = 6,          /* ten bits each in one word of the key */
    MOST_MILLI = 8000,     /* of the table of roots; larger ones are reckoned from it */
    RENEW_PART = 8,        /* look at what was learned when this part has been added */
    MOST_WEIGHT = 1 << 24, /* of all shapes together, so that sums do not overflow */
    LINEAR = 256           /* weight of L; the table of roots has the factor 2560 */
};

struct worth {
    const struct gang__shape_demand *shape;
    uint64_t weight; /* with the root of its size */
    uint64_t demand; /* milli-GPUs a task; by memory: a guess, half of each device */
    /* Do the devices of a class do? Asked once: of a class of one model. */
    uint8_t suits[GANG__GPU_CLASSES];
};
enum { UNASKED, NO, YES };

struct entry {
    uint64_t key[3]; /* the first is not 0 if in use */
    int64_t value;
};

struct gang__headroom {
    bool ready;
    bool forget;      /* it was learned while the worker keeps its mix */
    bool by_memory;   /* some shape asks by memory: nodes of one model may differ */
    uint64_t version; /* of the declared mix; 0: learned, */
    uint64_t learned; /* number of tasks at that time */
    struct worth *worth;
    size_t worths, worth_cap;
    struct gang__shape_demand *own; /* what was learned */
    size_t owns, own_cap;
    uint32_t root[MOST_MILLI + 1]; /* 2560 x n^(2/3) */
    struct entry cache[1 << CACHE_LOG];
};

void gang__headroom_free(struct gang__headroom *h, const struct gang_mem *mem)
{
    if (!h)
        return;
    gang__release(mem, h->worth);
    gang__release(mem, h->own);
    gang__release(mem, h);
}

/* ---- roots ----------------------------------------------------------------------------------- */

static uint64_t square_root(uint64_t n)
{
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= n)
            root |= bit;
    return root;
}

/* root[n] is the largest r with r^3 <= n^2 x 1000 x 2^24. */
static void fill_roots(uint32_t *root)
{
    uint64_t r = 0;
    for (uint64_t n = 0; n <= MOST_MILLI; n++) {
        uint64_t most = (n * n * 1000) << 24;
        while ((r + 1) * (r + 1) * (r + 1) <= most)
            r++;
        root[n] = (uint32_t)r;
    }
}

/* Of any number: (8 n)^(2/3) = 4 n^(2/3). */
static uint64_t root_of(const struct gang__headroom *h, uint64_t milli)
{
    unsigned shift = 0;
    for (; milli > MOST_MILLI; milli >>= 3)
        shift += 2;
    return (uint64_t)h->root[milli] << shift;
}

/* ---- the mix --------------------------------------------------------------------------------- */

static bool take_mix(struct gang__plan *p, struct gang__headroom *h,
                     const struct gang__shape_demand *shape, size_t shape_count)
{
    uint64_t all = 0;
    h->ready = h->by_memory = false;
    if (!gang__grow(&p->c->mem, (void **)&h->worth, &h->worth_cap, shape_count, sizeof(*h->worth)))
        return false;
    for (size_t i = 0; i < shape_count; i++)
        all += shape[i].devices ? shape[i].weight : 0;
    unsigned shift = 0;
    while (all >> shift > MOST_WEIGHT)
        shift++;
    h->worths = 0;
    for (size_t i = 0; i < shape_count; i++) {
        const struct gang__shape_demand *a = &shape[i];
        if (!a->devices || a->slices)
            continue;
        uint64_t demand = (uint64_t)a->devices * (a->share ? a->share : 500);
        uint64_t count = a->weight >> shift ? a->weight >> shift : 1;
        h->worth[h->worths++] =
            (struct worth){a, count * square_root(square_root(demand << 32)), demand, {UNASKED}};
        h->by_memory = h->by_memory || a->gpu_memory;
    }
    if (!h->root[MOST_MILLI])
        fill_roots(h->root);
    for (unsigned i = 0; i < 1 << CACHE_LOG; i++)
        h->cache[i].key[0] = 0;
    h->ready = true;
    return true;
}

void gang__headroom_forget_mix(struct gang__headroom *h)
{
    if (!h || !h->forget)
        return;
    h->ready = h->forget = false;
}

static bool begin(struct gang__plan *p)
{
    if (!p->score.headroom)
        p->score.headroom = gang__zalloc(&p->c->mem, 1, sizeof(*p->score.headroom));
    struct gang__headroom *h = p->score.headroom;
    struct gang__mixes *m = &gang__shared_at(p->c)->mixes; /* it is there: a request was made */
    const struct gang__mix *mix = gang__load(&m->declared);
    uint64_t learned = gang__load_relaxed(&m->learned), version = mix ? mix->version : 0;
    bool done = h != NULL;
    if (done && (!h->ready || h->version != version ||
                 (!mix && !p->score.keeps_mix && learned > h->learned + h->learned / RENEW_PART))) {
        h->version = version;
        h->learned = learned;
        h->forget = !mix && p->score.keeps_mix;
        if (!mix)
            done = gang__mix_learned(p->c, m, &h->own, &h->own_cap, &h->owns);
        done = done && take_mix(p, h, mix ? mix->shape : h->own, mix ? mix->count : h->owns);
    }
    p->out.failed = p->out.failed || !done;
    return done;
}

bool gang__headroom_copy(struct gang__plan *to, const struct gang__headroom *from)
{
    if (!from || !from->ready || from->version)
        return true;
    struct gang__headroom *h = to->score.headroom = gang__zalloc(&to->c->mem, 1, sizeof(*h));
    if (!h || !gang__mix_own_copy(to->c, from->own, from->owns, &h->own, &h->own_cap))
        return false;
    h->learned = from->learned;
    h->owns = from->owns;
    return take_mix(to, h, h->own, h->owns);
}

/* ---- what a node is worth -------------------------------------------------------------------- */

/* A node's state, as far as it counts. */
struct state {
    const struct gang__node_copy *v;
    uint64_t cpu, pages;
    unsigned gpus;
    uint16_t part[GANG_MAX_GPUS]; /* what is free of each device */
};

/* 0: it depends on the device. */
static uint8_t suits(gang_cluster *c, struct worth *w, uint8_t class_id)
{
    const char *model = gang__load(&c->commit.gpu_class[class_id])->model;
    if (w->suits[class_id] == UNASKED && model[0])
        w->suits[class_id] = gang__class_suits(w->shape, model) ? YES : NO;
    return w->suits[class_id];
}

static int64_t worth_to(gang_cluster *c, const struct gang__headroom *h, struct worth *w,
                        const struct state *s)
{
    const struct gang__shape_demand *a = w->shape;
    const struct gang_gpu_spec *gpu = s->v->type->spec->gpus;
    uint64_t usable = 0, on_devices = 0;
    uint32_t fit = 0;
    uint8_t all = suits(c, w, s->v->layout.class_id);
    if (s->cpu < a->cpu || s->pages < a->pages || all == NO)
        return 0;
    for (unsigned i = 0; i < s->gpus; i++) {
        uint32_t share = all == YES || gang__class_suits(a, gpu[i].model)
                             ? gang__share_asked(a->share, a->gpu_memory, &gpu[i])
                             : 0;
        if (share == 0 || s->part[i] < share)
            continue;
        fit++;
        usable += share == 1000 ? 1000 : s->part[i] / share * share;
        on_devices += s->part[i];
    }
    if (fit < a->devices)
        return 0;
    if (a->cpu && usable > s->cpu * w->demand / a->cpu)
        usable = s->cpu * w->demand / a->cpu;
    if (a->pages && usable > s->pages * w->demand / a->pages)
        usable = s->pages * w->demand / a->pages;
    return (int64_t)(w->weight * (root_of(h, usable) + LINEAR * on_devices));
}

static int64_t sum_of(gang_cluster *c, struct gang__headroom *h, const struct state *s)
{
    int64_t sum = 0;
    for (size_t i = 0; i < h->worths; i++)
        sum += worth_to(c, h, &h->worth[i], s);
    return sum;
}

/* The same, remembered for nodes of up to 8 devices of one model. */
static int64_t value_of(struct gang__plan *p, struct gang__headroom *h, const struct state *s)
{
    uint8_t class_id = s->v->layout.class_id;
    if (s->gpus == 0)
        return 0;
    if (s->gpus > CACHED_GPUS || h->by_memory ||
        !gang__load(&p->c->commit.gpu_class[class_id])->model[0])
        return sum_of(p->c, h, s);
    uint16_t part[CACHED_GPUS] = {0};
    for (unsigned i = 0; i < s->gpus; i++) {
        unsigned at = i;
        for (; at && part[at - 1] < s->part[i]; at--)
            part[at] = part[at - 1];
        part[at] = s->part[i];
    }
    uint64_t key[3] = {1, (uint64_t)class_id << 32 | s->cpu, s->pages};
    for (unsigned i = 0; i < PER_LINE; i++)
        key[0] = key[0] << GANG__SHARE_BITS | part[i];
    for (unsigned i = PER_LINE; i < CACHED_GPUS; i++)
        key[1] = key[1] << GANG__SHARE_BITS | part[i];
    uint64_t hash = (key[0] ^ (key[1] * UINT64_C(0xc2b2ae3d27d4eb4f)) ^
                     (key[2] * UINT64_C(0xff51afd7ed558ccd))) *
                    UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    struct entry *e = &h->cache[hash >> (64 - CACHE_LOG)];
    if (memcmp(e->key, key, sizeof(key)) != 0) {
        e->value = sum_of(p->c, h, s);
        memcpy(e->key, key, sizeof(key));
    }
    return e->value;
}

/* ---- the score ------------------------------------------------------------------------------- */

/* After the task took its share of these devices. */
static int64_t value_after(struct gang__plan *p, const struct state *before, uint64_t gpus,
                           uint32_t share)
{
    struct state s = *before;
    for (; gpus; gpus &= gpus - 1)
        s.part[__builtin_ctzll(gpus)] -= (uint16_t)share;
    return value_of(p, p->score.headroom, &s);
}

static int64_t score(struct gang__plan *p, const struct gang__group *g,
                     const struct gang__node_copy *v, struct gang__scored_node *candidate)
{
    const uint64_t *now = gang__words_now(p, v);
    struct state s = {.v = v,
                      .cpu = gang__head_cpu(now[GANG__WORD_HEAD]),
                      .pages = now[GANG__WORD_MEMORY],
                      .gpus = v->layout.gpus};
    for (unsigned i = 0; i < s.gpus; i++)
        s.part[i] = (uint16_t)gang__device_free(now, i);
    int64_t before = value_of(p, p->score.headroom, &s);
    s.cpu -= g->cpu;
    s.pages -= g->pages;
    candidate->rest = (uint64_t)(gang__gpu_free(v, now) - gang__gpu_asked(candidate)) << 32 | s.cpu;
    /* A part of one device goes to the best one, unless other rules choose it. */
    bool choose = g->devices == 1 && g->share > 0 && g->share < 1000 && !g->near_nic &&
                  !g->same_devices && g->numa != GANG_NUMA_STRICT;
    if (!choose)
        return value_after(p, &s, candidate->gpus, candidate->share) - before;
    int64_t best = GANG__SCORE_OUT;
    uint16_t best_part = 0;
    for (uint64_t left = gang__plan_devices(p, g, v); left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (s.part[i] < g->share)
            continue;
        int64_t here = value_after(p, &s, UINT64_C(1) << i, g->share) - before;
        if (here > best || (here == best && s.part[i] < best_part)) {
            best = here;
            best_part = s.part[i];
            candidate->wanted = UINT64_C(1) << i;
        }
    }
    return best;
}

const struct gang__policy gang__policy_headroom = {
    .way = GANG__WAY_SCORE, .begin = begin, .score = score};
