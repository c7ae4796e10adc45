/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: those of traces, which come when their time has come, and those that are submitted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/wide.h"
#include "sim/simulation.h"

enum { MOST_JOBS = INT32_MAX };

/* ---- words ----------------------------------------------------------------------------------- */

static struct gang__sim_word *word_of(const struct gang__sim_words *words, const char *text,
                                      uint64_t hash)
{
    for (struct gang__name *n = words->table.count ? gang__names_first(&words->table, hash) : NULL;
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
    if (gang__names_reserve(&words->table, &sim->mem) != GANG_OK ||
        !gang__grow(&sim->mem, (void **)&words->list, &words->room, count + 1,
                    sizeof(struct gang__sim_word *)) ||
        !(w = gang__alloc(&sim->mem, sizeof(*w) + length + 1)))
        return -1;
    memcpy(w->text, text, length + 1);
    w->number = (int32_t)count;
    words->list[count] = w;
    gang__names_put(&words->table, &w->link, hash);
    return w->number;
}

void gang__sim_words_free(const gang_sim *sim, struct gang__sim_words *words)
{
    for (size_t i = 0; i < words->table.count; i++)
        gang__release(&sim->mem, words->list[i]);
    gang__release(&sim->mem, words->list);
    gang__names_free(&words->table, &sim->mem);
}

/* ---- rows ------------------------------------------------------------------------------------ */

const char *gang__sim_name(const gang_sim *sim, const struct gang__sim_job *j, char room[24])
{
    const struct gang__sim_source *s = &sim->source[j->source];
    struct gang_trace_job t = GANG_TRACE_JOB_INIT;
    if (!s->trace && s->name)
        return s->name;
    if (s->trace && gang_trace_get(s->trace, j->row, &t) == GANG_OK && t.name && *t.name)
        return t.name;
    snprintf(room, 24, "%" PRIu32, s->trace ? j->row : (uint32_t)(j - sim->job));
    return room;
}

void gang__sim_activate(gang_sim *sim, size_t index)
{
    sim->disorder += sim->actives && sim->active[sim->actives - 1] > index;
    sim->active[sim->actives++] = (uint32_t)index; /* there is room: gang__sim_room_to_come() */
    struct gang__sim_job *j = &sim->job[index];
    j->active = (uint32_t)sim->actives;
    sim->users_at_work += sim->user_jobs[j->user]++ == 0;
    j->users_then = sim->users_at_work;
}

void gang__sim_deactivate(gang_sim *sim, size_t index)
{
    uint32_t at = sim->job[index].active;
    if (!at)
        return;
    uint32_t last = sim->active[--sim->actives];
    sim->disorder += at - 1 != sim->actives;
    sim->active[at - 1] = last;
    sim->job[last].active = at;
    sim->job[index].active = 0;
    sim->users_at_work -= --sim->user_jobs[sim->job[index].user] == 0;
}

bool gang__sim_room_to_come(gang_sim *sim, size_t more)
{
    const struct gang_mem *mem = &sim->mem;
    return gang__grow(mem, (void **)&sim->job, &sim->job_room, sim->jobs + more,
                      sizeof(*sim->job)) &&
           gang__grow(mem, (void **)&sim->active, &sim->active_room, sim->jobs + more,
                      sizeof(*sim->active)) &&
           gang__grow(mem, (void **)&sim->at_submit, &sim->submit_room, sim->jobs + more,
                      sizeof(*sim->at_submit)) &&
           gang__grow(mem, (void **)&sim->source, &sim->source_room, sim->sources + 1,
                      sizeof(*sim->source));
}

/* What all tasks of its groups take. */
static void add_up(struct gang__sim_job *j, const struct gang_group_spec *groups, size_t size,
                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gang_group_spec g;
        memset(&g, 0, sizeof(g));
        memcpy(&g, (const char *)groups + i * size, size < sizeof(g) ? size : sizeof(g));
        int64_t devices = g.gpu_devices > 0 ? g.gpu_devices : 1;
        j->tasks = gang__add_sat(j->tasks, g.count);
        j->cpu_milli = gang__add_sat(j->cpu_milli, gang__mul_div(g.cpu_milli, g.count, 1));
        j->memory_bytes = gang__add_sat(j->memory_bytes, gang__mul_div(g.memory_bytes, g.count, 1));
        int64_t gpu = g.gpu_milli < 1000 ? gang__mul_div(g.gpu_milli, devices, 1) : g.gpu_milli;
        j->gpu_milli = gang__add_sat(j->gpu_milli, gang__mul_div(gpu, g.count, 1));
    }
}

static struct gang__sim_job blank(const gang_sim *sim, int64_t submit_ns, int64_t run_ns)
{
    return (struct gang__sim_job){.source = (uint32_t)sim->sources,
                                  .queue = -1,
                                  .user = -1,
                                  .submit_ns = submit_ns,
                                  .start_ns = GANG_TRACE_UNKNOWN,
                                  .end_ns = GANG_TRACE_UNKNOWN,
                                  .done_ns = GANG_TRACE_UNKNOWN,
                                  .run_ns = run_ns,
                                  .left_ns = run_ns,
                                  .state = GANG_JOB_PENDING};
}

