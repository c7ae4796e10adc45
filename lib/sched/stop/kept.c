/* SPDX-License-Identifier: Apache-2.0 */
/* What gangs of a restored job have left, and a handover still keeps: an allocation of its own, all
 * tasks of which have stopped. Until the handovers are restored it lies in sched.stop.kept. */
#include <string.h>

#include "sched/stop/stop_in.h"
#include "sched/wake/wake.h"

static struct gang__stop *new_stop(gang_sched *s, struct gang__gang *g,
                                   const struct gang__kept_stop *kept)
{
    struct gang__stop *stop = gang__zalloc(&s->mem, 1, sizeof(*stop));
    if (!stop)
        return NULL;
    stop->gang = g;
    if (!gang__stop_alloc_tasks(s, stop, kept->all.count)) {
        gang__release(&s->mem, stop);
        return NULL;
    }
    for (size_t i = 0; i < kept->all.count; i++)
        stop->own[i] = kept->all.task[i].task;
    if (!gang__stop_note_target(s, stop, kept->targets, kept->target_count)) {
        gang__release(&s->mem, stop->own);
        gang__release(&s->mem, stop);
        return NULL;
    }
    stop->gave_up = kept->target_count > 0;
    stop->tasks = kept->whole ? NULL : stop->own;
    stop->own_count = kept->all.count;
    stop->task_count = kept->whole ? 0 : kept->all.count;
    stop->reason = kept->reason;
    stop->end = kept->end;
    stop->because = kept->preemptor;
    stop->deadline_ns = kept->deadline_ns;
    stop->next_ns = kept->next_ns;
    stop->restored = kept->handover;
    stop->starts_as = kept->starts_as;
    stop->asked = !kept->unasked;
    stop->has_run = stop->stopped = true;
    return stop;
}

gang_result gang__kept_make(gang_sched *s, struct gang__gang *g, gang_request *request,
                            const struct gang__kept_stop *kept, struct gang_error *error)
{
    struct gang__stop *stop = new_stop(s, g, kept);
    if (!stop)
        return GANG_ENOMEM;
    gang_result r = gang_alloc_adopt(s->worker, request, kept->places, (int64_t)kept->all.count,
                                     &stop->alloc, error);
    if (r != GANG_OK) {
        gang__stop_free(s, stop);
        return r;
    }
    stop->counted = true;
    g->stop.unreleased++;
    gang__stop_mark(s, stop);
    gang__wake_holding(s, g);
    stop->next_of_handover = s->stop.kept;
    s->stop.kept = stop;
    s->stop.restored = true;
    return GANG_OK;
}

void gang__kept_drop(gang_sched *s, const struct gang__gang *g)
{
    struct gang__stop **at = &s->stop.kept;
    while (*at) {
        struct gang__stop *stop = *at;
        if (g && stop->gang != g) {
            at = &stop->next_of_handover;
            continue;
        }
        *at = stop->next_of_handover;
        gang__stop_release(s, stop);
        gang__stop_free(s, stop);
    }
}

void gang__kept_hand_over(gang_sched *s, struct gang__handover *handover)
{
    struct gang__stop **at = &s->stop.kept;
    while (*at) {
        struct gang__stop *stop = *at;
        if (stop->because != handover->taker->job->id) {
            at = &stop->next_of_handover;
            continue;
        }
        *at = stop->next_of_handover;
        stop->restored = 0;
        stop->handover = handover;
        stop->next_of_handover = handover->stops;
        handover->stops = stop;
    }
}
