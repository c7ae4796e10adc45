/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of latencies in buckets that are 0.1 % wide, as HdrHistogram has them: fixed memory, and
 * recording costs two shifts and an increment. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

struct bench_histogram;

struct bench_histogram *histogram_new(void);
void histogram_free(struct bench_histogram *h);
void histogram_clear(struct bench_histogram *h);
void histogram_record(struct bench_histogram *h, int64_t ns);
void histogram_merge(struct bench_histogram *into, const struct bench_histogram *from);
int64_t histogram_count(const struct bench_histogram *h);
int64_t histogram_max(const struct bench_histogram *h);
double histogram_mean(const struct bench_histogram *h);
/* The largest value of the bucket below or in which `percent` of all values lie; 0 if empty. */
int64_t histogram_at(const struct bench_histogram *h, double percent);
/* The percentile distribution as text, which the HdrHistogram plotter reads. */
void histogram_print(const struct bench_histogram *h, FILE *file);

#endif
