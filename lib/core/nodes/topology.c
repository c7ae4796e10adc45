/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of domains above the nodes. A domain is the path of values down to its level: rack r1
 * of two blocks is two domains. Domains are never removed; their member lists change. Readers
 * walk tables and lists inside a read section; writers hold the structure mutex. */
#include <stddef.h>
#include <string.h>

#include "core/nodes/node.h"
#include "core/nodes/topology.h"

static struct gang__domain_table *table_new(const struct gang_mem *mem, uint32_t cap)
{
    size_t entry_bytes = sizeof(((struct gang__domain_table *)0)->entry[0]) + sizeof(gang__a64);
    struct gang__domain_table *t = gang__zalloc(mem, 1, sizeof(*t) + cap * entry_bytes);
    if (t) {
        t->cap = cap;
        t->span = (gang__a64 *)(void *)&t->entry[cap];
    }
    return t;
}

/* Makes space for one more entry; a table of twice the size replaces a full one. */
static gang_result table_reserve(gang_cluster *c, _Atomic(struct gang__domain_table *) *where)
{
    struct gang__domain_table *old = gang__load(where);
    uint32_t count = old ? gang__load(&old->count) : 0;
    if (old && count < old->cap)
        return GANG_OK;
    struct gang__domain_table *bigger = table_new(&c->mem, count ? count * 2 : 8);
    if (!bigger)
        return GANG_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        gang__store_relaxed(&bigger->entry[i], gang__load(&old->entry[i]));
        gang__store_relaxed(&bigger->span[i], gang__load(&old->span[i]));
    }
    gang__store_relaxed(&bigger->count, count);
    gang__store(where, bigger);
    if (old) {
        old->next_retired = c->nodes.retired.tables;
        c->nodes.retired.tables = old;
        c->nodes.retired.count++;
    }
    return GANG_OK;
}

static void table_add(_Atomic(struct gang__domain_table *) *where, void *entry)
{
    struct gang__domain_table *t = gang__load(where);
    uint32_t count = gang__load(&t->count);
    gang__store(&t->entry[count], entry);
    gang__store(&t->count, count + 1);
}

static uint32_t table_count(_Atomic(struct gang__domain_table *) *where)
{
    struct gang__domain_table *t = gang__load(where);
    return t ? gang__load(&t->count) : 0;
}

static struct gang__domain *domain_by_index(gang_cluster *c, uint32_t index)
{
    return gang__load(&gang__load(&c->nodes.domains)->entry[index]);
}

uint32_t gang__domain_count(gang_cluster *c, uint32_t level)
{
    return table_count(&c->nodes.level_domains[level]);
}

struct gang__domain *gang__domain_at(gang_cluster *c, uint32_t level, uint32_t i)
{
    return gang__load(&gang__load(&c->nodes.level_domains[level])->entry[i]);
}

struct gang__domain *gang__domain_by_index(gang_cluster *c, uint32_t index)
{
    return domain_by_index(c, index);
}

struct gang__spans gang__domain_spans(gang_cluster *c, uint32_t level)
{
    const struct gang__domain_table *t = gang__load(&c->nodes.level_domains[level]);
    struct gang__spans s = {t ? t->span : NULL, t ? gang__load(&t->count) : 0};
    return s;
}

const char *gang__domain_value(gang_cluster *c, uint32_t index)
{
    return domain_by_index(c, index)->value;
}

struct gang__members *gang__domain_members(struct gang__domain *d)
{
    return gang__load(&d->members);
}

static struct gang__members *members_new(const struct gang_mem *mem, uint32_t cap)
{
    struct gang__members *m = gang__zalloc(mem, 1, sizeof(*m) + cap * sizeof(m->slot[0]));
    if (m)
        m->cap = cap;
    return m;
}

static void members_publish(gang_cluster *c, struct gang__domain *d, struct gang__members *m)
{
    struct gang__members *old = gang__load(&d->members);
    gang__store(&d->members, m);
    old->next_retired = c->nodes.retired.members;
    c->nodes.retired.members = old;
    c->nodes.retired.count++;
}

/* Publishes where the members of a domain lie, for searches over all domains of the level. */
static void span_publish(gang_cluster *c, const struct gang__domain *d, uint32_t count)
{
    struct gang__domain_table *t = gang__load(&c->nodes.level_domains[d->level]);
    gang__store(&t->span[d->rank], count ? gang__span(d->first, d->last, count) : 0);
}

/* Finds the lowest and the highest slot. */
static void span_find(struct gang__domain *d, const struct gang__members *m, uint32_t count)
{
    d->first = UINT32_MAX;
    d->last = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = gang__load(&m->slot[i]);
        d->first = slot < d->first ? slot : d->first;
        d->last = slot > d->last ? slot : d->last;
    }
}

static uint64_t domain_hash(uint32_t level, uint32_t parent, const char *value)
{
    uint64_t h = gang__hash(GANG__HASH_SEED, &level, sizeof(level));
    h = gang__hash(h, &parent, sizeof(parent));
    return gang__hash(h, value, strlen(value));
}

static struct gang__domain *domain_of_link(struct gang__hash_link *n)
{
    return (struct gang__domain *)((char *)n - offsetof(struct gang__domain, name_link));
}

