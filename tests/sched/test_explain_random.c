/* SPDX-License-Identifier: Apache-2.0 */
/* What gang_job_explain_preemption() says is what the next run does. Random clusters live with
 * preemption off, so that jobs wait that would preempt others. Now and then it is switched on: each
 * job that waits is explained, then the scheduler runs once, at the same time.
 *   - The first job for which a gang is stopped or moved was said to be next.
 *   - If some job was said to be next, a gang is stopped or moved.
 *   - The same question, asked again in the reverse order of jobs, has the same answer.
 * It goes on until no job is next. No queue plans starts: a run makes new plans while it tries its
 * jobs.
 *   GANG_SEED           begins with this world
 *   GANG_TEST_SECONDS   how long, 3 by default */
#include "chance.h"
#include "sched/host.h"
#include "sched/record/state.h"
#include "sched/wake/wake.h"

enum { LEAVES = 4, QUEUES = LEAVES + 1, STEPS = 30, MOST_WAITING = 256, MOST_ROUNDS = 64 };

static const int64_t SECOND = HOST_SECOND;
static const char *const leaf[LEAVES] = {"a", "b", "x", "y"};

static struct host h;
static uint64_t world;
static int step;
static int64_t waiting_seen, next_seen, taken_seen, outcomes_seen[GANG_PREEMPTION_OBSERVED + 1];

/* ---- what is said ---------------------------------------------------------------------------- */

struct said {
    gang_job_id id;
    int32_t outcome;
    int64_t takeable, together;
    char text[256];
};

static struct said said[MOST_WAITING];
static size_t said_count;

static struct said ask(gang_job_id id)
{
    struct gang_preemption *p;
    MUST(gang_job_explain_preemption(h.s, id, &p));
    struct said x = {
        .id = id, .outcome = p->outcome, .takeable = p->takeable, .together = p->together};
    snprintf(x.text, sizeof(x.text), "%s", p->text);
    gang_preemption_free(p);
    return x;
}

static void ask_all(void)
{
    said_count = 0;
    for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_job_next(h.s, id)) {
        ck_assert_uint_lt(said_count, MOST_WAITING);
        said[said_count] = ask(id);
        if (said[said_count].outcome != GANG_PREEMPTION_NONE)
            said_count++;
    }
    for (size_t i = said_count; i-- > 0;) {
        struct said again = ask(said[i].id);
        ck_assert_msg(again.outcome == said[i].outcome && again.takeable == said[i].takeable &&
                          again.together == said[i].together &&
                          strcmp(again.text, said[i].text) == 0,
                      "GANG_SEED=%" PRIu64 " step %d: job %" PRIu64 ": \"%s\", asked again: \"%s\"",
                      world, step, said[i].id, said[i].text, again.text);
        outcomes_seen[again.outcome]++;
    }
    waiting_seen += (int64_t)said_count;
}

static const struct said *said_of(gang_job_id id)
{
    for (size_t i = 0; i < said_count; i++)
        if (said[i].id == id)
            return &said[i];
    return NULL;
}

/* The first that is next; NULL: none. */
static const struct said *next_of_all(void)
{
    for (size_t i = 0; i < said_count; i++)
        if (said[i].outcome == GANG_PREEMPTION_NEXT)
            return &said[i];
    return NULL;
}

/* ---- what the run does ----------------------------------------------------------------------- */

/* The first job for which a gang, or tasks of it, are stopped or moved; GANG_ID_NONE: none is. */
static gang_job_id first_taker(void)
{
    for (size_t i = 0; i < h.count; i++)
        if (h.event[i].because != GANG_ID_NONE &&
            (strcmp(h.event[i].op, "preempt") == 0 || strcmp(h.event[i].op, "shrink") == 0 ||
             strcmp(h.event[i].op, "suspend") == 0))
            return h.event[i].because;
    return GANG_ID_NONE;
}

