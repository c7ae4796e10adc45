/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: making a stop, and moving a gang. */
#ifndef GANG__SCHED_STOP_IN_H
#define GANG__SCHED_STOP_IN_H

#include "sched/stop/stop.h"

/* The gang of the stop moves: its new places are kept, and its queues count it as about to run. */
void gang__move_begin(gang_sched *s, struct gang__stop *stop);

/* Allocate the numbers of `tasks` tasks, and of those that have not stopped. False: out of
 * memory. */
bool gang__stop_alloc_tasks(gang_sched *s, struct gang__stop *stop, size_t tasks);

/* The stop covers these tasks alone. False: out of memory. */
bool gang__stop_name_tasks(gang_sched *s, struct gang__stop *stop, const int64_t *tasks,
                           size_t count);

#endif
