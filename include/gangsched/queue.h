/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file queue.h
 * @brief Whose turn: the description of queues, by value.
 *
 * A *queue* is a node of a tree that shares capacity. Jobs belong to leaves. A scheduler (sched.h)
 * takes the whole tree at once, or changes one by one; it validates either as a whole before it
 * takes effect.
 *
 * What a queue has of each kind:
 *   - *guarantee*: capacity that the queue gets back from other queues when its jobs need it. A
 *     kind that no guarantee of the queue names is not managed: its guarantee is unlimited. A leaf
 *     without guarantees is guaranteed nothing of any kind. A parent without guarantees is
 *     guaranteed what its children are, see gang_queue_spec.guaranteed.
 *   - *limit*: maximum that all jobs in it and below may hold, including the whole gang that is to
 *     start.
 *   - *weight*, *priority*: how siblings divide the capacity beyond the guarantees. The highest
 *     priority gets all it demands, then the next. Equal priorities divide by weight: beyond its
 *     guarantee each gets min(unmet demand, level * weight), with one level for all that uses up
 *     what is left (max-min fairness by weight). The exact parts are rounded once to whole units,
 *     by largest remainder, the oldest queue first: whole cores, MiB and GPUs, not thousandths.
 *     The parent may have it divided evenly instead (gang_queue_spec.surplus).
 *   - *lending limit*: how much of its idle guarantee other queues may use.
 *   - *cells*: the guarantee consists of whole domains of a level, which the scheduler keeps
 *     possible.
 *
 * What counts: a queue *uses* what its running tasks take, and what is promised to gangs for which
 * victims stop. Guarantees, fair shares, user limits and the order of queues go by that. A queue
 * *holds* what it uses, and what its tasks hold that were asked to stop, until they have stopped.
 * Limits go by that, in the queue and in each queue above it: no start or growth lets a queue hold
 * more than its limit. What is handed over counts for the taker as soon as its victims are asked to
 * stop, and for the queues of its victims until they have stopped. A queue above both counts the
 * larger of the two, once. A gang that keeps to its limits when all
 * that stops has stopped waits for that; no gang is preempted for it. max_running counts a job
 * until it has stopped.
 *
 * The fair share of a queue is min(guarantee, demand) plus its part of the rest, down the tree.
 * Demand is what its jobs use plus what jobs that could run request, at most the limit; that of a
 * parent is the sum over its children. Jobs count if they could run once other queues gave all
 * back:
 *   - no gang of which the least that can start is above a limit on its path;
 *   - no non-preemptible gang of which the least that can start, with the non-preemptible work
 *     that runs in a queue on its path, is above the guarantee of that queue;
 *   - other non-preemptible requests up to the guarantees.
 * The last two do not bind in a queue with GANG_NONPREEMPTIBLE_LIMIT. There non-preemptible
 * requests count like others, up to the limit.
 */
#ifndef GANGSCHED_QUEUE_H
#define GANGSCHED_QUEUE_H

#include <gangsched/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Id of a queue; stale once the queue is removed, never reused. */
typedef uint64_t gang_queue_id;

/** No limit, in gang_quota. */
#define GANG_UNLIMITED ((int64_t)-1)

enum {
    GANG_MAX_QUEUES = 65536,        /**< queues of one scheduler */
    GANG_MAX_QUEUE_DEPTH = 32,      /**< queues on a path */
    GANG_MAX_QUEUE_DIMENSIONS = 64, /**< kinds, and pairs of kind and partition, that quotas name */
    GANG_MAX_JOB_PARTITIONS = 16,   /**< of gang_job_spec.partitions */
    GANG_MAX_PREEMPT_CLASSES = 64,  /**< classes of gang_queue_spec.preempt_class in one tree */
    GANG_MAX_BUDGETS = 16           /**< budgets of one queue */
};

/** An amount of a kind, for a queue; in the units of the kinds (millicores, bytes, milli-GPUs). */
struct gang_quota {
    const char *kind; /**< "cpu", "memory", "gpu", or a kind of the site */
    int64_t amount;   /**< GANG_UNLIMITED or >= 0; 0 if `fraction` is given */
    /** Only what is on nodes of this partition, for groups that name it
     *  (gang_group_spec.partition); NULL: everything, on any node. */
    const char *partition;
    /** > 0: this fraction of the parent's amount (at the top: of the cluster)
     *  instead of an amount; at most GANG_WHOLE. The fractions of siblings must not exceed
     *  GANG_WHOLE in sum, for each kind. */
    int64_t fraction;
    /** > 0, guarantees only: the queue's part is by_weight over the sum of by_weight of its
     *  siblings, for this kind. Siblings that name the kind all do so by weight, or none does. */
    int64_t by_weight;
};

