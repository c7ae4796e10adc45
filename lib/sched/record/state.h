/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler inside: what it keeps of queues, jobs and those who wait, and which file does what.
 *
 *   sched.c     making and ending it; the run and its phases
 *   inbox.c     messages of other threads
 *   submit.c    checking a job and making its record
 *   ask.c       requests that are alike are one; what they take of each dimension
 *   config.c    queues at run time;  books.c  what queues use and want;  fair.c  fair shares
 *   job.c       the table of jobs, their states, and what they wait for
 *   turn.c      who is next;  start.c  granting and growing
 *   ahead.c     planned starts: ahead.h says how;  kin.c  candidates of backfill: kin.h
 *   slice.c     time slicing (what it consists of: slice.h)
 *   reserve.c   reservations: reserve.h says how
 *   evict.c     making room: victims (what it consists of: evict.h)
 *   leave.c     those who were asked to stop, and who waits for them
 *   starved.c   bounded bypass: whom nothing passes any more
 *   life.c      reports: tasks and nodes;  timer.c  what is due when;  term.c  until when one may run
 *   copy.c      all of it once more, for forecasts and for hosts (copy.h)
 *   why_wait.c  why a job waits;  audit.c, audit_units.c  the books against what is there
 *
 * One thread at a time is in here (the owner), but for submit.c and inbox.c. */
#ifndef GANG__SCHED_STATE_H
#define GANG__SCHED_STATE_H

#include <gangsched/sched.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/hash_table.h"
#include "base/mem.h"
#include "base/ordered_set.h"
#include "place/whatif/whatif.h"
#include "queue/decay.h"
#include "queue/dominant.h"
#include "queue/order.h"
#include "queue/queues.h"
#include "queue/share.h"

struct gang__job;
struct gang__gang;
struct gang__wait_class;
struct gang__queue_state;
struct gang__calendar;
struct gang__candidates;
struct gang__use;
struct gang__matrix;
struct gang__sliced;
struct gang__reserve;
struct gang__first_quantum;
struct gang__order_hooks;
struct gang__stop_hooks;

/* ---- what is asked for ---- */

/* What one task takes of a dimension. */
struct gang__take {
    uint32_t dim;
    int64_t amount;
};

/* A request, and what it comes to in the dimensions of the queues. Jobs that ask for the same
 * share one, so that a shape that did not fit is remembered for all of them. */
struct gang__request_class {
    struct gang__hash_link link; /* by the hash of its key */
    gang_request *q;
    struct gang__request_text *of; /* its key, and what `q` is held by */
    uint32_t refs;
    uint64_t dims_of; /* sched.config_count when `take` was made out */
    bool
        by_memory; /* GPUs are asked for by memory: `take` and `gang` say what they come to at most (ask_memory.c) */
    bool exact; /* `gang` is what every placement of the gang takes */
    struct gang__span {
        uint32_t from, count;
    } * group; /* of each group in `take` */
    struct gang__take *take;
    uint32_t take_count;
    size_t take_room;
    struct gang__take *gang; /* of the whole gang */
    uint32_t gang_count;
    int64_t *gang_of; /* tasks of each group in the gang, as far as is known */
    int64_t gang_gpu; /* by_memory: milli-GPUs that `gang_of` takes at least */
    /* The least that any task asks: what came free and is less does not help. */
    int64_t least_cpu, least_pages, least_gpu;
    struct gang__wait_class *blocked; /* bins that wait for room for it */
    struct gang__wait_class *ready;   /* its bins that may be tried */
    struct gang__request_class *next_blocked,
        **blocked_at; /* in sched.blocked_asks; NULL: is not */
};

/* ---- who waits ---- */

enum { GANG__CLASS_EMPTY = 0, GANG__CLASS_READY, GANG__CLASS_BLOCKED };

/* A class that is kept by its candidates of backfill (owner: backfill). */
enum { GANG__KEPT_NOT = 0, GANG__KEPT_TRIED, GANG__KEPT_WAITING };

/* A wait class among backfill candidates (backfill/candidates.h). */
struct gang__backfill_class {
    struct gang__candidates *candidates; /* NULL: it was never kept */
    struct gang__set_link link;          /* in candidates->waiting, */
    int64_t run_ns, shortest_ns;         /* by how long it runs, and the shortest there below */
    uint8_t kept; /* GANG__KEPT_*: while BLOCKED in no list but that of its candidates */
};

