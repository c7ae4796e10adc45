/* SPDX-License-Identifier: Apache-2.0 */
/* Records lie in chunks of 1024, 2048, 4096, ... that never move and are freed with the cluster
 * only. A worker keeps free records; the others are in one list, a stack. Its head carries a tag,
 * so that a late compare-and-swap fails. */
#include "place/state/records_in.h"

#include "base/ascending.h"
#include "core/commit/commit.h"
#include "place/request/request.h"

enum { NO_RECORD = 0 }; /* indexes in the free list are stored plus one */

/* ---- records ------------------------------------------------------------------------------ */

/* Chunk k holds 2^(k + GANG__FIRST_RECORDS_LOG) records, from that number less
 * 2^GANG__FIRST_RECORDS_LOG on. */
static unsigned chunk_of(uint32_t index, uint64_t *offset)
{
    uint64_t n = (uint64_t)index + (1u << GANG__FIRST_RECORDS_LOG);
    unsigned log = 63u - (unsigned)__builtin_clzll(n);
    *offset = n - (UINT64_C(1) << log);
    return log - GANG__FIRST_RECORDS_LOG;
}

/* Where the node of the first task of a record is noted: see gang__alloc_node_hint(). The hints of
 * a chunk lie behind its records, sixteen in a cache line. */
static inline gang__a32 *node_hint_of(struct gang__alloc *a, uint32_t index)
{
    uint64_t offset;
    unsigned k = chunk_of(index, &offset);
    struct gang__alloc *end = a - offset + ((size_t)1 << (k + GANG__FIRST_RECORDS_LOG));
    return (gang__a32 *)end + offset;
}

struct gang__alloc *gang__alloc_at(gang_cluster *c, uint32_t index)
{
    struct gang__shared *s = gang__shared_at(c);
    struct gang__records *t = s ? &s->records : NULL;
    if (!t || index >= gang__load(&t->end))
        return NULL;
    uint64_t offset;
    struct gang__alloc *chunk = gang__load(&t->chunk[chunk_of(index, &offset)]);
    return chunk ? chunk + offset : NULL;
}

static gang_result chunk_make(gang_cluster *c, struct gang__records *t, unsigned k)
{
    if (gang__load(&t->chunk[k]))
        return GANG_OK;
    struct gang__alloc *fresh =
        gang__zalloc_line(&c->mem, (size_t)1 << (k + GANG__FIRST_RECORDS_LOG),
                          sizeof(struct gang__alloc) + sizeof(gang__a32));
    if (!fresh)
        return GANG_ENOMEM;
    struct gang__alloc *none = NULL;
    if (!gang__publish(&t->chunk[k], &none, fresh))
        gang__release_line(&c->mem, fresh);
    return GANG_OK;
}

static void spare_push(gang_cluster *c, struct gang__records *t, uint32_t index)
{
    struct gang__alloc *a = gang__alloc_at(c, index);
    uint64_t head;
    do {
        head = gang__load(&t->spare);
        gang__store(&a->next_free, (uint32_t)head);
    } while (!gang__cas(&t->spare, head, ((head >> 32) + 1) << 32 | (index + 1)));
}

static bool spare_pop(gang_cluster *c, struct gang__records *t, uint32_t *index)
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

gang_result gang__alloc_new(gang_worker *w, struct gang__alloc **a)
{
    struct gang__record_cache *cache = gang__record_cache_of(w);
    gang_cluster *c = w->cluster;
    struct gang__records *t = &gang__shared_at(c)->records;
    uint32_t index;
    if (cache->free_alloc_count) {
        index = cache->free_alloc[--cache->free_alloc_count];
    } else if (!spare_pop(c, t, &index)) {
        for (;;) {
            uint64_t offset;
            index = gang__load(&t->end);
            if (index >= UINT32_MAX - (1u << GANG__FIRST_RECORDS_LOG))
                return GANG_ELIMIT;
            if (chunk_make(c, t, chunk_of(index, &offset)) != GANG_OK)
                return GANG_ENOMEM;
            uint32_t expected = index;
            if (gang__publish(&t->end, &expected, index + 1))
                break;
        }
        gang__alloc_at(c, index)->index = index;
    }
    *a = gang__alloc_at(c, index);
    (*a)->fits_epoch = 0;
    gang__store(&(*a)->owner, w->keeps_allocs ? gang__owner_of(w) : (uint16_t)0);
    uint64_t state = gang__load(&(*a)->state);
    gang__store(&(*a)->state, state_of(generation_of(state) + 1, GANG__BUSY));
    gang__hook(GANG__STEP_HOLD);
    return GANG_OK;
}

