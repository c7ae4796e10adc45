/* SPDX-License-Identifier: Apache-2.0 */
/* Random events, through the public calls alone, against a host that keeps books of its own: only
 * from what the callbacks tell it. After each event the scheduler runs, and the books are compared
 * with what the library says; rules that hold whatever it decides are checked when it decides.
 *   GANG_SEED           begins with this world
 *   GANG_TEST_SECONDS   how long, 3 by default
 *   GANG_TEST_TRACE     tells events and callbacks */
#include <gangsched/gangsched.h>
#include <gangsched/sched.h>

#include <time.h>

#include "events_host.h"

/* ---- reports and commands: any thread, also from callbacks ---- */

static struct work *some_work(bool (*is)(const struct work *w))
{
    int found = 0, chosen = -1;
    for (int i = 0; i < works; i++)
        if (work[i].id && !work[i].ended && is(&work[i]) && one_in(++found))
            chosen = i;
    return chosen < 0 ? NULL : &work[chosen];
}

static bool is_alive(const struct work *w)
{
    return w->id != 0;
}

static bool is_running(const struct work *w)
{
    return w->state == GANG_JOB_RUNNING && w->gang[0].tasks > 0;
}

static bool is_stopping(const struct work *w)
{
    for (int k = 0; k < MAX_PARTS; k++)
        for (int i = 0; i < w->gang[k].tasks; i++)
            if (w->gang[k].place[i].stopping)
                return true;
    return false;
}

static void must(gang_result r)
{
    CHECK(r == GANG_OK, "%s", gang_result_name(r));
}

/* Some tasks of a gang: all that stop, or some that do not. Returns how many. In a callback not
 * those that may be lost: a task that just came may have the number. */
static size_t choose_tasks(const struct work *w, const struct gang *p, bool stopping,
                           int64_t tasks[MAX_TASKS])
{
    size_t n = 0;
    for (int i = 0; i < p->tasks; i++)
        if (p->place[i].stopping == stopping && (stopping || one_in(3)) &&
            !(in_run && may_vanish(w, &p->place[i])))
            tasks[n++] = p->place[i].task;
    return n;
}

static void report_tasks(struct work *w, int gang, const int64_t *tasks, size_t count, int32_t what)
{
    struct gang *p = &w->gang[gang];
    /* Within a run the gang may restart before this report arrives; the report then concerns the
     * new start. */
    gang_alloc_id alloc = !in_run && one_in(4) ? GANG_ID_NONE : p->alloc;
    TRACE("report %zu tasks of job %d: %d", count, index_of(w), what);
    for (size_t i = 0; i < count; i++)
        TRACE("     task %" PRId64, tasks[i]);
    must(gang_report_tasks(sched, w->id, gang, alloc, tasks, count, what));
    w->left = runs;
    for (size_t i = 0; i < count && what >= GANG_TASK_SUCCEEDED; i++) {
        struct place *at = find_place(p, tasks[i]);
        if (!at)
            continue;
        if (what == GANG_TASK_IDLE) { /* the library decides whether it is given back */
            at->idle = true;
            continue;
        }
        w->failed = w->failed || may_vanish(w, at); /* it may have been given up before */
        if (what == GANG_TASK_SUCCEEDED)
            w->done[at->group]++;
        if (what == GANG_TASK_FAILED) {
            w->lost[at->group]++;
            w->failed = true;
        }
        drop_place(p, at);
    }
    if (p->tasks == 0)
        p->stopping = false;
}

static void report_some(void)
{
    static const int32_t what[] = {GANG_TASK_STARTED, GANG_TASK_HEARTBEAT, GANG_TASK_SUCCEEDED,
                                   GANG_TASK_FAILED,  GANG_TASK_FAILED,    GANG_TASK_SUCCEEDED};
    int64_t tasks[MAX_TASKS];
    struct work *w = some_work(is_running);
    if (!w)
        return;
    size_t count = choose_tasks(w, &w->gang[0], false, tasks);
    if (count)
        report_tasks(w, 0, tasks, count, what[below(6)]);
}

static void report_idle(void)
{
    int64_t tasks[MAX_TASKS];
    struct work *w = some_work(is_running);
    if (!w || w->left >= runs)
        return;
    size_t count = choose_tasks(w, &w->gang[0], false, tasks);
    if (count)
        report_tasks(w, 0, tasks, count, GANG_TASK_IDLE);
}

static void report_gone(void)
{
    int64_t tasks[MAX_TASKS];
    struct work *w = some_work(is_stopping);
    for (int k = 0; w && k < MAX_PARTS; k++) {
        size_t count = choose_tasks(w, &w->gang[k], true, tasks);
        if (count > 1 && one_in(3))
            count--;
        if (count)
            report_tasks(w, k, tasks, count, GANG_TASK_STOPPED);
    }
}

static void report_end(void)
{
    struct work *w = some_work(is_running);
    if (!w)
        return;
    int32_t success = !one_in(3);
    TRACE("report end of job %d: %d", index_of(w), success);
    must(gang_report_end(sched, w->id, success));
    w->left = runs;
    w->ended_by_host = true;
    w->failed = w->failed || !success;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < w->gang[k].tasks; i++)
            w->failed = w->failed || may_vanish(w, &w->gang[k].place[i]);
        w->gang[k].tasks = 0;
    }
}

