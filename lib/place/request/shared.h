/* SPDX-License-Identifier: Apache-2.0 */
/* What the folders of place/ keep in a cluster, in one block: made by the first request, ended with
 * the cluster. The records of allocations are the business of place/state/; they are embedded here
 * so that one pointer of the cluster leads to everything. */
#ifndef GANG__PLACE_SHARED_H
#define GANG__PLACE_SHARED_H

#include "place/request/label_count.h"
#include "place/request/mix.h"

enum { GANG__FIRST_RECORDS_LOG = 10, GANG__RECORD_CHUNKS = 22 };

struct gang__alloc;
struct gang__records {
    /* each made when first needed; gang__publish -> gang__load of any thread */
    _Atomic(struct gang__alloc *) chunk[GANG__RECORD_CHUNKS];
    /* records that were used at least once; gang__publish after their chunk -> gang__load */
    gang__a32 end;
    /* Head of the list of free records: index + 1 | tag << 32. gang__cas after `next_free` of the
     * record -> gang__load of the thread that takes the record. */
    gang__a64 spare;
};

/* See place/state/task_count.h. */
struct gang__task_counts {
    /* each made when first needed; gang__publish -> gang__load of any thread */
    _Atomic(struct gang__task_count *) chunk[GANG__CHUNKS];
};

struct gang__shared {
    struct gang__records records; /* first: the path of every allocation */
    struct gang__mixes mixes;
    struct gang__label_counts label_counts;
    struct gang__task_counts task_counts;
};

/* The block of a cluster, made at first use. NULL: out of memory. Any thread; lock-free. */
struct gang__shared *gang__shared_of(gang_cluster *c);
/* The same as it is; NULL: not made yet. */
static inline struct gang__shared *gang__shared_at(gang_cluster *c)
{
    return gang__load(&c->place);
}

/* End it, with everything but the records. */
void gang__shared_free(gang_cluster *c);

#endif
