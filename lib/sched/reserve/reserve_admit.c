/* SPDX-License-Identifier: Apache-2.0 */
/* Placing a reservation in the plan, and changing it (reserve.h). plan/admit.h finds the places. */
#include <stdlib.h>
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/fit/filter.h"
#include "place/request/request.h"
#include "sched/backfill/candidates.h"
#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/reserve/reserves.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"

/* ---- what makes way while it is placed ----------------------------------------------------------- */

/* The running jobs that it may ignore. */
static void withdraw_jobs(struct gang__trial *t, const struct gang__reserve *r)
{
    struct gang__set_link *n = NULL;
    if (r->flags & GANG_RESERVATION_IGNORE_JOBS)
        n = gang__set_first(&t->s->by_id);
    for (; n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, all, n);
        for (uint32_t i = 0; i < job->unit_count; i++)
            if (!job->unit[i].reserve.inside_of && job->unit[i].calendar.occupies)
                gang__trial_withdraw(t, job->unit[i].calendar.occupies - 1);
    }
}

/* The reservations that it may overlap: those that were accepted before it. */
static void withdraw_older(struct gang__trial *t, const struct gang__reserve *r)
{
    if (!(r->flags & GANG_RESERVATION_OVERLAP))
        return;
    for (const struct gang__reserve *o = t->s->reserve.all->first; o; o = o->next)
        if (o != r && (!r->accepted || o->accepted <= r->accepted))
            gang__reserve_withdraw_from(t, o);
}

bool gang__reserve_fits(gang_sched *s, const struct gang__reserve *r,
                        const struct gang__occupation *o)
{
    bool fits = gang__timeline_fits(s->calendar->when, o);
    if (fits || !(r->flags & GANG_RESERVATION_OVERLAP))
        return fits;
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->when);
    withdraw_older(&t, r);
    fits = gang__timeline_fits(s->calendar->when, o);
    gang__trial_drop(&t);
    return fits;
}

/* When all have stopped who were asked to by now, at the latest. */
static int64_t last_grace(const gang_sched *s)
{
    return gang__add_sat(s->now_ns, gang__longest_grace(s));
}

/* Capacity on its way to a gang is taken until the gang ends, if it starts as late as it can. */
static gang_result put_places(struct gang__trial *t, const struct gang__gang *u,
                              const struct gang_placement *place, int64_t count)
{
    gang_sched *s = t->s;
    struct gang__occupation o;
    int64_t end_ns = gang__add_sat(last_grace(s), gang__calendar_estimate(s, u));
    if (!gang__calendar_lay_out(s, u, place, (size_t)count, end_ns, &o))
        return GANG_ENOMEM;
    return o.place_count ? gang__trial_put(t, &o, NULL) : GANG_OK;
}

struct keeping {
    gang_sched *s;
    const struct gang__stop *leave;
    bool failed;
};

/* Each task is a group of its own: the job, and what it asked for, may be gone. */
static int32_t keep_task(const struct gang_task *task, void *user)
{
    struct keeping *k = user;
    struct gang__calendar *a = k->s->calendar;
    const struct gang__stop *l = k->leave;
    int64_t number = task->task;
    if (!bsearch(&number, l->own, l->own_count, sizeof(number), gang__by_number))
        return 0;
    uint32_t n = (uint32_t)a->places;
    k->failed = !gang__grow(&k->s->mem, (void **)&a->group, &a->group_room, (size_t)n + 1,
                            sizeof(*a->group)) ||
                !gang__calendar_place(k->s, task->node, n);
    if (!k->failed)
        a->group[n] = (struct gang__time_group){
            1,
            {task->cpu_milli, task->memory_bytes, (int64_t)task->gpu_count * task->gpu_share},
            0};
    return k->failed;
}

/* Tasks that have stopped are kept until all tasks have that stop for the same handover. */
static gang_result put_kept(struct gang__trial *t, const struct gang__stop *l)
{
    gang_sched *s = t->s;
    struct gang__calendar *a = s->calendar;
    struct keeping k = {s, l, false};
    a->places = 0;
    gang_result r = gang_alloc_each(s->cluster, l->alloc, keep_task, &k);
    if (k.failed || r == GANG_EBUSY || r == GANG_ENOMEM)
        return GANG_ENOMEM;
    if (a->places == 0)
        return GANG_OK;
    size_t groups = a->places;
    gang__calendar_merge(a);
    struct gang__occupation o = {
        s->now_ns, gang__add_sat(last_grace(s), 1), a->group, groups, a->place, a->places, 0,
        false};
    return gang__trial_put(t, &o, NULL);
}

gang_result gang__reserve_put_handovers(struct gang__trial *t)
{
    gang_result r = GANG_OK;
    for (const struct gang__handover *c = t->s->claims; c && r == GANG_OK; c = c->next) {
        if (c->taker)
            r = put_places(t, c->taker, c->places, c->place_count);
        for (const struct gang__stop *l = c->leaves; l && r == GANG_OK; l = l->next_of_claim) {
            if (l->to && l->unit)
                r = put_places(t, l->unit, l->to, l->to_count);
            if (r == GANG_OK && l->gone && !l->given && l->own_count > 0)
                r = put_kept(t, l);
        }
    }
    return r;
}

/* ---- an ask ------------------------------------------------------------------------------------ */

/* The stages of a reservation as plan/admit.h wants them. */
struct ask {
    struct gang__admit_ask a;
    struct gang__admit_stage *stage;
    struct gang__time_group *group;
    uint64_t *mask;
    uint32_t *node;
};