/* Returns whether a job was next. */
static bool compare_once(void)
{
    ask_all();
    const struct said *next = next_of_all();
    h.count = 0;
    host_run(&h, 0);
    gang_job_id taker = first_taker();
    const struct said *of_taker = taker == GANG_ID_NONE ? NULL : said_of(taker);
    ck_assert_msg(taker == GANG_ID_NONE || (of_taker && of_taker->outcome == GANG_PREEMPTION_NEXT),
                  "GANG_SEED=%" PRIu64 " step %d: gangs stop for job %" PRIu64 ": \"%s\"", world,
                  step, taker, of_taker ? of_taker->text : "it does not wait");
    ck_assert_msg(!next || taker != GANG_ID_NONE,
                  "GANG_SEED=%" PRIu64 " step %d: no gang stops for job %" PRIu64 ": \"%s\"", world,
                  step, next->id, next->text);
    next_seen += next != NULL;
    taken_seen += taker != GANG_ID_NONE;
    return next != NULL;
}

static void switch_preemption(bool on)
{
    h.s->opts.no_preemption = !on;
    gang__wake_preemption(h.s);
}

static void compare(void)
{
    int rounds = 0;
    switch_preemption(true);
    while (compare_once() && rounds < MOST_ROUNDS)
        rounds++;
    ck_assert_int_lt(rounds, MOST_ROUNDS);
    switch_preemption(false);
}

/* ---- the world ------------------------------------------------------------------------------- */

static void open_cluster(void)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_error error = GANG_ERROR_INIT;
    host_open_cluster(&h, 0, 0);
    for (int64_t i = 0, n = 1 + below(5); i < n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", (int)i);
        struct box box = {.name = name,
                          .cpu = 8000,
                          .memory = 64 * GIB,
                          .gpus = 1 + index_below(4),
                          .model = one_in(2) ? "h" : "v"};
        stage_add(&h.stage, &box);
    }
    opts.mem = &h.stage.mem.mem;
    opts.max_moves = one_in(2) ? -1 : below(3);
    opts.max_preempted_tasks = one_in(4) ? 1 + below(4) : 0;
    opts.preempt_cooldown_ns = one_in(2) ? 20 * SECOND : 0;
    gang_result r = gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    h.s->opts.no_preemption = 1;
}

static void draw_queue(struct gang_queue_spec *q, struct gang_quota quota[3])
{
    quota[0] = (struct gang_quota){"gpu", below(6) * 1000, NULL, 0, 0};
    quota[1] = (struct gang_quota){"gpu", (2 + below(8)) * 1000, NULL, 0, 0};
    quota[2] = (struct gang_quota){"gpu", below(3) * 1000, NULL, 0, 0};
    q->guaranteed = &quota[0];
    q->guaranteed_count = !one_in(3);
    q->limit = &quota[1];
    q->limit_count = one_in(4);
    q->lending_limit = &quota[2];
    q->lending_limit_count = one_in(8);
    q->weight = (double)(1 + below(3));
    q->priority = one_in(4) ? 200 : 100;
    q->within = one_in(3) ? GANG_PREEMPT_NEVER : one_in(2) ? GANG_PREEMPT_LOWER : 0;
    q->within = one_in(4) ? GANG_PREEMPT_LOWER_OR_NEWER : q->within;
    q->reclaim = one_in(5) ? GANG_PREEMPT_NEVER : one_in(4) ? GANG_PREEMPT_LOWER : 0;
    q->order = (int32_t)below(5);
    q->block = one_in(6);
    q->grace_ns = one_in(2) ? 10 * SECOND : 0;
    q->min_runtime_ns = one_in(5) ? 10 * SECOND : -1;
    q->no_preemption = one_in(12);
    q->max_running = one_in(8) ? 1 + below(4) : 0;
    q->user_limit = one_in(5) ? GANG_WHOLE / 2 : 0;
    q->preempt_mode = one_in(6)   ? GANG_PREEMPT_MODE_SUSPEND
                      : one_in(8) ? GANG_PREEMPT_MODE_CANCEL
                                  : GANG_PREEMPT_MODE_REQUEUE;
}

