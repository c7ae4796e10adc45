/* SPDX-License-Identifier: Apache-2.0 */
/* Few domains, few nodes, the same number of tasks on each: the shape that a ring of workers wants.
 *
 * From the outside in: if one of the domains of the next level holds all, the best of those
 * (choose_domain.c); else the largest, and so on until one holds what is left: the fewest domains
 * there can be, as far as the capacity of each is known. In the innermost domain the same with
 * nodes, after those that the plan uses already; if as many nodes as are needed can each take the
 * same number, they do. */

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/search/search.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

/* On nodes that the plan uses already: they cost no new one. */
static int64_t fill_used(struct gang__pack *k, uint32_t group, int64_t want,
                         const struct gang__scope *scope)
{
    struct gang__plan *p = k->p;
    int64_t done = 0;
    size_t copies = p->tasks.count ? p->nodes.count : 0;
    for (size_t i = 0; i < copies && done < want; i++) {
        if (!p->nodes.copy[i].node || !p->nodes.copy[i].used ||
            !gang__scope_has(scope, p->nodes.copy[i].node))
            continue;
        struct gang__scope node = gang__scope_node(p->nodes.copy[i].slot);
        done += gang__search(p, group, want - done, &node, GANG_POLICY_PACK);
    }
    return done;
}

/* ---- few nodes: node by node ---- */

enum { NUMBER_BITS = 20, MAX_TASKS = 1 << 24 };

/* A key that sorts by the tasks that a node or domain can take: {tasks | slot, or rank}. */
static uint64_t key_of(int64_t tasks, uint32_t number)
{
    return (uint64_t)(tasks < MAX_TASKS ? tasks : MAX_TASKS) << NUMBER_BITS | number;
}

static int64_t tasks_of(uint64_t key)
{
    return (int64_t)(key >> NUMBER_BITS);
}

/* Nodes of a scope by their capacity, as keys in rising order. */
static size_t list_nodes(struct gang__pack *k, uint32_t group, const struct gang__scope *scope,
                         uint64_t *key)
{
    struct gang__plan *p = k->p;
    struct gang__node_list m = {gang__plan_end(p) - 1, NULL, NULL};
    size_t found = 0;
    if (scope->domain)
        m = gang__plan_members(p, scope->domain);
    for (uint32_t i = 0; i < m.count; i++) {
        uint32_t slot = scope->domain ? gang__node_list_slot(&m, i) : i + 1;
        const struct gang__node *node = gang__plan_node(p, slot);
        int64_t tasks =
            node && gang__scope_has(scope, node) ? gang__plan_capacity(p, group, slot) : 0;
        if (tasks > 0)
            key[found++] = key_of(tasks, slot);
    }
    if (found > 1)
        gang__sort_keys(key, found);
    return found;
}

/* Of keys in rising order: the tightest that can take `want` tasks, else the largest. */
static size_t best_fit(const uint64_t *key, size_t count, int64_t want)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (tasks_of(key[mid]) >= want)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* Removes a key. Returns its slot or rank. */
static uint32_t remove_key(uint64_t *key, size_t *count, size_t i)
{
    uint32_t number = (uint32_t)key[i] & ((1u << NUMBER_BITS) - 1);
    for (--*count; i < *count; i++)
        key[i] = key[i + 1];
    return number;
}

/* How many tasks go on each of as few nodes as do, if they can be equally many; else 0. */
static int64_t equal_share(const uint64_t *key, size_t count, int64_t want)
{
    int64_t sum = 0;
    size_t nodes = 0;
    while (nodes < count && sum < want)
        sum += tasks_of(key[count - ++nodes]);
    if (sum < want || nodes < 2)
        return 0;
    int64_t each = (want + (int64_t)nodes - 1) / (int64_t)nodes;
    return tasks_of(key[count - nodes]) >= each ? each : 0;
}

static int64_t fill_listed(struct gang__pack *k, uint32_t group, int64_t want,
                           const struct gang__scope *scope, uint32_t end)
{
    struct gang__plan *p = k->p;
    size_t at;
    uint64_t *key = gang__keys_push(p, end, &at);
    size_t left = key ? list_nodes(k, group, scope, key) : 0;
    int64_t done = 0, each = left ? equal_share(key, left, want) : 0;
    while (done < want && left && !p->out.failed) {
        int64_t most = each && each < want - done ? each : want - done;
        uint32_t slot = remove_key(p->keys.key + at, &left, best_fit(p->keys.key + at, left, most));
        struct gang__scope node = gang__scope_node(slot);
        done += gang__search(p, group, most, &node, GANG_POLICY_PACK);
        if (each && done < want) { /* the rest is distributed again: possibly one less each */
            int64_t nodes = (want - done + each - 1) / each;
            each = (want - done + nodes - 1) / nodes;
        }
    }
    gang__keys_pop(p, at);
    return done;
}

