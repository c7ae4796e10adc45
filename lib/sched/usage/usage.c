/* SPDX-License-Identifier: Apache-2.0 */
/* Usage and demand of each queue, updated at every change, so that no part ever sums them up.
 *
 * A gang counts in its leaf and in every queue above. Its *usage* is what its running tasks take:
 * tasks that were asked to stop no longer count (but for limits: held.c), tasks that are about to
 * start do, and so do lost tasks that may still run, while they keep their places. Its *demand* is
 * what it lacks, while it may be tried. The part of its usage that preemption never takes is also
 * *fixed*. */
#include "place/request/request.h"
#include "sched/record/state.h"
#include "sched/usage/usage_in.h"
#include "sched/wake/wake.h"

/* What runs and what is fenced, at most. */
static int64_t parallelism_of(const struct gang__gang *g)
{
    int64_t min = gang__gang_request(g)->min, at_once = g->job->options->parallelism;
    return at_once == 0 ? INT64_MAX : at_once > min ? at_once : min;
}

/* What a group lacks of its own minimum. */
static int64_t lacks_of_minimum(const struct gang__gang *g, uint32_t group)
{
    int64_t lacks = gang__gang_request(g)->group[group].min - g->has[group] - g->done[group];
    return lacks > 0 ? lacks : 0;
}

static int64_t lacks_of_minima(const struct gang__gang *g)
{
    int64_t sum = 0;
    for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++)
        sum += lacks_of_minimum(g, group);
    return sum;
}

/* A target is a maximum, but the minima of the groups are kept: one may have lost tasks while
 * another has more than its minimum. */
static int64_t to_come_all(const struct gang__gang *g)
{
    int64_t tasks = g->target - g->tasks - g->ended, of_minima = lacks_of_minima(g);
    tasks = tasks > of_minima ? tasks : of_minima;
    return tasks > 0 && !g->over ? tasks : 0;
}

int64_t gang__gang_lacks_all(const struct gang__gang *g)
{
    int64_t lacks = to_come_all(g), most = parallelism_of(g) - g->tasks - g->stop.fenced_tasks;
    return lacks < most ? lacks : most > 0 ? most : 0;
}

/* The minima come first. */
static struct gang__lacks divide(const struct gang__gang *g, int64_t total)
{
    int64_t minima = total ? lacks_of_minima(g) : 0; /* most gangs lack nothing */
    minima = minima < total ? minima : total;
    return (struct gang__lacks){minima, total - minima};
}

struct gang__lacks gang__gang_lacks_begin(const struct gang__gang *g)
{
    return divide(g, g->demands ? gang__gang_lacks_all(g) : 0);
}

int64_t gang__gang_lacks_next(const struct gang__gang *g, uint32_t group, struct gang__lacks *left)
{
    if (left->of_minima == 0 && left->beyond == 0)
        return 0;
    int64_t of_minimum = lacks_of_minimum(g, group);
    int64_t more =
        gang__gang_request(g)->group[group].count - g->has[group] - g->done[group] - of_minimum;
    of_minimum = of_minimum < left->of_minima ? of_minimum : left->of_minima;
    more = more < left->beyond ? more : left->beyond;
    more = more > 0 ? more : 0;
    left->of_minima -= of_minimum;
    left->beyond -= more;
    return of_minimum + more;
}

static int64_t lacks_of(const struct gang__gang *g, uint32_t group, int64_t total)
{
    struct gang__lacks left = divide(g, total);
    for (uint32_t before = 0; before < group; before++)
        (void)gang__gang_lacks_next(g, before, &left);
    return gang__gang_lacks_next(g, group, &left);
}

int64_t gang__gang_lacks(const struct gang__gang *g, uint32_t group)
{
    return lacks_of(g, group, gang__gang_lacks_all(g));
}

int64_t gang__gang_to_come(const struct gang__gang *g, uint32_t group)
{
    return lacks_of(g, group, to_come_all(g));
}

/* A target below the sum of all groups is demanded of the first groups, whatever runs of the
 * others. */
