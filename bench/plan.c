/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "histogram.h"
#include "impl.h"
#include "plan/timeline/timeline.h"
#include "row.h"

/* ---- cases --------------------------------------------------------------------------------- */

enum kind {
    START, /* many jobs run, all with ends of their own; when would a gang start? */
    /* all nodes are taken; many gangs of 1 to `gang` nodes get a planned start each, in order */
    BACKLOG
};

struct plan_case {
    struct bench_row row;
    enum kind kind;
    bool whole; /* nodes that the gang has alone; else tasks of 8 GPUs */
};

static const struct plan_case cases[] = {
    {{"plan_start", 8192, 64, 10000, "/tasks:alone"}, START, true},
    {{"plan_start", 8192, 64, 10000, "/tasks:shared"}, START, false},
    {{"plan_start", 8192, 512, 10000, "/tasks:alone"}, START, true},
    {{"plan_start", 8192, 64, 65536, "/tasks:alone"}, START, true},
    {{"plan_start", 8192, 64, 65536, "/tasks:shared"}, START, false},
    {{"plan_conservative", 1024, 16, 2000, "/tasks:alone"}, BACKLOG, true},
    {{"plan_conservative", 1024, 16, 2000, "/tasks:shared"}, BACKLOG, false},
};

static const struct plan_case quick_cases[] = {
    {{"plan_start", 128, 8, 160, "/tasks:alone"}, START, true},
    {{"plan_start", 128, 8, 160, "/tasks:shared"}, START, false},
    {{"plan_conservative", 128, 16, 100, "/tasks:alone"}, BACKLOG, true},
};

static const struct plan_case *cases_of(const struct bench_options *options, size_t *count)
{
    *count = options->quick ? sizeof(quick_cases) / sizeof(quick_cases[0])
                            : sizeof(cases) / sizeof(cases[0]);
    return options->quick ? quick_cases : cases;
}

size_t plan_list(const struct bench_options *options, FILE *file)
{
    size_t count;
    const struct plan_case *all = cases_of(options, &count);
    return bench_row_list(options, all, count, sizeof(*all), file);
}

/* ---- a timeline ---------------------------------------------------------------------------- */

#define HOUR INT64_C(3600000000000)

struct table {
    const struct plan_case *c;
    struct gang__timeline *t;
    struct gang__time_fit fit;
    struct gang__time_place *place;
    struct running {
        uint32_t id, node, nodes;
        int64_t gpus; /* of one node; NODE_GPUS: all of it */
    } * job;
    uint64_t random;
};

static void check(gang_result r, const char *what)
{
    if (r != GANG_OK)
        bench_die("gangsched: %s: %s", what, gang_strerror(r));
}

static struct gang__time_group group_of(int64_t tasks, int64_t gpus)
{
    struct gang__time_group g = {.count = tasks};
    g.need[GANG__FREE_CPU] = gpus * NODE_CORES / NODE_GPUS * 1000;
    g.need[GANG__FREE_MEMORY] = gpus * (NODE_MEMORY / NODE_GPUS);
    g.need[GANG__FREE_GPU] = gpus * 1000;
    return g;
}

static struct table *table_new(const struct plan_case *c, uint64_t seed)
{
    struct table *b = bench_calloc(1, sizeof(*b));
    int64_t *capacity = bench_calloc((size_t)c->row.nodes, GANG__FREE_KINDS * sizeof(capacity[0]));
    struct gang__time_group node = group_of(1, NODE_GPUS);
    for (int64_t i = 0; i < c->row.nodes; i++)
        memcpy(&capacity[i * GANG__FREE_KINDS], node.need, sizeof(node.need));
    b->c = c;
    b->random = seed;
    b->place = bench_calloc((size_t)c->row.nodes, sizeof(b->place[0]));
    b->job = bench_calloc((size_t)(c->row.jobs > c->row.nodes ? c->row.jobs : c->row.nodes),
                          sizeof(b->job[0]));
    check(gang__timeline_new(&gang__mem_libc, capacity, (size_t)c->row.nodes, 0, 0, &b->t),
          "gang__timeline_new");
    free(capacity);
    return b;
}

static void table_free(struct table *b)
{
    gang__timeline_free(b->t);
    gang__time_fit_free(&b->fit, &gang__mem_libc);
    free(b->place);
    free(b->job);
    free(b);
}

/* 1 to 25 hours, to the nanosecond: no two are the same. */
static int64_t some_time(struct table *b)
{
    return HOUR + (int64_t)(bench_random(&b->random) % (uint64_t)(24 * HOUR));
}

static void begin(struct table *b, struct running *j)
{
    struct gang__time_group g = group_of(1, j->gpus);
    struct gang__occupation o = {.end_ns = some_time(b),
                                 .group = &g,
                                 .group_count = 1,
                                 .place = b->place,
                                 .place_count = j->nodes,
                                 .whole = b->c->whole && j->gpus == NODE_GPUS};
    for (uint32_t i = 0; i < j->nodes; i++)
        b->place[i] = (struct gang__time_place){j->node + i, 0, 1};
    check(gang__timeline_add(b->t, &o, &j->id), "gang__timeline_add");
}

