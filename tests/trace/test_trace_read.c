/* SPDX-License-Identifier: Apache-2.0 */
/* Reading traces: what is taken from each format, and what is refused where. */
#include <gangsched/gangsched.h>

#include <unistd.h>

#include "support.h"
#include "trace/trace_texts.h"

#define S INT64_C(1000000000)

static gang_trace *read_with(const char *text, const struct gang_trace_opts *opts)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_trace *trace;
    gang_result r = gang_trace_read(text, strlen(text), opts, &trace, &error);
    ck_assert_msg(r == GANG_OK, "%s: line %d column %d %s: %s", gang_result_name(r),
                  (int)error.line, (int)error.column, error.path, error.text);
    return trace;
}

static gang_trace *read_text(const char *text)
{
    return read_with(text, NULL);
}

static struct gang_trace_job job_of(gang_trace *trace, const char *name)
{
    struct gang_trace_job job = GANG_TRACE_JOB_INIT;
    size_t index;
    ck_assert_msg(gang_trace_find(trace, name, &index) == GANG_OK, "no job %s", name);
    MUST(gang_trace_get(trace, index, &job));
    ck_assert_str_eq(job.name, name);
    ck_assert_uint_eq(job.group_size, sizeof(struct gang_group_spec));
    return job;
}

static void check_times(const struct gang_trace_job *job, int64_t submit, int64_t run,
                        int64_t limit, int64_t started)
{
    ck_assert_int_eq(job->submit_ns, submit);
    ck_assert_int_eq(job->run_ns, run);
    ck_assert_int_eq(job->limit_ns, limit);
    ck_assert_int_eq(job->started_ns, started);
}

static void check_group(const struct gang_trace_job *job, size_t i, int64_t count, int64_t cpu,
                        int64_t memory, int64_t gpu)
{
    ck_assert_uint_lt(i, job->group_count);
    ck_assert_int_eq(job->groups[i].count, count);
    ck_assert_int_eq(job->groups[i].cpu_milli, cpu);
    ck_assert_int_eq(job->groups[i].memory_bytes, memory);
    ck_assert_int_eq(job->groups[i].gpu_milli, gpu);
}

START_TEST(each_format_is_known_by_its_first_lines)
{
    gang_trace *trace = read_text(trace_texts[_i].text);
    ck_assert_int_eq(gang_trace_format(trace), trace_texts[_i].format);
    ck_assert_uint_eq(gang_trace_count(trace), trace_texts[_i].jobs);
    ck_assert_uint_eq(gang_trace_skipped(trace), trace_texts[_i].skipped);
    gang_trace_free(trace);
}
END_TEST

START_TEST(formats_have_names)
{
    ck_assert_ptr_null(gang_trace_format_name(GANG_TRACE_DETECT));
    ck_assert_ptr_null(gang_trace_format_name(-1));
    ck_assert_ptr_null(gang_trace_format_name(GANG_TRACE_TIRESIAS + 1));
    ck_assert_str_eq(gang_trace_format_name(GANG_TRACE_CSV), "csv");
    ck_assert_str_eq(gang_trace_format_name(GANG_TRACE_PHILLY_LOG), "philly-log");
    ck_assert_str_eq(gang_trace_format_name(GANG_TRACE_TIRESIAS), "tiresias");
}
END_TEST

