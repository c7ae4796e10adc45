/* SPDX-License-Identifier: Apache-2.0 */
/* Preemption from inside: one attempt to preempt others for a gang (the *taker*), and what the
 * files of this folder share.
 *
 *   preempt.c         which taker, which attempts in which order
 *   attempt.c         one attempt from begin to end
 *   worthwhile.c      whether an attempt may be made, and may succeed
 *   take_victims.c    taking victims until the taker has a place
 *   batch.c           taking many of them in one step
 *   preempt_rules.c   which victims the rules let the taker take
 *   stay_rules.c      which victims may stay; whether the taker may start when the others stop
 *   user_rules.c      what it may take from users above their user limit
 *   guests.c       which victims are guests on the taker's partition
 *   rank.c            which gangs of other leaves it may take whatever fair shares are
 *   protected.c       which gangs and tasks may be preempted at all
 *   victims.c         in which order they are victims
 *   dry_run.c         taking victims, and placing the taker, on a snapshot and in the usage
 *   spare.c           which victims stay after all
 *   move.c            which of the others move
 *   preempt_commit.c  the same for real
 *   result.c          do the rules allow the state that results?
 *   this_run.c        what of the run that is under way may be preempted in it
 *   cooldown.c        which victims are spared because they were stopped for the queue before
 *   consolidate.c     attempts in which others only move
 *   would_preempt.c   what an attempt would do, and which rule protects which gang */
#ifndef GANG__SCHED_PREEMPT_IN_H
#define GANG__SCHED_PREEMPT_IN_H

#include "place/whatif/whatif.h"
#include "sched/calendar/calendar.h"
#include "sched/preempt/preempt.h"
#include "sched/where/where.h"

/* Which gangs are victims of an attempt. */
enum gang__preempt_mode {
    GANG__PREEMPT_MOVE,    /* consolidation */
    GANG__PREEMPT_GUESTS,  /* guests on its partition, from other queues */
    GANG__PREEMPT_RECLAIM, /* from other queues */
    GANG__PREEMPT_WITHIN,  /* in the leaf of the taker */
    /* first in its leaf, then in others: with less of its own, the leaf may be entitled to more */
    GANG__PREEMPT_BOTH,
    GANG__PREEMPT_ACROSS /* in its leaf, and in others by rank */
};

/* A tentative victim: a gang, or one of its tasks. */
struct gang__victim {
    struct gang__gang *g;
    bool whole;
    bool spared;  /* it stays after all; removed from the list when all were checked */
    bool moves;   /* it starts again at `to`; a task alone: or with its gang */
    bool named;   /* a task alone: it is among those of a stop */
    bool is_back; /* it is not tentative for the time being; for result.c */
    uint32_t group;
    int64_t task;            /* one above the minimum, if not whole */
    gang_node_id node;       /* of all its tasks; GANG_ID_NONE: several, or shared in time */
    struct gang__stop *stop; /* made before any victim is asked to stop */
    struct gang__places to;  /* places that it moves to */
};

/* ---- batch.c: its state ---- */

enum { GANG__MOST_DRAWN = 64, GANG__BATCH_SUMS = 256 };

/* How many pending victims are of a leaf and a request class. */
struct gang__batch_sum {
    struct gang__queue_state *leaf; /* NULL: it is not used */
    const struct gang__request_class *request_class;
    int64_t gangs;              /* pending ones; they are not in the usage of the queues */
    int64_t drawn;              /* of the batch that is being taken, */
    struct gang__gang *at_last; /* the last of which is this */
};

/* A gang that was taken in a batch, and is not in the list of victims. */
struct gang__pending {
    struct gang__gang *g;
    gang_node_id node;
    struct gang__batch_sum *sum;
    size_t listed; /* number of victims in the list before it */
};

struct gang__batches {
    uint32_t most; /* gangs of a batch: GANG__MOST_DRAWN; tests set fewer, or 0 */
    size_t taken;  /* number of gangs taken in batches, in all */
    struct gang__pending *pending;
    size_t pendings, pending_cap;
    struct gang__batch_sum sum[GANG__BATCH_SUMS]; /* a hash table; */
    struct gang__batch_sum *of_used[GANG__BATCH_SUMS], *last;
    uint32_t used;
    /* The batch; after it came back: those of its gangs that are still to be taken one by one. */
    struct gang__pending drawn[GANG__MOST_DRAWN];
    size_t next, count;
    struct gang__victim after; /* the victim after the batch, which is not plain */
    bool has_after;
    size_t left, pause; /* numbers of victims taken one by one before the next batch */
    const struct gang__queue_state *leaf; /* the last one that was compared with the taker's */
    bool leaf_is_other;
};

