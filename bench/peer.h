/* SPDX-License-Identifier: Apache-2.0 */
/* What the two peers in C share: a node as a struct, and taking and giving back devices of it. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "impl.h"

struct peer_node {
    uint64_t cores;            /* bit i: core i is free */
    int64_t memory;            /* bytes free */
    uint16_t share[NODE_GPUS]; /* milli-GPUs free of each */
    uint8_t gpus;              /* bit i: GPU i is wholly free */
    uint8_t up;
    uint8_t label; /* it has the rare label */
    uint8_t model; /* its GPUs are of the rare model */
    char padding[28];
};
_Static_assert(sizeof(struct peer_node) == 64, "one cache line");

/* One task: where, and which devices. */
struct peer_task {
    uint32_t node;
    uint16_t share; /* milli-GPUs of each GPU */
    uint8_t gpus;
    uint8_t padding;
    uint64_t cores;
    int64_t memory;
};

/* An allocation; its id is its address. */
struct peer_alloc {
    struct bench_request request;
    int64_t count;
    struct peer_task task[];
};

struct peer_alloc *peer_alloc_new(const struct bench_request *request);
void peer_node_init(struct peer_node *node, const struct bench_scene *scene, int64_t index);
/* Does the node hold one more task? */
bool peer_fits(const struct peer_node *node, const struct bench_request *request);
/* Takes it; the node must be one where it fits. */
void peer_allocate(struct peer_node *node, uint32_t index, const struct bench_request *request,
                   struct peer_task *task);
void peer_release(struct peer_node *node, const struct peer_task *task);
int64_t peer_free_milli(const struct peer_node *node);
/* Milli-GPUs taken, or -1 after a message: the node's numbers contradict each other. */
int64_t peer_audit(const struct peer_node *node, const char *name, int64_t index);

void *peer_request(void *cluster, const struct bench_request *request);
void peer_request_end(void *request);
bool peer_newest(void *worker, uint64_t id, int64_t *tasks, int64_t count);
bool peer_alloc_holds(void *worker, uint64_t id, const struct bench_request *request);

#endif
