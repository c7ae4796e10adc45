/* SPDX-License-Identifier: Apache-2.0 */
/* Records lie in chunks of 1024, 2048, 4096, ... that are never moved or freed before the cluster
 * ends. Free ones are kept by the workers, and beyond that in one list (a stack whose head carries
 * a tag, so that a late compare-and-swap fails). */
#include "place/state/table.h"

#include <string.h>

#include "base/error.h"
#include "core/cluster.h"
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/affinity.h"
#include "place/search/policy.h"

enum {
    FIRST_CHUNK_LOG = 10,
    CHUNK_COUNT = 22,
    KEEP_BUFFERS = 64,      /* a class of data buffers, per worker */
    KEEP_BUFFER_CLASS = 16, /* larger buffers are not kept */
    SMALLEST_CLASS = 4,
    NO_RECORD = 0 /* indexes in the free list are stored plus one */
};

struct table {
    struct gang__shared shared; /* first: see gang__shared_at() */
    _Atomic(struct gang__alloc *) chunk[CHUNK_COUNT];
    gang__a32 end;   /* records that were used at least once */
    gang__a64 spare; /* head of the list: index + 1 | tag << 32 */
    struct gang__badges badges;
};

/* ---- table and placers ----------------------------------------------------------------------- */

static void table_free(gang_cluster *c);
static void placer_free(gang_worker *w);
static gang_result table_check(gang_cluster *c, struct gang_error *error);

static const struct gang__place_ops place_ops = {table_free, placer_free, table_check};

/* The cluster's table; the first caller of several makes it. */
static struct table *table_of(gang_cluster *c)
{
    struct table *t = gang__load(&c->place);
    if (t)
        return t;
    struct table *fresh = gang__zalloc_line(&c->mem, 1, sizeof(*fresh));
    if (!fresh)
        return NULL;
    gang__store(&c->place_ops, &place_ops);
    void *none = NULL;
    if (atomic_compare_exchange_strong(&c->place, &none, (void *)fresh))
        return fresh;
    gang__release_line(&c->mem, fresh);
    return none;
}

struct gang__badges *gang__badges_of(gang_cluster *c)
{
    struct table *t = table_of(c);
    return t ? &t->badges : NULL;
}

struct gang__shared *gang__shared_of(gang_cluster *c)
{
    struct table *t = table_of(c);
    return t ? &t->shared : NULL;
}

struct gang__placer *gang__placer_of(gang_worker *w)
{
    if (w->place)
        return w->place;
    if (!table_of(w->cluster))
        return NULL;
    struct gang__placer *p = gang__zalloc(&w->cluster->mem, 1, sizeof(*p));
    w->place = p;
    return p;
}

bool gang__placer_copy(gang_worker *to, const gang_worker *from)
{
    const struct gang__placer *there = from->place;
    struct gang__placer *p = gang__placer_of(to);
    if (!p || !there)
        return p != NULL;
    p->plan.c = to->cluster;
    return gang__fgd_copy(&p->plan, there->plan.fgd) &&
           gang__headroom_copy(&p->plan, there->plan.headroom);
}

static void placer_free(gang_worker *w)
{
    struct gang__placer *p = w->place;
    if (!p)
        return;
    const struct gang_mem *mem = &w->cluster->mem;
    for (unsigned i = 0; i < 32; i++) {
        while (p->buffer[i]) {
            uint64_t *next = (uint64_t *)(uintptr_t)p->buffer[i][0];
            gang__release(mem, p->buffer[i]);
            p->buffer[i] = next;
        }
    }
    gang__request_put(p->lent, p->lent_count);
    gang__plan_free(&p->plan, mem);
    gang__release(mem, p->order);
    gang__release(mem, p);
    w->place = NULL;
}

