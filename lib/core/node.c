/* SPDX-License-Identifier: Apache-2.0 */
/* The node table: adding, describing anew, draining, removing, reading.
 *
 * What is taken of a node changes by commits alone (core/commit.c), and so do its state and its
 * capacity. What is said about it (struct gang__node) is immutable and replaced under RCU. A node
 * enters in the order: description and tables first, then the commit that brings it up, so that
 * whoever sees capacity also sees the node; it leaves in the reverse order. */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/commit.h"
#include "core/index.h"
#include "core/kind.h"
#include "core/node.h"
#include "model/node_spec.h"

/* ---- lookups ------------------------------------------------------------------------------- */

struct gang__node *gang__node_at(gang_cluster *c, uint32_t slot)
{
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    return chunk ? gang__load(&chunk->node[slot % GANG__CHUNK]) : NULL;
}

struct gang__node *gang__node_of(gang_cluster *c, gang_node_id id)
{
    uint32_t slot = (uint32_t)id;
    if (slot == GANG__POOL || slot >= gang__load(&c->slot_end))
        return NULL;
    struct gang__node *node = gang__node_at(c, slot);
    return node && node->id == id ? node : NULL;
}

int32_t gang__level_find(const gang_cluster *c, const char *name)
{
    for (uint32_t i = 0; i < c->level_count; i++)
        if (strcmp(c->level_name[i], name) == 0)
            return (int32_t)i;
    return -1;
}

static struct gang__node *node_of_link(struct gang__name *n)
{
    return (struct gang__node *)((char *)n - offsetof(struct gang__node, name_link));
}

/* Under the structure mutex. */
static struct gang__node *node_by_name(gang_cluster *c, const char *name)
{
    uint64_t hash = gang__hash(GANG__HASH_SEED, name, strlen(name));
    for (struct gang__name *n = gang__names_first(&c->node_names, hash); n; n = n->next) {
        struct gang__node *node = node_of_link(n);
        if (n->hash == hash && strcmp(node->spec->name, name) == 0)
            return node;
    }
    return NULL;
}

bool gang__node_is_free(const struct gang__node *node, const uint64_t *payload)
{
    unsigned words = gang__word_count(node->layout);
    for (unsigned i = 1; i < words; i++)
        if (payload[i] != node->capacity[i])
            return false;
    return gang__head_cpu(payload[GANG__WORD_HEAD]) == node->capacity[GANG__WORD_HEAD];
}

/* ---- a description ---------------------------------------------------------------------------- */

static struct gang__layout layout_of(const struct gang_node_spec *spec)
{
    /* Cores are handed out by name only where they cover the millicores: a core that is not owned
     * is then always left for the tasks that share. */
    bool named = spec->cpu_milli <= 1000 * (int64_t)spec->core_count;
    size_t cores = named ? spec->core_count : 0;
    struct gang__layout l = {(uint8_t)spec->gpu_count,
                             (uint8_t)((cores + GANG__CORES_PER_WORD - 1) / GANG__CORES_PER_WORD),
                             (uint8_t)spec->amount_count, 0};
    return l;
}

/* The class of a node is its GPUs' model. A node with several models, or an unknown one, stands in
 * class "": a search for a model looks there too, and at each device. NULL: no GPUs. */
static const char *class_model(const struct gang_node_spec *spec)
{
    if (spec->gpu_count == 0)
        return NULL;
    const char *model = spec->gpus[0].model ? spec->gpus[0].model : "";
    for (size_t i = 1; i < spec->gpu_count; i++)
        if (strcmp(spec->gpus[i].model ? spec->gpus[i].model : "", model) != 0)
            return "";
    return model;
}

/* Payloads of the node when nothing is taken. */
static void fill_capacity(struct gang__node *node)
{
    const struct gang_node_spec *spec = node->spec;
    struct gang__layout l = node->layout;
    node->capacity[GANG__WORD_HEAD] = (uint64_t)spec->cpu_milli;
    node->capacity[GANG__WORD_MEMORY] = (uint64_t)(spec->memory_bytes / GANG_PAGE_BYTES);
    for (unsigned i = 0; i < spec->gpu_count; i++)
        node->capacity[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD] |=
            gang__share_of(i % GANG__SHARES_PER_WORD, 1000);
    for (unsigned i = 0; l.core_words && i < spec->core_count; i++)
        node->capacity[gang__first_core(l) + i / GANG__CORES_PER_WORD] |=
            UINT64_C(1) << (i % GANG__CORES_PER_WORD);
}

