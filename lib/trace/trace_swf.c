/* SPDX-License-Identifier: Apache-2.0 */
/* The Standard Workload Format, version 2.2 (Feitelson, Parallel Workloads Archive), and the table
 * of processors in which the logs of SC'15 are handed on. */
#include <gangsched/sched.h>

#include <inttypes.h>
#include <stdio.h>

#include "trace/trace_table_in.h"

/* A field of a line, in the order of the standard. */
enum swf {
    NUMBER,
    SUBMIT,
    WAIT,
    RUN,
    PROCS,
    CPU_TIME,
    MEMORY,
    WANTED_PROCS,
    WANTED_TIME,
    WANTED_MEMORY,
    STATUS,
    USER,
    GROUP,
    EXECUTABLE,
    QUEUE,
    PARTITION,
    PRECEDING,
    THINK_TIME,
    FIELDS
};

static const char *const names[FIELDS] = {"job number",
                                          "submit time",
                                          "wait time",
                                          "run time",
                                          "allocated processors",
                                          "CPU time",
                                          "used memory",
                                          "requested processors",
                                          "requested time",
                                          "requested memory",
                                          "status",
                                          "user",
                                          "group",
                                          "executable",
                                          "queue",
                                          "partition",
                                          "preceding job",
                                          "think time"};

struct line {
    struct gang__trace_reader *reader;
    const char *begin;
    const char *end;
    int64_t number;
    struct gang__span field[FIELDS];
};

