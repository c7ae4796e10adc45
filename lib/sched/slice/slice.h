/* SPDX-License-Identifier: Apache-2.0 */
/* Time slicing: gangs of a queue that slices share nodes in time, row by row. README.md explains
 * it. */
#ifndef GANG__SCHED_SLICE_H
#define GANG__SCHED_SLICE_H

#include "place/alloc/alloc.h"
#include "place/whatif/whatif.h"
#include "sched/calendar/calendar.h"
#include "sched/record/state.h"
#include "sched/where/where.h"

/* ---- what is stored -------------------------------------------------------------------------- */

/* A node that is in a matrix. */
struct gang__column {
    struct gang__hash_link link; /* in the matrix, by the node */
    gang_node_id node;
    gang_alloc_id held; /* the time-sliced share */
    uint32_t uses;      /* of gangs in the matrix, in any row */
    /* Of these, by detached gangs: they block the column for new gangs until released. */
    uint32_t detached_uses;
    uint32_t tentative_uses; /* of these, by tentative victims of the dry run */
    uint32_t occupies; /* in the timeline of planned starts: the number there and 1; 0: it is not */
    uint32_t words;
    int64_t ends_ns, before_ns; /* it lies there until then, or lay before a change of its gangs */
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
    int64_t grace_ns; /* the longest in which a row stops */
    uint32_t lent;    /* GANG__TIMESHARE_*: what gangs share in time */
    struct gang__hash_table columns;
    bool columns_changed;   /* columns or the ends of their gangs are not in the calendar yet */
    int64_t column_ends_ns; /* the first of the ends that are in the calendar */
    struct gang__sliced *first, **last, *gone;
    int64_t came; /* of the gang that came last */
    uint32_t rows, active;
    uint64_t restored_in; /* gang_sched.runs in which a host restored its first gang; 0: none */
    uint32_t walkers;     /* loops over the gangs: no gang is freed while one runs */
    bool begun;       /* all gangs of the active row run, or were refused: the quantum is counted */
    bool fresh;       /* the active row has just changed: alternates may change, too */
    int64_t until_ns; /* end of the quantum; INT64_MAX: it is not counted, or there is one row */
    int64_t due_ns;   /* when the next pass is due, if nothing happens before */

    /* The cluster with all columns empty, as it was when a gang was last placed. */
    gang_snapshot *view;
    uint64_t viewed_in, viewed_stamp; /* in this run, and the capacity stamp then; 0: not */
    uint64_t restore_viewed_in;       /* in this run the view was made for gangs to restore; 0 */
    int64_t open_cpu;                 /* millicores on nodes that are open there */

    /* In the dry run of preemption: rows that gangs open which were placed; the last place that was
     * found is in a new row. */
    uint32_t dry_rows;
    bool dry_opens;
};

/* ---- what other folders ask and tell --------------------------------------------------------- */

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
/* The same on the nodes of these places alone, which a handover kept; planned starts make way. A
 * gang that moved comes to the row with the first whole quantum, others to the one that runs
 * first. */
gang_result gang__slice_alloc_at(gang_sched *s, struct gang__gang *g,
                                 const struct gang_placement *places, int64_t count, bool moved,
                                 gang_alloc_id *id);
gang_result gang__slice_grow(gang_sched *s, struct gang__gang *g, uint32_t group, int64_t step,
                             int64_t *granted);

/* A gang that a host restores comes to its row, as its past says. Its places are those of
 * job->restored; the job has its leaf. GANG_OK; GANG_ENOFIT, GANG_EINVAL: `error` names the place,
 * or what contradicts others; GANG_ENOMEM. On an error nothing changed. */
gang_result gang__slice_restore(gang_sched *s, struct gang__gang *g, gang_request *request,
                                gang_alloc_id *id, struct gang_error *error);