/* ---- many nodes: by the index ---- */

/* The tightest nodes first: at most `nodes`, with at most `each` tasks on each; only those that can
 * take `at_least`. */
static struct gang__search_options tightest(int64_t each, int64_t nodes, int64_t at_least)
{
    return (struct gang__search_options){GANG_POLICY_PACK, each, nodes, at_least, NULL, NULL};
}

int64_t gang__few_nodes_share(struct gang__plan *p, uint32_t group, int64_t want,
                              const struct gang__scope *scope, int64_t *each)
{
    struct gang__capacity capacity;
    struct gang__capacity_query query;
    gang__capacity_query_init(&query, p, group, gang__scope_nodes(p, scope));
    gang__scope_capacity(&query, scope, &capacity);
    int64_t nodes = gang__capacity_nodes(&capacity, want), there = 0;
    if (nodes < 2 || nodes == INT64_MAX)
        return 0;
    *each = (want + nodes - 1) / nodes;
    for (int64_t n = *each; n <= GANG__CAPACITY_MAX; n++)
        there += capacity.nodes[n];
    return there < nodes || *each >= GANG__CAPACITY_MAX ? 0 : nodes;
}

/* Equally many tasks a node, on as few nodes as there can be. */
static int64_t fill_equally(struct gang__pack *k, uint32_t group, int64_t want,
                            const struct gang__scope *scope)
{
    int64_t each, nodes = gang__few_nodes_share(k->p, group, want, scope, &each);
    if (!nodes)
        return 0;
    int64_t full = want - nodes * (each - 1); /* nodes with `each`; the others have one less */
    size_t tasks = k->p->tasks.count;
    struct gang__search_options first = tightest(each, full, each);
    struct gang__search_options rest = tightest(each - 1, nodes - full, each - 1);
    int64_t done = gang__search_with(k->p, group, full * each, scope, &first);
    if (done == full * each && full < nodes)
        done += gang__search_with(k->p, group, want - done, scope, &rest);
    if (done == want)
        return done;
    gang__plan_rollback(k->p, tasks);
    return 0;
}

/* The emptiest nodes, as many as are needed but for one; then the tightest that holds the rest. */
static int64_t fill_largest(struct gang__pack *k, uint32_t group, int64_t want,
                            const struct gang__scope *scope)
{
    struct gang__capacity capacity;
    struct gang__capacity_query query;
    gang__capacity_query_init(&query, k->p, group, gang__scope_nodes(k->p, scope));
    gang__scope_capacity(&query, scope, &capacity);
    int64_t nodes = gang__capacity_nodes(&capacity, want), done = 0;
    struct gang__search_options down = {GANG__ORDER_PROOF, INT64_MAX, nodes - 1, 1, NULL, NULL};
    if (nodes > 1 && nodes < INT64_MAX)
        done = gang__search_with(k->p, group, want, scope, &down);
    struct gang__search_options rest = tightest(INT64_MAX, 1, want - done);
    if (done < want)
        done += gang__search_with(k->p, group, want - done, scope, &rest);
    down.max_nodes = INT64_MAX;
    return done < want ? done + gang__search_with(k->p, group, want - done, scope, &down) : done;
}

static int64_t fill_indexed(struct gang__pack *k, uint32_t group, int64_t want,
                            const struct gang__scope *scope)
{
    struct gang__search_options one = tightest(INT64_MAX, 1, want);
    int64_t done = gang__search_with(k->p, group, want, scope, &one);
    if (done < want)
        done += fill_equally(k, group, want - done, scope);
    return done < want ? done + fill_largest(k, group, want - done, scope) : done;
}

static int64_t fill_nodes(struct gang__pack *k, uint32_t group, int64_t want,
                          const struct gang__scope *scope)
{
    struct gang__plan *p = k->p;
    if (scope->level >= GANG__LEVEL_NODE)
        return gang__search(p, group, want, scope, GANG_POLICY_PACK);
    int64_t done = fill_used(k, group, want, scope);
    if (done == want)
        return done;
    uint32_t end = scope->domain ? (uint32_t)gang__scope_nodes(p, scope) : gang__plan_end(p);
    bool few = p->mode.empty || p->snap || end <= GANG__FEW_NODES;
    return done + (few ? fill_listed(k, group, want - done, scope, end)
                       : fill_indexed(k, group, want - done, scope));
}