/* Those of a leaf who wait for the same thing: if the first cannot start, none can. */
struct gang__wait_class {
    struct gang__hash_link link;         /* in qs.bins */
    struct gang__set_link order;         /* in qs.ready, while READY */
    struct gang__wait_class *next, **at; /* in the list of what blocks it; READY: in ask->ready */
    struct gang__wait_class *next_moved; /* scratch of turn.c */
    struct gang__wait_class *next_all, **at_all; /* in sched.blocked */
    struct gang__wait_class *next_bar, **at_bar; /* in qs.barring; NULL: in none */
    struct gang__queue_state *leaf;
    struct gang__request_class *ask;
    struct gang__user *user;   /* NULL: the leaf does not ask who it is */
    struct gang__gang *grower; /* it is this one's, to grow or resume; NULL: they wait to start */
    bool fixed;                /* inside the guarantee alone */
    bool late;                 /* READY: tried after those that are not, by its key; then as ever */
    int64_t late_key;
    /* a leaf that backfills: how long they run, or who it is; who is of a job that runs */
    uint64_t apart;
    uint8_t state;                /* GANG__BIN_* */
    int32_t why;                  /* GANG_WAIT_*, while BLOCKED */
    struct gang__queue_state *by; /* the queue that blocks it; or NULL */
    uint32_t dim;                 /* in which dimension */
    uint64_t tried;               /* sched.changes + 1 when making room for it was tried in vain */
    struct gang__ordered_set units;
    struct gang__backfill_class backfill;
};

/* ---- jobs ---- */

/* A gang in the calendar; all 0 without one. An occupation is its number in the timeline, and 1; 0: none. */
struct gang__calendar_gang {
    uint32_t occupies; /* what it holds */
    uint32_t plan;     /* its planned start, */
    int64_t planned_ns;
    uint32_t *node; /* and the nodes that the plan counts on, ascending */
    size_t node_count;
    struct gang__gang *next_planned, **planned_at; /* in leaf->calendar.planned */
};

/* A gang and reservations. */
struct gang__reserve_gang {
    struct gang__reserve *inside_of; /* its occupations lie inside; NULL: outside of all */
    int64_t until_ns;                /* when that ended, as far as was known when it was placed */
};

/* A job and reservations. */
struct gang__reserve_job {
    gang_reservation_id id;      /* that it named; GANG_ID_NONE: none */
    struct gang__reserve *named; /* inside which alone it starts; NULL: none */
    bool limit_kept; /* it asked for no limit: time_limit_ns is what was left of its reservation */
};

/* A gang of a job: all of it, unless groups wait for each other. What is touched when it is taken
 * in and started stands before what is not. */
struct gang__gang {
    /* What is read of each when many are asked whether they may fall stands together. */
    union {
        struct gang__set_link fall; /* in leaf->fall, while it runs; */
        struct {                    /* `fresh`: not yet, it is in sched.fresh */
            struct gang__gang *next, **at;
        } in_fresh;
    };
    struct gang__job *job;
    struct gang__request_class *ask;
    gang_alloc_id alloc;
    struct gang__handover *claim;  /* room is being made for it */
    struct gang__stop *leaves;     /* what of it was asked to stop and has not yet */
    struct gang__stop *moving;     /* it was asked to stop, to start again where this one says */
    int64_t tasks;                 /* sum of `has` */
    int64_t taken_all;             /* sum of `taken` */
    int64_t started_ns, served_ns; /* served_ns: of the time that it ran, what job->served has */
    uint64_t fell_in, took_in; /* runs in which it was displaced for others, and displaced others */
    uint64_t fell_at;          /* sched.heard when it was displaced last, */
    uint32_t fell;             /* and how often it was since then */
    uint32_t ungiven; /* leaves of it that hold something: these, and those that claims keep */
    bool doomed;      /* is a victim as a whole, in the plan that is being made */
    bool falls;       /* is in leaf->fall, or about to be, */
    bool fresh;       /* as it is in sched.fresh */
    bool sheds;       /* is in leaf->shed */
    bool wanted;      /* what it lacks counts as wanted by its queue */
    bool over;        /* all that it was to do is done */
    bool begun;       /* it was started once */
    bool starved;     /* nothing passes it: starved.c */
    /* sched.heard and 1 when others had left for it and it could not start after all (a limit of its user that moved
     * with who left): until something new is heard nobody leaves for it again. */
    uint64_t in_vain;
    int64_t bypassed;                             /* by so many, since it waits for room */
    struct gang__gang *next_overdue, **overdue_at; /* in sched.starved */
    bool short_handed; /* lost members: below its minimum since short_ns */
    bool refill;       /* lost members are to come back */
    uint32_t part;
    struct gang__set_link turn;    /* in bin->units */
    struct gang__wait_class *bin;  /* it waits there; NULL: it does not */
    struct gang_placement *places; /* where it was when it was suspended */
    int64_t *has;                  /* running tasks of each group, without those asked to stop */
    int64_t *done;                 /* tasks of each group that ended and do not come again */
    int64_t *failed;               /* those of them that did not succeed */
    int64_t ended;                 /* sum of `done` */
    int64_t target;                /* tasks that are to run or to have ended, at most */
    int64_t short_ns;
    int64_t refill_ns; /* until then; INT64_MAX: whenever */

