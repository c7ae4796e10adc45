/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file model.h
 * @brief Descriptions by value: resource kinds, one machine, and the request of a job.
 *
 * A *node specification* describes one machine by value: capacity per kind, GPUs and the links
 * between them, NUMA domains, cores, network cards, labels, partitions, position in the topology.
 * The caller fills one in (GANG_NODE_SPEC_INIT), or the library makes one from hwloc or JSON.
 * core.h adds it to a cluster. A *request specification* describes what a job needs; place.h
 * compiles it and places it. Nothing in this header needs a cluster.
 */
#ifndef GANGSCHED_MODEL_H
#define GANGSCHED_MODEL_H

#include <gangsched/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- kinds ----------------------------------------------------------------------------- */

/** Built-in resource kinds. The host may register further kinds, the *kinds of the site*: they have
 *  the numbers from GANG_KIND_SITE on (gang_kind_add(), core.h). */
enum {
    GANG_KIND_CPU = 0,    /**< "cpu", millicores: 1000 is one core */
    GANG_KIND_MEMORY = 1, /**< "memory", bytes; managed in pages of GANG_PAGE_BYTES */
    GANG_KIND_GPU = 2,    /**< "gpu", milli-devices: 1000 is one device */
    /** first kind of the site: any resource that is counted, such as "nic" or "licence.x" */
    GANG_KIND_SITE = 3
};

/** Whether each node has its own amount of a kind of the site, or the cluster has one. */
enum {
    GANG_SCOPE_NODE = 0,   /**< each node has its own amount (network cards, local disks) */
    GANG_SCOPE_CLUSTER = 1 /**< one pool for the whole cluster (floating licences) */
};

/** Limits of the model. A specification beyond them is refused with GANG_ELIMIT. */
enum {
    GANG_MAX_KINDS = 32,   /**< kinds, the three built-in ones included */
    GANG_MAX_GPUS = 64,    /**< GPUs of one node */
    GANG_MAX_CORES = 1024, /**< cores of one node */
    GANG_MAX_NUMAS = 256,  /**< NUMA domains of one node */
    GANG_MAX_LEVELS = 16,  /**< topology levels above the node */
    /** maximum number of labels, of partitions, and of network cards of one node */
    GANG_MAX_ITEMS = 1024,
    GANG_MAX_NAME = 255,       /**< bytes of any name, label or value, without the NUL */
    GANG_MAX_WHERE = 4096,     /**< bytes of a label expression, without the NUL */
    GANG_MAX_WHERE_DEPTH = 30, /**< nested parentheses in a label expression */
    /** sets of GPU numbers that are tried for gang_group_spec.same_devices */
    GANG_MAX_DEVICE_SETS = 128
};

/** Memory is allocated in pages of this size: capacities are rounded down, requests up. */
#define GANG_PAGE_BYTES ((int64_t)4096)
/** Largest amount of a kind on a node: 2^40 - 1 units; of memory 2^40 - 1 pages, 4 PiB. */
#define GANG_MAX_AMOUNT (((int64_t)1 << 40) - 1)
/** Largest cpu capacity of a node in millicores. */
#define GANG_MAX_CPU_MILLI (((int64_t)1 << 32) - 1)

/** An amount of a kind of the site, e.g. {"nic", 2}. */
struct gang_amount {
    const char *kind; /**< name of a kind of the site */
    int64_t amount;   /**< >= 0 */
};

/** A key and a value: a label {"zone", "a"}, or a position in the topology {"rack", "r1"}. */
struct gang_label {
    const char *key;   /**< not empty, no control characters */
    const char *value; /**< may be empty (labels only), never NULL */
};

/* ---- devices and the inside of a machine ------------------------------------------------ */

/** One GPU. */
struct gang_gpu_spec {
    const char *model;    /**< e.g. "Tesla V100-SXM2-16GB"; NULL or "": unknown */
    const char *pci;      /**< PCI address, e.g. "0000:07:00.0"; NULL: unknown */
    const char *uuid;     /**< vendor's unique name; NULL: unknown */
    int64_t memory_bytes; /**< device memory in bytes; 0: unknown */
    int32_t numa;         /**< index into gang_node_spec.numas; -1: unknown */
    int32_t state;        /**< GANG_GPU_OK or GANG_GPU_UNHEALTHY; see gang_gpu_set_state() */
    /** MIG partition: names its physical device by any text that is the same for all its partitions
     *  (the device's PCI address or uuid). NULL: this is a whole device. Only tasks that request a
     *  profile (struct gang_profile_spec) get MIG partitions, and they get nothing else. */
    const char *parent;
    /** position in the physical device, 0..63, unique in it; 0 without `parent` */
    int32_t mig_index;
    /** Number of the PCIe switch or bridge above the GPU: >= 1, the same for all GPUs below that
     *  switch. 0: unknown; gpu_locality then describes pairs without a link. */
    int32_t pcie;
};

