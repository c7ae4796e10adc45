/* SPDX-License-Identifier: Apache-2.0 */
/* Writing: our own table and JSON. */
#include <gangsched/job.h>

#include <inttypes.h>
#include <stdio.h>

#include "trace/trace_in.h"

/* ---- output -------------------------------------------------------------------------------- */

static void flush(struct gang__trace_sink *sink)
{
    if (sink->used && !sink->refused && sink->write(sink->text, sink->used, sink->user) != 0)
        sink->refused = true;
    sink->used = 0;
}

void gang__sink_write(struct gang__trace_sink *sink, const char *text, size_t length)
{
    if (length > sizeof(sink->text) - sink->used)
        flush(sink);
    if (length > sizeof(sink->text)) { /* no name is so long */
        sink->refused = sink->refused || sink->write(text, length, sink->user) != 0;
        return;
    }
    memcpy(sink->text + sink->used, text, length);
    sink->used += length;
}

void gang__sink_text(struct gang__trace_sink *sink, const char *text)
{
    gang__sink_write(sink, text, strlen(text));
}

void gang__sink_number(struct gang__trace_sink *sink, int64_t value, int64_t scale)
{
    char text[64];
    gang__sink_write(sink, text, gang__decimal_write(text, value, scale));
}

void gang__sink_quoted(struct gang__trace_sink *sink, const char *text)
{
    gang__sink_text(sink, "\"");
    for (const char *s = text; *s; s++) { /* no control characters are kept */
        if (*s == '"' || *s == '\\')
            gang__sink_text(sink, "\\");
        gang__sink_write(sink, s, 1);
    }
    gang__sink_text(sink, "\"");
}

gang_result gang__trace_cannot(size_t index, const char *member, const char *why,
                               struct gang_error *error)
{
    char path[96];
    snprintf(path, sizeof(path), "jobs[%zu].%s", index, member);
    return gang__error(error, GANG_ENOTSUP, path, "%s", why);
}

gang_result gang__trace_is_flat(const gang_trace *t, size_t index, struct gang_error *error)
{
    const struct gang__trace_row *row = gang__trace_row(t, index);
    const struct gang__trace_mix *mix = gang__trace_mix(t, index);
    const struct gang__trace_group *g = mix->group;
    if (mix->count != 1)
        return gang__trace_cannot(index, "groups", "more than one", error);
    if (g->min != g->count)
        return gang__trace_cannot(index, "groups[0].min", "not all start together", error);
    if (g->cpu_milli != 1000)
        return gang__trace_cannot(index, "groups[0].cpu_milli", "not a core a task", error);
    if (g->gpu_milli)
        return gang__trace_cannot(index, "groups[0].gpu_milli", "the format has no GPUs", error);
    if (g->partition)
        return gang__trace_cannot(index, "groups[0].partition", "the format has none", error);
    if (row->priority)
        return gang__trace_cannot(index, "priority", "the format has none", error);
    if (row->preemptible != GANG_PREEMPTIBLE)
        return gang__trace_cannot(index, "preemptible", "the format cannot say so", error);
    return GANG_OK;
}

/* ---- our table ----------------------------------------------------------------------------- */

static void write_field(struct gang__trace_sink *sink, const char *text)
{
    if (!text)
        return;
    if (!strpbrk(text, ",\"")) {
        gang__sink_text(sink, text);
        return;
    }
    gang__sink_text(sink, "\"");
    for (const char *s = text; *s; s++) {
        if (*s == '"')
            gang__sink_text(sink, "\"");
        gang__sink_write(sink, s, 1);
    }
    gang__sink_text(sink, "\"");
}

/* A comma, and a number unless it is the one that an empty field means. */
static void write_number(struct gang__trace_sink *sink, int64_t value, int64_t scale, int64_t meant)
{
    gang__sink_text(sink, ",");
    if (value != meant)
        gang__sink_number(sink, value, scale);
}

static void write_job_fields(const gang_trace *t, const struct gang__trace_row *row,
                             struct gang__trace_sink *sink)
{
    static const char *const preemptible[] = {"false", "", GANG__TRACE_ABOVE_MIN};
    write_number(sink, row->submit_ns, GANG__SECOND, GANG_TRACE_UNKNOWN);
    write_number(sink, row->run_ns, GANG__SECOND, GANG_TRACE_UNKNOWN);
    gang__sink_text(sink, ",");
    write_field(sink, gang__trace_text(t, row->queue));
    gang__sink_text(sink, ",");
    write_field(sink, gang__trace_text(t, row->user));
    write_number(sink, row->limit_ns, GANG__SECOND, 0);
    write_number(sink, row->priority, 1, 0);
    gang__sink_text(sink, ",");
    gang__sink_text(sink, preemptible[row->preemptible]);
    write_number(sink, row->started_ns, GANG__SECOND, GANG_TRACE_UNKNOWN);
    gang__sink_text(sink, ",");
    gang__sink_text(sink, gang__trace_ends[row->end]);
}

