/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as CSV (RFC 4180): jobs, allocations, the timeline; jobs as Batsim writes them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/sim_text.h"

static void flush(struct gang__sim_out *o)
{
    if (o->result == GANG_OK && o->used && o->write(o->bytes, o->used, o->user) != 0)
        o->result = GANG_EIO;
    o->used = 0;
}

/* Room for more, by the allocator or by writing what is there. */
static bool make_room(struct gang__sim_out *o, size_t length)
{
    if (o->mem && o->result == GANG_OK &&
        !gang__grow(o->mem, (void **)&o->bytes, &o->room, o->used + length, 1))
        o->result = GANG_ENOMEM;
    else if (!o->mem && o->used + length > o->room)
        flush(o);
    return o->result == GANG_OK;
}

static void put(struct gang__sim_out *o, const char *text, size_t length)
{
    while (length && make_room(o, o->mem ? length : 1)) {
        size_t room = o->room - o->used, some = length < room ? length : room;
        memcpy(o->bytes + o->used, text, some);
        o->used += some;
        text += some;
        length -= some;
    }
}

__attribute__((format(printf, 2, 3))) static void say(struct gang__sim_out *o, const char *format,
                                                      ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    put(o, line, length < (int)sizeof(line) ? (size_t)length : sizeof(line) - 1);
}

/* In quotes, if it needs them. */
static void put_text(struct gang__sim_out *o, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        put(o, text, strlen(text));
        return;
    }
    put(o, "\"", 1);
    for (; *text; text++)
        put(o, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    put(o, "\"", 1);
}

/* Seconds with as many digits as it takes; nothing for what is not known. */
static void put_seconds(struct gang__sim_out *o, int64_t ns)
{
    if (ns == GANG_TRACE_UNKNOWN)
        return;
    uint64_t all = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    uint64_t whole = all / 1000000000, part = all % 1000000000;
    int digits = 9;
    for (; part && part % 10 == 0; part /= 10)
        digits--;
    say(o, "%s%" PRIu64, ns < 0 ? "-" : "", whole);
    if (part)
        say(o, ".%0*" PRIu64, digits, part);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static const char *end_name(int32_t end)
{
    static const char *const name[] = {"",        "success",   "failed",  "cancelled", "preempted",
                                       "timeout", "unstarted", "refused", "deadline"};
    return end >= 0 && end <= GANG_END_DEADLINE ? name[end] : "";
}

static const char *state_name(int32_t state)
{
    static const char *const name[] = {"pending", "running", "stopping", "suspended", "ended"};
    return state >= 0 && state <= GANG_JOB_ENDED ? name[state] : "";
}

/* Its row as the caller would see it. */
static void put_own_job(struct gang__sim_out *o, const gang_sim *sim, const struct gang__sim_job *j)
{
    char room[24];
    put_text(o, gang__sim_name(sim, j->index, room));
    put(o, ",", 1);
    put_text(o, j->queue >= 0 ? sim->queues.list[j->queue]->text : "");
    put(o, ",", 1);
    put_text(o, j->user >= 0 ? sim->users.list[j->user]->text : "");
    say(o, ",%s,%s,", state_name(j->state), end_name(j->end));
    const int64_t times[] = {j->submit_ns, j->start_ns,     j->end_ns, j->run_ns,      j->limit_ns,
                             j->wait_ns,   j->suspended_ns, j->ran_ns, j->work.lost_ns};
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
        put_seconds(o, times[t]);
        put(o, ",", 1);
    }
    say(o,
        "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32
        ",%" PRIu32 "\n",
        j->tasks, j->cpu_milli, j->memory_bytes, j->gpu_milli, j->starts, j->preemptions,
        j->failures, j->index);
}

/* ---- places and the timeline ----------------------------------------------------------------- */

void gang__sim_put_allocation(struct gang__sim_out *o, const gang_sim *sim,
                              const struct gang_sim_allocation *a)
{
    struct gang_node_info info;
    char room[24];
    info.size = sizeof(info);
    put_text(o, gang__sim_name(sim, a->index, room));
    put(o, ",", 1);
    if (gang_node_get(sim->cluster, a->node, &info) == GANG_OK)
        put_text(o, info.name);
    put(o, ",", 1);
    put_seconds(o, a->begin_ns);
    put(o, ",", 1);
    put_seconds(o, a->end_ns);
    say(o, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", a->tasks, a->cpu_milli,
        a->memory_bytes, a->gpu_milli);
    const char *between = "";
    for (int bit = 0; bit < 64; bit++)
        if (a->gpus >> bit & 1) {
            say(o, "%s%d", between, bit);
            between = " ";
        }
    say(o, ",%" PRId64 ",%zu\n", a->gang, a->index);
}

void gang__sim_put_sample(struct gang__sim_out *o, const struct gang_sim_sample *s)
{
    put_seconds(o, s->at_ns);
    say(o, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", s->running,
        s->pending, s->cpu_milli, s->memory_bytes, s->gpu_milli, s->nodes_up);
}

/* ---- Batsim ---------------------------------------------------------------------------------- */