static gang_result fail(const struct line *l, enum swf field, gang_result code, const char *what)
{
    gang__error(l->reader->error, code, names[field], "%s", what);
    l->reader->error->line = l->number;
    l->reader->error->column = l->field[field].s - l->begin + 1;
    return code;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static gang_result split(struct line *l)
{
    size_t count = 0;
    for (const char *s = l->begin;; count++) {
        while (s < l->end && is_space(*s))
            s++;
        if (s == l->end)
            break;
        const char *from = s;
        while (s < l->end && !is_space(*s))
            s++;
        if (count < FIELDS)
            l->field[count] = (struct gang__span){from, (size_t)(s - from)};
    }
    if (count == FIELDS)
        return GANG_OK;
    gang__error(l->reader->error, GANG_EPARSE, NULL, "%zu fields, not %d", count, FIELDS);
    l->reader->error->line = l->number;
    return GANG_EPARSE;
}

static gang_result number(const struct line *l, enum swf field, int64_t scale, int64_t *value)
{
    switch (gang__decimal(l->field[field], scale, value)) {
    case GANG__NUMBER_OK:
        return GANG_OK;
    case GANG__NUMBER_BAD:
        return fail(l, field, GANG_EPARSE, "not a number");
    default:
        return fail(l, field, GANG_ERANGE, "number out of range");
    }
}

/* A whole number; -1: unknown. */
static gang_result read_field(const struct line *l, enum swf field, int64_t *value)
{
    int64_t milli;
    GANG__TRACE_TRY(number(l, field, 1000, &milli));
    *value = milli < 0 ? -1 : milli / 1000;
    return milli >= 0 && milli % 1000 ? fail(l, field, GANG_EINVAL, "not a whole number") : GANG_OK;
}

/* The requested amount, else the used one; -1: neither is known. */
static gang_result either(const struct line *l, enum swf wanted, enum swf used, int64_t min,
                          int64_t *value)
{
    GANG__TRACE_TRY(read_field(l, wanted, value));
    return *value < min ? read_field(l, used, value) : GANG_OK;
}

/* A user or group: its number as a word; -1: none. */
static gang_result word(const struct line *l, enum swf field, uint32_t *kept)
{
    int64_t value;
    *kept = 0;
    GANG__TRACE_TRY(read_field(l, field, &value));
    if (value < 0)
        return GANG_OK;
    gang_result r = gang__trace_word(l->reader->trace, l->field[field], kept);
    return r == GANG_OK ? r : fail(l, field, r, r == GANG_ENOMEM ? "out of memory" : "not a name");
}

static gang_result read_task(const struct line *l, struct gang__trace_group *task)
{
    int64_t kib;
    GANG__TRACE_TRY(either(l, WANTED_PROCS, PROCS, 1, &task->count));
    GANG__TRACE_TRY(either(l, WANTED_MEMORY, MEMORY, 1, &kib));
    if (task->count > GANG__TRACE_MAX_TASKS)
        return fail(l, WANTED_PROCS, GANG_ERANGE, "more than 16,777,216 processors");
    if (kib > GANG__TRACE_MAX_MEMORY / 1024)
        return fail(l, WANTED_MEMORY, GANG_ERANGE, "more than 4 PiB");
    task->min = task->count;
    task->cpu_milli = 1000;
    task->memory_bytes = kib > 0 ? kib * 1024 : 0;
    return GANG_OK;
}

static gang_result read_times(const struct line *l, struct gang__trace_draft *d)
{
    int64_t wait;
    GANG__TRACE_TRY(number(l, SUBMIT, GANG__SECOND, &d->submit_ns));
    GANG__TRACE_TRY(number(l, WAIT, GANG__SECOND, &wait));
    GANG__TRACE_TRY(number(l, RUN, GANG__SECOND, &d->run_ns));
    GANG__TRACE_TRY(number(l, WANTED_TIME, GANG__SECOND, &d->limit_ns));
    if (d->submit_ns < -GANG__TRACE_MAX_NS || d->submit_ns > GANG__TRACE_MAX_NS)
        return fail(l, SUBMIT, GANG_ERANGE, "more than 146 years from 0");
    if (wait >= 0 && wait <= GANG__TRACE_MAX_NS - d->submit_ns)
        d->started_ns = d->submit_ns + wait;
    d->limit_ns = d->limit_ns > 0 ? d->limit_ns : 0;
    return GANG_OK;
}

/* GANG__TRACE_PASS: a row that repeats a part of a job that was stopped and continued. */
static gang_result read_status(const struct line *l, int32_t *end)
{
    int64_t status;
    GANG__TRACE_TRY(read_field(l, STATUS, &status));
    if (status >= 2 && status <= 4)
        return GANG__TRACE_PASS;
    *end = status == 0   ? GANG_END_FAILED
           : status == 1 ? GANG_END_SUCCESS
           : status == 5 ? GANG_END_CANCELLED
                         : GANG_END_NONE;
    return GANG_OK;
}

static gang_result read_line(const struct line *l)
{
    int64_t job;
    struct gang__trace_group task = {0};
    struct gang__trace_draft d = GANG__TRACE_DRAFT_INIT;
    GANG__TRACE_TRY(read_field(l, NUMBER, &job));
    GANG__TRACE_TRY(read_status(l, &d.end));
    GANG__TRACE_TRY(read_times(l, &d));
    GANG__TRACE_TRY(read_task(l, &task));
    if (d.run_ns < 0 || task.count < 1)
        return GANG__TRACE_PASS;
    GANG__TRACE_TRY(word(l, USER, &d.user));
    GANG__TRACE_TRY(word(l, PARTITION, &d.queue));
    if (!d.queue)
        GANG__TRACE_TRY(word(l, QUEUE, &d.queue));
    if (job >= 0)
        d.name = l->field[NUMBER];
    d.groups = &task;
    d.group_count = 1;
    gang_result r = gang__trace_add(l->reader->trace, &d, l->reader->error);
    if (r != GANG_OK)
        l->reader->error->line = l->number;
    return r;
}

gang_result gang__trace_read_swf(struct gang__trace_reader *r)
{
    struct line l = {.reader = r, .number = 0};
    const char *end = r->text + r->length;
    for (const char *at = r->text; at < end && !gang__trace_full(r); at = l.end + 1) {
        l.begin = at;
        l.number++;
        l.end = memchr(at, '\n', (size_t)(end - at));
        l.end = l.end ? l.end : end;
        while (at < l.end && is_space(*at))
            at++;
        if (at == l.end || *at == ';')
            continue;
        GANG__TRACE_TRY(split(&l));
        r->line = l.number;
        GANG__TRACE_TRY(gang__trace_accept(r, read_line(&l), 1));
    }
    return GANG_OK;
}

/* ---- a table of processors ----------------------------------------------------------------- */

enum procs { P_JOB, P_SUBMIT, P_RUN, P_PROCS, P_LIMIT, P_USER };
static const char *const procs_columns[] = {"job_id", "submit", "run", "procs", "req_time", "user"};

static gang_result procs_row(struct gang__trace_table *t)
{
    struct gang__trace_group task = {.cpu_milli = 1000};
    struct gang__trace_draft d = GANG__TRACE_DRAFT_INIT;
    const int64_t max = GANG__TRACE_MAX_NS;
    GANG__TRACE_TRY(gang__table_number(t, P_SUBMIT, GANG__SECOND, -max, max, &d.submit_ns));
    GANG__TRACE_TRY(gang__table_run_time(t, P_RUN, &d.run_ns));
    GANG__TRACE_TRY(gang__table_number(t, P_PROCS, 1, 1, GANG__TRACE_MAX_TASKS, &task.count));
    GANG__TRACE_TRY(gang__table_optional(t, P_LIMIT, GANG__SECOND, -max, max, &d.limit_ns));
    if (!gang__span_is(gang__table_field(t, P_USER), "-1"))
        GANG__TRACE_TRY(gang__table_word(t, P_USER, &d.user));
    d.limit_ns = d.limit_ns > 0 ? d.limit_ns : 0;
    task.min = task.count;
    d.groups = &task;
    d.group_count = 1;
    return gang__table_add(t, &d);
}

gang_result gang__trace_read_procs(struct gang__trace_reader *r)
{
    static const struct gang__trace_format format = {.columns = procs_columns,
                                                     .count = GANG__TRACE_COUNT(procs_columns),
                                                     .needed = 1 << P_JOB | 1 << P_SUBMIT |
                                                               1 << P_RUN | 1 << P_PROCS,
                                                     .name = P_JOB,
                                                     .row = procs_row};
    return gang__table_read(r, &format, NULL);
}
