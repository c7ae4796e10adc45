/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks of a job that a host restores stop, in which steps, and which are fenced? */
#include <stdlib.h>
#include <string.h>

#include "sched/intake/submit_in.h"

static int by_number(const void *a, const void *b)
{
    int64_t x = ((const struct gang__found_task *)a)->task,
            y = ((const struct gang__found_task *)b)->task;
    return (x > y) - (x < y);
}

static gang_result bad_stop(struct gang_error *error, gang_result r, size_t i, const char *path,
                            const char *text)
{
    gang__error(error, r, path, "%s", text);
    return gang__error_at(error, r, "stops[%zu]", i);
}

/* All tasks that have a place, ascending. Returns how many. */
static size_t tasks_with_place(const struct gang__restored_job *restored,
                               struct gang__found_task *task)
{
    for (size_t i = 0; i < restored->place_count; i++)
        task[i] = (struct gang__found_task){restored->places[i].task, restored->places[i].node,
                                            (uint32_t)restored->places[i].group};
    if (restored->place_count > 1)
        qsort(task, restored->place_count, sizeof(*task), by_number);
    return restored->place_count;
}

/* Without stops of its own: the whole gang, or the tasks whose places say so, stop in one step. */
static void stop_as_past_says(struct gang__restored_job *restored)
{
    const struct gang_job_past *past = restored->past;
    struct gang__kept_stop *stop = &restored->stops[0];
    bool whole = past->state == GANG_JOB_STOPPING;
    if (whole)
        stop->task.count = tasks_with_place(restored, stop->task.task);
    else
        qsort(stop->task.task, stop->task.count, sizeof(*stop->task.task), by_number);
    stop->what = GANG_STOP_ASKED;
    stop->reason = past->reason;
    stop->end = past->end;
    stop->whole = whole;
    stop->handover = past->preemptor != GANG_ID_NONE;
    stop->starts_as = past->reason;
    stop->preemptor = past->preemptor;
    stop->deadline_ns = stop->next_ns = past->deadline_ns;
    stop->all = stop->task;
    restored->kept_stop_count = stop->task.count > 0;
}

static bool is_of_slice(const struct gang_job_stop *stop)
{
    return stop->what == GANG_STOP_SLICE || stop->what == GANG_STOP_SLICE_KILLED;
}

static gang_result check_stop(const struct gang_job_stop *stop, size_t i, struct gang_error *error)
{
    if (stop->what < GANG_STOP_ASKED || stop->what > GANG_STOP_SLICE_KILLED)
        return bad_stop(error, GANG_EINVAL, i, "what", "no such value");
    if (stop->reason <= GANG_REASON_NONE || stop->reason > GANG_REASON_DRAIN)
        return bad_stop(error, GANG_EINVAL, i, "reason", "no such value");
    if (stop->end < 0 || stop->end > GANG_END_DEADLINE)
        return bad_stop(error, GANG_EINVAL, i, "end", "no such value");
    if (stop->whole < 0 || stop->whole > 1)
        return bad_stop(error, GANG_EINVAL, i, "whole", "not 0 or 1");
    if (stop->handover < 0)
        return bad_stop(error, GANG_ERANGE, i, "handover", "negative");
    if (stop->starts_as < GANG_REASON_NONE || stop->starts_as > GANG_REASON_DRAIN)
        return bad_stop(error, GANG_EINVAL, i, "starts_as", "no such value");
    if (stop->deadline_ns < 0 || stop->next_ns < 0)
        return bad_stop(error, GANG_ERANGE, i, stop->deadline_ns < 0 ? "deadline_ns" : "next_ns",
                        "negative");
    bool over = stop->what == GANG_STOP_MOVED || stop->what == GANG_STOP_STOPPED;
    if (stop->apart < 0 || stop->apart > 1 || (stop->apart && stop->what != GANG_STOP_STOPPED))
        return bad_stop(error, GANG_EINVAL, i, "apart", "not 0 or 1, or of tasks that run");
    if (stop->unasked < 0 || stop->unasked > 1 || (stop->unasked && !over))
        return bad_stop(error, GANG_EINVAL, i, "unasked", "not 0 or 1, or of tasks that run");
    if (stop->what == GANG_STOP_STOPPED && (!stop->kept_count || !stop->handover))
        return bad_stop(error, GANG_EINVAL, i, stop->handover ? "kept" : "handover", "missing");
    if ((stop->task_count == 0) != over || (stop->task_count && !stop->tasks))
        return bad_stop(error, GANG_EINVAL, i, "tasks", "missing, or of tasks that have stopped");
    return GANG_OK;
}