static void ask_free(gang_sched *s, struct ask *k)
{
    gang__release(&s->mem, k->stage);
    gang__release(&s->mem, k->group);
    gang__release(&s->mem, k->mask);
    gang__release(&s->mem, k->node);
}

/* Nodes of a domain, ascending; not those that were removed. */
static size_t domain_nodes(gang_sched *s, int32_t level, uint32_t index, uint32_t *node)
{
    size_t n = 0;
    gang__rcu_enter();
    for (uint32_t slot = 0; slot < s->calendar->end; slot++) {
        const struct gang__node *at = gang__node_at(s->cluster, slot);
        if (at && at->domain[level] == index && gang__node_id_at(s->cluster, slot) != GANG_ID_NONE)
            node[n++] = slot;
    }
    gang__rcu_leave();
    return n;
}

/* Nodes that are up and on which its groups may lie. */
static void stage_mask(gang_sched *s, const gang_request *q, uint64_t *mask)
{
    const struct gang__calendar *a = s->calendar;
    gang__filter_mask(s->cluster, q, a->end, mask);
    for (uint32_t slot = 0; slot < a->end; slot++) {
        const int64_t *has = a->capacity + (size_t)slot * GANG__FREE_KINDS;
        if (has[GANG__FREE_CPU] <= 0 && has[GANG__FREE_MEMORY] <= 0 && has[GANG__FREE_GPU] <= 0)
            mask[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
    }
}

static bool ask_stage(gang_sched *s, const struct gang__reserve_stage *from,
                      struct gang__admit_stage *to, struct gang__time_group *group, uint64_t *mask,
                      uint32_t *node)
{
    *to = (struct gang__admit_stage){.duration_ns = from->duration_ns, .whole = from->whole};
    if (from->q) {
        if (!gang__calendar_needs(s, from->q))
            return false;
        memcpy(group, s->calendar->group, from->q->group_count * sizeof(*group));
        for (uint32_t g = 0; g < from->q->group_count; g++)
            group[g].count = from->count[g];
        to->group = group;
        to->group_count = from->q->group_count;
        to->gang = from->gang;
        to->nodes = mask;
        stage_mask(s, from->q, mask);
        return true;
    }
    to->node = node;
    if (from->level != GANG__NO_LEVEL && from->domains == 0)
        to->node_count = domain_nodes(s, from->level, from->domain, node);
    else
        for (to->node_count = 0; to->node_count < from->node_count; to->node_count++)
            node[to->node_count] = (uint32_t)from->node[to->node_count];
    return true;
}

static bool ask_make(gang_sched *s, const struct gang__reserve *r, struct ask *k)
{
    size_t groups = 0, words = s->calendar->end / 64 + 1;
    memset(k, 0, sizeof(*k));
    for (size_t i = 0; i < r->stage_count; i++)
        groups += r->stage[i].q ? r->stage[i].q->group_count : 0;
    k->stage = gang__zalloc(&s->mem, r->stage_count, sizeof(*k->stage));
    k->group = gang__zalloc(&s->mem, groups + 1, sizeof(*k->group));
    k->mask = gang__zalloc(&s->mem, r->stage_count * words, sizeof(*k->mask));
    k->node = gang__zalloc(&s->mem, r->stage_count * s->calendar->end + 1, sizeof(*k->node));
    bool done = k->stage && k->group && k->mask && k->node;
    groups = 0;
    for (size_t i = 0; i < r->stage_count && done; i++) {
        done = ask_stage(s, &r->stage[i], &k->stage[i], k->group + groups, k->mask + i * words,
                         k->node + i * s->calendar->end);
        groups += r->stage[i].q ? r->stage[i].q->group_count : 0;
    }
    k->a = (struct gang__admit_ask){.arrival_ns = r->arrival_ns,
                                    .deadline_ns = r->deadline_ns,
                                    .fixed = r->start_ns >= 0,
                                    .start_ns = r->start_ns,
                                    .stage = k->stage,
                                    .stage_count = r->stage_count,
                                    .combine = r->combine,
                                    .prefer = r->prefer,
                                    .usage = r->usage};
    static const int combine[] = {GANG__ADMIT_ALL, GANG__ADMIT_ANY, GANG__ADMIT_ORDER,
                                  GANG__ADMIT_ORDER_NO_GAP};
    static const int prefer[] = {GANG__ADMIT_EARLIEST, GANG__ADMIT_LATEST, GANG__ADMIT_CHEAPEST};
    k->a.combine = combine[r->combine];
    k->a.prefer = prefer[r->prefer];
    return done;
}

/* ---- what it came to ----------------------------------------------------------------------------- */

static size_t count_runs(const struct gang__time_place *place, size_t count,
                         struct gang__reserve_run *run)
{
    size_t n = 0;
    struct gang__reserve_run last = {0, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        const struct gang__time_place *p = &place[i];
        uint32_t tasks = p->tasks > 0 ? (uint32_t)p->tasks : 1;
        if (last.nodes && p->node == last.node + last.nodes && p->group == last.group &&
            tasks == last.tasks) {
            last.nodes++;
        } else {
            last = (struct gang__reserve_run){p->node, 1, p->group, tasks};
            n++;
        }
        if (run)
            run[n - 1] = last;
    }
    return n;
}

/* The pieces become its own. False: out of memory, they are taken back. `only`: the one stage that was asked for;
 * UINT32_MAX: all were. */
static bool keep_pieces(gang_sched *s, struct gang__reserve *r, int64_t instance, uint32_t only)
{
    struct gang__admitted *got = &s->reserve.all->got;
    struct gang__reserve_piece *list = NULL;
    bool done = true;
    for (size_t i = got->count; i-- > 0 && done;) {
        const struct gang__admit_piece *from = &got->piece[i];
        const struct gang__time_place *place = got->place + from->place;
        size_t runs = count_runs(place, from->place_count, NULL);
        struct gang__reserve_piece *p =
            gang__zalloc(&s->mem, 1, sizeof(*p) + runs * sizeof(p->run[0]));
        done = p != NULL;
        if (!done)
            break;
        p->start_ns = from->start_ns;
        p->end_ns = from->end_ns;
        p->instance = instance + from->instance;
        p->stage = only == UINT32_MAX ? from->stage : only;
        p->id = from->id + 1;
        p->booking = got->usage ? from->usage_id + 1 : 0;
        p->run_count = (uint32_t)count_runs(place, from->place_count, p->run);
        p->next = list;
        list = p;
    }
    if (!done)
        gang__admitted_undo(s->calendar->when, got);
    while (list) {
        struct gang__reserve_piece *p = list;
        list = p->next;
        if (done)
            gang__reserve_insert(r, p);
        else
            gang__release(&s->mem, p);
    }
    if (done)
        got->count = got->place_count = 0; /* they are not its any more */
    return done;
}

/* How the first time was placed is how the next ones will be. */
static bool keep_parts(gang_sched *s, struct gang__reserve *r)
{
    const struct gang__admitted *got = &s->reserve.all->got;
    size_t n = 0;
    r->part = gang__zalloc(&s->mem, got->count + 1, sizeof(*r->part));
    if (!r->part)
        return false;
    r->first_ns = INT64_MAX;
    for (size_t i = 0; i < got->count; i++)
        if (got->piece[i].instance == 0 && got->piece[i].start_ns < r->first_ns)
            r->first_ns = got->piece[i].start_ns;
    for (size_t i = 0; i < got->count; i++)
        if (got->piece[i].instance == 0)
            r->part[n++] = (struct gang__reserve_part){got->piece[i].stage, got->piece[i].gangs,
                                                       got->piece[i].start_ns - r->first_ns};
    r->part_count = n;
    return true;
}

/* ---- whole domains ------------------------------------------------------------------------------- */

/* The first so many domains that are free at a time, of the stage's level; their nodes are left in `node`, sorted. */
static size_t domains_at(gang_sched *s, const struct gang__reserve_stage *stage, int64_t start_ns,
                         uint32_t *node)
{
    struct gang__calendar *a = s->calendar;
    uint32_t count = gang__domain_count(s->cluster, (uint32_t)stage->level);
    int64_t found = 0;
    memset(a->part, 0, (a->end / 64 + 1) * sizeof(*a->part));
    for (uint32_t i = 0; i < count && found < stage->domains; i++) {
        uint32_t index = gang__domain_at(s->cluster, (uint32_t)stage->level, i)->index;
        size_t n = domain_nodes(s, stage->level, index, node);
        bool up = n > 0;
        for (size_t k = 0; k < n; k++) {
            a->place[k] = (struct gang__time_place){node[k], 0, 1};
            const int64_t *has = a->capacity + (size_t)node[k] * GANG__FREE_KINDS;
            up = up && (has[0] > 0 || has[1] > 0 || has[2] > 0);
        }
        struct gang__occupation o = {
            start_ns, gang__add_sat(start_ns, stage->duration_ns), a->group, 1, a->place, n, 0,
            true};
        if (!up || !gang__timeline_fits(a->when, &o))
            continue;
        found++;
        for (size_t k = 0; k < n; k++)
            gang__mask_put(a->part, node[k]);
    }
    size_t all = 0;
    for (uint32_t slot = 0; slot < a->end && found == stage->domains; slot++)
        if (a->part[slot / 64] >> (slot % 64) & 1)
            node[all++] = slot;
    return all;
}

/* The next time after one at which something comes free. */
static int64_t next_step(gang_sched *s, int64_t at_ns)
{
    int64_t unused[GANG__FREE_DIMS];
    return gang__timeline_sum_at(s->calendar->when, at_ns, unused);
}

/* So many domains at the earliest time at which so many are free: a stage of named nodes, at a fixed start. */
static gang_result pick_domains(gang_sched *s, struct gang__reserve *r, struct ask *k)
{
    struct gang__calendar *a = s->calendar;
    const struct gang__reserve_stage *stage = &r->stage[0];
    int64_t at = r->start_ns >= 0 ? r->start_ns : r->arrival_ns;
    size_t n = 0, words = a->end / 64 + 1;
    at = at > s->now_ns ? at : s->now_ns;
    if (!gang__grow(&s->mem, (void **)&a->place, &a->place_room, a->end + 1, sizeof(*a->place)) ||
        !gang__grow(&s->mem, (void **)&a->group, &a->group_room, 1, sizeof(*a->group)) ||
        !gang__grow(&s->mem, (void **)&a->part, &a->part_room, words, sizeof(*a->part)))
        return GANG_ENOMEM;
    a->group[0] = (struct gang__time_group){1, {0, 0, 0}, 0};
    if (r->start_ns >= 0 && r->start_ns < s->now_ns)
        return GANG_ENOFIT;
    gang__rcu_enter();
    while ((n = domains_at(s, stage, at, k->node)) == 0 && r->start_ns < 0 && at != GANG__NEVER)
        at = next_step(s, at);
    gang__rcu_leave();
    if (n == 0)
        return at == GANG__NEVER ? GANG_ENEVER : GANG_ENOFIT;
    k->stage[0].node = k->node;
    k->stage[0].node_count = n;
    k->a.fixed = true;
    k->a.start_ns = at;
    s->reserve.all->got.next_ns = at;
    return at > r->deadline_ns - stage->duration_ns ? GANG_ENOFIT : GANG_OK;
}

/* All tasks of the only group in one domain: the one in which they can begin first. */
static gang_result pick_same(gang_sched *s, struct gang__reserve *r, struct ask *k)
{
    struct gang__calendar *a = s->calendar;
    struct gang__admitted *got = &s->reserve.all->got;
    int32_t level = r->stage[0].q->group[0].same;
    uint32_t count = gang__domain_count(s->cluster, (uint32_t)level), best = UINT32_MAX;
    int64_t best_ns = GANG__NEVER, next_ns = GANG__NEVER;
    gang_result last = GANG_ENEVER;
    size_t words = a->end / 64 + 1;
    uint64_t *all = gang__zalloc(&s->mem, words, sizeof(*all));
    if (!all)
        return GANG_ENOMEM;
    memcpy(all, k->mask, words * sizeof(*all));
    for (uint32_t i = 0; i <= count; i++) { /* and at last in the best one again, to stay */
        uint32_t at = i < count ? i : best;
        if (at == UINT32_MAX)
            break;
        memcpy(a->mask, all, words * sizeof(*all));
        gang__backfill_part(s, level, gang__domain_at(s->cluster, (uint32_t)level, at)->index);
        memcpy(k->mask, a->part, words * sizeof(*all));
        gang_result w = gang__admit(a->when, &k->a, got);
        if (w == GANG_OK && i == count) {
            last = w;
            break;
        }
        if (w != GANG_OK && w != GANG_ENOFIT && w != GANG_ENEVER) {
            last = w;
            break;
        }
        last = last == GANG_ENEVER ? w : last;
        next_ns = w == GANG_ENOFIT && got->next_ns < next_ns ? got->next_ns : next_ns;
        if (w == GANG_OK && got->piece[0].start_ns < best_ns) {
            best_ns = got->piece[0].start_ns;
            best = i;
        }
        if (w == GANG_OK)
            gang__admitted_undo(a->when, got);
    }
    gang__release(&s->mem, all);
    if (last != GANG_OK)
        got->next_ns = next_ns;
    return last == GANG_OK && got->count == 0 ? GANG_ENOFIT : last;
}

static gang_result ask_whole(gang_sched *s, struct gang__reserve *r, struct ask *k)
{
    struct gang__admitted *got = &s->reserve.all->got;
    const struct gang__reserve_stage *first = &r->stage[0];
    got->why = GANG__ADMIT_FULL;
    got->stage = 0;
    got->next_ns = GANG__NEVER;
    if (first->q && first->q->group_count == 1 && first->q->group[0].same >= 0 &&
        first->q->group[0].same < GANG_MAX_LEVELS)
        return pick_same(s, r, k);
    if (first->level != GANG__NO_LEVEL && first->domains > 0) {
        gang_result w = pick_domains(s, r, k);
        if (w != GANG_OK)
            return w;
    }
    return gang__admit(s->calendar->when, &k->a, got);
}

/* ---- why not ------------------------------------------------------------------------------------- */

static gang_result say_why(const struct gang__admitted *got, const struct gang__reserve *r,
                           gang_result w, struct gang_error *error)
{
    static const char *const kind[] = {"cpu", "memory", "gpu", "nodes", "pool"};
    const char *what = got->item >= 0 && got->item < GANG__FREE_DIMS ? kind[got->item] : "";
    switch (w == GANG_ENOMEM || w == GANG_ELIMIT ? -1 : got->why) {
    case GANG__ADMIT_LARGER:
        w = gang__error(error, GANG_ENEVER, NULL, "a gang of it is larger than all there is");
        break;
    case GANG__ADMIT_SHORT:
        return gang__error(error, GANG_EINVAL, "deadline_ns",
                           "the window is shorter than what is to lie in it");
    case GANG__ADMIT_FULL:
        w = gang__error(error, w == GANG_ENEVER ? w : GANG_ENOFIT, NULL,
                        "too little is free in the window: %lld of %lld gangs find room",
                        (long long)got->has, (long long)got->wanted);
        break;
    case GANG__ADMIT_MOST:
        return gang__error(error, GANG_ELIMIT, "owner",
                           "\"%s\" would have %lld of %s at a time, and may have %lld", r->owner,
                           (long long)got->wanted, what, (long long)got->has);
    case GANG__ADMIT_AVERAGE:
        return gang__error(error, GANG_ELIMIT, "owner",
                           "\"%s\" would have %lld of %s on average, and may have %lld", r->owner,
                           (long long)got->wanted, what, (long long)got->has);
    case GANG__ADMIT_BAD_WINDOW:
        return gang__error(error, GANG_EINVAL, r->start_ns >= 0 ? "start_ns" : "deadline_ns",
                           "not in the window, or that has passed");
    case GANG__ADMIT_BAD_PERIOD:
        return gang__error(error, GANG_EINVAL, "period_ns", "shorter than what is repeated");
    default:
        return gang__error(error, w, NULL, "%s", gang_strerror(w));
    }
    return gang__error_at(error, w, "stages[%u]", got->stage);
}

/* ---- limits of owners ---------------------------------------------------------------------------- */

static struct gang__reserve_owner *owner_of(const gang_sched *s, const char *name)
{
    struct gang__reserve_owner *o = s->reserve.all ? s->reserve.all->owners : NULL;
    while (o && strcmp(o->name, name) != 0)
        o = o->next;
    return o;
}

/* What he has is counted from his first reservation on, whatever his limits are then. */
static struct gang__reserve_owner *owner_get(gang_sched *s, const char *name)
{
    const struct gang__usage_limit none = GANG__USAGE_NO_LIMIT;
    struct gang__reserve_owner *o = owner_of(s, name);
    size_t length = strlen(name) + 1;
    if (o || !(o = gang__zalloc(&s->mem, 1, sizeof(*o) + length)))
        return o;
    memcpy(o->name, name, length);
    if (gang__usage_new(&s->mem, s->reserve.all->limited ? &s->reserve.all->limit : &none,
                        &o->usage) != GANG_OK) {
        gang__release(&s->mem, o);
        return NULL;
    }
    o->next = s->reserve.all->owners;
    s->reserve.all->owners = o;
    return o;
}

static bool make_table(gang_sched *s)
{
    if (!s->reserve.all)
        s->reserve.all = gang__zalloc(&s->mem, 1, sizeof(*s->reserve.all));
    if (s->reserve.all && s->reserve.count == 0)
        s->reserve.all->due_ns = INT64_MAX;
    return s->reserve.all != NULL;
}

static void take_limit(const struct gang_reservation_limit *l, struct gang__usage_limit *to)
{
    *to = (struct gang__usage_limit)GANG__USAGE_NO_LIMIT;
    to->most[GANG__FREE_CPU] = l->most_cpu_milli;
    to->most[GANG__FREE_MEMORY] = l->most_memory_bytes;
    to->most[GANG__FREE_GPU] = l->most_gpu_milli;
    to->average[GANG__FREE_CPU] = l->average_cpu_milli;
    to->average[GANG__FREE_MEMORY] = l->average_memory_bytes;
    to->average[GANG__FREE_GPU] = l->average_gpu_milli;
    to->window_ns = l->window_ns;
}

gang_result gang_reservation_set_limit(gang_sched *sched, const char *owner,
                                       const struct gang_reservation_limit *limit,
                                       struct gang_error *error)
{
    struct gang_reservation_limit l = GANG_RESERVATION_LIMIT_INIT;
    struct gang__usage_limit to;
    if (!sched)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler");
    if (sched->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang_result r = limit ? gang__struct_in(&l, sizeof(l), sizeof(l), limit, limit->size) : GANG_OK;
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "struct gang_reservation_limit is not set up");
    take_limit(&l, &to);
    struct gang__usage *tried = NULL;
    r = gang__usage_new(&sched->mem, &to, &tried); /* does it hold? */
    gang__usage_free(tried);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "%s", gang_strerror(r));
    struct gang__reserve_owner *o = NULL;
    if (!make_table(sched) || (owner && !(o = owner_get(sched, owner))))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (o) {
        o->own = limit != NULL;
        return gang__usage_set_limit(o->usage, limit ? &to
                                               : sched->reserve.all->limited
                                                   ? &sched->reserve.all->limit
                                                   : &to);
    }
    sched->reserve.all->limited = limit != NULL;
    sched->reserve.all->limit = to;
    for (o = sched->reserve.all->owners; o && r == GANG_OK; o = o->next)
        if (!o->own)
            r = gang__usage_set_limit(o->usage, &to);
    return r;
}

