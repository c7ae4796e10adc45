/* SPDX-License-Identifier: Apache-2.0 */
/* How does a job leave memory? */
#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

void gang__job_free(gang_sched *s, struct gang__job *job)
{
    while (job->waiters) {
        struct gang__waiter *w = job->waiters;
        job->waiters = w->next;
        gang__release(&s->mem, w);
    }
    gang__wake_forget_job(s, job);
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        gang__calendar_forget(s, g);
        if (g->waits_as || g->request_class)
            gang__request_class_unref(s, g->waits_as ? g->waits_as : g->request_class);
        if (g->later_class)
            gang__request_class_unref(s, g->later_class);
        gang__request_text_unref(&s->mem, g->text);
        gang__request_text_unref(&s->mem, g->later_text);
        gang__release(&s->mem, g->order.grow_class);
        gang__release(&s->mem, g->places);
        gang__ended_tasks_free(s, g);
        gang__release(&s->mem, g->preempt.cooldowns);
    }
    gang__heartbeat_free(s, job);
    gang__array_leave(s, job);
    gang__release(&s->mem, job->failed_nodes);
    gang__release(&s->mem, job);
}

void gang__jobs_forget(gang_sched *s)
{
    while (s->ended) {
        struct gang__job *job = s->ended;
        s->ended = job->next;
        gang__stops_forget(s, job);
        gang__hash_remove(&s->jobs, &job->link);
        gang__set_remove(&s->by_id, &job->by_id);
        s->job_count--;
        gang__job_free(s, job);
    }
}
