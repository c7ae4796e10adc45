/* SPDX-License-Identifier: Apache-2.0 */
/* Columns in the calendar: when a gang that shares nodes in time ends at the latest, and until when
 * its columns take their nodes.
 *
 * A gang needs ceil(left / quantum) quanta for the rest of its time. Each round has at most as many
 * rows as the queue allows, each with a grace in which the row before stops. So the gang ends after
 *
 *     ceil(left / quantum) * rows * (quantum + grace)
 *
 * at the latest, less what it runs in the present quantum. New rows are active last, and gangs move
 * only to rows that are active sooner. So this end becomes later only if a host refuses or stops
 * too late, if a time limit is raised, or if the settings of queues change. */
#include "sched/calendar/calendar.h"
#include "sched/slice/slice_in.h"
#include "sched/wake/wake.h"

/* ---- the end of a gang ----------------------------------------------------------------------- */

static int64_t times(int64_t count, int64_t ns)
{
    int64_t product;
    return __builtin_mul_overflow(count, ns, &product) ? INT64_MAX : product;
}

/* How the rows of a matrix follow each other at worst. */
struct round {
    int64_t quantum_ns, grace_ns, rows;
    int64_t begins_ns, ends_ns; /* the present quantum */
    bool begun;
};

static struct round round_of(const gang_sched *s, const struct gang__matrix *m)
{
    bool begun = m->begun && m->rows > 0;
    struct round r = {m->quantum_ns, m->grace_ns, gang__max(m->rows, m->most), 0, 0, begun};
    r.begins_ns = begun ? s->now_ns : gang__add_sat(s->now_ns, m->grace_ns);
    r.ends_ns = m->until_ns != INT64_MAX ? gang__max(m->until_ns, s->now_ns)
                                         : gang__add_sat(r.begins_ns, m->quantum_ns);
    return r;
}

/* When a gang has run for `left_ns`, if its first quantum begins `distance` quanta from now. */
static int64_t end_in_later_quanta(const struct round *r, int64_t distance, int64_t left_ns)
{
    int64_t turn_ns = gang__add_sat(r->quantum_ns, r->grace_ns);
    int64_t whole = (left_ns - 1) / r->quantum_ns;
    int64_t ahead = gang__add_sat(times(distance - 1, turn_ns), r->grace_ns);
    int64_t rounds = times(whole, times(r->rows, turn_ns));
    return gang__add_sat(gang__add_sat(r->ends_ns, ahead),
                         gang__add_sat(rounds, left_ns - whole * r->quantum_ns));
}

/* `distance` of its row, 0: the active one; `runs`: it has what is left of the present quantum. */
static int64_t end_in_round(const struct round *r, int64_t distance, bool runs, int64_t left_ns)
{
    int64_t rest_ns = r->ends_ns - r->begins_ns;
    if (runs && (left_ns <= rest_ns || r->rows <= 1))
        return gang__add_sat(r->begins_ns, left_ns);
    return end_in_later_quanta(r, distance > 0 ? distance : r->rows,
                               runs ? left_ns - rest_ns : left_ns);
}

static int64_t lasts(const gang_sched *s, const struct gang__gang *g, int64_t left_ns)
{
    const struct gang__sliced *x = g->sliced;
    const struct gang__matrix *m = x ? x->matrix : gang__slice_matrix(s, g->job->leaf);
    struct gang__matrix none = {.until_ns = INT64_MAX};
    if (!x && (g->alloc != GANG_ID_NONE || !gang__slice_concerns(g)))
        return -1;
    left_ns = gang__max(left_ns, 1);
    if (!m) {
        gang__matrix_take_settings(s, &none, g->job->leaf);
        m = &none;
    }
    struct round r = round_of(s, m);
    if (!x) /* an empty matrix begins with it; else its row may have just begun without it */
        return end_in_round(&r, 0, m->rows == 0, left_ns);
    uint32_t distance = x->refused ? 0 : gang__row_distance(m, x->row);
    bool runs = distance == 0 && !x->refused && (!r.begun || gang__sliced_is_busy(x));
    return end_in_round(&r, distance, runs, left_ns);
}

/* ---- columns in the timeline ----------------------------------------------------------------- */

/* When the gang has left its columns. */
static int64_t end_of(const gang_sched *s, const struct gang__sliced *x)
{
    if (x->gang)
        return gang__calendar_end(s, x->gang);
    return x->deadline_ns > s->now_ns ? x->deadline_ns : gang__add_sat(s->now_ns, GANG__OVERRUN_NS);
}

