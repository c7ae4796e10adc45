/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched replay --format philly: virtual clusters of machines with eight GPUs, as the
 * simulators of Helios (SC 2021) and Lucid (ASPLOS 2023) run them; --format tiresias: the trace
 * of that simulator (NSDI 2019). */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/cli.h"
#include "gangsched/csv.h"
#include "gangsched/replay_sim.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)
/* Jobs submitted from 0 to this time count: 2017-10-01 to 2017-11-30, as in the reference. */
#define LAST_SUBMIT_NS (INT64_C(5270340) * SECOND)

enum { GPUS = 8, MAX_NODES = 1000000 };

/* What being preempted costs, by the GPUs of the job. */
static int64_t helios_restart_ns(size_t index, int64_t gpu_milli, void *user)
{
    (void)index;
    (void)user;
    int64_t s = gpu_milli <= 1000 ? 7 : gpu_milli <= GPUS * 1000 ? 30 : 60;
    return s * SECOND;
}

static int64_t lucid_restart_ns(size_t index, int64_t gpu_milli, void *user)
{
    (void)index;
    (void)user;
    return (gpu_milli <= GPUS * 1000 ? 40 : 60) * SECOND;
}

/* Their clocks tick: a job that is done is found so a second later where what is left is counted
 * down. */
static const struct replay_sim_policy philly_policies[] = {
    {.name = "fifo", .policy = GANG_SIM_POLICY_FIFO},
    {.name = "sjf", .policy = GANG_SIM_POLICY_SJF, .block = GANG_BLOCK_STRICT},
    {.name = "srtf",
     .policy = GANG_SIM_POLICY_SRTF,
     .linger_s = 1,
     .restart_ns = helios_restart_ns},
    {.name = "tiresias",
     .policy = GANG_SIM_POLICY_LAS,
     .pass_s = 60,
     .linger_s = 1,
     .restart_ns = lucid_restart_ns},
    {.name = NULL}};

static const struct replay_sim_policy tiresias_policies[] = {
    {.name = "fifo", .policy = GANG_SIM_POLICY_FIFO},
    {.name = "fjf", .policy = GANG_SIM_POLICY_FIRST_FIT},
    {.name = "dlas", .policy = GANG_SIM_POLICY_LAS_STARTED},
    {.name = NULL}};

/* ---- virtual clusters ---- */

struct vc {
    char *name;
    int64_t nodes;
};

struct vcs {
    struct vc *list;
    size_t count;
};

static void free_vcs(struct vcs *vcs)
{
    for (size_t i = 0; i < vcs->count; i++) {
        free(vcs->list[i].name);
    }
    free(vcs->list);
}

static bool add_vc(struct csv *csv, int name, int nodes, struct vcs *vcs)
{
    int64_t count;
    const char *text = csv->field[name];
    if (text[0] == '\0') {
        return csv_fail(csv, name, GANG_EINVAL, "is empty");
    }
    for (size_t i = 0; i < vcs->count; i++) {
        if (strcmp(vcs->list[i].name, text) == 0) {
            return csv_fail(csv, name, GANG_EEXIST, "'%s' is there twice", text);
        }
    }
    if (!csv_number(csv, nodes, 1, MAX_NODES, &count)) {
        return false;
    }
    struct vc *list = realloc(vcs->list, (vcs->count + 1) * sizeof *list);
    char *copy = list != NULL ? cli_copy(text) : NULL;
    vcs->list = list != NULL ? list : vcs->list;
    if (copy == NULL) {
        return csv_no_memory(csv);
    }
    vcs->list[vcs->count++] = (struct vc){copy, count};
    return true;
}

static bool read_rows(struct csv *csv, const char *column, struct vcs *vcs)
{
    int name = csv_column(csv, "vc"), nodes = csv_column(csv, column), got = 0;
    if (name < 0 || nodes < 0) {
        return csv_fail(csv, -1, GANG_EINVAL, "there is no column '%s'", name < 0 ? "vc" : column);
    }
    while ((got = csv_read(csv)) > 0) {
        if (!add_vc(csv, name, nodes, vcs)) {
            return false;
        }
    }
    return got == 0 && (vcs->count > 0 || csv_fail(csv, -1, GANG_EINVAL, "has no machines"));
}

