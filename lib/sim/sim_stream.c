/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that are written as their rows are complete; the rows are freed then. A job that ends is
 * listed, and written at the end of the instant, when nothing is half done. A row that cannot be
 * written, because memory is short or the caller's function refused, stays and is written later. */
#include <string.h>

#include "base/error.h"
#include "sim/sim_in.h"
#include "sim/sim_text_in.h"

struct gang__sim_stream {
    struct gang__sim_out out;
};

bool gang__sim_streams_jobs(const gang_sim *sim)
{
    return sim->stream[GANG_SIM_JOBS_CSV] || sim->stream[GANG_SIM_BATSIM_CSV];
}

bool gang__sim_streams_allocations(const gang_sim *sim)
{
    return sim->stream[GANG_SIM_ALLOCATIONS_CSV] != NULL;
}

static struct gang__sim_out *out_of(const gang_sim *sim, int32_t table)
{
    return sim->stream[table] ? &sim->stream[table]->out : NULL;
}

/* Removes a row that did not fit whole. */
static gang_result end_row(struct gang__sim_out *o, size_t mark)
{
    gang_result r = o->result;
    if (r != GANG_OK)
        o->used = mark;
    o->result = GANG_OK;
    return r;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static gang_result write_job(const gang_sim *sim, int32_t table, const struct gang__sim_job *j)
{
    struct gang__sim_out *o = out_of(sim, table);
    if (!o)
        return GANG_OK;
    size_t mark = o->used;
    gang__sim_write_job(o, sim, table, j);
    return end_row(o, mark);
}

static gang_result write_allocation(const gang_sim *sim, const struct gang_sim_allocation *a)
{
    struct gang__sim_out *o = out_of(sim, GANG_SIM_ALLOCATIONS_CSV);
    size_t mark = o->used;
    gang__sim_write_allocation(o, sim, a);
    return end_row(o, mark);
}

static gang_result write_sample(const gang_sim *sim, const struct gang_sim_sample *s)
{
    struct gang__sim_out *o = out_of(sim, GANG_SIM_TIMELINE_CSV);
    size_t mark = o->used;
    gang__sim_write_sample(o, s);
    return end_row(o, mark);
}

/* In both tables, or in neither. */
static gang_result put_in_both(const gang_sim *sim, const struct gang__sim_job *j)
{
    struct gang__sim_out *o = out_of(sim, GANG_SIM_JOBS_CSV);
    size_t mark = o ? o->used : 0;
    gang_result r = write_job(sim, GANG_SIM_JOBS_CSV, j);
    if (r == GANG_OK)
        r = write_job(sim, GANG_SIM_BATSIM_CSV, j);
    if (r != GANG_OK && o)
        o->used = mark;
    return r;
}

/* ---- what is complete ------------------------------------------------------------------------ */

/* The first `done` of a list are not in it any more. */
static void take_off(void *list, size_t *count, size_t done, size_t element)
{
    *count -= done;
    if (done && *count)
        memmove(list, (char *)list + done * element, *count * element);
}

static gang_result allocations_out(gang_sim *sim)
{
    gang_result r = GANG_OK;
    size_t done = 0;
    for (; done < sim->closes && r == GANG_OK; done += r == GANG_OK)
        r = write_allocation(sim, &sim->closed[done]);
    take_off(sim->closed, &sim->closes, done, sizeof(*sim->closed));
    return r;
}

static gang_result jobs_out(gang_sim *sim)
{
    gang_result r = GANG_OK;
    size_t done = 0;
    for (; done < sim->ends && r == GANG_OK; done += r == GANG_OK) {
        struct gang__sim_job *j = gang__sim_at(sim, sim->ended[done]);
        r = put_in_both(sim, j);
        if (r != GANG_OK)
            break;
        sim->result[j->index] = gang__sim_result_of(j);
        sim->stopped++;
        gang__sim_row_free(sim, j, GANG__SIM_ROW_FREED);
    }
    take_off(sim->ended, &sim->ends, done, sizeof(*sim->ended));
    return r;
}

/* But for the last one, which still holds. */
static gang_result samples_out(gang_sim *sim)
{
    gang_result r = GANG_OK;
    size_t done = 0;
    if (!sim->stream[GANG_SIM_TIMELINE_CSV])
        return r;
    for (; done + 1 < sim->samples && r == GANG_OK; done += r == GANG_OK)
        r = write_sample(sim, &sim->sample[done]);
    sim->streamed_samples = sim->streamed_samples || done > 0;
    take_off(sim->sample, &sim->samples, done, sizeof(*sim->sample));
    return r;
}

static gang_result flush(const gang_sim *sim, size_t min)
{
    for (int32_t table = 0; table < GANG__SIM_TABLES; table++) {
        struct gang__sim_out *o = out_of(sim, table);
        if (!o || o->used == 0 || o->used < min)
            continue;
        if (o->write(o->bytes, o->used, o->user) != 0)
            return GANG_EIO;
        o->used = 0;
    }
    return GANG_OK;
}

gang_result gang__sim_stream_out(gang_sim *sim, bool all)
{
    enum { BLOCK = 32768 };
    gang_result r = GANG_OK;
    if (sim->touched) /* memory was short: they are settled in the next run */
        return r;
    r = allocations_out(sim);
    if (r == GANG_OK)
        r = jobs_out(sim);
    if (r == GANG_OK)
        r = samples_out(sim);
    return r == GANG_OK ? flush(sim, all ? 1 : BLOCK) : r;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void stream_free(gang_sim *sim, int32_t table)
{
    struct gang__sim_stream *s = sim->stream[table];
    sim->stream[table] = NULL;
    sim->streams = false;
    for (int32_t i = 0; i < GANG__SIM_TABLES; i++)
        sim->streams = sim->streams || sim->stream[i];
    if (s)
        gang__release(&sim->mem, s->out.bytes);
    gang__release(&sim->mem, s);
}

void gang__sim_streams_free(gang_sim *sim)
{
    for (int32_t table = 0; table < GANG__SIM_TABLES; table++)
        stream_free(sim, table);
}

/* Lists the jobs that have ended, in their order: they are written first. */
static bool list_ended(gang_sim *sim)
{
    if (!gang__grow(&sim->mem, (void **)&sim->result, &sim->result_cap, sim->jobs,
                    sizeof(*sim->result)) ||
        !gang__grow(&sim->mem, (void **)&sim->ended, &sim->ended_cap, sim->rows,
                    sizeof(*sim->ended)))
        return false;
    sim->ends = 0;
    sim->row_cap = sim->rows; /* the list may have no memory for more */
    for (size_t i = 0; i < sim->jobs; i++) {
        uint32_t slot = sim->brief[i].slot;
        if (slot && slot != GANG__SIM_ROW_FREED && sim->job[slot - 1].stage == GANG__SIM_OVER)
            sim->ended[sim->ends++] = (uint32_t)i; /* the list has memory for all rows */
    }
    return true;
}

/* Moves the allocations that have ended from the table of open ones to the list of those to
 * write. */
static bool list_closed(gang_sim *sim)
{
    size_t kept = 0;
    for (size_t i = 0; i < sim->allocations; i++)
        kept += sim->allocation[i].end_ns == GANG_TRACE_UNKNOWN;
    size_t ended = sim->allocations - kept;
    if (!gang__grow(&sim->mem, (void **)&sim->closed, &sim->closed_cap, ended,
                    sizeof(*sim->closed)))
        return false;
    for (size_t i = 0; i < sim->allocations; i++)
        if (sim->allocation[i].end_ns != GANG_TRACE_UNKNOWN)
            sim->closed[sim->closes++] = sim->allocation[i];
    sim->streamed_allocations = sim->streamed_allocations || ended > 0;
    gang__sim_drop_allocations(sim);
    return true;
}

static gang_result begin(gang_sim *sim, int32_t table, gang_write_fn write, void *user)
{
    struct gang__sim_stream *s = gang__zalloc(&sim->mem, 1, sizeof(*s));
    if (!s)
        return GANG_ENOMEM;
    s->out.write = write;
    s->out.user = user;
    s->out.mem = &sim->mem;
    gang__sim_write_header(&s->out, table);
    bool jobs = table == GANG_SIM_JOBS_CSV || table == GANG_SIM_BATSIM_CSV;
    bool ok = s->out.result == GANG_OK;
    if (ok && jobs)
        ok = list_ended(sim);
    if (ok && table == GANG_SIM_ALLOCATIONS_CSV)
        ok = list_closed(sim);
    if (!ok) {
        gang__release(&sim->mem, s->out.bytes);
        gang__release(&sim->mem, s);
        return GANG_ENOMEM;
    }
    sim->stream[table] = s;
    sim->streams = true;
    return GANG_OK;
}

/* Writes the rows that have not ended; they stay. */
static gang_result write_rest(gang_sim *sim, int32_t table)
{
    gang_result r = GANG_OK;
    if (table == GANG_SIM_ALLOCATIONS_CSV) {
        for (size_t i = 0; i < sim->allocations && r == GANG_OK; i++)
            if (sim->allocation[i].end_ns == GANG_TRACE_UNKNOWN)
                r = write_allocation(sim, &sim->allocation[i]);
    } else if (table == GANG_SIM_TIMELINE_CSV) {
        r = sim->samples ? write_sample(sim, &sim->sample[0]) : GANG_OK;
    } else {
        for (size_t i = 0; i < sim->jobs && r == GANG_OK; i++) {
            struct gang__sim_job j;
            if (sim->brief[i].slot == GANG__SIM_ROW_FREED)
                continue;
            r = gang__sim_row_of(sim, i, &j);
            if (r != GANG_OK)
                break;
            gang__sim_count_now(sim, &j);
            r = write_job(sim, table, &j);
        }
    }
    return r;
}

static gang_result end(gang_sim *sim, int32_t table)
{
    struct gang__sim_out *o = out_of(sim, table);
    gang_result r = gang__sim_stream_out(sim, true);
    if (r != GANG_OK)
        return r;
    r = write_rest(sim, table);
    if (r == GANG_OK && o->used && o->write(o->bytes, o->used, o->user) != 0)
        r = GANG_EIO;
    if (r != GANG_OK) {
        o->used = 0; /* the rest stays, and is written when it is ended again */
        return r;
    }
    stream_free(sim, table);
    return GANG_OK;
}

gang_result gang_sim_stream(gang_sim *sim, int32_t table, gang_write_fn write, void *user)
{
    if (!sim || table < GANG_SIM_JOBS_CSV || table >= GANG__SIM_TABLES)
        return GANG_EINVAL;
    if (sim->running)
        return GANG_EBUSY;
    if (!write && sim->stream[table]) {
        sim->running = true; /* `write` may look, and change nothing */
        gang_result r = end(sim, table);
        sim->running = false;
        return r;
    }
    if (!write)
        return GANG_OK;
    if (sim->stream[table])
        return GANG_EEXIST;
    if (sim->stopped && (table == GANG_SIM_JOBS_CSV || table == GANG_SIM_BATSIM_CSV))
        return GANG_ESTALE;
    return begin(sim, table, write, user);
}
