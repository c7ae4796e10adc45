/* SPDX-License-Identifier: Apache-2.0 */
/* Time slicing in a copy (copy.h): the matrices, the row of each gang, the current row and its
 * end, and the gangs that are suspending. The allocations of columns and the time-shared parts
 * of gangs lie in records with the same ids. The view in which gangs are placed is not copied:
 * it serves one run. */
#include <string.h>

#include "sched/copy/copy_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"

static bool copy_column(gang_sched *s, struct gang__matrix *m, const struct gang__column *from)
{
    size_t bytes = sizeof(*from) + 3 * from->words * sizeof(*from->full);
    struct gang__column *c =
        gang__hash_reserve(&m->columns, &s->mem) == GANG_OK ? gang__alloc(&s->mem, bytes) : NULL;
    if (!c)
        return false;
    memcpy(c, from, bytes);
    gang__column_lay(c);
    c->occupies = 0;
    m->columns_changed = true;
    gang__hash_insert(&m->columns, &c->link, from->link.hash);
    return true;
}

static bool copy_columns(gang_sched *s, struct gang__matrix *m, const struct gang__matrix *from)
{
    for (size_t b = 0; b < from->columns.cap; b++)
        for (const struct gang__hash_link *n = from->columns.bucket[b]; n; n = n->next)
            if (!copy_column(s, m, GANG__OF(struct gang__column, link, n)))
                return false;
    return true;
}

static bool copy_use(gang_sched *s, struct gang__sliced *x, const struct gang__sliced *from)
{
    if (!gang__grow(&s->mem, (void **)&x->use, &x->use_cap, from->uses, sizeof(*x->use)))
        return false;
    for (; x->uses < from->uses; x->uses++) {
        x->use[x->uses] = from->use[x->uses];
        x->use[x->uses].column = gang__column_at(x->matrix, from->use[x->uses].column->node);
    }
    return true;
}

static bool copy_still(gang_sched *s, struct gang__sliced *x, const struct gang__sliced *from)
{
    if (!gang__grow(&s->mem, (void **)&x->still, &x->still_cap, from->left, sizeof(*x->still)))
        return false;
    if (from->left)
        memcpy(x->still, from->still, from->left * sizeof(*x->still));
    x->left = from->left;
    return true;
}

/* Behind those that are there, so that it is found, and freed, if memory is short for its lists. */
static bool copy_gang(gang_sched *s, struct gang__matrix *m, const struct gang__sliced *from)
{
    struct gang__sliced *x = gang__hash_reserve(&s->slice.gangs, &s->mem) == GANG_OK
                                 ? gang__zalloc(&s->mem, 1, sizeof(*x))
                                 : NULL;
    if (!x)
        return false;
    x->matrix = m;
    x->alloc = from->alloc;
    x->row = from->row;
    x->state = from->state;
    x->to_run = from->to_run;
    x->refused = from->refused;
    x->stopped = from->stopped;
    x->killed = from->killed;
    x->deadline_ns = from->deadline_ns;
    x->next_ns = from->next_ns;
    x->ends_ns = from->ends_ns;
    x->cpu = from->cpu;
    x->came = from->came;
    gang__sliced_enter(s, x);
    if (from->gang) {
        x->gang = &gang__job_of(s, from->gang->job->id)->gang[from->gang->index];
        x->gang->sliced = x;
    }
    return copy_use(s, x, from) && copy_still(s, x, from);
}

static bool copy_matrix(gang_sched *s, struct gang__matrix **at, const struct gang__matrix *from)
{
    struct gang__matrix *m = gang__zalloc(&s->mem, 1, sizeof(*m));
    if (!m)
        return false;
    m->queue = from->queue;
    m->quantum_ns = from->quantum_ns;
    m->most = from->most;
    m->grace_ns = from->grace_ns;
    m->column_ends_ns = from->column_ends_ns;
    m->lent = from->lent;
    m->came = from->came;
    m->restored_in = from->restored_in;
    m->rows = from->rows;
    m->active = from->active;
    m->begun = from->begun;
    m->fresh = from->fresh;
    m->until_ns = from->until_ns;
    m->due_ns = from->due_ns;
    m->last = &m->first;
    *at = m;
    bool ok = copy_columns(s, m, from);
    for (const struct gang__sliced *x = from->first; ok && x; x = x->next)
        ok = copy_gang(s, m, x);
    return ok;
}

bool gang__slices_copy(gang_sched *to, const gang_sched *from)
{
    struct gang__matrix **at = &to->slice.matrices;
    for (const struct gang__matrix *m = from->slice.matrices; m; m = m->next) {
        if (!copy_matrix(to, at, m))
            return false;
        at = &(*at)->next;
    }
    to->wake.slices = from->wake.slices;
    return true;
}

void gang__slices_occupied_as(gang_sched *to, const gang_sched *from)
{
    struct gang__matrix *m = to->slice.matrices;
    for (const struct gang__matrix *old = from->slice.matrices; old; old = old->next, m = m->next) {
        m->columns_changed = old->columns_changed;
        for (size_t b = 0; b < old->columns.cap; b++)
            for (const struct gang__hash_link *n = old->columns.bucket[b]; n; n = n->next) {
                const struct gang__column *c = GANG__OF(struct gang__column, link, n);
                gang__column_at(m, c->node)->occupies = c->occupies;
            }
    }
}

void gang__slices_drop(gang_sched *s)
{
    for (struct gang__matrix *m = s->slice.matrices; m; m = m->next)
        for (struct gang__sliced *x = m->first; x; x = x->next)
            if (x->gang)
                gang__slice_detached(s, x->gang);
}
