/* SPDX-License-Identifier: Apache-2.0 */
/* Preemption and matrices: gangs in rows as tentative victims, and places in rows for a gang that
 * preempts, or that moves.
 *
 * Such a gang is placed as it will be when its victims have stopped: beside the gangs that are left
 * of a row, or in a new row. Until then a handover keeps its places. Nodes are kept by closing them
 * to all other gangs of the matrix, rows by counting one for each such gang, and rows are not
 * merged. So the places are there when the handover ends. */
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "sched/slice/slice_in.h"
#include "sched/stop/stop.h"

/* ---- victims --------------------------------------------------------------------------------- */

void gang__slice_dry_run_begin(gang_sched *s)
{
    for (struct gang__matrix *m = s->slice.matrices; m; m = m->next) {
        m->dry_rows = 0;
        for (struct gang__sliced *x = m->first; x; x = x->next)
            for (size_t i = 0; i < x->uses; i++)
                x->use[i].column->tentative_uses = 0;
    }
}

/* A user of a column becomes a tentative victim, or (back) stays. Without users the column is
 * released on the snapshot. */
static gang_result count_tentative(gang_sched *s, struct gang__column *c, bool back)
{
    gang_result r = GANG_OK;
    if (back && c->tentative_uses == c->uses)
        r = gang__snapshot_retake(s->scratch, c->held);
    if (r == GANG_OK)
        c->tentative_uses += back ? (uint32_t)-1 : 1;
    if (r == GANG_OK && !back && c->tentative_uses == c->uses)
        (void)!gang_snapshot_release(s->scratch, c->held);
    return r;
}

gang_result gang__slice_dry_run_victim(gang_sched *s, const struct gang__gang *g, bool back)
{
    const struct gang__sliced *x = g->sliced;
    gang_result r = GANG_OK;
    size_t done = 0;
    for (; x && r == GANG_OK && done < x->uses; done += r == GANG_OK)
        r = count_tentative(s, x->use[done].column, back);
    while (r != GANG_OK && done > 0)
        (void)count_tentative(s, x->use[--done].column, !back);
    return r;
}

/* ---- what handovers keep --------------------------------------------------------------------- */

static bool is_of(const gang_sched *s, const struct gang__matrix *m, const struct gang__gang *g)
{
    return gang__slice_concerns(g) && gang__slice_matrix(s, g->job->leaf) == m;
}

static void close_places(gang_snapshot *view, const struct gang_placement *places, int64_t count)
{
    for (int64_t i = 0; view && i < count; i++)
        if ((uint32_t)places[i].node < view->end)
            gang__row_close_node(view, (uint32_t)places[i].node);
}

uint32_t gang__slice_close_kept(const gang_sched *s, const struct gang__matrix *m,
                                const struct gang__gang *g, gang_snapshot *view)
{
    uint32_t count = 0;
    for (const struct gang__handover *h = s->stop.handovers; h; h = h->next) {
        if (h->taker && h->taker != g && is_of(s, m, h->taker)) {
            close_places(view, h->places, h->place_count);
            count++;
        }
        for (const struct gang__stop *stop = h->stops; stop; stop = stop->next_of_handover)
            if (stop->to && stop->gang && stop->gang != g && is_of(s, m, stop->gang)) {
                close_places(view, stop->to, stop->to_count);
                count++;
            }
    }
    return count;
}

void gang__slice_forget_views(gang_sched *s)
{
    for (struct gang__matrix *m = s->slice.matrices; m; m = m->next)
        m->viewed_in = 0;
}

/* ---- places in rows -------------------------------------------------------------------------- */

static bool stays(const struct gang__sliced *x)
{
    return !x->gang || !x->gang->victim.tentative;
}

static bool has_row(const struct gang__matrix *m, uint32_t row)
{
    for (const struct gang__sliced *x = m->first; x; x = x->next)
        if (x->row == row && stays(x))
            return true;
    return false;
}

static bool make_snapshots(gang_sched *s)
{
    for (int i = 0; i < 2; i++)
        if (!s->slice.dry[i] && gang_snapshot_new(s->cluster, &s->slice.dry[i]) != GANG_OK)
            return false;
    return true;
}

/* On the snapshot all columns are empty, and nodes to which no gang of the matrix may come are
 * closed. A column whose users are all tentative victims is not held there any more. */
