/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to reservations as time passes: notice, begin, end, purge, and the next instances.
 */
#include <stdlib.h>
#include <string.h>

#include "core/nodes/nodes.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve_in.h"
#include "sched/wake/wake.h"

/* ---- when ------------------------------------------------------------------------------------ */

/* When the next event of the reservation is due. Its pieces may end one after the other. */
static int64_t due_of(const struct gang__reserve *r)
{
    int64_t due = INT64_MAX;
    int64_t begin = gang__reserve_begin_of(r, r->current);
    if (r->over || !r->piece)
        return INT64_MIN;
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
        due = gang__min(due, p->end_ns);
    if (!r->begun)
        due = gang__min(due, begin);
    if (!r->begun && !r->noticed && r->notice_ns)
        due = gang__min(due, begin - r->notice_ns);
    for (const struct gang__reserve_piece *p = r->piece; p && r->begun; p = p->next)
        if (p->instance == r->current && p->start_ns > r->woken_ns)
            due = gang__min(due, p->start_ns);
    if (r->begun && r->purge_ns && r->idle_since_ns != INT64_MAX)
        due = gang__min(due, gang__add_sat(r->idle_since_ns, r->purge_ns));
    return due;
}

void gang__reserve_schedule(gang_sched *s)
{
    s->reserve.all->due_ns = INT64_MAX;
    for (const struct gang__reserve *r = s->reserve.all->first; r; r = r->next)
        s->reserve.all->due_ns = gang__min(s->reserve.all->due_ns, due_of(r));
}

int64_t gang__reserve_next(const gang_sched *s)
{
    if (!s->reserve.all)
        return INT64_MAX;
    return s->wake.reservations ? INT64_MIN : s->reserve.count ? s->reserve.all->due_ns : INT64_MAX;
}

int64_t gang__reserve_endless_until(const gang_sched *s)
{
    int64_t last = INT64_MIN;
    for (const struct gang__reserve *r = s->reserve.count ? s->reserve.all->first : NULL; r;
         r = r->next) {
        if (r->instances != INT64_MAX)
            return INT64_MAX;
        for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
            last = p->end_ns > last ? p->end_ns : last;
    }
    return s->reserve.count ? last : INT64_MAX;
}

/* ---- telling --------------------------------------------------------------------------------- */

struct listing {
    gang_sched *s;
    size_t count;
};

static bool list_node(uint32_t slot, void *user)
{
    struct listing *l = user;
    struct gang__reserves *all = l->s->reserve.all;
    gang_node_id node = gang__node_id_at(l->s->cluster, slot);
    if (!gang__grow(&l->s->mem, (void **)&all->node, &all->node_cap, l->count + 1,
                    sizeof(*all->node)))
        return false;
    if (node != GANG_ID_NONE)
        all->node[l->count++] = node;
    return true;
}

static int by_slot(const void *a, const void *b)
{
    uint32_t x = (uint32_t) * (const gang_node_id *)a, y = (uint32_t) * (const gang_node_id *)b;
    return (x > y) - (x < y);
}

/* List the nodes of the instance, each once. */
static size_t list_nodes(gang_sched *s, const struct gang__reserve *r, int64_t instance)
{
    struct gang__reserves *all = s->reserve.all;
    struct listing l = {s, 0};
    size_t n = 0;
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
        if (p->instance == instance)
            gang__reserve_each_node(p, list_node, &l);
    if (l.count > 1)
        qsort(all->node, l.count, sizeof(*all->node), by_slot);
    for (size_t i = 0; i < l.count; i++)
        if (n == 0 || all->node[n - 1] != all->node[i])
            all->node[n++] = all->node[i];
    return n;
}

struct standing {
    gang_sched *s;
    size_t nodes;
    bool there;
};

static int32_t is_there(const struct gang_task *task, void *user)
{
    struct standing *w = user;
    gang_node_id node = task->node;
    w->there = w->nodes > 0 &&
               bsearch(&node, w->s->reserve.all->node, w->nodes, sizeof(node), by_slot) != NULL;
    return w->there;
}

