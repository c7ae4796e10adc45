/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler: what all folders share, and the state of each folder. One thread at a time is in
 * the scheduler (the owner), except in intake/submit.c and intake/inbox.c. */
#ifndef GANG__SCHED_SCHED_H
#define GANG__SCHED_SCHED_H

#include "place/whatif/whatif.h"
#include "queue/fairness/fairness.h"
#include "sched/record/gang.h"
#include "sched/record/job_state.h"
#include "sched/record/queue_state.h"
#include "sched/record/request_class.h"
#include "sched/record/stop_state.h"
#include "sched/record/wait_class.h"

/* Why a job was noted, as bits: what the drain does with it. */
enum {
    GANG__WAKE_SETTLE = 1,  /* put its gangs where they belong: gang__job_settle() */
    GANG__WAKE_TIMER = 2,   /* compute again when it is due: gang__timer_set() */
    GANG__WAKE_STOPPED = 8, /* a gang of it has stopped: it waits again, goes on, or ends */
    GANG__WAKE_STATE = 4    /* report its state to the host, if it changed */
};

/* Why the plans are looked at again. */
enum {
    GANG__PLANS_EARLIER = 1, /* something came free, or a plan went: they may be earlier */
    GANG__PLANS_MISFIT = 2   /* something was taken that no plan knew of: do they still fit? */
};

/* Why reservations are looked at again before any of them is due. */
enum {
    GANG__RESERVE_CLASSES = 1, /* some came, went or changed: gangs enter their classes again */
    GANG__RESERVE_TIMELINE = 2 /* the timeline was made again: pieces are put there again */
};

/* The notes of changes since the last drain: intrusive lists, bits and sums. Noting cannot fail. */
struct gang__wake {
    struct gang__job *jobs, **jobs_end;   /* by job->wake.next, first noted first */
    struct gang__queue_state *queues;     /* to be ordered again: by q->wake.next */
    struct gang__gang *holdings;          /* what they hold changed: by g->wake.next; */
    const struct gang__gang *starting;    /* but not of this one, which is in the timeline */
    gang_alloc_id started;                /* already with this allocation */
    struct gang__queue_state *candidates; /* leaves that try backfill candidates again */
    bool capacity;                        /* the scheduler itself freed capacity: */
    int64_t capacity_cpu, capacity_pages,
        capacity_gpu;    /* the maximum on one of the nodes that gave */
    bool bounds;         /* guarantees or limits changed: order all again */
    bool shares;         /* usage, demand or weights changed: divide shares again, */
    uint64_t share_dims; /* in these dimensions, as bits, */
    struct gang__queue_state *share_queues; /* of these leaves: by q->wake.next_share */
    bool slices;                            /* some gang of a matrix may run, or has stopped */
    bool retry;                             /* classes are blocked until the next run alone */
    bool run;                               /* the next run is due now */
    uint32_t plans;                         /* GANG__PLANS_*; 0 while there is no calendar */
    uint32_t reservations;                  /* GANG__RESERVE_*; 0 while there never were any */
    uint64_t changes;      /* rises with each event after which preemption may help */
    uint64_t changes_done; /* those for which preemption was tried */
};

/* What undoes one change of a trial (calendar/trial.h). */
struct gang__trial_record;
typedef void gang__trial_undo(gang_sched *s, const struct gang__trial_record *r);
struct gang__trial_record {
    gang__trial_undo *undo;
    void *what;
    const void *with;
    int64_t a, b;
};

/* The changes of all open trials, the oldest first. */
struct gang__trial_journal {
    struct gang__trial_record *record;
    size_t count, cap;
};

/* Time slicing (slice/slice.h). */
struct gang__slice_sched {
    struct gang__matrix *matrices; /* of queues that slice, made with their first gang */
    struct gang__hash_table gangs; /* in them, by allocation */
    /* While a gang is put where a handover kept places: the nodes of these, as bits of slots. */
    const uint64_t *only;
    uint32_t only_end;
    bool only_moved;       /* the gang that is placed there has moved */
    gang_snapshot *dry[2]; /* scratch of the dry run of preemption: open nodes; a row of them */
};

/* Reservations (reserve/reserve.h). */
struct gang__reserve_sched {
    struct gang__reserves *all; /* NULL: there never were any */
    /* As submitters see them; NULL: none. gang__store of the owner -> gang__load in read
     * sections. */
    _Atomic(struct gang__reserve_view *) view;
    uint32_t count;
    bool placing; /* one is being placed */
};

/* What puts occupations of its own into the calendar (calendar/calendar.h). */
struct gang__calendar_source;
enum { GANG__SOURCE_SLICE, GANG__SOURCE_RESERVE, GANG__SOURCES };

