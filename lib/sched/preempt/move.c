/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the victims that cannot stay move to other places?
 *
 * A gang moves whole, with as many tasks as it has; if that does not fit, with its minimum. Of a
 * gang that gives only tasks above its minimum, those tasks move one by one. A gang with ended
 * tasks does not move: it would start from the beginning, and these tasks would run again. Nor
 * does a gang that lost tasks and is below its minimum: it would start with more. Of gangs that
 * share nodes in time those at their minimum move, to a row of their matrix on other nodes.
 * Consolidation fails at the first victim that is lost. */
#include <stdlib.h>
#include <string.h>

#include "place/record/record.h"
#include "place/request/request.h"
#include "sched/preempt/preempt_in.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"

static struct gang__where where_to(const struct gang__preemption *p, struct gang__gang *g)
{
    int64_t later_ns = gang__add_sat(gang__longest_grace(p->s), g->job->leaf->q->grace_ns);
    return (struct gang__where){
        .s = p->s, .g = g, .on = p->s->scratch, .later_ns = later_ns, .parts = true};
}

/* The victim is back in the usage: may it be there beside the taker, and start again elsewhere? */
static bool may_move(const struct gang__preemption *p, const struct gang__victim *x)
{
    return gang__preempt_may_stay(p, x) && gang__preempt_is_entitled_beside(p, x) &&
           gang__preempt_may_restart(p, x) && x->g->stop.fenced_tasks == 0;
}

/* ---- whole gangs ----------------------------------------------------------------------------- */

/* In a row of its matrix, with its minimum. */
static bool fits_in_row(struct gang__preemption *p, struct gang__victim *x)
{
    gang_sched *s = p->s;
    struct gang__where w = where_to(p, x->g);
    w.moves = true;
    gang_result r = gang__slice_dry_run_place(&w, &x->to);
    s->preempt.victims->failed = s->preempt.victims->failed || r == GANG_ENOMEM;
    if (r == GANG_OK)
        gang__slice_dry_run_take(s, x->g, &x->to);
    return r == GANG_OK;
}

/* Find another place for the gang with this number of tasks of each group. The snapshot only
 * gets fuller: a request class without a place for its minimum has none later, unless affinity
 * or vetoes decide. `full`: the last such class. */
static bool fits_elsewhere(struct gang__preemption *p, struct gang__victim *x, int64_t *tasks,
                           const struct gang__request_class **full)
{
    gang_sched *s = p->s;
    const struct gang__request_class *request_class = x->g->request_class;
    struct gang__where w = where_to(p, x->g);
    struct gang__choice same = {tasks, NULL, 0};
    bool least = request_class->even && tasks == request_class->gang_tasks;
    if (request_class == *full)
        return false;
    w.moves = true;
    x->g->choice = least ? NULL : &same;
    gang_result r = gang__where_place(&w, &x->to);
    x->g->choice = NULL;
    s->preempt.victims->failed = s->preempt.victims->failed || r == GANG_ENOMEM;
    if (r == GANG_ENOFIT && least && !request_class->request->has_affinity &&
        !gang__where_concerned(&w))
        *full = request_class;
    return r == GANG_OK;
}

static bool is_at_minimum(const struct gang__gang *g)
{
    return g->tasks == gang__gang_request(g)->min &&
           (!g->request_class->exact ||
            memcmp(g->has, g->request_class->gang_tasks,
                   gang__gang_request(g)->group_count * sizeof(*g->has)) == 0);
}

/* Tasks of the gang that were taken one by one before come along, or (back -1) not after all. */
static void take_along(struct gang__preemption *p, const struct gang__gang *g, bool along)
{
    struct gang__victims *v = p->s->preempt.victims;
    if (g->victim.tentative_count == 0) /* there are none, and there may be many victims */
        return;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].g == g && !v->list[i].whole) {
            v->list[i].moves = along;
            gang__victim_shift(p, &v->list[i], along ? 1 : -1);
        }
}

/* Move the gang with all tasks that it has, or with its minimum. */
static bool move_gang(struct gang__preemption *p, struct gang__victim *x,
                      const struct gang__request_class **full)
{
    struct gang__gang *g = x->g;
    int64_t *least = g->request_class->gang_tasks;
    gang__victim_shift(p, x, 1);
    take_along(p, g, true);
    if (g->sliced)
        x->moves = may_move(p, x) && fits_in_row(p, x);
    else if (is_at_minimum(g) && g->request_class->even)
        x->moves = may_move(p, x) && fits_elsewhere(p, x, least, full);
    else
        x->moves = may_move(p, x) && fits_elsewhere(p, x, g->has, full);
    if (x->moves)
        return true;
    take_along(p, g, false);
    if (!is_at_minimum(g) && g->request_class->even && p->mode != GANG__PREEMPT_MOVE &&
        g->tasks - g->victim.tentative_count == gang__gang_request(g)->min)
        x->moves = may_move(p, x) && fits_elsewhere(p, x, least, full);
    if (!x->moves)
        gang__victim_shift(p, x, -1);
    return x->moves;
}

