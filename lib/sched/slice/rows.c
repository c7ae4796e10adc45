/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: into which row a gang is put, and what its row leaves it to grow. */
#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "sched/record/state.h"
#include "sched/slice/slice_in.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"
#include "sched/where/where.h"

bool gang__rows_sweep(struct gang__matrix *m)
{
    uint32_t before = m->rows;
    for (uint32_t row = m->rows; row-- > 0;) {
        bool empty = true;
        for (const struct gang__sliced *x = m->first; x && empty; x = x->next)
            empty = x->row != row;
        if (!empty)
            continue;
        for (struct gang__sliced *x = m->first; x; x = x->next)
            x->row -= x->row > row;
        m->rows--;
        if (row == m->active) { /* the next row is active */
            m->begun = false;
            m->until_ns = INT64_MAX;
            m->fresh = true;
        }
        m->active -= row < m->active;
        if (m->active >= m->rows)
            m->active = 0;
    }
    return m->rows < before;
}

/* ---- a view of a row ------------------------------------------------------------------------- */

void gang__row_close_node(gang_snapshot *v, uint32_t slot)
{
    uint64_t *head = &gang__snapshot_words(v, slot)[GANG__WORD_HEAD];
    if (gang__head_state(*head) == GANG__STATE_UP)
        *head = gang__head(GANG__STATE_DRAINING, gang__head_cpu(*head));
}

bool gang__row_is_untouched(const struct gang__matrix *m, const struct gang__node *node,
                            const uint64_t *word)
{
    const struct gang__node_type *shape = node->type;
    unsigned cores = gang__first_core(shape->layout), amounts = gang__first_amount(shape->layout);
    bool gpus = (m->lent & GANG__TIMESHARE_GPU) != 0;
    if (gang__head_cpu(word[0]) != gang__head_cpu(shape->capacity[0]) || (gpus && shape->slices))
        return false;
    for (unsigned i = gpus ? (unsigned)GANG__WORD_SHARES : cores; i < amounts; i++)
        if (word[i] != shape->capacity[i])
            return false;
    return true;
}

void gang__row_open_columns(const gang_sched *s, struct gang__matrix *m)
{
    gang_snapshot *v = m->view;
    m->open_cpu = 0;
    for (uint32_t slot = 0; slot < v->end; slot++) {
        const struct gang__node *node = gang__snapshot_node(v, slot);
        const struct gang__column *c = node ? gang__column_at(m, node->id) : NULL;
        bool contested = c && gang__slice_is_contested(s, c->node);
        bool open = c && c->detached_uses == 0 && !contested &&
                    gang_snapshot_release(v, c->held) == GANG_OK;
        const uint64_t *word = node ? gang__snapshot_words(v, slot) : NULL;
        if (node && !open && (c || !gang__row_is_untouched(m, node, word)))
            gang__row_close_node(v, slot);
        if (node && gang__head_state(word[0]) == GANG__STATE_UP)
            m->open_cpu += (int64_t)gang__head_cpu(word[0]);
    }
}

/* Is the view of this run still valid? It is if nothing was released since; other threads may
 * have taken capacity. */
static bool is_fresh(const gang_sched *s, const struct gang__matrix *m)
{
    return m->viewed_in == s->runs && m->viewed_stamp == gang__capacity_stamp(s->cluster);
}

static struct gang__where where(gang_sched *s, const struct gang__matrix *m, struct gang__gang *g)
{
    return (struct gang__where){.s = s,
                                .g = g,
                                .on = m->view,
                                .only = s->slice.only,
                                .only_end = s->slice.only_end,
                                .parts = true,
                                .plans = s->slice.only == NULL};
}

/* Has the gang a view of its own, because it must avoid nodes that other gangs need not avoid? */
static bool has_own_view(gang_sched *s, const struct gang__matrix *m, struct gang__gang *g)
{
    struct gang__where w = where(s, m, g);
    return gang__where_concerned(&w);
}

/* Make the view: the cluster with all columns empty, and closed nodes where no gang of the matrix
 * may go. */
