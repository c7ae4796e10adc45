/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario/arena_in.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct gang__arena_chunk {
    struct gang__arena_chunk *next;
    size_t used;
    size_t cap;
    size_t reserved0; /* keeps `data` aligned for any type */
    unsigned char data[];
};

enum { ALIGN = _Alignof(max_align_t), CHUNK_FIRST = 4096, CHUNK_MAX = 1 << 20 };
_Static_assert(offsetof(struct gang__arena_chunk, data) % ALIGN == 0, "data must be aligned");

void *gang__arena_alloc(struct gang__arena *arena, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / 2 / bytes)
        return NULL;
    size_t need = (count * bytes + ALIGN - 1) / ALIGN * ALIGN;
    struct gang__arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->cap - chunk->used < need) {
        size_t cap = chunk ? chunk->cap * 2 : CHUNK_FIRST;
        if (cap > CHUNK_MAX)
            cap = CHUNK_MAX;
        if (cap < need)
            cap = need;
        struct gang__arena_chunk *more = gang__alloc(arena->mem, sizeof(*more) + cap);
        if (!more)
            return NULL;
        *more = (struct gang__arena_chunk){chunk, 0, cap, 0};
        arena->chunks = chunk = more;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += need;
    memset(memory, 0, need);
    return memory;
}

void gang__arena_free(struct gang__arena *arena)
{
    while (arena->chunks) {
        struct gang__arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        gang__release(arena->mem, chunk);
    }
}

/* ---- names ----------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const struct gang__named_entry *left = a;
    const struct gang__named_entry *right = b;
    int order = strcmp(left->text, right->text);
    if (order == 0)
        order = left->index < right->index ? -1 : left->index > right->index;
    return order;
}

bool gang__lookup_build(struct gang__lookup *names, struct gang__arena *arena,
                        const char *const *first, size_t stride, size_t count, size_t *twice)
{
    *twice = SIZE_MAX;
    *names = (struct gang__lookup){NULL, 0};
    if (count == 0)
        return true;
    names->list = gang__arena_alloc(arena, count, sizeof(*names->list));
    if (!names->list)
        return false;
    names->count = count;
    for (size_t i = 0; i < count; i++) {
        const char *text;
        memcpy(&text, (const char *)first + i * stride, sizeof(text));
        names->list[i] = (struct gang__named_entry){text, i};
    }
    /* Sorting, not hashing: no input makes it slow. */
    qsort(names->list, count, sizeof(*names->list), compare_names);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names->list[i - 1].text, names->list[i].text) == 0 &&
            names->list[i].index < *twice)
            *twice = names->list[i].index;
    return true;
}

bool gang__lookup_find(const struct gang__lookup *names, const char *text, size_t *index)
{
    size_t low = 0;
    size_t high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(text, names->list[middle].text);
        if (order == 0) {
            *index = names->list[middle].index;
            return true;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}
