/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the timeline: noted where it changes, put there before it is asked (ahead.h). */
#include <stdlib.h>
#include <string.h>

#include "place/whatif/timeshare.h"
#include "sched/backfill/candidates.h"
#include "sched/calendar/calendar.h"
#include "sched/calendar/calendar_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/wait_order.h"
#include "sched/record/record.h"
#include "sched/reserve/reserve.h"
#include "sched/reserve/reserves.h"
#include "sched/slice/slice.h"
#include "sched/wake/wake.h"

struct gang__timeline *gang__calendar_when(const gang_sched *s, const struct gang__gang *u)
{
    return u->reserve.inside_of ? u->reserve.inside_of->inside : s->calendar->when;
}

/* ---- noting ---------------------------------------------------------------------------------- */

bool gang__calendar_waits(const gang_sched *s)
{
    return s->wake.plans && s->calendar && s->calendar->failed_in != s->runs;
}

void gang__calendar_drop(gang_sched *s, struct gang__gang *u)
{
    struct gang__calendar *a = s->calendar;
    if (!u->calendar.plan)
        return;
    gang__timeline_remove(gang__calendar_when(s, u), u->calendar.plan - 1);
    u->calendar.plan = 0;
    u->calendar.planned_ns = 0;
    gang__release(&s->mem, u->calendar.node);
    u->calendar.node = NULL;
    u->calendar.node_count = 0;
    *u->calendar.planned_at = u->calendar.next_planned;
    if (u->calendar.next_planned)
        u->calendar.next_planned->calendar.planned_at = u->calendar.planned_at;
    u->job->leaf->calendar.planned_count--;
    a->planned--;
    a->moves++;
}

void gang__calendar_unplan(gang_sched *s, struct gang__gang *u)
{
    if (!u->calendar.plan)
        return;
    gang__calendar_drop(s, u);
    gang__wake_plans(s, GANG__PLANS_EARLIER);
    gang__wake_job(s, u->job, GANG__WAKE_TIMER);
}

void gang__calendar_vacate(gang_sched *s, struct gang__gang *u)
{
    if (u->calendar.occupies) {
        gang__timeline_remove(gang__calendar_when(s, u), u->calendar.occupies - 1);
        s->calendar->moves++;
    }
    u->calendar.occupies = 0;
}

void gang__calendar_forget(gang_sched *s, struct gang__gang *u)
{
    if (!s->calendar)
        return;
    gang__wake_forget_holding(u);
    gang__calendar_drop(s, u);
    gang__calendar_vacate(s, u);
    if (s->wake.starting == u)
        s->wake.starting = NULL;
}

void gang__calendar_vacated(gang_sched *s, uint32_t occupies)
{
    if (!s->calendar || !occupies)
        return;
    gang__timeline_remove(s->calendar->when, occupies - 1);
    s->calendar->moves++;
    gang__wake_plans(s, GANG__PLANS_EARLIER);
}

bool gang__calendar_binds(const gang_sched *s)
{
    return s->calendar && s->calendar->planned > 0;
}

void gang__calendar_due(gang_sched *s, const struct gang__job *job)
{
    for (uint32_t i = 0; s->calendar && i < job->gang_count; i++)
        if (job->gang[i].calendar.plan && job->gang[i].calendar.planned_ns <= s->now_ns)
            gang__wake_plans(s, GANG__PLANS_EARLIER);
}

/* ---- what a unit takes, and until when ------------------------------------------------------- */

/* When it is expected to have gone, if it started at `start_ns`: then its grace has passed, too. Where something is
 * reserved, at the latest: a prediction that does not come true must not be in its way. */
static int64_t gone_at(const gang_sched *s, const struct gang__gang *u, int64_t start_ns)
{
    const struct gang__job *job = u->job;
    int64_t from = job->state == GANG_JOB_RUNNING ? job->started_ns : start_ns;
    int64_t end = gang__calendar_by_limit(s) ? gang__time_limit_end(job, from)
                                             : gang__time_limit_expected(job, from);
    int64_t until = job->time_limit_ns <= 0 ? gang__reserve_until(u) : GANG__NEVER;
    end = gang__add_sat(end, job->leaf->q->grace_ns);
    return end < until ? end : until;
}

