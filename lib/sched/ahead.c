/* SPDX-License-Identifier: Apache-2.0 */
/* Planned starts, and who may start before them.
 *
 * As soon as some leaf backfills there is a timeline (plan/timeline.h): what each unit holds until its expected
 * end, and what is planned. Nodes of it are slots; those that are not up have nothing.
 *
 * A unit of such a leaf that cannot start gets a planned start, the earliest at which it fits beside all that is in
 * the timeline, if fewer than the leaf's depth have one. From then on nobody starts, from whatever leaf, who
 * would not leave room for it: where it would go is looked up in the timeline first. When somebody ends early,
 * leaves, or gives up his plan, the plans are *stale*: those of all such leaves have their turn again, in turn
 * order, and each that has a plan may only improve it, since its own stays where it is until it is found
 * another. So a plan moves later only when nodes go, when somebody is entitled to room that is made for him,
 * when somebody runs longer than expected, or when place refuses what amounts allow.
 *
 * What a unit holds changes in many places, all of which pass through the books: it is only noted there
 * (touched), which cannot fail, and put into the timeline before that is asked the next time. If that fails for
 * want of memory, nobody starts in this run who would have to ask.
 *
 * The order is that of Lifka, "The ANL/IBM SP Scheduling System", 1995 (EASY), and Mu'alem and Feitelson, IEEE
 * TPDS 12(6), 2001 (conservative). */
#include <stdlib.h>
#include <string.h>

#include "base/rcu.h"
#include "place/filter.h"
#include "place/request.h"
#include "plan/timeline.h"
#include "sched/cells.h"
#include "sched/state.h"

struct gang__ahead {
    struct gang__timeline *when; /* NULL: it could not be made */
    uint32_t end;                /* slots below are in it */
    uint64_t epoch, states, config;
    int64_t planned;    /* units that have a planned start */
    uint64_t failed_in; /* the run in which memory was short */
    bool stale;         /* plans are to be looked at again */
    bool plain;         /* all nodes are up: see gang__ahead_check() */
    struct gang__unit *touched;
    const struct gang__unit *starting; /* its gang is in the timeline already, as this: */
    gang_alloc_id started;
    struct gang__time_fit fit, other;
    struct gang__time_group *group; /* scratch, as all below */
    size_t groups, group_room;      /* those that earliest() asked for */
    struct gang__time_place *place;
    size_t places, place_room;
    uint32_t *group_of; /* of those that earliest() asked for: their groups in the request */
    size_t group_of_room;
    struct gang_placement *exact;
    size_t exact_room;
    uint64_t *mask, *part; /* nodes that may be used; those of a domain */
    size_t mask_room, part_room;
    int64_t *capacity;
    size_t capacity_room;
};

static bool plans(const struct gang__unit *u)
{
    return u->job->leaf->q->backfill != GANG_BACKFILL_NONE;
}

/* ---- noting ---------------------------------------------------------------------------------- */

static void touched_take(struct gang__unit *u)
{
    if (!u->touched_at)
        return;
    *u->touched_at = u->next_touched;
    if (u->next_touched)
        u->next_touched->touched_at = u->touched_at;
    u->touched_at = NULL;
}

void gang__ahead_touch(gang_sched *s, struct gang__unit *u)
{
    struct gang__ahead *a = s->ahead;
    if (!a || (u->alloc == GANG_ID_NONE && !u->leaves && !u->occupies && !u->touched_at))
        return;
    if (u == a->starting && u->alloc == a->started)
        return;
    a->stale = a->stale || u->occupies || u->touched_at;
    if (u->touched_at)
        return;
    u->next_touched = a->touched;
    u->touched_at = &a->touched;
    if (a->touched)
        a->touched->touched_at = &u->next_touched;
    a->touched = u;
}

void gang__ahead_upset(gang_sched *s)
{
    if (s->ahead)
        s->ahead->stale = true;
}

bool gang__ahead_waits(const gang_sched *s)
{
    return s->ahead && s->ahead->stale && s->ahead->failed_in != s->runs;
}

static void unplan(gang_sched *s, struct gang__unit *u)
{
    struct gang__ahead *a = s->ahead;
    if (!u->plan)
        return;
    gang__timeline_remove(a->when, u->plan - 1);
    u->plan = 0;
    u->planned_ns = 0;
    gang__release(&s->mem, u->plan_slot);
    u->plan_slot = NULL;
    u->plan_slots = 0;
    *u->planned_at = u->next_planned;
    if (u->next_planned)
        u->next_planned->planned_at = u->planned_at;
    u->job->leaf->planned_count--;
    a->planned--;
}

void gang__ahead_unplan(gang_sched *s, struct gang__unit *u)
{
    if (!u->plan)
        return;
    unplan(s, u);
    s->ahead->stale = true;
    gang__timer_set(s, u->job);
}

static void vacate(gang_sched *s, struct gang__unit *u)
{
    if (u->occupies)
        gang__timeline_remove(s->ahead->when, u->occupies - 1);
    u->occupies = 0;
}

void gang__ahead_forget(gang_sched *s, struct gang__unit *u)
{
    if (!s->ahead)
        return;
    touched_take(u);
    unplan(s, u);
    vacate(s, u);
    if (s->ahead->starting == u)
        s->ahead->starting = NULL;
}