static void open_nodes(const gang_sched *s, const struct gang__matrix *m,
                       const struct gang__gang *g, gang_snapshot *v)
{
    for (uint32_t slot = 0; slot < v->end; slot++) {
        const struct gang__node *node = gang__snapshot_node(v, slot);
        const struct gang__column *c = node ? gang__column_at(m, node->id) : NULL;
        bool held = c && c->tentative_uses < c->uses;
        if (!node)
            continue;
        bool contested = held && gang__slice_is_contested(s, c->node);
        bool open = held ? c->detached_uses == 0 && !contested &&
                               gang_snapshot_release(v, c->held) == GANG_OK
                         : gang__row_is_untouched(m, node, gang__snapshot_words(v, slot));
        if (!open)
            gang__row_close_node(v, slot);
    }
    (void)gang__slice_close_kept(s, m, g, v);
}

/* Beside the gangs that stay in a row. */
static gang_result place_beside(const struct gang__where *w, const struct gang__matrix *m,
                                uint32_t row, struct gang__places *places)
{
    gang_sched *s = w->s;
    struct gang__where in = *w;
    gang_result r = gang__snapshot_copy(s->slice.dry[1], s->slice.dry[0]);
    for (const struct gang__sliced *x = m->first; r == GANG_OK && x; x = x->next)
        if (x->uses > 0 && x->row == row && stays(x))
            r = gang__timeshare_snapshot(s->slice.dry[1], x->alloc) == GANG_OK ? GANG_OK
                                                                               : GANG_ENOFIT;
    if (r != GANG_OK)
        return r;
    in.on = s->slice.dry[1];
    in.parts = in.plans = true;
    return places ? gang__where_place(&in, places) : gang__where_fits(&in);
}

static bool is_refused(gang_result r)
{
    return r == GANG_ENOFIT || r == GANG_ENEVER;
}

/* The rows without the tentative victims, and those that are promised. A new row is active after so
 * many quanta, and so is the active row again. */
static uint32_t count_rows(const gang_sched *s, const struct gang__matrix *m,
                           const struct gang__gang *g)
{
    uint32_t rows = m->dry_rows + gang__slice_close_kept(s, m, g, NULL);
    for (uint32_t row = 0; row < m->rows; row++)
        rows += has_row(m, row);
    return rows;
}

/* A gang that moves must not lose its turn: the number of quanta before its first whole one must
 * be at most that of its present row. UINT32_MAX: any number, because it does not move, or its
 * row is active. */
static uint32_t latest_turn(const struct gang__matrix *m, const struct gang__gang *g)
{
    const struct gang__sliced *x = g->sliced;
    bool waits = x && x->matrix == m && gang__row_distance(m, x->row) > 0;
    return waits ? gang__row_distance(m, x->row) : UINT32_MAX;
}

gang_result gang__slice_dry_run_place(const struct gang__where *w, struct gang__places *places)
{
    gang_sched *s = w->s;
    bool slices = w->g->job->leaf->q->slicer != GANG__NO_QUEUE;
    struct gang__matrix *m = slices ? gang__matrix_get(s, w->g->job->leaf) : NULL;
    if (!slices) /* not any more: it would start elsewhere */
        return GANG_ENOFIT;
    if (!m || !make_snapshots(s))
        return GANG_ENOMEM;
    gang_result r = gang__snapshot_copy(s->slice.dry[0], w->on);
    if (r != GANG_OK)
        return r;
    open_nodes(s, m, w->g, s->slice.dry[0]);
    m->dry_opens = false;
    r = GANG_ENOFIT;
    uint32_t rows = count_rows(s, m, w->g), latest = latest_turn(m, w->g), turn = 0;
    for (uint32_t d = 0; is_refused(r) && d < m->rows; d++) {
        uint32_t row = (m->active + d) % m->rows;
        if (!has_row(m, row))
            continue;
        if ((d == 0 && m->begun ? rows : turn) <= latest)
            r = place_beside(w, m, row, places);
        turn++;
    }
    if (!is_refused(r) || rows >= m->most || rows > latest)
        return r;
    m->dry_opens = true;
    return place_beside(w, m, UINT32_MAX, places);
}

void gang__slice_dry_run_take(gang_sched *s, const struct gang__gang *g,
                              const struct gang__places *places)
{
    struct gang__matrix *m = gang__slice_matrix(s, g->job->leaf);
    close_places(s->scratch, places->place, (int64_t)places->count);
    if (m)
        m->dry_rows += m->dry_opens;
}
