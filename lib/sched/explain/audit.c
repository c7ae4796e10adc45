/* SPDX-License-Identifier: Apache-2.0 */
/* Audit: all that is kept up to date at each change is computed from the jobs and their
 * allocations, and compared. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "place/request/request.h"
#include "sched/backfill/backfill.h"
#include "sched/calendar/calendar.h"
#include "sched/cycle/cycle.h"
#include "sched/explain/explain_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/usage/usage.h"

/* What a queue should count. */
struct sums {
    int64_t used[GANG__DIMS], fixed[GANG__DIMS], want[GANG__DIMS];
    int64_t jobs, running, pending, tasks;
};

struct audit {
    gang_sched *s;
    struct gang_error *error;
    struct sums *sum;  /* of each queue; that of the root is last */
    int64_t *by_group; /* of the gang at hand */
    size_t group_cap;
    size_t listed_victims; /* gangs in the orders of victims */
};

#define BAD(a, path, ...) gang__error((a)->error, GANG_EINVAL, (path), __VA_ARGS__)

static size_t index_of(const gang_sched *s, const struct gang__queue_state *q)
{
    return q->parent ? q->q->index : s->queues->count;
}

static const char *name_of(const struct gang__queue_state *q)
{
    return q->q ? q->q->name : "(all)";
}

/* ---- a gang ---------------------------------------------------------------------------------- */

struct count {
    const struct audit *a;
    const struct gang__gang *g;
};

static bool names(const struct gang__stop *stop, int64_t task)
{
    for (size_t i = 0; stop->tasks && i < stop->task_count; i++)
        if (stop->tasks[i] == task)
            return true;
    return false;
}

/* Was the task asked to stop? True also if it has stopped, and its place is kept for a taker or not
 * released yet. */
static bool is_asked_to_stop(const struct count *c, int64_t task)
{
    for (const struct gang__stop *stop = c->g->stop.first; stop; stop = stop->next)
        if (stop->alloc == c->g->alloc && names(stop, task))
            return true;
    for (const struct gang__handover *handover = c->a->s->stop.handovers; handover;
         handover = handover->next)
        for (const struct gang__stop *stop = handover->stops; stop; stop = stop->next_of_handover)
            if (stop->stopped && stop->gang == c->g && stop->alloc == c->g->alloc &&
                names(stop, task))
                return true;
    for (const struct gang__stop *stop = c->a->s->stop.deferred; stop;
         stop = stop->next_of_handover)
        if (stop->gang == c->g && stop->alloc == c->g->alloc && names(stop, task))
            return true;
    return false;
}

static int32_t count_task(const struct gang_task *task, void *user)
{
    struct count *c = user;
    c->a->by_group[task->group] += !is_asked_to_stop(c, task->task);
    return 0;
}

static gang_result check_counts(struct audit *a, const struct gang__gang *g, const char *path)
{
    const gang_request *request = gang__gang_request(g);
    struct count c = {a, g};
    int64_t tasks = 0, ended = 0;
    if (!gang__grow(&a->s->mem, (void **)&a->by_group, &a->group_cap, request->group_count,
                    sizeof(*a->by_group)))
        return gang__error(a->error, GANG_ENOMEM, NULL, "out of memory");
    memset(a->by_group, 0, request->group_count * sizeof(*a->by_group));
    if (g->alloc != GANG_ID_NONE) {
        gang_result r = gang_alloc_each(a->s->cluster, g->alloc, count_task, &c);
        if (r != GANG_OK)
            return BAD(a, path, "its allocation: %s", gang_strerror(r));
    }
    for (uint32_t group = 0; group < request->group_count; group++) {
        tasks += g->has[group];
        ended += g->done[group];
        if (g->has[group] != a->by_group[group])
            return BAD(a, path, "group %u counts %" PRId64 " tasks, and has %" PRId64, group,
                       g->has[group], a->by_group[group]);
        if (g->done[group] < 0 || g->failed[group] < 0 || g->failed[group] > g->done[group])
            return BAD(a, path, "group %u: %" PRId64 " ended, %" PRId64 " of them failed", group,
                       g->done[group], g->failed[group]);
    }
    if (tasks != g->tasks || ended != g->ended)
        return BAD(a, path,
                   "%" PRId64 " tasks and %" PRId64 " that ended, not %" PRId64 ", %" PRId64, tasks,
                   ended, g->tasks, g->ended);
    return GANG_OK;
}

