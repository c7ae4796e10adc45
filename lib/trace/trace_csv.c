/* SPDX-License-Identifier: Apache-2.0 */
/* Our own table: a row a group, those of a job one after the other. */
#include <gangsched/job.h>
#include <gangsched/sched.h>

#include <stdio.h>

#include "trace/trace_table_in.h"

const char *const gang__trace_ends[9] = {"",          "success",   "failed",
                                         "cancelled", "preempted", "timeout",
                                         "unstarted", "refused",   "deadline"};

enum own {
    JOB,
    SUBMIT,
    RUN,
    QUEUE,
    USER,
    TIME_LIMIT,
    PRIORITY,
    PREEMPTIBLE,
    GROUP,
    COUNT,
    MIN,
    CPU,
    MEM,
    GPU,
    GPU_DEVICES,
    GPU_MODELS,
    START,
    END,
    IN_PARTITION,
    GPUS, /* this and the next: instead of GPU and GPU_DEVICES, before version 0.2 */
    GPU_MILLI
};
static const char *const columns[] = {
    "job",         "submit_s",   "run_s",   "queue", "user",      "time_limit_s", "priority",
    "preemptible", "group",      "count",   "min",   "cpu",       "mem_mib",      "gpu",
    "gpu_devices", "gpu_models", "start_s", "end",   "partition", "gpus",         "gpu_milli"};
/* "name" is the word of scenarios; the others are those before version 0.2. */
static const struct gang__trace_alias aliases[] = {
    {"name", JOB}, {"limit_s", TIME_LIMIT}, {"tasks", COUNT}, {NULL, 0}};

/* The job whose rows are being read. It is added when a row of another job comes. */
struct job {
    struct gang__trace_draft draft;
    struct gang__trace_group *groups;
    size_t groups_cap;
    size_t rows;  /* that were right */
    int64_t line; /* of the first */
    bool is_open;
    bool is_bad; /* another row was not */
    char name[GANG_MAX_NAME + 1];
};

bool gang__trace_devices(int64_t gpus, int64_t gpu_milli, struct gang__trace_group *group)
{
    gpus = gpus < 0 ? gpu_milli > 0 : gpus; /* not given: one, if there is a share */
    gpu_milli = gpu_milli < 0 ? 1000 : gpu_milli;
    if (gpus > 0 && gpu_milli == 0)
        return false;
    group->gpu_milli = gpu_milli == 1000 ? gpus * 1000 : gpus ? gpu_milli : 0;
    group->gpu_devices = gpu_milli < 1000 && gpus > 1 ? gpus : 0;
    return true;
}

const char *gang__trace_gpu(int64_t milli, int64_t devices, struct gang__trace_group *group)
{
    if (milli >= 1000 && milli % 1000)
        return "neither below 1 nor a whole number";
    if (devices > 0 && (milli < 0 || milli == 0))
        return "0 of each of the devices";
    if (devices > 0 && milli >= 1000)
        return "'gpu_devices' is for a share below 1 of each";
    group->gpu_milli = milli < 0 ? 0 : milli;
    group->gpu_devices = devices > 1 ? devices : 0;
    return NULL;
}

/* ---- fields -------------------------------------------------------------------------------- */

static gang_result read_preemptible(struct gang__trace_table *t, int32_t *preemptible)
{
    struct gang__span text = gang__table_field(t, PREEMPTIBLE);
    if (gang__span_is(text, "true"))
        *preemptible = GANG_PREEMPTIBLE;
    else if (gang__span_is(text, "false"))
        *preemptible = GANG_NOT_PREEMPTIBLE;
    else if (gang__span_is(text, GANG__TRACE_ABOVE_MIN))
        *preemptible = GANG_SEMI_PREEMPTIBLE;
    else if (text.n)
        return gang__table_fail(t, PREEMPTIBLE, GANG_EINVAL, "none of true, false, above-min");
    return GANG_OK;
}

static gang_result read_end(struct gang__trace_table *t, int32_t *end)
{
    struct gang__span text = gang__table_field(t, END);
    for (int32_t i = 1; text.n && i < (int32_t)GANG__TRACE_COUNT(gang__trace_ends); i++) {
        if (gang__span_is(text, gang__trace_ends[i])) {
            *end = i;
            return GANG_OK;
        }
    }
    return text.n ? gang__table_fail(t, END, GANG_EINVAL,
                                     "none of success, failed, cancelled, preempted, timeout")
                  : GANG_OK;
}

