/* SPDX-License-Identifier: Apache-2.0 */
/* A request from its beginning to its answer. */
#include <stdlib.h>

#include "plan/admit/admit_in.h"

/* ---- a request ------------------------------------------------------------------------------- */

static gang_result demand_init(struct gang__admission *a, struct gang__demand *d,
                               const struct gang__admit_stage *s)
{
    const struct gang_mem *mem = a->machine.mem;
    size_t groups = s->node_count ? 1 : s->group_count;
    *d = (struct gang__demand){.stage = s, .gangs = gang__admit_gangs(s)};
    if (!groups)
        return GANG_OK;
    d->group = gang__zalloc(mem, groups, sizeof(d->group[0]));
    if (!d->group)
        return GANG_ENOMEM;
    if (s->node_count) {
        d->named = gang__zalloc(mem, a->machine.nodes / 64 + 1, sizeof(d->named[0]));
        if (!d->named)
            return GANG_ENOMEM;
        for (size_t i = 0; i < s->node_count; i++)
            d->named[s->node[i] / 64] |= UINT64_C(1) << s->node[i] % 64;
        d->group[0] = (struct gang__time_group){.count = (int64_t)s->node_count, .max_per_node = 1};
    } else {
        memcpy(d->group, s->group, groups * sizeof(d->group[0]));
    }
    d->request = (struct gang__time_request){d->group,
                                             groups,
                                             s->duration_ns,
                                             d->named ? d->named : s->nodes,
                                             s->whole || s->node_count > 0,
                                             NULL,
                                             NULL};
    return GANG_OK;
}

static gang_result admission_init(struct gang__admission *a)
{
    const struct gang__admit_request *request = a->request;
    const struct gang_mem *mem = a->machine.mem;
    a->instances = request->period_ns ? request->instances : 1;
    a->period_ns = request->period_ns;
    a->bookings = request->usage;
    a->demand = gang__zalloc(mem, request->stage_count, sizeof(a->demand[0]));
    a->piece = gang__zalloc(mem, request->stage_count * (size_t)a->instances, sizeof(a->piece[0]));
    gang_result r = a->demand && a->piece ? GANG_OK : GANG_ENOMEM;
    for (size_t i = 0; i < request->stage_count && r == GANG_OK; i++)
        r = demand_init(a, &a->demand[i], &request->stage[i]);
    return r;
}

static void admission_free(struct gang__admission *a)
{
    const struct gang_mem *mem = a->machine.mem;
    for (size_t i = 0; i < a->request->stage_count && a->demand; i++) {
        gang__release(mem, a->demand[i].group);
        gang__release(mem, a->demand[i].named);
    }
    gang__release(mem, a->demand);
    gang__release(mem, a->piece);
    gang__release(mem, a->step);
    gang__release(mem, a->start);
    gang__time_fit_free(&a->fit, mem);
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

static gang_result try_all(struct gang__admission *a, const struct gang__attempt *t,
                           int64_t horizon_ns)
{
    struct gang__admitted *answer = a->answer;
    gang_result r = gang__admit_place_or_earliest(a, t);
    if (r != GANG_ENOFIT)
        return r;
    r = gang__admit_explain(a, t);
    if (r == GANG_OK)
        r = gang__admit_next(a, t, horizon_ns);
    return r != GANG_OK ? r : answer->next_ns == GANG__NEVER ? GANG_ENEVER : GANG_ENOFIT;
}

/* Is the window long enough for the stages? */
static gang_result check_length(const struct gang__admit_request *request,
                                const struct gang__attempt *t, struct gang__admitted *answer)
{
    int64_t length = t->end_ns - (t->fixed ? t->start_ns : t->from_ns);
    int64_t span = gang__admit_span(request);
    if (length >= span)
        return GANG_OK;
    answer->why = GANG__ADMIT_SHORT;
    answer->wanted = span;
    answer->has = length;
    return GANG_ENEVER;
}

static void clear(struct gang__admitted *answer)
{
    *answer = (struct gang__admitted){.piece = answer->piece,
                                      .cap = answer->cap,
                                      .place = answer->place,
                                      .place_cap = answer->place_cap,
                                      .next_ns = GANG__NEVER};
}

/* What was said of attempts that failed does not matter any more. */
static void accept(struct gang__admitted *answer)
{
    struct gang__admitted was = *answer;
    clear(answer);
    answer->count = was.count;
    answer->place_count = was.place_count;
    answer->usage = was.usage;
    qsort(answer->piece, answer->count, sizeof(answer->piece[0]), by_start);
}

/* As far as it is looked: pieces and repetitions lie before the end of time. */
static int64_t horizon_of(const struct gang__admit_request *request)
{
    return GANG__TIME_MAX - request->period_ns * (request->period_ns ? request->instances : 0);
}

static struct gang__attempt attempt_of(int64_t now_ns, const struct gang__admit_request *request)
{
    int64_t horizon_ns = horizon_of(request);
    return (struct gang__attempt){
        .from_ns = request->arrival_ns > now_ns ? request->arrival_ns : now_ns,
        .end_ns = request->deadline_ns < horizon_ns ? request->deadline_ns : horizon_ns,
        .start_ns = request->start_ns,
        .fixed = request->fixed,
        .prefer = request->prefer,
        .count = (uint32_t)request->stage_count,
        .combine = request->combine};
}

/* In place of what is to be changed, if there is any. */
static gang_result try_replacing(struct gang__admission *a, const struct gang__attempt *t)
{
    struct gang__admitted *old = a->request->replaced;
    if (old)
        set_aside(a->t, old, true);
    gang_result r = try_all(a, t, horizon_of(a->request));
    if (old && r == GANG_OK)
        gang__admitted_undo(a->t, old);
    else if (old)
        set_aside(a->t, old, false);
    return r;
}

gang_result gang__admit(struct gang__timeline *t, const struct gang__admit_request *request,
                        struct gang__admitted *answer)
{
    struct gang__admission a = {
        .t = t, .machine = gang__timeline_machine(t), .request = request, .answer = answer};
    clear(answer);
    gang_result r = gang__admit_check(&a.machine, request, answer);
    if (r != GANG_OK)
        return r;
    struct gang__attempt first = attempt_of(a.machine.now_ns, request);
    r = check_length(request, &first, answer);
    if (r != GANG_OK)
        return r;
    r = admission_init(&a);
    if (r == GANG_OK)
        r = try_replacing(&a, &first);
    admission_free(&a);
    if (r == GANG_OK)
        accept(answer);
    else
        answer->usage = NULL;
    return r;
}

/* ---- answers ------------------------------------------------------------------------------- */

void gang__admitted_undo(struct gang__timeline *t, struct gang__admitted *answer)
{
    gang__admit_undo_to(t, answer, 0);
    clear(answer);
}

void gang__admitted_free(struct gang__admitted *answer, const struct gang_mem *mem)
{
    gang__release(mem, answer->piece);
    gang__release(mem, answer->place);
    *answer = (struct gang__admitted){0};
}
