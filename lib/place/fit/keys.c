/* SPDX-License-Identifier: Apache-2.0 */
#include "place/fit/keys.h"

/* Keys that agree above `bit`. Recurses at most 64 deep. */
static void sort_below(uint64_t *key, size_t count, unsigned bit)
{
    enum { FEW = 16 };
    while (count > FEW) {
        size_t low = 0, high = count;
        while (low < high) {
            uint64_t k = key[low];
            if (k >> bit & 1) {
                key[low] = key[--high];
                key[high] = k;
            } else {
                low++;
            }
        }
        if (bit-- == 0)
            return;
        sort_below(key + low, count - low, bit);
        count = low;
    }
    for (size_t i = 1; i < count; i++) {
        uint64_t k = key[i];
        size_t at = i;
        for (; at && key[at - 1] > k; at--)
            key[at] = key[at - 1];
        key[at] = k;
    }
}

/* Radix exchange, since qsort() calls malloc() for more than a kilobyte. */
void gang__sort_keys(uint64_t *key, size_t count)
{
    uint64_t differ = 0;
    bool sorted = true;
    for (size_t i = 1; i < count; i++) {
        differ |= key[i - 1] ^ key[i];
        sorted &= key[i - 1] <= key[i];
    }
    if (!sorted)
        sort_below(key, count, 63 - (unsigned)__builtin_clzll(differ));
}

bool gang__keys_have(const uint64_t *key, size_t count, uint64_t number)
{
    size_t low = 0;
    while (low < count) {
        size_t mid = (low + count) / 2;
        if (key[mid] == number)
            return true;
        if (key[mid] < number)
            low = mid + 1;
        else
            count = mid;
    }
    return false;
}

uint64_t *gang__keys_push(struct gang__plan *p, size_t count, size_t *at)
{
    *at = p->keys.count;
    if (!gang__grow(&p->c->mem, (void **)&p->keys.key, &p->keys.cap, p->keys.count + count,
                    sizeof(*p->keys.key))) {
        p->out.failed = true;
        return NULL;
    }
    p->keys.count += count;
    return p->keys.key + *at;
}