void gang__ahead_due(gang_sched *s, const struct gang__job *job)
{
    for (uint32_t i = 0; s->ahead && i < job->unit_count; i++)
        if (job->unit[i].plan && job->unit[i].planned_ns <= s->now_ns)
            s->ahead->stale = true;
}

/* ---- what a unit takes, and until when ------------------------------------------------------- */

/* When its limit and its grace have passed; one that does not run yet starts at `start_ns`. */
static int64_t latest_end(const struct gang__job *job, int64_t start_ns)
{
    int64_t from = job->state == GANG_JOB_RUNNING ? job->started_ns : start_ns;
    return gang__add_sat(gang__add_sat(from, job->time_limit_ns), job->leaf->q->grace_ns);
}

/* How long it runs if it starts now: its time limit, and the grace in which it then stops. */
static int64_t estimate(const gang_sched *s, const struct gang__unit *u)
{
    const struct gang__job *job = u->job;
    if (job->time_limit_ns <= 0)
        return GANG__NEVER;
    int64_t end = latest_end(job, s->now_ns);
    if (end == INT64_MAX)
        return GANG__NEVER;
    return end > s->now_ns ? end - s->now_ns : 1;
}

enum { OVERRUN_NS = 1000000000 }; /* one that should have gone is looked for again after this */

static int64_t end_of(const gang_sched *s, const struct gang__unit *u)
{
    int64_t end = INT64_MIN;
    if (u->alloc != GANG_ID_NONE) {
        if (u->job->time_limit_ns <= 0)
            return GANG__NEVER;
        end = latest_end(u->job, u->started_ns);
    } else {
        for (const struct gang__leave *l = u->leaves; l; l = l->next)
            end = l->deadline_ns > end ? l->deadline_ns : end;
    }
    return end > s->now_ns ? end : gang__add_sat(s->now_ns, OVERRUN_NS);
}

static bool reserve_groups(gang_sched *s, size_t count)
{
    struct gang__ahead *a = s->ahead;
    return gang__grow(&s->mem, (void **)&a->group, &a->group_room, count, sizeof(*a->group));
}

/* Of its request: what the timeline counts of a task of each group. What it does not know (sites' kinds,
 * instances of profiles, memory of GPUs) place decides when it starts. */
static bool needs_of(gang_sched *s, const gang_request *q)
{
    struct gang__ahead *a = s->ahead;
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
        to->most = from->most_per_node < INT32_MAX ? from->most_per_node : 0;
    }
    return true;
}

static bool put_place(gang_sched *s, gang_node_id node, uint32_t group)
{
    struct gang__ahead *a = s->ahead;
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
static void merge_places(struct gang__ahead *a)
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

static struct gang__occupation occupation(const struct gang__ahead *a, const gang_request *q,
                                          int64_t end_ns, int64_t now_ns)
{
    return (struct gang__occupation){now_ns,   end_ns,    a->group, q->group_count,
                                     a->place, a->places, 0,        q->exclusive};
}

/* ---- what runs -------------------------------------------------------------------------------- */

struct holding {
    gang_sched *s;
    bool failed;
};

static int32_t hold_task(const struct gang_task *task, void *user)
{
    struct holding *h = user;
    struct gang__time_group *g = &h->s->ahead->group[task->group];
    g->need[GANG__FREE_CPU] = task->cpu_milli;
    g->need[GANG__FREE_MEMORY] = task->memory_bytes;
    g->need[GANG__FREE_GPU] = (int64_t)task->gpu_count * task->gpu_share;
    h->failed = h->failed || !put_place(h->s, task->node, (uint32_t)task->group);
    return h->failed;
}

/* What it holds goes into the timeline anew. */
static bool occupy(gang_sched *s, struct gang__unit *u, gang_alloc_id alloc, int64_t end_ns)
{
    struct gang__ahead *a = s->ahead;
    struct holding h = {s, false};
    const gang_request *q = gang__unit_request(u);
    uint32_t id;
    vacate(s, u);
    a->places = 0;
    if (alloc == GANG_ID_NONE)
        return true;
    if (!needs_of(s, q))
        return false;
    gang_result r = gang_alloc_each(s->cluster, alloc, hold_task, &h);
    if (h.failed || r == GANG_EBUSY || r == GANG_ENOMEM)
        return false;
    if (r != GANG_OK || a->places == 0)
        return true;
    merge_places(a);
    struct gang__occupation o = occupation(a, q, end_ns, s->now_ns);
    if (gang__timeline_add(a->when, &o, &id) != GANG_OK)
        return false;
    u->occupies = id + 1;
    return true;
}

static bool sync_touched(gang_sched *s)
{
    struct gang__ahead *a = s->ahead;
    while (a->touched) {
        struct gang__unit *u = a->touched;
        if (!occupy(s, u, gang__unit_holds(u), end_of(s, u))) {
            a->failed_in = s->runs;
            return false;
        }
        touched_take(u);
    }
    return true;
}

/* ---- making it -------------------------------------------------------------------------------- */

static void touch_all(gang_sched *s)
{
    for (struct gang__tree_link *n = gang__ordered_first(&s->by_id); n; n = gang__ordered_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, all, n);
        for (uint32_t i = 0; i < job->unit_count; i++)
            gang__ahead_touch(s, &job->unit[i]);
    }
    s->ahead->stale = true;
}

