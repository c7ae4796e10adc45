/* SPDX-License-Identifier: Apache-2.0 */
/* A queue as it stands: amounts, counts, and what each folder keeps of it. */
#ifndef GANG__SCHED_QUEUE_STATE_H
#define GANG__SCHED_QUEUE_STATE_H

#include "queue/fairness/fairness.h"
#include "queue/queues.h"
#include "sched/record/types.h"

/* A user of a leaf: usage and counts. */
struct gang__user {
    struct gang__hash_link link;
    char *name;
    int64_t weight;   /* millionths */
    int64_t running;  /* jobs */
    int64_t promised; /* jobs about to start: gangs are stopping for them */
    int64_t waiting;  /* jobs that could run */
    int64_t *used;    /* dims */
    /* What tentative victims of an attempt had of each kind (GANG_MAX_KINDS), which `used` lacks
     * meanwhile; NULL: the leaf does not preempt by user limit. */
    int64_t *tentative;
    struct gang__ratio key;  /* dominant share for the user's weight: the place in order */
    struct gang__decay past; /* dominant share of the cluster, in 10^-9, if past use counts */
    bool restored;           /* `past` goes on when the restored jobs are there */
    int64_t factor;          /* fair-share factor, in millionths, when the leaf was scored */
    /* Its classes that move with the key: READY ones, and those that wait in their group. */
    struct gang__wait_class *ready, *grouped;
};

/* The user limit in preemption, of a leaf with GANG_PREEMPT_USER_LIMIT, as things were when
 * preemption was looked at last (owner: usage/users_limit.c). */
struct gang__users_limit {
    uint32_t kinds;                /* that have a limit, as a mask */
    uint32_t above;                /* those of which some user has more than its limit */
    int64_t limit[GANG_MAX_KINDS]; /* of a user of weight 1 */
};

/* What decides the order among siblings; made when a queue enters its parent's order. */
struct gang__child_key {
    int32_t over_share;     /* 1: used is above its fair share */
    int32_t over_guarantee; /* 1: with the gang at its head it leaves its guarantee */
    bool ranked;            /* jobs of the siblings may outrank each other by priority, */
    int64_t head_priority;  /* and this is the priority of its head */
    int64_t priority;
    struct gang__ratio with, used; /* dominant share with that gang, and without */
    struct gang__ratio whole;      /* with it, of all capacity: where no share is left to compare */
    int64_t score;                 /* multifactor priority of that gang */
    struct gang__sibling yarn;     /* for the child orders by utilization, instead of all that */
};

/* The gangs of a leaf that have a planned start. */
struct gang__calendar_leaf {
    struct gang__gang *planned;
    int64_t planned_count;
};

/* The backfill candidates of a leaf (backfill/candidates.c). */
struct gang__backfill_leaf {
    struct gang__hash_table by_key;
    struct gang__candidates *all;
    struct gang__candidates *due; /* the next wait class of these is to be READY */
};

/* Multifactor priority of a leaf (order/multifactor.c). */
struct gang__multifactor_leaf {
    struct gang__set_link link; /* in sched.order.multifactor, */
    bool listed;                /* as it is in it */
    bool scored;                /* it was scored before: */
    int64_t scored_ns;          /* ages and fair-share factors are those of this time */
    int64_t due_ns; /* when priorities are computed again; INT64_MAX: never; INT64_MIN: totals or
                     * queues changed */
};

/* When a budget is used up, or renewed (usage/budget.c). */
struct gang__budget_book;
struct gang__budget_timer {
    struct gang__set_link link; /* in sched.budget.timers, */
    bool listed;                /* as it is in it */
    int64_t due_ns;
    struct gang__queue_state *queue;
    struct gang__budget_book *book; /* NULL: of the queue: some budget of it is renewed */
};

/* How much of a budget is used: by all jobs of the queue and below, or by those of a user. */
struct gang__budget_book {
    struct gang__hash_link link; /* in queue->budget.books */
    struct gang__budget_timer timer;
    int32_t kind; /* kind, per_user and period are those of the budget: they find it */
    bool per_user;
    bool restored; /* what the restored jobs use counts since at_ns: it does not advance yet */
    int64_t period_ns;
    gang__u128 used; /* amount * ns in this period, up to */
    int64_t at_ns;
    int64_t rate;        /* amount in use now, */
    int64_t endless;     /* that of jobs without a time limit; */
    gang__i128 ends;     /* of the others: sum of amount * the time when it ends at the latest */
    gang__i128 promised; /* amount * time limit of gangs about to start */
    char user[];         /* "": all */
};

struct gang__budget_queue {
    struct gang__hash_table books;
    struct gang__budget_timer renewal;
};

/* Its place among its siblings, and what waits in it (owner: order). */
struct gang__queue_order {
    struct gang__ordered_set ready;   /* children that are active, or READY classes */
    struct gang__set_link link;       /* in the parent's `ready`, while active */
    bool active;                      /* something below it may be tried */
    bool has_key;                     /* `key` was made when it entered: it was not alone there */
    bool holds_classes;               /* it is a leaf: `ready` holds wait classes */
    struct gang__hash_table classes;  /* of a leaf, by what they wait for */
    struct gang__wait_class *barring; /* BLOCKED classes of a leaf that bar those behind them */
    struct gang__wait_class *blocked; /* classes below that this queue blocks */
    struct gang__child_key key;       /* made when it entered its parent's `ready` */
    struct gang__hash_table groups;   /* of classes that differ in the user alone */
};

