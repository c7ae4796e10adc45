/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a tree of queues that was read: lays it out in one block of memory, parents before their
 * children, and computes what each queue inherits. */
#include <assert.h>
#include <string.h>

#include "base/two_pass_block.h"
#include "base/wide.h"
#include "core/nodes/nodes.h"
#include "place/request/request.h"
#include "queue/queues_in.h"

/* Of a queue at the top that says nothing. */
#define STALE_NS INT64_C(60000000000)
#define EXTEND_NS INT64_C(60000000000)
#define MAX_AGE_NS INT64_C(604800000000000)      /* Slurm's defaults: 7 days, */
#define PRIORITY_PERIOD_NS INT64_C(300000000000) /* and 5 minutes */

struct gang__quota gang__quota_compile(const struct gang_quota *q)
{
    if (q->fraction)
        return (struct gang__quota){q->fraction, GANG__QUOTA_FRACTION};
    if (q->by_weight)
        return (struct gang__quota){q->by_weight, GANG__QUOTA_WEIGHT};
    return (struct gang__quota){q->amount == GANG_UNLIMITED ? GANG__NO_BOUND : q->amount,
                                GANG__QUOTA_AMOUNT};
}

static struct gang__quota *lay_quotas(const struct gang__queue_drafts *t, struct gang__block *b,
                                      const struct gang_queue_spec *s,
                                      const struct gang_quota *list, size_t count)
{
    struct gang__quota *to = gang__block_alloc(b, t->dims * sizeof(*to));
    for (size_t i = 0; to && i < count; i++) {
        struct gang_quota q = gang__quota_at(s, list, i);
        const struct gang__partition *partition =
            q.partition ? gang__partition_find(t->c, q.partition) : NULL;
        to[gang__dim_find(t->dim, t->dims, gang__kind_find(t->c, q.kind), partition)] =
            gang__quota_compile(&q);
    }
    return to;
}

static const int64_t *lay_weights(const struct gang__queue_drafts *t, struct gang__block *b,
                                  const struct gang_queue_spec *s)
{
    int64_t *to = gang__block_alloc(b, t->dims * sizeof(*to));
    for (uint32_t d = 0; to && d < t->dims; d++) {
        to[d] = gang__millionths(s->weight);
        for (size_t i = 0; i < s->weight_count; i++)
            if (gang__kind_find(t->c, s->weight_kinds[i]) == t->dim[d].kind)
                to[d] = gang__millionths(s->weights[i]);
    }
    return to;
}

static const struct gang__cell_share *lay_cells(const struct gang__queue_drafts *t,
                                                struct gang__block *b,
                                                const struct gang_queue_spec *s)
{
    struct gang__cell_share *to = gang__block_alloc(b, s->cell_count * sizeof(*to));
    for (size_t i = 0; to && i < s->cell_count; i++) {
        int32_t level = gang__level_find(t->c, s->cells[i].level);
        to[i].level = level < 0 ? (int32_t)GANG__LEVEL_NODE : level;
        to[i].count = s->cells[i].count;
    }
    return to;
}

static const struct gang__budget *lay_budgets(const struct gang__queue_drafts *t,
                                              struct gang__block *b,
                                              const struct gang_queue_spec *s)
{
    struct gang__budget *to = gang__block_alloc(b, s->budget_count * sizeof(*to));
    for (size_t i = 0; to && i < s->budget_count; i++) {
        struct gang_budget from = gang__budget_at(s, i);
        to[i].kind = gang__kind_find(t->c, from.kind);
        to[i].exhausted = from.exhausted;
        to[i].per_user = from.per_user != 0;
        to[i].amount = from.amount;
        to[i].period_ns = from.period_ns;
    }
    return to;
}

