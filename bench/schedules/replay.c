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

/* ---- the log ------------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 32, LINE = 1024 };

struct reader {
    struct replay_log *log;
    int what[MOST_COLUMNS]; /* 0..4: a member; 16 and more: a published one; -1: neither */
    size_t columns, room;
};

static bool say(struct replay_log *log, const char *text, size_t line)
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
        if (r->columns == MOST_COLUMNS)
            return say(log, "too many columns", 1);
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
    return found == 4 ? true : say(log, "no columns submit, run, procs and req_time", 1);
}

static bool make_room(struct reader *r)
{
    struct replay_log *log = r->log;
    if (log->count < r->room)
        return true;
    size_t room = r->room ? r->room * 2 : 4096;
    struct replay_job *job = realloc(log->job, room * sizeof(*job));
    if (!job)
        return false;
    log->job = job;
    int64_t *waits = realloc(log->waits, room * (log->columns + 1) * sizeof(*waits));
    if (!waits)
        return false;
    log->waits = waits;
    r->room = room;
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
    *job = (struct replay_job){member[0], member[1], member[2], member[3], -1, GANG_ID_NONE};
    bool right = c == r->columns && job->run_s > 0 && job->procs > 0 && job->limit_s > 0 &&
                 (log->count == 0 || job->submit_s >= job[-1].submit_s);
    log->count += right;
    return right;
}

bool replay_read(FILE *file, size_t most, struct replay_log *log)
{
    struct reader r = {.log = log};
    char line[LINE];
    memset(log, 0, sizeof(*log));
    if (!fgets(line, sizeof(line), file))
        return say(log, "nothing there", 1);
    if (!read_header(&r, line))
        return false;
    while ((!most || log->count < most) && fgets(line, sizeof(line), file)) {
        if (!make_room(&r))
            return say(log, "out of memory", log->count + 2);
        if (!read_row(&r, line))
            return say(log, "not a job, or out of order", log->count + 2);
    }
    return log->count > 0 ? true : say(log, "no jobs", 2);
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

/* ---- running it ---------------------------------------------------------------------------------- */

/* Those that run: a heap by end, then by start. */
struct entry {
    int64_t end_s;
    size_t order, job;
};

struct replay {
    struct replay_log *log;
    const struct replay_policy *policy;
    gang_sched *sched;
    struct entry *heap;
    size_t running, next, started;
    int64_t now_s;
};

static bool is_before(const struct entry *a, const struct entry *b)
{
    return a->end_s != b->end_s ? a->end_s < b->end_s : a->order < b->order;
}

static void put(struct replay *r, struct entry e)
{
    size_t i = r->running++;
    for (; i > 0 && is_before(&e, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
        r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = e;
}

static struct entry take(struct replay *r)
{
    struct entry first = r->heap[0], last = r->heap[--r->running];
    size_t i = 0;
    for (size_t child = 1; child < r->running; child = 2 * i + 1) {
        child += child + 1 < r->running && is_before(&r->heap[child + 1], &r->heap[child]);
        if (!is_before(&r->heap[child], &last))
            break;
        r->heap[i] = r->heap[child];
        i = child;
    }
    r->heap[i] = last;
    return first;
}

static int32_t on_start(const struct gang_event *e, void *user)
{
    struct replay *r = user;
    struct replay_job *job = &r->log->job[e->cookie];
    job->start_s = e->now_ns / SECOND;
    put(r, (struct entry){job->start_s + job->run_s, r->started++, (size_t)e->cookie});
    return 0;
}

static gang_result run(struct replay *r)
{
    return gang_sched_run(r->sched, r->now_s * SECOND, NULL, NULL);
}

static gang_result submit(struct replay *r)
{
    struct replay_job *job = &r->log->job[r->next];
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec spec = GANG_JOB_SPEC_INIT;
    group.count = group.min = 1;
    group.cpu_milli = job->procs * 1000;
    spec.request.groups = &group;
    spec.request.group_count = 1;
    spec.queue = "q";
    spec.time_limit_ns = (r->policy->clairvoyant ? job->run_s : job->limit_s) * SECOND;
    spec.cookie = r->next++;
    gang_result result = gang_job_submit(r->sched, &spec, &job->id, NULL);
    return result == GANG_OK ? run(r) : result;
}

/* Its limit may have passed in this very second: then it is over already. */
static gang_result end_first(struct replay *r)
{
    struct gang_job_info info = {.size = sizeof(info)};
    gang_job_id id = r->log->job[take(r).job].id;
    gang_result result = GANG_OK;
    if (gang_job_get(r->sched, id, &info) == GANG_OK)
        result = gang_report_end(r->sched, id, 1);
    return result == GANG_OK ? run(r) : result;
}

static void advance(struct replay *r)
{
    const struct replay_log *log = r->log;
    int64_t due = gang_sched_next(r->sched), next = INT64_MAX;
    if (due != INT64_MIN && due != INT64_MAX)
        next = due / SECOND;
    if (r->next < log->count && log->job[r->next].submit_s < next)
        next = log->job[r->next].submit_s;
    if (r->running && r->heap[0].end_s < next)
        next = r->heap[0].end_s;
    r->now_s = next;
}

static gang_result go(struct replay *r)
{
    const struct replay_log *log = r->log;
    gang_result result = GANG_OK;
    while (result == GANG_OK && (r->next < log->count || r->running)) {
        bool some = false;
        advance(r);
        for (; result == GANG_OK && r->next < log->count && log->job[r->next].submit_s == r->now_s;
             some = true)
            result = submit(r);
        for (; result == GANG_OK && r->running && r->heap[0].end_s == r->now_s; some = true)
            result = end_first(r);
        if (result == GANG_OK && !some)
            result = run(r);
    }
    return result;
}

/* ---- a machine and a queue ------------------------------------------------------------------------- */

static gang_result make_machine(int64_t processors, gang_cluster **cluster, gang_worker **worker)
{
    struct gang_node_spec flat = GANG_NODE_SPEC_INIT;
    gang_node_id id;
    flat.name = "flat";
    flat.cpu_milli = processors * 1000;
    flat.memory_bytes = (int64_t)1 << 30;
    gang_result r = gang_cluster_new(NULL, cluster, NULL);
    if (r == GANG_OK)
        r = gang_worker_new(*cluster, worker);
    return r == GANG_OK ? gang_node_add(*worker, &flat, &id, NULL) : r;
}

static gang_result make_queue(gang_sched *sched, const struct replay_policy *policy)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "q";
    q.order = GANG_ORDER_FIFO;
    q.block = policy->strict ? GANG_BLOCK_STRICT : GANG_BLOCK_NONE;
    q.backfill = policy->backfill;
    q.backfill_order = policy->order;
    return gang_sched_set_queues(sched, &q, 1, NULL);
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
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    gang_cluster *cluster = NULL;
    gang_worker *worker = NULL;
    memset(result, 0, sizeof(*result));
    r.heap = malloc(log->count * sizeof(*r.heap));
    opts.no_preemption = 1;
    ops.start = on_start;
    gang_result e = r.heap ? make_machine(processors, &cluster, &worker) : GANG_ENOMEM;
    if (e == GANG_OK)
        e = gang_sched_new(cluster, &opts, &ops, &r, &r.sched, NULL);
    if (e == GANG_OK)
        e = make_queue(r.sched, policy);
    clock_t begin = clock();
    if (e == GANG_OK)
        e = go(&r);
    result->cpu_s = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (e == GANG_OK)
        compare(&r, cut, result);
    gang_sched_free(r.sched);
    gang_worker_free(worker);
    gang_cluster_free(cluster);
    free(r.heap);
    return e;
}