int64_t gang__calendar_estimate(const gang_sched *s, const struct gang__gang *u)
{
    int64_t end = gone_at(s, u, s->now_ns);
    if (end == INT64_MAX)
        return GANG__NEVER;
    if (u->reserve.inside_of && u->job->time_limit_ns <= 0 &&
        end - s->now_ns <= u->job->leaf->q->grace_ns)
        return GANG__NEVER; /* not even time to stop */
    return end > s->now_ns ? end - s->now_ns : 1;
}

int64_t gang__calendar_end_from(const gang_sched *s, const struct gang__gang *u, int64_t start_ns)
{
    return gone_at(s, u, start_ns);
}

int64_t gang__calendar_end(const gang_sched *s, const struct gang__gang *u)
{
    int64_t end = INT64_MIN;
    if (u->alloc != GANG_ID_NONE) {
        end = gone_at(s, u, u->started_ns);
    } else {
        for (const struct gang__stop *l = u->stop.first; l; l = l->next)
            end = l->deadline_ns > end ? l->deadline_ns : end;
    }
    return end > s->now_ns ? end : gang__add_sat(s->now_ns, GANG__OVERRUN_NS);
}

static bool reserve_groups(gang_sched *s, size_t count)
{
    struct gang__calendar *a = s->calendar;
    return gang__grow(&s->mem, (void **)&a->group, &a->group_room, count, sizeof(*a->group));
}

/* Of its request: what the timeline counts of a task of each group. What it does not know (sites' kinds,
 * instances of profiles) place decides when it starts. GPUs by memory: a bound, which ahead_memory.c makes exact. */
bool gang__calendar_needs(gang_sched *s, const gang_request *q)
{
    struct gang__calendar *a = s->calendar;
    if (!reserve_groups(s, q->group_count))
        return false;
    for (uint32_t g = 0; g < q->group_count; g++) {
        const struct gang__group *from = &q->group[g];
        struct gang__time_group *to = &a->group[g];
        int64_t share = from->share ? from->share : 1;
        *to = (struct gang__time_group){1, {0, 0, 0}, 0};
        to->need[GANG__FREE_CPU] = (int64_t)from->cpu;
        to->need[GANG__FREE_MEMORY] = (int64_t)from->pages * GANG_PAGE_BYTES;
        to->need[GANG__FREE_GPU] = from->profile ? 0 : share * (int64_t)from->devices;
        to->most = from->max_per_node < INT32_MAX ? from->max_per_node : 0;
    }
    return true;
}

bool gang__calendar_place(gang_sched *s, gang_node_id node, uint32_t group)
{
    struct gang__calendar *a = s->calendar;
    if ((uint32_t)node >= a->end)
        return true;
    if (!gang__grow(&s->mem, (void **)&a->place, &a->place_room, a->places + 1, sizeof(*a->place)))
        return false;
    a->place[a->places++] = (struct gang__time_place){(uint32_t)node, group, 1};
    return true;
}

static int by_node(const void *a, const void *b)
{
    const struct gang__time_place *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->group > y->group) - (x->group < y->group);
}

/* One entry for all tasks of a group on a node, in order. */
void gang__calendar_merge(struct gang__calendar *a)
{
    size_t n = 0;
    if (a->places > 1)
        qsort(a->place, a->places, sizeof(*a->place), by_node);
    for (size_t i = 0; i < a->places; i++) {
        if (n > 0 && by_node(&a->place[n - 1], &a->place[i]) == 0)
            a->place[n - 1].tasks += a->place[i].tasks;
        else
            a->place[n++] = a->place[i];
    }
    a->places = n;
}

