/* SPDX-License-Identifier: Apache-2.0 */
/* What is a character in a text from outside? */
#ifndef GANG__BASE_UTF8_H
#define GANG__BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Is there a control character, U+0000..1F or U+007F..9F, at `text`? */
bool gang__is_control(const char *text);

/* Length of the well-formed UTF-8 sequence that `text` begins with, 1..4; 0: none. Reads `length`
 * bytes at most, and none after a NUL. */
size_t gang__utf8_length(const char *text, size_t length);

/* Is the whole NUL-terminated text well-formed UTF-8? */
bool gang__utf8_valid(const char *text);

#endif