/* ---- placing ------------------------------------------------------------------------------------- */

/* From the begin of its first time to the end of that. */
static int64_t first_span(const struct gang__admitted *got, int64_t *end_ns)
{
    int64_t begin_ns = INT64_MAX;
    *end_ns = INT64_MIN;
    for (size_t i = 0; i < got->count; i++) {
        const struct gang__admit_piece *p = &got->piece[i];
        if (p->instance > 0)
            continue;
        begin_ns = gang__least(begin_ns, p->start_ns);
        *end_ns = p->end_ns > *end_ns ? p->end_ns : *end_ns;
    }
    return *end_ns - begin_ns;
}

/* A time of it has ended when the next one begins: one alone is on at a time. Where pieces of the first are further
 * apart than that, it begins later, as late as the last of them demands. */
static gang_result ask_apart(gang_sched *s, struct gang__reserve *r, struct ask *k)
{
    enum { TRIES = 64 };
    struct gang__admitted *got = &s->reserve.all->got;
    int64_t end_ns;
    if (r->period_ns && r->start_ns >= 0)
        k->a.deadline_ns = gang__least(k->a.deadline_ns, gang__add_sat(r->start_ns, r->period_ns));
    gang_result w = ask_whole(s, r, k);
    for (int i = 0; w == GANG_OK && r->period_ns; i++) {
        if (first_span(got, &end_ns) <= r->period_ns)
            return w;
        gang__admitted_undo(s->calendar->when, got);
        k->a.arrival_ns = end_ns - r->period_ns;
        got->why = GANG__ADMIT_BAD_PERIOD;
        w = i < TRIES ? ask_whole(s, r, k) : GANG_ENOFIT;
    }
    return w;
}

