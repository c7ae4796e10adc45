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
#include "place/alloc/rebind_in.h"

/* ---- all together ---------------------------------------------------------------------------- */

static bool is_shared(const struct gang__real_task *t, unsigned word)
{
    return (t->shared >> word & 1) != 0;
}

/* `sum`: own words of devices and cores, to which those of all tasks that move are added. */
static void add_all(const struct gang__rebind *b, bool now, uint64_t *sum)
{
    for (size_t k = 0; k < b->count; k++)
        for (unsigned i = GANG__WORD_SHARES;
             b->task[k].outcome == GANG__REBOUND_MOVED && i < gang__rebind_end(b); i++)
            if (!is_shared(&b->task[k], i))
                sum[i] += now ? b->task[k].now[i] : b->task[k].was[i];
}

/* Take what the task is to have, of its own words or of the shared ones. */
static bool take_from(const struct gang__rebind *b, const struct gang__real_task *t, bool shared,
                      uint64_t *left)
{
    for (unsigned i = GANG__WORD_SHARES; i < gang__rebind_end(b); i++)
        if (is_shared(t, i) == shared && gang__word_less(b->layout, i, t->now[i], left[i]))
            return false;
    for (unsigned i = GANG__WORD_SHARES; i < gang__rebind_end(b); i++)
        left[i] -= is_shared(t, i) == shared ? t->now[i] : 0;
    return true;
}

static bool is_in_room(const struct gang__rebind *b, const struct gang__real_task *t)
{
    return b->rooms && t->shared && t->room[0] >= 0;
}

/* What each room leaves beside the tasks that keep what they have. */
static void open_rooms(const struct gang__rebind *b)
{
    if (!b->rooms)
        return;
    memcpy(b->rooms->left, b->rooms->base, b->rooms->count * sizeof(*b->rooms->left));
    for (size_t k = 0; k < b->count; k++) {
        const struct gang__real_task *t = &b->task[k];
        for (int n = 0; is_in_room(b, t) && t->outcome != GANG__REBOUND_MOVED && n < 2; n++)
            for (unsigned i = GANG__WORD_SHARES;
                 (n == 0 || t->room[1] != t->room[0]) && i < gang__rebind_end(b); i++) {
                uint64_t *left = &b->rooms->left[t->room[n]][i];
                *left = is_shared(t, i) ? gang__word_less(b->layout, i, *left, t->was[i]) : *left;
            }
    }
}

/* Take it in both its rooms. */
static bool take_in_rooms(const struct gang__rebind *b, const struct gang__real_task *t)
{
    if (!is_in_room(b, t))
        return true;
    return take_from(b, t, true, b->rooms->left[t->room[0]]) &&
           (t->room[1] == t->room[0] || take_from(b, t, true, b->rooms->left[t->room[1]]));
}

/* The first task that does not fit if all go that are to move; count: they all fit. */
static size_t first_misfit(const struct gang__rebind *b, const uint64_t *free)
{
    uint64_t left[GANG__MAX_WORDS];
    size_t k = 0;
    memcpy(left, free, sizeof(left));
    for (unsigned i = GANG__WORD_SHARES; i < gang__rebind_end(b); i++)
        left[i] += b->held[i];
    add_all(b, false, left);
    open_rooms(b);
    while (k < b->count &&
           (b->task[k].outcome != GANG__REBOUND_MOVED ||
            (take_from(b, &b->task[k], false, left) && take_in_rooms(b, &b->task[k]))))
        k++;
    return k;
}

/* Those that do not fit stay. One that stays frees what it was to use: then another one may go. */
static void choose(const struct gang__rebind *b, const uint64_t *free)
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
static gang_result exchange_with_holder(struct gang__rebind *b)
{
    uint64_t none[GANG__MAX_WORDS] = {0}, was[GANG__MAX_WORDS] = {0}, now[GANG__MAX_WORDS] = {0};
    choose(b, none);
    add_all(b, false, was);
    add_all(b, true, now);
    for (unsigned i = GANG__WORD_SHARES; i < gang__rebind_end(b); i++)
        b->held[i] = b->held[i] + was[i] - now[i];
    return GANG_OK;
}

