/* SPDX-License-Identifier: Apache-2.0 */
/* Audit of planned starts, and of the calendar against what gangs hold. */
#include "sched/backfill/backfill.h"
#include "sched/calendar/calendar.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"

/* ---- audit -------------------------------------------------------------------------------------
 */

struct leftover {
    const gang_sched *s;
    int64_t *left;
};

/* A task on a node that was removed does not count. */
static int32_t subtract_task(const struct gang_task *task, void *user)
{
    struct leftover *sum = user;
    struct gang_node_info info = {.size = sizeof(info)};
    if (gang_node_get(sum->s->cluster, task->node, &info) != GANG_OK ||
        info.state != GANG_NODE_UP || gang__slice_has_node(sum->s, task->node))
        return 0;
    sum->left[GANG__FREE_CPU] -= task->cpu_milli;
    sum->left[GANG__FREE_MEMORY] -= task->memory_bytes;
    sum->left[GANG__FREE_GPU] -= (int64_t)task->gpu_count * task->gpu_share;
    return 0;
}

/* Compare what is free now by the timeline with what gangs leave. GPUs only while instances of
 * profiles are not counted by themselves. */
static gang_result check_free(gang_sched *s, struct gang_error *error)
{
    static const char *const word[] = {"cpu", "memory", "gpu"};
    int64_t unused[GANG__FREE_DIMS], left[GANG__FREE_KINDS] = {0, 0, 0};
    struct leftover sum = {s, left};
    struct gang__calendar *cal = s->calendar;
    for (gang_node_id n = gang_node_next(s->cluster, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_node_next(s->cluster, n))
        for (int k = 0;
             (uint32_t)n < cal->end && !gang__slice_has_node(s, n) && k < GANG__FREE_KINDS; k++)
            left[k] += cal->capacity[(size_t)(uint32_t)n * GANG__FREE_KINDS + (size_t)k];
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            const struct gang__gang *g = &job->gang[i];
            gang_alloc_id held = gang__gang_holds(g);
            /* A gang past its end may be counted or not, if a run was cut short. */
            if (held == GANG_ID_NONE ||
                gang__calendar_end(s, g) == gang__add_sat(s->now_ns, GANG__OVERRUN_NS))
                continue;
            gang_result r = gang__alloc_each(s->cluster, held, subtract_task, &sum);
            if (r != GANG_OK)
                return gang__error(error, r, "plan", "%s", gang_strerror(r));
        }
    }
    (void)gang__timeline_sum_at(cal->timeline, s->now_ns, unused);
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        if (unused[k] > left[k] && !(k == GANG__FREE_GPU && cal->more.count > 0))
            return gang__error(error, GANG_EINVAL, "plan",
                               "the calendar has %lld of %s free, and the nodes have %lld",
                               (long long)unused[k], word[k], (long long)left[k]);
    return GANG_OK;
}

gang_result gang__backfill_check(gang_sched *s, struct gang_error *error)
{
    struct gang__calendar *cal = s->calendar;
    int64_t planned = 0;
    bool whole = false, undone = false;
    if (!cal)
        return GANG_OK;
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            const struct gang__gang *g = &job->gang[i];
            bool holds = gang__gang_holds(g) != GANG_ID_NONE;
            whole = whole || gang__gang_request(g)->exclusive;
            planned += g->calendar.plan != 0;
            undone = undone || job->undone;
            if (g->calendar.plan &&
                (!g->order.wait_class || !gang__calendar_leaf_plans(g) || holds))
                return gang__error(error, GANG_EINVAL, "plan",
                                   "job %llu has a planned start, and does not wait",
                                   (unsigned long long)job->id);
            if (!g->wake.at && g->calendar.occupies && !holds)
                return gang__error(error, GANG_EINVAL, "plan",
                                   "job %llu has an occupation, and holds no allocation",
                                   (unsigned long long)job->id);
            if (!g->wake.at && !g->calendar.occupies && g->alloc != GANG_ID_NONE && g->tasks > 0)
                return gang__error(error, GANG_EINVAL, "plan",
                                   "job %llu runs, and has no occupation",
                                   (unsigned long long)job->id);
        }
    }
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__queue_state *q = s->qs[i];
        int64_t count = 0;
        for (const struct gang__gang *g = q->calendar.planned; g; g = g->calendar.next_planned)
            count++;
        planned -= count;
        if (count != q->calendar.planned_count || count > q->q->plan_depth)
            return gang__error(error, GANG_EINVAL, q->q->name, "%lld jobs have planned starts",
                               (long long)count);
    }
    if (planned != 0)
        return gang__error(error, GANG_EINVAL, "plan",
                           "a planned start is in the list of no queue");
    /* pieces are not in the new timeline yet */
    bool new_timeline = s->wake.reservations & GANG__RESERVE_TIMELINE;
    bool asked = cal->timeline && !s->wake.holdings && gang__slice_occupied(s) && cal->all_up &&
                 !whole && !undone && !new_timeline && gang__calendar_current(s);
    return asked ? check_free(s, error) : GANG_OK;
}
