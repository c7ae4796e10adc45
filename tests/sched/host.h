/* SPDX-License-Identifier: Apache-2.0 */
/* A small host: it does what the scheduler says, records it, and stops tasks on request. */
#ifndef GANG_TESTS_SCHED_HOST_H
#define GANG_TESTS_SCHED_HOST_H

#include <gangsched/gangsched.h>

#include <string.h>

#include "sched/record/state.h"
#include "suite.h"
#include "support.h"

enum { HOST_EVENTS = 4096, HOST_SECOND = 1000000000 };

struct host;

/* The callbacks, in order. */
struct host_event {
    char op[8]; /* "start", "grow", "shrink", "preempt", "suspend", "resume", "kill", ... */
    gang_job_id job;
    gang_alloc_id alloc;
    int32_t part, state, end, reason;
    size_t task_count;
    int64_t tasks[16]; /* the first of them */
    gang_job_id because;
    int64_t deadline_ns;
};

/* The callbacks about reservations. */
struct host_reserve {
    gang_reservation_id id;
    int32_t what, outcome;
    int64_t instance, start_ns, end_ns, now_ns;
    size_t nodes, jobs;
    gang_job_id job; /* the first that is in the way */
};

struct host {
    struct stage stage;
    gang_sched *s;
    int64_t now_ns;
    bool lingers;       /* a stopping job uses its grace */
    bool refuses;       /* starts are refused */
    const char *refuse; /* an op that is refused; NULL: none */
    int32_t answer;     /* by this value; 0: by 1 */
    void (*during)(struct host *h,
                   const struct host_event *e); /* in each callback; NULL: nothing */
    size_t count;
    struct host_event event[HOST_EVENTS];
    size_t reserve_count;
    struct host_reserve reserve[256]; /* the first of them */
    char log[256];                    /* the last line */
    int32_t log_level;                /* of the last message */
};

/* Returns what the op is to return, unless it refuses for another reason. */
static inline int32_t host_note(struct host *h, const char *op, const struct gang_event *e)
{
    ck_assert_uint_lt(h->count, HOST_EVENTS);
    struct host_event *to = &h->event[h->count++];
    memset(to, 0, sizeof(*to));
    snprintf(to->op, sizeof(to->op), "%s", op);
    to->job = e->job;
    to->alloc = e->alloc;
    to->part = e->gang;
    to->state = e->state;
    to->end = e->end;
    to->reason = e->reason;
    to->task_count = e->task_count;
    for (size_t i = 0; i < e->task_count && i < 16; i++)
        to->tasks[i] = e->tasks[i];
    to->because = e->preemptor;
    to->deadline_ns = e->deadline_ns;
    ck_assert_ptr_nonnull(e->text);
    ck_assert_int_eq(e->now_ns, h->now_ns);
    if (h->during)
        h->during(h, to);
    if (!h->refuse || strcmp(op, h->refuse) != 0)
        return 0;
    return h->answer ? h->answer : 1;
}

static inline int32_t host_start(const struct gang_event *e, void *user)
{
    return host_note(user, "start", e) || ((struct host *)user)->refuses;
}

static inline int32_t host_grow(const struct gang_event *e, void *user)
{
    return host_note(user, "grow", e);
}

static inline int32_t host_shrink(const struct gang_event *e, void *user)
{
    int32_t answer = host_note(user, "shrink", e);
    return answer ? answer : !((struct host *)user)->lingers;
}

static inline int32_t host_preempt(const struct gang_event *e, void *user)
{
    int32_t answer = host_note(user, "preempt", e);
    return answer ? answer : !((struct host *)user)->lingers;
}

static inline int32_t host_suspend(const struct gang_event *e, void *user)
{
    return host_note(user, "suspend", e);
}

static inline int32_t host_resume(const struct gang_event *e, void *user)
{
    return host_note(user, "resume", e);
}

static inline int32_t host_kill(const struct gang_event *e, void *user)
{
    return host_note(user, "kill", e);
}

/* The tasks are gone, unless "lost" is refused. */
static inline int32_t host_lost(const struct gang_event *e, void *user)
{
    return host_note(user, "lost", e);
}

static inline int32_t host_state(const struct gang_event *e, void *user)
{
    host_note(user, "state", e);
    return 0;
}

static inline int32_t host_log(int32_t level, const char *text, void *user)
{
    struct host *h = user;
    ck_assert(level == 0 || level == 1);
    snprintf(h->log, sizeof(h->log), "%s", text);
    h->log_level = level;
    return 0;
}

