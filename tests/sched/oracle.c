/* SPDX-License-Identifier: Apache-2.0 */
/* See oracle.h. The numbers of the rules are those of the list in the file format of scenarios. */
#include "oracle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints what it does (GANG_TEST_TRACE), beside what the library did. */
static void trace(const char *what, int job, int taker)
{
    if (getenv("GANG_TEST_TRACE"))
        printf(taker < 0 ? "  naive: %s job %d\n" : "  naive: %s job %d for %d\n", what, job,
               taker);
}

/* ---- sums ---- */

int64_t oracle_tasks(const struct oracle_job *job, int group)
{
    int64_t sum = 0;
    for (int n = 0; n < ORACLE_NODES; n++)
        sum += job->on[group][n];
    return sum;
}

static bool runs(const struct oracle_job *job)
{
    return oracle_tasks(job, 0) + oracle_tasks(job, 1) > 0;
}

static bool is_in(const struct oracle *o, int queue, int ancestor)
{
    for (; queue >= 0; queue = o->queue[queue].parent)
        if (queue == ancestor)
            return true;
    return false;
}

static int64_t used_by(const struct oracle_job *job, int kind)
{
    int64_t sum = 0;
    for (int g = 0; g < job->groups; g++)
        sum += oracle_tasks(job, g) * job->need[g][kind];
    return sum;
}

static int64_t used(const struct oracle *o, int queue, int kind)
{
    int64_t sum = 0;
    for (int j = 0; j < o->jobs; j++)
        if (is_in(o, o->job[j].queue, queue))
            sum += used_by(&o->job[j], kind);
    return sum;
}

/* By work that no job may preempt. */
static int64_t used_nonpreemptible(const struct oracle *o, int queue, int kind)
{
    int64_t sum = 0;
    for (int j = 0; j < o->jobs; j++) {
        const struct oracle_job *job = &o->job[j];
        if (!is_in(o, job->queue, queue) || job->preemptible == ORACLE_PREEMPTIBLE || !runs(job))
            continue;
        for (int g = 0; g < job->groups; g++)
            sum += job->need[g][kind] *
                   (job->preemptible == ORACLE_SEMI ? job->min[g] : oracle_tasks(job, g));
    }
    return sum;
}

static int64_t free_on(const struct oracle *o, int node, int kind)
{
    int64_t unused = o->capacity[node][kind];
    for (int j = 0; j < o->jobs; j++)
        for (int g = 0; g < o->job[j].groups; g++)
            unused -= o->job[j].on[g][node] * o->job[j].need[g][kind];
    return unused;
}

/* ---- what a job would take next ---- */

/* One that waits wants its gang, one that runs wants one task more. */
static void next_tasks(const struct oracle_job *job, int64_t tasks[ORACLE_GROUPS])
{
    for (int g = 0; g < ORACLE_GROUPS; g++)
        tasks[g] = g < job->groups && !runs(job) ? job->min[g] : 0;
    for (int g = 0; g < job->groups && runs(job); g++)
        if (oracle_tasks(job, g) < job->count[g]) {
            tasks[g] = 1;
            return;
        }
}

static int64_t next_need(const struct oracle_job *job, int kind)
{
    int64_t tasks[ORACLE_GROUPS], sum = 0;
    next_tasks(job, tasks);
    for (int g = 0; g < job->groups; g++)
        sum += tasks[g] * job->need[g][kind];
    return sum;
}

/* ---- demand ---- */

static bool starts_fixed(const struct oracle_job *job)
{
    return job->preemptible == ORACLE_FIXED || (job->preemptible == ORACLE_SEMI && !runs(job));
}

/* With the job, would the non-preemptible work of the queue exceed the guarantee? */
static bool is_above_guarantee(const struct oracle *o, int q, const struct oracle_job *job)
{
    for (int k = 0; k < ORACLE_KINDS && starts_fixed(job); k++)
        if (next_need(job, k) && o->queue[q].guarantee[k] >= 0 &&
            used_nonpreemptible(o, q, k) + next_need(job, k) > o->queue[q].guarantee[k])
            return true;
    return false;
}

/* Could it run if no other queue used anything? Its gang is not larger than a limit, nor is
 * non-preemptible work with it larger than a guarantee that bounds it. */
static bool could_run(const struct oracle *o, const struct oracle_job *job)
{
    for (int q = job->queue; q >= 0; q = o->queue[q].parent)
        for (int k = 0; k < ORACLE_KINDS; k++) {
            const struct oracle_queue *queue = &o->queue[q];
            int64_t need = next_need(job, k);
            if (need && !runs(job) && queue->limit[k] >= 0 && need > queue->limit[k])
                return false;
            if (!queue->to_limit && is_above_guarantee(o, q, job))
                return false;
        }
    return true;
}

/* What counts of the demand below a queue beyond its use; `fixed`: the non-preemptible part, which
 * only guarantees allow. */