/* State of preemption, made with the first attempt. */
struct gang__victims {
    struct gang__victim *list; /* tentative victims of the attempt */
    size_t count, cap;
    int64_t *tasks; /* scratch: numbers of a gang's tasks */
    size_t task_cap;
    /* scratch: of each slot, does it keep its state when the other nodes are restored? */
    bool *kept;
    size_t kept_cap;
    uint64_t *theirs; /* scratch: nodes of the victims, as bits */
    size_t theirs_cap;
    struct gang__cursor *cursor; /* a heap by what comes next */
    size_t cursors, cursor_cap;
    int64_t *before; /* usage of the queues before the attempt */
    size_t before_cap;
    bool given;  /* the first cursor's victim was returned: step it before the next one, */
    bool passed; /* or drop it */
    bool failed; /* memory was short: the attempt is given up */
    /* Of elastic gangs, only guests on nodes of this request are victims. NULL: all. */
    const gang_request *owner;
    struct gang__batches batches;
};

/* Victims that were taken: in the list, or pending. */
static inline size_t gang__victims_taken(const struct gang__victims *v)
{
    return v->count + v->batches.pendings;
}

enum { GANG__VICTIMS_AHEAD = 16 };

/* Prefetch what a loop over the list reads of a victim: they lie all over the memory. Call it so
 * many victims ahead. */
static inline void gang__victim_prefetch(const struct gang__victims *v, size_t i)
{
    if (i >= v->count)
        return;
    __builtin_prefetch(v->list[i].g, 1);
    __builtin_prefetch(&v->list[i].g->stop.first, 1);
    __builtin_prefetch(&v->list[i].g->victim.tentative, 1);
}

/* The same of its allocation, where that is read, too. */
static inline void gang__victim_prefetch_alloc(const gang_sched *s, size_t i)
{
    const struct gang__victims *v = s->preempt.victims;
    if (i < v->count)
        gang__alloc_prefetch(s->cluster, v->list[i].g->alloc);
}

/* Where the victims of a leaf are: whole gangs, or tasks above a minimum. */
struct gang__cursor {
    bool whole;
    struct gang__set_link *at; /* the next gang, in leaf->victims, or leaf->elastic_victims */
    /* The gangs after it, as far as they are known already: a ring. */
    struct gang__set_link *coming[GANG__VICTIMS_AHEAD];
    uint32_t first, known;
    struct gang__set_walk walk; /* at the last of them */
    /* Tasks of the gang that may go one by one, in this order. */
    int64_t *spare;
    uint32_t *spare_group;
    size_t spares, spare_cap, group_cap, next;
};

enum { GANG__MOST_BARRED = 8, GANG__MOST_OTHERS = 24 };

/* Tries on credit: which victims are left out of the next try? When the rules refuse the victims of
 * a try, at least one of those that they refuse must be left out: the first one is barred, and the
 * others are noted, to be barred in its place if that leads nowhere. */
struct gang__bars {
    struct gang__gang *of[GANG__MOST_BARRED];
    uint32_t count;
    struct {
        struct gang__gang *g;
        uint32_t count; /* of those that were barred when it was noted */
    } other[GANG__MOST_OTHERS];
    uint32_t others;
};

/* An attempt to preempt for a taker. It lives on the stack. */
struct gang__preemption {
    gang_sched *s;
    struct gang__gang *taker;
    enum gang__preempt_mode mode;
    const struct gang__take *take; /* what the taker asks for */
    uint32_t count;
    int32_t grow_group;       /* -1: its gang; */
    int64_t step;             /* else this number of tasks of the group: `of_step` */
    struct gang__trial trial; /* usage and counters of the tentative victims */
    int64_t tasks;            /* of all victims */
    bool fair;                /* reclaim: only what lies above fair shares, so far */
    bool charged;             /* the queues of the taker count its request already */
    bool again;               /* some of the candidates are victims already */
    bool looked;              /* sched.preempt.base is the cluster as it is */
    bool owns_nodes;          /* the taker names an exclusive or lending partition */
    bool pretext;     /* a victim of the taker's branch would start again beside the taker */
    bool lacks_place; /* the last try took all victims that the rules allow */
    bool dry;         /* it is only asked what would happen: nothing is committed, or logged */
    int32_t outcome;  /* GANG_PREEMPTION_*: how far the attempts came that failed */
    size_t together;  /* most victims that the rules let one attempt take */
    /* The usage of queues, dims each, by which givers are judged; NULL: as it is now. */
    const int64_t *before;
    /* Large, and not cleared: what lies behind the counts is not read. */
    struct gang__bars bars;
    struct gang__take of_step[GANG__DIMS]; /* what `step` takes */
};

