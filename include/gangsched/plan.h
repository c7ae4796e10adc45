/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plan.h
 * @brief Descriptions of reservations, by value, and the items of the plan.
 *
 * A *reservation* is capacity that is kept for some jobs, its *members*, during a future time. No
 * gang of any queue starts on this capacity if it might still run when the reservation begins.
 * Members start inside the reservation. gang_reservation_add() (sched.h) adds a reservation and
 * states the rules.
 *
 * A reservation has one or more *stages*. Each stage reserves one of:
 *   - groups of tasks, which run in gangs of a given size, possibly one gang after the other: "16
 *     tasks of 8 GPUs, 8 at a time, for an hour". With `exclusive` the nodes of the tasks are
 *     reserved whole: "4 whole nodes" is a group of 4 tasks that request nothing, with max_per_node
 *     1 and `exclusive`;
 *   - whole domains of the topology: a number of domains of a level ("2 racks"), or one domain by
 *     name;
 *   - nodes by name.
 * Cores, memory, GPUs, kinds of the site and instances of MIG profiles can be reserved. For a
 * profile, the scheduler keeps the reserved number of instances free for every possible position of
 * the instances of other profiles; so it may delay jobs that would fit at a lucky position. A
 * member takes the reserved kinds and profiles from its reservation, and other kinds and profiles
 * like any other job. All reservations together may use at most 16 kinds of the site and profiles,
 * where a profile counts as two (GANG_ELIMIT).
 *
 * The reservation begins and ends in the window [arrival_ns, deadline_ns], or begins exactly at
 * start_ns. With period_ns it recurs; each occurrence is an *instance*. For irregular dates
 * (holidays) the host adds one reservation for each date.
 *
 * @code
 *   struct gang_group_spec four = GANG_GROUP_SPEC_INIT;       // four whole nodes
 *   four.count = four.min = 4;  four.max_per_node = 1;
 *   struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
 *   stage.groups = &four;  stage.group_count = 1;  stage.exclusive = 1;
 *   struct gang_reservation_spec spec = GANG_RESERVATION_SPEC_INIT;
 *   spec.name = "demo";  spec.queue = "research";
 *   spec.stages = &stage;  spec.stage_count = 1;
 *   spec.start_ns = monday_9h;  spec.duration_ns = hour;  spec.notice_ns = 10 * minute;
 *   gang_reservation_id id;
 *   int64_t when_ns;       // accepted: its start; refused: the next possible start
 *   if (gang_reservation_add(sched, &spec, &id, &when_ns, &error) == GANG_OK)
 *       job.reservation = "demo";   // and gang_job_submit(): it waits for Monday, 9 h
 * @endcode
 */
#ifndef GANGSCHED_PLAN_H
#define GANGSCHED_PLAN_H

#include <gangsched/base.h>
#include <gangsched/core.h>
#include <gangsched/job.h>
#include <gangsched/model.h>
#include <gangsched/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Id of a reservation; never reused while the scheduler lives. */
typedef uint64_t gang_reservation_id;

/** Where in its window the reservation is placed (gang_reservation_spec.objective). */
enum {
    GANG_OBJECTIVE_EARLIEST = 0,
    GANG_OBJECTIVE_LATEST = 1,
    /** Where the cluster is used least, according to the present plan: the smallest integral of
     *  usage over the time of the reservation. */
    GANG_OBJECTIVE_CHEAPEST = 2
};

/** How several stages are combined (gang_reservation_spec.combine). */
enum {
    GANG_STAGES_ALL = 0,   /**< all stages, in any order, also at the same time */
    GANG_STAGES_ANY = 1,   /**< only the first stage that can be placed */
    GANG_STAGES_ORDER = 2, /**< all stages, each begins when the one before has ended, or later */
    /** all stages, each begins exactly when the one before has ended */
    GANG_STAGES_ORDER_NO_GAP = 3
};

