/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job.h
 * @brief What is to run, by value: a job's needs, queue, order, and what becomes of it when things
 *   go wrong.
 *
 * A *job* is a request (model.h: task groups, minima, constraints) with a queue, a user, a priority
 * and rules for its life. sched.h takes it. Tasks are numbered through the groups in order: group 0
 * has the tasks 0..count-1, group 1 those after.
 */
#ifndef GANGSCHED_JOB_H
#define GANGSCHED_JOB_H

#include <gangsched/base.h>
#include <gangsched/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Id of a job; never used again while the scheduler lives. */
typedef uint64_t gang_job_id;

/** Where a task of a running job is. */
struct gang_running_spec {
    const char *node; /**< NULL: this task does not run */
    /** Of a scenario: labels of devices; the same label on a node is the same device. Of a
     *  submitted job: numbers of devices in decimal. None: the library picks. */
    const char *const *devices;
    size_t device_count;
};

/** May a job be displaced? (gang_job_spec.preemptible) */
enum {
    /** never evicted; starts only inside the guarantee of its queue and of all above */
    GANG_NOT_PREEMPTIBLE = 0,
    GANG_PREEMPTIBLE = 1,
    /** Tasks above the minimum alone: the gang's minimum is never evicted, and starts only
     *  inside the guarantees. */
    GANG_SEMI_PREEMPTIBLE = 2
};

/** When something that waits for something else may start. */
enum {
    GANG_AFTER_START = 0,  /**< it has started (its gang runs or ran) */
    GANG_AFTER_END = 1,    /**< it has ended, however */
    GANG_AFTER_SUCCESS = 2 /**< it has succeeded; if it ends otherwise, who waits is cancelled */
};

/** A job that must come first. One that the scheduler no longer knows counts as ended with
 *  success. */
struct gang_job_after {
    gang_job_id job;
    int32_t when; /**< GANG_AFTER_* */
    int32_t reserved0;
};

/** A group that must come first, in the same job: "training after data preparation". The group
 *  waits and is granted on its own then, as a gang of its own: groups that are joined by a set,
 *  by the job's `same`, or by a job minimum above the sum of the groups' must wait for the same
 *  groups. */
struct gang_group_after {
    int32_t group; /**< that waits */
    int32_t after; /**< for this one: */
    int32_t when;  /**< GANG_AFTER_*, of all its tasks */
    int32_t reserved0;
};

/** What a group's tasks mean to the job (TonY's task types). */
enum {
    /** the job has succeeded when all members ended, and not all failed */
    GANG_ROLE_MEMBER = 0,
    GANG_ROLE_CHIEF = 1,    /**< when its tasks have ended the job has, with their result */
    GANG_ROLE_CRITICAL = 2, /**< a member; if one fails, the job fails at once (stop on failure) */
    /** nobody waits for their end (parameter servers); if one fails, the job fails */
    GANG_ROLE_UNTRACKED = 3,
    GANG_ROLE_SIDECAR = 4 /**< neither end nor failure matters (TensorBoard) */
};

/** What to do when tasks of a running job are lost: failed, silent, or their node is down.
 *  Applies to the losses that the role of the group does not decide. */
enum {
    GANG_LOSS_COUNT = 0, /**< nothing: the rest goes on; the group's role decides at the end */
    GANG_LOSS_FAIL = 1,  /**< the job fails */
    GANG_LOSS_RESTART =
        2, /**< everything stops and the whole gang is placed again, at most max_restarts times,
                            *   after a delay that doubles; the nodes where it failed are avoided */
    /** the lost tasks are placed again; if that fails for refill_ns, as FAIL */
    GANG_LOSS_REFILL = 3,
    /** it goes on with fewer tasks, not below its minimum; below it as RESTART */
    GANG_LOSS_SHRINK = 4
};

/** A job, by value. Its tasks are numbered through its groups in order. All pointers are
 *  borrowed for the duration of the call. */
struct gang_job_spec {
    size_t size;         /**< sizeof(struct gang_job_spec) */
    const char *name;    /**< need not be unique; NULL: "" */
    const char *queue;   /**< a leaf; NULL or "": by the rules of the scheduler */
    int64_t priority;    /**< higher first */
    int64_t submit;      /**< age order, 0 is the oldest. -1: after all that are there */
    int32_t preemptible; /**< GANG_PREEMPTIBLE and its like */
    int32_t running;     /**< 1: it runs already, see `places` (a host that restores its state) */
    int32_t stale;       /**< 1: running, and below its minimum for longer than its grace */
    int32_t never_preempts; /**< 1: waits rather than displace */
    struct gang_request_spec request;
    const struct gang_running_spec *places; /**< one a task; NULL: none */
    size_t place_count;
    const int32_t *protected_groups; /**< one a group: 1: never evicted */
    const int64_t *group_order;      /**< one a group: larger is given up later */
    const char *user;                /**< NULL: "" */
    const char *const *user_groups;  /**< of the user, for access lists and rules */
    size_t user_group_count;
    /** how long it may run; 0: the queue's default. It is stopped then (grace, kill) */
    int64_t time_limit_ns;
    int32_t hold;             /**< 1: waits for gang_job_release() */
    int32_t loss;             /**< GANG_LOSS_* */
    int64_t max_restarts;     /**< of GANG_LOSS_RESTART */
    int64_t restart_delay_ns; /**< first delay of a restart; doubles; 0: none */
    /** of GANG_LOSS_REFILL; 0: no bound. The queue's stale_ns holds beside it. */
    int64_t refill_ns;
    /** A job that was not granted so long after it could have been (submitted, released,
     *  dependencies met) fails, if back_off_ns is 0; else it steps aside for back_off_ns, which
     *  doubles each time. 0: never. */
    int64_t start_within_ns;
    int64_t back_off_ns;
    /** a task that started and is silent so long is lost; 0: no heartbeats */
    int64_t heartbeat_ns;
    size_t after_size;                  /**< sizeof(struct gang_job_after) */
    const struct gang_job_after *after; /**< jobs; all must hold */
    size_t after_count;
    size_t group_after_size;                    /**< sizeof(struct gang_group_after) */
    const struct gang_group_after *group_after; /**< groups of this job; all must hold */
    size_t group_after_count;
    const int32_t *roles; /**< one a group: GANG_ROLE_*; NULL: all members */
    uint64_t cookie;      /**< the host's own; given back in callbacks and by gang_job_get() */
    /** not started before this time on the host's clock (Slurm's begin time); 0: whenever */
    int64_t begin_ns;
    /** It must have ended by this time on the host's clock; 0: whenever. It is stopped then, as at
     *  its time limit. One that has not begun to run, and can no longer run for its whole time
     *  limit, ends (GANG_END_DEADLINE); so does one that was displaced. */
    int64_t deadline_ns;
    /** the name of a reservation (plan.h), inside which alone it starts; NULL or "": none. It must be one
     *  that this job is allowed in. When that is over for good, the job waits as any other. */
    const char *reservation;
};

#define GANG_JOB_SPEC_INIT                                                                         \
    {                                                                                              \
        sizeof(struct gang_job_spec), NULL, NULL, 0, -1, GANG_PREEMPTIBLE, 0, 0, 0,                \
            GANG_REQUEST_SPEC_INIT, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            sizeof(struct gang_job_after), NULL, 0, sizeof(struct gang_group_after), NULL, 0,      \
            NULL, 0, 0, 0, NULL                                                                    \
    }

#ifdef __cplusplus
}
#endif
#endif
