/* SPDX-License-Identifier: Apache-2.0 */
/* Scores: the order of jobs and, where a policy selects, which jobs run at all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "sim/sim_in.h"

static bool is_las(const gang_sim *sim)
{
    return !sim->ops.score && (sim->opts.policy == GANG_SIM_POLICY_LAS ||
                               sim->opts.policy == GANG_SIM_POLICY_LAS_STARTED);
}

bool gang__sim_has_scores(const gang_sim *sim)
{
    return sim->ops.score || sim->opts.policy == GANG_SIM_POLICY_SRTF || is_las(sim);
}

bool gang__sim_selects(const gang_sim *sim)
{
    if (sim->ops.score)
        return sim->ops.score_mode == GANG_SIM_SCORE_SELECT;
    return sim->opts.policy == GANG_SIM_POLICY_SRTF || is_las(sim);
}

/* Priority of a score: a lower score has a higher priority, NaN the lowest. The order of doubles is
 * the order of their bits, but for the sign. */
static int64_t priority_of(double score)
{
    int64_t bits;
    if (isnan(score))
        return -INT64_MAX;
    score += 0.0; /* -0 is 0 */
    memcpy(&bits, &score, sizeof(bits));
    if (bits < 0)
        bits = INT64_MIN - bits;
    return -bits;
}

int64_t gang__sim_first_priority(const gang_sim *sim, const struct gang__sim_job *j,
                                 int64_t priority)
{
    if (sim->ops.score)
        return 0;
    switch (sim->opts.policy) {
    case GANG_SIM_POLICY_QUEUES:
        return priority;
    case GANG_SIM_POLICY_SJF:
    case GANG_SIM_POLICY_SRTF:
        return -j->run_ns;
    default:
        return 0; /* by age */
    }
}

/* ---- scores --------------------------------------------------------------------------------- */

/* Like is_served(), of a job of several gangs: the sum over its gangs. */
static bool are_served(gang_sim *sim, const struct gang__sim_job *j, int64_t split)
{
    int64_t rate, served = gang__sim_stages_served(j->stages, j->gpu_milli > 0, &rate);
    int64_t until = gang__mul_div(split, 1000, 1);
    if (served > until)
        return true;
    int64_t ns = rate > 0 ? (until - served) / rate + 1 : INT64_MAX;
    sim->decide_ns = gang__min(sim->decide_ns, gang__add_sat(sim->now_ns, ns));
    return false;
}

/* Has the job used more GPU-time (without GPUs: core-time) than the split of LAS? If not, and it
 * runs, sets when it will have. */
static bool is_served(gang_sim *sim, const struct gang__sim_job *j)
{
    int64_t split = sim->opts.las_split_ns ? sim->opts.las_split_ns : INT64_C(18000000000000);
    int64_t milli = j->gpu_milli ? j->gpu_milli : j->cpu_milli;
    if (j->stages)
        return are_served(sim, j, split);
    /* has it run, and one more */
    int64_t until = milli ? gang__add_sat(gang__mul_div(split, 1000, milli), 1) : INT64_MAX;
    if (j->ran_ns >= until)
        return true;
    if (j->state == GANG_JOB_RUNNING && sim->now_ns < INT64_MAX - (until - j->ran_ns))
        sim->decide_ns = gang__min(sim->decide_ns, sim->now_ns + (until - j->ran_ns));
    return false;
}

void gang__sim_watch(gang_sim *sim, const struct gang__sim_job *j)
{
    if (is_las(sim))
        (void)is_served(sim, j);
}

static int32_t score(gang_sim *sim, const struct gang_sim_view *v)
{
    if (sim->ops.score)
        return sim->ops.score(v, sim->score, sim->user);
    for (size_t i = 0; i < v->count; i++) {
        const struct gang__sim_job *j = gang__sim_at(sim, (size_t)v->index[i]);
        sim->score[i] =
            is_las(sim) ? (double)is_served(sim, j) : (double)(j->work.left_ns + j->work.ahead_ns);
    }
    return 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

static gang_result set_priority(gang_sim *sim, struct gang__sim_job *j, int64_t priority)
{
    if (j->priority == priority)
        return GANG_OK;
    gang_result r = gang_job_set_priority(sim->sched, j->id, priority);
    if (r == GANG_OK)
        j->priority = priority;
    return r;
}

/* Most scores are what they were. */
static gang_result order(gang_sim *sim, const struct gang_sim_view *v)
{
    gang_result r = GANG_OK;
    double *sent = sim->score + sim->view_cap;
    for (size_t i = 0; i < v->count && r == GANG_OK; i++) {
        if (sim->score[i] == sent[i])
            continue;
        r = set_priority(sim, gang__sim_at(sim, (size_t)v->index[i]), priority_of(sim->score[i]));
        sent[i] = r == GANG_OK ? sim->score[i] : (double)NAN;
    }
    return r;
}

/* ---- selection ------------------------------------------------------------------------------- */

/* The order of selection. Of equal scores waiting jobs come before running ones, then by age or, as
 * in the published simulators, by how long they wait or run. LAS has two queues by age; of jobs
 * that came together the running ones come first. */
static bool is_before(const gang_sim *sim, const struct gang_sim_view *v, uint32_t a, uint32_t b)
{
    double x = sim->score[a], y = sim->score[b];
    bool by_age = is_las(sim) && sim->opts.policy == GANG_SIM_POLICY_LAS;
    if (isnan(x) || isnan(y))
        return isnan(x) == isnan(y) ? a < b : isnan(y);
    if (x != y)
        return x < y;
    if ((by_age || (sim->ops.score && v->running[a] == v->running[b])) &&
        v->submit_ns[a] != v->submit_ns[b])
        return v->submit_ns[a] < v->submit_ns[b];
    if (v->running[a] != v->running[b])
        return is_las(sim) ? v->running[a] > v->running[b] : v->running[a] < v->running[b];
    return sim->ops.score ? a < b
                          : gang__sim_at(sim, (size_t)v->index[a])->began <
                                gang__sim_at(sim, (size_t)v->index[b])->began;
}

/* Merge sort of positions, stable. */
static void sort(gang_sim *sim, const struct gang_sim_view *v)
{
    uint32_t *from = sim->by_score, *to = sim->by_score + sim->view_cap;
    size_t n = v->count;
    for (size_t i = 0; i < n; i++)
        from[i] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t middle = low + width < n ? low + width : n;
            size_t high = low + 2 * width < n ? low + 2 * width : n;
            for (size_t a = low, b = middle, k = low; k < high; k++)
                to[k] = a < middle && (b >= high || !is_before(sim, v, from[b], from[a]))
                            ? from[a++]
                            : from[b++];
        }
        uint32_t *was = from;
        from = to;
        to = was;
    }
    if (from != sim->by_score)
        memcpy(sim->by_score, from, n * sizeof(*from));
}

