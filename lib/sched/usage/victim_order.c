/* SPDX-License-Identifier: Apache-2.0 */
/* The order of victims in each leaf: the gangs that run, lowest priority first, of equals the
 * newest; and those of them that have tasks above their minimum (elastic victims).
 *
 * A gang that starts is only listed in s->usage.unsorted_victims. gang__victims_sort() sorts it
 * into its leaf before the order is read the next time, because most gangs end before that. */
#include "place/request/request.h"
#include "sched/record/state.h"
#include "sched/usage/usage_in.h"

static int by_number(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Victims: lowest priority first, of equals the newest. */
static int preempted_before(const struct gang__gang *x, const struct gang__gang *y)
{
    int c = by_number(x->victim.priority, y->victim.priority);
    if (c == 0)
        c = by_number(y->victim.age, x->victim.age);
    if (c == 0)
        c = by_number((int64_t)y->job->id, (int64_t)x->job->id);
    return c ? c : by_number(y->index, x->index);
}

static int compare_victims(const struct gang__set_link *a, const struct gang__set_link *b,
                           const void *ctx)
{
    (void)ctx;
    return preempted_before(GANG__OF(struct gang__gang, victim.link, a),
                            GANG__OF(struct gang__gang, victim.link, b));
}

static int compare_elastic(const struct gang__set_link *a, const struct gang__set_link *b,
                           const void *ctx)
{
    (void)ctx;
    return preempted_before(GANG__OF(struct gang__gang, victim.elastic_link, a),
                            GANG__OF(struct gang__gang, victim.elastic_link, b));
}

void gang__victims_init(struct gang__queue_state *q)
{
    gang__set_init(&q->victims, compare_victims, q);
    gang__set_init(&q->elastic_victims, compare_elastic, q);
}

static void fresh_put(gang_sched *s, struct gang__gang *g)
{
    g->victim.in_unsorted.next = s->usage.unsorted_victims;
    g->victim.in_unsorted.at = &s->usage.unsorted_victims;
    if (s->usage.unsorted_victims)
        s->usage.unsorted_victims->victim.in_unsorted.at = &g->victim.in_unsorted.next;
    s->usage.unsorted_victims = g;
    g->victim.unsorted = true;
}

static void fresh_take(struct gang__gang *g)
{
    *g->victim.in_unsorted.at = g->victim.in_unsorted.next;
    if (g->victim.in_unsorted.next)
        g->victim.in_unsorted.next->victim.in_unsorted.at = g->victim.in_unsorted.at;
    g->victim.unsorted = false;
}

void gang__victims_enter(gang_sched *s, struct gang__gang *g)
{
    if (g->victim.listed)
        return;
    g->victim.listed = true;
    g->victim.priority = g->job->priority;
    g->victim.age = g->job->age;
    fresh_put(s, g);
    gang__victims_settle_elastic(g);
}

void gang__victims_leave(struct gang__gang *g)
{
    if (g->victim.listed && g->victim.unsorted)
        fresh_take(g);
    else if (g->victim.listed)
        gang__set_remove(&g->job->leaf->victims, &g->victim.link);
    g->victim.listed = false;
    gang__victims_settle_elastic(g);
}

void gang__victims_settle_elastic(struct gang__gang *g)
{
    bool sheds = g->victim.listed && g->tasks + g->ended > gang__gang_request(g)->min;
    if (sheds && !g->victim.elastic)
        gang__set_insert(&g->job->leaf->elastic_victims, &g->victim.elastic_link);
    else if (!sheds && g->victim.elastic)
        gang__set_remove(&g->job->leaf->elastic_victims, &g->victim.elastic_link);
    g->victim.elastic = sheds;
}

/* Sorts the first gangs of the list, of one leaf, into it. Returns the rest of the list. Gangs that
 * were stopped and started again go between others all over the memory. */
static struct gang__gang *sort_some(struct gang__gang *g)
{
    struct gang__ordered_set *set = &g->job->leaf->victims;
    struct gang__set_link *link[GANG__SET_PREFETCHED];
    uint32_t count = 0;
    for (; g && count < GANG__SET_PREFETCHED && &g->job->leaf->victims == set;
         g = g->victim.in_unsorted.next) {
        g->victim.unsorted = false;
        link[count++] = &g->victim.link;
    }
    gang__set_prefetch_insert(set, link, count,
                              offsetof(struct gang__gang_victim, age) + sizeof(int64_t));
    for (uint32_t i = 0; i < count; i++)
        gang__set_insert_end(set, link[i], 0);
    return g;
}

void gang__victims_sort(gang_sched *s)
{
    struct gang__gang *oldest = NULL;
    while (s->usage.unsorted_victims) { /* reverse: the newest goes in last, before all others */
        struct gang__gang *g = s->usage.unsorted_victims;
        s->usage.unsorted_victims = g->victim.in_unsorted.next;
        g->victim.in_unsorted.next = oldest;
        oldest = g;
    }
    while (oldest)
        oldest = sort_some(oldest);
}
