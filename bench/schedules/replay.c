/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND ((int64_t)1000000000)

const struct replay_policy replay_policies[] = {
    {"fcfs", "wait_fcfs", GANG_BACKFILL_NONE, 0, true, false},
    {"easy", "wait_easy", GANG_BACKFILL_EASY, 0, false, false},
    {"easy-sjbf", "wait_easysjbf", GANG_BACKFILL_EASY, GANG_BACKFILL_ORDER_SHORTEST, false, false},
    {"easy-clairvoyant", "wait_easy_clair", GANG_BACKFILL_EASY, 0, false, true},
    {"easy-sjbf-clairvoyant", "wait_easysjbf_clair", GANG_BACKFILL_EASY,
     GANG_BACKFILL_ORDER_SHORTEST, false, true},
    {"conservative", "wait_conservative", GANG_BACKFILL_CONSERVATIVE, 0, false, false},
    {NULL, NULL, 0, 0, false, false}};

/* ---- the log -- */

enum { MAX_COLUMNS = 32, LINE = 1024 };

struct reader {
    struct replay_log *log;
    int what[MAX_COLUMNS]; /* 0..4: a member; 16 and more: a published one; -1: neither */
    size_t columns, cap;
};

static bool fail(struct replay_log *log, const char *text, size_t line)
{
    snprintf(log->error, sizeof(log->error), "line %zu: %s", line, text);
    return false;
}

static bool read_header(struct reader *r, char *line)
{
    static const char *const member[] = {"submit", "run", "procs", "req_time"};
    struct replay_log *log = r->log;
    int found = 0;
    for (char *rest = line, *name; (name = strtok_r(rest, ",\r\n", &rest)) != NULL; r->columns++) {
        if (r->columns == MAX_COLUMNS)
            return fail(log, "too many columns", 1);
        int *what = &r->what[r->columns];
        *what = -1;
        for (int i = 0; i < 4; i++)
            if (strcmp(name, member[i]) == 0) {
                *what = i;
                found++;
            }
        if (strncmp(name, "wait_", 5) == 0 && log->columns < 16 && strlen(name) < 32) {
            *what = 16 + (int)log->columns;
            strcpy(log->column[log->columns++], name);
        }
    }
    return found == 4 ? true : fail(log, "no columns submit, run, procs and req_time", 1);
}

static bool grow_jobs(struct reader *r)
{
    struct replay_log *log = r->log;
    if (log->count < r->cap)
        return true;
    size_t cap = r->cap ? r->cap * 2 : 4096;
    struct replay_job *job = realloc(log->job, cap * sizeof(*job));
    if (!job)
        return false;
    log->job = job;
    int64_t *waits = realloc(log->waits, cap * (log->columns + 1) * sizeof(*waits));
    if (!waits)
        return false;
    log->waits = waits;
    r->cap = cap;
    return true;
}

static bool read_row(struct reader *r, char *line)
{
    struct replay_log *log = r->log;
    struct replay_job *job = &log->job[log->count];
    int64_t *waits = log->waits + log->count * log->columns;
    int64_t member[4] = {0, 0, 0, 0};
    size_t c = 0;
    for (char *rest = line, *text; (text = strtok_r(rest, ",\r\n", &rest)) != NULL; c++) {
        char *end;
        int64_t value = strtoll(text, &end, 10);
        if (*end || c >= r->columns)
            return false;
        if (r->what[c] >= 16)
            waits[r->what[c] - 16] = value;
        else if (r->what[c] >= 0)
            member[r->what[c]] = value;
    }
    *job = (struct replay_job){member[0], member[1], member[2], member[3], -1};
    bool right = c == r->columns && job->run_s > 0 && job->procs > 0 && job->limit_s > 0 &&
                 (log->count == 0 || job->submit_s >= job[-1].submit_s);
    log->count += right;
    return right;
}

bool replay_read(FILE *file, size_t max, struct replay_log *log)
{
    struct reader r = {.log = log};
    char line[LINE];
    memset(log, 0, sizeof(*log));
    if (!fgets(line, sizeof(line), file))
        return fail(log, "nothing there", 1);
    if (!read_header(&r, line))
        return false;
    while ((!max || log->count < max) && fgets(line, sizeof(line), file)) {
        if (!grow_jobs(&r))
            return fail(log, "out of memory", log->count + 2);
        if (!read_row(&r, line))
            return fail(log, "not a job, or out of order", log->count + 2);
    }
    return log->count > 0 ? true : fail(log, "no jobs", 2);
}

bool replay_repeat(struct replay_log *log, int64_t times)
{
    size_t count = log->count;
    if (times < 1 || (uint64_t)times > SIZE_MAX / sizeof(*log->job) / count)
        return false;
    struct replay_job *job = realloc(log->job, count * (size_t)times * sizeof(*job));
    if (!job)
        return false;
    log->job = job;
    int64_t length = job[count - 1].submit_s - job[0].submit_s + 1;
    for (size_t i = count; i < count * (size_t)times; i++) {
        job[i] = job[i - count];
        job[i].submit_s += length;
    }
    log->count = count * (size_t)times;
    log->columns = 0;
    return true;
}

void replay_free(struct replay_log *log)
{
    free(log->job);
    free(log->waits);
    memset(log, 0, sizeof(*log));
}

