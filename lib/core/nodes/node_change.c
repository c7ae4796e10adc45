/* SPDX-License-Identifier: Apache-2.0 */
/* Changing a node: description, state, removal.
 *
 * What is taken of a node, its state and its capacity change only by commits
 * (core/commit/commit.c). Its description (struct gang__node and its type) is immutable and
 * replaced under RCU. A node enters in this order: description and tables, then the commit that
 * brings it up; so a thread that sees capacity also sees the node. It leaves in the reverse
 * order. */
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

/* ---- changing -------------------------------------------------------------------------------- */

static bool same_uuids(const struct gang__node *a, const struct gang__node *b)
{
    for (size_t i = 0; i < a->type->spec->gpu_count; i++)
        if (!gang__same_or_empty(gang__node_uuid(a, i), gang__node_uuid(b, i)))
            return false;
    return true;
}

/* Do the same words count the same kinds? */
static bool same_kinds(const struct gang__node *a, const struct gang__node *b)
{
    return memcmp(a->type->kind_word, b->type->kind_word, sizeof(a->type->kind_word)) == 0;
}

/* The kind that a word counts, for messages. */
static int32_t kind_of_word(const struct gang__node *node, unsigned word)
{
    for (int32_t kind = GANG_KIND_SITE; kind < GANG_MAX_KINDS; kind++)
        if (node->type->kind_word[kind] == word && word)
            return kind;
    return word == GANG__WORD_HEAD ? GANG_KIND_CPU : GANG_KIND_MEMORY;
}

/* Describes all differences of capacity, and the state. Returns where health begins. */
static uint32_t describe_change(gang_worker *w, const struct gang__node *old,
                                const struct gang__node *node)
{
    unsigned words = gang__word_count(node->type->layout);
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
    return gang__health_set(w, node);
}

/* One commit. A lease of the node is broken before: the name of the commit has to be known. */
static gang_result commit_change(gang_worker *w, struct gang__node *old, struct gang__node *node,
                                 struct gang_error *error)
{
    gang_result r = gang__commit_reserve(&w->commit, gang__all_words(node->type->layout));
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "out of memory");
    uint32_t health, refused = 0;
    gang__health_expect(w->cluster, gang__health_described(node));
    gang__store(&old->newer, node);
    do {
        gang__store(&old->newer_ref, 0); /* not that of a commit that is over: see node_then() */
        gang__lease_break(&w->commit, node->slot);
        gang__store(&old->newer_ref, gang__commit_next_ref(&w->commit));
        gang__commit_begin(&w->commit);
        health = describe_change(w, old, node);
        r = gang__commit_run_once(&w->commit, true, &refused);
    } while (r == GANG_EBUSY);
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
        error->constraint = GANG_CONSTRAINT_KIND;
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
    /* Tasks hold devices and cores by number, so these must stay. */
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
    gang__store(&slot->domain, gang__node_domain(c, node));
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
    /* New labels count as capacity for a search that is under way: make it look again. */
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

/* Sets the state word of a node that is not gone. */
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

static gang__a64 *set_at(gang_cluster *c, uint32_t slot)
{
    return &gang__chunk_of(&c->commit, slot)->set_at[slot % GANG__CHUNK];
}

static gang_result set_state(gang_worker *w, gang_node_id id, int32_t state, bool by_host)
{
    gang__rcu_enter();
    struct gang__node *node = gang__node_of(w->cluster, id);
    gang_result r = node ? commit_state(w, node->slot, gang__state_word(state)) : GANG_ESTALE;
    if (r == GANG_OK && by_host)
        gang__store(set_at(w->cluster, node->slot), gang__load(&w->cluster->nodes.states));
    gang__rcu_leave();
    return r;
}

gang_result gang_node_set_state(gang_worker *worker, gang_node_id id, int32_t state)
{
    if (!worker || state < GANG_NODE_UP || state > GANG_NODE_DOWN)
        return GANG_EINVAL;
    return set_state(worker, id, state, true);
}

gang_result gang__node_report_state(gang_worker *worker, gang_node_id id, int32_t state,
                                    uint64_t stamp)
{
    gang__rcu_enter();
    struct gang__node *node = gang__node_of(worker->cluster, id);
    gang_result r = !node ? GANG_ESTALE
                    : gang__load(set_at(worker->cluster, node->slot)) > stamp
                        ? GANG_OK
                        : set_state(worker, id, state, false);
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
        gang__sub_release(&c->nodes.node_count, 1);
        gang__add_seq(&c->nodes.epoch, 1);
        gang__reclaim_some(c);
    }
    gang__structure_unlock(c);
    return r;
}
