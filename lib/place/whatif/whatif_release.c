/* SPDX-License-Identifier: Apache-2.0 */
/* What if: releasing in a snapshot what an allocation holds, or some of its tasks, and retaking
 * it. */
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/record/record.h"
#include "place/state/records.h"
#include "place/whatif/timeshare.h"
#include "place/whatif/whatif.h"

/* The part of an allocation that is released or retaken. */
struct part {
    const int64_t *task; /* these numbers, ascending; NULL: all, holders too */
    size_t count;
    bool timeshared; /* its time-shared deltas; false: the other ones */
    const struct gang__alloc *a;
    uint64_t *kept; /* of an exclusive one: the nodes of its other tasks, ascending */
    size_t kept_count;
};

/* ---- one word -------------------------------------------------------------------------------- */

/* What a delta of a task changes in the snapshot. */
struct change {
    uint64_t *word;
    uint64_t capacity;
    enum gang__code code;
    bool head; /* the word has the node's state, too */
};

static struct change change_of(gang_snapshot *s, const struct gang__node *node, uint64_t delta,
                               bool release)
{
    unsigned w = gang__delta_word(delta);
    if (delta & GANG__DELTA_POOL) {
        uint32_t kind = w - gang__pool_word(GANG_KIND_SITE) + GANG_KIND_SITE;
        return (struct change){&gang__snapshot_words(s, GANG__POOL)[w],
                               kind < s->kinds ? s->pool[kind] : 0,
                               release ? GANG__OP_GIVE : GANG__OP_TAKE, false};
    }
    bool head = w == GANG__WORD_HEAD;
    enum gang__code of_head = release ? GANG__OP_GIVE : GANG__OP_HEAD;
    return (struct change){&gang__snapshot_words(s, node->slot)[w], node->type->capacity[w],
                           head ? of_head : gang__code_of(node->type->layout, w, release), head};
}

/* Do fields 0 and 2 of a share word hold no more than the capacity with the payload? The sum of two
 * fields has eleven bits: a guard bit above it survives the subtraction. */
static bool two_shares_hold(uint64_t now, uint64_t payload, uint64_t capacity)
{
    const uint64_t fields = GANG__SHARE_MASK | GANG__SHARE_MASK << 2 * GANG__SHARE_BITS;
    const uint64_t guards = (UINT64_C(1) | UINT64_C(1) << 2 * GANG__SHARE_BITS)
                            << (GANG__SHARE_BITS + 1);
    uint64_t sum = (now & fields) + (payload & fields);
    return ((((capacity & fields) | guards) - sum) & guards) == guards;
}

static bool shares_hold(uint64_t now, uint64_t payload, uint64_t capacity)
{
    return two_shares_hold(now, payload, capacity) &&
           two_shares_hold(now >> GANG__SHARE_BITS, payload >> GANG__SHARE_BITS,
                           capacity >> GANG__SHARE_BITS);
}

/* False: the word would exceed its capacity; then it is as before. */
static bool release_word(const struct change *c, uint64_t payload)
{
    uint64_t state = c->head ? *c->word & ~GANG__HEAD_CPU : 0, now = *c->word & ~state;
    if (c->code == GANG__OP_GIVE_BITS && ((now & payload) || (payload & ~c->capacity)))
        return false;
    if (c->code == GANG__OP_GIVE_SHARES && !shares_hold(now, payload, c->capacity))
        return false;
    if (c->code == GANG__OP_GIVE && now + payload > c->capacity)
        return false;
    *c->word = gang__op_apply(c->code, payload, now) | state;
    return true;
}

/* False: it is not free. */
static bool retake_word(const struct change *c, uint64_t payload)
{
    if (!gang__op_fits(c->code, payload, *c->word))
        return false;
    *c->word = gang__op_apply(c->code, payload, *c->word);
    return true;
}

/* ---- a part ---------------------------------------------------------------------------------- */

