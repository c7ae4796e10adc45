/* SPDX-License-Identifier: Apache-2.0 */
/* Queues by id, and their order. */
#include "sched/record/job_record.h"

struct gang__queue_state *gang__queue_state_of(const gang_sched *s, gang_queue_id id)
{
    const struct gang__queue *q = gang__queue_by_id(s->queues, id);
    return q ? s->qs[q->index] : NULL;
}

bool gang__queue_is_below(const struct gang__queue_state *q, const struct gang__queue_state *top)
{
    while (q && q != top)
        q = q->parent;
    return q != NULL;
}
