/* SPDX-License-Identifier: Apache-2.0 */
/* Those who were asked to stop, and those who wait for it.
 *
 * Who is asked to stop leaves the books of its queues at once, but what it holds stays taken until
 * it has stopped: the host says so, or the grace has passed. What leaves for somebody (a *claim*)
 * is then kept for him until all that he waits for has gone, together with what was free already at
 * the places that he is to get; then it is given back and taken by him without anybody between. If
 * he gives up, it is given back. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "place/alloc/alloc.h"
#include "place/record/places.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/order/wait_order.h"
#include "sched/record/record.h"
#include "sched/record/state.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- keeping what is free already ------------------------------------------------------------ */

/* What the claim's tasks take of one node, and what of that is free now. */
struct piece {
    int64_t cpu, memory;
    uint64_t gpus; /* whole devices */
};

static void add_need(const struct gang_placement *p, const gang_request *q, struct piece *need)
{
    const struct gang__group *g = &q->group[p->group];
    need->cpu += (int64_t)g->cpu;
    need->memory += (int64_t)g->pages * GANG_PAGE_BYTES;
    if (g->share == 1000 && !g->profile)
        need->gpus |= p->gpus;
}

static bool hold_piece(gang_sched *s, struct gang__handover *c, gang_node_id node,
                       struct piece need)
{
    struct gang_node_info info = {.size = sizeof(info)};
    if (gang_node_get(s->cluster, node, &info) != GANG_OK)
        return true;
    uint64_t gpus = need.gpus & info.gpu_mask;
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    g.count = g.min = 1;
    g.cpu_milli = gang__least(need.cpu, info.cpu_free);
    g.memory_bytes = gang__least(need.memory, info.memory_free);
    g.gpu_milli = 1000 * (int64_t)__builtin_popcountll(gpus);
    spec.groups = &g;
    spec.group_count = 1;
    if (g.cpu_milli == 0 && g.memory_bytes == 0 && gpus == 0)
        return true;
    struct gang_placement place = GANG_PLACEMENT_INIT;
    gang_request *q;
    place.node = node;
    place.gpus = gpus;
    place.any_devices = gpus == 0;
    if (!gang__grow(&s->mem, (void **)&c->holds, &c->hold_cap, c->hold_count + 1,
                    sizeof(*c->holds)) ||
        gang_request_new(s->cluster, &spec, &q, NULL) != GANG_OK)
        return false;
    if (gang_alloc_adopt(s->worker, q, &place, 1, &c->holds[c->hold_count], NULL) == GANG_OK)
        c->hold_count++;
    gang_request_free(q);
    return true;
}

void gang__handover_release_holds(gang_sched *s, struct gang__handover *c)
{
    for (size_t i = 0; i < c->hold_count; i++)
        gang__give_surely(s, NULL, c->holds[i], NULL, 0);
    c->hold_count = 0;
}

/* Of the places that one of `u` is to get. Anew after each that has gone would be more; what others
 * could take meanwhile is what was free before. */
static void hold(gang_sched *s, struct gang__handover *c, const struct gang__gang *u,
                 const struct gang_placement *places, int64_t place_count)
{
    const gang_request *q = gang__gang_request(u);
    size_t count = (size_t)place_count;
    if (!gang__grow(&s->mem, (void **)&s->numbers, &s->number_cap, count, sizeof(*s->numbers))) {
        s->no_memory = true;
        return;
    }
    for (size_t i = 0; i < count; i++) /* places of a node one after the other */
        s->numbers[i] = (int64_t)((places[i].node & (UINT32_MAX >> 1)) << 32 | i);
    qsort(s->numbers, count, sizeof(*s->numbers), gang__by_number);
    for (size_t i = 0; i < count;) {
        gang_node_id node = places[(uint32_t)s->numbers[i]].node;
        struct piece need = {0, 0, 0};
        for (; i < count && places[(uint32_t)s->numbers[i]].node == node; i++)
            add_need(&places[(uint32_t)s->numbers[i]], q, &need);
        if (!hold_piece(s, c, node, need))
            s->no_memory = true;
    }
}

/* ---- claims ---------------------------------------------------------------------------------- */

