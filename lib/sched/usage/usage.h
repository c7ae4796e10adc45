/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_USAGE_H
#define GANG__SCHED_USAGE_H

#include "sched/record/state.h"

/* The request class of a request text. Takes over the caller's reference to the text. NULL: out
 * of memory; the caller keeps its reference. */
struct gang__request_class *gang__request_class_ref(gang_sched *s, struct gang__request_text *text);
void gang__request_class_unref(gang_sched *s, struct gang__request_class *request_class);

/* Computes the amounts that the class takes, in the dimensions in force. False: out of memory. */
bool gang__request_class_refresh(gang_sched *s, struct gang__request_class *request_class);

/* The numbers of the tasks of one gang of a job with several; nothing for other requests. After
 * gang__request_key_make(), before the partitions. */
void gang__request_key_add_numbers(struct gang__request_key *key, const gang_request *request);

/* `insists`: the text of the request that gang__request_insist() makes of it. */
void gang__request_key_make(struct gang__request_key *key, const struct gang_mem *mem,
                            const struct gang_request_spec *spec, bool insists);
/* Adds the partitions of a job to the key of its request in the first one. */
void gang__request_key_add_partitions(struct gang__request_key *key, const char *const *partitions,
                                      size_t count);
void gang__request_key_free(struct gang__request_key *key);

/* Takes over the reference to the request. NULL: out of memory; the caller keeps it. Any thread. */
struct gang__request_text *gang__request_text_new(const struct gang__request_key *key,
                                                  gang_request *request);
/* The same with several partitions: `of` is the text for each, and the references to these are
 * taken over, too. */
struct gang__request_text *gang__request_text_partitioned(const struct gang__request_key *key,
                                                          gang_request *request,
                                                          struct gang__request_text *const *of,
                                                          size_t count);
struct gang__request_text *gang__request_text_ref(struct gang__request_text *text);
void gang__request_text_unref(const struct gang_mem *mem, struct gang__request_text *text);

/* What a text says, read back. The caller frees it with gang__release(). NULL: out of memory. */
struct gang__request_spec {
    struct gang_request_spec spec;  /* its groups are these: */
    struct gang_group_spec *groups; /* the caller may change them */
};
struct gang__request_spec *gang__request_spec_read(const struct gang_mem *mem,
                                                   const struct gang__request_text *text);

/* Called at the beginning of a run. If the devices changed, computes the amounts of request
 * classes by memory again, and the usage of queues with them. Out of memory: the next run does
 * it. */
void gang__gpu_memory_refresh(gang_sched *s);

/* gang__gpu_memory_copy() gives a copy the original's list of devices, before the copy has request
 * classes. False: out of memory. gang__gpu_memory_copy_end() makes the copy read the devices again
 * if the original will. */
bool gang__gpu_memory_copy(gang_sched *s, const gang_sched *from);
void gang__gpu_memory_copy_end(gang_sched *s, const gang_sched *from);

/* What a gang holds and lacks leaves the usage and demand of its queues, and enters them. Callers
 * put both calls around each change of has, done, target, demands, the job's preemptible, the
 * leaf. */
void gang__usage_out(gang_sched *s, struct gang__gang *g);
void gang__usage_in(gang_sched *s, struct gang__gang *g);
/* The gang has all the tasks that it starts with, `has` of each group, and had none: as if both
 * were called around it. */
void gang__usage_start(gang_sched *s, struct gang__gang *g, const int64_t *has);
/* From now on the gang demands what it lacks, or does not: likewise. */
void gang__usage_demand(gang_sched *s, struct gang__gang *g, bool demands);

/* `times` tasks of a group become tentative victims of an attempt to preempt (times < 0), or stay
 * after all: their amounts leave the usage of the gang's user, leaf and all queues above. A leaf
 * with preemption by user limit counts what its users would lose (gang__user.tentative). */
void gang__usage_shift(gang_sched *s, const struct gang__gang *g, uint32_t group, int64_t times);
/* The two halves of it: for the leaf and all queues above, also of many gangs of a class at once;
 * and for the user alone. */
void gang__usage_shift_queues(gang_sched *s, struct gang__queue_state *leaf,
                              const struct gang__request_class *request_class, uint32_t group,
                              int64_t times);
