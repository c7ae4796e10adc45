/* SPDX-License-Identifier: Apache-2.0 */
/* A report about all that runs on a node, between report_places.c and place_conflicts.c. */
#ifndef GANG__SCHED_PLACES_IN_H
#define GANG__SCHED_PLACES_IN_H

#include "place/alloc/alloc.h"
#include "sched/record/state.h"

struct gang__places_report {
    gang_sched *s;
    gang_node_id node;
    struct gang_node_info info; /* of the node */
    const struct gang__real_place *place;
    size_t count;
    bool complete; /* GANG_PLACES_COMPLETE */
    bool moved;    /* the books of some task followed */
    /* count of each: */
    const struct gang__real_place **sorted; /* the places, by job, gang and task */
    int32_t *outcome;                       /* of each place GANG_CONFLICT_*; 0: none so far */
    struct gang__claim *claim;              /* what each place uses that no job has */
    struct gang__claim_of *of;
    struct gang__real_task *task; /* the known ones, task_count of them, */
    size_t *place_of;             /* and the place of each */
    size_t task_count;
};

/* Report the conflicts to the host. False: out of memory, none was reported. */
bool gang__places_tell(struct gang__places_report *r);

#endif
