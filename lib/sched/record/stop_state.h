/* SPDX-License-Identifier: Apache-2.0 */
/* Stops and handovers (owner: stop). */
#ifndef GANG__SCHED_STOP_STATE_H
#define GANG__SCHED_STOP_STATE_H

#include "sched/record/types.h"

/* A stop: tasks of a running gang, or all of them, were asked to stop. Their places stay allocated
 * until all of them have stopped. Or a fence: tasks were lost, and may still run. */
struct gang__stop {
    struct gang__stop *next; /* of the gang */
    struct gang__stop *next_of_handover;
    struct gang__gang *gang;
    struct gang__handover *handover; /* gets the places; NULL: they are released */
    gang_alloc_id alloc;
    int64_t *tasks;          /* numbers, ascending; NULL: all */
    size_t task_count, left; /* left: not stopped yet */
    int64_t *own;            /* numbers of all its tasks, ascending; with `tasks` the same */
    size_t own_count;
    int64_t *still;     /* of these, the `left` ones; in the block of `own` */
    int64_t *by_group;  /* the number of them in each group, without those that move; there */
    uint32_t groups;    /* 0: a deferred release of no gang */
    uint32_t partition; /* of the gang, in which they ran */
    struct gang_placement *to; /* where the gang starts again, if it is moved */
    int64_t to_count;
    int64_t deadline_ns; /* end of the grace: then it is killed */
    /* When it is asked again, killed, or over unless the host reports; INT64_MAX: when it reports.
     */
    int64_t next_ns;
    gang_job_id because; /* as the op says: for which job, */
    int32_t end;         /* and how its job ends */
    int32_t reason;
    bool asked;    /* the host was asked: it knows what is to stop */
    bool has_run;  /* the host has heard of the start of the gang: it is asked */
    bool killed;   /* the host killed it, and is still to report */
    bool suspends; /* the gang resumes later at its places, which are recorded */
    bool stopped;  /* all its tasks have stopped */
    bool released; /* their places were given back */
    bool deferred; /* stopped, and the release is deferred: in sched.stop.deferred */
    bool counted;  /* in gang->stop.unreleased */
    bool fenced;   /* no op asks for it: the tasks are lost, and may still run; until next_ns */
    int64_t *held; /* fenced: how many of them each group of the gang has; else NULL */
    bool holds;    /* in `stopping` of its queues (usage/held.c) */
    /* > 0: a host restored it, and `because` may have to get a handover of it; handovers begin in
     * the order of these numbers */
    int32_t restored;
    int32_t starts_as; /* restored: why `because` starts then; untold: why its gang started */
    bool gave_up; /* restored: it does not move to `to`; what is free there is kept all the same */
    bool untold, took; /* the host had not heard of the start of its gang; others stopped for it */
};

/* A handover: capacity on its way to a gang (the taker). Victims stop for it, and free capacity at
 * its places is kept for it. */
struct gang__handover {
    struct gang__handover *next;
    struct gang__gang *taker; /* NULL: it gave up; the victims stop all the same */
    struct gang__stop *stops;
    struct gang_placement *places; /* where the taker is to go */
    int64_t place_count;
    int32_t grow_group; /* of a taker that runs; -1: its gang starts */
    int64_t starts_ns;  /* its places were chosen for a start by then */
    struct gang__handover_hold {
        gang_node_id node;
        gang_alloc_id alloc; /* holds what was free there of its places */
    } * holds;
    size_t hold_count, hold_cap;
    int32_t reason;
    bool charged;                /* its queues count what it is about to get, */
    bool counted_promised;       /* and its job as one that is about to run */
    int64_t promise[GANG__DIMS]; /* so much (usage/held.c). Of each queue above the taker, what */
    int64_t *below;              /* victims hold below it: [depth of the queue][dimension]; NULL: */
    uint32_t dims;               /* the promise covers nothing */
};

#endif