/* ---- attempt.c ------------------------------------------------------------------------------- */

/* Begin an attempt: the snapshot is the cluster as it is, and there are no victims. False: out of
 * memory. */
bool gang__preempt_begin(struct gang__preemption *p, enum gang__preempt_mode mode);
/* The taker has a place: spare victims, move others. False: the rules forbid it after all. */
bool gang__preempt_settle(struct gang__preemption *p);
/* Commit the attempt (ok), or drop it. True: it was committed; in a dry attempt: it would be. */
bool gang__preempt_end(struct gang__preemption *p, bool ok);
/* An attempt failed: note how far it came (GANG_PREEMPTION_*). Returns false. */
bool gang__preempt_fails(struct gang__preemption *p, int32_t outcome);

/* ---- preempt.c ------------------------------------------------------------------------------- */

/* Prepare the record of what the taker asks for. */
void gang__preempt_set_up(struct gang__preemption *p, gang_sched *s, struct gang__gang *g);
/* Why no gang is moved for the taker (GANG_MOVES_*); GANG_MOVES_TRIED: moves are tried. */
int32_t gang__preempt_moves_bar(const struct gang__preemption *p);
/* Get the memory for attempts; false: out of memory. */
bool gang__preempt_ready(gang_sched *s);
/* All attempts, with one choice of the taker's tasks after the other. `p` holds the last one.
 * True: one was committed, or (dry) would be. False, too, if memory is short. */
bool gang__preempt_try(struct gang__preemption *p, gang_sched *s, struct gang__gang *g, bool dry);

/* ---- worthwhile.c ---------------------------------------------------------------------------- */

/* Does the gang share nodes in time, so that it only waits for its row? */
bool gang__preempt_waits_for_row(const struct gang__gang *g);
/* Can any attempt succeed, as far as is cheaply known? */
bool gang__preempt_may_succeed(gang_sched *s, struct gang__gang *g, int32_t why);

/* ---- take_victims.c -------------------------------------------------------------------------- */

/* Take victims, of the leaf of the taker (own) or of others, until it has a place; then true. */
bool gang__preempt_take_until_placed(struct gang__preemption *p, bool own, bool others);
/* From now on givers are judged by the usage as it is now. */
void gang__preempt_note_usage(struct gang__preemption *p);

/* ---- preempt_rules.c: by the usage as it is now, with what was taken so far ------------------ */

enum gang__may {
    GANG__MAY,
    GANG__MAY_NOT,   /* not from this one */
    GANG__MAY_NEVER, /* nor when others have been taken */
    GANG__MAY_NONE   /* nor from those of its leaf that follow it, while victims are taken */
};

/* Which rule protects a gang from the taker, and which queue's amounts or settings decide. */
struct gang__preempt_rule {
    int32_t rule;                          /* GANG_PROTECTED_*; GANG_PROTECTED_NOT: none does */
    const struct gang__queue_state *queue; /* NULL: no queue decides */
};

struct gang__preempt_rule gang__preempt_rule_of(const struct gang__preemption *p,
                                                const struct gang__victim *v);
/* May the taker take this one? By that rule. */
enum gang__may gang__preempt_may_take(const struct gang__preemption *p,
                                      const struct gang__victim *v);
/* The rules of reclaim allow the victim, which is of another branch than the taker. Do they also
 * allow it if the giver uses more, and the taker's branch the same? */
bool gang__preempt_allows_before(const struct gang__preemption *p, const struct gang__victim *v);
/* The branches of two leaves: the two children of the lowest queue that is above both. */
void gang__preempt_branches(struct gang__queue_state *a, struct gang__queue_state *b,
                            struct gang__queue_state **taker, struct gang__queue_state **giver);
/* The usage by which a queue that gives is judged. */
const int64_t *gang__preempt_usage_of(const struct gang__preemption *p,
                                      const struct gang__queue_state *q);
/* Does a queue manage some of what the taker asks for, and use no more of it than its guarantee? */
bool gang__preempt_inside_guarantee(const struct gang__preemption *p,
                                    const struct gang__queue_state *q);
