/* SPDX-License-Identifier: Apache-2.0 */
/* Fragmentation gradient descent: the node, and for a part of a device the device, whose free GPUs
 * lose least for the mix of shapes that is expected (mix.h).
 *
 * Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
 * Fragmentation Gradient Descent", USENIX ATC 2023, section 4; its artifact, plugin FGDScore.
 * F(node) is the sum over the shapes of p x what is free on the node and of no use to the shape:
 * everything if it asks for no GPU, if no model suits it, if too few devices have enough free, or
 * if there is too little cpu; else what is free on devices with too little free for it. The score
 * is 100 x sigmoid((F before - F after) / 1000), truncated. Memory does not count, nor do labels
 * and partitions.
 *
 * Of the mix only the typical shapes count: the most frequent ones, until they are 95 % of it.
 *
 * Floating point, in the order of the artifact: what is of no use is summed up by the reason, each
 * in the order of the shapes, then the reasons. For where F does not change, the last bit of it
 * decides whether the score is 49 or 50. It depends on model, free cpu, and the free parts of the
 * devices, in any order: these are whole numbers, so equal states have the same F. Few states
 * occur, each of them often: a table of the worker remembers them, for nodes of up to 8 devices of
 * one model. */
#include <math.h>
#include <string.h>

#include "place/fit/fit.h"
#include "place/request/request.h"
#include "place/search/policy.h"
#include "place/state/records.h"

enum {
    CACHE_LOG = 15, /* entries, as a power of two */
    CACHED_GPUS = 8,
    PER_LINE = 6,   /* ten bits each in one word of the key */
    TYPICAL = 95,   /* per cent */
    RENEW_PART = 8, /* look at what was learned when this part has been added */
};

/* Why what is free is of no use to a shape, in the order in which the artifact adds up. */
enum reason {
    BOTH_SHORT,
    GPU_SHORT,
    USED,
    CPU_SHORT,
    NO_GPU,
    NO_GPU_CPU_SHORT,
    NO_ACCESS,
    REASONS
};

/* Which typical shapes go with the model of a class. */
struct access {
    bool known;
    bool *shape;
    size_t cap;
};

struct entry {
    uint64_t a, b; /* a is not 0 if in use */
    double fragment;
};

struct gang__fgd {
    bool ready;
    bool forget;      /* it was learned while the worker keeps its mix */
    bool by_memory;   /* some shape asks by memory: nodes of one model may differ */
    uint64_t version; /* of the declared mix; 0: learned, */
    uint64_t learned; /* number of tasks at that time */
    const struct gang__shape_demand **typical;
    double *p; /* of each, in all 1 */
    size_t typicals, typical_cap, p_cap;
    struct gang__shape_demand *own; /* what was learned */
    size_t owns, own_cap;
    struct access of_class[GANG__GPU_CLASSES];
    struct entry cache[1 << CACHE_LOG];
};

void gang__fgd_free(struct gang__fgd *f, const struct gang_mem *mem)
{
    if (!f)
        return;
    for (unsigned i = 0; i < GANG__GPU_CLASSES; i++)
        gang__release(mem, f->of_class[i].shape);
    gang__release(mem, f->typical);
    gang__release(mem, f->p);
    gang__release(mem, f->own);
    gang__release(mem, f);
}

/* ---- the mix ------------------------------------------------------------------------------- */

/* The most frequent shapes; of equals as they come. */
static bool find_typical(struct gang__plan *p, struct gang__fgd *f,
                         const struct gang__shape_demand *shape, size_t shape_count)
{
    const struct gang_mem *mem = &p->c->mem;
    uint64_t all = 0, sum = 0;
    f->ready = f->by_memory = false;
    if (!gang__grow(mem, (void **)&f->typical, &f->typical_cap, shape_count, sizeof(*f->typical)) ||
        !gang__grow(mem, (void **)&f->p, &f->p_cap, shape_count, sizeof(*f->p)))
        return false;
    for (size_t i = 0; i < shape_count; i++) {
        size_t at = i;
        all += shape[i].weight;
        for (; at && f->typical[at - 1]->weight < shape[i].weight; at--)
            f->typical[at] = f->typical[at - 1];
        f->typical[at] = &shape[i];
    }
    for (f->typicals = 0; f->typicals < shape_count && sum < all - all * (100 - TYPICAL) / 100;)
        sum += f->typical[f->typicals++]->weight;
    for (size_t i = 0; i < f->typicals; i++) {
        double part = (double)f->typical[i]->weight / (double)all;
        f->p[i] = part / ((double)sum / (double)all);
        f->by_memory = f->by_memory || f->typical[i]->gpu_memory;
    }
    for (unsigned i = 0; i < GANG__GPU_CLASSES; i++)
        f->of_class[i].known = false;
    for (unsigned i = 0; i < 1 << CACHE_LOG; i++)
        f->cache[i].a = 0;
    f->ready = true;
    return true;
}