static gang_result write_models(const gang_trace *t, const struct gang__trace_group *g,
                                struct gang__trace_sink *sink)
{
    char list[GANG__TRACE_MAX_MODELS * (GANG_MAX_NAME + 1) + 1];
    size_t used = 0;
    gang__sink_text(sink, ",");
    if (!g->models)
        return GANG_OK;
    const struct gang__trace_models *models = t->models[g->models - 1];
    for (uint32_t i = 0; i < models->count; i++) {
        if (strchr(models->name[i], '|'))
            return GANG_ENOTSUP;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? "|" : "",
                                 models->name[i]);
    }
    write_field(sink, list);
    return GANG_OK;
}

static gang_result write_group_fields(const gang_trace *t, const struct gang__trace_group *g,
                                      struct gang__trace_sink *sink)
{
    gang__sink_text(sink, ",");
    write_field(sink, gang__trace_text(t, g->name));
    write_number(sink, g->count, 1, -1);
    write_number(sink, g->min, 1, g->count);
    write_number(sink, g->cpu_milli, 1000, 0);
    write_number(sink, g->memory_bytes, INT64_C(1) << 20, 0);
    write_number(sink, g->gpu_milli, 1000, 0);
    write_number(sink, g->gpu_devices, 1, 0);
    return write_models(t, g, sink);
}

/* Only then has the table the column. */
static bool some_in_partition(const gang_trace *t)
{
    for (size_t i = 0; i < t->mix_names.count; i++)
        for (uint32_t g = 0; g < t->mixes[i]->count; g++)
            if (t->mixes[i]->group[g].partition)
                return true;
    return false;
}

static gang_result write_csv(gang_trace *t, struct gang__trace_sink *sink, struct gang_error *error)
{
    gang__sink_text(sink, "job,submit_s,run_s,queue,user,time_limit_s,priority,preemptible,start_s,"
                          "end,group,count,min,cpu,mem_mib,gpu,gpu_devices,gpu_models");
    bool partitions = some_in_partition(t);
    gang__sink_text(sink, partitions ? ",partition\n" : "\n");
    for (size_t i = 0; i < t->count && !sink->refused; i++) {
        const struct gang__trace_row *row = gang__trace_row(t, i);
        const struct gang__trace_mix *mix = gang__trace_mix(t, i);
        for (uint32_t g = 0; g < mix->count; g++) {
            write_field(sink, row->name);
            if (g == 0)
                write_job_fields(t, row, sink);
            else
                gang__sink_text(sink, ",,,,,,,,,");
            if (write_group_fields(t, &mix->group[g], sink) != GANG_OK)
                return gang__trace_cannot(i, "gpu_models", "a name has a '|'", error);
            if (partitions) {
                gang__sink_text(sink, ",");
                write_field(sink, gang__trace_text(t, mix->group[g].partition));
            }
            gang__sink_text(sink, "\n");
        }
    }
    return GANG_OK;
}

/* ---- our JSON ------------------------------------------------------------------------------ */

/* Does a number of JSON, a double, tell this time to the ns, as gang__json_scaled() reads it? */
static bool is_exact(int64_t ns)
{
    const int64_t fine = INT64_C(1) << 49;
    int64_t unit = 1;
    for (; unit < GANG__SECOND && (ns / unit > fine || ns / unit < -fine); unit *= 1000)
        ;
    return ns % unit == 0;
}

static bool all_exact(const gang_trace *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct gang__trace_row *row = gang__trace_row(t, i);
        bool is_told = row->started_ns != GANG_TRACE_UNKNOWN;
        if (!is_exact(row->submit_ns) || !is_exact(row->run_ns) || !is_exact(row->limit_ns) ||
            (is_told && !is_exact(row->started_ns)))
            return false;
    }
    return true;
}

static void write_key(struct gang__trace_sink *sink, const char *key)
{
    gang__sink_text(sink, ",\"");
    gang__sink_text(sink, key);
    gang__sink_text(sink, "\":");
}

static void write_time(struct gang__trace_sink *sink, const char *key, int64_t ns, bool in_seconds)
{
    gang__sink_text(sink, ",\"");
    gang__sink_text(sink, key);
    gang__sink_text(sink, in_seconds ? "_s\":" : "_ns\":");
    gang__sink_number(sink, ns, in_seconds ? GANG__SECOND : 1);
}

static void write_text(struct gang__trace_sink *sink, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    write_key(sink, key);
    gang__sink_quoted(sink, text);
}