#define GANG_GPU_SPEC_INIT                               \
    {                                                    \
        NULL, NULL, NULL, 0, -1, GANG_GPU_OK, NULL, 0, 0 \
    }

/** Health of a device. */
enum {
    GANG_GPU_OK = 0,       /**< accepts tasks */
    GANG_GPU_UNHEALTHY = 1 /**< keeps its tasks and accepts no new ones */
};

/**
 * A size of MIG instance that devices can be partitioned into: an instance takes `width`
 * consecutive positions (gang_gpu_spec.mig_index) of one physical device, beginning at one of
 * `starts`. On an A100 with 8 memory slices "1g.5gb" has width 1 and starts 0-6, "3g.20gb" width 4
 * and starts 0 and 4, "7g.40gb" width 8 and start 0. To describe instances that exist already and
 * cannot change, give each one as a GPU with `parent` and a profile of width 1.
 */
struct gang_profile_spec {
    const char *name; /**< e.g. "1g.5gb" */
    /** the profile applies to partitions with this gang_gpu_spec.model; NULL: to all */
    const char *model;
    int64_t width;   /**< positions, 1..64 */
    uint64_t starts; /**< bit i: an instance may begin at position i; not 0 */
};

/** What connects two GPUs of a node, best first. */
enum {
    GANG_LINK_NVLINK = 1, /**< NVLink, direct or through NVSwitch */
    GANG_LINK_XGMI = 2,   /**< AMD Infinity Fabric */
    GANG_LINK_OTHER = 3   /**< another vendor's link */
};

/** A link between two GPUs, in both directions. Pairs that are not listed are connected by PCIe
 *  only. */
struct gang_link_spec {
    int32_t a;    /**< index of a GPU of the node */
    int32_t b;    /**< index of another GPU of the node */
    int32_t type; /**< GANG_LINK_* */
    int32_t hops; /**< number of links on the way; 1: direct; 0: unknown */
    /** Megabytes per second in one direction; 0: unknown. The library compares whole GB/s. A host
     *  that knows only the number of links between the two gives 1000 for each link. */
    int64_t bandwidth_mbps;
};

/** One NUMA domain. */
struct gang_numa_spec {
    int32_t os_index;     /**< number in the operating system; -1: unknown */
    int32_t package;      /**< socket, from 0; -1: unknown */
    int64_t memory_bytes; /**< >= 0; 0 is allowed (memory-less domain) */
};

/** One core. Tasks get whole cores for themselves, with all hardware threads. */
struct gang_core_spec {
    int32_t os_index;   /**< number of its first hardware thread, as used in cpusets; >= 0 */
    int32_t numa;       /**< index into gang_node_spec.numas; -1: unknown */
    int32_t threads;    /**< hardware threads, >= 1 */
    int32_t reserved0;  /**< 0 */
    const char *cpuset; /**< its hardware threads as a Linux list, e.g. "0,64"; NULL: os_index */
};

/** One network card. */
struct gang_nic_spec {
    const char *name;  /**< e.g. "mlx5_0" */
    const char *pci;   /**< PCI address; NULL: unknown */
    int32_t numa;      /**< index into gang_node_spec.numas; -1: unknown */
    int32_t reserved0; /**< 0 */
};

/** How close two GPUs of a node are; a larger number is closer. */
enum {
    GANG_LOCALITY_SYSTEM = 0,  /**< only the machine in common (different sockets) */
    GANG_LOCALITY_PACKAGE = 1, /**< the same socket */
    GANG_LOCALITY_NUMA = 2,    /**< the same NUMA domain */
    GANG_LOCALITY_PCI = 3,     /**< a common PCIe bridge or switch */
    GANG_LOCALITY_LINK = 4     /**< joined by a link (NVLink, XGMI, ...) */
};

/** States of a node. Only nodes that are up accept new tasks; running tasks stay in any state. */
enum {
    GANG_NODE_UP = 0,       /**< accepts tasks */
    GANG_NODE_DRAINING = 1, /**< keeps running tasks, accepts no new ones */
    /** Failed: accepts no tasks. Allocations stay until they are released. A scheduler treats the
     *  tasks of its jobs there as lost, from its next run on (gang_report_node_lost()). */
    GANG_NODE_DOWN = 2,
    GANG_NODE_REMOVED = 3 /**< removed from the cluster; it still has allocations */
};

