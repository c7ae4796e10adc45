/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers without a state: three numbers name each draw, so that one draw changes no
 * other. */
#ifndef GANG__BASE_DRAW_H
#define GANG__BASE_DRAW_H

#include <stdint.h>

/* The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static inline uint64_t gang__mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline uint64_t gang__draw(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = gang__mix(seed + step);
    x = gang__mix(x + step * a);
    x = gang__mix(x + step * b);
    return gang__mix(x + step * c);
}

#endif
