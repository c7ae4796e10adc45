/* SPDX-License-Identifier: Apache-2.0 */
/* Time slicing under random gangs, ends, losses and refusals. The host knows its callbacks only:
 * running gangs fit beside each other at every moment; a gang runs whole or not at all; the memory
 * of all rows fits; each gang has a whole slice in each round; nothing is left behind. In one more
 * life each allocation fails in turn. */
#include "chance.h"
#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

enum { NODES = 6, CORES = 8, GPUS = 4, JOBS = 400, SLICE = 10, MOST_TASKS = 8, AGAIN = 2 };

/* ---- what the host knows --------------------------------------------------------------------- */

struct seen_task {
    int64_t number;
    uint32_t node;
    int64_t cpu;
    uint64_t cores, gpus;
    bool on; /* it runs */
};

struct seen_job {
    gang_job_id id;
    bool sliced, begun, stops, inside;
    size_t tasks;
    struct seen_task task[MOST_TASKS];
    int64_t since_ns; /* it runs without a break since then; -1: it does not */
    int64_t fed_ns;   /* no slice is due before that */
    int64_t most_rows;
    int64_t gone_ns;
};

static struct seen_job jobs[JOBS];
static size_t job_count;
static gang_node_id node_id[NODES];
static int64_t grace, most_rows;
static bool share_gpus, with_cores;
static int64_t refuse_one_in; /* 0: never */
static bool unsteady;         /* it is busy, or does not know a gang, now and then */
static int64_t kill_wait_ns;
static int busy_answers, unknown_answers, kills_confirmed;

static struct seen_job *job_of(gang_job_id id)
{
    for (size_t i = 0; i < job_count; i++)
        if (jobs[i].id == id)
            return &jobs[i];
    ck_abort_msg("job %" PRIu64 " is not known", id);
    return NULL;
}

static uint32_t index_of_node(gang_node_id id)
{
    for (uint32_t i = 0; i < NODES; i++)
        if (node_id[i] == id)
            return i;
    ck_abort_msg("no such node");
    return 0;
}

/* All running gangs together: no node is over-committed, and no core or device is used twice. */
static void check_what_runs(void)
{
    int64_t cpu[NODES] = {0};
    uint64_t cores[NODES] = {0}, gpus[NODES] = {0};
    for (size_t i = 0; i < job_count; i++)
        for (size_t k = 0; k < jobs[i].tasks; k++) {
            const struct seen_task *t = &jobs[i].task[k];
            if (!t->on)
                continue;
            cpu[t->node] += t->cpu;
            ck_assert_msg(!(cores[t->node] & t->cores), "two run on a core of node %u", t->node);
            ck_assert_msg(!(gpus[t->node] & t->gpus), "two run on a GPU of node %u", t->node);
            cores[t->node] |= t->cores;
            gpus[t->node] |= t->gpus;
        }
    for (uint32_t n = 0; n < NODES; n++)
        ck_assert_msg(cpu[n] <= CORES * 1000, "%" PRId64 " millicores run on node %u", cpu[n], n);
}

static void stop_all(struct seen_job *j)
{
    for (size_t k = 0; k < j->tasks; k++)
        j->task[k].on = false;
    j->stops = false;
    if (j->since_ns >= 0 && h.now_ns - j->since_ns >= SLICE * SECOND)
        j->fed_ns = h.now_ns;
    j->since_ns = -1;
}

static void run_all(struct seen_job *j, gang_alloc_id alloc)
{
    const struct task_list *list = stage_tasks(&h.stage, alloc);
    ck_assert_uint_le(list->count, MOST_TASKS);
    for (size_t k = 0; k < j->tasks; k++)
        ck_assert_msg(!j->task[k].on, "what runs is started");
    j->tasks = list->count;
    for (size_t k = 0; k < list->count; k++) {
        const struct gang_task *t = &list->task[k];
        j->task[k] = (struct seen_task){
            t->task, index_of_node(t->node), t->cpu_milli, t->cores[0], t->gpus, true};
    }
    j->since_ns = h.now_ns;
    j->begun = true;
    j->stops = false; /* all that was to stop may have been lost */
    check_what_runs();
}

