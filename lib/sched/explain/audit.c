/* SPDX-License-Identifier: Apache-2.0 */
/* Audit: all that is kept up to date at each change is computed from the jobs and their
 * allocations, and compared. audit_jobs.c, audit_queues.c and audit_gangs.c compare their part. */
#include <inttypes.h>

#include "sched/backfill/backfill.h"
#include "sched/calendar/calendar.h"
#include "sched/explain/audit_in.h"
#include "sched/explain/explain_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/usage/usage.h"

/* ---- what is blocked, what is due ------------------------------------------------------------ */

/* Do limits refuse the amounts to the gang, when it starts or grows? */
static bool limits_refuse(gang_sched *s, struct gang__gang *g, const struct gang__take *take,
                          uint32_t count)
{
    struct gang__refusal refusal = {0, 0};
    bool fixed = gang__gang_is_fixed(g, g->alloc != GANG_ID_NONE);
    return gang__limits_refuse(s, g, take, count, fixed, &refusal) != NULL;
}

/* The need of a gang of a running job, or with a deadline, becomes less with time alone; a renewal
 * may have to wait for the next run. */
static bool budget_may_allow(const gang_sched *s, const struct gang__wait_class *wait_class)
{
    const struct gang__gang *g = gang__wait_class_head(wait_class);
    const struct gang__budget_timer *renewal = &wait_class->blocked_by->budget.renewal;
    return g->job->state == GANG_JOB_RUNNING || g->job->options->deadline_ns > 0 ||
           (renewal->listed && renewal->due_ns <= s->now_ns);
}

/* Does the blocking queue still block the class? Not asked of lending: once the lender uses all of
 * its share itself, capacity is short instead, and comes back at the same time. */
static bool is_refused(gang_sched *s, const struct gang__wait_class *wait_class)
{
    struct gang__gang *g = gang__wait_class_head(wait_class);
    if (wait_class->why != GANG_WAIT_LIMIT && wait_class->why != GANG_WAIT_GUARANTEE &&
        wait_class->why != GANG_WAIT_MAX_RUNNING && wait_class->why != GANG_WAIT_ARRAY &&
        wait_class->why != GANG_WAIT_BUDGET)
        return true;
    if (wait_class->why == GANG_WAIT_BUDGET && budget_may_allow(s, wait_class))
        return true;
    struct gang__take take[GANG__DIMS];
    uint32_t count;
    if (g->alloc == GANG_ID_NONE) {
        const struct gang__take *takes = gang__gang_next_demand(g, &count);
        if (g->places) {
            count = gang__places_take(s, g, g->places, g->place_count, take);
            takes = take;
        }
        return gang__gang_chooses(g) || limits_refuse(s, g, takes, count);
    }
    for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++) {
        count = gang__request_class_takes_times(g->request_class, (int32_t)group,
                                                gang__gang_step(g, group), take);
        if (gang__gang_lacks(g, group) > 0 && limits_refuse(s, g, take, count))
            return true;
    }
    return false;
}

static gang_result check_blocked(struct gang__audit *a)
{
    for (const struct gang__wait_class *wait_class = a->s->order.blocked; wait_class;
         wait_class = wait_class->next_blocked) {
        if (wait_class->state != GANG__CLASS_BLOCKED || wait_class->gangs.count == 0 ||
            !wait_class->at || *wait_class->at != wait_class ||
            *wait_class->at_blocked != wait_class)
            return GANG__AUDIT_BAD(a, gang__audit_name_of(wait_class->leaf),
                                   "a wait class is listed as BLOCKED, and is not");
        if (!is_refused(a->s, wait_class))
            return GANG__AUDIT_BAD(a, gang__audit_name_of(wait_class->leaf),
                                   "a wait class is BLOCKED for reason %d, which no longer holds",
                                   wait_class->why);
    }
    return GANG_OK;
}

static gang_result check_timers(struct gang__audit *a)
{
    const struct gang__job *before = NULL;
    for (struct gang__set_link *n = gang__set_first(&a->s->timers); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, timer, n);
        if (job->due_ns == INT64_MAX || job->state == GANG_JOB_ENDED)
            return GANG__AUDIT_BAD(a, "timers", "nothing of job %" PRIu64 " is due", job->id);
        if (before && before->due_ns > job->due_ns)
            return GANG__AUDIT_BAD(a, "timers", "job %" PRIu64 " is out of order", job->id);
        before = job;
    }
    return GANG_OK;
}

gang_result gang_sched_check(gang_sched *sched, struct gang_error *error)
{
    if (!sched)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler");
    struct gang__audit a = {.s = sched, .error = error};
    uint32_t queues = sched->queues->count;
    gang__victims_sort(sched);
    a.sum = gang__zalloc(&sched->mem, queues + 1, sizeof(*a.sum));
    if (!a.sum)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang_result r = gang__audit_jobs(&a);
    for (uint32_t i = 0; r == GANG_OK && i < queues; i++)
        r = gang__audit_queue(&a, sched->qs[i]);
    if (r == GANG_OK)
        r = gang__audit_queue(&a, &sched->root);
    if (r == GANG_OK && a.listed_victims != 0)
        r = GANG__AUDIT_BAD(&a, "victims", "more or fewer gangs are listed as victims than run");
    if (r == GANG_OK)
        r = gang__audit_arrays(&a);
    if (r == GANG_OK)
        r = check_blocked(&a);
    if (r == GANG_OK)
        r = check_timers(&a);
    if (r == GANG_OK)
        r = gang__multifactor_check(sched, error);
    if (r == GANG_OK)
        r = gang__budgets_check(sched, error);
    if (r == GANG_OK)
        r = gang__gangs_check(sched, error);
    if (r == GANG_OK)
        r = gang__backfill_check(sched, error);
    if (r == GANG_OK)
        r = gang__candidates_check(sched, error);
    if (r == GANG_OK)
        r = gang__slice_check(sched, error);
    if (r == GANG_OK)
        r = gang__reserve_check(sched, error);
    gang__release(&sched->mem, a.by_group);
    gang__release(&sched->mem, a.sum);
    return r;
}
