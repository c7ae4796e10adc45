/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of exclusive and lending partitions go back to the jobs that name them.
 *
 * A *guest* has a task on such a node and does not name the partition: the node was lent, or it
 * became exclusive while the task ran. A taker that names the partition takes guests of other
 * queues, also of those that keep to their guarantee or share, if its own branch stays inside its
 * guarantee with what it requests. No queue takes that back: nothing inside a guarantee is
 * reclaimed, and a guest that starts again gets such a node only if it is idle. If the queue of
 * the guest falls below its guarantee, it reclaims elsewhere. A guest that outranks the taker
 * (rank.c) is taken only if the guarantee of the taker's branch covers a kind that both take.
 *
 * YARN's capacity scheduler, too, takes back first what jobs without a label use of a non-exclusive
 * label. It counts guarantees for each label, so that none protects such a job. */
#include "place/fit/fit.h"
#include "sched/preempt/preempt_in.h"
#include "sched/usage/usage.h"

bool gang__preempt_owns_nodes(const struct gang__preemption *p)
{
    return gang__request_owns(p->s->cluster, p->taker->request_class->request);
}

struct search {
    const struct gang__preemption *p;
    const struct gang__victim *v;
    bool found;
};

static int32_t look_at(const struct gang_task *task, void *user)
{
    struct search *search = user;
    const struct gang__preemption *p = search->p;
    const struct gang__victim *v = search->v;
    const gang_request *request = v->g->request_class->request;
    if (!v->whole && task->task != v->task)
        return 0;
    search->found = gang__is_guest_on(p->s->cluster, p->taker->request_class->request,
                                      &request->group[task->group], task->node);
    return search->found || !v->whole;
}

bool gang__preempt_is_guest(const struct gang__preemption *p, const struct gang__victim *v)
{
    struct search search = {p, v, false};
    if (p->owns_nodes)
        (void)!gang__alloc_each(p->s->cluster, v->g->alloc, look_at, &search);
    return search.found;
}