static void grow_by(struct seen_job *j, const struct host_event *e)
{
    const struct task_list *list = stage_tasks(&h.stage, e->alloc);
    for (size_t i = 0; i < e->task_count; i++)
        for (size_t k = 0; k < list->count; k++)
            if (list->task[k].task == e->tasks[i]) {
                const struct gang_task *t = &list->task[k];
                ck_assert_uint_lt(j->tasks, MOST_TASKS);
                j->task[j->tasks++] = (struct seen_task){
                    t->task, index_of_node(t->node), t->cpu_milli, t->cores[0], t->gpus, true};
            }
    if (j->since_ns < 0) /* all its tasks ended: it has restarted */
        j->since_ns = j->fed_ns = h.now_ns;
    check_what_runs();
}

static void drop_tasks(struct seen_job *j, const int64_t *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < j->tasks; k++)
            if (j->task[k].number == tasks[i])
                j->task[k--] = j->task[--j->tasks];
    if (j->tasks == 0) /* none of it runs, and none will report that it has stopped */
        j->since_ns = -1;
}

/* A busy host does nothing, and all wait for it. What it does not know does not run. */
static bool is_unsteady(struct host *host, struct seen_job *j, const struct host_event *e)
{
    bool kills = strcmp(e->op, "kill") == 0 && e->task_count == 0;
    bool busy = one_in(2);
    host->answer = 0;
    if (!unsteady || (strcmp(e->op, "suspend") != 0 && !kills) || (!busy && !one_in(8)))
        return false;
    host->refuse = e->op;
    host->answer = busy ? GANG_EBUSY : GANG_ENOENT;
    busy_answers += busy;
    unknown_answers += !busy;
    for (size_t i = 0; busy && i < job_count; i++)
        jobs[i].fed_ns += AGAIN * SECOND;
    if (!busy) {
        stop_all(j);
        j->tasks = 0;
        j->begun = false;
    }
    return true;
}

/* With confirmation it takes some time, for which all wait. */
static void be_killed(struct seen_job *j, const struct host_event *e)
{
    if (kill_wait_ns == 0) {
        stop_all(j);
    } else {
        j->stops = true;
        j->gone_ns = h.now_ns + 1 + below(grace);
        kills_confirmed++;
        for (size_t i = 0; i < job_count; i++)
            jobs[i].fed_ns += grace + 1;
    }
    if (e->reason != GANG_REASON_SLICE)
        j->tasks = 0, j->begun = false;
}

/* One is refused now and then: nothing of it happened then. */
static void listen(struct host *host, const struct host_event *e)
{
    struct seen_job *j = job_of(e->job);
    bool refusable = strcmp(e->op, "start") == 0 || strcmp(e->op, "resume") == 0 ||
                     strcmp(e->op, "suspend") == 0 || strcmp(e->op, "grow") == 0;
    host->refuse = NULL;
    if (is_unsteady(host, j, e))
        return;
    if (refusable && refuse_one_in && one_in(refuse_one_in)) {
        host->refuse = e->op;
        j->fed_ns = h.now_ns + grace; /* its own fault */
        return;
    }
    if (strcmp(e->op, "start") == 0 || strcmp(e->op, "resume") == 0) {
        ck_assert_msg((strcmp(e->op, "resume") == 0) == j->begun && j->since_ns < 0,
                      "op %s of job %" PRIu64 ", which %s, with %zu tasks", e->op, e->job,
                      j->begun ? "has begun" : "has not begun", j->tasks);
        run_all(j, e->alloc);
    } else if (strcmp(e->op, "grow") == 0) {
        ck_assert_msg(j->begun && !j->stops, "job %" PRIu64 " grows while it is to stop", e->job);
        grow_by(j, e);
    } else if (strcmp(e->op, "suspend") == 0) {
        ck_assert_int_ge(j->since_ns, 0);
        ck_assert_int_eq(e->reason, GANG_REASON_SLICE);
        j->stops = true;
        j->gone_ns = grace ? h.now_ns + 1 + below(2 * grace) : h.now_ns;
        if (grace == 0)
            stop_all(j);
    } else if (strcmp(e->op, "kill") == 0 && e->task_count == 0) {
        be_killed(j, e);
    } else if (strcmp(e->op, "preempt") == 0) { /* refused, or a victim: it is gone at once */
        stop_all(j);
        j->tasks = 0;
        j->begun = false;
        j->fed_ns = h.now_ns; /* if it moved to another row, it waits for that */
    } else if (strcmp(e->op, "shrink") == 0) {
        drop_tasks(j, e->tasks, e->task_count < 16 ? e->task_count : 16);
    } else if (strcmp(e->op, "state") == 0 && e->state == GANG_JOB_ENDED) {
        stop_all(j);
        j->id = GANG_ID_NONE;
    } else if (strcmp(e->op, "state") == 0 && e->state == GANG_JOB_PENDING) {
        stop_all(j);
        j->tasks = 0;
        j->begun = false;
        j->fed_ns = h.now_ns;
    }
}

