/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* madvise() */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

enum { CACHE_LINE = 64, HUGE_PAGE = 2 << 20 };

static void *libc_alloc(size_t bytes, void *user)
{
    (void)user;
    return malloc(bytes);
}

static void libc_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

const struct gang_mem gang__mem_libc = {sizeof(struct gang_mem), libc_alloc, libc_release, NULL};

gang_result gang__mem_init(struct gang_mem *mem, const struct gang_mem *from)
{
    *mem = gang__mem_libc;
    if (!from)
        return GANG_OK;
    struct gang_mem in;
    gang_result r = gang__struct_in(&in, sizeof(in), sizeof(in), from, from->size);
    if (r != GANG_OK)
        return r;
    if (!in.alloc != !in.release)
        return GANG_EINVAL;
    if (in.alloc)
        *mem = in;
    return GANG_OK;
}

void *gang__alloc(const struct gang_mem *mem, size_t bytes)
{
    return mem->alloc(bytes ? bytes : 1, mem->user);
}

void *gang__zalloc(const struct gang_mem *mem, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes)
        return NULL;
    void *memory = gang__alloc(mem, count * bytes);
    if (memory)
        memset(memory, 0, count * bytes);
    return memory;
}

/* Advises the system to put the block on huge pages, as far as it covers whole ones. What is looked
 * up in it at random then waits for the memory, but seldom for the page tables, too. */
static void advise_huge_pages(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    size_t before = (HUGE_PAGE - (uintptr_t)block % HUGE_PAGE) % HUGE_PAGE;
    if (bytes >= before + HUGE_PAGE)
        (void)madvise((char *)block + before, (bytes - before) / HUGE_PAGE * HUGE_PAGE,
                      MADV_HUGEPAGE); /* may fail: it is advice */
#else
    (void)block;
    (void)bytes;
#endif
}

void *gang__zalloc_line(const struct gang_mem *mem, size_t count, size_t bytes)
{
    if (bytes && count > (SIZE_MAX - 2 * CACHE_LINE) / bytes)
        return NULL;
    /* The hook knows no alignment, so the block's true start is kept just before the aligned
     * part. */
    char *block = gang__alloc(mem, count * bytes + CACHE_LINE + sizeof(void *));
    if (!block)
        return NULL;
    uintptr_t first = (uintptr_t)block + sizeof(void *);
    char *aligned = block + sizeof(void *) + (CACHE_LINE - first % CACHE_LINE) % CACHE_LINE;
    memcpy(aligned - sizeof(void *), &block, sizeof(block));
    advise_huge_pages(aligned, count * bytes);
    memset(aligned, 0, count * bytes);
    return aligned;
}

void gang__release(const struct gang_mem *mem, void *memory)
{
    if (memory)
        mem->release(memory, mem->user);
}

void gang__release_line(const struct gang_mem *mem, void *memory)
{
    if (!memory)
        return;
    void *block;
    memcpy(&block, (char *)memory - sizeof(void *), sizeof(block));
    mem->release(block, mem->user);
}

char *gang__strdup(const struct gang_mem *mem, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = gang__alloc(mem, bytes);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

bool gang__grow_now(const struct gang_mem *mem, void **array, size_t *cap, size_t need,
                    size_t element)
{
    size_t more = *cap ? *cap : 8;
    while (more < need) {
        if (more > SIZE_MAX / 2 / element)
            return false;
        more *= 2;
    }
    void *bigger = gang__alloc(mem, more * element);
    if (!bigger)
        return false;
    void *old = *array;
    if (old)
        memcpy(bigger, old, *cap * element);
    /* Unlink first, then free: a fork may leave a child with the thread stopped in between. */
    *array = bigger;
    *cap = more;
    gang__release(mem, old);
    return true;
}