/* The first times of it. */
static gang_result place_first(gang_sched *s, struct gang__reserve *r, int64_t until_ns,
                               struct gang_error *error)
{
    struct ask k;
    struct gang__trial t;
    int64_t ahead = r->instances < GANG__RESERVE_AHEAD ? r->instances : GANG__RESERVE_AHEAD;
    gang__trial_begin(&t, s, s->calendar->when);
    gang_result w = ask_make(s, r, &k) ? gang__reserve_put_handovers(&t) : GANG_ENOMEM;
    k.a.period_ns = r->period_ns;
    k.a.instances = ahead;
    s->reserve.all->got.why = GANG__ADMIT_FITS;
    s->reserve.all->got.next_ns = GANG__NEVER;
    if (until_ns && r->period_ns && r->start_ns >= 0 &&
        w == GANG_OK) { /* not more than there are */
        int64_t times = (until_ns - r->start_ns + r->period_ns - 1) / r->period_ns;
        r->instances = times < r->instances ? times : r->instances;
        k.a.instances = times < ahead ? times : ahead;
    }
    if (w == GANG_OK && r->period_ns && k.a.instances < 1) {
        gang__trial_drop(&t);
        ask_free(s, &k);
        return gang__error(error, GANG_EINVAL, "until_ns", "before the first time");
    }
    if (w == GANG_OK) {
        gang__trial_withdraw_plans(&t, NULL);
        withdraw_jobs(&t, r);
        withdraw_older(&t, r);
        w = ask_apart(s, r, &k);
    }
    gang__trial_drop(&t);
    ask_free(s, &k);
    if (w != GANG_OK)
        return say_why(&s->reserve.all->got, r, w, error);
    if (!keep_parts(s, r)) {
        gang__admitted_undo(s->calendar->when, &s->reserve.all->got);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    if (!keep_pieces(s, r, 0, UINT32_MAX))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    r->next_instance = r->period_ns ? k.a.instances : 1;
    if (until_ns && r->period_ns && r->start_ns < 0) {
        int64_t times = until_ns <= r->first_ns
                            ? 0
                            : (until_ns - r->first_ns + r->period_ns - 1) / r->period_ns;
        r->instances = times < r->instances ? times : r->instances;
        for (struct gang__reserve_piece *p = r->piece, *next; p; p = next) {
            next = p->next;
            if (p->instance >= r->instances)
                gang__reserve_drop(s, r, p);
        }
        if (times == 0)
            return gang__error(error, GANG_ENOFIT, "until_ns", "before the first time");
    }
    return GANG_OK;
}

/* Groups of which nothing was asked for count again. */
static void name_groups(struct gang__admitted *got, const int64_t *count)
{
    for (size_t i = 0; i < got->place_count; i++) {
        uint32_t g = 0;
        for (uint32_t left = got->place[i].group;; g++)
            if (count[g] > 0 && left-- == 0)
                break;
        got->place[i].group = g;
    }
}

/* Beside all others; else over those that it may overlap, and, with `jobs`, over those that it may ignore. Planned
 * starts make way. */
static gang_result admit_more(gang_sched *s, const struct gang__reserve *r,
                              const struct gang__admit_ask *a, bool jobs)
{
    int32_t over = GANG_RESERVATION_OVERLAP | (jobs ? GANG_RESERVATION_IGNORE_JOBS : 0);
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->when);
    gang__trial_withdraw_plans(&t, NULL);
    gang_result w = gang__admit(s->calendar->when, a, &s->reserve.all->got);
    if (w != GANG_OK && w != GANG_ENOMEM && r->flags & over) {
        withdraw_older(&t, r);
        if (jobs)
            withdraw_jobs(&t, r);
        w = gang__admit(s->calendar->when, a, &s->reserve.all->got);
    }
    gang__trial_drop(&t);
    return w;
}

