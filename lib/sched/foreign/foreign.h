/* SPDX-License-Identifier: Apache-2.0 */
/* Processes on nodes that no job has in the books: see README.md. */
#ifndef GANG__SCHED_FOREIGN_H
#define GANG__SCHED_FOREIGN_H

#include "place/alloc/alloc.h"
#include "sched/record/state.h"

/* Claims on a node replace those that it had. A claim with a task goes when that task is released.
 * Says in each claim what is short of it. `of`: one a claim.
 * GANG_OK; GANG_ESTALE (no such node); GANG_EBUSY (another thread reads what is held); GANG_ENOMEM:
 * after an error other than GANG_ESTALE the claims are as before. */
gang_result gang__foreign_set(gang_sched *s, gang_node_id node, struct gang__claim *claim,
                              const struct gang__claim_of *of, size_t count);

/* A request of one task that asks for nothing, for allocations that hold what no job has. The
 * scheduler keeps it. NULL: out of memory. */
gang_request *gang__foreign_request(gang_sched *s);

/* The allocation that holds the claims on a node; GANG_ID_NONE: none. */
gang_alloc_id gang__foreign_alloc(const gang_sched *s, gang_node_id node);

/* Is some of what is claimed on the node taken? */
bool gang__foreign_wants(const gang_sched *s, gang_node_id node);

/* Tasks (NULL: all) of an allocation were released: claims that are short get it. */
void gang__foreign_released_some(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks,
                                 size_t count);
static inline void gang__foreign_released(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks,
                                          size_t count)
{
    if (s->foreign.count > 0)
        gang__foreign_released_some(s, alloc, tasks, count);
}

/* A run begins: forget nodes that were removed, try again what is short. */
void gang__foreign_look_all(gang_sched *s);
static inline void gang__foreign_look(gang_sched *s)
{
    if (s->foreign.count > 0)
        gang__foreign_look_all(s);
}

bool gang__foreign_copy(gang_sched *s, const gang_sched *from); /* false: out of memory */
void gang__foreign_free(gang_sched *s);                         /* releases what is held */

#endif