struct gang__handover *gang__handover_new(gang_sched *s, struct gang__gang *taker,
                                          const struct gang__places *told, int32_t grow_group,
                                          int32_t reason)
{
    struct gang__handover *c = gang__zalloc(&s->mem, 1, sizeof(*c));
    if (!c)
        return NULL;
    c->places = gang__zalloc(&s->mem, told->count, sizeof(*c->places));
    if (!c->places) {
        gang__release(&s->mem, c);
        return NULL;
    }
    memcpy(c->places, told->place, told->count * sizeof(*c->places));
    c->place_count = (int64_t)told->count;
    c->grow_group = grow_group;
    c->reason = reason;
    c->taker = taker;
    c->next = s->stop.handovers;
    s->stop.handovers = c;
    return c;
}

void gang__handover_comes(struct gang__handover *c, bool comes)
{
    struct gang__job *job = c->taker->job;
    int64_t more = comes - c->counted_promised;
    for (struct gang__queue_state *q = job->leaf; q; q = q->parent)
        q->promised += more;
    if (job->leaf_user)
        job->leaf_user->promised += more;
    c->counted_promised = comes;
}

/* Its queues count what it is about to get, so that nobody else counts on it. */
void gang__handover_count(gang_sched *s, struct gang__handover *c, int64_t sign)
{
    if (c->charged == (sign > 0))
        return;
    gang__handover_charge(c, sign);
    c->charged = sign > 0;
    gang__handover_comes(c, sign > 0 && !c->taker->job->counted_running);
    if (c->taker->job->leaf_user)
        gang__order_user(s, c->taker->job->leaf, c->taker->job->leaf_user);
    gang__wake_queue(s, c->taker->job->leaf);
}

