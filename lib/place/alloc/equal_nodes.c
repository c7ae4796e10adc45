/* SPDX-License-Identifier: Apache-2.0 */
#include "place/alloc/equal_nodes.h"

#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/alloc/equal_domain.h"
#include "place/fit/fit.h"
#include "place/search/search.h"

#ifdef GANG_TEST_HOOKS
bool gang__equal_nodes_off;
int64_t gang__equal_nodes_taken;
#endif

static void count_taken(void)
{
#ifdef GANG_TEST_HOOKS
    __atomic_fetch_add(&gang__equal_nodes_taken, 1, __ATOMIC_RELAXED);
#endif
}

static bool is_off(void)
{
#ifdef GANG_TEST_HOOKS
    return gang__equal_nodes_off;
#else
    return false;
#endif
}

/* ---- finding the nodes ----------------------------------------------------------------------- */

struct search {
    struct gang__plan *p;
    struct gang__node_pattern *pattern;
    uint64_t *slot;
    size_t count, want;
    bool off; /* a node that only a plan can judge */
};

/* A node that the search offers. True ends the search. The index is repaired for nodes that are
 * passed over without `met_claimed`, as in a plan. */
static bool take_node(void *user, uint32_t slot)
{
    struct search *s = user;
    struct gang__plan *p = s->p;
    const struct gang__node_pattern *m = s->pattern;
    struct gang__chunk *chunk = gang__chunk_of(&p->c->commit, slot);
    struct gang__cell *cell = &chunk->cell[slot % GANG__CHUNK];
    uint64_t differ = 0;
    if (gang__node_type_at(chunk, slot) != m->type) {
        s->off = true;
        return true;
    }
    gang__hook(GANG__STEP_READ);
    if (gang__load_seq(&cell->owner) != 0) {
        p->out.met_claimed = p->out.skipped = true;
        return false;
    }
    for (unsigned i = 0; i < m->words; i++)
        differ |= gang__payload(gang__load(&cell->word[i])) ^ m->row[i];
    if (differ) {
        s->off = m->per_node > 1 || m->op_count > 0;
        return s->off;
    }
    p->out.met_claimed = true;
    s->slot[s->count++] = slot;
    return s->count == s->want;
}

/* Fills s->slot in the order of the search. False: this way does not lead to all of them. */
static bool find_nodes(gang_worker *w, const gang_request *request, struct search *s)
{
    struct gang__plan *p = s->p;
    struct gang__scope all = gang__scope_all();
    struct gang__search_options options = {request->policy, INT64_MAX, INT64_MAX, 1, take_node, s};
    if (gang__plan_begin(p, w->cluster, request, false) != GANG_OK)
        return false;
    gang__plan_start(p, w);
    if (!gang__plan_suits_patterns(p) || p->epoch != s->pattern->epoch ||
        gang__tier_count(gang__tiers_of(p, &request->group[0])) != 1)
        return false;
    if (!request->plain)
        return gang__equal_domain_find(p, s->pattern, s->slot, s->want);
    options.policy = gang__policy_order(p, false);
    if (gang__policy_of(options.policy)->way == GANG__WAY_SCORE) /* since a mix was declared */
        return false;
    gang__search_with(p, 0, request->min, &all, &options);
    return s->count == s->want;
}

static void reverse(uint64_t *slot, size_t count)
{
    for (size_t i = 0, j = count; i + 1 < j; i++) {
        uint64_t last = slot[--j];
        slot[j] = slot[i];
        slot[i] = last;
    }
}

/* The search goes round once, from a place of the worker's own, and begins in the middle of each
 * index word. So the slots are two ascending runs, in which only those of one word are swapped. */
static void sort_slots(uint64_t *slot, size_t count)
{
    size_t moves = 0, most = GANG__FAN * count, round = 1;
    while (round < count && slot[round] + GANG__FAN > slot[round - 1])
        round++;
    if (round < count) {
        reverse(slot, round);
        reverse(slot + round, count - round);
        reverse(slot, count);
    }
    for (size_t i = 1; i < count && moves <= most; i++) {
        uint64_t k = slot[i];
        size_t at = i;
        for (; at && slot[at - 1] > k && moves <= most; at--, moves++)
            slot[at] = slot[at - 1];
        slot[at] = k;
    }
    if (moves > most) /* several classes of nodes */
        gang__sort_keys(slot, count);
}

static bool is_after(const struct gang__plan *p, uint32_t slot, uint32_t next)
{
    const struct gang__node *a = gang__plan_node(p, slot), *b = gang__plan_node(p, next);
    return a && b && gang__node_compare_domains(p->c, a, b) <= 0;
}

/* Is the order of the slots that of the ranks, by domains? */
static bool is_ranked(const struct gang__plan *p, const uint64_t *slot, size_t count)
{
    uint32_t before = gang__node_domain_met(p->c, (uint32_t)slot[0]);
    for (size_t i = 1; i < count; i++) {
        uint32_t domain = gang__node_domain_met(p->c, (uint32_t)slot[i]);
        if (domain != before && !is_after(p, (uint32_t)slot[i - 1], (uint32_t)slot[i]))
            return false;
        before = domain;
    }
    return true;
}

/* ---- taking them ----------------------------------------------------------------------------- */

