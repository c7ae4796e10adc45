/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar on standard error, if that is a terminal; nothing otherwise. */
#ifndef GANGSCHED_PROGRESS_H
#define GANGSCHED_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* what is counted: "gangs" */
    int64_t total;
    bool shown;      /* standard error is a terminal */
    bool drawn;      /* there is something to wipe */
    int64_t next_ns; /* not to be drawn again before, on CLOCK_MONOTONIC */
};

void progress_start(struct progress *progress, const char *what, int64_t total);

/* `done` of the total are through. Cheap: draws at most ten times a second. */
void progress_at(struct progress *progress, int64_t done);

/* Wipe the bar. */
void progress_end(struct progress *progress);

#endif
