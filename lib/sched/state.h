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
 *   overdue.c   bounded bypass: whom nothing passes any more
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
#include "base/mem.h"
#include "base/names.h"
#include "base/tree.h"
#include "place/whatif.h"
#include "queue/decay.h"
#include "queue/dominant.h"
#include "queue/order.h"
#include "queue/queues.h"
#include "queue/share.h"

struct gang__job;
struct gang__unit;
struct gang__bin;
struct gang__qs;
struct gang__ahead;
struct gang__kin;
struct gang__matrix;
struct gang__sliced;
struct gang__reserve;

/* ---- what is asked for ---- */

/* What one task takes of a dimension. */
struct gang__take {
    uint32_t dim;
    int64_t amount;
};

/* A request, and what it comes to in the dimensions of the queues. Jobs that ask for the same
 * share one, so that a shape that did not fit is remembered for all of them. */
struct gang__asked {
    struct gang__name link; /* by the hash of its key */
    gang_request *q;
    struct gang__wanted *of; /* its key, and what `q` is held by */
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
    struct gang__bin *blocked;                      /* bins that wait for room for it */
    struct gang__bin *ready;                        /* its bins that may be tried */
    struct gang__asked *next_blocked, **blocked_at; /* in sched.blocked_asks; NULL: is not */
};

/* ---- who waits ---- */

enum { GANG__BIN_EMPTY = 0, GANG__BIN_READY, GANG__BIN_BLOCKED };

/* Those of a leaf who wait for the same thing: if the first cannot start, none can. */
struct gang__bin {
    struct gang__name link;               /* in qs.bins */
    struct gang__tree_link order;         /* in qs.ready, while READY */
    struct gang__bin *next, **at;         /* in the list of what blocks it; READY: in ask->ready */
    struct gang__bin *next_moved;         /* scratch of turn.c */
    struct gang__bin *next_all, **at_all; /* in sched.blocked */
    struct gang__bin *next_bar, **at_bar; /* in qs.barring; NULL: in none */
    struct gang__qs *leaf;
    struct gang__asked *ask;
    struct gang__user *user;   /* NULL: the leaf does not ask who it is */
    struct gang__unit *grower; /* it is this one's, to grow or resume; NULL: they wait to start */
    bool fixed;                /* inside the guarantee alone */
    bool late;                 /* READY: tried after those that are not, by its key; then as ever */
    int64_t late_key;
    /* a leaf that backfills: how long they run, or who it is; who is of a job that runs */
    uint64_t apart;
    uint8_t state;       /* GANG__BIN_* */
    int32_t why;         /* GANG_WAIT_*, while BLOCKED */
    struct gang__qs *by; /* the queue that blocks it; or NULL */
    uint32_t dim;        /* in which dimension */
    uint64_t tried;      /* sched.changes + 1 when making room for it was tried in vain */
    struct gang__ordered units;
    /* kin.c: */
    struct gang__kin *kin; /* those of the leaf that ask for the same; NULL: it was never kept */
    struct gang__tree_link place; /* in kin->waiting, */
    int64_t lasts_ns, least_ns;   /* by how long it runs, and the shortest there below */
    uint8_t kept;                 /* GANG__KEPT_*: while BLOCKED in no list but its kin's */
};

/* ---- jobs ---- */

/* A gang of a job: all of it, unless groups wait for each other. What is touched when it is taken
 * in and started stands before what is not. */
struct gang__unit {
    /* What is read of each when many are asked whether they may fall stands together. */
    union {
        struct gang__tree_link fall; /* in leaf->fall, while it runs; */
        struct {                     /* `fresh`: not yet, it is in sched.fresh */
            struct gang__unit *next, **at;
        } in_fresh;
    };
    struct gang__job *job;
    struct gang__asked *ask;
    gang_alloc_id alloc;
    struct gang__claim *claim;     /* room is being made for it */
    struct gang__leave *leaves;    /* what of it was asked to stop and has not yet */
    struct gang__leave *moving;    /* it was asked to stop, to start again where this one says */
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
    bool overdue;     /* nothing passes it: overdue.c */
    /* sched.heard and 1 when others had left for it and it could not start after all (a limit of its user that moved
     * with who left): until something new is heard nobody leaves for it again. */
    uint64_t in_vain;
    int64_t overtaken;                             /* by so many, since it waits for room */
    struct gang__unit *next_overdue, **overdue_at; /* in sched.overdue */
    bool short_handed; /* lost members: below its minimum since short_ns */
    bool refill;       /* lost members are to come back */
    uint32_t part;
    struct gang__tree_link turn;   /* in bin->units */
    struct gang__bin *bin;         /* it waits there; NULL: it does not */
    struct gang_placement *places; /* where it was when it was suspended */
    int64_t *has;                  /* running tasks of each group, without those asked to stop */
    int64_t *done;                 /* tasks of each group that ended and do not come again */
    int64_t *failed;               /* those of them that did not succeed */
    int64_t ended;                 /* sum of `done` */
    int64_t target;                /* tasks that are to run or to have ended, at most */
    int64_t short_ns;
    int64_t refill_ns; /* until then; INT64_MAX: whenever */

    struct gang__bin *grow_bin;  /* its own, made when it first could grow */
    struct gang__tree_link shed; /* in leaf->shed, while it runs with tasks above its minimum */
    int64_t place_count;
    const int32_t *group_of; /* its groups in the job; NULL: the same */
    int64_t *taken;          /* of `has`, victims on their own in the plan that is being made */

    /* ahead.c; all 0 unless some queue backfills. What it holds, and what is planned for it, in the timeline:
     * the number there and 1. */
    uint32_t occupies, plan;
    int64_t planned_ns;
    struct gang__reserve *in; /* they lie inside this reservation; NULL: outside of all */
    int64_t in_until_ns;      /* which lasted until then when it was tried there */
    uint32_t *plan_slot;      /* nodes that the plan counts on, ascending */
    size_t plan_slots;
    struct gang__unit *next_planned, **planned_at; /* in leaf->planned */
    struct gang__unit *next_touched, **touched_at; /* what it holds changed; NULL: it did not */

    struct gang__sliced *sliced; /* it takes turns: what `alloc` has of the matrix; slice.c */
};

/* What a unit asks for, as its submitter made it out, and the text by which it is compared: jobs
 * that ask for the same one after the other have one of them. Its references are counted on any
 * thread. */
struct gang__wanted {
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
    struct gang__wanted *wanted; /* NULL: none */
};

