/* SPDX-License-Identifier: Apache-2.0 */
/* The node whose free cpu and GPUs have the smallest dot product with what the task asks.
 *
 * Source: the artifact of Weng et al., USENIX ATC 2023 (see policy_best_fit.c), plugin
 * DotProductScore; after Grandl et al., "Multi-resource packing for cluster schedulers" (Tetris),
 * SIGCOMM 2014, which takes the largest. Amounts count as shares of 128 cores and 8 GPUs;
 * truncated. */
#include "place/fit/fit.h"
#include "place/search/policy.h"

enum { MOST_CPU = 128000, MOST_GPU = 8000 };

static int64_t score(struct gang__plan *p, const struct gang__group *g,
                     const struct gang__node_copy *v, struct gang__scored_node *candidate)
{
    const uint64_t *now = gang__words_now(p, v);
    double cpu = (double)gang__head_cpu(now[GANG__WORD_HEAD]);
    double gpu = (double)gang__gpu_free(v, now);
    double product = cpu / MOST_CPU * (double)g->cpu / MOST_CPU +
                     gpu / MOST_GPU * (double)gang__gpu_asked(candidate) / MOST_GPU;
    return (int64_t)(100 * (1 - product / 2));
}

const struct gang__policy gang__policy_dot_product = {.way = GANG__WAY_SCORE, .score = score};
