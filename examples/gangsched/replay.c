/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/replay.h"

#include "gangsched/cli.h"
#include "gangsched/openb.h"
#include "gangsched/replay_sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Feeds a trace of arriving gangs through the allocator and tells what was placed, what was\n"
    "refused and why, how full the cluster got, and how fast the decisions were.\n"
    "\n"
    "  --nodes F          the machines: sn,cpu_milli,memory_mib,gpu,model\n"
    "  --tasks F          the gangs, one a line, in the order of arrival; may be compressed with\n"
    "                     gzip. Either of the gang format\n"
    "                       name,tasks,cpu_milli,memory_mib,gpus,gpu_milli[,gpu_model]\n"
    "                         [,submit_s,duration_s]\n"
    "                     or a pod list of the openb trace\n"
    "                       name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec,...]\n"
    "  --policy NAME      pack (default), spread, first, fgd, best-fit, dot-product, gpu-packing "
    "or\n"
    "                     gpu-clustering\n"
    "  --limit N          only the first N gangs of the file\n"
    "  --placements F     write where each task went, as CSV\n"
    "  --json             print one JSON object\n"
    "  --format NAME      format of --tasks: gang or openb, recognised by the header unless\n"
    "                     given; jobs, philly or tiresias: see below\n"
    "  --order F          openb: the order in which pods come, and ranks of nodes; the results\n"
    "                     are comparable with published ones, see gangsched-replay(1)\n"
    "  --seed N           seed of the order to use from F; the first order unless given\n"
    "\n"
    "With submit_s and duration_s gangs end, and those that do not fit wait; without them no\n"
    "gang ends, and those that do not fit are refused. \"-\" reads from standard input.\n"
    "\n"
    "Workloads run through the whole scheduler, with times in seconds:\n"
    "  --format jobs      a log (job_id,submit,run,procs,req_time, or SWF) on --processors N;\n"
    "                     --policy fcfs, easy, easy-sjbf or conservative; --clairvoyant:\n"
    "                     plans use the run times; --same-second reference: the order of\n"
    "                     events within a second\n"
    "  --format philly    jobs (job_id,vc,gpu_num,submit_time,duration) of virtual clusters "
    "(--nodes:\n"
    "                     vc,nodes_original,nodes_tight; --config original or tight); --policy\n"
    "                     fifo, sjf, srtf or tiresias\n"
    "  --format tiresias  jobs (job_id,num_gpu,submit_time,duration) on --nodes; --policy fifo, "
    "fjf or\n"
    "                     dlas; --gpus-per-task N: GPUs of each task; those of a node\n"
    "                     unless given\n"
    "  --starts F         write the start of each job as CSV (job_id,start)\n"
    "Exit status: 0 done, 1 the cluster's own audit failed, 2 wrong input or usage, 130 Ctrl-C.\n";

static int open_placements(struct replay *replay)
{
    if (replay->placements_path == NULL) {
        return CLI_OK;
    }
    replay->placements = fopen(replay->placements_path, "w");
    if (replay->placements == NULL) {
        return cli_fail_errno(replay->placements_path, errno);
    }
    fputs("seq,name,task,node,gpus,gpu_milli,start_s\n", replay->placements);
    return CLI_OK;
}

static int close_placements(struct replay *replay, int status)
{
    FILE *file = replay->placements;
    replay->placements = NULL;
    if (file == NULL) {
        return status;
    }
    bool failed = ferror(file) != 0;
    int number = failed ? EIO : 0;
    if (fclose(file) != 0) {
        failed = true;
        number = errno;
    }
    return failed ? cli_fail_errno(replay->placements_path, number) : status;
}

/* The cluster's records must agree with each other, whatever was replayed. */
static int audit(struct replay *replay, int status)
{
    struct gang_error error = GANG_ERROR_INIT;
    if (gang_cluster_check(replay->cluster, &error) != GANG_OK) {
        cli_fail("audit of the cluster", &error);
        return CLI_FAILED;
    }
    return status;
}