void gang__usage_shift_user(gang_sched *s, const struct gang__gang *g, uint32_t group,
                            int64_t times);

/* Adds (or, with sign -1, subtracts) what a gang is about to get at these places: it starts there,
 * or (grows) gets more tasks. It counts as usage of the gang's queues and user, and as fixed usage
 * of the queues if preemption may never take it. */
void gang__usage_promise(gang_sched *s, struct gang__gang *g, const struct gang_placement *places,
                         int64_t count, bool grows, int64_t sign);

/* Does preemption never take what the gang gets: at its start, or (grows) with one more task? */
bool gang__gang_is_fixed(const struct gang__gang *g, bool grows);

/* ---- held.c: what stopping tasks hold -------------------------------------------------------- */

/* `used` of the taker's queues counts its places from now on, before any victim is asked to stop;
 * or no more. */
void gang__cover_begin(gang_sched *s, struct gang__handover *handover);
void gang__cover_end(gang_sched *s, struct gang__handover *handover);

/* Notes in which partition the gang of the stop runs: before it leaves usage. */
void gang__stopping_note_class(struct gang__stop *stop);
/* The tasks of the stop hold what they took, though their queues do not use it; or they have
 * stopped. */
void gang__stopping_in(struct gang__stop *stop);
void gang__stopping_out(struct gang__stop *stop);
/* Those of its tasks that move (stop->to) have their new places in `used` (1), or not (-1). */
void gang__stopping_move(struct gang__stop *stop, int64_t sign);
/* The amounts of classes, or the queues, changed: count all again, from zero. */
void gang__stopping_recount(gang_sched *s);

/* Would the queue hold more than its limit with these amounts? (used_only: when all that is asked
 * to stop has stopped.) */
static inline bool gang__usage_is_above_limit(const struct gang__queue_state *q,
                                              const struct gang__take *take, bool used_only)
{
    int64_t held = q->used[take->dim] + (used_only ? 0 : q->stopping[take->dim]);
    return take->amount > q->limit[take->dim] - held;
}

/* Why a queue refuses amounts. */
struct gang__refusal {
    uint32_t dim; /* the dimension that exceeds a bound */
    int32_t why;  /* GANG_WAIT_* */
};

/* Would the non-preemptible work of a queue with this amount more exceed its guarantee? */
static inline bool gang__usage_is_above_guarantee(const struct gang__queue_state *q,
                                                  const struct gang__take *take)
{
    return q->guarantee[take->dim] != GANG__NO_BOUND &&
           q->fixed[take->dim] + take->amount > q->guarantee[take->dim];
}

/* Does any queue from the leaf up answer yes, whatever bounds the non-preemptible work there? */
bool gang__usage_exceeds_guarantees(const struct gang__queue_state *leaf,
                                    const struct gang__take *take, uint32_t count);

/* Would the amounts exceed a limit, or a guarantee that bounds non-preemptible work, of the leaf or
 * a queue above? NULL: no. Otherwise the queue, with *refusal (GANG_WAIT_LIMIT, _GUARANTEE,
 * _LENDING). */
enum {
    GANG__REFUSE_FIXED = 1,   /* it is non-preemptible work */
    GANG__REFUSE_PROMISED = 2 /* it was promised when the limits were asked: what stops since does
                               * not count */
};
struct gang__queue_state *gang__usage_refuse(gang_sched *s, struct gang__queue_state *leaf,
                                             const struct gang__take *take, uint32_t count, int how,
                                             struct gang__refusal *refusal);

/* Has the queue as many running jobs as it may, with those about to start? */
static inline bool gang__queue_runs_most(const struct gang__queue_state *q)
{
    return q->running + q->promised >= q->q->max_running;
}

/* Tasks of a group that a gang still lacks. */
int64_t gang__gang_lacks(const struct gang__gang *g, uint32_t group);
int64_t gang__gang_lacks_all(const struct gang__gang *g);

/* The same for all groups, in order, of a gang that demands them: what the minima lack comes first,
 * the rest counts for the first groups first. gang__gang_lacks_begin() begins it. */
struct gang__lacks {
    int64_t of_minima, beyond;
};
struct gang__lacks gang__gang_lacks_begin(const struct gang__gang *g);
int64_t gang__gang_lacks_next(const struct gang__gang *g, uint32_t group, struct gang__lacks *left);

