/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that run on other devices or cores of their node than the books say: the books follow.
 *
 * A task of an exclusive allocation takes from the holder of the node (place/record/holders.h), and
 * leaves to it what it had: then nothing of the node's cell changes.
 *
 * Only words of devices and cores change: a task keeps its node, and what it has of memory and the
 * other kinds. Tasks may have changed places with each other, also of several allocations; so they
 * are judged together: what all of them leave is free for all of them. A task that does not get
 * what it runs on keeps what it has, and then others may be in its way: they are judged again. */
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/fit/fit.h"
#include "place/state/records.h"

/* All tasks of one call, on one node. */
struct rebind {
    gang_worker *w;
    const struct gang__node *node;
    struct gang__layout layout;
    struct gang__real_task *task;
    size_t count;
    struct gang__alloc *hold;       /* NULL: none */
    struct gang__alloc *sole;       /* the exclusive allocation that has the node; NULL: none */
    uint64_t held[GANG__MAX_WORDS]; /* what `hold`, or the holder of `sole`, has of the node */
};

static unsigned end_of_words(const struct rebind *b)
{
    return gang__first_amount(b->layout);
}

/* ---- one task -------------------------------------------------------------------------------- */

static uint32_t share_of_words(const struct rebind *b, const uint64_t *words)
{
    for (unsigned i = GANG__WORD_SHARES; i < gang__first_core(b->layout); i++)
        for (unsigned k = 0; k < GANG__SHARES_PER_WORD; k++)
            if (gang__share(words[i], k))
                return gang__share(words[i], k);
    return 0;
}

/* May the task, which has `had`, have these devices? */
static bool devices_suit(const struct rebind *b, const struct gang__group *g,
                         const struct gang__real_task *t, uint64_t had)
{
    const struct gang__node_type *type = b->node->type;
    if (b->layout.gpus < 64 && t->gpus >> b->layout.gpus)
        return false;
    if (g->profile)
        return gang__are_instances(g, type, t->gpus);
    if (gang__popcount(t->gpus) != gang__popcount(had) || (t->gpus & type->slices))
        return false;
    for (uint64_t left = t->gpus; left; left &= left - 1)
        if (gang__share_asked(g->share, g->gpu_memory, &type->spec->gpus[__builtin_ctzll(left)]) !=
            t->share)
            return false;
    return true;
}

static bool has_cores(const struct rebind *b, const uint64_t *words)
{
    for (unsigned i = gang__first_core(b->layout); i < end_of_words(b); i++)
        if (words[i])
            return true;
    return false;
}

/* The words that the task is to have; false: it cannot have these devices or cores. */
static bool make_words(const struct rebind *b, const struct gang__group *g,
                       struct gang__real_task *t)
{
    uint64_t had = gang__devices_in(b->layout, t->was), cores[GANG__CORE_MASKS];
    memcpy(t->now, t->was, sizeof(t->now));
    t->share = share_of_words(b, t->was);
    if (!t->any_devices && t->gpus != had) {
        if (!devices_suit(b, g, t, had))
            return false;
        gang__device_words(b->layout, t->gpus, t->share, t->now);
    }
    if (t->any_cores || !has_cores(b, t->was))
        return true;
    gang__core_words(b->layout, t->cores, t->now);
    gang__cores_in_words(b->layout, t->now, cores);
    bool there = memcmp(cores, t->cores, sizeof(cores)) == 0;
    for (unsigned i = gang__first_core(b->layout); i < end_of_words(b); i++)
        there = there && !(t->now[i] & ~b->node->type->capacity[i]);
    gang__cores_in_words(b->layout, t->was, cores);
    return there && gang__count_cores(cores) == gang__count_cores(t->cores);
}

