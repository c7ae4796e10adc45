/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file queue.h
 * @brief Whose turn: the description of queues, by value.
 *
 * A *queue* is a node of a tree that shares capacity. Jobs lie in leaves. A scheduler (sched.h) is
 * given the whole tree at once, or changes of it one by one; either is validated whole and then
 * swapped in.
 *
 * What a queue has of each kind:
 *   - *guarantee*: what it gets back from others whenever it wants it. Kinds that no guarantee of
 *     the queue names are not managed by it: its guarantee of them is unlimited. A queue that names
 *     none is guaranteed nothing of any kind.
 *   - *limit*: what all jobs in it and below never exceed, counted with the whole gang that is to
 *     start.
 *   - *weight*, *priority*: how what is left over beyond the guarantees is divided among siblings:
 *     all that the highest priority wants first, then by weight (guarantee first, the rest by
 *     rounds of remaining * weight / sum of weights of the unsatisfied, whole units, largest
 *     remainder).
 *   - *lending limit*: how much of its guarantee, while idle, others may use.
 *   - *cells*: the guarantee has a shape: whole domains of a level are kept possible for it.
 *
 * The fair share of a queue is min(guarantee, demand) and its part of the rest, down the tree;
 * demand is what is used and wanted by jobs that could run, at most the limit.
 */
#ifndef GANGSCHED_QUEUE_H
#define GANGSCHED_QUEUE_H

#include <gangsched/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Id of a queue; stale once the queue is removed, never used again. */
typedef uint64_t gang_queue_id;

/** No limit, in gang_quota. */
#define GANG_UNLIMITED ((int64_t)-1)

/** Parts of a whole in queue specifications are in millionths. */
#define GANG_WHOLE ((int64_t)1000000)

enum {
    GANG_MAX_QUEUES = 65536,       /**< queues of one scheduler */
    GANG_MAX_QUEUE_DEPTH = 32,     /**< queues on a path */
    GANG_MAX_QUEUE_DIMENSIONS = 64 /**< kinds, and pairs of kind and partition that quotas name */
};

/** An amount of a kind, for a queue; in the units of the kinds (millicores, bytes, milli-GPUs). */
struct gang_quota {
    const char *kind; /**< "cpu", "memory", "gpu", or a kind of the site */
    int64_t amount;   /**< GANG_UNLIMITED or >= 0; 0 if `part` is given */
    /** Only what is on nodes of this partition, for groups that ask for it by name
     *  (gang_group_spec.partition); NULL: everything, wherever it lies. */
    const char *partition;
    /** > 0: this part of what the parent has (of the cluster, at the top), in millionths,
     *  instead of an amount; at most GANG_WHOLE. Of siblings the parts of a kind must not sum up
     *  to more. */
    int64_t fraction;
    /** > 0: guarantee only: the queue's part is by_weight over the sum of by_weight of its
     *  siblings, for this kind. All siblings that name the kind do so by weight, or none. */
    int64_t by_weight;
};

/** Whom a job may displace (gang_queue_spec.within and .reclaim). */
enum {
    GANG_PREEMPT_DEFAULT = 0,
    GANG_PREEMPT_NEVER = 1,
    GANG_PREEMPT_LOWER = 2,          /**< lower priority; the default of `within` */
    GANG_PREEMPT_LOWER_OR_NEWER = 3, /**< `within` only: or equal priority and newer */
    GANG_PREEMPT_ANY = 4             /**< `reclaim` only, and its default */
};

/** A guarantee with a shape: `count` whole domains of a level. */
struct gang_cell_spec {
    const char *level; /**< "node" or a level of the site */
    int64_t count;
};

/** States of a queue. */
enum {
    GANG_QUEUE_OPEN = 0,
    GANG_QUEUE_DRAINING = 1, /**< takes no new job; those it has start and end as ever */
    GANG_QUEUE_CLOSED = 2    /**< takes no new job, starts none; what runs goes on */
};