bool gang__gang_is_steady(const struct gang__gang *g)
{
    const gang_request *request = gang__gang_request(g);
    int64_t count = 0;
    for (uint32_t group = 0; group < request->group_count; group++)
        count += request->group[group].count;
    return request->group_count == 1 || (count == g->target && parallelism_of(g) >= count);
}

int64_t gang__gang_ended_for_min(const struct gang__gang *g, uint32_t group)
{
    return g->done[group] - (g->job->loss == GANG_LOSS_SHRINK ? g->failed[group] : 0);
}

/* Counts a group alone, whatever the gang as a whole needs beyond it. */
static int64_t fixed_of_group(const struct gang__gang *g, uint32_t group)
{
    int64_t min = gang__gang_request(g)->group[group].min - gang__gang_ended_for_min(g, group);
    min = min > 0 ? min : 0;
    return g->has[group] < min ? g->has[group] : min;
}

int64_t gang__gang_fixed_rest(const struct gang__gang *g)
{
    const gang_request *request = gang__gang_request(g);
    int64_t rest = request->min;
    if (g->job->preemptible != GANG_SEMI_PREEMPTIBLE)
        return 0;
    for (uint32_t group = 0; group < request->group_count; group++)
        rest -= gang__gang_ended_for_min(g, group) + fixed_of_group(g, group);
    return rest > 0 ? rest : 0;
}

int64_t gang__gang_fixed(const struct gang__gang *g, uint32_t group, int64_t *rest)
{
    if (g->job->preemptible == GANG_PREEMPTIBLE)
        return 0;
    if (g->job->preemptible == GANG_NOT_PREEMPTIBLE)
        return g->has[group];
    int64_t fixed = fixed_of_group(g, group), more = g->has[group] - fixed;
    more = more < *rest ? more : *rest;
    *rest -= more;
    return fixed + more;
}

bool gang__gang_is_fixed(const struct gang__gang *g, bool grows)
{
    return g->job->preemptible == GANG_NOT_PREEMPTIBLE ||
           (g->job->preemptible == GANG_SEMI_PREEMPTIBLE && !grows);
}

static void add(gang_sched *s, struct gang__queue_state *leaf, size_t which,
                const struct gang__request_class *request_class, uint32_t group, int64_t times)
{
    const struct gang__take *take = request_class->take + request_class->group[group].from;
    if (times == 0)
        return;
    uint32_t count = request_class->group[group].count;
    uint64_t changed = 0;
    for (uint32_t i = 0; i < count; i++)
        changed |= UINT64_C(1) << take[i].dim;
    for (struct gang__queue_state *q = leaf; q; q = q->parent) {
        int64_t *amount = which == 0 ? q->used : which == 1 ? q->fixed : q->demand;
        for (uint32_t i = 0; i < count; i++)
            amount[take[i].dim] += take[i].amount * times;
    }
    gang__wake_share_dims(s, leaf, changed);
}

/* Adds `times` what a task takes to amounts of a user, in the first `end` dimensions. */
static void add_amounts(int64_t *amount, uint32_t end, const struct gang__take *take,
                        uint32_t count, int64_t times)
{
    for (uint32_t i = 0; i < count; i++)
        if (take[i].dim < end)
            amount[take[i].dim] += take[i].amount * times;
}

/* Adds `times` a task of the group to what its user uses. `tentative`: also to what the user gave
 * up to a trial. */
static void add_to_user(const gang_sched *s, const struct gang__gang *g, uint32_t group,
                        int64_t times, bool tentative)
{
    const struct gang__queue_state *leaf = g->job->leaf;
    struct gang__user *user = g->job->leaf_user;
    uint32_t count;
    const struct gang__take *take =
        gang__request_class_takes(g->request_class, (int32_t)group, &count);
    if (user && leaf->users.count > 0 && times)
        add_amounts(user->used, s->dims, take, count, times);
    if (tentative && user && user->tentative && leaf->q->within == GANG_PREEMPT_USER_LIMIT)
        add_amounts(user->tentative, GANG_MAX_KINDS, take, count, -times);
}

void gang__usage_shift_queues(gang_sched *s, struct gang__queue_state *leaf,
                              const struct gang__request_class *request_class, uint32_t group,
                              int64_t times)
{
    add(s, leaf, 0, request_class, group, times);
}

