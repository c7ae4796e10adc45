/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the whole request: greedily by the policy (place_member.c), then on fewer nodes
 * (improve.c); what this misses, by backtracking (backtrack.c). Tiers of nodes come one after the
 * other. */
#include "place/pack/pack.h"

#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/request/request.h"
#include "place/search/search.h"

/* On all nodes; `packs`: in the order of packing. */
static inline bool search_all(struct gang__pack *k, bool packs)
{
    int64_t want = k->request->min;
    if (packs && gang__search_is_single(k->p))
        return gang__search_single(k->p);
    struct gang__scope all = gang__scope_all();
    return gang__search(k->p, 0, want, &all, k->policy) == want;
}

/* One group, no domain. Packing skips nodes that other commits claim, and where the worker met
 * others lately; if these are needed, it takes them after all. */
static bool place_plain(struct gang__pack *k)
{
    struct gang__plan *p = k->p;
    bool packs = k->policy == GANG_POLICY_PACK || k->policy == GANG_POLICY_DEFAULT;
    p->mode.skip_claimed = packs;
    if (packs && p->contention.on && k->request->min == 1 && !p->snap && !p->mode.empty &&
        gang__contention_search(p))
        return true;
    if (search_all(k, packs))
        return true;
    if (!p->out.skipped || p->out.failed)
        return false;
    gang__undo(p, 0, 0);
    p->mode.skip_claimed = p->contention.avoids = false;
    return search_all(k, packs);
}

/* By the policy, the hardest groups first; then in the order of the request. */
static bool place_all(struct gang__pack *k)
{
    struct gang__scope all = gang__scope_all();
    k->order = k->request->by_size;
    if (gang__place(k, gang__member_all(), &all))
        return true;
    gang__undo(k->p, 0, 0);
    if (k->p->out.failed || k->request->group_count == 1) /* which every domain was tried for */
        return false;
    k->order = NULL;
    if (gang__place(k, gang__member_all(), &all))
        return true;
    gang__undo(k->p, 0, 0);
    k->order = k->request->by_size;
    return false;
}

/* Are all of the request's tasks to lie on few nodes? Not where a preferred domain binds, which
 * improve.c does not know; and not where its domain was chosen for the tasks that come later: on
 * fewer nodes in another domain they might not fit. */
static bool all_want_few(const struct gang__pack *k)
{
    return !k->insists && k->request->min > 1 && gang__member_wants_few(k, gang__member_all()) &&
           !(k->request->bound && gang__member_is_elastic(k->p, gang__member_all()));
}

/* The same; `few`: then on fewer nodes, if that is possible. */
static bool place_well(struct gang__pack *k, bool few)
{
    return place_all(k) && (!few || gang__improve(k) || (!k->p->out.failed && place_all(k)));
}

/* The highest tier of any group. Each search goes through the tiers by itself; but where domains
 * are chosen, too, one without the nodes of high tiers comes before one with them. Not where all
 * that matters is whether the tasks fit. */
static uint32_t highest_tier(const struct gang__plan *p, bool proof)
{
    const gang_request *request = p->request;
    uint32_t most = 1;
    if (!request->bound || proof || p->mode.empty)
        return 0;
    for (uint32_t i = 0; i < request->group_count; i++) {
        uint32_t here = gang__tier_count(gang__tiers_of(p, &request->group[i]));
        most = here > most ? here : most;
    }
    return most - 1;
}

static bool pack(struct gang__plan *p, bool proof)
{
    const gang_request *request = p->request;
    const int32_t policy = gang__policy_order(p, proof);
    struct gang__pack k = {p, request, request->by_size, policy, GANG__NO_LEVEL, request->insists};
    p->mode.worst_fit = proof || p->mode.empty;
    p->mode.exact_reads = proof;
    p->mode.skip_claimed = p->out.skipped = false;
    if (request->plain) {
        bool placed = place_plain(&k);
        if (!placed)
            gang__undo(p, 0, 0);
        return placed;
    }
    uint32_t most = highest_tier(p, proof);
    bool few = !proof && !p->mode.empty && all_want_few(&k), placed = false;
    for (p->tier.limit = 0; p->tier.limit < most && !placed && !p->out.failed; p->tier.limit++)
        placed = place_well(&k, few);
    p->tier.limit = UINT32_MAX;
    placed = placed || (!p->out.failed && place_well(&k, few));
    /* It asks no host, and knows no preference that binds. */
    if (placed || p->out.failed || request->group_count == 1 || request->score || request->insists)
        return placed;
    return gang__backtrack(&k, gang__member_all()) &&
           (!few || gang__improve(&k) || gang__backtrack(&k, gang__member_all()));
}

