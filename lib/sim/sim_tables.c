/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as CSV (RFC 4180): jobs, allocations, the timeline; jobs as Batsim writes them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/sim_text_in.h"

static void flush(struct gang__sim_out *o)
{
    if (o->result == GANG_OK && o->used && o->write(o->bytes, o->used, o->user) != 0)
        o->result = GANG_EIO;
    o->used = 0;
}

/* More memory, by the allocator or by writing what is there. */
static bool reserve(struct gang__sim_out *o, size_t length)
{
    if (o->mem && o->result == GANG_OK &&
        !gang__grow(o->mem, (void **)&o->bytes, &o->cap, o->used + length, 1))
        o->result = GANG_ENOMEM;
    else if (!o->mem && o->used + length > o->cap)
        flush(o);
    return o->result == GANG_OK;
}

static void write_bytes(struct gang__sim_out *o, const char *text, size_t length)
{
    while (length && reserve(o, o->mem ? length : 1)) {
        size_t cap = o->cap - o->used, some = length < cap ? length : cap;
        memcpy(o->bytes + o->used, text, some);
        o->used += some;
        text += some;
        length -= some;
    }
}

__attribute__((format(printf, 2, 3))) static void write_format(struct gang__sim_out *o,
                                                               const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    write_bytes(o, line, length < (int)sizeof(line) ? (size_t)length : sizeof(line) - 1);
}

/* In quotes, if it needs them. */
static void write_text(struct gang__sim_out *o, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        write_bytes(o, text, strlen(text));
        return;
    }
    write_bytes(o, "\"", 1);
    for (; *text; text++)
        write_bytes(o, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    write_bytes(o, "\"", 1);
}

/* Seconds with as many digits as it takes; nothing for what is not known. */
static void write_seconds(struct gang__sim_out *o, int64_t ns)
{
    if (ns == GANG_TRACE_UNKNOWN)
        return;
    uint64_t all = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    uint64_t whole = all / 1000000000, gang = all % 1000000000;
    int digits = 9;
    for (; gang && gang % 10 == 0; gang /= 10)
        digits--;
    write_format(o, "%s%" PRIu64, ns < 0 ? "-" : "", whole);
    if (gang)
        write_format(o, ".%0*" PRIu64, digits, gang);
}

/* An amount that is not negative in units of `scale`, with up to `digits` decimals. */
static void write_amount(struct gang__sim_out *o, int64_t amount, int64_t scale, int digits)
{
    int64_t ten = 1;
    for (int i = 0; i < digits; i++)
        ten *= 10;
    int64_t whole = amount / scale, rest = (amount % scale * ten + scale / 2) / scale;
    for (; rest && rest % 10 == 0; rest /= 10)
        digits--;
    write_format(o, ",%" PRId64, whole);
    if (rest)
        write_format(o, ".%0*" PRId64, digits, rest);
}

/* Cores, MiB (seven decimals tell each byte) and GPUs, each after a comma. */
static void write_amounts(struct gang__sim_out *o, int64_t cpu_milli, int64_t memory_bytes,
                          int64_t gpu_milli)
{
    write_amount(o, cpu_milli, 1000, 3);
    write_amount(o, memory_bytes, INT64_C(1) << 20, 7);
    write_amount(o, gpu_milli, 1000, 3);
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
static void write_own_job(struct gang__sim_out *o, const gang_sim *sim,
                          const struct gang__sim_job *j)
{
    char number[24];
    write_text(o, gang__sim_name(sim, j->index, number));
    write_bytes(o, ",", 1);
    write_text(o, j->queue >= 0 ? sim->queues.list[j->queue]->text : "");
    write_bytes(o, ",", 1);
    write_text(o, j->user >= 0 ? sim->users.list[j->user]->text : "");
    write_format(o, ",%s,%s,", state_name(j->state), end_name(j->end));
    const int64_t times[] = {j->submit_ns, j->start_ns,     j->end_ns, j->run_ns,      j->limit_ns,
                             j->wait_ns,   j->suspended_ns, j->ran_ns, j->work.lost_ns};
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
        write_seconds(o, times[t]);
        write_bytes(o, ",", 1);
    }
    write_format(o, "%" PRId64, j->tasks);
    write_amounts(o, j->cpu_milli, j->memory_bytes, j->gpu_milli);
    write_format(o, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 "\n", j->starts, j->preemptions,
                 j->failures, j->index);
}

/* ---- places and the timeline ----------------------------------------------------------------- */

void gang__sim_write_allocation(struct gang__sim_out *o, const gang_sim *sim,
                                const struct gang_sim_allocation *a)
{
    struct gang_node_info info;
    char number[24];
    info.size = sizeof(info);
    write_text(o, gang__sim_name(sim, a->index, number));
    write_bytes(o, ",", 1);
    if (gang_node_get(sim->cluster, a->node, &info) == GANG_OK)
        write_text(o, info.name);
    write_bytes(o, ",", 1);
    write_seconds(o, a->begin_ns);
    write_bytes(o, ",", 1);
    write_seconds(o, a->end_ns);
    write_format(o, ",%" PRId64, a->tasks);
    write_amounts(o, a->cpu_milli, a->memory_bytes, a->gpu_milli);
    write_bytes(o, ",", 1);
    const char *between = "";
    for (int bit = 0; bit < 64; bit++)
        if (a->gpus >> bit & 1) {
            write_format(o, "%s%d", between, bit);
            between = " ";
        }
    write_format(o, ",%" PRId64 ",%zu\n", a->gang, a->index);
}