/* Closeness of each pair of GPUs, and whether all pairs are alike. */
static void fill_near(struct gang__node *node, uint8_t *near)
{
    size_t gpus = node->spec->gpu_count;
    node->near = near;
    node->near_uniform = true;
    for (size_t i = 0; i < gpus; i++) {
        for (size_t j = 0; j < gpus; j++) {
            near[i * gpus + j] = gang__gpu_near(node->spec, i, j);
            if (i != j && near[i * gpus + j] != near[1])
                node->near_uniform = false;
        }
    }
}

/* Resolve the amounts to kinds. Their words stand in the order of the kinds, however they were
 * listed. */
static gang_result find_kinds(gang_cluster *c, struct gang__node *node, struct gang_error *error)
{
    const struct gang_amount *amount[GANG_MAX_KINDS] = {NULL};
    for (unsigned i = 0; i < node->spec->amount_count; i++) {
        const char *name = node->spec->amounts[i].kind;
        int32_t kind = gang__kind_find(c, name);
        if (kind < GANG_KIND_SITE || c->kind[kind].scope != GANG_SCOPE_NODE) {
            gang_result code = kind < 0 ? GANG_ENOENT : GANG_EINVAL;
            gang__error(error, code, "kind", "\"%.64s\" is not a kind counted on nodes", name);
            return gang__error_at(error, code, "amounts[%u]", i);
        }
        amount[kind] = &node->spec->amounts[i];
    }
    unsigned word = gang__first_amount(node->layout);
    for (int32_t kind = GANG_KIND_SITE; kind < GANG_MAX_KINDS; kind++) {
        if (!amount[kind])
            continue;
        node->capacity[word] = (uint64_t)amount[kind]->amount;
        node->kind_word[kind] = (uint8_t)word++;
    }
    return GANG_OK;
}

/* Resolve the place in the topology to domains, made if need be. */
static gang_result find_domains(gang_cluster *c, struct gang__node *node, struct gang_error *error)
{
    const struct gang_node_spec *spec = node->spec;
    const char *value[GANG_MAX_LEVELS] = {NULL};
    for (unsigned i = 0; i < spec->topology_count; i++) {
        int32_t level = gang__level_find(c, spec->topology[i].key);
        if (level < 0) {
            gang__error(error, GANG_ENOENT, "key", "no topology level \"%.64s\"",
                        spec->topology[i].key);
            return gang__error_at(error, GANG_ENOENT, "topology[%u]", i);
        }
        value[level] = spec->topology[i].value;
    }
    uint32_t parent = GANG__NO_DOMAIN;
    for (uint32_t level = 0; level < GANG_MAX_LEVELS; level++) {
        node->domain[level] = GANG__NO_DOMAIN;
        if (!value[level])
            continue;
        gang_result r = gang__domain_get(c, level, parent, value[level], &node->domain[level]);
        if (r != GANG_OK)
            return gang__error(error, r, NULL, "out of memory");
        parent = node->domain[level];
    }
    return GANG_OK;
}

static void description_free(gang_cluster *c, struct gang__node *node)
{
    if (!node)
        return;
    gang__release(&c->mem, node->spec);
    gang__release(&c->mem, node);
}

