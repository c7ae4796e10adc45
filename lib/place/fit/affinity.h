/* SPDX-License-Identifier: Apache-2.0 */
/* Affinity between jobs: the nodes that rules close to a gang, also while other gangs are being
 * placed. */
#ifndef GANG__PLACE_AFFINITY_H
#define GANG__PLACE_AFFINITY_H

#include "place/fit/fit_plan.h"
#include "place/state/records.h"

/* Does a rule close its level, while the job runs, to matching jobs that come later? */
static inline bool gang__affinity_excludes(const struct gang__affinity *rule)
{
    return !rule->colocate && !rule->soft;
}

/* ---- affinity.c ---- */

/* Reads the other jobs for a request with labels or rules, or with exclusive nodes: p->others as of
 * now. Part of gang__plan_begin(). GANG_ENOMEM. */
gang_result gang__affinity_begin(struct gang__plan *p);

/* Reads what the rules that must hold, the first `soft_count` soft ones, and the rules of other
 * jobs say now. False: out of memory. */
bool gang__affinity_read(struct gang__plan *p, uint32_t soft_count);

/* Do the rules of the job, and those of other jobs, admit the job to a node? */
bool gang__affinity_admits(struct gang__plan *p, const struct gang__node *node);

/* ---- affinity_publish.c ---- */

/* Before the commit of a plan: publishes its tasks, then reads the other jobs again. GANG_ENOFIT:
 * another gang came between; GANG_ENOMEM; in both cases its tasks are withdrawn. */
gang_result gang__affinity_register(gang_worker *w, struct gang__plan *p);
/* After the commit: the tasks run; or the commit failed. Neither can fail. */
void gang__affinity_confirm(gang_worker *w, struct gang__plan *p);
void gang__affinity_withdraw(gang_worker *w, struct gang__plan *p);

/* Stops counting the tasks with these keys {slot, offset in data}, sorted by slot: they ended. */
void gang__affinity_release(gang_worker *w, const struct gang__alloc *a, const uint64_t *keys,
                            size_t count);

/* Counts the tasks of a record that was not made by a plan. False: out of memory, some are
 * counted. */
bool gang__affinity_count(gang_cluster *c, const struct gang__alloc *a);

/* ---- affinity_audit.c ---- */

/* Do the label counts agree with the live allocations? Only while no thread changes the cluster. */
gang_result gang__affinity_check(gang_cluster *c, struct gang_error *error);

#endif