/* ---- what is checked at each moment ---------------------------------------------------------- */

/* A whole slice in each round: the slices of the most rows there were plus its own, each with its
 * grace. */
static void check_round(struct seen_job *j, const struct gang_job_info *info, int64_t rows)
{
    int64_t turn = SLICE * SECOND + 2 * grace;
    bool fed = !j->inside || info->slice_row == 0 || info->tasks == 0 ||
               (j->since_ns >= 0 && h.now_ns - j->since_ns >= SLICE * SECOND);
    j->inside = info->slice_row > 0;
    if (fed) {
        j->fed_ns = h.now_ns;
        j->most_rows = 0;
    }
    j->most_rows = rows > j->most_rows ? rows : j->most_rows;
    ck_assert_msg(h.now_ns - j->fed_ns <= (j->most_rows + 1) * turn,
                  "job %" PRIu64 " in row %d of %" PRId64 " had no whole slice for %" PRId64 " s",
                  j->id, info->slice_row, rows, (h.now_ns - j->fed_ns) / SECOND);
}

static int64_t count_rows(void)
{
    int64_t rows = 0;
    for (size_t i = 0; i < job_count; i++)
        if (jobs[i].id != GANG_ID_NONE) {
            int64_t row = host_job_info(&h, jobs[i].id).slice_row;
            rows = row > rows ? row : rows;
        }
    return rows;
}

