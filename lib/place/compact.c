/* SPDX-License-Identifier: Apache-2.0 */
/* Few domains, few nodes, as many tasks on each: what a ring of workers wants.
 *
 * From the outside in: if one of the domains of the next level holds all, the best of those (as in
 * choose.c); else the largest, and so on until one holds what is left: the fewest domains there can be,
 * as far as the room of each is known. In the innermost domain the same with nodes, after those that the
 * plan uses already; if as many nodes as are needed can each take the same number, they do. */

#include "core/index.h"
#include "core/node.h"
#include "place/pack.h"
#include "place/room.h"

/* ---- nodes --------------------------------------------------------------------------------------- */

static int64_t walk_up(struct gang__pack *k, uint32_t group, int64_t want,
                       const struct gang__scope *scope, int64_t each, int64_t nodes,
                       int64_t at_least)
{
    struct gang__walk walk = {GANG_POLICY_PACK, each, nodes, at_least, NULL, NULL};
    return gang__search_walk(k->p, group, want, scope, &walk);
}

/* On nodes that the plan uses already: they cost no new one. */
static int64_t fill_used(struct gang__pack *k, uint32_t group, int64_t want,
                         const struct gang__scope *scope)
{
    struct gang__plan *p = k->p;
    int64_t done = 0;
    size_t views = p->picks ? p->views : 0;
    for (size_t i = 0; i < views && done < want; i++) {
        if (!p->view[i].node || !p->view[i].used || !gang__scope_has(scope, p->view[i].node))
            continue;
        struct gang__scope node = gang__scope_node(p->view[i].slot);
        done += gang__search(p, group, want - done, &node, GANG_POLICY_PACK);
    }
    return done;
}

/* On equally many tasks a node, on as few nodes as there can be. */
static int64_t fill_equally(struct gang__pack *k, uint32_t group, int64_t want,
                            const struct gang__scope *scope)
{
    struct gang__room room;
    struct gang__eyes eyes;
    int64_t count = gang__scope_nodes(k->p, scope);
    gang__eyes_open(&eyes, k->p, group, count);
    gang__room_of(&eyes, scope, &room);
    int64_t nodes = gang__room_nodes(&room, want);
    if (nodes < 2 || nodes == INT64_MAX)
        return 0;
    int64_t each = (want + nodes - 1) / nodes, there = 0;
    for (int64_t n = each; n <= GANG__ROOM_MOST; n++)
        there += room.nodes[n];
    if (there < nodes || each >= GANG__ROOM_MOST)
        return 0;
    int64_t full = want - nodes * (each - 1); /* nodes with `each`; the others have one less */
    size_t picks = k->p->picks;
    int64_t done = walk_up(k, group, full * each, scope, each, full, each);
    if (done == full * each && full < nodes)
        done += walk_up(k, group, want - done, scope, each - 1, nodes - full, each - 1);
    if (done == want)
        return done;
    gang__plan_rollback(k->p, picks);
    return 0;
}

static int64_t fill_nodes(struct gang__pack *k, uint32_t group, int64_t want,
                          const struct gang__scope *scope)
{
    struct gang__plan *p = k->p;
    if (scope->level >= GANG__LEVEL_NODE)
        return gang__search(p, group, want, scope, GANG_POLICY_PACK);
    int64_t done = fill_used(k, group, want, scope);
    if (done < want)
        done += walk_up(k, group, want - done, scope, INT64_MAX, 1, want - done);
    if (done < want)
        done += fill_equally(k, group, want - done, scope);
    while (done < want && !p->failed) {
        struct gang__walk down = {GANG__ORDER_PROOF, INT64_MAX, 1, 1, NULL, NULL};
        int64_t here = gang__search_walk(p, group, want - done, scope, &down);
        if (here == 0)
            break;
        done += here;
        if (done < want)
            done += walk_up(k, group, want - done, scope, INT64_MAX, 1, want - done);
    }
    return done;
}

/* ---- domains -------------------------------------------------------------------------------------- */

