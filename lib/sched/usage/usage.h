/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_USAGE_H
#define GANG__SCHED_USAGE_H

#include "sched/record/state.h"

/* The ask of what is wanted; takes over the reference to it. NULL: out of memory, nothing was
 * taken. */
struct gang__request_class *gang__class_ref(gang_sched *s, struct gang__request_text *w);
void gang__class_unref(gang_sched *s, struct gang__request_class *ask);

/* Make out what it takes, in the dimensions that are in force. False: out of memory. */
bool gang__class_refresh(gang_sched *s, struct gang__request_class *ask);
void gang__key_make(struct gang__key *k, const struct gang_mem *mem,
                    const struct gang_request_spec *spec);
void gang__key_free(struct gang__key *k);

/* Takes over the reference to the request. NULL: out of memory, it does not. Any thread. */
struct gang__request_text *gang__request_text_new(const struct gang__key *k, gang_request *q);
void gang__request_text_unref(const struct gang_mem *mem, struct gang__request_text *w);

/* Milli-GPUs that so much memory of one device comes to: of the least device that has it, of the largest. 1000: none
 * has. */
int64_t gang__memory_most(const gang_sched *s, int64_t asked);
int64_t gang__memory_least(const gang_sched *s, int64_t asked);

/* Before an ask by memory is made out: if it is the only one, by the nodes as they are. False: out of memory. */
bool gang__memories_begin(gang_sched *s);

/* At the beginning of a run: if there are other devices now, what asks by memory come to is made out anew, and with it
 * what queues use. Out of memory: the next run does it. */
void gang__memories_refresh(gang_sched *s);

/* A copy goes by the same, before it has asks; and looks it up anew when the other does. False: out of memory. */
bool gang__memories_copy(gang_sched *s, const gang_sched *from);
void gang__memories_settle(gang_sched *s, const gang_sched *from);

/* What a unit holds and lacks leaves the books of its queues, and enters them. Around every
 * change of what they are made from: has, done, target, wanted, the job's preemptible, the leaf. */
void gang__usage_out(gang_sched *s, struct gang__gang *u);
void gang__usage_in(gang_sched *s, struct gang__gang *u);

/* Add (or with sign -1 take) `times` what a group's task takes, to what the leaf and all above
 * use. */
void gang__usage_shift(struct gang__queue_state *leaf, const struct gang__request_class *ask,
                       uint32_t group, int64_t times);

/* Add `times` (or, negative, take) what is promised to a unit and not yet held: its gang
 * (grow_group < 0), or a task of that group. Its queues and its user use it, and have it fixed
 * if nobody is to take it from him. */
void gang__usage_promise(struct gang__gang *u, int32_t grow_group, int64_t times);

/* Is what it gets never taken from it: its gang, or (grows) a task more? */
bool gang__gang_is_fixed(const struct gang__gang *u, bool grows);

/* Would the amounts exceed a limit, or (fixed) a guarantee of the leaf or a queue above? NULL:
 * no. Else the queue; *dim and *why (GANG_WAIT_LIMIT, _GUARANTEE, _LENDING). */
struct gang__queue_state *gang__usage_refuse(gang_sched *s, struct gang__queue_state *leaf,
                                             const struct gang__take *take, uint32_t count,
                                             bool fixed, uint32_t *dim, int32_t *why);

/* Tasks of a group that a unit still lacks. */
int64_t gang__gang_lacks(const struct gang__gang *u, uint32_t group);
int64_t gang__gang_lacks_all(const struct gang__gang *u);

/* Is what it uses and wants together the same, however many of its tasks run? */
bool gang__gang_is_steady(const struct gang__gang *u);

/* Tasks of a group that ended, and count for its minimum as if they ran. */
int64_t gang__gang_counts(const struct gang__gang *u, uint32_t group);

/* Of the running tasks of a group, how many are protected (not preemptible). `rest`: what the
 * unit needs beyond the minima of its groups, which the first groups give; begun by
 * gang__gang_fixed_rest(), for all groups in turn. */
