/* SPDX-License-Identifier: Apache-2.0 */
/* Quanta in a matrix (Ousterhout 1982). A pass over it
 *   1. asks the host again about gangs that it could not suspend, kills gangs that did not suspend
 *      within their grace, and notes gangs that have suspended;
 *   2. activates the next row, if the quantum is over, and moves gangs to rows that are active
 *      sooner;
 *   3. decides which gangs are to run: the active row, and gangs that fit beside it (alternates);
 *   4. suspends running gangs that are not to run, and starts or resumes gangs that are, if their
 *      places are free.
 * Passes are repeated until a pass changes nothing. */
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/slice/slice_in.h"
#include "sched/wake/wake.h"

/* ---- which gangs run ---------------------------------------------------------------------------
 */

typedef void (*each_fn)(gang_sched *s, struct gang__sliced *x);

/* `act` may end gangs, but adds none. */
static void for_each(gang_sched *s, struct gang__matrix *m, each_fn act)
{
    m->walkers++;
    for (struct gang__sliced *x = m->first; x; x = x->next)
        if (!x->gone)
            act(s, x);
    m->walkers--;
    if (m->walkers == 0)
        gang__sliced_free_gone(s, m);
}

static void note_out(gang_sched *s, struct gang__sliced *x)
{
    if (x->gang && x->state == GANG__SLICED_STOPS && x->left == 0 && !x->gang->stop.first)
        gang__sliced_suspended(s, x);
}

/* Choose gangs of other rows that fit beside those chosen so far, rows that are active sooner
 * first. `run`: among the running ones, the others, or (< 0) all. */
static void choose_alternates(struct gang__matrix *m, int run)
{
    for (uint32_t d = 1; d < m->rows; d++)
        for (struct gang__sliced *x = m->first; x; x = x->next) {
            bool runs = x->state == GANG__SLICED_RUNS;
            if (x->to_run || !x->gang || gang__row_distance(m, x->row) != d ||
                (run >= 0 && runs != (run > 0)))
                continue;
            x->to_run = gang__columns_put_if_fits(x, false);
        }
}

/* Within a quantum no alternate is suspended for another alternate. */
static void choose(struct gang__matrix *m)
{
    gang__columns_reset(m, false);
    for (struct gang__sliced *x = m->first; x; x = x->next) {
        x->to_run = x->row == m->active && x->gang;
        if (x->to_run || (x->row == m->active && gang__sliced_is_busy(x)))
            gang__columns_put(x, false);
    }
    if (m->fresh) {
        choose_alternates(m, -1);
    } else {
        choose_alternates(m, 1);
        choose_alternates(m, 0);
    }
    m->fresh = false;
}

static void clear_way(gang_sched *s, struct gang__sliced *x)
{
    if (x->gang && x->state == GANG__SLICED_RUNS && !x->to_run)
        gang__sliced_suspend(s, x);
}

static void let_run(gang_sched *s, struct gang__sliced *x)
{
    bool waits = x->state == GANG__SLICED_WAITS || x->state == GANG__SLICED_OUT;
    if (!x->gang || !x->to_run || !waits || x->refused || x->gang->job->ending ||
        !gang__columns_put_if_fits(x, true))
        return;
    if (x->state == GANG__SLICED_WAITS)
        gang__sliced_start(s, x);
    else
        gang__sliced_resume(s, x);
}

static void let_active_run(gang_sched *s, struct gang__sliced *x)
{
    if (x->row == x->matrix->active)
        let_run(s, x);
}

static void note_busy(struct gang__matrix *m)
{
    gang__columns_reset(m, true);
    for (struct gang__sliced *x = m->first; x; x = x->next)
        if (gang__sliced_is_busy(x))
            gang__columns_put(x, true);
}

/* ---- rows and quanta ------------------------------------------------------------------------- */

/* Move gangs to rows that are active sooner. Not while a handover counts on the rows as they
 * are. */
static bool merge_rows(const gang_sched *s, struct gang__matrix *m)
{
    if (gang__slice_close_kept(s, m, NULL, NULL) > 0)
        return gang__rows_sweep(m);
    for (uint32_t d = 0; d + 1 < m->rows; d++) {
        uint32_t row = (m->active + d) % m->rows;
        gang__columns_reset(m, false);
        for (struct gang__sliced *x = m->first; x; x = x->next)
            if (x->row == row)
                gang__columns_put(x, false);
        for (uint32_t from = d + 1; from < m->rows; from++)
            for (struct gang__sliced *x = m->first; x; x = x->next)
                if (gang__row_distance(m, x->row) == from && x->gang &&
                    gang__columns_put_if_fits(x, false))
                    x->row = row;
    }
    return gang__rows_sweep(m);
}

