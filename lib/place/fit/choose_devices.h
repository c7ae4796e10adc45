/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices of a node a task gets. */
#ifndef GANG__PLACE_CHOOSE_DEVICES_H
#define GANG__PLACE_CHOOSE_DEVICES_H

#include "core/nodes/nodes.h"
#include "place/fit/fit_plan.h"
#include "place/fit/fit_task.h"

/* Milli-GPUs a task of the group takes of a device: its share, or its memory's. 0: unknown. */
static inline uint32_t share_on(const struct gang__group *g, const struct gang_gpu_spec *gpu)
{
    return gang__share_asked(g->share, g->gpu_memory, gpu);
}

static inline uint32_t share_free(const uint64_t *now, unsigned i)
{
    return gang__share(now[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                       i % GANG__SHARES_PER_WORD);
}

/* The whole devices that any task may take, in any domain and of any model: a good choice leaves
 * these useful. */
static inline uint64_t takeable_devices(const struct gang__node_copy *copy, uint64_t whole)
{
    return whole & copy->type->gpus & ~copy->unhealthy;
}

/* Devices for a task, of those allowed. 0: there are not enough, or out of memory
 * (p->out.failed). *share: milli-GPUs of each. */
uint64_t gang__choose_devices(const struct gang__fit_ctx *f, uint64_t allowed, uint32_t *share);

/* How many ranked models, the most preferred first, include all these devices; SIZE_MAX where the
 * models have no rank. */
size_t gang__models_needed(const struct gang__group *g, const struct gang__node_copy *copy,
                           uint64_t gpus);

/* Devices of the node that the group's tasks may use: of its models; slices if it names a profile,
 * else only what is none; and none that is unhealthy. */
uint64_t gang__usable_devices(const struct gang__group *g, const struct gang__node_copy *copy);

/* The devices of a node that a task of the group may take now, free or not. */
uint64_t gang__plan_devices(const struct gang__plan *p, const struct gang__group *g,
                            const struct gang__node_copy *copy);

#endif
