/* SPDX-License-Identifier: Apache-2.0 */
/* Label counts: the nodes on which tasks of jobs with a label run, and the domains that such tasks
 * keep jobs with a label out of.
 *
 * A *label count* stands for all jobs with a label {key, value}, or with any value of a key.
 * Requests refer to label counts; an unreferenced one is freed when new ones come. It counts tasks
 * per node in several *roles*. Each role is a tree over the slots that only grows, so counting is
 * lock-free. */
#ifndef GANG__PLACE_LABEL_COUNT_H
#define GANG__PLACE_LABEL_COUNT_H

#include "base/hash_table.h"
#include "place/request/compiled.h"

/* What a label count counts. */
enum {
    GANG__ROLE_HELD = 0,    /* tasks of running jobs with the label */
    GANG__ROLE_PENDING = 1, /* tasks of such jobs that are about to be committed */
    /* Tasks, running or about to be, of jobs that keep those with the label out of the domain of
     * this level (+ level). */
    GANG__ROLE_EXCLUDE = 2,
    GANG__ROLES = GANG__ROLE_EXCLUDE + GANG__LEVEL_NODE + 1
};

struct gang__label_count {
    struct gang__hash_link link; /* under the structure mutex */
    /* Of requests. Raised under the structure mutex (relaxed: the mutex orders it before the load);
     * gang__sub_release of a request -> gang__load of the thread that frees what has none. */
    gang__a32 refs;
    /* Bit L: tasks that exclude the label at level L were ever counted. fetch_or (seq_cst) of
     * gang__label_count_add() -> load_seq of place/fit/affinity.c. */
    gang__a32 excluded;
    const char *key;
    const char *value; /* NULL: any */
    _Atomic(void *)
        root[GANG__ROLES]; /* CAS of gang__label_count_reserve() -> load_seq of readers */
};

/* All label counts of a cluster. */
struct gang__label_counts {
    struct gang__hash_table names; /* under the structure mutex */
    size_t swept; /* label counts that were left when those without use were freed */
};

/* Finds or makes the label counts of a request's labels and rules. GANG_ENOMEM: nothing is bound.
 * Any thread; takes the structure mutex. */
gang_result gang__label_counts_bind(gang_request *request);
void gang__label_counts_unbind(gang_request *request);

void gang__label_counts_free(struct gang__label_counts *table, const struct gang_mem *mem);

/* Reserve memory to count on a slot, so that gang__label_count_add() cannot fail. */
bool gang__label_count_reserve(struct gang__label_count *counts, const struct gang_mem *mem,
                               unsigned role, uint32_t slot);

/* Count tasks on a node. Both are sequentially consistent, as are the reads below: of
 * two threads that each add and then read, at least one sees the other. This holds for the words,
 * for the pointers that lead to them, and for `excluded`, because a read that finds no pointer or
 * no bit looks no further: each CAS or fetch_or here pairs with a gang__load_seq there. Tasks of a
 * removed node do not count. */
void gang__label_count_add(struct gang__label_count *counts, unsigned role, gang_node_id node,
                           uint32_t tasks);
void gang__label_count_sub(struct gang__label_count *counts, unsigned role, gang_node_id node,
                           uint32_t tasks);

/* Tasks counted on a node; and all nodes that have some. */
uint32_t gang__label_count_read(struct gang__label_count *counts, unsigned role, gang_node_id node);
typedef void (*gang__label_count_fn)(gang_node_id node, uint32_t tasks, void *user);
void gang__label_count_each(struct gang__label_count *counts, unsigned role,
                            gang__label_count_fn visit, void *user);

#endif
