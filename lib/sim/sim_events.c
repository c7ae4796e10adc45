/* SPDX-License-Identifier: Apache-2.0 */
/* The events to come: a binary heap by time, class and order. An event of a job that does not count
 * any more stays in the heap and is skipped. */
#include "sim/sim_in.h"

static bool is_before(const struct gang__sim_entry *a, const struct gang__sim_entry *b)
{
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns;
    return a->class != b->class ? a->class < b->class : a->key < b->key;
}

bool gang__sim_event_add(gang_sim *sim, struct gang__sim_entry e)
{
    if (!gang__grow(&sim->mem, (void **)&sim->heap, &sim->heap_cap, sim->heaped + 1,
                    sizeof(*sim->heap)))
        return false;
    size_t at = sim->heaped++;
    for (; at > 0 && is_before(&e, &sim->heap[(at - 1) / 2]); at = (at - 1) / 2)
        sim->heap[at] = sim->heap[(at - 1) / 2];
    sim->heap[at] = e;
    sim->live += e.class != GANG__SIM_NODE_FAIL;
    return true;
}

struct gang__sim_entry gang__sim_event_pop(gang_sim *sim)
{
    struct gang__sim_entry first = sim->heap[0], last = sim->heap[--sim->heaped];
    size_t at = 0, below;
    while ((below = 2 * at + 1) < sim->heaped) {
        below += below + 1 < sim->heaped && is_before(&sim->heap[below + 1], &sim->heap[below]);
        if (!is_before(&sim->heap[below], &last))
            break;
        sim->heap[at] = sim->heap[below];
        at = below;
    }
    sim->heap[at] = last;
    sim->live -= first.class != GANG__SIM_NODE_FAIL;
    return first;
}

/* Is it still to come? */
static bool counts(const gang_sim *sim, const struct gang__sim_entry *e)
{
    if (e->class > GANG__SIM_TASK_FAIL)
        return true;
    if (sim->brief[(uint32_t)e->target].slot == GANG__SIM_ROW_FREED)
        return false;
    const struct gang__sim_job *j = gang__sim_at(sim, (uint32_t)e->target);
    return j->stage == GANG__SIM_KNOWN && j->epoch == e->epoch;
}

int64_t gang__sim_event_time(gang_sim *sim)
{
    while (sim->heaped && !counts(sim, &sim->heap[0]))
        gang__sim_event_pop(sim);
    return sim->heaped ? sim->heap[0].at_ns : INT64_MAX;
}
