/* SPDX-License-Identifier: Apache-2.0 */
/* Was what became of a case for allocation alone to decide? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"
#include "gangsched/scenario_case.h"

/* What a queue and those below it hold of each kind, the built-in ones first. */
struct usage {
    int64_t *amount; /* by all jobs */
    int64_t *pinned; /* by those that are not preemptible */
    bool started;    /* some of it newly */
    bool pinned_started;
};

static const char *kind_name(const struct gang_scenario *c, size_t kind)
{
    static const char *const built_in[GANG_KIND_SITE] = {"cpu", "memory", "gpu"};
    return kind < GANG_KIND_SITE ? built_in[kind] : c->kinds[kind - GANG_KIND_SITE].name;
}

static int64_t amount_of(const struct gang_group_spec *group, const char *kind)
{
    for (size_t i = 0; i < group->amount_count; i++) {
        if (strcmp(group->amounts[i].kind, kind) == 0) {
            return group->amounts[i].amount;
        }
    }
    return 0;
}

/* How much of a kind a job holds. */
static int64_t used_by(const struct gang_scenario *c, const struct ran_job *job, size_t kind)
{
    int64_t used = kind == GANG_KIND_GPU ? job->gpu_milli : 0;
    for (size_t i = 0; i < job->task_count && kind != GANG_KIND_GPU; i++) {
        const struct gang_group_spec *group =
            &job->spec->request.groups[scenario_group_of(job->spec, job->tasks[i].task)];
        used += kind == GANG_KIND_CPU      ? group->cpu_milli
                : kind == GANG_KIND_MEMORY ? group->memory_bytes
                                           : amount_of(group, kind_name(c, kind));
    }
    return used;
}

static void add_usage(const struct ran_case *ran, const struct ran_job *job, size_t kinds,
                      struct usage *usage)
{
    bool pinned = !job->spec->preemptible;
    for (size_t q = ran_queue_of(ran, job); q != SIZE_MAX; q = ran->queues[q].parent) {
        usage[q].started = usage[q].started || job->started;
        usage[q].pinned_started = usage[q].pinned_started || (job->started && pinned);
    }
    for (size_t kind = 0; kind < kinds; kind++) {
        int64_t used = used_by(ran->scenario, job, kind);
        for (size_t q = ran_queue_of(ran, job); q != SIZE_MAX; q = ran->queues[q].parent) {
            usage[q].amount[kind] += used;
            usage[q].pinned[kind] += pinned ? used : 0;
        }
    }
}

/* The first kind of which more is used than the quota says, or NULL. No quota at all: `nothing`
 * tells whether that means none of any kind. */
static const char *exceeded(const struct gang_scenario *c, const int64_t *used, size_t kinds,
                            const struct gang_quota *quota, size_t count, bool nothing)
{
    for (size_t kind = 0; kind < kinds; kind++) {
        const char *name = kind_name(c, kind);
        if (count == 0 && nothing && used[kind] > 0) {
            return name;
        }
        for (size_t i = 0; i < count; i++) {
            if (strcmp(quota[i].kind, name) == 0 && quota[i].amount != GANG_UNLIMITED &&
                used[kind] > quota[i].amount) {
                return name;
            }
        }
    }
    return NULL;
}

static void judge_queue(struct ran_case *ran, size_t number, const struct usage *usage,
                        size_t kinds)
{
    const struct gang_scenario *c = ran->scenario;
    const struct gang_queue_spec *queue = &c->queues[number];
    const char *limit = exceeded(c, usage->amount, kinds, queue->limit, queue->limit_count, false);
    const char *guarantee =
        exceeded(c, usage->pinned, kinds, queue->guaranteed, queue->guaranteed_count, true);
    if (limit != NULL && usage->started) {
        snprintf(ran->skipped, sizeof ran->skipped, "needs limit (%s of queue %s)", limit,
                 queue->name);
    } else if (guarantee != NULL && usage->pinned_started) {
        snprintf(ran->skipped, sizeof ran->skipped,
                 "needs non-preemptible, guarantee (%s of queue %s)", guarantee, queue->name);
    }
}

/* A limit, or a guarantee that non-preemptible work must stay inside, would have changed what came
 * out: then it takes queues to decide the case, and nothing is said about it here. */
int scenario_judge(struct ran_case *ran)
{
    const struct gang_scenario *c = ran->scenario;
    size_t kinds = GANG_KIND_SITE + c->kind_count;
    struct usage *usage = calloc(c->queue_count + 1, sizeof *usage);
    int64_t *amounts = calloc((c->queue_count + 1) * kinds, 2 * sizeof *amounts);
    int status = usage != NULL && amounts != NULL ? CLI_OK : cli_no_memory();
    for (size_t q = 0; q < c->queue_count && status == CLI_OK; q++) {
        usage[q].amount = amounts + 2 * q * kinds;
        usage[q].pinned = usage[q].amount + kinds;
    }
    for (size_t i = 0; i < ran->job_count && status == CLI_OK; i++) {
        add_usage(ran, &ran->jobs[i], kinds, usage);
    }
    for (size_t q = 0; q < c->queue_count && status == CLI_OK && ran->skipped[0] == '\0'; q++) {
        judge_queue(ran, q, &usage[q], kinds);
    }
    free(usage);
    free(amounts);
    return status;
}
