/* SPDX-License-Identifier: Apache-2.0 */
/* How nodes enter, one or many. Everything that may fail is done first, for all of them; until
 * then no reader finds them except by name, which takes the mutex. Then they are published and
 * brought up, which cannot fail. */
#include <string.h>

#include "base/error.h"
#include "core/commit/commit.h"
#include "core/nodes/health.h"
#include "core/nodes/node.h"
#include "core/nodes/node_type.h"
#include "core/nodes/reclaim.h"
#include "core/nodes/topology.h"
#include "model/specs.h"

/* ---- slots ----------------------------------------------------------------------------------- */

/* The chunk of a slot; makes it if there is none. */
static struct gang__chunk *chunk_make(gang_cluster *c, uint32_t slot)
{
    struct gang__chunk *chunk = gang__chunk_of(&c->commit, slot);
    if (!chunk) {
        chunk = gang__zalloc_line(&c->mem, 1, sizeof(*chunk));
        if (chunk)
            gang__store(&c->commit.chunk[slot / GANG__CHUNK], chunk);
    }
    return chunk;
}

/* Finds a free slot that can hold `words` words; it stays free until slot_use(). */
static gang_result slot_find(gang_cluster *c, unsigned words, uint32_t *slot)
{
    uint32_t end = gang__load(&c->commit.slot_end);
    bool fresh = c->nodes.free_slot_count == 0;
    uint32_t s = fresh ? end : c->nodes.free_slots[c->nodes.free_slot_count - 1];
    if (fresh && s > c->nodes.max_slots)
        return GANG_ELIMIT;
    struct gang__chunk *chunk = chunk_make(c, s);
    /* Space to recycle every slot, so that recycling cannot fail. */
    if (!chunk || !gang__grow(&c->mem, (void **)&c->nodes.free_slots, &c->nodes.free_slot_cap,
                              s + 1, sizeof(*c->nodes.free_slots)))
        return GANG_ENOMEM;
    uint32_t i = s % GANG__CHUNK;
    unsigned overflow = words > GANG__CELL_WORDS ? words - GANG__CELL_WORDS : 0;
    gang__a64 *old = gang__load(&chunk->overflow[i]);
    if (overflow > gang__overflow_words(old)) {
        /* The old words stay: a thread that repairs the index may read a slot that has no node. */
        gang__a64 *bigger = gang__overflow_new(&c->mem, overflow);
        if (!bigger ||
            !gang__grow(&c->mem, (void **)&c->nodes.old_overflow, &c->nodes.old_overflow_cap,
                        c->nodes.old_overflow_count + 1, sizeof(*c->nodes.old_overflow))) {
            gang__overflow_free(&c->mem, bigger);
            return GANG_ENOMEM;
        }
        /* Words keep their versions, also when they move: a helper of a commit long over may be
         * about to write to the last node of this slot. The slot is free, so its words do not
         * change. */
        for (unsigned k = 0; k < gang__overflow_words(old); k++)
            gang__store_relaxed(&bigger[k], gang__load(&old[k]));
        c->nodes.old_overflow[c->nodes.old_overflow_count++] = old;
        gang__store(&chunk->overflow[i], bigger);
    }
    uint32_t max = gang__load(&chunk->max_words);
    if (words > max) /* load_seq of every snapshot that can show the node sees it */
        gang__add_seq(&chunk->max_words, words - max);
    *slot = s;
    return GANG_OK;
}

static void slot_use(gang_cluster *c, uint32_t slot)
{
    if (c->nodes.free_slot_count && c->nodes.free_slots[c->nodes.free_slot_count - 1] == slot)
        c->nodes.free_slot_count--;
    else
        gang__add_seq(&c->commit.slot_end, 1u); /* the same holds for max_words */
}

/* ---- adding ---------------------------------------------------------------------------------- */

gang_result gang__domains_reserve(gang_cluster *c, const struct gang__node *node)
{
    for (uint32_t level = 0; level < c->nodes.level_count; level++) {
        if (node->domain[level] == GANG__NO_DOMAIN)
            continue;
        gang_result r = gang__domain_reserve(c, node->domain[level]);
        if (r != GANG_OK)
            return r;
    }
    return GANG_OK;
}

