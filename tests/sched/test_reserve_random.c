/* SPDX-License-Identifier: Apache-2.0 */
/* Random reservations, jobs, ends and lost nodes. An accepted reservation is honoured: at every
 * instant from its begin to its end, its capacity is free or held by its members. Only lost nodes
 * may reduce it, and a callback announces that. */
#include "chance.h"
#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

enum { JOBS = 600, RESERVATIONS = 200, STEPS = 250, WORLDS = 40, FPGAS = 6 };

static struct {
    gang_reservation_id id;
    char name[16];
    int64_t gpus;  /* that it asks for; 0: whole nodes, */
    int64_t nodes; /* so many */
    int64_t fpgas; /* of a kind of the site */
    bool
        /* its nodes may be used by others: changed while it was on, FLEX, accepted in spite of
         * jobs */
        spared;
} made[RESERVATIONS];
static size_t made_count, honoured, whole, members, rows, with_fpgas;

static gang_job_id job[JOBS];
static int64_t fpgas_of[JOBS]; /* a task of the job takes so many */
static size_t job_count, node_count;
static gang_node_id node[8];
static bool down[8];

/* ---- the world ------------------------------------------------------------------------------- */

/* Nodes of four GPUs and some FPGAs. */
static void open_cluster(void)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    const struct gang_amount some = {"fpga", FPGAS};
    memset(&h, 0, sizeof(h));
    stage_open(&h.stage, NULL, 0);
    MUST(gang_kind_add(h.stage.w, "fpga", NULL, GANG_SCOPE_NODE, 0, NULL));
    for (size_t i = 0; i < node_count; i++) {
        char text[32];
        snprintf(text, sizeof(text), "n%zu", i);
        struct box box = {.name = text, .cpu = 8000, .memory = 64 * GIB, .gpus = 4};
        box.amounts = &some;
        box.amount_count = 1;
        stage_add(&h.stage, &box);
    }
    opts.mem = &h.stage.mem.mem;
    MUST(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, NULL));
}

static void open_world(void)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    static const char *const name[] = {"a", "b"};
    node_count = (size_t)(2 + below(6));
    open_cluster();
    for (int i = 0; i < 2; i++) {
        q[i].name = name[i];
        q[i].backfill = (int32_t)below(4);
        q[i].within = one_in(2) ? GANG_PREEMPT_LOWER : GANG_PREEMPT_NEVER;
        q[i].reclaim = one_in(2) ? GANG_PREEMPT_ANY : GANG_PREEMPT_NEVER;
        q[i].grace_ns = below(4) * SECOND;
        q[i].overrun = (int32_t)below(4);
        q[i].extend_ns = (1 + below(9)) * SECOND;
        q[i].preempt_mode = one_in(4) ? GANG_PREEMPT_MODE_SUSPEND : GANG_PREEMPT_MODE_REQUEUE;
    }
    if (one_in(2)) { /* gangs of it share nodes in time */
        q[1].backfill = GANG_BACKFILL_NONE;
        q[1].preempt_mode = GANG_PREEMPT_MODE_REQUEUE;
        q[1].quantum_ns = (1 + below(9)) * SECOND;
        q[1].quantum_rows = below(5);
        q[1].quantum_gpus = 1;
    }
    host_queues(&h, q, 2);
    for (size_t i = 0; i < node_count; i++) {
        char text[16];
        snprintf(text, sizeof(text), "n%zu", i);
        MUST(gang_node_find(h.stage.c, text, &node[i]));
        down[i] = false;
    }
    h.lingers = one_in(2);
    made_count = job_count = 0;
    host_run(&h, 0);
}

static size_t find(gang_reservation_id id)
{
    size_t i = 0;
    while (i < made_count && made[i].id != id)
        i++;
    return i;
}

/* ---- what may happen ------------------------------------------------------------------------- */

