/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, plain or compressed with gzip. */
#ifndef GANGSCHED_UNPACK_H
#define GANGSCHED_UNPACK_H

#include <stddef.h>

/* What a file ("-": standard input) has, unpacked, of `max` bytes at most. The caller frees it;
 * NULL after a message. */
char *unpack_file(const char *path, size_t max, size_t *length);

#endif