static int64_t lacking(const struct oracle *o, int queue, int kind, int64_t *fixed)
{
    int64_t sum = 0, guarantee = o->queue[queue].guarantee[kind];
    *fixed = 0;
    for (int j = 0; j < o->jobs; j++) {
        const struct oracle_job *job = &o->job[j];
        for (int g = 0; job->queue == queue && could_run(o, job) && g < job->groups; g++) {
            int64_t lacks = job->count[g] - oracle_tasks(job, g);
            sum += lacks * job->need[g][kind];
            if (starts_fixed(job))
                *fixed +=
                    (job->preemptible == ORACLE_SEMI ? job->min[g] : lacks) * job->need[g][kind];
        }
    }
    for (int q = 0; q < o->queues; q++) {
        int64_t below_fixed, limit = o->queue[q].limit[kind];
        if (o->queue[q].parent != queue)
            continue;
        int64_t below = lacking(o, q, kind, &below_fixed);
        int64_t beyond = limit >= 0 ? used(o, q, kind) + below - limit : 0;
        beyond = beyond > 0 ? beyond : 0;
        sum += below - beyond;
        *fixed += below_fixed > beyond ? below_fixed - beyond : 0;
    }
    if (guarantee >= 0 && !o->queue[queue].to_limit) {
        int64_t left = guarantee - used_nonpreemptible(o, queue, kind);
        int64_t cut = *fixed - (left > 0 ? left : 0);
        sum -= cut > 0 ? cut : 0;
        *fixed -= cut > 0 ? cut : 0;
    }
    return sum;
}

/* Use plus the demand of jobs that could run, at most the limit. */
static int64_t demand(const struct oracle *o, int queue, int kind)
{
    int64_t fixed, limit = o->queue[queue].limit[kind];
    int64_t sum = used(o, queue, kind) + lacking(o, queue, kind, &fixed);
    return limit >= 0 && sum > limit ? limit : sum;
}

/* ---- fair shares: rule 8 ---- */

static int64_t all_there_is(const struct oracle *o, int kind)
{
    int64_t sum = 0;
    for (int n = 0; n < o->nodes; n++)
        sum += o->capacity[n][kind];
    return sum;
}

/* The children of a queue that have the same priority, and the kind that they share. */
struct tier {
    int parent;
    int64_t priority;
    int kind;
};

static bool shares_in(const struct oracle_queue *q, const struct tier *tier)
{
    return q->parent == tier->parent && q->priority == tier->priority;
}

static bool is_open(const struct oracle *o, int q, const struct tier *tier, const int64_t want[])
{
    return shares_in(&o->queue[q], tier) && o->queue[q].share[tier->kind] < want[q];
}

/* Gives all it still wants to the queue of a priority that wants least for its weight, if its exact
 * part by weight is as much. Returns whether it did. `weights`: the sum over queues that want. */
static bool share_least(struct oracle *o, const struct tier *tier, int64_t *rest,
                        const int64_t want[], int64_t *weights)
{
    int least = -1;
    int64_t least_open = 0;
    *weights = 0;
    for (int q = 0; q < o->queues; q++) {
        if (!is_open(o, q, tier, want))
            continue;
        int64_t open = want[q] - o->queue[q].share[tier->kind];
        *weights += o->queue[q].weight;
        if (least < 0 || open * o->queue[least].weight < least_open * o->queue[q].weight) {
            least = q;
            least_open = open;
        }
    }
    if (least < 0 || *rest * o->queue[least].weight < least_open * *weights)
        return false;
    o->queue[least].share[tier->kind] += least_open;
    *rest -= least_open;
    return true;
}

/* The exact parts of the others, rounded once: the whole units, then one each by the largest
 * remainder, then the oldest. */
static void share_rest(struct oracle *o, const struct tier *tier, int64_t *rest,
                       const int64_t want[], int64_t weights)
{
    int64_t remainder[ORACLE_QUEUES], whole = *rest;
    for (int q = 0; q < o->queues; q++) {
        remainder[q] = -1;
        if (!is_open(o, q, tier, want))
            continue;
        o->queue[q].share[tier->kind] += whole * o->queue[q].weight / weights;
        *rest -= whole * o->queue[q].weight / weights;
        remainder[q] = whole * o->queue[q].weight % weights;
    }
    while (*rest > 0) {
        int best = -1;
        for (int q = 0; q < o->queues; q++)
            if (remainder[q] >= 0 && (best < 0 || remainder[q] > remainder[best]))
                best = q;
        if (best < 0)
            return;
        o->queue[best].share[tier->kind]++;
        remainder[best] = -1;
        --*rest;
    }
}

static void share_children(struct oracle *o, int parent, int kind, int64_t total)
{
    int64_t want[ORACLE_QUEUES], rest = total, top = INT64_MAX, weights;
    for (int q = 0; q < o->queues; q++) {
        struct oracle_queue *queue = &o->queue[q];
        if (queue->parent != parent)
            continue;
        int64_t guarantee = queue->guarantee[kind];
        want[q] = demand(o, q, kind);
        queue->share[kind] = guarantee < 0 || guarantee > want[q] ? want[q] : guarantee;
        rest -= queue->share[kind];
    }
    while (rest > 0 && top > INT64_MIN) { /* from the highest priority to the lowest */
        int64_t next = INT64_MIN;
        for (int q = 0; q < o->queues; q++)
            if (o->queue[q].parent == parent && o->queue[q].priority < top &&
                o->queue[q].priority > next)
                next = o->queue[q].priority;
        top = next;
        struct tier tier = {parent, top, kind};
        while (share_least(o, &tier, &rest, want, &weights))
            ;
        if (weights > 0)
            share_rest(o, &tier, &rest, want, weights);
    }
    for (int q = 0; q < o->queues; q++)
        if (o->queue[q].parent == parent)
            share_children(o, q, kind, o->queue[q].share[kind]);
}

