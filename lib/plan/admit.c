/* SPDX-License-Identifier: Apache-2.0 */
/* An ask from its beginning to its answer. */
#include <stdlib.h>

#include "plan/admit_in.h"

/* How it is tried. */
struct attempt {
    int64_t from_ns, end_ns; /* the window */
    int64_t start_ns;        /* if `fixed` */
    bool fixed;
    int prefer;
    uint32_t first, count; /* the stages */
    int combine;
};

/* ---- one stage ----------------------------------------------------------------------------- */

static gang_result find(struct gang__admission *a, const struct gang__figure *f, int prefer,
                        int64_t from_ns, int64_t end_ns, int64_t *start_ns)
{
    int64_t to_ns = end_ns - gang__figure_span(a, f);
    if (prefer == GANG__ADMIT_LATEST)
        return gang__figure_latest(a, f, from_ns, to_ns, start_ns);
    if (prefer == GANG__ADMIT_CHEAPEST)
        return gang__figure_cheapest(a, f, from_ns, to_ns, start_ns);
    return gang__figure_earliest(a, f, from_ns, to_ns, start_ns);
}

/* `has` gangs of the stage found room. */
static gang_result short_of(struct gang__admission *a, uint32_t stage, int64_t has)
{
    a->got->why = GANG__ADMIT_FULL;
    a->got->stage = stage;
    a->got->wanted = a->demand[stage].gangs;
    a->got->has = has;
    return GANG_ENOFIT;
}

/* All gangs of some stages, at once, one stage directly after the other. */
static gang_result place_together(struct gang__admission *a, const struct gang__figure *f,
                                  int prefer, int64_t from_ns, int64_t end_ns)
{
    int64_t start_ns;
    for (uint32_t i = 0; i < f->count; i++)
        gang__demand_set(&a->demand[f->first + i], a->demand[f->first + i].gangs);
    gang_result r = find(a, f, prefer, from_ns, end_ns, &start_ns);
    if (r == GANG_OK)
        r = gang__figure_put(a, f, start_ns, 0);
    return r == GANG_ENOFIT ? short_of(a, f->first, 0) : r;
}

/* How many gangs fit at a start at which one does: *gangs of `left`, and that many are asked for then. */
static gang_result count_gangs(struct gang__admission *a, const struct gang__figure *f,
                               int64_t start_ns, int64_t left, int64_t *gangs)
{
    struct gang__demand *d = &a->demand[f->first];
    int64_t fit = 1, not = left + 1, next = left;
    bool full;
    while (fit + 1 < not ) {
        gang__demand_set(d, next);
        gang_result r = gang__figure_fits(a, f, start_ns, &full);
        if (r != GANG_OK && r != GANG_ENOFIT)
            return r;
        if (r == GANG_OK)
            fit = next;
        else
            not = next;
        /* All of them, as a rule; else twice as many each time, until it is too much. */
        next = fit < not / 2 ? 2 * fit : fit + (not -fit) / 2;
    }
    gang__demand_set(d, fit);
    *gangs = fit;
    return GANG_OK;
}

/* The gangs of a stage, as many at a time as fit. */
static gang_result place_stage(struct gang__admission *a, uint32_t stage, int prefer,
                               int64_t from_ns, int64_t end_ns)
{
    struct gang__figure f = {stage, 1};
    struct gang__demand *d = &a->demand[stage];
    int64_t start_ns, gangs;
    for (int64_t left = d->gangs; left > 0; left -= gangs) {
        gang__demand_set(d, 1);
        gang_result r = find(a, &f, prefer, from_ns, end_ns, &start_ns);
        if (r == GANG_OK)
            r = count_gangs(a, &f, start_ns, left, &gangs);
        if (r == GANG_OK)
            r = gang__figure_put(a, &f, start_ns, gangs);
        if (r != GANG_OK)
            return r == GANG_ENOFIT ? short_of(a, stage, d->gangs - left) : r;
        /* What did not fit before, or behind, does not now. */
        if (prefer == GANG__ADMIT_EARLIEST)
            from_ns = start_ns;
        else if (prefer == GANG__ADMIT_LATEST)
            end_ns = start_ns + d->stage->duration_ns;
    }
    return GANG_OK;
}

