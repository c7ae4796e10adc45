/* SPDX-License-Identifier: Apache-2.0 */
/* A search by scores costs O(nodes) a task: all nodes are scored for the first, then the one that
 * changed. The rank of a score may depend on all others (gang__policy.rank), so each task looks at
 * all scores again. */
#include "place/search/score.h"

#include <string.h>

#include "place/fit/fit.h"

void gang__scored_nodes_begin(struct gang__plan *p)
{
    p->score.count = 0;
    p->score.scored = false;
}

void gang__scored_node_add(struct gang__plan *p, uint32_t group, uint32_t slot)
{
    if (!gang__grow(&p->c->mem, (void **)&p->score.candidate, &p->score.cap, p->score.count + 1,
                    sizeof(*p->score.candidate))) {
        p->out.failed = true;
        return;
    }
    struct gang__scored_node *candidate = &p->score.candidate[p->score.count];
    candidate->score = 0;
    candidate->rest = 0;
    p->score.count += gang__plan_probe(p, group, slot, candidate);
}

static void score(struct gang__plan *p, uint32_t group, const struct gang__policy *policy,
                  struct gang__scored_node *candidate)
{
    const struct gang__node_copy *v = gang__node_copy_at(p, candidate->slot); /* it is there */
    if (v)
        candidate->score = policy->score(p, &p->request->group[group], v, candidate);
}

static bool score_candidates(struct gang__plan *p, uint32_t group,
                             const struct gang__policy *policy)
{
    if (policy->score_all)
        return policy->score_all(p, group, p->score.candidate, p->score.count);
    if (p->score.scored)
        return true;
    if (policy->begin && !policy->begin(p))
        return false;
    for (size_t i = 0; i < p->score.count; i++)
        score(p, group, policy, &p->score.candidate[i]);
    p->score.scored = true;
    return !p->out.failed;
}

struct gang__scored_node *gang__scored_node_best(struct gang__plan *p, uint32_t group,
                                                 const struct gang__policy *policy)
{
    struct gang__scored_node *best = NULL;
    int64_t least = INT64_MAX, most = INT64_MIN, best_rank = 0;
    if (p->out.failed || !p->score.count || !score_candidates(p, group, policy))
        return NULL;
    for (size_t i = 0; i < p->score.count; i++) {
        int64_t s = p->score.candidate[i].score;
        if (s == GANG__SCORE_OUT)
            continue;
        least = s < least ? s : least;
        most = s > most ? s : most;
    }
    for (size_t i = 0; i < p->score.count; i++) {
        int64_t rank = p->score.candidate[i].score;
        if (rank == GANG__SCORE_OUT)
            continue;
        if (policy->rank)
            rank = policy->rank(rank, least, most);
        if (!best || rank > best_rank ||
            (rank == best_rank && p->score.candidate[i].rest < best->rest)) {
            best = &p->score.candidate[i];
            best_rank = rank;
        }
    }
    return best;
}

void gang__scored_node_update(struct gang__plan *p, uint32_t group,
                              const struct gang__policy *policy,
                              struct gang__scored_node *candidate, bool taken)
{
    if (taken && gang__plan_probe(p, group, candidate->slot, candidate)) {
        if (policy->score)
            score(p, group, policy, candidate);
        return;
    }
    size_t after = (size_t)(p->score.candidate + p->score.count - (candidate + 1));
    memmove(candidate, candidate + 1, after * sizeof(*candidate));
    p->score.count--;
}
