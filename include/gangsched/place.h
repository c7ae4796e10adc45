/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file place.h
 * @brief Requests and allocations: where tasks run. Usable without queues and scheduler.
 *
 * A *request* says what a job needs: groups of tasks, each with one shape (model.h); how many tasks
 * must start together (`min`) and how many it can use (`count`); constraints and a policy.
 * gang_request_new() checks it once. It never changes, and any number of threads may use it at the
 * same time.
 *
 * An *allocation* is what the tasks of a request hold: nodes, GPUs, cores, memory and other
 * amounts. gang_alloc() allocates all tasks that must start together, or none, in one step: no
 * other thread ever sees a part of them. gang_alloc_grow() adds tasks one by one, up to `count`, as
 * capacity becomes free. gang_alloc_shrink() releases tasks, gang_alloc_free() releases all.
 *
 * Only its scheduler (sched.h) changes an allocation that it made for a job. Any thread may read
 * such an allocation, but gang_alloc_grow(), gang_alloc_shrink() and gang_alloc_free() return
 * GANG_EBUSY and change nothing. The host reports to the scheduler instead: gang_report_tasks(),
 * gang_report_end(), gang_job_cancel(), gang_job_set_target().
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

/** A gang_request_spec (model.h), checked and compiled. */
typedef struct gang_request gang_request;

/**
 * Check and compile a request.
 * @return GANG_OK and *request, which the caller frees with gang_request_free(); GANG_EINVAL (no
 *   group, bad index, gpu_milli above 1000 and not a multiple of it, two ways of requesting GPUs,
 *   ...); GANG_ERANGE (a number is negative or too large); GANG_ENOENT (unknown kind or level);
 *   GANG_ECYCLE (group sets); GANG_EPARSE (gang_group_spec.where; error->column is the byte);
 *   GANG_E2BIG; GANG_ELIMIT; GANG_ENOMEM. The error's path names the member:
 *   "groups[1].amounts[0].kind".
 * Any thread. May allocate; with labels or affinity rules may block (structure mutex). O(size of
 * the specification).
 */
GANG_API gang_result gang_request_new(gang_cluster *cluster, const struct gang_request_spec *spec,
                                      gang_request **request, struct gang_error *error)
    GANG_MUST_CHECK;

/** Free a request. The caller must not use it any more. Allocations made with it stay valid. Its
 *  memory is freed when the last allocation made with it has ended and no worker has it as its last
 *  request. The host frees all its requests before gang_cluster_free(). NULL is allowed. Any
 *  thread. */
GANG_API void gang_request_free(gang_request *request);

/* ---- allocations ----------------------------------------------------------------------- */

/**
 * Allocate a gang: all tasks that must start together (the minima of groups, group sets and the
 * request), or nothing.
 *
 * @param id receives the id of the allocation; must not be NULL
 * @param error on a refusal: the group that does not fit, and the kind or constraint that is the
 *   reason. With NULL the call does not search for the reason, which saves time
 * @return GANG_OK; GANG_ENOFIT: it does not fit now; GANG_ENEVER: it would not fit even if all
 *   nodes were up and empty; GANG_EINVAL; GANG_ELIMIT (2^32 - 1 allocations); GANG_ENOMEM; with
 *   GANG_POLICY_HOST also the result of gang_request_spec.score, and GANG_EBUSY (64 times in a row,
 *   nodes were removed or changed while it was called).
 * How exact is GANG_ENOFIT? For a request with one group it is true at some instant during the
 * call, unless other threads released resources during each of 64 searches. For several groups the
 * library first searches greedily. If that fails, it tries every distribution on clusters of up to
 * 24 nodes (at most 5,000 steps), and 64 choices of domains on larger ones. So GANG_ENOFIT, and by
 * the same search GANG_ENEVER, may be returned for a gang of several groups that could be placed.
 * O(tasks) with GANG_POLICY_PACK, _SPREAD, _FIRST and _TOPOLOGY; O(nodes * tasks) with the others.
 * `same` and `prefer` add O(domains of the level).
 * Owner of the worker. Lock-free. Allocates memory for the record of the allocation (the worker
 * reuses records of ended allocations), for scratch space if the gang is larger than any before on
 * this worker, and for tables that double.
 */
GANG_API gang_result gang_alloc(gang_worker *worker, gang_request *request, gang_alloc_id *id,
                                struct gang_error *error) GANG_MUST_CHECK;