static inline int32_t host_reservation(const struct gang_reservation_event *e, void *user)
{
    struct host *h = user;
    ck_assert_ptr_nonnull(e->text);
    ck_assert_ptr_nonnull(e->name);
    ck_assert_int_eq(e->now_ns, h->now_ns);
    if (h->reserve_count < sizeof(h->reserve) / sizeof(h->reserve[0]))
        h->reserve[h->reserve_count++] =
            (struct host_reserve){e->id,        e->what,
                                  e->outcome,   e->instance,
                                  e->start_ns,  e->end_ns,
                                  e->now_ns,    e->node_count,
                                  e->job_count, e->job_count ? e->jobs[0] : GANG_ID_NONE};
    return 0;
}

/* What a run grants, and takes back before the host hears of it, in the order of its decisions:
 * `during` sees ops "granted" and "taken", which are recorded nowhere. */
static struct host *host_following;

static inline void host_decided(const struct gang_event *e, bool granted)
{
    struct host_event x = {.job = e->job,
                           .alloc = e->alloc,
                           .reason = e->reason,
                           .task_count = e->task_count,
                           .because = e->preemptor};
    snprintf(x.op, sizeof(x.op), "%s", granted ? "granted" : "taken");
    host_following->during(host_following, &x);
}

static inline void host_follow_decisions(struct host *h)
{
    host_following = h;
    gang__untold_hook = host_decided;
}

/* All ops of this host. */
static inline struct gang_host_ops host_table(void)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    ops.start = host_start;
    ops.grow = host_grow;
    ops.shrink = host_shrink;
    ops.preempt = host_preempt;
    ops.suspend = host_suspend;
    ops.resume = host_resume;
    ops.kill = host_kill;
    ops.lost = host_lost;
    ops.state = host_state;
    ops.log = host_log;
    ops.reservation = host_reservation;
    return ops;
}

/* `nodes` machines "n0", "n1", ... of so many GPUs and twice the cores; no scheduler yet. */
static inline void host_open_cluster(struct host *h, size_t nodes, size_t gpus)
{
    memset(h, 0, sizeof(*h));
    stage_open(&h->stage, NULL, 0);
    for (size_t i = 0; i < nodes; i++) {
        char name[32];
        snprintf(name, sizeof(name), "n%zu", i);
        struct box box = {
            .name = name, .cpu = (int64_t)gpus * 2000, .memory = 64 * GIB, .gpus = gpus};
        stage_add(&h->stage, &box);
    }
}

/* The same with a scheduler, which is given the allocator of the stage. */
static inline void host_open_with(struct host *h, size_t nodes, size_t gpus,
                                  const struct gang_sched_opts *with,
                                  const struct gang_host_ops *ops)
{
    struct gang_sched_opts opts = *with;
    struct gang_error error = GANG_ERROR_INIT;
    host_open_cluster(h, nodes, gpus);
    opts.mem = &h->stage.mem.mem;
    gang_result r = gang_sched_new(h->stage.c, &opts, ops, h, &h->s, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
}

static inline void host_open(struct host *h, size_t nodes, size_t gpus)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.default_queue = "default";
    host_open_with(h, nodes, gpus, &opts, &ops);
}

static inline void host_check(struct host *h)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_sched_check(h->s, &error);
    ck_assert_msg(r == GANG_OK, "gang_sched_check: %s: %s", error.path, error.text);
}

/* Runs with one allocation after the other that fails, until a run needs no more of them. */
static inline void host_run_short_of_memory(struct host *h)
{
    gang_result r = GANG_ENOMEM;
    for (long n = 1; r == GANG_ENOMEM; n++) {
        h->stage.mem.calls = 0;
        h->stage.mem.fail_at = n;
        r = gang_sched_run(h->s, h->now_ns, NULL, NULL);
        h->stage.mem.fail_at = 0;
        host_check(h);
    }
    ck_assert_int_eq(r, GANG_OK);
}

static inline void host_close(struct host *h)
{
    gang__untold_hook = NULL;
    host_check(h);
    gang_sched_free(h->s);
    stage_close(&h->stage);
}

/* Let so much time pass, and run. */
static inline void host_run(struct host *h, int64_t ns)
{
    h->now_ns += ns;
    MUST(gang_sched_run(h->s, h->now_ns, NULL, NULL));
    host_check(h);
}

/* The same, and what it did. */
static inline struct gang_run_info host_run_info(struct host *h, int64_t ns)
{
    struct gang_run_info info = GANG_RUN_INFO_INIT;
    h->now_ns += ns;
    MUST(gang_sched_run(h->s, h->now_ns, NULL, &info));
    host_check(h);
    return info;
}

/* A specification that takes `count` groups; which must stay. */
static inline struct gang_job_spec host_job(const struct gang_group_spec *groups, size_t count)
{
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    job.request = request_of(groups, count);
    return job;
}

