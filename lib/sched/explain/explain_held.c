/* SPDX-License-Identifier: Apache-2.0 */
/* Gates before the order: holds, dependencies, back-off, and handovers on their way. */
#include <inttypes.h>

#include "sched/explain/explain_in.h"
#include "sched/lifecycle/lifecycle.h"

static const char *gang__name_of_group(const struct gang__job *job, int32_t group)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        for (uint32_t g = 0; g < gang__gang_request(&job->gang[i])->group_count; g++)
            if (gang__group_in_job(&job->gang[i], g) == group)
                return gang__gang_request(&job->gang[i])->group[g].name;
    return "";
}

static const char *until_when(int32_t when)
{
    return when == GANG_AFTER_START ? "start" : when == GANG_AFTER_END ? "end" : "succeed";
}

/* Groups of the gang that wait for other groups of the job. */
void gang__explain_group_after(struct gang__reasons *l)
{
    const struct gang__gang *g = l->gang;
    const struct gang__job *job = g->job;
    for (size_t i = 0; i < job->options->group_after_count; i++)
        for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++) {
            const struct gang_group_after *after = &job->options->group_after[i];
            if (after->group != gang__group_in_job(g, group))
                continue;
            struct gang__reason *r = gang__reason_add_held(l, GANG_WAIT_AFTER);
            if (!r)
                return;
            r->wait.group = after->group;
            r->group = gang__name_of_group(job, after->group);
            gang__reason_set_text(r, "group \"%s\" waits for the tasks of group \"%s\" to %s",
                                  r->group, gang__name_of_group(job, after->after),
                                  until_when(after->when));
        }
}

static void explain_after(struct gang__reasons *l)
{
    const struct gang__job *job = l->gang->job;
    gang_job_id first = gang__job_waits_for(l->s, job);
    int32_t when = GANG_AFTER_END;
    for (size_t i = 0; i < job->options->after_count; i++)
        if (job->options->after[i].job == first)
            when = job->options->after[i].when;
    if (first == GANG_ID_NONE) {
        gang__explain_group_after(l);
        return;
    }
    struct gang__reason *r = gang__reason_add_held(l, GANG_WAIT_AFTER);
    if (!r)
        return;
    r->wait.blocker = first;
    gang__reason_set_text(r, "it waits for job %" PRIu64 " to %s", first, until_when(when));
}

static void explain_announced(struct gang__reasons *l)
{
    const struct gang__job *job = l->gang->job;
    struct gang__reason *r = gang__reason_add_held(l, GANG_WAIT_ANNOUNCED);
    uint32_t first = 0;
    int64_t tasks = 0;
    if (!r)
        return;
    while (first + 1 < job->group_count && job->options->missing_of[first] == 0)
        first++;
    for (uint32_t i = 0; i < job->gang_count; i++)
        tasks += gang__gang_request(&job->gang[i])->count;
    r->wait.group = (int32_t)first;
    r->group = gang__name_of_group(job, (int32_t)first);
    r->wait.requested = tasks;
    r->wait.used = tasks - job->missing;
    if (job->options->start_within_ns > 0 && job->ready_ns >= 0)
        r->wait.until_ns = gang__add_sat(job->ready_ns, job->options->start_within_ns);
    gang__reason_set_text(r, "it is announced: %" PRId64 " of its %" PRId64 " tasks %s missing",
                          job->missing, tasks, job->missing == 1 ? "is" : "are");
}

void gang__explain_held(struct gang__reasons *l)
{
    const struct gang__job *job = l->gang->job;
    struct gang__reason *r;
    switch (job->wait_why) {
    case GANG_WAIT_HOLD:
        if ((r = gang__reason_add_held(l, GANG_WAIT_HOLD)) != NULL)
            gang__reason_set_text(r, "it is held until it is released");
        break;
    case GANG_WAIT_AFTER:
        explain_after(l);
        break;
    case GANG_WAIT_QUEUE:
        if ((r = gang__reason_add_held(l, GANG_WAIT_QUEUE)) != NULL) {
            r->queue = job->leaf;
            r->wait.queue = job->leaf->q->id;
            gang__reason_set_text(r, "queue \"%s\" is closed", job->leaf->q->name);
        }
        break;
    case GANG_WAIT_BEGIN:
        if ((r = gang__reason_add_held(l, GANG_WAIT_BEGIN)) != NULL) {
            r->wait.until_ns = job->options->begin_ns;
            gang__reason_set_text(
                r, "it begins in %s seconds at the earliest",
                gang__text_milli((job->options->begin_ns - l->s->now_ns + 999999) / 1000000, "").s);
        }
        break;
    case GANG_WAIT_BACK_OFF:
        if ((r = gang__reason_add_held(l, GANG_WAIT_BACK_OFF)) != NULL) {
            r->wait.until_ns = job->not_before_ns;
            gang__reason_set_text(
                r, "it is in back-off for %s seconds",
                gang__text_milli((job->not_before_ns - l->s->now_ns + 999999) / 1000000, "").s);
        }
        break;
    case GANG_WAIT_ANNOUNCED:
        explain_announced(l);
        break;
    default:
        break;
    }
}

/* The victims that stop for the gang, or that it waits for before it starts elsewhere. */
void gang__explain_handover(struct gang__reasons *l, const struct gang__handover *handover)
{
    int64_t tasks = 0, until = 0;
    gang_job_id blocker = GANG_ID_NONE;
    for (const struct gang__stop *v = handover->stops; v; v = v->next_of_handover) {
        if (v->stopped)
            continue;
        tasks += (int64_t)v->left;
        until = gang__max(until, gang__max(v->deadline_ns, v->next_ns));
        blocker = v->gang->job->id;
    }
    struct gang__reason *r =
        gang__reason_add(l, GANG_WAIT_VICTIMS, GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (!r)
        return;
    r->rank = RANK_HANDOVER;
    r->wait.blocker = blocker;
    r->wait.until_ns = until == INT64_MAX ? 0 : until;
    r->wait.requested = tasks;
    gang__reason_set_text(r, "%" PRId64 " task%s preempted %s ha%s not stopped yet", tasks,
                          tasks == 1 ? "" : "s", l->gang->stop.handover ? "for it" : "as it moves",
                          tasks == 1 ? "s" : "ve");
}