struct gang__waiter {
    struct gang__waiter *next;
    gang_job_id job;
};

struct gang__after {
    gang_job_id job;
    int32_t when;
};

struct gang__beat; /* heartbeats of a job's tasks; life.c */

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
    struct gang__qs *leaf;
    int64_t priority;
    int64_t age; /* smaller is older; unique with the id */
    const int32_t *protected_groups;
    int32_t preemptible, loss;
    bool held, never_preempts, stale, running_at_first, refused_start, ending;
    bool counted_pending, counted_running;
    bool paused;     /* this time it waits since paused_since_ns */
    bool limit_kept; /* it asked for no limit: time_limit_ns is what was left of its reservation */
    bool undone;     /* memory was short when it was to wait, or to stop: to be tried again */
    uint32_t unit_count;
    struct gang__unit *unit;        /* unit_count of them */
    struct gang__user *user_in;     /* what its user has in the leaf; NULL: nobody asks */
    struct gang__job *next;         /* in a message, a list of the ended */
    int32_t state, end, end_wanted; /* end_wanted: what it becomes once it has stopped */
    /* GANG_WAIT_HOLD, _AFTER, _BACK_OFF, _QUEUE, _RESERVATION while it may not be tried; 0 */
    int32_t wait_why;
    int32_t stop_reason; /* GANG_REASON_*, while it is `ending` */
    uint32_t group_count;
    struct gang__tree_link all; /* in sched.by_id */
    struct gang__name link;     /* in sched.jobs, by id */
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
    struct gang__beat *beats;
    struct gang__waiter *waiters; /* jobs that wait for this one */
    size_t after_count, group_after_count, place_count, bad_count;
    uint64_t cookie;
    struct gang__wanted **wanted; /* of each; NULL when its unit has an ask */
    gang_queue_id queue_id;
    const char *made_queue; /* its leaf is to be made under this name below queue_id; NULL: it is
                             * there */
    struct gang_placement *places; /* of a job that runs already, by unit */

    struct gang__tree_link timer; /* in sched.timers, while due_ns is not INT64_MAX */
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
    gang_node_id *bad;              /* nodes where it failed */
    gang_reservation_id reserve_id; /* that it named; GANG_ID_NONE: none */
    struct gang__reserve *reserve;  /* inside which alone it starts; NULL: none */
    size_t bytes;                   /* of the block it lies in, with its units and texts */
};

/* ---- queues ---- */

/* What a user has in a leaf. */
struct gang__user {
    struct gang__name link;
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
struct gang__turn_key {
    int32_t over_share;     /* 1: used is above its fair share */
    int32_t over_guarantee; /* 1: with the job at its head it leaves its guarantee */
    int64_t priority;
    struct gang__ratio with, used; /* dominant share with the job and without */
    struct gang__ratio
        whole; /* with the job, of all that there is: where no share is left to compare */
    struct gang__queue_turn yarn; /* of GANG_TURN_UTILIZATION and its like, in place of all that */
};

/* A queue as it is now. */
struct gang__qs {
    const struct gang__queue *q;
    struct gang__qs *parent;
    struct gang__qs *next;                                    /* all, parents before children */
    int64_t *guarantee, *limit, *share, *used, *fixed, *want; /* dims each, in one block: */
    int64_t *block;
    uint64_t
        moved; /* of the root: dimensions of which use or demand changed since shares were made */
    struct gang__decay *decayed; /* use of late; dims; NULL: off */
    struct gang__tree_link turn; /* in the parent's `ready`, while active */
    struct gang__turn_key key;   /* made out when it was put there, */
    bool has_key;                /* unless it was alone */
    bool noted;                  /* in sched.noted: */
    struct gang__qs *next_noted;
    struct gang__ordered ready; /* children that are active, or READY bins */
    bool active;
    bool ready_of_bins;
    struct gang__bin *barring; /* BLOCKED bins of a leaf that bar those behind them */
    struct gang__names bins;   /* of a leaf, by what they wait for */
    struct gang__names users;  /* of a leaf */
    struct gang__names kin_of; /* of a leaf: kin.c; */
    struct gang__kin *kins,
        *kins_due;       /* all of them; those of whom another one is to have his turn */
    bool stirred, looks; /* all are to be asked anew; is in sched.looks */
    struct gang__qs *next_looks;
    struct gang__ordered fall; /* units that run, in the order in which they would fall; some may
                                * still be in sched.fresh: gang__falls_sort() */
    struct gang__ordered shed; /* those of them that have tasks above their minimum */
    struct gang__bin *blocked; /* bins below that this queue blocks */
    int64_t jobs;              /* in it and below, of any state */
    int64_t running, pending;  /* jobs, in it and below */
    int64_t coming;            /* those for whose start others are leaving */
    int64_t tasks;
    struct gang__unit *planned; /* those of a leaf that have a planned start, */
    int64_t planned_count;      /* and how many */
    gang__a64 waiting;          /* jobs that wait, as submitters see it: see gang__door */
    int64_t idle_since_ns;      /* a made one without jobs; INT64_MAX: it has some */
};

/* What submitters see of the queues: the tree, and how many jobs wait in each. */
struct gang__door {
    struct gang__queues *queues;
    gang__a64 *limit;      /* count * dims: limits in force */
    gang__a64 **pending;   /* of each queue: jobs that wait, */
    gang__a64 *arriving;   /* and those that came through this door and no run has taken in yet */
    uint64_t number;       /* from 1 */
    struct gang__qs *gone; /* queues that went when the next door came */
    struct gang__door *retired;
};

/* ---- the scheduler ---- */

struct gang_sched {
    struct gang_mem mem;
    gang_cluster *cluster;
    gang_worker *worker;
    struct gang_host_ops ops;
    void *user;
    struct gang_sched_opts opts; /* without its pointers */
    struct gang__rules *rules;
    bool excluded[GANG_MAX_KINDS]; /* kinds that do not count in dominant shares */
    bool running;                  /* inside gang_sched_run() */
    bool retry;                    /* some bins are blocked for this run only */

    /* Other threads */
    _Atomic(struct gang__message *) inbox; /* last first */
    struct gang__message *backlog;         /* taken out, first first */
    gang__a64 next_job;
    uint64_t heard; /* what came from outside, or ended: rises */
    _Atomic(struct gang__door *) door;
    uint64_t doors;            /* there were so far */
    gang__a32 submit_lock[16]; /* which of submit_worker are in use */
    gang_worker *submit_worker[16];
    struct gang__recent recent[64];

