/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: where the tasks of one call would go, before anything is taken. Scratch of one worker,
 * reused from call to call; nothing in it is shared.
 *
 * A *node copy* is a node as the plan sees it: the words as they were read, and as they would be
 * with the tasks planned so far. The commit takes the difference. */
#ifndef GANG__PLACE_PLAN_H
#define GANG__PLACE_PLAN_H

#include "core/cluster.h"
#include "core/nodes/nodes.h"
#include "place/fit/gpu_set.h"
#include "place/fit/scope.h"
#include "place/request/request.h"

struct gang__node_copy {
    uint32_t slot;
    uint32_t words;
    uint32_t table_at; /* its place in plan.nodes.table */
    uint32_t used;     /* tasks planned on it */
    bool claimed;      /* was read from a claimed cell */
    bool own;          /* the running allocation, an exclusive one, has the node */
    struct gang__layout layout;
    struct gang__node *node; /* NULL: the pool */
    const struct gang__node_type *type;
    uint64_t unhealthy; /* devices that take nothing new */
    size_t at;          /* in plan.word: first the words read, then those planned */
    size_t rest; /* in plan.word: what is held beside the tasks; see gang__exclusive_hold() */
};

struct gang__task_plan {
    uint32_t copy; /* of its node, in plan.nodes */
    uint32_t group;
    uint32_t share;  /* milli-GPUs of each device */
    uint32_t cores;  /* number of own cores */
    uint64_t gpus;   /* devices */
    size_t core_at;  /* in plan.word: core words taken; if cores > 0 */
    uint32_t number; /* of the task; GANG__ANY_NUMBER: chosen when the plan is complete */
};
#define GANG__ANY_NUMBER UINT32_MAX

/* A node that can take the next task of a group, for scoring policies. */
struct gang__scored_node {
    int64_t score;   /* INT64_MIN: not this one */
    uint64_t gpus;   /* devices that the task would take; 0: none */
    uint64_t wanted; /* these, since the policy chose them; 0: as the node has it */
    uint64_t rest;   /* of equal scores the one with least of this; then the lowest slot */
    uint32_t slot;
    uint32_t share; /* milli-GPUs of each device */
};

struct gang__fgd;
struct gang__headroom;

struct gang__bind {
    struct gang__scope *where;
    struct gang__scope was;
};

/* A task that runs already, of a group with bounds. */
struct gang__running_task {
    uint32_t slot;
    uint32_t group;
};

/* The part of a node that tasks are planned in. */
struct gang__subset {
    bool on; /* else the whole node */
    uint64_t gpus;
    const uint64_t *cores; /* core words; NULL: all */
};

static inline struct gang__subset gang__subset_of(const struct gang__node_type *type,
                                                  const struct gang__inner_domains *parts,
                                                  uint32_t i)
{
    const uint64_t *cores = parts->cores ? parts->cores + i * type->layout.core_words : NULL;
    return (struct gang__subset){true, parts->gpus[i], cores};
}

struct gang__alloc;

/* Other jobs and the planned one, as a plan needs them (place/fit/affinity.c). The first three
 * members survive gang__plan_begin(). */
struct gang__affinity_state {
    const struct gang__alloc *running; /* the tasks are more of this one's; NULL: it is a new one */
    uint32_t soft_count;               /* number of soft rules that are kept: the first ones */
    uint32_t clashes;                  /* plans that were lost to another gang about to be placed */
    bool bars;                         /* some node may be barred: each must be checked */
    bool registered;                   /* the planned tasks are counted as pending */
    uint64_t active;                   /* rules that are looked at, one bit each */
    size_t own, owns; /* in plan.word: ids of the nodes it runs on, ascending; how many */
    size_t own_tasks; /* in plan.word: its tasks on each */
    size_t set;       /* in plan.word, sets of domains, one bit each: those to stay out of; then */
    size_t set_words; /* for each active colocate rule at a level of the site those to be in */
    uint32_t levels;  /* bit L: the first set has domains of level L */
};