static gang_result read_word(struct gang__trace_table *t, size_t column, uint32_t *word)
{
    return gang__table_field(t, column).n ? gang__table_word(t, column, word) : GANG_OK;
}

/* Members of the job; an empty field leaves its member alone. */
static gang_result read_job(struct gang__trace_table *t, struct gang__trace_draft *d)
{
    const int64_t max = GANG__TRACE_MAX_NS;
    GANG__TRACE_TRY(gang__table_optional(t, SUBMIT, GANG__SECOND, -max, max, &d->submit_ns));
    GANG__TRACE_TRY(gang__table_optional(t, RUN, GANG__SECOND, 0, max, &d->run_ns));
    GANG__TRACE_TRY(gang__table_optional(t, TIME_LIMIT, GANG__SECOND, 0, max, &d->limit_ns));
    GANG__TRACE_TRY(gang__table_optional(t, START, GANG__SECOND, -max, max, &d->started_ns));
    GANG__TRACE_TRY(gang__table_optional(t, PRIORITY, 1, INT64_MIN, INT64_MAX, &d->priority));
    GANG__TRACE_TRY(read_word(t, QUEUE, &d->queue));
    GANG__TRACE_TRY(read_word(t, USER, &d->user));
    GANG__TRACE_TRY(read_preemptible(t, &d->preemptible));
    return read_end(t, &d->end);
}

/* By the columns before version 0.2. */
static gang_result read_gpus(struct gang__trace_table *t, struct gang__trace_group *g)
{
    int64_t gpus = -1, gpu_milli = -1;
    GANG__TRACE_TRY(gang__table_optional(t, GPUS, 1, 0, GANG_MAX_GPUS, &gpus));
    GANG__TRACE_TRY(gang__table_optional(t, GPU_MILLI, 1, 0, 1000, &gpu_milli));
    return gang__trace_devices(gpus, gpu_milli, g)
               ? GANG_OK
               : gang__table_fail(t, GPU_MILLI, GANG_EINVAL, "nothing of each of the devices");
}

static gang_result read_gpu(struct gang__trace_table *t, struct gang__trace_group *g)
{
    const int64_t max = 1000 * (int64_t)GANG_MAX_GPUS;
    int64_t milli = -1, devices = -1;
    bool before = gang__table_field(t, GPUS).n || gang__table_field(t, GPU_MILLI).n;
    GANG__TRACE_TRY(gang__table_optional(t, GPU, 1000, 0, max, &milli));
    GANG__TRACE_TRY(gang__table_optional(t, GPU_DEVICES, 1, 0, GANG_MAX_GPUS, &devices));
    if (milli < 0 && devices < 0)
        return read_gpus(t, g);
    if (before)
        return gang__table_fail(t, GPU, GANG_EINVAL, "is there beside 'gpus' or 'gpu_milli'");
    const char *wrong = gang__trace_gpu(milli, devices, g);
    return wrong ? gang__table_fail(t, GPU, GANG_EINVAL, "%s", wrong) : GANG_OK;
}

