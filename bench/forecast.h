/* SPDX-License-Identifier: Apache-2.0 */
/* Forecasts: copy the live state and run it ahead until all waiting jobs have started. Sizes are
 * those of the cases; a given list of cluster sizes only selects among them. */
#ifndef BENCH_FORECAST_H
#define BENCH_FORECAST_H

#include "run.h"

/* Names of all cases that are asked for, one a line; returns how many. NULL: only counts. */
size_t forecast_list(const struct bench_options *options, FILE *file);
/* Runs them and adds their results. */
void forecast_run(const struct bench_options *options, struct bench_results *results);

#endif