/* Called with each entry in turn. *next: index of the first named task that was not met yet. */
static bool is_named(const struct part *part, const uint64_t *task, size_t *next)
{
    if (!part->task)
        return true;
    bool named = !gang__task_is_holder(task) && *next < part->count &&
                 (uint64_t)part->task[*next] == gang__task_number(task);
    *next += named;
    return named;
}

/* Does the part include what an entry holds of its node? */
static bool includes_node(const struct part *part, const uint64_t *task, bool named)
{
    if (!part->task || !part->a->request->exclusive)
        return named;
    return !gang__keys_have(part->kept, part->kept_count, task[0]);
}

/* Release or retake the first `deltas` deltas of the part. *done: how many were changed. *at: see
 * gang__snapshot_release_where(). */
static gang_result change_deltas(gang_snapshot *s, const struct part *part, bool release,
                                 uint64_t deltas, uint64_t *done, gang_node_id *at)
{
    const struct gang__alloc *a = part->a;
    size_t next = 0;
    bool spread = a->request->exclusive;
    *done = 0;
    *at = GANG_ID_NONE;
    for (const uint64_t *task = gang__entry_first(a); task; task = gang__entry_next(a, task)) {
        bool named = is_named(part, task, &next), with_node = includes_node(part, task, named);
        const struct gang__node *node = gang__snapshot_node_of(s, task[0]);
        if ((named || with_node) && !node)
            return GANG_ENOENT;
        if (named) {
            spread = spread || (*at != GANG_ID_NONE && *at != task[0]);
            *at = task[0];
        }
        for (unsigned i = 0; i < gang__task_deltas(task); i++) {
            uint64_t delta = task[GANG__TASK_HEAD + i];
            if (!(delta & GANG__DELTA_POOL ? named : with_node) ||
                ((delta & GANG__DELTA_SHARED) != 0) != part->timeshared)
                continue;
            spread = spread || (delta & GANG__DELTA_POOL);
            if (*done == deltas)
                return GANG_OK;
            struct change c = change_of(s, node, delta, release);
            uint64_t payload = gang__payload(delta);
            if (!(release ? release_word(&c, payload) : retake_word(&c, payload)))
                return release ? GANG_ERANGE : GANG_ENOFIT;
            ++*done;
        }
    }
    if (spread)
        *at = GANG_ID_NONE;
    return GANG_OK;
}

/* What word `w` of a node is with the payload released; false: it would exceed the capacity. As
 * change_of() and release_word(). */
static inline bool released_word(struct gang__layout layout, unsigned w, uint64_t capacity,
                                 uint64_t payload, uint64_t *word)
{
    uint64_t now = *word;
    bool ok = now + payload <= capacity;
    if (w == GANG__WORD_HEAD) {
        uint64_t cpu = gang__head_cpu(now) + payload;
        *word = (now & ~GANG__HEAD_CPU) | cpu;
        return cpu <= capacity;
    }
    if (w >= GANG__WORD_SHARES && w < gang__first_core(layout))
        ok = shares_hold(now, payload, capacity);
    else if (w >= GANG__WORD_SHARES && w < gang__first_amount(layout))
        ok = !(now & payload) && !(payload & ~capacity);
    *word = gang__payload(now) + payload;
    return ok;
}

bool gang__snapshot_release_kept(gang_snapshot *s, const gang_worker *worker, gang_alloc_id id,
                                 gang_node_id *at)
{
    enum { MOST = 8 };
    const struct gang__alloc *a = gang__alloc_kept(worker, id);
    if (!a || a->tasks != 1)
        return false;
    const uint64_t *task = a->data;
    uint64_t before[MOST];
    unsigned i = 0, deltas = gang__task_deltas(task);
    if (deltas > MOST || a->request->exclusive || a->used != gang__task_words(task))
        return false;
    const struct gang__node *node = gang__snapshot_node_of(s, task[0]);
    if (!node)
        return false;
    uint64_t *word = gang__snapshot_words(s, node->slot);
    const struct gang__node_type *type = node->type;
    bool ok = true;
    for (; ok && i < deltas; i++) {
        uint64_t delta = task[GANG__TASK_HEAD + i];
        unsigned w = gang__delta_word(delta);
        if (delta & (GANG__DELTA_POOL | GANG__DELTA_SHARED)) {
            ok = false;
            break;
        }
        before[i] = word[w];
        ok = released_word(type->layout, w, type->capacity[w], gang__payload(delta), &word[w]);
    }
    *at = task[0];
    while (!ok && i-- > 0)
        word[gang__delta_word(task[GANG__TASK_HEAD + i])] = before[i];
    return ok;
}