/** Modes of a partition: which groups may use its nodes (gang_partition_set(), core.h). */
enum {
    GANG_PARTITION_SHARED =
        0, /**< also groups that name no partition, or another partition of the node */
    GANG_PARTITION_EXCLUSIVE = 1, /**< requests that name it */
    /** groups that name it; other groups only if no other node has free capacity */
    GANG_PARTITION_LENDING = 2
};

/**
 * One machine. The call to which it is passed reads all pointers and does not keep them. A pointer
 * may be NULL if its count is 0. The `..._size` members are the sizes of the element structs in the
 * caller's headers; GANG_NODE_SPEC_INIT sets them.
 */
struct gang_node_spec {
    size_t size;          /**< sizeof(struct gang_node_spec) */
    size_t gpu_size;      /**< sizeof(struct gang_gpu_spec) */
    size_t link_size;     /**< sizeof(struct gang_link_spec) */
    size_t numa_size;     /**< sizeof(struct gang_numa_spec) */
    size_t core_size;     /**< sizeof(struct gang_core_spec) */
    size_t nic_size;      /**< sizeof(struct gang_nic_spec) */
    const char *name;     /**< unique in the cluster; 1..GANG_MAX_NAME bytes */
    int64_t cpu_milli;    /**< millicores that tasks may use; may differ from 1000 * core_count */
    int64_t memory_bytes; /**< bytes that tasks may use */
    const struct gang_gpu_spec *gpus;
    size_t gpu_count; /**< <= GANG_MAX_GPUS */
    const struct gang_link_spec *links;
    size_t link_count;
    const struct gang_numa_spec *numas;
    size_t numa_count; /**< <= GANG_MAX_NUMAS */
    /** If there are none, or cpu_milli > 1000 * core_count, tasks get millicores but no cores of
     *  their own (*named cores*). */
    const struct gang_core_spec *cores;
    size_t core_count; /**< <= GANG_MAX_CORES */
    const struct gang_nic_spec *nics;
    size_t nic_count;
    const struct gang_amount *amounts; /**< amounts of kinds of the site (GANG_SCOPE_NODE) */
    size_t amount_count;
    const struct gang_label *labels; /**< keys are unique */
    size_t label_count;
    const char *const *partitions; /**< partitions to which the node belongs; it may be in none */
    size_t partition_count;
    /** {level, name of the domain}; levels of the cluster, in any order */
    const struct gang_label *topology;
    size_t topology_count;
    /** GANG_LOCALITY_* of each pair of GPUs: gpu_count * gpu_count bytes, row by row. NULL: the
     *  library derives it from links and NUMA domains. */
    const uint8_t *gpu_locality;
    int32_t state;       /**< GANG_NODE_UP, _DRAINING or _DOWN */
    int32_t reserved0;   /**< 0 */
    size_t profile_size; /**< sizeof(struct gang_profile_spec) */
    /** sizes of MIG instances; names are unique among the profiles of one model, and among those
     *  that apply to all models */
    const struct gang_profile_spec *profiles;
    size_t profile_count; /**< <= GANG_MAX_ITEMS */
};

#define GANG_NODE_SPEC_INIT                                                                     \
    {                                                                                           \
        sizeof(struct gang_node_spec), sizeof(struct gang_gpu_spec),                            \
            sizeof(struct gang_link_spec), sizeof(struct gang_numa_spec),                       \
            sizeof(struct gang_core_spec), sizeof(struct gang_nic_spec), NULL, 0, 0, NULL, 0,   \
            NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, \
            sizeof(struct gang_profile_spec), NULL, 0                                           \
    }

/**
 * Check a specification like gang_node_add(), except for what depends on the cluster: names of
 * kinds and levels, and that the node's name is not used yet.
 * @return GANG_OK; GANG_EINVAL (NULL or empty name, bad index, unknown state, duplicate key or
 *   core, wrong struct size), GANG_E2BIG, GANG_ERANGE (negative or too large number), GANG_ELIMIT.
 *   The error's path names the member: "gpus[3].numa".
 * Any thread. O(size of the specification).
 */
GANG_API gang_result gang_node_spec_check(const struct gang_node_spec *spec,
                                          struct gang_error *error) GANG_MUST_CHECK;

/**
 * Copy a specification with everything it points to, into one block of memory. The copy has the
 * library's struct sizes.
 * @return GANG_OK and *copy, which the caller frees with gang_node_spec_free(); an error of
 *   gang_node_spec_check(); GANG_ENOMEM.
 * Any thread. May allocate.
 */
GANG_API gang_result gang_node_spec_copy(const struct gang_node_spec *spec,
                                         struct gang_node_spec **copy, struct gang_error *error)
    GANG_MUST_CHECK;

