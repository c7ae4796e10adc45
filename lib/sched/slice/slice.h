/* SPDX-License-Identifier: Apache-2.0 */
/* Time slicing: gangs of a queue that slices share nodes in time, row by row. README.md explains
 * it. */
#ifndef GANG__SCHED_SLICE_H
#define GANG__SCHED_SLICE_H

#include "sched/calendar/calendar.h"
#include "sched/record/state.h"

/* What grant and lifecycle do at the first quantum of a gang: start it; or undo the grant, because
 * its places are gone. */
struct gang__first_quantum {
    void (*start)(gang_sched *s, struct gang__gang *g);
    void (*undo)(gang_sched *s, struct gang__gang *g, int64_t not_before_ns);
};

/* Is the gang in a matrix, or will the gang be in one when it starts? */
bool gang__slice_concerns(const struct gang__gang *g);

/* Put the gang into a row, or more of its tasks into its row: as gang_alloc() and
 * gang_alloc_grow(). It starts with its first quantum. */
gang_result gang__slice_alloc(gang_sched *s, struct gang__gang *g, gang_alloc_id *id);
gang_result gang__slice_grow(gang_sched *s, struct gang__gang *g, uint32_t group, int64_t step,
                             int64_t *granted);

/* Tasks (NULL: all) of an allocation were released. */
void gang__slice_released(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks, size_t count);

/* The gang is detached from its allocation; and all tasks of a detached gang have stopped. */
void gang__slice_detached(gang_sched *s, struct gang__gang *g);
void gang__slice_stopped(gang_sched *s, gang_alloc_id alloc);

/* Tasks (NULL: all) have stopped. False: it was not suspending. */
bool gang__slice_report(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count);
void gang__slice_tasks_gone(gang_sched *s, struct gang__sliced *x, const int64_t *tasks,
                            size_t count);

/* It had no quantum yet, and its places are gone: it waits again. */
void gang__slice_undo_grant(gang_sched *s, struct gang__gang *g);

/* Make passes over the matrices that are due; is another pass needed; when is the next one due? */
void gang__slice_run(gang_sched *s);
bool gang__slice_has_work(const gang_sched *s);
int64_t gang__slice_next(const gang_sched *s);

/* The queues changed: matrices take their settings. */
void gang__slice_configure(gang_sched *s);

/* Dry run on s->scratch: a gang of a matrix becomes a victim, or (back) stays. Its columns are
 * released there with their last user. _begin() follows the snapshot. On an error nothing changed.
 */
void gang__slice_dry_run_begin(gang_sched *s);
gang_result gang__slice_dry_run_victim(gang_sched *s, const struct gang__gang *g, bool back);

/* The calendar: each column takes its node there, whole and without end; what gangs share of it is
 * not counted again. Put the columns that came since (false: out of memory); the timeline was
 * freed, and none is in it. */
bool gang__slice_occupy(gang_sched *s);
void gang__slice_vacate(gang_sched *s);
bool gang__slice_occupied(const gang_sched *s); /* are all columns there? */
uint32_t gang__slice_shared_parts(const gang_sched *s,
                                  gang_alloc_id alloc); /* GANG__LEND_*; 0: nothing */
bool gang__slice_has_node(const gang_sched *s, gang_node_id node);

/* Its row, from 1, or 0; how many rows there are, and when its row is active, if nothing changes
 * (0: now). */
uint32_t gang__slice_row(const struct gang__gang *g);
uint32_t gang__slice_row_turn(const gang_sched *s, const struct gang__gang *g, int64_t *until_ns);
struct gang__matrix *gang__slice_matrix(const gang_sched *s, const struct gang__queue_state *leaf);

/* A hash of the seed and all that decides the next passes: rows, states, and times until then. */
uint64_t gang__slice_fingerprint(const gang_sched *s, uint64_t seed);
void gang__slice_info(const gang_sched *s, const struct gang__queue_state *q,
                      struct gang_queue_info *out);
gang_result gang__slice_check(gang_sched *s, struct gang_error *error);
void gang__slice_free(gang_sched *s);
extern const struct gang__calendar_source gang__slice_source;

#endif
