/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that a seed repeats: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). A program has
 * one state. */
#ifndef GANG_TESTS_CHANCE_H
#define GANG_TESTS_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

static uint64_t chance_state;

static inline uint64_t chance(void)
{
    uint64_t z = chance_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A number in 0 .. n - 1. */
static inline int64_t below(int64_t n)
{
    return (int64_t)(chance() % (uint64_t)n);
}

static inline bool one_in(int64_t n)
{
    return below(n) == 0;
}

#endif