static gang_result place_part(gang_sched *s, struct gang__reserve *r, uint32_t stage,
                              const int64_t *count, int64_t instance, int64_t start_ns,
                              int64_t end_ns, bool jobs)
{
    struct ask k;
    gang_result w = GANG_ENOMEM;
    if (ask_make(s, r, &k)) {
        struct gang__admit_stage *one = &k.stage[stage];
        struct gang__time_group *group = k.group;
        for (uint32_t i = 0; i < stage; i++)
            group += r->stage[i].q ? r->stage[i].q->group_count : 0;
        uint32_t groups = 0; /* of which something is wanted */
        for (size_t g = 0; g < one->group_count; g++)
            if (count[g] > 0) {
                group[groups] = group[g];
                group[groups].count = count[g];
                groups++;
            }
        one->group_count = groups;
        one->duration_ns = end_ns - start_ns;
        one->gang = 0;
        k.a.stage = one;
        k.a.stage_count = 1;
        k.a.combine = GANG__ADMIT_ALL;
        k.a.prefer = GANG__ADMIT_EARLIEST;
        k.a.arrival_ns = start_ns;
        k.a.deadline_ns = end_ns;
        k.a.fixed = true;
        k.a.start_ns = start_ns;
        w = admit_more(s, r, &k.a, jobs);
        if (w == GANG_OK && r->stage[stage].q)
            name_groups(&s->reserve.all->got, count);
    }
    ask_free(s, &k);
    if (w == GANG_OK && !keep_pieces(s, r, instance, stage))
        w = GANG_ENOMEM;
    return w == GANG_OK || w == GANG_ENOMEM ? w : GANG_ENOFIT;
}