/* Each node is divided evenly among its jobs; where they do not come out even, some have one
 * less. */
static void add_planned(struct table *b)
{
    for (int64_t i = 0; i < b->c->row.jobs; i++) {
        int64_t node = i % b->c->row.nodes;
        int64_t on_it =
            b->c->row.jobs / b->c->row.nodes + (node < b->c->row.jobs % b->c->row.nodes);
        b->job[i] = (struct running){.node = (uint32_t)node, .nodes = 1, .gpus = NODE_GPUS / on_it};
        begin(b, &b->job[i]);
    }
}

/* Gangs of 1 to `gang` nodes, one beside the other, on all nodes. */
static void pack(struct table *b)
{
    for (int64_t node = 0, i = 0; node < b->c->row.nodes; node += b->job[i++].nodes) {
        int64_t nodes = 1 + (int64_t)bench_below(&b->random, (uint64_t)b->c->row.gang);
        nodes = nodes < b->c->row.nodes - node ? nodes : b->c->row.nodes - node;
        b->job[i] =
            (struct running){.node = (uint32_t)node, .nodes = (uint32_t)nodes, .gpus = NODE_GPUS};
        begin(b, &b->job[i]);
    }
}

/* ---- measuring ----------------------------------------------------------------------------- */

static int64_t find(struct table *b, int64_t tasks, int64_t duration)
{
    struct gang__time_group g = group_of(tasks, NODE_GPUS);
    struct gang__time_request request = {&g, 1, duration, NULL, b->c->whole, NULL, NULL};
    check(gang__timeline_earliest(b->t, &request, 0, &b->fit), "gang__timeline_earliest");
    if (b->fit.count != (size_t)tasks || b->fit.start_ns <= 0)
        bench_die("%s: %zu nodes at %" PRId64, b->c->row.op, b->fit.count, b->fit.start_ns);
    return b->fit.start_ns;
}

/* Between two questions a job ends and another one takes its place, so that no answer is known
 * from before. */
static void start(struct table *b, struct bench_histogram *h, int64_t min, double seconds)
{
    add_planned(b);
    int64_t begun = bench_now();
    for (int64_t n = 0; n < min || (double)(bench_now() - begun) < seconds * 1e9; n++) {
        struct running *j = &b->job[bench_below(&b->random, (uint64_t)b->c->row.jobs)];
        gang__timeline_remove(b->t, j->id);
        begin(b, j);
        int64_t duration = some_time(b), ns = bench_now();
        (void)find(b, b->c->row.gang, duration);
        histogram_record(h, bench_now() - ns);
    }
}

static void backlog(struct table *b, struct bench_histogram *h)
{
    pack(b);
    int64_t ns = bench_now();
    for (int64_t i = 0; i < b->c->row.jobs; i++) {
        int64_t tasks = 1 + (int64_t)bench_below(&b->random, (uint64_t)b->c->row.gang);
        int64_t duration = some_time(b), at = find(b, tasks, duration);
        struct gang__time_group g = group_of(tasks, NODE_GPUS);
        struct gang__occupation o = {.start_ns = at,
                                     .end_ns = at + duration,
                                     .group = &g,
                                     .group_count = 1,
                                     .place = b->fit.place,
                                     .place_count = b->fit.count,
                                     .whole = b->c->whole};
        uint32_t id;
        check(gang__timeline_add(b->t, &o, &id), "gang__timeline_add");
    }
    histogram_record(h, bench_now() - ns);
}

static void measure(const struct plan_case *c, const struct bench_options *options,
                    struct bench_results *results)
{
    double seconds = options->seconds >= 0 ? options->seconds : options->quick ? 0.02 : 0.5;
    int64_t min = options->quick ? 3 : c->kind == START ? 1000 : 10, begun = bench_now();
    char name[BENCH_NAME];
    bench_row_name(&c->row, name);
    struct bench_result *r = results_add(results, name, 1);
    uint64_t seed = options->seed;
    for (int64_t n = 0; n < min || (double)(bench_now() - begun) < seconds * 1e9; n++) {
        struct table *b = table_new(c, seed++);
        if (c->kind == START)
            start(b, r->histogram, min, seconds);
        else
            backlog(b, r->histogram);
        table_free(b);
        if (c->kind == START)
            break;
    }
    r->iterations = histogram_count(r->histogram);
    r->mean_ns = histogram_mean(r->histogram);
    r->ops_per_s =
        (c->kind == START ? 1 : (double)c->row.jobs) * 1e9 / (double)histogram_at(r->histogram, 50);
}

void plan_run(const struct bench_options *options, struct bench_results *results)
{
    regex_t filter;
    size_t count;
    const struct plan_case *all = cases_of(options, &count);
    bench_filter_open(options, &filter);
    for (size_t i = 0; i < count; i++)
        if (bench_row_wanted(options, &filter, &all[i].row))
            measure(&all[i], options, results);
    bench_filter_close(options, &filter);
}
