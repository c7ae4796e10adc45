/* SPDX-License-Identifier: Apache-2.0 */
/* The exact places of planned tasks, as gang_alloc_adopt() takes them. */
#ifndef GANG__PLACE_PLACES_H
#define GANG__PLACE_PLACES_H

#include "place/fit/fit.h"
#include <gangsched/place.h>

/* A buffer that is used again; begin with all zero. Memory of the cluster's allocator. */
struct gang__places {
    struct gang_placement *place; /* one a task, as gang_alloc_adopt() takes them */
    size_t count;                 /* 0 after any error */
    size_t cap;
};
void gang__places_free(struct gang__places *places, const struct gang_mem *mem);

/* Append a place. False: out of memory. */
bool gang__places_add(struct gang__places *places, const struct gang_mem *mem,
                      const struct gang_placement *place);

/* The places of a plan that is complete, devices and cores included. GANG_OK; GANG_ENOMEM. */
gang_result gang__places_of_plan(const struct gang__plan *p, struct gang__places *out);

#endif