/* Backfill (backfill/backfill.h). */
struct gang__backfill_sched {
    uint64_t changes_seen; /* calendar.changes when candidates were looked at last */
    bool try_all;          /* for tests: no wait class is kept among candidates */
};

/* sched/where: the vetoes of higher folders, and scratch: the states of nodes before some were
 * closed. */
struct gang__narrowed;
struct gang__veto;
enum { GANG__REGISTERED_VETOES = 4 };
struct gang__where_state {
    const struct gang__veto *registered[GANG__REGISTERED_VETOES];
    uint32_t count;
    uint8_t *state;
    uint64_t *open; /* slots, as bits: gang__where_open() */
    size_t state_cap, open_cap;
    struct gang__narrowed *narrowed; /* scratch: the request with the choice of a gang */
};

/* The totals, and the usage of queues (usage/usage.h). */
struct gang__usage_sched {
    uint64_t total_epoch;        /* cluster epoch and 1 when total[] was summed, */
    uint64_t total_stamp;        /* and the stamp of node states; see gang__fair_refresh() */
    uint64_t bounds_count;       /* how often guarantees and limits in force changed so far */
    uint64_t share_changes;      /* how often a share changed so far */
    int64_t *resolved;           /* scratch: two amounts for each queue and dimension */
    struct gang__sharer *sharer; /* scratch of fair.c, one a queue */
    struct gang__share_slot *share_slot;
    size_t bounded;     /* wait classes in the lists of leaves (demand.c) */
    bool limits;        /* some queue has a limit, */
    bool inner_limits;  /* and one below another has a limit of its own */
    bool withholds;     /* some queue has demand that does not count */
    bool restored;      /* some past use was restored, and goes on when the jobs are there */
    size_t by_memory;   /* request classes that ask for GPUs by memory */
    size_t partitioned; /* request classes with several partitions */
    /* How much memory GPUs have, each amount once, ascending (gpu_memory.c). */
    struct gang__gpu_memory {
        int64_t *bytes;
        size_t count, cap;
    } gpu_memory, gpu_memory_next;       /* _next: scratch */
    uint64_t gpu_memory_epoch;           /* cluster epoch and 1 of the list; 0: it is stale */
    struct gang__gang *unsorted_victims; /* they run, and are in no order of victims yet; the last
                                          * that started is the first */
};

/* Waiting gangs (order/). */
struct gang__order_sched {
    const struct gang__order_hooks *hooks; /* what backfill does when classes move */
    struct gang__wait_class *blocked;      /* classes that are BLOCKED, but for those that
                                                   * backfill keeps or that wait in a group */
    struct gang__class_group *due_groups;
    struct gang__request_class *blocked_requests; /* with classes blocked for want of capacity */
    struct gang__ordered_set multifactor;         /* leaves to be scored again, by when */
    uint64_t capacity_stamp, own_stamp; /* of the cluster and of our worker, when capacity that came
                                     * free was looked at last */
};

/* Bounded bypass (order/bypass.c). */
struct gang__bypass_sched {
    struct gang__gang *starved; /* by bypass.next, the first that became so first */
    bool planned;               /* one of them may have got a planned start */
    uint64_t *mask;             /* scratch: nodes, as bits */
    size_t mask_cap;
};

/* What stops (stop/stop.h). */
struct gang__stop_sched {
    const struct gang__stop_hooks *hooks; /* what slices do when an allocation goes */
    struct gang__handover *handovers;
    bool restored;               /* some stop is `restored` */
    struct gang__stop *kept;     /* of restored jobs: have stopped, and wait for their handover */
    struct gang__stop *deferred; /* stopped, but a thread still reads what they held: by
                                  * next_of_handover */
};

/* Preemption (preempt/preempt.h). */
struct gang__preempt_sched {
    struct gang__victims *victims;        /* scratch */
    gang_snapshot *base;                  /* the cluster when the dry run began */
    struct gang__gang *tried;             /* for it the last step did nothing; NULL: none, */
    struct gang__wait_class *tried_class; /* and the class where it was before */
    bool above_share; /* a queue is above its share or guarantee, when last looked at, */
    /* and all such queues lie on the path of this one; NULL: they lie in several branches */
    const struct gang__queue_state *only_above;
    int64_t lowest_victim;      /* the lowest priority of a gang that runs, when last looked at, */
    uint64_t victim_classes;    /* and the classes of preemption of those gangs, as bits */
    int64_t preempted_tasks;    /* in this run, of max_preempted_tasks */
    int64_t min_runtime_due_ns; /* when a gang may preempt, or be a victim, that may not yet */
    bool until_event;           /* or may only after the next of external_events, */
    bool look_again;            /* or only in the next run */
    uint64_t stops; /* gangs, and tasks above a minimum, that were preempted or moved so far */
};