/* Make a description; its id, slot and class are still to be set. */
static gang_result description_new(gang_cluster *c, const struct gang_node_spec *from,
                                   struct gang__node **made, struct gang_error *error)
{
    struct gang_node_spec *spec = NULL;
    gang_result r = gang__node_spec_copy_mem(&c->mem, from, &spec, error);
    if (r != GANG_OK)
        return r;
    struct gang__layout layout = layout_of(spec);
    unsigned words = gang__word_count(layout);
    size_t gpus = spec->gpu_count;
    struct gang__node *node =
        gang__zalloc(&c->mem, 1, sizeof(*node) + words * sizeof(node->capacity[0]) + gpus * gpus);
    if (!node) {
        gang__release(&c->mem, spec);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    node->spec = spec;
    node->layout = layout;
    fill_capacity(node);
    fill_near(node, (uint8_t *)&node->capacity[words]);
    r = find_kinds(c, node, error);
    if (r == GANG_OK)
        r = find_domains(c, node, error);
    if (r != GANG_OK) {
        description_free(c, node);
        return r;
    }
    *made = node;
    return GANG_OK;
}

static uint32_t state_word(int32_t state)
{
    return state == GANG_NODE_UP         ? GANG__STATE_UP
           : state == GANG_NODE_DRAINING ? GANG__STATE_DRAINING
           : state == GANG_NODE_DOWN     ? GANG__STATE_DOWN
                                         : GANG__STATE_GONE;
}

static int32_t state_public(uint32_t word)
{
    return word == GANG__STATE_UP         ? GANG_NODE_UP
           : word == GANG__STATE_DRAINING ? GANG_NODE_DRAINING
           : word == GANG__STATE_DOWN     ? GANG_NODE_DOWN
                                          : GANG_NODE_GONE;
}

/* ---- slots ------------------------------------------------------------------------------------- */

/* The chunk of a slot, made if need be. */
static struct gang__chunk *chunk_make(gang_cluster *c, uint32_t slot)
{
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    if (!chunk) {
        chunk = gang__zalloc_line(&c->mem, 1, sizeof(*chunk));
        if (chunk)
            gang__store(&c->chunk[slot / GANG__CHUNK], chunk);
    }
    return chunk;
}

/* A free slot with room for `words` words; it stays free until slot_use(). */
static gang_result slot_find(gang_cluster *c, unsigned words, uint32_t *slot)
{
    uint32_t end = gang__load(&c->slot_end);
    bool fresh = c->free_slot_count == 0;
    uint32_t s = fresh ? end : c->free_slots[c->free_slot_count - 1];
    if (fresh && s > c->max_slots)
        return GANG_ELIMIT;
    struct gang__chunk *chunk = chunk_make(c, s);
    /* Room for every slot to be recycled, so that recycling cannot fail. */
    if (!chunk || !gang__grow(&c->mem, (void **)&c->free_slots, &c->free_slot_room, s + 1,
                              sizeof(*c->free_slots)))
        return GANG_ENOMEM;
    uint32_t i = s % GANG__CHUNK;
    unsigned more = words > GANG__CELL_WORDS ? words - GANG__CELL_WORDS : 0;
    if (more > chunk->more_words[i]) {
        /* The old words are kept: whoever mends the index may look at a slot that has no node. */
        gang__a64 *bigger = gang__zalloc_line(&c->mem, more, sizeof(*bigger));
        if (!bigger || !gang__grow(&c->mem, (void **)&c->old_more, &c->old_more_room,
                                   c->old_more_count + 1, sizeof(*c->old_more))) {
            gang__release_line(&c->mem, bigger);
            return GANG_ENOMEM;
        }
        /* Words keep their versions, also when they move: a helper may be about to write to the last
         * node of this slot, for a commit long over. The slot is free, so that they stand still. */
        gang__a64 *old = gang__load(&chunk->more[i]);
        for (unsigned k = 0; k < chunk->more_words[i]; k++)
            gang__store_relaxed(&bigger[k], gang__load(&old[k]));
        c->old_more[c->old_more_count++] = old;
        gang__store(&chunk->more[i], bigger);
        chunk->more_words[i] = (uint8_t)more;
    }
    *slot = s;
    return GANG_OK;
}

static void slot_use(gang_cluster *c, uint32_t slot)
{
    if (c->free_slot_count && c->free_slots[c->free_slot_count - 1] == slot)
        c->free_slot_count--;
    else
        gang__store(&c->slot_end, slot + 1);
}

/* The class of a node's GPUs, and index words for it in this chunk. */
static gang_result class_get(gang_cluster *c, const struct gang_node_spec *spec,
                             struct gang__chunk *chunk, uint8_t *class_id)
{
    const char *model = class_model(spec);
    uint32_t count = gang__load(&c->class_count);
    uint32_t id = 0;
    if (model) {
        for (id = 1; id < count; id++)
            if (strcmp(gang__load(&c->class[id])->model, model) == 0)
                break;
    }
    if (id >= GANG__CLASSES)
        return GANG_ELIMIT;
    gang_result r = gang__index_make(c, id, chunk);
    if (r != GANG_OK)
        return r;
    if (id == count) {
        memcpy(gang__load(&c->class[id])->model, model, strlen(model) + 1);
        gang__store(&c->class_count, count + 1);
    }
    *class_id = (uint8_t)id;
    return GANG_OK;
}

/* ---- adding -------------------------------------------------------------------------------------- */

/* Make room in all domains of a node. */
static gang_result domains_reserve(gang_cluster *c, const struct gang__node *node)
{
    for (uint32_t level = 0; level < c->level_count; level++) {
        if (node->domain[level] == GANG__NO_DOMAIN)
            continue;
        gang_result r = gang__domain_reserve(c, node->domain[level]);
        if (r != GANG_OK)
            return r;
    }
    return GANG_OK;
}

/* Everything that may fail, in an order that leaves nothing to undo but the description. */
static gang_result prepare_add(gang_worker *w, struct gang__node *node, struct gang_error *error)
{
    gang_cluster *c = w->cluster;
    unsigned words = gang__word_count(node->layout);
    gang_result r = gang__commit_reserve(w, words);
    if (r == GANG_OK)
        r = gang__names_reserve(&c->node_names, &c->mem);
    if (r == GANG_OK)
        r = slot_find(c, words, &node->slot);
    if (r == GANG_OK)
        r = class_get(c, node->spec, gang__chunk_of(c, node->slot), &node->layout.class_id);
    if (r == GANG_OK)
        r = domains_reserve(c, node);
    if (r != GANG_OK)
        gang__error(error, r, NULL, "%s",
                    r == GANG_ELIMIT ? "too many nodes or GPU models" : "out of memory");
    return r;
}

/* Publish a prepared node and bring it up. */
static void enter(gang_worker *w, struct gang__node *node)
{
    gang_cluster *c = w->cluster;
    struct gang__chunk *chunk = gang__chunk_of(c, node->slot);
    uint32_t i = node->slot % GANG__CHUNK;
    slot_use(c, node->slot);
    node->id = (uint64_t)++chunk->generation[i] << 32 | node->slot;
    gang__store(&chunk->layout[i], gang__layout_pack(node->layout));
    gang__store(&chunk->node[i], node);
    gang__names_put(&c->node_names, &node->name_link,
                    gang__hash(GANG__HASH_SEED, node->spec->name, strlen(node->spec->name)));
    for (uint32_t level = 0; level < c->level_count; level++)
        if (node->domain[level] != GANG__NO_DOMAIN)
            gang__domain_add(c, node->domain[level], node->slot);
    atomic_fetch_add(&c->node_count, 1);

    /* The cell is gone and nobody else's: the commit cannot be refused. */
    gang__commit_begin(w);
    for (unsigned k = 0; k < gang__word_count(node->layout); k++)
        gang__commit_add(w, node->slot, k, GANG__OP_SET,
                         k == GANG__WORD_HEAD
                             ? gang__head(state_word(node->spec->state), node->capacity[k])
                             : node->capacity[k]);
    gang__commit_run(w, true, NULL);
    gang__index_tidy(c, node->slot);
    gang__add_seq(&c->epoch, 1);
}

gang_result gang_node_add(gang_worker *worker, const struct gang_node_spec *spec, gang_node_id *id,
                          struct gang_error *error)
{
    if (id)
        *id = GANG_ID_NONE;
    if (!worker)
        return gang__error(error, GANG_EINVAL, NULL, "no worker");
    gang_cluster *c = worker->cluster;
    struct gang__node *node = NULL;
    pthread_mutex_lock(&c->structure);
    gang__reclaim_some(c);
    gang_result r = description_new(c, spec, &node, error);
    if (r == GANG_OK && node_by_name(c, node->spec->name))
        r = gang__error(error, GANG_EEXIST, "name", "there is a node \"%.64s\" already",
                        node->spec->name);
    if (r == GANG_OK)
        r = prepare_add(worker, node, error);
    if (r == GANG_OK) {
        enter(worker, node);
        if (id)
            *id = node->id;
    } else {
        description_free(c, node);
    }
    pthread_mutex_unlock(&c->structure);
    return r;
}

/* ---- changing -------------------------------------------------------------------------------------- */

/* The same words count the same kinds. */
static bool same_kinds(const struct gang__node *a, const struct gang__node *b)
{
    return memcmp(a->kind_word, b->kind_word, sizeof(a->kind_word)) == 0;
}

/* Tell which kind a word counts. */
static int32_t kind_of_word(const struct gang__node *node, unsigned word)
{
    for (int32_t kind = GANG_KIND_SITE; kind < GANG_MAX_KINDS; kind++)
        if (node->kind_word[kind] == word && word)
            return kind;
    return word == GANG__WORD_HEAD ? GANG_KIND_CPU : GANG_KIND_MEMORY;
}

/* One commit for all differences of capacity, and the state. */
static gang_result commit_change(gang_worker *w, const struct gang__node *old,
                                 const struct gang__node *node, struct gang_error *error)
{
    unsigned words = gang__word_count(node->layout);
    gang_result r = gang__commit_reserve(w, words);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "out of memory");
    gang__commit_begin(w);
    for (unsigned k = 0; k < words; k++) {
        uint64_t from = old->capacity[k], to = node->capacity[k];
        uint64_t difference = to > from ? to - from : from - to;
        if (k == GANG__WORD_HEAD)
            gang__commit_add(w, node->slot, k, GANG__OP_HEAD,
                             gang__head(state_word(node->spec->state), difference) |
                                 (to > from ? GANG__HEAD_GIVE : 0) | GANG__HEAD_IF_THERE |
                                 GANG__HEAD_SET_STATE);
        else if (difference)
            gang__commit_add(w, node->slot, k, to > from ? GANG__OP_GIVE : GANG__OP_TAKE,
                             difference);
    }
    uint32_t refused = 0;
    r = gang__commit_run(w, true, &refused);
    if (r == GANG_OK)
        return r;
    uint32_t slot;
    unsigned word;
    uint64_t payload;
    gang__commit_op(w, refused, &slot, &word, &payload);
    int32_t kind = kind_of_word(node, word);
    gang__error(error, GANG_EBUSY, NULL, "more %s is taken than the new capacity",
                w->cluster->kind[kind].name);
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
    for (uint32_t level = 0; level < c->level_count; level++)
        if (from->domain[level] != to->domain[level] && from->domain[level] != GANG__NO_DOMAIN)
            gang__domain_remove(c, from->domain[level], from->slot);
}