/* List the jobs that hold some of its nodes and are no members. */
static size_t list_jobs(gang_sched *s, const struct gang__reserve *r, size_t nodes)
{
    struct gang__reserves *all = s->reserve.all;
    size_t count = 0;
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        struct standing w = {s, nodes, false};
        for (uint32_t i = 0; i < job->gang_count && !w.there; i++) {
            gang_alloc_id held = gang__gang_holds(&job->gang[i]);
            if (held != GANG_ID_NONE && job->gang[i].reserve.inside_of != r)
                (void)!gang__alloc_each(s->cluster, held, is_there, &w);
        }
        if (w.there &&
            gang__grow(&s->mem, (void **)&all->jobs, &all->job_cap, count + 1, sizeof(*all->jobs)))
            all->jobs[count++] = job->id;
    }
    return count;
}

void gang__reserve_report(gang_sched *s, const struct gang__reserve *r, int64_t instance,
                          int32_t what, int32_t outcome, const char *text)
{
    struct gang_reservation_event e;
    if (!s->ops.reservation || !s->running)
        return;
    memset(&e, 0, sizeof(e));
    e.size = sizeof(e);
    e.id = r->id;
    e.name = r->name;
    e.what = what;
    e.outcome = outcome;
    e.instance = instance;
    e.start_ns = gang__reserve_begin_of(r, instance);
    e.end_ns = gang__reserve_end_of(r, instance);
    if (e.start_ns == INT64_MAX) /* no piece is left */
        e.start_ns = e.end_ns = r->first_ns + instance * r->period_ns;
    e.node_count = list_nodes(s, r, instance);
    e.nodes = s->reserve.all->node;
    if (what == GANG_RESERVATION_BEGIN)
        e.job_count = list_jobs(s, r, e.node_count);
    e.jobs = s->reserve.all->jobs;
    e.now_ns = s->now_ns;
    e.text = text;
    (void)s->ops.reservation(&e, s->user);
}

/* ---- one ------------------------------------------------------------------------------------- */

/* The current instance is over: go to the next one. */
static void next_instance_of(gang_sched *s, struct gang__reserve *r)
{
    gang__reserve_close_inside(s, r);
    r->begun = r->noticed = false;
    r->idle_since_ns = INT64_MAX;
    r->current = r->piece ? r->piece->instance : r->next_instance;
    gang__reserve_wake(s, r);
}

/* Place instances until GANG__RESERVE_AHEAD have pieces. False: out of memory. */
static bool place_more(gang_sched *s, struct gang__reserve *r)
{
    while (r->next_instance < r->instances && r->next_instance < r->current + GANG__RESERVE_AHEAD) {
        int64_t instance = r->next_instance;
        if (r->first_ns > (INT64_C(1) << 61) - (instance + 1) * r->period_ns)
            r->instances = instance; /* later times cannot be represented */
        gang_result w = gang__reserve_place_instance(s, r, instance);
        if (w == GANG_ENOMEM)
            return false;
        r->next_instance++;
        if (w == GANG_OK)
            continue;
        gang__reserve_report(s, r, instance, GANG_RESERVATION_SKIPPED, 0,
                             "there is no capacity for it this time");
    }
    if (r->period_ns && !gang__reserve_current_piece(r) && !r->begun)
        r->current = r->piece ? r->piece->instance : r->next_instance;
    return true;
}

static void end_pieces(gang_sched *s, struct gang__reserve *r, int64_t instance)
{
    for (struct gang__reserve_piece *p = r->piece, *next; p; p = next) {
        next = p->next;
        if (p->instance == instance || p->end_ns <= s->now_ns)
            gang__reserve_drop(s, r, p);
    }
}

/* Record since when no member runs or waits. */
static void note_idle(gang_sched *s, struct gang__reserve *r)
{
    if (!r->purge_ns || !r->begun)
        return;
    bool used = gang__reserve_running(s, r) > 0 || gang__reserve_waiting(s, r) > 0;
    if (used)
        r->idle_since_ns = INT64_MAX;
    else if (r->idle_since_ns == INT64_MAX)
        r->idle_since_ns = s->now_ns;
}

/* Members that wait for it, or for its next stage, may start. */
static void wake(gang_sched *s, struct gang__reserve *r)
{
    bool some = false;
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
        some = some ||
               (p->instance == r->current && p->start_ns <= s->now_ns && p->start_ns > r->woken_ns);
    r->woken_ns = s->now_ns;
    if (some)
        gang__reserve_wake(s, r);
}

/* Between two stages, or when its current pieces are lost, its members wait for the reservation
 * again. */