void gang__usage_shift(gang_sched *s, const struct gang__gang *g, uint32_t group, int64_t times)
{
    add(s, g->job->leaf, 0, g->request_class, group, times);
    add_to_user(s, g, group, times, true);
}

void gang__usage_shift_user(gang_sched *s, const struct gang__gang *g, uint32_t group,
                            int64_t times)
{
    add_to_user(s, g, group, times, true);
}

static void promise_tasks(gang_sched *s, struct gang__gang *g, uint32_t group, bool fixed,
                          int64_t times)
{
    uint32_t count;
    const struct gang__take *take =
        gang__request_class_takes(g->request_class, (int32_t)group, &count);
    add(s, g->job->leaf, 0, g->request_class, group, times);
    if (fixed)
        add(s, g->job->leaf, 1, g->request_class, group, times);
    if (g->job->leaf->q->budgeted)
        gang__budget_promise(s, g, take, count, times);
    if (g->job->leaf_user)
        gang__user_advance(s, g->job->leaf, g->job->leaf_user);
    add_to_user(s, g, group, times, false);
}

void gang__usage_promise(gang_sched *s, struct gang__gang *g, const struct gang_placement *places,
                         int64_t count, bool grows, int64_t sign)
{
    bool fixed = gang__gang_is_fixed(g, grows);
    for (int64_t i = 0, first = 0; i < count; first = i) { /* a run of tasks of one group */
        while (i < count && places[i].group == places[first].group)
            i++;
        promise_tasks(s, g, (uint32_t)places[first].group, fixed, sign * (i - first));
    }
}

static void count_usage(gang_sched *s, struct gang__gang *g, int64_t sign)
{
    struct gang__queue_state *leaf = g->job->leaf;
    const struct gang__request_class *request_class = g->request_class;
    const gang_request *request = request_class->request;
    int64_t rest = gang__gang_fixed_rest(g);
    struct gang__lacks left = gang__gang_lacks_begin(g);
    struct gang__user *user = g->job->leaf_user;
    gang__wake_queue(s, leaf);
    if (user)
        gang__user_advance(s, leaf, user);
    if (gang__demand_is_bounded(g))
        gang__demand_count(g, sign);
    if (s->usage.bounded > 0) /* what is fixed decides which of their demand counts */
        gang__wake_shares(s);
    if (g->tasks == 0 && left.of_minima + left.beyond == 0 &&
        g->stop.fenced_tasks == 0) /* its queues count nothing of it */
        return;
    if (leaf->q->budgeted)
        gang__budget_count(s, g, sign);
    for (uint32_t group = 0; group < request->group_count; group++) {
        int64_t kept = gang__gang_fixed(g, group, &rest);
        int64_t lacks = gang__gang_lacks_next(g, group, &left);
        add(s, leaf, 0, request_class, group, sign * (g->has[group] + g->stop.fenced[group]));
        add(s, leaf, 1, request_class, group, sign * kept);
        add(s, leaf, 2, request_class, group, sign * lacks);
        add_to_user(s, g, group, sign * (g->has[group] + g->stop.fenced[group]), false);
    }
    for (struct gang__queue_state *at = leaf; at; at = at->parent)
        at->tasks += sign * g->tasks;
}

/* The gang's dominant share of the cluster, in millionths: that of the kind where it takes most. */
static int64_t dominant_part(const gang_sched *s, const struct gang__gang *g)
{
    int64_t most = 0;
    for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++)
        for (uint32_t i = 0; i < g->request_class->group[group].count; i++) {
            const struct gang__take *t =
                &g->request_class->take[g->request_class->group[group].from + i];
            int64_t part = s->total[t->dim] > 0 ? gang__mul_div(t->amount * g->has[group],
                                                                GANG_WHOLE, s->total[t->dim])
                                                : 0;
            most = part > most ? part : most;
        }
    return most;
}

/* Adds the gang's service since the last call to job->served, for orders by service. The caller
 * calls it before each change of what the gang has. */
