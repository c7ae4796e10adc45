/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of queues as it was configured: checked, compiled, immutable. A change has_made a new
 * one and swaps it in; readers on other threads (submitters) hold the old one under RCU until they
 * are done.
 *
 * Amounts are counted by *dimension*: first the kinds of the cluster by number, then a dimension
 * for each pair of kind and partition that some quota names, of a template too. What a job takes of
 * a kind counts in the kind's dimension, and, for groups that ask for a partition by name, also in
 * that of the pair. */
#ifndef GANG__QUEUE_QUEUES_H
#define GANG__QUEUE_QUEUES_H

#include <gangsched/queue.h>

#include "base/hash_table.h"
#include "core/nodes/nodes.h"

enum { GANG__DIMS = GANG_MAX_QUEUE_DIMENSIONS };
#define GANG__NO_QUEUE UINT32_MAX
#define GANG__NO_BOUND INT64_MAX /* an amount that is unlimited, or not managed */

/* The names of GANG_ORDER_*, the orders of the jobs of a leaf, by number. The check of a queue
 * accepts as many numbers as there are names; scenario files use the names;
 * sched/order/queue_order.c has the functions. */
#define GANG__ORDER_NAMES \
    "priority", "fifo", "fair", "shortest", "least-served", "deadline", "multifactor"
/* The same for GANG_CHILD_ORDER_*, the orders of the children of a queue. */
#define GANG__CHILD_ORDER_NAMES "fair", "utilization", "priority-utilization", "multifactor"

#define GANG__NAME_COUNT(...) \
    ((int64_t)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))

struct gang__dim {
    int32_t kind;
    const struct gang__partition *partition; /* NULL: wherever it lies */
};

/* How a guarantee or limit was given. */
enum gang__quota_form {
    /* Limit: none. Guarantee of a pair: not managed; of a kind: not managed if the queue guarantees
     * anything else, else 0. */
    GANG__QUOTA_NONE = 0,
    GANG__QUOTA_AMOUNT,   /* GANG__NO_BOUND: unlimited */
    GANG__QUOTA_FRACTION, /* millionths of the parent's */
    GANG__QUOTA_WEIGHT    /* over the sum of the siblings' */
};
struct gang__quota {
    int64_t amount;
    enum gang__quota_form form;
};

struct gang__cell_share {
    int32_t level; /* GANG__LEVEL_NODE (place/request/request.h) or a level of the site */
    int64_t count;
};

/* A budget of a queue (gang_budget). */
struct gang__budget {
    int32_t kind; /* and dimension */
    int32_t exhausted;
    bool per_user;
    int64_t amount, period_ns;
};

struct gang__queue {
    /* What each job that is taken in or starts reads comes first, in few cache lines. */
    gang_queue_id id;
    uint32_t index;    /* in gang__queues.queue: parents before their children */
    uint32_t parent;   /* index, or GANG__NO_QUEUE */
    bool leaf;         /* takes jobs: has no children, and is not a place for made ones */
    bool budgeted;     /* it, or a queue above, has a budget; */
    bool budget_safe;  /* one that is GANG_BUDGET_SAFE; */
    bool budget_users; /* one for each user */
    bool nonpreemptible_to_limit; /* inherited: GANG_NONPREEMPTIBLE_LIMIT */
    bool preempt_in_order;        /* GANG_PARTITION_PREEMPT_IN_ORDER: of its own jobs */
    uint32_t slicer;    /* the queue, this one or an ancestor, whose leaves share nodes in time */
    int32_t open_state; /* the strictest of its own and its ancestors' */
    int32_t order, child_order, block;
    int32_t within, reclaim;          /* never DEFAULT */
    int32_t backfill, backfill_order; /* inherited; never DEFAULT */
    int64_t priority;
    const int64_t *weight;                      /* dims, millionths */
    int64_t max_running, max_running_per_user;  /* GANG__NO_BOUND: none */
    int64_t max_bypasses, max_wait_ns;          /* inherited; 0: no bound */
    int64_t max_blocked_ns;                     /* inherited; -1: no bound */
    int64_t user_limit, user_limit_factor;      /* 0: none */
    int64_t plan_depth;                         /* GANG__NO_BOUND: all, */
    int64_t depth_given;                        /* as given, inherited; 0: it is not */
    int64_t grace_ns, min_runtime_ns, stale_ns; /* inherited: never -1 */
    int32_t across;                             /* inherited; never DEFAULT, */
    int32_t preempt_class;                      /* inherited; by number; -1: none */
    int64_t across_max; /* and the highest priority of victims; INT64_MAX: any */

