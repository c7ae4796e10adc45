/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by memory in the timeline (ahead.h): what a task takes depends on the devices that it lands on.
 *
 * What runs takes there what it holds. What is planned takes on each node what it may need at most of the devices of
 * that node that it may have; a node that has none of these takes none of it. Tasks of one group that take different
 * amounts are different groups of the occupation. */
#include <string.h>

#include "base/rcu.h"
#include "place/fit/filter.h"
#include "place/fit/node_plan.h"
#include "place/request/request.h"
#include "sched/calendar/calendar_in.h"

enum { NO_SHARE = 0 };
#define MORE_THAN_ANY (INT64_C(1) << 40) /* milli-GPUs: no node has so many */

bool gang__calendar_like(gang_sched *s, const int64_t need[GANG__FREE_KINDS], size_t *count,
                         uint32_t *group)
{
    struct gang__calendar *a = s->calendar;
    size_t bytes = GANG__FREE_KINDS * sizeof(*need), g = *count;
    while (g > 0 && memcmp(a->group[g - 1].need, need, bytes) != 0)
        g--;
    *group = g > 0 ? (uint32_t)(g - 1) : (uint32_t)*count;
    if (g > 0)
        return true;
    if (!gang__grow(&s->mem, (void **)&a->group, &a->group_room, *count + 1, sizeof(*a->group)))
        return false;
    a->group[*count] = (struct gang__time_group){1, {0, 0, 0}, 0};
    memcpy(a->group[(*count)++].need, need, bytes);
    return true;
}

/* Milli-GPUs of one of these devices, at most. NO_SHARE: none of them has so much. */
static int64_t most_of(const struct gang__group *g, const struct gang__node_type *shape,
                       uint64_t gpus)
{
    uint32_t most = NO_SHARE;
    for (; gpus; gpus &= gpus - 1) {
        uint32_t share =
            gang__share_asked(g->share, g->gpu_memory, &shape->spec->gpus[__builtin_ctzll(gpus)]);
        most = share > most ? share : most;
    }
    return most;
}

/* Of a task there. Where it is said which devices, of these. Whole ones: the node is another by now. */
static int64_t gpus_at(const gang_sched *s, const struct gang__group *g,
                       const struct gang_placement *place)
{
    int64_t share = NO_SHARE;
    gang__rcu_enter();
    const struct gang__node *node = gang__node_at(s->cluster, (uint32_t)place->node);
    if (node && node->id == place->node) {
        uint64_t may = gang__devices_of_models(g, node->type, SIZE_MAX);
        share = most_of(g, node->type, place->any_devices ? may : may & place->gpus);
    }
    gang__rcu_leave();
    return (int64_t)g->devices * (share == NO_SHARE ? 1000 : share);
}

bool gang__calendar_lay_out_memory(gang_sched *s, const struct gang__gang *u,
                                   const struct gang_placement *place, size_t count, size_t *groups)
{
    const gang_request *q = gang__gang_request(u);
    *groups = q->group_count;
    for (size_t i = 0; i < count; i++) {
        int64_t need[GANG__FREE_KINDS];
        uint32_t group = (uint32_t)place[i].group;
        const struct gang__group *g = &q->group[group];
        memcpy(need, s->calendar->group[group].need, sizeof(need));
        if (g->devices > 0 && g->share == 0)
            need[GANG__FREE_GPU] = gpus_at(s, g, &place[i]);
        if (!gang__calendar_like(s, need, groups, &group) ||
            !gang__calendar_place(s, place[i].node, group))
            return false;
    }
    return true;
}

/* ---- planning --------------------------------------------------------------------------------- */

/* What tasks of each group need on a node, behind all kinds that are known. False: of the same make as the last one,
 * or there is none. */
static bool read_kind(gang_sched *s, const gang_request *q, uint32_t slot, uint64_t *serial)
{
    struct gang__calendar *a = s->calendar;
    struct gang__time_group *to = a->variant + a->kinds * a->groups;
    gang__rcu_enter();
    const struct gang__node *node = gang__node_at(s->cluster, slot);
    bool other = node && node->type->serial != *serial;
    for (size_t i = 0; other && i < a->groups; i++) {
        const struct gang__group *g = &q->group[a->group_of[i]];
        *serial = node->type->serial;
        to[i] = a->group[i];
        if (g->devices == 0 || g->share > 0)
            continue;
        int64_t share = most_of(g, node->type, gang__devices_of_models(g, node->type, SIZE_MAX));
        to[i].need[GANG__FREE_GPU] =
            share == NO_SHARE ? MORE_THAN_ANY : share * (int64_t)g->devices;
    }
    gang__rcu_leave();
    return other;
}

/* The number of what was read. */
static uint32_t kind_of(struct gang__calendar *a)
{
    size_t kind = 0, bytes = a->groups * sizeof(*a->variant);
    while (memcmp(a->variant + kind * a->groups, a->variant + a->kinds * a->groups, bytes) != 0)
        kind++;
    a->kinds += kind == a->kinds;
    return (uint32_t)kind;
}

/* A bound for all nodes: what is needed where it is least. */
static void lower(struct gang__calendar *a)
{
    for (size_t i = 0; i < a->groups && a->kinds > 0; i++)
        for (size_t kind = 0; kind < a->kinds; kind++) {
            int64_t need = a->variant[kind * a->groups + i].need[GANG__FREE_GPU];
            if (kind == 0 || need < a->group[i].need[GANG__FREE_GPU])
                a->group[i].need[GANG__FREE_GPU] = need;
        }
}

bool gang__calendar_kinds(gang_sched *s, const gang_request *q)
{
    struct gang__calendar *a = s->calendar;
    uint64_t serial = 0;
    uint32_t kind = 0;
    a->kinds = 0;
    if (!gang__grow(&s->mem, (void **)&a->kind, &a->kind_room, (size_t)a->end + 1,
                    sizeof(*a->kind)))
        return false;
    for (uint32_t slot = 0; slot <= a->end;
         slot++) { /* one more: so that there is room if there is none */
        if (!gang__grow(&s->mem, (void **)&a->variant, &a->variant_room, (a->kinds + 1) * a->groups,
                        sizeof(*a->variant)))
            return false;
        if (slot < a->end && read_kind(s, q, slot, &serial))
            kind = kind_of(a);
        a->kind[slot] = kind;
    }
    lower(a);
    if (a->kinds == 0) /* all nodes have gone */
        memcpy(a->variant, a->group, a->groups * sizeof(*a->group));
    return true;
}

void gang__calendar_by_kind(struct gang__calendar *a, struct gang__occupation *o)
{
    for (size_t i = 0; i < a->fit.count; i++)
        a->fit.place[i].group += a->kind[a->fit.place[i].node] * (uint32_t)a->groups;
    o->group = a->variant;
    o->group_count = (a->kinds + (a->kinds == 0)) * a->groups;
}
