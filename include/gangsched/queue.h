/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file queue.h
 * @brief Descriptions of queues, by value: guarantees, limits, order, preemption.
 *
 * *Queues* form a tree that divides the capacity of the cluster. A *leaf* is a queue without
 * children; each job belongs to a leaf. gang_sched_set_queues() sets the whole tree;
 * gang_queue_add(), gang_queue_change() and gang_queue_remove() change one queue. Each call checks
 * the whole tree that would result before it takes effect.
 *
 * Of each kind a queue may have:
 *   - a *guarantee*: capacity that the queue gets back from other queues when its jobs need it. If
 *     a queue has guarantees, but none of some kind, this kind is *not managed* in the queue: its
 *     guarantee is unlimited. A leaf without any guarantee is guaranteed nothing of any kind. A
 *     parent without any is guaranteed the sum of its children's guarantees, see
 *     gang_queue_spec.guaranteed;
 *   - a *limit*: the maximum that all jobs in the queue and below it hold. A gang starts only if
 *     this still holds with all its tasks that start;
 *   - *priority* and *weight*: how the children of a queue divide the capacity beyond their
 *     guarantees. Children with the highest priority get all that they demand, then those with the
 *     next priority. Children of equal priority divide by weight (weighted max-min fairness):
 *     beyond its guarantee, each gets min(unmet demand, x * weight), with the largest x for which
 *     the capacity suffices. The parts are rounded to whole cores, MiB and GPUs by largest
 *     remainder; on a tie the oldest queue gets the unit. The parent may have the capacity divided
 *     evenly instead (gang_queue_spec.surplus);
 *   - a *lending limit*: how much of its idle guarantee other queues may use;
 *   - *cells*: a guarantee of whole domains of a topology level. The scheduler places other jobs so
 *     that the domains can be given back whole.
 *
 * What counts:
 *   - A queue *uses* what its running tasks hold, and what is kept for its gangs while victims stop
 *     for them. Guarantees, fair shares, user limits and the order of queues compare this usage.
 *   - A queue *holds* what it uses, and what its tasks that were asked to stop hold until they have
 *     stopped. Limits compare held resources, in the leaf and in each queue above it: no start and
 *     no growth makes a queue hold more than its limit.
 *   - Resources that are handed over from victims to the preemptor count for the queue of the
 *     preemptor as soon as the victims are asked to stop, and for the queues of the victims until
 *     these have stopped. A queue above both counts the larger of the two amounts, not the sum.
 *   - A gang that exceeds a limit only because tasks have not stopped yet waits for them; no gang
 *     is preempted for it.
 *   - max_running counts a job until all its tasks have stopped.
 *
 * The *fair share* of a queue is min(guarantee, demand) plus its part of the capacity beyond the
 * guarantees, divided down the tree. The *demand* of a leaf is what its jobs use plus what its
 * waiting jobs request, at most its limit; that of a parent is the sum over its children. A waiting
 * job counts only if it could run after all other queues had given back everything. So the
 * following do not count:
 *   - a gang whose minimum exceeds a limit of its leaf or of a queue above;
 *   - a non-preemptible gang whose minimum, added to the non-preemptible work that runs in a queue
 *     on its path, exceeds the guarantee of that queue;
 *   - what other non-preemptible gangs request above these guarantees.
 * The last two do not apply to queues with GANG_NONPREEMPTIBLE_LIMIT: there non-preemptible
 * requests count like others, up to the limit.
 */
#ifndef GANGSCHED_QUEUE_H
#define GANGSCHED_QUEUE_H

#include <gangsched/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Id of a queue; GANG_ESTALE after the queue is removed; never reused. */
typedef uint64_t gang_queue_id;

/** No limit, in gang_quota. */
#define GANG_UNLIMITED ((int64_t)-1)

enum {
    GANG_MAX_QUEUES = 65536,   /**< queues of one scheduler */
    GANG_MAX_QUEUE_DEPTH = 32, /**< queues on the path from the top to a leaf */
    /** different kinds, and pairs of kind and partition, in all quotas together */
    GANG_MAX_QUEUE_DIMENSIONS = 64,
    GANG_MAX_JOB_PARTITIONS = 16, /**< of gang_job_spec.partitions */
    /** different classes in one tree (gang_queue_spec.preempt_class) */
    GANG_MAX_PREEMPT_CLASSES = 64,
    GANG_MAX_BUDGETS = 16 /**< budgets of one queue */
};

/** An amount of a kind for a queue, in the unit of the kind (millicores, bytes, milli-GPUs). */
struct gang_quota {
    const char *kind; /**< "cpu", "memory", "gpu", or a kind of the site */
    int64_t amount;   /**< GANG_UNLIMITED or >= 0; 0 with `fraction` or `by_weight` */
    /** Counts only what groups that name this partition (gang_group_spec.partition) use on its
     *  nodes; NULL: counts everything, on any node. */
    const char *partition;
    /** > 0: this fraction of the parent's amount (at the top: of the cluster's capacity) instead of
     *  an amount; at most GANG_WHOLE. For each kind, the fractions of the children of one queue add
     *  up to at most GANG_WHOLE. */
    int64_t fraction;
    /** > 0, for guarantees only: the queue is guaranteed the part by_weight / (sum of by_weight
     *  over all children of its parent) of the parent's amount of this kind (at the top: of the
     *  cluster's capacity). Either all children that name the kind use by_weight, or none does. */
    int64_t by_weight;
};