void oracle_share(struct oracle *o)
{
    for (int k = 0; k < ORACLE_KINDS; k++)
        share_children(o, -1, k, all_there_is(o, k));
}

/* ---- may it start? ---- */

/* What a queue and those below it keep for themselves of their idle guarantees. */
static int64_t kept_by(const struct oracle *o, int queue, int kind)
{
    const struct oracle_queue *state = &o->queue[queue];
    int64_t own = 0, below = 0;
    if (state->guarantee[kind] >= 0 && state->lends[kind] >= 0)
        own = state->guarantee[kind] - state->lends[kind] - used(o, queue, kind);
    for (int q = 0; q < o->queues; q++)
        below += o->queue[q].parent == queue ? kept_by(o, q, kind) : 0;
    return own > below ? own : below;
}

/* Does the job leave free what other queues do not lend? A queue above its own lends to it. */
static bool is_lent(const struct oracle *o, const struct oracle_job *job, int kind)
{
    int64_t kept = 0, all = next_need(job, kind);
    for (int q = 0; q < o->queues; q++) {
        int parent = o->queue[q].parent;
        if (is_in(o, job->queue, q) || (parent >= 0 && !is_in(o, job->queue, parent)))
            continue;
        kept += kept_by(o, q, kind);
    }
    for (int q = 0; q < o->queues; q++)
        all += o->queue[q].parent < 0 ? used(o, q, kind) : 0;
    return kept == 0 || all + kept <= all_there_is(o, kind);
}

enum { NOBODY = -1, LENDING = -2 };

/* Rules 3 and 4: the first queue that forbids it, from the leaf up. */
static int forbidden_by(const struct oracle *o, const struct oracle_job *job)
{
    for (int q = job->queue; q >= 0; q = o->queue[q].parent)
        for (int k = 0; k < ORACLE_KINDS; k++) {
            int64_t need = next_need(job, k);
            const struct oracle_queue *queue = &o->queue[q];
            if (need && queue->limit[k] >= 0 && used(o, q, k) + need > queue->limit[k])
                return q;
            if (!queue->to_limit && is_above_guarantee(o, q, job))
                return q;
        }
    return NOBODY;
}

int oracle_exceeded(const struct oracle *o, const struct oracle *before)
{
    for (int q = 0; q < o->queues; q++)
        for (int k = 0; k < ORACLE_KINDS; k++) {
            const struct oracle_queue *queue = &o->queue[q];
            int64_t all = used(o, q, k), fixed = used_nonpreemptible(o, q, k);
            if (queue->limit[k] >= 0 && all > queue->limit[k] && all > used(before, q, k))
                return q;
            if (!queue->to_limit && queue->guarantee[k] >= 0 && fixed > queue->guarantee[k] &&
                fixed > used_nonpreemptible(before, q, k))
                return q;
        }
    return -1;
}

static bool is_lent_all(const struct oracle *o, const struct oracle_job *job)
{
    for (int k = 0; k < ORACLE_KINDS; k++)
        if (next_need(job, k) && !is_lent(o, job, k))
            return false;
    return true;
}

static bool is_allowed(const struct oracle *o, const struct oracle_job *job)
{
    return is_lent_all(o, job) && forbidden_by(o, job) == NOBODY;
}

/* What keeps it from starting, as far as that holds without looking for a place. */
static int refused_by(const struct oracle *o, const struct oracle_job *job)
{
    int by = forbidden_by(o, job);
    return by == NOBODY && !is_lent_all(o, job) ? LENDING : by;
}

/* Puts these tasks on nodes, every way there is; nothing if there is none. */
static bool place(struct oracle *o, struct oracle_job *job, int group, int node,
                  int64_t tasks[ORACLE_GROUPS])
{
    if (group == job->groups)
        return true;
    if (tasks[group] == 0)
        return place(o, job, group + 1, 0, tasks);
    if (node == o->nodes)
        return false;
    int64_t fit = tasks[group];
    for (int k = 0; k < ORACLE_KINDS; k++)
        if (job->need[group][k] && free_on(o, node, k) / job->need[group][k] < fit)
            fit = free_on(o, node, k) / job->need[group][k];
    for (; fit >= 0; fit--) {
        job->on[group][node] += fit;
        tasks[group] -= fit;
        if (place(o, job, group, node + 1, tasks))
            return true;
        job->on[group][node] -= fit;
        tasks[group] += fit;
    }
    return false;
}

static bool start(struct oracle *o, struct oracle_job *job)
{
    int64_t tasks[ORACLE_GROUPS];
    next_tasks(job, tasks);
    return is_allowed(o, job) && place(o, job, 0, 0, tasks);
}

/* ---- order: rules 7 and 9 ---- */

