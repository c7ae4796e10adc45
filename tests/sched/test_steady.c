/* SPDX-License-Identifier: Apache-2.0 */
/* Live runs.
 *
 * A queue of whole-node jobs that comes late to a cluster full of one-GPU jobs gets its fair share
 * within one job, and keeps it over hours, when both always have jobs. A guaranteed node is had
 * back in each of 60 trials, however scattered the jobs are. Jobs that can each take from another
 * do not go round in a circle while small jobs come and go.
 *   GANG_SEED   of the random run times and places */
#include "chance.h"
#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

enum { NODES = 8, GPUS = 8, STEP_S = 20, JOBS = 60000 };

struct side {
    const char *queue;
    int64_t gpus;    /* of one job */
    int64_t backlog; /* jobs that wait */
};

static struct {
    gang_job_id id;
    int64_t left_s;  /* of its run time */
    int64_t since_s; /* it runs since then; -1: it does not run */
    const struct side *side;
} job[JOBS];
static size_t count;

static void submit(const struct side *side)
{
    struct gang_group_spec group = host_gpus(1, 1);
    struct gang_job_spec spec;
    group.gpu_milli = side->gpus * 1000;
    spec = host_job(&group, 1);
    spec.queue = side->queue;
    test_assert(count < JOBS);
    job[count].id = host_submit(&h, &spec);
    job[count].left_s = 300 + below(3300);
    job[count].since_s = -1;
    job[count++].side = side;
}

/* Ends what is over, counts what runs and waits, and keeps the backlog. Returns the GPUs of
 * `of`. */
static int64_t step(const struct side *sides, size_t n, const struct side *of)
{
    int64_t now_s = h.now_ns / SECOND, used = 0, waits[2] = {0, 0};
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool runs = host_job_state(&h, job[i].id) == GANG_JOB_RUNNING;
        if (!runs)
            job[i].since_s = -1; /* a preempted job begins from the start */
        else if (job[i].since_s < 0)
            job[i].since_s = now_s;
        if (runs && now_s - job[i].since_s >= job[i].left_s) {
            MUST(gang_report_end(h.s, job[i].id, 1));
            continue;
        }
        used += runs && job[i].side == of ? of->gpus : 0;
        waits[job[i].side - sides] += !runs;
        job[kept++] = job[i];
    }
    count = kept;
    for (size_t k = 0; k < n; k++)
        for (int64_t w = waits[k]; w < sides[k].backlog; w++)
            submit(&sides[k]);
    host_run(&h, STEP_S * SECOND);
    return used;
}

/* The mean use of whole-node jobs over the last eight of ten hours. */
static double mean_of_late(int64_t guaranteed_milli)
{
    static const struct side sides[] = {{"small", 1, 40}, {"whole", GPUS, 6}};
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota gpus = {"gpu", guaranteed_milli, NULL, 0, 0};
    int64_t sum = 0, steps = 0;
    host_open(&h, NODES, GPUS);
    q[0].name = "small";
    q[1].name = "whole";
    q[1].guaranteed = &gpus;
    q[1].guaranteed_count = guaranteed_milli > 0;
    host_queues(&h, q, 2);
    count = 0;
    for (int64_t i = 0; i * STEP_S < 12 * 3600; i++) {
        int64_t used = step(sides, i * STEP_S < 3600 ? 1 : 2, &sides[1]);
        if (i * STEP_S >= 4 * 3600) {
            sum += used;
            steps++;
        }
    }
    host_close(&h);
    return (double)sum / (double)steps;
}

START_TEST(a_queue_that_comes_late_gets_its_share)
{
    chance_state = test_seed();
    double mean = mean_of_late(0);
    printf("# weights only: %.1f of 64 GPUs, the share is 32\n", mean);
    ck_assert_msg(mean > 32 - GPUS && mean < 32 + GPUS, "%.1f", mean);
    mean = mean_of_late(32000);
    printf("# guaranteed 32: %.1f of 64 GPUs, the share is 48\n", mean);
    ck_assert_msg(mean > 48 - GPUS && mean < 48 + GPUS, "%.1f", mean);
}
END_TEST

/* One-GPU jobs of random age fill 2 to 16 nodes: those that began first end at random, until half
 * of the GPUs came free once and were taken again. Then the guaranteed queue wants one node. */
