/* SPDX-License-Identifier: Apache-2.0 */
/* core.h: workers and their counters. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
}

static void close_stage(void)
{
    stage_close(&s);
}

static struct gang_worker_stats stats_of(const gang_worker *w)
{
    struct gang_worker_stats stats;
    stats.size = sizeof(stats);
    MUST(gang_worker_get_stats(w, &stats));
    return stats;
}

START_TEST(a_worker_knows_its_cluster)
{
    ck_assert_ptr_eq(gang_worker_cluster(s.w), s.c);
    ck_assert_ptr_null(gang_worker_cluster(NULL));
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    gang_worker *w = s.w;
    ck_assert_int_eq(gang_worker_new(NULL, &w), GANG_EINVAL);
    ck_assert_ptr_null(w);
    ck_assert_int_eq(gang_worker_new(s.c, NULL), GANG_EINVAL);
    gang_worker_free(NULL);
}
END_TEST

START_TEST(no_more_workers_than_max_workers_at_a_time)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_cluster *c;
    gang_worker *w[3], *more = s.w;
    opts.max_workers = 3;
    MUST(gang_cluster_new(&opts, &c, NULL));
    for (int i = 0; i < 3; i++) {
        MUST(gang_worker_new(c, &w[i]));
        for (int k = 0; k < i; k++)
            ck_assert_ptr_ne(w[i], w[k]);
    }
    ck_assert_int_eq(gang_worker_new(c, &more), GANG_ELIMIT);
    ck_assert_ptr_null(more);
    gang_worker_free(w[1]);
    MUST(gang_worker_new(c, &more));
    ck_assert_int_eq(gang_worker_new(c, &w[1]), GANG_ELIMIT);
    gang_cluster_free(c);
}
END_TEST

START_TEST(the_default_is_256_workers)
{
    gang_worker *w;
    for (int i = 1; i < 256; i++) /* the stage has one already */
        MUST(gang_worker_new(s.c, &w));
    ck_assert_int_eq(gang_worker_new(s.c, &w), GANG_ELIMIT);
}
END_TEST

START_TEST(the_memory_of_a_worker_is_reused)
{
    gang_worker *w;
    MUST(gang_worker_new(s.c, &w));
    gang_worker_free(w);
    long live = s.mem.live;
    for (int i = 0; i < 10; i++) {
        MUST(gang_worker_new(s.c, &w));
        gang_worker_free(w);
    }
    ck_assert_int_eq(s.mem.live, live);
}
END_TEST

START_TEST(allocations_stay_when_their_worker_is_returned)
{
    struct box box = {.name = "n1", .cpu = 4000};
    gang_node_id id = stage_add(&s, &box);
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_worker *w;
    gang_alloc_id held;
    MUST(gang_worker_new(s.c, &w));
    MUST(gang_alloc(w, request, &held, NULL));
    gang_worker_free(w);
    gang_request_free(request);
    ck_assert_int_eq(stage_node(&s, id).cpu_free, 3000);
    MUST(gang_alloc_free(s.w, held)); /* any worker may */
    ck_assert_int_eq(stage_node(&s, id).cpu_free, 4000);
}
END_TEST

START_TEST(counters_count_commits_and_refusals)
{
    struct box box = {.name = "n1", .cpu = 4000};
    struct gang_group_spec g = group_of(3, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id, none;
    stage_add(&s, &box);
    struct gang_worker_stats before = stats_of(s.w);
    ck_assert_int_eq(before.refusals, 0);
    MUST(gang_alloc(s.w, request, &id, NULL));
    struct gang_worker_stats now = stats_of(s.w);
    ck_assert_int_eq(now.commits, before.commits + 1);
    ck_assert_int_eq(gang_alloc(s.w, request, &none, NULL), GANG_ENOFIT);
    now = stats_of(s.w);
    ck_assert_int_eq(now.commits, before.commits + 1);
    ck_assert_int_eq(now.refusals, 1);
    ck_assert_int_eq(gang_alloc_test(s.w, request, NULL), GANG_ENOFIT);
    ck_assert_int_eq(stats_of(s.w).refusals, 2);
    MUST(gang_alloc_free(s.w, id));
    now = stats_of(s.w);
    ck_assert_int_eq(now.commits, before.commits + 2);
    ck_assert_int_eq(now.conflicts, 0); /* no other thread is here */
    ck_assert_int_eq(now.helps, 0);
    gang_request_free(request);
}
END_TEST

START_TEST(counters_begin_at_zero_for_each_new_handle)
{
    gang_worker *w;
    struct box box = {.name = "n1"};
    stage_add(&s, &box);
    ck_assert_int_gt(stats_of(s.w).commits, 0);
    gang_worker_free(s.w);
    MUST(gang_worker_new(s.c, &w));
    ck_assert_ptr_eq(w, s.w); /* the same memory, else this test says nothing */
    struct gang_worker_stats stats = stats_of(w);
    ck_assert_int_eq(stats.commits, 0);
    ck_assert_int_eq(stats.refusals, 0);
}
END_TEST

START_TEST(reading_counters_follows_the_size_rule)
{
    struct {
        struct gang_worker_stats known;
        char more[8];
    } longer;
    memset(&longer, 0x5a, sizeof(longer));
    longer.known.size = sizeof(longer);
    MUST(gang_worker_get_stats(s.w, &longer.known));
    ck_assert_uint_eq(longer.known.size, sizeof(longer));
    ck_assert_int_eq(longer.known.helps, 0);
    ck_assert_int_eq(longer.more[7], 0);
    longer.known.size = sizeof(longer.known) - 1;
    ck_assert_int_eq(gang_worker_get_stats(s.w, &longer.known), GANG_EINVAL);
    longer.known.size = 0;
    ck_assert_int_eq(gang_worker_get_stats(s.w, &longer.known), GANG_EINVAL);
    longer.known.size = SIZE_MAX;
    ck_assert_int_eq(gang_worker_get_stats(s.w, &longer.known), GANG_EINVAL);
    ck_assert_int_eq(gang_worker_get_stats(NULL, &longer.known), GANG_EINVAL);
    ck_assert_int_eq(gang_worker_get_stats(s.w, NULL), GANG_EINVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("worker");
    TCase *tests = tcase_create("worker");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, a_worker_knows_its_cluster);
    tcase_add_test(tests, bad_arguments_are_refused);
    tcase_add_test(tests, no_more_workers_than_max_workers_at_a_time);
    tcase_add_test(tests, the_default_is_256_workers);
    tcase_add_test(tests, the_memory_of_a_worker_is_reused);
    tcase_add_test(tests, allocations_stay_when_their_worker_is_returned);
    tcase_add_test(tests, counters_count_commits_and_refusals);
    tcase_add_test(tests, counters_begin_at_zero_for_each_new_handle);
    tcase_add_test(tests, reading_counters_follows_the_size_rule);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
