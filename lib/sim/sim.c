/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees a simulation; options, queues and public queries. */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "sim/sim_in.h"

static const int64_t LONGEST_NS = INT64_C(1) << 60;

/* ---- options --------------------------------------------------------------------------------- */

static gang_result check_opts(const struct gang_sim_opts *o, struct gang_error *error)
{
    const struct {
        const char *path;
        int64_t value, min, max;
    } number[] = {{"start_ns", o->start_ns, -LONGEST_NS, LONGEST_NS},
                  {"know", o->know, GANG_SIM_KNOW_LIMIT, GANG_SIM_KNOW_PREDICTED},
                  {"same_instant", o->same_instant, GANG_SIM_TOGETHER, GANG_SIM_ONE_BY_ONE},
                  {"tick_ns", o->tick_ns, 0, LONGEST_NS},
                  {"pass_ns", o->pass_ns, 0, LONGEST_NS},
                  {"policy", o->policy, GANG_SIM_POLICY_QUEUES, GANG_SIM_POLICY_FIRST_FIT},
                  {"record", o->record, 0, GANG_SIM_RECORD_ALLOCATIONS | GANG_SIM_RECORD_TIMELINE},
                  {"las_split_ns", o->las_split_ns, 0, INT64_MAX},
                  {"restart_ns", o->restart_ns, 0, LONGEST_NS},
                  {"stop_ns", o->stop_ns, 0, INT64_MAX},
                  {"checkpoint_ns", o->checkpoint_ns, -1, LONGEST_NS},
                  {"elastic", o->elastic, -1, 1000 * GANG_WHOLE},
                  {"node_mtbf_ns", o->node_mtbf_ns, 0, INT64_MAX},
                  {"node_repair_ns", o->node_repair_ns, 0, LONGEST_NS},
                  {"task_mtbf_ns", o->task_mtbf_ns, 0, INT64_MAX},
                  {"loss", o->loss, GANG_SIM_LOSS_COUNT, GANG_LOSS_SHRINK},
                  {"recorded_ends", o->recorded_ends, 0, 1},
                  {"max_restarts", o->max_restarts, 0, INT64_MAX},
                  {"sample_ns", o->sample_ns, 0, LONGEST_NS},
                  {"preemptible", o->preemptible, -1, 1},
                  {"no_limits", o->no_limits, 0, 1},
                  {"linger_ns", o->linger_ns, 0, LONGEST_NS},
                  {"place", o->place, GANG_SIM_PLACE_CLUSTER, GANG_SIM_PLACE_CONSOLIDATED},
                  {"reserved0", o->reserved0, 0, 0}};
    for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
        if (number[i].value < number[i].min || number[i].value > number[i].max)
            return gang__error(error, GANG_ERANGE, number[i].path, "%lld is out of range",
                               (long long)number[i].value);
    return GANG_OK;
}

