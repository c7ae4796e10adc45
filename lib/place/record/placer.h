/* SPDX-License-Identifier: Apache-2.0 */
/* The scratch memory of a worker for placement; copies of all allocations. */
#ifndef GANG__PLACE_PLACER_H
#define GANG__PLACE_PLACER_H

#include "place/fit/fit.h"
#include "place/state/records.h"

enum {
    /* Patterns that a worker keeps, each at the place to which the number of its request leads. */
    GANG__NODE_PATTERNS = 16,
    GANG__PATTERN_TASKS = 16 /* on a node, at most */
};

/* What one node of a gang looks like that takes the same of equal, wholly free nodes
 * (place/alloc/equal_nodes.h). */
struct gang__node_pattern {
    uint64_t request; /* gang_request.number; 0: none */
    uint64_t epoch;   /* of the cluster: it holds for this one alone */
    const struct gang__node_type *type;
    uint64_t row[GANG__CELL_WORDS]; /* payloads of its cell, wholly free */
    unsigned words;
    struct gang__pattern_op op[GANG__CELL_WORDS]; /* what is taken of them; */
    unsigned op_count;                            /* 0: all, by a lease */
    bool whole_nodes;  /* tasks go to no node of the type that is not wholly free */
    bool in_domain;    /* the gang lies in one domain (place/alloc/equal_domain.h) */
    uint32_t rest;     /* number of gangs planned before this way is tried again */
    uint32_t looks;    /* number of gangs whose search reads cells before one goes by the index */
    uint32_t per_node; /* tasks; of them, the node and the numbers still to be filled in: */
    uint32_t entry_words;
    uint64_t entry[GANG__PATTERN_TASKS * (GANG__TASK_HEAD + GANG__CELL_WORDS)]; /* of a record */
    uint64_t gpus[GANG__PATTERN_TASKS];                                         /* devices */
    uint32_t holder_words; /* of an exclusive request: the holder of the node; 0: there is none */
    uint64_t holder[GANG__TASK_HEAD + GANG__CELL_WORDS];
};

struct gang__placer {
    struct gang__record_cache records; /* first: see gang__record_cache_of() */
    struct gang__plan plan;
    uint64_t *order; /* keys to be sorted */
    size_t order_cap;
    struct gang__node_pattern pattern[GANG__NODE_PATTERNS];
};

static inline struct gang__plan *gang__plan_of(const gang_worker *w)
{
    return &((struct gang__placer *)w->place)->plan;
}

/* The placer of a worker, made at first use. NULL: out of memory. */
struct gang__placer *gang__placer_make(gang_worker *w);
static inline struct gang__placer *gang__placer_of(gang_worker *w)
{
    return w->place ? w->place : gang__placer_make(w);
}

/* From now on (keep) the worker does not bring the mix that it learned up to date. At the end of it
 * (not keep) it forgets what it had to learn meanwhile. So plans in between have no effect on later
 * ones, which depend on when the worker learned. */
void gang__placer_keep_mix(gang_worker *w, bool keep);

/* Copy what a worker has learned of the mix, for a worker of a copied cluster that has the mixes.
 * False: out of memory. */
bool gang__placer_copy(gang_worker *to, const gang_worker *from);

/* Copy all live records of the cluster of another worker, under the same ids, into a cluster that
 * has none. What that worker keeps to itself is kept by `w`, the others belong to no worker. The
 * words of its nodes already say what is taken (core/cluster.h). `map` gives the request of
 * this cluster that stands for a request of the other; *to is borrowed. GANG_OK; GANG_EBUSY:
 * another thread changes an allocation; GANG_ENOMEM; the result of the map. After an error some are
 * copied: end the cluster. */
typedef gang_result gang__request_map(gang_request *from, void *ctx, gang_request **to);
gang_result gang__allocs_copy(gang_worker *w, const gang_worker *from_worker,
                              gang__request_map *map, void *ctx) GANG_MUST_CHECK;

/* Does every node and pool have what its capacity leaves after the live allocations? While no
 * thread changes the cluster. */
gang_result gang__records_check(gang_cluster *c, struct gang_error *error);

#endif
