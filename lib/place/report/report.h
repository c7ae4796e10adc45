/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations as the host reads them. */
#ifndef GANG__PLACE_REPORT_H
#define GANG__PLACE_REPORT_H

#include "core/cluster.h"
#include <gangsched/place.h>

/* What a task holds, as the public struct says it. */
void gang__task_decode(gang_cluster *c, const uint64_t *task, struct gang_task *out);

#endif
