/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plan.h
 * @brief When: reservations, by value, and what the plan is made of.
 *
 * A *reservation* is capacity promised for a window of future time, "like a seat on a plane". Once accepted it is
 * kept free: nobody starts, in whatever queue, who might still be there when it begins. Those for whom it is made,
 * its *members*, start inside it. sched.h takes reservations (gang_reservation_add()) and says what holds.
 *
 * What is reserved is said by *stages*, each one of
 *   - groups of tasks, of which so many at a time are a gang: "16 tasks of 8 GPUs, 8 at a time, for an hour";
 *     with `exclusive` the nodes they come to lie on are taken whole: "4 whole nodes" are a group of 4 tasks
 *     that ask for nothing, at most 1 a node, exclusive;
 *   - whole domains of the topology: so many of a level ("2 racks"), or the one that is named;
 *   - nodes by name.
 * When is said by the window [arrival_ns, deadline_ns], or exactly by start_ns; all of it lies in the window.
 * With period_ns it is repeated; a calendar with holidays is the host's, who adds each date by itself.
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
 *   int64_t when_ns;       // accepted: its start; refused: the next start that would be
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

/** Id of a reservation; never used again while the scheduler lives. */
typedef uint64_t gang_reservation_id;

/** Where in the window? (gang_reservation_spec.prefer) */
enum {
    GANG_OBJECTIVE_EARLIEST = 0,
    GANG_OBJECTIVE_LATEST = 1,
    /** where least is in use, by the plan as it is: the least integral of the load over its time */
    GANG_OBJECTIVE_CHEAPEST = 2
};

/** Several stages (gang_reservation_spec.combine). */
enum {
    GANG_STAGES_ALL = 0,   /**< each of them in the window, in any order, also at the same time */
    GANG_STAGES_ANY = 1,   /**< the first of them that can be placed, and no other */
    GANG_STAGES_ORDER = 2, /**< each begins when the one before has ended, or later */
    GANG_STAGES_ORDER_NO_GAP = 3 /**< exactly then */
};

/** gang_reservation_spec.flags. */
enum {
    /** Nobody runs there: it has no members, and takes all that its nodes have. Nodes of it that are not up
     *  are not replaced. */
    GANG_RESERVATION_MAINTENANCE = 1,
    /** Accepted though other reservations are there at that time. Those keep their places; what is there is then
     *  for whoever of the members of all of them comes first. So are its later times, and what it gets for nodes that
     *  it lost, where there is no room beside them; never over reservations accepted after it. */
    GANG_RESERVATION_OVERLAP = 2,
    /** Accepted though jobs run there that will not have ended. They run on; who they are is told by the event when
     *  it begins, and it is whole when the last of them has ended. Until then all that is reserved on these nodes
     *  shares what is free. So are its later times; but what it gets for nodes that it lost is beside those who run. */
    GANG_RESERVATION_IGNORE_JOBS = 4,
    /** Its members may also start before it, run on after it, and use other nodes, as far as others leave room:
     *  for them it is as if it were not there. What they hold counts beside what is reserved, so that on nodes of which
     *  parts are reserved others see less than there is. */
    GANG_RESERVATION_FLEX = 8,
    /** Jobs that are allowed in it start inside it without naming it, if there is room, and else outside. */
    GANG_RESERVATION_MAGNETIC = 16
};

/** One stage: groups, or domains, or nodes. */
struct gang_reservation_stage {
    size_t size;         /**< sizeof(struct gang_reservation_stage) */
    int64_t duration_ns; /**< 0: the reservation's */
    /** Tasks of each shape: `count` of them in all. Read are count, cpu_milli, memory_bytes, gpu_milli,
     *  gpu_devices, and what says which nodes: labels, where, partition, gpu_models; max_per_node; and `same`, in
     *  the only group of a single stage. What else constrains is refused (GANG_ENOTSUP); wishes are not looked at. */
    const struct gang_group_spec *groups;
    size_t group_size; /**< sizeof(struct gang_group_spec) */
    size_t group_count;
    /** so many tasks of the first group are there at the same time, or none of them; the other groups in
     *  proportion. It divides the first count. 0: all */
    int64_t gang_size;
    int32_t exclusive;        /**< 1: nodes on which tasks lie are taken whole, and were free */
    int32_t reserved0;        /**< 0 */
    const char *level;        /**< whole domains of this level ("rack"): */
    const char *domain;       /**< this one, as a path of values down to it ("z1/r3"); NULL: */
    int64_t domain_count;     /**< so many of them, those that are free first */
    const char *const *nodes; /**< these, whole */
    size_t node_count;
};

