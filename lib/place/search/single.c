/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of index_walk.c for one task of a request without any condition on nodes: bucket by
 * bucket from the fullest, without tiers, rounds, scopes and copies that stay. The long way is its
 * oracle (tests/place/test_single.c). */
#include "place/search/single.h"

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/search/contention.h"

#ifdef GANG_TEST_HOOKS
_Atomic(bool) gang__search_single_off;
#endif

bool gang__search_is_single(const struct gang__plan *p)
{
#ifdef GANG_TEST_HOOKS
    if (gang__load_relaxed(&gang__search_single_off))
        return false;
#endif
    return p->request->single && !p->mode.empty && !p->snap && !p->tier.modes && !p->others.bars;
}

/* Tries the nodes of one index word, first those from the worker's bit on. */
static bool try_word(struct gang__plan *p, uint32_t class_id, unsigned row, uint32_t base,
                     uint32_t bits)
{
    uint32_t first = bits & UINT32_MAX << p->start.bit, then = bits ^ first;
    for (; (first || then) && !p->out.failed; first &= first - 1) {
        if (!first) {
            first = then;
            then = 0;
        }
        uint32_t slot = base + (uint32_t)__builtin_ctz(first);
        gang__node_prefetch(&p->c->commit, slot);
        if (gang__plan_single(p, slot))
            return true;
        if (!p->out.met_claimed)
            gang__index_repair(&p->c->commit, class_id, slot, row);
        p->out.met_claimed = false;
    }
    return false;
}

/* Tries the nodes of a row in the slots [slot, end). */
static bool try_slots(struct gang__plan *p, uint32_t class_id, unsigned row, uint32_t slot,
                      uint32_t end)
{
    uint32_t more;
    while (!p->out.failed && (slot = gang__contention_next(p, class_id, row, slot, &more)) < end) {
        uint32_t base = slot - slot % GANG__FAN, bits = (more << 1 | 1) << slot % GANG__FAN;
        if (end - base < GANG__FAN)
            bits &= ((uint32_t)1 << (end - base)) - 1;
        if (!gang__contention_skips(p, base) && try_word(p, class_id, row, base, bits))
            return true;
        slot = base + GANG__FAN;
    }
    return false;
}

/* The slots from the worker's start on, then those before it. */
static bool try_row(struct gang__plan *p, uint32_t class_id, unsigned row)
{
    if (gang__index_empty(&p->c->commit, class_id, row))
        return false;
    for (uint32_t from = p->start.slot, end = GANG__NO_SLOT; end; end = from, from = 0)
        if (try_slots(p, class_id, row, from, end))
            return true;
    return false;
}

bool gang__search_single(struct gang__plan *p)
{
    const struct gang__group *g = &p->request->group[0];
    unsigned row = g->gpu_level ? gang__gpu_row(g->gpu_level) : gang__cpu_row(g->cpu_level);
    unsigned end = g->gpu_level ? (unsigned)GANG__GPU_BUCKETS : (unsigned)GANG__INDEX_ROWS;
    uint32_t classes = gang__load(&p->c->commit.gpu_class_count), count = 0;
    uint8_t class_id[GANG__GPU_CLASSES];
    for (uint32_t k = g->devices ? 1 : 0; k < classes; k++) /* class 0 has no devices */
        if (gang__class_matches(p->c, g, k))
            class_id[count++] = (uint8_t)k;
    for (; row < end && !p->out.failed; row++)
        for (uint32_t k = 0; k < count; k++)
            if (try_row(p, class_id[k], row))
                return true;
    return false;
}