static gang_result read_opts(gang_sim *sim, const struct gang_sim_opts *opts,
                             const struct gang_sim_ops *ops, struct gang_error *error)
{
    const struct gang_sim_opts defaults = GANG_SIM_OPTS_INIT;
    const struct gang_sim_ops none = GANG_SIM_OPS_INIT;
    gang_result r = GANG_OK;
    sim->opts = defaults;
    sim->ops = none;
    if (opts)
        r = gang__struct_in(&sim->opts, sizeof(defaults), sizeof(defaults), opts, opts->size);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "gang_sim_opts of another size");
    if (ops)
        r = gang__struct_in(&sim->ops, sizeof(none), sizeof(none), ops, ops->size);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "gang_sim_ops of another size");
    if (sim->ops.score_mode < GANG_SIM_SCORE_ORDER || sim->ops.score_mode > GANG_SIM_SCORE_SELECT)
        return gang__error(error, GANG_ERANGE, "score_mode", "%d is out of range",
                           (int)sim->ops.score_mode);
    return check_opts(&sim->opts, error);
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* The caller's, with what the options say of all. Jobs of a policy are in its order. */
static gang_result set_queues(gang_sim *sim, struct gang_error *error)
{
    const struct gang_sim_opts *o = &sim->opts;
    struct gang_queue_spec only = GANG_QUEUE_SPEC_INIT;
    size_t count = o->queue_count ? o->queue_count : 1;
    struct gang_queue_spec *q = gang__zalloc(&sim->mem, count, sizeof(*q));
    gang_result r = q ? GANG_OK : gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    only.name = "default";
    only.order = GANG_ORDER_FIFO;
    for (size_t i = 0; i < count && r == GANG_OK; i++) {
        const struct gang_queue_spec *from = o->queue_count ? &o->queues[i] : &only;
        r = gang__struct_in(&q[i], sizeof(q[i]), sizeof(q[i]), from, from->size);
        if (r != GANG_OK)
            gang__error(error, r, "queues", "gang_queue_spec of another size");
        if (o->policy != GANG_SIM_POLICY_QUEUES || sim->ops.score) {
            q[i].order = GANG_ORDER_PRIORITY;
            q[i].within = GANG_PREEMPT_NEVER; /* the score is the order; selection preempts */
            q[i].max_blocked_ns = q[i].max_blocked_ns ? q[i].max_blocked_ns : -1;
        }
        if (o->policy == GANG_SIM_POLICY_FIFO && !sim->ops.score)
            q[i].block = GANG_BLOCK_STRICT;
        if (o->no_limits)
            q[i].overrun = GANG_OVERRUN_ASK;
    }
    if (r == GANG_OK)
        r = gang_sched_set_queues(sim->sched, q, count, error);
    for (size_t i = 0; i < count && r == GANG_OK; i++)
        if (gang__sim_word(sim, &sim->queues, q[i].name) < 0)
            r = gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    sim->default_queue = -1;
    if (r == GANG_OK && count == 1)
        sim->default_queue = 0;
    if (r == GANG_OK && o->default_queue) {
        sim->default_queue = gang__sim_word_find(&sim->queues, o->default_queue);
        if (sim->default_queue < 0)
            r = gang__error(error, GANG_ENOENT, "default_queue", "no queue is called \"%s\"",
                            o->default_queue);
    }
    gang__release(&sim->mem, q);
    return r;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static gang_result open_sim(gang_sim *sim, struct gang_error *error)
{
    struct gang_sched_opts still = GANG_SCHED_OPTS_INIT;
    gang_result r = gang_worker_new(sim->cluster, &sim->worker);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "%s", gang_strerror(r));
    still.max_moves = -1;
    const struct gang_host_ops ops = gang__sim_host_ops(sim);
    r = gang_sched_new(sim->cluster, sim->opts.sched ? sim->opts.sched : &still, &ops, sim,
                       &sim->sched, error);
    if (r == GANG_OK)
        r = set_queues(sim, error);
    return r;
}

gang_result gang_sim_new(gang_cluster *cluster, const struct gang_sim_opts *opts,
                         const struct gang_sim_ops *ops, void *user, gang_sim **sim,
                         struct gang_error *error)
{
    struct gang_mem mem;
    if (!sim || !cluster)
        return gang__error(error, GANG_EINVAL, NULL, "no cluster");
    *sim = NULL;
    const struct gang_sched_opts *sched = opts && opts->size >= sizeof(*opts) ? opts->sched : NULL;
    gang_result r =
        gang__mem_init(&mem, sched && sched->size >= sizeof(*sched) ? sched->mem : NULL);
    if (r != GANG_OK)
        return gang__error(error, r, "sched.mem", "%s", gang_strerror(r));
    gang_sim *s = gang__zalloc(&mem, 1, sizeof(*s));
    if (!s)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    s->mem = mem;
    s->cluster = cluster;
    s->user = user;
    s->first_submit_ns = s->decide_ns = INT64_MAX;
    s->last_submit_ns = s->last_end_ns = INT64_MIN;
    r = read_opts(s, opts, ops, error);
    s->now_ns = s->opts.start_ns;
    if (r == GANG_OK)
        r = open_sim(s, error);
    s->opts.queues = NULL; /* the caller's: they are not needed any more */
    s->opts.queue_count = 0;
    s->opts.sched = NULL;
    s->opts.default_queue = NULL;
    if (r != GANG_OK) {
        gang_sim_free(s);
        return r;
    }
    *sim = s;
    return GANG_OK;
}

void gang_sim_free(gang_sim *sim)
{
    if (!sim)
        return;
    gang_sched_free(sim->sched);
    gang_worker_free(sim->worker);
    for (size_t i = 0; i < sim->rows; i++) {
        gang__release(&sim->mem, sim->job[i].at.list);
        gang__release(&sim->mem, sim->job[i].stages);
    }
    gang__sim_streams_free(sim);
    for (size_t i = 0; i < sim->sources; i++)
        gang__release(&sim->mem, sim->source[i].name);
    gang__sim_words_free(sim, &sim->queues);
    gang__sim_words_free(sim, &sim->users);
    gang__sim_words_free(sim, &sim->models);
    gang__hash_free(&sim->node_by_id, &sim->mem);
    void *const blocks[] = {sim->job,          sim->active,    sim->source,     sim->order,
                            sim->heap,         sim->node,      sim->by_queue,   sim->by_model,
                            sim->at_submit,    sim->user_jobs, sim->allocation, sim->sample,
                            sim->scratch.list, sim->view,      sim->score,      sim->by_score,
                            sim->brief,        sim->result,    sim->ended,      sim->closed,
                            sim->open,         sim->unchanged};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        gang__release(&sim->mem, blocks[i]);
    struct gang_mem mem = sim->mem;
    gang__release(&mem, sim);
}