static bool wants_more(const struct oracle_job *job)
{
    int64_t tasks[ORACLE_GROUPS];
    next_tasks(job, tasks);
    return tasks[0] + tasks[1] > 0;
}

/* Compares two jobs of a leaf. */
static bool job_before(const struct oracle *o, int a, int b)
{
    const struct oracle_job *x = &o->job[a], *y = &o->job[b];
    if (x->priority != y->priority)
        return x->priority > y->priority;
    if (runs(x) != runs(y))
        return runs(y);
    return a < b;
}

static bool is_below_share(const struct oracle *o, int queue, const struct oracle_job *job)
{
    for (int k = 0; k < ORACLE_KINDS; k++)
        if (next_need(job, k) && o->queue[queue].guarantee[k] >= 0 &&
            used(o, queue, k) > o->queue[queue].share[k])
            return false;
    return true;
}

static bool stays_inside(const struct oracle *o, int queue, const struct oracle_job *job,
                         bool guarantee)
{
    const struct oracle_queue *state = &o->queue[queue];
    for (int k = 0; k < ORACLE_KINDS; k++) {
        int64_t bound =
            guarantee || state->guarantee[k] < 0 ? state->guarantee[k] : state->share[k];
        if (next_need(job, k) && bound >= 0 && used(o, queue, k) + next_need(job, k) > bound)
            return false;
    }
    return true;
}

/* The largest part of its share, or of all there is, that a queue uses, with the job if there is
 * one. The numbers are small, so doubles are exact enough. */
static double dominant_part(const struct oracle *o, int queue, const struct oracle_job *job,
                            bool of_all)
{
    double most = 0;
    for (int k = 0; k < ORACLE_KINDS; k++) {
        int64_t share = of_all ? all_there_is(o, k) : o->queue[queue].share[k];
        int64_t with = used(o, queue, k) + (job ? next_need(job, k) : 0);
        if (with == 0 || o->queue[queue].guarantee[k] < 0)
            continue;
        double part = share ? (double)with / (double)share : 1e9;
        most = part > most ? part : most;
    }
    return most;
}

static int compare_parts(double a, double b)
{
    return (a > b) - (a < b);
}

/* Which of two siblings, with these jobs at their heads? */
static bool queue_before(const struct oracle *o, int a, int job_a, int b, int job_b)
{
    const struct oracle_job *x = &o->job[job_a], *y = &o->job[job_b];
    bool below_a = is_below_share(o, a, x), below_b = is_below_share(o, b, y);
    if (below_a != below_b)
        return below_a;
    bool inside_a = stays_inside(o, a, x, true), inside_b = stays_inside(o, b, y, true);
    if (inside_a != inside_b)
        return inside_a;
    if (o->queue[a].priority != o->queue[b].priority)
        return o->queue[a].priority > o->queue[b].priority;
    int c = compare_parts(dominant_part(o, a, x, false), dominant_part(o, b, y, false));
    if (c == 0)
        c = compare_parts(dominant_part(o, a, NULL, false), dominant_part(o, b, NULL, false));
    if (c == 0)
        c = compare_parts(dominant_part(o, a, x, true), dominant_part(o, b, y, true));
    return c ? c < 0 : a < b;
}

/* The next job below a queue, or -1. */
static int next_job(const struct oracle *o, int parent)
{
    int best = -1, best_queue = -1;
    for (int j = 0; j < o->jobs; j++)
        if (o->job[j].queue == parent && !o->job[j].tried && wants_more(&o->job[j]) &&
            (best < 0 || job_before(o, j, best)))
            best = j;
    for (int q = 0; q < o->queues; q++) {
        if (o->queue[q].parent != parent)
            continue;
        int head = next_job(o, q);
        if (head >= 0 && (best < 0 || queue_before(o, q, head, best_queue, best))) {
            best = head;
            best_queue = q;
        }
    }
    return best;
}

/* ---- preemption: rules 10 to 12 ---- */

/* A victim: one task above the minimum of a job of one group, or all of a gang. */
struct victim {
    int job;
    bool whole, stays;
    int node; /* of the one task */
    int64_t on[ORACLE_GROUPS][ORACLE_NODES];
};

static bool has_surplus(const struct oracle_job *job)
{
    return job->groups == 1 && oracle_tasks(job, 0) > job->min[0];
}

/* Siblings, or equal if one leaf: where two branches part. */
static void part_ways(const struct oracle *o, int *a, int *b)
{
    for (int x = *a; x >= 0; x = o->queue[x].parent)
        for (int y = *b; y >= 0; y = o->queue[y].parent)
            if (o->queue[x].parent == o->queue[y].parent && x != y) {
                *a = x;
                *b = y;
                return;
            }
}

/* Whose usage decides what a queue may give: NULL: as it is now. See preempt_on_credit(). */
static const struct oracle *as_it_was;

/* Is a queue above its share (or guarantee) in a kind that the taker wants? */
static bool is_above(const struct oracle *o, int queue, const struct oracle_job *taker,
                     bool guarantee)
{
    const struct oracle_queue *state = &o->queue[queue];
    for (int k = 0; k < ORACLE_KINDS; k++) {
        int64_t bound =
            guarantee || state->guarantee[k] < 0 ? state->guarantee[k] : state->share[k];
        if (next_need(taker, k) && bound >= 0 && used(as_it_was ? as_it_was : o, queue, k) > bound)
            return true;
    }
    return false;
}