/** Which jobs a job may preempt (gang_queue_spec.within and .reclaim). */
enum {
    GANG_PREEMPT_DEFAULT = 0,
    GANG_PREEMPT_NEVER = 1,
    GANG_PREEMPT_LOWER = 2, /**< jobs of lower priority; the default of `within` */
    /** `within` only: jobs of lower priority, and newer jobs of equal priority */
    GANG_PREEMPT_LOWER_OR_NEWER = 3,
    GANG_PREEMPT_ANY = 4, /**< `reclaim` only, and its default: jobs of any priority */
    /** `within` only: jobs of users above their user limit (YARN's intra-queue preemption with
     *  "userlimit_first"). A job may preempt a job of another user, of any priority, if
     *    - its own user stays within the user limit with the whole gang that is to start; and
     *    - the other user still uses at least its user limit after the preemption, in a kind that
     *      the job requests and that the preempted tasks release.
     *  Among jobs of its own user a job preempts those of lower priority. The user limit for this
     *  rule is max(guarantee, usage of all users before the preemption) times the larger of
     *  user_limit and 1 / n, where n is the number of users with jobs that run or could run,
     *  counted by weight; it is at most user_limit_factor times the guarantee. In a leaf without
     *  user limit no user is above it. */
    GANG_PREEMPT_USER_LIMIT = 5
};

/** Which jobs of other leaves a job may preempt by rank, even if its queue is above its fair share
 *  (gang_queue_spec.across; see *Rank* below). */
enum {
    GANG_ACROSS_DEFAULT = 0, /**< as for the parent; at the top NEVER */
    GANG_ACROSS_NEVER = 1,
    GANG_ACROSS_LOWER = 2, /**< jobs of lower priority */
    /** jobs of lower priority, if that is at most gang_queue_spec.across_max_priority */
    GANG_ACROSS_LOWER_CAPPED = 3
};

/** How much *non-preemptible work* may run in a queue and below it
 *  (gang_queue_spec.nonpreemptible): jobs that are not preemptible, and the minima of
 *  semi-preemptible jobs. The bound of each queue on the path of a job applies. So a queue with
 *  GUARANTEED bounds the queues below it, even if these have LIMIT. */
enum {
    GANG_NONPREEMPTIBLE_DEFAULT = 0, /**< as for the parent; at the top GUARANTEED */
    /** at most the guarantee of the queue, so that other queues can get their guarantees back
     *  (KAI) */
    GANG_NONPREEMPTIBLE_GUARANTEED = 1,
    /** At most the limit of the queue, like other work (Volcano). Non-preemptible work then also
     *  uses capacity that other queues leave idle, and these cannot reclaim it until it ends, not
     *  even for their guarantees; only their lending limits and cells protect them. Fair shares are
     *  divided as if it could be reclaimed, so a queue may stay below its share and its guarantee.
     *  A gang that brings the non-preemptible work of a queue on its path above that queue's
     *  guarantee starts only on free capacity: no gang is preempted or moved for it. */
    GANG_NONPREEMPTIBLE_LIMIT = 2
};

/** A guarantee of `count` whole domains of a level. */
struct gang_cell_spec {
    const char *level; /**< "node" or a level of the cluster (gang_cluster_opts.levels) */
    int64_t count;
};

/** States of a queue. */
enum {
    GANG_QUEUE_OPEN = 0,
    GANG_QUEUE_DRAINING = 1, /**< accepts no new jobs; its jobs start and end as usual */
    GANG_QUEUE_CLOSED = 2    /**< accepts no new jobs and starts none; running jobs continue */
};

/** Order in which the jobs of a leaf are tried. If a criterion other than age leaves two jobs
 *  equal, a gang that has fewer tasks than its minimum (one that waits to start, too) comes before
 *  a gang that could only grow; then the older job comes first. */
enum {
    /** highest priority first, then oldest (gang_job_spec.submit); the default */
    GANG_ORDER_PRIORITY = 0,
    GANG_ORDER_FIFO = 1, /**< oldest first */
    /** jobs of the user with the smallest dominant share divided by weight first; then as
     *  PRIORITY */
    GANG_ORDER_FAIR = 2,
    /** shortest time limit first, jobs without one last; then as PRIORITY */
    GANG_ORDER_SHORTEST = 3,
    /** Least attained service first: the dominant share that the job has used times the time, in
     *  classes that double; then as PRIORITY. */
    GANG_ORDER_LEAST_SERVED = 4,
    /** earliest deadline first, jobs without one last; then as PRIORITY */
    GANG_ORDER_DEADLINE = 5,
    /** highest weighted sum of factors first (gang_queue_spec.priority_weight_age); then as
     *  PRIORITY */
    GANG_ORDER_MULTIFACTOR = 6
};

