/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/unpack.h"

#include "gangsched/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static gzFile open_packed(const char *path)
{
    errno = 0;
    if (strcmp(path, "-") != 0) {
        return gzopen(path, "rb");
    }
    int copy = dup(STDIN_FILENO);
    gzFile file = copy >= 0 ? gzdopen(copy, "rb") : NULL;
    if (copy >= 0 && file == NULL) {
        close(copy);
    }
    return file;
}

char *unpack_file(const char *path, size_t max, size_t *length)
{
    gzFile file = open_packed(path);
    char *text = NULL;
    size_t cap = 0;
    int got = 1;
    bool memory = true;
    *length = 0;
    if (file == NULL) {
        cli_fail_errno(path, errno != 0 ? errno : ENOMEM);
        return NULL;
    }
    while (got > 0 && *length <= max && memory) {
        if (*length == cap) {
            size_t larger = cap == 0 ? 65536 : cap * 2;
            char *moved = realloc(text, larger);
            memory = moved != NULL;
            text = memory ? moved : text;
            cap = memory ? larger : cap;
        }
        size_t free_bytes = cap - *length;
        unsigned step = free_bytes < 1U << 30 ? (unsigned)free_bytes : 1U << 30;
        got = memory ? gzread(file, text + *length, step) : 0;
        *length += got > 0 ? (size_t)got : 0;
    }
    int closed = gzclose_r(file);
    if (!memory) {
        cli_no_memory();
    } else if (got < 0) {
        cli_failf(path, "cannot be read");
    } else if (got > 0) {
        cli_failf(path, "larger than %zu MiB", max >> 20);
    } else if (closed != Z_OK) {
        cli_failf(path, "is cut off");
    } else {
        return text;
    }
    free(text);
    return NULL;
}
