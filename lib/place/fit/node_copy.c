/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of nodes: read once per plan, found by slot. */
#include "place/fit/node_copy.h"

#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit_plan.h"

/* The place of a slot in the table. *copy: the copy that stands there, or NULL. */
static uint32_t place_in_table(const struct gang__plan *p, uint32_t slot,
                               struct gang__node_copy **copy)
{
    uint32_t mask = (uint32_t)p->nodes.table_cap - 1;
    uint32_t at = (slot * UINT32_C(2654435761)) & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t e = p->nodes.table[at];
        *copy = e != 0 && e <= p->nodes.count ? &p->nodes.copy[e - 1] : NULL;
        if (*copy && (*copy)->table_at != at)
            *copy = NULL;
        if (!*copy || (*copy)->slot == slot)
            return at;
    }
}

/* Make the table large enough to stay at most half full. */
bool gang__node_copies_reserve(struct gang__plan *p, const struct gang_mem *mem, size_t copies)
{
    size_t cap = p->nodes.table_cap ? p->nodes.table_cap : 64;
    while (cap < 2 * copies)
        cap *= 2;
    if (p->nodes.table && cap == p->nodes.table_cap)
        return true;
    uint32_t *bigger = gang__zalloc(mem, cap, sizeof(*bigger));
    if (!bigger)
        return false;
    gang__release(mem, p->nodes.table);
    p->nodes.table = bigger;
    p->nodes.table_cap = cap;
    size_t there = p->nodes.count;
    p->nodes.count = 0;
    for (size_t i = 0; i < there; i++) {
        struct gang__node_copy *none;
        uint32_t at = place_in_table(p, p->nodes.copy[i].slot, &none);
        p->nodes.copy[i].table_at = at;
        p->nodes.table[at] = (uint32_t)i + 1;
        p->nodes.count = i + 1;
    }
    return true;
}

uint64_t gang__node_unhealthy(const struct gang__plan *p, const struct gang__node_copy *copy,
                              bool help)
{
    struct gang__layout l = copy->layout;
    if (!copy->node)
        return 0;
    if (p->snap)
        return gang__health_mask(l,
                                 gang__snapshot_words(p->snap, copy->slot) + gang__word_count(l));
    return gang__health_read(p->c, copy->slot, l, help || p->mode.exact_reads);
}

/* The words of a node, or of the pool, as the plan is to see them. Returns true if they were read
 * from a claimed cell. */
bool gang__node_words_read(const struct gang__plan *p, const struct gang__node_copy *copy,
                           uint64_t *was, bool help)
{
    if (p->mode.empty) {
        memset(was, 0, copy->words * sizeof(*was));
        if (copy->node) {
            /* A node that is removed but still held does not come back. */
            uint64_t head;
            if (p->snap)
                head = gang__snapshot_words(p->snap, copy->slot)[GANG__WORD_HEAD];
            else
                gang__cell_read(&p->c->commit, copy->slot, &head, 1);
            bool gone = gang__head_state(head) == GANG__STATE_GONE;
            memcpy(was, copy->type->capacity, copy->words * sizeof(*was));
            was[GANG__WORD_HEAD] =
                gang__head(gone ? GANG__STATE_GONE : GANG__STATE_UP, was[GANG__WORD_HEAD]);
        } else {
            uint32_t kinds = p->snap ? p->snap->kinds : gang__load(&p->c->nodes.kind_count);
            for (uint32_t k = GANG_KIND_SITE; k < kinds; k++)
                was[gang__pool_word((int32_t)k)] =
                    p->snap ? p->snap->pool[k] : gang__load(&p->c->nodes.kind[k].capacity);
        }
    } else if (p->snap) {
        memcpy(was, gang__snapshot_words(p->snap, copy->slot), copy->words * sizeof(*was));
    } else if (help || p->mode.exact_reads) {
        gang__cell_read(&p->c->commit, copy->slot, was, copy->words);
    } else {
        return gang__cell_peek(&p->c->commit, copy->slot, was, copy->words);
    }
    return false;
}

