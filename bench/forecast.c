/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast.h"

#include <gangsched/gangsched.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "impl.h"
#include "ours.h"
#include "row.h"

/* ---- cases --------------------------------------------------------------------------------- */

/* A full cluster, and jobs of 1 to `gang` nodes that wait, which run for 1 to 24 hours. Each has
 * a time limit of its own, or it is in whole hours, as people give it. */
struct forecast_case {
    struct bench_row row;
    int32_t backfill;
    bool hours;
};

static const struct forecast_case cases[] = {
    {{"forecast", 1000, 16, 1000, "/backfill:none"}, GANG_BACKFILL_NONE, false},
    {{"forecast", 1000, 16, 1000, "/backfill:easy"}, GANG_BACKFILL_EASY, true},
    {{"forecast", 1000, 16, 1000, "/backfill:easy/limits:own"}, GANG_BACKFILL_EASY, false},
    {{"forecast", 1000, 16, 10000, "/backfill:none"}, GANG_BACKFILL_NONE, false},
    {{"forecast", 1000, 16, 10000, "/backfill:easy"}, GANG_BACKFILL_EASY, true},
    {{"forecast", 1000, 16, 10000, "/backfill:easy/limits:own"}, GANG_BACKFILL_EASY, false},
    {{"forecast_copy", 1000, 16, 10000, "/backfill:easy"}, GANG_BACKFILL_EASY, true},
};

static const struct forecast_case quick_cases[] = {
    {{"forecast", 128, 16, 200, "/backfill:none"}, GANG_BACKFILL_NONE, false},
    {{"forecast", 128, 16, 200, "/backfill:easy"}, GANG_BACKFILL_EASY, true},
    {{"forecast", 128, 16, 200, "/backfill:easy/limits:own"}, GANG_BACKFILL_EASY, false},
    {{"forecast_copy", 128, 16, 200, "/backfill:easy"}, GANG_BACKFILL_EASY, true},
};

static const struct forecast_case *cases_of(const struct bench_options *options, size_t *count)
{
    *count = options->quick ? sizeof(quick_cases) / sizeof(quick_cases[0])
                            : sizeof(cases) / sizeof(cases[0]);
    return options->quick ? quick_cases : cases;
}

size_t forecast_list(const struct bench_options *options, FILE *file)
{
    size_t count;
    const struct forecast_case *all = cases_of(options, &count);
    return bench_row_list(options, all, count, sizeof(*all), file);
}

/* ---- a cluster with a scheduler ------------------------------------------------------------ */

#define HOUR INT64_C(3600000000000)

struct site {
    const struct forecast_case *c;
    void *cluster;
    gang_sched *sched;
    uint64_t random;
    int64_t starts; /* that were reported */
};

static void submit(struct site *s, int64_t nodes)
{
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    group.count = group.min = nodes;
    group.cpu_milli = NODE_CORES * 1000;
    group.memory_bytes = NODE_MEMORY;
    group.gpu_milli = NODE_GPUS * 1000;
    job.request.groups = &group;
    job.request.group_count = 1;
    job.queue = "q";
    job.time_limit_ns = HOUR + (int64_t)(bench_random(&s->random) % (uint64_t)(23 * HOUR));
    if (s->c->hours)
        job.time_limit_ns -= job.time_limit_ns % HOUR;
    ours_check(gang_job_submit(s->sched, &job, &id, &error), &error, "gang_job_submit");
}

static int64_t some_nodes(struct site *s)
{
    return 1 + (int64_t)bench_below(&s->random, (uint64_t)s->c->row.gang);
}

static struct site *site_new(const struct forecast_case *c, uint64_t seed)
{
    struct bench_scene scene = {.impl = &bench_gangsched, .nodes = c->row.nodes};
    struct gang_error error = GANG_ERROR_INIT;
    struct site *s = bench_calloc(1, sizeof(*s));
    struct gang_queue_spec queue = GANG_QUEUE_SPEC_INIT;
    s->c = c;
    s->random = seed;
    s->cluster = bench_gangsched.open(&scene);
    (void)bench_gangsched.build(s->cluster, true);
    ours_check(gang_sched_new(ours_cluster(s->cluster), NULL, NULL, NULL, &s->sched, &error),
               &error, "gang_sched_new");
    queue.name = "q";
    queue.backfill = c->backfill;
    queue.order = GANG_ORDER_FIFO;
    ours_check(gang_sched_set_queues(s->sched, &queue, 1, &error), &error, "gang_sched_set_queues");
    for (int64_t left = c->row.nodes; left > 0;) {
        int64_t nodes = some_nodes(s);
        nodes = nodes < left ? nodes : left;
        submit(s, nodes);
        left -= nodes;
    }
    ours_check(gang_sched_run(s->sched, 1, NULL, NULL), NULL, "gang_sched_run");
    for (int64_t i = 0; i < c->row.jobs; i++)
        submit(s, some_nodes(s));
    ours_check(gang_sched_run(s->sched, 2, NULL, NULL), NULL, "gang_sched_run");
    return s;
}

static void site_free(struct site *s)
{
    struct gang_error error = GANG_ERROR_INIT;
    ours_check(gang_sched_check(s->sched, &error), &error, "gang_sched_check");
    gang_sched_free(s->sched);
    bench_gangsched.close(s->cluster);
    free(s);
}

/* ---- measuring ----------------------------------------------------------------------------- */

static int32_t count_start(const struct gang_expected *expected, void *user)
{
    struct site *s = user;
    s->starts += expected->start_ns != INT64_MAX;
    return 0;
}

static void once(struct site *s)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_forecast *f;
    if (strcmp(s->c->row.op, "forecast_copy") == 0) {
        ours_check(gang_forecast_new(s->sched, NULL, &f, &error), &error, "gang_forecast_new");
        gang_forecast_free(f);
        return;
    }
    s->starts = 0;
    ours_check(gang_forecast_all(s->sched, NULL, count_start, s, &error), &error,
               "gang_forecast_all");
    if (s->starts != s->c->row.jobs)
        bench_die("%s: %" PRId64 " of %" PRId64 " jobs have a start", s->c->row.op, s->starts,
                  s->c->row.jobs);
}

static void measure(const struct forecast_case *c, const struct bench_options *options,
                    struct bench_results *results)
{
    double seconds = options->seconds >= 0 ? options->seconds : options->quick ? 0.02 : 0.5;
    int64_t min = options->quick ? 3 : 10;
    char name[BENCH_NAME];
    bench_row_name(&c->row, name);
    struct bench_result *r = results_add(results, name, 1);
    struct site *s = site_new(c, options->seed);
    int64_t begun = bench_now();
    for (int64_t n = 0; n < min || (double)(bench_now() - begun) < seconds * 1e9; n++) {
        int64_t ns = bench_now();
        once(s);
        histogram_record(r->histogram, bench_now() - ns);
    }
    site_free(s);
    r->iterations = histogram_count(r->histogram);
    r->mean_ns = histogram_mean(r->histogram);
    r->ops_per_s = (double)c->row.jobs * 1e9 / (double)histogram_at(r->histogram, 50);
}

void forecast_run(const struct bench_options *options, struct bench_results *results)
{
    regex_t filter;
    size_t count;
    const struct forecast_case *all = cases_of(options, &count);
    bench_filter_open(options, &filter);
    for (size_t i = 0; i < count; i++)
        if (bench_row_wanted(options, &filter, &all[i].row))
            measure(&all[i], options, results);
    bench_filter_close(options, &filter);
}
