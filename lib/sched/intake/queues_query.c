/* SPDX-License-Identifier: Apache-2.0 */
/* Reading queues: specifications and current figures. */
#include <string.h>

#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"

gang_result gang_queue_get_spec(gang_sched *sched, gang_queue_id id, struct gang_queue_spec **spec)
{
    if (spec)
        *spec = NULL;
    if (!sched || !spec)
        return GANG_EINVAL;
    const struct gang__queue *q = gang__queue_by_id(sched->queues, id);
    return q ? gang__queue_spec_copy(&gang__mem_libc, q->spec, spec) : GANG_ESTALE;
}

void gang_queue_spec_free(struct gang_queue_spec *spec)
{
    gang__release(&gang__mem_libc, spec);
}

static int64_t shown(int64_t amount)
{
    return amount == GANG__NO_BOUND ? GANG_UNLIMITED : amount;
}

gang_result gang_queue_get(gang_sched *sched, gang_queue_id id, struct gang_queue_info *info)
{
    if (!sched || !info)
        return GANG_EINVAL;
    struct gang__queue_state *q = gang__queue_state_of(sched, id);
    if (!q)
        return GANG_ESTALE;
    if (!sched->running)
        gang__order_refresh(sched);
    struct gang_queue_info out;
    memset(&out, 0, sizeof(out));
    out.size = info->size;
    out.id = id;
    out.parent = q->parent->q ? q->parent->q->id : GANG_ID_NONE;
    out.state = q->q->state;
    out.is_leaf = q->q->leaf;
    out.running = q->running;
    out.pending = q->pending;
    out.tasks = q->tasks;
    for (uint32_t d = 0; d < sched->dims; d++) {
        int32_t kind = sched->queues->dim[d].kind;
        if (sched->queues->dim[d].partition)
            continue;
        out.guarantee[kind] = shown(q->guarantee[d]);
        out.limit[kind] = shown(q->limit[d]);
        out.share[kind] = shown(q->share[d]);
        out.used[kind] = q->used[d];
        out.used_nonpreemptible[kind] = q->fixed[d];
        out.held[kind] = q->used[d] + q->stopping[d];
        int64_t demand = q->used[d] + gang__max(q->demand[d], 0); /* < 0: until the next run */
        out.demand[kind] = demand < q->limit[d] ? demand : q->limit[d];
    }
    strncpy(out.name, q->q->name, sizeof(out.name) - 1);
    out.backfill = q->q->backfill;
    out.plan_depth = q->q->plan_depth == GANG__NO_BOUND ? 0 : q->q->plan_depth;
    out.planned = q->calendar.planned_count;
    gang__slice_info(sched, q, &out);
    return gang__struct_out(info, info->size, offsetof(struct gang_queue_info, backfill), &out,
                            sizeof(out));
}

gang_queue_id gang_queue_next(gang_sched *sched, gang_queue_id id)
{
    const struct gang__queue *q = sched ? gang__queue_by_id(sched->queues, id) : NULL;
    uint32_t next = q ? q->index + 1 : 0;
    if (!sched || (id != GANG_ID_NONE && !q) || next >= sched->queues->count)
        return GANG_ID_NONE;
    return sched->queues->queue[next].id;
}
