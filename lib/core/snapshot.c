/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot as an object: making, copying and reading it, and changing a node's state in it.
 * core/snapshot_take.c fills it. */
#include <gangsched/snapshot.h>

#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/snapshot_take.h"

/* ---- making and freeing --------------------------------------------------------------------- */

gang_result gang_snapshot_new(gang_cluster *cluster, gang_snapshot **snapshot)
{
    if (snapshot)
        *snapshot = NULL;
    if (!cluster || !snapshot)
        return GANG_EINVAL;
    gang_snapshot *s = gang__zalloc(&cluster->mem, 1, sizeof(*s));
    if (!s)
        return GANG_ENOMEM;
    s->c = cluster;
    gang__structure_lock(cluster);
    gang__holder_add(cluster, &s->hold);
    gang__structure_unlock(cluster);
    *snapshot = s;
    return GANG_OK;
}

void gang_snapshot_free(gang_snapshot *snapshot)
{
    if (!snapshot)
        return;
    gang_cluster *c = snapshot->c;
    gang__structure_lock(c);
    gang__holder_remove(c, &snapshot->hold);
    gang__structure_unlock(c);
    gang__release(&c->mem, snapshot->node);
    gang__release(&c->mem, snapshot->word);
    gang__release(&c->mem, snapshot->chunk);
    gang__release(&c->mem, snapshot->member);
    gang__release(&c->mem, snapshot->member_from);
    gang__release(&c->mem, snapshot);
}

gang_result gang_snapshot_take(gang_worker *worker, gang_snapshot *snapshot)
{
    if (!worker || !snapshot || worker->cluster != snapshot->c)
        return GANG_EINVAL;
    gang__rcu_enter();
    gang_result r = gang__snapshot_fill(worker->cluster, snapshot);
    gang__rcu_leave();
    return r;
}

/* ---- copying --------------------------------------------------------------------------------- */

static size_t parts_used(const gang_snapshot *s)
{
    return (s->end + GANG__CHUNK - 1) / GANG__CHUNK;
}

static size_t words_used(const gang_snapshot *s)
{
    size_t last = parts_used(s) - 1;
    return s->chunk[last].at + (s->end - last * GANG__CHUNK) * s->chunk[last].stride;
}

/* Copies the members that only a take changes. */
static bool copy_nodes(gang_snapshot *to, const gang_snapshot *from)
{
    const struct gang_mem *mem = &to->c->mem;
    if (!gang__grow(mem, (void **)&to->node, &to->node_cap, from->end, sizeof(*to->node)) ||
        !gang__grow(mem, (void **)&to->chunk, &to->chunk_cap, parts_used(from),
                    sizeof(*to->chunk)) ||
        !gang__grow(mem, (void **)&to->word, &to->word_cap, words_used(from), sizeof(*to->word)))
        return false;
    memcpy(to->node, from->node, from->end * sizeof(*to->node));
    memcpy(to->chunk, from->chunk, parts_used(from) * sizeof(*to->chunk));
    memcpy(to->pool, from->pool, sizeof(to->pool));
    to->end = from->end;
    to->count = from->count;
    to->kinds = from->kinds;
    to->listed = false;
    return true;
}

/* If memory is short, the next question lists the members again. */
static void copy_members(gang_snapshot *to, const gang_snapshot *from)
{
    const struct gang_mem *mem = &to->c->mem;
    size_t domains = from->domains, members = from->member_from[domains];
    if (!gang__grow(mem, (void **)&to->member, &to->member_cap, members + 1, sizeof(*to->member)) ||
        !gang__grow(mem, (void **)&to->member_from, &to->from_cap, domains + 1,
                    sizeof(*to->member_from)))
        return;
    memcpy(to->member, from->member, members * sizeof(*to->member));
    memcpy(to->member_from, from->member_from, (domains + 1) * sizeof(*to->member_from));
    to->domains = domains;
    to->listed = true;
}