    struct gang__wait_class *grow_bin; /* its own, made when it first could grow */
    struct gang__set_link shed; /* in leaf->shed, while it runs with tasks above its minimum */
    int64_t place_count;
    const int32_t *group_of; /* its groups in the job; NULL: the same */
    int64_t *taken;          /* of `has`, victims on their own in the plan that is being made */

    struct gang__calendar_gang calendar;
    struct gang__reserve_gang reserve;
    struct gang__gang_wake {
        struct gang__gang *next, **at; /* in sched.wake.holdings; at is NULL: it is not in it */
    } wake;

    struct gang__sliced *sliced; /* it takes turns: what `alloc` has of the matrix; slice.c */
};

/* ---- in a matrix (owner: slice) ---- */

enum {
    GANG__SLICED_WAITS, /* it never ran */
    GANG__SLICED_RUNS,
    GANG__SLICED_STOPS, /* it was asked to, and some of its tasks have not yet */
    GANG__SLICED_OUT    /* suspended */
};

/* A gang in a matrix. */
struct gang__sliced {
    struct gang__hash_link link;     /* in sched.sliced, by its allocation */
    struct gang__sliced *next, **at; /* of the matrix, as they came */
    struct gang__sliced *next_gone;
    struct gang__matrix *matrix;
    struct gang__gang *unit; /* NULL: it let go, and what it held is not given back yet */
    gang_alloc_id alloc;
    uint32_t row;
    uint8_t state; /* GANG__SLICED_* */
    bool wanted;   /* it is to run now */
    bool refused;  /* the host did not resume it, in this turn */
    bool quiet;    /* without a unit: it does not run any more */
    bool gone;     /* not in the matrix any more; freed when nobody walks there */
    int64_t deadline_ns;
    int64_t *still; /* STOPS: tasks that have not stopped yet, ascending: */
    size_t left, still_room;
    struct gang__use *use; /* by task, ascending */
    size_t uses, use_room;
    int64_t cpu; /* millicores of them */
};

/* What a unit asks for, as its submitter made it out, and the text by which it is compared: jobs
 * that ask for the same one after the other have one of them. Its references are counted on any
 * thread. */
struct gang__request_text {
    gang_request *q;
    uint64_t hash;
    gang__a32 refs;
    uint32_t bytes;
    unsigned char key[];
};

/* A request that was asked for of late, so that jobs that ask for the same share one from the
 * start. */
struct gang__recent {
    gang__a32 lock; /* 1: somebody is here; nobody waits for him */
    uint64_t epoch; /* of the cluster when it was made: names may mean something else later */
    struct gang__request_text *wanted; /* NULL: none */
};

struct gang__waiter {
    struct gang__waiter *next;
    gang_job_id job;
};

struct gang__after {
    gang_job_id job;
    int32_t when;
};

struct gang__heartbeat; /* heartbeats of a job's tasks; life.c */