#define GANG_RESERVATION_STAGE_INIT                                                              \
    {                                                                                            \
        sizeof(struct gang_reservation_stage), 0, NULL, sizeof(struct gang_group_spec), 0, 0, 0, \
            0, NULL, NULL, 0, NULL, 0                                                            \
    }

/** A reservation, by value. All pointers are borrowed for the duration of the call. */
struct gang_reservation_spec {
    size_t size;         /**< sizeof(struct gang_reservation_spec) */
    const char *name;    /**< 1..GANG_MAX_NAME bytes; unique among those that are not over */
    const char *owner;   /**< the user who makes it, for limits; NULL: "" */
    int64_t arrival_ns;  /**< not before; what has passed counts as now */
    int64_t deadline_ns; /**< all of it has ended by then; 0: no deadline */
    int64_t start_ns;    /**< begins exactly then; -1: wherever it fits in the window */
    int64_t duration_ns; /**< of stages that give none */
    int64_t
        period_ns; /**< > 0: again so much later, and so on; each time has ended when the next one begins */
    int64_t repetitions; /**< how often, with the first; 0: without end, or until until_ns */
    int64_t until_ns;    /**< none begins then or later; 0: no bound */
    int32_t objective;   /**< GANG_OBJECTIVE_* */
    int32_t combine;     /**< GANG_STAGES_* */
    const struct gang_reservation_stage *stages;
    size_t stage_size;  /**< sizeof(struct gang_reservation_stage) */
    size_t stage_count; /**< 1..64 */
    int32_t flags;      /**< GANG_RESERVATION_* */
    int32_t reserved0;  /**< 0 */
    /** For whom: jobs of this queue and those below it, of one of these users, or this job alone (which then
     *  need not name it); what is not given does not matter. */
    const char *queue;
    const char *const *users;
    size_t user_count;
    gang_job_id job;
    /** > 0: given up when so long after its begin no member runs or waits, and has not for so long; of one that is
     *  repeated, this time alone */
    int64_t purge_ns;
    int64_t notice_ns; /**< > 0: op reservation tells of it so long before it begins */
};

#define GANG_RESERVATION_SPEC_INIT                                                          \
    {                                                                                       \
        sizeof(struct gang_reservation_spec), NULL, NULL, 0, 0, -1, 0, 0, 0, 0, 0, 0, NULL, \
            sizeof(struct gang_reservation_stage), 0, 0, 0, NULL, NULL, 0, 0, 0, 0          \
    }

/** States of a reservation. */
enum {
    GANG_RESERVATION_PLANNED = 0, /**< it has not begun; of one that is repeated: not this time */
    GANG_RESERVATION_ACTIVE = 1
};

/** A reservation as it is. */
struct gang_reservation_info {
    size_t size; /**< sizeof(struct gang_reservation_info) */
    gang_reservation_id id;
    int32_t state;       /**< GANG_RESERVATION_PLANNED, _ACTIVE */
    int32_t flags;       /**< GANG_RESERVATION_MAINTENANCE and its like */
    int64_t start_ns;    /**< this time, or the next time: where it begins, */
    int64_t end_ns;      /**< and where all of it has ended */
    int64_t instance;    /**< which time that is, from 0 */
    int64_t planned;     /**< so many times are planned, this one included */
    int64_t nodes;       /**< this time: nodes, each once for each piece */
    int64_t running;     /**< gangs that run inside it */
    int64_t waiting;     /**< jobs that named it and wait */
    gang_queue_id queue; /**< for whom; GANG_ID_NONE: any */
    gang_job_id job;     /**< likewise */
    const char *name;    /**< valid until the reservation is changed or over; so what follows */
    const char *owner;
};