static void table_free(gang_cluster *c)
{
    struct table *t = gang__load(&c->place);
    uint32_t end = t ? gang__load(&t->end) : 0;
    for (uint32_t i = 0; i < end; i++) {
        struct gang__alloc *a = gang__alloc_at(c, i);
        if (!a || !a->data)
            continue;
        if (a->data != a->small)
            gang__release(&c->mem, a->data);
        gang__request_put(a->q, 1);
    }
    for (unsigned i = 0; t && i < CHUNK_COUNT; i++)
        gang__release_line(&c->mem, gang__load(&t->chunk[i]));
    if (t) {
        gang__badges_free(&t->badges, &c->mem);
        gang__mixes_free(&t->shared.mixes, &c->mem);
        for (unsigned i = 0; i < GANG__CHUNKS; i++)
            gang__release_line(&c->mem, gang__load(&t->shared.tallies.chunk[i]));
    }
    gang__release_line(&c->mem, t);
}

/* ---- buffers ------------------------------------------------------------------------------------- */

static uint64_t *buffer_get(gang_worker *w, uint32_t k)
{
    struct gang__placer *p = w->place;
    if (k < 32 && p->buffer[k]) {
        uint64_t *b = p->buffer[k];
        p->buffer[k] = (uint64_t *)(uintptr_t)b[0];
        p->buffer_count[k]--;
        return b;
    }
    return gang__alloc(&w->cluster->mem, sizeof(uint64_t) << k);
}

static void buffer_put(gang_worker *w, const struct gang__alloc *a, uint64_t *buffer, uint32_t k)
{
    struct gang__placer *p = w->place;
    if (!buffer || buffer == a->small)
        return;
    if (k <= KEEP_BUFFER_CLASS && p->buffer_count[k] < KEEP_BUFFERS) {
        buffer[0] = (uint64_t)(uintptr_t)p->buffer[k];
        p->buffer[k] = buffer;
        p->buffer_count[k]++;
    } else {
        gang__release(&w->cluster->mem, buffer);
    }
}

bool gang__alloc_room(gang_worker *w, struct gang__alloc *a, size_t words)
{
    if (!a->data) {
        a->data = a->small;
        a->room_class = GANG__SMALL_CLASS;
    }
    if (words <= (size_t)1 << a->room_class)
        return true;
    uint32_t k = SMALLEST_CLASS;
    while ((size_t)1 << k < words)
        k++;
    uint64_t *data = buffer_get(w, k);
    if (!data)
        return false;
    uint64_t *old = a->data;
    uint32_t old_class = a->room_class;
    memcpy(data, old, a->used * sizeof(*data));
    a->data = data;
    a->room_class = k;
    buffer_put(w, a, old, old_class); /* last, for the sake of forks: see gang__alloc_drop() */
    return true;
}

/* ---- references to requests ------------------------------------------------------------------------ */

enum { LENT = 256 }; /* taken at once */

void gang__request_hold(gang_worker *w, gang_request *q)
{
    struct gang__placer *p = w->place;
    if (p->lent != q) {
        gang_request *before = p->lent;
        uint32_t count = p->lent_count;
        /* First let go, then give up: see gang__alloc_drop(). */
        p->lent = NULL;
        p->lent_count = 0;
        if (before)
            gang__request_put(before, count);
        gang__request_get(q, LENT);
        p->lent_count = LENT;
        p->lent = q;
    }
    /* Without a reference nothing keeps it there. */
    if (--p->lent_count == 0)
        p->lent = NULL;
}

static void request_drop(gang_worker *w, gang_request *q)
{
    struct gang__placer *p = w->place;
    if (p->lent != q) {
        gang__request_put(q, 1);
    } else if (++p->lent_count > 2 * LENT) {
        p->lent_count -= LENT;
        gang__request_put(q, LENT);
    }
}

/* ---- records --------------------------------------------------------------------------------------- */

/* Chunk k holds 2^(k + FIRST_CHUNK_LOG) records, from that number less 2^FIRST_CHUNK_LOG on. */
static unsigned chunk_of(uint32_t index, uint64_t *offset)
{
    uint64_t n = (uint64_t)index + (1u << FIRST_CHUNK_LOG);
    unsigned log = 63u - (unsigned)__builtin_clzll(n);
    *offset = n - (UINT64_C(1) << log);
    return log - FIRST_CHUNK_LOG;
}

