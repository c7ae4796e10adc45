/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/order/bypass.h"

#include "core/nodes/nodes.h"
#include "place/fit/filter.h"
#include "sched/order/wait_order.h"
#include "sched/record/record.h"
#include "sched/usage/usage.h"

/* ---- who bars whom ----------------------------------------------------------------------------- */

/* Is it for want of room alone that it does not run? One whose turn has not come yet counts. */
static bool bars(const struct gang__gang *w)
{
    return w->bin && (w->bin->state != GANG__CLASS_BLOCKED || gang__waits_for_room(w->bin->why));
}

const struct gang__gang *gang__bypass_before(const gang_sched *s, const struct gang__gang *u,
                                             const struct gang__take *take, uint32_t count)
{
    const struct gang__queue_state *leaf = u->job->leaf;
    const struct gang__gang *w = s->overdue;
    if (!w || u->overdue || gang__stays(leaf, leaf->guarantee, leaf->used, take, count))
        return NULL;
    while (w && (w->job->leaf == leaf || !bars(w))) /* in its own leaf turn sees to it */
        w = w->next_overdue;
    return w;
}

const struct gang__gang *gang__bypass_concerns(const gang_sched *s, const struct gang__gang *u)
{
    if (!s->overdue)
        return NULL;
    uint32_t count;
    const struct gang__take *take = gang__gang_asks(u, &count);
    return gang__bypass_before(s, u, take, count);
}

/* The nodes that any of them could use, as bits in s->mask. */
static bool make_mask(gang_sched *s, const struct gang__gang *u, uint32_t end)
{
    size_t words = end / 64 + 1;
    if (!gang__grow(&s->mem, (void **)&s->mask, &s->mask_room, words, sizeof(*s->mask)))
        return false;
    memset(s->mask, 0, words * sizeof(*s->mask));
    for (const struct gang__gang *w = s->overdue; w; w = w->next_overdue)
        if (w->job->leaf != u->job->leaf && bars(w))
            gang__filter_mask(s->cluster, gang__gang_request(w), end, s->mask);
    return true;
}

static bool has_bit(const gang_sched *s, gang_node_id n, uint32_t end)
{
    uint32_t slot = (uint32_t)n;
    return slot < end && s->mask[slot / 64] >> (slot % 64) & 1;
}

gang_result gang__bypass_keep(gang_sched *s, const struct gang__gang *u, gang_snapshot *snapshot)
{
    if (!gang__bypass_concerns(s, u))
        return GANG_OK;
    uint32_t end = snapshot->end;
    if (!make_mask(s, u, end))
        return GANG_ENOMEM;
    for (gang_node_id n = gang_snapshot_node_next(snapshot, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_snapshot_node_next(snapshot, n))
        if (has_bit(s, n, end))
            (void)!gang_snapshot_set_state(snapshot, n, GANG_NODE_DOWN);
    return GANG_OK;
}

bool gang__bypass_on(gang_sched *s, const struct gang__gang *u)
{
    uint32_t end = 0;
    if (!gang__bypass_concerns(s, u))
        return false;
    for (int64_t i = 0; i < u->place_count; i++)
        end = (uint32_t)u->places[i].node >= end ? (uint32_t)u->places[i].node + 1 : end;
    bool on = !make_mask(s, u, end); /* who cannot know does not pass */
    for (int64_t i = 0; i < u->place_count && !on; i++) {
        gang_node_id n = u->places[i].node;
        /* Of one that was removed the record stays for a while, longer or shorter: nobody could use that. */
        on = has_bit(s, n, end) && gang__node_id_at(s->cluster, (uint32_t)n) == n;
    }
    return on;
}

void gang__bypass_ease(gang_sched *s)
{
    struct gang__wait_class *next;
    for (struct gang__wait_class *bin = s->blocked; bin; bin = next) {
        next = bin->next_all;
        if (bin->why == GANG_WAIT_OVERDUE)
            gang__order_unblock(s, bin);
    }
}

/* ---- who becomes overdue ------------------------------------------------------------------------ */

static void become(gang_sched *s, struct gang__gang *u)
{
    gang__order_first(s, u);
    struct gang__gang **at = &s->overdue; /* the first that became so first */
    while (*at)
        at = &(*at)->next_overdue;
    u->next_overdue = NULL;
    u->overdue_at = at;
    *at = u;
    gang__order_unblock(s, u->bin);
    gang__log(s, 1, "job %llu is overdue: nothing passes it any more",
              (unsigned long long)u->job->id);
}

void gang__bypass_over(struct gang__gang *u)
{
    u->overtaken = 0;
    if (!u->overdue)
        return;
    u->overdue = false;
    *u->overdue_at = u->next_overdue;
    if (u->next_overdue)
        u->next_overdue->overdue_at = u->overdue_at;
}

void gang__bypass_passed(gang_sched *s, const struct gang__gang *u)
{
    const struct gang__queue *q = u->job->leaf->q;
    if (q->max_overtakes == 0)
        return;
    struct gang__wait_class *next;
    for (struct gang__wait_class *bin = s->blocked; bin; bin = next) {
        next = bin->next_all;
        if (bin->leaf != u->job->leaf || bin->grower || !gang__waits_for_room(bin->why))
            continue;
        struct gang__gang *head = gang__wait_class_head(bin);
        if (head->overdue || gang__gang_before(head, u, q->order) >= 0)
            continue;
        if (++head->overtaken >= q->max_overtakes)
            become(s, head);
    }
}

int64_t gang__bypass_next(const struct gang__job *job)
{
    int64_t wait = job->leaf->q->max_wait_ns;
    bool some = false;
    for (uint32_t i = 0; i < job->unit_count; i++)
        some = some ||
               (job->unit[i].bin && !job->unit[i].overdue && job->unit[i].alloc == GANG_ID_NONE);
    return wait > 0 && some && job->ready_ns >= 0 ? gang__add_sat(job->ready_ns, wait) : INT64_MAX;
}

void gang__bypass_due(gang_sched *s, struct gang__job *job)
{
    if (gang__bypass_next(job) > s->now_ns)
        return;
    for (uint32_t i = 0; i < job->unit_count; i++) {
        struct gang__gang *u = &job->unit[i];
        if (u->bin && !u->overdue && u->alloc == GANG_ID_NONE)
            become(s, u);
    }
}
