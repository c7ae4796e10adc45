/* SPDX-License-Identifier: Apache-2.0 */
/* Between records.c and record_cache.c: what a record had comes back to the worker. */
#ifndef GANG__PLACE_RECORDS_IN_H
#define GANG__PLACE_RECORDS_IN_H

#include "place/state/records.h"

/* Keeps a buffer of 2^k words that `a` has no more, or frees it; none for NULL or a->small. */
void gang__buffer_put(gang_worker *w, const struct gang__alloc *a, uint64_t *buffer, uint32_t k);

/* Gives up the reference of a live allocation to its request. */
void gang__request_drop(gang_worker *w, gang_request *request);

#endif
