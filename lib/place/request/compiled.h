/* SPDX-License-Identifier: Apache-2.0 */
/* A request, checked and compiled: names resolved to numbers of one cluster. Immutable. */
#ifndef GANG__PLACE_COMPILED_H
#define GANG__PLACE_COMPILED_H

#include <gangsched/place.h>

#include "core/nodes/nodes.h"
#include "model/specs.h"

/* Levels: those of the site by number, widest first, then the built-in ones (model.h). A larger
 * number is narrower, but an island need not lie in one NUMA domain: see gang__level_wider(). */
enum {
    GANG__NO_LEVEL = -1,
    GANG__LEVEL_NODE = GANG_MAX_LEVELS,
    GANG__LEVEL_PACKAGE,
    GANG__LEVEL_NUMA,
    GANG__LEVEL_PCIE,
    GANG__LEVEL_ISLAND,
    GANG__NO_SET = -1
};

/* The next wider level; GANG__NO_LEVEL after the widest. */
static inline int32_t gang__level_wider(const gang_cluster *c, int32_t level)
{
    return level == GANG__LEVEL_ISLAND ? (int32_t)GANG__LEVEL_NODE
           : level == GANG__LEVEL_NODE ? (int32_t)c->nodes.level_count - 1
                                       : level - 1;
}

struct gang__need {
    int32_t kind;
    int64_t amount;
};

/* The head of a match cache, see place/search/match_cache.h: all of a group are freed with the
 * request. */
struct gang__match_cache {
    struct gang__match_cache *older;
};

/* Where a group keeps its match cache, see place/search/match_cache.h: the only thing in it that
 * changes. */
struct gang__match_cache_ref {
    /* NULL: none was worth it so far; gang__publish -> gang__load of any thread */
    _Atomic(struct gang__match_cache *) now;
    /* Nodes that searches read without a match and that no filling has paid for. relaxed, pairs
     * with none; the CAS that pays loses no count. */
    gang__a64 missed;
};

struct gang__group {
    const char *name;
    int64_t count, min;
    /* The number of its first task, and of the group, in the job: see gang__request_number(). The
     * group owns the numbers first .. first + count - 1. */
    int64_t first;
    int32_t in_job;
    uint32_t index;     /* in the request */
    uint64_t cpu;       /* millicores */
    uint32_t cores;     /* the same as named cores; 0: not a whole number of them */
    uint64_t pages;     /* of memory */
    uint32_t devices;   /* GPUs a task takes or shares; instances of its profile */
    uint32_t share;     /* milli-GPUs of each; 1000: whole; 0: by memory */
    int64_t gpu_memory; /* bytes of each, if share is 0 and devices is not */
    uint8_t takes;      /* GANG__HOLDS_*: sort of devices */
    uint8_t gpu_level;  /* lowest index level that can hold it; 0: needs no GPU */
    uint8_t cpu_level;
    const struct gang__need *node_needs; /* site kinds counted on nodes */
    size_t node_need_count;
    const struct gang__need *pool_needs; /* cluster-wide kinds */
    size_t pool_need_count;
    const struct gang__rule *rules;
    size_t rule_count;
    struct gang__label_expr where;
    const char *const *models;
    size_t model_count;
    const struct gang__partition *partition; /* NULL: any */
    const char *profile;                     /* of partitionable devices; NULL: whole ones */
    uint64_t width; /* of the profile, in slices, as far as is known; else 1 */
    struct gang__match_cache_ref *match_cache;
    bool filters;      /* some rule, model, partition or profile: look at the node */
    int32_t gpu_nodes; /* GANG_GPU_NODES_*; ALLOW where it asks for GPUs */
    bool near_nic;
    bool same_devices;
    bool models_ranked;
    int32_t numa;         /* GANG_NUMA_* */
    int32_t same, prefer; /* levels, or GANG__NO_LEVEL */
    int32_t set;
    int64_t subgroup_size; /* 0: none */
    int32_t subgroup_same, subgroup_prefer;
    int32_t spread; /* level, or GANG__NO_LEVEL */
    int64_t max_skew;
    bool spread_soft;
    int64_t max_per_node; /* INT64_MAX: no bound */
    int64_t max_per_domain;
    int32_t domain_level; /* GANG__NO_LEVEL: no bound */
    bool bounded;         /* one of the two */
};

