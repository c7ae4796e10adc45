/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one copy of a scheduler ahead, from event to event: the end of a job, or what the
 * scheduler itself has due. This file is its host: it accepts all starts, and tasks stop at once
 * when asked. */
#include <string.h>

#include "base/draw.h"
#include "sched/cycle/cycle.h"
#include "sched/forecast/forecast_in.h"
#include "sched/intake/intake.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"

/* ---- when jobs end --------------------------------------------------------------------------- */

/* The run time of a job, from the moment it is known until the job waits for a restart. */
struct stay {
    struct gang__hash_link link; /* in run->stays, by job */
    struct gang__set_link turn;  /* in run->ends, while `ends` */
    gang_job_id job;
    int64_t started_ns; /* it runs from this start on, */
    int64_t run_ns;     /* its run time without the pauses between its turns; 0: not known */
    int64_t rest_ns;    /* it was suspended: its run time left when it resumes; 0: it was not */
    int64_t at_ns;      /* it ends then, if nothing stops it before */
    bool ends;
};

static int by_end(const struct gang__set_link *a, const struct gang__set_link *b, const void *ctx)
{
    const struct stay *x = GANG__OF(const struct stay, turn, a);
    const struct stay *y = GANG__OF(const struct stay, turn, b);
    (void)ctx;
    return x->at_ns != y->at_ns ? (x->at_ns < y->at_ns ? -1 : 1)
                                : (x->job > y->job) - (x->job < y->job);
}

static struct stay *stay_of(const struct gang__forecast_run_state *run, gang_job_id job)
{
    struct gang__hash_link *n = gang__hash_first(&run->stays, job);
    while (n && GANG__OF(struct stay, link, n)->job != job)
        n = n->next;
    return n ? GANG__OF(struct stay, link, n) : NULL;
}

/* NULL: out of memory. */
static struct stay *stay_make(struct gang__forecast_run_state *run, gang_job_id job)
{
    const struct gang_mem *mem = &run->f->mem;
    struct stay *x =
        gang__hash_reserve(&run->stays, mem) == GANG_OK ? gang__zalloc(mem, 1, sizeof(*x)) : NULL;
    if (!x) {
        run->no_memory = true;
        return NULL;
    }
    x->job = job;
    gang__hash_insert(&run->stays, &x->link, job);
    return x;
}

/* Notes when it ends; or that it does not run any more. */
static void ends_at(struct gang__forecast_run_state *run, struct stay *x, int64_t at_ns)
{
    x->at_ns = at_ns;
    x->ends = true;
    gang__set_insert(&run->ends, &x->turn);
}

static void ends_not(struct gang__forecast_run_state *run, struct stay *x)
{
    if (x->ends)
        gang__set_remove(&run->ends, &x->turn);
    x->ends = false;
}

static void stay_free(struct gang__forecast_run_state *run, struct stay *x)
{
    ends_not(run, x);
    gang__hash_remove(&run->stays, &x->link);
    gang__release(&run->f->mem, x);
}

static void free_stays(struct gang__forecast_run_state *run)
{
    for (size_t i = 0; i < run->stays.cap; i++)
        while (run->stays.bucket[i])
            stay_free(run, GANG__OF(struct stay, link, run->stays.bucket[i]));
    gang__hash_free(&run->stays, &run->f->mem);
}

/* When the next one ends; INT64_MAX: none is known to. */
static int64_t next_end(const struct gang__forecast_run_state *run)
{
    struct gang__set_link *n = gang__set_first(&run->ends);
    return n ? GANG__OF(struct stay, turn, n)->at_ns : INT64_MAX;
}

/* ---- how long it runs ------------------------------------------------------------------------ */

static uint64_t draw_of(const struct gang__forecast_run_state *run, gang_job_id job,
                        uint64_t attempt)
{
    return gang__draw(run->f->opts.seed, (uint64_t)run->sample + 1, job, attempt);
}

