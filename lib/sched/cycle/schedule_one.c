/* SPDX-License-Identifier: Apache-2.0 */
/* Granting: what a unit must pass before it gets its gang or one task more, the allocation, and
 * the host's word. */
#include <string.h>

#include "place/request/request.h"
#include "queue/user_limit.h"
#include "sched/backfill/backfill.h"
#include "sched/calendar/calendar.h"
#include "sched/cycle/cycle.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/bypass.h"
#include "sched/order/wait_order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/cells.h"
#include "sched/usage/usage.h"

/* ---- gates ----------------------------------------------------------------------------------- */

static struct gang__queue_state *too_many_run(struct gang__gang *u, int32_t *why)
{
    *why = GANG_WAIT_MAX_RUNNING;
    if (u->job->counted_running)
        return NULL;
    for (struct gang__queue_state *q = u->job->leaf; q->parent; q = q->parent)
        if (q->running + q->coming >= q->q->max_running)
            return q;
    const struct gang__user *user = u->job->user_in;
    if (user && user->running + user->coming >= u->job->leaf->q->max_running_per_user)
        return u->job->leaf;
    return NULL;
}

/* YARN's user limit, over all kinds, with the whole gang. */
bool gang__user_limits(gang_sched *s, const struct gang__gang *u, const int64_t *gang,
                       int64_t *limit)
{
    const struct gang__queue_state *leaf = u->job->leaf;
    const struct gang__user *user = u->job->user_in;
    int64_t dominant[GANG_MAX_KINDS] = {0}, active[GANG_MAX_KINDS] = {0}, weights = 0;
    uint32_t kinds = 0;
    if (!user || (!leaf->q->user_limit_percent && !leaf->q->user_limit_factor_milli))
        return false;
    uint32_t count = gang__load(&s->cluster->kind_count);
    for (uint32_t k = 0; k < count; k++)
        kinds |= leaf->guarantee[k] != GANG__NO_BOUND && !s->excluded[k] ? UINT32_C(1) << k : 0;
    for (size_t b = 0; b < leaf->users.room; b++)
        for (struct gang__hash_link *n = leaf->users.bucket[b]; n; n = n->next) {
            const struct gang__user *other = GANG__OF(struct gang__user, link, n);
            gang__user_limit_add(dominant, other->used, s->total, kinds);
            if (other->waiting == 0)
                continue;
            weights += other->weight;
            for (uint32_t k = 0; k < count; k++)
                active[k] += other->used[k];
        }
    /* Each has an nth of the queue in any case, whatever the others have taken of theirs. */
    for (uint32_t k = 0; k < count && weights > 0; k++) {
        int64_t nth = leaf->guarantee[k] - gang__mul_div(gang[k], weights, user->weight);
        if (leaf->guarantee[k] != GANG__NO_BOUND && nth > active[k])
            active[k] = nth;
    }
    int64_t percent = leaf->q->user_limit_percent ? leaf->q->user_limit_percent : 100;
    int64_t factor =
        leaf->q->user_limit_factor_milli ? leaf->q->user_limit_factor_milli * 1000 : -1;
    struct gang__user_limit in = {kinds,
                                  leaf->guarantee,
                                  leaf->limit,
                                  s->total,
                                  gang,
                                  dominant,
                                  active,
                                  weights,
                                  percent * (GANG_WHOLE / 100),
                                  factor,
                                  user->weight};
    gang__user_limit(&in, limit);
    return !gang__within(user->used, gang, limit, kinds);
}

static bool beyond_user_limit(gang_sched *s, const struct gang__gang *u,
                              const struct gang__take *take, uint32_t count)
{
    int64_t gang[GANG_MAX_KINDS] = {0}, limit[GANG_MAX_KINDS];
    for (uint32_t i = 0; i < count; i++)
        if (take[i].dim < GANG_MAX_KINDS && !s->queues->dim[take[i].dim].partition)
            gang[take[i].dim] = take[i].amount;
    return gang__user_limits(s, u, gang, limit);
}

