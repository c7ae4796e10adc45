/* SPDX-License-Identifier: Apache-2.0 */
/* Which known word did the writer of an unknown one mean? */
#ifndef GANG__BASE_CLOSEST_H
#define GANG__BASE_CLOSEST_H

#include <stddef.h>

/* The word of the list that needs the fewest insertions, deletions and replacements of a letter: at
 * most one for each three letters of the given word, rounded. A word that ends in the given one, or
 * in which the given one ends, is as close ("limit_s": "time_limit_s"). NULL: none is close; or the
 * given word is longer than any that could be meant. O(count * letters^2). */
const char *gang__closest(const char *word, const char *const *words, size_t count);

#endif
