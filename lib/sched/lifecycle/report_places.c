/* SPDX-License-Identifier: Apache-2.0 */
/* What does a report about all that runs on a node change?
 *
 * In this order: tasks that do not run there any more end; the books follow tasks that run on other
 * devices or cores; the rest of the report is held for others (sched/foreign); listed tasks have
 * been heard of; and the host gets the conflicts. What takes memory comes before that, so
 * that a report which is repeated tells it once. */
#include <stdlib.h>
#include <string.h>

#include "sched/foreign/foreign.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/lifecycle/places_in.h"
#include "sched/slice/slice.h"
#include "sched/wake/wake.h"

/* ---- which tasks are listed ------------------------------------------------------------------ */

static int by_task(const void *a, const void *b)
{
    const struct gang__real_place *x = *(const struct gang__real_place *const *)a;
    const struct gang__real_place *y = *(const struct gang__real_place *const *)b;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    if (x->gang != y->gang)
        return x->gang < y->gang ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

static int by_task_and_place(const void *a, const void *b)
{
    int order = by_task(a, b);
    uintptr_t x = (uintptr_t) * (const struct gang__real_place *const *)a;
    uintptr_t y = (uintptr_t) * (const struct gang__real_place *const *)b;
    return order ? order : (x > y) - (x < y);
}

static bool is_listed(const struct gang__places_report *r, const struct gang__gang *g, int64_t task)
{
    struct gang__real_place key, *at = &key;
    key.job = g->job->id;
    key.gang = g->index;
    key.task = task;
    return bsearch(&at, r->sorted, r->count, sizeof(at), by_task) != NULL;
}

/* ---- tasks that do not run ------------------------------------------------------------------- */

static void keep_unlisted(const struct gang__places_report *r, const struct gang__gang *g,
                          struct gang__found *f)
{
    size_t kept = 0;
    gang__report_keep_node(r->s, f, r->node);
    for (size_t i = 0; i < f->count; i++)
        if (!is_listed(r, g, f->task[i].task))
            f->task[kept++] = f->task[i];
    f->count = kept;
}

static bool report_over(struct gang__places_report *r, struct gang__gang *g,
                        const struct gang__found *f, int32_t what)
{
    struct gang__task_report report = {g->index, GANG_ID_NONE, NULL, f->count, what};
    if (f->count == 0 || g->job->state == GANG_JOB_ENDED)
        return true;
    int64_t *tasks = gang__report_numbers(r->s, f);
    report.task = tasks;
    bool ok = tasks && gang__reports_tasks(r->s, g->job, &report);
    gang__release(&r->s->mem, tasks);
    return ok;
}

static bool end_unlisted(struct gang__places_report *r, struct gang__gang *g)
{
    struct gang__report look = {.job = g->job, .gang = g};
    bool ok = gang__report_look_up(r->s, &look, NULL, 0);
    keep_unlisted(r, g, &look.running);
    keep_unlisted(r, g, &look.fenced);
    keep_unlisted(r, g, &look.stopping);
    ok = ok && report_over(r, g, &look.stopping, GANG_TASK_STOPPED) &&
         report_over(r, g, &look.fenced, GANG_TASK_FAILED) &&
         report_over(r, g, &look.running, GANG_TASK_FAILED);
    gang__report_free(r->s, &look);
    return ok;
}

/* Gangs that share nodes in time and wait for their turn run nowhere. */
static bool end_all_unlisted(struct gang__places_report *r)
{
    struct gang__set_link *n = gang__set_first(&r->s->by_id);
    for (; n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count && job->state != GANG_JOB_ENDED; i++)
            if (gang__gang_holds(&job->gang[i]) != GANG_ID_NONE &&
                !gang__slice_is_suspended(&job->gang[i]) && !end_unlisted(r, &job->gang[i]))
                return false;
    }
    return true;
}

/* ---- the books follow ------------------------------------------------------------------------ */

static struct gang__gang *gang_of(const gang_sched *s, const struct gang__real_place *at)
{
    struct gang__job *job = at->job != GANG_ID_NONE ? gang__job_of(s, at->job) : NULL;
    return job ? gang__report_gang(job, (uint32_t)at->gang, GANG_ID_NONE) : NULL;
}

