/* SPDX-License-Identifier: Apache-2.0 */
/* One copy of a scheduler, run ahead: from event to event, each the end of a job or what the scheduler itself
 * has due. Its host is this file: it accepts all starts, and lets go at once of who is asked to stop. */
#include <string.h>

#include "sched/forecast_in.h"

/* ---- ends: a heap by time, then by job ------------------------------------------------------- */

/* It holds only as long as the job is in the run that began then; others are left where they lie. */
struct gang__end {
    int64_t at_ns;
    gang_job_id job;
    int64_t started_ns;
};

static bool ends_before(const struct gang__end *a, const struct gang__end *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->job < b->job;
}

static void end_put(struct gang__ahead_run *run, struct gang__end e)
{
    if (!gang__grow(&run->f->mem, (void **)&run->end, &run->end_room, run->ends + 1,
                    sizeof(*run->end))) {
        run->no_memory = true;
        return;
    }
    size_t at = run->ends++;
    for (; at > 0 && ends_before(&e, &run->end[(at - 1) / 2]); at = (at - 1) / 2)
        run->end[at] = run->end[(at - 1) / 2];
    run->end[at] = e;
}

static struct gang__end end_take(struct gang__ahead_run *run)
{
    struct gang__end first = run->end[0], last = run->end[--run->ends];
    size_t at = 0, below;
    while ((below = 2 * at + 1) < run->ends) {
        below += below + 1 < run->ends && ends_before(&run->end[below + 1], &run->end[below]);
        if (!ends_before(&run->end[below], &last))
            break;
        run->end[at] = run->end[below];
        at = below;
    }
    run->end[at] = last;
    return first;
}

/* ---- how long it runs ------------------------------------------------------------------------ */

/* The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t draw_of(const struct gang__ahead_run *run, gang_job_id job, uint64_t attempt)
{
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = mix(run->f->opts.seed + step);
    x = mix(x + step * ((uint64_t)run->sample + 1));
    x = mix(x + step * job);
    return mix(x + step * attempt);
}

/* Of a run that has lasted `ran_ns` already. 0: it is not known. -1: it should have ended. */
static int64_t predict(const struct gang__ahead_run *run, const struct gang__job *job,
                       int64_t ran_ns)
{
    enum { ATTEMPTS = 16 };
    const struct gang_forecast_opts *o = &run->f->opts;
    int64_t all = o->run_time ? 0 : job->expected_ns;
    for (uint64_t i = 0; o->run_time && i < ATTEMPTS; i++) {
        all = o->run_time(job->id, job->cookie, run->sample, draw_of(run, job->id, i), o->user);
        if (all <= 0 || all > ran_ns)
            break;
    }
    return all > 0 && all <= ran_ns ? -1 : all;
}

/* What a suspended job has still to run. */
struct rest {
    struct gang__name link;
    gang_job_id job;
    int64_t ns;
};

static struct rest *rest_of(const struct gang__ahead_run *run, gang_job_id job)
{
    struct gang__name *n = gang__names_first(&run->rest, job);
    while (n && GANG__OF(struct rest, link, n)->job != job)
        n = n->next;
    return n ? GANG__OF(struct rest, link, n) : NULL;
}

static void rest_put(struct gang__ahead_run *run, gang_job_id job, int64_t ns)
{
    struct rest *r = rest_of(run, job);
    if (!r && gang__names_reserve(&run->rest, &run->f->mem) == GANG_OK &&
        (r = gang__zalloc(&run->f->mem, 1, sizeof(*r))) != NULL) {
        r->job = job;
        gang__names_put(&run->rest, &r->link, job);
    }
    if (r)
        r->ns = ns;
    else
        run->no_memory = true;
}

/* What it has still to run, told once; 0: it was not suspended. */
static int64_t rest_take(struct gang__ahead_run *run, gang_job_id job)
{
    struct rest *r = rest_of(run, job);
    if (!r)
        return 0;
    int64_t ns = r->ns;
    gang__names_remove(&run->rest, &r->link);
    gang__release(&run->f->mem, r);
    return ns;
}