static gang_result change(gang_worker *w, struct gang__node *old, struct gang__node *node,
                          struct gang_error *error)
{
    gang_cluster *c = w->cluster;
    node->id = old->id;
    node->slot = old->slot;
    node->layout.class_id = old->layout.class_id;
    if (strcmp(old->spec->name, node->spec->name) != 0)
        return gang__error(error, GANG_EINVAL, "name", "a node keeps its name");
    /* What tasks hold by number must stay. */
    if (!gang__same_devices(old->spec, node->spec))
        return gang__error(error, GANG_EINVAL, NULL,
                           "GPUs, links, NUMA domains or cores differ: remove the node and add it");
    if (old->layout.core_words != node->layout.core_words)
        return gang__error(error, GANG_EINVAL, "cpu_milli",
                           "decides whether cores are named: remove the node and add it");
    if (!same_kinds(old, node))
        return gang__error(error, GANG_EINVAL, "amounts",
                           "the kinds differ: remove the node and add it");
    gang_result r = domains_reserve(c, node);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "out of memory");
    for (uint32_t level = 0; level < c->level_count; level++)
        if (node->domain[level] != GANG__NO_DOMAIN && node->domain[level] != old->domain[level])
            gang__domain_add(c, node->domain[level], node->slot);
    r = commit_change(w, old, node, error);
    if (r != GANG_OK) {
        move_domains(c, node, old);
        return r;
    }
    gang__store(&gang__chunk_of(c, node->slot)->node[node->slot % GANG__CHUNK], node);
    gang__names_remove(&c->node_names, &old->name_link);
    gang__names_put(&c->node_names, &node->name_link, old->name_link.hash);
    move_domains(c, old, node);
    old->next_retired = c->retired.descriptions;
    c->retired.descriptions = old;
    c->retired.count++;
    /* Labels count as capacity for a search that is under way: let it look again. */
    gang__add_seq(&w->stamp, 1);
    gang__index_tidy(c, node->slot);
    gang__add_seq(&c->epoch, 1);
    return GANG_OK;
}

