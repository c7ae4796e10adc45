/* SPDX-License-Identifier: Apache-2.0 */
/* Random simulations: with failures, checkpoints, elastic gangs, preemption, policies. The same
 * input gives the same text, in one go or in pieces, and also when memory ran out on the way; the
 * sums agree with each other. */
#include "chance.h"
#include "sim/simulated.h"

enum { WORLDS = 60, JOBS = 60 };

static struct simulated s;
static uint64_t seed;
static bool is_quick; /* under valgrind and the sanitizers */

static void make_trace(void)
{
    int64_t at = 0;
    for (int i = 0; i < JOBS; i++) {
        char user[8];
        int64_t count = 1 + below(9), min = one_in(2) ? count : 1 + below(count);
        struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
        struct gang_trace_job j = GANG_TRACE_JOB_INIT;
        at += one_in(3) ? 0 : below(40);
        snprintf(user, sizeof(user), "u%d", (int)below(4));
        g.count = count;
        g.min = min;
        g.cpu_milli = 500 * below(3);
        g.gpu_milli = one_in(4) ? 500 : 1000;
        j.queue = one_in(3) ? "a" : "b";
        j.user = user;
        j.submit_ns = at * SECOND;
        j.run_ns = below(200) * SECOND;
        j.limit_ns = one_in(3) ? 0 : (1 + below(250)) * SECOND;
        j.priority = below(3);
        j.end = one_in(9) ? GANG_END_FAILED : GANG_END_SUCCESS;
        j.groups = &g;
        j.group_count = 1;
        MUST(gang_trace_add(s.trace, &j, NULL));
    }
}

/* By all that it sees: a fork sees it for the first time, and must come to the same. */
static int32_t by_hash(const struct gang_sim_view *v, double *score, void *user)
{
    (void)user;
    for (size_t i = 0; i < v->count; i++) {
        int64_t sum = v->submit_ns[i] + v->run_ns[i] + v->limit_ns[i] + v->left_ns[i] / SECOND +
                      v->gpu_milli[i] + v->cpu_milli[i] + v->tasks[i] + v->queue[i] + v->user[i] +
                      v->running[i];
        score[i] = (double)(((uint64_t)v->index[i] + (uint64_t)sum) * 2654435761u % 97) -
                   (double)v->served_ns[i] / 1e9;
    }
    return 0;
}

static int64_t seen; /* rows that were looked at */

/* Each row equals the single query of its job, and all jobs are there in order. */
static int32_t by_the_book(const struct gang_sim_view *v, double *score, void *user)
{
    size_t at = 0;
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    MUST(gang_sim_get_info(s.sim, &info));
    for (size_t i = 0; i < (size_t)info.jobs; i++) {
        struct gang_sim_job j = {.size = sizeof(j)};
        int64_t queue, of;
        MUST(gang_sim_get_job(s.sim, i, &j));
        if (at == v->count || v->index[at] != (int64_t)i) {
            ck_assert(j.id == GANG_ID_NONE || j.state == GANG_JOB_ENDED || j.starts > 0);
            continue;
        }
        MUST(gang_sim_job_column(s.sim, GANG_SIM_JOB_QUEUE, i, 1, &queue));
        MUST(gang_sim_job_column(s.sim, GANG_SIM_JOB_USER, i, 1, &of));
        ck_assert_int_eq(v->submit_ns[at], j.submit_ns);
        ck_assert_int_eq(v->limit_ns[at], j.limit_ns);
        ck_assert_int_eq(v->tasks[at], j.tasks);
        ck_assert_int_eq(v->queue[at], queue);
        ck_assert_int_eq(v->user[at], of);
        ck_assert_int_eq(v->served_ns[at], j.ran_ns);
        ck_assert_int_eq(v->running[at], j.state == GANG_JOB_RUNNING);
        ck_assert_int_ge(v->left_ns[at], 0);
        at++;
    }
    ck_assert_uint_eq(at, v->count);
    seen += (int64_t)at;
    return by_hash(v, score, user);
}

