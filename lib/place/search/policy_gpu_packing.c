/* SPDX-License-Identifier: Apache-2.0 */
/* Shared devices before whole ones, whole ones of busy nodes before idle nodes.
 *
 * Source: the artifact of Weng et al., USENIX ATC 2023 (see policy_best_fit.c), plugin
 * GpuPackingScore. Integers throughout. Work without GPUs has no preference. */
#include "place/fit/fit.h"
#include "place/search/policy.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Free parts of the devices that could hold the task's part of one, smallest first. */
static unsigned parts(const struct gang__node_copy *v, const uint64_t *now, uint64_t among,
                      uint32_t share, uint32_t *part)
{
    unsigned count = 0;
    for (unsigned i = 0; i < v->layout.gpus; i++) {
        uint32_t free = gang__device_free(now, i);
        if (!(among >> i & 1) || free < share)
            continue;
        unsigned at = count++;
        for (; at && part[at - 1] > free; at--)
            part[at] = part[at - 1];
        part[at] = free;
    }
    return count;
}

static int64_t score(struct gang__plan *p, const struct gang__group *g,
                     const struct gang__node_copy *v, struct gang__scored_node *candidate)
{
    enum { WHOLE = 1000, SHARED_MOST = 100, BUSY_MOST = 50, IDLE_MOST = 33 };
    const uint64_t *now = gang__words_now(p, v);
    int64_t gpus = v->layout.gpus;
    if (!g->devices)
        return 0;
    if (gang__gpu_free(v, now) == gpus * WHOLE)
        return larger(IDLE_MOST - gpus, gpus);
    uint32_t part[GANG_MAX_GPUS];
    unsigned count = parts(v, now, gang__plan_devices(p, g, v), candidate->share, part);
    int64_t whole = 0, free = 0;
    for (unsigned i = 0; i < count && i < g->devices; i++) {
        whole += part[i] == WHOLE;
        free += part[i] * 100 / WHOLE;
    }
    return whole ? larger(BUSY_MOST - whole, IDLE_MOST)
                 : larger(SHARED_MOST - free / 10, BUSY_MOST);
}

const struct gang__policy gang__policy_gpu_packing = {.way = GANG__WAY_SCORE, .score = score};
