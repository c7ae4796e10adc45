/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of the site and device profiles in the timeline: those that reservations name.
 *
 * Each of them is a further kind of the timeline, counted by node. Of a profile its instances are
 * counted. An instance of another profile takes of them as many as it can be in the way of,
 * wherever it begins: the number of instances of the first, without overlap among them, that can
 * overlap it. It never costs more than that. So what the timeline shows as free can be
 * placed, but more may be free than it shows. Where no instance of the first is held or reserved,
 * the other may be in the way of more than there are: a kind of its own counts the instances alone,
 * and is the guard of the first (plan/timeline).
 *
 * What reservations do not name is not counted: place decides when a gang starts. */
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "sched/calendar/calendar_in.h"

/* ---- what is counted ------------------------------------------------------------------------- */

static bool is_same(const struct gang__more_kind *a, int32_t kind, const char *profile)
{
    return a->kind == kind && strcmp(a->profile, profile) == 0;
}

static bool add(struct gang__more_list *list, int32_t kind, const char *profile)
{
    uint32_t k = 0;
    while (k < list->count && !is_same(&list->kind[k], kind, profile))
        k++;
    if (k == GANG__MORE_MAX)
        return false;
    if (k < list->count)
        return true;
    struct gang__more_kind *to = &list->kind[list->count++];
    memset(to, 0, sizeof(*to));
    to->kind = kind;
    memcpy(to->profile, profile, strlen(profile));
    return true;
}

bool gang__more_list_add(struct gang__more_list *list, const gang_request *request)
{
    bool done = true;
    for (uint32_t i = 0; i < request->group_count && done; i++) {
        const struct gang__group *g = &request->group[i];
        for (size_t k = 0; k < g->node_need_count && done; k++)
            done = g->node_needs[k].amount == 0 || add(list, g->node_needs[k].kind, "");
        if (g->profile && done)
            done = add(list, GANG__MORE_INSTANCES, g->profile) &&
                   add(list, GANG__MORE_GUARD, g->profile);
    }
    return done;
}

bool gang__calendar_count_more(gang_sched *s, const struct gang__more_list *list)
{
    if (!s->calendar && list->count > 0)
        s->calendar = gang__zalloc(&s->mem, 1, sizeof(*s->calendar));
    struct gang__calendar *cal = s->calendar;
    if (!cal)
        return list->count == 0;
    if (cal->more.count == list->count &&
        memcmp(cal->more.kind, list->kind, list->count * sizeof(*list->kind)) == 0)
        return true;
    return gang__calendar_make_counting(s, list);
}

void gang__more_guards(const struct gang__more_list *list, int guard[GANG__MORE_MAX])
{
    for (uint32_t k = 0; k < list->count; k++) {
        guard[k] = -1;
        for (uint32_t j = 0; list->kind[k].kind == GANG__MORE_INSTANCES && j < list->count; j++)
            if (is_same(&list->kind[j], GANG__MORE_GUARD, list->kind[k].profile))
                guard[k] = (int)j;
    }
}

/* ---- what nodes have ------------------------------------------------------------------------- */

static void take_node(const gang_sched *s, const struct gang__more_list *list, uint32_t slot,
                      const struct gang_node_info *info, int64_t *to)
{
    gang__rcu_enter();
    const struct gang__node *node = gang__node_at(s->cluster, slot);
    for (uint32_t k = 0; k < list->count; k++)
        if (list->kind[k].kind >= 0)
            to[k] = info->amount[list->kind[k].kind];
        else if (list->kind[k].kind == GANG__MORE_GUARD)
            to[k] = GANG__AMOUNT_MAX;
        else if (node)
            to[k] = gang__instances_without(node->type, list->kind[k].profile, info->gpu_unhealthy);
    gang__rcu_leave();
}

