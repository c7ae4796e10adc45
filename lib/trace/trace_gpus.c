/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with the number of GPUs of each job: Philly in Pollux's extraction, Helios and Venus,
 * Tiresias. */
#include <gangsched/sched.h>

#include "trace/trace_table_in.h"

gang_result gang__trace_cut(struct gang__trace_reader *r, int64_t gpus, int64_t cpu_milli,
                            struct gang__trace_group groups[2], size_t *count)
{
    int64_t each = gpus < r->opts.gpus_per_task ? gpus : r->opts.gpus_per_task;
    int64_t tasks = gpus / each;
    int64_t rest = gpus % each;
    groups[0] = (struct gang__trace_group){.count = tasks,
                                           .min = tasks,
                                           .cpu_milli = cpu_milli / gpus * each +
                                                        cpu_milli % gpus * each / gpus,
                                           .gpu_milli = each * 1000};
    *count = 1;
    if (rest == 0)
        return GANG_OK;
    groups[1] = (struct gang__trace_group){.count = 1,
                                           .min = 1,
                                           .cpu_milli = cpu_milli - tasks * groups[0].cpu_milli,
                                           .gpu_milli = rest * 1000};
    *count = 2;
    return gang__trace_word(r->trace, (struct gang__span){"rest", 4}, &groups[1].name);
}

/* As many tasks of one GPU as a group may have. */
enum { MAX_GPUS = GANG__TRACE_MAX_TASKS };

static gang_result add_cut(struct gang__trace_table *t, struct gang__trace_draft d, int64_t gpus,
                           int64_t cpu_milli)
{
    struct gang__trace_group groups[2];
    GANG__TRACE_TRY(gang__trace_cut(t->reader, gpus, cpu_milli, groups, &d.group_count));
    d.groups = groups;
    return gang__table_add(t, &d);
}

static gang_result time_needed(struct gang__trace_table *t, size_t column, int64_t *ns)
{
    GANG__TRACE_TRY(gang__table_time(t, column, ns));
    return *ns == GANG_TRACE_UNKNOWN ? gang__table_fail(t, column, GANG_EINVAL, "missing")
                                     : GANG_OK;
}

/* A job of a table that says no more than GPUs, times and, with `queue` >= 0, the queue. */
static gang_result gpu_job(struct gang__trace_table *t, size_t gpus_column, size_t submit,
                           size_t duration, int queue)
{
    int64_t gpus;
    struct gang__trace_draft d = GANG__TRACE_DRAFT_INIT;
    GANG__TRACE_TRY(gang__table_number(t, gpus_column, 1, 1, MAX_GPUS, &gpus));
    GANG__TRACE_TRY(time_needed(t, submit, &d.submit_ns));
    GANG__TRACE_TRY(gang__table_run_time(t, duration, &d.run_ns));
    if (queue >= 0)
        GANG__TRACE_TRY(gang__table_word(t, (size_t)queue, &d.queue));
    return add_cut(t, d, gpus, 0);
}

/* ---- Philly -------------------------------------------------------------------------------- */

enum philly { Y_JOB, Y_VC, Y_GPUS, Y_SUBMIT, Y_DURATION };
static const char *const philly_columns[] = {"job_id", "vc", "gpu_num", "submit_time", "duration"};

static gang_result philly_row(struct gang__trace_table *t)
{
    return gpu_job(t, Y_GPUS, Y_SUBMIT, Y_DURATION, Y_VC);
}

gang_result gang__trace_read_philly(struct gang__trace_reader *r)
{
    static const struct gang__trace_format format = {.columns = philly_columns,
                                                     .count = GANG__TRACE_COUNT(philly_columns),
                                                     .needed = 31,
                                                     .name = Y_JOB,
                                                     .row = philly_row};
    return gang__table_read(r, &format, NULL);
}

/* ---- Helios -------------------------------------------------------------------------------- */

enum helios {
    H_JOB,
    H_USER,
    H_VC,
    H_GPUS,
    H_CPUS,
    H_NODES,
    H_STATE,
    H_SUBMIT,
    H_START,
    H_DURATION
};
static const char *const helios_columns[] = {"job_id",     "user",     "vc",    "gpu_num",
                                             "cpu_num",    "node_num", "state", "submit_time",
                                             "start_time", "duration"};

