/* SPDX-License-Identifier: Apache-2.0 */
/* Books that follow what really runs on a node: tasks that run on other devices or cores than
 * theirs, and capacity that others use; and capacity that is kept for a gang. */
#ifndef GANG__PLACE_HOLD_H
#define GANG__PLACE_HOLD_H

#include "core/cluster.h"
#include "core/commit/commit.h"
#include <gangsched/place.h>

enum { GANG__CORE_MASKS = GANG_MAX_CORES / 64 };

/* ---- tasks: rebind.c ------------------------------------------------------------------------- */

/* What became of one task. */
enum gang__rebound {
    GANG__REBOUND_SAME,      /* it runs where it is booked, or that is not known */
    GANG__REBOUND_MOVED,     /* its books followed */
    GANG__REBOUND_TAKEN,     /* others have what it runs on */
    GANG__REBOUND_ODD,       /* not the devices or cores, in number or sort, that it holds */
    GANG__REBOUND_ELSEWHERE, /* it is booked on another node */
    GANG__REBOUND_UNKNOWN    /* the allocation has no such task, or it has stopped */
};

/* A task as it really runs. */
struct gang__real_task {
    gang_alloc_id alloc;
    int64_t task;
    bool any_devices, any_cores; /* where it runs is not known */
    uint64_t gpus;
    uint64_t cores[GANG__CORE_MASKS];
    /* its time-shared parts: two sets of gang__rooms; the same one twice: it is in one. < 0: it has
     * none, or they are not compared */
    int32_t room[2];
    /* results */
    enum gang__rebound outcome;
    uint64_t more_gpus; /* TAKEN, ODD: what it uses beside what it holds, */
    uint64_t more_cores[GANG__CORE_MASKS];
    uint32_t share; /* and milli-GPUs of each of these devices */
    /* for rebind.c: the record, and what the task has and is to have */
    struct gang__alloc *record;
    bool first;      /* of those with this record */
    uint64_t shared; /* words that are shared in time, as bits; of them: */
    uint64_t was[GANG__MAX_WORDS], now[GANG__MAX_WORDS];
};

/* Tasks that share parts of a node in time fall into sets; those of one set never overlap. */
struct gang__rooms {
    size_t count;
    uint64_t (*base)[GANG__MAX_WORDS]; /* what tasks of a set that are not in the call leave */
    uint64_t (*left)[GANG__MAX_WORDS]; /* scratch, as large */
};

/* Let the books of tasks on a node follow where these run: as many as can, in one step with each
 * other, so that tasks may have changed places. What they come to use is taken before the capacity
 * is given back that they leave. `hold`, of gang__hold_set(), gives them what it has; GANG_ID_NONE:
 * there is none. A task of an exclusive allocation takes from what no task of it has there.
 * Time-shared parts are compared with those of the same sets (rooms; NULL: there are none).
 * GANG_OK; GANG_ESTALE (no such node); GANG_EBUSY (another thread reads one of the allocations);
 * GANG_ENOMEM; after an error nothing changed. Owner of the worker, which keeps all these
 * allocations. */
gang_result gang__tasks_rebind(gang_worker *w, gang_node_id node, struct gang__real_task *task,
                               size_t count, gang_alloc_id hold, const struct gang__rooms *rooms);

/* ---- what no job has: hold.c ----------------------------------------------------------------- */

/* A part of a node that others use. */
struct gang__claim {
    uint64_t gpus;
    uint32_t share; /* milli-GPUs of each */
    uint64_t cores[GANG__CORE_MASKS];
    uint64_t cpu; /* millicores beside those of the cores */
    uint64_t pages;
    /* results: of it, what is taken by other allocations, */
    uint64_t short_gpus;
    uint64_t short_cores[GANG__CORE_MASKS];
    bool is_short; /* these, or millicores or memory; */
    bool odd;      /* and it names devices or cores that the node does not have */
};

/* Make the allocation hold what these claims use, as far as it is free or its own, and nothing
 * else.
 *   request  of one group of one task that asks for nothing
 * GANG_OK; GANG_ESTALE (no such node); GANG_EBUSY, GANG_ENOMEM: the allocation is as before. Owner
 * of the worker. */
struct gang__hold {
    gang_alloc_id id; /* the allocation; GANG_ID_NONE: there is none yet, or none is needed */
    bool gave;        /* result: it gave something back */
};
gang_result gang__hold_set(gang_worker *w, gang_request *request, gang_node_id node,
                           struct gang__claim *claim, size_t count, struct gang__hold *made);

/* A new allocation that holds what is free of these words of a node. In the word of the head:
 * millicores beside those of the cores.
 *   request  as above
 *   id       receives it; GANG_ID_NONE: nothing of it is free
 * Returns as gang__hold_set(). Owner of the worker. */
gang_result gang__hold_words(gang_worker *w, gang_request *request, gang_node_id node,
                             const uint64_t *want, gang_alloc_id *id);

/* ---- between the two: node_words.c ----------------------------------------------------------- */

/* a less b, not below zero, in each field of a word. */
uint64_t gang__word_less(struct gang__layout layout, unsigned word, uint64_t a, uint64_t b);

/* Is there something in the words? */
bool gang__words_any(struct gang__layout layout, const uint64_t *words);

/* What an entry of a record has of its node. Returns the words that are time-shared, as bits. */
uint64_t gang__entry_words(const uint64_t *task, uint64_t *words);

/* Write an entry that has these words of its node, those of `shared` in time, and of the pool what
 * `task` has. Returns its length; GANG__MAX_WORDS + GANG_MAX_KINDS + 2 suffice. */
uint32_t gang__entry_of(const uint64_t *task, struct gang__layout layout, const uint64_t *words,
                        uint64_t shared, uint64_t *to);

/* The words of a node that stand for these devices and cores; the others are left as they are. */
void gang__device_words(struct gang__layout layout, uint64_t gpus, uint32_t share, uint64_t *words);
void gang__core_words(struct gang__layout layout, const uint64_t *cores, uint64_t *words);
/* And back. */
uint64_t gang__devices_in(struct gang__layout layout, const uint64_t *words);
void gang__cores_in_words(struct gang__layout layout, const uint64_t *words, uint64_t *cores);
uint32_t gang__count_cores(const uint64_t *cores);

/* Take, then give, of a node. GANG_OK; GANG_ENOFIT (not all is free, or the node is gone) and
 * GANG_ENOMEM: nothing changed. `reserved`: the memory for it is there, see
 * gang__words_reserve(). */
gang_result gang__words_exchange(gang_worker *w, uint32_t slot, struct gang__layout layout,
                                 const uint64_t *take, const uint64_t *give);

#endif
