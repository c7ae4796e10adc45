/* SPDX-License-Identifier: Apache-2.0 */
/* Forecasts: options, samples on copies, quantiles of the starts, reading the results. */
#include "sched/forecast/forecast_in.h"

#include <stdlib.h>
#include <string.h>

#include "sched/copy/copy.h"
#include "sched/cycle/cycle.h"

enum { MAX_SAMPLES = 10000, MAX_EVENTS = 1000000 };

/* ---- making ---------------------------------------------------------------------------------- */

static gang_result bad(struct gang_error *error, const char *member, const char *text)
{
    return gang__error(error, GANG_ERANGE, member, "%s", text);
}

static gang_result take_opts(const struct gang_forecast_opts *from, struct gang_forecast_opts *o,
                             struct gang_error *error)
{
    *o = (struct gang_forecast_opts)GANG_FORECAST_OPTS_INIT;
    gang_result r = from ? gang__struct_in(o, sizeof(*o), sizeof(*o), from, from->size) : GANG_OK;
    if (r != GANG_OK)
        return gang__error(error, r, "size", "struct gang_forecast_opts is not set up");
    if (o->reserved0)
        return gang__error(error, GANG_EINVAL, "reserved0", "is not 0");
    if (o->horizon_ns < 0)
        return bad(error, "horizon_ns", "negative");
    if (o->max_events < 0)
        return bad(error, "max_events", "negative");
    if (o->samples < 0 || o->samples > MAX_SAMPLES)
        return bad(error, "samples", "not in 0..10000");
    if (o->low < 0 || o->low >= GANG_WHOLE)
        return bad(error, "low", "negative, or not below GANG_WHOLE");
    if (o->high < 0 || o->high >= GANG_WHOLE)
        return bad(error, "high", "negative, or not below GANG_WHOLE");
    o->samples = o->samples ? o->samples : 1;
    o->low = o->low ? o->low : (int32_t)(GANG_WHOLE / 10);
    o->high = o->high ? o->high : (int32_t)(GANG_WHOLE / 10 * 9);
    o->max_events = o->max_events ? o->max_events : MAX_EVENTS;
    return GANG_OK;
}

