/* SPDX-License-Identifier: Apache-2.0 */
/* Time slicing, from inside: Ousterhout's matrix, its columns, and the gangs in it. The rules are at gang_sched_run().
 *
 *   slice.c        turns: who is suspended, who runs, when the slice ends
 *   slice_rows.c   coming and going: rows, columns, what a gang has of them
 *   slice_view.c   what others ask of it: explaining, reading, the audit, the copy of the cluster
 *
 * What takes turns, cores and perhaps GPUs, is held once for each node, by an allocation of the scheduler's own: of a
 * *column* nobody else can take any, whoever runs there. A gang has its share of it lent (place/whatif/timeshare.h): suspending
 * and resuming change nothing in the cluster, cannot be refused there, and leave nothing to anybody in between.
 * What does not take turns the gang's own allocation holds, as ever. */
#ifndef GANG__SCHED_SLICE_IN_H
#define GANG__SCHED_SLICE_IN_H

#include "place/whatif/timeshare.h"
#include "sched/record/record.h"
#include "sched/record/state.h"

/* A node that is in a matrix. */
struct gang__column {
    struct gang__hash_link link; /* in the matrix, by the node */
    gang_node_id node;
    gang_alloc_id held; /* what takes turns on it */
    uint32_t uses;      /* of gangs in the matrix, in any row */
    uint32_t leaving;   /* of these, by such as let go: nobody new comes before they have */
    uint32_t doomed;    /* of these, by victims in the plan that is being made */
    uint32_t occupies; /* in the timeline of planned starts: the number there and 1; 0: it is not */
    uint32_t words;
    /* Of each word of its cell: what there is, what a row leaves, what those that run leave. Only what takes turns
     * counts. */
    uint64_t *full, *row, *busy;
};

/* What a task has lent. */
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
    uint32_t lent; /* GANG__LEND_*: what takes turns */
    struct gang__hash_table columns;
    bool came; /* some of them are not in the timeline yet */
    struct gang__sliced *first, **last, *gone;
    uint32_t rows, active;
    uint32_t walkers;
    bool begun;       /* all of the active row run, or were refused: the slice is counted */
    bool fresh;       /* its turn has just come: alternates are chosen anew */
    int64_t until_ns; /* the end of the slice; INT64_MAX: it is not counted, or there is one row */
    int64_t due_ns;   /* when it is to be looked at, if nothing happens before */

    /* The cluster with all columns empty, as it was when a gang was last placed. */
    gang_snapshot *view;
    uint64_t viewed_in, viewed_stamp; /* in this run, and the stamp of room then; 0: not */
    int64_t open_cpu;                 /* millicores on nodes that are open there */
};

/* ---- slice.c ---- */

/* Does it use its cores now? */
static inline bool gang__sliced_is_busy(const struct gang__sliced *x)
{
    return gang__sliced_runs(x) && !x->quiet;
}
/* How long until its row has its turn: 0: it has it; in rows. */
static inline uint32_t gang__row_distance(const struct gang__matrix *m, uint32_t row)
{
    return row >= m->active ? row - m->active : row + m->rows - m->active;
}

/* ---- columns.c ---- */

/* The column of a node, made if the matrix has none. GANG_ENOFIT: some of what gangs share there is taken; GANG_ENOMEM. */
gang_result gang__column_get(gang_sched *s, struct gang__matrix *m, gang_node_id node,
                             struct gang__column **column);
bool gang__column_drop(gang_sched *s, struct gang__matrix *m, struct gang__column *c);
/* Note what its tasks from this number on use. On an error nothing of them is noted. */
gang_result gang__uses_collect(gang_sched *s, struct gang__sliced *x, int64_t first);
void gang__use_forget(gang_sched *s, struct gang__sliced *x, size_t i);

/* ---- matrix.c, rows.c ---- */

/* The matrix of a leaf that slices, made if there is none. NULL: out of memory. */
struct gang__matrix *gang__matrix_get(gang_sched *s, const struct gang__queue_state *leaf);
void gang__sliced_leave(gang_sched *s, struct gang__sliced *x);
void gang__sliced_free(gang_sched *s, struct gang__sliced *x);

/* NULL: the node is not in the matrix. And where its words are, in its block. */
struct gang__column *gang__column_at(const struct gang__matrix *m, gang_node_id node);
void gang__column_lay(struct gang__column *c);
/* By its allocation; NULL: it is in no matrix. */
struct gang__sliced *gang__sliced_of(const gang_sched *s, gang_alloc_id alloc);
/* The last of its matrix; there is room in sched.sliced. */
void gang__sliced_enter(gang_sched *s, struct gang__sliced *x);
/* The words of all columns as if nobody were there. */
void gang__columns_reset(struct gang__matrix *m, bool busy);
/* Would it fit beside those that were put there? And put it there, which nothing may exceed but what is leaving. */
bool gang__columns_fit(const struct gang__sliced *x, bool busy);
void gang__columns_put(const struct gang__sliced *x, bool busy);
/* Columns that nobody uses go. */
void gang__columns_sweep(gang_sched *s, struct gang__matrix *m);
/* Rows without gangs go; the turn goes to the next one if it was theirs. True: some went. */
bool gang__rows_sweep(struct gang__matrix *m);
/* Nobody is in it any more: it goes by what its queue says now, or goes with it. */
void gang__matrix_empty(gang_sched *s, struct gang__matrix *m);
/* Those who left while somebody walked the gangs are freed. */
void gang__sliced_bury(gang_sched *s, struct gang__matrix *m);

#endif
