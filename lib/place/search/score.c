/* SPDX-License-Identifier: Apache-2.0 */
/* A search by scores costs O(nodes) a task: all nodes are scored for the first, then the one that
 * changed. The rank of a score may depend on all others (gang__policy.rank), so each task looks at
 * all scores again. */
#include "place/search/score.h"

#include <string.h>

void gang__seats_begin(struct gang__plan *p)
{
    p->seats = 0;
    p->seats_scored = false;
}

void gang__seat_add(struct gang__plan *p, uint32_t group, uint32_t slot)
{
    if (!gang__grow(&p->c->mem, (void **)&p->seat, &p->seat_room, p->seats + 1, sizeof(*p->seat))) {
        p->failed = true;
        return;
    }
    struct gang__seat *seat = &p->seat[p->seats];
    seat->score = 0;
    seat->rest = 0;
    p->seats += gang__plan_probe(p, group, slot, seat);
}

static void score(struct gang__plan *p, uint32_t group, const struct gang__policy *policy,
                  struct gang__seat *seat)
{
    const struct gang__view *v = gang__plan_view(p, seat->slot); /* it is there */
    if (v)
        seat->score = policy->score(p, &p->q->group[group], v, seat);
}

static bool score_seats(struct gang__plan *p, uint32_t group, const struct gang__policy *policy)
{
    if (policy->score_all)
        return policy->score_all(p, group, p->seat, p->seats);
    if (p->seats_scored)
        return true;
    if (policy->begin && !policy->begin(p))
        return false;
    for (size_t i = 0; i < p->seats; i++)
        score(p, group, policy, &p->seat[i]);
    p->seats_scored = true;
    return !p->failed;
}

struct gang__seat *gang__seat_best(struct gang__plan *p, uint32_t group,
                                   const struct gang__policy *policy)
{
    struct gang__seat *best = NULL;
    int64_t least = INT64_MAX, most = INT64_MIN, best_rank = 0;
    if (p->failed || !p->seats || !score_seats(p, group, policy))
        return NULL;
    for (size_t i = 0; i < p->seats; i++) {
        int64_t s = p->seat[i].score;
        if (s == GANG__SCORE_OUT)
            continue;
        least = s < least ? s : least;
        most = s > most ? s : most;
    }
    for (size_t i = 0; i < p->seats; i++) {
        int64_t rank = p->seat[i].score;
        if (rank == GANG__SCORE_OUT)
            continue;
        if (policy->rank)
            rank = policy->rank(rank, least, most);
        if (!best || rank > best_rank || (rank == best_rank && p->seat[i].rest < best->rest)) {
            best = &p->seat[i];
            best_rank = rank;
        }
    }
    return best;
}

void gang__seat_again(struct gang__plan *p, uint32_t group, const struct gang__policy *policy,
                      struct gang__seat *seat, bool taken)
{
    if (taken && gang__plan_probe(p, group, seat->slot, seat)) {
        if (policy->score)
            score(p, group, policy, seat);
        return;
    }
    size_t after = (size_t)(p->seat + p->seats - (seat + 1));
    memmove(seat, seat + 1, after * sizeof(*seat));
    p->seats--;
}
