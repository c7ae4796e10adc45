/* SPDX-License-Identifier: Apache-2.0 */
/* From loops to results. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <stddef.h>

#include "bench.h"

struct bench_results {
    struct bench_result *items;
    size_t count, cap;
};

struct bench_result *results_add(struct bench_results *results, const char *name, int32_t threads);
void results_free(struct bench_results *results);

/* Runs loops that share a scene, and adds what is wanted of them. */
void run_scene(const struct bench_loop *loops, size_t count, const struct bench_options *options,
               struct bench_results *results);
/* The same by python3 in a process of its own; false after a message: there is none. */
bool run_python(const struct bench_loop *loops, size_t count, const struct bench_options *options,
                struct bench_results *results);

#endif
