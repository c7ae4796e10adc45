/* SPDX-License-Identifier: Apache-2.0 */
/* Applying the vetoes, and placing beside them. */
#include "sched/where/where.h"

#include <assert.h>
#include <string.h>

#include "place/alloc/alloc.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/record/state.h"

void gang__where_register(gang_sched *s, const struct gang__veto *veto)
{
    assert(s->where.count < GANG__REGISTERED_VETOES);
    s->where.registered[s->where.count++] = veto;
}

void gang__where_free(gang_sched *s)
{
    gang__release(&s->mem, s->where.state);
    if (s->where.narrowed)
        gang__narrowed_free(s->where.narrowed, &s->cluster->mem);
    gang__release(&s->mem, s->where.narrowed);
    gang__release(&s->mem, s->where.open);
}

/* ---- the list -------------------------------------------------------------------------------- */

/* The i-th veto: those that were registered come first; NULL: there are no more. */
static const struct gang__veto *veto_at(const gang_sched *s, uint32_t i)
{
    return i < s->where.count                  ? s->where.registered[i]
           : i - s->where.count < GANG__VETOES ? gang__vetoes[i - s->where.count]
                                               : NULL;
}

/* Is the gang kept off nodes by the veto, at the time for which it asks? */
static bool is_concerned(const struct gang__veto *v, const struct gang__where *w)
{
    return (v->lasts || !w->later) && v->concerns(w);
}

bool gang__where_needs_snapshot(const struct gang__where *w)
{
    return w->g->choice || gang__where_concerned(w);
}

bool gang__where_concerned(const struct gang__where *w)
{
    bool some = w->only != NULL;
    for (uint32_t i = 0; !some && i < w->s->where.count; i++)
        some = is_concerned(w->s->where.registered[i], w);
    for (uint32_t i = 0; !some && i < GANG__VETOES; i++) /* asked for each start: unrolled */
        some = is_concerned(gang__vetoes[i], w);
    return some;
}

int32_t gang__where_why(const struct gang__where *w)
{
    const struct gang__veto *v;
    int32_t why = GANG_WAIT_CAPACITY;
    for (uint32_t i = 0; why == GANG_WAIT_CAPACITY && (v = veto_at(w->s, i)) != NULL; i++)
        why = is_concerned(v, w) ? v->why : why;
    return why;
}

bool gang__where_is_soft(const struct gang__where *w)
{
    const struct gang__veto *v;
    bool some = false;
    for (uint32_t i = 0; !some && (v = veto_at(w->s, i)) != NULL; i++)
        some = v->soft && is_concerned(v, w);
    return some;
}

gang_result gang__where_close(const struct gang__where *w, bool soft)
{
    const struct gang__veto *v;
    gang_result r = GANG_OK;
    for (uint32_t i = 0; r == GANG_OK && (v = veto_at(w->s, i)) != NULL; i++)
        if ((soft || !v->soft) && is_concerned(v, w))
            r = v->apply(w);
    for (uint32_t slot = GANG__POOL + 1; w->only && slot < w->on->end; slot++) {
        const struct gang__node *node = gang__snapshot_node(w->on, slot);
        bool open = slot < w->only_end && (w->only[slot / 64] >> (slot % 64) & 1);
        if (node && !open)
            (void)!gang_snapshot_set_state(w->on, node->id, GANG_NODE_DRAINING);
    }
    return r;
}

/* ---- questions to a snapshot ----------------------------------------------------------------- */

/* Find places for the gang, or for `step` tasks of a group (>= 0); `places` NULL: are there any? */
struct question {
    struct gang__places *places;
    int32_t group;
    int64_t step;
};

/* The request of the gang, or its request with the choice that is being tried. NULL: out of
 * memory. */
static gang_request *request_of(const struct gang__where *w)
{
    struct gang__where_state *at = &w->s->where;
    if (!w->g->choice)
        return gang__gang_request(w->g);
    if (!at->narrowed)
        at->narrowed = gang__zalloc(&w->s->mem, 1, sizeof(*at->narrowed));
    return at->narrowed
               ? gang__request_narrow(at->narrowed, gang__gang_request(w->g), w->g->choice->tasks)
               : NULL;
}

static gang_result answer(const struct gang__where *w, const struct question *q)
{
    gang_request *request = request_of(w);
    if (!request)
        return GANG_ENOMEM;
    if (!q->places)
        return gang__snapshot_fits(w->s->worker, w->on, request);
    if (q->group < 0)
        return gang__snapshot_place_where(w->s->worker, w->on, request, q->places);
    gang_result r = gang__growth_ended(w->s->worker, w->g->done, w->g->ended_tasks);
    if (r == GANG_OK)
        r = gang__growth_leaving(w->s->worker, w->leaving, w->leaving_count);
    if (r == GANG_OK)
        r = gang__snapshot_grow_where(w->s->worker, w->on, w->g->alloc, q->group, q->step,
                                      q->places);
    (void)!gang__growth_ended(w->s->worker, NULL, NULL);
    (void)!gang__growth_leaving(w->s->worker, NULL, 0);
    return r;
}

static bool save_states(const struct gang__where *w)
{
    struct gang__where_state *at = &w->s->where;
    if (!gang__grow(&w->s->mem, (void **)&at->state, &at->state_cap, w->on->end,
                    sizeof(*at->state)))
        return false;
    for (uint32_t slot = GANG__POOL + 1; slot < w->on->end; slot++)
        if (gang__snapshot_node(w->on, slot))
            at->state[slot] = (uint8_t)gang__snapshot_state(w->on, slot);
    return true;
}

