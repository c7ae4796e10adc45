/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of a job: full speed with all tasks, slower with fewer; what is lost with a task. */
#include <math.h>

#include "base/wide.h"
#include "sim/sim_in.h"

enum { FULL = 1000000 }; /* millionths of the full speed */

/* ---- up to now ------------------------------------------------------------------------------- */

void gang__sim_work(const gang_sim *sim, struct gang__sim_work *w, int64_t ns)
{
    int64_t restart = gang__min(ns, w->ahead_ns);
    w->ahead_ns -= restart;
    w->lost_ns += restart;
    int64_t done = gang__min(gang__mul_div(ns - restart, w->speed_ppm, FULL), w->left_ns);
    int64_t every = sim->opts.checkpoint_ns;
    w->left_ns -= done;
    if (every != 0)
        w->unsaved_ns += done;
    if (every > 0)
        w->unsaved_ns %= every;
}

int64_t gang__sim_since(const gang_sim *sim, const struct gang__sim_job *j)
{
    bool counts = j->stage == GANG__SIM_KNOWN && j->done_ns == GANG_TRACE_UNKNOWN;
    int64_t ns = sim->now_ns - j->since_ns;
    return counts && ns > 0 ? ns : 0;
}

void gang__sim_count_time(struct gang__sim_job *j, int64_t ns)
{
    bool between = j->stages && j->state == GANG_JOB_RUNNING && !j->work.works;
    if ((j->state == GANG_JOB_RUNNING || j->state == GANG_JOB_STOPPING) && !between)
        j->ran_ns += ns;
    else if (j->state == GANG_JOB_SUSPENDED)
        j->suspended_ns += ns;
    else
        j->wait_ns += ns;
}

void gang__sim_progress(gang_sim *sim, struct gang__sim_job *j)
{
    int64_t ns = gang__sim_since(sim, j);
    j->since_ns = sim->now_ns;
    if (ns == 0)
        return;
    gang__sim_count_time(j, ns);
    if (j->stages)
        gang__sim_stages_work(sim, j, ns);
    else if (j->work.works)
        gang__sim_work(sim, &j->work, ns);
    else if (j->state == GANG_JOB_STOPPING)
        j->work.lost_ns += ns; /* it saves, and does nothing else */
}

/* ---- starts and stops ------------------------------------------------------------------------ */

int64_t gang__sim_restart(const gang_sim *sim, size_t index, int64_t gpu_milli)
{
    if (!sim->ops.restart_ns)
        return sim->opts.restart_ns;
    int64_t ns = sim->ops.restart_ns(index, gpu_milli, sim->user);
    return ns > 0 ? ns : 0;
}

void gang__sim_begin(gang_sim *sim, struct gang__sim_job *j)
{
    j->work.works = true;
    j->work.unsaved = false;
    j->starts++;
    j->began = ++sim->begun;
    if (j->starts == 1)
        j->start_ns = sim->now_ns;
}

void gang__sim_rewind(struct gang__sim_work *w)
{
    w->left_ns += w->unsaved_ns;
    w->lost_ns += w->unsaved_ns;
    w->unsaved_ns = 0;
}

/* It does not work any more; what it holds is another matter. */
void gang__sim_halt(struct gang__sim_work *w)
{
    if (w->works && w->unsaved)
        gang__sim_rewind(w);
    w->works = false;
    w->unsaved_ns = 0; /* saved, or rewound */
}

/* It waits again. The restart counts from now on: policies look at what is left of it. */
void gang__sim_preempted(gang_sim *sim, struct gang__sim_job *j)
{
    gang__sim_halt(&j->work);
    j->began = ++sim->begun;
    int64_t restart = gang__sim_restart(sim, j->index, j->gpu_milli);
    j->work.ahead_ns = gang__add_sat(j->work.ahead_ns, restart);
}

/* ---- after a run ----------------------------------------------------------------------------- */

/* part ^ (exponent / GANG_WHOLE) of 0 <= part <= 1, by roots and products only: these are the same
 * on all machines. */
static double power(double part, int64_t exponent)
{
    double result = 1, root = part;
    for (int64_t i = 0; i < exponent / GANG_WHOLE && result > 0; i++)
        result *= part;
    double rest = (double)(exponent % GANG_WHOLE) / (double)GANG_WHOLE;
    for (int bit = 0; bit < 40 && rest > 0; bit++) {
        root = sqrt(root);
        rest *= 2;
        if (rest >= 1) {
            result *= root;
            rest -= 1;
        }
    }
    return result;
}

/* (tasks / count) ^ elastic, or as the caller says. */
int32_t gang__sim_speed(const gang_sim *sim, size_t index, int64_t held_tasks, int64_t tasks)
{
    int64_t max = (int64_t)FULL * 1000;
    if (sim->ops.speed) {
        int64_t s = sim->ops.speed(index, held_tasks, tasks, sim->user);
        return s <= 0 ? 0 : (int32_t)gang__min(s, max);
    }
    if (held_tasks >= tasks || sim->opts.elastic < 0)
        return FULL;
    if (sim->opts.elastic == 0 || sim->opts.elastic == GANG_WHOLE)
        return (int32_t)gang__mul_div(held_tasks, FULL, tasks);
    double gang = (double)held_tasks / (double)tasks;
    return (int32_t)(power(gang, sim->opts.elastic) * FULL + 0.5);
}

