/* SPDX-License-Identifier: Apache-2.0 */
/* Coming and going: which row a gang is put into, which nodes are in the matrix, and what a gang has of them. */
#include <stdlib.h>
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/record/record.h"
#include "sched/slice/slice.h"
#include "sched/slice/slice_in.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"
#include "sched/where/where.h"

/* ---- columns --------------------------------------------------------------------------------- */

struct gang__column *gang__column_at(const struct gang__matrix *m, gang_node_id node)
{
    uint64_t hash = gang__hash_number(GANG__HASH_SEED, node);
    for (struct gang__hash_link *n = gang__hash_first(&m->columns, hash); n; n = n->next) {
        struct gang__column *c = GANG__OF(struct gang__column, link, n);
        if (c->node == node)
            return c;
    }
    return NULL;
}

void gang__column_lay(struct gang__column *c)
{
    c->full = (uint64_t *)(void *)(c + 1);
    c->row = c->full + c->words;
    c->busy = c->row + c->words;
}

/* All millicores, all devices, all cores: what is not lent of them is not asked about. */
static void fill_column(struct gang__column *c, const struct gang__node *node)
{
    struct gang__layout layout = node->type->layout;
    for (uint32_t i = 0; i < c->words; i++)
        c->full[i] = i == GANG__WORD_HEAD           ? gang__head_cpu(node->type->capacity[i])
                     : i == GANG__WORD_MEMORY       ? 0
                     : i < gang__first_core(layout) ? gang__shares_of(15, 1000)
                                                    : GANG__PAYLOAD;
}

static struct gang__column *new_column(gang_sched *s, gang_node_id id)
{
    struct gang__column *c = NULL;
    gang__rcu_enter();
    const struct gang__node *node = gang__node_of(s->cluster, id);
    uint32_t words = node ? gang__first_amount(node->type->layout) : 0;
    if (node)
        c = gang__zalloc(&s->mem, 1, sizeof(*c) + 3 * words * sizeof(*c->full));
    if (c) {
        c->node = id;
        c->words = words;
        gang__column_lay(c);
        fill_column(c, node);
    }
    gang__rcu_leave();
    return c;
}

/* Take what takes turns on a node, all of it. GANG_ENOFIT: somebody has some of it. */
static gang_result hold_column(gang_sched *s, const struct gang__matrix *m, struct gang__column *c)
{
    struct gang_node_info info = {.size = sizeof(info)};
    gang_result r = gang_node_get(s->cluster, c->node, &info);
    if (r != GANG_OK)
        return GANG_ENOFIT;
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    struct gang_placement place = GANG_PLACEMENT_INIT;
    gang_request *q;
    g.count = g.min = 1;
    g.cpu_milli = info.cpu_milli;
    place.gpus = m->lent & GANG__TIMESHARE_GPU ? info.gpu_mask : 0;
    g.gpu_milli = 1000 * (int64_t)gang__popcount(place.gpus);
    place.any_devices = place.gpus == 0;
    place.node = c->node;
    spec.groups = &g;
    spec.group_count = 1;
    if (g.gpu_milli != (m->lent & GANG__TIMESHARE_GPU ? 1000 * (int64_t)info.gpu_count : 0))
        return GANG_ENOFIT;
    r = gang_request_new(s->cluster, &spec, &q, NULL);
    if (r != GANG_OK)
        return GANG_ENOMEM;
    r = gang_alloc_adopt(s->worker, q, &place, 1, &c->held, NULL);
    gang_request_free(q);
    return r == GANG_OK || r == GANG_ENOMEM ? r : GANG_ENOFIT;
}

