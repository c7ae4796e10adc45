/* SPDX-License-Identifier: Apache-2.0 */
/* Time slicing, from inside: the matrix (Ousterhout 1982), its columns, and the gangs in its rows.
 *
 *   slice.c       passes: which row is active, which gangs run, when the quantum ends
 *   sliced_host.c what the host is asked for one gang
 *   rows.c        into which row a gang goes; growing
 *   sliced_leave.c  leaving the matrix
 *   slice_places.c  reports about what really runs on a node
 *   slice_restore.c what a host keeps of a gang, and how the gang comes back
 *   columns.c     the nodes of a matrix, and which gangs fit beside each other there
 *   column_time.c when gangs end at the latest, and until when columns take their nodes
 *   matrix.c      the matrix of a queue, and its list of gangs
 *   slice_victims.c  dry run of preemption
 *   slice_view.c  what other folders ask: explanations, audit
 *
 * What gangs share in time (cores, optionally GPUs) is held once for each node by an allocation of
 * the scheduler: its *column*. So no other allocation can take any of it, whichever gang runs. A
 * gang has its share lent (place/whatif/timeshare.h): suspending and resuming change nothing in the
 * cluster and cannot be refused. The gang's own allocation holds what gangs do not share (memory).
 */
#ifndef GANG__SCHED_SLICE_IN_H
#define GANG__SCHED_SLICE_IN_H

#include "sched/foreign/foreign.h"
#include "sched/slice/slice.h"

/* ---- slice.c --------------------------------------------------------------------------------- */

/* Does the gang use its cores now? */
static inline bool gang__sliced_is_busy(const struct gang__sliced *x)
{
    return gang__sliced_runs(x) && !x->stopped;
}
/* Remove rows without gangs. If the gangs of the active row are gone, or stop for good, its quantum
 * is over. A new gang may come before and get the rest of it; for a gang that moves, this is done
 * first. */
void gang__rows_settle(gang_sched *s, struct gang__matrix *m);
/* In how many quanta its row is active; 0: it is. */
static inline uint32_t gang__row_distance(const struct gang__matrix *m, uint32_t row)
{
    return row >= m->active ? row - m->active : row + m->rows - m->active;
}

/* ---- columns.c ------------------------------------------------------------------------------- */

/* Note the shares that these tasks (ascending; NULL: all) of it use. On an error none of them is
 * noted. */
gang_result gang__uses_collect(gang_sched *s, struct gang__sliced *x, const int64_t *tasks,
                               size_t count);
void gang__use_forget(gang_sched *s, struct gang__sliced *x, size_t i);

/* ---- slice_victims.c, rows.c ----------------------------------------------------------------- */

/* Close the nodes of the view that handovers keep for other gangs of the matrix (NULL: none is
 * closed). Returns how many such gangs there are: each of them may need a row of its own. */
uint32_t gang__slice_close_kept(const gang_sched *s, const struct gang__matrix *m,
                                const struct gang__gang *g, gang_snapshot *view);

/* Does a process use what is booked for others there, as reported? No gang comes there then. */
static inline bool gang__slice_is_contested(const gang_sched *s, gang_node_id node)
{
    return s->foreign.count > 0 && gang__foreign_wants(s, node);
}

/* Of the view: close all nodes but those that a gang may come to. Show in s->scratch what a row
 * leaves; `all`: what it and all running gangs leave. */
void gang__row_open_columns(const gang_sched *s, struct gang__matrix *m);
gang_result gang__row_show(gang_sched *s, const struct gang__matrix *m, uint32_t row, bool all);
/* No gang comes to the node of the view. */
void gang__row_close_node(gang_snapshot *v, uint32_t slot);
/* Is the whole shared part of the node free? */
bool gang__row_is_untouched(const struct gang__matrix *m, const struct gang__node *node,
                            const uint64_t *word);

/* ---- matrix.c, rows.c ------------------------------------------------------------------------ */

/* The matrix of a leaf that slices; NULL: there is none. The other makes it; NULL: out of
 * memory. */
struct gang__matrix *gang__slice_matrix(const gang_sched *s, const struct gang__queue_state *leaf);
struct gang__matrix *gang__matrix_get(gang_sched *s, const struct gang__queue_state *leaf);
/* The settings of the matrix that this leaf has, or would have. */
void gang__matrix_take_settings(const gang_sched *s, struct gang__matrix *m,
                                const struct gang__queue_state *leaf);
void gang__sliced_leave(gang_sched *s, struct gang__sliced *x);
void gang__sliced_free(gang_sched *s, struct gang__sliced *x);

/* The gang with this allocation; NULL: it is in no matrix. */
struct gang__sliced *gang__sliced_of(const gang_sched *s, gang_alloc_id alloc);

/* Set the words of all columns to what the node has. */
void gang__columns_reset(struct gang__matrix *m, bool busy);
/* Put the gang; only detached gangs may exceed the capacity. Or put it if it fits beside the gangs
 * that were put; false: nothing changed. */
void gang__columns_put(const struct gang__sliced *x, bool busy);
bool gang__columns_put_if_fits(const struct gang__sliced *x, bool busy);
/* The same; *misfit: the first of its uses that does not fit. */
bool gang__columns_put_all(const struct gang__sliced *x, bool busy, size_t *misfit);
/* Drop the columns that no gang uses. */
void gang__columns_sweep(gang_sched *s, struct gang__matrix *m);
/* Remove rows without gangs; if the active one is removed, the next one is active. True: some were.
 */
bool gang__rows_sweep(struct gang__matrix *m);
/* The matrix is empty: it takes the settings of its queue, or is freed with it. */
void gang__matrix_empty(gang_sched *s, struct gang__matrix *m);
/* Free the gangs that left during a walk. */
void gang__sliced_free_gone(gang_sched *s, struct gang__matrix *m);

/* ---- sliced_host.c --------------------------------------------------------------------------- */

/* The state of its job may have changed. */
void gang__sliced_report(gang_sched *s, struct gang__gang *g, const char *text);
/* Ask the host to suspend it. What follows at `next_ns`: ask again, kill it, or no longer wait for
 * the report of a kill. All its tasks have stopped. */
void gang__sliced_suspend(gang_sched *s, struct gang__sliced *x);
void gang__sliced_due(gang_sched *s, struct gang__sliced *x);
void gang__sliced_suspended(gang_sched *s, struct gang__sliced *x);
/* Its first quantum: if its places are gone, it waits again. A later quantum. */
void gang__sliced_start(gang_sched *s, struct gang__sliced *x);
void gang__sliced_resume(gang_sched *s, struct gang__sliced *x);
/* Tasks (NULL: all) of a gang have stopped. */
void gang__slice_tasks_gone(gang_sched *s, struct gang__sliced *x, const int64_t *tasks,
                            size_t count);

#endif