/* milli-GPUs that the jobs of a queue may use in all: its limit, or what is up. */
static int64_t budget_of(const gang_sim *sim, int32_t queue, bool gpus)
{
    struct gang_queue_info info = {.size = sizeof(info)};
    gang_queue_id id;
    int32_t kind = gpus ? GANG_KIND_GPU : GANG_KIND_CPU;
    int64_t all = gpus ? sim->gpu_all : sim->cpu_all;
    if (gang_queue_find(sim->sched, sim->queues.list[queue]->text, &id) != GANG_OK ||
        gang_queue_get(sim->sched, id, &info) != GANG_OK || info.limit[kind] == GANG_UNLIMITED)
        return all;
    return gang__min(all, info.limit[kind]);
}

static gang_result choose(gang_sim *sim, struct gang__sim_job *j, bool chosen)
{
    gang_result r = GANG_OK;
    if (chosen && j->held)
        r = gang_job_release(sim->sched, j->id);
    else if (!chosen && !j->held)
        r = gang_job_hold(sim->sched, j->id);
    if (r == GANG_OK)
        j->held = !chosen;
    if (r == GANG_OK && !chosen && (j->state == GANG_JOB_RUNNING || j->state == GANG_JOB_SUSPENDED))
        r = gang_job_requeue(sim->sched, j->id);
    return r;
}

static gang_result select_jobs(gang_sim *sim, const struct gang_sim_view *v)
{
    bool gpus = sim->gpu_all > 0;
    size_t queues = sim->queues.table.count;
    int64_t *left = gang__zalloc(&sim->mem, queues ? queues : 1, sizeof(*left));
    gang_result r = left ? GANG_OK : GANG_ENOMEM;
    for (size_t q = 0; left && q < queues; q++)
        left[q] = -1;
    sort(sim, v);
    for (size_t i = 0; i < v->count && r == GANG_OK; i++) {
        uint32_t at = sim->by_score[i];
        struct gang__sim_job *j = gang__sim_at(sim, (size_t)v->index[at]);
        int64_t need = gpus ? v->gpu_milli[at] : v->cpu_milli[at];
        if (left[j->queue] < 0)
            left[j->queue] = budget_of(sim, j->queue, gpus);
        bool chosen = need <= left[j->queue];
        left[j->queue] -= chosen ? need : 0;
        if (j->state == GANG_JOB_STOPPING)
            continue;
        r = choose(sim, j, chosen);
        if (r == GANG_OK && chosen)
            r = set_priority(sim, j, -(int64_t)i);
    }
    gang__release(&sim->mem, left);
    return r;
}

/* Computes scores when something happened or a score changes with time. With SRTF scores change all
 * the time, but that does not matter: a running job has less left and moves ahead; a job chosen
 * before it is still chosen after it. */
gang_result gang__sim_decide(gang_sim *sim)
{
    sim->decide_ns = INT64_MAX;
    if (!gang__sim_has_scores(sim) || sim->actives == 0)
        return GANG_OK;
    if (sim->ops.score && sim->opts.pass_ns > 0)
        sim->decide_ns = sim->now_ns + 1; /* it may look at the clock: each pass */
    struct gang_sim_view v;
    if (!gang__sim_view_fill(sim, &v))
        return GANG_ENOMEM;
    int32_t stop = score(sim, &v);
    if (stop) { /* half of the scores would be wrong: all stay as they were */
        sim->stop = sim->stop ? sim->stop : stop;
        return GANG_OK;
    }
    return gang__sim_selects(sim) ? select_jobs(sim, &v) : order(sim, &v);
}
