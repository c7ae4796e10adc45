/* SPDX-License-Identifier: Apache-2.0 */
/* Alibaba's traces: pods of openb (cluster-trace-gpu-v2023) and the tasks of PAI (v2020). */
#include <gangsched/sched.h>

#include "trace/trace_table_in.h"

/* ---- openb: a pod is a job of one task ----------------------------------------------------- */

enum openb {
    O_NAME,
    O_CPU,
    O_MEM,
    O_GPUS,
    O_MILLI,
    O_SPEC,
    O_PHASE,
    O_CREATED,
    O_DELETED,
    O_SCHEDULED
};
static const char *const openb_columns[] = {
    "name",     "cpu_milli", "memory_mib",    "num_gpu",       "gpu_milli",
    "gpu_spec", "pod_phase", "creation_time", "deletion_time", "scheduled_time"};

static gang_result openb_task(struct gang__trace_table *t, struct gang__trace_group *g)
{
    int64_t gpus, gpu_milli = -1;
    const int64_t cpu = GANG_MAX_CPU_MILLI;
    GANG__TRACE_TRY(gang__table_number(t, O_CPU, 1, 0, cpu, &g->cpu_milli));
    GANG__TRACE_TRY(gang__table_number(t, O_MEM, INT64_C(1) << 20, 0, GANG__TRACE_MAX_MEMORY,
                                       &g->memory_bytes));
    GANG__TRACE_TRY(gang__table_number(t, O_GPUS, 1, 0, GANG_MAX_GPUS, &gpus));
    GANG__TRACE_TRY(gang__table_optional(t, O_MILLI, 1, 0, 1000, &gpu_milli));
    if (!gang__trace_devices(gpus, gpu_milli, g))
        return gang__table_fail(t, O_MILLI, GANG_EINVAL, "nothing of each of the devices");
    return gpus ? gang__table_models(t, O_SPEC, &g->models) : GANG_OK;
}

/* A pod runs from when it was scheduled; without that time, from when it was made. */
static gang_result openb_times(struct gang__trace_table *t, struct gang__trace_draft *d)
{
    int64_t gone;
    GANG__TRACE_TRY(gang__table_time(t, O_CREATED, &d->submit_ns));
    GANG__TRACE_TRY(gang__table_time(t, O_DELETED, &gone));
    GANG__TRACE_TRY(gang__table_time(t, O_SCHEDULED, &d->started_ns));
    if (d->submit_ns == GANG_TRACE_UNKNOWN)
        d->submit_ns = 0;
    if (gone == GANG_TRACE_UNKNOWN)
        return GANG_OK;
    d->run_ns = gone - (d->started_ns == GANG_TRACE_UNKNOWN ? d->submit_ns : d->started_ns);
    return d->run_ns < 0 ? gang__table_fail(t, O_DELETED, GANG_EINVAL, "gone before it was there")
                         : GANG_OK;
}

static gang_result openb_row(struct gang__trace_table *t)
{
    struct gang__trace_group task = {.count = 1, .min = 1};
    struct gang__trace_draft d = GANG__TRACE_DRAFT_INIT;
    struct gang__span phase = gang__table_field(t, O_PHASE);
    GANG__TRACE_TRY(openb_task(t, &task));
    GANG__TRACE_TRY(openb_times(t, &d));
    d.end = gang__span_is(phase, "Succeeded") ? GANG_END_SUCCESS
            : gang__span_is(phase, "Failed")  ? GANG_END_FAILED
                                              : GANG_END_NONE;
    d.groups = &task;
    d.group_count = 1;
    return gang__table_add(t, &d);
}

gang_result gang__trace_read_openb(struct gang__trace_reader *r)
{
    static const struct gang__trace_format format = {.columns = openb_columns,
                                                     .count = GANG__TRACE_COUNT(openb_columns),
                                                     .needed = 1 << O_NAME | 1 << O_CPU |
                                                               1 << O_MEM | 1 << O_GPUS,
                                                     .name = O_NAME,
                                                     .row = openb_row};
    return gang__table_read(r, &format, NULL);
}

/* ---- PAI: a row is a group, in any order --------------------------------------------------- */

