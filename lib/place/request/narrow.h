/* SPDX-License-Identifier: Apache-2.0 */
/* A request with the choice of its tasks made: an exact number of each group. */
#ifndef GANG__PLACE_NARROW_H
#define GANG__PLACE_NARROW_H

#include "place/request/compiled.h"

/* A narrowed request, and the memory of it. Zero at first; used again for the next one. */
struct gang__narrowed {
    gang_request q;
    struct gang__group *group;
    struct gang__set *set;
    size_t group_cap, set_cap;
};

/* `request` with exactly `tasks[g]` tasks as the minimum of each group. It borrows the rest from
 * `request`, and is for plans on a snapshot alone: no allocation refers to it. NULL: out of
 * memory. */
gang_request *gang__request_narrow(struct gang__narrowed *n, const gang_request *request,
                                   const int64_t *tasks);
void gang__narrowed_free(struct gang__narrowed *n, const struct gang_mem *mem);

#endif
