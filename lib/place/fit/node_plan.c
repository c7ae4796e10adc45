/* SPDX-License-Identifier: Apache-2.0 */
#include "place/fit/node_plan.h"

#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/affinity.h"
#include "place/fit/device.h"
#include "place/fit/filter.h"

/* ---- begin and end -------------------------------------------------------------------------- */

gang_result gang__plan_begin(struct gang__plan *p, gang_cluster *c, const gang_request *q,
                             bool empty)
{
    p->c = c;
    p->q = q;
    p->empty = empty;
    p->failed = p->adopting = p->settled = p->shy = p->met = p->passed = p->again = false;
    p->even = empty;
    p->unhealthy = !empty && (p->snap || gang__load(&c->nodes.unhealthy));
    p->modes = gang__modes_now(c);
    p->models = SIZE_MAX;
    p->tier_limit = UINT32_MAX;
    p->host = 0;
    p->epoch = gang__load(&c->nodes.epoch);
    p->views = p->words = p->picks = p->binds = p->keys = p->helds = 0;
    const struct gang_mem *mem = &c->mem;
    size_t groups = q->group_count, sets = q->group_set_count;
    if (!gang__grow(mem, (void **)&p->in_group, &p->group_room, groups, sizeof(*p->in_group)) ||
        !gang__grow(mem, (void **)&p->scope_of_group, &p->domain_room, groups,
                    sizeof(struct gang__scope)) ||
        !gang__grow(mem, (void **)&p->scope_of_set, &p->set_room, sets + 1,
                    sizeof(struct gang__scope)))
        return GANG_ENOMEM;
    memset(p->in_group, 0, groups * sizeof(*p->in_group));
    p->within.on = false;
    for (size_t i = 0; i < groups; i++)
        p->scope_of_group[i] = gang__scope_unbound();
    for (size_t i = 0; i < sets; i++)
        p->scope_of_set[i] = gang__scope_unbound();
    p->scope_of_request = gang__scope_unbound();
    p->others.bars = false;
    return q->social || q->exclusive ? gang__peers_begin(p) : GANG_OK;
}

void gang__plan_free(struct gang__plan *p, const struct gang_mem *mem)
{
    gang__release(mem, p->view);
    gang__release(mem, p->word);
    gang__release(mem, p->pick);
    gang__release(mem, p->table);
    gang__release(mem, p->in_group);
    gang__release(mem, p->scope_of_group);
    gang__release(mem, p->scope_of_set);
    gang__release(mem, p->bind);
    gang__release(mem, p->key);
    gang__release(mem, p->held);
    gang__gpu_hunter_free(&p->hunter, mem);
    gang__release(mem, p->seat);
    gang__release(mem, p->slot_set);
    gang__release(mem, p->candidate);
    gang__release(mem, p->host_score);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Keys that agree above `bit`. Recurses at most 64 deep. */
static void sort_below(uint64_t *key, size_t count, unsigned bit)
{
    enum { FEW = 16 };
    while (count > FEW) {
        size_t low = 0, high = count;
        while (low < high) {
            uint64_t k = key[low];
            if (k >> bit & 1) {
                key[low] = key[--high];
                key[high] = k;
            } else {
                low++;
            }
        }
        if (bit-- == 0)
            return;
        sort_below(key + low, count - low, bit);
        count = low;
    }
    for (size_t i = 1; i < count; i++) {
        uint64_t k = key[i];
        size_t at = i;
        for (; at && key[at - 1] > k; at--)
            key[at] = key[at - 1];
        key[at] = k;
    }
}

/* Radix exchange, since qsort() calls malloc() for more than a kilobyte. */
void gang__sort_keys(uint64_t *key, size_t count)
{
    uint64_t differ = 0;
    bool sorted = true;
    for (size_t i = 1; i < count; i++) {
        differ |= key[i - 1] ^ key[i];
        sorted &= key[i - 1] <= key[i];
    }
    if (!sorted)
        sort_below(key, count, 63 - (unsigned)__builtin_clzll(differ));
}

/* ---- views ----------------------------------------------------------------------------------- */

static uint32_t place_in_table(const struct gang__plan *p, uint32_t slot)
{
    uint32_t mask = (uint32_t)p->table_room - 1;
    uint32_t at = (slot * UINT32_C(2654435761)) & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t e = p->table[at];
        if (e == 0 || e > p->views || p->view[e - 1].table_at != at || p->view[e - 1].slot == slot)
            return at;
    }
}

static bool is_view(const struct gang__plan *p, uint32_t at)
{
    uint32_t e = p->table[at];
    return e != 0 && e <= p->views && p->view[e - 1].table_at == at;
}

/* Make the table large enough to stay at most half full. */
static bool table_grow(struct gang__plan *p, const struct gang_mem *mem, size_t views)
{
    size_t room = p->table_room ? p->table_room : 64;
    while (room < 2 * views)
        room *= 2;
    if (p->table && room == p->table_room)
        return true;
    uint32_t *bigger = gang__zalloc(mem, room, sizeof(*bigger));
    if (!bigger)
        return false;
    gang__release(mem, p->table);
    p->table = bigger;
    p->table_room = room;
    size_t there = p->views;
    p->views = 0;
    for (size_t i = 0; i < there; i++) {
        uint32_t at = place_in_table(p, p->view[i].slot);
        p->view[i].table_at = at;
        p->table[at] = (uint32_t)i + 1;
        p->views = i + 1;
    }
    return true;
}