/* The column of a node, which comes into the matrix if it is not there. */
static gang_result get_column(gang_sched *s, struct gang__matrix *m, gang_node_id node,
                              struct gang__column **column)
{
    *column = gang__column_at(m, node);
    if (*column)
        return GANG_OK;
    if (gang__hash_reserve(&m->columns, &s->mem) != GANG_OK)
        return GANG_ENOMEM;
    struct gang__column *c = new_column(s, node);
    gang_result r = c ? hold_column(s, m, c) : GANG_ENOMEM;
    if (r != GANG_OK) {
        gang__release(&s->mem, c);
        return r;
    }
    gang__hash_insert(&m->columns, &c->link, gang__hash_number(GANG__HASH_SEED, node));
    m->came = true;
    *column = c;
    return GANG_OK;
}

/* False: somebody reads what it holds just now, or there is no memory. */
static bool drop_column(gang_sched *s, struct gang__matrix *m, struct gang__column *c)
{
    gang_result r = gang__give_all(s, c->held);
    if (r != GANG_OK && r != GANG_ESTALE) {
        s->no_memory = s->no_memory || r == GANG_ENOMEM;
        s->wake.retry = true; /* the next run looks again */
        return false;
    }
    gang__hash_remove(&m->columns, &c->link);
    gang__calendar_vacated(s, c->occupies);
    gang__release(&s->mem, c);
    gang__wake_room_any(s);
    return true;
}

void gang__columns_sweep(gang_sched *s, struct gang__matrix *m)
{
    for (size_t b = 0; b < m->columns.cap; b++)
        for (struct gang__hash_link *n = m->columns.bucket[b], *next; n; n = next) {
            struct gang__column *c = GANG__OF(struct gang__column, link, n);
            next = n->next;
            if (c->uses == 0)
                (void)drop_column(s, m, c);
        }
}

void gang__columns_reset(struct gang__matrix *m, bool busy)
{
    for (size_t b = 0; b < m->columns.cap; b++)
        for (struct gang__hash_link *n = m->columns.bucket[b]; n; n = n->next) {
            struct gang__column *c = GANG__OF(struct gang__column, link, n);
            memcpy(busy ? c->busy : c->row, c->full, c->words * sizeof(*c->full));
        }
}

static uint64_t *word_of(const struct gang__use *use, bool busy)
{
    return &(busy ? use->column->busy : use->column->row)[use->word];
}

void gang__columns_put(const struct gang__sliced *x, bool busy)
{
    for (size_t i = 0; i < x->uses; i++) {
        uint64_t *word = word_of(&x->use[i], busy);
        if (gang__op_fits((enum gang__code)x->use[i].code, x->use[i].payload, *word))
            *word = gang__op_apply((enum gang__code)x->use[i].code, x->use[i].payload, *word);
        else /* two that should not be there together: nobody is to be the third */
            *word = 0;
    }
}

/* Several tasks of it may be on one node: put them there, and take them back. */
bool gang__columns_fit(const struct gang__sliced *x, bool busy)
{
    size_t put = 0;
    bool fits = true;
    for (; fits && put < x->uses; put += fits) {
        const struct gang__use *use = &x->use[put];
        uint64_t *word = word_of(use, busy);
        fits = gang__op_fits((enum gang__code)use->code, use->payload, *word);
        if (fits)
            *word = gang__op_apply((enum gang__code)use->code, use->payload, *word);
    }
    while (put > 0) { /* all that is taken is a difference */
        const struct gang__use *use = &x->use[--put];
        *word_of(use, busy) += use->payload;
    }
    return fits;
}

/* ---- what a gang has lent -------------------------------------------------------------------- */

struct collect {
    gang_sched *s;
    struct gang__matrix *m;
    struct gang__sliced *x;
    int64_t first; /* tasks from this number on */
    gang_result r;
};