/* ---- several ------------------------------------------------------------------------------- */

static gang_result place_fixed(struct gang__admission *a, const struct attempt *t, uint32_t stage,
                               uint32_t count)
{
    struct gang__figure f = {stage, count};
    int64_t end_ns = t->start_ns;
    for (uint32_t i = 0; i < count; i++)
        end_ns += a->demand[stage + i].stage->duration_ns;
    return end_ns <= t->end_ns ? place_together(a, &f, GANG__ADMIT_EARLIEST, t->start_ns, end_ns)
                               : short_of(a, stage, 0);
}

/* When the first piece of the first instance begins, or the last one ends, of those from `first` on. */
static int64_t border(const struct gang__admitted *got, size_t first, bool end)
{
    int64_t at = end ? INT64_MIN : INT64_MAX;
    for (size_t i = first; i < got->count; i++) {
        const struct gang__admit_piece *p = &got->piece[i];
        if (p->instance > 0)
            continue;
        if (end)
            at = p->end_ns > at ? p->end_ns : at;
        else
            at = p->start_ns < at ? p->start_ns : at;
    }
    return at;
}

/* In order; the other stages' durations are kept free before or behind. */
static gang_result place_order(struct gang__admission *a, const struct attempt *t)
{
    bool late = t->prefer == GANG__ADMIT_LATEST;
    uint32_t i = 0;
    int64_t from_ns = t->from_ns, end_ns = t->end_ns, others = 0;
    gang_result r = GANG_OK;
    if (t->fixed) {
        r = place_fixed(a, t, t->first, 1);
        from_ns = t->start_ns + a->demand[t->first].stage->duration_ns;
        i = 1;
    }
    for (uint32_t j = i; j < t->count; j++)
        others += a->demand[t->first + j].stage->duration_ns;
    for (uint32_t left = t->count - i; left > 0 && r == GANG_OK; left--) {
        uint32_t stage = t->first + (late ? i + left - 1 : t->count - left);
        size_t before = a->got->count;
        others -= a->demand[stage].stage->duration_ns;
        r = place_stage(a, stage, t->prefer, from_ns + (late ? others : 0),
                        end_ns - (late ? 0 : others));
        if (r == GANG_OK && late)
            end_ns = border(a->got, before, false);
        else if (r == GANG_OK)
            from_ns = border(a->got, before, true);
    }
    return r;
}

static gang_result place_all(struct gang__admission *a, const struct attempt *t)
{
    gang_result r = GANG_OK;
    for (uint32_t i = t->first; i < t->first + t->count && r == GANG_OK; i++)
        r = t->fixed ? place_fixed(a, t, i, 1)
                     : place_stage(a, i, t->prefer, t->from_ns, t->end_ns);
    return r;
}

static gang_result place_any(struct gang__admission *a, const struct attempt *t)
{
    gang_result r = GANG_ENOFIT;
    for (uint32_t i = t->first; i < t->first + t->count && r == GANG_ENOFIT; i++) {
        struct attempt one = *t;
        one.first = i;
        one.count = 1;
        r = place_all(a, &one);
        if (r != GANG_OK)
            gang__admit_take_back(a->t, a->got, 0);
    }
    return r;
}

/* All of it or nothing. */
static gang_result place(struct gang__admission *a, const struct attempt *t)
{
    struct gang__figure all = {t->first, t->count};
    gang_result r;
    a->got->usage = a->usage;
    if (t->combine == GANG__ADMIT_ANY)
        r = place_any(a, t);
    else if (t->combine == GANG__ADMIT_ALL)
        r = place_all(a, t);
    else if (t->combine == GANG__ADMIT_ORDER)
        r = place_order(a, t);
    else if (t->fixed)
        r = place_fixed(a, t, t->first, t->count);
    else
        r = place_together(a, &all, t->prefer, t->from_ns, t->end_ns);
    if (r != GANG_OK)
        gang__admit_take_back(a->t, a->got, 0);
    return r;
}

