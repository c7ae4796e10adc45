/* SPDX-License-Identifier: Apache-2.0 */
/* The host of test_events.c as the scheduler sees it: it does what callbacks ask, refuses now and
 * then, and checks that the scheduler may ask for it. */
#ifndef GANG_TESTS_EVENTS_HOST_H
#define GANG_TESTS_EVENTS_HOST_H

#include "events_books.h"

/* ---- callbacks ---- */

static void mischief(void);

static bool refuses(int64_t n)
{
    return !host_is_kind && one_in(n);
}

/* Common to all callbacks. */
static struct work *begin_op(const struct gang_event *e, const char *name)
{
    CHECK(in_run, "%s outside of a run", name);
    CHECK(e->size >= sizeof(*e) && e->text, "%s", name);
    CHECK(e->now_ns == now_ns, "%s: %" PRId64 " is not the time", name, e->now_ns);
    CHECK(e->gang >= 0 && e->gang < MAX_PARTS, "%s: gang %d", name, e->gang);
    struct work *w = work_of(e->job);
    CHECK(w, "%s about a job that nobody submitted", name);
    CHECK(e->cookie == w->cookie, "%s: cookie %" PRIu64, name, e->cookie);
    CHECK(!w->ended, "%s about job %d, which has ended", name, index_of(w));
    ops_seen++;
    TRACE("  op %s job %d gang %d state %d end %d reason %d because %" PRIu64 " tasks %zu until "
          "%" PRId64 " (%s)",
          name, index_of(w), e->gang, e->state, e->end, e->reason, e->preemptor, e->task_count,
          e->deadline_ns, e->text);
    for (int i = 0; i < works * MAX_PARTS; i++) /* the quotas are about all of them */
        if (!work[i / MAX_PARTS].ended)
            drop_vanished(&work[i / MAX_PARTS], &work[i / MAX_PARTS].gang[i % MAX_PARTS]);
    if (!host_is_kind && one_in(6))
        mischief();
    return w;
}

static void read_part(struct gang *p, gang_alloc_id alloc)
{
    const struct reader *r = read_alloc(alloc);
    p->alloc = alloc;
    p->tasks = r->tasks;
    memcpy(p->place, r->place, (size_t)r->tasks * sizeof(r->place[0]));
    memset(p->preempted, 0, sizeof(p->preempted));
    p->stopping = p->suspending = p->gone_at_once = p->may_be_gone = false;
}

/* `again`: it resumes, and what it did before counts. */
static void check_started(struct work *w, struct gang *p, bool again, bool moved)
{
    w->state = GANG_JOB_RUNNING;
    w->ever_started = true;
    w->started_ns = p->started_ns = now_ns;
    if (!again && p == w->gang) { /* a gang that follows another goes on from there */
        memset(w->lost, 0, sizeof(w->lost));
        memset(w->perhaps_lost, 0, sizeof(w->perhaps_lost));
        memset(w->done, 0, sizeof(w->done));
    }
    CHECK(p->tasks > 0, "job %d starts with nothing", index_of(w));
    for (int i = 0; i < p->tasks; i++) {
        const struct machine *m = machine_of(p->place[i].node);
        CHECK(m && m->state == GANG_NODE_UP, "job %d starts on a node that is not up", index_of(w));
    }
    check_minima(w);
    check_quotas(w, p->place, p->tasks, w->preemptible != GANG_PREEMPTIBLE);
    check_may_start(w, moved);
    starts_done++;
}

/* What the run grants, it may give to another job before the host hears of it. */
static void on_decision(const struct gang_event *e, bool granted)
{
    struct work *w = granted ? work_of(e->job) : NULL;
    if (w)
        w->start_asked = true;
}

static int32_t on_start(const struct gang_event *e, void *user)
{
    (void)user;
    struct work *w = begin_op(e, "start");
    struct gang *p = &w->gang[e->gang];
    w->start_asked = true;
    if (is_unsettled(w)) /* the job ended, but grew before the report */
        p->tasks = 0;
    CHECK(p->tasks == 0, "job %d starts, but runs", index_of(w));
    CHECK(e->state == GANG_JOB_RUNNING, "state %d", e->state);
    if (refuses(12)) {
        TRACE("     refused");
        return 1;
    }
    read_part(p, e->alloc);
    check_started(w, p, false, e->reason == GANG_REASON_MOVE);
    return 0;
}

/* Is the task on the same devices and cores? */
static bool is_at(const struct place *now, const struct place *before)
{
    return now && now->node == before->node && now->group == before->group &&
           now->gpus == before->gpus && now->cores == before->cores;
}

