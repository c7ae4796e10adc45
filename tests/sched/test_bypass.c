/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded bypass: no gang passes one that was passed too often or waited too long, and it does
 * start.
 *   GANG_SEED   of the random jobs */
#include "chance.h"
#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

static void open_queue(int64_t overtakes, int64_t wait_s, int32_t backfill)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 2, 4);
    q.name = "q";
    q.within = GANG_PREEMPT_NEVER;
    q.max_bypasses = overtakes;
    q.max_wait_ns = wait_s * SECOND;
    q.backfill = backfill;
    host_queues(&h, &q, 1);
}

/* "q", and "other", which is guaranteed so many GPUs and does not reclaim what it is owed. */
static void open_queues(int64_t overtakes, int64_t guaranteed_milli)
{
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota gpus = {"gpu", guaranteed_milli, NULL, 0, 0};
    host_open(&h, 2, 4);
    q[0].name = "q";
    q[0].max_bypasses = overtakes;
    q[0].reclaim = q[1].reclaim = GANG_PREEMPT_NEVER;
    q[1].name = "other";
    q[1].guaranteed = &gpus;
    q[1].guaranteed_count = 1;
    host_queues(&h, q, 2);
}

static gang_job_id put(const char *queue, int64_t tasks, int64_t limit_s)
{
    struct gang_job_spec *job = host_spec(queue, tasks, tasks, 0);
    job->time_limit_ns = limit_s * SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    return id;
}

static bool runs(gang_job_id id)
{
    return host_has(&h, id) && host_job_state(&h, id) == GANG_JOB_RUNNING;
}

static struct gang_wait seen;
static char seen_text[256];

static int32_t see(const struct gang_wait *wait, void *user)
{
    (void)user;
    if (wait->reason == GANG_WAIT_STARVED) {
        seen = *wait;
        snprintf(seen_text, sizeof(seen_text), "%s", wait->text);
    }
    return 0;
}

START_TEST(after_max_bypasses_no_gang_passes)
{
    open_queue(2, 0, 0);
    gang_job_id a = put("q", 6, 0), head = put("q", 8, 0), b = put("q", 1, 0), c = put("q", 1, 0);
    test_assert(runs(b) && runs(c) && !runs(head));
    ck_assert_int_eq(host_job_info(&h, head).bypassed, 2);
    ck_assert_int_eq(host_job_info(&h, head).starved, 1);
    host_end_job(&h, c);
    gang_job_id d = put("q", 1, 0);
    test_assert(!runs(d)); /* though it fits */
    seen.reason = 0;
    MUST(gang_job_explain(h.s, d, see, NULL));
    ck_assert_int_eq(seen.reason, GANG_WAIT_STARVED);
    ck_assert_int_eq(seen.category, GANG_WAIT_CATEGORY_POLICY);
    ck_assert_uint_eq(seen.blocker, head);
    ck_assert_str_eq(seen_text, "job 2 is starved, and nothing in queue \"q\" passes it");
    host_end_job(&h, a);
    test_assert(!runs(head) && !runs(d));
    host_end_job(&h, b);
    test_assert(runs(head) && !runs(d));
    ck_assert_int_eq(host_job_info(&h, head).starved, 0);
    host_end_job(&h, head);
    test_assert(runs(d));
    host_close(&h);
}
END_TEST

START_TEST(a_gang_is_first_after_max_wait_in_every_queue_order)
{
    open_queue(0, 60, 0);
    gang_job_id a = put("q", 8, 0), low = put("q", 5, 0);
    host_run(&h, 30 * SECOND);
    struct gang_job_spec *spec = host_spec("q", 8, 8, 10);
    gang_job_id high = host_submit(&h, spec);
    spec = host_spec("q", 1, 1, 10);
    gang_job_id small = host_submit(&h, spec);
    host_run(&h, 0);
    ck_assert_int_eq(gang_sched_next(h.s), 60 * SECOND);
    host_run(&h, 30 * SECOND);
    ck_assert_int_eq(host_job_info(&h, low).starved, 1);
    host_end_job(&h, a);
    test_assert(runs(low) && !runs(high));
    test_assert(runs(small)); /* it has started: others may again */
    host_close(&h);
}
END_TEST