/* Lay out what is a queue's own. NULL: only measure. */
static void lay_queue(const struct gang__queue_drafts *t, struct gang__block *b,
                      const struct gang__queue_draft *draft, struct gang__queue *q)
{
    const struct gang_queue_spec *s = &draft->spec;
    const struct gang_queue_spec *spec = gang__queue_spec_lay(b, s);
    struct gang__quota *guarantee = lay_quotas(t, b, s, s->guaranteed, s->guaranteed_count);
    const struct gang__quota *limit = lay_quotas(t, b, s, s->limit, s->limit_count);
    const struct gang__quota *lending =
        lay_quotas(t, b, s, s->lending_limit, s->lending_limit_count);
    const int64_t *weight = lay_weights(t, b, s);
    const struct gang__cell_share *cells = lay_cells(t, b, s);
    const struct gang__budget *budgets = lay_budgets(t, b, s);
    if (!q)
        return;
    q->spec = spec;
    q->guarantee = guarantee;
    q->limit = limit;
    q->lending = lending;
    q->weight = weight;
    q->cells = cells;
    q->cell_count = s->cell_count;
    q->budgets = budgets;
    q->budget_count = s->budget_count;
    q->id = draft->id;
    q->name = spec->name;
    q->index = draft->index;
    q->depth = draft->depth;
    q->made = draft->made;
    q->leaf = !draft->has_children && !s->child;
}

static const uint32_t *lay_ids(const struct gang__queue_drafts *t, struct gang__block *b)
{
    uint32_t *to = gang__block_alloc(b, t->count * sizeof(*to));
    for (uint32_t i = 0; to && i < t->count; i++)
        to[i] = t->by_id[i]->index;
    return to;
}

/* Lay out everything; returns it if the block has memory. */
static void *lay(struct gang__block *b, const void *from)
{
    const struct gang__queue_drafts *t = from;
    struct gang__queues *qs = gang__block_alloc(b, sizeof(*qs));
    struct gang__queue *queue = gang__block_alloc(b, t->count * sizeof(*queue));
    const uint32_t *ids = lay_ids(t, b);
    for (uint32_t i = 0; i < t->count; i++)
        lay_queue(t, b, t->order[i], queue ? &queue[i] : NULL);
    if (!qs)
        return NULL;
    qs->count = t->count;
    qs->queue = queue;
    qs->by_id = ids;
    qs->dims = t->dims;
    memcpy(qs->dim, t->dim, sizeof(qs->dim));
    return qs;
}

static int64_t bound_of(int64_t stated)
{
    return stated ? stated : GANG__NO_BOUND;
}

static void set_own(struct gang__queue *q)
{
    const struct gang_queue_spec *s = q->spec;
    q->priority = s->priority;
    q->within = s->within ? s->within : GANG_PREEMPT_LOWER;
    q->reclaim = s->reclaim ? s->reclaim : GANG_PREEMPT_ANY;
    q->state = s->state;
    q->order = s->order;
    q->child_order = s->child_order;
    q->surplus_evenly = s->surplus == GANG_SURPLUS_EVENLY;
    q->borrow_last = s->partition_borrow == GANG_PARTITION_BORROW_LAST;
    q->preempt_in_order = s->partition_preempt == GANG_PARTITION_PREEMPT_IN_ORDER;
    q->block = s->block;
    q->preempt = s->preempt_mode;
    q->max_running = bound_of(s->max_running);
    q->max_pending = bound_of(s->max_pending);
    q->max_running_per_user = bound_of(s->max_running_per_user);
    q->user_limit = s->user_limit;
    q->user_limit_factor = s->user_limit_factor;
    q->users = s->users;
    q->user_count = s->user_count;
    q->preempt_class = -1; /* preempt_classes.c */
    q->max_age_ns = s->priority_max_age_ns ? s->priority_max_age_ns : MAX_AGE_NS;
    q->priority_period_ns = s->priority_period_ns ? s->priority_period_ns : PRIORITY_PERIOD_NS;
}

static int64_t time_of(int64_t own, int64_t none, int64_t inherited)
{
    return own == none ? inherited : own;
}

enum { SLICE_ROWS = 4 }; /* as Slurm's OverSubscribe=FORCE */

static void set_slices(struct gang__queue *q, const struct gang__queue *from)
{
    const struct gang_queue_spec *s = q->spec;
    bool own = s->quantum_ns > 0, none = s->quantum_ns < 0;
    q->slicer = own ? q->index : none ? GANG__NO_QUEUE : from->slicer;
    q->quantum_ns = own ? s->quantum_ns : none ? 0 : from->quantum_ns;
    q->quantum_rows = !own ? from->quantum_rows : s->quantum_rows ? s->quantum_rows : SLICE_ROWS;
    q->quantum_gpus = own ? s->quantum_gpus != 0 : from->quantum_gpus;
}