static int read_vcs(const char *path, bool original, struct vcs *vcs)
{
    struct csv *csv = malloc(sizeof *csv);
    if (csv == NULL) {
        return cli_no_memory();
    }
    bool fine = csv_open(csv, path);
    if (fine) {
        fine = read_rows(csv, original ? "nodes_original" : "nodes_tight", vcs);
        csv_close(csv);
    }
    int status = fine ? CLI_OK : cli_fail(path, &csv->error);
    free(csv);
    return status;
}

/* Its jobs that count; NULL after a message. */
static gang_trace *jobs_of(gang_trace *all, const char *vc)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_trace *some = NULL;
    gang_result result = gang_trace_new(NULL, &some);
    for (size_t i = 0; result == GANG_OK && i < gang_trace_count(all); i++) {
        struct gang_trace_job job = GANG_TRACE_JOB_INIT;
        result = gang_trace_get(all, i, &job);
        if (result == GANG_OK && strcmp(job.queue, vc) == 0 && job.submit_ns >= 0 &&
            job.submit_ns <= LAST_SUBMIT_NS) {
            result = gang_trace_add(some, &job, &error);
        }
    }
    if (result == GANG_OK) {
        return some;
    }
    gang_trace_free(some);
    cli_failf(NULL, "%s", error.code == result ? error.text : gang_strerror(result));
    return NULL;
}

/* ---- output ---- */

static void print_run(const struct replay_sim_run *run, const char *name)
{
    const struct gang_sim_stats *s = &run->stats;
    cli_printf("%-12s %6" PRId64 " %8s %14.3f %14.3f %11" PRId64 "\n", name, run->nodes,
               cli_number(s->jobs).s, s->jct_s.mean, s->queue_s.mean, s->preemptions);
}

static json_t *json_of(const struct replay_sim_run *run)
{
    const struct gang_sim_stats *s = &run->stats;
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:I, s:f}", "nodes", (json_int_t)run->nodes, "jobs",
                     (json_int_t)s->jobs, "refused", (json_int_t)s->refused, "avg_jct",
                     s->jct_s.mean, "avg_queue", s->queue_s.mean, "preemptions",
                     (json_int_t)s->preemptions, "last_end", run->last_end_s);
}

/* Takes it. */
static int print_json(json_t *root)
{
    int status = CLI_OK;
    if (root == NULL) {
        status = cli_no_memory();
    } else if (json_dump_callback(root, cli_write, NULL,
                                  JSON_INDENT(2) | JSON_REAL_PRECISION(15)) == 0) {
        cli_printf("\n");
    }
    json_decref(root);
    return status;
}

static void print_head(void)
{
    cli_printf("%-12s %6s %8s %14s %14s %11s\n", "", "nodes", "jobs", "mean JCT (s)",
               "mean queue (s)", "preempted");
}

/* ---- philly ---- */

static int vcs_as_text(const struct replay_sim_run *runs, const struct vcs *vcs)
{
    print_head();
    for (size_t i = 0; i < vcs->count; i++) {
        print_run(&runs[i], vcs->list[i].name);
    }
    return CLI_OK;
}

static int vcs_as_json(const struct replay_sim *replay, const struct replay_sim_run *runs,
                       const struct vcs *vcs)
{
    json_t *by_name = json_object();
    for (size_t i = 0; by_name != NULL && i < vcs->count; i++) {
        if (json_object_set_new(by_name, vcs->list[i].name, json_of(&runs[i])) != 0) {
            json_decref(by_name);
            by_name = NULL;
        }
    }
    return print_json(json_pack("{s:s, s:s, s:o}", "policy", runs[0].policy->name, "config",
                                replay->original ? "original" : "tight", "vcs", by_name));
}

