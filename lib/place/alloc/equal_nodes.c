/* SPDX-License-Identifier: Apache-2.0 */
#include "place/alloc/equal_nodes.h"

#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/alloc/equal_domain.h"
#include "place/alloc/equal_holders.h"
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

/* The nodes that were found are kept as runs {first slot of an index word | its nodes}, in the
 * order of the search, and then as slots in the same memory. */
struct search {
    struct gang__plan *p;
    const struct gang__node_pattern *pattern;
    uint64_t *slot; /* has space for `want` */
    size_t runs, count, want;
    bool off; /* a node that only a plan can judge */
};

static inline uint64_t run_of(uint32_t base, uint32_t bits)
{
    return (uint64_t)base << 32 | bits;
}
static inline uint32_t run_base(uint64_t run)
{
    return (uint32_t)(run >> 32);
}

static void keep(struct search *s, uint32_t base, uint32_t bits)
{
    if (s->runs && run_base(s->slot[s->runs - 1]) == base)
        s->slot[s->runs - 1] |= bits;
    else if (bits)
        s->slot[s->runs++] = run_of(base, bits);
}

/* Nodes that the search offers, with the bits `bits` in the index word of `base`. The index is
 * repaired for nodes that are passed over and are not claimed, as in a plan. */
static uint32_t take_word(void *user, uint32_t base, uint32_t bits, bool *ends)
{
    struct search *s = user;
    struct gang__chunk *chunk = gang__chunk_of(&s->p->c->commit, base);
    const struct gang__cell *cell = &chunk->cell[base % GANG__CHUNK];
    struct gang__slot *slot = &chunk->slot[base % GANG__CHUNK];
    const struct gang__node_pattern *m = s->pattern;
    const struct gang__node_type *type = m->type;
    const unsigned words = m->words;
    const bool skips_claimed = s->p->request->plain; /* as its plan does */
    uint32_t wrong = 0, taken = 0;
    size_t left = s->want - s->count;
    for (; bits && left; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctz(bits);
        uint32_t bit = bits & (~bits + 1);
        if (gang__load(&slot[i].type) != type) {
            s->off = true;
            break;
        }
        gang__hook(GANG__STEP_READ);
        uint64_t owner = gang__load_seq(&cell[i].owner);
        if (owner && skips_claimed && !gang__claim_is_void(&s->p->c->commit, owner)) {
            s->p->out.skipped = true;
        } else if (!gang__cell_differs(&cell[i], m->row, words)) {
            taken |= bit;
            left--;
        } else if (!m->whole_nodes) {
            s->off = true;
            break;
        } else {
            wrong |= bit;
        }
    }
    keep(s, base, taken);
    s->count = s->want - left;
    *ends = s->off || !left;
    return wrong;
}

/* The same for one node. True ends the search. */
static bool take_node(void *user, uint32_t slot)
{
    struct search *s = user;
    bool ends;
    uint32_t bit = UINT32_C(1) << slot % GANG__FAN;
    s->p->out.met_claimed = take_word(s, slot - slot % GANG__FAN, bit, &ends) == 0;
    return ends;
}

static void reverse(uint64_t *run, size_t count)
{
    for (size_t i = 0, j = count; i + 1 < j; i++) {
        uint64_t last = run[--j];
        run[j] = run[i];
        run[i] = last;
    }
}

/* Makes slots of the runs, ascending. The search goes round once, from a place of the worker's own.
 * So the runs are two ascending rows. They are moved to the end of the memory, where no slot is
 * written before its run was read: each has one node at least. False: the search met a node twice,
 * since a stale bit shows it in another row, too. */
static bool sort_slots(struct search *s)
{
    uint64_t *slot = s->slot, *run = s->slot + s->want - s->runs, *out = s->slot;
    const uint64_t *end = s->slot + s->want;
    size_t round = 1;
    uint64_t before = 0, falls = 0;
    while (round < s->runs && slot[round] >= slot[round - 1])
        round++;
    if (round < s->runs) {
        reverse(slot, round);
        reverse(slot + round, s->runs - round);
        reverse(slot, s->runs);
    }
    if (run > slot)
        memmove(run, slot, s->runs * sizeof(*run));
    while (run < end) {
        uint64_t base = run_base(*run);
        for (uint32_t bits = (uint32_t)*run++; bits; bits &= bits - 1) {
            uint64_t next = base + (uint64_t)__builtin_ctz(bits);
            falls |= next <= before;
            before = *out++ = next;
        }
    }
    if (out != end)
        return false;
    if (falls) /* several classes of nodes */
        gang__sort_keys(slot, s->want);
    for (size_t i = 1; falls && i < s->want; i++)
        if (slot[i] == slot[i - 1])
            return false;
    return true;
}

