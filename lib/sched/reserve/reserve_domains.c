/* SPDX-License-Identifier: Apache-2.0 */
/* Which whole domains a reservation gets, and when: those that are free together. */
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/reserve/reserve_in.h"

/* The first domains of the level that are free from start_ns on, as many as the stage requests;
 * their nodes are left in `node`, sorted. */
static size_t domains_at(gang_sched *s, const struct gang__reserve_stage *stage, int64_t start_ns,
                         uint32_t *node)
{
    struct gang__calendar *cal = s->calendar;
    uint32_t count = gang__domain_count(s->cluster, (uint32_t)stage->level);
    int64_t found = 0;
    memset(cal->domain, 0, (cal->end / 64 + 1) * sizeof(*cal->domain));
    for (uint32_t i = 0; i < count && found < stage->domains; i++) {
        uint32_t index = gang__domain_at(s->cluster, (uint32_t)stage->level, i)->index;
        size_t n = gang__reserve_domain_nodes(s, stage->level, index, node);
        bool up = n > 0;
        for (size_t k = 0; k < n; k++) {
            cal->place[k] = (struct gang__time_place){node[k], 0, 1};
            const int64_t *has = cal->capacity + (size_t)node[k] * GANG__FREE_KINDS;
            up = up && (has[0] > 0 || has[1] > 0 || has[2] > 0);
        }
        struct gang__occupation o = {
            start_ns, gang__add_sat(start_ns, stage->duration_ns), cal->group, 1, cal->place, n, 0,
            true};
        if (!up || !gang__timeline_fits(cal->timeline, &o))
            continue;
        found++;
        for (size_t k = 0; k < n; k++)
            gang__mask_put(cal->domain, node[k]);
    }
    size_t all = 0;
    for (uint32_t slot = 0; slot < cal->end && found == stage->domains; slot++)
        if (cal->domain[slot / 64] >> (slot % 64) & 1)
            node[all++] = slot;
    return all;
}

/* The next time after one at which something comes free. */
static int64_t next_step(gang_sched *s, int64_t at_ns)
{
    int64_t unused[GANG__FREE_DIMS];
    return gang__timeline_sum_at(s->calendar->timeline, at_ns, unused);
}

/* Find the earliest time at which enough domains are free. The stage then names their nodes, with
 * a fixed start. */
static gang_result pick_domains(gang_sched *s, struct gang__reserve *r,
                                struct gang__reserve_request *request)
{
    struct gang__calendar *cal = s->calendar;
    const struct gang__reserve_stage *stage = &r->stage[0];
    int64_t at = r->start_ns >= 0 ? r->start_ns : r->arrival_ns;
    size_t n = 0, words = cal->end / 64 + 1;
    at = at > s->now_ns ? at : s->now_ns;
    if (!gang__grow(&s->mem, (void **)&cal->place, &cal->place_cap, cal->end + 1,
                    sizeof(*cal->place)) ||
        !gang__grow(&s->mem, (void **)&cal->group, &cal->group_cap, 1, sizeof(*cal->group)) ||
        !gang__grow(&s->mem, (void **)&cal->domain, &cal->domain_cap, words, sizeof(*cal->domain)))
        return GANG_ENOMEM;
    cal->group[0] = (struct gang__time_group){.count = 1};
    if (r->start_ns >= 0 && r->start_ns < s->now_ns)
        return GANG_ENOFIT;
    gang__rcu_enter();
    while ((n = domains_at(s, stage, at, request->node)) == 0 && r->start_ns < 0 &&
           at != GANG__NEVER)
        at = next_step(s, at);
    gang__rcu_leave();
    if (n == 0)
        return at == GANG__NEVER ? GANG_ENEVER : GANG_ENOFIT;
    request->stage[0].node = request->node;
    request->stage[0].node_count = n;
    request->a.fixed = true;
    request->a.start_ns = at;
    s->reserve.all->got.next_ns = at;
    return at > r->deadline_ns - stage->duration_ns ? GANG_ENOFIT : GANG_OK;
}

/* All tasks of the only group go into one domain: the domain in which they can begin first. */
static gang_result pick_same(gang_sched *s, struct gang__reserve *r,
                             struct gang__reserve_request *request)
{
    struct gang__calendar *cal = s->calendar;
    struct gang__admitted *got = &s->reserve.all->got;
    int32_t level = r->stage[0].request->group[0].same;
    uint32_t count = gang__domain_count(s->cluster, (uint32_t)level), best = UINT32_MAX;
    int64_t best_ns = GANG__NEVER, next_ns = GANG__NEVER;
    gang_result last = GANG_ENEVER;
    size_t words = cal->end / 64 + 1;
    uint64_t *all = gang__zalloc(&s->mem, words, sizeof(*all));
    if (!all)
        return GANG_ENOMEM;
    memcpy(all, request->mask, words * sizeof(*all));
    for (uint32_t i = 0; i <= count; i++) { /* and at last in the best one again, to stay */
        uint32_t at = i < count ? i : best;
        if (at == UINT32_MAX)
            break;
        memcpy(cal->mask, all, words * sizeof(*all));
        gang__calendar_mask_domain(s, level,
                                   gang__domain_at(s->cluster, (uint32_t)level, at)->index);
        memcpy(request->mask, cal->domain, words * sizeof(*all));
        gang_result w = gang__admit(cal->timeline, &request->a, got);
        if (w == GANG_OK && i == count) {
            last = w;
            break;
        }
        if (w != GANG_OK && w != GANG_ENOFIT && w != GANG_ENEVER) {
            last = w;
            break;
        }
        last = last == GANG_ENEVER ? w : last;
        next_ns = w == GANG_ENOFIT && got->next_ns < next_ns ? got->next_ns : next_ns;
        if (w == GANG_OK && got->piece[0].start_ns < best_ns) {
            best_ns = got->piece[0].start_ns;
            best = i;
        }
        if (w == GANG_OK)
            gang__admitted_undo(cal->timeline, got);
    }
    gang__release(&s->mem, all);
    if (last != GANG_OK)
        got->next_ns = next_ns;
    return last == GANG_OK && got->count == 0 ? GANG_ENOFIT : last;
}

gang_result gang__reserve_admit_whole(gang_sched *s, struct gang__reserve *r,
                                      struct gang__reserve_request *request)
{
    struct gang__admitted *got = &s->reserve.all->got;
    const struct gang__reserve_stage *first = &r->stage[0];
    got->why = GANG__ADMIT_FULL;
    got->stage = 0;
    got->next_ns = GANG__NEVER;
    if (first->request && first->request->group_count == 1 && first->request->group[0].same >= 0 &&
        first->request->group[0].same < GANG_MAX_LEVELS)
        return pick_same(s, r, request);
    if (first->level != GANG__NO_LEVEL && first->domains > 0) {
        gang_result w = pick_domains(s, r, request);
        if (w != GANG_OK)
            return w;
    }
    return gang__admit(s->calendar->timeline, &request->a, got);
}
