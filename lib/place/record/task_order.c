/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks are planned in runs: one group, one node. The runs are sorted, not the tasks. */
#include "place/record/task_order.h"

#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/state/records.h"

/* Does node copy `a` come before `b`, or is it the same? */
static bool is_before(const struct gang__plan *p, uint32_t a, uint32_t b)
{
    const struct gang__node_copy *x = &p->nodes.copy[a], *y = &p->nodes.copy[b];
    int order = gang__node_compare_domains(p->c, x->node, y->node);
    return order ? order < 0 : x->slot <= y->slot;
}

static inline bool is_one_run(const struct gang__task_plan *a, const struct gang__task_plan *b)
{
    return a->copy == b->copy && a->group == b->group;
}

/* How many runs there are; 0: they are in order. */
static size_t count_runs(const struct gang__plan *p)
{
    size_t runs = 1;
    bool in_order = true;
    for (const struct gang__task_plan *a = p->tasks.plan, *b = a + 1;
         b < p->tasks.plan + p->tasks.count; a = b++) {
        if (is_one_run(a, b))
            continue;
        runs++;
        if (in_order)
            in_order = a->group != b->group ? a->group < b->group : is_before(p, a->copy, b->copy);
    }
    return in_order ? 0 : runs;
}

/* The fields by which runs are sorted, the least significant first: slot, domains from the
 * narrowest level up, group. */
struct fields {
    uint32_t levels;
    unsigned slot, domain, group; /* bits of each */
    uint32_t none;                /* what stands for no domain */
};

static unsigned bits_of(uint64_t most)
{
    return most ? 64 - (unsigned)__builtin_clzll(most) : 0;
}

static unsigned width_of(const struct fields *f, uint32_t field)
{
    return field == 0 ? f->slot : field > f->levels ? f->group : f->domain;
}

/* The fields [from, to) of a planned task, beside each other. */
static inline uint64_t key_of(const struct gang__plan *p, const struct fields *f, uint32_t from,
                              uint32_t to, const struct gang__task_plan *planned)
{
    const struct gang__node_copy *v = &p->nodes.copy[planned->copy];
    uint64_t key = 0;
    if (to > f->levels + 1)
        key = planned->group;
    for (uint32_t field = to < f->levels + 1 ? to : f->levels + 1; field-- > from && field > 0;) {
        uint32_t domain = v->node->domain[f->levels - field];
        key = key << f->domain | (domain < f->none ? domain : f->none);
    }
    return from == 0 ? key << f->slot | v->slot : key;
}

/* Sort runs, given by the index of their first task. One pass sorts by as many fields as fit into a
 * key beside the index of the run, which keeps the order of the earlier passes. */
static void sort_runs(const struct gang__plan *p, uint64_t *run, uint64_t *key, size_t count)
{
    struct fields f = {.levels = p->c->nodes.level_count,
                       .slot = bits_of(gang__plan_end(p)),
                       .domain = bits_of(gang__domains_end(p->c)),
                       .group = bits_of(p->request->group_count - 1)};
    f.none = (UINT32_C(1) << f.domain) - 1;
    unsigned place = bits_of(count - 1);
    for (uint32_t from = 0, to = 0; from < f.levels + 2; from = to) {
        for (unsigned bits = place; to < f.levels + 2 && bits + width_of(&f, to) <= 64; to++)
            bits += width_of(&f, to);
        for (size_t i = 0; i < count; i++)
            key[i] = key_of(p, &f, from, to, &p->tasks.plan[run[i]]) << place | i;
        gang__sort_keys(key, count);
        for (size_t i = 0; i < count; i++)
            key[i] = run[key[i] & ((UINT64_C(1) << place) - 1)];
        for (size_t i = 0; i < count; i++)
            run[i] = key[i];
    }
}

/* Move planned[from[i]] to i, for all i. `from` is overwritten. */
static void permute(struct gang__task_plan *planned, uint64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (from[i] == i)
            continue;
        struct gang__task_plan first = planned[i];
        size_t at = i;
        while (from[at] != i) {
            size_t next = from[at];
            planned[at] = planned[next];
            from[at] = at;
            at = next;
        }
        planned[at] = first;
        from[at] = at;
    }
}