/* ---- tasks above a minimum ------------------------------------------------------------------- */

/* The numbers of the victims among the gang's tasks, ascending (victims.tasks). 0: out of
 * memory. */
static size_t list_tasks(const struct gang__preemption *p, const struct gang__gang *g)
{
    struct gang__victims *v = p->s->preempt.victims;
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].g == g && !v->list[i].whole) {
            if (!gang__grow(&p->s->mem, (void **)&v->tasks, &v->task_cap, count + 1,
                            sizeof(*v->tasks)))
                return 0;
            v->tasks[count++] = v->list[i].task;
        }
    qsort(v->tasks, count, sizeof(*v->tasks), gang__by_number);
    return count;
}

/* Victims among the tasks of a group of the gang, from this one on, that did not move yet. */
static int64_t count_of_group(const struct gang__victims *v, size_t from)
{
    const struct gang__victim *x = &v->list[from];
    int64_t count = 0;
    for (size_t i = from; i < v->count; i++)
        count += v->list[i].g == x->g && !v->list[i].whole && v->list[i].group == x->group &&
                 !v->list[i].moves;
    return count;
}

/* Find other places for `count` tasks of the victim's group: s->placement has some of them. */
static bool place_tasks(struct gang__preemption *p, const struct gang__victim *x, int64_t count,
                        struct gang__places *to)
{
    struct gang__victims *v = p->s->preempt.victims;
    struct gang__where w = where_to(p, x->g);
    gang_result r = GANG_ENOMEM;
    w.leaving_count = list_tasks(p, x->g);
    w.leaving = v->tasks;
    if (w.leaving_count > 0)
        r = gang__where_grow(&w, x->group, count, to);
    v->failed = v->failed || r == GANG_ENOMEM;
    return r == GANG_OK;
}

/* Move the victims of one group of a gang, beginning with this one. `moved` counts them, up to
 * `most`. */
static void move_tasks(struct gang__preemption *p, size_t from, int64_t most, int64_t *moved)
{
    struct gang__victims *v = p->s->preempt.victims;
    struct gang__victim *x = &v->list[from];
    struct gang__places to = {0};
    int64_t count = gang__min(count_of_group(v, from), most - *moved);
    size_t next = 0;
    gang__victim_shift(p, x, 1);
    bool may = may_move(p, x);
    gang__victim_shift(p, x, -1);
    if (may && count > 0 && place_tasks(p, x, count, &to))
        for (size_t i = from; i < v->count && next < to.count; i++) {
            struct gang__victim *y = &v->list[i];
            if (y->g != x->g || y->whole || y->group != x->group || y->moves)
                continue;
            gang__victim_shift(p, y, 1);
            y->moves = may_move(p, y);
            if (y->moves && !gang__places_add(&y->to, &p->s->cluster->mem, &to.place[next]))
                v->failed = true;
            next += y->moves;
            *moved += y->moves;
            if (!y->moves)
                gang__victim_shift(p, y, -1);
        }
    gang__places_free(&to, &p->s->cluster->mem);
}

/* ---- all victims ----------------------------------------------------------------------------- */

/* May the gang move at all? Tasks of a gang that falls whole are asked with it. One of whose start
 * the host has not heard moves only for consolidation; else it waits again, and may start elsewhere
 * in the same run. */
static bool is_movable(const struct gang__preemption *p, const struct gang__victim *x)
{
    const struct gang__gang *g = x->g;
    bool in_row = !g->sliced || (x->whole && is_at_minimum(g) && g->request_class->even);
    bool told = !g->untold.start || (p->mode == GANG__PREEMPT_MOVE && !g->untold.places);
    return told && in_row && g->ended == 0 && !g->reports.below_min && !g->places &&
           g->job->leaf->q->preempt != GANG_PREEMPT_MODE_CANCEL &&
           (x->whole ? true
                     : !g->victim.tentative && !gang__gang_request(g)->exclusive &&
                           !gang__gang_request(g)->group[x->group].subgroup_size);
}

bool gang__preempt_move(struct gang__preemption *p)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->preempt.victims;
    const struct gang__request_class *full = NULL;
    bool lost = false;
    int64_t moved = 0;
    for (size_t i = 0; i < v->count && !(lost && p->mode == GANG__PREEMPT_MOVE); i++) {
        struct gang__victim *x = &v->list[i];
        bool could = !x->moves && moved < s->opts.max_moves &&
                     !(x->whole && x->g->request_class == full) && is_movable(p, x);
        gang__victim_prefetch(v, i + GANG__VICTIMS_AHEAD);
        if (could && x->whole)
            moved += move_gang(p, x, &full);
        else if (could)
            move_tasks(p, i, s->opts.max_moves, &moved);
        /* a task of a gang that falls whole may still come along with it */
        lost = lost || (!x->moves && (x->whole || !x->g->victim.tentative));
    }
    return lost;
}
