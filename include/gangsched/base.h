/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base.h
 * @brief What every header shares: version, results, errors, memory, ids.
 *
 * Conventions of all headers
 *   - Numbers are int64_t; units are in the name (`cpu_milli`, `memory_bytes`). Text is UTF-8.
 *   - A function returns a gang_result: GANG_OK (0) or a negative GANG_E* code. Only where the
 *     comment says so is a positive result possible.
 *   - A call that fails changes nothing, and sets its out-parameters to NULL or 0. Exceptions are
 *     stated.
 *   - A `struct gang_error *` may always be NULL: the caller then gets the code alone. The library
 *     never prints and never aborts.
 *   - Structs that the caller fills begin with `size_t size` and have an initialiser `..._INIT`. If
 *     the caller's struct is longer than the library's, the members that the library does not know
 *     must be zero (else GANG_E2BIG).
 *   - Each function states its thread rule. *Any thread*: several threads may call it at the same
 *     time. *Owner of the worker* (or of a scheduler, a simulation, a trace): one thread at a time
 *     uses this object. *No concurrent call on this object*: no other thread may be in a call that
 *     uses it.
 */
#ifndef GANGSCHED_BASE_H
#define GANGSCHED_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define GANG_API __attribute__((visibility("default")))
#define GANG_MUST_CHECK __attribute__((warn_unused_result))
#else
#define GANG_API
#define GANG_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version --------------------------------------------------------------------------- */

/** Version of these headers. gang_version() returns that of the library that runs. */
#define GANG_VERSION_MAJOR 0
#define GANG_VERSION_MINOR 2
#define GANG_VERSION_PATCH 0
/** Major * 1000000 + minor * 1000 + patch. */
#define GANG_VERSION_NUMBER \
    (GANG_VERSION_MAJOR * 1000000 + GANG_VERSION_MINOR * 1000 + GANG_VERSION_PATCH)

/** Version of the running library as text, e.g. "0.2.0". Static; never NULL. Any thread. */
GANG_API const char *gang_version(void);

/** Version of the running library as GANG_VERSION_NUMBER. Any thread. */
GANG_API int32_t gang_version_number(void);

/* ---- results --------------------------------------------------------------------------- */

/** Result of a call: GANG_OK (0) or a negative code of the list below. */
typedef int32_t gang_result;

/**
 * All results: X(name, value, text). Values are never renumbered; new ones are appended.
 * GANG_ENOFIT (it does not fit now) and GANG_ENEVER (it would not fit even if all nodes were up and
 * empty) are answers, not failures.
 */
#define GANG_RESULT_LIST(X)                                          \
    X(GANG_OK, 0, "success")                                         \
    X(GANG_EINVAL, -1, "invalid argument")                           \
    X(GANG_ENOMEM, -2, "out of memory")                              \
    X(GANG_ENOENT, -3, "no such name")                               \
    X(GANG_EEXIST, -4, "name exists already")                        \
    X(GANG_ESTALE, -5, "the id refers to something that is gone")    \
    X(GANG_EBUSY, -6, "in use")                                      \
    X(GANG_ERANGE, -7, "number out of range")                        \
    X(GANG_ENOFIT, -8, "does not fit now")                           \
    X(GANG_ENEVER, -9, "could never fit")                            \
    X(GANG_E2BIG, -10, "struct is newer than this library")          \
    X(GANG_ELIMIT, -11, "a limit is reached, or a buffer too small") \
    X(GANG_EPARSE, -12, "malformed input")                           \
    X(GANG_EIO, -13, "input or output failed")                       \
    X(GANG_ENOTSUP, -14, "not supported")                            \
    X(GANG_ECYCLE, -15, "a parent relation has a cycle")             \
    X(GANG_EPERM, -16, "not allowed")                                \
    X(GANG_ECLOSED, -17, "the queue takes no jobs")

enum {
#define GANG_RESULT_ENUM(name, value, text) name = (value),
    GANG_RESULT_LIST(GANG_RESULT_ENUM)
#undef GANG_RESULT_ENUM
};

/** English text of a result ("does not fit now"); "unknown result" for any other number.
 *  Static; never NULL. Any thread; wait-free. */
GANG_API const char *gang_strerror(gang_result result);

/** Name of a result ("GANG_ENOFIT"); "GANG_E?" for any other number. Static; never NULL. Any
 *  thread; wait-free. */
GANG_API const char *gang_result_name(gang_result result);

/** Fractions and factors in all headers are integers in millionths: GANG_WHOLE is 1, GANG_WHOLE / 2
 *  is a half. Scenario files and Python use the number itself, 0.5. Two things are not fractions of
 *  this kind. Amounts of GPUs and cores are in thousandths of a device or core ("milli"). The
 *  results of a simulation and the weights of queues (gang_queue_spec.weight) are doubles. */
#define GANG_WHOLE ((int64_t)1000000)