/* Two leaves at the top, and two below a queue. */
/* Returns whether they were set: the guarantees below a queue may exceed its own. */
static bool set_queues(void)
{
    struct gang_queue_spec q[QUEUES];
    struct gang_quota quota[QUEUES][3];
    for (int i = 0; i < QUEUES; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        draw_queue(&q[i], quota[i]);
    }
    q[0].name = "top";
    q[0].order = q[0].block = 0;
    for (int i = 0; i < LEAVES; i++) {
        q[1 + i].name = leaf[i];
        q[1 + i].parent = i < 2 ? NULL : "top";
    }
    return gang_sched_set_queues(h.s, q, QUEUES, NULL) == GANG_OK;
}

static void submit(void)
{
    static const char *const model[] = {"h", "v"};
    struct gang_group_spec group[2] = {group_of(1 + below(4), 500, 1000 * (1 + below(3))),
                                       group_of(1 + below(2), 1000, 0)};
    group[0].min = one_in(3) ? 1 : group[0].count;
    group[0].gpu_models = &model[below(2)];
    group[0].gpu_model_count = one_in(4);
    group[1].min = one_in(3) ? 1 : group[1].count;
    struct gang_job_spec spec = host_job(group, one_in(6) ? 2 : 1);
    gang_job_id id;
    spec.queue = leaf[below(LEAVES)];
    spec.priority = below(3);
    spec.user = one_in(2) ? "ann" : "bob";
    spec.preemptible = one_in(5) ? (int32_t)below(3) : GANG_PREEMPTIBLE;
    spec.never_preempts = one_in(10);
    spec.hold = one_in(20);
    spec.time_limit_ns = one_in(2) ? (5 + below(60)) * SECOND : 0;
    gang_result r = gang_job_submit(h.s, &spec, &id, NULL);
    ck_assert_msg(r == GANG_OK || r == GANG_ENEVER || r == GANG_EINVAL, "%s", gang_result_name(r));
}

static gang_job_id some_job(void)
{
    gang_job_id chosen = GANG_ID_NONE;
    int64_t n = 0;
    for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_job_next(h.s, id))
        chosen = one_in(++n) ? id : chosen;
    return chosen;
}

static void happen(void)
{
    int64_t what = below(20);
    gang_job_id id = some_job();
    if (what < 12)
        submit();
    else if (what < 13)
        (void)!set_queues();
    else if (id == GANG_ID_NONE)
        return;
    else if (what < 16)
        (void)!gang_report_end(h.s, id, 1);
    else if (what < 17)
        (void)!gang_job_set_priority(h.s, id, below(3));
    else if (what < 18)
        (void)!gang_job_cancel(h.s, id);
    else if (host_job_state(&h, id) == GANG_JOB_STOPPING)
        (void)!gang_report_tasks(h.s, id, 0, GANG_ID_NONE, NULL, 0, GANG_TASK_STOPPED);
}

static void live(void)
{
    chance_state = world;
    open_cluster();
    while (!set_queues())
        continue;
    for (step = 0; step < STEPS; step++) {
        for (int64_t n = 1 + below(5); n > 0; n--)
            happen();
        h.lingers = one_in(3);
        h.count = 0;
        host_run(&h, one_in(2) ? 0 : (1 + below(10)) * SECOND);
        if (one_in(2))
            compare();
    }
    host_close(&h);
}

START_TEST(the_next_run_does_what_was_said)
{
    const char *given = getenv("GANG_TEST_SECONDS");
    time_t end = time(NULL) + (given ? atoi(given) : getenv("GANG_TEST_QUICK") ? 1 : 3);
    int64_t worlds = 0;
    for (world = test_seed(); worlds == 0 || time(NULL) < end; world++, worlds++)
        live();
    printf("%" PRId64 " worlds, %" PRId64 " answers, %" PRId64 " times a job was next, %" PRId64
           " times gangs stopped for one; outcomes",
           worlds, waiting_seen, next_seen, taken_seen);
    for (int i = 0; i <= GANG_PREEMPTION_OBSERVED; i++)
        printf(" %" PRId64, outcomes_seen[i]);
    printf("\n");
    ck_assert(next_seen > 0 && taken_seen > 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explain_random");
    TCase *tests = tcase_create("explain_random");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, the_next_run_does_what_was_said);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
