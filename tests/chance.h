/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that a seed repeats: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). A program of
 * one thread draws from `chance_state`; threads, and lives that run side by side, have a state
 * each. */
#ifndef GANG_TESTS_CHANCE_H
#define GANG_TESTS_CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static uint64_t chance_state;

static inline uint64_t chance_of(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint64_t chance(void)
{
    return chance_of(&chance_state);
}

/* For hooks that disturb threads: the calling thread's own numbers, which no seed repeats. */
static inline uint64_t chance_of_thread(void)
{
    static _Thread_local uint64_t state;
    if (!state)
        state = (uint64_t)(uintptr_t)&state;
    return chance_of(&state);
}

/* A number in 0 .. n - 1. */
static inline int64_t below(int64_t n)
{
    return (int64_t)(chance() % (uint64_t)n);
}

/* The same, for the index of an array of n. */
static inline size_t index_below(size_t n)
{
    return (size_t)(chance() % n);
}

static inline bool one_in(int64_t n)
{
    return below(n) == 0;
}

#endif
