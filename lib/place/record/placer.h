/* SPDX-License-Identifier: Apache-2.0 */
/* The scratch memory of a worker for placement. */
#ifndef GANG__PLACE_PLACER_H
#define GANG__PLACE_PLACER_H

#include "place/fit/node_plan.h"
#include "place/state/records.h"

struct gang__placer {
    struct gang__record_cache cache; /* first: place/state finds it at worker->place */
    struct gang__plan plan;
    uint64_t *order; /* keys to be sorted */
    size_t order_room;
};

/* The placer of a worker, made at first use. NULL: out of memory. */
struct gang__placer *gang__placer_of(gang_worker *w);

/* Copies a worker's learned mix to a worker of a copied cluster, which has the mixes. False: out of
 * memory. */
bool gang__placer_copy(gang_worker *to, const gang_worker *from);

/* Copies all live records of another cluster, under the same ids, into a cluster without any. The
 * words of its nodes count them already (core/cluster_copy.h). `map` gives the counterpart of a
 * request; *to is borrowed. GANG_OK; GANG_EBUSY: another thread changes an allocation; GANG_ENOMEM;
 * the map's result. After an error the caller frees the cluster, which has some of the records. */
typedef gang_result gang__request_map(gang_request *from, void *ctx, gang_request **to);
gang_result gang__allocs_copy(gang_worker *w, gang_cluster *from, gang__request_map *map, void *ctx)
    GANG_MUST_CHECK;

/* The audit of all records: what they hold is what nodes and counters say. */
gang_result gang__records_check(gang_cluster *c, struct gang_error *error);

#endif
