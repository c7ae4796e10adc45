/* SPDX-License-Identifier: Apache-2.0 */
/* Affinity between jobs: the nodes that rules bar, also while other gangs are being placed. */
#ifndef GANG__PLACE_AFFINITY_H
#define GANG__PLACE_AFFINITY_H

#include "place/fit/fit_plan.h"
#include "place/state/records.h"

/* Reads the other jobs for a request with labels or rules, or for one that wants its nodes alone:
 * p->others as of now. Part of gang__plan_begin(). GANG_ENOMEM. */
gang_result gang__affinity_begin(struct gang__plan *p);

/* Do the rules of the job, and those of others on it, admit a node? */
bool gang__affinity_admits(struct gang__plan *p, const struct gang__node *node);

/* Before the commit of a plan: publishes its tasks, then reads the other jobs again. GANG_ENOFIT:
 * another gang came between; GANG_ENOMEM; in both cases its tasks are withdrawn. */
gang_result gang__affinity_register(gang_worker *w, struct gang__plan *p);
/* After it: they run; or they do not. Neither can fail. */
void gang__affinity_confirm(gang_worker *w, struct gang__plan *p);
void gang__affinity_withdraw(gang_worker *w, struct gang__plan *p);

/* The tasks with these keys {slot, offset in data}, by slot, are given back. */
void gang__affinity_release(gang_worker *w, const struct gang__alloc *a, const uint64_t *keys,
                            size_t count);

/* Count the tasks of a record that was not made by a plan. False: out of memory, some are
 * counted. */
bool gang__affinity_count(gang_cluster *c, const struct gang__alloc *a);

/* Do the label counts agree with the live allocations? While no thread changes the cluster. */
gang_result gang__affinity_check(gang_cluster *c, struct gang_error *error);

#endif