/** Which job of a leaf is next. A gang below its minimum goes before others of its priority. */
enum {
    GANG_ORDER_PRIORITY = 0, /**< priority of the job, then age; the default */
    GANG_ORDER_FIFO = 1,     /**< age alone */
    /** the user that uses least for his weight (dominant resource); then as PRIORITY */
    GANG_ORDER_FAIR = 2,
    GANG_ORDER_SHORTEST = 3, /**< shortest time limit (without one: last); then as PRIORITY */
    /** Least attained service: what the job used so far, in dominant resource times time, in
     *  classes that double; then as PRIORITY. */
    GANG_ORDER_LEAST_SERVED = 4,
    GANG_ORDER_DEADLINE = 5 /**< earliest deadline (without one: last); then as PRIORITY */
};

/** How the children of a queue take turns. */
enum {
    /** Below its fair share first; then who stays inside his guarantee with the job at his head;
     *  then queue priority; then the smaller dominant share with the job. */
    GANG_CHILD_ORDER_FAIR = 0,
    GANG_CHILD_ORDER_UTILIZATION = 1, /**< smaller used over guaranteed (YARN) */
    /** priority among those on the same side of their guarantee (YARN) */
    GANG_CHILD_ORDER_PRIORITY_UTILIZATION = 2
};

/** What a job that cannot start does to those behind it in its leaf. */
enum {
    GANG_BLOCK_NONE = 0,  /**< nothing: best effort */
    GANG_BLOCK_STRICT = 1 /**< they wait: strict order */
};

/** Who may start before a job that cannot, and was before him in turn. */
enum {
    GANG_BACKFILL_DEFAULT = 0, /**< as the parent; at the top as NONE */
    /** whoever fits: nothing is planned */
    GANG_BACKFILL_NONE = 1,
    /** The first of them that cannot start (gang_queue_spec.plan_depth) have a planned start, on
     *  nodes that are picked for them; nobody starts who would be in the way. */
    GANG_BACKFILL_EASY = 2,
    GANG_BACKFILL_CONSERVATIVE = 3 /**< the same, and all of them have one */
};

/** In which order those behind the jobs with planned starts are tried (EASY). */
enum {
    GANG_BACKFILL_ORDER_DEFAULT = 0, /**< as the parent; at the top: that of the leaf */
    GANG_BACKFILL_ORDER_LEAF = 1,
    GANG_BACKFILL_ORDER_SHORTEST =
        2, /**< shortest time limit (without one: last); then that of the leaf */
    /** largest part of the cluster, in its dominant kind; then that of the leaf */
    GANG_BACKFILL_ORDER_WIDEST = 3,
    GANG_BACKFILL_ORDER_SMALLEST = 4 /**< smallest part of the cluster times time limit; likewise */
};

/** What happens to a job that has run for its time limit. */
enum {
    GANG_OVERRUN_DEFAULT = 0, /**< as the parent; at the top KILL */
    GANG_OVERRUN_KILL = 1,    /**< it is stopped: grace, then op kill */
    /** It goes on for gang_queue_spec.extend_ns, and again, as long as nobody in any queue waits
     *  for room; then it is stopped. */
    GANG_OVERRUN_EXTEND = 2,
    GANG_OVERRUN_ASK = 3 /**< op overrun decides */
};

/** How work of a queue is preempted. */
enum {
    GANG_PREEMPT_MODE_REQUEUE = 0, /**< it waits again as if it had never run; its age stays */
    /** it is suspended, and resumes on the very same places when they are free */
    GANG_PREEMPT_MODE_SUSPEND = 1,
    GANG_PREEMPT_MODE_CANCEL = 2 /**< it ends, GANG_JOB_PREEMPTED */
};

/** Weight of a user in a queue. */
struct gang_user_weight {
    const char *user;
    int64_t weight; /**< millionths, > 0; GANG_WHOLE is 1 */
};

