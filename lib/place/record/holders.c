/* SPDX-License-Identifier: Apache-2.0 */
#include "place/record/holders.h"

#include <string.h>

#include "place/fit/fit.h"
#include "place/state/records.h"

static bool is_used(const struct gang__node_copy *v)
{
    return v->node && v->used > 0;
}

bool gang__exclusive_hold(struct gang__plan *p)
{
    for (size_t i = 0; i < p->nodes.count; i++) {
        if (!is_used(&p->nodes.copy[i]))
            continue;
        size_t rest = gang__plan_words(p, p->nodes.copy[i].words);
        if (p->out.failed)
            return false;
        struct gang__node_copy *v = &p->nodes.copy[i];
        uint64_t *now = gang__words_now(p, v);
        v->rest = rest;
        memcpy(p->word + rest, now, v->words * sizeof(*now));
        p->word[rest] = gang__head_cpu(now[GANG__WORD_HEAD]);
        memset(now + 1, 0, (v->words - 1) * sizeof(*now));
        now[GANG__WORD_HEAD] = gang__head(gang__head_state(now[GANG__WORD_HEAD]), 0);
    }
    return true;
}

/* The deltas of a node's holder, or (out == NULL) how many. */
static unsigned deltas_of(const struct gang__plan *p, const struct gang__node_copy *v,
                          uint64_t *out)
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
    for (size_t i = 0; i < p->nodes.count; i++)
        if (is_used(&p->nodes.copy[i]))
            words += GANG__TASK_HEAD + deltas_of(p, &p->nodes.copy[i], NULL);
    return words;
}

void gang__exclusive_drop(struct gang__alloc *a, const struct gang__plan *p)
{
    uint32_t to = 0;
    const uint64_t *task = gang__entry_first(a), *after;
    for (; task; task = after) {
        uint32_t size = gang__task_words(task);
        after = gang__entry_next(a, task); /* before the entry may be overwritten */
        const struct gang__node_copy *v =
            gang__task_is_holder(task) ? gang__exclusive_copy(p, task[0]) : NULL;
        if (!v || !is_used(v)) {
            memmove(a->data + to, task, size * sizeof(*task));
            to += size;
        }
    }
    a->used = to;
}

uint32_t gang__exclusive_put(const struct gang__plan *p, const struct gang__node_copy *v,
                             uint64_t *entry)
{
    unsigned n = deltas_of(p, v, entry + GANG__TASK_HEAD);
    entry[0] = v->node->id;
    entry[1] = gang__task_word_of(GANG__NO_NUMBER, n, GANG__HOLDER);
    return n ? GANG__TASK_HEAD + n : 0;
}

void gang__exclusive_append(struct gang__alloc *a, const struct gang__plan *p)
{
    for (size_t i = 0; i < p->nodes.count; i++)
        if (is_used(&p->nodes.copy[i]))
            a->used += gang__exclusive_put(p, &p->nodes.copy[i], a->data + a->used);
}