static bool learn(struct gang__plan *p, struct gang__fgd *f, struct gang__mixes *m)
{
    return gang__mix_learned(p->c, m, &f->own, &f->own_cap, &f->owns) &&
           find_typical(p, f, f->own, f->owns);
}

bool gang__fgd_copy(struct gang__plan *to, const struct gang__fgd *from)
{
    if (!from || !from->ready || from->version)
        return true;
    struct gang__fgd *f = to->score.fgd = gang__zalloc(&to->c->mem, 1, sizeof(*f));
    if (!f || !gang__mix_own_copy(to->c, from->own, from->owns, &f->own, &f->own_cap))
        return false;
    f->learned = from->learned;
    f->owns = from->owns;
    return find_typical(to, f, f->own, f->owns);
}

void gang__fgd_forget_mix(struct gang__fgd *f)
{
    if (!f || !f->forget)
        return;
    f->ready = f->forget = false;
}

/* The mix as it is now. */
static bool begin(struct gang__plan *p)
{
    if (!p->score.fgd)
        p->score.fgd = gang__zalloc(&p->c->mem, 1, sizeof(*p->score.fgd));
    struct gang__fgd *f = p->score.fgd;
    struct gang__mixes *m = &gang__shared_at(p->c)->mixes; /* it is there: a request was made */
    const struct gang__mix *mix = gang__load(&m->declared);
    uint64_t learned = gang__load_relaxed(&m->learned), version = mix ? mix->version : 0;
    bool done = f != NULL;
    if (done && (!f->ready || f->version != version ||
                 (!mix && !p->score.keeps_mix && learned > f->learned + f->learned / RENEW_PART))) {
        f->version = version;
        f->learned = learned;
        f->forget = !mix && p->score.keeps_mix;
        done = mix ? find_typical(p, f, mix->shape, mix->count) : learn(p, f, m);
    }
    p->out.failed = !done;
    return done;
}

/* Which shapes go with a class of nodes. */
static const bool *access_of(struct gang__plan *p, struct gang__fgd *f, uint8_t class_id)
{
    struct access *a = &f->of_class[class_id];
    const char *model = gang__load(&p->c->commit.gpu_class[class_id])->model;
    if (a->known)
        return a->shape;
    if (!gang__grow(&p->c->mem, (void **)&a->shape, &a->cap, f->typicals, sizeof(*a->shape))) {
        p->out.failed = true;
        return NULL;
    }
    for (size_t i = 0; i < f->typicals; i++)
        a->shape[i] = gang__class_suits(f->typical[i], model);
    a->known = true;
    return a->shape;
}

/* ---- fragmentation ------------------------------------------------------------------------- */

/* A node's state, as far as it counts. */
struct state {
    const struct gang__node_copy *v;
    uint64_t cpu;
    unsigned gpus;
    uint16_t part[GANG_MAX_GPUS]; /* what is free of each device */
};

/* Why a shape cannot use what is free, and (USED) what it can use, when `count` devices with so
 * much free fit. */
static enum reason reason_of(const struct gang__shape_demand *a, bool access, uint64_t cpu,
                             uint32_t count)
{
    bool enough = cpu >= a->cpu;
    if (!a->devices)
        return enough ? NO_GPU : NO_GPU_CPU_SHORT;
    if (!access)
        return NO_ACCESS;
    if (count < a->devices)
        return enough ? GPU_SHORT : BOTH_SHORT;
    return enough ? USED : CPU_SHORT;
}

/* Add what is of no use to a shape: of what is `free` it can use `use`. */
static void add(double *sum, enum reason r, double p, uint32_t free, uint32_t use)
{
    if (r == USED)
        sum[GPU_SHORT] += p * (free - use); /* what is free on devices with too little */
    else
        sum[r] += p * free;
}

static double all_of(const double *sum)
{
    double f = 0;
    for (unsigned r = 0; r < REASONS; r++)
        f += sum[r];
    return f;
}

/* Device by device: of nodes of several models, of many devices, or for shapes by memory. */
static double fragment_of_any(const struct gang__fgd *f, const struct state *s)
{
    const struct gang_gpu_spec *gpu = s->v->type->spec->gpus;
    double sum[REASONS] = {0};
    for (size_t i = 0; i < f->typicals; i++) {
        const struct gang__shape_demand *a = f->typical[i];
        uint32_t count = 0, free = 0, use = 0;
        bool access = false;
        for (unsigned k = 0; k < s->gpus; k++) {
            bool suits = gang__class_suits(a, gpu[k].model);
            uint32_t share = suits ? gang__share_asked(a->share, a->gpu_memory, &gpu[k]) : 0;
            access |= share != 0;
            free += s->part[k];
            if (share && s->part[k] >= share) {
                count++;
                use += s->part[k];
            }
        }
        add(sum, reason_of(a, access, s->cpu, count), f->p[i], free, use);
    }
    return all_of(sum);
}