/* Nothing of the timeline is left in the units. */
static void clear_all(gang_sched *s)
{
    for (struct gang__tree_link *n = gang__ordered_first(&s->by_id); n; n = gang__ordered_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, all, n);
        for (uint32_t i = 0; i < job->unit_count; i++) {
            unplan(s, &job->unit[i]);
            vacate(s, &job->unit[i]);
        }
    }
    gang__timeline_free(s->ahead->when);
    s->ahead->when = NULL;
}

static void take_capacity(struct gang__ahead *a, const gang_snapshot *snapshot)
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

/* A timeline of the nodes as they are, with what runs. */
static bool make_anew(gang_sched *s)
{
    struct gang__ahead *a = s->ahead;
    struct gang__timeline *when;
    uint64_t epoch = gang__load(&s->cluster->epoch) + 1, states = gang__load(&s->cluster->states);
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return false;
    uint32_t end = s->scratch->end;
    if (!gang__grow(&s->mem, (void **)&a->capacity, &a->capacity_room,
                    (size_t)end * GANG__FREE_KINDS + 1, sizeof(*a->capacity)))
        return false;
    uint32_t was = a->end;
    a->end = end;
    take_capacity(a, s->scratch);
    if (gang__timeline_new(&s->mem, a->capacity, end, 0, s->now_ns, &when) != GANG_OK) {
        a->end = was;
        return false;
    }
    clear_all(s);
    a->when = when;
    a->epoch = epoch;
    a->states = states;
    touch_all(s);
    return true;
}

void gang__ahead_free(gang_sched *s)
{
    struct gang__ahead *a = s->ahead;
    if (!a)
        return;
    clear_all(s);
    while (a->touched)
        touched_take(a->touched);
    gang__time_fit_free(&a->fit, &s->mem);
    gang__time_fit_free(&a->other, &s->mem);
    void *const scratch[] = {a->group,    a->place,    a->mask, a->part,
                             a->capacity, a->group_of, a->exact};
    for (size_t i = 0; i < sizeof(scratch) / sizeof(scratch[0]); i++)
        gang__release(&s->mem, scratch[i]);
    gang__release(&s->mem, a);
    s->ahead = NULL;
}

/* Those who wait because of plans, or may have one, have their turn again. */
static void let_look(gang_sched *s)
{
    struct gang__bin *next;
    for (struct gang__bin *bin = s->blocked; bin; bin = next) {
        next = bin->next_all;
        if (bin->why == GANG_WAIT_PLANNED ||
            (bin->leaf->q->backfill != GANG_BACKFILL_NONE && bin->why == GANG_WAIT_ROOM))
            gang__turn_unblock(s, bin);
    }
}

static bool is_current(const gang_sched *s)
{
    const struct gang__ahead *a = s->ahead;
    return a->when && a->epoch == gang__load(&s->cluster->epoch) + 1 &&
           a->states == gang__load(&s->cluster->states);
}

void gang__ahead_refresh(gang_sched *s)
{
    if (!s->queues->backfills) {
        gang__ahead_free(s);
        return;
    }
    if (!s->ahead)
        s->ahead = gang__zalloc(&s->mem, 1, sizeof(*s->ahead));
    struct gang__ahead *a = s->ahead;
    if (!a) {
        s->no_memory = s->retry = true;
        return;
    }
    if (a->failed_in == s->runs)
        return;
    a->starting = NULL;
    if (!is_current(s) && !make_anew(s)) {
        a->failed_in = s->runs;
        s->no_memory = s->retry = true;
        return;
    }
    gang__timeline_advance(a->when, s->now_ns);
    if (a->config != s->config_count)
        touch_all(s); /* graces may be others */
    a->config = s->config_count;
    if (!sync_touched(s)) {
        s->no_memory = s->retry = true;
        return;
    }
    if (a->stale)
        let_look(s);
    a->stale = false;
}

/* ---- asking ----------------------------------------------------------------------------------- */

static void mask_put(uint64_t *mask, uint32_t slot)
{
    mask[slot / 64] |= UINT64_C(1) << (slot % 64);
}

/* Nodes on which some group may run at all. */
static bool make_mask(gang_sched *s, const gang_request *q)
{
    struct gang__ahead *a = s->ahead;
    size_t words = a->end / 64 + 1;
    if (!gang__grow(&s->mem, (void **)&a->mask, &a->mask_room, words, sizeof(*a->mask)) ||
        !gang__grow(&s->mem, (void **)&a->part, &a->part_room, words, sizeof(*a->part)))
        return false;
    memset(a->mask, 0, words * sizeof(*a->mask));
    gang__rcu_enter();
    struct gang__plan look;
    memset(&look, 0, sizeof(look));
    look.c = s->cluster;
    look.q = q;
    look.modes = gang__modes_now(s->cluster);
    for (uint32_t slot = 0; slot < a->end; slot++) {
        const struct gang__node *node = gang__node_at(s->cluster, slot);
        struct gang__misfit misfit;
        bool may = false;
        for (uint32_t g = 0; node && g < q->group_count && !may; g++)
            may = gang__node_matches(&look, &q->group[g], node, &misfit);
        if (may)
            mask_put(a->mask, slot);
    }
    gang__rcu_leave();
    return true;
}

