/* SPDX-License-Identifier: Apache-2.0 */
/* The host scores. Its function is called outside the read section of the call, so that it may
 * block. The plan is then good only if no node was removed or described again meanwhile
 * (gang_cluster.epoch). Otherwise planning starts again, with p->out.replan, after that change of
 * the nodes is complete. */
#include "base/rcu.h"
#include "place/fit/fit.h"
#include "place/search/policy.h"

static bool reserve_candidates(struct gang__plan *p, size_t count)
{
    const struct gang_mem *mem = &p->c->mem;
    return gang__grow(mem, (void **)&p->score.host_candidate, &p->score.host_candidate_cap, count,
                      sizeof(*p->score.host_candidate)) &&
           gang__grow(mem, (void **)&p->score.host_score, &p->score.host_score_cap, count,
                      sizeof(*p->score.host_score));
}

static void describe(struct gang__plan *p, const struct gang__scored_node *candidate,
                     struct gang_candidate *to)
{
    const struct gang__node_copy *v = gang__node_copy_at(p, candidate->slot); /* it is there */
    const uint64_t *now = gang__words_now(p, v);
    to->node = v->node->id;
    to->cpu_free = (int64_t)gang__head_cpu(now[GANG__WORD_HEAD]);
    to->memory_free = (int64_t)now[GANG__WORD_MEMORY] * GANG_PAGE_BYTES;
    to->gpu_free = gang__gpu_free(v, now);
    to->gpus_free = gang__popcount(gang__whole_devices(v->layout, now));
    to->tasks = v->used;
}

static bool score_all(struct gang__plan *p, uint32_t group, struct gang__scored_node *candidate,
                      size_t candidate_count)
{
    const gang_request *request = p->request;
    if (!reserve_candidates(p, candidate_count)) {
        p->out.failed = true;
        return false;
    }
    for (size_t i = 0; i < candidate_count; i++) {
        describe(p, &candidate[i], &p->score.host_candidate[i]);
        p->score.host_score[i] = 0;
    }
    gang__rcu_leave();
    p->out.host =
        request->score((int32_t)group, p->score.host_candidate, sizeof(*p->score.host_candidate),
                       candidate_count, p->score.host_score, request->score_user);
    gang__rcu_enter();
    /* The nodes of a snapshot are kept by it. */
    p->out.replan = !p->out.host && !p->snap && gang__load(&p->c->nodes.epoch) != p->epoch;
    p->out.failed = p->out.host || p->out.replan;
    for (size_t i = 0; i < candidate_count; i++)
        candidate[i].score = p->score.host_score[i];
    return !p->out.failed;
}

const struct gang__policy gang__policy_host = {.way = GANG__WAY_SCORE, .score_all = score_all};
