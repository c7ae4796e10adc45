/* SPDX-License-Identifier: Apache-2.0 */
/* Where a gang may be placed: one list of node vetoes, and one function that applies it.
 *
 * Every path that places tasks (a start, a planned start, the dry run of preemption, a move, a row
 * of time slices, growth) fills a struct gang__where and asks one of the functions below. A veto
 * closes nodes of a snapshot to one gang. The table of vetoes is in vetoes.c; folders above this
 * one register theirs when the scheduler is made.
 *
 * A new veto: define a struct gang__veto in the folder that knows the rule, and enter it into the
 * table of vetoes.c (a folder below this one) or register it in cycle/sched.c (one above). */
#ifndef GANG__SCHED_WHERE_H
#define GANG__SCHED_WHERE_H

#include "sched/record/state.h"

/* Soft vetoes: lifted if they leave no place; kept anyway; or lifted from the beginning. */
enum { GANG__SOFT_FIRST = 0, GANG__SOFT_KEPT, GANG__SOFT_LIFTED };

/* A gang that is to be placed, and under which circumstances. */
struct gang__where {
    gang_sched *s;
    struct gang__gang *g;
    gang_snapshot *on;    /* the cluster, as it is or as it would be */
    const uint64_t *only; /* slots, as bits: all other nodes are closed; NULL: any node */
    uint32_t only_end;
    int64_t later_ns; /* longest delay of its start, until its victims have stopped */
    /* The caller does not check the places against the calendar: close nodes with partial
     * reservations, or nodes on which planned starts count. */
    bool parts, plans;
    bool charged; /* its queues count the gang already, in this trial */
    bool moves;   /* the gang runs, and is to start at other places */
    /* Growth: these of its tasks leave their places, and the new ones replace them; ascending. */
    const int64_t *leaving;
    size_t leaving_count;
    uint8_t soft; /* GANG__SOFT_* */
    bool later;   /* the gang starts at a time to come: vetoes that hold now alone are left out */
};

struct gang__veto {
    int32_t why; /* GANG_WAIT_*: the gang waits for this when it finds no place beside the veto */
    bool soft;   /* a place on closed nodes is better than none */
    bool lasts;  /* it follows from the gang alone: it will hold whenever the gang starts */
    bool (*concerns)(const struct gang__where *w);     /* cheap */
    gang_result (*apply)(const struct gang__where *w); /* closes nodes of w->on; GANG_ENOMEM */
};

/* Add a veto of a higher folder to the list; gang_sched_new() does so once. */
void gang__where_register(gang_sched *s, const struct gang__veto *veto);
void gang__where_free(gang_sched *s);

/* Does any veto concern the gang? If none does, it may be placed on the cluster itself. */
bool gang__where_concerned(const struct gang__where *w);

/* Is the gang placed on a snapshot and adopted there: for a veto, or for the choice of its
 * tasks? */
bool gang__where_needs_snapshot(const struct gang__where *w);

/* What the gang waits for if it finds no place: GANG_WAIT_CAPACITY, or the reason of the first
 * veto that concerns it. */
int32_t gang__where_why(const struct gang__where *w);

/* May the gang be placed a second time without the soft vetoes? */
bool gang__where_is_soft(const struct gang__where *w);

/* Close the nodes of w->on for good; `soft`: also those of soft vetoes. GANG_OK; GANG_ENOMEM. */
gang_result gang__where_close(const struct gang__where *w, bool soft);

/* The nodes of w->on that are open to the gang, as bits of slots below `end`, for the calendar.
 * NULL: out of memory. Valid until the next call. */
const uint64_t *gang__where_open(const struct gang__where *w, uint32_t end);

/* Find places on w->on for the gang (with its choice, if one is being tried), or for `step` more
 * tasks of a group; or say whether there are any. The snapshot is afterwards as it was. Soft vetoes
 * are lifted if they leave no place, unless w->soft says otherwise.
 * GANG_OK; GANG_ENOFIT; GANG_ENEVER; GANG_ENOMEM. O(nodes) if a veto concerns the gang, plus what
 * placing costs. */
gang_result gang__where_place(const struct gang__where *w, struct gang__places *places);
gang_result gang__where_fits(const struct gang__where *w);
gang_result gang__where_grow(const struct gang__where *w, uint32_t group, int64_t step,
                             struct gang__places *places);

/* Allocate the gang now where place likes it best. *why: GANG_WAIT_*, if there is no place. */
gang_result gang__where_alloc(gang_sched *s, struct gang__gang *g, gang_alloc_id *id, int32_t *why);

/* The same of a suspended gang, on its old places alone. GANG_ESTALE: these are gone for good. */
gang_result gang__where_resume(gang_sched *s, struct gang__gang *g, gang_alloc_id *id,
                               int32_t *why);

/* More tasks of a gang that runs, at exactly these places: as gang__alloc_adopt_more(), without the
 * numbers of tasks that ended. s->numbers, which has room for them, receives the new numbers. */
gang_result gang__where_adopt_more(gang_sched *s, struct gang__gang *g,
                                   const struct gang_placement *places, int64_t count);

/* Allocate `step` more tasks of a group: as gang_alloc_grow(). s->numbers, which has room for them,
 * receives their numbers. */
gang_result gang__where_alloc_more(gang_sched *s, struct gang__gang *g, uint32_t group,
                                   int64_t step, int64_t *granted);

/* ---- vetoes.c -------------------------------------------------------------------------------- */

/* The vetoes of folders below this one, in the order in which they are applied. */
enum { GANG__VETOES = 4 };
extern const struct gang__veto *const gang__vetoes[GANG__VETOES];

#endif