/* Has a gang with several partitions the class of one of them, or of all of them while it waits to
 * start? */
static gang_result check_partition(struct audit *a, const struct gang__gang *g, const char *path)
{
    const struct gang__request_class *all = g->waits_as;
    bool one = false;
    for (uint32_t i = 0; all && i < all->partition_count; i++)
        one = one || g->request_class == all->partition[i];
    bool starts = g->order.wait_class && !g->order.wait_class->grower;
    if (!all || (one ? !starts : g->request_class == all && g->alloc == GANG_ID_NONE))
        return GANG_OK;
    return BAD(a, path, "its request is for the wrong one of its partitions");
}

/* Is it in the wait class where it belongs? */
static gang_result check_wait_class(struct audit *a, const struct gang__gang *g, const char *path)
{
    const struct gang__wait_class *wait_class = g->order.wait_class;
    if (!wait_class)
        return GANG_OK;
    if (g->stop.handover || g->stop.moving || g->over || g->job->state == GANG_JOB_ENDED)
        return BAD(a, path, "it is in a wait class, and must not wait");
    if (wait_class->leaf != g->job->leaf || wait_class->request_class != g->request_class ||
        wait_class->user != g->job->leaf_user || wait_class->array != g->job->array)
        return BAD(a, path, "its wait class is for another leaf, request class or user");
    if ((wait_class->grower != NULL) != (g->alloc != GANG_ID_NONE || g->places) ||
        (wait_class->grower && wait_class->grower != g))
        return BAD(a, path, "it starts in a wait class for growth, or the reverse");
    if (wait_class->state == GANG__CLASS_EMPTY || wait_class->gangs.count == 0)
        return BAD(a, path, "its wait class is marked as empty");
    for (const struct gang__set_link *n = gang__set_first(&wait_class->gangs); n;
         n = gang__set_next(n))
        if (n == &g->order.link)
            return GANG_OK;
    return BAD(a, path, "its wait class does not list it");
}

/* What its queues should count of the gang. */
static void add_gang(struct audit *a, const struct gang__gang *g, struct sums *sum)
{
    const gang_request *request = gang__gang_request(g);
    int64_t rest = gang__gang_fixed_rest(g), left = g->demands ? gang__gang_lacks_all(g) : 0;
    for (uint32_t group = 0; group < request->group_count; group++) {
        int64_t kept = gang__gang_fixed(g, group, &rest);
        int64_t lacks = request->group[group].count - g->has[group] - g->done[group];
        lacks = lacks < 0 ? 0 : lacks < left ? lacks : left;
        left -= lacks;
        for (uint32_t i = 0; i < g->request_class->group[group].count; i++) {
            const struct gang__take *t =
                &g->request_class->take[g->request_class->group[group].from + i];
            sum->used[t->dim] += t->amount * g->has[group];
            sum->fixed[t->dim] += t->amount * kept;
            sum->want[t->dim] += t->amount * lacks;
        }
    }
    sum->tasks += g->tasks;
    (void)a;
}

/* The queues count a gang that waits for a handover, or moves, already. */
static void add_handover(const struct gang__gang *g, struct sums *sum)
{
    const struct gang__handover *handover = g->stop.handover;
    if (!g->stop.moving && (!handover || !handover->charged))
        return;
    bool moves = g->stop.moving != NULL;
    const struct gang_placement *places = moves ? g->stop.moving->to : handover->places;
    int64_t tasks = moves ? g->stop.moving->to_count : handover->place_count;
    bool fixed =
        gang__gang_is_fixed(g, moves ? g->stop.moving->tasks != NULL : handover->grow_group >= 0);
    for (int64_t task = 0; task < tasks; task++) {
        uint32_t count;
        const struct gang__take *t =
            gang__request_class_takes(g->request_class, places[task].group, &count);
        for (uint32_t i = 0; i < count; i++) {
            sum->used[t[i].dim] += t[i].amount;
            sum->fixed[t[i].dim] += fixed ? t[i].amount : 0;
        }
    }
}

