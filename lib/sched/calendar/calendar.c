/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of the timeline: nodes as they are, running gangs, occupations of sources, planned
 * starts. */
#include <stdlib.h>
#include <string.h>

#include "sched/calendar/calendar_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/wake/wake.h"

struct gang__timeline *gang__calendar_timeline_of(const gang_sched *s, const struct gang__gang *g)
{
    return g->reserve.inside_of ? s->source[GANG__SOURCE_RESERVE]->inside(g)
                                : s->calendar->timeline;
}

/* ---- planned starts -------------------------------------------------------------------------- */

void gang__calendar_drop_uncounted(gang_sched *s, struct gang__gang *g)
{
    if (!g->calendar.plan)
        return;
    gang__timeline_remove(gang__calendar_timeline_of(s, g), g->calendar.plan - 1);
    g->calendar.plan = 0;
    g->calendar.planned_ns = 0;
    gang__release(&s->mem, g->calendar.node);
    g->calendar.node = NULL;
    g->calendar.node_count = 0;
    *g->calendar.planned_at = g->calendar.next_planned;
    if (g->calendar.next_planned)
        g->calendar.next_planned->calendar.planned_at = g->calendar.planned_at;
    g->job->leaf->calendar.planned_count--;
    s->calendar->planned--;
}

void gang__calendar_drop(gang_sched *s, struct gang__gang *g)
{
    if (!g->calendar.plan)
        return;
    gang__calendar_drop_uncounted(s, g);
    s->calendar->changes++;
}

void gang__calendar_unplan(gang_sched *s, struct gang__gang *g)
{
    if (!g->calendar.plan)
        return;
    gang__calendar_drop(s, g);
    gang__wake_plans(s, GANG__PLANS_EARLIER);
    gang__wake_job(s, g->job, GANG__WAKE_TIMER);
}

bool gang__calendar_has_plans(const gang_sched *s)
{
    return s->calendar && s->calendar->planned > 0;
}

void gang__calendar_note_due_plan(gang_sched *s, const struct gang__job *job)
{
    for (uint32_t i = 0; s->calendar && i < job->gang_count; i++)
        if (job->gang[i].calendar.plan && job->gang[i].calendar.planned_ns <= s->now_ns)
            gang__wake_plans(s, GANG__PLANS_EARLIER);
}

bool gang__calendar_may_plan(const struct gang__gang *g)
{
    const struct gang__queue_state *leaf = g->job->leaf;
    if (!gang__calendar_leaf_plans(g) || leaf->calendar.planned_count < leaf->q->plan_depth)
        return gang__calendar_leaf_plans(g);
    for (const struct gang__gang *w = leaf->calendar.planned; w; w = w->calendar.next_planned)
        if (gang__gang_before(g, w, leaf->q->order) < 0)
            return true;
    return false;
}

/* ---- what gangs hold ------------------------------------------------------------------------- */

void gang__calendar_vacate(gang_sched *s, struct gang__gang *g)
{
    if (g->calendar.occupies) {
        gang__timeline_remove(gang__calendar_timeline_of(s, g), g->calendar.occupies - 1);
        s->calendar->changes++;
    }
    g->calendar.occupies = 0;
    if (g->calendar.beside)
        gang__timeline_remove(s->calendar->timeline, g->calendar.beside - 1);
    g->calendar.beside = 0;
}

/* What a gang inside a reservation takes outside. Its groups were laid out. False: out of
 * memory. */
static bool occupy_beside(gang_sched *s, struct gang__gang *g, const struct gang__occupation *o)
{
    struct gang__calendar *cal = s->calendar;
    struct gang__occupation beside = *o;
    uint32_t id;
    if (!g->reserve.inside_of || !cal->some_beside)
        return true;
    beside.group = cal->beside;
    beside.whole = false;
    if (gang__timeline_add(cal->timeline, &beside, &id) != GANG_OK)
        return false;
    g->calendar.beside = id + 1;
    return true;
}

void gang__calendar_forget(gang_sched *s, struct gang__gang *g)
{
    if (!s->calendar)
        return;
    gang__wake_forget_holding(g);
    gang__calendar_drop(s, g);
    gang__calendar_vacate(s, g);
    if (s->wake.starting == g)
        s->wake.starting = NULL;
}

