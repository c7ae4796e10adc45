/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs in topology domains: an elastic gang starts, on every path, where most of its tasks fit; a
 * job waits for its preferred domains until prefer_wait_ns has passed. */
#include "sched/forecast_host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

/* A rack of each size: nodes of four GPUs, "n0", "n1", ... in racks "r0", "r1", ... */
static void open_racks(const int *nodes, int racks, const struct gang_queue_spec *queue,
                       size_t queues)
{
    static const char *const levels[] = {"rack"};
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    int number = 0;
    memset(&h, 0, sizeof(h));
    stage_open(&h.stage, levels, 1);
    for (int rack = 0; rack < racks; rack++)
        for (int i = 0; i < nodes[rack]; i++, number++) {
            char name[16], place[16];
            snprintf(name, sizeof(name), "n%d", number);
            snprintf(place, sizeof(place), "r%d", rack);
            struct gang_label at = {"rack", place};
            struct box box = {.name = name,
                              .cpu = 8000,
                              .memory = 64 * GIB,
                              .gpus = 4,
                              .place = &at,
                              .place_count = 1};
            stage_add(&h.stage, &box);
        }
    opts.mem = &h.stage.mem.mem;
    MUST(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, NULL));
    host_queues(&h, queue, queues);
}

static struct gang_queue_spec queue_of(const char *name)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = name;
    return q;
}

static bool runs(gang_job_id id)
{
    return host_has(&h, id) && host_job_state(&h, id) == GANG_JOB_RUNNING;
}

/* How many tasks of a job are on the nodes [from, end). */
static int tasks_on(gang_job_id id, int from, int end)
{
    int n = 0;
    for (int64_t task = 0; task < host_tasks(&h, id); task++)
        for (int i = from; i < end; i++)
            n += host_node_of(&h, id, task) == host_node(&h, i);
    return n;
}

/* Fills one node with a job, on which nothing else then fits. */
static gang_job_id fill(const char *node, const char *queue, int64_t priority, int64_t limit_s)
{
    struct gang_group_spec g = host_gpus(4, 4);
    char where[32];
    snprintf(where, sizeof(where), "node = %s", node);
    g.where = where;
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = queue;
    job.priority = priority;
    job.time_limit_ns = limit_s * SECOND;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 0);
    test_assert(runs(id));
    return id;
}

/* ---- elastic gangs --------------------------------------------------------------------------- */

/* One to eight tasks in one rack. */
static gang_job_id submit_elastic(const char *queue, int64_t priority, bool required)
{
    struct gang_job_spec *job = host_spec(queue, 8, 1, priority);
    job->request.same = required ? "rack" : NULL;
    job->request.prefer = required ? NULL : "rack";
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    return id;
}

START_TEST(an_elastic_gang_starts_where_all_its_tasks_fit)
{
    struct gang_queue_spec q = queue_of("q");
    open_racks((int[]){1, 2}, 2, &q, 1);
    gang_job_id id = submit_elastic("q", 0, _i);
    ck_assert_int_eq(host_tasks(&h, id), 8);
    ck_assert_int_eq(tasks_on(id, 1, 3), 8);
    host_close(&h);
}
END_TEST

/* Rack r1 is full of a queue above its guarantee, rack r0 of one that is inside it. */
START_TEST(an_elastic_gang_reclaims_where_it_can)
{
    struct gang_quota gpus = {"gpu", 4000, NULL, 0, 0}, more = {"gpu", 8000, NULL, 0, 0};
    struct gang_queue_spec q[] = {queue_of("a"), queue_of("b"), queue_of("c")};
    q[0].guaranteed = &gpus;
    q[1].guaranteed = &more;
    q[0].guaranteed_count = q[1].guaranteed_count = 1;
    open_racks((int[]){1, 2}, 2, q, 3);
    gang_job_id a = fill("n0", "a", 0, 0), c = fill("n1", "c", 0, 0), d = fill("n2", "c", 0, 0);
    gang_job_id id = submit_elastic("b", 0, true);
    for (int i = 0; i < 8; i++)
        host_run(&h, SECOND);
    test_assert(runs(a) && !runs(c) && !runs(d));
    ck_assert_int_eq(tasks_on(id, 1, 3), 8);
    host_close(&h);
}
END_TEST

/* All nodes end at once, and a forecast says the same as the schedule. */
START_TEST(a_planned_elastic_gang_starts_where_all_its_tasks_fit)
{
    struct gang_queue_spec q = queue_of("q");
    q.backfill = GANG_BACKFILL_CONSERVATIVE;
    open_racks((int[]){1, 2}, 2, &q, 1);
    for (int i = 0; i < 3; i++)
        fill((const char *const[]){"n0", "n1", "n2"}[i], "q", 0, 50);
    gang_job_id id = submit_elastic("q", 0, true);
    test_assert(!runs(id));
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_of(f, id), 50 * SECOND);
    gang_forecast_free(f);
    host_run(&h, 50 * SECOND);
    host_run(&h, SECOND);
    ck_assert_int_eq(tasks_on(id, 1, 3), 8);
    host_close(&h);
}
END_TEST