static gang_result place_or_earliest(struct gang__admission *a, const struct attempt *t)
{
    struct attempt again = *t;
    gang_result r = place(a, t);
    again.prefer = GANG__ADMIT_EARLIEST;
    return r == GANG_ENOFIT && t->prefer != GANG__ADMIT_EARLIEST ? place(a, &again) : r;
}

/* ---- why not ------------------------------------------------------------------------------- */

/* More than all nodes have, or the pool. */
static gang_result larger(struct gang__admission *a, uint32_t stage, size_t group, int64_t wanted,
                          int64_t has)
{
    a->got->why = GANG__ADMIT_LARGER;
    a->got->stage = stage;
    a->got->item = (int)group;
    a->got->wanted = wanted;
    a->got->has = has;
    return GANG_ENEVER;
}

/* Is a gang of the stage larger than all there is? GANG_ENEVER: it is; then it is told. */
static gang_result check_size(struct gang__admission *a, const struct attempt *t, uint32_t stage)
{
    struct gang__demand *d = &a->demand[stage];
    bool together = t->combine == GANG__ADMIT_ORDER_NO_GAP ||
                    (t->fixed && (t->combine != GANG__ADMIT_ORDER || stage == t->first));
    gang__demand_set(d, together ? d->gangs : 1);
    if (d->stage->pool) {
        int64_t units = a->t->total[GANG__FREE_POOL];
        return d->pool > units ? larger(a, stage, 0, d->pool, units) : GANG_OK;
    }
    gang_result r = gang__timeline_holds(a->t, &d->ask, &a->fit);
    if (r != GANG_ENEVER)
        return r;
    size_t i = 0;
    while (i < d->ask.group_count && gang__timeline_room(a->t, &d->ask, i) >= d->group[i].count)
        i++;
    i = i < d->ask.group_count ? i : 0; /* each by itself would fit */
    return larger(a, stage, i, d->group[i].count, gang__timeline_room(a->t, &d->ask, i));
}

/* Of ANY, all of them must be too large. */
static gang_result check_sizes(struct gang__admission *a, const struct attempt *t)
{
    struct gang__admitted was = *a->got;
    gang_result r = GANG_OK;
    for (uint32_t i = t->first; i < t->first + t->count; i++) {
        r = check_size(a, t, i);
        if (r != GANG_OK && r != GANG_ENEVER)
            return r;
        if ((r == GANG_ENEVER) != (t->combine == GANG__ADMIT_ANY))
            break;
    }
    if (r == GANG_OK) {
        a->got->why = was.why;
        a->got->stage = was.stage;
        a->got->item = was.item;
        a->got->wanted = was.wanted;
        a->got->has = was.has;
    }
    return r;
}

static void tell_excess(struct gang__admitted *got, const struct gang__admit_piece *p,
                        const struct gang__usage_excess *e)
{
    got->why = e->average ? GANG__ADMIT_AVERAGE : GANG__ADMIT_MOST;
    got->stage = p->stage;
    got->item = e->kind;
    got->wanted = e->wanted;
    got->has = e->limit;
}

/* The pieces lie where there is room for them. Which one is too much for the user? */
static gang_result check_limits(struct gang__admission *a, struct gang__usage *usage)
{
    struct gang__admitted *got = a->got;
    struct gang__usage_excess e;
    gang_result r = GANG_OK;
    size_t booked = 0;
    for (; booked < got->count && r == GANG_OK; booked++) {
        struct gang__admit_piece *p = &got->piece[booked];
        struct gang__usage_piece one = {0, p->end_ns - p->start_ns, {0}};
        gang__piece_amount(a, p, one.amount);
        if (!gang__usage_fits(usage, &one, 1, p->start_ns, &e)) {
            tell_excess(got, p, &e);
            break;
        }
        r = gang__usage_add(usage, p->start_ns, p->end_ns, one.amount, &p->usage_id);
        if (r != GANG_OK)
            break;
    }
    while (booked > 0)
        gang__usage_remove(usage, got->piece[--booked].usage_id);
    return r;
}

