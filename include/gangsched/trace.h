/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trace.h
 * @brief Workload traces: lists of jobs with their times; reading, making and writing them.
 *
 * A *trace* is a list of jobs, each with the time at which it was submitted and the time for which
 * it ran. The library reads traces in the formats in which they are published; a host can also make
 * one job by job. The simulator (sim.h) replays traces.
 *
 * The library adds nothing that is not in the trace: a job without a time limit has none, a job
 * without a memory request uses none. Times are ns since the zero of the trace; calendar dates
 * become ns since 1970-01-01 UTC.
 *
 * @code
 *   gang_trace *trace;
 *   if (gang_trace_read_file("KTH-SP2.swf", NULL, &trace, &error) == GANG_OK) {
 *       printf("%zu jobs\n", gang_trace_count(trace));
 *       gang_trace_free(trace);
 *   }
 * @endcode
 */
#ifndef GANGSCHED_TRACE_H
#define GANGSCHED_TRACE_H

#include <gangsched/base.h>
#include <gangsched/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Jobs in the order in which they were read or added. */
typedef struct gang_trace gang_trace;

/**
 * Formats. Unless stated otherwise, CSV files have a header line, and columns are found by name.
 * Fields may be quoted; they contain no line feed. Columns and members that are not listed here are
 * ignored, except in the library's own formats, where they are errors. Seconds are decimal numbers
 * with a precision of 1 ns. Calendar dates without an offset are in UTC.
 */
enum {
    GANG_TRACE_DETECT = 0, /**< for reading only: the format is detected from the first lines */
    /** The library's own format: CSV with the columns `job`, `submit_s`, `run_s` and optionally
     *  `queue`, `user`, `time_limit_s`, `priority`, `preemptible` ("true", "false",
     *  "above-min"), `count` (of tasks, 1), `min` (all), `cpu` (cores), `mem_mib`, `gpu` (whole
     *  devices, or a share below 1 of each of `gpu_devices`, 1), `gpu_models` ("A|B"),
     *  `partition` (of nodes; any), where amounts are those of one task; `start_s`, `end`
     *  ("success", "failed", "cancelled", "preempted", "timeout", "unstarted", "refused",
     *  "deadline"). An empty field is the same as a missing column. A job of several groups has
     *  several consecutive rows with the same `job` and a column `group`; values of the whole
     *  job are then repeated or left empty. Also read: `name` for `job`, and the names before
     *  version 0.2: `limit_s`, `tasks` for `count`; `gpus` (devices) and `gpu_milli` (of each,
     *  1000) instead of `gpu`. */
    GANG_TRACE_CSV = 1,
    /** The same members, one JSON object a line; "tasks": [{"name": ...}] for several groups;
     *  `preemptible`: true, false or "above-min"; `gpu_models`: also ["A", "B"]; `submit_ns`,
     *  `run_ns`, `time_limit_ns`, `start_ns` instead of seconds, exactly. null: unknown. Also
     *  read, as before version 0.2: "groups": [{"group": ...}], `limit_ns`. */
    GANG_TRACE_JSONL = 2,
    /** Standard Workload Format 2.2 (Feitelson): 18 numbers a line, comments with ';'. A
     *  processor is a task of one core. Requested numbers take precedence over used ones (memory
     *  in KiB a processor); the partition, or else the queue, names the queue. Skipped: run time
     *  -1, no processors, and lines of parts of a job (status 2, 3, 4). Not kept: CPU time,
     *  group, executable, preceding job, think time. */
    GANG_TRACE_SWF = 3,
    /** CSV: job_id, submit, run, procs, req_time, user (seconds), the format of the SC'15 logs */
    GANG_TRACE_PROCS = 4,
    /** CSV of Philly in Pollux's version: job_id, vc, gpu_num, submit_time, duration (s) */
    GANG_TRACE_PHILLY = 5,
    /** JSON of Philly as published (cluster_job_log): the GPUs of the last attempt; the run time
     *  is the sum of the attempts, the start that of the first. Skipped: jobs without an
     *  attempt, or still running. */
    GANG_TRACE_PHILLY_LOG = 6,
    /** CSV of Helios and Venus (cluster_log.csv): job_id, user, vc, gpu_num, cpu_num, node_num,
     *  state, submit_time, start_time, end_time, duration... Cores are divided in proportion to
     *  GPUs; a job without GPUs is node_num tasks. Skipped: jobs that never started. */
    GANG_TRACE_HELIOS = 7,
    /** CSV of Alibaba PAI 2020 (pai_task_table), without a header: job, task, instances, status,
     *  start, end, plan_cpu (per cent of a core), plan_mem (GiB), plan_gpu (per cent), gpu_type.
     *  The tasks of a job are its groups, in any order of rows. The format has no submission
     *  time: the first start counts as submission, and the job runs until the last end. Skipped:
     *  jobs with a task without end (Running, Waiting). */
    GANG_TRACE_PAI = 8,
    /** CSV of pods of openb (Alibaba 2023): name, cpu_milli, memory_mib, num_gpu, gpu_milli,
     *  gpu_spec, pod_phase, creation_time, deletion_time, scheduled_time; or without the times,
     *  which are then 0. A pod runs from scheduling, or else creation, to deletion. */
    GANG_TRACE_OPENB = 9,
    /** JSON of Batsim: nb_res, jobs, profiles. A resource is a task of one core. Run times come
     *  from `delay` profiles, and from parallel_homogeneous at batsim_flops (communication takes
     *  no time). A job with another profile is GANG_ENOTSUP, with its path. `queue` and `user`
     *  of a job, which Batsim leaves to its users, are kept. */
    GANG_TRACE_BATSIM = 10,
    /** CSV of Tiresias: job_id, num_gpu, submit_time, iterations, model_name, duration, interval */
    GANG_TRACE_TIRESIAS = 11
};