static gang_result check_gang(struct audit *a, struct gang__gang *g)
{
    char path[64];
    snprintf(path, sizeof(path), "jobs[%" PRIu64 "].gangs[%" PRIu32 "]", g->job->id, g->index);
    if (g->job->state == GANG_JOB_ENDED && (g->alloc != GANG_ID_NONE || g->stop.first))
        return BAD(a, path, "the job has ended, and the gang holds an allocation");
    if (g->victim.listed != (g->alloc != GANG_ID_NONE))
        return BAD(a, path, "it runs, and is not listed as a victim; or the reverse");
    a->listed_victims += g->victim.listed;
    if (g->victim.elastic != (g->victim.listed && g->tasks + g->ended > gang__gang_request(g)->min))
        return BAD(a, path,
                   "it has tasks above its minimum, and is not listed as elastic; or the reverse");
    gang_result r = check_counts(a, g, path);
    if (r == GANG_OK)
        r = check_partition(a, g, path);
    return r == GANG_OK ? check_wait_class(a, g, path) : r;
}

/* ---- a job ----------------------------------------------------------------------------------- */

static gang_result check_job(struct audit *a, struct gang__job *job)
{
    bool runs = false, ended = job->state == GANG_JOB_ENDED;
    struct sums own;
    memset(&own, 0, sizeof(own));
    for (uint32_t i = 0; i < job->gang_count; i++) {
        gang_result r = check_gang(a, &job->gang[i]);
        if (r != GANG_OK)
            return r;
        add_gang(a, &job->gang[i], &own);
        add_handover(&job->gang[i], &own);
        /* A job counts as running until it has stopped. */
        runs = runs || job->gang[i].alloc != GANG_ID_NONE || job->gang[i].stop.first ||
               job->gang[i].stop.moving;
    }
    if (job->counted_running != (runs && !ended) || job->counted_pending != (!runs && !ended))
        return BAD(a, "jobs", "job %" PRIu64 " is counted as what it is not", job->id);
    for (const struct gang__queue_state *q = job->leaf; q; q = q->parent) {
        struct sums *sum = &a->sum[index_of(a->s, q)];
        for (uint32_t d = 0; d < a->s->dims; d++) {
            sum->used[d] += own.used[d];
            sum->fixed[d] += own.fixed[d];
            sum->want[d] += own.want[d];
        }
        sum->tasks += own.tasks;
        sum->jobs += !ended;
        sum->running += job->counted_running;
        sum->pending += job->counted_pending;
    }
    return GANG_OK;
}