/* Below the giving queue, a queue within its guarantee does not pay for a sibling. Nor does a queue
 * within its share, as long as there are others. */
static bool may_give(const struct oracle *o, int leaf, int giver, const struct oracle_job *taker,
                     bool fair)
{
    for (int q = leaf; q != giver; q = o->queue[q].parent) {
        bool managed = false;
        for (int k = 0; k < ORACLE_KINDS; k++)
            managed = managed || (next_need(taker, k) && o->queue[q].guarantee[k] >= 0);
        if ((managed && !is_above(o, q, taker, true)) || (fair && !is_above(o, q, taker, false)))
            return false;
    }
    return !fair || is_above(o, giver, taker, false);
}

/* Rule 10. A queue that is above gives a gang whole, even if that leaves it below. */
static bool may_reclaim(const struct oracle *o, const struct oracle_job *taker,
                        const struct oracle_job *victim, bool fair)
{
    int a = taker->queue, b = victim->queue;
    if (a == b || victim->preemptible == ORACLE_FIXED)
        return false;
    part_ways(o, &a, &b);
    if (!may_give(o, victim->queue, b, taker, fair))
        return false;
    if (!stays_inside(o, taker->queue, taker, true) && !stays_inside(o, taker->queue, taker, false))
        return false;
    return (stays_inside(o, a, taker, true) && is_above(o, b, taker, true)) ||
           (stays_inside(o, a, taker, false) && is_above(o, b, taker, false));
}

/* Rule 11. */
static bool may_preempt(const struct oracle_job *taker, const struct oracle_job *victim)
{
    return taker->queue == victim->queue && victim->preemptible != ORACLE_FIXED &&
           victim->priority < taker->priority;
}

enum { BY_RECLAIM = 1, BY_PREEMPTION = 2, OF_THE_FULL = 4 };

/* Do both wait to start with the same tasks? */
static bool asks_the_same(const struct oracle_job *a, const struct oracle_job *b)
{
    return !runs(a) && !runs(b) && a->groups == b->groups &&
           !memcmp(a->min, b->min, sizeof(a->min)) &&
           !memcmp(a->count, b->count, sizeof(a->count)) &&
           !memcmp(a->need, b->need, sizeof(a->need));
}

/* Are they refused for the same reasons, too? */
static bool waits_as(const struct oracle_job *a, const struct oracle_job *b)
{
    return asks_the_same(a, b) && a->queue == b->queue && starts_fixed(a) == starts_fixed(b) &&
           a->never_preempts == b->never_preempts;
}

/* When the latest demand came up of those that wait for the same: the first stands for all. */
static int64_t demand_since(const struct oracle *o, const struct oracle_job *taker)
{
    int64_t at = taker->submitted_at;
    for (int j = 0; j < o->jobs; j++)
        if (waits_as(&o->job[j], taker) && o->job[j].submitted_at > at)
            at = o->job[j].submitted_at;
    return at;
}

/* No circles: until something happens outside, a job is stopped only once for jobs of a queue that
 * waited then already. The tasks that it got since count as the job. No job stops one that it was
 * stopped for. */
static bool is_spared(const struct oracle *o, const struct oracle_job *taker,
                      const struct oracle_job *victim, bool whole)
{
    int64_t of_all = victim->stopped_at[0][taker->queue];
    int64_t of_some = victim->stopped_at[1][taker->queue];
    int64_t since = demand_since(o, taker);
    return of_all > since || (!whole && of_some > since && victim->grown_at >= of_some) ||
           taker->stopped_for[victim - o->job];
}

void oracle_forget_stops(struct oracle *o)
{
    for (int j = 0; j < o->jobs; j++) {
        memset(o->job[j].stopped_at, 0, sizeof(o->job[j].stopped_at));
        memset(o->job[j].stopped_for, 0, sizeof(o->job[j].stopped_for));
    }
}

/* The next victim by rule 12, or -1: lowest priority, members above the minimum, newest. */
static int next_victim(const struct oracle *o, int taker, int how, bool *whole)
{
    int best = -1;
    bool best_whole = false;
    for (int j = 0; j < o->jobs; j++) {
        const struct oracle_job *v = &o->job[j], *t = &o->job[taker];
        bool core = !has_surplus(v);
        if (j == taker || !runs(v) || (core && v->preemptible == ORACLE_SEMI))
            continue;
        if (!((how & BY_RECLAIM) && may_reclaim(o, t, v, how & OF_THE_FULL)) &&
            !((how & BY_PREEMPTION) && may_preempt(t, v)))
            continue;
        if (v->barred || is_spared(o, t, v, core))
            continue;
        if (best >= 0 && v->priority > o->job[best].priority)
            continue;
        if (best >= 0 && v->priority == o->job[best].priority && core && !best_whole)
            continue; /* of equal ones the newest: the last that is met */
        best = j;
        best_whole = core;
    }
    *whole = best_whole;
    return best;
}

