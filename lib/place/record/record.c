/* SPDX-License-Identifier: Apache-2.0 */
/* Commits a plan and records its tasks. All memory is allocated before the commit, because nothing
 * may fail after it. */
#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/record/holders.h"
#include "place/record/placer.h"
#include "place/record/record.h"
#include "place/record/task_order.h"
#include "place/state/records.h"

/* ---- from plan to commit --------------------------------------------------------------------- */

bool gang__order_reserve(gang_worker *w, size_t keys)
{
    struct gang__placer *p = w->place;
    return gang__grow(&w->cluster->mem, (void **)&p->order, &p->order_cap, keys, sizeof(*p->order));
}

/* Is the node copy part of the commit? A node with any planned task is, at least to check that it
 * is up; the pool is if the plan takes some of it. */
static bool is_touched(struct gang__plan *p, const struct gang__node_copy *v)
{
    size_t bytes = v->words * sizeof(uint64_t);
    return v->node ? v->used > 0 : memcmp(gang__words_was(p, v), gang__words_now(p, v), bytes) != 0;
}

/* The part of a word that a plan takes: the difference, for bits and for counts. */
static inline void take(struct gang__cell_ops *ops, unsigned i, enum gang__code code,
                        const uint64_t *was, const uint64_t *now)
{
    if (was[i] != now[i])
        gang__cell_ops_add(ops, i, code, was[i] - now[i], was[i]);
}

/* Does the plan take all that the node has, of which nothing is taken? */
static inline bool takes_all(const struct gang__plan *p, const struct gang__node_copy *v,
                             const uint64_t *was, const uint64_t *now)
{
    const uint64_t *all = v->type->capacity;
    uint64_t cpu = all[GANG__WORD_HEAD];
    if (now[GANG__WORD_HEAD] != gang__head(GANG__STATE_UP, 0) ||
        was[GANG__WORD_HEAD] != gang__head(GANG__STATE_UP, cpu) || p->mode.timeshare ||
        p->mode.adopting)
        return false;
    uint64_t differ = 0, any = cpu;
    for (unsigned i = 1; i < v->words; i++) {
        differ |= (was[i] ^ all[i]) | now[i];
        any |= all[i];
    }
    return !differ && any;
}

bool gang__plan_takes_all(struct gang__plan *p, const struct gang__node_copy *v)
{
    return v->node && takes_all(p, v, gang__words_was(p, v), gang__words_now(p, v));
}

static inline void add_node_copy(gang_worker *w, struct gang__plan *p,
                                 const struct gang__node_copy *v)
{
    const uint64_t *was = gang__words_was(p, v), *now = gang__words_now(p, v);
    if (v->node && takes_all(p, v, was, now) &&
        gang__commit_lease(&w->commit, v->slot, was, v->words))
        return;
    struct gang__cell_ops ops = gang__cell_ops_begin(&w->commit, v->slot);
    unsigned i = 1, words = v->words;
    if (v->node) {
        unsigned cores = gang__first_core(v->layout), amounts = cores + v->layout.core_words;
        uint64_t cpu = gang__head_cpu(was[0]) - gang__head_cpu(now[0]);
        bool share_cpu = (p->mode.timeshare & GANG__TIMESHARE_CPU) != 0;
        bool share_gpu = (p->mode.timeshare & GANG__TIMESHARE_GPU) != 0;
        uint64_t where = p->mode.adopting ? GANG__HEAD_IF_THERE : GANG__HEAD_IF_UP;
        gang__cell_ops_add(&ops, GANG__WORD_HEAD, GANG__OP_HEAD, (share_cpu ? 0 : cpu) | where,
                           was[0]);
        take(&ops, GANG__WORD_MEMORY, GANG__OP_TAKE, was, now);
        for (i = share_gpu ? cores : GANG__WORD_SHARES; i < cores; i++)
            take(&ops, i, GANG__OP_TAKE_SHARES, was, now);
        for (i = share_cpu ? amounts : cores; i < amounts; i++)
            take(&ops, i, GANG__OP_TAKE_BITS, was, now);
    }
    for (; i < words; i++)
        take(&ops, i, GANG__OP_TAKE, was, now);
    gang__cell_ops_end(&ops);
}

