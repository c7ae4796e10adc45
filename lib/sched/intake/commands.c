/* SPDX-License-Identifier: Apache-2.0 */
/* Commands and reports of the host, from any thread: checked here, and put into the inbox. inbox.c
 * takes them in. */
#include <string.h>

#include "sched/intake/intake_in.h"
#include "sched/record/state.h"

enum { MOST_TASKS = 1 << 24 }; /* of a group */

/* Put a copy of the message into the inbox, with the numbers of tasks (NULL: all). */
static gang_result post(gang_sched *s, const struct gang__command *message, const int64_t *tasks,
                        size_t count)
{
    if (!s)
        return GANG_EINVAL;
    if (message->head.what < GANG__MESSAGE_NODE_LOST &&
        (message->job == GANG_ID_NONE || message->job > gang__load_relaxed(&s->intake.next_job)))
        return GANG_ESTALE;
    if (tasks && count > GANG_MAX_AMOUNT / (int64_t)sizeof(*tasks))
        return GANG_ERANGE;
    struct gang__command *m =
        gang__zalloc(&s->mem, 1, sizeof(*m) + (tasks ? count * sizeof(*tasks) : 0));
    if (!m)
        return GANG_ENOMEM;
    *m = *message;
    m->count = tasks ? count : SIZE_MAX;
    if (tasks)
        memcpy(m->tasks, tasks, count * sizeof(*tasks));
    gang__inbox_put(s, &m->head);
    return GANG_OK;
}

/* ---- commands -------------------------------------------------------------------------------- */

static gang_result post_value(gang_sched *s, enum gang__message_what what, gang_job_id job,
                              int64_t value)
{
    return post(s, &(struct gang__command){.head.what = what, .job = job, .value = value}, NULL, 0);
}

gang_result gang_job_hold(gang_sched *sched, gang_job_id id)
{
    return post_value(sched, GANG__MESSAGE_HOLD, id, 0);
}

gang_result gang_job_release(gang_sched *sched, gang_job_id id)
{
    return post_value(sched, GANG__MESSAGE_RELEASE, id, 0);
}

gang_result gang_job_cancel(gang_sched *sched, gang_job_id id)
{
    return post_value(sched, GANG__MESSAGE_CANCEL, id, 0);
}

gang_result gang_job_requeue(gang_sched *sched, gang_job_id id)
{
    return post_value(sched, GANG__MESSAGE_REQUEUE, id, 0);
}

gang_result gang_job_set_priority(gang_sched *sched, gang_job_id id, int64_t priority)
{
    return post_value(sched, GANG__MESSAGE_PRIORITY, id, priority);
}

gang_result gang_job_set_target(gang_sched *sched, gang_job_id id, int64_t tasks)
{
    if (tasks < -1)
        return GANG_ERANGE;
    return post_value(sched, GANG__MESSAGE_TARGET, id, tasks);
}

gang_result gang_job_set_time_limit(gang_sched *sched, gang_job_id id, int64_t limit_ns)
{
    if (limit_ns < 0)
        return GANG_ERANGE;
    return post_value(sched, GANG__MESSAGE_TIME_LIMIT, id, limit_ns);
}

gang_result gang_job_add_tasks(gang_sched *sched, gang_job_id id, int32_t group, int64_t count)
{
    const struct gang__command m = {
        .head.what = GANG__MESSAGE_ADD_TASKS, .job = id, .gang = (uint32_t)group, .value = count};
    if (group < 0)
        return GANG_EINVAL;
    if (count == 0 || count < -MOST_TASKS || count > MOST_TASKS)
        return GANG_ERANGE;
    return post(sched, &m, NULL, 0);
}

gang_result gang_job_complete(gang_sched *sched, gang_job_id id)
{
    return post_value(sched, GANG__MESSAGE_COMPLETE, id, 0);
}

/* ---- reports --------------------------------------------------------------------------------- */

gang_result gang_report_tasks(gang_sched *sched, gang_job_id job, int32_t gang, gang_alloc_id alloc,
                              const int64_t *tasks, size_t count, int32_t what)
{
    const struct gang__command m = {.head = {.what = GANG__MESSAGE_TASKS, .how = what},
                                    .job = job,
                                    .gang = (uint32_t)gang,
                                    .alloc = alloc};
    if (gang < 0 || what < GANG_TASK_STARTED || what > GANG_TASK_IDLE || (tasks && count == 0))
        return GANG_EINVAL;
    return post(sched, &m, tasks, count);
}

