/* SPDX-License-Identifier: Apache-2.0 */
/* A gang: the tasks of a job that start together. A job has one, unless groups of it start after
 * each other. Each folder has a struct of its own in it. */
#ifndef GANG__SCHED_GANG_H
#define GANG__SCHED_GANG_H

#include "sched/record/types.h"

/* A gang in the calendar; all 0 without a calendar. An occupation is stored as its number in the
 * timeline plus 1; 0: none. */
struct gang__calendar_gang {
    int64_t planned_ns;
    uint32_t *node; /* the nodes that the planned start counts on, ascending */
    size_t node_count;
    struct gang__gang *next_planned, **planned_at; /* in leaf->calendar.planned */
    uint32_t occupies;                             /* the occupation of its allocation, */
    uint32_t beside; /* of what it takes outside of its reservation, */
    uint32_t plan;   /* and of its planned start, */
    bool retried;    /* which is set aside while the gang is tried again */
};

/* A gang and reservations. */
struct gang__reserve_gang {
    struct gang__reserve *inside_of; /* its occupations lie inside; NULL: outside of all */
    int64_t until_ns;                /* end of that reservation when the gang was placed */
};

/* A gang in a matrix of time slices (owner: slice). */
enum {
    GANG__SLICED_WAITS, /* for its first quantum */
    GANG__SLICED_RUNS,
    GANG__SLICED_STOPS, /* asked to suspend; some tasks have not stopped yet */
    GANG__SLICED_OUT    /* suspended */
};

struct gang__sliced {
    struct gang__hash_link link;     /* in sched.sliced, by its allocation */
    struct gang__sliced *next, **at; /* of the matrix, as they came */
    struct gang__sliced *next_gone;
    struct gang__matrix *matrix;
    struct gang__gang *gang; /* NULL: detached; the allocation is not given back yet */
    gang_alloc_id alloc;
    uint32_t row;
    uint8_t state;       /* GANG__SLICED_* */
    bool to_run;         /* the pass wants it to run now */
    bool refused;        /* the host refused to resume it in this quantum */
    bool stopped;        /* detached, and all its tasks have stopped */
    bool killed;         /* STOPS: op kill was called; the host is to report that they stopped */
    bool gone;           /* removed from the matrix; freed when no walk is under way */
    int64_t came;        /* ascends in the list of the matrix */
    int64_t deadline_ns; /* STOPS: end of its grace; INT64_MAX: none. Detached: they stop by then */
    int64_t next_ns;     /* STOPS: op suspend or kill is called, or a report no longer awaited */
    int64_t ends_ns;     /* in the calendar it ends then */
    int64_t *still;      /* STOPS: tasks that have not stopped yet, ascending: */
    size_t left, still_cap;
    struct gang__use *use; /* by task, ascending */
    size_t uses, use_cap;
    int64_t cpu; /* millicores of them */
};

/* Among victims (owner: usage/victim_order.c; the tentative ones: preempt). */
struct gang__gang_victim {
    bool listed;    /* it is in leaf->victims, or about to be, */
    bool unsorted;  /* as it is in sched.unsorted_victims */
    bool elastic;   /* it is in leaf->elastic_victims */
    bool tentative; /* a victim as a whole, in the preemption that is being tried, */
    union {
        struct gang__set_link link; /* in leaf->victims, while it runs; */
        struct {                    /* `unsorted`: not yet, it is in sched.unsorted_victims */
            struct gang__gang *next, **at;
        } in_unsorted;
    };
    int64_t priority, age;    /* of its job, since it is listed: beside the link, for the order */
    int64_t tentative_count;  /* or this number of its tasks is: */
    int64_t *tentative_tasks; /* of each group, */
    struct gang__set_link elastic_link; /* in leaf->elastic_victims: has tasks above its minimum */
};

/* Preemption in which the gang took part (owner: preempt). */
struct gang__gang_preempt {
    bool took;    /* it has a row because others stopped: it is spared until its first quantum */
    bool stopped; /* it was preempted or moved: what it demands when it waits again is not new */
    uint64_t demand_at; /* sched.preempt.stops when what it demands came up */
    /* sched.runs when the host heard of its start, or of more tasks, last. Nothing of it is
     * preempted in that run. */
    uint64_t told_in;
    uint64_t told_at; /* and sched.external_events and 1 then: it does not move before the next */
    struct gang__cooldowns *cooldowns; /* the queues for which it was stopped; NULL: none */
    uint64_t grown_at;                 /* sched.preempt.stops when it got more tasks last */
    /* sched.external_events and 1 when victims had stopped for it and it could not start after
     * all: until another event nothing is preempted for it. */
    uint64_t handover_failed_at;
};

/* Stops of the gang, and the handover that frees capacity for it (owner: stop). */
struct gang__gang_stop {
    struct gang__stop *first;  /* tasks that were asked to stop and have not yet; and fences */
    struct gang__stop *moving; /* the stop after which it starts at other places */
    struct gang__handover *handover; /* capacity is being freed for it */
    uint32_t unreleased;  /* stops whose places are not released: of `first`, and in handovers */
    int64_t *fenced;      /* of each group, tasks that are lost and keep their places, */
    int64_t fenced_tasks; /* and their sum */
};

