/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file place.h
 * @brief Where: requests and allocations; gang and incremental, usable without any queue.
 *
 * A *request* says what a job needs: task groups (roles) of one shape each, how many tasks must
 * start together (`min`), how many it can use (`count`), constraints and a policy. It is made once,
 * checked once, is immutable, and any number of threads may use it at once.
 *
 * An *allocation* is a committed grant. gang_alloc() gives the whole gang or nothing, in one step:
 * no other thread ever sees a part of it. gang_alloc_grow() then adds tasks up to `count`, one by
 * one, as capacity becomes free; gang_alloc_shrink() and gang_alloc_free() release.
 *
 * An allocation that a scheduler (sched.h) made for a job, or holds for one, is changed by that
 * scheduler alone. Any thread may read it. For others gang_alloc_grow(), gang_alloc_shrink() and
 * gang_alloc_free() return GANG_EBUSY and change nothing: report to the scheduler instead
 * (gang_report_tasks(), gang_report_end(), gang_job_cancel(), gang_job_set_target()).
 *
 * @code
 *   struct gang_group_spec worker = GANG_GROUP_SPEC_INIT;
 *   worker.name = "worker";  worker.count = worker.min = 16;
 *   worker.cpu_milli = 8000; worker.gpu_milli = 1000;
 *   struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
 *   spec.groups = &worker;   spec.group_count = 1;
 *   gang_request *request;   gang_alloc_id id;
 *   if (gang_request_new(cluster, &spec, &request, &error) == GANG_OK &&
 *       gang_alloc(w, request, &id, &error) == GANG_OK) ...
 * @endcode
 */
#ifndef GANGSCHED_PLACE_H
#define GANGSCHED_PLACE_H

#include <gangsched/base.h>
#include <gangsched/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- requests -------------------------------------------------------------------------- */

/** A gang_request_spec (model.h), checked and compiled; reference-counted. */
typedef struct gang_request gang_request;

/**
 * Check and compile a request.
 * @return GANG_OK and *request, ended with gang_request_free(); GANG_EINVAL (no group, bad index,
 *   gpu_milli above 1000 and not a multiple of it, two ways of requesting GPUs, ...); GANG_ERANGE
 *   (negative or too large); GANG_ENOENT (unknown kind or level); GANG_ECYCLE (group sets);
 *   GANG_EPARSE (gang_group_spec.where; error->column is the byte); GANG_E2BIG; GANG_ELIMIT;
 *   GANG_ENOMEM. The error's path names the member: "groups[1].amounts[0].kind".
 * Any thread. May allocate. O(size of the specification).
 */
GANG_API gang_result gang_request_new(gang_cluster *cluster, const struct gang_request_spec *spec,
                                      gang_request **request, struct gang_error *error)
    GANG_MUST_CHECK;

/** End the caller's use of a request. Allocations made with it keep its memory as long as they
 *  need it. A worker keeps that of the request it used last, until it uses another or the
 *  cluster ends. All requests must be ended before gang_cluster_free(). NULL is allowed. Any
 *  thread. */
GANG_API void gang_request_free(gang_request *request);

/* ---- allocations ----------------------------------------------------------------------- */

/**
 * Place the whole gang now, or nothing. Every group gets its `min` (and the request its own).
 *
 * @param id receives the allocation; must not be NULL
 * @param error on a refusal: the group, and the kind or constraint that is short; NULL saves the
 *   time to find out
 * @return GANG_OK; GANG_ENOFIT: not now; GANG_ENEVER: not even if all nodes were up and empty;
 *   GANG_EINVAL; GANG_ELIMIT (2^32 - 1 allocations); GANG_ENOMEM; with GANG_POLICY_HOST the result
 *   of its function, and GANG_EBUSY (nodes were removed or changed during each of 64 calls of it).
 *   (A refusal after 64 searches that releases of other threads disturbed is given without proof.)
 * A refusal of a request with one group is true at an instant inside the call. With several groups
 * the search is greedy, then exhaustive: complete on up to 24 nodes for gangs of ordinary size
 * (5,000 steps), otherwise over 64 choices of domains. Beyond that GANG_ENOFIT (or, by the same
 * search on the empty cluster, GANG_ENEVER) may be returned for a gang that could be placed.
 * O(tasks) with a policy that walks, O(nodes * tasks) with one that scores; `same` and `prefer` add
 * some loads a domain.
 * Owner of the worker. Lock-free. Allocates the record of the allocation (the worker keeps and
 * reuses released records), for a gang larger than any before on this worker, and for tables that
 * double.
 */