/* The first one if a task is listed twice. */
static bool is_first(const struct gang__places_report *r, const struct gang__real_place *at)
{
    const struct gang__real_place *const *found =
        bsearch(&at, r->sorted, r->count, sizeof(at), by_task_and_place);
    return found && (found == r->sorted || by_task(found - 1, &at) != 0);
}

/* The tasks of jobs that hold something, as place/ wants them. */
static void collect_tasks(struct gang__places_report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct gang__real_place *at = &r->place[i];
        const struct gang__gang *g = gang_of(r->s, at);
        bool again = g && !is_first(r, at);
        r->outcome[i] = at->job == GANG_ID_NONE ? 0
                        : again                 ? GANG_CONFLICT_ELSEWHERE
                                                : GANG_CONFLICT_UNKNOWN;
        if (!g || again)
            continue;
        struct gang__real_task *t = &r->task[r->task_count];
        t->alloc = gang__gang_holds(g);
        t->task = at->task;
        t->any_devices = at->any_devices;
        t->any_cores = at->any_cores;
        t->gpus = at->gpus;
        memcpy(t->cores, at->cores, sizeof(t->cores));
        r->place_of[r->task_count++] = i;
    }
}

static gang_result rebind(struct gang__places_report *r)
{
    gang_sched *s = r->s;
    gang_alloc_id hold = gang__foreign_alloc(s, r->node);
    struct gang__rooms rooms;
    gang_result done = GANG_ENOMEM;
    int tries = 0;
    if (gang__slice_rooms_make(s, r->node, r->task, r->task_count, &rooms))
        do
            done = gang__tasks_rebind(s->worker, r->node, r->task, r->task_count, hold,
                                      rooms.count ? &rooms : NULL);
        while (gang__busy_again(done, &tries));
    gang__slice_rooms_free(s, &rooms);
    return done;
}

static void note_moved(struct gang__places_report *r, const struct gang__real_place *at)
{
    struct gang__gang *g = gang_of(r->s, at);
    gang__log_job(r->s, GANG_LOG_REBOUND, g->job,
                  "job %llu: task %lld runs on other devices or cores of node %s than booked; the "
                  "books follow",
                  (unsigned long long)at->job, (long long)at->task, r->info.name);
    gang__suspended_moved(r->s, g, at->task);
    gang__slice_task_moved(r->s, gang__gang_holds(g), at->task);
    gang__wake_holding(r->s, g);
    gang__wake_calendar(r->s);
    r->moved = true;
}

static void note_outcomes(struct gang__places_report *r)
{
    for (size_t k = 0; k < r->task_count; k++) {
        size_t i = r->place_of[k];
        switch (r->task[k].outcome) {
        case GANG__REBOUND_MOVED:
            note_moved(r, &r->place[i]);
            r->outcome[i] = 0;
            break;
        case GANG__REBOUND_SAME:
        case GANG__REBOUND_TAKEN: /* its claim says what is taken */
            r->outcome[i] = 0;
            break;
        case GANG__REBOUND_ODD:
            r->outcome[i] = GANG_CONFLICT_UNSUITABLE;
            break;
        case GANG__REBOUND_ELSEWHERE:
            r->outcome[i] = GANG_CONFLICT_ELSEWHERE;
            break;
        case GANG__REBOUND_UNKNOWN:
            r->outcome[i] = GANG_CONFLICT_UNKNOWN;
            break;
        }
    }
    if (r->moved)
        gang__wake_capacity_any(r->s);
}

/* ---- what others use ------------------------------------------------------------------------- */

static void claim_whole(struct gang__places_report *r, size_t i)
{
    const struct gang__real_place *at = &r->place[i];
    struct gang__claim *claim = &r->claim[i];
    claim->gpus = at->gpus;
    claim->share = (uint32_t)at->gpu_share;
    memcpy(claim->cores, at->cores, sizeof(claim->cores));
    claim->cpu = (uint64_t)at->cpu_milli;
    claim->pages = (uint64_t)((at->memory_bytes + GANG_PAGE_BYTES - 1) / GANG_PAGE_BYTES);
}

