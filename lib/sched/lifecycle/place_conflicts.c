/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the conflicts of a report about a node, and tells the host. */
#include <stdio.h>
#include <string.h>

#include "place/report/report.h"
#include "sched/foreign/foreign.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/lifecycle/places_in.h"
#include "sched/slice/slice.h"

/* A task that is booked on the node. */
struct booked {
    gang_alloc_id alloc;
    struct gang_task task;
};
struct books {
    struct gang__places_report *r;
    gang_alloc_id alloc; /* being read */
    struct booked *entry;
    size_t count, cap;
};

static int32_t note_booked(const struct gang_task *task, void *user)
{
    struct books *b = user;
    if (task->node != b->r->node)
        return 0;
    if (!gang__grow(&b->r->s->mem, (void **)&b->entry, &b->cap, b->count + 1, sizeof(*b->entry)))
        return GANG_ENOMEM;
    b->entry[b->count++] = (struct booked){b->alloc, *task};
    return 0;
}

/* All allocations but the one for others. One that another thread changes is left out. False: out
 * of memory. */
static bool read_books(struct books *b)
{
    gang_cluster *c = b->r->s->cluster;
    gang_alloc_id hold = gang__foreign_alloc(b->r->s, b->r->node);
    gang_result r = GANG_OK;
    for (b->alloc = gang_alloc_next(c, GANG_ID_NONE); b->alloc != GANG_ID_NONE && r != GANG_ENOMEM;
         b->alloc = gang_alloc_next(c, b->alloc))
        if (b->alloc != hold)
            r = gang__alloc_each(c, b->alloc, note_booked, b);
    return r != GANG_ENOMEM;
}

/* ---- the job of an allocation ---------------------------------------------------------------- */

static bool is_of(const struct gang__gang *g, gang_alloc_id alloc)
{
    bool is = gang__gang_holds(g) == alloc;
    for (const struct gang__stop *stop = g->stop.first; stop && !is; stop = stop->next)
        is = stop->alloc == alloc;
    return is;
}

static const struct gang__job *taker_of(const gang_sched *s, gang_alloc_id alloc)
{
    for (const struct gang__handover *h = s->stop.handovers; h; h = h->next) {
        bool is = false;
        for (size_t i = 0; i < h->hold_count; i++)
            is = is || h->holds[i].alloc == alloc;
        for (const struct gang__stop *stop = h->stops; stop; stop = stop->next_of_handover)
            is = is || (!stop->released && stop->alloc == alloc);
        if (is)
            return h->taker ? h->taker->job : NULL;
    }
    return NULL;
}

/* The job that has the allocation, or for which it is kept. */
static const struct gang__job *job_of_alloc(const gang_sched *s, gang_alloc_id alloc)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++)
            if (is_of(&job->gang[i], alloc))
                return job;
    }
    return taker_of(s, alloc);
}

/* ---- telling --------------------------------------------------------------------------------- */

static void name_reported(const struct gang_place_conflict *c, char *text, size_t size)
{
    if (c->job == GANG_ID_NONE)
        snprintf(text, size, "processes of no job");
    else
        snprintf(text, size, "task %lld of job %llu", (long long)c->task,
                 (unsigned long long)c->job);
}

static void name_booked(const struct gang_place_conflict *c, char *text, size_t size)
{
    if (c->booked_alloc == GANG_ID_NONE)
        snprintf(text, size, "more millicores or memory than are free");
    else if (c->booked_job == GANG_ID_NONE)
        snprintf(text, size, "devices or cores of allocation %llu of no job",
                 (unsigned long long)c->booked_alloc);
    else
        snprintf(text, size, "devices or cores that are booked for task %lld of job %llu",
                 (long long)c->booked_task, (unsigned long long)c->booked_job);
}

static void tell(const struct gang__places_report *r, struct gang_place_conflict *c)
{
    char text[256], who[64], booked[96];
    const char *name = r->info.name;
    name_reported(c, who, sizeof(who));
    name_booked(c, booked, sizeof(booked));
    if (c->what == GANG_CONFLICT_TAKEN)
        snprintf(text, sizeof(text), "node %.80s: %s: uses %s", name, who, booked);
    else
        snprintf(text, sizeof(text), "node %.80s: %s: %s", name, who,
                 c->what == GANG_CONFLICT_UNKNOWN     ? "runs there, and no such task runs"
                 : c->what == GANG_CONFLICT_ELSEWHERE ? "runs there, and is booked elsewhere"
                                                      : "does not use what it can have there");
    const struct gang__job *job =
        c->job != GANG_ID_NONE ? gang__job_of(r->s, c->job) : gang__job_of(r->s, c->booked_job);
    if (job)
        gang__log_job(r->s, GANG_LOG_CONFLICT, job, "%s", text);
    else
        gang__log_unknown(r->s, GANG_LOG_CONFLICT, c->job, "%s", text);
    c->text = text;
    if (r->s->ops.conflict)
        (void)r->s->ops.conflict(c, r->s->user);
    c->text = NULL;
}