/* Fills s->slot, ascending. False: this way does not lead to all of them. */
static bool find_nodes(gang_worker *w, const gang_request *request, struct search *s)
{
    struct gang__plan *p = s->p;
    struct gang__search_options options = {request->policy, INT64_MAX, INT64_MAX, 1, take_node, s};
    if (gang__plan_begin(p, w->cluster, request, false) != GANG_OK)
        return false;
    gang__plan_start(p, w);
    if (!gang__plan_suits_patterns(p) || p->epoch != s->pattern->epoch ||
        gang__tier_count(gang__tiers_of(p, &request->group[0])) != 1)
        return false;
    if (!request->searched)
        return gang__equal_domain_find(p, s->pattern, s->slot, s->want);
    options.policy = gang__policy_order(p, false);
    if (gang__policy_of(options.policy)->way == GANG__WAY_SCORE) /* since a mix was declared */
        return false;
    gang__search_words(p, 0, request->min, &options, take_word);
    return s->count == s->want && sort_slots(s);
}

static bool is_after(const struct gang__plan *p, uint32_t slot, uint32_t next)
{
    const struct gang__node *a = gang__plan_node(p, slot), *b = gang__plan_node(p, next);
    return a && b && gang__node_compare_domains(p->c, a, b) <= 0;
}

/* Is the order of the slots that of the ranks, by domains? */
static bool is_ranked(const struct gang__plan *p, const uint64_t *slot, size_t count)
{
    struct gang__chunk_memo last = {UINT32_MAX, NULL};
    uint32_t before = gang__node_domain_met(p->c, (uint32_t)slot[0]);
    for (size_t i = 1; i < count; i++) {
        uint32_t at = (uint32_t)slot[i];
        struct gang__chunk *chunk = gang__chunk_like(&p->c->commit, at, &last);
        uint32_t domain = gang__load(&gang__slot_at(chunk, at)->domain);
        if (domain != before && !is_after(p, (uint32_t)slot[i - 1], at))
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
    gang__commit_lease_more(w, slot + 1, count - 1);
}

static void describe_ops(struct gang__committer *w, const struct gang__node_pattern *m,
                         const uint64_t *slot, size_t count)
{
    struct gang__alike what = {m->words, m->row, m->op_count, m->op};
    gang__commit_alike(w, &what, slot, count);
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

/* Copies the entries of a node so often that each node has them. Few long copies take less time
 * than many short ones. */
static void copy_entries(uint64_t *data, const struct gang__node_pattern *m, size_t count)
{
    enum { MOST = 16 }; /* nodes a copy, so that what is copied stays in the nearest cache */
    size_t words = m->entry_words;
    memcpy(data, m->entry, words * sizeof(*data));
    for (size_t done = 1, more; done < count; done += more) {
        more = done < MOST ? done : MOST;
        more = more < count - done ? more : count - done;
        memcpy(data + done * words, data, more * words * sizeof(*data));
    }
}

static void write_record(const gang_worker *w, const struct gang__node_pattern *m,
                         const uint64_t *slot, size_t count, struct gang__alloc *a)
{
    uint64_t number = (uint64_t)a->request->group[0].first;
    uint64_t *task = a->data;
    uint32_t size[GANG__PATTERN_TASKS];
    struct gang__chunk_memo last = {UINT32_MAX, NULL};
    const uint64_t *entry = m->entry;
    const uint32_t each = m->per_node;
    for (uint32_t k = 0; k < each; k++, entry += size[k - 1])
        size[k] = gang__task_words(entry);
    copy_entries(task, m, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)slot[i];
        struct gang__chunk *chunk = gang__chunk_like(&w->cluster->commit, at, &last);
        uint64_t id = (uint64_t)gang__load(&gang__slot_at(chunk, at)->generation) << 32 | at;
        for (uint32_t k = 0; k < each; k++) {
            task[0] = id;
            task[1] |= number++; /* it was 0 */
            task += size[k];
        }
    }
    a->used = (uint32_t)(task - a->data);
    a->tasks = (uint32_t)(count * each);
    a->next_number = (uint32_t)number;
    gang__equal_holders_write(w, m, slot, count, a);
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
    if (!is_ranked(s.p, s.slot, count)) {
        m->rest = REST;
        return false;
    }
    size_t words = m->entry_words + m->holder_words;
    size_t entries = (size_t)request->min + (m->holder_words ? count : 0);
    if (gang__record_make(w, request, entries, count * words, a) != GANG_OK)
        return false;
    *r = may && out ? ask(w, m, s.slot, count, out, may, user) : GANG_OK;
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