static gang_result make_view(gang_sched *s, struct gang__matrix *m, struct gang__gang *g, bool soft)
{
    bool own = has_own_view(s, m, g);
    if (!m->view && gang_snapshot_new(s->cluster, &m->view) != GANG_OK)
        return GANG_ENOMEM;
    m->viewed_in = m->restore_viewed_in = 0;
    m->viewed_stamp = gang__capacity_stamp(s->cluster);
    if (gang_snapshot_take(s->worker, m->view) != GANG_OK)
        return GANG_ENOMEM;
    gang__row_open_columns(s, m);
    (void)gang__slice_close_kept(s, m, g, m->view);
    m->viewed_in = own ? 0 : s->runs; /* other gangs may use the nodes that it avoids */
    struct gang__where w = where(s, m, g);
    return gang__where_close(&w, soft);
}

gang_result gang__row_show(gang_sched *s, const struct gang__matrix *m, uint32_t row, bool all)
{
    gang_result r = gang__snapshot_copy(s->scratch, m->view);
    for (const struct gang__sliced *x = m->first; r == GANG_OK && x; x = x->next)
        if (x->uses > 0 && (x->row == row || (all && gang__sliced_is_busy(x))))
            r = gang__timeshare_snapshot(s->scratch, x->alloc) == GANG_OK ? GANG_OK : GANG_ENOFIT;
    return r;
}

/* The least millicores that the gang needs. */
static int64_t least_cpu(const gang_request *request)
{
    int64_t sum = 0;
    for (uint32_t group = 0; group < request->group_count; group++)
        sum += request->group[group].min * (int64_t)request->group[group].cpu;
    return sum;
}

static bool suffices(const struct gang__matrix *m, uint32_t row, int64_t cpu)
{
    for (const struct gang__sliced *x = m->first; x; x = x->next)
        cpu += x->row == row ? x->cpu : 0;
    return cpu <= m->open_cpu;
}

/* GANG_EBUSY: another thread took a node that the view shows as free. */
static gang_result try_row(gang_sched *s, struct gang__sliced *x, const struct gang__gang *g,
                           uint32_t row, bool all)
{
    struct gang__matrix *m = x->matrix;
    gang_request *request = gang__gang_request(g);
    gang_result r =
        suffices(m, row, least_cpu(request)) ? gang__row_show(s, m, row, all) : GANG_ENOFIT;
    if (r == GANG_OK)
        r = gang__timeshare_alloc(s->worker, s->scratch, request, m->lent, &x->alloc);
    if (r != GANG_OK)
        return r;
    r = gang__uses_collect(s, x, NULL, 0);
    if (r != GANG_OK)
        gang__give_back_or_defer(s, NULL, x->alloc, NULL, 0);
    if (r != GANG_OK || gang__snapshot_retake(m->view, x->alloc) != GANG_OK)
        m->viewed_in = 0; /* the view is out of date */
    x->row = row;
    return r == GANG_ENOFIT ? GANG_EBUSY : r;
}

/* A new row is active last, so that gangs that wait already lose nothing by it. */
static void open_row(struct gang__matrix *m, struct gang__sliced *to)
{
    for (struct gang__sliced *x = m->first; x; x = x->next)
        x->row += x->row >= m->active;
    to->row = m->active;
    m->active += m->rows > 0;
    m->begun = m->begun && m->rows > 0;
    m->rows++;
}

static bool has_alternates(const struct gang__matrix *m)
{
    for (const struct gang__sliced *x = m->first; x; x = x->next)
        if (x->row != m->active && gang__sliced_is_busy(x))
            return true;
    return false;
}

static gang_result try_rows(gang_sched *s, struct gang__sliced *x, const struct gang__gang *g)
{
    struct gang__matrix *m = x->matrix;
    gang_result r = GANG_ENOFIT;
    /* a gang that moved must not lose its turn for the rest of a quantum */
    bool whole_first = s->slice.only_moved && m->begun && m->rows > 0;
    for (uint32_t d = 1; whole_first && r == GANG_ENOFIT && d < m->rows; d++)
        r = try_row(s, x, g, (m->active + d) % m->rows, false);
    if (r == GANG_ENOFIT && m->rows > 0 && has_alternates(m))
        r = try_row(s, x, g, m->active, true);
    for (uint32_t d = 0; r == GANG_ENOFIT && d < m->rows; d++)
        r = try_row(s, x, g, (m->active + d) % m->rows, false);
    if (r == GANG_ENOFIT && m->rows + gang__slice_close_kept(s, m, g, NULL) < m->most) {
        r = try_row(s, x, g, m->rows, false);
        if (r == GANG_OK)
            open_row(m, x);
    }
    return r;
}

