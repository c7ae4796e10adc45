/* SPDX-License-Identifier: Apache-2.0 */
/* Making room: who is displaced so that a unit, which found none, starts.
 *
 * Everything is planned on a copy of the cluster and on the books, which are put back when the plan fails:
 *   1. Victims are taken in order (lowest priority, tasks above a minimum before whole gangs, newest first), as
 *      far as the rules let the taker take them (rules.md: reclaim and preempt), until he fits his queue's limits
 *      and a place is found. The place is looked for when the amounts suffice, and then each time as many more
 *      victims were taken as there are.
 *   2. From the last victim to the first: who can stay where he is does; whoever fits elsewhere is moved.
 *   3. The rest is asked to go, for this taker and this place (leave.c).
 * Nobody goes unless the taker then starts. Consolidation is the same with everybody as a candidate, and fails
 * if anybody is lost. */
#include <stdlib.h>
#include <string.h>

#include "place/request.h"
#include "sched/state.h"

enum mode {
    MOVE,    /* consolidation */
    RECLAIM, /* from other queues */
    PREEMPT, /* in its own queue */
    BOTH     /* first its own queue, then the others: with less of its own it may be entitled */
};

enum { MOST_MOVABLE = 1024 }; /* candidates of a consolidation */

struct victim {
    struct gang__unit *u;
    bool whole, stays;
    bool told;                 /* one that goes alone: it is among those of a leave */
    struct gang__leave *leave; /* made out, before anybody is asked */
    int64_t task;              /* one above the minimum, if not whole */
    uint32_t group;
    struct gang__places to; /* moved there */
};

/* What is taken of a unit, in this plan: its tasks that are victims on their own. */
struct gang__victims {
    struct victim *list;
    size_t count, room;
    int64_t *tasks; /* scratch: numbers of a unit's tasks */
    size_t task_room;
    struct cursor *cursor; /* one a leaf, a heap by what comes next */
    size_t cursors, cursor_room;
    bool failed; /* memory was short: the plan is not what it should be, and is given up */
};

/* Where a leaf's victims are: all of a priority that have tasks above their minimum, newest first, and then
 * the same units as a whole. */
struct cursor {
    struct gang__qs *leaf;
    struct gang__tree_link *first, *at; /* of this priority; the unit that is next */
    bool whole;
    /* Tasks of the unit that may go one by one, in this order. */
    int64_t *spare;
    uint32_t *spare_group;
    size_t spares, spare_room, group_room, next;
};

struct plan {
    gang_sched *s;
    struct gang__unit *taker;
    enum mode mode;
    const struct gang__take *take; /* what he asks for */
    uint32_t count;
    int32_t grow_group;                    /* -1: his gang; */
    int64_t step;                          /* else so many tasks of it, */
    struct gang__take of_step[GANG__DIMS]; /* which take this */
    int64_t tasks;                         /* of all victims */
    bool fair;                             /* reclaim: only what lies above fair shares, so far */
    bool again;                            /* some of the candidates are victims already */
    bool looked;                           /* sched.base is the cluster as it is */
};

/* ---- may it be displaced at all? -------------------------------------------------------------------------- */

static bool is_sacred(gang_sched *s, const struct gang__unit *u)
{
    const struct gang__queue *q = u->job->leaf->q;
    if (u->job->preemptible == GANG_NOT_PREEMPTIBLE || q->fixed || u->leaves || u->claim ||
        u->alloc == GANG_ID_NONE || u->job->ending || u->took_in == s->runs ||
        u->tasks == 0) /* nothing of it runs: nothing is gained */
        return true;
    int64_t until = gang__add_sat(u->started_ns, q->min_runtime_ns);
    if (q->min_runtime_ns <= 0 || until <= s->now_ns)
        return false;
    s->grown_up_ns = until < s->grown_up_ns ? until : s->grown_up_ns;
    return true;
}

static bool group_is_protected(const struct gang__unit *u, uint32_t group)
{
    const int32_t *protected_groups = u->job->protected_groups;
    return protected_groups && protected_groups[u->group_of ? u->group_of[group] : (int32_t)group];
}

static int64_t group_rank(const struct gang__unit *u, uint32_t group)
{
    const int64_t *order = u->job->group_order;
    return order ? order[u->group_of ? u->group_of[group] : (int32_t)group] : 0;
}

static bool may_fall_whole(const struct gang__unit *u)
{
    if (u->job->preemptible != GANG_PREEMPTIBLE)
        return false;
    for (uint32_t g = 0; g < gang__unit_request(u)->group_count; g++)
        if (u->has[g] > 0 && group_is_protected(u, g))
            return false;
    return true;
}

/* ---- tasks above the minimum ------------------------------------------------------------------------------ */

struct gather {
    struct cursor *c;
    gang_sched *s;
    const struct gang__unit *u;
    bool failed;
};