/**
 * Allocate the worker's scratch space for gangs of up to `tasks` tasks. Later calls for such gangs
 * then allocate no memory, except for the record of each live allocation. Without this call the
 * worker allocates scratch space when a larger gang than any before comes.
 * @return GANG_OK; GANG_ERANGE (tasks < 1 or > 2^24); GANG_ENOMEM.
 * Owner of the worker. May allocate.
 */
GANG_API gang_result gang_worker_preallocate(gang_worker *worker, int64_t tasks) GANG_MUST_CHECK;

/** Dry run: like gang_alloc(), but allocates nothing. GANG_OK: gang_alloc() would have succeeded.
 *  If other threads change nodes during the call, this may be wrong, because the call reads the
 *  nodes one after the other. */
GANG_API gang_result gang_alloc_test(gang_worker *worker, gang_request *request,
                                     struct gang_error *error) GANG_MUST_CHECK;

/**
 * Would the request fit if all present nodes were up and empty? The call does not use
 * gang_request_spec.score, so nodes that this callback excludes count too.
 * @return GANG_OK: yes; GANG_ENEVER: no, with the reason in `error`; GANG_EINVAL; GANG_ENOMEM.
 * Owner of the worker. Lock-free. At most O(nodes). The request keeps the answer until nodes
 * change.
 */
GANG_API gang_result gang_request_fits_ever(gang_worker *worker, gang_request *request,
                                            struct gang_error *error) GANG_MUST_CHECK;

/**
 * Add up to `tasks` tasks of one group, one by one, until the group has its `count` or no further
 * task fits.
 * @param group index of the group; -1: all groups, in order
 * @param tasks >= 1
 * @param granted receives the number of added tasks; may be NULL. It may be larger than `tasks`: a
 *   group below its `min` (after gang_alloc_adopt()) gets all tasks that it lacks or none, and
 *   subgroups are added whole
 * @return GANG_OK: at least one task was added; GANG_ENOFIT: none fits now; GANG_ENEVER: none would
 *   fit even if all nodes were up and empty but for this allocation; GANG_ERANGE: the group has its
 *   `count` already, or `tasks` < 1; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (another thread is
 *   changing this allocation; a scheduler owns it; or as for gang_alloc()); GANG_ENOMEM; the result
 *   of gang_request_spec.score. While that callback runs, the allocation is GANG_EBUSY for other
 *   threads.
 * Owner of the worker. Lock-free.
 */