static void note_end(struct gang__sliced *x, int64_t end_ns)
{
    x->ends_ns = end_ns;
    for (size_t i = 0; i < x->uses; i++)
        x->use[i].column->ends_ns = gang__max(x->use[i].column->ends_ns, end_ns);
}

/* What the gang holds itself ends with it. */
static void move_own(gang_sched *s, const struct gang__sliced *x)
{
    if (x->gang && x->gang->calendar.occupies && !x->gang->reserve.inside_of)
        gang__timeline_move(s->calendar->timeline, x->gang->calendar.occupies - 1, s->now_ns,
                            x->ends_ns);
}

/* The column takes its node until its last gang has ended. False: out of memory. */
static bool occupy(gang_sched *s, struct gang__column *c)
{
    struct gang__calendar *cal = s->calendar;
    const struct gang__time_place place = {(uint32_t)c->node, 0, 1};
    const struct gang__occupation o = {s->now_ns, c->ends_ns, NULL, 0, &place, 1, 0, true};
    uint32_t id;
    if (place.node >= cal->end || (c->occupies && c->ends_ns == c->before_ns))
        return true;
    if (c->occupies) {
        gang__timeline_move(cal->timeline, c->occupies - 1, s->now_ns, c->ends_ns);
        cal->changes++;
        if (c->ends_ns < c->before_ns)
            gang__wake_plans(s, GANG__PLANS_EARLIER);
        else
            gang__wake_calendar(s);
        return true;
    }
    if (gang__timeline_add(cal->timeline, &o, &id) != GANG_OK)
        return false;
    c->occupies = id + 1;
    return true;
}

/* Find out again until when each column of the matrix takes its node. */
static bool put_matrix(gang_sched *s, struct gang__matrix *m)
{
    bool done = true;
    m->column_ends_ns = INT64_MAX;
    for (size_t b = 0; b < m->columns.cap; b++)
        for (struct gang__hash_link *n = m->columns.bucket[b]; n; n = n->next) {
            struct gang__column *c = GANG__OF(struct gang__column, link, n);
            c->before_ns = c->ends_ns;
            /* one without gangs could not be released yet */
            c->ends_ns = c->uses ? INT64_MIN : gang__add_sat(s->now_ns, GANG__OVERRUN_NS);
        }
    for (struct gang__sliced *x = m->first; x; x = x->next) {
        note_end(x, end_of(s, x));
        move_own(s, x);
        m->column_ends_ns = gang__min(m->column_ends_ns, x->ends_ns);
    }
    for (size_t b = 0; b < m->columns.cap; b++)
        for (struct gang__hash_link *n = m->columns.bucket[b]; n; n = n->next) {
            struct gang__column *c = GANG__OF(struct gang__column, link, n);
            m->column_ends_ns = gang__min(m->column_ends_ns, c->ends_ns);
            done = occupy(s, c) && done; /* moving cannot fail: all that lie there have moved */
        }
    return done;
}

static bool is_current(const gang_sched *s, const struct gang__matrix *m)
{
    return !m->columns_changed && m->column_ends_ns > s->now_ns;
}

static bool put_columns(gang_sched *s)
{
    for (struct gang__matrix *m = s->slice.matrices; m; m = m->next) {
        if (is_current(s, m))
            continue;
        if (!put_matrix(s, m)) {
            m->columns_changed = true; /* it is done again, whole */
            return false;
        }
        m->columns_changed = false;
    }
    return true;
}

bool gang__slice_occupied(const gang_sched *s)
{
    const struct gang__matrix *m = s->slice.matrices;
    while (m && is_current(s, m))
        m = m->next;
    return !m;
}

/* The timeline is about to be freed: no column is in it. */
static void withdraw_columns(gang_sched *s)
{
    for (struct gang__matrix *m = s->slice.matrices; m; m = m->next) {
        for (size_t b = 0; b < m->columns.cap; b++)
            for (struct gang__hash_link *n = m->columns.bucket[b]; n; n = n->next)
                GANG__OF(struct gang__column, link, n)->occupies = 0;
        m->columns_changed = true;
    }
}

/* The parts of an allocation that columns hold (GANG__TIMESHARE_*); 0: nothing. It is asked for
 * when the gang or its end changed: its columns change with it. */
static uint32_t shared_parts(const gang_sched *s, gang_alloc_id alloc)
{
    const struct gang__sliced *x = s->slice.matrices ? gang__sliced_of(s, alloc) : NULL;
    if (x)
        x->matrix->columns_changed = true;
    return x ? x->matrix->lent : 0;
}

const struct gang__calendar_source gang__slice_source = {
    .put = put_columns, .withdrawn = withdraw_columns, .shares = shared_parts, .lasts = lasts};
