/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, plain or compressed with gzip. */
#ifndef GANGSCHED_UNPACK_H
#define GANGSCHED_UNPACK_H

#include <stddef.h>

/* Reads and unpacks a file ("-": standard input) of at most `max` bytes unpacked. The caller frees
 * the text; NULL after a message. */
char *unpack_file(const char *path, size_t max, size_t *length);

#endif
