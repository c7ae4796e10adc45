/* SPDX-License-Identifier: Apache-2.0 */
/* Gates of queues: bounds, lending, user limits, running jobs, and gangs that come first. */
#include <inttypes.h>
#include <stdio.h>

#include "sched/explain/explain_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"

static int64_t held_by(const struct gang__gang *g, uint32_t dim)
{
    int64_t sum = 0;
    for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++)
        for (uint32_t i = 0; i < g->request_class->group[group].count; i++) {
            const struct gang__take *t =
                &g->request_class->take[g->request_class->group[group].from + i];
            sum += t->dim == dim ? t->amount * g->has[group] : 0;
        }
    return sum;
}

/* The job that holds most of the dimension, among the first victims in order. */
gang_job_id gang__explain_holder(gang_sched *s, const struct gang__queue_state *top, uint32_t dim)
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
            const struct gang__gang *g = GANG__OF(struct gang__gang, victim.link, n);
            if (held_by(g, dim) > most) {
                most = held_by(g, dim);
                id = g->job->id;
            }
        }
    }
    return id;
}

/* The amount of a dimension that the gang asks for is more than the queue has left. */
struct shortage {
    const struct gang__queue_state *q;
    uint32_t dim;
    int64_t asked, used, bound;
};

static void explain_bound(struct gang__reasons *l, int32_t why, const struct shortage *of_queue)
{
    const struct gang__queue_state *q = of_queue->q;
    const struct gang__dim *of = &l->s->queues->dim[of_queue->dim];
    int64_t asked = of_queue->asked, used = of_queue->used, bound = of_queue->bound;
    bool never = asked > bound && why != GANG_WAIT_USER_LIMIT;
    struct gang__reason *r =
        gang__reason_add(l, why, never ? GANG_WAIT_CATEGORY_NEVER : GANG_WAIT_CATEGORY_NOT_NOW, q);
    char whole[160], place[GANG_MAX_NAME + 16] = "";
    if (!r)
        return;
    r->wait.kind = of->kind;
    r->wait.requested = asked;
    r->wait.used = used;
    r->wait.limit = bound;
    if (why != GANG_WAIT_USER_LIMIT && !never)
        r->wait.blocker = gang__explain_holder(l->s, q, of_queue->dim);
    gang__text_amount(l->s, of->kind, bound, whole, sizeof(whole));
    if (of->partition)
        snprintf(place, sizeof(place), " of partition \"%s\"", of->partition->name);
    const char *who = l->gang->alloc == GANG_ID_NONE ? "the gang" : "one more task";
    const char *does = why == GANG_WAIT_GUARANTEE ? "guarantees" : "allows";
    const char *whom = why == GANG_WAIT_USER_LIMIT  ? " a user"
                       : why == GANG_WAIT_GUARANTEE ? " to what is not preemptible"
                                                    : "";
    int64_t stopping = why == GANG_WAIT_LIMIT ? q->stopping[of_queue->dim] : 0;
    char stops[GANG_MAX_NAME + 64] = "";
    if (stopping > 0)
        snprintf(stops, sizeof(stops), " (%s by tasks that are stopping)",
                 gang__text_number(of->kind, stopping).s);
    gang__reason_set_text(r, "queue \"%s\" %s%s %s%s, %s %s used%s, %s needs %s", q->q->name, does,
                          whom, whole, place, gang__text_number(of->kind, used).s,
                          gang__text_is_one(of->kind, used) ? "is" : "are", stops, who,
                          gang__text_number(of->kind, asked).s);
}

static bool is_fixed(const struct gang__gang *g)
{
    if (g->order.wait_class)
        return g->order.wait_class->fixed;
    return g->job->preemptible == GANG_NOT_PREEMPTIBLE ||
           (g->job->preemptible == GANG_SEMI_PREEMPTIBLE && g->alloc == GANG_ID_NONE);
}

/* Limits and guarantees of the leaf and all above. */
void gang__explain_bounds(struct gang__reasons *l, const struct gang__take *take, uint32_t count)
{
    bool fixed = is_fixed(l->gang);
    for (const struct gang__queue_state *q = l->gang->job->leaf; q->parent; q = q->parent)
        for (uint32_t i = 0; i < count; i++) {
            uint32_t d = take[i].dim;
            int64_t asked = take[i].amount;
            /* a limit inherited from a queue above is reported there */
            if (q->q->limit[d].form != GANG__QUOTA_NONE &&
                gang__usage_is_above_limit(q, &take[i], false))
                explain_bound(
                    l, GANG_WAIT_LIMIT,
                    &(struct shortage){q, d, asked, q->used[d] + q->stopping[d], q->limit[d]});
            if (fixed && !q->q->nonpreemptible_to_limit &&
                gang__usage_is_above_guarantee(q, &take[i]))
                explain_bound(l, GANG_WAIT_GUARANTEE,
                              &(struct shortage){q, d, asked, q->fixed[d], q->guarantee[d]});
        }
}

/* Asked if no other gate of the queues blocks the gang. */
void gang__explain_lending(struct gang__reasons *l, const struct gang__take *take, uint32_t count)
{
    struct gang__refusal refusal = {0, 0};
    const struct gang__queue_state *by =
        gang__usage_refuse(l->s, l->gang->job->leaf, take, count, is_fixed(l->gang), &refusal);
    if (!by || refusal.why != GANG_WAIT_LENDING)
        return;
    struct gang__reason *r = gang__reason_add(l, GANG_WAIT_LENDING, GANG_WAIT_CATEGORY_POLICY, by);
    char asked[160];
    if (!r)
        return;
    for (uint32_t i = 0; i < count; i++)
        r->wait.requested = take[i].dim == refusal.dim ? take[i].amount : r->wait.requested;
    r->wait.kind = l->s->queues->dim[refusal.dim].kind;
    r->wait.used = l->s->root.used[refusal.dim];
    r->wait.limit = l->s->total[refusal.dim];
    gang__text_amount(l->s, r->wait.kind, r->wait.requested, asked, sizeof(asked));
    gang__reason_set_text(r, "what queue \"%s\" leaves idle it does not lend: %s are asked for",
                          by->q->name, asked);
}

