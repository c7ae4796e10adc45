/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: made, asked, ended. How they lie in memory: trace_in.h. */
#include <gangsched/trace.h>

#include <string.h>

#include "trace/trace_in.h"

bool gang__span_is(struct gang__span a, const char *text)
{
    return strlen(text) == a.n && (a.n == 0 || memcmp(a.s, text, a.n) == 0);
}

const char *gang_trace_format_name(int32_t format)
{
    static const char *const names[] = {NULL,    "csv",    "jsonl",      "swf",
                                        "procs", "philly", "philly-log", "helios",
                                        "pai",   "openb",  "batsim",     "tiresias"};
    return format > 0 && format < (int32_t)GANG__TRACE_COUNT(names) ? names[format] : NULL;
}

gang_result gang_trace_new(const struct gang_mem *mem, gang_trace **trace)
{
    struct gang_mem hook;
    if (!trace)
        return GANG_EINVAL;
    *trace = NULL;
    GANG__TRACE_TRY(gang__mem_init(&hook, mem));
    gang_trace *t = gang__zalloc(&hook, 1, sizeof(*t));
    if (!t)
        return GANG_ENOMEM;
    t->mem = hook;
    *trace = t;
    return GANG_OK;
}

void gang_trace_free(gang_trace *trace)
{
    if (!trace)
        return;
    struct gang_mem mem = trace->mem;
    for (struct gang__trace_chunk *chunk = trace->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        gang__release(&mem, chunk);
    }
    for (size_t i = 0; i < trace->rows_cap; i++)
        gang__release(&mem, trace->rows[i]);
    gang__release(&mem, trace->rows);
    gang__release(&mem, trace->slots);
    gang__hash_free(&trace->symbol_names, &mem);
    gang__release(&mem, trace->symbols);
    gang__hash_free(&trace->model_names, &mem);
    gang__release(&mem, trace->models);
    gang__hash_free(&trace->mix_names, &mem);
    gang__release(&mem, trace->mixes);
    gang__release(&mem, trace->scratch);
    gang__release(&mem, trace);
}

size_t gang_trace_count(const gang_trace *trace)
{
    return trace ? trace->count : 0;
}

int32_t gang_trace_format(const gang_trace *trace)
{
    return trace ? trace->format : GANG_TRACE_DETECT;
}

size_t gang_trace_skipped(const gang_trace *trace)
{
    return trace ? trace->skipped : 0;
}

int64_t gang_trace_skipped_line(const gang_trace *trace)
{
    return trace ? trace->skipped_line : 0;
}

/* ---- one job ---- */

static struct gang_group_spec group_out(const gang_trace *t, const struct gang__trace_group *g)
{
    struct gang_group_spec spec = GANG_GROUP_SPEC_INIT;
    spec.name = gang__trace_text(t, g->name);
    spec.count = g->count;
    spec.min = g->min;
    spec.cpu_milli = g->cpu_milli;
    spec.memory_bytes = g->memory_bytes;
    spec.gpu_milli = g->gpu_milli;
    spec.gpu_devices = g->gpu_devices;
    if (g->partition)
        spec.partition = gang__trace_text(t, g->partition);
    if (g->models) {
        spec.gpu_models = t->models[g->models - 1]->name;
        spec.gpu_model_count = t->models[g->models - 1]->count;
    }
    return spec;
}

gang_result gang_trace_get(gang_trace *trace, size_t index, struct gang_trace_job *job)
{
    struct gang_trace_job out = GANG_TRACE_JOB_INIT;
    if (!trace || !job)
        return GANG_EINVAL;
    if (index >= trace->count)
        return GANG_ENOENT;
    const struct gang__trace_row *row = gang__trace_row(trace, index);
    const struct gang__trace_mix *mix = gang__trace_mix(trace, index);
    struct gang_group_spec *groups = trace->scratch;
    out.name = row->name;
    out.queue = gang__trace_text(trace, row->queue);
    out.user = gang__trace_text(trace, row->user);
    out.submit_ns = row->submit_ns;
    out.run_ns = row->run_ns;
    out.limit_ns = row->limit_ns;
    out.priority = row->priority;
    out.preemptible = row->preemptible;
    out.end = row->end;
    out.started_ns = row->started_ns;
    out.groups = groups;
    out.group_count = mix->count;
    GANG__TRACE_TRY(gang__struct_out(job, job->size, sizeof(out), &out, sizeof(out)));
    for (uint32_t i = 0; i < mix->count; i++)
        groups[i] = group_out(trace, &mix->group[i]);
    return GANG_OK;
}

gang_result gang_trace_find(const gang_trace *trace, const char *name, size_t *index)
{
    if (!trace || !name || !index)
        return GANG_EINVAL;
    *index = 0;
    return gang__trace_name_find(trace, gang__span_of(name), index) ? GANG_OK : GANG_ENOENT;
}

/* ---- all jobs ---- */

static int64_t number_of(const gang_trace *t, int32_t column, size_t index)
{
    const struct gang__trace_row *row = gang__trace_row(t, index);
    const struct gang__trace_mix *mix = t->mixes[row->mix];
    switch (column) {
    case GANG_TRACE_SUBMIT_NS:
        return row->submit_ns;
    case GANG_TRACE_RUN_NS:
        return row->run_ns;
    case GANG_TRACE_LIMIT_NS:
        return row->limit_ns;
    case GANG_TRACE_PRIORITY:
        return row->priority;
    case GANG_TRACE_TASKS:
        return mix->tasks;
    case GANG_TRACE_CPU_MILLI:
        return mix->cpu_milli;
    case GANG_TRACE_MEMORY_BYTES:
        return mix->memory_bytes;
    case GANG_TRACE_GPU_MILLI:
        return mix->gpu_milli;
    default:
        return row->started_ns;
    }
}

gang_result gang_trace_column(const gang_trace *trace, int32_t column, size_t first, size_t count,
                              int64_t *value)
{
    if (!trace || (!value && count) || column < 0 || column > GANG_TRACE_STARTED_NS)
        return GANG_EINVAL;
    if (first > trace->count || count > trace->count - first)
        return GANG_ENOENT;
    for (size_t i = 0; i < count; i++)
        value[i] = number_of(trace, column, first + i);
    return GANG_OK;
}
