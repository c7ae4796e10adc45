/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of preemption (gang_queue_spec.preempt_class): numbers them, compiles which classes the
 * jobs of each queue outrank, and checks that no class outranks itself. So the classes can be
 * sorted, and preemption by class ends (sched/preempt/rank.c). Templates count, so that a queue
 * made on demand adds no class. */
#include <stdio.h>
#include <string.h>

#include "model/specs.h"
#include "queue/queues_in.h"

/* The next name of a list, which begins at *list; *list is NULL behind the last one. Returns its
 * length. */
static size_t next_name(const char **list, const char **name)
{
    size_t length = strcspn(*list, ",");
    *name = *list;
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return length;
}

gang_result gang__preempts_check(const char *list, struct gang_error *error)
{
    char text[GANG_MAX_NAME + 1];
    for (const char *name; list;) {
        size_t length = next_name(&list, &name);
        if (length > GANG_MAX_NAME)
            return gang__error(error, GANG_ELIMIT, "preempts", "a name longer than 255 bytes");
        snprintf(text, sizeof(text), "%.*s", (int)length, name);
        if (gang__text_check(text, false) != GANG_OK)
            return gang__error(error, GANG_EINVAL, "preempts",
                               "a name is empty, or not plain UTF-8 text");
    }
    return GANG_OK;
}

struct classes {
    const char *name[GANG_MAX_PREEMPT_CLASSES];
    int32_t count;
    uint64_t outranks[GANG_MAX_PREEMPT_CLASSES]; /* of each: others, as bits */
};

static int32_t find(const struct classes *c, const char *name, size_t length)
{
    for (int32_t i = 0; i < c->count; i++)
        if (strlen(c->name[i]) == length && memcmp(c->name[i], name, length) == 0)
            return i;
    return -1;
}

/* Is there place for the class of this queue, or template? */
static bool add(struct classes *c, const struct gang_queue_spec *s)
{
    if (!s || !s->preempt_class || find(c, s->preempt_class, strlen(s->preempt_class)) >= 0)
        return true;
    if (c->count == GANG_MAX_PREEMPT_CLASSES)
        return false;
    c->name[c->count++] = s->preempt_class;
    return true;
}

/* The classes that a queue, or template, with a class of its own outranks, as bits. False: one does
 * not exist. */
static bool read_list(struct classes *c, const struct gang_queue_spec *s, uint64_t *out)
{
    const char *list = s->preempts;
    *out = 0;
    for (const char *name; list;) {
        size_t length = next_name(&list, &name);
        int32_t at = find(c, name, length);
        if (at < 0)
            return false;
        *out |= UINT64_C(1) << at;
    }
    c->outranks[find(c, s->preempt_class, strlen(s->preempt_class))] |= *out;
    return true;
}

static gang_result read_queue(const struct gang__queue_drafts *t, struct gang__queues *qs,
                              struct classes *c, uint32_t i)
{
    struct gang__queue *q = &qs->queue[i];
    const struct gang_queue_spec *s = q->spec;
    uint64_t ignored;
    if (s->preempt_class) {
        q->preempt_class = find(c, s->preempt_class, strlen(s->preempt_class));
        if (!read_list(c, s, &q->preempts))
            return gang__draft_refuse(t, t->order[i], GANG_ENOENT, "preempts",
                                      "no queue has one of these classes");
    } else if (q->parent != GANG__NO_QUEUE) {
        q->preempt_class = qs->queue[q->parent].preempt_class;
        q->preempts = qs->queue[q->parent].preempts;
    }
    qs->ranks = qs->ranks || q->preempts;
    if (s->child && s->child->preempt_class && !read_list(c, s->child, &ignored))
        return gang__draft_refuse(t, t->order[i], GANG_ENOENT, "child.preempts",
                                  "no queue has one of these classes");
    return GANG_OK;
}

/* Does a class outrank itself? Warshall's transitive closure. */
static bool is_circular(struct classes *c)
{
    for (int32_t via = 0; via < c->count; via++)
        for (int32_t i = 0; i < c->count; i++)
            if (c->outranks[i] >> via & 1)
                c->outranks[i] |= c->outranks[via];
    for (int32_t i = 0; i < c->count; i++)
        if (c->outranks[i] >> i & 1)
            return true;
    return false;
}

/* The first queue of which the own class, or that of the template, outranks itself. */
static gang_result refuse_circle(const struct gang__queue_drafts *t, const struct gang__queues *qs,
                                 const struct classes *c)
{
    static const char text[] = "a class would outrank itself";
    for (uint32_t i = 0; i < qs->count; i++) {
        const struct gang_queue_spec *of[] = {qs->queue[i].spec, qs->queue[i].spec->child};
        for (int k = 0; k < 2; k++) {
            if (!of[k] || !of[k]->preempts)
                continue;
            int32_t at = find(c, of[k]->preempt_class, strlen(of[k]->preempt_class));
            if (c->outranks[at] >> at & 1)
                return gang__draft_refuse(t, t->order[i], GANG_ECYCLE,
                                          k ? "child.preempts" : "preempts", text);
        }
    }
    return gang__error(t->error, GANG_ECYCLE, "queues", text);
}

gang_result gang__drafts_classes(const struct gang__queue_drafts *t, struct gang__queues *qs)
{
    struct classes c = {.count = 0};
    for (uint32_t i = 0; i < qs->count; i++) {
        const struct gang_queue_spec *s = qs->queue[i].spec;
        if (!add(&c, s) || !add(&c, s->child))
            return gang__draft_refuse(t, t->order[i], GANG_ELIMIT, "preempt_class",
                                      "more than 64 classes");
    }
    if (c.count == 0)
        return GANG_OK;
    gang_result r = GANG_OK;
    for (uint32_t i = 0; r == GANG_OK && i < qs->count; i++)
        r = read_queue(t, qs, &c, i);
    if (r == GANG_OK && is_circular(&c))
        return refuse_circle(t, qs, &c);
    for (uint32_t i = 0; i < qs->count; i++)
        if (qs->queue[i].preempt_class >= 0)
            qs->queue[i].ranked_below = c.outranks[qs->queue[i].preempt_class];
    return r;
}
