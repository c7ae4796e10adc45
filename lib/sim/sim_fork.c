/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a simulation: its lists as they are, its scheduler and cluster by gang_sched_copy(). Draws
 * have no state, so the future of the fork is the same. */
#include <string.h>

#include "base/error.h"
#include "sim/sim_in.h"

/* ---- functions of the caller ----------------------------------------------------------------- */

/* A fork cannot change whether there are scores, nor their mode: both have set the order of queues
 * and the holds of jobs since the beginning. */
static gang_result read_ops(gang_sim *sim, const struct gang_sim_ops *was,
                            const struct gang_sim_ops *ops, struct gang_error *error)
{
    const struct gang_sim_ops none = GANG_SIM_OPS_INIT;
    sim->ops = none;
    gang_result r =
        ops ? gang__struct_in(&sim->ops, sizeof(none), sizeof(none), ops, ops->size) : GANG_OK;
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "gang_sim_ops of another size");
    if (!sim->ops.score != !was->score)
        return gang__error(error, GANG_EINVAL, "score",
                           was->score ? "the original has one, and so must the fork"
                                      : "the original has none, and its queues have another order");
    if (was->score && sim->ops.score_mode != was->score_mode)
        return gang__error(error, GANG_EINVAL, "score_mode", "is another one than the original's");
    return GANG_OK;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Empties what the fork must not share: lists with members of their own are copied later, scratch
 * is allocated on demand. */
static void detach(gang_sim *sim)
{
    sim->cluster = NULL;
    sim->worker = NULL;
    sim->sched = NULL;
    sim->rows = sim->sources = sim->nodes = 0;
    memset(&sim->queues, 0, sizeof(sim->queues));
    memset(&sim->users, 0, sizeof(sim->users));
    memset(&sim->models, 0, sizeof(sim->models));
    memset(&sim->node_by_id, 0, sizeof(sim->node_by_id));
    memset(&sim->scratch, 0, sizeof(sim->scratch));
    memset(sim->stream, 0,
           sizeof(sim->stream)); /* they are the caller's: the fork keeps what comes */
    sim->streams = false;
    sim->ended = NULL;
    sim->closed = NULL;
    sim->ends = sim->ended_cap = sim->closes = sim->closed_cap = 0;
    sim->view = NULL;
    sim->score = NULL;
    sim->by_score = NULL;
    sim->unchanged = NULL;
    sim->view_cap = sim->viewed = 0;
}

/* A list of `count` with memory for `cap`; from now on *list is of the fork, or NULL. */
static bool copy_list(const gang_sim *sim, void **list, size_t *cap, size_t count, size_t need,
                      size_t element)
{
    const void *from = *list;
    *list = NULL;
    *cap = 0;
    if (need == 0)
        return true;
    *list = gang__zalloc(&sim->mem, need, element);
    if (!*list)
        return false;
    *cap = need;
    if (count)
        memcpy(*list, from, count * element);
    return true;
}

/* Copies all lists, also after one could not be copied: no list of the original stays in the fork.
 * Rows of shares and counts of users are initialized up to their capacity. The list of active jobs
 * has a position for each row. */
