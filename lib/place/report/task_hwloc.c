/* SPDX-License-Identifier: Apache-2.0 */
/* A task as hwloc's sets, to bind with. */
#include <gangsched/hwloc.h>

#include "base/rcu.h"
#include "place/report/task_location.h"

static bool add_range(uint32_t first, uint32_t last, void *user)
{
    return hwloc_bitmap_set_range((hwloc_bitmap_t)user, first, (int)last) == 0;
}

static gang_result fill(gang_cluster *c, const struct gang_task *task, hwloc_bitmap_t set,
                        bool (*each)(const struct gang__task_location *, gang__range_fn, void *))
{
    struct gang__task_location in;
    if (set)
        hwloc_bitmap_zero(set);
    if (!c || !task || !set)
        return GANG_EINVAL;
    gang__rcu_enter();
    gang_result r = gang__task_location_find(c, task, &in);
    if (r == GANG_OK && !each(&in, add_range, set)) {
        hwloc_bitmap_zero(set);
        r = GANG_ENOMEM;
    }
    gang__rcu_leave();
    return r;
}

gang_result gang_task_hwloc_cpuset(gang_cluster *cluster, const struct gang_task *task,
                                   hwloc_bitmap_t set)
{
    return fill(cluster, task, set, gang__task_location_cpus);
}

gang_result gang_task_hwloc_nodeset(gang_cluster *cluster, const struct gang_task *task,
                                    hwloc_bitmap_t set)
{
    return fill(cluster, task, set, gang__task_location_numas);
}