static int32_t gather_task(const struct gang_task *task, void *user)
{
    struct gather *g = user;
    if (gang__leave_asked(g->s, g->u, task->task))
        return 0;
    if (!gang__grow(&g->s->mem, (void **)&g->c->spare, &g->c->spare_room, g->c->spares + 1,
                    sizeof(*g->c->spare)) ||
        !gang__grow(&g->s->mem, (void **)&g->c->spare_group, &g->c->group_room, g->c->spares + 1,
                    sizeof(*g->c->spare_group)))
        g->failed = true;
    if (g->failed)
        return 1;
    g->c->spare[g->c->spares] = task->task;
    g->c->spare_group[g->c->spares++] = (uint32_t)task->group;
    return 0;
}

/* Could one task of the group go without the group, a set or the unit falling below its minimum? */
static bool can_spare(const struct gang__unit *u, const int64_t *left, int64_t all, uint32_t group)
{
    const gang_request *q = gang__unit_request(u);
    for (uint32_t g = 0; g < q->group_count; g++)
        all += gang__unit_counts(u, g);
    if (all <= q->min || left[group] + gang__unit_counts(u, group) <= q->group[group].min ||
        group_is_protected(u, group))
        return false;
    for (int32_t at = q->group[group].set; at >= 0; at = q->set[at].parent) {
        int64_t in_set = 0;
        for (uint32_t g = 0; g < q->group_count; g++) {
            int32_t k = q->group[g].set;
            while (k >= 0 && k != at)
                k = q->set[k].parent;
            in_set += k == at ? left[g] + gang__unit_counts(u, g) : 0;
        }
        if (in_set <= q->set[at].min)
            return false;
    }
    return true;
}