bool gang__rank_many(struct gang__plan *p)
{
    size_t runs = p->mode.adopting ? 0 : count_runs(p), planned_count = p->tasks.count, n = 0;
    if (!runs)
        return true;
    size_t at = gang__plan_words(p, 2 * runs + planned_count);
    if (p->out.failed)
        return false;
    uint64_t *run = p->word + at, *key = run + runs, *from = key + runs;
    for (size_t i = 0; i < planned_count; i++)
        if (i == 0 || !is_one_run(&p->tasks.plan[i - 1], &p->tasks.plan[i]))
            run[n++] = i;
    sort_runs(p, run, key, runs);
    n = 0;
    for (size_t i = 0; i < runs; i++) {
        size_t next = run[i];
        do {
            from[n++] = next++;
        } while (next < planned_count &&
                 is_one_run(&p->tasks.plan[next - 1], &p->tasks.plan[next]));
    }
    permute(p->tasks.plan, from, planned_count);
    return true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The next number of a group that may be free. */
struct cursor {
    int64_t number;
    const uint64_t *held; /* the first task of the group in the record that is not below it */
    const uint64_t *first_held;
    int64_t again; /* 1: no other number is left: those of tasks that ended */
};

static bool has_ended(const struct gang__plan *p, int64_t number)
{
    int64_t bit = number - p->request->group[0].first;
    return p->tasks.ended_tasks && (p->tasks.ended_tasks[bit / 64] >> (bit % 64) & 1);
}

static const uint64_t *next_of_group(const struct gang__alloc *a, const uint64_t *task)
{
    const uint64_t *next = gang__task_next(a, task);
    return next && gang__task_group(next) == gang__task_group(task) ? next : NULL;
}

static uint32_t next_number(const struct gang__plan *p, const struct gang__alloc *a, uint32_t group,
                            struct cursor *c)
{
    const struct gang__group *g = &p->request->group[group];
    for (;; c->number++) {
        if (c->number >= g->first + g->count) {
            c->number = g->first;
            c->held = c->first_held;
            c->again = 1;
        }
        if (c->held && gang__task_number(c->held) == c->number)
            c->held = next_of_group(a, c->held);
        else if (has_ended(p, c->number) == c->again)
            return (uint32_t)c->number++;
    }
}

/* The tasks have all numbers of the only group up to the last one: those that follow are free. */
static bool has_no_gap(const struct gang__plan *p, const struct gang__alloc *a)
{
    const struct gang__group *g = &p->request->group[0];
    return a && p->request->group_count == 1 && !p->tasks.ended_tasks &&
           a->next_number == g->first + (int64_t)a->tasks &&
           (int64_t)(a->tasks + p->tasks.count) <= g->count;
}

static bool choose_numbers(struct gang__plan *p, const struct gang__alloc *a)
{
    size_t groups = p->request->group_count;
    size_t at = gang__plan_words(p, groups * (sizeof(struct cursor) / sizeof(*p->word)));
    if (p->out.failed)
        return false;
    struct cursor *cursor = (struct cursor *)(void *)&p->word[at];
    for (size_t i = 0; i < groups; i++)
        cursor[i] = (struct cursor){p->request->group[i].first, NULL, NULL, 0};
    for (const uint64_t *task = a ? gang__task_first(a) : NULL; task;
         task = gang__task_next(a, task)) {
        struct cursor *c = &cursor[gang__task_group(task)];
        c->held = c->first_held = c->held ? c->held : task;
    }
    for (size_t i = 0; i < p->tasks.count; i++) {
        struct gang__task_plan *planned = &p->tasks.plan[i];
        planned->number = next_number(p, a, planned->group, &cursor[planned->group]);
    }
    return true;
}

/* A new gang, ranked: in each group the numbers from its first one on. Tasks of one group that
 * follow those of a record without a gap: the numbers behind these. */
static void number_on(struct gang__plan *p, uint32_t tasks)
{
    const struct gang__group *g = NULL;
    uint32_t next = 0;
    for (size_t i = 0; i < p->tasks.count; i++) {
        struct gang__task_plan *planned = &p->tasks.plan[i];
        if (g != &p->request->group[planned->group]) {
            g = &p->request->group[planned->group];
            next = (uint32_t)g->first + tasks;
        }
        planned->number = next++;
    }
}

static bool sort_by_number(struct gang__plan *p)
{
    size_t count = p->tasks.count, at = gang__plan_words(p, count);
    if (p->out.failed)
        return false;
    uint64_t *key = p->word + at;
    for (size_t i = 0; i < count; i++)
        key[i] = (uint64_t)p->tasks.plan[i].number << 32 | i;
    gang__sort_keys(key, count);
    for (size_t i = 0; i < count; i++)
        key[i] = (uint32_t)key[i];
    permute(p->tasks.plan, key, count);
    return true;
}

bool gang__number_many(struct gang__plan *p, const struct gang__alloc *a)
{
    bool any = p->tasks.count > 0 && p->tasks.plan[0].number == GANG__ANY_NUMBER;
    if ((!a && !p->mode.adopting && !p->tasks.ended_tasks) || (any && has_no_gap(p, a))) {
        number_on(p, a ? a->tasks : 0);
        return true;
    }
    if (any && !choose_numbers(p, a))
        return false;
    for (size_t i = 1; i < p->tasks.count; i++)
        if (p->tasks.plan[i].number < p->tasks.plan[i - 1].number)
            return sort_by_number(p);
    return true;
}
