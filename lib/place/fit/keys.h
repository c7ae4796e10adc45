/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to be sorted, and a stack of them in the plan. */
#ifndef GANG__PLACE_KEYS_H
#define GANG__PLACE_KEYS_H

#include "place/fit/fit_plan.h"

/* Sort numbers, smallest first; cheap if they are in order. */
void gang__sort_keys(uint64_t *key, size_t count);

/* Is a number among sorted ones? */
bool gang__keys_have(const uint64_t *key, size_t count, uint64_t number);

/* Keys on a stack of the plan: reserve at the end, and return down to where it was. NULL: out of
 * memory (p->out.failed). */
uint64_t *gang__keys_push(struct gang__plan *p, size_t count, size_t *at);
static inline void gang__keys_pop(struct gang__plan *p, size_t at)
{
    p->keys.count = at;
}

#endif
