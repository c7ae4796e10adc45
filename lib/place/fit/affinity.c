/* SPDX-License-Identifier: Apache-2.0 */
/* Affinity and anti-affinity between jobs: which nodes do the rules close to a gang?
 *
 * The label counts (place/request/label_count.h) say where labelled jobs run. A rule is evaluated
 * when a node is visited. A rule at a level of the site becomes a set of domains when the plan
 * begins. The hard anti-affinity of a running allocation also keeps out matching jobs that come
 * later: an *exclusion*.
 *
 * A rule with `colocate` counts only what runs, and is judged at an instant inside the call: the
 * matching job may end right after. */
#include "place/fit/affinity.h"

#include <string.h>

#include "core/nodes/nodes.h"
#include "place/fit/exclusive.h"
#include "place/fit/fit_plan.h"
#include "place/fit/keys.h"
#include "place/request/request.h"
#include "place/state/records.h"

/* ---- the gang's own tasks -------------------------------------------------------------------- */

/* The nodes that the running allocation has tasks on, and how many. */
static bool list_own(struct gang__plan *p)
{
    struct gang__affinity_state *o = &p->others;
    const struct gang__alloc *a = o->running;
    size_t at = gang__plan_words(p, 2 * (size_t)a->tasks), count = 0;
    if (p->out.failed)
        return false;
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task))
        p->word[at + count++] = task[0];
    o->own = at;
    o->own_tasks = at + count;
    gang__sort_keys(p->word + at, count);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || p->word[at + i] != p->word[o->own + o->owns - 1]) {
            p->word[o->own + o->owns] = p->word[at + i];
            p->word[o->own_tasks + o->owns++] = 0;
        }
        p->word[o->own_tasks + o->owns - 1]++;
    }
    return true;
}