static void set_across(struct gang__queue *q, const struct gang__queue *from)
{
    const struct gang_queue_spec *s = q->spec;
    bool own = s->across != GANG_ACROSS_DEFAULT;
    q->across = own ? s->across : from->across;
    q->across_max = !own                                    ? from->across_max
                    : s->across == GANG_ACROSS_LOWER_CAPPED ? s->across_max_priority
                                                            : INT64_MAX;
}

/* `top` is what a queue at the top inherits. */
static void set_inherited(struct gang__queue *q, const struct gang__queue *parent)
{
    static const struct gang__queue top = {.stale_ns = STALE_NS,
                                           .overrun = GANG_OVERRUN_KILL,
                                           .extend_ns = EXTEND_NS,
                                           .max_blocked_ns = GANG_DEFAULT_MAX_BLOCKED_NS,
                                           .slicer = GANG__NO_QUEUE,
                                           .across = GANG_ACROSS_NEVER,
                                           .across_max = INT64_MAX,
                                           .backfill = GANG_BACKFILL_NONE,
                                           .backfill_order = GANG_BACKFILL_ORDER_LEAF};
    const struct gang_queue_spec *s = q->spec;
    const struct gang__queue *from = parent ? parent : &top;
    q->fixed = s->no_preemption || from->fixed;
    q->nonpreemptible_to_limit = s->nonpreemptible ? s->nonpreemptible == GANG_NONPREEMPTIBLE_LIMIT
                                                   : from->nonpreemptible_to_limit;
    q->open_state = s->state > from->open_state ? s->state : from->open_state;
    q->policy = s->policy ? s->policy : from->policy;
    q->grace_ns = time_of(s->grace_ns, -1, from->grace_ns);
    q->min_runtime_ns = time_of(s->min_runtime_ns, -1, from->min_runtime_ns);
    q->stale_ns = time_of(s->stale_ns, -1, from->stale_ns);
    q->fence_ns = time_of(s->fence_ns, 0, from->fence_ns);
    q->max_time_limit_ns = time_of(s->max_time_limit_ns, 0, from->max_time_limit_ns);
    q->default_time_limit_ns = time_of(s->default_time_limit_ns, 0, from->default_time_limit_ns);
    /* One that is inherited may be above a bound that is not, or the other way round. */
    if (q->max_time_limit_ns && q->default_time_limit_ns > q->max_time_limit_ns)
        q->default_time_limit_ns = q->max_time_limit_ns;
    q->backfill = s->backfill ? s->backfill : from->backfill;
    q->backfill_order = s->backfill_order ? s->backfill_order : from->backfill_order;
    q->overrun = s->overrun ? s->overrun : from->overrun;
    q->extend_ns = time_of(s->extend_ns, 0, from->extend_ns);
    q->max_bypasses = s->max_bypasses ? s->max_bypasses : from->max_bypasses;
    q->max_wait_ns = time_of(s->max_wait_ns, 0, from->max_wait_ns);
    q->max_blocked_ns = time_of(s->max_blocked_ns, 0, from->max_blocked_ns);
    q->depth_given = s->plan_depth ? s->plan_depth : from->depth_given;
    q->plan_depth = q->depth_given                              ? q->depth_given
                    : q->backfill == GANG_BACKFILL_CONSERVATIVE ? GANG__NO_BOUND
                                                                : 1;
    q->budgeted = q->budget_count > 0 || from->budgeted;
    q->budget_safe = from->budget_safe;
    q->budget_users = from->budget_users;
    for (size_t i = 0; i < q->budget_count; i++) {
        q->budget_safe = q->budget_safe || q->budgets[i].exhausted == GANG_BUDGET_SAFE;
        q->budget_users = q->budget_users || q->budgets[i].per_user;
    }
    set_slices(q, from);
    set_across(q, from);
}

/* What the children of a queue state of one kind, as an amount that the queue itself might state;
 * see gang_queue_spec.guaranteed. Parts of the queue's own amount add nothing. */
