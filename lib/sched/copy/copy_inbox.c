/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that no run has processed, for a copy (copy.h): submitted jobs, commands, reports. */
#include <string.h>

#include "sched/copy/copy_in.h"
#include "sched/intake/intake.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/record/state.h"

/* It counts among those on their way in where it does in the other one. */
static void copy_arriving(gang_sched *s, struct gang__job *job, const gang_sched *from,
                          const struct gang__job *old)
{
    const struct gang__submit_view *submit_view = gang__load_relaxed(&from->intake.submit_view);
    const struct gang__queue_state *q =
        old->submit_view == submit_view->number
            ? gang__queue_state_of(s, submit_view->queues->queue[old->at_view].id)
            : NULL;
    if (q)
        gang__job_arrives(s, job, q->q->index);
}

/* What a gang asks for when it has waited for its preferred domains; NULL: nothing else. */
static const struct gang__request_text *later_text_of(const struct gang__job *job, uint32_t gang)
{
    const struct gang__request_class *class = job->gang[gang].later_class;
    return class ? class->text : job->gang[gang].later_text;
}

static struct gang__job *copy_submitted(struct gang__requests_copy *c, const gang_sched *from,
                                        const struct gang__job *old)
{
    gang_sched *s = c->to;
    struct gang__job *job = gang__job_copy(s, old);
    if (!job)
        return NULL;
    job->reserve.id = old->reserve.id;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__request_class *request_class =
            old->gang[i].request_class; /* memory was short when it was taken in */
        struct gang__gang *g = &job->gang[i];
        g->text =
            gang__requests_copy_text(c, request_class ? request_class->text : old->gang[i].text);
        const struct gang__request_text *later = later_text_of(old, i);
        if (later)
            g->later_text = gang__requests_copy_text(c, later);
        if (!g->text || (later && !g->later_text)) {
            gang__job_free(s, job);
            return NULL;
        }
    }
    copy_arriving(s, job, from, old);
    return job;
}

/* All jobs of a message. Even if memory was short the message is in *at, with the jobs copied so
 * far. */
static bool copy_arrivals(struct gang__requests_copy *c, const gang_sched *from,
                          const struct gang__job *old, struct gang__message **at)
{
    struct gang__job *first = copy_submitted(c, from, old), *last = first;
    if (!first)
        return false;
    first->submit.what = GANG__MESSAGE_SUBMIT;
    *at = &first->submit;
    while ((old = old->next) != NULL) {
        last->next = copy_submitted(c, from, old);
        last = last->next;
        if (!last)
            return false;
    }
    return true;
}

static bool copy_order(gang_sched *s, const struct gang__command *old, struct gang__message **at)
{
    size_t tasks = old->count == SIZE_MAX ? 0 : old->count;
    size_t bytes = sizeof(*old) + tasks * sizeof(old->tasks[0]);
    struct gang__command *m = gang__alloc(&s->mem, bytes);
    if (!m)
        return false;
    memcpy(m, old, bytes);
    m->head.next = NULL;
    *at = &m->head;
    return true;
}

bool gang__backlog_copy(struct gang__requests_copy *c, const gang_sched *from)
{
    struct gang__message **at = &c->to->intake.backlog;
    bool ok = true;
    for (struct gang__message *m = from->intake.backlog; m && ok; m = m->next) {
        ok = m->what == GANG__MESSAGE_SUBMIT ? copy_arrivals(c, from, gang__message_job(m), at)
                                             : copy_order(c->to, gang__command_of(m), at);
        at = *at ? &(*at)->next : at;
    }
    return ok;
}