/* The run time of a job that has run for `ran_ns`. 0: unknown. -1: it should have ended. */
static int64_t predict(const struct gang__forecast_run_state *run, const struct gang__job *job,
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

/* How long the job runs from its start, with the quanta that it had already. 0: unknown. */
static int64_t run_of(const struct gang__forecast_run_state *run, const struct gang__job *job,
                      const struct stay *x)
{
    int64_t ran = run->s->now_ns - gang__time_limit_from(run->s, job);
    if (x && x->run_ns && x->started_ns == job->started_ns) /* it resumes with a quantum */
        return x->run_ns;
    if (x && x->rest_ns)
        return x->rest_ns;
    int64_t all = predict(run, job, ran);
    if (all >= 0)
        return all;
    bool stopped = gang__time_limit_end(job, job->started_ns) != INT64_MAX ||
                   gang__reserve_stop_ns(job) != INT64_MAX;
    return stopped ? 0 : ran;
}

/* The job runs now: note its end. The scheduler itself handles limit, deadline and the end of a
 * reservation. */
static void expect_end(struct gang__forecast_run_state *run, const struct gang__job *job)
{
    struct stay *x = stay_of(run, job->id);
    int64_t all = run_of(run, job, x);
    if (x)
        x->run_ns = x->rest_ns = 0;
    if (all == 0 || (!x && !(x = stay_make(run, job->id))))
        return;
    x->started_ns = job->started_ns;
    x->run_ns = all;
    ends_at(run, x, gang__add_sat(gang__time_limit_from(run->s, job), all));
}

/* The job no longer runs. Only a suspended job, or one between its slices, goes on where it
 * stopped. */
static void expect_no_end(struct gang__forecast_run_state *run, gang_job_id job, int32_t state)
{
    struct stay *x = stay_of(run, job);
    if (!x)
        return;
    ends_not(run, x);
    if (state == GANG_JOB_PENDING || state == GANG_JOB_ENDED)
        stay_free(run, x);
}

/* ---- the host -------------------------------------------------------------------------------- */

static struct gang__expected *entry_of(const struct gang__forecast_run_state *run, gang_job_id job)
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

/* Does a time slice of a gang that has run end or begin? Rotation alone brings nothing new. */
static bool only_rotates(const struct gang__forecast_run_state *run, const struct gang_event *e)
{
    const struct gang__job *job = gang__job_of(run->s, e->job);
    bool has_run = job && e->reason == GANG_REASON_SLICE;
    for (uint32_t i = 0; has_run && i < job->gang_count; i++)
        has_run = job->gang[i].alloc == GANG_ID_NONE || gang__slice_has_run(&job->gang[i]);
    return has_run && (e->state == GANG_JOB_RUNNING || e->state == GANG_JOB_SUSPENDED);
}

static int32_t on_state(const struct gang_event *e, void *user)
{
    struct gang__forecast_run_state *run = user;
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
    run->moved = run->moved || !only_rotates(run, e);
    if (run->f && runs)
        expect_end(run, gang__job_of(run->s, e->job));
    else if (run->f)
        expect_no_end(run, e->job, e->state);
    return 0;
}

/* It stops at once, and has the rest to run when it resumes. */
static int32_t on_suspend(const struct gang_event *e, void *user)
{
    struct gang__forecast_run_state *run = user;
    struct stay *x = run->f ? stay_of(run, e->job) : NULL;
    if (x && x->ends)
        x->rest_ns = x->at_ns > e->now_ns ? x->at_ns - e->now_ns : 1;
    return gang_report_tasks(run->s, e->job, e->gang, e->alloc, NULL, 0, GANG_TASK_STOPPED);
}

/* It is gone at once. If it moves, it begins again there, though its job does not wait again: what
 * it had to run when its time slice ended does not count. */
static int32_t on_preempt(const struct gang_event *e, void *user)
{
    struct gang__forecast_run_state *run = user;
    struct stay *x = run->f ? stay_of(run, e->job) : NULL;
    if (x)
        x->rest_ns = 0;
    return 1;
}

const struct gang_host_ops gang__forecast_ops = {.size = sizeof(gang__forecast_ops),
                                                 .preempt = on_preempt,
                                                 .suspend = on_suspend,
                                                 .state = on_state};

/* ---- running --------------------------------------------------------------------------------- */

/* Those that run already. */
static void expect_ends(struct gang__forecast_run_state *run)
{
    gang_sched *s = run->s;
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        if (job->state == GANG_JOB_RUNNING)
            expect_end(run, job);
    }
}

/* Ends the jobs that are due. */
static gang_result report_ends(struct gang__forecast_run_state *run, int64_t now_ns)
{
    gang_result r = GANG_OK;
    while (r == GANG_OK && next_end(run) <= now_ns) {
        struct stay *x = GANG__OF(struct stay, turn, gang__set_first(&run->ends));
        ends_not(run, x);
        r = gang_report_end(run->s, x->job, 1);
    }
    return r;
}

/* Why one that has not started waits, as far as that is known without asking. */
static int32_t wait_of(const gang_sched *s, gang_job_id id)
{
    const struct gang__job *job = gang__job_of(s, id);
    const struct gang__gang *g = job ? &job->gang[0] : NULL;
    if (!g)
        return 0;
    if (job->wait_why)
        return job->wait_why;
    if (g->stop.handover)
        return GANG_WAIT_VICTIMS;
    if (gang__slice_is_suspended(g))
        return GANG_WAIT_SLICE;
    return g->order.wait_class && g->order.wait_class->state == GANG__CLASS_BLOCKED
               ? g->order.wait_class->why
               : 0;
}

