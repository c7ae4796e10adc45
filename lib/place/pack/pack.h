/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of packing: pack.c (the request), member.c and place_member.c (the tree of
 * sets and groups), choose_domain.c and try_domains.c, few_nodes.c (few domains, few nodes),
 * spread.c (spreading), backtrack.c (when those fail), improve.c (fewer nodes). */
#ifndef GANG__PLACE_PACK_H
#define GANG__PLACE_PACK_H

#include "place/search/search.h"

struct gang__pack {
    struct gang__plan *p;
    const gang_request *request;
    const uint32_t *order; /* of the groups; NULL: as they come */
    int32_t policy;        /* of the searches: GANG_POLICY_*, or GANG__ORDER_PROOF */
    int32_t widest; /* more tasks stay inside a domain of this level; GANG__NO_LEVEL: anywhere */
    bool insists;   /* a preferred domain binds like a required one */
};

/* The member that is placed inside a scope: a group (with a number of tasks), a set, or the
 * request. */
struct gang__member {
    int32_t group;      /* >= 0: this group */
    int32_t set;        /* >= 0: this set; else the request */
    int64_t want;       /* of the group */
    int32_t more_group; /* >= 0: not the member whole, but `want` more tasks of this group in it */
    bool subgroup; /* not the group, but one subgroup of it: its own levels, bound to nothing */
    bool implied;  /* its preference is implied by the policy: not worth a long search */
};
enum { GANG__NO_MORE = -1 };

static inline struct gang__member gang__member_all(void)
{
    return (struct gang__member){-1, GANG__NO_SET, 0, GANG__NO_MORE, false, false};
}
static inline struct gang__member gang__member_set(int32_t set)
{
    return (struct gang__member){-1, set, 0, GANG__NO_MORE, false, false};
}
static inline struct gang__member gang__member_group(uint32_t group, int64_t want)
{
    return (struct gang__member){(int32_t)group, GANG__NO_SET, want, GANG__NO_MORE, false, false};
}

/* ---- pack.c ---- */

/* Plans everything that must start together. False: it does not fit (or p->out.failed). */
bool gang__pack_request(struct gang__plan *p, bool proof);

/* Plans up to `want` more tasks of a group beside those of p->tasks.in_group, in the domains that
 * p->bound says; none if it would be fewer than `least`. Returns how many. */
int64_t gang__pack_more(struct gang__plan *p, uint32_t group, int64_t least, int64_t want,
                        bool proof);

/* Plans a set, or the request, alone in the empty plan, as hard as can be tried. For messages. */
bool gang__pack_member(struct gang__plan *p, struct gang__member m);

/* ---- member.c ---- */

/* Does a set lie in another, or is it the same? Each lies in GANG__NO_SET, the request. */
static inline bool gang__set_is_inside(const gang_request *request, int32_t set, int32_t outer)
{
    while (set >= 0 && set != outer)
        set = request->set[set].parent;
    return set == outer;
}

/* Tasks of a group that a member needs at least; 0: the group is not in it. */
int64_t gang__member_need(const gang_request *request, struct gang__member m, uint32_t group);

/* Tasks of a group that a member has at most: up to the group's count, without those placed. */
int64_t gang__member_most(const struct gang__plan *p, struct gang__member m, uint32_t group);

/* May a member have more tasks than it needs? Then the domain that holds most of them is the best
 * of those that hold what it needs. Not asked for a subgroup, nor for a level that only the policy
 * implies. */
bool gang__member_is_elastic(const struct gang__plan *p, struct gang__member m);

/* The group of a member that is hardest to place. */
uint32_t gang__member_lead(const gang_request *request, struct gang__member m);

/* The level that a member requires, GANG__NO_LEVEL: none. */
int32_t gang__member_same(const gang_request *request, struct gang__member m);

/* The level that a member prefers by itself. It ignores domains that would leave nothing to spread
 * over. GANG__NO_LEVEL: none. */
int32_t gang__member_stated_prefer(const struct gang__pack *k, struct gang__member m);

/* The level that a member prefers, stated or implied: the implied one is the narrowest domain for
 * members that belong together. Spreading tasks imply none. GANG__NO_LEVEL: none. */
int32_t gang__member_prefer(const struct gang__pack *k, struct gang__member m, bool *implied);

/* Is a member to lie on few nodes, by policy? */
bool gang__member_wants_few(const struct gang__pack *k, struct gang__member m);

/* The narrowest level that a group requires: by itself, its sets and the request. And the narrowest
 * level that a set (-1: the request) and the sets around it require. -1: none. */
int32_t gang__demanded_level(const gang_request *request, int32_t group);
/* The narrowest level that a group prefers: by itself, its sets and the request. -1: none. */
int32_t gang__preferred_level(const gang_request *request, const struct gang__group *g);
int32_t gang__demanded_around(const gang_request *request, int32_t set);

