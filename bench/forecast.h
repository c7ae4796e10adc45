/* SPDX-License-Identifier: Apache-2.0 */
/* Forecasts: the live state copied and run ahead until all who wait have started. Sizes are those of the cases; a
 * list of cluster sizes that was asked for only chooses among them. */
#ifndef BENCH_FORECAST_H
#define BENCH_FORECAST_H

#include "run.h"

/* Names of all cases that are asked for, one a line; returns how many. NULL: only counts. */
size_t forecast_list(const struct bench_options *options, FILE *file);
/* Runs them and adds their results. */
void forecast_run(const struct bench_options *options, struct bench_results *results);

#endif
