/* SPDX-License-Identifier: Apache-2.0 */
/* A job, as its submitter made it and as it stands. It lies in one block with its gangs, its texts
 * and its arrays. */
#ifndef GANG__SCHED_JOB_H
#define GANG__SCHED_JOB_H

#include "place/alloc/alloc.h"
#include "sched/record/gang.h"
#include "sched/record/message.h"

/* A job that waits for this one to start or to end. */
struct gang__waiter {
    struct gang__waiter *next;
    gang_job_id job;
};

struct gang__after {
    gang_job_id job;
    int32_t when;
};

/* The jobs of a queue with the same array name (owner: order/job_array.c). */
struct gang__array {
    struct gang__hash_link link; /* in sched.arrays, by queue and name */
    gang_queue_id queue_id;
    int64_t refs; /* jobs that have it */
    int64_t running;
    int64_t promised; /* jobs about to start: gangs are stopping for them */
    char name[];
};

/* Tasks of a restored job that stop in one step, or are fenced (gang_job_stop). */
struct gang__kept_stop {
    int32_t what, reason, end; /* GANG_STOP_* */
    bool whole, unasked;
    int32_t handover, starts_as;
    int64_t deadline_ns, next_ns;
    gang_job_id preemptor;
    /* Those that have not stopped, and all that have a place; ascending, in the block of the job */
    struct gang__found task, all;
    struct gang_placement *targets; /* where they were to move, and do not */
    size_t target_count;
    struct gang_placement *places; /* `apart`: of all; an allocation of its own */
};

/* A job and reservations. */
struct gang__reserve_job {
    gang_reservation_id id;      /* that it named; GANG_ID_NONE: none */
    struct gang__reserve *named; /* inside which alone it starts; NULL: none */
    bool limit_kept; /* it asked for no limit: time_limit_ns is what was left of its reservation */
};

/* What few job specifications say. Most jobs share gang__no_job_options: many jobs are in memory at
 * once, and what a job takes of it decides how fast they are taken in and started. */
struct gang__job_options {
    int64_t start_within_ns, heartbeat_ns, back_off_ns;
    int64_t begin_ns, deadline_ns; /* INT64_MIN, 0: none */
    int64_t restart_delay_ns, refill_ns, max_restarts, parallelism, prefer_wait_ns;
    int64_t array_max_running; /* INT64_MAX: no bound */
    const char *array_name;    /* "": none */
    const char *made_queue;    /* the leaf is made under this name below queue_id; NULL: it
                                * exists */
    const int32_t *protected_groups, *roles;
    const int64_t *group_order;
    const struct gang__after *after;
    const struct gang_group_after *group_after;
    size_t after_count, group_after_count;
    int64_t *missing_of; /* of each group: announced tasks that have not come; NULL: of none */
};
extern const struct gang__job_options gang__no_job_options;

/* What a job brings that runs already, or that the host restores. */
struct gang__restored_job {
    struct gang_placement *places; /* of a job that runs already, by gang */
    size_t place_count;
    struct gang_job_past *past;    /* of a job that the host restores; NULL: none */
    struct gang__kept_stop *stops; /* of that: the tasks that stop, or are fenced */
    size_t kept_stop_count;
    struct gang__kept_stop *apart; /* of those behind them: what the gang has left */
    size_t apart_count;
    struct gang__kept_stop
        *slice_stop; /* of that: its quantum is over; NULL: none. Behind `stops` */
    int64_t *gone;   /* of that: numbers of tasks that have ended */
    size_t gone_count;
    struct gang_placement *promised; /* of that: places that are kept for it */
    size_t promised_count;
    struct gang_placement *resumes; /* of that: places on which it resumes, if it stops as yet */
    size_t resumes_count;
};
extern const struct gang__restored_job gang__not_restored;

/* What happens to a job decides which members are read: few jobs, what is first; each one that is
 * taken in, from `submit` on; each one of which the host hears, from `waiters` on; and all of them
 * from `id` on, up to its first gang. So each step reads few cache lines of each of many jobs. */