/* ---- events from outside --------------------------------------------------------------------- */

gang_result gang_sim_set_node_state(gang_sim *sim, int64_t at_ns, gang_node_id node, int32_t state)
{
    if (!sim || state < GANG_NODE_UP || state > GANG_NODE_DOWN)
        return GANG_EINVAL;
    if (sim->running)
        return GANG_EBUSY;
    gang_result r = gang__sim_nodes(sim);
    if (r != GANG_OK)
        return r;
    int64_t index = gang__sim_node_index(sim, node);
    if (index < 0 || !sim->node[index].seen)
        return GANG_ESTALE;
    struct gang__sim_entry e = {at_ns > sim->now_ns ? at_ns : sim->now_ns, (uint64_t)index,
                                GANG__SIM_NODE_SET, (uint32_t)state, (uint64_t)index};
    return gang__sim_event_add(sim, e) ? GANG_OK : GANG_ENOMEM;
}

/* ---- what it tells --------------------------------------------------------------------------- */

gang_sched *gang_sim_sched(const gang_sim *sim)
{
    return sim ? sim->sched : NULL;
}

gang_cluster *gang_sim_cluster(const gang_sim *sim)
{
    return sim ? sim->cluster : NULL;
}

gang_result gang_sim_get_info(const gang_sim *sim, struct gang_sim_info *info)
{
    if (!sim || !info)
        return GANG_EINVAL;
    struct gang_sim_info i = {.size = info->size,
                              .stop_reason = sim->why,
                              .now_ns = gang__sim_now(sim),
                              .events = sim->events,
                              .runs = sim->runs,
                              .jobs = (int64_t)sim->jobs,
                              .to_come = (int64_t)(sim->orders - sim->arrival),
                              .pending = sim->pending,
                              .running = sim->runs_now,
                              .suspended = sim->suspended,
                              .ended = sim->over};
    return gang__struct_out(info, info->size, sizeof(i), &i, sizeof(i));
}

void gang__sim_count_now(const gang_sim *sim, struct gang__sim_job *j)
{
    int64_t ns = gang__sim_since(sim, j);
    if (ns > 0)
        gang__sim_count_time(j, ns);
}

gang_result gang_sim_get_job(const gang_sim *sim, size_t index, struct gang_sim_job *job)
{
    if (!sim || !job)
        return GANG_EINVAL;
    if (index >= sim->jobs)
        return GANG_ENOENT;
    struct gang__sim_job j;
    gang_result r = gang__sim_row_of(sim, index, &j);
    if (r != GANG_OK)
        return r;
    gang__sim_count_now(sim, &j);
    char number[24];
    struct gang_sim_job o = {.size = job->size, .index = index};
    o.name = gang__sim_name(sim, index, number);
    if (o.name == number)
        o.name = ""; /* see gang_sim_job.name */
    o.user = j.user >= 0 ? sim->users.list[j.user]->text : "";
    o.queue = j.queue >= 0 ? sim->queues.list[j.queue]->text : "";
    o.id = j.id;
    o.state = j.state;
    o.end = j.end;
    o.submit_ns = j.submit_ns;
    o.start_ns = j.start_ns;
    o.end_ns = j.end_ns;
    o.run_ns = j.run_ns;
    o.limit_ns = j.limit_ns;
    o.tasks = j.tasks;
    o.cpu_milli = j.cpu_milli;
    o.memory_bytes = j.memory_bytes;
    o.gpu_milli = j.gpu_milli;
    o.ran_ns = j.ran_ns;
    o.wait_ns = j.wait_ns;
    o.suspended_ns = j.suspended_ns;
    o.lost_ns = j.work.lost_ns;
    o.starts = j.starts;
    o.preemptions = j.preemptions;
    o.failures = j.failures;
    return gang__struct_out(job, job->size, sizeof(o), &o, sizeof(o));
}