struct gang__occupation gang__calendar_occupation(const struct gang__calendar *a,
                                                  const gang_request *q, int64_t end_ns,
                                                  int64_t now_ns)
{
    return (struct gang__occupation){now_ns,   end_ns,    a->group, q->group_count,
                                     a->place, a->places, 0,        q->exclusive};
}

bool gang__calendar_lay_out(gang_sched *s, const struct gang__gang *u,
                            const struct gang_placement *place, size_t count, int64_t end_ns,
                            struct gang__occupation *o)
{
    struct gang__calendar *a = s->calendar;
    const gang_request *q = gang__gang_request(u);
    if (!gang__calendar_needs(s, q))
        return false;
    size_t groups = q->group_count;
    a->places = 0;
    for (size_t i = 0; i < count && !u->request_class->by_memory; i++)
        if (!gang__calendar_place(s, place[i].node, (uint32_t)place[i].group))
            return false;
    if (u->request_class->by_memory && !gang__calendar_lay_out_memory(s, u, place, count, &groups))
        return false;
    gang__calendar_merge(a);
    *o = gang__calendar_occupation(a, q, end_ns, s->now_ns);
    o->group_count = groups;
    return true;
}

/* ---- what runs -------------------------------------------------------------------------------- */

struct holding {
    gang_sched *s;
    uint32_t lent; /* GANG__LEND_*: what is not its own */
    bool failed;
    bool by_memory; /* tasks of one group may hold different shares */
    size_t groups;
};

/* What the task holds, in a group that takes just that. */
static int32_t hold_share(struct holding *h, const struct gang_task *task,
                          const int64_t need[GANG__FREE_KINDS])
{
    uint32_t group;
    h->failed = h->failed || !gang__calendar_like(h->s, need, &h->groups, &group) ||
                !gang__calendar_place(h->s, task->node, group);
    return h->failed;
}

static int32_t hold_task(const struct gang_task *task, void *user)
{
    struct holding *h = user;
    const int64_t need[GANG__FREE_KINDS] = {
        [GANG__FREE_CPU] = h->lent & GANG__LEND_CPU ? 0 : task->cpu_milli,
        [GANG__FREE_MEMORY] = task->memory_bytes,
        [GANG__FREE_GPU] =
            h->lent & GANG__LEND_GPU ? 0 : (int64_t)task->gpu_count * task->gpu_share};
    if (h->by_memory)
        return hold_share(h, task, need);
    memcpy(h->s->calendar->group[task->group].need, need, sizeof(need));
    h->failed = h->failed || !gang__calendar_place(h->s, task->node, (uint32_t)task->group);
    return h->failed;
}

bool gang__calendar_hold(gang_sched *s, const struct gang__gang *u, gang_alloc_id alloc,
                         int64_t end_ns, struct gang__occupation *o)
{
    struct gang__calendar *a = s->calendar;
    const gang_request *q = gang__gang_request(u);
    struct holding h = {s, 0, false, u->request_class->by_memory, q->group_count};
    a->places = 0;
    memset(o, 0, sizeof(*o));
    if (alloc == GANG_ID_NONE)
        return true;
    h.lent = gang__slice_lent(s, alloc);
    end_ns = h.lent ? GANG__NEVER : end_ns;
    if (!gang__calendar_needs(s, q))
        return false;
    gang_result r = gang_alloc_each(s->cluster, alloc, hold_task, &h);
    if (h.failed || r == GANG_EBUSY || r == GANG_ENOMEM)
        return false;
    if (r != GANG_OK || a->places == 0)
        return true;
    gang__calendar_merge(a);
    *o = gang__calendar_occupation(a, q, end_ns, s->now_ns);
    o->group_count = h.groups;
    return true;
}

