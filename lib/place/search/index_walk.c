/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes does the free-capacity index show, in the order of a policy? The walk reads the index
 * of core/commit by class of nodes and bucket of free capacity, 32 slots a word. The bits are
 * one-sided: a node with capacity is never missed, and a bit that proves wrong is repaired. */
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/search/contention.h"
#include "place/search/search_in.h"
#include "place/search/visit.h"

/* Candidates lie far apart in memory: prefetches all of one index word at once. */
static void prefetch_candidates(gang_cluster *c, uint32_t base, uint32_t bits)
{
    struct gang__chunk *chunk = gang__chunk_of(&c->commit, base);
    for (; bits; bits &= bits - 1) {
        uint32_t i = (base + (uint32_t)__builtin_ctz(bits)) % GANG__CHUNK;
        __builtin_prefetch(&chunk->cell[i], 1);
        __builtin_prefetch(&chunk->slot[i]);
    }
}

/* The first candidate from `slot` on and before `end`, or GANG__NO_SLOT. *bits: the candidate and
 * those after it in its index word, by their places in the word. */
static inline uint32_t next_candidate(struct gang__node_search *s, uint32_t class_id,
                                      unsigned bucket, uint32_t slot, uint32_t end, uint32_t *bits)
{
    if (s->match.cache)
        return gang__match_cache_next(&s->match, class_id, bucket, slot, end, bits);
    uint32_t more;
    slot = gang__contention_next(s->p, class_id, bucket, slot, &more);
    *bits = (more << 1 | 1) << slot % GANG__FAN;
    return slot < end ? slot : GANG__NO_SLOT;
}

/* Are all nodes that the walk meets to be offered as they are? */
static inline bool offers_words(const struct gang__node_search *s)
{
    return s->offer_word && s->scope->level == GANG__NO_LEVEL && !s->check_match &&
           s->at_least <= 1;
}

static int64_t offer_word(struct gang__node_search *s, uint32_t class_id, unsigned bucket,
                          uint32_t base, uint32_t bits)
{
    bool ends = false;
    uint32_t wrong = s->offer_word(s->options->user, base, bits, &ends);
    for (; wrong; wrong &= wrong - 1)
        gang__index_repair(&s->p->c->commit, class_id, base + (uint32_t)__builtin_ctz(wrong),
                           bucket);
    if (ends)
        s->want = 0;
    return ends;
}

/* Visits the candidates of one index word. A node that takes nothing stands in the wrong bucket,
 * unless another commit claims the node. */
static int64_t walk_word(struct gang__node_search *s, uint32_t class_id, unsigned bucket,
                         uint32_t base, uint32_t bits)
{
    int64_t done = 0;
    if (offers_words(s))
        return bits && s->want ? offer_word(s, class_id, bucket, base, bits) : 0;
    for (; bits && s->want && !s->p->out.failed; bits &= bits - 1) {
        uint32_t slot = base + (uint32_t)__builtin_ctz(bits);
        int64_t here = gang__search_visit(s, slot);
        done += here;
        if (here == 0 && !s->p->out.met_claimed)
            gang__index_repair(&s->p->c->commit, class_id, slot, bucket);
        s->p->out.met_claimed = false;
    }
    return done;
}

/* Visits the nodes in one bucket of one class, of the slots [slot, end). */
static int64_t walk_slots(struct gang__node_search *s, uint32_t class_id, unsigned bucket,
                          uint32_t slot, uint32_t end)
{
    struct gang__plan *p = s->p;
    uint32_t first_bits = UINT32_MAX << p->start.bit, bits;
    int64_t done = 0;
    while (s->want && !p->out.failed) {
        slot = next_candidate(s, class_id, bucket, slot, end, &bits);
        if (slot == GANG__NO_SLOT)
            break;
        uint32_t base = slot - slot % GANG__FAN;
        if (gang__contention_skips(p, base)) {
            slot = base + GANG__FAN;
            continue;
        }
        if (end - base < GANG__FAN)
            bits &= ((uint32_t)1 << (end - base)) - 1;
        if (s->want > 1)
            prefetch_candidates(p->c, base, bits);
        done += walk_word(s, class_id, bucket, base, bits & first_bits);
        if (bits & ~first_bits)
            done += walk_word(s, class_id, bucket, base, bits & ~first_bits);
        slot = base + GANG__FAN;
    }
    return done;
}

