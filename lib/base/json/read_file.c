/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file, or standard input, of a limited size. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json/json.h"

static gang_result file_fail(struct gang_error *error, const char *what, int number)
{
    char reason[128];
    if (strerror_r(number, reason, sizeof(reason)) != 0)
        snprintf(reason, sizeof(reason), "error %d", number);
    return gang__error(error, GANG_EIO, NULL, "%s: %s", what, reason);
}

struct buffer {
    const struct gang_mem *mem;
    void *text;
    size_t cap, used;
};

/* Reads on until the end of the file or until there are more than `max` bytes. */
static gang_result read_to_end(int file, size_t max, size_t guess, struct buffer *b,
                               struct gang_error *error)
{
    while (true) {
        size_t need = b->used < guess ? guess : b->used + 4096;
        if (b->used == b->cap &&
            !gang__grow(b->mem, &b->text, &b->cap, need > max + 1 ? max + 1 : need, 1))
            return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
        size_t left = (b->cap < max + 1 ? b->cap : max + 1) - b->used;
        ssize_t got = read(file, (char *)b->text + b->used, left);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_fail(error, "cannot be read", errno);
        b->used += (size_t)got;
        if (b->used > max)
            return gang__error(error, GANG_ELIMIT, NULL, "the text is longer than %zu bytes", max);
        if (got == 0)
            return GANG_OK;
    }
}

gang_result gang__read_file(const char *path, size_t max, const struct gang_mem *mem, char **text,
                            size_t *length, struct gang_error *error)
{
    *text = NULL;
    *length = 0;
    bool standard = strcmp(path, "-") == 0;
    int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return file_fail(error, "cannot be opened", errno);
    gang_result r;
    struct buffer b = {mem, NULL, 0, 0};
    struct stat status;
    if (fstat(file, &status) != 0)
        r = file_fail(error, "cannot be read", errno);
    else if (S_ISDIR(status.st_mode))
        r = gang__error(error, GANG_EIO, NULL, "is a directory");
    else if (S_ISREG(status.st_mode) && (uintmax_t)status.st_size > max)
        r = gang__error(error, GANG_ELIMIT, NULL, "the text is longer than %zu bytes", max);
    else
        r = read_to_end(file, max, S_ISREG(status.st_mode) ? (size_t)status.st_size + 1 : 65536, &b,
                        error);
    if (!standard)
        close(file);
    if (r == GANG_OK) {
        *text = b.text;
        *length = b.used;
    } else {
        gang__release(mem, b.text);
    }
    return r;
}
