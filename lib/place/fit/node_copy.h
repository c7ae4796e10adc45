/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of nodes, for the files of this folder. */
#ifndef GANG__PLACE_NODE_COPY_H
#define GANG__PLACE_NODE_COPY_H

#include "place/fit/fit_plan.h"

/* Makes the table of copies large enough for `copies` copies. False: out of memory. */
bool gang__node_copies_reserve(struct gang__plan *p, const struct gang_mem *mem, size_t copies);

/* The copy of a node, as the only one of the plan, which gang__node_copy_at() does not find. NULL:
 * no node there, or out of memory (p->out.failed). */
struct gang__node_copy *gang__node_copy_alone(struct gang__plan *p, uint32_t slot);

/* The words of a node, or of the pool, as the plan is to see them. `help`: finish commits under way
 * that claim the node. True: they were read from a claimed cell. */
bool gang__node_words_read(const struct gang__plan *p, const struct gang__node_copy *copy,
                           uint64_t *was, bool help);

/* The devices of a node that take nothing new. */
uint64_t gang__node_unhealthy(const struct gang__plan *p, const struct gang__node_copy *copy,
                              bool help);

/* Read a copy again if it was read from a claimed cell and nothing is planned on it. False: there
 * is nothing new to be learned. */
bool gang__node_copy_refresh(struct gang__plan *p, struct gang__node_copy *copy);

#endif