/** Free a specification that the library returned. NULL is allowed. Any thread. */
GANG_API void gang_node_spec_free(struct gang_node_spec *spec);

/* ---- from hwloc ------------------------------------------------------------------------ */

/** Where gang_node_spec_from_hwloc_source() finds the machine. */
enum {
    GANG_HWLOC_THIS = 0,     /**< the machine this process runs on; `source` is ignored */
    GANG_HWLOC_XML_FILE = 1, /**< `source` is the path of an hwloc XML file */
    GANG_HWLOC_SYNTHETIC =
        2 /**< `source` is a synthetic description, "pack:2 numa:1 core:8 pu:2" */
};

/**
 * Describe a machine through hwloc: cores, NUMA domains, memory, GPUs of every vendor that hwloc
 * knows (one entry for each physical device, even if several back ends report it), links between
 * GPUs (NVLink and XGMI bandwidth matrices), locality through PCIe, network cards. cpu_milli is
 * 1000 times the number of cores. memory_bytes is the sum over the NUMA domains, without domains
 * that are a GPU's own memory. GPUs and network cards are in the order of their PCI addresses.
 * Cores and memory that this process may not use (cgroups), as hwloc reports it, are left out.
 *
 * @param kind GANG_HWLOC_*
 * @param source path or synthetic description, by `kind`; ignored for GANG_HWLOC_THIS
 * @param name name of the node; NULL: the host name in the topology, else "node"
 * @param spec receives the specification; free it with gang_node_spec_free()
 * @return GANG_OK; GANG_EINVAL; GANG_EIO (no such file, unreadable); GANG_EPARSE (not a topology
 *   that this hwloc reads); GANG_ELIMIT (larger than the limits above); GANG_ENOMEM.
 * Any thread. May block (reads files or asks the operating system), may allocate.
 */
GANG_API gang_result gang_node_spec_from_hwloc_source(int32_t kind, const char *source,
                                                      const char *name,
                                                      struct gang_node_spec **spec,
                                                      struct gang_error *error) GANG_MUST_CHECK;

/* ---- what is requested --------------------------------------------------------------------- */

/** Comparison of a label rule. */
enum {
    GANG_LABEL_IN = 0,         /**< the node has the key, with one of the values */
    GANG_LABEL_NOT_IN = 1,     /**< the node does not have the key, or has another value */
    GANG_LABEL_EXISTS = 2,     /**< the node has the key */
    GANG_LABEL_NOT_EXISTS = 3, /**< the node does not have the key */
    /* Numbers: the label and the value are decimal, "-12.5"; they are compared exactly at any
     *  length. A node without the key, or with a label that is no number, does not match. */
    GANG_LABEL_LT = 4, /**< label < value */
    GANG_LABEL_LE = 5, /**< label <= value */
    GANG_LABEL_GT = 6, /**< label > value */
    GANG_LABEL_GE = 7  /**< label >= value */
};

/** One condition on a node's labels. The key "node" means the node's name. */
struct gang_label_rule {
    const char *key;
    const char *const *values; /**< for IN and NOT_IN: at least one; for LT to GE: exactly one */
    size_t value_count;
    int32_t op;        /**< GANG_LABEL_* */
    int32_t reserved0; /**< 0 */
};

/**
 * How a task's named cores and GPUs are placed in NUMA domains. A task has named cores if its
 * cpu_milli is a multiple of 1000 and the node lists its cores. A node without NUMA domains counts
 * as one domain. A GPU or core whose domain is unknown is in no domain.
 */
enum {
    /** One NUMA domain if possible, otherwise few. Among sets of GPUs with equal links, one in a
     *  domain that also has enough free cores is preferred. Cores come from the GPUs' domains, in
     *  proportion to the GPUs there, then from as few domains as possible. A task without GPUs gets
     *  cores of the fullest domain that has enough, otherwise of as few domains as possible. */
    GANG_NUMA_PREFER = 0,
    GANG_NUMA_NONE = 1, /**< the free cores with the lowest numbers, in any domains */
    /** All GPUs and all named cores of a task must be in one NUMA domain, whose
     *  gang_numa_spec.memory_bytes is 0 or at least the task's memory_bytes. Otherwise the node
     *  does not fit (GANG_CONSTRAINT_NUMA). The library does not count how much memory of a domain
     *  is in use. gang_alloc_adopt() treats this like GANG_NUMA_PREFER. */
    GANG_NUMA_STRICT = 2
};