/* Describes the commit of a plan for several nodes. False: out of memory. */
static bool describe_many(gang_worker *w, struct gang__plan *p)
{
    struct gang__placer *placer = w->place;
    size_t touched = 0, ops = 0;
    if (!gang__order_reserve(w, p->nodes.count))
        return false;
    for (size_t i = 0; i < p->nodes.count; i++) {
        if (!is_touched(p, &p->nodes.copy[i]))
            continue;
        placer->order[touched++] = (uint64_t)p->nodes.copy[i].slot << 32 | i;
        ops += p->nodes.copy[i].words;
    }
    if (gang__commit_reserve(&w->commit, ops) != GANG_OK)
        return false;
    gang__sort_keys(placer->order, touched);
    gang__commit_begin(&w->commit);
    for (size_t i = 0; i < touched; i++)
        add_node_copy(w, p, &p->nodes.copy[(uint32_t)placer->order[i]]);
    return true;
}

/* The same for any plan. Nothing is to be sorted for one node. */
static inline bool describe(gang_worker *w, struct gang__plan *p)
{
    const struct gang__node_copy *only = p->nodes.copy;
    if (p->nodes.count != 1)
        return describe_many(w, p);
    if (gang__commit_reserve(&w->commit, only->words) != GANG_OK)
        return false;
    gang__commit_begin(&w->commit);
    if (is_touched(p, only))
        add_node_copy(w, p, only);
    return true;
}

static inline gang_result commit(gang_worker *w, struct gang__plan *p)
{
    if (!describe(w, p))
        return GANG_ENOMEM;
    gang_result r = gang__commit_run_indexed(&w->commit, false);
    if (r != GANG_OK)
        w->stats.conflicts++;
    return r;
}

/* ---- what a task holds, as a record ---------------------------------------------------------- */

static void add_delta(uint64_t *out, unsigned *n, unsigned word, uint64_t payload, uint64_t flags)
{
    if (payload)
        out[(*n)++] = payload | (uint64_t)word << GANG__PAYLOAD_BITS | flags;
}

/* The deltas of a planned task. Returns how many. */
static inline unsigned deltas_of(const struct gang__plan *p, const struct gang__task_plan *planned,
                                 uint64_t *out)
{
    const struct gang__group *g = &p->request->group[planned->group];
    const struct gang__node_copy *v = &p->nodes.copy[planned->copy];
    unsigned n = 0, word = GANG__WORD_SHARES;
    uint64_t cpu = p->mode.timeshare & GANG__TIMESHARE_CPU ? GANG__DELTA_SHARED : 0;
    uint64_t gpu = p->mode.timeshare & GANG__TIMESHARE_GPU ? GANG__DELTA_SHARED : 0;
    add_delta(out, &n, GANG__WORD_HEAD, g->cpu, cpu);
    add_delta(out, &n, GANG__WORD_MEMORY, g->pages, 0);
    for (uint64_t left = planned->gpus; left; left >>= GANG__SHARES_PER_WORD, word++)
        add_delta(out, &n, word, gang__shares_of((uint32_t)left & 15, planned->share), gpu);
    for (unsigned i = 0; planned->cores && i < v->layout.core_words; i++)
        add_delta(out, &n, gang__first_core(v->layout) + i, p->word[planned->core_at + i], cpu);
    for (size_t i = 0; i < g->node_need_count; i++)
        add_delta(out, &n, v->type->kind_word[g->node_needs[i].kind],
                  (uint64_t)g->node_needs[i].amount, 0);
    for (size_t i = 0; i < g->pool_need_count; i++)
        add_delta(out, &n, gang__pool_word(g->pool_needs[i].kind),
                  (uint64_t)g->pool_needs[i].amount, GANG__DELTA_POOL);
    return n;
}

/* How many deltas_of() returns. */
static unsigned delta_count(const struct gang__plan *p, const struct gang__task_plan *planned)
{
    const struct gang__group *g = &p->request->group[planned->group];
    unsigned words = p->nodes.copy[planned->copy].layout.core_words;
    unsigned n = (unsigned)(g->node_need_count + g->pool_need_count);
    n += g->cpu != 0;
    n += g->pages != 0;
    for (uint64_t left = planned->gpus; left; left >>= GANG__SHARES_PER_WORD)
        n += (left & 15) != 0;
    for (unsigned i = 0; planned->cores && i < words; i++)
        n += p->word[planned->core_at + i] != 0;
    return n;
}