GANG_API gang_result gang_alloc(gang_worker *worker, gang_request *request, gang_alloc_id *id,
                                struct gang_error *error) GANG_MUST_CHECK;

/**
 * Prepare the worker for gangs of up to `tasks` tasks, so that later calls plan and commit without
 * allocating memory, except for the record of each live allocation. Without this call the worker
 * grows when a larger gang than ever before comes.
 * @return GANG_OK; GANG_ERANGE (tasks < 1 or > 2^24); GANG_ENOMEM.
 * Owner of the worker. May allocate.
 */
GANG_API gang_result gang_worker_preallocate(gang_worker *worker, int64_t tasks) GANG_MUST_CHECK;

/** Dry run: like gang_alloc(), but takes nothing. GANG_OK: the gang would have been placed,
 *  judging the nodes one after the other; without concurrent changes that is exact. */
GANG_API gang_result gang_alloc_test(gang_worker *worker, gang_request *request,
                                     struct gang_error *error) GANG_MUST_CHECK;

/**
 * Could it ever fit: on the present nodes, all up and with nothing taken. Scores do not count: a
 * node that the function of a host leaves out does not fit now, which is not the question here.
 * @return GANG_OK; GANG_ENEVER with the reason; GANG_EINVAL; GANG_ENOMEM.
 * Owner of the worker. Lock-free. O(nodes) unless found early; the request remembers the answer
 * until nodes change.
 */
GANG_API gang_result gang_request_fits_ever(gang_worker *worker, gang_request *request,
                                            struct gang_error *error) GANG_MUST_CHECK;

/**
 * Incremental allocation: add up to `tasks` tasks of one group, one by one, until `count` is
 * reached or nothing more fits.
 * @param group index of the group; -1: any group, in order
 * @param tasks >= 1
 * @param granted receives the number added; may be NULL. More than `tasks` if the group was below
 *   its `min` (after gang_alloc_adopt()): it returns to `min` whole or not at all; and with
 *   subgroups, to make whole subgroups
 * @return GANG_OK if at least one was added; GANG_ENOFIT: none fits now; GANG_ENEVER: one more
 *   could never fit; GANG_ERANGE: the group has its `count` already, or `tasks` < 1; GANG_EINVAL;
 *   GANG_ESTALE; GANG_EBUSY (another thread is changing this allocation; a scheduler holds it; or
 *   as gang_alloc());
 *   GANG_ENOMEM; the result of a host's function, during which the allocation is GANG_EBUSY to
 *   others.
 * Owner of the worker. Lock-free.
 */
