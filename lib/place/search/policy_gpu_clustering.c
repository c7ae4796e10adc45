/* SPDX-License-Identifier: Apache-2.0 */
/* Beside tasks of the same number of GPUs, or of parts of one; among such nodes the fuller.
 *
 * Source: the artifact of Weng et al., USENIX ATC 2023 (see policy_best_fit.c), plugin
 * GpuClusteringScore. Integers throughout. Work without GPUs has no preference.
 * The tasks on a node are known for allocations whose request has this policy (task_count.h), as
 * they are at the moment, also when the plan is on a snapshot; and of the tasks of the plan
 * itself. */
#include "place/fit/fit.h"
#include "place/search/policy.h"
#include "place/state/records.h"

/* Classes of the tasks that this plan has put on a node. */
static uint64_t planned(const struct gang__plan *p, const struct gang__node_copy *v)
{
    uint64_t classes = 0;
    for (size_t i = 0; v->used && i < p->tasks.count; i++) {
        const struct gang__group *g = &p->request->group[p->tasks.plan[i].group];
        if (p->tasks.plan[i].copy == (uint32_t)(v - p->nodes.copy) && g->devices)
            classes |= UINT64_C(1) << gang__size_class(g);
    }
    return classes;
}

static int64_t score(struct gang__plan *p, const struct gang__group *g,
                     const struct gang__node_copy *v, struct gang__scored_node *candidate)
{
    enum { MOST_GPU = 8000, FULL = 25, ALIKE = 75, AMONG_OTHERS = 50, NOTHING = 25 };
    (void)candidate;
    if (!g->devices)
        return 0;
    int64_t base = FULL * (MOST_GPU - gang__gpu_free(v, gang__words_now(p, v))) / MOST_GPU;
    uint64_t own = UINT64_C(1) << gang__size_class(g);
    uint64_t there = gang__size_classes_on(p->c, v->slot) | planned(p, v);
    if (there & own)
        return base + (there == own ? ALIKE : AMONG_OTHERS);
    return base + (there ? 0 : NOTHING);
}

const struct gang__policy gang__policy_gpu_clustering = {.way = GANG__WAY_SCORE, .score = score};