/* Does the allocation have all named tasks? Lists the nodes that an exclusive one keeps. */
static gang_result look_up(struct part *part, const struct gang_mem *mem)
{
    const struct gang__alloc *a = part->a;
    size_t next = 0;
    for (size_t i = 1; i < part->count; i++)
        if (part->task[i] <= part->task[i - 1])
            return GANG_EINVAL;
    if (a->request->exclusive) {
        part->kept = gang__alloc(mem, (a->tasks + (size_t)1) * sizeof(*part->kept));
        if (!part->kept)
            return GANG_ENOMEM;
    }
    for (const uint64_t *task = gang__entry_first(a); task; task = gang__entry_next(a, task))
        if (!is_named(part, task, &next) && part->kept && !gang__task_is_holder(task))
            part->kept[part->kept_count++] = task[0];
    gang__sort_keys(part->kept, part->kept_count);
    return next == part->count ? GANG_OK : GANG_ENOENT;
}

static gang_result change_part(gang_snapshot *s, gang_alloc_id id, struct part part, bool release,
                               gang_node_id *at)
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
    part.a = a;
    if (part.task)
        r = look_up(&part, &s->c->mem);
    if (r == GANG_OK) {
        r = change_deltas(s, &part, release, UINT64_MAX, &done, at);
        if (r != GANG_OK) { /* undo the deltas that were changed; that cannot fail */
            (void)change_deltas(s, &part, !release, done, &undone, &ignored);
            *at = GANG_ID_NONE;
        }
    }
    gang__alloc_read_end(a);
    gang__release(&s->c->mem, part.kept);
    return r;
}

void gang__alloc_prefetch(gang_cluster *c, gang_alloc_id id)
{
    const struct gang__alloc *a = gang__alloc_at(c, (uint32_t)id - 1);
    if (a) {
        __builtin_prefetch(a, 1);
        __builtin_prefetch(a->small);
    }
}

void gang__snapshot_prefetch(const gang_snapshot *s, const gang_worker *w, gang_alloc_id id)
{
    const struct gang__alloc *a = gang__alloc_kept(w, id);
    uint32_t slot = a && a->used > 0 ? (uint32_t)a->data[0] : s->end;
    if (slot < s->end) {
        __builtin_prefetch(s->node[slot]);
        __builtin_prefetch(gang__snapshot_words(s, slot), 1);
    }
}

gang_result gang_snapshot_release(gang_snapshot *snapshot, gang_alloc_id id)
{
    gang_node_id at;
    return change_part(snapshot, id, (struct part){.task = NULL}, true, &at);
}

gang_result gang__snapshot_release_where(gang_snapshot *s, gang_alloc_id id, const int64_t *tasks,
                                         size_t count, gang_node_id *at)
{
    return change_part(s, id, (struct part){.task = tasks, .count = count}, true, at);
}

gang_result gang__snapshot_retake(gang_snapshot *s, gang_alloc_id id)
{
    gang_node_id at;
    return change_part(s, id, (struct part){.task = NULL}, false, &at);
}

gang_result gang__snapshot_retake_tasks(gang_snapshot *s, gang_alloc_id id, const int64_t *tasks,
                                        size_t count)
{
    gang_node_id at;
    if (!tasks || !count)
        return GANG_EINVAL;
    return change_part(s, id, (struct part){.task = tasks, .count = count}, false, &at);
}

gang_result gang__timeshare_snapshot(gang_snapshot *s, gang_alloc_id id)
{
    gang_node_id at;
    return change_part(s, id, (struct part){.timeshared = true}, false, &at);
}
