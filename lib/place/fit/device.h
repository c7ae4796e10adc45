/* SPDX-License-Identifier: Apache-2.0 */
/* Inside one node: which GPUs, which cores. Core words are as in a cell, from the first one on. */
#ifndef GANG__PLACE_DEVICE_H
#define GANG__PLACE_DEVICE_H

#include "place/fit/fit_plan.h"
#include "place/fit/fit_task.h"

/* The best g->devices of `among` when all `free` ones are free: see struct gang__gpu_set. 0: out of
 * memory (p->out.failed). */
uint64_t gang__choose_gpus(struct gang__plan *p, const struct gang__node_type *type,
                           const struct gang__group *g, uint64_t free, uint64_t among);

/* Among the sets as well linked as the best, and as near to a network card: the best set that lies
 * in one NUMA domain with `count` free cores. 0: there is none, or out of memory
 * (p->out.failed). */
uint64_t gang__choose_gpus_together(const struct gang__fit_ctx *f, uint64_t free, uint64_t among,
                                    const uint64_t *cores, uint32_t count);

/* Choose `count` free cores; `taken` receives the bits. False if there are fewer.
 *   numa  GANG_NUMA_NONE: the lowest; _PREFER: in the domains of the GPUs, then (or without GPUs)
 *         in as few domains as do */
bool gang__choose_cores(const struct gang__node_type *type, const uint64_t *free, uint64_t gpus,
                        uint32_t count, int32_t numa, uint64_t *taken);

/* The usual case for _PREFER: the GPUs lie in one of several domains, and it has `count` free
 * cores. False: this is not the case, and nothing is chosen. */
bool gang__choose_cores_beside(const struct gang__node_type *type, const uint64_t *free,
                               uint64_t gpus, uint32_t count, uint64_t *taken);

/* The lowest `count` free cores of a domain that has as many. */
void gang__choose_cores_in(const struct gang__node_type *type, const uint64_t *free,
                           uint32_t domain, uint32_t count, uint64_t *taken);

/* How many cores of a domain are free. */
uint32_t gang__cores_in(const struct gang__node_type *type, uint32_t domain, const uint64_t *free);

/* Do these GPUs, at least one, and these cores lie in one domain? */
bool gang__is_together(const struct gang__node_type *type, uint64_t gpus, const uint64_t *cores);

#endif