void gang__alloc_drop(gang_worker *w, struct gang__alloc *a)
{
    struct gang__record_cache *cache = gang__record_cache_of(w);
    struct gang__records *t = &gang__shared_at(w->cluster)->records;
    uint64_t *data = a->data;
    gang_request *request = a->request;
    gang__hook(GANG__STEP_DROP);
    /* First let go, then free: a fork may leave a child with the thread stopped in between. */
    a->data = NULL;
    a->request = NULL;
    gang__buffer_put(w, a, data, a->cap_log);
    if (request)
        gang__request_drop(w, request);
    a->used = a->tasks = a->next_number = 0;
    gang__store(&a->state, state_of(generation_of(gang__load(&a->state)), GANG__FREE));
    if (cache->free_alloc_count < sizeof(cache->free_alloc) / sizeof(cache->free_alloc[0]))
        cache->free_alloc[cache->free_alloc_count++] = a->index;
    else
        spare_push(w->cluster, t, a->index);
}

/* Notes the hint. Relaxed: nothing depends on it but what is loaded early. */
static inline void note_node(struct gang__alloc *a)
{
    if (a->used > 0)
        gang__store_relaxed(node_hint_of(a, a->index), (uint32_t)a->data[0]);
}

gang_alloc_id gang__alloc_publish(struct gang__alloc *a)
{
    uint32_t generation = generation_of(gang__load(&a->state));
    note_node(a);
    gang__hook(GANG__STEP_PUBLISH);
    gang__store(&a->state, state_of(generation, GANG__LIVE));
    return (uint64_t)generation << 32 | (a->index + 1);
}

/* The record that an id names, stale or not; NULL: there is none. Begins to load it. */
static inline struct gang__alloc *record_of(gang_cluster *c, gang_alloc_id id)
{
    struct gang__alloc *a = (uint32_t)id ? gang__alloc_at(c, (uint32_t)id - 1) : NULL;
    if (a) {
        __builtin_prefetch(a, 1);
        __builtin_prefetch(a->small, 1); /* the tasks of most lie there, on the next cache line */
    }
    return a;
}

/* Does the record belong to the id? */
static inline bool is_of(gang_alloc_id id, uint64_t state)
{
    return generation_of(state) == (uint32_t)(id >> 32) && phase_of(state) != GANG__FREE;
}

/* The record of an id, and its state; NULL if stale. */
static struct gang__alloc *alloc_of(gang_cluster *c, gang_alloc_id id, uint64_t *state)
{
    struct gang__alloc *a = record_of(c, id);
    if (!a)
        return NULL;
    *state = gang__load(&a->state);
    return is_of(id, *state) ? a : NULL;
}

uint32_t gang__alloc_node_hint(gang_cluster *c, gang_alloc_id id)
{
    struct gang__alloc *a = (uint32_t)id ? gang__alloc_at(c, (uint32_t)id - 1) : NULL;
    return a ? gang__load_relaxed(node_hint_of(a, (uint32_t)id - 1)) : (uint32_t)GANG__POOL;
}

/* Begins to load the node of a record, and the words of the index that show it, while the record
 * itself is being loaded. */
static inline void prefetch_node(gang_worker *w, struct gang__alloc *a, uint32_t index)
{
    uint32_t slot = gang__load_relaxed(node_hint_of(a, index));
    if (slot == GANG__POOL)
        return;
    gang__node_prefetch(&w->cluster->commit, slot);
    gang__index_prefetch_guess(&w->cluster->commit, slot, w->commit.class_id);
}

/* The owner is read before the record is held, so that a refused call disturbs no other thread. It
 * belongs to this generation if the state is the same afterwards. */
static bool is_kept_by_other(const gang_worker *w, struct gang__alloc *a, uint64_t state)
{
    uint16_t owner = gang__load(&a->owner);
    return owner != 0 && owner != gang__owner_of(w) && gang__load(&a->state) == state;
}