static int32_t collect_use(gang_node_id node, unsigned word, uint64_t payload, int64_t task,
                           void *user)
{
    struct collect *c = user;
    struct gang__sliced *x = c->x;
    struct gang__column *column = NULL;
    if (task < c->first)
        return 0;
    if (!gang__grow(&c->s->mem, (void **)&x->use, &x->use_room, x->uses + 1, sizeof(*x->use)))
        c->r = GANG_ENOMEM;
    else
        c->r = get_column(c->s, c->m, node, &column);
    if (c->r != GANG_OK)
        return 1;
    gang__rcu_enter();
    const struct gang__node *n = gang__node_of(c->s->cluster, node);
    enum gang__code code =
        word == GANG__WORD_HEAD || !n ? GANG__OP_TAKE : gang__code_of(n->type->layout, word, false);
    gang__rcu_leave();
    column->uses++;
    x->cpu += word == GANG__WORD_HEAD ? (int64_t)payload : 0;
    x->use[x->uses++] = (struct gang__use){column, payload, task, (uint8_t)word, (uint8_t)code};
    return 0;
}

/* Note what its tasks from this number on have. On an error nothing of them is noted. */
static gang_result collect(gang_sched *s, struct gang__sliced *x, int64_t first)
{
    struct collect c = {s, x->matrix, x, first, GANG_OK};
    size_t before = x->uses;
    gang_result r = gang__timeshare_each(s->cluster, x->alloc, collect_use, &c);
    r = c.r != GANG_OK ? c.r : r;
    while (r != GANG_OK && x->uses > before) {
        const struct gang__use *use = &x->use[--x->uses];
        use->column->uses--;
        x->cpu -= use->word == GANG__WORD_HEAD ? (int64_t)use->payload : 0;
    }
    if (r != GANG_OK)
        gang__columns_sweep(s, x->matrix);
    return r;
}

static void forget_use(gang_sched *s, struct gang__sliced *x, size_t i)
{
    struct gang__column *c = x->use[i].column;
    x->cpu -= x->use[i].word == GANG__WORD_HEAD ? (int64_t)x->use[i].payload : 0;
    c->leaving -= x->unit == NULL;
    c->uses--;
    if (c->uses == 0)
        (void)drop_column(s, x->matrix, c);
}

/* ---- the matrix, and who is in it ------------------------------------------------------------ */

static const struct gang__queue *slicer_of(const gang_sched *s,
                                           const struct gang__queue_state *leaf)
{
    return leaf->q->slicer == GANG__NO_QUEUE ? NULL : &s->queues->queue[leaf->q->slicer];
}

bool gang__slice_concerns(const struct gang__gang *u)
{
    bool slices = u->job->leaf->q->slicer != GANG__NO_QUEUE;
    return u->sliced || (slices && !u->places && !gang__gang_request(u)->exclusive);
}

struct gang__matrix *gang__slice_matrix(const gang_sched *s, const struct gang__queue_state *leaf)
{
    const struct gang__queue *q = slicer_of(s, leaf);
    struct gang__matrix *m = s->slice.matrices;
    while (m && (!q || m->queue != q->id))
        m = m->next;
    return q ? m : NULL;
}

static void take_settings(struct gang__matrix *m, const struct gang__queue *q)
{
    m->quantum_ns = q->quantum_ns;
    m->most = q->quantum_rows;
    if (!m->first && m->columns.count == 0) /* what is held of its nodes is held as it began */
        m->lent = GANG__TIMESHARE_CPU | (q->quantum_gpus ? (uint32_t)GANG__TIMESHARE_GPU : 0);
}

/* Those of queues that slice no more go on as they are until they are empty. */
void gang__slice_configure(gang_sched *s)
{
    for (struct gang__matrix *m = s->slice.matrices; m; m = m->next) {
        const struct gang__queue *q = gang__queue_by_id(s->queues, m->queue);
        if (q && q->slicer == q->index)
            take_settings(m, q);
        s->wake.slices = true;
    }
}

static struct gang__matrix *get_matrix(gang_sched *s, const struct gang__queue_state *leaf)
{
    const struct gang__queue *q = slicer_of(s, leaf);
    struct gang__matrix *m = gang__slice_matrix(s, leaf);
    if (m)
        return m;
    m = gang__zalloc(&s->mem, 1, sizeof(*m));
    if (!m)
        return NULL;
    m->queue = q->id;
    m->last = &m->first;
    m->until_ns = m->due_ns = INT64_MAX;
    take_settings(m, q);
    m->next = s->slice.matrices;
    s->slice.matrices = m;
    return m;
}

