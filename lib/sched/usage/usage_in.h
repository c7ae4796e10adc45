/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: amounts of GPU memory, bounds in force, victims. */
#ifndef GANG__SCHED_USAGE_IN_H
#define GANG__SCHED_USAGE_IN_H

#include "sched/usage/usage.h"

/* Milli-GPUs that the asked memory of one device comes to. Maximum: on the smallest device that
 * has so much; minimum: on the largest device. 1000: no device has so much. */
int64_t gang__gpu_memory_max_share(const gang_sched *s, int64_t asked);
int64_t gang__gpu_memory_min_share(const gang_sched *s, int64_t asked);

/* Called before the amounts of a request class by memory are computed. If it is the only such
 * class, reads the devices of the nodes as they are. False: out of memory. */
bool gang__gpu_memory_begin(gang_sched *s);

/* The number of the gang's tasks changed: enters it into the elastic victims, or takes it out. */
void gang__victims_settle_elastic(struct gang__gang *g);

#endif
