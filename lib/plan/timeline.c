/* SPDX-License-Identifier: Apache-2.0 */
/* Making a timeline, and what changes it. */
#include <assert.h>
#include <stdlib.h>

#include "plan/timeline_in.h"

/* ---- making it ----------------------------------------------------------------------------- */

static gang_result count_up(struct gang__timeline *t, const int64_t *capacity, size_t node_count,
                            int64_t pool)
{
    if (node_count > (size_t)INT32_MAX || pool < 0)
        return GANG_ERANGE;
    for (size_t i = 0; i < node_count * GANG__FREE_KINDS; i++) {
        size_t k = i % GANG__FREE_KINDS;
        if (capacity[i] < 0 || capacity[i] > GANG__AMOUNT_MAX ||
            capacity[i] > INT64_MAX - t->total[k])
            return GANG_ERANGE;
        t->total[k] += capacity[i];
        t->most[k] = capacity[i] > t->most[k] ? capacity[i] : t->most[k];
    }
    t->main_kind = t->most[GANG__FREE_GPU] > 0 ? GANG__FREE_GPU : GANG__FREE_CPU;
    for (int i = GANG__LEVEL_WHOLE + 1; i < GANG__LEVELS; i++)
        t->level[i] = t->most[t->main_kind] >> (GANG__LEVELS - 1 - i);
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

void gang__timeline_skip(struct gang__timeline *t, uint32_t first)
{
    t->first = first;
    t->flat = t->nodes - first <= 1;
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
    gang_result r = count_up(t, capacity, node_count, pool);
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
    void *const block[] = {t->capacity,     t->node,         t->now,      t->candidate,
                           t->candidate_of, t->is_candidate, t->occupant, t->free_id,
                           t->active,       t->tasks,        t->stale,    t->is_stale};
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

/* ---- the nodes' lists ---------------------------------------------------------------------- */

static void link_stay(struct gang__timeline *t, struct gang__occupant *o, uint32_t at)
{
    struct gang__stay *s = &o->stay[at];
    struct gang__stay_head *head = &t->node[s->node];
    uint32_t *of = &head->of, *index = &head->at;
    while (*of != GANG__NONE && t->occupant[*of]->start_ns <= o->start_ns) {
        struct gang__stay *next = &t->occupant[*of]->stay[*index];
        of = &next->next_of;
        index = &next->next_at;
    }
    s->next_of = *of;
    s->next_at = *index;
    *of = o->id;
    *index = at;
    head->count++;
}

static void unlink_stay(struct gang__timeline *t, struct gang__occupant *o, uint32_t at)
{
    struct gang__stay *s = &o->stay[at];
    struct gang__stay_head *head = &t->node[s->node];
    uint32_t *of = &head->of, *index = &head->at;
    while (*of != o->id) {
        struct gang__stay *next = &t->occupant[*of]->stay[*index];
        of = &next->next_of;
        index = &next->next_at;
    }
    *of = s->next_of;
    *index = s->next_at;
    head->count--;
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* By how much what counts as free of a node changes when it has this occupation, too. */
static void difference(const struct gang__walk *w, const int64_t *amount, int sign,
                       int64_t change[GANG__FREE_DIMS])
{
    for (int k = 0; k < GANG__FREE_KINDS; k++) {
        int64_t unused = gang__walk_unused(w, k);
        change[k] = -sign * (amount[k] < unused ? amount[k] : unused);
    }
    change[GANG__FREE_NODES] = gang__walk_is_whole(w) ? -sign : 0;
}

/* Count a node of an occupation that is not in its list: `sign` 1: it comes, -1: it goes. What changes at
 * the occupation's own edges is added to `begin` and `end`, for mostly it is the same for all nodes. */
static void count_stay(struct gang__timeline *t, const struct gang__occupant *o,
                       const struct gang__stay *s, int sign, int64_t *begin, int64_t *end)
{
    struct gang__walk w;
    int64_t last[GANG__FREE_DIMS] = {0}, change[GANG__FREE_DIMS] = {0};
    struct gang__edge *edge = NULL;
    gang__walk_begin(&w, t, s->node, o->start_ns);
    for (;;) {
        difference(&w, gang__stay_amount(t, o, s), sign, change);
        for (int k = 0; k < GANG__FREE_POOL; k++) {
            int64_t *to = edge ? &edge->change[k] : &begin[k];
            *to += change[k] - last[k];
        }
        if (edge && memcmp(change, last, sizeof(last)) != 0)
            gang__edge_refresh(t, edge);
        memcpy(last, change, sizeof(last));
        if (w.to_ns >= o->end_ns)
            break;
        edge = w.edge;
        gang__walk_on(&w);
    }
    for (int k = 0; k < GANG__FREE_POOL; k++)
        end[k] -= last[k];
}

static void count_all(struct gang__timeline *t, const struct gang__occupant *o, int sign,
                      int64_t change[2][GANG__FREE_DIMS])
{
    memset(change, 0, 2 * sizeof(change[0]));
    for (uint32_t i = 0; i < o->stay_count; i++)
        count_stay(t, o, &o->stay[i], sign, change[GANG__STARTS], change[GANG__ENDS]);
    change[GANG__STARTS][GANG__FREE_POOL] = -sign * o->pool;
    change[GANG__ENDS][GANG__FREE_POOL] = sign * o->pool;
}

/* ---- coming and going ---------------------------------------------------------------------- */

static struct gang__after_end anything(const struct gang__timeline *t)
{
    struct gang__after_end after;
    for (int i = 0; i < GANG__LEVELS; i++)
        after.reach_ns[i] = GANG__NEVER;
    memcpy(after.best, t->most, sizeof(after.best));
    return after;
}

/* On this node something goes: what is free after an end during it is more, perhaps, and what lasts from an end
 * before it up to its start, or beyond elsewhere, lasts longer. */
static void lift(struct gang__timeline *t, const struct gang__occupant *o, uint32_t node)
{
    const struct gang__stay *s;
    uint32_t of = t->node[node].of, at = t->node[node].at;
    for (; of != GANG__NONE && t->occupant[of]->start_ns < o->end_ns;
         of = s->next_of, at = s->next_at) {
        struct gang__occupant *before = t->occupant[of];
        s = &before->stay[at];
        if (before->end_ns >= o->end_ns)
            continue;
        struct gang__after_end after = before->end_ns < o->start_ns ? before->after : anything(t);
        for (int i = 0; i < GANG__LEVELS; i++)
            if (after.reach_ns[i] >= o->start_ns)
                after.reach_ns[i] = GANG__NEVER;
        gang__edge_bound(t, before, &after);
    }
}

static void come(struct gang__timeline *t, struct gang__occupant *o)
{
    int64_t change[2][GANG__FREE_DIMS];
    o->serial = ++t->serials;
    if (t->flat) {
        gang__flat_change(t, o, change);
        gang__flat_count(t, change[GANG__STARTS]);
        gang__edges_enter(t, o, change);
        if (o->stay_count > 0)
            t->node[t->first].count++;
        return;
    }
    o->after = (struct gang__after_end)GANG__AFTER_NOTHING;
    count_all(t, o, 1, change);
    for (uint32_t i = 0; i < o->stay_count && o->end_ns != GANG__NEVER; i++) {
        struct gang__after_end one =
            gang__node_after(t, o->stay[i].node, o->end_ns, GANG__LEVEL_ALL);
        gang__after_lift(&o->after, &one);
    }
    gang__edges_enter(t, o, change);
    for (uint32_t i = 0; i < o->stay_count; i++) {
        link_stay(t, o, i);
        gang__node_stale(t, o->stay[i].node);
    }
}

static void go_flat(struct gang__timeline *t, struct gang__occupant *o)
{
    int64_t change[2][GANG__FREE_DIMS], back[2][GANG__FREE_DIMS];
    gang__flat_change(t, o, change);
    memcpy(back[GANG__STARTS], change[GANG__ENDS], sizeof(back[0]));
    memcpy(back[GANG__ENDS], change[GANG__STARTS], sizeof(back[0]));
    gang__edges_leave(t, o, back);
    if (o->stay_count > 0)
        t->node[t->first].count--;
}

static void go(struct gang__timeline *t, struct gang__occupant *o)
{
    int64_t change[2][GANG__FREE_DIMS];
    if (t->flat) {
        go_flat(t, o);
        return;
    }
    for (uint32_t i = 0; i < o->stay_count; i++) {
        unlink_stay(t, o, i);
        gang__node_stale(t, o->stay[i].node);
        lift(t, o, o->stay[i].node);
    }
    count_all(t, o, -1, change);
    gang__edges_leave(t, o, change);
}

/* ---- an occupation from its specification -------------------------------------------------- */

/* What the places from `at` on that are of one node come to. Returns how many there are; 0: *r is an error. */
static size_t add_up(const struct gang__occupation *o, size_t at, int64_t amount[GANG__FREE_KINDS],
                     gang_result *r)
{
    size_t i = at;
    memset(amount, 0, GANG__FREE_KINDS * sizeof(amount[0]));
    for (; i < o->place_count && o->place[i].node == o->place[at].node; i++) {
        if (o->whole)
            continue;
        const struct gang__time_place *p = &o->place[i];
        *r = p->group >= o->group_count ? GANG_EINVAL : p->tasks < 0 ? GANG_ERANGE : GANG_OK;
        for (int k = 0; k < GANG__FREE_KINDS && *r == GANG_OK; k++) {
            int64_t one = o->group[p->group].need[k], all;
            if (one < 0 || __builtin_mul_overflow(one, p->tasks, &all) ||
                all > GANG__AMOUNT_MAX - amount[k])
                *r = GANG_ERANGE;
            else
                amount[k] += all;
        }
        if (*r != GANG_OK)
            return 0;
    }
    return i - at;
}

/* How many nodes, and how many different amounts, one after the other. */
static gang_result measure(const struct gang__timeline *t, const struct gang__occupation *o,
                           size_t *stays, size_t *amounts)
{
    int64_t amount[GANG__FREE_KINDS], last[GANG__FREE_KINDS];
    gang_result r = GANG_OK;
    *stays = *amounts = 0;
    if (o->start_ns >= o->end_ns)
        return GANG_EINVAL;
    if (o->pool < 0)
        return GANG_ERANGE;
    for (size_t i = 0, n; i < o->place_count; i += n, ++*stays) {
        if (o->place[i].node >= t->nodes || o->place[i].node < t->first ||
            (i && o->place[i].node < o->place[i - 1].node))
            return GANG_EINVAL;
        n = add_up(o, i, amount, &r);
        if (!n)
            return r;
        if (t->node[o->place[i].node].count >= GANG__STAYS_MAX)
            return GANG_ELIMIT;
        if (!o->whole && (!*amounts || memcmp(amount, last, sizeof(last)) != 0))
            ++*amounts;
        memcpy(last, amount, sizeof(last));
    }
    return GANG_OK;
}

/* On one node, as most are. */
static bool is_small(size_t stays, size_t amounts)
{
    return stays == 1 && amounts == 1;
}

static void occupant_free(struct gang__timeline *t, struct gang__occupant *o)
{
    enum { FEW = 64 };
    bool whole = o->stay_count == 1 && o->stay[0].amount == GANG__AS_WHOLE;
    if (!is_small(o->stay_count, !whole) || t->vacant_count == FEW) {
        gang__release(&t->mem, o);
        return;
    }
    o->next[0] = t->vacant;
    t->vacant = o;
    t->vacant_count++;
}

static struct gang__occupant *occupant_room(struct gang__timeline *t, size_t stays, size_t amounts)
{
    struct gang__occupant *o = t->vacant;
    if (!o || !is_small(stays, amounts))
        return gang__alloc(&t->mem, sizeof(*o) + stays * sizeof(o->stay[0]) +
                                        amounts * sizeof(o->amount[0]));
    t->vacant = o->next[0];
    t->vacant_count--;
    return o;
}

static struct gang__occupant *occupant_new(struct gang__timeline *t,
                                           const struct gang__occupation *spec, size_t stays,
                                           size_t amounts)
{
    size_t bytes = sizeof(struct gang__occupant) + stays * sizeof(struct gang__stay);
    struct gang__occupant *o = occupant_room(t, stays, amounts);
    if (!o)
        return NULL;
    *o = (struct gang__occupant){.start_ns = spec->start_ns,
                                 .end_ns = spec->end_ns,
                                 .pool = spec->pool,
                                 .stay_count = (uint32_t)stays,
                                 .amount = (void *)((char *)o + bytes)};
    int64_t amount[GANG__FREE_KINDS];
    gang_result r = GANG_OK;
    uint32_t made = 0, s = 0;
    for (size_t i = 0, n; i < spec->place_count; i += n, s++) {
        n = add_up(spec, i, amount, &r);
        if (!spec->whole && (!made || memcmp(amount, o->amount[made - 1], sizeof(amount)) != 0))
            memcpy(o->amount[made++], amount, sizeof(amount));
        o->stay[s] = (struct gang__stay){GANG__NONE, GANG__NONE, spec->place[i].node,
                                         spec->whole ? GANG__AS_WHOLE : made - 1};
    }
    return o;
}

/* Room for as many occupations, of which so many are on one node, in all that is not their own. */
static bool reserve_for(struct gang__timeline *t, size_t count, size_t most)
{
    return gang__grow(&t->mem, (void **)&t->active, &t->active_room, most + 1,
                      sizeof(t->active[0])) &&
           gang__grow(&t->mem, (void **)&t->occupant, &t->occupant_room, t->occupant_end + count,
                      sizeof(t->occupant[0])) &&
           gang__grow(&t->mem, (void **)&t->free_id, &t->free_id_room, t->occupant_end + count,
                      sizeof(t->free_id[0])) &&
           gang__edges_reserve(t, t->occupant_count + count);
}

static bool reserve(struct gang__timeline *t, const struct gang__occupation *o)
{
    size_t most = 0;
    for (size_t i = 0; i < o->place_count; i++) {
        size_t count = t->node[o->place[i].node].count;
        most = count > most ? count : most;
    }
    return reserve_for(t, 1, most);
}

gang_result gang__timeline_add(struct gang__timeline *t, const struct gang__occupation *spec,
                               uint32_t *id)
{
    size_t stays, amounts;
    gang_result r = measure(t, spec, &stays, &amounts);
    if (r != GANG_OK)
        return r;
    struct gang__occupant *o = reserve(t, spec) ? occupant_new(t, spec, stays, amounts) : NULL;
    if (!o)
        return GANG_ENOMEM;
    o->id = t->free_id_count ? t->free_id[--t->free_id_count] : (uint32_t)t->occupant_end++;
    t->occupant[o->id] = o;
    t->occupant_count++;
    come(t, o);
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
    go(t, o);
    t->occupant[id] = NULL;
    t->occupant_count--;
    t->free_id[t->free_id_count++] = id;
    occupant_free(t, o);
}

void gang__timeline_move(struct gang__timeline *t, uint32_t id, int64_t start_ns, int64_t end_ns)
{
    struct gang__occupant *o = t->occupant[id];
    assert(id < t->occupant_end && o && start_ns < end_ns);
    go(t, o);
    o->start_ns = start_ns;
    o->end_ns = end_ns;
    come(t, o);
}

void gang__timeline_withdraw(struct gang__timeline *t, uint32_t id)
{
    struct gang__occupant *o = t->occupant[id];
    assert(id < t->occupant_end && o);
    if (o->withdrawn)
        return;
    o->kept_start_ns = o->start_ns;
    o->kept_end_ns = o->end_ns;
    o->withdrawn = ++t->withdrawals;
    o->withdrawn_next = t->withdrawn;
    o->withdrawn_at = &t->withdrawn;
    if (t->withdrawn)
        t->withdrawn->withdrawn_at = &o->withdrawn_next;
    t->withdrawn = o;
    gang__timeline_move(t, id, GANG__NEVER - 2, GANG__NEVER - 1);
}

void gang__timeline_restore(struct gang__timeline *t, uint32_t id)
{
    struct gang__occupant *o = t->occupant[id];
    assert(id < t->occupant_end && o);
    if (!o->withdrawn)
        return;
    unlink_withdrawn(o);
    gang__timeline_move(t, id, o->kept_start_ns, o->kept_end_ns);
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

/* ---- once more ------------------------------------------------------------------------------ */

static int by_serial(const void *a, const void *b)
{
    uint64_t x = (*(struct gang__occupant *const *)a)->serial,
             y = (*(struct gang__occupant *const *)b)->serial;
    return (x > y) - (x < y);
}

static struct gang__occupant *occupant_copy(struct gang__timeline *t,
                                            const struct gang__occupant *o)
{
    size_t amounts = 0, bytes = sizeof(*o) + o->stay_count * sizeof(o->stay[0]);
    for (uint32_t i = 0; i < o->stay_count; i++)
        if (o->stay[i].amount != GANG__AS_WHOLE && o->stay[i].amount >= amounts)
            amounts = o->stay[i].amount + 1;
    struct gang__occupant *copy = gang__alloc(&t->mem, bytes + amounts * sizeof(o->amount[0]));
    if (!copy)
        return NULL;
    memcpy(copy, o, bytes);
    copy->amount = (void *)((char *)copy + bytes);
    memcpy((void *)copy->amount, (const void *)o->amount, amounts * sizeof(o->amount[0]));
    return copy;
}

/* In the order in which they came, so that those that begin or end together lie in the same order. */
static bool copy_all(struct gang__timeline *t, const struct gang__timeline *from,
                     const struct gang__occupant **order)
{
    size_t count = 0;
    for (size_t i = 0; i < from->occupant_end; i++)
        if (from->occupant[i])
            order[count++] = from->occupant[i];
    if (count)
        qsort(order, count, sizeof(*order), by_serial);
    for (size_t i = 0; i < count; i++) {
        struct gang__occupant *o = occupant_copy(t, order[i]);
        if (!o)
            return false;
        t->occupant[o->id] = o;
        t->occupant_count++;
        come(t, o);
    }
    return true;
}

gang_result gang__timeline_copy(const struct gang_mem *mem, const struct gang__timeline *from,
                                struct gang__timeline **copy)
{
    size_t most = 0, end = from->occupant_end;
    gang_result r = gang__timeline_new(mem, &from->capacity[0][0], from->nodes,
                                       from->total[GANG__FREE_POOL], from->now_ns, copy);
    if (r != GANG_OK)
        return r;
    struct gang__timeline *t = *copy;
    gang__timeline_skip(t, from->first);
    const struct gang__occupant **order = gang__zalloc(mem, end + 1, sizeof(*order));
    for (uint32_t i = 0; i < from->nodes; i++)
        most = from->node[i].count > most ? from->node[i].count : most;
    bool ok = order && reserve_for(t, end, most);
    if (ok) {
        for (size_t i = 0; i < end; i++)
            t->occupant[i] = NULL;
        t->occupant_end = end;
        t->free_id_count = from->free_id_count;
        if (from->free_id_count)
            memcpy(t->free_id, from->free_id, from->free_id_count * sizeof(*t->free_id));
        ok = copy_all(t, from, order);
    }
    gang__release(mem, order);
    if (ok)
        return GANG_OK;
    gang__timeline_free(t);
    *copy = NULL;
    return GANG_ENOMEM;
}

/* ---- does it fit? -------------------------------------------------------------------------- */

/* On a flat machine: what is asked of the node and of the pool, as sums. */
static bool fits_flat(struct gang__timeline *t, const struct gang__occupation *o)
{
    int64_t need[GANG__FREE_DIMS] = {[GANG__FREE_POOL] = o->pool};
    gang_result r = GANG_OK;
    if (o->place_count > 0 && !add_up(o, 0, need, &r))
        return false; /* more than there can be */
    need[GANG__FREE_NODES] = o->place_count > 0 && o->whole;
    need[GANG__FREE_POOL] = o->pool;
    return gang__timeline_fits_sum(t, need, o->start_ns, o->end_ns);
}

bool gang__timeline_fits(struct gang__timeline *t, const struct gang__occupation *o)
{
    int64_t amount[GANG__FREE_KINDS], unused[GANG__FREE_KINDS], until;
    int64_t pool[GANG__FREE_DIMS] = {[GANG__FREE_POOL] = o->pool};
    gang_result r = GANG_OK;
    if (t->flat)
        return fits_flat(t, o);
    if (!gang__timeline_fits_sum(t, pool, o->start_ns, o->end_ns))
        return false;
    for (size_t i = 0, n; i < o->place_count; i += n) {
        n = add_up(o, i, amount, &r);
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
    }
    return true;
}