static void command(void)
{
    struct work *w = some_work(is_alive);
    if (!w)
        return;
    int64_t what = below(8);
    TRACE("command %" PRId64 " to job %d", what, index_of(w));
    w->left = runs;
    if (what == 0) {
        must(gang_job_cancel(sched, w->id));
        w->cancelled = true;
    } else if (what == 1) {
        must(gang_job_hold(sched, w->id));
        w->held = true;
        w->hold_run = runs;
    } else if (what == 2 || what == 3) {
        must(gang_job_release(sched, w->id));
        w->held = false;
    } else if (what == 4) {
        w->priority = below(4);
        must(gang_job_set_priority(sched, w->id, w->priority));
    } else if (what == 5) {
        must(gang_job_set_target(sched, w->id, one_in(3) ? -1 : below(8)));
    } else if (what == 6) {
        must(gang_job_requeue(sched, w->id));
    } else {
        w->time_limit = (1 + below(60)) * SECOND;
        must(gang_job_set_time_limit(sched, w->id, w->time_limit));
    }
}

/* Calls that must come to nothing. */
static void nonsense(void)
{
    int64_t task = 1000;
    struct work *w = some_work(is_alive);
    CHECK(gang_job_cancel(sched, GANG_ID_NONE) != GANG_OK, "cancelled nothing");
    CHECK(gang_job_hold(sched, UINT64_MAX) == GANG_ESTALE, "held what never was");
    if (w)
        must(gang_report_tasks(sched, w->id, 0, GANG_ID_NONE, &task, 1, GANG_TASK_STOPPED));
    if (w && w->gang[0].alloc == GANG_ID_NONE)
        must(gang_report_tasks(sched, w->id, 0, UINT64_MAX, NULL, 0, GANG_TASK_FAILED));
}

/* ---- jobs ---- */

static int some_leaf(void)
{
    int i;
    do
        i = (int)below(MAX_QUEUES);
    while (!line[i].there || !line[i].is_leaf);
    return i;
}

static void random_work(struct work *w)
{
    static const int32_t kind_of[] = {GANG_PREEMPTIBLE, GANG_PREEMPTIBLE, GANG_PREEMPTIBLE,
                                      GANG_NOT_PREEMPTIBLE, GANG_SEMI_PREEMPTIBLE};
    memset(w, 0, sizeof(*w));
    w->queue = some_leaf();
    w->groups = one_in(4) ? 2 : 1;
    for (int g = 0; g < w->groups; g++) {
        w->count[g] = 1 + below(6);
        w->min[g] = one_in(3) ? w->count[g] : 1 + below(w->count[g]);
        w->need[g][CPU] = 1000 * (1 + below(3));
        w->need[g][MEMORY] = one_in(2) ? GIB : 0;
        w->need[g][GPU] = one_in(3) ? 0 : 1000 * (1 + below(2));
    }
    w->priority = below(4);
    w->preemptible = kind_of[below(5)];
    w->loss = (int32_t)below(5);
    w->never_preempts = one_in(10);
    w->in_parts = w->groups > 1 && one_in(5);
    w->has_roles = w->groups > 1 && one_in(4);
    w->time_limit = one_in(2) ? (10 + below(100)) * SECOND : 0;
    w->start_within = one_in(12) ? (1 + below(60)) * SECOND : 0;
    w->begin = one_in(8) ? now_ns + below(60) * SECOND : 0;
    w->deadline = one_in(8) ? now_ns + w->time_limit + (60 + below(100)) * SECOND : 0;
    w->heartbeat = one_in(12) ? (1 + below(30)) * SECOND : 0;
    w->after = works && one_in(8) ? (int)below(works) : -1;
    if (w->after >= 0 && !work[w->after].id)
        w->after = -1;
    w->after_when = (int32_t)below(3);
    w->held = one_in(10);
    w->hold_run = runs;
    w->left = runs;
}

/* Could its gang ever run, on empty nodes and inside the limits? Of one group alone. */
static bool fits_ever(const struct work *w)
{
    int64_t fit = 0;
    for (int i = 0; i < MAX_NODES; i++) {
        int64_t here = machine[i].there ? w->min[0] : 0;
        for (int kind = 0; kind < KINDS; kind++)
            if (w->need[0][kind])
                here = least(here, machine[i].capacity[kind] / w->need[0][kind]);
        fit += machine[i].there ? here : 0;
    }
    for (int q = w->queue; q >= 0; q = line[q].parent)
        for (int kind = 0; kind < KINDS; kind++)
            if (line[q].limit[kind] >= 0 && w->min[0] * w->need[0][kind] > line[q].limit[kind])
                return false;
    return fit >= w->min[0];
}

static void check_refusal(const struct work *w, gang_result r)
{
    bool is_open = true;
    for (int q = w->queue; q >= 0; q = line[q].parent)
        is_open = is_open && line[q].state == GANG_QUEUE_OPEN;
    CHECK(r == GANG_OK || r == GANG_ECLOSED || r == GANG_ENEVER, "submit: %s", gang_result_name(r));
    CHECK(r != GANG_ECLOSED || !is_open, "queue %s is open", line[w->queue].name);
    CHECK(r == GANG_ECLOSED || line[w->queue].state == GANG_QUEUE_OPEN, "%s, queue is not open",
          gang_result_name(r));
    if (r == GANG_ECLOSED || w->groups > 1)
        return;
    CHECK((r == GANG_ENEVER) == !fits_ever(w), "submit: %s", gang_result_name(r));
}

