/* SPDX-License-Identifier: Apache-2.0 */
/* What the run that is under way has granted: may it be preempted in the same run?
 *
 * A run decides, and then tells the host (cycle/run.c). What the host has not heard of
 * (record/untold.h) is a victim like any other, but costs no work: no op is called, the gang waits
 * as before, and neither a minimum run time protects it nor a preemption is counted. So
 * a gang does not start, or grow, only to be stopped for one that turns out to be entitled later in
 * the run.
 *
 * If the host was asked to stop others for such a gang, what they free is passed on to the one that
 * preempts it (GANG_LOG_PASSED_ON): those would have stopped for nothing otherwise, and so would a
 * start that is taken back by the next run.
 *
 * What the host was told of in this run stays until the run is over. A refusal, a message, or a
 * start for which others waited may lead to more decisions. If the rules then allow to preempt what
 * stays, the next run is due at once, and looks again. Until the next event from outside it does
 * not move. */
#include "sched/preempt/preempt_in.h"

/* A suspended gang resumes with all tasks that the host has of it, or not at all. */
bool gang__resumes_in_run(gang_sched *s, const struct gang__gang *g)
{
    if (!g->untold.start || !g->untold.places)
        return false;
    s->preempt.min_runtime_due_ns = s->now_ns;
    return true;
}

bool gang__stays_in_run(gang_sched *s, const struct gang__gang *g)
{
    if (!s->running || g->preempt.told_in != s->runs)
        return false;
    s->preempt.min_runtime_due_ns = s->now_ns;
    return true;
}

bool gang__stays_where_it_is(gang_sched *s, const struct gang__gang *g)
{
    bool stays = g->preempt.told_at == s->external_events + 1;
    s->preempt.until_event = s->preempt.until_event || stays;
    return stays;
}