static void submit(void)
{
    if (job_count == JOBS)
        return;
    int64_t tasks = 1 + below(one_in(3) ? 4 * (int64_t)node_count : 4);
    struct gang_job_spec *spec =
        host_spec(one_in(2) ? "a" : "b", tasks, one_in(4) ? 1 : tasks, below(3));
    gang_job_id id;
    struct gang_amount amount = {"fpga", 1 + below(4)};
    bool asks = one_in(3);
    if (asks) {
        struct gang_group_spec *g = (struct gang_group_spec *)(uintptr_t)spec->request.groups;
        g->amounts = &amount;
        g->amount_count = 1;
        g->gpu_milli = one_in(2) ? 1000 : 0;
    }
    spec->time_limit_ns = one_in(8) ? 0 : (1 + below(40)) * SECOND;
    if (one_in(4) && tasks > 1)
        spec->loss = GANG_LOSS_RESTART;
    if (made_count > 0 && one_in(2))
        spec->reservation = made[below((int64_t)made_count)].name;
    gang_result r = gang_job_submit(h.s, spec, &id, NULL);
    if (r == GANG_ENOENT || r == GANG_EPERM || r == GANG_ENEVER)
        return;
    ck_assert_int_eq(r, GANG_OK);
    fpgas_of[job_count] = asks ? amount.amount : 0;
    job[job_count++] = id;
}

static struct gang_reservation_stage stage;
static struct gang_group_spec group;
static struct gang_amount each; /* of its tasks */

static struct gang_reservation_spec draw(void)
{
    struct gang_reservation_spec spec = GANG_RESERVATION_SPEC_INIT;
    group = (struct gang_group_spec)GANG_GROUP_SPEC_INIT;
    stage = (struct gang_reservation_stage)GANG_RESERVATION_STAGE_INIT;
    group.count = 1 + below((int64_t)node_count);
    group.max_per_node = 1;
    stage.exclusive = 1;
    if (one_in(2)) {
        int64_t gang = 1 + below(4);
        group = host_gpus(gang * (1 + below(3)), 1);
        stage.gang_size = one_in(2) ? gang : 0;
        stage.exclusive = 0;
        each = (struct gang_amount){"fpga", 1 + below(4)};
        if (one_in(2)) {
            group.amounts = &each;
            group.amount_count = 1;
            group.gpu_milli = one_in(2) ? 1000 : 0;
        }
    }
    stage.groups = &group;
    stage.group_count = 1;
    spec.stages = &stage;
    spec.stage_count = 1;
    spec.duration_ns = (1 + below(40)) * SECOND;
    spec.arrival_ns = h.now_ns + below(50) * SECOND;
    if (one_in(3))
        spec.start_ns = spec.arrival_ns;
    spec.objective = one_in(4) ? GANG_OBJECTIVE_CHEAPEST : one_in(4) ? GANG_OBJECTIVE_LATEST : 0;
    if (spec.objective || one_in(3))
        spec.deadline_ns = spec.arrival_ns + spec.duration_ns * (1 + below(4));
    if (one_in(5)) {
        spec.period_ns = spec.duration_ns * (1 + below(3));
        spec.repetitions = 1 + below(12);
    }
    if (one_in(3))
        spec.flags = 1 << below(5);
    if (one_in(4))
        spec.purge_ns = (1 + below(20)) * SECOND;
    if (one_in(4))
        spec.notice_ns = (1 + below(20)) * SECOND;
    return spec;
}

static void note(size_t at, const struct gang_reservation_spec *spec)
{
    bool together = !stage.exclusive && !stage.gang_size;
    made[at].gpus = together && group.gpu_milli ? group.count : 0;
    made[at].fpgas = together && group.amount_count ? group.count * each.amount : 0;
    made[at].nodes = stage.exclusive ? group.count : 0;
    made[at].spared = spec->flags & (GANG_RESERVATION_FLEX | GANG_RESERVATION_IGNORE_JOBS |
                                     GANG_RESERVATION_OVERLAP);
    if (spec->flags & (GANG_RESERVATION_OVERLAP | GANG_RESERVATION_IGNORE_JOBS)) /* they share */
        for (size_t i = 0; i < made_count; i++)
            made[i].spared = true;
}

static void reserve(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_reservation_id id;
    int64_t when;
    if (made_count == RESERVATIONS)
        return;
    struct gang_reservation_spec spec = draw();
    snprintf(made[made_count].name, sizeof(made[0].name), "r%zu", made_count);
    spec.name = made[made_count].name;
    gang_result r = gang_reservation_add(h.s, &spec, &id, &when, &error);
    host_check(&h);
    if (r != GANG_OK) {
        ck_assert_msg(r == GANG_ENOFIT || r == GANG_ENEVER || r == GANG_EINVAL, "%s: %s: %s",
                      gang_result_name(r), error.path, error.text);
        return;
    }
    ck_assert_int_ge(when, h.now_ns);
    made[made_count].id = id;
    note(made_count, &spec);
    made_count++;
}

