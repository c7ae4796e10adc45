/* SPDX-License-Identifier: Apache-2.0 */
#include "place/record/exclusive.h"

#include <string.h>

/* The view of a node of the running allocation, or NULL. */
static struct gang__view *own_view(const struct gang__plan *p, gang_node_id id)
{
    struct gang__view *v = gang__plan_seen(p, (uint32_t)id);
    return v && v->own && v->node->id == id ? v : NULL;
}

/* In a snapshot the running allocation may have been released: then the node is not its own there. */
static bool is_left(struct gang__plan *p, const struct gang__view *v)
{
    const uint64_t *was = gang__view_was(p, v);
    uint64_t free = gang__head_cpu(was[GANG__WORD_HEAD]);
    if (!p->snap || p->empty)
        return false;
    for (unsigned i = 1; i < v->words; i++)
        free |= was[i];
    return free != 0;
}

gang_result gang__exclusive_begin(struct gang__plan *p)
{
    const struct gang__alloc *a = p->others.running;
    p->others.bars = true;
    for (size_t i = 0; i < p->others.owns; i++) {
        gang_node_id id = p->word[p->others.own + i];
        struct gang__view *v = gang__plan_view(p, (uint32_t)id);
        if (p->failed)
            return GANG_ENOMEM;
        if (v)
            v->own = v->node->id == id && !is_left(p, v);
    }
    /* In an empty cluster the holders are not there at all. */
    for (const uint64_t *task = a ? a->data : NULL; task && !p->empty && task < a->data + a->used;
         task += GANG__TASK_HEAD + gang__task_deltas(task)) {
        const struct gang__view *v = gang__task_is_holder(task) ? own_view(p, task[0]) : NULL;
        for (unsigned i = 0; v && i < gang__task_deltas(task); i++) {
            uint64_t delta = task[GANG__TASK_HEAD + i];
            gang__view_now(p, v)[gang__delta_word(delta)] += gang__payload(delta);
        }
    }
    return GANG_OK;
}

bool gang__exclusive_admits(const struct gang__view *v, const uint64_t *was)
{
    const uint64_t *all = v->shape->capacity;
    return v->own || v->used ||
           (gang__head_cpu(was[GANG__WORD_HEAD]) == gang__head_cpu(all[GANG__WORD_HEAD]) &&
            memcmp(was + 1, all + 1, (v->words - 1) * sizeof(*was)) == 0);
}

static bool is_used(const struct gang__view *v)
{
    return v->node && v->used > 0;
}

bool gang__exclusive_hold(struct gang__plan *p)
{
    for (size_t i = 0; i < p->views; i++) {
        if (!is_used(&p->view[i]))
            continue;
        size_t rest = gang__plan_take(p, p->view[i].words);
        if (p->failed)
            return false;
        struct gang__view *v = &p->view[i];
        uint64_t *now = gang__view_now(p, v);
        v->rest = rest;
        memcpy(p->word + rest, now, v->words * sizeof(*now));
        p->word[rest] = gang__head_cpu(now[GANG__WORD_HEAD]);
        memset(now + 1, 0, (v->words - 1) * sizeof(*now));
        now[GANG__WORD_HEAD] = gang__head(gang__head_state(now[GANG__WORD_HEAD]), 0);
    }
    return true;
}

/* The deltas of a node's holder, or (out == NULL) how many. */
static unsigned deltas_of(const struct gang__plan *p, const struct gang__view *v, uint64_t *out)
{
    unsigned n = 0;
    for (unsigned i = 0; i < v->words; i++) {
        uint64_t payload = p->word[v->rest + i];
        if (payload && out)
            out[n] = payload | (uint64_t)i << GANG__PAYLOAD_BITS;
        n += payload != 0;
    }
    return n;
}

size_t gang__exclusive_size(const struct gang__plan *p)
{
    size_t words = 0;
    for (size_t i = 0; i < p->views; i++)
        if (is_used(&p->view[i]))
            words += GANG__TASK_HEAD + deltas_of(p, &p->view[i], NULL);
    return words;
}

void gang__exclusive_drop(struct gang__alloc *a, const struct gang__plan *p)
{
    uint32_t to = 0;
    for (uint32_t from = 0; from < a->used;) {
        const uint64_t *task = a->data + from;
        uint32_t size = GANG__TASK_HEAD + gang__task_deltas(task);
        const struct gang__view *v = gang__task_is_holder(task) ? own_view(p, task[0]) : NULL;
        if (!v || !is_used(v)) {
            memmove(a->data + to, task, size * sizeof(*task));
            to += size;
        }
        from += size;
    }
    a->used = to;
}

void gang__exclusive_append(struct gang__alloc *a, const struct gang__plan *p)
{
    for (size_t i = 0; i < p->views; i++) {
        const struct gang__view *v = &p->view[i];
        if (!is_used(v))
            continue;
        uint64_t *task = a->data + a->used;
        unsigned n = deltas_of(p, v, task + GANG__TASK_HEAD);
        task[0] = v->node->id;
        task[1] = GANG__NO_NUMBER | (uint64_t)n << 32 | (uint64_t)GANG__HOLDER << 48;
        if (n)
            a->used += GANG__TASK_HEAD + n;
    }
}