/* Submissions and messages of other threads; the trees of queues that submitters read (intake/). */
struct gang__intake_sched {
    /* Last first; CAS (release) of any thread at the head -> gang__swap of the owner. */
    _Atomic(struct gang__message *) inbox;
    struct gang__message *backlog; /* taken out, first first */
    /* The last id. relaxed, pairs with none: makes ids distinct; a thread that has an id loads that
     * one or a later one. */
    gang__a64 next_job;
    /* gang__store of the owner, which loads it relaxed -> gang__load of submitters, in read
     * sections */
    _Atomic(struct gang__submit_view *) submit_view;
    uint64_t view_count; /* submit views so far */
    /* which of submit_worker are in use: gang__store of 0 -> gang__try_lock */
    gang__a32 submit_lock[16];
    gang_worker *submit_worker[16];
    struct gang__recent recent[64];
    struct gang__submit_view *retired; /* readers may still use them */
    uint32_t retired_count;
    gang_queue_id next_queue;
};

/* Views of jobs and queues for other threads (view/publish_view.c). */
struct gang__view_sched {
    /* published last; NULL: none. seq_cst swap of the owner -> seq_cst load of any thread */
    _Atomic(struct gang_view *) latest;
    /* threads that are about to hold it. seq_cst add, release when they leave -> seq_cst load of
     * the owner */
    gang__a64 readers;
    struct gang_view *retired; /* replaced, and not given up yet: by view->older */
};

/* sched/lifecycle: nodes as the last run saw them, and those that are to be empty by a deadline */
struct gang__nodes_sched {
    struct gang__seen_node {
        gang_node_id id; /* the node of the slot if it was up or draining, else GANG_ID_NONE */
        bool lost;       /* it is not any more, and its tasks are not lost yet */
    } * seen;            /* by slot */
    size_t seen_cap;
    uint64_t epoch, states; /* of the cluster, at that look; epoch and 1, 0: none yet */
    struct gang__drain {
        gang_node_id node;
        int64_t deadline_ns;
        int64_t due_ns; /* when its gangs are looked at */
    } * drain;
    size_t drain_count, drain_cap;
};

/* What others use of nodes (foreign/foreign.h). */
struct gang__foreign_sched {
    struct gang__foreign_node {
        gang_node_id id;
        gang_alloc_id alloc;       /* holds the claims, as far as they are free */
        struct gang__claim *claim; /* count of them, and */
        /* of each the task that uses it beyond what it holds; GANG_ID_NONE: others do */
        struct gang__claim_of {
            gang_alloc_id alloc;
            int64_t task;
        } * of; /* (in the block of `claim`) */
        size_t count;
        bool wants; /* some of it is taken by other allocations */
    } * node;
    size_t count, cap;
    uint64_t epoch;        /* of the cluster and 1, when nodes were looked at last */
    gang_request *request; /* of these allocations; NULL: there was none yet */
};

/* Gangs with grants of this run that the host has not heard of (record/untold.h). */
struct gang__untold_sched {
    struct gang__untold_list {
        struct gang__gang *first, **end; /* by untold.next */
    } starts, growth;
    bool refused; /* the host refused one of them */
};

struct gang_sched {
    struct gang__wake wake;
    struct gang_mem mem;
    gang_cluster *cluster;
    gang_worker *worker;
    struct gang_host_ops ops;
    void *user;
    struct gang_sched_opts opts; /* without its pointers */
    struct gang__rules *rules;
    bool excluded[GANG_MAX_KINDS]; /* kinds that do not count in dominant shares */

    /* The run */
    bool running;    /* inside gang_sched_run() */
    bool unfinished; /* the last run stopped early */
    bool no_memory;  /* in this run */
    int64_t now_ns;
    uint64_t runs; /* so far */
    int64_t steps, max_steps;
    struct gang_run_info info;
    uint64_t external_events; /* messages of the host, ended jobs, changed queues and nodes */

    /* Queues */
    struct gang__queues *queues;
    struct gang__queue_state root; /* above the top queues */
    struct gang__queue_state **qs; /* count of them, as in queues->queue */
    uint64_t config_count;
    uint32_t dims;
    int64_t total[GANG__DIMS]; /* of nodes that are up, and pools */

    /* Jobs */
    struct gang__hash_table jobs, classes; /* jobs by id, request classes by their text */
    struct gang__hash_table arrays;        /* by queue and name */
    struct gang__ordered_set by_id, timers;
    int64_t job_count, age_high;
    struct gang__job *ended; /* in this run, to be freed at its end */