/** Order in which the children of a queue are tried. */
enum {
    /** The first of these criteria on which two queues differ decides: a queue below its fair share
     *  comes first; then a queue that stays within its guarantee with its first job; then the
     *  higher queue priority; then the smaller ratio of usage, with its first job, to fair share,
     *  in the kind in which this ratio is largest. If `across` is in force for the parent, two
     *  criteria come before these: a queue that stays within its guarantee with its first job, then
     *  the higher priority of the first job. */
    GANG_CHILD_ORDER_FAIR = 0,
    /** the queue with the smaller ratio of used to guaranteed first (YARN) */
    GANG_CHILD_ORDER_UTILIZATION = 1,
    /** Of two queues with different priorities the one below its guarantee comes first; if both are
     *  below or neither is, the one with the higher priority. Queues of equal priority: as
     *  UTILIZATION. Queues without guarantee come last. (YARN) */
    GANG_CHILD_ORDER_PRIORITY_UTILIZATION = 2,
    /** The queue whose first job has the highest weighted sum of factors first; then the oldest
     *  queue. So the jobs of several leaves have one common order, like the jobs of Slurm's
     *  partitions with one PriorityTier. For a job in a leaf with another order, the job's priority
     *  counts as its sum. */
    GANG_CHILD_ORDER_MULTIFACTOR = 3
};

/** How the children of a queue divide the capacity beyond their guarantees
 *  (gang_queue_spec.surplus). */
enum {
    GANG_SURPLUS_BY_WEIGHT = 0, /**< by priority, then by weight; the default */
    /** By priority, then evenly: each child with a weight above 0 counts with weight 1. A child
     *  with weight 0 gets nothing beyond its guarantee. (KAI: overQuotaWeight 1 or 0) */
    GANG_SURPLUS_EVENLY = 1
};

/** When a job with several partitions (gang_job_spec.partitions) may start in a partition in which
 *  its leaf would exceed its guarantee. */
enum {
    /** partitions are tried in their order, with or without borrowing (Kueue: Borrow) */
    GANG_PARTITION_BORROW_IN_ORDER = 0,
    /** partitions in which the leaf stays within its guarantee are tried first (Kueue:
     *  TryNextFlavor) */
    GANG_PARTITION_BORROW_LAST = 1
};

/** When gangs are preempted or moved for a job with several partitions. */
enum {
    /** when it can start in none of them (Kueue: TryNextFlavor) */
    GANG_PARTITION_PREEMPT_LAST = 0,
    /** in each partition before the next one is tried (Kueue: Preempt) */
    GANG_PARTITION_PREEMPT_IN_ORDER = 1
};

/** What happens to the jobs behind a blocked job (a job that cannot start now) in its leaf. */
enum {
    GANG_BLOCK_NONE = 0, /**< they may start: best effort */
    /** they wait: strict order. Only gangs of running jobs start or grow before a job that waits
     *  for gang_queue_spec.max_running. */
    GANG_BLOCK_STRICT = 1
};

/** Backfill: which jobs may start before a blocked job that precedes them in order. */
enum {
    GANG_BACKFILL_DEFAULT = 0, /**< as for the parent; at the top NONE */
    /** Any job that fits. No job has a planned start. */
    GANG_BACKFILL_NONE = 1,
    /** The first blocked jobs (gang_queue_spec.plan_depth) have a planned start on chosen nodes.
     *  No job starts that would delay them. */
    GANG_BACKFILL_EASY = 2,
    GANG_BACKFILL_CONSERVATIVE = 3 /**< like EASY, but all blocked jobs have a planned start */
};

/** Order in which jobs without a planned start are tried (EASY). */
enum {
    GANG_BACKFILL_ORDER_DEFAULT = 0, /**< as for the parent; at the top LEAF */
    GANG_BACKFILL_ORDER_LEAF = 1,
    GANG_BACKFILL_ORDER_SHORTEST =
        2, /**< shortest time limit first, jobs without one last; then as LEAF */
    /** largest dominant share of the cluster first; then as LEAF */
    GANG_BACKFILL_ORDER_WIDEST = 3,
    /** smallest product of dominant share and time limit first; then as LEAF */
    GANG_BACKFILL_ORDER_SMALLEST = 4
};

/** What happens to a job that reaches its time limit. */
enum {
    GANG_OVERRUN_DEFAULT = 0, /**< as for the parent; at the top KILL */
    GANG_OVERRUN_KILL = 1,    /**< it is stopped: op preempt, grace period, op kill */
    /** It runs on, each time for gang_queue_spec.extend_ns, until a job of any queue waits for
     *  capacity at the end of such a time. Then it is stopped. */
    GANG_OVERRUN_EXTEND = 2,
    GANG_OVERRUN_ASK = 3 /**< op overrun decides */
};

/** How jobs of a queue are preempted. */
enum {
    GANG_PREEMPT_MODE_REQUEUE = 0, /**< the job waits again from its beginning, at its old age */
    /** the job is suspended, and resumes on the same nodes, devices and cores when these are
     *  free */
    GANG_PREEMPT_MODE_SUSPEND = 1,
    GANG_PREEMPT_MODE_CANCEL = 2 /**< the job ends with GANG_END_PREEMPTED */
};