static gang_result check_name(gang_cluster *c, const struct gang__node *node,
                              struct gang_error *error)
{
    if (!gang__node_by_name(c, node->name))
        return GANG_OK;
    return gang__error(error, GANG_EEXIST, "name", "there is a node \"%.64s\" already", node->name);
}

/* Everything that may fail for a node, in an order that leaves nothing to undo. */
static gang_result prepare(gang_cluster *c, struct gang__node *node, struct gang_error *error)
{
    gang_result r = gang__hash_reserve(&c->nodes.node_names, &c->mem);
    if (r == GANG_OK)
        r = slot_find(c, gang__all_words(node->type->layout), &node->slot);
    if (r == GANG_OK)
        r = gang__domains_reserve(c, node);
    if (r != GANG_OK)
        gang__error(error, r, NULL, "%s", r == GANG_ELIMIT ? "too many nodes" : "out of memory");
    return r;
}

/* Enters a node into name table, slot and topology. Readers of the topology find an empty slot so
 * far. */
static void enter_tables(gang_cluster *c, struct gang__node *node)
{
    slot_use(c, node->slot);
    gang__hash_insert(&c->nodes.node_names, &node->name_link,
                      gang__hash(GANG__HASH_SEED, node->name, strlen(node->name)));
    for (uint32_t level = 0; level < c->nodes.level_count; level++)
        if (node->domain[level] != GANG__NO_DOMAIN)
            gang__domain_add(c, node->domain[level], node->slot);
}

/* Undoes enter_tables() for the node that was entered last. */
static void leave_tables(gang_cluster *c, struct gang__node *node)
{
    for (uint32_t level = 0; level < c->nodes.level_count; level++)
        if (node->domain[level] != GANG__NO_DOMAIN)
            gang__domain_drop_last(c, node->domain[level]);
    gang__hash_remove(&c->nodes.node_names, &node->name_link);
    c->nodes.free_slots[c->nodes.free_slot_count++] = node->slot;
    gang__node_free(c, node);
}

/* Makes a node visible to planners. Nothing can be taken of it yet. */
static void publish(gang_cluster *c, struct gang__node *node)
{
    struct gang__chunk *chunk = gang__chunk_of(&c->commit, node->slot);
    struct gang__slot *slot = gang__slot_at(chunk, node->slot);
    uint32_t generation = gang__load(&slot->generation) + 1;
    node->id = (uint64_t)generation << 32 | node->slot;
    gang__store(&node->label, GANG__PENDING);
    gang__store(&chunk->described, GANG__PENDING);
    gang__store(&slot->generation, generation);
    gang__store(&slot->layout, gang__layout_pack(node->type->layout));
    gang__store(&slot->type, node->type);
    gang__store(&slot->domain, gang__node_domain(c, node));
    gang__store(&slot->node, node);
    gang__chunk_changed(c, node->slot);
}

/* Brings up nodes of ascending slots, from `first` to before `end`, in one commit. Their cells are
 * gone and no other commit uses them: it cannot be refused. */
static void bring_up(gang_worker *w, struct gang__node *first, const struct gang__node *end)
{
    uint64_t key[GANG__NODES_AT_ONCE];
    size_t count = 0;
    gang__commit_begin(&w->commit);
    for (struct gang__node *node = first; node != end; node = node->next_retired) {
        const struct gang__node_type *type = node->type;
        unsigned words = gang__word_count(type->layout);
        gang__commit_add(&w->commit, node->slot, GANG__WORD_HEAD, GANG__OP_SET,
                         gang__head(gang__state_word(node->state), type->capacity[0]));
        for (unsigned k = 1; k < words; k++)
            gang__commit_add(&w->commit, node->slot, k, GANG__OP_SET, type->capacity[k]);
        gang__health_set(w, node);
        key[count++] = (uint64_t)node->slot << 32;
    }
    gang__commit_run(&w->commit, true, NULL);
    uint64_t label = gang__commit_label(&w->commit);
    for (struct gang__node *node = first; node != end; node = node->next_retired) {
        gang__store(&node->label, label);
        gang__store(&gang__chunk_of(&w->cluster->commit, node->slot)->described, label);
    }
    gang__index_update(&w->cluster->commit, key, count);
}

