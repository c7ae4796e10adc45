/* SPDX-License-Identifier: Apache-2.0 */
/* A request, checked and compiled: names resolved to numbers of one cluster. Immutable. */
#ifndef GANG__PLACE_REQUEST_H
#define GANG__PLACE_REQUEST_H

#include <gangsched/place.h>

#include "core/cluster.h"

enum { GANG__NO_LEVEL = -1, GANG__NO_SET = -1 };

struct gang__need {
    int32_t kind;
    int64_t amount;
};

struct gang__rule {
    const char *key;
    const char *const *values;
    size_t value_count;
    int32_t op;
};

struct gang__group {
    const char *name;
    int64_t count, min;
    uint64_t cpu;       /* millicores */
    uint64_t pages;     /* of memory */
    uint32_t devices;   /* GPUs a task takes or shares */
    uint32_t share;     /* milli-GPUs of each; 1000: whole; 0: by memory */
    int64_t gpu_memory; /* bytes of each, if share is 0 and devices is not */
    uint8_t gpu_level;  /* lowest index level that can hold it; 0: needs no GPU */
    uint8_t cpu_level;
    const struct gang__need *node_needs; /* site kinds counted on nodes */
    size_t node_need_count;
    const struct gang__need *pool_needs; /* cluster-wide kinds */
    size_t pool_need_count;
    const struct gang__rule *rules;
    size_t rule_count;
    const char *const *models;
    size_t model_count;
    const char *partition; /* NULL: any */
    bool filters;          /* some rule, model or partition: a node has to be looked at */
    int32_t same, prefer;  /* levels, or GANG__NO_LEVEL */
    int32_t set;
};

struct gang__set {
    const char *name;
    int32_t parent;
    int64_t min;
    int64_t inside; /* sum of the minima of its members */
    int64_t count;  /* tasks in all */
    int32_t same, prefer;
};

struct gang_request {
    gang__a64 refs;
    gang_cluster *cluster;
    int32_t policy;
    int64_t min;   /* of the whole request: at least the sum of the minima */
    int64_t count; /* tasks in all */
    int32_t same, prefer;
    uint32_t group_count, set_count;
    struct gang__group *group;
    struct gang__set *set;
    uint32_t *by_size;     /* groups, hardest to place first */
    bool uses_pool;        /* some group takes of a cluster-wide kind */
    bool plain;            /* one group, no sets, no domains */
    gang__a64 fits_epoch;  /* cluster epoch + 1 at which it was seen to fit an empty cluster, */
    gang__a64 never_epoch; /* and at which it was not */
};

/* Count references, and give up some: the last one frees it. */
void gang__request_get(gang_request *request, uint32_t times);
void gang__request_put(gang_request *request, uint32_t times);

#endif