static void copy_read(struct gang__plan *p, struct gang__node_copy *copy, bool help)
{
    uint64_t *was = gang__words_was(p, copy), *now = gang__words_now(p, copy);
    copy->claimed = gang__node_words_read(p, copy, was, help);
    for (unsigned i = 0; i < copy->words; i++)
        now[i] = was[i];
    copy->unhealthy = p->mode.check_health ? gang__node_unhealthy(p, copy, help) : 0;
}

struct gang__node_copy *gang__node_copy_find(const struct gang__plan *p, uint32_t slot)
{
    struct gang__node_copy *copy = NULL;
    if (p->nodes.count)
        place_in_table(p, slot, &copy);
    return copy;
}

/* Makes the next copy, reads the node. */
static inline struct gang__node_copy *copy_make(struct gang__plan *p, uint32_t slot)
{
    const struct gang_mem *mem = &p->c->mem;
    struct gang__node *node = slot == GANG__POOL ? NULL : gang__plan_node(p, slot);
    if (slot != GANG__POOL && !node)
        return NULL;
    const struct gang__node_type *type = NULL;
    if (node)
        type = p->snap ? node->type : gang__node_type_at(gang__chunk_of(&p->c->commit, slot), slot);
    unsigned words = type ? gang__word_count(type->layout) : (unsigned)GANG__POOL_WORDS;
    if (!gang__grow(mem, (void **)&p->nodes.copy, &p->nodes.cap, p->nodes.count + 1,
                    sizeof(*p->nodes.copy)) ||
        !gang__grow(mem, (void **)&p->word, &p->word_cap, p->words + 2 * words, sizeof(*p->word))) {
        p->out.failed = true;
        return NULL;
    }
    struct gang__node_copy *copy = &p->nodes.copy[p->nodes.count];
    copy->slot = slot;
    copy->words = words;
    copy->node = node;
    copy->type = type;
    memset(&copy->layout, 0, sizeof(copy->layout));
    if (type)
        copy->layout = type->layout;
    copy->at = p->words;
    copy->used = 0;
    copy->own = false;
    if (!node)
        p->nodes.pool = p->nodes.count;
    p->words += 2 * words;
    p->nodes.count++;
    gang__hook(GANG__STEP_FIND);
    copy_read(p, copy, false);
    return copy;
}

struct gang__node_copy *gang__node_copy_at(struct gang__plan *p, uint32_t slot)
{
    if (2 * (p->nodes.count + 1) > p->nodes.table_cap &&
        !gang__node_copies_reserve(p, &p->c->mem, p->nodes.count + 1)) {
        p->out.failed = true;
        return NULL;
    }
    struct gang__node_copy *copy;
    uint32_t at = place_in_table(p, slot, &copy);
    if (copy)
        return copy;
    copy = copy_make(p, slot);
    if (!copy)
        return NULL;
    copy->table_at = at;
    p->nodes.table[at] = (uint32_t)p->nodes.count;
    return copy;
}

struct gang__node_copy *gang__node_copy_alone(struct gang__plan *p, uint32_t slot)
{
    p->nodes.count = p->words = 0;
    struct gang__node_copy *copy = copy_make(p, slot);
    if (copy)
        copy->table_at = UINT32_MAX; /* not in the table */
    return copy;
}

struct gang__node_list gang__plan_members(struct gang__plan *p, struct gang__domain *d)
{
    struct gang__node_list m = {0, NULL, NULL};
    if (!p->snap) {
        m.live = gang__domain_members(d);
        m.count = gang__load(&m.live->count);
    } else {
        m.then = gang__snapshot_members(p->snap, d, &m.count);
        p->out.failed = p->out.failed || !m.then;
    }
    return m;
}

bool gang__node_copy_refresh(struct gang__plan *p, struct gang__node_copy *copy)
{
    size_t bytes = copy->words * sizeof(uint64_t);
    bool planned =
        copy->used || memcmp(gang__words_was(p, copy), gang__words_now(p, copy), bytes) != 0;
    if (p->mode.empty || !copy->claimed || planned)
        return false;
    copy_read(p, copy, true);
    return true;
}
