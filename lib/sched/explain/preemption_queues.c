/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job preempts no other: the queues on both sides, with what each is entitled to and uses. */
#include <string.h>

#include "sched/explain/explain_preemption.h"
#include "sched/order/order.h"
#include "sched/usage/usage.h"

int64_t gang__preemption_bound(int64_t amount)
{
    return amount == GANG__NO_BOUND ? GANG_UNLIMITED : amount;
}

bool gang__preemption_lists(const struct gang__preemption_answer *a, gang_queue_id id)
{
    for (size_t i = 0; i < a->shown.queue_count; i++)
        if (a->queue[i].shown.queue == id)
            return true;
    return false;
}

static void fill_turn(gang_sched *s, const struct gang__preemption_answer *a,
                      const struct gang__queue_state *q, struct gang_preemption_queue *to)
{
    uint32_t first = q->parent->q ? q->parent->q->first_child : 0;
    to->turn = 1;
    for (uint32_t c = first; c != GANG__NO_QUEUE; c = s->qs[c]->q->next_sibling) {
        to->siblings++;
        to->turn +=
            s->qs[c] != q && gang__order_queue_precedes(s, s->qs[c], q, a->take, a->take_count);
    }
}

static void fill_amounts(const struct gang__preemption_answer *a, const struct gang__queue_state *q,
                         struct gang_preemption_amount *to)
{
    for (uint32_t i = 0; i < a->take_count; i++) {
        uint32_t d = a->take[i].dim;
        const struct gang__dim *dim = &a->s->queues->dim[d];
        bool managed = q->guarantee[d] != GANG__NO_BOUND;
        to[i] = (struct gang_preemption_amount){
            .kind = dim->kind,
            .partition = dim->partition ? a->partition[i] : NULL,
            .requested = a->take[i].amount,
            .guarantee = gang__preemption_bound(q->guarantee[d]),
            .share = managed ? gang__preemption_bound(q->share[d]) : GANG_UNLIMITED,
            .used = q->used[d],
            .limit = gang__preemption_bound(q->limit[d])};
    }
}

/* List the queue and those above it that are not listed yet. */
static void add_queues(gang_sched *s, struct gang__preemption_answer *a,
                       const struct gang__queue_state *q, bool preemptor)
{
    for (; q->parent && a->shown.queue_count < GANG_PREEMPTION_QUEUES &&
           !gang__preemption_lists(a, q->q->id);
         q = q->parent) {
        size_t i = a->shown.queue_count++;
        struct gang_preemption_queue *to = &a->queue[i].shown;
        strncpy(a->queue[i].name, q->q->name, GANG_MAX_NAME);
        to->queue = q->q->id;
        to->name = a->queue[i].name;
        to->preemptor = preemptor;
        to->running = q->running;
        to->amounts = a->amount + i * a->take_count;
        to->amount_count = a->take_count;
        fill_amounts(a, q, a->amount + i * a->take_count);
        fill_turn(s, a, q, to);
    }
}

void gang__preemption_list_queues(gang_sched *s, struct gang__preemption_answer *a,
                                  const struct gang__queue_state *leaf)
{
    add_queues(s, a, leaf, true);
    for (uint32_t i = 0; i < s->queues->count; i++)
        if (s->qs[i]->q->leaf && s->qs[i]->victims.count > 0)
            add_queues(s, a, s->qs[i], false);
}