/** Flags of a reservation (gang_reservation_spec.flags). */
enum {
    /** Maintenance: no job runs inside the reservation. It takes its nodes whole. Nodes that are
     *  not up are not replaced by others. */
    GANG_RESERVATION_MAINTENANCE = 1,
    /** It is accepted even if it overlaps other reservations. The others keep their capacity; the
     *  members of all of them share the common capacity, first come, first served. Its later
     *  instances, and replacements of lost nodes, may overlap too if there is no other capacity,
     *  but never with reservations that were accepted after it. */
    GANG_RESERVATION_OVERLAP = 2,
    /** It is accepted even if running jobs will not have ended when it begins. These jobs continue,
     *  and GANG_RESERVATION_BEGIN names them. Until the last of them has ended, all reservations on
     *  their nodes share what is free. The same is true for its later instances. Replacements of
     *  lost nodes do not use capacity of running jobs. */
    GANG_RESERVATION_IGNORE_JOBS = 4,
    /** Members may also start before it, run on after it, and use other nodes, if capacity is free:
     *  for them the reservation is no restriction. What they hold counts in addition to what is
     *  reserved, so on partly reserved nodes less is available for other jobs than is free. */
    GANG_RESERVATION_FLEX = 8,
    /** Jobs that may be members start inside it without naming it (gang_job_spec.reservation) if
     *  they fit, otherwise outside. */
    GANG_RESERVATION_MAGNETIC = 16
};

/** One stage: groups (`groups`), domains (`level`) or nodes (`nodes`). */
struct gang_reservation_stage {
    size_t size;         /**< sizeof(struct gang_reservation_stage) */
    int64_t duration_ns; /**< 0: the duration of the reservation */
    /** Groups of tasks, `count` tasks each. The library uses these members: count, cpu_milli,
     *  memory_bytes, gpu_milli, gpu_devices, profile, amounts of kinds with GANG_SCOPE_NODE;
     *  labels, where, partition, gpu_models; max_per_node; and `same`, if there is only one stage
     *  with one group. Other constraints, and kinds with GANG_SCOPE_CLUSTER, are refused
     *  (GANG_ENOTSUP); preferences are ignored. */
    const struct gang_group_spec *groups;
    size_t group_size; /**< sizeof(struct gang_group_spec) */
    size_t group_count;
    /** Tasks of the first group that are reserved for the same time, as a gang; of the other groups
     *  in proportion. The first `count` is a multiple of it. 0: all tasks. */
    int64_t gang_size;
    /** 1: nodes with tasks of the stage are reserved whole, and must be wholly free when the stage
     *  begins */
    int32_t exclusive;
    int32_t reserved0; /**< 0 */
    /** reserve whole domains of this level ("rack"): `domain`, or domain_count domains */
    const char *level;
    /** this domain, as a path from the widest level ("z1/r3"); NULL: any domains */
    const char *domain;
    int64_t domain_count;     /**< with `domain` NULL: number of domains; free ones are preferred */
    const char *const *nodes; /**< reserve these nodes, whole */
    size_t node_count;
};

#define GANG_RESERVATION_STAGE_INIT                                                              \
    {                                                                                            \
        sizeof(struct gang_reservation_stage), 0, NULL, sizeof(struct gang_group_spec), 0, 0, 0, \
            0, NULL, NULL, 0, NULL, 0                                                            \
    }

/** A reservation, by value. The call to which it is passed reads all pointers and does not keep
 *  them. Times are on the clock of gang_sched_run(). */
