/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the policies, and their names. */
#include "place/search/policy.h"

#include <string.h>

#include "model/specs.h"
#include "place/request/request.h"
#include "place/state/records.h"

static const struct gang__policy up = {.way = GANG__WAY_UP};
static const struct gang__policy down = {.way = GANG__WAY_DOWN};
static const struct gang__policy spread = {.way = GANG__WAY_DOWN, .one_each = true};
static const struct gang__policy first = {.way = GANG__WAY_FIRST};

#define LINE(policy) [(policy)-GANG__ORDER_PROOF]
const struct gang__policy *const gang__policies[GANG_POLICY_HOST + 2] = {
    LINE(GANG__ORDER_PROOF) = &down,
    LINE(GANG_POLICY_DEFAULT) = &up,
    LINE(GANG_POLICY_PACK) = &up,
    LINE(GANG_POLICY_SPREAD) = &spread,
    LINE(GANG_POLICY_FIRST) = &first,
    LINE(GANG_POLICY_TOPOLOGY) = &up,
    LINE(GANG_POLICY_FGD) = &gang__policy_fgd,
    LINE(GANG_POLICY_BEST_FIT) = &gang__policy_best_fit,
    LINE(GANG_POLICY_DOT_PRODUCT) = &gang__policy_dot_product,
    LINE(GANG_POLICY_GPU_PACKING) = &gang__policy_gpu_packing,
    LINE(GANG_POLICY_GPU_CLUSTERING) = &gang__policy_gpu_clustering,
    LINE(GANG_POLICY_HEADROOM) = &gang__policy_headroom,
    LINE(GANG_POLICY_HOST) = &gang__policy_host,
};

/* What the default comes to. */
static int32_t policy_of(const struct gang__plan *p)
{
    const struct gang__shared *shared = gang__shared_at(p->c);
    if (p->request->policy == GANG_POLICY_DEFAULT && !p->request->in_domains && shared &&
        gang__load(&shared->mixes.declared))
        return GANG_POLICY_HEADROOM;
    return p->request->policy;
}

int32_t gang__policy_order(const struct gang__plan *p, bool proof)
{
    int32_t policy = policy_of(p);
    if (policy < GANG_POLICY_FGD) /* none of these scores */
        return proof ? (int32_t)GANG__ORDER_PROOF : policy;
    if (p->mode.empty || (proof && policy != GANG_POLICY_HOST))
        return GANG__ORDER_PROOF;
    return policy;
}

const char *gang_policy_name(int32_t policy)
{
    return policy >= GANG_POLICY_DEFAULT && policy <= GANG_POLICY_HOST ? gang__policy_words[policy]
                                                                       : NULL;
}

gang_result gang_policy_find(const char *name, int32_t *policy)
{
    if (policy)
        *policy = 0;
    if (!name || !policy)
        return GANG_EINVAL;
    for (int32_t i = GANG_POLICY_DEFAULT; i <= GANG_POLICY_HOST; i++) {
        if (strcmp(gang__policy_words[i], name) == 0) {
            *policy = i;
            return GANG_OK;
        }
    }
    return GANG_ENOENT;
}