bool gang__plan_reserve(struct gang__plan *p, const struct gang_mem *mem, size_t tasks,
                        size_t words)
{
    p->views = 0;
    return table_grow(p, mem, tasks + 1) &&
           gang__grow(mem, (void **)&p->view, &p->view_room, tasks + 1, sizeof(*p->view)) &&
           gang__grow(mem, (void **)&p->word, &p->word_room, 3 * tasks * words, sizeof(*p->word)) &&
           gang__grow(mem, (void **)&p->pick, &p->pick_room, tasks, sizeof(*p->pick));
}

static uint64_t read_unhealthy(const struct gang__plan *p, const struct gang__view *v, bool help)
{
    struct gang__layout l = v->layout;
    if (!v->node)
        return 0;
    if (p->snap)
        return gang__health_mask(l, gang__snapshot_words(p->snap, v->slot) + gang__word_count(l));
    return gang__health_read(p->c, v->slot, l, help || p->settled);
}

/* The words of a node, or of the pool, as the plan is to see them. Returns true if they were read
 * from a claimed cell. */
static bool words_read(const struct gang__plan *p, const struct gang__view *v, uint64_t *was,
                       bool help)
{
    if (p->empty) {
        memset(was, 0, v->words * sizeof(*was));
        if (v->node) {
            /* A node that is removed but still held does not come back. */
            uint64_t head;
            if (p->snap)
                head = gang__snapshot_words(p->snap, v->slot)[GANG__WORD_HEAD];
            else
                gang__cell_read(&p->c->commit, v->slot, &head, 1);
            bool gone = gang__head_state(head) == GANG__STATE_GONE;
            memcpy(was, v->shape->capacity, v->words * sizeof(*was));
            was[GANG__WORD_HEAD] =
                gang__head(gone ? GANG__STATE_GONE : GANG__STATE_UP, was[GANG__WORD_HEAD]);
        } else {
            uint32_t kinds = p->snap ? p->snap->kinds : gang__load(&p->c->nodes.kind_count);
            for (uint32_t k = GANG_KIND_SITE; k < kinds; k++)
                was[gang__pool_word((int32_t)k)] =
                    p->snap ? p->snap->pool[k] : gang__load(&p->c->nodes.kind[k].capacity);
        }
    } else if (p->snap) {
        memcpy(was, gang__snapshot_words(p->snap, v->slot), v->words * sizeof(*was));
    } else if (help || p->settled) {
        gang__cell_read(&p->c->commit, v->slot, was, v->words);
    } else {
        return gang__cell_peek(&p->c->commit, v->slot, was, v->words);
    }
    return false;
}

static void view_read(struct gang__plan *p, struct gang__view *v, bool help)
{
    uint64_t *was = gang__view_was(p, v), *now = gang__view_now(p, v);
    v->claimed = words_read(p, v, was, help);
    for (unsigned i = 0; i < v->words; i++)
        now[i] = was[i];
    v->unhealthy = p->unhealthy ? read_unhealthy(p, v, help) : 0;
}

struct gang__view *gang__plan_seen(const struct gang__plan *p, uint32_t slot)
{
    if (!p->views)
        return NULL;
    uint32_t at = place_in_table(p, slot);
    return is_view(p, at) ? &p->view[p->table[at] - 1] : NULL;
}

struct gang__view *gang__plan_view(struct gang__plan *p, uint32_t slot)
{
    const struct gang_mem *mem = &p->c->mem;
    if (2 * (p->views + 1) > p->table_room && !table_grow(p, mem, p->views + 1)) {
        p->failed = true;
        return NULL;
    }
    uint32_t at = place_in_table(p, slot);
    if (is_view(p, at))
        return &p->view[p->table[at] - 1];
    struct gang__node *node = slot == GANG__POOL ? NULL : gang__plan_node(p, slot);
    if (slot != GANG__POOL && !node)
        return NULL;
    const struct gang__node_type *shape = NULL;
    if (node)
        shape =
            p->snap ? node->type : gang__node_type_at(gang__chunk_of(&p->c->commit, slot), slot);
    unsigned words = shape ? gang__word_count(shape->layout) : (unsigned)GANG__POOL_WORDS;
    if (!gang__grow(mem, (void **)&p->view, &p->view_room, p->views + 1, sizeof(*p->view)) ||
        !gang__grow(mem, (void **)&p->word, &p->word_room, p->words + 2 * words,
                    sizeof(*p->word))) {
        p->failed = true;
        return NULL;
    }
    struct gang__view *v = &p->view[p->views];
    v->slot = slot;
    v->words = words;
    v->node = node;
    v->shape = shape;
    memset(&v->layout, 0, sizeof(v->layout));
    if (shape)
        v->layout = shape->layout;
    v->at = p->words;
    v->table_at = at;
    v->used = 0;
    v->own = false;
    if (!node)
        p->pool_view = p->views;
    p->words += 2 * words;
    p->views++;
    p->table[at] = (uint32_t)p->views;
    gang__hook(GANG__STEP_FIND);
    view_read(p, v, false);
    return v;
}

struct gang__crowd gang__plan_members(struct gang__plan *p, struct gang__domain *d)
{
    struct gang__crowd m = {0, NULL, NULL};
    if (!p->snap) {
        m.live = gang__domain_members(d);
        m.count = gang__load(&m.live->count);
    } else {
        m.then = gang__snapshot_members(p->snap, d, &m.count);
        p->failed = p->failed || !m.then;
    }
    return m;
}

