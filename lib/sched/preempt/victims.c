/* SPDX-License-Identifier: Apache-2.0 */
/* Which gangs may be preempted at all, and in which order: a heap of cursors, two for each leaf. */
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
    if (q->min_runtime_ns <= 0 || until <= s->now_ns)
        return GANG_PROTECTED_NOT;
    s->preempt.min_runtime_due_ns =
        until < s->preempt.min_runtime_due_ns ? until : s->preempt.min_runtime_due_ns;
    return GANG_PROTECTED_MIN_RUNTIME;
}

static bool is_protected(gang_sched *s, const struct gang__gang *g)
{
    return rule_of_gang(s, g) != GANG_PROTECTED_NOT;
}

static bool group_is_protected(const struct gang__gang *g, uint32_t group)
{
    const int32_t *protected_groups = g->job->protected_groups;
    return protected_groups && protected_groups[gang__group_in_job(g, group)];
}

static int64_t group_rank(const struct gang__gang *g, uint32_t group)
{
    const int64_t *order = g->job->group_order;
    return order ? order[gang__group_in_job(g, group)] : 0;
}

bool gang__may_preempt_whole(const struct gang__gang *g)
{
    if (g->job->preemptible != GANG_PREEMPTIBLE)
        return false;
    if (!g->job->protected_groups)
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
        (owner &&
         !gang__node_is_borrowed(g->s->cluster, owner,
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

static void load_spares(gang_sched *s, struct gang__cursor *c, struct gang__gang *gang)
{
    struct gather g = {c, s, gang, false};
    c->spares = c->next = 0;
    if (is_protected(s, gang) || gang->tasks + gang->ended <= gang__gang_request(gang)->min)
        return;
    if (gang__alloc_each(s->cluster, gang->alloc, gather_task, &g) != GANG_OK) {
        s->preempt.victims->failed = s->preempt.victims->failed || g.failed;
        c->spares = 0;
        return;
    }
    c->spares = order_spares(gang, c, s->by_group);
}

/* ---- cursors --------------------------------------------------------------------------------- */

static struct gang__gang *gang_at_link(const struct gang__cursor *c, struct gang__set_link *n)
{
    return c->whole ? GANG__OF(struct gang__gang, victim.link, n)
                    : GANG__OF(struct gang__gang, victim.elastic_link, n);
}

static struct gang__gang *gang_at(const struct gang__cursor *c)
{
    return gang_at_link(c, c->at);
}

enum {
    FARTHER = GANG__VICTIMS_AHEAD * 3 / 4,
    FAR = GANG__VICTIMS_AHEAD / 2,
    NEAR = GANG__VICTIMS_AHEAD / 4
};

/* The members of a gang that the rules and the dry run read, each on another cache line. */
static void prefetch_gang(const struct gang__gang *g)
{
    __builtin_prefetch(g);
    __builtin_prefetch(&g->stop.first);
    __builtin_prefetch(&g->victim.tentative);
    __builtin_prefetch(&g->preempt.took);
}

static void prefetch_job(const struct gang__job *job)
{
    __builtin_prefetch(&job->leaf);
    __builtin_prefetch(&job->ending);
}

static const struct gang__gang *ahead_of(const struct gang__cursor *c, uint32_t i)
{
    return gang_at_link(c, c->coming[(c->first + i) % GANG__VICTIMS_AHEAD]);
}

/* Prefetch: thousands of victims lie all over the memory, and cache misses are most of the cost.
 * Two at a time, so that a short search does not prefetch many. */
static void prefetch_next(gang_sched *s, struct gang__cursor *c)
{
    for (int i = 0; i < 2 && c->known < GANG__VICTIMS_AHEAD && c->walk.at; i++) {
        struct gang__set_link *next = gang__set_walk_next(&c->walk);
        if (!next)
            return;
        c->coming[(c->first + c->known++) % GANG__VICTIMS_AHEAD] = next;
        prefetch_gang(gang_at_link(c, next));
    }
    if (c->known > FARTHER)
        prefetch_job(ahead_of(c, FARTHER)->job);
    if (c->known > FAR)
        gang__alloc_prefetch(s->cluster, ahead_of(c, FAR)->alloc);
    if (c->known > NEAR)
        gang__snapshot_prefetch(s->scratch, s->worker, ahead_of(c, NEAR)->alloc);
}

static struct gang__set_link *next_link(gang_sched *s, struct gang__cursor *c)
{
    struct gang__set_link *next = NULL;
    prefetch_next(s, c);
    if (c->known > 0) {
        next = c->coming[c->first];
        c->first = (c->first + 1) % GANG__VICTIMS_AHEAD;
        c->known--;
    }
    return next;
}

/* Step to the next gang that may be preempted. False: there is none. */
static bool settle_cursor(gang_sched *s, struct gang__cursor *c)
{
    for (; c->at; c->at = next_link(s, c)) {
        struct gang__gang *g = gang_at(c);
        if (c->whole && !is_protected(s, g) && gang__may_preempt_whole(g))
            return true;
        if (!c->whole)
            load_spares(s, c, g);
        if (c->next < c->spares)
            return true;
    }
    return false;
}

/* Does the victim of cursor `a` come before that of `b`? */
static bool comes_before(const struct gang__cursor *a, const struct gang__cursor *b)
{
    const struct gang__job *x = gang_at(a)->job, *y = gang_at(b)->job;
    if (x->priority != y->priority)
        return x->priority < y->priority;
    if (a->whole != b->whole)
        return !a->whole;
    return x->age != y->age ? x->age > y->age : x->id > y->id;
}

static void heap_sift(struct gang__victims *v, size_t at)
{
    for (;;) {
        size_t least = at, child = 2 * at + 1;
        for (size_t k = child; k < child + 2 && k < v->cursors; k++)
            if (comes_before(&v->cursor[k], &v->cursor[least]))
                least = k;
        if (least == at)
            return;
        struct gang__cursor swap = v->cursor[at];
        v->cursor[at] = v->cursor[least];
        v->cursor[least] = swap;
        at = least;
    }
}

static void free_cursor(gang_sched *s, struct gang__cursor *c)
{
    gang__release(&s->mem, c->spare);
    gang__release(&s->mem, c->spare_group);
}

void gang__victims_close(gang_sched *s)
{
    struct gang__victims *v = s->preempt.victims;
    for (size_t i = 0; i < v->cursors; i++)
        free_cursor(s, &v->cursor[i]);
    v->cursors = 0;
    v->given = v->passed = false;
}

int32_t gang__victim_rule(gang_sched *s, struct gang__gang *g)
{
    struct gang__cursor c = {0};
    int32_t rule = rule_of_gang(s, g);
    if (rule != GANG_PROTECTED_NOT || gang__may_preempt_whole(g))
        return rule;
    load_spares(s, &c, g);
    rule = c.spares > 0 ? GANG_PROTECTED_NOT : GANG_PROTECTED_JOB;
    free_cursor(s, &c);
    return rule;
}

static bool add_cursor(gang_sched *s, const struct gang__ordered_set *gangs, bool whole)
{
    struct gang__victims *v = s->preempt.victims;
    if (gangs->count == 0)
        return true;
    if (!gang__grow(&s->mem, (void **)&v->cursor, &v->cursor_cap, v->cursors + 1,
                    sizeof(*v->cursor)))
        return false;
    struct gang__cursor *c = &v->cursor[v->cursors];
    memset(c, 0, sizeof(*c));
    c->whole = whole;
    c->at = gang__set_first(gangs);
    c->walk = gang__set_walk_from(c->at);
    if (settle_cursor(s, c))
        v->cursors++;
    else
        free_cursor(s, c);
    return true;
}

bool gang__victims_open(gang_sched *s, const struct gang__queue_state *mine, bool own, bool others)
{
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__queue_state *leaf = s->qs[i];
        if (!leaf->q->leaf || (leaf == mine ? !own : !others))
            continue;
        if (!add_cursor(s, &leaf->elastic_victims, false) || !add_cursor(s, &leaf->victims, true))
            return false;
    }
    for (size_t i = s->preempt.victims->cursors / 2; i-- > 0;)
        heap_sift(s->preempt.victims, i);
    return true;
}

/* Step past the current victim. False: there is none after it. */
static bool step_cursor(gang_sched *s, struct gang__cursor *c)
{
    if (!c->whole && ++c->next < c->spares)
        return true;
    c->at = next_link(s, c);
    return settle_cursor(s, c);
}

/* Step past the victim that was returned last. */
static void step(gang_sched *s, struct gang__victims *v)
{
    struct gang__cursor *c = &v->cursor[0];
    if (v->passed || !step_cursor(s, c)) {
        free_cursor(s, c);
        *c = v->cursor[--v->cursors];
    }
    v->given = v->passed = false;
    heap_sift(v, 0);
}

bool gang__victims_next(gang_sched *s, struct gang__victim *out)
{
    struct gang__victims *v = s->preempt.victims;
    if (v->given)
        step(s, v);
    if (v->cursors == 0)
        return false;
    const struct gang__cursor *c = &v->cursor[0];
    memset(out, 0, sizeof(*out));
    out->g = gang_at(c);
    out->whole = c->whole;
    if (!c->whole) {
        out->task = c->spare[c->next];
        out->group = c->spare_group[c->next];
    }
    v->given = true;
    return true;
}

void gang__victims_skip_leaf(gang_sched *s)
{
    s->preempt.victims->passed = true;
}

void gang__victims_drop_leaf(gang_sched *s, const struct gang__queue_state *leaf)
{
    struct gang__victims *v = s->preempt.victims;
    size_t at = 0;
    while (at < v->cursors && !(v->cursor[at].whole && gang_at(&v->cursor[at])->job->leaf == leaf))
        at++;
    if (at == v->cursors)
        return;
    if (at == 0 && v->given) { /* the next step does it */
        v->passed = true;
        return;
    }
    free_cursor(s, &v->cursor[at]);
    v->cursor[at] = v->cursor[--v->cursors];
    for (size_t i = v->cursors / 2; i-- > 0;)
        heap_sift(v, i);
}

void gang__preempt_free(gang_sched *s)
{
    struct gang__victims *v = s->preempt.victims;
    if (!v)
        return;
    gang__victims_close(s);
    gang__release(&s->mem, v->list);
    gang__release(&s->mem, v->tasks);
    gang__release(&s->mem, v->kept);
    gang__release(&s->mem, v->theirs);
    gang__release(&s->mem, v->before);
    gang__release(&s->mem, v->cursor);
    gang__release(&s->mem, v->batches.pending);
    gang__release(&s->mem, v);
}
