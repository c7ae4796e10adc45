/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: which format it is, options, and what becomes of rows that are wrong. */
#include <string.h>

#include "trace/trace_table_in.h"

/* ---- which format -------------------------------------------------------------------------- */

/* Does `word` stand in the text? */
static bool holds(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = text, *end = text + length; (size_t)(end - s) >= n; s++) {
        s = memchr(s, word[0], (size_t)(end - s) - n + 1);
        if (!s)
            return false;
        if (memcmp(s, word, n) == 0)
            return true;
    }
    return false;
}

/* Numbers with spaces between, at the beginning of the line, up to one that is none. */
static size_t count_numbers(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length;) {
        size_t from = i;
        while (i < length && text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            i++;
        int64_t value;
        if (i > from && gang__decimal((struct gang__span){text + from, i - from}, 1, &value) ==
                            GANG__NUMBER_BAD)
            return count;
        count += i > from;
        while (i < length && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r'))
            i++;
    }
    return count;
}

/* A line of pai_task_table: ten fields, the fourth one of its states. */
static bool is_pai(const char *text, size_t length)
{
    static const char *const states[] = {"Terminated", "Failed", "Running", "Waiting"};
    size_t fields = 1;
    struct gang__span fourth = {text, 0};
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ',') {
            fourth.n += fields == 4;
            continue;
        }
        if (++fields == 4)
            fourth.s = text + i + 1;
    }
    for (size_t i = 0; fields == 10 && i < GANG__TRACE_COUNT(states); i++)
        if (gang__span_is(fourth, states[i]))
            return true;
    return false;
}

static int32_t detect_table(const char *text, size_t length)
{
    static const struct {
        int32_t format;
        size_t count;
        const char *column[5];
    } known[] = {/* those that say more before those that say less */
                 {GANG_TRACE_CSV, 3, {"job", "submit_s", "run_s"}},
                 {GANG_TRACE_CSV, 3, {"name", "submit_s", "run_s"}},
                 {GANG_TRACE_OPENB, 4, {"name", "cpu_milli", "memory_mib", "num_gpu"}},
                 {GANG_TRACE_HELIOS, 5, {"job_id", "gpu_num", "state", "submit_time", "duration"}},
                 {GANG_TRACE_PHILLY, 5, {"job_id", "vc", "gpu_num", "submit_time", "duration"}},
                 {GANG_TRACE_TIRESIAS, 4, {"job_id", "num_gpu", "submit_time", "duration"}},
                 {GANG_TRACE_PROCS, 4, {"job_id", "submit", "run", "procs"}},
                 {GANG_TRACE_PAI, 5, {"job_name", "task_name", "inst_num", "status", "plan_gpu"}}};
    for (size_t i = 0; i < GANG__TRACE_COUNT(known); i++)
        if (gang__table_is(text, length, known[i].column, known[i].count))
            return known[i].format;
    return GANG_TRACE_DETECT;
}

static int32_t detect_line(const char *text, size_t length)
{
    int32_t format = detect_table(text, length);
    if (format != GANG_TRACE_DETECT)
        return format;
    if (is_pai(text, length))
        return GANG_TRACE_PAI;
    return count_numbers(text, length) == 18 ? GANG_TRACE_SWF : GANG_TRACE_DETECT;
}