static gang_result check_jobs(struct audit *a)
{
    size_t count = 0;
    gang_job_id before = GANG_ID_NONE;
    for (struct gang__set_link *n = gang__set_first(&a->s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        if (job->id <= before)
            return BAD(a, "jobs", "job %" PRIu64 " is out of order", job->id);
        if (gang__job_of(a->s, job->id) != job)
            return BAD(a, "jobs", "job %" PRIu64 " is not found by its id", job->id);
        gang_result r = check_job(a, job);
        if (r != GANG_OK)
            return r;
        before = job->id;
        count++;
    }
    if (count != (size_t)a->s->job_count || count != a->s->jobs.count)
        return BAD(a, "jobs", "%zu there, %" PRId64 " counted, %zu in the table", count,
                   a->s->job_count, a->s->jobs.count);
    return GANG_OK;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static gang_result check_amounts(struct audit *a, const struct gang__queue_state *q,
                                 const struct sums *sum)
{
    for (uint32_t d = 0; d < a->s->dims; d++) {
        const char *kind = a->s->cluster->nodes.kind[a->s->queues->dim[d].kind].name;
        if (q->used[d] != sum->used[d])
            return BAD(a, name_of(q), "uses %" PRId64 " of %s, counted as %" PRId64, sum->used[d],
                       kind, q->used[d]);
        if (q->fixed[d] != sum->fixed[d])
            return BAD(a, name_of(q), "has %" PRId64 " of %s fixed, counted as %" PRId64,
                       sum->fixed[d], kind, q->fixed[d]);
        if (q->demand[d] + q->withheld[d] != sum->want[d])
            return BAD(a, name_of(q), "wants %" PRId64 " of %s, counted as %" PRId64, sum->want[d],
                       kind, q->demand[d] + q->withheld[d]);
    }
    return GANG_OK;
}

/* What a user should count in a leaf. */
static gang_result check_user(struct audit *a, const struct gang__queue_state *leaf,
                              const struct gang__user *user)
{
    struct sums sum;
    int64_t running = 0, waiting = 0;
    memset(&sum, 0, sizeof(sum));
    for (struct gang__set_link *n = gang__set_first(&a->s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; job->leaf_user == user && i < job->gang_count; i++) {
            waiting += job->gang[i].demands;
            add_gang(a, &job->gang[i], &sum);
            add_handover(&job->gang[i], &sum);
        }
        running += job->leaf_user == user && job->counted_running;
    }
    for (uint32_t d = 0; d < a->s->dims; d++)
        if (user->used[d] != sum.used[d])
            return BAD(a, name_of(leaf),
                       "user \"%s\" is said to use %" PRId64 ", and uses %" PRId64, user->name,
                       user->used[d], sum.used[d]);
    if (user->running != running)
        return BAD(a, name_of(leaf), "user \"%s\" is said to run %" PRId64 " jobs, not %" PRId64,
                   user->name, user->running, running);
    if (user->waiting != waiting)
        return BAD(a, name_of(leaf), "user \"%s\" is said to want %" PRId64 " times, not %" PRId64,
                   user->name, (int64_t)user->waiting, waiting);
    return GANG_OK;
}

/* What an array should count. */
static gang_result check_array(struct audit *a, const struct gang__array *array)
{
    int64_t jobs = 0, running = 0, promised = 0;
    for (struct gang__set_link *n = gang__set_first(&a->s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        if (job->array != array)
            continue;
        jobs++;
        running += job->counted_running;
        for (uint32_t i = 0; i < job->gang_count; i++)
            promised += job->gang[i].stop.handover && job->gang[i].stop.handover->counted_promised;
    }
    return array->refs == jobs && array->running == running && array->promised == promised
               ? GANG_OK
               : BAD(a, array->name,
                     "of %" PRId64 " jobs of the array %" PRId64 " run and %" PRId64
                     " are promised; counted as %" PRId64 ", %" PRId64 ", %" PRId64,
                     jobs, running, promised, array->refs, array->running, array->promised);
}

static gang_result check_arrays(struct audit *a)
{
    gang_result r = GANG_OK;
    for (size_t b = 0; r == GANG_OK && b < a->s->arrays.cap; b++)
        for (struct gang__hash_link *n = a->s->arrays.bucket[b]; n && r == GANG_OK; n = n->next)
            r = check_array(a, GANG__OF(struct gang__array, link, n));
    return r;
}

/* READY wait classes are in order, and none is empty. */
static gang_result check_ready(struct audit *a, const struct gang__queue_state *leaf)
{
    for (const struct gang__set_link *n = gang__set_first(&leaf->order.ready); n;
         n = gang__set_next(n)) {
        const struct gang__wait_class *wait_class =
            GANG__OF(struct gang__wait_class, ready_link, n);
        if (leaf->order.holds_classes &&
            (wait_class->state != GANG__CLASS_READY || wait_class->gangs.count == 0))
            return BAD(a, name_of(leaf), "a READY wait class is empty, or not marked as READY");
    }
    return gang__set_is_sorted(&leaf->order.ready)
               ? GANG_OK
               : BAD(a, name_of(leaf), "its wait classes are out of order");
}

/* Classes that wait in a group are in order, BLOCKED, and in the list of their user. */
static gang_result check_group(struct audit *a, const struct gang__queue_state *leaf,
                               const struct gang__class_group *group)
{
    for (const struct gang__set_link *n = gang__set_first(&group->waiting); n;
         n = gang__set_next(n)) {
        const struct gang__wait_class *wait_class =
            GANG__OF(struct gang__wait_class, grouped.link, n);
        if (wait_class->state != GANG__CLASS_BLOCKED || wait_class->why != GANG_WAIT_CAPACITY ||
            !wait_class->grouped.waits || wait_class->grouped.group != group ||
            wait_class->gangs.count == 0 || *wait_class->at_of_user != wait_class)
            return BAD(a, name_of(leaf), "a wait class waits in a group, and should not");
    }
    return gang__set_is_sorted(&group->waiting)
               ? GANG_OK
               : BAD(a, name_of(leaf), "a group of wait classes is out of order");
}

static gang_result check_groups(struct audit *a, const struct gang__queue_state *leaf)
{
    gang_result r = GANG_OK;
    for (size_t b = 0; r == GANG_OK && b < leaf->order.groups.cap; b++)
        for (struct gang__hash_link *n = leaf->order.groups.bucket[b]; n && r == GANG_OK;
             n = n->next)
            r = check_group(a, leaf, GANG__OF(struct gang__class_group, link, n));
    return r;
}

static gang_result check_queue(struct audit *a, struct gang__queue_state *q)
{
    const struct sums *sum = &a->sum[index_of(a->s, q)];
    gang_result r = check_amounts(a, q, sum);
    if (r != GANG_OK)
        return r;
    if (q->tasks != sum->tasks || q->running != sum->running || q->pending != sum->pending ||
        q->jobs != sum->jobs)
        return BAD(a, name_of(q),
                   "%" PRId64 " tasks, %" PRId64 " jobs run, %" PRId64 " wait, of %" PRId64
                   "; counted as %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64,
                   sum->tasks, sum->running, sum->pending, sum->jobs, q->tasks, q->running,
                   q->pending, q->jobs);
    r = check_ready(a, q);
    r = r == GANG_OK ? check_groups(a, q) : r;
    for (size_t b = 0; r == GANG_OK && b < q->users.cap; b++)
        for (struct gang__hash_link *n = q->users.bucket[b]; n && r == GANG_OK; n = n->next)
            r = check_user(a, q, GANG__OF(struct gang__user, link, n));
    a->listed_victims -= q->victims.count;
    return r;
}

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
    return g->job->state == GANG_JOB_RUNNING || g->job->deadline_ns > 0 ||
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

static gang_result check_blocked(struct audit *a)
{
    for (const struct gang__wait_class *wait_class = a->s->order.blocked; wait_class;
         wait_class = wait_class->next_blocked) {
        if (wait_class->state != GANG__CLASS_BLOCKED || wait_class->gangs.count == 0 ||
            !wait_class->at || *wait_class->at != wait_class ||
            *wait_class->at_blocked != wait_class)
            return BAD(a, name_of(wait_class->leaf),
                       "a wait class is listed as BLOCKED, and is not");
        if (!is_refused(a->s, wait_class))
            return BAD(a, name_of(wait_class->leaf),
                       "a wait class is BLOCKED for reason %d, which no longer holds",
                       wait_class->why);
    }
    return GANG_OK;
}

static gang_result check_timers(struct audit *a)
{
    const struct gang__job *before = NULL;
    for (struct gang__set_link *n = gang__set_first(&a->s->timers); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, timer, n);
        if (job->due_ns == INT64_MAX || job->state == GANG_JOB_ENDED)
            return BAD(a, "timers", "nothing of job %" PRIu64 " is due", job->id);
        if (before && before->due_ns > job->due_ns)
            return BAD(a, "timers", "job %" PRIu64 " is out of order", job->id);
        before = job;
    }
    return GANG_OK;
}

gang_result gang_sched_check(gang_sched *sched, struct gang_error *error)
{
    if (!sched)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler");
    struct audit a = {.s = sched, .error = error};
    uint32_t queues = sched->queues->count;
    gang__victims_sort(sched);
    a.sum = gang__zalloc(&sched->mem, queues + 1, sizeof(*a.sum));
    if (!a.sum)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang_result r = check_jobs(&a);
    for (uint32_t i = 0; r == GANG_OK && i < queues; i++)
        r = check_queue(&a, sched->qs[i]);
    if (r == GANG_OK)
        r = check_queue(&a, &sched->root);
    if (r == GANG_OK && a.listed_victims != 0)
        r = BAD(&a, "victims", "more or fewer gangs are listed as victims than run");
    if (r == GANG_OK)
        r = check_arrays(&a);
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
