/* SPDX-License-Identifier: Apache-2.0 */
/* Inside one node: which GPUs, which cores. */
#include "place/plan.h"

/* Grow a set from each free device in turn, always by the device closest to those chosen, and keep
 * the set with the greatest closeness between all pairs; the lowest numbers among equals. */
uint64_t gang__choose_gpus(const struct gang__shape *shape, uint64_t free, uint32_t count)
{
    unsigned gpus = shape->layout.gpus;
    if (shape->near_uniform || count == 1) {
        uint64_t chosen = 0;
        for (uint32_t i = 0; i < count; i++) {
            chosen |= free & (~free + 1);
            free &= free - 1;
        }
        return chosen;
    }
    uint64_t best = 0;
    uint32_t best_score = 0;
    for (uint64_t seeds = free; seeds; seeds &= seeds - 1) {
        uint64_t chosen = seeds & (~seeds + 1);
        uint32_t score = 0;
        for (uint32_t n = 1; n < count; n++) {
            unsigned next = (unsigned)__builtin_ctzll(free & ~chosen);
            uint32_t next_gain = 0;
            for (uint64_t left = free & ~chosen; left; left &= left - 1) {
                unsigned i = (unsigned)__builtin_ctzll(left);
                uint32_t gain = 0;
                for (uint64_t in = chosen; in; in &= in - 1)
                    gain += shape->near[i * gpus + (unsigned)__builtin_ctzll(in)];
                if (gain > next_gain) {
                    next = i;
                    next_gain = gain;
                }
            }
            chosen |= UINT64_C(1) << next;
            score += next_gain;
        }
        if (!best || score > best_score) {
            best = chosen;
            best_score = score;
        }
    }
    return best;
}

/* Move the lowest bits of one word, at most `most`, to another. Returns how many. */
static uint32_t move_bits(uint64_t bits, uint32_t most, uint64_t *to)
{
    uint32_t there = gang__popcount(bits);
    if (there <= most) {
        *to |= bits;
        return there;
    }
    for (uint32_t i = 0; i < most; i++, bits &= bits - 1)
        *to |= bits & (~bits + 1);
    return most;
}

/* Cores of the GPUs' NUMA domains first, then any; lowest numbers first. */
bool gang__choose_cores(const struct gang__shape *shape, const uint64_t *free, uint64_t gpus,
                        uint32_t count, uint64_t *taken)
{
    unsigned words = shape->layout.core_words;
    uint64_t near[GANG__MAX_WORDS];
    uint32_t there = 0, left = count;
    for (unsigned i = 0; i < words; i++) {
        there += gang__popcount(free[i]);
        taken[i] = free[i];
    }
    if (there <= count)
        return there == count;
    for (unsigned i = 0; i < words; i++)
        taken[i] = near[i] = 0;
    for (uint64_t g = gpus; g; g &= g - 1)
        for (unsigned i = 0; i < words; i++)
            near[i] |= shape->near_cores[(unsigned)__builtin_ctzll(g) * words + i];
    for (unsigned i = 0; i < words && left && gpus; i++)
        left -= move_bits(free[i] & near[i], left, &taken[i]);
    for (unsigned i = 0; i < words && left; i++)
        left -= move_bits(free[i] & ~taken[i], left, &taken[i]);
    return true;
}