/* Put what may go into the order in which it goes: groups that are given up first, in a group the newest. */
static size_t order_spares(struct gang__unit *u, struct cursor *c, int64_t *left)
{
    size_t kept = 0;
    int64_t all = u->tasks;
    memcpy(left, u->has, gang__unit_request(u)->group_count * sizeof(*left));
    for (;;) {
        size_t best = SIZE_MAX;
        for (size_t i = kept; i < c->spares; i++) {
            if (!can_spare(u, left, all, c->spare_group[i]))
                continue;
            int64_t rank = group_rank(u, c->spare_group[i]);
            int64_t other = best == SIZE_MAX ? 0 : group_rank(u, c->spare_group[best]);
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

static void load_spares(gang_sched *s, struct cursor *c, struct gang__unit *u)
{
    struct gather g = {c, s, u, false};
    c->spares = c->next = 0;
    if (is_sacred(s, u) || u->tasks + u->ended <= gang__unit_request(u)->min)
        return;
    if (gang_alloc_each(s->cluster, u->alloc, gather_task, &g) != GANG_OK) {
        s->victims->failed = s->victims->failed || g.failed;
        c->spares = 0;
        return;
    }
    c->spares = order_spares(u, c, s->by_group);
}

/* ---- cursors -------------------------------------------------------------------------------------------------- */

static struct gang__unit *unit_at(struct gang__tree_link *n)
{
    return GANG__OF(struct gang__unit, fall, n);
}

/* On to something that could fall. False: there is nothing more. */
static bool settle_cursor(gang_sched *s, struct cursor *c)
{
    while (c->at) {
        struct gang__unit *u = unit_at(c->at);
        if (!c->whole && c->next < c->spares)
            return true;
        if (c->whole && !is_sacred(s, u) && may_fall_whole(u))
            return true;
        struct gang__tree_link *next = gang__ordered_next(c->at);
        bool same = next && unit_at(next)->job->priority == unit_at(c->first)->job->priority;
        if (same) {
            c->at = next;
        } else if (!c->whole) {
            c->whole = true;
            c->at = c->first;
        } else {
            c->whole = false;
            c->at = c->first = next;
        }
        if (c->at && !c->whole)
            load_spares(s, c, unit_at(c->at));
    }
    return false;
}

/* Which of two leaves has the next victim? */
static bool comes_before(const struct cursor *a, const struct cursor *b)
{
    const struct gang__job *x = unit_at(a->at)->job, *y = unit_at(b->at)->job;
    if (x->priority != y->priority)
        return x->priority < y->priority;
    if (a->whole != b->whole)
        return !a->whole;
    return x->age != y->age ? x->age > y->age : x->id > y->id;
}

static void sift(struct gang__victims *v, size_t at)
{
    for (;;) {
        size_t least = at, child = 2 * at + 1;
        for (size_t k = child; k < child + 2 && k < v->cursors; k++)
            if (comes_before(&v->cursor[k], &v->cursor[least]))
                least = k;
        if (least == at)
            return;
        struct cursor swap = v->cursor[at];
        v->cursor[at] = v->cursor[least];
        v->cursor[least] = swap;
        at = least;
    }
}

static void free_cursors(gang_sched *s, struct gang__victims *v)
{
    for (size_t i = 0; i < v->cursors; i++) {
        if (v->cursor[i].spare)
            gang__release(&s->mem, v->cursor[i].spare);
        if (v->cursor[i].spare_group)
            gang__release(&s->mem, v->cursor[i].spare_group);
    }
    v->cursors = 0;
}

static bool add_cursor(gang_sched *s, struct gang__qs *leaf)
{
    struct gang__victims *v = s->victims;
    if (!gang__grow(&s->mem, (void **)&v->cursor, &v->cursor_room, v->cursors + 1,
                    sizeof(*v->cursor)))
        return false;
    struct cursor *c = &v->cursor[v->cursors];
    memset(c, 0, sizeof(*c));
    c->leaf = leaf;
    c->first = c->at = gang__ordered_first(&leaf->fall);
    if (!c->at)
        return true;
    v->cursors++;
    load_spares(s, c, unit_at(c->at));
    if (settle_cursor(s, c))
        return true;
    if (c->spare)
        gang__release(&s->mem, c->spare);
    if (c->spare_group)
        gang__release(&s->mem, c->spare_group);
    v->cursors--;
    return true;
}

/* The next victim of all leaves; false: there is none. */
static bool next_victim(gang_sched *s, struct victim *out)
{
    struct gang__victims *v = s->victims;
    if (v->cursors == 0)
        return false;
    struct cursor *c = &v->cursor[0];
    memset(out, 0, sizeof(*out));
    out->u = unit_at(c->at);
    out->whole = c->whole;
    if (!c->whole) {
        out->task = c->spare[c->next];
        out->group = c->spare_group[c->next++];
    } else {
        struct gang__tree_link *next = gang__ordered_next(c->at);
        bool same = next && unit_at(next)->job->priority == unit_at(c->first)->job->priority;
        c->at = next;
        if (!same) {
            c->whole = false;
            c->first = next;
            if (next)
                load_spares(s, c, unit_at(next));
        }
    }
    if (!settle_cursor(s, c)) {
        struct cursor last = v->cursor[--v->cursors];
        if (c->spare)
            gang__release(&s->mem, c->spare);
        if (c->spare_group)
            gang__release(&s->mem, c->spare_group);
        if (v->cursors > 0)
            v->cursor[0] = last;
    }
    sift(v, 0);
    return true;
}

/* ---- the rules ---------------------------------------------------------------------------------------------------- */

/* The two children of the queue where the branches of two leaves part. */
static void part(struct gang__qs *a, struct gang__qs *b, struct gang__qs **taker,
                 struct gang__qs **giver)
{
    while (a->q->depth > b->q->depth)
        a = a->parent;
    while (b->q->depth > a->q->depth)
        b = b->parent;
    while (a->parent != b->parent) {
        a = a->parent;
        b = b->parent;
    }
    *taker = a;
    *giver = b;
}

/* Does a queue manage some of what is asked for, and use no more of that than it was promised? */
static bool is_inside_guarantee(const struct plan *p, const struct gang__qs *q)
{
    bool managed = false;
    for (uint32_t i = 0; i < p->count; i++)
        managed = managed || q->guarantee[p->take[i].dim] != GANG__NO_BOUND;
    return managed && !gang__over(p->s, q, q->guarantee, p->take, p->count);
}

/* Below the queue that gives: who keeps to his guarantee does not pay for a sibling that does not; and as long as
 * there are others, nor who keeps to his share, for he would take it back from them. */
static bool may_give(const struct plan *p, const struct gang__qs *leaf,
                     const struct gang__qs *giver)
{
    for (const struct gang__qs *q = leaf; q != giver; q = q->parent)
        if (is_inside_guarantee(p, q) ||
            (p->fair && !gang__over(p->s, q, q->share, p->take, p->count)))
            return false;
    return true;
}

/* Reclaim, with what was taken from the giver so far: who stays inside his fair share may take from one above
 * his; who stays inside his guarantee may take from one above his. */
static bool may_reclaim(const struct plan *p, const struct gang__unit *victim)
{
    struct gang__qs *a, *b, *leaf = p->taker->job->leaf;
    if (leaf->q->reclaim == GANG_DISPLACE_NEVER ||
        (leaf->q->reclaim == GANG_DISPLACE_LOWER &&
         victim->job->priority >= p->taker->job->priority))
        return false;
    part(leaf, victim->job->leaf, &a, &b);
    if (!may_give(p, victim->job->leaf, b))
        return false;
    bool over_share = gang__over(p->s, b, b->share, p->take, p->count);
    if (over_share && gang__stays(a, a->share, a->used, p->take, p->count))
        return true;
    return (over_share || !p->fair) && gang__stays(a, a->guarantee, a->used, p->take, p->count) &&
           gang__over(p->s, b, b->guarantee, p->take, p->count);
}

static bool may_preempt(const struct plan *p, const struct gang__unit *victim)
{
    const struct gang__job *x = p->taker->job, *y = victim->job;
    switch (x->leaf->q->within) {
    case GANG_DISPLACE_NEVER:
        return false;
    case GANG_DISPLACE_LOWER_OR_NEWER:
        return y->priority < x->priority || (y->priority == x->priority && y->age > x->age);
    default:
        return y->priority < x->priority;
    }
}

static bool may_take(const struct plan *p, const struct gang__unit *victim)
{
    if (victim == p->taker || victim->job == p->taker->job || victim->doomed)
        return false;
    if (p->mode == MOVE)
        return may_fall_whole(victim);
    return victim->job->leaf == p->taker->job->leaf ? may_preempt(p, victim)
                                                    : may_reclaim(p, victim);
}

/* Is the taker's branch, with him, inside its guarantee? */
static bool is_inside(const struct gang__qs *a, const struct plan *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (a->used[p->take[i].dim] > a->guarantee[p->take[i].dim])
            return false;
    return true;
}

/* Would the taker end relatively fuller than a giver? Compared where their branches part, after it all. */
static bool overshoots(const struct plan *p, const struct gang__unit *victim)
{
    struct gang__qs *a, *b;
    struct gang__ratio taker, giver;
    if (victim->job->leaf == p->taker->job->leaf)
        return false;
    part(p->taker->job->leaf, victim->job->leaf, &a, &b);
    if (is_inside(a, p))
        return false;
    taker = gang__fair_ratio(p->s, a, a->share, NULL, 0);
    giver = gang__fair_ratio(p->s, b, b->share, NULL, 0);
    if (taker.num <= taker.den)
        return false;
    taker.num = gang__mul_div(taker.num, p->s->opts.saturation_milli, 1000);
    return gang__ratio_compare(taker, giver) >= 0;
}

/* ---- taking and putting back, on the copy and the books --------------------------------------------------------------- */

static void shift(struct plan *p, const struct victim *v, int64_t sign)
{
    struct gang__unit *u = v->u;
    const struct gang__asked *ask = u->ask;
    for (uint32_t g = 0; g < gang__unit_request(u)->group_count; g++) {
        int64_t tasks = v->whole ? u->has[g] - u->taken[g] : (g == v->group);
        gang__books_shift(u->job->leaf, ask, g, sign * tasks);
        p->tasks -= sign * tasks;
    }
}

struct rest {
    gang_sched *s;
    const struct gang__unit *u;
    size_t count;
    bool failed;
};

static bool is_taken_alone(const gang_sched *s, const struct gang__unit *u, int64_t task)
{
    const struct gang__victims *v = s->victims;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].u == u && !v->list[i].whole && !v->list[i].stays && v->list[i].task == task)
            return true;
    return false;
}

static int32_t rest_task(const struct gang_task *task, void *user)
{
    struct rest *r = user;
    struct gang__victims *v = r->s->victims;
    if (is_taken_alone(r->s, r->u, task->task) || gang__leave_asked(r->s, r->u, task->task))
        return 0;
    if (!gang__grow(&r->s->mem, (void **)&v->tasks, &v->task_room, r->count + 1,
                    sizeof(*v->tasks))) {
        r->failed = true;
        return 1;
    }
    v->tasks[r->count++] = task->task;
    return 0;
}

static bool some_taken(const struct gang__unit *u)
{
    for (uint32_t g = 0; g < gang__unit_request(u)->group_count; g++)
        if (u->taken[g])
            return true;
    return false;
}

static gang_result on_copy(struct plan *p, const struct victim *v, bool back)
{
    gang_sched *s = p->s;
    struct rest r = {s, v->u, 0, false};
    if (!v->whole)
        return back ? gang__snapshot_retake_tasks(s->scratch, v->u->alloc, &v->task, 1)
                    : gang__snapshot_release_tasks(s->scratch, v->u->alloc, &v->task, 1);
    if (!some_taken(v->u) && v->u->ungiven == 0)
        return back ? gang__snapshot_retake(s->scratch, v->u->alloc)
                    : gang_snapshot_release(s->scratch, v->u->alloc);
    (void)!gang_alloc_each(s->cluster, v->u->alloc, rest_task, &r);
    if (r.failed)
        return GANG_ENOMEM;
    if (r.count == 0)
        return GANG_OK;
    return back ? gang__snapshot_retake_tasks(s->scratch, v->u->alloc, s->victims->tasks, r.count)
                : gang__snapshot_release_tasks(s->scratch, v->u->alloc, s->victims->tasks, r.count);
}

static bool take_victim(struct plan *p, const struct victim *v)
{
    struct gang__victims *vs = p->s->victims;
    gang_result r = GANG_ENOMEM;
    if (gang__grow(&p->s->mem, (void **)&vs->list, &vs->room, vs->count + 1, sizeof(*vs->list)))
        r = on_copy(p, v, false);
    vs->failed = vs->failed || r == GANG_ENOMEM;
    if (r != GANG_OK)
        return false;
    shift(p, v, -1);
    if (!v->whole)
        v->u->taken[v->group]++;
    vs->list[vs->count++] = *v;
    return true;
}

/* ---- does it suffice? --------------------------------------------------------------------------------------------------- */

static bool amounts_suffice(const struct plan *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t d = p->take[i].dim;
        if (p->s->total[d] - p->s->root.used[d] < p->take[i].amount)
            return false;
    }
    return true;
}

