/* SPDX-License-Identifier: Apache-2.0 */
/* The match cache: one bit a slot says whether its node may match a group, so that a search for a
 * rare label skips all other nodes. The bits are hints that never hide a matching node. The cache
 * is made only after searches rejected many nodes; a request that matches most nodes never has one.
 * Takes 9/64 byte a node and more. Lock-free. Inside a read section. */
#ifndef GANG__PLACE_MATCH_CACHE_H
#define GANG__PLACE_MATCH_CACHE_H

#include "place/fit/fit.h"

/* The match cache of a group for a plan on the cluster as it is; NULL: none, and no reason or no
 * memory to make one. Good as long as the request. */
struct gang__match_cache *gang__match_cache_of(const struct gang__plan *p,
                                               const struct gang__group *g);

/* A search has met `nodes` nodes that do not match. */
void gang__match_cache_missed(const struct gang__group *g, uint64_t nodes);

/* For which group and plan a match cache is read. */
struct gang__match_query {
    struct gang__match_cache *cache; /* of the group */
    const struct gang__plan *p;
    const struct gang__group *g;
};

/* The first slot in [from, end) that is in a bucket of a class and may match, or GANG__NO_SLOT.
 * *bits: this slot and those after it in its word of the index, by their places in the word; also
 * past `end`. */
uint32_t gang__match_cache_next(const struct gang__match_query *query, uint32_t class_id,
                                unsigned bucket, uint32_t from, uint32_t end, uint32_t *bits);

#ifdef GANG_TEST_HOOKS
/* For tests; relaxed, pair with none: a test sets and reads them while no search runs. */
extern _Atomic(bool) gang__match_cache_off;        /* no search uses one */
extern _Atomic(uint64_t) gang__match_cache_misses; /* rejected nodes, of all groups */
#endif

#endif
