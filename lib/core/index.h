/* SPDX-License-Identifier: Apache-2.0 */
/* The free-capacity index: finds nodes that may have room, in O(log32 n). A hint that never hides
 * a node: the commit decides. */
#ifndef GANG__CORE_INDEX_H
#define GANG__CORE_INDEX_H

#include "core/cluster.h"

/* Where a node stands in the index: level 0 is in no bucket. */
struct gang__levels {
    uint8_t gpu; /* 1-8: largest free part of a shared device, in eighths; 8+k: k whole ones free */
    uint8_t cpu; /* 1: none free; 2: less than 250 millicores; then doubling */
};

enum { GANG__GPU_WHOLE = 8 }; /* gpu level of k whole devices is GANG__GPU_WHOLE + k, at most 24 */

#define GANG__NO_SLOT UINT32_MAX

/* Lowest level at which a node can take a task of this shape; 0: the task needs no GPU. */
uint8_t gang__level_for_share(uint32_t milli);
uint8_t gang__level_for_gpus(uint64_t devices);
uint8_t gang__level_for_cpu(uint64_t milli);

/* Bucket of a level (> 0) in the index words. */
static inline unsigned gang__gpu_bucket(uint8_t level)
{
    return level - 1u;
}
static inline unsigned gang__cpu_bucket(uint8_t level)
{
    return GANG__GPU_LEVELS + level - 1u;
}

/* Levels of a node with these payloads (head first, up to the last share word). */
struct gang__levels gang__levels_of(struct gang__layout layout, const uint64_t *payload);

/* Make sure that the node is found at these levels. Called before a decision that raises a node
 * to them, while the cell is claimed. Lock-free. */
void gang__index_raise(gang_cluster *c, uint32_t slot, struct gang__layout layout,
                       struct gang__levels levels);

/* Bring the index of a node up to date after it changed: found where it stands, and no longer
 * where it stood. Cheap if nothing changed. Lock-free. */
void gang__index_tidy(gang_cluster *c, uint32_t slot);

/* A search met the node in a bucket of a class where it does not belong: take it out. Lock-free. */
void gang__index_mend(gang_cluster *c, uint32_t class_id, uint32_t slot, unsigned bucket);

/* The first slot >= from in a bucket of a class, or GANG__NO_SLOT. */
uint32_t gang__index_next(gang_cluster *c, uint32_t class_id, unsigned bucket, uint32_t from);

/* Index words for a class and for a chunk: made before the first node of the class appears there,
 * under the structure mutex. */
gang_result gang__index_make(gang_cluster *c, uint32_t class_id, struct gang__chunk *chunk);

/* Is the node in a bucket at or above each of its levels? For gang_cluster_check(). */
bool gang__index_covers(gang_cluster *c, uint32_t slot);

/* The stamp: any number that grows between two reads if, meanwhile, an operation that gives
 * something back came to its decision and had not raised the stamp before the first read. See
 * "A refusal is true" in core/commit.c. */
uint64_t gang__stamp_read(gang_cluster *c);

#endif
