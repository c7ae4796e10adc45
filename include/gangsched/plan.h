/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plan.h
 * @brief When: reservations, by value, and what the plan consists of.
 *
 * A *reservation* is capacity promised for a window of future time. An accepted reservation is kept
 * free: no gang of any queue starts if it might still run when the reservation begins. The jobs
 * that the reservation is for, its *members*, start inside it. sched.h takes reservations
 * (gang_reservation_add()) and states the rules.
 *
 * *Stages* say what is reserved. Each stage is one of
 *   - groups of tasks, of which a given number at a time form a gang: "16 tasks of 8 GPUs, 8 at a
 *     time, for an hour". With `exclusive` their nodes are reserved whole: "4 whole nodes" is a
 *     group of 4 tasks that request nothing, at most 1 a node, exclusive;
 *   - whole domains of the topology: a number of domains of a level ("2 racks"), or one by name;
 *   - nodes by name.
 * Processors, memory, GPUs, kinds of the site and instances of device profiles (MIG) are reserved
 * alike. Of a profile as many instances are kept as are reserved, wherever the instances of other
 * profiles lie; so some that would just fit may have to wait. A member takes from its reservation
 * what that names, and other kinds and profiles like a job outside. All reservations together name
 * at most 16 kinds of the site and profiles, a profile counting twice (GANG_ELIMIT).
 *
 * The window [arrival_ns, deadline_ns], or exactly start_ns, says when; all of the reservation lies
 * in the window. With period_ns it recurs, and each time is an *instance*. For a calendar with
 * holidays the host adds each date as a reservation of its own.
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

/** Where in the window? (gang_reservation_spec.objective) */
enum {
    GANG_OBJECTIVE_EARLIEST = 0,
    GANG_OBJECTIVE_LATEST = 1,
    /** Where the least is in use, by the present plan: the smallest integral of the load over
     *  its time. */
    GANG_OBJECTIVE_CHEAPEST = 2
};

/** Several stages (gang_reservation_spec.combine). */
enum {
    GANG_STAGES_ALL = 0,   /**< all of them in the window, in any order, also at the same time */
    GANG_STAGES_ANY = 1,   /**< only the first stage that can be placed */
    GANG_STAGES_ORDER = 2, /**< each begins when the one before has ended, or later */
    GANG_STAGES_ORDER_NO_GAP = 3 /**< each begins exactly when the one before has ended */
};

/** gang_reservation_spec.flags. */
enum {
    /** No job runs there: the reservation has no members and takes its nodes whole. Nodes that
     *  are not up are not replaced. */
    GANG_RESERVATION_MAINTENANCE = 1,
    /** Accepted even if other reservations overlap it. The others keep their capacity; the
     *  members of all of them share what is there, first come, first served. The same holds for
     *  its later instances and for replacements of lost nodes, if there is no capacity beside
     *  the others. It never overlaps reservations that were accepted after it. */
    GANG_RESERVATION_OVERLAP = 2,
    /** Accepted even if running jobs will not have ended. They continue; the event at its begin
     *  names them, and the reservation is whole when the last of them has ended. Until then all
     *  reservations on these nodes share what is free. The same holds for its later instances;
     *  replacements of lost nodes lie beside running jobs. */
    GANG_RESERVATION_IGNORE_JOBS = 4,
    /** Its members may also start before it, continue after it, and use other nodes, as far as
     *  other jobs leave capacity: for them the reservation does not exist. What they hold counts
     *  beside what is reserved, so other jobs see less than there is on partly reserved nodes. */
    GANG_RESERVATION_FLEX = 8,
    /** Jobs that are allowed in it start inside it without naming it if they fit, otherwise
     *  outside. */
    GANG_RESERVATION_MAGNETIC = 16
};

/** One stage: groups, or domains, or nodes. */
struct gang_reservation_stage {
    size_t size;         /**< sizeof(struct gang_reservation_stage) */
    int64_t duration_ns; /**< 0: the duration of the reservation */
    /** Tasks of each group: `count` of them in all. The library reads count, cpu_milli,
     *  memory_bytes, gpu_milli, gpu_devices, profile, and amounts of kinds that nodes have; for the
     *  choice of nodes labels, where, partition, gpu_models; max_per_node; and `same`, in the only
     *  group of a single stage. Other constraints, and amounts of pools of the whole cluster, are
     *  refused (GANG_ENOTSUP); preferences are ignored. */
    const struct gang_group_spec *groups;
    size_t group_size; /**< sizeof(struct gang_group_spec) */
    size_t group_count;
    /** This many tasks of the first group are there at the same time, or none of them; the other
     *  groups in proportion. Divides the first count. 0: all. */
    int64_t gang_size;
    /** 1: nodes with tasks are reserved whole, and must be free before */
    int32_t exclusive;
    int32_t reserved0;        /**< 0 */
    const char *level;        /**< whole domains of this level ("rack"): */
    const char *domain;       /**< this one, as a path of values from the top ("z1/r3"); NULL: */
    int64_t domain_count;     /**< this many, free ones first */
    const char *const *nodes; /**< these nodes, whole */
    size_t node_count;
};

