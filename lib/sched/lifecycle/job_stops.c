/* SPDX-License-Identifier: Apache-2.0 */
/* What a host keeps of stops, moves, places that are promised, and nodes that are avoided, to
 * restore a job later. */
#include <stdlib.h>

#include "place/report/report.h"
#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"

/* The number of a handover, from 1, in the order in which they began: the last one is the first of
 * the list. NULL: 0. */
static int32_t number_of(const gang_sched *s, const struct gang__handover *handover)
{
    int32_t number = 0;
    const struct gang__handover *at = s->stop.handovers;
    while (at && at != handover)
        at = at->next;
    for (; at; at = at->next)
        number++;
    return number;
}

static struct gang_job_stop shown(const gang_sched *s, const struct gang__stop *stop)
{
    struct gang_job_stop out = GANG_JOB_STOP_INIT;
    bool moves = stop->stopped && gang__stop_is_moving(stop);
    out.what = stop->fenced    ? GANG_STOP_FENCED
               : moves         ? GANG_STOP_MOVED
               : stop->stopped ? GANG_STOP_STOPPED
               : stop->killed  ? GANG_STOP_KILLED
                               : GANG_STOP_ASKED;
    out.reason = stop->reason;
    out.end = stop->end;
    out.whole = !stop->tasks;
    out.handover = number_of(s, stop->handover);
    out.starts_as = stop->handover ? stop->handover->reason : GANG_REASON_NONE;
    out.preemptor = stop->because;
    out.deadline_ns = stop->deadline_ns;
    out.next_ns = stop->next_ns;
    out.tasks = stop->still;
    out.task_count = stop->stopped ? 0 : stop->left;
    if (stop->to && stop->handover && !gang__stop_is_moving(stop)) {
        out.targets = stop->to;
        out.target_count = (size_t)stop->to_count;
    }
    out.unasked = stop->stopped && !stop->asked;
    out.apart = out.what == GANG_STOP_STOPPED && stop->gang->alloc != stop->alloc;
    return out;
}

/* The stop that began `back` stops before the last one; NULL: there are fewer stops. */
static const struct gang__stop *stop_before(const struct gang__gang *g, size_t back)
{
    const struct gang__stop *stop = g->stop.first;
    while (stop && back-- > 0)
        stop = stop->next;
    return stop;
}

/* Places of tasks that have stopped. */
struct kept_places {
    gang_sched *s;
    const struct gang__stop *stop;
    struct gang_placement *place;
    size_t count, cap;
};

static bool is_among(const int64_t *tasks, size_t count, int64_t task)
{
    return count > 0 && bsearch(&task, tasks, count, sizeof(task), gang__by_number);
}

static int32_t keep_place(const struct gang_task *task, void *user)
{
    struct kept_places *k = user;
    if (!is_among(k->stop->own, k->stop->own_count, task->task) ||
        is_among(k->stop->still, k->stop->left, task->task))
        return 0;
    if (!gang__grow(&k->s->mem, (void **)&k->place, &k->cap, k->count + 1, sizeof(*k->place)))
        return GANG_ENOMEM;
    k->place[k->count++] = gang__place_of_task(task);
    return 0;
}

/* A gang that stopped to move may have shared its old places in time: they are not its own. */
static int32_t show(gang_sched *s, const struct gang__stop *stop, gang_job_stop_fn visit,
                    void *user)
{
    struct gang_job_stop out = shown(s, stop);
    struct kept_places k = {s, stop, NULL, 0, 0};
    int32_t r = GANG_OK;
    bool shared = stop->stopped && gang__slice_has_alloc(s, stop->alloc);
    if (stop->left < stop->own_count && !stop->released && !shared)
        r = gang__alloc_each(s->cluster, stop->alloc, keep_place, &k);
    out.kept = k.place;
    out.kept_count = k.count;
    r = r == GANG_ENOMEM ? r : visit(&out, user);
    gang__release(&s->mem, k.place);
    return r;
}

