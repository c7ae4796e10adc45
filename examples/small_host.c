/* SPDX-License-Identifier: Apache-2.0 */
/* A whole host: it launches a process for each task, reports how processes end, stops them when the
 * scheduler asks, and sleeps in between. gangsched-host(7) explains it. */
#include <gangsched/gangsched.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The processes that run, one entry for each task. A real host also saves this to disk. */
static struct process {
    pid_t pid; /* 0: this entry is free */
    gang_job_id job;
    gang_alloc_id alloc;
    int64_t task;
    int stopping; /* it was asked to stop */
} running[64];
enum { RUNNING_MAX = sizeof running / sizeof *running };

static gang_cluster *cluster;
static int jobs_left;

static void check(gang_result result, const struct gang_error *error)
{
    if (result == GANG_OK)
        return;
    fprintf(stderr, "%s: %s %s\n", gang_strerror(result), error ? error->path : "",
            error ? error->text : "");
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int concerns(const struct gang_event *event, int64_t task)
{
    if (event->tasks == NULL)
        return 1; /* all tasks of the gang */
    for (size_t i = 0; i < event->task_count; i++)
        if (event->tasks[i] == task)
            return 1;
    return 0;
}

/* Launch one task: a process that sees only the GPUs of this task. */
static int32_t launch(const struct gang_task *task, void *user)
{
    const struct gang_event *event = user;
    char gpus[256], seconds[16];
    size_t i = 0;
    if (!concerns(event, task->task))
        return 0;
    while (i < RUNNING_MAX && running[i].pid != 0)
        i++;
    if (i == RUNNING_MAX ||
        gang_task_text(cluster, task, GANG_TASK_TEXT_CUDA, gpus, sizeof gpus, NULL) != GANG_OK)
        return 1;
    snprintf(seconds, sizeof seconds, "%d", (int)event->cookie);
    pid_t pid = fork();
    if (pid < 0)
        return 1;
    if (pid == 0) {
        setenv("CUDA_VISIBLE_DEVICES", gpus, 1);
        execlp("sleep", "sleep", seconds, (char *)NULL);
        _exit(127);
    }
    running[i] = (struct process){pid, event->job, event->alloc, task->task, 0};
    return 0;
}

/* Ops preempt, shrink, kill: signal the processes. */
static void stop(const struct gang_event *event, int signal_number)
{
    for (size_t i = 0; i < RUNNING_MAX; i++)
        if (running[i].pid != 0 && running[i].alloc == event->alloc &&
            concerns(event, running[i].task)) {
            running[i].stopping = 1;
            kill(running[i].pid, signal_number);
        }
}

static int32_t op_kill(const struct gang_event *event, void *user)
{
    (void)user;
    stop(event, SIGKILL);
    for (size_t i = 0; i < RUNNING_MAX; i++) /* when op_kill returns, other jobs get the GPUs */
        if (running[i].pid != 0 && running[i].alloc == event->alloc &&
            concerns(event, running[i].task)) {
            waitpid(running[i].pid, NULL, 0);
            running[i].pid = 0;
        }
    return 0;
}

/* Ops start and grow. If a task cannot be launched, stop those that were, and refuse. */
static int32_t op_start(const struct gang_event *event, void *user)
{
    if (gang_alloc_each(cluster, event->alloc, launch, (void *)(uintptr_t)event) == GANG_OK)
        return 0;
    op_kill(event, user);
    return 1;
}

static int32_t op_preempt(const struct gang_event *event, void *user)
{
    (void)user;
    stop(event, SIGTERM);
    return 0;
}

static int32_t op_state(const struct gang_event *event, void *user)
{
    (void)user;
    printf("job %d: %s\n", (int)event->job, event->text);
    jobs_left -= event->state == GANG_JOB_ENDED;
    return 0;
}

/* Wait until a process ends or a run is due, and report the processes that ended. */
static void wait_for_work(gang_sched *sched, const sigset_t *child)
{
    int64_t timeout = gang_sched_timeout_ns(sched, now_ns());
    struct timespec t = {.tv_sec = (time_t)(timeout / 1000000000), .tv_nsec = timeout % 1000000000};
    int status;
    pid_t pid;
    sigtimedwait(child, NULL, timeout < 0 ? NULL : &t);
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < RUNNING_MAX; i++) {
            struct process *p = &running[i];
            if (p->pid != pid)
                continue;
            check(gang_report_tasks(sched, p->job, 0, p->alloc, &p->task, 1,
                                    p->stopping ? GANG_TASK_STOPPED
                                    : WIFEXITED(status) && !WEXITSTATUS(status)
                                        ? GANG_TASK_SUCCEEDED
                                        : GANG_TASK_FAILED),
                  NULL);
            p->pid = 0;
        }
}

static void submit(gang_sched *sched, const char *queue, int64_t gpus, uint64_t seconds)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    gang_job_id id;
    group.count = group.min = gpus; /* a gang: all tasks or none */
    group.gpu_milli = 1000;
    job.request.groups = &group, job.request.group_count = 1;
    job.queue = queue, job.cookie = seconds;
    check(gang_job_submit(sched, &job, &id, &error), &error);
    jobs_left++;
}

int main(void)
{
    const struct gang_gpu_spec gpu = {.numa = -1}, gpus[4] = {gpu, gpu, gpu, gpu};
    const struct gang_quota half = {.kind = "gpu", .fraction = GANG_WHOLE / 2};
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec nodes[2] = {GANG_NODE_SPEC_INIT, GANG_NODE_SPEC_INIT};
    struct gang_queue_spec queues[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    gang_worker *worker;
    gang_sched *sched;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL); /* sigtimedwait() waits for it */

    nodes[0].name = "n1", nodes[1].name = "n2";
    nodes[0].gpus = nodes[1].gpus = gpus, nodes[0].gpu_count = nodes[1].gpu_count = 4;
    queues[0].name = "research", queues[1].name = "production";
    queues[0].guaranteed = queues[1].guaranteed = &half;
    queues[0].guaranteed_count = queues[1].guaranteed_count = 1;
    queues[0].grace_ns = INT64_C(2000000000);
    ops.start = ops.grow = op_start, ops.shrink = ops.preempt = op_preempt;
    ops.kill = op_kill, ops.state = op_state;
    check(gang_cluster_new(NULL, &cluster, &error), &error);
    check(gang_worker_new(cluster, &worker), NULL);
    check(gang_nodes_add(worker, nodes, 2, NULL, &error), &error);
    check(gang_sched_new(cluster, NULL, &ops, NULL, &sched, &error), &error);
    check(gang_sched_set_queues(sched, queues, 2, &error), &error);

    submit(sched, "research", 8, 1); /* production is idle: research gets all GPUs */
    check(gang_sched_run(sched, now_ns(), NULL, NULL), NULL);
    submit(sched, "production", 4, 1); /* production gets its guaranteed half back */
    while (jobs_left > 0) {
        check(gang_sched_run(sched, now_ns(), NULL, NULL), NULL);
        if (jobs_left > 0)
            wait_for_work(sched, &child);
    }
    gang_sched_free(sched);
    gang_worker_free(worker);
    gang_cluster_free(cluster);
    return 0;
}