static void write_amount(struct gang__trace_sink *sink, const char *key, int64_t value,
                         int64_t scale, int64_t meant)
{
    if (value == meant)
        return;
    write_key(sink, key);
    gang__sink_number(sink, value, scale);
}

/* Its members, the first without a comma before it. */
static void write_group(const gang_trace *t, const struct gang__trace_group *g,
                        const char *name_key, struct gang__trace_sink *sink)
{
    gang__sink_text(sink, "\"count\":");
    gang__sink_number(sink, g->count, 1);
    write_text(sink, name_key, gang__trace_text(t, g->name));
    write_text(sink, "partition", gang__trace_text(t, g->partition));
    write_amount(sink, "min", g->min, 1, g->count);
    write_amount(sink, "cpu", g->cpu_milli, 1000, 0);
    write_amount(sink, "mem_mib", g->memory_bytes, INT64_C(1) << 20, 0);
    write_amount(sink, "gpu", g->gpu_milli, 1000, 0);
    write_amount(sink, "gpu_devices", g->gpu_devices, 1, 0);
    if (!g->models)
        return;
    const struct gang__trace_models *models = t->models[g->models - 1];
    write_key(sink, "gpu_models");
    for (uint32_t i = 0; i < models->count; i++) {
        gang__sink_text(sink, i ? "," : "[");
        gang__sink_quoted(sink, models->name[i]);
    }
    gang__sink_text(sink, "]");
}

static void write_job(const gang_trace *t, const struct gang__trace_row *row,
                      struct gang__trace_sink *sink, bool in_seconds)
{
    gang__sink_text(sink, "{\"job\":");
    gang__sink_quoted(sink, row->name);
    write_time(sink, "submit", row->submit_ns, in_seconds);
    write_time(sink, "run", row->run_ns, in_seconds);
    write_text(sink, "queue", gang__trace_text(t, row->queue));
    write_text(sink, "user", gang__trace_text(t, row->user));
    if (row->limit_ns)
        write_time(sink, "time_limit", row->limit_ns, in_seconds);
    write_amount(sink, "priority", row->priority, 1, 0);
    if (row->preemptible == GANG_NOT_PREEMPTIBLE)
        gang__sink_text(sink, ",\"preemptible\":false");
    if (row->preemptible == GANG_SEMI_PREEMPTIBLE)
        gang__sink_text(sink, ",\"preemptible\":\"" GANG__TRACE_ABOVE_MIN "\"");
    if (row->started_ns != GANG_TRACE_UNKNOWN)
        write_time(sink, "start", row->started_ns, in_seconds);
    write_text(sink, "end", gang__trace_ends[row->end]);
}

static gang_result write_jsonl(gang_trace *t, struct gang__trace_sink *sink,
                               struct gang_error *error)
{
    (void)error;
    bool in_seconds = all_exact(t);
    for (size_t i = 0; i < t->count && !sink->refused; i++) {
        const struct gang__trace_mix *mix = gang__trace_mix(t, i);
        write_job(t, gang__trace_row(t, i), sink, in_seconds);
        gang__sink_text(sink, mix->count == 1 ? "," : ",\"tasks\":[{");
        for (uint32_t g = 0; g < mix->count; g++) {
            gang__sink_text(sink, g ? "},{" : "");
            write_group(t, &mix->group[g], mix->count == 1 ? "group" : "name", sink);
        }
        gang__sink_text(sink, mix->count == 1 ? "}\n" : "}]}\n");
    }
    return GANG_OK;
}

gang_result gang_trace_write(gang_trace *trace, int32_t format, gang_write_fn write, void *user,
                             struct gang_error *error)
{
    struct gang__trace_sink sink = {.write = write, .user = user};
    gang_result r;
    if (!trace || !write)
        return gang__error(error, GANG_EINVAL, NULL, "no trace, or nowhere to write it");
    switch (format) {
    case GANG_TRACE_CSV:
        r = write_csv(trace, &sink, error);
        break;
    case GANG_TRACE_JSONL:
        r = write_jsonl(trace, &sink, error);
        break;
    case GANG_TRACE_SWF:
        r = gang__trace_write_swf(trace, &sink, error);
        break;
    case GANG_TRACE_BATSIM:
        r = gang__trace_write_batsim(trace, &sink, error);
        break;
    default:
        return gang__error(error, gang_trace_format_name(format) ? GANG_ENOTSUP : GANG_EINVAL, NULL,
                           "traces are not written in this format");
    }
    if (r != GANG_OK)
        return r;
    flush(&sink);
    return sink.refused ? gang__error(error, GANG_EIO, NULL, "the output was refused") : GANG_OK;
}
