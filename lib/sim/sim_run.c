/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: to the next instant in which something happens, all of it, and the cycle. */
#include "base/error.h"
#include "base/wide.h"
#include "sim/sim_in.h"

struct bounds {
    struct gang_sim_bounds of;
    int64_t events;   /* when it began */
    int64_t asked_at; /* events when op go_on was asked */
};

int64_t gang__sim_round_up(int64_t at_ns, int64_t tick_ns)
{
    if (tick_ns <= 0 || at_ns % tick_ns == 0)
        return at_ns;
    int64_t over = at_ns % tick_ns;
    return over > 0 ? gang__add_sat(at_ns - over, tick_ns) : at_ns - over;
}

/* ---- when ------------------------------------------------------------------------------------ */

static int64_t next_arrival(const gang_sim *sim)
{
    if (sim->arrival == sim->orders)
        return INT64_MAX;
    int64_t at =
        gang__sim_round_up(sim->brief[sim->order[sim->arrival]].submit_ns, sim->opts.tick_ns);
    return at > sim->now_ns ? at : sim->now_ns;
}

/* When the cycle is due; INT64_MAX: when something happens. */
static int64_t next_run(const gang_sim *sim)
{
    int64_t due = sim->dirty ? sim->now_ns : gang_sched_next(sim->sched);
    due = sim->actives ? gang__min(due, sim->decide_ns) : due;
    due = due > sim->now_ns ? due : sim->now_ns;
    return due == INT64_MAX ? due : gang__sim_round_up(due, sim->opts.pass_ns);
}

/* No event to come ends or starts a job. */
static bool is_over(const gang_sim *sim, int64_t run)
{
    if (sim->arrival < sim->orders || sim->live || sim->dirty)
        return false;
    return run == INT64_MAX || (sim->pending == 0 && sim->runs_now == 0 && sim->suspended == 0);
}

/* ---- what ------------------------------------------------------------------------------------ */

static gang_result ends(gang_sim *sim, size_t index, uint32_t gang)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    if (j->stages)
        return gang__sim_gang_ends(sim, index, gang);
    size_t row;
    const struct gang__sim_source *s = gang__sim_source(sim, index, &row);
    struct gang_trace_job t = GANG_TRACE_JOB_INIT;
    /* For the scheduler it ends well: a job whose tasks were lost would start again. */
    gang_result r = gang_report_end(sim->sched, j->id, 1);
    if (r != GANG_OK)
        return r == GANG_ENOMEM ? r : GANG_OK;
    j->fails = sim->opts.recorded_ends && s->trace &&
               gang_trace_get(s->trace, row, &t) == GANG_OK && t.end == GANG_END_FAILED;
    gang__sim_progress(sim, j);
    j->done_ns = sim->now_ns;
    j->work.works = false;
    j->epoch++;
    sim->dirty = true;
    return GANG_OK;
}

static gang_result stopped(gang_sim *sim, size_t index, uint32_t gang)
{
    const struct gang__sim_job *j = gang__sim_at(sim, index);
    if (j->stages)
        return gang__sim_gang_stopped(sim, index, gang);
    gang_alloc_id alloc = gang_job_alloc(sim->sched, j->id, 0);
    gang_result r = gang_report_tasks(sim->sched, j->id, 0, alloc, NULL, 0, GANG_TASK_STOPPED);
    sim->dirty = true;
    return r == GANG_ENOMEM ? r : GANG_OK;
}

static gang_result happen(gang_sim *sim, const struct gang__sim_entry *e)
{
    size_t index = (uint32_t)e->target;
    uint32_t gang = (uint32_t)(e->target >> 32);
    switch (e->class) {
    case GANG__SIM_END:
        return ends(sim, index, gang);
    case GANG__SIM_STOPPED:
        return stopped(sim, index, gang);
    case GANG__SIM_TASK_FAIL:
        return gang__sim_task_fails(sim, index, gang);
    default:
        return gang__sim_node_event(sim, e);
    }
}

