/* SPDX-License-Identifier: Apache-2.0 */
/* The job log of Philly as Microsoft publishes it (cluster_job_log of philly-traces): an array of
 * jobs, each with the attempts to run it. It is parsed a job at a time, for as a whole it would be
 * a large tree. */
#include <gangsched/sched.h>

#include "trace/trace_json_in.h"

/* ---- one job ------------------------------------------------------------------------------- */

/* A date as text; null, "None" and no such member: GANG_TRACE_UNKNOWN. */
static gang_result date_of(const struct gang__json *object, const char *key, int64_t *ns)
{
    struct gang__json at;
    const char *text;
    *ns = GANG_TRACE_UNKNOWN;
    if (!gang__json_get_or_null(object, key, &at))
        return GANG_OK;
    GANG__TRACE_TRY(gang__json_text(&at, 0, 64, &text));
    if (strcmp(text, "None") == 0 || *text == '\0')
        return GANG_OK;
    if (gang__date(gang__span_of(text), ns) != GANG__NUMBER_OK)
        return gang__json_fail(&at, GANG_EINVAL, "not a date like 2017-10-07 01:12:09");
    return GANG_OK;
}

static gang_result count_gpus(const struct gang__json *attempt, int64_t *gpus)
{
    struct gang__json detail, list;
    size_t machines = 0, count;
    *gpus = 0;
    if (!gang__json_get_or_null(attempt, "detail", &detail))
        return GANG_OK;
    GANG__TRACE_TRY(gang__json_array(&detail, GANG__TRACE_MAX_TASKS, &machines));
    for (size_t i = 0; i < machines; i++) {
        struct gang__json machine = gang__json_element(&detail, i);
        GANG__TRACE_TRY(gang__json_map(&machine, 64));
        GANG__TRACE_TRY(gang__json_need(&machine, "gpus", &list));
        GANG__TRACE_TRY(gang__json_array(&list, GANG__TRACE_MAX_TASKS, &count));
        *gpus += (int64_t)count;
    }
    if (*gpus > GANG__TRACE_MAX_TASKS)
        return gang__json_fail(&detail, GANG_ERANGE, "more than 16,777,216 GPUs");
    return GANG_OK;
}

/* Add up what was run. One that did not end is over with the log: its run time is unknown. */
static gang_result read_attempt(const struct gang__json *attempt, struct gang__trace_draft *d,
                                int64_t *gpus, bool *has_ended)
{
    int64_t from, to, more;
    struct gang__json end = {NULL, attempt, "end_time", 0, attempt->error};
    GANG__TRACE_TRY(gang__json_map(attempt, 64));
    GANG__TRACE_TRY(date_of(attempt, "start_time", &from));
    GANG__TRACE_TRY(date_of(attempt, "end_time", &to));
    GANG__TRACE_TRY(count_gpus(attempt, &more));
    *gpus = more ? more : *gpus;
    *has_ended = to != GANG_TRACE_UNKNOWN;
    if (from == GANG_TRACE_UNKNOWN || to == GANG_TRACE_UNKNOWN)
        return GANG_OK;
    if (to < from || to - from > GANG__TRACE_MAX_NS - d->run_ns)
        return gang__json_fail(&end, GANG_EINVAL, "before the attempt began, or too late");
    if (d->started_ns == GANG_TRACE_UNKNOWN)
        d->started_ns = from;
    d->run_ns += to - from;
    return GANG_OK;
}

static gang_result read_attempts(const struct gang__json *job, struct gang__trace_draft *d,
                                 int64_t *gpus)
{
    struct gang__json list;
    size_t count;
    bool has_ended = false;
    *gpus = 0;
    GANG__TRACE_TRY(gang__json_need(job, "attempts", &list));
    GANG__TRACE_TRY(gang__json_array(&list, GANG__TRACE_MAX_TASKS, &count));
    for (size_t i = 0; i < count; i++) {
        struct gang__json attempt = gang__json_element(&list, i);
        GANG__TRACE_TRY(read_attempt(&attempt, d, gpus, &has_ended));
    }
    bool ran = *gpus > 0 && has_ended && d->started_ns != GANG_TRACE_UNKNOWN;
    return ran ? GANG_OK : GANG__TRACE_PASS;
}

static gang_result read_status(const struct gang__json *job, int32_t *end)
{
    static const char *const words[] = {"Pass", "Killed", "Failed"};
    static const int32_t ends[] = {GANG_END_SUCCESS, GANG_END_CANCELLED, GANG_END_FAILED};
    struct gang__json at;
    size_t index;
    GANG__TRACE_TRY(gang__json_need(job, "status", &at));
    GANG__TRACE_TRY(gang__json_choice(&at, words, GANG__TRACE_COUNT(words), &index));
    *end = ends[index];
    return GANG_OK;
}