    struct gang__hash_link name_link;
    const char *name;
    uint32_t first_child; /* in the order in which they were created (by id) */
    uint32_t next_sibling;
    uint32_t depth;                /* 0: top */
    bool states_guarantees;        /* it or, if it is a parent that names none, a queue below it */
    bool made;                     /* on demand */
    bool fixed;                    /* its own or inherited */
    struct gang__quota *guarantee; /* dims; of a parent that names none: of its children */
    const struct gang__quota *limit;   /* dims */
    const struct gang__quota *lending; /* lending limits; NONE: everything may be lent */
    const struct gang__cell_share *cells;
    size_t cell_count;
    const struct gang__budget *budgets;
    size_t budget_count;
    int32_t state;           /* its own */
    int32_t preempt, policy; /* policy: inherited; 0: the cluster's */
    bool surplus_evenly;     /* its children divide the capacity beyond guarantees evenly */
    bool borrow_last;        /* GANG_PARTITION_BORROW_LAST */
    int64_t max_pending;     /* GANG__NO_BOUND: none */
    int64_t default_time_limit_ns, max_time_limit_ns; /* inherited; 0: none */
    int32_t overrun;                                  /* inherited; never DEFAULT */
    int64_t extend_ns;                                /* inherited; 0: no bound */
    int64_t quantum_ns, quantum_rows;                 /* the slicer's, in force */
    bool quantum_gpus;
    uint64_t preempts;                    /* classes that its jobs outrank, as bits, */
    uint64_t ranked_below;                /* and with those that these outrank, and so on */
    const struct gang_user_weight *users; /* sorted by name */
    size_t user_count;
    int64_t fence_ns; /* inherited; 0: the scheduler's; -1: until the host reports */
    int64_t max_age_ns, priority_period_ns; /* of multifactor priority, in force */
    const struct gang_queue_spec *spec;     /* a deep copy of what was given, own text in names */
};

struct gang__queues {
    uint32_t count;
    struct gang__queue *queue; /* by depth, then by id */
    const uint32_t *by_id;     /* indices, in the order of ids */
    struct gang__hash_table names;
    uint32_t dims;
    struct gang__dim dim[GANG__DIMS];
    bool lends;                   /* some lending limit is given */
    bool cells;                   /* some cells are guaranteed */
    bool backfills;               /* some leaf plans starts */
    bool by_users;                /* in some leaf jobs preempt by user limit */
    bool slices;                  /* some leaf shares its nodes in time */
    bool ranks;                   /* jobs of some leaf may outrank those of others */
    bool has_made;                /* some queue was made on demand */
    bool nonpreemptible_to_limit; /* of some queue */
    bool budgets;                 /* some queue has a budget */
};

/* The input of gang__queues_new(). */
struct gang__queues_source {
    const struct gang_queue_spec *specs;
    size_t count;
    const bool *made;               /* by queue: made on demand; NULL: none is */
    const struct gang__queues *old; /* the tree in force, or NULL */
};

/**
 * Compile a whole tree.
 * `specs`: elements of the size that the first one states; parents may come after children.
 * `old`: the one in force, or NULL: a queue of the same name keeps its id; others get *next_id,
 * which goes up (on success).
 * `made[i]` (or made == NULL: none): queue i was made on demand. Parts that such queues are
 * guaranteed may sum up to more than the whole with those of their siblings; they are scaled down
 * then.
 * Everything of a specification is checked that needs no jobs; errors name "queues[i].member...",
 * of a template "queues[i].child.member...", of a pair "queues[i].limit.gpu@partition". Children
 * may state more than their parent. The result is one that gang__queues_free() ends.
 * GANG_OK; GANG_EINVAL, GANG_EEXIST, GANG_ENOENT, GANG_ECYCLE, GANG_ERANGE, GANG_ELIMIT,
 * GANG_E2BIG, GANG_ENOMEM.
 */