void gang__handover_begin(gang_sched *s, struct gang__handover *c)
{
    gang__order_leave(s, c->taker);
    c->taker->stop.handover = c;
    gang__handover_count(s, c, 1);
    hold(s, c, c->taker, c->places, c->place_count);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Who is asked to go elsewhere is not lost meanwhile: what is free there is kept for him, too, and his
 * queues count it. */
static void begin_move(gang_sched *s, struct gang__stop *l)
{
    l->gang->stop.moving = l;
    gang__usage_promise(l->gang, -1, 1);
    hold(s, l->handover, l->gang, l->to, l->to_count);
}

void gang__move_end(gang_sched *s, struct gang__gang *u)
{
    if (!u->stop.moving)
        return;
    u->stop.moving = NULL;
    gang__usage_promise(u, -1, -1);
    gang__wake_queue(s, u->job->leaf);
    gang__eased(s, u->job->leaf);
}

/* He is not moved after all, or did not get there: he waits like others. */
void gang__move_failed(gang_sched *s, struct gang__gang *u)
{
    gang__job_count(s, u->job);
    gang__job_state(s, u->job, GANG_REASON_NONE, "waits again");
    gang__wake_job(s, u->job, GANG__WAKE_SETTLE);
}

bool gang__stop_is_moving(const struct gang__stop *l)
{
    return l->gang && l->gang->stop.moving == l;
}

/* It holds nothing any more. */
static void count_given(struct gang__stop *l)
{
    if (l->gang && l->counted)
        l->gang->stop.unreleased--;
    l->counted = false;
}

/* What it could not give back yet stays owed. */
void gang__stop_free(gang_sched *s, struct gang__stop *l)
{
    if (l->deferred) {
        gang__release(&s->mem, l->to);
        l->to = NULL;
        l->handover = NULL;
        l->next_of_handover = s->stop.deferred;
        s->stop.deferred = l;
        s->wake.retry = true;
        return;
    }
    count_given(l);
    gang__release(&s->mem, l->own);
    gang__release(&s->mem, l->to);
    gang__release(&s->mem, l);
}

enum { PATIENCE = 1000 }; /* yields to threads that read an allocation */

gang_result gang__give_tasks(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks, size_t count)
{
    gang_result r = gang__alloc_remove_tasks(s->worker, alloc, tasks, count);
    for (int i = 0; i < PATIENCE && r == GANG_EBUSY; i++) {
        sched_yield();
        r = gang__alloc_remove_tasks(s->worker, alloc, tasks, count);
    }
    if (r == GANG_OK)
        s->stop.hooks->released(s, alloc, tasks, count);
    return r;
}

gang_result gang__give_all(gang_sched *s, gang_alloc_id alloc)
{
    gang_result r = gang_alloc_free(s->worker, alloc);
    for (int i = 0; i < PATIENCE && r == GANG_EBUSY; i++) {
        sched_yield();
        r = gang_alloc_free(s->worker, alloc);
    }
    if (r == GANG_OK)
        s->stop.hooks->released(s, alloc, NULL, 0);
    return r;
}

/* Does somebody else hold something of its allocation: tasks that were asked to stop on their own,
 * before the rest was? */
static bool is_shared(const gang_sched *s, const struct gang__stop *l)
{
    if (l->gang && l->gang->stop.unreleased <= l->counted)
        return false;
    for (const struct gang__stop *o = l->gang ? l->gang->stop.first : NULL; o; o = o->next)
        if (o != l && o->alloc == l->alloc && !o->released)
            return true;
    for (const struct gang__handover *c = s->stop.handovers; c; c = c->next)
        for (const struct gang__stop *o = c->stops; o; o = o->next_of_handover)
            if (o != l && o->alloc == l->alloc && !o->released)
                return true;
    for (const struct gang__stop *o = s->stop.deferred; o; o = o->next_of_handover)
        if (o != l && o->alloc == l->alloc)
            return true;
    return false;
}

/* Give back what it held; who is last ends the allocation. While another thread reads that it is owed. */
void gang__stop_release(gang_sched *s, struct gang__stop *l)
{
    bool runs = l->gang && l->gang->alloc == l->alloc, last = !runs && !is_shared(s, l);
    gang_result r = last           ? gang__give_all(s, l->alloc)
                    : l->own_count ? gang__give_tasks(s, l->alloc, l->own, l->own_count)
                                   : GANG_OK;
    l->deferred = r == GANG_EBUSY || r == GANG_ENOMEM;
    l->released = !l->deferred;
    if (l->released)
        count_given(l);
    if (l->gang)
        gang__wake_holding(s, l->gang);
    if (r == GANG_ENOMEM)
        s->no_memory = true;
    gang__wake_room_any(s);
}

int gang__by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void gang__deferred_releases_run(gang_sched *s)
{
    struct gang__stop *l = s->stop.deferred, *next;
    for (s->stop.deferred = NULL; l; l = next) {
        next = l->next_of_handover;
        gang__stop_release(s, l);
        gang__stop_free(s, l);
    }
}

void gang__deferred_releases_free(gang_sched *s)
{
    gang__deferred_releases_run(s);
    while (s->stop.deferred) {
        struct gang__stop *l = s->stop.deferred;
        s->stop.deferred = l->next_of_handover;
        l->deferred = false;
        gang__stop_free(s, l);
    }
}

/* Does it hold the task's place still? */
static bool holds_still(const struct gang__stop *l, gang_alloc_id alloc, int64_t task)
{
    return l->alloc == alloc && !l->released &&
           bsearch(&task, l->own, l->own_count, sizeof(task), gang__by_number);
}

/* Is the task one that has stopped, and whose place is kept for somebody? */
static bool is_kept(const gang_sched *s, gang_alloc_id alloc, int64_t task)
{
    for (const struct gang__handover *c = s->stop.handovers; c; c = c->next)
        for (const struct gang__stop *l = c->stops; l; l = l->next_of_handover)
            if (holds_still(l, alloc, task))
                return true;
    return false;
}

static bool keeps_some(const gang_sched *s, gang_alloc_id alloc)
{
    for (const struct gang__handover *c = s->stop.handovers; c; c = c->next)
        for (const struct gang__stop *l = c->stops; l; l = l->next_of_handover)
            if (l->alloc == alloc && !l->released)
                return true;
    return false;
}

void gang__give_rest(gang_sched *s, gang_alloc_id alloc)
{
    struct gang__found f = {NULL, 0, 0};
    size_t count = 0;
    if (!keeps_some(s, alloc)) {
        gang__give_surely(s, NULL, alloc, NULL, 0);
        return;
    }
    gang_result r = gang__alloc_find(s->cluster, alloc, NULL, 0, &f);
    int64_t *tasks = r == GANG_OK ? gang__zalloc(&s->mem, f.count + 1, sizeof(*tasks)) : NULL;
    for (size_t i = 0; tasks && i < f.count; i++)
        if (!is_kept(s, alloc, f.task[i].task))
            tasks[count++] = f.task[i].task;
    gang__found_free(&f, &s->cluster->mem);
    r = !tasks ? GANG_ENOMEM : count ? gang__give_tasks(s, alloc, tasks, count) : GANG_OK;
    if (r == GANG_EBUSY)
        gang__give_surely(s, NULL, alloc, tasks, count);
    else if (r != GANG_OK) /* then nothing can be kept */
        gang__give_surely(s, NULL, alloc, NULL, 0);
    gang__release(&s->mem, tasks);
}

void gang__handover_free(gang_sched *s, struct gang__handover *c)
{
    struct gang__handover **at = &s->stop.handovers;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    gang__handover_release_holds(s, c);
    gang__release(&s->mem, c->holds);
    gang__release(&s->mem, c->places);
    gang__release(&s->mem, c);
}

void gang__handover_give_up(gang_sched *s, struct gang__handover *c)
{
    if (!c->taker)
        return;
    gang__handover_count(s, c, -1);
    gang__eased(s, c->taker->job->leaf);
    c->taker->stop.handover = NULL;
    c->taker = NULL;
    gang__handover_release_holds(s, c);
    while (c->stops) { /* what is given up is seen by nobody who walks the claims */
        struct gang__stop *l = c->stops;
        c->stops = l->next_of_handover;
        l->handover = NULL;
        if (gang__stop_is_moving(l)) {
            gang__move_end(s, l->gang);
            gang__move_failed(s, l->gang);
        }
        if (l->stopped) {
            gang__stop_release(s, l);
            gang__stop_free(s, l);
        }
    }
    gang__handover_free(s, c);
    gang__wake_room_any(s);
}

/* ---- leaving --------------------------------------------------------------------------------- */

static void unlink_leave(struct gang__stop *l)
{
    struct gang__stop **at = &l->gang->stop.first;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
}

/* It has stopped: what it held is given back, or kept for whom it was asked to go. */
static void gone(gang_sched *s, struct gang__stop *l)
{
    struct gang__gang *u = l->gang;
    l->stopped = true;
    unlink_leave(l);
    gang__wake_holding(s, u);
    s->stop.hooks->stopped(s, l->alloc);
    if (!l->handover) {
        gang__stop_release(s, l);
        gang__stop_free(s, l);
    }
    gang__wake_job(s, u->job, GANG__WAKE_STOPPED);
}

/* One that is reported twice is gone once. */
static void one_gone(struct gang__stop *l, int64_t task)
{
    int64_t *at = l->left ? bsearch(&task, l->still, l->left, sizeof(task), gang__by_number) : NULL;
    if (!at)
        return;
    l->left--;
    memmove(at, at + 1, (l->left - (size_t)(at - l->still)) * sizeof(*at));
}

void gang__stop_tasks_gone(gang_sched *s, struct gang__gang *u, const int64_t *tasks, size_t count)
{
    struct gang__stop *next;
    for (struct gang__stop *l = u->stop.first; l; l = next) {
        next = l->next;
        for (size_t i = 0; tasks && i < count; i++)
            one_gone(l, tasks[i]);
        if (!tasks)
            l->left = 0;
        if (l->left == 0) {
            gone(s, l);
            next = u->stop.first; /* the list may be another one */
        }
    }
}

static void kill_now(gang_sched *s, struct gang__stop *l)
{
    struct gang_event e = gang__event_of(s, l->gang, l->reason, "the grace has passed");
    e.alloc = l->alloc;
    e.tasks = l->tasks;
    e.task_count = l->task_count;
    if (s->ops.kill)
        (void)s->ops.kill(&e, s->user);
    if (l->tasks)
        gone(s, l);
    else /* with it those that were asked before the rest was */
        gang__stop_tasks_gone(s, l->gang, NULL, 0);
}

void gang__stop_due(gang_sched *s, struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__stop *l = job->gang[i].stop.first;
        while (l) {
            bool due = l->deadline_ns <= s->now_ns;
            struct gang__stop *next = due ? NULL : l->next;
            if (due) {
                kill_now(s, l);
                next = job->state == GANG_JOB_ENDED ? NULL : job->gang[i].stop.first;
            }
            l = next;
        }
    }
}