static void submit_as(struct work *w, int64_t copies)
{
    struct gang_group_spec group[2];
    struct gang_job_spec spec = GANG_JOB_SPEC_INIT;
    struct gang_job_after after = {w->after >= 0 ? work[w->after].id : 0, w->after_when, 0};
    struct gang_group_after group_after = {1, 0, one_in(2) ? GANG_AFTER_START : GANG_AFTER_END, 0};
    struct gang_error error = GANG_ERROR_INIT;
    int32_t roles[2] = {GANG_ROLE_MEMBER, (int32_t)below(5)};
    gang_job_id id = 7;
    for (int g = 0; g < w->groups; g++) {
        group[g] = group_of(w->count[g], w->need[g][CPU], w->need[g][GPU]);
        group[g].min = w->min[g];
        group[g].memory_bytes = w->need[g][MEMORY];
    }
    spec.request = request_of(group, (size_t)w->groups);
    spec.queue = line[w->queue].name;
    spec.priority = w->priority;
    spec.preemptible = w->preemptible;
    spec.never_preempts = w->never_preempts;
    spec.loss = w->loss;
    spec.max_restarts = below(3);
    spec.restart_delay_ns = one_in(2) ? SECOND : 0;
    spec.refill_ns = one_in(2) ? 20 * SECOND : 0;
    spec.time_limit_ns = w->time_limit;
    spec.start_within_ns = w->start_within;
    spec.back_off_ns = one_in(2) ? 5 * SECOND : 0;
    spec.heartbeat_ns = w->heartbeat;
    spec.begin_ns = w->begin;
    spec.deadline_ns = w->deadline;
    spec.hold = w->held;
    spec.user = w->user = one_in(2) ? "ann" : "bob";
    spec.after = &after;
    spec.after_count = w->after >= 0;
    spec.group_after = &group_after;
    spec.group_after_count = w->in_parts;
    spec.roles = w->has_roles ? roles : NULL;
    spec.cookie = (uint64_t)works + 1;
    gang_result r = copies ? gang_job_submit_array(sched, &spec, copies, &id, &error)
                           : gang_job_submit(sched, &spec, &id, &error);
    check_refusal(w, r);
    w->cookie = spec.cookie;
    CHECK((r == GANG_OK) == (id != GANG_ID_NONE), "id after %s", gang_result_name(r));
    TRACE("submit job %d to %s: %s %s", works, spec.queue, gang_result_name(r), error.text);
    if (r != GANG_OK)
        return;
    for (int64_t i = 0; i < (copies ? copies : 1); i++) {
        work[works] = *w;
        work[works++].id = id++;
    }
}

static void submit(void)
{
    if (works + 8 > MAX_WORKS)
        return;
    random_work(&work[works]);
    submit_as(&work[works], 0);
}

static void submit_array(void)
{
    if (works + 8 > MAX_WORKS)
        return;
    random_work(&work[works]);
    submit_as(&work[works], 1 + below(4));
}

/* What a host does inside a callback. */
static void mischief(void)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    int64_t what = below(5);
    if (what == 0) {
        submits_from_within++;
        submit();
    } else if (what == 1) {
        command();
    } else if (what == 2) {
        report_some();
    } else if (what == 3) {
        CHECK(gang_sched_run(sched, now_ns, NULL, NULL) == GANG_EBUSY, "a run in a run");
        CHECK(gang_sched_set_queues(sched, &q, 1, NULL) != GANG_OK, "queues changed in a run");
    } else {
        report_end();
    }
}

/* ---- nodes ---- */

static struct machine *some_machine(void)
{
    int found = 0, chosen = -1;
    for (int i = 0; i < MAX_NODES; i++)
        if (machine[i].there && one_in(++found))
            chosen = i;
    return chosen < 0 ? NULL : &machine[chosen];
}

static void add_node(void)
{
    struct machine *m = machine;
    while (m < machine + MAX_NODES && m->there)
        m++;
    if (m == machine + MAX_NODES)
        return;
    *m = (struct machine){.there = true};
    snprintf(m->name, sizeof(m->name), "n%d", node_number++);
    m->capacity[CPU] = 1000 * (4 + below(12));
    m->capacity[MEMORY] = (4 + below(12)) * GIB;
    m->capacity[GPU] = 1000 * below(9);
    struct box box = {.name = m->name, .cpu = m->capacity[CPU], .memory = m->capacity[MEMORY]};
    box.gpus = (size_t)(m->capacity[GPU] / 1000);
    m->id = stage_add(&stage, &box);
    TRACE("node %s: cpu %" PRId64 " gpu %" PRId64, m->name, m->capacity[CPU], m->capacity[GPU]);
}

static void remove_node(void)
{
    struct machine *m = some_machine();
    if (!m || gang_node_count(stage.c) < 3)
        return;
    TRACE("node %s is removed", m->name);
    MUST(gang_node_remove(stage.w, m->id));
    m->there = false;
}

static void lose_node(void)
{
    struct machine *m = some_machine();
    if (!m)
        return;
    TRACE("node %s is lost", m->name);
    m->left = runs;
    m->state = GANG_NODE_DOWN;
    for (int k = 0; k < works * MAX_PARTS; k++) {
        struct gang *p = &work[k / MAX_PARTS].gang[k % MAX_PARTS];
        for (int t = 0; t < p->tasks; t++)
            p->place[t].shaken = p->place[t].shaken || p->place[t].node == m->id;
    }
    if (one_in(3))
        MUST(gang_node_set_state(stage.w, m->id, GANG_NODE_DOWN));
    else
        must(gang_report_node_lost(sched, m->id));
}

static void set_node_state(void)
{
    struct machine *m = some_machine();
    if (!m || m->left >= settled) /* its loss would be taken for one after this */
        return;
    m->state = one_in(3) ? GANG_NODE_DRAINING : GANG_NODE_UP;
    TRACE("node %s in state %d", m->name, m->state);
    MUST(gang_node_set_state(stage.w, m->id, m->state));
}

/* ---- queues ---- */

struct queue_quotas {
    struct gang_quota guarantee[KINDS], limit[KINDS];
};

