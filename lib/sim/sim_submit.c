/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that the caller submits. */
#include <string.h>

#include "base/error.h"
#include "sim/sim_in.h"

/* A job that is being submitted. */
struct entry {
    struct gang_job_spec spec;
    struct gang__sim_job j;
    char *name;
};

static gang_result read_spec(const gang_sim *sim, const struct gang_job_spec *from,
                             struct gang_job_spec *spec, struct gang_error *error)
{
    const struct gang_job_spec none = GANG_JOB_SPEC_INIT;
    *spec = none;
    gang_result r = gang__struct_in(spec, sizeof(*spec), sizeof(*spec), from, from->size);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "gang_job_spec of another size");
    if (spec->running)
        return gang__error(error, GANG_ENOTSUP, "running",
                           "a simulated job starts in the simulation");
    if (spec->announced)
        return gang__error(error, GANG_ENOTSUP, "announced",
                           "the tasks of a simulated job are there");
    if ((!spec->queue || !*spec->queue) && sim->default_queue >= 0)
        spec->queue = sim->queues.list[sim->default_queue]->text;
    return GANG_OK;
}

static gang_result check_runs(const struct gang__sim_runs *runs, size_t count,
                              struct gang_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (runs->of[i] >= 0 && runs->of[i] <= INT64_MAX / 4)
            continue;
        gang__error(error, GANG_ERANGE, runs->step ? NULL : "run_ns", "negative, or too large");
        return runs->step ? gang__error_at(error, GANG_ERANGE, "run_ns[%zu]", i) : GANG_ERANGE;
    }
    return GANG_OK;
}

/* Does the specification hold what its gangs are made of? If not, the scheduler refuses it. */
static bool has_gangs(const struct gang_job_spec *spec)
{
    size_t groups = spec->request.group_count;
    if (!spec->group_after || spec->group_after_size != sizeof(*spec->group_after))
        return false;
    for (size_t i = 0; i < spec->group_after_count; i++) {
        const struct gang_group_after *a = &spec->group_after[i];
        if (a->group < 0 || (size_t)a->group >= groups || a->after < 0 ||
            (size_t)a->after >= groups)
            return false;
    }
    return spec->group_after_count > 0 && groups > 0 && spec->request.groups;
}

/* Allocates what the simulation keeps of a job, before the scheduler has it. */
static gang_result prepare(gang_sim *sim, struct entry *e, const struct gang__sim_runs *runs,
                           struct gang_error *error)
{
    const struct gang_job_spec *spec = &e->spec;
    bool named = spec->name && *spec->name;
    bool staged = has_gangs(spec);
    struct gang__sim_brief b = {sim->now_ns, -1, -1, (uint32_t)sim->sources, 0};
    e->name = named ? gang__strdup(&sim->mem, spec->name) : NULL;
    b.user = gang__sim_user(sim, spec->user);
    b.queue = gang__sim_word(sim, &sim->queues, spec->queue ? spec->queue : "");
    if (!gang__sim_reserve_jobs(sim, 1) || !gang__sim_reserve_row(sim) || b.user < 0 ||
        b.queue < 0 || (named && !e->name))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    sim->source[sim->sources] = (struct gang__sim_source){.first = sim->jobs};
    sim->brief[sim->jobs] = b;
    e->j = gang__sim_blank(sim, sim->jobs);
    if (staged && !(e->j.stages = gang__sim_stages_new(sim, spec, runs)))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    for (size_t i = 0; i < spec->request.group_count; i++) {
        int64_t run_ns = runs->of[i * runs->step];
        e->j.work.left_ns = run_ns > e->j.work.left_ns ? run_ns : e->j.work.left_ns;
    }
    if (staged)
        gang__sim_stages_sum(&e->j);
    e->j.run_ns = e->j.work.left_ns;
    if (spec->request.groups)
        gang__sim_add_amounts(&e->j, &spec->request);
    e->j.limit_ns = spec->time_limit_ns;
    e->j.priority = spec->priority;
    e->j.held = gang__sim_selects(sim);
    return GANG_OK;
}

static gang_result submit(gang_sim *sim, const struct gang_job_spec *spec,
                          const struct gang__sim_runs *runs, size_t *index,
                          struct gang_error *error)
{
    struct entry e = {.name = NULL};
    gang_result r = read_spec(sim, spec, &e.spec, error);
    if (r != GANG_OK)
        return r;
    if (sim->jobs == GANG__SIM_MAX_JOBS)
        return gang__error(error, GANG_ELIMIT, NULL, "more than %d jobs", GANG__SIM_MAX_JOBS);
    const int64_t now_ns = sim->now_ns, used_until_ns = sim->used_until_ns;
    const bool began = sim->began;
    gang__sim_start_clock(sim); /* it does not go back from a job that is there */
    r = prepare(sim, &e, runs, error);
    e.spec.hold = e.spec.hold || e.j.held;
    e.spec.cookie = sim->jobs;
    if (r == GANG_OK && (r = gang__sim_place(sim, sim->jobs, e.j.run_ns, &e.spec)) != GANG_OK)
        gang__error(error, r, NULL, "op place returned %d", (int)r);
    if (r == GANG_OK)
        r = gang_job_submit(sim->sched, &e.spec, &e.j.id, error);
    if (r != GANG_OK) {
        gang__release(&sim->mem, e.name);
        gang__release(&sim->mem, e.j.stages);
        sim->now_ns = now_ns;
        sim->used_until_ns = used_until_ns;
        sim->began = began;
        return r;
    }
    (void)gang__sim_row_new(sim, &e.j);
    sim->source[sim->sources++].name = e.name;
    if (index)
        *index = sim->jobs;
    sim->jobs++;
    gang__sim_note_submit(sim, sim->jobs - 1);
    sim->running = true; /* op event is a callback here, too */
    gang__sim_accept(sim, sim->jobs - 1, e.j.id);
    sim->running = false;
    return GANG_OK;
}

gang_result gang_sim_submit(gang_sim *sim, const struct gang_job_spec *spec, int64_t run_ns,
                            size_t *index, struct gang_error *error)
{
    const struct gang__sim_runs runs = {&run_ns, 0};
    if (index)
        *index = SIZE_MAX;
    if (!sim || !spec)
        return gang__error(error, GANG_EINVAL, NULL, "no simulation, or no job");
    if (sim->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang_result r = check_runs(&runs, 1, error);
    return r == GANG_OK ? submit(sim, spec, &runs, index, error) : r;
}

gang_result gang_sim_submit_groups(gang_sim *sim, const struct gang_job_spec *spec,
                                   const int64_t *run_ns, size_t count, size_t *index,
                                   struct gang_error *error)
{
    const struct gang__sim_runs runs = {run_ns, 1};
    if (index)
        *index = SIZE_MAX;
    if (!sim || !spec || (!run_ns && count))
        return gang__error(error, GANG_EINVAL, NULL, "no simulation, no job, or no run times");
    if (sim->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    if (spec->size >= sizeof(*spec) && count != spec->request.group_count)
        return gang__error(error, GANG_EINVAL, "run_ns", "%zu run times for %zu groups", count,
                           spec->request.group_count);
    gang_result r = check_runs(&runs, count, error);
    return r == GANG_OK ? submit(sim, spec, &runs, index, error) : r;
}