/* Would the taker, of branch `a`, exceed its share in some kinds, but only in kinds in which the
 * giver, of branch `b`, keeps to its own? Then they compete for different kinds, and shares of
 * each kind do not tell which is owed more. */
bool gang__preempt_kinds_differ(const struct gang__preemption *p, const struct gang__queue_state *a,
                                const struct gang__queue_state *b);
/* The rule alone (GANG_PROTECTED_*), for a victim of its own leaf. */
int32_t gang__preempt_rule_in_leaf(const struct gang__preemption *p, const struct gang__victim *v);
/* Is there as much as the taker asks for, wherever it is; and may its queues have it? */
bool gang__preempt_amounts_suffice(const struct gang__preemption *p);
bool gang__preempt_quota_suffices(const struct gang__preemption *p);
/* Is the taker non-preemptible, and would the non-preemptible work of a queue on its path exceed
 * the guarantee with it? Then it starts on free capacity alone. Victims make no difference. */
bool gang__preempt_is_above_guarantee(const struct gang__preemption *p);
/* Does the leaf stay inside its share, or inside its guarantee, with what the taker asks for? */
bool gang__preempt_is_entitled(const struct gang__preemption *p);
/* Are both below the same top queue? Then the branch of the taker gets emptier without the victim,
 * and the taker may be allowed more of other branches. */
bool gang__preempt_same_branch(const struct gang__preemption *p, const struct gang__gang *victim);

/* ---- stay_rules.c: with the taker charged ---------------------------------------------------- */

/* Would it end relatively fuller than the giver, compared where their branches part? */
bool gang__preempt_overshoots(const struct gang__preemption *p, const struct gang__gang *victim);
/* The victim is back: do its queues keep to their limits, and does the taker leave free what other
 * queues do not lend? */
bool gang__preempt_may_stay(const struct gang__preemption *p, const struct gang__victim *v);
/* The first half of it: do the leaf and all queues above keep to their limits? */
bool gang__preempt_keeps_limits(const struct gang__preemption *p,
                                const struct gang__queue_state *leaf);
/* The victim is back, to start again elsewhere: do other queues lend it what it takes? */
bool gang__preempt_may_restart(const struct gang__preemption *p, const struct gang__victim *v);
/* A victim of the taker's branch is back: is the taker still entitled to what others gave? */
bool gang__preempt_still_entitled(const struct gang__preemption *p);

/* Do all queues of the taker keep to their guarantees? */
bool gang__preempt_keeps_guarantees(const struct gang__preemption *p);

/* Not charged: do all queues of the taker stay inside their guarantees with it? Then no victim,
 * back in another branch, lies inside a guarantee that the taker breaks. */
bool gang__preempt_is_guaranteed(const struct gang__preemption *p);
/* Not charged, the victim is back: does it lie inside the guarantee of a queue of its branch, while
 * the taker does not keep to its own? */
bool gang__preempt_breaks_guarantee(const struct gang__preemption *p,
                                    const struct gang__gang *victim);

/* Not charged: do all limits let the taker start when the victims have stopped? */
bool gang__preempt_may_start(const struct gang__preemption *p);

/* ---- user_rules.c: GANG_PREEMPT_USER_LIMIT -------------------------------------------------- */

static inline bool gang__preempt_by_user_limit(const struct gang__preemption *p)
{
    return p->taker->job->leaf->q->within == GANG_PREEMPT_USER_LIMIT;
}

/* Which rule protects this one, of another user of the taker's leaf (GANG_PROTECTED_*)? */
int32_t gang__preempt_rule_of_user(const struct gang__preemption *p, const struct gang__victim *v);
/* Would the taker's user keep to its limit, in each kind that the taker requests? */
bool gang__preempt_keeps_user_limit(const struct gang__preemption *p);
/* Is any user of the leaf above its limit in a kind that the taker requests? */
bool gang__preempt_users_are_above(const struct gang__preemption *p);

/* ---- guests.c -------------------------------------------------------------------------------- */

/* Does the taker name an exclusive or lending partition? */
bool gang__preempt_owns_nodes(const struct gang__preemption *p);
/* Does the gang, or the task, use nodes of that partition, which are for jobs that name it? */
bool gang__preempt_is_guest(const struct gang__preemption *p, const struct gang__victim *v);

/* ---- rank.c ---------------------------------------------------------------------------------- */

/* Does job `x` outrank job `y`, of another leaf, or its class that of `y` by way of others? Then
 * `y` does not reclaim from `x` for its fair share. */