static bool gets_a_node(int64_t nodes)
{
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota gpus = {"gpu", nodes * GPUS * 500, NULL, 0, 0};
    static const struct side small = {"small", 1, 0}, whole = {"whole", GPUS, 0};
    host_open(&h, (size_t)nodes, GPUS);
    q[0].name = "small";
    q[1].name = "whole";
    q[1].guaranteed = &gpus;
    q[1].guaranteed_count = 1;
    host_queues(&h, q, 2);
    count = 0;
    for (int64_t i = 0; i < nodes * GPUS; i++)
        submit(&small);
    host_run(&h, SECOND);
    for (int64_t i = 0; i < nodes * GPUS / 2; i++) {
        size_t k = (size_t)below((int64_t)count);
        MUST(gang_report_end(h.s, job[k].id, 1));
        job[k] = job[--count];
        submit(&small);
        host_run(&h, SECOND);
    }
    submit(&whole);
    host_run(&h, SECOND);
    bool gets = host_job_state(&h, job[count - 1].id) == GANG_JOB_RUNNING;
    int64_t waiting = 0;
    for (size_t i = 0; i < count; i++)
        waiting += host_job_state(&h, job[i].id) != GANG_JOB_RUNNING;
    ck_assert_int_eq(waiting, gets ? GPUS : 1);
    host_close(&h);
    return gets;
}

START_TEST(a_guaranteed_node_is_had_back_in_60_of_60_trials)
{
    int got = 0;
    chance_state = test_seed();
    for (int i = 0; i < 60; i++)
        got += gets_a_node(2 + i % 15);
    printf("# a guaranteed node: %d of 60\n", got);
    ck_assert_int_eq(got, 60);
}
END_TEST

/* The jobs of three queues can each preempt another one. Queues q1 and q2 are guaranteed a GPU, p1
 * nothing. A job without GPUs comes and ends every 30 s, for two hours. No job is stopped twice for
 * the same queue within ten minutes. */
START_TEST(jobs_do_not_go_round_in_a_circle)
{
    enum { ROUND_S = 30, SPARED_S = 600, TYPES = 4 };
    static const struct {
        const char *queue;
        int64_t tasks, gpus, priority;
        bool labelled;
    } type[TYPES] = {{"p1", 1, 1, 0, false},
                     {"q2", 1, 1, 50, true},
                     {"q2", 4, 1, 100, false},
                     {"q1", 1, 2, 50, true}};
    static const char *const name[] = {"p1", "q1", "q2", "tiny"};
    struct gang_queue_spec q[4];
    struct gang_quota one = {"gpu", 1000, NULL, 0, 0};
    gang_job_id id[TYPES], tiny = GANG_ID_NONE;
    int64_t last_s[TYPES][4], stops = 0;
    struct gang_label label = {"t", "a"};
    struct gang_running_spec at = {.node = "n0"};
    memset(last_s, -1, sizeof(last_s));
    host_open(&h, 0, 2);
    for (int n = 0; n < 3; n++) {
        char node[8];
        struct box box = {.name = node, .cpu = 8000, .memory = 64 * GIB, .gpus = 2};
        snprintf(node, sizeof(node), "n%d", n);
        box.labels = n == 0 ? &label : NULL;
        box.label_count = n == 0;
        stage_add(&h.stage, &box);
    }
    for (int i = 0; i < 4; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i].name = name[i];
        q[i].guaranteed = &one;
        q[i].guaranteed_count = name[i][0] == 'q';
    }
    host_queues(&h, q, 4);
    for (int i = 0; i < TYPES; i++) {
        struct gang_group_spec group = host_gpus(type[i].tasks, type[i].tasks);
        group.gpu_milli = type[i].gpus * 1000;
        group.where = type[i].labelled ? "t = a" : NULL;
        struct gang_job_spec spec = host_job(&group, 1);
        spec.queue = type[i].queue;
        spec.priority = type[i].priority;
        spec.running = i == 0;
        spec.places = &at;
        spec.place_count = i == 0;
        id[i] = host_submit(&h, &spec);
    }
    for (int64_t now_s = 0; now_s < 2 * 3600; now_s += ROUND_S) {
        struct gang_group_spec none = group_of(1, 100, 0);
        struct gang_job_spec spec = host_job(&none, 1);
        size_t seen = h.count;
        if (tiny != GANG_ID_NONE)
            MUST(gang_report_end(h.s, tiny, 1));
        spec.queue = "tiny";
        tiny = host_submit(&h, &spec);
        host_run(&h, ROUND_S * SECOND);
        for (; seen < h.count; seen++) {
            int victim = 0, taker = 0, by = 0;
            if (strcmp(h.event[seen].op, "preempt") != 0)
                continue;
            while (id[victim] != h.event[seen].job)
                victim++;
            while (id[taker] != h.event[seen].because)
                taker++;
            while (strcmp(name[by], type[taker].queue) != 0)
                by++;
            ck_assert_msg(last_s[victim][by] < 0 || now_s - last_s[victim][by] >= SPARED_S,
                          "job %d is stopped again for %s at %d s", victim, name[by], (int)now_s);
            last_s[victim][by] = now_s;
            stops++;
        }
    }
    printf("# a circle of three queues: %d stops in two hours, none repeated within ten minutes\n",
           (int)stops);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("steady");
    TCase *t = tcase_create("steady");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_queue_that_comes_late_gets_its_share);
    tcase_add_test(t, a_guaranteed_node_is_had_back_in_60_of_60_trials);
    tcase_add_test(t, jobs_do_not_go_round_in_a_circle);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
