/* SPDX-License-Identifier: Apache-2.0 */
/* Occupations: what tasks at given places take of the timeline, and what an allocation takes of it.
 *
 * The timeline counts processors, memory and GPUs, and what reservations name of the kinds of the
 * site and of device profiles (more_kinds.c). The other kinds and profiles are left to place, which
 * decides when the gang starts. Of GPUs that are asked for by memory memory_amounts.c knows
 * more. */
#include <stdlib.h>
#include <string.h>

#include "place/whatif/whatif.h"
#include "sched/calendar/calendar_in.h"

/* ---- places and groups ----------------------------------------------------------------------- */

static bool reserve_groups(gang_sched *s, size_t count)
{
    struct gang__calendar *cal = s->calendar;
    return gang__grow(&s->mem, (void **)&cal->group, &cal->group_cap, count, sizeof(*cal->group));
}

bool gang__calendar_set_groups(gang_sched *s, const gang_request *request)
{
    struct gang__calendar *cal = s->calendar;
    if (!reserve_groups(s, request->group_count))
        return false;
    for (uint32_t group = 0; group < request->group_count; group++) {
        const struct gang__group *from = &request->group[group];
        struct gang__time_group *to = &cal->group[group];
        int64_t share = from->share ? from->share : 1;
        *to = (struct gang__time_group){.count = 1};
        to->need[GANG__FREE_CPU] = (int64_t)from->cpu;
        to->need[GANG__FREE_MEMORY] = (int64_t)from->pages * GANG_PAGE_BYTES;
        to->need[GANG__FREE_GPU] = from->profile ? 0 : share * (int64_t)from->devices;
        to->max_per_node = from->max_per_node < INT32_MAX ? from->max_per_node : 0;
        if (cal->more.count > 0 && !gang__calendar_more_of(s, from, to->more))
            return false;
    }
    return true;
}

bool gang__calendar_add_place(gang_sched *s, gang_node_id node, uint32_t group)
{
    struct gang__calendar *cal = s->calendar;
    if ((uint32_t)node >= cal->end)
        return true;
    if (!gang__grow(&s->mem, (void **)&cal->place, &cal->place_cap, cal->places + 1,
                    sizeof(*cal->place)))
        return false;
    cal->place[cal->places++] = (struct gang__time_place){(uint32_t)node, group, 1};
    return true;
}

static int by_node(const void *a, const void *b)
{
    const struct gang__time_place *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->group > y->group) - (x->group < y->group);
}

void gang__calendar_merge_places(struct gang__calendar *cal)
{
    size_t n = 0;
    if (cal->places > 1)
        qsort(cal->place, cal->places, sizeof(*cal->place), by_node);
    for (size_t i = 0; i < cal->places; i++) {
        if (n > 0 && by_node(&cal->place[n - 1], &cal->place[i]) == 0)
            cal->place[n - 1].tasks += cal->place[i].tasks;
        else
            cal->place[n++] = cal->place[i];
    }
    cal->places = n;
}

/* calendar.group and .place as an occupation from now on. */
static struct gang__occupation occupation_of_scratch(const struct gang__calendar *cal,
                                                     const gang_request *request, int64_t end_ns,
                                                     int64_t now_ns)
{
    return (struct gang__occupation){now_ns,     end_ns,      cal->group, request->group_count,
                                     cal->place, cal->places, 0,          request->exclusive};
}

bool gang__calendar_lay_out(gang_sched *s, const struct gang__gang *g,
                            const struct gang_placement *place, size_t count, int64_t end_ns,
                            struct gang__occupation *o)
{
    struct gang__calendar *cal = s->calendar;
    const gang_request *request = gang__gang_request(g);
    if (!gang__calendar_set_groups(s, request))
        return false;
    size_t groups = request->group_count;
    cal->places = 0;
    for (size_t i = 0; i < count && !g->request_class->by_memory; i++)
        if (!gang__calendar_add_place(s, place[i].node, (uint32_t)place[i].group))
            return false;
    if (g->request_class->by_memory && !gang__calendar_lay_out_memory(s, g, place, count, &groups))
        return false;
    gang__calendar_merge_places(cal);
    if (!gang__calendar_split_groups(s, g, groups))
        return false;
    *o = occupation_of_scratch(cal, request, end_ns, s->now_ns);
    o->group_count = groups;
    return true;
}

/* ---- what an allocation holds ---------------------------------------------------------------- */

struct holding {
    gang_sched *s;
    const gang_request *request;
    uint32_t lent; /* GANG__TIMESHARE_*: parts that a column holds, not the allocation */
    bool failed;
    bool by_memory; /* tasks of one group may hold different shares */
    size_t groups;
};

/* What the task holds, in a group that needs just that. */
static int32_t hold_share(struct holding *h, const struct gang_task *task,
                          const int64_t need[GANG__FREE_KINDS])
{
    uint32_t group;
    struct gang__time_group like = h->s->calendar->group[task->group];
    memcpy(like.need, need, sizeof(like.need));
    h->failed = h->failed || !gang__calendar_group_like(h->s, &like, &h->groups, &group) ||
                !gang__calendar_add_place(h->s, task->node, group);
    return h->failed;
}

static int32_t hold_task(const struct gang_task *task, void *user)
{
    struct holding *h = user;
    bool no_gpus = h->lent & GANG__TIMESHARE_GPU ||
                   gang__calendar_counts_instances(h->s->calendar, &h->request->group[task->group]);
    const int64_t need[GANG__FREE_KINDS] = {
        [GANG__FREE_CPU] = h->lent & GANG__TIMESHARE_CPU ? 0 : task->cpu_milli,
        [GANG__FREE_MEMORY] = task->memory_bytes,
        [GANG__FREE_GPU] = no_gpus ? 0 : (int64_t)task->gpu_count * task->gpu_share};
    if (h->by_memory)
        return hold_share(h, task, need);
    memcpy(h->s->calendar->group[task->group].need, need, sizeof(need));
    h->failed = h->failed || !gang__calendar_add_place(h->s, task->node, (uint32_t)task->group);
    return h->failed;
}

bool gang__calendar_lay_out_alloc(gang_sched *s, const struct gang__gang *g, gang_alloc_id alloc,
                                  int64_t end_ns, struct gang__occupation *o)
{
    struct gang__calendar *cal = s->calendar;
    const gang_request *request = gang__gang_request(g);
    struct holding h = {s, request, 0, false, g->request_class->by_memory, request->group_count};
    cal->places = 0;
    memset(o, 0, sizeof(*o));
    if (alloc == GANG_ID_NONE)
        return true;
    h.lent = s->source[GANG__SOURCE_SLICE]->shares(s, alloc);
    if (!gang__calendar_set_groups(s, request))
        return false;
    gang_result r = gang__alloc_each(s->cluster, alloc, hold_task, &h);
    if (h.failed || r == GANG_EBUSY || r == GANG_ENOMEM)
        return false;
    if (r != GANG_OK || cal->places == 0)
        return true;
    gang__calendar_merge_places(cal);
    if (!gang__calendar_split_groups(s, g, h.groups))
        return false;
    *o = occupation_of_scratch(cal, request, end_ns, s->now_ns);
    o->group_count = h.groups;
    return true;
}
