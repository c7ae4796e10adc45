/* SPDX-License-Identifier: Apache-2.0 */
/* Affinity between jobs: the nodes that rules bar, also while other gangs are being placed. */
#ifndef GANG__PLACE_PEERS_H
#define GANG__PLACE_PEERS_H

#include "place/fit/node_plan.h"
#include "place/state/records.h"

/* Reads the other jobs for a request with labels or rules, or for one that wants its nodes alone:
 * p->others as of now. Part of gang__plan_begin(). GANG_ENOMEM. */
gang_result gang__peers_begin(struct gang__plan *p);

/* Do the rules of the job, and those of others on it, admit a node? */
bool gang__peers_admit(struct gang__plan *p, const struct gang__node *node);

/* Before the commit of a plan: publishes its tasks, then reads the other jobs again. GANG_ENOFIT:
 * another gang came between; GANG_ENOMEM; in both cases its tasks are withdrawn. */
gang_result gang__peers_enter(gang_worker *w, struct gang__plan *p);
/* After it: they run; or they do not. Neither can fail. */
void gang__peers_settle(gang_worker *w, struct gang__plan *p);
void gang__peers_leave(gang_worker *w, struct gang__plan *p);

/* The tasks with these keys {slot, offset in data}, by slot, are given back. */
void gang__peers_release(gang_worker *w, const struct gang__alloc *a, const uint64_t *keys,
                         size_t count);

/* Count the tasks of a record that was not made by a plan. False: out of memory, some are
 * counted. */
bool gang__peers_count(gang_cluster *c, const struct gang__alloc *a);

/* Do the label counts agree with the live allocations? While no thread changes the cluster. */
gang_result gang__peers_check(gang_cluster *c, struct gang_error *error);

/* ---- nodes alone: exclusive_fit.c ---- */

/* The view of a node that the running allocation has alone, or NULL. */
struct gang__view *gang__exclusive_own_view(const struct gang__plan *p, gang_node_id id);

/* Part of gang__plan_begin(): nodes are barred; on those that the running allocation has, the plan
 * finds free what it holds beside its tasks. GANG_ENOMEM. */
gang_result gang__exclusive_begin(struct gang__plan *p);

/* Is the node free by the words that were read, or does the allocation have it already? */
bool gang__exclusive_admits(const struct gang__view *v, const uint64_t *was);

#endif
