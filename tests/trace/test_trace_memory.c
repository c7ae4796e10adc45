/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out: every allocation of reading, of adding and of writing fails in turn, alone
 * or with all that come after it. The call says so, nothing leaks, and what there was is as it
 * was. */
#include <gangsched/gangsched.h>

#include "support.h"

#include "trace/trace_same.h"
#include "trace/trace_texts.h"

/* _i: the text, and whether all later allocations fail, too */
START_TEST(reading_fails_whole_at_each_allocation)
{
    const struct trace_text *of = &trace_texts[_i / 2];
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    struct fail_mem mem;
    gang_trace *trace = NULL;
    opts.mem = &mem.mem;
    long n = 0;
    gang_result r = GANG_ENOMEM;
    for (n = 1; r != GANG_OK; n++) {
        struct gang_error error = GANG_ERROR_INIT;
        fail_mem_init(&mem, n);
        mem.fail_on = _i % 2;
        r = gang_trace_read(of->text, strlen(of->text), &opts, &trace, &error);
        if (r == GANG_OK)
            break;
        ck_assert_msg(r == GANG_ENOMEM, "allocation %ld: %s: %s", n, gang_result_name(r),
                      error.text);
        ck_assert_int_eq(error.code, GANG_ENOMEM);
        ck_assert_ptr_null(trace);
        ck_assert_int_eq(mem.live, 0);
    }
    ck_assert_int_gt(n, 8);
    ck_assert_uint_eq(gang_trace_count(trace), of->jobs);
    gang_trace_free(trace);
    ck_assert_int_eq(mem.live, 0);
}
END_TEST

/* ---- adding ------------------------------------------------------------------------------------
 * */

static struct fail_mem mem;
static gang_trace *trace;

/* The i-th job; every one brings words, models or groups of its own. */
static gang_result add(size_t i)
{
    char name[32], queue[32], model[32];
    const char *models[] = {model, "common"};
    struct gang_group_spec groups[3] = {group_of(1, 0, 0), group_of(1, 0, 1000),
                                        group_of(2, 0, 500)};
    struct gang_trace_job job = GANG_TRACE_JOB_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    snprintf(name, sizeof(name), "job %zu", i);
    snprintf(queue, sizeof(queue), "queue %zu", i % 40);
    snprintf(model, sizeof(model), "model %zu", i / 7);
    job.name = i % 3 ? name : NULL;
    job.queue = queue;
    job.user = "ann";
    job.groups = groups;
    job.group_count = 1 + i % 3;
    groups[0].name = queue;
    groups[1].cpu_milli = (int64_t)(i / 2);
    groups[1].gpu_models = models;
    groups[1].gpu_model_count = 2;
    gang_result r = gang_trace_add(trace, &job, &error);
    ck_assert_int_eq(error.code, r);
    return r;
}

/* The members of each job. */
static void check_jobs(size_t count)
{
    ck_assert_uint_eq(gang_trace_count(trace), count);
    for (size_t i = 0; i < count; i++) {
        struct gang_trace_job job = GANG_TRACE_JOB_INIT;
        char name[32];
        size_t index;
        snprintf(name, sizeof(name), i % 3 ? "job %zu" : "%zu", i);
        MUST(gang_trace_find(trace, name, &index));
        test_assert(index == i);
        MUST(gang_trace_get(trace, i, &job));
        test_assert(job.group_count == 1 + i % 3);
    }
}

START_TEST(a_failed_addition_changes_nothing)
{
    enum { MANY = 1200 };
    long failures = 0;
    fail_mem_init(&mem, 0);
    MUST(gang_trace_new(&mem.mem, &trace));
    for (size_t i = 0; i < MANY; i++) {
        /* each allocation of this job fails once */
        for (long n = 1;; n++, failures++) {
            mem.fail_at = mem.calls + n;
            gang_result r = add(i);
            if (r == GANG_OK)
                break;
            ck_assert_int_eq(r, GANG_ENOMEM);
            ck_assert_uint_eq(gang_trace_count(trace), i);
        }
        if (i % 100 == 0)
            check_jobs(i + 1);
    }
    mem.fail_at = 0;
    check_jobs(MANY);
    ck_assert_int_gt(failures, MANY);
    gang_trace_free(trace);
    ck_assert_int_eq(mem.live, 0);
}
END_TEST

START_TEST(making_a_trace_and_writing_one_for_batsim)
{
    struct trace_output out = {NULL, 0, 0};
    struct gang_group_spec group = group_of(1, 1000, 0);
    struct gang_trace_job job = GANG_TRACE_JOB_INIT;
    fail_mem_init(&mem, 1);
    ck_assert_int_eq(gang_trace_new(&mem.mem, &trace), GANG_ENOMEM);
    ck_assert_ptr_null(trace);
    MUST(gang_trace_new(&mem.mem, &trace));
    job.groups = &group;
    job.group_count = 1;
    MUST(gang_trace_add(trace, &job, NULL));
    mem.fail_at = mem.calls + 1;
    ck_assert_int_eq(gang_trace_write(trace, GANG_TRACE_BATSIM, trace_append, &out, NULL),
                     GANG_ENOMEM);
    ck_assert_uint_eq(out.length, 0);
    MUST(gang_trace_write(trace, GANG_TRACE_BATSIM, trace_append, &out, NULL));
    free(out.bytes);
    gang_trace_free(trace);
    ck_assert_int_eq(mem.live, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_memory");
    TCase *tcase = tcase_create("memory");
    tcase_add_loop_test(tcase, reading_fails_whole_at_each_allocation, 0, 2 * TRACE_TEXTS);
    tcase_add_test(tcase, a_failed_addition_changes_nothing);
    tcase_add_test(tcase, making_a_trace_and_writing_one_for_batsim);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