/* Read a view again that was read from a claimed cell, if nothing is planned on it. Returns false
 * if there is nothing new to be learned. */
static bool refresh(struct gang__plan *p, struct gang__view *v)
{
    size_t bytes = v->words * sizeof(uint64_t);
    bool planned = v->used || memcmp(gang__view_was(p, v), gang__view_now(p, v), bytes) != 0;
    if (p->empty || !v->claimed || planned)
        return false;
    view_read(p, v, true);
    return true;
}

/* ---- other jobs ------------------------------------------------------------------------------ */

bool gang__plan_admits(struct gang__plan *p, uint32_t slot, struct gang__misfit *misfit)
{
    const struct gang__node *node = gang__plan_node(p, slot);
    misfit->kind = -1;
    misfit->why = GANG_CONSTRAINT_STATE;
    if (!node)
        return false;
    misfit->why = GANG_CONSTRAINT_AFFINITY;
    if (!gang__peers_admit(p, node))
        return false;
    if (!p->q->exclusive)
        return true;
    misfit->why = GANG_CONSTRAINT_EXCLUSIVE;
    const struct gang__view *v = gang__plan_view(p, slot);
    return v && gang__exclusive_admits(v, gang__view_was(p, v));
}

/* ---- one task on one node -------------------------------------------------------------------- */

/* Milli-GPUs a task of the group takes of a device: its share, or its memory's. 0: unknown. */
static uint32_t share_on(const struct gang__group *g, const struct gang_gpu_spec *gpu)
{
    return gang__share_asked(g->share, g->gpu_memory, gpu);
}