static void note_service(const gang_sched *s, struct gang__gang *g)
{
    int64_t ran = s->now_ns - g->started_ns - gang__job_paused(s, g->job), since = g->served_ns;
    if (ran <= since || !gang__slice_has_run(g))
        return;
    g->served_ns = ran;
    g->job->served =
        gang__add_sat(g->job->served, gang__mul_div(dominant_part(s, g), ran - since, 1));
}

void gang__usage_out(gang_sched *s, struct gang__gang *g)
{
    if (g->tasks > 0)
        note_service(s, g);
    count_usage(s, g, -1);
}

void gang__usage_in(gang_sched *s, struct gang__gang *g)
{
    count_usage(s, g, 1);
    gang__victims_settle_elastic(g);
    gang__wake_holding(s, g);
}

static void set_tasks(struct gang__gang *g, const int64_t *has)
{
    g->tasks = 0;
    for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++)
        g->tasks += g->has[group] = has[group];
}

/* Do the queues count no more of the gang than what one group runs and lacks? */
static bool counts_simply(const gang_sched *s, const struct gang__gang *g)
{
    return gang__gang_request(g)->group_count == 1 && g->stop.fenced_tasks == 0 &&
           g->job->preemptible == GANG_PREEMPTIBLE && !g->job->leaf_user &&
           !g->job->leaf->q->budgeted && s->usage.bounded == 0 && !gang__demand_is_bounded(g);
}

/* Tasks of its group more that run, and that the gang demands: its queues change once. */
static void shift_simply(gang_sched *s, struct gang__gang *g, int64_t runs, int64_t demands)
{
    const struct gang__request_class *request_class = g->request_class;
    const struct gang__take *take = request_class->take + request_class->group[0].from;
    uint32_t count = request_class->group[0].count;
    uint64_t changed = 0;
    for (struct gang__queue_state *q = g->job->leaf; q; q = q->parent) {
        for (uint32_t i = 0; i < count; i++) {
            q->used[take[i].dim] += take[i].amount * runs;
            q->demand[take[i].dim] += take[i].amount * demands;
            changed |= UINT64_C(1) << take[i].dim;
        }
        q->tasks += runs;
    }
    gang__wake_queue(s, g->job->leaf);
    gang__wake_share_dims(s, g->job->leaf, changed);
    gang__victims_settle_elastic(g);
    gang__wake_holding(s, g);
}

static int64_t demanded_simply(const struct gang__gang *g)
{
    return g->demands ? gang__gang_lacks(g, 0) : 0;
}

void gang__usage_start(gang_sched *s, struct gang__gang *g, const int64_t *has)
{
    if (!counts_simply(s, g)) {
        gang__usage_out(s, g);
        set_tasks(g, has);
        gang__usage_in(s, g);
        return;
    }
    int64_t before = demanded_simply(g);
    set_tasks(g, has);
    shift_simply(s, g, has[0], demanded_simply(g) - before);
}

void gang__usage_demand(gang_sched *s, struct gang__gang *g, bool demands)
{
    if (!counts_simply(s, g)) {
        gang__usage_out(s, g);
        g->demands = demands;
        gang__usage_in(s, g);
        return;
    }
    int64_t before = demanded_simply(g);
    g->demands = demands;
    shift_simply(s, g, 0, demanded_simply(g) - before);
}

void gang__usage_charge_handover(gang_sched *s, struct gang__handover *handover, int64_t sign)
{
    gang__usage_promise(s, handover->taker, handover->places, handover->place_count,
                        handover->grow_group >= 0, sign);
}

void gang__usage_charge_move(gang_sched *s, const struct gang__stop *stop, int64_t sign)
{
    gang__usage_promise(s, stop->gang, stop->to, stop->to_count, stop->tasks != NULL, sign);
}

const struct gang__take *gang__gang_next_demand(const struct gang__gang *g, uint32_t *count)
{
    if (g->alloc == GANG_ID_NONE)
        return gang__gang_takes(g, count);
    const gang_request *request = gang__gang_request(g);
    uint32_t group = 0;
    while (group + 1 < request->group_count && gang__gang_lacks(g, group) == 0)
        group++;
    return gang__request_class_takes(g->request_class, (int32_t)group, count);
}
