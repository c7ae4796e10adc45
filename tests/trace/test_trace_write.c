/* SPDX-License-Identifier: Apache-2.0 */
/* Writing traces. */
#include <gangsched/gangsched.h>

#include "chance.h"
#include "support.h"

#include "trace/trace_same.h"
#include "trace/trace_texts.h"

#define S INT64_C(1000000000)

static gang_trace *read_text(const char *text, size_t length, int32_t format)
{
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_trace *trace;
    opts.format = format;
    gang_result r = gang_trace_read(text, length, &opts, &trace, &error);
    ck_assert_msg(r == GANG_OK, "line %d '%s': %s", (int)error.line, error.path, error.text);
    return trace;
}

static struct trace_output write_text(gang_trace *trace, int32_t format)
{
    struct trace_output out = {NULL, 0, 0};
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_trace_write(trace, format, trace_append, &out, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    return out;
}

static void check_round(gang_trace *trace, int32_t format)
{
    struct trace_output out = write_text(trace, format);
    gang_trace *again = read_text(out.bytes, out.length, format);
    const char *difference = trace_difference(trace, again);
    ck_assert_msg(!difference, "%s differs: %s", gang_trace_format_name(format), difference);
    gang_trace_free(again);
    free(out.bytes);
}

/* _i: the text */
START_TEST(a_trace_that_was_read_is_written_and_read_again)
{
    gang_trace *trace =
        read_text(trace_texts[_i].text, strlen(trace_texts[_i].text), GANG_TRACE_DETECT);
    check_round(trace, GANG_TRACE_CSV);
    check_round(trace, GANG_TRACE_JSONL);
    gang_trace_free(trace);
}
END_TEST

/* ---- random traces ----------------------------------------------------------------------------
 * */

static const char *random_word(void)
{
    static const char *const words[] = {"",     "a",          "worker",
                                        "A,B",  "say \"so\"", "back\\s",
                                        "\"",   "{}",         "gr\xc3\xbc\xc3\x9f",
                                        "null", " pad ",      "1.5e300",
                                        "'",    ";"};
    return words[below(sizeof(words) / sizeof(words[0]))];
}

static int64_t random_time(bool may_be_negative)
{
    int64_t most = INT64_MAX / 2;
    int64_t ns = (int64_t)(chance() >> 2 >> below(62)) % most;
    if (one_in(3))
        ns = ns / S * S;
    return may_be_negative && one_in(4) ? -ns : ns;
}

static void random_group(struct gang_group_spec *g, const char **models)
{
    const struct gang_group_spec empty = GANG_GROUP_SPEC_INIT;
    *g = empty;
    g->name = random_word();
    g->partition = one_in(2) ? NULL : "gpu, \"1\"";
    g->count = 1 + below(one_in(4) ? 1 << 24 : 9);
    g->min = one_in(2) ? g->count : 1 + below(g->count);
    g->cpu_milli = one_in(3) ? 0 : below(one_in(4) ? INT64_C(1) << 30 : 99999);
    g->memory_bytes = one_in(3) ? 0 : below(INT64_C(1) << (one_in(4) ? 36 : 24));
    if (one_in(2))
        g->gpu_milli = one_in(2) ? 1000 * (1 + below(64)) : 1 + below(999);
    if (g->gpu_milli && g->gpu_milli < 1000)
        g->gpu_devices = below(4);
    g->gpu_model_count = (size_t)below(3);
    for (size_t i = 0; i < g->gpu_model_count; i++)
        models[i] = one_in(2) ? "V100" : "H100 \"x\", y";
    g->gpu_models = models;
}

static void random_job(gang_trace *trace, size_t index)
{
    enum { GROUPS = 3 };
    struct gang_group_spec groups[GROUPS];
    const char *models[GROUPS][2];
    char name[32];
    struct gang_trace_job job = GANG_TRACE_JOB_INIT;
    snprintf(name, sizeof(name), one_in(2) ? "job \"%zu\"" : "j,%zu", index);
    job.name = one_in(4) ? NULL : name;
    job.queue = random_word();
    job.user = random_word();
    job.submit_ns = random_time(true);
    job.run_ns = random_time(false);
    job.limit_ns = one_in(2) ? 0 : random_time(false);
    job.priority = one_in(2) ? 0 : (int64_t)chance();
    job.preemptible = (int32_t)below(3);
    job.end = (int32_t)below(9);
    job.started_ns = one_in(2) ? GANG_TRACE_UNKNOWN : random_time(true);
    job.groups = groups;
    job.group_count = 1 + (size_t)below(GROUPS);
    for (size_t i = 0; i < job.group_count; i++)
        random_group(&groups[i], models[i]);
    MUST(gang_trace_add(trace, &job, NULL));
}

START_TEST(random_traces_are_the_same_after_writing_and_reading)
{
    chance_state = test_seed();
    for (int round = 0; round < 200; round++) {
        gang_trace *trace;
        MUST(gang_trace_new(NULL, &trace));
        size_t count = (size_t)below(20);
        for (size_t i = 0; i < count; i++)
            random_job(trace, i);
        check_round(trace, GANG_TRACE_CSV);
        if (count) /* an empty text is no JSON yet */
            check_round(trace, GANG_TRACE_JSONL);
        gang_trace_free(trace);
    }
}
END_TEST

/* ---- SWF and Batsim ----------------------------------------------------------------------------
 * */

START_TEST(swf_is_written_with_all_its_fields)
{
    gang_trace *trace = read_text(text_swf, sizeof(text_swf) - 1, GANG_TRACE_SWF);
    struct trace_output out = {NULL, 0, 0};
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(gang_trace_write(trace, GANG_TRACE_SWF, trace_append, &out, &error), GANG_ENOTSUP,
                  &error);
    ck_assert_str_eq(error.path, "jobs[1].run_ns"); /* half a second */
    ck_assert_uint_eq(out.length, 0);
    gang_trace_free(trace);
    static const char whole[] = "1 0 5 100 4 -1 2048 8 3600 1024 1 7 1 -1 3 2 -1 -1\n"
                                "2 10 -1 5 3 -1 10 -1 -1 -1 5 -1 1 -1 0 -1 -1 -1\n";
    trace = read_text(whole, sizeof(whole) - 1, GANG_TRACE_DETECT);
    out = write_text(trace, GANG_TRACE_SWF);
    ck_assert_str_eq(out.bytes, "; Version: 2.2\n; MaxJobs: 2\n; MaxRecords: 2\n"
                                "1 0 5 100 8 -1 -1 8 3600 1024 1 7 -1 -1 2 -1 -1 -1\n"
                                "2 10 -1 5 3 -1 -1 3 -1 10 5 -1 -1 -1 0 -1 -1 -1\n");
    check_round(trace, GANG_TRACE_SWF);
    free(out.bytes);
    gang_trace_free(trace);
}
END_TEST

START_TEST(batsim_is_written_with_a_profile_for_each_run_time)
{
    static const char jobs[] = "job,submit_s,run_s,tasks,cpu,limit_s,user\n"
                               "\"a\"\"\",0.5,7.25,4,1,60,u\nb,1,3,2,1,,\nc,2,7.25,1,1,,\n";
    gang_trace *trace = read_text(jobs, sizeof(jobs) - 1, GANG_TRACE_DETECT);
    struct trace_output out = write_text(trace, GANG_TRACE_BATSIM);
    ck_assert_str_eq(out.bytes,
                     "{\"nb_res\":4,\n\"jobs\":[\n"
                     "{\"id\":\"a\\\"\",\"subtime\":0.5,\"walltime\":60,\"res\":4,\"user\":\"u\","
                     "\"profile\":\"delay_7.25\"},\n"
                     "{\"id\":\"b\",\"subtime\":1,\"res\":2,\"profile\":\"delay_3\"},\n"
                     "{\"id\":\"c\",\"subtime\":2,\"res\":1,\"profile\":\"delay_7.25\"}],\n"
                     "\"profiles\":{\n\"delay_3\":{\"type\":\"delay\",\"delay\":3},\n"
                     "\"delay_7.25\":{\"type\":\"delay\",\"delay\":7.25}}}\n");
    check_round(trace, GANG_TRACE_BATSIM);
    free(out.bytes);
    gang_trace_free(trace);
}
END_TEST

static const struct cannot {
    int32_t format;
    const char *row;
    const char *path;
} cannot[] = {
    {GANG_TRACE_SWF, "x,0,1,,,,,,,1,,1,,,,,,", "jobs[0].name"},
    {GANG_TRACE_SWF, "01,0,1,,,,,,,1,,1,,,,,,", "jobs[0].name"},
    {GANG_TRACE_SWF, "1,-1,1,,,,,,,1,,1,,,,,,", "jobs[0].submit_ns"},
    {GANG_TRACE_SWF, "1,0,1.5,,,,,,,1,,1,,,,,,", "jobs[0].run_ns"},
    {GANG_TRACE_SWF, "1,0,1,,,1.5,,,,1,,1,,,,,,", "jobs[0].limit_ns"},
    {GANG_TRACE_SWF, "1,5,1,,,,,,,1,,1,,,,,4,", "jobs[0].started_ns"},
    {GANG_TRACE_SWF, "1,0,1,q,,,,,,1,,1,,,,,,", "jobs[0].queue"},
    {GANG_TRACE_SWF, "1,0,1,,u,,,,,1,,1,,,,,,", "jobs[0].user"},
    {GANG_TRACE_SWF, "1,0,1,,,,,,,1,,1,,,,,,timeout", "jobs[0].end"},
    {GANG_TRACE_SWF, "1,0,1,,,,,,,1,,1,0.0001,,,,,", "jobs[0].groups[0].memory_bytes"},
    {GANG_TRACE_SWF, "1,0,1,,,,,,,1,,2,,,,,,", "jobs[0].groups[0].cpu_milli"},
    {GANG_TRACE_BATSIM, "1,0,1,,,,,,,1,,1,5,,,,,", "jobs[0].groups[0].memory_bytes"},
    {GANG_TRACE_BATSIM, "1,0,1,,,,,,,1,,2,,,,,,", "jobs[0].groups[0].cpu_milli"},
    {GANG_TRACE_BATSIM, "1,0,1,,,,,,,1,,1,,1,,,,", "jobs[0].groups[0].gpu_milli"},
    {GANG_TRACE_BATSIM, "1,0,1,,,,,,,2,1,1,,,,,,", "jobs[0].groups[0].min"},
    {GANG_TRACE_BATSIM, "1,0,1,,,,3,,,1,,1,,,,,,", "jobs[0].priority"},
    {GANG_TRACE_BATSIM, "1,0,1,,,,,false,,1,,1,,,,,,", "jobs[0].preemptible"},
    {GANG_TRACE_BATSIM, "1,0,1,,,,,,,1,,1,,,,,,\n1,,,,,,,,,1,,1,,,,,,", "jobs[0].groups"},
};

START_TEST(a_job_the_format_cannot_express_is_refused)
{
    struct trace_output out = {NULL, 0, 0};
    struct gang_error error = GANG_ERROR_INIT;
    char text[512];
    snprintf(text, sizeof(text),
             "job,submit_s,run_s,queue,user,limit_s,priority,preemptible,group,tasks,min,cpu,"
             "mem_mib,gpus,gpu_milli,gpu_models,start_s,end\n%s\n",
             cannot[_i].row);
    gang_trace *trace = read_text(text, strlen(text), GANG_TRACE_CSV);
    EXPECT_ERROR(gang_trace_write(trace, cannot[_i].format, trace_append, &out, &error),
                 GANG_ENOTSUP, &error, cannot[_i].path, NULL);
    gang_trace_free(trace);
    free(out.bytes);
}
END_TEST

START_TEST(partitions_have_a_column_where_some_job_names_one)
{
    static const char plain[] = "job,submit_s,run_s\na,0,1\n";
    static const char parts[] = "job,submit_s,run_s,group,partition\n"
                                "a,0,1,,\nb,0,1,x,\"g,1\"\nb,0,1,y,\n";
    gang_trace *without = read_text(plain, sizeof(plain) - 1, GANG_TRACE_CSV);
    gang_trace *with = read_text(parts, sizeof(parts) - 1, GANG_TRACE_CSV);
    struct trace_output out = write_text(without, GANG_TRACE_CSV);
    struct gang_trace_job job = GANG_TRACE_JOB_INIT;
    ck_assert_ptr_null(strstr(out.bytes, "partition"));
    free(out.bytes);
    out = write_text(with, GANG_TRACE_CSV);
    ck_assert_ptr_nonnull(strstr(out.bytes, ",partition\n"));
    free(out.bytes);
    MUST(gang_trace_get(with, 1, &job));
    ck_assert_str_eq(job.groups[0].partition, "g,1");
    ck_assert_ptr_null(job.groups[1].partition);
    check_round(with, GANG_TRACE_CSV);
    check_round(with, GANG_TRACE_JSONL);
    gang_trace_free(with);
    gang_trace_free(without);
}
END_TEST

START_TEST(a_bar_in_the_name_of_a_model_needs_json)
{
    static const char text[] =
        "{\"submit_s\":0,\"run_s\":1,\"gpus\":1,\"gpu_models\":[\"a|b\",\"c\"]}\n";
    struct trace_output out = {NULL, 0, 0};
    struct gang_error error = GANG_ERROR_INIT;
    gang_trace *trace = read_text(text, sizeof(text) - 1, GANG_TRACE_DETECT);
    EXPECT_ERROR(gang_trace_write(trace, GANG_TRACE_CSV, trace_append, &out, &error), GANG_ENOTSUP,
                 &error, "jobs[0].gpu_models", NULL);
    check_round(trace, GANG_TRACE_JSONL);
    gang_trace_free(trace);
    free(out.bytes);
}
END_TEST

static int refuse(const char *bytes, size_t length, void *user)
{
    (void)bytes;
    *(size_t *)user += length;
    return 1;
}

/* _i: the format */
START_TEST(output_that_is_refused_ends_it)
{
    static const int32_t formats[] = {GANG_TRACE_CSV, GANG_TRACE_JSONL, GANG_TRACE_SWF,
                                      GANG_TRACE_BATSIM};
    size_t asked = 0;
    gang_trace *trace;
    struct gang_group_spec group = group_of(1, 1000, 0);
    struct gang_trace_job job = GANG_TRACE_JOB_INIT;
    job.groups = &group;
    job.group_count = 1;
    MUST(gang_trace_new(NULL, &trace));
    for (int i = 0; i < 5000; i++)
        MUST(gang_trace_add(trace, &job, NULL));
    ck_assert_int_eq(gang_trace_write(trace, formats[_i], refuse, &asked, NULL), GANG_EIO);
    ck_assert_uint_gt(asked, 0);
    ck_assert_uint_le(asked, 8192); /* once, and no more */
    gang_trace_free(trace);
}
END_TEST

START_TEST(only_some_formats_are_written)
{
    struct trace_output out = {NULL, 0, 0};
    gang_trace *trace;
    MUST(gang_trace_new(NULL, &trace));
    ck_assert_int_eq(gang_trace_write(trace, GANG_TRACE_PHILLY, trace_append, &out, NULL),
                     GANG_ENOTSUP);
    ck_assert_int_eq(gang_trace_write(trace, 99, trace_append, &out, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_trace_write(trace, GANG_TRACE_CSV, NULL, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_trace_write(NULL, GANG_TRACE_CSV, trace_append, &out, NULL), GANG_EINVAL);
    ck_assert_uint_eq(out.length, 0);
    gang_trace_free(trace);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_write");
    TCase *tcase = tcase_create("ours");
    tcase_add_loop_test(tcase, a_trace_that_was_read_is_written_and_read_again, 0, TRACE_TEXTS);
    tcase_add_test(tcase, random_traces_are_the_same_after_writing_and_reading);
    tcase_add_test(tcase, partitions_have_a_column_where_some_job_names_one);
    tcase_add_test(tcase, a_bar_in_the_name_of_a_model_needs_json);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("others");
    tcase_add_test(tcase, swf_is_written_with_all_its_fields);
    tcase_add_test(tcase, batsim_is_written_with_a_profile_for_each_run_time);
    tcase_add_loop_test(tcase, a_job_the_format_cannot_express_is_refused, 0,
                        sizeof(cannot) / sizeof(cannot[0]));
    tcase_add_loop_test(tcase, output_that_is_refused_ends_it, 0, 4);
    tcase_add_test(tcase, only_some_formats_are_written);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
