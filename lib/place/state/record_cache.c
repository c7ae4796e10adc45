/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker keeps of records, so that it shares less with others: buffers for the data of large
 * allocations, and references to the request used last. */
#include <string.h>

#include "place/request/request.h"
#include "place/state/records_in.h"

enum { SMALLEST_CLASS = 4 };

/* ---- buffers --------------------------------------------------------------------------------- */

static uint64_t *buffer_get(gang_worker *w, uint32_t k)
{
    struct gang__record_cache *cache = gang__record_cache_of(w);
    if (k < 32 && cache->buffer[k]) {
        uint64_t *b = cache->buffer[k];
        cache->buffer[k] = (uint64_t *)(uintptr_t)b[0];
        cache->buffer_count[k]--;
        return b;
    }
    return gang__alloc(&w->cluster->mem, sizeof(uint64_t) << k);
}

void gang__buffer_put(gang_worker *w, const struct gang__alloc *a, uint64_t *buffer, uint32_t k)
{
    struct gang__record_cache *cache = gang__record_cache_of(w);
    if (!buffer || buffer == a->small)
        return;
    if (k <= GANG__KEEP_BUFFER_CLASS && cache->buffer_count[k] < GANG__KEEP_BUFFERS) {
        buffer[0] = (uint64_t)(uintptr_t)cache->buffer[k];
        cache->buffer[k] = buffer;
        cache->buffer_count[k]++;
    } else {
        gang__release(&w->cluster->mem, buffer);
    }
}

bool gang__alloc_enlarge(gang_worker *w, struct gang__alloc *a, size_t words)
{
    uint32_t k = SMALLEST_CLASS;
    while ((size_t)1 << k < words)
        k++;
    uint64_t *data = buffer_get(w, k);
    if (!data)
        return false;
    uint64_t *old = a->data;
    uint32_t old_class = a->cap_log;
    memcpy(data, old, a->used * sizeof(*data));
    a->data = data;
    a->cap_log = (uint16_t)k;
    gang__buffer_put(w, a, old,
                     old_class); /* last, for the sake of forks: see gang__alloc_drop() */
    return true;
}

/* ---- references to requests --------------------------------------------------------------- */

enum { REFS_AT_ONCE = 256 };

void gang__request_hold(gang_worker *w, gang_request *request)
{
    struct gang__record_cache *cache = gang__record_cache_of(w);
    if (cache->ref_cache != request) {
        gang_request *before = cache->ref_cache;
        uint32_t count = cache->ref_cache_count;
        /* First let go, then give up: see gang__alloc_drop(). */
        cache->ref_cache = NULL;
        cache->ref_cache_count = 0;
        if (before)
            gang__request_unref(before, count);
        gang__request_ref(request, REFS_AT_ONCE);
        cache->ref_cache_count = REFS_AT_ONCE;
        cache->ref_cache = request;
    }
    /* Without a reference nothing keeps it there. */
    if (--cache->ref_cache_count == 0)
        cache->ref_cache = NULL;
}

void gang__request_drop(gang_worker *w, gang_request *request)
{
    struct gang__record_cache *cache = gang__record_cache_of(w);
    if (cache->ref_cache != request) {
        gang__request_unref(request, 1);
    } else if (++cache->ref_cache_count > 2 * REFS_AT_ONCE) {
        cache->ref_cache_count -= REFS_AT_ONCE;
        gang__request_unref(request, REFS_AT_ONCE);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

void gang__record_cache_free(struct gang__record_cache *cache, const struct gang_mem *mem)
{
    for (unsigned i = 0; i < 32; i++) {
        while (cache->buffer[i]) {
            uint64_t *next = (uint64_t *)(uintptr_t)cache->buffer[i][0];
            gang__release(mem, cache->buffer[i]);
            cache->buffer[i] = next;
        }
    }
    gang__request_unref(cache->ref_cache, cache->ref_cache_count);
}
