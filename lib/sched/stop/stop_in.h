/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: making a stop, asking the host, and moving a gang. */
#ifndef GANG__SCHED_STOP_IN_H
#define GANG__SCHED_STOP_IN_H

#include "sched/stop/stop.h"

/* Is a gang stopped for another one: to preempt it, or to reclaim what it borrows? */
static inline bool gang__stop_is_for_others(int32_t reason)
{
    return reason == GANG_REASON_PREEMPT || reason == GANG_REASON_RECLAIM;
}

/* Ask the host to stop the tasks, for the first time; or what follows at `next_ns`: ask again, kill
 * them, or no longer wait for the report of a kill. True: the tasks have stopped. */
bool gang__stop_ask(gang_sched *s, struct gang__stop *stop);
bool gang__stop_ask_again(gang_sched *s, struct gang__stop *stop);

/* The host does not know the tasks: they have stopped. A job that it does not know ends. */
void gang__stop_unknown_to_host(gang_sched *s, struct gang__stop *stop);

/* Allocate the numbers of `tasks` tasks, and of those that have not stopped. False: out of
 * memory. */
bool gang__stop_alloc_tasks(gang_sched *s, struct gang__stop *stop, size_t tasks);

/* The stop covers these tasks alone. False: out of memory. */
bool gang__stop_name_tasks(gang_sched *s, struct gang__stop *stop, const int64_t *tasks,
                           size_t count);

/* The fence has ended: usage no longer counts its places, which the caller releases. */
void gang__fence_ended(gang_sched *s, struct gang__stop *fence);

/* The time of the fence has come: true; a line of op log says so. */
bool gang__fence_passed(gang_sched *s, const struct gang__stop *fence);
/* Tasks of the stop that have stopped hold their places until these are released: from now on
 * public calls do not show them. */
void gang__stop_mark(gang_sched *s, const struct gang__stop *stop);

#endif