/** How a budget is enforced. */
enum {
    /** A job starts only if the rest of the budget suffices for its whole time limit, in addition
     *  to what the running jobs need until their time limits. So no job is stopped, and the budget
     *  is never exceeded. Jobs without a time limit never start. No job runs beyond its time limit,
     *  even if gang_queue_spec.overrun allows it. (Slurm: AccountingStorageEnforce=safe) */
    GANG_BUDGET_SAFE = 0,
    /** Jobs start while the budget is not used up. When it is used up, all jobs of the budget that
     *  use the kind are stopped (GANG_REASON_TIMEOUT, GANG_END_TIMEOUT). (Slurm without `safe`) */
    GANG_BUDGET_KILL = 1,
    /** Jobs start while the budget is not used up. Running jobs run on, and may exceed it. */
    GANG_BUDGET_FINISH = 2
};

/** A budget: an amount of a kind times time, for all jobs in a queue and below it together, or for
 *  each of their users (Slurm: GrpTRESMins of an association or QOS). Tasks use it until they end
 *  or are asked to stop; a suspended job uses nothing. A job that the budget does not allow waits
 *  (GANG_WAIT_BUDGET); no job is preempted for it. It is tried again when a job of the queue stops
 *  and when the budget is renewed, but not when its own need falls with time (because of its
 *  deadline, or when it waits to grow). gang_job_set_time_limit() may give a running job more time
 *  than the budget allows. */
struct gang_budget {
    const char *kind; /**< "cpu", "memory", "gpu", or a kind of the site */
    /** in units of the kind times seconds, 0 to 2^62: one GPU for one hour is 3600000, because the
     *  unit is a thousandth of a GPU */
    int64_t amount;
    /** > 0: the budget is renewed (its use set to 0) at each multiple of this time (Slurm:
     *  PriorityUsageResetPeriod); 0: never */
    int64_t period_ns;
    int32_t per_user;  /**< 1: each user has this amount; 0: all users together have it */
    int32_t exhausted; /**< GANG_BUDGET_* */
};

/** Weight of a user in a queue. */
struct gang_user_weight {
    const char *user;
    int64_t weight; /**< > 0, in millionths; GANG_WHOLE is 1 */
};

/* ---- what some options mean for a run ------------------------------------------------------- */

/**
 * *Rank*. A job may outrank jobs of other leaves: by priority (gang_queue_spec.across) or by class
 * (gang_queue_spec.preempt_class). It may preempt the jobs that it outranks, lowest priority first,
 * together with jobs of its own leaf that `within` allows. Rules:
 *   - fair shares and `reclaim` do not matter. All limits on its path apply, and so do the lending
 *     limits of other queues;
 *   - guarantees protect: consider the queues on the path of the victim that are not also above the
 *     preemptor. If one of them uses no more than its guarantee, in all kinds that it manages and
 *     that both gangs request, the victim is not preempted by rank;
 *   - a job may reclaim from jobs that outrank it (directly, or through other classes) only what
 *     its guarantee covers, not up to its fair share. So a victim does not take its place back.
 */

/**
 * *Backfill*. In a leaf with backfill (gang_queue_spec.backfill) the first blocked jobs have a
 * *planned start*: the earliest time from which the whole gang fits until its time limit. The plan
 * assumes that each running job runs until its *latest end*: the end of its time limit plus its
 * grace period; a job without time limit and deadline never ends. A planned start respects other
 * planned starts, labels, partitions, and the domain that the gang needs. Rules:
 *   - a job of any queue starts, resumes or grows only if this delays no planned start, assuming
 *     that it runs until its latest end (or its predicted end: op predict). A job without time
 *     limit and deadline starts only on nodes that no planned start needs;
 *   - a planned start does not move to a later time because of other starts. When a job ends early
 *     or is cancelled, the starts are planned again in queue order, each not later than before.
 *     With EASY, if a new job comes before the jobs with planned starts, it gets one and the last
 *     of them loses its own;
 *   - plans count amounts of cores, memory and GPUs. If a planned start is due and the gang does
 *     not fit after all (because of GPU links, shares of devices, kinds of the site or affinity
 *     rules), it is planned again;
 *   - a job that a limit or guarantee blocks, or for which no time is found, has no planned start
 *     and does not count towards plan_depth;
 *   - capacity that was freed for a job by preemption or moves is for that job. Afterwards, and
 *     after changes of nodes, starts are planned again;
 *   - plans ignore allocations that were made without the scheduler, so a planned start may be too
 *     early.
 *
 * gang_sched_next() (sched.h) includes the times of planned starts. Cost: in a leaf with backfill,
 * a run after a job has ended tries every waiting job; in a leaf without backfill, one job of each
 * set of jobs with equal requests. Memory: about 150 bytes for each node of the cluster; for each
 * job that runs or has a planned start 1 KiB, and 16 bytes for each of its nodes.
 */