gang_result gang__reserve_place_lost(gang_sched *s, struct gang__reserve *r, uint32_t stage,
                                     const int64_t *count, int64_t instance, int64_t start_ns,
                                     int64_t end_ns)
{
    return place_part(s, r, stage, count, instance, start_ns, end_ns, false);
}

static void drop_instance(gang_sched *s, struct gang__reserve *r, int64_t instance)
{
    for (struct gang__reserve_piece *p = r->piece, *next; p; p = next) {
        next = p->next;
        if (p->instance == instance)
            gang__reserve_drop(s, r, p);
    }
}

/* So many gangs of a stage: counts of its groups. */
static void scale(const struct gang__reserve_stage *stage, int64_t gangs, int64_t *count)
{
    for (uint32_t g = 0; stage->q && g < stage->q->group_count; g++)
        count[g] = stage->gang ? stage->count[g] / (stage->count[0] / stage->gang) * gangs
                               : stage->count[g];
}

gang_result gang__reserve_place_again(gang_sched *s, struct gang__reserve *r, int64_t instance)
{
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->when);
    gang_result w = gang__reserve_put_handovers(&t);
    for (size_t i = 0; i < r->part_count && w == GANG_OK; i++) {
        const struct gang__reserve_part *part = &r->part[i];
        const struct gang__reserve_stage *stage = &r->stage[part->stage];
        uint32_t groups = stage->q ? stage->q->group_count : 0;
        int64_t *count = gang__zalloc(&s->mem, groups + 1, sizeof(*count));
        int64_t start_ns = r->first_ns + instance * r->period_ns + part->offset_ns;
        w = !count ? GANG_ENOMEM : start_ns < s->now_ns ? GANG_ENOFIT : GANG_OK;
        if (count)
            scale(stage, part->gangs, count);
        if (w == GANG_OK)
            w = place_part(s, r, part->stage, count, instance, start_ns,
                           start_ns + stage->duration_ns, true);
        gang__release(&s->mem, count);
    }
    gang__trial_drop(&t);
    if (w != GANG_OK)
        drop_instance(s, r, instance);
    if (s->calendar->planned > 0)
        gang__wake_calendar(s); /* plans are made again where they were */
    return w;
}

