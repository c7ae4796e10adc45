/* SPDX-License-Identifier: Apache-2.0 */
/* Preemption by user limit (GANG_PREEMPT_USER_LIMIT): a taker whose user keeps to its user limit
 * takes what other users of its leaf have above theirs.
 *
 * The limits are those of sched/usage/users_limit.c, computed before attempts are made. The user
 * of a victim keeps its limit in a kind that the taker requests and the victim gives back. The user
 * of the taker is not above its own afterwards. So each commit lowers the sum of what users have
 * above their limits: as long as the limits stay, no user takes back what it gave. */
#include "sched/preempt/preempt_in.h"
#include "sched/usage/usage.h"

bool gang__preempt_keeps_user_limit(const struct gang__preemption *p)
{
    const struct gang__job *job = p->taker->job;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t d = p->take[i].dim;
        int64_t limit = gang__users_limit_of(p->s, job->leaf, job->leaf_user, d);
        if (p->take[i].amount > 0 && job->leaf_user->used[d] > limit - p->take[i].amount)
            return false;
    }
    return true;
}

/* What the victim gives back of a kind. */
static int64_t given_back(const struct gang__victim *v, uint32_t dim)
{
    const struct gang__request_class *request_class = v->g->request_class;
    int64_t sum = 0;
    for (uint32_t group = 0; group < request_class->request->group_count; group++) {
        uint32_t count;
        const struct gang__take *take =
            gang__request_class_takes(request_class, (int32_t)group, &count);
        for (uint32_t i = 0; i < count; i++)
            if (take[i].dim == dim)
                sum += take[i].amount * gang__victim_tasks(v, group);
    }
    return sum;
}

/* Does the victim's user keep its limit without the victim, in a kind that helps the taker? On
 * credit: without this victim alone. */
static bool victim_keeps_limit(const struct gang__preemption *p, const struct gang__victim *v)
{
    const struct gang__queue_state *leaf = v->g->job->leaf;
    const struct gang__user *user = v->g->job->leaf_user;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t d = p->take[i].dim;
        int64_t limit = gang__users_limit_of(p->s, leaf, user, d);
        if (p->take[i].amount == 0 || limit == INT64_MAX)
            continue;
        int64_t used = user->used[d] + (p->before && user->tentative ? user->tentative[d] : 0);
        int64_t given = used > limit ? given_back(v, d) : 0;
        if (given > 0 && used - given >= limit)
            return true;
    }
    return false;
}

int32_t gang__preempt_rule_of_user(const struct gang__preemption *p, const struct gang__victim *v)
{
    if (!victim_keeps_limit(p, v))
        return GANG_PROTECTED_USER_LIMIT;
    return gang__preempt_keeps_user_limit(p) ? GANG_PROTECTED_NOT
                                             : GANG_PROTECTED_PREEMPTOR_USER_LIMIT;
}

bool gang__preempt_users_are_above(const struct gang__preemption *p)
{
    const struct gang__users_limit *limit = p->taker->job->leaf->users_limit;
    bool above = false;
    for (uint32_t i = 0; limit && i < p->count; i++)
        above = above || (p->take[i].amount > 0 && p->take[i].dim < GANG_MAX_KINDS &&
                          (limit->above >> p->take[i].dim & 1));
    return above;
}
