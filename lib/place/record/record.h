/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to a committed allocation, and what all calls on allocations share. */
#ifndef GANG__PLACE_RECORD_H
#define GANG__PLACE_RECORD_H

#include "place/fit/node_plan.h"
#include "place/state/records.h"

/* A search is repeated so often when releases disturb it; then a refusal is given unproved. */
enum { GANG__SEARCHES = 64 };

/* The worker may place, and the request is of its cluster. GANG_EINVAL, GANG_ENOMEM. */
gang_result gang__check_call(gang_worker *w, const gang_request *q, struct gang_error *error);

/* Room for so many keys in the placer's `order`. */
bool gang__order_reserve(gang_worker *w, size_t keys);

/* Where a worker's searches begin, so that workers keep apart. */
void gang__plan_start(struct gang__plan *p, const gang_worker *w);

/* Complete a plan whose tasks are all found: their order, and what is held beside them. False: out
 * of memory. */
bool gang__plan_complete(struct gang__plan *p);

/* Take what the plan takes. GANG_ENOFIT: something changed meanwhile; *slot is where. */
gang_result gang__commit_plan(gang_worker *w, struct gang__plan *p, uint32_t *slot);

/* A BUSY record with room for what is planned, and to give it back. */
gang_result gang__record_new(gang_worker *w, gang_request *q, struct gang__alloc **a);
/* Room in a record for what is planned beside what it holds. */
gang_result gang__record_extend(gang_worker *w, struct gang__alloc *a);
/* Note the planned tasks, which are committed now. Cannot fail. */
void gang__record_append(struct gang__alloc *a, const struct gang__plan *p);

/* Is an id among sorted ones? */
bool gang__is_among(const uint64_t *ids, size_t count, uint64_t id);

/* Any other result than success or a refusal: tell it. Returns it. */
gang_result gang__fail(const struct gang__plan *p, gang_result r, struct gang_error *error);

#endif