int64_t gang__gang_fixed(const struct gang__gang *u, uint32_t group, int64_t *rest);
int64_t gang__gang_fixed_rest(const struct gang__gang *u);

/* Guarantees and limits in force follow what there is. */
void gang__bounds_resolve(gang_sched *s);

/* Sum up what there is, and divide it, if something changed. */
void gang__fair_refresh(gang_sched *s);

/* Amounts in force by what there is as the other one knows it: if nodes changed since it looked, both will see that. */
void gang__fair_copy(gang_sched *s, const gang_sched *from);

/* used (+ take, by ascending dimension) over `over`: the dominant one. Where nothing is given of
 * a dimension, any use is infinitely much. */
struct gang__ratio gang__fair_ratio(const gang_sched *s, const struct gang__queue_state *q,
                                    const int64_t *over, const struct gang__take *take,
                                    uint32_t count);

/* What it is guaranteed, of all there is: the dominant one. Infinite if nothing of it is
 * managed. */
struct gang__ratio gang__fair_capacity(const gang_sched *s, const struct gang__queue_state *q);

/* Is it above its share (or guarantee) in a dimension that counts; of `take` alone, if that is
 * given? */
bool gang__over(const gang_sched *s, const struct gang__queue_state *q, const int64_t *bound,
                const struct gang__take *take, uint32_t count);

/* With these amounts more, does it stay inside, in the dimensions of `take`? */
bool gang__stays(const struct gang__queue_state *q, const int64_t *bound, const int64_t *used,
                 const struct gang__take *take, uint32_t count);

/* ---- limits.c ---- */

/* What so many tasks of each group take together. Returns how many kinds. */
uint32_t gang__takes_sum(const gang_sched *s, const struct gang__gang *u, const int64_t *tasks,
                         struct gang__take take[GANG__DIMS]);

/* What a suspended gang takes when it resumes: all that it had. Returns how many kinds. */
uint32_t gang__gang_resumes_with(gang_sched *s, const struct gang__gang *u,
                                 struct gang__take take[GANG__DIMS]);

/* Which queue refuses these amounts to the gang: by the number of running jobs, by its limits or
 * guarantee, or by the user limit (GANG_WAIT_* in *why). NULL: none. */
struct gang__queue_state *gang__limits_refuse(gang_sched *s, struct gang__gang *u,
                                              const struct gang__take *take, uint32_t count,
                                              bool fixed, uint32_t *dim, int32_t *why);

/* Do queues and users allow its gang (grow_group < 0), or so many tasks of a group? */
bool gang__limits_allow(gang_sched *s, struct gang__gang *u, int32_t grow_group, int64_t times);

/* YARN's user limit for the gang's user, by kind; `gang`: what it asks for. True: the request is
 * beyond it. False, with nothing in `limit`, also where there is none. */
bool gang__user_limits(gang_sched *s, const struct gang__gang *u, const int64_t *gang,
                       int64_t *limit);

/* ---- victim_order.c ---- */

void gang__victims_init(struct gang__queue_state *q);

/* The gang runs, and may be a victim. Its place in leaf->fall is made out by
 * gang__victims_sort(), which each reader of that order calls first. */
void gang__victims_enter(gang_sched *s, struct gang__gang *u);
void gang__victims_leave(struct gang__gang *u);
void gang__victims_sort(gang_sched *s);

/* The number of its tasks changed: has it tasks above its minimum now? */
void gang__victims_settle_elastic(struct gang__gang *u);

/* What it is about to get enters (or, -1, leaves) the books of its queues. */
void gang__handover_charge(struct gang__handover *claim, int64_t sign);

/* What a gang asks for when it is tried: its gang, or a task of the first group that lacks some. */
const struct gang__take *gang__gang_asks(const struct gang__gang *u, uint32_t *count);

#endif