struct gang__alloc *gang__alloc_at(gang_cluster *c, uint32_t index)
{
    struct table *t = gang__load(&c->place);
    if (!t || index >= gang__load(&t->end))
        return NULL;
    uint64_t offset;
    struct gang__alloc *chunk = gang__load(&t->chunk[chunk_of(index, &offset)]);
    return chunk ? chunk + offset : NULL;
}

static gang_result chunk_make(gang_cluster *c, struct table *t, unsigned k)
{
    if (gang__load(&t->chunk[k]))
        return GANG_OK;
    struct gang__alloc *fresh =
        gang__zalloc_line(&c->mem, (size_t)1 << (k + FIRST_CHUNK_LOG), sizeof(struct gang__alloc));
    if (!fresh)
        return GANG_ENOMEM;
    struct gang__alloc *none = NULL;
    if (!atomic_compare_exchange_strong(&t->chunk[k], &none, fresh))
        gang__release_line(&c->mem, fresh);
    return GANG_OK;
}

static void spare_push(gang_cluster *c, struct table *t, uint32_t index)
{
    struct gang__alloc *a = gang__alloc_at(c, index);
    uint64_t head;
    do {
        head = gang__load(&t->spare);
        gang__store(&a->next_free, (uint32_t)head);
    } while (!gang__cas(&t->spare, head, ((head >> 32) + 1) << 32 | (index + 1)));
}

static bool spare_pop(gang_cluster *c, struct table *t, uint32_t *index)
{
    for (;;) {
        uint64_t head = gang__load(&t->spare);
        if ((uint32_t)head == NO_RECORD)
            return false;
        *index = (uint32_t)head - 1;
        uint32_t next = gang__load(&gang__alloc_at(c, *index)->next_free);
        if (gang__cas(&t->spare, head, ((head >> 32) + 1) << 32 | next))
            return true;
    }
}

static uint64_t state_of(uint32_t generation, enum gang__phase phase)
{
    return (uint64_t)generation << 32 | (uint64_t)phase << 30;
}
static enum gang__phase phase_of(uint64_t state)
{
    return (enum gang__phase)(state >> 30 & 3);
}
static uint32_t generation_of(uint64_t state)
{
    return (uint32_t)(state >> 32);
}
static uint32_t readers_of(uint64_t state)
{
    return (uint32_t)(state & 0x3fffffff);
}

gang_result gang__alloc_take(gang_worker *w, struct gang__alloc **a)
{
    struct gang__placer *p = w->place;
    gang_cluster *c = w->cluster;
    struct table *t = gang__load(&c->place);
    uint32_t index;
    if (p->free_alloc_count) {
        index = p->free_alloc[--p->free_alloc_count];
    } else if (!spare_pop(c, t, &index)) {
        for (;;) {
            uint64_t offset;
            index = gang__load(&t->end);
            if (index >= UINT32_MAX - (1u << FIRST_CHUNK_LOG))
                return GANG_ELIMIT;
            if (chunk_make(c, t, chunk_of(index, &offset)) != GANG_OK)
                return GANG_ENOMEM;
            uint32_t expected = index;
            if (atomic_compare_exchange_strong(&t->end, &expected, index + 1))
                break;
        }
        gang__alloc_at(c, index)->index = index;
    }
    *a = gang__alloc_at(c, index);
    (*a)->fits_epoch = 0;
    uint64_t state = gang__load(&(*a)->state);
    gang__store(&(*a)->state, state_of(generation_of(state) + 1, GANG__BUSY));
    gang__hook(GANG__STEP_HOLD);
    return GANG_OK;
}

