/* SPDX-License-Identifier: Apache-2.0 */
/* The closest known word, by the distance of Levenshtein. */
#include "base/closest.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 48 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions and replacements that make `b` of `a`. `m` <= LONGEST letters of b. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t above = row[j];
            row[j] = least(diagonal + (a[i - 1] != b[j - 1]), 1 + least(above, row[j - 1]));
            diagonal = above;
        }
    }
    return row[m];
}

static bool ends_in(const char *word, size_t n, const char *end, size_t m)
{
    return m >= 4 && n > m && word[n - m - 1] == '_' && memcmp(word + n - m, end, m) == 0;
}

const char *gang__closest(const char *word, const char *const *words, size_t count)
{
    size_t n = strlen(word), best = n < 5 ? 1 : (n + 1) / 3;
    const char *found = NULL;
    if (n == 0 || n > LONGEST)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t m = strlen(words[i]);
        if (m > LONGEST)
            continue;
        bool is_end = ends_in(words[i], m, word, n) || ends_in(word, n, words[i], m);
        size_t far = is_end ? 1 : distance(word, n, words[i], m);
        if (far >= n || far > best || (far == best && found))
            continue;
        best = far;
        found = words[i];
    }
    return found;
}
