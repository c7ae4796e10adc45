/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of traces: their rows, and their submission when their time has come. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/wide.h"
#include "sim/sim_in.h"

/* ---- words ----------------------------------------------------------------------------------- */

static struct gang__sim_word *word_of(const struct gang__sim_words *words, const char *text,
                                      uint64_t hash)
{
    for (struct gang__hash_link *n = words->table.count ? gang__hash_first(&words->table, hash)
                                                        : NULL;
         n; n = n->next) {
        struct gang__sim_word *w = (struct gang__sim_word *)n;
        if (n->hash == hash && strcmp(w->text, text) == 0)
            return w;
    }
    return NULL;
}

int32_t gang__sim_word_find(const struct gang__sim_words *words, const char *text)
{
    const struct gang__sim_word *w =
        word_of(words, text, gang__hash(GANG__HASH_SEED, text, strlen(text)));
    return w ? w->number : -1;
}

int32_t gang__sim_word(gang_sim *sim, struct gang__sim_words *words, const char *text)
{
    size_t length = strlen(text), count = words->table.count;
    uint64_t hash = gang__hash(GANG__HASH_SEED, text, length);
    struct gang__sim_word *w = word_of(words, text, hash);
    if (w)
        return w->number;
    if (gang__hash_reserve(&words->table, &sim->mem) != GANG_OK ||
        !gang__grow(&sim->mem, (void **)&words->list, &words->cap, count + 1,
                    sizeof(struct gang__sim_word *)) ||
        !(w = gang__alloc(&sim->mem, sizeof(*w) + length + 1)))
        return -1;
    memcpy(w->text, text, length + 1);
    w->number = (int32_t)count;
    words->list[count] = w;
    gang__hash_insert(&words->table, &w->link, hash);
    return w->number;
}

