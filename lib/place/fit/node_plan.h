/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: where the tasks of one call would go, before anything is taken. Scratch of one worker,
 * reused from call to call; nothing in it is shared.
 *
 * A *view* is a node as the plan sees it: the words as they were read, and as they would be with
 * the tasks planned so far. A *pick* is one planned task. The commit takes the difference. */
#ifndef GANG__PLACE_NODE_PLAN_H
#define GANG__PLACE_NODE_PLAN_H

#include "core/nodes/nodes.h"
#include "core/snapshot.h"
#include "place/fit/gpu_set.h"
#include "place/fit/scope.h"
#include "place/request/request.h"

struct gang__view {
    uint32_t slot;
    uint32_t words;
    uint32_t table_at; /* its place in plan.table */
    uint32_t used;     /* tasks planned on it */
    bool claimed;      /* was read from a claimed cell */
    bool own;          /* the running allocation, an exclusive one, has the node */
    struct gang__layout layout;
    struct gang__node *node; /* NULL: the pool */
    const struct gang__node_type *shape;
    uint64_t unhealthy; /* devices that take nothing new */
    size_t at;          /* in plan.word: first the words read, then those planned */
    size_t rest; /* in plan.word: what is held beside the tasks; see gang__exclusive_hold() */
};

struct gang__pick {
    uint32_t view;
    uint32_t group;
    uint32_t share; /* milli-GPUs of each device */
    uint32_t cores; /* number of own cores */
    uint64_t gpus;  /* devices */
    size_t core_at; /* in plan.word: core words taken; if cores > 0 */
};

/* A node that can take the next task of a group, for scoring policies. */
struct gang__seat {
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
struct gang__held {
    uint32_t slot;
    uint32_t group;
};

/* The part of a node that tasks are planned in. */
struct gang__within {
    bool on; /* else the whole node */
    uint64_t gpus;
    const uint64_t *cores; /* core words; NULL: all */
};

static inline struct gang__within gang__within_part(const struct gang__node_type *shape,
                                                    const struct gang__inner_domains *parts,
                                                    uint32_t i)
{
    const uint64_t *cores = parts->cores ? parts->cores + i * shape->layout.core_words : NULL;
    return (struct gang__within){true, parts->gpus[i], cores};
}

struct gang__alloc;

/* Other jobs and the planned one, as a plan needs them (place/fit/affinity.c). The first three
 * members survive gang__plan_begin(). */
struct gang__others {
    const struct gang__alloc *running; /* the tasks are more of this one's; NULL: it is a new one */
    uint32_t wishes;                   /* wishes that are kept: the first so many */
    uint32_t clashes;                  /* plans that were lost to another gang about to be placed */
    bool bars;        /* some node may be barred: gang__plan_admits() has to be asked */
    bool registered;  /* the planned tasks are counted as pending */
    uint64_t active;  /* rules that are looked at, one bit each */
    size_t own, owns; /* in plan.word: ids of the nodes it runs on, ascending; how many */
    size_t own_tasks; /* in plan.word: its tasks on each */
    size_t set;       /* in plan.word, sets of domains, one bit each: those to stay out of; then */
    size_t set_words; /* for each active rule of nearness at a level of the site those to be in */
    uint32_t levels;  /* bit L: the first set has domains of level L */
};

/* What a plan takes without committing it, since it is shared in time
 * (place/whatif/timeshare.h). */
enum {
    GANG__LEND_CPU = 1, /* millicores and cores */
    GANG__LEND_GPU = 2  /* devices, and parts of them */
};

struct gang__plan {
    gang_cluster *c;
    const gang_request *q;
    gang_snapshot
        *snap;   /* plan on this instead of on the cluster as it is; survives gang__plan_begin() */
    bool empty;  /* pretend that all nodes are up and nothing is taken */
    bool failed; /* out of memory */
    bool unhealthy; /* some device may be: look at the health of each node */
    bool
        settled; /* read cells at one instant, helping what is under way: refusals are to be true */
    bool adopting; /* nodes need not be up */
    uint32_t
        lent; /* GANG__LEND_*: not committed (whatif/timeshare.h); survives gang__plan_begin() */
    /* Parts of several devices: of the emptiest ones, which finds room whenever there is any. */
    bool even;
    /* Pass by a node that another commit claims, rather than wait in line for it and help. */
    bool shy;
    const struct gang__modes *modes; /* of partitions, for the whole plan; NULL: all are shared */
    size_t models;                   /* this many ranked models of the group count now */
    uint32_t tier_limit;             /* no node of a higher tier, see place/fit/filter.h */
    bool met;                        /* such a node was met just now */
    bool passed;                     /* some were */
    bool again;                      /* failed, because nodes were removed meanwhile: plan again */
    uint32_t start;                  /* slot at which searches begin, */
    uint32_t turn; /* and place in a word of the index, so that workers keep apart */

