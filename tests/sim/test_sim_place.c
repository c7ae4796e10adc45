/* SPDX-License-Identifier: Apache-2.0 */
/* Op place: a host scores the nodes for each job of a simulation. */
#include "sim/simulated.h"

#define JOBS 8

/* What a job wants: the node with this number, or none. */
struct wish {
    gang_node_id node;
    int calls;
};

struct host {
    struct wish wish[JOBS];
    int64_t run_s[JOBS];
    size_t seen;
    int32_t answer; /* of op place */
};

static struct simulated s;
static struct host host;

static int32_t score(int32_t group, const struct gang_candidate *candidates, size_t candidate_size,
                     size_t count, int64_t *scores, void *user)
{
    struct wish *wish = user;
    const char *at = (const char *)candidates;
    ck_assert_int_eq(group, 0);
    wish->calls++;
    for (size_t i = 0; i < count; i++, at += candidate_size) {
        const struct gang_candidate *c = (const struct gang_candidate *)(const void *)at;
        scores[i] = c->node == wish->node ? 1 : INT64_MIN;
    }
    return 0;
}

static int32_t place(size_t index, int64_t run_ns, struct gang_job_spec *job, void *user)
{
    struct host *h = user;
    ck_assert_uint_lt(index, JOBS);
    h->seen++;
    h->run_s[index] = run_ns / SECOND;
    if (h->wish[index].node == GANG_ID_NONE)
        return h->answer;
    job->request.policy = GANG_POLICY_HOST;
    job->request.score = score;
    job->request.score_user = &h->wish[index];
    return h->answer;
}

static gang_node_id node_of(int number)
{
    char name[8];
    gang_node_id id;
    snprintf(name, sizeof(name), "n%d", number);
    MUST(gang_node_find(s.stage.c, name, &id));
    return id;
}

static void begin(void)
{
    memset(&host, 0, sizeof(host));
    for (size_t i = 0; i < JOBS; i++)
        host.wish[i].node = GANG_ID_NONE;
    sim_open(&s, 3, 8);
    s.opts.record = GANG_SIM_RECORD_ALLOCATIONS;
    s.ops.place = place;
}

static void end(void)
{
    sim_close(&s);
}

/* The node of the only row of a job. */
static gang_node_id where(const gang_sim *sim, size_t index)
{
    gang_node_id found = GANG_ID_NONE;
    for (size_t i = 0; i < gang_sim_allocation_count(sim); i++) {
        struct gang_sim_allocation a = {.size = sizeof(a)};
        MUST(gang_sim_get_allocation(sim, i, &a));
        if (a.index == index) {
            ck_assert_uint_eq(found, GANG_ID_NONE);
            found = a.node;
        }
    }
    return found;
}

static size_t submit_one(gang_sim *sim, gang_result result)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(1, 0, 1000);
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    size_t index = SIZE_MAX;
    job.request.groups = &g;
    job.request.group_count = 1;
    EXPECT_RESULT(gang_sim_submit(sim, &job, 7 * SECOND, &index, &error), result, &error);
    return index;
}

START_TEST(the_host_chooses_the_node_of_each_job)
{
    sim_job(&s, 0, 10, 1);
    sim_job(&s, 0, 20, 1);
    sim_job(&s, 0, 30, 1);
    sim_make(&s, &host);
    host.wish[0].node = node_of(2);
    host.wish[1].node = node_of(1);
    sim_run(&s, 0);
    size_t more = submit_one(s.sim, GANG_OK);
    ck_assert_uint_eq(more, 3);
    sim_run(&s, -1);
    ck_assert_uint_eq(where(s.sim, 0), node_of(2));
    ck_assert_uint_eq(where(s.sim, 1), node_of(1));
    ck_assert_uint_ne(where(s.sim, 2), GANG_ID_NONE); /* as the cluster places */
    ck_assert_uint_eq(host.seen, 4);
    ck_assert_int_eq(host.run_s[0], 10);
    ck_assert_int_eq(host.run_s[1], 20);
    ck_assert_int_eq(host.run_s[more], 7);
}
END_TEST