enum pai_column {
    A_JOB,
    A_TASK,
    A_INSTANCES,
    A_STATUS,
    A_START,
    A_END,
    A_CPU,
    A_MEM,
    A_GPU,
    A_TYPE
};
static const char *const pai_columns[] = {"job_name",   "task_name", "inst_num", "status",
                                          "start_time", "end_time",  "plan_cpu", "plan_mem",
                                          "plan_gpu",   "gpu_type"};

struct pai_row {
    struct gang__trace_group group;
    int64_t start_ns;
    int64_t end_ns;
    int64_t line;
    uint32_t job;   /* number of its name */
    int32_t end;    /* GANG_END_* */
    bool is_passed; /* it tells no run time, or is wrong: so is its job passed over */
};

struct pai {
    gang_trace *jobs; /* keeps their names while the rows are read, as words */
    void *rows;
    size_t cap;
    size_t count;
};

static gang_result pai_group(struct gang__trace_table *t, struct gang__trace_group *g)
{
    const int64_t cpu = GANG_MAX_CPU_MILLI;
    GANG__TRACE_TRY(gang__table_word(t, A_TASK, &g->name));
    GANG__TRACE_TRY(gang__table_number(t, A_INSTANCES, 1, 1, GANG__TRACE_MAX_TASKS, &g->count));
    g->min = g->count;
    GANG__TRACE_TRY(gang__table_optional(t, A_CPU, 10, 0, cpu, &g->cpu_milli));
    GANG__TRACE_TRY(gang__table_optional(t, A_MEM, INT64_C(1) << 30, 0, GANG__TRACE_MAX_MEMORY,
                                         &g->memory_bytes));
    GANG__TRACE_TRY(gang__table_optional(t, A_GPU, 10, 0, GANG_MAX_GPUS * 1000, &g->gpu_milli));
    if (g->gpu_milli > 1000 && g->gpu_milli % 1000)
        return gang__table_fail(t, A_GPU, GANG_EINVAL, "more than a device, and not whole ones");
    return g->gpu_milli ? gang__table_models(t, A_TYPE, &g->models) : GANG_OK;
}

static gang_result pai_status(struct gang__trace_table *t, int32_t *end)
{
    struct gang__span status = gang__table_field(t, A_STATUS);
    if (gang__span_is(status, "Terminated"))
        *end = GANG_END_SUCCESS;
    else if (gang__span_is(status, "Failed"))
        *end = GANG_END_FAILED;
    else if (gang__span_is(status, "Running") || gang__span_is(status, "Waiting"))
        return GANG__TRACE_PASS;
    else
        return gang__table_fail(t, A_STATUS, GANG_EINVAL,
                                "none of Terminated, Failed, Running, Waiting");
    return GANG_OK;
}

static gang_result pai_parse(struct gang__trace_table *t, struct pai_row *row)
{
    GANG__TRACE_TRY(pai_group(t, &row->group));
    GANG__TRACE_TRY(gang__table_time(t, A_START, &row->start_ns));
    GANG__TRACE_TRY(gang__table_time(t, A_END, &row->end_ns));
    GANG__TRACE_TRY(pai_status(t, &row->end));
    if (row->start_ns == GANG_TRACE_UNKNOWN || row->end_ns == GANG_TRACE_UNKNOWN)
        return GANG__TRACE_PASS;
    return row->end_ns < row->start_ns ? gang__table_fail(t, A_END, GANG_EINVAL, "before its start")
                                       : GANG_OK;
}

static gang_result pai_row(struct gang__trace_table *t)
{
    struct pai *pai = t->user;
    struct pai_row row = {.line = t->line};
    struct gang__span name = gang__table_field(t, A_JOB);
    gang_result r = gang__trace_word(pai->jobs, name, &row.job);
    if (r != GANG_OK || name.n == 0)
        return gang__table_fail(t, A_JOB, r ? r : GANG_EINVAL, "missing, or not a name");
    if (!gang__grow(&t->reader->trace->mem, &pai->rows, &pai->cap, pai->count + 1, sizeof(row)))
        return gang__table_fail(t, A_JOB, GANG_ENOMEM, "out of memory");
    r = pai_parse(t, &row);
    row.is_passed = r != GANG_OK;
    ((struct pai_row *)pai->rows)[pai->count++] = row;
    return r;
}

