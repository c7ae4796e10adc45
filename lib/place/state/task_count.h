/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of each class on a node, for GANG_POLICY_GPU_CLUSTERING. The class of a task is the
 * number of its whole devices, or 0 if it takes a share. Only allocations whose request has this
 * policy count: others cost nothing.
 *
 * A word has four counters of 16 bits: a node holds at most 64,000 shares. A task is counted after
 * its commit and removed before its release, so a counter never exceeds the tasks held. */
#ifndef GANG__PLACE_TASK_COUNT_H
#define GANG__PLACE_TASK_COUNT_H

#include "core/nodes/nodes.h"
#include "place/request/request.h"

/* 63 and 64 devices are one class: beside the latter nothing else fits. */
enum { GANG__SIZE_CLASSES = 64, GANG__SIZE_CLASS_WORDS = GANG__SIZE_CLASSES / 4 };

/* Words: relaxed, pair with none; see gang__task_count_add(). */
struct gang__task_count {
    gang__a64 word[GANG__CHUNK][GANG__SIZE_CLASS_WORDS];
};

/* The class of the tasks of a group that takes devices. */
static inline unsigned gang__size_class(const struct gang__group *g)
{
    unsigned most = GANG__SIZE_CLASSES - 1;
    return g->share != 1000 ? 0 : g->devices < most ? g->devices : most;
}

/* Reserve memory to count on a node. False: out of memory. Any thread; lock-free. */
bool gang__task_count_reserve(gang_cluster *c, uint32_t slot);
/* Count a task of a group on a node, or strike it out; those without devices do not count. */
void gang__task_count_add(gang_cluster *c, uint32_t slot, const struct gang__group *g, bool out);
/* The size classes of the tasks on a node, as bits. */
uint64_t gang__size_classes_on(gang_cluster *c, uint32_t slot);
/* One counter. For the audit. */
uint32_t gang__task_count_read(gang_cluster *c, uint32_t slot, unsigned class_id);

#endif