/* ---- domains --------------------------------------------------------------------------------- */

/* The next level with domains below a scope; GANG__LEVEL_NODE: none. */
static int32_t next_level(const struct gang__plan *p, const struct gang__scope *s)
{
    for (int32_t level = s->level + 1; level < (int32_t)p->c->nodes.level_count; level++)
        if (gang__domain_count(p->c, (uint32_t)level) > 0)
            return level;
    return GANG__LEVEL_NODE;
}

/* The domains of a level inside a scope. */
struct domain_list {
    int32_t level;
    size_t at, count;               /* keys of those that can take a task, in plan.keys, rising */
    uint32_t best;                  /* the best that holds all tasks, */
    int64_t best_nodes, best_tasks; /* the nodes they need there; INT64_MAX: none. Its capacity */
};

static void list_domains(struct gang__pack *k, uint32_t group, int64_t want,
                         const struct gang__scope *scope, struct domain_list *list)
{
    const uint32_t level = (uint32_t)list->level;
    uint64_t *key = k->p->keys.key + list->at;
    struct gang__plan *p = k->p;
    struct gang__capacity_query query;
    struct gang__capacity capacity;
    uint32_t end = gang__domain_count(p->c, level);
    list->count = 0;
    list->best_nodes = list->best_tasks = INT64_MAX;
    gang__capacity_query_init(&query, p, group, gang__scope_nodes(p, scope));
    for (uint32_t i = 0; !p->out.failed; i++) {
        i = gang__domain_capacity_next(&query, scope, level, i, end, 1);
        if (i == end)
            break;
        struct gang__scope s = gang__scope_domain(gang__domain_at(p->c, level, i));
        if (scope->level >= 0 && !gang__scope_is_inside(p, &s, scope))
            continue;
        gang__domain_capacity(&query, level, i, &capacity);
        if (capacity.tasks == 0)
            continue;
        key[list->count++] = key_of(capacity.tasks, i);
        int64_t tasks = tasks_of(key[list->count - 1]);
        if (tasks < want)
            continue;
        int64_t nodes = gang__capacity_nodes(&capacity, want);
        if (nodes < list->best_nodes || (nodes == list->best_nodes && tasks < list->best_tasks)) {
            list->best = i;
            list->best_nodes = nodes;
            list->best_tasks = tasks;
        }
    }
    if (list->count > 1 && !p->out.failed)
        gang__sort_keys(key, list->count);
}

static int64_t in_domain(struct gang__pack *k, uint32_t group, int64_t want, int32_t level,
                         uint32_t rank)
{
    struct gang__scope s = gang__scope_domain(gang__domain_at(k->p->c, (uint32_t)level, rank));
    return gang__fill_few_nodes(k, group, want, &s);
}

int64_t gang__fill_few_nodes(struct gang__pack *k, uint32_t group, int64_t want,
                             const struct gang__scope *scope)
{
    struct gang__plan *p = k->p;
    if (k->policy == GANG__ORDER_PROOF || k->policy >= GANG_POLICY_FGD) /* or by score */
        return gang__search(p, group, want, scope, k->policy);
    int32_t level = scope->level >= GANG__LEVEL_NODE ? GANG__LEVEL_NODE : next_level(p, scope);
    if (level == GANG__LEVEL_NODE)
        return fill_nodes(k, group, want, scope);
    struct domain_list list = {.level = level};
    if (!gang__keys_push(p, gang__domain_count(p->c, (uint32_t)level), &list.at))
        return 0;
    list_domains(k, group, want, scope, &list);
    int64_t done = 0;
    if (list.best_nodes != INT64_MAX)
        done = in_domain(k, group, want, level, list.best);
    while (done < want && list.count && !p->out.failed) {
        uint64_t *key = p->keys.key + list.at;
        uint32_t rank = remove_key(key, &list.count, best_fit(key, list.count, want - done));
        done += in_domain(k, group, want - done, level, rank);
    }
    gang__keys_pop(p, list.at);
    if (done < want && !p->out.failed) /* nodes that are in no domain of the level */
        done += fill_nodes(k, group, want - done, scope);
    return done;
}
