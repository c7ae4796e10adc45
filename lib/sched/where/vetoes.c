/* SPDX-License-Identifier: Apache-2.0 */
/* The table of vetoes. Cells come last: they are chosen among the nodes that the others leave
 * open. */
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/usage/usage.h"
#include "sched/where/where.h"

/* ---- nodes where the job failed before ------------------------------------------------------- */

static bool failed_concerns(const struct gang__where *w)
{
    return w->g->job->failed_node_count > 0;
}

static gang_result failed_apply(const struct gang__where *w)
{
    for (size_t i = 0; i < w->g->job->failed_node_count; i++)
        (void)!gang_snapshot_set_state(w->on, w->g->job->failed_nodes[i], GANG_NODE_DOWN);
    return GANG_OK;
}

/* ---- nodes on which planned starts count ----------------------------------------------------- */

/* When the gang has ended if it starts or grows now. */
static int64_t end_of(const struct gang__where *w)
{
    return w->g->alloc != GANG_ID_NONE
               ? gang__calendar_end(w->s, w->g)
               : gang__add_sat(w->s->now_ns, gang__calendar_estimate(w->s, w->g));
}

static void close_planned(const struct gang__where *w, const struct gang__gang *planned)
{
    for (size_t k = 0; k < planned->calendar.node_count; k++) {
        const struct gang__node *node = gang__snapshot_node(w->on, planned->calendar.node[k]);
        if (node)
            (void)!gang_snapshot_set_state(w->on, node->id, GANG_NODE_DRAINING);
    }
}

/* Plans that begin when the gang has ended lose nothing to it. Is there one that begins before?
 * `close`: its nodes are closed. */
static bool each_planned_before_end(const struct gang__where *w, bool close)
{
    int64_t end_ns = end_of(w);
    bool some = false;
    for (uint32_t i = 0; i < w->s->queues->count; i++)
        for (const struct gang__gang *p = w->s->qs[i]->calendar.planned; p;
             p = p->calendar.next_planned) {
            bool before = p->calendar.planned_ns < end_ns;
            some = some || before;
            if (before && close)
                close_planned(w, p);
        }
    return some;
}

static bool planned_concerns(const struct gang__where *w)
{
    return w->plans && gang__calendar_has_plans(w->s) && each_planned_before_end(w, false);
}

static gang_result planned_apply(const struct gang__where *w)
{
    (void)each_planned_before_end(w, true);
    return GANG_OK;
}

/* ---- nodes that starved gangs could use ------------------------------------------------------ */

/* What the queues of the gang would use more; nothing, if they count it already. */
static uint32_t amounts_more(const struct gang__where *w, struct gang__take more[GANG__DIMS])
{
    uint32_t count;
    const struct gang__take *asks = gang__gang_next_demand(w->g, &count);
    for (uint32_t i = 0; i < count; i++)
        more[i] = (struct gang__take){asks[i].dim, w->charged ? 0 : asks[i].amount};
    return count;
}

/* A gang that moves passes nothing: it holds as much as before. */
static bool starved_concerns(const struct gang__where *w)
{
    struct gang__take more[GANG__DIMS];
    if (!w->s->bypass.starved || w->moves || w->leaving_count > 0)
        return false;
    uint32_t count = amounts_more(w, more);
    return gang__bypass_first_starved(w->s, w->g, more, count) != NULL;
}

static gang_result starved_apply(const struct gang__where *w)
{
    struct gang__take more[GANG__DIMS];
    uint32_t count = amounts_more(w, more);
    return gang__bypass_close_nodes(w->s, w->g, more, count, w->on);
}

/* ---- nodes of intact cells of other queues --------------------------------------------------- */

static bool cells_concern(const struct gang__where *w)
{
    bool grows = w->g->alloc != GANG_ID_NONE && !w->moves;
    return w->s->queues->cells && gang__gang_is_fixed(w->g, grows);
}

static gang_result cells_apply(const struct gang__where *w)
{
    return gang__cells_close_nodes(w->s, w->g, w->on);
}

/* Nodes where the job failed before. */
static const struct gang__veto failed = {GANG_WAIT_CAPACITY, true, true, failed_concerns,
                                         failed_apply};
/* Nodes on which planned starts count. */
static const struct gang__veto planned = {GANG_WAIT_PLANNED, false, false, planned_concerns,
                                          planned_apply};
/* Nodes that starved gangs could use. */
static const struct gang__veto starved = {GANG_WAIT_STARVED, false, false, starved_concerns,
                                          starved_apply};
/* Cells of other queues. */
static const struct gang__veto cells = {GANG_WAIT_CELLS, false, false, cells_concern, cells_apply};

const struct gang__veto *const gang__vetoes[GANG__VETOES] = {&failed, &starved, &planned, &cells};