/* Jobs of three groups, that wait for each other in some way. */
static void submit_stages(void)
{
    struct gang_job_spec spec = GANG_JOB_SPEC_INIT;
    struct gang_group_spec g[3];
    struct gang_group_after after[3];
    int64_t run_ns[3];
    for (size_t i = 0; i < 3; i++) {
        const struct gang_group_spec none = GANG_GROUP_SPEC_INIT;
        g[i] = none;
        g[i].count = 1 + below(6);
        g[i].min = 1 + below(g[i].count);
        g[i].gpu_milli = one_in(4) ? 0 : 1000;
        g[i].cpu_milli = 1000;
        run_ns[i] = below(100) * SECOND;
        if (i > 0)
            after[i - 1] = (struct gang_group_after){(int32_t)i, (int32_t)below((int64_t)i),
                                                     (int32_t)below(3), 0};
    }
    after[2] = after[below(2)];
    spec.queue = one_in(2) ? "a" : "b";
    spec.request.groups = g;
    spec.request.group_count = 3;
    spec.group_after = after;
    spec.group_after_count = (size_t)(2 + below(2));
    spec.priority = below(3);
    spec.loss = (int32_t)below(5);
    spec.max_restarts = below(5);
    spec.time_limit_ns = one_in(2) ? 0 : (1 + below(300)) * SECOND;
    gang_result r = gang_sim_submit_groups(s.sim, &spec, run_ns, 3, NULL, NULL);
    ck_assert_msg(r == GANG_OK || r == GANG_ENEVER, "%s", gang_result_name(r));
}

static bool books; /* all worlds have a policy that looks closely */

/* The world of a seed, ready to run. */
static void make_world(uint64_t world)
{
    static const char *const names[] = {"a", "b"};
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota half = {.kind = "gpu", .fraction = GANG_WHOLE / 2};
    chance_state = world;
    sim_open(&s, 1 + (int)below(4), 4);
    make_trace();
    for (size_t i = 0; i < 2; i++) {
        q[i].name = names[i];
        q[i].grace_ns = below(20) * SECOND;
        q[i].backfill = i == 0 && one_in(2) ? GANG_BACKFILL_EASY : GANG_BACKFILL_NONE;
        if (one_in(2)) {
            q[i].guaranteed = &half;
            q[i].guaranteed_count = 1;
        }
    }
    if (one_in(3)) { /* its gangs share nodes in time */
        q[1].quantum_ns = (10 + below(50)) * SECOND;
        q[1].quantum_rows = below(4);
        q[1].quantum_gpus = (int32_t)below(2);
    }
    s.opts.queues = q;
    s.opts.queue_count = 2;
    s.opts.seed = chance();
    s.opts.know = (int32_t)below(3);
    s.opts.same_instant = (int32_t)below(2);
    s.opts.pass_ns = one_in(4) ? 30 * SECOND : 0;
    s.opts.tick_ns = one_in(4) ? 7 * SECOND : 0;
    s.opts.policy = one_in(3) ? (int32_t)below(5) : 0;
    s.opts.record = GANG_SIM_RECORD_ALLOCATIONS | GANG_SIM_RECORD_TIMELINE;
    s.opts.restart_ns = below(10) * SECOND;
    s.opts.stop_ns = one_in(2) ? below(15) * SECOND : 0;
    s.opts.checkpoint_ns = one_in(2) ? 0 : one_in(2) ? -1 : 20 * SECOND;
    s.opts.elastic = below(2 * GANG_WHOLE);
    s.opts.node_mtbf_ns = one_in(2) ? 2000 * SECOND : 0;
    s.opts.node_repair_ns = 100 * SECOND;
    s.opts.task_mtbf_ns = one_in(3) ? 1500 * SECOND : 0;
    s.opts.loss = one_in(2) ? GANG_LOSS_RESTART : (int32_t)below(5);
    s.opts.max_restarts = 1 + below(5);
    s.opts.recorded_ends = (int32_t)below(2);
    s.opts.preemptible = (int32_t)below(3) - 1;
    s.opts.linger_ns = one_in(3) ? SECOND : 0;
    if (one_in(4)) {
        s.ops.score = by_hash;
        s.ops.score_mode = (int32_t)below(2);
    }
    if (books) {
        s.ops.score = by_the_book;
        s.ops.score_mode = (int32_t)below(2);
    }
    sim_make(&s, NULL);
    for (int64_t stages = one_in(2) ? below(12) : 0; stages > 0; stages--)
        submit_stages();
}

