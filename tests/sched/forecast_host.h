/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of forecasts. Each function is for one host or one forecast. */
#ifndef SCHED_FORECAST_HOST_H
#define SCHED_FORECAST_HOST_H

#include <gangsched/forecast.h>

#include "sched/host.h"

static inline gang_forecast *forecast_with(const struct host *h,
                                           const struct gang_forecast_opts *opts)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_forecast *f;
    gang_result r = gang_forecast_new(h->s, opts, &f, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    return f;
}

static inline void run_forecast(gang_forecast *f)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_forecast_run(f, &error);
    ck_assert_msg(r == GANG_OK, "%s", error.text);
}

static inline gang_forecast *foretell(const struct host *h, const struct gang_forecast_opts *opts)
{
    gang_forecast *f = forecast_with(h, opts);
    run_forecast(f);
    return f;
}

static inline struct gang_expected expected_of(const gang_forecast *f, gang_job_id id)
{
    struct gang_expected e = GANG_EXPECTED_INIT;
    MUST(gang_forecast_get(f, id, &e));
    return e;
}

/* INT64_MAX: never. */
static inline int64_t start_of(const gang_forecast *f, gang_job_id id)
{
    return expected_of(f, id).start_ns;
}

/* Run times: cookies are limits in seconds; *user counts the questions. */
static inline int64_t half_the_limit(gang_job_id job, uint64_t cookie, int32_t sample,
                                     uint64_t draw, void *user)
{
    (void)job, (void)sample, (void)draw;
    *(int *)user += 1;
    return (int64_t)cookie * HOST_SECOND / 2;
}

static inline int64_t even_to_limit(gang_job_id job, uint64_t cookie, int32_t sample, uint64_t draw,
                                    void *user)
{
    (void)job, (void)sample, (void)user;
    return 1 + (int64_t)(draw % (cookie * (uint64_t)HOST_SECOND));
}

static inline int32_t count_expected(const struct gang_expected *e, void *user)
{
    (void)e;
    *(int *)user += 1;
    return 0;
}

/* Each allocation fails in turn: no result is given, and nothing is lost. */
static inline void check_without_memory(struct host *h, const struct gang_forecast_opts *opts)
{
    gang_result r = GANG_ENOMEM;
    for (long n = 1; r != GANG_OK; n++) {
        long live = h->stage.mem.live;
        int forecasts = 0;
        h->stage.mem.calls = 0;
        h->stage.mem.fail_at = n;
        r = gang_forecast_all(h->s, opts, count_expected, &forecasts, NULL);
        h->stage.mem.fail_at = 0;
        ck_assert_msg(r == GANG_OK || r == GANG_ENOMEM, "allocation %ld: %s", n,
                      gang_result_name(r));
        ck_assert_msg(r == GANG_OK || forecasts == 0,
                      "allocation %ld: a forecast was given, and the call failed", n);
        ck_assert_msg(h->stage.mem.live == live, "allocation %ld: %ld are lost", n,
                      h->stage.mem.live - live);
        ck_assert_int_lt(n, 100000);
    }
    host_check(h);
}

#endif