static void check_all(void)
{
    int64_t rows = count_rows();
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_cluster_check(h.stage.c, &error);
    ck_assert_msg(r == GANG_OK, "%s", error.text);
    check_what_runs();
    for (size_t i = 0; i < job_count; i++) {
        struct seen_job *j = &jobs[i];
        size_t on = 0;
        if (j->id == GANG_ID_NONE)
            continue;
        struct gang_job_info info = host_job_info(&h, j->id);
        for (size_t k = 0; k < j->tasks; k++)
            on += j->task[k].on;
        ck_assert_msg(on == 0 || on == j->tasks, "job %" PRIu64 " runs in part", j->id);
        ck_assert_int_eq(on > 0, info.state == GANG_JOB_RUNNING && info.tasks > 0);
        if (j->sliced)
            check_round(j, &info, rows);
    }
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void submit_some(void)
{
    struct gang_group_spec two[2], *const g = &two[0];
    g[0] = group_of(1 + below(MOST_TASKS), (1 + below(CORES)) * 1000, 0);
    struct gang_job_spec job = host_job(two, 1);
    struct seen_job *j = &jobs[job_count];
    bool plain = one_in(6);
    g->memory_bytes = (1 + below(20)) * GIB;
    if (one_in(3))
        g->gpu_milli = (1 + below(2)) * 1000;
    if (one_in(4))
        g->min = 1 + below(g->count);
    if (one_in(4)) { /* what it starts with is known when it has been placed */
        g->min = 0;
        g->count = 1 + below(MOST_TASKS / 2);
        two[1] = *g;
        two[1].cpu_milli = (1 + below(CORES)) * 1000;
        job.request.group_count = 2;
        job.request.min = 1 + below(2 * g->count);
    }
    job.queue = plain ? "plain" : one_in(2) ? "a" : "b";
    job.loss = one_in(2) ? GANG_LOSS_COUNT : GANG_LOSS_RESTART;
    job.max_restarts = 3;
    job.priority = below(3);
    job.time_limit_ns = one_in(3) ? (1 + below(60)) * SECOND : 0;
    job.request.exclusive = one_in(12);
    memset(j, 0, sizeof(*j));
    gang_result r = gang_job_submit(h.s, &job, &j->id, NULL);
    if (r == GANG_ENEVER)
        return;
    ck_assert_int_eq(r, GANG_OK);
    j->sliced = !plain;
    j->since_ns = -1;
    j->fed_ns = h.now_ns;
    job_count++;
}

static void report_stopped(void)
{
    for (size_t i = 0; i < job_count; i++) {
        struct seen_job *j = &jobs[i];
        if (j->id == GANG_ID_NONE || !j->stops || j->gone_ns > h.now_ns)
            continue;
        stop_all(j);
        host_report_all(&h, j->id, 0, GANG_TASK_STOPPED);
    }
}

static struct seen_job *some_job(void)
{
    struct seen_job *j = &jobs[below((int64_t)job_count)];
    return j->id == GANG_ID_NONE ? NULL : j;
}

static void end_some(void)
{
    struct seen_job *j = some_job();
    if (!j)
        return;
    if (one_in(5)) {
        MUST(gang_job_cancel(h.s, j->id));
    } else if (one_in(4)) {
        MUST(gang_job_set_target(h.s, j->id, 1 + below(MOST_TASKS)));
    } else if (j->begun && !j->stops && one_in(3) && j->tasks > 0) {
        int64_t task = j->task[0].number;
        host_report(&h, j->id, task, one_in(2) ? GANG_TASK_SUCCEEDED : GANG_TASK_FAILED);
        drop_tasks(j, &task, 1);
    } else if (j->begun && !j->stops) {
        stop_all(j);
        j->tasks = 0;
        MUST(gang_report_end(h.s, j->id, !one_in(4)));
    }
}

/* What ran there does not any more, whatever becomes of its job. */
static void lose_node(uint32_t n)
{
    for (size_t i = 0; i < job_count; i++)
        for (size_t k = 0; k < jobs[i].tasks; k++)
            if (jobs[i].task[k].node == n)
                jobs[i].task[k--] = jobs[i].task[--jobs[i].tasks];
    for (size_t i = 0; i < job_count; i++)
        if (jobs[i].tasks == 0)
            jobs[i].since_ns = -1;
    MUST(gang_report_node_lost(h.s, node_id[n]));
}

static void change_nodes(void)
{
    uint32_t n = (uint32_t)below(NODES);
    switch (below(4)) {
    case 0:
        lose_node(n);
        break;
    case 1:
        MUST(gang_node_set_state(h.stage.w, node_id[n], GANG_NODE_DRAINING));
        break;
    default:
        for (n = 0; n < NODES; n++)
            MUST(gang_node_set_state(h.stage.w, node_id[n], GANG_NODE_UP));
    }
}

/* ---- a world --------------------------------------------------------------------------------- */

static void set_queues(bool slices)
{
    struct gang_queue_spec q[4] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT,
                                   GANG_QUEUE_SPEC_INIT};
    const struct gang_quota third[] = {{"cpu", NODES * CORES * 1000 / 3, NULL, 0, 0}};
    q[0].name = "top";
    q[0].quantum_ns = slices ? SLICE * SECOND : 0;
    q[0].quantum_gpus = slices && share_gpus;
    q[0].quantum_rows = slices ? most_rows : 0;
    q[0].grace_ns = grace;
    q[1].name = "a";
    q[2].name = "b";
    q[1].parent = q[2].parent = "top";
    q[3].name = "plain";
    q[3].guaranteed = third;
    q[3].guaranteed_count = 1;
    host_queues(&h, q, 4);
}