static bool quota_suffices(const struct plan *p)
{
    uint32_t dim;
    int32_t why;
    return gang__books_refuse(p->s, p->taker->job->leaf, p->take, p->count, p->taker->bin->fixed,
                              &dim, &why) == NULL;
}

static gang_result grow_on_copy(struct plan *p)
{
    gang_sched *s = p->s;
    gang_result r = gang__growth_ended(s->worker, p->taker->done);
    if (r == GANG_OK)
        r = gang__snapshot_grow_told(s->worker, s->scratch, p->taker->alloc, p->grow_group, p->step,
                                     &s->told);
    (void)!gang__growth_ended(s->worker, NULL);
    return r;
}

static bool place(struct plan *p)
{
    gang_sched *s = p->s;
    if (!amounts_suffice(p) || !quota_suffices(p))
        return false;
    gang_result r = p->grow_group >= 0 ? grow_on_copy(p)
                                       : gang__snapshot_place_told(s->worker, s->scratch,
                                                                   p->taker->ask->q, &s->told);
    s->victims->failed = s->victims->failed || r == GANG_ENOMEM;
    return r == GANG_OK;
}

/* ---- victims --------------------------------------------------------------------------------------------------------------- */

static bool collect_leaves(gang_sched *s, const struct plan *p, bool own, bool others)
{
    struct gang__qs *mine = p->taker->job->leaf;
    for (uint32_t i = 0; i < s->queues->count; i++) {
        struct gang__qs *leaf = s->qs[i];
        if (!leaf->q->leaf || leaf->fall.count == 0 || (leaf == mine ? !own : !others))
            continue;
        if (!add_cursor(s, leaf))
            return false;
    }
    for (size_t i = s->victims->cursors / 2; i-- > 0;)
        sift(s->victims, i);
    return true;
}