/* Those of them in a domain. */
static void make_part(gang_sched *s, int32_t level, uint32_t index)
{
    struct gang__ahead *a = s->ahead;
    memset(a->part, 0, (a->end / 64 + 1) * sizeof(*a->part));
    gang__rcu_enter();
    for (uint32_t slot = 0; slot < a->end; slot++) {
        const struct gang__node *node =
            a->mask[slot / 64] >> (slot % 64) & 1 ? gang__node_at(s->cluster, slot) : NULL;
        if (node && node->domain[level] == index)
            mask_put(a->part, slot);
    }
    gang__rcu_leave();
}

/* In each domain of the level that it is to lie in: the earliest. */
static gang_result earliest_in(gang_sched *s, struct gang__time_ask *ask, int32_t level,
                               int64_t from_ns)
{
    struct gang__ahead *a = s->ahead;
    gang_result best = GANG_ENEVER;
    uint32_t count = gang__domain_count(s->cluster, (uint32_t)level);
    ask->nodes = a->part;
    for (uint32_t i = 0; i < count; i++) {
        make_part(s, level, gang__domain_at(s->cluster, (uint32_t)level, i)->index);
        gang_result r = gang__timeline_earliest(a->when, ask, from_ns, &a->other);
        if (r != GANG_OK && r != GANG_ENEVER)
            return r;
        if (r == GANG_OK && (best != GANG_OK || a->other.start_ns < a->fit.start_ns)) {
            struct gang__time_fit swap = a->fit;
            a->fit = a->other;
            a->other = swap;
            best = GANG_OK;
        }
    }
    return best;
}

/* When its gang fits, and where (a->fit), beside all that is there and planned. */
static gang_result earliest(gang_sched *s, const struct gang__unit *u, int64_t from_ns)
{
    struct gang__ahead *a = s->ahead;
    const gang_request *q = gang__unit_request(u);
    struct gang__time_ask ask = {NULL, 0, estimate(s, u), NULL, q->exclusive};
    if (!needs_of(s, q) || !make_mask(s, q) ||
        !gang__grow(&s->mem, (void **)&a->group_of, &a->group_of_room, q->group_count,
                    sizeof(*a->group_of)))
        return GANG_ENOMEM;
    ask.group = a->group; /* it may have grown */
    ask.nodes = a->mask;
    for (uint32_t g = 0; g < q->group_count; g++) { /* those of which none must start come later */
        a->group[ask.group_count] = a->group[g];
        a->group[ask.group_count].count = u->ask->gang_of[g];
        a->group_of[ask.group_count] = g;
        ask.group_count += u->ask->gang_of[g] > 0;
    }
    if (ask.group_count == 0) /* the last one, for whatever comes first */
        a->group[ask.group_count++].count = 1;
    a->groups = ask.group_count;
    int32_t same = q->same != GANG__NO_LEVEL ? q->same
                   : q->group_count == 1     ? q->group[0].same
                                             : (int32_t)GANG__NO_LEVEL;
    if (same >= 0 && same < GANG_MAX_LEVELS)
        return earliest_in(s, &ask, same, from_ns);
    return gang__timeline_earliest(a->when, &ask, from_ns, &a->fit);
}

/* ---- planning --------------------------------------------------------------------------------- */

/* The nodes it counts on, to be told. */
static bool note_slots(gang_sched *s, struct gang__unit *u)
{
    const struct gang__time_fit *fit = &s->ahead->fit;
    u->plan_slot = gang__zalloc(&s->mem, fit->count + 1, sizeof(*u->plan_slot));
    if (!u->plan_slot)
        return false;
    for (size_t i = 0; i < fit->count; i++)
        if (i == 0 || fit->place[i].node != fit->place[i - 1].node)
            u->plan_slot[u->plan_slots++] = fit->place[i].node;
    return true;
}

/* What earliest() has found becomes its plan. a->group is still as that left it. */
static gang_result plan_it(gang_sched *s, struct gang__unit *u)
{
    struct gang__ahead *a = s->ahead;
    const gang_request *q = gang__unit_request(u);
    struct gang__qs *leaf = u->job->leaf;
    struct gang__occupation o = {a->fit.start_ns,
                                 gang__add_sat(a->fit.start_ns, estimate(s, u)),
                                 a->group,
                                 a->groups,
                                 a->fit.place,
                                 a->fit.count,
                                 0,
                                 q->exclusive};
    uint32_t id;
    if (!note_slots(s, u))
        return GANG_ENOMEM;
    gang_result r = gang__timeline_add(a->when, &o, &id);
    if (r != GANG_OK) {
        gang__release(&s->mem, u->plan_slot);
        u->plan_slot = NULL;
        u->plan_slots = 0;
        return r;
    }
    u->plan = id + 1;
    u->planned_ns = a->fit.start_ns;
    u->next_planned = leaf->planned;
    u->planned_at = &leaf->planned;
    if (leaf->planned)
        leaf->planned->planned_at = &u->next_planned;
    leaf->planned = u;
    leaf->planned_count++;
    a->planned++;
    gang__timer_set(s, u->job);
    return GANG_OK;
}

