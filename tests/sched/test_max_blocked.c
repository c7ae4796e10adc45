/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded bypass by default (gang_queue_spec.max_blocked_ns): whatever the order, a gang as large
 * as the cluster starts, and neither priorities, shares, plans nor users suffer from that.
 *   GANG_SEED   of the random jobs */
#include "chance.h"
#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;
static const int64_t HOUR = INT64_C(3600) * HOST_SECOND;

static bool runs(gang_job_id id)
{
    return host_has(&h, id) && host_job_state(&h, id) == GANG_JOB_RUNNING;
}

static bool starved(gang_job_id id)
{
    return host_job_info(&h, id).starved == 1;
}

static gang_job_id put(const char *queue, int64_t tasks, int64_t priority)
{
    gang_job_id id = host_submit(&h, host_spec(queue, tasks, tasks, priority));
    host_run(&h, 0);
    return id;
}

/* "q" on two nodes of four GPUs. */
static void open_queue(int32_t order, int64_t max_blocked_ns)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 2, 4);
    q.name = "q";
    q.order = order;
    q.within = GANG_PREEMPT_NEVER;
    q.max_blocked_ns = max_blocked_ns;
    host_queues(&h, &q, 1);
}

/* ---- a gang as large as the cluster ---------------------------------------------------------- */

enum { STEP_S = 30, LONGEST_S = 1200, JOBS = 4000 };

struct load {
    int64_t percent; /* of the cluster, by jobs of one GPU */
    gang_job_id id[JOBS];
    int64_t ends_ns[JOBS];
    size_t count;
};

static void submit_small(struct load *load, int64_t *owed)
{
    *owed += load->percent * 8 * STEP_S; /* GPU-seconds, in hundredths */
    while (*owed > 0 && load->count < JOBS) {
        static const char *const users[] = {"ann", "bob", "cid"};
        int64_t run_s = 1 + below(LONGEST_S);
        struct gang_job_spec *job = host_spec("q", 1, 1, 0);
        job->user = users[below(3)];
        load->ends_ns[load->count] = -run_s;
        load->id[load->count++] = host_submit(&h, job);
        *owed -= run_s * 100;
    }
}

static void end_small(struct load *load)
{
    for (size_t i = 0; i < load->count; i++) {
        if (load->ends_ns[i] > 0 && load->ends_ns[i] <= h.now_ns) {
            MUST(gang_report_end(h.s, load->id[i], 1));
            load->ends_ns[i] = 0;
        } else if (load->ends_ns[i] < 0 && runs(load->id[i])) {
            load->ends_ns[i] = h.now_ns - load->ends_ns[i] * SECOND;
        }
    }
}

/* When the gang starts, in seconds after its submission; -1: not in ten hours. */
static int64_t wait_of_gang(int32_t order, int32_t backfill, int64_t percent, int64_t bound_ns)
{
    static struct load load;
    int64_t owed = LONGEST_S * 800, since = 0, start_s = -1;
    gang_job_id gang = GANG_ID_NONE;
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    memset(&load, 0, sizeof(load));
    load.percent = percent;
    host_open(&h, 2, 4);
    q.name = "q";
    q.order = order;
    q.backfill = backfill;
    q.max_blocked_ns = bound_ns;
    host_queues(&h, &q, 1);
    for (int64_t i = 0; i * STEP_S < 10 * 3600 && start_s < 0; i++) {
        submit_small(&load, &owed);
        if (i == 10) {
            struct gang_job_spec *job = host_spec("q", 8, 8, 0);
            job->user = "dan";
            gang = host_submit(&h, job);
            since = h.now_ns;
        }
        host_run(&h, STEP_S * SECOND);
        end_small(&load);
        if (gang != GANG_ID_NONE && runs(gang))
            start_s = (h.now_ns - since) / SECOND;
    }
    test_assert(load.count < JOBS);
    host_close(&h);
    return start_s;
}

static const struct {
    int32_t order, backfill;
} policies[] = {{GANG_ORDER_PRIORITY, 0},     {GANG_ORDER_FIFO, 0},
                {GANG_ORDER_FAIR, 0},         {GANG_ORDER_SHORTEST, 0},
                {GANG_ORDER_LEAST_SERVED, 0}, {GANG_ORDER_PRIORITY, GANG_BACKFILL_EASY}};

/* By default it starts after the bound and the longest job that then runs, for each load; without
 * the bound it never does. */
START_TEST(a_gang_as_large_as_the_cluster_starts_by_default)
{
    chance_state = test_seed();
    int64_t most_s = GANG_DEFAULT_MAX_BLOCKED_NS / SECOND + LONGEST_S + 3 * STEP_S;
    for (int64_t percent = 80; percent <= 110; percent += 15) {
        int64_t wait_s = wait_of_gang(policies[_i].order, policies[_i].backfill, percent, 0);
        ck_assert_msg(wait_s >= 0 && wait_s <= most_s, "load %" PRId64 ": %" PRId64 " s", percent,
                      wait_s);
    }
    ck_assert_int_eq(wait_of_gang(policies[_i].order, policies[_i].backfill, 110, -1), -1);
}
END_TEST

