/* SPDX-License-Identifier: Apache-2.0 */
/* Placements of jobs, and usage: now, and times time. */
#include <assert.h>
#include <string.h>

#include "base/wide.h"
#include "sim/sim_in.h"

/* ---- time ------------------------------------------------------------------------------------ */

struct gang__sim_area gang__sim_area(const gang_sim *sim)
{
    double s = (double)(sim->now_ns - sim->used_until_ns) / 1e9;
    struct gang__sim_area now = sim->area, *a = &now;
    if (s <= 0)
        return now;
    a->cpu += (double)sim->cpu_used * s;
    a->memory += (double)sim->memory_used * s;
    a->gpu += (double)sim->gpu_used * s;
    a->cpu_all += (double)sim->cpu_all * s;
    a->memory_all += (double)sim->memory_all * s;
    a->gpu_all += (double)sim->gpu_all * s;
    a->stray += (double)sim->gpu_stray * s;
    a->free += (double)(sim->gpu_all - sim->gpu_used) * s;
    return now;
}

void gang__sim_spend(gang_sim *sim)
{
    /* While time passed, no more was used than was up. */
    assert(sim->now_ns <= sim->used_until_ns ||
           (sim->cpu_used <= sim->cpu_all && sim->memory_used <= sim->memory_all &&
            sim->gpu_used <= sim->gpu_all && sim->gpu_used >= 0));
    sim->area = gang__sim_area(sim);
    sim->used_until_ns = sim->now_ns;
}

static void spend_share(const gang_sim *sim, struct gang__sim_share *h)
{
    double s = (double)(sim->now_ns - h->until_ns) / 1e9;
    h->until_ns = sim->now_ns;
    h->cpu += (double)h->cpu_milli * s;
    h->gpu += (double)h->gpu_milli * s;
    h->all += (double)h->all_milli * s;
}

void gang__sim_note_submit(gang_sim *sim, size_t index)
{
    int64_t at = sim->brief[index].submit_ns;
    gang__sim_spend(sim);
    sim->at_submit[index] = sim->area;
    sim->first_submit_ns = gang__min(sim->first_submit_ns, at);
    sim->last_submit_ns = at > sim->last_submit_ns ? at : sim->last_submit_ns;
}