/* Take victims until the taker has a place. */
static bool take_some(struct plan *p, bool own, bool others)
{
    gang_sched *s = p->s;
    struct victim v;
    size_t next = s->victims->count + 1, tested = 0;
    bool found = false;
    if (!collect_leaves(s, p, own, others))
        s->victims->failed = true;
    while (!found && next_victim(s, &v)) {
        s->steps++; /* but a plan is not cut short: the next run could only begin it anew */
        if (!may_take(p, v.u) ||
            (p->again && !v.whole && v.u->taken[v.group] && is_taken_alone(s, v.u, v.task)))
            continue;
        if (!take_victim(p, &v))
            continue;
        if (s->victims->count < next || !amounts_suffice(p) || !quota_suffices(p))
            continue;
        found = place(p);
        tested = s->victims->count;
        next = tested * 2;
    }
    free_cursors(s, s->victims);
    return found || (s->victims->count > tested && place(p));
}

static void mark_whole(const struct plan *p, bool doomed)
{
    const struct gang__victims *v = p->s->victims;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].whole)
            v->list[i].u->doomed = doomed;
}

/* From others, first from those above their fair shares: who keeps to his would take it back from them, and more
 * would be displaced than need be. */
static bool take_until(struct plan *p, bool own, bool others)
{
    p->fair = others;
    bool found = take_some(p, own, others);
    if (found || !others)
        return found;
    p->fair = false;
    p->again = true;
    mark_whole(p, true);
    found = take_some(p, own, others);
    mark_whole(p, false);
    p->again = false;
    return found;
}

/* Everybody back, in the books; the copy is thrown away. */
static void put_back(struct plan *p)
{
    struct gang__victims *v = p->s->victims;
    while (v->count > 0) {
        struct victim *x = &v->list[--v->count];
        if (!x->stays && x->to.count == 0) {
            if (!x->whole)
                x->u->taken[x->group]--;
            shift(p, x, 1);
        }
        gang__places_free(&x->to, &p->s->cluster->mem);
    }
}

/* Is a whole gang among the victims, so that its single tasks are, too? */
static bool falls_whole(const gang_sched *s, const struct gang__unit *u)
{
    for (size_t i = 0; i < s->victims->count; i++)
        if (s->victims->list[i].u == u && s->victims->list[i].whole && !s->victims->list[i].stays)
            return true;
    return false;
}

/* With the taker in the books: may this much come back to its queue? */
static bool may_stay(const struct plan *p, const struct victim *v)
{
    for (const struct gang__qs *q = v->u->job->leaf; q->parent; q = q->parent)
        for (uint32_t d = 0; d < p->s->dims; d++)
            if (q->used[d] > q->limit[d])
                return false;
    return true;
}

/* With the taker in the books, and one of his own queue back: is he still entitled to what others gave? */
static bool still_entitled(const struct plan *p)
{
    const struct gang__victims *v = p->s->victims;
    struct gang__qs *a, *b, *leaf = p->taker->job->leaf;
    for (size_t i = 0; i < v->count; i++) {
        if (v->list[i].stays || v->list[i].u->job->leaf == leaf)
            continue;
        part(leaf, v->list[i].u->job->leaf, &a, &b);
        for (uint32_t k = 0; k < p->count; k++) {
            uint32_t d = p->take[k].dim;
            if (a->used[d] > a->share[d] && a->used[d] > a->guarantee[d])
                return false;
        }
    }
    return true;
}

/* From the last to the first: who can stay does. */
static void spare(struct plan *p)
{
    struct gang__victims *v = p->s->victims;
    for (size_t i = v->count; i-- > 0;) {
        struct victim *x = &v->list[i];
        if (!x->whole && falls_whole(p->s, x->u))
            continue;
        bool own = p->mode == BOTH && x->u->job->leaf == p->taker->job->leaf;
        shift(p, x, 1);
        gang_result r = GANG_ENOFIT;
        if (may_stay(p, x) && (!own || still_entitled(p)))
            r = on_copy(p, x, true);
        v->failed = v->failed || r == GANG_ENOMEM;
        if (r == GANG_OK) {
            x->stays = true;
            if (!x->whole)
                x->u->taken[x->group]--;
        } else {
            shift(p, x, -1);
        }
    }
}