/* Words of data for what is planned, at most. If these are more than a record has without a buffer,
 * but the tasks are few, the exact number. */
static size_t data_size(const struct gang__plan *p)
{
    enum { FEW = 4 };
    size_t words = p->request->exclusive ? gang__exclusive_size(p) : 0, most = words;
    for (size_t i = 0; i < p->tasks.count; i++) {
        const struct gang__task_plan *planned = &p->tasks.plan[i];
        most += GANG__TASK_HEAD + p->nodes.copy[planned->copy].words +
                p->request->group[planned->group].pool_need_count;
    }
    if (p->tasks.count > FEW || most <= (size_t)1 << GANG__SMALL_CLASS)
        return most;
    for (size_t i = 0; i < p->tasks.count; i++)
        words += GANG__TASK_HEAD + delta_count(p, &p->tasks.plan[i]);
    return words;
}

/* Capacity to count the planned tasks (request/task_count.h). */
static bool task_counts_reserve(const struct gang__plan *p)
{
    for (size_t i = 0; p->request->policy == GANG_POLICY_GPU_CLUSTERING && i < p->tasks.count; i++)
        if (!gang__task_count_reserve(p->c, p->nodes.copy[p->tasks.plan[i].copy].slot))
            return false;
    return true;
}

static void task_counts_add(const struct gang__plan *p)
{
    for (size_t i = 0; i < p->tasks.count; i++) {
        const struct gang__task_plan *planned = &p->tasks.plan[i];
        gang__task_count_add(p->c, p->nodes.copy[planned->copy].slot,
                             &p->request->group[planned->group], false);
    }
}

uint32_t gang__record_put_task(const struct gang__plan *p, const struct gang__task_plan *planned,
                               uint64_t *task)
{
    unsigned n = deltas_of(p, planned, task + GANG__TASK_HEAD);
    task[0] = gang__node_id_met(p->c, p->nodes.copy[planned->copy].slot);
    task[1] = gang__task_word_of(planned->number, n, planned->group);
    return GANG__TASK_HEAD + n;
}

/* Some planned task comes before one that the record has. */
static bool comes_between(const struct gang__alloc *a, const struct gang__plan *p)
{
    return p->tasks.count > 0 && p->tasks.plan[0].number < a->next_number;
}

/* Inserts `size` words of entries, written to the end of the buffer, at `at`. */
static void insert_words(struct gang__alloc *a, uint32_t at, const uint64_t *from, uint32_t size)
{
    memmove(a->data + at + size, a->data + at, (a->used - at) * sizeof(*a->data));
    memcpy(a->data + at, from, size * sizeof(*a->data));
    a->used += size;
}

/* Puts the entries of planned tasks between those of the record. Runs that come to one place are
 * put there together. */
static void merge(struct gang__alloc *a, const struct gang__plan *p)
{
    uint64_t *scratch = a->data + (UINT64_C(1) << a->cap_log) - data_size(p);
    const uint64_t *held = gang__task_first(a);
    size_t i = 0;
    while (i < p->tasks.count) {
        uint32_t size = 0;
        while (held && gang__task_number(held) < p->tasks.plan[i].number)
            held = gang__task_next(a, held);
        uint32_t at = held ? (uint32_t)(held - a->data) : a->used;
        do
            size += gang__record_put_task(p, &p->tasks.plan[i++], scratch + size);
        while (i < p->tasks.count && (!held || p->tasks.plan[i].number < gang__task_number(held)));
        insert_words(a, at, scratch, size);
        held = gang__task_at(a, gang__entry_at(a, a->data + at + size));
    }
}

