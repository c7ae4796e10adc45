/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded bypass: which gangs are starved, and which nodes are closed for them (order.h). */
#include "sched/order/order_in.h"

#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- barring other gangs --------------------------------------------------------------------- */

/* Does the gang wait for capacity alone? A gang that was not tried yet counts too. */
static bool bars(const struct gang__gang *w)
{
    return w->order.wait_class && (w->order.wait_class->state != GANG__CLASS_BLOCKED ||
                                   gang__waits_for_capacity(w->order.wait_class->why));
}

/* May the gang pass a gang that is starved by max_blocked_ns alone? If its start was planned
 * before; or if its queue stays inside its share and may reclaim, while that of the starved gang
 * would have more than its own. */
static bool gives_way(const struct gang__gang *starved, const struct gang__gang *g,
                      const struct gang__take *take, uint32_t count)
{
    uint32_t asked;
    const struct gang__take *asks = gang__gang_next_demand(starved, &asked);
    if (starved->starved != GANG__STARVED_BLOCKED || g->calendar.plan || g->calendar.retried)
        return starved->starved == GANG__STARVED_BLOCKED;
    return g->job->leaf->q->reclaim != GANG_PREEMPT_NEVER &&
           !gang__usage_path_stays_within(starved->job->leaf, true, asks, asked) &&
           gang__usage_path_stays_within(g->job->leaf, true, take, count);
}

const struct gang__gang *gang__bypass_first_starved(const gang_sched *s, const struct gang__gang *g,
                                                    const struct gang__take *take, uint32_t count)
{
    const struct gang__queue_state *leaf = g->job->leaf;
    const struct gang__gang *w = s->bypass.starved;
    if (!w || g->starved || gang__usage_stays_within(leaf, leaf->guarantee, take, count))
        return NULL;
    /* in its own leaf, the order sees to it */
    while (w && (w->job->leaf == leaf || !bars(w) || gives_way(w, g, take, count)))
        w = w->bypass.next;
    return w;
}

const struct gang__gang *gang__bypass_concerns(const gang_sched *s, const struct gang__gang *g)
{
    if (!s->bypass.starved)
        return NULL;
    uint32_t count;
    const struct gang__take *take = gang__gang_next_demand(g, &count);
    return gang__bypass_first_starved(s, g, take, count);
}

/* Marks the nodes that a barring starved gang could use, as bits in s->bypass.mask. */
static bool make_mask(gang_sched *s, const struct gang__gang *g, const struct gang__take *take,
                      uint32_t count, uint32_t end)
{
    size_t words = end / 64 + 1;
    if (!gang__grow(&s->mem, (void **)&s->bypass.mask, &s->bypass.mask_cap, words,
                    sizeof(*s->bypass.mask)))
        return false;
    memset(s->bypass.mask, 0, words * sizeof(*s->bypass.mask));
    for (const struct gang__gang *w = s->bypass.starved; w; w = w->bypass.next) {
        if (w->job->leaf == g->job->leaf || !bars(w) || gives_way(w, g, take, count))
            continue;
        gang__filter_mask(s->cluster, gang__gang_request(w), end, s->bypass.mask);
        for (uint32_t i = 1; i < gang__partition_count(w); i++)
            gang__filter_mask(s->cluster, w->waits_as->partition[i]->request, end, s->bypass.mask);
    }
    return true;
}

static bool has_bit(const gang_sched *s, gang_node_id n, uint32_t end)
{
    uint32_t slot = (uint32_t)n;
    return slot < end && s->bypass.mask[slot / 64] >> (slot % 64) & 1;
}