/* ---- what the bound respects ----------------------------------------------------------------- */

START_TEST(jobs_of_higher_priority_still_come_first)
{
    open_queue(GANG_ORDER_PRIORITY, 0);
    gang_job_id a = put("q", 4, 0), low = put("q", 8, 0), same = put("q", 3, 0);
    host_run(&h, HOUR);
    test_assert(starved(low));
    host_end_job(&h, same);
    gang_job_id high = put("q", 2, 1), behind = put("q", 1, 0);
    test_assert(runs(high) && !runs(behind));
    host_end_job(&h, a);
    host_end_job(&h, high);
    test_assert(runs(low) && !runs(behind));
    host_close(&h);
}
END_TEST

/* A backlog of like jobs has not had its turn, however long it waits: the order of users holds. */
START_TEST(a_long_backlog_keeps_its_order)
{
    gang_job_id first[8], light, heavy;
    open_queue(GANG_ORDER_FAIR, 0);
    struct gang_job_spec *job = host_spec("q", 1, 1, 0);
    job->user = "ann";
    for (int i = 0; i < 8; i++)
        first[i] = host_submit(&h, job);
    host_submit(&h, job); /* it has its turn, and becomes starved */
    heavy = host_submit(&h, job);
    host_run(&h, 0);
    host_run(&h, HOUR);
    job = host_spec("q", 1, 1, 0);
    job->user = "bob";
    light = host_submit(&h, job);
    host_run(&h, 0);
    host_end_job(&h, first[0]);
    test_assert(!starved(heavy));
    host_end_job(&h, first[1]);
    test_assert(runs(light) && !runs(heavy));
    host_close(&h);
}
END_TEST

/* "a" and "b" share eight GPUs. */
static void open_two(int64_t max_blocked_ns, int32_t reclaim)
{
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    host_open(&h, 2, 4);
    q[0].name = "a";
    q[1].name = "b";
    q[0].max_blocked_ns = max_blocked_ns;
    q[0].reclaim = q[1].reclaim = reclaim;
    host_queues(&h, q, 2);
}

START_TEST(a_queue_inside_its_share_passes_a_gang_beyond_its_own)
{
    open_two(0, GANG_PREEMPT_ANY);
    gang_job_id one = put("a", 1, 0);
    (void)put("b", 3, 0);
    gang_job_id gang = put("a", 8, 0); /* more than the four that "a" may have */
    host_run(&h, HOUR);
    test_assert(starved(gang));
    gang_job_id inside = put("b", 1, 0), beyond = put("b", 1, 0);
    test_assert(runs(inside) && !runs(beyond));
    MUST(gang_job_cancel(h.s, gang));
    host_run(&h, 0);
    test_assert(runs(beyond) && runs(one));
    host_close(&h);
}
END_TEST

START_TEST(a_queue_that_cannot_reclaim_does_not_pass)
{
    open_two(0, GANG_PREEMPT_NEVER);
    (void)put("b", 3, 0);
    gang_job_id gang = put("a", 8, 0);
    host_run(&h, HOUR);
    gang_job_id inside = put("b", 1, 0);
    test_assert(starved(gang) && !runs(inside));
    host_close(&h);
}
END_TEST

/* It would close the cluster without a start: it does not fit even if all jobs had ended. */
START_TEST(a_gang_that_waits_for_a_node_closes_nothing)
{
    gang_node_id n1;
    open_queue(GANG_ORDER_PRIORITY, 0);
    MUST(gang_node_find(h.stage.c, "n1", &n1));
    MUST(gang_node_set_state(h.stage.w, n1, GANG_NODE_DOWN));
    gang_job_id small = put("q", 1, 0), gang = put("q", 8, 0);
    host_run(&h, HOUR);
    gang_job_id other = put("q", 1, 0);
    test_assert(!starved(gang) && runs(other));
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX); /* nothing to come */
    MUST(gang_node_set_state(h.stage.w, n1, GANG_NODE_UP));
    host_run(&h, 0);
    test_assert(!starved(gang));
    host_run(&h, HOUR);
    test_assert(starved(gang) && !runs(put("q", 1, 0)));
    MUST(gang_node_set_state(h.stage.w, n1, GANG_NODE_DOWN)); /* while it is starved */
    host_run(&h, 0);
    host_run(&h, 0);
    test_assert(!starved(gang));
    host_end_job(&h, small);
    host_close(&h);
}
END_TEST

