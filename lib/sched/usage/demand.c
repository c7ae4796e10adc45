/* SPDX-License-Identifier: Apache-2.0 */
/* Demand that does not count. The fair share of a queue divides what its jobs use and what jobs
 * that could run request (gangsched/queue.h), so this file withholds from a queue and all above:
 *
 *   1. all that a gang lacks, if the least it can start with is above a limit on its path;
 *   2. all that a non-preemptible gang lacks, if the least it can start with, beside the
 *      non-preemptible work that runs, is above a guarantee on its path;
 *   3. what the remaining non-preemptible demand of a queue exceeds the guarantee by;
 *   4. what a child demands beyond its limit: first of its non-preemptible demand, so that the
 *      queues above do not withhold that part once more by rule 3.
 *
 * Queues with GANG_NONPREEMPTIBLE_LIMIT have no guarantee in 2 and 3.
 *
 * What other queues use plays no part: preemption could free that. 1 and 2 concern *bounded* wait
 * classes, which lie in a list of their leaf with the sum of what their gangs lack. Where there are
 * none and no child has a limit of its own, nothing is computed. */
#include <string.h>

#include "place/request/request.h"
#include "sched/record/state.h"
#include "sched/usage/usage_in.h"

/* ---- the least that a gang can start with ---------------------------------------------------- */

/* `in`: the request class of the wait class, or that of one of its partitions. */
static const struct gang__take *takes_of(const struct gang__wait_class *class,
                                         const struct gang__request_class *in, uint32_t *count)
{
    const struct gang__gang *grower = class->grower;
    return grower && grower->alloc != GANG_ID_NONE ? gang__gang_next_demand(grower, count)
                                                   : gang__request_class_takes(in, -1, count);
}

/* `take`: what the class takes of this dimension. GPUs by memory count by the largest device. */
static int64_t least_of(const gang_sched *s, const struct gang__wait_class *class,
                        const struct gang__take *take)
{
    const struct gang__dim *dim = &s->queues->dim[take->dim];
    if (!class->request_class->by_memory || dim->kind != GANG_KIND_GPU || class->grower)
        return take->amount;
    return dim->partition ? 0 : class->request_class->gang_gpu;
}

/* Does a bound of its queues rule the class out, with the amounts of this request class? */
typedef bool rules_out(const gang_sched *s, const struct gang__wait_class *class,
                       const struct gang__request_class *in);

/* With several partitions: in each of them. */
static bool everywhere(const gang_sched *s, const struct gang__wait_class *class, rules_out *rule)
{
    const struct gang__request_class *of = class->request_class;
    bool out = of->partition_count > 0 || rule(s, class, of);
    for (uint32_t i = 0; i < of->partition_count && out; i++)
        out = rule(s, class, of->partition[i]);
    return out;
}

/* Rule 1. */
static bool is_above_limit(const gang_sched *s, const struct gang__wait_class *class,
                           const struct gang__request_class *in)
{
    uint32_t count;
    const struct gang__take *take = takes_of(class, in, &count);
    for (uint32_t i = 0; i < count; i++) {
        int64_t least = least_of(s, class, &take[i]);
        for (const struct gang__queue_state *q = class->leaf; q->parent; q = q->parent)
            if (least > q->limit[take[i].dim])
                return true;
    }
    return false;
}

/* Rule 2. */
static bool is_above_guarantee(const gang_sched *s, const struct gang__wait_class *class,
                               const struct gang__request_class *in)
{
    uint32_t count;
    const struct gang__take *take = takes_of(class, in, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct gang__take least = {take[i].dim, least_of(s, class, &take[i])};
        for (const struct gang__queue_state *q = class->leaf; q->parent; q = q->parent)
            if (!q->q->nonpreemptible_to_limit && gang__usage_is_above_guarantee(q, &least))
                return true;
    }
    return false;
}

/* ---- bounded wait classes -------------------------------------------------------------------- */

void gang__demand_count(const struct gang__gang *g, int64_t sign)
{
    const gang_request *request = gang__gang_request(g);
    struct gang__bounded_class *bounded = &g->order.wait_class->bounded;
    struct gang__lacks left = gang__gang_lacks_begin(g);
    for (uint32_t group = 0; group < request->group_count; group++) {
        int64_t lacks = gang__gang_lacks_next(g, group, &left);
        bounded->lacks[group] += sign * lacks;
        if (g->job->preemptible == GANG_SEMI_PREEMPTIBLE)
            lacks = g->tasks > 0 ? 0 : gang__min(lacks, g->request_class->gang_tasks[group]);
        bounded->fixed_lacks[group] += sign * lacks;
    }
}

static void enter(gang_sched *s, struct gang__wait_class *class)
{
    struct gang__wait_class **list = &class->leaf->bounded;
    class->bounded.next = *list;
    class->bounded.at = list;
    if (*list)
        (*list)->bounded.at = &class->bounded.next;
    *list = class;
    s->usage.bounded++;
    for (const struct gang__set_link *n = gang__set_first(&class->gangs); n; n = gang__set_next(n))
        gang__demand_count(GANG__OF(struct gang__gang, order.link, n), 1);
}

