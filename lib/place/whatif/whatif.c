/* SPDX-License-Identifier: Apache-2.0 */
/* What if: the planner of gang_alloc() on a snapshot. It takes capacity in the snapshot only. */
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "place/alloc/alloc.h"
#include "place/explain/explain.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/record/record.h"
#include "place/search/search.h"
#include "place/state/records.h"
#include "place/whatif/whatif.h"

/* ---- placing --------------------------------------------------------------------------------- */

static gang_result plan_once(gang_worker *w, const gang_request *request, bool proof, bool empty)
{
    struct gang__plan *p = gang__plan_of(w);
    if (gang__plan_begin(p, w->cluster, request, empty) != GANG_OK)
        return GANG_ENOMEM;
    gang__plan_start(p, w);
    bool fits = gang__pack_request(p, proof);
    return gang__plan_result(p, fits);
}

/* Like gang_alloc(): plans in the order of the policy, then in the order that finds capacity if
 * there is any. */
gang_result gang__whatif_plan(gang_worker *w, const gang_request *request, bool empty)
{
    struct gang__plan *p = gang__plan_of(w);
    gang_result r;
    uint32_t soft_count = empty ? 0 : request->soft_count;
    do { /* the last soft affinity rule gives way first */
        p->others.soft_count = soft_count;
        r = plan_once(w, request, false, empty);
    } while (r == GANG_ENOFIT && !p->out.host && soft_count-- > 0);
    p->others.soft_count = 0;
    if (r == GANG_ENOFIT && !p->out.host && (!empty || request->group_count > 1))
        r = plan_once(w, request, true, empty);
    return r;
}

/* Copy the planned words to the snapshot. A node without a planned task does not change: the free
 * part of its copy may belong to the growing exclusive allocation. */
static void take(struct gang__plan *p)
{
    for (size_t i = 0; i < p->nodes.count; i++) {
        const struct gang__node_copy *v = &p->nodes.copy[i];
        if (v->node && !v->used)
            continue;
        memcpy(gang__snapshot_words(p->snap, v->slot), gang__words_now(p, v),
               v->words * sizeof(uint64_t));
    }
}

static gang_result place(gang_worker *w, gang_snapshot *s, gang_request *request, bool keep,
                         struct gang_error *error)
{
    gang_result r = gang__check_call(w, request, error);
    if (r != GANG_OK)
        return r;
    if (!gang__snapshot_is_usable(s, w))
        return gang__error(error, GANG_EINVAL, NULL, "no snapshot of this cluster was taken");
    struct gang__plan *p = gang__plan_of(w);
    gang__rcu_enter(); /* for the tables of domains, which the snapshot does not copy */
    p->snap = s;
    r = gang__whatif_plan(w, request, false);
    if (r == GANG_OK && keep && request->exclusive && !gang__exclusive_hold(p))
        r = GANG_ENOMEM;
    if (r == GANG_OK && keep)
        take(p);
    bool host = p->out.host != 0;
    if (r == GANG_ENOFIT && !host) {
        r = gang__whatif_plan(w, request, true);
        if (r != GANG_ENOMEM)
            r = gang__explain(p, s->c, request, r == GANG_OK ? GANG_ENOFIT : GANG_ENEVER, error);
    }
    p->snap = NULL;
    gang__rcu_leave();
    if (r != GANG_OK && (host || (r != GANG_ENOFIT && r != GANG_ENEVER)))
        gang__fail(p, r, error);
    return r;
}

gang_result gang_snapshot_place(gang_worker *worker, gang_snapshot *snapshot,
                                struct gang_request *request, struct gang_error *error)
{
    return place(worker, snapshot, request, true, error);
}

gang_result gang_snapshot_test(gang_worker *worker, gang_snapshot *snapshot,
                               struct gang_request *request, struct gang_error *error)
{
    return place(worker, snapshot, request, false, error);
}

gang_result gang__snapshot_verdict(gang_worker *w, gang_snapshot *s, const gang_request *request)
{
    struct gang__plan *p = gang__plan_of(w);
    p->snap = s;
    gang_result r = gang__whatif_plan(w, request, false);
    if (r == GANG_ENOFIT && !p->out.host) {
        r = gang__whatif_plan(w, request, true);
        r = r == GANG_OK ? GANG_ENOFIT : r == GANG_ENOFIT ? GANG_ENEVER : r;
    }
    p->snap = NULL;
    return r;
}

/* ---- with the places ------------------------------------------------------------------------- */

/* Complete the plan, note its places, and take it in the snapshot. */
static gang_result take_with_places(struct gang__plan *p, struct gang__places *out)
{
    gang_result r = gang__plan_complete(p) ? gang__places_of_plan(p, out) : GANG_ENOMEM;
    if (r == GANG_OK)
        take(p);
    return r;
}

/* A cheap bound: do the nodes together have enough free whole devices for the tasks of a request of
 * one group? False: it fits nowhere. Most questions of an attempt to preempt end here. */
