/* SPDX-License-Identifier: Apache-2.0 */
/* The records of live allocations, and what each task in them holds. */
#ifndef GANG__PLACE_RECORDS_H
#define GANG__PLACE_RECORDS_H

#include "core/commit/commit.h"
#include "place/request/request.h"
#include "place/state/task_count.h"

/* ---- one task ---- What one task holds, as kept in gang__alloc.data:
 *   word 0   id of its node
 *   word 1   number of the task | deltas << 32 | GANG__TASK_STOPPED | group << 48 |
 *            GANG__TASK_MARK
 *   then     deltas: payload of the operation | word of the cell << 40 | GANG__DELTA_POOL
 * A delta of capacity shared in time (place/whatif/timeshare.h) is marked GANG__DELTA_SHARED: the
 * task has it, but the cell of the node does not count it. An exclusive allocation also has
 * *holders*: what it holds of a node beside its tasks there. A holder is an entry of group
 * GANG__HOLDER and number GANG__NO_NUMBER; no public call shows it.
 *
 * Word 1 of an owned record (gang__alloc.owner): relaxed, pairs with none. The owner may mark a
 * task as stopped while other threads read the record; nothing else of it changes then. */
enum { GANG__TASK_HEAD = 2, GANG__SMALL_CLASS = 3, GANG__HOLDER = 0x7fff };
#define GANG__NO_NUMBER UINT32_MAX
/* Set in each word 1 and in no delta, so that a search may begin anywhere in the data. */
#define GANG__TASK_MARK (UINT64_C(1) << 63)
#define GANG__DELTA_POOL (UINT64_C(1) << 48)
#define GANG__DELTA_SHARED (UINT64_C(1) << 49)

static inline uint64_t gang__task_word_of(uint32_t number, unsigned deltas, uint32_t group)
{
    return number | (uint64_t)deltas << 32 | (uint64_t)group << 48 | GANG__TASK_MARK;
}
/* The task has stopped, and its place is released later: public calls do not show it any more. */
#define GANG__TASK_STOPPED (UINT64_C(1) << 47)

static inline uint64_t gang__task_word(const uint64_t *task)
{
    return gang__load_relaxed((const gang__a64 *)&task[1]);
}
static inline uint32_t gang__task_number(const uint64_t *task)
{
    return (uint32_t)gang__task_word(task);
}
static inline unsigned gang__task_deltas(const uint64_t *task)
{
    return (unsigned)(gang__task_word(task) >> 32 & 0x7fff);
}
static inline uint32_t gang__task_group(const uint64_t *task)
{
    return (uint32_t)(gang__task_word(task) >> 48 & 0x7fff);
}
static inline bool gang__task_has_stopped(const uint64_t *task)
{
    return (gang__task_word(task) & GANG__TASK_STOPPED) != 0;
}
static inline bool gang__task_is_holder(const uint64_t *task)
{
    return gang__task_group(task) == GANG__HOLDER;
}
static inline uint32_t gang__task_words(const uint64_t *task)
{
    return GANG__TASK_HEAD + gang__task_deltas(task);
}
static inline unsigned gang__delta_word(uint64_t delta)
{
    return (unsigned)(delta >> GANG__PAYLOAD_BITS & 0xff);
}

/* ---- one allocation ---- */

/* `state` is {generation:32 | phase:2 | readers:30}. The other members belong to the thread that
 * holds the record BUSY; a thread counted in `readers` of a LIVE record may read them. Records are
 * never freed before the cluster. `state`: the gang__store, or for a reader the gang__sub_release,
 * that ends one thread's use -> the gang__load before the CAS that begins the next one's. */
struct gang__alloc {
    gang__a64 state;
    gang_request *request;
    uint64_t *data;
    uint32_t used;    /* words of data */
    uint16_t cap_log; /* data has 2^cap_log words */
    /* Index + 1 of the worker that alone may change the allocation (gang_worker.keeps_allocs); 0:
     * any worker may. Set while the record is BUSY, before it is LIVE for the first time. */
    gang__a16 owner;
    uint32_t tasks;       /* without holders */
    uint32_t next_number; /* all numbers that it has are below */
    gang__a32 next_free;  /* index + 1; stored before the CAS on records.spare -> gang__load */
    uint32_t index;
    uint64_t fits_epoch; /* cluster epoch + 1 at which one more task ... */
    uint32_t fits_group; /* ... of this group, beside ... */
    uint32_t fits_tasks; /* ... this number of tasks, was seen to fit an empty cluster */
    uint64_t small[1 << GANG__SMALL_CLASS]; /* where data is if that suffices */
};
_Static_assert(sizeof(struct gang__alloc) == 128, "records do not share cache lines");

enum gang__phase { GANG__FREE = 0, GANG__LIVE = 1, GANG__BUSY = 2 };

/* The entries of a record, holders included, in the order of their numbers:
 *   for (task = gang__entry_first(a); task; task = gang__entry_next(a, task)) */
static inline const uint64_t *gang__entry_at(const struct gang__alloc *a, const uint64_t *task)
{
    return task < a->data + a->used ? task : NULL;
}
static inline const uint64_t *gang__entry_first(const struct gang__alloc *a)
{
    return gang__entry_at(a, a->data);
}
static inline const uint64_t *gang__entry_next(const struct gang__alloc *a, const uint64_t *task)
{
    return gang__entry_at(a, task + gang__task_words(task));
}

