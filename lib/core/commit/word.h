/* SPDX-License-Identifier: Apache-2.0 */
/* A word of a cell, and what an operation does to it.
 *
 * A cell is the record of what is free on one node: an owner word and a row of these words.
 *
 *     bit 63      0 (1 marks "not agreed yet" in a descriptor, never in a cell)
 *     bits 40-62  version, one more at each change
 *     bits 0-39   payload
 *
 * The version makes a late write of a helper fail. To do harm a helper would have to sleep across
 * 2^23 changes of the same word and wake at the same version and payload.
 *
 * Words of a node, in this order (struct gang__layout has the number of each):
 *     head        bits 0-31 millicores free, bits 32-33 state of the node, bit 34 leased
 *     memory      pages free
 *     shares      four devices a word, ten bits each: milli-GPUs free of the device
 *     cores       forty cores a word: bit set = the core has no owner
 *     amounts     countables of the site, one a word
 *     health      forty devices a word: bit set = the device is unhealthy. It is not taken or
 *                 given: a planner reads it only where some device of the cluster is unhealthy
 *
 * A leased node (bit 34) is taken as a whole, by this one bit: its words stand at the capacity of
 * the node, and nothing is free. See lease.c.
 *
 * The library has one fit predicate, gang__op_fits(): search, commit and explanation all use it. */
#ifndef GANG__CORE_WORD_H
#define GANG__CORE_WORD_H

#include <gangsched/model.h>

#include <stdbool.h>
#include <stdint.h>

enum {
    GANG__PAYLOAD_BITS = 40,
    GANG__SHARES_PER_WORD = 4,
    GANG__SHARE_BITS = 10,
    GANG__CORES_PER_WORD = 40,
    GANG__HEALTH_PER_WORD = 40,
    GANG__WORD_HEAD = 0,
    GANG__WORD_MEMORY = 1,
    GANG__WORD_SHARES = 2, /* first of them */
    GANG__MAX_WORDS = 2 + GANG_MAX_GPUS / GANG__SHARES_PER_WORD +
                      (GANG_MAX_CORES + GANG__CORES_PER_WORD - 1) / GANG__CORES_PER_WORD +
                      (GANG_MAX_KINDS - GANG_KIND_SITE) +
                      (GANG_MAX_GPUS + GANG__HEALTH_PER_WORD - 1) / GANG__HEALTH_PER_WORD
};

#define GANG__PAYLOAD ((UINT64_C(1) << GANG__PAYLOAD_BITS) - 1)
#define GANG__SHARE_MASK ((UINT64_C(1) << GANG__SHARE_BITS) - 1)
#define GANG__UNAGREED (UINT64_C(1) << 63)
#define GANG__HEAD_CPU UINT64_C(0xffffffff)
#define GANG__HEAD_LEASED (UINT64_C(1) << 34)

/* States as the head word has them. 0 is gone, so that nothing can be taken of a zeroed cell. */
enum {
    GANG__STATE_GONE = 0,
    GANG__STATE_UP = 1,
    GANG__STATE_DRAINING = 2,
    GANG__STATE_DOWN = 3,
    GANG__STATE_SHIFT = 32
};

/* What an operation does to one word; `arg` is a payload unless the comment says otherwise. */
enum gang__code {
    /* `arg`: state and millicores as in the head word, and GANG__HEAD_* below */
    GANG__OP_HEAD,
    GANG__OP_TAKE,        /* count -= arg, if the count is at least arg */
    GANG__OP_GIVE,        /* count += arg */
    GANG__OP_TAKE_BITS,   /* clear the bits of arg, if all are set */
    GANG__OP_GIVE_BITS,   /* set the bits of arg */
    GANG__OP_TAKE_SHARES, /* four fields -= those of arg, if each is at least that of arg */
    GANG__OP_GIVE_SHARES, /* four fields += those of arg */
    /* payload = arg; for health, or for a cell that is gone and wholly free */
    GANG__OP_SET,
    GANG__OP_MARK_BITS,   /* set the bits of arg, set or not */
    GANG__OP_UNMARK_BITS, /* clear the bits of arg, set or not */
    /* Of the head word, alone or before all others of its cell; see lease.c. */
    GANG__OP_LEASE,   /* take all of a node that is up and wholly free */
    GANG__OP_UNLEASE, /* give it back */
    GANG__OP_BREAK    /* the same is taken, but by all words */
};

/* Conditions and changes of the head word. */
#define GANG__HEAD_GIVE (UINT64_C(1) << 40)      /* add the millicores rather than take them */
#define GANG__HEAD_IF_UP (UINT64_C(1) << 41)     /* refuse unless the node is up */
#define GANG__HEAD_IF_THERE (UINT64_C(1) << 42)  /* refuse if the node is gone */
#define GANG__HEAD_SET_STATE (UINT64_C(1) << 43) /* bits 32-33 are the new state */

static inline uint64_t gang__payload(uint64_t word)
{
    return word & GANG__PAYLOAD;
}

static inline uint64_t gang__head_cpu(uint64_t head)
{
    return head & GANG__HEAD_CPU;
}

