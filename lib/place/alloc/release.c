/* SPDX-License-Identifier: Apache-2.0 */
/* Releases named tasks, or all of an allocation. */
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/commit/commit.h"
#include "place/alloc/alloc.h"
#include "place/alloc/release_in.h"
#include "place/fit/fit.h"
#include "place/record/record.h"
#include "place/state/records.h"

/* The key of an entry in placer->order: slot, offset in data. */
static uint64_t key_of(const struct gang__alloc *a, const uint64_t *task)
{
    return task[0] << 32 | (uint32_t)(task - a->data);
}

/* For GANG_POLICY_GPU_CLUSTERING (request/task_count.h). */
static void task_counts_drop(gang_worker *w, const struct gang__alloc *a, size_t count)
{
    const struct gang__placer *placer = w->place;
    for (size_t i = 0; i < count; i++) {
        const uint64_t *task = a->data + (uint32_t)placer->order[i];
        if (!gang__task_is_holder(task))
            gang__task_count_add(w->cluster, (uint32_t)task[0],
                                 &a->request->group[gang__task_group(task)], true);
    }
}

/* Release, in one commit, the tasks with keys {slot, offset in data} in placer->order. The `kept`
 * tasks after them release only their share of the pool. `all`: these are all entries of the
 * allocation. */
static gang_result release_tasks(gang_worker *w, const struct gang__alloc *a, size_t count,
                                 size_t kept, bool all)
{
    struct gang__placer *placer = w->place;
    size_t ops = GANG__MAX_WORDS + (all ? a->used : 0);
    for (size_t i = 0; !all && i < count; i++)
        ops += gang__task_deltas(a->data + (uint32_t)placer->order[i]);
    gang_result r = gang__commit_reserve(&w->commit, ops);
    if (r != GANG_OK)
        return r;
    gang__sort_keys(placer->order, count);
    if (a->request->policy == GANG_POLICY_GPU_CLUSTERING)
        task_counts_drop(w, a, count + kept);
    do {
        gang__commit_begin(&w->commit);
        gang__release_describe(w, a, count, kept, all);
        /* Only the end of a lease that was broken meanwhile is refused. */
    } while (gang__commit_run_indexed(&w->commit, true) != GANG_OK);
    if (a->request->has_affinity)
        gang__affinity_release(w, a, placer->order, count + kept);
    return GANG_OK;
}

/* Releases all of an allocation. */
static gang_result release_all(gang_worker *w, const struct gang__alloc *a)
{
    struct gang__placer *placer = w->place;
    size_t count = 0;
    if (!gang__order_reserve(w, gang__alloc_entries(a)))
        return GANG_ENOMEM;
    for (const uint64_t *task = gang__entry_first(a); task; task = gang__entry_next(a, task)) {
        if (a->tasks > 1) /* that of a single task is on its way */
            gang__node_prefetch(&w->cluster->commit, (uint32_t)task[0]);
        placer->order[count++] = key_of(a, task);
    }
    return release_tasks(w, a, count, 0, true);
}

/* The same, if it has gang__alloc_only_node(). */
static gang_result release_only(gang_worker *w, const struct gang__alloc *a, uint32_t slot)
{
    gang_result r = gang__commit_reserve(&w->commit, GANG__MAX_WORDS + a->used);
    if (r != GANG_OK)
        return r;
    do {
        gang__commit_begin(&w->commit);
        gang__release_describe_only(w, slot, a->data);
        /* Only the end of a lease that was broken meanwhile is refused. */
    } while (gang__commit_run_indexed(&w->commit, true) != GANG_OK);
    return GANG_OK;
}

gang_result gang_alloc_free(gang_worker *worker, gang_alloc_id id)
{
    if (!worker)
        return GANG_EINVAL;
    if (!gang__placer_of(worker))
        return GANG_ENOMEM;
    gang__rcu_enter();
    struct gang__alloc *a;
    gang_result r = gang__alloc_lock(worker, id, &a);
    if (r == GANG_OK) {
        uint32_t only = gang__alloc_only_node(a);
        r = only == GANG__POOL ? release_all(worker, a) : release_only(worker, a, only);
        if (r == GANG_OK)
            gang__alloc_drop(worker, a);
        else
            gang__alloc_publish(a);
    }
    gang__rcu_leave();
    return r;
}