/** What a user may have reserved, of each kind in its unit (millicores, bytes, milli-GPUs); -1: any amount. What is
 *  reserved counts as asked for; of nodes that are taken whole, all that they have. */
struct gang_reservation_limit {
    size_t size;           /**< sizeof(struct gang_reservation_limit) */
    int64_t max_cpu_milli; /**< at any instant */
    int64_t max_memory_bytes;
    int64_t max_gpu_milli;
    int64_t average_cpu_milli; /**< over any window_ns, wherever it begins: the integral, exactly */
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
        1, /**< it begins soon, at start_ns: time to checkpoint what is in its way */
    /** it begins; `jobs` are those that are not its members and still hold some of its nodes (it was accepted in
     *  spite of them, or they overran): they are not displaced, and what is free is what it has */
    GANG_RESERVATION_BEGIN = 2,
    GANG_RESERVATION_END = 3,     /**< it is over, this time */
    GANG_RESERVATION_LOST = 4,    /**< nodes of it are not up any more: see `outcome` */
    GANG_RESERVATION_PURGED = 5,  /**< it was not used, and has been given up, this time */
    GANG_RESERVATION_SKIPPED = 6, /**< one more time could not be planned, and is left out */
    /** one that was reduced has other nodes for what it had lost: all of it (`outcome` _KEPT), or some (_REDUCED) */
    GANG_RESERVATION_RESTORED = 7
};

/** What became of one that lost nodes. */
enum {
    GANG_RESERVATION_KEPT = 0,  /**< other nodes at the same time */
    GANG_RESERVATION_LATER = 1, /**< another time in its window */
    /** what is left of it. One whose nodes are not replaced (by name, whole domains) keeps them, and may have them again when they
     *  are up: it is reduced, not dropped, though none of them be */
    GANG_RESERVATION_REDUCED = 2,
    GANG_RESERVATION_DROPPED = 3 /**< nothing is left of it, this time */
};

/** What op reservation is about. Valid during the call. */
struct gang_reservation_event {
    size_t size; /**< sizeof(struct gang_reservation_event) of the library */
    gang_reservation_id id;
    const char *name;
    int32_t what;     /**< GANG_RESERVATION_NOTICE and its like */
    int32_t outcome;  /**< of _LOST and _RESTORED: GANG_RESERVATION_KEPT and its like */
    int64_t instance; /**< which time, from 0 */
    int64_t start_ns; /**< from when to when, now */
    int64_t end_ns;
    const gang_node_id *nodes; /**< where, now: each once, ascending */
    size_t node_count;
    const gang_job_id *jobs; /**< of _BEGIN: who is in the way */
    size_t job_count;
    int64_t now_ns;   /**< of the run */
    const char *text; /**< one English line, never NULL */
};

/** What the plan is made of. */
enum {
    GANG_PLAN_RUNNING = 1,    /**< a gang that holds its nodes until end_ns, at the latest */
    GANG_PLAN_START = 2,      /**< one that is planned to start (gang_queue_spec.backfill) */
    GANG_PLAN_RESERVATION = 3 /**< a piece of a reservation */
};

/** One of it. Valid during the call. */
struct gang_plan_item {
    size_t size;     /**< sizeof(struct gang_plan_item) of the library */
    int32_t what;    /**< GANG_PLAN_* */
    int32_t gang;    /**< which gang of the job (gang_event.part); which stage of the reservation */
    uint64_t id;     /**< of the job, of the reservation */
    uint64_t cookie; /**< of the job; else 0 */
    const char *name;          /**< its name; "" */
    int64_t instance;          /**< which time of the reservation, from 0; else 0 */
    int64_t start_ns;          /**< when it started, or is to */
    int64_t end_ns;            /**< at the latest, time limit and grace; INT64_MAX: it has no end */
    const gang_node_id *nodes; /**< each once, ascending by slot */
    size_t node_count;
    /** the reservation inside which it runs or is to start; its own id of a reservation; GANG_ID_NONE */
    gang_reservation_id reservation;
};

#ifdef __cplusplus
}
#endif
#endif
