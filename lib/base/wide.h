/* SPDX-License-Identifier: Apache-2.0 */
/* Integers of 128 bits: products of two amounts, exactly. gcc and clang have them on every
 * machine of 64 bits. */
#ifndef GANG__BASE_WIDE_H
#define GANG__BASE_WIDE_H

#include <stdint.h>

__extension__ typedef unsigned __int128 gang__u128;
__extension__ typedef __int128 gang__i128;

/* A number >= 0. A function, because gcc 12 warns about the sign where a sum holds the plain
 * conversion. */
static inline gang__u128 gang__wide(int64_t a)
{
    return (gang__u128)a;
}

/* a * b / c, rounded down; a, b >= 0, c > 0. INT64_MAX if it is more. */
static inline int64_t gang__mul_div(int64_t a, int64_t b, int64_t c)
{
    int64_t product; /* mostly of 64 bits: then the division costs a third */
    if (!__builtin_mul_overflow(a, b, &product))
        return product / c;
    gang__u128 q = (gang__u128)a * (gang__u128)b / (gang__u128)c;
    return q > INT64_MAX ? INT64_MAX : (int64_t)q;
}

/* The same, rounded up. */
static inline int64_t gang__mul_div_up(int64_t a, int64_t b, int64_t c)
{
    gang__u128 q = ((gang__u128)a * (gang__u128)b + (gang__u128)c - 1) / (gang__u128)c;
    return q > INT64_MAX ? INT64_MAX : (int64_t)q;
}

static inline int64_t gang__min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t gang__max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a + b of any a and b >= 0; INT64_MAX if it is more. */
static inline int64_t gang__add_sat(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

#endif