/* It cannot start now, and has a plan from now on if it may have one (*why says). GANG_ENOFIT; GANG_ENOMEM. */
static gang_result plan_later(gang_sched *s, struct gang__unit *u, int32_t *why)
{
    struct gang__ahead *a = s->ahead;
    const struct gang__qs *leaf = u->job->leaf;
    int64_t unused[GANG__FREE_DIMS];
    *why = a->planned > 0 && plans(u) ? GANG_WAIT_PLANNED : GANG_WAIT_ROOM;
    if (!plans(u) || leaf->planned_count >= leaf->q->plan_depth)
        return GANG_ENOFIT;
    gang_result r = earliest(s, u, s->now_ns);
    if (r == GANG_OK && a->fit.start_ns == s->now_ns) { /* place refuses what amounts allow */
        int64_t next_ns = gang__timeline_sum_at(a->when, s->now_ns, unused);
        r = next_ns == GANG__NEVER ? GANG_ENEVER : earliest(s, u, next_ns);
    }
    if (r == GANG_OK)
        r = plan_it(s, u);
    if (r == GANG_OK)
        *why = GANG_WAIT_PLANNED;
    return r == GANG_ENOMEM ? r : GANG_ENOFIT;
}

/* ---- starting between plans -------------------------------------------------------------------- */

/* All but the nodes that the timeline gives are closed. */
static void close_others(gang_sched *s)
{
    struct gang__ahead *a = s->ahead;
    memset(a->part, 0, (a->end / 64 + 1) * sizeof(*a->part));
    for (size_t i = 0; i < a->fit.count; i++)
        mask_put(a->part, a->fit.place[i].node);
    for (gang_node_id n = gang_snapshot_node_next(s->scratch, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_snapshot_node_next(s->scratch, n)) {
        uint32_t slot = (uint32_t)n;
        if (slot >= a->end || !(a->part[slot / 64] >> (slot % 64) & 1))
            (void)!gang_snapshot_set_state(s->scratch, n, GANG_NODE_DOWN);
    }
}

/* What it would have at these places until it ends at the latest; its arrays are scratch. False: out of memory. */
static bool lay_out(gang_sched *s, const struct gang__unit *u, const struct gang_placement *place,
                    size_t count, struct gang__occupation *o)
{
    struct gang__ahead *a = s->ahead;
    const gang_request *q = gang__unit_request(u);
    if (!needs_of(s, q))
        return false;
    a->places = 0;
    for (size_t i = 0; i < count; i++)
        if (!put_place(s, place[i].node, (uint32_t)place[i].group))
            return false;
    merge_places(a);
    *o = occupation(a, q, gang__add_sat(s->now_ns, estimate(s, u)), s->now_ns);
    return true;
}

/* Do these places leave room for all plans? GANG_OK; GANG_ENOFIT; GANG_ENOMEM. */
static gang_result leaves_plans(gang_sched *s, const struct gang__unit *u,
                                const struct gang_placement *place, size_t count)
{
    struct gang__occupation o;
    if (!lay_out(s, u, place, count, &o))
        return GANG_ENOMEM;
    return gang__timeline_fits(s->ahead->when, &o) ? GANG_OK : GANG_ENOFIT;
}

enum { MOST_MOVED = 16 }; /* plans that move to other nodes for one who starts */

/* A plan is found another place beside what was `added`, at its time; if there is none, that is taken out (GANG_ENOFIT,
 * or GANG_ENOMEM), and the plan is made again. */
static gang_result move_plan(gang_sched *s, struct gang__unit *w, uint32_t added)
{
    struct gang__ahead *a = s->ahead;
    int64_t was_ns = w->planned_ns;
    unplan(s, w);
    gang_result r = earliest(s, w, was_ns);
    if (r == GANG_OK && a->fit.start_ns == was_ns && (r = plan_it(s, w)) == GANG_OK)
        return GANG_OK;
    gang__timeline_remove(a->when, added);
    if (r != GANG_ENOMEM)
        r = earliest(s, w, was_ns);
    if (r == GANG_OK)
        r = plan_it(s, w);
    return r == GANG_ENOMEM ? r : GANG_ENOFIT;
}

/* Could the plans go elsewhere, at the same times? The gang is added where it would be; each plan in turn sees it,
 * and the other plans. */
static gang_result move_plans(gang_sched *s, const struct gang__unit *u,
                              const struct gang_placement *place, size_t count)
{
    struct gang__ahead *a = s->ahead;
    struct gang__unit *list[MOST_MOVED];
    struct gang__occupation o;
    uint32_t added;
    size_t n = 0;
    if (a->planned > MOST_MOVED)
        return GANG_ENOFIT;
    if (!lay_out(s, u, place, count, &o))
        return GANG_ENOMEM;
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (struct gang__unit *w = s->qs[i]->planned; w; w = w->next_planned)
            if (w != u)
                list[n++] = w;
    if (gang__timeline_add(a->when, &o, &added) != GANG_OK)
        return GANG_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        gang_result r = list[i]->planned_ns < o.end_ns ? move_plan(s, list[i], added) : GANG_OK;
        if (r != GANG_OK)
            return r;
    }
    gang__timeline_remove(a->when, added);
    return GANG_OK;
}