static uint64_t hash_of(gang_alloc_id alloc)
{
    return gang__hash_number(GANG__HASH_SEED, alloc);
}

struct gang__sliced *gang__sliced_of(const gang_sched *s, gang_alloc_id alloc)
{
    for (struct gang__hash_link *n = gang__hash_first(&s->slice.gangs, hash_of(alloc)); n;
         n = n->next) {
        struct gang__sliced *x = GANG__OF(struct gang__sliced, link, n);
        if (x->alloc == alloc)
            return x;
    }
    return NULL;
}

void gang__sliced_enter(gang_sched *s, struct gang__sliced *x)
{
    struct gang__matrix *m = x->matrix;
    gang__hash_insert(&s->slice.gangs, &x->link, hash_of(x->alloc));
    x->at = m->last;
    *m->last = x;
    m->last = &x->next;
}

static void free_sliced(gang_sched *s, struct gang__sliced *x)
{
    gang__release(&s->mem, x->use);
    gang__release(&s->mem, x->still);
    gang__release(&s->mem, x);
}

/* Its `next` stays: somebody may be there, on his way through the gangs. */
static void leave_matrix(gang_sched *s, struct gang__sliced *x)
{
    struct gang__matrix *m = x->matrix;
    gang__hash_remove(&s->slice.gangs, &x->link);
    while (x->uses > 0)
        forget_use(s, x, --x->uses);
    if (x->unit)
        x->unit->sliced = NULL;
    *x->at = x->next;
    if (x->next)
        x->next->at = x->at;
    else
        m->last = x->at;
    x->gone = true;
    x->unit = NULL;
    s->wake.slices = true;
    if (m->walkers == 0) {
        free_sliced(s, x);
    } else {
        x->next_gone = m->gone;
        m->gone = x;
    }
}

void gang__sliced_bury(gang_sched *s, struct gang__matrix *m)
{
    while (m->gone) {
        struct gang__sliced *x = m->gone;
        m->gone = x->next_gone;
        free_sliced(s, x);
    }
}

/* Those that could not be given back stay held; nothing is known of them any more. */
static void free_columns(gang_sched *s, struct gang__matrix *m)
{
    for (size_t b = 0; b < m->columns.cap; b++)
        while (m->columns.bucket[b]) {
            struct gang__column *c = GANG__OF(struct gang__column, link, m->columns.bucket[b]);
            gang__hash_remove(&m->columns, &c->link);
            gang__release(&s->mem, c);
        }
}

static void free_matrix(gang_sched *s, struct gang__matrix *m)
{
    struct gang__matrix **at = &s->slice.matrices;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    free_columns(s, m);
    gang__hash_free(&m->columns, &s->mem);
    gang_snapshot_free(m->view);
    gang__release(&s->mem, m);
}

void gang__matrix_empty(gang_sched *s, struct gang__matrix *m)
{
    const struct gang__queue *q = gang__queue_by_id(s->queues, m->queue);
    if (q && q->slicer == q->index)
        take_settings(m, q);
    else
        free_matrix(s, m);
}

void gang__slice_free(gang_sched *s)
{
    while (s->slice.matrices) {
        struct gang__matrix *m = s->slice.matrices;
        while (m->first)
            leave_matrix(s, m->first);
        gang__columns_sweep(s, m);
        free_matrix(s, m);
    }
    gang__hash_free(&s->slice.gangs, &s->mem);
}