/* Tasks that have a place, ascending, and those of them that stops name. */
struct placed {
    struct gang__found_task *task;
    size_t count;
    struct gang__found_task *named; /* room for as many */
    size_t named_count;
    struct gang__found_task *both; /* for those that stops name, and those that have stopped */
    size_t both_count;
    struct gang_placement *apart; /* before it: places of gangs that have left them */
};

/* The tasks that have not suspended yet: they may be in another stop, too. */
static gang_result keep_slice_stop(struct gang__restored_job *restored, const struct placed *all,
                                   const struct gang_job_stop *from, size_t i,
                                   struct gang_error *error)
{
    struct gang__kept_stop *to = restored->slice_stop;
    if (restored->past->slice_row == 0 || restored->past->slice_state != GANG_SLICE_SUSPENDING ||
        to->task.count > 0)
        return bad_stop(error, GANG_EINVAL, i, "what",
                        "the gang is not suspending, or stops twice");
    if (from->reason != GANG_REASON_SLICE)
        return bad_stop(error, GANG_EINVAL, i, "reason", "not GANG_REASON_SLICE");
    if (from->end || from->whole || from->handover || from->starts_as || from->preemptor)
        return bad_stop(error, GANG_EINVAL, i, "end", "a value that such a stop does not have");
    for (size_t k = 0; k < from->task_count; k++) {
        struct gang__found_task key = {.task = from->tasks[k]}, *at;
        if (k > 0 && from->tasks[k] <= from->tasks[k - 1])
            return bad_stop(error, GANG_EINVAL, i, "tasks", "not ascending");
        at = bsearch(&key, all->task, all->count, sizeof(key), by_number);
        if (!at)
            return bad_stop(error, GANG_EINVAL, i, "tasks", "a task has no place");
        to->task.task[to->task.count++] = *at;
    }
    to->what = from->what;
    to->deadline_ns = from->deadline_ns;
    to->next_ns = from->next_ns;
    return GANG_OK;
}

/* The tasks of one stop, behind those of the stops before. */
static gang_result name_tasks(struct placed *all, const struct gang_job_stop *from, size_t i,
                              struct gang__found *to, struct gang_error *error)
{
    to->task = all->named + all->named_count;
    for (size_t k = 0; k < from->task_count; k++) {
        struct gang__found_task key = {.task = from->tasks[k]}, *at;
        if (k > 0 && from->tasks[k] <= from->tasks[k - 1])
            return bad_stop(error, GANG_EINVAL, i, "tasks", "not ascending");
        at = bsearch(&key, all->task, all->count, sizeof(key), by_number);
        bool again = all->named_count == all->count;
        for (size_t n = 0; at && !again && n < all->named_count; n++)
            again = all->named[n].task == key.task;
        if (!at || again)
            return bad_stop(error, GANG_EINVAL, i, "tasks",
                            at ? "a task stops twice" : "a task has no place");
        all->named[all->named_count++] = *at;
        to->count++;
    }
    return GANG_OK;
}

static void keep(struct gang__kept_stop *to, const struct gang_job_stop *from)
{
    to->what = from->what;
    to->reason = from->reason;
    to->end = from->end;
    to->whole = from->whole != 0;
    to->unasked = from->unasked != 0;
    to->handover = from->preemptor != GANG_ID_NONE ? from->handover : 0;
    to->starts_as = from->starts_as;
    to->preemptor = from->preemptor;
    to->deadline_ns = from->deadline_ns;
    to->next_ns = from->next_ns;
}

static gang_result read_stop(const struct gang_job_spec *j, size_t i, struct gang_job_stop *stop,
                             struct gang_error *error)
{
    const char *at = (const char *)j->stops + i * j->stop_size;
    size_t stated;
    memcpy(&stated, at, sizeof(stated));
    if (stated != j->stop_size ||
        gang__struct_in(stop, sizeof(*stop), offsetof(struct gang_job_stop, kept), at, stated) !=
            GANG_OK)
        return bad_stop(error, GANG_EINVAL, i, "size", "struct gang_job_stop is not set up");
    return check_stop(stop, i, error);
}