/**
 * Levels. `same`, `prefer` and the other members that name a level accept a level of the cluster
 * (gang_cluster_opts.levels) or one of these built-in levels (a level of the cluster with the same
 * name replaces it):
 *   "node" one machine
 *   "package" one socket
 *   "numa" one NUMA domain
 *   "pcie" GPUs below one PCIe switch
 *   "island" GPUs joined by links (NVLink, XGMI), directly or through other GPUs
 * In the levels below the node, a task is in the domain that has all its GPUs. A task without GPUs
 * is in the "package" or "numa" domain that has all its cores; it never fits in "pcie" or "island".
 *
 * Choice of the domain, for the level of `same`, and likewise of `prefer`:
 *   - Only domains that hold the tasks that must start together are considered.
 *   - If the request, group set or group has more tasks than must start together, the domain in
 *     which most of its tasks (at most `count`) fit at the moment of the start is chosen. If groups
 *     differ in shape, their tasks beyond the minima are counted one group after the other, and of
 *     more than eight domains only the eight most promising are compared.
 *   - Among equal domains, and if all tasks start together: the domain where the tasks need the
 *     fewest nodes, then the one with the least free capacity left.
 * A job can wait for its preferred domain: gang_job_spec.prefer_wait_ns.
 */
#define GANG_LEVEL_NODE "node"
#define GANG_LEVEL_PACKAGE "package"
#define GANG_LEVEL_NUMA "numa"
#define GANG_LEVEL_PCIE "pcie"
#define GANG_LEVEL_ISLAND "island"

/**
 * A group: tasks of one role and one shape. The amounts are those of *one task*, which runs on one
 * node. GPUs are requested in one of three ways:
 *   - gpu_milli = 1000 * k: k whole devices;
 *   - gpu_milli = 1..999: this share of a device, from each of gpu_devices (default 1) devices;
 *   - gpu_memory_bytes: this much memory of each of gpu_devices (default 1) devices, rounded up to
 *     a thousandth of the device. Only devices whose memory is known are used. All devices of one
 *     task have the same share.
 * A share is always on one device. A device that a task has wholly is not shared.
 *
 * GPU memory in queues: which share gpu_memory_bytes is depends on the device. Quotas and usage of
 * queues count the largest possible share, wherever the task runs: that of the smallest device in
 * the cluster with enough memory, in any state of its node; 1000 if no device has enough. When
 * devices change, the next gang_sched_run() computes it again; jobs that then exceed a limit keep
 * what they have. A planned start counts, on each node, the largest share that the task may need of
 * that node's devices.
 *
 * Choice of devices: a task with k whole GPUs gets the best set of k free devices of its node. Sets
 * are compared by these criteria, in this order: the sum of link bandwidths over the pairs of the
 * set (in whole GB/s, each link at least 1); the number of pairs below one PCIe switch; of pairs in
 * one NUMA domain; of pairs in one package; with near_nic, the number of devices with a network
 * card in their NUMA domain; with GANG_NUMA_PREFER and named cores, whether all are in one NUMA
 * domain that has the cores; the same sums over the pairs of devices that stay free; the lowest
 * numbers. The choice is exact for up to 16 free devices, and for more if many are alike. After
 * 8192 search steps the search ends; the set may then be such that no exchange of a single device
 * improves it, but another set is better. A share goes to the fullest device that has enough free;
 * shares of several devices go to the fullest devices that have enough free.
 *
 * Cores: if cpu_milli is a multiple of 1000 and the node lists its cores, the task gets *named
 * cores*, for itself alone. Tasks with any other amount run on the cores that no task has for
 * itself.
 */
