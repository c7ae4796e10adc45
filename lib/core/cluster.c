/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster.h"

#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"

enum { MAX_NODES = GANG__CHUNK * GANG__CHUNKS - 1, DEFAULT_WORKERS = 256 };

/* ---- making ---------------------------------------------------------------------------------- */

static gang_result check_levels(const struct gang_cluster_opts *o, struct gang_error *error)
{
    if (o->level_count > GANG_MAX_LEVELS)
        return gang__error(error, GANG_ELIMIT, "levels", "more than %d", GANG_MAX_LEVELS);
    if (o->level_count && !o->levels)
        return gang__error(error, GANG_EINVAL, "levels", "NULL");
    for (size_t i = 0; i < o->level_count; i++) {
        const char *name = o->levels[i];
        if (!name || !name[0] || strlen(name) > GANG_MAX_NAME) {
            gang__error(error, GANG_EINVAL, NULL, "no name of 1 to %d bytes", GANG_MAX_NAME);
            return gang__error_at(error, GANG_EINVAL, "levels[%zu]", i);
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(o->levels[j], name) == 0) {
                gang__error(error, GANG_EINVAL, NULL, "\"%.64s\" twice", name);
                return gang__error_at(error, GANG_EINVAL, "levels[%zu]", i);
            }
        }
    }
    return GANG_OK;
}

static gang_result check_opts(struct gang_cluster_opts *o, struct gang_error *error)
{
    if (o->max_nodes < 0 || o->max_nodes > MAX_NODES)
        return gang__error(error, GANG_ERANGE, "max_nodes", "not in 0..%d", MAX_NODES);
    if (o->max_workers < 0 || o->max_workers >= GANG__WORKERS)
        return gang__error(error, GANG_ERANGE, "max_workers", "not in 0..%d", GANG__WORKERS - 1);
    if (o->manual_recycle != 0 && o->manual_recycle != 1)
        return gang__error(error, GANG_EINVAL, "manual_recycle", "neither 0 nor 1");
    if (o->policy < GANG_POLICY_DEFAULT || o->policy >= GANG_POLICY_HOST)
        return gang__error(error, GANG_EINVAL, "policy", "unknown, or the host's");
    if (o->reserved0)
        return gang__error(error, GANG_EINVAL, "reserved0", "not 0");
    return check_levels(o, error);
}

static gang_result copy_levels(gang_cluster *c, const struct gang_cluster_opts *o)
{
    for (size_t i = 0; i < o->level_count; i++) {
        c->nodes.level_name[i] = gang__strdup(&c->mem, o->levels[i]);
        if (!c->nodes.level_name[i])
            return GANG_ENOMEM;
        c->nodes.level_count++;
    }
    return GANG_OK;
}

/* Makes the pool: slot 0 counts the cluster-wide kinds, one a word after the first two. */
static gang_result make_pool(gang_cluster *c)
{
    struct gang__chunk *chunk = gang__zalloc_line(&c->mem, 1, sizeof(*chunk));
    if (!chunk)
        return GANG_ENOMEM;
    gang__store(&c->commit.chunk[0], chunk);
    gang__a64 *overflow = gang__overflow_new(&c->mem, GANG__POOL_WORDS - GANG__CELL_WORDS);
    if (!overflow)
        return GANG_ENOMEM;
    gang__store(&chunk->overflow[GANG__POOL], overflow);
    gang__store(&chunk->max_words, (uint32_t)GANG__POOL_WORDS);
    gang__store(&c->commit.slot_end, 1u);
    gang__snapshot_save_init(&c->commit);
    gang_result r = gang__index_make(&c->commit, 0, chunk);
    if (r == GANG_OK)
        gang__store(&c->commit.gpu_class_count, 1u);
    return r;
}