/* _i: as a table, as JSON, and both in the words before version 0.2 */
START_TEST(our_own_formats_tell_all_that_a_trace_keeps)
{
    static const char *const texts[] = {text_csv, text_jsonl, text_csv_before, text_jsonl_before};
    gang_trace *trace = read_text(texts[_i]);
    struct gang_trace_job a = job_of(trace, "a");
    check_times(&a, S / 2, 10 * S, 20 * S + 1, 7 * S);
    ck_assert_str_eq(a.queue, "q");
    ck_assert_str_eq(a.user, "ann");
    ck_assert_int_eq(a.priority, -3);
    ck_assert_int_eq(a.preemptible, GANG_NOT_PREEMPTIBLE);
    ck_assert_int_eq(a.end, GANG_END_FAILED);
    ck_assert_uint_eq(a.group_count, 2);
    check_group(&a, 0, 2, 1500, MIB / 2, 0);
    ck_assert_str_eq(a.groups[0].name, "ps");
    ck_assert_int_eq(a.groups[0].min, 1);
    check_group(&a, 1, 3, 4000, GIB, 8000);
    ck_assert_int_eq(a.groups[1].min, 3);
    ck_assert_uint_eq(a.groups[1].gpu_model_count, 2);
    ck_assert_str_eq(a.groups[1].gpu_models[0], "A100");
    ck_assert_str_eq(a.groups[1].gpu_models[1], "H100");
    struct gang_trace_job b = job_of(trace, "b,\"1\"");
    check_times(&b, -1000 * S, 0, 0, GANG_TRACE_UNKNOWN);
    ck_assert_ptr_null(b.queue);
    ck_assert_ptr_null(b.user);
    ck_assert_int_eq(b.preemptible, GANG_SEMI_PREEMPTIBLE);
    ck_assert_int_eq(b.end, GANG_END_NONE);
    check_group(&b, 0, 1, 0, 0, 500);
    ck_assert_int_eq(b.groups[0].gpu_devices, 2);
    ck_assert_ptr_null(b.groups[0].name);
    struct gang_trace_job c = job_of(trace, "2"); /* its position */
    check_times(&c, 5 * S, 6 * S, 0, GANG_TRACE_UNKNOWN);
    check_group(&c, 0, 1, 0, 0, 250);
    ck_assert_int_eq(c.groups[0].gpu_devices, 0);
    ck_assert_int_eq(c.end, GANG_END_TIMEOUT);
    gang_trace_free(trace);
}
END_TEST

START_TEST(swf_requested_numbers_go_before_used_ones)
{
    gang_trace *trace = read_text(text_swf);
    struct gang_trace_job one = job_of(trace, "1");
    check_times(&one, 0, 100 * S, 3600 * S, 5 * S);
    check_group(&one, 0, 8, 1000, MIB, 0);
    ck_assert_str_eq(one.queue, "2");
    ck_assert_str_eq(one.user, "7");
    ck_assert_int_eq(one.end, GANG_END_SUCCESS);
    struct gang_trace_job two = job_of(trace, "2");
    check_times(&two, 10 * S, S / 2, 0, GANG_TRACE_UNKNOWN);
    check_group(&two, 0, 3, 1000, 10240, 0);
    ck_assert_str_eq(two.queue, "0");
    ck_assert_ptr_null(two.user);
    ck_assert_int_eq(two.end, GANG_END_CANCELLED);
    struct gang_trace_job five = job_of(trace, "5");
    check_times(&five, 40 * S, 7 * S, 0, 42 * S);
    ck_assert_ptr_null(five.queue);
    ck_assert_int_eq(five.end, GANG_END_FAILED);
    gang_trace_free(trace);
}
END_TEST

START_TEST(tables_of_processors_and_of_gpus)
{
    gang_trace *trace = read_text(text_procs);
    struct gang_trace_job job = job_of(trace, "7");
    check_times(&job, 5 * S, 100 * S + S / 4, 200 * S, GANG_TRACE_UNKNOWN);
    check_group(&job, 0, 16, 1000, 0, 0);
    ck_assert_str_eq(job.user, "3");
    job = job_of(trace, "8");
    ck_assert_int_eq(job.limit_ns, 0);
    ck_assert_ptr_null(job.user);
    gang_trace_free(trace);

    trace = read_text(text_tiresias);
    job = job_of(trace, "1");
    check_times(&job, 30 * S, 147 * S, 0, GANG_TRACE_UNKNOWN);
    check_group(&job, 0, 1, 0, 0, 8000);
    gang_trace_free(trace);
}
END_TEST