static const int64_t horizon_s = 20000;

static void run_whole(void)
{
    sim_run(&s, horizon_s);
}

/* In pieces of time and of events. */
static void run_in_pieces(void)
{
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    for (int i = 0; info.now_ns < horizon_s * SECOND; i++) {
        struct gang_sim_bounds b = GANG_SIM_BOUNDS_INIT;
        struct text t = sim_text(s.sim); /* looking changes nothing */
        free(t.bytes);
        b.has_until = 1;
        b.until_ns =
            i < 200
                ? gang_sim_get_info(s.sim, &info) == GANG_OK ? info.now_ns + below(60) * SECOND : 0
                : horizon_s * SECOND;
        b.max_events = one_in(2) ? 1 + below(9) : 0;
        MUST(gang_sim_run(s.sim, &b, &info, NULL));
        stage_check(&s.stage);
    }
}

static void compare(const struct text *a, const struct text *b, const char *what, uint64_t world)
{
    if (a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0)
        return;
    size_t at = 0;
    while (at < a->length && at < b->length && a->bytes[at] == b->bytes[at])
        at++;
    ck_abort_msg("world %" PRIu64 ", %s: \"%.80s\" is \"%.80s\"", world, what,
                 a->bytes + (at > 40 ? at - 40 : 0), b->bytes + (at > 40 ? at - 40 : 0));
}

/* ---- sums ---- */

/* GPU-time by rows of allocations, and by the timeline, to the end of the run. */
static void check_sums(uint64_t world)
{
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    double rows = 0, line = 0;
    MUST(gang_sim_get_info(s.sim, &info));
    for (size_t i = 0; i < gang_sim_allocation_count(s.sim); i++) {
        struct gang_sim_allocation a = {.size = sizeof(a)};
        MUST(gang_sim_get_allocation(s.sim, i, &a));
        int64_t end = a.end_ns == GANG_TRACE_UNKNOWN ? info.now_ns : a.end_ns;
        ck_assert_int_ge(end, a.begin_ns);
        rows += (double)(end - a.begin_ns) / 1e9 * (double)a.gpu_milli;
    }
    for (size_t i = 0; i < gang_sim_sample_count(s.sim); i++) {
        struct gang_sim_sample a = {.size = sizeof(a)}, next = {.size = sizeof(next)};
        MUST(gang_sim_get_sample(s.sim, i, &a));
        if (gang_sim_get_sample(s.sim, i + 1, &next) != GANG_OK)
            next.at_ns = info.now_ns;
        line += (double)(next.at_ns - a.at_ns) / 1e9 * (double)a.gpu_milli;
    }
    ck_assert_msg(rows == line || (rows - line) / rows < 1e-9, "world %" PRIu64 ": %f and %f",
                  world, rows, line);
}

static void check_job(const struct gang_sim_job *j, uint64_t world)
{
    int64_t life = j->end_ns - j->submit_ns;
    if (j->state != GANG_JOB_ENDED || j->starts == 0)
        return;
    ck_assert_msg(j->ran_ns + j->wait_ns + j->suspended_ns <= life &&
                      j->ran_ns + j->wait_ns + j->suspended_ns + s.opts.pass_ns + s.opts.tick_ns >=
                          life,
                  "world %" PRIu64 ", job %zu: ran %" PRId64 ", waited %" PRId64 " of %" PRId64,
                  world, j->index, j->ran_ns, j->wait_ns, life);
    ck_assert_int_ge(j->start_ns, j->submit_ns);
    /* Of several gangs one may be lost whole, and the job succeed; what they lost adds up. */
    bool plain = j->index < gang_trace_count(s.trace) || j->failures + j->preemptions == 0;
    if (j->end == GANG_END_SUCCESS && plain) /* all its work was done, at full speed or slower */
        ck_assert_msg(j->ran_ns - j->lost_ns >= j->run_ns || s.opts.elastic < 0,
                      "world %" PRIu64 ", job %zu: %" PRId64 " of %" PRId64, world, j->index,
                      j->ran_ns - j->lost_ns, j->run_ns);
}

