/* SPDX-License-Identifier: Apache-2.0 */
/* Stops and handovers (owner: stop). */
#ifndef GANG__SCHED_STOP_STATE_H
#define GANG__SCHED_STOP_STATE_H

#include "sched/record/types.h"

/* Some tasks of a running gang, or all of it, were asked to stop; what they hold stays allocated
 * until they have. */
struct gang__stop {
    struct gang__stop *next; /* of the gang */
    struct gang__stop *next_of_handover;
    struct gang__gang *gang;
    struct gang__handover *handover; /* for which; NULL: released as soon as they have stopped */
    gang_alloc_id alloc;
    int64_t *tasks;          /* numbers, ascending; NULL: all */
    size_t task_count, left; /* left: not stopped yet */
    int64_t *own;            /* numbers of all its tasks, ascending; with `tasks` the same */
    size_t own_count;
    int64_t *still;            /* of these, the `left` ones; in the block of `own` */
    struct gang_placement *to; /* where the gang starts again, if it is moved */
    int64_t to_count;
    int64_t deadline_ns;
    int32_t reason;
    bool suspends; /* the places were recorded when the stop was made */
    bool stopped;  /* all its tasks have stopped */
    bool released; /* what they held was given back */
    bool deferred; /* stopped, and could not be released yet: in sched.stop.deferred */
    bool counted;  /* in gang->stop.unreleased */
};

/* Capacity that is being freed for a gang: what stops, and what was free already and is kept. */
struct gang__handover {
    struct gang__handover *next;
    struct gang__gang *taker; /* NULL: it gave up */
    struct gang__stop *stops;
    struct gang_placement *places; /* where the taker is to go */
    int64_t place_count;
    int32_t grow_group;   /* of a taker that runs; -1: its gang starts */
    gang_alloc_id *holds; /* what is kept free for it */
    size_t hold_count, hold_cap;
    int32_t reason;
    bool charged;          /* its queues count what it is about to get, */
    bool counted_promised; /* and its job as one that is about to run */
};

#endif