/**
 * *Time slicing*. With gang_queue_spec.quantum_ns > 0 the gangs of the leaves below this queue
 * share nodes in time, except in leaves that set quantum_ns themselves. The gangs form a matrix
 * (Ousterhout 1982): its columns are nodes, its rows are sets of gangs that run at the same time.
 * The rows run one after the other, each for one *time slice* of quantum_ns. Rules:
 *   - The nodes of the matrix belong to it completely. A gang is placed on nodes of the matrix, and
 *     on nodes on which no cores are in use (with quantum_gpus: no GPUs either), which then join
 *     the matrix. A node leaves the matrix when no gang of the matrix is on it.
 *   - A gang joins the first row, in the order in which rows run, that has capacity for it. If none
 *     has, it opens a new row, up to quantum_rows. Cores, and with quantum_gpus GPUs, must be free
 *     in that row only. All other resources (memory, GPUs without quantum_gpus, other kinds) are
 *     not shared in time: gangs hold them while they are suspended, too, so those of all rows
 *     together must fit on the node.
 *   - The gangs of the active row run. Gangs of other rows that fit beside them run, too, in row
 *     order (Ousterhout's alternates). A gang is suspended and resumed as a whole. A gang of the
 *     next row starts when all tasks in its way were reported stopped, or when the grace period has
 *     passed. A time slice begins when all gangs of its row run.
 *   - So each gang runs at least one whole time slice in each round of (quantum_ns + grace period)
 *     * rows. When gangs end, others move to rows that run no later, and empty rows are removed. A
 *     gang that joins the active row runs for the rest of its time slice, and for a whole one in
 *     the next round. A gang that moves to other nodes gets a row that runs no later than its
 *     former one. A preempted gang that starts again joins like a new one. If there is only one
 *     row, no gang is suspended. gang_sched_next() includes the ends of time slices.
 *   - A queue uses all resources of its gangs in all rows, running or suspended (as in Slurm). So
 *     limits bound all rows together, and such a queue may use more cores than exist.
 *   - Time limits and GANG_ORDER_LEAST_SERVED count only the time during which the gang runs. No
 *     heartbeats are due while a gang is suspended. Its tasks may end, fail or be lost like others.
 *   - Op start is called at the beginning of the gang's first time slice. If one of its nodes is
 *     lost or drained before that, the gang waits again.
 *   - The latest end of a gang with the time `left` of its time limit is ceil(left / quantum_ns) *
 *     quantum_rows * (quantum_ns + grace) from now, less what it runs in the present time slice;
 *     grace is the longest grace period of any queue. Without time limit and deadline it has no
 *     latest end. Planned starts of other leaves, and reservations, use a node of the matrix only
 *     after the latest ends of all its gangs. A gang in time slicing uses a node that is planned or
 *     reserved for a later time only if its latest end is before that time. It has no planned start
 *     itself.
 *   - A gang inside a reservation, or of a job that names one, is not sliced: no other gang shares
 *     its nodes. After the reservation has ended, it is sliced when it starts again.
 *   - A gang that finds no row may preempt others by the rules of its queues: to get a place in a
 *     row, resources that are not shared in time, or nodes that other queues use. It may itself be
 *     preempted, running or suspended. If it has only its minimum of tasks, it may instead be moved
 *     to a row on other nodes. If gangs were preempted or moved to make its row possible, it is not
 *     preempted before its first time slice. A gang does not preempt in order to grow, nor if its
 *     `min` leaves open which groups start with how many tasks.
 *   - A gang grows only while its own row is active. Jobs with gang_request_spec.exclusive, and
 *     jobs that already run when they are submitted, are not sliced: no other gang shares their
 *     nodes.
 */

/* ---- a queue -------------------------------------------------------------------------------- */

/** A queue, by value. The call to which it is passed reads all pointers and does not keep them.
 *  *Inherited*: 0 means the value of the parent; at the top the default that is stated. */
