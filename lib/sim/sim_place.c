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

static void consolidate(struct gang_request_spec *request)
{
    request->policy = GANG_POLICY_PACK; /* it is the same, and faster */
    if (request->group_count > 1) {
        request->policy = GANG_POLICY_HOST;
        request->score = consolidated;
    }
}

void gang__sim_place_trace_job(gang_sim *sim, size_t index, int64_t run_ns,
                               struct gang_job_spec *job)
{
    if (sim->opts.place == GANG_SIM_PLACE_CONSOLIDATED)
        consolidate(&job->request);
    struct gang_request_spec before = job->request;
    int32_t stop = gang__sim_place(sim, index, run_ns, job);
    if (stop) {
        sim->stop = sim->stop ? sim->stop : stop;
        job->request = before;
    }
}

int32_t gang__sim_place(gang_sim *sim, size_t index, int64_t run_ns, struct gang_job_spec *job)
{
    return sim->ops.place ? sim->ops.place(index, run_ns, job, sim->user) : 0;
}