void gang__alloc_drop(gang_worker *w, struct gang__alloc *a)
{
    struct gang__placer *p = w->place;
    struct table *t = gang__load(&w->cluster->place);
    uint64_t *data = a->data;
    gang_request *q = a->q;
    gang__hook(GANG__STEP_DROP);
    /* First let go, then free: a fork may leave a child with the thread stopped in between. */
    a->data = NULL;
    a->q = NULL;
    buffer_put(w, a, data, a->room_class);
    if (q)
        request_drop(w, q);
    a->used = a->tasks = a->next_number = 0;
    gang__store(&a->state, state_of(generation_of(gang__load(&a->state)), GANG__FREE));
    if (p->free_alloc_count < sizeof(p->free_alloc) / sizeof(p->free_alloc[0]))
        p->free_alloc[p->free_alloc_count++] = a->index;
    else
        spare_push(w->cluster, t, a->index);
}

gang_alloc_id gang__alloc_publish(struct gang__alloc *a)
{
    uint32_t generation = generation_of(gang__load(&a->state));
    gang__hook(GANG__STEP_PUBLISH);
    gang__store(&a->state, state_of(generation, GANG__LIVE));
    return (uint64_t)generation << 32 | (a->index + 1);
}

/* The record of an id, and its state; NULL if stale. */
static struct gang__alloc *alloc_of(gang_cluster *c, gang_alloc_id id, uint64_t *state)
{
    struct gang__alloc *a = (uint32_t)id ? gang__alloc_at(c, (uint32_t)id - 1) : NULL;
    if (!a)
        return NULL;
    *state = gang__load(&a->state);
    bool here = generation_of(*state) == (uint32_t)(id >> 32) && phase_of(*state) != GANG__FREE;
    return here ? a : NULL;
}

gang_result gang__alloc_lock(gang_cluster *c, gang_alloc_id id, struct gang__alloc **a)
{
    for (;;) {
        uint64_t state;
        *a = alloc_of(c, id, &state);
        if (!*a)
            return GANG_ESTALE;
        if (phase_of(state) == GANG__BUSY || readers_of(state))
            return GANG_EBUSY;
        if (gang__cas(&(*a)->state, state, state_of(generation_of(state), GANG__BUSY))) {
            gang__hook(GANG__STEP_HOLD);
            return GANG_OK;
        }
    }
}

gang_result gang__alloc_read(gang_cluster *c, gang_alloc_id id, struct gang__alloc **a)
{
    for (;;) {
        uint64_t state;
        *a = alloc_of(c, id, &state);
        if (!*a)
            return GANG_ESTALE;
        if (phase_of(state) == GANG__BUSY)
            return GANG_EBUSY;
        if (gang__cas(&(*a)->state, state, state + 1))
            return GANG_OK;
    }
}

void gang__alloc_read_end(struct gang__alloc *a)
{
    atomic_fetch_sub_explicit(&a->state, 1, memory_order_release);
}

gang_alloc_id gang_alloc_next(gang_cluster *cluster, gang_alloc_id id)
{
    if (!cluster)
        return GANG_ID_NONE;
    for (uint32_t index = (uint32_t)id;; index++) {
        struct gang__alloc *a = gang__alloc_at(cluster, index);
        if (!a)
            return GANG_ID_NONE;
        uint64_t state = gang__load(&a->state);
        if (phase_of(state) == GANG__LIVE)
            return (uint64_t)generation_of(state) << 32 | (index + 1);
    }
}

/* ---- all of another cluster ------------------------------------------------------------------------- */

/* What hangs on a record beside it: the badges of its labels, and the classes of tasks on a node. */
static bool count_in(gang_cluster *c, const struct gang__alloc *a)
{
    if (a->q->social && !gang__peers_count(c, a))
        return false;
    for (const uint64_t *task = a->data;
         a->q->policy == GANG_POLICY_GPU_CLUSTERING && task < a->data + a->used;
         task += GANG__TASK_HEAD + gang__task_deltas(task)) {
        if (gang__task_is_holder(task))
            continue;
        if (!gang__tally_reserve(c, (uint32_t)task[0]))
            return false;
        gang__tally_add(c, (uint32_t)task[0], &a->q->group[gang__task_group(task)], false);
    }
    return true;
}