/* The request or member to pack, under each choice of device sets. */
struct packing {
    struct gang__plan *p;
    bool proof;
    const struct gang__member *member; /* NULL: the request */
    int left;                          /* tries, over all groups */
};

static bool pack_member(struct gang__plan *p, struct gang__member m);

/* Bind the groups from this one on to a set of devices each, the best first, and pack. A group that
 * no set suits gets no devices, which only matters if some of its tasks must start. */
static bool pack_bound(struct packing *x, uint32_t group)
{
    struct gang__plan *p = x->p;
    while (group < p->request->group_count && !p->request->group[group].same_devices)
        group++;
    if (group == p->request->group_count) {
        x->left--;
        bool placed = x->member ? pack_member(p, *x->member) : pack(p, x->proof);
        if (!placed)
            gang__undo(p, 0, 0);
        return placed;
    }
    size_t first = p->device_sets.count;
    bool placed = false;
    p->bound.devices[group] = UINT64_MAX;
    if (!gang__device_sets_add(p, group))
        return false;
    size_t end = p->device_sets.count;
    p->bound.devices[group] = 0;
    if (first == end)
        placed = pack_bound(x, group + 1);
    for (size_t i = first; i < end && !placed && x->left > 0 && !p->out.failed; i++) {
        p->bound.devices[group] = p->device_sets.set[i].gpus;
        placed = pack_bound(x, group + 1);
    }
    p->device_sets.count = first;
    if (!placed)
        p->bound.devices[group] = UINT64_MAX;
    return placed;
}

bool gang__pack_request(struct gang__plan *p, bool proof)
{
    if (!p->request->same_devices)
        return pack(p, proof);
    p->mode.exact_reads = proof;
    return pack_bound(&(struct packing){p, proof, NULL, GANG_MAX_DEVICE_SETS}, 0);
}

bool gang__pack_member(struct gang__plan *p, struct gang__member m)
{
    if (!p->request->same_devices)
        return pack_member(p, m);
    return pack_bound(&(struct packing){p, true, &m, GANG_MAX_DEVICE_SETS}, 0);
}

static bool pack_member(struct gang__plan *p, struct gang__member m)
{
    struct gang__pack k = {
        p, p->request, p->request->by_size, GANG__ORDER_PROOF, GANG__NO_LEVEL, p->request->insists};
    struct gang__scope all = gang__scope_all();
    bool placed = gang__place(&k, m, &all);
    if (!placed && !p->out.failed) {
        gang__undo(p, 0, 0);
        k.order = NULL;
        placed = gang__place(&k, m, &all);
    }
    if (placed || p->out.failed || k.insists)
        return placed;
    gang__undo(p, 0, 0);
    k.order = p->request->by_size;
    return gang__backtrack(&k, m);
}

static int64_t pack_more(struct gang__plan *p, uint32_t group, int64_t least, int64_t want,
                         bool proof)
{
    const int32_t policy = gang__policy_order(p, proof);
    struct gang__pack k = {p, p->request, p->request->by_size, policy, GANG__NO_LEVEL, false};
    size_t tasks = p->tasks.count, binds = p->bound.undos;
    p->mode.worst_fit = proof || p->mode.empty;
    p->mode.exact_reads = proof;
    uint32_t most = highest_tier(p, proof);
    int64_t done = 0;
    for (p->tier.limit = 0; p->tier.limit < most && done < want && !p->out.failed; p->tier.limit++)
        done += gang__add_tasks(&k, group, want - done);
    p->tier.limit = UINT32_MAX;
    if (done < want && !p->out.failed)
        done += gang__add_tasks(&k, group, want - done);
    if (done >= least)
        return done;
    gang__undo(p, tasks, binds);
    return 0;
}

/* Tasks that run bind their group already. */
int64_t gang__pack_more(struct gang__plan *p, uint32_t group, int64_t least, int64_t want,
                        bool proof)
{
    int64_t done = 0;
    if (!p->request->group[group].same_devices || p->bound.devices[group] != UINT64_MAX)
        return pack_more(p, group, least, want, proof);
    size_t first = p->device_sets.count;
    p->mode.exact_reads = proof;
    if (!gang__device_sets_add(p, group))
        return 0;
    for (size_t i = first; i < p->device_sets.count && done == 0 && !p->out.failed; i++) {
        p->bound.devices[group] = p->device_sets.set[i].gpus;
        done = pack_more(p, group, least, want, proof);
    }
    p->device_sets.count = first;
    return done;
}
