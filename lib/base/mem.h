/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator hook, and the few ways in which the library allocates. */
#ifndef GANG__BASE_MEM_H
#define GANG__BASE_MEM_H

#include <gangsched/base.h>

#include <stdbool.h>

/* The default: malloc() and free(). */
extern const struct gang_mem gang__mem_libc;

/* Checks a caller's hook and copies it; NULL gives the default. */
gang_result gang__mem_init(struct gang_mem *mem, const struct gang_mem *from);

void *gang__alloc(const struct gang_mem *mem, size_t bytes);
/* Zeroed; NULL also if count * bytes overflows. */
void *gang__zalloc(const struct gang_mem *mem, size_t count, size_t bytes);
/* Like gang__zalloc(), aligned to a cache line; free it with gang__release_line(). Large blocks lie
 * on huge pages, if the system has some and takes advice. */
void *gang__zalloc_line(const struct gang_mem *mem, size_t count, size_t bytes);
void gang__release(const struct gang_mem *mem, void *memory);
void gang__release_line(const struct gang_mem *mem, void *memory);
char *gang__strdup(const struct gang_mem *mem, const char *text);

/* Grows an array to at least `need` elements; doubles. The array may move. Returns false (nothing
 * changed) when out of memory. */
bool gang__grow_now(const struct gang_mem *mem, void **array, size_t *cap, size_t need,
                    size_t element);
static inline bool gang__grow(const struct gang_mem *mem, void **array, size_t *cap, size_t need,
                              size_t element)
{
    return need <= *cap || gang__grow_now(mem, array, cap, need, element);
}

#endif
