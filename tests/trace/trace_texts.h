/* SPDX-License-Identifier: Apache-2.0 */
/* A small text of each format of traces, made by hand after its documentation. */
#ifndef GANG_TESTS_TRACE_TEXTS_H
#define GANG_TESTS_TRACE_TEXTS_H

#include <gangsched/trace.h>

static const char text_csv[] =
    "job,submit_s,run_s,queue,user,time_limit_s,priority,preemptible,group,count,min,cpu,mem_mib,"
    "gpu,gpu_devices,gpu_models,start_s,end\n"
    "a,0.5,10,q,ann,20.000000001,-3,false,ps,2,1,1.5,0.5,,,,7,failed\n"
    "a,,,,,,,,worker,3,,4,1024,8,,A100|H100,,\n"
    "\"b,\"\"1\"\"\",-1e3,0,,,,,above-min,,,,,,0.5,2,,,\n"
    ",5,6,,,,,,,,,,,0.25,,V100,,timeout\n";

/* The same in the words before version 0.2. */
static const char text_csv_before[] =
    "job,submit_s,run_s,queue,user,limit_s,priority,preemptible,group,tasks,min,cpu,mem_mib,gpus,"
    "gpu_milli,gpu_models,start_s,end\n"
    "a,0.5,10,q,ann,20.000000001,-3,false,ps,2,1,1.5,0.5,,,,7,failed\n"
    "a,,,,,,,,worker,3,,4,1024,8,1000,A100|H100,,\n"
    "\"b,\"\"1\"\"\",-1e3,0,,,,,above-min,,,,,,2,500,,,\n"
    ",5,6,,,,,,,,,,,,250,V100,,timeout\n";

static const char text_jsonl[] =
    "{\"job\":\"a\",\"submit_s\":0.5,\"run_s\":10,\"queue\":\"q\",\"user\":\"ann\","
    "\"time_limit_ns\":20000000001,\"priority\":-3,\"preemptible\":false,\"start_s\":7,\"end\":"
    "\"failed\","
    "\"tasks\":[{\"name\":\"ps\",\"count\":2,\"min\":1,\"cpu\":1.5,\"mem_mib\":0.5},"
    "{\"name\":\"worker\",\"count\":3,\"cpu\":4,\"mem_mib\":1024,\"gpu\":8,"
    "\"gpu_models\":[\"A100\",\"H100\"]}]}\n"
    "\r\n"
    "{\"name\":\"b,\\\"1\\\"\",\"submit_s\":-1e3,\"run_ns\":0,\"user\":null,"
    "\"preemptible\":\"above-min\",\"gpu\":0.5,\"gpu_devices\":2}\n"
    "{\"submit_ns\":5000000000,\"run_s\":6,\"gpu\":0.25,\"gpu_models\":\"V100\","
    "\"end\":\"timeout\"}";

static const char text_jsonl_before[] =
    "{\"job\":\"a\",\"submit_s\":0.5,\"run_s\":10,\"queue\":\"q\",\"user\":\"ann\","
    "\"limit_ns\":20000000001,\"priority\":-3,\"preemptible\":false,\"start_s\":7,\"end\":"
    "\"failed\","
    "\"groups\":[{\"group\":\"ps\",\"tasks\":2,\"min\":1,\"cpu\":1.5,\"mem_mib\":0.5},"
    "{\"group\":\"worker\",\"tasks\":3,\"cpu\":4,\"mem_mib\":1024,\"gpus\":8,\"gpu_milli\":1000,"
    "\"gpu_models\":[\"A100\",\"H100\"]}]}\n"
    "\r\n"
    "{\"job\":\"b,\\\"1\\\"\",\"submit_s\":-1e3,\"run_ns\":0,\"user\":null,"
    "\"preemptible\":\"above-min\",\"gpus\":2,\"gpu_milli\":500}\n"
    "{\"submit_ns\":5000000000,\"run_s\":6,\"gpu_milli\":250,\"gpu_models\":\"V100\","
    "\"end\":\"timeout\"}";