struct noting {
    struct gang__gang *unit;
    const struct gang__stop *leave;
};

/* Not those that were asked to stop on their own before: they do not come back. */
static int32_t add_place(const struct gang_task *task, void *user)
{
    const struct noting *n = user;
    struct gang__gang *u = n->unit;
    if (!bsearch(&task->task, n->leave->own, n->leave->own_count, sizeof(task->task),
                 gang__by_number))
        return 0;
    struct gang_placement *p = &u->places[u->place_count++];
    *p = (struct gang_placement)GANG_PLACEMENT_INIT;
    p->group = task->group;
    p->node = task->node;
    p->gpus = task->gpus;
    p->any_devices = task->gpus == 0;
    return 0;
}

/* Suspended work comes back to the very same places: note them. False: out of memory. */
static bool note_places(gang_sched *s, struct gang__gang *u, const struct gang__stop *l)
{
    struct noting n = {u, l};
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    u->place_count = 0;
    if (gang_alloc_get(s->cluster, u->alloc, &info) != GANG_OK || info.tasks == 0)
        return true;
    u->places = gang__zalloc(&s->mem, (size_t)info.tasks, sizeof(*u->places));
    if (!u->places)
        return false;
    if (gang_alloc_each(s->cluster, u->alloc, add_place, &n) != GANG_OK || u->place_count == 0) {
        gang__release(&s->mem, u->places);
        u->places = NULL;
    }
    return true;
}

