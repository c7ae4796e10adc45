/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over an ascending list of numbers, beside another one. */
#ifndef GANG__BASE_ASCENDING_H
#define GANG__BASE_ASCENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `next` is 0 at the begin. What lies before it may be overwritten. */
struct gang__ascending {
    const int64_t *number;
    size_t count, next;
};

/* Is the number in the list? The numbers that are asked for ascend, too. All calls of a pass
 * together: O(count). */
static inline bool gang__ascending_has(struct gang__ascending *list, int64_t number)
{
    while (list->next < list->count && list->number[list->next] < number)
        list->next++;
    return list->next < list->count && list->number[list->next] == number;
}

#endif