gang_result gang__bypass_close_nodes(gang_sched *s, const struct gang__gang *g,
                                     const struct gang__take *take, uint32_t count,
                                     gang_snapshot *snapshot)
{
    uint32_t end = snapshot->end;
    if (!make_mask(s, g, take, count, end))
        return GANG_ENOMEM;
    for (gang_node_id n = gang_snapshot_node_next(snapshot, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_snapshot_node_next(snapshot, n))
        if (has_bit(s, n, end))
            (void)!gang_snapshot_set_state(snapshot, n, GANG_NODE_DOWN);
    return GANG_OK;
}

bool gang__bypass_returns_to_closed(gang_sched *s, const struct gang__gang *g)
{
    uint32_t end = 0, count;
    const struct gang__take *take = gang__gang_next_demand(g, &count);
    if (!gang__bypass_concerns(s, g))
        return false;
    for (int64_t i = 0; i < g->place_count; i++)
        end = (uint32_t)g->places[i].node >= end ? (uint32_t)g->places[i].node + 1 : end;
    bool on = !make_mask(s, g, take, count, end); /* out of memory: assume yes */
    for (int64_t i = 0; i < g->place_count && !on; i++) {
        gang_node_id n = g->places[i].node;
        /* The record of a removed node stays for a while, but no gang could use that node. */
        on = has_bit(s, n, end) && gang__node_id_at(s->cluster, (uint32_t)n) == n;
    }
    return on;
}

void gang__bypass_unblock(gang_sched *s)
{
    struct gang__wait_class *next;
    for (struct gang__wait_class *class = s->order.blocked; class; class = next) {
        next = class->next_blocked;
        if (class->why == GANG_WAIT_STARVED)
            gang__order_unblock(s, class);
    }
}

/* ---- becoming starved ------------------------------------------------------------------------ */

static void list_starved(gang_sched *s, struct gang__gang *g)
{
    /* the list begins with the gang that starved first */
    struct gang__gang **at = &s->bypass.starved;
    while (*at)
        at = &(*at)->bypass.next;
    g->bypass.next = NULL;
    g->bypass.at = at;
    *at = g;
}

static void unlist_starved(struct gang__gang *g)
{
    *g->bypass.at = g->bypass.next;
    if (g->bypass.next)
        g->bypass.next->bypass.at = g->bypass.at;
}

void gang__bypass_starve(gang_sched *s, struct gang__gang *g, uint8_t starved)
{
    if (!g->starved)
        list_starved(s, g);
    gang__order_set_starved(s, g, starved);
    gang__order_unblock(s, g->order.wait_class);
    gang__log_job(s, GANG_LOG_STARVED, g->job,
                  "job %llu is starved: no job bypasses it from now on",
                  (unsigned long long)g->job->id);
}

void gang__bypass_blocked(gang_sched *s, struct gang__gang *g)
{
    bool again = g->bypass.blocked_ns == INT64_MAX && g->bypass.cannot_fit_at != s->wake.changes;
    if ((g->bypass.had_turn && !again) || g->job->leaf->q->max_blocked_ns < 0)
        return;
    g->bypass.had_turn = true;
    g->bypass.blocked_ns = s->now_ns;
    gang__wake_job(s, g->job, GANG__WAKE_TIMER);
}

void gang__bypass_cannot_fit(gang_sched *s, struct gang__gang *g)
{
    g->bypass.blocked_ns = INT64_MAX;
    g->bypass.cannot_fit_at = s->wake.changes;
}

/* It starved by max_blocked_ns alone, and waits. */
static void withdraw(gang_sched *s, struct gang__gang *g)
{
    unlist_starved(g);
    gang__order_set_starved(s, g, GANG__STARVED_NOT);
    gang__wake_job(s, g->job, GANG__WAKE_TIMER);
}

void gang__bypass_review(gang_sched *s)
{
    struct gang__gang *next;
    for (struct gang__gang *g = s->bypass.starved; g; g = next) {
        next = g->bypass.next;
        if (g->starved == GANG__STARVED_BLOCKED && g->order.wait_class)
            withdraw(s, g);
    }
    gang__bypass_unblock(s);
}

void gang__bypass_planned(gang_sched *s, const struct gang__gang *g)
{
    s->bypass.planned = s->bypass.planned || g->starved == GANG__STARVED_BLOCKED;
}

void gang__bypass_release_planned(gang_sched *s)
{
    struct gang__gang *next;
    s->bypass.planned = false;
    for (struct gang__gang *g = s->bypass.starved; g; g = next) {
        next = g->bypass.next;
        if (g->starved != GANG__STARVED_BLOCKED || !g->order.wait_class || !g->calendar.plan)
            continue;
        withdraw(s, g);
        gang__order_unblock(s, g->order.wait_class); /* it bars its leaf no more */
    }
    gang__bypass_unblock(s);
}

void gang__bypass_end(struct gang__gang *g)
{
    g->bypass.bypassed = 0;
    g->bypass.had_turn = false;
    if (g->starved)
        unlist_starved(g);
    g->starved = GANG__STARVED_NOT;
}

void gang__bypass_set_aside(struct gang__gang *g)
{
    g->untold.bypassed = g->bypass.bypassed;
    g->untold.had_turn = g->bypass.had_turn;
    g->untold.starved = g->starved;
    gang__bypass_end(g);
}

void gang__bypass_take_up(gang_sched *s, struct gang__gang *g)
{
    g->bypass.bypassed = g->untold.bypassed;
    g->bypass.had_turn = g->untold.had_turn;
    g->starved = g->untold.starved;
    if (g->starved)
        list_starved(s, g);
}

void gang__bypass_count(gang_sched *s, const struct gang__gang *g)
{
    const struct gang__queue *q = g->job->leaf->q;
    if (q->max_bypasses == 0)
        return;
    struct gang__wait_class *next;
    for (struct gang__wait_class *class = s->order.blocked; class; class = next) {
        next = class->next_blocked;
        if (class->leaf != g->job->leaf || class->grower || !gang__waits_for_capacity(class->why))
            continue;
        struct gang__gang *head = gang__wait_class_head(class);
        if (head->starved == GANG__STARVED_BOUND || gang__gang_before(head, g, q->order) >= 0)
            continue;
        if (++head->bypass.bypassed >= q->max_bypasses)
            gang__bypass_starve(s, head, GANG__STARVED_BOUND);
    }
}
