/* SPDX-License-Identifier: Apache-2.0 */
/* The node table: finding, describing anew, draining, removing, reading. How a node gets in stands in
 * node_add.c, how it is described in node_new.c.
 *
 * What is taken of a node changes by commits alone (core/commit/commit.c), and so do its state and its
 * capacity. What is said about it (struct gang__node and its shape) is immutable and replaced under
 * RCU. A node enters in the order: description and tables first, then the commit that brings it up, so
 * that whoever sees capacity also sees the node; it leaves in the reverse order. */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/commit/commit.h"
#include "core/commit/index.h"
#include "core/commit/snapshot_save.h"
#include "core/nodes/health.h"
#include "core/nodes/node.h"
#include "core/nodes/node_type.h"
#include "core/nodes/partition.h"
#include "core/nodes/reclaim.h"
#include "core/nodes/topology.h"
#include "model/node_spec.h"

/* ---- lookups ------------------------------------------------------------------------------- */

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

/* Under the structure mutex. */
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
                                          : GANG_NODE_GONE;
}

/* ---- changing -------------------------------------------------------------------------------------- */

static const char *uuid_of(const struct gang__node *node, size_t gpu)
{
    return node->tags && node->tags->uuids ? node->tags->uuids[gpu] : NULL;
}

static bool same_uuids(const struct gang__node *a, const struct gang__node *b)
{
    for (size_t i = 0; i < a->type->spec->gpu_count; i++)
        if (!gang__same_or_empty(uuid_of(a, i), uuid_of(b, i)))
            return false;
    return true;
}

/* The same words count the same kinds. */
static bool same_kinds(const struct gang__node *a, const struct gang__node *b)
{
    return memcmp(a->type->kind_word, b->type->kind_word, sizeof(a->type->kind_word)) == 0;
}

/* Tell which kind a word counts. */
static int32_t kind_of_word(const struct gang__node *node, unsigned word)
{
    for (int32_t kind = GANG_KIND_SITE; kind < GANG_MAX_KINDS; kind++)
        if (node->type->kind_word[kind] == word && word)
            return kind;
    return word == GANG__WORD_HEAD ? GANG_KIND_CPU : GANG_KIND_MEMORY;
}

/* One commit for all differences of capacity, and the state. */
static gang_result commit_change(gang_worker *w, struct gang__node *old, struct gang__node *node,
                                 struct gang_error *error)
{
    unsigned words = gang__word_count(node->type->layout);
    gang_result r = gang__commit_reserve(&w->commit, gang__all_words(node->type->layout));
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "out of memory");
    gang__health_expect(w->cluster, gang__health_described(node));
    gang__store(&old->newer, node);
    gang__store(&old->newer_ref, gang__commit_next_ref(&w->commit));
    gang__commit_begin(&w->commit);
    for (unsigned k = 0; k < words; k++) {
        uint64_t from = old->type->capacity[k], to = node->type->capacity[k];
        uint64_t difference = to > from ? to - from : from - to;
        if (k == GANG__WORD_HEAD)
            gang__commit_add(&w->commit, node->slot, k, GANG__OP_HEAD,
                             gang__head(gang__state_word(node->state), difference) |
                                 (to > from ? GANG__HEAD_GIVE : 0) | GANG__HEAD_IF_THERE |
                                 GANG__HEAD_SET_STATE);
        else if (difference)
            gang__commit_add(&w->commit, node->slot, k, to > from ? GANG__OP_GIVE : GANG__OP_TAKE,
                             difference);
    }
    uint32_t health = gang__health_set(w, node);
    uint32_t refused = 0;
    r = gang__commit_run(&w->commit, true, &refused);
    if (r == GANG_OK) {
        gang__health_replaced(w, node, health);
        return r;
    }
    gang__health_unexpect(w->cluster, gang__health_described(node));
    gang__store(&old->newer_ref, 0);
    uint32_t slot;
    unsigned word;
    uint64_t payload;
    gang__commit_op(&w->commit, refused, &slot, &word, &payload);
    int32_t kind = kind_of_word(node, word);
    gang__error(error, GANG_EBUSY, NULL, "more %s is taken than the new capacity",
                w->cluster->nodes.kind[kind].name);
    if (error && error->size >= sizeof(*error)) {
        error->kind = kind;
        error->constraint = GANG_WHY_KIND;
        error->id = node->id;
    }
    return GANG_EBUSY;
}

static void move_domains(gang_cluster *c, const struct gang__node *from,
                         const struct gang__node *to)
{
    for (uint32_t level = 0; level < c->nodes.level_count; level++)
        if (from->domain[level] != to->domain[level] && from->domain[level] != GANG__NO_DOMAIN)
            gang__domain_remove(c, from->domain[level], from->slot);
}