/* What it holds goes into the timeline anew. */
bool gang__calendar_occupy(gang_sched *s, struct gang__gang *u, gang_alloc_id alloc, int64_t end_ns)
{
    struct gang__occupation o;
    uint32_t id;
    gang__calendar_vacate(s, u);
    if (!gang__calendar_hold(s, u, alloc, end_ns, &o))
        return false;
    if (o.place_count == 0)
        return true;
    if (!gang__reserve_keeps(s, u, &o))
        return false;
    if (gang__timeline_add(gang__calendar_when(s, u), &o, &id) != GANG_OK)
        return false;
    u->calendar.occupies = id + 1;
    return true;
}

bool gang__calendar_sync(gang_sched *s)
{
    struct gang__calendar *a = s->calendar;
    while (s->wake.holdings) {
        struct gang__gang *u = s->wake.holdings;
        if (!gang__calendar_occupy(s, u, gang__gang_holds(u), gang__calendar_end(s, u))) {
            a->failed_in = s->runs;
            return false;
        }
        gang__wake_forget_holding(u);
    }
    if (gang__slice_occupy(s))
        return true;
    a->failed_in = s->runs;
    return false;
}

/* ---- making it -------------------------------------------------------------------------------- */

static void touch_all(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++)
            gang__wake_holding(s, &job->gang[i]);
        gang__wake_job(s, job, GANG__WAKE_TIMER); /* what was expected of it matters from now on */
    }
    gang__wake_calendar(s);
}

/* Nothing of the timeline is left in the units. */
static void clear_all(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            gang__calendar_drop(s, &job->gang[i]);
            gang__calendar_vacate(s, &job->gang[i]);
        }
    }
    gang__reserve_withdraw(s);
    gang__slice_vacate(s);
    gang__timeline_free(s->calendar->when);
    s->calendar->when = NULL;
}

