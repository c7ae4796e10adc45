/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trace.h
 * @brief What was asked of a cluster, and when: workload traces, read, made, and written.
 *
 * A *trace* is a list of jobs with the time at which each came and how long it ran. It is read from the
 * formats in which such traces are published, or made job by job; the simulator (sim.h) plays it.
 *
 * What a trace does not tell is not made up: a job without a time limit has none, one whose memory is not
 * told takes none. Times are ns from the trace's own zero; those that were calendar dates are ns since
 * 1970-01-01 UTC.
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
 * Formats. CSV has a header line, and its columns are found by name, unless said otherwise; fields may be in quotes, and
 * hold no line feed. Columns and members that are not named here are passed over, but in our own formats, where they are
 * errors. Seconds are decimal numbers, kept to the ns; calendar dates without an offset count as UTC.
 */
enum {
    GANG_TRACE_DETECT = 0, /**< reading only: by the first lines */
    /** Our own: CSV with the columns `job`, `submit_s`, `run_s` and at will `queue`, `user`, `limit_s`,
     *  `priority`, `preemptible` ("true", "false", "above-min"), `tasks` (1), `min` (all), `cpu` (cores), `mem_mib`,
     *  `gpus` (devices), `gpu_milli` (of each, 1000), `gpu_models` ("A|B"): the amounts are those of one task;
     *  `start_s`, `end` ("success", "failed", "cancelled", "preempted", "timeout", "unstarted", "refused", "deadline"). An
     *  empty field is the same as no column. A job of several groups has several rows, one after the other, with the
     *  same `job` and a column `group`; what is said of the job as a whole is then said again or left empty. */
    GANG_TRACE_CSV = 1,
    /** The same members, one JSON object a line; "groups": [{"group": ...}] where there are several; `preemptible`: true,
     *  false or "above-min"; `gpu_models`: ["A", "B"], too; `submit_ns`, `run_ns`, `limit_ns`, `start_ns` in place of
     *  those in seconds, exactly. null: not told */
    GANG_TRACE_JSONL = 2,
    /** Standard Workload Format 2.2 (Feitelson): 18 numbers a line, comments with ';'. A processor is a
     *  task of one core. Requested numbers go before used ones (memory in KiB a processor); partition (else queue) names
     *  the queue. Passed over: run time -1, no processors, and lines of parts of a job (status 2, 3, 4). Not kept: CPU
     *  time, group, executable, preceding job, think time */
    GANG_TRACE_SWF = 3,
    /** CSV: job_id, submit, run, procs, req_time, user (seconds), as the logs of SC'15 are handed on */
    GANG_TRACE_PROCS = 4,
    /** CSV of Philly as Pollux's extraction has it: job_id, vc, gpu_num, submit_time, duration (s) */
    GANG_TRACE_PHILLY = 5,
    /** JSON of Philly as published (cluster_job_log): the last attempt's GPUs; run time is the sum of attempts, the
     *  start that of the first. Passed over: jobs without an attempt, or that were still running */
    GANG_TRACE_PHILLY_LOG = 6,
    /** CSV of Helios and Venus (cluster_log.csv): job_id, user, vc, gpu_num, cpu_num, node_num, state,
     *  submit_time, start_time, end_time, duration... Cores are shared out by GPUs; a job without GPUs is node_num tasks.
     *  Passed over: jobs that never started */
    GANG_TRACE_HELIOS = 7,
    /** CSV of Alibaba PAI 2020 (pai_task_table), without a header: job, task, instances, status, start, end,
     *  plan_cpu (per cent of a core), plan_mem (GiB), plan_gpu (per cent), gpu_type. The tasks of a job are its groups, in
     *  whatever order the rows are. It tells no submission: the first start counts as that, and the run goes to the last
     *  end. Passed over: jobs of which a task has no end (Running, Waiting) */
    GANG_TRACE_PAI = 8,
    /** CSV of pods of openb (Alibaba 2023): name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, pod_phase,
     *  creation_time, deletion_time, scheduled_time, or without the times, which are 0 then. The run is from
     *  scheduling, else from creation, to deletion */
    GANG_TRACE_OPENB = 9,
    /** JSON of Batsim: nb_res, jobs, profiles. A resource is a task of one core. Run times are those of `delay` profiles,
     *  and of parallel_homogeneous at batsim_flops (what they communicate takes no time); others are GANG_ENOTSUP, by
     *  their place, if a job has them. `queue` and `user` of a job, which Batsim leaves to its users, are kept */
    GANG_TRACE_BATSIM = 10,
    /** CSV of Tiresias: job_id, num_gpu, submit_time, iterations, model_name, duration, interval */
    GANG_TRACE_TIRESIAS = 11
};

