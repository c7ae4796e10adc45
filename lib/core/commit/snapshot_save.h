/* SPDX-License-Identifier: Apache-2.0 */
/* Instants: what a commit does for the snapshots that are being taken, and taking one. */
#ifndef GANG__CORE_INSTANT_H
#define GANG__CORE_INSTANT_H

#include "core/commit/cell.h"

/* The word gang_cluster.snap. */
static inline uint64_t gang__snap_number(uint64_t snap)
{
    return snap >> GANG__SNAPSHOTS;
}
static inline uint32_t gang__snap_mask(uint64_t snap)
{
    return (uint32_t)snap & ((1u << GANG__SNAPSHOTS) - 1);
}

void gang__snapshot_save_init(struct gang__cells *c);
void gang__snapshot_save_free(struct gang__cells *c);

/* The instant to come: a snapshot that begins after this has this one or a later one. */
static inline uint64_t gang__snapshot_number(struct gang__cells *c)
{
    return gang__snap_number(gang__load_seq(&c->snap));
}

/* Is a snapshot being taken whose instant is before this one? */
bool gang__snapshot_under_way(struct gang__cells *c, uint64_t instant);

/* A commit of this label was decided and is about to write a cell that it claims, or is over: save
 * the words for those of the snapshots in `snap` that do not hold it. Lock-free. */
void gang__snapshot_save(struct gang__cells *c, uint64_t snap, uint64_t label, uint32_t slot);

/* Saved words of the cells of a chunk. */
struct gang__saved_chunk {
    gang__a64 last; /* number of the snapshot for which a cell of this chunk was last saved */
    uint32_t stride;
    struct gang__saved_chunk *outgrown;
    gang__a64 mark[GANG__CHUNK]; /* number of the snapshot for which the cell was last saved */
    gang__a64 word[];
};

struct gang__save_area {
    gang__a64 number;
    gang__a64 fork; /* process, by gang__fork_count(), whose thread takes the snapshot */
    uint64_t round; /* instant >> TAG_BITS when it was last cleared; its taker's */
    _Atomic(struct gang__saved_chunk *) saved[GANG__CHUNKS];
};

/* ---- the taker's side: in this order ------------------------------------------------------ */

/* Reserve save area *k for one take. False: all are in use. */
bool gang__save_slot_acquire(struct gang__cells *c, unsigned *k);

/* Area k, made if there is none. NULL: out of memory. */
struct gang__save_area *gang__save_area_make(struct gang__cells *c, unsigned k);

/* Allocate what saves all cells below slot `end`. False: out of memory. */
bool gang__save_area_cover(struct gang__cells *c, struct gang__save_area *area, uint32_t end);

/* Does the area have memory to save all cells below slot `end`? */
bool gang__save_area_covers(struct gang__cells *c, struct gang__save_area *area, uint32_t end);

/* The snapshot begins: returns its number. Commits save for it until gang__save_end(). */
uint64_t gang__save_begin(struct gang__cells *c, struct gang__save_area *area, unsigned k);
void gang__save_end(struct gang__cells *c, unsigned k);

void gang__save_slot_release(struct gang__cells *c, unsigned k);

#endif