/* GANG_TRACE_* by the first lines; GANG_TRACE_DETECT: not known. */
static int32_t detect_format(const char *text, size_t length)
{
    while (length && (*text == '\n' || *text == '\r' || *text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    const char *stop = length ? memchr(text, '\n', length) : NULL;
    size_t line = stop ? (size_t)(stop - text) : length;
    if (length == 0)
        return GANG_TRACE_DETECT;
    if (*text == ';')
        return GANG_TRACE_SWF;
    if (*text == '[')
        return GANG_TRACE_PHILLY_LOG;
    if (*text != '{')
        return detect_line(text, line);
    if (holds(text, line, "\"submit_s\"") || holds(text, line, "\"submit_ns\""))
        return GANG_TRACE_JSONL;
    return holds(text, length, "\"profiles\"") ? GANG_TRACE_BATSIM : GANG_TRACE_DETECT;
}

/* ---- rows ---------------------------------------------------------------------------------- */

gang_result gang__trace_accept(struct gang__trace_reader *r, gang_result result, size_t rows)
{
    bool can_pass = result == GANG_EINVAL || result == GANG_ERANGE || result == GANG_ENOTSUP ||
                    result == GANG_EPARSE || result == GANG_ELIMIT;
    if (result == GANG_OK)
        return GANG_OK;
    if (result != GANG__TRACE_PASS && !(r->opts.lenient && can_pass))
        return result;
    if (r->trace->skipped == 0 || (r->line && r->line < r->trace->skipped_line))
        r->trace->skipped_line = r->line;
    r->trace->skipped += rows;
    return GANG_OK;
}

/* ---- all ----------------------------------------------------------------------------------- */

static gang_result check_opts(const struct gang_trace_opts *opts, struct gang_trace_opts *in,
                              struct gang_error *error)
{
    const struct gang_trace_opts defaults = GANG_TRACE_OPTS_INIT;
    *in = defaults;
    gang_result r =
        opts ? gang__struct_in(in, sizeof(*in), sizeof(*in), opts, opts->size) : GANG_OK;
    if (r != GANG_OK)
        return gang__error(error, r, "size", "not that of the options");
    if (in->format < GANG_TRACE_DETECT || in->format > GANG_TRACE_TIRESIAS)
        return gang__error(error, GANG_EINVAL, "format", "unknown");
    if (in->lenient != 0 && in->lenient != 1)
        return gang__error(error, GANG_EINVAL, "lenient", "neither 0 nor 1");
    if (in->max_jobs < 0)
        return gang__error(error, GANG_ERANGE, "max_jobs", "negative");
    if (in->gpus_per_task < 0 || in->gpus_per_task > GANG_MAX_GPUS)
        return gang__error(error, GANG_ERANGE, "gpus_per_task", "not 0 to %d", GANG_MAX_GPUS);
    if (in->batsim_flops < 0)
        return gang__error(error, GANG_ERANGE, "batsim_flops", "negative");
    in->gpus_per_task = in->gpus_per_task ? in->gpus_per_task : 8;
    in->batsim_flops = in->batsim_flops ? in->batsim_flops : INT64_C(1000000000);
    return GANG_OK;
}

static gang_result find_format(struct gang__trace_reader *r)
{
    if (r->length >= 2 && memcmp(r->text, "\x1f\x8b", 2) == 0)
        return gang__error(r->error, GANG_ENOTSUP, NULL, "compressed: it must be unpacked first");
    if (r->opts.format == GANG_TRACE_DETECT)
        r->opts.format = detect_format(r->text, r->length);
    if (r->opts.format == GANG_TRACE_DETECT)
        return gang__error(r->error, GANG_ENOTSUP, NULL,
                           "the first lines are those of no known format");
    return GANG_OK;
}

static gang_result read_format(struct gang__trace_reader *r)
{
    static gang_result (*const readers[])(struct gang__trace_reader *) = {
        [GANG_TRACE_CSV] = gang__trace_read_csv,
        [GANG_TRACE_JSONL] = gang__trace_read_jsonl,
        [GANG_TRACE_SWF] = gang__trace_read_swf,
        [GANG_TRACE_PROCS] = gang__trace_read_procs,
        [GANG_TRACE_PHILLY] = gang__trace_read_philly,
        [GANG_TRACE_PHILLY_LOG] = gang__trace_read_philly_log,
        [GANG_TRACE_HELIOS] = gang__trace_read_helios,
        [GANG_TRACE_PAI] = gang__trace_read_pai,
        [GANG_TRACE_OPENB] = gang__trace_read_openb,
        [GANG_TRACE_BATSIM] = gang__trace_read_batsim,
        [GANG_TRACE_TIRESIAS] = gang__trace_read_tiresias,
    };
    GANG__TRACE_TRY(find_format(r));
    r->trace->format = r->opts.format;
    return readers[r->opts.format](r);
}

/* Clears the error that a reader set for a row that was skipped. */
static gang_result hand_on(struct gang_error *to, gang_result r, const struct gang_error *from)
{
    gang__error(to, r, from->path, "%s", from->code == r ? from->text : gang_strerror(r));
    if (to && to->size >= offsetof(struct gang_error, path)) {
        to->line = from->line;
        to->column = from->column;
    }
    return r;
}

gang_result gang_trace_read(const char *text, size_t length, const struct gang_trace_opts *opts,
                            gang_trace **trace, struct gang_error *error)
{
    struct gang_error mine = GANG_ERROR_INIT;
    struct gang__trace_reader r = {.text = length ? text : "", .length = length, .error = &mine};
    if (!trace)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the trace");
    *trace = NULL;
    if (!text && length)
        return gang__error(error, GANG_EINVAL, NULL, "no text");
    GANG__TRACE_TRY(check_opts(opts, &r.opts, error));
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* byte order mark */
        r.text += 3;
        r.length -= 3;
    }
    gang_result result = gang_trace_new(r.opts.mem, &r.trace);
    if (result == GANG_OK)
        result = read_format(&r);
    if (result != GANG_OK) {
        gang_trace_free(r.trace);
        return hand_on(error, result, &mine);
    }
    *trace = r.trace;
    return GANG_OK;
}

gang_result gang_trace_read_file(const char *path, const struct gang_trace_opts *opts,
                                 gang_trace **trace, struct gang_error *error)
{
    struct gang_trace_opts in;
    struct gang_mem mem;
    char *text;
    size_t length;
    if (trace)
        *trace = NULL;
    if (!path || !trace)
        return gang__error(error, GANG_EINVAL, NULL, "no path, or no place for the trace");
    GANG__TRACE_TRY(check_opts(opts, &in, error));
    gang_result r = gang__mem_init(&mem, in.mem);
    if (r != GANG_OK)
        return gang__error(error, r, "mem", "not set up");
    GANG__TRACE_TRY(gang__read_file(path, SIZE_MAX / 4, &mem, &text, &length, error));
    r = gang_trace_read(text, length, opts, trace, error);
    gang__release(&mem, text);
    return r;
}