gang_result gang_cluster_new(const struct gang_cluster_opts *opts, gang_cluster **cluster,
                             struct gang_error *error)
{
    if (!cluster)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the cluster");
    *cluster = NULL;
    struct gang_cluster_opts o = GANG_CLUSTER_OPTS_INIT;
    struct gang_mem mem;
    gang_result r = GANG_OK;
    if (opts)
        r = gang__struct_in(&o, sizeof(o), sizeof(o), opts, opts->size);
    if (r != GANG_OK)
        return gang__error(error, r, "size", "struct gang_cluster_opts is not set up");
    r = gang__mem_init(&mem, o.mem);
    if (r != GANG_OK)
        return gang__error(error, r, "mem", "not both functions or wrong size");
    r = check_opts(&o, error);
    if (r != GANG_OK)
        return r;
    gang_cluster *c = NULL;
    if (gang__fork_register() == GANG_OK)
        c = gang__zalloc_line(&mem, 1, sizeof(*c));
    if (!c)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    c->mem = mem;
    c->commit.mem = &c->mem;
    c->nodes.max_slots = o.max_nodes ? (uint32_t)o.max_nodes : MAX_NODES;
    c->max_workers = o.max_workers ? (uint32_t)o.max_workers : DEFAULT_WORKERS;
    c->nodes.manual_recycle = o.manual_recycle != 0;
    c->policy = o.policy;
    gang__kinds_init(c);
    if (pthread_mutex_init(&c->nodes.structure, NULL) != 0) {
        gang__release_line(&mem, c);
        return gang__error(error, GANG_ENOMEM, NULL, "no mutex");
    }
    r = copy_levels(c, &o);
    if (r == GANG_OK)
        r = make_pool(c);
    if (r != GANG_OK) {
        gang_cluster_free(c);
        return gang__error(error, r, NULL, "out of memory");
    }
    *cluster = c;
    return GANG_OK;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void free_workers(gang_cluster *c)
{
    for (uint32_t i = 0; i < gang__load(&c->commit.worker_end); i++) {
        gang_worker *w = gang__worker_of(gang__load(&c->commit.worker[i]));
        const struct gang__place_ops *ops = gang__load(&c->place_ops);
        if (ops)
            ops->free_worker(w);
        for (uint32_t k = 0; k < w->commit.old_count; k++)
            gang__release_line(&c->mem, w->commit.old_ops[k]);
        gang__release(&c->mem, w->commit.move);
        gang__release_line(&c->mem, gang__load(&w->commit.desc.ops));
        gang__release_line(&c->mem, w);
    }
}

static void free_chunk(gang_cluster *c, struct gang__chunk *chunk)
{
    for (uint32_t i = 0; i < GANG__CHUNK; i++) {
        gang__node_free(c, gang__load(&chunk->slot[i].node));
        gang__overflow_free(&c->mem, gang__load(&chunk->overflow[i]));
    }
    for (uint32_t i = 0; i < GANG__GPU_CLASSES; i++)
        gang__release_line(&c->mem, gang__load(&chunk->leaf[i]));
    gang__release_line(&c->mem, chunk);
}

void gang_cluster_free(gang_cluster *cluster)
{
    if (!cluster)
        return;
    gang_cluster *c = cluster;
    gang__structure_lock(c);
    gang__drain_removed(c);
    gang__reclaim(c);
    gang__structure_unlock(c);
    free_workers(c);
    const struct gang__place_ops *ops = gang__load(&c->place_ops);
    if (ops)
        ops->free_table(c);
    for (uint32_t i = 0; i < GANG__CHUNKS; i++) {
        struct gang__chunk *chunk = gang__load(&c->commit.chunk[i]);
        if (chunk)
            free_chunk(c, chunk);
    }
    for (uint32_t i = 0; i < GANG__GPU_CLASSES; i++)
        gang__release_line(&c->mem, gang__load(&c->commit.gpu_class[i]));
    gang__node_types_free(c);
    gang__widths_free(c);
    gang__snapshot_save_free(&c->commit);
    gang__topology_free(c);
    gang__partitions_free(c);
    gang__hash_free(&c->nodes.node_names, &c->mem);
    gang__release(&c->mem, c->nodes.free_slots);
    for (size_t i = 0; i < c->nodes.old_overflow_count; i++)
        gang__overflow_free(&c->mem, c->nodes.old_overflow[i]);
    gang__release(&c->mem, c->nodes.old_overflow);
    for (uint32_t i = 0; i < c->nodes.level_count; i++)
        gang__release(&c->mem, c->nodes.level_name[i]);
    pthread_mutex_destroy(&c->nodes.structure);
    struct gang_mem mem = c->mem;
    gang__release_line(&mem, c);
}

/* ---- queries --------------------------------------------------------------------------------- */

int32_t gang_cluster_level_count(const gang_cluster *cluster)
{
    return cluster ? (int32_t)cluster->nodes.level_count : 0;
}

const char *gang_cluster_level_name(const gang_cluster *cluster, int32_t level)
{
    return cluster && level >= 0 && (uint32_t)level < cluster->nodes.level_count
               ? cluster->nodes.level_name[level]
               : NULL;
}

/* A leased node is up, and its words stand at its capacity (core/commit/lease.c, L1). */
static bool is_leased_well(gang_cluster *c, const struct gang__node *node)
{
    struct gang__words at = gang__words_of(&c->commit, node->slot);
    uint64_t head = gang__payload(gang__load(gang__word_in(&at, GANG__WORD_HEAD)));
    const uint64_t *all = node->type->capacity;
    bool well = head == (gang__head(GANG__STATE_UP, all[0]) | GANG__HEAD_LEASED);
    for (unsigned i = 1; i < gang__word_count(node->type->layout); i++)
        well = well && gang__payload(gang__load(gang__word_in(&at, i))) == all[i];
    return well || !gang__head_is_leased(head);
}

static gang_result check_node(gang_cluster *c, const struct gang__node *node,
                              struct gang_error *error)
{
    if (!gang__index_covers(&c->commit, node->slot))
        gang__error(error, GANG_EINVAL, NULL, "node \"%.64s\" is hidden by the index", node->name);
    else if (!is_leased_well(c, node))
        gang__error(error, GANG_EINVAL, NULL, "node \"%.64s\": its lease is not all it has",
                    node->name);
    else
        return GANG_OK;
    if (error && error->size >= sizeof(*error))
        error->id = node->id;
    return GANG_EINVAL;
}

gang_result gang_cluster_check(gang_cluster *cluster, struct gang_error *error)
{
    if (!cluster)
        return gang__error(error, GANG_EINVAL, NULL, "no cluster");
    gang_result r = GANG_OK;
    gang__rcu_enter();
    uint32_t end = gang__load(&cluster->commit.slot_end);
    for (uint32_t slot = 1; slot < end && r == GANG_OK; slot++) {
        struct gang__node *node = gang__node_at(cluster, slot);
        if (node)
            r = check_node(cluster, node, error);
    }
    const struct gang__place_ops *ops = gang__load(&cluster->place_ops);
    if (r == GANG_OK && ops)
        r = ops->check(cluster, error);
    gang__rcu_leave();
    return r;
}
