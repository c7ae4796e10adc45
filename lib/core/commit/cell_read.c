/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a cell: all words at one instant, after the commits that claim it are carried to their
 * end. */
#include "core/commit/commit_in.h"

/* Waits for no thread: carries on each commit that claims the cell, until none does. The load_seq
 * pairs with the CAS that claims: a decided commit that is not written still claims the cell. */
static void help(struct gang__cells *c, gang__a64 *owner)
{
    for (;;) {
        uint64_t holder = gang__load_seq(owner);
        if (holder == 0)
            return;
        struct gang__target t;
        if (gang__blocker_of(c, holder, &t))
            gang__commit_carry_on(c, &t, false);
        else
            gang__cas(owner, holder, 0);
    }
}

bool gang__claim_is_void(struct gang__cells *c, uint64_t owner)
{
    struct gang__target t;
    return !gang__blocker_of(c, owner, &t);
}

void gang__cell_help(struct gang__cells *c, uint32_t slot)
{
    help(c, &gang__chunk_of(c, slot)->cell[slot % GANG__CHUNK].owner);
}

void gang__cell_read_from(struct gang__cells *c, uint32_t slot, unsigned first, uint64_t *payload,
                          unsigned words)
{
    struct gang__words at = gang__words_of(c, slot);
    uint64_t changed;
    do {
        help(c, &at.cell->owner);
        for (unsigned i = 0; i < words; i++) {
            gang__hook(GANG__STEP_READ);
            payload[i] = gang__load(gang__word_in(&at, first + i));
        }
        gang__hook(GANG__STEP_READ);
        changed = gang__load_seq(&at.cell->owner); /* see gang__cell_read() */
        for (unsigned i = 0; i < words; i++)
            changed |= payload[i] ^ gang__load(gang__word_in(&at, first + i));
    } while (changed);
    for (unsigned i = 0; i < words; i++)
        payload[i] = gang__payload(payload[i]);
}

void gang__cell_read(struct gang__cells *c, uint32_t slot, uint64_t *payload, unsigned words)
{
    struct gang__words at = gang__words_of(c, slot);
    unsigned own = words < GANG__CELL_WORDS ? words : GANG__CELL_WORDS;
    for (;;) {
        help(c, &at.cell->owner);
        for (unsigned i = 0; i < own; i++) {
            gang__hook(GANG__STEP_READ);
            payload[i] = gang__load(&at.cell->word[i]);
        }
        for (unsigned i = own; i < words; i++)
            payload[i] = gang__load(gang__word_in(&at, i));
        gang__hook(GANG__STEP_READ);
        /* The cell was unclaimed between the two looks, so every commit decided before was written
         * before. Words carry versions: those that are the same twice were all there at that
         * moment. */
        uint64_t changed = gang__load_seq(&at.cell->owner);
        for (unsigned i = 0; i < own; i++)
            changed |= payload[i] ^ gang__load(&at.cell->word[i]);
        for (unsigned i = own; i < words; i++)
            changed |= payload[i] ^ gang__load(gang__word_in(&at, i));
        if (!changed)
            break;
    }
    for (unsigned i = 0; i < words; i++)
        payload[i] = gang__payload(payload[i]);
    if (words && gang__head_is_leased(payload[GANG__WORD_HEAD])) {
        /* A leased node stays while the caller reads it, and so does its layout. */
        unsigned free = gang__word_count(gang__layout_at(gang__chunk_of(c, slot), slot));
        gang__lease_mask(payload, words < free ? words : free);
    }
}
