/* SPDX-License-Identifier: Apache-2.0 */
/* What if: giving back in a snapshot what an allocation holds, or some of it, and taking it
 * again. */
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/record/record.h"
#include "place/state/records.h"
#include "place/whatif/timeshare.h"
#include "place/whatif/whatif.h"

/* The part of an allocation. */
struct part {
    const struct gang__alloc *a;
    const int64_t *task; /* these numbers, ascending; NULL: all, holders too */
    size_t count;
    uint64_t *stay; /* of an exclusive one: nodes with tasks that are not meant, ascending */
    size_t stays;
    bool lent; /* what is lent of it; else what is not */
};

/* ---- one word -------------------------------------------------------------------------------- */

/* The word that a delta of a task is of, what gives it back, and its capacity. */
static uint64_t *word_of(gang_snapshot *s, const struct gang__node *node, uint64_t delta,
                         enum gang__code *code, uint64_t *capacity)
{
    unsigned w = gang__delta_word(delta);
    *code = GANG__OP_GIVE;
    if (delta & GANG__DELTA_POOL) {
        uint32_t kind = w - gang__pool_word(GANG_KIND_SITE) + GANG_KIND_SITE;
        *capacity = kind < s->kinds ? s->pool[kind] : 0;
        return &gang__snapshot_words(s, GANG__POOL)[w];
    }
    if (w != GANG__WORD_HEAD)
        *code = gang__code_of(node->type->layout, w, true);
    *capacity = node->type->capacity[w];
    return &gang__snapshot_words(s, node->slot)[w];
}

/* Give back to one word, if it then does not exceed its capacity. */
static bool give(gang_snapshot *s, const struct gang__node *node, uint64_t delta)
{
    enum gang__code code;
    uint64_t capacity, payload = gang__payload(delta), state = 0;
    uint64_t *word = word_of(s, node, delta, &code, &capacity), now = *word;
    if (!(delta & GANG__DELTA_POOL) && gang__delta_word(delta) == GANG__WORD_HEAD) {
        state = now & ~GANG__HEAD_CPU;
        now &= GANG__HEAD_CPU;
    }
    if (code == GANG__OP_GIVE_BITS && ((now & payload) || (payload & ~capacity)))
        return false;
    /* The fields of a share word, or the count, each hold no more than the capacity. */
    if (code == GANG__OP_GIVE_SHARES)
        for (unsigned i = 0; i < GANG__SHARES_PER_WORD; i++)
            if (gang__share(now, i) + gang__share(payload, i) > gang__share(capacity, i))
                return false;
    if (code == GANG__OP_GIVE && now + payload > capacity)
        return false;
    *word = gang__op_apply(code, payload, now) | state;
    return true;
}