/* Tasks of the running allocation on a node. */
static uint64_t own_on(const struct gang__plan *p, gang_node_id id)
{
    const struct gang__affinity_state *o = &p->others;
    size_t low = 0, high = o->owns;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (p->word[o->own + mid] < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < o->owns && p->word[o->own + low] == id ? p->word[o->own_tasks + low] : 0;
}

/* Tasks planned on a node, if they are counted as pending. */
static uint64_t pending_on(const struct gang__plan *p, gang_node_id id)
{
    const struct gang__node_copy *copy =
        p->others.registered ? gang__node_copy_find(p, (uint32_t)id) : NULL;
    return copy && copy->node && copy->node->id == id ? copy->used : 0;
}

/* The tasks of other jobs that a label count has on a node. `times`: how often it counts each own
 * task. */
static uint64_t others_of(const struct gang__plan *p, unsigned role, uint64_t times,
                          gang_node_id id, uint64_t count)
{
    uint64_t own = 0;
    if (times && count) {
        own += role == GANG__ROLE_PENDING ? 0 : own_on(p, id);
        own += role == GANG__ROLE_HELD ? 0 : pending_on(p, id);
    }
    return count > own * times ? count - own * times : 0;
}

static bool others_on(const struct gang__plan *p, struct gang__label_count *counts, unsigned role,
                      uint64_t times, gang_node_id id)
{
    return others_of(p, role, times, id, gang__label_count_read(counts, role, id)) > 0;
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* How many of the job's own rules exclude jobs with a label from a level. */
static uint64_t own_exclusions(const gang_request *request, const struct gang__label_count *counts,
                               int32_t level)
{
    uint64_t times = 0;
    for (uint32_t i = 0; i < request->affinity_count; i++)
        times += gang__affinity_excludes(&request->affinity[i]) &&
                 request->affinity[i].counts == counts && request->affinity[i].level == level;
    return times;
}

/* The rules that are kept, as bits: those that must hold, and the first `soft_count` soft ones. */
static uint64_t rules_active(const gang_request *request, uint32_t soft_count)
{
    uint64_t active = 0;
    for (uint32_t i = 0; i < request->affinity_count; i++) {
        if (request->affinity[i].soft && soft_count == 0)
            continue;
        soft_count -= request->affinity[i].soft;
        active |= UINT64_C(1) << i;
    }
    return active;
}

/* The levels of the site, and GANG__LEVEL_NODE, from which others exclude the job, as bits. */
static uint32_t excluded_levels(const gang_request *request)
{
    uint32_t levels = 0;
    for (uint32_t i = 0; i < 2 * request->label_count; i++)
        levels |= gang__load_seq(&request->own_counts[i]->excluded);
    return levels;
}

/* ---- sets of domains ------------------------------------------------------------------------- */

struct mark {
    struct gang__plan *p;
    unsigned role;
    uint64_t times;
    int32_t level;
    size_t set;
};

static void mark_domain(gang_node_id id, uint32_t tasks, void *user)
{
    const struct mark *m = user;
    struct gang__plan *p = m->p;
    if (others_of(p, m->role, m->times, id, tasks) == 0 || (uint32_t)id >= gang__plan_end(p))
        return;
    const struct gang__node *node = gang__plan_node(p, (uint32_t)id);
    if (!node || node->id != id)
        return;
    uint32_t domain = node->domain[m->level];
    if (domain / 64 < p->others.set_words)
        p->word[m->set + domain / 64] |= UINT64_C(1) << (domain % 64);
}

/* Notes the domains of a level in which a label count counts tasks of others. */
static void mark_domains(struct gang__plan *p, struct gang__label_count *counts, unsigned role,
                         uint64_t times, int32_t level, size_t set)
{
    struct mark m = {p, role, times, level, set};
    gang__label_count_each(counts, role, mark_domain, &m);
}

static bool is_in_set(const struct gang__plan *p, size_t set, uint32_t domain)
{
    return domain / 64 < p->others.set_words &&
           (p->word[set + domain / 64] >> (domain % 64) & 1) != 0;
}

/* The domains to be in, of the n-th colocate rule at a level of the site. */
static size_t colocate_set(const struct gang__plan *p, uint32_t n)
{
    return p->others.set + (n + 1) * p->others.set_words;
}

static bool is_wide(const struct gang__affinity *rule)
{
    return rule->level != GANG__LEVEL_NODE;
}

static void mark_excluded(struct gang__plan *p, uint32_t levels)
{
    const gang_request *request = p->request;
    for (uint32_t i = 0; i < 2 * request->label_count; i++) {
        uint32_t at = gang__load_seq(&request->own_counts[i]->excluded) & levels;
        for (; at; at &= at - 1) {
            int32_t level = __builtin_ctz(at);
            mark_domains(p, request->own_counts[i], GANG__ROLE_EXCLUDE + (unsigned)level,
                         own_exclusions(request, request->own_counts[i], level), level,
                         p->others.set);
        }
    }
}

static void mark_rules(struct gang__plan *p)
{
    uint32_t n = 0;
    for (uint64_t left = p->others.active; left; left &= left - 1) {
        const struct gang__affinity *rule = &p->request->affinity[__builtin_ctzll(left)];
        if (!is_wide(rule))
            continue;
        size_t set = rule->colocate ? colocate_set(p, n++) : p->others.set;
        mark_domains(p, rule->counts, GANG__ROLE_HELD, rule->own, rule->level, set);
        if (!rule->colocate)
            mark_domains(p, rule->counts, GANG__ROLE_PENDING, rule->own, rule->level, set);
    }
}

bool gang__affinity_read(struct gang__plan *p, uint32_t soft_count)
{
    struct gang__affinity_state *o = &p->others;
    const uint32_t node_level = UINT32_C(1) << GANG__LEVEL_NODE;
    uint32_t excluded = excluded_levels(p->request), wide = 0;
    o->active = rules_active(p->request, soft_count);
    o->levels = excluded & ~node_level;
    for (uint64_t left = o->active; left; left &= left - 1) {
        const struct gang__affinity *rule = &p->request->affinity[__builtin_ctzll(left)];
        wide += is_wide(rule) && rule->colocate;
        if (is_wide(rule) && !rule->colocate)
            o->levels |= UINT32_C(1) << rule->level;
    }
    o->bars = o->active || excluded;
    if (!o->levels && !wide)
        return true;
    o->set_words = gang__domains_end(p->c) / 64 + 1;
    o->set = gang__plan_words(p, (wide + 1) * o->set_words);
    if (p->out.failed)
        return false;
    memset(p->word + o->set, 0, (wide + 1) * o->set_words * sizeof(*p->word));
    mark_excluded(p, o->levels);
    mark_rules(p);
    return true;
}

gang_result gang__affinity_begin(struct gang__plan *p)
{
    struct gang__affinity_state *o = &p->others;
    o->registered = false;
    o->active = 0;
    o->levels = 0;
    o->owns = 0;
    if (o->running && !list_own(p))
        return GANG_ENOMEM;
    /* An empty cluster has no job to avoid, and a job to be near to can still come. */
    if (p->request->has_affinity && !p->mode.empty && !gang__affinity_read(p, o->soft_count))
        return GANG_ENOMEM;
    return p->request->exclusive ? gang__exclusive_begin(p) : GANG_OK;
}

/* Do rules of others at the node level keep the job out of this node? */
static bool is_excluded(const struct gang__plan *p, gang_node_id id)
{
    const gang_request *request = p->request;
    for (uint32_t i = 0; i < 2 * request->label_count; i++) {
        struct gang__label_count *counts = request->own_counts[i];
        if ((gang__load_seq(&counts->excluded) >> GANG__LEVEL_NODE & 1) &&
            others_on(p, counts, GANG__ROLE_EXCLUDE + GANG__LEVEL_NODE,
                      own_exclusions(request, counts, GANG__LEVEL_NODE), id))
            return true;
    }
    return false;
}

bool gang__affinity_admits(struct gang__plan *p, const struct gang__node *node)
{
    const struct gang__affinity_state *o = &p->others;
    uint32_t n = 0;
    if (p->mode.empty || !p->request->has_affinity)
        return true;
    for (uint32_t levels = o->levels; levels; levels &= levels - 1)
        if (is_in_set(p, o->set, node->domain[__builtin_ctz(levels)]))
            return false;
    for (uint64_t left = o->active; left; left &= left - 1) {
        const struct gang__affinity *rule = &p->request->affinity[__builtin_ctzll(left)];
        bool holds = true;
        if (is_wide(rule))
            holds =
                !rule->colocate || is_in_set(p, colocate_set(p, n++), node->domain[rule->level]);
        else
            holds = others_on(p, rule->counts, GANG__ROLE_HELD, rule->own, node->id) ==
                        rule->colocate &&
                    (rule->colocate ||
                     !others_on(p, rule->counts, GANG__ROLE_PENDING, rule->own, node->id));
        if (!holds)
            return false;
    }
    return !is_excluded(p, node->id);
}