START_TEST(a_number_of_gpus_is_cut_into_tasks_and_a_rest)
{
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    gang_trace *trace = read_text(text_philly);
    struct gang_trace_job job = job_of(trace, "1");
    check_times(&job, 5 * S, 60 * S, 0, GANG_TRACE_UNKNOWN);
    ck_assert_str_eq(job.queue, "6214e9");
    ck_assert_uint_eq(job.group_count, 2);
    check_group(&job, 0, 2, 0, 0, 8000);
    check_group(&job, 1, 1, 0, 0, 4000);
    ck_assert_str_eq(job.groups[1].name, "rest");
    job = job_of(trace, "0");
    ck_assert_int_eq(job.submit_ns, -2294959 * S);
    ck_assert_uint_eq(job.group_count, 1);
    check_group(&job, 0, 1, 0, 0, 8000);
    gang_trace_free(trace);

    opts.gpus_per_task = 4;
    trace = read_with(text_philly, &opts);
    job = job_of(trace, "1");
    ck_assert_uint_eq(job.group_count, 1);
    check_group(&job, 0, 5, 0, 0, 4000);
    gang_trace_free(trace);
}
END_TEST

START_TEST(philly_as_published_sums_its_attempts)
{
    const int64_t day = INT64_C(17446) * 86400; /* 2017-10-07 */
    gang_trace *trace = read_text(text_philly_log);
    struct gang_trace_job job = job_of(trace, "application_1");
    check_times(&job, (day + 4299) * S, (74 + 60) * S, 0, (day + 4329) * S);
    ck_assert_str_eq(job.queue, "ee9e8c");
    ck_assert_str_eq(job.user, "ce2f4c");
    ck_assert_int_eq(job.end, GANG_END_SUCCESS);
    check_group(&job, 0, 1, 0, 0, 8000);
    check_group(&job, 1, 1, 0, 0, 1000);
    job = job_of(trace, "application_2");
    check_times(&job, (day + 86399) * S, S, 0, (day + 86400) * S);
    ck_assert_int_eq(job.end, GANG_END_CANCELLED);
    gang_trace_free(trace);
}
END_TEST

START_TEST(helios_tells_cores_beside_gpus)
{
    const int64_t day = INT64_C(18422) * 86400; /* 2020-06-09 */
    gang_trace *trace = read_text(text_helios);
    struct gang_trace_job job = job_of(trace, "1425511");
    check_times(&job, (day + 67261) * S, 36848 * S, 0, (day + 67262) * S);
    ck_assert_str_eq(job.user, "uXBbc");
    ck_assert_str_eq(job.queue, "vcJkd");
    check_group(&job, 0, 1, 1000, 0, 1000);
    job = job_of(trace, "1425512");
    ck_assert_int_eq(job.end, GANG_END_FAILED);
    check_group(&job, 0, 1, 10666, 0, 8000); /* 16 cores, shared out by GPUs */
    check_group(&job, 1, 1, 5334, 0, 4000);
    job = job_of(trace, "1425513");
    ck_assert_int_eq(job.end, GANG_END_TIMEOUT);
    ck_assert_uint_eq(job.group_count, 1);
    check_group(&job, 0, 2, 4000, 0, 0);
    gang_trace_free(trace);
}
END_TEST

START_TEST(pai_tasks_of_a_job_are_its_groups)
{
    gang_trace *trace = read_text(text_pai);
    struct gang_trace_job job = job_of(trace, "j1");
    check_times(&job, 90 * S, 310 * S + S / 2, 0, 90 * S);
    ck_assert_int_eq(job.end, GANG_END_SUCCESS);
    ck_assert_uint_eq(job.group_count, 2);
    check_group(&job, 0, 2, 6000, 30000 * MIB, 500);
    ck_assert_str_eq(job.groups[0].name, "worker");
    ck_assert_str_eq(job.groups[0].gpu_models[0], "V100");
    check_group(&job, 1, 1, 1000, 0, 0);
    ck_assert_uint_eq(job.groups[1].gpu_model_count, 0);
    job = job_of(trace, "j2");
    ck_assert_int_eq(job.end, GANG_END_FAILED);
    check_group(&job, 1, 1, 4000, GIB, 2000);
    gang_trace_free(trace);

    char headed[1024];
    snprintf(headed, sizeof(headed),
             "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,"
             "gpu_type\n%s",
             text_pai);
    trace = read_text(headed);
    ck_assert_int_eq(gang_trace_format(trace), GANG_TRACE_PAI);
    ck_assert_uint_eq(gang_trace_count(trace), 2);
    gang_trace_free(trace);
}
END_TEST