/* The tasks of a record, without holders: the same loop. */
static inline const uint64_t *gang__task_at(const struct gang__alloc *a, const uint64_t *task)
{
    while (task && gang__task_is_holder(task))
        task = gang__entry_next(a, task);
    return task;
}
static inline const uint64_t *gang__task_first(const struct gang__alloc *a)
{
    return gang__task_at(a, gang__entry_first(a));
}
static inline const uint64_t *gang__task_next(const struct gang__alloc *a, const uint64_t *task)
{
    return gang__task_at(a, gang__entry_next(a, task));
}

/* The task of this number; NULL: it has none. O(log tasks); with holders O(tasks). */
const uint64_t *gang__task_find(const struct gang__alloc *a, uint32_t number);

/* The tasks and holders in a record, at most. */
static inline size_t gang__alloc_entries(const struct gang__alloc *a)
{
    return a->request->exclusive ? a->used / GANG__TASK_HEAD : a->tasks;
}

/* ---- what a worker keeps of records ---- */

enum {
    GANG__KEEP_BUFFERS = 64,     /* a class of data buffers */
    GANG__KEEP_BUFFER_CLASS = 16 /* larger buffers are not kept */
};

/* The first member of struct gang__placer, so that gang_worker.place leads to it. */
struct gang__record_cache {
    uint64_t *buffer[32]; /* free data buffers by class, linked by their first word */
    uint32_t buffer_count[32];
    uint32_t free_alloc[256]; /* free records by index */
    uint32_t free_alloc_count;
    /* References to the request used last, taken in advance, so that workers with the same request
     * do not contend for its counter. NULL: none are left. */
    gang_request *ref_cache;
    uint32_t ref_cache_count;
};
static inline struct gang__record_cache *gang__record_cache_of(gang_worker *w)
{
    return w->place;
}

/* With the worker. */
void gang__record_cache_free(struct gang__record_cache *cache, const struct gang_mem *mem);

/* Count a reference of a live allocation to its request. */
void gang__request_hold(gang_worker *w, gang_request *request);

/* ---- records ---- */

/* gang__alloc.owner of a worker. */
static inline uint16_t gang__owner_of(const gang_worker *w)
{
    return (uint16_t)(w->commit.index + 1);
}

/* Give a record at least `words` words of data; what it holds is kept. False: out of memory,
 * nothing changed. */
bool gang__alloc_enlarge(gang_worker *w, struct gang__alloc *a, size_t words);
static inline bool gang__alloc_reserve(gang_worker *w, struct gang__alloc *a, size_t words)
{
    if (!a->data) {
        a->data = a->small;
        a->cap_log = GANG__SMALL_CLASS;
    }
    return words <= (size_t)1 << a->cap_log || gang__alloc_enlarge(w, a, words);
}

/* A free record, BUSY, and back. */
gang_result gang__alloc_new(gang_worker *w, struct gang__alloc **a);
void gang__alloc_drop(gang_worker *w, struct gang__alloc *a);

/* Make a BUSY record LIVE; returns its id. */
gang_alloc_id gang__alloc_publish(struct gang__alloc *a);
/* Hold a record alone, to change it: GANG_OK, GANG_ESTALE, GANG_EBUSY (another thread has it, or
 * another worker keeps it for itself). */
gang_result gang__alloc_lock(gang_worker *w, gang_alloc_id id, struct gang__alloc **a);
/* Hold a record for reading, together with other readers: GANG_OK, GANG_ESTALE, GANG_EBUSY. */
gang_result gang__alloc_read(gang_cluster *c, gang_alloc_id id, struct gang__alloc **a);
void gang__alloc_read_end(struct gang__alloc *a);
/* The record of an allocation that this worker keeps for itself (gang_worker.keeps_allocs): its
 * owner reads it without a hold, because all others only read, too. NULL: it is stale, or of
 * another worker, or of none. Wait-free. */
struct gang__alloc *gang__alloc_kept(const gang_worker *w, gang_alloc_id id);

/* Mark tasks (NULL: all) of an allocation that this worker keeps for itself as stopped, but for
 * those in `except`: they hold their places, but gang_alloc_each() and other public calls do not
 * show them any more. Numbers ascend. Owner of the worker; wait-free, also while other threads read
 * the record. O(tasks of the allocation). */
void gang__alloc_mark_stopped(gang_worker *w, gang_alloc_id id, const int64_t *tasks, size_t count,
                              const int64_t *except, size_t except_count);
/* Public calls show these tasks again. */
void gang__alloc_show(gang_worker *w, gang_alloc_id id, const int64_t *tasks, size_t count);

/* The slot of the node of the first task of an allocation, as it was when a thread last held it for
 * change; GANG__POOL: none was noted. A hint: it may be that of an earlier allocation with the same
 * record. It is known without the record, so that both can be loaded at the same time. */
uint32_t gang__alloc_node_hint(gang_cluster *c, gang_alloc_id id);

/* The record of an index, or NULL past the end. */
struct gang__alloc *gang__alloc_at(gang_cluster *c, uint32_t index);

/* For the copy of a cluster: give record `index` of an unused table the generation of a record of
 * another cluster; GANG_EBUSY if a thread changes that one. *live: it lives; the caller then
 * fills *to and ends with gang__alloc_copy_end(). Indexes ascend. */
gang_result gang__alloc_copy(gang_cluster *c, uint32_t index, const struct gang__alloc *from,
                             struct gang__alloc **to, bool *live);
void gang__alloc_copy_end(struct gang__alloc *to, const struct gang__alloc *from);

/* All records and their chunks, with the cluster. */
void gang__records_free(gang_cluster *c);

#endif
