/* SPDX-License-Identifier: Apache-2.0 */
/* Fair shares: divides the totals down the tree among the queues with usage or demand.
 * queue/fairness/share.c divides one kind among siblings; this file calls it for each queue and
 * dimension. */
#include <string.h>

#include "base/rcu.h"
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "queue/fairness/fairness.h"
#include "sched/record/state.h"
#include "sched/usage/usage_in.h"
#include "sched/wake/wake.h"

/* ---- totals ---------------------------------------------------------------------------------- */

static bool in_partition(const struct gang__node *node, const struct gang__partition *p)
{
    for (size_t i = 0; node->tags && i < node->tags->partition_count; i++)
        if (node->tags->partitions[i] == p)
            return true;
    return false;
}

static int64_t capacity_of(const struct gang__node *node, int32_t kind, const char *name)
{
    const struct gang__node_type *shape = node->type;
    if (kind == GANG_KIND_CPU)
        return (int64_t)shape->capacity[GANG__WORD_HEAD];
    if (kind == GANG_KIND_MEMORY)
        return (int64_t)shape->capacity[GANG__WORD_MEMORY] * GANG_PAGE_BYTES;
    if (kind == GANG_KIND_GPU)
        return (int64_t)shape->layout.gpus * 1000;
    for (size_t i = 0; i < shape->spec->amount_count; i++)
        if (strcmp(shape->spec->amounts[i].kind, name) == 0)
            return shape->spec->amounts[i].amount;
    return 0;
}

static void add_node(gang_sched *s, const struct gang__node *node)
{
    for (uint32_t d = 0; d < s->dims; d++) {
        const struct gang__dim *dim = &s->queues->dim[d];
        if (s->cluster->nodes.kind[dim->kind].scope == GANG_SCOPE_NODE &&
            (!dim->partition || in_partition(node, dim->partition)))
            s->total[d] += capacity_of(node, dim->kind, s->cluster->nodes.kind[dim->kind].name);
    }
}

/* Counts nodes that are up: shares do not promise draining or down nodes to any queue. */
static void sum_up(gang_sched *s)
{
    memset(s->total, 0, sizeof(s->total));
    for (uint32_t d = 0; d < s->dims; d++) {
        struct gang_kind_info info = GANG_KIND_INFO_INIT;
        if (gang_kind_get(s->cluster, s->queues->dim[d].kind, &info) == GANG_OK &&
            info.scope == GANG_SCOPE_CLUSTER)
            s->total[d] = info.capacity;
    }
    gang__rcu_enter();
    uint32_t end = gang__load(&s->cluster->commit.slot_end);
    for (uint32_t slot = 1; slot < end; slot++) {
        const struct gang__node *node = gang__node_at(s->cluster, slot);
        uint64_t head;
        if (!node)
            continue;
        gang__cell_read(&s->cluster->commit, slot, &head, 1);
        if (gang__head_state(head) == GANG__STATE_UP)
            add_node(s, node);
    }
    gang__rcu_leave();
}

static bool is_current(const gang_sched *s)
{
    return s->usage.total_epoch == gang__load(&s->cluster->nodes.epoch) + 1 &&
           s->usage.total_stamp == gang__load(&s->cluster->nodes.states);
}

static void set_current(gang_sched *s)
{
    s->usage.total_epoch = gang__load(&s->cluster->nodes.epoch) + 1;
    s->usage.total_stamp = gang__load(&s->cluster->nodes.states);
}

/* ---- dividing totals into shares ------------------------------------------------------------- */

static int64_t share_unit(const gang_sched *s, uint32_t dim)
{
    switch (s->queues->dim[dim].kind) {
    case GANG_KIND_CPU:
    case GANG_KIND_GPU:
        return 1000;
    case GANG_KIND_MEMORY:
        return INT64_C(1) << 20;
    default:
        return 1;
    }
}

/* The weight of a queue as given, or 1 if its parent has the surplus divided evenly; a weight of 0
 * stays 0. */
static int64_t nominal_weight(const struct gang__queue_state *q, uint32_t dim)
{
    const struct gang__queue *parent = q->parent->q; /* NULL: the root */
    int64_t weight = q->q->weight[dim];
    return parent && parent->surplus_evenly && weight > 0 ? GANG_WHOLE : weight;
}

/* The weight of a queue, lowered by its past use; `sum`: the weights of all siblings. */
static int64_t weight_of(const gang_sched *s, const struct gang__queue_state *q, uint32_t dim,
                         int64_t sum)
{
    int64_t weight = nominal_weight(q, dim);
    if (!q->past_use || s->total[dim] == 0)
        return weight;
    struct gang__ratio used = {gang__decay_mean(&q->past_use[dim]),
                               gang__decay_mean(&s->root.past_use[dim])};
    return gang__decay_weight(weight, sum, used, s->opts.usage_weight);
}

