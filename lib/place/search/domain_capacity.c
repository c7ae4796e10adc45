/* SPDX-License-Identifier: Apache-2.0 */
#include "place/search/domain_capacity.h"

#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/search/search.h"

/* ---- by the index ---------------------------------------------------------------------------- */

/* Tasks of the group that a node in this bucket can take at most. */
static uint32_t tasks_in_bucket(const struct gang__group *g, unsigned bucket)
{
    enum { FIRST_CPU = 250, UNKNOWN = GANG_MAX_GPUS * 1000 };
    if (g->gpu_level) {
        bool last = bucket + 1 == GANG__GPU_BUCKETS;
        if (g->share == 1000)
            return (last ? GANG_MAX_GPUS : bucket + 1u - GANG__GPU_WHOLE) / g->devices;
        /* The bucket tells the largest part of a device, not how many there are. */
        return g->share ? GANG_MAX_GPUS * (1000 / g->share) / g->devices : UNKNOWN;
    }
    unsigned level = bucket - GANG__GPU_BUCKETS + 1;
    if (g->cpu == 0 || level == GANG__CPU_BUCKETS)
        return UNKNOWN;
    uint64_t below = level < 2 ? 1 : (uint64_t)FIRST_CPU << (level - 2);
    return (uint32_t)((below - 1) / g->cpu);
}

void gang__capacity_query_init(struct gang__capacity_query *e, struct gang__plan *p, uint32_t group,
                               int64_t nodes)
{
    const struct gang__group *g = &p->request->group[group];
    e->p = p;
    e->group = group;
    e->pairs = 0;
    /* The index shows as full what an exclusive allocation has left of its nodes. */
    bool own = p->request->exclusive && p->others.owns > 0;
    e->by_index = !p->mode.empty && !p->snap && nodes > GANG__FEW_NODES && !own;
    if (!e->by_index)
        return;
    uint32_t classes = gang__load(&p->c->commit.gpu_class_count);
    unsigned first = g->gpu_level ? gang__gpu_row(g->gpu_level) : gang__cpu_row(g->cpu_level);
    unsigned end = g->gpu_level ? (unsigned)GANG__GPU_BUCKETS : (unsigned)GANG__INDEX_ROWS;
    bool met[GANG__GPU_CLASSES] = {false};
    /* From the emptiest down, as nodes go that are taken from: of a class that has nodes in one
     * bucket, those below, too, empty as they may be now. */
    for (unsigned bucket = end; bucket-- > first;) {
        for (uint32_t k = 0; k < classes; k++) {
            if (!gang__class_within_limit(p, g, k) ||
                (!met[k] && gang__index_empty(&p->c->commit, k, bucket)))
                continue;
            met[k] = true;
            if (e->pairs == GANG__GPU_CLASSES) {
                e->by_index = false; /* with this many sorts, reading the nodes is no slower */
                return;
            }
            e->pair[e->pairs].class_id = (uint8_t)k;
            e->pair[e->pairs].bucket = (uint8_t)bucket;
            e->each[bucket] = tasks_in_bucket(g, bucket);
            e->pairs++;
        }
    }
}

/* The words of the index that the pairs look at, in one chunk: of each pair whose class has nodes
 * there the first word of its bucket, and tasks a node. In the order of the pairs. */
struct rows {
    uint32_t chunk, count;
    struct {
        const gang__a64 *word;
        int64_t each;
    } row[GANG__GPU_CLASSES];
};

static void turn_to(const struct gang__capacity_query *e, struct rows *l, uint32_t chunk)
{
    const struct gang__chunk *c = gang__load(&e->p->c->commit.chunk[chunk]);
    l->chunk = chunk;
    l->count = 0;
    for (uint32_t k = 0; k < e->pairs && c; k++) {
        const struct gang__leaf *leaf = gang__load(&c->leaf[e->pair[k].class_id]);
        if (!leaf)
            continue;
        l->row[l->count].word = &leaf->bits[0][e->pair[k].bucket];
        l->row[l->count++].each = e->each[e->pair[k].bucket];
    }
}

