/* SPDX-License-Identifier: Apache-2.0 */
/* What queues use over hours, when both always have jobs: a queue of whole-node jobs that comes
 * late to a cluster full of one-GPU jobs gets its fair share within one job, and keeps it.
 *   GANG_SEED   of the random run times */
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

int main(void)
{
    Suite *suite = suite_create("steady");
    TCase *t = tcase_create("steady");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_queue_that_comes_late_gets_its_share);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
