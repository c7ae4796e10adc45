/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: amounts of GPU memory, bounds in force, victims. */
#ifndef GANG__SCHED_USAGE_IN_H
#define GANG__SCHED_USAGE_IN_H

#include "queue/fairness/fairness.h"
#include "sched/usage/usage.h"

/* The kinds that the user limit of a leaf counts, as a mask; 0: it has no user limit. Its minimum,
 * factor, guarantee and limit, as gang__user_limit() takes them. */
uint32_t gang__user_limit_kinds(const gang_sched *s, const struct gang__queue_state *leaf);
void gang__user_limit_settings(const struct gang__queue_state *leaf, struct gang__user_limit *to);

/* Milli-GPUs that the asked memory of one device comes to. Maximum: on the smallest device that
 * has so much; minimum: on the largest device. 1000: no device has so much. */
int64_t gang__gpu_memory_max_share(const gang_sched *s, int64_t asked);
int64_t gang__gpu_memory_min_share(const gang_sched *s, int64_t asked);

/* Milli-GPUs that a task of the group takes at least. */
int64_t gang__gpu_least(const gang_sched *s, const struct gang__group *g);

/* Computes what a class takes whose tasks are not known before placing: choices.c. */
void gang__choices_refresh(const gang_sched *s, struct gang__request_class *request_class);

/* Called before the amounts of a request class by memory are computed. If it is the only such
 * class, reads the devices of the nodes as they are. False: out of memory. */
bool gang__gpu_memory_begin(gang_sched *s);

/* Limits and guarantees in force changed: decides again which wait classes are bounded. */
void gang__demand_apply_bounds(gang_sched *s);

/* Takes demand that does not count out of `demand` of each queue, before shares are divided.
 * Returns the dimensions in which that changed, as a mask. O(1) where no class is bounded and no
 * queue below another has a limit of its own; otherwise O(bounded classes + queues). */
uint64_t gang__demand_withhold(gang_sched *s);

/* What a division counts as demand of a queue: used and lacking, up to the limit. */
static inline int64_t gang__share_demand(const struct gang__queue_state *q, uint32_t dim)
{
    int64_t demand = q->used[dim] + q->demand[dim];
    return demand < q->limit[dim] ? demand : q->limit[dim];
}

/* Does the queue get `counted`, its demand, if the demand of all its siblings fits? Above its
 * guarantee not with a weight of 0, or one that follows past use. */
static inline bool gang__share_may_be_demand(const struct gang__queue_state *q, uint32_t dim)
{
    return q->counted[dim] <= q->guarantee[dim] || (!q->past_use && q->q->weight[dim] != 0);
}

/* True: the share changes. */
bool gang__share_set(gang_sched *s, struct gang__queue_state *q, uint32_t dim, int64_t share);

/* Sets the shares on the paths of the noted leaves to what the queues demand, in the dimensions of
 * the mask. Returns those in which the totals are to be divided instead; nothing is set there. */
uint64_t gang__share_moved(gang_sched *s, uint64_t dims);

/* The number of the gang's tasks changed: enters it into the elastic victims, or takes it out. */
void gang__victims_settle_elastic(struct gang__gang *g);

#endif