void gang__sim_words_free(const gang_sim *sim, struct gang__sim_words *words)
{
    for (size_t i = 0; i < words->table.count; i++)
        gang__release(&sim->mem, words->list[i]);
    gang__release(&sim->mem, words->list);
    gang__hash_free(&words->table, &sim->mem);
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct gang__sim_amounts gang__sim_group_takes(const struct gang_request_spec *request,
                                               size_t group)
{
    struct gang_group_spec g;
    size_t size = request->group_size;
    memset(&g, 0, sizeof(g));
    memcpy(&g, (const char *)request->groups + group * size, size < sizeof(g) ? size : sizeof(g));
    int64_t devices = g.gpu_devices > 0 ? g.gpu_devices : 1;
    int64_t gpu = g.gpu_milli < 1000 ? gang__mul_div(g.gpu_milli, devices, 1) : g.gpu_milli;
    return (struct gang__sim_amounts){g.count, gang__mul_div(g.cpu_milli, g.count, 1),
                                      gang__mul_div(g.memory_bytes, g.count, 1),
                                      gang__mul_div(gpu, g.count, 1)};
}

void gang__sim_add_amounts(struct gang__sim_job *j, const struct gang_request_spec *request)
{
    for (size_t i = 0; i < request->group_count; i++) {
        struct gang__sim_amounts all = gang__sim_group_takes(request, i);
        j->tasks = gang__add_sat(j->tasks, all.tasks);
        j->cpu_milli = gang__add_sat(j->cpu_milli, all.cpu_milli);
        j->memory_bytes = gang__add_sat(j->memory_bytes, all.memory_bytes);
        j->gpu_milli = gang__add_sat(j->gpu_milli, all.gpu_milli);
    }
}

int32_t gang__sim_user(gang_sim *sim, const char *name)
{
    int32_t user = gang__sim_word(sim, &sim->users, name ? name : "");
    size_t was = sim->user_cap;
    if (user < 0 || !gang__grow(&sim->mem, (void **)&sim->user_jobs, &sim->user_cap,
                                (size_t)user + 1, sizeof(*sim->user_jobs)))
        return -1;
    for (size_t i = was; i < sim->user_cap; i++)
        sim->user_jobs[i] = 0;
    return user;
}

/* ---- a trace --------------------------------------------------------------------------------- */

/* Number of the queue of a job of a trace: the queue of that name if it exists now, else the
 * default. -1: none, -2: no memory. */
static int32_t queue_of(gang_sim *sim, const char *name)
{
    gang_queue_id id;
    if (!name || !*name || gang_queue_find(sim->sched, name, &id) != GANG_OK)
        return sim->default_queue;
    int32_t queue = gang__sim_word(sim, &sim->queues, name);
    return queue < 0 ? -2 : queue;
}

void gang__sim_row_fill(const gang_sim *sim, struct gang__sim_job *j,
                        const struct gang_trace_job *t)
{
    struct gang_request_spec request = GANG_REQUEST_SPEC_INIT;
    request.groups = t->groups;
    request.group_size = t->group_size;
    request.group_count = t->group_count;
    j->run_ns = j->work.left_ns = t->run_ns;
    j->limit_ns = t->limit_ns;
    if (sim->opts.know == GANG_SIM_KNOW_RUN)
        j->limit_ns = gang__add_sat(t->run_ns > 0 ? t->run_ns : 1, sim->opts.linger_ns);
    gang__sim_add_amounts(j, &request);
}

static gang_result read_row(gang_sim *sim, gang_trace *trace, size_t row, int64_t shift_ns,
                            struct gang_error *error)
{
    struct gang_trace_job t = GANG_TRACE_JOB_INIT;
    struct gang__sim_brief *b = &sim->brief[sim->jobs + row];
    gang_result r = gang_trace_get(trace, row, &t);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "%s", gang_strerror(r));
    if ((shift_ns > 0 && t.submit_ns > INT64_MAX / 4 - shift_ns) ||
        (shift_ns < 0 && t.submit_ns < -INT64_MAX / 4 - shift_ns))
        return gang__error(error, GANG_ERANGE, "shift_ns", "job %zu would come too late or early",
                           row);
    *b = (struct gang__sim_brief){t.submit_ns + shift_ns, queue_of(sim, t.queue), -1,
                                  (uint32_t)sim->sources, 0};
    b->user = b->queue == -2 ? -1 : gang__sim_user(sim, t.user);
    if (b->user < 0)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (b->queue < 0) {
        char path[48];
        snprintf(path, sizeof(path), "jobs[%zu].queue", row);
        return gang__error(error, GANG_ENOENT, path, "no queue is called \"%s\"",
                           t.queue ? t.queue : "");
    }
    return GANG_OK;
}

struct coming {
    int64_t at_ns;
    uint32_t index;
};

