/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling a tree of queues. Each specification is checked alone (queue_check.c), seated in the
 * tree, and written down in one block of memory, parents before children; what only siblings can
 * get wrong is seen last. */
#include "queue/queues.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/two_pass_block.h"
#include "core/nodes/nodes.h"
#include "place/request/request.h"
#include "queue/queue_spec.h"

/* Of a queue at the top that says nothing. */
#define STALE_NS INT64_C(60000000000)
#define EXTEND_NS INT64_C(60000000000)

/* A queue while it is compiled, by its place among the specifications. */
struct seat {
    struct gang__hash_link link;
    struct gang_queue_spec spec; /* in the library's size; the arrays are the caller's */
    uint32_t parent;             /* seat */
    uint32_t depth;
    uint32_t walk;  /* in which walk towards the top it was met; 0: in none */
    uint32_t index; /* in gang__queues.queue */
    gang_queue_id id;
    bool made;
    bool has_children;
};

struct tree {
    gang_cluster *c;
    const struct gang_mem *mem;
    struct gang_error *error;
    const struct gang__queues *old;
    uint32_t count;
    struct seat *seat;
    struct seat **order; /* parents before children */
    struct seat **by_id;
    struct gang__hash_table names;
    gang_queue_id next_id;
    uint32_t dims;
    struct gang__dim dim[GANG__DIMS];
};

static gang_result refuse(const struct tree *t, const struct seat *s, gang_result code,
                          const char *member, const char *text)
{
    gang__error(t->error, code, member, "%s", text);
    return gang__error_at(t->error, code, "queues[%zu]", (size_t)(s - t->seat));
}

static gang_result refuse_memory(const struct tree *t)
{
    return gang__error(t->error, GANG_ENOMEM, NULL, "out of memory");
}

/* ---- taking in ----------------------------------------------------------------------------- */

static uint64_t hash_of(const char *name)
{
    return gang__hash(GANG__HASH_SEED, name, strlen(name));
}

static struct seat *seat_of(const struct tree *t, const char *name)
{
    uint64_t hash = hash_of(name);
    for (struct gang__hash_link *n = gang__hash_first(&t->names, hash); n; n = n->next) {
        struct seat *s = (struct seat *)((char *)n - offsetof(struct seat, link));
        if (n->hash == hash && strcmp(s->spec.name, name) == 0)
            return s;
    }
    return NULL;
}

/* The elements of the caller's array have the size that the first one states. */
static gang_result seat_in(struct tree *t, struct seat *s, const struct gang_queue_spec *specs)
{
    size_t i = (size_t)(s - t->seat), size = specs->size;
    const char *from = (const char *)specs + i * size;
    size_t stated;
    memcpy(&stated, from, sizeof(stated));
    if (stated != size)
        return refuse(t, s, GANG_EINVAL, "size", "not that of the first one");
    const struct gang_queue_spec *spec = (const struct gang_queue_spec *)(const void *)from;
    gang_result r = gang__queue_spec_in(spec, &s->spec, t->error);
    if (r == GANG_OK)
        r = gang__queue_spec_check(t->c, &s->spec, t->error);
    if (r != GANG_OK)
        return gang__error_at(t->error, r, "queues[%zu]", i);
    if (seat_of(t, s->spec.name))
        return refuse(t, s, GANG_EEXIST, "name", "of two queues");
    if (gang__hash_reserve(&t->names, t->mem) != GANG_OK)
        return refuse_memory(t);
    gang__hash_insert(&t->names, &s->link, hash_of(s->spec.name));
    const struct gang__queue *before = t->old ? gang__queue_by_name(t->old, s->spec.name) : NULL;
    s->id = before ? before->id : t->next_id++;
    return GANG_OK;
}

/* ---- dimensions ---------------------------------------------------------------------------- */

static uint32_t dim_find(const struct gang__dim *dim, uint32_t dims, int32_t kind,
                         const struct gang__partition *partition)
{
    uint32_t d = 0;
    while (d < dims && (dim[d].kind != kind || dim[d].partition != partition))
        d++;
    return d;
}

