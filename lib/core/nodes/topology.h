/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of domains above the nodes. */
#ifndef GANG__CORE_TOPOLOGY_H
#define GANG__CORE_TOPOLOGY_H

#include "core/nodes/state.h"

#define GANG__NO_DOMAIN UINT32_MAX

/* Slots of the nodes of a domain. Appended to in place; replaced (RCU) to grow or to remove. */
struct gang__members {
    gang__a32 count;
    uint32_t cap;
    struct gang__members *next_retired;
    gang__a32 slot[];
};

/* A place in the topology: path of values down to its level. Lives as long as the cluster. */
struct gang__domain {
    uint32_t index;
    uint32_t level;
    struct gang__hash_link name_link; /* under the structure mutex */
    uint32_t parent;                  /* nearest wider domain on the path, or GANG__NO_DOMAIN */
    uint32_t rank;                    /* its place in the table of its level */
    uint32_t first, last;             /* slots, if it has any; under the structure mutex */
    _Atomic(struct gang__members *) members;
    char value[GANG_MAX_NAME + 1];
};

/* A growing array of pointers that readers walk; replaced (RCU) to grow. Beside each entry of a level's
 * table stands the span of the domain, so that a search over all of them reads numbers in a row. */
struct gang__domain_table {
    gang__a32 count;
    uint32_t cap;
    struct gang__domain_table *next_retired;
    gang__a64 *span; /* gang__span() of each; in the same block */
    _Atomic(void *) entry[];
};

/* Where the members of a domain lie among the slots. */
enum { GANG__SPAN_BITS = 20 };
static inline uint64_t gang__span(uint32_t first, uint32_t last, uint32_t count)
{
    return first | (uint64_t)last << GANG__SPAN_BITS | (uint64_t)count << 2 * GANG__SPAN_BITS;
}
static inline uint32_t gang__span_first(uint64_t span)
{
    return (uint32_t)span & ((1u << GANG__SPAN_BITS) - 1);
}
static inline uint32_t gang__span_last(uint64_t span)
{
    return (uint32_t)(span >> GANG__SPAN_BITS) & ((1u << GANG__SPAN_BITS) - 1);
}
static inline uint32_t gang__span_count(uint64_t span)
{
    return (uint32_t)(span >> 2 * GANG__SPAN_BITS);
}
/* Is every slot between them a member? */
static inline bool gang__span_is_dense(uint64_t span)
{
    return gang__span_count(span) == gang__span_last(span) - gang__span_first(span) + 1;
}

/* Number of a topology level by name, or -1. */
int32_t gang__level_find(const gang_cluster *c, const char *name);

/* Domains of a level: how many, and the i-th. Inside a read section. */
uint32_t gang__domain_count(gang_cluster *c, uint32_t level);
struct gang__domain *gang__domain_at(gang_cluster *c, uint32_t level, uint32_t i);
/* That of an index, as nodes keep it. */
struct gang__domain *gang__domain_with(gang_cluster *c, uint32_t index);

/* Their spans beside each other, and how many there are. */
struct gang__spans {
    const gang__a64 *span;
    uint32_t count;
};
struct gang__spans gang__domain_spans(gang_cluster *c, uint32_t level);

/* Domains of all levels: their indexes are below it. */
static inline uint32_t gang__domains_end(const gang_cluster *c)
{
    struct gang__domain_table *all = gang__load(&c->nodes.domains);
    return all ? gang__load(&all->count) : 0;
}

/* What a domain is called on its level. Valid while the cluster lives. */
const char *gang__domain_value(gang_cluster *c, uint32_t index);

/* Slots of the nodes of a domain; a slot may hold no node any more. Inside a read section. */
struct gang__members *gang__domain_members(struct gang__domain *d);

/* ---- topology.c: under the structure mutex ------------------------------------------------ */

/* The domain {level, value} below `parent` (GANG__NO_DOMAIN: top), made if it is not there. */
gang_result gang__domain_intern(gang_cluster *c, uint32_t level, uint32_t parent, const char *value,
                                uint32_t *index);
/* Make room so that the following add cannot fail. */
gang_result gang__domain_reserve(gang_cluster *c, uint32_t index);
void gang__domain_add(gang_cluster *c, uint32_t index, uint32_t slot);
/* Undo the last add, of a slot that never had a node since. */
void gang__domain_drop_last(gang_cluster *c, uint32_t index);
/* The members in another order: that of a list of as many, with the same slots. */
void gang__domain_order(gang_cluster *c, uint32_t index, const struct gang__members *as);
/* Take a slot out: publishes a new list. Out of memory the old one stays, which is allowed: readers
 * check that a slot's node belongs to the domain, and bear one that is listed twice. */
void gang__domain_remove(gang_cluster *c, uint32_t index, uint32_t slot);
void gang__topology_free(gang_cluster *c);

#endif