static inline gang_job_id host_submit(struct host *h, const struct gang_job_spec *job)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    gang_result r = gang_job_submit(h->s, job, &id, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s: %s", gang_result_name(r), error.path, error.text);
    return id;
}

/* How a job is; one that is not there any more has ended. */
static inline struct gang_job_info host_job_info(struct host *h, gang_job_id id)
{
    struct gang_job_info info;
    memset(&info, 0, sizeof(info));
    info.size = sizeof(info);
    MUST(gang_job_get(h->s, id, &info));
    return info;
}

static inline int64_t host_tasks(struct host *h, gang_job_id id)
{
    return host_job_info(h, id).tasks;
}

static inline int32_t host_job_state(struct host *h, gang_job_id id)
{
    return host_job_info(h, id).state;
}

/* How the job ended according to the callbacks; GANG_END_NONE: no callback yet. */
static inline int32_t host_end(const struct host *h, gang_job_id id)
{
    for (size_t i = h->count; i-- > 0;)
        if (h->event[i].job == id && strcmp(h->event[i].op, "state") == 0)
            return h->event[i].end;
    return GANG_END_NONE;
}

/* How often an op was called for a job; and the last such event. */
static inline int host_ops(const struct host *h, gang_job_id id, const char *op)
{
    int n = 0;
    for (size_t i = 0; i < h->count; i++)
        n += h->event[i].job == id && strcmp(h->event[i].op, op) == 0;
    return n;
}

static inline const struct host_event *host_last(const struct host *h, gang_job_id id,
                                                 const char *op)
{
    for (size_t i = h->count; i-- > 0;)
        if (h->event[i].job == id && strcmp(h->event[i].op, op) == 0)
            return &h->event[i];
    ck_abort_msg("no %s of job %" PRIu64, op, id);
    return NULL;
}

static inline void host_report_part(struct host *h, gang_job_id id, int32_t part, int64_t task,
                                    int32_t what)
{
    MUST(gang_report_tasks(h->s, id, part, GANG_ID_NONE, &task, 1, what));
}

static inline void host_report(struct host *h, gang_job_id id, int64_t task, int32_t what)
{
    host_report_part(h, id, 0, task, what);
}

/* A group of `count` tasks of one GPU, at least `min`. */
static inline struct gang_group_spec host_gpus(int64_t count, int64_t min)
{
    struct gang_group_spec g = group_of(count, 1000, 1000);
    g.name = "worker";
    g.min = min;
    return g;
}

/* A job of one such group; good until the next call. */
static inline struct gang_job_spec *host_spec(const char *queue, int64_t count, int64_t min,
                                              int64_t priority)
{
    static struct gang_group_spec g;
    static struct gang_job_spec job;
    g = host_gpus(count, min);
    job = host_job(&g, 1);
    job.queue = queue;
    job.priority = priority;
    return &job;
}

/* Submit a gang of `count` tasks of one GPU. */
static inline gang_job_id host_gang(struct host *h, const char *queue, int64_t count,
                                    int64_t priority)
{
    return host_submit(h, host_spec(queue, count, count, priority));
}

/* Is the job there still? */
static inline bool host_has(struct host *h, gang_job_id id)
{
    struct gang_job_info info;
    info.size = sizeof(info);
    return gang_job_get(h->s, id, &info) == GANG_OK;
}

static inline struct gang_queue_info host_queue(struct host *h, const char *name)
{
    struct gang_queue_info info;
    gang_queue_id id;
    info.size = sizeof(info);
    MUST(gang_queue_find(h->s, name, &id));
    MUST(gang_queue_get(h->s, id, &info));
    return info;
}

/* Set the whole tree; it must be taken. */
static inline void host_queues(struct host *h, const struct gang_queue_spec *queues, size_t count)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_sched_set_queues(h->s, queues, count, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s: %s", gang_result_name(r), error.path, error.text);
    host_check(h);
}

/* Is nothing due, but that a gang which waits becomes starved? */
static inline bool host_is_idle(const struct host *h)
{
    return gang_sched_next(h->s) >= GANG_DEFAULT_MAX_BLOCKED_NS;
}

/* One queue "q" on `nodes` machines of four GPUs. */
static inline void host_open_queue(struct host *h, size_t nodes, int32_t backfill)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(h, nodes, 4);
    q.name = "q";
    q.backfill = backfill;
    host_queues(h, &q, 1);
    host_run(h, 0);
}

/* Free GPUs, on nodes of any state. */
static inline int64_t host_gpus_free(struct host *h)
{
    int64_t sum = 0;
    for (gang_node_id n = gang_node_next(h->stage.c, GANG_ID_NONE); n;
         n = gang_node_next(h->stage.c, n))
        sum += stage_node(&h->stage, n).gpu_free;
    return sum / 1000;
}

