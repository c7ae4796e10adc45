/* SPDX-License-Identifier: Apache-2.0 */
/* How many jobs wait, or are on their way in, as submitters on all threads count them. */
#include "sched/intake/intake_in.h"
#include "sched/usage/usage.h"

/* Count `jobs` jobs on their way in, below this queue and up to `end`. The release of the owner,
 * which counted a job as pending before it takes the job out here, pairs with the acquire in
 * gang__submit_may_wait(): there a job counts in one of the two, or in both. */
void gang__submit_arrive(const struct gang__submit_view *submit_view, uint32_t at, uint32_t end,
                         int64_t jobs)
{
    for (; at != end; at = submit_view->queues->queue[at].parent)
        atomic_fetch_add_explicit(&submit_view->arriving[at], (uint64_t)jobs, memory_order_release);
}

void gang__job_arrives(gang_sched *s, struct gang__job *job, uint32_t at)
{
    const struct gang__submit_view *submit_view = gang__load_relaxed(&s->intake.submit_view);
    gang__submit_arrive(submit_view, at, GANG__NO_QUEUE, 1);
    job->submit_view = submit_view->number;
    job->at_view = at;
}

void gang__job_arrived(gang_sched *s, struct gang__job *job)
{
    const struct gang__submit_view *submit_view = gang__load_relaxed(&s->intake.submit_view);
    if (job->submit_view == submit_view->number) /* an older view is not counted any more */
        gang__submit_arrive(submit_view, job->at_view, GANG__NO_QUEUE, -1);
    job->submit_view = 0;
}

/* May `jobs` more jobs wait? Then they are counted, before another thread asks. */
gang_result gang__submit_may_wait(const struct gang__submit_view *submit_view,
                                  const struct gang__queue *q, int64_t jobs,
                                  struct gang_error *error)
{
    for (uint32_t at = q->index; at != GANG__NO_QUEUE; at = submit_view->queues->queue[at].parent) {
        const struct gang__queue *up = &submit_view->queues->queue[at];
        /* acquire: pairs with the release in gang__submit_arrive() */
        int64_t before = (int64_t)atomic_fetch_add_explicit(&submit_view->arriving[at],
                                                            (uint64_t)jobs, memory_order_acquire);
        if ((int64_t)gang__load(submit_view->pending[at]) + before + jobs > up->max_pending) {
            gang__submit_arrive(submit_view, q->index, up->parent, -jobs);
            return gang__error(error, GANG_ELIMIT, "queue",
                               "\"%s\" has as many waiting jobs as it may", up->name);
        }
    }
    return GANG_OK;
}