struct gang_queue_spec {
    size_t size;        /**< sizeof(struct gang_queue_spec) */
    size_t quota_size;  /**< sizeof(struct gang_quota) */
    const char *name;   /**< 1..GANG_MAX_NAME bytes; unique in the tree */
    const char *parent; /**< name of the parent; NULL: top */
    /** Guarantees. A parent without any is guaranteed the sum of its children's guarantees, at most
     *  its limit. So the guarantee of a queue below it is a claim on the whole cluster, and
     *  non-preemptible jobs may start within it. If a child has guarantees but does not manage a
     *  kind, the parent does not manage this kind either. Guarantees given as `fraction` or
     *  `by_weight` are parts of the parent's guarantee: they add nothing to the sum. If the parent
     *  has no guarantees, they are parts of the sum of the amounts of the other children, and 0 if
     *  there are none. The guarantees of a parent that has some are not changed by those of its
     *  children; GANG_UNLIMITED is as much as its own parent has. */
    const struct gang_quota *guaranteed;
    /** 0: a leaf is guaranteed nothing, a parent the sum of its children's guarantees */
    size_t guaranteed_count;
    const struct gang_quota *limit;
    size_t limit_count; /**< 0: no limit */
    /** Lending limits, as amounts, not fractions. Of other kinds the whole idle guarantee is
     *  lent. */
    const struct gang_quota *lending_limit;
    size_t lending_limit_count;
    double weight; /**< 0 to 10^6, rounded to millionths; for kinds that are not in weight_kinds */
    const char *const *weight_kinds; /**< kinds with a weight of their own */
    const double *weights;
    size_t weight_count;
    int64_t priority; /**< the default is 100; higher first */
    int32_t within;   /**< GANG_PREEMPT_*: which jobs of its own leaf a job may preempt */
    /** GANG_PREEMPT_*: which jobs of other queues a job may preempt so that its queue gets its
     *  guarantee or fair share. A job that names an exclusive or lending partition first preempts
     *  or moves jobs that run on nodes of this partition without naming it. It may do this even if
     *  their queue uses no more than its guarantee, as long as its own queue stays within its
     *  guarantee with the job (YARN's non-exclusive labels). */
    int32_t reclaim;
    const struct gang_cell_spec *cells;
    size_t cell_count;
    int32_t state;        /**< GANG_QUEUE_* */
    int32_t order;        /**< GANG_ORDER_*; leaves */
    int32_t child_order;  /**< GANG_CHILD_ORDER_*, of its children */
    int32_t block;        /**< GANG_BLOCK_*; leaves */
    int32_t preempt_mode; /**< GANG_PREEMPT_MODE_* */
    /** 1: no task of a job in it or below is preempted or reclaimed; inherited */
    int32_t no_preemption;
    int64_t max_running; /**< maximum number of running jobs in it and below; 0: no bound */
    /** maximum number of waiting jobs in it and below, counted from gang_job_submit() on; 0: no
     *  bound */
    int64_t max_pending;
    int64_t max_running_per_user;  /**< leaves; 0: no bound */
    int64_t default_time_limit_ns; /**< time limit of jobs without one; 0: none. Inherited */
    /** jobs with a longer time limit are refused (GANG_ELIMIT); 0: no bound. Inherited */
    int64_t max_time_limit_ns;
    /** Leaves: user limit, a fraction of the queue in millionths (GANG_WHOLE is 1). With n active
     *  users each user may use the larger of 1/n and this fraction of the queue, and further users
     *  wait (YARN: minimum-user-limit-percent). 0: no user limit. */
    int64_t user_limit;
    /** Leaves: a user may use at most this many times the queue's guarantee, in millionths (YARN:
     *  user-limit-factor); 0: no bound. Both limits apply to each kind, and include the whole gang
     *  that is to start. */
    int64_t user_limit_factor;
    /** weights of users; users that are not listed have weight 1 */
    const struct gang_user_weight *users;
    size_t user_count;
    /** Users who may submit jobs, and administer the queue and the jobs of others: "user1,user2
     *  group1,group2"; "*": all; " ": none; NULL: as for the parent, at the top all. A user is
     *  allowed if the list of the queue or of a queue above names it (YARN). */
    const char *submit_acl;
    const char *admin_acl;
    /** Grace period in ns from ops preempt, suspend or shrink to op kill; 0: op kill at once. -1:
     *  as for the parent, at the top 0. */
    int64_t grace_ns;
    /** A gang is not preempted before it has run for this time; -1: as for the parent, at the top
     *  0. */
    int64_t min_runtime_ns;
    /** A running gang that has had fewer tasks than its minimum for this time is preempted; -1: as
     *  for the parent, at the top 60 s. */
    int64_t stale_ns;
    /** Template for queues that are made on demand below this one: if a job names "parent.name",
     *  itself or by a rule (gang_queue_rule), and this queue does not exist, it is made from the
     *  template. `name` and `parent` of the template are ignored; its `child` is NULL. NULL:
     *  none. */
    const struct gang_queue_spec *child;
    int64_t max_children; /**< maximum number of queues made on demand; 0: 1000 */
    /** a queue made on demand is removed when it has had no job for this time; 0: never */
    int64_t child_idle_ns;
    /** GANG_POLICY_* for requests with GANG_POLICY_DEFAULT; 0: that of the parent, at the top that
     *  of the cluster */
    int32_t policy;
    int32_t reserved0;
    /** GANG_BACKFILL_*; inherited. See *Backfill* above. With GANG_BLOCK_STRICT no job starts
     *  before a blocked one; planned starts then only tell when waiting jobs start. */
    int32_t backfill;
    int32_t backfill_order; /**< GANG_BACKFILL_ORDER_*; inherited */
    /** How many blocked jobs of a leaf have a planned start at the same time; 0: as for the parent,
     *  at the top 1 (EASY) or all (CONSERVATIVE). */
    int64_t plan_depth;
    int32_t overrun; /**< GANG_OVERRUN_*; inherited */
    int32_t reserved1;
    int64_t extend_ns; /**< for GANG_OVERRUN_EXTEND; 0: as for the parent, at the top 60 s */
    /** Bounded bypass. A job *bypasses* a job that waits for capacity if it is behind it in the
     *  order of the leaf and starts before it. A waiting job becomes *starved* when this many jobs
     *  have bypassed it, or when it has waited for max_wait_ns. (Among jobs that wait for the same
     *  thing, a bypass counts only for the first in order.) A starved job is the first of its leaf,
     *  and no other job of the leaf starts or grows before it. A job of another queue starts or
     *  grows only if its queue stays within its guarantee with it, or on nodes that the starved job
     *  cannot use. Several starved jobs of a leaf keep their order. A starved job that a limit, a
     *  guarantee or a hold blocks holds back no other job. 0: as for the parent, at the top no
     *  bound. See also max_blocked_ns, which is in force by default. */
    int64_t max_bypasses;
    int64_t max_wait_ns;
    /** Time slicing. > 0: the gangs of the leaves below share nodes in time; this is the length of
     *  a time slice (Slurm: 30 s). 0: as for the parent, at the top off. -1: off. Not together with
     *  backfill in the same leaf (other leaves may backfill), nor with GANG_PREEMPT_MODE_SUSPEND.
     *  See *Time slicing* above. */
    int64_t quantum_ns;
    /** With quantum_ns > 0: maximum number of rows, that is of gangs that share the cores of a node
     *  in time; 0: 4. */
    int64_t quantum_rows;
    /** With quantum_ns > 0: 1: GPUs are shared in time like cores; 0: gangs keep their GPUs while
     *  they are suspended, like memory. */
    int32_t quantum_gpus;
    int32_t reserved2;
    /** Bounded bypass by default: a job becomes starved, as with max_wait_ns, when it has waited
     *  for this time since it was first tried and found no capacity. (A job that was not tried yet
     *  has not been bypassed.) A job with a planned start becomes starved only if it does not start
     *  at that time. This bound is weaker than max_wait_ns in two points:
     *    - with GANG_ORDER_PRIORITY and _MULTIFACTOR, jobs of higher priority still come before the
     *      starved job;
     *    - if the starved job would bring its queue above its fair share, it does not hold back
     *      jobs of queues that stay within their fair shares, nor jobs that reclaim: these could
     *      take the capacity back anyway.
     *  0: as for the parent, at the top GANG_DEFAULT_MAX_BLOCKED_NS; -1: no bound (to behave
     *  exactly like a published scheduler without one: FIFO with first fit, EASY). */
    int64_t max_blocked_ns;
    /** GANG_ACROSS_*; inherited. Preemption by priority between leaves (Kubernetes; Kueue's
     *  borrowWithinCohort). Two leaves are *rivals* if `across` in force for the lowest queue above
     *  both is not NEVER, and both have the same preempt_class or both have none. A job outranks
     *  jobs of lower priority in rival leaves, as far as `across` in force for its own leaf allows,
     *  and may preempt them even if its queue is above its fair share. See *Rank* above. */
    int32_t across;
    int32_t nonpreemptible; /**< GANG_NONPREEMPTIBLE_*; inherited */
    /** for GANG_ACROSS_LOWER_CAPPED (Kueue: maxPriorityThreshold); otherwise 0 */
    int64_t across_max_priority;
    /** Preemption by class (Slurm's PreemptType=preempt/qos). preempt_class: the class of the
     *  queue's jobs, a name without commas. `preempts`: a list of classes, "class1,class2". The
     *  queue's jobs outrank jobs of these classes in other leaves, anywhere in the tree, regardless
     *  of priorities. If preempt_class is NULL, both are as for the parent, at the top none.
     *  Otherwise, if `preempts` is NULL, the jobs outrank no class. Each class in `preempts` must
     *  be the preempt_class of some queue or template. A class must not outrank itself, directly or
     *  through other classes. */
    const char *preempt_class;
    const char *preempts;
    /** Multifactor priority, for leaves with GANG_ORDER_MULTIFACTOR (Slurm's priority/multifactor,
     *  PriorityWeight*). The multifactor priority of a job is the sum of weight * factor over five
     *  factors:
     *    - age: the time since its submission (or its begin time, if that is later) divided by
     *      priority_max_age_ns; at most 1. It also grows while the job is held or waits for other
     *      jobs (Slurm: ACCRUE_ALWAYS).
     *    - fair share: 2^(-U / S). U is the part of its user in the usage of the leaf: dominant
     *      shares of the cluster over time, decayed with gang_sched_opts.half_life_ns (Slurm:
     *      PriorityDecayHalfLife); without a half-life only the present usage counts. S is the
     *      weight of the user divided by the weights of all users who had jobs in the leaf. 1: the
     *      user has used nothing; 0.5: U equals S.
     *    - size: the dominant share of the cluster that all its tasks request, at most 1; with
     *      priority_favor_small 1 minus that (Slurm: PriorityFavorSmall).
     *    - queue: priority_factor of the leaf (Slurm: PriorityJobFactor divided by the highest
     *      one). It matters only where jobs of several leaves are compared:
     *      GANG_CHILD_ORDER_MULTIFACTOR.
     *    - job: gang_job_spec.priority, unbounded (Slurm: nice, site factor). Factors are rounded
     *      to millionths. Preemption compares gang_job_spec.priority, not this sum.
     *
     *  The sum is computed when a job begins to wait. It is computed again for all waiting jobs of
     *  the leaf each priority_period_ns (Slurm: PriorityCalcPeriod) and after changes of nodes or
     *  queues; in between it stays. If the order of the leaf changes, its starts are planned again.
     *  Cost of such a run: O(n log n) for n waiting gangs of the leaf, and O(1) for each of its
     *  users. If the weights of age and fair share are 0, there is no period. Weights: 0 to 2^32 -
     *  1; 0: the factor does not count. */
    int64_t priority_weight_age;
    int64_t priority_weight_fair_share;
    int64_t priority_weight_size;
    int64_t priority_weight_queue;
    int64_t priority_weight_job;
    int64_t priority_max_age_ns;  /**< 0: 7 days (PriorityMaxAge) */
    int64_t priority_period_ns;   /**< 0: 5 minutes (PriorityCalcPeriod) */
    int64_t priority_factor;      /**< queue factor of this leaf, in millionths, 0 to GANG_WHOLE */
    int32_t priority_favor_small; /**< 1: smaller jobs have larger size factors */
    /** GANG_SURPLUS_*: how its children divide capacity. Queues at the top divide by weight. With
     *  gang_sched_opts.half_life_ns past usage lowers these weights, also the weights 1 of
     *  GANG_SURPLUS_EVENLY. */
    int32_t surplus;
    size_t budget_size; /**< sizeof(struct gang_budget) */
    /** Budgets of the queue. A job must stay within the budgets of its leaf and of all queues
     *  above. No two budgets of a queue have the same kind, period_ns and per_user. Not together
     *  with time slicing (quantum_ns). When the budgets of a queue change, a budget keeps its use
     *  if there was one with the same kind, period_ns and per_user. Each start and each end of a
     *  job costs O(budgets on its path). */
    const struct gang_budget *budgets;
    size_t budget_count; /**< at most GANG_MAX_BUDGETS */
    /** Leaves: gang_job_spec.partitions of jobs that have none, in order of preference (Kueue:
     *  flavors of a ClusterQueue). The list is not used for jobs with prefer_wait_ns, nor for jobs
     *  whose groups all name a partition. A job keeps the list that was in force when it was
     *  submitted. */
    const char *const *partitions;
    size_t partition_count;    /**< at most GANG_MAX_JOB_PARTITIONS; 0: none */
    int32_t partition_borrow;  /**< GANG_PARTITION_BORROW_*; leaves */
    int32_t partition_preempt; /**< GANG_PARTITION_PREEMPT_*; leaves */
    /** How long lost tasks that may still run keep their resources (gang_host_ops.lost). -1: until
     *  the host reports that they do not run. 0: as for the parent, at the top
     *  gang_sched_opts.fence_ns. */
    int64_t fence_ns;
};