/* The devices that the holder of an exclusive allocation has: no other allocation has them. */
static uint64_t own_devices(const struct rebind *b, uint32_t share)
{
    uint64_t gpus = 0;
    for (unsigned i = 0; b->sole && i < b->layout.gpus; i++)
        if (gang__share(b->held[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                        i % GANG__SHARES_PER_WORD) >= share)
            gpus |= UINT64_C(1) << i;
    return gpus;
}

/* A task that keeps what it has: what it uses besides, that its allocation does not have. */
static void note_more(const struct rebind *b, struct gang__real_task *t)
{
    uint64_t has[GANG__CORE_MASKS];
    gang__cores_in_words(b->layout, t->was, has);
    t->more_gpus = t->any_devices ? 0 : t->gpus & ~gang__devices_in(b->layout, t->was);
    for (size_t i = 0; !t->any_cores && has_cores(b, t->was) && i < GANG__CORE_MASKS; i++)
        t->more_cores[i] = t->cores[i] & ~has[i];
    if (!t->share)
        t->share = 1000;
    if (!b->sole)
        return;
    t->more_gpus &= ~own_devices(b, t->share);
    gang__cores_in_words(b->layout, b->held, has);
    for (size_t i = 0; i < GANG__CORE_MASKS; i++)
        t->more_cores[i] &= ~has[i];
}

static void judge(struct rebind *b, struct gang__real_task *t)
{
    const uint64_t *task = t->record && t->task >= 0 && t->task < (int64_t)GANG__NO_NUMBER
                               ? gang__task_find(t->record, (uint32_t)t->task)
                               : NULL;
    t->outcome = GANG__REBOUND_UNKNOWN;
    if (!task || gang__task_has_stopped(task))
        return;
    t->outcome = GANG__REBOUND_ELSEWHERE;
    if (task[0] != b->node->id)
        return;
    t->outcome = GANG__REBOUND_SAME;
    if (t->record->request->exclusive)
        b->sole = t->record;
    if (gang__entry_words(task, t->was))
        return;
    if (!make_words(b, &t->record->request->group[gang__task_group(task)], t))
        t->outcome = GANG__REBOUND_ODD;
    else if (memcmp(t->was, t->now, sizeof(t->was)) != 0)
        t->outcome = GANG__REBOUND_MOVED;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* `sum`: words of devices and cores, to which those of all tasks that move are added. */
static void add_all(const struct rebind *b, bool now, uint64_t *sum)
{
    for (size_t k = 0; k < b->count; k++)
        for (unsigned i = GANG__WORD_SHARES;
             b->task[k].outcome == GANG__REBOUND_MOVED && i < end_of_words(b); i++)
            sum[i] += now ? b->task[k].now[i] : b->task[k].was[i];
}

static bool take_from(const struct rebind *b, const uint64_t *words, uint64_t *left)
{
    for (unsigned i = GANG__WORD_SHARES; i < end_of_words(b); i++)
        if (gang__word_less(b->layout, i, words[i], left[i]))
            return false;
    for (unsigned i = GANG__WORD_SHARES; i < end_of_words(b); i++)
        left[i] -= words[i];
    return true;
}

/* The first task that does not fit if all go that are to move; count: they all fit. */
static size_t first_misfit(const struct rebind *b, const uint64_t *free)
{
    uint64_t left[GANG__MAX_WORDS];
    size_t k = 0;
    memcpy(left, free, sizeof(left));
    for (unsigned i = GANG__WORD_SHARES; i < end_of_words(b); i++)
        left[i] += b->held[i];
    add_all(b, false, left);
    while (k < b->count &&
           (b->task[k].outcome != GANG__REBOUND_MOVED || take_from(b, b->task[k].now, left)))
        k++;
    return k;
}

/* Those that do not fit stay. One that stays frees what it was to use: then another one may go. */
static void choose(const struct rebind *b, const uint64_t *free)
{
    size_t k, stayed = 0;
    while ((k = first_misfit(b, free)) < b->count) {
        b->task[k].outcome = GANG__REBOUND_TAKEN;
        stayed++;
    }
    for (k = 0; stayed > 0 && k < b->count; k++) {
        if (b->task[k].outcome != GANG__REBOUND_TAKEN)
            continue;
        b->task[k].outcome = GANG__REBOUND_MOVED;
        if (first_misfit(b, free) < b->count) {
            b->task[k].outcome = GANG__REBOUND_TAKEN;
        } else { /* and then others, that wait for its old place */
            stayed--;
            k = SIZE_MAX;
        }
    }
}

/* The tasks of the exclusive allocation change places with each other and with its holder. */
static gang_result exchange_with_holder(struct rebind *b)
{
    uint64_t none[GANG__MAX_WORDS] = {0}, was[GANG__MAX_WORDS] = {0}, now[GANG__MAX_WORDS] = {0};
    choose(b, none);
    add_all(b, false, was);
    add_all(b, true, now);
    for (unsigned i = GANG__WORD_SHARES; i < end_of_words(b); i++)
        b->held[i] = b->held[i] + was[i] - now[i];
    return GANG_OK;
}

/* One attempt. GANG_ENOFIT: another thread took something meanwhile, judge again. */
static gang_result exchange(struct rebind *b)
{
    uint64_t free[GANG__MAX_WORDS], was[GANG__MAX_WORDS] = {0}, now[GANG__MAX_WORDS] = {0};
    uint64_t take[GANG__MAX_WORDS] = {0}, give[GANG__MAX_WORDS] = {0};
    gang__cell_read(&b->w->cluster->commit, b->node->slot, free, gang__word_count(b->layout));
    choose(b, free);
    add_all(b, false, was);
    add_all(b, true, now);
    for (unsigned i = GANG__WORD_SHARES; i < end_of_words(b); i++) {
        uint64_t more = gang__word_less(b->layout, i, now[i], was[i]);
        take[i] = gang__word_less(b->layout, i, more, b->held[i]);
        give[i] = gang__word_less(b->layout, i, was[i], now[i]);
        b->held[i] -= more - take[i];
    }
    gang_result r = gang__words_exchange(b->w, b->node->slot, b->layout, take, give);
    for (unsigned i = GANG__WORD_SHARES; r != GANG_OK && i < end_of_words(b); i++)
        b->held[i] += gang__word_less(b->layout, i, now[i], was[i]) - take[i];
    return r;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The entry that has `held`; NULL: there is none. */
static const uint64_t *entry_of_held(const struct rebind *b)
{
    if (!b->sole)
        return b->hold ? gang__task_first(b->hold) : NULL;
    const uint64_t *entry = gang__entry_first(b->sole);
    while (entry && !(gang__task_is_holder(entry) && entry[0] == b->node->id))
        entry = gang__entry_next(b->sole, entry);
    return entry;
}

/* The entry gets these words of its node. The record has the memory. */
static void replace(const struct rebind *b, struct gang__alloc *a, const uint64_t *task,
                    const uint64_t *words)
{
    uint64_t entry[GANG__TASK_HEAD + GANG__MAX_WORDS + GANG_MAX_KINDS];
    uint32_t at = (uint32_t)(task - a->data), before = gang__task_words(task);
    uint32_t size = gang__entry_of(task, b->layout, words, entry);
    memmove(a->data + at + size, a->data + at + before, (a->used - at - before) * sizeof(*entry));
    memcpy(a->data + at, entry, size * sizeof(*entry));
    a->used += size - before;
    a->fits_epoch = 0;
}

static void record_all(const struct rebind *b)
{
    for (size_t k = 0; k < b->count; k++) {
        struct gang__real_task *t = &b->task[k];
        if (t->outcome == GANG__REBOUND_MOVED)
            replace(b, t->record, gang__task_find(t->record, (uint32_t)t->task), t->now);
        else if (t->outcome == GANG__REBOUND_TAKEN || t->outcome == GANG__REBOUND_ODD)
            note_more(b, t);
    }
    const uint64_t *held = entry_of_held(b);
    if (held)
        replace(b, b->sole ? b->sole : b->hold, held, b->held);
}

/* Memory for the largest entries that tasks which move may get, and for their release. */
static bool reserve(const struct rebind *b)
{
    for (size_t k = 0; k < b->count; k++) {
        const struct gang__real_task *t = &b->task[k];
        if (!t->record || !t->first)
            continue;
        size_t moved = 0;
        for (size_t i = k; i < b->count; i++)
            moved += b->task[i].record == t->record && b->task[i].outcome == GANG__REBOUND_MOVED;
        moved += moved > 0 && t->record == b->sole; /* and its holder */
        size_t words = t->record->used + moved * end_of_words(b);
        if (moved && (!gang__alloc_reserve(b->w, t->record, words) ||
                      gang__commit_reserve(&b->w->commit, words + GANG__MAX_WORDS) != GANG_OK))
            return false;
    }
    return true;
}

/* ---- the call -------------------------------------------------------------------------------- */

static void unlock_all(const struct rebind *b)
{
    for (size_t k = 0; k < b->count; k++)
        if (b->task[k].record && b->task[k].first)
            gang__alloc_publish(b->task[k].record);
    if (b->hold)
        gang__alloc_publish(b->hold);
}

/* Of all tasks, those without a record by now have none. GANG_EBUSY: none is locked. */
static gang_result lock_all(struct rebind *b, gang_alloc_id hold)
{
    gang_result r = GANG_OK;
    for (size_t k = 0; k < b->count && r == GANG_OK; k++) {
        struct gang__real_task *t = &b->task[k];
        size_t i = 0;
        while (i < k && b->task[i].alloc != t->alloc)
            i++;
        t->first = i == k;
        t->record = NULL;
        if (!t->first)
            t->record = b->task[i].record;
        else if ((r = gang__alloc_lock(b->w, t->alloc, &t->record)) != GANG_OK)
            t->record = NULL;
        r = r == GANG_ESTALE ? (gang_result)GANG_OK : r;
    }
    if (r == GANG_OK && hold != GANG_ID_NONE)
        r = gang__alloc_lock(b->w, hold, &b->hold);
    if (r != GANG_OK) {
        b->hold = NULL;
        unlock_all(b);
    }
    return r;
}

static void clear(struct gang__real_task *t)
{
    t->outcome = GANG__REBOUND_UNKNOWN;
    t->record = NULL;
    t->share = 0;
    t->more_gpus = 0;
    memset(t->more_cores, 0, sizeof(t->more_cores));
}

/* False: out of memory. */
static bool judge_all(struct rebind *b)
{
    b->layout = b->node->type->layout;
    for (size_t k = 0; k < b->count; k++)
        judge(b, &b->task[k]);
    for (size_t k = 0; b->sole && k < b->count; k++)
        if (b->task[k].outcome == GANG__REBOUND_MOVED && b->task[k].record != b->sole)
            b->task[k].outcome = GANG__REBOUND_TAKEN;
    const uint64_t *held = entry_of_held(b);
    if (held)
        (void)gang__entry_words(held, b->held);
    return reserve(b);
}

gang_result gang__tasks_rebind(gang_worker *w, gang_node_id node, struct gang__real_task *task,
                               size_t count, gang_alloc_id hold)
{
    struct rebind b = {.w = w, .task = task, .count = count};
    for (size_t k = 0; k < count; k++)
        clear(&task[k]);
    gang__rcu_enter();
    b.node = gang__node_of(w->cluster, node);
    gang_result r = b.node ? lock_all(&b, hold) : (gang_result)GANG_ESTALE;
    if (r == GANG_OK) {
        r = judge_all(&b) ? GANG_OK : GANG_ENOMEM;
        if (r == GANG_OK)
            do
                r = b.sole ? exchange_with_holder(&b) : exchange(&b);
            while (r == GANG_ENOFIT && gang__node_of(w->cluster, node));
        if (r == GANG_ENOFIT)
            r = GANG_ESTALE;
        if (r == GANG_OK)
            record_all(&b);
        unlock_all(&b);
    }
    gang__rcu_leave();
    return r;
}