static int read_and_run(struct replay *replay, int64_t limit, bool json)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result result = gang_cluster_new(NULL, &replay->cluster, &error);
    if (result == GANG_OK) {
        result = gang_worker_new(replay->cluster, &replay->worker);
    }
    if (result != GANG_OK) {
        return cli_failf(NULL, "%s", gang_strerror(result));
    }
    int status = trace_read_nodes(replay->nodes_path, replay->worker, &replay->nodes);
    if (status == CLI_OK) {
        status = trace_read_gangs(replay->tasks_path, limit, replay->cluster, replay->policy,
                                  &replay->gangs);
    }
    if (status == CLI_OK) {
        status = open_placements(replay);
    }
    if (status == CLI_OK) {
        status = close_placements(replay, replay_run(replay));
    }
    if (status == CLI_WRONG) {
        return status;
    }
    status = audit(replay, status);
    if (json) {
        int printed = replay_print_json(replay);
        return printed == CLI_OK ? status : printed;
    }
    replay_print_text(replay);
    return status;
}

static void end_replay(struct replay *replay)
{
    trace_gangs_free(&replay->gangs); /* requests go before their cluster */
    gang_worker_free(replay->worker);
    gang_cluster_free(replay->cluster);
    trace_nodes_free(&replay->nodes);
    free(replay->model_usage);
    free(replay->decision_samples);
    free(replay->waits_us);
}

/* ---- the command line ---- */

struct words {
    const char *policy, *limit, *format, *seed;
    const char *processors, *same_second, *config, *gpus_per_task;
};

/* Options that go with one format alone. */
static int check_format(const struct cli_command *command, const struct words *w,
                        const struct replay_sim *sim, const char *format)
{
    const struct {
        const char *option, *format;
        bool given;
    } only[] = {{"processors", "jobs", w->processors != NULL},
                {"clairvoyant", "jobs", sim->clairvoyant},
                {"same-second", "jobs", w->same_second != NULL},
                {"config", "philly", w->config != NULL},
                {"gpus-per-task", "tiresias", w->gpus_per_task != NULL}};
    for (size_t i = 0; i < sizeof only / sizeof only[0]; i++) {
        if (only[i].given && strcmp(only[i].format, format) != 0) {
            return cli_wrong_usage(command, "option '--%s' goes with '--format %s'", only[i].option,
                                   only[i].format);
        }
    }
    return CLI_OK;
}

static int run_jobs(const struct cli_command *command, const struct words *w,
                    struct replay_sim *sim)
{
    if (w->processors == NULL) {
        return cli_wrong_usage(command, "option '--processors' is missing");
    }
    if (!cli_parse_number(w->processors, 1, GANG_MAX_CPU_MILLI / 1000, &sim->processors)) {
        return cli_wrong_usage(command, "'%s' is not a number of processors", w->processors);
    }
    if (w->same_second != NULL && strcmp(w->same_second, "reference") != 0) {
        return cli_wrong_usage(command, "unknown order '%s'", w->same_second);
    }
    if (sim->nodes_path != NULL) {
        return cli_wrong_usage(command, "option '--nodes' does not go with '--format jobs'");
    }
    return replay_jobs(sim);
}

static int run_gpus(const struct cli_command *command, const struct words *w,
                    struct replay_sim *sim, bool philly)
{
    if (sim->nodes_path == NULL) {
        return cli_wrong_usage(command, "option '--nodes' is missing");
    }
    if (!philly) {
        if (w->gpus_per_task != NULL &&
            !cli_parse_number(w->gpus_per_task, 1, GANG_MAX_GPUS, &sim->gpus_per_task)) {
            return cli_wrong_usage(command, "'%s' is not a number of GPUs", w->gpus_per_task);
        }
        return replay_tiresias(sim);
    }
    if (w->config == NULL) {
        return cli_wrong_usage(command, "option '--config' is missing");
    }
    sim->original = strcmp(w->config, "original") == 0;
    if (!sim->original && strcmp(w->config, "tight") != 0) {
        return cli_wrong_usage(command, "unknown configuration '%s'", w->config);
    }
    return replay_philly(sim);
}

/* Through the whole scheduler. */
static int run_sim(const struct cli_command *command, const struct words *w,
                   const struct replay *replay, struct replay_sim *sim)
{
    int status = check_format(command, w, sim, w->format);
    if (status != CLI_OK) {
        return status;
    }
    if (w->limit != NULL || w->seed != NULL || replay->placements_path != NULL) {
        return cli_wrong_usage(command, "option '--%s' does not go with '--format %s'",
                               w->limit != NULL  ? "limit"
                               : w->seed != NULL ? "seed"
                                                 : "placements",
                               w->format);
    }
    sim->tasks_path = replay->tasks_path;
    sim->nodes_path = replay->nodes_path;
    sim->policy = w->policy;
    if (strcmp(w->format, "jobs") == 0) {
        return run_jobs(command, w, sim);
    }
    return run_gpus(command, w, sim, strcmp(w->format, "philly") == 0);
}