/* The same, also those that gang_job_spec.parallelism holds back. */
int64_t gang__gang_to_come(const struct gang__gang *g, uint32_t group);

/* Is the sum of the gang's usage and demand the same, however many of its tasks run? */
bool gang__gang_is_steady(const struct gang__gang *g);

/* Tasks of a group that ended, and count for its minimum as if they ran. */
int64_t gang__gang_ended_for_min(const struct gang__gang *g, uint32_t group);

/* How many running tasks of a group are protected (not preemptible). `rest`: what the gang needs
 * beyond the minima of its groups; the first groups give it. gang__gang_fixed_rest() begins it;
 * the caller then asks for all groups, in order. */
int64_t gang__gang_fixed(const struct gang__gang *g, uint32_t group, int64_t *rest);
int64_t gang__gang_fixed_rest(const struct gang__gang *g);

/* Sums up the totals, and resolves guarantees and limits by them, if nodes changed. */
void gang__fair_refresh_bounds(gang_sched *s);
/* The same, and divides the totals into shares, if something changed. */
void gang__fair_refresh(gang_sched *s);

/* Resolves the amounts of a copy by the totals that the original knows. If nodes changed since
 * the original summed them up, both schedulers sum up again. */
void gang__fair_copy(gang_sched *s, const gang_sched *from);

/* The dominant ratio of `used` (+ take, by ascending dimension) to `over`. In a dimension where
 * `over` is 0, any usage is infinitely much. */
struct gang__ratio gang__fair_ratio(const gang_sched *s, const int64_t *over, const int64_t *used,
                                    const struct gang__take *take, uint32_t count);

/* The same of the queue's share, in the dimensions that its guarantees manage. In the others its
 * share is all that it demands, and says nothing. */
struct gang__ratio gang__fair_share_ratio(const gang_sched *s, const struct gang__queue_state *q,
                                          const int64_t *used, const struct gang__take *take,
                                          uint32_t count);

/* The dominant ratio of the queue's guarantee to the totals. Infinite if no dimension of the
 * queue is managed. */
struct gang__ratio gang__fair_capacity(const gang_sched *s, const struct gang__queue_state *q);

/* Is a usage of the queue above `bound`, its share or guarantee, in a dimension of `take` that
 * counts? */
bool gang__usage_exceeds(const gang_sched *s, const struct gang__queue_state *q,
                         const int64_t *bound, const int64_t *used, const struct gang__take *take,
                         uint32_t count);

/* Does the queue stay inside `bound` with these amounts more, in the dimensions of `take`? */
bool gang__usage_stays_within(const struct gang__queue_state *q, const int64_t *bound,
                              const struct gang__take *take, uint32_t count);

/* Do the leaf and all queues above it stay inside their guarantees, or (by_share) their shares? */
bool gang__usage_path_stays_within(const struct gang__queue_state *leaf, bool by_share,
                                   const struct gang__take *take, uint32_t count);

/* ---- limits.c ---- */

/* Sums the amounts that these places take; of a suspended gang: its old places. Returns the number
 * of dimensions. */
uint32_t gang__places_take(gang_sched *s, const struct gang__gang *g,
                           const struct gang_placement *places, int64_t count,
                           struct gang__take take[GANG__DIMS]);

/* The queue that refuses these amounts to the gang: by the number of running jobs, by its limits
 * or guarantee, or by the user limit. NULL: none. */
struct gang__queue_state *gang__limits_refuse(gang_sched *s, struct gang__gang *g,
                                              const struct gang__take *take, uint32_t count,
                                              bool fixed, struct gang__refusal *refusal);

/* Do the queues allow the gang these places, which it was promised when others were asked to stop,
 * or when it was itself, to move? */
bool gang__limits_allow_promised(gang_sched *s, struct gang__gang *g,
                                 const struct gang_placement *places, int64_t count);

/* YARN's user limit for the gang's user, by kind; `gang`: the amounts that the gang asks for.
 * True: they exceed the limit. False, with `limit` unset, also if the leaf has no user limit. */
bool gang__user_limits(gang_sched *s, const struct gang__gang *g, const int64_t *gang,
                       int64_t *limit);

/* ---- users_limit.c: the user limit in preemption (GANG_PREEMPT_USER_LIMIT) ---- */