static const char *const kind_name[KINDS] = {"cpu", "memory", "gpu"};

static struct gang_queue_spec queue_spec(const struct line *l, struct queue_quotas *quotas)
{
    struct gang_queue_spec spec = GANG_QUEUE_SPEC_INIT;
    bool none = true; /* nothing is guaranteed */
    spec.name = l->name;
    spec.parent = l->parent < 0 ? NULL : line[l->parent].name;
    spec.guaranteed = quotas->guarantee;
    spec.limit = quotas->limit;
    for (int kind = 0; kind < KINDS; kind++)
        none = none && l->guarantee[kind] == 0;
    for (int kind = 0; kind < KINDS; kind++) {
        struct gang_quota quota = {kind_name[kind], l->guarantee[kind], NULL, 0, 0};
        if (!none && l->guarantee[kind] >= 0)
            quotas->guarantee[spec.guaranteed_count++] = quota;
        quota.amount = l->limit[kind];
        if (l->limit[kind] >= 0)
            quotas->limit[spec.limit_count++] = quota;
    }
    spec.priority = l->priority;
    spec.grace_ns = l->grace;
    spec.min_runtime_ns = l->min_runtime;
    spec.max_running = l->max_running;
    spec.weight = l->weight;
    spec.state = l->state;
    spec.no_preemption = l->fixed;
    spec.within = l->within;
    spec.user_limit = l->user_percent * (GANG_WHOLE / 100);
    spec.reclaim = l->reclaim;
    spec.preempt_mode = l->preempt;
    spec.order = l->order;
    spec.priority_weight_age = 100;
    spec.priority_weight_fair_share = below(2) * 100;
    spec.priority_weight_size = below(2) * 100;
    spec.priority_weight_job = below(2);
    spec.priority_max_age_ns = 100 * SECOND;
    spec.priority_period_ns = 10 * SECOND;
    spec.block = l->block;
    spec.backfill = one_in(3) ? (int32_t)below(4) : GANG_BACKFILL_DEFAULT;
    spec.backfill_order = (int32_t)below(5);
    spec.plan_depth = below(3);
    spec.max_bypasses = one_in(4) ? 1 + below(4) : 0;
    spec.max_wait_ns = one_in(4) ? (1 + below(60)) * SECOND : 0;
    spec.overrun = l->extends ? (int32_t)(2 + below(2)) : GANG_OVERRUN_KILL;
    spec.extend_ns = below(3) * 10 * SECOND;
    return spec;
}

static void random_quotas(struct line *l)
{
    bool none = one_in(3);
    int64_t scale = l->parent < 0 ? 3 : 1; /* children share what the parent has */
    l->guarantee[CPU] = none ? 0 : 1000 * scale * (1 + below(8));
    l->guarantee[MEMORY] = none ? 0 : GANG_UNLIMITED;
    l->guarantee[GPU] = none ? 0 : 1000 * scale * below(4);
    for (int kind = 0; kind < KINDS; kind++)
        l->limit[kind] = GANG_UNLIMITED;
    if (one_in(3))
        l->limit[CPU] = 1000 * scale * (3 + below(12));
    if (one_in(3))
        l->limit[GPU] = 1000 * scale * below(8);
}

static void random_rules(struct line *l)
{
    static const int64_t grace[] = {-1, 0, 0, 10 * SECOND, 30 * SECOND};
    l->priority = one_in(4) ? 200 : 100;
    l->weight = (double)(1 + below(3));
    l->grace = grace[below(5)];
    l->min_runtime = one_in(5) ? 20 * SECOND : -1;
    l->max_running = one_in(6) ? 1 + below(4) : 0;
    l->fixed = one_in(10);
    l->within = (int32_t)below(5);
    l->within = l->within == GANG_PREEMPT_ANY ? GANG_PREEMPT_USER_LIMIT : l->within;
    l->user_percent = one_in(3) || l->within == GANG_PREEMPT_USER_LIMIT ? 10 + below(50) : 0;
    l->reclaim = one_in(4) ? (int32_t)below(3) : GANG_PREEMPT_ANY;
    l->preempt = (int32_t)below(3);
    l->order = one_in(3) ? (int32_t)below(7) : GANG_ORDER_PRIORITY;
    l->block = one_in(6);
    l->extends = l->extends || one_in(3); /* what was given more keeps it */
}

/* One queue otherwise than before; what is refused has changed nothing. */
static void change_queue(void)
{
    struct line *l = &line[below(MAX_QUEUES)];
    struct line before = *l;
    struct queue_quotas quotas;
    struct gang_error error = GANG_ERROR_INIT;
    if (!l->there)
        return;
    if (one_in(2))
        random_quotas(l);
    else
        random_rules(l);
    struct gang_queue_spec spec = queue_spec(l, &quotas);
    gang_result r = gang_queue_change(sched, &spec, &error);
    TRACE("queue %s changed: %s %s %s", l->name, gang_result_name(r), error.path, error.text);
    CHECK(r == GANG_OK || r == GANG_EINVAL, "%s: %s", gang_result_name(r), error.text);
    if (r != GANG_OK)
        *l = before;
}

static void set_queue_state(void)
{
    struct line *l = &line[below(MAX_QUEUES)];
    gang_queue_id id;
    if (!l->there || !l->is_leaf)
        return;
    must(gang_queue_find(sched, l->name, &id));
    l->state = one_in(2) ? GANG_QUEUE_OPEN : (int32_t)below(3);
    TRACE("queue %s in state %d", l->name, l->state);
    must(gang_queue_set_state(sched, id, l->state));
}