/* What so many tasks of each group take together. */
static uint32_t sum_up(const gang_sched *s, const struct gang__gang *u, const int64_t *tasks,
                       struct gang__take take[GANG__DIMS])
{
    int64_t sum[GANG__DIMS] = {0};
    uint32_t n = 0;
    for (uint32_t g = 0; g < gang__gang_request(u)->group_count; g++) {
        const struct gang__take *t = u->ask->take + u->ask->group[g].from;
        for (uint32_t i = 0; i < u->ask->group[g].count; i++)
            sum[t[i].dim] += t[i].amount * tasks[g];
    }
    for (uint32_t d = 0; d < s->dims; d++)
        if (sum[d])
            take[n++] = (struct gang__take){d, sum[d]};
    return n;
}

uint32_t gang__gang_resumes_with(gang_sched *s, const struct gang__gang *u,
                                 struct gang__take take[GANG__DIMS])
{
    memset(s->by_group, 0, gang__gang_request(u)->group_count * sizeof(*s->by_group));
    for (int64_t i = 0; i < u->place_count; i++)
        s->by_group[u->places[i].group]++;
    return sum_up(s, u, s->by_group, take);
}

/* Which queue forbids it; NULL: none. */
static struct gang__queue_state *refuses(gang_sched *s, struct gang__gang *u,
                                         const struct gang__take *take, uint32_t count, bool fixed,
                                         uint32_t *dim, int32_t *why)
{
    struct gang__queue_state *by = too_many_run(u, why);
    if (!by)
        by = gang__usage_refuse(s, u->job->leaf, take, count, fixed, dim, why);
    if (!by && u->job->user_in && beyond_user_limit(s, u, take, count)) {
        *why = GANG_WAIT_USER_LIMIT;
        by = u->job->leaf;
    }
    return by;
}

/* May it, as far as queues are concerned? Else its bin is blocked. */
static bool pass(gang_sched *s, struct gang__gang *u, const struct gang__take *take, uint32_t count)
{
    uint32_t dim = 0;
    int32_t why = 0;
    struct gang__queue_state *by = refuses(s, u, take, count, u->bin->fixed, &dim, &why);
    if (by)
        gang__order_block(s, u->bin, why, by, dim);
    return !by;
}

bool gang__start_may(gang_sched *s, struct gang__gang *u, int32_t grow_group, int64_t times)
{
    uint32_t dim = 0;
    int32_t why = 0;
    struct gang__take take[GANG__DIMS];
    bool fixed = gang__gang_is_fixed(u, grow_group >= 0);
    uint32_t count =
        u->places ? gang__gang_resumes_with(s, u, take)
                  : gang__class_takes_times(u->ask, grow_group, grow_group < 0 ? 1 : times, take);
    return !refuses(s, u, take, count, fixed, &dim, &why);
}

/* ---- the host -------------------------------------------------------------------------------- */

struct gang_event gang__event_of(const gang_sched *s, const struct gang__gang *u, int32_t reason,
                                 const char *text)
{
    const struct gang__job *job = u->job;
    struct gang_event e;
    memset(&e, 0, sizeof(e));
    e.size = sizeof(e);
    e.job = job->id;
    e.cookie = job->cookie;
    e.alloc = u->alloc;
    e.gang = (int32_t)u->part;
    e.state = job->state;
    e.end = job->end;
    e.reason = reason;
    e.now_ns = s->now_ns;
    e.text = text;
    return e;
}

/* ---- a gang ---------------------------------------------------------------------------------- */

static int32_t count_task(const struct gang_task *task, void *user)
{
    int64_t *has = user;
    has[task->group]++;
    return 0;
}

bool gang__gang_count(gang_sched *s, struct gang__gang *u)
{
    uint32_t groups = gang__gang_request(u)->group_count;
    memset(u->has, 0, groups * sizeof(*u->has));
    u->tasks = 0;
    if (gang_alloc_each(s->cluster, u->alloc, count_task, u->has) != GANG_OK)
        return false;
    for (uint32_t g = 0; g < groups; g++)
        u->tasks += u->has[g];
    return true;
}

/* What its user has is less or more. */
static void note_user(gang_sched *s, const struct gang__job *job)
{
    if (job->user_in)
        gang__order_user(s, job->leaf, job->user_in);
}

