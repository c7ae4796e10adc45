/* SPDX-License-Identifier: Apache-2.0 */
/* The domain of a level that holds most tasks of a group, a set or the request. For messages. */
#ifndef GANG__PLACE_BEST_DOMAIN_H
#define GANG__PLACE_BEST_DOMAIN_H

#include "place/explain/explain.h"
#include "place/pack/pack.h"

struct gang__domain_search {
    struct gang__pack *k;
    struct gang__member m;
    struct gang__reason *f;    /* receives level, best, best_holds, and the lack */
    struct gang__scope around; /* domains inside of this one */
    bool whole; /* some scope holds the whole member: more than as many tasks as it needs */
};

/* Finds the domain of the level in which most tasks of the member go; the first of several. */
void gang__best_domain(struct gang__domain_search *e, int32_t level);

/* Tasks of the member that go in a scope; -1: it may not lie there at all. Nothing stays planned.
 * `note`: records what the first group lacks that falls short. */
int64_t gang__scope_holds(struct gang__domain_search *e, const struct gang__scope *s, bool note);

/* Records why `missing` of the `want` tasks of a group do not go in a scope, beside what is
 * planned. */
void gang__note_lack(struct gang__domain_search *e, uint32_t group, int64_t want, int64_t missing,
                     const struct gang__scope *s);

/* The rule of a group that keeps tasks from nodes that could take them. *skew: spreading, not a
 * bound. */
struct gang__misfit gang__limiting_rule(struct gang__pack *k, uint32_t group, int64_t want,
                                        const struct gang__scope *s, bool *skew);

#endif
