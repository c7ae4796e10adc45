/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that are made job by job; what is asked of one. */
#include <gangsched/gangsched.h>

#include "support.h"

#define S INT64_C(1000000000)

static gang_trace *trace;
static struct fail_mem mem;

static void open_trace(void)
{
    fail_mem_init(&mem, 0);
    MUST(gang_trace_new(&mem.mem, &trace));
}

static void close_trace(void)
{
    gang_trace_free(trace);
    ck_assert_int_eq(mem.live, 0);
}

static struct gang_trace_job job_with(const char *name, const struct gang_group_spec *group)
{
    struct gang_trace_job job = GANG_TRACE_JOB_INIT;
    job.name = name;
    job.groups = group;
    job.group_count = 1;
    return job;
}

static void add(const char *name, int64_t submit_ns)
{
    struct gang_group_spec group = group_of(2, 1000, 3000);
    struct gang_trace_job job = job_with(name, &group);
    struct gang_error error = GANG_ERROR_INIT;
    job.submit_ns = submit_ns;
    gang_result r = gang_trace_add(trace, &job, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
}

START_TEST(a_made_trace_keeps_all_members_of_its_jobs)
{
    const char *const models[] = {"A100", "H100"};
    struct gang_group_spec groups[] = {group_of(3, 1500, 250), group_of(2, 0, 8000)};
    struct gang_trace_job job = GANG_TRACE_JOB_INIT, got = GANG_TRACE_JOB_INIT;
    groups[0].name = "ps";
    groups[0].min = 1;
    groups[0].memory_bytes = 77;
    groups[0].gpu_devices = 2;
    groups[1].gpu_models = models;
    groups[1].gpu_model_count = 2;
    groups[1].gpu_devices = 8; /* says the same twice */
    job.name = "a job";
    job.queue = "q";
    job.user = "";
    job.submit_ns = -5;
    job.run_ns = 6;
    job.limit_ns = 7;
    job.priority = INT64_MIN;
    job.preemptible = GANG_SEMI_PREEMPTIBLE;
    job.end = GANG_END_DEADLINE;
    job.started_ns = 8;
    job.groups = groups;
    job.group_count = 2;
    MUST(gang_trace_add(trace, &job, NULL));
    memset(groups, 0, sizeof(groups)); /* it was copied */
    ck_assert_int_eq(gang_trace_format(trace), GANG_TRACE_DETECT);
    MUST(gang_trace_get(trace, 0, &got));
    ck_assert_str_eq(got.name, "a job");
    ck_assert_str_eq(got.queue, "q");
    ck_assert_ptr_null(got.user);
    ck_assert_int_eq(got.submit_ns, -5);
    ck_assert_int_eq(got.run_ns, 6);
    ck_assert_int_eq(got.limit_ns, 7);
    ck_assert(got.priority == INT64_MIN);
    ck_assert_int_eq(got.preemptible, GANG_SEMI_PREEMPTIBLE);
    ck_assert_int_eq(got.end, GANG_END_DEADLINE);
    ck_assert_int_eq(got.started_ns, 8);
    ck_assert_uint_eq(got.group_count, 2);
    ck_assert_str_eq(got.groups[0].name, "ps");
    ck_assert_int_eq(got.groups[0].count, 3);
    ck_assert_int_eq(got.groups[0].min, 1);
    ck_assert_int_eq(got.groups[0].cpu_milli, 1500);
    ck_assert_int_eq(got.groups[0].memory_bytes, 77);
    ck_assert_int_eq(got.groups[0].gpu_milli, 250);
    ck_assert_int_eq(got.groups[0].gpu_devices, 2);
    ck_assert_int_eq(got.groups[1].gpu_devices, 0);
    ck_assert_uint_eq(got.groups[1].gpu_model_count, 2);
    ck_assert_str_eq(got.groups[1].gpu_models[1], "H100");
    MUST(gang_trace_add(trace,
                        &(struct gang_trace_job){.size = sizeof(got),
                                                 .name = "again",
                                                 .preemptible = 1,
                                                 .group_size = sizeof(got.groups[0]),
                                                 .groups = got.groups,
                                                 .group_count = 2},
                        NULL)); /* what was got can be put */
}
END_TEST

START_TEST(totals_are_those_of_all_tasks)
{
    struct gang_group_spec groups[] = {group_of(3, 1500, 250), group_of(2, 1, 8000)};
    struct gang_trace_job job = GANG_TRACE_JOB_INIT;
    int64_t value[2];
    groups[0].gpu_devices = 2;
    groups[1].memory_bytes = 5;
    job.groups = groups;
    job.group_count = 2;
    MUST(gang_trace_add(trace, &job, NULL));
    add("b", 9);
    static const int64_t sums[][2] = {{0, 9}, {0, 0},       {0, 0},  {0, 0},
                                      {5, 2}, {4502, 2000}, {10, 0}, {17500, 6000}};
    for (int32_t column = 0; column <= GANG_TRACE_GPU_MILLI; column++) {
        MUST(gang_trace_column(trace, column, 0, 2, value));
        ck_assert_int_eq(value[0], sums[column][0]);
        ck_assert_int_eq(value[1], sums[column][1]);
    }
    MUST(gang_trace_column(trace, GANG_TRACE_STARTED_NS, 1, 1, value));
    ck_assert(value[0] == GANG_TRACE_UNKNOWN);
    MUST(gang_trace_column(trace, GANG_TRACE_RUN_NS, 2, 0, NULL));
    ck_assert_int_eq(gang_trace_column(trace, GANG_TRACE_RUN_NS, 1, 2, value), GANG_ENOENT);
    ck_assert_int_eq(gang_trace_column(trace, GANG_TRACE_RUN_NS, 1, SIZE_MAX, value), GANG_ENOENT);
    ck_assert_int_eq(gang_trace_column(trace, GANG_TRACE_RUN_NS, 3, 0, value), GANG_ENOENT);
    ck_assert_int_eq(gang_trace_column(trace, 9, 0, 1, value), GANG_EINVAL);
    ck_assert_int_eq(gang_trace_column(trace, -1, 0, 1, value), GANG_EINVAL);
    ck_assert_int_eq(gang_trace_column(NULL, 0, 0, 1, value), GANG_EINVAL);
    ck_assert_int_eq(gang_trace_column(trace, 0, 0, 1, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(names_are_unique_and_a_job_without_one_has_its_position)
{
    struct gang_group_spec group = group_of(1, 0, 0);
    struct gang_trace_job job = job_with("2", &group);
    struct gang_error error = GANG_ERROR_INIT;
    size_t index = 9;
    add(NULL, 0);
    add("", 1);
    ck_assert_int_eq(gang_trace_find(trace, "2", &index), GANG_ENOENT);
    ck_assert_uint_eq(index, 0);
    MUST(gang_trace_find(trace, "1", &index));
    ck_assert_uint_eq(index, 1);
    job.name = "3";
    MUST(gang_trace_add(trace, &job, NULL)); /* at position 2 */
    job.name = NULL;
    EXPECT_RESULT(gang_trace_add(trace, &job, &error), GANG_EEXIST, &error); /* position 3 */
    ck_assert_str_eq(error.path, "name");
    job.name = "0";
    EXPECT_RESULT(gang_trace_add(trace, &job, &error), GANG_EEXIST, &error);
    ck_assert_uint_eq(gang_trace_count(trace), 3);
    ck_assert_int_eq(gang_trace_find(NULL, "0", &index), GANG_EINVAL);
    ck_assert_int_eq(gang_trace_find(trace, NULL, &index), GANG_EINVAL);
    ck_assert_int_eq(gang_trace_find(trace, "0", NULL), GANG_EINVAL);
}
END_TEST

/* ---- what it costs ----------------------------------------------------------------------------
 * */

static size_t bytes_live;

static void *count_alloc(size_t bytes, void *user)
{
    (void)user;
    size_t *block = malloc(bytes + 16);
    if (!block)
        return NULL;
    *block = bytes;
    bytes_live += bytes;
    return (char *)block + 16;
}

static void count_release(void *memory, void *user)
{
    (void)user;
    size_t *block = (size_t *)((char *)memory - 16);
    bytes_live -= *block;
    free(block);
}

START_TEST(a_job_costs_some_hundred_bytes)
{
    enum { MANY = 20000 };
    struct gang_mem counting = {sizeof(counting), count_alloc, count_release, NULL};
    char name[16];
    size_t index;
    gang_trace_free(trace);
    MUST(gang_trace_new(&counting, &trace));
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "%d", i * 3 + 1);
        add(name, i);
    }
    printf("%zu bytes for %d jobs\n", bytes_live, MANY);
    ck_assert_uint_lt(bytes_live, (size_t)MANY * 100);
    for (int i = 0; i < MANY; i++) {
        struct gang_trace_job job = GANG_TRACE_JOB_INIT;
        snprintf(name, sizeof(name), "%d", i * 3 + 1);
        test_assert(gang_trace_find(trace, name, &index) == GANG_OK && index == (size_t)i);
        test_assert(gang_trace_get(trace, index, &job) == GANG_OK);
        test_assert(job.submit_ns == i && strcmp(job.name, name) == 0);
    }
    ck_assert_int_eq(gang_trace_find(trace, "2", &index), GANG_ENOENT);
    gang_trace_free(trace);
    ck_assert_uint_eq(bytes_live, 0);
    MUST(gang_trace_new(&mem.mem, &trace));
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

static void refused(const struct gang_trace_job *job, gang_result result, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_trace_add(trace, job, &error);
    ck_assert_msg(r == result && strcmp(error.path, path) == 0, "%s '%s': %s, not %s '%s'",
                  gang_result_name(r), error.path, error.text, gang_result_name(result), path);
    ck_assert_uint_eq(gang_trace_count(trace), 0);
}

#define REFUSED(change, result, path)                      \
    do {                                                   \
        struct gang_group_spec group = group_of(2, 0, 0);  \
        struct gang_trace_job job = job_with("x", &group); \
        change;                                            \
        refused(&job, result, path);                       \
    } while (0)

START_TEST(wrong_jobs_are_refused_with_the_member)
{
    char name[300];
    const char *const models[] = {""};
    const char *const many[65] = {"m"};
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    REFUSED(job.size = 8, GANG_EINVAL, "size");
    REFUSED(job.name = name, GANG_ELIMIT, "name");
    REFUSED(job.name = "a\nb", GANG_EINVAL, "name");
    REFUSED(job.name = "a\xff", GANG_EINVAL, "name");
    REFUSED(job.queue = "\x7f", GANG_EINVAL, "queue");
    REFUSED(job.user = name, GANG_ELIMIT, "user");
    REFUSED(job.submit_ns = INT64_MIN, GANG_ERANGE, "submit_ns");
    REFUSED(job.run_ns = -1, GANG_ERANGE, "run_ns");
    REFUSED(job.run_ns = INT64_MAX, GANG_ERANGE, "run_ns");
    REFUSED(job.limit_ns = -1, GANG_ERANGE, "limit_ns");
    REFUSED(job.started_ns = INT64_MAX, GANG_ERANGE, "started_ns");
    REFUSED(job.preemptible = 3, GANG_EINVAL, "preemptible");
    REFUSED(job.end = 9, GANG_EINVAL, "end");
    REFUSED(job.group_count = 0, GANG_EINVAL, "groups");
    REFUSED(job.groups = NULL, GANG_EINVAL, "groups");
    REFUSED(job.group_count = 4096, GANG_ELIMIT, "groups");
    REFUSED(job.group_size = 8, GANG_EINVAL, "group_size");
    REFUSED(group.size = 8, GANG_EINVAL, "groups[0].size");
    REFUSED(group.size += 8, GANG_EINVAL, "groups[0].size");
    REFUSED(group.count = 0, GANG_ERANGE, "groups[0].count");
    REFUSED(group.count = (1 << 24) + 1, GANG_ERANGE, "groups[0].count");
    REFUSED(group.min = 3, GANG_ERANGE, "groups[0].min");
    REFUSED(group.min = 0, GANG_EINVAL, "groups");
    REFUSED(group.cpu_milli = -1, GANG_ERANGE, "groups[0].cpu_milli");
    REFUSED(group.memory_bytes = INT64_MAX, GANG_ERANGE, "groups[0].memory_bytes");
    REFUSED(group.gpu_milli = 1500, GANG_EINVAL, "groups[0].gpu_milli");
    REFUSED(group.gpu_milli = 65000, GANG_ERANGE, "groups[0].gpu_milli");
    REFUSED(group.gpu_devices = 1, GANG_EINVAL, "groups[0].gpu_devices");
    REFUSED((group.gpu_milli = 2000, group.gpu_devices = 1), GANG_EINVAL, "groups[0].gpu_devices");
    REFUSED((group.gpu_models = models, group.gpu_model_count = 1), GANG_EINVAL,
            "groups[0].gpu_models");
    REFUSED((group.gpu_models = many, group.gpu_model_count = 65), GANG_ELIMIT,
            "groups[0].gpu_models");
    REFUSED(group.gpu_model_count = 1, GANG_EINVAL, "groups[0].gpu_models");
    REFUSED((group.count = group.min = 1 << 24, group.memory_bytes = INT64_C(1) << 51), GANG_ERANGE,
            "groups");
    ck_assert_int_eq(gang_trace_add(NULL, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_trace_add(trace, NULL, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(a_member_that_no_trace_keeps_is_not_supported)
{
    struct gang_amount amount = {0};
    struct gang_label_rule rule = {0};
    REFUSED(group.gpu_memory_bytes = 1, GANG_ENOTSUP, "groups[0].gpu_memory_bytes");
    REFUSED((group.amounts = &amount, group.amount_count = 1), GANG_ENOTSUP, "groups[0].amounts");
    REFUSED((group.labels = &rule, group.label_count = 1), GANG_ENOTSUP, "groups[0].labels");
    REFUSED(group.partition = "p\n", GANG_EINVAL, "groups[0].partition");
    REFUSED(group.same = "rack", GANG_ENOTSUP, "groups[0].same");
    REFUSED(group.prefer = "rack", GANG_ENOTSUP, "groups[0].prefer");
    REFUSED(group.group_set = 0, GANG_ENOTSUP, "groups[0].set");
    REFUSED(group.numa = 1, GANG_ENOTSUP, "groups[0].numa");
    REFUSED(group.where = "a", GANG_ENOTSUP, "groups[0].where");
    REFUSED(group.profile = "1g", GANG_ENOTSUP, "groups[0].profile");
    REFUSED(group.near_nic = 1, GANG_ENOTSUP, "groups[0].near_nic");
    REFUSED(group.models_ranked = 1, GANG_ENOTSUP, "groups[0].models_ranked");
    REFUSED(group.subgroup_size = 1, GANG_ENOTSUP, "groups[0].slice");
    REFUSED(group.subgroup_prefer = "rack", GANG_ENOTSUP, "groups[0].subgroup_same");
    REFUSED(group.spread = "rack", GANG_ENOTSUP, "groups[0].spread");
    REFUSED(group.max_skew = 1, GANG_ENOTSUP, "groups[0].spread");
    REFUSED(group.max_per_node = 1, GANG_ENOTSUP, "groups[0].max_per_node");
    REFUSED(group.domain_level = "rack", GANG_ENOTSUP, "groups[0].max_per_domain");
    REFUSED(group.spread_soft = 1, GANG_ENOTSUP, "groups[0].spread_soft");
    REFUSED(group.same_devices = 1, GANG_ENOTSUP, "groups[0].same_devices");
}
END_TEST

START_TEST(asking_past_the_end)
{
    struct gang_trace_job job = GANG_TRACE_JOB_INIT;
    ck_assert_int_eq(gang_trace_get(trace, 0, &job), GANG_ENOENT);
    ck_assert_int_eq(gang_trace_get(NULL, 0, &job), GANG_EINVAL);
    ck_assert_int_eq(gang_trace_get(trace, 0, NULL), GANG_EINVAL);
    add("a", 0);
    job.size = 8;
    ck_assert_int_eq(gang_trace_get(trace, 0, &job), GANG_EINVAL);
    ck_assert_uint_eq(gang_trace_count(NULL), 0);
    ck_assert_uint_eq(gang_trace_skipped(NULL), 0);
    ck_assert_int_eq(gang_trace_format(NULL), GANG_TRACE_DETECT);
    ck_assert_int_eq(gang_trace_new(NULL, NULL), GANG_EINVAL);
    gang_trace_free(NULL);
}
END_TEST

START_TEST(a_newer_caller_is_served)
{
    struct {
        struct gang_trace_job job;
        int64_t more;
    } newer = {GANG_TRACE_JOB_INIT, 5};
    struct gang_group_spec group = group_of(1, 0, 0);
    add("a", 3);
    newer.job.size = sizeof(newer);
    MUST(gang_trace_get(trace, 0, &newer.job));
    ck_assert_int_eq(newer.more, 0);
    ck_assert_uint_eq(newer.job.size, sizeof(newer));
    newer.job.name = "b";
    newer.job.groups = &group;
    MUST(gang_trace_add(trace, &newer.job, NULL));
    newer.more = 1;
    newer.job.name = "c";
    ck_assert_int_eq(gang_trace_add(trace, &newer.job, NULL), GANG_E2BIG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    TCase *tcase = tcase_create("made");
    tcase_add_checked_fixture(tcase, open_trace, close_trace);
    tcase_add_test(tcase, a_made_trace_keeps_all_members_of_its_jobs);
    tcase_add_test(tcase, totals_are_those_of_all_tasks);
    tcase_add_test(tcase, names_are_unique_and_a_job_without_one_has_its_position);
    tcase_add_test(tcase, a_job_costs_some_hundred_bytes);
    tcase_add_test(tcase, wrong_jobs_are_refused_with_the_member);
    tcase_add_test(tcase, a_member_that_no_trace_keeps_is_not_supported);
    tcase_add_test(tcase, asking_past_the_end);
    tcase_add_test(tcase, a_newer_caller_is_served);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
