/* SPDX-License-Identifier: Apache-2.0 */
/* gang_plan_each(): passes each entry of the calendar to a function of the host. */
#include <stdlib.h>
#include <string.h>

#include "sched/reserve/reserve.h"

struct telling {
    gang_sched *s;
    gang_plan_fn visit;
    void *user;
    gang_node_id *node; /* of the reported entry */
    size_t count, cap;
    bool failed;
};

static bool note_node(struct telling *t, gang_node_id node)
{
    if (!gang__grow(&t->s->mem, (void **)&t->node, &t->cap, t->count + 1, sizeof(*t->node)))
        t->failed = true;
    else
        t->node[t->count++] = node;
    return !t->failed;
}

static int by_slot(const void *a, const void *b)
{
    uint32_t x = (uint32_t) * (const gang_node_id *)a, y = (uint32_t) * (const gang_node_id *)b;
    return (x > y) - (x < y);
}

/* Each node once. */
static void sort_nodes(struct telling *t)
{
    size_t n = 0;
    if (t->count > 1)
        qsort(t->node, t->count, sizeof(*t->node), by_slot);
    for (size_t i = 0; i < t->count; i++)
        if (n == 0 || t->node[n - 1] != t->node[i])
            t->node[n++] = t->node[i];
    t->count = n;
}

static int32_t note_task(const struct gang_task *task, void *user)
{
    return !note_node(user, task->node);
}

static struct gang_plan_item item_of(const struct gang__gang *g, int32_t kind)
{
    struct gang_plan_item item;
    memset(&item, 0, sizeof(item));
    item.size = sizeof(item);
    item.what = kind;
    item.gang = (int32_t)g->index;
    item.id = g->job->id;
    item.cookie = g->job->cookie;
    item.name = g->job->name;
    item.reservation = g->reserve.inside_of ? g->reserve.inside_of->id : GANG_ID_NONE;
    return item;
}

static int32_t tell(struct telling *t, struct gang_plan_item *item)
{
    if (t->failed)
        return GANG_ENOMEM;
    sort_nodes(t);
    item->nodes = t->node;
    item->node_count = t->count;
    return t->visit(item, t->user);
}

static int32_t tell_running(struct telling *t, const struct gang__gang *g)
{
    gang_alloc_id held = gang__gang_holds(g);
    struct gang_plan_item item = item_of(g, GANG_PLAN_RUNNING);
    if (held == GANG_ID_NONE)
        return 0;
    item.start_ns = g->started_ns;
    item.end_ns = gang__calendar_end(t->s, g);
    t->count = 0;
    gang_result r = gang__alloc_each(t->s->cluster, held, note_task, t);
    if (r == GANG_EBUSY || r == GANG_ENOMEM)
        t->failed = true;
    return tell(t, &item);
}

static int32_t tell_planned(struct telling *t, const struct gang__gang *g)
{
    struct gang_plan_item item = item_of(g, GANG_PLAN_START);
    if (!g->calendar.plan)
        return 0;
    item.start_ns = g->calendar.planned_ns;
    item.end_ns = gang__calendar_end_from(t->s, g, g->calendar.planned_ns);
    t->count = 0;
    for (size_t i = 0; i < g->calendar.node_count; i++) {
        gang_node_id node = gang__node_id_at(t->s->cluster, g->calendar.node[i]);
        if (node != GANG_ID_NONE && !note_node(t, node))
            break;
    }
    return tell(t, &item);
}

static int32_t tell_units(struct telling *t,
                          int32_t (*one)(struct telling *, const struct gang__gang *))
{
    struct gang__set_link *n = gang__set_first(&t->s->by_id);
    int32_t r = 0;
    for (; n && r == 0; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count && r == 0; i++)
            r = one(t, &job->gang[i]);
    }
    return r;
}

static bool note_slot(uint32_t slot, void *user)
{
    struct telling *t = user;
    gang_node_id node = gang__node_id_at(t->s->cluster, slot);
    return node == GANG_ID_NONE || note_node(t, node);
}

static int32_t tell_pieces(struct telling *t, const struct gang__reserve *r)
{
    int32_t w = 0;
    for (const struct gang__reserve_piece *p = r->piece; p && w == 0; p = p->next) {
        struct gang_plan_item item;
        memset(&item, 0, sizeof(item));
        item.size = sizeof(item);
        item.what = GANG_PLAN_RESERVATION;
        item.gang = (int32_t)p->stage;
        item.id = item.reservation = r->id;
        item.name = r->name;
        item.instance = p->instance;
        item.start_ns = p->start_ns;
        item.end_ns = p->end_ns;
        t->count = 0;
        gang__reserve_each_node(p, note_slot, t);
        w = tell(t, &item);
    }
    return w;
}

gang_result gang_reservation_pieces(gang_sched *sched, gang_reservation_id id, gang_plan_fn visit,
                                    void *user)
{
    struct telling t = {sched, visit, user, NULL, 0, 0, false};
    if (!sched || !visit)
        return GANG_EINVAL;
    const struct gang__reserve *r = gang__reserve_of(sched, id);
    if (!r)
        return GANG_ESTALE;
    int32_t w = tell_pieces(&t, r);
    gang__release(&sched->mem, t.node);
    return w;
}

gang_result gang_plan_each(gang_sched *sched, gang_plan_fn visit, void *user)
{
    struct telling t = {sched, visit, user, NULL, 0, 0, false};
    if (!sched || !visit)
        return GANG_EINVAL;
    int32_t r = tell_units(&t, tell_running);
    if (r == 0)
        r = tell_units(&t, tell_planned);
    const struct gang__reserve *v = sched->reserve.all ? sched->reserve.all->first : NULL;
    for (; v && r == 0; v = v->next)
        r = tell_pieces(&t, v);
    gang__release(&sched->mem, t.node);
    return r;
}