static int32_t on_resume(const struct gang_event *e, void *user)
{
    (void)user;
    struct work *w = begin_op(e, "resume");
    struct gang *p = &w->gang[e->gang];
    w->start_asked = true;
    CHECK(p->tasks == 0 && (w->state == GANG_JOB_SUSPENDED || w->in_parts),
          "job %d resumes in state %d", index_of(w), w->state);
    if (refuses(12))
        return 1;
    read_part(p, e->alloc);
    CHECK(p->kept_unsure || p->tasks == p->kept, "job %d resumes with %d of %d tasks", index_of(w),
          p->tasks, p->kept);
    for (int i = 0; i < p->kept && !p->kept_unsure; i++)
        CHECK(is_at(find_place(p, p->kept_place[i].task), &p->kept_place[i]),
              "task %" PRId64 " of job %d resumes elsewhere", p->kept_place[i].task, index_of(w));
    check_started(w, p, true, false);
    return 0;
}

static int32_t on_grow(const struct gang_event *e, void *user)
{
    (void)user;
    struct work *w = begin_op(e, "grow");
    struct gang *p = &w->gang[e->gang];
    CHECK(p->alloc == e->alloc && w->state == GANG_JOB_RUNNING && !p->stopping,
          "job %d grows in state %d", index_of(w), w->state);
    CHECK(e->task_count > 0 && e->tasks, "grows by nothing");
    w->start_asked = true;
    if (refuses(12)) {
        TRACE("     refused");
        return 1;
    }
    const struct reader *r = read_alloc(e->alloc);
    for (size_t i = 0; i < e->task_count; i++) {
        const struct place *at = find_read(r, e->tasks[i]);
        struct place *was = find_place(p, e->tasks[i]);
        if (was && may_vanish(w, was)) {
            drop_place(p, was);
            was = NULL;
        }
        CHECK(at, "task %" PRId64 " of job %d is not held", e->tasks[i], index_of(w));
        CHECK(!was, "task %" PRId64 " of job %d runs already", e->tasks[i], index_of(w));
        CHECK(p->tasks < MAX_TASKS, "too many tasks");
        p->place[p->tasks++] = *at;
        CHECK(w->in_parts || running_of(w, at->group) <= w->count[at->group], "above its count");
    }
    check_quotas(w, &p->place[p->tasks - (int)e->task_count], (int)e->task_count,
                 w->preemptible == GANG_NOT_PREEMPTIBLE);
    return 0;
}

static bool is_for_others(int32_t reason)
{
    return reason == GANG_REASON_PREEMPT || reason == GANG_REASON_RECLAIM ||
           reason == GANG_REASON_MOVE;
}

/* May this one be preempted for that one? */
static void check_victim(const struct work *w, const struct gang_event *e, bool whole)
{
    const struct work *taker = work_of(e->preemptor);
    CHECK(taker && !taker->ended, "preempted for job %" PRIu64, e->preemptor);
    CHECK(taker != w, "job %d is preempted for itself", index_of(w));
    CHECK(!taker->never_preempts || e->reason == GANG_REASON_MOVE, "job %d never preempts",
          index_of(taker));
    CHECK(w->preemptible == GANG_PREEMPTIBLE || (w->preemptible == GANG_SEMI_PREEMPTIBLE && !whole),
          "job %d is not preemptible", index_of(w));
    for (int q = w->queue; q >= 0; q = line[q].parent)
        CHECK(!line[q].fixed, "nothing is taken from queue %s", line[q].name);
    int64_t shortest = -1; /* as the nearest ancestor that says */
    for (int q = w->queue; q >= 0 && shortest < 0; q = line[q].parent)
        shortest = line[q].min_runtime;
    int64_t ran = now_ns - w->gang[e->gang].started_ns;
    CHECK(shortest <= 0 || ran >= shortest, "job %d ran for %" PRId64 " only", index_of(w), ran);
    const struct line *of = &line[taker->queue];
    bool is_newer = w->id > taker->id, unsure = is_unsettled(w) || is_unsettled(taker);
    if (e->reason == GANG_REASON_PREEMPT) {
        CHECK(taker->queue == w->queue, "preempted from another queue");
        CHECK(of->within != GANG_PREEMPT_NEVER, "queue %s never preempts", of->name);
        CHECK(unsure || w->priority < taker->priority ||
                  (of->within == GANG_PREEMPT_LOWER_OR_NEWER && w->priority == taker->priority &&
                   is_newer) ||
                  (of->within == GANG_PREEMPT_USER_LIMIT && w->user != taker->user),
              "job %d is not of lower priority than %d", index_of(w), index_of(taker));
    }
    if (e->reason == GANG_REASON_RECLAIM) {
        CHECK(taker->queue != w->queue, "reclaimed from its own queue");
        CHECK(of->reclaim != GANG_PREEMPT_NEVER, "queue %s never reclaims", of->name);
        CHECK(unsure || of->reclaim != GANG_PREEMPT_LOWER || w->priority < taker->priority,
              "job %d is not of lower priority", index_of(w));
    }
}