static void open_world(void)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    memset(&h, 0, sizeof(h));
    stage_open(&h.stage, NULL, 0);
    for (size_t i = 0; i < NODES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "n%zu", i);
        struct box box = {.name = name,
                          .cpu = CORES * 1000,
                          .memory = 64 * GIB,
                          .gpus = GPUS,
                          .numas = with_cores ? 2 : 0,
                          .cores = with_cores ? CORES : 0};
        node_id[i] = stage_add(&h.stage, &box);
    }
    opts.mem = &h.stage.mem.mem;
    opts.refused_ns = SECOND;
    opts.stop_again_ns = AGAIN * SECOND;
    opts.kill_wait_ns = kill_wait_ns;
    MUST(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, NULL));
    set_queues(true);
    h.during = listen;
    memset(jobs, 0, sizeof(jobs));
    job_count = 0;
}

/* Some runs are cut short, and gone on with. */
static void run_world(int64_t ns)
{
    struct gang_run_opts opts = GANG_RUN_OPTS_INIT;
    h.count = 0;
    h.now_ns += ns;
    if (one_in(4)) {
        opts.max_steps = 1 + below(20);
        MUST(gang_sched_run(h.s, h.now_ns, &opts, NULL));
        host_check(&h);
    }
    host_run(&h, 0);
    check_all();
}

/* Moves to the next moment at which something is due or a gang has stopped, at most to `most`. */
static void pass_time(int64_t most)
{
    int64_t next = gang_sched_next(h.s), to = h.now_ns + most;
    if (next < to)
        to = next > h.now_ns ? next : h.now_ns;
    for (size_t i = 0; i < job_count; i++)
        if (jobs[i].id && jobs[i].stops && jobs[i].gone_ns < to)
            to = jobs[i].gone_ns > h.now_ns ? jobs[i].gone_ns : h.now_ns;
    int64_t ns = to - h.now_ns;
    h.now_ns = to;
    report_stopped();
    h.now_ns -= ns;
    run_world(ns);
}

static void live(int steps)
{
    for (int step = 0; step < steps; step++) {
        if (job_count < JOBS && one_in(3))
            submit_some();
        if (job_count > 0 && one_in(4))
            end_some();
        if (one_in(40))
            change_nodes();
        if (one_in(80))
            set_queues(one_in(2));
        run_world(0);
        pass_time(below(15) * SECOND);
    }
}

static void end_world(void)
{
    refuse_one_in = 0;
    unsteady = false;
    for (size_t i = 0; i < job_count; i++)
        if (jobs[i].id)
            MUST(gang_job_cancel(h.s, jobs[i].id));
    for (int i = 0; i < 9 && gang_job_next(h.s, GANG_ID_NONE); i++)
        run_world(grace + 1);
    ck_assert_uint_eq(gang_job_next(h.s, GANG_ID_NONE), GANG_ID_NONE);
    ck_assert_uint_eq(gang_alloc_next(h.stage.c, GANG_ID_NONE), GANG_ID_NONE); /* nothing is left */
    host_close(&h);
}

START_TEST(each_gang_runs_whole_once_a_round)
{
    chance_state = test_seed() + (uint64_t)_i;
    for (int world = 0; world < 12; world++) {
        grace = _i & 1 ? 3 * SECOND : 0;
        share_gpus = one_in(2);
        with_cores = one_in(2);
        refuse_one_in = _i & 2 ? 15 : 0;
        unsteady = _i & 4;
        kill_wait_ns = unsteady && one_in(2) ? -1 : 0;
        most_rows = below(5);
        open_world();
        live(250);
        end_world();
    }
    ck_assert(!unsteady || (busy_answers > 100 && unknown_answers > 10));
    ck_assert(!unsteady || grace == 0 || kills_confirmed > 10);
}
END_TEST

