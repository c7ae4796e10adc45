/* SPDX-License-Identifier: Apache-2.0 */
/* Capacity that a handover keeps for its taker counts as taken while reservations are placed. */
#include <stdlib.h>

#include "sched/calendar/calendar.h"
#include "sched/reserve/reserve_in.h"
#include "sched/stop/stop.h"

static int64_t last_grace(const gang_sched *s)
{
    return gang__add_sat(s->now_ns, gang__longest_grace(s));
}

/* The capacity of a handover is taken until the taker ends, if the taker starts as late as it
 * can. */
static gang_result put_places(struct gang__trial *t, const struct gang__gang *g,
                              const struct gang_placement *place, int64_t count)
{
    gang_sched *s = t->s;
    struct gang__occupation o;
    int64_t end_ns = gang__add_sat(last_grace(s), gang__calendar_estimate(s, g));
    if (!gang__calendar_lay_out(s, g, place, (size_t)count, end_ns, &o))
        return GANG_ENOMEM;
    return o.place_count ? gang__trial_put(t, &o, NULL) : GANG_OK;
}

struct keeping {
    gang_sched *s;
    const struct gang__stop *leave;
    bool failed;
};

/* Each task is a group of its own: the job, and its request, may be gone. */
static int32_t keep_task(const struct gang_task *task, void *user)
{
    struct keeping *k = user;
    struct gang__calendar *cal = k->s->calendar;
    const struct gang__stop *stop = k->leave;
    int64_t number = task->task;
    if (!bsearch(&number, stop->own, stop->own_count, sizeof(number), gang__by_number))
        return 0;
    uint32_t n = (uint32_t)cal->places;
    k->failed = !gang__grow(&k->s->mem, (void **)&cal->group, &cal->group_cap, (size_t)n + 1,
                            sizeof(*cal->group)) ||
                !gang__calendar_add_place(k->s, task->node, n);
    if (!k->failed)
        cal->group[n] =
            (struct gang__time_group){.count = 1,
                                      .need = {task->cpu_milli, task->memory_bytes,
                                               (int64_t)task->gpu_count * task->gpu_share}};
    if (!k->failed && stop->gang && cal->more.count > 0)
        k->failed = !gang__calendar_more_of(
            k->s, &gang__gang_request(stop->gang)->group[task->group], cal->group[n].more);
    return k->failed;
}

/* A handover keeps what stopped tasks held until all its victims have stopped. */
static gang_result put_kept(struct gang__trial *t, const struct gang__stop *stop)
{
    gang_sched *s = t->s;
    struct gang__calendar *cal = s->calendar;
    struct keeping k = {s, stop, false};
    cal->places = 0;
    gang_result r = gang__alloc_each(s->cluster, stop->alloc, keep_task, &k);
    if (k.failed || r == GANG_EBUSY || r == GANG_ENOMEM)
        return GANG_ENOMEM;
    if (cal->places == 0)
        return GANG_OK;
    size_t groups = cal->places;
    gang__calendar_merge_places(cal);
    struct gang__occupation o = {
        s->now_ns, gang__add_sat(last_grace(s), 1), cal->group, groups, cal->place, cal->places, 0,
        false};
    return gang__trial_put(t, &o, NULL);
}

gang_result gang__reserve_put_handovers(struct gang__trial *t)
{
    gang_result r = GANG_OK;
    for (const struct gang__handover *handover = t->s->stop.handovers; handover && r == GANG_OK;
         handover = handover->next) {
        if (handover->taker)
            r = put_places(t, handover->taker, handover->places, handover->place_count);
        for (const struct gang__stop *stop = handover->stops; stop && r == GANG_OK;
             stop = stop->next_of_handover) {
            if (stop->to && stop->gang)
                r = put_places(t, stop->gang, stop->to, stop->to_count);
            if (r == GANG_OK && stop->stopped && !stop->released && stop->own_count > 0)
                r = put_kept(t, stop);
        }
    }
    return r;
}