bool gang__rows_sweep(struct gang__matrix *m)
{
    uint32_t before = m->rows;
    for (uint32_t row = m->rows; row-- > 0;) {
        bool empty = true;
        for (const struct gang__sliced *x = m->first; x && empty; x = x->next)
            empty = x->row != row;
        if (!empty)
            continue;
        for (struct gang__sliced *x = m->first; x; x = x->next)
            x->row -= x->row > row;
        m->rows--;
        if (row == m->active) { /* the turn is that of the next one */
            m->begun = false;
            m->until_ns = INT64_MAX;
            m->fresh = true;
        }
        m->active -= row < m->active;
        if (m->active >= m->rows)
            m->active = 0;
    }
    return m->rows < before;
}

/* ---- a view of a row ------------------------------------------------------------------------- */

static void close_node(gang_snapshot *v, uint32_t slot)
{
    uint64_t *head = &gang__snapshot_words(v, slot)[GANG__WORD_HEAD];
    if (gang__head_state(*head) == GANG__STATE_UP)
        *head = gang__head(GANG__STATE_DRAINING, gang__head_cpu(*head));
}

/* Does nobody hold what takes turns there? */
static bool is_untouched(const struct gang__matrix *m, const struct gang__node *node,
                         const uint64_t *word)
{
    const struct gang__node_type *shape = node->type;
    unsigned cores = gang__first_core(shape->layout), amounts = gang__first_amount(shape->layout);
    bool gpus = (m->lent & GANG__TIMESHARE_GPU) != 0;
    if (gang__head_cpu(word[0]) != gang__head_cpu(shape->capacity[0]) || (gpus && shape->slices))
        return false;
    for (unsigned i = gpus ? (unsigned)GANG__WORD_SHARES : cores; i < amounts; i++)
        if (word[i] != shape->capacity[i])
            return false;
    return true;
}

/* Close all nodes but those that a gang may come to. */
static void open_columns(struct gang__matrix *m)
{
    gang_snapshot *v = m->view;
    m->open_cpu = 0;
    for (uint32_t slot = 0; slot < v->end; slot++) {
        const struct gang__node *node = gang__snapshot_node(v, slot);
        const struct gang__column *c = node ? gang__column_at(m, node->id) : NULL;
        bool open = c && c->leaving == 0 && gang_snapshot_release(v, c->held) == GANG_OK;
        const uint64_t *word = node ? gang__snapshot_words(v, slot) : NULL;
        if (node && !open && (c || !is_untouched(m, node, word)))
            close_node(v, slot);
        if (node && gang__head_state(word[0]) == GANG__STATE_UP)
            m->open_cpu += (int64_t)gang__head_cpu(word[0]);
    }
}

/* What is seen is still so, but for what other threads do, unless something was given back. */
static bool is_fresh(const gang_sched *s, const struct gang__matrix *m)
{
    return m->viewed_in == s->runs && m->viewed_stamp == gang__capacity_stamp(s->cluster);
}

static struct gang__where where(gang_sched *s, const struct gang__matrix *m, struct gang__gang *u)
{
    return (struct gang__where){.s = s, .u = u, .on = m->view, .parts = true, .plans = true};
}

/* Are there nodes that this gang alone must avoid, or that may be others for the next one? */
static bool has_own_view(gang_sched *s, const struct gang__matrix *m, struct gang__gang *u)
{
    struct gang__where w = where(s, m, u);
    return gang__where_concerned(&w);
}

/* The cluster with all columns empty, and open no other nodes than those a gang may come to. */
static gang_result look(gang_sched *s, struct gang__matrix *m, struct gang__gang *u, bool soft)
{
    bool own = has_own_view(s, m, u);
    if (!m->view && gang_snapshot_new(s->cluster, &m->view) != GANG_OK)
        return GANG_ENOMEM;
    m->viewed_in = 0;
    m->viewed_stamp = gang__capacity_stamp(s->cluster);
    if (gang_snapshot_take(s->worker, m->view) != GANG_OK)
        return GANG_ENOMEM;
    open_columns(m);
    m->viewed_in = own ? 0 : s->runs; /* others may come to the nodes that it is to avoid */
    struct gang__where w = where(s, m, u);
    return gang__where_close(&w, soft);
}