void gang__explain_user(struct gang__reasons *l, const struct gang__take *take, uint32_t count)
{
    const struct gang__gang *g = l->gang;
    const struct gang__user *user = g->job->leaf_user;
    int64_t gang[GANG_MAX_KINDS] = {0}, limit[GANG_MAX_KINDS] = {0};
    if (!user)
        return;
    for (uint32_t i = 0; i < count; i++)
        if (take[i].dim < GANG_MAX_KINDS && !l->s->queues->dim[take[i].dim].partition)
            gang[take[i].dim] = take[i].amount;
    if (!gang__user_limits(l->s, g, gang, limit))
        return;
    for (uint32_t k = 0; k < GANG_MAX_KINDS; k++)
        if (gang[k] > 0 && g->job->leaf->guarantee[k] != GANG__NO_BOUND && !l->s->excluded[k] &&
            user->used[k] + gang[k] > limit[k])
            explain_bound(l, GANG_WAIT_USER_LIMIT,
                          &(struct shortage){g->job->leaf, k, gang[k], user->used[k], limit[k]});
}

static void explain_running(struct gang__reasons *l, const struct gang__queue_state *q,
                            int64_t running, int64_t most, const char *whose)
{
    struct gang__reason *r =
        gang__reason_add(l, GANG_WAIT_MAX_RUNNING, GANG_WAIT_CATEGORY_NOT_NOW, q);
    if (!r)
        return;
    r->wait.requested = 1;
    r->wait.used = running;
    r->wait.limit = most;
    gang__reason_set_text(
        r, "queue \"%s\" lets %" PRId64 " job%s%s run at a time, %" PRId64 " do%s", q->q->name,
        most, most == 1 ? "" : "s", whose, running, running == 1 ? "es" : "");
}

static void explain_array(struct gang__reasons *l, const struct gang__job *job)
{
    const struct gang__array *array = job->array;
    if (!array || array->running < job->options->array_max_running)
        return;
    struct gang__reason *r =
        gang__reason_add(l, GANG_WAIT_ARRAY, GANG_WAIT_CATEGORY_NOT_NOW, job->leaf);
    if (!r)
        return;
    r->wait.requested = 1;
    r->wait.used = array->running;
    r->wait.limit = job->options->array_max_running;
    gang__reason_set_text(
        r, "array \"%s\" lets %" PRId64 " of its jobs run at a time, %" PRId64 " do%s", array->name,
        job->options->array_max_running, array->running, array->running == 1 ? "es" : "");
}

void gang__explain_max_running(struct gang__reasons *l, const struct gang__take *take,
                               uint32_t count)
{
    (void)take, (void)count;
    const struct gang__job *job = l->gang->job;
    const struct gang__queue_state *leaf = job->leaf;
    if (job->counted_running)
        return;
    for (const struct gang__queue_state *q = leaf; q->parent; q = q->parent)
        if (q->running >= q->q->max_running)
            explain_running(l, q, q->running, q->q->max_running, "");
    if (job->leaf_user && job->leaf_user->running >= leaf->q->max_running_per_user)
        explain_running(l, leaf, job->leaf_user->running, leaf->q->max_running_per_user,
                        " of a user");
    explain_array(l, job);
}

/* The head of another wait class bars the gang. */
static void explain_barred(struct gang__reasons *l, const struct gang__queue_state *leaf,
                           const struct gang__wait_class *bars)
{
    const struct gang__gang *g = l->gang, *head = gang__wait_class_head(bars);
    if (head->job == g->job)
        return;
    struct gang__reason *r = gang__reason_add(
        l, head->starved ? GANG_WAIT_STARVED : GANG_WAIT_BEHIND, GANG_WAIT_CATEGORY_POLICY, leaf);
    if (!r)
        return;
    r->rank = RANK_LAST;
    r->wait.blocker = head->job->id;
    if (head->starved)
        gang__reason_set_text(r,
                              "job %" PRIu64 " is starved, and nothing in queue \"%s\" passes it",
                              head->job->id, leaf->q->name);
    else
        gang__reason_set_text(r,
                              "queue \"%s\" keeps to its order, and job %" PRIu64 " is before it",
                              leaf->q->name, head->job->id);
}

void gang__explain_order(struct gang__reasons *l, const struct gang__take *take, uint32_t count)
{
    (void)take, (void)count;
    const struct gang__gang *g = l->gang;
    const struct gang__queue_state *leaf = g->job->leaf;
    if (!g->order.wait_class)
        return;
    const struct gang__wait_class *bars = gang__order_barred_by(leaf, g->order.wait_class);
    if (bars) {
        explain_barred(l, leaf, bars);
        return;
    }
    if (g->order.wait_class->state != GANG__CLASS_BLOCKED ||
        g->order.wait_class->why != GANG_WAIT_STARVED)
        return;
    const struct gang__gang *first = gang__bypass_concerns(l->s, g);
    struct gang__reason *r =
        first ? gang__reason_add(l, GANG_WAIT_STARVED, GANG_WAIT_CATEGORY_POLICY, first->job->leaf)
              : NULL;
    if (!r)
        return;
    r->rank = RANK_LAST;
    r->wait.blocker = first->job->id;
    gang__reason_set_text(r, "job %" PRIu64 " of queue \"%s\" is starved, and nothing passes it",
                          first->job->id, first->job->leaf->q->name);
}