static struct victim take(struct oracle *o, int j, bool whole)
{
    struct oracle_job *job = &o->job[j];
    struct victim v = {.job = j, .whole = whole, .node = 0};
    memcpy(v.on, job->on, sizeof(v.on));
    if (whole) {
        memset(job->on, 0, sizeof(job->on));
    } else {
        v.node = ORACLE_NODES - 1;
        while (job->on[0][v.node] == 0)
            v.node--;
        job->on[0][v.node]--;
    }
    return v;
}

/* With the preemptor: is one of its queues above its share, and above its guarantee? */
static bool is_beyond(const struct oracle *o, int queue, const struct oracle_job *taker)
{
    const struct oracle_queue *state = &o->queue[queue];
    for (int k = 0; k < ORACLE_KINDS; k++) {
        int64_t with = used(o, queue, k) + next_need(taker, k);
        if (next_need(taker, k) && state->guarantee[k] >= 0 && with > state->share[k] &&
            with > state->guarantee[k])
            return true;
    }
    return false;
}

/* With the preemptor: is it entitled to what the victims held, in its own queue and where the
 * branches part? */
static bool still_entitled(const struct oracle *o, int taker, const struct victim *victim,
                           int victims)
{
    for (int i = 0; i < victims; i++) {
        int a = o->job[taker].queue, b = o->job[victim[i].job].queue;
        if (victim[i].stays || a == b)
            continue;
        part_ways(o, &a, &b);
        if (is_beyond(o, a, &o->job[taker]) || is_beyond(o, o->job[taker].queue, &o->job[taker]))
            return false;
    }
    return true;
}

static int top_of(const struct oracle *o, int queue)
{
    while (o->queue[queue].parent >= 0)
        queue = o->queue[queue].parent;
    return queue;
}

/* Do all queues above the job keep to their guarantees with it? */
static bool keeps_guarantees(const struct oracle *o, const struct oracle_job *job)
{
    for (int q = job->queue; q >= 0; q = o->queue[q].parent)
        if (!stays_inside(o, q, job, true))
            return false;
    return true;
}

/* Gives back what was not needed, as long as the taker still fits. False: one of its own branch
 * fits beside it, and would start again, but with both the taker is not entitled to what it takes.
 */
static bool put_back(struct oracle *o, int taker, struct victim *victim, int victims)
{
    bool honest = true;
    for (int i = victims - 1; i >= 0; i--) {
        struct oracle_job *job = &o->job[victim[i].job], was = *job;
        struct oracle_job without = o->job[taker];
        bool same_branch = top_of(o, job->queue) == top_of(o, o->job[taker].queue);
        if (!victim[i].whole && !runs(job))
            continue; /* its gang fell */
        if (victim[i].whole)
            memcpy(job->on, victim[i].on, sizeof(job->on));
        else
            job->on[0][victim[i].node]++;
        bool entitled = !same_branch || still_entitled(o, taker, victim, victims);
        bool fits = start(o, &o->job[taker]);
        o->job[taker] = without;
        victim[i].stays = fits && entitled;
        if (victim[i].stays)
            continue;
        *job = was;
        honest = honest && (!fits || keeps_guarantees(o, &o->job[taker]));
    }
    return honest;
}

/* A queue uses less: jobs that waited for that are tried again, and those to which other queues
 * did not lend. */
static void try_again_below(struct oracle *o, int queue)
{
    for (int j = 0; j < o->jobs; j++)
        if (o->job[j].by == LENDING || (o->job[j].by != NOBODY && is_in(o, queue, o->job[j].by)))
            o->job[j].tried = false;
}

/* Does some task of the job fit on some node, by each amount alone? */
static bool may_fit(const struct oracle *o, const struct oracle_job *job)
{
    for (int k = 0; k < ORACLE_KINDS; k++) {
        int64_t least = INT64_MAX, most = 0;
        for (int g = 0; g < job->groups; g++)
            least = job->need[g][k] < least ? job->need[g][k] : least;
        for (int n = 0; n < o->nodes; n++)
            most = free_on(o, n, k) > most ? free_on(o, n, k) : most;
        if (least > most)
            return false;
    }
    return true;
}

/* The taker left something of what its victims held: jobs that found no place are tried again, if
 * they may fit there. */
static void try_again_for_rest(struct oracle *o)
{
    for (int j = 0; j < o->jobs; j++)
        if (o->job[j].by == NOBODY && may_fit(o, &o->job[j]))
            o->job[j].tried = false;
}

/* With the victim back, does it lie inside the guarantee of a queue of its branch, while the taker
 * would leave its own? It would take its guarantee back at once. */
static bool breaks_guarantee(const struct oracle *o, const struct oracle_job *taker, int leaf)
{
    int a = taker->queue, b = leaf;
    part_ways(o, &a, &b);
    if (stays_inside(o, a, taker, true))
        return false;
    for (int q = leaf; q != o->queue[b].parent; q = o->queue[q].parent) {
        bool managed = false;
        for (int k = 0; k < ORACLE_KINDS; k++)
            managed = managed || (next_need(taker, k) && o->queue[q].guarantee[k] >= 0);
        if (managed && !is_above(o, q, taker, true))
            return true;
    }
    return false;
}