void gang__calendar_vacated(gang_sched *s, uint32_t occupies)
{
    if (!s->calendar || !occupies)
        return;
    gang__timeline_remove(s->calendar->timeline, occupies - 1);
    s->calendar->changes++;
    gang__wake_plans(s, GANG__PLANS_EARLIER);
}

bool gang__calendar_occupy(gang_sched *s, struct gang__gang *g, gang_alloc_id alloc, int64_t end_ns)
{
    struct gang__occupation o;
    uint32_t id;
    gang__calendar_vacate(s, g);
    if (!gang__calendar_lay_out_alloc(s, g, alloc, end_ns, &o))
        return false;
    if (o.place_count == 0)
        return true;
    bool inside = g->reserve.inside_of != NULL;
    if (inside && !s->source[GANG__SOURCE_RESERVE]->keeps(s, g, &o))
        return false;
    if (inside && !g->reserve.inside_of && /* all of it lies outside now */
        !gang__calendar_lay_out_alloc(s, g, alloc, end_ns, &o))
        return false;
    if (gang__timeline_add(gang__calendar_timeline_of(s, g), &o, &id) != GANG_OK)
        return false;
    g->calendar.occupies = id + 1;
    if (occupy_beside(s, g, &o))
        return true;
    gang__calendar_vacate(s, g);
    return false;
}

static bool put_sources(gang_sched *s)
{
    bool done = true;
    for (int i = 0; i < GANG__SOURCES && done; i++)
        if (s->source[i]->put)
            done = s->source[i]->put(s);
    return done;
}

bool gang__calendar_sync(gang_sched *s)
{
    bool done = true;
    while (s->wake.holdings && done) {
        struct gang__gang *g = s->wake.holdings;
        done = gang__calendar_occupy(s, g, gang__gang_holds(g), gang__calendar_end(s, g));
        if (done)
            gang__wake_forget_holding(g);
    }
    done = done && put_sources(s);
    if (!done)
        s->calendar->failed_in = s->runs;
    return done;
}

/* ---- making it ------------------------------------------------------------------------------- */

/* Puts what each gang holds into the timeline; all plans are looked at again. */
static void note_all(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++)
            gang__wake_holding(s, &job->gang[i]);
        gang__wake_job(s, job, GANG__WAKE_TIMER); /* from now on predictions count */
    }
    gang__wake_calendar(s);
}

/* Takes everything out of the timeline, and frees it. */
static void clear_all(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            gang__calendar_drop(s, &job->gang[i]);
            gang__calendar_vacate(s, &job->gang[i]);
        }
    }
    for (int i = 0; i < GANG__SOURCES; i++)
        if (s->source[i]->withdrawn)
            s->source[i]->withdrawn(s);
    gang__timeline_free(s->calendar->timeline);
    s->calendar->timeline = NULL;
}

