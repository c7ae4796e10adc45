/* SPDX-License-Identifier: Apache-2.0 */
/* Which gangs, and which tasks of a gang, may be preempted at all, by any taker? */
#include <string.h>

#include "place/fit/fit.h"
#include "place/request/request.h"
#include "sched/preempt/preempt_in.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"

/* ---- may it be preempted at all? ------------------------------------------------------------- */

int64_t gang__victim_min_runtime_end(const struct gang__gang *g)
{
    return gang__add_sat(g->started_ns, g->job->leaf->q->min_runtime_ns);
}

/* The rule (GANG_PROTECTED_*) that protects the gang and all its tasks. */
static int32_t rule_of_gang(gang_sched *s, const struct gang__gang *g)
{
    const struct gang__queue *q = g->job->leaf->q;
    if (g->job->preemptible == GANG_NOT_PREEMPTIBLE)
        return GANG_PROTECTED_JOB;
    if (q->fixed)
        return GANG_PROTECTED_QUEUE;
    if (gang__stop_not_fenced(g) || g->stop.handover || g->stop.moving ||
        g->alloc == GANG_ID_NONE || g->job->ending ||
        g->tasks == 0) /* none of its tasks runs: preempting it frees nothing */
        return GANG_PROTECTED_STOPPING;
    if (g->preempt.took && !gang__slice_has_run(g)) /* others stopped for it */
        return GANG_PROTECTED_STOPPING;
    int64_t until = gang__victim_min_runtime_end(g);
    if (q->min_runtime_ns <= 0 || until <= s->now_ns || g->untold.start)
        return GANG_PROTECTED_NOT;
    s->preempt.min_runtime_due_ns =
        until < s->preempt.min_runtime_due_ns ? until : s->preempt.min_runtime_due_ns;
    return GANG_PROTECTED_MIN_RUNTIME;
}

bool gang__victim_is_protected(gang_sched *s, const struct gang__gang *g)
{
    return rule_of_gang(s, g) != GANG_PROTECTED_NOT;
}

static bool group_is_protected(const struct gang__gang *g, uint32_t group)
{
    const int32_t *protected_groups = g->job->options->protected_groups;
    return protected_groups && protected_groups[gang__group_in_job(g, group)];
}

static int64_t group_rank(const struct gang__gang *g, uint32_t group)
{
    const int64_t *order = g->job->options->group_order;
    return order ? order[gang__group_in_job(g, group)] : 0;
}

bool gang__may_preempt_whole(const struct gang__gang *g)
{
    if (g->job->preemptible != GANG_PREEMPTIBLE)
        return false;
    if (!g->job->options->protected_groups)
        return true;
    for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++)
        if (g->has[group] > 0 && group_is_protected(g, group))
            return false;
    return true;
}

/* ---- tasks above the minimum ----------------------------------------------------------------- */

struct gather {
    struct gang__cursor *c;
    gang_sched *s;
    const struct gang__gang *g;
    bool failed;
};

static int32_t gather_task(const struct gang_task *task, void *user)
{
    struct gather *g = user;
    const gang_request *owner = g->s->preempt.victims->owner;
    if (gang__stop_asked(g->s, g->g, task->task) ||
        (owner && !gang__is_guest_on(g->s->cluster, owner,
                                     &gang__gang_request(g->g)->group[task->group], task->node)))
        return 0;
    if (!gang__grow(&g->s->mem, (void **)&g->c->spare, &g->c->spare_cap, g->c->spares + 1,
                    sizeof(*g->c->spare)) ||
        !gang__grow(&g->s->mem, (void **)&g->c->spare_group, &g->c->group_cap, g->c->spares + 1,
                    sizeof(*g->c->spare_group)))
        g->failed = true;
    if (g->failed)
        return 1;
    g->c->spare[g->c->spares] = task->task;
    g->c->spare_group[g->c->spares++] = (uint32_t)task->group;
    return 0;
}

/* May one task of the group stop without the group, a group set or the gang falling below its
 * minimum? */
static bool can_spare(const struct gang__gang *gang, const int64_t *left, int64_t all,
                      uint32_t group)
{
    const gang_request *request = gang__gang_request(gang);
    for (uint32_t g = 0; g < request->group_count; g++)
        all += gang__gang_ended_for_min(gang, g);
    if (all <= request->min ||
        left[group] + gang__gang_ended_for_min(gang, group) <= request->group[group].min ||
        group_is_protected(gang, group))
        return false;
    for (int32_t at = request->group[group].set; at >= 0; at = request->set[at].parent) {
        int64_t in_set = 0;
        for (uint32_t g = 0; g < request->group_count; g++) {
            int32_t k = request->group[g].set;
            while (k >= 0 && k != at)
                k = request->set[k].parent;
            in_set += k == at ? left[g] + gang__gang_ended_for_min(gang, g) : 0;
        }
        if (in_set <= request->set[at].min)
            return false;
    }
    return true;
}

/* Order the tasks that may stop: groups by their order, in a group the highest number first. */
static size_t order_spares(struct gang__gang *g, struct gang__cursor *c, int64_t *left)
{
    size_t kept = 0;
    int64_t all = g->tasks;
    memcpy(left, g->has, gang__gang_request(g)->group_count * sizeof(*left));
    for (;;) {
        size_t best = SIZE_MAX;
        for (size_t i = kept; i < c->spares; i++) {
            if (!can_spare(g, left, all, c->spare_group[i]))
                continue;
            int64_t rank = group_rank(g, c->spare_group[i]);
            int64_t other = best == SIZE_MAX ? 0 : group_rank(g, c->spare_group[best]);
            if (best == SIZE_MAX || rank < other || (rank == other && c->spare[i] > c->spare[best]))
                best = i;
        }
        if (best == SIZE_MAX)
            return kept;
        int64_t task = c->spare[best];
        uint32_t group = c->spare_group[best];
        c->spare[best] = c->spare[kept];
        c->spare_group[best] = c->spare_group[kept];
        c->spare[kept] = task;
        c->spare_group[kept++] = group;
        left[group]--;
        all--;
    }
}

void gang__spares_load(gang_sched *s, struct gang__cursor *c, struct gang__gang *gang)
{
    struct gather g = {c, s, gang, false};
    c->spares = c->next = 0;
    if (gang__victim_is_protected(s, gang) ||
        gang->tasks + gang->ended <= gang__gang_request(gang)->min || gang__resumes_in_run(s, gang))
        return;
    if (gang__alloc_each(s->cluster, gang->alloc, gather_task, &g) != GANG_OK) {
        s->preempt.victims->failed = s->preempt.victims->failed || g.failed;
        c->spares = 0;
        return;
    }
    c->spares = order_spares(gang, c, s->by_group);
}

int32_t gang__victim_rule(gang_sched *s, struct gang__gang *g)
{
    struct gang__cursor c = {0};
    int32_t rule = rule_of_gang(s, g);
    if (rule != GANG_PROTECTED_NOT || gang__may_preempt_whole(g))
        return rule;
    gang__spares_load(s, &c, g);
    rule = c.spares > 0 ? GANG_PROTECTED_NOT : GANG_PROTECTED_JOB;
    gang__cursor_free(s, &c);
    return rule;
}
