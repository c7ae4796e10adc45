/* SPDX-License-Identifier: Apache-2.0 */
#include "place/fit/scope.h"

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit_plan.h"

struct gang__scope gang__scope_all(void)
{
    return (struct gang__scope){GANG__NO_LEVEL, GANG__NO_SLOT, 0, NULL};
}

struct gang__scope gang__scope_unbound(void)
{
    return (struct gang__scope){GANG__UNBOUND, GANG__NO_SLOT, 0, NULL};
}

struct gang__scope gang__scope_domain(struct gang__domain *d)
{
    return (struct gang__scope){(int32_t)d->level, GANG__NO_SLOT, 0, d};
}

struct gang__scope gang__scope_node(uint32_t slot)
{
    return (struct gang__scope){GANG__LEVEL_NODE, slot, 0, NULL};
}

struct gang__scope gang__scope_part(uint32_t slot, int32_t level, uint32_t part)
{
    return (struct gang__scope){level, slot, part, NULL};
}

static struct gang__domain *domain_of(const struct gang__plan *p, uint32_t index)
{
    return gang__load(&gang__load(&p->c->nodes.domains)->entry[index]);
}

/* The part of a wider or equal inner level that has all of a part. */
static bool part_around(const struct gang__plan *p, const struct gang__scope *s, int32_t level,
                        struct gang__scope *around)
{
    const struct gang__node *node = gang__plan_node(p, s->slot);
    if (!node)
        return false;
    const struct gang__node_type *type = node->type;
    const struct gang__inner_domains *in =
        gang__inner_domains_of(type, s->level - GANG__LEVEL_PACKAGE);
    const struct gang__inner_domains *out =
        gang__inner_domains_of(type, level - GANG__LEVEL_PACKAGE);
    unsigned words = type->layout.core_words;
    for (uint32_t i = 0; i < out->count; i++) {
        bool whole = (in->gpus[s->part] & ~out->gpus[i]) == 0;
        for (unsigned w = 0; w < words && whole && in->cores && out->cores; w++)
            whole = (in->cores[s->part * words + w] & ~out->cores[i * words + w]) == 0;
        if (whole) {
            *around = gang__scope_part(s->slot, level, i);
            return true;
        }
    }
    return false;
}

bool gang__scope_at(const struct gang__plan *p, const struct gang__scope *s, int32_t level,
                    struct gang__scope *around)
{
    *around = *s;
    if (s->level == level)
        return true;
    if (s->level < level)
        return false;
    if (level > GANG__LEVEL_NODE)
        return part_around(p, s, level, around);
    if (level == GANG__LEVEL_NODE) {
        *around = gang__scope_node(s->slot);
        return true;
    }
    if (level == GANG__NO_LEVEL) {
        *around = gang__scope_all();
        return true;
    }
    if (s->level >= GANG__LEVEL_NODE) {
        const struct gang__node *node = gang__plan_node(p, s->slot);
        if (!node || node->domain[level] == GANG__NO_DOMAIN)
            return false;
        *around = gang__scope_domain(domain_of(p, node->domain[level]));
        return true;
    }
    struct gang__domain *d = s->domain;
    while (d && (int32_t)d->level > level)
        d = d->parent == GANG__NO_DOMAIN ? NULL : domain_of(p, d->parent);
    if (!d || (int32_t)d->level != level)
        return false;
    *around = gang__scope_domain(d);
    return true;
}

bool gang__scope_is_inside(const struct gang__plan *p, const struct gang__scope *s,
                           const struct gang__scope *outer)
{
    struct gang__scope at;
    return gang__scope_at(p, s, outer->level, &at) && at.slot == outer->slot &&
           at.part == outer->part && at.domain == outer->domain;
}

bool gang__scope_has(const struct gang__scope *s, const struct gang__node *node)
{
    if (s->level >= GANG__LEVEL_NODE)
        return node->slot == s->slot;
    return !s->domain || node->domain[s->domain->level] == s->domain->index;
}