bool gang__preempt_outranks(const gang_sched *s, const struct gang__job *x,
                            const struct gang__job *y);
/* May jobs of the leaf outrank others at all? */
bool gang__preempt_ranks(const gang_sched *s, const struct gang__queue_state *leaf);
/* Which rule protects a gang of another leaf from a taker that goes by rank? GANG_PROTECTED_ACROSS:
 * the taker does not outrank it. */
struct gang__preempt_rule gang__preempt_rule_of_rank(const struct gang__preemption *p,
                                                     const struct gang__gang *victim);
/* The rule that protects a gang of another leaf from all attempts, if `rule` protects it from
 * reclaim. */
struct gang__preempt_rule gang__preempt_rule_beside_rank(const struct gang__preemption *p,
                                                         const struct gang__gang *victim,
                                                         struct gang__preempt_rule rule);
/* Has the branch of the taker a bounded guarantee of some kind that both gangs take? Without, the
 * guarantee does not protect from rank what the taker takes by it. */
bool gang__preempt_may_keep_by_guarantee(const struct gang__preemption *p,
                                         const struct gang__gang *victim);
/* Is an attempt by rank worth while for a job of this priority? FOR_ALL: for any priority. */
enum gang__worthwhile gang__preempt_rank_is_worthwhile(const gang_sched *s,
                                                       const struct gang__queue_state *leaf,
                                                       int64_t priority);
/* Before the above is asked: see which victims there are. */
void gang__preempt_look_at_ranks(gang_sched *s);

/* ---- victims.c: lowest priority, tasks above a minimum, newest first ------------------------- */

/* Look through the leaf `mine` (own) and all others (others), from the first on. False: out of
 * memory. */
bool gang__victims_open(gang_sched *s, const struct gang__queue_state *mine, bool own, bool others);
/* The next victim of all leaves; false: there is none. */
bool gang__victims_next(gang_sched *s, struct gang__victim *out);
/* The leaf of the last victim has no more that may be taken, whole or task by task. */
void gang__victims_skip_leaf(gang_sched *s);
/* The same of whole gangs of this leaf. */
void gang__victims_drop_leaf(gang_sched *s, const struct gang__queue_state *leaf);
void gang__victims_close(gang_sched *s);

void gang__cursor_free(gang_sched *s, struct gang__cursor *c);

/* ---- protected.c ----------------------------------------------------------------------------- */

/* Does a rule protect the gang and all its tasks? */
bool gang__victim_is_protected(gang_sched *s, const struct gang__gang *g);
/* The tasks of the gang that may go one by one, in their order; none if memory is short
 * (victims->failed). */
void gang__spares_load(gang_sched *s, struct gang__cursor *c, struct gang__gang *gang);
/* May the gang be preempted as a whole: is none of its groups protected? */
bool gang__may_preempt_whole(const struct gang__gang *g);
/* Which rule protects the gang, and all its tasks above a minimum, from any taker?
 * GANG_PROTECTED_NOT: none does. */
int32_t gang__victim_rule(gang_sched *s, struct gang__gang *g);
/* When it has run for the minimum run time of its queue. */
int64_t gang__victim_min_runtime_end(const struct gang__gang *g);

/* ---- dry_run.c ------------------------------------------------------------------------------- */

/* Make it a tentative victim (which is copied). False: it is none. */
bool gang__preempt_take(struct gang__preemption *p, struct gang__victim *v);
/* Is the task a tentative victim on its own? */
bool gang__preempt_has_task(const gang_sched *s, const struct gang__gang *g, int64_t task);
/* How many tasks of a group stop with the victim. */
int64_t gang__victim_tasks(const struct gang__victim *v, uint32_t group);
/* Its usage leaves (-1) its queues and its user, or comes back (1); it is a tentative victim, or no
 * more. */
void gang__victim_shift(struct gang__preemption *p, const struct gang__victim *v, int64_t sign);
void gang__victim_count(const struct gang__victim *v, int64_t sign);
/* What it holds leaves the snapshot, or comes back. */
gang_result gang__victim_release(struct gang__preemption *p, struct gang__victim *v, bool back);
/* Place the taker on the snapshot (sched.placement); under these circumstances. False: no place. */
bool gang__preempt_place(struct gang__preemption *p);
struct gang__where gang__preempt_where(const struct gang__preemption *p);
bool gang__preempt_place_in(struct gang__preemption *p, const struct gang__where *w);