static gang_result adopt_told(gang_sched *s, const struct gang__unit *u, gang_alloc_id *id)
{
    return gang_alloc_adopt(s->worker, u->ask->q, s->told.place, (int64_t)s->told.count, id, NULL);
}

/* Where it likes best now, whatever is planned (sched.told); or, `picky`, on the nodes that the timeline gave. */
static gang_result place_now(gang_sched *s, const struct gang__unit *u, bool picky)
{
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return GANG_ENOMEM;
    if (picky)
        close_others(s);
    gang_result r = gang__cells_keep(s, u, s->scratch);
    return r == GANG_OK ? gang__snapshot_place_told(s->worker, s->scratch, u->ask->q, &s->told) : r;
}

/* Task by task where the timeline has it, where nothing but amounts and nodes matters. */
static gang_result adopt_exactly(gang_sched *s, const struct gang__unit *u, gang_alloc_id *id)
{
    struct gang__ahead *a = s->ahead;
    const gang_request *q = gang__unit_request(u);
    int64_t count = 0;
    if (!q->plain || q->social || q->exclusive || q->group[0].profile || q->group[0].model_count ||
        gang__cells_concern(s, u))
        return GANG_ENOFIT;
    for (size_t i = 0; i < a->fit.count; i++)
        for (int64_t t = 0; t < a->fit.place[i].tasks; t++) {
            const struct gang__node *node = gang__snapshot_node(s->scratch, a->fit.place[i].node);
            if (!node || !gang__grow(&s->mem, (void **)&a->exact, &a->exact_room, (size_t)count + 1,
                                     sizeof(*a->exact)))
                return node ? GANG_ENOMEM : GANG_ENOFIT;
            struct gang_placement *p = &a->exact[count++];
            *p = (struct gang_placement)GANG_PLACEMENT_INIT;
            p->group = (int32_t)a->group_of[a->fit.place[i].group];
            p->node = node->id;
            p->any_devices = 1;
        }
    return gang_alloc_adopt(s->worker, u->ask->q, a->exact, count, id, NULL);
}

/* Where it likes best, if that leaves room for the plans; else on the nodes that the timeline gave. */
static gang_result alloc_between(gang_sched *s, struct gang__unit *u, gang_alloc_id *id)
{
    gang_result r = GANG_OK;
    for (int picky = 0; picky < 2; picky++) {
        r = place_now(s, u, picky);
        if (r == GANG_OK)
            r = leaves_plans(s, u, s->told.place, s->told.count);
        if (r == GANG_OK)
            return adopt_told(s, u, id);
        if (r != GANG_ENOFIT)
            return r;
    }
    return adopt_exactly(s, u, id);
}

/* Is so much free at this moment, over all nodes? */
static bool suffices_now(const gang_sched *s, const struct gang__unit *u)
{
    const struct gang__ahead *a = s->ahead;
    int64_t unused[GANG__FREE_DIMS];
    (void)gang__timeline_sum_at(a->when, s->now_ns, unused);
    for (uint32_t i = 0; i < u->ask->gang_count; i++) {
        const struct gang__take *t = &u->ask->gang[i];
        const struct gang__dim *d = &s->queues->dim[t->dim];
        int k = d->partition                  ? -1
                : d->kind == GANG_KIND_CPU    ? GANG__FREE_CPU
                : d->kind == GANG_KIND_MEMORY ? GANG__FREE_MEMORY
                : d->kind == GANG_KIND_GPU    ? GANG__FREE_GPU
                                              : -1;
        if (k >= 0 && t->amount > unused[k])
            return false;
    }
    return true;
}

/* The plans, as they lie, leave no room for it: perhaps they do elsewhere. */
static gang_result alloc_moving(gang_sched *s, struct gang__unit *u, gang_alloc_id *id)
{
    if (s->ahead->planned > MOST_MOVED || !suffices_now(s, u))
        return GANG_ENOFIT;
    gang_result r = place_now(s, u, false);
    if (r == GANG_OK)
        r = move_plans(s, u, s->told.place, s->told.count);
    return r == GANG_OK ? adopt_told(s, u, id) : r;
}

/* Is it only for plans that it does not start? */
static bool has_room(gang_sched *s, const struct gang__unit *u)
{
    return gang_snapshot_take(s->worker, s->scratch) == GANG_OK &&
           gang__snapshot_fits(s->worker, s->scratch, u->ask->q) == GANG_OK;
}

bool gang__ahead_lacks_room(gang_sched *s, const struct gang__unit *u)
{
    return u->plan && !u->places && !has_room(s, u);
}

static gang_result start_now(gang_sched *s, struct gang__unit *u, gang_alloc_id *id, int32_t *why)
{
    if (s->ahead->planned == 0)
        return gang__alloc_gang(s, u, id, why);
    if (u->places) {
        gang_result r = leaves_plans(s, u, u->places, (size_t)u->place_count);
        *why = GANG_WAIT_PLANNED;
        return r == GANG_OK ? gang__alloc_gang(s, u, id, why) : r;
    }
    gang_result r = earliest(s, u, s->now_ns);
    if (r == GANG_OK && s->ahead->fit.start_ns == s->now_ns)
        return alloc_between(s, u, id);
    return r == GANG_ENOMEM ? r : GANG_ENOFIT;
}

