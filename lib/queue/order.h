/* SPDX-License-Identifier: Apache-2.0 */
/* The order of two siblings, as in YARN's capacity scheduler. Pure functions. */
#ifndef GANG__QUEUE_ORDER_H
#define GANG__QUEUE_ORDER_H

#include <stdint.h>

#include "queue/dominant.h"

/* The key of a queue in that order; all ratios are of the dominant kind. */
struct gang__sibling {
    struct gang__ratio used;     /* over the guarantee */
    struct gang__ratio absolute; /* used over all there is */
    struct gang__ratio capacity; /* guaranteed, of all there is; 0: none */
    int64_t priority;            /* higher first */
};

/* Negative: a is served first. 0: by age, which is the caller's. */

/* "utilization": the smaller part of its guarantee. */
int gang__order_utilization(const struct gang__sibling *a, const struct gang__sibling *b);

/* "priority-utilization": those with a capacity before those without, which go by what they use;
 * then the higher priority, except that a queue below its guarantee goes before one that is not;
 * among equal priorities the smaller part of its guarantee; then the larger capacity. */
int gang__order_priority_utilization(const struct gang__sibling *a, const struct gang__sibling *b);

#endif
