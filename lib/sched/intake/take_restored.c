/* SPDX-License-Identifier: Apache-2.0 */
/* A job that runs already when it is submitted, or that the host restores: the owner takes it in on
 * its places, with its past, and what stops or is fenced of it goes on. */
#include <stdio.h>
#include <string.h>

#include "place/alloc/alloc.h"
#include "sched/intake/intake_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* The class of the partition in which the places of the gang lie. */
static struct gang__request_class *class_at_places(gang_sched *s, const struct gang__job *job)
{
    const struct gang__gang *g = &job->gang[0];
    if (!g->waits_as)
        return g->request_class;
    return g->waits_as->partition[gang__partition_of_places(s, g, job->restored->places,
                                                            job->restored->place_count)];
}

static int32_t state_before(const struct gang__job *job)
{
    return job->restored->past     ? job->restored->past->state
           : job->restored->places ? GANG_JOB_RUNNING
                                   : GANG_JOB_PENDING;
}

/* Does it share nodes in time? */
static bool is_sliced(const struct gang__job *job)
{
    const struct gang__restored_job *restored = job->restored;
    return restored->past && restored->past->slice_row > 0 &&
           (restored->places || restored->past->state == GANG_JOB_RUNNING);
}

/* Does it have an allocation, or does it resume on its places? It may run without any task: some
 * have ended, others were preempted or lost. */
static bool has_allocation(const struct gang__job *job)
{
    if (!job->restored->places)
        return state_before(job) == GANG_JOB_RUNNING;
    return state_before(job) != GANG_JOB_SUSPENDED || is_sliced(job);
}

/* Has the host heard of its start? */
static bool has_started(const struct gang__job *job)
{
    return !is_sliced(job) || job->restored->past->slice_state != GANG_SLICE_WAITS;
}

/* A suspended gang resumes on its places. False: out of memory. */
static bool remember_places(gang_sched *s, struct gang__job *job)
{
    struct gang__gang *g = &job->gang[0];
    if (job->restored->gone_count + job->restored->kept_stop_count > 0 &&
        !gang__ended_tasks_reserve(s, g))
        return false;
    for (size_t i = 0; i < job->restored->gone_count; i++)
        gang__ended_tasks_add(g, job->restored->gone[i]);
    if (!job->restored->places || has_allocation(job))
        return true;
    if (!g->places)
        g->places = gang__zalloc(&s->mem, job->restored->place_count, sizeof(*g->places));
    if (!g->places)
        return false;
    memcpy(g->places, job->restored->places, job->restored->place_count * sizeof(*g->places));
    g->place_count = (int64_t)job->restored->place_count;
    return true;
}

static void drop_stops(gang_sched *s, struct gang__stop *stops)
{
    for (struct gang__stop *next; stops; stops = next) {
        next = stops->next;
        gang__stop_discard(s, stops);
    }
}

/* A gang that is being suspended resumes on these places, also tasks that have stopped already.
 * False: out of memory. */
static bool set_resumes(gang_sched *s, struct gang__job *job)
{
    struct gang__gang *g = &job->gang[0];
    if (job->restored->resumes_count == 0)
        return true;
    struct gang_placement *places =
        gang__zalloc(&s->mem, job->restored->resumes_count, sizeof(*places));
    if (!places)
        return false;
    memcpy(places, job->restored->resumes, job->restored->resumes_count * sizeof(*places));
    gang__release(&s->mem, g->places);
    g->places = places;
    g->place_count = (int64_t)job->restored->resumes_count;
    return true;
}

/* The stops and fences that go on, with their memory, the oldest first, by `next`. GANG_OK;
 * GANG_ENOMEM. */
static gang_result make_stops(gang_sched *s, struct gang__job *job, gang_alloc_id alloc,
                              struct gang__stop **stops)
{
    struct gang__gang *g = &job->gang[0];
    struct gang__stop **last = stops;
    bool ok = true;
    *stops = NULL;
    g->alloc = alloc;
    for (size_t i = 0; ok && i < job->restored->kept_stop_count; i++) {
        *last = gang__stop_new_kept(s, g, &job->restored->stops[i]);
        ok = *last != NULL;
        last = ok ? &(*last)->next : last;
    }
    ok = ok && set_resumes(s, job);
    if (!ok)
        drop_stops(s, *stops);
    g->alloc = GANG_ID_NONE;
    return ok ? GANG_OK : GANG_ENOMEM;
}

/* Nothing runs, and no stop is left of what ran: fences alone hold places. */
static bool is_fenced(const struct gang__job *job)
{
    const struct gang__restored_job *restored = job->restored;
    bool leaves = !is_sliced(job) || (restored->past->slice_flags & GANG_SLICE_LEAVES);
    bool fenced = restored->past->state == GANG_JOB_STOPPING && leaves;
    for (size_t i = 0; i < restored->kept_stop_count; i++)
        fenced = fenced && restored->stops[i].what == GANG_STOP_FENCED;
    return fenced && restored->kept_stop_count > 0;
}

/* Has all of it stopped, to start elsewhere? Nothing runs at its old places. */
static bool has_stopped_to_move(const struct gang__job *job)
{
    const struct gang__kept_stop *stop = job->restored->stops;
    return job->restored->kept_stop_count == 1 && stop->what == GANG_STOP_MOVED && stop->whole &&
           stop->task.count == 0 && job->restored->past->end == GANG_END_NONE;
}

