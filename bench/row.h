/* SPDX-License-Identifier: Apache-2.0 */
/* Name of a row of the plan and of forecasts, and whether the filter selects it. */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include "bench.h"

/* The first member of a case. The cluster is full; one thread. */
struct bench_row {
    const char *op;
    int64_t nodes, gang, jobs;
    const char *more; /* ends the name */
};

void bench_row_name(const struct bench_row *row, char name[BENCH_NAME]);
/* `filter` is open. */
bool bench_row_wanted(const struct bench_options *options, const regex_t *filter,
                      const struct bench_row *row);
/* How many of `count` cases of `bytes` bytes each are asked for; they are listed, unless `file` is
 * NULL. */
size_t bench_row_list(const struct bench_options *options, const void *cases, size_t count,
                      size_t bytes, FILE *file);

#endif
