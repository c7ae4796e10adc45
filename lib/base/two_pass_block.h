/* SPDX-License-Identifier: Apache-2.0 */
/* A block of memory for a whole structure. The same code lays it out twice: without `base` to
 * measure it, then to fill it. */
#ifndef GANG__BASE_TWO_PASS_BLOCK_H
#define GANG__BASE_TWO_PASS_BLOCK_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct gang__block {
    char *base; /* NULL: measuring */
    size_t used;
};

/* Space for anything made of integers and pointers. NULL while measuring. */
static inline void *gang__block_alloc(struct gang__block *b, size_t bytes)
{
    size_t align = _Alignof(uint64_t);
    b->used = (b->used + align - 1) / align * align;
    void *memory = b->base ? b->base + b->used : NULL;
    b->used += bytes;
    return memory;
}

/* A copy of a text. NULL while measuring, and of NULL. */
static inline const char *gang__block_text(struct gang__block *b, const char *text)
{
    if (!text)
        return NULL;
    size_t bytes = strlen(text) + 1;
    char *memory = b->base ? b->base + b->used : NULL;
    b->used += bytes;
    return memory ? memcpy(memory, text, bytes) : NULL;
}

/* Lays out what `from` describes. NULL while measuring, else the first thing in the block. */
typedef void *gang__block_lay_fn(struct gang__block *b, const void *from);

/* Both passes: returns what `lay` returned, at the start of zeroed memory that gang__release()
 * frees. NULL: out of memory. */
static inline void *gang__block_build(const struct gang_mem *mem, gang__block_lay_fn *lay,
                                      const void *from)
{
    struct gang__block b = {NULL, 0};
    (void)lay(&b, from);
    size_t measured = b.used;
    b = (struct gang__block){gang__zalloc(mem, 1, measured), 0};
    if (!b.base)
        return NULL;
    void *made = lay(&b, from);
    assert(b.used == measured && (char *)made == b.base);
    return made;
}

#endif