/* What a host keeps of the gang with this allocation. */
void gang__slice_past(const gang_sched *s, gang_alloc_id alloc, struct gang_job_past *past);
/* Is the allocation in a matrix? */
bool gang__slice_has_alloc(const gang_sched *s, gang_alloc_id alloc);
/* The gang is suspending: a stop for the host to keep. False: it is not. */
bool gang__slice_stop_shown(const struct gang__gang *g, struct gang_job_stop *out);

/* Tasks (NULL: all) of an allocation were released. */
void gang__slice_released(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks, size_t count);

/* The gang is detached from its allocation; and all tasks of a detached gang have stopped. */
void gang__slice_detached(gang_sched *s, struct gang__gang *g);
void gang__slice_stopped(gang_sched *s, gang_alloc_id alloc);

/* Tasks (NULL: all) have stopped. False: it was not suspending. */
bool gang__slice_report(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count);

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
/* Find places for a gang in a row, on w->on without its tentative victims (`places` NULL: are there
 * any?). Nothing is taken. As gang__where_place(). _take() closes the nodes of the places that were
 * found last to all that is placed there later. */
gang_result gang__slice_dry_run_place(const struct gang__where *w, struct gang__places *places);
void gang__slice_dry_run_take(gang_sched *s, const struct gang__gang *g,
                              const struct gang__places *places);
/* A handover keeps places: views of matrices are made again. */
void gang__slice_forget_views(gang_sched *s);

/* Are all columns in the calendar, until their ends? */
bool gang__slice_occupied(const gang_sched *s);
/* Is the node in a matrix? */
bool gang__slice_has_node(const gang_sched *s, gang_node_id node);

/* Reports about a node. _make(): the sets of the tasks that a report lists, and what others leave
 * of them; false: out of memory. _moved(): the record of a task changed, for which _make() made
 * room. _conflicts(): does what a task of `a` (GANG_ID_NONE: others) uses conflict with a task of
 * `b` that has it, too? Not if they take turns, nor with a column, for which _is_column() asks. */
bool gang__slice_rooms_make(gang_sched *s, gang_node_id node, struct gang__real_task *task,
                            size_t count, struct gang__rooms *rooms);
void gang__slice_rooms_free(gang_sched *s, struct gang__rooms *rooms);
void gang__slice_task_moved(gang_sched *s, gang_alloc_id alloc, int64_t task);
bool gang__slice_conflicts(const gang_sched *s, gang_node_id node, gang_alloc_id a,
                           gang_alloc_id b);
bool gang__slice_is_column(const gang_sched *s, gang_node_id node, gang_alloc_id alloc);

/* Its row, from 1, or 0; how many rows there are, and when its row is active, if nothing changes
 * (0: now). */
uint32_t gang__slice_row(const struct gang__gang *g);
uint32_t gang__slice_row_turn(const gang_sched *s, const struct gang__gang *g, int64_t *until_ns);

/* A hash of the seed and all that decides the next passes: rows, states, and times until then. */
uint64_t gang__slice_fingerprint(const gang_sched *s, uint64_t seed);
/* How long the longest round of a matrix takes in which gangs suspend in time; 0: there is none. */
int64_t gang__slice_round_ns(const gang_sched *s);
void gang__slice_info(const gang_sched *s, const struct gang__queue_state *q,
                      struct gang_queue_info *out);
gang_result gang__slice_check(gang_sched *s, struct gang_error *error);
void gang__slice_free(gang_sched *s);
extern const struct gang__calendar_source gang__slice_source;

/* ---- for copies ------------------------------------------------------------------------------ */

/* The column of a node; NULL: it has none. */
struct gang__column *gang__column_at(const struct gang__matrix *m, gang_node_id node);
/* Set the pointers of a new column to its words. */
void gang__column_lay(struct gang__column *c);
/* The gang becomes the last of its matrix. slice.gangs has a free entry for it. */
void gang__sliced_enter(gang_sched *s, struct gang__sliced *x);

#endif