/* Find a place for a victim on the copy. It only gets fuller, so that what found none finds none again, unless it
 * goes by who is near. `full`: the ask that found none last. */
static bool fits_elsewhere(struct plan *p, struct victim *x, const struct gang__asked **full)
{
    gang_sched *s = p->s;
    const struct gang__asked *ask = x->u->ask;
    if (ask == *full)
        return false;
    gang_result r = gang__snapshot_place_told(s->worker, s->scratch, ask->q, &x->to);
    s->victims->failed = s->victims->failed || r == GANG_ENOMEM;
    if (r == GANG_ENOFIT && !ask->q->social)
        *full = ask;
    return r == GANG_OK;
}

/* Whole gangs that fit elsewhere move there. Returns whether anybody is lost. */
static bool move(struct plan *p)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->victims;
    const struct gang__asked *full = NULL;
    bool lost = false;
    int64_t moved = 0;
    for (size_t i = 0; i < v->count; i++) {
        struct victim *x = &v->list[i];
        if (x->stays)
            continue;
        bool could = x->whole && !some_taken(x->u) && moved < s->opts.max_moves &&
                     x->u->tasks <= gang__unit_request(x->u)->min &&
                     x->u->job->leaf->q->preempt != GANG_PREEMPT_CANCEL;
        if (could)
            shift(p, x, 1);
        if (could && may_stay(p, x) && fits_elsewhere(p, x, &full)) {
            moved++;
            continue;
        }
        if (could)
            shift(p, x, -1);
        lost = true;
    }
    return lost;
}

/* ---- carrying it out --------------------------------------------------------------------------------------------------------- */

/* Numbers of the tasks of a unit that go one by one, ascending. 0: out of memory. */
static size_t single_tasks(gang_sched *s, const struct gang__unit *u)
{
    struct gang__victims *v = s->victims;
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].u == u && !v->list[i].stays && !v->list[i].whole) {
            if (!gang__grow(&s->mem, (void **)&v->tasks, &v->task_room, count + 1,
                            sizeof(*v->tasks)))
                return 0;
            v->tasks[count++] = v->list[i].task;
            v->list[i].told = true;
        }
    qsort(v->tasks, count, sizeof(*v->tasks), gang__by_number);
    return count;
}

static int32_t reason_of(const struct plan *p, const struct victim *x)
{
    if (x->to.count > 0)
        return GANG_REASON_MOVE;
    return x->u->job->leaf == p->taker->job->leaf ? GANG_REASON_PREEMPT : GANG_REASON_RECLAIM;
}

static bool note_target(gang_sched *s, struct gang__leave *l, const struct gang__places *to)
{
    if (to->count == 0)
        return true;
    l->to = gang__zalloc(&s->mem, to->count, sizeof(*l->to));
    if (!l->to)
        return false;
    memcpy(l->to, to->place, to->count * sizeof(*l->to));
    l->to_count = (int64_t)to->count;
    return true;
}

/* Who falls whole is asked once, also for those of its tasks that were taken before. */
static bool make_leave(struct plan *p, struct victim *x)
{
    gang_sched *s = p->s;
    size_t count = 0;
    if (x->stays || x->told || (!x->whole && falls_whole(s, x->u)))
        return true;
    if (!x->whole && (count = single_tasks(s, x->u)) == 0)
        return false;
    x->leave =
        gang__leave_new(s, x->u, x->whole ? NULL : s->victims->tasks, count, reason_of(p, x));
    return x->leave && note_target(s, x->leave, &x->to);
}

static bool make_leaves(struct plan *p)
{
    struct gang__victims *v = p->s->victims;
    for (size_t i = 0; i < v->count; i++)
        if (!make_leave(p, &v->list[i]))
            return false;
    return true;
}

static void drop_leaves(struct plan *p)
{
    struct gang__victims *v = p->s->victims;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].leave)
            gang__leave_drop(p->s, v->list[i].leave);
    v->failed = true;
}

/* One may have stopped because another one did. */
static void ask_to_go(struct plan *p, struct gang__claim *c)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->victims;
    for (size_t i = 0; i < v->count; i++) {
        struct gang__leave *l = v->list[i].leave;
        if (l && l->unit->alloc == l->alloc)
            (void)!gang__leave_go(s, l, p->taker->job->id, c, GANG_END_NONE);
        else if (l)
            gang__leave_drop(s, l);
    }
}

/* The books as they were; each victim then leaves them by itself. */
static void restore_books(struct plan *p)
{
    struct gang__victims *v = p->s->victims;
    for (size_t i = v->count; i-- > 0;) {
        struct victim *x = &v->list[i];
        if (x->stays || x->to.count > 0)
            continue;
        if (!x->whole)
            x->u->taken[x->group]--;
        shift(p, x, 1);
    }
}

