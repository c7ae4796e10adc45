/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of nodes and tasks. Each node, and each start of a job, draws from a stream of its own.
 * So one of them does not change the draws of the others. */
#include <math.h>

#include "base/draw.h"
#include "base/wide.h"
#include "sim/sim_in.h"

enum { OF_NODE = 1, OF_TASKS = 2, OF_VICTIM = 3 };

static uint64_t draw(const gang_sim *sim, uint64_t stream, uint64_t target, uint64_t number)
{
    return gang__draw(sim->opts.seed, stream, target + 1, number + 1);
}

/* -ln(u) of 0 < u < 1. u is m / 2^k with 1/2 <= m < 1, and ln(m) = 2 artanh((m - 1) / (m + 1)). The
 * operations are the same on all machines; those of the C library's logarithm are not. */
static double minus_log(double u)
{
    int k;
    double m = frexp(u, &k), t = (m - 1) / (m + 1), square = t * t, power = t, sum = 0;
    for (int i = 1; i < 60; i += 2, power *= square)
        sum += power / i;
    return -2 * sum - k * 0.69314718055994530942;
}

/* Exponential, at least 1 ns. */
static int64_t exponential(uint64_t random, double mean_ns)
{
    double u = ((double)(random >> 11) + 0.5) / 9007199254740992.0;
    double ns = floor(minus_log(u) * mean_ns);
    return ns < 1 ? 1 : ns > 9e18 ? INT64_MAX : (int64_t)ns;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool expect_failure(gang_sim *sim, size_t node)
{
    struct gang__sim_node *n = &sim->node[node];
    if (sim->opts.node_mtbf_ns <= 0)
        return true;
    uint64_t random = draw(sim, OF_NODE, node, n->failures);
    int64_t at = gang__add_sat(sim->now_ns, exponential(random, (double)sim->opts.node_mtbf_ns));
    if (!gang__sim_event_add(sim, (struct gang__sim_entry){at, node, GANG__SIM_NODE_FAIL, 0, node}))
        return false;
    n->failures++;
    return true;
}

gang_result gang__sim_fail_begin(gang_sim *sim)
{
    for (size_t i = 0; i < sim->nodes; i++)
        if (sim->node[i].failures == 0 && !expect_failure(sim, i))
            return GANG_ENOMEM;
    return GANG_OK;
}

/* A job with tasks there loses the work since its last checkpoint. */
static void lose(gang_sim *sim, size_t node)
{
    for (size_t i = 0; i < sim->actives; i++) {
        struct gang__sim_job *j = gang__sim_at(sim, sim->active[i]);
        if (!gang__sim_lies_on(j, node) || j->done_ns != GANG_TRACE_UNKNOWN)
            continue;
        gang__sim_progress(sim, j);
        if (!j->stages)
            gang__sim_rewind(&j->work);
        else if (!gang__sim_stages_lose(sim, j, sim->node[node].id))
            continue; /* it ended there, and the scheduler is about to hear of it */
        j->failures++;
        gang__sim_touch(sim, sim->active[i]);
    }
}

/* It is put back if it cannot be done now. */
static gang_result set_state(gang_sim *sim, size_t node, int32_t state, const char *text)
{
    struct gang__sim_node *n = &sim->node[node];
    gang_result r = state == GANG_NODE_DOWN ? gang_report_node_lost(sim->sched, n->id) : GANG_OK;
    if (r == GANG_OK)
        r = gang_node_set_state(sim->worker, n->id, state);
    if (r == GANG_ENOMEM)
        return r;
    if (r != GANG_OK)
        return GANG_OK; /* it was removed meanwhile */
    if (state == GANG_NODE_DOWN && n->up)
        lose(sim, node);
    if (state == GANG_NODE_DOWN) /* also a node that was down: the next run takes it down again */
        n->lost_in = (uint64_t)sim->runs + 1;
    gang__sim_node_state(sim, node, state != GANG_NODE_DOWN);
    sim->dirty = true;
    gang__sim_report(sim, state == GANG_NODE_DOWN ? GANG_SIM_NODE_DOWN : GANG_SIM_NODE_UP, SIZE_MAX,
                     n->id, GANG_REASON_NONE, text);
    return GANG_OK;
}

static gang_result fails(gang_sim *sim, size_t node)
{
    struct gang__sim_node *n = &sim->node[node];
    if (!n->up)
        return expect_failure(sim, node) ? GANG_OK : GANG_ENOMEM;
    double mean = sim->opts.node_repair_ns > 0 ? (double)sim->opts.node_repair_ns : 3600e9;
    int64_t at =
        gang__add_sat(sim->now_ns, exponential(draw(sim, OF_NODE, node, n->failures), mean));
    if (!gang__sim_event_add(sim,
                             (struct gang__sim_entry){at, node, GANG__SIM_NODE_REPAIR, 0, node}))
        return GANG_ENOMEM;
    n->failures++;
    return set_state(sim, node, GANG_NODE_DOWN, "the node failed");
}

gang_result gang__sim_node_event(gang_sim *sim, const struct gang__sim_entry *e)
{
    size_t node = (size_t)e->target;
    if (e->class == GANG__SIM_NODE_FAIL)
        return fails(sim, node);
    if (sim->node[node].lost_in ==
        (uint64_t)sim->runs + 1) { /* it is down first, for the scheduler, too */
        struct gang__sim_entry later = *e;
        later.at_ns = gang__add_sat(sim->now_ns, sim->opts.pass_ns > 0 ? sim->opts.pass_ns : 1);
        return gang__sim_event_add(sim, later) ? GANG_OK : GANG_ENOMEM;
    }
    if (e->class == GANG__SIM_NODE_SET)
        return set_state(sim, node, (int32_t)e->epoch, "the state of the node was changed");
    if (!expect_failure(sim, node))
        return GANG_ENOMEM;
    return set_state(sim, node, GANG_NODE_UP, "the node was repaired");
}

/* ---- tasks ----------------------------------------------------------------------------------- */

int64_t gang__sim_task_failure(gang_sim *sim, size_t index, uint32_t gang, int64_t held_tasks)
{
    if (sim->opts.task_mtbf_ns <= 0 || held_tasks <= 0)
        return INT64_MAX;
    uint64_t target = index | (uint64_t)gang << 32;
    uint64_t random = draw(sim, OF_TASKS, target, gang__sim_at(sim, index)->epoch);
    return gang__add_sat(sim->now_ns,
                         exponential(random, (double)sim->opts.task_mtbf_ns / (double)held_tasks));
}

struct pick {
    int64_t left, task;
};

static int32_t pick_task(const struct gang_task *t, void *user)
{
    struct pick *p = user;
    p->task = t->task;
    return p->left-- == 0;
}

gang_result gang__sim_task_fails(gang_sim *sim, size_t index, uint32_t gang)
{
    struct gang__sim_job *j = gang__sim_at(sim, index);
    struct gang__sim_work *w = j->stages ? &j->stages->gang[gang].work : &j->work;
    int64_t held_tasks = j->stages ? j->stages->gang[gang].held_tasks : j->held_tasks;
    gang_alloc_id alloc = gang_job_alloc(sim->sched, j->id, (int32_t)gang);
    struct pick p = {(int64_t)(draw(sim, OF_VICTIM, index, j->epoch) % (uint64_t)held_tasks), -1};
    gang_result r = gang_alloc_each(sim->cluster, alloc, pick_task, &p);
    if (r < 0 || p.task < 0)
        return GANG_OK; /* it holds nothing any more */
    r = gang_report_tasks(sim->sched, j->id, (int32_t)gang, alloc, &p.task, 1, GANG_TASK_FAILED);
    if (r != GANG_OK)
        return r == GANG_ENOMEM ? r : GANG_OK;
    gang__sim_progress(sim, j);
    gang__sim_rewind(w);
    gang__sim_touch_later(sim, index); /* the scheduler takes its place in the next run */
    j->failures++;
    sim->dirty = true;
    gang__sim_touch(sim, index);
    return GANG_OK;
}