/* Jobs that run inside. A flexible reservation has none. */
static int64_t count_inside(gang_reservation_id id)
{
    struct gang_reservation_info info = {.size = sizeof(info)};
    MUST(gang_reservation_get(h.s, id, &info));
    return info.flags & GANG_RESERVATION_FLEX ? 0 : info.running;
}

static void change(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    if (made_count == 0)
        return;
    size_t at = index_below(made_count);
    struct gang_reservation_info info = {.size = sizeof(info)};
    if (gang_reservation_get(h.s, made[at].id, &info) != GANG_OK)
        return;
    struct gang_reservation_spec spec = draw();
    spec.name = made[at].name;
    int64_t before = count_inside(made[at].id);
    bool cancel = one_in(3);
    gang_result r = cancel ? gang_reservation_cancel(h.s, made[at].id)
                           : gang_reservation_change(h.s, made[at].id, &spec, NULL, &error);
    host_check(&h);
    if (r != GANG_OK)
        return;
    note(at, &spec);
    made[at].spared = made[at].spared || info.state == GANG_RESERVATION_ACTIVE;
    if (!cancel &&
        count_inside(made[at].id) < before) /* members left outside are in the way of all there */
        for (size_t i = 0; i < made_count; i++)
            made[i].spared = true;
}

static void end_job(void)
{
    if (job_count > 0)
        MUST(gang_report_end(h.s, job[below((int64_t)job_count)], one_in(2)));
}

static void change_node(void)
{
    size_t at = index_below(node_count);
    if (!down[at])
        MUST(gang_report_node_lost(h.s, node[at]));
    else
        MUST(gang_node_set_state(h.stage.w, node[at], GANG_NODE_UP));
    down[at] = !down[at];
}

/* Stopping jobs stop, sooner or later. */
static void stop_some(void)
{
    for (size_t i = 0; i < job_count; i++)
        if (host_has(&h, job[i]) && host_job_state(&h, job[i]) == GANG_JOB_STOPPING && one_in(2))
            MUST(gang_report_tasks(h.s, job[i], 0, GANG_ID_NONE, NULL, 0, GANG_TASK_STOPPED));
}

/* ---- what must hold -------------------------------------------------------------------------- */

struct piece {
    gang_reservation_id id;
    const gang_node_id *nodes;
    size_t count;
    int64_t gpus, fpgas; /* free on them, or members' */
    int64_t a_task;      /* FPGAs, of the member that is looked at */
    bool broken;
};

static bool has_node(const struct piece *p, gang_node_id id)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->nodes[i] == id)
            return true;
    return false;
}

static int32_t count_gpus(const struct gang_task *task, void *user)
{
    struct piece *p = user;
    if (has_node(p, task->node))
        p->gpus += task->gpu_count * task->gpu_share;
    if (has_node(p, task->node))
        p->fpgas += p->a_task;
    return 0;
}

static int32_t check_holder(const struct gang_plan_item *item, void *user)
{
    struct piece *p = user;
    bool there = false;
    if (item->what != GANG_PLAN_RUNNING)
        return 0;
    for (size_t i = 0; i < item->node_count; i++)
        there = there || has_node(p, item->nodes[i]);
    if (!there)
        return 0;
    if (item->reservation == p->id) {
        members++;
        for (size_t i = 0; i < job_count; i++)
            p->a_task = job[i] == item->id ? fpgas_of[i] : p->a_task;
        gang_alloc_id held = gang_job_alloc(h.s, item->id, item->gang);
        MUST(gang_alloc_each(h.stage.c, held, count_gpus, p));
    } else {
        p->broken = true;
    }
    return 0;
}

static bool was_reported(gang_reservation_id id)
{
    for (size_t i = 0; i < h.reserve_count; i++)
        if (h.reserve[i].id == id && h.reserve[i].what == GANG_RESERVATION_LOST)
            return true;
    return h.reserve_count >= sizeof(h.reserve) / sizeof(h.reserve[0]);
}

struct sum {
    int64_t first, fpgas; /* nodes or GPUs; FPGAs */
};

/* Is the capacity of this piece free or its members'? A member that lost a node with it runs
 * outside. */
