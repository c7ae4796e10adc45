/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the index up to date for a commit that knows where its nodes stand after it: all nodes that
 * it moves within one leaf word change their bits together, and no cell is read again.
 *
 * The owner of the commit notes each node while it holds the claim, before the decision: the
 * buckets that the node will have, and the index words of the rows in which it stood at the last
 * update. These are steps 1 and 2 of the proof of I1 at the head of index.c. */
#include "core/commit/index_in.h"

gang_result gang__index_moves_reserve(struct gang__committer *w, size_t moves)
{
    if (moves <= w->move_cap)
        return GANG_OK;
    struct gang__index_move *larger = gang__zalloc(w->cells->mem, moves, sizeof(*larger));
    if (!larger)
        return GANG_ENOMEM;
    gang__release(w->cells->mem, w->move); /* only the owner uses it, between two commits */
    w->move = larger;
    w->move_cap = moves;
    return GANG_OK;
}

bool gang__index_move_new(struct gang__committer *w, uint32_t slot, uint32_t class_id,
                          struct gang__buckets from, struct gang__buckets to, uint64_t key)
{
    uint32_t base = slot - slot % GANG__FAN, bit = UINT32_C(1) << slot % GANG__FAN;
    struct gang__index_move *m;
    /* The moves that are noted of the same leaf word come last. */
    for (uint32_t i = w->move_count; i > 0 && w->move[i - 1].base == base; i--) {
        m = &w->move[i - 1];
        if (m->key == key) {
            m->bits |= bit;
            return true;
        }
    }
    if (w->move_count == w->move_cap)
        return false;
    struct gang__index_words at = gang__index_words_of(w->cells, class_id, slot);
    m = &w->move[w->move_count++];
    m->row = at.row;
    m->base = base;
    m->bits = bit;
    m->class_id = w->class_id = class_id;
    m->key = key;
    m->from = from;
    m->to = to;
    m->seen = gang__index_see(&at, from);
    return true;
}

/* The words of the index that a move is about. */
static struct gang__index_words words_of(const struct gang__committer *w,
                                         const struct gang__index_move *m)
{
    bool keeps_marks = w->apart > 0 || w->move_count > 1;
    return (struct gang__index_words){w->cells, m->class_id, m->base, m->row, keeps_marks};
}

static void set(const struct gang__index_words *at, struct gang__buckets buckets, uint32_t bits)
{
    if (buckets.gpu)
        gang__index_set(at, gang__gpu_row(buckets.gpu), bits);
    if (buckets.cpu)
        gang__index_set(at, gang__cpu_row(buckets.cpu), bits);
}

void gang__index_moves_raise(const struct gang__committer *w)
{
    for (uint32_t i = 0; i < w->move_count; i++) {
        struct gang__index_words at = words_of(w, &w->move[i]);
        set(&at, w->move[i].to, w->move[i].bits);
    }
}

/* Notes where the nodes stand now. A node that another thread updated meanwhile stood in other
 * buckets than those seen: its bits are repaired. */
static void renew_hints(const struct gang__index_move *m, const struct gang__index_words *at)
{
    uint32_t from = gang__bucket_hint_of(m->from), to = gang__bucket_hint_of(m->to);
    struct gang__slot *slot = gang__slot_at(gang__chunk_of(at->c, m->base), m->base);
    for (uint32_t bits = m->bits; bits; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctz(bits);
        uint32_t before = gang__load(&slot[i].bucket_hint);
        gang__store(&slot[i].bucket_hint, to);
        if (before != from)
            gang__index_repair_both(at, m->base + i, gang__buckets_in(before));
    }
}

void gang__index_moves_update(const struct gang__committer *w, bool raised)
{
    for (uint32_t i = 0; i < w->move_count; i++) {
        const struct gang__index_move *m = &w->move[i];
        struct gang__index_words at = words_of(w, m);
        bool gpu = m->from.gpu != m->to.gpu, cpu = m->from.cpu != m->to.cpu;
        if (!gpu && !cpu)
            continue;
        gang__hook(GANG__STEP_UPDATE);
        if (!raised)
            set(&at, gang__buckets_moved(m->from, m->to), m->bits);
        renew_hints(m, &at);
        if (gpu && m->from.gpu)
            gang__index_leave(&at, gang__gpu_row(m->from.gpu), m->seen.gpu, m->bits);
        if (cpu && m->from.cpu)
            gang__index_leave(&at, gang__cpu_row(m->from.cpu), m->seen.cpu, m->bits);
    }
}