/* Rows sorted by job, jobs in the order of their first rows: order[first[j]..first[j + 1] - 1] are
 * the rows of job j. One block of memory. */
static size_t *pai_order(const struct pai *pai, const struct gang_mem *mem, size_t **order)
{
    size_t jobs = pai->jobs->symbol_names.count;
    const struct pai_row *rows = pai->rows;
    size_t *first = gang__zalloc(mem, jobs + 2 + pai->count, sizeof(*first));
    if (!first)
        return NULL;
    *order = first + jobs + 2;
    for (size_t i = 0; i < pai->count; i++)
        first[rows[i].job + 1]++; /* jobs count from 1, and each goes one further below */
    for (size_t j = 1; j <= jobs + 1; j++)
        first[j] += first[j - 1];
    for (size_t i = 0; i < pai->count; i++)
        (*order)[first[rows[i].job]++] = i;
    return first;
}

/* The job that these rows are. */
static gang_result pai_put(struct gang__trace_reader *r, const struct pai *pai, const size_t *order,
                           size_t count, struct gang__trace_group *groups)
{
    const struct pai_row *rows = pai->rows;
    struct gang__trace_draft d = GANG__TRACE_DRAFT_INIT;
    size_t passed = 0;
    int64_t last = INT64_MIN;
    d.submit_ns = INT64_MAX;
    d.end = GANG_END_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        const struct pai_row *row = &rows[order[i]];
        passed += row->is_passed;
        groups[i] = row->group;
        d.submit_ns = row->start_ns < d.submit_ns ? row->start_ns : d.submit_ns;
        last = row->end_ns > last ? row->end_ns : last;
        d.end = row->end == GANG_END_FAILED ? GANG_END_FAILED : d.end;
    }
    r->line = rows[order[0]].line;
    if (passed)
        return gang__trace_accept(r, GANG__TRACE_PASS, count - passed);
    d.name = gang__span_of(gang__trace_text(pai->jobs, rows[order[0]].job));
    d.run_ns = last - d.submit_ns;
    d.started_ns = d.submit_ns;
    d.groups = groups;
    d.group_count = count;
    gang_result result = gang__trace_add(r->trace, &d, r->error);
    if (result != GANG_OK)
        r->error->line = rows[order[0]].line;
    return gang__trace_accept(r, result, count);
}

static gang_result pai_finish(struct gang__trace_table *t)
{
    struct pai *pai = t->user;
    const struct gang_mem *mem = &t->reader->trace->mem;
    size_t *order = NULL;
    size_t *end = pai_order(pai, mem, &order);
    size_t jobs = pai->jobs->symbol_names.count, max = 0;
    for (size_t j = 1; end && j <= jobs; j++)
        max = end[j] - end[j - 1] > max ? end[j] - end[j - 1] : max;
    struct gang__trace_group *groups = gang__zalloc(mem, max, sizeof(*groups));
    gang_result r =
        end && groups ? GANG_OK : gang__error(t->reader->error, GANG_ENOMEM, NULL, "out of memory");
    for (size_t j = 1; r == GANG_OK && j <= jobs && !gang__trace_full(t->reader); j++)
        r = pai_put(t->reader, pai, order + end[j - 1], end[j] - end[j - 1], groups);
    gang__release(mem, groups);
    gang__release(mem, end);
    return r;
}

gang_result gang__trace_read_pai(struct gang__trace_reader *r)
{
    static const struct gang__trace_format format = {.columns = pai_columns,
                                                     .count = GANG__TRACE_COUNT(pai_columns),
                                                     .name = A_JOB,
                                                     .has_no_header = true,
                                                     .row = pai_row,
                                                     .finish = pai_finish};
    struct pai pai = {.rows = NULL};
    gang_result result = gang_trace_new(&r->trace->mem, &pai.jobs);
    if (result == GANG_OK)
        result = gang__table_read(r, &format, &pai);
    gang_trace_free(pai.jobs);
    gang__release(&r->trace->mem, pai.rows);
    return result;
}
