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

/* The number of the gang's tasks changed: enters it into the elastic victims, or takes it out. */
void gang__victims_settle_elastic(struct gang__gang *g);

#endif
