/* SPDX-License-Identifier: Apache-2.0 */
/* Finding nodes for the tasks of one group, in the order of a policy. */
#ifndef GANG__PLACE_SEARCH_H
#define GANG__PLACE_SEARCH_H

#include "place/fit/fit.h"
#include "place/search/contention.h"
#include "place/search/domain_capacity.h"
#include "place/search/policy.h"
#include "place/search/single.h"

/* How to search the nodes of a scope. */
struct gang__search_options {
    int32_t policy;    /* as below */
    int64_t per_node;  /* maximum number of tasks a node */
    int64_t max_nodes; /* maximum number of nodes with tasks */
    int64_t at_least;  /* only nodes that may hold this number of tasks */
    /* Instead of planning tasks: called with each node that may hold them; true ends the search. */
    bool (*offer)(void *user, uint32_t slot);
    void *user;
};

/* Plan up to `want` more tasks of a group on the nodes of a scope. Returns how many were planned.
 *   policy  GANG_POLICY_*, or GANG__ORDER_PROOF: from the emptiest node down, each filled as far as
 *           it goes; finds capacity whenever there is any (see core/commit/commit.c, "A refusal is
 *           true"). */
int64_t gang__search(struct gang__plan *p, uint32_t group, int64_t want,
                     const struct gang__scope *scope, int32_t policy);
int64_t gang__search_with(struct gang__plan *p, uint32_t group, int64_t want,
                          const struct gang__scope *scope,
                          const struct gang__search_options *options);

/* The same over all nodes with options that offer. Where nothing has to be checked of a node before
 * it is offered, the nodes of an index word are offered at once to `offer_word`. It returns those
 * that do not belong in the row; *ends is false, and true ends the search. */
typedef uint32_t gang__offer_word(void *user, uint32_t base, uint32_t bits, bool *ends);
int64_t gang__search_words(struct gang__plan *p, uint32_t group, int64_t want,
                           const struct gang__search_options *options,
                           gang__offer_word *offer_word);

/* Does the index alone prove that this number of tasks of whole devices does not fit? It counts
 * each node at least at its free capacity, so a yes is as true as a search with
 * GANG__ORDER_PROOF, and needs no plan. */
bool gang__search_cannot_fit(gang_cluster *c, const struct gang__group *g, int64_t want);

#endif
