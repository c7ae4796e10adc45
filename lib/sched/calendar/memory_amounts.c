/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by memory in the timeline: what a task takes depends on the devices that it lands on.
 *
 * What runs takes there what it holds. What is planned takes on each node what it may need at most
 * of the devices of that node that it may have; a node that has none of these takes none of it.
 * Tasks of one group that take different amounts are different groups of the occupation. */
#include <string.h>

#include "base/rcu.h"
#include "place/fit/fit.h"
#include "place/request/request.h"
#include "sched/calendar/calendar_in.h"

enum { NO_SHARE = 0 };
#define MORE_THAN_ANY (INT64_C(1) << 40) /* milli-GPUs: more than any node has */

static bool is_like(const struct gang__time_group *a, const struct gang__time_group *b)
{
    return memcmp(a->need, b->need, sizeof(a->need)) == 0 &&
           memcmp(a->more, b->more, sizeof(a->more)) == 0;
}

bool gang__calendar_group_like(gang_sched *s, const struct gang__time_group *like, size_t *count,
                               uint32_t *group)
{
    struct gang__calendar *cal = s->calendar;
    size_t g = *count;
    while (g > 0 && !is_like(&cal->group[g - 1], like))
        g--;
    *group = g > 0 ? (uint32_t)(g - 1) : (uint32_t)*count;
    if (g > 0)
        return true;
    if (!gang__grow(&s->mem, (void **)&cal->group, &cal->group_cap, *count + 1,
                    sizeof(*cal->group)))
        return false;
    cal->group[*count] = *like;
    cal->group[*count].count = 1;
    cal->group[(*count)++].max_per_node = 0;
    return true;
}

/* Milli-GPUs of one of these devices, at most. NO_SHARE: none of them has the memory. */
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

/* The milli-GPUs of a task on this node; only the devices that the place names, if it names any.
 * If the node changed, whole devices. */
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

bool gang__calendar_lay_out_memory(gang_sched *s, const struct gang__gang *gang,
                                   const struct gang_placement *place, size_t count, size_t *groups)
{
    const gang_request *request = gang__gang_request(gang);
    *groups = request->group_count;
    for (size_t i = 0; i < count; i++) {
        uint32_t group = (uint32_t)place[i].group;
        const struct gang__group *g = &request->group[group];
        struct gang__time_group like = s->calendar->group[group];
        if (g->devices > 0 && g->share == 0)
            like.need[GANG__FREE_GPU] = gpus_at(s, g, &place[i]);
        if (!gang__calendar_group_like(s, &like, groups, &group) ||
            !gang__calendar_add_place(s, place[i].node, group))
            return false;
    }
    return true;
}

/* ---- planning ---------------------------------------------------------------------------------
 */

/* Append what a task of each group needs on this node, behind all known kinds. False: no such
 * node, or its type is that of the last node. */
static bool read_kind(gang_sched *s, const gang_request *request, uint32_t slot, uint64_t *serial)
{
    struct gang__calendar *cal = s->calendar;
    struct gang__time_group *to = cal->variant + cal->kinds * cal->groups;
    gang__rcu_enter();
    const struct gang__node *node = gang__node_at(s->cluster, slot);
    bool other = node && node->type->serial != *serial;
    for (size_t i = 0; other && i < cal->groups; i++) {
        const struct gang__group *g = &request->group[cal->group_of[i]];
        *serial = node->type->serial;
        to[i] = cal->group[i];
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
static uint32_t kind_of(struct gang__calendar *cal)
{
    size_t kind = 0, bytes = cal->groups * sizeof(*cal->variant);
    while (memcmp(cal->variant + kind * cal->groups, cal->variant + cal->kinds * cal->groups,
                  bytes) != 0)
        kind++;
    cal->kinds += kind == cal->kinds;
    return (uint32_t)kind;
}

/* A bound for all nodes: the need on the node where it is least. */
static void lower(struct gang__calendar *cal)
{
    for (size_t i = 0; i < cal->groups && cal->kinds > 0; i++)
        for (size_t kind = 0; kind < cal->kinds; kind++) {
            int64_t need = cal->variant[kind * cal->groups + i].need[GANG__FREE_GPU];
            if (kind == 0 || need < cal->group[i].need[GANG__FREE_GPU])
                cal->group[i].need[GANG__FREE_GPU] = need;
        }
}

bool gang__calendar_memory_variants(gang_sched *s, const gang_request *request)
{
    struct gang__calendar *cal = s->calendar;
    uint64_t serial = 0;
    uint32_t kind = 0;
    cal->kinds = 0;
    if (!gang__grow(&s->mem, (void **)&cal->kind, &cal->kind_cap, (size_t)cal->end + 1,
                    sizeof(*cal->kind)))
        return false;
    for (uint32_t slot = 0; slot <= cal->end;
         slot++) { /* one more: the array exists even without nodes */
        if (!gang__grow(&s->mem, (void **)&cal->variant, &cal->variant_cap,
                        (cal->kinds + 1) * cal->groups, sizeof(*cal->variant)))
            return false;
        if (slot < cal->end && read_kind(s, request, slot, &serial))
            kind = kind_of(cal);
        cal->kind[slot] = kind;
    }
    lower(cal);
    if (cal->kinds == 0) /* all nodes have gone */
        memcpy(cal->variant, cal->group, cal->groups * sizeof(*cal->group));
    return true;
}

void gang__calendar_use_variants(struct gang__calendar *cal, struct gang__occupation *o)
{
    for (size_t i = 0; i < cal->fit.count; i++)
        cal->fit.place[i].group += cal->kind[cal->fit.place[i].node] * (uint32_t)cal->groups;
    o->group = cal->variant;
    o->group_count = (cal->kinds + (cal->kinds == 0)) * cal->groups;
}
