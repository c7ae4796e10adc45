/* SPDX-License-Identifier: Apache-2.0 */
/* Reports about what really runs on a node of a matrix: gangs of one row never overlap there, and
 * neither do those that run now. So these are the sets in which tasks that run on other devices or
 * cores than booked are compared with each other. */
#include <stdlib.h>
#include <string.h>

#include "sched/record/state.h"
#include "sched/slice/slice_in.h"
#include "sched/wake/wake.h"

static const struct gang__matrix *matrix_at(const gang_sched *s, gang_node_id node,
                                            struct gang__column **column)
{
    const struct gang__matrix *m = s->slice.matrices;
    while (m && !(*column = gang__column_at(m, node)))
        m = m->next;
    return m;
}

static bool is_among(const struct gang__real_task *task, size_t count, gang_alloc_id alloc,
                     int64_t number)
{
    size_t k = 0;
    while (k < count && !(task[k].alloc == alloc && task[k].task == number))
        k++;
    return k < count;
}

/* The use takes its part of what the set leaves. */
static void subtract(const struct gang__use *use, uint64_t *left)
{
    uint64_t *word = &left[use->word];
    *word = gang__op_fits((enum gang__code)use->code, use->payload, *word)
                ? gang__op_apply((enum gang__code)use->code, use->payload, *word)
                : 0;
}

/* Room for what moved tasks use by then: nothing may fail afterwards. */
static bool reserve(gang_sched *s, struct gang__sliced *x, size_t words)
{
    return gang__grow(&s->mem, (void **)&x->use, &x->use_cap, x->uses + words, sizeof(*x->use));
}

/* The sets of the tasks: their row, and the last one for those that run. */
static bool set_rooms(gang_sched *s, const struct gang__matrix *m, const struct gang__column *c,
                      struct gang__real_task *task, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        struct gang__sliced *x = gang__sliced_of(s, task[k].alloc);
        if (!x || x->matrix != m)
            continue;
        task[k].room[0] = (int32_t)x->row;
        task[k].room[1] = gang__sliced_is_busy(x) ? (int32_t)m->rows : task[k].room[0];
        if (!reserve(s, x, count * c->words))
            return false;
    }
    return true;
}

bool gang__slice_rooms_make(gang_sched *s, gang_node_id node, struct gang__real_task *task,
                            size_t count, struct gang__rooms *rooms)
{
    struct gang__column *c = NULL;
    const struct gang__matrix *m = matrix_at(s, node, &c);
    for (size_t k = 0; k < count; k++)
        task[k].room[0] = task[k].room[1] = -1;
    *rooms = (struct gang__rooms){0, NULL, NULL};
    if (!m)
        return true;
    rooms->count = (size_t)m->rows + 1;
    rooms->base = gang__zalloc(&s->mem, 2 * rooms->count, sizeof(*rooms->base));
    if (!rooms->base || !set_rooms(s, m, c, task, count))
        return false;
    rooms->left = rooms->base + rooms->count;
    for (size_t n = 0; n < rooms->count; n++)
        memcpy(rooms->base[n], c->full, c->words * sizeof(*c->full));
    for (const struct gang__sliced *x = m->first; x; x = x->next)
        for (size_t i = 0; i < x->uses; i++) {
            const struct gang__use *use = &x->use[i];
            if (use->column != c || is_among(task, count, x->alloc, use->task))
                continue;
            subtract(use, rooms->base[x->row]);
            if (gang__sliced_is_busy(x))
                subtract(use, rooms->base[m->rows]);
        }
    return true;
}

void gang__slice_rooms_free(gang_sched *s, struct gang__rooms *rooms)
{
    gang__release(&s->mem, rooms->base);
    *rooms = (struct gang__rooms){0, NULL, NULL};
}

/* Its columns stay: no use of them is the last before the new ones are there. */
void gang__slice_task_moved(gang_sched *s, gang_alloc_id alloc, int64_t task)
{
    struct gang__sliced *x = s->slice.matrices ? gang__sliced_of(s, alloc) : NULL;
    size_t kept = 0;
    if (!x)
        return;
    for (size_t i = 0; i < x->uses; i++) {
        struct gang__use *use = &x->use[i];
        if (use->task != task) {
            x->use[kept++] = *use;
            continue;
        }
        x->cpu -= use->word == GANG__WORD_HEAD ? (int64_t)use->payload : 0;
        use->column->uses--;
        use->column->detached_uses -= x->gang == NULL;
    }
    x->uses = kept;
    if (gang__uses_collect(s, x, &task, 1) != GANG_OK)
        return;
    for (size_t i = 0; i < x->uses && !x->gang; i++)
        x->use[i].column->detached_uses += x->use[i].task == task;
    x->matrix->viewed_in = 0;
    x->matrix->columns_changed = true;
    gang__wake_slices(s);
}

bool gang__slice_conflicts(const gang_sched *s, gang_node_id node, gang_alloc_id a, gang_alloc_id b)
{
    struct gang__column *c = NULL;
    if (!matrix_at(s, node, &c))
        return true;
    const struct gang__sliced *x = gang__sliced_of(s, a), *y = gang__sliced_of(s, b);
    if (c->held == b)
        return false;
    return !x || !y || x->row == y->row || (gang__sliced_is_busy(x) && gang__sliced_is_busy(y));
}

bool gang__slice_is_column(const gang_sched *s, gang_node_id node, gang_alloc_id alloc)
{
    struct gang__column *c = NULL;
    return matrix_at(s, node, &c) && c->held == alloc;
}