static bool is_for_others(int32_t reason)
{
    return reason == GANG_REASON_PREEMPT || reason == GANG_REASON_RECLAIM;
}

/* The op to ask with, and what becomes of it, as the queue has it. */
static int32_t (*op_for(gang_sched *s, struct gang__gang *u, bool all,
                        int32_t reason))(const struct gang_event *, void *)
{
    if (!all)
        return s->ops.shrink;
    if (is_for_others(reason) && u->job->leaf->q->preempt == GANG_PREEMPT_MODE_SUSPEND)
        return s->ops.suspend;
    return s->ops.preempt;
}

/* Was it asked to stop before? Also if it has, and what it held is kept for somebody. */
bool gang__stop_asked(const gang_sched *s, const struct gang__gang *u, int64_t task)
{
    if (u->stop.unreleased == 0)
        return false;
    for (const struct gang__stop *l = u->stop.first; l; l = l->next)
        if (bsearch(&task, l->own, l->own_count, sizeof(task), gang__by_number))
            return true;
    for (const struct gang__stop *l = s->stop.deferred; l; l = l->next_of_handover)
        if (holds_still(l, u->alloc, task))
            return true;
    return is_kept(s, u->alloc, task);
}

/* Room for its own tasks, and as much for those of them that are still there. */
static bool room_for(gang_sched *s, struct gang__stop *l, size_t tasks)
{
    l->own = gang__zalloc(&s->mem, 2 * tasks + 1, sizeof(*l->own));
    l->still = l->own ? l->own + tasks : NULL;
    return l->own != NULL;
}

/* The tasks of a unit that is to stop whole, without those that were asked before. */
static bool name_all(gang_sched *s, struct gang__stop *l)
{
    struct gang__found *f = &s->found;
    if (gang__alloc_find(s->cluster, l->alloc, NULL, 0, f) != GANG_OK || !room_for(s, l, f->count))
        return false;
    for (size_t i = 0; i < f->count; i++)
        if (!gang__stop_asked(s, l->gang, f->task[i].task))
            l->own[l->own_count++] = f->task[i].task;
    return true;
}