static void check_jobs(uint64_t world)
{
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    int64_t state[5] = {0, 0, 0, 0, 0};
    MUST(gang_sim_get_info(s.sim, &info));
    for (size_t i = 0; i < (size_t)info.jobs; i++) {
        struct gang_sim_job j = sim_get(&s, i);
        state[j.state]++;
        check_job(&j, world);
    }
    ck_assert_int_eq(state[GANG_JOB_PENDING], info.pending + info.to_come);
    ck_assert_int_eq(state[GANG_JOB_RUNNING] + state[GANG_JOB_STOPPING], info.running);
    ck_assert_int_eq(state[GANG_JOB_ENDED], info.ended);
    ck_assert_int_eq(info.to_come, 0);
}

START_TEST(the_same_input_gives_the_same_text)
{
    for (uint64_t w = seed; w < seed + (is_quick ? WORLDS / 10 : WORLDS); w++) {
        make_world(w);
        run_whole();
        struct text once = sim_text(s.sim);
        check_sums(w);
        check_jobs(w);
        sim_close(&s);
        make_world(w);
        run_whole();
        struct text again = sim_text(s.sim);
        compare(&once, &again, "again", w);
        sim_close(&s);
        make_world(w);
        run_in_pieces();
        struct text pieces = sim_text(s.sim);
        compare(&once, &pieces, "in pieces", w);
        sim_close(&s);
        free(once.bytes);
        free(again.bytes);
        free(pieces.bytes);
    }
}
END_TEST

/* ---- written away ---- */

/* Single queries of ended jobs are refused. */
static void check_stale(void)
{
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    int64_t stale = 0;
    MUST(gang_sim_get_info(s.sim, &info));
    for (size_t i = 0; i < (size_t)info.jobs; i++) {
        struct gang_sim_job j = {.size = sizeof(j)};
        stale += gang_sim_get_job(s.sim, i, &j) == GANG_ESTALE;
    }
    ck_assert_int_eq(stale, info.ended);
    struct text t = {NULL, 0, 0};
    ck_assert_int_eq(gang_sim_write(s.sim, GANG_SIM_JOBS_CSV, text_write, &t),
                     info.ended ? GANG_ESTALE : GANG_OK);
    free(t.bytes);
}

/* Tables that are written while the simulation runs, and the summary. */
struct streamed {
    struct text table[GANG_SIM_BATSIM_CSV + 1], summary;
};

static struct streamed run_streamed(bool pieces)
{
    struct streamed w;
    memset(&w, 0, sizeof(w));
    for (int32_t t = 0; t <= GANG_SIM_BATSIM_CSV; t++)
        MUST(gang_sim_stream(s.sim, t, text_write, &w.table[t]));
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    for (int64_t until = 0; pieces && info.ended < 40 && until < horizon_s; until += below(90))
        info = sim_run(&s, until);
    run_whole();
    for (int32_t t = 0; t <= GANG_SIM_BATSIM_CSV; t++)
        MUST(gang_sim_stream(s.sim, t, NULL, NULL));
    MUST(gang_sim_write_summary(s.sim, NULL, 1, text_write, &w.summary));
    return w;
}