enum gang__message_what {
    GANG__MESSAGE_SUBMIT,
    GANG__MESSAGE_HOLD,
    GANG__MESSAGE_RELEASE,
    GANG__MESSAGE_CANCEL,
    GANG__MESSAGE_REQUEUE,
    GANG__MESSAGE_PRIORITY,
    GANG__MESSAGE_TARGET,
    GANG__MESSAGE_TIME_LIMIT,
    GANG__MESSAGE_TASKS,
    GANG__MESSAGE_END,
    GANG__MESSAGE_NODE_LOST
};

/* What another thread leaves in the inbox: what every message begins with. */
struct gang__message {
    struct gang__message *next;
    enum gang__message_what what;
    int32_t how; /* GANG_TASK_*, success */
};

/* In the same order as of a unit. */
struct gang__job {
    struct gang__message submit; /* it and those after it, by `next`, are submitted: in the inbox */
    gang_job_id id;
    struct gang__queue_state *leaf;
    int64_t priority;
    int64_t age; /* smaller is older; unique with the id */
    const int32_t *protected_groups;
    int32_t preemptible, loss;
    bool held, never_preempts, stale, running_at_first, refused_start, ending;
    bool counted_pending, counted_running;
    bool paused; /* this time it waits since paused_since_ns */
    bool undone; /* memory was short when it was to wait, or to stop: to be tried again */
    uint32_t unit_count;
    struct gang__gang *unit;        /* unit_count of them */
    struct gang__user *user_in;     /* what its user has in the leaf; NULL: nobody asks */
    struct gang__job *next;         /* in a message, a list of the ended */
    int32_t state, end, end_wanted; /* end_wanted: what it becomes once it has stopped */
    /* GANG_WAIT_HOLD, _AFTER, _BACK_OFF, _QUEUE, _RESERVATION while it may not be tried; 0 */
    int32_t wait_why;
    int32_t stop_reason; /* GANG_REASON_*, while it is `ending` */
    uint32_t group_count;
    struct gang__set_link all;   /* in sched.by_id */
    struct gang__hash_link link; /* in sched.jobs, by id */
    int64_t submitted_ns, started_ns;
    int64_t paused_ns, paused_since_ns; /* waited for turns since it started, without this time; */
    int64_t ready_ns;      /* since when it could have been granted; -1: it could not yet */
    int64_t not_before_ns; /* steps aside until then */
    int64_t due_ns;        /* of its timer */
    int64_t time_limit_ns, start_within_ns, heartbeat_ns;
    int64_t begin_ns, deadline_ns;     /* INT64_MIN, 0: none */
    int64_t extended_ns;               /* beyond its time limit, since its last start */
    int64_t predicted_ns;              /* run time; 0: not */
    int64_t expected_ns;               /* the same, or more since it runs longer */
    int64_t back_off_ns, back_off_now; /* back_off_now: the next one */
    struct gang__heartbeat *beats;
    struct gang__waiter *waiters; /* jobs that wait for this one */
    size_t after_count, group_after_count, place_count, bad_count;
    uint64_t cookie;
    struct gang__request_text **wanted; /* of each; NULL when its unit has an ask */
    gang_queue_id queue_id;
    const char *made_queue; /* its leaf is to be made under this name below queue_id; NULL: it is
                             * there */
    struct gang_placement *places; /* of a job that runs already, by unit */

    struct gang__set_link timer; /* in sched.timers, while due_ns is not INT64_MAX */
    struct gang__job_wake {
        struct gang__job *next, **at; /* in sched.wake.jobs; at is NULL: it is not in it */
        uint32_t causes;              /* GANG__WAKE_*, as bits */
    } wake;
    uint64_t door;    /* number of the one that it came through, while it is counted there; 0 */
    uint32_t at_door; /* under this queue */
    const char *name, *user;
    int64_t restart_delay_ns, refill_ns, max_restarts;
    int64_t
        attained; /* what it used, as its turn goes by: dominant millionths of the cluster times ns */
    int64_t served; /* and since then */
    int64_t restarts, preemptions;
    const int64_t *group_order;
    const int32_t *roles;
    struct gang__after *after;
    const struct gang_group_after *group_after;
    gang_node_id *bad; /* nodes where it failed */
    struct gang__reserve_job reserve;
    size_t bytes; /* of the block it lies in, with its units and texts */
};