gang_result gang_node_change(gang_worker *worker, gang_node_id id,
                             const struct gang_node_spec *spec, struct gang_error *error)
{
    if (!worker)
        return gang__error(error, GANG_EINVAL, NULL, "no worker");
    gang_cluster *c = worker->cluster;
    pthread_mutex_lock(&c->structure);
    gang__reclaim_some(c);
    struct gang__node *node = NULL;
    struct gang__node *old = gang__node_of(c, id);
    gang_result r = GANG_OK;
    if (!old || node_by_name(c, old->spec->name) != old)
        r = gang__error(error, GANG_ESTALE, NULL, "no such node");
    if (r == GANG_OK)
        r = description_new(c, spec, &node, error);
    if (r == GANG_OK)
        r = change(worker, old, node, error);
    if (r != GANG_OK)
        description_free(c, node);
    pthread_mutex_unlock(&c->structure);
    return r;
}

/* Set the state word of a node that is not gone. */
static gang_result commit_state(gang_worker *w, uint32_t slot, uint32_t state)
{
    gang_result r = gang__commit_reserve(w, 1);
    if (r != GANG_OK)
        return r;
    gang__commit_begin(w);
    gang__commit_add(w, slot, GANG__WORD_HEAD, GANG__OP_HEAD,
                     gang__head(state, 0) | GANG__HEAD_IF_THERE | GANG__HEAD_SET_STATE);
    if (gang__commit_run(w, state == GANG__STATE_UP, NULL) != GANG_OK)
        return GANG_ESTALE;
    gang__index_tidy(w->cluster, slot);
    return GANG_OK;
}