bool gang__share_set(gang_sched *s, struct gang__queue_state *q, uint32_t dim, int64_t share)
{
    if (q->share[dim] == share)
        return false;
    q->share[dim] = share;
    s->usage.share_changes++;
    gang__wake_queue(s, q);
    return true;
}

/* Gives each sibling its demand, if the demands fit into `total` and each may have it: share.c
 * divides so, too. From then on share_moved.c follows the demand of single siblings. */
static bool share_by_demand(gang_sched *s, uint32_t first, uint32_t dim, int64_t total)
{
    struct gang__queue_state *parent = s->qs[first]->parent;
    int64_t sum = 0;
    uint32_t changed = GANG__NO_QUEUE; /* the first one, and how many */
    size_t changes = 0;
    parent->by_demand &= ~(UINT64_C(1) << dim);
    for (uint32_t c = first; c != GANG__NO_QUEUE; c = s->qs[c]->q->next_sibling) {
        struct gang__queue_state *q = s->qs[c];
        int64_t demand = q->counted[dim] = gang__share_demand(q, dim);
        sum += demand;
        if (sum > total || !gang__share_may_be_demand(q, dim))
            return false;
        if (demand != q->share[dim] && changes++ == 0)
            changed = c;
    }
    for (uint32_t c = changed; changes > 0; c = s->qs[c]->q->next_sibling)
        changes -= gang__share_set(s, s->qs[c], dim, s->qs[c]->counted[dim]);
    parent->counted_below[dim] = sum;
    parent->by_demand |= UINT64_C(1) << dim;
    return true;
}

/* Divides `total` of a queue among its children. */
static void divide(gang_sched *s, uint32_t first, uint32_t dim, int64_t total)
{
    size_t n = 0;
    int64_t weights = 0;
    struct gang__sharer *sharer = s->usage.sharer;
    if (share_by_demand(s, first, dim, total))
        return;
    for (uint32_t c = first; c != GANG__NO_QUEUE; c = s->qs[c]->q->next_sibling)
        weights += nominal_weight(s->qs[c], dim);
    for (uint32_t c = first; c != GANG__NO_QUEUE; c = s->qs[c]->q->next_sibling) {
        const struct gang__queue_state *q = s->qs[c];
        sharer[n++] = (struct gang__sharer){q->guarantee[dim], gang__share_demand(q, dim),
                                            q->q->priority,    weight_of(s, q, dim, weights),
                                            q->q->id,          0};
    }
    gang__share_divide(sharer, n, total, share_unit(s, dim), s->usage.share_slot);
    n = 0;
    for (uint32_t c = first; c != GANG__NO_QUEUE; c = s->qs[c]->q->next_sibling)
        gang__share_set(s, s->qs[c], dim, sharer[n++].share);
}

/* The dimensions in the mask `moved`. */
static void divide_moved(gang_sched *s, uint32_t first, uint64_t moved, const int64_t *total)
{
    for (uint32_t d = 0; d < s->dims; d++)
        if (moved >> d & 1)
            divide(s, first, d, total[d]);
}

/* Resolves guarantees and limits in force by the totals. All wait classes may be tried again. */
static void resolve_bounds(gang_sched *s)
{
    size_t n = s->queues->count, dims = s->dims;
    int64_t *guarantee = s->usage.resolved, *limit = s->usage.resolved + n * dims;
    struct gang__submit_view *submit_view = gang__load_relaxed(&s->intake.submit_view);
    gang__queues_resolve(s->queues, s->total, s->opts.scale_guarantees != 0, guarantee, limit);
    for (size_t i = 0; i < n; i++) {
        memcpy(s->qs[i]->guarantee, guarantee + i * dims, dims * sizeof(*guarantee));
        memcpy(s->qs[i]->limit, limit + i * dims, dims * sizeof(*limit));
    }
    for (size_t i = 0; i < n * dims; i++)
        gang__store_relaxed(&submit_view->limit[i], (uint64_t)limit[i]);
    for (size_t d = 0; d < dims; d++) {
        s->root.guarantee[d] = s->root.limit[d] = GANG__NO_BOUND;
        s->root.share[d] = s->total[d];
    }
    gang__demand_apply_bounds(s);
    s->usage.bounds_count++;
    s->wake.bounds = true;
    gang__wake_all_shares(s);
    gang__wake_preemption(s);
}

