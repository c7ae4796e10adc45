/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/replay.h"

#include "gangsched/cli.h"
#include "gangsched/openb.h"

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
    "  --format NAME      of the tasks: gang or openb; told by the header unless given\n"
    "  --order F          openb: the order in which pods come, and ranks of nodes; the results "
    "can\n"
    "                     then be compared with published ones, see gangsched-replay(1)\n"
    "  --seed N           which order of the file; the first unless given\n"
    "\n"
    "With submit_s and duration_s gangs end, and those that did not fit wait; without them\n"
    "everything stays, and what does not fit is refused. \"-\" reads from standard input.\n"
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

int cmd_replay(int argc, char **argv)
{
    struct replay replay = {0};
    const char *policy = NULL;
    const char *limit_text = NULL;
    int64_t limit = INT64_MAX;
    bool json = false;
    const char *format = NULL;
    const char *seed_text = NULL;
    struct openb_options openb = {.seed = -1};
    const struct cli_option options[] = {{"nodes", &replay.nodes_path, NULL},
                                         {"tasks", &replay.tasks_path, NULL},
                                         {"policy", &policy, NULL},
                                         {"limit", &limit_text, NULL},
                                         {"placements", &replay.placements_path, NULL},
                                         {"json", NULL, &json},
                                         {"format", &format, NULL},
                                         {"order", &openb.order_path, NULL},
                                         {"seed", &seed_text, NULL},
                                         {NULL, NULL, NULL}};
    const struct cli_command command = {
        "replay", "--nodes F --tasks F [--policy NAME] [--order F] [--limit N] [--json] ...", help,
        options};
    int status = cli_parse(&command, &argc, argv);
    if (status != CLI_GO_ON) {
        return status;
    }
    if (argc > 1) {
        return cli_wrong_usage(&command, "unexpected argument '%s'", argv[1]);
    }
    if (replay.nodes_path == NULL || replay.tasks_path == NULL) {
        return cli_wrong_usage(&command, "option '--%s' is missing",
                               replay.nodes_path == NULL ? "nodes" : "tasks");
    }
    if (gang_policy_find(policy != NULL ? policy : "pack", &replay.policy) != GANG_OK ||
        replay.policy == GANG_POLICY_HOST) {
        return cli_wrong_usage(&command, "unknown policy '%s'", policy);
    }
    if (format != NULL && strcmp(format, "gang") != 0 && strcmp(format, "openb") != 0) {
        return cli_wrong_usage(&command, "unknown format '%s'", format);
    }
    if (seed_text != NULL &&
        (openb.order_path == NULL || !cli_parse_number(seed_text, 0, INT64_MAX, &openb.seed))) {
        return cli_wrong_usage(&command,
                               openb.order_path == NULL ? "option '--seed' goes with '--order'"
                                                        : "'%s' is not a seed",
                               seed_text);
    }
    if (openb.order_path != NULL) {
        if (format == NULL || strcmp(format, "openb") != 0 || limit_text != NULL) {
            return cli_wrong_usage(
                &command, "option '--order' goes with '--format openb', without '--limit'");
        }
        openb.nodes_path = replay.nodes_path;
        openb.tasks_path = replay.tasks_path;
        openb.placements_path = replay.placements_path;
        openb.policy = policy;
        openb.json = json;
        return openb_replay(&openb);
    }
    if (limit_text != NULL && !cli_parse_number(limit_text, 1, INT64_MAX, &limit)) {
        return cli_wrong_usage(&command, "'%s' is not a number of gangs", limit_text);
    }
    status = read_and_run(&replay, limit, json);
    end_replay(&replay);
    return status;
}
