/* SPDX-License-Identifier: Apache-2.0 */
/* Audit of jobs and gangs: what each has is computed from its allocations. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "place/request/request.h"
#include "sched/explain/audit_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/usage/usage.h"

struct count {
    const struct gang__audit *a;
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

static gang_result check_counts(struct gang__audit *a, const struct gang__gang *g, const char *path)
{
    const gang_request *request = gang__gang_request(g);
    struct count c = {a, g};
    int64_t tasks = 0, ended = 0, numbers = 0;
    if (!gang__grow(&a->s->mem, (void **)&a->by_group, &a->group_cap, request->group_count,
                    sizeof(*a->by_group)))
        return gang__error(a->error, GANG_ENOMEM, NULL, "out of memory");
    memset(a->by_group, 0, request->group_count * sizeof(*a->by_group));
    if (g->alloc != GANG_ID_NONE) {
        gang_result r = gang__alloc_each(a->s->cluster, g->alloc, count_task, &c);
        if (r != GANG_OK)
            return GANG__AUDIT_BAD(a, path, "its allocation: %s", gang_strerror(r));
    }
    for (uint32_t group = 0; group < request->group_count; group++) {
        tasks += g->has[group];
        ended += g->done[group];
        if (g->has[group] != a->by_group[group])
            return GANG__AUDIT_BAD(a, path, "group %u counts %" PRId64 " tasks, and has %" PRId64,
                                   group, g->has[group], a->by_group[group]);
        if (g->done[group] < 0 || g->failed[group] < 0 || g->failed[group] > g->done[group])
            return GANG__AUDIT_BAD(a, path,
                                   "group %u: %" PRId64 " ended, %" PRId64 " of them failed", group,
                                   g->done[group], g->failed[group]);
    }
    for (size_t i = 0; g->ended_tasks && i < gang__ended_tasks_words(g); i++)
        numbers += __builtin_popcountll(g->ended_tasks[i]);
    if (numbers != ended)
        return GANG__AUDIT_BAD(a, path, "%" PRId64 " tasks ended, and the numbers of %" PRId64,
                               ended, numbers);
    if (tasks != g->tasks || ended != g->ended)
        return GANG__AUDIT_BAD(
            a, path, "%" PRId64 " tasks and %" PRId64 " that ended, not %" PRId64 ", %" PRId64,
            tasks, ended, g->tasks, g->ended);
    return GANG_OK;
}

/* Has a gang with several partitions the class of one of them, or of all of them while it waits to
 * start? */
static gang_result check_partition(struct gang__audit *a, const struct gang__gang *g,
                                   const char *path)
{
    const struct gang__request_class *all = g->waits_as;
    bool one = false;
    for (uint32_t i = 0; all && i < all->partition_count; i++)
        one = one || g->request_class == all->partition[i];
    bool starts = g->order.wait_class && !g->order.wait_class->grower;
    if (!all || (one ? !starts : g->request_class == all && g->alloc == GANG_ID_NONE))
        return GANG_OK;
    return GANG__AUDIT_BAD(a, path, "its request is for the wrong one of its partitions");
}

/* Is it in the wait class where it belongs? */
static gang_result check_wait_class(struct gang__audit *a, const struct gang__gang *g,
                                    const char *path)
{
    const struct gang__wait_class *wait_class = g->order.wait_class;
    if (!wait_class)
        return GANG_OK;
    if (g->stop.handover || g->stop.moving || g->over || g->job->state == GANG_JOB_ENDED)
        return GANG__AUDIT_BAD(a, path, "it is in a wait class, and must not wait");
    if (wait_class->leaf != g->job->leaf || wait_class->request_class != g->request_class ||
        wait_class->user != g->job->leaf_user || wait_class->array != g->job->array)
        return GANG__AUDIT_BAD(a, path,
                               "its wait class is for another leaf, request class or user");
    if ((wait_class->grower != NULL) != (g->alloc != GANG_ID_NONE || g->places) ||
        (wait_class->grower && wait_class->grower != g))
        return GANG__AUDIT_BAD(a, path, "it starts in a wait class for growth, or the reverse");
    if (wait_class->state == GANG__CLASS_EMPTY || wait_class->gangs.count == 0)
        return GANG__AUDIT_BAD(a, path, "its wait class is marked as empty");
    for (const struct gang__set_link *n = gang__set_first(&wait_class->gangs); n;
         n = gang__set_next(n))
        if (n == &g->order.link)
            return GANG_OK;
    return GANG__AUDIT_BAD(a, path, "its wait class does not list it");
}