gang_result gang_node_set_state(gang_worker *worker, gang_node_id id, int32_t state)
{
    if (!worker || state < GANG_NODE_UP || state > GANG_NODE_DOWN)
        return GANG_EINVAL;
    gang__rcu_enter();
    struct gang__node *node = gang__node_of(worker->cluster, id);
    gang_result r = node ? commit_state(worker, node->slot, state_word(state)) : GANG_ESTALE;
    gang__rcu_leave();
    return r;
}

gang_result gang_node_remove(gang_worker *worker, gang_node_id id)
{
    if (!worker)
        return GANG_EINVAL;
    gang_cluster *c = worker->cluster;
    pthread_mutex_lock(&c->structure);
    struct gang__node *node = gang__node_of(c, id);
    gang_result r = node && node_by_name(c, node->spec->name) == node ? GANG_OK : GANG_ESTALE;
    if (r == GANG_OK)
        r = commit_state(worker, node->slot, GANG__STATE_GONE);
    if (r == GANG_OK) {
        for (uint32_t level = 0; level < c->level_count; level++)
            if (node->domain[level] != GANG__NO_DOMAIN)
                gang__domain_remove(c, node->domain[level], node->slot);
        gang__names_remove(&c->node_names, &node->name_link);
        node->next_retired = c->leaving;
        c->leaving = node;
        atomic_fetch_sub(&c->node_count, 1);
        gang__add_seq(&c->epoch, 1);
        gang__reclaim_some(c);
    }
    pthread_mutex_unlock(&c->structure);
    return r;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

gang_result gang_node_find(gang_cluster *cluster, const char *name, gang_node_id *id)
{
    if (id)
        *id = GANG_ID_NONE;
    if (!cluster || !name || !id)
        return GANG_EINVAL;
    pthread_mutex_lock(&cluster->structure);
    struct gang__node *node = node_by_name(cluster, name);
    if (node)
        *id = node->id;
    pthread_mutex_unlock(&cluster->structure);
    return node ? GANG_OK : GANG_ENOENT;
}

static void info_fill(const struct gang__node *node, const uint64_t *payload,
                      struct gang_node_info *info)
{
    struct gang__layout l = node->layout;
    info->id = node->id;
    info->state = state_public(gang__head_state(payload[GANG__WORD_HEAD]));
    info->gpu_count = l.gpus;
    info->core_count = (int32_t)node->spec->core_count;
    info->cpu_milli = (int64_t)node->capacity[GANG__WORD_HEAD];
    info->memory_bytes = (int64_t)node->capacity[GANG__WORD_MEMORY] * GANG_PAGE_BYTES;
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
        unsigned word = node->kind_word[kind];
        info->amount[kind] = word ? (int64_t)node->capacity[word] : 0;
        info->amount_free[kind] = word ? (int64_t)payload[word] : 0;
    }
    memcpy(info->name, node->spec->name, strlen(node->spec->name) + 1);
}