int64_t gang__sim_end(const gang_sim *sim, const struct gang__sim_work *w)
{
    if (w->speed_ppm == 0 && w->left_ns > 0)
        return INT64_MAX;
    int64_t ns = w->left_ns ? gang__mul_div_up(w->left_ns, FULL, w->speed_ppm) : 0;
    ns = gang__add_sat(gang__add_sat(ns, w->ahead_ns), sim->opts.linger_ns);
    return gang__add_sat(sim->now_ns, ns);
}

bool gang__sim_expect(gang_sim *sim, size_t index, uint32_t gang, uint32_t class, int64_t at_ns)
{
    const struct gang__sim_job *j = gang__sim_at(sim, index);
    bool in_order = sim->opts.same_instant == GANG_SIM_ONE_BY_ONE;
    uint64_t key = (in_order ? j->began : index) << 12 | gang; /* it has 4095 groups at most */
    uint64_t target = index | (uint64_t)gang << 32;
    return at_ns == INT64_MAX ||
           gang__sim_event_add(sim, (struct gang__sim_entry){at_ns, key, class, j->epoch, target});
}

static gang_result expect_next(gang_sim *sim, size_t index)
{
    const struct gang__sim_job *j = gang__sim_at(sim, index);
    bool ok = true;
    if (j->work.works && j->done_ns == GANG_TRACE_UNKNOWN) {
        gang__sim_watch(sim, j);
        int64_t end = gang__sim_end(sim, &j->work);
        int64_t fail = gang__sim_task_failure(sim, index, 0, j->held_tasks);
        int64_t tick = gang__sim_round_up(end, sim->opts.tick_ns);
        ok = gang__sim_expect(sim, index, 0, GANG__SIM_END, tick);
        if (ok && fail < end)
            ok = gang__sim_expect(sim, index, 0, GANG__SIM_TASK_FAIL, fail);
    } else if (j->state == GANG_JOB_STOPPING && sim->opts.stop_ns > 0) {
        int64_t stopped = gang__add_sat(sim->now_ns, sim->opts.stop_ns);
        ok = gang__sim_expect(sim, index, 0, GANG__SIM_STOPPED, stopped);
    }
    return ok ? GANG_OK : GANG_ENOMEM;
}

static gang_result settle(gang_sim *sim, size_t index)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    struct gang_job_info info = {.size = sizeof(info)};
    gang_alloc_id alloc = GANG_ID_NONE;
    int64_t tasks = 0;
    gang__sim_progress(sim, j);
    j->epoch++;
    if (j->stages)
        return gang__sim_stages_settle(sim, index);
    bool holds = j->stage == GANG__SIM_KNOWN &&
                 (j->state == GANG_JOB_RUNNING || j->state == GANG_JOB_STOPPING);
    if (holds && gang_job_get(sim->sched, j->id, &info) == GANG_OK) {
        /* a gang that stops between two time slices holds places and uses none */
        alloc = info.tasks > 0 ? info.alloc : GANG_ID_NONE;
        j->held_tasks = info.tasks;
    }
    gang__sim_gather_begin(sim);
    gang_result r = gang__sim_gather(sim, 0, alloc, &tasks);
    if (r == GANG_OK && holds) {
        /* those on a node that is down work no more, before the scheduler hears of it, too */
        if (j->state == GANG_JOB_RUNNING)
            j->held_tasks = gang__min(j->held_tasks, tasks);
        j->work.speed_ppm = gang__sim_speed(sim, index, j->held_tasks, j->tasks);
        r = expect_next(sim, index);
    }
    if (r != GANG_OK || (alloc == GANG_ID_NONE && j->at.count == 0))
        return r;
    return gang__sim_gather_end(sim, index);
}

void gang__sim_touch(gang_sim *sim, size_t index)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    gang__sim_view_changed(sim, index);
    if (j->touched)
        return;
    j->touched = sim->touched ? sim->touched : (uint32_t)index + 1;
    sim->touched = (uint32_t)index + 1;
}

void gang__sim_touch_later(gang_sim *sim, size_t index)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    if (j->hit)
        return;
    j->hit = sim->hit ? sim->hit : (uint32_t)index + 1;
    sim->hit = (uint32_t)index + 1;
}

void gang__sim_touch_hit(gang_sim *sim)
{
    while (sim->hit) {
        size_t index = sim->hit - 1;
        struct gang__sim_job *j = gang__sim_at(sim, index);
        sim->hit = j->hit == index + 1 ? 0 : j->hit;
        j->hit = 0;
        gang__sim_touch(sim, index);
    }
}

gang_result gang__sim_settle(gang_sim *sim)
{
    while (sim->touched) {
        size_t index = sim->touched - 1;
        gang_result r = settle(sim, index);
        if (r != GANG_OK)
            return r;
        struct gang__sim_job *j = gang__sim_at(sim, index);
        sim->touched = j->touched == index + 1 ? 0 : j->touched;
        j->touched = 0;
    }
    return GANG_OK;
}
