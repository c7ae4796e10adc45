/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a job changed: in a run the host hears of it now, between runs it is noted. */
#include "base/wide.h"
#include "sched/record/state.h"
#include "sched/wake/wake.h"

/* From the start of a job on, its time between quanta is not counted as run time. */
static void note_pause(const gang_sched *s, struct gang__job *job, int32_t state)
{
    bool pauses = state == GANG_JOB_SUSPENDED;
    if (job->paused && !pauses)
        job->paused_ns = gang__add_sat(job->paused_ns, s->now_ns - job->paused_since_ns);
    if (!job->paused && pauses)
        job->paused_since_ns = s->now_ns;
    job->paused = pauses;
}

void gang__job_state(gang_sched *s, struct gang__job *job, int32_t reason, const char *text)
{
    int32_t state = gang__job_state_now(job);
    if (state == job->state)
        return;
    if (!s->running) {
        gang__wake_job(s, job, GANG__WAKE_STATE);
        return;
    }
    note_pause(s, job, state);
    job->state = state;
    if (!s->ops.state)
        return;
    struct gang_event e = gang__event_of(s, &job->gang[0], reason, text);
    (void)s->ops.state(&e, s->user);
}