static void count(gang_sim *sim, struct bounds *b)
{
    sim->events++;
    if (!sim->ops.go_on || sim->events - b->asked_at < b->of.every)
        return;
    b->asked_at = sim->events;
    int32_t stop = sim->ops.go_on(sim->now_ns, sim->events - b->events, sim->user);
    sim->stop = sim->stop ? sim->stop : stop;
}

/* What a run of the cycle, or a failure, came to; again in the next run if memory is short. */
static gang_result settle(gang_sim *sim)
{
    sim->unsettled = true;
    gang_result r = gang__sim_settle(sim);
    if (r == GANG_OK)
        r = gang__sim_sample(sim);
    sim->unsettled = r != GANG_OK;
    return r;
}

/* The first that lies in the heap. If memory is short it lies there again. */
static gang_result one_event(gang_sim *sim, struct bounds *b)
{
    if (!gang__grow(&sim->mem, (void **)&sim->heap, &sim->heap_cap, sim->heaped + 2,
                    sizeof(*sim->heap)))
        return GANG_ENOMEM;
    struct gang__sim_entry e = gang__sim_event_pop(sim);
    gang_result r = happen(sim, &e);
    if (r != GANG_OK)
        (void)gang__sim_event_add(sim, e); /* the heap has memory for it */
    else
        count(sim, b);
    return r == GANG_OK && sim->touched ? settle(sim) : r;
}

static gang_result one_arrival(gang_sim *sim, struct bounds *b)
{
    gang_result r = gang__sim_arrive(sim, sim->order[sim->arrival]);
    if (r == GANG_OK) {
        sim->arrival++;
        count(sim, b);
    }
    return r;
}

/* The cycle, if it is due now. */
static gang_result cycle(gang_sim *sim, struct bounds *b)
{
    if (next_run(sim) > sim->now_ns)
        return GANG_OK;
    /* A run that the scheduler wants after another at the same time goes by the same scores: else
     * a policy that scores what runs could change its mind for ever. */
    bool due = !sim->dirty, again = due && sim->decided && sim->decided_ns == sim->now_ns;
    gang_result r = again ? GANG_OK : gang__sim_decide(sim);
    if (r != GANG_OK)
        return r;
    sim->decided = true;
    sim->decided_ns = sim->now_ns;
    r = gang_sched_run(sim->sched, sim->now_ns, NULL, NULL);
    if (r != GANG_OK)
        return r;
    sim->dirty = false;
    sim->runs++;
    if (sim->hit)
        gang__sim_touch_hit(sim);
    r = settle(sim);
    if (due)
        count(sim, b);
    return r;
}

static gang_result together(gang_sim *sim, struct bounds *b)
{
    gang_result r = GANG_OK;
    while (r == GANG_OK && gang__sim_event_time(sim) <= sim->now_ns)
        r = one_event(sim, b);
    while (r == GANG_OK && next_arrival(sim) <= sim->now_ns)
        r = one_arrival(sim, b);
    return r == GANG_OK ? cycle(sim, b) : r;
}

static gang_result one_by_one(gang_sim *sim, struct bounds *b)
{
    gang_result r = GANG_OK;
    bool some = false;
    for (; r == GANG_OK && next_arrival(sim) <= sim->now_ns; some = true) {
        r = one_arrival(sim, b);
        r = r == GANG_OK ? cycle(sim, b) : r;
    }
    for (; r == GANG_OK && gang__sim_event_time(sim) <= sim->now_ns; some = true) {
        r = one_event(sim, b);
        r = r == GANG_OK ? cycle(sim, b) : r;
    }
    return r == GANG_OK && !some ? cycle(sim, b) : r;
}

/* ---- the loop -------------------------------------------------------------------------------- */