static gang_result read_job(struct gang__trace_reader *r, const struct gang__json *job)
{
    struct gang__trace_draft d = GANG__TRACE_DRAFT_INIT;
    struct gang__trace_group groups[2];
    struct gang__json submitted = {NULL, job, "submitted_time", 0, job->error};
    int64_t gpus;
    char number[24];
    GANG__TRACE_TRY(gang__json_map(job, 64));
    GANG__TRACE_TRY(gang__trace_json_name(job, "jobid", number, &d.name));
    GANG__TRACE_TRY(read_status(job, &d.end));
    GANG__TRACE_TRY(date_of(job, "submitted_time", &d.submit_ns));
    if (d.submit_ns == GANG_TRACE_UNKNOWN)
        return gang__json_fail(&submitted, GANG_EINVAL, "missing");
    GANG__TRACE_TRY(read_attempts(job, &d, &gpus));
    GANG__TRACE_TRY(gang__trace_json_word(r, job, "vc", &d.queue));
    GANG__TRACE_TRY(gang__trace_json_word(r, job, "user", &d.user));
    gang_result result = gang__trace_cut(r, gpus, 0, groups, &d.group_count);
    if (result != GANG_OK)
        return gang__json_fail(job, result, "out of memory");
    d.groups = groups;
    return gang__trace_json_add(r, job, &d);
}

/* ---- the array ----------------------------------------------------------------------------- */

struct walk {
    const char *at;
    const char *end;
    int64_t line;
    int64_t before; /* characters before it in its line */
};

static void go_to(struct walk *w, const char *to)
{
    for (; w->at < to; w->at++) {
        w->before += ((unsigned char)*w->at & 0xc0) != 0x80;
        if (*w->at == '\n') {
            w->line++;
            w->before = 0;
        }
    }
}

static void skip_space(struct walk *w)
{
    while (w->at < w->end && (*w->at == ' ' || *w->at == '\t' || *w->at == '\r' || *w->at == '\n'))
        go_to(w, w->at + 1);
}

/* The end of the object that begins here; the end of the text if there is none. */
static const char *end_of_object(const struct walk *w)
{
    size_t depth = 0;
    bool in_string = false;
    for (const char *s = w->at; s < w->end; s++) {
        if (in_string && *s == '\\') {
            s++; /* what it escapes */
        } else if (*s == '"') {
            in_string = !in_string;
        } else if (in_string) {
            continue;
        } else if (*s == '{' || *s == '[') {
            depth++;
        } else if ((*s == '}' || *s == ']') && --depth == 0) {
            return s + 1;
        }
    }
    return w->end;
}

static gang_result broken(struct gang__trace_reader *r, const struct walk *w, const char *what)
{
    gang__error(r->error, GANG_EPARSE, NULL, "%s", what);
    r->error->line = w->line;
    r->error->column = w->before + 1;
    return GANG_EPARSE;
}

static gang_result read_element(struct gang__trace_reader *r, struct walk *w, size_t index)
{
    if (w->at == w->end || *w->at != '{')
        return broken(r, w, "an object should be here");
    struct gang__trace_piece piece = {w->at, (size_t)(end_of_object(w) - w->at), w->line,
                                      w->before};
    gang_result result = gang__trace_piece_read(r, &piece, read_job);
    if (result != GANG_OK)
        return gang__error_at(r->error, result, "[%zu]", index);
    go_to(w, w->at + piece.length);
    skip_space(w);
    return GANG_OK;
}

gang_result gang__trace_read_philly_log(struct gang__trace_reader *r)
{
    struct walk w = {r->text, r->text + r->length, 1, 0};
    skip_space(&w);
    if (w.at == w.end || *w.at != '[')
        return broken(r, &w, "an array of jobs should be here");
    go_to(&w, w.at + 1);
    skip_space(&w);
    bool is_over = w.at < w.end && *w.at == ']';
    for (size_t i = 0; !is_over; i++) {
        if (gang__trace_full(r))
            return GANG_OK;
        GANG__TRACE_TRY(read_element(r, &w, i));
        is_over = w.at < w.end && *w.at == ']';
        if (!is_over && (w.at == w.end || *w.at != ','))
            return broken(r, &w, "',' or ']' should be here");
        go_to(&w, w.at + !is_over);
        skip_space(&w);
    }
    go_to(&w, w.at + 1);
    skip_space(&w);
    return w.at < w.end ? broken(r, &w, "text after the array") : GANG_OK;
}
