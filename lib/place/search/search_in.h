/* SPDX-License-Identifier: Apache-2.0 */
/* One search under way, shared by the files of this folder that carry it out:
 *
 *   search.c      tiers, rounds, scopes: which walk over which nodes
 *   index_walk.c  over the free-capacity index, bucket by bucket
 *   list_walk.c   over listed nodes, sorted in the same order
 *   score_walk.c  over all nodes that can take a task, by score
 *   visit.h       what each walk does with a node */
#ifndef GANG__PLACE_SEARCH_IN_H
#define GANG__PLACE_SEARCH_IN_H

#include "place/fit/fit.h"
#include "place/search/match_cache.h"
#include "place/search/policy.h"
#include "place/search/search.h"

struct gang__node_search {
    struct gang__plan *p;
    uint32_t classes; /* of nodes that can hold the group, in this tier */
    uint8_t class_id[GANG__GPU_CLASSES];
    bool whole_nodes; /* nodes have to be wholly free: */
    uint8_t
        lowest_whole[GANG__GPU_CLASSES]; /* the lowest bucket in which one of the class can be */
    uint32_t group;
    const struct gang__group *g;
    const struct gang__scope *scope;
    struct gang__tiers tiers;
    uint32_t tier;       /* that is searched now */
    bool check_match;    /* each node must be checked against the filters of the group, */
    bool check_tier;     /* and for its tier */
    uint32_t first, end; /* slots of the scope, if they are consecutive */
    int64_t want;        /* tasks still wanted; 0 ends the search */
    int64_t per_visit;   /* maximum number of tasks planned in one visit */
    int64_t nodes_left;  /* maximum number of further nodes with tasks */
    int64_t at_least;    /* see struct gang__search_options */
    const struct gang__search_options *options;
    gang__offer_word *offer_word;   /* of gang__search_words(); else NULL */
    struct gang__match_query match; /* of the group; match.cache NULL: none */
    uint64_t mismatches;            /* nodes that were visited and do not match */
    size_t key_at, key_count;       /* of list_walk.c: all nodes in their order, in plan.keys */
    bool listed;
};

/* Does the index show the nodes that the plan reads? Not on a snapshot, nor on an imagined empty
 * cluster. */
static inline bool gang__search_by_index(const struct gang__node_search *s)
{
    return !s->p->mode.empty && !s->p->snap;
}

/* ---- The walks: each visits nodes while tasks are wanted; returns how many were planned ---- */

/* Over the index: the slots [s->first, s->end), in the order of a policy. Offered nodes of a policy
 * that scores come in the order of packing. */
int64_t gang__index_walk(struct gang__node_search *s, enum gang__way way);

/* Sets the bits of the slots below `end` that the index shows as candidates. */
void gang__index_mark(struct gang__node_search *s, uint32_t end, uint64_t *slot_set);

/* Are the nodes of the scope's domain found faster by the index than by looking at each? Then sets
 * s->first and s->end. */
bool gang__index_covers_domain(struct gang__node_search *s);

/* Without the index: over all nodes, and over those of the scope's domain, in the order in which
 * the walk over the index would visit them. */
int64_t gang__list_walk_all(struct gang__node_search *s, int32_t policy);
int64_t gang__list_walk_domain(struct gang__node_search *s, int32_t policy);

/* One task after the other, each on the node of the scope that scores best. */
int64_t gang__score_walk(struct gang__node_search *s);

#endif
