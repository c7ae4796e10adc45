/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job waits: every gate that it would have to pass is asked anew, with its numbers. First
 * comes what keeps it from being tried at all, then those for whom it waits, then what can never
 * be, then what stopped it when it was tried last, then the rest. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/request/request.h"
#include "sched/cycle/cycle.h"
#include "sched/intake/intake.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/bypass.h"
#include "sched/order/wait_order.h"
#include "sched/record/record.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/usage/usage.h"

enum rank { RANK_HELD, RANK_CLAIM, RANK_NEVER, RANK_LAST, RANK_OTHER, RANK_TURN };

struct reason {
    struct gang_wait wait;
    enum rank rank;
    const struct gang__queue_state *queue; /* NULL: none */
    const char *group;                     /* NULL: none */
    char text[512];
};

struct list {
    gang_sched *s;
    struct gang__gang *unit; /* that is being asked about */
    struct reason *reason;
    size_t count, room;
    bool failed;
};

/* ---- words ----------------------------------------------------------------------------------- */

static const char *word_of_class(int32_t cls)
{
    static const char *const word[] = {"not now", "never", "held", "policy"};
    return word[cls];
}

static const char *word_of_reason(int32_t reason)
{
    static const char *const word[] = {
        "",          "capacity", "limit",  "guarantee", "user-limit", "max-running", "hold",
        "after",     "queue",    "behind", "back-off",  "victims",    "cells",       "lending",
        "not-tried", "planned",  "begin",  "starved",   "slice",      "reservation"};
    return word[reason];
}

static const char *word_of_state(int32_t state)
{
    static const char *const word[] = {"pending", "running", "stopping", "suspended", "ended"};
    return word[state];
}

struct words {
    char s[64];
};

/* A number of thousandths, with no more digits than it has. */
static struct words milli(int64_t amount, const char *unit)
{
    struct words w;
    int n = snprintf(w.s, sizeof(w.s), "%" PRId64, amount / 1000);
    if (amount % 1000) {
        n += snprintf(w.s + n, sizeof(w.s) - (size_t)n, ".%03d", (int)(amount % 1000));
        while (w.s[n - 1] == '0')
            w.s[--n] = 0;
    }
    snprintf(w.s + n, sizeof(w.s) - (size_t)n, "%s%s", *unit ? " " : "", unit);
    return w;
}

static struct words number(int32_t kind, int64_t amount)
{
    const int64_t gib = INT64_C(1) << 30;
    struct words w;
    if (kind == GANG_KIND_CPU || kind == GANG_KIND_GPU)
        return milli(amount, "");
    if (kind == GANG_KIND_MEMORY && amount > 0 && amount < gib)
        return milli((amount >> 10) * 1000 >> 10, "MiB");
    if (kind == GANG_KIND_MEMORY)
        return milli((amount >> 20) * 1000 >> 10, "GiB");
    snprintf(w.s, sizeof(w.s), "%" PRId64, amount);
    return w;
}

static bool is_one(int32_t kind, int64_t amount)
{
    return kind != GANG_KIND_MEMORY &&
           amount == (kind == GANG_KIND_CPU || kind == GANG_KIND_GPU ? 1000 : 1);
}

/* "8 GPUs", "0.5 cores", "12 GiB of memory", "3 licences" */
static void amount_of(const gang_sched *s, int32_t kind, int64_t amount, char *text, size_t room)
{
    const char *noun = kind == GANG_KIND_CPU      ? amount == 1000 ? "core" : "cores"
                       : kind == GANG_KIND_GPU    ? amount == 1000 ? "GPU" : "GPUs"
                       : kind == GANG_KIND_MEMORY ? "of memory"
                                                  : s->cluster->nodes.kind[kind].name;
    snprintf(text, room, "%s %s", number(kind, amount).s, noun);
}

/* ---- the list -------------------------------------------------------------------------------- */

static struct reason *add(struct list *l, int32_t why, int32_t cls,
                          const struct gang__queue_state *queue)
{
    if (!gang__grow(&l->s->mem, (void **)&l->reason, &l->room, l->count + 1, sizeof(*l->reason))) {
        l->failed = true;
        return NULL;
    }
    struct reason *r = &l->reason[l->count++];
    const struct gang__wait_class *bin = l->unit->order.wait_class;
    memset(r, 0, sizeof(*r));
    r->wait.size = sizeof(r->wait);
    r->wait.reason = why;
    r->wait.category = cls;
    r->wait.kind = r->wait.group = -1;
    r->wait.queue = queue && queue->q ? queue->q->id : GANG_ID_NONE;
    r->queue = queue && queue->q ? queue : NULL;
    r->rank = cls == GANG_WAIT_CATEGORY_NEVER                               ? RANK_NEVER
              : bin && bin->state == GANG__CLASS_BLOCKED && bin->why == why ? RANK_LAST
                                                                            : RANK_OTHER;
    return r;
}