/* Replaces the whole tree; the first time it tries until a tree is accepted. */
static gang_result set_queues(void)
{
    struct gang_queue_spec spec[MAX_QUEUES];
    static struct queue_quotas quotas[MAX_QUEUES];
    struct gang_error error = GANG_ERROR_INIT;
    size_t count = 0;
    for (int i = MAX_QUEUES - 1; i >= 0; i--) /* children first */
        if (line[i].there) {
            spec[count] = queue_spec(&line[i], &quotas[count]);
            count++;
        }
    gang_result r = gang_sched_set_queues(sched, spec, count, &error);
    TRACE("queues set: %s %s %s", gang_result_name(r), error.path, error.text);
    return r;
}

static void change_queues(void)
{
    struct line before[MAX_QUEUES];
    memcpy(before, line, sizeof(line));
    for (int i = 0; i < MAX_QUEUES; i++)
        if (one_in(3))
            random_quotas(&line[i]);
    gang_result r = set_queues();
    CHECK(r == GANG_OK || r == GANG_EINVAL, "%s", gang_result_name(r));
    if (r != GANG_OK)
        memcpy(line, before, sizeof(line));
}

/* The last queue comes and goes. */
static void add_or_remove_queue(void)
{
    struct line *l = &line[MAX_QUEUES - 1];
    struct queue_quotas quotas;
    gang_queue_id id = GANG_ID_NONE;
    bool has_jobs = false, unsure = false;
    for (int i = 0; i < works; i++) {
        bool in = work[i].id && !work[i].ended && work[i].queue == MAX_QUEUES - 1;
        has_jobs = has_jobs || in;
        unsure = unsure || (in && !work[i].taken);
    }
    if (unsure)
        return;
    if (!l->there) {
        struct gang_queue_spec spec = queue_spec(l, &quotas);
        l->there = gang_queue_add(sched, &spec, &id, NULL) == GANG_OK;
        TRACE("queue %s added: %d", l->name, l->there);
        return;
    }
    must(gang_queue_find(sched, l->name, &id));
    gang_result r = gang_queue_remove(sched, id, NULL);
    TRACE("queue %s removed: %s", l->name, gang_result_name(r));
    CHECK(r == (has_jobs ? GANG_EBUSY : GANG_OK), "%s", gang_result_name(r));
    l->there = r != GANG_OK;
}

/*      a         b      c
 *   a1 a2     b1 b2        and d, which comes and goes. */
static void plant_queues(void)
{
    static const char *const name[MAX_QUEUES] = {"a", "b", "a1", "a2", "b1", "b2", "c", "d"};
    static const int parent[MAX_QUEUES] = {-1, -1, 0, 0, 1, 1, -1, -1};
    gang_result r;
    do {
        for (int i = 0; i < MAX_QUEUES; i++) {
            line[i] = (struct line){.name = name[i], .parent = parent[i], .there = true};
            line[i].is_leaf = i > 1;
            random_quotas(&line[i]);
            random_rules(&line[i]);
        }
        r = set_queues();
        CHECK(r == GANG_OK || r == GANG_EINVAL, "%s", gang_result_name(r));
    } while (r != GANG_OK);
}

/* ---- runs ---- */

/* What it holds, here and there. */
static void compare_part(struct work *w, int k)
{
    struct gang *p = &w->gang[k];
    gang_alloc_id alloc = gang_job_alloc(sched, w->id, k);
    bool whole = p->stopping || w->state == GANG_JOB_STOPPING;
    drop_vanished(w, p);
    if (alloc == GANG_ID_NONE && w->state == GANG_JOB_STOPPING)
        drop_silent(w, p); /* it moves, or others of it stop: no state tells that this gang has */
    if (is_unsettled(w))
        return;
    const struct reader *r = read_alloc(alloc);
    CHECK(p->tasks == 0 || alloc == p->alloc,
          "job %d in state %d has allocation %" PRIx64 ", the host has %" PRIx64, index_of(w),
          w->state, alloc, p->alloc);
    for (int i = 0; i < p->tasks; i++) {
        const struct place *at = find_read(r, p->place[i].task);
        CHECK(at && at->node == p->place[i].node && at->group == p->place[i].group,
              "task %" PRId64 " of job %d runs, but holds nothing", p->place[i].task, index_of(w));
        CHECK(!p->place[i].stopping || p->place[i].deadline > now_ns || settled < runs,
              "task %" PRId64 " of job %d is past its deadline", p->place[i].task, index_of(w));
        p->place[i].idle = false; /* it was asked, and kept */
    }
    int kept = 0; /* until the others start, or those that were asked together have all stopped */
    for (int i = 0; i < r->tasks; i++)
        kept += r->place[i].task < MOST_NUMBERS &&
                p->preempted[r->place[i].task] >= (is_stopping(w) ? FOR_ITSELF : FOR_OTHERS) &&
                !find_place(p, r->place[i].task);
    CHECK(whole || r->tasks == p->tasks + kept, "job %d holds %d tasks, but runs %d", index_of(w),
          r->tasks, p->tasks);
}

/* It goes on only with its gang, but for what it lost. */
static void check_gang(const struct work *w)
{
    bool counts = w->loss == GANG_LOSS_COUNT || w->loss == GANG_LOSS_REFILL;
    if (is_unsettled(w) || w->in_parts || w->has_roles || w->heartbeat || w->gang[0].stopping)
        return;
    for (int g = 0; g < w->groups; g++) {
        int64_t running = running_of(w, g);
        int64_t lost = counts ? w->lost[g] + w->perhaps_lost[g] : 0;
        CHECK(running + lost + w->done[g] >= w->min[g],
              "job %d runs %" PRId64 " tasks of group %d, its minimum is %" PRId64, index_of(w),
              running, g, w->min[g]);
        CHECK(running <= w->count[g], "job %d runs %" PRId64 " tasks", index_of(w), running);
    }
}

