/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base.h
 * @brief What every header shares: version, results, errors, memory, ids.
 *
 * Conventions of all headers
 *   - Numbers are int64_t; units are in the name (`cpu_milli`, `memory_bytes`). Text is UTF-8.
 *   - A function returns a gang_result: GANG_OK (0) or a negative GANG_E* code. Only where the
 *     comment says so is a positive result possible.
 *   - On failure nothing has changed, and out-parameters are set to NULL or 0.
 *   - A `struct gang_error *` may always be NULL. The library never prints and never aborts.
 *   - Structs that the caller fills begin with `size_t size` and have an initialiser `..._INIT`.
 *     A longer struct than the library knows is accepted if its tail is zero (else GANG_E2BIG).
 *   - Thread rules, one per function: *any thread*; *owner of the worker* (one thread at a time
 *     uses this worker); *no concurrent call on this object*.
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

/** Version of these headers. The library that is running tells its own by gang_version(). */
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

/** Result of a call: 0 or a negative code of the list below. */
typedef int32_t gang_result;

/**
 * The one list of results: X(name, value, text). Values are never renumbered; new ones are
 * appended. A refusal is not a failure: GANG_ENOFIT (not now) and GANG_ENEVER (no set of nodes,
 * all up and empty, could hold it) are answers.
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

/** Name of a result ("GANG_ENOFIT"); "GANG_E?" for any other number. As gang_strerror(). */
GANG_API const char *gang_result_name(gang_result result);

/** Fractions and factors in all headers are integers of which this is 1: a half is GANG_WHOLE / 2.
 *  Scenario files and Python have the number itself, 0.5. (Shares of GPUs and cores are amounts,
 *  in thousandths of a device: "milli". What a simulation measures is a double, and so are the
 *  weights of queues, gang_queue_spec.weight: only their ratio to those of siblings counts.) */
#define GANG_WHOLE ((int64_t)1000000)

/** Which constraint refused (gang_error.constraint); values are never renumbered. */
enum {
    GANG_CONSTRAINT_NONE = 0,      /**< no particular one */
    GANG_CONSTRAINT_KIND = 1,      /**< a resource kind is short: see gang_error.kind */
    GANG_CONSTRAINT_STATE = 2,     /**< the nodes are draining or down */
    GANG_CONSTRAINT_LABEL = 3,     /**< a label constraint matches too few nodes */
    GANG_CONSTRAINT_PARTITION = 4, /**< the partition holds too few nodes */
    GANG_CONSTRAINT_GPU_MODEL = 5, /**< no GPU of the wanted models */
    GANG_CONSTRAINT_SAME = 6,      /**< no single domain of the `same` level holds it */
    GANG_CONSTRAINT_POOL = 7,      /**< a cluster-wide kind is short: see gang_error.kind */
    GANG_CONSTRAINT_MIN = 8,       /**< the gang would fall below its minimum */
    GANG_CONSTRAINT_NUMA = 9, /**< no one NUMA domain of a node holds a task that must lie in one */
    GANG_CONSTRAINT_PROFILE = 10,   /**< no partition of the wanted profile can be made */
    GANG_CONSTRAINT_DEVICE = 11,    /**< the devices are unhealthy */
    GANG_CONSTRAINT_GPU_NODES = 12, /**< tasks without GPUs may not use nodes with GPUs */
    GANG_CONSTRAINT_AFFINITY = 13,  /**< an affinity rule */
    GANG_CONSTRAINT_SPREAD = 14,    /**< the bound of spreading, or of tasks a node or domain */
    /** no node is wholly free, or another job has the node exclusively */
    GANG_CONSTRAINT_EXCLUSIVE = 15,
    /** no set of GPU numbers that all tasks of a group could have, see
     *  gang_group_spec.same_devices */
    GANG_CONSTRAINT_SAME_DEVICES = 16
};

/** Name of a constraint in output: "none", "kind", "state", "label", "partition", "gpu-model",
 *  "same", "pool", "min", "numa", "profile", "device", "gpu-nodes", "affinity", "spread",
 *  "exclusive"; NULL for any other number. Static. Any thread; wait-free. */
GANG_API const char *gang_constraint_name(int32_t constraint);

/**
 * Detail of a failure or a refusal. The caller sets it up with GANG_ERROR_INIT; the library
 * fills it whenever a call that takes one does not return GANG_OK, and leaves it alone otherwise.
 */
struct gang_error {
    size_t size;        /**< sizeof(struct gang_error) of the caller */
    gang_result code;   /**< the same code as the call returned */
    int32_t constraint; /**< GANG_CONSTRAINT_* for GANG_ENOFIT and GANG_ENEVER */
    int32_t group;      /**< task group that does not fit, or -1 */
    int32_t kind;       /**< resource kind that is short (see model.h), or -1 */
    int64_t requested;  /**< amount requested, in the unit of the kind; 0 if it does not apply */
    int64_t available;  /**< amount available for it, in the same unit */
    int64_t nodes;      /**< nodes considered for this group */
    uint64_t id;        /**< node or allocation of the error, or 0 */
    int64_t line;       /**< line of the input text, from 1; 0 if it does not apply */
    int64_t column;     /**< column of the input text, from 1; 0 if it does not apply */
    char path[160];     /**< place in the input, e.g. "queues[2].limit.gpu"; "" if none */
    char text[256];     /**< one English line without line feed, path not repeated */
};

#define GANG_ERROR_INIT                                                   \
    {                                                                     \
        sizeof(struct gang_error), 0, 0, -1, -1, 0, 0, 0, 0, 0, 0, "", "" \
    }

/* ---- memory and output ----------------------------------------------------------------- */

/**
 * Allocator of a cluster. Both members or none. `alloc` returns memory aligned for any type, or
 * NULL; `release` is never called with NULL. They may be called from any thread that calls the
 * library, at the same time; they must not call the library, nor must the child of a fork in them
 * (core.h). jansson and hwloc, used while reading and writing text, allocate on their own.
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
 * Receives output text piece by piece, on the caller's thread, holding nothing of the library.
 * Returns 0 to go on; anything else ends the call with GANG_EIO. `bytes` is valid during the
 * call only and is not NUL-terminated.
 */
typedef int (*gang_write_fn)(const char *bytes, size_t length, void *user);

/* ---- ids ------------------------------------------------------------------------------- */

/**
 * Ids of nodes and allocations: slot and generation in one number, never 0, never used again
 * while the cluster lives. An id that refers to something gone gives GANG_ESTALE, never a crash.
 */
typedef uint64_t gang_node_id;
typedef uint64_t gang_alloc_id;
#define GANG_ID_NONE ((uint64_t)0)

#ifdef __cplusplus
}
#endif
#endif