/* ---- queues ---- */

/* What a user has in a leaf. */
struct gang__user {
    struct gang__hash_link link;
    char *name;
    int64_t weight;         /* millionths */
    int64_t running;        /* jobs */
    int64_t coming;         /* jobs for whose start others are leaving */
    int64_t waiting;        /* jobs that could run */
    int64_t *used;          /* dims */
    struct gang__ratio key; /* dominant share for his weight, as he lies in order */
};

/* What decides whose turn it is among siblings; made when a queue is put into its parent's
 * order. */
struct gang__child_key {
    int32_t over_share;     /* 1: used is above its fair share */
    int32_t over_guarantee; /* 1: with the job at its head it leaves its guarantee */
    int64_t priority;
    struct gang__ratio with, used; /* dominant share with the job and without */
    struct gang__ratio
        whole; /* with the job, of all that there is: where no share is left to compare */
    struct gang__sibling yarn; /* of GANG_CHILD_ORDER_UTILIZATION and its like, in place of all that */
};

/* The gangs of a leaf that have a planned start. */
struct gang__calendar_leaf {
    struct gang__gang *planned;
    int64_t planned_count;
};

/* The backfill candidates of a leaf (backfill/candidates.h). */
struct gang__backfill_leaf {
    struct gang__hash_table by_key;
    struct gang__candidates *all;
    struct gang__candidates *due; /* the next wait class of these is to be READY */
};

/* A queue as it is now. */
struct gang__queue_state {
    const struct gang__queue *q;
    struct gang__queue_state *parent;
    struct gang__queue_state *next;                           /* all, parents before children */
    int64_t *guarantee, *limit, *share, *used, *fixed, *want; /* dims each, in one block: */
    int64_t *block;
    uint64_t
        moved; /* of the root: dimensions of which use or demand changed since shares were made */
    struct gang__decay *decayed; /* use of late; dims; NULL: off */
    struct gang__set_link turn;  /* in the parent's `ready`, while active */
    struct gang__child_key key;  /* made out when it was put there, */
    bool has_key;                /* unless it was alone */
    struct gang__queue_wake {
        struct gang__queue_state *next;            /* in sched.wake.queues, */
        bool noted;                                /* as it is in it */
        struct gang__queue_state *next_candidates; /* in sched.wake.candidates, */
        bool candidates;                           /* as it is in it */
        bool stirred;                              /* and all its candidates look again */
    } wake;
    struct gang__ordered_set ready; /* children that are active, or READY bins */
    bool active;
    bool ready_of_bins;
    struct gang__wait_class *barring; /* BLOCKED bins of a leaf that bar those behind them */
    struct gang__hash_table bins;     /* of a leaf, by what they wait for */
    struct gang__hash_table users;    /* of a leaf */
    struct gang__backfill_leaf backfill;
    struct gang__ordered_set
        fall; /* units that run, in the order in which they would fall; some may
                                * still be in sched.fresh: gang__victims_sort() */
    struct gang__ordered_set shed;    /* those of them that have tasks above their minimum */
    struct gang__wait_class *blocked; /* bins below that this queue blocks */
    int64_t jobs;                     /* in it and below, of any state */
    int64_t running, pending;         /* jobs, in it and below */
    int64_t coming;                   /* those for whose start others are leaving */
    int64_t tasks;
    struct gang__calendar_leaf calendar;
    gang__a64 waiting;     /* jobs that wait, as submitters see it: see gang__submit_view */
    int64_t idle_since_ns; /* a made one without jobs; INT64_MAX: it has some */
};

/* What submitters see of the queues: the tree, and how many jobs wait in each. */
struct gang__submit_view {
    struct gang__queues *queues;
    gang__a64 *limit;    /* count * dims: limits in force */
    gang__a64 **pending; /* of each queue: jobs that wait, */
    gang__a64 *arriving; /* and those that came through this door and no run has taken in yet */
    uint64_t number;     /* from 1 */
    struct gang__queue_state *gone; /* queues that went when the next door came */
    struct gang__submit_view *retired;
};

/* ---- what happened (owner: wake) ---- */