static inline uint32_t gang__head_state(uint64_t head)
{
    return (uint32_t)(head >> GANG__STATE_SHIFT) & 3;
}

static inline bool gang__head_is_leased(uint64_t head)
{
    return (head & GANG__HEAD_LEASED) != 0;
}

static inline uint64_t gang__head(uint32_t state, uint64_t cpu)
{
    return (uint64_t)state << GANG__STATE_SHIFT | cpu;
}

/* Milli-GPUs of device `i` (0-3) of a share word. */
static inline uint32_t gang__share(uint64_t word, unsigned i)
{
    return (uint32_t)(word >> (i * GANG__SHARE_BITS) & GANG__SHARE_MASK);
}

static inline uint64_t gang__share_of(unsigned i, uint32_t milli)
{
    return (uint64_t)milli << (i * GANG__SHARE_BITS);
}

/* The number of bits set in x. Inline: without a machine option the compiler calls a library
 * function for it. */
static inline uint32_t gang__popcount(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* The lowest bit of each field of a share word. */
#define GANG__SHARE_ONES (UINT64_C(1) | UINT64_C(1) << 10 | UINT64_C(1) << 20 | UINT64_C(1) << 30)

/* The lowest bit of each field of a share word whose device is whole (1000). Judges all fields at
 * once: of the difference to 1000 a field is zero if neither its low nine bits carry nor its top
 * bit is set. */
static inline uint64_t gang__whole_fields(uint64_t payload)
{
    uint64_t x = payload ^ 1000 * GANG__SHARE_ONES;
    return (~(((x & 511 * GANG__SHARE_ONES) + 511 * GANG__SHARE_ONES) | x) >> 9) & GANG__SHARE_ONES;
}

/* The sum of four fields of ten bits, which is less than a field holds. */
static inline uint32_t gang__fields_sum(uint64_t fields)
{
    return (uint32_t)(fields * GANG__SHARE_ONES >> 30) & (uint32_t)GANG__SHARE_MASK;
}

/* The devices of a share word that are whole, as four bits. */
static inline uint32_t gang__whole(uint64_t payload)
{
    const uint64_t gather = UINT64_C(1) << 30 | UINT64_C(1) << 21 | UINT64_C(1) << 12 | 1 << 3;
    return (uint32_t)(gang__whole_fields(payload) * gather >> 30) & 15;
}

/* Are fields 0 and 2 of a share word at least those of another? If so, a guard bit above each field
 * survives the subtraction. */
static inline bool gang__shares_cover(uint64_t payload, uint64_t arg)
{
    const uint64_t fields = GANG__SHARE_MASK | GANG__SHARE_MASK << 2 * GANG__SHARE_BITS;
    const uint64_t guards = UINT64_C(1) << GANG__SHARE_BITS | UINT64_C(1) << 3 * GANG__SHARE_BITS;
    return ((((payload & fields) | guards) - (arg & fields)) & guards) == guards;
}

/* Does the operation fit a word (or payload) as it is? The one fit predicate. */
static inline bool gang__op_fits(enum gang__code code, uint64_t arg, uint64_t word)
{
    uint64_t payload = gang__payload(word);
    switch (code) {
    case GANG__OP_HEAD: {
        uint32_t state = gang__head_state(payload);
        if (gang__head_is_leased(payload))
            return false; /* whatever is changed here, the lease has to be broken before */
        if ((arg & GANG__HEAD_IF_UP) && state != GANG__STATE_UP)
            return false;
        if ((arg & GANG__HEAD_IF_THERE) && state == GANG__STATE_GONE)
            return false;
        return (arg & GANG__HEAD_GIVE) || gang__head_cpu(payload) >= gang__head_cpu(arg);
    }
    case GANG__OP_TAKE:
        return payload >= arg;
    case GANG__OP_TAKE_BITS:
        return (payload & arg) == arg;
    case GANG__OP_TAKE_SHARES:
        return gang__shares_cover(payload, arg) &&
               gang__shares_cover(payload >> GANG__SHARE_BITS, arg >> GANG__SHARE_BITS);
    case GANG__OP_LEASE: /* and the whole cell as gang__lease_fits() demands */
        return gang__head_state(payload) == GANG__STATE_UP && !gang__head_is_leased(payload);
    case GANG__OP_UNLEASE:
    case GANG__OP_BREAK:
        return gang__head_is_leased(payload);
    case GANG__OP_GIVE:
    case GANG__OP_GIVE_BITS:
    case GANG__OP_GIVE_SHARES:
    case GANG__OP_SET:
    case GANG__OP_MARK_BITS:
    case GANG__OP_UNMARK_BITS:
        break;
    }
    return true;
}

/* The payload after an operation that fits. */
static inline uint64_t gang__op_apply(enum gang__code code, uint64_t arg, uint64_t word)
{
    uint64_t payload = gang__payload(word);
    switch (code) {
    case GANG__OP_HEAD:
        if (arg & GANG__HEAD_SET_STATE)
            payload = gang__head(gang__head_state(arg), gang__head_cpu(payload));
        return (arg & GANG__HEAD_GIVE) ? payload + gang__head_cpu(arg)
                                       : payload - gang__head_cpu(arg);
    case GANG__OP_TAKE:
    case GANG__OP_TAKE_BITS:
    case GANG__OP_TAKE_SHARES:
        return payload - arg; /* no field borrows from the next: each was checked */
    case GANG__OP_GIVE:
    case GANG__OP_GIVE_BITS:
    case GANG__OP_GIVE_SHARES:
        return payload + arg; /* only taken amounts are given back */
    case GANG__OP_MARK_BITS:
        return payload | arg;
    case GANG__OP_UNMARK_BITS:
        return payload & ~arg;
    case GANG__OP_LEASE:
        return payload | GANG__HEAD_LEASED;
    case GANG__OP_UNLEASE:
        return payload & ~GANG__HEAD_LEASED;
    case GANG__OP_BREAK:
        return gang__head(gang__head_state(payload), 0);
    case GANG__OP_SET:
        break;
    }
    return arg;
}

/* The word to write: payload after the operation, next version. */
static inline uint64_t gang__op_next(enum gang__code code, uint64_t arg, uint64_t word)
{
    uint64_t version = (word & ~GANG__PAYLOAD) + (UINT64_C(1) << GANG__PAYLOAD_BITS);
    return (version & ~GANG__UNAGREED) | gang__op_apply(code, arg, word);
}

/* How many words of which sort a node has, and its class. Packed into one number, so that a planner
 * loads cell and layout together. */
struct gang__layout {
    uint8_t gpus;
    uint8_t core_words;
    uint8_t amounts;
    uint8_t class_id; /* nodes of one GPU model (0: none) share an index */
};

static inline uint32_t gang__layout_pack(struct gang__layout l)
{
    return (uint32_t)l.gpus | (uint32_t)l.core_words << 8 | (uint32_t)l.amounts << 16 |
           (uint32_t)l.class_id << 24;
}

static inline struct gang__layout gang__layout_unpack(uint32_t packed)
{
    struct gang__layout l = {(uint8_t)packed, (uint8_t)(packed >> 8), (uint8_t)(packed >> 16),
                             (uint8_t)(packed >> 24)};
    return l;
}

static inline unsigned gang__share_words(struct gang__layout l)
{
    return (l.gpus + GANG__SHARES_PER_WORD - 1u) / GANG__SHARES_PER_WORD;
}

static inline unsigned gang__first_core(struct gang__layout l)
{
    return GANG__WORD_SHARES + gang__share_words(l);
}

static inline unsigned gang__first_amount(struct gang__layout l)
{
    return gang__first_core(l) + l.core_words;
}

/* Words that say what is free; the words of health come after them. */
static inline unsigned gang__word_count(struct gang__layout l)
{
    return gang__first_amount(l) + l.amounts;
}

static inline unsigned gang__health_words(struct gang__layout l)
{
    return (l.gpus > 0 ? 1u : 0u) + (l.gpus > GANG__HEALTH_PER_WORD ? 1u : 0u); /* 64 at most */
}

static inline unsigned gang__all_words(struct gang__layout l)
{
    return gang__word_count(l) + gang__health_words(l);
}

/* Word `i` of a mask of devices, and the mask of such words. */
static inline uint64_t gang__health_part(uint64_t mask, unsigned i)
{
    return mask >> (i * GANG__HEALTH_PER_WORD) & GANG__PAYLOAD;
}

static inline uint64_t gang__health_mask(struct gang__layout l, const uint64_t *payload)
{
    return (l.gpus > 0 ? payload[0] : 0) |
           (l.gpus > GANG__HEALTH_PER_WORD ? payload[1] << GANG__HEALTH_PER_WORD : 0);
}

/* The share word that takes `share` of each of four devices (four bits). */
static inline uint64_t gang__shares_of(uint32_t four, uint32_t share)
{
    const uint64_t spread = UINT64_C(1) | UINT64_C(1) << 9 | UINT64_C(1) << 18 | UINT64_C(1) << 27;
    return (four * spread & GANG__SHARE_ONES) * share;
}

/* The devices that are whole, as bits. */
static inline uint64_t gang__whole_devices(struct gang__layout l, const uint64_t *payload)
{
    uint64_t whole = 0;
    for (unsigned i = gang__share_words(l); i-- > 0;)
        whole = whole << GANG__SHARES_PER_WORD | gang__whole(payload[GANG__WORD_SHARES + i]);
    return whole;
}

/* The code that takes from, or gives to, word `w`. */
static inline enum gang__code gang__code_of(struct gang__layout l, unsigned w, bool give)
{
    if (w == GANG__WORD_HEAD)
        return GANG__OP_HEAD;
    if (w >= GANG__WORD_SHARES && w < gang__first_core(l))
        return give ? GANG__OP_GIVE_SHARES : GANG__OP_TAKE_SHARES;
    if (w >= gang__first_core(l) && w < gang__first_amount(l))
        return give ? GANG__OP_GIVE_BITS : GANG__OP_TAKE_BITS;
    return give ? GANG__OP_GIVE : GANG__OP_TAKE;
}

#endif