    struct gang__view *view;
    size_t views, view_room;
    size_t pool_view; /* number of the pool's view, once it is there */
    uint64_t *word;
    size_t words, word_room;
    struct gang__pick *pick;
    size_t picks, pick_room;
    uint32_t *
        /* slot -> view + 1, open addressing; an entry counts if its view names it as its place */
        table;
    size_t table_room;
    struct gang__held *held;
    size_t helds, held_room;
    int64_t *in_group; /* tasks of each group: held before and planned */
    /* Of each group, tasks that count as held in growth, though they ended; NULL: none. Survives
     * gang__plan_begin(). */
    const int64_t *ended;
    size_t group_room;
    struct gang__scope *scope_of_group; /* what a group, a set, the request is bound to */
    struct gang__scope *scope_of_set;
    struct gang__scope scope_of_request;
    size_t set_room, domain_room;
    struct gang__within within;
    uint64_t *key; /* keys to be sorted, a stack: see place/pack/pack.h */
    size_t keys, key_room;
    struct gang__bind *bind; /* what they were before, in the order in which they were bound */
    size_t binds, bind_room;
    struct gang__gpu_hunter hunter;
    struct gang__others others;

    struct gang__seat *seat; /* of the search by scores that is under way */
    size_t seats, seat_room;
    bool seats_scored;
    uint64_t *slot_set; /* slots that may have room, as bits */
    size_t slot_set_room;
    struct gang__fgd *fgd;           /* scratch of policy_fgd.c */
    struct gang__headroom *headroom; /* and of policy_headroom.c */
    struct gang_candidate *candidate;
    int64_t *host_score;
    size_t candidate_room, host_score_room;
    uint64_t epoch; /* of the cluster, when the plan began */
    int32_t host;   /* failed, with this result of the host's function */
};

/* What came of a plan. */
static inline gang_result gang__plan_result(const struct gang__plan *p, bool fits)
{
    if (p->failed)
        return p->host ? p->host : p->again ? GANG_EBUSY : GANG_ENOMEM;
    return fits ? GANG_OK : GANG_ENOFIT;
}

/* Starts a plan for a request. GANG_ENOMEM leaves the plan usable for another try. */
gang_result gang__plan_begin(struct gang__plan *p, gang_cluster *c, const gang_request *q,
                             bool empty);
void gang__plan_free(struct gang__plan *p, const struct gang_mem *mem);

/* Make room for so many tasks on as many nodes of `words` words. */
bool gang__plan_reserve(struct gang__plan *p, const struct gang_mem *mem, size_t tasks,
                        size_t words);

/* The view of a slot, read now if it is not there yet. NULL: no node there, or out of memory
 * (p->failed). Inside a read section; `node` NULL for the pool. The pointer is good until the next
 * call. */
struct gang__view *gang__plan_view(struct gang__plan *p, uint32_t slot);

/* The view of a slot, if there is one already. */
struct gang__view *gang__plan_seen(const struct gang__plan *p, uint32_t slot);

static inline uint64_t *gang__view_was(struct gang__plan *p, const struct gang__view *v)
{
    return p->word + v->at;
}
static inline uint64_t *gang__view_now(struct gang__plan *p, const struct gang__view *v)
{
    return p->word + v->at + v->words;
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
struct gang__crowd {
    uint32_t count;
    const struct gang__members *live;
    const uint32_t *then;
};
struct gang__crowd gang__plan_members(struct gang__plan *p, struct gang__domain *d);
static inline uint32_t gang__crowd_slot(const struct gang__crowd *m, uint32_t i)
{
    return m->then ? m->then[i] : gang__load(&m->live->slot[i]);
}

/* Why a task does not go to a node. */
struct gang__misfit {
    int32_t why;  /* GANG_WHY_* */
    int32_t kind; /* for GANG_CONSTRAINT_KIND and GANG_CONSTRAINT_POOL */
};

/* Do other jobs allow tasks of the request on the node of a slot: affinity rules and exclusive
 * nodes? May read the node's view. Only asked if p->others.bars. */
bool gang__plan_admits(struct gang__plan *p, uint32_t slot, struct gang__misfit *misfit);

/* Plan one more task of a group on a view (which matches). The one fit predicate of placement.
 *   gpus  0: choose the devices; else exactly these
 * Returns false, with the reason, if it does not fit; nothing changed then. */
bool gang__plan_task(struct gang__plan *p, uint32_t group, uint32_t slot, uint64_t gpus,
                     struct gang__misfit *misfit);

/* The same for up to `most` tasks. Returns how many were planned; the misfit is that of the
 * next. */
int64_t gang__plan_tasks(struct gang__plan *p, uint32_t group, uint32_t slot, int64_t most,
                         uint64_t gpus, struct gang__misfit *misfit);

/* An upper bound of the tasks of a group that still fit on a node (or on the part p->within of it)
 * beside the plan. 0 if the node does not exist, is not up or does not match. Makes no view. */
int64_t gang__plan_room(struct gang__plan *p, uint32_t group, uint32_t slot);

/* How many more tasks of a group its bounds allow on a node (spread.c); and its tasks, planned and
 * running, in the node's domain of a level (GANG__LEVEL_NODE: on it). O(tasks). */
int64_t gang__plan_allowance(const struct gang__plan *p, uint32_t group,
                             const struct gang__node *node);
int64_t gang__plan_beside(const struct gang__plan *p, uint32_t group, const struct gang__node *node,
                          int32_t level);

/* The kinds, as bits, that are too short on a node for one more task of a group: now, or even on
 * the empty node. For messages. */
uint32_t gang__plan_short(struct gang__plan *p, uint32_t group, uint32_t slot, bool when_empty);

/* Could one more task of a group go to a node, which matches? Then slot, gpus and share of the
 * seat. */
bool gang__plan_probe(struct gang__plan *p, uint32_t group, uint32_t slot, struct gang__seat *seat);

/* The devices of a view that a task of the group may take now, free or not. */
uint64_t gang__plan_devices(const struct gang__plan *p, const struct gang__group *g,
                            const struct gang__view *v);

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

/* Room for `count` words in plan.word, at the returned place; SIZE_MAX if out of memory. */
size_t gang__plan_take(struct gang__plan *p, size_t count);

/* Take back the last planned tasks until `picks` are left. */
void gang__plan_rollback(struct gang__plan *p, size_t picks);

/* Sort numbers, smallest first; cheap if they are in order. */
void gang__sort_keys(uint64_t *key, size_t count);

/* Chooses devices for g->devices instances of the group's profile; 0 if the node has fewer.
 *   free  all free slices
 *   mine  those of them that the task may use */
uint64_t gang__choose_instances(const struct gang__group *g, const struct gang__node_type *shape,
                                uint64_t free, uint64_t mine);

/* The most instances of the profile that can be made of these devices. O(profiles * parents). */
uint32_t gang__most_instances(const struct gang__group *g, const struct gang__node_type *shape,
                              uint64_t mine);

/* Are these devices just so many instances of the profile? */
bool gang__are_instances(const struct gang__group *g, const struct gang__node_type *shape,
                         uint64_t devices);

/* The number of wholly free parents that are cut when these devices are taken. */
uint32_t gang__fresh_parents(const struct gang__node_type *shape, uint64_t free, uint64_t devices);

/* Does the node know the group's profile at all? */
bool gang__profile_is_here(const struct gang__group *g, const struct gang__node_type *shape);

/* Devices of the node that the group's tasks may use: of its models; slices if it names a profile,
 * else only what is none; and none that is unhealthy. */
uint64_t gang__usable_devices(const struct gang__group *g, const struct gang__view *v);

/* ---- scratch ---- */

/* Keys on a stack of the plan's: reserve at the end, and give back down to where it was. */
uint64_t *gang__keys_push(struct gang__plan *p, size_t count, size_t *at);
static inline void gang__keys_pop(struct gang__plan *p, size_t at)
{
    p->keys = at;
}

#endif