static void check_forgotten(const struct work *w)
{
    struct gang_job_info info;
    struct gang_alloc_info alloc = GANG_ALLOC_INFO_INIT;
    info.size = sizeof(info);
    CHECK(gang_job_get(sched, w->id, &info) == GANG_ESTALE, "job %d ended, but is there",
          index_of(w));
    for (int k = 0; k < MAX_PARTS; k++)
        if (w->gang[k].alloc != GANG_ID_NONE &&
            !w->gang[k].because) /* it, or tasks of which the host never heard, may be kept */
            CHECK(gang_alloc_get(stage.c, w->gang[k].alloc, &alloc) == GANG_ESTALE ||
                      alloc.tasks == 0,
                  "job %d ended, but holds something", index_of(w));
}

static void compare_work(struct work *w)
{
    struct gang_job_info info;
    gang_queue_id queue;
    info.size = sizeof(info);
    gang_result r = gang_job_get(sched, w->id, &info);
    if (r == GANG_ESTALE) {
        CHECK(!w->taken && is_unsettled(w), "job %d is lost", index_of(w));
        return;
    }
    must(r);
    w->taken = true;
    CHECK(info.id == w->id && info.cookie == w->cookie && info.end == GANG_END_NONE, "job %d",
          index_of(w));
    CHECK(info.state == w->state, "job %d is in state %d, the host has %d", index_of(w), info.state,
          w->state);
    must(gang_queue_find(sched, line[w->queue].name, &queue));
    CHECK(info.queue == queue, "job %d is in another queue", index_of(w));
    for (int k = 0; k < MAX_PARTS; k++)
        compare_part(w, k);
    if (is_unsettled(w))
        return;
    CHECK(info.priority == w->priority, "priority of job %d", index_of(w));
    CHECK(info.held == w->held, "job %d is held: %d", index_of(w), info.held);
    if (w->state == GANG_JOB_RUNNING)
        check_gang(w);
    if (w->state == GANG_JOB_RUNNING && !w->in_parts && settled == runs) {
        CHECK(!info.ends_ns || now_ns < info.ends_ns, "job %d is over its time", index_of(w));
        CHECK(w->started_ns >= w->begin, "job %d began too early", index_of(w));
        CHECK(!w->time_limit || (info.ends_ns && (line[w->queue].extends ||
                                                  info.ends_ns <= w->started_ns + w->time_limit)),
              "job %d may run until %" PRId64, index_of(w), info.ends_ns);
        CHECK(!w->deadline || info.ends_ns <= w->deadline, "job %d has a deadline", index_of(w));
    }
}

/* A job is preempted only for a gang that then starts or grows, or that waits for victims in their
 * grace or for ends that the scheduler has not seen yet. */
static void check_evictions(void)
{
    if (settled < runs) /* cut short: the rest comes in the next run */
        return;
    for (int i = 0; i < preemptions; i++) {
        const struct work *taker = &work[preemption[i].taker];
        bool waits = false;
        for (int k = 0; k < works; k++)
            for (int p = 0; p < MAX_PARTS; p++)
                waits =
                    waits ||
                    (work[k].gang[p].because == taker->id && !work[k].ended &&
                     (work[k].gang[p].stopping || is_stopping(&work[k]) || is_unsettled(&work[k])));
        CHECK(taker->start_asked || waits || is_unsettled(taker),
              "job %d was preempted for job %d, which got nothing", preemption[i].victim,
              preemption[i].taker);
    }
}

/* Every allocation belongs to a known job. Checked only while no task is starting or stopping. */
static void check_free(void)
{
    for (int i = 0; i < works; i++)
        if (!work[i].ended && (is_unsettled(&work[i]) || is_stopping(&work[i])))
            return;
    for (int i = 0; i < MAX_NODES; i++) {
        int64_t taken[KINDS] = {0};
        if (!machine[i].there)
            continue;
        for (int k = 0; k < works * MAX_PARTS; k++) {
            const struct gang *p = &work[k / MAX_PARTS].gang[k % MAX_PARTS];
            for (int t = 0; t < p->tasks; t++)
                for (int kind = 0; kind < KINDS && p->place[t].node == machine[i].id; kind++)
                    taken[kind] += p->place[t].amount[kind];
        }
        struct gang_node_info info = stage_node(&stage, machine[i].id);
        CHECK(info.cpu_free == machine[i].capacity[CPU] - taken[CPU] &&
                  info.memory_free == machine[i].capacity[MEMORY] - taken[MEMORY] &&
                  info.gpu_free == machine[i].capacity[GPU] - taken[GPU],
              "node %s has %" PRId64 " cpu, %" PRId64 " gpu free", machine[i].name, info.cpu_free,
              info.gpu_free);
    }
}

/* The lowest of its own and of those above. */
static int64_t limit_in_force(int queue, int kind)
{
    int64_t limit = GANG_UNLIMITED;
    for (; queue >= 0; queue = line[queue].parent)
        if (line[queue].limit[kind] >= 0 && (limit < 0 || line[queue].limit[kind] < limit))
            limit = line[queue].limit[kind];
    return limit;
}

static int64_t jobs_running(int queue)
{
    int64_t n = 0;
    for (int i = 0; i < works; i++)
        n += (work[i].state == GANG_JOB_RUNNING || work[i].state == GANG_JOB_STOPPING) &&
             !work[i].ended && is_in(work[i].queue, queue);
    return n;
}