static int by_line(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Its lines in the order of the alphabet. */
static void sort_lines(struct text *t)
{
    size_t count = 0;
    char **line = malloc((t->length + 1) * sizeof(*line)), *copy = malloc(t->length + 1);
    ck_assert(line && copy);
    memcpy(copy, t->bytes, t->length + 1);
    for (char *at = strtok(copy, "\n"); at; at = strtok(NULL, "\n"))
        line[count++] = at;
    qsort(line, count, sizeof(*line), by_line);
    t->length = 0;
    for (size_t i = 0; i < count; i++)
        t->length += (size_t)sprintf(t->bytes + t->length, "%s\n", line[i]);
    free(line);
    free(copy);
}

START_TEST(streamed_tables_equal_recorded_ones)
{
    for (uint64_t w = seed; w < seed + (is_quick ? WORLDS / 20 : WORLDS / 2); w++) {
        make_world(w);
        run_whole();
        struct text kept[GANG_SIM_BATSIM_CSV + 1], summary = {NULL, 0, 0};
        memset(kept, 0, sizeof(kept));
        for (int32_t t = 0; t <= GANG_SIM_BATSIM_CSV; t++)
            MUST(gang_sim_write(s.sim, t, text_write, &kept[t]));
        MUST(gang_sim_write_summary(s.sim, NULL, 1, text_write, &summary));
        sim_close(&s);
        make_world(w);
        struct streamed once = run_streamed(false);
        check_stale();
        sim_close(&s);
        make_world(w);
        struct streamed pieces = run_streamed(true);
        sim_close(&s);
        compare(&summary, &once.summary, "summary", w);
        for (int32_t t = 0; t <= GANG_SIM_BATSIM_CSV; t++) {
            compare(&once.table[t], &pieces.table[t], "streamed in pieces", w);
            sort_lines(&kept[t]);
            sort_lines(&once.table[t]);
            compare(&kept[t], &once.table[t], "streamed", w);
            free(kept[t].bytes);
            free(once.table[t].bytes);
            free(pieces.table[t].bytes);
        }
        free(summary.bytes);
        free(once.summary.bytes);
        free(pieces.summary.bytes);
    }
}
END_TEST

/* ---- forks ---- */

enum { CUTS = 6 };

struct cut {
    int64_t at_s;
    uint64_t chance; /* of what is done then */
};

static gang_job_id some_job(const gang_sim *sim)
{
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    struct gang_sim_job j = {.size = sizeof(j)};
    MUST(gang_sim_get_info(sim, &info));
    for (int i = 0; i < 20 && j.id == GANG_ID_NONE; i++) {
        MUST(gang_sim_get_job(sim, (size_t)below(info.jobs), &j));
        j.id = j.state == GANG_JOB_ENDED ? GANG_ID_NONE : j.id;
    }
    return j.id;
}

static void reserve(gang_sim *sim, int64_t at_s)
{
    struct gang_group_spec g = group_of(1 + below(2), 1000, 1000 * below(3));
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    struct gang_reservation_spec r = GANG_RESERVATION_SPEC_INIT;
    gang_reservation_id id;
    g.min = 0;
    stage.groups = &g;
    stage.group_count = 1;
    r.stages = &stage;
    r.stage_count = 1;
    r.arrival_ns = (at_s + below(50)) * SECOND;
    r.duration_ns = (1 + below(90)) * SECOND;
    r.period_ns = one_in(2) ? r.duration_ns * 2 : 0;
    r.repetitions = 3;
    (void)!gang_reservation_add(gang_sim_sched(sim), &r, &id, NULL, NULL);
}

static void submit_one(gang_sim *sim)
{
    struct gang_group_spec g = group_of(1 + below(6), 500, one_in(3) ? 500 : 1000);
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    char name[16], user[4] = "u0";
    snprintf(name, sizeof(name), "late%d", (int)below(1000));
    user[1] = (char)('0' + below(9));
    g.min = 1 + below(g.count);
    job.request = request_of(&g, 1);
    job.name = one_in(2) ? name : NULL;
    job.user = user;
    job.queue = one_in(2) ? "a" : "b";
    job.preemptible = (int32_t)below(2);
    job.priority = below(3);
    job.time_limit_ns = one_in(2) ? (1 + below(200)) * SECOND : 0;
    (void)!gang_sim_submit(sim, &job, below(150) * SECOND, NULL, NULL);
}

/* What a user does between two runs, the same each time. */
static void act(gang_sim *sim, const struct cut *cut)
{
    gang_sched *sched = gang_sim_sched(sim);
    chance_state = cut->chance;
    for (int64_t n = below(4); n > 0; n--) {
        int64_t what = below(9);
        gang_node_id node = gang_node_next(gang_sim_cluster(sim), GANG_ID_NONE);
        gang_job_id id = some_job(sim);
        if (what < 2)
            submit_one(sim);
        else if (what == 2)
            reserve(sim, cut->at_s);
        else if (what == 3)
            MUST(gang_sim_set_node_state(sim, (cut->at_s + below(20)) * SECOND, node,
                                         (int32_t)below(3)));
        else if (id == GANG_ID_NONE)
            continue;
        else if (what < 6)
            MUST(gang_job_requeue(sched, id));
        else if (what == 6)
            MUST(gang_job_set_target(sched, id, below(6)));
        else if (what == 7)
            MUST(gang_job_cancel(sched, id));
        else
            MUST(gang_job_set_time_limit(sched, id, (1 + below(300)) * SECOND));
    }
}

static void draw_cuts(struct cut cut[CUTS], uint64_t world)
{
    chance_state = world * 7919 + 13;
    for (int i = 0; i < CUTS; i++) {
        cut[i].at_s = (i ? cut[i - 1].at_s : 0) + below(300);
        cut[i].chance = chance();
    }
}

static void run_to(gang_sim *sim, int64_t until_s)
{
    struct gang_sim_bounds b = GANG_SIM_BOUNDS_INIT;
    b.has_until = 1;
    b.until_ns = until_s * SECOND;
    MUST(gang_sim_run(sim, &b, NULL, NULL));
}

/* From a cut on, or (half) from right after what is done then. */
static void run_from(gang_sim *sim, const struct cut *cut, int first, bool half)
{
    for (int i = first; i < CUTS; i++) {
        run_to(sim, cut[i].at_s);
        if (i > first || !half)
            act(sim, &cut[i]);
    }
    run_to(sim, horizon_s);
}

static gang_sim *fork_of(gang_sim *sim, uint64_t world)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *c;
    gang_sim *fork;
    gang_result r = gang_sim_fork(sim, &s.ops, NULL, &c, &fork, &error);
    ck_assert_msg(r == GANG_OK, "world %" PRIu64 ": %s: %s", world, gang_result_name(r),
                  error.text);
    ck_assert_ptr_eq(gang_sim_cluster(fork), c);
    return fork;
}