static int by_time(const void *a, const void *b)
{
    const struct coming *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Sorts the jobs to come, and `count` new ones behind the rows, by time. False: out of memory. */
static bool sort_jobs(gang_sim *sim, size_t count)
{
    size_t old = sim->orders - sim->arrival, all = old + count;
    struct coming *c = gang__zalloc(&sim->mem, all ? all : 1, sizeof(*c));
    bool sorted = true;
    if (!c ||
        !gang__grow(&sim->mem, (void **)&sim->order, &sim->order_cap, all, sizeof(*sim->order))) {
        gang__release(&sim->mem, c);
        return false;
    }
    for (size_t i = 0; i < all; i++) {
        uint32_t index = i < old ? sim->order[sim->arrival + i] : (uint32_t)(sim->jobs + i - old);
        c[i] = (struct coming){sim->brief[index].submit_ns, index};
        sorted = sorted && (i == 0 || by_time(&c[i - 1], &c[i]) < 0);
    }
    if (!sorted)
        qsort(c, all, sizeof(*c), by_time);
    for (size_t i = 0; i < all; i++)
        sim->order[i] = c[i].index;
    sim->arrival = 0;
    sim->orders = all;
    gang__release(&sim->mem, c);
    return true;
}

gang_result gang_sim_add_trace(gang_sim *sim, gang_trace *trace, int64_t shift_ns,
                               struct gang_error *error)
{
    if (!sim || !trace)
        return gang__error(error, GANG_EINVAL, NULL, "no simulation, or no trace");
    if (sim->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    size_t count = gang_trace_count(trace);
    if (shift_ns > INT64_MAX / 4 || shift_ns < -INT64_MAX / 4)
        return gang__error(error, GANG_ERANGE, "shift_ns", "too large");
    if (count > (size_t)GANG__SIM_MAX_JOBS - sim->jobs)
        return gang__error(error, GANG_ELIMIT, NULL, "more than %d jobs", GANG__SIM_MAX_JOBS);
    if (!gang__sim_reserve_jobs(sim, count))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    for (size_t row = 0; row < count; row++) {
        gang_result r = read_row(sim, trace, row, shift_ns, error);
        if (r != GANG_OK)
            return r;
    }
    if (!sort_jobs(sim, count))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    sim->source[sim->sources++] = (struct gang__sim_source){.trace = trace, .first = sim->jobs};
    sim->jobs += count;
    return GANG_OK;
}

/* ---- coming ---------------------------------------------------------------------------------- */

static void refuse(gang_sim *sim, size_t index, const struct gang_error *error)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    j->stage = GANG__SIM_OVER;
    j->state = GANG_JOB_ENDED;
    j->end = GANG_END_REFUSED;
    j->end_ns = sim->now_ns;
    gang__sim_count_over(sim, j);
    gang__sim_report(sim, GANG_SIM_REFUSED, index, GANG_ID_NONE, GANG_REASON_NONE,
                     error->text[0] ? error->text : gang_strerror(error->code));
}

void gang__sim_accept(gang_sim *sim, size_t index, gang_job_id id)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    j->id = id;
    j->stage = GANG__SIM_KNOWN;
    j->since_ns = j->submit_ns;
    j->began = ++sim->begun;
    sim->pending++;
    sim->dirty = true;
    gang__sim_activate(sim, index);
    gang__sim_report(sim, GANG_SIM_SUBMITTED, index, GANG_ID_NONE, GANG_REASON_NONE, "submitted");
}

gang_result gang__sim_arrive(gang_sim *sim, size_t index)
{
    struct gang__sim_job made = gang__sim_blank(sim, index), *j = &made;
    struct gang_trace_job t = GANG_TRACE_JOB_INIT;
    struct gang_job_spec spec = GANG_JOB_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    if (!gang__sim_reserve_row(sim))
        return GANG_ENOMEM;
    size_t row;
    const struct gang__sim_source *s = gang__sim_source(sim, index, &row);
    gang_result r = gang_trace_get(s->trace, row, &t);
    if (r != GANG_OK)
        return r;
    gang__sim_row_fill(sim, j, &t);
    j->priority = gang__sim_first_priority(sim, j, t.priority);
    j->held = gang__sim_selects(sim);
    spec.name = t.name;
    spec.queue = sim->queues.list[j->queue]->text;
    spec.user = sim->users.list[j->user]->text;
    spec.priority = j->priority;
    spec.preemptible = sim->opts.preemptible ? sim->opts.preemptible > 0 : t.preemptible;
    spec.hold = j->held;
    spec.loss = sim->opts.loss == GANG_SIM_LOSS_COUNT ? GANG_LOSS_COUNT
                : sim->opts.loss == 0                 ? GANG_LOSS_RESTART
                                                      : sim->opts.loss;
    spec.max_restarts = sim->opts.max_restarts ? sim->opts.max_restarts : INT64_MAX;
    spec.time_limit_ns = j->limit_ns;
    spec.request.groups = t.groups;
    spec.request.group_count = t.group_count;
    spec.request.group_size = t.group_size;
    spec.cookie = index;
    gang__sim_place_trace_job(sim, index, j->run_ns, &spec);
    r = gang_job_submit(sim->sched, &spec, &j->id, &error);
    if (r == GANG_ENOMEM)
        return r;
    (void)gang__sim_row_new(sim, j);
    gang__sim_note_submit(sim, index);
    if (r == GANG_OK)
        gang__sim_accept(sim, index, made.id);
    else
        refuse(sim, index, &error);
    return GANG_OK;
}
