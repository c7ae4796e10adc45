/* SPDX-License-Identifier: Apache-2.0 */
/* Best fit over cpu and GPUs together: the node with least of both left after the task.
 *
 * Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
 * Fragmentation Gradient Descent", USENIX ATC 2023, section 6; its artifact
 * (kubernetes-scheduler-simulator), plugin BestFit. What is left counts as a share of the largest
 * machine there, 128 cores and 8 GPUs; the score is truncated, then stretched over all nodes to
 * 0..100, truncated again. Kept as it is, so that results compare: on larger machines scores are
 * negative, and compare as well. */
#include "place/fit/fit.h"
#include "place/search/policy.h"

enum { MOST_CPU = 128000, MOST_GPU = 8000 };

static int64_t score(struct gang__plan *p, const struct gang__group *g,
                     const struct gang__node_copy *v, struct gang__scored_node *candidate)
{
    const uint64_t *now = gang__words_now(p, v);
    double cpu = (double)gang__head_cpu(now[GANG__WORD_HEAD]) - (double)g->cpu;
    double gpu = (double)(gang__gpu_free(v, now) - gang__gpu_asked(candidate));
    return (int64_t)((1 - (cpu / MOST_CPU * 0.5 + gpu / MOST_GPU * 0.5)) * 100);
}

static int64_t rank(int64_t s, int64_t least, int64_t most)
{
    return most > least ? (s - least) * 100 / (most - least) : 0;
}

const struct gang__policy gang__policy_best_fit = {
    .way = GANG__WAY_SCORE, .score = score, .rank = rank};
