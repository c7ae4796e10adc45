/* SPDX-License-Identifier: Apache-2.0 */
/* The mix of shapes that work is expected to have, for GANG_POLICY_FGD: declared by the host, or
 * learned from the requests made so far. */
#ifndef GANG__PLACE_MIX_H
#define GANG__PLACE_MIX_H

#include <string.h>

#include "core/nodes/nodes.h"
#include "place/request/compiled.h"

enum { GANG__MIX_LEARNED = 256 }; /* shapes that are learned; a power of two */

/* The demand of one task, as far as it matters for the GPUs that stay usable: members of struct
 * gang__group. */
struct gang__shape_demand {
    uint64_t weight; /* tasks */
    uint64_t cpu, pages;
    uint32_t devices, share;
    bool slices; /* instances of a profile, which the members above do not describe */
    int64_t gpu_memory;
    const char *const *models;
    size_t model_count;
};

/* A declared mix, in one block of memory. Immutable; freed after a grace period. */
struct gang__mix {
    struct gang__rcu_block spent;
    uint64_t version; /* from 1 */
    size_t count;
    struct gang__shape_demand shape[];
};

/* A shape that was seen. Kept until the cluster ends. */
struct gang__observed {
    struct gang__shape_demand shape; /* its weight is not used */
    gang__a64 tasks;                 /* relaxed, pairs with none: a statistic */
};

struct gang__mixes {
    /* NULL: none; gang__store under the structure mutex -> gang__load in a read section */
    _Atomic(struct gang__mix *) declared;
    uint64_t versions; /* number of mixes declared; under the structure mutex */
    gang__a64 learned; /* tasks of all shapes below; relaxed, pairs with none: a statistic */
    /* A hash table, open addressing; gang__publish -> gang__load of any thread. */
    _Atomic(struct gang__observed *) seen[GANG__MIX_LEARNED];
};

/* Note the groups of a new request. Shapes beyond the table's size are not learned. False: out of
 * memory. Any thread; lock-free. */
bool gang__mix_learn(gang_cluster *c, const gang_request *request);

/* Copies the learned shapes into `*own`, which grows; other threads go on learning. False: out of
 * memory. */
bool gang__mix_learned(gang_cluster *c, struct gang__mixes *m, struct gang__shape_demand **own,
                       size_t *cap, size_t *count);

/* Does a GPU of this model do for the shape? */
static inline bool gang__class_suits(const struct gang__shape_demand *a, const char *model)
{
    for (size_t i = 0; i < a->model_count; i++)
        if (model && strcmp(a->models[i], model) == 0)
            return true;
    return a->model_count == 0;
}

/* Replaces the mixes of this cluster, which no thread uses yet, by those of another. False: out of
 * memory. */
bool gang__mixes_copy(gang_cluster *to, gang_cluster *from);
/* Translates a worker's copy of another cluster's shapes into the shapes of this one, which has
 * them all (gang__mixes_copy()). False: out of memory. */
bool gang__mix_own_copy(gang_cluster *c, const struct gang__shape_demand *from, size_t count,
                        struct gang__shape_demand **own, size_t *cap);
void gang__mixes_free(struct gang__mixes *m, const struct gang_mem *mem);

#endif