/* Why a job was noted: what is to be done with it, as bits. */
enum {
    GANG__WAKE_SETTLE = 1,  /* put its gangs where they belong: gang__job_settle() */
    GANG__WAKE_TIMER = 2,   /* make out anew when something of it is due: gang__timer_set() */
    GANG__WAKE_STOPPED = 8, /* a gang of it has stopped: it waits again, goes on, or ends */
    GANG__WAKE_STATE = 4    /* tell the host its state, if that is another */
};

/* Why the plans are looked at again. */
enum {
    GANG__PLANS_EARLIER = 1, /* something came free, or a plan went: they may be earlier */
    GANG__PLANS_MISFIT = 2   /* something was taken that no plan knew of: do they still fit? */
};

/* What changed since the last drain. Notes are intrusive lists, bits and sums: noting cannot fail. */
struct gang__wake {
    struct gang__job *jobs, **jobs_end;     /* by job->wake.next, first noted first */
    struct gang__queue_state *queues;       /* to be put into order anew: by q->wake.next */
    bool all_queues;                        /* so are all queues */
    struct gang__gang *holdings;            /* what they hold changed: by u->wake.next; */
    const struct gang__gang *starting;      /* but not of this one, which is in the timeline */
    gang_alloc_id started;                  /* already with this allocation */
    struct gang__queue_state *candidates;   /* leaves whose candidates of backfill look again */
    bool room;                              /* capacity came free by our own doing: */
    int64_t room_cpu, room_pages, room_gpu; /* at most so much on one of the nodes that gave */
    bool bounds;                            /* guarantees or limits are others: order all anew */
    bool shares;                            /* use or demand changed: divide shares anew */
    bool slices;                            /* some gang of a matrix may run, or has stopped */
    bool retry;                             /* classes are blocked until the next run alone */
    bool run;                               /* the next run is due now */
    uint32_t plans;                         /* GANG__PLANS_*; 0 while there is no calendar */
    uint64_t changes;      /* rises with each event after which preemption may help */
    uint64_t changes_done; /* those for which preemption was tried */
};

/* What puts occupations of its own into the calendar (calendar/calendar.h). */
struct gang__calendar_source;
enum { GANG__SOURCE_SLICE, GANG__SOURCE_RESERVE, GANG__SOURCES };

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
    uint32_t open; /* trials */
};

/* Time slicing (slice/slice.h). */
struct gang__slice_sched {
    struct gang__matrix *matrices; /* of queues that slice, made with their first gang */
    struct gang__hash_table gangs; /* in them, by allocation */
};

/* Reservations (reserve/reserve.h). */
struct gang__reserve_sched {
    struct gang__reserves *all;                /* NULL: there never were any */
    _Atomic(struct gang__reserve_view *) view; /* as submitters see them; NULL: none */
    uint32_t count;
    bool placing; /* one is being placed */
};

/* Backfill (backfill/backfill.h). */
struct gang__backfill_sched {
    uint64_t moves_seen; /* calendar.moves when candidates were looked at last */
    bool try_all;        /* for tests: no wait class is kept among candidates */
};

/* ---- the scheduler ---- */

/* sched/where: the vetoes of higher folders, and scratch: the states of nodes before some were
 * closed. */
struct gang__veto;
enum { GANG__REGISTERED_VETOES = 4 };
struct gang__where_state {
    const struct gang__veto *registered[GANG__REGISTERED_VETOES];
    uint32_t count;
    uint8_t *state;
    size_t state_cap;
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
    bool running;                  /* inside gang_sched_run() */

    /* Other threads */
    _Atomic(struct gang__message *) inbox; /* last first */
    struct gang__message *backlog;         /* taken out, first first */
    gang__a64 next_job;
    uint64_t heard; /* what came from outside, or ended: rises */
    _Atomic(struct gang__submit_view *) door;
    uint64_t doors;            /* there were so far */
    gang__a32 submit_lock[16]; /* which of submit_worker are in use */
    gang_worker *submit_worker[16];
    struct gang__recent recent[64];

