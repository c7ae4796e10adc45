/* SPDX-License-Identifier: Apache-2.0 */
/* Which gangs take the same of equal free nodes, and what do they take of each? Read off a plan
 * that was just committed. */
#include <string.h>

#include "core/nodes/nodes.h"
#include "place/alloc/equal_domain.h"
#include "place/alloc/equal_holders.h"
#include "place/alloc/equal_nodes.h"
#include "place/fit/fit.h"

/* Do tasks of both groups ask for the same, of any node? */
static bool is_same_shape(const struct gang__group *a, const struct gang__group *b)
{
    return a->cpu == b->cpu && a->pages == b->pages && a->devices == b->devices &&
           a->share == b->share && a->gpu_memory == b->gpu_memory && a->numa == b->numa &&
           a->near_nic == b->near_nic && a->gpu_nodes == b->gpu_nodes && !a->filters &&
           !b->filters && !a->node_need_count && !b->node_need_count && !b->pool_need_count;
}

/* Several groups of one shape, with no more tasks than they need and no bounds of their own. */
static bool are_groups_alike(const gang_request *request)
{
    int64_t min = 0;
    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct gang__group *g = &request->group[i];
        min += g->min;
        if (g->spread >= 0 || g->bounded || g->same >= 0 || g->prefer >= 0 || g->subgroup_size ||
            !is_same_shape(&request->group[0], g))
            return false;
    }
    return request->group_set_count == 0 && !request->exclusive && request->min == min;
}

/* Are the tasks placed node by node, in the order of packing? */
static bool packs(const gang_request *request)
{
    return (request->group_count == 1 ? request->searched : !request->bound) &&
           (request->policy == GANG_POLICY_PACK || request->policy == GANG_POLICY_DEFAULT);
}

/* Requests that are placed by what is known of nodes alone, anywhere or in one domain. */
static bool suits(const gang_request *request)
{
    const struct gang__group *g = &request->group[0];
    return !request->same_devices && !request->has_affinity && !request->score &&
           !g->pool_need_count && !g->profile &&
           (request->group_count == 1 || are_groups_alike(request)) &&
           (packs(request) || gang__equal_domain_suits(request));
}

/* Do these planned tasks take the same of their nodes? */
static bool is_same(const struct gang__plan *p, const struct gang__task_plan *a,
                    const struct gang__task_plan *b)
{
    size_t cores = a->cores ? p->nodes.copy[a->copy].layout.core_words : 0;
    return a->gpus == b->gpus && a->share == b->share && a->cores == b->cores &&
           memcmp(p->word + a->core_at, p->word + b->core_at, cores * sizeof(*p->word)) == 0;
}

/* Was the node up, and nothing of its CPU taken? */
static bool is_cpu_free(struct gang__plan *p, const struct gang__node_copy *copy)
{
    return copy->type && gang__words_was(p, copy)[GANG__WORD_HEAD] ==
                             gang__head(GANG__STATE_UP, copy->type->capacity[GANG__WORD_HEAD]);
}

/* Are these two nodes of one type, wholly free, and does the plan leave the same of them? */
static bool is_equal(struct gang__plan *p, const struct gang__node_copy *a,
                     const struct gang__node_copy *b)
{
    const uint64_t *was = gang__words_was(p, b), *now = gang__words_now(p, b);
    if (a->type != b->type)
        return false;
    size_t bytes = (a->words - 1) * sizeof(*was);
    return is_cpu_free(p, b) && now[GANG__WORD_HEAD] == gang__words_now(p, a)[GANG__WORD_HEAD] &&
           memcmp(was + 1, b->type->capacity + 1, bytes) == 0 &&
           memcmp(now + 1, gang__words_now(p, a) + 1, bytes) == 0;
}

/* Is nothing left of the node that one more task would need? Else the next gang goes on there, and
 * not to a free node. */
