/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions are found and made without the structure mutex, since any thread compiles requests:
 * a few lists that only grow, at their heads. The modes change under the mutex, by publishing a
 * new table. That is one step, and part of the stamp, so a search that refuses sees it
 * (core/commit/commit.c, "A refusal is true"). */
#include "core/nodes/partition.h"

#include <string.h>

#include "base/hash_table.h"
#include "base/rcu.h"
#include "core/nodes/node.h"
#include "core/nodes/reclaim.h"
#include "model/specs.h"

static size_t bucket_of(const char *name)
{
    return gang__hash(GANG__HASH_SEED, name, strlen(name)) % GANG__PARTITION_BUCKETS;
}

/* Finds a partition by name in a list, before `end`. */
static struct gang__partition *find_before(struct gang__partition *p,
                                           const struct gang__partition *end, const char *name)
{
    while (p != end && strcmp(p->name, name) != 0)
        p = p->next;
    return p == end ? NULL : p;
}

struct gang__partition *gang__partition_find(const gang_cluster *c, const char *name)
{
    return find_before(gang__load(&c->nodes.partition[bucket_of(name)]), NULL, name);
}

struct gang__partition *gang__partition_intern(gang_cluster *c, const char *name)
{
    _Atomic(struct gang__partition *) *head = &c->nodes.partition[bucket_of(name)];
    struct gang__partition *first = gang__load(head), *seen = NULL;
    struct gang__partition *existing = find_before(first, NULL, name);
    if (existing)
        return existing;
    size_t bytes = strlen(name) + 1;
    struct gang__partition *made = gang__zalloc(&c->mem, 1, sizeof(*made) + bytes);
    if (!made)
        return NULL;
    memcpy(made->name, name, bytes);
    do {
        /* Look only at what other threads put in front since. */
        existing = find_before(first, seen, name);
        if (existing) {
            gang__release(&c->mem, made);
            return existing;
        }
        made->next = seen = first;
    } while (!gang__publish(head, &first, made));
    return made;
}

/* Makes a table with one partition changed, and gives that partition a number. */
static struct gang__modes *modes_with(gang_cluster *c, struct gang__partition *p, int32_t mode)
{
    const struct gang__modes *old = gang__modes_all(c);
    uint32_t number = gang__load(&p->number), before = old ? old->count : 1;
    uint32_t count = number ? before : before + 1;
    struct gang__modes *m = gang__zalloc(&c->mem, 1, sizeof(*m) + count);
    if (!m)
        return NULL;
    if (old)
        memcpy(m->mode, old->mode, before);
    if (!number) {
        number = before;
        gang__store(&p->number, number);
    }
    m->mode[number] = (uint8_t)mode;
    m->count = count;
    m->rules.version = old ? old->rules.version + 1 : 1;
    for (uint32_t i = 1; i < count; i++) {
        m->lending += m->mode[i] == GANG_PARTITION_LENDING;
        m->exclusive += m->mode[i] == GANG_PARTITION_EXCLUSIVE;
    }
    return m;
}

/* Moves the version of all chunks by one; see gang__chunk_changed(). */
static void step_changes(gang_cluster *c)
{
    for (uint32_t i = 0; i < GANG__CHUNKS; i++)
        if (gang__load(&c->commit.chunk[i]))
            gang__add_seq(&c->nodes.changes[i], 1);
}

static void publish(gang_cluster *c, struct gang__modes *m)
{
    step_changes(c);
    /* seq_cst -> gang__load_seq in gang__stamp_read(): it stands in one order with the stamps of
     * commits. `rules` is the first member of the modes. */
    struct gang__modes *old = (struct gang__modes *)atomic_exchange_explicit(
        &c->commit.rules, &m->rules, memory_order_seq_cst);
    step_changes(c);
    if (old) {
        old->next_retired = c->nodes.retired.modes;
        c->nodes.retired.modes = old;
        c->nodes.retired.count++;
    }
    /* After it: answers of "never" that are remembered from now on used the new modes. */
    gang__add_seq(&c->nodes.epoch, 1);
}

gang_result gang_partition_set(gang_worker *worker, const char *name, int32_t mode)
{
    if (!worker || gang__text_check(name, false) != GANG_OK || mode < GANG_PARTITION_SHARED ||
        mode > GANG_PARTITION_LENDING)
        return GANG_EINVAL;
    gang_cluster *c = worker->cluster;
    gang_result r = GANG_OK;
    gang__structure_lock(c);
    gang__reclaim_some(c);
    struct gang__partition *p = gang__partition_intern(c, name);
    const struct gang__modes *now = gang__modes_all(c);
    if (!p) {
        r = GANG_ENOMEM;
    } else if (mode != (now ? gang__mode_of(now, p) : (int32_t)GANG_PARTITION_SHARED)) {
        struct gang__modes *m = modes_with(c, p, mode);
        if (m)
            publish(c, m);
        else
            r = GANG_ENOMEM;
    }
    gang__structure_unlock(c);
    return r;
}

gang_result gang_partition_get(gang_cluster *cluster, const char *name, int32_t *mode)
{
    if (mode)
        *mode = GANG_PARTITION_SHARED;
    if (!cluster || !mode || gang__text_check(name, false) != GANG_OK)
        return GANG_EINVAL;
    gang__rcu_enter();
    const struct gang__partition *p = gang__partition_find(cluster, name);
    const struct gang__modes *m = gang__modes_all(cluster);
    if (p && m)
        *mode = gang__mode_of(m, p);
    gang__rcu_leave();
    return GANG_OK;
}

void gang__partitions_free(gang_cluster *c)
{
    gang__release(&c->mem, gang__load(&c->commit.rules));
    for (size_t i = 0; i < GANG__PARTITION_BUCKETS; i++) {
        struct gang__partition *p = gang__load(&c->nodes.partition[i]), *next;
        for (; p; p = next) {
            next = p->next;
            gang__release(&c->mem, p);
        }
    }
}