static void rest_free(struct gang__ahead_run *run)
{
    for (size_t i = 0; i < run->rest.room; i++)
        while (run->rest.bucket[i]) {
            struct rest *r = GANG__OF(struct rest, link, run->rest.bucket[i]);
            gang__names_remove(&run->rest, &r->link);
            gang__release(&run->f->mem, r);
        }
    gang__names_free(&run->rest, &run->f->mem);
    memset(&run->rest, 0, sizeof(run->rest));
}

/* It runs since job->started_ns: note its end. Limit, deadline and the end of a reservation are the scheduler's own
 * affair. */
static void expect_end(struct gang__ahead_run *run, const struct gang__job *job)
{
    int64_t ran = run->s->now_ns - job->started_ns, rest = rest_take(run, job->id);
    int64_t all = rest ? rest : predict(run, job, ran);
    bool stopped = gang__term_end(job, job->started_ns) != INT64_MAX ||
                   gang__reserve_stop_ns(job) != INT64_MAX;
    if (all == 0 || (all < 0 && stopped))
        return;
    int64_t at = all < 0 ? run->s->now_ns : gang__add_sat(job->started_ns, all);
    end_put(run, (struct gang__end){at, job->id, job->started_ns});
}

/* When it would have ended, had it not been stopped; 0: not known. */
static int64_t end_of(const struct gang__ahead_run *run, const struct gang__job *job)
{
    for (size_t i = 0; i < run->ends; i++)
        if (run->end[i].job == job->id && run->end[i].started_ns == job->started_ns)
            return run->end[i].at_ns;
    return 0;
}

/* ---- the host -------------------------------------------------------------------------------- */

static struct gang__expected *entry_of(const struct gang__ahead_run *run, gang_job_id job)
{
    size_t low = 0, high = run->f->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->f->expected[middle].job < job)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->f->count && run->f->expected[low].job == job ? &run->f->expected[low] : NULL;
}

static int32_t on_state(const struct gang_event *e, void *user)
{
    struct gang__ahead_run *run = user;
    struct gang__expected *x = run->f ? entry_of(run, e->job) : NULL;
    bool runs = e->state == GANG_JOB_RUNNING, ended = e->state == GANG_JOB_ENDED;
    if (x && (runs || ended) && run->start_ns[x - run->f->expected] == INT64_MAX &&
        x->what != GANG_EXPECTED_END) {
        if (runs)
            run->start_ns[x - run->f->expected] = e->now_ns;
        else
            x->what = GANG_EXPECTED_END;
        run->left--;
    }
    run->moved = true;
    if (run->f && runs)
        expect_end(run, gang__job_of(run->s, e->job));
    return 0;
}

/* It stops at once, and has the rest to run when it resumes. */
static int32_t on_suspend(const struct gang_event *e, void *user)
{
    struct gang__ahead_run *run = user;
    const struct gang__job *job = gang__job_of(run->s, e->job);
    int64_t end = run->f ? end_of(run, job) : 0;
    if (end)
        rest_put(run, e->job, end > e->now_ns ? end - e->now_ns : 1);
    return gang_report_tasks(run->s, e->job, e->part, e->alloc, NULL, 0, GANG_TASK_GONE);
}

const struct gang_host_ops gang__forecast_ops = {
    .size = sizeof(gang__forecast_ops), .suspend = on_suspend, .state = on_state};

/* ---- running --------------------------------------------------------------------------------- */

/* Those that run already. */
static void expect_ends(struct gang__ahead_run *run)
{
    gang_sched *s = run->s;
    for (struct gang__tree_link *n = gang__ordered_first(&s->by_id); n; n = gang__ordered_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, all, n);
        if (job->state == GANG_JOB_RUNNING)
            expect_end(run, job);
    }
}