/* Resources are GPUs, or cores where a job has none; which they are is not numbered through the cluster here. */
static void put_batsim_job(struct gang__sim_out *o, const gang_sim *sim,
                           const struct gang__sim_job *j)
{
    size_t row;
    char room[24];
    int64_t resources = (j->gpu_milli ? j->gpu_milli : j->cpu_milli) / 1000;
    bool over = j->state == GANG_JOB_ENDED && j->start_ns != GANG_TRACE_UNKNOWN;
    put_text(o, gang__sim_name(sim, j->index, room));
    (void)gang__sim_source(sim, j->index, &row);
    say(o, ",w0,%zu,", row);
    put_seconds(o, j->submit_ns);
    say(o, ",%" PRId64 ",", resources);
    put_seconds(o, j->limit_ns ? j->limit_ns : -INT64_C(1000000000));
    say(o, ",%d,%s,", j->end == GANG_END_SUCCESS,
        j->end == GANG_END_SUCCESS   ? "COMPLETED_SUCCESSFULLY"
        : j->end == GANG_END_TIMEOUT ? "COMPLETED_WALLTIME_REACHED"
        : j->end == GANG_END_REFUSED ? "REJECTED"
        : j->end == GANG_END_NONE    ? "NOT_SUBMITTED"
                                     : "COMPLETED_FAILED");
    put_seconds(o, j->start_ns);
    put(o, ",", 1);
    put_seconds(o, over ? j->end_ns - j->start_ns : GANG_TRACE_UNKNOWN);
    put(o, ",", 1);
    put_seconds(o, j->end_ns);
    put(o, ",", 1);
    put_seconds(o, over ? j->start_ns - j->submit_ns : GANG_TRACE_UNKNOWN);
    put(o, ",", 1);
    put_seconds(o, over ? j->end_ns - j->submit_ns : GANG_TRACE_UNKNOWN);
    put(o, ",", 1);
    if (over && j->end_ns > j->start_ns)
        say(o, "%.6f", (double)(j->end_ns - j->submit_ns) / (double)(j->end_ns - j->start_ns));
    put(o, ",\n", 2);
}

void gang__sim_put_job(struct gang__sim_out *o, const gang_sim *sim, int32_t table,
                       const struct gang__sim_job *j)
{
    if (table == GANG_SIM_JOBS_CSV)
        put_own_job(o, sim, j);
    else
        put_batsim_job(o, sim, j);
}

/* ---- tables ---------------------------------------------------------------------------------- */

void gang__sim_put_header(struct gang__sim_out *o, int32_t table)
{
    static const char *const header[] = {
        "job,queue,user,state,end,submit_s,start_s,end_s,run_s,limit_s,queue_s,suspended_s,ran_s,"
        "lost_s,tasks,cpu_milli,memory_bytes,gpu_milli,starts,preemptions,failures,index\n",
        "job,node,begin_s,end_s,tasks,cpu_milli,memory_bytes,gpu_milli,gpus,gang,index\n",
        "at_s,running,pending,cpu_milli,memory_bytes,gpu_milli,nodes_up\n",
        "job_id,workload_name,profile,submission_time,requested_number_of_resources,"
        "requested_time,success,final_state,starting_time,execution_time,finish_time,"
        "waiting_time,turnaround_time,stretch,allocated_resources\n"};
    say(o, "%s", header[table]);
}

static void put_jobs(struct gang__sim_out *o, const gang_sim *sim, int32_t table)
{
    for (size_t i = 0; i < sim->jobs && o->result == GANG_OK; i++) {
        struct gang__sim_job j;
        o->result = gang__sim_row_of(sim, i, &j);
        gang__sim_count_now(sim, &j);
        if (o->result == GANG_OK)
            gang__sim_put_job(o, sim, table, &j);
    }
}

/* Has some of it been written away? */
static bool is_gone(const gang_sim *sim, int32_t table)
{
    if (table == GANG_SIM_JOBS_CSV || table == GANG_SIM_BATSIM_CSV)
        return sim->gone > 0;
    return table == GANG_SIM_ALLOCATIONS_CSV ? sim->streamed_allocations : sim->streamed_samples;
}

gang_result gang_sim_write(const gang_sim *sim, int32_t table, gang_write_fn write, void *user)
{
    char bytes[16384];
    if (!sim || !write || table < GANG_SIM_JOBS_CSV || table > GANG_SIM_BATSIM_CSV)
        return GANG_EINVAL;
    if (is_gone(sim, table))
        return GANG_ESTALE;
    struct gang__sim_out o = {write, user, NULL, GANG_OK, 0, sizeof(bytes), bytes};
    gang__sim_put_header(&o, table);
    if (table == GANG_SIM_ALLOCATIONS_CSV)
        for (size_t i = 0; i < sim->allocations && o.result == GANG_OK; i++)
            gang__sim_put_allocation(&o, sim, &sim->allocation[i]);
    else if (table == GANG_SIM_TIMELINE_CSV)
        for (size_t i = 0; i < sim->samples && o.result == GANG_OK; i++)
            gang__sim_put_sample(&o, &sim->sample[i]);
    else
        put_jobs(&o, sim, table);
    flush(&o);
    return o.result;
}
