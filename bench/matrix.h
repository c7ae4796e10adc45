/* SPDX-License-Identifier: Apache-2.0 */
/* The list of loops. */
#ifndef BENCH_MATRIX_H
#define BENCH_MATRIX_H

#include <stddef.h>

#include "bench.h"

struct bench_matrix {
    struct bench_loop *loops; /* those that share a scene follow each other */
    size_t count, cap;
};

/* All that make sense; those that the filter does not name are left out. */
void matrix_make(struct bench_matrix *matrix, const struct bench_options *options);
/* Number of loops from `at` on that share a scene. */
size_t matrix_scene(const struct bench_matrix *matrix, size_t at);
void matrix_free(struct bench_matrix *matrix);

#endif