static gang_result read_group(struct gang__trace_table *t, struct gang__trace_group *g)
{
    const int64_t cpu = GANG_MAX_CPU_MILLI;
    *g = (struct gang__trace_group){.count = 1};
    GANG__TRACE_TRY(gang__table_word(t, GROUP, &g->name));
    GANG__TRACE_TRY(read_word(t, IN_PARTITION, &g->partition));
    GANG__TRACE_TRY(gang__table_optional(t, COUNT, 1, 1, GANG__TRACE_MAX_TASKS, &g->count));
    g->min = g->count;
    GANG__TRACE_TRY(gang__table_optional(t, MIN, 1, 0, g->count, &g->min));
    GANG__TRACE_TRY(gang__table_optional(t, CPU, 1000, 0, cpu, &g->cpu_milli));
    GANG__TRACE_TRY(gang__table_optional(t, MEM, INT64_C(1) << 20, 0, GANG__TRACE_MAX_MEMORY,
                                         &g->memory_bytes));
    GANG__TRACE_TRY(read_gpu(t, g));
    return gang__table_models(t, GPU_MODELS, &g->models);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static gang_result add_group(struct gang__trace_table *t, struct job *job)
{
    struct gang__trace_group group;
    void *groups = job->groups;
    size_t count = job->draft.group_count;
    GANG__TRACE_TRY(read_group(t, &group));
    if (count == GANG__TRACE_MAX_GROUPS)
        return gang__table_fail(t, JOB, GANG_ELIMIT, "more than %d groups", GANG__TRACE_MAX_GROUPS);
    if (!gang__grow(&t->reader->trace->mem, &groups, &job->groups_cap, count + 1,
                    sizeof(*job->groups)))
        return gang__table_fail(t, JOB, GANG_ENOMEM, "out of memory");
    job->groups = groups;
    job->groups[count] = group;
    job->draft.group_count++;
    job->rows++;
    return GANG_OK;
}

static gang_result close_job(struct gang__trace_table *t, struct job *job)
{
    struct gang_error *error = t->reader->error;
    if (!job->is_open || gang__trace_full(t->reader))
        return GANG_OK;
    job->is_open = false;
    t->reader->line = job->line;
    if (job->is_bad)
        return gang__trace_accept(t->reader, GANG__TRACE_PASS, job->rows);
    job->draft.groups = job->groups;
    job->draft.name = gang__span_of(job->name);
    gang_result r = gang__trace_add(t->reader->trace, &job->draft, error);
    if (r != GANG_OK) {
        if (strcmp(error->path, "name") == 0)
            memcpy(error->path, "job", sizeof("job"));
        error->line = job->line;
    }
    return gang__trace_accept(t->reader, r, job->rows);
}

static gang_result first_row(struct gang__trace_table *t, struct job *job)
{
    struct gang__span name = gang__table_field(t, JOB);
    job->draft = GANG__TRACE_DRAFT_INIT;
    job->rows = 0;
    job->line = t->line;
    job->is_open = true;
    job->is_bad = false;
    job->name[0] = '\0';
    if (gang__trace_check_text(name) != GANG_OK)
        return gang__table_fail(t, JOB, GANG_EINVAL,
                                "longer than 255 bytes, or not plain UTF-8 text");
    memcpy(job->name, name.s, name.n);
    job->name[name.n] = '\0';
    for (size_t column = SUBMIT; column <= RUN; column++)
        if (gang__table_field(t, column).n == 0)
            return gang__table_fail(t, column, GANG_EINVAL, "missing");
    GANG__TRACE_TRY(read_job(t, &job->draft));
    return add_group(t, job);
}

static bool same_job(const struct gang__trace_draft *a, const struct gang__trace_draft *b)
{
    return a->submit_ns == b->submit_ns && a->run_ns == b->run_ns && a->limit_ns == b->limit_ns &&
           a->started_ns == b->started_ns && a->priority == b->priority && a->queue == b->queue &&
           a->user == b->user && a->preemptible == b->preemptible && a->end == b->end;
}

static gang_result further_row(struct gang__trace_table *t, struct job *job)
{
    struct gang__trace_draft draft = job->draft;
    GANG__TRACE_TRY(read_job(t, &draft));
    if (!same_job(&draft, &job->draft))
        return gang__table_fail(t, JOB, GANG_EINVAL,
                                "its rows say different things of the job as a whole");
    return add_group(t, job);
}

static gang_result csv_row(struct gang__trace_table *t)
{
    struct job *job = t->user;
    struct gang__span name = gang__table_field(t, JOB);
    bool is_further =
        job->is_open && name.n && gang__table_has(t, GROUP) && gang__span_is(name, job->name);
    if (!is_further) {
        GANG__TRACE_TRY(close_job(t, job));
        t->reader->line = t->line;
        if (gang__trace_full(t->reader))
            return GANG_OK;
    }
    gang_result r = is_further ? further_row(t, job) : first_row(t, job);
    job->is_bad = job->is_bad || r != GANG_OK;
    return r;
}

static gang_result csv_finish(struct gang__trace_table *t)
{
    return close_job(t, t->user);
}

gang_result gang__trace_read_csv(struct gang__trace_reader *r)
{
    static const struct gang__trace_format format = {.columns = columns,
                                                     .count = GANG__TRACE_COUNT(columns),
                                                     .aliases = aliases,
                                                     .needed = 1 << JOB | 1 << SUBMIT | 1 << RUN,
                                                     .name = JOB,
                                                     .is_strict = true,
                                                     .row = csv_row,
                                                     .finish = csv_finish};
    struct job job = {.groups = NULL};
    gang_result result = gang__table_read(r, &format, &job);
    gang__release(&r->trace->mem, job.groups);
    return result;
}
