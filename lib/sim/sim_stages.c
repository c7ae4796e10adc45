/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of several gangs that wait for each other. Each gang has work of its own: the scheduler
 * starts it when the gangs before it allow, and its end is reported as the end of its tasks. The
 * scheduler decides when the job is over. */
#include <string.h>

#include "base/wide.h"
#include "sim/sim_in.h"

/* ---- all of it ------------------------------------------------------------------------------- */

/* How long the job takes from now on if each gang begins when those before it allow: the longest
 * path to a gang that decides. */
static int64_t way(struct gang__sim_stages *st, bool ahead)
{
    int64_t longest = 0;
    for (uint32_t p = 0; p < st->gangs; p++)
        st->gang[p].begins_ns = 0;
    for (uint32_t i = 0; i < st->waits; i++) {
        const struct gang__sim_gang *a = &st->gang[st->wait[i].after];
        struct gang__sim_gang *p = &st->gang[st->wait[i].gang];
        int64_t at = a->begins_ns;
        if (st->wait[i].when != GANG_AFTER_START)
            at = gang__add_sat(at, a->work.left_ns + (ahead ? a->work.ahead_ns : 0));
        else if (a->begun)
            at = 0;
        p->begins_ns = at > p->begins_ns && !p->begun ? at : p->begins_ns;
    }
    for (uint32_t p = 0; p < st->gangs; p++) {
        const struct gang__sim_gang *x = &st->gang[p];
        int64_t end = gang__add_sat(x->begins_ns, x->work.left_ns + (ahead ? x->work.ahead_ns : 0));
        longest = x->decides && end > longest ? end : longest;
    }
    return longest;
}

void gang__sim_stages_sum(struct gang__sim_job *j)
{
    struct gang__sim_stages *st = j->stages;
    struct gang__sim_work sum = {.left_ns = way(st, false), .speed_ppm = j->work.speed_ppm};
    sum.ahead_ns = way(st, true) - sum.left_ns;
    for (uint32_t p = 0; p < st->gangs; p++) {
        sum.works = sum.works || st->gang[p].work.works;
        sum.lost_ns = gang__add_sat(sum.lost_ns, st->gang[p].work.lost_ns);
    }
    j->work = sum;
}

void gang__sim_stages_work(const gang_sim *sim, struct gang__sim_job *j, int64_t ns)
{
    for (uint32_t i = 0; i < j->stages->gangs; i++) {
        struct gang__sim_gang *p = &j->stages->gang[i];
        if (p->work.works)
            gang__sim_work(sim, &p->work, ns);
        else if (p->stopped_ns != INT64_MAX)
            p->work.lost_ns += ns; /* it saves, and does nothing else */
        else
            continue;
        p->ran_ns += ns;
    }
    gang__sim_stages_sum(j);
}

static bool is_over(const struct gang__sim_stages *st)
{
    for (uint32_t p = 0; p < st->gangs; p++)
        if (st->gang[p].decides && !st->gang[p].over)
            return false;
    return true;
}

/* May it run: does it, or do those before it let it begin? */
static bool may_run(const struct gang__sim_stages *st, uint32_t gang)
{
    for (uint32_t i = 0; i < st->waits; i++) {
        const struct gang__sim_gang *a = &st->gang[st->wait[i].after];
        if (st->wait[i].gang == gang && !a->over &&
            (st->wait[i].when != GANG_AFTER_START || !a->begun))
            return false;
    }
    return true;
}

int64_t gang__sim_stages_demand(const struct gang__sim_stages *st, bool gpus)
{
    int64_t want = 0;
    for (uint32_t p = 0; p < st->gangs; p++)
        if (!st->gang[p].over && (st->gang[p].alloc || may_run(st, p)))
            want = gang__add_sat(want, gpus ? st->gang[p].gpu_milli : st->gang[p].cpu_milli);
    return want;
}