/* It was refused: is it the user's limits alone? */
static gang_result explain(struct gang__admission *a, const struct attempt *t)
{
    struct gang__usage *usage = a->usage;
    struct attempt free = *t;
    gang_result r = check_sizes(a, t);
    if (r != GANG_OK || !usage)
        return r;
    free.prefer = GANG__ADMIT_EARLIEST;
    a->usage = NULL;
    r = place(a, &free);
    a->usage = usage;
    if (r == GANG_OK) {
        r = check_limits(a, usage);
        gang__admit_take_back(a->t, a->got, 0);
    }
    return r == GANG_ENOFIT ? GANG_OK : r;
}

/* ---- when, then ---------------------------------------------------------------------------- */

enum { NEXT_TRIES = 64 };

/* The first begin of a window of the same length in which all of it can be placed. */
static gang_result next_window(struct gang__admission *a, const struct attempt *t, int64_t far_ns,
                               int64_t *next_ns)
{
    struct attempt open = *t;
    int64_t length = t->end_ns - t->from_ns;
    open.prefer = GANG__ADMIT_EARLIEST;
    open.end_ns = far_ns;
    *next_ns = GANG__NEVER;
    for (int i = 0; i < NEXT_TRIES; i++) {
        gang_result r = place(a, &open);
        if (r != GANG_OK)
            return r == GANG_ENOFIT ? GANG_OK : r;
        int64_t first = border(a->got, 0, false), last = border(a->got, 0, true);
        gang__admit_take_back(a->t, a->got, 0);
        if (last - first <= length) {
            *next_ns = first;
            break;
        }
        /* It cannot be done sooner if it begins later. */
        open.from_ns = last - length;
    }
    return GANG_OK;
}

/* The first start >= *at at which each stage that begins then fits by itself; GANG__NEVER: none. */
static gang_result next_start(struct gang__admission *a, const struct attempt *t, int64_t far_ns,
                              int64_t *at)
{
    bool chain = t->combine == GANG__ADMIT_ORDER_NO_GAP;
    uint32_t figures = t->combine == GANG__ADMIT_ALL ? t->count : 1;
    for (int64_t last = *at - 1; last != *at;) {
        last = *at;
        for (uint32_t i = 0; i < figures; i++) {
            struct gang__figure f = {t->first + i, chain ? t->count : 1};
            for (uint32_t j = 0; j < f.count; j++)
                gang__demand_set(&a->demand[f.first + j], a->demand[f.first + j].gangs);
            gang_result r = find(a, &f, GANG__ADMIT_EARLIEST, *at, far_ns, at);
            if (r == GANG_ENOFIT)
                *at = GANG__NEVER;
            if (r != GANG_OK)
                return r == GANG_ENOFIT ? GANG_OK : r;
        }
    }
    return GANG_OK;
}

static gang_result next_fixed(struct gang__admission *a, const struct attempt *t, int64_t far_ns,
                              int64_t *next_ns)
{
    struct attempt later = *t;
    int64_t length = t->end_ns - t->start_ns, at = t->start_ns;
    later.prefer = GANG__ADMIT_EARLIEST;
    *next_ns = GANG__NEVER;
    for (int i = 0; i < NEXT_TRIES; i++) {
        gang_result r = next_start(a, t, far_ns, &at);
        if (r != GANG_OK || at == GANG__NEVER)
            return r;
        later.start_ns = at;
        later.end_ns = at < far_ns - length ? at + length : far_ns;
        r = place(a, &later);
        gang__admit_take_back(a->t, a->got, 0);
        if (r == GANG_OK)
            *next_ns = at;
        if (r != GANG_ENOFIT)
            return r;
        const struct gang__edge *e = gang__edge_after(a->t, at);
        if (!e)
            break;
        at = e->at_ns;
    }
    return GANG_OK;
}