static void same_text(const gang_sim *sim, const struct text *as, const char *what, uint64_t world)
{
    struct text t = sim_text(sim);
    compare(as, &t, what, world);
    free(t.bytes);
}

/* With a fork at one of the cuts, before or after what is done then, and one of the fork. */
static void live_forked(const struct cut *cut, const struct text *once, uint64_t world)
{
    make_world(world);
    chance_state = world * 31 + 5;
    int at = (int)below(CUTS);
    bool half = one_in(2), fork_first = one_in(2), in_events = one_in(2);
    for (int i = 0; i < at; i++) {
        run_to(s.sim, cut[i].at_s);
        act(s.sim, &cut[i]);
    }
    if (in_events && !half) { /* at any instant, so that something is under way */
        struct gang_sim_bounds b = GANG_SIM_BOUNDS_INIT;
        b.has_until = 1;
        b.until_ns = cut[at].at_s * SECOND;
        b.max_events = 1 + (int64_t)(world % 40);
        MUST(gang_sim_run(s.sim, &b, NULL, NULL));
    } else {
        run_to(s.sim, cut[at].at_s);
    }
    if (half)
        act(s.sim, &cut[at]);
    gang_sim *fork = fork_of(s.sim, world), *third = fork_of(fork, world),
             *wild = fork_of(s.sim, world);
    struct text now = sim_text(s.sim);
    same_text(fork, &now, "the fork, at once", world);
    free(now.bytes);
    for (int i = 0; i < 8; i++)
        submit_one(wild); /* no other fork sees it */
    run_to(wild, horizon_s);
    run_from(fork_first ? fork : s.sim, cut, at, half);
    run_from(fork_first ? s.sim : fork, cut, at, half);
    same_text(s.sim, once, "forked", world);
    same_text(fork, once, "the fork", world);
    sim_end_fork(fork);
    if (one_in(2)) {
        gang_sim_free(s.sim); /* before its forks */
        gang_worker_free(s.stage.w);
        gang_cluster_free(s.stage.c);
        run_from(third, cut, at, half);
        same_text(third, once, "the fork of the fork", world);
        sim_end_fork(third);
        sim_end_fork(wild);
        gang_trace_free(s.trace);
        ck_assert_int_eq(s.stage.mem.live, 0);
    } else {
        sim_end_fork(wild);
        run_from(third, cut, at, half);
        same_text(third, once, "the fork of the fork", world);
        sim_end_fork(third);
        sim_close(&s);
    }
}

START_TEST(a_fork_continues_like_its_original)
{
    for (uint64_t w = seed; w < seed + (is_quick ? WORLDS / 10 : WORLDS); w++) {
        struct cut cut[CUTS];
        draw_cuts(cut, w);
        make_world(w);
        run_from(s.sim, cut, 0, false);
        struct text once = sim_text(s.sim);
        sim_close(&s);
        live_forked(cut, &once, w);
        free(once.bytes);
    }
}
END_TEST