static gang_result dims_of_list(struct tree *t, const struct gang_queue_spec *s, const char *name,
                                const struct gang_quota *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gang_quota q = gang__quota_at(s, list, i);
        struct gang__dim dim = {gang__kind_find(t->c, q.kind), NULL};
        if (q.partition)
            dim.partition = gang__partition_find(t->c, q.partition);
        if (dim_find(t->dim, t->dims, dim.kind, dim.partition) < t->dims)
            continue;
        if (t->dims == GANG__DIMS)
            return gang__quota_refuse(t->error, GANG_ELIMIT, name, q.kind, q.partition,
                                      "more kinds, and pairs of kind and partition, than 64");
        t->dim[t->dims++] = dim;
    }
    return GANG_OK;
}

static gang_result dims_of_spec(struct tree *t, const struct gang_queue_spec *s)
{
    gang_result r = dims_of_list(t, s, "guaranteed", s->guaranteed, s->guaranteed_count);
    if (r == GANG_OK)
        r = dims_of_list(t, s, "limit", s->limit, s->limit_count);
    if (r == GANG_OK)
        r = dims_of_list(t, s, "lending_limit", s->lending_limit, s->lending_limit_count);
    return r;
}

/* The pairs of templates are there from the start, so that making a queue adds none. */
static gang_result dims_of_seat(struct tree *t, const struct seat *s)
{
    size_t i = (size_t)(s - t->seat);
    gang_result r = dims_of_spec(t, &s->spec);
    if (r != GANG_OK)
        return gang__error_at(t->error, r, "queues[%zu]", i);
    struct gang_queue_spec child;
    if (!s->spec.child || gang__queue_spec_in(s->spec.child, &child, NULL) != GANG_OK)
        return GANG_OK;
    r = dims_of_spec(t, &child);
    return r == GANG_OK ? r : gang__error_at(t->error, r, "queues[%zu].child", i);
}

/* ---- seating ------------------------------------------------------------------------------- */

static gang_result find_parents(struct tree *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        struct seat *s = &t->seat[i];
        s->parent = GANG__NO_QUEUE;
        if (!s->spec.parent)
            continue;
        struct seat *parent = seat_of(t, s->spec.parent);
        if (!parent)
            return refuse(t, s, GANG_ENOENT, "parent", "no such queue");
        s->parent = (uint32_t)(parent - t->seat);
        parent->has_children = true;
    }
    return GANG_OK;
}

/* Walk up from each queue until one is met whose depth is known, or that was met before in this
 * walk. */
static gang_result find_depths(struct tree *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t at = i, above = 0;
        while (at != GANG__NO_QUEUE && t->seat[at].walk == 0) {
            t->seat[at].walk = i + 1;
            at = t->seat[at].parent;
            above++;
        }
        if (at != GANG__NO_QUEUE && t->seat[at].walk == i + 1)
            return refuse(t, &t->seat[at], GANG_ECYCLE, "parent", "the queue is its own ancestor");
        uint32_t depth = above + (at == GANG__NO_QUEUE ? 0 : t->seat[at].depth + 1);
        for (at = i; above > 0; above--, at = t->seat[at].parent)
            t->seat[at].depth = --depth;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        const struct seat *s = &t->seat[i];
        if (s->depth >= GANG_MAX_QUEUE_DEPTH)
            return refuse(t, s, GANG_ELIMIT, "parent", "more than 32 queues on a path");
        if (s->spec.child && s->depth + 1 >= GANG_MAX_QUEUE_DEPTH)
            return refuse(t, s, GANG_ELIMIT, "child", "more than 32 queues on a path");
    }
    return GANG_OK;
}