void gang__fair_refresh_bounds(gang_sched *s)
{
    if (is_current(s))
        return;
    set_current(s);
    sum_up(s);
    resolve_bounds(s);
}

void gang__fair_refresh(gang_sched *s)
{
    bool all = !is_current(s);
    if (all)
        gang__fair_refresh_bounds(s);
    /* What a handover promises may leave bounded classes less, too. */
    if (!s->wake.shares && (s->usage.bounded == 0 || s->wake.share_dims == 0))
        return;
    uint64_t moved = gang__demand_withhold(s);
    if (all || s->wake.share_dims == UINT64_MAX)
        moved = UINT64_MAX;
    moved |= gang__share_moved(s, s->wake.share_dims & ~moved);
    s->wake.shares = false;
    gang__wake_forget_share_dims(s);
    if (moved == 0)
        return;
    divide_moved(s, 0, moved, s->total);
    for (uint32_t i = 0; i < s->queues->count; i++) /* parents stand before their children */
        if (s->qs[i]->q->first_child != GANG__NO_QUEUE)
            divide_moved(s, s->qs[i]->q->first_child, moved, s->qs[i]->share);
}

void gang__fair_copy(gang_sched *s, const gang_sched *from)
{
    memcpy(s->total, from->total, sizeof(s->total));
    resolve_bounds(s);
    s->usage.bounds_count = from->usage.bounds_count;
    set_current(s);
    gang__fair_refresh(s);
    if (!is_current(from))
        s->usage.total_epoch = 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool counts(const gang_sched *s, uint32_t dim)
{
    return !s->excluded[s->queues->dim[dim].kind];
}

/* In the dimensions with a bound in `over` and in `managed`. */
static struct gang__ratio ratio_of(const gang_sched *s, const int64_t *managed, const int64_t *over,
                                   const int64_t *used, const struct gang__take *take,
                                   uint32_t count)
{
    struct gang__ratio most = {0, 1};
    uint32_t next = 0;
    for (uint32_t d = 0; d < s->dims; d++) {
        int64_t with = used[d];
        if (next < count && take[next].dim == d)
            with += take[next++].amount;
        if (with <= 0 || !counts(s, d) || over[d] == GANG__NO_BOUND || managed[d] == GANG__NO_BOUND)
            continue;
        struct gang__ratio r = {with, over[d]};
        if (gang__ratio_compare(r, most) > 0)
            most = r;
    }
    return most;
}

struct gang__ratio gang__fair_ratio(const gang_sched *s, const int64_t *over, const int64_t *used,
                                    const struct gang__take *take, uint32_t count)
{
    return ratio_of(s, over, over, used, take, count);
}

struct gang__ratio gang__fair_share_ratio(const gang_sched *s, const struct gang__queue_state *q,
                                          const int64_t *used, const struct gang__take *take,
                                          uint32_t count)
{
    return ratio_of(s, q->guarantee, q->share, used, take, count);
}

struct gang__ratio gang__fair_capacity(const gang_sched *s, const struct gang__queue_state *q)
{
    struct gang__ratio most = {0, 1};
    bool managed = false;
    for (uint32_t d = 0; d < s->dims; d++) {
        struct gang__ratio r = {q->guarantee[d], s->total[d]};
        if (!counts(s, d) || r.num == GANG__NO_BOUND)
            continue;
        managed = true;
        if (gang__ratio_compare(r, most) > 0)
            most = r;
    }
    return managed ? most : (struct gang__ratio){1, 0};
}

bool gang__usage_exceeds(const gang_sched *s, const struct gang__queue_state *q,
                         const int64_t *bound, const int64_t *used, const struct gang__take *take,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d = take[i].dim;
        if (counts(s, d) && q->guarantee[d] != GANG__NO_BOUND && used[d] > bound[d])
            return true;
    }
    return false;
}

bool gang__usage_stays_within(const struct gang__queue_state *q, const int64_t *bound,
                              const struct gang__take *take, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d = take[i].dim;
        if (q->guarantee[d] != GANG__NO_BOUND && bound[d] != GANG__NO_BOUND &&
            q->used[d] + take[i].amount > bound[d])
            return false;
    }
    return true;
}

bool gang__usage_path_stays_within(const struct gang__queue_state *leaf, bool by_share,
                                   const struct gang__take *take, uint32_t count)
{
    const struct gang__queue_state *q = leaf;
    while (q->parent &&
           gang__usage_stays_within(q, by_share ? q->share : q->guarantee, take, count))
        q = q->parent;
    return !q->parent;
}