void gang__start_undo(gang_sched *s, struct gang__gang *u, int64_t not_before_ns)
{
    struct gang__job *job = u->job;
    gang__order_leave(s, u); /* it may wait to grow already: another gang of the job runs */
    gang__usage_out(s, u);
    memset(u->has, 0, gang__gang_request(u)->group_count * sizeof(*u->has));
    u->tasks = 0;
    gang__usage_in(s, u);
    gang__victims_leave(u);
    gang__slice_forsake(s, u);
    gang__slice_quiet(s, u->alloc);
    gang__give_surely(s, NULL, u->alloc, NULL, 0);
    u->alloc = GANG_ID_NONE;
    gang__calendar_touch(s, u);
    job->not_before_ns = not_before_ns;
    gang__job_count(s, job);
    gang__job_state(s, job, GANG_REASON_NONE, "waits again");
    note_user(s, job);
    gang__freed(s);
    gang__eased(s, job->leaf);
    gang__job_settle(s, job);
}

bool gang__start_done(gang_sched *s, struct gang__gang *u, gang_alloc_id alloc, int32_t reason)
{
    struct gang__job *job = u->job;
    bool resumes = u->places != NULL;
    gang__order_leave(s, u);
    gang__bypass_over(u);
    gang__usage_out(s, u);
    u->alloc = alloc;
    if (u->ask->exact) {
        u->tasks = 0;
        for (uint32_t g = 0; g < gang__gang_request(u)->group_count; g++)
            u->tasks += u->has[g] = u->ask->gang_of[g];
    }
    if (!u->ask->exact || resumes)
        gang__gang_count(s, u);
    u->started_ns = s->now_ns;
    u->served_ns = 0;
    if (reason != GANG_REASON_NONE) /* nobody asked the plans */
        gang__calendar_upset(s);
    gang__usage_in(s, u);
    s->shares_stale = s->shares_stale || !gang__gang_is_steady(u);
    gang__victims_enter(s, u);
    gang__job_count(s, job);
    note_user(s, job);
    s->changes++;
    if (!u->sliced)
        return gang__start_tell(s, u, reason);
    job->ready_ns = -1;
    gang__bypass_passed(s, u);
    gang__job_settle(s, job);
    return true;
}

bool gang__start_tell(gang_sched *s, struct gang__gang *u, int32_t reason)
{
    struct gang__job *job = u->job;
    bool resumes = u->places != NULL;
    struct gang_event e = gang__event_of(s, u, reason, resumes ? "resumed" : "started");
    e.state = GANG_JOB_RUNNING;
    int32_t (*op)(const struct gang_event *, void *) = resumes ? s->ops.resume : s->ops.start;
    if (op && op(&e, s->user) != 0) {
        gang__log(s, 0, "the host refused to start job %llu", (unsigned long long)job->id);
        gang__start_undo(s, u, s->now_ns + s->opts.refused_ns);
        return false;
    }
    gang__release(&s->mem, u->places);
    u->places = NULL;
    u->begun = true;
    job->back_off_now = job->back_off_ns;
    job->ready_ns = -1;
    if (job->state != GANG_JOB_RUNNING) { /* not with another gang of it */
        gang__time_limit_begin(s, job);
        job->paused_ns = 0;
        job->paused = false;
    }
    u->started_ns = s->now_ns;
    u->served_ns = 0;
    s->info.started++;
    s->info.tasks_granted += u->tasks;
    if (!u->sliced)
        gang__bypass_passed(s, u);
    gang__reports_started(s, u);
    gang__job_state(s, job, reason, "started");
    gang__job_settle(s, job);
    gang__job_wake(s, job);
    if (resumes)
        gang__reports_trim(s, u);
    return true;
}

