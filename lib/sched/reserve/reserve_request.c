/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a reservation as plan/admit/admit.h asks for them, and what was found as pieces of
 * the reservation. */
#include <stdlib.h>
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/reserve/reserve_in.h"

/* ---- the question ---------------------------------------------------------------------------- */

void gang__reserve_request_free(gang_sched *s, struct gang__reserve_request *request)
{
    gang__release(&s->mem, request->stage);
    gang__release(&s->mem, request->group);
    gang__release(&s->mem, request->mask);
    gang__release(&s->mem, request->node);
}

size_t gang__reserve_domain_nodes(gang_sched *s, int32_t level, uint32_t index, uint32_t *node)
{
    size_t n = 0;
    gang__rcu_enter();
    for (uint32_t slot = 0; slot < s->calendar->end; slot++) {
        const struct gang__node *at = gang__node_at(s->cluster, slot);
        if (at && at->domain[level] == index && gang__node_id_at(s->cluster, slot) != GANG_ID_NONE)
            node[n++] = slot;
    }
    gang__rcu_leave();
    return n;
}

static bool list_kinds(struct gang__more_list *list, const struct gang__reserve *r)
{
    bool done = true;
    for (size_t i = 0; r && i < r->stage_count && done; i++)
        done = !r->stage[i].request || gang__more_list_add(list, r->stage[i].request);
    return done;
}

uint32_t gang__reserve_names(const gang_sched *s, const struct gang__gang *g)
{
    const struct gang__reserve *r = g->reserve.inside_of;
    const struct gang__more_list *all = &s->calendar->more;
    struct gang__more_list list;
    uint32_t names = 0;
    memset(&list, 0, sizeof(list));
    for (size_t i = 0; i < r->stage_count; i++)
        if (r->stage[i].whole)
            return UINT32_MAX;
    (void)list_kinds(&list, r); /* it was short enough when it was accepted */
    for (uint32_t k = 0; k < all->count; k++)
        for (uint32_t j = 0; j < list.count; j++)
            if (memcmp(&all->kind[k], &list.kind[j], sizeof(list.kind[j])) == 0)
                names |= UINT32_C(1) << k;
    return names;
}

gang_result gang__reserve_count_kinds(gang_sched *s, const struct gang__reserve *more,
                                      struct gang_error *error)
{
    struct gang__more_list list;
    memset(&list, 0, sizeof(list));
    bool done = true;
    for (const struct gang__reserve *r = s->reserve.all->first; r && done; r = r->next)
        done = list_kinds(&list, r);
    if (!done || !list_kinds(&list, more))
        return gang__error(error, GANG_ELIMIT, "stages",
                           "reservations name more than %d kinds and profiles", GANG__MORE_MAX);
    return gang__calendar_count_more(s, &list)
               ? GANG_OK
               : gang__error(error, GANG_ENOMEM, NULL, "out of memory");
}