bool gang__calendar_take_more(gang_sched *s, const struct gang__more_list *list,
                              struct gang__timeline *timeline, uint32_t end, int64_t **capacity)
{
    *capacity = NULL;
    if (list->count == 0)
        return true;
    *capacity = gang__zalloc(&s->mem, (size_t)end * list->count + 1, sizeof(**capacity));
    if (!*capacity)
        return false;
    for (gang_node_id n = gang_snapshot_node_next(s->scratch, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_snapshot_node_next(s->scratch, n)) {
        struct gang_node_info info = {.size = sizeof(info)};
        if ((uint32_t)n < end && gang_snapshot_node_get(s->scratch, n, &info) == GANG_OK &&
            info.state == GANG_NODE_UP)
            take_node(s, list, (uint32_t)n, &info, *capacity + (size_t)(uint32_t)n * list->count);
    }
    int guard[GANG__MORE_MAX];
    gang__more_guards(list, guard);
    if (gang__timeline_count_more(timeline, *capacity, guard, list->count) == GANG_OK)
        return true;
    gang__release(&s->mem, *capacity);
    *capacity = NULL;
    return false;
}

/* ---- what tasks take ------------------------------------------------------------------------- */

void gang__calendar_forget_costs(gang_sched *s)
{
    struct gang__calendar *cal = s->calendar;
    while (cal->costs) {
        struct gang__profile_cost *c = cal->costs;
        cal->costs = c->next;
        gang__release(&s->mem, c);
    }
}

/* How many instances of `of` that do not overlap each other can overlap one of `by`? */
static int64_t most_overlapped(const struct gang_profile_spec *by,
                               const struct gang_profile_spec *of)
{
    int64_t most = 0;
    for (int64_t start = 0; start < 64; start++) {
        int64_t count = 0, end = -1;
        if (!(by->starts >> start & 1))
            continue;
        for (int64_t at = 0; at < start + by->width && at < 64; at++)
            if (of->starts >> at & 1 && at + of->width > start && at >= end) {
                count++;
                end = at + of->width;
            }
        most = count > most ? count : most;
    }
    return most;
}

/* What an instance of a profile of these takes of each kind at most. */
static void raise_costs(const struct gang__more_list *list, const struct gang_node_spec *spec,
                        const struct gang_profile_spec *by, int64_t *cost)
{
    for (size_t j = 0; j < spec->profile_count; j++)
        for (uint32_t k = 0; k < list->count; k++)
            if (is_same(&list->kind[k], GANG__MORE_INSTANCES, spec->profiles[j].name)) {
                int64_t n = most_overlapped(by, &spec->profiles[j]);
                cost[k] = n > cost[k] ? n : cost[k];
            }
}

/* On any node of the cluster. */
static void find_costs(const gang_sched *s, struct gang__profile_cost *c)
{
    const struct gang__calendar *cal = s->calendar;
    uint64_t serial = 0;
    gang__rcu_enter();
    for (uint32_t slot = 0; slot < cal->end; slot++) {
        const struct gang__node *node = gang__node_at(s->cluster, slot);
        if (!node || !node->type->slices || node->type->serial == serial)
            continue;
        const struct gang_node_spec *spec = node->type->spec;
        serial = node->type->serial;
        for (size_t i = 0; i < spec->profile_count; i++)
            if (strcmp(spec->profiles[i].name, c->profile) == 0)
                raise_costs(&cal->more, spec, &spec->profiles[i], c->cost);
    }
    gang__rcu_leave();
    for (uint32_t k = 0; k < cal->more.count; k++) {
        const struct gang__more_kind *kind = &cal->more.kind[k];
        if (kind->kind < 0 && strcmp(kind->profile, c->profile) == 0 && c->cost[k] == 0)
            c->cost[k] = 1; /* the guard; or no node describes it */
    }
}

/* NULL: out of memory. */
static const struct gang__profile_cost *cost_of(gang_sched *s, const char *profile)
{
    struct gang__calendar *cal = s->calendar;
    size_t bytes = strlen(profile) + 1;
    for (struct gang__profile_cost *c = cal->costs; c; c = c->next)
        if (strcmp(c->profile, profile) == 0)
            return c;
    struct gang__profile_cost *c = gang__zalloc(&s->mem, 1, sizeof(*c) + bytes);
    if (!c)
        return NULL;
    memcpy(c->profile, profile, bytes);
    find_costs(s, c);
    c->next = cal->costs;
    cal->costs = c;
    return c;
}

bool gang__calendar_more_of(gang_sched *s, const struct gang__group *g, int64_t *more)
{
    const struct gang__calendar *cal = s->calendar;
    const struct gang__profile_cost *c = g->profile ? cost_of(s, g->profile) : NULL;
    if (g->profile && !c)
        return false;
    for (uint32_t k = 0; k < cal->more.count; k++) {
        more[k] = c ? c->cost[k] * (int64_t)g->devices : 0;
        for (size_t i = 0; i < g->node_need_count; i++)
            if (g->node_needs[i].kind == cal->more.kind[k].kind)
                more[k] = g->node_needs[i].amount;
    }
    return true;
}

/* ---- inside a reservation -------------------------------------------------------------------- */

/* Of what a task takes, does kind k lie inside? Instances do if its own profile is named. */
static bool is_inside(const struct gang__calendar *cal, const int64_t *more, uint32_t names,
                      uint32_t k)
{
    bool own = false;
    if (cal->more.kind[k].kind >= 0)
        return names >> k & 1;
    for (uint32_t j = 0; j < cal->more.count; j++)
        own = own || (cal->more.kind[j].kind == GANG__MORE_GUARD && names >> j & 1 && more[j] > 0);
    return own;
}

bool gang__calendar_split_groups(gang_sched *s, const struct gang__gang *g, size_t groups)
{
    struct gang__calendar *cal = s->calendar;
    cal->some_beside = false;
    if (cal->more.count == 0 || !g->reserve.inside_of)
        return true;
    if (!gang__grow(&s->mem, (void **)&cal->beside, &cal->beside_cap, groups, sizeof(*cal->beside)))
        return false;
    uint32_t names = s->source[GANG__SOURCE_RESERVE]->names(s, g);
    for (size_t i = 0; i < groups; i++) {
        struct gang__time_group all = cal->group[i];
        cal->beside[i] = (struct gang__time_group){.count = 1};
        for (uint32_t k = 0; k < cal->more.count; k++) {
            if (all.more[k] == 0 || is_inside(cal, all.more, names, k))
                continue;
            cal->beside[i].more[k] = all.more[k];
            cal->group[i].more[k] = 0;
            cal->some_beside = true;
        }
    }
    return true;
}

bool gang__calendar_fits_beside(const gang_sched *s, const struct gang__gang *g,
                                const struct gang__occupation *o)
{
    const struct gang__calendar *cal = s->calendar;
    struct gang__occupation beside = *o;
    if (!g->reserve.inside_of || !cal->some_beside)
        return true;
    beside.group = cal->beside;
    beside.whole = false;
    return gang__timeline_fits(cal->timeline, &beside);
}