/* If the whole gang stops, or nothing of it runs, each task is in some stop. */
static gang_result check_all(const struct gang__restored_job *restored, const struct placed *all,
                             struct gang_error *error)
{
    bool in_row =
        restored->past->slice_row > 0 && !(restored->past->slice_flags & GANG_SLICE_LEAVES);
    bool whole = restored->past->state == GANG_JOB_STOPPING && !in_row;
    for (size_t i = 0; i < restored->kept_stop_count; i++)
        whole = whole || (restored->stops[i].whole && restored->stops[i].what != GANG_STOP_FENCED);
    if (whole && all->named_count != all->count)
        return gang__submit_error(error, GANG_EINVAL, "stops",
                                  "the whole gang stops, and a task with a place does not");
    return GANG_OK;
}

enum { MOST_KEPT = 1 << 24 };

size_t gang__submit_kept_places(const struct gang_job_spec *j)
{
    enum {
        END = offsetof(struct gang_job_stop, kept_count) + sizeof(size_t),
        WHOLE = offsetof(struct gang_job_stop, target_count) + sizeof(size_t)
    };
    size_t count = 0, n;
    for (size_t i = 0; j->past && j->stops && j->stop_size >= END && i < j->stop_count; i++) {
        memcpy(&n, (const char *)j->stops + i * j->stop_size + END - sizeof(n), sizeof(n));
        count += n < MOST_KEPT ? n : MOST_KEPT;
        if (j->stop_size < WHOLE)
            continue;
        memcpy(&n, (const char *)j->stops + i * j->stop_size + WHOLE - sizeof(n), sizeof(n));
        count += n < MOST_KEPT ? n : MOST_KEPT;
    }
    return count;
}

/* A list of places of a stop. */
struct list {
    const char *name;
    const struct gang_placement *places;
    size_t count, stop;
};

static gang_result bad_in(const struct list *l, struct gang_error *error, size_t k,
                          const char *text)
{
    gang__error(error, GANG_EINVAL, NULL, "%s", text);
    return gang__error_at(error, GANG_EINVAL, "stops[%zu].%s[%zu]", l->stop, l->name, k);
}

static gang_result check_list(const struct list *l, struct gang_error *error)
{
    if (l->count > MOST_KEPT)
        return bad_stop(error, GANG_ERANGE, l->stop, l->name, "too many");
    return l->count == 0 || l->places ? GANG_OK
                                      : bad_stop(error, GANG_EINVAL, l->stop, l->name, "missing");
}

static gang_result read_place(const struct gang__submit *m, const struct list *l, size_t k,
                              struct gang_placement *in, struct gang_error *error)
{
    struct gang_node_info info = {.size = sizeof(info)};
    const void *at = (const char *)l->places + k * l->places->size;
    if (gang__struct_in(in, sizeof(*in), sizeof(*in), at, l->places->size) != GANG_OK)
        return bad_in(l, error, k, "struct gang_placement is not set up");
    if (in->group < 0 || (uint32_t)in->group >= m->spec->request.group_count ||
        gang_node_get(m->s->cluster, in->node, &info) != GANG_OK)
        return bad_in(l, error, k, "no such node, or no such group");
    return GANG_OK;
}

/* Where they were to move. */
static gang_result add_targets(const struct gang__submit *m, const struct list *l,
                               struct gang__kept_stop *to, struct gang_error *error)
{
    gang_result r = check_list(l, error);
    for (size_t k = 0; r == GANG_OK && k < l->count; k++)
        r = read_place(m, l, k, &to->targets[k], error);
    to->target_count = r == GANG_OK ? l->count : 0;
    return r;
}

/* Has another task of the job the number, that has a place, or had one? */
static bool is_twice(const struct gang__restored_job *restored, int64_t task)
{
    for (size_t k = 0; k < restored->place_count; k++)
        if (restored->places[k].task == task)
            return true;
    return false;
}

/* The tasks that have stopped come behind the places, or apart, and into the stop with the
 * others. */
