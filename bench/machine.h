/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the machine and the build that figures depend on. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <jansson.h>

#include "bench.h"

/* The "context" of Google Benchmark's JSON, and more. */
json_t *machine_context(const char *executable, const struct bench_options *options);
/* "release, GCC 12.2.0, glibc 2.36": what instruction counts depend on. Static. */
const char *machine_build(void);
/* Nanoseconds that reading the clock takes. */
double machine_clock_ns(void);

#endif