/** Which constraint refused (gang_error.constraint); values are never renumbered. */
enum {
    GANG_CONSTRAINT_NONE = 0,  /**< no single constraint is the reason */
    GANG_CONSTRAINT_KIND = 1,  /**< the nodes have too little of a kind: gang_error.kind */
    GANG_CONSTRAINT_STATE = 2, /**< the nodes are draining or down */
    GANG_CONSTRAINT_LABEL = 3, /**< a label constraint matches too few nodes */
    /** the partition has too few nodes, or its mode excludes them */
    GANG_CONSTRAINT_PARTITION = 4,
    GANG_CONSTRAINT_GPU_MODEL = 5, /**< no GPU of the wanted models */
    GANG_CONSTRAINT_SAME = 6,      /**< no domain of the level `same` holds all tasks */
    GANG_CONSTRAINT_POOL = 7,      /**< a cluster-wide pool has too little: gang_error.kind */
    GANG_CONSTRAINT_MIN = 8,       /**< the gang would fall below its minimum */
    GANG_CONSTRAINT_NUMA = 9,      /**< GANG_NUMA_STRICT: no NUMA domain of a node holds the task */
    GANG_CONSTRAINT_PROFILE = 10,  /**< no instance of the MIG profile is free or can be made */
    GANG_CONSTRAINT_DEVICE = 11,   /**< the devices are unhealthy */
    GANG_CONSTRAINT_GPU_NODES = 12, /**< tasks without GPUs may not use nodes with GPUs */
    /** an affinity rule of this request, or of a running allocation */
    GANG_CONSTRAINT_AFFINITY = 13,
    GANG_CONSTRAINT_SPREAD = 14, /**< max_skew, max_per_node or max_per_domain */
    /** no node is wholly free (gang_request_spec.exclusive), or other allocations have the nodes
     *  exclusively */
    GANG_CONSTRAINT_EXCLUSIVE = 15,
    /** no set of GPU numbers is free on enough nodes (gang_group_spec.same_devices) */
    GANG_CONSTRAINT_SAME_DEVICES = 16
};

/** Name of a constraint in output: "none", "kind", "state", "label", "partition", "gpu-model",
 *  "same", "pool", "min", "numa", "profile", "device", "gpu-nodes", "affinity", "spread",
 *  "exclusive", "same-devices"; NULL for any other number. Static. Any thread; wait-free. */
GANG_API const char *gang_constraint_name(int32_t constraint);

/**
 * Details of a failure or a refusal. The caller initialises it with GANG_ERROR_INIT. The library
 * fills it if the call does not return GANG_OK, and otherwise leaves it unchanged.
 */
struct gang_error {
    size_t size;        /**< sizeof(struct gang_error) of the caller */
    gang_result code;   /**< the same code as the call returned */
    int32_t constraint; /**< GANG_CONSTRAINT_* for GANG_ENOFIT and GANG_ENEVER */
    int32_t group;      /**< task group that does not fit, or -1 */
    int32_t kind;       /**< resource kind that is short (see model.h), or -1 */
    int64_t requested;  /**< amount requested, in the unit of the kind; 0: does not apply */
    int64_t available;  /**< amount available, in the same unit */
    int64_t nodes;      /**< nodes that were considered for this group */
    uint64_t id;        /**< id of the node or allocation concerned, or 0 */
    int64_t line;       /**< line of the input text, from 1; 0 if it does not apply */
    int64_t column;     /**< column of the input text, from 1; 0 if it does not apply */
    char path[160];     /**< place in the input, e.g. "queues[2].limit.gpu"; "" if none */
    char text[256];     /**< one English line without line feed; does not repeat the path */
};

#define GANG_ERROR_INIT                                                   \
    {                                                                     \
        sizeof(struct gang_error), 0, 0, -1, -1, 0, 0, 0, 0, 0, 0, "", "" \
    }

/* ---- memory and output ----------------------------------------------------------------- */

/**
 * Allocator of an object. Set both functions or neither. `alloc` returns memory aligned for any
 * type, or NULL. `release` is never called with NULL. Any thread that calls the library may call
 * them, several at the same time. They must not call the library. If one of them forks, the child
 * must not call the library either (core.h). jansson (JSON text) and hwloc (machines) use their own
 * allocators. The library advises the system to put blocks of megabytes on huge pages
 * (MADV_HUGEPAGE).
 */
struct gang_mem {
    size_t size;                               /**< sizeof(struct gang_mem) */
    void *(*alloc)(size_t bytes, void *user);  /**< NULL: malloc() */
    void (*release)(void *memory, void *user); /**< NULL: free() */
    void *user;                                /**< passed to both */
};

#define GANG_MEM_INIT                             \
    {                                             \
        sizeof(struct gang_mem), NULL, NULL, NULL \
    }

/**
 * Receives output text piece by piece, on the caller's thread, without any lock of the library. It
 * returns 0 to continue; any other value ends the call with GANG_EIO. `bytes` is valid during the
 * call only and is not NUL-terminated.
 */
typedef int (*gang_write_fn)(const char *bytes, size_t length, void *user);

/* ---- ids ------------------------------------------------------------------------------- */

/**
 * Ids of nodes and allocations: a slot and its generation in one number. An id is never 0 and never
 * reused while the cluster lives. A call with the id of a node or allocation that no longer exists
 * returns GANG_ESTALE.
 */
typedef uint64_t gang_node_id;
typedef uint64_t gang_alloc_id;
#define GANG_ID_NONE ((uint64_t)0)

#ifdef __cplusplus
}
#endif
#endif