static bool name_some(gang_sched *s, struct gang__stop *l, const int64_t *tasks, size_t count)
{
    if (!room_for(s, l, count))
        return false;
    memcpy(l->own, tasks, count * sizeof(*tasks));
    l->tasks = l->own;
    l->own_count = l->task_count = count;
    return true;
}

/* Without memory for the record it is waited for here. */
void gang__give_surely(gang_sched *s, struct gang__gang *u, gang_alloc_id alloc,
                       const int64_t *tasks, size_t count)
{
    for (;;) {
        gang_result r = tasks ? gang__give_tasks(s, alloc, tasks, count) : gang__give_all(s, alloc);
        if (r != GANG_EBUSY && r != GANG_ENOMEM)
            return;
        struct gang__stop *l = gang__zalloc(&s->mem, 1, sizeof(*l));
        if (l && (tasks ? name_some(s, l, tasks, count) : room_for(s, l, 0))) {
            l->alloc = alloc;
            l->stopped = l->deferred = true;
            l->gang = u;
            l->counted = u != NULL;
            if (u)
                u->stop.unreleased++;
            gang__stop_free(s, l);
            return;
        }
        gang__release(&s->mem, l);
        s->no_memory = true;
        if (r == GANG_ENOMEM) /* a part of what a job holds: it goes with the rest at the latest */
            return;
    }
}

static struct gang__stop *new_leave(gang_sched *s, struct gang__gang *u, const int64_t *tasks,
                                    size_t count)
{
    struct gang__stop *l = gang__zalloc(&s->mem, 1, sizeof(*l));
    if (!l)
        return NULL;
    l->gang = u;
    l->alloc = u->alloc;
    if (!(tasks ? name_some(s, l, tasks, count) : name_all(s, l))) {
        gang__stop_free(s, l);
        return NULL;
    }
    memcpy(l->still, l->own, l->own_count * sizeof(*l->still));
    l->left = l->own_count;
    l->counted = true;
    u->stop.unreleased++;
    return l;
}

struct tally {
    const struct gang__stop *leave;
    int64_t *by_group;
    size_t next;
};

static int32_t tally_task(const struct gang_task *task, void *user)
{
    struct tally *t = user;
    while (t->next < t->leave->task_count && t->leave->tasks[t->next] < task->task)
        t->next++;
    if (t->next < t->leave->task_count && t->leave->tasks[t->next] == task->task)
        t->by_group[task->group]++;
    return 0;
}

/* They leave the books, and whoever waits for that may try. */
static void leave_books(gang_sched *s, struct gang__gang *u, const struct gang__stop *l)
{
    uint32_t groups = gang__gang_request(u)->group_count;
    gang__eased(s, u->job->leaf);
    if (!l->tasks) {
        gang__gang_clear(s, u);
        return;
    }
    struct tally t = {l, s->by_group, 0};
    memset(s->by_group, 0, groups * sizeof(*s->by_group));
    (void)!gang_alloc_each(s->cluster, u->alloc, tally_task, &t);
    gang__usage_out(s, u);
    for (uint32_t g = 0; g < groups; g++) {
        u->has[g] -= s->by_group[g];
        u->tasks -= s->by_group[g];
    }
    gang__usage_in(s, u);
    s->wake.shares = true;
    if (u->job->leaf_user)
        gang__order_user(s, u->job->leaf, u->job->leaf_user);
}

struct gang__stop *gang__stop_new(gang_sched *s, struct gang__gang *u, const int64_t *tasks,
                                  size_t count, int32_t reason)
{
    struct gang__stop *l = new_leave(s, u, tasks, count);
    if (!l)
        return NULL;
    l->reason = reason;
    l->suspends =
        !tasks && is_for_others(reason) && u->job->leaf->q->preempt == GANG_PREEMPT_MODE_SUSPEND;
    if (l->suspends && s->ops.suspend && !note_places(s, u, l)) {
        gang__stop_free(s, l);
        return NULL;
    }
    return l;
}

void gang__stop_drop(gang_sched *s, struct gang__stop *l)
{
    if (l->suspends && l->gang->alloc == l->alloc) {
        gang__release(&s->mem, l->gang->places);
        l->gang->places = NULL;
    }
    gang__stop_free(s, l);
}