static int run_vcs(const struct replay_sim *replay, const struct replay_sim_policy *policy,
                   gang_trace *all, const struct vcs *vcs)
{
    int status = CLI_OK;
    struct replay_sim_run *runs = calloc(vcs->count + 1, sizeof *runs);
    if (runs == NULL) {
        return cli_no_memory();
    }
    for (size_t i = 0; status == CLI_OK && i < vcs->count; i++) {
        struct replay_sim_run *run = &runs[i];
        *run = (struct replay_sim_run){.policy = policy,
                                       .nodes = vcs->list[i].nodes,
                                       .cpu_milli = 64000,
                                       .gpus = GPUS,
                                       .consolidated = true};
        run->trace = jobs_of(all, vcs->list[i].name);
        status = run->trace != NULL ? replay_sim_run(replay, run) : CLI_WRONG;
        gang_trace_free(run->trace);
    }
    if (status == CLI_OK) {
        status = replay->json ? vcs_as_json(replay, runs, vcs) : vcs_as_text(runs, vcs);
    }
    free(runs);
    return status;
}

int replay_philly(struct replay_sim *replay)
{
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    struct vcs vcs = {NULL, 0};
    gang_trace *all = NULL;
    const struct replay_sim_policy *policy =
        replay_sim_policy(philly_policies, replay->policy ? replay->policy : "fifo");
    opts.format = GANG_TRACE_PHILLY;
    opts.gpus_per_task = GPUS;
    int status = policy ? read_vcs(replay->nodes_path, replay->original, &vcs) : CLI_WRONG;
    if (status == CLI_OK) {
        all = replay_sim_read(replay->tasks_path, &opts);
        status = all != NULL ? replay_sim_open_starts(replay) : CLI_WRONG;
    }
    if (status == CLI_OK) {
        status = replay_sim_close_starts(replay, run_vcs(replay, policy, all, &vcs));
    }
    gang_trace_free(all);
    free_vcs(&vcs);
    return status;
}

/* ---- tiresias ---- */

static bool read_machine(struct csv *csv, struct replay_sim_run *run)
{
    static const char *const names[] = {"num_switch", "num_node_p_switch", "num_gpu_p_node"};
    int64_t number[3];
    for (size_t i = 0; i < 3; i++) {
        if (csv_column(csv, names[i]) < 0) {
            return csv_fail(csv, -1, GANG_EINVAL, "there is no column '%s'", names[i]);
        }
    }
    int got = csv_read(csv);
    if (got <= 0) {
        return got == 0 ? csv_fail(csv, -1, GANG_EINVAL, "has no machines") : false;
    }
    for (size_t i = 0; i < 3; i++) {
        if (!csv_number(csv, csv_column(csv, names[i]), 1, i < 2 ? 1000 : GANG_MAX_GPUS,
                        &number[i])) {
            return false;
        }
    }
    run->nodes = number[0] * number[1];
    run->gpus = (size_t)number[2];
    return true;
}

static int read_machines(const char *path, struct replay_sim_run *run)
{
    struct csv *csv = malloc(sizeof *csv);
    if (csv == NULL) {
        return cli_no_memory();
    }
    bool fine = csv_open(csv, path);
    if (fine) {
        fine = read_machine(csv, run);
        csv_close(csv);
    }
    int status = fine ? CLI_OK : cli_fail(path, &csv->error);
    free(csv);
    return status;
}

int replay_tiresias(struct replay_sim *replay)
{
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    struct replay_sim_run run = {.cpu_milli = 64000};
    run.policy = replay_sim_policy(tiresias_policies, replay->policy ? replay->policy : "fifo");
    int status = run.policy ? read_machines(replay->nodes_path, &run) : CLI_WRONG;
    if (status == CLI_OK) {
        opts.format = GANG_TRACE_TIRESIAS;
        opts.gpus_per_task = replay->gpus_per_task ? replay->gpus_per_task : (int64_t)run.gpus;
        run.trace = replay_sim_read(replay->tasks_path, &opts);
        status = run.trace != NULL ? replay_sim_open_starts(replay) : CLI_WRONG;
    }
    if (status == CLI_OK) {
        status = replay_sim_close_starts(replay, replay_sim_run(replay, &run));
    }
    if (status == CLI_OK && replay->json) {
        status = print_json(json_of(&run));
    } else if (status == CLI_OK) {
        print_head();
        print_run(&run, "");
    }
    gang_trace_free(run.trace);
    return status;
}
