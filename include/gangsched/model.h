/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file model.h
 * @brief What is there and what is requested, by value: resource kinds, the description of one
 * machine, the description of a job's request.
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

/** Built-in resource kinds. Kinds of the site follow from GANG_KIND_SITE (see core.h). */
enum {
    GANG_KIND_CPU = 0,    /**< "cpu", millicores: 1000 is one core */
    GANG_KIND_MEMORY = 1, /**< "memory", bytes; managed in pages of GANG_PAGE_BYTES */
    GANG_KIND_GPU = 2,    /**< "gpu", milli-devices: 1000 is one device */
    GANG_KIND_SITE = 3    /**< first kind of the site: countables such as "nic", "licence.x" */
};

/** Where a kind of the site is counted. */
enum {
    GANG_SCOPE_NODE = 0,   /**< each node has its own (network cards, local disks) */
    GANG_SCOPE_CLUSTER = 1 /**< one pool for the whole cluster (floating licences) */
};

/** Limits of the model. A specification beyond them is refused with GANG_ELIMIT. */
enum {
    GANG_MAX_KINDS = 32,       /**< kinds, the three built-in ones included */
    GANG_MAX_GPUS = 64,        /**< GPUs of one node */
    GANG_MAX_CORES = 1024,     /**< cores of one node */
    GANG_MAX_NUMAS = 256,      /**< NUMA domains of one node */
    GANG_MAX_LEVELS = 16,      /**< topology levels above the node */
    GANG_MAX_ITEMS = 1024,     /**< labels, partitions, network cards of one node, of each */
    GANG_MAX_NAME = 255,       /**< bytes of any name, label or value, without the NUL */
    GANG_MAX_WHERE = 4096,     /**< bytes of a label expression, without the NUL */
    GANG_MAX_WHERE_DEPTH = 30, /**< parentheses in each other in one */
    GANG_MAX_DEVICE_SETS = 128 /**< sets of GPUs tried for gang_group_spec.same_devices */
};

/** Memory is handed out in whole pages: capacities round down, requests round up. */
#define GANG_PAGE_BYTES ((int64_t)4096)
/** Largest amount of any kind on a node (2^40 - 1; memory: this many pages, 4 PiB). */
#define GANG_MAX_AMOUNT (((int64_t)1 << 40) - 1)
/** Largest cpu capacity of a node in millicores. */
#define GANG_MAX_CPU_MILLI (((int64_t)1 << 32) - 1)

/** An amount of a kind named by text, e.g. {"nic", 2}. */
struct gang_amount {
    const char *kind; /**< name of a kind of the site */
    int64_t amount;   /**< >= 0 */
};

/** A key and a value: a label {"zone", "a"}, or a place in the topology {"rack", "r1"}. */
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
    int64_t memory_bytes; /**< device memory; 0: unknown */
    int32_t numa;         /**< index into gang_node_spec.numas; -1: unknown */
    int32_t state;        /**< GANG_GPU_OK or GANG_GPU_UNHEALTHY; see gang_gpu_set_state() */
    /** The physical device that this MIG partition belongs to: any text, the same for all its
     *  partitions (the parent's PCI address or uuid). NULL: a whole device. MIG partitions are
     *  given only to tasks that request a profile (struct gang_profile_spec), and such tasks get
     *  nothing else. */
    const char *parent;
    int32_t mig_index; /**< position in the parent, 0..63, unique in it; 0 without a parent */
    /** Number of the PCIe switch (or bridge) above it, from 1, the same for all GPUs below it;
     *  0: not known (gpu_locality then describes pairs without a link). */
    int32_t pcie;
};

#define GANG_GPU_SPEC_INIT                               \
    {                                                    \
        NULL, NULL, NULL, 0, -1, GANG_GPU_OK, NULL, 0, 0 \
    }

/** Health of a device. */
enum {
    GANG_GPU_OK = 0,       /**< takes work */
    GANG_GPU_UNHEALTHY = 1 /**< keeps what runs on it, takes nothing new */
};

/**
 * A way to partition a device (MIG): an instance of the profile takes `width` consecutive positions
 * (mig_index) of one parent, beginning at one of `starts`. On an A100 with 8 memory slices "1g.5gb"
 * has width 1 and starts 0-6, "3g.20gb" width 4 and starts 0 and 4, "7g.40gb" width 8 and start 0.
 * Instances that exist already are partitions of width 1 with a profile each.
 */