static bool devices_suffice(const gang_snapshot *s, const gang_request *request)
{
    const struct gang__group *g = &request->group[0];
    int64_t want = request->min;
    if (request->group_count != 1 || g->gpu_level == 0 || g->devices == 0 || g->share != 1000 ||
        g->profile || request->policy == GANG_POLICY_HOST)
        return true;
    for (uint32_t slot = GANG__POOL + 1; slot < s->end && want > 0; slot++) {
        const struct gang__node *node = gang__snapshot_node(s, slot);
        const uint64_t *word = gang__snapshot_words(s, slot);
        if (node && gang__head_state(word[GANG__WORD_HEAD]) == GANG__STATE_UP)
            want -= gang__popcount(gang__whole_devices(node->type->layout, word)) / g->devices;
    }
    return want <= 0;
}

/* `out`: receives the places, which are taken; NULL: nothing is taken. */
static gang_result place_with_places(gang_worker *w, gang_snapshot *s, gang_request *request,
                                     struct gang__places *out)
{
    gang_result r = gang__check_call(w, request, NULL);
    if (r != GANG_OK)
        return r;
    if (!gang__snapshot_is_usable(s, w))
        return GANG_EINVAL;
    if (!devices_suffice(s, request))
        return GANG_ENOFIT;
    struct gang__plan *p = gang__plan_of(w);
    gang__rcu_enter();
    p->snap = s;
    r = gang__whatif_plan(w, request, false);
    if (r == GANG_OK && out)
        r = take_with_places(p, out);
    p->snap = NULL;
    gang__rcu_leave();
    return r;
}

gang_result gang__snapshot_place_where(gang_worker *w, gang_snapshot *s, gang_request *request,
                                       struct gang__places *out)
{
    out->count = 0;
    return place_with_places(w, s, request, out);
}

gang_result gang__snapshot_fits(gang_worker *w, gang_snapshot *s, gang_request *request)
{
    return place_with_places(w, s, request, NULL);
}

gang_result gang__snapshot_grow_where(gang_worker *w, gang_snapshot *s, gang_alloc_id id,
                                      int32_t group, int64_t tasks, struct gang__places *out)
{
    out->count = 0;
    if (!w || !gang__snapshot_is_usable(s, w))
        return GANG_EINVAL;
    if (tasks < 1)
        return GANG_ERANGE;
    if (!gang__placer_of(w))
        return GANG_ENOMEM;
    struct gang__plan *p = gang__plan_of(w);
    struct gang__alloc *a;
    gang__rcu_enter();
    gang_result r = gang__alloc_read(w->cluster, id, &a);
    if (r == GANG_OK) {
        p->snap = s;
        p->others.running = a;
        r = gang__growth_check(a, group, NULL);
        if (r == GANG_OK || (r == GANG_ERANGE && p->tasks.leaving_count > 0))
            r = gang__growth_plan(w, a, group, tasks);
        if (r == GANG_OK)
            r = take_with_places(p, out);
        p->others.running = NULL;
        p->snap = NULL;
        gang__alloc_read_end(a);
    }
    gang__rcu_leave();
    return r;
}

/* ---- given places ---------------------------------------------------------------------------- */

gang_result gang__snapshot_adopt(gang_worker *w, gang_snapshot *s, gang_request *request,
                                 const struct gang_placement *place)
{
    gang_result r = gang__check_call(w, request, NULL);
    if (r != GANG_OK || !gang__snapshot_is_usable(s, w))
        return r == GANG_OK ? (gang_result)GANG_EINVAL : r;
    struct gang__plan *p = gang__plan_of(w);
    gang__rcu_enter();
    p->snap = s;
    r = gang__adopt_plan(w, request, place, 1, NULL);
    if (r == GANG_OK)
        take(p);
    p->snap = NULL;
    gang__rcu_leave();
    return r;
}

bool gang__snapshot_lacks(const gang_snapshot *before, const gang_snapshot *after,
                          gang_node_id node, uint64_t *words)
{
    const struct gang__node *n = gang__snapshot_node_of(before, node);
    if (!n || gang__snapshot_node_of(after, node) != n)
        return false;
    struct gang__layout layout = n->type->layout;
    const uint64_t *x = gang__snapshot_words(before, n->slot);
    const uint64_t *y = gang__snapshot_words(after, n->slot);
    uint64_t cpu = gang__head_cpu(x[GANG__WORD_HEAD]), cores[GANG__CORE_MASKS];
    for (unsigned i = GANG__WORD_MEMORY; i < gang__word_count(layout); i++)
        words[i] = gang__word_less(layout, i, x[i], y[i]);
    gang__cores_in_words(layout, words, cores);
    uint64_t left = gang__head_cpu(y[GANG__WORD_HEAD]) + 1000 * (uint64_t)gang__count_cores(cores);
    words[GANG__WORD_HEAD] = cpu > left ? cpu - left : 0;
    return gang__words_any(layout, words);
}