/* Has the row gangs that are not detached? */
static bool is_alive(const struct gang__matrix *m, uint32_t row)
{
    for (const struct gang__sliced *x = m->first; x; x = x->next)
        if (x->row == row && x->gang)
            return true;
    return false;
}

static void next_row(gang_sched *s, struct gang__matrix *m)
{
    uint32_t before = m->active;
    do
        m->active = (m->active + 1) % m->rows;
    while (m->active != before && !is_alive(m, m->active));
    m->begun = false;
    m->until_ns = INT64_MAX;
    m->fresh = true;
    for (struct gang__sliced *x = m->first; x; x = x->next)
        x->refused = false;
    if (merge_rows(s, m))
        gang__wake_capacity_any(s); /* there may be another row */
}

/* Gangs of the active row that wait to grow may try now. */
static void wake_growers(gang_sched *s, const struct gang__matrix *m)
{
    for (const struct gang__sliced *x = m->first; x; x = x->next)
        if (x->gang && x->gang->order.wait_class && x->row == m->active)
            gang__order_unblock(s, x->gang->order.wait_class);
}

/* The quantum is counted from when all gangs of its row run. A single row has no end of its
 * quantum, unless the host refused a gang, which is then tried again. */
static void count_slice(gang_sched *s, struct gang__matrix *m)
{
    bool all = true, refused = false;
    for (const struct gang__sliced *x = m->first; x; x = x->next)
        if (x->row == m->active && x->gang) {
            refused = refused || x->refused;
            all = all && (x->state == GANG__SLICED_RUNS || x->refused || x->gang->job->ending);
        }
    if (all && !m->begun) {
        m->begun = true;
        wake_growers(s, m);
    }
    if (!m->begun || (m->rows <= 1 && !refused))
        m->until_ns = INT64_MAX;
    else if (m->until_ns == INT64_MAX)
        m->until_ns = gang__add_sat(s->now_ns, m->quantum_ns);
}

void gang__rows_settle(gang_sched *s, struct gang__matrix *m)
{
    if (gang__rows_sweep(m)) {
        for (struct gang__sliced *x = m->first; x && m->fresh; x = x->next)
            x->refused = false;
        if (m->fresh && m->rows > 0)
            (void)merge_rows(s, m);
        gang__wake_capacity_any(s);
    }
    if (m->rows > 1 && !is_alive(m, m->active))
        next_row(s, m);
}

static void pass(gang_sched *s, struct gang__matrix *m)
{
    m->columns_changed = true;
    for_each(s, m, gang__sliced_due);
    for_each(s, m, note_out);
    gang__rows_settle(s, m);
    if (m->until_ns <= s->now_ns)
        next_row(s, m);
    choose(m);
    for_each(s, m, clear_way);
    for_each(s, m, note_out);
    note_busy(m);
    for_each(s, m, let_active_run);
    for_each(s, m, let_run);
    count_slice(s, m);
    gang__columns_sweep(s, m);
}

/* Tell the host of gangs that wait for their first quantum. */
static void tell_waiting(gang_sched *s, struct gang__sliced *x)
{
    if (x->gang && x->state == GANG__SLICED_WAITS)
        gang__sliced_report(s, x->gang, "it has its places, and waits for its turn");
}

static void note_due(struct gang__matrix *m)
{
    m->due_ns = m->until_ns;
    for (const struct gang__sliced *x = m->first; x; x = x->next)
        if (x->state == GANG__SLICED_STOPS && x->gang && x->left > 0)
            m->due_ns = gang__min(m->due_ns, x->next_ns);
}

void gang__slice_run(gang_sched *s)
{
    bool moved = s->wake.slices;
    s->wake.slices = false;
    for (struct gang__matrix *m = s->slice.matrices, *next; m; m = next) {
        next = m->next;
        if (!moved && m->due_ns > s->now_ns)
            continue;
        pass(s, m);
        for_each(s, m, tell_waiting);
        note_due(m);
        if (!m->first && m->columns.count == 0)
            gang__matrix_empty(s, m);
    }
}

int64_t gang__slice_next(const gang_sched *s)
{
    int64_t next = s->wake.slices ? INT64_MIN : INT64_MAX;
    for (const struct gang__matrix *m = s->slice.matrices; m; m = m->next)
        next = gang__min(next, m->due_ns);
    return next;
}

/* Also if a pass freed a row or a node after all gangs had looked for capacity. */
bool gang__slice_has_work(const gang_sched *s)
{
    return s->wake.slices || (s->slice.matrices && s->wake.capacity && s->order.blocked_requests);
}

bool gang__slice_report(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count)
{
    bool asked = g->sliced && g->sliced->state == GANG__SLICED_STOPS;
    if (asked)
        gang__slice_tasks_gone(s, g->sliced, tasks, count);
    return asked;
}