static bool is_sim(const char *format)
{
    return format != NULL && (strcmp(format, "jobs") == 0 || strcmp(format, "philly") == 0 ||
                              strcmp(format, "tiresias") == 0);
}

/* In the order of a file. */
static int run_openb(const struct cli_command *command, const struct words *w,
                     const struct replay *replay, struct openb_options *openb)
{
    if (w->format == NULL || strcmp(w->format, "openb") != 0 || w->limit != NULL) {
        return cli_wrong_usage(command,
                               "option '--order' goes with '--format openb', without '--limit'");
    }
    openb->nodes_path = replay->nodes_path;
    openb->tasks_path = replay->tasks_path;
    openb->placements_path = replay->placements_path;
    openb->policy = w->policy;
    return openb_replay(openb);
}

/* Through the allocator alone. */
static int run_gangs(const struct cli_command *command, const struct words *w,
                     struct replay *replay, struct openb_options *openb, bool json)
{
    int64_t limit = INT64_MAX;
    if (replay->nodes_path == NULL) {
        return cli_wrong_usage(command, "option '--nodes' is missing");
    }
    if (gang_policy_find(w->policy != NULL ? w->policy : "pack", &replay->policy) != GANG_OK ||
        replay->policy == GANG_POLICY_HOST) {
        return cli_wrong_usage(command, "unknown policy '%s'", w->policy);
    }
    if (w->format != NULL && strcmp(w->format, "gang") != 0 && strcmp(w->format, "openb") != 0) {
        return cli_wrong_usage(command, "unknown format '%s'", w->format);
    }
    if (w->seed != NULL &&
        (openb->order_path == NULL || !cli_parse_number(w->seed, 0, INT64_MAX, &openb->seed))) {
        return cli_wrong_usage(command,
                               openb->order_path == NULL ? "option '--seed' goes with '--order'"
                                                         : "'%s' is not a seed",
                               w->seed);
    }
    if (openb->order_path != NULL) {
        openb->json = json;
        return run_openb(command, w, replay, openb);
    }
    if (w->limit != NULL && !cli_parse_number(w->limit, 1, INT64_MAX, &limit)) {
        return cli_wrong_usage(command, "'%s' is not a number of gangs", w->limit);
    }
    int status = read_and_run(replay, limit, json);
    end_replay(replay);
    return status;
}

int cmd_replay(int argc, char **argv)
{
    struct replay replay = {0};
    struct words w = {NULL};
    struct openb_options openb = {.seed = -1};
    struct replay_sim sim = {NULL};
    const struct cli_option options[] = {{"nodes", &replay.nodes_path, NULL},
                                         {"tasks", &replay.tasks_path, NULL},
                                         {"policy", &w.policy, NULL},
                                         {"limit", &w.limit, NULL},
                                         {"placements", &replay.placements_path, NULL},
                                         {"json", NULL, &sim.json},
                                         {"format", &w.format, NULL},
                                         {"order", &openb.order_path, NULL},
                                         {"seed", &w.seed, NULL},
                                         {"processors", &w.processors, NULL},
                                         {"clairvoyant", NULL, &sim.clairvoyant},
                                         {"same-second", &w.same_second, NULL},
                                         {"config", &w.config, NULL},
                                         {"gpus-per-task", &w.gpus_per_task, NULL},
                                         {"starts", &sim.starts_path, NULL},
                                         {NULL, NULL, NULL}};
    const struct cli_command command = {
        "replay", "--tasks F [--nodes F] [--format NAME] [--policy NAME] [--json] ...", help,
        options};
    int status = cli_parse(&command, &argc, argv);
    if (status != CLI_GO_ON) {
        return status;
    }
    if (argc > 1) {
        return cli_wrong_usage(&command, "unexpected argument '%s'", argv[1]);
    }
    if (replay.tasks_path == NULL && (replay.nodes_path != NULL || is_sim(w.format))) {
        return cli_wrong_usage(&command, "option '--tasks' is missing");
    }
    if (is_sim(w.format) && openb.order_path == NULL) {
        return run_sim(&command, &w, &replay, &sim);
    }
    status = check_format(&command, &w, &sim, "");
    if (status == CLI_OK && sim.starts_path != NULL) {
        status = cli_wrong_usage(&command,
                                 "option '--starts' goes with '--format jobs', philly or tiresias");
    }
    return status == CLI_OK ? run_gangs(&command, &w, &replay, &openb, sim.json) : status;
}