/** Name of a format ("swf", "philly-log", ...); NULL for GANG_TRACE_DETECT and for any number that
 *  is not a format. Static. Any thread. */
GANG_API const char *gang_trace_format_name(int32_t format);

/** Value of a time that is not known. */
#define GANG_TRACE_UNKNOWN INT64_MIN

/** One job of a trace. */
struct gang_trace_job {
    size_t size; /**< sizeof(struct gang_trace_job) */
    /** unique in the trace; NULL or "": the position of the job, from 0, in decimal */
    const char *name;
    const char *queue; /**< queue, partition or virtual cluster; NULL or "": none */
    const char *user;  /**< NULL or "": none */
    /** time of submission; all times are in -INT64_MAX / 2..INT64_MAX / 2 (146 years) */
    int64_t submit_ns;
    int64_t run_ns;   /**< run time with all its tasks, >= 0 */
    int64_t limit_ns; /**< time limit that the user stated; 0: none */
    int64_t priority;
    /** GANG_PREEMPTIBLE, GANG_NOT_PREEMPTIBLE or GANG_SEMI_PREEMPTIBLE (job.h) */
    int32_t preemptible;
    int32_t end;        /**< recorded end, GANG_END_* (sched.h); 0: none recorded */
    int64_t started_ns; /**< recorded start; GANG_TRACE_UNKNOWN: none recorded */
    size_t group_size;  /**< sizeof(struct gang_group_spec) */
    /** Groups of the job. A trace keeps these members: name, count, min, cpu_milli, memory_bytes,
     *  gpu_milli, gpu_devices, gpu_models (at most 64) and partition. */
    const struct gang_group_spec *groups;
    size_t group_count; /**< 1..4095 */
};

#define GANG_TRACE_JOB_INIT                                                                    \
    {                                                                                          \
        sizeof(struct gang_trace_job), NULL, NULL, NULL, 0, 0, 0, 0, 1, 0, GANG_TRACE_UNKNOWN, \
            sizeof(struct gang_group_spec), NULL, 0                                            \
    }

/** Options of reading; zero is the default. */
struct gang_trace_opts {
    size_t size;                /**< sizeof(struct gang_trace_opts) */
    const struct gang_mem *mem; /**< allocator, copied; NULL: malloc and free */
    int32_t format;             /**< GANG_TRACE_*; 0: GANG_TRACE_DETECT */
    /** 1: an unusable row (no tasks, a negative run time, text instead of a number) is skipped and
     *  counted, with all rows of its job. Syntax errors (quotes, number of fields, JSON) and
     *  duplicate names are still errors. 0: an unusable row is an error. Rows of jobs that did not
     *  run, as listed above for each format, are always skipped. */
    int32_t lenient;
    int64_t max_jobs; /**< maximum number of jobs; further ones are not read; 0: no bound */
    /** GPUs of one task, 1..64; 0: 8. For formats that only have the number of GPUs of a job
     *  (Philly, its log, Helios, Tiresias): the job has tasks with this number of GPUs each, and a
     *  group "rest" with one task for the remainder. A job with fewer GPUs is one task. */
    int64_t gpus_per_task;
    /** floating-point operations per second of one resource, for Batsim; 0: 1,000,000,000 */
    int64_t batsim_flops;
};

#define GANG_TRACE_OPTS_INIT                                \
    {                                                       \
        sizeof(struct gang_trace_opts), NULL, 0, 0, 0, 0, 0 \
    }

/**
 * Make an empty trace, to be filled with gang_trace_add().
 * @param mem  allocator, copied; NULL: malloc and free
 * @return GANG_OK; GANG_EINVAL; GANG_ENOMEM. Any thread. May allocate.
 */
GANG_API gang_result gang_trace_new(const struct gang_mem *mem, gang_trace **trace) GANG_MUST_CHECK;

/** Free a trace. All pointers that were obtained from it become invalid. NULL is allowed. No
 *  concurrent call on this trace. */
GANG_API void gang_trace_free(gang_trace *trace);

