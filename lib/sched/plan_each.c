/* SPDX-License-Identifier: Apache-2.0 */
/* The plan, told: what runs until when, and who is to start when. */
#include <gangsched/forecast.h>

#include <stdlib.h>

#include "sched/ahead.h"

struct telling {
    gang_sched *s;
    gang_plan_fn visit;
    void *user;
    gang_node_id *node;
    size_t count, room;
};

static bool add_node(struct telling *t, gang_node_id node)
{
    if (!gang__grow(&t->s->mem, (void **)&t->node, &t->room, t->count + 1, sizeof(*t->node)))
        return false;
    t->node[t->count++] = node;
    return true;
}

static int32_t add_task(const struct gang_task *task, void *user)
{
    return add_node(user, task->node) ? GANG_OK : GANG_ENOMEM;
}

static int by_slot(const void *a, const void *b)
{
    uint32_t x = (uint32_t) * (const gang_node_id *)a, y = (uint32_t) * (const gang_node_id *)b;
    return (x > y) - (x < y);
}

static void sort_nodes(struct telling *t)
{
    size_t kept = 0;
    if (t->count > 1)
        qsort(t->node, t->count, sizeof(*t->node), by_slot);
    for (size_t i = 0; i < t->count; i++)
        if (kept == 0 || t->node[kept - 1] != t->node[i])
            t->node[kept++] = t->node[i];
    t->count = kept;
}

static int32_t tell(struct telling *t, const struct gang__unit *u, int32_t what, int64_t start_ns,
                    int64_t end_ns)
{
    sort_nodes(t);
    struct gang_plan_entry e = {sizeof(e), u->job->id, u->job->cookie, (int32_t)u->part, what,
                                start_ns,  end_ns,     t->node,        t->count};
    return t->visit(&e, t->user);
}

static int32_t tell_running(struct telling *t, const struct gang__unit *u)
{
    gang_alloc_id alloc = gang__unit_holds(u);
    if (alloc == GANG_ID_NONE)
        return GANG_OK;
    gang_result r = gang_alloc_each(t->s->cluster, alloc, add_task, t);
    return r == GANG_OK ? tell(t, u, GANG_PLAN_RUNS, u->started_ns, gang__ahead_end(t->s, u)) : r;
}

/* Of nodes that went since, nothing is told. */
static int32_t tell_planned(struct telling *t, const struct gang__unit *u)
{
    if (!u->plan)
        return GANG_OK;
    for (size_t i = 0; i < u->plan_slots; i++) {
        gang_node_id node = gang_node_next(t->s->cluster, u->plan_slot[i] - 1);
        if ((uint32_t)node == u->plan_slot[i] && !add_node(t, node))
            return GANG_ENOMEM;
    }
    int64_t lasts = gang__ahead_estimate(t->s, u);
    return tell(t, u, GANG_PLAN_STARTS, u->planned_ns, gang__add_sat(u->planned_ns, lasts));
}

static int32_t tell_all(struct telling *t,
                        int32_t (*tell_one)(struct telling *, const struct gang__unit *))
{
    int32_t r = GANG_OK;
    for (struct gang__tree_link *n = gang__ordered_first(&t->s->by_id); n && r == GANG_OK;
         n = gang__ordered_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, all, n);
        for (uint32_t i = 0; i < job->unit_count && r == GANG_OK; i++) {
            t->count = 0;
            r = tell_one(t, &job->unit[i]);
        }
    }
    return r;
}

gang_result gang_plan_each(gang_sched *sched, gang_plan_fn visit, void *user)
{
    if (!sched || !visit)
        return GANG_EINVAL;
    struct telling t = {sched, visit, user, NULL, 0, 0};
    int32_t r = tell_all(&t, tell_running);
    if (r == GANG_OK)
        r = tell_all(&t, tell_planned);
    gang__release(&sched->mem, t.node);
    return r;
}
