/* SPDX-License-Identifier: Apache-2.0 */
/* What commits save for snapshots that are being taken, and the taker's side of it. See
 * snapshot_save.c. */
#ifndef GANG__CORE_SNAPSHOT_SAVE_H
#define GANG__CORE_SNAPSHOT_SAVE_H

#include "core/commit/cell.h"

/* The two halves of gang__cells.snap. */
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

/* The number of the next snapshot: one that begins after this call has this number or a higher
 * one. */
static inline uint64_t gang__snapshot_number(struct gang__cells *c)
{
    return gang__snap_number(gang__load_seq(&c->snap));
}

/* Is a snapshot with a lower number being taken? */
bool gang__snapshot_under_way(struct gang__cells *c, uint64_t number);

/* Saves the words of a cell for those snapshots in `snap` that do not show the commit. The commit
 * has this label; it was decided and is about to write a cell that it claims, or is over.
 * Lock-free. */
void gang__snapshot_save(struct gang__cells *c, uint64_t snap, uint64_t label, uint32_t slot);

/* The saved words of the cells of a chunk. `word`: CAS of a commit before it changes the cell ->
 * gang__load of the walk in core/snapshot_take.c, after it found the mark.
 * `mark` and `last`: CAS of a commit after all words of the cell are saved and before one is
 * changed -> gang__load of the walk after it copied the words. */
struct gang__saved_chunk {
    gang__a64 last; /* number of the snapshot for which a cell of this chunk was last saved */
    uint32_t stride;
    struct gang__saved_chunk *outgrown;
    gang__a64 mark[GANG__CHUNK]; /* number of the snapshot for which the cell was last saved */
    gang__a64 word[];
};

/* `number` and `fork`: gang__store of the taker in gang__save_begin(), before the CAS on cells.snap
 * that sets its bit -> gang__load of a thread that saw the bit: gang__snapshot_save(),
 * gang__snapshot_under_way(). save_word() and mark() load `number` again after the word that they
 * are about to replace: it was stored before the taker cleared that word. */
struct gang__save_area {
    gang__a64 number; /* of the snapshot that is being taken, or was taken last */
    gang__a64 fork;   /* the process, by gang__fork_count(), in which a thread takes the snapshot */
    uint64_t round;   /* number >> TAG_BITS when it was last cleared; only the taker uses it */
    /* stored before the CAS that sets the bit of the snapshot -> gang__load of a commit */
    _Atomic(struct gang__saved_chunk *) saved[GANG__CHUNKS];
};

/* ---- the taker's side: in this order --------------------------------------------------------- */

/* Reserve save area *k for one take. False: all are in use. */
bool gang__save_slot_acquire(struct gang__cells *c, unsigned *k);

/* Area k, made if there is none. NULL: out of memory. */
struct gang__save_area *gang__save_area_make(struct gang__cells *c, unsigned k);

/* Allocates memory that saves all cells below slot `end`. False: out of memory. */
bool gang__save_area_cover(struct gang__cells *c, struct gang__save_area *area, uint32_t end);

/* Does the area have memory to save all cells below slot `end`? */
bool gang__save_area_covers(struct gang__cells *c, struct gang__save_area *area, uint32_t end);

/* Begins the snapshot and returns its number. Commits save for it until gang__save_end(). */
uint64_t gang__save_begin(struct gang__cells *c, struct gang__save_area *area, unsigned k);
void gang__save_end(struct gang__cells *c, unsigned k);

void gang__save_slot_release(struct gang__cells *c, unsigned k);

#endif