/* ---- a machine, a queue, and the jobs -- */

struct replay {
    struct replay_log *log;
    const struct replay_policy *policy;
    gang_cluster *cluster;
    gang_trace *trace;
    gang_sim *sim;
};

/* Plain processors: it does not matter which a job has, so one node has them all. */
static gang_result make_machine(struct replay *r, int64_t processors)
{
    struct gang_node_spec flat = GANG_NODE_SPEC_INIT;
    gang_worker *worker = NULL;
    gang_node_id id;
    flat.name = "flat";
    flat.cpu_milli = processors * 1000;
    flat.memory_bytes = (int64_t)1 << 30;
    gang_result result = gang_cluster_new(NULL, &r->cluster, NULL);
    if (result == GANG_OK)
        result = gang_worker_new(r->cluster, &worker);
    if (result == GANG_OK)
        result = gang_node_add(worker, &flat, &id, NULL);
    gang_worker_free(worker);
    return result;
}

static gang_result make_trace(struct replay *r)
{
    gang_result result = gang_trace_new(NULL, &r->trace);
    for (size_t i = 0; i < r->log->count && result == GANG_OK; i++) {
        const struct replay_job *job = &r->log->job[i];
        struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
        struct gang_trace_job j = GANG_TRACE_JOB_INIT;
        group.count = group.min = 1;
        group.cpu_milli = job->procs * 1000;
        j.submit_ns = job->submit_s * SECOND;
        j.run_ns = job->run_s * SECOND;
        j.limit_ns = job->limit_s * SECOND;
        j.groups = &group;
        j.group_count = 1;
        result = gang_trace_add(r->trace, &j, NULL);
    }
    return result;
}

static gang_result make_sim(struct replay *r)
{
    struct gang_sched_opts sched = GANG_SCHED_OPTS_INIT;
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct gang_sim_opts opts = GANG_SIM_OPTS_INIT;
    sched.no_preemption = 1;
    q.name = "q";
    q.order = GANG_ORDER_FIFO;
    q.block = r->policy->strict ? GANG_BLOCK_STRICT : GANG_BLOCK_NONE;
    q.backfill = r->policy->backfill;
    q.backfill_order = r->policy->order;
    q.max_blocked_ns = -1; /* no published policy bounds the wait */
    opts.sched = &sched;
    opts.queues = &q;
    opts.queue_count = 1;
    opts.know = r->policy->clairvoyant ? GANG_SIM_KNOW_RUN : GANG_SIM_KNOW_LIMIT;
    opts.same_instant = GANG_SIM_ONE_BY_ONE;
    gang_result result = gang_sim_new(r->cluster, &opts, NULL, NULL, &r->sim, NULL);
    return result == GANG_OK ? gang_sim_add_trace(r->sim, r->trace, 0, NULL) : result;
}

static gang_result take_starts(const struct replay *r)
{
    gang_result result = GANG_OK;
    for (size_t i = 0; i < r->log->count && result == GANG_OK; i++) {
        int64_t start_ns = GANG_TRACE_UNKNOWN;
        result = gang_sim_job_column(r->sim, GANG_SIM_JOB_START_NS, i, 1, &start_ns);
        r->log->job[i].start_s = start_ns == GANG_TRACE_UNKNOWN ? -1 : start_ns / SECOND;
    }
    return result;
}

/* NULL: nothing is published. */
static const int64_t *published(const struct replay_log *log, const struct replay_policy *policy)
{
    for (size_t c = 0; c < log->columns; c++)
        if (strcmp(log->column[c], policy->column) == 0)
            return log->waits + c;
    return NULL;
}

static void compare(const struct replay *r, bool cut, struct replay_result *result)
{
    const struct replay_log *log = r->log;
    const int64_t *wait = published(log, r->policy);
    int64_t last = log->job[log->count - 1].submit_s;
    double sum = 0, of = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct replay_job *job = &log->job[i];
        int64_t theirs = wait ? wait[i * log->columns] : 0;
        sum += (double)(job->start_s - job->submit_s);
        of += (double)theirs;
        if (!wait || (cut && job->submit_s + theirs >= last))
            continue; /* those that are left out may have passed it */
        result->compared++;
        result->differing += job->start_s - job->submit_s != theirs;
    }
    result->wait_s = sum / (double)log->count;
    result->published_s = wait ? of / (double)log->count : -1;
}

gang_result replay_run(struct replay_log *log, int64_t processors,
                       const struct replay_policy *policy, bool cut, struct replay_result *result)
{
    struct replay r = {.log = log, .policy = policy};
    memset(result, 0, sizeof(*result));
    gang_result e = make_machine(&r, processors);
    if (e == GANG_OK)
        e = make_trace(&r);
    if (e == GANG_OK)
        e = make_sim(&r);
    clock_t begin = clock();
    if (e == GANG_OK)
        e = gang_sim_run(r.sim, NULL, NULL, NULL);
    result->cpu_s = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (e == GANG_OK)
        e = take_starts(&r);
    if (e == GANG_OK)
        compare(&r, cut, result);
    gang_sim_free(r.sim);
    gang_trace_free(r.trace);
    gang_cluster_free(r.cluster);
    return e;
}
