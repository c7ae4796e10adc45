/* SPDX-License-Identifier: Apache-2.0 */
#include "place/alloc/equal_record.h"

#include <string.h>

#include "core/nodes/nodes.h"
#include "place/alloc/equal_holders.h"
#include "place/fit/fit.h"

size_t gang__equal_record_words(const struct gang__node_pattern *m, size_t nodes)
{
    return nodes * (m->entry_words + m->holder_words);
}

size_t gang__equal_record_entries(const struct gang__node_pattern *m, size_t nodes)
{
    return nodes * (m->per_node + (m->holder_words ? 1 : 0));
}

/* Copies the entries of a node so often that each node has them. Few long copies take less time
 * than many short ones. */
static void copy_entries(uint64_t *data, const struct gang__node_pattern *m, size_t count)
{
    enum { MOST = 16 }; /* nodes a copy, so that what is copied stays in the nearest cache */
    size_t words = m->entry_words;
    memcpy(data, m->entry, words * sizeof(*data));
    for (size_t done = 1, more; done < count; done += more) {
        more = done < MOST ? done : MOST;
        more = more < count - done ? more : count - done;
        memcpy(data + done * words, data, more * words * sizeof(*data));
    }
}

/* Puts nodes, numbers and the group into the entries of some nodes, from `task` on. `word` is word
 * 1 of the first task, without its deltas. Returns where the entries end. */
static uint64_t *fill_entries(const gang_worker *w, const struct gang__node_pattern *m,
                              const uint64_t *slot, size_t count, uint64_t word, uint64_t *task)
{
    uint32_t size[GANG__PATTERN_TASKS];
    struct gang__chunk_memo last = {UINT32_MAX, NULL};
    const uint64_t *entry = m->entry;
    const uint32_t each = m->per_node;
    for (uint32_t k = 0; k < each; k++, entry += size[k - 1])
        size[k] = gang__task_words(entry);
    for (size_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)slot[i];
        struct gang__chunk *chunk = gang__chunk_like(&w->cluster->commit, at, &last);
        uint64_t id = (uint64_t)gang__load(&gang__slot_at(chunk, at)->generation) << 32 | at;
        for (uint32_t k = 0; k < each; k++) {
            task[0] = id;
            task[1] |= word++; /* number and group were 0 */
            task += size[k];
        }
    }
    return task;
}

void gang__equal_record_add(const gang_worker *w, const struct gang__node_pattern *m,
                            const struct gang__equal_slots *n, struct gang__alloc *a)
{
    const gang_request *request = a->request;
    const uint64_t *slot = n->rank;
    uint64_t *task = a->data + a->used;
    copy_entries(task, m, n->count);
    for (uint32_t i = 0; i < request->group_count; i++) {
        size_t count = gang__equal_slots_of(n, m, request, i);
        uint32_t number = (uint32_t)request->group[i].first + a->tasks;
        task = fill_entries(w, m, slot, count, gang__task_word_of(number, 0, i), task);
        slot += count;
        if (count)
            a->next_number = number + (uint32_t)count * m->per_node;
    }
    a->used = (uint32_t)(task - a->data);
    a->tasks += (uint32_t)n->count * m->per_node;
    gang__equal_holders_write(w, m, n->slot, n->count, a);
}

/* The place of a task, by its entry in the record. */
static struct gang_placement place_of(const struct gang__node_pattern *m, uint32_t k,
                                      const uint64_t *entry, gang_node_id node)
{
    struct gang_placement place = {.size = sizeof(place),
                                   .any_devices = m->gpus[k] == 0,
                                   .node = node,
                                   .gpus = m->gpus[k],
                                   .task = -1,
                                   .any_cores = 1};
    struct gang__layout layout = m->type->layout;
    unsigned first = gang__first_core(layout);
    for (unsigned i = 0; i < gang__task_deltas(entry); i++) {
        uint64_t delta = entry[GANG__TASK_HEAD + i];
        unsigned word = gang__delta_word(delta);
        if (word < first || word >= first + layout.core_words)
            continue;
        place.any_cores = 0;
        gang__cores_put_word(place.cores, (word - first) * GANG__CORES_PER_WORD,
                             gang__payload(delta));
    }
    return place;
}

/* Adds the places of the tasks of some nodes. */
static void add_places(const gang_worker *w, const struct gang__node_pattern *m,
                       const uint64_t *slot, size_t count, uint32_t group, struct gang__places *out)
{
    for (size_t i = 0; i < count; i++) {
        gang_node_id node = gang__node_id_met(w->cluster, (uint32_t)slot[i]);
        const uint64_t *entry = m->entry;
        for (uint32_t k = 0; k < m->per_node; k++, entry += gang__task_words(entry)) {
            out->place[out->count] = place_of(m, k, entry, node);
            out->place[out->count++].group = (int32_t)group;
        }
    }
}

gang_result gang__equal_places(const gang_worker *w, const gang_request *request,
                               const struct gang__node_pattern *m,
                               const struct gang__equal_slots *n, struct gang__places *out)
{
    const uint64_t *slot = n->rank;
    out->count = 0;
    if (!gang__grow(&w->cluster->mem, (void **)&out->place, &out->cap, n->count * m->per_node,
                    sizeof(*out->place)))
        return GANG_ENOMEM;
    for (uint32_t i = 0; i < request->group_count; i++) {
        size_t count = gang__equal_slots_of(n, m, request, i);
        add_places(w, m, slot, count, i, out);
        slot += count;
    }
    return GANG_OK;
}
