/* SPDX-License-Identifier: Apache-2.0 */
#include "place/alloc/equal_find.h"

#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/alloc/equal_domain.h"
#include "place/alloc/equal_nodes.h"
#include "place/fit/fit.h"
#include "place/search/search.h"

/* ---- runs of nodes --------------------------------------------------------------------------- */

/* The nodes that were found are kept as runs {first slot of an index word | its nodes}, in the
 * order of the search, and then as slots in the same memory. */
struct runs {
    uint64_t *run; /* has space for the nodes */
    size_t count;
};

static inline uint64_t run_of(uint32_t base, uint32_t bits)
{
    return (uint64_t)base << 32 | bits;
}
static inline uint32_t run_base(uint64_t run)
{
    return (uint32_t)(run >> 32);
}

static void keep(struct runs *r, uint32_t base, uint32_t bits)
{
    if (r->count && run_base(r->run[r->count - 1]) == base)
        r->run[r->count - 1] |= bits;
    else if (bits)
        r->run[r->count++] = run_of(base, bits);
}

static void reverse(uint64_t *run, size_t count)
{
    for (size_t i = 0, j = count; i + 1 < j; i++) {
        uint64_t last = run[--j];
        run[j] = run[i];
        run[i] = last;
    }
}

/* Makes `want` slots of the runs, ascending. The search goes round once, from a place of the
 * worker's own. So the runs are two ascending rows. They are moved to the end of the memory, where
 * no slot is written before its run was read: each has one node at least. False: the search met a
 * node twice, since a stale bit shows it in another row, too. */
static inline bool sort_slots(const struct runs *r, size_t want)
{
    uint64_t *slot = r->run, *run = slot + want - r->count, *out = slot;
    const uint64_t *end = slot + want;
    size_t round = 1;
    uint64_t before = 0, falls = 0;
    while (round < r->count && slot[round] >= slot[round - 1])
        round++;
    if (round < r->count) {
        reverse(slot, round);
        reverse(slot + round, r->count - round);
        reverse(slot, r->count);
    }
    if (run > slot)
        memmove(run, slot, r->count * sizeof(*run));
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
        gang__sort_keys(slot, want);
    for (size_t i = 1; falls && i < want; i++)
        if (slot[i] == slot[i - 1])
            return false;
    return true;
}

/* ---- the search ------------------------------------------------------------------------------ */

struct search {
    struct gang__plan *p;
    const struct gang__node_pattern *pattern;
    gang__offer_word *take; /* the nodes of an index word: take_word() or trust_word() */
    struct runs all;
    size_t count, want; /* nodes */
    bool skips_claimed;
    bool off; /* a node that only a plan can judge */
    /* The same nodes group by group; of one group: none. */
    struct runs of_group;
    uint32_t group; /* that gets the next nodes; */
    size_t left;    /* how many it still needs */
};

static size_t nodes_of(const struct search *s, uint32_t group)
{
    return (size_t)s->p->request->group[group].min / s->pattern->per_node;
}

/* Goes on to the next group that needs nodes, if there is one. */
static void next_group(struct search *s)
{
    while (s->left == 0 && s->group + 1 < s->p->request->group_count)
        s->left = nodes_of(s, ++s->group);
}

/* Makes slots of the runs of a group that has all its nodes. */
static void end_group(struct search *s)
{
    size_t nodes = nodes_of(s, s->group);
    s->off = !sort_slots(&s->of_group, nodes) || s->off;
    s->of_group = (struct runs){s->of_group.run + nodes, 0};
    next_group(s);
}

/* Adds nodes of an index word, in rising order, to the groups that come next. */
static void keep_of_groups(struct search *s, uint32_t base, uint32_t bits)
{
    while (bits && s->left) {
        uint32_t rest = bits;
        for (; rest && s->left; s->left--)
            rest &= rest - 1;
        keep(&s->of_group, base, bits & ~rest);
        bits = rest;
        if (s->left == 0)
            end_group(s);
    }
}