/* Of ANY, the first of all its stages. */
static gang_result find_next(struct gang__admission *a, const struct attempt *t, int64_t far_ns)
{
    struct gang__admitted *got = a->got;
    struct gang__admitted was = *got;
    struct attempt one = *t;
    bool any = t->combine == GANG__ADMIT_ANY;
    int64_t best_ns = GANG__NEVER, next_ns;
    gang_result r = GANG_OK;
    one.combine = any ? GANG__ADMIT_ALL : t->combine;
    one.count = any ? 1 : t->count;
    for (uint32_t i = 0; i < (any ? t->count : 1) && r == GANG_OK; i++) {
        one.first = t->first + i;
        r = t->fixed ? next_fixed(a, &one, far_ns, &next_ns)
                     : next_window(a, &one, far_ns, &next_ns);
        best_ns = next_ns < best_ns ? next_ns : best_ns;
    }
    got->why = was.why;
    got->stage = was.stage;
    got->item = was.item;
    got->wanted = was.wanted;
    got->has = was.has;
    got->next_ns = best_ns;
    return r;
}

/* ---- an ask -------------------------------------------------------------------------------- */

static gang_result open_demand(struct gang__admission *a, struct gang__demand *d,
                               const struct gang__admit_stage *s)
{
    const struct gang_mem *mem = &a->t->mem;
    size_t groups = s->node_count ? 1 : s->group_count;
    *d = (struct gang__demand){.stage = s, .gangs = gang__admit_gangs(s)};
    if (!groups)
        return GANG_OK;
    d->group = gang__zalloc(mem, groups, sizeof(d->group[0]));
    if (!d->group)
        return GANG_ENOMEM;
    if (s->node_count) {
        d->named = gang__zalloc(mem, a->t->nodes / 64 + 1, sizeof(d->named[0]));
        if (!d->named)
            return GANG_ENOMEM;
        for (size_t i = 0; i < s->node_count; i++)
            d->named[s->node[i] / 64] |= UINT64_C(1) << s->node[i] % 64;
        d->group[0] = (struct gang__time_group){.count = (int64_t)s->node_count, .most = 1};
    } else {
        memcpy(d->group, s->group, groups * sizeof(d->group[0]));
    }
    d->ask = (struct gang__time_ask){d->group, groups, s->duration_ns,
                                     d->named ? d->named : s->nodes, s->whole || s->node_count > 0};
    return GANG_OK;
}

static gang_result open_admission(struct gang__admission *a)
{
    const struct gang__admit_ask *ask = a->ask;
    const struct gang_mem *mem = &a->t->mem;
    a->instances = ask->period_ns ? ask->instances : 1;
    a->period_ns = ask->period_ns;
    a->usage = ask->usage;
    a->demand = gang__zalloc(mem, ask->stage_count, sizeof(a->demand[0]));
    a->piece = gang__zalloc(mem, ask->stage_count * (size_t)a->instances, sizeof(a->piece[0]));
    gang_result r = a->demand && a->piece ? GANG_OK : GANG_ENOMEM;
    for (size_t i = 0; i < ask->stage_count && r == GANG_OK; i++)
        r = open_demand(a, &a->demand[i], &ask->stage[i]);
    return r;
}

static void close_admission(struct gang__admission *a)
{
    struct gang_mem mem = a->t->mem;
    for (size_t i = 0; i < a->ask->stage_count && a->demand; i++) {
        gang__release(&mem, a->demand[i].group);
        gang__release(&mem, a->demand[i].named);
    }
    gang__release(&mem, a->demand);
    gang__release(&mem, a->piece);
    gang__release(&mem, a->step);
    gang__release(&mem, a->start);
    gang__time_fit_free(&a->fit, &mem);
}

/* What is to be changed is put where it is in nobody's way, or back. Neither can fail. */
static void set_aside(struct gang__timeline *t, struct gang__admitted *old, bool aside)
{
    for (size_t i = 0; old && i < old->count; i++) {
        const struct gang__admit_piece *p = &old->piece[i];
        gang__timeline_move(t, p->id, aside ? GANG__TIME_MIN - 2 : p->start_ns,
                            aside ? GANG__TIME_MIN - 1 : p->end_ns);
        if (old->usage)
            gang__usage_set_aside(old->usage, p->usage_id, aside);
    }
}

static int by_start(const void *a, const void *b)
{
    const struct gang__admit_piece *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    return (x->instance > y->instance) - (x->instance < y->instance);
}