void gang__demand_leave(gang_sched *s, struct gang__wait_class *class)
{
    uint32_t groups = class->request_class->request->group_count;
    if (!class->bounded.at)
        return;
    *class->bounded.at = class->bounded.next;
    if (class->bounded.next)
        class->bounded.next->bounded.at = class->bounded.at;
    class->bounded.at = NULL;
    memset(class->bounded.lacks, 0, groups * sizeof(*class->bounded.lacks));
    memset(class->bounded.fixed_lacks, 0, groups * sizeof(*class->bounded.fixed_lacks));
    s->usage.bounded--;
}

void gang__demand_enter(gang_sched *s, struct gang__wait_class *class)
{
    class->bounded.never =
        s->usage.limits && !class->grower && everywhere(s, class, is_above_limit);
    if (class->fixed || class->bounded.never)
        enter(s, class);
}

void gang__demand_apply_bounds(gang_sched *s)
{
    s->usage.limits = s->usage.inner_limits = false;
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (uint32_t d = 0; d < s->dims; d++) {
            const struct gang__queue_state *q = s->qs[i];
            s->usage.limits = s->usage.limits || q->limit[d] != GANG__NO_BOUND;
            s->usage.inner_limits = s->usage.inner_limits ||
                                    (q->parent != &s->root && q->limit[d] < q->parent->limit[d]);
        }
    for (uint32_t i = 0; i < s->queues->count; i++) {
        struct gang__hash_table *classes = &s->qs[i]->order.classes;
        for (size_t b = 0; b < classes->cap; b++)
            for (struct gang__hash_link *n = classes->bucket[b]; n; n = n->next) {
                struct gang__wait_class *class = GANG__OF(struct gang__wait_class, link, n);
                gang__demand_leave(s, class);
                gang__demand_enter(s, class);
            }
    }
}

/* ---- withholding ----------------------------------------------------------------------------- */

/* Of one queue, by dimension: what does not count of its demand, and what counts of its
 * non-preemptible demand. */
struct part {
    int64_t *withheld, *fixed;
};

static struct part part_of(const gang_sched *s, uint32_t index)
{
    size_t dims = s->dims, n = s->queues->count;
    return (struct part){s->usage.resolved + index * dims, s->usage.resolved + (n + index) * dims};
}

/* Rules 1 and 2. */
static void add_class(const gang_sched *s, const struct gang__wait_class *class, struct part part)
{
    const struct gang__request_class *request_class = class->request_class;
    bool out = class->bounded.never || everywhere(s, class, is_above_guarantee);
    for (uint32_t group = 0; group < request_class->request->group_count; group++) {
        const struct gang__take *take = request_class->take + request_class->group[group].from;
        for (uint32_t i = 0; i < request_class->group[group].count; i++)
            if (out)
                part.withheld[take[i].dim] += take[i].amount * class->bounded.lacks[group];
            else
                part.fixed[take[i].dim] += take[i].amount * class->bounded.fixed_lacks[group];
    }
}

/* Rules 3 and 4, in one dimension. True: the demand of the queue changes. */
static bool withhold(gang_sched *s, struct gang__queue_state *q, uint32_t d, struct part part)
{
    int64_t withheld = part.withheld[d], fixed = part.fixed[d];
    if (q->guarantee[d] != GANG__NO_BOUND && !q->q->nonpreemptible_to_limit) {
        int64_t left = gang__max(q->guarantee[d] - q->fixed[d], 0);
        withheld += gang__max(fixed - left, 0);
        fixed = gang__min(fixed, left);
    }
    bool changes = withheld != q->withheld[d];
    q->demand[d] += q->withheld[d] - withheld;
    q->withheld[d] = withheld;
    s->usage.withholds = s->usage.withholds || withheld > 0;
    if (q->parent == &s->root)
        return changes;
    struct part above = part_of(s, q->parent->q->index);
    int64_t beyond = gang__max(q->used[d] + q->demand[d] - q->limit[d], 0);
    above.withheld[d] += withheld + beyond;
    above.fixed[d] += gang__max(fixed - beyond, 0);
    return changes;
}

uint64_t gang__demand_withhold(gang_sched *s)
{
    uint64_t changed = 0;
    if (s->usage.bounded == 0 && !s->usage.inner_limits && !s->usage.withholds)
        return 0;
    s->usage.withholds = false;
    memset(s->usage.resolved, 0,
           2 * (size_t)s->queues->count * s->dims * sizeof(*s->usage.resolved));
    for (uint32_t i = s->queues->count; i-- > 0;) { /* children stand behind their parents */
        struct part part = part_of(s, i);
        const struct gang__wait_class *class = s->qs[i]->bounded;
        for (; class; class = class->bounded.next)
            add_class(s, class, part);
        for (uint32_t d = 0; d < s->dims; d++)
            if (withhold(s, s->qs[i], d, part))
                changed |= UINT64_C(1) << d;
    }
    return changed;
}