struct gang_group_spec {
    size_t size;                       /**< sizeof(struct gang_group_spec) */
    const char *name;                  /**< for messages and output; NULL: "tasks" */
    int64_t count;                     /**< number of tasks, 1..2^24 */
    int64_t min;                       /**< number of tasks that must start together, 0..count */
    int64_t cpu_milli;                 /**< millicores, >= 0 */
    int64_t memory_bytes;              /**< >= 0; rounded up to pages */
    int64_t gpu_milli;                 /**< see above, >= 0 */
    int64_t gpu_memory_bytes;          /**< see above, >= 0; excludes gpu_milli */
    int64_t gpu_devices;               /**< see above; 0 means 1 */
    const struct gang_amount *amounts; /**< amounts of kinds of the site; each kind at most once */
    size_t amount_count;
    const struct gang_label_rule *labels; /**< all must hold */
    size_t label_count;
    const char *const *gpu_models; /**< the GPUs' model must be one of these; none: any model */
    size_t gpu_model_count;
    const char *partition; /**< only nodes of this partition; NULL: any */
    const char *same;      /**< topology level: all tasks of the group in one domain; NULL: no */
    const char *prefer; /**< the same as a preference: in a wider domain if necessary; NULL: no */
    int32_t group_set;  /**< index into gang_request_spec.group_sets; -1: none */
    int32_t numa;       /**< GANG_NUMA_* */
    /**
     * A label expression that a node must match, in addition to `labels`; NULL: none. The
     * operators, those that bind tightest first:
     *   KEY | exists KEY | KEY = V | KEY != V | KEY < V | <= | > | >= | KEY in (V, V) | KEY not in
     *   (V, V)
     *   not E;  E and E;  E or E;  ( E )
     * KEY and V are words of letters, digits and any of "_-./:@+", or text in double quotes, in
     * which a backslash quotes the next byte. V after <, <=, > or >= is a number. KEY alone is true
     * if the node has the label. The key "node" is the node's name. `!=` and `not in` are also true
     * for a node without the label. The words `and`, `or`, `not`, `in` and `exists` must be quoted
     * to be used as KEY or V. At most GANG_MAX_WHERE bytes, with at most GANG_MAX_WHERE_DEPTH
     * nested parentheses. An error names the byte, counted from 1: "column 7: ..."
     */
    const char *where;
    /** MIG profile, a name in gang_node_spec.profiles: each task takes k instances of it, with
     *  gpu_milli = 1000 * k. NULL: GPUs as above. */
    const char *profile;
    int32_t near_nic; /**< 1: prefer GPUs near a network card, see "Choice of devices" */
    /** 1: `gpu_models`, at most 64, are in order of preference: a node of a later model is used
     *  only if no node of an earlier model has free capacity. On a node with several models a task
     *  gets GPUs of the first models that together have enough. */
    int32_t models_ranked;
    /** Subgroups: the tasks form subgroups of subgroup_size tasks. Each subgroup is in one domain
     *  of level subgroup_same (or, as a preference, of subgroup_prefer), inside the domain of the
     *  group. `count` and `min` are multiples of subgroup_size. 0: no subgroups. */
    int64_t subgroup_size;
    const char *subgroup_same;
    const char *subgroup_prefer;
    /** Spread over the domains of this level: the numbers of the group's tasks in any two domains
     *  differ by at most max_skew (0 means 1). Only domains inside the group's domain count that
     *  have a node on which the constraints allow the group. spread_soft = 1 makes it a preference.
     *  NULL: no. */
    const char *spread;
    int64_t max_skew;
    int64_t max_per_node;   /**< maximum number of the group's tasks on one node; 0: no bound */
    int64_t max_per_domain; /**< maximum number in one domain of domain_level; 0: no bound */
    const char *domain_level;
    /** 1: if the gang does not fit within max_skew, it is placed without this bound */
    int32_t spread_soft;
    /** 1: all tasks of the group have GPUs with the same numbers on their nodes, for networks with
     *  one rail for each GPU. With whole devices, each task is then on a node of its own. Tasks
     *  that are added later (growth, refill) get the same numbers as those that run. Among the sets
     *  of numbers with which the tasks that must start fit, the library chooses by: the most nodes
     *  that have the set free (at most `count`); the best links; the lowest numbers. It tries at
     *  most GANG_MAX_DEVICE_SETS sets, so it may refuse a gang that could be placed. Only for
     *  groups with GPUs and without `profile`. The constraint of such a refusal is
     *  GANG_CONSTRAINT_SAME_DEVICES. gang_alloc_adopt() ignores this member. */
    int32_t same_devices;
};

#define GANG_GROUP_SPEC_INIT                                                                    \
    {                                                                                           \
        sizeof(struct gang_group_spec), NULL, 1, 1, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, NULL, 0,   \
            NULL, NULL, NULL, -1, 0, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, NULL, 0, 0 \
    }

/** A group set: groups and other group sets that have a common domain, a common minimum, or
 *  both. */
struct gang_group_set_spec {
    size_t size;      /**< sizeof(struct gang_group_set_spec) */
    const char *name; /**< for messages; NULL: "set" */
    /** index of the group set that contains this one, below its own index; -1: the request */
    int32_t parent;
    int32_t reserved0; /**< 0 */
    /** number of its tasks that must start together; 0: the sum of the minima of its members */
    int64_t min;
    const char *same;   /**< all its tasks must be in one domain of this level; NULL: no */
    const char *prefer; /**< preferred: the same; NULL: no */
};

#define GANG_GROUP_SET_SPEC_INIT                                       \
    {                                                                  \
        sizeof(struct gang_group_set_spec), NULL, -1, 0, 0, NULL, NULL \
    }

/** Policies: how the library chooses among the nodes that can take a task. Among equal nodes it
 *  takes the first in the order of gang_node_next(). A scheduler, a snapshot and the first worker
 *  of a cluster begin at the first node. Each other worker begins at a position of its own and
 *  continues at the first node after the last, so that concurrent workers rarely choose the same
 *  node. */
