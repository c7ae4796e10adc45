/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: what an occupation takes, with GPUs by memory. */
#ifndef GANG__SCHED_CALENDAR_IN_H
#define GANG__SCHED_CALENDAR_IN_H

#include "sched/calendar/calendar.h"

/* Do only time limits count, and no predictions? */
static inline bool gang__calendar_by_limit(const gang_sched *s)
{
    return s->reserve.count > 0 || s->reserve.placing;
}

/* The group of calendar.group[0...*count - 1] that needs just that, or one more. False: out of
 * memory. */
bool gang__calendar_group_like(gang_sched *s, const struct gang__time_group *like, size_t *count,
                               uint32_t *group);

/* Make the timeline again; it counts what the list says. False: out of memory, and all is as it
 * was. */
bool gang__calendar_make_counting(gang_sched *s, const struct gang__more_list *list);
/* What each slot has of the list, by s->scratch, an array of the caller; the timeline, which was
 * just made, counts it. False: out of memory. */
bool gang__calendar_take_more(gang_sched *s, const struct gang__more_list *list,
                              struct gang__timeline *timeline, uint32_t end, int64_t **capacity);
void gang__calendar_forget_costs(gang_sched *s);

/* Append the most that tasks at these places take, after gang__calendar_set_groups(); *groups are
 * needed. False: out of memory. */
bool gang__calendar_lay_out_memory(gang_sched *s, const struct gang__gang *g,
                                   const struct gang_placement *place, size_t count,
                                   size_t *groups);

/* The most that the groups asked for need on each node (calendar.kind, .variant), and in
 * calendar.group the least. False: out of memory. O(nodes). */
bool gang__calendar_memory_variants(gang_sched *s, const gang_request *request);

#endif