/* After a placement of groups that nobody could foretell: is it inside the limits? */
static bool check_after(gang_sched *s, struct gang__gang *u, gang_alloc_id alloc)
{
    uint32_t groups = gang__gang_request(u)->group_count, dim;
    struct gang__take take[GANG__DIMS];
    int32_t why;
    memset(s->by_group, 0, groups * sizeof(*s->by_group));
    if (gang_alloc_each(s->cluster, alloc, count_task, s->by_group) != GANG_OK)
        return false;
    uint32_t n = sum_up(s, u, s->by_group, take);
    struct gang__queue_state *by =
        gang__usage_refuse(s, u->job->leaf, take, n, u->bin->fixed, &dim, &why);
    if (by) {
        gang__give_surely(s, NULL, alloc, NULL, 0);
        gang__calendar_touch(s, u);
        gang__order_block(s, u->bin, why, by, dim);
    }
    return !by;
}

/* Place it away from nodes: those where it failed, and those kept whole for others. */
static gang_result alloc_away(gang_sched *s, struct gang__gang *u, gang_alloc_id *id)
{
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return GANG_ENOMEM;
    for (size_t i = 0; i < u->job->bad_count; i++)
        (void)!gang_snapshot_set_state(s->scratch, u->job->bad[i], GANG_NODE_DOWN);
    gang_result r = gang__bypass_keep(s, u, s->scratch);
    if (r == GANG_OK)
        r = gang__cells_keep(s, u, s->scratch);
    if (r == GANG_OK)
        r = gang__snapshot_place_told(s->worker, s->scratch, u->ask->q, &s->told);
    if (r == GANG_OK)
        r = gang_alloc_adopt(s->worker, u->ask->q, s->told.place, (int64_t)s->told.count, id, NULL);
    return r;
}

gang_result gang__places_up(gang_sched *s, const struct gang_placement *place, int64_t count)
{
    gang_result r = GANG_OK;
    for (int64_t i = 0; i < count; i++) {
        struct gang_node_info info = {.size = sizeof(info)};
        if (gang_node_get(s->cluster, place[i].node, &info) != GANG_OK)
            return GANG_ESTALE;
        if (info.state != GANG_NODE_UP)
            r = GANG_ENOFIT;
    }
    return r;
}

/* It was suspended: there, or nowhere, unless its places are not what they were. */
static gang_result alloc_again(gang_sched *s, struct gang__gang *u, gang_alloc_id *id)
{
    gang_result r = gang__places_up(s, u->places, u->place_count);
    if (r == GANG_OK)
        r = gang_alloc_adopt(s->worker, u->ask->q, u->places, u->place_count, id, NULL);
    if (r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENOMEM || r == GANG_EBUSY)
        return r;
    gang__log(s, 0, "the places where job %llu was suspended are gone: it starts anew",
              (unsigned long long)u->job->id);
    gang__order_leave(s, u);
    gang__release(&s->mem, u->places);
    u->places = NULL;
    gang__reports_again(s, u);
    gang__job_state(s, u->job, GANG_REASON_NONE, "its places are gone");
    gang__job_settle(s, u->job);
    return GANG_ESTALE;
}

gang_result gang__alloc_gang(gang_sched *s, struct gang__gang *u, gang_alloc_id *id, int32_t *why)
{
    gang_result r = GANG_ENOFIT;
    *why = GANG_WAIT_CAPACITY;
    bool cells = gang__cells_concern(s, u), yields = gang__bypass_concerns(s, u) != NULL;
    if (u->places) {
        bool on = yields && gang__bypass_on(s, u);
        *why = on ? GANG_WAIT_STARVED : GANG_WAIT_CAPACITY;
        return on ? GANG_ENOFIT : alloc_again(s, u, id);
    }
    if (gang__slice_concerns(u)) {
        *why = yields                    ? GANG_WAIT_STARVED
               : cells                   ? GANG_WAIT_CELLS
               : gang__calendar_binds(s) ? GANG_WAIT_PLANNED
                                         : GANG_WAIT_CAPACITY;
        return gang__slice_alloc(s, u, id);
    }
    if (cells || yields || u->job->bad_count) {
        r = alloc_away(s, u, id);
        *why = yields ? GANG_WAIT_STARVED : cells ? GANG_WAIT_CELLS : GANG_WAIT_CAPACITY;
        if (r == GANG_OK || cells || yields)
            return r;
    }
    /* Who was planned waits for what is taken now: mostly the sums say so, which is sooner. */
    if (gang__backfill_refuses(s, u))
        return GANG_ENOFIT;
    return gang_alloc(s->worker, u->ask->q, id, NULL);
}