/* What a plan takes without committing it, because it is shared in time (place/whatif). */
enum {
    GANG__TIMESHARE_CPU = 1, /* millicores and cores */
    GANG__TIMESHARE_GPU = 2  /* devices, and parts of them */
};

/* How the plan reads nodes and fills them. */
struct gang__plan_mode {
    bool empty;        /* pretend that all nodes are up and nothing is taken */
    bool adopting;     /* exact places: nodes need not be up */
    bool check_health; /* some device may be unhealthy: look at the health of each node */
    bool exact_reads;  /* read cells at one instant, helping commits under way: refusals are true */
    /* parts of several devices: the emptiest ones, which misses no distribution */
    bool worst_fit;
    bool skip_claimed; /* skip a node that another commit claims, rather than help that commit */
    const uint64_t *cores; /* exactly these core words for the next task; NULL: choose them */
    /* GANG__TIMESHARE_*: not taken by the commit (timeshare.h). Survives gang__plan_begin(). */
    uint32_t timeshare;
};

/* What happened while planning. */
struct gang__plan_outcome {
    bool failed;      /* out of memory, or as the two below say */
    bool replan;      /* failed, since nodes went meanwhile: plan again */
    bool met_claimed; /* the node visited last was claimed and skipped */
    bool skipped;     /* some node was */
    int32_t host;     /* failed, with this result of the host's function */
};

/* Which tiers of nodes count (filter.h). */
struct gang__plan_tier {
    const struct gang__modes *modes; /* of partitions, for the whole plan; NULL: all are shared */
    size_t models;                   /* this many ranked models of the group count now */
    uint32_t limit;                  /* no node of a higher tier */
};

/* Where searches begin, so that workers keep apart. */
struct gang__plan_start {
    uint32_t share;     /* of the way, in 2^-32: the worker's own */
    uint32_t slot, bit; /* that far into all slots, and a place in a word of the index */
    bool in_bucket;     /* that far into the nodes of each bucket, instead */
};

/* The place in a bucket that the worker looked up last, for `uses` more searches. */
struct gang__bucket_start {
    uint32_t class_id, row;
    uint32_t slot;
    uint32_t uses;
};

/* How a worker keeps apart from those that it met (place/search/contention.h). Survives
 * gang__plan_begin(). */
enum { GANG__AVOIDED_NODES = 4 };
struct gang__contention {
    bool on;          /* searches may depart from the order of packing, */
    bool avoids;      /* and this one does */
    uint8_t class_id; /* where the search found `own` in the index: */
    unsigned row;
    uint32_t met;                /* a claimed node that this search skipped; GANG__POOL: none */
    uint32_t own;                /* the node that the worker fills by itself; GANG__POOL: none */
    const gang_request *request; /* whose task the worker placed there; only compared */
    uint32_t nodes;              /* filled since the order of packing chose one */
    uint32_t next;               /* number of meetings: which avoided node is replaced next */
    uint32_t avoided[GANG__AVOIDED_NODES]; /* where it met others last; GANG__POOL: nowhere */
    struct gang__bucket_start in_bucket;   /* of gangs */
};

struct gang__plan_nodes {
    struct gang__node_copy *copy;
    size_t count, cap;
    size_t pool; /* number of the pool's copy, once it is there */
    /* Slot -> copy + 1, open addressing; an entry counts if its copy names it as its place. */
    uint32_t *table;
    size_t table_cap;
};

struct gang__plan_tasks {
    struct gang__task_plan *plan;
    size_t count, cap;
    int64_t *in_group; /* tasks of each group: held before and planned */
    size_t group_cap;
    struct gang__running_task *held;
    size_t held_count, held_cap;
    /* Of each group, tasks that count as held in growth, though they ended; NULL: none. Survives
     * gang__plan_begin(). */
    const int64_t *ended;
    /* Their numbers, as bits, from the first number of the request on; NULL: none. Survives. */
    const uint64_t *ended_tasks;
    /* Numbers of running tasks that do not count as held in growth, ascending: they are to leave.
     * Survives gang__plan_begin(). */
    const int64_t *leaving;
    size_t leaving_count;
};