int64_t gang__sim_stages_served(const struct gang__sim_stages *st, bool gpus, int64_t *rate)
{
    int64_t served = 0;
    *rate = 0;
    for (uint32_t i = 0; i < st->gangs; i++) {
        const struct gang__sim_gang *p = &st->gang[i];
        int64_t milli = gpus ? p->gpu_milli : p->cpu_milli;
        served = gang__add_sat(served, gang__mul_div(p->ran_ns, milli, 1));
        *rate = gang__add_sat(*rate, p->work.works ? milli : 0);
    }
    return served;
}

int64_t gang__sim_demand(const struct gang__sim_job *j)
{
    int64_t max = 0;
    if (!j->stages)
        return j->gpu_milli ? j->gpu_milli : j->cpu_milli;
    for (uint32_t i = 0; i < j->stages->gangs; i++) {
        const struct gang__sim_gang *p = &j->stages->gang[i];
        int64_t milli = j->gpu_milli ? p->gpu_milli : p->cpu_milli;
        max = milli > max ? milli : max;
    }
    return max;
}

void gang__sim_served(const struct gang__sim_job *j, double *used_s, double *lost_s)
{
    double milli = (double)(j->gpu_milli ? j->gpu_milli : j->cpu_milli) / 1000;
    *used_s = (double)j->ran_ns / 1e9 * milli;
    *lost_s = (double)j->work.lost_ns / 1e9 * milli;
    if (!j->stages)
        return;
    *used_s = *lost_s = 0;
    for (uint32_t i = 0; i < j->stages->gangs; i++) {
        const struct gang__sim_gang *p = &j->stages->gang[i];
        milli = (double)(j->gpu_milli ? p->gpu_milli : p->cpu_milli) / 1000;
        *used_s += (double)p->ran_ns / 1e9 * milli;
        *lost_s += (double)p->work.lost_ns / 1e9 * milli;
    }
}

/* ---- gangs start and stop -------------------------------------------------------------------- */

static void touch(gang_sim *sim, struct gang__sim_job *j)
{
    struct gang_job_info info = {.size = sizeof(info)};
    if (gang_job_get(sim->sched, j->id, &info) != GANG_OK)
        return;
    j->preemptions = (uint32_t)info.preemptions;
    j->held_tasks = info.tasks;
}

void gang__sim_gang_starts(gang_sim *sim, size_t index, const struct gang_event *e)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    struct gang__sim_gang *p = &j->stages->gang[e->gang];
    gang__sim_progress(sim, j);
    p->alloc = e->alloc;
    p->work.works = p->begun = true;
    p->work.unsaved = p->over = p->out = false;
    p->stopped_ns = INT64_MAX;
    if (j->starts++ == 0)
        j->start_ns = sim->now_ns;
    j->began = ++sim->begun;
    touch(sim, j);
    gang__sim_stages_sum(j);
    gang__sim_touch(sim, index);
    gang__sim_report_gang(sim, GANG_SIM_STARTED, index, (uint32_t)e->gang, e->reason, e->text);
}

/* It does not work any more, and waits again, its restart before it. */
static void preempted(gang_sim *sim, struct gang__sim_job *j, uint32_t gang, bool restarts)
{
    struct gang__sim_gang *p = &j->stages->gang[gang];
    gang__sim_halt(&p->work);
    p->alloc = GANG_ID_NONE;
    p->out = false;
    if (!restarts)
        return;
    int64_t ns = gang__sim_restart(sim, j->index, p->gpu_milli);
    p->work.ahead_ns = gang__add_sat(p->work.ahead_ns, ns);
}

/* It works, or is between two time slices, and was not asked to stop. */
static bool is_held(const struct gang__sim_gang *p)
{
    return p->work.works || (p->out && p->stopped_ns == INT64_MAX);
}