/* ---- prefer_wait_ns -------------------------------------------------------------------------- */

/* Racks of two nodes; n1 and n3 are full, so eight tasks fit in no rack, but anywhere. */
static gang_job_id blocker[2];

static void open_half_full(int64_t first_limit_s, int64_t second_limit_s)
{
    struct gang_queue_spec q = queue_of("q");
    open_racks((int[]){2, 2}, 2, &q, 1);
    blocker[0] = fill("n1", "q", 5, first_limit_s);
    blocker[1] = fill("n3", "q", 5, second_limit_s);
}

/* Eight tasks that wait for a rack for so long. */
static gang_job_id submit_waiting(int64_t wait_s, int64_t priority)
{
    struct gang_job_spec *job = host_spec("q", 8, 8, priority);
    job->request.prefer = "rack";
    job->prefer_wait_ns = wait_s * SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    return id;
}

static struct gang_wait seen;
static char seen_text[256];

static int32_t see_first(const struct gang_wait *wait, void *user)
{
    (void)user;
    if (!seen.reason) {
        seen = *wait;
        snprintf(seen_text, sizeof(seen_text), "%s", wait->text);
    }
    return 0;
}

START_TEST(without_a_wait_a_job_takes_any_place)
{
    open_half_full(0, 0);
    test_assert(runs(submit_waiting(0, 0)));
    host_close(&h);
}
END_TEST

START_TEST(a_job_starts_in_its_domain_when_that_gets_free)
{
    open_half_full(0, 0);
    gang_job_id id = submit_waiting(60, 0);
    test_assert(!runs(id));
    host_run(&h, 30 * SECOND);
    host_end_job(&h, blocker[1]);
    test_assert(runs(id));
    ck_assert_int_eq(tasks_on(id, 2, 4), 8);
    host_close(&h);
}
END_TEST

/* The scheduler wakes up exactly then; before, the job is passed by one that fits. */
START_TEST(a_job_takes_any_place_when_its_wait_ends)
{
    open_half_full(0, 0);
    host_run(&h, 7 * SECOND);
    gang_job_id id = submit_waiting(60, 0);
    seen.reason = 0;
    MUST(gang_job_explain(h.s, id, see_first, NULL));
    ck_assert_int_eq(seen.reason, GANG_WAIT_PREFER);
    ck_assert_int_eq(seen.category, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(seen.until_ns, 67 * SECOND);
    ck_assert_str_eq(seen_text, "its preferred domains have no place now; it takes any place in 60 "
                                "seconds");
    ck_assert_int_eq(gang_sched_next(h.s), 67 * SECOND);
    host_run(&h, 60 * SECOND - 1);
    test_assert(!runs(id));
    ck_assert_int_eq(gang_sched_next(h.s), 67 * SECOND);
    host_run(&h, 1);
    test_assert(runs(id));
    ck_assert_int_eq(tasks_on(id, 0, 2), 4);
    host_close(&h);
}
END_TEST

/* From the submission on, also for a job that is held; and after the wait for good. */
START_TEST(the_wait_begins_with_the_submission)
{
    open_half_full(0, 0);
    struct gang_job_spec *job = host_spec("q", 8, 8, 0);
    job->request.prefer = "rack";
    job->prefer_wait_ns = 60 * SECOND;
    job->hold = 1;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    host_run(&h, 60 * SECOND);
    test_assert(!runs(id));
    MUST(gang_job_release(h.s, id));
    host_run(&h, 0);
    test_assert(runs(id));
    MUST(gang_job_requeue(h.s, id));
    host_run(&h, 0);
    host_run(&h, SECOND);
    test_assert(runs(id));
    host_close(&h);
}
END_TEST

START_TEST(nothing_is_preempted_while_a_job_waits_for_its_domain)
{
    open_half_full(0, 0);
    gang_job_id third = fill("n2", "q", 5, 0), id = submit_waiting(60, 9);
    host_run(&h, 59 * SECOND);
    test_assert(!runs(id) && runs(blocker[0]) && runs(blocker[1]) && runs(third));
    host_run(&h, SECOND);
    host_run(&h, SECOND);
    test_assert(runs(id));
    test_assert(runs(blocker[0]) + runs(blocker[1]) + runs(third) == 2);
    host_close(&h);
}
END_TEST

/* A gang that started in its domain grows where capacity is. */
START_TEST(growth_does_not_wait)
{
    struct gang_queue_spec q = queue_of("q");
    open_racks((int[]){1, 1}, 2, &q, 1);
    struct gang_job_spec *job = host_spec("q", 6, 2, 0);
    job->request.prefer = "rack";
    job->prefer_wait_ns = 60 * SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, id), 6);
    host_close(&h);
}
END_TEST