static int by_id(const void *a, const void *b)
{
    const struct seat *const *x = a, *const *y = b;
    return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

static int by_depth(const void *a, const void *b)
{
    const struct seat *const *x = a, *const *y = b;
    if ((*x)->depth != (*y)->depth)
        return (*x)->depth < (*y)->depth ? -1 : 1;
    return by_id(a, b);
}

static void put_in_order(struct tree *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        t->order[i] = t->by_id[i] = &t->seat[i];
    if (t->count) {
        qsort(t->order, t->count, sizeof(struct seat *), by_depth);
        qsort(t->by_id, t->count, sizeof(struct seat *), by_id);
    }
    for (uint32_t i = 0; i < t->count; i++)
        t->order[i]->index = i;
}

static gang_result tree_in(struct tree *t, const struct gang_queue_spec *specs, const bool *made)
{
    gang_result r = GANG_OK;
    for (uint32_t i = 0; r == GANG_OK && i < t->count; i++) {
        t->seat[i].made = made && made[i];
        r = seat_in(t, &t->seat[i], specs);
    }
    uint32_t kinds = gang__load(&t->c->nodes.kind_count);
    for (t->dims = 0; t->dims < kinds; t->dims++)
        t->dim[t->dims] = (struct gang__dim){(int32_t)t->dims, NULL};
    for (uint32_t i = 0; r == GANG_OK && i < t->count; i++)
        r = dims_of_seat(t, &t->seat[i]);
    if (r == GANG_OK)
        r = find_parents(t);
    if (r == GANG_OK)
        r = find_depths(t);
    if (r == GANG_OK)
        put_in_order(t);
    return r;
}

/* ---- writing down -------------------------------------------------------------------------- */

static struct gang__quota quota_of(const struct gang_quota *q)
{
    if (q->fraction)
        return (struct gang__quota){q->fraction, GANG__QUOTA_PART};
    if (q->by_weight)
        return (struct gang__quota){q->by_weight, GANG__QUOTA_WEIGHT};
    return (struct gang__quota){q->amount == GANG_UNLIMITED ? GANG__NO_BOUND : q->amount,
                                GANG__QUOTA_AMOUNT};
}

static const struct gang__quota *lay_quotas(const struct tree *t, struct gang__block *b,
                                            const struct gang_queue_spec *s,
                                            const struct gang_quota *list, size_t count)
{
    struct gang__quota *to = gang__block_take(b, t->dims * sizeof(*to));
    for (size_t i = 0; to && i < count; i++) {
        struct gang_quota q = gang__quota_at(s, list, i);
        const struct gang__partition *partition =
            q.partition ? gang__partition_find(t->c, q.partition) : NULL;
        to[dim_find(t->dim, t->dims, gang__kind_find(t->c, q.kind), partition)] = quota_of(&q);
    }
    return to;
}

static const int64_t *lay_weights(const struct tree *t, struct gang__block *b,
                                  const struct gang_queue_spec *s)
{
    int64_t *to = gang__block_take(b, t->dims * sizeof(*to));
    for (uint32_t d = 0; to && d < t->dims; d++) {
        to[d] = gang__millionths(s->weight);
        for (size_t i = 0; i < s->weight_count; i++)
            if (gang__kind_find(t->c, s->weight_kinds[i]) == t->dim[d].kind)
                to[d] = gang__millionths(s->weights[i]);
    }
    return to;
}

static const struct gang__cell_share *lay_cells(const struct tree *t, struct gang__block *b,
                                                const struct gang_queue_spec *s)
{
    struct gang__cell_share *to = gang__block_take(b, s->cell_count * sizeof(*to));
    for (size_t i = 0; to && i < s->cell_count; i++) {
        int32_t level = gang__level_find(t->c, s->cells[i].level);
        to[i].level = level < 0 ? (int32_t)GANG__LEVEL_NODE : level;
        to[i].count = s->cells[i].count;
    }
    return to;
}

/* Lay out what is a queue's own. NULL: only measure. */
static void lay_queue(const struct tree *t, struct gang__block *b, const struct seat *seat,
                      struct gang__queue *q)
{
    const struct gang_queue_spec *s = &seat->spec;
    const struct gang_queue_spec *spec = gang__queue_spec_lay(b, s);
    const struct gang__quota *guarantee = lay_quotas(t, b, s, s->guaranteed, s->guaranteed_count);
    const struct gang__quota *limit = lay_quotas(t, b, s, s->limit, s->limit_count);
    const struct gang__quota *lending =
        lay_quotas(t, b, s, s->lending_limit, s->lending_limit_count);
    const int64_t *weight = lay_weights(t, b, s);
    const struct gang__cell_share *cells = lay_cells(t, b, s);
    if (!q)
        return;
    q->spec = spec;
    q->guarantee = guarantee;
    q->limit = limit;
    q->lending = lending;
    q->weight = weight;
    q->cells = cells;
    q->cell_count = s->cell_count;
    q->id = seat->id;
    q->name = spec->name;
    q->index = seat->index;
    q->depth = seat->depth;
    q->made = seat->made;
    q->leaf = !seat->has_children && !s->child;
}

static const uint32_t *lay_ids(const struct tree *t, struct gang__block *b)
{
    uint32_t *to = gang__block_take(b, t->count * sizeof(*to));
    for (uint32_t i = 0; to && i < t->count; i++)
        to[i] = t->by_id[i]->index;
    return to;
}

/* Lay out everything; returns it if the block has memory. */
static struct gang__queues *lay(const struct tree *t, struct gang__block *b)
{
    struct gang__queues *qs = gang__block_take(b, sizeof(*qs));
    struct gang__queue *queue = gang__block_take(b, t->count * sizeof(*queue));
    const uint32_t *ids = lay_ids(t, b);
    for (uint32_t i = 0; i < t->count; i++)
        lay_queue(t, b, t->order[i], queue ? &queue[i] : NULL);
    if (!qs)
        return NULL;
    qs->cluster = t->c;
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
    q->turn = s->child_order;
    q->block = s->block;
    q->preempt = s->preempt_mode;
    q->max_running = bound_of(s->max_running);
    q->max_pending = bound_of(s->max_pending);
    q->max_running_per_user = bound_of(s->max_running_per_user);
    q->user_limit_percent = s->user_limit_percent;
    q->user_limit_factor_milli = s->user_limit_factor_milli;
    q->users = s->users;
    q->user_count = s->user_count;
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
    q->slice_rows = !own ? from->slice_rows : s->quantum_rows ? s->quantum_rows : SLICE_ROWS;
    q->quantum_gpus = own ? s->quantum_gpus != 0 : from->quantum_gpus;
}

/* `top` is what a queue at the top inherits. */
static void set_inherited(struct gang__queue *q, const struct gang__queue *parent)
{
    static const struct gang__queue top = {.stale_ns = STALE_NS,
                                           .overrun = GANG_OVERRUN_KILL,
                                           .extend_ns = EXTEND_NS,
                                           .slicer = GANG__NO_QUEUE,
                                           .backfill = GANG_BACKFILL_NONE,
                                           .backfill_order = GANG_BACKFILL_ORDER_LEAF};
    const struct gang_queue_spec *s = q->spec;
    const struct gang__queue *from = parent ? parent : &top;
    q->fixed = s->no_preemption || from->fixed;
    q->open_state = s->state > from->open_state ? s->state : from->open_state;
    q->policy = s->policy ? s->policy : from->policy;
    q->grace_ns = time_of(s->grace_ns, -1, from->grace_ns);
    q->min_runtime_ns = time_of(s->min_runtime_ns, -1, from->min_runtime_ns);
    q->stale_ns = time_of(s->stale_ns, -1, from->stale_ns);
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
    q->depth_given = s->plan_depth ? s->plan_depth : from->depth_given;
    q->plan_depth = q->depth_given                              ? q->depth_given
                    : q->backfill == GANG_BACKFILL_CONSERVATIVE ? GANG__NO_BOUND
                                                                : 1;
    set_slices(q, from);
}

static void link_queues(const struct tree *t, struct gang__queues *qs)
{
    for (uint32_t i = 0; i < qs->count; i++) {
        struct gang__queue *q = &qs->queue[i];
        uint32_t parent = t->order[i]->parent;
        q->parent = parent == GANG__NO_QUEUE ? GANG__NO_QUEUE : t->seat[parent].index;
        q->first_child = q->next_sibling = GANG__NO_QUEUE;
        set_own(q);
        set_inherited(q, parent == GANG__NO_QUEUE ? NULL : &qs->queue[q->parent]);
        qs->lends = qs->lends || q->spec->lending_limit_count > 0;
        qs->cells = qs->cells || q->cell_count > 0;
        qs->backfills = qs->backfills || (q->leaf && q->backfill != GANG_BACKFILL_NONE);
        qs->slices = qs->slices || (q->leaf && q->slicer != GANG__NO_QUEUE);
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
}

static gang_result write_down(struct tree *t, struct gang__queues **out)
{
    struct gang__block b = {NULL, 0};
    (void)lay(t, &b);
    b.base = gang__zalloc(t->mem, 1, b.used);
    if (!b.base)
        return refuse_memory(t);
    size_t measured = b.used;
    b.used = 0;
    struct gang__queues *qs = lay(t, &b);
    assert(b.used == measured && (char *)qs == b.base);
    (void)measured;
    link_queues(t, qs);
    *out = qs;
    for (uint32_t i = 0; i < qs->count; i++) {
        if (gang__hash_reserve(&qs->names, t->mem) != GANG_OK)
            return refuse_memory(t);
        gang__hash_insert(&qs->names, &qs->queue[i].name_link, hash_of(qs->queue[i].name));
    }
    return GANG_OK;
}

/* ---- what siblings get wrong --------------------------------------------------------------- */

/* How the siblings before gave their guarantee in one dimension. */
struct siblings {
    enum gang__quota_how how; /* GANG__QUOTA_NONE: nobody did so far */
    int64_t parts;
};

/* The path of a queue that is refused for its guarantee in a dimension. */
static gang_result refuse_dim(const struct tree *t, const struct seat *s, bool is_template,
                              const struct gang__dim *dim, const char *text)
{
    const char *partition = dim->partition ? dim->partition->name : NULL;
    gang_result r = gang__quota_refuse(t->error, GANG_EINVAL, "guaranteed",
                                       t->c->nodes.kind[dim->kind].name, partition, text);
    return gang__error_at(t->error, r, "queues[%zu]%s", (size_t)(s - t->seat),
                          is_template ? ".child" : "");
}

/* By weight either all or none. Queues made on demand have room beside the others, or are scaled
 * down with them: a job that names one is not to be refused for it. */
static const char *sibling_fault(struct siblings *before, struct gang__quota q, bool made)
{
    if (q.how == GANG__QUOTA_NONE)
        return NULL;
    if (before->how != GANG__QUOTA_NONE &&
        (before->how == GANG__QUOTA_WEIGHT) != (q.how == GANG__QUOTA_WEIGHT))
        return "some siblings by weight, some not";
    before->how = q.how;
    if (q.how == GANG__QUOTA_PART && !made)
        before->parts += q.amount; /* of 2^16 queues at most */
    return before->parts > GANG_WHOLE ? "the parts of the siblings are more than the whole" : NULL;
}

static struct gang__quota quota_in_dim(const struct tree *t, const struct gang_queue_spec *s,
                                       const struct gang__dim *dim)
{
    for (size_t i = 0; i < s->guaranteed_count; i++) {
        struct gang_quota q = gang__quota_at(s, s->guaranteed, i);
        const struct gang__partition *partition =
            q.partition ? gang__partition_find(t->c, q.partition) : NULL;
        if (partition == dim->partition && gang__kind_find(t->c, q.kind) == dim->kind)
            return quota_of(&q);
    }
    return (struct gang__quota){0, GANG__QUOTA_NONE};
}

/* The queues from `first` on, children of `parent` (NULL: the top), and its template. */
static gang_result siblings_check(const struct tree *t, const struct gang__queues *qs,
                                  uint32_t first, const struct seat *parent)
{
    for (uint32_t d = 0; d < qs->dims; d++) {
        struct siblings before = {GANG__QUOTA_NONE, 0};
        const char *fault;
        for (uint32_t i = first; i != GANG__NO_QUEUE; i = qs->queue[i].next_sibling) {
            const struct gang__queue *q = &qs->queue[i];
            fault = sibling_fault(&before, q->guarantee[d], q->made);
            if (fault)
                return refuse_dim(t, t->order[i], false, &qs->dim[d], fault);
        }
        struct gang_queue_spec child;
        if (!parent || !parent->spec.child ||
            gang__queue_spec_in(parent->spec.child, &child, NULL) != GANG_OK)
            continue;
        fault = sibling_fault(&before, quota_in_dim(t, &child, &qs->dim[d]), true);
        if (fault)
            return refuse_dim(t, parent, true, &qs->dim[d], fault);
    }
    return GANG_OK;
}

/* `sorted` has the users of `spec`, the caller's, by name. */
static gang_result users_check(const struct tree *t, const struct seat *s, const char *member,
                               const struct gang_queue_spec *spec,
                               const struct gang_user_weight *sorted)
{
    for (size_t i = 1; i < spec->user_count; i++) {
        const char *user = sorted[i].user;
        if (strcmp(sorted[i - 1].user, user) != 0)
            continue;
        size_t at = spec->user_count - 1;
        while (strcmp(spec->users[at].user, user) != 0)
            at--;
        char path[64];
        snprintf(path, sizeof(path), "%susers[%zu].user", member, at);
        return refuse(t, s, GANG_EINVAL, path, "twice");
    }
    return GANG_OK;
}

/* A plan does not foretell turns; and who is displaced where there are some comes back to any places. */
static gang_result slices_check(const struct tree *t, const struct gang__queues *qs)
{
    for (uint32_t i = 0; qs->slices && i < qs->count; i++) {
        const struct gang__queue *q = &qs->queue[i];
        if (!q->leaf || q->slicer == GANG__NO_QUEUE)
            continue;
        const struct seat *s = t->order[i];
        if (q->backfill != GANG_BACKFILL_NONE)
            return refuse(t, s, GANG_EINVAL, "backfill", "not where gangs take turns");
        if (q->preempt == GANG_PREEMPT_MODE_SUSPEND)
            return refuse(t, s, GANG_EINVAL, "preempt_mode",
                          "not to suspend where gangs take turns");
    }
    return GANG_OK;
}

static gang_result whole_check(const struct tree *t, const struct gang__queues *qs)
{
    gang_result r = siblings_check(t, qs, qs->count ? 0 : GANG__NO_QUEUE, NULL);
    if (r == GANG_OK)
        r = slices_check(t, qs);
    for (uint32_t i = 0; r == GANG_OK && i < qs->count; i++) {
        const struct gang_queue_spec *spec = qs->queue[i].spec;
        const struct seat *s = t->order[i];
        r = users_check(t, s, "", &s->spec, spec->users);
        struct gang_queue_spec child;
        if (r == GANG_OK && s->spec.child &&
            gang__queue_spec_in(s->spec.child, &child, NULL) == GANG_OK)
            r = users_check(t, s, "child.", &child, spec->child->users);
        if (r == GANG_OK)
            r = siblings_check(t, qs, qs->queue[i].first_child, s);
    }
    return r;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static gang_result build(struct tree *t, const struct gang_queue_spec *specs, const bool *made,
                         struct gang__queues **queues)
{
    t->seat = gang__zalloc(t->mem, t->count, sizeof(*t->seat));
    t->order = gang__zalloc(t->mem, t->count, sizeof(struct seat *));
    t->by_id = gang__zalloc(t->mem, t->count, sizeof(struct seat *));
    if (!t->seat || !t->order || !t->by_id)
        return refuse_memory(t);
    gang_result r = tree_in(t, specs, made);
    if (r == GANG_OK)
        r = write_down(t, queues);
    return r == GANG_OK ? whole_check(t, *queues) : r;
}

gang_result gang__queues_new(gang_cluster *c, const struct gang_mem *mem,
                             const struct gang_queue_spec *specs, size_t count, const bool *made,
                             const struct gang__queues *old, gang_queue_id *next_id,
                             struct gang__queues **queues, struct gang_error *error)
{
    *queues = NULL;
    if (count > GANG_MAX_QUEUES)
        return gang__error(error, GANG_ELIMIT, "queues", "%zu are more than %d", count,
                           GANG_MAX_QUEUES);
    if (count > 0 && !specs)
        return gang__error(error, GANG_EINVAL, "queues", "NULL with a count above 0");
    struct gang_queue_spec first; /* its size is that of all */
    gang_result r = count ? gang__queue_spec_in(specs, &first, error) : GANG_OK;
    if (r != GANG_OK)
        return gang__error_at(error, r, "queues[0]");
    struct tree t = {.c = c,
                     .mem = mem,
                     .error = error,
                     .old = old,
                     .count = (uint32_t)count,
                     .next_id = *next_id};
    r = build(&t, specs, made, queues);
    if (r == GANG_OK) {
        *next_id = t.next_id;
    } else {
        gang__queues_free(*queues, mem);
        *queues = NULL;
    }
    gang__hash_free(&t.names, mem);
    gang__release(mem, t.by_id);
    gang__release(mem, t.order);
    gang__release(mem, t.seat);
    return r;
}

void gang__queues_free(struct gang__queues *queues, const struct gang_mem *mem)
{
    if (!queues)
        return;
    gang__hash_free(&queues->names, mem);
    gang__release(mem, queues);
}

const struct gang__queue *gang__queue_by_name(const struct gang__queues *qs, const char *name)
{
    uint64_t hash = hash_of(name);
    for (struct gang__hash_link *n = gang__hash_first(&qs->names, hash); n; n = n->next) {
        struct gang__queue *q =
            (struct gang__queue *)((char *)n - offsetof(struct gang__queue, name_link));
        if (n->hash == hash && strcmp(q->name, name) == 0)
            return q;
    }
    return NULL;
}

const struct gang__queue *gang__queue_by_id(const struct gang__queues *qs, gang_queue_id id)
{
    uint32_t low = 0, high = qs->count; /* it is in [low, high), if it is there */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct gang__queue *q = &qs->queue[qs->by_id[middle]];
        if (q->id == id)
            return q;
        if (q->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