gang_result gang_sim_find_job(gang_sim *sim, gang_job_id id, size_t *index)
{
    struct gang_job_info info = {.size = sizeof(info)};
    if (!sim || !index)
        return GANG_EINVAL;
    *index = SIZE_MAX;
    if (gang_job_get(sim->sched, id, &info) == GANG_OK) {
        *index = (size_t)info.cookie;
        return GANG_OK;
    }
    for (size_t i = 0; i < sim->rows && id != GANG_ID_NONE; i++) /* it has ended */
        if (sim->job[i].id == id) {
            *index = sim->job[i].index;
            return GANG_OK;
        }
    return GANG_ENOENT;
}

static int64_t cell(const struct gang__sim_job *row, int32_t column)
{
    const struct gang__sim_job j = *row;
    const int64_t of[] = {j.submit_ns, j.start_ns,     j.end_ns,       j.run_ns,      j.limit_ns,
                          j.tasks,     j.cpu_milli,    j.memory_bytes, j.gpu_milli,   j.ran_ns,
                          j.wait_ns,   j.suspended_ns, j.work.lost_ns, j.starts,      j.preemptions,
                          j.failures,  j.state,        j.end,          (int64_t)j.id, j.queue,
                          j.user};
    return of[column];
}

gang_result gang_sim_job_column(const gang_sim *sim, int32_t column, size_t first, size_t count,
                                int64_t *value)
{
    if (!sim || (!value && count) || column < GANG_SIM_JOB_SUBMIT_NS || column > GANG_SIM_JOB_USER)
        return GANG_EINVAL;
    if (first > sim->jobs || count > sim->jobs - first)
        return GANG_ENOENT;
    for (size_t i = 0; i < count; i++) {
        struct gang__sim_job j;
        gang_result r = gang__sim_row_of(sim, first + i, &j);
        if (r != GANG_OK)
            return r;
        gang__sim_count_now(sim, &j);
        value[i] = cell(&j, column);
    }
    return GANG_OK;
}

const char *gang_sim_queue_name(const gang_sim *sim, size_t number)
{
    return sim && number < sim->queues.table.count ? sim->queues.list[number]->text : NULL;
}

const char *gang_sim_user_name(const gang_sim *sim, size_t number)
{
    return sim && number < sim->users.table.count ? sim->users.list[number]->text : NULL;
}

size_t gang_sim_allocation_count(const gang_sim *sim)
{
    return sim ? sim->allocations : 0;
}

gang_result gang_sim_get_allocation(const gang_sim *sim, size_t row,
                                    struct gang_sim_allocation *allocation)
{
    if (!sim || !allocation)
        return GANG_EINVAL;
    if (row >= sim->allocations)
        return GANG_ENOENT;
    struct gang_sim_allocation a = sim->allocation[row];
    if (a.size == 0)
        return GANG_ESTALE; /* it was written, and its row is free */
    a.size = allocation->size;
    return gang__struct_out(allocation, a.size, offsetof(struct gang_sim_allocation, gang), &a,
                            sizeof(a));
}

size_t gang_sim_sample_count(const gang_sim *sim)
{
    return sim ? sim->samples : 0;
}

gang_result gang_sim_get_sample(const gang_sim *sim, size_t row, struct gang_sim_sample *sample)
{
    if (!sim || !sample)
        return GANG_EINVAL;
    if (row >= sim->samples)
        return GANG_ENOENT;
    struct gang_sim_sample s = sim->sample[row];
    s.size = sample->size;
    return gang__struct_out(sample, s.size, sizeof(s), &s, sizeof(s));
}

/* Placements of open allocations refer to rows by number: update them. */
void gang__sim_drop_allocations(gang_sim *sim)
{
    size_t kept = 0;
    for (size_t i = 0; i < sim->allocations; i++) {
        const struct gang_sim_allocation *a = &sim->allocation[i];
        struct gang__sim_job *j = gang__sim_at(sim, a->index);
        if (a->end_ns != GANG_TRACE_UNKNOWN)
            continue;
        for (size_t k = 0; k < j->at.count; k++)
            if (j->at.list[k].row == i + 1)
                j->at.list[k].row = (uint32_t)kept + 1;
        sim->allocation[kept++] = *a;
    }
    sim->allocations = kept;
    sim->opens = 0;
}

void gang_sim_drop(gang_sim *sim)
{
    if (!sim)
        return;
    gang__sim_drop_allocations(sim);
    if (sim->samples > 1) { /* the last one still holds */
        sim->sample[0] = sim->sample[sim->samples - 1];
        sim->samples = 1;
    }
}