gang_result gang__queues_new(gang_cluster *c, const struct gang_mem *mem,
                             const struct gang__queues_source *from, gang_queue_id *next_id,
                             struct gang__queues **queues, struct gang_error *error);
void gang__queues_free(struct gang__queues *queues, const struct gang_mem *mem);

/* By name or id; NULL: none. */
const struct gang__queue *gang__queue_by_name(const struct gang__queues *qs, const char *name);
const struct gang__queue *gang__queue_by_id(const struct gang__queues *qs, gang_queue_id id);

/**
 * The amounts in force, given what there is: `total` has dims amounts. Fills guarantee and limit,
 * each count * dims, queue after queue; GANG__NO_BOUND: not managed, or no limit.
 *
 * Guarantee: amounts as stated, unlimited below a bounded parent: as much as that has; parts of the
 * parent's, rounded down; by weight a division of the parent's among those that name the kind so,
 * by largest remainder. A parent that is not bounded itself is looked through. If parts (with
 * `scale`: amounts and parts) of siblings exceed what their parent has (a cluster that shrank),
 * each is multiplied by the ratio and rounded down. Children that state more in amounts than their
 * parent states in an amount (or not at all) are scaled only as far as the parent is, and to what
 * there is above it: sites write such trees.
 *
 * Limit: parts are of the parent's limit, or of the total where it has none; at most the parent's.
 */
void gang__queues_resolve(const struct gang__queues *qs, const int64_t *total, bool scale,
                          int64_t *guarantee, int64_t *limit);

/* May one more queue be made on demand below this one? */
bool gang__queue_can_make_child(const struct gang__queues *qs, const struct gang__queue *parent);

/* May the user do the action by the access lists? */
bool gang__queue_allows(const struct gang__queues *qs, const struct gang__queue *q, int32_t action,
                        const char *user, const char *const *groups, size_t group_count);

/* The job and the user that rules look at. */
struct gang__submitter {
    const char *queue; /* that the job names; NULL or "": none */
    const char *user;
    const char *const *groups;
    size_t group_count;
    const char *name; /* of the job */
    const struct gang_label *labels;
    size_t label_count;
};

struct gang__rules; /* compiled gang_queue_rule[] and the default queue */
struct gang__rules_source {
    const struct gang_queue_rule *rules;
    size_t rule_size, count;   /* of the caller's elements */
    const char *default_queue; /* NULL or "": none */
};
gang_result gang__rules_new(const struct gang_mem *mem, const struct gang__rules_source *from,
                            struct gang__rules **out, struct gang_error *error);
gang_result gang__rules_copy(const struct gang_mem *mem, const struct gang__rules *from,
                             struct gang__rules **out);
void gang__rules_free(struct gang__rules *rules, const struct gang_mem *mem);

/**
 * The leaf that a job goes to. Without a queue in `submitter`: by rules; a rule that
 * leads to a queue that is not open is skipped. If the leaf is yet to be made, *queue is its
 * parent and `made` (GANG_MAX_NAME + 1 bytes) its whole name, "parent.name"; else made[0] is 0.
 * The state of a named or default queue, and its access list, are not checked.
 * GANG_OK; GANG_ENOENT (no such queue, no rule leads to one); GANG_EINVAL (not a leaf); GANG_ELIMIT
 * (max_children, GANG_MAX_QUEUES); GANG_EPERM (a rule rejects).
 */
gang_result gang__queue_for(const struct gang__queues *qs, const struct gang__rules *rules,
                            const struct gang__submitter *submitter,
                            const struct gang__queue **queue, char *made, struct gang_error *error);

/* A deep copy of a specification in one block. */
gang_result gang__queue_spec_copy(const struct gang_mem *mem, const struct gang_queue_spec *spec,
                                  struct gang_queue_spec **copy);

#endif
