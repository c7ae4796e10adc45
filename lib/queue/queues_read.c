/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the specifications of a tree of queues: checks each by itself, finds parents and depths,
 * and collects the dimensions that some quota names. */
#include <stdlib.h>
#include <string.h>

#include "core/nodes/nodes.h"
#include "queue/queues_in.h"

uint32_t gang__dim_find(const struct gang__dim *dim, uint32_t dims, int32_t kind,
                        const struct gang__partition *partition)
{
    uint32_t d = 0;
    while (d < dims && (dim[d].kind != kind || dim[d].partition != partition))
        d++;
    return d;
}

static struct gang__queue_draft *draft_of(const struct gang__queue_drafts *t, const char *name)
{
    uint64_t hash = gang__queue_hash(name);
    for (struct gang__hash_link *n = gang__hash_first(&t->names, hash); n; n = n->next) {
        struct gang__queue_draft *s =
            (struct gang__queue_draft *)((char *)n - offsetof(struct gang__queue_draft, link));
        if (n->hash == hash && strcmp(s->spec.name, name) == 0)
            return s;
    }
    return NULL;
}

/* The elements of the caller's array have the size that the first one states. */
static gang_result read_one(struct gang__queue_drafts *t, struct gang__queue_draft *s,
                            const struct gang_queue_spec *specs)
{
    size_t i = (size_t)(s - t->draft), size = specs->size;
    const char *from = (const char *)specs + i * size;
    size_t stated;
    memcpy(&stated, from, sizeof(stated));
    if (stated != size)
        return gang__draft_refuse(t, s, GANG_EINVAL, "size", "not that of the first one");
    const struct gang_queue_spec *spec = (const struct gang_queue_spec *)(const void *)from;
    gang_result r = gang__queue_spec_in(spec, &s->spec, t->error);
    if (r == GANG_OK)
        r = gang__queue_spec_check(t->c, &s->spec, t->error);
    if (r != GANG_OK)
        return gang__error_at(t->error, r, "queues[%zu]", i);
    if (draft_of(t, s->spec.name))
        return gang__draft_refuse(t, s, GANG_EEXIST, "name", "of two queues");
    if (gang__hash_reserve(&t->names, t->mem) != GANG_OK)
        return gang__draft_refuse_memory(t);
    gang__hash_insert(&t->names, &s->link, gang__queue_hash(s->spec.name));
    const struct gang__queue *before = t->old ? gang__queue_by_name(t->old, s->spec.name) : NULL;
    s->id = before ? before->id : t->next_id++;
    return GANG_OK;
}

/* ---- dimensions ---------------------------------------------------------------------------- */

static gang_result dims_of_list(struct gang__queue_drafts *t, const struct gang_queue_spec *s,
                                const char *name, const struct gang_quota *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gang_quota q = gang__quota_at(s, list, i);
        struct gang__dim dim = {gang__kind_find(t->c, q.kind), NULL};
        if (q.partition)
            dim.partition = gang__partition_find(t->c, q.partition);
        if (gang__dim_find(t->dim, t->dims, dim.kind, dim.partition) < t->dims)
            continue;
        if (t->dims == GANG__DIMS)
            return gang__quota_refuse(t->error, GANG_ELIMIT, name, q.kind, q.partition,
                                      "more kinds, and pairs of kind and partition, than 64");
        t->dim[t->dims++] = dim;
    }
    return GANG_OK;
}

static gang_result dims_of_spec(struct gang__queue_drafts *t, const struct gang_queue_spec *s)
{
    gang_result r = dims_of_list(t, s, "guaranteed", s->guaranteed, s->guaranteed_count);
    if (r == GANG_OK)
        r = dims_of_list(t, s, "limit", s->limit, s->limit_count);
    if (r == GANG_OK)
        r = dims_of_list(t, s, "lending_limit", s->lending_limit, s->lending_limit_count);
    return r;
}