/** Which jobs may a job preempt? (gang_queue_spec.within and .reclaim) */
enum {
    GANG_PREEMPT_DEFAULT = 0,
    GANG_PREEMPT_NEVER = 1,
    GANG_PREEMPT_LOWER = 2, /**< lower priority; the default of `within` */
    /** `within` only: lower priority, or equal priority and newer */
    GANG_PREEMPT_LOWER_OR_NEWER = 3,
    GANG_PREEMPT_ANY = 4, /**< `reclaim` only, and its default */
    /** `within` only: jobs of users above their user limit (YARN's intra-queue preemption with
     *  "userlimit_first"). A job may preempt a job of another user, whatever the priorities, if
     *    - its own user keeps to the user limit with the whole gang that is to start; and
     *    - the other user has at least its user limit without what is preempted, in a kind that the
     *      job requests and the preempted tasks give back.
     *  Of its own user a job preempts jobs of lower priority. For this the user limit counts every
     *  user that has jobs that run or could run, and what is used before the preemption:
     *  max(guarantee, used by all) times the larger of 1 / users, by weight, and
     *  user_limit; at most user_limit_factor times the guarantee. In a leaf without user
     *  limit no user is above it. */
    GANG_PREEMPT_USER_LIMIT = 5
};

/** Which jobs of other leaves may a job preempt by its rank, whatever fair shares are?
 *  (gang_queue_spec.across) */
enum {
    GANG_ACROSS_DEFAULT = 0, /**< as the parent; at the top NEVER */
    GANG_ACROSS_NEVER = 1,
    GANG_ACROSS_LOWER = 2, /**< those of lower priority */
    /** those of lower priority that is at most gang_queue_spec.across_max_priority */
    GANG_ACROSS_LOWER_CAPPED = 3
};

/** How much non-preemptible work may run in a queue and below it (gang_queue_spec.nonpreemptible):
 *  jobs that are not preemptible, and minima of semi-preemptible ones. Each queue on the path of a
 *  job sets the bound for itself, so a queue with GUARANTEED bounds what is below it, whatever
 *  the queues there say. */
enum {
    GANG_NONPREEMPTIBLE_DEFAULT = 0, /**< as the parent; at the top as GUARANTEED */
    /** as much as the queue is guaranteed, so that other queues get theirs back (KAI) */
    GANG_NONPREEMPTIBLE_GUARANTEED = 1,
    /** As much as its limit, like any work (Volcano): it also starts on what other queues leave
     *  idle. Until it ends, they cannot reclaim that, not even for their guarantees. Only their
     *  lending limits and cells keep capacity from it. Fair shares are divided as if it could be
     *  reclaimed, so a queue may stay below its share and its guarantee. A gang that would bring
     *  the non-preemptible work of a queue on its path above the guarantee of that queue starts
     *  on free capacity alone: no gang is preempted or moved for it. */
    GANG_NONPREEMPTIBLE_LIMIT = 2
};

/** A guarantee of whole domains: `count` domains of a level. */
struct gang_cell_spec {
    const char *level; /**< "node" or a level of the site */
    int64_t count;
};

/** States of a queue. */
enum {
    GANG_QUEUE_OPEN = 0,
    GANG_QUEUE_DRAINING = 1, /**< accepts no new job; its jobs start and end as usual */
    GANG_QUEUE_CLOSED = 2    /**< accepts no new job and starts none; running jobs continue */
};

/** Order of the jobs of a leaf. A gang below its minimum precedes others of its priority. */
enum {
    GANG_ORDER_PRIORITY = 0, /**< priority of the job, then age; the default */
    GANG_ORDER_FIFO = 1,     /**< age alone */
    /** The user with the least usage over weight (dominant resource); then as PRIORITY. */
    GANG_ORDER_FAIR = 2,
    GANG_ORDER_SHORTEST = 3, /**< shortest time limit (without one: last); then as PRIORITY */
    /** Least attained service: what the job has used, as dominant resource times time, in
     *  classes that double; then as PRIORITY. */
    GANG_ORDER_LEAST_SERVED = 4,
    GANG_ORDER_DEADLINE = 5, /**< earliest deadline (without one: last); then as PRIORITY */
    /** Highest weighted sum of factors: gang_queue_spec.priority_weight_age; then as PRIORITY */
    GANG_ORDER_MULTIFACTOR = 6
};