/* A rule of the job on other jobs. */
struct gang__affinity {
    const char *key;
    const char *value; /* NULL: any */
    int32_t level;     /* GANG__LEVEL_NODE or a level of the site */
    bool colocate;     /* near matching jobs; else away from them */
    bool soft;         /* gives way where it cannot be kept */
    bool own;          /* the job itself matches */
    struct gang__label_count *counts;
};

struct gang__set {
    const char *name;
    int32_t parent;
    int64_t min;
    int64_t inside; /* sum of the minima of its members */
    int64_t count;  /* tasks in all */
    int32_t same, prefer;
    bool mixed; /* some group in it has no GPUs */
};

struct gang_request {
    /* Added relaxed: the caller has a reference. Subtracted with acquire and release: each thread's
     * use comes before the end of its reference -> the thread that frees the request. */
    gang__a64 refs;
    uint64_t number; /* no other request of the process ever has it; above 0 */
    gang_cluster *cluster;
    int32_t policy; /* GANG_POLICY_*; the default is the library's */
    int64_t min;    /* of the whole request: at least the sum of the minima */
    int64_t count;  /* tasks in all */
    int32_t same, prefer;
    int32_t gpu_nodes; /* GANG_GPU_NODES_* */
    bool exclusive;
    bool same_devices; /* of some group */
    bool in_domains;   /* `same`, `prefer` or subgroups somewhere */
    /* What starts together starts in the preferred domains, or not at all: a scheduler's request,
     * see gang__request_insist(). Tasks that are added later may lie elsewhere. */
    bool insists;
    bool numbered; /* its groups are some of those of a job: gang__request_number() */
    uint32_t group_count, group_set_count;
    const struct gang_label *labels; /* of the job */
    uint32_t label_count;
    struct gang__label_count *
        *own_counts; /* of each label: of its value, and of any value of its key */
    struct gang__affinity *affinity;
    uint32_t affinity_count;
    uint32_t soft_count; /* soft rules among them */
    bool has_affinity;   /* labels or affinity rules: other jobs see it, or it looks at others */
    gang_score_fn score;
    void *score_user;
    struct gang__group *group;
    struct gang__set *set;
    uint32_t *by_size; /* groups, hardest to place first */
    bool uses_pool;    /* some group takes of a cluster-wide kind */
    bool bound;        /* some domain is required or preferred */
    bool searched;     /* one group, no sets, no domains, no bounds: one gang__search() places it */
    bool plain;        /* the same, and its nodes need not be its own */
    bool single;   /* plain, one task, and no condition on nodes: gang__search_single() places it */
    bool precheck; /* a gang that waits is asked for often: check the index before a search, */
    bool large;    /* also when it has not been refused yet */
    /* What searches found, by any thread: gang__store -> gang__load of the next search. Each number
     * says by itself for which state of the cluster it holds. */
    gang__a64 refused_at;  /* stamp + 1 at which it was refused with proof; see plan_gang() */
    gang__a64 fits_epoch;  /* cluster epoch + 1 at which it was seen to fit an empty cluster, */
    gang__a64 never_epoch; /* and at which it was not */
};

/* Checks and compiles groups alone: the shapes of a mix, which are never placed. Errors name
 * "shapes[i]". */
gang_result gang__shapes_compile(gang_cluster *c, const struct gang_group_spec *shapes,
                                 size_t shape_size, size_t count, gang_request **request,
                                 struct gang_error *error);

/* Like gang_request_new() for a copy of a request: the mix (place/request/mix.h) does not learn
 * it. */
gang_result gang__request_compile(gang_cluster *c, const struct gang_request_spec *spec,
                                  gang_request **request, struct gang_error *error);

/* From now on each `prefer` binds like `same` what starts together. Before any other use of the
 * request. */
void gang__request_insist(gang_request *request);

/* The request is that of one gang of a job with several: its groups have these indexes in the job,
 * and their tasks these first numbers, both ascending. Before any other use of the request. */
void gang__request_number(gang_request *request, const int32_t *in_job, const int64_t *first);

/* The same numbers as in another request with as many groups, if that has any. */
void gang__request_number_like(gang_request *request, const gang_request *from);

/* Does the request, a set, a group or a subgroup prefer a domain? */
bool gang__request_prefers(const gang_request *request);

/* Count references, and give up some: the last one frees it. */
void gang__request_ref(gang_request *request, uint32_t times);
void gang__request_unref(gang_request *request, uint32_t times);

#endif
