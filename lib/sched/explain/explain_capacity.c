/* SPDX-License-Identifier: Apache-2.0 */
/* Gates of capacity: free capacity on nodes, planned starts, reservations, cells, rows of time
 * slices. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/rcu.h"
#include "place/record/record.h"
#include "sched/explain/explain_in.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/usage/usage.h"

struct fit_answer {
    struct gang__reasons *list;
    bool fits;
};

static int32_t take_answer(const struct gang_explanation *e, void *user)
{
    struct fit_answer *answer = user;
    struct gang__reasons *l = answer->list;
    bool grows = l->gang->alloc != GANG_ID_NONE;
    if (!grows && (e->group >= 0 || e->group_set >= 0))
        return 0; /* reasons of single groups: the last one is about the whole gang */
    answer->fits = e->result == GANG_OK;
    if (answer->fits)
        return 0;
    bool never = e->result == GANG_ENEVER;
    struct gang__reason *r = gang__reason_add(
        l, GANG_WAIT_CAPACITY, never ? GANG_WAIT_CATEGORY_NEVER : GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (!r)
        return GANG_ENOMEM;
    int32_t group = grows ? e->group : e->because_group;
    if (group >= 0) {
        r->wait.group = gang__group_in_job(l->gang, (uint32_t)group);
        r->group = gang__gang_request(l->gang)->group[group].name;
    }
    r->wait.kind = e->kind;
    r->wait.requested = e->requested;
    r->wait.limit = e->available;
    if (e->kind >= 0 && !never)
        r->wait.blocker = gang__explain_holder(l->s, &l->s->root, (uint32_t)e->kind);
    gang__reason_set_text(r, "%s", e->text);
    return 0;
}

static bool node_name(const gang_sched *s, uint32_t slot, char *name)
{
    gang__rcu_enter();
    const struct gang__node *node = gang__node_at(s->cluster, slot);
    if (node)
        snprintf(name, GANG_MAX_NAME + 1, "%s", node->name);
    gang__rcu_leave();
    return node != NULL;
}

/* "n0, n1 and 3 more" */
static void nodes_of(const gang_sched *s, const struct gang__gang *g, char *text, size_t cap)
{
    enum { NAMED = 4 };
    size_t named = 0, used = 0;
    text[0] = 0;
    for (size_t i = 0; i < g->calendar.node_count && named < NAMED; i++) {
        char name[GANG_MAX_NAME + 1];
        if (!node_name(s, g->calendar.node[i], name))
            continue;
        int n = snprintf(text + used, cap - used, "%s%s", named ? ", " : "", name);
        if (n < 0 || (size_t)n >= cap - used)
            break;
        used += (size_t)n;
        named++;
    }
    if (named < g->calendar.node_count)
        snprintf(text + used, cap - used, " and %zu more", g->calendar.node_count - named);
}

static int64_t seconds_until(const struct gang__reasons *l, int64_t at_ns)
{
    return at_ns > l->s->now_ns ? (at_ns - l->s->now_ns + 999999) / 1000000 : 0;
}

/* The planned start that it would delay: the first of its leaf, or of any. */
static const struct gang__gang *first_planned(const gang_sched *s,
                                              const struct gang__queue_state *leaf)
{
    const struct gang__gang *first = NULL;
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (const struct gang__gang *g = s->qs[i]->calendar.planned; g;
             g = g->calendar.next_planned) {
            bool own = s->qs[i] == leaf, had = first && first->job->leaf == leaf;
            if (!first || (own && !had) ||
                (own == had && g->calendar.planned_ns < first->calendar.planned_ns))
                first = g;
        }
    return first;
}

void gang__explain_planned(struct gang__reasons *l, const struct gang__take *take, uint32_t count)
{
    (void)take, (void)count;
    const struct gang__gang *g = l->gang, *first;
    const struct gang__wait_class *wait_class = g->order.wait_class;
    bool behind = wait_class && wait_class->state == GANG__CLASS_BLOCKED &&
                  wait_class->why == GANG_WAIT_PLANNED;
    if (g->calendar.plan) {
        char nodes[160];
        struct gang__reason *r =
            gang__reason_add(l, GANG_WAIT_PLANNED, GANG_WAIT_CATEGORY_NOT_NOW, g->job->leaf);
        if (!r)
            return;
        r->rank = RANK_LAST;
        r->wait.until_ns = g->calendar.planned_ns;
        nodes_of(l->s, g, nodes, sizeof(nodes));
        gang__reason_set_text(r, "it is planned to start in %s seconds, on %s",
                              gang__text_milli(seconds_until(l, g->calendar.planned_ns), "").s,
                              nodes);
    } else if (behind && (first = first_planned(l->s, g->job->leaf)) != NULL) {
        struct gang__reason *r =
            gang__reason_add(l, GANG_WAIT_PLANNED, GANG_WAIT_CATEGORY_POLICY, first->job->leaf);
        if (!r)
            return;
        r->wait.blocker = first->job->id;
        gang__reason_set_text(
            r, "it would delay planned starts: job %" PRIu64 " is to start in %s seconds",
            first->job->id, gang__text_milli(seconds_until(l, first->calendar.planned_ns), "").s);
    }
}

