/* SPDX-License-Identifier: Apache-2.0 */
/* The host scores. Its function is called outside of the read section, so that it may block.
 * Earlier findings stay valid only if no node was removed or described again meanwhile (the
 * cluster's epoch). Otherwise the plan starts again, with p->again; a change of the nodes has
 * completed by then. */
#include "base/rcu.h"
#include "place/search/policy.h"

static bool make_room(struct gang__plan *p, size_t count)
{
    const struct gang_mem *mem = &p->c->mem;
    return gang__grow(mem, (void **)&p->candidate, &p->candidate_room, count,
                      sizeof(*p->candidate)) &&
           gang__grow(mem, (void **)&p->host_score, &p->host_score_room, count,
                      sizeof(*p->host_score));
}

static void describe(struct gang__plan *p, const struct gang__seat *seat, struct gang_candidate *to)
{
    const struct gang__view *v = gang__plan_view(p, seat->slot); /* it is there */
    const uint64_t *now = gang__view_now(p, v);
    to->node = v->node->id;
    to->cpu_free = (int64_t)gang__head_cpu(now[GANG__WORD_HEAD]);
    to->memory_free = (int64_t)now[GANG__WORD_MEMORY] * GANG_PAGE_BYTES;
    to->gpu_free = gang__gpu_free(v, now);
    to->gpus_free = gang__popcount(gang__whole_devices(v->layout, now));
    to->tasks = v->used;
}

static bool score_all(struct gang__plan *p, uint32_t group, struct gang__seat *seat, size_t seats)
{
    const gang_request *q = p->q;
    if (!make_room(p, seats)) {
        p->failed = true;
        return false;
    }
    for (size_t i = 0; i < seats; i++) {
        describe(p, &seat[i], &p->candidate[i]);
        p->host_score[i] = 0;
    }
    gang__rcu_leave();
    p->host = q->score((int32_t)group, p->candidate, sizeof(*p->candidate), seats, p->host_score,
                       q->score_user);
    gang__rcu_enter();
    /* The nodes of a snapshot are kept by it. */
    p->again = !p->host && !p->snap && gang__load(&p->c->nodes.epoch) != p->epoch;
    p->failed = p->host || p->again;
    for (size_t i = 0; i < seats; i++)
        seat[i].score = p->host_score[i];
    return !p->failed;
}

const struct gang__policy gang__policy_host = {.way = GANG__WAY_SCORE, .score_all = score_all};
