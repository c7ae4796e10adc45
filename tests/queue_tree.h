/* SPDX-License-Identifier: Apache-2.0 */
/* A random tree of queues for so many GPUs: two parents with two leaves each, and a leaf beside
 * them. Uses the public headers alone. */
#ifndef GANG_TESTS_QUEUE_TREE_H
#define GANG_TESTS_QUEUE_TREE_H

#include <gangsched/queue.h>

#include "chance.h"
#include "suite.h"

enum { TREE_QUEUES = 8, TREE_SECOND = 1000000000 };

struct queue_tree {
    struct gang_queue_spec spec[TREE_QUEUES];
    struct gang_quota guarantee[TREE_QUEUES], limit[TREE_QUEUES];
    int parent[TREE_QUEUES]; /* -1: top */
    int count;
};

/* gpus 0: without guarantee and limit. */
static inline void tree_add(struct queue_tree *t, const char *name, int parent, int64_t gpus)
{
    static const int32_t modes[] = {GANG_PREEMPT_MODE_REQUEUE, GANG_PREEMPT_MODE_SUSPEND,
                                    GANG_PREEMPT_MODE_CANCEL};
    int q = t->count++;
    struct gang_queue_spec *spec = &t->spec[q];
    *spec = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
    spec->name = name;
    spec->parent = parent < 0 ? NULL : t->spec[parent].name;
    t->parent[q] = parent;
    t->guarantee[q] =
        (struct gang_quota){"gpu", below(1 + gpus / (parent < 0 ? 3 : 6)) * 1000, NULL, 0, 0};
    spec->guaranteed = &t->guarantee[q];
    spec->guaranteed_count = gpus > 0;
    if (gpus > 0 && !one_in(3)) {
        int64_t limit = (gpus / 3 + 1 + below(gpus - gpus / 3)) * 1000;
        if (limit < t->guarantee[q].amount)
            limit = t->guarantee[q].amount;
        t->limit[q] = (struct gang_quota){"gpu", limit, NULL, 0, 0};
        spec->limit = &t->limit[q];
        spec->limit_count = 1;
    }
    spec->grace_ns = below(3) * 10 * TREE_SECOND;
    spec->preempt_mode = modes[one_in(2) ? 0 : index_below(3)];
    spec->within = one_in(2) ? GANG_PREEMPT_LOWER : GANG_PREEMPT_LOWER_OR_NEWER;
    spec->weight = (double)(1 + below(3));
    spec->backfill = (int32_t)below(3);
}

/* `t` is empty. */
static inline void tree_draw(struct queue_tree *t, int64_t gpus)
{
    tree_add(t, "a", -1, gpus);
    tree_add(t, "a.x", 0, gpus);
    tree_add(t, "a.y", 0, gpus);
    tree_add(t, "b", -1, gpus);
    tree_add(t, "c", -1, gpus);
    tree_add(t, "c.u", 4, gpus);
    tree_add(t, "c.v", 4, gpus);
}

static inline int tree_some_leaf(void)
{
    static const int leaves[] = {1, 2, 3, 5, 6};
    return leaves[index_below(5)];
}

/* Is the queue `top`, or below it? */
static inline bool tree_is_below(const struct queue_tree *t, int q, int top)
{
    while (q >= 0 && q != top)
        q = t->parent[q];
    return q >= 0;
}

#endif