static void describe_leases(struct gang__committer *w, const struct gang__node_pattern *m,
                            const uint64_t *slot, size_t count)
{
    gang__commit_lease(w, (uint32_t)slot[0], m->row, m->words);
    for (size_t i = 1; i < count; i++)
        gang__commit_lease_more(w, (uint32_t)slot[i]);
}

static void describe_ops(struct gang__committer *w, const struct gang__node_pattern *m,
                         const uint64_t *slot, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gang__cell_ops ops = gang__cell_ops_begin(w, (uint32_t)slot[i]);
        for (const struct gang__pattern_op *op = m->op; op < m->op + m->op_count; op++)
            gang__cell_ops_add(&ops, op->word, op->code, op->arg, m->row[op->word]);
        gang__cell_ops_end(&ops);
    }
}

static gang_result commit(gang_worker *w, const struct gang__node_pattern *m, const uint64_t *slot,
                          size_t count)
{
    gang__commit_begin(&w->commit);
    if (m->op_count == 0)
        describe_leases(&w->commit, m, slot, count);
    else
        describe_ops(&w->commit, m, slot, count);
    gang_result r = gang__commit_run_indexed(&w->commit, false);
    w->stats.conflicts += r != GANG_OK;
    return r;
}

static void write_record(const gang_worker *w, const struct gang__node_pattern *m,
                         const uint64_t *slot, size_t count, struct gang__alloc *a)
{
    uint64_t number = (uint64_t)a->request->group[0].first;
    uint64_t *task = a->data;
    for (size_t i = 0; i < count; i++) {
        uint64_t id = gang__node_id_met(w->cluster, (uint32_t)slot[i]);
        memcpy(task, m->entry, m->entry_words * sizeof(*task));
        for (uint32_t k = 0; k < m->per_node; k++) {
            task[0] = id;
            task[1] = (task[1] & ~(uint64_t)UINT32_MAX) | number++;
            task += gang__task_words(task);
        }
    }
    a->used = (uint32_t)(task - a->data);
    a->tasks = (uint32_t)(count * m->per_node);
    a->next_number = (uint32_t)number;
}

/* The place of a task, by its entry in the record. */
static struct gang_placement place_of(const struct gang__node_pattern *m, uint32_t k,
                                      const uint64_t *entry, gang_node_id node)
{
    struct gang_placement place = {.size = sizeof(place),
                                   .any_devices = m->gpus[k] == 0,
                                   .node = node,
                                   .gpus = m->gpus[k],
                                   .task = -1,
                                   .any_cores = 1};
    struct gang__layout layout = m->type->layout;
    unsigned first = gang__first_core(layout);
    for (unsigned i = 0; i < gang__task_deltas(entry); i++) {
        uint64_t delta = entry[GANG__TASK_HEAD + i];
        unsigned word = gang__delta_word(delta);
        if (word < first || word >= first + layout.core_words)
            continue;
        place.any_cores = 0;
        gang__cores_put_word(place.cores, (word - first) * GANG__CORES_PER_WORD,
                             gang__payload(delta));
    }
    return place;
}

static gang_result ask(const gang_worker *w, const struct gang__node_pattern *m,
                       const uint64_t *slot, size_t count, struct gang__places *out,
                       gang__alloc_may *may, void *user)
{
    out->count = 0;
    if (!gang__grow(&w->cluster->mem, (void **)&out->place, &out->cap, count * m->per_node,
                    sizeof(*out->place)))
        return GANG_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        gang_node_id node = gang__node_id_met(w->cluster, (uint32_t)slot[i]);
        const uint64_t *entry = m->entry;
        for (uint32_t k = 0; k < m->per_node; k++, entry += gang__task_words(entry))
            out->place[out->count++] = place_of(m, k, entry, node);
    }
    return may(out, user);
}

bool gang__equal_nodes_take(gang_worker *w, gang_request *request, struct gang__places *out,
                            gang__alloc_may *may, void *user, struct gang__alloc **a,
                            gang_result *r)
{
    struct gang__placer *placer = w->place;
    struct gang__node_pattern *m = gang__node_pattern_of(w, request);
    if (is_off())
        return false;
    if (m->rest) {
        m->rest--;
        return false;
    }
    enum { REST = 32 };
    size_t count = (size_t)request->min / m->per_node;
    if (request->min % m->per_node || !gang__order_reserve(w, (size_t)request->min) ||
        gang__commit_reserve(&w->commit, count * m->words) != GANG_OK)
        return false;
    struct search s = {.p = &placer->plan, .pattern = m, .slot = placer->order, .want = count};
    if (!find_nodes(w, request, &s)) {
        m->rest = REST;
        return false;
    }
    sort_slots(s.slot, count);
    if (!is_ranked(s.p, s.slot, count)) {
        m->rest = REST;
        return false;
    }
    if (gang__record_make(w, request, (size_t)request->min, count * m->entry_words, a) != GANG_OK)
        return false;
    *r = may ? ask(w, m, s.slot, count, out, may, user) : GANG_OK;
    bool answered = *r != GANG_OK;
    if (!answered)
        *r = commit(w, m, s.slot, count);
    if (*r == GANG_OK) {
        write_record(w, m, s.slot, count, *a);
        count_taken();
        return true;
    }
    gang__alloc_drop(w, *a);
    *a = NULL;
    return answered;
}