/* A planned start is a bound of its own: nothing more is closed for that gang. */
START_TEST(a_starved_gang_that_gets_a_planned_start_closes_nothing)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 2, 4);
    q.name = "q";
    q.backfill = GANG_BACKFILL_EASY;
    host_queues(&h, &q, 1);
    gang_job_id endless = put("q", 5, 0), gang = put("q", 8, 0);
    host_run(&h, HOUR);
    struct gang_job_spec *brief = host_spec("q", 1, 1, 0);
    brief->time_limit_ns = 50 * SECOND;
    gang_job_id other = host_submit(&h, brief);
    host_run(&h, 0);
    test_assert(starved(gang) && !runs(other)); /* no plan: the running job has no limit */
    MUST(gang_job_set_time_limit(h.s, endless, HOUR + 100 * SECOND));
    host_run(&h, 0);
    ck_assert_int_eq(host_job_info(&h, gang).planned_ns, HOUR + 100 * SECOND);
    test_assert(!starved(gang) && runs(other));
    MUST(gang_job_set_time_limit(h.s, endless, 0));
    host_run(&h, 0);
    host_run(&h, HOUR);
    test_assert(starved(gang)); /* the plan fell, and the gang waits on */
    host_close(&h);
}
END_TEST

START_TEST(what_the_host_holds_itself_counts)
{
    struct gang_group_spec group = host_gpus(1, 1);
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    struct gang_request *request;
    gang_alloc_id own;
    open_queue(GANG_ORDER_PRIORITY, 0);
    spec.groups = &group;
    spec.group_count = 1;
    MUST(gang_request_new(h.stage.c, &spec, &request, NULL));
    MUST(gang_alloc(h.stage.w, request, &own, NULL));
    gang_job_id gang = put("q", 8, 0);
    host_run(&h, HOUR);
    test_assert(!starved(gang) && runs(put("q", 1, 0)));
    MUST(gang_alloc_free(h.stage.w, own));
    gang_request_free(request);
    host_run(&h, 0);
    host_run(&h, HOUR);
    test_assert(starved(gang));
    host_close(&h);
}
END_TEST

START_TEST(a_job_on_hold_does_not_become_starved)
{
    open_queue(GANG_ORDER_PRIORITY, 0);
    gang_job_id a = put("q", 4, 0), gang = put("q", 8, 0);
    host_run(&h, HOUR / 2);
    MUST(gang_job_hold(h.s, gang));
    host_run(&h, HOUR);
    test_assert(!starved(gang) && runs(put("q", 1, 0)));
    MUST(gang_job_release(h.s, gang));
    host_run(&h, 0);
    host_run(&h, HOUR - 1);
    test_assert(!starved(gang));
    host_run(&h, 1);
    test_assert(starved(gang));
    host_end_job(&h, a);
    host_close(&h);
}
END_TEST

START_TEST(a_gang_that_starts_begins_anew)
{
    open_queue(GANG_ORDER_PRIORITY, 0);
    gang_job_id a = put("q", 4, 0), gang = put("q", 8, 0), next = put("q", 8, 0);
    host_run(&h, HOUR);
    test_assert(starved(gang) && !starved(next));
    host_end_job(&h, a);
    test_assert(runs(gang) && !starved(gang));
    host_run(&h, HOUR - 1);
    test_assert(!starved(next)); /* it had its turn when the other one had started */
    host_run(&h, 1);
    test_assert(starved(next));
    host_close(&h);
}
END_TEST

START_TEST(children_inherit_the_bound)
{
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_error error = GANG_ERROR_INIT;
    host_open(&h, 2, 4);
    q[0].name = "p";
    q[0].max_blocked_ns = 60 * SECOND;
    q[1].name = "q";
    q[1].parent = "p";
    host_queues(&h, q, 2);
    (void)put("q", 6, 0);
    gang_job_id gang = put("q", 8, 0);
    ck_assert_int_eq(gang_sched_next(h.s), 60 * SECOND);
    host_run(&h, 60 * SECOND);
    test_assert(starved(gang));
    q[1].max_blocked_ns = -2;
    EXPECT_ERROR(gang_sched_set_queues(h.s, q, 2, &error), GANG_ERANGE, &error,
                 "queues[1].max_blocked_ns", NULL);
    host_close(&h);
}
END_TEST

START_TEST(a_queue_can_switch_the_bound_off)
{
    open_queue(GANG_ORDER_PRIORITY, -1);
    (void)put("q", 6, 0);
    gang_job_id gang = put("q", 8, 0);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
    host_run(&h, 100 * HOUR);
    test_assert(!starved(gang) && runs(put("q", 1, 0)));
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("max_blocked");
    TCase *t = tcase_create("max_blocked");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_gang_as_large_as_the_cluster_starts_by_default, 0,
                        (int)(sizeof(policies) / sizeof(policies[0])));
    tcase_add_test(t, jobs_of_higher_priority_still_come_first);
    tcase_add_test(t, a_long_backlog_keeps_its_order);
    tcase_add_test(t, a_queue_inside_its_share_passes_a_gang_beyond_its_own);
    tcase_add_test(t, a_queue_that_cannot_reclaim_does_not_pass);
    tcase_add_test(t, a_gang_that_waits_for_a_node_closes_nothing);
    tcase_add_test(t, a_starved_gang_that_gets_a_planned_start_closes_nothing);
    tcase_add_test(t, what_the_host_holds_itself_counts);
    tcase_add_test(t, a_job_on_hold_does_not_become_starved);
    tcase_add_test(t, a_gang_that_starts_begins_anew);
    tcase_add_test(t, children_inherit_the_bound);
    tcase_add_test(t, a_queue_can_switch_the_bound_off);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
