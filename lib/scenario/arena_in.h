/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the reader that is freed all at once, and sorted names in it. */
#ifndef GANG__SCENARIO_ARENA_IN_H
#define GANG__SCENARIO_ARENA_IN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct gang__arena {
    const struct gang_mem *mem;
    struct gang__arena_chunk *chunks; /* the newest first */
};

/* Zeroed memory, aligned for any type; NULL: out of memory. */
void *gang__arena_alloc(struct gang__arena *arena, size_t count, size_t bytes);
void gang__arena_free(struct gang__arena *arena);

struct gang__named_entry {
    const char *text;
    size_t index;
};

/* Names with their indices, sorted by name. */
struct gang__lookup {
    struct gang__named_entry *list;
    size_t count;
};

/* Sorts `count` names: the first is at *first, each other one `stride` bytes after the one before.
 * *twice: the lowest index of a name that an earlier element has too, or SIZE_MAX.
 * false: out of memory. */
bool gang__lookup_build(struct gang__lookup *names, struct gang__arena *arena,
                        const char *const *first, size_t stride, size_t count, size_t *twice);
bool gang__lookup_find(const struct gang__lookup *names, const char *text, size_t *index);

#endif
