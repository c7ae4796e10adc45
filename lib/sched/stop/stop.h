/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_STOP_H
#define GANG__SCHED_STOP_H

#include "sched/record/state.h"

/* Hooks of a higher floor: called when a gang stops or an allocation is released.
 * gang_sched_new() sets them once. */
struct gang__stop_hooks {
    void (*detached)(gang_sched *s, struct gang__gang *g); /* the gang left its allocation */
    void (*stopped)(gang_sched *s, gang_alloc_id alloc);   /* the holder has stopped */
    void (*released)(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks,
                     size_t count); /* tasks (NULL: all) were given back */
};

/* Stop tasks (NULL: all) of a gang in two steps. gang__stop_new() allocates all memory (NULL: out
 * of memory). gang__stop_begin() asks the host and cannot fail. gang__stop_discard() frees a stop
 * that did not begin. */
struct gang__stop *gang__stop_new(gang_sched *s, struct gang__gang *g, const int64_t *tasks,
                                  size_t count, int32_t reason);
void gang__stop_discard(gang_sched *s, struct gang__stop *stop);
int32_t gang__stop_begin(gang_sched *s, struct gang__stop *stop, gang_job_id because,
                         struct gang__handover *handover, int32_t end);

/* The two steps of gang__stop_begin(). Many stops for one taker take each step together, so that
 * the books are right whenever the host is called. _book(): the tasks leave usage; what the host
 * has not heard of has stopped. The host is not called. _request(): the host is asked; returns as
 * _begin(). */
void gang__stop_book(gang_sched *s, struct gang__stop *stop, gang_job_id because,
                     struct gang__handover *handover, int32_t end);
int32_t gang__stop_request(gang_sched *s, struct gang__stop *stop);

/* Where the gang, or those of its tasks, start again when it has stopped: it moves. False: out of
 * memory. */
bool gang__stop_note_target(gang_sched *s, struct gang__stop *stop, const struct gang_placement *to,
                            size_t count);

/* The same for what stops of a job that a host restores, which was asked before. A fence has
 * gang__fence_restore() (lifecycle). ends_after: the job, which a host restores, ends, or waits
 * again, when its last task has stopped. */
struct gang__stop *gang__stop_new_kept(gang_sched *s, struct gang__gang *g,
                                       const struct gang__kept_stop *kept);
void gang__stop_restore(gang_sched *s, struct gang__stop *stop, const struct gang__kept_stop *kept);
void gang__job_ends_after(struct gang__job *job, int32_t reason);

/* Of a restored job: adopt what its gang has left, and a handover keeps. GANG_OK; GANG_ENOMEM; as
 * gang_alloc_adopt(). _drop(): release what the gang (NULL: any) has so. _hand_over(): the handover
 * gets what is kept for its taker. */
gang_result gang__kept_make(gang_sched *s, struct gang__gang *g, gang_request *request,
                            const struct gang__kept_stop *kept, struct gang_error *error);
void gang__kept_drop(gang_sched *s, const struct gang__gang *g);
void gang__kept_hand_over(gang_sched *s, struct gang__handover *handover);

/* Both steps without a handover: ask tasks (NULL: all) of a gang to stop. What the tasks hold
 * leaves usage now. end: how the job ends when all its tasks have stopped (GANG_END_NONE: the job
 * waits again). GANG_OK: the tasks stopped at once; 1: they are stopping; GANG_ENOMEM: nothing
 * happened. */
int32_t gang__stop_tasks(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count,
                         int32_t reason, int32_t end);

/* The host does not know a gang that runs: it has stopped, and its job ends. GANG_OK; GANG_ENOMEM:
 * nothing happened. */
gang_result gang__stop_unknown(gang_sched *s, struct gang__gang *g);

/* Release tasks of an allocation, regardless of minima, or all of it. Like
 * gang__alloc_remove_tasks() and gang_alloc_free(), but both retry for a while if another thread
 * reads the allocation. */
gang_result gang__give_back_tasks(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks,
                                  size_t count);
gang_result gang__give_back_all(gang_sched *s, gang_alloc_id alloc);

/* Release tasks of a gang that runs on (g; NULL: of no gang), or all (tasks NULL) of an
 * allocation without a gang. Cannot fail. If another thread still reads the allocation, the
 * release is deferred: a later run does it when it begins, or gang_sched_free(). */