/* One attempt. GANG_ENOFIT: another thread took something meanwhile, judge again. */
static gang_result exchange(struct gang__rebind *b)
{
    uint64_t free[GANG__MAX_WORDS], was[GANG__MAX_WORDS] = {0}, now[GANG__MAX_WORDS] = {0};
    uint64_t take[GANG__MAX_WORDS] = {0}, give[GANG__MAX_WORDS] = {0};
    gang__cell_read(&b->w->cluster->commit, b->node->slot, free, gang__word_count(b->layout));
    choose(b, free);
    add_all(b, false, was);
    add_all(b, true, now);
    for (unsigned i = GANG__WORD_SHARES; i < gang__rebind_end(b); i++) {
        uint64_t more = gang__word_less(b->layout, i, now[i], was[i]);
        take[i] = gang__word_less(b->layout, i, more, b->held[i]);
        give[i] = gang__word_less(b->layout, i, was[i], now[i]);
        b->held[i] -= more - take[i];
    }
    gang_result r = gang__words_exchange(b->w, b->node->slot, b->layout, take, give);
    for (unsigned i = GANG__WORD_SHARES; r != GANG_OK && i < gang__rebind_end(b); i++)
        b->held[i] += gang__word_less(b->layout, i, now[i], was[i]) - take[i];
    return r;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The entry that has `held`; NULL: there is none. */
static const uint64_t *entry_of_held(const struct gang__rebind *b)
{
    if (!b->sole)
        return b->hold ? gang__task_first(b->hold) : NULL;
    const uint64_t *entry = gang__entry_first(b->sole);
    while (entry && !(gang__task_is_holder(entry) && entry[0] == b->node->id))
        entry = gang__entry_next(b->sole, entry);
    return entry;
}

/* The entry gets these words of its node. The record has the memory. */
static void replace(const struct gang__rebind *b, struct gang__alloc *a, const uint64_t *task,
                    const uint64_t *words, uint64_t shared)
{
    uint64_t entry[GANG__TASK_HEAD + GANG__MAX_WORDS + GANG_MAX_KINDS];
    uint32_t at = (uint32_t)(task - a->data), before = gang__task_words(task);
    uint32_t size = gang__entry_of(task, b->layout, words, shared, entry);
    memmove(a->data + at + size, a->data + at + before, (a->used - at - before) * sizeof(*entry));
    memcpy(a->data + at, entry, size * sizeof(*entry));
    a->used += size - before;
    a->fits_epoch = 0;
}

static void record_all(const struct gang__rebind *b)
{
    for (size_t k = 0; k < b->count; k++) {
        struct gang__real_task *t = &b->task[k];
        if (t->outcome == GANG__REBOUND_MOVED)
            replace(b, t->record, gang__task_find(t->record, (uint32_t)t->task), t->now, t->shared);
        else if (t->outcome == GANG__REBOUND_TAKEN || t->outcome == GANG__REBOUND_ODD)
            gang__rebind_note_more(b, t);
    }
    const uint64_t *held = entry_of_held(b);
    if (held)
        replace(b, b->sole ? b->sole : b->hold, held, b->held, 0);
}

/* Memory for the largest entries that tasks which move may get, and for their release. */
static bool reserve(const struct gang__rebind *b)
{
    for (size_t k = 0; k < b->count; k++) {
        const struct gang__real_task *t = &b->task[k];
        if (!t->record || !t->first)
            continue;
        size_t moved = 0;
        for (size_t i = k; i < b->count; i++)
            moved += b->task[i].record == t->record && b->task[i].outcome == GANG__REBOUND_MOVED;
        moved += moved > 0 && t->record == b->sole; /* and its holder */
        size_t words = t->record->used + moved * gang__rebind_end(b);
        if (moved && (!gang__alloc_reserve(b->w, t->record, words) ||
                      gang__commit_reserve(&b->w->commit, words + GANG__MAX_WORDS) != GANG_OK))
            return false;
    }
    return true;
}

/* ---- the call -------------------------------------------------------------------------------- */

static void unlock_all(const struct gang__rebind *b)
{
    for (size_t k = 0; k < b->count; k++)
        if (b->task[k].record && b->task[k].first)
            gang__alloc_publish(b->task[k].record);
    if (b->hold)
        gang__alloc_publish(b->hold);
}

/* Of all tasks, those without a record by now have none. GANG_EBUSY: none is locked. */
static gang_result lock_all(struct gang__rebind *b, gang_alloc_id hold)
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
    t->shared = 0;
    t->more_gpus = 0;
    memset(t->more_cores, 0, sizeof(t->more_cores));
}

/* False: out of memory. */
static bool judge_all(struct gang__rebind *b)
{
    b->layout = b->node->type->layout;
    for (size_t k = 0; k < b->count; k++)
        gang__rebind_judge(b, &b->task[k]);
    for (size_t k = 0; b->sole && k < b->count; k++)
        if (b->task[k].outcome == GANG__REBOUND_MOVED && b->task[k].record != b->sole)
            b->task[k].outcome = GANG__REBOUND_TAKEN;
    const uint64_t *held = entry_of_held(b);
    if (held)
        (void)gang__entry_words(held, b->held);
    return reserve(b);
}

gang_result gang__tasks_rebind(gang_worker *w, gang_node_id node, struct gang__real_task *task,
                               size_t count, gang_alloc_id hold, const struct gang__rooms *rooms)
{
    struct gang__rebind b = {.w = w, .task = task, .count = count, .rooms = rooms};
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
