/* SPDX-License-Identifier: Apache-2.0 */
/* gang_cluster_check(): what live allocations hold, and what is free, is the capacity of every
 * node. */
#include "base/error.h"
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/record/placer.h"
#include "place/request/request.h"
#include "place/state/records.h"

/* What all allocations hold of one word, in a table of all words of all slots. */
struct audit {
    uint64_t *sum; /* GANG__MAX_WORDS for each slot */
    uint32_t slots;
};

/* Cores are bits; their sum is as good: two owners of one carry over into a word that is wrong. */
static void audit_add(struct audit *t, uint32_t slot, uint64_t delta)
{
    if (slot < t->slots)
        t->sum[(size_t)slot * GANG__MAX_WORDS + gang__delta_word(delta)] += gang__payload(delta);
}

static void audit_alloc(struct audit *t, const struct gang__alloc *a)
{
    for (const uint64_t *task = gang__entry_first(a); task; task = gang__entry_next(a, task)) {
        uint32_t slot = (uint32_t)task[0];
        for (unsigned i = 0; i < gang__task_deltas(task); i++) {
            uint64_t delta = task[GANG__TASK_HEAD + i];
            uint32_t at = delta & GANG__DELTA_POOL ? (uint32_t)GANG__POOL : slot;
            if (!(delta & GANG__DELTA_SHARED))
                audit_add(t, at, delta);
        }
    }
}

static gang_result audit_node(gang_cluster *c, const struct audit *t, const struct gang__node *node,
                              struct gang_error *error)
{
    uint64_t payload[GANG__MAX_WORDS];
    const struct gang__node_type *type = node->type;
    unsigned words = gang__word_count(type->layout);
    gang__cell_read(&c->commit, node->slot, payload, words);
    for (unsigned i = 0; i < words; i++) {
        uint64_t taken = t->sum[(size_t)node->slot * GANG__MAX_WORDS + i];
        uint64_t free = i == GANG__WORD_HEAD ? gang__head_cpu(payload[i]) : payload[i];
        if (taken + free == type->capacity[i])
            continue;
        gang__error(error, GANG_EINVAL, NULL,
                    "node \"%.64s\", word %u: %llu taken and %llu free are not %llu", node->name, i,
                    (unsigned long long)taken, (unsigned long long)free,
                    (unsigned long long)type->capacity[i]);
        if (error && error->size >= sizeof(*error))
            error->id = node->id;
        return GANG_EINVAL;
    }
    return GANG_OK;
}

static gang_result audit_pool(gang_cluster *c, const struct audit *t, struct gang_error *error)
{
    uint32_t kinds = gang__load(&c->nodes.kind_count);
    for (uint32_t k = GANG_KIND_SITE; k < kinds; k++) {
        if (c->nodes.kind[k].scope != GANG_SCOPE_CLUSTER)
            continue;
        uint64_t payload[GANG__MAX_WORDS];
        unsigned word = gang__pool_word((int32_t)k);
        gang__cell_read(&c->commit, GANG__POOL, payload, word + 1);
        if (t->sum[word] + payload[word] != gang__load(&c->nodes.kind[k].capacity))
            return gang__error(error, GANG_EINVAL, NULL,
                               "kind \"%.64s\": taken and free are not its capacity",
                               c->nodes.kind[k].name);
    }
    return GANG_OK;
}

/* The counters of task_count.h are those of the tasks that are held. */
static gang_result audit_task_counts(gang_cluster *c, uint32_t slots, struct gang_error *error)
{
    bool there = false;
    for (unsigned i = 0; i < GANG__CHUNKS && !there; i++)
        there = gang__load(&gang__shared_at(c)->task_counts.chunk[i]) != NULL;
    uint32_t *held =
        there ? gang__zalloc(&c->mem, slots, GANG__SIZE_CLASSES * sizeof(*held)) : NULL;
    if (!held)
        return there ? gang__error(error, GANG_ENOMEM, NULL, "out of memory") : GANG_OK;
    struct gang__alloc *a;
    for (uint32_t i = 0; (a = gang__alloc_at(c, i)) != NULL; i++) {
        if (!a->data || a->request->policy != GANG_POLICY_GPU_CLUSTERING)
            continue;
        for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task)) {
            const struct gang__group *g = &a->request->group[gang__task_group(task)];
            if (g->devices && (uint32_t)task[0] < slots)
                held[(uint32_t)task[0] * GANG__SIZE_CLASSES + gang__size_class(g)]++;
        }
    }
    gang_result r = GANG_OK;
    for (uint32_t i = 0; i < slots * GANG__SIZE_CLASSES && r == GANG_OK; i++)
        if (gang__task_count_read(c, i / GANG__SIZE_CLASSES, i % GANG__SIZE_CLASSES) != held[i])
            r = gang__error(error, GANG_EINVAL, NULL, "slot %u: its tasks of class %u are not %u",
                            i / GANG__SIZE_CLASSES, i % GANG__SIZE_CLASSES, held[i]);
    gang__release(&c->mem, held);
    return r;
}

/* The tasks of a record ascend, and each number is one of its group. */
static gang_result audit_numbers(const struct gang__alloc *a, struct gang_error *error)
{
    int64_t before = -1, tasks = 0;
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task)) {
        const struct gang__group *g = &a->request->group[gang__task_group(task)];
        int64_t number = gang__task_number(task);
        if (number <= before || number < g->first || number >= g->first + g->count ||
            number >= a->next_number)
            return gang__error(error, GANG_EINVAL, NULL, "record %u: task %lld is not in its place",
                               a->index, (long long)number);
        before = number;
        tasks++;
    }
    if (tasks != a->tasks)
        return gang__error(error, GANG_EINVAL, NULL, "record %u: its tasks are not %u", a->index,
                           a->tasks);
    return GANG_OK;
}

gang_result gang__records_check(gang_cluster *c, struct gang_error *error)
{
    struct audit t = {NULL, gang__load(&c->commit.slot_end)};
    t.sum = gang__zalloc(&c->mem, t.slots, GANG__MAX_WORDS * sizeof(*t.sum));
    if (!t.sum)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    struct gang__alloc *a;
    gang_result r = GANG_OK;
    for (uint32_t i = 0; (a = gang__alloc_at(c, i)) != NULL && r == GANG_OK; i++)
        if (a->data) {
            audit_alloc(&t, a);
            r = audit_numbers(a, error);
        }
    r = r == GANG_OK ? audit_pool(c, &t, error) : r;
    for (uint32_t slot = 1; slot < t.slots && r == GANG_OK; slot++) {
        struct gang__node *node = gang__node_at(c, slot);
        if (node)
            r = audit_node(c, &t, node, error);
    }
    gang__release(&c->mem, t.sum);
    if (r == GANG_OK)
        r = gang__affinity_check(c, error);
    return r == GANG_OK ? audit_task_counts(c, t.slots, error) : r;
}