/** Default of gang_queue_spec.max_blocked_ns: one hour. The first blocked job of a leaf thus starts
 *  at the latest after this time plus the longest remaining run time of the jobs whose capacity it
 *  needs. */
#define GANG_DEFAULT_MAX_BLOCKED_NS ((int64_t)3600 * 1000000000)

#define GANG_QUEUE_SPEC_INIT                                                                       \
    {                                                                                              \
        sizeof(struct gang_queue_spec), sizeof(struct gang_quota), NULL, NULL, NULL, 0, NULL, 0,   \
            NULL, 0, 1.0, NULL, NULL, 0, 100, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
            0, NULL, 0, NULL, NULL, -1, -1, -1, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, sizeof(struct gang_budget),   \
            NULL, 0, NULL, 0, 0, 0, 0                                                              \
    }

/** Actions of a user in a queue (gang_sched_may(), gang_host_ops.may). */
enum {
    GANG_MAY_SUBMIT = 0,
    GANG_MAY_ADMINISTER = 1 /**< commands for jobs of other users; changes of the queue */
};

/** What gang_queue_rule.pattern is compared with. */
enum {
    GANG_MATCH_ALL = 0,
    GANG_MATCH_USER = 1,
    GANG_MATCH_GROUP = 2, /**< any of the user's groups */
    GANG_MATCH_NAME = 3,  /**< the job's name */
    GANG_MATCH_LABEL = 4  /**< a label of the job; the pattern is "key=value" or "key" */
};

