/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks start together?
 *
 * A gang starts with exactly as many tasks as the minimum of its request. If the minima of groups
 * and sets leave it open which tasks these are, the gang has several *choices*: a number of tasks
 * for each group. Unlike groups take unlike amounts, so what such a gang takes depends on the
 * choice.
 *
 * Before placing, the least and the most of all choices are known for each dimension by itself. The
 * least rules out gangs that can never start; if even the most is allowed, placing decides. In
 * between, choices are tried one after the other, and limits, entitlement and places are judged
 * with the very amounts of the choice (gang->choice).
 *
 * The order of choices: the first one has most tasks of the groups that are easiest to place, the
 * last one of those that are hardest. If there are many, every n-th is tried. */
#include <string.h>

#include "place/request/request.h"
#include "sched/record/state.h"
#include "sched/usage/usage_in.h"

enum {
    MAX_TRIED = 32,    /* choices of a gang that are tried */
    MAX_COUNTED = 4096 /* steps from choice to choice */
};

uint32_t gang__takes_sum(const gang_sched *s, const struct gang__request_class *request_class,
                         const int64_t *tasks, struct gang__take take[GANG__DIMS])
{
    int64_t sum[GANG__DIMS] = {0};
    uint32_t n = 0;
    for (uint32_t group = 0; group < request_class->request->group_count; group++) {
        const struct gang__take *t = request_class->take + request_class->group[group].from;
        for (uint32_t i = 0; i < request_class->group[group].count; i++)
            sum[t[i].dim] += t[i].amount * tasks[group];
    }
    for (uint32_t d = 0; d < s->dims; d++)
        if (sum[d])
            take[n++] = (struct gang__take){d, sum[d]};
    return n;
}

/* ---- the least and the most ------------------------------------------------------------------ */

static bool is_inside(const gang_request *request, uint32_t group, int32_t set)
{
    int32_t at = request->group[group].set;
    while (at >= 0 && at != set)
        at = request->set[at].parent;
    return at == set;
}

static int64_t tasks_inside(const gang_request *request, const int64_t *tasks, int32_t set)
{
    int64_t sum = 0;
    for (uint32_t group = 0; group < request->group_count; group++)
        sum += is_inside(request, group, set) ? tasks[group] : 0;
    return sum;
}

/* What a task of a group costs: in a dimension, or (GPUS) the least milli-GPUs. */
struct cost {
    const gang_sched *s;
    const struct gang__request_class *request_class;
    uint32_t dim;
    bool most; /* the dearest groups give tasks first */
};
enum { GPUS = GANG__DIMS };

static int64_t cost_of(const struct cost *c, uint32_t group)
{
    const struct gang__request_class *request_class = c->request_class;
    const struct gang__take *t = request_class->take + request_class->group[group].from;
    int64_t sum = 0;
    if (c->dim == GPUS)
        return gang__gpu_least(c->s, &request_class->request->group[group]);
    for (uint32_t i = 0; i < request_class->group[group].count; i++)
        sum += t[i].dim == c->dim ? t[i].amount : 0;
    return sum;
}

/* The groups of a set (-1: of the request) give the tasks that its minimum is short of, the
 * cheapest first. */
static void reach_minimum(const struct cost *c, int32_t set, int64_t min, int64_t *tasks)
{
    const gang_request *request = c->request_class->request;
    int64_t missing = min - tasks_inside(request, tasks, set);
    while (missing > 0) {
        uint32_t best = request->group_count;
        int64_t least = 0;
        for (uint32_t group = 0; group < request->group_count; group++) {
            int64_t cost = c->most ? -cost_of(c, group) : cost_of(c, group);
            if (tasks[group] < request->group[group].count && is_inside(request, group, set) &&
                (best == request->group_count || cost < least)) {
                best = group;
                least = cost;
            }
        }
        if (best == request->group_count)
            return;
        int64_t more = gang__min(missing, request->group[best].count - tasks[best]);
        tasks[best] += more;
        missing -= more;
    }
}

/* The least (or the most) that any tasks cost which meet all minima. The minima are nested, so the
 * sum is least if each, from the innermost outwards, is reached by the cheapest tasks left. */
static int64_t extreme(const struct cost *c, int64_t *tasks)
{
    const gang_request *request = c->request_class->request;
    int64_t sum = 0;
    for (uint32_t group = 0; group < request->group_count; group++)
        tasks[group] = request->group[group].min;
    for (uint32_t i = request->group_set_count; i-- > 0;) /* a parent comes before its sets */
        reach_minimum(c, (int32_t)i, request->set[i].min, tasks);
    reach_minimum(c, GANG__NO_SET, request->min, tasks);
    for (uint32_t group = 0; group < request->group_count; group++)
        sum += tasks[group] * cost_of(c, group);
    return sum;
}

/* ---- one choice after the other -------------------------------------------------------------- */

/* The groups in the order in which they give tasks. */
static uint32_t group_at(const gang_request *request, uint32_t i)
{
    return request->by_size[request->group_count - 1 - i];
}

static bool meets_sets(const gang_request *request, const int64_t *tasks)
{
    bool met = true;
    for (uint32_t i = 0; met && i < request->group_set_count; i++)
        met = tasks_inside(request, tasks, (int32_t)i) >= request->set[i].min;
    return met;
}

