/* SPDX-License-Identifier: Apache-2.0 */
/* A scope: where to look. The whole cluster, a domain of a level of the site, one node, or a part
 * of one node (a package, a NUMA domain, the GPUs below a switch, an island). By value; good as
 * long as the read section it was made in. */
#ifndef GANG__PLACE_SCOPE_H
#define GANG__PLACE_SCOPE_H

#include "core/nodes/nodes.h"

struct gang__plan;

enum {
    GANG__UNBOUND = -2 /* level of a scope that was not chosen yet */
};

struct gang__scope {
    int32_t level; /* GANG__NO_LEVEL: the cluster; of the site; GANG__LEVEL_NODE or below */
    uint32_t slot; /* from GANG__LEVEL_NODE down: the node; else GANG__NO_SLOT */
    uint32_t part; /* below it: which part of the level; else 0 */
    struct gang__domain *domain; /* of a level of the site; else NULL */
};

struct gang__scope gang__scope_all(void);
struct gang__scope gang__scope_unbound(void);
struct gang__scope gang__scope_domain(struct gang__domain *d);
struct gang__scope gang__scope_node(uint32_t slot);
struct gang__scope gang__scope_part(uint32_t slot, int32_t level, uint32_t part);

static inline bool gang__scope_is_bound(const struct gang__scope *s)
{
    return s->level != GANG__UNBOUND;
}

/* The scope of a level around this one, itself if it is of that level. False: there is none. */
bool gang__scope_at(const struct gang__plan *p, const struct gang__scope *s, int32_t level,
                    struct gang__scope *around);

/* Does it lie in another? */
bool gang__scope_is_inside(const struct gang__plan *p, const struct gang__scope *s,
                           const struct gang__scope *outer);

/* The parts of a level of a node type; and its devices and core words. */
static inline const struct gang__inner_domains *
gang__inner_domains_of(const struct gang__node_type *type, int32_t inner_level)
{
    return &type->inner[inner_level];
}

/* Is a node in a scope? */
bool gang__scope_has(const struct gang__scope *s, const struct gang__node *node);

#endif
