/* SPDX-License-Identifier: Apache-2.0 */
/* A tree has 32 children a level, four levels over all slots; at its leaves a word a slot:
 * {generation of the node:32 | tasks:32}. The generation tells tasks that hold nothing, on a node
 * that was removed under them, from those on the node that has the slot now. */
#include "place/request/label_count.h"

#include <string.h>

#include "place/request/shared.h"

enum { FAN_LOG = 5, FAN = 1 << FAN_LOG, DEPTH = 4 };
_Static_assert(GANG__CHUNK *GANG__CHUNKS <= 1 << DEPTH * FAN_LOG, "a tree covers all slots");

/* CAS of child_make() -> load_seq of word_of() and each_below(). Why seq_cst: see
 * gang__label_count_add() in the header. */
struct branch {
    _Atomic(void *) child[FAN];
};
/* CAS of gang__label_count_add() and _sub() -> load_seq of gang__label_count_read() and
 * each_below(). */
struct leaf {
    gang__a64 word[FAN];
};

static uint32_t generation_of(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Which child on the way to a slot, `below` levels above the leaf. */
static unsigned turn_at(uint32_t slot, unsigned below)
{
    return slot >> (below * FAN_LOG) & (FAN - 1);
}

/* The word of a slot, or NULL if nothing was ever counted there. */
static gang__a64 *word_of(struct gang__label_count *counts, unsigned role, uint32_t slot)
{
    void *at = gang__load_seq(&counts->root[role]);
    for (unsigned below = DEPTH - 1; at && below > 0; below--)
        at = gang__load_seq(&((struct branch *)at)->child[turn_at(slot, below)]);
    return at ? &((struct leaf *)at)->word[turn_at(slot, 0)] : NULL;
}

/* The child at a place of the tree, made if it does not exist. */
static void *child_make(_Atomic(void *) *where, const struct gang_mem *mem, size_t bytes)
{
    void *there = gang__load_seq(where);
    if (there)
        return there;
    void *fresh = gang__zalloc(mem, 1, bytes);
    if (!fresh)
        return NULL;
    /* seq_cst -> load_seq of word_of(): see gang__label_count_add() in the header */
    if (atomic_compare_exchange_strong_explicit(where, &there, fresh, memory_order_seq_cst,
                                                memory_order_seq_cst))
        return fresh;
    gang__release(mem, fresh);
    return there;
}

bool gang__label_count_reserve(struct gang__label_count *counts, const struct gang_mem *mem,
                               unsigned role, uint32_t slot)
{
    _Atomic(void *) *where = &counts->root[role];
    for (unsigned below = DEPTH - 1; below > 0; below--) {
        struct branch *b = child_make(where, mem, sizeof(*b));
        if (!b)
            return false;
        where = &b->child[turn_at(slot, below)];
    }
    return child_make(where, mem, sizeof(struct leaf)) != NULL;
}

void gang__label_count_add(struct gang__label_count *counts, unsigned role, gang_node_id node,
                           uint32_t tasks)
{
    gang__a64 *word = word_of(counts, role, (uint32_t)node);
    uint32_t generation = generation_of(node);
    uint64_t was, now;
    if (role >= GANG__ROLE_EXCLUDE) /* seq_cst -> load_seq of place/fit/affinity.c */
        atomic_fetch_or_explicit(&counts->excluded, UINT32_C(1) << (role - GANG__ROLE_EXCLUDE),
                                 memory_order_seq_cst);
    do {
        was = gang__load(word);
        if ((int32_t)(generation_of(was) - generation) > 0)
            return; /* the node is no more */
        now = generation_of(was) == generation ? was + tasks : (uint64_t)generation << 32 | tasks;
    } while (!gang__cas(word, was, now));
}

void gang__label_count_sub(struct gang__label_count *counts, unsigned role, gang_node_id node,
                           uint32_t tasks)
{
    gang__a64 *word = word_of(counts, role, (uint32_t)node);
    uint64_t was;
    do {
        was = gang__load(word);
        if (generation_of(was) != generation_of(node))
            return;
    } while (!gang__cas(word, was, was - tasks));
}

uint32_t gang__label_count_read(struct gang__label_count *counts, unsigned role, gang_node_id node)
{
    gang__a64 *word = word_of(counts, role, (uint32_t)node);
    uint64_t now = word ? gang__load_seq(word) : 0;
    return generation_of(now) == generation_of(node) ? (uint32_t)now : 0;
}

static void each_below(void *at, unsigned below, uint32_t slot, gang__label_count_fn visit,
                       void *user)
{
    if (below == 0) {
        const struct leaf *leaf = at;
        for (unsigned i = 0; i < FAN; i++) {
            uint64_t word = gang__load_seq(&leaf->word[i]);
            if ((uint32_t)word)
                visit((uint64_t)generation_of(word) << 32 | (slot + i), (uint32_t)word, user);
        }
        return;
    }
    struct branch *b = at;
    for (unsigned i = 0; i < FAN; i++) {
        void *child = gang__load_seq(&b->child[i]);
        if (child)
            each_below(child, below - 1, slot + (i << (below * FAN_LOG)), visit, user);
    }
}

void gang__label_count_each(struct gang__label_count *counts, unsigned role,
                            gang__label_count_fn visit, void *user)
{
    void *root = gang__load_seq(&counts->root[role]);
    if (root)
        each_below(root, DEPTH - 1, 0, visit, user);
}

/* ---- finding label counts -------------------------------------------------------------------- */

static void tree_free(void *at, unsigned below, const struct gang_mem *mem)
{
    struct branch *b = at;
    for (unsigned i = 0; at && below > 0 && i < FAN; i++)
        tree_free(gang__load(&b->child[i]), below - 1, mem);
    gang__release(mem, at);
}

static struct gang__label_count *counts_of_link(struct gang__hash_link *n)
{
    return (struct gang__label_count *)((char *)n - offsetof(struct gang__label_count, link));
}

static void counts_free(struct gang__label_count *counts, const struct gang_mem *mem)
{
    for (unsigned role = 0; role < GANG__ROLES; role++)
        tree_free(gang__load(&counts->root[role]), DEPTH - 1, mem);
    gang__release(mem, counts);
}

static struct gang__label_count *counts_new(const struct gang_mem *mem, const char *key,
                                            const char *value)
{
    size_t bytes = strlen(key) + 1, more = value ? strlen(value) + 1 : 0;
    struct gang__label_count *counts = gang__zalloc(mem, 1, sizeof(*counts) + bytes + more);
    if (!counts)
        return NULL;
    char *text = (char *)(counts + 1);
    counts->key = memcpy(text, key, bytes);
    counts->value = value ? memcpy(text + bytes, value, more) : NULL;
    return counts;
}

static bool same_value(const char *a, const char *b)
{
    return !a || !b ? a == b : strcmp(a, b) == 0;
}

/* Frees unused counts when there are twice as many as after the last sweep. Under the structure
 * mutex, without which no request starts to use one. */
static void sweep(struct gang__label_counts *table, const struct gang_mem *mem)
{
    enum { FEW = 64 };
    if (table->names.count < 2 * table->swept + FEW)
        return;
    for (size_t i = 0; i < table->names.cap; i++) {
        struct gang__hash_link *next;
        for (struct gang__hash_link *n = table->names.bucket[i]; n; n = next) {
            struct gang__label_count *counts = counts_of_link(n);
            next = n->next;
            if (gang__load(&counts->refs))
                continue;
            gang__hash_remove(&table->names, n);
            counts_free(counts, mem);
        }
    }
    table->swept = table->names.count;
}

/* The label count of a label, counted for the caller. Under the structure mutex. NULL: out of
 * memory. */
static struct gang__label_count *counts_get(struct gang__label_counts *table,
                                            const struct gang_mem *mem, const char *key,
                                            const char *value)
{
    uint64_t hash = gang__hash(GANG__HASH_SEED, key, strlen(key) + 1);
    hash = value ? gang__hash(hash, value, strlen(value) + 1) : hash;
    for (struct gang__hash_link *n = gang__hash_first(&table->names, hash); n; n = n->next) {
        struct gang__label_count *counts = counts_of_link(n);
        if (n->hash == hash && strcmp(counts->key, key) == 0 && same_value(counts->value, value)) {
            gang__add_relaxed(&counts->refs, 1u);
            return counts;
        }
    }
    sweep(table, mem);
    if (gang__hash_reserve(&table->names, mem) != GANG_OK)
        return NULL;
    struct gang__label_count *counts = counts_new(mem, key, value);
    if (!counts)
        return NULL;
    gang__store(&counts->refs, 1u);
    gang__hash_insert(&table->names, &counts->link, hash);
    return counts;
}

gang_result gang__label_counts_bind(gang_request *request)
{
    gang_cluster *c = request->cluster;
    struct gang__shared *shared = request->has_affinity ? gang__shared_of(c) : NULL;
    struct gang__label_counts *table = shared ? &shared->label_counts : NULL;
    bool bound = !request->has_affinity || table;
    if (!table)
        return bound ? GANG_OK : GANG_ENOMEM;
    gang__structure_lock(c);
    for (uint32_t i = 0; i < request->label_count && bound; i++) {
        const struct gang_label *label = &request->labels[i];
        request->own_counts[2 * i] = counts_get(table, &c->mem, label->key, label->value);
        request->own_counts[2 * i + 1] = counts_get(table, &c->mem, label->key, NULL);
        bound = request->own_counts[2 * i] && request->own_counts[2 * i + 1];
    }
    for (uint32_t i = 0; i < request->affinity_count && bound; i++) {
        struct gang__affinity *rule = &request->affinity[i];
        rule->counts = counts_get(table, &c->mem, rule->key, rule->value);
        bound = rule->counts != NULL;
        for (uint32_t k = 0; k < 2 * request->label_count; k++)
            rule->own = rule->own || request->own_counts[k] == rule->counts;
    }
    gang__structure_unlock(c);
    if (bound)
        return GANG_OK;
    gang__label_counts_unbind(request);
    return GANG_ENOMEM;
}

static void counts_put(struct gang__label_count *counts)
{
    if (counts)
        gang__sub_release(&counts->refs, 1u);
}

void gang__label_counts_unbind(gang_request *request)
{
    for (uint32_t i = 0; i < 2 * request->label_count; i++)
        counts_put(request->own_counts[i]);
    for (uint32_t i = 0; i < request->affinity_count; i++)
        counts_put(request->affinity[i].counts);
}

void gang__label_counts_free(struct gang__label_counts *table, const struct gang_mem *mem)
{
    for (size_t i = 0; i < table->names.cap; i++) {
        struct gang__hash_link *next;
        for (struct gang__hash_link *n = table->names.bucket[i]; n; n = next) {
            next = n->next;
            counts_free(counts_of_link(n), mem);
        }
    }
    gang__hash_free(&table->names, mem);
}
