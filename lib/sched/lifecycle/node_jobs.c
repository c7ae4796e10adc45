/* SPDX-License-Identifier: Apache-2.0 */
/* gang_node_each(): which jobs and other allocations have tasks on a node? */
#include <stdlib.h>
#include <string.h>

#include "sched/lifecycle/lifecycle_in.h"
#include "sched/record/state.h"

struct node_walk {
    gang_sched *s;
    gang_node_fn visit;
    void *user;
    struct gang_node_item item;
    int64_t *task; /* numbers of the tasks on the node */
    size_t task_cap;
    gang_alloc_id *shown; /* allocations that are the scheduler's, in the end ascending */
    size_t shown_count, shown_cap;
    bool any; /* something was visited */
    bool failed;
};

static int32_t note_task(const struct gang_task *task, void *user)
{
    struct node_walk *w = user;
    if (task->node != w->item.node)
        return 0;
    if (!gang__grow(&w->s->mem, (void **)&w->task, &w->task_cap, w->item.task_count + 1,
                    sizeof(*w->task))) {
        w->failed = true;
        return 1;
    }
    w->task[w->item.task_count++] = task->task;
    return 0;
}

/* Visit an allocation if it has tasks on the node. `mine`: the scheduler's own. */
static int32_t show(struct node_walk *w, gang_alloc_id alloc, bool mine)
{
    if (mine && !gang__grow(&w->s->mem, (void **)&w->shown, &w->shown_cap, w->shown_count + 1,
                            sizeof(*w->shown)))
        return GANG_ENOMEM;
    if (mine)
        w->shown[w->shown_count++] = alloc;
    w->item.alloc = alloc;
    w->item.task_count = 0;
    gang_result r = gang_alloc_each(w->s->cluster, alloc, note_task, w);
    if (w->failed)
        return GANG_ENOMEM;
    if (r == GANG_EBUSY && mine)
        return r;
    if (r != GANG_OK || w->item.task_count == 0)
        return 0; /* it has ended, or another thread is changing it */
    w->any = true;
    w->item.tasks = w->task;
    return w->visit(&w->item, w->user);
}

static void set_job(struct node_walk *w, const struct gang__gang *g, bool kept)
{
    w->item.job = g ? g->job->id : GANG_ID_NONE;
    w->item.cookie = g ? g->job->cookie : 0;
    w->item.gang = g ? (int32_t)g->index : 0;
    w->item.state = g ? g->job->state : GANG_JOB_ENDED;
    w->item.kept = kept;
}

static int32_t show_jobs(struct node_walk *w)
{
    int32_t r = 0;
    for (struct gang__set_link *n = gang__set_first(&w->s->by_id); n && r == 0;
         n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count && r == 0; i++) {
            gang_alloc_id alloc = gang__gang_holds(&job->gang[i]);
            set_job(w, &job->gang[i], false);
            if (alloc != GANG_ID_NONE)
                r = show(w, alloc, true);
        }
    }
    return r;
}

/* What is kept for gangs that are about to start: free capacity, and places of stopped tasks. */
static int32_t show_kept(struct node_walk *w)
{
    int32_t r = 0;
    for (const struct gang__handover *h = w->s->stop.handovers; h && r == 0; h = h->next) {
        set_job(w, h->taker, true);
        for (size_t i = 0; i < h->hold_count && r == 0; i++)
            r = show(w, h->holds[i].alloc, true);
        for (const struct gang__stop *stop = h->stops; stop && r == 0;
             stop = stop->next_of_handover)
            if (stop->stopped && !stop->tasks && !stop->released)
                r = show(w, stop->alloc, true);
    }
    return r;
}

static int by_id(const void *a, const void *b)
{
    gang_alloc_id x = *(const gang_alloc_id *)a, y = *(const gang_alloc_id *)b;
    return (x > y) - (x < y);
}

static int32_t show_others(struct node_walk *w)
{
    int32_t r = 0;
    if (w->shown_count > 1)
        qsort(w->shown, w->shown_count, sizeof(*w->shown), by_id);
    set_job(w, NULL, false);
    gang_alloc_id id = gang_alloc_next(w->s->cluster, GANG_ID_NONE);
    for (; id != GANG_ID_NONE && r == 0; id = gang_alloc_next(w->s->cluster, id))
        if (!w->shown_count || !bsearch(&id, w->shown, w->shown_count, sizeof(id), by_id))
            r = show(w, id, false);
    return r;
}

gang_result gang_node_each(gang_sched *sched, gang_node_id node, gang_node_fn visit, void *user)
{
    struct gang_node_info info = {.size = sizeof(info)};
    struct node_walk w = {.s = sched, .visit = visit, .user = user};
    if (!sched || !visit)
        return GANG_EINVAL;
    w.item.size = sizeof(w.item);
    w.item.node = node;
    int32_t r = show_jobs(&w);
    if (r == 0)
        r = show_kept(&w);
    if (r == 0)
        r = show_others(&w);
    if (r == 0 && !w.any && gang_node_get(sched->cluster, node, &info) != GANG_OK)
        r = GANG_ESTALE;
    gang__release(&sched->mem, w.task);
    gang__release(&sched->mem, w.shown);
    return r;
}