/* ---- who was planned and is not among the first any more ---------------------------------------- */

/* Of a leaf that plans for its first ones alone, the plans of those behind `u` do not bind it. They are taken out,
 * and listed. */
static struct gang__unit *set_aside(gang_sched *s, const struct gang__unit *u)
{
    struct gang__unit *list = NULL, *next;
    const struct gang__queue *q = u->job->leaf->q;
    for (struct gang__unit *w = u->job->leaf->planned; w; w = next) {
        next = w->next_planned;
        if (q->backfill != GANG_BACKFILL_EASY || gang__unit_before(u, w, q->order) >= 0)
            continue;
        unplan(s, w);
        struct gang__unit **at = &list;
        while (*at && gang__unit_before(*at, w, q->order) < 0)
            at = &(*at)->next_planned;
        w->next_planned = *at;
        *at = w;
    }
    return list;
}

/* They are planned anew at once, before anybody else has his turn, as far as the depth goes; the others have their
 * turn again. */
static bool take_back(gang_sched *s, struct gang__unit *list)
{
    bool done = true;
    while (list) {
        struct gang__unit *w = list;
        int32_t why = 0;
        list = w->next_planned;
        done = done && plan_later(s, w, &why) != GANG_ENOMEM;
        if (!w->plan && w->bin)
            gang__turn_unblock(s, w->bin);
    }
    return done;
}

static gang_result fail(gang_sched *s)
{
    s->ahead->failed_in = s->runs;
    return GANG_ENOMEM;
}

/* What it got is in the timeline before anybody else looks there. */
static gang_result enter(gang_sched *s, struct gang__unit *u, gang_alloc_id id)
{
    s->ahead->starting = u;
    s->ahead->started = id;
    if (occupy(s, u, id, gang__add_sat(s->now_ns, estimate(s, u))))
        return GANG_OK;
    vacate(s, u);
    (void)!gang_alloc_free(s->worker, id);
    return GANG_ENOMEM;
}

/* It does not start, as the plans lie: it gets one itself, if it may, and with that in its place looks whether others
 * could make room. */
static gang_result wait_or_move(gang_sched *s, struct gang__unit *u, gang_alloc_id *id,
                                int32_t *why)
{
    bool bound = s->ahead->planned > 0;
    gang_result r = plan_later(s, u, why);
    if (r == GANG_ENOFIT && s->ahead->planned > (u->plan != 0))
        r = alloc_moving(s, u, id);
    if (r == GANG_ENOFIT && bound && s->ahead->planned == 0) /* nothing is in its way any more */
        r = gang__alloc_gang(s, u, id, why);
    if (r == GANG_OK)
        unplan(s, u);
    else if (r == GANG_ENOFIT && !plans(u) && s->ahead->planned > 0 && has_room(s, u))
        *why = GANG_WAIT_PLANNED;
    return r;
}

/* What it takes of the cluster, in millionths, of the kind of which it takes most. */
static int64_t part_of(const gang_sched *s, const struct gang__unit *u)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < u->ask->gang_count; i++) {
        const struct gang__take *t = &u->ask->gang[i];
        int64_t of = s->total[t->dim];
        int64_t part = of > 0 ? gang__mul_div(t->amount, GANG_WHOLE, of) : 0;
        most = part > most ? part : most;
    }
    return most;
}

bool gang__ahead_defer(gang_sched *s, struct gang__unit *u)
{
    const struct gang__qs *leaf = u->job->leaf;
    const struct gang__queue *q = leaf->q;
    int64_t key;
    if (q->backfill != GANG_BACKFILL_EASY || q->backfill_order == GANG_BACKFILL_ORDER_LEAF ||
        u->bin->late || u->bin->grower || u->plan || leaf->planned_count < q->plan_depth)
        return false;
    for (const struct gang__unit *w = leaf->planned; w; w = w->next_planned)
        if (gang__unit_before(u, w, q->order) < 0)
            return false; /* it is one of the first itself */
    switch (q->backfill_order) {
    case GANG_BACKFILL_ORDER_SHORTEST:
        key = estimate(s, u);
        break;
    case GANG_BACKFILL_ORDER_WIDEST:
        key = -part_of(s, u);
        break;
    default:
        key = gang__mul_div(part_of(s, u), estimate(s, u), GANG_WHOLE);
    }
    gang__turn_late(s, u->bin, key);
    return true;
}

gang_result gang__ahead_alloc(gang_sched *s, struct gang__unit *u, gang_alloc_id *id, int32_t *why)
{
    struct gang__ahead *a = s->ahead; /* NULL: there was no memory for it */
    *why = GANG_WAIT_ROOM;
    if (!a || a->failed_in == s->runs || !a->when || !sync_touched(s))
        return GANG_ENOMEM;
    unplan(s, u);
    struct gang__unit *aside = set_aside(s, u);
    gang_result r = start_now(s, u, id, why);
    if ((r == GANG_ENOFIT || r == GANG_ENEVER) && !u->places && *why != GANG_WAIT_CELLS)
        r = wait_or_move(s, u, id, why);
    if (r == GANG_OK)
        r = enter(s, u, *id);
    if (!take_back(s, aside) && r != GANG_OK)
        r = GANG_ENOMEM;
    return r == GANG_ENOMEM ? fail(s) : r;
}