/* Counters (record/stats.h): the members of struct gang_sched_stats, one after the other. The owner
 * alone writes them; any thread reads those of the root. */
enum {
    GANG__STAT_RUNS,
    GANG__STAT_MESSAGES,
    GANG__STAT_JOBS,
    GANG__STAT_STARTS,
    GANG__STAT_RESUMES,
    GANG__STAT_TASKS_GRANTED,
    GANG__STAT_REFUSALS,
    GANG__STAT_WASTED_STARTS,
    GANG__STAT_FIRST_STARTS,
    GANG__STAT_WAIT_SUM,
    GANG__STAT_WAIT_MAX,
    GANG__STAT_ENDS,
    GANG__STAT_GANGS_STOPPED = GANG__STAT_ENDS + GANG_STATS_ENDS,
    GANG__STAT_TASKS_STOPPED = GANG__STAT_GANGS_STOPPED + GANG_STATS_REASONS,
    GANG__STAT_WAITS = GANG__STAT_TASKS_STOPPED + GANG_STATS_REASONS,
    GANG__STATS = GANG__STAT_WAITS + GANG_STATS_BUCKETS
};
_Static_assert(sizeof(struct gang_sched_stats) == sizeof(size_t) + GANG__STATS * sizeof(int64_t),
               "the members are counters, one after the other");

/* What each job that is taken in or starts changes comes first: fewer cache lines are read. */
struct gang__queue_state {
    const struct gang__queue *q;
    struct gang__queue_state *parent;
    /* Amounts, dims each, in one block. */
    int64_t *used, *demand, *fixed, *share, *guarantee, *limit;
    /* Held by tasks that were asked to stop; above their taker only beyond its promise, which is in
     * `used`. Limits count used + stopping (usage/held.c). The root has none. */
    int64_t *stopping;
    int64_t jobs;             /* in it and below, of any state */
    int64_t running, pending; /* jobs, in it and below */
    int64_t promised;         /* jobs about to start: gangs are stopping for them */
    int64_t tasks;
    /* `pending`, as submitters read it; the owner stores it before the release in
     * gang__submit_arrive() -> gang__submit_may_wait() */
    gang__a64 waiting;
    int64_t
        idle_since_ns; /* a leaf that was made on demand, without jobs; INT64_MAX: it has some */
    struct gang__queue_wake {
        struct gang__queue_state *next;            /* in sched.wake.queues, */
        struct gang__queue_state *next_share;      /* in sched.wake.share_queues, */
        uint64_t share_dims;                       /* if this is not 0: where it changed */
        struct gang__queue_state *next_candidates; /* in sched.wake.candidates, */
        bool candidates;                           /* as it is in it */
        bool retry_candidates;                     /* and all its candidates look again */
        bool noted;                                /* it is in sched.wake.queues */
    } wake;
    struct gang__wait_class *bounded; /* of a leaf: classes whose demand may not count */
    struct gang__queue_order order;
    /* Gangs that run, in the order in which they are preempted (owner: usage/victim_order.c), and
     * those of them that have tasks above their minimum. Some may still be unsorted. */
    struct gang__ordered_set victims, elastic_victims;
    /* Of jobs in it and below. relaxed, pairs with none: each counter alone */
    gang__a64 stat[GANG__STATS];

    int64_t *withheld; /* lacking, too, but not in `demand`: it could not run (usage/demand.c) */
    /* What the division of the parent's share took for this queue's demand, and the sum of it below
     * this queue: both hold in the dimensions of the parent's, of its own by_demand. There each
     * child got what it demands (usage/share_moved.c). */
    int64_t *counted, *counted_below;
    uint64_t by_demand;
    int64_t *block;
    struct gang__decay *past_use;          /* dims; NULL: past use does not count */
    bool past_restored;                    /* it goes on when the restored jobs are there */
    struct gang__hash_table users;         /* of a leaf */
    struct gang__users_limit *users_limit; /* of a leaf; NULL: not needed yet */
    struct gang__queue_state *next_gone;   /* in gang__submit_view.gone */
    struct gang__multifactor_leaf multifactor;
    struct gang__budget_queue budget;
    struct gang__calendar_leaf calendar;
    struct gang__backfill_leaf backfill;
};

/* What submitters see of the queues: the tree, and how many jobs wait in each (owner: intake). */
struct gang__submit_view {
    struct gang__queues *queues;
    gang__a64 *limit; /* count * dims: limits in force; relaxed, pairs with none: each alone */
    /* Of each queue: jobs that wait (queue_state.waiting), and those that were submitted through
     * this view and are not taken in. fetch_add (release) of gang__submit_arrive() -> fetch_add
     * (acquire) of gang__submit_may_wait(), which loads `pending` after it. */
    gang__a64 **pending;
    gang__a64 *arriving;
    uint64_t number;                /* from 1 */
    struct gang__queue_state *gone; /* queues that went when the next view came */
    struct gang__submit_view *retired;
};

#endif
