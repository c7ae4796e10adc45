/* SPDX-License-Identifier: Apache-2.0 */
/* Undoing a start: a gang that holds its places but does not run releases them and waits again. */
#include <string.h>

#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

void gang__start_undo(gang_sched *s, struct gang__gang *g, int64_t not_before_ns)
{
    struct gang__job *job = g->job;
    gang__order_leave(s, g); /* it may wait to grow: another gang of the job runs */
    gang__untold_forget(s, g);
    gang__usage_out(s, g);
    memset(g->has, 0, gang__gang_request(g)->group_count * sizeof(*g->has));
    g->tasks = 0;
    gang__usage_in(s, g);
    gang__victims_leave(g);
    gang__slice_detached(s, g);
    gang__slice_stopped(s, g->alloc);
    gang__give_back_unheld(s, g->alloc);
    g->alloc = GANG_ID_NONE;
    if (!g->places) /* it starts anew, whatever was reported of this start */
        gang__reports_reset(s, g);
    gang__wake_holding(s, g);
    job->not_before_ns = not_before_ns;
    gang__job_count(s, job);
    gang__job_state(s, job, GANG_REASON_NONE, "waits again");
    if (job->leaf_user)
        gang__order_rekey_user(s, job->leaf, job->leaf_user);
    gang__wake_capacity_any(s);
    gang__order_unblock_queues(s, job->leaf);
    gang__job_settle(s, job);
}
