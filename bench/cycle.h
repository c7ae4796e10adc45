/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler: from jobs that are submitted to gangs that start. Sizes are those of the cases;
 * a list of cluster sizes that was asked for only chooses among them. */
#ifndef BENCH_CYCLE_H
#define BENCH_CYCLE_H

#include "run.h"

/* Names of all cases that are asked for, one a line; returns how many. NULL: only counts. */
size_t cycle_list(const struct bench_options *options, FILE *file);
/* Runs them and adds their results. */
void cycle_run(const struct bench_options *options, struct bench_results *results);

/* Works for counting instructions: a thing to repeat. NULL: no such work. */
struct cycle_work *cycle_work_new(const char *name, uint64_t seed);
bool cycle_work_once(struct cycle_work *w);
void cycle_work_free(struct cycle_work *w);

#endif
