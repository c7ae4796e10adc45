/* SPDX-License-Identifier: Apache-2.0 */
/* Time slicing, from inside: the matrix (Ousterhout 1982), its columns, and the gangs in its rows.
 *
 *   slice.c       passes: which row is active, which gangs run, when the quantum ends
 *   rows.c        into which row a gang goes; growing and leaving
 *   columns.c     the nodes of a matrix, and which gangs fit beside each other there
 *   matrix.c      the matrix of a queue, and its list of gangs
 *   slice_view.c  what other folders ask: dry run, calendar, explanations, audit
 *
 * What gangs share in time (cores, optionally GPUs) is held once for each node by an allocation of
 * the scheduler: its *column*. So no other allocation can take any of it, whichever gang runs. A
 * gang has its share lent (place/whatif/timeshare.h): suspending and resuming change nothing in the
 * cluster and cannot be refused. The gang's own allocation holds what gangs do not share (memory).
 */
#ifndef GANG__SCHED_SLICE_IN_H
#define GANG__SCHED_SLICE_IN_H

#include "place/whatif/timeshare.h"
#include "sched/record/job_record.h"
#include "sched/record/state.h"

/* A node that is in a matrix. */
struct gang__column {
    struct gang__hash_link link; /* in the matrix, by the node */
    gang_node_id node;
    gang_alloc_id held; /* the time-sliced share */
    uint32_t uses;      /* of gangs in the matrix, in any row */
    /* Of these, by detached gangs: they block the column for new gangs until released. */
    uint32_t leaving;
    uint32_t doomed;   /* of these, by tentative victims of the dry run */
    uint32_t occupies; /* in the timeline of planned starts: the number there and 1; 0: it is not */
    uint32_t words;
    /* For each word of its cell: all capacity, the part that a row leaves free, the part that
     * running gangs leave free. Only time-sliced capacity counts. */
    uint64_t *full, *row, *busy;
};

/* What a task uses of a word of a column. */
struct gang__use {
    struct gang__column *column;
    uint64_t payload;
    int64_t task;
    uint8_t word;
    uint8_t code; /* enum gang__code that takes it */
};

/* The gangs of the leaves below a queue that slices. */
struct gang__matrix {
    struct gang__matrix *next;
    gang_queue_id queue;
    int64_t quantum_ns, most;
    uint32_t lent; /* GANG__LEND_*: what gangs share in time */
    struct gang__hash_table columns;
    bool came; /* some columns are not in the calendar yet */
    struct gang__sliced *first, **last, *gone;
    uint32_t rows, active;
    uint32_t walkers;
    bool begun;       /* all gangs of the active row run, or were refused: the quantum is counted */
    bool fresh;       /* the active row has just changed: alternates may change, too */
    int64_t until_ns; /* end of the quantum; INT64_MAX: it is not counted, or there is one row */
    int64_t due_ns;   /* when the next pass is due, if nothing happens before */

    /* The cluster with all columns empty, as it was when a gang was last placed. */
    gang_snapshot *view;
    uint64_t viewed_in, viewed_stamp; /* in this run, and the capacity stamp then; 0: not */
    int64_t open_cpu;                 /* millicores on nodes that are open there */
};

/* ---- slice.c --------------------------------------------------------------------------------- */

/* Does the gang use its cores now? */
static inline bool gang__sliced_is_busy(const struct gang__sliced *x)
{
    return gang__sliced_runs(x) && !x->stopped;
}
/* In how many quanta its row is active; 0: it is. */
static inline uint32_t gang__row_distance(const struct gang__matrix *m, uint32_t row)
{
    return row >= m->active ? row - m->active : row + m->rows - m->active;
}

/* ---- columns.c ------------------------------------------------------------------------------- */

/* The column of a node, made if the matrix has none. GANG_ENOFIT: some of what gangs share there is
 * taken; GANG_ENOMEM. */
gang_result gang__column_get(gang_sched *s, struct gang__matrix *m, gang_node_id node,
                             struct gang__column **column);
bool gang__column_drop(gang_sched *s, struct gang__matrix *m, struct gang__column *c);
/* Note what its tasks from this number on use. On an error nothing of them is noted. */
gang_result gang__uses_collect(gang_sched *s, struct gang__sliced *x, int64_t first);
void gang__use_forget(gang_sched *s, struct gang__sliced *x, size_t i);

/* ---- matrix.c, rows.c ------------------------------------------------------------------------ */

/* The matrix of a leaf that slices, made if there is none. NULL: out of memory. */
struct gang__matrix *gang__matrix_get(gang_sched *s, const struct gang__queue_state *leaf);
void gang__sliced_leave(gang_sched *s, struct gang__sliced *x);
void gang__sliced_free(gang_sched *s, struct gang__sliced *x);

/* The column of a node; NULL: it has none. Set the pointers of a new column to its words. */
struct gang__column *gang__column_at(const struct gang__matrix *m, gang_node_id node);
void gang__column_lay(struct gang__column *c);
/* The gang with this allocation; NULL: it is in no matrix. */
struct gang__sliced *gang__sliced_of(const gang_sched *s, gang_alloc_id alloc);
/* The gang becomes the last of its matrix. slice.gangs has a free entry for it. */
void gang__sliced_enter(gang_sched *s, struct gang__sliced *x);
/* Set the words of all columns to what the node has. */
void gang__columns_reset(struct gang__matrix *m, bool busy);
/* Put the gang if it fits beside the gangs that were put. Only detached gangs may exceed the
 * capacity. */
bool gang__columns_fit(const struct gang__sliced *x, bool busy);
void gang__columns_put(const struct gang__sliced *x, bool busy);
/* Drop the columns that no gang uses. */
void gang__columns_sweep(gang_sched *s, struct gang__matrix *m);
/* Remove rows without gangs; if the active one is removed, the next one is active. True: some were.
 */
bool gang__rows_sweep(struct gang__matrix *m);
/* The matrix is empty: it takes the settings of its queue, or is freed with it. */
void gang__matrix_empty(gang_sched *s, struct gang__matrix *m);
/* Free the gangs that left during a walk. */
void gang__sliced_free_gone(gang_sched *s, struct gang__matrix *m);

#endif