static struct gang__node *reversed(struct gang__node *first)
{
    struct gang__node *before = NULL;
    while (first) {
        struct gang__node *next = first->next_retired;
        first->next_retired = before;
        before = first;
        first = next;
    }
    return before;
}

/* Makes the classes of all nodes, and their index words. */
static gang_result make_indexes(gang_cluster *c, const struct gang__node *node,
                                struct gang_error *error, size_t *at)
{
    for (*at = 0; node; node = node->next_retired, ++*at) {
        gang_result r = gang__node_type_gpu_class(c, node->type, error);
        if (r != GANG_OK)
            return r;
        r = gang__index_make(&c->commit, node->type->layout.class_id,
                             gang__chunk_of(&c->commit, node->slot));
        if (r != GANG_OK)
            return gang__error(error, r, NULL, "out of memory");
    }
    return GANG_OK;
}

/* Makes all nodes, or none. *made: their chain, by next_retired, in their order. */
static gang_result make_all(gang_cluster *c, struct gang__specs specs, struct gang__node **made,
                            struct gang_error *error, size_t *at)
{
    struct gang__node *first = NULL, **link = &first;
    gang_result r = GANG_OK;
    for (*at = 0; *at < specs.count; ++*at) {
        struct gang__node *node = NULL;
        const struct gang_node_spec *spec = gang__spec_at(specs, *at);
        r = specs.stride && spec->size != specs.stride
                ? gang__error(error, GANG_EINVAL, "size", "not that of the first")
                : gang__node_new(c, spec, &node, error);
        if (r == GANG_OK)
            r = check_name(c, node, error);
        if (r == GANG_OK)
            r = prepare(c, node, error);
        if (r != GANG_OK) {
            gang__node_free(c, node);
            break;
        }
        enter_tables(c, node);
        *link = node;
        link = &node->next_retired;
    }
    if (r == GANG_OK)
        r = make_indexes(c, first, error, at);
    if (r != GANG_OK)
        first = reversed(first);
    while (r != GANG_OK && first) {
        struct gang__node *next = first->next_retired;
        leave_tables(c, first);
        first = next;
    }
    *made = first;
    return r;
}

gang_result gang__nodes_add(gang_worker *w, struct gang__specs specs, gang_node_id *ids,
                            struct gang_error *error, size_t *at)
{
    gang_cluster *c = w->cluster;
    struct gang__node *node = NULL;
    *at = 0;
    gang__structure_lock(c);
    gang__reclaim_some(c);
    size_t max = specs.count < GANG__NODES_AT_ONCE ? specs.count : GANG__NODES_AT_ONCE;
    gang_result r = gang__commit_reserve(&w->commit, max * GANG__MAX_WORDS);
    if (r == GANG_OK)
        r = make_all(c, specs, &node, error, at);
    else
        gang__error(error, r, NULL, "out of memory");
    for (size_t i = 0; r == GANG_OK && node;) {
        struct gang__node *first = node;
        size_t count = 0;
        uint32_t last = 0;
        for (; node && node->slot > last && count < GANG__NODES_AT_ONCE; count++) {
            last = node->slot;
            publish(c, node);
            if (ids)
                ids[i++] = node->id;
            node = node->next_retired;
        }
        gang__add_relaxed(&c->nodes.node_count, (uint32_t)count);
        for (const struct gang__node *n = first; n != node; n = n->next_retired)
            gang__health_expect(c, gang__health_described(n));
        bring_up(w, first, node);
        while (first != node) { /* from now on the link is for nodes that wait to be freed */
            struct gang__node *next = first->next_retired;
            first->next_retired = NULL;
            first = next;
        }
    }
    gang__add_seq(&c->nodes.epoch, 1);
    gang__structure_unlock(c);
    return r;
}

/* ---- as it is elsewhere ---------------------------------------------------------------------- */

/* Makes all chunks below a slot, so that the next slot found is this one. */
static gang_result skip_to(gang_cluster *c, uint32_t slot)
{
    for (uint32_t s = gang__load(&c->commit.slot_end); s < slot;
         s = (s / GANG__CHUNK + 1) * GANG__CHUNK)
        if (!chunk_make(c, s))
            return GANG_ENOMEM;
    gang__store(&c->commit.slot_end, slot);
    return GANG_OK;
}