static uint32_t share_free(const uint64_t *now, unsigned i)
{
    return gang__share(now[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                       i % GANG__SHARES_PER_WORD);
}

/* Of the devices in `among` that can hold the group's part of one: the fullest; or the emptiest, if
 * a task takes several (p->even). -1: none can. */
static int best_device(const struct gang__plan *p, const struct gang__group *g,
                       const struct gang__view *v, const uint64_t *now, uint64_t among)
{
    int best = -1;
    uint32_t best_free = 0;
    for (; among; among &= among - 1) {
        unsigned i = (unsigned)__builtin_ctzll(among);
        uint32_t need = share_on(g, &v->shape->spec->gpus[i]), free = share_free(now, i);
        if (need == 0 || free < need)
            continue;
        if (best < 0 || (p->even && g->devices > 1 ? free > best_free : free < best_free)) {
            best = (int)i;
            best_free = free;
        }
    }
    return best;
}

uint64_t gang__usable_devices(const struct gang__group *g, const struct gang__view *v)
{
    return gang__devices_of_models(g, v->shape, SIZE_MAX) & ~v->unhealthy;
}

uint64_t gang__plan_devices(const struct gang__plan *p, const struct gang__group *g,
                            const struct gang__view *v)
{
    uint64_t among = gang__devices_of_models(g, v->shape, p->models) & ~v->unhealthy;
    return p->within.on ? among & p->within.gpus : among;
}

/* Parts of devices for a task. All of them give the same share: devices that differ in memory are
 * not mixed in one task, so try the sizes one after the other. */
static uint64_t pick_shares(const struct gang__plan *p, const struct gang__group *g,
                            const struct gang__view *v, const uint64_t *now, uint64_t among,
                            uint32_t *share)
{
    const struct gang_gpu_spec *gpus = v->shape->spec->gpus;
    int best;
    while ((best = best_device(p, g, v, now, among)) >= 0) {
        *share = share_on(g, &gpus[best]);
        uint64_t chosen = UINT64_C(1) << best, alike = among;
        for (uint64_t left = g->share ? 0 : among; left; left &= left - 1)
            if (share_on(g, &gpus[__builtin_ctzll(left)]) != *share)
                alike &= ~(left & (~left + 1));
        uint32_t count = 1;
        for (; count < g->devices; count++) {
            best = best_device(p, g, v, now, alike & ~chosen);
            if (best < 0)
                break;
            chosen |= UINT64_C(1) << best;
        }
        if (count == g->devices)
            return chosen;
        among &= ~alike;
    }
    return 0;
}

static uint64_t lowest_bits(uint64_t from, uint32_t count)
{
    uint64_t chosen = 0;
    for (uint32_t i = 0; i < count; i++, from &= from - 1)
        chosen |= from & (~from + 1);
    return chosen;
}

/* The whole devices that any task may take, in any domain and of any model: a good choice leaves
 * these useful. */
static uint64_t takeable_devices(const struct gang__view *v, uint64_t whole)
{
    return whole & v->shape->gpus & ~v->unhealthy;
}

/* Devices for a task, of those in `among`. For slices the other free and allowed ones matter,
 * too. */
static uint64_t pick_among(struct gang__plan *p, const struct gang__group *g,
                           const struct gang__view *v, const uint64_t *now, uint64_t among,
                           uint64_t allowed, uint32_t *share)
{
    if (g->share != 1000)
        return pick_shares(p, g, v, now, among, share);
    uint64_t free = gang__whole_devices(v->layout, now);
    among &= free;
    *share = 1000;
    if (g->profile)
        return gang__choose_instances(g, v->shape, free & v->shape->slices & allowed, among);
    uint32_t count = gang__popcount(among);
    if (count <= g->devices)
        return count == g->devices ? among : 0;
    /* On an imagined cluster it only matters that there are so many. */
    if (v->shape->gpus_alike || p->empty)
        return lowest_bits(among, g->devices);
    return gang__choose_gpus(p, v->shape, g, takeable_devices(v, free), among);
}

/* Of ranked models the first so many that have enough: then the least liked device is as well liked
 * as can be. */
static uint64_t pick_ranked(struct gang__plan *p, const struct gang__group *g,
                            const struct gang__view *v, const uint64_t *now, uint64_t all,
                            uint64_t allowed, uint32_t *share)
{
    uint64_t before = 0;
    /* Parts of several devices: whatever finds room whenever there is any. */
    bool any = p->even && g->devices > 1 && g->share != 1000;
    for (size_t models = 1; !any && models < g->model_count && before != all; models++) {
        uint64_t among = gang__devices_of_models(g, v->shape, models) & all;
        uint64_t gpus = among != before ? pick_among(p, g, v, now, among, allowed, share) : 0;
        if (gpus)
            return gpus;
        before = among;
    }
    return before == all ? 0 : pick_among(p, g, v, now, all, allowed, share);
}

/* Of ranked models the first so many that these devices are of; else all. */
static size_t liked_models(const struct gang__group *g, const struct gang__view *v, uint64_t gpus)
{
    size_t models = g->models_ranked ? 1 : SIZE_MAX;
    while (models < g->model_count && (gpus & ~gang__devices_of_models(g, v->shape, models)))
        models++;
    return models;
}

/* Exactly these, if they are free: of a profile, instances of it. */
static uint64_t pick_wanted(const struct gang__plan *p, const struct gang__group *g,
                            const struct gang__view *v, const uint64_t *now, uint64_t wanted,
                            uint64_t all, uint32_t *share)
{
    *share = 1000;
    if (g->profile)
        return wanted & ~(gang__whole_devices(v->layout, now) & v->shape->slices) ? 0 : wanted;
    return pick_shares(p, g, v, now, wanted & (p->adopting ? v->shape->gpus : all), share);
}

/* Devices for a task, of those allowed; `wanted`: exactly these. */
static uint64_t pick_devices(struct gang__plan *p, const struct gang__group *g,
                             const struct gang__view *v, const uint64_t *now, uint64_t wanted,
                             uint64_t allowed, uint32_t *share)
{
    uint64_t all = allowed & (p->within.on ? p->within.gpus : UINT64_MAX);
    if (g->model_count || g->profile)
        all &= gang__devices_of_models(g, v->shape, p->models);
    else
        all &= v->shape->gpus;
    if (wanted)
        return pick_wanted(p, g, v, now, wanted, all, share);
    return g->models_ranked ? pick_ranked(p, g, v, now, all, allowed, share)
                            : pick_among(p, g, v, now, all, allowed, share);
}

/* Must a task's cores lie in a part of the node? Those of a task with GPUs need not: its GPUs
 * do. */
static bool binds_cores(const struct gang__plan *p, const struct gang__group *g)
{
    return p->within.on && p->within.cores && g->devices == 0 && g->cpu;
}

static bool counts_fit(const struct gang__group *g, const struct gang__view *v, const uint64_t *now,
                       struct gang__misfit *misfit)
{
    misfit->why = GANG_CONSTRAINT_KIND;
    misfit->kind = GANG_KIND_CPU;
    if (!gang__op_fits(GANG__OP_HEAD, g->cpu, now[GANG__WORD_HEAD]))
        return false;
    misfit->kind = GANG_KIND_MEMORY;
    if (!gang__op_fits(GANG__OP_TAKE, g->pages, now[GANG__WORD_MEMORY]))
        return false;
    for (size_t i = 0; i < g->node_need_count; i++) {
        unsigned word = v->shape->kind_word[g->node_needs[i].kind];
        misfit->kind = g->node_needs[i].kind;
        if (!word || !gang__op_fits(GANG__OP_TAKE, (uint64_t)g->node_needs[i].amount, now[word]))
            return false;
    }
    return true;
}

/* The pool's view, and whether a task's cluster-wide kinds fit it. */
static bool pool_fits(struct gang__plan *p, const struct gang__group *g,
                      struct gang__misfit *misfit)
{
    if (!g->pool_need_count)
        return true;
    struct gang__view *pool = gang__plan_view(p, GANG__POOL);
    if (!pool)
        return false;
    bool again;
    do {
        const uint64_t *now = gang__view_now(p, pool);
        bool fits = true;
        for (size_t i = 0; i < g->pool_need_count && fits; i++) {
            misfit->why = GANG_CONSTRAINT_POOL;
            misfit->kind = g->pool_needs[i].kind;
            fits = gang__op_fits(GANG__OP_TAKE, (uint64_t)g->pool_needs[i].amount,
                                 now[gang__pool_word(g->pool_needs[i].kind)]);
        }
        if (fits)
            return true;
        again = refresh(p, pool);
    } while (again);
    return false;
}

/* Take (or give back) what a pick says. */
static void pick_apply(struct gang__plan *p, const struct gang__pick *pick, bool give)
{
    const struct gang__group *g = &p->q->group[pick->group];
    struct gang__view *v = &p->view[pick->view];
    uint64_t *now = gang__view_now(p, v);
    v->used = give ? v->used - 1 : v->used + 1;
    now[GANG__WORD_HEAD] =
        gang__op_apply(GANG__OP_HEAD, g->cpu | (give ? GANG__HEAD_GIVE : 0), now[GANG__WORD_HEAD]);
    now[GANG__WORD_MEMORY] =
        give ? now[GANG__WORD_MEMORY] + g->pages : now[GANG__WORD_MEMORY] - g->pages;
    uint64_t *shares = now + GANG__WORD_SHARES;
    for (uint64_t left = pick->gpus; left; left >>= GANG__SHARES_PER_WORD, shares++) {
        uint64_t part = gang__shares_of((uint32_t)left & 15, pick->share);
        *shares = give ? *shares + part : *shares - part;
    }
    for (unsigned i = 0; pick->cores && i < v->layout.core_words; i++)
        now[gang__first_core(v->layout) + i] ^= p->word[pick->core_at + i];
    for (size_t i = 0; i < g->node_need_count; i++) {
        uint64_t *word = &now[v->shape->kind_word[g->node_needs[i].kind]];
        uint64_t amount = (uint64_t)g->node_needs[i].amount;
        *word = give ? *word + amount : *word - amount;
    }
    if (!g->pool_need_count)
        return;
    uint64_t *pool = gang__view_now(p, &p->view[p->pool_view]);
    for (size_t i = 0; i < g->pool_need_count; i++) {
        uint64_t *word = &pool[gang__pool_word(g->pool_needs[i].kind)];
        uint64_t amount = (uint64_t)g->pool_needs[i].amount;
        *word = give ? *word + amount : *word - amount;
    }
}

uint32_t gang__plan_short(struct gang__plan *p, uint32_t group, uint32_t slot, bool when_empty)
{
    const struct gang__group *g = &p->q->group[group];
    struct gang__view *v = gang__plan_view(p, slot);
    if (!v)
        return 0;
    const uint64_t *now = when_empty ? v->shape->capacity : gang__view_now(p, v);
    uint32_t kinds = 0, share;
    if (gang__head_cpu(now[GANG__WORD_HEAD]) < g->cpu)
        kinds |= 1u << GANG_KIND_CPU;
    if (now[GANG__WORD_MEMORY] < g->pages)
        kinds |= 1u << GANG_KIND_MEMORY;
    uint64_t allowed = when_empty ? UINT64_MAX : ~v->unhealthy;
    if (g->devices && !pick_devices(p, g, v, now, 0, allowed, &share))
        kinds |= 1u << GANG_KIND_GPU;
    for (size_t i = 0; i < g->node_need_count; i++) {
        unsigned word = v->shape->kind_word[g->node_needs[i].kind];
        if (!word || now[word] < (uint64_t)g->node_needs[i].amount)
            kinds |= 1u << g->node_needs[i].kind;
    }
    return kinds;
}

/* Why no devices were found. */
static struct gang__misfit no_devices(struct gang__plan *p, const struct gang__group *g,
                                      const struct gang__view *v)
{
    uint32_t share;
    if (v->unhealthy && pick_devices(p, g, v, gang__view_now(p, v), 0, UINT64_MAX, &share))
        return (struct gang__misfit){GANG_CONSTRAINT_DEVICE, -1};
    if (g->profile)
        return (struct gang__misfit){GANG_CONSTRAINT_PROFILE, -1};
    return (struct gang__misfit){GANG_CONSTRAINT_KIND, GANG_KIND_GPU};
}

/* ---- in one NUMA domain ---------------------------------------------------------------------- */

/* Devices of a task and the domain they would be in, and how good that is. */
struct corner {
    uint32_t domain;
    uint32_t share;
    uint32_t cores_free;
    size_t models; /* liked_models() */
    struct gang__gpu_set set;
};

/* Has a domain the memory for a task? */
static bool domain_holds(const struct gang__group *g, const struct gang__view *v, uint32_t domain)
{
    const struct gang_node_spec *spec = v->shape->spec;
    uint64_t memory = spec->numa_count ? (uint64_t)spec->numas[domain].memory_bytes : 0;
    return memory == 0 || g->pages <= memory / GANG_PAGE_BYTES;
}

/* Prefers better-ranked models, then better links, nearer network cards, less breakage. For shares:
 * the fullest devices, or the emptiest (as in best_device()). For instances: the domain with the
 * fewest free slices. Then the domain with fewer free cores. */
static bool is_better(const struct corner *a, const struct corner *b)
{
    if (a->models != b->models)
        return a->models < b->models;
    if (gang__gpu_set_wins(&a->set, &b->set))
        return true;
    return !gang__gpu_set_wins(&b->set, &a->set) && a->cores_free < b->cores_free;
}

static struct gang__gpu_set worth_of(struct gang__plan *p, const struct gang__group *g,
                                     const struct gang__view *v, uint32_t domain, uint64_t gpus)
{
    const uint64_t *now = gang__view_now(p, v);
    const struct gang__node_type *shape = v->shape;
    struct gang__gpu_wish wish = {shape->serial,
                                  shape->weight,
                                  gpus,
                                  takeable_devices(v, gang__whole_devices(v->layout, now)),
                                  g->near_nic ? shape->nic_gpus : 0,
                                  shape->layout.gpus,
                                  g->devices};
    struct gang__gpu_set set = {gpus, 0, 0, 0};
    if (g->profile) {
        uint64_t slices = gang__whole_devices(v->layout, now) & shape->slices & ~v->unhealthy;
        set.broken = (uint64_t)gang__fresh_parents(shape, slices, gpus) << 8 |
                     gang__popcount(slices & shape->numa_gpus[domain]);
        return set;
    }
    if (g->share == 1000)
        return gang__gpu_set_of(&wish, gpus);
    for (uint64_t left = gpus; left; left &= left - 1) {
        uint32_t free = share_free(now, (unsigned)__builtin_ctzll(left));
        set.broken += p->even && g->devices > 1 ? 1000 - free : free;
    }
    return set;
}

/* The domain that a task goes to. Its tasks alike each use up one domain's share of things, so
 * which one is taken first makes no difference to how many fit. */
static bool find_corner(struct gang__plan *p, const struct gang__group *g,
                        const struct gang__view *v, uint64_t wanted, const uint64_t *free,
                        uint32_t cores, struct corner *best)
{
    const uint64_t *now = gang__view_now(p, v);
    bool found = false;
    for (uint32_t d = 0; d < v->shape->numas && !(found && p->empty); d++) {
        struct corner here = {d, 0, 0, 0, {0, 0, 0, 0}};
        here.cores_free = cores ? gang__cores_in(v->shape, d, free) : 0;
        if (here.cores_free < cores || !domain_holds(g, v, d))
            continue;
        if (g->devices) {
            uint64_t gpus = pick_devices(p, g, v, now, wanted,
                                         v->shape->numa_gpus[d] & ~v->unhealthy, &here.share);
            if (!gpus)
                continue;
            here.models = liked_models(g, v, gpus);
            here.set = worth_of(p, g, v, d, gpus);
        }
        if (!found || is_better(&here, best))
            *best = here;
        found = true;
    }
    return found;
}

/* A task that takes its GPUs, its named cores (of the `free` ones) and its memory of one domain. */
static bool fits_in_corner(struct gang__plan *p, const struct gang__group *g,
                           const struct gang__view *v, uint64_t wanted, const uint64_t *free,
                           struct gang__pick *pick, uint64_t *cores, struct gang__misfit *misfit)
{
    const uint64_t *now = gang__view_now(p, v);
    struct corner best = {0, 0, 0, 0, {0, 0, 0, 0}};
    if (find_corner(p, g, v, wanted, free, pick->cores, &best)) {
        pick->gpus = best.set.gpus;
        pick->share = best.share;
        if (pick->cores)
            gang__choose_cores_in(v->shape, free, best.domain, pick->cores, cores);
        return true;
    }
    *misfit = no_devices(p, g, v);
    if (g->devices && !pick_devices(p, g, v, now, wanted, ~v->unhealthy, &pick->share))
        return false;
    misfit->why = GANG_CONSTRAINT_KIND;
    misfit->kind = GANG_KIND_CPU;
    if (pick->cores && !gang__choose_cores(v->shape, free, 0, pick->cores, GANG_NUMA_NONE, cores))
        return false;
    misfit->why = GANG_CONSTRAINT_NUMA;
    misfit->kind = -1;
    return false;
}

/* ---- one task -------------------------------------------------------------------------------- */

/* Devices that a task may have, free or not, of models as well liked as the ones it has. */
static uint64_t others_as_good(const struct gang__plan *p, const struct gang__group *g,
                               const struct gang__view *v, uint64_t gpus)
{
    size_t models = liked_models(g, v, gpus);
    uint64_t among = gang__devices_of_models(g, v->shape, models) & ~v->unhealthy;
    return p->within.on ? among & p->within.gpus : among;
}

/* The cores are not beside the GPUs: other GPUs, as good, may have cores beside them. */
static void move_together(struct gang__plan *p, const struct gang__group *g,
                          const struct gang__view *v, struct gang__pick *pick, uint64_t *cores)
{
    const uint64_t *now = gang__view_now(p, v), *free = now + gang__first_core(v->layout);
    uint64_t whole = takeable_devices(v, gang__whole_devices(v->layout, now));
    uint64_t among = whole & others_as_good(p, g, v, pick->gpus);
    uint64_t gpus = gang__choose_gpus_together(p, v->shape, g, whole, among, free, pick->cores);
    if (!gpus)
        return;
    pick->gpus = gpus;
    gang__choose_cores(v->shape, free, gpus, pick->cores, GANG_NUMA_PREFER, cores);
}

/* Does the distance of its cores from its GPUs matter to the task? Instances of a profile stay
 * where they cost least. */
static bool may_move(const struct gang__plan *p, const struct gang__group *g,
                     const struct gang__view *v, uint64_t wanted)
{
    return g->share == 1000 && g->devices <= v->shape->max_numa_gpus && !v->shape->flat &&
           g->numa != GANG_NUMA_NONE && !g->profile && !wanted && !p->empty;
}

/* What a task of the group would take of the view, without taking it. */
static bool task_fits(struct gang__plan *p, const struct gang__group *g, const struct gang__view *v,
                      uint64_t wanted, struct gang__pick *pick, uint64_t *cores,
                      struct gang__misfit *misfit)
{
    const uint64_t *now = gang__view_now(p, v), *free = now + gang__first_core(v->layout);
    uint64_t inside[GANG__MAX_WORDS];
    if (!counts_fit(g, v, now, misfit))
        return false;
    pick->gpus = 0;
    pick->share = 0;
    pick->cores = v->layout.core_words ? g->cores : 0;
    if (binds_cores(p, g)) {
        misfit->why = GANG_CONSTRAINT_SAME; /* millicores belong to no part of the node */
        misfit->kind = -1;
        if (!pick->cores)
            return false;
        misfit->why = GANG_CONSTRAINT_KIND;
        for (unsigned i = 0; i < v->layout.core_words; i++)
            inside[i] = free[i] & p->within.cores[i];
        free = inside;
    }
    if (g->numa == GANG_NUMA_STRICT && !p->adopting)
        return fits_in_corner(p, g, v, wanted, free, pick, cores, misfit) && !p->failed;
    if (g->devices) {
        pick->gpus = pick_devices(p, g, v, now, wanted, ~v->unhealthy, &pick->share);
        if (!pick->gpus) {
            *misfit = no_devices(p, g, v);
            return false;
        }
    }
    if (pick->cores) {
        misfit->kind = GANG_KIND_CPU;
        if (!gang__choose_cores(v->shape, free, pick->gpus, pick->cores, g->numa, cores))
            return false;
        if (may_move(p, g, v, wanted) && !gang__is_together(v->shape, pick->gpus, cores))
            move_together(p, g, v, pick, cores);
    }
    return !p->failed;
}

/* Note a task that fits, and take what it takes. */
static bool add_pick(struct gang__plan *p, struct gang__pick *pick, const uint64_t *cores)
{
    const struct gang_mem *mem = &p->c->mem;
    const struct gang__view *v = &p->view[pick->view];
    size_t core_words = pick->cores ? v->layout.core_words : 0;
    pick->core_at = gang__plan_take(p, core_words);
    if (!gang__grow(mem, (void **)&p->pick, &p->pick_room, p->picks + 1, sizeof(*p->pick)))
        p->failed = true;
    if (p->failed)
        return false;
    for (size_t i = 0; i < core_words; i++)
        p->word[pick->core_at + i] = cores[i];
    p->pick[p->picks++] = *pick;
    p->in_group[pick->group]++;
    pick_apply(p, pick, false);
    return true;
}

/* Where on a view one task would go; the pool is not asked. */
static bool find_on(struct gang__plan *p, const struct gang__group *g, struct gang__view *v,
                    uint64_t gpus, struct gang__pick *pick, uint64_t *cores,
                    struct gang__misfit *misfit)
{
    for (;;) {
        uint32_t state = gang__head_state(gang__view_now(p, v)[GANG__WORD_HEAD]);
        misfit->why = GANG_CONSTRAINT_STATE;
        misfit->kind = -1;
        bool usable = p->adopting ? state != GANG__STATE_GONE : state == GANG__STATE_UP;
        if (usable && task_fits(p, g, v, gpus, pick, cores, misfit))
            return true;
        if (!refresh(p, v))
            return false;
    }
}

bool gang__plan_probe(struct gang__plan *p, uint32_t group, uint32_t slot, struct gang__seat *seat)
{
    uint64_t cores[GANG__MAX_WORDS];
    struct gang__pick pick;
    struct gang__misfit misfit;
    if (p->others.bars && !gang__plan_admits(p, slot, &misfit))
        return false;
    struct gang__view *v = gang__plan_view(p, slot);
    if (!v || !find_on(p, &p->q->group[group], v, 0, &pick, cores, &misfit))
        return false;
    seat->slot = slot;
    seat->wanted = 0;
    seat->gpus = pick.gpus;
    seat->share = pick.share;
    return true;
}

/* One task; the pool, if it is asked for, has room. */
static bool plan_on(struct gang__plan *p, uint32_t group, struct gang__view *v, uint64_t gpus,
                    struct gang__misfit *misfit)
{
    uint64_t cores[GANG__MAX_WORDS];
    struct gang__pick pick = {(uint32_t)(v - p->view), group, 0, 0, 0, 0};
    if (p->shy && v->claimed && !v->used) {
        p->met = p->passed = true;
        return false;
    }
    return find_on(p, &p->q->group[group], v, gpus, &pick, cores, misfit) &&
           add_pick(p, &pick, cores);
}

int64_t gang__plan_tasks(struct gang__plan *p, uint32_t group, uint32_t slot, int64_t most,
                         uint64_t gpus, struct gang__misfit *misfit)
{
    const struct gang__group *g = &p->q->group[group];
    int64_t done = 0;
    if (p->others.bars && !gang__plan_admits(p, slot, misfit))
        return 0;
    /* The pool's view first: making it may move the others. */
    while (done < most && pool_fits(p, g, misfit)) {
        struct gang__view *v = gang__plan_view(p, slot);
        misfit->why = GANG_CONSTRAINT_STATE;
        misfit->kind = -1;
        if (!v)
            break;
        do {
            if (!plan_on(p, group, v, gpus, misfit))
                return done;
            done++;
            /* A node that was filled is the usual end of it. */
            misfit->why = GANG_CONSTRAINT_KIND;
            misfit->kind = GANG_KIND_CPU;
            if (gang__head_cpu(gang__view_now(p, v)[GANG__WORD_HEAD]) < g->cpu)
                return done;
        } while (!g->pool_need_count && done < most);
    }
    return done;
}

bool gang__plan_task(struct gang__plan *p, uint32_t group, uint32_t slot, uint64_t gpus,
                     struct gang__misfit *misfit)
{
    return gang__plan_tasks(p, group, slot, 1, gpus, misfit) == 1;
}

size_t gang__plan_take(struct gang__plan *p, size_t count)
{
    if (!gang__grow(&p->c->mem, (void **)&p->word, &p->word_room, p->words + count,
                    sizeof(*p->word))) {
        p->failed = true;
        return SIZE_MAX;
    }
    size_t at = p->words;
    p->words += count;
    return at;
}

void gang__plan_rollback(struct gang__plan *p, size_t picks)
{
    while (p->picks > picks) {
        const struct gang__pick *pick = &p->pick[--p->picks];
        pick_apply(p, pick, true);
        p->in_group[pick->group]--;
        size_t cores = pick->cores ? p->view[pick->view].layout.core_words : 0;
        if (cores && pick->core_at + cores == p->words) /* so that a long search does not pile up */
            p->words = pick->core_at;
    }
}

/* ---- how many tasks, at most ----------------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Tasks that find their devices, counting each device for itself. */
static int64_t device_room(const struct gang__plan *p, const struct gang__group *g,
                           const struct gang__view *v, const uint64_t *now, uint64_t domain)
{
    uint64_t among = gang__devices_of_models(g, v->shape, p->models) & ~v->unhealthy & domain;
    if (p->within.on)
        among &= p->within.gpus;
    if (g->share == 1000) {
        among &= gang__whole_devices(v->layout, now);
        uint32_t count =
            g->profile ? gang__most_instances(g, v->shape, among) : gang__popcount(among);
        return count / g->devices;
    }
    int64_t parts = 0;
    for (; among; among &= among - 1) {
        unsigned i = (unsigned)__builtin_ctzll(among);
        uint32_t need = share_on(g, &v->shape->spec->gpus[i]);
        parts += need ? share_free(now, i) / need : 0;
    }
    return parts / g->devices;
}

static int64_t core_room(const struct gang__plan *p, const struct gang__group *g,
                         const struct gang__view *v, const uint64_t *now)
{
    const uint64_t *free = now + gang__first_core(v->layout);
    bool bound = binds_cores(p, g);
    if (!v->layout.core_words || g->cpu % 1000)
        return bound ? 0 : INT64_MAX;
    int64_t cores = 0;
    for (unsigned i = 0; i < v->layout.core_words; i++)
        cores += gang__popcount(bound ? free[i] & p->within.cores[i] : free[i]);
    return cores / (int64_t)(g->cpu / 1000);
}

/* Tasks that lie in one NUMA domain each, over all domains. */
static int64_t corner_room(const struct gang__plan *p, const struct gang__group *g,
                           const struct gang__view *v, const uint64_t *now)
{
    const uint64_t *free = now + gang__first_core(v->layout);
    uint32_t cores = v->layout.core_words ? g->cores : 0;
    int64_t room = 0;
    if (!g->devices && !cores)
        return INT64_MAX;
    for (uint32_t d = 0; d < v->shape->numas; d++) {
        int64_t here = cores ? gang__cores_in(v->shape, d, free) / cores : INT64_MAX;
        if (here && g->devices)
            here = least(here, device_room(p, g, v, now, v->shape->numa_gpus[d]));
        room += domain_holds(g, v, d) ? here : 0;
    }
    return room;
}

static bool admits_view(struct gang__plan *p, const struct gang__view *v, const uint64_t *was)
{
    return gang__peers_admit(p, v->node) && (!p->q->exclusive || gang__exclusive_admits(v, was));
}

int64_t gang__plan_room(struct gang__plan *p, uint32_t group, uint32_t slot)
{
    const struct gang__group *g = &p->q->group[group];
    uint64_t words[GANG__MAX_WORDS];
    struct gang__misfit misfit;
    struct gang__view seen;
    const uint64_t *now = words;
    const struct gang__view *v = gang__plan_seen(p, slot);
    if (v) {
        now = gang__view_now(p, v);
    } else {
        seen.slot = slot;
        seen.node = gang__plan_node(p, slot);
        if (!seen.node)
            return 0;
        seen.shape = seen.node->type;
        seen.layout = seen.shape->layout;
        seen.words = gang__word_count(seen.layout);
        seen.used = 0;
        seen.own = false;
        words_read(p, &seen, words, false);
        seen.unhealthy = p->unhealthy ? read_unhealthy(p, &seen, false) : 0;
        v = &seen;
    }
    if (gang__head_state(now[GANG__WORD_HEAD]) != GANG__STATE_UP ||
        !gang__node_matches(p, g, v->node, &misfit) || !gang__node_within_limit(p, g, v->node) ||
        (p->others.bars && !admits_view(p, v, v == &seen ? words : gang__view_was(p, v))))
        return 0;
    int64_t room = g->bounded ? gang__plan_allowance(p, group, v->node) : INT64_MAX;
    if (g->cpu && room)
        room = least(room, least((int64_t)(gang__head_cpu(now[GANG__WORD_HEAD]) / g->cpu),
                                 core_room(p, g, v, now)));
    if (g->pages)
        room = least(room, (int64_t)(now[GANG__WORD_MEMORY] / g->pages));
    for (size_t i = 0; i < g->node_need_count; i++) {
        unsigned word = v->shape->kind_word[g->node_needs[i].kind];
        room = least(room, word ? (int64_t)now[word] / g->node_needs[i].amount : 0);
    }
    if (g->numa == GANG_NUMA_STRICT)
        room = least(room, corner_room(p, g, v, now));
    return g->devices ? least(room, device_room(p, g, v, now, UINT64_MAX)) : room;
}

uint64_t *gang__keys_push(struct gang__plan *p, size_t count, size_t *at)
{
    *at = p->keys;
    if (!gang__grow(&p->c->mem, (void **)&p->key, &p->key_room, p->keys + count, sizeof(*p->key))) {
        p->failed = true;
        return NULL;
    }
    p->keys += count;
    return p->key + *at;
}
