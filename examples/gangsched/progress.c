/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/progress.h"

#include "gangsched/cli.h"

#include <stdio.h>
#include <unistd.h>

enum { CELLS = 30 };

static const int64_t interval_ns = 100 * 1000 * 1000;

void progress_start(struct progress *progress, const char *what, int64_t total)
{
    progress->what = what;
    progress->total = total;
    progress->shown = total > 0 && cli_terminal(STDERR_FILENO);
    progress->drawn = false;
    progress->next_ns = progress->shown ? cli_now_ns() + interval_ns : 0;
}

void progress_at(struct progress *progress, int64_t done)
{
    if (!progress->shown) {
        return;
    }
    int64_t now = cli_now_ns();
    if (now < progress->next_ns) {
        return;
    }
    progress->next_ns = now + interval_ns;
    progress->drawn = true;
    int full = (int)(done * CELLS / progress->total);
    fputs("\r[", stderr);
    for (int i = 0; i < CELLS; i++) {
        fputc(i < full ? '#' : '.', stderr);
    }
    fprintf(stderr, "] %s of %s %s\033[K", cli_number(done).s, cli_number(progress->total).s,
            progress->what);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress->drawn = false;
    }
}