/* Take it again, if it is free. */
static bool take(gang_snapshot *s, const struct gang__node *node, uint64_t delta)
{
    enum gang__code code;
    uint64_t capacity, payload = gang__payload(delta);
    uint64_t *word = word_of(s, node, delta, &code, &capacity);
    bool pool = (delta & GANG__DELTA_POOL) != 0;
    unsigned w = gang__delta_word(delta);
    code = pool                   ? GANG__OP_TAKE
           : w == GANG__WORD_HEAD ? GANG__OP_HEAD
                                  : gang__code_of(node->type->layout, w, false);
    if (!gang__op_fits(code, payload, *word))
        return false;
    *word = gang__op_apply(code, payload, *word);
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Is an entry meant? *next: the first number that is not behind. Called with each entry in turn. */
static bool is_named(const struct part *part, const uint64_t *task, size_t *next)
{
    if (!part->task)
        return true;
    bool named = !gang__task_is_holder(task) && *next < part->count &&
                 (uint64_t)part->task[*next] == gang__task_number(task);
    *next += named;
    return named;
}

/* Does what an entry has of its node go back? */
static bool goes(const struct part *part, const uint64_t *task, bool named)
{
    if (!part->task || !part->a->q->exclusive)
        return named;
    return !gang__keys_have(part->stay, part->stays, task[0]);
}

/* The first `deltas` deltas are given back, or taken. *done: how many went through. *at: see
 * gang__snapshot_release_where(). */
static gang_result turn(gang_snapshot *s, const struct part *part, bool back, uint64_t deltas,
                        uint64_t *done, gang_node_id *at)
{
    const struct gang__alloc *a = part->a;
    size_t next = 0;
    bool spread = a->q->exclusive;
    *done = 0;
    *at = GANG_ID_NONE;
    for (const uint64_t *task = gang__entry_first(a); task; task = gang__entry_next(a, task)) {
        bool named = is_named(part, task, &next), whole = goes(part, task, named);
        const struct gang__node *node = gang__snapshot_node_of(s, task[0]);
        if ((named || whole) && !node)
            return GANG_ENOENT;
        if (named) {
            spread = spread || (*at != GANG_ID_NONE && *at != task[0]);
            *at = task[0];
        }
        for (unsigned i = 0; i < gang__task_deltas(task); i++) {
            uint64_t delta = task[GANG__TASK_HEAD + i];
            if (!(delta & GANG__DELTA_POOL ? named : whole) ||
                ((delta & GANG__DELTA_SHARED) != 0) != part->lent)
                continue;
            spread = spread || (delta & GANG__DELTA_POOL);
            if (*done == deltas)
                return GANG_OK;
            if (!(back ? give(s, node, delta) : take(s, node, delta)))
                return back ? GANG_ERANGE : GANG_ENOFIT;
            ++*done;
        }
    }
    if (spread)
        *at = GANG_ID_NONE;
    return GANG_OK;
}

/* Are all that are named there? Lists the nodes where an exclusive one stays. */
static gang_result look_up(struct part *part, const struct gang_mem *mem)
{
    const struct gang__alloc *a = part->a;
    size_t next = 0;
    for (size_t i = 1; i < part->count; i++)
        if (part->task[i] <= part->task[i - 1])
            return GANG_EINVAL;
    if (a->q->exclusive) {
        part->stay = gang__alloc(mem, (a->tasks + (size_t)1) * sizeof(*part->stay));
        if (!part->stay)
            return GANG_ENOMEM;
    }
    for (const uint64_t *task = gang__entry_first(a); task; task = gang__entry_next(a, task))
        if (!is_named(part, task, &next) && part->stay && !gang__task_is_holder(task))
            part->stay[part->stays++] = task[0];
    gang__sort_keys(part->stay, part->stays);
    return next == part->count ? GANG_OK : GANG_ENOENT;
}

static gang_result turn_part(gang_snapshot *s, gang_alloc_id id, const int64_t *task, size_t count,
                             bool back, bool lent, gang_node_id *at)
{
    struct gang__alloc *a;
    uint64_t done, undone;
    gang_node_id ignored;
    *at = GANG_ID_NONE;
    if (!s || s->end == 0)
        return GANG_EINVAL;
    gang_result r = gang__alloc_read(s->c, id, &a);
    if (r != GANG_OK)
        return r;
    struct part part = {a, task, count, NULL, 0, lent};
    if (task)
        r = look_up(&part, &s->c->mem);
    if (r == GANG_OK) {
        r = turn(s, &part, back, UINT64_MAX, &done, at);
        if (r != GANG_OK) { /* as far as it came, the other way: that always goes */
            (void)turn(s, &part, !back, done, &undone, &ignored);
            *at = GANG_ID_NONE;
        }
    }
    gang__alloc_read_end(a);
    gang__release(&s->c->mem, part.stay);
    return r;
}

void gang__alloc_expect(gang_cluster *c, gang_alloc_id id)
{
    const struct gang__alloc *a = gang__alloc_at(c, (uint32_t)id - 1);
    if (a) {
        __builtin_prefetch(a, 1);
        __builtin_prefetch(a->small);
    }
}

void gang__snapshot_expect(const gang_snapshot *s, gang_alloc_id id)
{
    struct gang__alloc *a;
    if (gang__alloc_read(s->c, id, &a) != GANG_OK)
        return;
    uint32_t slot = a->used > 0 ? (uint32_t)a->data[0] : s->end;
    gang__alloc_read_end(a);
    if (slot < s->end) {
        __builtin_prefetch(s->node[slot]);
        __builtin_prefetch(gang__snapshot_words(s, slot), 1);
    }
}

gang_result gang_snapshot_release(gang_snapshot *snapshot, gang_alloc_id id)
{
    gang_node_id at;
    return turn_part(snapshot, id, NULL, 0, true, false, &at);
}

gang_result gang__snapshot_release_tasks(gang_snapshot *s, gang_alloc_id id, const int64_t *tasks,
                                         size_t count)
{
    gang_node_id at;
    return tasks && count ? turn_part(s, id, tasks, count, true, false, &at) : GANG_EINVAL;
}

gang_result gang__snapshot_release_where(gang_snapshot *s, gang_alloc_id id, const int64_t *tasks,
                                         size_t count, gang_node_id *at)
{
    return turn_part(s, id, tasks, count, true, false, at);
}

gang_result gang__snapshot_retake(gang_snapshot *s, gang_alloc_id id)
{
    gang_node_id at;
    return turn_part(s, id, NULL, 0, false, false, &at);
}

gang_result gang__snapshot_retake_tasks(gang_snapshot *s, gang_alloc_id id, const int64_t *tasks,
                                        size_t count)
{
    gang_node_id at;
    return tasks && count ? turn_part(s, id, tasks, count, false, false, &at) : GANG_EINVAL;
}

gang_result gang__timeshare_snapshot(gang_snapshot *s, gang_alloc_id id)
{
    gang_node_id at;
    return turn_part(s, id, NULL, 0, false, true, &at);
}