GANG_API gang_result gang_alloc_grow(gang_worker *worker, gang_alloc_id id, int32_t group,
                                     int64_t tasks, int64_t *granted, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Like gang_alloc_grow(), but all or nothing: exactly `tasks` more tasks of one group, in one step.
 * @param group index of the group
 * @return GANG_OK: all were added; GANG_ENOFIT: they do not all fit now; GANG_ENEVER: they would
 *   not all fit even if all nodes were up and empty but for this allocation; GANG_ERANGE: `tasks`
 *   is below 1; the group would have more than its `count` or fewer than its `min`; or `tasks` is
 *   not a multiple of subgroup_size; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY and other results as for
 *   gang_alloc_grow(). On an error nothing is added.
 * Owner of the worker. Lock-free.
 */
GANG_API gang_result gang_alloc_grow_whole(gang_worker *worker, gang_alloc_id id, int32_t group,
                                           int64_t tasks, struct gang_error *error) GANG_MUST_CHECK;

/**
 * Release tasks, all in one step.
 * @param tasks numbers of tasks (gang_task.task); each at most once
 * @return GANG_OK; GANG_EINVAL; GANG_ENOENT (no such task); GANG_ENOFIT with GANG_CONSTRAINT_MIN: a
 *   group, a group set or the request would fall below its minimum (use gang_alloc_free());
 *   GANG_ESTALE; GANG_EBUSY (another thread is changing or reading the allocation: try again; or a
 *   scheduler owns it); GANG_ENOMEM. On an error nothing is released.
 * Owner of the worker. Lock-free.
 */
GANG_API gang_result gang_alloc_shrink(gang_worker *worker, gang_alloc_id id, const int64_t *tasks,
                                       int64_t task_count, struct gang_error *error)
    GANG_MUST_CHECK;

/** Release all tasks and end the allocation, in one step. @return GANG_OK; GANG_EINVAL;
 *  GANG_ESTALE; GANG_EBUSY (another thread is changing or reading the allocation: try again; or a
 *  scheduler owns it: never try again); GANG_ENOMEM (only if this worker never handled a gang of
 *  this size, see gang_worker_preallocate()). On an error nothing is released. Owner of the worker.
 *  Lock-free. */
GANG_API gang_result gang_alloc_free(gang_worker *worker, gang_alloc_id id) GANG_MUST_CHECK;

/** The exact place of one task, for a host that restores its state or chooses places itself. For a
 *  caller built with an older, shorter struct the library chooses the task's number and its
 *  cores. */
struct gang_placement {
    size_t size;         /**< sizeof(struct gang_placement) */
    int32_t group;       /**< index of the group */
    int32_t any_devices; /**< 1: the library chooses the devices and ignores `gpus` */
    gang_node_id node;
    uint64_t gpus; /**< bit i: the task uses GPU i, wholly or the share that the group requests */
    /** number of the task (gang_task.task), one of its group; -1: the library chooses. Either all
     *  places of a call have a number or none has. */
    int64_t task;
    int32_t any_cores; /**< 1: the library chooses the cores and ignores `cores` */
    int32_t reserved0;
    uint64_t cores[GANG_MAX_CORES / 64]; /**< bit i: core i of the node is the task's alone */
};

#define GANG_PLACEMENT_INIT                                  \
    {                                                        \
        sizeof(struct gang_placement), 0, 1, 0, 0, -1, 1, 0, \
        {                                                    \
            0                                                \
        }                                                    \
    }

/**
 * Allocate exactly these places, all or none. The call ignores `min`, constraints, node states and
 * the health of named devices. It respects capacity, and refuses removed nodes.
 * @param places an array; place i is places->size * i bytes after the first
 * @return GANG_OK; GANG_ENOFIT (a place is taken already; `error` has the node and the kind);
 *   GANG_ESTALE (no such node); GANG_EINVAL (also: the devices or cores are not those that the
 *   group requests, in number or model; only some places have a task number); GANG_EEXIST (two
 *   tasks have the same number); GANG_ERANGE (more tasks of a group than its `count`; a number that
 *   is not of the group); GANG_ENOMEM; GANG_ELIMIT. `error` has the path: "places[3]".
 * Owner of the worker. Lock-free.
 */
GANG_API gang_result gang_alloc_adopt(gang_worker *worker, gang_request *request,
                                      const struct gang_placement *places, int64_t place_count,
                                      gang_alloc_id *id, struct gang_error *error) GANG_MUST_CHECK;

/** One task of an allocation. */
struct gang_task {
    size_t size; /**< sizeof(struct gang_task) */
    /** Number of the task: unique in the allocation, and constant while the allocation has the
     *  task. The numbers of group 0 are 0..count-1, those of each further group follow. A new task
     *  gets the lowest free number of its group. For a task of a job see job.h. */
    int64_t task;
    gang_node_id node;
    int32_t group;     /**< index of its group in the request; for a job in gang_job_spec.request */
    int32_t gpu_count; /**< devices that it uses, wholly or a share of each */
    int32_t gpu_share; /**< milli-GPUs of each of them; 1000: whole */
    int32_t core_count; /**< named cores that it has alone; 0: it runs on the shared cores */
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

/** What all tasks of an allocation hold together. */
struct gang_alloc_info {
    size_t size;   /**< sizeof(struct gang_alloc_info) */
    int64_t tasks; /**< tasks that it has now */
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
 * Visit the tasks of an allocation: the library calls `visit` once for each task, in the order of
 * task numbers, on the caller's thread. A result other than 0 ends the visit and is returned.
 * `task` is valid during the call. The visitor may call functions that only read; changing this
 * allocation returns GANG_EBUSY. In an allocation of a job, tasks that were reported stopped or
 * ended, or were killed, are not visited, even while their resources are still kept for another
 * job. The same is true for gang_alloc_get(), gang_alloc_write_json() and gang_alloc_write_hosts().
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY; the visitor's result.
 * Any thread; several may read at once.
 */
typedef int32_t (*gang_task_fn)(const struct gang_task *task, void *user);
GANG_API gang_result gang_alloc_each(gang_cluster *cluster, gang_alloc_id id, gang_task_fn visit,
                                     void *user) GANG_MUST_CHECK;

/**
 * Read one task of an allocation by its number.
 * @param task receives it; `size` must be set
 * @return GANG_OK; GANG_ENOENT: no task has this number; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY
 *   (another thread is changing the allocation). On an error *task is unchanged.
 * Any thread; several may read at once. Lock-free; does not allocate. O(log tasks); O(tasks) for an
 * exclusive allocation (gang_request_spec.exclusive).
 */
GANG_API gang_result gang_alloc_task(gang_cluster *cluster, gang_alloc_id id, int64_t number,
                                     struct gang_task *task) GANG_MUST_CHECK;

/**
 * Ranks of a task, as launchers number processes. All ranks count from 0 and are among the tasks
 * that gang_alloc_ranks() lists.
 */
struct gang_rank {
    int64_t task;       /**< number of the task (gang_task.task) */
    gang_node_id node;  /**< its node */
    int64_t rank;       /**< RANK: position among all listed tasks, in the order of task numbers */
    int64_t world_size; /**< WORLD_SIZE: number of listed tasks */
    int64_t local_rank; /**< LOCAL_RANK: position among the listed tasks of its node */
    int64_t local_size; /**< LOCAL_WORLD_SIZE: number of listed tasks on its node */
    /** position of its node, in the order of the lowest rank on each node (torchrun: GROUP_RANK;
     *  Horovod: CROSS_RANK if all nodes have equal numbers of tasks) */
    int64_t node_rank;
    int64_t nodes;      /**< number of nodes that have a listed task */
    int64_t group_rank; /**< position in its group (TonY: TASK_INDEX) */
    int64_t group_size; /**< number of listed tasks of its group (TonY: TASK_NUM) */
    int32_t group;      /**< index of its group */
    int32_t reserved0;  /**< 0 */
};

/**
 * Read the ranks of an allocation's tasks: entry i describes rank i.
 *
 * Ranks follow the task numbers and have no gaps. gang_alloc() numbers tasks by group, then by
 * domain, then by node. So the ranks of a group that started together are like those of torchrun
 * and of MPI's mapping by slot: first the tasks of the first node, then those of the second.
 * gang_alloc_write_hosts() writes the same ranks.
 *   - Tasks that are added later get higher numbers in their group. If they are on nodes that
 *     already have tasks, the ranks on a node are not consecutive; local_rank and node_rank are
 *     still correct.
 *   - When a task is lost, all higher ranks become one lower. A task that gets its number takes its
 *     rank, on any node; the other tasks then have their former ranks again.
 * @param group list only this group (gang_task.group), with ranks from 0; -1: all groups
 * @param ranks array that receives the ranks; entry i is i * rank_size bytes after the first; may
 *   be NULL if room is 0
 * @param rank_size sizeof(struct gang_rank)
 * @param room number of entries in `ranks`
 * @param needed receives the number of tasks; may be NULL
 * @return GANG_OK; GANG_ELIMIT: there are more tasks than `room`, nothing is written; GANG_EINVAL;
 *   GANG_ESTALE; GANG_EBUSY (another thread is changing the allocation); GANG_ENOMEM. *needed is 0
 *   on any error but GANG_ELIMIT.
 * Any thread; several may read at once. May allocate. O(tasks * log tasks).
 */
GANG_API gang_result gang_alloc_ranks(gang_cluster *cluster, gang_alloc_id id, int32_t group,
                                      struct gang_rank *ranks, size_t rank_size, size_t room,
                                      size_t *needed) GANG_MUST_CHECK;

/** Texts of gang_task_text(). Items are separated by commas. Texts marked (list) have the form of
 *  Linux cpusets, "0-7,64-71". */
enum {
    GANG_TASK_TEXT_GPUS = 1,  /**< its GPUs: indexes into gang_node_spec.gpus, "0,3" */
    GANG_TASK_TEXT_PCI = 2,   /**< PCI addresses of its GPUs; empty if one is unknown */
    GANG_TASK_TEXT_UUIDS = 3, /**< uuids of its GPUs; empty if one is unknown */
    /** Value for CUDA_VISIBLE_DEVICES: the uuids if all are known and no two GPUs of the node have
     *  the same one, otherwise the indexes. Indexes are correct only with
     *  CUDA_DEVICE_ORDER=PCI_BUS_ID, if the GPUs of the node are described in the order of PCI
     *  addresses (as from hwloc), and if all are CUDA devices. Empty: the task has no GPU; CUDA
     *  then sees none. */
    GANG_TASK_TEXT_CUDA = 4,
    /** Value for ROCR_VISIBLE_DEVICES, by the same rules. Uuids begin with "GPU-"; the library adds
     *  it to those without, as hwloc writes them. */
    GANG_TASK_TEXT_ROCR = 5,
    GANG_TASK_TEXT_CPUSET =
        6, /**< hardware threads of its named cores (list); empty if it has no named cores */
    /** Numbers in the operating system of the NUMA domains of its named cores, or of its GPUs if it
     *  has no named cores (list). Domains whose number is unknown are left out. Bind memory to
     *  these. */
    GANG_TASK_TEXT_NODESET = 7,
    /** Names of the network cards in the NUMA domains of its GPUs, or of its named cores if it has
     *  no GPUs; if the node has no NUMA domains, all its cards. */
    GANG_TASK_TEXT_NICS = 8
};

/**
 * Write the place of a task as text, for environment variables and cpusets of a launcher.
 * @param task from gang_alloc_each(); the allocation must still have this task. Its node may be
 *   removed
 * @param what GANG_TASK_TEXT_*
 * @param buffer receives the text and a NUL; may be NULL if buffer_size is 0
 * @param buffer_size bytes of buffer
 * @param needed receives the size of the text in bytes, with the NUL; may be NULL
 * @return GANG_OK; GANG_ELIMIT: the buffer is smaller than *needed bytes, nothing is written;
 *   GANG_EINVAL (also: GPUs or cores that the node does not have); GANG_E2BIG; GANG_ESTALE (node).
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
 * "pci" and "uuids" are left out if one of them is unknown. "cpuset" and "nodeset" are those of
 * gang_task_text(), left out if empty.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY; GANG_EIO (the writer refused);
 *   GANG_ENOMEM. Any thread. May allocate.
 */
GANG_API gang_result gang_alloc_write_json(gang_cluster *cluster, gang_alloc_id id,
                                           gang_write_fn write, void *user) GANG_MUST_CHECK;

/** Formats of gang_alloc_write_hosts(). */
enum {
    GANG_HOSTS_PLAIN = 0,   /**< one line for each task, "n1": MPICH's machine file */
    GANG_HOSTS_HOROVOD = 1, /**< "n1:4,n2:4", without line feed: horovodrun -H */
    GANG_HOSTS_MPI = 2,     /**< one line for each node, "n1 slots=4": Open MPI's hostfile */
    /** One line for each task, "rank 0=n1 slot=0-3": Open MPI's rankfile. The slots are the indexes
     *  on the node of the task's named cores (hwloc's logical indexes, if the node was described by
     *  hwloc). For a task without named cores they are all cores of the node. */
    GANG_HOSTS_RANKFILE = 3
};

/**
 * Write the node of each rank, for launchers. Ranks are those of gang_alloc_ranks(). The tasks of a
 * gang are numbered by group; in a group by the path of domains from the widest level to the
 * narrowest, then by node; so neighbouring ranks are close in the network. GANG_HOSTS_HOROVOD and
 * _MPI write one item for successive ranks on one node. If a node occurs again later (possible
 * after growth), it is written again, so that a launcher that assigns ranks in this order assigns
 * the right ones.
 * @param group list only this group (gang_task.group), with ranks from 0; -1: all groups
 * @param format GANG_HOSTS_*
 * @return GANG_OK (also if there are no tasks; then nothing is written); GANG_EINVAL; GANG_ENOTSUP:
 *   a node's name contains a space or one of ",:=#", or begins with '+'; the formats cannot express
 *   it; GANG_ESTALE (the allocation has ended; or a task that requests nothing is on a node that
 *   was removed); GANG_EBUSY; GANG_EIO (`write` refused). On an error other than GANG_EIO nothing
 *   was written.
 * Any thread; several may read at once. Allocates nothing. O(tasks).
 */
GANG_API gang_result gang_alloc_write_hosts(gang_cluster *cluster, gang_alloc_id id, int32_t group,
                                            int32_t format, gang_write_fn write, void *user)
    GANG_MUST_CHECK;

/** Iterate over the live allocations: GANG_ID_NONE gives the first, the id of one the next; the
 *  result after the last is GANG_ID_NONE. Allocations that are made, changed or freed during the
 *  iteration may be missed. Any thread; lock-free. */
GANG_API gang_alloc_id gang_alloc_next(gang_cluster *cluster, gang_alloc_id id);

/* ---- policies -------------------------------------------------------------------------- */

/**
 * Declare the *mix*: the task shapes that jobs are expected to have, with weights, for
 * GANG_POLICY_FGD and _HEADROOM. Each gang_group_spec describes one task of a shape; its `count` is
 * the weight of the shape. Both policies use cpu_milli, the requested GPUs and gpu_models;
 * _HEADROOM also uses memory_bytes. The other members are checked as in a request and then ignored.
 * GANG_POLICY_FGD uses only the most frequent shapes that together have 95 % of the weight; among
 * equally frequent shapes the first ones. Without a declared mix the library uses the shapes of the
 * requests made so far, weighted by `count`: the first 256 different shapes; requests with further
 * shapes do not count. A worker uses the new weights each time that their sum has grown by an
 * eighth.
 * Calls that are under way may still use the old mix. A worker that uses one of these policies
 * keeps a cache of about 1 MB.
 * @param shapes copied; NULL if count is 0
 * @param shape_size sizeof(struct gang_group_spec), the distance from one shape to the next
 * @param count number of shapes, at most 4095; 0: forget the declared mix
 * @return GANG_OK; an error of gang_request_new() for a group, path "shapes[2].gpu_milli";
 *   GANG_EINVAL (shapes, shape_size); GANG_ELIMIT (too many shapes; sum of the weights above 2^24);
 *   GANG_ENOMEM. On an error the mix is unchanged.
 * Owner of the worker. May block (structure mutex, and see manual_recycle), may allocate. O(size of
 * the specification).
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

/** Part of an explanation: how one kind limits a group. */
struct gang_explanation_kind {
    int32_t kind;      /**< number of the kind (core.h) */
    int32_t reserved0; /**< 0 */
    /** amount for one task, in the unit of the kind; 0 for GPUs with gpu_memory_bytes, whose share
     *  depends on the device */
    int64_t requested;
    /** Largest free amount on one node that is up and matches labels, partition and GPU models (of
     *  GPUs: those that the group can use). Cluster-wide kind: the free amount of the pool. */
    int64_t max_free;
    /** nodes that can take no task because this kind is short, alone or with other kinds */
    int64_t nodes;
    int64_t nodes_if_empty; /**< of these nodes, those that could take a task if they were empty */
    /** nodes that can take some tasks of the group, but not all, because then this kind is short */
    int64_t nodes_full;
};

/**
 * Why a group, a group set or a whole request fits or does not fit. Each is examined alone, as if
 * the rest of the request did not exist; only the domains (`same`) of the enclosing group sets and
 * of the request count.
 *
 * The numbers describe the nodes as they are; if `result` is GANG_ENEVER, they describe the nodes
 * as if all were up and empty. `constraint` is the first that fails, in this order: nodes for each
 * task, anywhere in the cluster; max_per_node, max_per_domain, spreading and subgroups; one domain;
 * all groups together.
 */
struct gang_explanation {
    size_t size; /**< sizeof(struct gang_explanation) of the library */
    /** answer for the whole request: GANG_OK (it fits now), GANG_ENOFIT (not now) or GANG_ENEVER */
    gang_result answer;
    gang_result result; /**< the same for this group, group set or request alone */
    int32_t group;      /**< index of the group, or -1 */
    int32_t group_set;  /**< index of the group set, or -1; both -1: the request as a whole */
    const char *name;   /**< name of the group or group set; for the request "" */
    int64_t want; /**< tasks that must start together; for growth: tasks that the next step adds */
    /** of these, the tasks for which there is a node somewhere in the cluster; for group sets and
     *  requests the same as `placed` */
    int64_t fit;
    /** of these, the tasks that can be placed with all bounds, spreading, subgroups and domains */
    int64_t placed;
    int64_t nodes; /**< nodes considered, in any state */
    /** nodes that can take at least one task of the group. This member and those down to kind_size
     *  are 0 or NULL for group sets and requests */
    int64_t nodes_fit;
    /** Numbers of nodes that can take no task, by reason: refused[GANG_CONSTRAINT_*]. Each node
     *  counts once, for the first reason in this order: partition, labels, profile, GPU model,
     *  domain (the node is in no domain of the level), bounds, pool, affinity, state, kinds, NUMA,
     *  devices. A node counts for affinity or exclusive only if it is up and would take a task
     *  without the other allocations; otherwise it counts for state or kind. nodes = nodes_fit +
     *  the sum of these. */
    const int64_t *refused;
    size_t refused_count;
    const struct gang_explanation_kind *kinds; /**< the kinds that the group requests */
    size_t kind_count;
    /** distance in bytes from one element of `kinds` to the next */
    size_t kind_size;
    /** narrowest level of which all tasks must be in one domain; the level of subgroups if they are
     *  the reason; NULL: none */
    const char *level;
    /** path of the domain of this level in which most tasks fit, "block=b1/rack=r2", below the node
     *  also "node=n3/numa=1"; NULL: none. For growth: the domain in which the tasks run */
    const char *domain;
    int64_t domain_want; /**< tasks that must fit in one domain: `want`, or those of one subgroup */
    int64_t domain_holds; /**< tasks that fit in `domain`, at most domain_want */
    /** Group whose (domain_want - domain_holds) tasks do not fit in `domain`; the following members
     *  say why. If there is no such level, and each group fits alone but not all together: the
     *  group for which too little is left. -1: nothing is missing. */
    int32_t lack_group;
    int32_t lack_constraint; /**< GANG_CONSTRAINT_* */
    int32_t lack_kind;       /**< or -1 */
    /** GANG_CONSTRAINT_*: the reason, as in struct gang_error. GANG_CONSTRAINT_NONE if result is
     *  GANG_OK, or if no reason is found: resources were released meanwhile, or gang_alloc() did
     *  not find a way to place several groups that exists */
    int32_t constraint;
    int64_t lack_amount; /**< in the unit of lack_kind; 0 if that is -1 */
    int32_t kind;        /**< as in struct gang_error, or -1 */
    /** request that does not fit: the group that does not fit alone, or -1; */
    int32_t because_group;
    /** the group set that does not fit alone, or -1. Both -1: each fits alone, but not all
     *  together */
    int32_t because_group_set;
    int32_t reserved0; /**< 0 */
    int64_t requested; /**< as in struct gang_error */
    int64_t available; /**< as in struct gang_error */
    /** one English line; if there is a gang_error for this reason, its text */
    const char *text;
};

#define GANG_EXPLANATION_INIT                                                                    \
    {                                                                                            \
        sizeof(struct gang_explanation), 0, 0, -1, -1, NULL, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, 0, \
            NULL, NULL, 0, 0, -1, 0, -1, 0, 0, -1, -1, -1, 0, 0, 0, NULL                         \
    }

/** Receives explanations, on the caller's thread. `explanation` and its pointers are valid during
 *  the call. A result other than 0 ends the visit and is returned. The visitor may call functions
 *  that only read. It must not use this worker; changing the allocation that is explained returns
 *  GANG_EBUSY. */
typedef int32_t (*gang_explain_fn)(const struct gang_explanation *explanation, void *user);

/**
 * Explain why a request fits or does not fit: visits each group in order, then each group set, then
 * the request as a whole. `answer` is what gang_alloc() would return at this moment, and the
 * explanation of the whole request has the same reason as its error. The call changes nothing. Each
 * group is examined at an instant of its own; if other threads allocate and release meanwhile, the
 * explanations may contradict each other.
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
 *   result of gang_request_spec.score.
 * Owner of the worker. Lock-free; allocates. O(nodes * (groups * levels + group sets)), plus two
 * searches for the gang.
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
 * Explain whether an allocation can grow, and why not: visits each group that has fewer tasks than
 * its `count`. It explains the smallest step of gang_alloc_grow(): one task; one subgroup; or all
 * tasks that the group lacks to its `min`.
 * @param group index of the group in the request of the allocation (of a job with group_after:
 *   among the groups of its gang, see gang_job_gang_groups()); -1: each group that has fewer tasks
 *   than its `count`
 * @return GANG_OK, whatever the answer is; GANG_ERANGE: the group (with -1: each group) has its
 *   `count` already; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (another thread is changing this
 *   allocation); GANG_ENOMEM; the visitor's result; the result of gang_request_spec.score.
 * Owner of the worker. Lock-free; allocates. O(nodes) for each group, plus two searches.
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
