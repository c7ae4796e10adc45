/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics, by the definitions of the field (sim.h names their sources). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "sim/sim_in.h"

enum { WAIT, QUEUE, JCT, SLOWDOWN, BOUNDED, SPREADS };

/* A selection of jobs and the samples taken of them. */
struct gather {
    const gang_sim *sim;
    struct gang_sim_stats_opts opts;
    int32_t queue, user;    /* -1: all */
    int64_t from_ns, to_ns; /* submitted then */
    double *of[SPREADS];
    size_t count[SPREADS];
    double *user_sum; /* of bounded slowdowns */
    int64_t *user_jobs;
    double fair_sum, fair_max;
    double used_s, lost_s;
};

/* ---- which ----------------------------------------------------------------------------------- */

static gang_result read_opts(struct gather *g, const gang_sim *sim,
                             const struct gang_sim_stats_opts *opts)
{
    const struct gang_sim_stats_opts defaults = GANG_SIM_STATS_OPTS_INIT;
    g->sim = sim;
    g->opts = defaults;
    g->queue = g->user = -1;
    gang_result r =
        opts ? gang__struct_in(&g->opts, sizeof(defaults), sizeof(defaults), opts, opts->size)
             : GANG_OK;
    if (r != GANG_OK)
        return r;
    if (g->opts.warm_up_ns < 0 || g->opts.cool_down_ns < 0 || g->opts.tau_ns < 0)
        return GANG_EINVAL;
    if (g->opts.queue && (g->queue = gang__sim_word_find(&sim->queues, g->opts.queue)) < 0)
        return GANG_ENOENT;
    if (g->opts.user && (g->user = gang__sim_word_find(&sim->users, g->opts.user)) < 0)
        return GANG_ENOENT;
    g->opts.tau_ns = g->opts.tau_ns ? g->opts.tau_ns : INT64_C(10000000000);
    g->from_ns = g->to_ns = 0;
    if (sim->first_submit_ns == INT64_MAX)
        return GANG_OK;
    bool cut = g->opts.cool_down_ns > 0;
    g->from_ns = sim->first_submit_ns + g->opts.warm_up_ns;
    g->to_ns = cut ? sim->last_submit_ns - g->opts.cool_down_ns : INT64_MAX;
    return GANG_OK;
}

/* It has come, and is one of those. */
static bool counts(const struct gather *g, size_t index, struct gang__sim_result *p)
{
    const struct gang__sim_brief *b = &g->sim->brief[index];
    return b->slot != 0 && b->submit_ns >= g->from_ns && b->submit_ns <= g->to_ns &&
           (g->queue < 0 || b->queue == g->queue) && (g->user < 0 || b->user == g->user) &&
           gang__sim_result_find(g->sim, index, p);
}

static bool is_done(const struct gang__sim_result *p)
{
    return p->stage == GANG__SIM_OVER && p->start_ns != GANG_TRACE_UNKNOWN &&
           (p->end == GANG_END_SUCCESS || p->end == GANG_END_TIMEOUT);
}

/* ---- one job --------------------------------------------------------------------------------- */

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static void add(struct gather *g, int what, double value)
{
    g->of[what][g->count[what]++] = value;
}

/* Its completion time over what it would be with 1/N of the cluster. */
static void add_fairness(struct gather *g, const struct gang__sim_result *p, int64_t jct_ns)
{
    const gang_sim *sim = g->sim;
    double all = (double)(p->gpus ? sim->gpu_all : sim->cpu_all);
    double demand = (double)p->demand;
    double gang = p->users_at_submit ? all / p->users_at_submit : all;
    double alone = seconds(p->run_ns) * (gang > 0 && demand > gang ? demand / gang : 1);
    double rho = alone > 0 ? seconds(jct_ns) / alone : 1;
    g->fair_sum += rho;
    g->fair_max = rho > g->fair_max ? rho : g->fair_max;
}

