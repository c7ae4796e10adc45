/* SPDX-License-Identifier: Apache-2.0 */
/* Writing what other simulators of clusters of processors read: SWF, and workloads of Batsim. */
#include <gangsched/sched.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/trace_in.h"

/* ---- SWF ----------------------------------------------------------------------------------- */

/* A number >= 0 as one writes it. */
static bool is_plain_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 19 && text[digits] == '\0' && (digits == 1 || text[0] != '0');
}

/* A member that is not whole seconds >= 0, or not a number; NULL: none. */
static const char *not_plain(const gang_trace *t, const struct gang__trace_row *row)
{
    bool waited = row->started_ns != GANG_TRACE_UNKNOWN;
    if (row->submit_ns < 0 || row->submit_ns % GANG__SECOND)
        return "submit_ns";
    if (row->run_ns % GANG__SECOND)
        return "run_ns";
    if (row->limit_ns % GANG__SECOND)
        return "limit_ns";
    if (waited && (row->started_ns < row->submit_ns || row->started_ns % GANG__SECOND))
        return "started_ns";
    if (!is_plain_number(row->name))
        return "name";
    if (row->queue && !is_plain_number(gang__trace_text(t, row->queue)))
        return "queue";
    return row->user && !is_plain_number(gang__trace_text(t, row->user)) ? "user" : NULL;
}

/* Its status; -2: there is none for it. */
static int swf_status(int32_t end)
{
    switch (end) {
    case GANG_END_NONE:
        return -1;
    case GANG_END_SUCCESS:
        return 1;
    case GANG_END_FAILED:
        return 0;
    case GANG_END_CANCELLED:
        return 5;
    default:
        return -2;
    }
}

static gang_result check_swf(const gang_trace *t, size_t index, struct gang_error *error)
{
    const struct gang__trace_row *row = gang__trace_row(t, index);
    const struct gang__trace_group *g = gang__trace_mix(t, index)->group;
    GANG__TRACE_TRY(gang__trace_is_flat(t, index, error));
    if (g->memory_bytes % 1024)
        return gang__trace_cannot(index, "groups[0].memory_bytes", "not whole KiB", error);
    if (swf_status(row->end) < -1)
        return gang__trace_cannot(index, "end", "the format has no such status", error);
    const char *member = not_plain(t, row);
    return member
               ? gang__trace_cannot(index, member, "not a whole number >= 0 (seconds, ids)", error)
               : GANG_OK;
}

static const char *or_none(const char *number)
{
    return number ? number : "-1";
}

static void write_swf(const gang_trace *t, size_t index, struct gang__trace_sink *sink)
{
    char line[256 + 3 * GANG_MAX_NAME];
    const struct gang__trace_row *row = gang__trace_row(t, index);
    const struct gang__trace_group *g = gang__trace_mix(t, index)->group;
    bool waited = row->started_ns != GANG_TRACE_UNKNOWN;
    int n = snprintf(
        line, sizeof(line),
        "%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " -1 -1 %" PRId64 " %" PRId64 " %" PRId64
        " %d %s -1 -1 %s -1 -1 -1\n",
        row->name, row->submit_ns / GANG__SECOND,
        waited ? (row->started_ns - row->submit_ns) / GANG__SECOND : -1, row->run_ns / GANG__SECOND,
        g->count, g->count, row->limit_ns ? row->limit_ns / GANG__SECOND : -1,
        g->memory_bytes ? g->memory_bytes / 1024 : -1, swf_status(row->end),
        or_none(gang__trace_text(t, row->user)), or_none(gang__trace_text(t, row->queue)));
    gang__sink_write(sink, line, (size_t)n);
}

gang_result gang__trace_write_swf(gang_trace *t, struct gang__trace_sink *sink,
                                  struct gang_error *error)
{
    char head[128];
    for (size_t i = 0; i < t->count; i++)
        GANG__TRACE_TRY(check_swf(t, i, error));
    snprintf(head, sizeof(head), "; Version: 2.2\n; MaxJobs: %zu\n; MaxRecords: %zu\n", t->count,
             t->count);
    gang__sink_text(sink, head);
    for (size_t i = 0; i < t->count && !sink->refused; i++)
        write_swf(t, i, sink);
    return GANG_OK;
}

