/* SPDX-License-Identifier: Apache-2.0 */
/* `gangsched replay --order`: the reference replay of the openb trace, with published results.
 * openb_read.c reads nodes, pods and the order of arrival; openb_run.c feeds them through the
 * allocator and measures. */
#ifndef GANGSCHED_OPENB_H
#define GANGSCHED_OPENB_H

#include <gangsched/gangsched.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OPENB_GPUS = 16,            /* of a node, at most */
    OPENB_PODS_PER_NODE = 1001, /* as the reference has it */
    OPENB_CURVE = 131           /* arrived load of 0..130 % */
};

struct openb_options {
    const char *nodes_path;
    const char *tasks_path;
    const char *order_path;
    const char *placements_path; /* NULL: none */
    const char *policy;          /* by name; NULL: "default" */
    int64_t seed;                /* -1: the first of the file */
    bool json;
};

struct openb_node {
    char name[GANG_MAX_NAME + 1];
    char model[GANG_MAX_NAME + 1];
    int64_t cpu_milli; /* what is free, once the replay runs */
    int64_t memory_bytes;
    int64_t gpus;
    int64_t free[OPENB_GPUS]; /* milli-GPUs */
    gang_node_id id;
};

/* Pods with equal numbers. */
struct openb_kind {
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t gpus;
    int64_t gpu_milli; /* of each */
    char *spec;        /* "A|B" or "" */
    int64_t count;     /* rows of the pod list */
    gang_request *request;
};

struct openb {
    struct openb_options options;
    gang_cluster *cluster;
    gang_worker *worker;
    struct openb_node *nodes;
    size_t node_count;
    size_t node_cap;
    struct openb_kind *kinds;
    size_t kind_count;
    size_t kind_cap;
    size_t *pods; /* kind of each row */
    size_t pod_count;
    size_t pod_cap;
    int64_t seed;
    size_t *rank;     /* of each node: the lower of two equals wins */
    size_t *arrivals; /* rows, in their order */
    size_t arrival_count;
};

/* Read all three files. Returns an exit status, after a message if it is not 0. What was read is
 * freed with openb_free() in any case. */
int openb_read(struct openb *openb);
void openb_free(struct openb *openb);

/* The whole command. Returns an exit status. */
int openb_replay(const struct openb_options *options);

#endif
