/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_CYCLE_H
#define GANG__SCHED_CYCLE_H

#include "sched/record/state.h"

/* What one that was suspended takes when it resumes: all that it had. Returns how many kinds. */
uint32_t gang__gang_resumes_with(gang_sched *s, const struct gang__gang *u,
                                 struct gang__take take[GANG__DIMS]);

/* Try to grant the unit whose turn it is. True: something was granted. */
bool gang__start_try(gang_sched *s, struct gang__gang *u);

/* It has got this allocation: note it, tell the host. False: the host refused, all is undone. */
bool gang__start_done(gang_sched *s, struct gang__gang *u, gang_alloc_id alloc, int32_t reason);

/* The rest of it, where it takes turns: its first one has come. */
bool gang__start_tell(gang_sched *s, struct gang__gang *u, int32_t reason);

/* It holds its gang, but does not run: give that back, and it waits again, not before then. */
void gang__start_undo(gang_sched *s, struct gang__gang *u, int64_t not_before_ns);

/* How many tasks of the group come together when it grows: one, a slice, or what is missing of
 * its minimum. */
int64_t gang__gang_step(const struct gang__gang *u, uint32_t group);

/* May it have its gang, or so many tasks of a group, as far as queues are concerned? */
bool gang__start_may(gang_sched *s, struct gang__gang *u, int32_t grow_group, int64_t times);

/* More tasks were granted. */
bool gang__grow_done(gang_sched *s, struct gang__gang *u, const int64_t *tasks, size_t count,
                     const int64_t *by_group);

/* What a callback about a unit begins with. */
struct gang_event gang__event_of(const gang_sched *s, const struct gang__gang *u, int32_t reason,
                                 const char *text);

/* YARN's user limit for the unit's user, by kind; `gang`: what it asks for. True: it is beyond.
 * False, with nothing in `limit`, also where there is none. */
bool gang__user_limits(gang_sched *s, const struct gang__gang *u, const int64_t *gang,
                       int64_t *limit);

/* Are the nodes of these places there and up? GANG_OK; GANG_ENOFIT: not up now; GANG_ESTALE: one
 * is gone. */
gang_result gang__places_up(gang_sched *s, const struct gang_placement *place, int64_t count);

/* The number that the next task of an allocation gets. */
uint32_t gang__next_number(gang_sched *s, gang_alloc_id id);

/* Take the counts of a unit from its allocation. */
bool gang__gang_count(gang_sched *s, struct gang__gang *u);

/* Its gang, as place likes it best: *why tells why not. */
gang_result gang__alloc_gang(gang_sched *s, struct gang__gang *u, gang_alloc_id *id, int32_t *why);

/* As gang_sched_next(), but for turns of gangs that slice. */
int64_t gang__sched_due(gang_sched *s);

/* Take in what waits, at this time, and nothing more: the beginning of a run. */
gang_result gang__sched_take_in(gang_sched *s, int64_t now_ns);
void gang__log(gang_sched *s, int32_t level, const char *fmt, ...) GANG__PRINTF(3, 4);

#endif