/* The gang waits for the reservation that it named, or its place is reserved for others. */
void gang__explain_reservation(struct gang__reasons *l, const struct gang__take *take,
                               uint32_t count)
{
    (void)take, (void)count;
    struct gang__reserve_reason why;
    if (!gang__reserve_explain(l->s, l->gang, &why))
        return;
    bool held = l->gang->job->wait_why == GANG_WAIT_RESERVATION;
    struct gang__reason *r = gang__reason_add(l, GANG_WAIT_RESERVATION,
                                              why.never ? GANG_WAIT_CATEGORY_NEVER
                                              : held    ? GANG_WAIT_CATEGORY_HELD
                                                        : GANG_WAIT_CATEGORY_POLICY,
                                              NULL);
    if (!r)
        return;
    r->rank = why.never ? RANK_NEVER : held ? RANK_HELD : RANK_LAST;
    r->wait.until_ns = why.until_ns;
    gang__reason_set_text(r, "%s", why.text);
}

/* A suspended gang resumes on its old places only. */
static void explain_suspended(struct gang__reasons *l)
{
    const struct gang__wait_class *wait_class = l->gang->order.wait_class;
    if (!wait_class || wait_class->state != GANG__CLASS_BLOCKED ||
        wait_class->why != GANG_WAIT_CAPACITY)
        return;
    struct gang__reason *r =
        gang__reason_add(l, GANG_WAIT_CAPACITY, GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (r)
        gang__reason_set_text(r, "the places where it was suspended are taken");
}

static void explain_cells(struct gang__reasons *l)
{
    const struct gang__wait_class *wait_class = l->gang->order.wait_class;
    if (!wait_class || wait_class->state != GANG__CLASS_BLOCKED ||
        wait_class->why != GANG_WAIT_CELLS)
        return;
    struct gang__reason *r =
        gang__reason_add(l, GANG_WAIT_CELLS, GANG_WAIT_CATEGORY_POLICY, wait_class->blocked_by);
    if (r)
        gang__reason_set_text(r, "its place would break the cells guaranteed to %s%s",
                              wait_class->blocked_by ? "queue " : "others",
                              wait_class->blocked_by ? wait_class->blocked_by->q->name : "");
}

/* The gang has its places, and waits for its quantum. */
void gang__explain_slice(struct gang__reasons *l)
{
    const struct gang__gang *g = l->gang;
    int64_t until = 0;
    uint32_t rows = gang__slice_row_turn(l->s, g, &until);
    struct gang__reason *r =
        gang__reason_add(l, GANG_WAIT_SLICE, GANG_WAIT_CATEGORY_POLICY, g->job->leaf);
    if (!r)
        return;
    r->wait.until_ns = until;
    if (until == 0)
        gang__reason_set_text(r,
                              "it is the turn of its row, %" PRIu32 " of %" PRIu32
                              ", and others have not stopped yet",
                              gang__slice_row(g), rows);
    else
        gang__reason_set_text(r, "its row, %" PRIu32 " of %" PRIu32 ", has its turn in %s seconds",
                              gang__slice_row(g), rows,
                              gang__text_milli(seconds_until(l, until), "").s);
}

/* No row of time slices has capacity beside the other gangs. */
static bool explain_rows(struct gang__reasons *l)
{
    const struct gang__wait_class *wait_class = l->gang->order.wait_class;
    struct gang_queue_info info;
    if (!gang__slice_concerns(l->gang) || l->gang->alloc != GANG_ID_NONE || !wait_class ||
        wait_class->state != GANG__CLASS_BLOCKED || wait_class->why != GANG_WAIT_CAPACITY)
        return false;
    memset(&info, 0, sizeof(info));
    gang__slice_info(l->s, l->gang->job->leaf, &info);
    struct gang__reason *r =
        gang__reason_add(l, GANG_WAIT_CAPACITY, GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (r)
        gang__reason_set_text(r,
                              "none of %" PRId64 " rows of time slices (at most %" PRId64
                              ") has capacity for it%s",
                              info.rows, info.quantum_rows,
                              gang__reserve_binds(l->s, l->gang) ? " beside what is reserved" : "");
    return true;
}

gang_result gang__explain_capacity(struct gang__reasons *l)
{
    struct fit_answer answer = {l, true};
    struct gang__gang *g = l->gang;
    if (g->places) {
        explain_suspended(l);
        return GANG_OK;
    }
    if (explain_rows(l))
        return GANG_OK;
    gang_result r = GANG_OK;
    gang__placer_keep_mix(l->s->worker, true); /* an explanation changes nothing */
    if (g->alloc == GANG_ID_NONE) {
        r = gang_request_explain(l->s->worker, gang__gang_request(g), take_answer, &answer);
    } else {
        int32_t group = 0;
        while (gang__gang_lacks(g, (uint32_t)group) == 0)
            group++;
        r = gang_alloc_explain(l->s->worker, g->alloc, group, take_answer, &answer);
        r = r == GANG_ERANGE ? GANG_OK : r;
    }
    gang__placer_keep_mix(l->s->worker, false);
    explain_cells(l);
    return r;
}