/* The same for all slots of the scope, beginning at a place of the worker's own and wrapping
 * around. */
static int64_t walk_bucket(struct gang__node_search *s, uint32_t class_id, unsigned bucket)
{
    uint32_t start = gang__contention_start(s->p, class_id, bucket);
    if (start <= s->first || start >= s->end)
        return walk_slots(s, class_id, bucket, s->first, s->end);
    int64_t done = walk_slots(s, class_id, bucket, start, s->end);
    return s->want ? done + walk_slots(s, class_id, bucket, s->first, start) : done;
}

/* Most buckets that could hold the group are empty; and wholly free nodes stand in the higher
 * buckets of their class alone. */
static inline bool may_have_nodes(const struct gang__node_search *s, uint32_t k, unsigned bucket)
{
    return !gang__index_empty(&s->p->c->commit, s->class_id[k], bucket) &&
           (!s->whole_nodes || bucket >= s->lowest_whole[k]);
}

static inline int64_t walk_class_bucket(struct gang__node_search *s, uint32_t k, unsigned bucket)
{
    return may_have_nodes(s, k, bucket) ? walk_bucket(s, s->class_id[k], bucket) : 0;
}

/* The buckets whose nodes may hold the group: [first, end). */
static void buckets_of(const struct gang__node_search *s, unsigned *first, unsigned *end)
{
    const struct gang__group *g = s->g;
    if (g->gpu_level) {
        uint8_t level = g->gpu_level;
        if (s->at_least > 1 && g->share == 1000)
            level = gang__bucket_for_gpus((uint64_t)s->at_least * g->devices);
        *first = gang__gpu_row(level);
        *end = GANG__GPU_BUCKETS;
    } else {
        *first = gang__cpu_row(
            s->at_least > 1 ? gang__bucket_for_cpu((uint64_t)s->at_least * g->cpu) : g->cpu_level);
        *end = GANG__INDEX_ROWS;
    }
}

/* The lowest bucket, of those that count for the group, in which a wholly free node of a class
 * stands. */
static uint8_t lowest_whole(const struct gang__node_search *s, uint32_t class_id)
{
    unsigned first, end;
    buckets_of(s, &first, &end);
    uint64_t whole = gang__load(&gang__load(&s->p->c->commit.gpu_class[class_id])->free_node_rows);
    unsigned lowest = s->g->gpu_level ? 0 : (unsigned)GANG__GPU_BUCKETS;
    whole = (whole & ((UINT64_C(1) << end) - 1)) >> lowest << lowest;
    return whole ? (uint8_t)__builtin_ctzll(whole) : (uint8_t)end;
}

/* Classes of nodes that can hold the group, in this tier. */
static inline void find_classes(struct gang__node_search *s)
{
    uint32_t classes = gang__load(&s->p->c->commit.gpu_class_count);
    s->classes = 0;
    for (uint32_t k = s->g->devices ? 1 : 0; k < classes; k++) /* class 0 has no devices */
        if (s->tiers.inner == 1 ? gang__class_matches(s->p->c, s->g, k)
                                : gang__class_in_tier(s->p->c, s->g, k, s->tiers, s->tier))
            s->class_id[s->classes++] = (uint8_t)k;
    for (uint32_t k = 0; s->whole_nodes && k < s->classes; k++)
        s->lowest_whole[k] = lowest_whole(s, s->class_id[k]);
}