/** Order of the children of a queue. */
enum {
    /** Queues below their fair share first. Then queues that stay inside their guarantee with
     *  the job at their head. Then queue priority. Then the smaller dominant share with the job.
     *  With `across` in force for the parent, two criteria come before all these: queues that stay
     *  inside their guarantee, then the higher priority of the job at the head. */
    GANG_CHILD_ORDER_FAIR = 0,
    GANG_CHILD_ORDER_UTILIZATION = 1, /**< smaller used over guaranteed (YARN) */
    /** priority among those on the same side of their guarantee (YARN) */
    GANG_CHILD_ORDER_PRIORITY_UTILIZATION = 2,
    /** The child first whose first job has the highest weighted sum of factors; then the oldest
     *  queue. The jobs of several leaves go in one order, like those of Slurm's partitions of one
     *  PriorityTier. Of a leaf of another order the priority of the job counts as such a sum. */
    GANG_CHILD_ORDER_MULTIFACTOR = 3
};

/** How the children of a queue divide the capacity beyond their guarantees. */
enum {
    GANG_SURPLUS_BY_WEIGHT = 0, /**< by weight, after priority; the default */
    /** Evenly, after priority: each child with a weight above 0 counts with weight 1, whatever its
     *  weight and guarantee are. A child with weight 0 gets nothing beyond its guarantee (KAI: all
     *  overQuotaWeight 1, or 0). */
    GANG_SURPLUS_EVENLY = 1
};

/** When does a job with several partitions (gang_job_spec.partitions) start in one in which its
 *  leaf would exceed its guarantee? */
enum {
    GANG_PARTITION_BORROW_IN_ORDER = 0, /**< in the order of its partitions (Kueue: Borrow) */
    /** After all partitions in which the leaf stays inside its guarantee (Kueue: TryNextFlavor). */
    GANG_PARTITION_BORROW_LAST = 1
};

/** When are gangs preempted or moved for a job with several partitions? */
enum {
    GANG_PARTITION_PREEMPT_LAST = 0, /**< when it can start in none (Kueue: TryNextFlavor) */
    /** before the next partition is tried (Kueue: Preempt) */
    GANG_PARTITION_PREEMPT_IN_ORDER = 1
};

/** What a blocked job does to the jobs behind it in its leaf. */
enum {
    GANG_BLOCK_NONE = 0,  /**< nothing: best effort */
    GANG_BLOCK_STRICT = 1 /**< they wait: strict order */
};

/** Which jobs may start before a blocked job that precedes them in order? */
enum {
    GANG_BACKFILL_DEFAULT = 0, /**< as the parent; at the top as NONE */
    /** Any job that fits: nothing is planned. */
    GANG_BACKFILL_NONE = 1,
    /** The first blocked jobs (gang_queue_spec.plan_depth) have a planned start on chosen nodes.
     *  No job starts that would delay them. */
    GANG_BACKFILL_EASY = 2,
    GANG_BACKFILL_CONSERVATIVE = 3 /**< as EASY, and all blocked jobs have a planned start */
};

/** Order in which the jobs behind the planned starts are tried (EASY). */
enum {
    GANG_BACKFILL_ORDER_DEFAULT = 0, /**< as the parent; at the top: that of the leaf */
    GANG_BACKFILL_ORDER_LEAF = 1,
    GANG_BACKFILL_ORDER_SHORTEST =
        2, /**< shortest time limit (without one: last); then that of the leaf */
    /** Largest part of the cluster, in its dominant kind; then that of the leaf. */
    GANG_BACKFILL_ORDER_WIDEST = 3,
    /** smallest part of the cluster times time limit; then that of the leaf */
    GANG_BACKFILL_ORDER_SMALLEST = 4
};

/** What happens to a job that reaches its time limit. */
enum {
    GANG_OVERRUN_DEFAULT = 0, /**< as the parent; at the top KILL */
    GANG_OVERRUN_KILL = 1,    /**< it is stopped: grace period, then op kill */
    /** It continues for gang_queue_spec.extend_ns, again and again, as long as no job of any
     *  queue waits for capacity. Then it is stopped. */
    GANG_OVERRUN_EXTEND = 2,
    GANG_OVERRUN_ASK = 3 /**< op overrun decides */
};

/** How jobs of a queue are preempted. */
enum {
    GANG_PREEMPT_MODE_REQUEUE = 0, /**< the job waits again as if it had never run; its age stays */
    /** The job is suspended, and resumes on the same nodes and devices when they are free. */
    GANG_PREEMPT_MODE_SUSPEND = 1,
    GANG_PREEMPT_MODE_CANCEL = 2 /**< the job ends with GANG_END_PREEMPTED */
};