enum {
    /** In a request: the cluster's policy (gang_cluster_opts.policy). In gang_cluster_opts:
     *  GANG_POLICY_PACK, or GANG_POLICY_HEADROOM if the host has declared a mix of task shapes
     *  (gang_mix_set()); but groups with `same`, `prefer` or subgroups (of their own, their group
     *  sets or the request) are placed by GANG_POLICY_TOPOLOGY inside their domains, and the other
     *  groups of such a request by GANG_POLICY_PACK. */
    GANG_POLICY_DEFAULT = 0,
    /** The fullest node that can take the task, which keeps other nodes wholly free. Fullness is
     *  the number of free GPUs (for less than one GPU: free eighths of a GPU); for tasks without
     *  GPUs it is the number of free cores, in classes that double. Exception: when a worker that
     *  places a single task finds that another worker changed the same node meanwhile, it avoids
     *  this node for its next tasks, and fills up to four equally full nodes one after the other
     *  before it searches for the fullest again. This ends when it has placed 64 tasks without such
     *  a conflict. It never happens in a scheduler. */
    GANG_POLICY_PACK = 1,
    /** the emptiest node by the same measure; no node gets a second task of the gang before each
     *  node has one */
    GANG_POLICY_SPREAD = 2,
    GANG_POLICY_FIRST = 3, /**< the first node in the order of gang_node_next() */
    /** Few domains and few nodes for the whole gang: the narrowest domain of any level that has
     *  room for a group; in it the fewest nodes, with equal numbers of tasks; among equal choices
     *  the one with the least free capacity. */
    GANG_POLICY_TOPOLOGY = 4,
    /* The following policies score every node that can take the task: O(nodes) a task. */
    /** Fragmentation gradient descent (Weng et al., USENIX ATC 2023): the node where the mix of
     *  task shapes (gang_mix_set()) loses the least usable GPU capacity. */
    GANG_POLICY_FGD = 5,
    GANG_POLICY_BEST_FIT = 6, /**< least free cpu and GPUs left, as one sum */
    /** smallest dot product of the request and the free capacity (cpu, GPUs) */
    GANG_POLICY_DOT_PRODUCT = 7,
    /** first shared devices, then whole devices of busy nodes, then idle nodes */
    GANG_POLICY_GPU_PACKING = 8,
    /** A node with tasks that request the same number of GPUs and were placed by this policy. */
    GANG_POLICY_GPU_CLUSTERING = 9,
    /** The node where most free GPUs stay usable for the mix of task shapes (gang_mix_set()). */
    GANG_POLICY_HEADROOM = 10,
    GANG_POLICY_HOST = 11 /**< the host decides: gang_request_spec.score */
};

/** Whether tasks without GPUs may use nodes with GPUs. Applies to every policy. */
enum {
    GANG_GPU_NODES_AVOID = 0,  /**< only if no other node has free capacity */
    GANG_GPU_NODES_ALLOW = 1,  /**< like any other node */
    GANG_GPU_NODES_EXCLUDE = 2 /**< never */
};

/**
 * An affinity rule: all tasks of this request run in the same domains as other allocations with a
 * label (gang_request_spec.labels), or in none of their domains. The request's own allocation does
 * not count, so the first of several jobs that attract each other needs a soft rule. A node that is
 * in no domain of the level is apart from all allocations.
 *   - Anti-affinity is symmetric. A hard rule with colocate = 0 of a running allocation also keeps
 *     later requests that have the label away, even if they have no rules. The constraint of such a
 *     refusal is GANG_CONSTRAINT_AFFINITY, too.
 *   - This is also true if several threads allocate at the same time: of gangs that exclude each
 *     other only one is placed. A gang that other threads made to plan again 64 times in a row is
 *     refused, even if it could be placed.
 *   - Affinity (colocate = 1) is checked at one instant during the call. The other allocation may
 *     end right afterwards.
 *   - Running tasks stay when a node moves to another domain. gang_alloc_adopt() ignores the rules
 *     of its request; allocations that it makes count for the rules of other requests.
 *   - If the gang does not fit, soft rules of both kinds are dropped one by one, the last one
 *     first. Soft rules do not restrict other requests.
 *   - GANG_ENEVER ignores other allocations: one to colocate with may still come. Calls on a
 *     snapshot use the allocations that run now in the cluster, not those of the snapshot's
 *     instant, nor those placed in it.
 * Cost: O(rules + labels) for each node; a rule at a level of the cluster, O(tasks of matching
 * allocations) for each call.
 */