/* Is it for others that ask for the same as it is for this one? Not where queues have domains of
 * their own, where the host scores nodes and may refuse them, and when each is to have room made
 * for it. */
static bool holds_for_all(const gang_sched *s, const struct gang__gang *u)
{
    return !s->making_room && !gang__calendar_on(s) && !s->queues->slices && !u->places &&
           !s->queues->cells && u->ask->q->policy != GANG_POLICY_HOST && !s->starved;
}

static bool try_start(gang_sched *s, struct gang__gang *u)
{
    gang_alloc_id id;
    int32_t why;
    bool resumes = u->places != NULL;
    struct gang__take take[GANG__DIMS];
    uint32_t count = resumes ? gang__gang_resumes_with(s, u, take) : u->ask->gang_count;
    if (gang__backfill_defer(s, u))
        return false;
    if (!pass(s, u, resumes ? take : u->ask->gang, count)) {
        gang__calendar_unplan(s, u);
        return false;
    }
    bool asks = gang__calendar_on(s) && !gang__slice_concerns(u);
    gang_result r =
        asks ? gang__backfill_alloc(s, u, &id, &why) : gang__alloc_gang(s, u, &id, &why);
    if (resumes && !u->places)
        return false; /* it is where it belongs already */
    if (r == GANG_OK) {
        bool done = (u->ask->exact || resumes || check_after(s, u, id)) &&
                    gang__start_done(s, u, id, GANG_REASON_NONE);
        gang__backfill_over(s);
        return done;
    }
    if (r == GANG_ENOFIT || r == GANG_ENEVER) {
        bool alike = holds_for_all(s, u);
        gang__order_block(s, u->bin, why, NULL, 0);
        if (alike)
            gang__order_block_alike(s, u->ask);
        return false;
    }
    if (r == GANG_ENOMEM)
        s->no_memory = true;
    s->retry = true;
    gang__order_block(s, u->bin, GANG_WAIT_NOT_TRIED, NULL, 0);
    return false;
}

/* ---- one task more --------------------------------------------------------------------------- */

bool gang__grow_done(gang_sched *s, struct gang__gang *u, const int64_t *tasks, size_t count,
                     const int64_t *by_group)
{
    uint32_t groups = gang__gang_request(u)->group_count;
    gang__order_leave(s, u);
    gang__usage_out(s, u);
    for (uint32_t g = 0; g < groups; g++) {
        u->has[g] += by_group[g];
        u->tasks += by_group[g];
    }
    gang__usage_in(s, u);
    s->shares_stale = s->shares_stale || !gang__gang_is_steady(u);
    note_user(s, u->job);
    s->changes++;
    /* With more of its first groups less of the others is protected: that may be what others wait for. */
    if (groups > 1 && u->job->preemptible == GANG_SEMI_PREEMPTIBLE)
        gang__eased(s, u->job->leaf);
    struct gang_event e = gang__event_of(s, u, GANG_REASON_NONE, "more tasks");
    e.tasks = tasks;
    e.task_count = count;
    if (s->ops.grow && s->ops.grow(&e, s->user) != 0) {
        gang__usage_out(s, u);
        for (uint32_t g = 0; g < groups; g++) {
            u->has[g] -= by_group[g];
            u->tasks -= by_group[g];
        }
        gang__usage_in(s, u);
        note_user(s, u->job);
        gang__give_surely(s, u, u->alloc, tasks, count);
        gang__log(s, 0, "the host refused more tasks of job %llu", (unsigned long long)u->job->id);
        u->job->not_before_ns = s->now_ns + s->opts.refused_ns;
        gang__freed(s);
        gang__eased(s, u->job->leaf);
        gang__job_settle(s, u->job);
        return false;
    }
    s->info.tasks_granted += (int64_t)count;
    gang__reports_short(s, u);
    gang__job_settle(s, u->job);
    return true;
}

/* How many tasks of the group come together: one, a slice, or what is missing of its minimum. */
int64_t gang__gang_step(const struct gang__gang *u, uint32_t group)
{
    const struct gang__group *g = &gang__gang_request(u)->group[group];
    int64_t below = g->min - u->has[group] - u->done[group], step = below > 1 ? below : 1;
    if (g->slice)
        step = (step + g->slice - 1) / g->slice * g->slice;
    return step;
}