/* What its queues should count of the gang. */
void gang__audit_add_gang(struct gang__audit *a, const struct gang__gang *g,
                          struct gang__audit_sums *sum)
{
    const gang_request *request = gang__gang_request(g);
    int64_t rest = gang__gang_fixed_rest(g);
    struct gang__lacks left = gang__gang_lacks_begin(g);
    for (uint32_t group = 0; group < request->group_count; group++) {
        int64_t kept = gang__gang_fixed(g, group, &rest);
        int64_t lacks = gang__gang_lacks_next(g, group, &left);
        for (uint32_t i = 0; i < g->request_class->group[group].count; i++) {
            const struct gang__take *t =
                &g->request_class->take[g->request_class->group[group].from + i];
            sum->used[t->dim] += t->amount * (g->has[group] + g->stop.fenced[group]);
            sum->fixed[t->dim] += t->amount * kept;
            sum->want[t->dim] += t->amount * lacks;
        }
    }
    sum->tasks += g->tasks;
    (void)a;
}

/* The queues count a gang that waits for a handover, or moves, already. */
void gang__audit_add_handover(const struct gang__gang *g, struct gang__audit_sums *sum)
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

static gang_result check_gang(struct gang__audit *a, struct gang__gang *g)
{
    char path[64];
    snprintf(path, sizeof(path), "jobs[%" PRIu64 "].gangs[%" PRIu32 "]", g->job->id, g->index);
    if (g->job->state == GANG_JOB_ENDED && (g->alloc != GANG_ID_NONE || g->stop.first))
        return GANG__AUDIT_BAD(a, path, "the job has ended, and the gang holds an allocation");
    if (g->victim.listed != (g->alloc != GANG_ID_NONE))
        return GANG__AUDIT_BAD(a, path, "it runs, and is not listed as a victim; or the reverse");
    a->listed_victims += g->victim.listed;
    if (g->victim.elastic != (g->victim.listed && g->tasks + g->ended > gang__gang_request(g)->min))
        return GANG__AUDIT_BAD(
            a, path,
            "it has tasks above its minimum, and is not listed as elastic; or the reverse");
    gang_result r = check_counts(a, g, path);
    if (r == GANG_OK)
        r = check_partition(a, g, path);
    return r == GANG_OK ? check_wait_class(a, g, path) : r;
}

static gang_result check_job(struct gang__audit *a, struct gang__job *job)
{
    bool runs = false, ended = job->state == GANG_JOB_ENDED;
    struct gang__audit_sums own;
    memset(&own, 0, sizeof(own));
    for (uint32_t i = 0; i < job->gang_count; i++) {
        gang_result r = check_gang(a, &job->gang[i]);
        if (r != GANG_OK)
            return r;
        gang__audit_add_gang(a, &job->gang[i], &own);
        gang__audit_add_handover(&job->gang[i], &own);
        /* A job counts as running until it has stopped. */
        runs = runs || job->gang[i].alloc != GANG_ID_NONE || job->gang[i].stop.first ||
               job->gang[i].stop.moving;
        a->some_stop = a->some_stop || job->gang[i].stop.first;
    }
    if (job->counted_running != (runs && !ended) || job->counted_pending != (!runs && !ended))
        return GANG__AUDIT_BAD(a, "jobs", "job %" PRIu64 " is counted as what it is not", job->id);
    for (const struct gang__queue_state *q = job->leaf; q; q = q->parent) {
        struct gang__audit_sums *sum = &a->sum[gang__audit_index_of(a->s, q)];
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

gang_result gang__audit_jobs(struct gang__audit *a)
{
    size_t count = 0;
    gang_job_id before = GANG_ID_NONE;
    for (struct gang__set_link *n = gang__set_first(&a->s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        if (job->id <= before)
            return GANG__AUDIT_BAD(a, "jobs", "job %" PRIu64 " is out of order", job->id);
        if (gang__job_of(a->s, job->id) != job)
            return GANG__AUDIT_BAD(a, "jobs", "job %" PRIu64 " is not found by its id", job->id);
        gang_result r = check_job(a, job);
        if (r != GANG_OK)
            return r;
        before = job->id;
        count++;
    }
    if (count != (size_t)a->s->job_count || count != a->s->jobs.count)
        return GANG__AUDIT_BAD(a, "jobs", "%zu there, %" PRId64 " counted, %zu in the table", count,
                               a->s->job_count, a->s->jobs.count);
    return GANG_OK;
}