struct gang_affinity_rule {
    const char *key;   /**< key of a label */
    const char *value; /**< its value; NULL: any */
    const char *level; /**< "node" or a level of the cluster; NULL: "node" */
    /** 1: only in domains where such an allocation runs (affinity); 0: only in domains where none
     *  runs (anti-affinity) */
    int32_t colocate;
    int32_t soft; /**< 1: drop the rule if the gang does not fit otherwise */
};

/** A node that can take the next task of a group, as gang_score_fn gets it. */
struct gang_candidate {
    uint64_t node;       /**< gang_node_id */
    int64_t cpu_free;    /**< millicores, before the task */
    int64_t memory_free; /**< bytes */
    int64_t gpu_free;    /**< milli-GPUs over all devices */
    int64_t gpus_free;   /**< devices that are wholly free */
    int64_t tasks;       /**< tasks of this gang planned there so far */
};

/**
 * Callback that scores candidates for one task of a group: it writes scores[i] for candidates[i].
 * The highest score wins; INT64_MIN excludes a candidate. The library calls it during gang_alloc()
 * and the other calls that place tasks, on the caller's thread and without any lock of the library:
 * several times in one call, and again after concurrent changes. `count` is at least 1. The arrays
 * belong to the library and are valid during the call; candidate i is at (const char *)candidates +
 * i * candidate_size. The callback may call functions that only read. It must not change this
 * cluster or use this worker; an allocation that is growing is GANG_EBUSY meanwhile. A result other
 * than 0 ends the placing call, which then changes nothing and returns this result (use a negative
 * GANG_E* code). It is not called to find out whether something could ever fit.
 */
typedef int32_t (*gang_score_fn)(int32_t group, const struct gang_candidate *candidates,
                                 size_t candidate_size, size_t count, int64_t *scores, void *user);

/** A request: what a job needs. The call to which it is passed reads all pointers and does not keep
 *  them, except `score` and `score_user`, which must stay valid as long as the request. */
struct gang_request_spec {
    size_t size;           /**< sizeof(struct gang_request_spec) */
    size_t group_size;     /**< sizeof(struct gang_group_spec) */
    size_t group_set_size; /**< sizeof(struct gang_group_set_spec) */
    const struct gang_group_spec *groups;
    size_t group_count; /**< 1..4095 */
    const struct gang_group_set_spec *group_sets;
    size_t group_set_count; /**< 0..4095 */
    /** Number of tasks, of all groups together, that must start together; exactly this number
     *  start. 0: the sum of the minima of groups and group sets, which then must not be 0. If `min`
     *  is larger than this sum, tasks of different shapes may make up the difference. A scheduler
     *  then chooses tasks that limits and guarantees allow; if there are more than 32 choices, it
     *  tries 32 that are evenly spaced among them. */
    int64_t min;
    const char *same;   /**< topology level: all tasks of the request in one domain; NULL: no */
    const char *prefer; /**< preferred: the same; NULL: no */
    int32_t policy;     /**< GANG_POLICY_* */
    int32_t gpu_nodes;  /**< GANG_GPU_NODES_*, for groups without GPUs */
    /** labels of the allocation, for affinity rules of other requests; keys are unique */
    const struct gang_label *labels;
    size_t label_count;                        /**< <= 64 */
    size_t affinity_size;                      /**< sizeof(struct gang_affinity_rule) */
    const struct gang_affinity_rule *affinity; /**< all must hold */
    size_t affinity_count;                     /**< <= 64 */
    gang_score_fn score;                       /**< with GANG_POLICY_HOST, else NULL */
    void *score_user;                          /**< passed to it */
    /** 1: the allocation has its nodes for itself: it starts only on nodes that are wholly free,
     *  and takes all of a node as long as it has a task there. gang_alloc_get() and the other
     *  queries count only what the tasks request. Further tasks (gang_alloc_grow()) go to these
     *  nodes first. A node is released with the allocation's last task there. Tasks that request
     *  nothing do not make a node busy, and are not kept away. Capacity that gang_node_change()
     *  adds is taken only when the allocation next grows there. gang_alloc_adopt() takes what is
     *  free on its nodes, even if they are not wholly free. */
    int32_t exclusive;
    int32_t reserved0; /**< 0 */
};

#define GANG_REQUEST_SPEC_INIT                                                                  \
    {                                                                                           \
        sizeof(struct gang_request_spec), sizeof(struct gang_group_spec),                       \
            sizeof(struct gang_group_set_spec), NULL, 0, NULL, 0, 0, NULL, NULL, 0, 0, NULL, 0, \
            sizeof(struct gang_affinity_rule), NULL, 0, NULL, NULL, 0, 0                        \
    }

#ifdef __cplusplus
}
#endif
#endif