static void say(struct reason *r, const char *fmt, ...) GANG__PRINTF(2, 3);
static void say(struct reason *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->text, sizeof(r->text), fmt, args);
    va_end(args);
}

static bool has(const struct list *l, int32_t why)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->reason[i].wait.reason == why)
            return true;
    return false;
}

static struct reason *add_held(struct list *l, int32_t why)
{
    struct reason *r = add(l, why, GANG_WAIT_CATEGORY_HELD, NULL);
    if (r)
        r->rank = RANK_HELD;
    return r;
}

/* ---- held ------------------------------------------------------------------------------------ */

static int32_t group_in_job(const struct gang__gang *u, uint32_t group)
{
    return u->group_of ? u->group_of[group] : (int32_t)group;
}

static const char *name_of_group(const struct gang__job *job, int32_t group)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        for (uint32_t g = 0; g < gang__gang_request(&job->gang[i])->group_count; g++)
            if (group_in_job(&job->gang[i], g) == group)
                return gang__gang_request(&job->gang[i])->group[g].name;
    return "";
}

static const char *until_when(int32_t when)
{
    return when == GANG_AFTER_START ? "start" : when == GANG_AFTER_END ? "end" : "succeed";
}

/* Groups of the unit that wait for others of the job. */
static void tell_group_after(struct list *l)
{
    const struct gang__gang *u = l->unit;
    const struct gang__job *job = u->job;
    for (size_t i = 0; i < job->group_after_count; i++)
        for (uint32_t g = 0; g < gang__gang_request(u)->group_count; g++) {
            const struct gang_group_after *after = &job->group_after[i];
            if (after->group != group_in_job(u, g))
                continue;
            struct reason *r = add_held(l, GANG_WAIT_AFTER);
            if (!r)
                return;
            r->wait.group = after->group;
            r->group = name_of_group(job, after->group);
            say(r, "group \"%s\" waits for the tasks of group \"%s\" to %s", r->group,
                name_of_group(job, after->after), until_when(after->when));
        }
}

static void tell_after(struct list *l)
{
    const struct gang__job *job = l->unit->job;
    gang_job_id first = gang__job_waits_for(l->s, job);
    int32_t when = GANG_AFTER_END;
    for (size_t i = 0; i < job->after_count; i++)
        if (job->after[i].job == first)
            when = job->after[i].when;
    if (first == GANG_ID_NONE) {
        tell_group_after(l);
        return;
    }
    struct reason *r = add_held(l, GANG_WAIT_AFTER);
    if (!r)
        return;
    r->wait.blocker = first;
    say(r, "it waits for job %" PRIu64 " to %s", first, until_when(when));
}

static void tell_held(struct list *l)
{
    const struct gang__job *job = l->unit->job;
    struct reason *r;
    switch (job->wait_why) {
    case GANG_WAIT_HOLD:
        if ((r = add_held(l, GANG_WAIT_HOLD)) != NULL)
            say(r, "it is held until it is released");
        break;
    case GANG_WAIT_AFTER:
        tell_after(l);
        break;
    case GANG_WAIT_QUEUE:
        if ((r = add_held(l, GANG_WAIT_QUEUE)) != NULL) {
            r->queue = job->leaf;
            r->wait.queue = job->leaf->q->id;
            say(r, "queue \"%s\" is closed", job->leaf->q->name);
        }
        break;
    case GANG_WAIT_BEGIN:
        if ((r = add_held(l, GANG_WAIT_BEGIN)) != NULL) {
            r->wait.until_ns = job->begin_ns;
            say(r, "it is not to start for %s seconds",
                milli((job->begin_ns - l->s->now_ns + 999999) / 1000000, "").s);
        }
        break;
    case GANG_WAIT_BACK_OFF:
        if ((r = add_held(l, GANG_WAIT_BACK_OFF)) != NULL) {
            r->wait.until_ns = job->not_before_ns;
            say(r, "it steps aside for %s seconds",
                milli((job->not_before_ns - l->s->now_ns + 999999) / 1000000, "").s);
        }
        break;
    default:
        break;
    }
}

