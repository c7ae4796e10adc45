/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of jobs: made when a job arrives, freed when it has ended and is written. Before that a job
 * has a brief, after it a result for statistics. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/wide.h"
#include "sim/sim_in.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* Like gang__grow(), but with the exact size if that is much more than the present one: whole
 * traces arrive at once. */
static bool reserve(const struct gang_mem *mem, void **array, size_t *cap, size_t need,
                    size_t element)
{
    if (need / 2 < *cap || need < 1024)
        return gang__grow(mem, array, cap, need, element);
    if (need > SIZE_MAX / element)
        return false;
    void *bigger = gang__alloc(mem, need * element), *old = *array;
    if (!bigger)
        return false;
    if (old)
        memcpy(bigger, old, *cap * element);
    *array = bigger;
    *cap = need;
    gang__release(mem, old);
    return true;
}

static bool reserve_rows(gang_sim *sim, size_t rows)
{
    const struct gang_mem *mem = &sim->mem;
    bool streams = gang__sim_streams_jobs(sim);
    if (!reserve(mem, (void **)&sim->job, &sim->job_cap, rows, sizeof(*sim->job)) ||
        !reserve(mem, (void **)&sim->active, &sim->active_cap, rows, sizeof(*sim->active)) ||
        (streams &&
         !reserve(mem, (void **)&sim->ended, &sim->ended_cap, rows, sizeof(*sim->ended))))
        return false;
    sim->row_cap = sim->job_cap < sim->active_cap ? sim->job_cap : sim->active_cap;
    if (streams && sim->ended_cap < sim->row_cap)
        sim->row_cap = sim->ended_cap;
    return true;
}

bool gang__sim_reserve_jobs(gang_sim *sim, size_t more)
{
    const struct gang_mem *mem = &sim->mem;
    size_t all = sim->jobs + more;
    bool streams = gang__sim_streams_jobs(sim);
    if (streams &&
        !reserve(mem, (void **)&sim->result, &sim->result_cap, all, sizeof(*sim->result)))
        return false;
    return reserve_rows(sim,
                        streams ? sim->rows + 1 : sim->rows + more + sim->orders - sim->arrival) &&
           reserve(mem, (void **)&sim->brief, &sim->brief_cap, all, sizeof(*sim->brief)) &&
           reserve(mem, (void **)&sim->at_submit, &sim->submit_cap, all, sizeof(*sim->at_submit)) &&
           gang__grow(mem, (void **)&sim->source, &sim->source_cap, sim->sources + 1,
                      sizeof(*sim->source));
}

bool gang__sim_grow_rows(gang_sim *sim)
{
    return reserve_rows(sim, sim->rows + 1);
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct gang__sim_job gang__sim_blank(const gang_sim *sim, size_t index)
{
    const struct gang__sim_brief *b = &sim->brief[index];
    return (struct gang__sim_job){.index = (uint32_t)index,
                                  .queue = b->queue,
                                  .user = b->user,
                                  .submit_ns = b->submit_ns,
                                  .start_ns = GANG_TRACE_UNKNOWN,
                                  .end_ns = GANG_TRACE_UNKNOWN,
                                  .done_ns = GANG_TRACE_UNKNOWN,
                                  .state = GANG_JOB_PENDING};
}

struct gang__sim_job *gang__sim_row_new(gang_sim *sim, const struct gang__sim_job *from)
{
    uint32_t slot = sim->free_row;
    if (slot)
        sim->free_row = sim->job[slot - 1].index;
    else
        slot = (uint32_t)++sim->rows;
    sim->job[slot - 1] = *from;
    sim->brief[from->index].slot = slot;
    return &sim->job[slot - 1];
}

void gang__sim_row_free(gang_sim *sim, struct gang__sim_job *j, uint32_t slot)
{
    uint32_t was = (uint32_t)(j - sim->job) + 1;
    sim->brief[j->index].slot = slot;
    gang__release(&sim->mem, j->at.list);
    gang__release(&sim->mem, j->stages);
    j->at = (struct gang__sim_placements){NULL, 0, 0};
    j->stages = NULL;
    j->id = GANG_ID_NONE;
    j->index = sim->free_row;
    sim->free_row = was;
}

gang_result gang__sim_row_of(const gang_sim *sim, size_t index, struct gang__sim_job *j)
{
    uint32_t slot = sim->brief[index].slot;
    if (slot == GANG__SIM_ROW_FREED)
        return GANG_ESTALE;
    if (slot) {
        *j = sim->job[slot - 1];
        return GANG_OK;
    }
    struct gang_trace_job t = GANG_TRACE_JOB_INIT;
    size_t row;
    const struct gang__sim_source *s = gang__sim_source(sim, index, &row);
    *j = gang__sim_blank(sim, index);
    gang_result r = gang_trace_get(s->trace, row, &t);
    if (r == GANG_OK)
        gang__sim_row_fill(sim, j, &t);
    return r;
}

const char *gang__sim_name(const gang_sim *sim, size_t index, char number[24])
{
    size_t row;
    const struct gang__sim_source *s = gang__sim_source(sim, index, &row);
    struct gang_trace_job t = GANG_TRACE_JOB_INIT;
    if (!s->trace && s->name)
        return s->name;
    if (s->trace && gang_trace_get(s->trace, row, &t) == GANG_OK && t.name && *t.name)
        return t.name;
    snprintf(number, 24, "%zu", s->trace ? row : index);
    return number;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

struct gang__sim_result gang__sim_result_of(const struct gang__sim_job *j)
{
    struct gang__sim_result p = {.start_ns = j->start_ns,
                                 .end_ns = j->end_ns,
                                 .run_ns = j->run_ns,
                                 .wait_ns = j->wait_ns,
                                 .demand = gang__sim_demand(j),
                                 .users_at_submit = j->users_at_submit,
                                 .preemptions = j->preemptions,
                                 .failures = j->failures,
                                 .stage = j->stage,
                                 .end = j->end,
                                 .gpus = j->gpu_milli != 0};
    gang__sim_served(j, &p.used_s, &p.lost_s);
    return p;
}

bool gang__sim_result_find(const gang_sim *sim, size_t index, struct gang__sim_result *p)
{
    uint32_t slot = sim->brief[index].slot;
    if (slot == GANG__SIM_ROW_FREED)
        *p = sim->result[index];
    else if (slot)
        *p = gang__sim_result_of(&sim->job[slot - 1]);
    return slot != 0;
}
