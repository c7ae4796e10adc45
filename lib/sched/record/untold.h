/* SPDX-License-Identifier: Apache-2.0 */
/* Grants that the host has not heard of: starts, and tasks added to gangs. They are in force: usage
 * and orders count them. But as long as the run decides, a gang that is entitled to more may take
 * them like running tasks (sched/preempt); then the host never hears of them, and no work is
 * lost. When nothing is left to decide, sched/grant tells the host; between runs there are none. */
#ifndef GANG__SCHED_UNTOLD_H
#define GANG__SCHED_UNTOLD_H

#include "sched/record/sched_state.h"

/* Memory for `count` more tasks. False: out of memory. */
bool gang__untold_reserve(gang_sched *s, struct gang__gang *g, size_t count);

/* Note tasks of a gang, for which memory was reserved, or its start. With start_full
 * (gang_job_spec) a start brings all tasks: none are noted beside it. */
void gang__untold_add(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count,
                      int32_t reason);
void gang__untold_start(gang_sched *s, struct gang__gang *g, int32_t reason);

/* The stop takes these untold tasks back; NULL: the start of its gang. */
void gang__untold_taken(gang_sched *s, const struct gang__stop *stop, const int64_t *tasks,
                        size_t count);

#ifdef GANG_TEST_HOOKS
/* For tests that follow the decisions of a run: what is granted, and what is taken back, with the
 * job that gets it (preemptor). tasks is NULL for a start. NULL: no hook. */
typedef void (*gang__untold_hook_fn)(const struct gang_event *e, bool granted);
extern gang__untold_hook_fn gang__untold_hook;
#endif

/* The host hears of the start now; what was added since is told later. If it accepts, the places
 * where the gang was suspended are not needed any more. */
void gang__untold_start_told(gang_sched *s, struct gang__gang *g);
void gang__untold_places_free(gang_sched *s, struct gang__gang *g);

/* While op start is under way: public calls do not show what was added since. */
void gang__untold_hide(gang_sched *s, struct gang__gang *g, bool hide);

/* Tasks of the gang that public calls show. */
static inline int64_t gang__tasks_told(const struct gang__gang *g)
{
    return g->untold.start ? 0 : g->tasks - (g->untold.hidden ? (int64_t)g->untold.count : 0);
}

/* The host has heard of all of it, or need not. A gang that was to resume is suspended again. */
void gang__untold_forget(gang_sched *s, struct gang__gang *g);

#endif
