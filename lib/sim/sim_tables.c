/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as CSV (RFC 4180): jobs, allocations, the timeline; jobs as Batsim writes them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/simulation.h"

/* Text on its way: a line at a time would be slow for who receives it. */
struct out {
    gang_write_fn write;
    void *user;
    gang_result result;
    size_t used;
    char bytes[16384];
};

static void flush(struct out *o)
{
    if (o->result == GANG_OK && o->used && o->write(o->bytes, o->used, o->user) != 0)
        o->result = GANG_EIO;
    o->used = 0;
}

static void put(struct out *o, const char *text, size_t length)
{
    while (length) {
        size_t room = sizeof(o->bytes) - o->used, some = length < room ? length : room;
        memcpy(o->bytes + o->used, text, some);
        o->used += some;
        text += some;
        length -= some;
        if (o->used == sizeof(o->bytes))
            flush(o);
    }
}

__attribute__((format(printf, 2, 3))) static void say(struct out *o, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    put(o, line, length < (int)sizeof(line) ? (size_t)length : sizeof(line) - 1);
}

/* In quotes, if it needs them. */
static void put_text(struct out *o, const char *text)
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
static void put_seconds(struct out *o, int64_t ns)
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

static void put_job(struct out *o, const gang_sim *sim, size_t i, const struct gang_sim_job *j)
{
    char room[24];
    put_text(o, gang__sim_name(sim, &sim->job[i], room));
    put(o, ",", 1);
    put_text(o, j->queue);
    put(o, ",", 1);
    put_text(o, j->user);
    say(o, ",%s,%s,", state_name(j->state), end_name(j->end));
    const int64_t times[] = {j->submit_ns, j->start_ns,     j->end_ns, j->run_ns, j->limit_ns,
                             j->wait_ns,   j->suspended_ns, j->ran_ns, j->lost_ns};
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
        put_seconds(o, times[t]);
        put(o, ",", 1);
    }
    say(o, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n",
        j->tasks, j->cpu_milli, j->memory_bytes, j->gpu_milli, j->starts, j->preemptions,
        j->failures);
}

static void put_jobs(struct out *o, const gang_sim *sim)
{
    say(o, "job,queue,user,state,end,submit_s,start_s,end_s,run_s,limit_s,queue_s,suspended_s,ran_s,"
           "lost_s,tasks,cpu_milli,memory_bytes,gpu_milli,starts,preemptions,failures\n");
    for (size_t i = 0; i < sim->jobs && o->result == GANG_OK; i++) {
        struct gang_sim_job j = {.size = sizeof(j)};
        o->result = gang_sim_get_job(sim, i, &j);
        if (o->result == GANG_OK)
            put_job(o, sim, i, &j);
    }
}

/* ---- places and the timeline ----------------------------------------------------------------- */

static void put_allocations(struct out *o, const gang_sim *sim)
{
    say(o, "job,node,begin_s,end_s,tasks,cpu_milli,memory_bytes,gpu_milli,gpus\n");
    for (size_t i = 0; i < sim->allocations && o->result == GANG_OK; i++) {
        const struct gang_sim_allocation *a = &sim->allocation[i];
        struct gang_node_info info;
        char room[24];
        info.size = sizeof(info);
        put_text(o, gang__sim_name(sim, &sim->job[a->index], room));
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
        put(o, "\n", 1);
    }
}

static void put_timeline(struct out *o, const gang_sim *sim)
{
    say(o, "at_s,running,pending,cpu_milli,memory_bytes,gpu_milli,nodes_up\n");
    for (size_t i = 0; i < sim->samples && o->result == GANG_OK; i++) {
        const struct gang_sim_sample *s = &sim->sample[i];
        put_seconds(o, s->at_ns);
        say(o, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n",
            s->running, s->pending, s->cpu_milli, s->memory_bytes, s->gpu_milli, s->nodes_up);
    }
}

/* ---- Batsim ---------------------------------------------------------------------------------- */

/* Resources are GPUs, or cores where a job has none; which they are is not numbered through the cluster here. */
static void put_batsim_job(struct out *o, const gang_sim *sim, size_t i,
                           const struct gang_sim_job *j)
{
    char room[24];
    int64_t resources = (j->gpu_milli ? j->gpu_milli : j->cpu_milli) / 1000;
    bool over = j->state == GANG_JOB_ENDED && j->start_ns != GANG_TRACE_UNKNOWN;
    put_text(o, gang__sim_name(sim, &sim->job[i], room));
    say(o, ",w0,%" PRIu32 ",", sim->job[i].row);
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

static void put_batsim(struct out *o, const gang_sim *sim)
{
    say(o, "job_id,workload_name,profile,submission_time,requested_number_of_resources,"
           "requested_time,success,final_state,starting_time,execution_time,finish_time,"
           "waiting_time,turnaround_time,stretch,allocated_resources\n");
    for (size_t i = 0; i < sim->jobs && o->result == GANG_OK; i++) {
        struct gang_sim_job j = {.size = sizeof(j)};
        o->result = gang_sim_get_job(sim, i, &j);
        if (o->result == GANG_OK)
            put_batsim_job(o, sim, i, &j);
    }
}

gang_result gang_sim_write(const gang_sim *sim, int32_t table, gang_write_fn write, void *user)
{
    if (!sim || !write || table < GANG_SIM_JOBS_CSV || table > GANG_SIM_BATSIM_CSV)
        return GANG_EINVAL;
    struct out o;
    o.write = write;
    o.user = user;
    o.result = GANG_OK;
    o.used = 0;
    if (table == GANG_SIM_JOBS_CSV)
        put_jobs(&o, sim);
    else if (table == GANG_SIM_ALLOCATIONS_CSV)
        put_allocations(&o, sim);
    else if (table == GANG_SIM_TIMELINE_CSV)
        put_timeline(&o, sim);
    else
        put_batsim(&o, sim);
    flush(&o);
    return o.result;
}
