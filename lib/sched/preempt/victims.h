/* SPDX-License-Identifier: Apache-2.0 */
/* Who may be displaced at all, of some leaves, in the order in which they fall: lowest priority;
 * tasks above a minimum before whole gangs; newest first. Whether a taker may take them is not
 * asked here. */
#ifndef GANG__SCHED_VICTIMS_H
#define GANG__SCHED_VICTIMS_H

#include "sched/preempt/preempt_in.h"

/* Look through the leaf `mine` (own) and all others (others), from the first on. False: out of
 * memory. */
bool gang__victims_open(gang_sched *s, const struct gang__queue_state *mine, bool own, bool others);
/* The next victim of all leaves; false: there is none. */
bool gang__victims_next(gang_sched *s, struct gang__victim *out);
/* The next is none of its leaf that would fall as the last one does, whole or task by task. */
void gang__victims_pass(gang_sched *s);
void gang__victims_close(gang_sched *s);

bool gang__may_fall_whole(const struct gang__gang *u);

#endif
