/* SPDX-License-Identifier: Apache-2.0 */
/* Output for people and programs. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <jansson.h>

#include "run.h"

/* Google Benchmark's JSON. */
json_t *report_json(const struct bench_results *results, json_t *context);
/* The same shapes of all implementations side by side. */
void report_table(const struct bench_results *results, FILE *file);
/* One file a result. */
void report_hdr(const struct bench_results *results, const char *folder);

#endif