static void note_eviction(struct work *w, const struct gang_event *e, bool whole)
{
    if (!is_for_others(e->reason))
        return;
    check_victim(w, e, whole);
    w->preempted = true;
    w->gang[e->gang].because = e->preemptor;
    evictions_done++;
    CHECK(preemptions < (int)(sizeof(preemption) / sizeof(preemption[0])), "so many preemptions");
    preemption[preemptions++] = (struct preemption){index_of(w), index_of(work_of(e->preemptor))};
}

static int32_t on_shrink(const struct gang_event *e, void *user)
{
    (void)user;
    struct work *w = begin_op(e, "shrink");
    struct gang *p = &w->gang[e->gang];
    bool lenient = is_unsettled(w), at_once = e->deadline_ns <= now_ns || refuses(8);
    CHECK(w->state == GANG_JOB_RUNNING && !p->stopping, "job %d shrinks in state %d", index_of(w),
          w->state);
    CHECK(e->task_count > 0 && e->tasks, "shrinks by nothing");
    for (size_t i = 0; i < e->task_count; i++) {
        struct place *at = find_place(p, e->tasks[i]);
        CHECK(at || lenient, "task %" PRId64 " of job %d is not there", e->tasks[i], index_of(w));
        CHECK(e->tasks[i] < MOST_NUMBERS, "number %" PRId64, e->tasks[i]);
        p->preempted[e->tasks[i]] = is_for_others(e->reason) ? FOR_OTHERS : FOR_ITSELF;
        CHECK(!at || !at->stopping, "task %" PRId64 " is stopped twice", e->tasks[i]);
        if (!at)
            continue;
        at->stopping = true;
        at->deadline = e->deadline_ns;
        if (at_once)
            drop_place(p, at);
    }
    p->gone_at_once = at_once;
    for (int g = 0; g < w->groups && !w->in_parts && e->reason != GANG_REASON_LOSS; g++)
        CHECK(running_of(w, g) + w->lost[g] + w->perhaps_lost[g] + w->done[g] >= w->min[g] ||
                  lenient,
              "job %d shrinks below its minimum", index_of(w));
    note_eviction(w, e, false);
    return e->deadline_ns > now_ns && at_once;
}

/* The whole job is to stop. Returns whether it is gone at once, which a suspended job cannot
 * say. */
static bool stop_whole(struct work *w, const struct gang_event *e, bool may_refuse)
{
    struct gang *p = &w->gang[e->gang];
    bool at_once = e->deadline_ns <= now_ns || (may_refuse && refuses(8));
    CHECK(!p->stopping, "job %d is stopped twice", index_of(w));
    CHECK(e->state == GANG_JOB_STOPPING || (w->in_parts && e->state == GANG_JOB_RUNNING),
          "job %d stops, in state %d", index_of(w), e->state);
    CHECK(p->tasks > 0 || is_unsettled(w) || w->failed, "job %d is stopped, but runs nothing",
          index_of(w));
    note_eviction(w, e, true);
    p->stopping = true;
    p->may_be_gone = false;
    for (int i = 0; i < p->tasks; i++) {
        bool before = p->place[i].stopping && p->place[i].deadline < e->deadline_ns;
        p->place[i].deadline = before ? p->place[i].deadline : e->deadline_ns;
        p->place[i].stopping = true;
    }
    p->gone_at_once = at_once;
    if (at_once) {
        p->tasks = 0;
        p->stopping = false;
    }
    return at_once;
}

static int32_t on_preempt(const struct gang_event *e, void *user)
{
    (void)user;
    struct work *w = begin_op(e, "preempt");
    return stop_whole(w, e, true) && e->deadline_ns > now_ns;
}

static int32_t on_suspend(const struct gang_event *e, void *user)
{
    (void)user;
    struct work *w = begin_op(e, "suspend");
    struct gang *p = &w->gang[e->gang];
    if (refuses(8)) {
        p->may_be_gone = true;
        return 1; /* it is preempted instead */
    }
    p->kept = 0;
    p->kept_unsure = is_unsettled(w);
    for (int i = 0; i < p->tasks; i++)
        if (!p->place[i].stopping) /* those that were to stop do not come back */
            p->kept_place[p->kept++] = p->place[i];
    p->suspending = true;
    (void)stop_whole(w, e, false);
    return 0;
}

static bool is_named(const struct gang_event *e, int64_t task)
{
    for (size_t i = 0; i < e->task_count; i++)
        if (e->tasks[i] == task)
            return true;
    return e->task_count == 0; /* all */
}

