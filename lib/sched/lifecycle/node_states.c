/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the tasks on a node that the host took down, removed, or drains?
 *
 * A host changes nodes with core.h at any time. Each run compares the nodes with those that the run
 * before it saw: the tasks on a node that was there, and is down or removed now, are lost. A node
 * that was down when it was first seen has lost nothing: a job may have been adopted there. */
#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"

/* ---- nodes that went ------------------------------------------------------------------------- */

/* The node of a slot if it is up or draining, else GANG_ID_NONE. Inside a read section. */
static gang_node_id alive_in_slot(gang_cluster *c, uint32_t slot)
{
    struct gang__node *node = gang__node_at(c, slot);
    uint64_t head;
    if (!node)
        return GANG_ID_NONE;
    gang__cell_read(&c->commit, slot, &head, 1);
    unsigned state = gang__head_state(head);
    return state == GANG__STATE_UP || state == GANG__STATE_DRAINING ? node->id : GANG_ID_NONE;
}

/* Note which nodes are alive. Those that were, and are not, are marked as lost. Returns how many
 * are. */
static size_t mark_lost(gang_sched *s, uint32_t end)
{
    size_t lost = 0;
    gang__rcu_enter();
    for (uint32_t slot = 0; slot < end; slot++) {
        struct gang__seen_node *seen = &s->nodes.seen[slot];
        gang_node_id now = alive_in_slot(s->cluster, slot);
        if (seen->id != GANG_ID_NONE && seen->id != now)
            seen->lost = true;
        else if (!seen->lost)
            seen->id = now;
        lost += seen->lost;
    }
    gang__rcu_leave();
    return lost;
}

bool gang__nodes_is_lost(const gang_sched *s, gang_node_id node)
{
    uint32_t slot = (uint32_t)node;
    return slot < s->nodes.seen_cap && s->nodes.seen[slot].lost && s->nodes.seen[slot].id == node;
}

static void forget_lost(gang_sched *s)
{
    for (size_t slot = 0; slot < s->nodes.seen_cap; slot++)
        if (s->nodes.seen[slot].lost)
            s->nodes.seen[slot] = (struct gang__seen_node){GANG_ID_NONE, false};
}

static bool reserve_seen(gang_sched *s, size_t slots)
{
    size_t before = s->nodes.seen_cap;
    if (!gang__grow(&s->mem, (void **)&s->nodes.seen, &s->nodes.seen_cap, slots,
                    sizeof(*s->nodes.seen)))
        return false;
    for (size_t i = before; i < s->nodes.seen_cap; i++)
        s->nodes.seen[i] = (struct gang__seen_node){GANG_ID_NONE, false};
    return true;
}

bool gang__nodes_look(gang_sched *s)
{
    uint64_t epoch = gang__load(&s->cluster->nodes.epoch) + 1;
    uint64_t states = gang__load(&s->cluster->nodes.states);
    if (s->nodes.epoch == epoch && s->nodes.states == states)
        return true;
    uint32_t end = gang__load(&s->cluster->commit.slot_end);
    if (!reserve_seen(s, end))
        return false;
    if (mark_lost(s, end) > 0) {
        s->external_events++;
        if (!gang__reports_nodes_lost(s, GANG__LOST_NODES))
            return false;
        forget_lost(s);
        (void)mark_lost(s, end); /* a slot may have another node by now */
    }
    s->nodes.epoch = epoch;
    s->nodes.states = states;
    return true;
}

/* ---- drains ---------------------------------------------------------------------------------- */

static struct gang__drain *drain_of(gang_sched *s, gang_node_id node)
{
    for (size_t i = 0; i < s->nodes.drain_count; i++)
        if (s->nodes.drain[i].node == node)
            return &s->nodes.drain[i];
    return NULL;
}

static void end_drain(gang_sched *s, gang_node_id node)
{
    struct gang__drain *drain = drain_of(s, node);
    if (drain)
        *drain = s->nodes.drain[--s->nodes.drain_count];
}

/* GANG_ENOMEM: the caller tries again. An unknown node is logged. */
static gang_result set_state(gang_sched *s, gang_node_id node, int32_t state, uint64_t stamp)
{
    gang_result r = gang__node_report_state(s->worker, node, state, stamp);
    if (r != GANG_OK && r != GANG_ENOMEM)
        gang__log_unknown(s, GANG_LOG_IGNORED, GANG_ID_NONE,
                          "a report about an unknown node is ignored");
    return r;
}

bool gang__nodes_lost(gang_sched *s, gang_node_id node, uint64_t stamp)
{
    gang_result r = set_state(s, node, GANG_NODE_DOWN, stamp);
    if (r != GANG_OK)
        return r != GANG_ENOMEM;
    end_drain(s, node);
    if (!gang__reports_nodes_lost(s, node))
        return false;
    if ((uint32_t)node < s->nodes.seen_cap && s->nodes.seen[(uint32_t)node].id == node)
        s->nodes.seen[(uint32_t)node] = (struct gang__seen_node){GANG_ID_NONE, false};
    return true;
}

bool gang__nodes_up(gang_sched *s, gang_node_id node, uint64_t stamp)
{
    gang_result r = set_state(s, node, GANG_NODE_UP, stamp);
    if (r == GANG_OK)
        end_drain(s, node);
    return r != GANG_ENOMEM;
}

