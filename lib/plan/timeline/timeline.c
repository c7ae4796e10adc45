/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees a timeline; adds, moves and removes occupations; lets time pass. */
#include <assert.h>
#include <stdlib.h>

#include "plan/timeline/timeline_in.h"

/* ---- making it ----------------------------------------------------------------------------- */

static gang_result sum_capacity(struct gang__timeline *t, const int64_t *capacity,
                                size_t node_count, int64_t pool)
{
    if (node_count > (size_t)INT32_MAX || pool < 0)
        return GANG_ERANGE;
    for (size_t i = 0; i < node_count * GANG__FREE_KINDS; i++) {
        size_t k = i % GANG__FREE_KINDS;
        if (capacity[i] < 0 || capacity[i] > GANG__AMOUNT_MAX ||
            capacity[i] > INT64_MAX - t->total[k])
            return GANG_ERANGE;
        t->total[k] += capacity[i];
        t->max_amount[k] = capacity[i] > t->max_amount[k] ? capacity[i] : t->max_amount[k];
    }
    t->main_kind = t->max_amount[GANG__FREE_GPU] > 0 ? GANG__FREE_GPU : GANG__FREE_CPU;
    for (int i = GANG__LEVEL_WHOLE + 1; i < GANG__LEVELS; i++)
        t->level[i] = t->max_amount[t->main_kind] >> (GANG__LEVELS - 1 - i);
    t->total[GANG__FREE_POOL] = pool;
    t->nodes = (uint32_t)node_count;
    t->leaves = 1;
    while (t->leaves < t->nodes)
        t->leaves *= 2;
    return GANG_OK;
}

static gang_result fill(struct gang__timeline *t, const int64_t *capacity)
{
    size_t n = t->nodes;
    t->capacity = gang__zalloc(&t->mem, n, sizeof(t->capacity[0]));
    t->node = gang__zalloc(&t->mem, n, sizeof(t->node[0]));
    t->now = gang__zalloc(&t->mem, 2 * (size_t)t->leaves, sizeof(t->now[0]));
    t->candidate = gang__zalloc(&t->mem, n, sizeof(t->candidate[0]));
    t->candidate_of = gang__zalloc(&t->mem, n, sizeof(t->candidate_of[0]));
    t->is_candidate = gang__zalloc(&t->mem, n / 64 + 1, sizeof(t->is_candidate[0]));
    t->stale = gang__zalloc(&t->mem, n, sizeof(t->stale[0]));
    t->is_stale = gang__zalloc(&t->mem, n / 64 + 1, sizeof(t->is_stale[0]));
    if (!t->capacity || !t->node || !t->now || !t->candidate || !t->candidate_of ||
        !t->is_candidate || !t->stale || !t->is_stale)
        return GANG_ENOMEM;
    if (n)
        memcpy(t->capacity, capacity, n * sizeof(t->capacity[0]));
    for (size_t i = 0; i < 2 * (size_t)t->leaves; i++)
        t->now[i] = (struct gang__after_end)GANG__AFTER_NOTHING;
    for (size_t i = 0; i < n; i++) {
        t->node[i] = (struct gang__stay_head){GANG__NONE, GANG__NONE, 0};
        t->candidate_of[i] = GANG__NONE;
        gang__node_stale(t, (uint32_t)i);
    }
    return GANG_OK;
}

gang_result gang__timeline_count_more(struct gang__timeline *t, const int64_t *capacity,
                                      const int *guard, uint32_t kinds)
{
    size_t cells = (size_t)t->nodes * kinds;
    assert(kinds >= 1 && kinds <= GANG__MORE_MAX && t->occupant_count == 0 && !t->more_kinds);
    for (size_t i = 0; i < cells; i++)
        if (capacity[i] < 0 || capacity[i] > GANG__AMOUNT_MAX)
            return GANG_ERANGE;
    int64_t *copy = gang__zalloc(&t->mem, cells + 1, sizeof(*copy));
    int64_t *of_candidate = gang__zalloc(&t->mem, cells + 1, sizeof(*of_candidate));
    if (!copy || !of_candidate) {
        gang__release(&t->mem, copy);
        gang__release(&t->mem, of_candidate);
        return GANG_ENOMEM;
    }
    t->more_kinds = kinds;
    t->more_capacity = copy;
    t->more_of_candidate = of_candidate;
    for (uint32_t k = 0; k < kinds; k++)
        t->guard[k] = guard ? guard[k] : -1;
    for (size_t i = 0; i < cells; i++) {
        copy[i] = capacity[i];
        t->max_more[i % kinds] =
            capacity[i] > t->max_more[i % kinds] ? capacity[i] : t->max_more[i % kinds];
    }
    gang__timeline_skip(t, t->first);
    return GANG_OK;
}