uint32_t gang__next_number(gang_sched *s, gang_alloc_id id)
{
    struct gang__alloc *a;
    uint32_t number = 0;
    if (gang__alloc_read(s->cluster, id, &a) == GANG_OK) {
        number = a->next_number;
        gang__alloc_read_end(a);
    }
    return number;
}

/* Tasks that ended count: of a gang of four of which two are done, two are not to come again. */
static gang_result grow(gang_sched *s, struct gang__gang *u, uint32_t group, int64_t step,
                        int64_t *granted)
{
    gang_result r = gang__growth_ended(s->worker, u->done);
    if (r == GANG_OK && u->sliced)
        r = gang__slice_grow(s, u, group, step, granted);
    else if (r == GANG_OK)
        r = gang_alloc_grow(s->worker, u->alloc, (int32_t)group, step, granted, NULL);
    (void)!gang__growth_ended(s->worker, NULL);
    return r;
}

/* The groups in order; one that cannot grow does not keep the next from it. */
static bool try_group(gang_sched *s, struct gang__gang *u, uint32_t group, bool *last)
{
    int64_t step = gang__gang_step(u, group), granted = 0;
    struct gang__take take[GANG__DIMS];
    uint32_t count = gang__class_takes_times(u->ask, (int32_t)group, step, take);
    *last = true;
    if (!pass(s, u, take, count))
        return false;
    if (gang__bypass_before(s, u, take, count)) {
        gang__order_block(s, u->bin, GANG_WAIT_STARVED, NULL, 0);
        return false;
    }
    uint32_t first = gang__next_number(s, u->alloc);
    gang_result r = GANG_ENOMEM;
    if (gang__grow(&s->mem, (void **)&s->numbers, &s->number_room, (size_t)step,
                   sizeof(*s->numbers)))
        r = gang__reserve_binds(s, u) ? gang__reserve_grow(s, u, group, step, &granted)
                                      : grow(s, u, group, step, &granted);
    if (r == GANG_OK) {
        memset(s->by_group, 0, gang__gang_request(u)->group_count * sizeof(*s->by_group));
        s->by_group[group] = granted;
        for (int64_t i = 0; i < granted; i++)
            s->numbers[i] = (int64_t)first + i;
        return gang__grow_done(s, u, s->numbers, (size_t)granted, s->by_group);
    }
    /* Out of range: tasks of it that were asked to stop still hold their places. Room comes when
     * they go. */
    *last = r != GANG_ENOFIT && r != GANG_ENEVER && r != GANG_ERANGE;
    if (*last) { /* nothing is known about the room there is: the next run tries again */
        if (r == GANG_ENOMEM)
            s->no_memory = true;
        s->retry = true;
        gang__order_block(s, u->bin, GANG_WAIT_NOT_TRIED, NULL, 0);
    }
    return false;
}

static bool try_grow(gang_sched *s, struct gang__gang *u)
{
    if (!u->sliced && !gang__backfill_may_grow(s, u)) {
        gang__order_block(s, u->bin, GANG_WAIT_PLANNED, NULL, 0);
        return false;
    }
    for (uint32_t g = 0; g < gang__gang_request(u)->group_count; g++) {
        bool last = false;
        if (gang__gang_lacks(u, g) == 0)
            continue;
        if (try_group(s, u, g, &last))
            return true;
        if (last)
            return false; /* it is blocked, or out of turn */
    }
    if (u->bin)
        gang__order_block(s, u->bin, GANG_WAIT_CAPACITY, NULL, 0);
    return false;
}

bool gang__start_try(gang_sched *s, struct gang__gang *u)
{
    if (!gang__class_refresh(s, u->ask)) {
        s->no_memory = s->retry = true;
        gang__order_block(s, u->bin, GANG_WAIT_NOT_TRIED, NULL, 0);
        return false;
    }
    return u->alloc == GANG_ID_NONE ? try_start(s, u) : try_grow(s, u);
}
