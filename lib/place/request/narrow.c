/* SPDX-License-Identifier: Apache-2.0 */
/* Narrows a request to one choice of its tasks: the minima of groups, sets and the request become
 * what was chosen, so packing places exactly that. */
#include "place/request/request.h"

#include <string.h>

/* All but the minima, and but what searches remember: that holds for the request as it was. */
static void borrow(gang_request *to, const gang_request *q)
{
    to->cluster = q->cluster;
    to->policy = q->policy;
    to->count = q->count;
    to->same = q->same;
    to->prefer = q->prefer;
    to->gpu_nodes = q->gpu_nodes;
    to->exclusive = q->exclusive;
    to->in_domains = q->in_domains;
    to->insists = q->insists;
    to->group_count = q->group_count;
    to->group_set_count = q->group_set_count;
    to->labels = q->labels;
    to->label_count = q->label_count;
    to->own_counts = q->own_counts;
    to->affinity = q->affinity;
    to->affinity_count = q->affinity_count;
    to->soft_count = q->soft_count;
    to->has_affinity = q->has_affinity;
    to->score = q->score;
    to->score_user = q->score_user;
    to->by_size = q->by_size;
    to->uses_pool = q->uses_pool;
    to->bound = q->bound;
}

gang_request *gang__request_narrow(struct gang__narrowed *n, const gang_request *q,
                                   const int64_t *tasks)
{
    const struct gang_mem *mem = &q->cluster->mem;
    if (!gang__grow(mem, (void **)&n->group, &n->group_cap, q->group_count, sizeof(*n->group)) ||
        !gang__grow(mem, (void **)&n->set, &n->set_cap, (size_t)q->group_set_count + 1,
                    sizeof(*n->set)))
        return NULL;
    borrow(&n->q, q);
    n->q.group = n->group;
    n->q.set = n->set;
    n->q.min = 0;
    memcpy(n->group, q->group, q->group_count * sizeof(*n->group));
    if (q->group_set_count)
        memcpy(n->set, q->set, q->group_set_count * sizeof(*n->set));
    for (uint32_t i = 0; i < q->group_set_count; i++)
        n->set[i].min = n->set[i].inside = 0;
    for (uint32_t g = 0; g < q->group_count; g++) {
        n->q.min += n->group[g].min = tasks[g];
        for (int32_t at = n->group[g].set; at >= 0; at = n->set[at].parent)
            n->set[at].min = n->set[at].inside += tasks[g];
    }
    return &n->q;
}

void gang__narrowed_free(struct gang__narrowed *n, const struct gang_mem *mem)
{
    gang__release(mem, n->group);
    gang__release(mem, n->set);
}