void gang__sim_write_sample(struct gang__sim_out *o, const struct gang_sim_sample *s)
{
    write_seconds(o, s->at_ns);
    write_format(o, ",%" PRId64 ",%" PRId64, s->running, s->pending);
    write_amounts(o, s->cpu_milli, s->memory_bytes, s->gpu_milli);
    write_format(o, ",%" PRId64 "\n", s->nodes_up);
}

/* ---- Batsim ---------------------------------------------------------------------------------- */

/* A resource is a GPU, or a core of a job without GPUs. The column of resource numbers stays
 * empty. */
static void write_batsim_job(struct gang__sim_out *o, const gang_sim *sim,
                             const struct gang__sim_job *j)
{
    size_t row;
    char number[24];
    int64_t resources = (j->gpu_milli ? j->gpu_milli : j->cpu_milli) / 1000;
    bool over = j->state == GANG_JOB_ENDED && j->start_ns != GANG_TRACE_UNKNOWN;
    write_text(o, gang__sim_name(sim, j->index, number));
    (void)gang__sim_source(sim, j->index, &row);
    write_format(o, ",w0,%zu,", row);
    write_seconds(o, j->submit_ns);
    write_format(o, ",%" PRId64 ",", resources);
    write_seconds(o, j->limit_ns ? j->limit_ns : -INT64_C(1000000000));
    write_format(o, ",%d,%s,", j->end == GANG_END_SUCCESS,
                 j->end == GANG_END_SUCCESS   ? "COMPLETED_SUCCESSFULLY"
                 : j->end == GANG_END_TIMEOUT ? "COMPLETED_WALLTIME_REACHED"
                 : j->end == GANG_END_REFUSED ? "REJECTED"
                 : j->end == GANG_END_NONE    ? "NOT_SUBMITTED"
                                              : "COMPLETED_FAILED");
    write_seconds(o, j->start_ns);
    write_bytes(o, ",", 1);
    write_seconds(o, over ? j->end_ns - j->start_ns : GANG_TRACE_UNKNOWN);
    write_bytes(o, ",", 1);
    write_seconds(o, j->end_ns);
    write_bytes(o, ",", 1);
    write_seconds(o, over ? j->start_ns - j->submit_ns : GANG_TRACE_UNKNOWN);
    write_bytes(o, ",", 1);
    write_seconds(o, over ? j->end_ns - j->submit_ns : GANG_TRACE_UNKNOWN);
    write_bytes(o, ",", 1);
    if (over && j->end_ns > j->start_ns)
        write_format(o, "%.6f",
                     (double)(j->end_ns - j->submit_ns) / (double)(j->end_ns - j->start_ns));
    write_bytes(o, ",\n", 2);
}

void gang__sim_write_job(struct gang__sim_out *o, const gang_sim *sim, int32_t table,
                         const struct gang__sim_job *j)
{
    if (table == GANG_SIM_JOBS_CSV)
        write_own_job(o, sim, j);
    else
        write_batsim_job(o, sim, j);
}

/* ---- tables ---------------------------------------------------------------------------------- */

void gang__sim_write_header(struct gang__sim_out *o, int32_t table)
{
    static const char *const header[] = {
        "job,queue,user,state,end,submit_s,start_s,end_s,run_s,time_limit_s,queue_s,suspended_s,"
        "ran_s,lost_s,tasks,cpus,mem_mib,gpus,starts,preemptions,failures,index\n",
        "job,node,begin_s,end_s,tasks,cpus,mem_mib,gpus,devices,gang,index\n",
        "at_s,running,pending,cpus,mem_mib,gpus,nodes_up\n",
        "job_id,workload_name,profile,submission_time,requested_number_of_resources,"
        "requested_time,success,final_state,starting_time,execution_time,finish_time,"
        "waiting_time,turnaround_time,stretch,allocated_resources\n"};
    write_format(o, "%s", header[table]);
}

static void write_jobs(struct gang__sim_out *o, const gang_sim *sim, int32_t table)
{
    for (size_t i = 0; i < sim->jobs && o->result == GANG_OK; i++) {
        struct gang__sim_job j;
        o->result = gang__sim_row_of(sim, i, &j);
        gang__sim_count_now(sim, &j);
        if (o->result == GANG_OK)
            gang__sim_write_job(o, sim, table, &j);
    }
}

/* Has some of it been written away? */
static bool is_gone(const gang_sim *sim, int32_t table)
{
    if (table == GANG_SIM_JOBS_CSV || table == GANG_SIM_BATSIM_CSV)
        return sim->stopped > 0;
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
    gang__sim_write_header(&o, table);
    if (table == GANG_SIM_ALLOCATIONS_CSV)
        for (size_t i = 0; i < sim->allocations && o.result == GANG_OK; i++)
            gang__sim_write_allocation(&o, sim, &sim->allocation[i]);
    else if (table == GANG_SIM_TIMELINE_CSV)
        for (size_t i = 0; i < sim->samples && o.result == GANG_OK; i++)
            gang__sim_write_sample(&o, &sim->sample[i]);
    else
        write_jobs(&o, sim, table);
    flush(&o);
    return o.result;
}