/* A set and groups that prefer bind, too: each group by itself waits for a rack. */
START_TEST(preferences_of_groups_and_sets_bind)
{
    struct gang_queue_spec q = queue_of("q");
    open_racks((int[]){1, 1, 1}, 3, &q, 1);
    gang_job_id full = fill("n2", "q", 0, 0);
    struct gang_group_spec g[] = {host_gpus(3, 3), host_gpus(3, 3)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_job_spec job = host_job(g, 2);
    job.queue = "q";
    job.prefer_wait_ns = 60 * SECOND;
    g[0].prefer = g[1].prefer = "rack";
    g[1].name = "other";
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 0);
    test_assert(runs(id));
    MUST(gang_job_cancel(h.s, id));
    host_run(&h, 0);
    g[0].prefer = g[1].prefer = NULL;
    g[0].group_set = g[1].group_set = 0;
    set.prefer = "rack"; /* six tasks are too many for any rack */
    job.request.group_sets = &set;
    job.request.group_set_count = 1;
    id = host_submit(&h, &job);
    host_run(&h, 0);
    host_end_job(&h, full);
    test_assert(!runs(id));
    host_run(&h, 60 * SECOND);
    test_assert(runs(id));
    host_close(&h);
}
END_TEST

/* The first blocker ends at its limit: before the wait ends, or after it. */
START_TEST(a_forecast_foretells_both_ends_of_the_wait)
{
    int64_t limit = _i ? 40 : 400;
    open_half_full(limit, 0);
    gang_job_id id = submit_waiting(60, 0);
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_of(f, id), (_i ? 40 : 60) * SECOND);
    gang_forecast_free(f);
    host_run(&h, 39 * SECOND);
    f = foretell(&h, NULL);
    ck_assert_int_eq(start_of(f, id), (_i ? 40 : 60) * SECOND);
    gang_forecast_free(f);
    if (_i) {
        host_run(&h, SECOND);
        host_run(&h, 0);
        test_assert(runs(id));
        ck_assert_int_eq(tasks_on(id, 0, 2), 8);
    }
    host_close(&h);
}
END_TEST

START_TEST(a_wrong_wait_is_refused)
{
    open_half_full(0, 0);
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_job_spec *job = host_spec("q", 1, 1, 0);
    gang_job_id id;
    job->prefer_wait_ns = -1;
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_ERANGE, &error, "prefer_wait_ns",
                 NULL);
    job->prefer_wait_ns = INT64_MAX; /* without `prefer` it has no effect */
    id = host_submit(&h, job);
    host_run(&h, 0);
    test_assert(runs(id));
    host_close(&h);
}
END_TEST

/* Each allocation fails in turn: then the job is refused, or later runs do the rest. */
START_TEST(no_memory_is_a_result)
{
    for (long at = 1;; at++) {
        gang_job_id id = GANG_ID_NONE;
        open_half_full(0, 0);
        struct gang_job_spec *job = host_spec("q", 8, 8, 0);
        job->request.prefer = "rack";
        job->prefer_wait_ns = 60 * SECOND;
        h.stage.mem.fail_at = h.stage.mem.calls = 0;
        h.stage.mem.fail_at = at;
        gang_result r = gang_job_submit(h.s, job, &id, NULL);
        if (r == GANG_OK) {
            (void)!gang_sched_run(h.s, h.now_ns, NULL, NULL);
            h.now_ns += 60 * SECOND;
            (void)!gang_sched_run(h.s, h.now_ns, NULL, NULL);
        }
        bool all = h.stage.mem.calls < at;
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        host_run(&h, SECOND);
        host_run(&h, SECOND);
        test_assert(r != GANG_OK || runs(id));
        host_close(&h);
        if (all)
            break;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gang_domains");
    TCase *elastic = tcase_create("elastic"), *wait = tcase_create("prefer_wait");
    tcase_set_timeout(wait, 60);
    tcase_add_loop_test(elastic, an_elastic_gang_starts_where_all_its_tasks_fit, 0, 2);
    tcase_add_test(elastic, an_elastic_gang_reclaims_where_it_can);
    tcase_add_test(elastic, a_planned_elastic_gang_starts_where_all_its_tasks_fit);
    tcase_add_test(wait, without_a_wait_a_job_takes_any_place);
    tcase_add_test(wait, a_job_starts_in_its_domain_when_that_gets_free);
    tcase_add_test(wait, a_job_takes_any_place_when_its_wait_ends);
    tcase_add_test(wait, the_wait_begins_with_the_submission);
    tcase_add_test(wait, nothing_is_preempted_while_a_job_waits_for_its_domain);
    tcase_add_test(wait, growth_does_not_wait);
    tcase_add_test(wait, preferences_of_groups_and_sets_bind);
    tcase_add_loop_test(wait, a_forecast_foretells_both_ends_of_the_wait, 0, 2);
    tcase_add_test(wait, a_wrong_wait_is_refused);
    tcase_add_test(wait, no_memory_is_a_result);
    suite_add_tcase(suite, elastic);
    suite_add_tcase(suite, wait);
    return run_suite(suite);
}
