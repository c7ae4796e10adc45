/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees a compiled tree of queues, and finds queues in it. */
#include "queue/queues.h"

#include <stdlib.h>
#include <string.h>

#include "queue/queues_in.h"

gang_result gang__draft_refuse(const struct gang__queue_drafts *t,
                               const struct gang__queue_draft *s, gang_result code,
                               const char *member, const char *text)
{
    gang__error(t->error, code, member, "%s", text);
    return gang__error_at(t->error, code, "queues[%zu]", (size_t)(s - t->draft));
}

gang_result gang__draft_refuse_memory(const struct gang__queue_drafts *t)
{
    return gang__error(t->error, GANG_ENOMEM, NULL, "out of memory");
}

uint64_t gang__queue_hash(const char *name)
{
    return gang__hash(GANG__HASH_SEED, name, strlen(name));
}

static gang_result build(struct gang__queue_drafts *t, const struct gang_queue_spec *specs,
                         const bool *made, struct gang__queues **queues)
{
    t->draft = gang__zalloc(t->mem, t->count, sizeof(*t->draft));
    t->order = gang__zalloc(t->mem, t->count, sizeof(struct gang__queue_draft *));
    t->by_id = gang__zalloc(t->mem, t->count, sizeof(struct gang__queue_draft *));
    if (!t->draft || !t->order || !t->by_id)
        return gang__draft_refuse_memory(t);
    gang_result r = gang__drafts_read(t, specs, made);
    if (r == GANG_OK)
        r = gang__drafts_compile(t, queues);
    if (r == GANG_OK)
        r = gang__drafts_classes(t, *queues);
    return r == GANG_OK ? gang__drafts_check(t, *queues) : r;
}

gang_result gang__queues_new(gang_cluster *c, const struct gang_mem *mem,
                             const struct gang__queues_source *from, gang_queue_id *next_id,
                             struct gang__queues **queues, struct gang_error *error)
{
    *queues = NULL;
    if (from->count > GANG_MAX_QUEUES)
        return gang__error(error, GANG_ELIMIT, "queues", "%zu are more than %d", from->count,
                           GANG_MAX_QUEUES);
    if (from->count > 0 && !from->specs)
        return gang__error(error, GANG_EINVAL, "queues", "NULL with a count above 0");
    struct gang_queue_spec first; /* its size is that of all */
    gang_result r = from->count ? gang__queue_spec_in(from->specs, &first, error) : GANG_OK;
    if (r != GANG_OK)
        return gang__error_at(error, r, "queues[0]");
    struct gang__queue_drafts t = {.c = c,
                                   .mem = mem,
                                   .error = error,
                                   .old = from->old,
                                   .count = (uint32_t)from->count,
                                   .next_id = *next_id};
    r = build(&t, from->specs, from->made, queues);
    if (r == GANG_OK) {
        *next_id = t.next_id;
    } else {
        gang__queues_free(*queues, mem);
        *queues = NULL;
    }
    gang__hash_free(&t.names, mem);
    gang__release(mem, t.by_id);
    gang__release(mem, t.order);
    gang__release(mem, t.draft);
    return r;
}

void gang__queues_free(struct gang__queues *queues, const struct gang_mem *mem)
{
    if (!queues)
        return;
    gang__hash_free(&queues->names, mem);
    gang__release(mem, queues);
}

const struct gang__queue *gang__queue_by_name(const struct gang__queues *qs, const char *name)
{
    uint64_t hash = gang__queue_hash(name);
    for (struct gang__hash_link *n = gang__hash_first(&qs->names, hash); n; n = n->next) {
        struct gang__queue *q =
            (struct gang__queue *)((char *)n - offsetof(struct gang__queue, name_link));
        if (n->hash == hash && strcmp(q->name, name) == 0)
            return q;
    }
    return NULL;
}

const struct gang__queue *gang__queue_by_id(const struct gang__queues *qs, gang_queue_id id)
{
    uint32_t low = 0, high = qs->count; /* it is in [low, high), if it is there */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct gang__queue *q = &qs->queue[qs->by_id[middle]];
        if (q->id == id)
            return q;
        if (q->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