/* ---- Batsim -------------------------------------------------------------------------------- */

/* Written row by row, not as a tree of base/json: a workload may have millions of jobs, and their
 * times are exact decimals, which a tree holds as doubles. */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The profile of a run time is called after it. */
static void write_profile_name(struct gang__trace_sink *sink, int64_t run_ns)
{
    gang__sink_text(sink, "\"delay_");
    gang__sink_number(sink, run_ns, GANG__SECOND);
    gang__sink_text(sink, "\"");
}

static void write_profiles(struct gang__trace_sink *sink, const int64_t *run_ns, size_t count)
{
    const char *before = "\n";
    for (size_t i = 0; i < count && !sink->refused; i++) {
        if (i && run_ns[i] == run_ns[i - 1])
            continue;
        gang__sink_text(sink, before);
        write_profile_name(sink, run_ns[i]);
        gang__sink_text(sink, ":{\"type\":\"delay\",\"delay\":");
        gang__sink_number(sink, run_ns[i], GANG__SECOND);
        gang__sink_text(sink, "}");
        before = ",\n";
    }
}

static void write_batsim_word(struct gang__trace_sink *sink, const char *key, const char *text)
{
    if (!text)
        return;
    gang__sink_text(sink, key);
    gang__sink_quoted(sink, text);
}

static void write_batsim_job(const gang_trace *t, size_t index, struct gang__trace_sink *sink)
{
    const struct gang__trace_row *row = gang__trace_row(t, index);
    gang__sink_text(sink, index ? ",\n{\"id\":" : "\n{\"id\":");
    gang__sink_quoted(sink, row->name);
    gang__sink_text(sink, ",\"subtime\":");
    gang__sink_number(sink, row->submit_ns, GANG__SECOND);
    if (row->limit_ns) {
        gang__sink_text(sink, ",\"walltime\":");
        gang__sink_number(sink, row->limit_ns, GANG__SECOND);
    }
    gang__sink_text(sink, ",\"res\":");
    gang__sink_number(sink, gang__trace_mix(t, index)->tasks, 1);
    write_batsim_word(sink, ",\"queue\":", gang__trace_text(t, row->queue));
    write_batsim_word(sink, ",\"user\":", gang__trace_text(t, row->user));
    gang__sink_text(sink, ",\"profile\":");
    write_profile_name(sink, row->run_ns);
    gang__sink_text(sink, "}");
}

static gang_result check_batsim(const gang_trace *t, struct gang_error *error)
{
    for (size_t i = 0; i < t->count; i++) {
        GANG__TRACE_TRY(gang__trace_is_flat(t, i, error));
        if (gang__trace_mix(t, i)->memory_bytes)
            return gang__trace_cannot(i, "groups[0].memory_bytes", "the format has none", error);
    }
    return GANG_OK;
}

gang_result gang__trace_write_batsim(gang_trace *t, struct gang__trace_sink *sink,
                                     struct gang_error *error)
{
    int64_t max = 1;
    GANG__TRACE_TRY(check_batsim(t, error));
    int64_t *run_ns = gang__zalloc(&t->mem, t->count, sizeof(*run_ns));
    if (!run_ns)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    for (size_t i = 0; i < t->count; i++) {
        int64_t tasks = gang__trace_mix(t, i)->tasks;
        run_ns[i] = gang__trace_row(t, i)->run_ns;
        max = tasks > max ? tasks : max;
    }
    qsort(run_ns, t->count, sizeof(*run_ns), compare);
    gang__sink_text(sink, "{\"nb_res\":");
    gang__sink_number(sink, max, 1);
    gang__sink_text(sink, ",\n\"jobs\":[");
    for (size_t i = 0; i < t->count && !sink->refused; i++)
        write_batsim_job(t, i, sink);
    gang__sink_text(sink, "],\n\"profiles\":{");
    write_profiles(sink, run_ns, t->count);
    gang__sink_text(sink, "}}\n");
    gang__release(&t->mem, run_ns);
    return GANG_OK;
}
