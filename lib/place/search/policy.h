/* SPDX-License-Identifier: Apache-2.0 */
/* Policies: how a node is chosen among those that can take a task. A policy either names an order
 * in which the search walks over the index (index_walk.c), or scores every node that can take the
 * task (score.c). A new one is a file policy_NAME.c, and its line in policy.c. */
#ifndef GANG__PLACE_POLICY_H
#define GANG__PLACE_POLICY_H

#include "place/fit/fit.h"

/* Beside GANG_POLICY_*: from the emptiest node down (gang__search()). */
enum { GANG__ORDER_PROOF = -1 };

enum gang__way {
    GANG__WAY_UP,    /* from the fullest node that may hold the task */
    GANG__WAY_DOWN,  /* from the emptiest */
    GANG__WAY_FIRST, /* in the order of the slots */
    GANG__WAY_SCORE  /* the highest score, then the lowest slot */
};

#define GANG__SCORE_OUT INT64_MIN /* this node is left out */

struct gang__policy {
    enum gang__way way;
    bool one_each; /* one task a node before a second */
    /* Of those that score, called inside a read section: */
    /* Once a search, before the scores; NULL: nothing to prepare. False: p->out.failed. */
    bool (*begin)(struct gang__plan *p);
    /* Of one node that takes the task on candidate->gpus; may choose other devices for a task that
     * takes a part of one. */
    int64_t (*score)(struct gang__plan *p, const struct gang__group *g,
                     const struct gang__node_copy *v, struct gang__scored_node *candidate);
    /* Scores all candidates at once, in place of `score`, for each task. False: p->out.failed. */
    bool (*score_all)(struct gang__plan *p, uint32_t group, struct gang__scored_node *candidate,
                      size_t candidate_count);
    /* The rank of a score, given the lowest and highest of all nodes; NULL: the score itself. */
    int64_t (*rank)(int64_t score, int64_t least, int64_t most);
};

/* The table: GANG__ORDER_PROOF, then GANG_POLICY_*. */
extern const struct gang__policy *const gang__policies[GANG_POLICY_HOST + 2];

static inline const struct gang__policy *gang__policy_of(int32_t policy)
{
    return gang__policies[policy - GANG__ORDER_PROOF];
}

/* The order in which a request is planned: by its policy, or (proof) so that capacity is found if
 * there is any. Scores do not count on an empty cluster: "could ever fit" does not depend on them.
 * Nodes that the host rejects stay out of a proof, too. */
int32_t gang__policy_order(const struct gang__plan *p, bool proof);

/* milli-GPUs free on all devices of a node. */
static inline int64_t gang__gpu_free(const struct gang__node_copy *v, const uint64_t *now)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < gang__share_words(v->layout); i++)
        for (unsigned k = 0; k < GANG__SHARES_PER_WORD; k++)
            sum += gang__share(now[GANG__WORD_SHARES + i], k);
    return sum;
}

/* milli-GPUs that the task of a candidate takes. */
static inline int64_t gang__gpu_asked(const struct gang__scored_node *candidate)
{
    return (int64_t)gang__popcount(candidate->gpus) * candidate->share;
}

/* A device's free part. */
static inline uint32_t gang__device_free(const uint64_t *now, unsigned i)
{
    return gang__share(now[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                       i % GANG__SHARES_PER_WORD);
}

/* Those that score; see their files. */
extern const struct gang__policy gang__policy_best_fit, gang__policy_dot_product,
    gang__policy_gpu_packing, gang__policy_gpu_clustering, gang__policy_fgd, gang__policy_headroom,
    gang__policy_host;

/* Scratch of policy_fgd.c and policy_headroom.c. The scratch of a copied cluster
 * rereads the learned mix when the original does, and the declared mix always. False: out of
 * memory. */
bool gang__fgd_copy(struct gang__plan *to, const struct gang__fgd *from);
bool gang__headroom_copy(struct gang__plan *to, const struct gang__headroom *from);
/* If the mix was learned while the worker keeps its mix (placer.h), it is learned again. */
void gang__fgd_forget_mix(struct gang__fgd *f);
void gang__headroom_forget_mix(struct gang__headroom *h);
void gang__fgd_free(struct gang__fgd *f, const struct gang_mem *mem);
void gang__headroom_free(struct gang__headroom *h, const struct gang_mem *mem);

#endif
