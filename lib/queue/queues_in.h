/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of queues while it is compiled: read (queues_read.c), laid out in one block of memory
 * (queues_compile.c), and checked for what only siblings can get wrong (queues_check.c). */
#ifndef GANG__QUEUE_QUEUES_IN_H
#define GANG__QUEUE_QUEUES_IN_H

#include "base/error.h"
#include "queue/queue_spec_in.h"
#include "queue/queues.h"

/* A queue while it is compiled, by its index among the specifications. */
struct gang__queue_draft {
    struct gang__hash_link link;
    struct gang_queue_spec spec; /* in the library's size; the arrays are the caller's */
    uint32_t parent;             /* seat */
    uint32_t depth;
    uint32_t walk;  /* in which walk towards the top it was met; 0: in none */
    uint32_t index; /* in gang__queues.queue */
    gang_queue_id id;
    bool made;
    bool has_children;
};

struct gang__queue_drafts {
    gang_cluster *c;
    const struct gang_mem *mem;
    struct gang_error *error;
    const struct gang__queues *old;
    uint32_t count;
    struct gang__queue_draft *draft;
    struct gang__queue_draft **order; /* parents before children */
    struct gang__queue_draft **by_id;
    struct gang__hash_table names;
    gang_queue_id next_id;
    uint32_t dims;
    struct gang__dim dim[GANG__DIMS];
};

gang_result gang__draft_refuse(const struct gang__queue_drafts *t,
                               const struct gang__queue_draft *s, gang_result code,
                               const char *member, const char *text);
gang_result gang__draft_refuse_memory(const struct gang__queue_drafts *t);
uint64_t gang__queue_hash(const char *name);
/* Index of a dimension; `dims`: it is not there. */
uint32_t gang__dim_find(const struct gang__dim *dim, uint32_t dims, int32_t kind,
                        const struct gang__partition *partition);
struct gang__quota gang__quota_compile(const struct gang_quota *q);

/* Reads, checks and orders all specifications, each by itself. `made`: see gang__queues_new(). */
gang_result gang__drafts_read(struct gang__queue_drafts *t, const struct gang_queue_spec *specs,
                              const bool *made);
/* Lays the tree out in one block. *out is to be freed even if that fails. */
gang_result gang__drafts_compile(struct gang__queue_drafts *t, struct gang__queues **out);
/* Numbers the classes of preemption, and checks that no class outranks itself. Before the next. */
gang_result gang__drafts_classes(const struct gang__queue_drafts *t, struct gang__queues *qs);
/* Checks what concerns several queues. */
gang_result gang__drafts_check(const struct gang__queue_drafts *t, const struct gang__queues *qs);

#endif
