/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of domains above the nodes. */
#ifndef GANG__CORE_TOPOLOGY_H
#define GANG__CORE_TOPOLOGY_H

#include "core/nodes/cluster_state.h"

#define GANG__NO_DOMAIN UINT32_MAX

/* The slots of the nodes of a domain. Appended to in place (store slot, then count, both release ->
 * gang__load of readers); replaced (RCU) to grow or to remove. */
struct gang__members {
    gang__a32 count;
    uint32_t cap;
    struct gang__members *next_retired;
    gang__a32 slot[];
};

/* A domain of the topology: the path of values down to its level. Lives as long as the cluster. */
struct gang__domain {
    uint32_t index;
    uint32_t level;
    struct gang__hash_link name_link; /* under the structure mutex */
    uint32_t parent;                  /* nearest wider domain on the path, or GANG__NO_DOMAIN */
    uint32_t rank;                    /* its index in the table of its level */
    /* lowest and highest slot, if it has any; under the structure mutex */
    uint32_t first, last;
    _Atomic(struct gang__members *) members; /* RCU: members_publish() -> gang__load of readers */
    char value[GANG_MAX_NAME + 1];
};

/* A growing array of pointers that readers walk (store entry, then count -> gang__load); replaced
 * (RCU) to grow. Beside the entries of a level lie the spans of the domains, so that a search over
 * all domains reads numbers in a row. */
struct gang__domain_table {
    gang__a32 count;
    uint32_t cap;
    struct gang__domain_table *next_retired;
    /* gang__span() of each domain; in the same block; gang__store -> gang__load of a search */
    gang__a64 *span;
    _Atomic(void *) entry[];
};

/* Where the members of a domain lie among the slots, in one number. */
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
/* Is every slot of the span a member? */
static inline bool gang__span_is_dense(uint64_t span)
{
    return gang__span_count(span) == gang__span_last(span) - gang__span_first(span) + 1;
}

/* Number of a topology level by name, or -1. */
int32_t gang__level_find(const gang_cluster *c, const char *name);

/* The number of domains of a level, and the i-th of them. Inside a read section. */
uint32_t gang__domain_count(gang_cluster *c, uint32_t level);
struct gang__domain *gang__domain_at(gang_cluster *c, uint32_t level, uint32_t i);
/* The domain of an index, as nodes store it. */
struct gang__domain *gang__domain_by_index(gang_cluster *c, uint32_t index);

/* The spans of all domains of a level, in a row. */
struct gang__spans {
    const gang__a64 *span;
    uint32_t count;
};
struct gang__spans gang__domain_spans(gang_cluster *c, uint32_t level);

/* The indexes of the domains of all levels are below this. */
static inline uint32_t gang__domains_end(const gang_cluster *c)
{
    struct gang__domain_table *all = gang__load(&c->nodes.domains);
    return all ? gang__load(&all->count) : 0;
}

/* The value of a domain on its level. Valid while the cluster lives. */
const char *gang__domain_value(gang_cluster *c, uint32_t index);

/* The slots of the nodes of a domain; a slot may have no node any more. Inside a read section. */
struct gang__members *gang__domain_members(struct gang__domain *d);

/* ---- topology.c: under the structure mutex --------------------------------------------------- */

/* Finds or makes the domain {level, value} below `parent` (GANG__NO_DOMAIN: top). */
gang_result gang__domain_intern(gang_cluster *c, uint32_t level, uint32_t parent, const char *value,
                                uint32_t *index);
/* Makes space, so that the following add cannot fail. */
gang_result gang__domain_reserve(gang_cluster *c, uint32_t index);
void gang__domain_add(gang_cluster *c, uint32_t index, uint32_t slot);
/* Undoes the last add, for a slot that had no node since. */
void gang__domain_drop_last(gang_cluster *c, uint32_t index);
/* Reorders the members like another list with the same slots. */
void gang__domain_order(gang_cluster *c, uint32_t index, const struct gang__members *as);
/* Takes a slot out: publishes a new list. If memory is short the old list stays, which is allowed:
 * readers check that the node of a slot belongs to the domain, and a slot may be listed twice. */
void gang__domain_remove(gang_cluster *c, uint32_t index, uint32_t slot);
void gang__topology_free(gang_cluster *c);

#endif