/* One queue; its jobs have a grace. */
static inline struct gang_queue_spec host_default_queue(int64_t grace_ns)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "default";
    q.grace_ns = grace_ns;
    return q;
}

/* That queue preempts so. */
static inline void host_preempts(struct host *h, int64_t grace_ns, int32_t preempt)
{
    struct gang_queue_spec q = host_default_queue(grace_ns);
    q.preempt_mode = preempt;
    host_queues(h, &q, 1);
}

/* The default queue gives so much grace, and a stopping job uses it. */
static inline void host_linger(struct host *h, int64_t grace_ns)
{
    struct gang_queue_spec q = host_default_queue(grace_ns);
    host_queues(h, &q, 1);
    h->lingers = true;
}

static inline void host_open_slow(struct host *h, size_t nodes, size_t gpus, int64_t grace_ns)
{
    host_open(h, nodes, gpus);
    host_linger(h, grace_ns);
}

/* Report about all that a part of a job has. */
static inline void host_report_all(struct host *h, gang_job_id id, int32_t part, int32_t what)
{
    MUST(gang_report_tasks(h->s, id, part, GANG_ID_NONE, NULL, 0, what));
}

/* The host reports that the job succeeded, and runs. */
static inline void host_end_job(struct host *h, gang_job_id id)
{
    MUST(gang_report_end(h->s, id, 1));
    host_run(h, 0);
}

/* Run when the scheduler asks for the next run. */
static inline void host_run_next(struct host *h)
{
    int64_t next = gang_sched_next(h->s);
    ck_assert_int_gt(next, h->now_ns);
    ck_assert_int_lt(next, INT64_MAX);
    host_run(h, next - h->now_ns);
}

static inline gang_queue_id host_queue_id(struct host *h, const char *name)
{
    gang_queue_id id;
    MUST(gang_queue_find(h->s, name, &id));
    return id;
}

/* The node "nI" of host_open_cluster(). */
static inline gang_node_id host_node(struct host *h, int i)
{
    char name[16];
    gang_node_id id;
    snprintf(name, sizeof(name), "n%d", i);
    MUST(gang_node_find(h->stage.c, name, &id));
    return id;
}

/* The node of a task of a running job. */
static inline gang_node_id host_node_of(struct host *h, gang_job_id id, int64_t task)
{
    const struct task_list *list = stage_tasks(&h->stage, gang_job_alloc(h->s, id, 0));
    for (size_t i = 0; i < list->count; i++)
        if (list->task[i].task == task)
            return list->task[i].node;
    ck_abort_msg("no task %" PRId64, task);
    return GANG_ID_NONE;
}

/* A queue "default" that backfills, and "owner", which is guaranteed all GPUs and so preempts the
 * jobs of "default". */
static inline void host_with_owner(struct host *h, size_t nodes, size_t gpus)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota all = {"gpu", (int64_t)(nodes * gpus) * 1000, NULL, 0, 0};
    host_open(h, nodes, gpus);
    h->now_ns = HOST_SECOND;
    h->lingers = true;
    q[0].name = "default";
    q[0].backfill = GANG_BACKFILL_EASY;
    q[0].grace_ns = INT64_C(30) * HOST_SECOND;
    q[0].user_limit = GANG_WHOLE / 2;
    q[1].name = "owner";
    q[1].guaranteed = &all;
    q[1].guaranteed_count = 1;
    MUST(gang_sched_set_queues(h->s, q, 2, NULL));
}

/* A reservation of so many whole nodes from then on, -1: not said; good until the next call. */
static inline struct gang_reservation_spec *host_whole(const char *name, int64_t nodes,
                                                       int64_t start_s, int64_t seconds)
{
    static struct gang_group_spec group;
    static struct gang_reservation_stage stage;
    static struct gang_reservation_spec spec;
    group = (struct gang_group_spec)GANG_GROUP_SPEC_INIT;
    group.count = group.min = nodes;
    group.max_per_node = 1;
    stage = (struct gang_reservation_stage)GANG_RESERVATION_STAGE_INIT;
    stage.groups = &group;
    stage.group_count = 1;
    stage.exclusive = 1;
    spec = (struct gang_reservation_spec)GANG_RESERVATION_SPEC_INIT;
    spec.name = name;
    spec.stages = &stage;
    spec.stage_count = 1;
    spec.start_ns = start_s < 0 ? -1 : start_s * HOST_SECOND;
    spec.duration_ns = seconds * HOST_SECOND;
    return &spec;
}

#endif