/* Is it certain what all jobs hold? */
static bool is_certain(void)
{
    for (int i = 0; i < works; i++) {
        const struct work *w = &work[i];
        if (!w->ended && (is_unsettled(w) || is_stopping(w) || w->heartbeat || w->in_parts))
            return false;
        for (int t = 0; !w->ended && t < w->gang[0].tasks; t++)
            if (may_vanish(w, &w->gang[0].place[t]))
                return false;
    }
    return true;
}

static void check_queue_books(void)
{
    if (!is_certain())
        return;
    for (int q = 0; q < MAX_QUEUES; q++) {
        static struct gang_queue_info info;
        gang_queue_id id;
        if (!line[q].there)
            continue;
        must(gang_queue_find(sched, line[q].name, &id));
        info.size = sizeof(info);
        must(gang_queue_get(sched, id, &info));
        for (int kind = 0; kind < KINDS; kind++) {
            int64_t used = used_in(q, kind), limit = limit_in_force(q, kind);
            if (info.used[kind] != used)
                print_queue(q);
            CHECK(info.used[kind] == used, "queue %s uses %" PRId64 ", not %" PRId64, info.name,
                  used, info.used[kind]);
            CHECK(info.limit[kind] == limit, "limit %" PRId64 " of queue %s", info.limit[kind],
                  info.name);
        }
        CHECK(info.running == jobs_running(q), "%" PRId64 " jobs run in queue %s, not %" PRId64,
              jobs_running(q), info.name, info.running);
    }
}

/* Whatever is under way, a copy of it is sound, and can be run ahead. */
static void check_copy(void)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_forecast *f;
    opts.max_events = 20;
    gang_result r = gang_forecast_new(sched, &opts, &f, &error);
    CHECK(r == GANG_OK, "forecast: %s", error.text);
    r = gang_cluster_check(gang_forecast_cluster(f), &error);
    CHECK(r == GANG_OK, "cluster of a copy: %s", error.text);
    r = gang_sched_check(gang_forecast_sched(f), &error);
    CHECK(r == GANG_OK, "a copy: %s %s", error.path, error.text);
    must(gang_forecast_run(f, &error));
    r = gang_sched_check(gang_forecast_sched(f), &error);
    CHECK(r == GANG_OK, "a copy that was run: %s %s", error.path, error.text);
    gang_forecast_free(f);
}

static void check_all(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    for (int i = 0; i < works; i++)
        if (!work[i].ended)
            compare_work(&work[i]);
        else if (one_in(20))
            check_forgotten(&work[i]);
    check_evictions();
    if (step % 4)
        return;
    gang_result r = gang_cluster_check(stage.c, &error);
    CHECK(r == GANG_OK, "cluster: %s", error.text);
    r = gang_sched_check(sched, &error);
    CHECK(r == GANG_OK, "scheduler: %s %s", error.path, error.text);
    if (step % 32 == 0)
        check_copy();
    check_free();
    check_queue_books();
}

/* One run. Returns how many callbacks it made. */
static int64_t run_once(int64_t max_steps)
{
    struct gang_run_opts opts = GANG_RUN_OPTS_INIT;
    struct gang_run_info info = GANG_RUN_INFO_INIT;
    int64_t before = ops_seen;
    opts.max_steps = max_steps;
    preemptions = 0;
    runs++;
    for (int i = 0; i < works; i++)
        work[i].start_asked = false;
    TRACE("run at %" PRId64 " of %" PRId64 " steps", now_ns / SECOND, max_steps);
    in_run = true;
    gang_result r = gang_sched_run(sched, now_ns, &opts, &info);
    in_run = false;
    must(r);
    CHECK(max_steps || !info.more, "an unbounded run was cut short");
    CHECK(!info.more || gang_sched_next(sched) == INT64_MIN, "more, but not at once");
    if (!info.more)
        settled = runs;
    check_all();
    return ops_seen - before;
}

/* Does it wait for capacity that is there? Of one group alone. */
static bool has_capacity(const struct work *w)
{
    int64_t fit = 0;
    if (w->groups > 1)
        return false;
    for (int i = 0; i < MAX_NODES; i++) {
        if (!machine[i].there || machine[i].state != GANG_NODE_UP)
            continue;
        struct gang_node_info info = stage_node(&stage, machine[i].id);
        int64_t here = w->min[0];
        here = least(here, info.cpu_free / w->need[0][CPU]);
        if (w->need[0][MEMORY])
            here = least(here, info.memory_free / w->need[0][MEMORY]);
        if (w->need[0][GPU])
            here = least(here, info.gpus_free / (w->need[0][GPU] / 1000));
        fit += here;
    }
    return fit >= w->min[0];
}

struct reasons {
    int32_t first;
    uint64_t all; /* bit i: reason i */
};

static int32_t note_reason(const struct gang_wait *wait, void *user)
{
    struct reasons *reasons = user;
    CHECK(wait->text && wait->reason >= GANG_WAIT_CAPACITY && wait->reason <= GANG_WAIT_SLICE,
          "reason %d", wait->reason);
    if (!reasons->all)
        reasons->first = wait->reason;
    reasons->all |= UINT64_C(1) << wait->reason;
    return 0;
}