/** What holds a budget, and what becomes of running jobs when it is used up. */
enum {
    /** A job starts only if the budget has enough left for its whole time limit, beside what the
     *  running jobs still need for theirs; so no job is stopped, and the budget is never exceeded.
     *  Jobs without a time limit never start; no job runs beyond its time limit, whatever
     *  gang_queue_spec.overrun says. (Slurm: AccountingStorageEnforce=safe) */
    GANG_BUDGET_SAFE = 0,
    /** Jobs start while something is left. At the moment when it is used up, all jobs that use the
     *  kind are stopped: GANG_REASON_TIMEOUT, GANG_END_TIMEOUT. (Slurm without `safe`) */
    GANG_BUDGET_KILL = 1,
    /** Jobs start while something is left; running jobs go on, and may exceed it. */
    GANG_BUDGET_FINISH = 2
};

/** A budget: an amount of a kind times time, for all jobs of a queue and below, or for each user of
 *  it (Slurm: GrpTRESMins of an association or QOS). The use of running tasks counts against it
 *  until they end, or are asked to stop; a suspended job uses nothing. A job that the budget does
 *  not allow waits for GANG_WAIT_BUDGET; preemption does not help it. It is tried again when a job
 *  of the queue stops or the budget is renewed, not because its own need falls with time (a running
 *  job that grows, a deadline). gang_job_set_time_limit() may give a running job more than the
 *  budget has. */
struct gang_budget {
    const char *kind; /**< "cpu", "memory", "gpu", or a kind of the site */
    /** Unit of the kind times seconds, 0 to 2^62: one GPU for an hour is 3600000, because the unit
     *  is a thousandth of a GPU */
    int64_t amount;
    /** > 0: the use is set to 0 at each multiple of this time (PriorityUsageResetPeriod); 0: it
     *  never is */
    int64_t period_ns;
    int32_t per_user;  /**< 1: each user has so much; 0: all jobs together */
    int32_t exhausted; /**< GANG_BUDGET_* */
};

/** Weight of a user in a queue. */
struct gang_user_weight {
    const char *user;
    int64_t weight; /**< millionths, > 0; GANG_WHOLE is 1 */
};

/* ---- what some options mean for a run ------------------------------------------------------- */

/**
 * Rank. A job that outranks jobs of other leaves (gang_queue_spec.across, preempt_class) may
 * preempt them, lowest priority first, together with those of its own leaf that `within` gives it:
 *   - whatever fair shares are, its own too, and whatever `reclaim` says. All limits on its path
 *     hold, and what other queues do not lend stays free;
 *   - a guarantee protects: a queue on the path of the victim, below the lowest queue above both,
 *     gives nothing of which it uses no more than its guarantee;
 *   - in turn a job reclaims from jobs that outrank it, directly or by way of other classes, only
 *     what its guarantee covers, never for its fair share. So a victim does not take its place
 *     back.
 */

/**
 * Backfill. In a leaf with backfill (gang_queue_spec.backfill) the first blocked jobs get a planned
 * start: the earliest time at which the whole gang fits for its maximum run time. The plan assumes
 * that a running job ends at its latest end (time limit and grace period; without a limit: never).
 * It respects other plans, labels, partitions, and the domain that the gang needs. Then
 *   - a job of any queue starts, resumes or grows only if all plans still hold until its latest end
 *     (or its predicted end: op predict). A job without time limit and deadline passes only on
 *     nodes that no plan needs;
 *   - a start that comes after a plan never delays it. When a job ends early or is cancelled, plans
 *     are made again in queue order, none later than before. With EASY, only the first jobs in
 *     order have plans: a job that comes before them takes over the plan of the last;
 *   - plans count cores, memory and GPUs. If a plan says "now" and placement refuses (GPU links,
 *     shares of devices, kinds of the site, affinity rules), the job is planned again;
 *   - a job that a limit or guarantee blocks has no plan and does not count towards plan_depth;
 *     neither does a job for which no time is found;
 *   - capacity freed for an entitled job (reclaim, preemption, consolidation) is for that job.
 *     Plans are made again afterwards, and after nodes came, went or changed;
 *   - the plan does not know of allocations made without the scheduler.
 * A planned start is due work: gang_sched_next() (sched.h) returns it. In leaves with backfill, a
 * run after some job ended tries every waiting job (in leaves without plans: one of each request
 * class). Memory: the timeline, about 150 bytes a node, and 1 KiB plus 16 bytes a node for each job
 * that runs or has a plan.
 */