gang_result gang_report_end(gang_sched *sched, gang_job_id job, int32_t success)
{
    const struct gang__command m = {.head = {.what = GANG__MESSAGE_END, .how = success != 0},
                                    .job = job};
    return post(sched, &m, NULL, 0);
}

static gang_result report_node(gang_sched *s, enum gang__message_what what, gang_node_id node,
                               int64_t deadline_ns)
{
    if (!s || node == GANG_ID_NONE)
        return GANG_EINVAL;
    const struct gang__command m = {.head.what = what,
                                    .value = (int64_t)node,
                                    .deadline_ns = deadline_ns,
                                    .stamp = gang__load(&s->cluster->nodes.states)};
    return post(s, &m, NULL, 0);
}

gang_result gang_report_node_lost(gang_sched *sched, gang_node_id node)
{
    return report_node(sched, GANG__MESSAGE_NODE_LOST, node, 0);
}

gang_result gang_report_node_up(gang_sched *sched, gang_node_id node)
{
    return report_node(sched, GANG__MESSAGE_NODE_UP, node, 0);
}

gang_result gang_report_node_draining(gang_sched *sched, gang_node_id node, int64_t deadline_ns)
{
    return report_node(sched, GANG__MESSAGE_NODE_DRAIN, node, deadline_ns);
}

/* ---- what runs on a node --------------------------------------------------------------------- */

enum { MOST_PLACES = 1 << 14 };

/* Read a place of the host into one of a message. */
static gang_result read_place(const struct gang_reported_place *from, struct gang__real_place *to)
{
    struct gang_reported_place in;
    gang_result r = gang__struct_in(&in, sizeof(in), sizeof(in), from, from->size);
    bool others = in.job == GANG_ID_NONE;
    if (r != GANG_OK)
        return GANG_EINVAL;
    if (in.any_devices < 0 || in.any_devices > 1 || in.any_cores < 0 || in.any_cores > 1 ||
        in.gang < 0 ||
        (others ? in.task != 0 || in.gang != 0
                : in.gpu_share != 0 || in.cpu_milli != 0 || in.memory_bytes != 0))
        return GANG_EINVAL;
    if (in.gpu_share < 0 || in.gpu_share > 1000 || in.cpu_milli < 0 ||
        in.cpu_milli > GANG_MAX_AMOUNT || in.memory_bytes < 0 ||
        in.memory_bytes / GANG_PAGE_BYTES > GANG_MAX_AMOUNT || in.task < 0)
        return GANG_ERANGE;
    memset(to, 0, sizeof(*to));
    to->job = in.job;
    to->task = in.task;
    to->gang = in.gang;
    to->any_devices = in.any_devices;
    to->any_cores = in.any_cores;
    to->gpus = in.any_devices ? 0 : in.gpus;
    to->gpu_share = in.gpu_share ? in.gpu_share : 1000;
    to->cpu_milli = in.cpu_milli;
    to->memory_bytes = in.memory_bytes;
    if (!in.any_cores)
        memcpy(to->cores, in.cores, sizeof(to->cores));
    return GANG_OK;
}

gang_result gang_report_places(gang_sched *sched, gang_node_id node,
                               const struct gang_reported_place *places, size_t count,
                               uint32_t flags)
{
    if (!sched || node == GANG_ID_NONE || (count > 0 && !places) ||
        (flags & ~(uint32_t)GANG_PLACES_COMPLETE))
        return GANG_EINVAL;
    if (count > MOST_PLACES)
        return GANG_ERANGE;
    struct gang__command *m =
        gang__zalloc(&sched->mem, 1, sizeof(*m) + count * GANG__PLACE_WORDS * sizeof(m->tasks[0]));
    if (!m)
        return GANG_ENOMEM;
    m->head = (struct gang__message){NULL, GANG__MESSAGE_PLACES, (int32_t)flags};
    m->value = (int64_t)node;
    m->count = count * GANG__PLACE_WORDS;
    gang_result r = GANG_OK;
    for (size_t i = 0; i < count && r == GANG_OK; i++)
        r = read_place((const void *)((const char *)places + i * places->size),
                       (struct gang__real_place *)(void *)&m->tasks[i * GANG__PLACE_WORDS]);
    if (r == GANG_OK)
        gang__inbox_put(sched, &m->head);
    else
        gang__release(&sched->mem, m);
    return r;
}