struct gang_profile_spec {
    const char *name; /**< e.g. "1g.5gb" */
    /** model of the partitions that it applies to (gang_gpu_spec.model); NULL: all */
    const char *model;
    int64_t width;   /**< positions, 1..64 */
    uint64_t starts; /**< bit i: may begin at position i; not 0 */
};

/** What connects two GPUs of a node, best first. */
enum {
    GANG_LINK_NVLINK = 1, /**< NVLink, direct or through NVSwitch */
    GANG_LINK_XGMI = 2,   /**< AMD Infinity Fabric */
    GANG_LINK_OTHER = 3   /**< another vendor's link */
};

/** A link between two GPUs; it holds in both directions. Pairs not listed share only PCIe. */
struct gang_link_spec {
    int32_t a;    /**< index of a GPU of the node */
    int32_t b;    /**< index of another GPU of the node */
    int32_t type; /**< GANG_LINK_* */
    int32_t hops; /**< 1 direct; 0: unknown */
    /** Megabytes per second, one direction; 0: unknown. Sets of GPUs are compared by whole GB/s.
     *  A host that only knows the number of links gives 1000 for each. */
    int64_t bandwidth_mbps;
};

/** One NUMA domain. */
struct gang_numa_spec {
    int32_t os_index;     /**< number the operating system gives it; -1: unknown */
    int32_t package;      /**< socket, from 0; -1: unknown */
    int64_t memory_bytes; /**< >= 0; 0 is allowed (memory-less domain) */
};

/** One core, the unit of exclusive CPU assignment. */
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

/** How close two GPUs are in the machine's hardware; a larger number is closer. */
enum {
    GANG_LOCALITY_SYSTEM = 0,  /**< only the whole machine in common (across sockets) */
    GANG_LOCALITY_PACKAGE = 1, /**< the same socket */
    GANG_LOCALITY_NUMA = 2,    /**< the same NUMA domain */
    GANG_LOCALITY_PCI = 3,     /**< a common PCIe bridge or switch */
    GANG_LOCALITY_LINK = 4     /**< joined by a link (NVLink, XGMI, ...) */
};

/** States of a node. Only nodes that are up accept new tasks; running tasks stay in any state. */
enum {
    GANG_NODE_UP = 0,       /**< accepts tasks */
    GANG_NODE_DRAINING = 1, /**< keeps running tasks, accepts no new ones */
    /** lost; its tasks stay recorded until they are released. A scheduler takes those of its jobs
     *  for lost in its next run (gang_report_node_lost()). */
    GANG_NODE_DOWN = 2,
    GANG_NODE_REMOVED = 3 /**< removed; only its remaining allocations keep it in the records */
};

/** Which requests may use the nodes of a partition (gang_partition_set(), core.h). */
enum {
    GANG_PARTITION_SHARED =
        0, /**< also requests that name no partition, or another partition of the node */
    GANG_PARTITION_EXCLUSIVE = 1, /**< requests that name it */
    /** requests that name it; others if no other node has free capacity */
    GANG_PARTITION_LENDING = 2
};

/**
 * One machine. All pointers are borrowed for the duration of the call they are passed to.
 * Counts may be 0 with a NULL pointer. The `..._size` members are the sizes of the element
 * structs as the caller's headers know them; GANG_NODE_SPEC_INIT sets them.
 */
