/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: the nodes of a matrix, what gangs use of them, and whether gangs fit beside each other
 * there. */
#include <stdlib.h>
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/record/state.h"
#include "sched/slice/slice_in.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"

/* ---- a column comes and goes ----------------------------------------------------------------- */

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

/* All millicores, all devices, all cores. What gangs do not share is not compared. */
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

/* Takes all that gangs share of a node. GANG_ENOFIT: some of it is taken. */
static gang_result hold_column(gang_sched *s, const struct gang__matrix *m, struct gang__column *c)
{
    struct gang_node_info info = {.size = sizeof(info)};
    gang_result r = gang_node_get(s->cluster, c->node, &info);
    if (r != GANG_OK)
        return GANG_ENOFIT;
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    struct gang_placement place = GANG_PLACEMENT_INIT;
    gang_request *request;
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
    r = gang_request_new(s->cluster, &spec, &request, NULL);
    if (r != GANG_OK)
        return GANG_ENOMEM;
    r = gang_alloc_adopt(s->worker, request, &place, 1, &c->held, NULL);
    gang_request_free(request);
    return r == GANG_OK || r == GANG_ENOMEM ? r : GANG_ENOFIT;
}

/* The column of a node, which is made if the matrix has none. GANG_ENOFIT: some of what gangs share
 * there is taken; GANG_ENOMEM. */
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
    m->columns_changed = true;
    *column = c;
    return GANG_OK;
}

/* Release a column. False: another thread reads its allocation, or memory is short. */
static bool drop_column(gang_sched *s, struct gang__matrix *m, struct gang__column *c)
{
    gang_result r = gang__give_back_all(s, c->held);
    if (r != GANG_OK && r != GANG_ESTALE) {
        s->no_memory = s->no_memory || r == GANG_ENOMEM;
        gang__wake_next_run(s); /* the next run looks again */
        return false;
    }
    gang__hash_remove(&m->columns, &c->link);
    gang__calendar_vacated(s, c->occupies);
    gang__release(&s->mem, c);
    gang__wake_capacity_any(s);
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

/* ---- which gangs fit ------------------------------------------------------------------------- */

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

static bool put_use(const struct gang__use *use, bool busy)
{
    uint64_t *word = word_of(use, busy);
    bool fits = gang__op_fits((enum gang__code)use->code, use->payload, *word);
    if (fits)
        *word = gang__op_apply((enum gang__code)use->code, use->payload, *word);
    return fits;
}

void gang__columns_put(const struct gang__sliced *x, bool busy)
{
    for (size_t i = 0; i < x->uses; i++)
        if (!put_use(&x->use[i], busy)) /* overlaps, by a detached gang: no third may come */
            *word_of(&x->use[i], busy) = 0;
}

bool gang__columns_put_all(const struct gang__sliced *x, bool busy, size_t *misfit)
{
    size_t put = 0;
    while (put < x->uses && put_use(&x->use[put], busy))
        put++;
    *misfit = put;
    if (put == x->uses)
        return true;
    while (put > 0) { /* all that is taken is a difference */
        const struct gang__use *use = &x->use[--put];
        *word_of(use, busy) += use->payload;
    }
    return false;
}

bool gang__columns_put_if_fits(const struct gang__sliced *x, bool busy)
{
    size_t misfit;
    return gang__columns_put_all(x, busy, &misfit);
}

/* ---- what a gang uses ------------------------------------------------------------------------ */

struct collect {
    gang_sched *s;
    struct gang__matrix *m;
    struct gang__sliced *x;
    const int64_t *tasks; /* these; NULL: all */
    size_t count;
    gang_result r;
};

static int32_t collect_use(gang_node_id node, unsigned word, uint64_t payload, int64_t task,
                           void *user)
{
    struct collect *c = user;
    struct gang__sliced *x = c->x;
    struct gang__column *column = NULL;
    if (c->tasks && !bsearch(&task, c->tasks, c->count, sizeof(task), gang__by_number))
        return 0;
    if (!gang__grow(&c->s->mem, (void **)&x->use, &x->use_cap, x->uses + 1, sizeof(*x->use)))
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

static int by_task(const void *a, const void *b)
{
    const struct gang__use *x = a, *y = b;
    return x->task != y->task ? (x->task > y->task ? 1 : -1)
                              : (x->word > y->word) - (x->word < y->word);
}

gang_result gang__uses_collect(gang_sched *s, struct gang__sliced *x, const int64_t *tasks,
                               size_t count)
{
    struct collect c = {s, x->matrix, x, tasks, count, GANG_OK};
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
    else if (tasks && x->uses > 1) /* they may come between those that it has */
        qsort(x->use, x->uses, sizeof(*x->use), by_task);
    return r;
}

void gang__use_forget(gang_sched *s, struct gang__sliced *x, size_t i)
{
    struct gang__column *c = x->use[i].column;
    x->cpu -= x->use[i].word == GANG__WORD_HEAD ? (int64_t)x->use[i].payload : 0;
    c->detached_uses -= x->gang == NULL;
    c->uses--;
    if (c->uses == 0)
        (void)drop_column(s, x->matrix, c);
}
