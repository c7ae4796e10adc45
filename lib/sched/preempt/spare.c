/* SPDX-License-Identifier: Apache-2.0 */
/* The taker has a place: which tentative victims stay after all? They are looked through from the
 * last to the first; each comes back if the rules and the place of the taker allow it. */
#include <string.h>

#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "place/request/request.h"
#include "sched/preempt/preempt_in.h"
#include "sched/slice/slice.h"

static int32_t keep_node(const struct gang_task *task, void *user)
{
    const gang_sched *s = user;
    if ((uint32_t)task->node < s->scratch->end)
        s->preempt.victims->kept[(uint32_t)task->node] = true;
    return 0;
}

/* Put back, at once, all nodes where the taker gets nothing and no victim lies that spans several
 * nodes. Victims there need not be placed again. False: out of memory. */
static bool put_back_others(gang_sched *s)
{
    struct gang__victims *v = s->preempt.victims;
    if (!gang__grow(&s->mem, (void **)&v->kept, &v->kept_cap, s->scratch->end, sizeof(*v->kept)))
        return false;
    memset(v->kept, 0, s->scratch->end * sizeof(*v->kept));
    for (size_t i = 0; i < s->placement.count; i++)
        v->kept[(uint32_t)s->placement.place[i].node] = true;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].node == GANG_ID_NONE)
            (void)!gang__alloc_each(s->cluster, v->list[i].g->alloc, keep_node, s);
    gang__snapshot_restore(s->scratch, s->preempt.base, v->kept);
    return true;
}

enum { AHEAD = 16 }; /* number of victims that are prefetched; of their jobs, half as many */

static void expect(const gang_sched *s, size_t i)
{
    const struct gang__victims *v = s->preempt.victims;
    gang__victim_prefetch_alloc(s, i - AHEAD / 2); /* before the first: beyond the list */
    if (i >= AHEAD) {
        __builtin_prefetch(v->list[i - AHEAD].g, 1);
        __builtin_prefetch(&v->list[i - AHEAD].g->victim.tentative, 1);
    }
    if (i >= AHEAD / 2)
        __builtin_prefetch(&v->list[i - AHEAD / 2].g->job->leaf);
}

bool gang__preempt_is_entitled_beside(const struct gang__preemption *p,
                                      const struct gang__victim *x)
{
    return p->mode == GANG__PREEMPT_MOVE || p->mode == GANG__PREEMPT_ACROSS ||
           !gang__preempt_same_branch(p, x->g) || gang__preempt_still_entitled(p);
}

/* The victim comes back, if limits and capacity allow it. */
static bool can_stay(struct gang__preemption *p, struct gang__victim *x, bool is_back)
{
    struct gang__victims *v = p->s->preempt.victims;
    if (!x->whole && x->g->victim.tentative) /* the whole gang is a victim, too */
        return false;
    gang__victim_shift(p, x, 1);
    gang_result r = GANG_ENOFIT;
    if (gang__preempt_may_stay(p, x))
        r = is_back ? GANG_OK : gang__victim_release(p, x, true);
    v->failed = v->failed || r == GANG_ENOMEM;
    if (r == GANG_OK)
        gang__victim_count(x, -1);
    else
        gang__victim_shift(p, x, -1);
    return r == GANG_OK;
}

/* The victim does not stay after all: it leaves usage and snapshot again. */
static void take_back(struct gang__preemption *p, struct gang__victim *x)
{
    gang__victim_count(x, 1);
    gang__victim_shift(p, x, -1);
    if (gang__victim_release(p, x, false) != GANG_OK)
        p->s->preempt.victims->failed = true;
}

/* The victim fits beside the taker, which is not entitled beside it. It would start again at once:
 * giving it up is a pretext, unless the taker is inside its guarantee without it. */
static void give_up(struct gang__preemption *p, struct gang__victim *x)
{
    take_back(p, x);
    p->pretext = p->pretext || !gang__preempt_keeps_guarantees(p);
}

static void forget_spared(struct gang__victims *v)
{
    size_t left = 0;
    for (size_t i = 0; i < v->count; i++)
        if (!v->list[i].spared)
            v->list[left++] = v->list[i];
    v->count = left;
}

/* Many victims: the place of the taker is fixed, and victims stay beside it. */
static void spare_many(struct gang__preemption *p)
{
    struct gang__victims *v = p->s->preempt.victims;
    if (!put_back_others(p->s)) {
        v->failed = true;
        return;
    }
    gang__batch_spare(p);
    p->pretext = false;
    for (size_t i = v->count; i-- > 0;) {
        struct gang__victim *x = &v->list[i];
        expect(p->s, i);
        bool is_back = x->node != GANG_ID_NONE && !v->kept[(uint32_t)x->node];
        bool fits = can_stay(p, x, is_back);
        x->spared = fits && gang__preempt_is_entitled_beside(p, x);
        if (fits && !x->spared)
            give_up(p, x);
        else if (is_back && !fits && gang__victim_release(p, x, false) != GANG_OK)
            v->failed = true;
    }
    forget_spared(v);
}

enum { FEW = 32 };

/* The taker fits, or finds its places: in a row if it shares nodes in time. */
static gang_result fits(const struct gang__where *w)
{
    return gang__slice_concerns(w->g) ? gang__slice_dry_run_place(w, NULL) : gang__where_fits(w);
}

static gang_result place(const struct gang__where *w, struct gang__places *places)
{
    if (!gang__slice_concerns(w->g))
        return gang__where_place(w, places);
    gang_result r = gang__slice_dry_run_place(w, places);
    if (r == GANG_OK)
        gang__slice_dry_run_take(w->s, w->g, places);
    return r;
}

/* Few victims: a victim stays if the taker then has any place. */
static void spare_few(struct gang__preemption *p)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->preempt.victims;
    struct gang__where w = gang__preempt_where(p);
    bool ok = gang__snapshot_copy(s->scratch, s->preempt.base) == GANG_OK;
    gang__slice_dry_run_begin(s);
    p->pretext = false;
    for (size_t i = 0; ok && i < v->count; i++)
        ok = gang__victim_release(p, &v->list[i], false) == GANG_OK;
    for (size_t i = v->count; ok && i-- > 0;) {
        struct gang__victim *x = &v->list[i];
        if (!can_stay(p, x, false))
            continue;
        gang_result r = fits(&w);
        x->spared = r == GANG_OK && gang__preempt_is_entitled_beside(p, x);
        if (r == GANG_OK && !x->spared)
            give_up(p, x);
        else if (!x->spared)
            take_back(p, x);
        ok = r != GANG_ENOMEM && !v->failed;
    }
    ok = ok && place(&w, &s->placement) == GANG_OK;
    v->failed = v->failed || !ok; /* only for want of memory is any of it refused */
    forget_spared(v);
}

void gang__preempt_spare(struct gang__preemption *p)
{
    struct gang__victims *v = p->s->preempt.victims;
    bool rows = gang__slice_concerns(p->taker); /* its places in a row are searched each time */
    bool tries = p->mode != GANG__PREEMPT_MOVE && p->grow_group < 0;
    bool few = rows || (tries && gang__victims_taken(v) <= FEW);
    if (few)
        gang__batch_list_all(p);
    if (few)
        spare_few(p);
    else
        spare_many(p);
}