static void take_capacity(struct gang__calendar *cal, const gang_snapshot *snapshot, uint32_t end)
{
    cal->all_up = true;
    memset(cal->capacity, 0, end * GANG__FREE_KINDS * sizeof(*cal->capacity));
    for (gang_node_id n = gang_snapshot_node_next(snapshot, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_snapshot_node_next(snapshot, n)) {
        struct gang_node_info info = {.size = sizeof(info)};
        if ((uint32_t)n >= end || gang_snapshot_node_get(snapshot, n, &info) != GANG_OK)
            continue;
        cal->all_up = cal->all_up && info.state == GANG_NODE_UP && !info.gpu_unhealthy;
        if (info.state != GANG_NODE_UP)
            continue;
        int64_t *to = cal->capacity + (size_t)(uint32_t)n * GANG__FREE_KINDS;
        to[GANG__FREE_CPU] = info.cpu_milli;
        to[GANG__FREE_MEMORY] = info.memory_bytes;
        to[GANG__FREE_GPU] =
            1000 * (int64_t)(info.gpu_count - __builtin_popcountll(info.gpu_unhealthy));
    }
}

bool gang__calendar_reserve_slots(gang_sched *s, uint32_t end)
{
    struct gang__calendar *cal = s->calendar;
    size_t words = end / 64 + 1;
    return gang__grow(&s->mem, (void **)&cal->capacity, &cal->capacity_cap,
                      (size_t)end * GANG__FREE_KINDS + 1, sizeof(*cal->capacity)) &&
           gang__grow(&s->mem, (void **)&cal->mask, &cal->mask_cap, words, sizeof(*cal->mask)) &&
           gang__grow(&s->mem, (void **)&cal->domain, &cal->domain_cap, words,
                      sizeof(*cal->domain));
}

enum { FIRST_SLOT = GANG__POOL + 1 }; /* no node ever has one below */

/* A timeline of the nodes as they are, with what runs. */
bool gang__calendar_make_counting(gang_sched *s, const struct gang__more_list *list)
{
    struct gang__calendar *cal = s->calendar;
    struct gang__timeline *timeline;
    int64_t *more = NULL;
    uint64_t epoch = gang__load(&s->cluster->nodes.epoch) + 1,
             states = gang__load(&s->cluster->nodes.states);
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return false;
    uint32_t end = s->scratch->end;
    if (!gang__calendar_reserve_slots(s, end))
        return false;
    take_capacity(cal, s->scratch, end);
    if (gang__timeline_new(&s->mem, cal->capacity, end, 0, s->now_ns, &timeline) != GANG_OK)
        return false;
    if (!gang__calendar_take_more(s, list, timeline, end, &more)) {
        gang__timeline_free(timeline);
        return false;
    }
    gang__timeline_skip(timeline, FIRST_SLOT);
    clear_all(s);
    gang__calendar_forget_costs(s);
    gang__release(&s->mem, cal->more_capacity);
    cal->more_capacity = more;
    cal->more = *list;
    cal->timeline = timeline;
    cal->end = end;
    cal->epoch = epoch;
    cal->states = states;
    note_all(s);
    for (int i = 0; i < GANG__SOURCES; i++)
        if (s->source[i]->renewed)
            s->source[i]->renewed(s);
    return true;
}

bool gang__calendar_current(const gang_sched *s)
{
    const struct gang__calendar *cal = s->calendar;
    return cal->timeline && cal->epoch == gang__load(&s->cluster->nodes.epoch) + 1 &&
           cal->states == gang__load(&s->cluster->nodes.states);
}

bool gang__calendar_ready(gang_sched *s)
{
    if (!s->calendar)
        s->calendar = gang__zalloc(&s->mem, 1, sizeof(*s->calendar));
    struct gang__calendar *cal = s->calendar;
    if (!cal || (!gang__calendar_current(s) && !gang__calendar_make_counting(s, &cal->more)))
        return false;
    gang__timeline_advance(cal->timeline, s->now_ns);
    if (cal->config != s->config_count || cal->by_limit != gang__calendar_by_limit(s))
        note_all(s); /* graces may have changed, or predictions may count no more */
    cal->config = s->config_count;
    cal->by_limit = gang__calendar_by_limit(s);
    return gang__calendar_sync(s);
}

bool gang__calendar_has_work(const gang_sched *s)
{
    return s->wake.plans && s->calendar && s->calendar->failed_in != s->runs;
}

void gang__calendar_free(gang_sched *s)
{
    struct gang__calendar *cal = s->calendar;
    if (!cal)
        return;
    clear_all(s);
    while (s->wake.holdings)
        gang__wake_forget_holding(s->wake.holdings);
    s->wake.plans = 0;
    s->wake.starting = NULL;
    gang__time_fit_free(&cal->fit, &s->mem);
    gang__time_fit_free(&cal->other, &s->mem);
    gang__calendar_forget_costs(s);
    void *const scratch[] = {cal->group,    cal->place,         cal->mask,  cal->domain,
                             cal->capacity, cal->group_of,      cal->exact, cal->kind,
                             cal->variant,  cal->more_capacity, cal->beside};
    for (size_t i = 0; i < sizeof(scratch) / sizeof(scratch[0]); i++)
        gang__release(&s->mem, scratch[i]);
    gang__release(&s->mem, cal);
    s->calendar = NULL;
}