/* The scopes that groups, sets and the request are bound to. */
struct gang__plan_bound {
    struct gang__scope *group;
    struct gang__scope *set;
    struct gang__scope request;
    size_t set_cap, group_cap;
    /* Of each group, the devices that its tasks may have; all but for gang_group_spec.same_devices,
     * where they become one set. */
    uint64_t *devices;
    size_t device_cap;
    struct gang__bind *undo; /* what they were before, in the order in which they were bound */
    size_t undos, undo_cap;
};

/* A stack of keys to be sorted (keys.h). */
struct gang__plan_keys {
    uint64_t *key;
    size_t count, cap;
};

/* The search by scores that is under way, and the scratch of the policies. */
struct gang__plan_score {
    struct gang__scored_node *candidate;
    size_t count, cap;
    bool scored;
    bool keeps_mix;     /* gang__placer_keep_mix() */
    uint64_t *slot_set; /* slots of nodes that may take a task, as bits */
    size_t slot_set_cap;
    struct gang__fgd *fgd;           /* of policy_fgd.c */
    struct gang__headroom *headroom; /* of policy_headroom.c */
    struct gang_candidate *host_candidate;
    int64_t *host_score;
    size_t host_candidate_cap, host_score_cap;
};

/* Sets of devices that the tasks of a group could share (same_devices.h). Scratch. */
struct gang__device_set {
    uint64_t gpus;
    uint64_t links; /* sum of the weights of its pairs, on the first node that has it free */
    int64_t nodes;  /* that have it free */
};
struct gang__device_sets {
    struct gang__device_set *set;
    size_t count, cap;
};

struct gang__plan {
    gang_cluster *c;
    const gang_request *request;
    /* Plan on this, not on the cluster as it is; NULL: none. Survives gang__plan_begin(). */
    gang_snapshot *snap;
    uint64_t epoch; /* of the cluster, when the plan began */
    struct gang__plan_mode mode;
    struct gang__plan_outcome out;
    struct gang__plan_tier tier;
    struct gang__plan_start start;
    struct gang__contention contention;
    struct gang__plan_nodes nodes;
    struct gang__plan_tasks tasks;
    uint64_t *word; /* words of node copies, cores of tasks, and other scratch */
    size_t words, word_cap;
    struct gang__subset subset; /* of the node that is planned on */
    struct gang__plan_bound bound;
    struct gang__device_sets device_sets;
    struct gang__plan_keys keys;
    struct gang__plan_score score;
    struct gang__affinity_state others;
    struct gang__gpu_solver gpu_solver; /* large: last */
};

/* What came of a plan. */
static inline gang_result gang__plan_result(const struct gang__plan *p, bool fits)
{
    if (p->out.failed)
        return p->out.host ? p->out.host : p->out.replan ? GANG_EBUSY : GANG_ENOMEM;
    return fits ? GANG_OK : GANG_ENOFIT;
}

/* Starts a plan for a request. GANG_ENOMEM leaves the plan usable for another try. */
gang_result gang__plan_begin(struct gang__plan *p, gang_cluster *c, const gang_request *request,
                             bool empty);
void gang__plan_free(struct gang__plan *p, const struct gang_mem *mem);

/* Reserves memory for `tasks` tasks on as many nodes of `words` words. */
bool gang__plan_reserve(struct gang__plan *p, const struct gang_mem *mem, size_t tasks,
                        size_t words);

/* The devices that tasks of the group may have on any node. */
static inline uint64_t gang__devices_bound(const struct gang__plan *p, const struct gang__group *g)
{
    return g->same_devices ? p->bound.devices[g->index] : UINT64_MAX;
}

/* The copy of the node in a slot, read now if it is not there yet. NULL: no node there, or out of
 * memory (p->out.failed). Inside a read section; `node` NULL for the pool. The pointer is good
 * until the next call. */
struct gang__node_copy *gang__node_copy_at(struct gang__plan *p, uint32_t slot);

/* The copy of the node in a slot, if there is one already. */
struct gang__node_copy *gang__node_copy_find(const struct gang__plan *p, uint32_t slot);

