/* SPDX-License-Identifier: Apache-2.0 */
#include "place/state/task_count.h"

#include "place/request/request.h"
#include "place/state/records.h"

enum { COUNTERS = 4, COUNTER_BITS = 16 };

static gang__a64 *words_of(gang_cluster *c, uint32_t slot)
{
    struct gang__shared *s = gang__shared_at(c);
    struct gang__task_count *t = s ? gang__load(&s->task_counts.chunk[slot / GANG__CHUNK]) : NULL;
    return t ? t->word[slot % GANG__CHUNK] : NULL;
}

bool gang__task_count_reserve(gang_cluster *c, uint32_t slot)
{
    if (words_of(c, slot))
        return true;
    struct gang__shared *s = gang__shared_of(c);
    struct gang__task_count *fresh = s ? gang__zalloc_line(&c->mem, 1, sizeof(*fresh)) : NULL;
    if (!fresh)
        return false;
    struct gang__task_count *none = NULL;
    if (!gang__publish(&s->task_counts.chunk[slot / GANG__CHUNK], &none, fresh))
        gang__release_line(&c->mem, fresh);
    return true;
}

void gang__task_count_add(gang_cluster *c, uint32_t slot, const struct gang__group *g, bool out)
{
    unsigned k = gang__size_class(g);
    uint64_t one = UINT64_C(1) << (k % COUNTERS * COUNTER_BITS);
    gang__a64 *words = words_of(c, slot);
    if (!g->devices || !words)
        return;
    /* pairs with none: a hint to planners; a thread that frees a task counted it, or got it from a
     * thread that did */
    if (out)
        atomic_fetch_sub_explicit(&words[k / COUNTERS], one, memory_order_relaxed);
    else
        gang__add_relaxed(&words[k / COUNTERS], one);
}

uint64_t gang__size_classes_on(gang_cluster *c, uint32_t slot)
{
    const uint64_t low = UINT64_C(0x7fff7fff7fff7fff), top = ~low;
    uint64_t classes = 0;
    gang__a64 *words = words_of(c, slot);
    for (unsigned i = 0; words && i < GANG__SIZE_CLASS_WORDS; i++) {
        uint64_t w = gang__load_relaxed(&words[i]);
        if (!w)
            continue;
        w = (((w & low) + low) | w) & top; /* the top bit of each counter that is not 0 */
        w = w >> 15 | w >> 30 | w >> 45 | w >> 60;
        classes |= (w & 15) << (i * COUNTERS);
    }
    return classes;
}

uint32_t gang__task_count_read(gang_cluster *c, uint32_t slot, unsigned class_id)
{
    gang__a64 *words = words_of(c, slot);
    uint64_t w = words ? gang__load_relaxed(&words[class_id / COUNTERS]) : 0;
    return (uint32_t)(w >> (class_id % COUNTERS * COUNTER_BITS) & 0xffff);
}
