/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trace.h
 * @brief What was requested of a cluster, and when: workload traces, read, made, and written.
 *
 * A *trace* is a list of jobs, with the time at which each was submitted and how long it ran. It is
 * read from the formats in which such traces are published, or made job by job; the simulator
 * (sim.h) replays it.
 *
 * The library does not invent what a trace lacks: a job without a time limit has none, a job
 * without a memory request uses none. Times are ns from the trace's own zero; calendar dates become
 * ns since 1970-01-01 UTC.
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
 * Formats. CSV has a header line, and columns are found by name, unless stated otherwise. Fields
 * may be quoted and contain no line feed. Columns and members not listed here are ignored, except
 * in the library's own formats, where they are errors. Seconds are decimal numbers, kept to the ns;
 * calendar dates without an offset count as UTC.
 */
enum {
    GANG_TRACE_DETECT = 0, /**< reading only: detected from the first lines */
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

/** Name of a format ("swf", "philly-log"...); NULL for GANG_TRACE_DETECT and any other number.
 *  Static. Any thread. */
GANG_API const char *gang_trace_format_name(int32_t format);

/** A time that the trace does not contain. */
#define GANG_TRACE_UNKNOWN INT64_MIN

/** One job of a trace. */
struct gang_trace_job {
    size_t size;       /**< sizeof(struct gang_trace_job) */
    const char *name;  /**< unique; NULL or "": its position, from 0, in decimal */
    const char *queue; /**< queue, partition, virtual cluster; NULL or "": none */
    const char *user;  /**< NULL or "": none */
    int64_t submit_ns; /**< this and all times: within INT64_MAX / 2 of 0, 146 years */
    int64_t run_ns;    /**< how long it runs with all its tasks, >= 0 */
    int64_t limit_ns;  /**< time limit, as the user stated it; 0: none */
    int64_t priority;
    int32_t preemptible; /**< GANG_PREEMPTIBLE and the other values (job.h) */
    int32_t end;         /**< recorded GANG_END_* (sched.h); 0: none */
    int64_t started_ns;  /**< recorded start; or GANG_TRACE_UNKNOWN */
    size_t group_size;   /**< sizeof(struct gang_group_spec) */
    /** Of the members of gang_group_spec a trace keeps name, count, min, cpu_milli,
     *  memory_bytes, gpu_milli, gpu_devices, gpu_models (64 at most) and partition. */
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
    int32_t format;             /**< GANG_TRACE_*; DETECT */
    /** 1: an unusable row (no tasks, a negative run time, text instead of a number) is skipped
     *  and counted, with all rows of its job. Broken syntax (quotes, number of fields, JSON) and
     *  a duplicate name remain errors. 0: an unusable row is an error, except rows that the
     *  format itself marks as not run (above). */
    int32_t lenient;
    int64_t max_jobs; /**< maximum of jobs; later ones are not read; 0: all */
    /** For formats with only a number of GPUs (Philly, its log, Helios, Tiresias): the number is
     *  divided into tasks of this many GPUs (one task if there are fewer), and a group "rest" of
     *  one task with the remainder; 1..64; 0: 8. */
    int64_t gpus_per_task;
    int64_t batsim_flops; /**< of a resource, a second; 0: 1,000,000,000 */
};

#define GANG_TRACE_OPTS_INIT                                \
    {                                                       \
        sizeof(struct gang_trace_opts), NULL, 0, 0, 0, 0, 0 \
    }

/**
 * An empty trace, to be filled with gang_trace_add().
 * @param mem  allocator, copied; NULL: malloc and free
 * @return GANG_OK; GANG_EINVAL; GANG_ENOMEM. Any thread. May allocate.
 */
GANG_API gang_result gang_trace_new(const struct gang_mem *mem, gang_trace **trace) GANG_MUST_CHECK;

/** End a trace and everything borrowed from it. NULL is allowed. No concurrent call. */
GANG_API void gang_trace_free(gang_trace *trace);

/**
 * Read a trace.
 * @param text need not be NUL-terminated; plain text (not compressed)
 * @param opts NULL: all defaults
 * @return GANG_OK; GANG_EPARSE (`error` has the line, the column, and as path the name of the
 *   table's column or the member), GANG_ERANGE and GANG_EINVAL (a value, with the same details),
 *   GANG_EEXIST (a duplicate name or column), GANG_ENOTSUP (unknown format; compressed text; a
 *   feature of the format that the library lacks), GANG_ELIMIT (2^31 jobs, 4095 groups or 64 models
 *   of one, 255 bytes of a name), GANG_ENOMEM; GANG_EINVAL and GANG_ERANGE also for options, by
 *   their member. On an error there is no trace.
 * Any thread. May allocate. O(length).
 */
GANG_API gang_result gang_trace_read(const char *text, size_t length,
                                     const struct gang_trace_opts *opts, gang_trace **trace,
                                     struct gang_error *error) GANG_MUST_CHECK;

/** Like gang_trace_read(), from a file ("-": standard input). Also GANG_EIO. May block. */
GANG_API gang_result gang_trace_read_file(const char *path, const struct gang_trace_opts *opts,
                                          gang_trace **trace, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Append a copy of a job. Jobs need not be in the order of submission.
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE; GANG_ENOTSUP (a member of a group that traces do not
 *   keep, by its path); GANG_EEXIST (name); GANG_ELIMIT; GANG_ENOMEM. Owner of the trace. O(1),
 *   amortised.
 */
GANG_API gang_result gang_trace_add(gang_trace *trace, const struct gang_trace_job *job,
                                    struct gang_error *error) GANG_MUST_CHECK;

/** Number of jobs. Any thread, while no thread adds jobs. */
GANG_API size_t gang_trace_count(const gang_trace *trace);

/** GANG_TRACE_* of the text it was read from; GANG_TRACE_DETECT: it was made job by job. */
GANG_API int32_t gang_trace_format(const gang_trace *trace);

/** Rows (or jobs, in formats with one entry a job) that were skipped when it was read: not run
 *  according to the format, or unusable (gang_trace_opts.lenient). */
GANG_API size_t gang_trace_skipped(const gang_trace *trace);

/** Line of the first row that gang_trace_skipped() counts, from 1. 0: none was skipped, or the
 *  format has no lines (Batsim, the log of Philly). O(1). No concurrent change of the trace. */
GANG_API int64_t gang_trace_skipped_line(const gang_trace *trace);

/** One job by position, into `job`, with `job->size` set. Its texts and lists of models belong
 *  to the trace and live as long; its groups are overwritten by the next call, and invalid after
 *  the next gang_trace_add(). @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end). Owner.
 *  O(groups). Does not allocate. */
GANG_API gang_result gang_trace_get(gang_trace *trace, size_t index, struct gang_trace_job *job)
    GANG_MUST_CHECK;

/** Position of a job by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Owner. O(1). */
GANG_API gang_result gang_trace_find(const gang_trace *trace, const char *name, size_t *index)
    GANG_MUST_CHECK;

/** Columns of all jobs at once. */
enum {
    GANG_TRACE_SUBMIT_NS = 0,
    GANG_TRACE_RUN_NS = 1,
    GANG_TRACE_LIMIT_NS = 2,
    GANG_TRACE_PRIORITY = 3,
    GANG_TRACE_TASKS = 4,     /**< over all groups */
    GANG_TRACE_CPU_MILLI = 5, /**< over all groups, of all tasks */
    GANG_TRACE_MEMORY_BYTES = 6,
    GANG_TRACE_GPU_MILLI = 7,
    GANG_TRACE_STARTED_NS = 8
};

/** Copy one column, GANG_TRACE_SUBMIT_NS or another: value[i] belongs to job first + i. @return
 *  GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end). Owner. O(count). */
GANG_API gang_result gang_trace_column(const gang_trace *trace, int32_t column, size_t first,
                                       size_t count, int64_t *value) GANG_MUST_CHECK;

/** Write a trace as GANG_TRACE_CSV, _JSONL, _SWF or _BATSIM. The first two keep everything:
 *  reading them again gives the same trace. The last two have tasks of one core that all start
 *  together, without priorities and group names. SWF has whole seconds from 0 on, and numbers
 *  instead of names, queues and users. Batsim has no memory, and no recorded starts or ends. If
 *  SWF or Batsim cannot express a job, nothing is written. @return GANG_OK; GANG_EINVAL;
 *  GANG_ENOTSUP (a format that cannot be written; a job that it cannot express, by its path:
 *  "jobs[3].run_ns"); GANG_EIO (`write` refused); GANG_ENOMEM (Batsim only). Owner. O(jobs),
 *  Batsim O(jobs log jobs). */
GANG_API gang_result gang_trace_write(gang_trace *trace, int32_t format, gang_write_fn write,
                                      void *user, struct gang_error *error) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