START_TEST(a_submitted_job_is_placed_by_the_host_too)
{
    sim_make(&s, &host);
    host.wish[0].node = node_of(1);
    size_t index = submit_one(s.sim, GANG_OK);
    sim_run(&s, -1);
    ck_assert_uint_eq(where(s.sim, index), node_of(1));
}
END_TEST

START_TEST(a_job_waits_for_the_node_that_the_host_insists_on)
{
    sim_job(&s, 0, 10, 8);
    sim_job(&s, 0, 10, 8);
    sim_make(&s, &host);
    host.wish[0].node = host.wish[1].node = node_of(1);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).start_ns, 0);
    ck_assert_time(sim_get(&s, 1).start_ns, 10);
    ck_assert_uint_eq(where(s.sim, 1), node_of(1));
}
END_TEST

START_TEST(the_host_overrides_consolidated_placement)
{
    s.opts.place = GANG_SIM_PLACE_CONSOLIDATED;
    sim_job(&s, 0, 10, 4);
    sim_job(&s, 1, 10, 4);
    sim_make(&s, &host);
    host.wish[1].node = node_of(2);
    sim_run(&s, -1);
    ck_assert_uint_ne(where(s.sim, 0), node_of(2)); /* consolidated: the first of the emptiest */
    ck_assert_uint_eq(where(s.sim, 1), node_of(2));
}
END_TEST

START_TEST(an_answer_other_than_0_ends_the_run_and_the_submission)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_sim_bounds bounds = GANG_SIM_BOUNDS_INIT;
    sim_job(&s, 0, 10, 1);
    sim_make(&s, &host);
    host.wish[0].node = node_of(2);
    host.answer = -3;
    ck_assert_int_eq(gang_sim_run(s.sim, &bounds, NULL, &error), -3);
    ck_assert_int_eq(host.wish[0].calls, 0);
    ck_assert_uint_eq(submit_one(s.sim, -3), SIZE_MAX);
    host.answer = 0;
    sim_run(&s, -1);
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    MUST(gang_sim_get_info(s.sim, &info));
    ck_assert_int_eq(info.jobs, 1);
    ck_assert_int_eq(info.ended, 1);
}
END_TEST

START_TEST(a_fork_keeps_the_places_of_waiting_jobs)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *cluster;
    gang_sim *fork;
    sim_job(&s, 0, 10, 8);
    sim_job(&s, 0, 10, 8);
    sim_make(&s, &host);
    host.wish[0].node = host.wish[1].node = node_of(1);
    sim_run(&s, 0);
    gang_node_id wanted = node_of(1);
    MUST(gang_sim_fork(s.sim, &s.ops, &host, &cluster, &fork, &error));
    host.wish[2].node = node_of(2);
    size_t third = submit_one(fork, GANG_OK);
    struct gang_sim_bounds bounds = GANG_SIM_BOUNDS_INIT;
    MUST(gang_sim_run(fork, &bounds, NULL, &error));
    ck_assert_uint_eq(where(fork, 1), wanted);
    ck_assert_uint_eq(where(fork, third), host.wish[2].node);
    gang_sim_free(fork);
    gang_cluster_free(cluster);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_place");
    TCase *tests = tcase_create("place");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, the_host_chooses_the_node_of_each_job);
    tcase_add_test(tests, a_submitted_job_is_placed_by_the_host_too);
    tcase_add_test(tests, a_job_waits_for_the_node_that_the_host_insists_on);
    tcase_add_test(tests, the_host_overrides_consolidated_placement);
    tcase_add_test(tests, an_answer_other_than_0_ends_the_run_and_the_submission);
    tcase_add_test(tests, a_fork_keeps_the_places_of_waiting_jobs);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