bool gang__sim_gang_stops(gang_sim *sim, size_t index, const struct gang_event *e)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    struct gang__sim_gang *p = &j->stages->gang[e->gang];
    bool ends = e->reason == GANG_REASON_TIMEOUT || e->reason == GANG_REASON_CANCEL ||
                e->reason == GANG_REASON_END;
    gang__sim_progress(sim, j);
    p->work.unsaved = e->deadline_ns - sim->now_ns < sim->opts.stop_ns;
    bool out = p->out;
    if (is_held(p))
        preempted(sim, j, (uint32_t)e->gang, !ends && e->reason != GANG_REASON_MOVE);
    if (sim->opts.stop_ns > 0) { /* it takes its time, also between two time slices */
        p->out = out;
        p->alloc = e->alloc;
        p->stopped_ns = gang__add_sat(sim->now_ns, sim->opts.stop_ns);
    }
    gang__sim_stages_sum(j);
    touch(sim, j);
    gang__sim_touch(sim, index);
    if (!ends)
        gang__sim_report_gang(sim, GANG_SIM_STOPPED, index, (uint32_t)e->gang, e->reason, e->text);
    return sim->opts.stop_ns == 0;
}

static bool can_work(const struct gang__sim_gang *p)
{
    return p->alloc != GANG_ID_NONE && !p->over && !p->out && p->stopped_ns == INT64_MAX;
}

void gang__sim_gang_turns(gang_sim *sim, size_t index, const struct gang_event *e, bool out)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    struct gang__sim_gang *p = &j->stages->gang[e->gang];
    gang__sim_progress(sim, j);
    p->out = out;
    p->work.works = can_work(p);
    gang__sim_stages_sum(j);
    gang__sim_touch(sim, index);
}

void gang__sim_stages_state(gang_sim *sim, struct gang__sim_job *j, const struct gang_event *e,
                            int32_t was)
{
    size_t index = j->index;
    for (uint32_t i = 0; i < j->stages->gangs; i++) {
        struct gang__sim_gang *p = &j->stages->gang[i];
        if (e->state == GANG_JOB_SUSPENDED)
            p->work.works = false; /* it stays in memory */
        else if (e->state == GANG_JOB_RUNNING && was == GANG_JOB_SUSPENDED)
            p->work.works = can_work(p);
        else if (e->state == GANG_JOB_PENDING && is_held(p)) {
            /* all its tasks were lost */
            preempted(sim, j, i, true);
            gang__sim_report_gang(sim, GANG_SIM_STOPPED, index, i, e->reason, e->text);
        }
        if (e->state == GANG_JOB_PENDING || e->state == GANG_JOB_ENDED) {
            p->work.works = p->out = false;
            p->alloc = GANG_ID_NONE;
            p->stopped_ns = INT64_MAX;
        }
    }
    gang__sim_stages_sum(j);
}

/* ---- events ---------------------------------------------------------------------------------- */

gang_result gang__sim_gang_ends(gang_sim *sim, size_t index, uint32_t gang)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    struct gang__sim_gang *p = &j->stages->gang[gang];
    gang_result r = GANG_OK;
    if (p->held_tasks < p->tasks) /* nor does it need those that it never had */
        r = gang_report_tasks(sim->sched, j->id, (int32_t)gang, p->alloc, NULL, 0, GANG_TASK_IDLE);
    if (r == GANG_OK)
        r = gang_report_tasks(sim->sched, j->id, (int32_t)gang, p->alloc, NULL, 0,
                              GANG_TASK_SUCCEEDED);
    if (r != GANG_OK)
        return r == GANG_ENOMEM ? r : GANG_OK;
    gang__sim_progress(sim, j);
    p->work.works = false;
    p->work.unsaved_ns = 0;
    p->over = true;
    gang__sim_stages_sum(j);
    if (is_over(j->stages))
        j->done_ns = sim->now_ns;
    sim->dirty = true;
    gang__sim_touch_later(sim, index);
    gang__sim_touch(sim, index);
    gang__sim_report_gang(sim, GANG_SIM_GANG_ENDED, index, gang, GANG_REASON_END,
                          "a gang of it has done its work");
    return GANG_OK;
}