START_TEST(openb_pods_are_jobs_of_one_task)
{
    gang_trace *trace = read_text(text_openb);
    struct gang_trace_job job = job_of(trace, "openb-pod-0000");
    check_times(&job, 10 * S, 80 * S, 0, 30 * S);
    check_group(&job, 0, 1, 12000, 16 * GIB, 460);
    ck_assert_uint_eq(job.groups[0].gpu_model_count, 2);
    job = job_of(trace, "openb-pod-0001"); /* was never scheduled */
    check_times(&job, 427061 * S, 10 * S, 0, GANG_TRACE_UNKNOWN);
    ck_assert_int_eq(job.end, GANG_END_FAILED);
    ck_assert_uint_eq(job.groups[0].gpu_model_count, 0);
    job = job_of(trace, "openb-pod-0002");
    check_group(&job, 0, 1, 1, MIB, 4000);
    gang_trace_free(trace);

    trace = read_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,2,0,0\n");
    job = job_of(trace, "p");
    check_times(&job, 0, 0, 0, GANG_TRACE_UNKNOWN);
    gang_trace_free(trace);
}
END_TEST

START_TEST(batsim_profiles_give_run_times)
{
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    opts.batsim_flops = 2 * S;
    gang_trace *trace = read_text(text_batsim);
    struct gang_trace_job job = job_of(trace, "w0!1");
    check_times(&job, S + S / 2, 20 * S + S / 4, 100 * S, GANG_TRACE_UNKNOWN);
    check_group(&job, 0, 4, 1000, 0, 0);
    job = job_of(trace, "2");
    check_times(&job, 2 * S, 5 * S, 0, GANG_TRACE_UNKNOWN);
    ck_assert_str_eq(job.user, "u");
    job = job_of(trace, "3");
    ck_assert_int_eq(job.run_ns, 2 * S);
    job = job_of(trace, "4");
    ck_assert_int_eq(job.run_ns, 3 * S);
    gang_trace_free(trace);

    trace = read_with(text_batsim, &opts);
    job = job_of(trace, "2");
    ck_assert_int_eq(job.run_ns, 5 * S / 2);
    gang_trace_free(trace);
}
END_TEST

/* ---- what is wrong --------------------------------------------------------------------------- */