    /* Queues */
    struct gang__queues *queues;
    struct gang__door *retired; /* that readers may still be at */
    uint32_t retired_count;
    gang_queue_id next_queue;
    uint64_t config_count;
    uint32_t dims;
    int64_t total[GANG__DIMS]; /* of nodes that are up, and pools */
    int64_t decayed_ns;        /* up to when use of late was counted */
    uint64_t total_epoch;      /* cluster epoch at which it was summed; see gang__fair_refresh() */
    uint64_t total_stamp;
    struct gang__qs root;   /* above the top queues */
    struct gang__qs **qs;   /* count of them, as in queues->queue */
    struct gang__qs *noted; /* to be put into order anew; turn.c */
    int64_t *resolved; /* scratch of config.c: guarantees and limits in force, queue after queue */
    bool shares_stale; /* of the dimensions that root.moved tells */
    struct gang__sharer *sharer; /* scratch of fair.c, one a queue */
    struct gang__share_slot *share_slot;

    /* Jobs */
    struct gang__names jobs, asks;
    struct gang__ordered by_id, timers;
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
    uint64_t changes;      /* one more when something happened that may let room be made */
    uint64_t changes_done; /* those for which making room was tried */
    bool making_room;      /* bins are READY to have room made for them */
    bool untried;    /* for some that are blocked making room was not tried since the last change */
    bool unfinished; /* the last run stopped early */
    bool no_memory;  /* in this run */
    struct gang__bin *blocked; /* all blocked bins */
    struct gang__asked *blocked_asks;
    struct gang__qs *looks;         /* leaves in which kins may have somebody's turn to give */
    uint64_t moves_seen;            /* of plans, when that was looked at */
    bool try_all;                   /* for tests: nobody is kept by his kin */
    uint64_t room_stamp, own_stamp; /* when bins that wait for room were last looked at */
    bool freed;                     /* by us, since then: */
    int64_t freed_cpu, freed_pages, freed_gpu; /* at most so much on one node that gave */
    struct gang__claim *claims;
    struct gang__leave *owed;        /* gone, but somebody read what they held: by next_of_claim */
    struct gang__ahead *ahead;       /* NULL: no queue backfills, and nothing is reserved */
    struct gang__reserves *reserves; /* NULL: there never were any */
    _Atomic(struct gang__tickets *) tickets; /* reservations as submitters see them; NULL: none */
    uint32_t reserve_count;
    const gang_sched *like;        /* while jobs of a copy enter it: the original; else NULL */
    bool reserving;                /* one is being placed */
    struct gang__matrix *matrices; /* of queues that slice, made with their first gang */
    struct gang__names sliced;     /* gangs in them, by allocation */
    bool slices_moved;             /* something happened by which somebody may run */
    struct gang__unit *overdue;    /* who waits and is not to be passed, first first */
    uint64_t *mask;                /* scratch: nodes, as bits */
    size_t mask_room;
    struct gang__unit *fresh;      /* run, and are in no order of falling yet; last started first */
    gang_snapshot *base, *scratch; /* the cluster when planning began, and as it would be */
    struct gang__places told;
    struct gang__victims *victims; /* scratch of evict.c */
    bool some_over;                /* a leaf is above its share, in this making of room */
    bool untold; /* the state of some jobs changed between runs, and the host is to hear of it */
    int64_t evicted; /* tasks, in this run, of max_evictions */
    int64_t
        grown_up_ns; /* when somebody may be displaced, or displace, who may not yet; INT64_MAX */
    struct gang__found found; /* scratch: tasks of an allocation */
    int64_t *numbers;         /* scratch: numbers of tasks, */
    size_t number_room;
    int64_t *by_group; /* tasks of each group of the largest request there was */
    size_t group_room;
};

/* ---- ask.c ---- */

/* The ask of what is wanted; takes over the reference to it. NULL: out of memory, nothing was
 * taken. */
struct gang__asked *gang__ask_get(gang_sched *s, struct gang__wanted *w);
void gang__ask_put(gang_sched *s, struct gang__asked *ask);
/* Make out what it takes, in the dimensions that are in force. False: out of memory. */
bool gang__ask_refresh(gang_sched *s, struct gang__asked *ask);
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
void gang__key_make(struct gang__key *k, const struct gang_mem *mem,
                    const struct gang_request_spec *spec);
void gang__key_free(struct gang__key *k);
/* Takes over the reference to the request. NULL: out of memory, it does not. Any thread. */
struct gang__wanted *gang__wanted_new(const struct gang__key *k, gang_request *q);
void gang__wanted_put(const struct gang_mem *mem, struct gang__wanted *w);

/* ---- ask_memory.c ---- */

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

/* ---- books.c ---- */

/* What a unit holds and lacks leaves the books of its queues, and enters them. Around every
 * change of what they are made from: has, done, target, wanted, the job's preemptible, the leaf. */
void gang__books_out(gang_sched *s, struct gang__unit *u);
void gang__books_in(gang_sched *s, struct gang__unit *u);
/* Add (or with sign -1 take) `times` what a group's task takes, to what the leaf and all above
 * use. */
void gang__books_shift(struct gang__qs *leaf, const struct gang__asked *ask, uint32_t group,
                       int64_t times);
/* Add `times` (or, negative, take) what is promised to a unit and not yet held: its gang
 * (grow_group < 0), or a task of that group. Its queues and its user use it, and have it fixed
 * if nobody is to take it from him. */
void gang__books_promise(struct gang__unit *u, int32_t grow_group, int64_t times);
/* Is what it gets never taken from it: its gang, or (grows) a task more? */
bool gang__unit_is_fixed(const struct gang__unit *u, bool grows);
/* Would the amounts exceed a limit, or (fixed) a guarantee of the leaf or a queue above? NULL:
 * no. Else the queue; *dim and *why (GANG_WAIT_LIMIT, _GUARANTEE, _LENDING). */
struct gang__qs *gang__books_refuse(gang_sched *s, struct gang__qs *leaf,
                                    const struct gang__take *take, uint32_t count, bool fixed,
                                    uint32_t *dim, int32_t *why);
/* Tasks of a group that a unit still lacks. */
int64_t gang__unit_lacks(const struct gang__unit *u, uint32_t group);
int64_t gang__unit_lacks_all(const struct gang__unit *u);
/* Is what it uses and wants together the same, however many of its tasks run? */
bool gang__unit_is_steady(const struct gang__unit *u);
/* Tasks of a group that ended, and count for its minimum as if they ran. */
int64_t gang__unit_counts(const struct gang__unit *u, uint32_t group);
/* Of the running tasks of a group, how many are protected (not preemptible). `rest`: what the
 * unit needs beyond the minima of its groups, which the first groups give; begun by
 * gang__unit_fixed_rest(), for all groups in turn. */
int64_t gang__unit_fixed(const struct gang__unit *u, uint32_t group, int64_t *rest);
int64_t gang__unit_fixed_rest(const struct gang__unit *u);

/* ---- fair.c ---- */

/* Sum up what there is, and divide it, if something changed. */
void gang__fair_refresh(gang_sched *s);
/* Amounts in force by what there is as the other one knows it: if nodes changed since it looked, both will see that. */
void gang__fair_copy(gang_sched *s, const gang_sched *from);
/* used (+ take, by ascending dimension) over `over`: the dominant one. Where nothing is given of
 * a dimension, any use is infinitely much. */
struct gang__ratio gang__fair_ratio(const gang_sched *s, const struct gang__qs *q,
                                    const int64_t *over, const struct gang__take *take,
                                    uint32_t count);
/* What it is guaranteed, of all there is: the dominant one. Infinite if nothing of it is
 * managed. */
struct gang__ratio gang__fair_capacity(const gang_sched *s, const struct gang__qs *q);
/* Is it above its share (or guarantee) in a dimension that counts; of `take` alone, if that is
 * given? */
bool gang__over(const gang_sched *s, const struct gang__qs *q, const int64_t *bound,
                const struct gang__take *take, uint32_t count);
/* With these amounts more, does it stay inside, in the dimensions of `take`? */
bool gang__stays(const struct gang__qs *q, const int64_t *bound, const int64_t *used,
                 const struct gang__take *take, uint32_t count);

/* ---- turn.c ---- */

bool gang__turn_enter(gang_sched *s, struct gang__unit *u); /* to wait; false: out of memory */
void gang__turn_leave(gang_sched *s, struct gang__unit *u); /* waits no more */
/* It waits, and from now on it is before all others of its leaf that are not overdue. */
void gang__turn_first(gang_sched *s, struct gang__unit *u);
/* The first of the leaf's blocked bins, if it bars this one: in strict order, or since its head is overdue. */
const struct gang__bin *gang__turn_bars(const struct gang__qs *leaf, const struct gang__bin *bin);
/* It is BLOCKED: does it bar those behind it? */
void gang__turn_set_bar(struct gang__bin *bin, bool bars);
/* The unit whose turn it is; NULL: nobody's. */
struct gang__unit *gang__turn_next(gang_sched *s);
/* Its bin cannot start now, for this reason. */
void gang__turn_block(gang_sched *s, struct gang__bin *bin, int32_t why, struct gang__qs *by,
                      uint32_t dim);
/* There is no room for this ask: whoever else would be tried with it need not be. */
void gang__turn_block_alike(gang_sched *s, struct gang__asked *ask);
void gang__turn_unblock(gang_sched *s, struct gang__bin *bin);
/* It is READY: its turn comes after that of all others of its leaf, among those of which that is said by the key. */
void gang__turn_late(gang_sched *s, struct gang__bin *bin, int64_t key);
void gang__turn_unblock_all(gang_sched *s, struct gang__bin **list);
/* A queue's use, share or head changed: it and all above are put into order anew when it is next
 * asked whose turn it is. */
void gang__turn_rekey(gang_sched *s, struct gang__qs *q);
/* The same of all queues, at once. */
void gang__turn_rekey_all(gang_sched *s);
/* Take all queues out of order, for their tree changes; gang__turn_rekey_all() puts them back. */
void gang__turn_forget(gang_sched *s);
void gang__turn_user(gang_sched *s, struct gang__qs *leaf, struct gang__user *user);
void gang__turn_users(gang_sched *s, struct gang__qs *leaf);
void gang__turn_users_as(gang_sched *s, struct gang__qs *leaf, const struct gang__qs *from);
void gang__turn_init(struct gang__qs *q);
void gang__turn_free_bin(gang_sched *s, struct gang__unit *u);
/* What a unit asks for when it is its turn: its gang, or a task of the first group that lacks
 * some. */
const struct gang__take *gang__unit_asks(const struct gang__unit *u, uint32_t *count);
/* What one that was suspended takes when it resumes: all that it had. Returns how many kinds. */
uint32_t gang__unit_resumes_with(gang_sched *s, const struct gang__unit *u,
                                 struct gang__take take[GANG__DIMS]);
int gang__unit_before(const struct gang__unit *a, const struct gang__unit *b, int32_t order);
/* It runs, and could be displaced. Its place in leaf->fall is looked for when somebody wants to
 * know who would fall first, which gang__falls_sort() must precede. */
void gang__fall_enter(gang_sched *s, struct gang__unit *u);
void gang__fall_leave(struct gang__unit *u);
void gang__falls_sort(gang_sched *s);
/* Has it tasks above its minimum now? */
void gang__shed_settle(struct gang__unit *u);
/* What may help those who wait for room has happened: let them try again. */
void gang__turn_room(gang_sched *s);
struct gang__user *gang__user_of(gang_sched *s, struct gang__qs *leaf, const char *name);
/* Does the leaf ask who its users are? */
bool gang__asks_users(const struct gang__queue *q);

/* ---- start.c ---- */

/* Try to grant the unit whose turn it is. True: something was granted. */
bool gang__start_try(gang_sched *s, struct gang__unit *u);
/* It has got this allocation: note it, tell the host. False: the host refused, all is undone. */
bool gang__start_done(gang_sched *s, struct gang__unit *u, gang_alloc_id alloc, int32_t reason);
/* The rest of it, where it takes turns: its first one has come. */
bool gang__start_tell(gang_sched *s, struct gang__unit *u, int32_t reason);
/* It holds its gang, but does not run: give that back, and it waits again, not before then. */
void gang__start_undo(gang_sched *s, struct gang__unit *u, int64_t not_before_ns);
/* How many tasks of the group come together when it grows: one, a slice, or what is missing of
 * its minimum. */
int64_t gang__unit_step(const struct gang__unit *u, uint32_t group);
/* May it have its gang, or so many tasks of a group, as far as queues are concerned? */
bool gang__start_may(gang_sched *s, struct gang__unit *u, int32_t grow_group, int64_t times);
/* More tasks were granted. */
bool gang__grow_done(gang_sched *s, struct gang__unit *u, const int64_t *tasks, size_t count,
                     const int64_t *by_group);
/* What a callback about a unit begins with. */
struct gang_event gang__event_of(const gang_sched *s, const struct gang__unit *u, int32_t reason,
                                 const char *text);
/* YARN's user limit for the unit's user, by kind; `gang`: what it asks for. True: it is beyond.
 * False, with nothing in `limit`, also where there is none. */
bool gang__user_limits(gang_sched *s, const struct gang__unit *u, const int64_t *gang,
                       int64_t *limit);
/* Are the nodes of these places there and up? GANG_OK; GANG_ENOFIT: not up now; GANG_ESTALE: one
 * is gone. */
gang_result gang__places_up(gang_sched *s, const struct gang_placement *place, int64_t count);
/* The number that the next task of an allocation gets. */
uint32_t gang__next_number(gang_sched *s, gang_alloc_id id);
/* Take the counts of a unit from its allocation. */
bool gang__unit_count(gang_sched *s, struct gang__unit *u);

/* Its gang, as place likes it best: *why tells why not. */
gang_result gang__alloc_gang(gang_sched *s, struct gang__unit *u, gang_alloc_id *id, int32_t *why);

/* ---- ahead.c ---- */

/* What it holds, or how long, has changed. Cannot fail. */
void gang__ahead_touch(gang_sched *s, struct gang__unit *u);
/* Something else happened after which the plans are to be looked at again. */
void gang__ahead_upset(gang_sched *s);
void gang__ahead_due(gang_sched *s, const struct gang__job *job); /* perhaps its planned start */
/* Before turns are taken: the timeline follows the queues, the nodes, the time, and what runs. */
void gang__ahead_refresh(gang_sched *s);
bool gang__ahead_waits(const gang_sched *s); /* is it worth it to take turns again? */
/* Grant its gang if that leaves room for all plans; else plan its start, if it may have a plan. As
 * gang__alloc_gang(); GANG_ENOMEM also where memory was short earlier in the run. */
gang_result gang__ahead_alloc(gang_sched *s, struct gang__unit *u, gang_alloc_id *id, int32_t *why);
void gang__ahead_over(gang_sched *s); /* what was granted has been told, or undone */
/* Is it to be tried after others of its leaf? Then that has been seen to. */
bool gang__ahead_defer(gang_sched *s, struct gang__unit *u);
/* Has it a plan, and is it room that it lacks now, not only room that others are to have? */
bool gang__ahead_lacks_room(gang_sched *s, const struct gang__unit *u);
/* Do more tasks of it leave room for all plans? */
bool gang__ahead_may_grow(gang_sched *s, const struct gang__unit *u);
/* It has no planned start any more; and (forget) it is no more. */
void gang__ahead_unplan(gang_sched *s, struct gang__unit *u);
void gang__ahead_forget(gang_sched *s, struct gang__unit *u);
/* The plans of another scheduler, whose jobs and nodes this one has, too. False: out of memory. */
bool gang__ahead_copy(gang_sched *s, const gang_sched *from);
/* A node that gangs shared in time is not theirs any more: what it had in the timeline (0: nothing). */
void gang__ahead_vacated(gang_sched *s, uint32_t occupies);
bool gang__ahead_binds(const gang_sched *s); /* is anything planned? */
/* He had a plan until now, and by the sums he does not start yet. */
bool gang__ahead_refuses(const gang_sched *s, const struct gang__unit *u);
void gang__ahead_free(gang_sched *s);
gang_result gang__ahead_check(gang_sched *s, struct gang_error *error);

/* ---- slice.c, slice_rows.c, slice_view.c ---- */

/* Does it take turns, or will it when it starts? */
bool gang__slice_concerns(const struct gang__unit *u);
/* Put its gang into a row, or more tasks of it into its own: as gang__alloc_gang(), and gang_alloc_grow(). It starts
 * with its first turn. */
gang_result gang__slice_alloc(gang_sched *s, struct gang__unit *u, gang_alloc_id *id);
gang_result gang__slice_grow(gang_sched *s, struct gang__unit *u, uint32_t group, int64_t step,
                             int64_t *granted);
/* Tasks (NULL: all) of an allocation were given back. */
void gang__slice_gave(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks, size_t count);
/* The unit lets go of its allocation; and what held it has stopped, though it is not given back. */
void gang__slice_forsake(gang_sched *s, struct gang__unit *u);
void gang__slice_quiet(gang_sched *s, gang_alloc_id alloc);
/* Tasks (NULL: all) have stopped. False: nobody asked it to suspend. */
bool gang__slice_report(gang_sched *s, struct gang__unit *u, const int64_t *tasks, size_t count);
void gang__slice_gone(gang_sched *s, struct gang__sliced *x, const int64_t *tasks, size_t count);
/* Does it wait for its turn? Had it one? */
bool gang__slice_is_out(const struct gang__unit *u);
bool gang__slice_is_begun(const struct gang__unit *u);
/* It had none yet, and is not to start where it was to: it waits again. */
void gang__slice_ungrant(gang_sched *s, struct gang__unit *u);
/* Let turns pass; is it worth it again; when is it due. */
void gang__slice_run(gang_sched *s);
bool gang__slice_waits(const gang_sched *s);
int64_t gang__slice_next(const gang_sched *s);
/* Queues are others. */
void gang__slice_configure(gang_sched *s);
/* Who is in the matrix is a victim on s->scratch, or stays after all: what it has of its nodes is given back there with
 * the last one. Begun when the copy is made. On an error (back: it is taken) nothing changed. */
void gang__slice_copy_begin(gang_sched *s);
gang_result gang__slice_copy_turn(gang_sched *s, const struct gang__unit *u, bool back);
/* The timeline of planned starts: its nodes are taken there, each as a whole and without end, and what gangs have lent of
 * them is not. Those that came since go into it (false: out of memory); it is made anew, with none. */
bool gang__slice_occupy(gang_sched *s);
void gang__slice_vacate(gang_sched *s);
bool gang__slice_occupied(const gang_sched *s);                      /* are all there? */
uint32_t gang__slice_lent(const gang_sched *s, gang_alloc_id alloc); /* GANG__LEND_*; 0: nothing */
bool gang__slice_has_node(const gang_sched *s, gang_node_id node);
/* Its row, from 1, or 0; how many there are, and when it has its turn, if nothing changes (0: now). */
uint32_t gang__slice_row(const struct gang__unit *u);
uint32_t gang__slice_when(const gang_sched *s, const struct gang__unit *u, int64_t *until_ns);
struct gang__matrix *gang__slice_matrix(const gang_sched *s, const struct gang__qs *leaf);
/* Who is where, whose turn it is and for how long yet, and this number, as one number. */
uint64_t gang__slice_print(const gang_sched *s, uint64_t seed);
void gang__slice_info(const gang_sched *s, const struct gang__qs *q, struct gang_queue_info *out);
gang_result gang__slice_check(gang_sched *s, struct gang_error *error);
void gang__slice_free(gang_sched *s);
/* Is there a timeline? */
static inline bool gang__ahead_on(const gang_sched *s)
{
    return s->queues->backfills || s->reserve_count > 0;
}
/* Are predictions left out of account? */
static inline bool gang__ahead_by_limit(const gang_sched *s)
{
    return s->reserve_count > 0 || s->reserving;
}

/* ---- reserve.c and its like ---- */

/* When something is due about reservations. */
int64_t gang__reserve_next(const gang_sched *s);
/* All that is reserved is repeated without end: when what is planned of it by now is over. INT64_MAX: it is not. */
int64_t gang__reserve_endless(const gang_sched *s);
/* What its bin is not to share with others for the sake of reservations; 0: nothing. */
uint64_t gang__reserve_apart(const gang_sched *s, const struct gang__unit *u);
/* May it start inside of some? */
bool gang__reserve_drawn(const gang_sched *s, const struct gang__unit *u);
/* It named one: may it be tried now? */
bool gang__reserve_holds(const gang_sched *s, const struct gang__job *job);
/* Does it start inside of one alone? Nobody is displaced for it, then. */
bool gang__reserve_confines(const struct gang__unit *u);
/* It was taken in: its reservation is looked up. False: that is over. */
bool gang__reserve_join(gang_sched *s, struct gang__job *job);
/* It is over, and perhaps what was reserved for it. */
void gang__reserve_leave(gang_sched *s, const struct gang__job *job);
/* When it is to stop because what it runs in ends; INT64_MAX: it has a limit of its own. */
int64_t gang__reserve_stop_ns(const struct gang__job *job);
/* Would it be in the way of one if it ran until then? */
bool gang__reserve_stops(gang_sched *s, const struct gang__job *job, int64_t until_ns);
/* When nothing of it runs any more the limit that it kept of what it lay in is gone. Not while a gang of it is on its way
 * elsewhere: where it may go was found with the limit. */
void gang__reserve_forget_end(gang_sched *s, struct gang__job *job);
/* Do reservations bear on where tasks of it go from now on? */
bool gang__reserve_binds(const gang_sched *s, const struct gang__unit *u);
/* Nodes on which it must not lie are closed: for `more_ns` longer than it runs; those of which parts are reserved only
 * with `parts`. */
void gang__reserve_close(gang_sched *s, const struct gang__unit *u, int64_t more_ns, bool parts,
                         gang_snapshot *snapshot);
/* Is one of these places reserved for others, from now until it ends? */
bool gang__reserve_bars(const gang_sched *s, const struct gang__unit *u,
                        const struct gang_placement *place, size_t count);
/* More tasks of a group, where reservations leave room: as gang_alloc_grow(). */
gang_result gang__reserve_grow(gang_sched *s, struct gang__unit *u, uint32_t group, int64_t step,
                               int64_t *granted);
/* Of those who submit: may it start inside the one of this name? GANG_OK and its id; GANG_ENOENT, GANG_EPERM. Inside a
 * read section. */
gang_result gang__ticket_find(gang_sched *s, const struct gang__door *door,
                              const struct gang__queue *q, const struct gang_job_spec *j,
                              gang_reservation_id *id, struct gang_error *error);
/* Is a reservation the reason why it waits, that it named or that is for others? */
struct gang__reserve_reason {
    int64_t until_ns; /* or 0 */
    bool never;
    char text[400];
};
bool gang__reserve_explain(gang_sched *s, struct gang__unit *u, struct gang__reserve_reason *why);
void gang__reserve_free(gang_sched *s);
gang_result gang__reserve_check(gang_sched *s, struct gang_error *error);

/* ---- evict.c ---- */

/* Make room for the unit, if the rules allow it and it then starts. True: it started, or its
 * victims are leaving. */
bool gang__evict_for(gang_sched *s, struct gang__unit *u);
/* Could it help one that waits for this? Where there is room that is reserved, others may be elsewhere. */
static inline bool gang__evict_helps(int32_t why)
{
    return why == GANG_WAIT_ROOM || why == GANG_WAIT_RESERVATION || why == GANG_WAIT_LIMIT ||
           why == GANG_WAIT_GUARANTEE || why == GANG_WAIT_LENDING;
}
/* Is it worth trying? Cheap. */
bool gang__evict_may(gang_sched *s, struct gang__bin *bin);
void gang__evict_free(gang_sched *s);

/* ---- leave.c ---- */

/* Some tasks of a running unit, or all of it, were asked to stop; what they hold stays taken
 * until they have. */
struct gang__leave {
    struct gang__leave *next; /* of the unit */
    struct gang__leave *next_of_claim;
    struct gang__unit *unit;
    struct gang__claim
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
struct gang__claim {
    struct gang__claim *next;
    struct gang__unit *taker; /* NULL: it gave up */
    struct gang__leave *leaves;
    struct gang_placement *places; /* where it is to go */
    int64_t place_count;
    int32_t grow_group;   /* of a unit that runs; -1: the gang */
    gang_alloc_id *holds; /* what is kept free for it */
    size_t hold_count, hold_room;
    int32_t reason;
    bool charged; /* its queues count it already, */
    bool comes;   /* and its job among those that are to run */
};

/* Asking tasks (NULL: all) of a unit to stop, in two steps: all that needs memory (NULL: there
 * is none), and then the asking, which cannot fail. Whose asking is not come to is dropped. */
struct gang__leave *gang__leave_new(gang_sched *s, struct gang__unit *u, const int64_t *tasks,
                                    size_t count, int32_t reason);
void gang__leave_drop(gang_sched *s, struct gang__leave *leave);
int32_t gang__leave_go(gang_sched *s, struct gang__leave *leave, gang_job_id because,
                       struct gang__claim *claim, int32_t end);
/* Both, for nobody. Ask tasks (NULL: all) of a unit to stop. What they hold leaves the books
 * now. end: what becomes of the job when all of it has stopped (GANG_END_NONE: it waits again).
 * GANG_OK: gone at once; 1: they are stopping; GANG_ENOMEM: nothing happened. */
int32_t gang__leave_ask(gang_sched *s, struct gang__unit *u, const int64_t *tasks, size_t count,
                        int32_t reason, gang_job_id because, int32_t end);
/* Give back tasks of an allocation whatever minima say, and all of it: as gang__alloc_shed() and
 * gang_alloc_free(), but with some patience for threads that read it just now. */
gang_result gang__give_tasks(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks,
                             size_t count);
gang_result gang__give_all(gang_sched *s, gang_alloc_id alloc);
/* Give it back in any case: tasks (of a unit that runs on, or NULL), or all (NULL) of an allocation that is no
 * unit's. What cannot be given now, as somebody still reads it, is owed: it is given at the beginning of a later
 * run, or with the scheduler. */
void gang__give_surely(gang_sched *s, struct gang__unit *u, gang_alloc_id alloc,
                       const int64_t *tasks, size_t count);
void gang__owed_give(gang_sched *s);
void gang__owed_free(gang_sched *s);
/* All of it but what has stopped and is kept for somebody; that is given back with the claim. */
void gang__give_rest(gang_sched *s, gang_alloc_id alloc);
/* What its tasks held came free: those who wait for room may try. */
void gang__freed(gang_sched *s);
/* Use of the leaf and those above went down: who waits for that may try. */
void gang__eased(gang_sched *s, struct gang__qs *leaf);
/* Was this task of its allocation asked to stop? Also if it has, and what it held is kept for
 * somebody. */
bool gang__leave_asked(const gang_sched *s, const struct gang__unit *u, int64_t task);
/* These tasks (NULL: all) of a unit that was asked to stop have. */
void gang__leave_gone(gang_sched *s, struct gang__unit *u, const int64_t *tasks, size_t count);
void gang__leave_due(gang_sched *s, struct gang__job *job); /* deadlines that have passed */
void gang__claim_give_up(gang_sched *s, struct gang__claim *claim);
/* It is not on its way to another place any more, if it was. */
void gang__move_end(gang_sched *s, struct gang__unit *u);
/* What it is about to get enters (or, -1, leaves) the books of its queues. */
void gang__claim_book(struct gang__claim *claim, int64_t sign);
/* Its job is to run, and does not yet: those that may run at once are only so many. */
void gang__claim_comes(struct gang__claim *claim, bool comes);
/* All who stood in the way have gone: start the taker. */
void gang__claims_settle(gang_sched *s);
/* Order of numbers of tasks, for bsearch() and qsort(). */
int gang__by_number(const void *a, const void *b);
/* Begin to wait: the taker is out of turn, and what is free already of its places is kept. */
void gang__claim_begin(gang_sched *s, struct gang__claim *claim);
struct gang__claim *gang__claim_new(gang_sched *s, struct gang__unit *taker,
                                    const struct gang__places *told, int32_t grow_group,
                                    int32_t reason);

/* ---- job.c ---- */

struct gang__job *gang__job_of(const gang_sched *s, gang_job_id id);
/* It may wait for jobs that are there: they are to wake it. False: out of memory. */
bool gang__job_waiters(gang_sched *s, struct gang__job *job);
/* A submitted one enters, or is refused. False: out of memory, it is to be taken again. */
bool gang__job_take(gang_sched *s, struct gang__job *job);
/* May its units be tried? Puts them where they belong: into their bins, or out of them. */
void gang__job_settle(gang_sched *s, struct gang__job *job);
void gang__job_end(gang_sched *s, struct gang__job *job, int32_t end, const char *text);
/* Stop everything of it, then it ends so (or, GANG_END_NONE, waits again). */
void gang__job_stop(gang_sched *s, struct gang__job *job, int32_t reason, int32_t end);
void gang__job_wake(gang_sched *s, struct gang__job *job); /* those who wait for it look again */
/* How long it waited for turns since it started. */
int64_t gang__job_paused(const gang_sched *s, const struct gang__job *job);
/* GANG_JOB_*, as its units have it. */
int32_t gang__job_state_now(const struct gang__job *job);
/* It changed, perhaps: tell the host. */
void gang__job_state(gang_sched *s, struct gang__job *job, int32_t reason, const char *text);
void gang__job_free(gang_sched *s, struct gang__job *job);
void gang__job_refuse(gang_sched *s, struct gang__job *job, const char *text);
gang_job_id gang__job_waits_for(const gang_sched *s, const struct gang__job *job);
/* What runs of a unit leaves the books; its allocation is left to the caller. */
void gang__unit_clear(gang_sched *s, struct gang__unit *u);
gang__tree_compare gang__job_order, gang__timer_order;
/* Is it to wait for its turn? */
bool gang__job_waits(gang_sched *s, struct gang__unit *u);
void gang__jobs_forget(gang_sched *s); /* those that ended in this run */
/* A unit has stopped wholly (it holds nothing, nothing of it leaves). */
void gang__unit_stopped(gang_sched *s, struct gang__unit *u);
void gang__job_count(gang_sched *s, struct gang__job *job);
/* Of those that are on their way in it is one no more. */
void gang__job_arrived(gang_sched *s,
                       struct gang__job *job); /* running and pending of its queues */
/* It is one of them, below the queue of this index. */
void gang__job_arrives(gang_sched *s, struct gang__job *job, uint32_t at);

/* ---- life.c ---- */

/* What the host reported takes effect. False: not now, for want of memory or because another
 * thread reads the allocation; nothing that it cannot do again has happened, and the report is
 * to be given again. */
bool gang__life_report(gang_sched *s, struct gang__job *job, uint32_t part, gang_alloc_id alloc,
                       const int64_t *tasks, size_t count, int32_t what);
bool gang__life_end(gang_sched *s, struct gang__job *job, bool success);
bool gang__life_node_lost(gang_sched *s, gang_node_id node);
bool gang__life_target(gang_sched *s, struct gang__job *job, int64_t target);
void gang__life_due(gang_sched *s, struct gang__job *job); /* heartbeats, stale, refill */
int64_t gang__life_next(const gang_sched *s, const struct gang__job *job);
void gang__life_started(gang_sched *s, struct gang__unit *u);
/* It has its old places again, perhaps more than it is to have by now: the rest is given back. */
void gang__life_trim(gang_sched *s, struct gang__unit *u);
/* It waits to be started anew, whole: what ended before does not count. */
void gang__life_again(gang_sched *s, struct gang__unit *u);
void gang__life_free(gang_sched *s, struct gang__job *job);
/* A unit began to run, got tasks or lost some: is it below its minimum? */
void gang__life_short(gang_sched *s, struct gang__unit *u);

/* ---- term.c ---- */

/* How long it is expected to run once it starts; INT64_MAX: no bound. */
int64_t gang__term_run(const struct gang__job *job);
/* When it is stopped, and when it is expected to end, if it started at `from_ns`; INT64_MAX: never.
 * A grace comes on top. */
int64_t gang__term_end(const struct gang__job *job, int64_t from_ns);
int64_t gang__term_expected(const struct gang__job *job, int64_t from_ns);
/* When something of that is due; and what is due is done. */
int64_t gang__term_next(const gang_sched *s, const struct gang__job *job);
/* When it would have started if it had had no pauses between its turns. */
int64_t gang__term_from(const gang_sched *s, const struct gang__job *job);
void gang__term_due(gang_sched *s, struct gang__job *job);
void gang__term_begin(gang_sched *s, struct gang__job *job);   /* it runs from now on */
void gang__term_predict(gang_sched *s, struct gang__job *job); /* the host is asked */

/* ---- timer.c ---- */

void gang__timer_set(gang_sched *s, struct gang__job *job); /* anew, from what it waits for */
int64_t gang__timer_due(const gang_sched *s, const struct gang__job *job); /* as it would be set */
void gang__timer_clear(gang_sched *s, struct gang__job *job);
void gang__timers_run(gang_sched *s);
int64_t gang__timers_next(const gang_sched *s);

/* ---- inbox.c ---- */

/* Any message but of jobs that are submitted, which lies in the first of them. */
struct gang__order {
    struct gang__message head;
    gang_job_id job;
    int64_t value;
    gang_alloc_id alloc;
    uint32_t part;
    size_t count;
    int64_t tasks[]; /* count of them; all: count is SIZE_MAX */
};
void gang__inbox_put(gang_sched *s, struct gang__message *m);
/* Into the backlog, in the order in which they came, after those that are left there. */
void gang__inbox_take_out(gang_sched *s);
/* Take messages in until there are none, or no steps are left. */
void gang__inbox_run(gang_sched *s);
bool gang__inbox_waits(const gang_sched *s);
void gang__inbox_free(gang_sched *s);

/* ---- audit_units.c ---- */

gang_result gang__units_check(gang_sched *s, struct gang_error *error);

/* ---- submit.c, config.c ---- */

void gang__recent_free(gang_sched *s);
gang_result gang__config_default(gang_sched *s, struct gang_error *error);
bool gang__config_root(gang_sched *s); /* false: out of memory */
void gang__config_free(gang_sched *s);
void gang__config_resolve(gang_sched *s); /* amounts in force, from what there is */
/* Is it this queue, or below it? */
bool gang__qs_below(const struct gang__qs *q, const struct gang__qs *top);
struct gang__qs *gang__qs_of(const gang_sched *s, gang_queue_id id);
/* Make a queue on demand, if it is not there. GANG_OK; GANG_ENOMEM; other errors: it cannot be
 * made. */
gang_result gang__config_make(gang_sched *s, gang_queue_id parent, const char *name,
                              struct gang__qs **leaf);
/* The tree of another scheduler, with the same ids; nobody is in it yet. Then everybody who is in the table of jobs
 * enters the books, the leaf of each being set, and waits where he belongs. */
gang_result gang__config_copy(gang_sched *s, gang_sched *from, struct gang_error *error);
void gang__config_enter(gang_sched *s);
void gang__config_idle(gang_sched *s); /* remove made queues that were idle long enough */
int64_t gang__config_next(const gang_sched *s);

/* ---- sched.c ---- */

/* As gang_sched_next(), but for turns of gangs that slice. */
int64_t gang__sched_due(gang_sched *s);
/* Take in what waits, at this time, and nothing more: the beginning of a run. */
gang_result gang__sched_take_in(gang_sched *s, int64_t now_ns);
void gang__log(gang_sched *s, int32_t level, const char *fmt, ...) GANG__PRINTF(3, 4);
static inline bool gang__step(gang_sched *s) /* false: no more in this run */
{
    if (s->max_steps > 0 && s->steps >= s->max_steps)
        return false;
    s->steps++;
    return true;
}
static inline gang_request *gang__unit_request(const struct gang__unit *u)
{
    return u->ask->q;
}
/* The allocation in which lies what it holds: also while all of it stops. */
static inline gang_alloc_id gang__unit_holds(const struct gang__unit *u)
{
    return u->alloc != GANG_ID_NONE ? u->alloc : u->leaves ? u->leaves->alloc : GANG_ID_NONE;
}
/* What its gang takes (group < 0), or a task of a group: `count` kinds. */
static inline const struct gang__take *gang__asked_takes(const struct gang__asked *ask,
                                                         int32_t group, uint32_t *count)
{
    *count = group < 0 ? ask->gang_count : ask->group[group].count;
    return group < 0 ? ask->gang : ask->take + ask->group[group].from;
}
/* What so many tasks of a group take. Returns how many kinds. */
static inline uint32_t gang__asked_times(const struct gang__asked *ask, int32_t group,
                                         int64_t times, struct gang__take take[GANG__DIMS])
{
    uint32_t count;
    const struct gang__take *one = gang__asked_takes(ask, group, &count);
    for (uint32_t i = 0; i < count; i++)
        take[i] = (struct gang__take){one[i].dim, one[i].amount * times};
    return count;
}
#define GANG__OF(type, member, link) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* The first of those whom a message brings (the others follow by `next`); what any other message says. */
static inline struct gang__job *gang__submitted(const struct gang__message *m)
{
    return GANG__OF(struct gang__job, submit, m);
}
static inline struct gang__order *gang__order_of(struct gang__message *m)
{
    return (struct gang__order *)(void *)m;
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
static inline struct gang__unit *gang__bin_head(const struct gang__bin *bin)
{
    return GANG__OF(struct gang__unit, turn, gang__ordered_first(&bin->units));
}

#endif
