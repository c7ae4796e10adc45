/* SPDX-License-Identifier: Apache-2.0 */
/* The buckets of the index: where a node stands, and the lowest bucket in which a task fits. */
#include "core/commit/index.h"

uint8_t gang__bucket_for_share(uint32_t milli)
{
    return (uint8_t)(1 + milli * 8 / 1000);
}

uint8_t gang__bucket_for_gpus(uint64_t devices)
{
    uint64_t most = GANG__GPU_BUCKETS - GANG__GPU_WHOLE;
    return devices ? (uint8_t)(GANG__GPU_WHOLE + (devices < most ? devices : most)) : 0;
}

uint8_t gang__bucket_for_cpu(uint64_t milli)
{
    if (milli == 0)
        return 1;
    if (milli < 250)
        return 2;
    unsigned log = 63u - (unsigned)__builtin_clzll(milli / 250);
    return (uint8_t)(3 + log < GANG__CPU_BUCKETS ? 3 + log : GANG__CPU_BUCKETS);
}

/* The largest free share of a device of which a part is taken. */
static uint32_t largest_part(struct gang__layout layout, const uint64_t *payload)
{
    uint32_t part = 0;
    for (unsigned i = 0; i < layout.gpus; i++) {
        uint32_t share = gang__share(payload[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                                     i % GANG__SHARES_PER_WORD);
        if (share > part)
            part = share;
    }
    return part;
}

struct gang__buckets gang__buckets_of(struct gang__layout layout, const uint64_t *payload)
{
    struct gang__buckets buckets = {0, 0};
    if (gang__head_state(payload[GANG__WORD_HEAD]) != GANG__STATE_UP)
        return buckets;
    if (gang__head_is_leased(payload[GANG__WORD_HEAD])) { /* nothing is free */
        buckets.cpu = gang__bucket_for_cpu(0);
        return buckets;
    }
    buckets.cpu = gang__bucket_for_cpu(gang__head_cpu(payload[GANG__WORD_HEAD]));
    uint64_t whole = 0, any = 0; /* both in fields */
    const uint64_t *share = payload + GANG__WORD_SHARES, *end = share + gang__share_words(layout);
    for (; share < end; share++) {
        any |= *share;
        whole += gang__whole_fields(*share);
    }
    if (whole)
        buckets.gpu = gang__bucket_for_gpus(gang__fields_sum(whole));
    else if (any)
        buckets.gpu = gang__bucket_for_share(largest_part(layout, payload));
    return buckets;
}

struct gang__buckets gang__buckets_of_like(struct gang__layout layout, const uint64_t *payload,
                                           struct gang__bucket_memo *last)
{
    unsigned end = GANG__WORD_SHARES + gang__share_words(layout);
    uint64_t differ = last->end != end;
    for (unsigned i = 0; !differ && i < end; i++)
        differ = last->payload[i] ^ payload[i];
    if (differ) {
        last->end = end;
        for (unsigned i = 0; i < end; i++)
            last->payload[i] = payload[i];
        last->buckets = gang__buckets_of(layout, payload);
    }
    return last->buckets;
}