struct gang_reservation_spec {
    size_t size; /**< sizeof(struct gang_reservation_spec) */
    /** 1..GANG_MAX_NAME bytes; unique among reservations that have not ended */
    const char *name;
    const char *owner;   /**< user who makes it, see gang_reservation_set_limit(); NULL: "" */
    int64_t arrival_ns;  /**< it begins at or after this time; a time in the past counts as now */
    int64_t deadline_ns; /**< it ends at or before this time; 0: no deadline */
    int64_t start_ns;    /**< it begins exactly at this time; -1: anywhere in the window */
    int64_t duration_ns; /**< duration of stages whose duration_ns is 0 */
    /** > 0: it recurs with this period; each instance ends before the next one begins */
    int64_t period_ns;
    int64_t repetitions; /**< number of instances; 0: bounded only by until_ns */
    int64_t until_ns;    /**< no instance begins at or after this time; 0: no bound */
    int32_t objective;   /**< GANG_OBJECTIVE_* */
    int32_t combine;     /**< GANG_STAGES_* */
    const struct gang_reservation_stage *stages;
    size_t stage_size;  /**< sizeof(struct gang_reservation_stage) */
    size_t stage_count; /**< 1..64 */
    int32_t flags;      /**< GANG_RESERVATION_* */
    int32_t reserved0;  /**< 0 */
    /** Which jobs may be members: jobs of this queue and of queues below it; jobs of these users;
     *  only the job `job`, which need not name the reservation. Each of the three restricts only if
     *  it is given; a member satisfies all that are given. */
    const char *queue;
    const char *const *users;
    size_t user_count;
    gang_job_id job;
    /** > 0: the instance is cancelled if, after its begin, no member runs or waits for it during
     *  this time */
    int64_t purge_ns;
    /** > 0: op reservation is called this time before it begins (GANG_RESERVATION_NOTICE) */
    int64_t notice_ns;
};

#define GANG_RESERVATION_SPEC_INIT                                                          \
    {                                                                                       \
        sizeof(struct gang_reservation_spec), NULL, NULL, 0, 0, -1, 0, 0, 0, 0, 0, 0, NULL, \
            sizeof(struct gang_reservation_stage), 0, 0, 0, NULL, NULL, 0, 0, 0, 0          \
    }

/** States of a reservation. */
enum {
    /** this instance has not begun */
    GANG_RESERVATION_PLANNED = 0,
    GANG_RESERVATION_ACTIVE = 1
};

/** The state of a reservation, as gang_reservation_get() reads it. */
struct gang_reservation_info {
    size_t size; /**< sizeof(struct gang_reservation_info) */
    gang_reservation_id id;
    int32_t state;       /**< GANG_RESERVATION_PLANNED, _ACTIVE */
    int32_t flags;       /**< GANG_RESERVATION_MAINTENANCE and the other flags */
    int64_t start_ns;    /**< begin of the active instance, or of the next one */
    int64_t end_ns;      /**< end of that instance */
    int64_t instance;    /**< number of that instance, counted from 0 */
    int64_t planned;     /**< number of planned instances, that one included */
    int64_t nodes;       /**< number of nodes of that instance; a node counts once for each piece */
    int64_t running;     /**< number of gangs that run inside it */
    int64_t waiting;     /**< number of waiting jobs that name it */
    gang_queue_id queue; /**< queue of its members; GANG_ID_NONE: any */
    gang_job_id job;     /**< the job that is its member; GANG_ID_NONE: any */
    /** `name` and `owner` are valid until the reservation is changed or ends */
    const char *name;
    const char *owner;
};

