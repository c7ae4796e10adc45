/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator hook, and the few shapes in which the library asks for memory. */
#ifndef GANG__BASE_MEM_H
#define GANG__BASE_MEM_H

#include <gangsched/base.h>

#include <stdbool.h>

/* The default: malloc() and free(). */
extern const struct gang_mem gang__mem_libc;

/* Check a caller's hook and copy it; NULL gives the default. */
gang_result gang__mem_init(struct gang_mem *mem, const struct gang_mem *from);

void *gang__alloc(const struct gang_mem *mem, size_t bytes);
/* Zeroed; NULL also if count * bytes overflows. */
void *gang__zalloc(const struct gang_mem *mem, size_t count, size_t bytes);
/* As gang__zalloc(), aligned to a cache line; give back with gang__release_line(). */
void *gang__zalloc_line(const struct gang_mem *mem, size_t count, size_t bytes);
void gang__release(const struct gang_mem *mem, void *memory);
void gang__release_line(const struct gang_mem *mem, void *memory);
char *gang__strdup(const struct gang_mem *mem, const char *text);

/* Make room in a growing array for `need` elements; doubles. The array may move. Returns false
 * (nothing changed) when out of memory. */
bool gang__grow_now(const struct gang_mem *mem, void **array, size_t *room, size_t need,
                    size_t element);
static inline bool gang__grow(const struct gang_mem *mem, void **array, size_t *room, size_t need,
                              size_t element)
{
    return need <= *room || gang__grow_now(mem, array, room, need, element);
}

#endif