static void restore_states(const struct gang__where *w)
{
    for (uint32_t slot = GANG__POOL + 1; slot < w->on->end; slot++)
        if (gang__snapshot_node(w->on, slot))
            gang__snapshot_set_state(w->on, slot, w->s->where.state[slot]);
}

static gang_result place_closed(const struct gang__where *w, const struct question *q, bool soft)
{
    gang_result r = gang__where_close(w, soft);
    if (r == GANG_OK)
        r = answer(w, q);
    restore_states(w);
    return r;
}

static gang_result ask(const struct gang__where *w, const struct question *q)
{
    if (!gang__where_concerned(w))
        return answer(w, q);
    if (!save_states(w))
        return GANG_ENOMEM;
    gang_result r = GANG_ENOFIT;
    if (w->soft != GANG__SOFT_LIFTED)
        r = place_closed(w, q, true);
    if (w->soft == GANG__SOFT_LIFTED ||
        (w->soft == GANG__SOFT_FIRST && r == GANG_ENOFIT && gang__where_is_soft(w)))
        r = place_closed(w, q, false);
    return r;
}

const uint64_t *gang__where_open(const struct gang__where *w, uint32_t end)
{
    struct gang__where_state *at = &w->s->where;
    size_t words = end / 64 + 1;
    if (!save_states(w) ||
        !gang__grow(&w->s->mem, (void **)&at->open, &at->open_cap, words, sizeof(*at->open)))
        return NULL;
    memset(at->open, 0, words * sizeof(*at->open));
    gang_result r = gang__where_close(w, w->soft != GANG__SOFT_LIFTED);
    for (uint32_t slot = GANG__POOL + 1; slot < w->on->end && slot < end; slot++)
        if (gang__snapshot_node(w->on, slot) && gang__snapshot_state(w->on, slot) == GANG__STATE_UP)
            gang__mask_put(at->open, slot);
    restore_states(w);
    return r == GANG_OK ? at->open : NULL;
}

gang_result gang__where_place(const struct gang__where *w, struct gang__places *places)
{
    return ask(w, &(struct question){places, -1, 0});
}

gang_result gang__where_fits(const struct gang__where *w)
{
    return ask(w, &(struct question){NULL, -1, 0});
}

gang_result gang__where_grow(const struct gang__where *w, uint32_t group, int64_t step,
                             struct gang__places *places)
{
    return ask(w, &(struct question){places, (int32_t)group, step});
}

/* ---- on the cluster itself ------------------------------------------------------------------- */

gang_result gang__where_alloc(gang_sched *s, struct gang__gang *g, gang_alloc_id *id, int32_t *why)
{
    struct gang__where w = {.s = s, .g = g, .on = s->scratch};
    *why = GANG_WAIT_CAPACITY;
    if (!gang__where_needs_snapshot(&w))
        return gang_alloc(s->worker, g->request_class->request, id, NULL);
    *why = gang__where_why(&w);
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return GANG_ENOMEM;
    gang_result r = gang__where_place(&w, &s->placement);
    if (r == GANG_OK)
        r = gang_alloc_adopt(s->worker, g->request_class->request, s->placement.place,
                             (int64_t)s->placement.count, id, NULL);
    return r;
}

gang_result gang__where_resume(gang_sched *s, struct gang__gang *g, gang_alloc_id *id, int32_t *why)
{
    bool on = gang__bypass_returns_to_closed(s, g);
    *why = on ? GANG_WAIT_STARVED : GANG_WAIT_CAPACITY;
    if (on)
        return GANG_ENOFIT;
    gang_result r = gang__places_up(s, g->places, g->place_count);
    if (r == GANG_OK)
        r = gang_alloc_adopt(s->worker, g->request_class->request, g->places, g->place_count, id,
                             NULL);
    bool later = r == GANG_ENOFIT || r == GANG_ENOMEM || r == GANG_EBUSY;
    return r == GANG_OK || later ? r : GANG_ESTALE;
}

gang_result gang__where_adopt_more(gang_sched *s, struct gang__gang *g,
                                   const struct gang_placement *places, int64_t count)
{
    gang_result r = gang__growth_ended(s->worker, g->done, g->ended_tasks);
    if (r == GANG_OK)
        r = gang__alloc_adopt_more(s->worker, g->alloc, places, count);
    (void)!gang__growth_ended(s->worker, NULL, NULL);
    if (r == GANG_OK)
        gang__growth_numbers(s->worker, s->numbers, (size_t)count);
    return r;
}

gang_result gang__where_alloc_more(gang_sched *s, struct gang__gang *g, uint32_t group,
                                   int64_t step, int64_t *granted)
{
    struct gang__where w = {.s = s, .g = g, .on = s->scratch};
    gang_result r = GANG_OK;
    *granted = 0;
    if (!gang__where_concerned(&w)) { /* tasks that ended count: those do not come again */
        r = gang__growth_ended(s->worker, g->done, g->ended_tasks);
        if (r == GANG_OK)
            r = gang_alloc_grow(s->worker, g->alloc, (int32_t)group, step, granted, NULL);
        (void)!gang__growth_ended(s->worker, NULL, NULL);
        if (r == GANG_OK)
            gang__growth_numbers(s->worker, s->numbers, (size_t)*granted);
        return r;
    }
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return GANG_ENOMEM;
    r = gang__where_grow(&w, group, step, &s->placement);
    if (r == GANG_OK)
        r = gang__where_adopt_more(s, g, s->placement.place, (int64_t)s->placement.count);
    *granted = r == GANG_OK ? (int64_t)s->placement.count : 0;
    return r;
}