START_TEST(growth_does_not_pass_a_starved_gang)
{
    open_queue(1, 0, 0);
    gang_job_id a = put("q", 5, 0), head = put("q", 8, 0), b = put("q", 1, 0);
    test_assert(!runs(head) && host_job_info(&h, head).starved);
    struct gang_job_spec *spec = host_spec("q", 2, 1, 0);
    gang_job_id grower = host_submit(&h, spec);
    host_run(&h, 0);
    test_assert(!runs(grower));
    host_end_job(&h, a);
    host_end_job(&h, b);
    test_assert(runs(head));
    host_close(&h);
}
END_TEST

START_TEST(other_queues_pass_a_starved_gang_inside_their_guarantee_only)
{
    open_queues(1, 2000);
    (void)put("q", 4, 0);
    gang_job_id head = put("q", 8, 0), b = put("q", 1, 0);
    test_assert(runs(b) && host_job_info(&h, head).starved);
    gang_job_id inside = put("other", 2, 0), beyond = put("other", 1, 0);
    test_assert(runs(inside) && !runs(beyond));
    seen.reason = 0;
    MUST(gang_job_explain(h.s, beyond, see, NULL));
    ck_assert_uint_eq(seen.blocker, head);
    ck_assert_str_eq(seen_text, "job 2 of queue \"q\" is starved, and nothing passes it");
    MUST(gang_job_cancel(h.s, head));
    host_run(&h, 0);
    test_assert(runs(beyond));
    host_close(&h);
}
END_TEST

START_TEST(other_queues_may_use_nodes_that_a_starved_gang_cannot)
{
    open_queues(1, 0);
    struct gang_group_spec g = host_gpus(4, 4);
    g.where = "node in (n0)";
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "q";
    gang_job_id a = host_submit(&h, &job), head = host_submit(&h, &job);
    host_run(&h, 0);
    gang_job_id passes = put("q", 1, 0);
    test_assert(runs(a) && runs(passes) && host_job_info(&h, head).starved);
    gang_job_id other = put("other", 3, 0);
    test_assert(runs(other)); /* on n1 */
    host_end_job(&h, passes);
    struct gang_group_spec here = host_gpus(1, 1);
    here.where = "node in (n0)";
    job = host_job(&here, 1);
    job.queue = "other";
    gang_job_id same = host_submit(&h, &job);
    host_end_job(&h, a);
    test_assert(runs(head) && !runs(same));
    host_close(&h);
}
END_TEST

START_TEST(a_starved_gang_on_hold_bars_no_gang)
{
    open_queue(1, 0, 0);
    (void)put("q", 6, 0);
    gang_job_id head = put("q", 8, 0), b = put("q", 1, 0), c = put("q", 1, 0);
    test_assert(runs(b) && host_job_info(&h, head).starved && !runs(c));
    MUST(gang_job_hold(h.s, head));
    host_run(&h, 0);
    test_assert(runs(c));
    host_end_job(&h, c);
    MUST(gang_job_release(h.s, head));
    host_run(&h, 0);
    gang_job_id d = put("q", 1, 0);
    test_assert(!runs(d) && host_job_info(&h, head).starved);
    host_close(&h);
}
END_TEST

START_TEST(planned_gangs_do_not_pass_a_starved_gang)
{
    open_queue(1, 0, GANG_BACKFILL_EASY);
    (void)put("q", 4, 100);
    gang_job_id head = put("q", 8, 50), b = put("q", 2, 10), c = put("q", 2, 10);
    test_assert(runs(b) && host_job_info(&h, head).starved);
    test_assert(!runs(c)); /* it would not be in the way of the plan */
    ck_assert_int_eq(host_job_info(&h, head).planned_ns, 100 * SECOND);
    host_run(&h, 100 * SECOND);
    test_assert(runs(head));
    host_close(&h);
}
END_TEST

START_TEST(child_queues_inherit_bypass_bounds)
{
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_error error = GANG_ERROR_INIT;
    host_open(&h, 2, 4);
    q[0].name = "p";
    q[0].max_bypasses = 1;
    q[1].name = "q";
    q[1].parent = "p";
    host_queues(&h, q, 2);
    (void)put("q", 6, 0);
    gang_job_id head = put("q", 8, 0);
    (void)put("q", 1, 0);
    ck_assert_int_eq(host_job_info(&h, head).starved, 1);
    q[1].max_bypasses = -1;
    EXPECT_ERROR(gang_sched_set_queues(h.s, q, 2, &error), GANG_ERANGE, &error,
                 "queues[1].max_bypasses", NULL);
    host_close(&h);
}
END_TEST

/* ---- no starvation --------------------------------------------------------------------------- */

enum { JOBS = 300 };

static struct {
    gang_job_id id;
    int64_t tasks, priority, ends_ns, passed;
    bool began;
} all[JOBS];