static bool carry_out(struct plan *p)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->victims;
    struct gang__unit *taker = p->taker;
    int32_t reason = GANG_REASON_NONE;
    for (size_t i = 0; i < v->count; i++)
        if (!v->list[i].stays)
            reason = reason_of(p, &v->list[i]);
    struct gang__claim *c = NULL;
    if (make_leaves(p))
        c = gang__claim_new(s, taker, &s->told, p->grow_group, reason);
    if (!c) {
        drop_leaves(p);
        return false;
    }
    s->evicted += p->tasks;
    restore_books(p);
    gang__claim_begin(s, c);
    taker->took_in = s->runs;
    ask_to_go(p, c);
    gang__claims_settle(s);
    gang__job_settle(s, taker->job);
    s->changes++;
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------------ */

static bool count_allows(struct plan *p)
{
    const gang_sched *s = p->s;
    if (s->opts.max_evictions > 0 && s->evicted + p->tasks > s->opts.max_evictions) {
        p->s->retry = p->s->retry || s->evicted > 0; /* alone it may be few enough */
        return false;
    }
    if (s->opts.observe_only) {
        gang__log(p->s, 1, "observe only: %lld tasks would be evicted for job %llu",
                  (long long)p->tasks, (unsigned long long)p->taker->job->id);
        return false;
    }
    return true;
}

static void charge_taker(struct plan *p, int64_t sign)
{
    for (struct gang__qs *q = p->taker->job->leaf; q; q = q->parent)
        for (uint32_t i = 0; i < p->count; i++)
            q->used[p->take[i].dim] += sign * p->take[i].amount;
}

static bool begin_mode(struct plan *p, enum mode mode)
{
    gang_sched *s = p->s;
    p->mode = mode;
    p->tasks = 0;
    p->fair = p->again = false;
    s->victims->count = 0;
    if (!p->looked && gang_snapshot_take(s->worker, s->base) != GANG_OK)
        s->victims->failed = true;
    p->looked = true;
    if (!s->victims->failed && gang__snapshot_copy(s->scratch, s->base) != GANG_OK)
        s->victims->failed = true;
    return !s->victims->failed; /* then nothing that is planned is what it should be */
}

/* The taker has a place: who need not go stays, who can move does. False: the rules forbid it after all. */
static bool settle_victims(struct plan *p)
{
    gang_sched *s = p->s;
    charge_taker(p, 1);
    spare(p);
    bool lost = move(p), ok = !(p->mode == MOVE && lost);
    for (size_t i = 0; ok && p->mode != MOVE && i < s->victims->count; i++)
        ok = s->victims->list[i].stays || s->victims->list[i].to.count > 0 ||
             !overshoots(p, s->victims->list[i].u);
    charge_taker(p, -1);
    return ok;
}

static bool end_mode(struct plan *p, bool ok)
{
    gang_sched *s = p->s;
    ok = ok && !s->victims->failed && count_allows(p) && carry_out(p);
    if (!ok)
        put_back(p);
    for (size_t i = 0; i < s->victims->count; i++)
        gang__places_free(&s->victims->list[i].to, &s->cluster->mem);
    s->victims->count = 0;
    return ok;
}

static bool try_mode(struct plan *p, enum mode mode)
{
    if (!begin_mode(p, mode))
        return false;
    bool found = take_until(p, mode == PREEMPT || mode == BOTH, mode == RECLAIM);
    if (!found && mode == BOTH)
        found = take_until(p, false, true);
    return end_mode(p, found && settle_victims(p));
}

/* ---- consolidation -------------------------------------------------------------------------------------------------------------- */

/* Not one that is drained: whoever runs there may go, but nobody starts there. */
static int32_t open_node(const struct gang_task *task, void *user)
{
    const gang_sched *s = user;
    struct gang_node_info info = {.size = sizeof(info)};
    if (gang_node_get(s->cluster, task->node, &info) == GANG_OK && info.state == GANG_NODE_UP)
        (void)!gang_snapshot_set_state(s->scratch, task->node, GANG_NODE_UP);
    return 0;
}

