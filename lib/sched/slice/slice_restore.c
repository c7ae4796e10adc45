/* SPDX-License-Identifier: Apache-2.0 */
/* A gang that a host restores comes back to its matrix as it was: to its row, in its state, among
 * the others in the order in which they came. The first gang of a matrix also says which row is
 * active and until when; the others must agree. What the columns hold follows from the gangs.
 *
 * All that comes in the run in which the first gang came, before any pass, so rows are as they
 * were. A gang that comes later (memory was short) finds rows that passes have merged: it goes to
 * the first row that has its place, or to a new one. */
#include <stdlib.h>
#include <string.h>

#include "sched/record/state.h"
#include "sched/slice/slice_in.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"

/* ---- what a host keeps ----------------------------------------------------------------------- */

void gang__slice_past(const gang_sched *s, gang_alloc_id alloc, struct gang_job_past *past)
{
    const struct gang__sliced *x = s->slice.matrices ? gang__sliced_of(s, alloc) : NULL;
    if (!x)
        return;
    const struct gang__matrix *m = x->matrix;
    past->slice_row = (int32_t)x->row + 1;
    past->slice_state = x->state;
    past->slice_flags = (m->begun ? GANG_SLICE_STARTED : 0) |
                        (m->lent & GANG__TIMESHARE_GPU ? GANG_SLICE_GPUS : 0) |
                        (x->refused ? GANG_SLICE_REFUSED : 0) |
                        (x->gang && x->gang->preempt.took ? GANG_SLICE_PROTECTED : 0) |
                        (x->gang ? 0 : GANG_SLICE_LEAVES);
    past->slice_active = (int32_t)m->active + 1;
    past->slice_order = x->came;
    past->slice_end_ns = m->until_ns;
}

bool gang__slice_has_alloc(const gang_sched *s, gang_alloc_id alloc)
{
    return s->slice.matrices && gang__sliced_of(s, alloc);
}