/* Sets all words at once, in a cell that is gone and that no other commit uses. */
static void bring_up_as(gang_worker *w, struct gang__node *node, const uint64_t *payload)
{
    uint64_t key = (uint64_t)node->slot << 32;
    gang__commit_begin(&w->commit);
    for (unsigned k = 0; k < gang__all_words(node->type->layout); k++)
        gang__commit_add(&w->commit, node->slot, k, GANG__OP_SET, payload[k]);
    gang__commit_run(&w->commit, true, NULL);
    gang__store(&node->label, gang__commit_label(&w->commit));
    gang__store(&gang__chunk_of(&w->cluster->commit, node->slot)->described,
                gang__commit_label(&w->commit));
    gang__index_update(&w->cluster->commit, &key, 1);
}

gang_result gang__node_insert_as(gang_worker *w, const struct gang_node_spec *spec, gang_node_id id,
                                 const uint64_t *payload, struct gang_error *error)
{
    gang_cluster *c = w->cluster;
    uint32_t slot = (uint32_t)id;
    struct gang__node *node = NULL;
    bool leaves = gang__head_state(payload[GANG__WORD_HEAD]) == GANG__STATE_GONE;
    size_t at;
    gang_result r = gang__commit_reserve(&w->commit, GANG__MAX_WORDS);
    if (r == GANG_OK)
        r = skip_to(c, slot);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "out of memory");
    r = gang__node_new(c, spec, &node, error);
    if (r == GANG_OK)
        r = prepare(c, node, error);
    if (r == GANG_OK)
        r = make_indexes(c, node, error, &at);
    if (r != GANG_OK) {
        gang__node_free(c, node);
        return r;
    }
    if (leaves) { /* a removed node has neither name nor domains */
        slot_use(c, slot);
        node->next_retired = c->nodes.removed;
        c->nodes.removed = node;
    } else {
        enter_tables(c, node);
        gang__add_relaxed(&c->nodes.node_count, 1u);
    }
    gang__store(&gang__slot_at(gang__chunk_of(&c->commit, slot), slot)->generation,
                (uint32_t)(id >> 32) - 1);
    publish(c, node);
    gang__health_expect(
        c, gang__health_mask(node->type->layout, payload + gang__word_count(node->type->layout)));
    bring_up_as(w, node, payload);
    return GANG_OK;
}

gang_result gang__slots_copy(gang_cluster *c, uint32_t end, const uint32_t *unused, size_t count)
{
    if (skip_to(c, end) != GANG_OK ||
        !gang__grow(&c->mem, (void **)&c->nodes.free_slots, &c->nodes.free_slot_cap, end,
                    sizeof(*c->nodes.free_slots)))
        return GANG_ENOMEM;
    if (count)
        memcpy(c->nodes.free_slots, unused, count * sizeof(*unused));
    c->nodes.free_slot_count = count;
    return GANG_OK;
}

gang_result gang_node_add(gang_worker *worker, const struct gang_node_spec *spec, gang_node_id *id,
                          struct gang_error *error)
{
    size_t at;
    if (id)
        *id = GANG_ID_NONE;
    if (!worker)
        return gang__error(error, GANG_EINVAL, NULL, "no worker");
    return gang__nodes_add(worker, (struct gang__specs){spec, 0, NULL, 1}, id, error, &at);
}

gang_result gang_nodes_add(gang_worker *worker, const struct gang_node_spec *specs, size_t count,
                           gang_node_id *ids, struct gang_error *error)
{
    size_t at;
    for (size_t i = 0; ids && i < count; i++)
        ids[i] = GANG_ID_NONE;
    if (!worker)
        return gang__error(error, GANG_EINVAL, NULL, "no worker");
    if (count && !specs)
        return gang__error(error, GANG_EINVAL, "nodes", "NULL with a count above 0");
    if (!count)
        return GANG_OK;
    struct gang__specs all = {specs, specs->size, NULL, count};
    gang_result r = gang__nodes_add(worker, all, ids, error, &at);
    if (r != GANG_OK)
        gang__error_at(error, r, "nodes[%zu]", at);
    return r;
}