/** A queue, by value. All pointers are borrowed for the duration of the call. */
struct gang_queue_spec {
    size_t size;        /**< sizeof(struct gang_queue_spec) */
    size_t quota_size;  /**< sizeof(struct gang_quota) */
    const char *name;   /**< unique in the tree; 1..GANG_MAX_NAME bytes */
    const char *parent; /**< name of the parent; NULL: top */
    const struct gang_quota *guaranteed;
    size_t guaranteed_count; /**< 0: nothing is guaranteed */
    const struct gang_quota *limit;
    size_t limit_count; /**< 0: no limit */
    /** Kinds not named: all of the guarantee is lent. Amounts alone. */
    const struct gang_quota *lending_limit;
    size_t lending_limit_count;
    double weight; /**< 0 to 10^6, kept in millionths; for kinds not in `weights` */
    const char *const *weight_kinds; /**< kinds with a weight of their own */
    const double *weights;
    size_t weight_count;
    int64_t priority; /**< default 100; higher first */
    int32_t within;   /**< GANG_PREEMPT_*: whom in its own queue a job of it may displace */
    int32_t reclaim;  /**< GANG_PREEMPT_*: whom in other queues */
    const struct gang_cell_spec *cells;
    size_t cell_count;
    int32_t state;        /**< GANG_QUEUE_* */
    int32_t order;        /**< GANG_ORDER_*; leaves */
    int32_t child_order;  /**< GANG_CHILD_ORDER_*, of its children */
    int32_t block;        /**< GANG_BLOCK_*; leaves */
    int32_t preempt_mode; /**< GANG_PREEMPT_MODE_* */
    /** 1: nothing is ever taken from it by preemption or reclaim; inherited */
    int32_t no_preemption;
    int64_t max_running; /**< jobs that run at a time, in it and below; 0: no bound */
    /** jobs that wait, in it and below, from when they are submitted; 0: no bound */
    int64_t max_pending;
    int64_t max_running_per_user;  /**< leaves; 0: no bound */
    int64_t default_time_limit_ns; /**< of jobs that state none; 0: none. Inherited */
    int64_t max_time_limit_ns;     /**< jobs that state more are refused; 0: no bound. Inherited */
    /** YARN's minimum-user-limit-percent: with n users at work each gets 1/n of the queue, but
     *  at least this many percent; more users wait. 0: no user limit. Leaves. */
    int64_t user_limit_percent;
    /** YARN's user-limit-factor in thousandths: a user gets at most so many times the guarantee;
     *  0: no such bound. Leaves. Both limits count all kinds, and the whole gang that is to
     *  start. */
    int64_t user_limit_factor_milli;
    const struct gang_user_weight *users; /**< others have weight 1 */
    size_t user_count;
    /** Who may submit and administer: "user1,user2 group1,group2"; "*": all; " ": nobody; NULL:
     *  as the parent, at the top all. The right is had by whom the queue or any ancestor names
     *  (YARN). */
    const char *submit_acl;
    const char *admin_acl;
    /** from asking to stop to killing; 0: at once. -1: as the parent (top: 0) */
    int64_t grace_ns;
    int64_t min_runtime_ns; /**< who runs for less is not displaced; -1: as the parent (top: 0) */
    /** a gang below its minimum so long is evicted; -1: as the parent (top: 60 s) */
    int64_t stale_ns;
    /** Queues made on demand below this one: when a job names "parent.name" (or a rule says so)
     *  and the queue does not exist, it is made from this specification (name and parent are
     *  ignored; it has no `child` itself). Its name is "parent.name". NULL: none. */
    const struct gang_queue_spec *child;
    int64_t max_children;  /**< made on demand; 0: 1000 */
    int64_t child_idle_ns; /**< a made queue that had no job so long is removed; 0: never */
    /** GANG_POLICY_* of requests that name none; 0: the parent's, the cluster's */
    int32_t policy;
    int32_t reserved0;
    /** GANG_BACKFILL_*; inherited. What counts for leaves is said at gang_sched_run(). With GANG_BLOCK_STRICT
     *  nobody passes in any case; the plan then tells when those who wait start. */
    int32_t backfill;
    int32_t backfill_order; /**< GANG_BACKFILL_ORDER_*; inherited */
    /** so many jobs of a leaf that cannot start have a planned start at a time; 0: as the parent, at the
     *  top 1 (EASY) or all (CONSERVATIVE) */
    int64_t plan_depth;
    int32_t overrun; /**< GANG_OVERRUN_*; inherited */
    int32_t reserved1;
    int64_t extend_ns; /**< of GANG_OVERRUN_EXTEND; 0: as the parent, at the top 60 s */
    /** Bounded bypass: a job that waits for room becomes *starved* when so many jobs of its leaf
     *  that are behind it in turn have started meanwhile, or when it has waited so long. (Those
     *  that wait for the same are counted one at a time, the first in turn.) Then it is first in its
     *  leaf, and nothing passes it: nobody else of the leaf starts or grows; and of other queues only who
     *  stays inside his guarantee, or uses nodes that it could not. Several in a queue go in turn. One
     *  that a limit, a guarantee or a hold keeps from starting bars nobody meanwhile. 0: as the
     *  parent, at the top no bound. */
    int64_t max_bypasses;
    int64_t max_wait_ns;
    /** Time slicing: > 0: the gangs of the leaves below take turns on the nodes that they share, each for so
     *  long at a time (Slurm: 30 s); 0: as the parent, at the top not; -1: not, whatever the parent says. Not
     *  of a leaf that backfills (others may), nor where `preempt` is GANG_PREEMPT_MODE_SUSPEND. The rules are at
     *  gang_sched_run(). */
    int64_t quantum_ns;
    /** with quantum_ns > 0: so many *rows* at most, gangs that take turns on a node; 0: 4 */
    int64_t quantum_rows;
    /** with quantum_ns > 0: 1: GPUs take turns like cores; 0: they are held all the while, like memory */
    int32_t quantum_gpus;
    int32_t reserved2;
};