/* The groups from the i-th on share `left` tasks beyond their minima, in whole subgroups. Returns
 * how many tasks none of them takes. */
static int64_t share_out(const gang_request *request, uint32_t i, int64_t left, int64_t *tasks)
{
    for (; i < request->group_count; i++) {
        const struct gang__group *g = &request->group[group_at(request, i)];
        int64_t step = g->subgroup_size ? g->subgroup_size : 1;
        int64_t more = gang__min(left, g->count - g->min) / step * step;
        tasks[group_at(request, i)] = g->min + more;
        left -= more;
    }
    return left;
}

/* The next way to share out the tasks, in falling lexical order, whether or not it is a choice.
 * *left: tasks that no group takes. False: there is none. */
static bool step(const gang_request *request, int64_t *tasks, int64_t *left)
{
    int64_t behind = 0, capacity = 0; /* of the groups behind: more than minima; taken, at most */
    for (uint32_t i = request->group_count; i-- > 0;) {
        const struct gang__group *g = &request->group[group_at(request, i)];
        int64_t one = g->subgroup_size ? g->subgroup_size : 1, *has = &tasks[group_at(request, i)];
        if (*has > g->min && *left + behind + one <= capacity) {
            *has -= one;
            *left = share_out(request, i + 1, *left + behind + one, tasks);
            return true;
        }
        behind += *has - g->min;
        capacity += g->count - g->min;
    }
    return false;
}

/* The tasks that no group takes, of all that the minimum asks for. */
static int64_t tasks_left(const gang_request *request, const int64_t *tasks)
{
    return request->min - tasks_inside(request, tasks, GANG__NO_SET);
}

/* Step to the next choice; `begun`: after the one in `tasks`. False: there is none. */
static bool next_choice(const gang_request *request, int64_t *tasks, bool begun)
{
    int64_t left = 0;
    if (!begun) {
        for (uint32_t group = 0; group < request->group_count; group++)
            left += request->group[group].min;
        left = share_out(request, 0, request->min - left, tasks);
        if (left == 0 && meets_sets(request, tasks))
            return true;
    }
    left = tasks_left(request, tasks);
    for (int steps = 0; steps < MAX_COUNTED && step(request, tasks, &left); steps++)
        if (left == 0 && meets_sets(request, tasks))
            return true;
    return false;
}

static uint32_t count_choices(const gang_request *request, int64_t *tasks)
{
    uint32_t count = 0;
    while (count < MAX_COUNTED && next_choice(request, tasks, count > 0))
        count++;
    return count;
}

/* Enters the choice in class->choice.tasks. */
static const struct gang__choice *enter(const gang_sched *s, struct gang__request_class *class)
{
    class->choice.take_count = gang__takes_sum(s, class, class->choice.tasks, class->choice.take);
    return &class->choice;
}

bool gang__choice_first(const gang_sched *s, struct gang__gang *g)
{
    struct gang__request_class *class = g->request_class;
    bool some = next_choice(class->request, class->choice.tasks, false);
    g->choice = some ? enter(s, class) : NULL;
    return some;
}

bool gang__choice_next(const gang_sched *s, struct gang__gang *g)
{
    struct gang__request_class *class = g->request_class;
    bool some = true;
    for (uint32_t i = 0; some && i < class->choice_stride; i++)
        some = next_choice(class->request, class->choice.tasks, true);
    g->choice = some ? enter(s, class) : NULL;
    return some;
}

void gang__choice_of_places(const gang_sched *s, struct gang__gang *g,
                            const struct gang_placement *places, int64_t count)
{
    struct gang__request_class *class = g->request_class;
    if (class->even)
        return;
    memset(class->choice.tasks, 0, class->request->group_count * sizeof(*class->choice.tasks));
    for (int64_t i = 0; i < count; i++)
        class->choice.tasks[places[i].group]++;
    g->choice = enter(s, class);
}

/* ---- of a class ------------------------------------------------------------------------------ */

void gang__choices_refresh(const gang_sched *s, struct gang__request_class *class)
{
    const gang_request *request = class->request;
    struct cost c = {s, class, 0, false};
    int64_t *tasks = class->choice.tasks;
    class->gang_take_count = class->most_take_count = 0;
    class->even = true;
    for (; c.dim < s->dims; c.dim++) {
        c.most = false;
        int64_t least = extreme(&c, tasks);
        c.most = true;
        int64_t most = extreme(&c, tasks);
        class->even = class->even && least == most;
        if (least)
            class->gang_take[class->gang_take_count++] = (struct gang__take){c.dim, least};
        if (most)
            class->most_take[class->most_take_count++] = (struct gang__take){c.dim, most};
    }
    c.dim = GPUS;
    c.most = false;
    class->gang_gpu = class->by_memory ? extreme(&c, tasks) : 0;
    uint32_t count = count_choices(request, tasks);
    class->choice_stride = (count + MAX_TRIED - 1) / MAX_TRIED;
    if (count > 0 && next_choice(request, tasks, false))
        memcpy(class->gang_tasks, tasks, request->group_count * sizeof(*tasks));
}
