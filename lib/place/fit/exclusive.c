/* SPDX-License-Identifier: Apache-2.0 */
#include "place/fit/exclusive.h"

#include <string.h>

#include "place/fit/fit_plan.h"
#include "place/state/records.h"

struct gang__node_copy *gang__exclusive_copy(const struct gang__plan *p, gang_node_id id)
{
    struct gang__node_copy *copy = gang__node_copy_find(p, (uint32_t)id);
    return copy && copy->own && copy->node->id == id ? copy : NULL;
}

/* In a snapshot the running allocation may have been released: then the node is not its own
 * there. */
static bool is_left(struct gang__plan *p, const struct gang__node_copy *copy)
{
    const uint64_t *was = gang__words_was(p, copy);
    uint64_t free = gang__head_cpu(was[GANG__WORD_HEAD]);
    if (!p->snap || p->mode.empty)
        return false;
    for (unsigned i = 1; i < copy->words; i++)
        free |= was[i];
    return free != 0;
}

gang_result gang__exclusive_begin(struct gang__plan *p)
{
    const struct gang__alloc *a = p->others.running;
    p->others.bars = true;
    for (size_t i = 0; i < p->others.owns; i++) {
        gang_node_id id = p->word[p->others.own + i];
        struct gang__node_copy *copy = gang__node_copy_at(p, (uint32_t)id);
        if (p->out.failed)
            return GANG_ENOMEM;
        if (copy)
            copy->own = copy->node->id == id && !is_left(p, copy);
    }
    /* In an empty cluster the holders are not there at all. */
    for (const uint64_t *task = a && !p->mode.empty ? gang__entry_first(a) : NULL; task;
         task = gang__entry_next(a, task)) {
        const struct gang__node_copy *copy =
            gang__task_is_holder(task) ? gang__exclusive_copy(p, task[0]) : NULL;
        for (unsigned i = 0; copy && i < gang__task_deltas(task); i++) {
            uint64_t delta = task[GANG__TASK_HEAD + i];
            gang__words_now(p, copy)[gang__delta_word(delta)] += gang__payload(delta);
        }
    }
    return GANG_OK;
}

bool gang__exclusive_admits(const struct gang__node_copy *copy, const uint64_t *was)
{
    const uint64_t *all = copy->type->capacity;
    return copy->own || copy->used ||
           (gang__head_cpu(was[GANG__WORD_HEAD]) == gang__head_cpu(all[GANG__WORD_HEAD]) &&
            memcmp(was + 1, all + 1, (copy->words - 1) * sizeof(*was)) == 0);
}