static bool is_used_up(struct gang__plan *p, const struct gang__node_copy *copy)
{
    const uint64_t *now = gang__words_now(p, copy);
    const struct gang__group *g = &p->request->group[0];
    uint64_t left = 0;
    if (p->request->exclusive) /* with the holder */
        return gang__plan_takes_all(p, copy);
    if (!g->devices)
        return gang__head_cpu(now[GANG__WORD_HEAD]) < g->cpu;
    for (unsigned i = GANG__WORD_SHARES; i < gang__first_core(copy->layout); i++)
        left |= now[i];
    return left == 0;
}

/* Tasks that a plan puts on its first node; 0: it does not take the same of equal nodes. */
static uint32_t tasks_per_node(struct gang__plan *p)
{
    const struct gang__node_copy *first = &p->nodes.copy[p->tasks.plan[0].copy];
    uint32_t each = first->used;
    if (!first->node || first->words > GANG__CELL_WORDS || each > GANG__PATTERN_TASKS ||
        p->tasks.count % each || !is_used_up(p, first))
        return 0;
    for (size_t i = 0; i < p->tasks.count; i++) {
        const struct gang__task_plan *task = &p->tasks.plan[i];
        if (task->copy != p->tasks.plan[i - i % each].copy ||
            !is_same(p, task, &p->tasks.plan[i % each]))
            return 0;
        if (i % each == 0 && !is_equal(p, first, &p->nodes.copy[task->copy]))
            return 0;
    }
    for (uint32_t i = 0; i < p->request->group_count; i++)
        if (p->request->group_count > 1 && p->request->group[i].min % each)
            return 0; /* two groups on one node */
    return each;
}

/* What the plan takes of the node. */
static void note_ops(struct gang__node_pattern *m, struct gang__plan *p,
                     const struct gang__node_copy *copy)
{
    const uint64_t *was = gang__words_was(p, copy), *now = gang__words_now(p, copy);
    m->op_count = 0;
    if (gang__plan_takes_all(p, copy))
        return;
    for (unsigned i = 0; i < copy->words; i++) {
        struct gang__pattern_op op = {i, gang__code_of(copy->layout, i, false), was[i] - now[i]};
        if (i == GANG__WORD_HEAD)
            op.arg |= GANG__HEAD_IF_UP;
        if (op.arg)
            m->op[m->op_count++] = op;
    }
}

/* The tasks of the first node, as a record; without their numbers and their group. */
static void note_tasks(struct gang__node_pattern *m, const struct gang__plan *p)
{
    m->entry_words = 0;
    for (uint32_t i = 0; i < m->per_node; i++) {
        const struct gang__task_plan *task = &p->tasks.plan[i];
        uint64_t *entry = m->entry + m->entry_words;
        m->entry_words += gang__record_put_task(p, task, entry);
        entry[1] &= ~gang__task_word_of(UINT32_MAX, 0, GANG__HOLDER) | GANG__TASK_MARK;
        m->gpus[i] = task->gpus;
    }
}

void gang__equal_nodes_learn(gang_worker *w, const gang_request *request)
{
    struct gang__plan *p = gang__plan_of(w);
    if (p->tasks.count == 0 || !is_cpu_free(p, &p->nodes.copy[p->tasks.plan[0].copy]))
        return; /* mostly: the task went beside others */
    if (!suits(request) || !gang__plan_suits_patterns(p))
        return;
    struct gang__node_pattern *m = gang__node_pattern_of(w, request);
    if (m->request == request->number && m->epoch == p->epoch)
        return;
    uint32_t each = tasks_per_node(p);
    if (!each)
        return;
    const struct gang__node_copy *first = &p->nodes.copy[p->tasks.plan[0].copy];
    m->type = first->type;
    m->words = first->words;
    m->per_node = each;
    m->rest = m->looks = 0;
    m->in_domain = !packs(request);
    note_ops(m, p, first);
    m->whole_nodes = request->exclusive || (each == 1 && m->op_count == 0);
    memcpy(m->row, gang__words_was(p, first), first->words * sizeof(*m->row));
    note_tasks(m, p);
    gang__equal_holders_note(m, p, first);
    m->request = request->number;
    m->epoch = p->epoch;
}