static inline uint64_t *gang__words_was(struct gang__plan *p, const struct gang__node_copy *copy)
{
    return p->word + copy->at;
}
static inline uint64_t *gang__words_now(struct gang__plan *p, const struct gang__node_copy *copy)
{
    return p->word + copy->at + copy->words;
}

/* The node of a slot that is planned on, the end of the slots, the nodes of a domain. */
static inline struct gang__node *gang__plan_node(const struct gang__plan *p, uint32_t slot)
{
    return p->snap ? gang__snapshot_node(p->snap, slot) : gang__node_at(p->c, slot);
}
static inline uint32_t gang__plan_end(const struct gang__plan *p)
{
    return p->snap ? p->snap->end : gang__load(&p->c->commit.slot_end);
}
struct gang__node_list {
    uint32_t count;
    const struct gang__members *live;
    const uint32_t *then;
};
struct gang__node_list gang__plan_members(struct gang__plan *p, struct gang__domain *d);
static inline uint32_t gang__node_list_slot(const struct gang__node_list *m, uint32_t i)
{
    return m->then ? m->then[i] : gang__load(&m->live->slot[i]);
}

/* Why a task does not go to a node. */
struct gang__misfit {
    int32_t why;  /* GANG_CONSTRAINT_* */
    int32_t kind; /* for GANG_CONSTRAINT_KIND and GANG_CONSTRAINT_POOL */
};

/* Plan one more task of a group on a node (which matches). The one fit predicate of placement.
 *   gpus  0: choose the devices; else exactly these
 * Returns false, with the reason, if it does not fit; nothing changed then. */
bool gang__plan_task(struct gang__plan *p, uint32_t group, uint32_t slot, uint64_t gpus,
                     struct gang__misfit *misfit);

/* The same for up to `most` tasks. Returns how many were planned; the misfit is that of the
 * next. */
int64_t gang__plan_tasks(struct gang__plan *p, uint32_t group, uint32_t slot, int64_t most,
                         uint64_t gpus, struct gang__misfit *misfit);

/* The same for the one task of a request without cluster-wide kinds, in a plan with no other node
 * left. */
bool gang__plan_single(struct gang__plan *p, uint32_t slot);

/* Upper bound of the further tasks of a group that fit on a node (or the part p->subset of it), by
 * its words as planned so far. 0 if there is no node, or it is not up or does not match. Makes no
 * copy. */
int64_t gang__plan_capacity(struct gang__plan *p, uint32_t group, uint32_t slot);

/* The kinds, as bits, that are too short on a node for one more task of a group: now, or even on
 * the empty node. For messages. */
uint32_t gang__plan_short(struct gang__plan *p, uint32_t group, uint32_t slot, bool when_empty);

/* Could one more task of a group go to a node, which matches? Then slot, gpus and share of the
 * candidate. */
bool gang__plan_probe(struct gang__plan *p, uint32_t group, uint32_t slot,
                      struct gang__scored_node *candidate);

/* milli-GPUs that are asked of a device: a share, or if that is 0, by memory. 0: it has not so
 * much, or it is not known. */
static inline uint32_t gang__share_asked(uint32_t share, int64_t gpu_memory,
                                         const struct gang_gpu_spec *gpu)
{
    if (share)
        return share;
    if (gpu->memory_bytes <= 0 || gpu_memory > gpu->memory_bytes)
        return 0;
    return (uint32_t)((gpu_memory * 1000 + gpu->memory_bytes - 1) / gpu->memory_bytes);
}

/* Reserves `count` words in plan.word, at the returned place; SIZE_MAX if out of memory. */
static inline size_t gang__plan_words(struct gang__plan *p, size_t count)
{
    if (!gang__grow(&p->c->mem, (void **)&p->word, &p->word_cap, p->words + count,
                    sizeof(*p->word))) {
        p->out.failed = true;
        return SIZE_MAX;
    }
    size_t at = p->words;
    p->words += count;
    return at;
}

/* Take back the last planned tasks until `tasks` are left. */
void gang__plan_rollback(struct gang__plan *p, size_t tasks);

#endif