/* Rows for all queues and models there are. */
static bool make_shares(const gang_sim *sim, struct gang__sim_share **list, size_t *cap,
                        size_t count)
{
    size_t was = *cap;
    if (!gang__grow(&sim->mem, (void **)list, cap, count, sizeof(**list)))
        return false;
    for (size_t i = was; i < *cap; i++)
        (*list)[i] = (struct gang__sim_share){.until_ns = sim->now_ns};
    return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

int64_t gang__sim_node_index(const gang_sim *sim, gang_node_id id)
{
    uint64_t hash = gang__hash_number(GANG__HASH_SEED, id);
    for (struct gang__hash_link *n =
             sim->node_by_id.count ? gang__hash_first(&sim->node_by_id, hash) : NULL;
         n; n = n->next) {
        const struct gang__sim_node *node = (const struct gang__sim_node *)n;
        if (node->id == id)
            return node - sim->node;
    }
    return -1;
}

/* GPUs that are free beside taken ones. */
static int64_t stray(const struct gang__sim_node *n)
{
    return n->up && n->gpu_used > 0 ? n->gpu_milli - n->gpu_used : 0;
}

static void count_node(gang_sim *sim, const struct gang__sim_node *n, int64_t sign)
{
    if (!n->up)
        return;
    sim->nodes_up += sign;
    sim->cpu_all += sign * n->cpu_milli;
    sim->memory_all += sign * n->memory_bytes;
    sim->gpu_all += sign * n->gpu_milli;
    sim->gpu_stray += sign * stray(n);
    if (n->model >= 0) {
        struct gang__sim_share *h = &sim->by_model[n->model];
        spend_share(sim, h);
        h->all_milli += sign * n->gpu_milli;
    }
}

bool gang__sim_lies_on(const struct gang__sim_job *j, size_t node)
{
    for (size_t k = 0; k < j->at.count; k++)
        if (j->at.list[k].node == node)
            return true;
    return false;
}

/* What lies on a node that went down is not used: settle the jobs before time passes. */
static void touch_jobs(gang_sim *sim, size_t node)
{
    for (size_t i = 0; i < sim->actives; i++)
        if (gang__sim_lies_on(gang__sim_at(sim, sim->active[i]), node))
            gang__sim_touch(sim, sim->active[i]);
}

void gang__sim_node_state(gang_sim *sim, size_t node, bool up)
{
    struct gang__sim_node *n = &sim->node[node];
    bool went = n->up && !up;
    gang__sim_spend(sim);
    count_node(sim, n, -1);
    n->up = up;
    count_node(sim, n, 1);
    if (went)
        touch_jobs(sim, node);
}

/* Number of the model of its first GPU; -1: it has none. -2: out of memory. */
static int32_t model_of(gang_sim *sim, gang_node_id id)
{
    struct gang_node_spec *spec;
    gang_result r = gang_node_get_spec(sim->cluster, id, &spec);
    if (r != GANG_OK)
        return r == GANG_ENOMEM ? -2 : -1;
    int32_t model = -1;
    if (spec->gpu_count > 0) {
        const char *name = spec->gpus[0].model;
        model = gang__sim_word(sim, &sim->models, name ? name : "");
        if (model < 0 ||
            !make_shares(sim, &sim->by_model, &sim->model_cap, sim->models.table.count))
            model = -2;
    }
    gang_node_spec_free(spec);
    return model;
}

static gang_result add_node(gang_sim *sim, gang_node_id id)
{
    struct gang__sim_node *was = sim->node;
    int32_t model = model_of(sim, id);
    if (model == -2 || gang__hash_reserve(&sim->node_by_id, &sim->mem) != GANG_OK ||
        !gang__grow(&sim->mem, (void **)&sim->node, &sim->node_cap, sim->nodes + 1,
                    sizeof(*sim->node)))
        return GANG_ENOMEM;
    if (sim->node != was) { /* the links, which lie in them, moved */
        memset(sim->node_by_id.bucket, 0, sim->node_by_id.cap * sizeof(*sim->node_by_id.bucket));
        sim->node_by_id.count = 0;
        for (size_t i = 0; i < sim->nodes; i++)
            gang__hash_insert(&sim->node_by_id, &sim->node[i].link, sim->node[i].link.hash);
    }
    sim->node[sim->nodes] = (struct gang__sim_node){.id = id, .model = model};
    gang__hash_insert(&sim->node_by_id, &sim->node[sim->nodes].link,
                      gang__hash_number(GANG__HASH_SEED, id));
    sim->nodes++;
    return GANG_OK;
}

/* As the cluster has it now. */
static void update_node(gang_sim *sim, struct gang__sim_node *n, const struct gang_node_info *info)
{
    int64_t gpu_milli = (int64_t)info->gpu_count * 1000;
    bool up = info->state != GANG_NODE_DOWN;
    n->seen = true;
    if (n->cpu_milli == info->cpu_milli && n->memory_bytes == info->memory_bytes &&
        n->gpu_milli == gpu_milli && n->up == up)
        return;
    gang__sim_spend(sim);
    count_node(sim, n, -1);
    n->cpu_milli = info->cpu_milli;
    n->memory_bytes = info->memory_bytes;
    n->gpu_milli = gpu_milli;
    count_node(sim, n, 1);
    if (n->up != up)
        gang__sim_node_state(sim, (size_t)(n - sim->node), up);
}

gang_result gang__sim_nodes(gang_sim *sim)
{
    for (size_t i = 0; i < sim->nodes; i++)
        sim->node[i].seen = false;
    for (gang_node_id id = gang_node_next(sim->cluster, GANG_ID_NONE); id;
         id = gang_node_next(sim->cluster, id)) {
        struct gang_node_info info;
        info.size = sizeof(info);
        int64_t index = gang__sim_node_index(sim, id);
        if (gang_node_get(sim->cluster, id, &info) != GANG_OK)
            continue;
        if (index < 0) {
            gang_result r = add_node(sim, id);
            if (r != GANG_OK)
                return r;
            index = (int64_t)sim->nodes - 1;
        }
        update_node(sim, &sim->node[index], &info);
    }
    for (size_t i = 0; i < sim->nodes; i++)
        if (!sim->node[i].seen && sim->node[i].up)
            gang__sim_node_state(sim, i, false);
    return GANG_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

struct gather {
    gang_sim *sim;
    uint32_t gang;
    int64_t tasks;
    bool failed;
};

static int32_t gather_task(const struct gang_task *t, void *user)
{
    struct gather *g = user;
    struct gang__sim_placements *p = &g->sim->scratch;
    int64_t node = gang__sim_node_index(g->sim, t->node);
    if (node < 0 || !g->sim->node[node].up) /* its tasks are over */
        return 0;
    size_t cap = p->cap;
    g->tasks++;
    if (p->count == 0 || p->list[p->count - 1].node != (uint32_t)node ||
        p->list[p->count - 1].gang != g->gang) {
        if (!gang__grow(&g->sim->mem, (void **)&p->list, &cap, p->count + (size_t)1,
                        sizeof(*p->list))) {
            g->failed = true;
            return 1;
        }
        p->cap = (uint32_t)cap;
        p->list[p->count++] = (struct gang__sim_placement){.node = (uint32_t)node, .gang = g->gang};
    }
    struct gang__sim_placement *x = &p->list[p->count - 1];
    x->tasks++;
    x->cpu_milli += t->cpu_milli;
    x->memory_bytes += t->memory_bytes;
    x->gpu_milli += (int64_t)t->gpu_count * t->gpu_share;
    x->gpus |= t->gpus;
    return 0;
}

static void count_piece(gang_sim *sim, const struct gang__sim_job *j,
                        const struct gang__sim_placement *p, int64_t sign)
{
    struct gang__sim_node *n = &sim->node[p->node];
    struct gang__sim_share *q = &sim->by_queue[j->queue];
    sim->cpu_used += sign * p->cpu_milli;
    sim->memory_used += sign * p->memory_bytes;
    sim->gpu_used += sign * p->gpu_milli;
    sim->gpu_stray -= stray(n);
    n->gpu_used += sign * p->gpu_milli;
    sim->gpu_stray += stray(n);
    spend_share(sim, q);
    q->cpu_milli += sign * p->cpu_milli;
    q->gpu_milli += sign * p->gpu_milli;
    if (n->model >= 0) {
        spend_share(sim, &sim->by_model[n->model]);
        sim->by_model[n->model].gpu_milli += sign * p->gpu_milli;
    }
}

static bool is_same(const struct gang__sim_placement *a, const struct gang__sim_placement *b)
{
    return a->node == b->node && a->gang == b->gang && a->tasks == b->tasks &&
           a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           a->gpu_milli == b->gpu_milli && a->gpus == b->gpus;
}

static void close_row(gang_sim *sim, const struct gang__sim_placement *p)
{
    if (!p->row || p->row > sim->allocations)
        return;
    sim->allocation[p->row - 1].end_ns = sim->now_ns;
    if (!gang__sim_streams_allocations(sim))
        return;
    sim->streamed_allocations = true;
    sim->closed[sim->closes++] = sim->allocation[p->row - 1]; /* both lists have memory */
    sim->open[sim->opens++] = p->row;
    sim->allocation[p->row - 1].size = 0;
}

/* The lists have memory. */
static void open_row(gang_sim *sim, size_t index, struct gang__sim_placement *p)
{
    if (!(sim->opts.record & GANG_SIM_RECORD_ALLOCATIONS))
        return;
    p->row = sim->opens ? sim->open[--sim->opens] : (uint32_t)++sim->allocations;
    sim->allocation[p->row - 1] =
        (struct gang_sim_allocation){.size = sizeof(struct gang_sim_allocation),
                                     .index = index,
                                     .node = sim->node[p->node].id,
                                     .begin_ns = sim->now_ns,
                                     .end_ns = GANG_TRACE_UNKNOWN,
                                     .tasks = p->tasks,
                                     .cpu_milli = p->cpu_milli,
                                     .memory_bytes = p->memory_bytes,
                                     .gpu_milli = p->gpu_milli,
                                     .gpus = p->gpus,
                                     .gang = p->gang};
}

/* Old pieces make way for those in the scratch. */
static void replace(gang_sim *sim, size_t index)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    struct gang__sim_placements *now = &sim->scratch;
    gang__sim_spend(sim);
    for (size_t i = 0; i < j->at.count; i++) {
        const struct gang__sim_placement *old = &j->at.list[i];
        count_piece(sim, j, old, -1);
        size_t k = 0;
        while (k < now->count && !is_same(&now->list[k], old))
            k++;
        if (k < now->count && !now->list[k].row)
            now->list[k].row = old->row; /* it goes on; without rows that is nothing */
        else
            close_row(sim, old);
    }
    for (size_t k = 0; k < now->count; k++) {
        count_piece(sim, j, &now->list[k], 1);
        if (!now->list[k].row)
            open_row(sim, index, &now->list[k]);
    }
    struct gang__sim_placements was = j->at;
    j->at = *now;
    *now = was;
}

void gang__sim_gather_begin(gang_sim *sim)
{
    sim->scratch.count = 0;
}

gang_result gang__sim_gather(gang_sim *sim, uint32_t gang, gang_alloc_id alloc, int64_t *tasks)
{
    struct gather g = {sim, gang, 0, false};
    if (alloc != GANG_ID_NONE && gang_alloc_each(sim->cluster, alloc, gather_task, &g) != GANG_OK &&
        g.failed)
        return GANG_ENOMEM;
    *tasks = g.tasks;
    return GANG_OK;
}

/* For the rows of the scratch, and for those of the job that end. */
static bool reserve_allocations(gang_sim *sim, const struct gang__sim_job *j)
{
    size_t all = sim->allocations + sim->scratch.count;
    if (!gang__grow(&sim->mem, (void **)&sim->allocation, &sim->allocation_cap, all,
                    sizeof(*sim->allocation)))
        return false;
    return !gang__sim_streams_allocations(sim) ||
           (gang__grow(&sim->mem, (void **)&sim->closed, &sim->closed_cap,
                       sim->closes + j->at.count, sizeof(*sim->closed)) &&
            gang__grow(&sim->mem, (void **)&sim->open, &sim->open_cap, all, sizeof(*sim->open)));
}

gang_result gang__sim_gather_end(gang_sim *sim, size_t index)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    if ((sim->opts.record & GANG_SIM_RECORD_ALLOCATIONS) && !reserve_allocations(sim, j))
        return GANG_ENOMEM;
    if (!make_shares(sim, &sim->by_queue, &sim->queue_cap, sim->queues.table.count))
        return GANG_ENOMEM;
    replace(sim, index);
    if (j->at.count == 0 || j->stage == GANG__SIM_OVER) { /* its memory is for others */
        if (sim->scratch.cap < j->at.cap) {
            struct gang__sim_placements was = sim->scratch;
            sim->scratch = j->at;
            j->at = was;
        }
        gang__release(&sim->mem, j->at.list);
        j->at = (struct gang__sim_placements){NULL, 0, 0};
    }
    return GANG_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool is_news(const gang_sim *sim, const struct gang_sim_sample *s)
{
    if (sim->samples == 0)
        return true;
    const struct gang_sim_sample *last = &sim->sample[sim->samples - 1];
    if (s->at_ns < gang__add_sat(last->at_ns > 0 ? last->at_ns : 0, sim->opts.sample_ns) &&
        s->at_ns != last->at_ns && sim->opts.sample_ns > 0)
        return false;
    return last->running != s->running || last->pending != s->pending ||
           last->cpu_milli != s->cpu_milli || last->memory_bytes != s->memory_bytes ||
           last->gpu_milli != s->gpu_milli || last->nodes_up != s->nodes_up;
}

gang_result gang__sim_sample(gang_sim *sim)
{
    struct gang_sim_sample s = {.size = sizeof(s),
                                .at_ns = sim->now_ns,
                                .running = sim->runs_now,
                                .pending = sim->pending,
                                .cpu_milli = sim->cpu_used,
                                .memory_bytes = sim->memory_used,
                                .gpu_milli = sim->gpu_used,
                                .nodes_up = sim->nodes_up};
    if (!(sim->opts.record & GANG_SIM_RECORD_TIMELINE) || !is_news(sim, &s))
        return GANG_OK;
    if (sim->samples && sim->sample[sim->samples - 1].at_ns == s.at_ns)
        sim->samples--; /* what it came to in this instant */
    if (!gang__grow(&sim->mem, (void **)&sim->sample, &sim->sample_cap, sim->samples + 1,
                    sizeof(*sim->sample)))
        return GANG_ENOMEM;
    sim->sample[sim->samples++] = s;
    return GANG_OK;
}