/* Where it waits (owner: order). */
struct gang__gang_order {
    struct gang__wait_class *wait_class; /* NULL: it does not wait */
    struct gang__set_link link;          /* in wait_class->gangs */
    struct gang__wait_class *grow_class; /* its own, made when it first could grow */
};

/* Why no gang passes it. The larger is the stronger. */
enum {
    GANG__STARVED_NOT = 0,
    GANG__STARVED_BLOCKED = 1, /* by max_blocked_ns: the milder rules of queue.h apply */
    GANG__STARVED_BOUND = 2    /* by max_bypasses or max_wait_ns */
};

/* Bounded bypass (owner: order/bypass.c). */
struct gang__gang_bypass {
    bool had_turn;                 /* blocked_ns counts */
    int64_t bypassed;              /* number of gangs, since it waits for capacity */
    int64_t blocked_ns;            /* when it had its turn and found no capacity; INT64_MAX: it */
    uint64_t cannot_fit_at;        /* cannot fit, as of this many sched.wake.changes */
    struct gang__gang *next, **at; /* in sched.bypass.starved */
};

/* What reports say of its tasks (owner: lifecycle). */
struct gang__gang_reports {
    bool below_min; /* it lost members: below its minimum since below_min_ns */
    bool refill;    /* lost members are to come back */
    int64_t below_min_ns;
    int64_t refill_ns; /* until then; INT64_MAX: without a bound */
};

/* What it was granted in this run, and the host has not heard of (record/untold.h). */
struct gang__gang_untold {
    struct gang__untold_list *list; /* of sched.untold, in which it is; */
    struct gang__gang *next, **at;  /* at is NULL: it is in none */
    bool start;                     /* its start */
    bool took;                      /* gangs were stopped for some of it */
    bool hidden; /* op start is under way: public calls do not show the tasks that were added */
    /* start: what is set aside of its bypass (order/bypass.c); GANG__STARVED_*, */
    bool had_turn;
    uint8_t starved;
    int64_t bypassed;
    struct gang_placement *places; /* and, if it resumes, its places, to have them again */
    int32_t reason, start_reason;  /* GANG_REASON_*, of these tasks and of its start */
    int64_t *tasks;                /* numbers of tasks that were added */
    size_t count, cap;
};

/* Thousands of gangs are in memory, and what a run reads of each decides how long it takes. So what
 * each run reads lies together, by what happens: of thousands of victims the first members alone
 * are read, up to `preempt`; a start, its report to the host and the end read on from there. */
struct gang__gang {
    struct gang__job *job;
    struct gang__request_class *request_class;
    gang_alloc_id alloc;
    int64_t tasks; /* sum of `has` */
    int64_t started_ns;
    struct gang__reserve_gang reserve;
    uint32_t index;  /* among the gangs of its job */
    bool demands;    /* the tasks that it lacks count as demand of its queue */
    bool over;       /* its work is done: it does not start again */
    bool begun;      /* it was started once */
    uint8_t starved; /* GANG__STARVED_*: no gang passes it any more (owner: order/bypass.c) */
    struct gang__gang_stop stop;
    int64_t target;              /* tasks that are to run or to have ended, at most */
    int64_t ended;               /* sum of `done` */
    struct gang__sliced *sliced; /* its record in a matrix; NULL: it is in none */
    int64_t *has;                /* running tasks of each group, without those asked to stop */
    int64_t *done;               /* tasks of each group that ended and do not come again */
    int64_t served_ns;           /* the part of its run time that job->served has */
    struct gang__gang_order order;
    struct gang__gang_victim victim;
    struct gang__gang_preempt preempt;

    struct gang__calendar_gang calendar;
    struct gang_placement *places; /* where it was when it was suspended */
    /* The class of a gang with several partitions while it waits to start, with a reference. While
     * it is tried in a partition, while victims stop for it, and from its start, its request_class
     * is that of the partition. NULL: the gang has at most one partition. */
    struct gang__request_class *waits_as;
    const struct gang__choice *choice; /* while it is tried: with these tasks alone; NULL: any */
    struct gang__gang_untold untold;
    struct gang__gang_reports reports;
    struct gang__gang_bypass bypass;
    int64_t *failed; /* those of `done` that did not succeed */
    /* The numbers of those that ended, as bits; bit 0 is the first number of its first group. NULL:
     * no memory was reserved yet. It is ended_word if one word is enough: then the end of the gang
     * needs no memory. */
    uint64_t *ended_tasks, ended_word;
    /* Of a gang that insists on its preferred domains: the class that it has after that wait. NULL:
     * it has it already. */
    struct gang__request_class *later_class;
    struct gang__request_text *text;       /* until request_class has it; NULL: it has */
    struct gang__request_text *later_text; /* the same of later_class; NULL: or there is none */
    const int32_t *group_of;               /* its groups in the job; NULL: the same */
    struct gang__gang_wake {
        struct gang__gang *next, **at; /* in sched.wake.holdings; at is NULL: it is not in it */
    } wake;
    int64_t place_count; /* of `places` */
    /* As budgets count it (usage/budget.c): when it ends at the latest, and how long it may run,
     * while they count what it is about to get. */
    int64_t budget_end_ns, budget_promised_ns;
};

#endif