static void take_capacity(struct gang__calendar *a, const gang_snapshot *snapshot)
{
    a->plain = true;
    memset(a->capacity, 0, a->end * GANG__FREE_KINDS * sizeof(*a->capacity));
    for (gang_node_id n = gang_snapshot_node_next(snapshot, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_snapshot_node_next(snapshot, n)) {
        struct gang_node_info info = {.size = sizeof(info)};
        if ((uint32_t)n >= a->end || gang_snapshot_node_get(snapshot, n, &info) != GANG_OK)
            continue;
        a->plain = a->plain && info.state == GANG_NODE_UP && !info.gpu_unhealthy;
        if (info.state != GANG_NODE_UP)
            continue;
        int64_t *to = a->capacity + (size_t)(uint32_t)n * GANG__FREE_KINDS;
        to[GANG__FREE_CPU] = info.cpu_milli;
        to[GANG__FREE_MEMORY] = info.memory_bytes;
        to[GANG__FREE_GPU] =
            1000 * (int64_t)(info.gpu_count - __builtin_popcountll(info.gpu_unhealthy));
    }
}

/* Room for what is kept of each slot below. */
bool gang__calendar_reserve_slots(gang_sched *s, uint32_t end)
{
    struct gang__calendar *a = s->calendar;
    size_t words = end / 64 + 1;
    return gang__grow(&s->mem, (void **)&a->capacity, &a->capacity_room,
                      (size_t)end * GANG__FREE_KINDS + 1, sizeof(*a->capacity)) &&
           gang__grow(&s->mem, (void **)&a->mask, &a->mask_room, words, sizeof(*a->mask)) &&
           gang__grow(&s->mem, (void **)&a->part, &a->part_room, words, sizeof(*a->part));
}

enum { FIRST_SLOT = GANG__POOL + 1 }; /* no node ever has one below */

/* A timeline of the nodes as they are, with what runs. */
static bool make_anew(gang_sched *s)
{
    struct gang__calendar *a = s->calendar;
    struct gang__timeline *when;
    uint64_t epoch = gang__load(&s->cluster->nodes.epoch) + 1,
             states = gang__load(&s->cluster->nodes.states);
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return false;
    uint32_t end = s->scratch->end;
    if (!gang__calendar_reserve_slots(s, end))
        return false;
    uint32_t was = a->end;
    a->end = end;
    take_capacity(a, s->scratch);
    if (gang__timeline_new(&s->mem, a->capacity, end, 0, s->now_ns, &when) != GANG_OK) {
        a->end = was;
        return false;
    }
    gang__timeline_skip(when, FIRST_SLOT);
    clear_all(s);
    a->when = when;
    a->epoch = epoch;
    a->states = states;
    touch_all(s);
    gang__reserve_upset(s);
    return true;
}

void gang__calendar_free(gang_sched *s)
{
    struct gang__calendar *a = s->calendar;
    if (!a)
        return;
    clear_all(s);
    while (s->wake.holdings)
        gang__wake_forget_holding(s->wake.holdings);
    s->wake.plans = 0;
    s->wake.starting = NULL;
    gang__time_fit_free(&a->fit, &s->mem);
    gang__time_fit_free(&a->other, &s->mem);
    void *const scratch[] = {a->group,    a->place, a->mask, a->part,   a->capacity,
                             a->group_of, a->exact, a->kind, a->variant};
    for (size_t i = 0; i < sizeof(scratch) / sizeof(scratch[0]); i++)
        gang__release(&s->mem, scratch[i]);
    gang__release(&s->mem, a);
    s->calendar = NULL;
}

/* By sums over all nodes: what a unit's gang takes of them, at least. */
static void sums_of(const gang_sched *s, const struct gang__gang *u, int64_t need[GANG__FREE_DIMS])
{
    memset(need, 0, GANG__FREE_DIMS * sizeof(*need));
    for (uint32_t i = 0; u->request_class->exact && i < u->request_class->gang_take_count; i++) {
        const struct gang__take *t = &u->request_class->gang_take[i];
        const struct gang__dim *d = &s->queues->dim[t->dim];
        int k = d->partition                  ? -1
                : d->kind == GANG_KIND_CPU    ? GANG__FREE_CPU
                : d->kind == GANG_KIND_MEMORY ? GANG__FREE_MEMORY
                : d->kind == GANG_KIND_GPU    ? GANG__FREE_GPU
                                              : -1;
        if (k >= 0)
            need[k] = k == GANG__FREE_GPU && u->request_class->by_memory ? u->request_class->gang_gpu : t->amount;
    }
}

bool gang__calendar_fits_sums(const gang_sched *s, const struct gang__gang *u)
{
    int64_t need[GANG__FREE_DIMS], end = gang__add_sat(s->now_ns, gang__calendar_estimate(s, u));
    sums_of(s, u, need);
    return gang__timeline_fits_sum(gang__calendar_when(s, u), need, s->now_ns, end);
}

int64_t gang__calendar_free_ns(const gang_sched *s, const struct gang__gang *u)
{
    int64_t need[GANG__FREE_DIMS];
    sums_of(s, u, need);
    int64_t until = gang__timeline_until_sum(gang__calendar_when(s, u), need, s->now_ns);
    uint64_t free_ns = (uint64_t)until - (uint64_t)s->now_ns;
    return until == GANG__NEVER || free_ns > INT64_MAX ? GANG__NEVER : (int64_t)free_ns;
}

bool gang__calendar_may_plan(const struct gang__gang *u)
{
    const struct gang__queue_state *leaf = u->job->leaf;
    if (!gang__calendar_plans(u) || leaf->calendar.planned_count < leaf->q->plan_depth)
        return gang__calendar_plans(u);
    for (const struct gang__gang *w = leaf->calendar.planned; w; w = w->calendar.next_planned)
        if (gang__gang_before(u, w, leaf->q->order) < 0)
            return true;
    return false;
}

bool gang__calendar_hopeless(const gang_sched *s, const struct gang__gang *u)
{
    /* As long as nothing is planned or reserved place decides, which knows more than sums. */
    return (s->calendar->planned > 0 || s->reserve.count > 0) && !u->calendar.plan && !u->places &&
           !gang__calendar_may_plan(u) && !gang__reserve_drawn(s, u) &&
           !gang__calendar_fits_sums(s, u);
}

/* It has a plan that is to come, and just before that too little is free by the sums: it cannot be earlier. */
static bool is_settled(const gang_sched *s, const struct gang__gang *u)
{
    int64_t need[GANG__FREE_DIMS], unused[GANG__FREE_DIMS];
    const struct gang__queue_state *leaf = u->job->leaf;
    if (!u->calendar.plan || u->calendar.planned_ns <= s->now_ns ||
        (s->wake.plans & GANG__PLANS_MISFIT))
        return false;
    if (leaf->q->backfill == GANG_BACKFILL_EASY && leaf->calendar.planned_count > 1)
        return false; /* plans of those behind it do not bind it */
    sums_of(s, u, need);
    (void)gang__timeline_sum_at(gang__calendar_when(s, u), u->calendar.planned_ns - 1, unused);
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        if (need[k] > unused[k])
            return true;
    return false;
}

/* May it be worth it that it has its turn again? One behind the plans of its leaf has it in any case, as it has when
 * somebody leaves (kin.h): the plans that are before it may move. */
static bool may_look(const gang_sched *s, const struct gang__wait_class *bin)
{
    const struct gang__gang *head = gang__wait_class_head(bin);
    if (bin->grower || gang__slice_concerns(head))
        return true;
    if (head->calendar.plan)
        return !is_settled(s, head);
    return (bin->why == GANG_WAIT_PLANNED && bin->leaf->q->backfill == GANG_BACKFILL_EASY) ||
           !gang__calendar_hopeless(s, head);
}

/* Those who wait because of plans, or may have one, have their turn again. */
static void let_look(gang_sched *s)
{
    struct gang__wait_class *next;
    for (struct gang__wait_class *bin = s->order.blocked; bin; bin = next) {
        next = bin->next_blocked;
        if (bin->why != GANG_WAIT_PLANNED && bin->why != GANG_WAIT_RESERVATION &&
            (bin->leaf->q->backfill == GANG_BACKFILL_NONE || bin->why != GANG_WAIT_CAPACITY))
            continue;
        if (may_look(s, bin))
            gang__order_unblock(s, bin);
    }
    if (s->reserve.count > 0)
        gang__candidates_dissolve(s);
    else
        gang__wake_all_candidates(s);
}

bool gang__calendar_current(const gang_sched *s)
{
    const struct gang__calendar *a = s->calendar;
    return a->when && a->epoch == gang__load(&s->cluster->nodes.epoch) + 1 &&
           a->states == gang__load(&s->cluster->nodes.states);
}

bool gang__calendar_ready(gang_sched *s)
{
    if (!s->calendar)
        s->calendar = gang__zalloc(&s->mem, 1, sizeof(*s->calendar));
    struct gang__calendar *a = s->calendar;
    if (!a || (!gang__calendar_current(s) && !make_anew(s)))
        return false;
    gang__timeline_advance(a->when, s->now_ns);
    if (a->config != s->config_count || a->by_limit != gang__calendar_by_limit(s))
        touch_all(s); /* graces may be others, or predictions count no more */
    a->config = s->config_count;
    a->by_limit = gang__calendar_by_limit(s);
    return gang__calendar_sync(s);
}

void gang__calendar_refresh(gang_sched *s)
{
    struct gang__calendar *a = s->calendar;
    if (!gang__calendar_on(s)) {
        gang__calendar_free(s);
        (void)!gang__reserve_due(s);
        return;
    }
    if (a && a->failed_in == s->runs)
        return;
    if (a)
        s->wake.starting = NULL;
    if (!gang__calendar_ready(s) || !gang__reserve_due(s)) {
        if (s->calendar)
            s->calendar->failed_in = s->runs;
        s->no_memory = s->wake.retry = true;
        return;
    }
    a = s->calendar;
    if (s->wake.plans)
        let_look(s);
    s->wake.plans = 0;
}