static const struct wrong {
    int32_t format;
    const char *text;
    gang_result result;
    int line, column;
    const char *path;
} wrong[] = {
    {0, "", GANG_ENOTSUP, 0, 0, ""},
    {0, "what is this\n", GANG_ENOTSUP, 0, 0, ""},
    {0, "{\"a\":1}\n", GANG_ENOTSUP, 0, 0, ""},
    {0, "\x1f\x8b\x08", GANG_ENOTSUP, 0, 0, ""},
    {GANG_TRACE_CSV, "", GANG_EPARSE, 1, 0, ""},
    {0, "job,submit_s,run_s,colour\n", GANG_EINVAL, 1, 20, ""},
    {0, "job,submit_s,run_s,run_s\n", GANG_EEXIST, 1, 20, ""},
    {GANG_TRACE_CSV, "job,submit_s\n", GANG_EPARSE, 1, 0, "run_s"},
    {0, "job,submit_s,run_s\na,0\n", GANG_EPARSE, 2, 1, ""},
    {0, "job,submit_s,run_s\n\na,0,\"5\n", GANG_EPARSE, 3, 5, ""},
    {0, "job,submit_s,run_s\na,0,\"5\"5\n", GANG_EPARSE, 2, 8, ""},
    {0, "job,submit_s,run_s\na,0,5\"\n", GANG_EPARSE, 2, 6, ""},
    {0, "job,submit_s,run_s\na,,5\n", GANG_EINVAL, 2, 3, "submit_s"},
    {0, "job,submit_s,run_s\na,x,5\n", GANG_EPARSE, 2, 3, "submit_s"},
    {0, "job,submit_s,run_s\n\xc3\xa4,0,1e30\n", GANG_ERANGE, 2, 5, "run_s"},
    {0, "job,submit_s,run_s\na,0,-1\n", GANG_ERANGE, 2, 5, "run_s"},
    {0, "job,submit_s,run_s\na,0,1\nb,0,1\na,0,1\n", GANG_EEXIST, 4, 0, "job"},
    {0, "job,submit_s,run_s\n1,0,1\n,0,1\n", GANG_EEXIST, 3, 0, "job"},
    {0, "job,submit_s,run_s,tasks\na,0,1,0\n", GANG_ERANGE, 2, 7, "tasks"},
    {0, "job,submit_s,run_s,tasks\na,0,1,1.5\n", GANG_EINVAL, 2, 7, "tasks"},
    {0, "job,submit_s,run_s,min\na,0,1,2\n", GANG_ERANGE, 2, 7, "min"},
    {0, "job,submit_s,run_s,min\na,0,1,0\n", GANG_EINVAL, 2, 0, "groups"},
    {0, "job,submit_s,run_s,gpus,gpu_milli\na,0,1,2,0\n", GANG_EINVAL, 2, 9, "gpu_milli"},
    {0, "job,submit_s,run_s,count\na,0,1,0\n", GANG_ERANGE, 2, 7, "count"},
    {0, "job,submit_s,run_s,gpu\na,0,1,1.5\n", GANG_EINVAL, 2, 7, "gpu"},
    {0, "job,submit_s,run_s,gpu\na,0,1,65\n", GANG_ERANGE, 2, 7, "gpu"},
    {0, "job,submit_s,run_s,gpu,gpu_devices\na,0,1,2,2\n", GANG_EINVAL, 2, 7, "gpu"},
    {0, "job,submit_s,run_s,gpu,gpus\na,0,1,2,2\n", GANG_EINVAL, 2, 7, "gpu"},
    {0, "job,submit_s,run_s,name\n", GANG_EEXIST, 1, 20, ""},
    {0, "job,submit_s,run_s,limit_s,time_limit_s\n", GANG_EEXIST, 1, 28, ""},
    {0, "job,submit_s,run_s,gpu_models\na,0,1,A||B\n", GANG_EINVAL, 2, 7, "gpu_models"},
    {0, "job,submit_s,run_s,end\na,0,1,done\n", GANG_EINVAL, 2, 7, "end"},
    {0, "job,submit_s,run_s,preemptible\na,0,1,1\n", GANG_EINVAL, 2, 7, "preemptible"},
    {0, "job,submit_s,run_s,queue\na,0,1,\x07\n", GANG_EINVAL, 2, 7, "queue"},
    {0, "job,submit_s,run_s,group\na,0,1,x\na,2,,y\n", GANG_EINVAL, 3, 1, "job"},
    {0, "{\"job\":\"a\",\"submit_s\":0}\n", GANG_EINVAL, 1, 0, "run_s"},
    {0, "{\"job\":\"a\",\"submit_s\":0,\"run_s\":1}\n{\"job\":1,}\n", GANG_EPARSE, 2, 10, ""},
    {0, "{\"job\":\"a\",\"submit_s\":0,\"run_s\":1,\"x\":1}\n", GANG_EINVAL, 1, 0, "x"},
    {0, "{\"submit_s\":0,\"submit_ns\":0,\"run_s\":1}\n", GANG_EINVAL, 1, 0, "submit_ns"},
    {0, "{\"submit_s\":0,\"run_s\":1,\"tasks\":1,\"groups\":[{}]}\n", GANG_EINVAL, 1, 0, "tasks"},
    {0, "{\"submit_s\":0,\"run_s\":1,\"count\":1,\"tasks\":[{}]}\n", GANG_EINVAL, 1, 0, "count"},
    {0, "{\"submit_s\":0,\"run_s\":1,\"count\":1,\"tasks\":1}\n", GANG_EINVAL, 1, 0, "tasks"},
    {0, "{\"submit_s\":0,\"run_s\":1,\"gpu\":1,\"gpu_milli\":1}\n", GANG_EINVAL, 1, 0, "gpu_milli"},
    {0, "{\"submit_s\":0,\"run_s\":1,\"gpu\":2.5}\n", GANG_EINVAL, 1, 0, "gpu"},
    {0, "{\"submit_s\":0,\"run_s\":1,\"limit_s\":1,\"time_limit_s\":1}\n", GANG_EINVAL, 1, 0,
     "limit_s"},
    {0, "{\"submit_s\":0,\"run_s\":1,\"groups\":[{},{\"cpu\":-1}]}\n", GANG_ERANGE, 1, 0,
     "groups[1].cpu"},
    {0, "{\"submit_s\":0,\"run_s\":1,\"groups\":[]}\n", GANG_EINVAL, 1, 0, ""},
    {0, "; c\n1 2 3\n", GANG_EPARSE, 2, 0, ""},
    {0, "1 0 0 1 1 0 0 1 1 0 1 1 1 1 1 1 1 1\n1 0 x 1 1 0 0 1 1 0 1 1 1 1 1 1 1 1\n", GANG_EPARSE,
     2, 5, "wait time"},
    {0, ";\n1 0 0 1 1.5 0 0 0 1 0 1 1 1 1 1 1 1 1\n", GANG_EINVAL, 2, 9, "allocated processors"},
    {0, "1 0 0 1 1 0 0 1 1 0 1 1 1 1 1 1 1 1\n1 0 0 1 1 0 0 1 1 0 1 1 1 1 1 1 1 1\n", GANG_EEXIST,
     2, 0, "name"},
    {0, "job_id,submit,run,procs\n1,0,1,0\n", GANG_ERANGE, 2, 7, "procs"},
    {0, "job_id,vc,gpu_num,submit_time,duration\n1,a,0,0,1\n", GANG_ERANGE, 2, 5, "gpu_num"},
    {0, "job_id,vc,gpu_num,submit_time,duration\n1,a,1,,1\n", GANG_EINVAL, 2, 7, "submit_time"},
    {0, "job_id,gpu_num,state,submit_time,duration\n1,1,DONE,0,1\n", GANG_EINVAL, 2, 5, "state"},
    {0, "job_id,gpu_num,state,submit_time,duration\n1,1,FAILED,2020-02-30 00:00:00,1\n",
     GANG_EPARSE, 2, 12, "submit_time"},
    {0, "j,t,1,Terminated,5,4,1,1,1,\n", GANG_EINVAL, 1, 20, "end_time"},
    {0, "j,t,1,Terminated,5,6,1,1,150,\n", GANG_EINVAL, 1, 26, "plan_gpu"},
    {0, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,2,2,0\n", GANG_EINVAL, 2, 9, "gpu_milli"},
    {0, "[{\"jobid\":\"a\",\"status\":\"Pass\"}]", GANG_EINVAL, 1, 0, "[0].submitted_time"},
    {0, "[\n5]", GANG_EPARSE, 2, 1, ""},
    {0, "[\n\n{\"a\" 1}]", GANG_EPARSE, 3, 6, "[0].a"},
    {0, "[] 5", GANG_EPARSE, 1, 4, ""},
    {0, "[{\"jobid\":\"a\",\"status\":\"Pass\"", GANG_EPARSE, 1, 30, "[0]"},
    {0,
     "{\"jobs\":[{\"id\":1,\"subtime\":0,\"res\":1,\"profile\":\"p\"}],\"profiles\":{\"p\":"
     "{\"type\":\"smpi\"}}}",
     GANG_ENOTSUP, 0, 0, "profiles.p.type"},
    {0, "{\"jobs\":[{\"id\":1,\"subtime\":0,\"res\":1,\"profile\":\"q\"}],\"profiles\":{}}",
     GANG_EINVAL, 0, 0, "jobs[0].profile"},
    {0, "{\"jobs\":[{\"id\":1,\"subtime\":0,\"res\":0,\"profile\":\"q\"}],\"profiles\":{}}",
     GANG_ERANGE, 0, 0, "jobs[0].res"},
};

START_TEST(a_wrong_row_is_refused_with_its_place)
{
    const struct wrong *w = &wrong[_i];
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_trace *trace = (gang_trace *)&opts;
    opts.format = w->format;
    gang_result r = gang_trace_read(w->text, strlen(w->text), &opts, &trace, &error);
    ck_assert_msg(r == w->result && error.code == r && error.line == w->line &&
                      error.column == w->column && strcmp(error.path, w->path) == 0,
                  "%s\n%s: line %d column %d '%s': %s", w->text, gang_result_name(r),
                  (int)error.line, (int)error.column, error.path, error.text);
    ck_assert_ptr_null(trace);
    ck_assert(error.text[0]);
}
END_TEST

START_TEST(a_nul_byte_is_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_trace *trace;
    static const char table[] = "job,submit_s,run_s\na\0b,0,1\n";
    EXPECT_RESULT(gang_trace_read(table, sizeof(table) - 1, NULL, &trace, &error), GANG_EPARSE,
                  &error);
    ck_assert_int_eq(error.column, 2);
    static const char quoted[] = "job,submit_s,run_s\n\"a\0b\",0,1\n";
    EXPECT_RESULT(gang_trace_read(quoted, sizeof(quoted) - 1, NULL, &trace, &error), GANG_EINVAL,
                  &error);
}
END_TEST

/* ---- options --------------------------------------------------------------------------------- */

START_TEST(lenient_passes_over_rows_that_cannot_be_used)
{
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    opts.lenient = 1;
    error.line = 77;
    static const char table[] =
        "job,submit_s,run_s,group\na,0,1,x\na,,,y\na,z,,z\nb,0,-1,\nc,0,1,\n";
    gang_trace *trace;
    EXPECT_RESULT(gang_trace_read(table, strlen(table), &opts, &trace, &error), GANG_OK, &error);
    ck_assert_uint_eq(gang_trace_count(trace), 1); /* of a job with a wrong row nothing is taken */
    ck_assert_uint_eq(gang_trace_skipped(trace), 4);
    ck_assert_int_eq(gang_trace_skipped_line(trace), 2);
    ck_assert_int_eq(error.line, 77); /* all went well: it is left alone */
    gang_trace_free(trace);

    trace = read_with(
        "j,t,1,Terminated,5,6,1,1,150,\nj,u,1,Terminated,5,6,,,,\nk,t,1,Failed,5,6,,,,\n", &opts);
    ck_assert_uint_eq(gang_trace_count(trace), 1);
    ck_assert_uint_eq(gang_trace_skipped(trace), 2);
    gang_trace_free(trace);

    trace = read_with("job_id,submit,run,procs\n3,0,1,1\n1,0,1,0\n2,0,x,1\n", &opts);
    ck_assert_uint_eq(gang_trace_count(trace), 1);
    ck_assert_int_eq(gang_trace_skipped_line(trace), 3);
    gang_trace_free(trace);

    static const char broken[] = "job_id,submit,run,procs\n1,0,1\n";
    EXPECT_RESULT(gang_trace_read(broken, strlen(broken), &opts, &trace, &error), GANG_EPARSE,
                  &error);
}
END_TEST

/* _i: the text. The first jobs alone, and nothing of what comes after is looked at. */
START_TEST(most_takes_the_first_jobs)
{
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    opts.max_jobs = 1;
    gang_trace *trace = read_with(trace_texts[_i].text, &opts);
    gang_trace *all = read_text(trace_texts[_i].text);
    struct gang_trace_job first = GANG_TRACE_JOB_INIT, same = GANG_TRACE_JOB_INIT;
    ck_assert_uint_eq(gang_trace_count(trace), 1);
    MUST(gang_trace_get(trace, 0, &first));
    MUST(gang_trace_get(all, 0, &same));
    ck_assert_str_eq(first.name, same.name);
    ck_assert_uint_eq(first.group_count, same.group_count);
    gang_trace_free(trace);
    gang_trace_free(all);
}
END_TEST

START_TEST(options_are_checked)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_trace *trace;
    static const struct {
        struct gang_trace_opts opts;
        gang_result result;
        const char *path;
    } bad[] = {{{.size = 8}, GANG_EINVAL, "size"},
               {{.size = sizeof(struct gang_trace_opts), .format = 99}, GANG_EINVAL, "format"},
               {{.size = sizeof(struct gang_trace_opts), .lenient = 2}, GANG_EINVAL, "lenient"},
               {{.size = sizeof(struct gang_trace_opts), .max_jobs = -1}, GANG_ERANGE, "max_jobs"},
               {{.size = sizeof(struct gang_trace_opts), .gpus_per_task = 65},
                GANG_ERANGE,
                "gpus_per_task"},
               {{.size = sizeof(struct gang_trace_opts), .batsim_flops = -1},
                GANG_ERANGE,
                "batsim_flops"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        EXPECT_ERROR(gang_trace_read("x", 1, &bad[i].opts, &trace, &error), bad[i].result, &error,
                     bad[i].path, NULL);
    }
    EXPECT_RESULT(gang_trace_read(NULL, 1, NULL, &trace, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_trace_read("x", 1, NULL, NULL, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_trace_read_file(NULL, NULL, &trace, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_trace_read_file("/nowhere/at/all", NULL, &trace, &error), GANG_EIO, &error);
    ck_assert_ptr_null(trace);
}
END_TEST

START_TEST(a_file_is_read_and_a_byte_order_mark_is_passed_over)
{
    char path[] = "/tmp/gang-trace-XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, "\xef\xbb\xbf", 3), 3);
    ck_assert_int_eq(write(file, text_philly, sizeof(text_philly) - 1), sizeof(text_philly) - 1);
    close(file);
    gang_trace *trace;
    MUST(gang_trace_read_file(path, NULL, &trace, NULL));
    ck_assert_uint_eq(gang_trace_count(trace), 2);
    gang_trace_free(trace);
    unlink(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_read");
    TCase *tcase = tcase_create("formats");
    tcase_add_loop_test(tcase, each_format_is_known_by_its_first_lines, 0, TRACE_TEXTS);
    tcase_add_test(tcase, formats_have_names);
    tcase_add_loop_test(tcase, our_own_formats_tell_all_that_a_trace_keeps, 0, 4);
    tcase_add_test(tcase, swf_requested_numbers_go_before_used_ones);
    tcase_add_test(tcase, tables_of_processors_and_of_gpus);
    tcase_add_test(tcase, a_number_of_gpus_is_cut_into_tasks_and_a_rest);
    tcase_add_test(tcase, philly_as_published_sums_its_attempts);
    tcase_add_test(tcase, helios_tells_cores_beside_gpus);
    tcase_add_test(tcase, pai_tasks_of_a_job_are_its_groups);
    tcase_add_test(tcase, openb_pods_are_jobs_of_one_task);
    tcase_add_test(tcase, batsim_profiles_give_run_times);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("errors");
    tcase_add_loop_test(tcase, a_wrong_row_is_refused_with_its_place, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tcase, a_nul_byte_is_refused);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("options");
    tcase_add_test(tcase, lenient_passes_over_rows_that_cannot_be_used);
    tcase_add_loop_test(tcase, most_takes_the_first_jobs, 0, TRACE_TEXTS);
    tcase_add_test(tcase, options_are_checked);
    tcase_add_test(tcase, a_file_is_read_and_a_byte_order_mark_is_passed_over);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