/* What has stopped, and a handover keeps. What gangs share in time is not shown. */
static int32_t visit_stopped(gang_sched *s, const struct gang__gang *g, gang_job_stop_fn visit,
                             void *user)
{
    int32_t r = 0;
    for (const struct gang__handover *h = s->stop.handovers; h; h = h->next)
        for (const struct gang__stop *stop = h->stops; r == 0 && stop;
             stop = stop->next_of_handover)
            if (stop->gang == g && stop->stopped && !stop->released &&
                !gang__stop_is_moving(stop) && !gang__slice_has_alloc(s, stop->alloc))
                r = show(s, stop, visit, user);
    return r;
}

static int32_t visit_gang(gang_sched *s, const struct gang__gang *g, gang_job_stop_fn visit,
                          void *user)
{
    int32_t r = 0;
    size_t count = 0;
    while (stop_before(g, count))
        count++;
    if (g->stop.unreleased > 0)
        r = visit_stopped(s, g, visit, user);
    if (r == 0 && g->stop.moving && g->stop.moving->stopped)
        r = show(s, g->stop.moving, visit, user);
    for (; count > 0 && r == 0; count--)
        r = show(s, stop_before(g, count - 1), visit, user);
    struct gang_job_stop of_slice;
    if (r == 0 && gang__slice_stop_shown(g, &of_slice))
        r = visit(&of_slice, user);
    return r;
}

/* GANG_OK, GANG_EINVAL, or GANG_ESTALE. */
static int32_t find_job(const gang_sched *s, gang_job_id id, bool visits,
                        const struct gang__job **job)
{
    if (!s || !visits)
        return GANG_EINVAL;
    *job = gang__job_of(s, id);
    return *job ? GANG_OK : GANG_ESTALE;
}

gang_result gang_job_stop_each(gang_sched *sched, gang_job_id id, gang_job_stop_fn visit,
                               void *user)
{
    const struct gang__job *job = NULL;
    int32_t r = find_job(sched, id, visit != NULL, &job);
    for (uint32_t i = 0; r == 0 && i < job->gang_count; i++)
        r = visit_gang(sched, &job->gang[i], visit, user);
    return r;
}

gang_result gang_job_failed_node_each(gang_sched *sched, gang_job_id id, gang_failed_node_fn visit,
                                      void *user)
{
    const struct gang__job *job = NULL;
    int32_t r = find_job(sched, id, visit != NULL, &job);
    for (size_t i = 0; r == 0 && i < job->failed_node_count; i++)
        r = visit(job->failed_nodes[i], user);
    return r;
}

static int32_t visit_places(const struct gang_placement *place, int64_t count, gang_place_fn visit,
                            void *user)
{
    int32_t r = 0;
    for (int64_t i = 0; i < count && r == 0; i++)
        r = visit(&place[i], user);
    return r;
}

gang_result gang_job_suspended_each(gang_sched *sched, gang_job_id id, gang_place_fn visit,
                                    void *user)
{
    const struct gang__job *job = NULL;
    int32_t r = find_job(sched, id, visit != NULL, &job);
    for (uint32_t i = 0; r == 0 && i < job->gang_count; i++)
        if (job->gang[i].places)
            r = visit_places(job->gang[i].places, job->gang[i].place_count, visit, user);
    return r;
}

gang_result gang_job_promised_each(gang_sched *sched, gang_job_id id, gang_place_fn visit,
                                   void *user)
{
    const struct gang__job *job = NULL;
    int32_t r = find_job(sched, id, visit != NULL, &job);
    for (uint32_t i = 0; r == 0 && i < job->gang_count; i++) {
        const struct gang__handover *handover = job->gang[i].stop.handover;
        const struct gang__stop *moving = job->gang[i].stop.moving;
        if (handover)
            r = visit_places(handover->places, handover->place_count, visit, user);
        else if (moving)
            r = visit_places(moving->to, moving->to_count, visit, user);
    }
    return r;
}