static void add_job(struct gather *g, const struct gang__sim_brief *b,
                    const struct gang__sim_result *p)
{
    double jct = seconds(p->end_ns - b->submit_ns), run = seconds(p->run_ns);
    double tau = seconds(g->opts.tau_ns), bounded = jct / (run > tau ? run : tau);
    bounded = bounded > 1 ? bounded : 1;
    add(g, WAIT, seconds(p->start_ns - b->submit_ns));
    add(g, QUEUE, seconds(p->wait_ns));
    add(g, JCT, jct);
    if (run > 0)
        add(g, SLOWDOWN, jct / run);
    add(g, BOUNDED, bounded);
    g->user_sum[b->user] += bounded;
    g->user_jobs[b->user]++;
    add_fairness(g, p, p->end_ns - b->submit_ns);
}

static void add_all(struct gather *g, struct gang_sim_stats *s)
{
    for (size_t i = 0; i < g->sim->jobs; i++) {
        struct gang__sim_result p;
        if (!counts(g, i, &p))
            continue;
        s->preemptions += p.preemptions;
        s->failures += p.failures;
        s->lost_gpu_s += p.gpus ? p.lost_s : 0;
        g->used_s += p.used_s;
        g->lost_s += p.lost_s;
        if (is_done(&p)) {
            s->jobs++;
            add_job(g, &g->sim->brief[i], &p);
        } else if (p.stage != GANG__SIM_OVER) {
            s->unfinished++;
        } else if (p.end == GANG_END_REFUSED) {
            s->refused++;
        } else {
            s->failed++;
        }
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear between the two nearest values, rounded as by numpy.percentile(). */
static double percentile(const double *sorted, size_t count, double percent)
{
    double at = (double)(count - 1) * (percent / 100);
    size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
    double part = at - (double)below, step = sorted[above] - sorted[below];
    return part < 0.5 ? sorted[below] + step * part : sorted[above] - step * (1 - part);
}

static struct gang_sim_distribution spread(double *of, size_t count)
{
    struct gang_sim_distribution s = GANG_SIM_DISTRIBUTION_INIT;
    if (count == 0)
        return s;
    for (size_t i = 0; i < count; i++)
        s.mean += of[i];
    s.mean /= (double)count;
    qsort(of, count, sizeof(*of), by_value);
    s.p50 = percentile(of, count, 50);
    s.p90 = percentile(of, count, 90);
    s.p95 = percentile(of, count, 95);
    s.p99 = percentile(of, count, 99);
    s.max = of[count - 1];
    return s;
}

static double jain(const struct gather *g)
{
    double sum = 0, squares = 0;
    int64_t users = 0;
    for (size_t u = 0; u < g->sim->users.table.count; u++) {
        if (g->user_jobs[u] == 0)
            continue;
        double mean = g->user_sum[u] / (double)g->user_jobs[u];
        sum += mean;
        squares += mean * mean;
        users++;
    }
    return users ? sum * sum / ((double)users * squares) : NAN;
}

static double over(double gang, double whole)
{
    return whole > 0 ? gang / whole : 0;
}

/* Utilisation from the first submission that counts to the last end, or to the end of the last job
 * that counts. */
static void add_usage(const struct gather *g, struct gang_sim_stats *s)
{
    const gang_sim *sim = g->sim;
    size_t first = SIZE_MAX, last = SIZE_MAX;
    for (size_t i = 0; i < sim->jobs; i++) {
        int64_t at = sim->brief[i].submit_ns;
        if (sim->brief[i].slot == 0 || at < g->from_ns || at > g->to_ns)
            continue;
        if (first == SIZE_MAX || at < sim->brief[first].submit_ns)
            first = i;
        if (last == SIZE_MAX || at > sim->brief[last].submit_ns)
            last = i;
    }
    if (first == SIZE_MAX)
        return;
    const struct gang__sim_area *a = &sim->at_submit[first];
    const struct gang__sim_area now = gang__sim_area(sim), *b = &sim->at_submit[last];
    if (g->opts.cool_down_ns == 0)
        b = sim->over ? &sim->at_last_end : &now;
    s->cpu_utilisation = over(b->cpu - a->cpu, b->cpu_all - a->cpu_all);
    s->memory_utilisation = over(b->memory - a->memory, b->memory_all - a->memory_all);
    s->gpu_utilisation = over(b->gpu - a->gpu, b->gpu_all - a->gpu_all);
    s->fragmentation = over(b->stray - a->stray, b->free - a->free);
}

static void sum_up(struct gather *g, struct gang_sim_stats *s)
{
    const gang_sim *sim = g->sim;
    s->jain = jain(g);
    s->wait_s = spread(g->of[WAIT], g->count[WAIT]);
    s->queue_s = spread(g->of[QUEUE], g->count[QUEUE]);
    s->jct_s = spread(g->of[JCT], g->count[JCT]);
    s->slowdown = spread(g->of[SLOWDOWN], g->count[SLOWDOWN]);
    s->bounded_slowdown = spread(g->of[BOUNDED], g->count[BOUNDED]);
    s->finish_fairness_mean = s->jobs ? g->fair_sum / (double)s->jobs : 0;
    s->finish_fairness_max = g->fair_max;
    s->goodput = g->used_s > 0 ? 1 - g->lost_s / g->used_s : NAN;
    if (sim->last_end_ns > sim->first_submit_ns)
        s->makespan_s = seconds(sim->last_end_ns - sim->first_submit_ns);
    add_usage(g, s);
}

static gang_result gather(struct gather *g, struct gang_sim_stats *s)
{
    const gang_sim *sim = g->sim;
    size_t jobs = sim->jobs ? sim->jobs : 1, users = sim->users.table.count + 1;
    double *block = gang__zalloc(&sim->mem, jobs * SPREADS + users, sizeof(*block));
    g->user_jobs = gang__zalloc(&sim->mem, users, sizeof(*g->user_jobs));
    gang_result r = block && g->user_jobs ? GANG_OK : GANG_ENOMEM;
    for (size_t i = 0; i < SPREADS && block; i++)
        g->of[i] = block + i * jobs;
    if (r == GANG_OK) {
        g->user_sum = block + SPREADS * jobs;
        add_all(g, s);
        sum_up(g, s);
    }
    gang__release(&sim->mem, block);
    gang__release(&sim->mem, g->user_jobs);
    return r;
}

gang_result gang_sim_get_stats(const gang_sim *sim, const struct gang_sim_stats_opts *opts,
                               struct gang_sim_stats *stats)
{
    struct gather g;
    struct gang_sim_stats s = GANG_SIM_STATS_INIT;
    memset(&g, 0, sizeof(g));
    if (!sim || !stats)
        return GANG_EINVAL;
    gang_result r = read_opts(&g, sim, opts);
    if (r == GANG_OK)
        r = gather(&g, &s);
    if (r != GANG_OK)
        return r;
    s.size = stats->size;
    return gang__struct_out(stats, stats->size, sizeof(s), &s, sizeof(s));
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void add_real(struct gang__json_maker *m, json_t *o, const char *key, double value)
{
    gang__json_put(m, o, key, isnan(value) ? json_null() : gang__json_new_real(m, value));
}

static void add_spread(struct gang__json_maker *m, json_t *o, const char *key,
                       const struct gang_sim_distribution *s)
{
    json_t *of = json_object();
    add_real(m, of, "mean", s->mean);
    add_real(m, of, "p50", s->p50);
    add_real(m, of, "p90", s->p90);
    add_real(m, of, "p95", s->p95);
    add_real(m, of, "p99", s->p99);
    add_real(m, of, "max", s->max);
    gang__json_put(m, o, key, of);
}

/* Resource time used until now, in units of the kinds times seconds. */
struct used {
    double cpu, gpu, all;
};

static struct used used_until_now(const gang_sim *sim, const struct gang__sim_share *h)
{
    double s = seconds(sim->now_ns - h->until_ns);
    return (struct used){.cpu = h->cpu + (double)h->cpu_milli * s,
                         .gpu = h->gpu + (double)h->gpu_milli * s,
                         .all = h->all + (double)h->all_milli * s};
}

/* Adds what a queue used to all queues above it. A queue that was removed has none. */
static void add_to_parents(const gang_sim *sim, size_t queue, struct used u, struct used *of)
{
    struct gang_queue_info info = GANG_QUEUE_INFO_INIT;
    gang_queue_id id;
    if (gang_queue_find(sim->sched, sim->queues.list[queue]->text, &id) != GANG_OK)
        return;
    while (gang_queue_get(sim->sched, id, &info) == GANG_OK && info.parent != GANG_ID_NONE) {
        id = info.parent;
        if (gang_queue_get(sim->sched, id, &info) != GANG_OK)
            return;
        int32_t above = gang__sim_word_find(&sim->queues, info.name);
        if (above < 0)
            continue;
        of[above].cpu += u.cpu;
        of[above].gpu += u.gpu;
    }
}

/* What each queue used, with all queues below it. */
static void add_queues(struct gang__json_maker *m, json_t *o, const gang_sim *sim)
{
    size_t count = sim->queues.table.count;
    json_t *by_name = json_object();
    struct used *of = gang__zalloc(&sim->mem, count ? count : 1, sizeof(*of));
    if (!of)
        gang__json_note(m, GANG_ENOMEM);
    for (size_t i = 0; of && i < count && i < sim->queue_cap; i++) {
        struct used u = used_until_now(sim, &sim->by_queue[i]);
        of[i].cpu += u.cpu;
        of[i].gpu += u.gpu;
        if (u.cpu > 0 || u.gpu > 0)
            add_to_parents(sim, i, u, of);
    }
    for (size_t i = 0; of && i < count; i++) {
        json_t *one = json_object();
        add_real(m, one, "gpu_s", of[i].gpu / 1000);
        add_real(m, one, "cpu_s", of[i].cpu / 1000);
        gang__json_put(m, by_name, sim->queues.list[i]->text, one);
    }
    gang__release(&sim->mem, of);
    gang__json_put(m, o, "queues", by_name);
}

static void add_models(struct gang__json_maker *m, json_t *o, const gang_sim *sim)
{
    json_t *by_name = json_object();
    for (size_t i = 0; i < sim->models.table.count && i < sim->model_cap; i++) {
        struct used u = used_until_now(sim, &sim->by_model[i]);
        json_t *one = json_object();
        add_real(m, one, "gpu_s", u.gpu / 1000);
        add_real(m, one, "utilisation", over(u.gpu, u.all));
        gang__json_put(m, by_name, sim->models.list[i]->text, one);
    }
    gang__json_put(m, o, "gpu_models", by_name);
}

static json_t *make_summary(struct gang__json_maker *m, const gang_sim *sim,
                            const struct gang_sim_stats *s)
{
    const struct {
        const char *key;
        int64_t value;
    } whole[] = {{"jobs", s->jobs},
                 {"failed", s->failed},
                 {"refused", s->refused},
                 {"unfinished", s->unfinished},
                 {"preemptions", s->preemptions},
                 {"failures", s->failures}};
    const struct {
        const char *key;
        double value;
    } real[] = {{"makespan_s", s->makespan_s},
                {"gpu_utilisation", s->gpu_utilisation},
                {"cpu_utilisation", s->cpu_utilisation},
                {"memory_utilisation", s->memory_utilisation},
                {"fragmentation", s->fragmentation},
                {"goodput", s->goodput},
                {"lost_gpu_s", s->lost_gpu_s},
                {"jain", s->jain},
                {"finish_fairness_mean", s->finish_fairness_mean},
                {"finish_fairness_max", s->finish_fairness_max}};
    json_t *o = json_object();
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        gang__json_put(m, o, whole[i].key, json_integer(whole[i].value));
    add_spread(m, o, "wait_s", &s->wait_s);
    add_spread(m, o, "queue_s", &s->queue_s);
    add_spread(m, o, "jct_s", &s->jct_s);
    add_spread(m, o, "slowdown", &s->slowdown);
    add_spread(m, o, "bounded_slowdown", &s->bounded_slowdown);
    for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++)
        add_real(m, o, real[i].key, real[i].value);
    add_queues(m, o, sim);
    add_models(m, o, sim);
    return o;
}

gang_result gang_sim_write_summary(const gang_sim *sim, const struct gang_sim_stats_opts *opts,
                                   int32_t indent, gang_write_fn write, void *user)
{
    struct gang_sim_stats s = GANG_SIM_STATS_INIT;
    struct gang__json_maker m = {GANG_OK};
    if (!write || indent < 0)
        return GANG_EINVAL;
    gang_result r = gang_sim_get_stats(sim, opts, &s);
    if (r != GANG_OK)
        return r;
    json_t *o = make_summary(&m, sim, &s);
    r = m.result;
    if (r == GANG_OK)
        r = gang__json_write(o, (size_t)indent, write, user);
    json_decref(o);
    return r;
}