int32_t gang__stop_ask(gang_sched *s, struct gang__gang *u, const int64_t *tasks, size_t count,
                       int32_t reason, gang_job_id because, int32_t end)
{
    struct gang__stop *l = gang__stop_new(s, u, tasks, count, reason);
    return l ? gang__stop_begin(s, l, because, NULL, end) : (int32_t)GANG_ENOMEM;
}

static void note_fall(const gang_sched *s, struct gang__gang *u)
{
    u->preempt.preempted_times =
        u->preempt.preempted_event == s->external_events ? u->preempt.preempted_times + 1 : 1;
    u->preempt.preempted_event = s->external_events;
    u->preempt.preempted_run = s->runs;
}

int32_t gang__stop_begin(gang_sched *s, struct gang__stop *l, gang_job_id because,
                         struct gang__handover *claim, int32_t end)
{
    struct gang__gang *u = l->gang;
    struct gang__job *job = u->job;
    const struct gang__queue *q = job->leaf->q;
    int32_t reason = l->reason;
    bool all = !l->tasks, told = gang__slice_is_begun(u);
    l->deadline_ns = gang__add_sat(s->now_ns, q->grace_ns);
    l->handover = claim;
    if (claim) {
        l->next_of_handover = claim->stops;
        claim->stops = l;
    }
    l->next = u->stop.first;
    u->stop.first = l;
    gang__order_leave(s, u);
    leave_books(s, u, l);
    if (l->to && claim)
        begin_move(s, l);
    if (is_for_others(reason) || reason == GANG_REASON_STALE || reason == GANG_REASON_MOVE ||
        reason == GANG_REASON_SLICE || reason == GANG_REASON_REQUEUE) {
        s->info.tasks_preempted += (int64_t)l->left;
        if (all)
            job->preemptions++;
        if (is_for_others(reason))
            note_fall(s, u);
        if (all && is_for_others(reason) && q->preempt == GANG_PREEMPT_MODE_CANCEL) {
            job->ending = true;
            job->end_wanted = GANG_END_PREEMPTED;
        }
    }
    struct gang_event e = gang__event_of(s, u, reason, "asked to stop");
    e.alloc = l->alloc;
    e.tasks = l->tasks;
    e.task_count = l->task_count;
    e.deadline_ns = l->deadline_ns;
    e.preemptor = because;
    e.state = gang__job_state_now(job);
    e.end = end;
    int32_t (*op)(const struct gang_event *, void *) = op_for(s, u, all, reason);
    /* All of it was asked to stop before, one after the other: nothing is left to be asked. Nor is one asked of
     * whose start nobody was told. */
    bool some = l->left > 0 && told, stops = some && op && op(&e, s->user) == 0;
    if (some && l->suspends && !stops && u->places) { /* refused: it is preempted instead */
        gang__release(&s->mem, u->places);
        u->places = NULL;
        stops = s->ops.preempt && s->ops.preempt(&e, s->user) == 0;
    }
    if (!stops) {
        if (!some || !all)
            gone(s, l);
        else /* and with it those that were asked before */
            gang__stop_tasks_gone(s, u, NULL, 0);
        return GANG_OK;
    }
    if (q->grace_ns <= 0) {
        kill_now(s, l);
        return GANG_OK;
    }
    gang__job_state(s, job, reason, "stopping");
    gang__wake_job(s, job, GANG__WAKE_SETTLE);
    return 1;
}

/* What runs of it leaves the books; its allocation is for others to free. */
void gang__gang_clear(gang_sched *s, struct gang__gang *u)
{
    gang__usage_out(s, u);
    memset(u->has, 0, gang__gang_request(u)->group_count * sizeof(*u->has));
    u->tasks = 0;
    u->alloc = GANG_ID_NONE;
    u->reports.below_min = u->reports.refill = false;
    gang__usage_in(s, u);
    gang__victims_leave(u);
    if (u->sliced)
        s->stop.hooks->detached(s, u);
    s->wake.shares = true;
    if (u->job->leaf_user)
        gang__order_user(s, u->job->leaf, u->job->leaf_user);
}