/* Show what a row leaves; `all`: and those who run beside it. */
static gang_result show_row(gang_sched *s, const struct gang__matrix *m, uint32_t row, bool all)
{
    gang_result r = gang__snapshot_copy(s->scratch, m->view);
    for (const struct gang__sliced *x = m->first; r == GANG_OK && x; x = x->next)
        if (x->uses > 0 && (x->row == row || (all && gang__sliced_is_busy(x))))
            r = gang__timeshare_snapshot(s->scratch, x->alloc) == GANG_OK ? GANG_OK : GANG_ENOFIT;
    return r;
}

/* ---- coming ---------------------------------------------------------------------------------- */

/* Millicores that its gang needs at least. */
static int64_t least_cpu(const gang_request *q)
{
    int64_t sum = 0;
    for (uint32_t g = 0; g < q->group_count; g++)
        sum += q->group[g].min * (int64_t)q->group[g].cpu;
    return sum;
}

static bool suffices(const struct gang__matrix *m, uint32_t row, int64_t cpu)
{
    for (const struct gang__sliced *x = m->first; x; x = x->next)
        cpu += x->row == row ? x->cpu : 0;
    return cpu <= m->open_cpu;
}

/* GANG_EBUSY: a node was taken meanwhile that is shown as free. */
static gang_result try_row(gang_sched *s, struct gang__sliced *x, const struct gang__gang *u,
                           uint32_t row, bool all)
{
    struct gang__matrix *m = x->matrix;
    gang_request *q = gang__gang_request(u);
    gang_result r = suffices(m, row, least_cpu(q)) ? show_row(s, m, row, all) : GANG_ENOFIT;
    if (r == GANG_OK)
        r = gang__timeshare_alloc(s->worker, s->scratch, q, m->lent, &x->alloc);
    if (r != GANG_OK)
        return r;
    r = collect(s, x, 0);
    if (r != GANG_OK)
        gang__give_surely(s, NULL, x->alloc, NULL, 0);
    if (r != GANG_OK || gang__snapshot_retake(m->view, x->alloc) != GANG_OK)
        m->viewed_in = 0; /* it shows nothing any more that is so */
    x->row = row;
    return r == GANG_ENOFIT ? GANG_EBUSY : r;
}

/* The turn of a new row comes last, so that it takes nothing of those that wait already. */
static void open_row(struct gang__matrix *m, struct gang__sliced *to)
{
    for (struct gang__sliced *x = m->first; x; x = x->next)
        x->row += x->row >= m->active;
    to->row = m->active;
    m->active += m->rows > 0;
    m->rows++;
}

static bool has_alternates(const struct gang__matrix *m)
{
    for (const struct gang__sliced *x = m->first; x; x = x->next)
        if (x->row != m->active && gang__sliced_is_busy(x))
            return true;
    return false;
}

static gang_result try_rows(gang_sched *s, struct gang__sliced *x, const struct gang__gang *u)
{
    struct gang__matrix *m = x->matrix;
    gang_result r = GANG_ENOFIT;
    if (m->rows > 0 && has_alternates(m))
        r = try_row(s, x, u, m->active, true);
    for (uint32_t d = 0; r == GANG_ENOFIT && d < m->rows; d++)
        r = try_row(s, x, u, (m->active + d) % m->rows, false);
    if (r == GANG_ENOFIT && m->rows < m->most) {
        r = try_row(s, x, u, m->rows, false);
        if (r == GANG_OK)
            open_row(m, x);
    }
    return r;
}

/* What was seen before is good enough to find a place, and not to say that there is none. */
static gang_result find_row(gang_sched *s, struct gang__sliced *x, struct gang__gang *u)
{
    struct gang__matrix *m = x->matrix;
    gang_result r = GANG_ENOFIT;
    if (is_fresh(s, m) && !has_own_view(s, m, u))
        r = try_rows(s, x, u);
    if (r != GANG_ENOFIT && r != GANG_EBUSY)
        return r;
    r = look(s, m, u, true);
    if (r == GANG_OK)
        r = try_rows(s, x, u);
    struct gang__where w = where(s, m, u);
    if (r != GANG_ENOFIT || !gang__where_is_soft(&w))
        return r;
    r = look(s, m, u, false);
    return r == GANG_OK ? try_rows(s, x, u) : r;
}