/* Nodes that are up and on which its groups may lie. */
static void stage_mask(gang_sched *s, const gang_request *request, uint64_t *mask)
{
    const struct gang__calendar *cal = s->calendar;
    gang__filter_mask(s->cluster, request, cal->end, mask);
    for (uint32_t slot = 0; slot < cal->end; slot++) {
        const int64_t *has = cal->capacity + (size_t)slot * GANG__FREE_KINDS;
        if (has[GANG__FREE_CPU] <= 0 && has[GANG__FREE_MEMORY] <= 0 && has[GANG__FREE_GPU] <= 0)
            mask[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
    }
}

static bool fill_stage(gang_sched *s, const struct gang__reserve_stage *from,
                       struct gang__admit_stage *to, struct gang__time_group *group, uint64_t *mask,
                       uint32_t *node)
{
    *to = (struct gang__admit_stage){.duration_ns = from->duration_ns, .whole = from->whole};
    if (from->request) {
        if (!gang__calendar_set_groups(s, from->request))
            return false;
        memcpy(group, s->calendar->group, from->request->group_count * sizeof(*group));
        for (uint32_t g = 0; g < from->request->group_count; g++)
            group[g].count = from->count[g];
        to->group = group;
        to->group_count = from->request->group_count;
        to->gang = from->gang;
        to->nodes = mask;
        stage_mask(s, from->request, mask);
        return true;
    }
    to->node = node;
    if (from->level != GANG__NO_LEVEL && from->domains == 0)
        to->node_count = gang__reserve_domain_nodes(s, from->level, from->domain, node);
    else
        for (to->node_count = 0; to->node_count < from->node_count; to->node_count++)
            node[to->node_count] = (uint32_t)from->node[to->node_count];
    return true;
}

bool gang__reserve_request_make(gang_sched *s, const struct gang__reserve *r,
                                struct gang__reserve_request *request)
{
    size_t groups = 0, words = s->calendar->end / 64 + 1;
    memset(request, 0, sizeof(*request));
    for (size_t i = 0; i < r->stage_count; i++)
        groups += r->stage[i].request ? r->stage[i].request->group_count : 0;
    request->stage = gang__zalloc(&s->mem, r->stage_count, sizeof(*request->stage));
    request->group = gang__zalloc(&s->mem, groups + 1, sizeof(*request->group));
    request->mask = gang__zalloc(&s->mem, r->stage_count * words, sizeof(*request->mask));
    request->node =
        gang__zalloc(&s->mem, r->stage_count * s->calendar->end + 1, sizeof(*request->node));
    bool done = request->stage && request->group && request->mask && request->node;
    groups = 0;
    for (size_t i = 0; i < r->stage_count && done; i++) {
        done = fill_stage(s, &r->stage[i], &request->stage[i], request->group + groups,
                          request->mask + i * words, request->node + i * s->calendar->end);
        groups += r->stage[i].request ? r->stage[i].request->group_count : 0;
    }
    request->a = (struct gang__admit_request){.arrival_ns = r->arrival_ns,
                                              .deadline_ns = r->deadline_ns,
                                              .fixed = r->start_ns >= 0,
                                              .start_ns = r->start_ns,
                                              .stage = request->stage,
                                              .stage_count = r->stage_count,
                                              .combine = r->combine,
                                              .prefer = r->prefer,
                                              .usage = r->usage};
    static const int combine[] = {GANG__ADMIT_ALL, GANG__ADMIT_ANY, GANG__ADMIT_ORDER,
                                  GANG__ADMIT_ORDER_NO_GAP};
    static const int prefer[] = {GANG__ADMIT_EARLIEST, GANG__ADMIT_LATEST, GANG__ADMIT_CHEAPEST};
    request->a.combine = combine[r->combine];
    request->a.prefer = prefer[r->prefer];
    return done;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Neighbours with as many tasks of a group each become one run. `run` may be NULL. */
static size_t count_runs(const struct gang__time_place *place, size_t count,
                         struct gang__reserve_run *run)
{
    size_t n = 0;
    struct gang__reserve_run last = {0, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        const struct gang__time_place *p = &place[i];
        uint32_t tasks = p->tasks > 0 ? (uint32_t)p->tasks : 1;
        if (last.nodes && p->node == last.node + last.nodes && p->group == last.group &&
            tasks == last.tasks) {
            last.nodes++;
        } else {
            last = (struct gang__reserve_run){p->node, 1, p->group, tasks};
            n++;
        }
        if (run)
            run[n - 1] = last;
    }
    return n;
}

bool gang__reserve_accept_pieces(gang_sched *s, struct gang__reserve *r, int64_t instance,
                                 uint32_t only)
{
    struct gang__admitted *got = &s->reserve.all->got;
    struct gang__reserve_piece *list = NULL;
    bool done = true;
    for (size_t i = got->count; i-- > 0 && done;) {
        const struct gang__admit_piece *from = &got->piece[i];
        const struct gang__time_place *place = got->place + from->place;
        size_t runs = count_runs(place, from->place_count, NULL);
        struct gang__reserve_piece *p =
            gang__zalloc(&s->mem, 1, sizeof(*p) + runs * sizeof(p->run[0]));
        done = p != NULL;
        if (!done)
            break;
        p->start_ns = from->start_ns;
        p->end_ns = from->end_ns;
        p->instance = instance + from->instance;
        p->stage = only == UINT32_MAX ? from->stage : only;
        p->id = from->id + 1;
        p->booking = got->usage ? from->usage_id + 1 : 0;
        p->run_count = (uint32_t)count_runs(place, from->place_count, p->run);
        p->next = list;
        list = p;
    }
    if (!done)
        gang__admitted_undo(s->calendar->timeline, got);
    while (list) {
        struct gang__reserve_piece *p = list;
        list = p->next;
        if (done)
            gang__reserve_insert(r, p);
        else
            gang__release(&s->mem, p);
    }
    if (done)
        got->count = got->place_count = 0; /* `got` does not own them now */
    return done;
}

bool gang__reserve_note_parts(gang_sched *s, struct gang__reserve *r)
{
    const struct gang__admitted *got = &s->reserve.all->got;
    size_t n = 0;
    r->part = gang__zalloc(&s->mem, got->count + 1, sizeof(*r->part));
    if (!r->part)
        return false;
    r->first_ns = INT64_MAX;
    for (size_t i = 0; i < got->count; i++)
        if (got->piece[i].instance == 0 && got->piece[i].start_ns < r->first_ns)
            r->first_ns = got->piece[i].start_ns;
    for (size_t i = 0; i < got->count; i++)
        if (got->piece[i].instance == 0)
            r->part[n++] = (struct gang__reserve_part){got->piece[i].stage, got->piece[i].gangs,
                                                       got->piece[i].start_ns - r->first_ns};
    r->part_count = n;
    return true;
}