/* An old view may find a place. Only a new one may say that there is none. */
static gang_result find_row(gang_sched *s, struct gang__sliced *x, struct gang__gang *g)
{
    struct gang__matrix *m = x->matrix;
    gang_result r = GANG_ENOFIT;
    if (is_fresh(s, m) && !has_own_view(s, m, g))
        r = try_rows(s, x, g);
    if (r != GANG_ENOFIT && r != GANG_EBUSY)
        return r;
    r = make_view(s, m, g, true);
    if (r == GANG_OK)
        r = try_rows(s, x, g);
    struct gang__where w = where(s, m, g);
    if (r != GANG_ENOFIT || !gang__where_is_soft(&w))
        return r;
    r = make_view(s, m, g, false);
    return r == GANG_OK ? try_rows(s, x, g) : r;
}

gang_result gang__slice_alloc_at(gang_sched *s, struct gang__gang *g,
                                 const struct gang_placement *places, int64_t count, bool moved,
                                 gang_alloc_id *id)
{
    uint32_t end = 0;
    for (int64_t i = 0; i < count; i++)
        end = (uint32_t)places[i].node >= end ? (uint32_t)places[i].node + 1 : end;
    uint64_t *only = gang__zalloc(&s->mem, (size_t)end / 64 + 1, sizeof(*only));
    if (!only)
        return GANG_ENOMEM;
    for (int64_t i = 0; i < count; i++)
        gang__mask_put(only, (uint32_t)places[i].node);
    s->slice.only = only;
    s->slice.only_end = end;
    s->slice.only_moved = moved;
    gang_result r = gang__slice_alloc(s, g, id);
    s->slice.only = NULL;
    s->slice.only_moved = false;
    gang__release(&s->mem, only);
    return r;
}

gang_result gang__slice_alloc(gang_sched *s, struct gang__gang *g, gang_alloc_id *id)
{
    struct gang__matrix *m = gang__matrix_get(s, g->job->leaf);
    struct gang__sliced *x = m ? gang__zalloc(&s->mem, 1, sizeof(*x)) : NULL;
    if (!x)
        return GANG_ENOMEM;
    x->matrix = m;
    gang_result r = gang__hash_reserve(&s->slice.gangs, &s->mem);
    if (r == GANG_OK) {
        if (s->slice.only_moved)
            gang__rows_settle(s, m);
        r = find_row(s, x, g);
    }
    if (r != GANG_OK) {
        gang__sliced_free(s, x);
        return r;
    }
    x->gang = g;
    g->sliced = x;
    gang__sliced_enter(s, x);
    *id = x->alloc;
    gang__wake_slices(s);
    return GANG_OK;
}

/* `soft`: beside soft vetoes, too. */
static gang_result grow_in_view(gang_sched *s, struct gang__sliced *x,
                                const struct gang__timeshare_growth *growth, bool soft,
                                int64_t *granted)
{
    gang_result r = make_view(s, x->matrix, x->gang, soft);
    if (r == GANG_OK)
        r = gang__row_show(s, x->matrix, x->row, true);
    return r == GANG_OK ? gang__timeshare_grow(s->worker, s->scratch, growth, granted) : r;
}

gang_result gang__slice_grow(gang_sched *s, struct gang__gang *g, uint32_t group, int64_t step,
                             int64_t *granted)
{
    struct gang__sliced *x = g->sliced;
    struct gang__matrix *m = x->matrix;
    *granted = 0;
    if (x->row != m->active || x->state != GANG__SLICED_RUNS)
        return GANG_ENOFIT;
    const struct gang__timeshare_growth growth = {x->alloc, (int32_t)group, m->lent, step};
    const struct gang__where w = where(s, m, g);
    gang_result r = grow_in_view(s, x, &growth, true, granted);
    if (r == GANG_ENOFIT && gang__where_is_soft(&w))
        r = grow_in_view(s, x, &growth, false, granted);
    m->viewed_in = 0;
    if (r != GANG_OK)
        return r;
    gang__growth_numbers(s->worker, s->numbers, (size_t)*granted);
    r = gang__uses_collect(s, x, s->numbers, (size_t)*granted);
    if (r == GANG_OK)
        return r;
    gang__give_back_or_defer(s, g, x->alloc, s->numbers, (size_t)*granted);
    *granted = 0;
    return r;
}
