/* SPDX-License-Identifier: Apache-2.0 */
/* One task on one node, for the files of this folder. */
#ifndef GANG__PLACE_FIT_TASK_H
#define GANG__PLACE_FIT_TASK_H

#include "core/nodes/nodes.h"
#include "place/fit/fit_plan.h"

/* One task of a group on one node: what the functions that fit it share. */
struct gang__fit_ctx {
    struct gang__plan *p;
    const struct gang__group *g;
    struct gang__node_copy *copy;
    const uint64_t *now; /* the words that the task is to fit in */
    uint64_t wanted;     /* exactly these devices; 0: choose them */
};

/* Must a task's cores lie in a part of the node? Those of a task with GPUs need not: its GPUs
 * do. */
static inline bool binds_cores(const struct gang__plan *p, const struct gang__group *g)
{
    return p->subset.on && p->subset.cores && g->devices == 0 && g->cpu;
}

/* Take (or, `give`, return) what a planned task has. */
void gang__task_plan_apply(struct gang__plan *p, const struct gang__task_plan *task, bool give);

/* Why no devices were found. */
struct gang__misfit gang__no_devices(const struct gang__fit_ctx *f);

/* ---- fit_numa.c ---- */

/* Has a NUMA domain the memory for a task? */
static inline bool gang__numa_holds(const struct gang__group *g, const struct gang__node_copy *copy,
                                    uint32_t domain)
{
    const struct gang_node_spec *spec = copy->type->spec;
    uint64_t memory = spec->numa_count ? (uint64_t)spec->numas[domain].memory_bytes : 0;
    return memory == 0 || g->pages <= memory / GANG_PAGE_BYTES;
}

/* A task that takes its GPUs, its named cores (of the `free` ones) and its memory of one domain. */
bool gang__fits_in_numa(const struct gang__fit_ctx *f, const uint64_t *free,
                        struct gang__task_plan *task, uint64_t *cores, struct gang__misfit *misfit);

#endif