static void restore_stops(gang_sched *s, struct gang__job *job, struct gang__stop *stops)
{
    struct gang__gang *g = &job->gang[0];
    if (!stops)
        return;
    for (size_t i = 0; stops; i++) {
        struct gang__stop *next = stops->next;
        if (job->restored->stops[i].what == GANG_STOP_FENCED)
            gang__fence_restore(s, stops, &job->restored->stops[i]);
        else
            gang__stop_restore(s, stops, &job->restored->stops[i]);
        stops = next;
    }
    if (is_fenced(job)) {
        gang__gang_clear(s, g);
        if (!g->places)
            gang__job_ends_after(job, job->restored->past->reason);
        gang__job_state(s, job, job->restored->past->reason, "stopping");
    }
    g->begun = true;
    gang__job_count(s, job);
}

/* Times of the host's clock do not lie in the future: a host may have lost some of it. */
static int64_t not_later(const gang_sched *s, int64_t then_ns)
{
    return then_ns > 0 ? gang__min(then_ns, s->now_ns) : s->now_ns;
}

void gang__job_set_past(gang_sched *s, struct gang__job *job)
{
    const struct gang_job_past *past = job->restored->past;
    job->submitted_ns = not_later(s, past->submitted_ns);
    if (past->started_ns > 0)
        job->started_ns = not_later(s, past->started_ns);
    if (past->target >= 0)
        gang__reports_divide_target(job, past->target);
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (past->state == GANG_JOB_SUSPENDED && has_started(job))
            job->gang[i].begun = true;
}

/* The job runs already, on its places. Such a job has one gang. */
static void adopt(gang_sched *s, struct gang__job *job, struct gang__request_class *in,
                  gang_alloc_id alloc)
{
    int64_t started_ns = job->restored->past ? job->started_ns : 0;
    struct gang__gang *g = &job->gang[0];
    gang__usage_out(s, g);
    g->request_class = in;
    g->alloc = alloc;
    gang__gang_count(s, g);
    g->started_ns = started_ns > 0 ? started_ns : s->now_ns;
    g->served_ns = 0;
    if (has_started(job))
        job->started_ns = g->started_ns;
    gang__wake_calendar(s);
    gang__usage_in(s, g);
    gang__victims_enter(s, g);
    if (job->leaf_user)
        gang__order_rekey_user(s, job->leaf, job->leaf_user);
    if (!has_started(job))
        return;
    g->begun = true;
    gang__reports_started(s, g);
    gang__reports_note_minimum(s, g);
    if (job->stale)
        g->reports.below_min_ns = INT64_MIN / 2;
}

/* Its leaf is set. */
static gang_result take_places(gang_sched *s, struct gang__job *job, gang_request *request,
                               gang_alloc_id *alloc, struct gang_error *error)
{
    if (is_sliced(job))
        return gang__slice_restore(s, &job->gang[0], request, alloc, error);
    return gang__alloc_adopt(s->worker, request, job->restored->places,
                             (int64_t)job->restored->place_count, alloc, error);
}

/* The places of a restored job are taken, or its past contradicts that of others. */
static void end_refused(gang_sched *s, struct gang__job *job, gang_result why,
                        const struct gang_error *error)
{
    char text[2 * sizeof(error->text)];
    gang__job_count(s, job);
    snprintf(text, sizeof(text), "%s: %s: %s",
             why == GANG_ENOFIT ? "its places are not free" : "it cannot be restored", error->path,
             error->text);
    gang__job_end(s, job, GANG_END_REFUSED, text);
}

bool gang__job_take_restored(gang_sched *s, struct gang__job *job)
{
    gang_alloc_id alloc = GANG_ID_NONE;
    gang_result adopted = GANG_OK;
    struct gang__request_class *in = class_at_places(s, job);
    struct gang_error error = GANG_ERROR_INIT;
    if (!remember_places(s, job))
        return false;
    for (size_t i = 0; i < job->restored->apart_count && adopted == GANG_OK; i++)
        adopted = gang__kept_make(s, &job->gang[0], in->request, &job->restored->apart[i], &error);
    if (has_allocation(job) && adopted == GANG_OK)
        adopted = take_places(s, job, in->request, &alloc, &error);
    struct gang__stop *stops = NULL;
    bool has_none = adopted == GANG_ENOFIT || (adopted == GANG_OK && alloc == GANG_ID_NONE);
    if (has_none && has_stopped_to_move(job)) /* gangs share its old places, or others have them */
        adopted = GANG_OK;
    else if (adopted == GANG_OK && make_stops(s, job, alloc, &stops) != GANG_OK) {
        gang__give_back_or_defer(s, NULL, alloc, NULL, 0);
        adopted = GANG_ENOMEM;
    }
    if (adopted != GANG_OK && job->restored->apart_count > 0)
        gang__kept_drop(s, &job->gang[0]);
    if (adopted == GANG_ENOMEM)
        return false;
    if (job->gang[0].places)
        job->gang[0].request_class = in;
    gang__job_enter_tables(s, job);
    if (adopted != GANG_OK) {
        end_refused(s, job, adopted, &error);
        return true;
    }
    if (alloc != GANG_ID_NONE)
        adopt(s, job, in, alloc);
    gang__job_count(s, job);
    gang__job_arrived(s, job);
    if (job->gang[0].places || gang__slice_is_suspended(&job->gang[0]))
        gang__job_state(s, job, GANG_REASON_NONE, "suspended");
    else if (job->counted_running)
        gang__job_state(s, job, GANG_REASON_NONE, "runs already");
    restore_stops(s, job, stops);
    if (job->restored->past && alloc != GANG_ID_NONE)
        gang__reports_restored(s, &job->gang[0]);
    gang__job_settle(s, job);
    return true;
}
