/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a gang of equal nodes (equal_nodes.h): as a record keeps them, and as a caller of
 * gang__alloc_if() sees them. Each is copied from the pattern. */
#ifndef GANG__PLACE_EQUAL_RECORD_H
#define GANG__PLACE_EQUAL_RECORD_H

#include "place/alloc/equal_find.h"
#include "place/record/record.h"

/* Words of data that a record needs for them, and its entries. */
size_t gang__equal_record_words(const struct gang__node_pattern *m, size_t nodes);
size_t gang__equal_record_entries(const struct gang__node_pattern *m, size_t nodes);

/* Adds the tasks to a record that has the capacity. Its tasks, if any, have the numbers from the
 * first one on without a gap, and the new ones those that follow. O(nodes). */
void gang__equal_record_add(const gang_worker *w, const struct gang__node_pattern *m,
                            const struct gang__equal_slots *n, struct gang__alloc *a);

/* Sets *out to the places of the tasks. GANG_OK; GANG_ENOMEM. O(nodes). */
gang_result gang__equal_places(const gang_worker *w, const gang_request *request,
                               const struct gang__node_pattern *m,
                               const struct gang__equal_slots *n, struct gang__places *out);

#endif