gang_result gang__sim_gang_stopped(gang_sim *sim, size_t index, uint32_t gang)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    struct gang__sim_gang *p = &j->stages->gang[gang];
    gang_result r =
        gang_report_tasks(sim->sched, j->id, (int32_t)gang, p->alloc, NULL, 0, GANG_TASK_STOPPED);
    if (r == GANG_ENOMEM)
        return r;
    gang__sim_progress(sim, j);
    p->stopped_ns = INT64_MAX;
    p->alloc = GANG_ID_NONE;
    sim->dirty = true;
    gang__sim_touch_later(sim, index);
    return GANG_OK;
}

struct look {
    gang_node_id node;
    bool found;
};

static int32_t is_there(const struct gang_task *t, void *user)
{
    struct look *l = user;
    l->found = l->found || t->node == l->node;
    return l->found;
}

bool gang__sim_stages_lose(gang_sim *sim, struct gang__sim_job *j, gang_node_id node)
{
    bool some = false;
    for (uint32_t i = 0; i < j->stages->gangs; i++) {
        struct gang__sim_gang *p = &j->stages->gang[i];
        struct look l = {node, false};
        if (p->over || p->alloc == GANG_ID_NONE ||
            gang_alloc_each(sim->cluster, p->alloc, is_there, &l) < 0 || !l.found)
            continue;
        gang__sim_rewind(&p->work);
        some = true;
    }
    gang__sim_touch_later(sim, j->index);
    gang__sim_stages_sum(j);
    return some;
}

/* ---- after a run ----------------------------------------------------------------------------- */

static bool expect_next(gang_sim *sim, size_t index, uint32_t gang)
{
    struct gang__sim_gang *p = &gang__sim_at(sim, index)->stages->gang[gang];
    if (p->stopped_ns != INT64_MAX)
        return gang__sim_expect(sim, index, gang, GANG__SIM_STOPPED, p->stopped_ns);
    if (!p->work.works)
        return true;
    p->work.speed_ppm = gang__sim_speed(sim, index, p->held_tasks, p->tasks);
    int64_t end = gang__sim_end(sim, &p->work);
    int64_t fail = gang__sim_task_failure(sim, index, gang, p->held_tasks);
    int64_t tick = gang__sim_round_up(end, sim->opts.tick_ns);
    if (!gang__sim_expect(sim, index, gang, GANG__SIM_END, tick))
        return false;
    return fail >= end || gang__sim_expect(sim, index, gang, GANG__SIM_TASK_FAIL, fail);
}

gang_result gang__sim_stages_settle(gang_sim *sim, size_t index)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    bool lives = j->stage == GANG__SIM_KNOWN;
    gang__sim_gather_begin(sim);
    for (uint32_t i = 0; i < j->stages->gangs; i++) {
        struct gang__sim_gang *p = &j->stages->gang[i];
        gang_alloc_id alloc =
            lives ? gang_job_alloc(sim->sched, j->id, (int32_t)i) : (gang_alloc_id)GANG_ID_NONE;
        /* before its first time slice, and between two, it holds places and uses none */
        bool uses = alloc == p->alloc && !p->out;
        int64_t tasks;
        gang_result r = gang__sim_gather(sim, i, uses ? alloc : GANG_ID_NONE, &tasks);
        if (r != GANG_OK)
            return r;
        if (uses)
            p->held_tasks = tasks;
        if (alloc != p->alloc) { /* the scheduler took what it had: lost whole, or killed */
            gang__sim_halt(&p->work);
            p->out = false;
            p->alloc = GANG_ID_NONE;
            p->stopped_ns = INT64_MAX;
        }
        if (lives && j->done_ns == GANG_TRACE_UNKNOWN && !expect_next(sim, index, i))
            return GANG_ENOMEM;
    }
    gang__sim_stages_sum(j);
    if (lives)
        gang__sim_watch(sim, j);
    if (sim->scratch.count == 0 && j->at.count == 0)
        return GANG_OK;
    return gang__sim_gather_end(sim, index);
}
