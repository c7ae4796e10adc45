/* SPDX-License-Identifier: Apache-2.0 */
#include "place/alloc/equal_holders.h"

#include <string.h>

#include "core/nodes/nodes.h"

void gang__equal_holders_note(struct gang__node_pattern *m, const struct gang__plan *p,
                              const struct gang__node_copy *copy)
{
    m->holder_words = p->request->exclusive ? gang__exclusive_put(p, copy, m->holder) : 0;
}

void gang__equal_holders_write(const gang_worker *w, const struct gang__node_pattern *m,
                               const uint64_t *slot, size_t count, struct gang__alloc *a)
{
    uint64_t *entry = a->data + a->used;
    const size_t words = m->holder_words;
    for (size_t i = 0; words && i < count; i++, entry += words) {
        memcpy(entry, m->holder, words * sizeof(*entry));
        entry[0] = gang__node_id_met(w->cluster, (uint32_t)slot[i]);
    }
    a->used = (uint32_t)(entry - a->data);
}
