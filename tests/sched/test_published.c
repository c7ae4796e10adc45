/* SPDX-License-Identifier: Apache-2.0 */
/* Published schedules: the workload logs of $GANG_SHARED/data/swf_sc15 (its README has the semantics), run through
 * the scheduler's own cycle and plan, job by job. The order of events in one second is that of the reference: each
 * submission has a run of its own, then each end, in the order in which the jobs were started. Without the data
 * nothing is done. */
#include <gangsched/gangsched.h>

#include "suite.h"
#include "support.h"

enum { MOST = 60000, FEW = 1500, SECOND = 1000000000, COLUMNS = 12 };
enum {
    FCFS = 6,
    EASY = 7,
    SJBF = 8,
    CLAIRVOYANT = 9,
    SJBF_CLAIRVOYANT = 10,
    CONSERVATIVE = 11
}; /* columns with the waits of each */

struct swf_job {
    int64_t column[COLUMNS]; /* id, submit, run, procs, estimate, user, waits */
    int64_t start;
    gang_job_id id;
};

static struct swf_job jobs[MOST];
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SLOW true
#else
#define IS_SLOW false
#endif

static bool is_cut; /* only the first ones, where everything is slow */
static size_t job_count, next_job;
static size_t running[MOST], running_count; /* in the order of their starts */
static gang_sched *sched;
static int64_t now_s;

static int32_t on_start(const struct gang_event *e, void *user)
{
    (void)user;
    jobs[e->cookie].start = e->now_ns / SECOND;
    running[running_count++] = (size_t)e->cookie;
    return 0;
}

/* False: the log is not there. */
static bool load(const char *log)
{
    const char *shared = getenv("GANG_SHARED");
    char text[512];
    snprintf(text, sizeof(text), "gzip -dc '%s/data/swf_sc15/%s.csv.gz' 2>&1", shared ? shared : "",
             log);
    FILE *f = shared && *shared ? popen(text, "r") : NULL;
    bool there = f && fgets(text, sizeof(text), f) && strncmp(text, "job_id,", 7) == 0;
    for (job_count = 0; there && fgets(text, sizeof(text), f); job_count++) {
        ck_assert_uint_lt(job_count, MOST);
        char *at = text;
        memset(&jobs[job_count], 0, sizeof(jobs[0]));
        for (int c = 0; c < COLUMNS; c++, at++)
            jobs[job_count].column[c] = strtoll(at, &at, 10);
    }
    if (f)
        pclose(f);
    is_cut = there && (IS_SLOW || getenv("GANG_TEST_QUICK")) && job_count > FEW;
    job_count = is_cut ? FEW : job_count;
    if (!there)
        printf("skipped: no %s; set GANG_SHARED\n", log);
    return there;
}

static void run(void)
{
    MUST(gang_sched_run(sched, now_s * SECOND, NULL, NULL));
}

static void submit(bool clairvoyant)
{
    struct swf_job *j = &jobs[next_job];
    struct gang_group_spec g = group_of(1, j->column[3] * 1000, 0);
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    g.memory_bytes = 0;
    job.request = request_of(&g, 1);
    job.queue = "q";
    job.time_limit_ns = j->column[clairvoyant ? 2 : 4] * SECOND;
    job.cookie = next_job++;
    MUST(gang_job_submit(sched, &job, &j->id, NULL));
    run();
}

static int64_t end_of(size_t i)
{
    return jobs[i].start + jobs[i].column[2];
}

/* One whose end is now, the first that was started. */
static bool end_one(void)
{
    size_t i = 0;
    while (i < running_count && end_of(running[i]) != now_s)
        i++;
    if (i == running_count)
        return false;
    struct gang_job_info info = {.size = sizeof(info)};
    gang_job_id id = jobs[running[i]].id;
    memmove(running + i, running + i + 1, (--running_count - i) * sizeof(*running));
    if (gang_job_get(sched, id, &info) == GANG_OK) /* its limit may have passed in this second */
        MUST(gang_report_end(sched, id, 1));
    run();
    return true;
}