/* Each waiting job has a reason, and the reason holds. */
static void check_reasons(void)
{
    for (int i = 0; i < works; i++) {
        struct reasons r = {0, 0};
        const struct work *w = &work[i];
        if (w->ended || !w->taken)
            continue;
        must(gang_job_explain(sched, w->id, note_reason, &r));
        if (w->state != GANG_JOB_PENDING || w->in_parts)
            continue;
        CHECK(r.all, "job %d waits for no reason", i);
        CHECK(r.first != GANG_WAIT_NOT_TRIED, "job %d was not tried", i);
        CHECK(w->failed || r.first != GANG_WAIT_CAPACITY || !has_capacity(w),
              "job %d waits, but there is capacity", i);
        CHECK(w->held == (r.all >> GANG_WAIT_HOLD & 1), "job %d is held: %d", i, w->held);
    }
}

/* Without events nothing may go on for ever. */
static void calm_down(void)
{
    int quiet = 0;
    doing = "calm";
    host_is_kind = true;
    for (int i = 0; quiet < 2; i++) {
        CHECK(i < CALM_RUNS, "it never comes to rest");
        bool gone = some_work(is_stopping) != NULL;
        while (some_work(is_stopping))
            report_gone();
        quiet = run_once(0) || gone ? 0 : quiet + 1;
    }
    CHECK(gang_sched_next(sched) > now_ns, "it is at rest, but wants to run");
    check_reasons();
    host_is_kind = false;
}

static void pass_time(void)
{
    int64_t next = gang_sched_next(sched);
    int64_t by = one_in(4) ? (1 + below(50)) * SECOND : SECOND;
    now_ns += by;
    if (one_in(2) && next > now_ns - by && next < now_ns)
        now_ns = next;
}

struct event {
    void (*happen)(void);
    int weight;
    const char *name;
};
static const struct event events[] = {
    {submit, 30, "submit"},
    {submit_array, 4, "submit_array"},
    {report_some, 12, "report_some"},
    {report_idle, 4, "report_idle"},
    {report_gone, 14, "report_gone"},
    {report_end, 12, "report_end"},
    {command, 14, "command"},
    {nonsense, 2, "nonsense"},
    {pass_time, 12, "pass_time"},
    {add_node, 4, "add_node"},
    {remove_node, 1, "remove_node"},
    {lose_node, 2, "lose_node"},
    {set_node_state, 6, "set_node_state"},
    {change_queue, 6, "change_queue"},
    {set_queue_state, 4, "set_queue_state"},
    {change_queues, 2, "change_queues"},
    {add_or_remove_queue, 2, "add_or_remove_queue"},
};

static void happen(void)
{
    int sum = 0;
    size_t i = 0;
    for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        sum += events[i].weight;
    int64_t draw = below(sum);
    for (i = 0; draw >= events[i].weight; i++)
        draw -= events[i].weight;
    doing = events[i].name;
    TRACE("event %s", doing);
    events[i].happen();
    events_done++;
}

/* Everything ends; nothing is left. */
static void wind_up(void)
{
    doing = "end";
    host_is_kind = true;
    for (int i = 0; i < works; i++)
        if (!work[i].ended) {
            must(gang_job_cancel(sched, work[i].id));
            work[i].cancelled = true;
            work[i].left = runs;
        }
    for (int i = 0; some_work(is_alive); i++) {
        CHECK(i < CALM_RUNS, "jobs are left");
        now_ns += 60 * SECOND;
        run_once(0);
    }
    CHECK(gang_job_next(sched, GANG_ID_NONE) == GANG_ID_NONE, "a job is left");
    check_free();
    gang_sched_free(sched);
    stage_close(&stage);
}

static void begin(uint64_t seed)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    run_seed = chance_state = seed;
    works = step = node_number = 0;
    runs = settled = 0;
    host_is_kind = false;
    now_ns = below(1000) * SECOND;
    doing = "begin";
    memset(machine, 0, sizeof(machine));
    stage_open(&stage, NULL, 0);
    for (int64_t n = 2 + below(4); n > 0; n--)
        add_node();
    ops.start = on_start;
    gang__untold_hook = on_decision;
    ops.grow = on_grow;
    ops.shrink = on_shrink;
    ops.preempt = on_preempt;
    ops.suspend = on_suspend;
    ops.resume = on_resume;
    ops.kill = on_kill;
    ops.lost = on_lost;
    ops.state = on_state;
    if (one_in(2))
        ops.predict = on_predict;
    ops.overrun = on_overrun;
    ops.log = on_log;
    opts.no_preemption = one_in(6);
    opts.max_preempted_tasks = one_in(6) ? 1 + below(4) : 0;
    MUST(gang_sched_new(stage.c, &opts, &ops, NULL, &sched, NULL));
    plant_queues();
}

static void live(uint64_t seed)
{
    begin(seed);
    for (step = 1; step <= STEPS; step++) {
        happen();
        run_once(one_in(6) ? 1 + below(10) : 0);
        if (one_in(20))
            calm_down();
    }
    wind_up();
}

START_TEST(random_events_keep_the_rules)
{
    const char *given = getenv("GANG_TEST_SECONDS");
    double seconds = given ? atof(given) : getenv("GANG_TEST_QUICK") ? 1.5 : 3;
    uint64_t seed = test_seed();
    struct timespec from, now;
    int64_t worlds = 0;
    double passed;
    timespec_get(&from, TIME_UTC);
    do {
        live(seed + (uint64_t)worlds++);
        timespec_get(&now, TIME_UTC);
        passed = (double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9;
    } while (passed < seconds);
    printf("%" PRId64 " worlds, %" PRId64 " events, %.0f a second, %" PRId64 " callbacks, %" PRId64
           " starts, %" PRId64 " preemptions, %" PRId64 " jobs submitted in callbacks\n",
           worlds, events_done, (double)events_done / passed, ops_seen, starts_done, evictions_done,
           submits_from_within);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("events");
    TCase *tests = tcase_create("events");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, random_events_keep_the_rules);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