static void append(struct gang__alloc *a, const struct gang__plan *p)
{
    bool between = comes_between(a, p);
    if (p->request->exclusive)
        gang__exclusive_drop(a, p);
    if (p->request->policy == GANG_POLICY_GPU_CLUSTERING)
        task_counts_add(p);
    if (between)
        merge(a, p);
    for (size_t i = 0; !between && i < p->tasks.count; i++)
        a->used += gang__record_put_task(p, &p->tasks.plan[i], a->data + a->used);
    if (p->tasks.count > 0 && p->tasks.plan[p->tasks.count - 1].number >= a->next_number)
        a->next_number = p->tasks.plan[p->tasks.count - 1].number + 1;
    a->tasks += (uint32_t)p->tasks.count;
    if (p->request->exclusive)
        gang__exclusive_append(a, p);
}

/* Entries of a record for what is planned, at most. */
static size_t entries_planned(const struct gang__plan *p)
{
    return p->request->exclusive ? 2 * p->tasks.count : p->tasks.count;
}

/* Memory to release `tasks` tasks of `words` words of data with this worker. */
static bool release_reserve(gang_worker *w, size_t tasks, size_t words)
{
    return gang__order_reserve(w, tasks) &&
           gang__commit_reserve(&w->commit, words + GANG__MAX_WORDS) == GANG_OK;
}

gang_result gang__record_make(gang_worker *w, gang_request *request, size_t entries, size_t words,
                              struct gang__alloc **a)
{
    if (!release_reserve(w, entries, words))
        return GANG_ENOMEM;
    gang_result r = gang__alloc_new(w, a);
    if (r != GANG_OK)
        return r;
    if (!gang__alloc_reserve(w, *a, words)) {
        gang__alloc_drop(w, *a);
        *a = NULL; /* callers drop what they have */
        return GANG_ENOMEM;
    }
    gang__request_hold(w, request);
    (*a)->request = request;
    return GANG_OK;
}

/* A BUSY record with memory for the planned tasks, and for their release. */
static gang_result record_new(gang_worker *w, gang_request *request, struct gang__alloc **a)
{
    struct gang__plan *p = gang__plan_of(w);
    if (!gang__plan_complete(p) || !gang__number_tasks(p, NULL) || !task_counts_reserve(p))
        return GANG_ENOMEM;
    return gang__record_make(w, request, entries_planned(p), data_size(p), a);
}

bool gang__record_reserve(gang_worker *w, struct gang__alloc *a, size_t entries, size_t words)
{
    return release_reserve(w, gang__alloc_entries(a) + entries, a->used + words) &&
           gang__alloc_reserve(w, a, a->used + words);
}

/* Memory in a record for the planned tasks, and for their release. */
static gang_result record_extend(gang_worker *w, struct gang__alloc *a)
{
    struct gang__plan *p = gang__plan_of(w);
    if (!gang__plan_complete(p) || !gang__number_tasks(p, a))
        return GANG_ENOMEM;
    size_t more = data_size(p) * (comes_between(a, p) ? 2 : 1); /* merge() needs room */
    if (!task_counts_reserve(p) || !gang__record_reserve(w, a, entries_planned(p), more))
        return GANG_ENOMEM;
    return GANG_OK;
}

/* ---- commit and record ----------------------------------------------------------------------- */

/* GANG_ENOFIT: a cell changed meanwhile. */
static gang_result commit_plan(gang_worker *w, struct gang__plan *p)
{
    if (!p->request->has_affinity)
        return commit(w, p);
    gang_result r = gang__affinity_register(w, p);
    if (r != GANG_OK)
        return r;
    r = commit(w, p);
    if (r == GANG_OK)
        gang__affinity_confirm(w, p);
    else
        gang__affinity_withdraw(w, p);
    return r;
}

gang_result gang__plan_commit_record(gang_worker *w, gang_request *request, struct gang__alloc **a,
                                     gang__plan_may *may, void *user)
{
    struct gang__plan *p = gang__plan_of(w);
    bool fresh = *a == NULL;
    gang_result r = fresh ? record_new(w, request, a) : record_extend(w, *a);
    if (r == GANG_OK && may)
        r = may(p, user);
    if (r == GANG_OK)
        r = commit_plan(w, p);
    if (r == GANG_OK) {
        append(*a, p);
    } else if (fresh && *a) {
        gang__alloc_drop(w, *a);
        *a = NULL;
    }
    return r;
}