/**
 * Time slicing. With gang_queue_spec.quantum_ns > 0 the gangs of the leaves below share nodes in
 * time, except in leaves that set quantum_ns themselves. They form a matrix of rows, which run one
 * after the other, and nodes (Ousterhout 1982):
 *   - The matrix owns its nodes completely. A gang is placed on a node of the matrix, or on a node
 *     of which no cores are taken (with quantum_gpus: no GPUs either). When its last gang leaves a
 *     node, the node is free for all again.
 *   - A gang joins the first row that has capacity for it, in the order in which rows run. If no
 *     row has, the gang opens a new row, up to quantum_rows. Cores (with quantum_gpus also GPUs)
 *     must be free in that row only. Memory, GPUs without quantum_gpus, and all other kinds are not
 *     shared in time: what all rows hold of them fits at the same time, and no other job gets it.
 *   - The gangs of the active row run, and those gangs of other rows that fit beside them
 *     (alternates), in row order. A gang is suspended and resumed as a whole. Gangs of the next row
 *     start when the gangs in their way have reported all tasks stopped, or the grace period has
 *     passed. A time slice begins when all gangs of its row run.
 *   - So each gang runs at least one whole time slice in each round of (quantum_ns + grace period)
 *     * rows. When gangs end, other gangs move to rows that run no later, and empty rows disappear.
 *     A gang that joins the row that runs has the rest of its time slice before, and its first
 *     whole one a round later. A gang that moves to other nodes does not lose its turn: it comes to
 *     a row that runs no later than its own. A preempted gang that starts again joins again.
 *     With one row no gang is suspended. The end of a time slice is due work: gang_sched_next()
 *     returns it.
 *   - Usage: a queue counts a gang with all its resources, in every row, as in Slurm. So a limit
 *     bounds all rows together, and a sliced queue may use more cores than exist.
 *   - Time limits, suspended_ns and least attained service count only the time that a gang runs. A
 *     suspended gang need not send heartbeats. Its tasks may end, fail or be lost like others.
 *   - Op start is called at the first time slice. If a node is lost or drained before that, the
 *     gang waits again.
 *   - A sliced gang that has `left` of its time limit ends at the latest after
 *     ceil(left / quantum_ns) * quantum_rows * (quantum_ns + grace), less what it runs in the
 *     present time slice; grace is the longest grace period of any queue. Without a limit or
 *     deadline it has no end. If other leaves backfill, plans use a node of the matrix from the
 *     last such end on, and a sliced gang uses a node that a planned start counts on only if it
 *     ends before. A sliced gang has no planned start itself. In the same way reservations begin
 *     on a node of the matrix after the last such end, and a sliced gang uses a node that is
 *     reserved later only if it ends before.
 *   - A gang inside a reservation, or of a job that names one, is not sliced: it has its nodes to
 *     itself. It is sliced again when it starts after the reservation has ended.
 *   - A gang that finds no row preempts like others, by the rules of its queues: for a place in a
 *     row or in a new one, for memory and other resources that are not shared in time, and for
 *     nodes that other queues use. A sliced gang is preempted like others, suspended or not, or
 *     moves, if it has its minimum only, to a row on other nodes. One for whose row others stopped
 *     or moved is spared until its first time slice. A gang does not preempt to grow in its row,
 *     nor if its groups are unlike and it may choose among them.
 *   - It grows only while its own row runs. Jobs that need their nodes alone
 *     (gang_request_spec.exclusive), and jobs that already run when submitted, are not sliced and
 *     have their nodes to themselves.
 */

/* ---- a queue -------------------------------------------------------------------------------- */