struct gang_node_spec {
    size_t size;          /**< sizeof(struct gang_node_spec) */
    size_t gpu_size;      /**< sizeof(struct gang_gpu_spec) */
    size_t link_size;     /**< sizeof(struct gang_link_spec) */
    size_t numa_size;     /**< sizeof(struct gang_numa_spec) */
    size_t core_size;     /**< sizeof(struct gang_core_spec) */
    size_t nic_size;      /**< sizeof(struct gang_nic_spec) */
    const char *name;     /**< unique in the cluster; 1..GANG_MAX_NAME bytes */
    int64_t cpu_milli;    /**< millicores to hand out; may differ from 1000 * core_count */
    int64_t memory_bytes; /**< bytes to hand out */
    const struct gang_gpu_spec *gpus;
    size_t gpu_count; /**< <= GANG_MAX_GPUS */
    const struct gang_link_spec *links;
    size_t link_count;
    const struct gang_numa_spec *numas;
    size_t numa_count; /**< <= GANG_MAX_NUMAS */
    /** None, or cpu_milli > 1000 * core_count: tasks get millicores but no named cores. */
    const struct gang_core_spec *cores;
    size_t core_count; /**< <= GANG_MAX_CORES */
    const struct gang_nic_spec *nics;
    size_t nic_count;
    const struct gang_amount *amounts; /**< countables of the site on this node */
    size_t amount_count;
    const struct gang_label *labels; /**< keys are unique */
    size_t label_count;
    const char *const *partitions; /**< partitions the node belongs to; none: the default */
    size_t partition_count;
    const struct gang_label *topology; /**< {level, value}; levels of the cluster, any order */
    size_t topology_count;
    /** GANG_LOCALITY_* of each pair of GPUs, gpu_count * gpu_count bytes, row by row; NULL:
     *  derived from links and NUMA domains. */
    const uint8_t *gpu_locality;
    int32_t state;       /**< GANG_NODE_UP, _DRAINING or _DOWN */
    int32_t reserved0;   /**< 0 */
    size_t profile_size; /**< sizeof(struct gang_profile_spec) */
    /** how MIG partitions combine; names are unique for one model, and among those for all
     *  models */
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
 * Check a specification as gang_node_add() would, except for what only a cluster knows (names of
 * kinds and levels, uniqueness of the name).
 * @return GANG_OK; GANG_EINVAL (NULL or empty name, bad index, unknown state, duplicate key or
 *   core, wrong struct size), GANG_E2BIG, GANG_ERANGE (negative or too large number), GANG_ELIMIT.
 *   The error's path names the member: "gpus[3].numa".
 * Any thread. O(size of the specification).
 */
GANG_API gang_result gang_node_spec_check(const struct gang_node_spec *spec,
                                          struct gang_error *error) GANG_MUST_CHECK;

/**
 * A deep copy of a specification, in one block of memory, of the library's own struct size.
 * @return GANG_OK and *copy, which the caller frees with gang_node_spec_free(); an error of
 *   gang_node_spec_check(); GANG_ENOMEM.
 * Any thread. May allocate.
 */
GANG_API gang_result gang_node_spec_copy(const struct gang_node_spec *spec,
                                         struct gang_node_spec **copy, struct gang_error *error)
    GANG_MUST_CHECK;

/** Free what the library returned as a `struct gang_node_spec *`. NULL is allowed. Any thread. */
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
 * that are a GPU's own memory. GPUs and network cards are in the order of their PCI addresses. What
 * this process may not use (cgroups), as hwloc reports it, is left out.
 *
 * @param kind GANG_HWLOC_*
 * @param source path or description, see above
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

/** How a label is compared. */
enum {
    GANG_LABEL_IN = 0,         /**< the node has the key, with one of the values */
    GANG_LABEL_NOT_IN = 1,     /**< the node lacks the key or has another value */
    GANG_LABEL_EXISTS = 2,     /**< the node has the key */
    GANG_LABEL_NOT_EXISTS = 3, /**< the node lacks the key */
    /* Numbers: both sides decimal, "-12.5", compared exactly at any length; a node without the
     *  key, or with other text, fails. */
    GANG_LABEL_LT = 4, /**< below the one value */
    GANG_LABEL_LE = 5, /**< not above it */
    GANG_LABEL_GT = 6, /**< above it */
    GANG_LABEL_GE = 7  /**< not below it */
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
 * How cores, memory and network card of a task relate to its GPUs; without GPUs, to each other.
 * Only named cores are bound: cores of tasks with a whole number of cores in cpu_milli, on nodes
 * with known cores. A node that describes no NUMA domains is one domain. A GPU or core of unknown
 * domain is in none.
 */
enum {
    /** One NUMA domain as far as it has capacity, then others. Of equally linked GPUs those with
     *  enough cores beside them. Cores come from the GPUs' domains, in proportion to the GPUs,
     *  then from as few domains as possible. Without GPUs: the fullest domain that suffices,
     *  else as few as possible. */
    GANG_NUMA_PREFER = 0,
    GANG_NUMA_NONE = 1, /**< any free cores, lowest numbers first */
    /** All GPUs and all named cores of a task in one NUMA domain. Its memory_bytes, unless 0,
     *  must not be below the task's request. Otherwise the node does not fit
     *  (GANG_CONSTRAINT_NUMA). Memory used in a domain is not counted. gang_alloc_adopt() treats
     *  this as GANG_NUMA_PREFER. */
    GANG_NUMA_STRICT = 2
};

/**
 * Levels. `same`, `prefer` and the other level members name a level of the site
 * (gang_cluster_opts.levels), or one of these built-in levels, unless the site has a level of that
 * name:
 *   "node" one machine
 *   "package" one socket
 *   "numa" one NUMA domain
 *   "pcie" GPUs below one PCIe switch
 *   "island" GPUs joined by links (NVLink, XGMI), directly or through other GPUs
 * A task is in the domain below the node that has its GPUs; without GPUs, its cores ("package" and
 * "numa" only; the other two refuse such a task).
 *
 * Which domain. A request, group set or group with more tasks than must start together gets, of the
 * domains of its `same` level that hold what must start, one that holds most of its tasks, up to
 * their count, with what is free at the start; likewise of its `prefer` level. (A job may wait for
 * its `prefer` first: gang_job_spec.prefer_wait_ns.) Of domains that hold
 * equally many, and where all tasks start together, it is the one where they need the fewest nodes,
 * then the one with the least capacity left. Of unlike groups the tasks beyond the minima are
 * counted as if added one group after the other; of more than eight such domains the eight that
 * look best are compared.
 */
#define GANG_LEVEL_NODE "node"
#define GANG_LEVEL_PACKAGE "package"
#define GANG_LEVEL_NUMA "numa"
#define GANG_LEVEL_PCIE "pcie"
#define GANG_LEVEL_ISLAND "island"

/**
 * Tasks of one role and one shape: what *one task* takes, all on one node. GPUs are requested in
 * one of three ways:
 *   - gpu_milli = 1000 * k: k whole devices;
 *   - gpu_milli = 1..999: that share of each of gpu_devices (default 1) devices;
 *   - gpu_memory_bytes: that much memory of each of gpu_devices (default 1) devices, rounded up to
 *     a thousandth of the device. Only devices of known memory qualify, and for one task only
 *     devices with the same share.
 * A share never spans devices, and a whole device is never shared.
 *
 * GPU memory: the share that gpu_memory_bytes comes to depends on the device. A queue (its quotas,
 * its usage) counts the largest share: that of the device with the least sufficient memory in the
 * cluster, whatever the state of its node and wherever the task runs; 1000 if no device suffices.
 * When devices change, the next gang_sched_run() counts again, and jobs that then exceed a limit
 * keep what they have. A planned start counts, on each node, the most that the task may need of
 * that node's devices.
 *
 * Choice of devices: of a node's free devices a task with k whole GPUs gets the set that is best in
 * this order: greatest sum of link bandwidths over its pairs (in whole GB/s; any link counts as 1
 * at least); most pairs below one PCIe switch; in one NUMA domain; in one package; with near_nic,
 * most devices with a network card in their NUMA domain; with GANG_NUMA_PREFER and named cores, all
 * in one NUMA domain that has the cores; the best rest for other tasks, by the same sums over the
 * pairs that stay free; the lowest numbers. The choice is exact for up to 16 free devices, and for
 * more if many are alike. Beyond 8192 search steps it may be a set that no exchange of a single
 * device improves. Shares go to the fullest device that holds them; shares of several devices go to
 * the fullest devices with enough free.
 *
 * Cores: if cpu_milli is a whole number of cores, and the node's cores are known, the task gets
 * named cores of its own. Any other amount runs on cores that no task owns.
 */
struct gang_group_spec {
    size_t size;                       /**< sizeof(struct gang_group_spec) */
    const char *name;                  /**< for messages and output; NULL: "tasks" */
    int64_t count;                     /**< number of tasks, 1..2^24 */
    int64_t min;                       /**< tasks of these that must start together, 0..count */
    int64_t cpu_milli;                 /**< millicores, >= 0 */
    int64_t memory_bytes;              /**< >= 0; rounded up to pages */
    int64_t gpu_milli;                 /**< see above, >= 0 */
    int64_t gpu_memory_bytes;          /**< see above, >= 0; excludes gpu_milli */
    int64_t gpu_devices;               /**< see above; 0: 1 */
    const struct gang_amount *amounts; /**< kinds of the site; each at most once */
    size_t amount_count;
    const struct gang_label_rule *labels; /**< all must hold */
    size_t label_count;
    const char *const *gpu_models; /**< one of these; none: any */
    size_t gpu_model_count;
    const char *partition; /**< only nodes of this partition; NULL: any */
    const char *same;      /**< topology level: all tasks of the group in one domain; NULL: no */
    const char *prefer;    /**< preferred: the same, in wider domains if necessary; NULL: no */
    int32_t group_set;     /**< index into gang_request_spec.group_sets; -1: none */
    int32_t numa;          /**< GANG_NUMA_* */
    /**
     * A label expression that must hold, beside `labels`; NULL: none. In the order of binding:
     *   KEY | exists KEY | KEY = V | KEY != V | KEY < V | <= | > | >= | KEY in (V, V) | KEY not in
     *   (V, V)
     *   not E;  E and E;  E or E;  ( E )
     * KEY and V are words of letters, digits and any of "_-./:@+", or text in double quotes, in
     * which a backslash quotes the next byte. V after <, <=, > or >= is a number. KEY alone: the
     * node has the label; the key "node" is the node's name. `!=` and `not in` also hold without
     * the label. `and`, `or`, `not`, `in` and `exists` are labels and values only in quotes. At
     * most GANG_MAX_WHERE bytes, with at most GANG_MAX_WHERE_DEPTH nested parentheses. An error
     * names the byte, from 1: "column 7: ..."
     */
    const char *where;
    /** Profile of a device partition that one task takes, gpu_milli / 1000 times; NULL: whole
     *  devices. A name of gang_node_spec.profiles; gpu_milli must be 1000 * k. */
    const char *profile;
    int32_t near_nic; /**< 1: of equally good GPUs those near a network card, see above */
    /** 1: `gpu_models`, at most 64, are in order of preference: a node of a later model is used
     *  only if no node of an earlier one has free capacity. On a node with several models a task
     *  gets the first sufficient ones. */
    int32_t models_ranked;
    /** Subgroups: the tasks come in subgroups of this many, each in one domain of subgroup_same
     *  (or preferably of subgroup_prefer), inside the domain of the group. 0: none. Divides
     *  `count` and `min`. */
    int64_t subgroup_size;
    const char *subgroup_same;
    const char *subgroup_prefer;
    /** Spread: the numbers of tasks in the domains of this level differ by at most max_skew (0:
     *  1). Counted are the domains, inside the group's domain, with a node that the constraints
     *  admit. spread_soft makes it a preference. NULL: no. */
    const char *spread;
    int64_t max_skew;
    int64_t max_per_node;   /**< maximum of the group's tasks on a node; 0: no bound */
    int64_t max_per_domain; /**< maximum in a domain of domain_level; 0: no bound */
    const char *domain_level;
    int32_t spread_soft; /**< 1: the bound of max_skew gives way before the gang is refused */
    /** 1: all tasks of the group have GPUs of the same numbers, each on its node, as collective
     *  libraries and networks with a rail for each GPU want them. So with whole devices no two of
     *  its tasks are on one node. Tasks that come later (growth, refill) get the same numbers as
     *  those that run. Of the sets of numbers that hold what must start, it is one that most nodes
     *  have free, up to `count`; of these, one with the best links on such a node; the lowest.
     *  Beyond GANG_MAX_DEVICE_SETS sets a gang may be refused that could be placed. For groups
     *  with GPUs and without `profile`. A refusal because of it is GANG_CONSTRAINT_SAME_DEVICES.
     *  gang_alloc_adopt() ignores it. */
    int32_t same_devices;
};

#define GANG_GROUP_SPEC_INIT                                                                    \
    {                                                                                           \
        sizeof(struct gang_group_spec), NULL, 1, 1, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, NULL, 0,   \
            NULL, NULL, NULL, -1, 0, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, NULL, 0, 0 \
    }

/** A gang inside the gang: groups and group sets with a common domain or a minimum of their own. */
struct gang_group_set_spec {
    size_t size;      /**< sizeof(struct gang_group_set_spec) */
    const char *name; /**< for messages; NULL: "set" */
    /** index of the enclosing group set, smaller than its own; -1: the request */
    int32_t parent;
    int32_t reserved0;  /**< 0 */
    int64_t min;        /**< tasks of it that start together; 0: the sum of its members' minima */
    const char *same;   /**< all its tasks in one domain of this level; NULL: no */
    const char *prefer; /**< preferred: the same; NULL: no */
};

#define GANG_GROUP_SET_SPEC_INIT                                       \
    {                                                                  \
        sizeof(struct gang_group_set_spec), NULL, -1, 0, 0, NULL, NULL \
    }

/** How the library chooses among the nodes that can take a task. Ties: the first node in the
 *  cluster's order. A scheduler or a snapshot counts from the first node. Otherwise each worker
 *  counts from a position of its own, so that concurrent workers do not meet (the first worker
 *  of a cluster from the first node). */
enum {
    /** The cluster's policy (gang_cluster_opts.policy). There: GANG_POLICY_PACK; or
     *  GANG_POLICY_HEADROOM after the host declared a mix of task shapes (gang_mix_set()). A
     *  request with `same`, `prefer` or subgroups is placed by GANG_POLICY_TOPOLOGY inside its
     *  domains; its groups without any are packed. */
    GANG_POLICY_DEFAULT = 0,
    /** The fullest node that holds the task: keeps whole nodes free. Fullness counts free GPUs
     *  (whole ones, else eighths of one); for tasks without GPUs free cores, in doublings.
     *  A worker that places a single task and meets another worker on the node departs from this
     *  order: until it has placed 64 tasks without such a meeting, it fills up to four nodes of its
     *  own, free alike, before it looks for the fullest again, and avoids the nodes where it met
     *  others. A scheduler's worker never departs from the order. */
    GANG_POLICY_PACK = 1,
    /** the emptiest node by the same measure, one task a node before a second */
    GANG_POLICY_SPREAD = 2,
    GANG_POLICY_FIRST = 3, /**< the first in the cluster's order */
    /** Few domains and few nodes for the whole gang: the narrowest domain of any level that
     *  holds a group; in it the fewest nodes, equally filled; of equal choices the tightest. */
    GANG_POLICY_TOPOLOGY = 4,
    /* The following policies score every node that can take the task: O(nodes) a task. */
    /** least added fragmentation, for a mix of task shapes (place.h) */
    GANG_POLICY_FGD = 5,
    GANG_POLICY_BEST_FIT = 6,    /**< least left of cpu and GPUs together */
    GANG_POLICY_DOT_PRODUCT = 7, /**< smallest product of request and free capacity */
    GANG_POLICY_GPU_PACKING = 8, /**< shared devices before whole ones before idle nodes */
    /** Beside tasks with the same number of GPUs, if this policy placed them. */
    GANG_POLICY_GPU_CLUSTERING = 9,
    GANG_POLICY_HEADROOM = 10, /**< most GPUs left usable for a mix of task shapes (place.h) */
    GANG_POLICY_HOST = 11      /**< gang_request_spec.score */
};

/** Whether tasks without GPUs may use nodes with GPUs, under any policy. */
enum {
    GANG_GPU_NODES_AVOID = 0,  /**< only if no other node has free capacity */
    GANG_GPU_NODES_ALLOW = 1,  /**< like any other node */
    GANG_GPU_NODES_EXCLUDE = 2 /**< never */
};

/**
 * A rule on other jobs, by the labels of running allocations (gang_request_spec.labels), for all
 * tasks of the job. Its own allocation does not count. So the first of several jobs that attract
 * each other needs a soft rule. A node in no domain of the level is apart from all allocations.
 *   - Anti-affinity holds both ways. The hard rules with colocate = 0 of a running allocation also
 *     exclude later jobs that match them, even without rules of their own; such a refusal is
 *     GANG_CONSTRAINT_AFFINITY, too.
 *   - It holds under concurrency: of gangs that exclude each other only one is placed. Another one
 *     that retries 64 times in a row is refused without proof.
 *   - Affinity counts running allocations, judged at an instant inside the call. The other job may
 *     end right afterwards.
 *   - No task moves when a node changes its domain. gang_alloc_adopt() ignores rules, but the rules
 *     of other jobs see its allocations.
 *   - Soft rules, of both kinds, are dropped one by one, the last first, before the gang is
 *     refused. They do not restrict other jobs.
 *   - GANG_ENEVER ignores other jobs: a job to colocate with could still come. Planning on a
 *     snapshot uses the allocations that run now, not those at its instant or placed in it.
 * Costs O(rules + labels) a node; a level of the site costs O(tasks of matching jobs) a call.
 */
struct gang_affinity_rule {
    const char *key;   /**< key of a label */
    const char *value; /**< its value; NULL: any */
    const char *level; /**< "node" or a level of the site, whose domain is shared; NULL: "node" */
    /** 0: apart from such allocations (anti-affinity); 1: only together with one (affinity) */
    int32_t colocate;
    int32_t soft; /**< 1: drop the rule before the gang is refused */
};

/** A node that could take the next task of a group, as a scoring host sees it. */
struct gang_candidate {
    uint64_t node;       /**< gang_node_id */
    int64_t cpu_free;    /**< millicores, before the task */
    int64_t memory_free; /**< bytes */
    int64_t gpu_free;    /**< milli-GPUs over all devices */
    int64_t gpus_free;   /**< devices that are wholly free */
    int64_t tasks;       /**< tasks of this gang planned there so far */
};

/**
 * Scores candidates for one task of a group: scores[i] for candidates[i], the highest wins;
 * INT64_MIN excludes a candidate. Called during gang_alloc() and the other placing calls, on the
 * caller's thread, without a lock of the library. It is called several times a call, and again
 * after a concurrent change; `count` >= 1. The arrays belong to the library and are valid during
 * the call; element i lies at i * candidate_size. The function may query. It must not change this
 * cluster or use this worker; an allocation that grows is GANG_EBUSY meanwhile. A result other than
 * 0 ends the placing call, which then changes nothing and returns it (use a negative GANG_E* code).
 * The question of what could ever fit does not call it.
 */
typedef int32_t (*gang_score_fn)(int32_t group, const struct gang_candidate *candidates,
                                 size_t candidate_size, size_t count, int64_t *scores, void *user);

/** A job's request. All pointers are borrowed for the duration of the call, `score` and
 *  `score_user` for the life of the request. */
struct gang_request_spec {
    size_t size;           /**< sizeof(struct gang_request_spec) */
    size_t group_size;     /**< sizeof(struct gang_group_spec) */
    size_t group_set_size; /**< sizeof(struct gang_group_set_spec) */
    const struct gang_group_spec *groups;
    size_t group_count; /**< 1..4095 */
    const struct gang_group_set_spec *group_sets;
    size_t group_set_count; /**< 0..4095 */
    /** tasks of any group that start together; 0: the sum of the minima of groups and group
     *  sets, which then must not be 0. Exactly this many start. If groups are unlike and it is open
     *  which give them, a scheduler takes tasks that limits and guarantees allow; of more than 32
     *  choices it tries 32, evenly spaced. */
    int64_t min;
    const char *same;   /**< topology level: all tasks of the job in one domain; NULL: no */
    const char *prefer; /**< preferred: the same; NULL: no */
    int32_t policy;     /**< GANG_POLICY_* */
    int32_t gpu_nodes;  /**< GANG_GPU_NODES_*, for groups without GPUs */
    /** of the job, for affinity rules of other jobs; keys are unique */
    const struct gang_label *labels;
    size_t label_count;                        /**< <= 64 */
    size_t affinity_size;                      /**< sizeof(struct gang_affinity_rule) */
    const struct gang_affinity_rule *affinity; /**< all must hold */
    size_t affinity_count;                     /**< <= 64 */
    gang_score_fn score;                       /**< with GANG_POLICY_HOST, else NULL */
    void *score_user;                          /**< passed to it */
    /** 1: the allocation has its nodes alone: each was wholly free and is wholly taken while the
     *  allocation has a task there. gang_alloc_get() and the other queries do not count the rest
     *  of the node. More tasks (gang_alloc_grow()) go there first; the rest is released with the
     *  last task of the node. Tasks that take nothing are neither noticed nor excluded; nor is
     *  capacity that gang_node_change() adds later, until the allocation next grows there.
     *  gang_alloc_adopt() takes what is left of its nodes, wholly free or not. */
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
