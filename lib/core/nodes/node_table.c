/* SPDX-License-Identifier: Apache-2.0 */
/* The node table: finding a node, and reading its words and its description at one instant. */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/commit/commit.h"
#include "core/nodes/health.h"
#include "core/nodes/node.h"
#include "core/nodes/node_type.h"
#include "core/nodes/partition.h"
#include "core/nodes/reclaim.h"
#include "core/nodes/topology.h"
#include "model/specs.h"

/* ---- lookups --------------------------------------------------------------------------------- */

struct gang__node *gang__node_at(gang_cluster *c, uint32_t slot)
{
    struct gang__chunk *chunk = gang__chunk_of(&c->commit, slot);
    return chunk ? gang__load(&gang__slot_at(chunk, slot)->node) : NULL;
}

struct gang__node *gang__node_of(gang_cluster *c, gang_node_id id)
{
    uint32_t slot = (uint32_t)id;
    if (slot == GANG__POOL || slot >= gang__load(&c->commit.slot_end))
        return NULL;
    struct gang__node *node = gang__node_at(c, slot);
    return node && node->id == id ? node : NULL;
}

int32_t gang__level_find(const gang_cluster *c, const char *name)
{
    for (uint32_t i = 0; i < c->nodes.level_count; i++)
        if (strcmp(c->nodes.level_name[i], name) == 0)
            return (int32_t)i;
    return -1;
}

static struct gang__node *node_of_link(struct gang__hash_link *n)
{
    return (struct gang__node *)((char *)n - offsetof(struct gang__node, name_link));
}

struct gang__node *gang__node_by_name(gang_cluster *c, const char *name)
{
    uint64_t hash = gang__hash(GANG__HASH_SEED, name, strlen(name));
    for (struct gang__hash_link *n = gang__hash_first(&c->nodes.node_names, hash); n; n = n->next) {
        struct gang__node *node = node_of_link(n);
        if (n->hash == hash && strcmp(node->name, name) == 0)
            return node;
    }
    return NULL;
}

bool gang__node_is_free(const struct gang__node *node, const uint64_t *payload)
{
    const struct gang__node_type *type = node->type;
    unsigned words = gang__word_count(type->layout);
    for (unsigned i = 1; i < words; i++)
        if (payload[i] != type->capacity[i])
            return false;
    return gang__head_cpu(payload[GANG__WORD_HEAD]) == type->capacity[GANG__WORD_HEAD];
}

static int32_t state_public(uint32_t word)
{
    return word == GANG__STATE_UP         ? GANG_NODE_UP
           : word == GANG__STATE_DRAINING ? GANG_NODE_DRAINING
           : word == GANG__STATE_DOWN     ? GANG_NODE_DOWN
                                          : GANG_NODE_REMOVED;
}

/* ---- reading --------------------------------------------------------------------------------- */

gang_result gang_node_find(gang_cluster *cluster, const char *name, gang_node_id *id)
{
    if (id)
        *id = GANG_ID_NONE;
    if (!cluster || !name || !id)
        return GANG_EINVAL;
    gang__structure_lock(cluster);
    struct gang__node *node = gang__node_by_name(cluster, name);
    if (node)
        *id = node->id;
    gang__structure_unlock(cluster);
    return node ? GANG_OK : GANG_ENOENT;
}

