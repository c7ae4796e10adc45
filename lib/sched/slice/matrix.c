/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix of a queue that slices: its settings, and the gangs in it. */
#include <string.h>

#include "sched/record/state.h"
#include "sched/slice/slice_in.h"
#include "sched/wake/wake.h"

static const struct gang__queue *slicer_of(const gang_sched *s,
                                           const struct gang__queue_state *leaf)
{
    return leaf->q->slicer == GANG__NO_QUEUE ? NULL : &s->queues->queue[leaf->q->slicer];
}

/* What is reserved is for one member at a time: a gang inside a reservation, or whose job names
 * one, has its nodes to itself. */
bool gang__slice_concerns(const struct gang__gang *g)
{
    bool slices = g->job->leaf->q->slicer != GANG__NO_QUEUE;
    bool reserved = g->reserve.inside_of || g->job->reserve.named;
    return g->sliced || (slices && !g->places && !reserved && !gang__gang_request(g)->exclusive);
}

struct gang__matrix *gang__slice_matrix(const gang_sched *s, const struct gang__queue_state *leaf)
{
    const struct gang__queue *q = slicer_of(s, leaf);
    struct gang__matrix *m = s->slice.matrices;
    while (m && (!q || m->queue != q->id))
        m = m->next;
    return q ? m : NULL;
}

static void take_settings(const gang_sched *s, struct gang__matrix *m, const struct gang__queue *q)
{
    m->quantum_ns = q->quantum_ns;
    m->most = q->quantum_rows;
    m->grace_ns = gang__longest_grace(s);
    if (!m->first &&
        m->columns.count == 0) /* columns keep the settings with which they were made */
        m->lent = GANG__TIMESHARE_CPU | (q->quantum_gpus ? (uint32_t)GANG__TIMESHARE_GPU : 0);
}

void gang__matrix_take_settings(const gang_sched *s, struct gang__matrix *m,
                                const struct gang__queue_state *leaf)
{
    take_settings(s, m, slicer_of(s, leaf));
}

/* Matrices of queues that slice no more go on as they are until they are empty. */
void gang__slice_configure(gang_sched *s)
{
    for (struct gang__matrix *m = s->slice.matrices; m; m = m->next) {
        const struct gang__queue *q = gang__queue_by_id(s->queues, m->queue);
        if (q && q->slicer == q->index)
            take_settings(s, m, q);
        m->grace_ns = gang__longest_grace(s);
        m->columns_changed = true;
        gang__wake_slices(s);
    }
}

struct gang__matrix *gang__matrix_get(gang_sched *s, const struct gang__queue_state *leaf)
{
    const struct gang__queue *q = slicer_of(s, leaf);
    struct gang__matrix *m = gang__slice_matrix(s, leaf);
    if (m)
        return m;
    m = gang__zalloc(&s->mem, 1, sizeof(*m));
    if (!m)
        return NULL;
    m->queue = q->id;
    m->last = &m->first;
    m->until_ns = m->due_ns = INT64_MAX;
    take_settings(s, m, q);
    m->next = s->slice.matrices;
    s->slice.matrices = m;
    return m;
}

/* ---- gangs in it ----------------------------------------------------------------------------- */

static uint64_t hash_of(gang_alloc_id alloc)
{
    return gang__hash_number(GANG__HASH_SEED, alloc);
}

struct gang__sliced *gang__sliced_of(const gang_sched *s, gang_alloc_id alloc)
{
    for (struct gang__hash_link *n = gang__hash_first(&s->slice.gangs, hash_of(alloc)); n;
         n = n->next) {
        struct gang__sliced *x = GANG__OF(struct gang__sliced, link, n);
        if (x->alloc == alloc)
            return x;
    }
    return NULL;
}

void gang__sliced_enter(gang_sched *s, struct gang__sliced *x)
{
    struct gang__matrix *m = x->matrix;
    m->columns_changed = true;
    gang__hash_insert(&s->slice.gangs, &x->link, hash_of(x->alloc));
    if (x->came == 0)
        x->came = m->came + 1;
    struct gang__sliced **at = x->came > m->came ? m->last : &m->first;
    while (*at && (*at)->came <= x->came)
        at = &(*at)->next;
    m->came = gang__max(m->came, x->came);
    x->at = at;
    x->next = *at;
    if (x->next)
        x->next->at = &x->next;
    else
        m->last = &x->next;
    *at = x;
}

void gang__sliced_free(gang_sched *s, struct gang__sliced *x)
{
    gang__release(&s->mem, x->use);
    gang__release(&s->mem, x->still);
    gang__release(&s->mem, x);
}

/* Its `next` stays: a walk over the gangs may stand there. */
void gang__sliced_leave(gang_sched *s, struct gang__sliced *x)
{
    struct gang__matrix *m = x->matrix;
    m->columns_changed = true;
    gang__hash_remove(&s->slice.gangs, &x->link);
    while (x->uses > 0)
        gang__use_forget(s, x, --x->uses);
    if (x->gang)
        x->gang->sliced = NULL;
    *x->at = x->next;
    if (x->next)
        x->next->at = x->at;
    else
        m->last = x->at;
    x->gone = true;
    x->gang = NULL;
    gang__wake_slices(s);
    if (m->walkers == 0) {
        gang__sliced_free(s, x);
    } else {
        x->next_gone = m->gone;
        m->gone = x;
    }
}

void gang__sliced_free_gone(gang_sched *s, struct gang__matrix *m)
{
    while (m->gone) {
        struct gang__sliced *x = m->gone;
        m->gone = x->next_gone;
        gang__sliced_free(s, x);
    }
}

/* ---- its end --------------------------------------------------------------------------------- */

/* Columns that could not be released stay held; no record of them is left. */
static void free_columns(gang_sched *s, struct gang__matrix *m)
{
    for (size_t b = 0; b < m->columns.cap; b++)
        while (m->columns.bucket[b]) {
            struct gang__column *c = GANG__OF(struct gang__column, link, m->columns.bucket[b]);
            gang__hash_remove(&m->columns, &c->link);
            gang__release(&s->mem, c);
        }
}

static void free_matrix(gang_sched *s, struct gang__matrix *m)
{
    struct gang__matrix **at = &s->slice.matrices;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    free_columns(s, m);
    gang__hash_free(&m->columns, &s->mem);
    gang_snapshot_free(m->view);
    gang__release(&s->mem, m);
}

void gang__matrix_empty(gang_sched *s, struct gang__matrix *m)
{
    const struct gang__queue *q = gang__queue_by_id(s->queues, m->queue);
    if (q && q->slicer == q->index)
        take_settings(s, m, q);
    else
        free_matrix(s, m);
}

void gang__slice_free(gang_sched *s)
{
    while (s->slice.matrices) {
        struct gang__matrix *m = s->slice.matrices;
        while (m->first)
            gang__sliced_leave(s, m->first);
        gang__columns_sweep(s, m);
        free_matrix(s, m);
    }
    gang__hash_free(&s->slice.gangs, &s->mem);
    gang_snapshot_free(s->slice.dry[0]);
    gang_snapshot_free(s->slice.dry[1]);
}