/* ---- batch.c --------------------------------------------------------------------------------- */

/* May victims be taken in batches? */
bool gang__batch_may_begin(const struct gang__preemption *p);
/* Takes victims in batches as long as that is possible. When `next` victims are taken and the
 * amounts suffice, the caller looks for a place. */
void gang__batch_take(struct gang__preemption *p, size_t next);
/* The next victim that is taken alone; false: there is none. */
bool gang__batch_next(struct gang__preemption *p, struct gang__victim *out);
/* The leaf of that victim has no more. */
void gang__batch_skip_leaf(struct gang__preemption *p, const struct gang__victim *of);
/* It is taken, and pending. False: it is as before, and gang__preempt_take() may take it. */
bool gang__batch_take_one(struct gang__preemption *p, const struct gang__victim *of);
/* What was drawn, and not taken yet, is not taken. */
void gang__batch_end_walk(struct gang__victims *v);
/* All pending victims are put into the list. */
void gang__batch_list_all(struct gang__preemption *p);
/* Those on nodes that are kept (victims.kept) are put into the list, the others are spared. */
void gang__batch_spare(struct gang__preemption *p);
/* All pending victims are victims no more, and back in the usage. The snapshot is left alone. */
void gang__batch_undo(struct gang__preemption *p);

/* ---- spare.c --------------------------------------------------------------------------------- */

/* From the last to the first: a victim that can stay does, and is a victim no more. */
void gang__preempt_spare(struct gang__preemption *p);
/* The victim is back in the usage: is the taker, which is charged, entitled to what it takes? A
 * victim in the branch of the taker counts against what it may reclaim. Consolidation takes nothing
 * from any queue, and ranks do not depend on usage. */
bool gang__preempt_is_entitled_beside(const struct gang__preemption *p,
                                      const struct gang__victim *x);

/* ---- move.c ---------------------------------------------------------------------------------- */

/* Victims that fit elsewhere move there. Returns whether any victim is lost. */
bool gang__preempt_move(struct gang__preemption *p);

/* ---- result.c -------------------------------------------------------------------------------- */

/* The taker is charged: are gangs of its branch given up that would start again beside it? */
bool gang__preempt_is_pretext(struct gang__preemption *p);
/* Do the rules allow to take the victims that are left? If not, one of them is barred, unless as
 * many are as may be. */
bool gang__preempt_result_is_allowed(struct gang__preemption *p);
/* The victim is a victim no more, and back in the usage. */
void gang__victim_put_back(struct gang__preemption *p, const struct gang__victim *v);

/* ---- cooldown.c ------------------------------------------------------------------------------ */

/* Is the victim spared, because it was stopped for the queue of the taker before
 * (GANG_PROTECTED_COOLDOWN), or the taker for it (GANG_PROTECTED_COOLDOWN_JOB)? *until_ns: when the
 * cooldown ends, if it is not over; NULL: not wanted. */
int32_t gang__cooldown_rule(gang_sched *s, const struct gang__victim *v,
                            const struct gang__gang *taker, int64_t *until_ns);
/* Get the memory to note stops of the gang; false: out of memory. Note that the gang of the victim
 * is stopped for the taker. */
bool gang__cooldown_prepare(gang_sched *s, struct gang__gang *g);
void gang__cooldown_note(gang_sched *s, const struct gang__victim *v,
                         const struct gang__gang *taker);

/* ---- this_run.c ------------------------------------------------------------------------------ */

/* Is nothing of the gang preempted before the run that is under way is over? The caller asks it
 * last: if so, the next run looks again. */
bool gang__stays_in_run(gang_sched *s, const struct gang__gang *g);

/* Does it not move, because nothing has happened since the host has heard of it? The next event
 * looks again. */
bool gang__stays_where_it_is(gang_sched *s, const struct gang__gang *g);

/* The same of single tasks of a gang that resumes in this run, and of which the host has not
 * heard: it is preempted whole, or later. */
bool gang__resumes_in_run(gang_sched *s, const struct gang__gang *g);

/* ---- preempt_commit.c ------------------------------------------------------------------------ */

/* Ask the victims to stop, for the taker and its place in sched.placement. False: out of memory,
 * and no victim was asked. */
bool gang__preempt_commit(struct gang__preemption *p);

/* ---- consolidate.c --------------------------------------------------------------------------- */

/* Move others so that the taker starts and none is lost. True: it was committed. */
bool gang__preempt_consolidate(struct gang__preemption *p);

#endif
