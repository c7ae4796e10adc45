/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of the scheduler and what they change in the row of a job. Nothing is allocated
 * here. */
#include "sim/sim_in.h"

static void call(gang_sim *sim, const struct gang_sim_event *e)
{
    int32_t stop = sim->ops.event(e, sim->user);
    if (stop && !sim->stop)
        sim->stop = stop;
}

/* Completes an event from the row of its job, and reports it. */
static void report(gang_sim *sim, struct gang_sim_event e)
{
    e.size = sizeof(e);
    e.now_ns = sim->now_ns;
    if (e.index != SIZE_MAX) {
        const struct gang__sim_job *j = gang__sim_at(sim, e.index);
        e.end = j->end;
        e.job = j->id;
        e.tasks = j->held_tasks;
        if (j->id != GANG_ID_NONE && j->stage == GANG__SIM_KNOWN)
            e.alloc = gang_job_alloc(sim->sched, j->id, e.gang);
    }
    call(sim, &e);
}

void gang__sim_report(gang_sim *sim, int32_t what, size_t index, gang_node_id node, int32_t reason,
                      const char *text)
{
    if (sim->ops.event)
        report(sim,
               (struct gang_sim_event){
                   .what = what, .index = index, .node = node, .reason = reason, .text = text});
}

void gang__sim_report_gang(gang_sim *sim, int32_t what, size_t index, uint32_t gang, int32_t reason,
                           const char *text)
{
    if (sim->ops.event)
        report(sim, (struct gang_sim_event){.what = what,
                                            .index = index,
                                            .reason = reason,
                                            .gang = (int32_t)gang,
                                            .text = text});
}

/* ---- states ---------------------------------------------------------------------------------- */

static int64_t *count_of(gang_sim *sim, int32_t state)
{
    return state == GANG_JOB_PENDING     ? &sim->pending
           : state == GANG_JOB_SUSPENDED ? &sim->suspended
                                         : &sim->runs_now;
}

void gang__sim_count_over(gang_sim *sim, const struct gang__sim_job *j)
{
    sim->over++;
    if (sim->streams && gang__sim_streams_jobs(sim))
        sim->ended[sim->ends++] = j->index; /* the list has memory for all rows */
}

static void ended(gang_sim *sim, struct gang__sim_job *j, int32_t end)
{
    gang__sim_halt(&j->work);
    j->stage = GANG__SIM_OVER;
    if (end == GANG_END_TIMEOUT && j->work.left_ns == 0)
        end = GANG_END_SUCCESS; /* its limit was its run time */
    if (end == GANG_END_SUCCESS && j->fails)
        end = GANG_END_FAILED;
    j->end = (uint8_t)end;
    j->end_ns = j->done_ns != GANG_TRACE_UNKNOWN ? j->done_ns : sim->now_ns;
    sim->last_end_ns = j->end_ns > sim->last_end_ns ? j->end_ns : sim->last_end_ns;
    gang__sim_deactivate(sim, j->index);
    gang__sim_spend(sim);
    sim->at_last_end = sim->area;
    gang__sim_count_over(sim, j);
}

static void change(gang_sim *sim, struct gang__sim_job *j, const struct gang_event *e)
{
    int32_t was = j->state;
    gang__sim_progress(sim, j);
    --*count_of(sim, was);
    j->state = (uint8_t)e->state;
    if (e->state != GANG_JOB_ENDED)
        ++*count_of(sim, e->state);
    if (e->state == GANG_JOB_ENDED) {
        ended(sim, j, e->end);
    } else if (j->stages) {
        gang__sim_stages_state(sim, j, e, was);
    } else if (e->state == GANG_JOB_RUNNING) {
        if (was == GANG_JOB_SUSPENDED && j->starts > 0) /* else its first time slice */
            j->work.works = true;
        else
            gang__sim_begin(sim, j);
    } else if (e->state == GANG_JOB_SUSPENDED) {
        j->work.works = false; /* it stays in memory */
    } else if (e->state == GANG_JOB_PENDING) {
        gang__sim_preempted(sim, j);
    } else {
        gang__sim_halt(&j->work);
    }
}

static int32_t event_of(int32_t was, int32_t now)
{
    switch (now) {
    case GANG_JOB_RUNNING:
        return was == GANG_JOB_SUSPENDED ? GANG_SIM_RESUMED : GANG_SIM_STARTED;
    case GANG_JOB_SUSPENDED:
        return GANG_SIM_SUSPENDED;
    case GANG_JOB_ENDED:
        return GANG_SIM_ENDED;
    default:
        return GANG_SIM_STOPPED;
    }
}

static int32_t on_state(const struct gang_event *e, void *user)
{
    gang_sim *sim = user;
    struct gang__sim_job *j = gang__sim_at(sim, e->cookie);
    int32_t was = j->state;
    gang__sim_touch(sim, (size_t)e->cookie);
    if (was == e->state || j->stage != GANG__SIM_KNOWN)
        return 0;
    /* Most starts and ends are plain: the row has all that they change. */
    bool plain = !sim->ops.event && !j->stages &&
                 ((e->state == GANG_JOB_ENDED && e->end != GANG_END_PREEMPTED) ||
                  (was == GANG_JOB_PENDING && e->state == GANG_JOB_RUNNING));
    struct gang_job_info info = {.size = sizeof(info)};
    if (!plain && gang_job_get(sim->sched, e->job, &info) == GANG_OK) {
        j->preemptions = (uint32_t)info.preemptions;
        j->held_tasks = info.tasks;
    }
    change(sim, j, e);
    /* A job of several gangs reports the starts and stops of each gang instead. */
    bool reported = j->stages && (e->state == GANG_JOB_PENDING ||
                                  (e->state == GANG_JOB_RUNNING && was != GANG_JOB_SUSPENDED));
    if (e->state != GANG_JOB_STOPPING && !reported)
        gang__sim_report(sim, event_of(was, e->state), (size_t)e->cookie, GANG_ID_NONE, e->reason,
                         e->text);
    return 0;
}

