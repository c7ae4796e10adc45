/* SPDX-License-Identifier: Apache-2.0 */
/* Where in its node a task is: the parts of the machine that its GPUs and cores name. */
#ifndef GANG__PLACE_TASK_LOCATION_H
#define GANG__PLACE_TASK_LOCATION_H

#include <gangsched/place.h>

#include "core/nodes/nodes.h"

/* A checked task and its node. Good inside the read section in which it was found. */
struct gang__task_location {
    struct gang_task task;
    const struct gang__node *node;
    const struct gang_node_spec *spec;
};

/* GANG_OK; GANG_EINVAL, GANG_E2BIG (struct; what the node has not); GANG_ESTALE. */
gang_result gang__task_location_find(gang_cluster *c, const struct gang_task *task,
                                     struct gang__task_location *in);

/* Calls `range` for each run of numbers, ascending and not touching, until it returns false: then
 * returns that. */
typedef bool (*gang__range_fn)(uint32_t first, uint32_t last, void *user);
bool gang__task_location_cpus(const struct gang__task_location *in, gang__range_fn range,
                              void *user);
bool gang__task_location_numas(const struct gang__task_location *in, gang__range_fn range,
                               void *user);

/* Uuid of a GPU of the node; NULL: unknown. */
const char *gang__task_location_uuid(const struct gang__task_location *in, size_t gpu);

#endif