static const char text_swf[] =
    "; Version: 2.2\n"
    ";UnixStartTime: 0\n"
    "\n"
    "  1  0  5  100  4 -1 2048  8 3600 1024 1  7 1 -1  3  2 -1 -1\r\n"
    "\t2 10 -1  0.5  3 -1   10 -1   -1   -1 5 -1 1 -1  0 -1 -1 -1\n"
    "3 20 -1 -1 4 -1 -1 4 10 -1 5 1 1 1 1 1 -1 -1\n"  /* was never run */
    "4 30 0 10 -1 -1 -1 -1 10 -1 0 1 1 1 1 1 -1 -1\n" /* nor this */
    "1 0 5 50 4 -1 -1 8 3600 -1 2 7 1 -1 3 2 -1 -1\n" /* a part of job 1 */
    "5 40 2 7 1 -1 -1 1 0 -1 0 1 1 1 -1 -1 -1 -1\n";

static const char text_procs[] = "job_id,submit,run,procs,req_time,user,wait_fcfs\n"
                                 "7,5,100.25,16,200,3,0\n"
                                 "8,6,1,1,-1,-1,9\n";

static const char text_philly[] = "job_id,vc,gpu_num,submit_time,duration\n"
                                  "0,7f04ca,8,-2294959,2240194\n"
                                  "1,6214e9,20,5,60\n";

static const char text_philly_log[] =
    " [ {\"status\":\"Pass\",\"vc\":\"ee9e8c\",\"jobid\":\"application_1\",\"attempts\":[\n"
    "{\"start_time\":\"2017-10-07 01:12:09\",\"end_time\":\"2017-10-07 01:13:23\",\"detail\":"
    "[{\"ip\":\"m47\",\"gpus\":[\"gpu0\",\"gpu1\"]}]},\n"
    "{\"start_time\":\"2017-10-07 01:13:30\",\"end_time\":\"2017-10-07 01:14:30\",\"detail\":"
    "[{\"ip\":\"m41\",\"gpus\":[\"gpu0\",\"gpu1\",\"g2\",\"g3\",\"g4\",\"g5\",\"g6\",\"g7\"]},"
    "{\"ip\":\"m42\",\"gpus\":[\"gpu3\"]}]}],\n"
    "\"submitted_time\":\"2017-10-07 01:11:39\",\"user\":\"ce2f4c\"},\n"
    "{\"status\":\"Killed\",\"vc\":\"a\",\"jobid\":\"waited]}\\\"{\",\"attempts\":[],"
    "\"submitted_time\":\"2017-10-07 01:11:40\",\"user\":\"u\"},\n"
    "{\"status\":\"Failed\",\"vc\":\"a\",\"jobid\":\"still runs\",\"attempts\":["
    "{\"start_time\":\"2017-10-08 00:00:00\",\"end_time\":null,\"detail\":[]}],"
    "\"submitted_time\":\"2017-10-07 01:11:40\",\"user\":\"u\"},\n"
    "{\"status\":\"Killed\",\"vc\":\"a\",\"jobid\":\"application_2\",\"attempts\":["
    "{\"start_time\":\"2017-10-08 00:00:00\",\"end_time\":\"2017-10-08 00:00:01\","
    "\"detail\":[{\"ip\":\"m1\",\"gpus\":[\"gpu7\"]}]}],"
    "\"submitted_time\":\"2017-10-07 23:59:59\",\"user\":\"u\"} ] \n";

static const char text_helios[] =
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:02,"
    "2020-06-10 04:55:10,36848,1\n"
    "1425512,uVMrF,vchbv,12,16,2,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,"
    "2020-06-09 18:45:36,249,0\n"
    "1425513,uzqls,vcpDC,0,8,2,TIMEOUT,2020-06-09 18:41:28,2020-06-09 18:41:28,"
    "2020-06-17 14:15:21,675233,0\n"
    "1425514,uzqls,vcpDC,1,1,1,CANCELLED,2020-06-09 18:41:29,,2020-06-09 18:45:00,0,211\n";