#define GANG_RESERVATION_STAGE_INIT                                                              \
    {                                                                                            \
        sizeof(struct gang_reservation_stage), 0, NULL, sizeof(struct gang_group_spec), 0, 0, 0, \
            0, NULL, NULL, 0, NULL, 0                                                            \
    }

/** A reservation, by value. All pointers are borrowed for the duration of the call. */
struct gang_reservation_spec {
    size_t size; /**< sizeof(struct gang_reservation_spec) */
    /** 1..GANG_MAX_NAME bytes; unique among reservations that have not ended */
    const char *name;
    const char *owner;   /**< user that makes it, for gang_reservation_set_limit(); NULL: "" */
    int64_t arrival_ns;  /**< not before this time; a time in the past counts as now */
    int64_t deadline_ns; /**< all of it has ended by this time; 0: no deadline */
    int64_t start_ns;    /**< it begins exactly then; -1: anywhere in the window */
    int64_t duration_ns; /**< of stages without a duration */
    /** > 0: the period, with which it recurs; an instance ends before the next begins */
    int64_t period_ns;
    int64_t repetitions; /**< number of instances; 0: no end, or until until_ns */
    int64_t until_ns;    /**< no instance begins at or after this time; 0: no bound */
    int32_t objective;   /**< GANG_OBJECTIVE_* */
    int32_t combine;     /**< GANG_STAGES_* */
    const struct gang_reservation_stage *stages;
    size_t stage_size;  /**< sizeof(struct gang_reservation_stage) */
    size_t stage_count; /**< 1..64 */
    int32_t flags;      /**< GANG_RESERVATION_* */
    int32_t reserved0;  /**< 0 */
    /** Members: jobs of this queue and of queues below it; jobs of one of these users; or this
     *  job only (which then need not name the reservation). A member left empty does not
     *  restrict. */
    const char *queue;
    const char *const *users;
    size_t user_count;
    gang_job_id job;
    /** > 0: cancelled if no member runs or waits for this time after its begin; of a recurring
     *  reservation this instance only. */
    int64_t purge_ns;
    int64_t notice_ns; /**< > 0: op reservation announces it this time before its begin */
};

#define GANG_RESERVATION_SPEC_INIT                                                          \
    {                                                                                       \
        sizeof(struct gang_reservation_spec), NULL, NULL, 0, 0, -1, 0, 0, 0, 0, 0, 0, NULL, \
            sizeof(struct gang_reservation_stage), 0, 0, 0, NULL, NULL, 0, 0, 0, 0          \
    }

/** States of a reservation. */
enum {
    /** it has not begun; of a recurring one: this instance has not */
    GANG_RESERVATION_PLANNED = 0,
    GANG_RESERVATION_ACTIVE = 1
};

/** A reservation now. */
struct gang_reservation_info {
    size_t size; /**< sizeof(struct gang_reservation_info) */
    gang_reservation_id id;
    int32_t state;       /**< GANG_RESERVATION_PLANNED, _ACTIVE */
    int32_t flags;       /**< GANG_RESERVATION_MAINTENANCE and the other flags */
    int64_t start_ns;    /**< begin of this or the next instance */
    int64_t end_ns;      /**< its end */
    int64_t instance;    /**< number of that instance, from 0 */
    int64_t planned;     /**< instances planned, this one included */
    int64_t nodes;       /**< nodes of this instance, each once for each piece */
    int64_t running;     /**< gangs that run inside it */
    int64_t waiting;     /**< waiting jobs that name it */
    gang_queue_id queue; /**< queue of its members; GANG_ID_NONE: any */
    gang_job_id job;     /**< the job that is its member; GANG_ID_NONE: any */
    /** this and `owner`: valid until the reservation is changed or has ended */
    const char *name;
    const char *owner;
};