/** Name of a format ("swf", "philly-log"...); NULL for GANG_TRACE_DETECT and any other number. Static. Any thread. */
GANG_API const char *gang_trace_format_name(int32_t format);

/** A time that the trace does not tell. */
#define GANG_TRACE_UNKNOWN INT64_MIN

/** One job of a trace. */
struct gang_trace_job {
    size_t size;       /**< sizeof(struct gang_trace_job) */
    const char *name;  /**< unique; NULL or "": its position, from 0, in decimal */
    const char *queue; /**< queue, partition, virtual cluster; NULL or "": none */
    const char *user;  /**< NULL or "": none */
    int64_t submit_ns; /**< this and all times: within INT64_MAX / 2 of 0, 146 years */
    int64_t run_ns;    /**< how long it runs with all its tasks, >= 0 */
    int64_t limit_ns;  /**< time limit, as the user asked; 0: none */
    int64_t priority;
    int32_t preemptible; /**< GANG_PREEMPTIBLE and its like (job.h) */
    int32_t end;         /**< GANG_END_* that is recorded (sched.h); 0: it is not */
    int64_t started_ns;  /**< start that is recorded; GANG_TRACE_UNKNOWN */
    size_t group_size;   /**< sizeof(struct gang_group_spec) */
    /** Of the members of gang_group_spec a trace keeps name, count, min, cpu_milli, memory_bytes, gpu_milli,
     *  gpu_devices and gpu_models (64 at most) */
    const struct gang_group_spec *groups;
    size_t group_count; /**< 1..4095 */
};

#define GANG_TRACE_JOB_INIT                                                                    \
    {                                                                                          \
        sizeof(struct gang_trace_job), NULL, NULL, NULL, 0, 0, 0, 0, 1, 0, GANG_TRACE_UNKNOWN, \
            sizeof(struct gang_group_spec), NULL, 0                                            \
    }