static void note_open(gang_sched *s, struct gang__reserve *r)
{
    bool open = gang__reserve_active(s, r);
    if (r->open && !open)
        gang__reserve_wake(s, r);
    r->open = open;
}

static void begin(gang_sched *s, struct gang__reserve *r)
{
    r->begun = r->noticed = true;
    r->woken_ns = INT64_MIN;
    gang__reserve_report(s, r, r->current, GANG_RESERVATION_BEGIN, 0, "it begins");
}

static void finish_instance(gang_sched *s, struct gang__reserve *r, int32_t what, const char *text)
{
    gang__reserve_report(s, r, r->current, what, 0, text);
    end_pieces(s, r, r->current);
    next_instance_of(s, r);
}

/* Process the events of one reservation. False: out of memory. */
static bool do_due(gang_sched *s, struct gang__reserve *r)
{
    for (;;) {
        const struct gang__reserve_piece *now = gang__reserve_current_piece(r);
        if (!now)
            break;
        int64_t start_ns = gang__reserve_begin_of(r, r->current);
        if (!r->noticed && r->notice_ns && s->now_ns >= start_ns - r->notice_ns) {
            r->noticed = true;
            gang__reserve_report(s, r, r->current, GANG_RESERVATION_NOTICE, 0, "it begins soon");
        }
        if (!r->begun && s->now_ns >= start_ns)
            begin(s, r);
        if (r->begun)
            wake(s, r);
        note_idle(s, r);
        if (r->begun && s->now_ns >= gang__reserve_end_of(r, r->current))
            finish_instance(s, r, GANG_RESERVATION_END, "it is over");
        else if (r->begun && r->purge_ns && r->idle_since_ns != INT64_MAX &&
                 s->now_ns >= gang__add_sat(r->idle_since_ns, r->purge_ns))
            finish_instance(s, r, GANG_RESERVATION_PURGED, "it was not used");
        else
            break;
    }
    end_pieces(s, r, -1);
    if (!gang__reserve_current_piece(r) && (r->begun || r->piece))
        next_instance_of(s, r);
    note_open(s, r);
    return !r->period_ns || place_more(s, r);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Reservations changed, and with them the salts of wait classes: gangs enter their classes again.
 */
static void reclass(gang_sched *s)
{
    s->wake.reservations &= ~(uint32_t)GANG__RESERVE_CLASSES;
    for (struct gang__set_link *n = gang__set_first(&s->by_id), *next; n; n = next) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        bool some = false;
        next = gang__set_next(n);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            struct gang__gang *g = &job->gang[i];
            if (!g->order.wait_class || g->order.wait_class->grower)
                continue;
            gang__order_leave(s, g);
            some = true;
        }
        if (some && job->state != GANG_JOB_ENDED)
            gang__wake_job(s, job, GANG__WAKE_SETTLE);
    }
}

/* Process the events of all reservations. False: out of memory. */
static bool do_all_due(gang_sched *s)
{
    struct gang__reserves *all = s->reserve.all;
    for (struct gang__reserve *r = all->first, *next; r; r = next) {
        next = r->next;
        if (!r->over && !do_due(s, r)) {
            gang__reserve_schedule(s);
            return false;
        }
        if (r->over && r->piece)
            gang__reserve_report(s, r, r->current, GANG_RESERVATION_END, 0,
                                 "the job that it was for has ended");
        if (r->over || !r->piece)
            gang__reserve_end(s, r);
    }
    gang__reserve_schedule(s);
    return gang__calendar_sync(s);
}

bool gang__reserve_due(gang_sched *s)
{
    struct gang__reserves *all = s->reserve.all;
    if (!all)
        return true;
    if ((s->wake.reservations & GANG__RESERVE_TIMELINE) && s->reserve.count > 0 &&
        !gang__reserve_replace_lost(s))
        return false;
    s->wake.reservations &= ~(uint32_t)GANG__RESERVE_TIMELINE;
    if (s->wake.reservations & GANG__RESERVE_CLASSES)
        reclass(s);
    if (s->reserve.count > 0 && all->due_ns <= s->now_ns && !do_all_due(s))
        return false;
    if (all->gaps == 0 || !s->wake.plans) /* nothing came free */
        return true;
    return gang__reserve_place_gaps(s) && gang__calendar_sync(s);
}