void gang__timeline_skip(struct gang__timeline *t, uint32_t first)
{
    t->first = first;
    t->flat = t->nodes - first <= 1 && !t->more_kinds; /* sums do not count further kinds */
    t->total[GANG__FREE_NODES] = t->nodes - first;
    memcpy(t->before, t->total, sizeof(t->total));
    gang__edges_init(t);
}

gang_result gang__timeline_new(const struct gang_mem *mem, const int64_t *capacity,
                               size_t node_count, int64_t pool, int64_t now_ns,
                               struct gang__timeline **timeline)
{
    *timeline = NULL;
    struct gang__timeline *t = gang__zalloc(mem, 1, sizeof(*t));
    if (!t)
        return GANG_ENOMEM;
    t->mem = *mem;
    t->now_ns = now_ns;
    gang_result r = sum_capacity(t, capacity, node_count, pool);
    gang__timeline_skip(t, 0);
    if (r == GANG_OK)
        r = fill(t, capacity);
    if (r != GANG_OK) {
        gang__timeline_free(t);
        return r;
    }
    *timeline = t;
    return GANG_OK;
}

void gang__timeline_free(struct gang__timeline *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->occupant_end; i++)
        gang__release(&t->mem, t->occupant[i]);
    while (t->vacant) {
        struct gang__occupant *o = t->vacant;
        t->vacant = o->next[0];
        gang__release(&t->mem, o);
    }
    while (t->chunks) {
        struct gang__edge_chunk *chunk = t->chunks;
        t->chunks = chunk->next;
        gang__release(&t->mem, chunk);
    }
    void *const block[] = {
        t->capacity,     t->node,     t->now,           t->candidate,        t->candidate_of,
        t->is_candidate, t->occupant, t->free_id,       t->active,           t->tasks,
        t->stale,        t->is_stale, t->more_capacity, t->more_of_candidate};
    for (size_t i = 0; i < sizeof(block) / sizeof(block[0]); i++)
        gang__release(&t->mem, block[i]);
    struct gang_mem mem = t->mem;
    gang__release(&mem, t);
}

void gang__time_fit_free(struct gang__time_fit *fit, const struct gang_mem *mem)
{
    gang__release(mem, fit->place);
    *fit = (struct gang__time_fit){0};
}

struct gang__time_machine gang__timeline_machine(const struct gang__timeline *t)
{
    return (struct gang__time_machine){&t->mem, (const int64_t(*)[GANG__FREE_KINDS])t->capacity,
                                       t->nodes, t->total, t->now_ns};
}

/* ---- occupations -------------------------------------------------------------------------- */

static bool reserve(struct gang__timeline *t, const struct gang__occupation *o)
{
    size_t max = 0;
    for (size_t i = 0; i < o->place_count; i++) {
        size_t count = t->node[o->place[i].node].count;
        max = count > max ? count : max;
    }
    return gang__timeline_reserve(t, 1, max);
}

gang_result gang__timeline_add(struct gang__timeline *t, const struct gang__occupation *spec,
                               uint32_t *id)
{
    size_t stays, amounts;
    gang_result r = gang__occupation_measure(t, spec, &stays, &amounts);
    if (r != GANG_OK)
        return r;
    struct gang__occupant *o =
        reserve(t, spec) ? gang__occupant_new(t, spec, stays, amounts) : NULL;
    if (!o)
        return GANG_ENOMEM;
    o->id = t->free_id_count ? t->free_id[--t->free_id_count] : (uint32_t)t->occupant_end++;
    t->occupant[o->id] = o;
    t->occupant_count++;
    gang__occupant_enter(t, o);
    *id = o->id;
    return GANG_OK;
}

static void unlink_withdrawn(struct gang__occupant *o)
{
    *o->withdrawn_at = o->withdrawn_next;
    if (o->withdrawn_next)
        o->withdrawn_next->withdrawn_at = o->withdrawn_at;
    o->withdrawn = 0;
}

void gang__timeline_remove(struct gang__timeline *t, uint32_t id)
{
    struct gang__occupant *o = t->occupant[id];
    assert(id < t->occupant_end && o);
    if (o->withdrawn)
        unlink_withdrawn(o);
    else
        gang__occupant_leave(t, o);
    t->occupant[id] = NULL;
    t->occupant_count--;
    t->free_id[t->free_id_count++] = id;
    gang__occupant_free(t, o);
}

