/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash_table.h"

uint64_t gang__hash(uint64_t seed, const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t h = seed;
    for (size_t i = 0; i < length; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static struct gang__hash_link **bucket_of(const struct gang__hash_table *t, uint64_t hash)
{
    return &t->bucket[(hash ^ hash >> 32) & (t->cap - 1)];
}

gang_result gang__hash_reserve(struct gang__hash_table *t, const struct gang_mem *mem)
{
    if (t->count < t->cap)
        return GANG_OK;
    struct gang__hash_table bigger = {NULL, t->cap ? t->cap * 2 : 16, t->count};
    bigger.bucket = gang__zalloc(mem, bigger.cap, sizeof(*bigger.bucket));
    if (!bigger.bucket)
        return GANG_ENOMEM;
    for (size_t i = 0; i < t->cap; i++) {
        struct gang__hash_link *next;
        for (struct gang__hash_link *n = t->bucket[i]; n; n = next) {
            next = n->next;
            struct gang__hash_link **b = bucket_of(&bigger, n->hash);
            n->next = *b;
            *b = n;
        }
    }
    gang__release(mem, t->bucket);
    *t = bigger;
    return GANG_OK;
}

void gang__hash_insert(struct gang__hash_table *t, struct gang__hash_link *n, uint64_t hash)
{
    struct gang__hash_link **b = bucket_of(t, hash);
    n->hash = hash;
    n->next = *b;
    *b = n;
    t->count++;
}

void gang__hash_remove(struct gang__hash_table *t, struct gang__hash_link *n)
{
    for (struct gang__hash_link **b = bucket_of(t, n->hash); *b; b = &(*b)->next) {
        if (*b == n) {
            *b = n->next;
            t->count--;
            return;
        }
    }
}

struct gang__hash_link *gang__hash_first(const struct gang__hash_table *t, uint64_t hash)
{
    return t->cap ? *bucket_of(t, hash) : NULL;
}

void gang__hash_free(struct gang__hash_table *t, const struct gang_mem *mem)
{
    gang__release(mem, t->bucket);
    t->bucket = NULL;
    t->cap = t->count = 0;
}