bool gang__ahead_may_grow(gang_sched *s, const struct gang__unit *u)
{
    const struct gang__ahead *a = s->ahead;
    if (!a || a->planned == 0)
        return true;
    int64_t end_ns = end_of(s, u);
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (const struct gang__unit *w = s->qs[i]->planned; w; w = w->next_planned)
            if (w->planned_ns < end_ns)
                return false;
    return true;
}

void gang__ahead_over(gang_sched *s)
{
    if (s->ahead)
        s->ahead->starting = NULL;
}

/* ---- audit ------------------------------------------------------------------------------------- */

struct leftover {
    gang_cluster *cluster;
    int64_t *left;
};

/* Not one on a node that was removed meanwhile, which counts no more. */
static int32_t subtract_task(const struct gang_task *task, void *user)
{
    struct leftover *sum = user;
    struct gang_node_info info = {.size = sizeof(info)};
    if (gang_node_get(sum->cluster, task->node, &info) != GANG_OK || info.state != GANG_NODE_UP)
        return 0;
    sum->left[GANG__FREE_CPU] -= task->cpu_milli;
    sum->left[GANG__FREE_MEMORY] -= task->memory_bytes;
    sum->left[GANG__FREE_GPU] -= (int64_t)task->gpu_count * task->gpu_share;
    return 0;
}

/* What is free at this moment, by the timeline and by what is held. */
static gang_result check_free(gang_sched *s, struct gang_error *error)
{
    static const char *const word[] = {"cpu", "memory", "gpu"};
    int64_t unused[GANG__FREE_DIMS], left[GANG__FREE_KINDS] = {0, 0, 0};
    struct leftover sum = {s->cluster, left};
    struct gang__ahead *a = s->ahead;
    for (uint32_t slot = 0; slot < a->end; slot++)
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            left[k] += a->capacity[(size_t)slot * GANG__FREE_KINDS + (size_t)k];
    for (struct gang__tree_link *n = gang__ordered_first(&s->by_id); n; n = gang__ordered_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, all, n);
        for (uint32_t i = 0; i < job->unit_count; i++) {
            const struct gang__unit *u = &job->unit[i];
            gang_alloc_id held = gang__unit_holds(u);
            /* One that is past its end, in a run that was cut short, may be counted or not. */
            if (held == GANG_ID_NONE || end_of(s, u) == gang__add_sat(s->now_ns, OVERRUN_NS))
                continue;
            gang_result r = gang_alloc_each(s->cluster, held, subtract_task, &sum);
            if (r != GANG_OK)
                return gang__error(error, r, "plan", "%s", gang_strerror(r));
        }
    }
    (void)gang__timeline_sum_at(a->when, s->now_ns, unused);
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        if (unused[k] > left[k])
            return gang__error(error, GANG_EINVAL, "plan",
                               "%lld of %s is said to be free, and %lld is", (long long)unused[k],
                               word[k], (long long)left[k]);
    return GANG_OK;
}

gang_result gang__ahead_check(gang_sched *s, struct gang_error *error)
{
    struct gang__ahead *a = s->ahead;
    int64_t planned = 0;
    bool whole = false, undone = false;
    if (!a)
        return GANG_OK;
    for (struct gang__tree_link *n = gang__ordered_first(&s->by_id); n; n = gang__ordered_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, all, n);
        for (uint32_t i = 0; i < job->unit_count; i++) {
            const struct gang__unit *u = &job->unit[i];
            bool holds = gang__unit_holds(u) != GANG_ID_NONE;
            whole = whole || gang__unit_request(u)->exclusive;
            planned += u->plan != 0;
            undone = undone || job->undone;
            if (u->plan && (!u->bin || !plans(u) || holds))
                return gang__error(error, GANG_EINVAL, "plan",
                                   "job %llu has a planned start and does not wait for one",
                                   (unsigned long long)job->id);
            if (!u->touched_at && u->occupies && !holds)
                return gang__error(error, GANG_EINVAL, "plan", "job %llu holds nothing of its part",
                                   (unsigned long long)job->id);
            if (!u->touched_at && !u->occupies && u->alloc != GANG_ID_NONE && u->tasks > 0)
                return gang__error(error, GANG_EINVAL, "plan", "job %llu runs and has no part",
                                   (unsigned long long)job->id);
        }
    }
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__qs *q = s->qs[i];
        int64_t count = 0;
        for (const struct gang__unit *u = q->planned; u; u = u->next_planned)
            count++;
        planned -= count;
        if (count != q->planned_count || count > q->q->plan_depth)
            return gang__error(error, GANG_EINVAL, q->q->name, "%lld jobs have planned starts",
                               (long long)count);
    }
    if (planned != 0)
        return gang__error(error, GANG_EINVAL, "plan", "a planned start is of no queue");
    bool asked = a->when && !a->touched && a->plain && !whole && !undone && is_current(s);
    return asked ? check_free(s, error) : GANG_OK;
}
