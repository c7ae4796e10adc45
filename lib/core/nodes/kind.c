/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of resource kinds, and the pool: the cell of slot 0 counts the cluster-wide ones. */
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/commit/commit.h"
#include "core/nodes/kind.h"
#include "model/specs.h"

static void kind_set(struct gang__kind *k, const char *name, const char *unit, int32_t scope)
{
    memcpy(k->name, name, strlen(name) + 1);
    memcpy(k->unit, unit, strlen(unit) + 1);
    k->scope = scope;
}

void gang__kinds_init(gang_cluster *c)
{
    kind_set(&c->nodes.kind[GANG_KIND_CPU], "cpu", "millicores", GANG_SCOPE_NODE);
    kind_set(&c->nodes.kind[GANG_KIND_MEMORY], "memory", "bytes", GANG_SCOPE_NODE);
    kind_set(&c->nodes.kind[GANG_KIND_GPU], "gpu", "milli-GPUs", GANG_SCOPE_NODE);
    gang__store(&c->nodes.kind_count, (uint32_t)GANG_KIND_SITE);
}

unsigned gang__pool_word(int32_t kind)
{
    return GANG__WORD_SHARES + (unsigned)(kind - GANG_KIND_SITE);
}

int32_t gang__kind_find(const gang_cluster *c, const char *name)
{
    uint32_t count = gang__load(&c->nodes.kind_count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(c->nodes.kind[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

/* Changes the pool by a difference. The caller holds the structure mutex. */
static gang_result pool_change(gang_worker *w, int32_t kind, int64_t difference)
{
    gang_result r = gang__commit_reserve(&w->commit, 1);
    if (r != GANG_OK || difference == 0)
        return r;
    bool more = difference > 0;
    gang__commit_begin(&w->commit);
    gang__commit_add(&w->commit, GANG__POOL, gang__pool_word(kind),
                     more ? GANG__OP_GIVE : GANG__OP_TAKE,
                     (uint64_t)(more ? difference : -difference));
    return gang__commit_run(&w->commit, more, NULL) == GANG_OK ? GANG_OK : GANG_EBUSY;
}

gang_result gang_kind_add(gang_worker *worker, const char *name, const char *unit, int32_t scope,
                          int64_t capacity, int32_t *kind)
{
    if (kind)
        *kind = 0;
    if (!worker || gang__text_check(name, false) != GANG_OK || strcmp(name, "gpu_memory") == 0 ||
        (scope != GANG_SCOPE_NODE && scope != GANG_SCOPE_CLUSTER))
        return GANG_EINVAL;
    if (!unit || !unit[0])
        unit = "units";
    if (strlen(unit) > GANG_MAX_NAME)
        return GANG_EINVAL;
    if (capacity < 0 || capacity > GANG_MAX_AMOUNT || (scope == GANG_SCOPE_NODE && capacity))
        return GANG_ERANGE;
    gang_cluster *c = worker->cluster;
    gang__structure_lock(c);
    uint32_t count = gang__load(&c->nodes.kind_count);
    gang_result r = GANG_OK;
    if (gang__kind_find(c, name) >= 0)
        r = GANG_EEXIST;
    else if (count == GANG_MAX_KINDS)
        r = GANG_ELIMIT;
    else
        r = pool_change(worker, (int32_t)count, capacity);
    if (r == GANG_OK) {
        kind_set(&c->nodes.kind[count], name, unit, scope);
        gang__store(&c->nodes.kind[count].capacity, (uint64_t)capacity);
        gang__store(&c->nodes.kind_count, count + 1);
        gang__add_seq(&c->nodes.epoch, 1);
        if (kind)
            *kind = (int32_t)count;
    }
    gang__structure_unlock(c);
    return r;
}

gang_result gang_kind_resize(gang_worker *worker, int32_t kind, int64_t capacity)
{
    if (!worker)
        return GANG_EINVAL;
    gang_cluster *c = worker->cluster;
    if (kind < GANG_KIND_SITE || (uint32_t)kind >= gang__load(&c->nodes.kind_count) ||
        c->nodes.kind[kind].scope != GANG_SCOPE_CLUSTER)
        return GANG_EINVAL;
    if (capacity < 0 || capacity > GANG_MAX_AMOUNT)
        return GANG_ERANGE;
    gang__structure_lock(c);
    int64_t before = (int64_t)gang__load(&c->nodes.kind[kind].capacity);
    gang_result r = pool_change(worker, kind, capacity - before);
    if (r == GANG_OK) {
        gang__store(&c->nodes.kind[kind].capacity, (uint64_t)capacity);
        gang__add_seq(&c->nodes.epoch, 1);
    }
    gang__structure_unlock(c);
    return r;
}

gang_result gang_kind_find(const gang_cluster *cluster, const char *name, int32_t *kind)
{
    if (kind)
        *kind = 0;
    if (!cluster || !name || !kind)
        return GANG_EINVAL;
    int32_t found = gang__kind_find(cluster, name);
    if (found < 0)
        return GANG_ENOENT;
    *kind = found;
    return GANG_OK;
}

gang_result gang_kind_get(gang_cluster *cluster, int32_t kind, struct gang_kind_info *info)
{
    if (!cluster || !info)
        return GANG_EINVAL;
    if (kind < 0 || (uint32_t)kind >= gang__load(&cluster->nodes.kind_count))
        return GANG_ENOENT;
    const struct gang__kind *k = &cluster->nodes.kind[kind];
    struct gang_kind_info out = GANG_KIND_INFO_INIT;
    out.kind = kind;
    out.scope = k->scope;
    out.name = k->name;
    out.unit = k->unit;
    if (k->scope == GANG_SCOPE_CLUSTER) {
        uint64_t payload[GANG__MAX_WORDS];
        gang__rcu_enter();
        gang__cell_read(&cluster->commit, GANG__POOL, payload, gang__pool_word(kind) + 1);
        gang__rcu_leave();
        out.capacity = (int64_t)gang__load(&k->capacity);
        out.available = (int64_t)payload[gang__pool_word(kind)];
    }
    return gang__struct_out(info, info->size, sizeof(out), &out, sizeof(out));
}