static struct gang_place_conflict conflict_of(const struct gang__places_report *r, size_t i)
{
    struct gang_place_conflict c = GANG_PLACE_CONFLICT_INIT;
    const struct gang__real_place *at = &r->place[i];
    const struct gang__job *job = gang__job_of(r->s, at->job);
    c.node = r->node;
    c.what = r->outcome[i];
    c.job = at->job;
    c.gang = (int32_t)at->gang;
    c.cookie = job ? job->cookie : 0;
    c.task = at->job == GANG_ID_NONE ? -1 : at->task;
    c.gpus = at->gpus;
    memcpy(c.cores, at->cores, sizeof(c.cores));
    c.now_ns = r->s->now_ns;
    return c;
}

static bool overlaps(const struct gang__claim *claim, const struct gang_task *task,
                     struct gang_place_conflict *c)
{
    c->gpus = claim->short_gpus & task->gpus;
    bool any = c->gpus != 0;
    for (size_t k = 0; k < GANG__CORE_MASKS; k++) {
        c->cores[k] = claim->short_cores[k] & task->cores[k];
        any = any || c->cores[k];
    }
    return any;
}

static void tell_booked(const struct books *b, const struct booked *by,
                        struct gang_place_conflict *c)
{
    const struct gang__job *job = job_of_alloc(b->r->s, by->alloc);
    c->booked_alloc = by->alloc;
    c->booked_job = job ? job->id : GANG_ID_NONE;
    c->booked_cookie = job ? job->cookie : 0;
    c->booked_task = by->task.task;
    tell(b->r, c);
}

static bool names_parts(const struct gang_place_conflict *c)
{
    bool names = c->gpus != 0;
    for (size_t k = 0; k < GANG__CORE_MASKS; k++)
        names = names || c->cores[k];
    return names;
}

/* The first task that is booked there, but not the column of a matrix; NULL: there is none. */
static const struct booked *first_booked(const struct books *b)
{
    for (size_t k = 0; k < b->count; k++)
        if (!gang__slice_is_column(b->r->s, b->r->node, b->entry[k].alloc))
            return &b->entry[k];
    return NULL;
}

/* Tell of each task that has what place i uses. An exclusive allocation also has what none of its
 * tasks has: then all tasks on the node are its own. So does a matrix. */
static void tell_taken(const struct books *b, size_t i)
{
    const struct gang__places_report *r = b->r;
    struct gang_place_conflict c = conflict_of(r, i);
    bool told = false;
    c.what = GANG_CONFLICT_TAKEN;
    for (size_t k = 0; k < b->count; k++)
        if (gang__slice_conflicts(r->s, r->node, r->of[i].alloc, b->entry[k].alloc) &&
            overlaps(&r->claim[i], &b->entry[k].task, &c)) {
            tell_booked(b, &b->entry[k], &c);
            told = true;
        }
    if (told)
        return;
    c.gpus = r->claim[i].short_gpus;
    memcpy(c.cores, r->claim[i].short_cores, sizeof(c.cores));
    const struct booked *by = first_booked(b);
    if (by && names_parts(&c))
        tell_booked(b, by, &c);
    else
        tell(r, &c);
}

bool gang__places_tell(struct gang__places_report *r)
{
    struct books b = {.r = r};
    bool some = false;
    for (size_t i = 0; i < r->count; i++)
        some = some || r->claim[i].is_short;
    if (some && !read_books(&b)) {
        gang__release(&r->s->mem, b.entry);
        return false;
    }
    for (size_t i = 0; i < r->count; i++) {
        struct gang_place_conflict c = conflict_of(r, i);
        if (r->claim[i].odd)
            c.what = GANG_CONFLICT_UNSUITABLE;
        if (c.what)
            tell(r, &c);
        if (r->claim[i].is_short)
            tell_taken(&b, i);
    }
    gang__release(&r->s->mem, b.entry);
    return true;
}
