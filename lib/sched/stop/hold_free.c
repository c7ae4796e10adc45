/* SPDX-License-Identifier: Apache-2.0 */
/* A handover keeps what is free already of its places, so that no other gang takes it while the
 * victims stop.
 *
 * How much that is, two snapshots tell: preempt.base shows the cluster before the attempt, and the
 * scratch snapshot without the victims and with the taker on its places. What a node has free in
 * the first and not in the second, the taker takes beyond what victims leave there: cores, memory,
 * devices and parts of them, countables of the site. An allocation of no job holds it. Kinds of the
 * whole cluster are not kept. */
#include <stdlib.h>

#include "place/alloc/alloc.h"
#include "place/whatif/whatif.h"
#include "sched/foreign/foreign.h"
#include "sched/stop/stop_in.h"

static bool is_held(const struct gang__handover *handover, size_t holds, gang_node_id node)
{
    for (size_t i = 0; i < holds; i++)
        if (handover->holds[i].node == node)
            return true;
    return false;
}

static bool hold_node(gang_sched *s, struct gang__handover *handover, gang_node_id node)
{
    uint64_t words[GANG__MAX_WORDS];
    gang_alloc_id id;
    if (!gang__snapshot_lacks(s->preempt.base, s->scratch, node, words))
        return true;
    if (!gang__grow(&s->mem, (void **)&handover->holds, &handover->hold_cap,
                    handover->hold_count + 1, sizeof(*handover->holds)))
        return false;
    gang_request *request = gang__foreign_request(s);
    gang_result r =
        request ? gang__hold_words(s->worker, request, node, words, &id) : (gang_result)GANG_ENOMEM;
    if (r == GANG_OK && id != GANG_ID_NONE)
        handover->holds[handover->hold_count++] = (struct gang__handover_hold){node, id};
    return r != GANG_ENOMEM;
}

/* Once is enough: until the victims have stopped, other gangs could take only what was free
 * before. */
void gang__handover_hold(gang_sched *s, struct gang__handover *handover,
                         const struct gang_placement *places, int64_t place_count)
{
    size_t before = handover->hold_count; /* for gangs that move: the taker may be there, too */
    gang_node_id last = GANG_ID_NONE;
    size_t count = (size_t)place_count;
    if (!gang__grow(&s->mem, (void **)&s->numbers, &s->number_cap, count, sizeof(*s->numbers))) {
        s->no_memory = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        s->numbers[i] = (int64_t)places[i].node;
    qsort(s->numbers, count, sizeof(*s->numbers), gang__by_number);
    for (size_t i = 0; i < count; i++) {
        gang_node_id node = (gang_node_id)s->numbers[i];
        if (node != last && !is_held(handover, before, node) && !hold_node(s, handover, node))
            s->no_memory = true;
        last = node;
    }
}

void gang__handover_release_holds(gang_sched *s, struct gang__handover *handover)
{
    for (size_t i = 0; i < handover->hold_count; i++)
        gang__give_back_or_defer(s, NULL, handover->holds[i].alloc, NULL, 0);
    handover->hold_count = 0;
}
