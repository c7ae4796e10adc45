/* SPDX-License-Identifier: Apache-2.0 */
/* What if tasks end or fail while their gang is being suspended? They do not resume. The others
 * resume with their numbers on their own places, unless the loss decides otherwise. */
#include <string.h>

#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"

static int64_t place_of(const struct gang__gang *g, int64_t task)
{
    for (int64_t k = 0; k < g->place_count; k++)
        if (g->places[k].task == task)
            return k;
    return -1;
}

static void forget(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    for (size_t i = 0; g->places && i < f->count; i++) {
        int64_t at = place_of(g, f->task[i].task);
        if (at >= 0)
            g->places[at] = g->places[--g->place_count];
    }
    if (g->places && g->place_count == 0)
        gang__places_forget(s, g);
}

static void note_over(struct gang__gang *g)
{
    g->over = g->over || (g->alloc == GANG_ID_NONE && gang__gang_lacks_all(g) == 0);
}

void gang__suspended_forget(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    forget(s, g, f);
    note_over(g);
}

void gang__suspended_moved(gang_sched *s, struct gang__gang *g, int64_t task)
{
    struct gang_task now = GANG_TASK_INIT;
    int64_t at = g->places ? place_of(g, task) : -1;
    if (at < 0 || gang_alloc_task(s->cluster, gang__gang_holds(g), task, &now) != GANG_OK)
        return;
    g->places[at].gpus = now.gpus;
    memcpy(g->places[at].cores, now.cores, sizeof(now.cores));
}

/* Is the gang below its minimum if it resumes at its places? */
static bool resumes_below_minimum(struct gang__gang *g)
{
    for (int64_t i = 0; i < g->place_count; i++)
        g->has[g->places[i].group]++;
    bool below = gang__below_minimum(g);
    for (int64_t i = 0; i < g->place_count; i++)
        g->has[g->places[i].group]--;
    return below;
}

/* Count the lost tasks. Returns the strictest role among them. *members: members are among them. */
static int32_t count_lost(gang_sched *s, struct gang__gang *g, const struct gang__found *f,
                          bool *members)
{
    int32_t strictest = GANG_ROLE_SIDECAR;
    gang__order_leave(s, g);
    gang__usage_out(s, g);
    for (size_t i = 0; i < f->count; i++) {
        int32_t role = gang__role_of(g, f->task[i].group);
        bool again = role == GANG_ROLE_MEMBER && g->job->loss == GANG_LOSS_REFILL;
        if (place_of(g, f->task[i].task) < 0) /* it was asked to stop before, on its own */
            continue;
        gang__task_count(g, &f->task[i], false,
                         again ? GANG__TASK_END_NONE : GANG__TASK_END_FAILURE);
        strictest = gang__role_is_decisive(role) ? role : strictest;
        *members = *members || role == GANG_ROLE_MEMBER;
    }
    gang__usage_in(s, g);
    gang__demand_changed(s, g);
    return strictest;
}

static void restart(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    gang__places_forget(s, g);
    gang__job_restart(s, g->job, f);
}

/* Apply the loss policy of the job. False: the others resume. */
static bool lose_members(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    struct gang__job *job = g->job;
    if (job->loss == GANG_LOSS_REFILL) {
        g->reports.refill = g->places != NULL;
        g->reports.refill_ns = INT64_MAX; /* until it resumes */
    }
    if (job->loss == GANG_LOSS_FAIL)
        gang__reports_stop(s, job, GANG_REASON_LOSS, GANG_END_FAILED);
    else if (job->loss == GANG_LOSS_RESTART ||
             (job->loss == GANG_LOSS_SHRINK && resumes_below_minimum(g)))
        restart(s, g, f);
    else
        return false;
    return true;
}

void gang__suspended_failed(gang_sched *s, struct gang__report *r)
{
    struct gang__gang *g = r->gang;
    const struct gang__found *f = &r->stopping;
    bool members = false;
    if (!g->places || f->count == 0 || r->job->ending)
        return;
    int32_t role = count_lost(s, g, f, &members);
    forget(s, g, f);
    if (gang__role_is_decisive(role))
        gang__reports_stop(s, r->job, GANG_REASON_END, GANG_END_FAILED);
    if (gang__role_is_decisive(role) || (members && lose_members(s, g, f)))
        return;
    note_over(g);
    int32_t result = gang__job_result(r->job);
    if (result != GANG_END_NONE)
        gang__reports_stop(s, r->job, GANG_REASON_END, result);
}
