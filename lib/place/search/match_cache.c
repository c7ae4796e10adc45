/* SPDX-License-Identifier: Apache-2.0 */
/* The match cache of a group: a part for each chunk of slots; bit i says that the node of slot i
 * may match. Parts are filled one by one, from the descriptions of nodes and the modes of
 * partitions.
 *
 * A part is good if its stamp equals the present number of changes of its chunk (core/nodes):
 *
 *   fill   n = changes, even; modes are those of the plan; stamp is older than n
 *          CAS stamp -> FILLING; for each word: look at the nodes, store it; stamp = n + 1
 *   use    stamp == changes + 1; load words
 * Stamps only rise, since a filling begins only at an older one: a reader that saw a part good at n
 * and loads a word finds the filling of n or a younger one. So it knows the nodes and modes as of n
 * or later, like a search that reads each node itself.
 * Never hides: a node comes to match, by a description or by modes, and `changes` rises. A reader
 * of the new number accepts no part filled at an older one, and a filling at the new number reads
 * the nodes after it. Bits of nodes that are gone or no longer match cost one extra look.
 * A refusal is true (core/commit/commit.c): `changes` rises before the stamp of the commit that
 * brings a node up, or that of a change of labels. A thread that reads the stamp after that
 * and then searches also reads the new `changes`.
 * With the modes it is the other way round, they are their own stamp: so `changes` is odd from
 * before they change until after it, and no part is good meanwhile.
 * Lock-free: no thread waits for FILLING. A thread that stops there costs all others this part.
 *
 * The price. Reading all nodes of a chunk takes about as long as rejecting as many in searches. A
 * part is filled only after that many rejections, and each rejection pays for one filling. So for
 * any labels, and for any rate of change, the cache at most doubles the cost of a search. */
#include "place/search/match_cache.h"

#include "core/commit/commit.h"
#include "place/fit/fit.h"

enum {
#ifdef GANG_TEST_HOOKS
    MANY = 1, /* the clusters of tests are small */
    PRICE = 1
#else
    MANY = 16, /* nodes met by one search; fewer cost too little to remember */
    PRICE = GANG__CHUNK
#endif
};

#define FILLING UINT64_MAX /* above all other stamps */

enum { WORDS = GANG__CHUNK / GANG__FAN };

/* `top` and `word`: stored before the stamp -> gang__load of a thread that found the stamp good.
 * The stamp: CAS and gang__store of the thread that fills -> gang__load of a search. */
struct part {
    gang__a64 stamp; /* 0: never filled; or FILLING; or changes + 1, odd */
    gang__a32 top;   /* which words have a bit */
    gang__a32 word[WORDS];
};

/* Outgrown caches are kept until the end, since other threads may read them; each cache is half as
 * large again as the one before. */
struct cache {
    struct gang__match_cache base; /* links the outgrown ones; freed with the request */
    uint32_t chunks;
    struct part part[];
};

#ifdef GANG_TEST_HOOKS
_Atomic(bool) gang__match_cache_off;
_Atomic(uint64_t) gang__match_cache_misses;
#endif

/* ---- making ---------------------------------------------------------------------------------- */

static struct cache *make(const struct gang__plan *p, const struct gang__group *g,
                          struct cache *now, uint32_t chunks)
{
    const struct gang_mem *mem = &p->c->mem;
    chunks += chunks / 2;
    if (chunks > GANG__CHUNKS)
        chunks = GANG__CHUNKS;
    struct cache *made = gang__zalloc(mem, 1, sizeof(*made) + chunks * sizeof(struct part));
    if (!made)
        return now;
    made->base.older = now ? &now->base : NULL;
    made->chunks = chunks;
    struct gang__match_cache *older = made->base.older;
    if (!gang__publish(&g->match_cache->now, &older, &made->base)) {
        gang__release(mem, made);
        return (struct cache *)older;
    }
    return made;
}

struct gang__match_cache *gang__match_cache_of(const struct gang__plan *p,
                                               const struct gang__group *g)
{
#ifdef GANG_TEST_HOOKS
    if (gang__load_relaxed(&gang__match_cache_off))
        return NULL;
#endif
    if (p->snap || p->mode.empty) /* the index does not count */
        return NULL;
    struct cache *now = (struct cache *)gang__load(&g->match_cache->now);
    uint32_t chunks = (gang__load(&p->c->commit.slot_end) + GANG__CHUNK - 1) / GANG__CHUNK;
    if ((now && now->chunks >= chunks) || gang__load_relaxed(&g->match_cache->missed) < PRICE)
        return now ? &now->base : NULL;
    now = make(p, g, now, chunks);
    return now ? &now->base : NULL;
}

