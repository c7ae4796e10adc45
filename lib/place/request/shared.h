/* SPDX-License-Identifier: Apache-2.0 */
/* What this room keeps of a cluster beside its nodes: expected mixes of shapes, counts of tasks and
 * of labels, and the records of allocations. Made at first use, freed with the cluster. */
#ifndef GANG__PLACE_SHARED_H
#define GANG__PLACE_SHARED_H

#include "core/cluster.h"
#include "place/request/label_count.h"
#include "place/request/mix.h"
#include "place/request/task_count.h"

/* Where the records of allocations lie. Owner: place/state. */
enum { GANG__RECORD_CHUNKS = 22 };
struct gang__alloc;
struct gang__registry {
    _Atomic(struct gang__alloc *) chunk[GANG__RECORD_CHUNKS];
    gang__a32 end;   /* records that were used at least once */
    gang__a64 spare; /* head of the list of free ones: index + 1 | tag << 32 */
};

struct gang__shared {
    struct gang__mixes mixes;
    struct gang__tallies tallies;
    struct gang__registry registry;
    struct gang__badges badges;
    /* What higher folders free and audit; NULL as long as no worker has placed anything. */
    _Atomic(const struct gang__place_ops *) above;
};

/* Made at first use; NULL: out of memory. Any thread; lock-free. */
struct gang__shared *gang__shared_of(gang_cluster *c);
/* As it is; NULL: not made yet. */
static inline struct gang__shared *gang__shared_at(gang_cluster *c)
{
    return gang__load(&c->place); /* acquire: pairs with the exchange in gang__shared_of() */
}

#endif