/* Place the taker on the nodes of the victims alone, so that what is free elsewhere is left to them. */
static bool place_on_theirs(struct plan *p)
{
    gang_sched *s = p->s;
    gang_snapshot *all = s->scratch;
    for (gang_node_id n = gang_snapshot_node_next(all, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_snapshot_node_next(all, n)) {
        struct gang_node_info info = {.size = sizeof(info)};
        if (gang_snapshot_node_get(all, n, &info) == GANG_OK && info.state == GANG_NODE_UP)
            (void)!gang_snapshot_set_state(all, n, GANG_NODE_DRAINING);
    }
    for (size_t i = 0; i < s->victims->count; i++)
        (void)!gang_alloc_each(s->cluster, s->victims->list[i].u->alloc, open_node, s);
    bool found = place(p);
    for (gang_node_id n = gang_snapshot_node_next(all, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_snapshot_node_next(all, n)) {
        struct gang_node_info info = {.size = sizeof(info)};
        if (gang_node_get(s->cluster, n, &info) == GANG_OK)
            (void)!gang_snapshot_set_state(all, n, info.state);
    }
    return found;
}

/* The first `count` that may be moved. False: there are not so many. */
static bool take_first(struct plan *p, size_t count)
{
    gang_sched *s = p->s;
    struct victim v;
    if (!collect_leaves(s, p, true, true))
        s->victims->failed = true;
    while (s->victims->count < count && next_victim(s, &v)) {
        s->steps++;
        if (v.whole && may_take(p, v.u))
            (void)!take_victim(p, &v);
    }
    free_cursors(s, s->victims);
    return s->victims->count == count;
}

/* More and more of them, until the taker has a place and nobody is lost. Each number is tried with the taker
 * wherever it likes, and on their nodes alone. */
static bool consolidate(struct plan *p)
{
    for (size_t count = 1; count <= MOST_MOVABLE; count *= 2)
        for (int theirs = 0; theirs < 2; theirs++) {
            if (!begin_mode(p, MOVE))
                return false;
            bool all = take_first(p, count);
            bool found = p->s->victims->count > 0 && (theirs ? place_on_theirs(p) : place(p));
            if (end_mode(p, found && settle_victims(p)))
                return true;
            if (!all && theirs)
                return false;
        }
    return false;
}

/* ---- who may ask ---------------------------------------------------------------------------------------------------------------------- */

static bool begin(gang_sched *s)
{
    if (!s->victims)
        s->victims = gang__zalloc(&s->mem, 1, sizeof(*s->victims));
    return s->victims != NULL;
}

static void make_plan(struct plan *p, gang_sched *s, struct gang__unit *u)
{
    memset(p, 0, sizeof(*p));
    p->s = s;
    p->taker = u;
    p->take = gang__unit_asks(u, &p->count);
    p->grow_group = -1;
    if (u->alloc != GANG_ID_NONE) {
        p->grow_group = 0;
        while (gang__unit_lacks(u, (uint32_t)p->grow_group) == 0)
            p->grow_group++;
        p->step = gang__unit_step(u, (uint32_t)p->grow_group);
        for (uint32_t i = 0; i < p->count; i++)
            p->of_step[i] = (struct gang__take){p->take[i].dim, p->take[i].amount * p->step};
        p->take = p->of_step;
    }
}

/* Does its leaf stay inside its share, or (not preemptible) inside its guarantee? */
static bool is_entitled(const struct plan *p)
{
    const struct gang__qs *leaf = p->taker->job->leaf;
    return gang__stays(leaf, leaf->share, leaf->used, p->take, p->count) ||
           gang__stays(leaf, leaf->guarantee, leaf->used, p->take, p->count);
}

bool gang__evict_may(gang_sched *s, struct gang__bin *bin)
{
    struct gang__unit *u = GANG__OF(struct gang__unit, turn, gang__ordered_first(&bin->units));
    struct plan p;
    if (s->opts.no_preemption || u->job->never_preempts || bin->tried == s->changes + 1 ||
        u->places ||
        (bin->why != GANG_WAIT_ROOM && bin->why != GANG_WAIT_LIMIT &&
         bin->why != GANG_WAIT_GUARANTEE && bin->why != GANG_WAIT_LENDING))
        return false;
    make_plan(&p, s, u);
    if (s->opts.max_moves > 0 && bin->why == GANG_WAIT_ROOM && amounts_suffice(&p))
        return true;
    struct gang__tree_link *first = gang__ordered_first(&bin->leaf->fall);
    if (first && may_preempt(&p, unit_at(first)))
        return true;
    return bin->leaf->q->reclaim != GANG_DISPLACE_NEVER && s->some_over && is_entitled(&p);
}

static bool make_room(struct plan *p)
{
    const gang_sched *s = p->s;
    const struct gang__queue *q = p->taker->job->leaf->q;
    bool reclaims = q->reclaim != GANG_DISPLACE_NEVER, preempts = q->within != GANG_DISPLACE_NEVER;
    if (s->opts.max_moves > 0 && amounts_suffice(p) && quota_suffices(p) && consolidate(p))
        return true;
    if (reclaims && is_entitled(p) && try_mode(p, RECLAIM))
        return true;
    if (preempts && try_mode(p, PREEMPT))
        return true;
    return reclaims && preempts && try_mode(p, BOTH);
}

bool gang__evict_for(gang_sched *s, struct gang__unit *u)
{
    struct plan p;
    if (u->places) /* who was suspended resumes on his places, and not elsewhere */
        return false;
    if (u->job->never_preempts || u->fell_in == s->runs)
        return false; /* who was displaced in a run displaces nobody in it: no two take turns without end */
    if (!begin(s)) {
        s->no_memory = true;
        return false;
    }
    s->victims->failed = false;
    make_plan(&p, s, u);
    bool made = make_room(&p);
    s->no_memory = s->no_memory || s->victims->failed;
    return made;
}

void gang__evict_free(gang_sched *s)
{
    struct gang__victims *v = s->victims;
    if (!v)
        return;
    free_cursors(s, v);
    if (v->list)
        gang__release(&s->mem, v->list);
    if (v->tasks)
        gang__release(&s->mem, v->tasks);
    if (v->cursor)
        gang__release(&s->mem, v->cursor);
    gang__release(&s->mem, v);
}
