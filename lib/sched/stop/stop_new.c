/* SPDX-License-Identifier: Apache-2.0 */
/* Making a stop: which tasks it covers, and the places to which a suspended gang returns. All
 * memory of a stop is allocated here, so that beginning it cannot fail. */
#include <stdlib.h>
#include <string.h>

#include "sched/stop/stop_in.h"

/* One block: the tasks of the stop, those of them that have not stopped yet, and their number in
 * each group. */
bool gang__stop_alloc_tasks(gang_sched *s, struct gang__stop *stop, size_t tasks)
{
    stop->groups = stop->gang ? gang__gang_request(stop->gang)->group_count : 0;
    stop->own = gang__zalloc(&s->mem, 2 * tasks + stop->groups + 1, sizeof(*stop->own));
    stop->still = stop->own ? stop->own + tasks : NULL;
    stop->by_group = stop->own ? stop->still + tasks : NULL;
    return stop->own != NULL;
}

bool gang__stop_name_tasks(gang_sched *s, struct gang__stop *stop, const int64_t *tasks,
                           size_t count)
{
    if (!gang__stop_alloc_tasks(s, stop, count))
        return false;
    memcpy(stop->own, tasks, count * sizeof(*tasks));
    stop->tasks = stop->own;
    stop->own_count = stop->task_count = count;
    return true;
}

struct place_list {
    struct gang__gang *gang;
    const struct gang__stop *stop;
};

/* Skips tasks that were asked to stop earlier on their own: they do not resume. */
static int32_t add_place(const struct gang_task *task, void *user)
{
    const struct place_list *n = user;
    struct gang__gang *g = n->gang;
    if (!bsearch(&task->task, n->stop->own, n->stop->own_count, sizeof(task->task),
                 gang__by_number))
        return 0;
    g->places[g->place_count++] = gang__place_of_task(task);
    return 0;
}

/* A suspended gang resumes its tasks on the same places: record them. False: out of memory. */
static bool note_places(gang_sched *s, struct gang__gang *g, const struct gang__stop *stop)
{
    struct place_list n = {g, stop};
    g->place_count = 0;
    if (stop->own_count == 0)
        return true;
    g->places = gang__zalloc(&s->mem, stop->own_count, sizeof(*g->places));
    if (!g->places)
        return false;
    if (gang__alloc_each(s->cluster, g->alloc, add_place, &n) != GANG_OK || g->place_count == 0)
        gang__places_forget(s, g);
    return true;
}

/* List the tasks of a gang that stops as a whole, without those that were asked earlier. */
static bool name_all(gang_sched *s, struct gang__stop *stop)
{
    struct gang__found *f = &s->found;
    if (gang__alloc_find(s->cluster, stop->alloc, NULL, 0, f) != GANG_OK ||
        !gang__stop_alloc_tasks(s, stop, f->count))
        return false;
    for (size_t i = 0; i < f->count; i++)
        if (!gang__stop_asked(s, stop->gang, f->task[i].task))
            stop->own[stop->own_count++] = f->task[i].task;
    return true;
}

/* Its tasks are named. */
static struct gang__stop *count_stop(struct gang__stop *stop)
{
    memcpy(stop->still, stop->own, stop->own_count * sizeof(*stop->still));
    stop->left = stop->own_count;
    stop->counted = true;
    stop->gang->stop.unreleased++;
    return stop;
}

static struct gang__stop *new_stop(gang_sched *s, struct gang__gang *g, const int64_t *tasks,
                                   size_t count)
{
    struct gang__stop *stop = gang__zalloc(&s->mem, 1, sizeof(*stop));
    if (!stop)
        return NULL;
    stop->gang = g;
    stop->alloc = g->alloc;
    if (!(tasks ? gang__stop_name_tasks(s, stop, tasks, count) : name_all(s, stop))) {
        gang__stop_free(s, stop);
        return NULL;
    }
    return count_stop(stop);
}

/* What follows from the reason. NULL: out of memory; the stop is freed. */
static struct gang__stop *with_reason(gang_sched *s, struct gang__stop *stop, int32_t reason)
{
    struct gang__gang *g = stop->gang;
    stop->reason = reason;
    /* What the host has not started waits as before: there is nothing to resume. */
    stop->suspends = !stop->tasks && gang__slice_has_run(g) && gang__stop_is_for_others(reason) &&
                     g->job->leaf->q->preempt == GANG_PREEMPT_MODE_SUSPEND;
    if (stop->suspends && s->ops.suspend && !note_places(s, g, stop)) {
        gang__stop_free(s, stop);
        return NULL;
    }
    return stop;
}

struct gang__stop *gang__stop_new(gang_sched *s, struct gang__gang *g, const int64_t *tasks,
                                  size_t count, int32_t reason)
{
    struct gang__stop *stop = new_stop(s, g, tasks, count);
    return stop ? with_reason(s, stop, reason) : NULL;
}

bool gang__stop_note_target(gang_sched *s, struct gang__stop *stop, const struct gang_placement *to,
                            size_t count)
{
    if (count == 0)
        return true;
    stop->to = gang__zalloc(&s->mem, count, sizeof(*stop->to));
    if (!stop->to)
        return false;
    memcpy(stop->to, to, count * sizeof(*stop->to));
    stop->to_count = (int64_t)count;
    return true;
}

/* Of its tasks, those that have not stopped yet. */
static struct gang__stop *left_of(struct gang__stop *stop, const struct gang__kept_stop *kept)
{
    if (stop)
        stop->left = kept->task.count;
    for (size_t i = 0; stop && i < stop->left; i++)
        stop->still[i] = kept->task.task[i].task;
    return stop;
}

struct gang__stop *gang__stop_new_kept(gang_sched *s, struct gang__gang *g,
                                       const struct gang__kept_stop *kept)
{
    const struct gang__found *f = &kept->all;
    if (kept->what == GANG_STOP_FENCED)
        return left_of(gang__fence_new(s, g, f), kept);
    struct gang__stop *stop = gang__zalloc(&s->mem, 1, sizeof(*stop));
    if (!stop)
        return NULL;
    stop->gang = g;
    stop->alloc = g->alloc;
    if (!gang__stop_alloc_tasks(s, stop, f->count)) {
        gang__stop_free(s, stop);
        return NULL;
    }
    for (size_t i = 0; i < f->count; i++)
        stop->own[i] = f->task[i].task;
    stop->own_count = f->count;
    stop->tasks = kept->whole ? NULL : stop->own;
    stop->task_count = kept->whole ? 0 : f->count;
    stop = left_of(with_reason(s, count_stop(stop), kept->reason), kept);
    bool gave_up = kept->target_count > 0;
    size_t promised = kept->reason == GANG_REASON_MOVE ? g->job->restored->promised_count : 0;
    if (stop)
        stop->gave_up = gave_up;
    if (stop &&
        !gang__stop_note_target(s, stop, gave_up ? kept->targets : g->job->restored->promised,
                                gave_up ? kept->target_count : promised)) {
        gang__stop_discard(s, stop);
        return NULL;
    }
    return stop;
}

void gang__stop_discard(gang_sched *s, struct gang__stop *stop)
{
    if (stop->suspends && stop->gang->alloc == stop->alloc)
        gang__places_forget(s, stop->gang);
    gang__stop_free(s, stop);
}