    /* The folders */
    struct gang__intake_sched intake;
    struct gang__usage_sched usage;
    struct gang__order_sched order;
    struct gang__ordered_set budget_timers; /* usage/budget.c */
    struct gang__bypass_sched bypass;
    struct gang__calendar *calendar; /* NULL: no queue backfills, and nothing is reserved */
    const struct gang__calendar_source *source[GANG__SOURCES];
    struct gang__trial_journal journal;
    struct gang__stop_sched stop;
    struct gang__untold_sched untold;
    struct gang__view_sched view;
    struct gang__slice_sched slice;
    const struct gang__first_quantum *first_quantum; /* what starts a gang in a matrix: slice.h */
    struct gang__reserve_sched reserve;
    struct gang__backfill_sched backfill;
    struct gang__preempt_sched preempt;
    struct gang__where_state where;
    struct gang__nodes_sched nodes;
    struct gang__foreign_sched foreign;
    const gang_sched *original; /* of a copy, while its jobs enter it; else NULL */

    /* Scratch */
    gang_snapshot *scratch;
    struct gang__places placement; /* that was found last */
    struct gang__found found;      /* tasks of an allocation */
    int64_t *numbers;              /* of tasks */
    size_t number_cap;
    int64_t *by_group; /* tasks of each group of the largest request so far */
    size_t group_cap;
};

/* Why a reservation keeps a gang from starting: one that it named, or one for others. */
struct gang__reserve_reason {
    int64_t until_ns; /* or 0 */
    bool never;
    char text[400];
};

/* Counts a step of the run. False: it has none left. */
static inline bool gang__run_step(gang_sched *s)
{
    if (s->max_steps > 0 && s->steps >= s->max_steps)
        return false;
    s->steps++;
    return true;
}

/* The request of a gang. */
static inline gang_request *gang__gang_request(const struct gang__gang *g)
{
    return g->request_class->request;
}

/* In how many partitions does the gang, which waits to start, have to be tried one by one? 0: its
 * request says where. */
static inline uint32_t gang__partition_count(const struct gang__gang *g)
{
    return g->waits_as && g->request_class == g->waits_as ? g->waits_as->partition_count : 0;
}

/* Begin to try the gang in its i-th partition; end it. */
static inline void gang__partition_try(struct gang__gang *g, uint32_t i)
{
    g->request_class = g->waits_as->partition[i];
}

static inline void gang__partition_try_end(struct gang__gang *g)
{
    g->request_class = g->waits_as;
}

/* Is the gang being tried in a partition behind its first one? */
static inline bool gang__partition_is_fallback(const struct gang__gang *g)
{
    return g->waits_as && g->alloc == GANG_ID_NONE && g->request_class != g->waits_as &&
           g->request_class != g->waits_as->partition[0];
}

/* The number that a group of the gang has in its job. */
static inline int32_t gang__group_in_job(const struct gang__gang *g, uint32_t group)
{
    return g->group_of ? g->group_of[group] : (int32_t)group;
}

/* The allocation of the gang, also while all its tasks stop. */
static inline gang_alloc_id gang__gang_holds(const struct gang__gang *g)
{
    return g->alloc != GANG_ID_NONE ? g->alloc
           : g->stop.first          ? g->stop.first->alloc
                                    : GANG_ID_NONE;
}

/* What a gang of the class takes (group < 0), or a task of a group: `count` dimensions. */
static inline const struct gang__take *
gang__request_class_takes(const struct gang__request_class *request_class, int32_t group,
                          uint32_t *count)
{
    *count = group < 0 ? request_class->gang_take_count : request_class->group[group].count;
    return group < 0 ? request_class->gang_take
                     : request_class->take + request_class->group[group].from;
}

/* Tasks of each group, and what a gang takes that is about to start: by the choice that is being
 * tried; else as far as is known before placing. */
static inline const int64_t *gang__gang_tasks(const struct gang__gang *g)
{
    return g->choice ? g->choice->tasks : g->request_class->gang_tasks;
}

static inline const struct gang__take *gang__gang_takes(const struct gang__gang *g, uint32_t *count)
{
    if (!g->choice)
        return gang__request_class_takes(g->request_class, -1, count);
    *count = g->choice->take_count;
    return g->choice->take;
}

/* What a number of tasks of a group takes. Returns in how many dimensions. */
static inline uint32_t
gang__request_class_takes_times(const struct gang__request_class *request_class, int32_t group,
                                int64_t times, struct gang__take take[GANG__DIMS])
{
    uint32_t count;
    const struct gang__take *one = gang__request_class_takes(request_class, group, &count);
    for (uint32_t i = 0; i < count; i++)
        take[i] = (struct gang__take){one[i].dim, one[i].amount * times};
    return count;
}

/* The longest grace of any queue. */
static inline int64_t gang__longest_grace(const gang_sched *s)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < s->queues->count; i++)
        most = s->qs[i]->q->grace_ns > most ? s->qs[i]->q->grace_ns : most;
    return most;
}

/* The first gang of a class that has one. */
static inline struct gang__gang *gang__wait_class_head(const struct gang__wait_class *class)
{
    return GANG__OF(struct gang__gang, order.link, gang__set_first(&class->gangs));
}

#endif
