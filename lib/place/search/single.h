/* SPDX-License-Identifier: Apache-2.0 */
/* The short way to the node of a single task. It finds the same place as gang__search(). */
#ifndef GANG__PLACE_SINGLE_H
#define GANG__PLACE_SINGLE_H

#include "place/fit/fit.h"

#ifdef GANG_TEST_HOOKS
/* For tests; relaxed, pairs with none: a test sets it while no search runs. All searches go the
 * long way. */
extern _Atomic(bool) gang__search_single_off;
#endif

/* Does the short way suit the plan, which is empty and packs? Not where each node is to be looked
 * at: for labels and the like, in partitions, in tiers. */
bool gang__search_is_single(const struct gang__plan *p);

/* Plans the task on the fullest node that holds it. Like gang__search() it skips claimed nodes, if
 * the plan may. Returns whether the task was planned. */
bool gang__search_single(struct gang__plan *p);

#endif
