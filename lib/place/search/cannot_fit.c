/* SPDX-License-Identifier: Apache-2.0 */
/* Do the free counts of the index alone rule out a request? */
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/search/search.h"

/* The nodes in a bucket of a class; stops counting at `enough`. */
static int64_t count_nodes(gang_cluster *c, uint32_t class_id, unsigned bucket, int64_t enough)
{
    int64_t nodes = 0;
    uint32_t more;
    for (uint32_t slot = 0; nodes < enough; slot += GANG__FAN - slot % GANG__FAN) {
        gang__hook(GANG__STEP_FIND);
        slot = gang__index_next(&c->commit, class_id, bucket, slot, &more);
        if (slot == GANG__NO_SLOT)
            break;
        nodes += 1 + gang__popcount(more);
    }
    return nodes;
}

bool gang__search_cannot_fit(gang_cluster *c, const struct gang__group *g, int64_t want)
{
    uint32_t classes = gang__load(&c->commit.gpu_class_count);
    int64_t most = 0;
    if (g->devices == 0 || g->share != 1000)
        return false;
    /* From the emptiest bucket down, as commits move nodes: no node is missed. */
    for (unsigned bucket = GANG__GPU_BUCKETS; bucket-- > gang__gpu_row(g->gpu_level);) {
        gang__hook(GANG__STEP_FIND);
        /* The last bucket holds the nodes with that number of GPUs and more. */
        uint32_t gpus = bucket + 1u - GANG__GPU_WHOLE;
        int64_t each = (bucket + 1 == GANG__GPU_BUCKETS ? GANG_MAX_GPUS : gpus) / g->devices;
        for (uint32_t k = 0; k < classes; k++)
            if (!gang__index_empty(&c->commit, k, bucket) && gang__class_matches(c, g, k))
                most += each * count_nodes(c, k, bucket, want - most);
        if (most >= want)
            return false;
    }
    return true;
}