/* A victim that breaks a guarantee, or -1. */
static int find_breach(struct oracle *o, int taker, const struct victim *victim, int victims)
{
    for (int i = victims - 1; i >= 0; i--) {
        struct oracle_job *job = &o->job[victim[i].job], was = *job;
        if (victim[i].stays || job->queue == o->job[taker].queue ||
            (!victim[i].whole && !runs(job)))
            continue;
        if (victim[i].whole)
            memcpy(job->on, victim[i].on, sizeof(job->on));
        else
            job->on[0][victim[i].node]++;
        bool breaks = breaks_guarantee(o, &o->job[taker], job->queue);
        *job = was;
        if (breaks)
            return victim[i].job;
    }
    return -1;
}

static void give_back(struct oracle *o, const struct victim *v)
{
    if (v->whole)
        for (int g = 0; g < ORACLE_GROUPS; g++)
            for (int n = 0; n < ORACLE_NODES; n++)
                o->job[v->job].on[g][n] += v->on[g][n];
    else
        o->job[v->job].on[0][v->node]++;
}

/* Do the rules allow to take these victims in some order? *refused: the first that is refused in
 * their own order. */
static bool some_order(const struct oracle *o, int taker, const struct victim *victim, int victims,
                       bool preempts, int *refused)
{
    struct oracle now = *o;
    bool left = false, any = true, gone[128] = {false};
    *refused = -1;
    for (int i = 0; i < victims; i++)
        gone[i] = !victim[i].stays;
    for (int i = victims - 1; i >= 0; i--)
        if (gone[i])
            give_back(&now, &victim[i]);
    for (int i = 0; i < victims && *refused < 0; i++) {
        const struct oracle_job *t = &now.job[taker], *v = &now.job[victim[i].job];
        if (gone[i] && !may_reclaim(&now, t, v, false) && !(preempts && may_preempt(t, v)))
            *refused = victim[i].job;
        for (int g = 0; gone[i] && g < ORACLE_GROUPS; g++)
            for (int n = 0; victim[i].whole && n < ORACLE_NODES; n++)
                now.job[victim[i].job].on[g][n] -= victim[i].on[g][n];
        if (gone[i] && !victim[i].whole)
            now.job[victim[i].job].on[0][victim[i].node]--;
    }
    if (*refused < 0)
        return true;
    now =
        *o; /* from the end: with one back that may be the last, the others may no less be taken */
    while (any) {
        any = left = false;
        for (int i = victims - 1; i >= 0; i--) {
            struct oracle_job *v = &now.job[victim[i].job], was = *v;
            if (!gone[i])
                continue;
            give_back(&now, &victim[i]);
            if (may_reclaim(&now, &now.job[taker], v, false) ||
                (preempts && may_preempt(&now.job[taker], v))) {
                gone[i] = false;
                any = true;
            } else {
                *v = was;
                left = true;
            }
        }
    }
    return !left;
}

/* Takes one victim after the other until the preemptor can start: first from queues above their
 * shares, or from its own queue. *breach: a job that it must not take after all. */
static bool try_preempt_for(struct oracle *o, int taker, int first, int then, int *breach,
                            bool *lacks)
{
    struct victim victim[128];
    int victims = 0, next;
    bool whole;
    *breach = -1;
    *lacks = false;
    while (victims < 128 && ((next = next_victim(o, taker, first, &whole)) >= 0 ||
                             (next = next_victim(o, taker, then | OF_THE_FULL, &whole)) >= 0 ||
                             (next = next_victim(o, taker, then, &whole)) >= 0)) {
        struct oracle_job without = o->job[taker];
        victim[victims++] = take(o, next, whole);
        if (!start(o, &o->job[taker]))
            continue;
        o->job[taker] = without;
        if (!put_back(o, taker, victim, victims) ||
            (*breach = find_breach(o, taker, victim, victims)) >= 0)
            return false;
        if (as_it_was) {
            const struct oracle *was = as_it_was;
            as_it_was = NULL;
            bool ok = some_order(o, taker, victim, victims, first & BY_PREEMPTION, breach);
            as_it_was = was;
            if (!ok)
                return false;
            *breach = -1;
        }
        for (int i = 0; i < victims; i++)
            if (!victim[i].stays) {
                struct oracle_job *job = &o->job[victim[i].job];
                job->stopped_at[!victim[i].whole][o->job[taker].queue] = ++o->stops;
                job->stopped_for[taker] = true;
                if (!o->what_if)
                    trace(victim[i].whole ? "stop" : "stop a task of", victim[i].job, taker);
                try_again_below(o, job->queue);
            }
        bool starts = start(o, &o->job[taker]);
        try_again_for_rest(o);
        return starts;
    }
    *lacks = victims > 0;
    return false;
}

/* What is taken one after the other, the newest first, may be of no use, while the giver has no
 * more to give. Rule 10 names no order: so another try takes victims by what the givers used
 * before, puts back what is not needed, and asks the rules of the rest, in any order. */
