/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of queues and users that a gang must keep when it starts or grows: running jobs,
 * amounts, and YARN's user limit. */
#include <string.h>

#include "place/request/request.h"
#include "sched/record/state.h"
#include "sched/usage/usage_in.h"

static struct gang__queue_state *too_many_run(struct gang__gang *g, int32_t *why)
{
    *why = GANG_WAIT_MAX_RUNNING;
    if (g->job->counted_running)
        return NULL;
    for (struct gang__queue_state *q = g->job->leaf; q->parent; q = q->parent)
        if (gang__queue_runs_most(q))
            return q;
    const struct gang__user *user = g->job->leaf_user;
    if (user && user->running + user->promised >= g->job->leaf->q->max_running_per_user)
        return g->job->leaf;
    *why = GANG_WAIT_ARRAY;
    const struct gang__array *array = g->job->array;
    return array && array->running + array->promised >= g->job->options->array_max_running
               ? g->job->leaf
               : NULL;
}

/* Kinds that the queues count. One that the site added since has no dimension yet. */
static uint32_t counted_kinds(const gang_sched *s)
{
    uint32_t count = 0;
    while (count < s->dims && !s->queues->dim[count].partition)
        count++;
    return count;
}

uint32_t gang__user_limit_kinds(const gang_sched *s, const struct gang__queue_state *leaf)
{
    uint32_t kinds = 0, count = counted_kinds(s);
    if (!leaf->q->user_limit && !leaf->q->user_limit_factor)
        return 0;
    for (uint32_t k = 0; k < count; k++)
        kinds |= leaf->guarantee[k] != GANG__NO_BOUND && !s->excluded[k] ? UINT32_C(1) << k : 0;
    return kinds;
}

void gang__user_limit_settings(const struct gang__queue_state *leaf, struct gang__user_limit *to)
{
    to->minimum = leaf->q->user_limit ? leaf->q->user_limit : GANG_WHOLE;
    to->factor = leaf->q->user_limit_factor ? leaf->q->user_limit_factor : -1;
    to->guarantee = leaf->guarantee;
    to->limit = leaf->limit;
}

/* YARN's user limit, over all kinds, with the whole gang. */
bool gang__user_limits(gang_sched *s, const struct gang__gang *g, const int64_t *gang,
                       int64_t *limit)
{
    const struct gang__queue_state *leaf = g->job->leaf;
    const struct gang__user *user = g->job->leaf_user;
    int64_t dominant[GANG_MAX_KINDS] = {0}, active[GANG_MAX_KINDS] = {0}, weights = 0;
    if (!user || (!leaf->q->user_limit && !leaf->q->user_limit_factor))
        return false;
    uint32_t count = counted_kinds(s), kinds = gang__user_limit_kinds(s, leaf);
    for (size_t b = 0; b < leaf->users.cap; b++)
        for (struct gang__hash_link *n = leaf->users.bucket[b]; n; n = n->next) {
            const struct gang__user *other = GANG__OF(struct gang__user, link, n);
            gang__user_limit_add(dominant, other->used, s->total, kinds);
            if (other->waiting == 0)
                continue;
            weights += other->weight;
            for (uint32_t k = 0; k < count; k++)
                active[k] += other->used[k];
        }
    /* Each user has its weighted part of the queue, whatever the other users use of theirs. */
    for (uint32_t k = 0; k < count && weights > 0; k++) {
        int64_t nth = leaf->guarantee[k] - gang__mul_div(gang[k], weights, user->weight);
        if (leaf->guarantee[k] != GANG__NO_BOUND && nth > active[k])
            active[k] = nth;
    }
    struct gang__user_limit in = {.kinds = kinds,
                                  .total = s->total,
                                  .required = gang,
                                  .dominant_used = dominant,
                                  .active_used = active,
                                  .active_weight = weights,
                                  .weight = user->weight};
    gang__user_limit_settings(leaf, &in);
    gang__user_limit(&in, limit);
    return !gang__keeps_limit(user->used, gang, limit, kinds);
}

static bool beyond_user_limit(gang_sched *s, const struct gang__gang *g,
                              const struct gang__take *take, uint32_t count)
{
    int64_t gang[GANG_MAX_KINDS] = {0}, limit[GANG_MAX_KINDS];
    for (uint32_t i = 0; i < count; i++)
        if (take[i].dim < GANG_MAX_KINDS && !s->queues->dim[take[i].dim].partition)
            gang[take[i].dim] = take[i].amount;
    return gang__user_limits(s, g, gang, limit);
}

uint32_t gang__places_take(gang_sched *s, const struct gang__gang *g,
                           const struct gang_placement *places, int64_t count,
                           struct gang__take take[GANG__DIMS])
{
    memset(s->by_group, 0, gang__gang_request(g)->group_count * sizeof(*s->by_group));
    for (int64_t i = 0; i < count; i++)
        s->by_group[places[i].group]++;
    return gang__takes_sum(s, g->request_class, s->by_group, take);
}

/* The queue that refuses these amounts; NULL: none. */
struct gang__queue_state *gang__limits_refuse(gang_sched *s, struct gang__gang *g,
                                              const struct gang__take *take, uint32_t count,
                                              bool fixed, struct gang__refusal *refusal)
{
    struct gang__queue_state *by = too_many_run(g, &refusal->why);
    if (!by)
        by = gang__usage_refuse(s, g->job->leaf, take, count, fixed, refusal);
    if (!by && g->job->leaf_user && beyond_user_limit(s, g, take, count)) {
        refusal->why = GANG_WAIT_USER_LIMIT;
        by = g->job->leaf;
    }
    if (!by && g->job->leaf->q->budgeted) {
        refusal->why = GANG_WAIT_BUDGET;
        by = gang__budgets_refuse(s, g, take, count, &refusal->dim);
    }
    return by;
}

/* The user limit was checked when the victims were chosen. It follows the usage of all users of the
 * leaf: a second check might refuse the start for which gangs have stopped. Limits of queues were
 * checked then, too, with what other tasks still hold that stop. */
bool gang__limits_allow_promised(gang_sched *s, struct gang__gang *g,
                                 const struct gang_placement *places, int64_t count)
{
    struct gang__refusal refusal = {0, 0};
    struct gang__take take[GANG__DIMS];
    bool fixed = gang__gang_is_fixed(g, g->alloc != GANG_ID_NONE);
    int how = GANG__REFUSE_PROMISED | (fixed ? GANG__REFUSE_FIXED : 0);
    uint32_t dims = gang__places_take(s, g, places, count, take);
    return !too_many_run(g, &refusal.why) &&
           !gang__usage_refuse(s, g->job->leaf, take, dims, how, &refusal);
}