/* One that lives, in a record that is free. */
static gang_result copy_record(gang_worker *w, const struct gang__alloc *from,
                               struct gang__alloc *to, gang__request_map *map, void *ctx)
{
    gang_request *q = NULL;
    gang_result r = map(from->q, ctx, &q);
    if (r != GANG_OK)
        return r;
    if (!gang__alloc_room(w, to, from->used))
        return GANG_ENOMEM;
    gang__request_get(q, 1);
    to->q = q;
    memcpy(to->data, from->data, from->used * sizeof(*to->data));
    to->used = from->used;
    to->tasks = from->tasks;
    to->next_number = from->next_number;
    gang__store(&to->state, state_of(generation_of(gang__load(&from->state)), GANG__LIVE));
    return count_in(w->cluster, to) ? GANG_OK : GANG_ENOMEM;
}

gang_result gang__allocs_copy(gang_worker *w, gang_cluster *from, gang__request_map *map, void *ctx)
{
    gang_cluster *c = w->cluster;
    struct table *t = table_of(c);
    gang_result r = t && gang__placer_of(w) ? GANG_OK : GANG_ENOMEM;
    struct gang__alloc *a;
    for (uint32_t i = 0; r == GANG_OK && (a = gang__alloc_at(from, i)) != NULL; i++) {
        uint64_t offset, state = gang__load(&a->state);
        r = chunk_make(c, t, chunk_of(i, &offset));
        if (r != GANG_OK)
            break;
        gang__store(&t->end, i + 1);
        struct gang__alloc *to = gang__alloc_at(c, i);
        to->index = i;
        if (phase_of(state) == GANG__BUSY) {
            r = GANG_EBUSY;
        } else if (phase_of(state) == GANG__LIVE) {
            r = copy_record(w, a, to, map, ctx);
        } else {
            gang__store(&to->state, state_of(generation_of(state), GANG__FREE));
            spare_push(c, t, i);
        }
    }
    return r;
}

/* ---- audit ------------------------------------------------------------------------------------------ */

/* What all allocations hold of one word, in a table of all words of all slots. */
struct audit {
    uint64_t *sum; /* GANG__MAX_WORDS for each slot */
    uint32_t slots;
};

/* Cores are bits; their sum is as good: two owners of one carry over into a word that is wrong. */
static void audit_add(struct audit *t, uint32_t slot, uint64_t delta)
{
    if (slot < t->slots)
        t->sum[(size_t)slot * GANG__MAX_WORDS + gang__delta_word(delta)] += gang__payload(delta);
}

static void audit_alloc(struct audit *t, const struct gang__alloc *a)
{
    for (const uint64_t *task = a->data; task < a->data + a->used;
         task += GANG__TASK_HEAD + gang__task_deltas(task)) {
        uint32_t slot = (uint32_t)task[0];
        for (unsigned i = 0; i < gang__task_deltas(task); i++) {
            uint64_t delta = task[GANG__TASK_HEAD + i];
            uint32_t at = delta & GANG__DELTA_POOL ? (uint32_t)GANG__POOL : slot;
            if (!(delta & GANG__DELTA_LENT))
                audit_add(t, at, delta);
        }
    }
}

static gang_result audit_node(gang_cluster *c, const struct audit *t, const struct gang__node *node,
                              struct gang_error *error)
{
    uint64_t payload[GANG__MAX_WORDS];
    const struct gang__node_type *shape = node->type;
    unsigned words = gang__word_count(shape->layout);
    gang__cell_read(&c->commit, node->slot, payload, words);
    for (unsigned i = 0; i < words; i++) {
        uint64_t taken = t->sum[(size_t)node->slot * GANG__MAX_WORDS + i];
        uint64_t free = i == GANG__WORD_HEAD ? gang__head_cpu(payload[i]) : payload[i];
        if (taken + free == shape->capacity[i])
            continue;
        gang__error(error, GANG_EINVAL, NULL,
                    "node \"%.64s\", word %u: %llu taken and %llu free are not %llu", node->name, i,
                    (unsigned long long)taken, (unsigned long long)free,
                    (unsigned long long)shape->capacity[i]);
        if (error && error->size >= sizeof(*error))
            error->id = node->id;
        return GANG_EINVAL;
    }
    return GANG_OK;
}

