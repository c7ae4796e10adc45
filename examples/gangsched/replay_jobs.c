/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched replay --format jobs: a workload log on a flat machine of equal processors. */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/cli.h"
#include "gangsched/replay_sim.h"

#include <inttypes.h>

static const struct replay_sim_policy policies[] = {
    {.name = "fcfs", .block = GANG_BLOCK_STRICT, .backfill = GANG_BACKFILL_NONE},
    {.name = "easy", .backfill = GANG_BACKFILL_EASY},
    {.name = "easy-sjbf",
     .backfill = GANG_BACKFILL_EASY,
     .backfill_order = GANG_BACKFILL_ORDER_SHORTEST},
    {.name = "conservative", .backfill = GANG_BACKFILL_CONSERVATIVE},
    {.name = NULL}};

/* The processors of a job are those of one node, for it does not matter which they are. */
static gang_trace *flatten(gang_trace *from)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_trace *to = NULL;
    gang_result result = gang_trace_new(NULL, &to);
    for (size_t i = 0; result == GANG_OK && i < gang_trace_count(from); i++) {
        struct gang_trace_job job = GANG_TRACE_JOB_INIT;
        struct gang_group_spec all = GANG_GROUP_SPEC_INIT;
        result = gang_trace_get(from, i, &job);
        all.count = all.min = 1;
        if (result == GANG_OK) {
            result = gang_trace_column(from, GANG_TRACE_CPU_MILLI, i, 1, &all.cpu_milli);
        }
        job.groups = &all;
        job.group_count = 1;
        job.group_size = sizeof all;
        job.queue = NULL;
        if (result == GANG_OK) {
            result = gang_trace_add(to, &job, &error);
        }
    }
    if (result == GANG_OK) {
        return to;
    }
    gang_trace_free(to);
    cli_failf(NULL, "%s", error.code == result ? error.text : gang_strerror(result));
    return NULL;
}

static gang_trace *read_log(const char *path)
{
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    gang_trace *log = replay_sim_read(path, &opts);
    if (log == NULL) {
        return NULL;
    }
    int32_t format = gang_trace_format(log);
    gang_trace *flat = NULL;
    if (format != GANG_TRACE_PROCS && format != GANG_TRACE_SWF) {
        cli_failf(path, "is of format %s; workload logs are %s or %s",
                  gang_trace_format_name(format), gang_trace_format_name(GANG_TRACE_PROCS),
                  gang_trace_format_name(GANG_TRACE_SWF));
    } else {
        flat = flatten(log);
    }
    gang_trace_free(log);
    return flat;
}

static void print(const struct replay_sim *replay, const struct replay_sim_run *run)
{
    const struct gang_sim_stats *s = &run->stats;
    if (replay->json) {
        cli_printf("{\"policy\": \"%s\", \"clairvoyant\": %s, \"processors\": %" PRId64
                   ", \"jobs\": %" PRId64 ", \"refused\": %" PRId64 ", \"avg_wait\": %.15g"
                   ", \"avg_bounded_slowdown\": %.15g, \"last_end\": %.15g}\n",
                   run->policy->name, replay->clairvoyant ? "true" : "false", replay->processors,
                   s->jobs, s->refused, s->wait_s.mean, s->bounded_slowdown.mean, run->last_end_s);
        return;
    }
    cli_printf("policy            %s%s\n", run->policy->name,
               replay->clairvoyant ? ", which knows the run times" : "");
    cli_printf("jobs              %s on %s processors\n", cli_number(s->jobs).s,
               cli_number(replay->processors).s);
    if (s->refused > 0) {
        cli_printf("refused           %s, which could never run\n", cli_number(s->refused).s);
    }
    cli_printf("wait              mean %.3f s, 99 %% below %.0f s, longest %.0f s\n",
               s->wait_s.mean, s->wait_s.p99, s->wait_s.max);
    cli_printf("bounded slowdown  mean %.6f\n", s->bounded_slowdown.mean);
    cli_printf("utilisation       %.2f %%\n", s->cpu_utilisation * 100);
}

int replay_jobs(struct replay_sim *replay)
{
    struct replay_sim_run run = {.nodes = 1,
                                 .cpu_milli = replay->processors * 1000,
                                 .know =
                                     replay->clairvoyant ? GANG_SIM_KNOW_RUN : GANG_SIM_KNOW_LIMIT,
                                 .same_instant = GANG_SIM_ONE_BY_ONE};
    run.policy = replay_sim_policy(policies, replay->policy ? replay->policy : "fcfs");
    if (run.policy == NULL) {
        return CLI_WRONG;
    }
    run.trace = read_log(replay->tasks_path);
    int status = run.trace != NULL ? replay_sim_open_starts(replay) : CLI_WRONG;
    if (status == CLI_OK) {
        status = replay_sim_close_starts(replay, replay_sim_run(replay, &run));
    }
    if (status == CLI_OK) {
        print(replay, &run);
    }
    gang_trace_free(run.trace);
    return status;
}