gang_result gang_forecast_new(gang_sched *sched, const struct gang_forecast_opts *opts,
                              gang_forecast **forecast, struct gang_error *error)
{
    struct gang_forecast_opts o;
    if (forecast)
        *forecast = NULL;
    if (!sched || !forecast)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler, or no place for the forecast");
    if (sched->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang_result r = take_opts(opts, &o, error);
    if (r != GANG_OK)
        return r;
    gang_forecast *f = gang__zalloc(&sched->mem, 1, sizeof(*f));
    if (!f)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    f->mem = sched->mem;
    f->opts = o;
    r = gang__sched_copy(sched, &gang__forecast_ops, &f->own, &f->own.s, error);
    if (r != GANG_OK) {
        gang__release(&sched->mem, f);
        return r;
    }
    *forecast = f;
    return GANG_OK;
}

static void free_copy(gang_sched *s)
{
    gang_cluster *cluster = gang_sched_cluster(s);
    gang_sched_free(s);
    gang_cluster_free(cluster);
}

void gang_forecast_free(gang_forecast *forecast)
{
    if (!forecast)
        return;
    struct gang_mem mem = forecast->mem;
    free_copy(forecast->own.s);
    gang__release(&mem, forecast->expected);
    gang__release(&mem, forecast->start_ns);
    gang__release(&mem, forecast);
}

gang_cluster *gang_forecast_cluster(const gang_forecast *forecast)
{
    return forecast ? gang_sched_cluster(forecast->own.s) : NULL;
}

gang_sched *gang_forecast_sched(const gang_forecast *forecast)
{
    return forecast ? forecast->own.s : NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool is_waiting(const struct gang__job *job)
{
    return job->state == GANG_JOB_PENDING || job->state == GANG_JOB_SUSPENDED ||
           (job->state == GANG_JOB_STOPPING && job->end_wanted == GANG_END_NONE);
}

/* The waiting jobs, in the order of their ids. */
static bool list_waiting(gang_forecast *f)
{
    gang_sched *s = f->own.s;
    f->count = 0;
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        if (!is_waiting(job))
            continue;
        if (!gang__grow(&f->mem, (void **)&f->expected, &f->cap, f->count + 1,
                        sizeof(*f->expected)))
            return false;
        f->expected[f->count++] = (struct gang__expected){job->id, job->cookie, 0, 0};
    }
    size_t need = f->count * (size_t)f->opts.samples;
    if (!gang__grow(&f->mem, (void **)&f->start_ns, &f->start_cap, need + 1, sizeof(*f->start_ns)))
        return false;
    for (size_t i = 0; i < need; i++)
        f->start_ns[i] = INT64_MAX;
    return true;
}

/* One sample on a copy of its own, or (consume) on the private scheduler itself. */
static gang_result run_sample(gang_forecast *f, int32_t sample, bool consume,
                              struct gang_error *error)
{
    struct gang__forecast_run_state copy = {.s = NULL}, *run = consume ? &f->own : &copy;
    gang_result r = GANG_OK;
    if (!consume) {
        r = gang__sched_copy(f->own.s, &gang__forecast_ops, &copy, &copy.s, error);
        if (r != GANG_OK)
            return r;
    }
    for (size_t i = 0; i < f->count; i++)
        if (f->expected[i].what == GANG_EXPECTED_END)
            f->expected[i].what = 0;
    run->f = f;
    run->sample = sample;
    run->no_memory = false;
    run->start_ns = f->start_ns + (size_t)sample * f->count;
    r = gang__forecast_run(run);
    run->f = NULL;
    if (!consume)
        free_copy(run->s);
    return r == GANG_OK ? r : gang__error(error, r, NULL, "%s", gang_strerror(r));
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* From sample after sample to job after job, in order. False: out of memory. */
static bool sort_starts(gang_forecast *f)
{
    size_t samples = (size_t)f->opts.samples;
    if (samples == 1 || f->count == 0)
        return true;
    int64_t *sorted = gang__zalloc(&f->mem, samples * f->count, sizeof(*sorted));
    if (!sorted)
        return false;
    for (size_t i = 0; i < f->count; i++) {
        for (size_t k = 0; k < samples; k++)
            sorted[i * samples + k] = f->start_ns[k * f->count + i];
        qsort(sorted + i * samples, samples, sizeof(*sorted), by_time);
    }
    gang__release(&f->mem, f->start_ns);
    f->start_ns = sorted;
    f->start_cap = samples * f->count;
    return true;
}

static gang_result run(gang_forecast *f, bool consume, struct gang_error *error)
{
    gang_sched *s = f->own.s;
    int64_t now = f->opts.now_ns > s->now_ns ? f->opts.now_ns : s->now_ns;
    f->count = 0;
    gang_result r = gang__cycle_take_in(s, now);
    if (r == GANG_OK && !list_waiting(f))
        r = GANG_ENOMEM;
    if (r != GANG_OK)
        gang__error(error, r, NULL, "%s", gang_strerror(r));
    for (int32_t i = 0; i < f->opts.samples && r == GANG_OK; i++)
        r = run_sample(f, i, consume && i + 1 == f->opts.samples, error);
    if (r == GANG_OK && !sort_starts(f))
        r = gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (r != GANG_OK)
        f->count = 0;
    return r;
}

gang_result gang_forecast_run(gang_forecast *forecast, struct gang_error *error)
{
    if (!forecast)
        return gang__error(error, GANG_EINVAL, NULL, "no forecast");
    if (forecast->running || forecast->own.s->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    forecast->running = true;
    gang_result r = run(forecast, false, error);
    forecast->running = false;
    return r;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Linear between the two nearest samples, as numpy.quantile(). INT64_MAX: one of them has no
 * start. */
static int64_t quantile(const int64_t *sorted, int64_t samples, int64_t fraction)
{
    int64_t at = (samples - 1) * fraction;
    int64_t below = sorted[at / GANG_WHOLE], part = at % GANG_WHOLE;
    int64_t above = part > 0 ? sorted[at / GANG_WHOLE + 1] : below;
    return above == INT64_MAX ? above : below + gang__mul_div(above - below, part, GANG_WHOLE);
}

static struct gang_expected tell(const gang_forecast *f, size_t i)
{
    int64_t samples = f->opts.samples;
    const int64_t *sorted = f->start_ns + i * (size_t)samples;
    struct gang_expected e = GANG_EXPECTED_INIT;
    e.job = f->expected[i].job;
    e.cookie = f->expected[i].cookie;
    e.start_ns = quantile(sorted, samples, GANG_WHOLE / 2);
    e.low_ns = quantile(sorted, samples, f->opts.low);
    e.high_ns = quantile(sorted, samples, f->opts.high);
    while (e.samples < samples && sorted[e.samples] != INT64_MAX)
        e.samples++;
    if (e.start_ns == INT64_MAX) {
        e.what = f->expected[i].what;
        e.wait = f->expected[i].wait;
    }
    return e;
}

gang_result gang_forecast_each(const gang_forecast *forecast, gang_expected_fn visit, void *user)
{
    if (!forecast || !visit)
        return GANG_EINVAL;
    for (size_t i = 0; i < forecast->count; i++) {
        struct gang_expected e = tell(forecast, i);
        int32_t stop = visit(&e, user);
        if (stop)
            return stop;
    }
    return GANG_OK;
}

static int by_job(const void *key, const void *entry)
{
    gang_job_id id = *(const gang_job_id *)key, other = ((const struct gang__expected *)entry)->job;
    return (id > other) - (id < other);
}

gang_result gang_forecast_get(const gang_forecast *forecast, gang_job_id job,
                              struct gang_expected *expected)
{
    if (!forecast || !expected)
        return GANG_EINVAL;
    const struct gang__expected *x =
        forecast->count ? bsearch(&job, forecast->expected, forecast->count, sizeof(*x), by_job)
                        : NULL;
    if (!x)
        return GANG_ENOENT;
    struct gang_expected e = tell(forecast, (size_t)(x - forecast->expected));
    e.size = expected->size;
    return gang__struct_out(expected, expected->size, sizeof(e), &e, sizeof(e));
}

gang_result gang_forecast_all(gang_sched *sched, const struct gang_forecast_opts *opts,
                              gang_expected_fn visit, void *user, struct gang_error *error)
{
    gang_forecast *f;
    if (!visit)
        return gang__error(error, GANG_EINVAL, NULL, "no function");
    gang_result r = gang_forecast_new(sched, opts, &f, error);
    if (r != GANG_OK)
        return r;
    r = run(f, true, error);
    if (r == GANG_OK)
        r = gang_forecast_each(f, visit, user);
    gang_forecast_free(f);
    return r;
}
