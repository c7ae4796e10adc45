/* SPDX-License-Identifier: Apache-2.0 */
/* Planning ahead: when a gang starts, and plans for all that wait. The only file here that looks
 * inside the library: what it measures has no public face. Sizes are those of the cases; a list
 * of cluster sizes that was asked for only chooses among them. */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H

#include "run.h"

/* Names of all cases that are asked for, one a line; returns how many. NULL: only counts. */
size_t plan_list(const struct bench_options *options, FILE *file);
/* Runs them and adds their results. */
void plan_run(const struct bench_options *options, struct bench_results *results);

#endif
