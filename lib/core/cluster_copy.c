/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster.h"

#include "base/error.h"
#include "base/rcu.h"
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"

/* Copies the kinds, under the same numbers. */
static gang_result copy_kinds(gang_cluster *from, gang_worker *w)
{
    gang_result r = GANG_OK;
    for (int32_t k = GANG_KIND_SITE; r == GANG_OK; k++) {
        struct gang_kind_info info = GANG_KIND_INFO_INIT;
        if (gang_kind_get(from, k, &info) != GANG_OK)
            break;
        r = gang_kind_add(w, info.name, info.unit, info.scope, info.capacity, NULL);
    }
    return r;
}

/* Call it after copy_kinds(), which left every pool wholly free. */
static gang_result copy_pool(gang_cluster *from, gang_worker *w)
{
    uint64_t payload[GANG__POOL_WORDS];
    gang__rcu_enter();
    gang__cell_read(&from->commit, GANG__POOL, payload, GANG__POOL_WORDS);
    gang__rcu_leave();
    gang_result r = gang__commit_reserve(&w->commit, GANG__POOL_WORDS);
    if (r != GANG_OK)
        return r;
    gang__commit_begin(&w->commit);
    for (unsigned k = 1; k < GANG__POOL_WORDS; k++)
        gang__commit_add(&w->commit, GANG__POOL, k, GANG__OP_SET, payload[k]);
    return gang__commit_run(&w->commit, true, NULL);
}

/* Copies the partitions, also those that only requests name. */
static gang_result copy_partitions(gang_cluster *from, gang_worker *w)
{
    for (size_t i = 0; i < GANG__PARTITION_BUCKETS; i++)
        for (struct gang__partition *p = gang__load(&from->nodes.partition[i]); p; p = p->next) {
            int32_t mode;
            gang_result r = gang_partition_get(from, p->name, &mode);
            if (r == GANG_OK)
                r = gang_partition_set(w, p->name, mode);
            if (r != GANG_OK)
                return r;
        }
    return GANG_OK;
}

/* ---- inside a read section, with the mutex of the copy --------------------------------------- */

/* Copies the domains, under the same numbers. */
static gang_result copy_domains(gang_cluster *from, gang_cluster *to)
{
    gang_result r = GANG_OK;
    for (uint32_t i = 0; i < gang__domains_end(from) && r == GANG_OK; i++) {
        const struct gang__domain *d = gang__domain_by_index(from, i);
        uint32_t index;
        r = gang__domain_intern(to, d->level, d->parent, d->value, &index);
    }
    return r;
}

static gang_result copy_node(gang_cluster *from, gang_worker *w, uint32_t slot,
                             struct gang_error *error)
{
    uint64_t payload[GANG__MAX_WORDS];
    struct gang__node_description described;
    const struct gang__node *node = gang__node_at(from, slot);
    node = node ? gang__node_read(from, node->id, payload) : NULL;
    if (!node) /* the slot is empty */
        return GANG_OK;
    gang__node_describe(from, node, &described);
    return gang__node_insert_as(w, &described.spec, node->id, payload, error);
}

/* Copies the nodes into their slots. A node that comes into an empty slot gets the same id in both
 * clusters. */
static gang_result copy_nodes(gang_cluster *from, gang_worker *w, struct gang_error *error)
{
    gang_cluster *to = w->cluster;
    uint32_t end = gang__load(&from->commit.slot_end);
    gang_result r = GANG_OK;
    for (uint32_t slot = 1; slot < end && r == GANG_OK; slot++)
        r = copy_node(from, w, slot, error);
    if (r != GANG_OK)
        return r;
    gang__structure_lock(from);
    r = gang__slots_copy(to, end, from->nodes.free_slots, from->nodes.free_slot_count);
    gang__structure_unlock(from);
    for (uint32_t slot = 1; slot < end && r == GANG_OK; slot++) {
        struct gang__chunk *new = gang__chunk_of(&to->commit, slot),
                           *old = gang__chunk_of(&from->commit, slot);
        gang__store(&gang__slot_at(new, slot)->generation,
                    gang__load(&gang__slot_at(old, slot)->generation));
        gang__store(&new->set_at[slot % GANG__CHUNK], gang__load(&old->set_at[slot % GANG__CHUNK]));
    }
    gang__store(&to->nodes.states, gang__load(&from->nodes.states));
    for (uint32_t i = 0; i < gang__domains_end(from) && r == GANG_OK; i++)
        gang__domain_order(to, i, gang__domain_members(gang__domain_by_index(from, i)));
    return r;
}

static gang_result copy_into(gang_cluster *from, gang_worker *w, struct gang_error *error)
{
    gang_result r = copy_kinds(from, w);
    if (r == GANG_OK)
        r = copy_pool(from, w);
    if (r == GANG_OK)
        r = copy_partitions(from, w);
    gang__rcu_enter(); /* must not be entered with the mutex (base/fork.h) */
    gang__structure_lock(w->cluster);
    if (r == GANG_OK)
        r = copy_domains(from, w->cluster);
    if (r == GANG_OK)
        r = gang__gpu_classes_copy(w->cluster, from);
    if (r == GANG_OK)
        r = copy_nodes(from, w, error);
    gang__add_seq(&w->cluster->nodes.epoch, 1);
    gang__structure_unlock(w->cluster);
    gang__rcu_leave();
    return r;
}

gang_result gang__cluster_copy(gang_cluster *from, gang_cluster **copy, struct gang_error *error)
{
    struct gang_cluster_opts o = GANG_CLUSTER_OPTS_INIT;
    const char *level[GANG_MAX_LEVELS];
    gang_worker *w = NULL;
    for (uint32_t i = 0; i < from->nodes.level_count; i++)
        level[i] = from->nodes.level_name[i];
    o.levels = level;
    o.level_count = from->nodes.level_count;
    o.mem = &from->mem;
    o.max_nodes = from->nodes.max_slots;
    o.max_workers = (int32_t)from->max_workers;
    o.manual_recycle = from->nodes.manual_recycle;
    o.policy = from->policy;
    gang_result r = gang_cluster_new(&o, copy, error);
    if (r != GANG_OK)
        return r;
    r = gang_worker_new(*copy, &w);
    if (r == GANG_OK)
        r = copy_into(from, w, error);
    gang_worker_free(w);
    if (r == GANG_OK)
        return r;
    gang_cluster_free(*copy);
    *copy = NULL;
    return gang__error(error, r, NULL, "%s", gang_strerror(r));
}