/* Adds nodes of an index word; `left` are still wanted. Does that end the search? */
static bool keep_taken(struct search *s, uint32_t base, uint32_t taken, size_t left)
{
    keep(&s->all, base, taken);
    keep_of_groups(s, base, taken);
    s->count = s->want - left;
    return s->off || !left;
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
        if (owner && s->skips_claimed && !gang__claim_is_void(&s->p->c->commit, owner)) {
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
    *ends = keep_taken(s, base, taken, left);
    return wrong;
}

/* The same by the index alone: all are taken that are of the type. No bit of the index is wrong. */
static uint32_t trust_word(void *user, uint32_t base, uint32_t bits, bool *ends)
{
    struct search *s = user;
    const struct gang__slot *slot = gang__slot_at(gang__chunk_of(&s->p->c->commit, base), base);
    const struct gang__node_type *type = s->pattern->type;
    uint32_t taken = 0;
    size_t left = s->want - s->count;
    for (; bits && left; bits &= bits - 1, left--) {
        if (gang__load(&slot[__builtin_ctz(bits)].type) != type) {
            s->off = true;
            break;
        }
        taken |= bits & (~bits + 1);
    }
    *ends = keep_taken(s, base, taken, left);
    return 0;
}

/* One node, by either way. True ends the search. */
static bool take_node(void *user, uint32_t slot)
{
    struct search *s = user;
    bool ends;
    uint32_t bit = UINT32_C(1) << slot % GANG__FAN;
    s->p->out.met_claimed = s->take(s, slot - slot % GANG__FAN, bit, &ends) == 0; /* no repair */
    return ends;
}

/* Finds nodes anywhere. */
static bool find_anywhere(struct search *s)
{
    struct gang__plan *p = s->p;
    struct gang__search_options options = {
        gang__policy_order(p, false), INT64_MAX, INT64_MAX, 1, take_node, s};
    if (gang__policy_of(options.policy)->way == GANG__WAY_SCORE) /* since a mix was declared */
        return false;
    gang__search_words(p, 0, (int64_t)s->want * s->pattern->per_node, &options, s->take);
    return s->count == s->want && !s->off && sort_slots(&s->all, s->want);
}

/* ---- the order ------------------------------------------------------------------------------- */

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

/* The same of each group. */
static bool are_ranked(const struct gang__plan *p, const struct gang__node_pattern *m,
                       const struct gang__equal_slots *n)
{
    const uint64_t *slot = n->rank;
    bool ranked = true;
    for (uint32_t i = 0; i < p->request->group_count && ranked; i++) {
        size_t count = gang__equal_slots_of(n, m, p->request, i);
        ranked = count == 0 || is_ranked(p, slot, count);
        slot += count;
    }
    return ranked;
}

bool gang__equal_find(gang_worker *w, const gang_request *request, struct gang__equal_way way,
                      struct gang__equal_slots *n)
{
    struct gang__placer *placer = w->place;
    struct gang__plan *p = &placer->plan;
    const struct gang__node_pattern *m = gang__node_pattern_of(w, request);
    const bool groups = request->group_count > 1;
    if ((groups && !gang__order_reserve(w, 2 * n->count)) ||
        gang__plan_begin(p, w->cluster, request, false) != GANG_OK)
        return false;
    gang__plan_start(p, w);
    if (!gang__plan_suits_patterns(p) || p->epoch != m->epoch ||
        gang__tier_count(gang__tiers_of(p, &request->group[0])) != 1)
        return false;
    n->slot = n->rank = placer->order;
    struct search s = {.p = p, .pattern = m, .want = n->count};
    s.take = way.by_index ? trust_word : take_word;
    s.all.run = n->slot;
    s.skips_claimed = request->plain && !way.grows; /* as the plan does */
    if (groups && !m->in_domain) {
        n->rank = n->slot + n->count;
        s.of_group.run = n->rank;
        s.group = UINT32_MAX;
        next_group(&s);
    }
    return (m->in_domain ? gang__equal_domain_find(p, m, n->slot, n->count) : find_anywhere(&s)) &&
           (n->count == 1 || are_ranked(p, m, n));
}