    /* Queues */
    struct gang__queues *queues;
    struct gang__submit_view *retired; /* that readers may still be at */
    uint32_t retired_count;
    gang_queue_id next_queue;
    uint64_t config_count;
    uint32_t dims;
    int64_t total[GANG__DIMS]; /* of nodes that are up, and pools */
    int64_t decayed_ns;        /* up to when use of late was counted */
    uint64_t total_epoch;      /* cluster epoch at which it was summed; see gang__fair_refresh() */
    uint64_t total_stamp;
    struct gang__queue_state root; /* above the top queues */
    struct gang__queue_state **qs; /* count of them, as in queues->queue */
    int64_t *resolved; /* scratch of config.c: guarantees and limits in force, queue after queue */
    struct gang__sharer *sharer; /* scratch of fair.c, one a queue */
    struct gang__share_slot *share_slot;

    /* Jobs */
    struct gang__hash_table jobs, asks;
    struct gang__ordered_set by_id, timers;
    int64_t job_count, age_low, age_high;
    struct gang__job *ended; /* in this run, to be forgotten at its end */
    size_t by_memory;        /* asks that are */
    /* ask_memory.c: how much memory GPUs have, each amount once, ascending; when that was looked up */
    struct gang__memories {
        int64_t *bytes;
        size_t count, room;
    } memories, memories_next; /* the other: scratch */
    uint64_t memories_epoch;   /* cluster epoch + 1; 0: it is to be looked up */

    /* The cycle */
    int64_t now_ns;
    uint64_t runs; /* so far */
    int64_t steps, max_steps;
    struct gang_run_info info;
    bool making_room; /* bins are READY to have room made for them */
    bool untried;    /* for some that are blocked making room was not tried since the last change */
    bool unfinished; /* the last run stopped early */
    bool no_memory;  /* in this run */
    struct gang__wait_class *blocked; /* all blocked bins */
    struct gang__request_class *blocked_asks;
    struct gang__backfill_sched backfill;
    uint64_t room_stamp, own_stamp; /* when bins that wait for room were last looked at */
    struct gang__handover *claims;
    struct gang__stop *owed;         /* gone, but somebody read what they held: by next_of_claim */
    struct gang__calendar *calendar; /* NULL: no queue backfills, and nothing is reserved */
    struct gang__trial_journal journal;
    const struct gang__calendar_source *source[GANG__SOURCES];
    struct gang__reserve_sched reserve;
    const gang_sched *like; /* while jobs of a copy enter it: the original; else NULL */
    struct gang__slice_sched slice;
    const struct gang__stop_hooks *stop_hooks;       /* what slices do when an allocation goes */
    const struct gang__order_hooks *order_hooks;     /* what backfill does when classes move */
    const struct gang__first_quantum *first_quantum; /* what starts a gang in a matrix: slice.h */
    struct gang__gang *starved; /* who waits and is not to be passed, first first */
    uint64_t *mask;             /* scratch: nodes, as bits */
    size_t mask_room;
    struct gang__gang *fresh; /* run, and are in no order of falling yet; last started first */
    struct gang__where_state where;
    gang_snapshot *base, *scratch; /* the cluster when planning began, and as it would be */
    struct gang__places told;
    struct gang__victims *victims; /* scratch of evict.c */
    bool some_over;                /* a leaf is above its share, in this making of room */
    int64_t evicted;               /* tasks, in this run, of max_preempted_tasks */
    int64_t
        grown_up_ns; /* when somebody may be displaced, or displace, who may not yet; INT64_MAX */
    struct gang__found found; /* scratch: tasks of an allocation */
    int64_t *numbers;         /* scratch: numbers of tasks, */
    size_t number_room;
    int64_t *by_group; /* tasks of each group of the largest request there was */
    size_t group_room;
};

/* The text of a request, by which asks are compared. Begun with the memory it may use; what it
 * needs beyond its own room is given back by gang__key_free(). */
struct gang__key {
    const struct gang_mem *mem;
    unsigned char *bytes; /* `own`, or of `mem` */
    size_t used, room;
    bool failed; /* for want of memory, or too long */
    uint64_t hash;
    unsigned char own[768];
};

/* Is a reservation the reason why it waits, that it named or that is for others? */
struct gang__reserve_reason {
    int64_t until_ns; /* or 0 */
    bool never;
    char text[400];
};

/* Some tasks of a running unit, or all of it, were asked to stop; what they hold stays taken
 * until they have. */