/* Each allocation fails in turn; the original goes on unaffected. */
START_TEST(a_fork_without_memory_leaves_nothing)
{
    for (uint64_t w = seed; w < seed + (is_quick ? 1 : 2); w++) {
        struct cut cut[CUTS];
        gang_result r = GANG_ENOMEM;
        draw_cuts(cut, w);
        make_world(w);
        run_from(s.sim, cut, 0, false);
        struct text once = sim_text(s.sim);
        sim_close(&s);
        make_world(w);
        run_to(s.sim, cut[0].at_s);
        act(s.sim, &cut[0]);
        struct fail_mem *mem = &s.stage.mem;
        for (long n = 1; r != GANG_OK; n++) {
            long live = mem->live;
            gang_cluster *c = (gang_cluster *)mem;
            gang_sim *fork = (gang_sim *)mem;
            mem->calls = 0;
            mem->fail_at = n;
            r = gang_sim_fork(s.sim, &s.ops, NULL, &c, &fork, NULL);
            mem->fail_at = 0;
            ck_assert_msg(r == GANG_OK || (r == GANG_ENOMEM && !c && !fork),
                          "world %" PRIu64 ", allocation %ld: %s", w, n, gang_result_name(r));
            if (fork)
                sim_end_fork(fork);
            ck_assert_msg(mem->live == live, "world %" PRIu64 ", allocation %ld: %ld are lost", w,
                          n, mem->live - live);
        }
        run_from(s.sim, cut, 0, true);
        same_text(s.sim, &once, "the original", w);
        free(once.bytes);
        sim_close(&s);
    }
}
END_TEST

/* ---- memory ---- */

/* On and on, whenever memory was short. Returns the allocations of a run without. */
static long run_short(long fail_at, uint64_t world)
{
    struct gang_sim_bounds b = GANG_SIM_BOUNDS_INIT;
    struct fail_mem *mem = &s.stage.mem;
    b.has_until = 1;
    b.until_ns = horizon_s * SECOND;
    mem->calls = 0;
    mem->fail_at = fail_at;
    gang_result r = gang_sim_run(s.sim, &b, NULL, NULL);
    long calls = mem->calls;
    mem->fail_at = 0;
    ck_assert_msg(r == GANG_OK || r == GANG_ENOMEM, "world %" PRIu64 ": %s", world,
                  gang_result_name(r));
    for (int i = 0; r == GANG_ENOMEM && i < 9; i++)
        r = gang_sim_run(s.sim, &b, NULL, NULL);
    MUST(r);
    check_sums(world);
    check_jobs(world);
    return calls;
}

START_TEST(a_policy_sees_the_true_state)
{
    books = true;
    for (uint64_t w = seed; w < seed + (is_quick ? WORLDS / 20 : WORLDS / 2); w++) {
        make_world(w);
        run_in_pieces();
        sim_close(&s);
    }
    ck_assert_int_gt(seen, 1000);
    books = false;
}
END_TEST

START_TEST(a_run_continues_after_memory_was_short)
{
    for (uint64_t w = seed; w < seed + (is_quick ? 1 : 6); w++) {
        make_world(w);
        long calls = run_short(0, w);
        sim_close(&s);
        for (int i = 0; i < 20; i++) {
            make_world(w);
            run_short(1 + (i < 10 ? below(calls) : below(200)), w);
            sim_close(&s);
        }
    }
}
END_TEST

int main(void)
{
    seed = test_seed();
    is_quick = getenv("GANG_TEST_QUICK") != NULL;
    Suite *suite = suite_create("sim random");
    TCase *c = tcase_create("worlds");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, the_same_input_gives_the_same_text);
    tcase_add_test(c, streamed_tables_equal_recorded_ones);
    tcase_add_test(c, a_fork_continues_like_its_original);
    tcase_add_test(c, a_fork_without_memory_leaves_nothing);
    tcase_add_test(c, a_policy_sees_the_true_state);
    tcase_add_test(c, a_run_continues_after_memory_was_short);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