/* Computes the limits of the users of all such leaves, by the usage as it is. O(their users). Out
 * of memory: no user of that leaf is above its limit, and the run fails. */
void gang__users_limit_refresh(gang_sched *s);

/* The limit of a user of the leaf, in a dimension; INT64_MAX: none. */
int64_t gang__users_limit_of(const gang_sched *s, const struct gang__queue_state *leaf,
                             const struct gang__user *user, uint32_t dim);

/* ---- choices.c ---- */

/* Sums the amounts that these tasks of each group take. Returns the number of dimensions. */
uint32_t gang__takes_sum(const gang_sched *s, const struct gang__request_class *request_class,
                         const int64_t *tasks, struct gang__take take[GANG__DIMS]);

/* Does what a gang takes that is about to start depend on which of its tasks start together? */
static inline bool gang__gang_chooses(const struct gang__gang *g)
{
    return !g->request_class->even && g->alloc == GANG_ID_NONE && !g->places;
}

/* Set gang->choice, for a gang that chooses: to its first choice, to the next one. False: there is
 * none, and gang->choice is NULL. The caller sets it to NULL when it has been tried. Gangs of a
 * class share the memory: one at a time has a choice. */
bool gang__choice_first(const gang_sched *s, struct gang__gang *g);
bool gang__choice_next(const gang_sched *s, struct gang__gang *g);

/* Set it to the tasks that these places hold, unless all choices take the same. */
void gang__choice_of_places(const gang_sched *s, struct gang__gang *g,
                            const struct gang_placement *places, int64_t count);

/* ---- demand.c ---- */

/* A wait class gets its first gang, which is in it; it loses the last one. In between, each gang
 * that enters a bounded class (sign 1) or leaves it (-1), while `demands` holds, is counted there;
 * gang__usage_out() and gang__usage_in() do so for changes of what a gang in the class lacks. */
void gang__demand_enter(gang_sched *s, struct gang__wait_class *class);
void gang__demand_leave(gang_sched *s, struct gang__wait_class *class);
void gang__demand_count(const struct gang__gang *g, int64_t sign);

static inline bool gang__demand_is_bounded(const struct gang__gang *g)
{
    return g->order.wait_class && g->order.wait_class->bounded.at;
}

/* ---- budget.c: amounts times time (gang_queue_spec.budgets) ---- */

void gang__budgets_init(gang_sched *s);

/* Make the books of a user, for the budgets of the queue as it is or will be configured; and of all
 * queues of a path. False: out of memory. */
bool gang__budget_make(gang_sched *s, struct gang__queue_state *state, const struct gang__queue *q,
                       const char *user);
bool gang__budgets_enter(gang_sched *s, struct gang__queue_state *leaf, const char *user);

/* The tasks that the gang has enter the books of its queues (sign 1), or leave them (-1). retime:
 * the end of the job may have changed; true: it is earlier, and others may use more. promise: the
 * gang is about to get `times` these amounts. */
void gang__budget_count(gang_sched *s, struct gang__gang *g, int64_t sign);
bool gang__budget_retime(gang_sched *s, struct gang__job *job);
void gang__budget_promise(const gang_sched *s, struct gang__gang *g, const struct gang__take *take,
                          uint32_t count, int64_t times);

/* The amount of the kind that the gang has now. */
int64_t gang__budget_amount(const struct gang__gang *g, int32_t kind);

/* The first queue with a budget that refuses the amounts, and the dimension; NULL: none. refuses:
 * does budget i of the queue refuse this amount? */
struct gang__queue_state *gang__budgets_refuse(const gang_sched *s, const struct gang__gang *g,
                                               const struct gang__take *take, uint32_t count,
                                               uint32_t *dim);
bool gang__budget_refuses(const gang_sched *s, const struct gang__gang *g,
                          const struct gang__queue_state *q, size_t i,
                          const struct gang__take *take);

/* A budget as an explanation shows it: in units times seconds. */
struct gang__budget_view {
    int64_t used;      /* and what is promised until time limits, if it is GANG_BUDGET_SAFE */
    int64_t requested; /* amount times time limit; 0: unlike GANG_BUDGET_SAFE, or `endless` */
    bool endless;      /* the job has no time limit */
};
struct gang__budget_view gang__budget_look(const gang_sched *s, const struct gang__gang *g,
                                           const struct gang__queue_state *q, size_t i,
                                           const struct gang__take *take);

