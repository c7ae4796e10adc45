/* SPDX-License-Identifier: Apache-2.0 */
/* A fixed number of operations: for instruction counts and for counting calls. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <stddef.h>

#include "bench.h"

/* Does the named works, in the order of the list, on clusters of `nodes` nodes, and prints a JSON
 * object a line. operations 0: as each work has it. Returns the exit status. */
int work_run(char *const *names, size_t count, int64_t nodes, int64_t operations, uint64_t seed);
/* "all" is one, too. */
bool work_is_known(const char *name);
void work_list(FILE *file);

#endif