static gang_result change(gang_worker *w, struct gang__node *old, struct gang__node *node,
                          struct gang_error *error)
{
    gang_cluster *c = w->cluster;
    node->id = old->id;
    node->slot = old->slot;
    if (strcmp(old->name, node->name) != 0)
        return gang__error(error, GANG_EINVAL, "name", "a node keeps its name");
    /* What tasks hold by number must stay. */
    if (!gang__same_devices(old->type->spec, node->type->spec) || !same_uuids(old, node))
        return gang__error(error, GANG_EINVAL, NULL,
                           "GPUs, links, NUMA domains or cores differ: remove the node and add it");
    if (old->type->layout.core_words != node->type->layout.core_words)
        return gang__error(error, GANG_EINVAL, "cpu_milli",
                           "decides whether cores are named: remove the node and add it");
    if (!same_kinds(old, node))
        return gang__error(error, GANG_EINVAL, "amounts",
                           "the kinds differ: remove the node and add it");
    gang_result r = gang__node_type_gpu_class(c, node->type, error);
    if (r != GANG_OK)
        return r;
    r = gang__domains_reserve(c, node);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "out of memory");
    for (uint32_t level = 0; level < c->nodes.level_count; level++)
        if (node->domain[level] != GANG__NO_DOMAIN && node->domain[level] != old->domain[level])
            gang__domain_add(c, node->domain[level], node->slot);
    struct gang__chunk *chunk = gang__chunk_of(&c->commit, node->slot);
    uint64_t described = gang__load(&chunk->described);
    gang__store(&chunk->described, GANG__PENDING);
    r = commit_change(w, old, node, error);
    if (r != GANG_OK) {
        gang__store(&chunk->described, described);
        move_domains(c, node, old);
        return r;
    }
    struct gang__slot *slot = gang__slot_at(chunk, node->slot);
    gang__store(&slot->type, node->type);
    node->older = old;
    gang__store(&node->label, gang__commit_label(&w->commit));
    gang__store(&slot->node, node);
    gang__chunk_changed(c, node->slot);
    gang__store(&chunk->described, gang__commit_label(&w->commit));
    old->gone_at = gang__snapshot_number(&c->commit);
    gang__hash_remove(&c->nodes.node_names, &old->name_link);
    gang__hash_insert(&c->nodes.node_names, &node->name_link, old->name_link.hash);
    move_domains(c, old, node);
    old->next_retired = c->nodes.retired.descriptions;
    c->nodes.retired.descriptions = old;
    c->nodes.retired.count++;
    /* Labels count as capacity for a search that is under way: let it look again. */
    gang__add_seq(&w->commit.stamp, 1);
    gang__index_update_slot(&c->commit, node->slot);
    gang__add_seq(&c->nodes.epoch, 1);
    return GANG_OK;
}

gang_result gang_node_change(gang_worker *worker, gang_node_id id,
                             const struct gang_node_spec *spec, struct gang_error *error)
{
    if (!worker)
        return gang__error(error, GANG_EINVAL, NULL, "no worker");
    gang_cluster *c = worker->cluster;
    gang__structure_lock(c);
    gang__reclaim_some(c);
    struct gang__node *node = NULL;
    struct gang__node *old = gang__node_of(c, id);
    gang_result r = GANG_OK;
    if (!old || gang__node_by_name(c, old->name) != old)
        r = gang__error(error, GANG_ESTALE, NULL, "no such node");
    if (r == GANG_OK)
        r = gang__node_new(c, spec, &node, error);
    if (r == GANG_OK)
        r = change(worker, old, node, error);
    if (r != GANG_OK)
        gang__node_free(c, node);
    gang__structure_unlock(c);
    return r;
}

/* Set the state word of a node that is not gone. */
static gang_result commit_state(gang_worker *w, uint32_t slot, uint32_t state)
{
    gang_result r = gang__commit_reserve(&w->commit, 1);
    if (r != GANG_OK)
        return r;
    gang__commit_begin(&w->commit);
    gang__commit_add(&w->commit, slot, GANG__WORD_HEAD, GANG__OP_HEAD,
                     gang__head(state, 0) | GANG__HEAD_IF_THERE | GANG__HEAD_SET_STATE);
    if (gang__commit_run(&w->commit, state == GANG__STATE_UP, NULL) != GANG_OK)
        return GANG_ESTALE;
    gang__add_seq(&w->cluster->nodes.states, 1);
    gang__index_update_slot(&w->cluster->commit, slot);
    return GANG_OK;
}

gang_result gang_node_set_state(gang_worker *worker, gang_node_id id, int32_t state)
{
    if (!worker || state < GANG_NODE_UP || state > GANG_NODE_DOWN)
        return GANG_EINVAL;
    gang__rcu_enter();
    struct gang__node *node = gang__node_of(worker->cluster, id);
    gang_result r = node ? commit_state(worker, node->slot, gang__state_word(state)) : GANG_ESTALE;
    gang__rcu_leave();
    return r;
}

gang_result gang_node_remove(gang_worker *worker, gang_node_id id)
{
    if (!worker)
        return GANG_EINVAL;
    gang_cluster *c = worker->cluster;
    gang__structure_lock(c);
    struct gang__node *node = gang__node_of(c, id);
    gang_result r = node && gang__node_by_name(c, node->name) == node ? GANG_OK : GANG_ESTALE;
    if (r == GANG_OK)
        r = commit_state(worker, node->slot, GANG__STATE_GONE);
    if (r == GANG_OK) {
        for (uint32_t level = 0; level < c->nodes.level_count; level++)
            if (node->domain[level] != GANG__NO_DOMAIN)
                gang__domain_remove(c, node->domain[level], node->slot);
        gang__hash_remove(&c->nodes.node_names, &node->name_link);
        node->next_retired = c->nodes.removed;
        c->nodes.removed = node;
        atomic_fetch_sub(&c->nodes.node_count, 1);
        gang__add_seq(&c->nodes.epoch, 1);
        gang__reclaim_some(c);
    }
    gang__structure_unlock(c);
    return r;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

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

/* While a node is described anew, the commit of that tells which description the words go with. It goes
 * round when a description was replaced. */
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

void gang__node_describe(gang_cluster *c, const struct gang__node *node, struct gang__described *d)
{
    struct gang_node_spec *spec = &d->spec;
    *spec = *node->type->spec;
    spec->name = node->name;
    spec->state = node->state;
    for (size_t i = 0; i < spec->gpu_count; i++) {
        d->gpu[i] = spec->gpus[i];
        d->gpu[i].uuid = uuid_of(node, i);
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

/* It was checked when it came. */
static gang_result spec_copy(gang_cluster *c, const struct gang__node *node,
                             struct gang_node_spec **copy)
{
    struct gang__described d;
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