bool gang__slice_stop_shown(const struct gang__gang *g, struct gang_job_stop *out)
{
    const struct gang__sliced *x = g->sliced;
    if (!x || x->state != GANG__SLICED_STOPS || x->left == 0)
        return false;
    *out = (struct gang_job_stop)GANG_JOB_STOP_INIT;
    out->what = x->killed ? GANG_STOP_SLICE_KILLED : GANG_STOP_SLICE;
    out->reason = GANG_REASON_SLICE;
    out->deadline_ns = x->deadline_ns;
    out->next_ns = x->next_ns;
    out->tasks = x->still;
    out->task_count = x->left;
    return true;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

static bool is_late(const gang_sched *s, const struct gang__matrix *m)
{
    return m->rows > 0 && m->restored_in != s->runs;
}

static gang_result contradicts(struct gang_error *error, const char *path)
{
    return gang__error(error, GANG_EINVAL, path, "contradicts the other jobs of its matrix");
}

/* Do the gangs that came before say the same? */
static gang_result check_matrix(const struct gang__matrix *m, const struct gang_job_past *past,
                                struct gang_error *error)
{
    bool gpus = (past->slice_flags & GANG_SLICE_GPUS) != 0;
    if ((uint32_t)past->slice_active - 1 != m->active)
        return contradicts(error, "past.slice_active");
    if (past->slice_end_ns != m->until_ns)
        return contradicts(error, "past.slice_end_ns");
    if (((past->slice_flags & GANG_SLICE_STARTED) != 0) != m->begun ||
        gpus != ((m->lent & GANG__TIMESHARE_GPU) != 0))
        return contradicts(error, "past.slice_flags");
    return GANG_OK;
}

static void set_matrix(const gang_sched *s, struct gang__matrix *m,
                       const struct gang_job_past *past)
{
    bool gpus = (past->slice_flags & GANG_SLICE_GPUS) != 0;
    m->active = (uint32_t)past->slice_active - 1;
    m->begun = (past->slice_flags & GANG_SLICE_STARTED) != 0;
    m->until_ns = past->slice_end_ns;
    m->lent = GANG__TIMESHARE_CPU | (gpus ? (uint32_t)GANG__TIMESHARE_GPU : 0);
    m->restored_in = s->runs;
}

/* Of a matrix without gangs. */
static void unset_matrix(struct gang__matrix *m)
{
    m->active = 0;
    m->begun = false;
    m->until_ns = INT64_MAX;
    m->restored_in = 0;
}

/* ---- its places ------------------------------------------------------------------------------ */

static gang_result make_view(gang_sched *s, struct gang__matrix *m)
{
    if (!m->view && gang_snapshot_new(s->cluster, &m->view) != GANG_OK)
        return GANG_ENOMEM;
    m->viewed_in = m->restore_viewed_in = 0;
    if (gang_snapshot_take(s->worker, m->view) != GANG_OK)
        return GANG_ENOMEM;
    gang__row_open_columns(s, m);
    m->restore_viewed_in = s->runs;
    return GANG_OK;
}

static gang_result try_view(gang_sched *s, struct gang__sliced *x, uint32_t row,
                            gang_request *request, struct gang_error *error)
{
    const struct gang__job *job = x->gang->job;
    const struct gang__timeshare_adoption adoption = {
        request, x->matrix->lent, job->restored->places, (int64_t)job->restored->place_count};
    gang_result r = gang__row_show(s, x->matrix, row, false);
    if (r == GANG_ENOFIT)
        return gang__error(error, r, "places", "the nodes changed");
    return r == GANG_OK ? gang__timeshare_adopt(s->worker, s->scratch, &adoption, &x->alloc, error)
                        : r;
}

/* An old view may have a place. Only a new one may say that there is none. */
static gang_result adopt_in_row(gang_sched *s, struct gang__sliced *x, uint32_t row,
                                gang_request *request, struct gang_error *error)
{
    struct gang__matrix *m = x->matrix;
    gang_result r = GANG_ENOFIT;
    if (m->restore_viewed_in == s->runs)
        r = try_view(s, x, row, request, error);
    if (r != GANG_ENOFIT)
        return r;
    r = make_view(s, m);
    return r == GANG_OK ? try_view(s, x, row, request, error) : r;
}

static gang_result name_place(const gang_sched *s, const struct gang__job *job, size_t i,
                              const char *text, struct gang_error *error)
{
    struct gang_node_info info = {.size = sizeof(info)};
    bool known = gang_node_get(s->cluster, job->restored->places[i].node, &info) == GANG_OK;
    gang__error(error, GANG_ENOFIT, NULL, "node %s: %s", known ? info.name : "that is gone", text);
    return gang__error_at(error, GANG_ENOFIT, "places[%zu]", i);
}

static size_t place_of(const struct gang__job *job, int64_t task)
{
    size_t i = 0;
    while (i + 1 < job->restored->place_count && job->restored->places[i].task != task)
        i++;
    return i;
}

/* Some node could not become a column. */
static gang_result name_column(const gang_sched *s, const struct gang__sliced *x,
                               struct gang_error *error)
{
    const struct gang__job *job = x->gang->job;
    size_t i = 0;
    while (i + 1 < job->restored->place_count &&
           gang__column_at(x->matrix, job->restored->places[i].node))
        i++;
    return name_place(s, job, i, "some of what is shared there in time is taken", error);
}

/* Gangs that run fit beside each other. */
static gang_result check_busy(const gang_sched *s, const struct gang__sliced *x,
                              struct gang_error *error)
{
    struct gang__matrix *m = x->matrix;
    size_t misfit;
    if (!gang__sliced_is_busy(x))
        return GANG_OK;
    gang__columns_reset(m, true);
    for (const struct gang__sliced *o = m->first; o; o = o->next)
        if (gang__sliced_is_busy(o))
            gang__columns_put(o, true);
    if (gang__columns_put_all(x, true, &misfit))
        return GANG_OK;
    return name_place(s, x->gang->job, place_of(x->gang->job, x->use[misfit].task),
                      "another gang of its queue runs there", error);
}

/* Its columns, with room beside what runs. On an error the allocation is gone. */
static gang_result take_columns(gang_sched *s, struct gang__sliced *x, struct gang_error *error)
{
    gang_result r = gang__uses_collect(s, x, NULL, 0);
    if (r == GANG_ENOFIT)
        (void)name_column(s, x, error);
    if (r == GANG_OK)
        r = check_busy(s, x, error);
    if (r == GANG_OK && gang__snapshot_retake(x->matrix->view, x->alloc) == GANG_OK)
        return r;
    x->matrix->restore_viewed_in = 0;
    if (r == GANG_OK)
        return r;
    while (x->uses > 0)
        gang__use_forget(s, x, --x->uses);
    gang__give_back_or_defer(s, NULL, x->alloc, NULL, 0);
    return r;
}

static gang_result take_place(gang_sched *s, struct gang__sliced *x, uint32_t row,
                              gang_request *request, struct gang_error *error)
{
    gang_result r = adopt_in_row(s, x, row, request, error);
    if (r == GANG_OK)
        r = take_columns(s, x, error);
    x->row = row;
    return r;
}

/* Rows that run sooner first; a new one is the last. */
static gang_result take_any_row(gang_sched *s, struct gang__sliced *x, gang_request *request,
                                struct gang_error *error)
{
    struct gang__matrix *m = x->matrix;
    gang_result r = GANG_ENOFIT;
    for (uint32_t d = 0; r == GANG_ENOFIT && d < m->rows; d++)
        r = take_place(s, x, (m->active + d) % m->rows, request, error);
    return r == GANG_ENOFIT ? take_place(s, x, m->rows, request, error) : r;
}

/* ---- the gang -------------------------------------------------------------------------------- */

static bool keep_still(gang_sched *s, struct gang__sliced *x)
{
    const struct gang__job *job = x->gang->job;
    const struct gang__kept_stop *stop = job->restored->slice_stop;
    const struct gang__found *still = stop ? &stop->task : NULL;
    x->deadline_ns = stop ? stop->deadline_ns : s->now_ns;
    x->next_ns = stop ? stop->next_ns : s->now_ns;
    x->killed = stop && stop->what == GANG_STOP_SLICE_KILLED;
    if (!still || x->state != GANG__SLICED_STOPS)
        return true;
    if (!gang__grow(&s->mem, (void **)&x->still, &x->still_cap, still->count + 1,
                    sizeof(*x->still)))
        return false;
    for (size_t i = 0; i < still->count; i++)
        x->still[x->left++] = still->task[i].task;
    return true;
}

static gang_result enter(gang_sched *s, struct gang__sliced *x, gang_request *request,
                         struct gang_error *error)
{
    struct gang__matrix *m = x->matrix;
    const struct gang_job_past *past = x->gang->job->restored->past;
    uint32_t row = (uint32_t)past->slice_row - 1;
    bool late = is_late(s, m), first = m->rows == 0;
    gang_result r = GANG_OK;
    if (first && m->columns.count == 0)
        set_matrix(s, m, past);
    if (!late && !first)
        r = check_matrix(m, past, error);
    if (r == GANG_OK)
        r = late ? take_any_row(s, x, request, error) : take_place(s, x, row, request, error);
    if (r != GANG_OK) {
        if (first)
            unset_matrix(m);
        return r;
    }
    m->rows = (uint32_t)gang__max(m->rows, gang__max(x->row, m->active) + 1);
    x->came = late ? 0 : past->slice_order;
    gang__sliced_enter(s, x);
    return GANG_OK;
}

gang_result gang__slice_restore(gang_sched *s, struct gang__gang *g, gang_request *request,
                                gang_alloc_id *id, struct gang_error *error)
{
    const struct gang_job_past *past = g->job->restored->past;
    if (g->job->leaf->q->slicer == GANG__NO_QUEUE)
        return gang__error(error, GANG_EINVAL, "past.slice_row",
                           "the queue shares no nodes in time");
    struct gang__matrix *m = gang__matrix_get(s, g->job->leaf);
    struct gang__sliced *x = m ? gang__zalloc(&s->mem, 1, sizeof(*x)) : NULL;
    if (!x)
        return GANG_ENOMEM;
    x->matrix = m;
    x->gang = g;
    x->state = (uint8_t)past->slice_state;
    x->refused = (past->slice_flags & GANG_SLICE_REFUSED) != 0;
    gang_result r = gang__hash_reserve(&s->slice.gangs, &s->mem);
    if (r == GANG_OK)
        r = keep_still(s, x) ? enter(s, x, request, error) : (gang_result)GANG_ENOMEM;
    if (r != GANG_OK) {
        gang__sliced_free(s, x);
        return r;
    }
    g->sliced = x;
    g->preempt.took = (past->slice_flags & GANG_SLICE_PROTECTED) != 0;
    *id = x->alloc;
    gang__wake_slices(s);
    return GANG_OK;
}
