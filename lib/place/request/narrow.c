/* SPDX-License-Identifier: Apache-2.0 */
/* Narrows a request to one choice of its tasks: the minima of groups, sets and the request become
 * what was chosen, so packing places exactly that. */
#include "place/request/request.h"

#include <string.h>

/* All but the minima, and but what searches remember: that holds for the request as it was. */
static void borrow(gang_request *to, const gang_request *request)
{
    to->cluster = request->cluster;
    to->policy = request->policy;
    to->count = request->count;
    to->same = request->same;
    to->prefer = request->prefer;
    to->gpu_nodes = request->gpu_nodes;
    to->exclusive = request->exclusive;
    to->same_devices = request->same_devices;
    to->in_domains = request->in_domains;
    to->insists = request->insists;
    to->group_count = request->group_count;
    to->group_set_count = request->group_set_count;
    to->labels = request->labels;
    to->label_count = request->label_count;
    to->own_counts = request->own_counts;
    to->affinity = request->affinity;
    to->affinity_count = request->affinity_count;
    to->soft_count = request->soft_count;
    to->has_affinity = request->has_affinity;
    to->score = request->score;
    to->score_user = request->score_user;
    to->by_size = request->by_size;
    to->uses_pool = request->uses_pool;
    to->bound = request->bound;
}

gang_request *gang__request_narrow(struct gang__narrowed *n, const gang_request *request,
                                   const int64_t *tasks)
{
    const struct gang_mem *mem = &request->cluster->mem;
    if (!gang__grow(mem, (void **)&n->group, &n->group_cap, request->group_count,
                    sizeof(*n->group)) ||
        !gang__grow(mem, (void **)&n->set, &n->set_cap, (size_t)request->group_set_count + 1,
                    sizeof(*n->set)))
        return NULL;
    borrow(&n->q, request);
    n->q.group = n->group;
    n->q.set = n->set;
    n->q.min = 0;
    memcpy(n->group, request->group, request->group_count * sizeof(*n->group));
    if (request->group_set_count)
        memcpy(n->set, request->set, request->group_set_count * sizeof(*n->set));
    for (uint32_t i = 0; i < request->group_set_count; i++)
        n->set[i].min = n->set[i].inside = 0;
    for (uint32_t g = 0; g < request->group_count; g++) {
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