static void advance(void)
{
    int64_t next = gang_sched_next(sched);
    now_s = next != INT64_MIN && next != INT64_MAX ? next / SECOND : INT64_MAX;
    if (next_job < job_count && jobs[next_job].column[1] < now_s)
        now_s = jobs[next_job].column[1];
    for (size_t i = 0; i < running_count; i++)
        now_s = end_of(running[i]) < now_s ? end_of(running[i]) : now_s;
}

static void replay(const char *log, int64_t processors, int column)
{
    static struct stage stage;
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct box flat = {.name = "flat", .cpu = processors * 1000, .memory = GIB};
    if (!load(log))
        return;
    stage_open(&stage, NULL, 0);
    stage_add(&stage, &flat);
    opts.no_preemption = 1;
    ops.start = on_start;
    MUST(gang_sched_new(stage.c, &opts, &ops, NULL, &sched, NULL));
    q.name = "q";
    q.order = GANG_ORDER_FIFO;
    q.block = column == FCFS ? GANG_BLOCK_STRICT : GANG_BLOCK_NONE;
    q.backfill = column == FCFS           ? GANG_BACKFILL_NONE
                 : column == CONSERVATIVE ? GANG_BACKFILL_CONSERVATIVE
                                          : GANG_BACKFILL_EASY;
    if (column == SJBF || column == SJBF_CLAIRVOYANT)
        q.backfill_order = GANG_BACKFILL_ORDER_SHORTEST;
    MUST(gang_sched_set_queues(sched, &q, 1, NULL));
    for (next_job = running_count = 0, now_s = 0; next_job < job_count || running_count > 0;) {
        advance();
        bool some = false;
        while (next_job < job_count && jobs[next_job].column[1] == now_s) {
            submit(column == CLAIRVOYANT || column == SJBF_CLAIRVOYANT);
            some = true;
        }
        while (end_one())
            some = true;
        if (!some)
            run();
    }
    size_t differing = 0;
    double wait = 0;
    for (size_t i = 0; i < job_count; i++) {
        if (is_cut && jobs[i].column[1] + jobs[i].column[column] >= jobs[job_count - 1].column[1])
            continue; /* those that are left out may have passed it */
        wait += (double)(jobs[i].start - jobs[i].column[1]);
        differing += jobs[i].start - jobs[i].column[1] != jobs[i].column[column];
    }
    printf("%s: %zu jobs, average wait %.3f s, %zu differing\n", log, job_count,
           wait / (double)job_count, differing);
    ck_assert_uint_eq(differing, 0);
    gang_sched_free(sched);
    stage_close(&stage);
}

START_TEST(kth_sp2_first_come_first_served)
{
    replay("KTH-SP2", 100, FCFS);
}
END_TEST

START_TEST(kth_sp2_easy)
{
    replay("KTH-SP2", 100, EASY);
}
END_TEST

START_TEST(kth_sp2_easy_that_knows_when_jobs_end)
{
    replay("KTH-SP2", 100, CLAIRVOYANT);
}
END_TEST

START_TEST(kth_sp2_easy_shortest_first)
{
    replay("KTH-SP2", 100, SJBF);
}
END_TEST

START_TEST(kth_sp2_easy_shortest_first_that_knows_when_jobs_end)
{
    replay("KTH-SP2", 100, SJBF_CLAIRVOYANT);
}
END_TEST

START_TEST(kth_sp2_conservative)
{
    replay("KTH-SP2", 100, CONSERVATIVE);
}
END_TEST

/* _i: each of them */
START_TEST(sdsc_sp2)
{
    static const int column[] = {FCFS, EASY, SJBF, CLAIRVOYANT, SJBF_CLAIRVOYANT, CONSERVATIVE};
    replay("SDSC-SP2", 128, column[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("published");
    TCase *t = tcase_create("schedules");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, kth_sp2_first_come_first_served);
    tcase_add_test(t, kth_sp2_easy);
    tcase_add_test(t, kth_sp2_easy_that_knows_when_jobs_end);
    tcase_add_test(t, kth_sp2_easy_shortest_first);
    tcase_add_test(t, kth_sp2_easy_shortest_first_that_knows_when_jobs_end);
    tcase_add_test(t, kth_sp2_conservative);
    tcase_add_loop_test(t, sdsc_sp2, 0, 6);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