static gang_result try_all(struct gang__admission *a, const struct attempt *t, int64_t far_ns)
{
    struct gang__admitted *got = a->got;
    gang_result r = place_or_earliest(a, t);
    if (r != GANG_ENOFIT)
        return r;
    r = explain(a, t);
    if (r == GANG_OK)
        r = find_next(a, t, far_ns);
    return r != GANG_OK ? r : got->next_ns == GANG__NEVER ? GANG_ENEVER : GANG_ENOFIT;
}

/* Is the window long enough for the stages? */
static gang_result check_length(const struct gang__admit_ask *ask, const struct attempt *t,
                                struct gang__admitted *got)
{
    int64_t length = t->end_ns - (t->fixed ? t->start_ns : t->from_ns);
    int64_t span = gang__admit_span(ask);
    if (length >= span)
        return GANG_OK;
    got->why = GANG__ADMIT_SHORT;
    got->wanted = span;
    got->has = length;
    return GANG_ENEVER;
}

static void empty(struct gang__admitted *got)
{
    *got = (struct gang__admitted){.piece = got->piece,
                                   .room = got->room,
                                   .place = got->place,
                                   .place_room = got->place_room,
                                   .next_ns = GANG__NEVER};
}

/* What was said of attempts that failed does not matter any more. */
static void accept(struct gang__admitted *got)
{
    struct gang__admitted was = *got;
    empty(got);
    got->count = was.count;
    got->place_count = was.place_count;
    got->usage = was.usage;
    qsort(got->piece, got->count, sizeof(got->piece[0]), by_start);
}

gang_result gang__admit(struct gang__timeline *t, const struct gang__admit_ask *ask,
                        struct gang__admitted *got)
{
    struct gang__admission a = {.t = t, .ask = ask, .got = got};
    empty(got);
    gang_result r = gang__admit_check(t, ask, got);
    if (r != GANG_OK)
        return r;
    int64_t far_ns = GANG__TIME_MAX - ask->period_ns * (ask->period_ns ? ask->instances : 0);
    struct attempt first = {.from_ns = ask->arrival_ns > t->now_ns ? ask->arrival_ns : t->now_ns,
                            .end_ns = ask->deadline_ns < far_ns ? ask->deadline_ns : far_ns,
                            .start_ns = ask->start_ns,
                            .fixed = ask->fixed,
                            .prefer = ask->prefer,
                            .count = (uint32_t)ask->stage_count,
                            .combine = ask->combine};
    r = check_length(ask, &first, got);
    if (r != GANG_OK)
        return r;
    r = open_admission(&a);
    if (r == GANG_OK) {
        set_aside(t, ask->instead, true);
        r = try_all(&a, &first, far_ns);
        if (r == GANG_OK && ask->instead)
            gang__admitted_undo(t, ask->instead);
        else
            set_aside(t, ask->instead, false);
    }
    close_admission(&a);
    if (r == GANG_OK)
        accept(got);
    else
        got->usage = NULL;
    return r;
}

/* ---- answers ------------------------------------------------------------------------------- */

void gang__admitted_undo(struct gang__timeline *t, struct gang__admitted *got)
{
    gang__admit_take_back(t, got, 0);
    empty(got);
}

void gang__admitted_free(struct gang__admitted *got, const struct gang_mem *mem)
{
    gang__release(mem, got->piece);
    gang__release(mem, got->place);
    *got = (struct gang__admitted){0};
}

void gang__admitted_occupation(const struct gang__admit_ask *ask, const struct gang__admitted *got,
                               size_t piece, struct gang__occupation *o)
{
    const struct gang__admit_piece *p = &got->piece[piece];
    const struct gang__admit_stage *s = &ask->stage[p->stage];
    *o = (struct gang__occupation){.start_ns = p->start_ns,
                                   .end_ns = p->end_ns,
                                   .group = s->group,
                                   .group_count = s->group_count,
                                   .place = p->place_count ? &got->place[p->place] : NULL,
                                   .place_count = p->place_count,
                                   .pool = p->pool,
                                   .whole = p->whole};
}