/**
 * Read a trace.
 * @param text need not be NUL-terminated; not compressed
 * @param opts NULL: all defaults
 * @return GANG_OK; GANG_EPARSE (`error` has line and column, and as path the name of the column of
 *   the table or of the member), GANG_ERANGE and GANG_EINVAL (a wrong value, with the same details;
 *   or a wrong option, with its member as path), GANG_EEXIST (a duplicate name or column),
 *   GANG_ENOTSUP (unknown format; compressed text; a feature of the format that the library does
 *   not support), GANG_ELIMIT (more than 2^31 jobs, 4095 groups or 64 GPU models in a job, or 255
 *   bytes in a name), GANG_ENOMEM. On an error *trace is NULL.
 * Any thread. May allocate. O(length).
 */
GANG_API gang_result gang_trace_read(const char *text, size_t length,
                                     const struct gang_trace_opts *opts, gang_trace **trace,
                                     struct gang_error *error) GANG_MUST_CHECK;

/** Like gang_trace_read(), from a file ("-": standard input). Also returns GANG_EIO. May block. */
GANG_API gang_result gang_trace_read_file(const char *path, const struct gang_trace_opts *opts,
                                          gang_trace **trace, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Append a job, which is copied. Jobs need not be in the order of submission.
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE; GANG_ENOTSUP (a member of gang_group_spec that traces
 *   do not keep is set; `error` has its path); GANG_EEXIST (name); GANG_ELIMIT; GANG_ENOMEM. Owner
 *   of the trace. O(1), amortised.
 */
GANG_API gang_result gang_trace_add(gang_trace *trace, const struct gang_trace_job *job,
                                    struct gang_error *error) GANG_MUST_CHECK;

/** Number of jobs. Any thread, while no thread adds jobs. */
GANG_API size_t gang_trace_count(const gang_trace *trace);

/** GANG_TRACE_* of the text from which the trace was read; GANG_TRACE_DETECT: it was made with
 *  gang_trace_new(). */
GANG_API int32_t gang_trace_format(const gang_trace *trace);

/** Number of rows (in formats with one entry for each job: of jobs) that were skipped by the
 *  reader: jobs that did not run, and unusable rows (gang_trace_opts.lenient). */
GANG_API size_t gang_trace_skipped(const gang_trace *trace);

/** Line of the first skipped row, counted from 1. 0: none was skipped, or the format has no lines
 *  (Batsim, the log of Philly). O(1). No concurrent change of the trace. */
GANG_API int64_t gang_trace_skipped_line(const gang_trace *trace);

/** Read one job by its position; job->size must be set. Texts and lists of models belong to the
 *  trace and are valid as long as it. job->groups is valid until the next call of gang_trace_get()
 *  or gang_trace_add(). @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end). Owner. O(groups).
 *  Does not allocate. */
GANG_API gang_result gang_trace_get(gang_trace *trace, size_t index, struct gang_trace_job *job)
    GANG_MUST_CHECK;

/** Position of a job by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Owner. O(1). */
GANG_API gang_result gang_trace_find(const gang_trace *trace, const char *name, size_t *index)
    GANG_MUST_CHECK;

/** Columns for gang_trace_column(). */
enum {
    GANG_TRACE_SUBMIT_NS = 0,
    GANG_TRACE_RUN_NS = 1,
    GANG_TRACE_LIMIT_NS = 2,
    GANG_TRACE_PRIORITY = 3,
    GANG_TRACE_TASKS = 4,     /**< number of tasks, over all groups */
    GANG_TRACE_CPU_MILLI = 5, /**< sum over all tasks of the job */
    GANG_TRACE_MEMORY_BYTES = 6,
    GANG_TRACE_GPU_MILLI = 7,
    GANG_TRACE_STARTED_NS = 8
};

/** Copy one column (GANG_TRACE_SUBMIT_NS or another) of `count` jobs: value[i] belongs to job first
 *  + i. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end). Owner. O(count). */
GANG_API gang_result gang_trace_column(const gang_trace *trace, int32_t column, size_t first,
                                       size_t count, int64_t *value) GANG_MUST_CHECK;

/** Write a trace as GANG_TRACE_CSV, _JSONL, _SWF or _BATSIM. CSV and JSONL keep everything: reading
 *  them gives the same trace again. SWF and Batsim can express only jobs whose tasks have one core
 *  each and all start together, without priorities and group names. SWF has whole seconds from 0
 *  on, and numbers instead of names, queues and users. Batsim has no memory and no recorded starts
 *  and ends. If SWF or Batsim cannot express a job, nothing is written. @return GANG_OK;
 *  GANG_EINVAL; GANG_ENOTSUP (the format cannot be written; or it cannot express a job, with the
 *  path "jobs[3].run_ns"); GANG_EIO (`write` refused); GANG_ENOMEM (Batsim only). Owner. O(jobs),
 *  Batsim O(jobs log jobs). */
GANG_API gang_result gang_trace_write(gang_trace *trace, int32_t format, gang_write_fn write,
                                      void *user, struct gang_error *error) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