static gang_result helios_end(struct gang__trace_table *t, int32_t *end)
{
    static const struct {
        const char *state;
        int32_t end;
    } known[] = {{"COMPLETED", GANG_END_SUCCESS},
                 {"CANCELLED", GANG_END_CANCELLED},
                 {"FAILED", GANG_END_FAILED},
                 {"TIMEOUT", GANG_END_TIMEOUT},
                 {"NODE_FAIL", GANG_END_FAILED},
                 {"OUT_OF_MEMORY", GANG_END_FAILED},
                 {"PREEMPTED", GANG_END_PREEMPTED},
                 {"SUSPENDED", GANG_END_NONE},
                 {"", GANG_END_NONE}};
    struct gang__span state = gang__table_field(t, H_STATE);
    for (size_t i = 0; i < GANG__TRACE_COUNT(known); i++) {
        if (gang__span_is(state, known[i].state)) {
            *end = known[i].end;
            return GANG_OK;
        }
    }
    return gang__table_fail(t, H_STATE, GANG_EINVAL, "none of Slurm's states of a job");
}

/* Work without GPUs: a task a node, as many cores each. */
static gang_result add_cores(struct gang__trace_table *t, struct gang__trace_draft d,
                             int64_t cpu_milli)
{
    int64_t nodes = 1;
    GANG__TRACE_TRY(gang__table_optional(t, H_NODES, 1, 1, GANG__TRACE_MAX_TASKS, &nodes));
    struct gang__trace_group task = {.count = nodes, .min = nodes, .cpu_milli = cpu_milli / nodes};
    d.groups = &task;
    d.group_count = 1;
    return gang__table_add(t, &d);
}

static gang_result helios_row(struct gang__trace_table *t)
{
    int64_t gpus, cpu_milli = 0;
    struct gang__trace_draft d = GANG__TRACE_DRAFT_INIT;
    GANG__TRACE_TRY(gang__table_number(t, H_GPUS, 1, 0, MAX_GPUS, &gpus));
    GANG__TRACE_TRY(gang__table_optional(t, H_CPUS, 1000, 0, GANG_MAX_CPU_MILLI, &cpu_milli));
    GANG__TRACE_TRY(helios_end(t, &d.end));
    GANG__TRACE_TRY(time_needed(t, H_SUBMIT, &d.submit_ns));
    GANG__TRACE_TRY(gang__table_time(t, H_START, &d.started_ns));
    if (gang__table_has(t, H_START) && d.started_ns == GANG_TRACE_UNKNOWN)
        return GANG__TRACE_PASS; /* cancelled while it waited */
    GANG__TRACE_TRY(gang__table_run_time(t, H_DURATION, &d.run_ns));
    GANG__TRACE_TRY(gang__table_word(t, H_USER, &d.user));
    GANG__TRACE_TRY(gang__table_word(t, H_VC, &d.queue));
    return gpus ? add_cut(t, d, gpus, cpu_milli) : add_cores(t, d, cpu_milli);
}

gang_result gang__trace_read_helios(struct gang__trace_reader *r)
{
    static const struct gang__trace_format format = {
        .columns = helios_columns,
        .count = GANG__TRACE_COUNT(helios_columns),
        .needed = 1 << H_JOB | 1 << H_GPUS | 1 << H_STATE | 1 << H_SUBMIT | 1 << H_DURATION,
        .name = H_JOB,
        .row = helios_row};
    return gang__table_read(r, &format, NULL);
}

/* ---- Tiresias ------------------------------------------------------------------------------ */

enum tiresias { T_JOB, T_GPUS, T_SUBMIT, T_DURATION };
static const char *const tiresias_columns[] = {"job_id", "num_gpu", "submit_time", "duration"};

static gang_result tiresias_row(struct gang__trace_table *t)
{
    return gpu_job(t, T_GPUS, T_SUBMIT, T_DURATION, -1);
}

gang_result gang__trace_read_tiresias(struct gang__trace_reader *r)
{
    static const struct gang__trace_format format = {.columns = tiresias_columns,
                                                     .count = GANG__TRACE_COUNT(tiresias_columns),
                                                     .needed = 15,
                                                     .name = T_JOB,
                                                     .row = tiresias_row};
    return gang__table_read(r, &format, NULL);
}
