/* SPDX-License-Identifier: Apache-2.0 */
/* In which of its partitions is a gang (gang_job_spec.partitions)?
 *
 * While such a gang waits to start it has the class `waits_as`, which demands in each partition.
 * The cycle and preemption try the class of one partition after the other. When it gets an
 * allocation, or victims stop for it, the gang keeps the class of that partition. When it is about
 * to wait to start again, it has the first class again. */
#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* The usage and the demand of the gang count by this class from now on. */
static void change_class(gang_sched *s, struct gang__gang *g, struct gang__request_class *to)
{
    gang__usage_out(s, g);
    g->request_class = to;
    gang__usage_in(s, g);
    gang__wake_shares(s);
}

void gang__partition_keep(gang_sched *s, struct gang__gang *g)
{
    struct gang__request_class *in = g->request_class;
    if (!g->order.wait_class || !g->waits_as || in == g->waits_as ||
        g->order.wait_class->request_class != g->waits_as)
        return;
    g->request_class = g->waits_as; /* the order and the queues count it so */
    gang__order_leave(s, g);
    change_class(s, g, in);
}

bool gang__partition_reset(gang_sched *s, struct gang__gang *g)
{
    if (!g->waits_as || g->request_class == g->waits_as || g->alloc != GANG_ID_NONE || g->places)
        return true;
    if (!gang__request_class_refresh(s, g->waits_as))
        return false;
    gang__order_free_class(s, g);
    change_class(s, g, g->waits_as);
    return true;
}

static bool has_place(gang_sched *s, const gang_request *request,
                      const struct gang_placement *place)
{
    const struct gang__node *node = gang__node_of(s->cluster, place->node);
    const struct gang__partition *p = request->group[place->group].partition;
    bool in = !p;
    for (size_t i = 0; node && node->tags && i < node->tags->partition_count && !in; i++)
        in = node->tags->partitions[i] == p;
    return in;
}

uint32_t gang__partition_of_places(gang_sched *s, const struct gang__gang *g,
                                   const struct gang_placement *places, size_t count)
{
    uint32_t found = 0;
    bool all = false;
    gang__rcu_enter();
    for (uint32_t i = 0; i < g->waits_as->partition_count && !all; i++) {
        all = true;
        for (size_t k = 0; k < count && all; k++)
            all = has_place(s, g->waits_as->partition[i]->request, &places[k]);
        found = all ? i : 0;
    }
    gang__rcu_leave();
    return found;
}