static struct gang__quota sum_of_children(const struct gang__queues *qs, uint32_t first, uint32_t d)
{
    struct gang__quota sum = {0, GANG__QUOTA_NONE};
    for (uint32_t i = first; i != GANG__NO_QUEUE; i = qs->queue[i].next_sibling) {
        const struct gang__queue *q = &qs->queue[i];
        const struct gang__quota *own = &q->guarantee[d];
        if (q->states_guarantees && own->form == GANG__QUOTA_NONE && !qs->dim[d].partition)
            return (struct gang__quota){0,
                                        GANG__QUOTA_NONE}; /* one that does not manage the kind */
        if (own->form == GANG__QUOTA_NONE)
            continue;
        sum.form = GANG__QUOTA_AMOUNT;
        if (own->form == GANG__QUOTA_AMOUNT)
            sum.amount = gang__add_sat(sum.amount, own->amount);
    }
    if (sum.form == GANG__QUOTA_NONE && !qs->dim[d].partition)
        sum.form = GANG__QUOTA_AMOUNT; /* no child is guaranteed anything of it */
    return sum;
}

/* A parent that names no guarantee has those of its children. Children stand behind their
 * parents. */
static void inherit_guarantees(struct gang__queues *qs)
{
    for (uint32_t i = qs->count; i-- > 0;) {
        struct gang__queue *q = &qs->queue[i];
        q->states_guarantees = q->spec->guaranteed_count > 0;
        if (q->states_guarantees || q->first_child == GANG__NO_QUEUE)
            continue;
        for (uint32_t c = q->first_child; c != GANG__NO_QUEUE; c = qs->queue[c].next_sibling)
            q->states_guarantees = q->states_guarantees || qs->queue[c].states_guarantees;
        for (uint32_t d = 0; q->states_guarantees && d < qs->dims; d++) {
            q->guarantee[d] = sum_of_children(qs, q->first_child, d);
            if (q->guarantee[d].form == GANG__QUOTA_AMOUNT &&
                q->limit[d].form == GANG__QUOTA_AMOUNT)
                q->guarantee[d].amount = gang__min(q->guarantee[d].amount, q->limit[d].amount);
        }
    }
}

static void link_queues(const struct gang__queue_drafts *t, struct gang__queues *qs)
{
    for (uint32_t i = 0; i < qs->count; i++) {
        struct gang__queue *q = &qs->queue[i];
        uint32_t parent = t->order[i]->parent;
        q->parent = parent == GANG__NO_QUEUE ? GANG__NO_QUEUE : t->draft[parent].index;
        q->first_child = q->next_sibling = GANG__NO_QUEUE;
        set_own(q);
        set_inherited(q, parent == GANG__NO_QUEUE ? NULL : &qs->queue[q->parent]);
        qs->lends = qs->lends || q->spec->lending_limit_count > 0;
        qs->cells = qs->cells || q->cell_count > 0;
        qs->by_users = qs->by_users || (q->leaf && q->within == GANG_PREEMPT_USER_LIMIT);
        qs->backfills = qs->backfills || (q->leaf && q->backfill != GANG_BACKFILL_NONE);
        qs->has_made = qs->has_made || q->made;
        qs->nonpreemptible_to_limit = qs->nonpreemptible_to_limit || q->nonpreemptible_to_limit;
        qs->budgets = qs->budgets || q->budget_count > 0;
        qs->slices = qs->slices || (q->leaf && q->slicer != GANG__NO_QUEUE);
        qs->ranks = qs->ranks || (q->leaf && q->across != GANG_ACROSS_NEVER);
    }
    uint32_t first_top = GANG__NO_QUEUE;
    for (uint32_t i = qs->count; i-- > 0;) { /* backwards: each comes before its younger siblings */
        struct gang__queue *q = &qs->queue[i];
        uint32_t *first =
            q->parent == GANG__NO_QUEUE ? &first_top : &qs->queue[q->parent].first_child;
        q->next_sibling = *first;
        *first = i;
    }
    assert(qs->count == 0 || first_top == 0);
    inherit_guarantees(qs);
}

gang_result gang__drafts_compile(struct gang__queue_drafts *t, struct gang__queues **out)
{
    struct gang__queues *qs = gang__block_build(t->mem, lay, t);
    if (!qs)
        return gang__draft_refuse_memory(t);
    link_queues(t, qs);
    *out = qs;
    for (uint32_t i = 0; i < qs->count; i++) {
        if (gang__hash_reserve(&qs->names, t->mem) != GANG_OK)
            return gang__draft_refuse_memory(t);
        gang__hash_insert(&qs->names, &qs->queue[i].name_link, gang__queue_hash(qs->queue[i].name));
    }
    return GANG_OK;
}
