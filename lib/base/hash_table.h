/* SPDX-License-Identifier: Apache-2.0 */
/* A chained hash table of structs that embed a link. Not for concurrent use. */
#ifndef GANG__BASE_HASH_TABLE_H
#define GANG__BASE_HASH_TABLE_H

#include "base/mem.h"

struct gang__hash_link {
    struct gang__hash_link *next;
    uint64_t hash;
};

struct gang__hash_table {
    struct gang__hash_link **bucket;
    size_t cap; /* a power of two, or 0 */
    size_t count;
};

/* FNV-1a, which spreads names that differ in their last byte; `seed` chains several parts. */
uint64_t gang__hash(uint64_t seed, const void *bytes, size_t length);
#define GANG__HASH_SEED UINT64_C(0xcbf29ce484222325)
/* The hash of a number or an address in one step: the upper half, which the table folds into the
 * lower one, depends on all of it. */
static inline uint64_t gang__hash_number(uint64_t seed, uint64_t number)
{
    return (seed ^ number) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Makes space for one more, so that the following insert cannot fail. */
gang_result gang__hash_reserve(struct gang__hash_table *t, const struct gang_mem *mem);
void gang__hash_insert(struct gang__hash_table *t, struct gang__hash_link *n, uint64_t hash);
void gang__hash_remove(struct gang__hash_table *t, struct gang__hash_link *n);
/* The first link of the chain of a hash; walk ->next and compare ->hash and the key. */
struct gang__hash_link *gang__hash_first(const struct gang__hash_table *t, uint64_t hash);
void gang__hash_free(struct gang__hash_table *t, const struct gang_mem *mem);

#endif