gang_result gang__reserve_place_later(gang_sched *s, struct gang__reserve *r)
{
    struct ask k;
    gang_result w = ask_make(s, r, &k) ? GANG_OK : GANG_ENOMEM;
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->when);
    withdraw_older(&t, r);
    if (w == GANG_OK)
        w = ask_whole(s, r, &k);
    gang__trial_drop(&t);
    ask_free(s, &k);
    if (w == GANG_OK && !keep_pieces(s, r, r->current, UINT32_MAX))
        w = GANG_ENOMEM;
    return w == GANG_OK || w == GANG_ENOMEM ? w : GANG_ENOFIT;
}

/* ---- the calls ----------------------------------------------------------------------------------- */

static gang_result take_in(gang_sched *s, const struct gang_reservation_spec *from,
                           struct gang_reservation_spec *spec, struct gang_error *error)
{
    if (!s || !from)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler, or no specification");
    if (s->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang_result r = gang__struct_in(spec, sizeof(*spec), sizeof(*spec), from, from->size);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "struct gang_reservation_spec is not set up");
    if (s->queues->slices) /* the timeline does not foretell turns */
        return gang__error(error, GANG_ENOTSUP, NULL,
                           "gangs of some queue take turns in time slices");
    return GANG_OK;
}

static gang_result out_of_memory(struct gang_error *error)
{
    return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
}

/* The record, with all that its placing needs; nothing is placed yet. `before`: the one that it is to become. */
static gang_result prepare(gang_sched *s, const struct gang_reservation_spec *spec,
                           const struct gang__reserve *before, struct gang__reserve **r,
                           struct gang_error *error)
{
    *r = NULL;
    if (!make_table(s))
        return out_of_memory(error);
    gang_result w = gang__reserve_new(s, spec, r, error);
    for (const struct gang__reserve *o = s->reserve.all->first; o && w == GANG_OK; o = o->next)
        if (o != before && strcmp(o->name, spec->name) == 0)
            w = gang__error(error, GANG_EEXIST, "name", "there is one of this name");
    struct gang__reserve_owner *owner = w == GANG_OK ? owner_get(s, (*r)->owner) : NULL;
    if (w == GANG_OK && (!owner || !gang__calendar_ready(s) || !gang__reserve_put_back(s)))
        w = out_of_memory(error);
    if (w == GANG_OK) {
        (*r)->usage = owner->usage;
        (*r)->arrival_ns = (*r)->arrival_ns > s->now_ns ? (*r)->arrival_ns : s->now_ns;
    } else if (*r) {
        gang__reserve_record_free(s, *r);
        *r = NULL;
    }
    return w;
}

/* A refused one leaves nothing, no timeline either where there was none. */
static gang_result refuse(gang_sched *s, struct gang__reserve *r, gang_result w, int64_t *when_ns)
{
    if (when_ns)
        *when_ns = s->reserve.all && w == GANG_ENOFIT ? s->reserve.all->got.next_ns : INT64_MAX;
    gang__reserve_record_free(s, r);
    s->reserve.placing = false;
    if (!gang__calendar_on(s))
        gang__calendar_free(s);
    return w;
}

static void link_last(gang_sched *s, struct gang__reserve *r)
{
    struct gang__reserve **at = &s->reserve.all->first;
    while (*at)
        at = &(*at)->next;
    *at = r;
    if (s->reserve.count++ == 0)
        gang__candidates_dissolve(s);
    s->reserve.all->magnetic += (r->flags & GANG_RESERVATION_MAGNETIC) != 0;
    s->reserve.all->rebin = true;
    gang__wake_calendar(s);
    gang__reserve_schedule(s);
}

/* The job that it is made for is its member. */
static void bind_job(gang_sched *s, struct gang__reserve *r)
{
    struct gang__job *job = r->job == GANG_ID_NONE ? NULL : gang__job_of(s, r->job);
    if (!job)
        return;
    job->reserve.named = r;
    gang__job_settle(s, job);
}