/* Those who are leaving for it, or that it may start again elsewhere. */
static void tell_claim(struct list *l, const struct gang__handover *claim)
{
    int64_t tasks = 0, until = 0;
    gang_job_id blocker = GANG_ID_NONE;
    for (const struct gang__stop *v = claim->stops; v; v = v->next_of_handover) {
        if (v->stopped)
            continue;
        tasks += (int64_t)v->left;
        until = v->deadline_ns > until ? v->deadline_ns : until;
        blocker = v->gang->job->id;
    }
    struct reason *r = add(l, GANG_WAIT_VICTIMS, GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (!r)
        return;
    r->rank = RANK_CLAIM;
    r->wait.blocker = blocker;
    r->wait.until_ns = until;
    r->wait.requested = tasks;
    say(r, "%" PRId64 " task%s displaced %s ha%s not stopped yet", tasks, tasks == 1 ? "" : "s",
        l->unit->stop.handover ? "for it" : "as it moves", tasks == 1 ? "s" : "ve");
}

/* ---- queues ---------------------------------------------------------------------------------- */

static int64_t held_by(const struct gang__gang *u, uint32_t dim)
{
    int64_t sum = 0;
    for (uint32_t g = 0; g < gang__gang_request(u)->group_count; g++)
        for (uint32_t i = 0; i < u->request_class->group[g].count; i++) {
            const struct gang__take *t = &u->request_class->take[u->request_class->group[g].from + i];
            sum += t->dim == dim ? t->amount * u->has[g] : 0;
        }
    return sum;
}

/* Who has most of it, among the first some that would fall. */
static gang_job_id holder_of(gang_sched *s, const struct gang__queue_state *top, uint32_t dim)
{
    int64_t most = 0;
    int looked = 0;
    gang_job_id id = GANG_ID_NONE;
    gang__victims_sort(s);
    for (uint32_t i = 0; i < s->queues->count && looked < 256; i++) {
        const struct gang__queue_state *q = s->qs[i];
        if (!q->q->leaf || !gang__queue_is_below(q, top))
            continue;
        struct gang__set_link *n = gang__set_first(&q->victims);
        for (; n && looked < 256; n = gang__set_next(n), looked++) {
            const struct gang__gang *u = GANG__OF(struct gang__gang, victim.link, n);
            if (held_by(u, dim) > most) {
                most = held_by(u, dim);
                id = u->job->id;
            }
        }
    }
    return id;
}

/* An amount of a dimension is more than the queue has left. */
static void tell_bound(struct list *l, int32_t why, const struct gang__queue_state *q, uint32_t dim,
                       int64_t asked, int64_t used, int64_t bound)
{
    const struct gang__dim *of = &l->s->queues->dim[dim];
    bool never = asked > bound && why != GANG_WAIT_USER_LIMIT;
    struct reason *r =
        add(l, why, never ? GANG_WAIT_CATEGORY_NEVER : GANG_WAIT_CATEGORY_NOT_NOW, q);
    char whole[160], place[GANG_MAX_NAME + 16] = "";
    if (!r)
        return;
    r->wait.kind = of->kind;
    r->wait.requested = asked;
    r->wait.used = used;
    r->wait.limit = bound;
    if (why != GANG_WAIT_USER_LIMIT && !never)
        r->wait.blocker = holder_of(l->s, q, dim);
    amount_of(l->s, of->kind, bound, whole, sizeof(whole));
    if (of->partition)
        snprintf(place, sizeof(place), " of partition \"%s\"", of->partition->name);
    const char *who = l->unit->alloc == GANG_ID_NONE ? "the gang" : "one more task";
    const char *does = why == GANG_WAIT_GUARANTEE ? "guarantees" : "allows";
    const char *whom = why == GANG_WAIT_USER_LIMIT  ? " a user"
                       : why == GANG_WAIT_GUARANTEE ? " to what is not preemptible"
                                                    : "";
    say(r, "queue \"%s\" %s%s %s%s, %s %s used, %s needs %s", q->q->name, does, whom, whole, place,
        number(of->kind, used).s, is_one(of->kind, used) ? "is" : "are", who,
        number(of->kind, asked).s);
}

static bool is_fixed(const struct gang__gang *u)
{
    if (u->order.wait_class)
        return u->order.wait_class->fixed;
    return u->job->preemptible == GANG_NOT_PREEMPTIBLE ||
           (u->job->preemptible == GANG_SEMI_PREEMPTIBLE && u->alloc == GANG_ID_NONE);
}

/* Limits and guarantees of the leaf and all above. */
static void tell_bounds(struct list *l, const struct gang__take *take, uint32_t count)
{
    bool fixed = is_fixed(l->unit);
    for (const struct gang__queue_state *q = l->unit->job->leaf; q->parent; q = q->parent)
        for (uint32_t i = 0; i < count; i++) {
            uint32_t d = take[i].dim;
            int64_t asked = take[i].amount;
            /* A limit that is not its own is that of a queue above, which is told of itself. */
            if (q->q->limit[d].how != GANG__QUOTA_NONE && asked > q->limit[d] - q->used[d])
                tell_bound(l, GANG_WAIT_LIMIT, q, d, asked, q->used[d], q->limit[d]);
            if (fixed && q->guarantee[d] != GANG__NO_BOUND && q->fixed[d] + asked > q->guarantee[d])
                tell_bound(l, GANG_WAIT_GUARANTEE, q, d, asked, q->fixed[d], q->guarantee[d]);
        }
}

/* Asked where nothing else of the queues is in the way. */
static void tell_lending(struct list *l, const struct gang__take *take, uint32_t count)
{
    uint32_t dim = 0;
    int32_t why = 0;
    const struct gang__queue_state *by =
        gang__usage_refuse(l->s, l->unit->job->leaf, take, count, is_fixed(l->unit), &dim, &why);
    if (!by || why != GANG_WAIT_LENDING)
        return;
    struct reason *r = add(l, GANG_WAIT_LENDING, GANG_WAIT_CATEGORY_POLICY, by);
    char asked[160];
    if (!r)
        return;
    for (uint32_t i = 0; i < count; i++)
        r->wait.requested = take[i].dim == dim ? take[i].amount : r->wait.requested;
    r->wait.kind = l->s->queues->dim[dim].kind;
    r->wait.used = l->s->root.used[dim];
    r->wait.limit = l->s->total[dim];
    amount_of(l->s, r->wait.kind, r->wait.requested, asked, sizeof(asked));
    say(r, "what queue \"%s\" leaves idle it does not lend: %s are asked for", by->q->name, asked);
}

static void tell_user(struct list *l, const struct gang__take *take, uint32_t count)
{
    const struct gang__gang *u = l->unit;
    const struct gang__user *user = u->job->leaf_user;
    int64_t gang[GANG_MAX_KINDS] = {0}, limit[GANG_MAX_KINDS] = {0};
    if (!user)
        return;
    for (uint32_t i = 0; i < count; i++)
        if (take[i].dim < GANG_MAX_KINDS && !l->s->queues->dim[take[i].dim].partition)
            gang[take[i].dim] = take[i].amount;
    if (!gang__user_limits(l->s, u, gang, limit))
        return;
    for (uint32_t k = 0; k < GANG_MAX_KINDS; k++)
        if (gang[k] > 0 && u->job->leaf->guarantee[k] != GANG__NO_BOUND && !l->s->excluded[k] &&
            user->used[k] + gang[k] > limit[k])
            tell_bound(l, GANG_WAIT_USER_LIMIT, u->job->leaf, k, gang[k], user->used[k], limit[k]);
}

static void tell_running(struct list *l, const struct gang__queue_state *q, int64_t running,
                         int64_t most, const char *whose)
{
    struct reason *r = add(l, GANG_WAIT_MAX_RUNNING, GANG_WAIT_CATEGORY_NOT_NOW, q);
    if (!r)
        return;
    r->wait.requested = 1;
    r->wait.used = running;
    r->wait.limit = most;
    say(r, "queue \"%s\" lets %" PRId64 " job%s%s run at a time, %" PRId64 " do%s", q->q->name,
        most, most == 1 ? "" : "s", whose, running, running == 1 ? "es" : "");
}

static void tell_max_running(struct list *l)
{
    const struct gang__job *job = l->unit->job;
    const struct gang__queue_state *leaf = job->leaf;
    if (job->counted_running)
        return;
    for (const struct gang__queue_state *q = leaf; q->parent; q = q->parent)
        if (q->running >= q->q->max_running)
            tell_running(l, q, q->running, q->q->max_running, "");
    if (job->leaf_user && job->leaf_user->running >= leaf->q->max_running_per_user)
        tell_running(l, leaf, job->leaf_user->running, leaf->q->max_running_per_user, " of a user");
}

/* The head of a bin of its leaf bars it. */
static void tell_barred(struct list *l, const struct gang__queue_state *leaf,
                        const struct gang__wait_class *bars)
{
    const struct gang__gang *u = l->unit, *head = gang__wait_class_head(bars);
    if (head->job == u->job)
        return;
    struct reason *r = add(l, head->bypass.starved ? GANG_WAIT_STARVED : GANG_WAIT_BEHIND,
                           GANG_WAIT_CATEGORY_POLICY, leaf);
    if (!r)
        return;
    r->rank = RANK_LAST;
    r->wait.blocker = head->job->id;
    if (head->bypass.starved)
        say(r, "job %" PRIu64 " is starved, and nothing in queue \"%s\" passes it", head->job->id,
            leaf->q->name);
    else
        say(r, "queue \"%s\" keeps to its order, and job %" PRIu64 " is before it", leaf->q->name,
            head->job->id);
}

static void tell_behind(struct list *l)
{
    const struct gang__gang *u = l->unit;
    const struct gang__queue_state *leaf = u->job->leaf;
    if (!u->order.wait_class)
        return;
    const struct gang__wait_class *bars = gang__order_bars(leaf, u->order.wait_class);
    if (bars) {
        tell_barred(l, leaf, bars);
        return;
    }
    if (u->order.wait_class->state != GANG__CLASS_BLOCKED || u->order.wait_class->why != GANG_WAIT_STARVED)
        return;
    const struct gang__gang *first = gang__bypass_concerns(l->s, u);
    struct reason *r =
        first ? add(l, GANG_WAIT_STARVED, GANG_WAIT_CATEGORY_POLICY, first->job->leaf) : NULL;
    if (!r)
        return;
    r->rank = RANK_LAST;
    r->wait.blocker = first->job->id;
    say(r, "job %" PRIu64 " of queue \"%s\" is starved, and nothing passes it", first->job->id,
        first->job->leaf->q->name);
}

/* ---- room ------------------------------------------------------------------------------------ */

struct room {
    struct list *list;
    bool fits;
};

static int32_t take_room(const struct gang_explanation *e, void *user)
{
    struct room *room = user;
    struct list *l = room->list;
    bool grows = l->unit->alloc != GANG_ID_NONE;
    if (!grows && (e->group >= 0 || e->group_set >= 0))
        return 0; /* parts of the gang: the last one is about all of it */
    room->fits = e->result == GANG_OK;
    if (room->fits)
        return 0;
    bool never = e->result == GANG_ENEVER;
    struct reason *r = add(l, GANG_WAIT_CAPACITY,
                           never ? GANG_WAIT_CATEGORY_NEVER : GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (!r)
        return GANG_ENOMEM;
    int32_t group = grows ? e->group : e->because_group;
    if (group >= 0) {
        r->wait.group = group_in_job(l->unit, (uint32_t)group);
        r->group = gang__gang_request(l->unit)->group[group].name;
    }
    r->wait.kind = e->kind;
    r->wait.requested = e->requested;
    r->wait.limit = e->available;
    if (e->kind >= 0 && !never)
        r->wait.blocker = holder_of(l->s, &l->s->root, (uint32_t)e->kind);
    say(r, "%s", e->text);
    return 0;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static bool node_name(const gang_sched *s, uint32_t slot, char *name)
{
    gang__rcu_enter();
    const struct gang__node *node = gang__node_at(s->cluster, slot);
    if (node)
        snprintf(name, GANG_MAX_NAME + 1, "%s", node->name);
    gang__rcu_leave();
    return node != NULL;
}

/* "n0, n1 and 3 more" */
static void nodes_of(const gang_sched *s, const struct gang__gang *u, char *text, size_t room)
{
    enum { NAMED = 4 };
    size_t named = 0, used = 0;
    text[0] = 0;
    for (size_t i = 0; i < u->calendar.node_count && named < NAMED; i++) {
        char name[GANG_MAX_NAME + 1];
        if (!node_name(s, u->calendar.node[i], name))
            continue;
        int n = snprintf(text + used, room - used, "%s%s", named ? ", " : "", name);
        if (n < 0 || (size_t)n >= room - used)
            break;
        used += (size_t)n;
        named++;
    }
    if (named < u->calendar.node_count)
        snprintf(text + used, room - used, " and %zu more", u->calendar.node_count - named);
}

static int64_t seconds_until(const struct list *l, int64_t at_ns)
{
    return at_ns > l->s->now_ns ? (at_ns - l->s->now_ns + 999999) / 1000000 : 0;
}

/* Whose plan it would delay: the first of its own leaf, or of any. */
static const struct gang__gang *first_planned(const gang_sched *s,
                                              const struct gang__queue_state *leaf)
{
    const struct gang__gang *first = NULL;
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (const struct gang__gang *u = s->qs[i]->calendar.planned; u;
             u = u->calendar.next_planned) {
            bool own = s->qs[i] == leaf, had = first && first->job->leaf == leaf;
            if (!first || (own && !had) ||
                (own == had && u->calendar.planned_ns < first->calendar.planned_ns))
                first = u;
        }
    return first;
}

static void tell_planned(struct list *l)
{
    const struct gang__gang *u = l->unit, *first;
    const struct gang__wait_class *bin = u->order.wait_class;
    bool behind = bin && bin->state == GANG__CLASS_BLOCKED && bin->why == GANG_WAIT_PLANNED;
    if (u->calendar.plan) {
        char nodes[160];
        struct reason *r = add(l, GANG_WAIT_PLANNED, GANG_WAIT_CATEGORY_NOT_NOW, u->job->leaf);
        if (!r)
            return;
        r->rank = RANK_LAST;
        r->wait.until_ns = u->calendar.planned_ns;
        nodes_of(l->s, u, nodes, sizeof(nodes));
        say(r, "it is planned to start in %s seconds, on %s",
            milli(seconds_until(l, u->calendar.planned_ns), "").s, nodes);
    } else if (behind && (first = first_planned(l->s, u->job->leaf)) != NULL) {
        struct reason *r = add(l, GANG_WAIT_PLANNED, GANG_WAIT_CATEGORY_POLICY, first->job->leaf);
        if (!r)
            return;
        r->wait.blocker = first->job->id;
        say(r, "it would delay planned starts: job %" PRIu64 " is to start in %s seconds",
            first->job->id, milli(seconds_until(l, first->calendar.planned_ns), "").s);
    }
}

/* It waits for the one that it named, or its place is reserved for others. */
static void tell_reservation(struct list *l)
{
    struct gang__reserve_reason why;
    if (!gang__reserve_explain(l->s, l->unit, &why))
        return;
    bool held = l->unit->job->wait_why == GANG_WAIT_RESERVATION;
    struct reason *r = add(l, GANG_WAIT_RESERVATION,
                           why.never ? GANG_WAIT_CATEGORY_NEVER
                           : held    ? GANG_WAIT_CATEGORY_HELD
                                     : GANG_WAIT_CATEGORY_POLICY,
                           NULL);
    if (!r)
        return;
    r->rank = why.never ? RANK_NEVER : held ? RANK_HELD : RANK_LAST;
    r->wait.until_ns = why.until_ns;
    say(r, "%s", why.text);
}

/* It goes back to where it was suspended, or nowhere. */
static void tell_suspended(struct list *l)
{
    const struct gang__wait_class *bin = l->unit->order.wait_class;
    if (!bin || bin->state != GANG__CLASS_BLOCKED || bin->why != GANG_WAIT_CAPACITY)
        return;
    struct reason *r = add(l, GANG_WAIT_CAPACITY, GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (r)
        say(r, "the places where it was suspended are taken");
}

static void tell_cells(struct list *l)
{
    const struct gang__wait_class *bin = l->unit->order.wait_class;
    if (!bin || bin->state != GANG__CLASS_BLOCKED || bin->why != GANG_WAIT_CELLS)
        return;
    struct reason *r = add(l, GANG_WAIT_CELLS, GANG_WAIT_CATEGORY_POLICY, bin->blocked_by);
    if (r)
        say(r, "its place would break the cells guaranteed to %s%s", bin->blocked_by ? "queue " : "others",
            bin->blocked_by ? bin->blocked_by->q->name : "");
}

/* It has its places: its turn is to come. */
static void tell_slice(struct list *l)
{
    const struct gang__gang *u = l->unit;
    int64_t until = 0;
    uint32_t rows = gang__slice_when(l->s, u, &until);
    struct reason *r = add(l, GANG_WAIT_SLICE, GANG_WAIT_CATEGORY_POLICY, u->job->leaf);
    if (!r)
        return;
    r->wait.until_ns = until;
    if (until == 0)
        say(r,
            "it is the turn of its row, %" PRIu32 " of %" PRIu32
            ", and others have not stopped yet",
            gang__slice_row(u), rows);
    else
        say(r, "its row, %" PRIu32 " of %" PRIu32 ", has its turn in %s seconds",
            gang__slice_row(u), rows, milli(seconds_until(l, until), "").s);
}

/* No row has room for it, beside what the others hold. */
static bool tell_rows(struct list *l)
{
    const struct gang__wait_class *bin = l->unit->order.wait_class;
    struct gang_queue_info info;
    if (!gang__slice_concerns(l->unit) || l->unit->alloc != GANG_ID_NONE || !bin ||
        bin->state != GANG__CLASS_BLOCKED || bin->why != GANG_WAIT_CAPACITY)
        return false;
    memset(&info, 0, sizeof(info));
    gang__slice_info(l->s, l->unit->job->leaf, &info);
    struct reason *r = add(l, GANG_WAIT_CAPACITY, GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (r)
        say(r,
            "none of %" PRId64 " rows that take turns, of %" PRId64
            " that there may be, has room for it",
            info.rows, info.quantum_rows);
    return true;
}

static gang_result tell_room(struct list *l)
{
    struct room room = {l, true};
    struct gang__gang *u = l->unit;
    if (u->places) {
        tell_suspended(l);
        return GANG_OK;
    }
    if (tell_rows(l))
        return GANG_OK;
    gang_result r = GANG_OK;
    if (u->alloc == GANG_ID_NONE) {
        r = gang_request_explain(l->s->worker, gang__gang_request(u), take_room, &room);
    } else {
        int32_t group = 0;
        while (gang__gang_lacks(u, (uint32_t)group) == 0)
            group++;
        r = gang_alloc_explain(l->s->worker, u->alloc, group, take_room, &room);
        r = r == GANG_ERANGE ? GANG_OK : r;
    }
    tell_cells(l);
    return r;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool waits(const struct gang__gang *u)
{
    const struct gang__job *job = u->job;
    if (job->state == GANG_JOB_ENDED || job->ending || u->over)
        return false;
    if (u->alloc != GANG_ID_NONE)
        return u->stop.handover || u->order.wait_class || gang__slice_is_out(u);
    return !u->stop.first || u->stop.moving;
}

static gang_result tell_unit(struct list *l)
{
    const struct gang__gang *u = l->unit;
    uint32_t count;
    if (u->job->wait_why && l->count == 0)
        tell_held(l);
    else if (!u->job->wait_why && !u->order.wait_class && !u->stop.handover && !u->stop.moving)
        tell_group_after(l);
    if (u->stop.handover || u->stop.moving) {
        tell_claim(l, u->stop.handover ? u->stop.handover : u->stop.moving->handover);
        return GANG_OK;
    }
    if (gang__slice_is_out(u)) {
        tell_slice(l);
        return GANG_OK;
    }
    struct gang__take of_places[GANG__DIMS];
    const struct gang__take *take = of_places;
    if (u->places)
        count = gang__gang_resumes_with(l->s, u, of_places);
    else
        take = gang__gang_asks(u, &count);
    tell_bounds(l, take, count);
    tell_lending(l, take, count);
    tell_user(l, take, count);
    tell_max_running(l);
    tell_behind(l);
    tell_planned(l);
    tell_reservation(l);
    gang_result r = tell_room(l);
    if (r != GANG_OK || l->count > 0)
        return r;
    struct reason *turn = add(l, GANG_WAIT_NOT_TRIED, GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (turn) {
        turn->rank = RANK_TURN;
        say(turn, "nothing is in its way: it is its turn in one of the next runs");
    }
    return GANG_OK;
}

/* The decisive one first; among those of a rank as they were found. */
static void sort(struct list *l)
{
    for (size_t i = 1; i < l->count; i++)
        for (size_t j = i; j > 0 && l->reason[j].rank < l->reason[j - 1].rank; j--) {
            struct reason swap = l->reason[j];
            l->reason[j] = l->reason[j - 1];
            l->reason[j - 1] = swap;
        }
    for (size_t i = 0; i < l->count; i++)
        l->reason[i].wait.text = l->reason[i].text;
}

static gang_result collect(gang_sched *s, struct gang__job *job, struct list *l)
{
    gang_result r = GANG_OK;
    memset(l, 0, sizeof(*l));
    l->s = s;
    for (uint32_t i = 0; i < job->gang_count && r == GANG_OK; i++) {
        l->unit = &job->gang[i];
        if (waits(l->unit))
            r = tell_unit(l);
        if (l->failed)
            r = GANG_ENOMEM;
    }
    sort(l);
    return r;
}

gang_result gang_job_explain(gang_sched *sched, gang_job_id id, gang_wait_fn visit, void *user)
{
    if (!sched || !visit)
        return GANG_EINVAL;
    struct gang__job *job = gang__job_of(sched, id);
    if (!job)
        return GANG_ESTALE;
    struct list l;
    gang_result r = collect(sched, job, &l);
    for (size_t i = 0; r == GANG_OK && i < l.count; i++)
        r = visit(&l.reason[i].wait, user);
    gang__release(&sched->mem, l.reason);
    return r;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void put_number(struct gang__json_maker *m, json_t *o, const char *key, int64_t value)
{
    gang__json_put(m, o, key, json_integer(value));
}

static void put_text(struct gang__json_maker *m, json_t *o, const char *key, const char *text)
{
    gang__json_put(m, o, key, gang__json_new_text(m, text));
}

static json_t *reason_json(struct gang__json_maker *m, const gang_sched *s, const struct reason *r)
{
    const struct gang_wait *w = &r->wait;
    json_t *o = json_object();
    put_text(m, o, "reason", word_of_reason(w->reason));
    put_text(m, o, "class", word_of_class(w->category));
    if (r->queue)
        put_text(m, o, "queue", r->queue->q->name);
    if (w->kind >= 0)
        put_text(m, o, "kind", s->cluster->nodes.kind[w->kind].name);
    if (r->group)
        put_text(m, o, "group", r->group);
    if (w->requested || w->limit) {
        put_number(m, o, "requested", w->requested);
        put_number(m, o, "used", w->used);
        put_number(m, o, "limit", w->limit);
    }
    if (w->blocker != GANG_ID_NONE)
        put_number(m, o, "blocker", (int64_t)w->blocker);
    if (w->until_ns)
        put_number(m, o, "until_ns", w->until_ns);
    put_text(m, o, "text", r->text);
    return o;
}

static json_t *list_json(struct gang__json_maker *m, const struct gang__job *job,
                         const struct list *l)
{
    json_t *root = json_object(), *reasons = json_array();
    put_number(m, root, "job", (int64_t)job->id);
    put_text(m, root, "name", job->name);
    put_text(m, root, "state", word_of_state(job->state));
    if (l->count > 0) {
        put_text(m, root, "class", word_of_class(l->reason[0].wait.category));
        put_text(m, root, "text", l->reason[0].text);
    }
    for (size_t i = 0; i < l->count; i++)
        gang__json_push(m, reasons, reason_json(m, l->s, &l->reason[i]));
    gang__json_put(m, root, "reasons", reasons);
    return root;
}

/* The unit whose placement is to be told: the first that waits to start, if there is no room. */
static struct gang__gang *placed_in_vain(const struct gang__job *job, const struct list *l)
{
    for (uint32_t i = 0; has(l, GANG_WAIT_CAPACITY) && i < job->gang_count; i++)
        if (waits(&job->gang[i]) && job->gang[i].alloc == GANG_ID_NONE && !job->gang[i].places)
            return &job->gang[i];
    return NULL;
}

static gang_result write_all(gang_sched *s, const struct gang__job *job, const struct list *l,
                             const char *text, gang_write_fn write, void *user)
{
    struct gang__gang *u = placed_in_vain(job, l);
    size_t length = strlen(text);
    if (!u)
        return write(text, length, user) == 0 ? GANG_OK : GANG_EIO;
    static const char member[] = ",\"placement\":";
    if (write(text, length - 1, user) != 0 || write(member, sizeof(member) - 1, user) != 0)
        return GANG_EIO;
    gang_result r = gang_request_write_explanation(s->worker, gang__gang_request(u), write, user);
    if (r != GANG_OK)
        return r;
    return write("}", 1, user) == 0 ? GANG_OK : GANG_EIO;
}

gang_result gang_job_write_explanation(gang_sched *sched, gang_job_id id, gang_write_fn write,
                                       void *user)
{
    if (!sched || !write)
        return GANG_EINVAL;
    struct gang__job *job = gang__job_of(sched, id);
    if (!job)
        return GANG_ESTALE;
    struct list l;
    struct gang__json_maker maker = {GANG_OK};
    gang_result r = collect(sched, job, &l);
    json_t *root = r == GANG_OK ? list_json(&maker, job, &l) : NULL;
    if (r == GANG_OK)
        r = maker.result;
    char *text = r == GANG_OK ? gang__json_compact(root, &sched->mem) : NULL;
    if (r == GANG_OK)
        r = text ? write_all(sched, job, &l, text, write, user) : GANG_ENOMEM;
    gang__release(&sched->mem, text);
    gang__release(&sched->mem, l.reason);
    json_decref(root);
    return r;
}
