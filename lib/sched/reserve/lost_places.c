/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks of a piece are lost, and what is left of it: a place is whole if its node is up and
 * has enough for the tasks that lie there. */
#include "sched/reserve/reserve_in.h"

/* Has the node enough for the tasks of this place? */
static bool is_whole(const gang_sched *s, const struct gang__occupation *o, size_t place)
{
    const struct gang__calendar *cal = s->calendar;
    const struct gang__time_place *at = &o->place[place];
    const int64_t *has = cal->capacity + (size_t)at->node * GANG__FREE_KINDS;
    bool up = false, enough = true;
    int guard[GANG__MORE_MAX];
    gang__more_guards(&cal->more, guard);
    for (int k = 0; k < GANG__FREE_KINDS; k++) {
        up = up || has[k] > 0;
        enough = enough && has[k] >= o->group[at->group].need[k] * at->tasks;
    }
    const int64_t *need = o->group[at->group].more;
    for (uint32_t k = 0; k < cal->more.count; k++)
        enough =
            enough &&
            (cal->more_capacity[(size_t)at->node * cal->more.count + k] >= need[k] * at->tasks ||
             (guard[k] >= 0 && need[guard[k]] == 0)); /* it is only in the way of others */
    return up && enough;
}

void gang__reserve_keep_whole(const gang_sched *s, struct gang__occupation *o)
{
    size_t n = 0;
    for (size_t i = 0; i < o->place_count; i++)
        if (is_whole(s, o, i))
            s->calendar->place[n++] = o->place[i];
    o->place_count = n;
}

int64_t gang__reserve_count_lost(gang_sched *s, const struct gang__reserve *r,
                                 const struct gang__reserve_piece *p, int64_t *lost)
{
    struct gang__occupation o;
    int64_t sum = 0;
    size_t length = 0;
    if (!gang__reserve_lay_out(s, r, p, &o))
        return -1;
    for (uint32_t i = 0; i < p->run_count; i++)
        length += p->run[i].nodes;
    for (size_t i = 0; i < o.place_count; i++)
        if (!is_whole(s, &o, i)) {
            sum += o.place[i].tasks;
            if (lost)
                lost[o.place[i].group] += o.place[i].tasks;
        }
    return sum + (int64_t)(length - o.place_count); /* nodes that were removed */
}

struct gang__reserve_piece *gang__reserve_rest_of(gang_sched *s, const struct gang__reserve *r,
                                                  const struct gang__reserve_piece *p)
{
    struct gang__occupation o;
    size_t runs = 0;
    if (!gang__reserve_lay_out(s, r, p, &o))
        return NULL;
    struct gang__reserve_piece *rest =
        gang__zalloc(&s->mem, 1, sizeof(*rest) + (o.place_count + 1) * sizeof(rest->run[0]));
    if (!rest)
        return NULL;
    *rest = *p;
    for (size_t i = 0; i < o.place_count; i++) {
        struct gang__reserve_run *last = runs ? &rest->run[runs - 1] : NULL;
        const struct gang__time_place *at = &o.place[i];
        if (!is_whole(s, &o, i))
            continue;
        if (last && last->node + last->nodes == at->node && last->group == at->group &&
            last->tasks == (uint32_t)at->tasks)
            last->nodes++;
        else
            rest->run[runs++] =
                (struct gang__reserve_run){at->node, 1, at->group, (uint32_t)at->tasks};
    }
    rest->run_count = (uint32_t)runs;
    rest->hurt = false;
    rest->id = 0;
    return rest;
}