gang_result gang_reservation_add(gang_sched *sched, const struct gang_reservation_spec *spec,
                                 gang_reservation_id *id, int64_t *when_ns,
                                 struct gang_error *error)
{
    struct gang_reservation_spec t;
    struct gang__reserve *r = NULL;
    struct gang__reserve_view *tickets = NULL;
    if (id)
        *id = GANG_ID_NONE;
    if (when_ns)
        *when_ns = INT64_MAX;
    if (!id)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the id");
    gang_result w = take_in(sched, spec, &t, error);
    if (w != GANG_OK)
        return w;
    sched->reserve.placing = true;
    w = prepare(sched, &t, NULL, &r, error);
    if (w == GANG_OK)
        w = place_first(sched, r, t.until_ns, error);
    if (w == GANG_OK) {
        r->id = sched->reserve.all->last_id + 1;
        w = gang__reserve_view_make(sched, r, NULL, &tickets) ? GANG_OK : out_of_memory(error);
    }
    if (w != GANG_OK)
        return refuse(sched, r, w, when_ns);
    sched->reserve.all->last_id = *id = r->id;
    r->accepted = ++sched->reserve.all->accepted;
    link_last(sched, r);
    sched->reserve.placing = false;
    gang__reserve_view_set(sched, tickets);
    bind_job(sched, r);
    if (when_ns)
        *when_ns = r->piece->start_ns;
    return GANG_OK;
}

static void book_away(struct gang__reserve *r, bool away)
{
    const int64_t far = INT64_C(1) << 61;
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
        if (p->booking)
            gang__usage_move(r->usage, p->booking - 1, away ? far : p->start_ns,
                             away ? far + 1 : p->end_ns);
}

/* One that has begun lies from now on until its new end. */
static void go_on(gang_sched *s, const struct gang__reserve *old, struct gang__reserve *r)
{
    int64_t end_ns =
        gang__add_sat(gang__reserve_begin_of(old, old->current), r->stage[0].duration_ns);
    if (!old->begun)
        return;
    r->start_ns = r->arrival_ns = s->now_ns;
    r->stage[0].duration_ns = end_ns > s->now_ns ? end_ns - s->now_ns : 1;
    r->begun = r->noticed = true;
}

/* Jobs of the old one are the new one's, and what runs inside is looked at again: gang__reserve_keeps() has the last
 * word. Nobody is inside a flexible one. */
static void hand_over(gang_sched *s, struct gang__reserve *old, struct gang__reserve *r)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, all, n);
        bool may = gang__reserve_allows(s, r, job), named = job->reserve.named == old,
             inside = false;
        bool stays = may && !(r->flags & GANG_RESERVATION_FLEX);
        for (uint32_t i = 0; i < job->unit_count; i++) {
            struct gang__gang *u = &job->unit[i];
            if (u->reserve.inside_of != old)
                continue;
            gang__calendar_drop(s, u);
            gang__calendar_vacate(s, u);
            if (!stays)
                gang__reserve_keep_end(s, u);
            u->reserve.inside_of = stays ? r : NULL;
            u->reserve.until_ns = gang__reserve_end_of(r, r->current);
            gang__wake_holding(s, u);
            inside = true;
        }
        if (inside && job->state != GANG_JOB_ENDED)
            gang__timer_set(s, job); /* it may end sooner now */
        if (named)
            job->reserve.named = may ? r : NULL;
        if (named)
            gang__job_settle(s, job);
    }
    gang__reserve_empty(s, old);
    struct gang__reserve **at = &s->reserve.all->first;
    while (*at != old)
        at = &(*at)->next;
    r->next = old->next;
    *at = r;
    s->reserve.all->magnetic += (r->flags & GANG_RESERVATION_MAGNETIC) != 0;
    s->reserve.all->magnetic -= (old->flags & GANG_RESERVATION_MAGNETIC) != 0;
    s->reserve.all->rebin = true;
}

gang_result gang_reservation_change(gang_sched *sched, gang_reservation_id id,
                                    const struct gang_reservation_spec *spec, int64_t *when_ns,
                                    struct gang_error *error)
{
    struct gang_reservation_spec t;
    struct gang__reserve *r = NULL;
    struct gang__reserve_view *tickets = NULL;
    if (when_ns)
        *when_ns = INT64_MAX;
    gang_result w = take_in(sched, spec, &t, error);
    struct gang__reserve *old = w == GANG_OK ? gang__reserve_of(sched, id) : NULL;
    if (w == GANG_OK && !old)
        w = gang__error(error, GANG_ESTALE, NULL, "it is over, or never was");
    if (w != GANG_OK)
        return w;
    if (old->begun && (t.stage_count != 1 || t.period_ns))
        return gang__error(error, GANG_ENOTSUP, "stages",
                           "it has begun, and has more than one piece");
    w = prepare(sched, &t, old, &r, error);
    if (w != GANG_OK)
        return w;
    go_on(sched, old, r);
    r->id = old->id;
    struct gang__trial without;
    gang__trial_begin(&without, sched, sched->calendar->when);
    gang__reserve_withdraw_from(&without, old);
    book_away(old, true);
    w = place_first(sched, r, t.until_ns, error);
    gang__trial_drop(&without);
    book_away(old, false);
    if (w == GANG_OK)
        w = gang__reserve_view_make(sched, r, old, &tickets) ? GANG_OK : out_of_memory(error);
    if (w != GANG_OK)
        return refuse(sched, r, w, when_ns);
    r->accepted = ++sched->reserve.all->accepted;
    int64_t before_ns = gang__reserve_end_of(old, old->current);
    hand_over(sched, old, r);
    r->before_ns = before_ns;
    if (gang__calendar_sync(
            sched)) /* who does not lie inside any more is outside now, until then */
        r->before_ns = GANG__NEVER;
    gang__reserve_view_set(sched, tickets);
    gang__reserve_record_free(sched, old);
    bind_job(sched, r);
    gang__wake_calendar(sched);
    gang__reserve_schedule(sched);
    if (when_ns)
        *when_ns = r->piece->start_ns;
    return GANG_OK;
}