bool gang__nodes_drain(gang_sched *s, gang_node_id node, uint64_t stamp, int64_t deadline_ns)
{
    if (!gang__grow(&s->mem, (void **)&s->nodes.drain, &s->nodes.drain_cap,
                    s->nodes.drain_count + 1, sizeof(*s->nodes.drain)))
        return false;
    gang_result r = set_state(s, node, GANG_NODE_DRAINING, stamp);
    if (r != GANG_OK)
        return r != GANG_ENOMEM;
    end_drain(s, node);
    if (deadline_ns != INT64_MAX) /* otherwise what runs there ends by itself */
        s->nodes.drain[s->nodes.drain_count++] = (struct gang__drain){node, deadline_ns, s->now_ns};
    return true;
}

/* Ask for the tasks on the node: those that the gang can spare, else the whole job. False: memory
 * is short, nothing is asked. */
static bool vacate(gang_sched *s, struct gang__gang *g, struct gang__report *r)
{
    size_t there = r->running.count;
    if (!gang__slice_has_run(g)) {
        gang__slice_undo_grant(s, g);
        return true;
    }
    gang__keep_spare(g, &r->running);
    if (r->running.count < there) {
        gang__job_stop(s, g->job, GANG_REASON_DRAIN, GANG_END_NONE);
        return true;
    }
    int64_t *tasks = gang__report_numbers(s, &r->running);
    int32_t begun = tasks ? gang__stop_tasks(s, g, tasks, there, GANG_REASON_DRAIN, GANG_END_NONE)
                          : (int32_t)GANG_ENOMEM;
    gang__release(&s->mem, tasks);
    if (begun != GANG_ENOMEM)
        gang__reports_continue(s, g->job);
    return begun != GANG_ENOMEM;
}

/* A gang that has tasks on the node: ask it for them, if the time of its queue has come. Lowers
 * *next to the time at which it is to be asked. */
static bool drain_gang(gang_sched *s, struct gang__gang *g, const struct gang__drain *drain,
                       int64_t *next)
{
    struct gang__report r = {.job = g->job, .gang = g};
    int64_t grace = g->job->leaf->q->grace_ns > 0 ? g->job->leaf->q->grace_ns : 0;
    int64_t ask = drain->deadline_ns < INT64_MIN + grace ? INT64_MIN : drain->deadline_ns - grace;
    bool ok = gang__report_look_up(s, &r, NULL, 0);
    gang__report_keep_node(s, &r.running, drain->node);
    if (ok && r.running.count > 0) {
        if (ask > s->now_ns)
            *next = gang__min(*next, ask);
        else
            ok = vacate(s, g, &r);
    }
    gang__report_free(s, &r);
    return ok;
}

static bool drain_jobs(gang_sched *s, const struct gang__drain *drain, int64_t *next)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count && job->state != GANG_JOB_ENDED; i++)
            if (!job->ending && job->gang[i].alloc != GANG_ID_NONE &&
                !drain_gang(s, &job->gang[i], drain, next))
                return false;
    }
    return true;
}

/* A job may have been adopted there meanwhile: until the deadline, look again then. */
static void drain_node(gang_sched *s, struct gang__drain *drain)
{
    struct gang_node_info info;
    info.size = sizeof(info);
    int64_t next = drain->deadline_ns > s->now_ns ? drain->deadline_ns : INT64_MAX;
    gang_result r = gang_node_get(s->cluster, drain->node, &info);
    if (r != GANG_OK || info.state != GANG_NODE_DRAINING) { /* the host changed it with core.h */
        end_drain(s, drain->node);
    } else if (!drain_jobs(s, drain, &next)) {
        s->no_memory = true;
        drain->due_ns = gang__add_sat(s->now_ns, 1);
    } else if (next == INT64_MAX) {
        end_drain(s, drain->node);
    } else {
        drain->due_ns = next;
    }
}

bool gang__nodes_step(gang_sched *s)
{
    for (size_t i = 0; i < s->nodes.drain_count; i++)
        if (s->nodes.drain[i].due_ns <= s->now_ns) {
            if (!gang__run_step(s))
                return false;
            drain_node(s, &s->nodes.drain[i]);
            return true;
        }
    return false;
}

int64_t gang__nodes_next(const gang_sched *s)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < s->nodes.drain_count; i++)
        next = gang__min(next, s->nodes.drain[i].due_ns);
    return next;
}

/* ---- copies ---------------------------------------------------------------------------------- */

bool gang__nodes_copy(gang_sched *s, const gang_sched *from)
{
    if (!reserve_seen(s, from->nodes.seen_cap) ||
        !gang__grow(&s->mem, (void **)&s->nodes.drain, &s->nodes.drain_cap, from->nodes.drain_count,
                    sizeof(*s->nodes.drain)))
        return false;
    for (size_t i = 0; i < s->nodes.seen_cap; i++)
        s->nodes.seen[i] = i < from->nodes.seen_cap ? from->nodes.seen[i]
                                                    : (struct gang__seen_node){GANG_ID_NONE, false};
    for (size_t i = 0; i < from->nodes.drain_count; i++)
        s->nodes.drain[i] = from->nodes.drain[i];
    s->nodes.drain_count = from->nodes.drain_count;
    s->nodes.epoch = 0; /* the copy's first run compares */
    return true;
}

void gang__nodes_free(gang_sched *s)
{
    gang__release(&s->mem, s->nodes.seen);
    gang__release(&s->mem, s->nodes.drain);
}
