/* SPDX-License-Identifier: Apache-2.0 */
/* The library's own object behind bench_gangsched. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include <gangsched/core.h>

/* What bench_gangsched.open() made. Its nodes are named n0000000 and so on. */
gang_cluster *ours_cluster(void *cluster);

/* Ends the program after a message if a call of the library failed; `error` may be NULL. */
void ours_check(gang_result r, const struct gang_error *error, const char *what);

#endif