/* The slots of [first, end) among the 64 from `base`, which is below `end`. */
static uint64_t slots_of_pair(uint32_t base, uint32_t first, uint32_t end)
{
    uint64_t mask = UINT64_MAX;
    if (base < first)
        mask <<= first - base;
    if (end - base < 2 * GANG__FAN)
        mask &= ((uint64_t)1 << (end - base)) - 1;
    return mask;
}

enum { WORDS = GANG__CHUNK / GANG__FAN }; /* index words of a chunk */

/* The slots of one index word that stand in the k-th row, and those of the next word. */
static inline uint64_t slots_in_pair(const struct rows *l, uint32_t k, uint32_t word, bool both)
{
    const gang__a64 *at = l->row[k].word + (size_t)word * GANG__INDEX_ROWS;
    uint64_t bits = (uint32_t)gang__load_seq(at);
    return both ? bits | gang__load_seq(at + GANG__INDEX_ROWS) << GANG__FAN : bits;
}

/* Tasks that the nodes of one index word can take at most, and of the next one: `mask` says which
 * nodes. */
static inline int64_t tasks_of_pair(const struct rows *l, uint32_t word, bool both, uint64_t mask)
{
    int64_t tasks = 0;
    for (uint32_t k = 0; k < l->count; k++) {
        uint64_t bits = slots_in_pair(l, k, word, both) & mask;
        if (bits)
            tasks += l->row[k].each * gang__popcount(bits);
    }
    return tasks;
}

/* Is there capacity for `want` in a row of slots, as the index has it? Two index words at a time,
 * but not of two chunks. */
static bool long_row_has(const struct gang__capacity_query *e, struct rows *l, uint32_t first,
                         uint32_t end, int64_t want)
{
    int64_t tasks = 0;
    for (uint32_t base = first - first % GANG__FAN, words; base < end && tasks < want;
         base += words * GANG__FAN) {
        const uint32_t word = base % GANG__CHUNK / GANG__FAN;
        words = word + 1 < WORDS ? 2 : 1;
        if (base / GANG__CHUNK != l->chunk)
            turn_to(e, l, base / GANG__CHUNK);
        tasks += tasks_of_pair(l, word, words == 2, slots_of_pair(base, first, end));
    }
    return tasks >= want;
}

/* The same; most racks lie in two index words. */
static inline bool row_has(const struct gang__capacity_query *e, struct rows *l, uint32_t first,
                           uint32_t end, int64_t want)
{
    const uint32_t word = first % GANG__CHUNK / GANG__FAN, at = first % GANG__FAN,
                   count = end - first;
    if (at + count >= 2 * GANG__FAN || word + 1 == WORDS || first / GANG__CHUNK != l->chunk)
        return long_row_has(e, l, first, end, want);
    return tasks_of_pair(l, word, true, (((uint64_t)1 << count) - 1) << at) >= want;
}

uint32_t gang__domain_capacity_next(struct gang__capacity_query *e, const struct gang__scope *scope,
                                    uint32_t level, uint32_t from, uint32_t end, int64_t want)
{
    const bool live = !e->p->snap, by_index = e->by_index;
    struct rows l;
    struct gang__spans spans = gang__domain_spans(e->p->c, level);
    uint32_t least = 0, most = UINT32_MAX;
    if (scope->domain && live) { /* in which nodes may have lain elsewhere */
        const struct gang__domain *d = scope->domain;
        uint64_t outer = gang__load(&gang__domain_spans(e->p->c, d->level).span[d->rank]);
        least = gang__span_first(outer);
        most = gang__span_last(outer);
    }
    l.chunk = UINT32_MAX;
    l.count = 0;
    for (uint32_t i = from; i < end && i < spans.count; i++) {
        uint64_t span = gang__load(&spans.span[i]);
        uint32_t first = gang__span_first(span), last = gang__span_last(span);
        if (live && (!span || last < least || first > most))
            continue;
        if (!by_index || !gang__span_is_dense(span) || row_has(e, &l, first, last + 1, want))
            return i;
    }
    return end;
}

