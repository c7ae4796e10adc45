/* SPDX-License-Identifier: Apache-2.0 */
/* An ask from its beginning to its answer. */
#include <stdlib.h>

#include "plan/admit/admit_in.h"

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
    d->ask = (struct gang__time_ask){d->group,
                                     groups,
                                     s->duration_ns,
                                     d->named ? d->named : s->nodes,
                                     s->whole || s->node_count > 0,
                                     NULL,
                                     NULL};
    return GANG_OK;
}

static gang_result open_admission(struct gang__admission *a)
{
    const struct gang__admit_ask *ask = a->ask;
    const struct gang_mem *mem = &a->t->mem;
    a->instances = ask->period_ns ? ask->instances : 1;
    a->period_ns = ask->period_ns;
    a->bookings = ask->usage;
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

/* Takes the accepted reservation that is to be changed out of the way, or puts it back. Neither can
 * fail. */
static void set_aside(struct gang__timeline *t, struct gang__admitted *old, bool aside)
{
    for (size_t i = 0; i < old->count; i++) {
        const struct gang__admit_piece *p = &old->piece[i];
        gang__timeline_move(t, p->id, aside ? GANG__TIME_MIN - 2 : p->start_ns,
                            aside ? GANG__TIME_MIN - 1 : p->end_ns);
        if (old->usage)
            gang__bookings_set_aside(old->usage, p->usage_id, aside);
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

static gang_result try_all(struct gang__admission *a, const struct gang__attempt *t, int64_t far_ns)
{
    struct gang__admitted *got = a->got;
    gang_result r = gang__admit_place_or_earliest(a, t);
    if (r != GANG_ENOFIT)
        return r;
    r = gang__admit_explain(a, t);
    if (r == GANG_OK)
        r = gang__admit_next(a, t, far_ns);
    return r != GANG_OK ? r : got->next_ns == GANG__NEVER ? GANG_ENEVER : GANG_ENOFIT;
}

/* Is the window long enough for the stages? */
static gang_result check_length(const struct gang__admit_ask *ask, const struct gang__attempt *t,
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

/* As far as it is looked: pieces and repetitions lie before the end of time. */
static int64_t far_of(const struct gang__admit_ask *ask)
{
    return GANG__TIME_MAX - ask->period_ns * (ask->period_ns ? ask->instances : 0);
}

static struct gang__attempt attempt_of(const struct gang__timeline *t,
                                       const struct gang__admit_ask *ask)
{
    int64_t far_ns = far_of(ask);
    return (struct gang__attempt){.from_ns =
                                      ask->arrival_ns > t->now_ns ? ask->arrival_ns : t->now_ns,
                                  .end_ns = ask->deadline_ns < far_ns ? ask->deadline_ns : far_ns,
                                  .start_ns = ask->start_ns,
                                  .fixed = ask->fixed,
                                  .prefer = ask->prefer,
                                  .count = (uint32_t)ask->stage_count,
                                  .combine = ask->combine};
}

/* In place of what is to be changed, if there is any. */
static gang_result try_instead(struct gang__admission *a, const struct gang__attempt *t)
{
    struct gang__admitted *old = a->ask->instead;
    if (old)
        set_aside(a->t, old, true);
    gang_result r = try_all(a, t, far_of(a->ask));
    if (old && r == GANG_OK)
        gang__admitted_undo(a->t, old);
    else if (old)
        set_aside(a->t, old, false);
    return r;
}

gang_result gang__admit(struct gang__timeline *t, const struct gang__admit_ask *ask,
                        struct gang__admitted *got)
{
    struct gang__admission a = {.t = t, .ask = ask, .got = got};
    empty(got);
    gang_result r = gang__admit_check(t, ask, got);
    if (r != GANG_OK)
        return r;
    struct gang__attempt first = attempt_of(t, ask);
    r = check_length(ask, &first, got);
    if (r != GANG_OK)
        return r;
    r = open_admission(&a);
    if (r == GANG_OK)
        r = try_instead(&a, &first);
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