static int32_t check_piece(const struct gang_plan_item *item, void *user)
{
    struct piece p = {.id = item->id, .nodes = item->nodes, .count = item->node_count};
    const size_t at = find(item->id);
    struct sum *sum = user;
    if (item->start_ns > h.now_ns || item->end_ns <= h.now_ns || made[at].spared)
        return 0;
    for (size_t i = 0; i < item->node_count; i++) {
        struct gang_node_info info = {.size = sizeof(info)};
        MUST(gang_node_get(h.stage.c, item->nodes[i], &info));
        for (size_t k = 0; k < 4 && info.state == GANG_NODE_UP; k++)
            p.gpus += info.gpu_share_free[k];
        p.fpgas += info.state == GANG_NODE_UP ? info.amount_free[GANG_KIND_SITE] : 0;
    }
    MUST(gang_plan_each(h.s, check_holder, &p));
    honoured++;
    if (made[at].nodes > 0 && !was_reported(item->id))
        ck_assert_msg(!p.broken, "a job is in the way of %s at %" PRId64, made[at].name,
                      h.now_ns / SECOND);
    sum->first += made[at].nodes > 0 ? (int64_t)item->node_count : p.gpus;
    sum->fpgas += p.fpgas;
    return 0;
}

/* Has an active reservation lost something? Its members there are outside now. While they run or
 * stop, they may take nodes of another reservation when members of the first start in its rest. */
static bool some_lost(void)
{
    for (size_t i = 0; i < made_count; i++) {
        struct gang_reservation_info info = {.size = sizeof(info)};
        if (was_reported(made[i].id) && gang_reservation_get(h.s, made[i].id, &info) == GANG_OK &&
            info.state == GANG_RESERVATION_ACTIVE)
            return true;
    }
    return false;
}

/* All of it, unless a callback announced a loss. */
static void check_all(void)
{
    bool lost = some_lost();
    for (size_t i = 0; i < made_count; i++) {
        struct gang_reservation_info info = {.size = sizeof(info)};
        struct sum sum = {0, 0};
        if (gang_reservation_get(h.s, made[i].id, &info) != GANG_OK)
            continue;
        MUST(gang_reservation_pieces(h.s, made[i].id, check_piece, &sum));
        if (info.state != GANG_RESERVATION_ACTIVE || made[i].spared || lost)
            continue;
        whole++;
        with_fpgas += made[i].fpgas > 0;
        ck_assert_int_ge(sum.first, made[i].nodes > 0 ? made[i].nodes : made[i].gpus * 1000);
        ck_assert_int_ge(sum.fpgas, made[i].fpgas);
    }
}

static void go(int64_t ns)
{
    host_run(&h, ns);
    check_all();
    for (size_t i = 0; i < job_count && made_count > 0; i++)
        rows += host_has(&h, job[i]) && host_job_info(&h, job[i]).slice_row > 1;
}

static void pass_time(void)
{
    int64_t until = h.now_ns + below(20) * SECOND;
    for (int i = 0; i < 1000; i++) {
        int64_t next = gang_sched_next(h.s);
        if (next > until)
            break;
        go(next > h.now_ns ? next - h.now_ns : 0);
    }
    if (until > h.now_ns)
        go(until - h.now_ns);
    ck_assert_int_gt(gang_sched_next(h.s), h.now_ns);
}

static void live(void)
{
    open_world();
    for (int step = 0; step < STEPS; step++) {
        switch (below(10)) {
        case 0:
        case 1:
        case 2:
            submit();
            break;
        case 3:
            reserve();
            break;
        case 4:
            end_job();
            break;
        case 5:
            if (one_in(3))
                change();
            break;
        case 6:
            if (one_in(4))
                change_node();
            break;
        case 7:
            stop_some();
            break;
        default:
            pass_time();
        }
        h.count = 0;
        go(0);
    }
    host_close(&h);
}

START_TEST(accepted_reservations_are_honoured)
{
    uint64_t seed = test_seed();
    for (int world = 0; world < WORLDS; world++) {
        chance_state = seed * 1000003u + (uint64_t)(_i * WORLDS + world);
        live();
    }
    ck_assert_uint_gt(honoured, 100);
    ck_assert_uint_gt(whole, 100);
    ck_assert_uint_gt(with_fpgas, 100);
    ck_assert_uint_gt(members, 10);
    ck_assert_uint_gt(rows, 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reserve random");
    TCase *t = tcase_create("reserve random");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, accepted_reservations_are_honoured, 0, 4);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