/* The pairs of templates are there from the start, so that making a queue adds none. */
static gang_result dims_of_draft(struct gang__queue_drafts *t, const struct gang__queue_draft *s)
{
    size_t i = (size_t)(s - t->draft);
    gang_result r = dims_of_spec(t, &s->spec);
    if (r != GANG_OK)
        return gang__error_at(t->error, r, "queues[%zu]", i);
    struct gang_queue_spec child;
    if (!s->spec.child || gang__queue_spec_in(s->spec.child, &child, NULL) != GANG_OK)
        return GANG_OK;
    r = dims_of_spec(t, &child);
    return r == GANG_OK ? r : gang__error_at(t->error, r, "queues[%zu].child", i);
}

/* ---- parents and depths -------------------------------------------------------------------- */

static gang_result find_parents(struct gang__queue_drafts *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        struct gang__queue_draft *s = &t->draft[i];
        s->parent = GANG__NO_QUEUE;
        if (!s->spec.parent)
            continue;
        struct gang__queue_draft *parent = draft_of(t, s->spec.parent);
        if (!parent)
            return gang__draft_refuse(t, s, GANG_ENOENT, "parent", "no such queue");
        s->parent = (uint32_t)(parent - t->draft);
        parent->has_children = true;
    }
    return GANG_OK;
}

/* Walks up from each queue to one whose depth is known, or to one of the same walk: a cycle. */
static gang_result find_depths(struct gang__queue_drafts *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t at = i, above = 0;
        while (at != GANG__NO_QUEUE && t->draft[at].walk == 0) {
            t->draft[at].walk = i + 1;
            at = t->draft[at].parent;
            above++;
        }
        if (at != GANG__NO_QUEUE && t->draft[at].walk == i + 1)
            return gang__draft_refuse(t, &t->draft[at], GANG_ECYCLE, "parent",
                                      "the queue is its own ancestor");
        uint32_t depth = above + (at == GANG__NO_QUEUE ? 0 : t->draft[at].depth + 1);
        for (at = i; above > 0; above--, at = t->draft[at].parent)
            t->draft[at].depth = --depth;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        const struct gang__queue_draft *s = &t->draft[i];
        if (s->depth >= GANG_MAX_QUEUE_DEPTH)
            return gang__draft_refuse(t, s, GANG_ELIMIT, "parent", "more than 32 queues on a path");
        if (s->spec.child && s->depth + 1 >= GANG_MAX_QUEUE_DEPTH)
            return gang__draft_refuse(t, s, GANG_ELIMIT, "child", "more than 32 queues on a path");
    }
    return GANG_OK;
}

static int by_id(const void *a, const void *b)
{
    const struct gang__queue_draft *const *x = a, *const *y = b;
    return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

static int by_depth(const void *a, const void *b)
{
    const struct gang__queue_draft *const *x = a, *const *y = b;
    if ((*x)->depth != (*y)->depth)
        return (*x)->depth < (*y)->depth ? -1 : 1;
    return by_id(a, b);
}

static void sort_drafts(struct gang__queue_drafts *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        t->order[i] = t->by_id[i] = &t->draft[i];
    if (t->count) {
        qsort(t->order, t->count, sizeof(struct gang__queue_draft *), by_depth);
        qsort(t->by_id, t->count, sizeof(struct gang__queue_draft *), by_id);
    }
    for (uint32_t i = 0; i < t->count; i++)
        t->order[i]->index = i;
}

gang_result gang__drafts_read(struct gang__queue_drafts *t, const struct gang_queue_spec *specs,
                              const bool *made)
{
    gang_result r = GANG_OK;
    for (uint32_t i = 0; r == GANG_OK && i < t->count; i++) {
        t->draft[i].made = made && made[i];
        r = read_one(t, &t->draft[i], specs);
    }
    uint32_t kinds = gang__load(&t->c->nodes.kind_count);
    for (t->dims = 0; t->dims < kinds; t->dims++)
        t->dim[t->dims] = (struct gang__dim){(int32_t)t->dims, NULL};
    for (uint32_t i = 0; r == GANG_OK && i < t->count; i++)
        r = dims_of_draft(t, &t->draft[i]);
    if (r == GANG_OK)
        r = find_parents(t);
    if (r == GANG_OK)
        r = find_depths(t);
    if (r == GANG_OK)
        sort_drafts(t);
    return r;
}