/* ---- memory runs out ------------------------------------------------------------------------- */

static void run_again(void)
{
    long fail_at = h.stage.mem.fail_at;
    gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
    test_assert(r == GANG_OK || r == GANG_ENOMEM);
    if (r == GANG_ENOMEM) {
        ck_assert_int_le(gang_sched_next(h.s), h.now_ns + 1);
        h.stage.mem.fail_at = 0;
    } else {
        h.stage.mem.fail_at = 0; /* the audits allocate, too */
    }
    long calls = h.stage.mem.calls;
    host_check(&h);
    MUST(gang_cluster_check(h.stage.c, NULL));
    h.stage.mem.calls = calls;
    h.stage.mem.fail_at = r == GANG_OK ? fail_at : 0;
    for (int i = 0; r == GANG_ENOMEM && i < 5; i++) {
        h.now_ns += gang_sched_next(h.s) == h.now_ns + 1;
        r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
    }
    ck_assert_int_eq(r, GANG_OK);
}

static gang_job_id submit_again(const struct gang_job_spec *job)
{
    gang_job_id id;
    if (gang_job_submit(h.s, job, &id, NULL) != GANG_OK) {
        h.stage.mem.fail_at = 0;
        MUST(gang_job_submit(h.s, job, &id, NULL));
    }
    return id;
}

static void cancel_again(gang_job_id id)
{
    if (gang_job_cancel(h.s, id) != GANG_OK) {
        h.stage.mem.fail_at = 0;
        MUST(gang_job_cancel(h.s, id));
    }
}

/* Three rows of gangs, and a job of another queue that reclaims one of them; all run for a
 * while. */
static void live_short(void)
{
    static const int64_t tasks[] = {6, 4, 2, 6, 3};
    gang_job_id id[5];
    for (int i = 0; i < 5; i++) {
        struct gang_group_spec g = group_of(tasks[i], CORES * 1000, 0);
        struct gang_job_spec job = host_job(&g, 1);
        g.memory_bytes = GIB;
        g.min = i == 4 ? 1 : tasks[i];
        job.queue = i & 1 ? "a" : "b";
        id[i] = submit_again(&job);
    }
    run_again();
    for (int i = 0; i < 6; i++) {
        int64_t next = gang_sched_next(h.s);
        ck_assert_int_lt(next, INT64_MAX);
        h.now_ns = next > h.now_ns ? next : h.now_ns;
        run_again();
    }
    struct gang_group_spec g = group_of(1, CORES * 1000, 0);
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "plain";
    gang_job_id plain = submit_again(&job);
    run_again();
    for (int i = 0; i < 5; i++)
        cancel_again(id[i]);
    cancel_again(plain);
    run_again();
}

START_TEST(slicing_survives_each_failed_memory_allocation)
{
    long calls = 1000;
    grace = most_rows = 0;
    for (long n = 1; n < calls; n++) {
        open_world();
        h.during = NULL;
        long before = h.stage.mem.calls;
        h.stage.mem.fail_at = before + n;
        live_short();
        calls = h.stage.mem.calls - before;
        h.stage.mem.fail_at = 0;
        for (int i = 0; i < 3 && gang_job_next(h.s, GANG_ID_NONE); i++)
            host_run(&h, 1); /* what could not be done is tried again */
        ck_assert_uint_eq(gang_job_next(h.s, GANG_ID_NONE), GANG_ID_NONE);
        ck_assert_uint_eq(gang_alloc_next(h.stage.c, GANG_ID_NONE), GANG_ID_NONE);
        host_close(&h);
    }
    ck_assert_int_gt(calls, 60);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slice_random");
    TCase *t = tcase_create("slice_random");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, each_gang_runs_whole_once_a_round, 0, 8);
    tcase_add_test(t, slicing_survives_each_failed_memory_allocation);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
