/* SPDX-License-Identifier: Apache-2.0 */
/* The records of live allocations. */
#ifndef GANG__PLACE_RECORDS_H
#define GANG__PLACE_RECORDS_H

#include "place/request/shared.h"

/* One task in gang__alloc.data:
 *   word 0   id of its node
 *   word 1   number of the task | deltas << 32 | group << 48
 *   then     deltas: payload of the operation | word of the cell << 40 | GANG__DELTA_POOL
 * A time-shared part (whatif/timeshare.h) is marked GANG__DELTA_LENT: the task has it, but the
 * node's cell does not count it. An exclusive allocation also has *holders* for the rest of its
 * nodes: entries of group GANG__HOLDER, numbered GANG__NO_NUMBER, invisible to callers. */
enum { GANG__TASK_HEAD = 2, GANG__SMALL_CLASS = 3, GANG__HOLDER = 0xffff };
#define GANG__NO_NUMBER UINT32_MAX
#define GANG__DELTA_POOL (UINT64_C(1) << 48)
#define GANG__DELTA_LENT (UINT64_C(1) << 49)

static inline uint32_t gang__task_number(const uint64_t *task)
{
    return (uint32_t)task[1];
}
static inline unsigned gang__task_deltas(const uint64_t *task)
{
    return (unsigned)(task[1] >> 32 & 0xffff);
}
static inline uint32_t gang__task_group(const uint64_t *task)
{
    return (uint32_t)(task[1] >> 48);
}
static inline bool gang__task_is_holder(const uint64_t *task)
{
    return gang__task_group(task) == GANG__HOLDER;
}
static inline unsigned gang__delta_word(uint64_t delta)
{
    return (unsigned)(delta >> GANG__PAYLOAD_BITS & 0xff);
}

/* One allocation. `state` is {generation:32 | phase:2 | readers:30}; a thread
 * that holds it BUSY, or LIVE as one of its readers, may read the rest. Records are never freed
 * before the cluster. */
struct gang__alloc {
    gang__a64 state;
    gang_request *q;
    uint64_t *data;
    uint32_t used;       /* words of data */
    uint32_t room_class; /* data has 2^room_class words */
    uint32_t tasks;      /* without holders */
    uint32_t next_number;
    gang__a32 next_free;
    uint32_t index;
    uint64_t fits_epoch; /* cluster epoch + 1 at which one more task ... */
    uint32_t fits_group; /* ... of this group, beside ... */
    uint32_t fits_tasks; /* ... so many tasks, was seen to fit an empty cluster */
    uint64_t small[1 << GANG__SMALL_CLASS]; /* where data is if that suffices */
};
_Static_assert(sizeof(struct gang__alloc) == 128, "records do not share cache lines");

enum gang__phase { GANG__FREE = 0, GANG__LIVE = 1, GANG__BUSY = 2 };

static inline enum gang__phase gang__phase_of(uint64_t state)
{
    return (enum gang__phase)(state >> 30 & 3);
}
static inline uint32_t gang__generation_of(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

/* What a worker keeps of records; the first member of its struct gang__placer. */
struct gang__record_cache {
    uint64_t *buffer[32]; /* free data buffers by class, linked by their first word */
    uint32_t buffer_count[32];
    uint32_t free_alloc[256]; /* free records by index */
    uint32_t free_alloc_count;
    /* References to the request used last, counted in advance, so that workers that use the same
     * one do not meet at its counter. NULL: none are left. */
    gang_request *ref_cache;
    uint32_t ref_cache_count;
};
void gang__record_cache_free(struct gang__record_cache *cache, const struct gang_mem *mem);

/* Count a reference of a live allocation to its request. */
void gang__request_hold(gang_worker *w, gang_request *q);

/* The tasks and holders in a record, at most. */
static inline size_t gang__alloc_entries(const struct gang__alloc *a)
{
    return a->q->exclusive ? a->used / GANG__TASK_HEAD : a->tasks;
}

/* Give a record room for at least `words` words of data; what it holds is kept. False: out of
 * memory, nothing changed. */
bool gang__alloc_room(gang_worker *w, struct gang__alloc *a, size_t words);

/* A free record, BUSY, and back. */
gang_result gang__alloc_take(gang_worker *w, struct gang__alloc **a);
void gang__alloc_drop(gang_worker *w, struct gang__alloc *a);

/* Let others see a BUSY record; returns its id. */
gang_alloc_id gang__alloc_publish(struct gang__alloc *a);
/* Hold a record alone: GANG_OK, GANG_ESTALE, GANG_EBUSY. */
gang_result gang__alloc_lock(gang_cluster *c, gang_alloc_id id, struct gang__alloc **a);
/* Hold a record for reading, together with other readers: as above. */
gang_result gang__alloc_read(gang_cluster *c, gang_alloc_id id, struct gang__alloc **a);
void gang__alloc_read_end(struct gang__alloc *a);

/* What a task holds, as the public face tells it. */
void gang__task_decode(gang_cluster *c, const uint64_t *task, struct gang_task *out);

/* The record of an index, or NULL past the end. */
struct gang__alloc *gang__alloc_at(gang_cluster *c, uint32_t index);

/* The record of this index in a cluster that has none beyond it. GANG_OK; GANG_ENOMEM. For a
 * copy. */
gang_result gang__record_make(gang_cluster *c, uint32_t index, struct gang__alloc **a);
/* The state of a record: a free one enters the list of free records. For a copy. */
void gang__record_set(gang_cluster *c, struct gang__alloc *a, uint32_t generation,
                      enum gang__phase phase);
/* Frees all data of records and the records. With the cluster. */
void gang__records_free(gang_cluster *c);

#endif