#define GANG_RESERVATION_INFO_INIT                                                           \
    {                                                                                        \
        sizeof(struct gang_reservation_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL \
    }

/** What a user may reserve, of each kind in its unit (millicores, bytes, milli-GPUs); -1: any
 *  amount. Counts what is requested; of nodes reserved whole, all that they have. */
struct gang_reservation_limit {
    size_t size;           /**< sizeof(struct gang_reservation_limit) */
    int64_t max_cpu_milli; /**< at any instant */
    int64_t max_memory_bytes;
    int64_t max_gpu_milli;
    int64_t average_cpu_milli; /**< over any window_ns: the integral, exactly */
    int64_t average_memory_bytes;
    int64_t average_gpu_milli;
    int64_t window_ns; /**< 0: averages do not count */
};

#define GANG_RESERVATION_LIMIT_INIT                                      \
    {                                                                    \
        sizeof(struct gang_reservation_limit), -1, -1, -1, -1, -1, -1, 0 \
    }

/** What happened to a reservation. */
enum {
    GANG_RESERVATION_NOTICE =
        1, /**< it begins soon, at start_ns: time to checkpoint jobs that are in its way */
    /** It begins. `jobs` are jobs that are not its members and still hold some of its nodes (it
     *  was accepted in spite of them, or they overran). They are not preempted; the reservation
     *  has what is free. */
    GANG_RESERVATION_BEGIN = 2,
    GANG_RESERVATION_END = 3,     /**< this instance has ended */
    GANG_RESERVATION_LOST = 4,    /**< some of its nodes are no longer up: see `outcome` */
    GANG_RESERVATION_PURGED = 5,  /**< this instance was not used and is cancelled */
    GANG_RESERVATION_SKIPPED = 6, /**< a later instance could not be planned and is skipped */
    /** A reduced reservation got other nodes for those it lost: for all (`outcome` _KEPT), or
     *  for some (_REDUCED). */
    GANG_RESERVATION_RESTORED = 7
};

/** What became of a reservation that lost nodes. */
enum {
    GANG_RESERVATION_KEPT = 0,  /**< other nodes at the same time */
    GANG_RESERVATION_LATER = 1, /**< another time in its window */
    /** What is left of it. If its nodes are not replaced (by name, whole domains), it keeps them
     *  and gets them back when they are up: it is reduced, not dropped, even if none of them is
     *  up. */
    GANG_RESERVATION_REDUCED = 2,
    GANG_RESERVATION_DROPPED = 3 /**< nothing is left of this instance */
};

/** What op reservation is about. Valid during the call. */
struct gang_reservation_event {
    size_t size; /**< sizeof(struct gang_reservation_event) of the library */
    gang_reservation_id id;
    const char *name;
    int32_t what;     /**< GANG_RESERVATION_NOTICE ... */
    int32_t outcome;  /**< of _LOST and _RESTORED: GANG_RESERVATION_KEPT ... */
    int64_t instance; /**< number of the instance, from 0 */
    int64_t start_ns; /**< begin, as of now */
    int64_t end_ns;
    const gang_node_id *nodes; /**< its nodes, as of now: each once, ascending */
    size_t node_count;
    const gang_job_id *jobs; /**< of _BEGIN: the jobs that are in the way */
    size_t job_count;
    int64_t now_ns;   /**< of the run */
    const char *text; /**< one English line, never NULL */
};

#define GANG_RESERVATION_EVENT_INIT                                                              \
    {                                                                                            \
        sizeof(struct gang_reservation_event), 0, NULL, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, 0, NULL \
    }

/** What the plan consists of. */
enum {
    GANG_PLAN_RUNNING = 1,    /**< a gang that holds its nodes until end_ns at the latest */
    GANG_PLAN_START = 2,      /**< a gang with a planned start (gang_queue_spec.backfill) */
    GANG_PLAN_RESERVATION = 3 /**< a piece of a reservation */
};

/** One item of the plan. Valid during the call. */
struct gang_plan_item {
    size_t size;               /**< sizeof(struct gang_plan_item) of the library */
    int32_t what;              /**< GANG_PLAN_* */
    int32_t gang;              /**< gang of the job (gang_event.gang); stage of the reservation */
    uint64_t id;               /**< of the job, of the reservation */
    uint64_t cookie;           /**< of the job; else 0 */
    const char *name;          /**< its name, or "" */
    int64_t instance;          /**< instance of the reservation, from 0; else 0 */
    int64_t start_ns;          /**< when it started, or will start */
    int64_t end_ns;            /**< latest end, time limit and grace period; INT64_MAX: no end */
    const gang_node_id *nodes; /**< each once, ascending by slot */
    size_t node_count;
    /** The reservation inside which it runs or will start; of a reservation its own id; or
     *  GANG_ID_NONE. */
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
