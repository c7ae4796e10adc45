/* SPDX-License-Identifier: Apache-2.0 */
/* Inside one node: which GPUs, which cores. */
#include "place/plan.h"

/* Grow a set from each free device in turn, always by the device closest to those chosen, and keep
 * the set with the greatest closeness between all pairs; the lowest numbers among equals. */
uint64_t gang__choose_gpus(const struct gang__node *node, uint64_t free, uint32_t count)
{
    unsigned gpus = node->layout.gpus;
    if (node->near_uniform || count == 1) {
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
                    gain += node->near[i * gpus + (unsigned)__builtin_ctzll(in)];
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

static bool is_near(const struct gang_node_spec *spec, size_t core, uint64_t gpus)
{
    for (uint64_t left = gpus; left; left &= left - 1)
        if (spec->gpus[__builtin_ctzll(left)].numa == spec->cores[core].numa)
            return true;
    return false;
}

/* Cores of the GPUs' NUMA domains first, then any; lowest numbers first. */
bool gang__choose_cores(const struct gang__node *node, const uint64_t *free, uint64_t gpus,
                        uint32_t count, uint64_t *taken)
{
    const struct gang_node_spec *spec = node->spec;
    unsigned words = node->layout.core_words;
    uint32_t there = 0;
    for (unsigned i = 0; i < words; i++)
        there += (uint32_t)__builtin_popcountll(free[i]);
    if (there < count)
        return false;
    if (there == count) {
        for (unsigned i = 0; i < words; i++)
            taken[i] = free[i];
        return true;
    }
    uint32_t left = count;
    for (unsigned i = 0; i < words; i++)
        taken[i] = 0;
    for (int near = gpus ? 1 : 0; near >= 0; near--) {
        for (unsigned w = 0; w < words && left; w++) {
            for (uint64_t bits = free[w] & ~taken[w]; bits && left; bits &= bits - 1) {
                unsigned bit = (unsigned)__builtin_ctzll(bits);
                if (near && !is_near(spec, w * GANG__CORES_PER_WORD + bit, gpus))
                    continue;
                taken[w] |= UINT64_C(1) << bit;
                left--;
            }
        }
    }
    return true;
}