GANG_API gang_result gang_alloc_grow(gang_worker *worker, gang_alloc_id id, int32_t group,
                                     int64_t tasks, int64_t *granted, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Like gang_alloc_grow(), but all or nothing: exactly `tasks` more tasks of one group, in one step.
 * @param group index of the group
 * @return GANG_OK: all were added; GANG_ENOFIT: not all fit now, whether or not some would;
 *   GANG_ENEVER: all of them could never fit beside the tasks that it has; GANG_ERANGE: `tasks` is
 *   below 1, above the group's `count`, too few for its `min`, or not whole subgroups; GANG_EINVAL;
 *   GANG_ESTALE; GANG_EBUSY and other results as gang_alloc_grow(). On any error nothing is added.
 * Owner of the worker. Lock-free.
 */
GANG_API gang_result gang_alloc_grow_whole(gang_worker *worker, gang_alloc_id id, int32_t group,
                                           int64_t tasks, struct gang_error *error) GANG_MUST_CHECK;

/**
 * Release the given tasks, all in one step.
 * @param tasks numbers of tasks (gang_task.task); each at most once
 * @return GANG_OK; GANG_EINVAL; GANG_ENOENT (no such task); GANG_ENOFIT with GANG_CONSTRAINT_MIN: a
 *   group, a group set or the job would fall below its minimum (free the whole allocation instead);
 *   GANG_ESTALE; GANG_EBUSY (another thread is changing or reading it; or a scheduler holds it);
 *   GANG_ENOMEM. On any error nothing is released.
 * Owner of the worker. Lock-free.
 */
GANG_API gang_result gang_alloc_shrink(gang_worker *worker, gang_alloc_id id, const int64_t *tasks,
                                       int64_t task_count, struct gang_error *error)
    GANG_MUST_CHECK;

/** Release everything and end the allocation, in one step. @return GANG_OK; GANG_EINVAL;
 *  GANG_ESTALE; GANG_EBUSY (another thread is changing or reading it; or a scheduler holds it, and
 *  nothing changed however often the call is repeated); GANG_ENOMEM (only on a
 *  worker that never handled a gang of that size, see gang_worker_preallocate(); nothing
 *  changed). Owner of the worker. Lock-free. */
GANG_API gang_result gang_alloc_free(gang_worker *worker, gang_alloc_id id) GANG_MUST_CHECK;

/** The exact place of one task: for a host that restores its state, or has a placement of its
 *  own. Callers built with an older, shorter struct leave the task and the cores to the library. */
struct gang_placement {
    size_t size;         /**< sizeof(struct gang_placement) */
    int32_t group;       /**< index of the group */
    int32_t any_devices; /**< 1: `gpus` is ignored and the library picks the devices */
    gang_node_id node;
    uint64_t gpus; /**< bit i: GPU i, wholly or the group's share of it */
    /** number of the task (gang_task.task), one of its group; -1: the library chooses. Of the
     *  places of one call all name their task, or none does. */
    int64_t task;
    int32_t any_cores; /**< 1: `cores` is ignored and the library picks the cores */
    int32_t reserved0;
    uint64_t cores[GANG_MAX_CORES / 64]; /**< bit i: core i of the node, the task's own ones */
};

#define GANG_PLACEMENT_INIT                                  \
    {                                                        \
        sizeof(struct gang_placement), 0, 1, 0, 0, -1, 1, 0, \
        {                                                    \
            0                                                \
        }                                                    \
    }

/**
 * Take exactly these places, all or nothing, whatever `min`, constraints and node states say
 * (capacity is always respected; a node that is removed takes nothing).
 * @return GANG_OK; GANG_ENOFIT (taken already; `error` names node and kind); GANG_ESTALE (node);
 *   GANG_EINVAL (also devices or cores that do not suit the group; some places name their task,
 *   some do not); GANG_EEXIST (the number of another task); GANG_ERANGE (more tasks of a group than
 *   `count`; a task that is not of its group); GANG_ENOMEM; GANG_ELIMIT. `error` has the path:
 *   "places[3]".
 * Owner of the worker. Lock-free.
 */
GANG_API gang_result gang_alloc_adopt(gang_worker *worker, gang_request *request,
                                      const struct gang_placement *places, int64_t place_count,
                                      gang_alloc_id *id, struct gang_error *error) GANG_MUST_CHECK;

/** One task of an allocation. */
struct gang_task {
    size_t size; /**< sizeof(struct gang_task) */
    /** Number of the task, constant while it is held, unique in the allocation. Group g owns the
     *  numbers from the sum of the `count` of the groups before it; a new task of the group gets
     *  the lowest one that is free. Of a job: see job.h. */
    int64_t task;
    gang_node_id node;
    int32_t group;      /**< index of its group; in an allocation of a job, in the job */
    int32_t gpu_count;  /**< devices it holds or shares */
    int32_t gpu_share;  /**< milli-GPUs of each of them; 1000: whole */
    int32_t core_count; /**< cores of its own; 0: runs in the shared ones */
    int64_t cpu_milli;  /**< millicores */
    int64_t memory_bytes;
    uint64_t gpus;                       /**< bit i: GPU i of the node */
    uint64_t cores[GANG_MAX_CORES / 64]; /**< bit i: core i of the node */
};

#define GANG_TASK_INIT                                       \
    {                                                        \
        sizeof(struct gang_task), 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        {                                                    \
            0                                                \
        }                                                    \
    }

/** What an allocation holds in all. */
struct gang_alloc_info {
    size_t size;   /**< sizeof(struct gang_alloc_info) */
    int64_t tasks; /**< tasks held now */
    int64_t min;   /**< tasks that must run */
    int64_t count; /**< tasks it can use */
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t gpu_milli;
};

#define GANG_ALLOC_INFO_INIT                             \
    {                                                    \
        sizeof(struct gang_alloc_info), 0, 0, 0, 0, 0, 0 \
    }

/** Totals of an allocation. @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (another thread
 *  is changing it). Any thread. O(tasks). */
GANG_API gang_result gang_alloc_get(gang_cluster *cluster, gang_alloc_id id,
                                    struct gang_alloc_info *info) GANG_MUST_CHECK;

/**
 * Enumerate: called once for each task, in task order, on the caller's thread; a result other than
 * 0 stops and is returned. `task` is valid during the call. The visitor may query; it must not
 * change this allocation (GANG_EBUSY). Tasks keep their numbers when others are given back.
 * A task of a job that was reported stopped or ended, or was killed, is not shown any more, here
 * and in gang_alloc_get(), gang_alloc_write_json() and gang_alloc_write_hosts(). What it held may
 * be kept for another job until more tasks have stopped.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY; the visitor's result.
 * Any thread; several may read at once.
 */
typedef int32_t (*gang_task_fn)(const struct gang_task *task, void *user);
GANG_API gang_result gang_alloc_each(gang_cluster *cluster, gang_alloc_id id, gang_task_fn visit,
                                     void *user) GANG_MUST_CHECK;

/**
 * Read one task of an allocation by its number, as op grow of a scheduler names it.
 * @param task receives it; `size` must be set
 * @return GANG_OK; GANG_ENOENT: no task has this number; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY
 *   (another thread is changing the allocation). On an error *task is unchanged.
 * Any thread; several may read at once. Lock-free; does not allocate. O(log tasks); of an exclusive
 * allocation O(tasks).
 */
GANG_API gang_result gang_alloc_task(gang_cluster *cluster, gang_alloc_id id, int64_t number,
                                     struct gang_task *task) GANG_MUST_CHECK;

/**
 * Where a task stands among the tasks of its allocation, as launchers number their processes. All
 * numbers count from 0, and among the tasks that gang_alloc_ranks() lists.
 */
struct gang_rank {
    int64_t task;       /**< its number (gang_task.task) */
    gang_node_id node;  /**< its node */
    int64_t rank;       /**< RANK: its position in the order of numbers */
    int64_t world_size; /**< WORLD_SIZE: all tasks that are listed */
    int64_t local_rank; /**< LOCAL_RANK: its position among the tasks of its node */
    int64_t local_size; /**< LOCAL_WORLD_SIZE: tasks on its node */
    /** Position of its node in the order of the nodes' lowest ranks (torchrun: GROUP_RANK;
     *  Horovod: CROSS_RANK if each node has as many tasks) */
    int64_t node_rank;
    int64_t nodes;      /**< nodes that have a task */
    int64_t group_rank; /**< its position in its group (TonY: TASK_INDEX) */
    int64_t group_size; /**< tasks of its group (TonY: TASK_NUM) */
    int32_t group;      /**< index of its group */
    int32_t reserved0;  /**< 0 */
};

/**
 * The ranks of an allocation's tasks, in their order: entry i has rank i.
 *
 * The order is that of task numbers. gang_alloc() numbers by group, in it by domain and node. So
 * the ranks of a group that was placed at once are those of torchrun and of MPI's mapping by slot:
 * the tasks of the first node, then those of the second. gang_alloc_write_hosts() writes the same
 * ranks. Ranks have no gaps.
 *   - More tasks get higher numbers, and so the ranks behind, wherever they lie. If they join nodes
 *     that have tasks, the ranks of a node are no longer consecutive; local_rank and node_rank are
 *     still right.
 *   - Without a lost task, the ranks behind it are one lower. A task that replaces it and has its
 *     number takes its rank, on whatever node, and all others have theirs again.
 * @param group only the tasks of this group, its ranks from 0; -1: all
 * @param ranks receives them; entry i lies i * rank_size bytes after the first; may be NULL if room
 *   is 0
 * @param rank_size sizeof(struct gang_rank)
 * @param room entries that fit
 * @param needed receives how many tasks there are; may be NULL
 * @return GANG_OK; GANG_ELIMIT: more than `room`, nothing is written; GANG_EINVAL; GANG_ESTALE;
 *   GANG_EBUSY (another thread is changing the allocation); GANG_ENOMEM. *needed is 0 on any error
 *   but GANG_ELIMIT.
 * Any thread; several may read at once. May allocate. O(tasks * log tasks).
 */
GANG_API gang_result gang_alloc_ranks(gang_cluster *cluster, gang_alloc_id id, int32_t group,
                                      struct gang_rank *ranks, size_t rank_size, size_t room,
                                      size_t *needed) GANG_MUST_CHECK;

/** What gang_task_text() says about a task. Lists are separated by commas; lists of numbers
 *  marked (list) have the form of Linux cpusets, "0-7,64-71". */
enum {
    GANG_TASK_TEXT_GPUS = 1,  /**< its GPUs: indexes into gang_node_spec.gpus, "0,3" */
    GANG_TASK_TEXT_PCI = 2,   /**< their PCI addresses; empty if that of any is unknown */
    GANG_TASK_TEXT_UUIDS = 3, /**< their uuids; empty if that of any is unknown */
    /** A value for CUDA_VISIBLE_DEVICES: the uuids if all are known and each belongs to one GPU
     *  of the node, else the indexes. Indexes need CUDA_DEVICE_ORDER=PCI_BUS_ID, GPUs described
     *  in that order (as from hwloc), and no GPUs of other vendors among them. Empty: no GPU, as
     *  CUDA defines it. */
    GANG_TASK_TEXT_CUDA = 4,
    /** A value for ROCR_VISIBLE_DEVICES, by the same rules. Uuids must begin with "GPU-", which
     *  is added where it is missing, as hwloc writes them. */
    GANG_TASK_TEXT_ROCR = 5,
    GANG_TASK_TEXT_CPUSET =
        6, /**< hardware threads of its named cores (list); empty if it has none */
    /** The NUMA domains of its named cores, or without named cores of its GPUs, as numbered by
     *  the operating system (list), without those of unknown number. Bind memory to these. */
    GANG_TASK_TEXT_NODESET = 7,
    /** Names of the network cards in the NUMA domains of its GPUs, or without GPUs of its named
     *  cores; all cards of a node that describes no NUMA domains. */
    GANG_TASK_TEXT_NICS = 8
};

/**
 * The place of a task as text: what a launcher puts into the environment or the cpuset.
 * @param task from gang_alloc_each(); it must be held, possibly on a removed node
 * @param what GANG_TASK_TEXT_*
 * @param buffer receives the text and a NUL; may be NULL if buffer_size is 0
 * @param buffer_size bytes of buffer
 * @param needed receives the bytes of the text with the NUL; may be NULL
 * @return GANG_OK; GANG_ELIMIT: the buffer is too small, *needed bytes suffice, nothing is written;
 *   GANG_EINVAL (also GPUs or cores that the node does not have); GANG_E2BIG; GANG_ESTALE (node).
 *   *needed is 0 on any error but GANG_ELIMIT.
 * Any thread. Lock-free; does not allocate. O(specification of the node).
 */
GANG_API gang_result gang_task_text(gang_cluster *cluster, const struct gang_task *task,
                                    int32_t what, char *buffer, size_t buffer_size, size_t *needed)
    GANG_MUST_CHECK;

/**
 * Write an allocation as one JSON object without line feed:
 * {"tasks":[{"task":0,"group":"worker","node":"n1","cpu_milli":..,"memory_bytes":..,
 *            "gpus":[0,1],"share":1.0,"cores":[..],
 *            "pci":["0000:07:00.0",..],"uuids":["GPU-..",..],"cpuset":"0-7","nodeset":"0"},...],
 *  "gpu_milli":..}
 * "pci" and "uuids" are there if those of all its GPUs are known; "cpuset" and "nodeset", as
 * gang_task_text() tells them, if they are not empty.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY; GANG_EIO (the writer refused);
 *   GANG_ENOMEM. Any thread. May allocate.
 */
GANG_API gang_result gang_alloc_write_json(gang_cluster *cluster, gang_alloc_id id,
                                           gang_write_fn write, void *user) GANG_MUST_CHECK;

/** Formats of gang_alloc_write_hosts(): the node of each rank, for launchers. */
enum {
    GANG_HOSTS_PLAIN =
        0, /**< a line a task, "n1": MPICH's machine file, Slurm's node list expanded */
    GANG_HOSTS_HOROVOD = 1, /**< "n1:4,n2:4", without line feed: horovodrun -H */
    GANG_HOSTS_MPI = 2,     /**< a line a node, "n1 slots=4": Open MPI's hostfile */
    /** A line a task, "rank 0=n1 slot=0-3": Open MPI's rankfile. The slots are the task's own
     *  cores by their index on the node (hwloc's logical index, for a node described by hwloc);
     *  all cores of the node for a task without cores of its own. */
    GANG_HOSTS_RANKFILE = 3
};

/**
 * Write the nodes of an allocation's tasks in task order; the tasks are the ranks, from 0. Tasks of
 * a gang with neighbouring numbers are neighbours in the network: ordered by group; in it by the
 * path of domains from the widest level down; in the innermost domain by node. Tasks that
 * gang_alloc_grow() adds follow the existing ones. HOROVOD and MPI join tasks of a node with
 * consecutive numbers. A node that occurs again later (possible after growing) is written again, so
 * that a reader in order gets the right ranks.
 * @param group only the tasks of this group, its ranks from 0; -1: all
 * @param format GANG_HOSTS_*
 * @return GANG_OK, also if there are no tasks and nothing is written; GANG_EINVAL; GANG_ENOTSUP: a
 *   node's name contains a space or any of ",:=#", or begins with '+', which the formats cannot
 *   express; GANG_ESTALE (the allocation; or a removed node, of a task that takes nothing);
 *   GANG_EBUSY; GANG_EIO (the writer refused). Unless it is GANG_EIO nothing was written.
 * Any thread; several may read at once. Allocates nothing. O(tasks).
 */
GANG_API gang_result gang_alloc_write_hosts(gang_cluster *cluster, gang_alloc_id id, int32_t group,
                                            int32_t format, gang_write_fn write, void *user)
    GANG_MUST_CHECK;

/** The next live allocation after `id`; GANG_ID_NONE first and after the last. Allocations that are
 *  made, changed or freed meanwhile may be missed. Any thread; lock-free. */
GANG_API gang_alloc_id gang_alloc_next(gang_cluster *cluster, gang_alloc_id id);

/* ---- policies -------------------------------------------------------------------------- */

/**
 * Declare the mix of task shapes that jobs are expected to have, for GANG_POLICY_FGD and _HEADROOM.
 * struct gang_group_spec describes one task of a shape; `count` is the weight of the shape relative
 * to the others. cpu_milli, GPUs and gpu_models count; the other members are checked as in a
 * request, and ignored (_HEADROOM also counts memory_bytes). GANG_POLICY_FGD uses the typical
 * shapes only: the most frequent ones (ties in the order given) that make up 95 % of all weight.
 * Without a declared mix the library uses the shapes of all requests made so far, each weighted by
 * `count`: the first 256 different ones, and later tasks of these. A worker updates its mix when
 * the number of tasks has grown by an eighth.
 * Calls that are under way may still use the old mix. A worker that plans with one of these
 * policies caches about a megabyte of results about nodes.
 * @param shapes copied; NULL if count is 0
 * @param shape_size sizeof(struct gang_group_spec), the distance of one from the next
 * @param count 0: forget the declared mix; at most 4095
 * @return GANG_OK; an error of gang_request_new() for a group, path "shapes[2].gpu_milli";
 *   GANG_EINVAL (shapes, shape_size); GANG_ELIMIT (too many shapes, weights above 2^24 in sum);
 *   GANG_ENOMEM. On an error the mix is unchanged.
 * Owner of the worker. May block (like gang_node_add()), may allocate. O(size of the
 * specification).
 */
GANG_API gang_result gang_mix_set(gang_worker *worker, const struct gang_group_spec *shapes,
                                  size_t shape_size, size_t count, struct gang_error *error)
    GANG_MUST_CHECK;

/** Name of a policy ("default", "pack", "spread", "first", "topology", "fgd", "best-fit",
 *  "dot-product", "gpu-packing", "gpu-clustering", "headroom", "host"; NULL if unknown), and its
 *  number by name (GANG_ENOENT if unknown). Any thread; wait-free. */
GANG_API const char *gang_policy_name(int32_t policy);
GANG_API gang_result gang_policy_find(const char *name, int32_t *policy) GANG_MUST_CHECK;

/* ---- explaining ------------------------------------------------------------------------- */

/** One kind of resource, as the tasks of a group see it. */
struct gang_explanation_kind {
    int32_t kind;      /**< number of the kind (core.h) */
    int32_t reserved0; /**< 0 */
    /** by one task, in the unit of the kind; 0 for GPUs by memory, whose share depends on the
     *  device */
    int64_t requested;
    /** maximum on one node that is up and that labels, partition and models admit (of GPUs: what
     *  the group can use); cluster-wide kinds: what is free */
    int64_t max_free;
    /** nodes that take no task and are short of it; a node may be short of several kinds */
    int64_t nodes;
    int64_t nodes_if_empty; /**< of these, those that could take a task if they were empty */
    /** nodes that take a task, but not all remaining ones, and are then short of it */
    int64_t nodes_full;
};

/**
 * Why a group, a group set or a whole request fits or does not. Each is judged by itself, as if the
 * rest of the request did not exist, except for the domains that group sets and request demand
 * around it.
 *
 * The numbers describe the nodes as they are; if `result` is GANG_ENEVER, the nodes as if all were
 * up and empty. Constraints are checked in this order, and `constraint` is the first that fails:
 * enough nodes for the tasks, anywhere; bounds, spreading and subgroups; one domain; all groups
 * together.
 */
struct gang_explanation {
    size_t size; /**< sizeof(struct gang_explanation) of the library */
    gang_result
        answer; /**< of the whole call: GANG_OK (fits now), GANG_ENOFIT (not now) or GANG_ENEVER */
    gang_result result; /**< the same for this group, group set or request by itself */
    int32_t group;      /**< index of the group, or -1 */
    int32_t group_set;  /**< index of the group set, or -1; both -1: the request as a whole */
    const char *name;   /**< of the group or group set; "" of the request */
    int64_t want; /**< tasks that must start together; of growth: tasks that the next step adds */
    /** of these, tasks that find a node each, anywhere; of group sets and requests the same as
     *  `placed` */
    int64_t fit;
    int64_t placed; /**< of these, tasks that bounds, spreading, subgroups and domains allow */
    int64_t nodes;  /**< nodes considered, of any state */
    /** nodes that take at least one task of the group; like all that follows up to kind_size, 0
     *  for group sets and requests */
    int64_t nodes_fit;
    /** Nodes that take no task, by reason: refused[GANG_CONSTRAINT_*]. Each node counts once,
     *  for the first of partition, labels, profile, GPU model, domain (it lies in none), bounds,
     *  pool, affinity, state, kinds, NUMA, devices. A node that other jobs occupy counts for
     *  state or kind if the group would not fit without them either. nodes = nodes_fit + all of
     *  these. */
    const int64_t *refused;
    size_t refused_count;
    const struct gang_explanation_kind *kinds; /**< the kinds that the group requests */
    size_t kind_count;
    /** sizeof(struct gang_explanation_kind) of the library: element i lies at i * this size
     *  from the first */
    size_t kind_size;
    /** narrowest level of which one domain is demanded, or the level of a subgroup, if subgroups
     *  are the reason; NULL: none */
    const char *level;
    /** path of the domain that takes most tasks, "block=b1/rack=r2", with "node=n3/numa=1"
     *  below; NULL: none. Of growth: the domain in which it runs */
    const char *domain;
    int64_t domain_want;  /**< tasks demanded there: `want`, or those of one subgroup */
    int64_t domain_holds; /**< tasks that fit there, at most domain_want */
    /** What the best domain lacks, for (domain_want - domain_holds) tasks of lack_group. If no
     *  domain is demanded, and each group fits alone but not all together: the group for which
     *  nothing is left. lack_group is -1 if nothing is missing. */
    int32_t lack_group;
    int32_t lack_constraint; /**< GANG_CONSTRAINT_* */
    int32_t lack_kind;       /**< or -1 */
    /** GANG_CONSTRAINT_*: the reason, as in struct gang_error; GANG_CONSTRAINT_NONE if result is
     *  GANG_OK, or if no obstacle is found: it has gone meanwhile, or gang_alloc() missed a way
     *  to place several groups */
    int32_t constraint;
    int64_t lack_amount; /**< in the unit of lack_kind; 0 if that is -1 */
    int32_t kind;        /**< as in struct gang_error, or -1 */
    /** of a request that does not fit: the group that does not fit by itself, */
    int32_t because_group;
    /** or the group set; both -1: each fits alone, but not all together */
    int32_t because_group_set;
    int32_t reserved0; /**< 0 */
    int64_t requested; /**< as in struct gang_error */
    int64_t available; /**< as in struct gang_error */
    /** one English line: the text of struct gang_error for the same reason, else in the same
     *  style */
    const char *text;
};

#define GANG_EXPLANATION_INIT                                                                    \
    {                                                                                            \
        sizeof(struct gang_explanation), 0, 0, -1, -1, NULL, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, 0, \
            NULL, NULL, 0, 0, -1, 0, -1, 0, 0, -1, -1, -1, 0, 0, 0, NULL                         \
    }

/** Receives explanations, on the caller's thread. Their pointers are valid during the call. A
 *  result other than 0 ends the visit and is returned. May query; must not use this worker, nor
 *  change the allocation that is explained (GANG_EBUSY). */
typedef int32_t (*gang_explain_fn)(const struct gang_explanation *explanation, void *user);

/**
 * Explain why a request fits or does not: visits each group in order, then each group set, then the
 * request as a whole. gang_alloc() at this moment would return `answer`, with an error that agrees
 * with the explanation of the whole. Changes nothing. Each group is judged at its own instant:
 * while other threads place and release, one group may find capacity that another did not.
 *
 * @code
 *   static int32_t print(const struct gang_explanation *e, void *user)
 *   {
 *       // group "worker": no rack holds 8 tasks: the best, b1/r2, holds 5; gpu is short
 *       printf("%s\n", e->text);
 *       if (e->group >= 0 && e->refused[GANG_CONSTRAINT_STATE] > 0)
 *           printf("  %" PRId64 " of %" PRId64 " nodes are not up\n",
 *                  e->refused[GANG_CONSTRAINT_STATE], e->nodes);
 *       return 0;
 *   }
 *   ...
 *   gang_request_explain(w, request, print, NULL);
 * @endcode
 *
 * @return GANG_OK, whatever the answer is; GANG_EINVAL; GANG_ENOMEM; the visitor's result; the
 *   result of the host's scoring function.
 * Owner of the worker. Lock-free; allocates. O(nodes * (groups + group sets)), plus two searches
 * for the gang; nodes count once a group for each domain level between them.
 */
GANG_API gang_result gang_request_explain(gang_worker *worker, gang_request *request,
                                          gang_explain_fn visit, void *user) GANG_MUST_CHECK;

/**
 * The same as one JSON object without line feed:
 * @code
 * {"answer":"not now","constraint":"same","kind":"gpu","text":"..","because":{"group":"worker"},
 *  "want":8,"placed":5,
 *  "groups":[{"group":"worker","answer":"not now","want":8,"fit":8,"placed":5,"nodes":12,
 *    "nodes_fit":9,"refused":{"state":2,"kind":1},
 *    "kinds":[{"kind":"gpu","unit":"milli-devices","requested":1000,"max_free":4000,"nodes":1,
 *      "nodes_if_empty":1,"nodes_full":0}],
 *    "domain":{"level":"rack","path":"block=b1/rack=r2","want":8,"holds":5,
 *      "lack":{"group":"worker","constraint":"kind","kind":"gpu","amount":3000}},
 *    "constraint":"same","kind":"gpu","requested":8000,"available":5000,"text":".."}],
 *  "group_sets":[{"group_set":"..",..}]}
 * @endcode
 * "answer" is "fits now", "not now" or "never"; members that do not apply are left out.
 * @return as gang_request_explain(); GANG_EIO: the writer refused.
 */
GANG_API gang_result gang_request_write_explanation(gang_worker *worker, gang_request *request,
                                                    gang_write_fn write, void *user)
    GANG_MUST_CHECK;

/**
 * Explain whether a running allocation could grow, and why not: visits each group that has fewer
 * tasks than its `count`. The step that is explained is the smallest that gang_alloc_grow() adds:
 * one task; a subgroup; or the tasks that the group lacks to its `min`.
 * @param group index of the group; -1: each group that has fewer tasks than its `count`
 * @return GANG_OK, whatever the answer is; GANG_ERANGE: the group (-1: each) has its `count`
 *   already; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (another thread is changing this allocation);
 *   GANG_ENOMEM; the visitor's result; the result of the host's scoring function.
 * Owner of the worker. Lock-free; allocates. O(nodes) a group, plus two searches.
 */
GANG_API gang_result gang_alloc_explain(gang_worker *worker, gang_alloc_id id, int32_t group,
                                        gang_explain_fn visit, void *user) GANG_MUST_CHECK;

struct gang_snapshot; /* snapshot.h */

/** Like gang_request_explain(), on a snapshot (snapshot.h): `answer` is that of
 *  gang_snapshot_test(). @return also GANG_EINVAL for a snapshot that was never taken, or of
 *  another cluster. Owner of the worker, and no concurrent call on this snapshot. */
GANG_API gang_result gang_snapshot_explain(gang_worker *worker, struct gang_snapshot *snapshot,
                                           gang_request *request, gang_explain_fn visit, void *user)
    GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