gang_result gang__snapshot_copy(gang_snapshot *to, const gang_snapshot *from)
{
    if (!to || !from || to->c != from->c || from->end == 0)
        return GANG_EINVAL;
    if (to == from)
        return GANG_OK;
    uint64_t number = gang__load(&from->hold.number); /* every take has its own number */
    if (gang__load(&to->hold.number) != number) {
        if (!copy_nodes(to, from))
            return GANG_ENOMEM;
        gang__holder_set(to->c, &to->hold, number);
    }
    if (from->listed && !to->listed)
        copy_members(to, from);
    memcpy(to->word, from->word, words_used(from) * sizeof(*to->word));
    return GANG_OK;
}

void gang__snapshot_restore(gang_snapshot *to, const gang_snapshot *from, const bool *kept)
{
    for (uint32_t slot = GANG__POOL + 1; slot < to->end; slot++)
        if (!kept[slot])
            memcpy(gang__snapshot_words(to, slot), gang__snapshot_words(from, slot),
                   to->chunk[slot / GANG__CHUNK].stride * sizeof(*to->word));
}

/* ---- reading --------------------------------------------------------------------------------- */

struct gang__node *gang__snapshot_node_of(const gang_snapshot *s, gang_node_id id)
{
    struct gang__node *node = gang__snapshot_node(s, (uint32_t)id);
    return node && node->id == id ? node : NULL;
}

int64_t gang_snapshot_node_count(const gang_snapshot *snapshot)
{
    return snapshot ? snapshot->count : 0;
}

gang_node_id gang_snapshot_node_next(const gang_snapshot *snapshot, gang_node_id id)
{
    if (!snapshot)
        return GANG_ID_NONE;
    for (uint64_t slot = (uint64_t)(uint32_t)id + 1; slot < snapshot->end; slot++) {
        const struct gang__node *node = snapshot->node[slot];
        if (node && gang__snapshot_state(snapshot, (uint32_t)slot) != GANG__STATE_GONE)
            return node->id;
    }
    return GANG_ID_NONE;
}

gang_result gang_snapshot_node_get(const gang_snapshot *snapshot, gang_node_id id,
                                   struct gang_node_info *info)
{
    if (!snapshot || !info)
        return GANG_EINVAL;
    const struct gang__node *node = gang__snapshot_node_of(snapshot, id);
    if (!node)
        return GANG_ESTALE;
    struct gang_node_info out;
    memset(&out, 0, sizeof(out));
    gang__node_info(node, gang__snapshot_words(snapshot, node->slot), &out);
    out.size = info->size;
    return gang__struct_out(info, info->size, sizeof(out), &out, sizeof(out));
}