void gang__give_back_or_defer(gang_sched *s, struct gang__gang *g, gang_alloc_id alloc,
                              const int64_t *tasks, size_t count);
void gang__deferred_releases_run(gang_sched *s);

/* The job leaves memory: handovers and deferred releases may still keep what its gangs held. */
void gang__stops_forget(gang_sched *s, const struct gang__job *job);

void gang__deferred_releases_free(gang_sched *s);

/* Release all of an allocation except what a handover keeps. The handover releases the rest. */
void gang__give_back_unheld(gang_sched *s, gang_alloc_id alloc);

/* Was this task of the gang's allocation asked to stop? True also for a stopped task if a
 * handover keeps what it held. */
bool gang__stop_asked(const gang_sched *s, const struct gang__gang *g, int64_t task);

/* These tasks (NULL: all) of a gang have stopped, after they were asked to. */
void gang__stop_tasks_gone(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count);
void gang__stop_due(gang_sched *s, struct gang__job *job); /* kills after the grace */
void gang__handover_give_up(gang_sched *s, struct gang__handover *handover);

/* ---- fence.c: tasks that are lost, and may still run ---- */

/* Fence tasks (ascending) of a gang in two steps, as above. gang__fence_begin(): the tasks, which
 * leave g->has and enter g->stop.fenced between gang__usage_out() and _in(), keep their places
 * until `until_ns` (INT64_MAX: until the host reports). */
struct gang__stop *gang__fence_new(gang_sched *s, struct gang__gang *g,
                                   const struct gang__found *tasks);
void gang__fence_begin(gang_sched *s, struct gang__stop *fence, int64_t until_ns);

/* When a fence of the gang ends that begins now. */
int64_t gang__fence_until(const gang_sched *s, const struct gang__gang *g);

/* A stop of the gang that is no fence. NULL: there is none. */
struct gang__stop *gang__stop_not_fenced(const struct gang__gang *g);

/* Is the task fenced? */
bool gang__fence_has(const struct gang__gang *g, int64_t task);

/* The task shows that it still runs: its fence begins again. */
void gang__fence_renew(gang_sched *s, struct gang__gang *g, int64_t task);

/* The gang of the stop moves: its new places are kept, and its queues count it as about to run. */
void gang__move_begin(gang_sched *s, struct gang__stop *stop);

/* End the move of the gang to other places, if it has one. */
void gang__move_end(gang_sched *s, struct gang__gang *g);

/* Compares task numbers, for bsearch() and qsort(). */
int gang__by_number(const void *a, const void *b);

/* Begin a handover: the taker leaves the wait order, and the free capacity of its places is
 * kept. */
void gang__handover_begin(gang_sched *s, struct gang__handover *handover);
/* Keeps what is free of these places. Both snapshots are those of the attempt. */
void gang__handover_hold(gang_sched *s, struct gang__handover *handover,
                         const struct gang_placement *places, int64_t place_count);
struct gang__handover *gang__handover_new(gang_sched *s, struct gang__gang *taker,
                                          const struct gang__places *places, int32_t grow_group,
                                          int32_t reason);

/* For grant/handover_finish.c: */

/* Add what the taker is about to get to the usage of its queues (1), or subtract it (-1). */
void gang__handover_count_usage(gang_sched *s, struct gang__handover *handover, int64_t sign);
/* Release the free capacity that is kept for the taker; free the record. */
void gang__handover_release_holds(gang_sched *s, struct gang__handover *handover);
void gang__handover_free(gang_sched *s, struct gang__handover *handover);
/* Release what the stopped tasks held; free the record. */
void gang__stop_release(gang_sched *s, struct gang__stop *stop);
/* The same without waking what waits for capacity: the caller notes what the taker leaves. False:
 * the release is deferred. */
bool gang__stop_release_to_taker(gang_sched *s, struct gang__stop *stop);
/* The same of all stops of a handover (next_of_handover). False: a release is deferred. */
bool gang__stops_release_to_taker(gang_sched *s, struct gang__stop *stops);
void gang__stop_free(gang_sched *s, struct gang__stop *stop);
/* Does the gang of the stop move to other places? The move failed: the gang waits like others. */
bool gang__stop_is_moving(const struct gang__stop *stop);
void gang__move_failed(gang_sched *s, struct gang__gang *g);

/* Take the running tasks of the gang out of usage and of the victim orders. The caller frees the
 * allocation. */
void gang__gang_clear(gang_sched *s, struct gang__gang *g);

#endif
