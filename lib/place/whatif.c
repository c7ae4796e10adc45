/* SPDX-License-Identifier: Apache-2.0 */
/* What if: the planner of production on a snapshot. What it plans is taken there alone. */
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/kind.h"
#include "place/exclusive.h"
#include "place/explain.h"
#include "place/record.h"
#include "place/search.h"

/* ---- placing --------------------------------------------------------------------------------- */

static gang_result plan_once(struct gang__plan *p, gang_cluster *c, const gang_request *q,
                             bool proof, bool empty)
{
    if (gang__plan_begin(p, c, q, empty) != GANG_OK)
        return GANG_ENOMEM;
    p->start = p->turn = 0; /* nobody is beside us: the same question has the same answer */
    bool fits = gang__pack_request(p, proof);
    return gang__plan_result(p, fits);
}

/* As gang_alloc() plans: in the order of the policy, then in the one that finds room if there is
 * any. */
static gang_result plan_gang(struct gang__plan *p, gang_cluster *c, const gang_request *q,
                             bool empty)
{
    gang_result r;
    uint32_t wishes = empty ? 0 : q->wishes;
    do { /* the last wish on other jobs goes first */
        p->others.wishes = wishes;
        r = plan_once(p, c, q, false, empty);
    } while (r == GANG_ENOFIT && !p->host && wishes-- > 0);
    p->others.wishes = 0;
    if (r == GANG_ENOFIT && !p->host && (!empty || q->group_count > 1))
        r = plan_once(p, c, q, true, empty);
    return r;
}

/* Copy what the plan leaves to the snapshot. */
static void take(struct gang__plan *p)
{
    for (size_t i = 0; i < p->views; i++) {
        const struct gang__view *v = &p->view[i];
        memcpy(gang__snapshot_words(p->snap, v->slot), gang__view_now(p, v),
               v->words * sizeof(uint64_t));
    }
}

static gang_result place(gang_worker *w, gang_snapshot *s, gang_request *q, bool keep,
                         struct gang_error *error)
{
    gang_result r = gang__check_call(w, q, error);
    if (r != GANG_OK)
        return r;
    if (!s || s->c != w->cluster || s->end == 0)
        return gang__error(error, GANG_EINVAL, NULL, "no snapshot of this cluster was taken");
    struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    gang__rcu_enter(); /* the tables of domains are those of now */
    p->snap = s;
    r = plan_gang(p, s->c, q, false);
    if (r == GANG_OK && keep && q->exclusive && !gang__exclusive_hold(p))
        r = GANG_ENOMEM;
    if (r == GANG_OK && keep)
        take(p);
    bool host = p->host != 0;
    if (r == GANG_ENOFIT && !host) {
        r = plan_gang(p, s->c, q, true);
        if (r != GANG_ENOMEM)
            r = gang__explain(p, s->c, q, r == GANG_OK ? GANG_ENOFIT : GANG_ENEVER, error);
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

gang_result gang__snapshot_class(gang_worker *w, gang_snapshot *s, const gang_request *q)
{
    struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    p->snap = s;
    gang_result r = plan_gang(p, s->c, q, false);
    if (r == GANG_ENOFIT && !p->host) {
        r = plan_gang(p, s->c, q, true);
        r = r == GANG_OK ? GANG_ENOFIT : r == GANG_ENOFIT ? GANG_ENEVER : r;
    }
    p->snap = NULL;
    return r;
}

/* ---- giving back ----------------------------------------------------------------------------- */

/* Give back to (or take again from) one word, if it then does not exceed its capacity. */
static bool give(uint64_t *word, enum gang__code code, uint64_t delta, uint64_t capacity)
{
    uint64_t after = gang__op_apply(code, delta, *word);
    if (code == GANG__OP_GIVE_BITS && ((*word & delta) || (delta & ~capacity)))
        return false;
    /* The fields of a share word, or the count, each hold no more than the capacity. */
    if (code == GANG__OP_GIVE_SHARES)
        for (unsigned i = 0; i < GANG__SHARES_PER_WORD; i++)
            if (gang__share(*word, i) + gang__share(delta, i) > gang__share(capacity, i))
                return false;
    if (code == GANG__OP_GIVE && after > capacity)
        return false;
    *word = after;
    return true;
}

/* The word that a delta of a task is of, what gives it back, and its capacity. */
static uint64_t *word_of(gang_snapshot *s, const struct gang__node *node, uint64_t delta,
                         enum gang__code *code, uint64_t *capacity)
{
    unsigned w = gang__delta_word(delta);
    *code = GANG__OP_GIVE;
    if (delta & GANG__DELTA_POOL) {
        uint32_t kind = w - gang__pool_word(GANG_KIND_SITE) + GANG_KIND_SITE;
        *capacity = kind < s->kinds ? s->pool[kind] : 0;
        return &gang__snapshot_words(s, GANG__POOL)[w];
    }
    if (w != GANG__WORD_HEAD)
        *code = gang__code_of(node->shape->layout, w, true);
    *capacity = node->shape->capacity[w];
    return &gang__snapshot_words(s, node->slot)[w];
}

/* The first `deltas` deltas of an allocation are given back, or (`again`) taken again. *done: how
 * many went through. */
static gang_result give_deltas(gang_snapshot *s, const struct gang__alloc *a, bool again,
                               uint64_t deltas, uint64_t *done)
{
    *done = 0;
    for (const uint64_t *task = a->data; task < a->data + a->used;
         task += GANG__TASK_HEAD + gang__task_deltas(task)) {
        const struct gang__node *node = gang__snapshot_node_of(s, task[0]);
        if (!node)
            return GANG_ENOENT;
        for (unsigned i = 0; i < gang__task_deltas(task); i++) {
            enum gang__code code;
            uint64_t capacity, delta = task[GANG__TASK_HEAD + i];
            if (*done == deltas)
                return GANG_OK;
            uint64_t *word = word_of(s, node, delta, &code, &capacity);
            uint64_t payload = gang__payload(delta), state = 0;
            if (!(delta & GANG__DELTA_POOL) && gang__delta_word(delta) == GANG__WORD_HEAD) {
                state = *word & ~GANG__HEAD_CPU;
                *word &= GANG__HEAD_CPU;
            }
            bool went = true;
            if (again) /* bits, too: they were joined by adding */
                *word -= payload;
            else
                went = give(word, code, payload, capacity);
            *word |= state;
            if (!went)
                return GANG_ERANGE;
            ++*done;
        }
    }
    return GANG_OK;
}

gang_result gang_snapshot_release(gang_snapshot *snapshot, gang_alloc_id id)
{
    struct gang__alloc *a;
    uint64_t done, undone;
    if (!snapshot || snapshot->end == 0)
        return GANG_EINVAL;
    gang_result r = gang__alloc_read(snapshot->c, id, &a);
    if (r != GANG_OK)
        return r;
    r = give_deltas(snapshot, a, false, UINT64_MAX, &done);
    if (r != GANG_OK)
        give_deltas(snapshot, a, true, done, &undone);
    gang__alloc_read_end(a);
    return r;
}