/* Would a group, a set or the request fall below its minimum? `left`: its tasks afterwards. */
static bool is_below_min(const gang_request *request, const int64_t *held, const int64_t *left,
                         int32_t *group)
{
    int64_t all = 0, all_held = 0;
    *group = -1;
    for (uint32_t g = 0; g < request->group_count; g++) {
        all += left[g];
        all_held += held[g];
        if (left[g] < held[g] && left[g] < request->group[g].min) {
            *group = (int32_t)g;
            return true;
        }
    }
    for (uint32_t s = 0; s < request->group_set_count; s++) {
        int64_t in_set = 0, in_set_held = 0;
        for (uint32_t g = 0; g < request->group_count; g++) {
            int32_t at = request->group[g].set;
            while (at >= 0 && at != (int32_t)s)
                at = request->set[at].parent;
            if (at >= 0) {
                in_set += left[g];
                in_set_held += held[g];
            }
        }
        if (in_set < in_set_held && in_set < request->set[s].min)
            return true;
    }
    return all < all_held && all < request->min;
}

/* Keys of the named tasks into placer->order. */
static gang_result find_tasks(gang_worker *w, const struct gang__alloc *a, const int64_t *tasks,
                              int64_t count, int64_t *left, struct gang_error *error)
{
    struct gang__placer *placer = w->place;
    /* The record has its tasks in the order of their numbers: sort the named ones, walk both. */
    for (int64_t i = 0; i < count; i++) {
        if (tasks[i] < 0 || tasks[i] > UINT32_MAX)
            return gang__error(error, GANG_ENOENT, "tasks", "no task %lld", (long long)tasks[i]);
        placer->order[i] = (uint64_t)tasks[i];
    }
    gang__sort_keys(placer->order, (size_t)count);
    const uint64_t *task = gang__task_first(a);
    for (int64_t i = 0; i < count; i++) {
        while (task && gang__task_number(task) < placer->order[i])
            task = gang__task_next(a, task);
        if (!task || gang__task_number(task) != placer->order[i])
            return gang__error(error, GANG_ENOENT, "tasks", "no task %lld, or named twice",
                               (long long)placer->order[i]);
        left[gang__task_group(task)]--;
        placer->order[i] = key_of(a, task);
        task = gang__task_next(a, task);
    }
    return GANG_OK;
}

/* The nodes of the tasks that are not in placer->order, which is sorted by offset. Writes them to
 * `ids`, sorted. Returns how many. */
static size_t nodes_left(const struct gang__placer *placer, const struct gang__alloc *a,
                         size_t count, uint64_t *ids)
{
    size_t next = 0, left = 0;
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task)) {
        if (next < count && (uint32_t)placer->order[next] == (uint32_t)(task - a->data))
            next++;
        else
            ids[left++] = task[0];
    }
    gang__sort_keys(ids, left);
    return left;
}

/* Of an exclusive allocation: the last task of a node releases the node as a whole, with its
 * holders. A task that is released earlier becomes a holder. Writes the released entries to
 * placer->order, and after them the tasks that become holders. False: out of memory. */
static bool split_exclusive(gang_worker *w, const struct gang__alloc *a, size_t *count,
                            size_t *kept)
{
    struct gang__placer *placer = w->place;
    struct gang__plan *p = &placer->plan;
    size_t tasks = *count, released = 0;
    size_t at = gang__plan_words(p, a->tasks + tasks);
    if (p->out.failed || !gang__order_reserve(w, gang__alloc_entries(a)))
        return false;
    uint64_t *ids = p->word + at, *keep = ids + a->tasks;
    size_t left = nodes_left(placer, a, tasks, ids);
    *kept = 0;
    for (size_t i = 0; i < tasks; i++) {
        uint64_t key = placer->order[i];
        if (gang__keys_have(ids, left, a->data[(uint32_t)key]))
            keep[(*kept)++] = key;
        else
            placer->order[released++] = key;
    }
    for (const uint64_t *task = gang__entry_first(a); task; task = gang__entry_next(a, task))
        if (gang__task_is_holder(task) && !gang__keys_have(ids, left, task[0]))
            placer->order[released++] = key_of(a, task);
    memcpy(placer->order + released, keep, *kept * sizeof(*keep));
    *count = released;
    return true;
}

/* Copy a task as a holder, without what it had of the pool. Returns its words. */
static uint32_t copy_as_holder(uint64_t *to, const uint64_t *task)
{
    unsigned deltas = gang__task_deltas(task), n = 0;
    uint64_t node = task[0];
    for (unsigned i = 0; i < deltas; i++)
        if (!(task[GANG__TASK_HEAD + i] & GANG__DELTA_POOL))
            to[GANG__TASK_HEAD + n++] = task[GANG__TASK_HEAD + i];
    to[0] = node;
    to[1] = gang__task_word_of(GANG__NO_NUMBER, n, GANG__HOLDER);
    return n ? GANG__TASK_HEAD + n : 0;
}