struct gang__job {
    const char *name;
    struct gang__set_link timer; /* in sched.timers, while due_ns is not INT64_MAX */
    int64_t paused_since_ns;
    int64_t score;    /* multifactor priority, in millionths; changes while it is in no order */
    int64_t attained; /* service that its order counts: dominant millionths of the cluster * ns */
    int64_t restarts, preemptions;
    gang_node_id *failed_nodes;

    const char *user;
    struct gang__message submit; /* jobs that are submitted together: the first lies in the inbox,
                                  * the others follow by `next` */
    struct gang__hash_link link; /* in sched.jobs, by id */
    struct gang__job *next;      /* in a message, in the list of those that ended */
    struct gang__set_link by_id; /* in sched.by_id */
    gang_queue_id queue_id;
    const struct gang__restored_job *restored; /* in its block, or gang__not_restored */
    uint64_t submit_view; /* number of the submit view that counts it as arriving; 0: none does */
    uint32_t at_view;     /* under this queue */
    uint32_t group_count;
    struct gang__job_wake_waiters {
        struct gang__job *next, **at; /* in sched.wake.jobs; at is NULL: it is not in it */
        uint32_t causes;              /* GANG__WAKE_*, as bits */
    } wake;

    struct gang__waiter *waiters;
    int64_t started_ns;
    int64_t paused_ns; /* pauses since it started, without this one */
    uint64_t cookie;
    int64_t extended_ns;      /* beyond its time limit, since its last start */
    int64_t predicted_ns;     /* run time; 0: no prediction */
    int64_t expected_ns;      /* the same, or more since it runs longer */
    int64_t next_back_off_ns; /* the first one is options->back_off_ns */
    int64_t time_limit_ns;

    gang_job_id id;
    struct gang__queue_state *leaf;
    int32_t state, end, end_wanted; /* end_wanted: how it ends when it has stopped */
    /* GANG_WAIT_HOLD, _AFTER, _BACK_OFF, _QUEUE, _RESERVATION, _BEGIN, _ANNOUNCED while it may not
     * be tried; 0 */
    int32_t wait_why;
    int32_t stop_reason; /* GANG_REASON_*, while it is `ending` */
    uint32_t gang_count;
    int32_t preemptible, loss;
    bool held, never_preempts;
    bool start_full;                       /* its start waits for its elastic tasks */
    bool stale;                            /* adopted below its minimum: it is stale at once */
    bool ending;                           /* all its gangs stop, and it ends then */
    bool counted_pending, counted_running; /* in its queues */
    bool paused;                           /* it waits between two quanta, since paused_since_ns */
    bool undone; /* out of memory when it was to wait or to stop: to be tried again */
    const struct gang__job_options *options; /* in its block, or gang__no_job_options */
    int64_t missing; /* announced tasks that have not come: sum of options->missing_of */
    /* Since when it could be granted, or but for its announced tasks; -1: it could not yet. */
    int64_t ready_ns;
    struct gang__reserve_job reserve;
    int64_t not_before_ns; /* in back-off until then */
    int64_t due_ns;        /* of its timer; INT64_MAX: it has none */
    int64_t served;        /* service since `attained` was summed up */
    struct gang__heartbeat *heartbeats;
    struct gang__array *array;    /* NULL: none, or no run has accepted the job yet */
    struct gang__user *leaf_user; /* the user's record in the leaf; NULL: users do not count */
    size_t failed_node_count;
    int64_t submitted_ns;
    int64_t priority;
    int64_t age;              /* smaller is older; unique with the id */
    struct gang__gang gang[]; /* gang_count of them */
};

/* The first of the jobs that a message brings. */
static inline struct gang__job *gang__message_job(const struct gang__message *m)
{
    return GANG__OF(struct gang__job, submit, m);
}

#endif