static bool copy_lists(gang_sim *to, const gang_sim *from)
{
    size_t pasts = from->result_cap < from->jobs ? from->result_cap : from->jobs;
    const struct {
        void **list;
        size_t *cap, count, need, element;
    } all[] = {
        {(void **)&to->job, &to->job_cap, from->rows, from->rows, sizeof(*to->job)},
        {(void **)&to->active, &to->active_cap, from->actives, from->rows, sizeof(*to->active)},
        {(void **)&to->brief, &to->brief_cap, from->jobs, from->jobs, sizeof(*to->brief)},
        {(void **)&to->result, &to->result_cap, from->stopped ? pasts : 0,
         from->stopped ? pasts : 0, sizeof(*to->result)},
        {(void **)&to->open, &to->open_cap, from->opens, from->opens, sizeof(*to->open)},
        {(void **)&to->at_submit, &to->submit_cap, from->jobs, from->jobs, sizeof(*to->at_submit)},
        {(void **)&to->source, &to->source_cap, from->sources, from->sources, sizeof(*to->source)},
        {(void **)&to->order, &to->order_cap, from->orders, from->orders, sizeof(*to->order)},
        {(void **)&to->heap, &to->heap_cap, from->heaped, from->heaped, sizeof(*to->heap)},
        {(void **)&to->node, &to->node_cap, from->nodes, from->nodes, sizeof(*to->node)},
        {(void **)&to->user_jobs, &to->user_cap, from->user_cap, from->user_cap,
         sizeof(*to->user_jobs)},
        {(void **)&to->by_queue, &to->queue_cap, from->queue_cap, from->queue_cap,
         sizeof(*to->by_queue)},
        {(void **)&to->by_model, &to->model_cap, from->model_cap, from->model_cap,
         sizeof(*to->by_model)},
        {(void **)&to->allocation, &to->allocation_cap, from->allocations, from->allocations,
         sizeof(*to->allocation)},
        {(void **)&to->sample, &to->sample_cap, from->samples, from->samples, sizeof(*to->sample)},
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ok =
            copy_list(to, all[i].list, all[i].cap, all[i].count, all[i].need, all[i].element) && ok;
    return ok;
}

/* ---- what lists refer to --------------------------------------------------------------------- */

/* Where jobs are. Those that are counted have pieces of their own. */
static bool copy_jobs(gang_sim *to, const gang_sim *from)
{
    for (; to->rows < from->rows; to->rows++) {
        struct gang__sim_job *j = &to->job[to->rows];
        struct gang__sim_placements *at = &j->at;
        const struct gang__sim_stages *stages = j->stages;
        const struct gang__sim_placement *list = at->list;
        at->list = at->count ? gang__alloc(&to->mem, at->count * sizeof(*list)) : NULL;
        j->stages = NULL;
        if (stages && (at->list || !at->count))
            j->stages = gang__sim_stages_copy(stages, &to->mem);
        if ((at->count && !at->list) || (stages && !j->stages)) {
            gang__release(&to->mem, at->list);
            return false; /* it is not counted */
        }
        at->cap = at->count;
        if (at->count)
            memcpy(at->list, list, at->count * sizeof(*list));
    }
    to->row_cap = to->rows;
    return true;
}

static bool copy_sources(gang_sim *to, const gang_sim *from)
{
    for (; to->sources < from->sources; to->sources++) {
        const char *name = from->source[to->sources].name;
        char **own = &to->source[to->sources].name;
        if (name && !(*own = gang__strdup(&to->mem, name)))
            return false;
    }
    return true;
}

static bool copy_nodes(gang_sim *to, const gang_sim *from)
{
    for (; to->nodes < from->nodes; to->nodes++) {
        struct gang__hash_link *link = &to->node[to->nodes].link;
        if (gang__hash_reserve(&to->node_by_id, &to->mem) != GANG_OK)
            return false;
        gang__hash_insert(&to->node_by_id, link, link->hash);
    }
    return true;
}

/* Under the same numbers. */
static bool copy_words(gang_sim *to, struct gang__sim_words *words,
                       const struct gang__sim_words *from)
{
    for (size_t i = 0; i < from->table.count; i++)
        if (gang__sim_word(to, words, from->list[i]->text) < 0)
            return false;
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool copy_past(gang_sim *to, const gang_sim *from)
{
    return copy_lists(to, from) && copy_jobs(to, from) && copy_sources(to, from) &&
           copy_nodes(to, from) && copy_words(to, &to->queues, &from->queues) &&
           copy_words(to, &to->users, &from->users) && copy_words(to, &to->models, &from->models);
}

static gang_result copy_world(gang_sim *to, const gang_sim *from, struct gang_error *error)
{
    const struct gang_host_ops ops = gang__sim_host_ops(to);
    gang_result r = gang_sched_copy(from->sched, &ops, to, &to->cluster, &to->sched, error);
    if (r != GANG_OK)
        return r;
    r = gang_worker_new(to->cluster, &to->worker);
    return r == GANG_OK ? r : gang__error(error, r, NULL, "%s", gang_strerror(r));
}

gang_result gang_sim_fork(gang_sim *sim, const struct gang_sim_ops *ops, void *user,
                          gang_cluster **cluster, gang_sim **fork, struct gang_error *error)
{
    if (cluster)
        *cluster = NULL;
    if (fork)
        *fork = NULL;
    if (!sim || !cluster || !fork)
        return gang__error(error, GANG_EINVAL, NULL, "no simulation, or no place for the fork");
    if (sim->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang_sim *to = gang__alloc(&sim->mem, sizeof(*to));
    if (!to)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    *to = *sim;
    detach(to);
    to->user = user;
    bool copied = copy_past(to, sim);
    gang_result r = copied ? read_ops(to, &sim->ops, ops, error)
                           : gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (r == GANG_OK)
        r = copy_world(to, sim, error);
    if (r != GANG_OK) {
        gang_cluster *own = to->cluster;
        gang_sim_free(to);
        gang_cluster_free(own);
        return r;
    }
    *cluster = to->cluster;
    *fork = to;
    return GANG_OK;
}