gang_result gang__alloc_lock(gang_worker *w, gang_alloc_id id, struct gang__alloc **a)
{
    *a = record_of(w->cluster, id);
    if (!*a)
        return GANG_ESTALE;
    prefetch_node(w, *a, (uint32_t)id - 1);
    for (;;) {
        uint64_t state = gang__load(&(*a)->state);
        if (!is_of(id, state))
            return GANG_ESTALE;
        if (phase_of(state) == GANG__BUSY || readers_of(state) || is_kept_by_other(w, *a, state))
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
    gang__sub_release(&a->state, 1);
}

struct gang__alloc *gang__alloc_kept(const gang_worker *w, gang_alloc_id id)
{
    uint64_t state;
    struct gang__alloc *a = alloc_of(w->cluster, id, &state);
    return a && gang__load(&a->owner) == gang__owner_of(w) ? a : NULL;
}

/* Set the mark of a task, or take it away. */
static void mark(const struct gang__alloc *a, const uint64_t *task, bool stopped)
{
    gang__a64 *word = (gang__a64 *)&a->data[task - a->data + 1];
    uint64_t others = gang__load_relaxed(word) & ~(uint64_t)GANG__TASK_STOPPED;
    gang__store_relaxed(word, others | (stopped ? GANG__TASK_STOPPED : 0));
}

void gang__alloc_mark_stopped(gang_worker *w, gang_alloc_id id, const int64_t *tasks, size_t count,
                              const int64_t *except, size_t except_count)
{
    const struct gang__alloc *a = gang__alloc_kept(w, id);
    if (!a)
        return;
    struct gang__ascending some = {tasks, count, 0}, skip = {except, except_count, 0};
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task)) {
        int64_t number = gang__task_number(task);
        if ((!tasks || gang__ascending_has(&some, number)) && !gang__ascending_has(&skip, number))
            mark(a, task, true);
    }
}

void gang__alloc_show(gang_worker *w, gang_alloc_id id, const int64_t *tasks, size_t count)
{
    const struct gang__alloc *a = gang__alloc_kept(w, id);
    struct gang__ascending some = {tasks, count, 0};
    for (const uint64_t *task = a ? gang__task_first(a) : NULL; task;
         task = gang__task_next(a, task))
        if (gang__ascending_has(&some, gang__task_number(task)))
            mark(a, task, false);
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

/* ---- copies ---------------------------------------------------------------------------------- */

gang_result gang__alloc_copy(gang_cluster *c, uint32_t index, const struct gang__alloc *from,
                             struct gang__alloc **to, bool *live)
{
    struct gang__records *t = &gang__shared_at(c)->records;
    uint64_t offset, state = gang__load(&from->state);
    gang_result r = chunk_make(c, t, chunk_of(index, &offset));
    if (r != GANG_OK)
        return r;
    gang__store(&t->end, index + 1);
    *to = gang__alloc_at(c, index);
    (*to)->index = index;
    *live = phase_of(state) == GANG__LIVE;
    if (phase_of(state) == GANG__BUSY)
        return GANG_EBUSY;
    if (!*live) {
        gang__store(&(*to)->state, state_of(generation_of(state), GANG__FREE));
        spare_push(c, t, index);
    }
    return GANG_OK;
}

void gang__alloc_copy_end(struct gang__alloc *to, const struct gang__alloc *from)
{
    note_node(to);
    gang__store(&to->state, state_of(generation_of(gang__load(&from->state)), GANG__LIVE));
}

/* ---- the end --------------------------------------------------------------------------------- */

void gang__records_free(gang_cluster *c)
{
    struct gang__records *t = &gang__shared_at(c)->records;
    uint32_t end = gang__load(&t->end);
    for (uint32_t i = 0; i < end; i++) {
        struct gang__alloc *a = gang__alloc_at(c, i);
        if (!a || !a->data)
            continue;
        if (a->data != a->small)
            gang__release(&c->mem, a->data);
        gang__request_unref(a->request, 1);
    }
    for (unsigned i = 0; i < GANG__RECORD_CHUNKS; i++)
        gang__release_line(&c->mem, gang__load(&t->chunk[i]));
}