/** Options of reading; zero means the default. */
struct gang_trace_opts {
    size_t size;                /**< sizeof(struct gang_trace_opts) */
    const struct gang_mem *mem; /**< allocator, copied; NULL: malloc and free */
    int32_t format;             /**< GANG_TRACE_*; DETECT */
    /** 1: a row that cannot be used (no tasks, a negative run time, something that is no number) is passed over and
     *  counted, and with it all of its job; a text that is broken as such (quotes, number of fields, JSON) stays an error,
     *  and so does a name twice. 0: it is an error, but for those that the format itself marks as not run (above) */
    int32_t lenient;
    int64_t
        max_jobs; /**< jobs at most, the first ones; what comes after is not looked at; 0: all */
    /** Formats that tell a number of GPUs alone (Philly, its log, Helios, Tiresias): it is cut into tasks of so many
     *  (one of all if there are fewer), and a group "rest" of one task with what is left; 1..64; 0: 8 */
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

/** End a trace and all that was borrowed from it. NULL is allowed. No concurrent call. */
GANG_API void gang_trace_free(gang_trace *trace);

/**
 * Read a trace.
 * @param text  need not be NUL-terminated; plain text (not compressed)
 * @param opts  NULL: all defaults
 * @return GANG_OK; GANG_EPARSE (`error` has the line, the column, and the name of the table's column or the member as
 *   path), GANG_ERANGE and GANG_EINVAL (likewise, a value), GANG_EEXIST (a name twice, a column twice), GANG_ENOTSUP
 *   (a format that is not known; compressed text; what it says and we do not have), GANG_ELIMIT (2^31 jobs, 4095 groups or
 *   64 models of one, 255 bytes of a name), GANG_ENOMEM; GANG_EINVAL and GANG_ERANGE also for options, by their member.
 *   On an error there is no trace.
 * Any thread. May allocate. O(length).
 */
GANG_API gang_result gang_trace_read(const char *text, size_t length,
                                     const struct gang_trace_opts *opts, gang_trace **trace,
                                     struct gang_error *error) GANG_MUST_CHECK;

/** As gang_trace_read(), from a file ("-": standard input). Also GANG_EIO. May block. */
GANG_API gang_result gang_trace_read_file(const char *path, const struct gang_trace_opts *opts,
                                          gang_trace **trace, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Add a job behind the others; it is copied. Jobs need not be in the order of submission.
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE; GANG_ENOTSUP (a member of a group that traces do not keep, by its
 *   path); GANG_EEXIST (name); GANG_ELIMIT; GANG_ENOMEM. Owner of the trace. O(1), amortised.
 */
GANG_API gang_result gang_trace_add(gang_trace *trace, const struct gang_trace_job *job,
                                    struct gang_error *error) GANG_MUST_CHECK;

/** Number of jobs. Any thread, while nobody adds. */
GANG_API size_t gang_trace_count(const gang_trace *trace);

/** GANG_TRACE_* it was read from; GANG_TRACE_DETECT: it was made. */
GANG_API int32_t gang_trace_format(const gang_trace *trace);

/** Rows (jobs, where those are told whole) that were passed over when it was read: not run by what the format says, or
 *  not to be used (gang_trace_opts.lenient). */
GANG_API size_t gang_trace_skipped(const gang_trace *trace);

/** One job by position, into `job`, whose `size` is set. Texts and lists of models that it points to are the trace's, for
 *  its life; the groups are overwritten by the next call, and gone with the next gang_trace_add().
 *  @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end). Owner. O(groups). Does not allocate. */
GANG_API gang_result gang_trace_get(gang_trace *trace, size_t index, struct gang_trace_job *job)
    GANG_MUST_CHECK;

/** Position of a job by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Owner. O(1). */
GANG_API gang_result gang_trace_find(const gang_trace *trace, const char *name, size_t *index)
    GANG_MUST_CHECK;

/** Numbers of all jobs at once. */
enum {
    GANG_TRACE_SUBMIT_NS = 0,
    GANG_TRACE_RUN_NS = 1,
    GANG_TRACE_LIMIT_NS = 2,
    GANG_TRACE_PRIORITY = 3,
    GANG_TRACE_TASKS = 4,     /**< over all groups */
    GANG_TRACE_CPU_MILLI = 5, /**< likewise, of all tasks */
    GANG_TRACE_MEMORY_BYTES = 6,
    GANG_TRACE_GPU_MILLI = 7,
    GANG_TRACE_STARTED_NS = 8
};

/** Copy one column, GANG_TRACE_SUBMIT_NS or another: value[i] of job first + i. @return GANG_OK; GANG_EINVAL;
 *  GANG_ENOENT (past the end). Owner. O(count). */
GANG_API gang_result gang_trace_column(const gang_trace *trace, int32_t column, size_t first,
                                       size_t count, int64_t *value) GANG_MUST_CHECK;

/** Write it: GANG_TRACE_CSV, _JSONL, _SWF or _BATSIM. What is read again from the first two is the same trace. The last two
 *  have tasks of one core that all start together, without priorities; SWF whole seconds from 0 on, and numbers for names,
 *  queues and users; Batsim no memory. Batsim is told neither recorded starts nor ends. Names of groups are not written to
 *  either. Nothing is written of a trace that holds a job which SWF or Batsim cannot express.
 *  @return GANG_OK; GANG_EINVAL; GANG_ENOTSUP (a format that is not written; a job that it cannot express, by its path:
 *  "jobs[3].run_ns"); GANG_EIO (`write` refused); GANG_ENOMEM (Batsim alone). Owner. O(jobs), Batsim O(jobs log jobs). */
GANG_API gang_result gang_trace_write(gang_trace *trace, int32_t format, gang_write_fn write,
                                      void *user, struct gang_error *error) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