#define GANG_QUEUE_SPEC_INIT                                                                       \
    {                                                                                              \
        sizeof(struct gang_queue_spec), sizeof(struct gang_quota), NULL, NULL, NULL, 0, NULL, 0,   \
            NULL, 0, 1.0, NULL, NULL, 0, 100, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
            0, NULL, 0, NULL, NULL, -1, -1, -1, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0                                                                                      \
    }

/** What somebody may want to do in a queue. */
enum {
    GANG_MAY_SUBMIT = 0,
    GANG_MAY_ADMINISTER = 1 /**< commands on the jobs of others; changes of the queue */
};

/** What a rule looks at. */
enum {
    GANG_MATCH_ALL = 0,
    GANG_MATCH_USER = 1,
    GANG_MATCH_GROUP = 2, /**< any of the submitter's groups */
    GANG_MATCH_NAME = 3,  /**< the job's name */
    GANG_MATCH_LABEL = 4  /**< a label of the job, `pattern` is "key=value" or "key" */
};

/** What to do when a rule leads to no queue that takes the job. */
enum {
    GANG_FALLBACK_SKIP = 0,   /**< try the next rule */
    GANG_FALLBACK_REJECT = 1, /**< refuse the job */
    GANG_FALLBACK_DEFAULT = 2 /**< the scheduler's default queue */
};

/** Maps jobs that name no queue to one; the first rule that leads to one wins. */
struct gang_queue_rule {
    size_t size;         /**< sizeof(struct gang_queue_rule) */
    int32_t match;       /**< GANG_MATCH_* */
    int32_t fallback;    /**< GANG_FALLBACK_* */
    const char *pattern; /**< equals; a trailing '*' matches any rest; NULL: any */
    /** Name of the queue, "parent.name" for one made on demand; %user, %group (the first), %name
     *  and %label.KEY are replaced (the key reaches to the next '%' or the end), and %% is one
     *  '%'. A job that lacks what is named is not led anywhere. */
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
