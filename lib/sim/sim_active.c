/* SPDX-License-Identifier: Apache-2.0 */
/* The list of jobs that wait or run, and the columns of it that policies see.
 *
 * With scores the list is in the order of the jobs, so that equal scores are in the order of age.
 * The columns of the last pass are kept: a job that waits for long does not change from pass to
 * pass, and its row is not computed again. Without scores the order does not matter: the last job
 * takes the position of one that leaves. */
#include <math.h>
#include <string.h>

#include "sim/sim_in.h"

enum { INDEX, SUBMIT, RUN, LIMIT, LEFT, SERVED, GPU, CPU, TASKS, QUEUE, RUNNING, USER, COLUMNS };

static int64_t *column(const gang_sim *sim, int which)
{
    return sim->view + (size_t)which * sim->view_cap;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* The first position in the list whose job is not before `index`. */
static size_t place_of(const gang_sim *sim, size_t index)
{
    size_t low = 0, high = sim->actives;
    if (high == 0 || sim->active[high - 1] < index)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sim->active[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t row_of(const gang_sim *sim, size_t index)
{
    size_t low = 0, high = sim->viewed;
    const int64_t *of = sim->view; /* INDEX */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of[middle] < (int64_t)index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Closes the gap by moving the rows behind it. After many gaps between two passes the rows behind
 * the gap are computed again instead. */
static void close_row(gang_sim *sim, size_t index)
{
    enum { FEW = 16 };
    size_t row = row_of(sim, index);
    if (row == sim->viewed || column(sim, INDEX)[row] != (int64_t)index)
        return;
    size_t behind = sim->viewed - row - 1;
    if (++sim->closed_rows > FEW) {
        sim->viewed = row;
        return;
    }
    for (int k = 0; k < COLUMNS; k++)
        memmove(column(sim, k) + row, column(sim, k) + row + 1, behind * sizeof(int64_t));
    double *sent = sim->score + sim->view_cap;
    memmove(sent + row, sent + row + 1, behind * sizeof(*sent));
    memmove(sim->unchanged + row, sim->unchanged + row + 1, behind * sizeof(*sim->unchanged));
    sim->viewed--;
}

void gang__sim_activate(gang_sim *sim, size_t index)
{
    size_t at = sim->actives; /* the list has memory for all rows */
    struct gang__sim_job *j = gang__sim_at(sim, index);
    if (gang__sim_has_scores(sim)) {
        at = place_of(sim, index);
        memmove(sim->active + at + 1, sim->active + at, (sim->actives - at) * sizeof(*sim->active));
        sim->viewed = row_of(sim, index); /* the rows behind it are computed again */
    }
    sim->actives++;
    sim->active[at] = (uint32_t)index;
    j->active = (uint32_t)at + 1;
    sim->users_at_work += sim->user_jobs[j->user]++ == 0;
    j->users_at_submit = sim->users_at_work;
}

void gang__sim_deactivate(gang_sim *sim, size_t index)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    if (!j->active)
        return;
    size_t at = j->active - 1;
    if (gang__sim_has_scores(sim)) {
        at = place_of(sim, index);
        memmove(sim->active + at, sim->active + at + 1,
                (--sim->actives - at) * sizeof(*sim->active));
        close_row(sim, index);
    } else {
        uint32_t last = sim->active[--sim->actives];
        sim->active[at] = last;
        gang__sim_at(sim, last)->active = (uint32_t)at + 1;
    }
    j->active = 0;
    sim->users_at_work -= --sim->user_jobs[j->user] == 0;
}

void gang__sim_view_changed(gang_sim *sim, size_t index)
{
    size_t row = sim->viewed ? row_of(sim, index) : 0;
    if (row < sim->viewed)
        sim->unchanged[row] = false;
}

/* ---- columns --------------------------------------------------------------------------------- */

static bool grow_view(gang_sim *sim)
{
    size_t n = sim->actives, cap = sim->view_cap;
    if (n <= cap)
        return true;
    cap = n + n / 2;
    int64_t *view = gang__zalloc(&sim->mem, cap * COLUMNS, sizeof(*view));
    double *score = gang__zalloc(&sim->mem, cap * 2, sizeof(*score));
    uint32_t *by = gang__zalloc(&sim->mem, cap * 2, sizeof(*by));
    bool *unchanged = gang__zalloc(&sim->mem, cap, sizeof(*unchanged));
    if (!view || !score || !by || !unchanged) {
        gang__release(&sim->mem, view);
        gang__release(&sim->mem, score);
        gang__release(&sim->mem, by);
        gang__release(&sim->mem, unchanged);
        return false;
    }
    gang__release(&sim->mem, sim->view);
    gang__release(&sim->mem, sim->score);
    gang__release(&sim->mem, sim->by_score);
    gang__release(&sim->mem, sim->unchanged);
    sim->view = view;
    sim->score = score;
    sim->by_score = by;
    sim->unchanged = unchanged;
    sim->view_cap = cap;
    sim->viewed = 0;
    return true;
}

/* The columns that do not change while the job is in its row. */
static void set_fixed(gang_sim *sim, size_t row, const struct gang__sim_job *j)
{
    column(sim, INDEX)[row] = j->index;
    column(sim, SUBMIT)[row] = j->submit_ns;
    column(sim, RUN)[row] = j->run_ns;
    column(sim, LIMIT)[row] = j->limit_ns;
    column(sim, GPU)[row] = j->gpu_milli;
    column(sim, CPU)[row] = j->cpu_milli;
    column(sim, TASKS)[row] = j->tasks;
    column(sim, QUEUE)[row] = j->queue;
    column(sim, USER)[row] = j->user;
    sim->score[sim->view_cap + row] = (double)NAN; /* no score of it was sent yet */
}

static void set_rest(gang_sim *sim, size_t row, const struct gang__sim_job *j)
{
    column(sim, LEFT)[row] = j->work.left_ns;
    column(sim, SERVED)[row] = j->ran_ns;
    column(sim, RUNNING)[row] = j->state == GANG_JOB_RUNNING;
    if (j->stages) {
        column(sim, GPU)[row] = gang__sim_stages_demand(j->stages, true);
        column(sim, CPU)[row] = gang__sim_stages_demand(j->stages, false);
    }
    sim->unchanged[row] = j->state == GANG_JOB_PENDING && !j->stages;
}

bool gang__sim_view_fill(gang_sim *sim, struct gang_sim_view *v)
{
    size_t n = 0;
    if (!grow_view(sim))
        return false;
    const int64_t *index = column(sim, INDEX);
    for (size_t i = 0; i < sim->actives; i++) {
        bool same = n < sim->viewed && index[n] == sim->active[i];
        if (same && sim->unchanged[n]) {
            n++;
            continue;
        }
        struct gang__sim_job *j = gang__sim_at(sim, sim->active[i]);
        if (j->done_ns != GANG_TRACE_UNKNOWN) { /* the scheduler is about to hear of it */
            close_row(sim, j->index);
            continue;
        }
        if (j->state != GANG_JOB_PENDING)
            gang__sim_progress(sim, j);
        if (!same)
            set_fixed(sim, n, j);
        set_rest(sim, n, j);
        n++;
    }
    sim->viewed = n;
    sim->closed_rows = 0;
    *v = (struct gang_sim_view){.size = sizeof(*v),
                                .count = n,
                                .now_ns = sim->now_ns,
                                .index = index,
                                .submit_ns = column(sim, SUBMIT),
                                .run_ns = column(sim, RUN),
                                .limit_ns = column(sim, LIMIT),
                                .left_ns = column(sim, LEFT),
                                .served_ns = column(sim, SERVED),
                                .gpu_milli = column(sim, GPU),
                                .cpu_milli = column(sim, CPU),
                                .tasks = column(sim, TASKS),
                                .queue = column(sim, QUEUE),
                                .running = column(sim, RUNNING),
                                .user = column(sim, USER)};
    return true;
}