#define GANG_RESERVATION_INFO_INIT                                                           \
    {                                                                                        \
        sizeof(struct gang_reservation_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL \
    }

/** How much one user may reserve, in millicores, bytes and milli-GPUs; -1: no limit. The requested
 *  amounts count; for nodes that are reserved whole, their capacity. */
struct gang_reservation_limit {
    size_t size;           /**< sizeof(struct gang_reservation_limit) */
    int64_t max_cpu_milli; /**< sum over the user's reservations at any instant */
    int64_t max_memory_bytes;
    int64_t max_gpu_milli;
    int64_t average_cpu_milli; /**< average over each time of length window_ns */
    int64_t average_memory_bytes;
    int64_t average_gpu_milli;
    int64_t window_ns; /**< 0: the average limits do not apply */
};

#define GANG_RESERVATION_LIMIT_INIT                                      \
    {                                                                    \
        sizeof(struct gang_reservation_limit), -1, -1, -1, -1, -1, -1, 0 \
    }

/** What happened to a reservation (gang_reservation_event.what). */
enum {
    GANG_RESERVATION_NOTICE =
        1, /**< it begins soon, at start_ns (gang_reservation_spec.notice_ns) */
    /** It begins. `jobs` are jobs that still hold some of its nodes and are not members (it was
     *  accepted despite them, or they exceeded their time limits). They are not preempted; the
     *  reservation has only what they leave free. */
    GANG_RESERVATION_BEGIN = 2,
    GANG_RESERVATION_END = 3, /**< the instance has ended */
    /** some of its nodes are no longer up; `outcome` says what follows */
    GANG_RESERVATION_LOST = 4,
    /** the instance was not used and is cancelled (gang_reservation_spec.purge_ns) */
    GANG_RESERVATION_PURGED = 5,
    GANG_RESERVATION_SKIPPED = 6, /**< a later instance does not fit and is skipped */
    /** a reduced reservation got other nodes for those that it lost: for all (`outcome` is
     *  GANG_RESERVATION_KEPT) or for some (_REDUCED) */
    GANG_RESERVATION_RESTORED = 7
};

/** What became of a reservation that lost nodes (gang_reservation_event.outcome). */
enum {
    GANG_RESERVATION_KEPT = 0,  /**< it has other nodes at the same time */
    GANG_RESERVATION_LATER = 1, /**< it was moved to another time in its window */
    /** It continues with the nodes that are up. A reservation of nodes or domains by name keeps the
     *  nodes that are not up and uses them again when they are up; it is in this state even if none
     *  of them is up. */
    GANG_RESERVATION_REDUCED = 2,
    GANG_RESERVATION_DROPPED = 3 /**< the instance is cancelled, because nothing is left of it */
};

/** Argument of op reservation. Valid during the call. */
struct gang_reservation_event {
    size_t size; /**< sizeof(struct gang_reservation_event) of the library */
    gang_reservation_id id;
    const char *name;
    int32_t what;     /**< GANG_RESERVATION_NOTICE ... */
    int32_t outcome;  /**< for _LOST and _RESTORED: GANG_RESERVATION_KEPT ...; otherwise 0 */
    int64_t instance; /**< number of the instance, counted from 0 */
    int64_t start_ns; /**< begin of the instance, as now planned */
    int64_t end_ns;
    const gang_node_id *nodes; /**< its nodes, as now planned, each once, in ascending order */
    size_t node_count;
    const gang_job_id *jobs; /**< for _BEGIN: jobs that still hold nodes of it; otherwise NULL */
    size_t job_count;
    int64_t now_ns;   /**< now_ns of the run */
    const char *text; /**< one English line, never NULL */
};

#define GANG_RESERVATION_EVENT_INIT                                                              \
    {                                                                                            \
        sizeof(struct gang_reservation_event), 0, NULL, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, 0, NULL \
    }

/** Items of the plan (gang_plan_item.what). */
enum {
    GANG_PLAN_RUNNING = 1,    /**< a running gang; it holds its nodes until end_ns at the latest */
    GANG_PLAN_START = 2,      /**< a gang with a planned start (gang_queue_spec.backfill) */
    GANG_PLAN_RESERVATION = 3 /**< a piece of a reservation */
};

/** One item of the plan. Valid during the call. */
struct gang_plan_item {
    size_t size;  /**< sizeof(struct gang_plan_item) of the library */
    int32_t what; /**< GANG_PLAN_* */
    /** number of the gang of the job (gang_event.gang), or of the stage of the reservation */
    int32_t gang;
    uint64_t id;      /**< id of the job or of the reservation */
    uint64_t cookie;  /**< cookie of the job; for a reservation 0 */
    const char *name; /**< name of the job or reservation, or "" */
    int64_t instance; /**< number of the instance of the reservation, counted from 0; for a job 0 */
    int64_t start_ns; /**< time at which it started or will start */
    int64_t end_ns;   /**< latest end, with time limit and grace period; INT64_MAX: none */
    const gang_node_id *nodes; /**< its nodes, each once, in the order of gang_node_next() */
    size_t node_count;
    /** For a job: the reservation inside which it runs or will start, or GANG_ID_NONE. For a
     *  reservation: its id. */
    gang_reservation_id reservation;
};

#define GANG_PLAN_ITEM_INIT                                                  \
    {                                                                        \
        sizeof(struct gang_plan_item), 0, 0, 0, 0, NULL, 0, 0, 0, NULL, 0, 0 \
    }

#ifdef __cplusplus
}
#endif
#endif