/* Drop the entries of placer->order from the record; the `kept` ones after them become holders. */
static void data_remove(gang_worker *w, struct gang__alloc *a, size_t count, size_t kept)
{
    struct gang__placer *placer = w->place;
    for (size_t i = 0; i < count + kept; i++) /* offsets decide from now on */
        placer->order[i] = placer->order[i] << 32 | (i >= count);
    gang__sort_keys(placer->order, count + kept);
    uint32_t to = 0;
    size_t next = 0;
    const uint64_t *task = gang__entry_first(a), *after, *last = NULL;
    for (; task; task = after) {
        uint32_t size = gang__task_words(task);
        after = gang__entry_next(a, task); /* before the entry may be overwritten */
        if (next == count + kept || placer->order[next] >> 32 != (uint64_t)(task - a->data)) {
            last = memmove(a->data + to, task, size * sizeof(*task));
            to += size;
        } else if (placer->order[next++] & 1) {
            to += copy_as_holder(a->data + to, task);
        }
    }
    a->used = to;
    if (!a->request->exclusive) /* else it may be a holder */
        a->next_number = last ? gang__task_number(last) + 1 : 0;
    a->fits_epoch = 0;
}

/* `minima`: refuse to fall below them. */
static gang_result shrink(gang_worker *w, struct gang__alloc *a, const int64_t *tasks,
                          int64_t count, bool minima, struct gang_error *error)
{
    const gang_request *request = a->request;
    struct gang__plan *p = gang__plan_of(w);
    if (!gang__order_reserve(w, (size_t)count) ||
        gang__plan_begin(p, w->cluster, request, false) != GANG_OK)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    size_t at = gang__plan_words(p, request->group_count);
    if (p->out.failed)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    int64_t *held = p->tasks.in_group, *left = (int64_t *)&p->word[at];
    const uint64_t *task = request->group_count > 1 ? gang__task_first(a) : NULL;
    for (; task; task = gang__task_next(a, task))
        held[gang__task_group(task)]++;
    if (request->group_count == 1)
        held[0] = a->tasks;
    memcpy(left, held, request->group_count * sizeof(*left));
    gang_result r = find_tasks(w, a, tasks, count, left, error);
    if (r != GANG_OK)
        return r;
    int32_t group;
    if (minima && is_below_min(request, held, left, &group)) {
        gang__error(error, GANG_ENOFIT, "tasks", "the gang would fall below its minimum");
        if (error && error->size >= sizeof(*error)) {
            error->constraint = GANG_CONSTRAINT_MIN;
            error->group = group;
        }
        return GANG_ENOFIT;
    }
    size_t entries = (size_t)count, kept = 0;
    if (request->exclusive && !split_exclusive(w, a, &entries, &kept))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    r = release_tasks(w, a, entries, kept, false);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "out of memory");
    data_remove(w, a, entries, kept);
    a->tasks -= (uint32_t)count;
    return GANG_OK;
}

static gang_result shrink_by_id(gang_worker *worker, gang_alloc_id id, const int64_t *tasks,
                                int64_t task_count, bool minima, struct gang_error *error)
{
    if (!worker || !tasks || task_count < 1)
        return gang__error(error, GANG_EINVAL, "tasks", "none");
    if (!gang__placer_of(worker))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang__rcu_enter();
    struct gang__alloc *a;
    gang_result r = gang__alloc_lock(worker, id, &a);
    if (r != GANG_OK) {
        gang__error(error, r, NULL, "%s", gang_strerror(r));
    } else if (task_count > a->tasks) {
        r = gang__error(error, GANG_ENOENT, "tasks", "more than it holds");
        gang__alloc_publish(a);
    } else {
        r = shrink(worker, a, tasks, task_count, minima, error);
        gang__alloc_publish(a);
    }
    gang__rcu_leave();
    return r;
}

gang_result gang_alloc_shrink(gang_worker *worker, gang_alloc_id id, const int64_t *tasks,
                              int64_t task_count, struct gang_error *error)
{
    return shrink_by_id(worker, id, tasks, task_count, true, error);
}

gang_result gang__alloc_remove_tasks(gang_worker *w, gang_alloc_id id, const int64_t *tasks,
                                     size_t count)
{
    return shrink_by_id(w, id, tasks, (int64_t)count, false, NULL);
}
