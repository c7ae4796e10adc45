/* SPDX-License-Identifier: Apache-2.0 */
/* What one task of a group takes beside CPU and memory: amounts of the site's kinds, of its node or
 * of the cluster, and GPUs, whole or in parts. */
#include "place/request/compile.h"

#include "base/error.h"
#include "core/nodes/nodes.h"

gang_result gang__compile_amounts(const struct gang__request_job *j, struct gang__compile_block *b,
                                  const struct gang_group_spec *s, struct gang__group *g)
{
    struct gang__need *node_needs = gang__compile_alloc(b, s->amount_count, sizeof(*node_needs));
    struct gang__need *pool_needs = gang__compile_alloc(b, s->amount_count, sizeof(*pool_needs));
    size_t nodes = 0, pools = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < s->amount_count; i++) {
        const struct gang_amount *a = &s->amounts[i];
        int32_t kind = a->kind ? gang__kind_find(j->c, a->kind) : -1;
        gang_result r = GANG_OK;
        if (kind < 0)
            r = gang__error(j->error, a->kind ? GANG_ENOENT : GANG_EINVAL, "kind",
                            "no kind \"%.64s\"", a->kind ? a->kind : "");
        else if (kind < GANG_KIND_SITE)
            r = gang__request_error(j, GANG_EINVAL, "kind", "has a member of its own");
        else if (seen >> kind & 1)
            r = gang__request_error(j, GANG_EINVAL, "kind", "twice");
        else
            r = gang__check_range(j, a->amount, 0, GANG_MAX_AMOUNT, "amount");
        if (r != GANG_OK)
            return gang__error_at(j->error, r, "amounts[%zu]", i);
        seen |= UINT64_C(1) << kind;
        struct gang__need need = {kind, a->amount};
        if (a->amount == 0)
            continue;
        if (j->c->nodes.kind[kind].scope == GANG_SCOPE_CLUSTER) {
            if (pool_needs)
                pool_needs[pools] = need;
            pools++;
        } else {
            if (node_needs)
                node_needs[nodes] = need;
            nodes++;
        }
    }
    g->node_needs = node_needs;
    g->node_need_count = nodes;
    g->pool_needs = pool_needs;
    g->pool_need_count = pools;
    return GANG_OK;
}

void gang__compile_gpus(const struct gang_group_spec *s, struct gang__group *g)
{
    g->devices = (uint32_t)(s->gpu_devices ? s->gpu_devices : 1);
    if (s->gpu_milli >= 1000) {
        g->devices = (uint32_t)(s->gpu_milli / 1000);
        g->share = 1000;
        g->gpu_level = gang__bucket_for_gpus(g->devices);
    } else if (s->gpu_milli) {
        g->share = (uint32_t)s->gpu_milli;
        g->gpu_level = gang__bucket_for_share(g->share);
    } else if (s->gpu_memory_bytes) {
        g->gpu_memory = s->gpu_memory_bytes;
        g->gpu_level = 1;
    } else {
        g->devices = 0;
    }
}
