/* SPDX-License-Identifier: Apache-2.0 */
/* When a gang fits, and where: the query that planned starts, backfill and reservations share. */
#include <string.h>

#include "base/rcu.h"
#include "place/fit/fit.h"
#include "place/request/request.h"
#include "sched/calendar/calendar_in.h"

/* Does it matter to a group on which nodes it lies? */
static bool is_choosy(const gang_sched *s, const gang_request *request)
{
    bool some = gang__modes_now(s->cluster) != NULL;
    for (uint32_t group = 0; group < request->group_count; group++)
        some = some || request->group[group].filters || request->group[group].same >= 0;
    return some || request->same >= 0;
}

/* Marks the open nodes on which some group may run. */
static void make_mask(gang_sched *s, const gang_request *request, const uint64_t *open)
{
    struct gang__calendar *cal = s->calendar;
    size_t words = cal->end / 64 + 1;
    memset(cal->mask, 0, words * sizeof(*cal->mask));
    gang__filter_mask(s->cluster, request, cal->end, cal->mask);
    for (size_t i = 0; open && i < words; i++)
        cal->mask[i] &= open[i];
}

void gang__calendar_mask_domain(gang_sched *s, int32_t level, uint32_t index)
{
    struct gang__calendar *cal = s->calendar;
    memset(cal->domain, 0, (cal->end / 64 + 1) * sizeof(*cal->domain));
    gang__rcu_enter();
    for (uint32_t slot = 0; slot < cal->end; slot++) {
        const struct gang__node *node =
            cal->mask[slot / 64] >> (slot % 64) & 1 ? gang__node_at(s->cluster, slot) : NULL;
        if (node && node->domain[level] == index)
            gang__mask_put(cal->domain, slot);
    }
    gang__rcu_leave();
}

/* The earliest start in any domain of the level. */
static gang_result earliest_in(gang_sched *s, const struct gang__gang *g,
                               struct gang__time_request *request, int32_t level, int64_t from_ns)
{
    struct gang__calendar *cal = s->calendar;
    gang_result best = GANG_ENEVER;
    uint32_t count = gang__domain_count(s->cluster, (uint32_t)level);
    request->nodes = cal->domain;
    for (uint32_t i = 0; i < count; i++) {
        gang__calendar_mask_domain(s, level,
                                   gang__domain_at(s->cluster, (uint32_t)level, i)->index);
        gang_result r = gang__timeline_earliest(gang__calendar_timeline_of(s, g), request, from_ns,
                                                &cal->other);
        if (r != GANG_OK && r != GANG_ENEVER)
            return r;
        if (r == GANG_OK && (best != GANG_OK || cal->other.start_ns < cal->fit.start_ns)) {
            struct gang__time_fit swap = cal->fit;
            cal->fit = cal->other;
            cal->other = swap;
            best = GANG_OK;
        }
    }
    return best;
}

gang_result gang__calendar_earliest_on(gang_sched *s, const struct gang__gang *g, int64_t from_ns,
                                       const uint64_t *open)
{
    struct gang__calendar *cal = s->calendar;
    const gang_request *request = gang__gang_request(g);
    struct gang__time_request asked = {
        NULL, 0, gang__calendar_estimate(s, g), NULL, request->exclusive, NULL, NULL};
    bool choosy = open || is_choosy(s, request);
    if (!gang__calendar_set_groups(s, request) ||
        !gang__grow(&s->mem, (void **)&cal->group_of, &cal->group_of_cap, request->group_count,
                    sizeof(*cal->group_of)))
        return GANG_ENOMEM;
    if (!gang__calendar_split_groups(s, g, request->group_count))
        return GANG_ENOMEM;
    asked.group = cal->group; /* it may have grown */
    if (choosy)
        make_mask(s, request, open);
    asked.nodes = choosy ? cal->mask : NULL; /* those that are not up have nothing */
    /* Groups that may start empty are left out. */
    for (uint32_t group = 0; group < request->group_count; group++) {
        cal->group[asked.group_count] = cal->group[group];
        cal->group[asked.group_count].count = gang__gang_tasks(g)[group];
        cal->group_of[asked.group_count] = group;
        asked.group_count += gang__gang_tasks(g)[group] > 0;
    }
    if (asked.group_count == 0) /* the last one, for whatever comes first */
        cal->group[asked.group_count++].count = 1;
    cal->groups = asked.group_count;
    if (g->request_class->by_memory && !gang__calendar_memory_variants(s, request))
        return GANG_ENOMEM;
    asked.variant = g->request_class->by_memory ? cal->variant : NULL;
    asked.kind = cal->kind;
    int32_t same = request->same != GANG__NO_LEVEL ? request->same
                   : request->group_count == 1     ? request->group[0].same
                                                   : (int32_t)GANG__NO_LEVEL;
    if (same >= 0 && same < GANG_MAX_LEVELS)
        return earliest_in(s, g, &asked, same, from_ns);
    return gang__timeline_earliest(gang__calendar_timeline_of(s, g), &asked, from_ns, &cal->fit);
}

gang_result gang__calendar_earliest(gang_sched *s, const struct gang__gang *g, int64_t from_ns)
{
    return gang__calendar_earliest_on(s, g, from_ns, NULL);
}

bool gang__calendar_fits_now(gang_sched *s, const struct gang__gang *g)
{
    return gang__calendar_earliest(s, g, s->now_ns) == GANG_OK &&
           s->calendar->fit.start_ns == s->now_ns;
}