void gang__node_info(const struct gang__node *node, const uint64_t *payload,
                     struct gang_node_info *info)
{
    const struct gang__node_type *type = node->type;
    struct gang__layout l = type->layout;
    info->id = node->id;
    info->state = state_public(gang__head_state(payload[GANG__WORD_HEAD]));
    info->gpu_count = l.gpus;
    info->core_count = (int32_t)type->spec->core_count;
    info->cpu_milli = (int64_t)type->capacity[GANG__WORD_HEAD];
    info->memory_bytes = (int64_t)type->capacity[GANG__WORD_MEMORY] * GANG_PAGE_BYTES;
    info->cpu_free = (int64_t)gang__head_cpu(payload[GANG__WORD_HEAD]);
    info->memory_free = (int64_t)payload[GANG__WORD_MEMORY] * GANG_PAGE_BYTES;
    for (unsigned i = 0; i < l.gpus; i++) {
        uint32_t share = gang__share(payload[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                                     i % GANG__SHARES_PER_WORD);
        info->gpu_share_free[i] = (uint16_t)share;
        info->gpu_free += share;
        if (share == 1000) {
            info->gpus_free++;
            info->gpu_mask |= UINT64_C(1) << i;
        }
    }
    for (unsigned kind = GANG_KIND_SITE; kind < GANG_MAX_KINDS; kind++) {
        unsigned word = type->kind_word[kind];
        info->amount[kind] = word ? (int64_t)type->capacity[word] : 0;
        info->amount_free[kind] = word ? (int64_t)payload[word] : 0;
    }
    info->gpu_unhealthy = gang__health_mask(l, payload + gang__word_count(l));
    memcpy(info->name, node->name, strlen(node->name) + 1);
}

bool gang__node_is_drained(const struct gang__node *node, const uint64_t *payload)
{
    return gang__head_state(payload[GANG__WORD_HEAD]) == GANG__STATE_GONE &&
           gang__node_is_free(node, payload);
}

/* While a node gets a new description, the commit of that change says which description the words
 * belong to. Goes round when a description was replaced. */
struct gang__node *gang__node_read(gang_cluster *c, gang_node_id id, uint64_t *payload)
{
    for (;;) {
        struct gang__node *node = gang__node_of(c, id);
        if (!node)
            return NULL;
        uint64_t label, ref = gang__load(&node->newer_ref);
        enum gang__outcome before =
            ref ? gang__commit_outcome(&c->commit, ref, &label) : GANG__OUTCOME_OPEN;
        gang__cell_read(&c->commit, node->slot, payload, gang__all_words(node->type->layout));
        enum gang__outcome after =
            ref ? gang__commit_outcome(&c->commit, ref, &label) : GANG__OUTCOME_OPEN;
        bool same =
            before == after && gang__load(&node->newer_ref) == ref && gang__node_of(c, id) == node;
        if (same && before == GANG__OUTCOME_DONE)
            node = gang__load(&node->newer);
        if (same && before != GANG__OUTCOME_OVER)
            return gang__node_is_drained(node, payload) ? NULL : node;
    }
}

bool gang__node_free_get(gang_cluster *c, gang_node_id id, struct gang__node_free *out)
{
    uint64_t payload[GANG__MAX_WORDS];
    gang__rcu_enter();
    const struct gang__node *node = gang__node_read(c, id, payload);
    unsigned words = node ? gang__share_words(node->type->layout) : 0;
    gang__rcu_leave();
    if (!node)
        return false;
    *out = (struct gang__node_free){(int64_t)gang__head_cpu(payload[GANG__WORD_HEAD]),
                                    (int64_t)payload[GANG__WORD_MEMORY], 0};
    for (unsigned i = 0; i < words; i++)
        for (unsigned k = 0; k < GANG__SHARES_PER_WORD; k++)
            out->gpu_milli += gang__share(payload[GANG__WORD_SHARES + i], k);
    return true;
}

gang_node_id gang__node_id_at(gang_cluster *c, uint32_t slot)
{
    uint64_t payload[GANG__MAX_WORDS];
    gang__rcu_enter();
    const struct gang__node *node = gang__node_at(c, slot);
    gang_node_id id = node ? node->id : GANG_ID_NONE;
    if (node && (!gang__node_read(c, id, payload) ||
                 gang__head_state(payload[GANG__WORD_HEAD]) == GANG__STATE_GONE))
        id = GANG_ID_NONE;
    gang__rcu_leave();
    return id;
}

gang_result gang_node_get(gang_cluster *cluster, gang_node_id id, struct gang_node_info *info)
{
    if (!cluster || !info)
        return GANG_EINVAL;
    struct gang_node_info out;
    memset(&out, 0, sizeof(out));
    gang__rcu_enter();
    uint64_t payload[GANG__MAX_WORDS];
    struct gang__node *node = gang__node_read(cluster, id, payload);
    if (node)
        gang__node_info(node, payload, &out);
    gang__rcu_leave();
    if (!node)
        return GANG_ESTALE;
    out.size = info->size;
    return gang__struct_out(info, info->size, sizeof(out), &out, sizeof(out));
}

void gang__node_describe(gang_cluster *c, const struct gang__node *node,
                         struct gang__node_description *d)
{
    struct gang_node_spec *spec = &d->spec;
    *spec = *node->type->spec;
    spec->name = node->name;
    spec->state = node->state;
    for (size_t i = 0; i < spec->gpu_count; i++) {
        d->gpu[i] = spec->gpus[i];
        d->gpu[i].uuid = gang__node_uuid(node, i);
        if (gang__health_described(node) >> i & 1)
            d->gpu[i].state = GANG_GPU_UNHEALTHY;
    }
    spec->gpus = d->gpu;
    if (node->tags) {
        spec->labels = node->tags->labels;
        spec->label_count = node->tags->label_count;
        spec->partitions = d->partition;
        spec->partition_count = node->tags->partition_count;
        for (size_t i = 0; i < spec->partition_count; i++)
            d->partition[i] = node->tags->partitions[i]->name;
    }
    spec->topology = d->place;
    for (uint32_t level = 0; level < c->nodes.level_count; level++)
        if (node->domain[level] != GANG__NO_DOMAIN)
            d->place[spec->topology_count++] = (struct gang_label){
                c->nodes.level_name[level], gang__domain_value(c, node->domain[level])};
}

/* The specification was checked when the node was added. */
static gang_result spec_copy(gang_cluster *c, const struct gang__node *node,
                             struct gang_node_spec **copy)
{
    struct gang__node_description d;
    gang__node_describe(c, node, &d);
    *copy = gang__node_spec_lay_mem(&gang__mem_libc, &d.spec);
    return *copy ? GANG_OK : GANG_ENOMEM;
}

gang_result gang_node_get_spec(gang_cluster *cluster, gang_node_id id, struct gang_node_spec **spec)
{
    if (spec)
        *spec = NULL;
    if (!cluster || !spec)
        return GANG_EINVAL;
    gang__rcu_enter();
    uint64_t payload[GANG__MAX_WORDS];
    struct gang__node *node = gang__node_read(cluster, id, payload);
    gang_result r = node ? spec_copy(cluster, node, spec) : GANG_ESTALE;
    gang__rcu_leave();
    return r;
}

gang_node_id gang_node_next(gang_cluster *cluster, gang_node_id id)
{
    if (!cluster)
        return GANG_ID_NONE;
    gang_node_id next = GANG_ID_NONE;
    uint32_t end = gang__load(&cluster->commit.slot_end);
    if ((uint32_t)id >= end)
        return GANG_ID_NONE;
    gang__rcu_enter();
    for (uint32_t slot = (uint32_t)id + 1; slot < end && !next; slot++) {
        struct gang__node *node = gang__node_at(cluster, slot);
        if (!node)
            continue;
        uint64_t head;
        gang__cell_read(&cluster->commit, slot, &head, 1);
        if (gang__head_state(head) != GANG__STATE_GONE)
            next = node->id;
    }
    gang__rcu_leave();
    return next;
}

int64_t gang_node_count(const gang_cluster *cluster)
{
    return cluster ? (int64_t)gang__load(&cluster->nodes.node_count) : 0;
}