int64_t gang__sim_now(const gang_sim *sim)
{
    if (sim->began || sim->arrival == sim->orders)
        return sim->now_ns;
    return gang__min(sim->now_ns, gang__sim_round_up(sim->brief[sim->order[sim->arrival]].submit_ns,
                                                     sim->opts.tick_ns));
}

void gang__sim_start_clock(gang_sim *sim)
{
    if (sim->began)
        return;
    sim->now_ns = sim->used_until_ns = gang__sim_now(sim);
    sim->began = true;
}

static gang_result begin(gang_sim *sim)
{
    gang__sim_start_clock(sim);
    gang_result r = gang__sim_nodes(sim);
    if (r == GANG_OK)
        r = gang__sim_fail_begin(sim);
    return r == GANG_OK && (sim->unsettled || sim->touched) ? settle(sim) : r;
}

/* One instant. *why: GANG_SIM_*, or -1: on. */
static gang_result step(gang_sim *sim, struct bounds *b, int32_t *why)
{
    int64_t run = next_run(sim), next = gang__min(run, gang__sim_event_time(sim));
    *why = -1;
    next = gang__min(next, next_arrival(sim));
    bool on =
        b->of.has_until && next <= b->of.until_ns; /* nodes and reservations go on until then */
    if (next == INT64_MAX || (!on && is_over(sim, run))) {
        *why = GANG_SIM_DONE;
        if (b->of.has_until && b->of.until_ns > sim->now_ns)
            sim->now_ns = b->of.until_ns;
        return GANG_OK;
    }
    if (b->of.has_until && next > b->of.until_ns) {
        *why = GANG_SIM_AT_UNTIL;
        if (b->of.until_ns > sim->now_ns)
            sim->now_ns = b->of.until_ns;
        return GANG_OK;
    }
    sim->now_ns = next;
    gang_result r =
        sim->opts.same_instant == GANG_SIM_ONE_BY_ONE ? one_by_one(sim, b) : together(sim, b);
    if (r == GANG_OK && sim->streams)
        r = gang__sim_stream_out(sim, false);
    if (sim->stop)
        *why = GANG_SIM_INTERRUPTED;
    else if (b->of.max_events > 0 && sim->events - b->events >= b->of.max_events)
        *why = GANG_SIM_AT_EVENTS;
    return r;
}

static gang_result read_bounds(const struct gang_sim_bounds *from, struct bounds *b,
                               struct gang_error *error)
{
    const struct gang_sim_bounds none = GANG_SIM_BOUNDS_INIT;
    b->of = none;
    gang_result r =
        from ? gang__struct_in(&b->of, sizeof(b->of), sizeof(b->of), from, from->size) : GANG_OK;
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "gang_sim_bounds of another size");
    if (b->of.max_events < 0 || b->of.every < 0)
        return gang__error(error, GANG_ERANGE, b->of.every < 0 ? "every" : "max_events",
                           "negative");
    b->of.every = b->of.every ? b->of.every : 1024;
    return GANG_OK;
}

gang_result gang_sim_run(gang_sim *sim, const struct gang_sim_bounds *bounds,
                         struct gang_sim_info *info, struct gang_error *error)
{
    struct bounds b;
    int32_t why = GANG_SIM_DONE;
    if (!sim)
        return gang__error(error, GANG_EINVAL, NULL, "no simulation");
    if (sim->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang_result r = read_bounds(bounds, &b, error);
    if (r != GANG_OK)
        return r;
    sim->running = true;
    sim->stop = 0;
    b.events = b.asked_at = sim->events;
    r = begin(sim);
    for (why = -1; r == GANG_OK && why < 0;)
        r = step(sim, &b, &why);
    if (r == GANG_OK && sim->streams)
        r = gang__sim_stream_out(sim, true);
    sim->running = false;
    sim->why = why;
    if (info && r == GANG_OK)
        r = gang_sim_get_info(sim, info);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "%s", gang_strerror(r));
    return sim->stop ? sim->stop : GANG_OK;
}