static int32_t on_kill(const struct gang_event *e, void *user)
{
    (void)user;
    struct work *w = begin_op(e, "kill");
    struct gang *p = &w->gang[e->gang];
    bool any = p->gone_at_once || is_unsettled(w);
    for (int i = p->tasks - 1; i >= 0; i--) {
        if (!p->place[i].stopping || p->place[i].deadline > now_ns ||
            !is_named(e, p->place[i].task))
            continue;
        any = true;
        drop_place(p, &p->place[i]);
    }
    CHECK(any, "job %d is killed, but was not asked to stop, or later", index_of(w));
    if (p->tasks == 0)
        p->stopping = false;
    return 0;
}

/* Its tasks go with a node. */
static int32_t on_lost(const struct gang_event *e, void *user)
{
    (void)user;
    CHECK(in_run && e->task_count > 0, "tasks are lost outside of a run, or none are");
    return 0;
}

static int64_t on_predict(const struct gang_event *e, void *user)
{
    (void)user;
    CHECK(in_run && e->cookie > 0, "asked outside of a run");
    return one_in(3) ? 0 : below(80) * SECOND;
}

static int64_t on_overrun(const struct gang_event *e, void *user)
{
    (void)user;
    struct work *w = begin_op(e, "overrun");
    CHECK(w->state == GANG_JOB_RUNNING, "job %d overruns, and does not run", index_of(w));
    return one_in(2) ? 0 : below(20) * SECOND;
}

/* Is the way it ended one that the host can account for? */
static void check_end(const struct work *w, int32_t end)
{
    bool depends = w->after >= 0 && w->after_when == GANG_AFTER_SUCCESS;
    CHECK(end != GANG_END_NONE && end != GANG_END_REFUSED, "job %d ended %d", index_of(w), end);
    CHECK(end != GANG_END_CANCELLED || w->cancelled || depends, "job %d was not cancelled",
          index_of(w));
    CHECK(end != GANG_END_TIMEOUT || w->time_limit || w->deadline, "job %d has no time limit",
          index_of(w));
    CHECK(end != GANG_END_DEADLINE || w->deadline, "job %d has no deadline", index_of(w));
    CHECK(end != GANG_END_UNSTARTED || w->start_within, "job %d may wait", index_of(w));
    CHECK(end != GANG_END_PREEMPTED || w->preempted, "job %d was not preempted", index_of(w));
    CHECK(end != GANG_END_FAILED || w->failed || w->start_within, "job %d did not fail",
          index_of(w));
    CHECK(end != GANG_END_SUCCESS || w->ended_by_host || w->done[0] + w->done[1] > 0,
          "job %d did not succeed", index_of(w));
}

/* Forgets stopping tasks of a lost node: they have stopped, though their places may be kept for a
 * handover. */
static void drop_silent(struct work *w, struct gang *p)
{
    for (int i = p->tasks - 1; i >= 0; i--)
        if (p->place[i].stopping && may_vanish(w, &p->place[i])) {
            w->failed = true;
            drop_place(p, &p->place[i]);
        }
}

static int32_t on_state(const struct gang_event *e, void *user)
{
    (void)user;
    struct work *w = begin_op(e, "state");
    bool is_over = e->state != GANG_JOB_RUNNING && e->state != GANG_JOB_STOPPING;
    if (is_over &&
        is_unsettled(
            w)) /* its end was reported, and it grew before the scheduler processed the report */
        w->gang[0].tasks = w->gang[1].tasks = 0;
    for (int k = 0; is_over && k < MAX_PARTS; k++)
        drop_silent(w, &w->gang[k]);
    int held = w->gang[0].tasks + w->gang[1].tasks;
    CHECK(e->state >= GANG_JOB_PENDING && e->state <= GANG_JOB_ENDED, "state %d", e->state);
    if (e->state == GANG_JOB_RUNNING)
        CHECK(w->ever_started, "job %d runs, but never started", index_of(w));
    else if (e->state != GANG_JOB_STOPPING && !w->in_parts) {
        if (held && !is_unsettled(w))
            print_queue(w->queue);
        CHECK(held == 0 || is_unsettled(w), "job %d is in state %d, but runs %d tasks", index_of(w),
              e->state, held);
    }
    w->state = e->state;
    w->end = e->end;
    if (e->state == GANG_JOB_ENDED) {
        check_end(w, e->end);
        w->ended = true;
        w->gang[0].tasks = w->gang[1].tasks = 0;
        for (int i = 0; i < works && e->end != GANG_END_SUCCESS; i++)
            if (work[i].taken && work[i].after == index_of(w) && !work[i].ever_started)
                work[i].must_not_start = work[i].after_when == GANG_AFTER_SUCCESS;
    } else
        CHECK(e->end == GANG_END_NONE, "end %d of a job in state %d", e->end, e->state);
    return 0;
}

static int32_t on_log(int32_t level, const char *text, void *user)
{
    (void)user;
    CHECK(text && (level == 0 || level == 1), "log");
    TRACE("  log %d: %s", level, text);
    return 0;
}

#endif