/* Removed, and nobody holds anything of it: its id is stale, reaped or not. */
static bool is_over(const struct gang__node *node, const uint64_t *payload)
{
    return gang__head_state(payload[GANG__WORD_HEAD]) == GANG__STATE_GONE &&
           gang__node_is_free(node, payload);
}

gang_result gang_node_get(gang_cluster *cluster, gang_node_id id, struct gang_node_info *info)
{
    if (!cluster || !info)
        return GANG_EINVAL;
    struct gang_node_info out;
    memset(&out, 0, sizeof(out));
    gang__rcu_enter();
    struct gang__node *node = gang__node_of(cluster, id);
    if (node) {
        uint64_t payload[GANG__MAX_WORDS];
        gang__cell_read(cluster, node->slot, payload, gang__word_count(node->layout));
        if (is_over(node, payload))
            node = NULL;
        else
            info_fill(node, payload, &out);
    }
    gang__rcu_leave();
    if (!node)
        return GANG_ESTALE;
    out.size = info->size;
    return gang__struct_out(info, info->size, sizeof(out), &out, sizeof(out));
}

gang_result gang_node_get_spec(gang_cluster *cluster, gang_node_id id, struct gang_node_spec **spec)
{
    if (spec)
        *spec = NULL;
    if (!cluster || !spec)
        return GANG_EINVAL;
    gang__rcu_enter();
    struct gang__node *node = gang__node_of(cluster, id);
    gang_result r = GANG_ESTALE;
    if (node) {
        uint64_t payload[GANG__MAX_WORDS];
        gang__cell_read(cluster, node->slot, payload, gang__word_count(node->layout));
        if (!is_over(node, payload))
            r = gang_node_spec_copy(node->spec, spec, NULL);
    }
    gang__rcu_leave();
    return r;
}

gang_node_id gang_node_next(gang_cluster *cluster, gang_node_id id)
{
    if (!cluster)
        return GANG_ID_NONE;
    gang_node_id next = GANG_ID_NONE;
    uint32_t end = gang__load(&cluster->slot_end);
    if ((uint32_t)id >= end)
        return GANG_ID_NONE;
    gang__rcu_enter();
    for (uint32_t slot = (uint32_t)id + 1; slot < end && !next; slot++) {
        struct gang__node *node = gang__node_at(cluster, slot);
        if (!node)
            continue;
        uint64_t head;
        gang__cell_read(cluster, slot, &head, 1);
        if (gang__head_state(head) != GANG__STATE_GONE)
            next = node->id;
    }
    gang__rcu_leave();
    return next;
}

int64_t gang_node_count(const gang_cluster *cluster)
{
    return cluster ? (int64_t)gang__load(&cluster->node_count) : 0;
}