/* One queue in FIFO order: counts jobs behind it that started while it waited. */
static void count_passed(int n, const bool *began_before)
{
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n && !all[i].began; k++)
            all[i].passed += all[k].began && !began_before[k];
}

/* A wide gang among small ones that never leave enough free by chance. With the bound each gang is
 * passed at most so often since it became the first to wait: the sum of all bounds before it. */
static void run_one(uint64_t seed)
{
    bool before[JOBS];
    int n = 0;
    chance_state = seed;
    int64_t bound = 1 + below(5), most = 0;
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 2, 4);
    q.name = "q";
    q.order = GANG_ORDER_FIFO;
    q.max_bypasses = bound;
    q.backfill = one_in(2) ? GANG_BACKFILL_EASY : GANG_BACKFILL_NONE;
    host_queues(&h, &q, 1);
    memset(all, 0, sizeof(all));
    for (int step = 0; n < JOBS || gang_job_next(h.s, GANG_ID_NONE) != GANG_ID_NONE; step++) {
        test_assert(step < 20 * JOBS); /* no job starves */
        for (int i = 0; i < n; i++)
            before[i] = all[i].began;
        if (n < JOBS && one_in(2)) {
            all[n].tasks = one_in(8) ? 8 : 1 + below(2);
            struct gang_job_spec *job = host_spec("q", all[n].tasks, all[n].tasks, 0);
            job->time_limit_ns = 30 * SECOND;
            all[n].id = host_submit(&h, job);
            before[n++] = false;
        }
        for (int i = 0; i < n; i++)
            if (all[i].began && all[i].ends_ns && all[i].ends_ns <= h.now_ns) {
                MUST(gang_report_end(h.s, all[i].id, 1));
                all[i].ends_ns = 0;
            }
        host_run(&h, SECOND);
        for (int i = 0; i < n; i++)
            if (!all[i].began && runs(all[i].id)) {
                all[i].began = true;
                all[i].ends_ns = h.now_ns + (1 + below(20)) * SECOND;
            }
        count_passed(n, before);
        int waiting = 0;
        for (int i = 0; i < n; i++) {
            most = all[i].passed > most ? all[i].passed : most;
            /* The first of each width counts, and there are three widths. */
            waiting += !all[i].began;
            if (!all[i].began && waiting == 1)
                test_assert(all[i].passed <= bound * (i + 1));
        }
    }
    test_assert(most > 0); /* some were passed */
    host_close(&h);
}

START_TEST(no_gang_starves)
{
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < 8; i++)
        run_one(seed + i);
}
END_TEST

/* With a bound on the wait alone, no job passes the head once it has waited so long. */
START_TEST(after_max_wait_no_gang_passes)
{
    chance_state = test_seed();
    open_queue(0, 40, 0);
    gang_job_id head = GANG_ID_NONE;
    int64_t since = 0, starts = 0;
    for (int i = 0; i < 400; i++) {
        if (head == GANG_ID_NONE || !host_has(&h, head)) {
            (void)put("q", 1, 15);
            head = put("q", 8, 15);
            since = h.now_ns;
        }
        gang_job_id small = put("q", 1 + below(3), 1 + below(15));
        if (!runs(head) && h.now_ns >= since + 40 * SECOND)
            test_assert(!runs(small));
        starts += runs(small);
        if (!runs(small)) /* else it would be starved itself, before a later head */
            MUST(gang_job_cancel(h.s, small));
        test_assert(runs(head) || h.now_ns <= since + 55 * SECOND); /* the longest is over */
        host_run(&h, SECOND);
    }
    test_assert(starts > 20);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bypass");
    TCase *t = tcase_create("bypass");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, after_max_bypasses_no_gang_passes);
    tcase_add_test(t, a_gang_is_first_after_max_wait_in_every_queue_order);
    tcase_add_test(t, growth_does_not_pass_a_starved_gang);
    tcase_add_test(t, other_queues_pass_a_starved_gang_inside_their_guarantee_only);
    tcase_add_test(t, other_queues_may_use_nodes_that_a_starved_gang_cannot);
    tcase_add_test(t, a_starved_gang_on_hold_bars_no_gang);
    tcase_add_test(t, planned_gangs_do_not_pass_a_starved_gang);
    tcase_add_test(t, child_queues_inherit_bypass_bounds);
    tcase_add_test(t, no_gang_starves);
    tcase_add_test(t, after_max_wait_no_gang_passes);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