/* A bucket of all classes that the search goes over. */
static int64_t walk_classes(struct gang__node_search *s, unsigned bucket)
{
    int64_t done = 0;
    for (uint32_t k = 0; k < s->classes && s->want; k++)
        done += walk_class_bucket(s, k, bucket);
    return done;
}

/* From the fullest bucket that may hold the group. */
static int64_t index_up(struct gang__node_search *s)
{
    unsigned first, end;
    int64_t done = 0;
    buckets_of(s, &first, &end);
    for (unsigned bucket = first; bucket < end && s->want; bucket++)
        done += walk_classes(s, bucket);
    return done;
}

/* From the emptiest bucket. */
static int64_t index_down(struct gang__node_search *s)
{
    unsigned first, end;
    int64_t done = 0;
    buckets_of(s, &first, &end);
    for (unsigned bucket = end; bucket-- > first && s->want;)
        done += walk_classes(s, bucket);
    return done;
}

/* In slot order: the lowest next slot over all buckets and classes. */
static int64_t index_first(struct gang__node_search *s)
{
    unsigned first, end;
    int64_t done = 0;
    buckets_of(s, &first, &end);
    uint32_t slot = s->first;
    while (s->want && !s->p->out.failed) {
        uint32_t next = GANG__NO_SLOT, next_class = 0, bits;
        unsigned next_bucket = 0;
        for (uint32_t k = 0; k < s->classes; k++) {
            for (unsigned bucket = first; bucket < end; bucket++) {
                if (!may_have_nodes(s, k, bucket))
                    continue;
                uint32_t found = next_candidate(s, s->class_id[k], bucket, slot, s->end, &bits);
                if (found < next) {
                    next = found;
                    next_class = s->class_id[k];
                    next_bucket = bucket;
                }
            }
        }
        if (next == GANG__NO_SLOT)
            break;
        int64_t here = gang__search_visit(s, next);
        done += here;
        if (here == 0 && !s->p->out.met_claimed)
            gang__index_repair(&s->p->c->commit, next_class, next, next_bucket);
        slot = next + 1;
    }
    return done;
}

int64_t gang__index_walk(struct gang__node_search *s, enum gang__way way)
{
    find_classes(s);
    switch (way) {
    case GANG__WAY_UP:
    case GANG__WAY_SCORE:
        return index_up(s);
    case GANG__WAY_FIRST:
        return index_first(s);
    case GANG__WAY_DOWN:
        break;
    }
    return index_down(s);
}

/* From the emptiest bucket down, the direction in which commits move a node: so a node that loses
 * capacity meanwhile is not missed (core/commit/commit.c, "A refusal is true"). */
void gang__index_mark(struct gang__node_search *s, uint32_t end, uint64_t *slot_set)
{
    unsigned first, last;
    buckets_of(s, &first, &last);
    find_classes(s);
    for (unsigned bucket = last; bucket-- > first;) {
        for (uint32_t k = 0; k < s->classes; k++) {
            uint32_t slot = s->first, bits;
            while ((slot = next_candidate(s, s->class_id[k], bucket, slot, end, &bits)) !=
                   GANG__NO_SLOT) {
                uint32_t base = slot - slot % GANG__FAN; /* 32 slots: in one word */
                slot_set[base / 64] |= (uint64_t)bits << base % 64;
                slot = base + GANG__FAN;
            }
        }
    }
}

bool gang__index_covers_domain(struct gang__node_search *s)
{
    enum { FEW = 16 };
    const struct gang__domain *d = s->scope->domain;
    struct gang__spans spans = gang__domain_spans(s->p->c, d->level);
    uint64_t span = d->rank < spans.count ? gang__load(&spans.span[d->rank]) : 0;
    if (gang__span_count(span) <= FEW || !gang__span_is_dense(span))
        return false;
    s->first = gang__span_first(span);
    s->end = gang__span_last(span) + 1;
    return true;
}