struct gang__stop {
    struct gang__stop *next; /* of the unit */
    struct gang__stop *next_of_claim;
    struct gang__gang *unit;
    struct gang__handover
        *claim; /* for whom; NULL: for nobody, it is freed at once when they have stopped */
    gang_alloc_id alloc;
    int64_t *tasks;          /* numbers, ascending; NULL: all */
    size_t task_count, left; /* left: not yet gone */
    int64_t *own;            /* numbers of all its tasks, ascending; with `tasks` the same */
    size_t own_count;
    int64_t *still; /* of these, the ones that are not yet gone: `left`; in own's block */
    struct gang_placement *to; /* it is moved: where it starts again */
    int64_t to_count;
    int64_t deadline_ns;
    int32_t reason;
    bool suspends;    /* its places were noted when it was made out */
    bool gone, given; /* it has stopped; what it held was given back */
    bool owes; /* it has stopped, and could not give it back yet: in sched.owed, or about to be */
    bool counted; /* in unit->ungiven */
};

/* Room that is being made for a unit: what leaves, and what was free already and is kept. */
struct gang__handover {
    struct gang__handover *next;
    struct gang__gang *taker; /* NULL: it gave up */
    struct gang__stop *leaves;
    struct gang_placement *places; /* where it is to go */
    int64_t place_count;
    int32_t grow_group;   /* of a unit that runs; -1: the gang */
    gang_alloc_id *holds; /* what is kept free for it */
    size_t hold_count, hold_room;
    int32_t reason;
    bool charged; /* its queues count it already, */
    bool comes;   /* and its job among those that are to run */
};

/* Any message but of jobs that are submitted, which lies in the first of them. */
struct gang__command {
    struct gang__message head;
    gang_job_id job;
    int64_t value;
    gang_alloc_id alloc;
    uint32_t part;
    size_t count;
    int64_t tasks[]; /* count of them; all: count is SIZE_MAX */
};

#define GANG__OF(type, member, link) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline bool gang__step(gang_sched *s) /* false: no more in this run */
{
    if (s->max_steps > 0 && s->steps >= s->max_steps)
        return false;
    s->steps++;
    return true;
}
static inline gang_request *gang__gang_request(const struct gang__gang *u)
{
    return u->ask->q;
}
/* The allocation in which lies what it holds: also while all of it stops. */
static inline gang_alloc_id gang__gang_holds(const struct gang__gang *u)
{
    return u->alloc != GANG_ID_NONE ? u->alloc : u->leaves ? u->leaves->alloc : GANG_ID_NONE;
}
/* What its gang takes (group < 0), or a task of a group: `count` kinds. */
static inline const struct gang__take *gang__class_takes(const struct gang__request_class *ask,
                                                         int32_t group, uint32_t *count)
{
    *count = group < 0 ? ask->gang_count : ask->group[group].count;
    return group < 0 ? ask->gang : ask->take + ask->group[group].from;
}
/* What so many tasks of a group take. Returns how many kinds. */
static inline uint32_t gang__class_takes_times(const struct gang__request_class *ask, int32_t group,
                                               int64_t times, struct gang__take take[GANG__DIMS])
{
    uint32_t count;
    const struct gang__take *one = gang__class_takes(ask, group, &count);
    for (uint32_t i = 0; i < count; i++)
        take[i] = (struct gang__take){one[i].dim, one[i].amount * times};
    return count;
}
/* The first of those whom a message brings (the others follow by `next`); what any other message says. */
static inline struct gang__job *gang__submitted(const struct gang__message *m)
{
    return GANG__OF(struct gang__job, submit, m);
}
static inline struct gang__command *gang__command_of(struct gang__message *m)
{
    return (struct gang__command *)(void *)m;
}
/* Who is asked to stop may take so long until he has, at most. */
static inline int64_t gang__longest_grace(const gang_sched *s)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < s->queues->count; i++)
        most = s->qs[i]->q->grace_ns > most ? s->qs[i]->q->grace_ns : most;
    return most;
}
/* The first in turn of those that wait for the same; there is one. */
static inline struct gang__gang *gang__wait_class_head(const struct gang__wait_class *bin)
{
    return GANG__OF(struct gang__gang, turn, gang__set_first(&bin->units));
}

#endif