static void note_rest(struct gang__forecast_run_state *run, bool cut)
{
    for (size_t i = 0; i < run->f->count; i++) {
        struct gang__expected *x = &run->f->expected[i];
        if (run->start_ns[i] != INT64_MAX || x->what == GANG_EXPECTED_END)
            continue;
        x->what = cut ? GANG_EXPECTED_LATER : GANG_EXPECTED_NEVER;
        x->wait = wait_of(run->s, x->job);
    }
}

/* Turns of time slices, while nothing else is due. */
struct round {
    uint64_t seen;       /* how it was at one moment, */
    int64_t since, most; /* turns since then; after `most` turns, the moment is moved up */
};

/* Is all as it was before? Then the slices rotate for ever, and nothing else will happen. Brent
 * (1980): the moment compared with now moves up after 1, 2, 4, ... rotations. */
static bool is_periodic(const struct gang__forecast_run_state *run, struct round *round)
{
    if (next_end(run) != INT64_MAX || gang__cycle_due(run->s) != INT64_MAX) {
        round->most = 0;
        return false;
    }
    uint64_t now = gang__slice_fingerprint(run->s, run->left);
    if (round->most > 0 && now == round->seen)
        return true;
    if (round->since++ >= round->most) {
        round->most = round->most ? 2 * round->most : 1;
        round->since = 0;
        round->seen = now;
    }
    return false;
}

static bool waits_for_plan(const struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].calendar.plan && job->gang[i].calendar.planned_ns == job->due_ns)
            return true;
    return false;
}

/* The next timer. A start that is planned after all instances of endless reservations that are
 * planned so far moves on with them: it is not counted. */
static int64_t next_timer(const gang_sched *s, int64_t last_ns)
{
    for (struct gang__set_link *n = gang__set_first(&s->timers); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, timer, n);
        if (job->due_ns < last_ns || !waits_for_plan(job))
            return job->due_ns;
    }
    return INT64_MAX;
}

/* Endlessly repeated reservations never finish. When nothing else is due but time slices, and all
 * planned times and a round of each matrix have passed without a start or stop, nothing will change
 * later. */
static bool repeats_without_start(struct gang__forecast_run_state *run)
{
    gang_sched *s = run->s;
    int64_t last = gang__reserve_endless_until(s);
    int64_t rounds = gang__add_sat(s->now_ns, gang__slice_round_ns(s));
    last = last == INT64_MAX || last > rounds ? last : rounds;
    if (run->moved || next_end(run) != INT64_MAX || last == INT64_MAX ||
        next_timer(s, gang__reserve_endless_until(s)) != INT64_MAX ||
        gang__queues_next_idle(s) != INT64_MAX || s->preempt.min_runtime_due_ns != INT64_MAX)
        run->round_ns = INT64_MAX;
    else if (run->round_ns == INT64_MAX)
        run->round_ns = last;
    run->moved = false;
    return s->now_ns >= run->round_ns;
}

gang_result gang__forecast_run(struct gang__forecast_run_state *run)
{
    const struct gang_forecast_opts *o = &run->f->opts;
    int64_t now = o->now_ns > run->s->now_ns ? o->now_ns : run->s->now_ns;
    int64_t end = o->horizon_ns ? gang__add_sat(now, o->horizon_ns) : INT64_MAX;
    struct round round = {0, 0, 0};
    gang_result r = GANG_OK;
    int64_t events = 0;
    bool cut = false;
    run->left = run->f->count;
    run->round_ns = INT64_MAX;
    run->s->now_ns = now;
    memset(&run->stays, 0, sizeof(run->stays));
    gang__set_init(&run->ends, by_end, NULL);
    expect_ends(run);
    while (run->left > 0 && r == GANG_OK && !cut) {
        r = o->go_on ? o->go_on(o->user) : GANG_OK;
        if (r == GANG_OK)
            r = report_ends(run, now);
        if (r == GANG_OK)
            r = gang_sched_run(run->s, now, NULL, NULL);
        if (r == GANG_OK && run->no_memory)
            r = GANG_ENOMEM;
        int64_t next = gang__min(gang_sched_next(run->s), next_end(run));
        if (next == INT64_MAX || is_periodic(run, &round) || repeats_without_start(run))
            break;
        cut = next > end || ++events >= o->max_events;
        now = next > now ? next : now;
    }
    if (r == GANG_OK)
        note_rest(run, cut);
    free_stays(run);
    return r;
}