/* Number of a user, new or not; -1: out of memory. */
static int32_t user_of(gang_sim *sim, const char *name)
{
    int32_t user = gang__sim_word(sim, &sim->users, name ? name : "");
    size_t was = sim->user_room;
    if (user < 0 || !gang__grow(&sim->mem, (void **)&sim->user_jobs, &sim->user_room,
                                (size_t)user + 1, sizeof(*sim->user_jobs)))
        return -1;
    for (size_t i = was; i < sim->user_room; i++)
        sim->user_jobs[i] = 0;
    return user;
}

/* ---- a trace --------------------------------------------------------------------------------- */

/* Number of a queue of a trace: its own if there is one now, also one that came since the simulation began. -1: none,
 * -2: no memory. */
static int32_t queue_of(gang_sim *sim, const char *name)
{
    gang_queue_id id;
    if (!name || !*name || gang_queue_find(sim->sched, name, &id) != GANG_OK)
        return sim->default_queue;
    int32_t queue = gang__sim_word(sim, &sim->queues, name);
    return queue < 0 ? -2 : queue;
}

static gang_result take_row(gang_sim *sim, gang_trace *trace, size_t row, int64_t shift_ns,
                            struct gang_error *error)
{
    struct gang_trace_job t = GANG_TRACE_JOB_INIT;
    struct gang__sim_job *j = &sim->job[sim->jobs + row];
    gang_result r = gang_trace_get(trace, row, &t);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "%s", gang_strerror(r));
    if ((shift_ns > 0 && t.submit_ns > INT64_MAX / 4 - shift_ns) ||
        (shift_ns < 0 && t.submit_ns < -INT64_MAX / 4 - shift_ns))
        return gang__error(error, GANG_ERANGE, "shift_ns", "job %zu would come too late or early",
                           row);
    *j = blank(sim, t.submit_ns + shift_ns, t.run_ns);
    j->row = (uint32_t)row;
    j->limit_ns = t.limit_ns;
    if (sim->opts.know == GANG_SIM_KNOW_RUN)
        j->limit_ns = gang__add_sat(t.run_ns > 0 ? t.run_ns : 1, sim->opts.linger_ns);
    add_up(j, t.groups, t.group_size, t.group_count);
    j->queue = queue_of(sim, t.queue);
    j->user = j->queue == -2 ? -1 : user_of(sim, t.user);
    if (j->user < 0)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (j->queue < 0) {
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

/* Those to come, and `count` new ones behind the rows, in the order of time. False: out of memory. */
static bool put_in_order(gang_sim *sim, size_t count)
{
    size_t old = sim->orders - sim->arrival, all = old + count;
    struct coming *c = gang__zalloc(&sim->mem, all ? all : 1, sizeof(*c));
    bool sorted = true;
    if (!c ||
        !gang__grow(&sim->mem, (void **)&sim->order, &sim->order_room, all, sizeof(*sim->order))) {
        gang__release(&sim->mem, c);
        return false;
    }
    for (size_t i = 0; i < all; i++) {
        uint32_t index = i < old ? sim->order[sim->arrival + i] : (uint32_t)(sim->jobs + i - old);
        c[i] = (struct coming){sim->job[index].submit_ns, index};
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
    if (count > (size_t)MOST_JOBS - sim->jobs)
        return gang__error(error, GANG_ELIMIT, NULL, "more than %d jobs", MOST_JOBS);
    if (!gang__sim_room_to_come(sim, count))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    for (size_t row = 0; row < count; row++) {
        gang_result r = take_row(sim, trace, row, shift_ns, error);
        if (r != GANG_OK)
            return r;
    }
    if (!put_in_order(sim, count))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    sim->source[sim->sources++] = (struct gang__sim_source){.trace = trace};
    sim->jobs += count;
    return GANG_OK;
}

/* ---- coming ---------------------------------------------------------------------------------- */

static void refuse(gang_sim *sim, size_t index, const struct gang_error *error)
{
    struct gang__sim_job *j = &sim->job[index];
    j->stage = GANG__SIM_OVER;
    j->state = GANG_JOB_ENDED;
    j->end = GANG_END_REFUSED;
    j->end_ns = sim->now_ns;
    sim->over++;
    gang__sim_tell(sim, GANG_SIM_REFUSED, index, GANG_ID_NONE, GANG_REASON_NONE,
                   error->text[0] ? error->text : gang_strerror(error->code));
}

/* The scheduler has it. */
static void take_in(gang_sim *sim, size_t index, gang_job_id id)
{
    struct gang__sim_job *j = &sim->job[index];
    j->id = id;
    j->stage = GANG__SIM_KNOWN;
    j->since_ns = j->submit_ns;
    j->began = ++sim->begun;
    sim->pending++;
    sim->dirty = true;
    gang__sim_activate(sim, index);
    gang__sim_tell(sim, GANG_SIM_SUBMITTED, index, GANG_ID_NONE, GANG_REASON_NONE, "submitted");
}

gang_result gang__sim_arrive(gang_sim *sim, size_t index)
{
    struct gang__sim_job *j = &sim->job[index];
    struct gang_trace_job t = GANG_TRACE_JOB_INIT;
    struct gang_job_spec spec = GANG_JOB_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_trace_get(sim->source[j->source].trace, j->row, &t);
    if (r != GANG_OK)
        return r;
    j->priority = gang__sim_first_priority(sim, j, t.priority);
    j->held = gang__sim_selects(sim);
    spec.name = t.name;
    spec.queue = sim->queues.list[j->queue]->text;
    spec.user = sim->users.list[j->user]->text;
    spec.priority = j->priority;
    spec.preemptible = sim->opts.preemptible ? sim->opts.preemptible > 0 : t.preemptible;
    spec.hold = j->held;
    spec.loss = sim->opts.loss;
    spec.max_restarts = sim->opts.max_restarts ? sim->opts.max_restarts : INT64_MAX;
    spec.time_limit_ns = j->limit_ns;
    spec.request.groups = t.groups;
    spec.request.group_count = t.group_count;
    spec.request.group_size = t.group_size;
    gang__sim_place_by(sim, &spec.request);
    spec.cookie = index;
    r = gang_job_submit(sim->sched, &spec, &j->id, &error);
    if (r == GANG_ENOMEM)
        return r;
    gang__sim_note_submit(sim, index);
    if (r == GANG_OK)
        take_in(sim, index, j->id);
    else
        refuse(sim, index, &error);
    return GANG_OK;
}

/* ---- submitted by the caller ----------------------------------------------------------------- */

static gang_result check_submitted(const struct gang_job_spec *spec, int64_t run_ns,
                                   struct gang_error *error)
{
    if (run_ns < 0 || run_ns > INT64_MAX / 4)
        return gang__error(error, GANG_ERANGE, "run_ns", "negative, or too large");
    if (spec->size >= sizeof(*spec) && spec->group_after_count)
        return gang__error(error, GANG_ENOTSUP, "group_after", "a simulated job has one run time");
    if (spec->size >= sizeof(*spec) && spec->running)
        return gang__error(error, GANG_ENOTSUP, "running",
                           "a simulated job starts in the simulation");
    return GANG_OK;
}

gang_result gang_sim_submit(gang_sim *sim, const struct gang_job_spec *spec, int64_t run_ns,
                            size_t *index, struct gang_error *error)
{
    struct gang_job_spec own = GANG_JOB_SPEC_INIT;
    if (index)
        *index = SIZE_MAX;
    if (!sim || !spec)
        return gang__error(error, GANG_EINVAL, NULL, "no simulation, or no job");
    if (sim->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang_result r = gang__struct_in(&own, sizeof(own), sizeof(own), spec, spec->size);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "gang_job_spec of another size");
    r = check_submitted(&own, run_ns, error);
    if (r != GANG_OK)
        return r;
    if (sim->jobs == MOST_JOBS)
        return gang__error(error, GANG_ELIMIT, NULL, "more than %d jobs", MOST_JOBS);
    struct gang__sim_job j = blank(sim, sim->now_ns, run_ns);
    const char *queue = own.queue && *own.queue ? own.queue : "";
    char *name = own.name && *own.name ? gang__strdup(&sim->mem, own.name) : NULL;
    j.user = user_of(sim, own.user);
    j.queue = gang__sim_word(
        sim, &sim->queues,
        *queue || sim->default_queue < 0 ? queue : sim->queues.list[sim->default_queue]->text);
    if (!gang__sim_room_to_come(sim, 1) || j.user < 0 || j.queue < 0 ||
        (own.name && *own.name && !name)) {
        gang__release(&sim->mem, name);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    if (!*queue && sim->default_queue >= 0)
        own.queue = sim->queues.list[sim->default_queue]->text;
    add_up(&j, own.request.groups, own.request.group_size, own.request.group_count);
    j.limit_ns = own.time_limit_ns;
    j.priority = own.priority;
    j.held = gang__sim_selects(sim);
    own.hold = own.hold || j.held;
    own.cookie = sim->jobs;
    r = gang_job_submit(sim->sched, &own, &j.id, error);
    if (r != GANG_OK) {
        gang__release(&sim->mem, name);
        return r;
    }
    sim->job[sim->jobs] = j;
    sim->source[sim->sources++] = (struct gang__sim_source){.name = name};
    if (index)
        *index = sim->jobs;
    sim->jobs++;
    gang__sim_note_submit(sim, sim->jobs - 1);
    take_in(sim, sim->jobs - 1, j.id);
    return GANG_OK;
}