/** A queue, by value. All pointers are borrowed for the duration of the call. */
struct gang_queue_spec {
    size_t size;        /**< sizeof(struct gang_queue_spec) */
    size_t quota_size;  /**< sizeof(struct gang_quota) */
    const char *name;   /**< unique in the tree; 1..GANG_MAX_NAME bytes */
    const char *parent; /**< name of the parent; NULL: top */
    /** Guarantees. A parent that names none has the sum of those of its children, at most its
     *  limit, as if it named that: a guarantee below it is a promise of the whole cluster, and
     *  non-preemptible jobs start inside it. A kind that a child with guarantees does not manage is
     *  not managed by the parent either. Fractions and parts by weight are parts of what the parent
     *  names, so they add nothing to the sum, and are 0 below a parent that names none and whose
     *  other children have no amount. A parent that names a guarantee keeps to it, whatever its
     *  children name: GANG_UNLIMITED is as much as its own parent has. */
    const struct gang_quota *guaranteed;
    size_t guaranteed_count; /**< 0: a leaf is guaranteed nothing, a parent what its children are */
    const struct gang_quota *limit;
    size_t limit_count; /**< 0: no limit */
    /** Of kinds not named, all of the guarantee is lent. Amounts only, no fractions. */
    const struct gang_quota *lending_limit;
    size_t lending_limit_count;
    double weight; /**< 0 to 10^6, kept in millionths; for kinds not in `weights` */
    const char *const *weight_kinds; /**< kinds with a weight of their own */
    const double *weights;
    size_t weight_count;
    int64_t priority; /**< default 100; higher first */
    int32_t within;   /**< GANG_PREEMPT_*: which jobs of its own queue a job may preempt */
    /** GANG_PREEMPT_*: which jobs of other queues it may preempt. A job that names an exclusive or
     *  lending partition takes first what runs on nodes of that partition without naming it, even
     *  if the other queue keeps to its guarantee, as long as its own queue stays inside its
     *  guarantee with the job (YARN's non-exclusive labels). What fits elsewhere is moved there. */
    int32_t reclaim;
    const struct gang_cell_spec *cells;
    size_t cell_count;
    int32_t state;        /**< GANG_QUEUE_* */
    int32_t order;        /**< GANG_ORDER_*; leaves */
    int32_t child_order;  /**< GANG_CHILD_ORDER_*, of its children */
    int32_t block;        /**< GANG_BLOCK_*; leaves */
    int32_t preempt_mode; /**< GANG_PREEMPT_MODE_* */
    /** 1: no preemption and no reclaim takes anything from it; inherited */
    int32_t no_preemption;
    int64_t max_running; /**< running jobs, in it and below; 0: no bound */
    /** waiting jobs, in it and below, counted from submission; 0: no bound */
    int64_t max_pending;
    int64_t max_running_per_user;  /**< leaves; 0: no bound */
    int64_t default_time_limit_ns; /**< of jobs without a time limit; 0: none. Inherited */
    /** jobs with a longer time limit are refused; 0: no bound. Inherited */
    int64_t max_time_limit_ns;
    /** YARN's minimum-user-limit-percent: with n active users each gets 1/n of the queue, but at
     *  least this fraction, of GANG_WHOLE; further users wait. 0: no user limit. Leaves. */
    int64_t user_limit;
    /** YARN's user-limit-factor, of GANG_WHOLE: a user gets at most this many times the guarantee;
     *  0: no such bound. Leaves. Both limits count all kinds, and the whole gang that is to
     *  start. */
    int64_t user_limit_factor;
    const struct gang_user_weight *users; /**< users not listed have weight 1 */
    size_t user_count;
    /** Which users may submit and administer: "user1,user2 group1,group2"; "*": all; " ": none;
     *  NULL: as the parent, at the top all. Users that the queue or an ancestor names are
     *  allowed (YARN). */
    const char *submit_acl;
    const char *admin_acl;
    /** Grace period, from the request to stop to op kill; 0: op kill at once. -1: as the parent
     *  (top: 0). */
    int64_t grace_ns;
    /** A gang that has run for less is not preempted; -1: as the parent (top: 0). */
    int64_t min_runtime_ns;
    /** A gang that has been below its minimum for this time is preempted; -1: as the parent (top:
     *  60 s). */
    int64_t stale_ns;
    /** Template for queues made on demand below this one. If a job names "parent.name" (or a
     *  rule leads there) and the queue does not exist, it is made from this specification. The
     *  template's name and parent are ignored, and it has no `child` of its own. NULL: none. */
    const struct gang_queue_spec *child;
    int64_t max_children; /**< maximum of queues made on demand; 0: 1000 */
    /** a queue made on demand is removed after this time without a job; 0: never */
    int64_t child_idle_ns;
    /** GANG_POLICY_* of requests that name none; 0: the parent's, else the cluster's. */
    int32_t policy;
    int32_t reserved0;
    /** GANG_BACKFILL_*; inherited. The rules stand above. With GANG_BLOCK_STRICT
     *  no job passes in any case; the plan then only shows when waiting jobs start. */
    int32_t backfill;
    int32_t backfill_order; /**< GANG_BACKFILL_ORDER_*; inherited */
    /** How many blocked jobs of a leaf have a planned start at a time; 0: as the parent, at the
     *  top 1 (EASY) or all (CONSERVATIVE). */
    int64_t plan_depth;
    int32_t overrun; /**< GANG_OVERRUN_*; inherited */
    int32_t reserved1;
    int64_t extend_ns; /**< of GANG_OVERRUN_EXTEND; 0: as the parent, at the top 60 s */
    /** Bounded bypass. A job that waits for capacity becomes *starved* when this many jobs behind
     *  it in its leaf have started meanwhile, or when it has waited for max_wait_ns. (Of jobs
     *  that wait for the same reason only the first in order counts a bypass.) A starved job is
     *  first in its leaf and is not bypassed: no other job of the leaf starts or grows. A job of
     *  another queue does so only if it stays inside its guarantee, or uses nodes that the
     *  starved job could not use. Several starved jobs of a queue keep their order. While a
     *  limit, a guarantee or a hold blocks a starved job, it holds back no other job. 0: as the
     *  parent, at the top no bound. A third bound, max_blocked_ns, is in force by default. */
    int64_t max_bypasses;
    int64_t max_wait_ns;
    /** Time slicing: > 0: the gangs of the leaves below share their nodes in time, each for so
     *  long at a time (Slurm: 30 s). 0: as the parent, at the top off. -1: off, whatever the
     *  parent says. Not for a leaf that backfills (other leaves may), nor with
     *  GANG_PREEMPT_MODE_SUSPEND. The rules stand above. */
    int64_t quantum_ns;
    /** With quantum_ns > 0: maximum of *rows*, that is of gangs that share a node in time; 0: 4. */
    int64_t quantum_rows;
    /** With quantum_ns > 0: 1: GPUs are shared in time like cores; 0: gangs hold them while
     *  suspended, like memory. */
    int32_t quantum_gpus;
    int32_t reserved2;
    /** Bounded bypass by default: a job becomes starved, as with max_wait_ns, when it has waited
     *  for this time since it had its turn and found no capacity. Jobs that have not had their turn
     *  are not bypassed, so a long queue of like jobs keeps its order. A job with a planned start
     *  (`backfill`) is not delayed, and becomes starved only if it did not start then. Two things
     *  are milder than with max_wait_ns, because the bound is a default:
     *   - with GANG_ORDER_PRIORITY and _MULTIFACTOR jobs of higher priority still come first;
     *   - if the job would take its queue above its fair share, other queues that stay inside
     *     theirs, and reclaim, start jobs as before: they could take the capacity back.
     *  0: as the parent, at the top GANG_DEFAULT_MAX_BLOCKED_NS; -1: no bound, whatever the parent
     *  says (schedulers that publish no such bound: FIFO with first fit, EASY, ...). */
    int64_t max_blocked_ns;
    /** GANG_ACROSS_*; inherited. Preemption by priority between leaves (Kubernetes; Kueue's
     *  borrowWithinCohort). Two leaves are *rivals* if `across` in force is not NEVER for the
     *  lowest queue above both, and they have the same preempt_class, or none. A job outranks the
     *  jobs of lower priority in rival leaves, as `across` in force for its own leaf says, and may
     *  preempt them even if its queue is above its fair share. The rules stand above. */
    int32_t across;
    int32_t nonpreemptible;      /**< GANG_NONPREEMPTIBLE_*; inherited */
    int64_t across_max_priority; /**< of GANG_ACROSS_LOWER_CAPPED (maxPriorityThreshold); else 0 */
    /** Preemption by class (Slurm's PreemptType=preempt/qos). preempt_class is the class of the
     *  jobs, a name without commas; `preempts` lists classes, "class1,class2": jobs of the leaf
     *  outrank the jobs of these classes in other leaves, anywhere in the tree and whatever the
     *  priorities are. preempt_mode of a leaf says how its jobs are preempted. preempt_class NULL:
     *  both as the parent, at the top none; else `preempts` NULL: they outrank no class. Each class
     *  that is listed is that of a queue or template. No class outranks itself, directly or by way
     *  of others. */
    const char *preempt_class;
    const char *preempts;
    /** Multifactor priority, of leaves with GANG_ORDER_MULTIFACTOR (Slurm's priority/multifactor,
     *  PriorityWeight*). The priority of a job is the sum, over five factors, of weight * factor:
     *    - age: time since its submission, or its begin time if that is later, over
     *      priority_max_age_ns; at most 1. It grows while the job is held or waits for other jobs
     *      (Slurm: ACCRUE_ALWAYS).
     *    - fair share: 2^(-U / S) of its user. U is the user's part of the usage of the leaf, as
     *      dominant share of the cluster over time; gang_sched_opts.half_life_ns decays it
     *      (PriorityDecayHalfLife), without it only what runs now counts. S is the weight of the
     *      user over that of all users that had jobs in the leaf. 1: no usage; 0.5: the usage is as
     *      large as the share.
     *    - size: part of the cluster that all its tasks ask for, in the dominant kind, at most 1;
     *      with priority_favor_small 1 minus that (PriorityFavorSmall).
     *    - queue: priority_factor of the leaf (PriorityJobFactor, as a part of the highest). It
     *      counts where leaves are compared: GANG_CHILD_ORDER_MULTIFACTOR.
     *    - job: gang_job_spec.priority itself, which has no bound (Slurm: nice, site factor).
     *  Factors are kept in millionths. Preemption compares gang_job_spec.priority alone.
     *
     *  Priorities are computed when a job begins to wait, and for all waiting jobs of the leaf in
     *  the first run after priority_period_ns since the last time (PriorityCalcPeriod), and after
     *  nodes or queues changed. In between they stay. If this changes the order of the leaf, its
     *  planned starts are planned again. Cost of such a run: O(n log n) for n waiting gangs of the
     *  leaf, O(1) for each of its users and each blocked wait class; other runs pay nothing.
     *  Without weights for age and fair share there is no period. Weights: 0 (not counted) to
     *  2^32 - 1. */
    int64_t priority_weight_age;
    int64_t priority_weight_fair_share;
    int64_t priority_weight_size;
    int64_t priority_weight_queue;
    int64_t priority_weight_job;
    int64_t priority_max_age_ns;  /**< 0: 7 days (PriorityMaxAge) */
    int64_t priority_period_ns;   /**< 0: 5 minutes (PriorityCalcPeriod) */
    int64_t priority_factor;      /**< factor of this leaf, in millionths; 0 to GANG_WHOLE */
    int32_t priority_favor_small; /**< 1: small jobs have the larger size factor */
    /** GANG_SURPLUS_*, of its children. Queues at the top divide by weight. Past use
     *  (gang_sched_opts.half_life_ns) lowers the weights of 1 like any other weight. */
    int32_t surplus;
    size_t budget_size; /**< sizeof(struct gang_budget) */
    /** Budgets of the queue; a job keeps those of all queues on its path. No two of one kind with
     *  equal period_ns and per_user. Not with time slices (quantum_ns). If the budgets of a queue
     *  change, use counts on for those of equal kind, period_ns and per_user. With several budgets
     *  a start or an end costs O(budgets on the path), a run without either nothing. */
    const struct gang_budget *budgets;
    size_t budget_count; /**< at most GANG_MAX_BUDGETS */
    /** Leaves: partitions of jobs that list none (gang_job_spec.partitions), in order of preference
     *  (Kueue: flavors of a ClusterQueue). Not of jobs with prefer_wait_ns, or of which each group
     *  names a partition. A job has the list that is in force when it is submitted. */
    const char *const *partitions;
    size_t partition_count;    /**< at most GANG_MAX_JOB_PARTITIONS; 0: none */
    int32_t partition_borrow;  /**< GANG_PARTITION_BORROW_*; leaves */
    int32_t partition_preempt; /**< GANG_PARTITION_PREEMPT_*; leaves */
    /** How long lost tasks that may still run keep their places (gang_host_ops.lost); -1: until the
     *  host reports that they are over. 0: as the parent, at the top gang_sched_opts.fence_ns. */
    int64_t fence_ns;
};