static gang_result add_kept(const struct gang__submit *m, const struct list *l, bool apart,
                            struct gang__kept_stop *to, struct gang_error *error)
{
    struct gang__restored_job *restored = m->restored;
    struct gang__found *both = &to->all;
    gang_result r = check_list(l, error);
    for (size_t k = 0; r == GANG_OK && k < l->count; k++) {
        struct gang_placement in;
        r = read_place(m, l, k, &in, error);
        if (r != GANG_OK)
            break;
        if (in.task < 0 || (!apart && is_twice(restored, in.task)))
            return bad_in(l, error, k, "no such task, or it has another place");
        if (apart)
            to->places[k] = in;
        else
            restored->places[restored->place_count++] = in;
        both->task[both->count++] = (struct gang__found_task){in.task, in.node, (uint32_t)in.group};
    }
    if (r == GANG_OK && both->count > 1)
        qsort(both->task, both->count, sizeof(*both->task), by_number);
    return r;
}

static gang_result make_stop(const struct gang__submit *m, struct placed *all, size_t i,
                             struct gang_error *error)
{
    const struct gang_job_spec *j = m->spec;
    struct gang__restored_job *restored = m->restored;
    struct gang__kept_stop *to = &restored->stops[restored->kept_stop_count];
    struct gang_job_stop stop = GANG_JOB_STOP_INIT;
    gang_result r = read_stop(j, i, &stop, error);
    if (r != GANG_OK)
        return r;
    const struct list kept = {"kept", stop.kept, stop.kept_count, i},
                      targets = {"targets", stop.targets, stop.target_count, i};
    if (kept.count > MOST_KEPT || targets.count > MOST_KEPT)
        return check_list(kept.count > MOST_KEPT ? &kept : &targets, error);
    if (is_of_slice(&stop))
        return kept.count + targets.count > 0
                   ? bad_stop(error, GANG_EINVAL, i, "kept", "of tasks that suspend")
                   : keep_slice_stop(restored, all, &stop, i, error);
    if (stop.apart) { /* from the end */
        to = --restored->apart;
        to->places = all->apart -= kept.count;
    } else if (!j->running) {
        return bad_stop(error, GANG_EINVAL, i, "what", "of a job that holds nothing");
    }
    to->targets = all->apart -= targets.count;
    r = name_tasks(all, &stop, i, &to->task, error);
    to->all = (struct gang__found){all->both + all->both_count, to->task.count, 0};
    if (r == GANG_OK && to->task.count > 0)
        memcpy(to->all.task, to->task.task, to->task.count * sizeof(*to->task.task));
    if (r == GANG_OK)
        r = add_kept(m, &kept, stop.apart != 0, to, error);
    all->both_count += to->all.count;
    if (r == GANG_OK)
        r = add_targets(m, &targets, to, error);
    if (r == GANG_OK)
        keep(to, &stop);
    restored->kept_stop_count += r == GANG_OK && !stop.apart;
    restored->apart_count += r == GANG_OK && stop.apart;
    return r;
}

gang_result gang__submit_make_stops(const struct gang__submit *m, struct gang_error *error)
{
    const struct gang_job_spec *j = m->spec;
    struct gang__restored_job *restored = m->restored;
    gang_result r = GANG_OK;
    if (j->stop_count > 0 && (!j->past || !j->stops))
        return gang__submit_error(error, GANG_EINVAL, "stops", "missing, or without a past");
    if (!j->past)
        return GANG_OK;
    if (j->stop_count == 0) {
        stop_as_past_says(restored);
        return GANG_OK;
    }
    if (restored->stops[0].task.count > 0)
        return gang__submit_error(error, GANG_EINVAL, "stops", "places say what stops, too");
    struct gang__found_task *task = restored->stops[0].task.task;
    struct placed all = {
        task, 0, task + restored->place_count, 0, task + 3 * restored->place_count, 0, NULL};
    all.count = tasks_with_place(restored, all.task);
    all.apart = restored->places + j->place_count + gang__submit_kept_places(j);
    restored->slice_stop = restored->apart =
        &restored->stops[j->stop_count]; /* behind the others */
    restored->slice_stop->task.task = all.task + 2 * restored->place_count;
    for (size_t i = 0; i < j->stop_count && r == GANG_OK; i++)
        r = make_stop(m, &all, i, error);
    if (restored->slice_stop->task.count == 0)
        restored->slice_stop = NULL;
    return r == GANG_OK ? check_all(restored, &all, error) : r;
}