gang_result gang__domain_intern(gang_cluster *c, uint32_t level, uint32_t parent, const char *value,
                                uint32_t *index)
{
    uint64_t hash = domain_hash(level, parent, value);
    for (struct gang__hash_link *n = gang__hash_first(&c->nodes.domain_names, hash); n;
         n = n->next) {
        struct gang__domain *d = domain_of_link(n);
        if (n->hash == hash && d->level == level && d->parent == parent &&
            strcmp(d->value, value) == 0) {
            *index = d->index;
            return GANG_OK;
        }
    }
    gang_result r = table_reserve(c, &c->nodes.domains);
    if (r == GANG_OK)
        r = table_reserve(c, &c->nodes.level_domains[level]);
    if (r == GANG_OK)
        r = gang__hash_reserve(&c->nodes.domain_names, &c->mem);
    if (r != GANG_OK)
        return r;
    struct gang__domain *d = gang__zalloc(&c->mem, 1, sizeof(*d));
    struct gang__members *members = members_new(&c->mem, 8);
    if (!d || !members) {
        gang__release(&c->mem, d);
        gang__release(&c->mem, members);
        return GANG_ENOMEM;
    }
    d->index = table_count(&c->nodes.domains);
    d->level = level;
    d->parent = parent;
    d->rank = table_count(&c->nodes.level_domains[level]);
    memcpy(d->value, value, strlen(value) + 1);
    gang__store(&d->members, members);
    gang__hash_insert(&c->nodes.domain_names, &d->name_link, hash);
    table_add(&c->nodes.domains, d);
    table_add(&c->nodes.level_domains[level], d);
    *index = d->index;
    return GANG_OK;
}

gang_result gang__domain_reserve(gang_cluster *c, uint32_t index)
{
    struct gang__domain *d = domain_by_index(c, index);
    struct gang__members *old = gang__load(&d->members);
    uint32_t count = gang__load(&old->count);
    if (count < old->cap)
        return GANG_OK;
    struct gang__members *bigger = members_new(&c->mem, count * 2);
    if (!bigger)
        return GANG_ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        gang__store_relaxed(&bigger->slot[i], gang__load(&old->slot[i]));
    gang__store_relaxed(&bigger->count, count);
    members_publish(c, d, bigger);
    return GANG_OK;
}

void gang__domain_add(gang_cluster *c, uint32_t index, uint32_t slot)
{
    struct gang__domain *d = domain_by_index(c, index);
    struct gang__members *m = gang__load(&d->members);
    uint32_t count = gang__load(&m->count);
    gang__store(&m->slot[count], slot);
    gang__store(&m->count, count + 1);
    if (count == 0 || slot < d->first)
        d->first = slot;
    if (count == 0 || slot > d->last)
        d->last = slot;
    span_publish(c, d, count + 1);
}

/* In place, unlike gang__domain_remove(): a reader that saw the slot finds no node there, or by
 * then the node of another domain. */
void gang__domain_drop_last(gang_cluster *c, uint32_t index)
{
    struct gang__domain *d = domain_by_index(c, index);
    struct gang__members *m = gang__load(&d->members);
    uint32_t count = gang__load(&m->count) - 1;
    gang__store(&m->count, count);
    span_publish(c, d, count); /* may be too wide: then not dense, which is slower but not wrong */
}

/* No reader has the list yet. */
void gang__domain_order(gang_cluster *c, uint32_t index, const struct gang__members *as)
{
    struct gang__members *m = gang__load(&domain_by_index(c, index)->members);
    if (gang__load(&m->count) != gang__load(&as->count))
        return; /* it lists a slot twice, or a removed one: the order does not matter */
    for (uint32_t i = 0; i < gang__load(&m->count); i++)
        gang__store(&m->slot[i], gang__load(&as->slot[i]));
}

void gang__domain_remove(gang_cluster *c, uint32_t index, uint32_t slot)
{
    struct gang__domain *d = domain_by_index(c, index);
    struct gang__members *old = gang__load(&d->members);
    uint32_t count = gang__load(&old->count);
    struct gang__members *m = members_new(&c->mem, old->cap);
    if (!m)
        return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = gang__load(&old->slot[i]);
        if (s != slot)
            gang__store_relaxed(&m->slot[kept++], s);
    }
    gang__store_relaxed(&m->count, kept);
    members_publish(c, d, m);
    span_find(d, m, kept);
    span_publish(c, d, kept);
}

void gang__topology_free(gang_cluster *c)
{
    gang__hash_free(&c->nodes.domain_names, &c->mem);
    struct gang__domain_table *all = gang__load(&c->nodes.domains);
    for (uint32_t i = 0; all && i < gang__load(&all->count); i++) {
        struct gang__domain *d = gang__load(&all->entry[i]);
        gang__release(&c->mem, gang__load(&d->members));
        gang__release(&c->mem, d);
    }
    gang__release(&c->mem, all);
    for (uint32_t level = 0; level < GANG_MAX_LEVELS; level++)
        gang__release(&c->mem, gang__load(&c->nodes.level_domains[level]));
}