void gang__match_cache_missed(const struct gang__group *g, uint64_t nodes)
{
#ifdef GANG_TEST_HOOKS
    gang__add_relaxed(&gang__match_cache_misses, nodes);
#endif
    if (nodes >= MANY)
        gang__add_relaxed(&g->match_cache->missed, nodes);
}

/* ---- filling --------------------------------------------------------------------------------- */

static bool pay(const struct gang__group *g)
{
    uint64_t missed = gang__load_relaxed(&g->match_cache->missed);
    return missed >= PRICE && gang__cas(&g->match_cache->missed, missed, missed - PRICE);
}

/* Which of the 32 nodes from `base` match. */
static uint32_t matching(const struct gang__plan *p, const struct gang__group *g, uint32_t base)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < GANG__FAN; i++) {
        struct gang__misfit misfit;
        const struct gang__node *node = gang__node_at(p->c, base + i);
        if (node && gang__node_matches(p, g, node, &misfit))
            bits |= UINT32_C(1) << i;
    }
    return bits;
}

/* Fill a part for a stamp that was just read. False: not now, or not by this plan. */
static bool fill(struct part *part, const struct gang__match_query *query, uint32_t chunk,
                 uint64_t stamp)
{
    const struct gang__plan *p = query->p;
    uint64_t old = gang__load(&part->stamp);
    bool steady = stamp & 1;
    if (!steady || old >= stamp || gang__modes_now(p->c) != p->tier.modes || !pay(query->g) ||
        !gang__cas(&part->stamp, old, FILLING))
        return false;
    uint32_t top = 0;
    for (uint32_t i = 0; i < WORDS; i++) {
        gang__hook(GANG__STEP_FIND);
        uint32_t bits = matching(p, query->g, chunk * GANG__CHUNK + i * GANG__FAN);
        gang__store(&part->word[i], bits);
        top |= (uint32_t)(bits != 0) << i;
    }
    gang__store(&part->top, top);
    gang__store(&part->stamp, stamp);
    return true;
}

/* ---- using ----------------------------------------------------------------------------------- */

/* The part of a chunk if it is good at this moment, see above. NULL: anything may match. */
static inline const struct part *part_of(const struct gang__match_query *query, uint32_t chunk)
{
    struct cache *cache = (struct cache *)query->cache;
    if (chunk >= cache->chunks)
        return NULL;
    struct part *part = &cache->part[chunk];
    uint64_t stamp = gang__load_seq(&query->p->c->nodes.changes[chunk]) + 1;
    return gang__load(&part->stamp) == stamp || fill(part, query, chunk, stamp) ? part : NULL;
}

/* In one chunk, from its slot `from` on. */
static inline uint32_t next_in(const struct part *part, gang_cluster *c, uint32_t class_id,
                               unsigned bucket, uint32_t from, uint32_t *bits)
{
    uint32_t chunk = from / GANG__CHUNK, first = from % GANG__CHUNK / GANG__FAN;
    uint32_t words = part ? gang__load(&part->top) : UINT32_MAX;
    words &= UINT32_MAX << first;
    if (words)
        words &= gang__index_top(&c->commit, class_id, bucket, chunk);
    for (; words; words &= words - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(words), base = chunk * GANG__CHUNK + i * GANG__FAN;
        uint32_t here = part ? gang__load(&part->word[i]) : UINT32_MAX;
        if (i == first)
            here &= UINT32_MAX << from % GANG__FAN;
        if (here)
            here &= gang__index_word(&c->commit, class_id, bucket, base);
        *bits = here;
        if (here)
            return base + (uint32_t)__builtin_ctz(here);
    }
    return GANG__NO_SLOT;
}

uint32_t gang__match_cache_next(const struct gang__match_query *query, uint32_t class_id,
                                unsigned bucket, uint32_t from, uint32_t end, uint32_t *bits)
{
    gang_cluster *c = query->p->c;
    while (from < end) {
        uint32_t chunk = gang__index_chunk(&c->commit, class_id, bucket, from / GANG__CHUNK);
        if (chunk == GANG__CHUNKS)
            return GANG__NO_SLOT;
        if (from < chunk * GANG__CHUNK)
            from = chunk * GANG__CHUNK;
        const struct part *part = part_of(query, chunk);
        uint32_t slot = next_in(part, c, class_id, bucket, from, bits);
        if (slot != GANG__NO_SLOT)
            return slot < end ? slot : GANG__NO_SLOT;
        from = (chunk + 1) * GANG__CHUNK;
    }
    return GANG__NO_SLOT;
}
