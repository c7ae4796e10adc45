/* SPDX-License-Identifier: Apache-2.0 */
/* What no job has of a node and no job is to get: others use it, or it is kept for a gang that is
 * to come. An allocation of one task holds it, as far as it is free.
 *
 * The allocation need not fit: each word has what is claimed and free. A core has its 1000
 * millicores with it, so that the cores without an owner always suffice for what is free. */
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "place/state/records.h"

enum { CORE_MILLI = 1000 };

/* ---- what is claimed ------------------------------------------------------------------------- */

/* Fields of devices that several claims share are added up, to the whole device. */
static void add_shares(struct gang__layout layout, const uint64_t *more, uint64_t *want)
{
    for (unsigned i = GANG__WORD_SHARES; i < gang__first_core(layout); i++) {
        uint64_t sum = 0;
        for (unsigned k = 0; k < GANG__SHARES_PER_WORD; k++) {
            uint32_t share = gang__share(want[i], k) + gang__share(more[i], k);
            sum |= gang__share_of(k, share < 1000 ? share : 1000);
        }
        want[i] = sum;
    }
}

/* The words of one claim; notes in it whether it names something that is not there. */
static void words_of(const struct gang__node *node, struct gang__claim *claim, uint64_t *words)
{
    const struct gang__node_type *type = node->type;
    struct gang__layout layout = type->layout;
    uint64_t there = type->gpus | type->slices, cores[GANG__CORE_MASKS];
    memset(words, 0, GANG__MAX_WORDS * sizeof(*words));
    gang__device_words(layout, claim->gpus & there, claim->share, words);
    words[GANG__WORD_HEAD] = claim->cpu;
    words[GANG__WORD_MEMORY] = claim->pages;
    claim->odd = (claim->gpus & ~there) != 0;
    if (!layout.core_words) { /* the node names no cores: so much of its millicores */
        words[GANG__WORD_HEAD] += (uint64_t)gang__count_cores(claim->cores) * CORE_MILLI;
        return;
    }
    gang__core_words(layout, claim->cores, words);
    for (unsigned i = gang__first_core(layout); i < gang__first_amount(layout); i++)
        words[i] &= type->capacity[i];
    gang__cores_in_words(layout, words, cores);
    claim->odd = claim->odd || memcmp(cores, claim->cores, sizeof(cores)) != 0;
}

static void add_up(const struct gang__node *node, struct gang__claim *claim, size_t count,
                   uint64_t *want)
{
    struct gang__layout layout = node->type->layout;
    uint64_t words[GANG__MAX_WORDS];
    memset(want, 0, GANG__MAX_WORDS * sizeof(*want));
    for (size_t k = 0; k < count; k++) {
        words_of(node, &claim[k], words);
        add_shares(layout, words, want);
        want[GANG__WORD_HEAD] += words[GANG__WORD_HEAD];
        want[GANG__WORD_MEMORY] += words[GANG__WORD_MEMORY];
        for (unsigned i = gang__first_core(layout); i < gang__first_amount(layout); i++)
            want[i] |= words[i];
    }
}

/* ---- what is held of it ---------------------------------------------------------------------- */

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* As many cores as millicores allow, the lowest first. Returns how many. */
static uint64_t keep_cores(struct gang__layout layout, uint64_t cpu, uint64_t *now)
{
    uint64_t count = 0;
    for (unsigned i = gang__first_core(layout); i < gang__first_amount(layout); i++) {
        uint64_t kept = 0;
        for (uint64_t bits = now[i]; bits && (count + 1) * CORE_MILLI <= cpu; bits &= bits - 1) {
            kept |= bits & (~bits + 1);
            count++;
        }
        now[i] = kept;
    }
    return count;
}

/* Of `want`: what the allocation has, or may take. Receives the whole claim in millicores. */
static void hold_of(struct gang__layout layout, const uint64_t *want, const uint64_t *has,
                    const uint64_t *free, uint64_t *now)
{
    memset(now, 0, GANG__MAX_WORDS * sizeof(*now));
    for (unsigned i = GANG__WORD_MEMORY; i < gang__word_count(layout); i++) {
        bool bits = i >= gang__first_core(layout) && i < gang__first_amount(layout);
        uint64_t there = bits ? (has[i] | free[i]) : has[i] + free[i];
        now[i] = want[i] - gang__word_less(layout, i, want[i], there);
    }
    uint64_t cpu = has[GANG__WORD_HEAD] + gang__head_cpu(free[GANG__WORD_HEAD]);
    uint64_t cores = keep_cores(layout, cpu, now);
    now[GANG__WORD_HEAD] = at_most(cores * CORE_MILLI + want[GANG__WORD_HEAD], cpu);
}

static void note_short(struct gang__layout layout, const uint64_t *want, const uint64_t *now,
                       struct gang__claim *claim)
{
    uint64_t less[GANG__MAX_WORDS] = {0}, cores[GANG__CORE_MASKS], held = 0;
    for (unsigned i = GANG__WORD_MEMORY; i < gang__first_amount(layout); i++)
        less[i] = gang__word_less(layout, i, want[i], now[i]);
    claim->short_gpus = claim->gpus & gang__devices_in(layout, less);
    gang__cores_in_words(layout, less, cores);
    claim->is_short = claim->short_gpus != 0;
    for (size_t i = 0; i < GANG__CORE_MASKS; i++) {
        claim->short_cores[i] = claim->cores[i] & cores[i];
        claim->is_short = claim->is_short || claim->short_cores[i];
    }
    gang__cores_in_words(layout, now, cores);
    held = gang__count_cores(cores) * (uint64_t)CORE_MILLI + want[GANG__WORD_HEAD];
    claim->is_short = claim->is_short || (claim->pages && less[GANG__WORD_MEMORY]) ||
                      (claim->cpu && now[GANG__WORD_HEAD] < held);
}