/** What happens if a rule matches, but its queue does not exist or does not accept the job. */
enum {
    GANG_FALLBACK_SKIP = 0,   /**< try the next rule */
    GANG_FALLBACK_REJECT = 1, /**< refuse the job */
    GANG_FALLBACK_DEFAULT = 2 /**< use gang_sched_opts.default_queue */
};

/** A rule that finds the queue of a job that names none. Rules are tried in order; the first one
 *  that leads to a queue decides. */
struct gang_queue_rule {
    size_t size;      /**< sizeof(struct gang_queue_rule) */
    int32_t match;    /**< GANG_MATCH_* */
    int32_t fallback; /**< GANG_FALLBACK_* */
    /** text that must be equal; a '*' at the end matches any text; NULL: matches all */
    const char *pattern;
    /** Name of the queue; "parent.name" for a queue made on demand. %user, %group (the user's first
     *  group), %name and %label.KEY are replaced by the job's values (KEY ends before the next '%'
     *  or at the end of the text); %% is one '%'. If the job does not have the value, the rule
     *  leads to no queue. */
    const char *queue;
};

#define GANG_QUEUE_RULE_INIT                             \
    {                                                    \
        sizeof(struct gang_queue_rule), 0, 0, NULL, NULL \
    }

#ifdef __cplusplus
}
#endif
#endif