/* Sets the timer of a book; watch: that of the queue, when the number of its waiting jobs changed;
 * renewed: the same, after a renewal. gang__budget_renewal(): when a budget of the queue is renewed
 * next; INT64_MAX: never. */
void gang__budget_time(gang_sched *s, struct gang__budget_book *book);
void gang__budget_watch(gang_sched *s, struct gang__queue_state *q);
void gang__budget_renewed(gang_sched *s, struct gang__queue_state *q);
int64_t gang__budget_renewal(const struct gang__queue_state *q, int64_t now_ns);
bool gang__budget_is_used_up(gang_sched *s, struct gang__budget_book *book);
const struct gang__budget *gang__budget_of(const struct gang__budget_book *book);

/* The book of a budget of the queue, for the user, which is made if there is none. NULL: out of
 * memory. bring_up: what is used up to now. */
struct gang__budget_book *gang__budget_book_for(gang_sched *s, struct gang__queue_state *state,
                                                const struct gang__budget *b, const char *user);
void gang__budget_bring_up(const gang_sched *s, struct gang__budget_book *book);

/* Queues are about to change: all books are brought up to date; reset: the queue counts from zero;
 * free: it goes. */
void gang__budgets_advance(gang_sched *s);
void gang__budgets_reset(gang_sched *s, struct gang__queue_state *q);
void gang__budgets_free(gang_sched *s, struct gang__queue_state *q);
/* Before the jobs are copied. False: out of memory. */
bool gang__budgets_copy(gang_sched *s, const gang_sched *from);
gang_result gang__budgets_check(const gang_sched *s, struct gang_error *error);

/* ---- past_usage.c: how much users of a leaf used (gang_sched_opts.half_life_ns) ---- */

/* Do past uses of its users count in the leaf? */
bool gang__leaf_remembers(const gang_sched *s, const struct gang__queue *q);
/* user->past, up to now. */
struct gang__decay gang__user_past(const gang_sched *s, const struct gang__queue_state *leaf,
                                   const struct gang__user *user);
/* Brings user->past up to date; called before user->used changes. */
void gang__user_advance(const gang_sched *s, const struct gang__queue_state *leaf,
                        struct gang__user *user);
/* The queues are about to change: the same of all users of all leaves. */
void gang__users_advance(gang_sched *s);
/* Past use of queues decays up to now, before it changes. */
void gang__past_use_advance(gang_sched *s);
/* The jobs that the host restores are there: past use and budgets that it gave back go on from the
 * time at which it kept them, with what these jobs use. */
void gang__past_use_go_on(gang_sched *s);
/* The user's dominant share of the cluster now, in 10^-9. */
int64_t gang__user_share(const gang_sched *s, const struct gang__user *user);

/* ---- victim_order.c ---- */

/* Make the orders of victims of a new leaf. */
void gang__victims_init(struct gang__queue_state *q);

/* The gang runs, and may be a victim. gang__victims_sort() puts it into leaf->victims; each
 * reader of that order calls it first. */
void gang__victims_enter(gang_sched *s, struct gang__gang *g);
void gang__victims_leave(struct gang__gang *g);
void gang__victims_sort(gang_sched *s);

/* The capacity that a handover's taker is about to get enters (or, with sign -1, leaves) the
 * usage of its queues. The same of what a gang moves to: its new places. */
void gang__usage_charge_handover(gang_sched *s, struct gang__handover *handover, int64_t sign);
void gang__usage_charge_move(gang_sched *s, const struct gang__stop *stop, int64_t sign);

/* The amounts that a gang asks for when it is tried: the whole gang, with the choice that is tried
 * or at least; or a task of the first group that lacks tasks. */
const struct gang__take *gang__gang_next_demand(const struct gang__gang *g, uint32_t *count);

/* ---- cells.c ---- */

/* In a snapshot, close the nodes of the domains that other queues must keep whole. GANG_OK;
 * GANG_ENOFIT: the domains cannot be kept, whatever the gang does; GANG_ENOMEM. */
gang_result gang__cells_close_nodes(gang_sched *s, const struct gang__gang *g,
                                    gang_snapshot *snapshot);

#endif