/* Claim i is of place i: nothing, if the task is where it is booked. */
static void make_claims(struct gang__places_report *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->place[i].job == GANG_ID_NONE || r->outcome[i] == GANG_CONFLICT_UNKNOWN ||
            r->outcome[i] == GANG_CONFLICT_ELSEWHERE)
            claim_whole(r, i);
    for (size_t k = 0; k < r->task_count; k++) {
        const struct gang__real_task *t = &r->task[k];
        size_t i = r->place_of[k];
        if (t->outcome != GANG__REBOUND_TAKEN && t->outcome != GANG__REBOUND_ODD)
            continue;
        r->claim[i].gpus = t->more_gpus;
        r->claim[i].share = t->share;
        memcpy(r->claim[i].cores, t->more_cores, sizeof(t->more_cores));
        r->of[i] = (struct gang__claim_of){t->alloc, t->task};
    }
    for (size_t k = 0; k < r->task_count; k++)
        if (r->task[k].outcome == GANG__REBOUND_ELSEWHERE)
            r->of[r->place_of[k]] = (struct gang__claim_of){r->task[k].alloc, r->task[k].task};
}

/* ---- the report ------------------------------------------------------------------------------ */

/* Listed tasks run: as their heartbeats. */
static bool hear(struct gang__places_report *r)
{
    for (size_t k = 0; k < r->task_count; k++) {
        const struct gang__real_place *at = &r->place[r->place_of[k]];
        const struct gang__gang *g = gang_of(r->s, at);
        const struct gang__task_report report = {(uint32_t)at->gang, GANG_ID_NONE, &at->task, 1,
                                                 GANG_TASK_HEARTBEAT};
        bool runs = r->task[k].outcome != GANG__REBOUND_ELSEWHERE &&
                    r->task[k].outcome != GANG__REBOUND_UNKNOWN;
        if (g && runs && g->job->options->heartbeat_ns > 0 &&
            !gang__reports_tasks(r->s, g->job, &report))
            return false;
    }
    return true;
}

static bool apply(struct gang__places_report *r)
{
    if (r->complete && !end_all_unlisted(r))
        return false;
    collect_tasks(r);
    gang_result done = rebind(r);
    if (done == GANG_OK) {
        note_outcomes(r);
        make_claims(r);
        done = gang__foreign_set(r->s, r->node, r->claim, r->of, r->count);
    }
    if (done != GANG_OK)
        return done == GANG_ESTALE; /* removed meanwhile */
    return hear(r) && gang__places_tell(r);
}

/* One block for all that a report needs. */
static void *lay_out(struct gang__places_report *r)
{
    size_t n = r->count + 1, at = 0,
           size[6] = {sizeof(*r->task),   sizeof(*r->claim),    sizeof(*r->of),
                      sizeof(*r->sorted), sizeof(*r->place_of), sizeof(*r->outcome)};
    for (int i = 0; i < 6; i++)
        at += n * size[i];
    char *block = gang__zalloc(&r->s->mem, 1, at);
    if (!block)
        return NULL;
    r->task = (void *)block;
    r->claim = (void *)(r->task + n);
    r->of = (void *)(r->claim + n);
    r->sorted = (void *)(r->of + n);
    r->place_of = (void *)(r->sorted + n);
    r->outcome = (void *)(r->place_of + n);
    return block;
}

bool gang__reports_places(gang_sched *s, gang_node_id node, const struct gang__real_place *place,
                          size_t count, uint32_t flags)
{
    struct gang__places_report r = {.s = s, .node = node, .place = place, .count = count};
    r.complete = (flags & GANG_PLACES_COMPLETE) != 0;
    r.info.size = sizeof(r.info);
    if (gang_node_get(s->cluster, node, &r.info) != GANG_OK || r.info.state == GANG_NODE_REMOVED) {
        gang__log_unknown(s, GANG_LOG_IGNORED, GANG_ID_NONE,
                          "a report about an unknown node is ignored");
        return true;
    }
    void *block = lay_out(&r);
    if (!block)
        return false;
    for (size_t i = 0; i < count; i++)
        r.sorted[i] = &place[i];
    qsort(r.sorted, count, sizeof(*r.sorted), by_task_and_place);
    bool ok = apply(&r);
    gang__release(&s->mem, block);
    return ok;
}