gang_result gang__slice_alloc(gang_sched *s, struct gang__gang *u, gang_alloc_id *id)
{
    struct gang__matrix *m = get_matrix(s, u->job->leaf);
    struct gang__sliced *x = m ? gang__zalloc(&s->mem, 1, sizeof(*x)) : NULL;
    if (!x)
        return GANG_ENOMEM;
    x->matrix = m;
    gang_result r = gang__hash_reserve(&s->slice.gangs, &s->mem);
    if (r == GANG_OK)
        r = find_row(s, x, u);
    if (r != GANG_OK) {
        free_sliced(s, x);
        return r;
    }
    x->unit = u;
    u->sliced = x;
    gang__sliced_enter(s, x);
    *id = x->alloc;
    s->wake.slices = true;
    return GANG_OK;
}

gang_result gang__slice_grow(gang_sched *s, struct gang__gang *u, uint32_t group, int64_t step,
                             int64_t *granted)
{
    struct gang__sliced *x = u->sliced;
    struct gang__matrix *m = x->matrix;
    *granted = 0;
    if (x->row != m->active || x->state != GANG__SLICED_RUNS)
        return GANG_ENOFIT;
    int64_t first = gang__next_number(s, x->alloc);
    gang_result r = look(s, m, u, true);
    if (r == GANG_OK)
        r = show_row(s, m, x->row, true);
    if (r == GANG_OK)
        r = gang__timeshare_grow(s->worker, s->scratch, x->alloc, (int32_t)group, step, m->lent,
                                  granted);
    m->viewed_in = 0;
    if (r != GANG_OK)
        return r;
    r = collect(s, x, first);
    if (r == GANG_OK)
        return r;
    for (int64_t i = 0; i < *granted; i++) {
        int64_t task = first + i;
        gang__give_surely(s, u, x->alloc, &task, 1);
    }
    *granted = 0;
    return r;
}

/* ---- going ----------------------------------------------------------------------------------- */

void gang__slice_forsake(gang_sched *s, struct gang__gang *u)
{
    struct gang__sliced *x = u->sliced;
    if (!x)
        return;
    u->sliced = NULL;
    x->unit = NULL;
    x->left = 0;
    for (size_t i = 0; i < x->uses; i++)
        x->use[i].column->leaving++;
    x->matrix->viewed_in = 0; /* nobody is to come there */
    s->wake.slices = true;
}

void gang__slice_quiet(gang_sched *s, gang_alloc_id alloc)
{
    struct gang__sliced *x = s->slice.matrices ? gang__sliced_of(s, alloc) : NULL;
    if (x && !x->unit)
        x->quiet = true;
    s->wake.slices = s->wake.slices || x;
}

static bool is_among(const int64_t *tasks, size_t count, int64_t task)
{
    return bsearch(&task, tasks, count, sizeof(task), gang__by_number) != NULL;
}

void gang__slice_gave(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks, size_t count)
{
    struct gang__sliced *x = s->slice.matrices ? gang__sliced_of(s, alloc) : NULL;
    if (!x)
        return;
    size_t kept = 0;
    for (size_t i = 0; tasks && i < x->uses; i++)
        if (is_among(tasks, count, x->use[i].task))
            forget_use(s, x, i);
        else
            x->use[kept++] = x->use[i];
    if (tasks) {
        x->uses = kept;
        gang__slice_gone(s, x, tasks, count);
    }
    if (!tasks || (!x->unit && x->uses == 0))
        leave_matrix(s, x);
    s->wake.slices = true;
    gang__wake_room_any(s);
}
