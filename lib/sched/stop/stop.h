/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_STOP_H
#define GANG__SCHED_STOP_H

#include "sched/record/state.h"

/* What a higher floor does when a gang stops or an allocation is given back. Set once, by
 * gang_sched_new(). */
struct gang__stop_hooks {
    void (*detached)(gang_sched *s, struct gang__gang *u); /* it lets go of its allocation */
    void (*stopped)(gang_sched *s, gang_alloc_id alloc);   /* what held it has stopped */
    void (*released)(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks,
                     size_t count); /* tasks (NULL: all) were given back */
};

/* Asking tasks (NULL: all) of a unit to stop, in two steps: all that needs memory (NULL: there
 * is none), and then the asking, which cannot fail. Whose asking is not come to is dropped. */
struct gang__stop *gang__stop_new(gang_sched *s, struct gang__gang *u, const int64_t *tasks,
                                  size_t count, int32_t reason);
void gang__stop_drop(gang_sched *s, struct gang__stop *leave);
int32_t gang__stop_begin(gang_sched *s, struct gang__stop *leave, gang_job_id because,
                         struct gang__handover *claim, int32_t end);

/* Both, for nobody. Ask tasks (NULL: all) of a unit to stop. What they hold leaves the books
 * now. end: what becomes of the job when all of it has stopped (GANG_END_NONE: it waits again).
 * GANG_OK: gone at once; 1: they are stopping; GANG_ENOMEM: nothing happened. */
int32_t gang__stop_ask(gang_sched *s, struct gang__gang *u, const int64_t *tasks, size_t count,
                       int32_t reason, gang_job_id because, int32_t end);

/* Give back tasks of an allocation whatever minima say, and all of it: as gang__alloc_remove_tasks() and
 * gang_alloc_free(), but with some patience for threads that read it just now. */
gang_result gang__give_tasks(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks,
                             size_t count);
gang_result gang__give_all(gang_sched *s, gang_alloc_id alloc);

/* Give it back in any case: tasks (of a unit that runs on, or NULL), or all (NULL) of an allocation that is no
 * unit's. What cannot be given now, as somebody still reads it, is owed: it is given at the beginning of a later
 * run, or with the scheduler. */
void gang__give_surely(gang_sched *s, struct gang__gang *u, gang_alloc_id alloc,
                       const int64_t *tasks, size_t count);
void gang__deferred_releases_run(gang_sched *s);
void gang__deferred_releases_free(gang_sched *s);

/* All of it but what has stopped and is kept for somebody; that is given back with the claim. */
void gang__give_rest(gang_sched *s, gang_alloc_id alloc);

/* Was this task of its allocation asked to stop? Also if it has, and what it held is kept for
 * somebody. */
bool gang__stop_asked(const gang_sched *s, const struct gang__gang *u, int64_t task);

/* These tasks (NULL: all) of a unit that was asked to stop have. */
void gang__stop_tasks_gone(gang_sched *s, struct gang__gang *u, const int64_t *tasks, size_t count);
void gang__stop_due(gang_sched *s, struct gang__job *job); /* deadlines that have passed */
void gang__handover_give_up(gang_sched *s, struct gang__handover *claim);

/* It is not on its way to another place any more, if it was. */
void gang__move_end(gang_sched *s, struct gang__gang *u);

/* Its job is to run, and does not yet: those that may run at once are only so many. */
void gang__handover_comes(struct gang__handover *claim, bool comes);

/* Order of numbers of tasks, for bsearch() and qsort(). */
int gang__by_number(const void *a, const void *b);

/* Begin to wait: the taker is out of turn, and what is free already of its places is kept. */
void gang__handover_begin(gang_sched *s, struct gang__handover *claim);
struct gang__handover *gang__handover_new(gang_sched *s, struct gang__gang *taker,
                                          const struct gang__places *told, int32_t grow_group,
                                          int32_t reason);

/* For grant/handover_finish.c: */

/* Count what the taker is about to get in the usage of its queues (1), or no more (-1). */
void gang__handover_count(gang_sched *s, struct gang__handover *c, int64_t sign);
/* Release what is kept free for the taker; and the record. */
void gang__handover_release_holds(gang_sched *s, struct gang__handover *c);
void gang__handover_free(gang_sched *s, struct gang__handover *c);
/* Release what a stopped gang or task held; and the record. */
void gang__stop_release(gang_sched *s, struct gang__stop *l);
void gang__stop_free(gang_sched *s, struct gang__stop *l);
/* Is its gang to start again elsewhere? It could not: it waits like others. */
bool gang__stop_is_moving(const struct gang__stop *l);
void gang__move_failed(gang_sched *s, struct gang__gang *u);

/* What runs of the gang leaves usage and the orders; its allocation is for the caller to free. */
void gang__gang_clear(gang_sched *s, struct gang__gang *u);

/* ---- between the files of this folder ---- */

/* The gang of the stop is asked to go elsewhere: its new places are kept, and its queues count it. */
void gang__move_begin(gang_sched *s, struct gang__stop *l);

/* Memory for the numbers of `tasks` tasks, and for those that have not stopped. False: none. */
bool gang__stop_alloc_tasks(gang_sched *s, struct gang__stop *l, size_t tasks);
/* The stop is of these tasks alone. False: out of memory. */
bool gang__stop_name_tasks(gang_sched *s, struct gang__stop *l, const int64_t *tasks, size_t count);

#endif
