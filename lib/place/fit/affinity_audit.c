/* SPDX-License-Identifier: Apache-2.0 */
/* Do the label counts agree with the live allocations? Counts the tasks of all allocations in a
 * table, then takes from it what each label count says. */
#include "base/error.h"
#include "core/nodes/nodes.h"
#include "place/fit/affinity.h"
#include "place/request/request.h"
#include "place/state/records.h"

/* What the live allocations say that the label counts should count, in a table of open
 * addressing. */
struct entry {
    const struct gang__label_count *counts; /* NULL: free */
    gang_node_id node;
    unsigned role;
    uint64_t tasks;
};
struct audit {
    gang_cluster *c;
    struct entry *entry;
    size_t entry_cap;                       /* a power of two */
    const struct gang__label_count *counts; /* being compared, in this role */
    unsigned role;
    bool same;
};

static struct entry *entry_of(struct audit *t, const struct gang__label_count *counts,
                              unsigned role, gang_node_id node)
{
    uint64_t key[] = {(uint64_t)(uintptr_t)counts, role, node};
    size_t at = gang__hash(GANG__HASH_SEED, key, sizeof(key)) & (t->entry_cap - 1);
    while (t->entry[at].counts && (t->entry[at].counts != counts || t->entry[at].role != role ||
                                   t->entry[at].node != node))
        at = (at + 1) & (t->entry_cap - 1);
    t->entry[at].counts = counts;
    t->entry[at].role = role;
    t->entry[at].node = node;
    return &t->entry[at];
}

static size_t words_of_job(const gang_request *request)
{
    return 2 * (size_t)request->label_count + request->affinity_count;
}

static void audit_add(struct audit *t, const struct gang__alloc *a)
{
    const gang_request *request = a->request;
    for (const uint64_t *task = gang__entry_first(a); task; task = gang__entry_next(a, task)) {
        /* On a node that is no more they hold nothing, and do not count. */
        if (gang__task_is_holder(task) || !gang__node_of(t->c, task[0]))
            continue;
        for (uint32_t i = 0; i < 2 * request->label_count; i++)
            entry_of(t, request->own_counts[i], GANG__ROLE_HELD, task[0])->tasks++;
        for (uint32_t i = 0; i < request->affinity_count; i++)
            if (gang__affinity_excludes(&request->affinity[i]))
                entry_of(t, request->affinity[i].counts,
                         GANG__ROLE_EXCLUDE + (unsigned)request->affinity[i].level, task[0])
                    ->tasks++;
    }
}

static void audit_node(gang_node_id node, uint32_t tasks, void *user)
{
    struct audit *t = user;
    if (!gang__node_of(t->c, node))
        return;
    struct entry *e = entry_of(t, t->counts, t->role, node);
    t->same = t->same && e->tasks == tasks;
    e->tasks = 0;
}

/* Compare all label counts with the table, and take from it what was met. */
static bool audit_counts(struct audit *t, const struct gang__label_counts *own_counts)
{
    t->same = true;
    for (size_t i = 0; i < own_counts->names.cap; i++)
        for (struct gang__hash_link *n = own_counts->names.bucket[i]; n; n = n->next) {
            struct gang__label_count *counts =
                (struct gang__label_count *)((char *)n - offsetof(struct gang__label_count, link));
            t->counts = counts;
            for (t->role = 0; t->role < GANG__ROLES && t->same; t->role++)
                gang__label_count_each(counts, t->role, audit_node, t);
        }
    for (size_t i = 0; i < t->entry_cap && t->same; i++)
        t->same = t->entry[i].tasks == 0;
    return t->same;
}

/* Entries that the label counts and the allocations can need. */
static void count_node(gang_node_id node, uint32_t tasks, void *user)
{
    (void)node;
    (void)tasks;
    ++*(size_t *)user;
}

static size_t entries_needed(gang_cluster *c, const struct gang__label_counts *own_counts)
{
    size_t need = 1;
    struct gang__alloc *a;
    for (uint32_t i = 0; (a = gang__alloc_at(c, i)) != NULL; i++)
        if (a->data)
            need += a->tasks * words_of_job(a->request);
    for (size_t i = 0; i < own_counts->names.cap; i++)
        for (struct gang__hash_link *n = own_counts->names.bucket[i]; n; n = n->next)
            for (unsigned role = 0; role < GANG__ROLES; role++)
                gang__label_count_each(
                    (struct gang__label_count *)((char *)n -
                                                 offsetof(struct gang__label_count, link)),
                    role, count_node, &need);
    return need;
}

gang_result gang__affinity_check(gang_cluster *c, struct gang_error *error)
{
    const struct gang__label_counts *own_counts = &gang__shared_at(c)->label_counts;
    if (own_counts->names.count == 0)
        return GANG_OK;
    struct audit t = {.c = c, .entry_cap = 64};
    size_t need = entries_needed(c, own_counts);
    while (t.entry_cap < 2 * need)
        t.entry_cap *= 2;
    t.entry = gang__zalloc(&c->mem, t.entry_cap, sizeof(*t.entry));
    if (!t.entry)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    struct gang__alloc *a;
    for (uint32_t i = 0; (a = gang__alloc_at(c, i)) != NULL; i++)
        if (a->data && a->request->has_affinity)
            audit_add(&t, a);
    bool same = audit_counts(&t, own_counts);
    gang__release(&c->mem, t.entry);
    if (same)
        return GANG_OK;
    return gang__error(error, GANG_EINVAL, NULL,
                       "label \"%.64s\": not the tasks that the allocations hold", t.counts->key);
}