void gang__timeline_move(struct gang__timeline *t, uint32_t id, int64_t start_ns, int64_t end_ns)
{
    struct gang__occupant *o = t->occupant[id];
    assert(id < t->occupant_end && o && !o->withdrawn && start_ns < end_ns);
    gang__occupant_leave(t, o);
    o->start_ns = start_ns;
    o->end_ns = end_ns;
    gang__occupant_enter(t, o);
}

void gang__timeline_withdraw(struct gang__timeline *t, uint32_t id)
{
    assert(id < t->occupant_end && t->occupant[id]);
    if (!t->occupant[id]->withdrawn)
        gang__timeline_withdraw_as(t, id, ++t->withdrawals);
}

void gang__timeline_withdraw_as(struct gang__timeline *t, uint32_t id, uint64_t mark)
{
    struct gang__occupant *o = t->occupant[id], **at = &t->withdrawn;
    assert(id < t->occupant_end && o && !o->withdrawn);
    gang__occupant_leave(t, o);
    while (*at && (*at)->withdrawn > mark)
        at = &(*at)->withdrawn_next;
    o->withdrawn = mark;
    o->withdrawn_next = *at;
    o->withdrawn_at = at;
    if (*at)
        (*at)->withdrawn_at = &o->withdrawn_next;
    *at = o;
}

uint64_t gang__timeline_restore(struct gang__timeline *t, uint32_t id)
{
    struct gang__occupant *o = t->occupant[id];
    assert(id < t->occupant_end && o);
    uint64_t mark = o->withdrawn;
    if (mark > 0) {
        unlink_withdrawn(o);
        gang__occupant_enter(t, o); /* its edges are reserved as long as it is there */
    }
    return mark;
}

uint64_t gang__timeline_mark(const struct gang__timeline *t)
{
    return t->withdrawals;
}

void gang__timeline_restore_to(struct gang__timeline *t, uint64_t mark)
{
    while (t->withdrawn && t->withdrawn->withdrawn > mark)
        gang__timeline_restore(t, t->withdrawn->id);
}

void gang__timeline_advance(struct gang__timeline *t, int64_t now_ns)
{
    assert(now_ns >= t->now_ns);
    if (t->flat) {
        t->now_ns = now_ns;
        gang__flat_advance(t);
        return;
    }
    struct gang__edge *e = gang__edge_after(t, t->now_ns);
    t->now_ns = now_ns;
    for (; e && e->at_ns <= now_ns; e = gang__edge_after(t, e->at_ns))
        for (int side = 0; side < 2; side++)
            for (const struct gang__occupant *o = e->first[side]; o; o = o->next[side])
                for (uint32_t i = 0; i < o->stay_count; i++)
                    gang__node_stale(t, o->stay[i].node);
}

/* ---- does it fit? -------------------------------------------------------------------------- */

/* On a flat machine: what is asked of the node and of the pool, as sums. */
static bool fits_flat(struct gang__timeline *t, const struct gang__occupation *o)
{
    int64_t need[GANG__FREE_DIMS] = {[GANG__FREE_POOL] = o->pool};
    gang_result r = GANG_OK;
    if (o->place_count > 0 && !gang__occupation_sum(o, 0, need, &r))
        return false; /* more than there can be */
    need[GANG__FREE_NODES] = o->place_count > 0 && o->whole;
    need[GANG__FREE_POOL] = o->pool;
    return gang__timeline_fits_sum(t, need, o->start_ns, o->end_ns);
}

bool gang__timeline_fits(struct gang__timeline *t, const struct gang__occupation *o)
{
    int64_t amount[GANG__FREE_KINDS], unused[GANG__FREE_KINDS], more[GANG__MORE_MAX], until;
    int64_t pool[GANG__FREE_DIMS] = {[GANG__FREE_POOL] = o->pool};
    gang_result r = GANG_OK;
    if (t->flat)
        return fits_flat(t, o);
    if (!gang__timeline_fits_sum(t, pool, o->start_ns, o->end_ns))
        return false;
    for (size_t i = 0, n; i < o->place_count; i += n) {
        n = gang__occupation_sum(o, i, amount, &r);
        if (!n)
            return false; /* more than there can be */
        if (o->whole) {
            if (!gang__node_whole(t, o->place[i].node, o->start_ns, o->end_ns))
                return false;
            continue;
        }
        gang__node_during(t, o->place[i].node, o->start_ns, o->end_ns, unused, &until);
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            if (amount[k] > unused[k])
                return false;
        if (t->more_kinds)
            gang__occupation_sum_more(t, o, i, more);
        for (uint32_t k = 0; k < t->more_kinds; k++)
            if (more[k] > t->more_during[k] &&
                gang__more_binds(t, more, t->more_during, gang__more_capacity(t, o->place[i].node),
                                 k))
                return false;
    }
    return true;
}