static bool preempt_for(struct oracle *o, int taker, int first, int then)
{
    struct oracle before = *o, at_first = *o;
    int breach;
    bool done = false, lacks = false;
    for (int on_credit = 0; on_credit < 2 && !done; on_credit++) {
        if (on_credit && (!lacks || !(then & BY_RECLAIM)))
            break;
        as_it_was = on_credit ? &at_first : NULL;
        while (!(done = try_preempt_for(o, taker, first, then, &breach, &lacks)) && breach >= 0) {
            before.job[breach].barred = true;
            *o = before;
        }
        as_it_was = NULL;
        if (!done)
            *o = before;
    }
    for (int j = 0; j < o->jobs; j++)
        o->job[j].barred = false;
    return done;
}

/* Takes from other queues, else from its own, else from both. Non-preemptible work above a
 * guarantee takes nothing. */
static bool preempt_any_way(struct oracle *o, int j)
{
    for (int q = o->job[j].queue; q >= 0; q = o->queue[q].parent)
        if (is_above_guarantee(o, q, &o->job[j]))
            return false;
    return preempt_for(o, j, 0, BY_RECLAIM) || preempt_for(o, j, 0, BY_PREEMPTION) ||
           preempt_for(o, j, BY_PREEMPTION, BY_RECLAIM);
}

/* ---- rule 6 ---------------------------------------------------------------------------------- */

static bool could_preempt(const struct oracle *o, int j)
{
    struct oracle what_if = *o;
    what_if.what_if = true;
    return o->preempts && !o->job[j].never_preempts && preempt_any_way(&what_if, j);
}

/* Rule 7: a job that cannot start does not block those behind it. So one that is known not to fit
 * is no head of its queue (rule 9), and it is known once a job that asks for the same was refused
 * (lib/sched/order/README.md), unless preemption may help. */
static void note_refused(struct oracle *o, int refused)
{
    const struct oracle_job *job = &o->job[refused];
    for (int j = 0; j < o->jobs; j++) {
        struct oracle_job *other = &o->job[j];
        bool same = waits_as(job, other) || (job->by == NOBODY && asks_the_same(job, other));
        if (j == refused || other->tried || !same || could_preempt(o, j))
            continue;
        other->tried = true;
        other->by = job->by;
        other->tried_at = o->changes;
    }
}

/* The same for a job that was submitted since. */
static void note_submitted(struct oracle *o)
{
    for (int j = 0; j < o->jobs; j++)
        for (int k = 0; k < j && !o->job[j].known; k++)
            if (o->job[k].tried && waits_as(&o->job[k], &o->job[j]) && !could_preempt(o, j)) {
                o->job[j].tried = true;
                o->job[j].by = o->job[k].by;
                o->job[j].tried_at = o->changes;
                break;
            }
    for (int j = 0; j < o->jobs; j++)
        o->job[j].known = true;
}

/* The first job in order starts or grows by a task, if need be in place of others. False: it gets
 * nothing, and is not tried again in this pass. */
static bool try_job(struct oracle *o, int j)
{
    struct oracle_job *job = &o->job[j];
    int by = refused_by(o, job);
    if (start(o, job)) {
        job->grown_at = o->stops;
        trace("start or growth of", j, -1);
        return true;
    }
    job->by = by;
    if (o->preempts && !job->never_preempts && preempt_any_way(o, j)) {
        trace("start or growth of", j, -1);
        return true;
    }
    job->tried = true;
    job->tried_at = o->changes;
    note_refused(o, j);
    return false;
}

/* All jobs in their order. Returns whether any job got something. */
static bool pass(struct oracle *o)
{
    bool any = false;
    int j;
    for (j = 0; o->preempts && j < o->jobs; j++) /* something may let them preempt now */
        if (o->job[j].tried_at != o->changes && could_preempt(o, j))
            o->job[j].tried = false;
    for (oracle_share(o); (j = next_job(o, -1)) >= 0; oracle_share(o))
        if (try_job(o, j)) {
            any = true;
            o->changes++;
        }
    return any;
}

bool oracle_settle(struct oracle *o)
{
    note_submitted(o);
    for (int i = 0; i < 100; i++)
        if (!pass(o))
            return true;
    return false;
}

/* ---- every set of victims -------------------------------------------------------------------- */

/* Takes the jobs of the mask; `tried`: masks that were looked at. */
static bool reclaim_more(struct oracle *o, int taker, uint32_t mask, bool *tried)
{
    struct oracle_job without = o->job[taker];
    bool found = start(o, &o->job[taker]);
    o->job[taker] = without;
    tried[mask] = true;
    for (int j = 0; j < o->jobs && !found; j++) {
        struct oracle_job was = o->job[j];
        if (!runs(&was) || has_surplus(&was) || was.preemptible != ORACLE_PREEMPTIBLE ||
            tried[mask | UINT32_C(1) << j] || !may_reclaim(o, &o->job[taker], &was, false) ||
            is_spared(o, &o->job[taker], &o->job[j], true))
            continue;
        (void)take(o, j, true);
        found = reclaim_more(o, taker, mask | UINT32_C(1) << j, tried);
        o->job[j] = was;
    }
    return found;
}

bool oracle_may_reclaim(struct oracle *o, int job)
{
    static bool tried[1 << ORACLE_JOBS];
    memset(tried, 0, sizeof(tried));
    return !runs(&o->job[job]) && !o->job[job].never_preempts &&
           keeps_guarantees(o, &o->job[job]) && reclaim_more(o, job, 0, tried);
}