/** gang_queue_spec.max_blocked_ns at the top: one hour. The first job of a leaf that does not fit
 *  starts after this and the longest run time of the jobs that it waits for. */
#define GANG_DEFAULT_MAX_BLOCKED_NS ((int64_t)3600 * 1000000000)

#define GANG_QUEUE_SPEC_INIT                                                                       \
    {                                                                                              \
        sizeof(struct gang_queue_spec), sizeof(struct gang_quota), NULL, NULL, NULL, 0, NULL, 0,   \
            NULL, 0, 1.0, NULL, NULL, 0, 100, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
            0, NULL, 0, NULL, NULL, -1, -1, -1, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, sizeof(struct gang_budget),   \
            NULL, 0, NULL, 0, 0, 0, 0                                                              \
    }

/** What a user may want to do in a queue. */
enum {
    GANG_MAY_SUBMIT = 0,
    GANG_MAY_ADMINISTER = 1 /**< commands on the jobs of others; changes of the queue */
};

/** What a rule compares. */
enum {
    GANG_MATCH_ALL = 0,
    GANG_MATCH_USER = 1,
    GANG_MATCH_GROUP = 2, /**< any of the submitter's groups */
    GANG_MATCH_NAME = 3,  /**< the job's name */
    GANG_MATCH_LABEL = 4  /**< a label of the job, `pattern` is "key=value" or "key" */
};

/** What to do when a rule leads to no queue that accepts the job. */
enum {
    GANG_FALLBACK_SKIP = 0,   /**< try the next rule */
    GANG_FALLBACK_REJECT = 1, /**< refuse the job */
    GANG_FALLBACK_DEFAULT = 2 /**< the scheduler's default queue */
};

/** Maps a job that names no queue to one. The first rule that leads to a queue decides. */
struct gang_queue_rule {
    size_t size;         /**< sizeof(struct gang_queue_rule) */
    int32_t match;       /**< GANG_MATCH_* */
    int32_t fallback;    /**< GANG_FALLBACK_* */
    const char *pattern; /**< text to equal; a trailing '*' matches any rest; NULL: any */
    /** Name of the queue, "parent.name" for a queue made on demand. %user, %group (the first),
     *  %name and %label.KEY are replaced (KEY extends to the next '%' or the end); %% is one
     *  '%'. For a job without the named property the rule leads to no queue. */
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
