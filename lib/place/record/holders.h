/* SPDX-License-Identifier: Apache-2.0 */
/* Holders: what an exclusive allocation has of a node beside its tasks there. See
 * place/fit/exclusive.h. */
#ifndef GANG__PLACE_HOLDERS_H
#define GANG__PLACE_HOLDERS_H

#include "place/fit/fit.h"
#include "place/state/records.h"

/* Plan to take what the tasks leave of their nodes. No task is planned after this call. False: out
 * of memory. */
bool gang__exclusive_hold(struct gang__plan *p);

/* Words of a record for the planned holders. */
size_t gang__exclusive_size(const struct gang__plan *p);

/* In a record that has the capacity: drop the holders that the planned ones replace; add the
 * planned ones. */
void gang__exclusive_drop(struct gang__alloc *a, const struct gang__plan *p);
void gang__exclusive_append(struct gang__alloc *a, const struct gang__plan *p);

/* Writes the entry of the planned holder of a node. Returns its words; 0: there is none, since the
 * tasks take all. */
uint32_t gang__exclusive_put(const struct gang__plan *p, const struct gang__node_copy *v,
                             uint64_t *entry);

#endif
