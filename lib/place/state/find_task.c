/* SPDX-License-Identifier: Apache-2.0 */
/* Finds one task in a record by its number. Entries have different lengths, but ascend by number,
 * and word 1 of each carries a mark. So the search halves the words, not the entries: from the
 * middle it goes back to the next mark. */
#include "place/state/records.h"

enum { FEW_WORDS = 64 }; /* these are walked */

static bool is_marked(const struct gang__alloc *a, size_t at)
{
    return at < a->used && (a->data[at] & GANG__TASK_MARK) != 0;
}

/* The last entry that begins after `low` and before `at`; NULL: none is found. The mark may also be
 * the highest bit of a node's id. Then it has a mark beside it, and the entries are walked. */
static const uint64_t *entry_before(const struct gang__alloc *a, size_t low, size_t at)
{
    while (at > low + 1 && !is_marked(a, at))
        at--;
    bool sure = at > low + 1 && !is_marked(a, at - 1) && !is_marked(a, at + 1);
    return sure ? a->data + at - 1 : NULL;
}

const uint64_t *gang__task_find(const struct gang__alloc *a, uint32_t number)
{
    size_t low = 0, high = a->used;
    while (high - low > FEW_WORDS && !a->request->exclusive) {
        const uint64_t *entry = entry_before(a, low, low + (high - low) / 2);
        if (!entry)
            break;
        if (gang__task_number(entry) <= number)
            low = (size_t)(entry - a->data);
        else
            high = (size_t)(entry - a->data);
    }
    const uint64_t *task = gang__task_at(a, gang__entry_at(a, a->data + low));
    while (task && gang__task_number(task) != number)
        task = gang__task_number(task) < number ? gang__task_next(a, task) : NULL;
    return task;
}
