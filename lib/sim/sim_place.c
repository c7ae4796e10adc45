/* SPDX-License-Identifier: Apache-2.0 */
/* Where jobs of traces are placed. */
#include "sim/sim_in.h"

/* The first group where least is free, the others where most is. */
static int32_t consolidated(int32_t group, const struct gang_candidate *candidates,
                            size_t candidate_size, size_t count, int64_t *scores, void *user)
{
    const char *at = (const char *)candidates;
    (void)user;
    for (size_t i = 0; i < count; i++, at += candidate_size) {
        const struct gang_candidate *c = (const struct gang_candidate *)(const void *)at;
        scores[i] = group > 0 ? c->gpu_free : -c->gpu_free;
    }
    return 0;
}

void gang__sim_place_by(const gang_sim *sim, struct gang_request_spec *request)
{
    if (sim->opts.place != GANG_SIM_PLACE_CONSOLIDATED)
        return;
    request->policy = GANG_POLICY_PACK; /* it is the same, and faster */
    if (request->group_count > 1) {
        request->policy = GANG_POLICY_HOST;
        request->score = consolidated;
    }
}