enum { RANK_BITS = 20, TASKS_MOST = (1 << 24) };

/* The next level with domains below a scope; GANG__LEVEL_NODE: none. */
static int32_t next_level(const struct gang__plan *p, const struct gang__scope *s)
{
    for (int32_t level = s->level + 1; level < (int32_t)p->c->level_count; level++)
        if (gang__domain_count(p->c, (uint32_t)level) > 0)
            return level;
    return GANG__LEVEL_NODE;
}

struct best {
    uint32_t rank;
    int64_t nodes, tasks;
};

/* The domains of a level inside a scope by their room, as keys; and the best that holds all. */
static size_t list_rooms(struct gang__pack *k, uint32_t group, int64_t want, int32_t level,
                         const struct gang__scope *scope, uint64_t *key, struct best *best)
{
    struct gang__plan *p = k->p;
    struct gang__eyes eyes;
    struct gang__room room;
    uint32_t count = gang__domain_count(p->c, (uint32_t)level);
    size_t found = 0;
    best->nodes = best->tasks = INT64_MAX;
    gang__eyes_open(&eyes, p, group, gang__scope_nodes(p, scope));
    for (uint32_t i = 0; i < count && !p->failed; i++) {
        struct gang__scope s = gang__scope_domain(gang__domain_at(p->c, (uint32_t)level, i));
        if (scope->level >= 0 && !gang__scope_is_inside(p, &s, scope))
            continue;
        gang__room_in(&eyes, (uint32_t)level, i, &room);
        if (room.tasks == 0)
            continue;
        int64_t tasks = room.tasks < TASKS_MOST ? room.tasks : TASKS_MOST;
        key[found++] = (uint64_t)tasks << RANK_BITS | i;
        if (tasks < want)
            continue;
        int64_t nodes = gang__room_nodes(&room, want);
        if (nodes < best->nodes || (nodes == best->nodes && tasks < best->tasks))
            *best = (struct best){i, nodes, tasks};
    }
    if (found > 1 && !p->failed)
        gang__sort_keys(key, found);
    return found;
}

/* Keys in order of room: the least that holds `want`, else the largest. */
static size_t pick_room(const uint64_t *key, size_t count, int64_t want)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if ((int64_t)(key[mid] >> RANK_BITS) >= want)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static int64_t in_domain(struct gang__pack *k, uint32_t group, int64_t want, int32_t level,
                         uint32_t rank)
{
    struct gang__scope s = gang__scope_domain(gang__domain_at(k->p->c, (uint32_t)level, rank));
    return gang__compact(k, group, want, &s);
}

int64_t gang__compact(struct gang__pack *k, uint32_t group, int64_t want,
                      const struct gang__scope *scope)
{
    struct gang__plan *p = k->p;
    if (k->policy == GANG__ORDER_PROOF)
        return gang__search(p, group, want, scope, k->policy);
    int32_t level = scope->level >= GANG__LEVEL_NODE ? GANG__LEVEL_NODE : next_level(p, scope);
    if (level == GANG__LEVEL_NODE)
        return fill_nodes(k, group, want, scope);
    size_t at;
    if (!gang__keys_push(p, gang__domain_count(p->c, (uint32_t)level), &at))
        return 0;
    struct best best;
    size_t left = list_rooms(k, group, want, level, scope, p->key + at, &best);
    int64_t done = 0;
    if (best.nodes != INT64_MAX)
        done = in_domain(k, group, want, level, best.rank);
    while (done < want && left && !p->failed) {
        size_t i = pick_room(p->key + at, left, want - done);
        uint32_t rank = (uint32_t)p->key[at + i] & ((1u << RANK_BITS) - 1);
        for (left--; i < left; i++)
            p->key[at + i] = p->key[at + i + 1];
        done += in_domain(k, group, want - done, level, rank);
    }
    gang__keys_pop(p, at);
    if (done < want && !p->failed) /* nodes that are in no domain of the level */
        done += fill_nodes(k, group, want - done, scope);
    return done;
}
