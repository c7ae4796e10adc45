/* SPDX-License-Identifier: Apache-2.0 */
/* Two files of results, joined by name. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

/* Prints ratios. Returns the exit status: 1 when something got worse by more than the tolerance. */
int compare_files(const char *before, const char *after, double tolerance_percent);

#endif