/* Those whose end has come. */
static gang_result report_ends(struct gang__ahead_run *run, int64_t now_ns)
{
    gang_result r = GANG_OK;
    while (run->ends && run->end[0].at_ns <= now_ns && r == GANG_OK) {
        struct gang__end e = end_take(run);
        const struct gang__job *job = gang__job_of(run->s, e.job);
        if (job && job->state == GANG_JOB_RUNNING && job->started_ns == e.started_ns)
            r = gang_report_end(run->s, e.job, 1);
    }
    return r;
}

/* Why one that has not started waits, as far as that is known without asking. */
static int32_t wait_of(const gang_sched *s, gang_job_id id)
{
    const struct gang__job *job = gang__job_of(s, id);
    const struct gang__unit *u = job ? &job->unit[0] : NULL;
    if (!u)
        return 0;
    if (job->wait_why)
        return job->wait_why;
    if (u->claim)
        return GANG_WAIT_VICTIMS;
    return u->bin && u->bin->state == GANG__BIN_BLOCKED ? u->bin->why : 0;
}

static void note_rest(struct gang__ahead_run *run, bool cut)
{
    for (size_t i = 0; i < run->f->count; i++) {
        struct gang__expected *x = &run->f->expected[i];
        if (run->start_ns[i] != INT64_MAX || x->what == GANG_EXPECTED_END)
            continue;
        x->what = cut ? GANG_EXPECTED_LATER : GANG_EXPECTED_NEVER;
        x->wait = wait_of(run->s, x->job);
    }
}

/* When something happens next; INT64_MAX: nothing does. */
static int64_t next_of(const struct gang__ahead_run *run)
{
    int64_t next = gang_sched_next(run->s);
    return run->ends && run->end[0].at_ns < next ? run->end[0].at_ns : next;
}

/* Reservations that are repeated without end go on for ever. When nothing else is to happen any more, and all that is
 * planned of them by then has passed without anybody's starting or stopping, it will not be otherwise later. */
static bool goes_round(struct gang__ahead_run *run)
{
    gang_sched *s = run->s;
    int64_t last = gang__reserve_endless(s);
    if (run->moved || run->ends || last == INT64_MAX || gang__timers_next(s) != INT64_MAX ||
        gang__config_next(s) != INT64_MAX || s->grown_up_ns != INT64_MAX)
        run->round_ns = INT64_MAX;
    else if (run->round_ns == INT64_MAX)
        run->round_ns = last;
    run->moved = false;
    return s->now_ns >= run->round_ns;
}

gang_result gang__forecast_ahead(struct gang__ahead_run *run)
{
    const struct gang_forecast_opts *o = &run->f->opts;
    int64_t now = o->now_ns > run->s->now_ns ? o->now_ns : run->s->now_ns;
    int64_t end = o->horizon_ns ? gang__add_sat(now > 0 ? now : 0, o->horizon_ns) : INT64_MAX;
    end = o->horizon_ns && now < 0 ? now + o->horizon_ns : end;
    gang_result r = GANG_OK;
    int64_t events = 0;
    bool cut = false;
    run->left = run->f->count;
    run->round_ns = INT64_MAX;
    run->s->now_ns = now;
    expect_ends(run);
    while (run->left > 0 && r == GANG_OK && !cut) {
        r = report_ends(run, now);
        if (r == GANG_OK)
            r = gang_sched_run(run->s, now, NULL, NULL);
        if (r == GANG_OK && run->no_memory)
            r = GANG_ENOMEM;
        int64_t next = next_of(run);
        if (next == INT64_MAX || goes_round(run))
            break;
        cut = next > end || ++events >= o->max_events;
        now = next > now ? next : now;
    }
    if (r == GANG_OK)
        note_rest(run, cut);
    rest_free(run);
    gang__release(&run->f->mem, run->end);
    run->end = NULL;
    run->ends = run->end_room = 0;
    return r;
}