/* Adds the milli-GPUs and the whole devices of the share words. */
static void add_gpus(struct gang__layout l, const uint64_t *words, int64_t *milli, int64_t *whole)
{
    for (unsigned i = 0; i < l.gpus; i++) {
        uint32_t share = gang__share(words[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                                     i % GANG__SHARES_PER_WORD);
        *milli += share;
        *whole += share == 1000;
    }
}

static void add_node(const struct gang__node *node, const uint64_t *words, struct gang_totals *t)
{
    uint32_t state = gang__head_state(words[GANG__WORD_HEAD]);
    bool up = state == GANG__STATE_UP;
    int64_t cpu = (int64_t)gang__head_cpu(words[GANG__WORD_HEAD]);
    int64_t memory = (int64_t)words[GANG__WORD_MEMORY] * GANG_PAGE_BYTES;
    int64_t milli = 0, whole = 0;
    add_gpus(node->type->layout, words, &milli, &whole);
    t->nodes++;
    t->nodes_up += up;
    t->nodes_draining += state == GANG__STATE_DRAINING;
    t->nodes_down += state == GANG__STATE_DOWN;
    t->cpu_milli += (int64_t)node->type->capacity[GANG__WORD_HEAD];
    t->memory_bytes += (int64_t)node->type->capacity[GANG__WORD_MEMORY] * GANG_PAGE_BYTES;
    add_gpus(node->type->layout, node->type->capacity, &t->gpu_milli, &t->gpus);
    t->cpu_free += cpu;
    t->memory_free += memory;
    t->gpu_free += milli;
    t->gpus_free += whole;
    t->cpu_free_up += up ? cpu : 0;
    t->memory_free_up += up ? memory : 0;
    t->gpu_free_up += up ? milli : 0;
    t->gpus_free_up += up ? whole : 0;
}

enum { PREFETCH = 12 }; /* nodes lie anywhere in memory: prefetch them */

gang_result gang_snapshot_totals(const gang_snapshot *snapshot, struct gang_totals *totals)
{
    if (!snapshot || !totals)
        return GANG_EINVAL;
    struct gang_totals out = GANG_TOTALS_INIT;
    for (uint32_t slot = 1; slot < snapshot->end; slot++) {
        const struct gang__node *node = snapshot->node[slot];
        if (slot + PREFETCH < snapshot->end && snapshot->node[slot + PREFETCH])
            __builtin_prefetch(&snapshot->node[slot + PREFETCH]->type);
        if (node && gang__snapshot_state(snapshot, slot) != GANG__STATE_GONE)
            add_node(node, gang__snapshot_words(snapshot, slot), &out);
    }
    return gang__struct_out(totals, totals->size, sizeof(out), &out, sizeof(out));
}

/* ---- domains --------------------------------------------------------------------------------- */

/* Lists the slots of each domain, in order: counts them, then fills from the back. */
static bool list_members(gang_snapshot *s)
{
    const struct gang_mem *mem = &s->c->mem;
    uint32_t levels = s->c->nodes.level_count;
    size_t domains = 0, members = 0;
    for (uint32_t slot = 1; slot < s->end; slot++)
        for (uint32_t level = 0; s->node[slot] && level < levels; level++) {
            uint32_t index = s->node[slot]->domain[level];
            members += index != GANG__NO_DOMAIN;
            if (index != GANG__NO_DOMAIN && index >= domains)
                domains = (size_t)index + 1;
        }
    if (!gang__grow(mem, (void **)&s->member, &s->member_cap, members + 1, sizeof(*s->member)) ||
        !gang__grow(mem, (void **)&s->member_from, &s->from_cap, domains + 1,
                    sizeof(*s->member_from)))
        return false;
    memset(s->member_from, 0, (domains + 1) * sizeof(*s->member_from));
    for (uint32_t slot = 1; slot < s->end; slot++)
        for (uint32_t level = 0; s->node[slot] && level < levels; level++)
            if (s->node[slot]->domain[level] != GANG__NO_DOMAIN)
                s->member_from[s->node[slot]->domain[level]]++;
    for (size_t i = 1; i <= domains; i++)
        s->member_from[i] += s->member_from[i - 1];
    for (uint32_t slot = s->end; slot-- > 1;)
        for (uint32_t level = 0; s->node[slot] && level < levels; level++)
            if (s->node[slot]->domain[level] != GANG__NO_DOMAIN)
                s->member[--s->member_from[s->node[slot]->domain[level]]] = slot;
    s->domains = domains;
    s->listed = true;
    return true;
}

const uint32_t *gang__snapshot_members(gang_snapshot *s, const struct gang__domain *d,
                                       uint32_t *count)
{
    *count = 0;
    if (!s->listed && !list_members(s))
        return NULL;
    if (d->index >= s->domains) /* the domain is younger than the snapshot */
        return s->member;
    *count = (uint32_t)(s->member_from[d->index + 1] - s->member_from[d->index]);
    return s->member + s->member_from[d->index];
}

/* ---- what if --------------------------------------------------------------------------------- */

gang_result gang_snapshot_set_state(gang_snapshot *snapshot, gang_node_id id, int32_t state)
{
    if (!snapshot || state < GANG_NODE_UP || state > GANG_NODE_DOWN)
        return GANG_EINVAL;
    const struct gang__node *node = gang__snapshot_node_of(snapshot, id);
    if (!node || gang__snapshot_state(snapshot, node->slot) == GANG__STATE_GONE)
        return GANG_ESTALE;
    gang__snapshot_set_state(snapshot, node->slot, gang__state_word(state));
    return GANG_OK;
}
