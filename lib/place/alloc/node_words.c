/* SPDX-License-Identifier: Apache-2.0 */
/* What a task or a claim has of a node, by words as in its cell (core/commit/word.h). */
#include <string.h>

#include "core/nodes/nodes.h"
#include "place/alloc/hold.h"
#include "place/state/records.h"

static bool is_shares(struct gang__layout layout, unsigned word)
{
    return word >= GANG__WORD_SHARES && word < gang__first_core(layout);
}

static bool is_cores(struct gang__layout layout, unsigned word)
{
    return word >= gang__first_core(layout) && word < gang__first_amount(layout);
}

uint64_t gang__word_less(struct gang__layout layout, unsigned word, uint64_t a, uint64_t b)
{
    uint64_t less = 0;
    if (is_cores(layout, word))
        return a & ~b;
    if (!is_shares(layout, word))
        return a > b ? a - b : 0;
    for (unsigned i = 0; i < GANG__SHARES_PER_WORD; i++) {
        uint32_t x = gang__share(a, i), y = gang__share(b, i);
        less |= gang__share_of(i, x > y ? x - y : 0);
    }
    return less;
}

bool gang__words_any(struct gang__layout layout, const uint64_t *words)
{
    for (unsigned i = 0; i < gang__word_count(layout); i++)
        if (words[i])
            return true;
    return false;
}

/* Words of devices and cores come first: no later one is shared in time. */
_Static_assert(GANG__WORD_SHARES + GANG_MAX_GPUS / GANG__SHARES_PER_WORD +
                       (GANG_MAX_CORES + GANG__CORES_PER_WORD - 1) / GANG__CORES_PER_WORD <
                   64,
               "a bit for each word that may be shared");

uint64_t gang__entry_words(const uint64_t *task, uint64_t *words)
{
    uint64_t shared = 0;
    memset(words, 0, GANG__MAX_WORDS * sizeof(*words));
    for (unsigned i = 0; i < gang__task_deltas(task); i++) {
        uint64_t delta = task[GANG__TASK_HEAD + i];
        if (delta & GANG__DELTA_POOL)
            continue;
        words[gang__delta_word(delta)] += gang__payload(delta);
        if (delta & GANG__DELTA_SHARED)
            shared |= UINT64_C(1) << gang__delta_word(delta);
    }
    return shared;
}

uint32_t gang__entry_of(const uint64_t *task, struct gang__layout layout, const uint64_t *words,
                        uint64_t shared, uint64_t *to)
{
    unsigned n = 0;
    for (unsigned i = 0; i < gang__word_count(layout); i++)
        if (words[i])
            to[GANG__TASK_HEAD + n++] = words[i] | (uint64_t)i << GANG__PAYLOAD_BITS |
                                        (i < 64 && shared >> i & 1 ? GANG__DELTA_SHARED : 0);
    for (unsigned i = 0; i < gang__task_deltas(task); i++)
        if (task[GANG__TASK_HEAD + i] & GANG__DELTA_POOL)
            to[GANG__TASK_HEAD + n++] = task[GANG__TASK_HEAD + i];
    to[0] = task[0];
    to[1] = gang__task_word_of(gang__task_number(task), n, gang__task_group(task));
    if (gang__task_has_stopped(task))
        to[1] |= GANG__TASK_STOPPED;
    return GANG__TASK_HEAD + n;
}

void gang__device_words(struct gang__layout layout, uint64_t gpus, uint32_t share, uint64_t *words)
{
    for (unsigned i = 0; i < gang__share_words(layout); i++, gpus >>= GANG__SHARES_PER_WORD)
        words[GANG__WORD_SHARES + i] = gang__shares_of((uint32_t)gpus & 15, share);
}

void gang__core_words(struct gang__layout layout, const uint64_t *cores, uint64_t *words)
{
    for (unsigned i = 0; i < layout.core_words; i++) {
        unsigned first = i * GANG__CORES_PER_WORD, at = first / 64, shift = first % 64;
        uint64_t bits = at < GANG__CORE_MASKS ? cores[at] >> shift : 0;
        if (shift > 64 - GANG__CORES_PER_WORD && at + 1 < GANG__CORE_MASKS)
            bits |= cores[at + 1] << (64 - shift);
        words[gang__first_core(layout) + i] = bits & GANG__PAYLOAD;
    }
}

uint64_t gang__devices_in(struct gang__layout layout, const uint64_t *words)
{
    uint64_t gpus = 0;
    for (unsigned i = 0; i < layout.gpus; i++)
        if (gang__share(words[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                        i % GANG__SHARES_PER_WORD))
            gpus |= UINT64_C(1) << i;
    return gpus;
}

void gang__cores_in_words(struct gang__layout layout, const uint64_t *words, uint64_t *cores)
{
    memset(cores, 0, GANG__CORE_MASKS * sizeof(*cores));
    for (unsigned i = 0; i < layout.core_words; i++)
        gang__cores_put_word(cores, i * GANG__CORES_PER_WORD, words[gang__first_core(layout) + i]);
}

uint32_t gang__count_cores(const uint64_t *cores)
{
    uint32_t count = 0;
    for (size_t i = 0; i < GANG__CORE_MASKS; i++)
        count += gang__popcount(cores[i]);
    return count;
}

/* One commit. A part that is given back is never refused. */
static gang_result commit(gang_worker *w, uint32_t slot, struct gang__layout layout,
                          const uint64_t *words, bool give)
{
    gang__commit_begin(&w->commit);
    gang__commit_add(&w->commit, slot, GANG__WORD_HEAD, GANG__OP_HEAD,
                     words[GANG__WORD_HEAD] | (give ? GANG__HEAD_GIVE : GANG__HEAD_IF_THERE));
    for (unsigned i = GANG__WORD_MEMORY; i < gang__word_count(layout); i++)
        if (words[i])
            gang__commit_add(&w->commit, slot, i, gang__code_of(layout, i, give), words[i]);
    return gang__commit_run_indexed(&w->commit, give);
}

gang_result gang__words_exchange(gang_worker *w, uint32_t slot, struct gang__layout layout,
                                 const uint64_t *take, const uint64_t *give)
{
    gang_result r = gang__commit_reserve(&w->commit, GANG__MAX_WORDS);
    if (r == GANG_OK && gang__words_any(layout, take))
        r = commit(w, slot, layout, take, false);
    if (r == GANG_OK && gang__words_any(layout, give))
        r = commit(w, slot, layout, give, true);
    return r;
}