/* ---- place_member.c ---- */

/* Places a member in the domain it prefers, or at least in the one it requires, inside a scope.
 * False: tasks and binds of a failed try may be left in the plan. */
bool gang__place(struct gang__pack *k, struct gang__member m, const struct gang__scope *scope);

/* Places a member in a domain that was chosen for it: an elastic one in a narrower domain that it
 * prefers, if that is possible. Binds it. */
bool gang__place_chosen(struct gang__pack *k, struct gang__member m, const struct gang__scope *s);

/* After a member was placed in a scope, all more tasks that it may have, as far as they fit there,
 * in the order in which a gang grows. */
void gang__place_rest(struct gang__pack *k, struct gang__member m, const struct gang__scope *s);

/* Binds a member to a scope and places it there. */
bool gang__place_bound(struct gang__pack *k, struct gang__member m, const struct gang__scope *s);

/* Binds a member, without placing. False: out of memory. */
bool gang__bind(struct gang__plan *p, struct gang__member m, const struct gang__scope *s);

/* Places what is inside a member in a scope. */
bool gang__place_inside(struct gang__pack *k, struct gang__member m, const struct gang__scope *s);

/* Up to `want` tasks of a group in a scope, by its subgroups, spreading and policy. */
int64_t gang__place_group(struct gang__pack *k, uint32_t group, int64_t want,
                          const struct gang__scope *scope);

/* Up to `want` more tasks of a group, where those it has are: in the domains that are bound, as far
 * as demanded; where a preference is the bound, then in wider ones. Domains that are demanded and
 * not chosen yet are chosen, from the outside in. */
int64_t gang__add_tasks(struct gang__pack *k, uint32_t group, int64_t want);

/* What binds a member of a set from outside: the scope of that or an enclosing set, or the
 * request's. And what binds a member from outside. */
struct gang__scope gang__scope_around(const struct gang__pack *k, int32_t set);
struct gang__scope gang__scope_outside(const struct gang__pack *k, struct gang__member m);

/* The outermost of a group, its sets and the request that demands a domain and has none yet. */
bool gang__next_demand(const struct gang__pack *k, uint32_t group, struct gang__member *m);

/* Undoes the plan back to the state with `tasks` tasks and `binds` binds. */
void gang__undo(struct gang__plan *p, size_t tasks, size_t binds);

/* ---- try_domains.c ---- */

/* Place a member in one scope of a level inside `scope`: the best one. */
bool gang__choose_in_level(struct gang__pack *k, struct gang__member m, int32_t level,
                           const struct gang__scope *scope);

/* ---- choose_domain.c ---- */

/* Does the index show that no domain of the level that is demanded of all tasks of the (empty)
 * plan's request can hold them? As true as a search of all nodes. Only for requests of one
 * group. */
bool gang__choose_cannot_fit(struct gang__plan *p);

/* Each scope of a level inside `scope` that may hold a member, the best first, until `take` is true
 * of one. Returns whether it was.
 *   most  of an elastic member: neither this scope nor a later one holds more of its tasks */
typedef bool (*gang__take_fn)(void *user, const struct gang__scope *s, int64_t most);
bool gang__choose_each(struct gang__pack *k, struct gang__member m, int32_t level,
                       const struct gang__scope *scope, gang__take_fn take, void *user);

/* ---- few_nodes.c ---- */

/* Up to `want` tasks of a group in as few domains and nodes of a scope as do, equally many on
 * each. */
int64_t gang__fill_few_nodes(struct gang__pack *k, uint32_t group, int64_t want,
                             const struct gang__scope *scope);

/* On how many nodes of a scope `want` tasks lie, the fewest, if they can be equally many on each.
 * By the index: for scopes of more than GANG__FEW_NODES. 0: they cannot.
 *   each  receives the tasks of a node; some nodes have one less, if `want` is no multiple */
int64_t gang__few_nodes_share(struct gang__plan *p, uint32_t group, int64_t want,
                              const struct gang__scope *scope, int64_t *each);

/* ---- spread.c ---- */

/* Up to `want` tasks over the domains of the group's `spread`, within its skew. */
int64_t gang__spread(struct gang__pack *k, uint32_t group, int64_t want,
                     const struct gang__scope *scope);

/* ---- backtrack.c ---- */

/* Try everything that a bounded number of steps allows, for a set or a request that the above did
 * not place. The plan is empty. */
bool gang__backtrack(struct gang__pack *k, struct gang__member m);

/* ---- improve.c ---- */

/* The plan holds the whole request: is there one on fewer domains (of the narrowest level of the
 * site) or nodes? Tried where there are few nodes at all. False: the plan is lost, make it again as
 * before. */
bool gang__improve(struct gang__pack *k);

#endif