static gang_result audit_pool(gang_cluster *c, const struct audit *t, struct gang_error *error)
{
    uint32_t kinds = gang__load(&c->nodes.kind_count);
    for (uint32_t k = GANG_KIND_SITE; k < kinds; k++) {
        if (c->nodes.kind[k].scope != GANG_SCOPE_CLUSTER)
            continue;
        uint64_t payload[GANG__MAX_WORDS];
        unsigned word = gang__pool_word((int32_t)k);
        gang__cell_read(&c->commit, GANG__POOL, payload, word + 1);
        if (t->sum[word] + payload[word] != gang__load(&c->nodes.kind[k].capacity))
            return gang__error(error, GANG_EINVAL, NULL,
                               "kind \"%.64s\": taken and free are not its capacity",
                               c->nodes.kind[k].name);
    }
    return GANG_OK;
}

/* The counters of tally.h are those of the tasks that are held. */
static gang_result audit_tally(gang_cluster *c, uint32_t slots, struct gang_error *error)
{
    bool there = false;
    for (unsigned i = 0; i < GANG__CHUNKS && !there; i++)
        there = gang__load(&gang__shared_at(c)->tallies.chunk[i]) != NULL;
    uint32_t *held =
        there ? gang__zalloc(&c->mem, slots, GANG__TALLY_CLASSES * sizeof(*held)) : NULL;
    if (!held)
        return there ? gang__error(error, GANG_ENOMEM, NULL, "out of memory") : GANG_OK;
    struct gang__alloc *a;
    for (uint32_t i = 0; (a = gang__alloc_at(c, i)) != NULL; i++) {
        if (!a->data || a->q->policy != GANG_POLICY_GPU_CLUSTERING)
            continue;
        for (const uint64_t *task = a->data; task < a->data + a->used;
             task += GANG__TASK_HEAD + gang__task_deltas(task)) {
            if (gang__task_is_holder(task))
                continue;
            const struct gang__group *g = &a->q->group[gang__task_group(task)];
            if (g->devices && (uint32_t)task[0] < slots)
                held[(uint32_t)task[0] * GANG__TALLY_CLASSES + gang__tally_class(g)]++;
        }
    }
    gang_result r = GANG_OK;
    for (uint32_t i = 0; i < slots * GANG__TALLY_CLASSES && r == GANG_OK; i++)
        if (gang__tally_count(c, i / GANG__TALLY_CLASSES, i % GANG__TALLY_CLASSES) != held[i])
            r = gang__error(error, GANG_EINVAL, NULL, "slot %u: its tasks of class %u are not %u",
                            i / GANG__TALLY_CLASSES, i % GANG__TALLY_CLASSES, held[i]);
    gang__release(&c->mem, held);
    return r;
}

static gang_result table_check(gang_cluster *c, struct gang_error *error)
{
    if (!gang__load(&c->place))
        return GANG_OK;
    struct audit t = {NULL, gang__load(&c->commit.slot_end)};
    t.sum = gang__zalloc(&c->mem, t.slots, GANG__MAX_WORDS * sizeof(*t.sum));
    if (!t.sum)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    struct gang__alloc *a;
    for (uint32_t i = 0; (a = gang__alloc_at(c, i)) != NULL; i++)
        if (a->data)
            audit_alloc(&t, a);
    gang_result r = audit_pool(c, &t, error);
    for (uint32_t slot = 1; slot < t.slots && r == GANG_OK; slot++) {
        struct gang__node *node = gang__node_at(c, slot);
        if (node)
            r = audit_node(c, &t, node, error);
    }
    gang__release(&c->mem, t.sum);
    if (r == GANG_OK)
        r = gang__peers_check(c, error);
    return r == GANG_OK ? audit_tally(c, t.slots, error) : r;
}