/* Slots [first, end) as they stand in the index words, two words at a time. */
static void count_row(struct gang__capacity_query *e, uint32_t first, uint32_t end,
                      struct gang__capacity *capacity)
{
    struct rows l;
    l.chunk = UINT32_MAX;
    l.count = 0;
    for (uint32_t base = first - first % GANG__FAN, words; base < end; base += words * GANG__FAN) {
        const uint32_t word = base % GANG__CHUNK / GANG__FAN;
        const uint64_t mask = slots_of_pair(base, first, end);
        words = word + 1 < WORDS ? 2 : 1;
        if (base / GANG__CHUNK != l.chunk)
            turn_to(e, &l, base / GANG__CHUNK);
        for (uint32_t k = 0; k < l.count; k++) {
            uint64_t bits = slots_in_pair(&l, k, word, words == 2) & mask;
            if (bits)
                gang__capacity_add(capacity, l.row[k].each, gang__popcount(bits));
        }
    }
}

static void count_slot(struct gang__capacity_query *e, uint32_t slot,
                       struct gang__capacity *capacity)
{
    for (uint32_t i = 0; i < e->pairs; i++) {
        uint32_t at = slot % GANG__FAN;
        if (gang__index_word(&e->p->c->commit, e->pair[i].class_id, e->pair[i].bucket, slot - at) >>
                at &
            1) {
            gang__capacity_add(capacity, e->each[e->pair[i].bucket], 1);
            return;
        }
    }
}

/* ---- both ways ------------------------------------------------------------------------------- */

static void count_members(struct gang__capacity_query *e, struct gang__domain *d,
                          struct gang__capacity *capacity)
{
    struct gang__node_list m = gang__plan_members(e->p, d);
    for (uint32_t i = 0; i < m.count; i++) {
        uint32_t slot = gang__node_list_slot(&m, i);
        const struct gang__node *node = gang__plan_node(e->p, slot);
        if (!node || node->domain[d->level] != d->index)
            continue;
        if (e->by_index)
            count_slot(e, slot, capacity);
        else
            gang__capacity_add(capacity, gang__plan_capacity(e->p, e->group, slot), 1);
    }
}

void gang__domain_capacity(struct gang__capacity_query *e, uint32_t level, uint32_t i,
                           struct gang__capacity *capacity)
{
    memset(capacity, 0, sizeof(*capacity));
    if (e->by_index) {
        struct gang__spans spans = gang__domain_spans(e->p->c, level);
        uint64_t span = i < spans.count ? gang__load(&spans.span[i]) : 0;
        if (gang__span_is_dense(span)) {
            count_row(e, gang__span_first(span), gang__span_last(span) + 1, capacity);
            return;
        }
    }
    count_members(e, gang__domain_at(e->p->c, level, i), capacity);
}

int64_t gang__capacity_nodes(const struct gang__capacity *capacity, int64_t want)
{
    int64_t nodes = 0;
    for (int64_t each = capacity->most; each > 0 && want > 0; each--) {
        int64_t need = (want + each - 1) / each;
        int64_t take = need < capacity->nodes[each] ? need : capacity->nodes[each];
        nodes += take;
        want -= take * each;
    }
    return want > 0 ? INT64_MAX : nodes;
}

int64_t gang__scope_nodes(struct gang__plan *p, const struct gang__scope *scope)
{
    if (scope->level >= GANG__LEVEL_NODE)
        return 1;
    if (scope->domain)
        return gang__plan_members(p, scope->domain).count;
    return p->snap ? p->snap->count : (int64_t)gang__load_relaxed(&p->c->nodes.node_count);
}

void gang__scope_capacity(struct gang__capacity_query *e, const struct gang__scope *scope,
                          struct gang__capacity *capacity)
{
    if (scope->domain) {
        gang__domain_capacity(e, scope->domain->level, scope->domain->rank, capacity);
        return;
    }
    memset(capacity, 0, sizeof(*capacity));
    uint32_t first = 1, end = gang__plan_end(e->p);
    if (scope->level >= GANG__LEVEL_NODE) {
        first = scope->slot;
        end = first + 1;
    }
    if (e->by_index) {
        count_row(e, first, end, capacity);
        return;
    }
    for (uint32_t slot = first; slot < end; slot++)
        gang__capacity_add(capacity, gang__plan_capacity(e->p, e->group, slot), 1);
}