/* ---- gangs of a job -------------------------------------------------------------------------- */

static int32_t on_start(const struct gang_event *e, void *user)
{
    gang_sim *sim = user;
    if (gang__sim_at(sim, e->cookie)->stages)
        gang__sim_gang_starts(sim, (size_t)e->cookie, e);
    return 0;
}

/* At the end of a time slice it stops at once, and stays in memory. Victims of a queue that
 * suspends are preempted instead. */
static int32_t on_suspend(const struct gang_event *e, void *user)
{
    gang_sim *sim = user;
    if (e->reason != GANG_REASON_SLICE)
        return 1;
    if (gang__sim_at(sim, e->cookie)->stages)
        gang__sim_gang_turns(sim, (size_t)e->cookie, e, true);
    /* without memory for the report it counts as stopped when its grace has passed */
    (void)!gang_report_tasks(sim->sched, e->job, e->gang, e->alloc, NULL, 0, GANG_TASK_STOPPED);
    return 0;
}

static int32_t on_resume(const struct gang_event *e, void *user)
{
    gang_sim *sim = user;
    if (gang__sim_at(sim, e->cookie)->stages)
        gang__sim_gang_turns(sim, (size_t)e->cookie, e, false);
    return 0;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static int32_t on_grow(const struct gang_event *e, void *user)
{
    gang_sim *sim = user;
    gang__sim_touch(sim, (size_t)e->cookie);
    gang__sim_report_gang(sim, GANG_SIM_GREW, (size_t)e->cookie, (uint32_t)e->gang, e->reason,
                          e->text);
    return 0;
}

/* Some of its tasks are gone at once: what they did is shared by the others. */
static int32_t on_shrink(const struct gang_event *e, void *user)
{
    gang_sim *sim = user;
    gang__sim_touch(sim, (size_t)e->cookie);
    gang__sim_report_gang(sim, GANG_SIM_SHRANK, (size_t)e->cookie, (uint32_t)e->gang, e->reason,
                          e->text);
    return 1;
}

/* It takes its time, if it has any; the event is made when the run is over. */
static int32_t on_preempt(const struct gang_event *e, void *user)
{
    gang_sim *sim = user;
    struct gang__sim_job *j = gang__sim_at(sim, e->cookie);
    if (j->stages)
        return gang__sim_gang_stops(sim, (size_t)e->cookie, e);
    j->work.unsaved = e->deadline_ns - sim->now_ns < sim->opts.stop_ns;
    gang__sim_touch(sim, (size_t)e->cookie);
    return sim->opts.stop_ns == 0;
}

/* Its grace is over: it has stopped, and its places are free when the run ends. */
static int32_t on_kill(const struct gang_event *e, void *user)
{
    gang__sim_touch(user, (size_t)e->cookie);
    return 0;
}

static int64_t on_predict(const struct gang_event *e, void *user)
{
    const gang_sim *sim = user;
    const struct gang__sim_job *j = gang__sim_at(sim, e->cookie);
    int64_t ns = j->run_ns + sim->opts.linger_ns;
    return sim->opts.know == GANG_SIM_KNOW_PREDICTED ? (ns > 0 ? ns : 1) : 0;
}

static int64_t on_overrun(const struct gang_event *e, void *user)
{
    const gang_sim *sim = user;
    const struct gang__sim_job *j = gang__sim_at(sim, e->cookie);
    return sim->opts.no_limits ? (j->run_ns > 0 ? j->run_ns : 1) : 0;
}

/* ---- reservations ---------------------------------------------------------------------------- */

static int32_t on_reservation(const struct gang_reservation_event *e, void *user)
{
    gang_sim *sim = user;
    struct gang_sim_event event = {.size = sizeof(event),
                                   .what = GANG_SIM_RESERVATION,
                                   .now_ns = sim->now_ns,
                                   .index = SIZE_MAX,
                                   .text = e->text,
                                   .reservation = e};
    call(sim, &event);
    return 0;
}

/* A simulated node that goes down takes its tasks with it. */
static int32_t on_lost(const struct gang_event *e, void *user)
{
    gang__sim_touch(user, (size_t)e->cookie);
    return 0;
}

struct gang_host_ops gang__sim_host_ops(const gang_sim *sim)
{
    return (struct gang_host_ops){.size = sizeof(struct gang_host_ops),
                                  .start = on_start,
                                  .grow = on_grow,
                                  .shrink = on_shrink,
                                  .preempt = on_preempt,
                                  .kill = on_kill,
                                  .suspend = on_suspend,
                                  .resume = on_resume,
                                  .state = on_state,
                                  .predict = on_predict,
                                  .overrun = on_overrun,
                                  .lost = on_lost,
                                  .reservation = sim->ops.event ? on_reservation : NULL};
}
