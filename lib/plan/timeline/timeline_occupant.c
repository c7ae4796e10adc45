/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an occupant of the specification of an occupation, and checks that. */
#include <stdlib.h>

#include "plan/timeline/timeline_in.h"

/* Sums the places of one node from `at` on. Returns how many there are; 0: *r is an error. */
size_t gang__occupation_sum(const struct gang__occupation *o, size_t at,
                            int64_t amount[GANG__FREE_KINDS], gang_result *r)
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

void gang__occupation_sum_more(const struct gang__timeline *t, const struct gang__occupation *o,
                               size_t at, int64_t more[GANG__MORE_MAX])
{
    memset(more, 0, GANG__MORE_MAX * sizeof(more[0]));
    for (size_t i = at; i < o->place_count && o->place[i].node == o->place[at].node; i++) {
        const struct gang__time_place *p = &o->place[i];
        for (uint32_t k = 0; k < t->more_kinds && !o->whole; k++)
            more[k] =
                gang__add_sat(more[k], gang__mul_div(o->group[p->group].more[k], p->tasks, 1));
    }
}

static bool more_is_valid(const struct gang__timeline *t, const int64_t *more)
{
    for (uint32_t k = 0; k < t->more_kinds; k++)
        if (more[k] < 0 || more[k] > GANG__AMOUNT_MAX)
            return false;
    return true;
}

/* How many nodes, and how many different amounts, one after the other. */
gang_result gang__occupation_measure(const struct gang__timeline *t,
                                     const struct gang__occupation *o, size_t *stays,
                                     size_t *amounts)
{
    int64_t amount[GANG__FREE_KINDS], last[GANG__FREE_KINDS];
    int64_t more[GANG__MORE_MAX] = {0}, last_more[GANG__MORE_MAX] = {0};
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
        n = gang__occupation_sum(o, i, amount, &r);
        if (!n)
            return r;
        if (t->node[o->place[i].node].count >= GANG__STAYS_MAX)
            return GANG_ELIMIT;
        if (t->more_kinds) {
            gang__occupation_sum_more(t, o, i, more);
            if (!more_is_valid(t, more))
                return GANG_ERANGE;
        }
        if (!o->whole && (!*amounts || memcmp(amount, last, sizeof(last)) != 0 ||
                          (t->more_kinds && memcmp(more, last_more, sizeof(more)) != 0)))
            ++*amounts;
        memcpy(last, amount, sizeof(last));
        if (t->more_kinds)
            memcpy(last_more, more, sizeof(more));
    }
    return GANG_OK;
}

/* On one node, as most are. */
static bool is_small(size_t stays, size_t amounts)
{
    return stays == 1 && amounts == 1;
}

void gang__occupant_free(struct gang__timeline *t, struct gang__occupant *o)
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

static struct gang__occupant *occupant_alloc(struct gang__timeline *t, size_t stays, size_t amounts)
{
    struct gang__occupant *o = t->vacant;
    if (!o || !is_small(stays, amounts))
        return gang__alloc(&t->mem, sizeof(*o) + stays * sizeof(o->stay[0]) +
                                        amounts * gang__amount_bytes(t));
    t->vacant = o->next[0];
    t->vacant_count--;
    return o;
}

static bool differs(const struct gang__timeline *t, const struct gang__occupant *o, size_t at,
                    const int64_t *amount, const int64_t *more)
{
    return memcmp(amount, o->amount[at], sizeof(o->amount[at])) != 0 ||
           (t->more_kinds &&
            memcmp(more, o->more + at * t->more_kinds, t->more_kinds * sizeof(*more)) != 0);
}

struct gang__occupant *gang__occupant_new(struct gang__timeline *t,
                                          const struct gang__occupation *spec, size_t stays,
                                          size_t amounts)
{
    size_t bytes = sizeof(struct gang__occupant) + stays * sizeof(struct gang__stay);
    struct gang__occupant *o = occupant_alloc(t, stays, amounts);
    if (!o)
        return NULL;
    *o = (struct gang__occupant){.start_ns = spec->start_ns,
                                 .end_ns = spec->end_ns,
                                 .pool = spec->pool,
                                 .stay_count = (uint32_t)stays,
                                 .amount = (void *)((char *)o + bytes)};
    o->more = (int64_t *)(void *)(o->amount + amounts);
    int64_t amount[GANG__FREE_KINDS], more[GANG__MORE_MAX];
    gang_result r = GANG_OK;
    uint32_t made = 0, s = 0;
    for (size_t i = 0, n; i < spec->place_count; i += n, s++) {
        n = gang__occupation_sum(spec, i, amount, &r);
        if (t->more_kinds)
            gang__occupation_sum_more(t, spec, i, more);
        if (!spec->whole && (!made || differs(t, o, made - 1, amount, more))) {
            memcpy(o->amount[made], amount, sizeof(amount));
            if (t->more_kinds)
                memcpy(o->more + (size_t)made * t->more_kinds, more,
                       t->more_kinds * sizeof(more[0]));
            made++;
        }
        o->stay[s] = (struct gang__stay){GANG__NONE, GANG__NONE, spec->place[i].node,
                                         spec->whole ? GANG__AS_WHOLE : made - 1};
    }
    return o;
}

/* Grows all arrays for `count` more occupations, of which at most `most` are on one node. */
bool gang__timeline_reserve(struct gang__timeline *t, size_t count, size_t max_on_node)
{
    return gang__grow(&t->mem, (void **)&t->active, &t->active_cap, max_on_node + 1,
                      sizeof(t->active[0])) &&
           gang__grow(&t->mem, (void **)&t->occupant, &t->occupant_cap, t->occupant_end + count,
                      sizeof(t->occupant[0])) &&
           gang__grow(&t->mem, (void **)&t->free_id, &t->free_id_cap, t->occupant_end + count,
                      sizeof(t->free_id[0])) &&
           gang__edges_reserve(t, t->occupant_count + count);
}