/* ---- the record ------------------------------------------------------------------------------ */

/* A BUSY record of one task that holds nothing yet. */
static gang_result make_record(gang_worker *w, gang_request *request, gang_node_id node,
                               struct gang__alloc **a)
{
    gang_result r = gang__alloc_new(w, a);
    if (r != GANG_OK)
        return r;
    if (!gang__alloc_reserve(w, *a, GANG__TASK_HEAD + GANG__MAX_WORDS)) {
        gang__alloc_drop(w, *a);
        return GANG_ENOMEM;
    }
    gang__request_hold(w, request);
    (*a)->request = request;
    (*a)->data[0] = node;
    (*a)->data[1] = gang__task_word_of(0, 0, 0);
    (*a)->used = GANG__TASK_HEAD;
    (*a)->tasks = (*a)->next_number = 1;
    return GANG_OK;
}

/* One attempt; GANG_ENOFIT: another thread was faster. */
static gang_result take_and_give(gang_worker *w, const struct gang__node *node,
                                 const uint64_t *want, const uint64_t *has, uint64_t *now)
{
    struct gang__layout layout = node->type->layout;
    uint64_t free[GANG__MAX_WORDS], take[GANG__MAX_WORDS] = {0}, give[GANG__MAX_WORDS] = {0};
    gang__cell_read(&w->cluster->commit, node->slot, free, gang__word_count(layout));
    hold_of(layout, want, has, free, now);
    for (unsigned i = 0; i < gang__word_count(layout); i++) {
        take[i] = gang__word_less(layout, i, now[i], has[i]);
        give[i] = gang__word_less(layout, i, has[i], now[i]);
    }
    return gang__words_exchange(w, node->slot, layout, take, give);
}

/* Words of a node. */
struct amounts {
    uint64_t want[GANG__MAX_WORDS]; /* claimed */
    uint64_t has[GANG__MAX_WORDS];  /* held before, */
    uint64_t now[GANG__MAX_WORDS];  /* and after */
};

static gang_result hold_on(gang_worker *w, gang_request *request, const struct gang__node *node,
                           struct amounts *x, gang_alloc_id *id)
{
    struct gang__layout layout = node->type->layout;
    struct gang__alloc *a = NULL;
    bool fresh = *id == GANG_ID_NONE;
    if (fresh && !gang__words_any(layout, x->want))
        return GANG_OK;
    gang_result r = fresh ? make_record(w, request, node->id, &a) : gang__alloc_lock(w, *id, &a);
    if (r != GANG_OK)
        return r;
    (void)gang__entry_words(a->data, x->has);
    do
        r = take_and_give(w, node, x->want, x->has, x->now);
    while (r == GANG_ENOFIT && gang__node_of(w->cluster, node->id));
    if (r != GANG_OK) {
        if (fresh)
            gang__alloc_drop(w, a);
        else
            gang__alloc_publish(a);
        return r == GANG_ENOFIT ? (gang_result)GANG_ESTALE : r;
    }
    uint64_t entry[GANG__TASK_HEAD + GANG__MAX_WORDS];
    a->used = gang__entry_of(a->data, layout, x->now, 0, entry);
    memcpy(a->data, entry, a->used * sizeof(*entry));
    if (gang__words_any(layout, x->now)) {
        *id = gang__alloc_publish(a);
    } else {
        gang__alloc_drop(w, a);
        *id = GANG_ID_NONE;
    }
    return GANG_OK;
}

static bool reserve(gang_worker *w)
{
    return gang__placer_of(w) && gang__commit_reserve(&w->commit, 2 * GANG__MAX_WORDS) == GANG_OK &&
           gang__order_reserve(w, 1);
}

gang_result gang__hold_words(gang_worker *w, gang_request *request, gang_node_id node,
                             const uint64_t *want, gang_alloc_id *id)
{
    struct amounts x;
    memset(&x, 0, sizeof(x));
    *id = GANG_ID_NONE;
    if (!reserve(w))
        return GANG_ENOMEM;
    gang__rcu_enter();
    const struct gang__node *at = gang__node_of(w->cluster, node);
    gang_result r = at ? GANG_OK : GANG_ESTALE;
    if (r == GANG_OK) {
        memcpy(x.want, want, gang__word_count(at->type->layout) * sizeof(*want));
        r = hold_on(w, request, at, &x, id);
    }
    gang__rcu_leave();
    return r;
}

gang_result gang__hold_set(gang_worker *w, gang_request *request, gang_node_id node,
                           struct gang__claim *claim, size_t count, struct gang__hold *made)
{
    struct amounts x;
    memset(&x, 0, sizeof(x));
    made->gave = false;
    if (!reserve(w))
        return GANG_ENOMEM;
    gang__rcu_enter();
    const struct gang__node *at = gang__node_of(w->cluster, node);
    gang_result r = at ? GANG_OK : GANG_ESTALE;
    if (r == GANG_OK) {
        add_up(at, claim, count, x.want);
        r = hold_on(w, request, at, &x, &made->id);
    }
    for (size_t k = 0; r == GANG_OK && k < count; k++)
        note_short(at->type->layout, x.want, x.now, &claim[k]);
    for (unsigned i = 0; r == GANG_OK && i < gang__word_count(at->type->layout); i++)
        made->gave = made->gave || gang__word_less(at->type->layout, i, x.has[i], x.now[i]);
    gang__rcu_leave();
    return r;
}