static const char text_pai[] = "j1,worker,2.0,Terminated,100.0,400.5,600.0,29.296875,50.0,V100\n"
                               "j2,tensorflow,1.0,Failed,50.0,60.0,400.0,1,0.0,\n"
                               "j1,ps,1.0,Terminated,90.0,390.0,100.0,,,MISC\n"
                               "j3,worker,1.0,Running,10.0,,100.0,1,100.0,T4\n"
                               "j3,ps,1.0,Terminated,10.0,20.0,100.0,1,100.0,T4\n"
                               "j2,evaluator,1.0,Terminated,60.0,65.0,400.0,1,200.0,\n";

static const char text_openb[] =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
    "openb-pod-0000,12000,16384,1,460,V100M16|V100M32,LS,Running,10,110,30\n"
    "openb-pod-0001,6000,12288,0,0,T4,BE,Failed,427061,427071,\n"
    "openb-pod-0002,1,1,4,1000,,BE,Succeeded,5,9,6\n";

static const char text_batsim[] =
    "{\n\"description\":\"made by hand\",\"nb_res\":8,\n"
    "\"jobs\":[{\"id\":\"w0!1\",\"subtime\":1.5,\"walltime\":100,\"res\":4,\"profile\":\"d\"},\n"
    "{\"id\":2,\"subtime\":2,\"walltime\":-1,\"res\":2,\"profile\":\"h\",\"user\":\"u\"},\n"
    "{\"id\":\"3\",\"subtime\":3,\"res\":8,\"profile\":\"t\"},\n"
    "{\"id\":\"4\",\"subtime\":4,\"res\":2,\"profile\":\"five\"}],\n"
    "\"profiles\":{\"d\":{\"type\":\"delay\",\"delay\":20.25},\n"
    "\"h\":{\"type\":\"parallel_homogeneous\",\"cpu\":5e9,\"com\":1e6},\n"
    "\"t\":{\"type\":\"parallel_homogeneous_total\",\"cpu\":16e9,\"com\":0},\n"
    "\"five\":{\"type\":\"ParallelTaskHomogeneousProfile\",\"cpu\":6e9,\"com\":0,"
    "\"generation_strategy\":\"DefinedAmountsSpreadUniformly\"},\n"
    "\"s\":{\"type\":\"smpi\",\"trace\":\"x\"}}}\n";

static const char text_tiresias[] =
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    "0,1,0,606,vgg19,164,30\n"
    "1,8,30,133,vgg11,147,23\n";

static const struct trace_text {
    int32_t format;
    const char *text;
    size_t jobs;
    size_t skipped;
} trace_texts[] = {
    {GANG_TRACE_CSV, text_csv, 3, 0},          {GANG_TRACE_JSONL, text_jsonl, 3, 0},
    {GANG_TRACE_CSV, text_csv_before, 3, 0},   {GANG_TRACE_JSONL, text_jsonl_before, 3, 0},
    {GANG_TRACE_SWF, text_swf, 3, 3},          {GANG_TRACE_PROCS, text_procs, 2, 0},
    {GANG_TRACE_PHILLY, text_philly, 2, 0},    {GANG_TRACE_PHILLY_LOG, text_philly_log, 2, 2},
    {GANG_TRACE_HELIOS, text_helios, 3, 1},    {GANG_TRACE_PAI, text_pai, 2, 2},
    {GANG_TRACE_OPENB, text_openb, 3, 0},      {GANG_TRACE_BATSIM, text_batsim, 4, 0},
    {GANG_TRACE_TIRESIAS, text_tiresias, 2, 0}};

enum { TRACE_TEXTS = sizeof(trace_texts) / sizeof(trace_texts[0]) };

#endif