/* Of one model; parts in descending order. */
static double fragment_of_one(const struct gang__fgd *f, const bool *access, uint64_t cpu,
                              const uint16_t *part)
{
    uint32_t first[CACHED_GPUS + 1] = {0}; /* the first parts together */
    double sum[REASONS] = {0};
    for (unsigned i = 0; i < CACHED_GPUS; i++)
        first[i + 1] = first[i] + part[i];
    for (size_t i = 0; i < f->typicals; i++) {
        const struct gang__shape_demand *a = f->typical[i];
        uint32_t count = 0;
        while (count < CACHED_GPUS && part[count] >= a->share)
            count++;
        add(sum, reason_of(a, access[i], cpu, count), f->p[i], first[CACHED_GPUS], first[count]);
    }
    return all_of(sum);
}

/* F of a state. */
static double fragment(struct gang__plan *p, struct gang__fgd *f, const struct state *s)
{
    uint8_t class_id = s->v->layout.class_id;
    if (s->gpus > CACHED_GPUS || f->by_memory ||
        !gang__load(&p->c->commit.gpu_class[class_id])->model[0])
        return fragment_of_any(f, s);
    uint16_t part[CACHED_GPUS] = {0}; /* a missing device equals one with nothing free */
    for (unsigned i = 0; i < s->gpus; i++) {
        unsigned at = i;
        for (; at && part[at - 1] < s->part[i]; at--)
            part[at] = part[at - 1];
        part[at] = s->part[i];
    }
    uint64_t a = 1, b = (uint64_t)class_id << 32 | s->cpu;
    for (unsigned i = 0; i < PER_LINE; i++)
        a = a << GANG__SHARE_BITS | part[i];
    for (unsigned i = PER_LINE; i < CACHED_GPUS; i++)
        b = b << GANG__SHARE_BITS | part[i];
    uint64_t h = (a ^ (b * UINT64_C(0xc2b2ae3d27d4eb4f))) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    struct entry *e = &f->cache[h >> (64 - CACHE_LOG)];
    if (e->a != a || e->b != b) {
        const bool *access = access_of(p, f, class_id);
        if (!access)
            return 0;
        e->fragment = fragment_of_one(f, access, s->cpu, part);
        e->a = a;
        e->b = b;
    }
    return e->fragment;
}

/* ---- the score ----------------------------------------------------------------------------- */

static int64_t gradient(double before, double after)
{
    return (int64_t)(100 * (1 / (1 + exp(-(before - after) / 1000))));
}

/* After the task took its share of these devices. */
static double fragment_after(struct gang__plan *p, const struct state *before, uint64_t gpus,
                             uint32_t share)
{
    struct state s = *before;
    for (; gpus; gpus &= gpus - 1)
        s.part[__builtin_ctzll(gpus)] -= (uint16_t)share;
    return fragment(p, p->score.fgd, &s);
}

static int64_t score(struct gang__plan *p, const struct gang__group *g,
                     const struct gang__node_copy *v, struct gang__scored_node *candidate)
{
    const uint64_t *now = gang__words_now(p, v);
    struct state s = {.v = v, .cpu = gang__head_cpu(now[GANG__WORD_HEAD]), .gpus = v->layout.gpus};
    for (unsigned i = 0; i < s.gpus; i++)
        s.part[i] = (uint16_t)gang__device_free(now, i);
    double before = fragment(p, p->score.fgd, &s);
    s.cpu -= g->cpu;
    /* A part of one device goes to the best one, unless other rules choose it. */
    bool choose = g->devices == 1 && g->share > 0 && g->share < 1000 && !g->near_nic &&
                  !g->same_devices && g->numa != GANG_NUMA_STRICT;
    if (!choose)
        return gradient(before, fragment_after(p, &s, candidate->gpus, candidate->share));
    int64_t best = GANG__SCORE_OUT;
    bool uniform = gang__load(&p->c->commit.gpu_class[v->layout.class_id])->model[0];
    uint16_t tried[GANG_MAX_GPUS];
    unsigned tries = 0;
    for (uint64_t left = gang__plan_devices(p, g, v); left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left), k = 0;
        if (s.part[i] < g->share)
            continue;
        while (k < tries && tried[k] != s.part[i])
            k++;
        if (k < tries && uniform) /* no better than a lower number */
            continue;
        tried[tries++] = s.part[i];
        int64_t here = gradient(before, fragment_after(p, &s, UINT64_C(1) << i, g->share));
        if (here > best) {
            best = here;
            candidate->wanted = UINT64_C(1) << i;
        }
    }
    return best;
}

const struct gang__policy gang__policy_fgd = {
    .way = GANG__WAY_SCORE, .begin = begin, .score = score};
