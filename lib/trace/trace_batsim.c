/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads of Batsim (docs/input-workload): jobs, and profiles that say what they do. The names
 * of profile types are those of versions before 5 and of version 5. */
#include <math.h>

#include "trace/trace_json_in.h"

/* Seconds of a computation. */
static gang_result flops_time(const struct gang__trace_reader *r, const struct gang__json *profile,
                              double parts, int64_t *run_ns)
{
    struct gang__json at;
    double cpu;
    double max = (double)r->opts.batsim_flops * 4e9; /* seconds, less than what a time may be */
    GANG__TRACE_TRY(gang__json_need(profile, "cpu", &at));
    GANG__TRACE_TRY(gang__json_real(&at, 0, max, &cpu));
    *run_ns = llround(cpu / parts / (double)r->opts.batsim_flops * 1e9);
    return GANG_OK;
}

/* Is the work of a homogeneous task given for all resources together? */
static gang_result is_spread(const struct gang__json *profile, bool *spread)
{
    static const char *const words[] = {"DefinedAmountsUsedForEachValue",
                                        "DefinedAmountsSpreadUniformly"};
    struct gang__json at;
    size_t index = 0;
    if (gang__json_get_or_null(profile, "generation_strategy", &at))
        GANG__TRACE_TRY(gang__json_choice(&at, words, 2, &index));
    *spread = index == 1;
    return GANG_OK;
}

static gang_result profile_time(const struct gang__trace_reader *r,
                                const struct gang__json *profile, int64_t resources,
                                int64_t *run_ns)
{
    struct gang__json at;
    const char *type;
    bool spread;
    GANG__TRACE_TRY(gang__json_map(profile, SIZE_MAX));
    GANG__TRACE_TRY(gang__json_need(profile, "type", &at));
    GANG__TRACE_TRY(gang__json_text(&at, 1, GANG_MAX_NAME, &type));
    if (strcmp(type, "delay") == 0 || strcmp(type, "DelayProfile") == 0) {
        GANG__TRACE_TRY(gang__json_need(profile, "delay", &at));
        return gang__json_scaled(&at, GANG__SECOND, 0, GANG__TRACE_MAX_NS, run_ns);
    }
    if (strcmp(type, "parallel_homogeneous") == 0)
        return flops_time(r, profile, 1, run_ns);
    if (strcmp(type, "parallel_homogeneous_total") == 0)
        return flops_time(r, profile, (double)resources, run_ns);
    if (strcmp(type, "ParallelTaskHomogeneousProfile") != 0)
        return gang__json_fail(&at, GANG_ENOTSUP,
                               "how long '%s' takes depends on a platform that is not modelled",
                               gang__printable(type).s);
    GANG__TRACE_TRY(is_spread(profile, &spread));
    return flops_time(r, profile, spread ? (double)resources : 1, run_ns);
}

static gang_result read_profile(const struct gang__trace_reader *r, const struct gang__json *job,
                                const struct gang__json *profiles, int64_t resources,
                                int64_t *run_ns)
{
    struct gang__json at, profile;
    const char *name;
    GANG__TRACE_TRY(gang__json_need(job, "profile", &at));
    GANG__TRACE_TRY(gang__json_text(&at, 1, 65536, &name));
    if (!gang__json_get(profiles, name, &profile))
        return gang__json_fail(&at, GANG_EINVAL, "no profile '%s'", gang__printable(name).s);
    return profile_time(r, &profile, resources, run_ns);
}

/* walltime: none, null and -1 are no limit. */
static gang_result read_limit(const struct gang__json *job, int64_t *limit_ns)
{
    GANG__TRACE_TRY(gang__trace_json_seconds(job, "walltime", -GANG__TRACE_MAX_NS, limit_ns));
    *limit_ns = *limit_ns > 0 ? *limit_ns : 0;
    return GANG_OK;
}

static gang_result read_job(struct gang__trace_reader *r, const struct gang__json *job,
                            const struct gang__json *profiles)
{
    const int64_t max = GANG__TRACE_MAX_NS;
    struct gang__trace_draft d = GANG__TRACE_DRAFT_INIT;
    struct gang__trace_group task = {.cpu_milli = 1000};
    struct gang__json at;
    char number[24];
    GANG__TRACE_TRY(gang__json_map(job, SIZE_MAX));
    GANG__TRACE_TRY(gang__trace_json_name(job, "id", number, &d.name));
    GANG__TRACE_TRY(gang__json_need(job, "subtime", &at));
    GANG__TRACE_TRY(gang__json_scaled(&at, GANG__SECOND, -max, max, &d.submit_ns));
    GANG__TRACE_TRY(gang__json_need(job, "res", &at));
    GANG__TRACE_TRY(gang__json_int(&at, 1, GANG__TRACE_MAX_TASKS, &task.count));
    GANG__TRACE_TRY(read_limit(job, &d.limit_ns));
    GANG__TRACE_TRY(read_profile(r, job, profiles, task.count, &d.run_ns));
    GANG__TRACE_TRY(gang__trace_json_word(r, job, "queue", &d.queue));
    GANG__TRACE_TRY(gang__trace_json_word(r, job, "user", &d.user));
    task.min = task.count;
    d.groups = &task;
    d.group_count = 1;
    return gang__trace_json_add(r, job, &d);
}

static gang_result read_workload(struct gang__trace_reader *r, const struct gang__json *root)
{
    struct gang__json jobs, profiles;
    size_t count;
    GANG__TRACE_TRY(gang__json_map(root, SIZE_MAX));
    GANG__TRACE_TRY(gang__json_need(root, "profiles", &profiles));
    GANG__TRACE_TRY(gang__json_map(&profiles, SIZE_MAX));
    GANG__TRACE_TRY(gang__json_need(root, "jobs", &jobs));
    GANG__TRACE_TRY(gang__json_array(&jobs, SIZE_MAX, &count));
    for (size_t i = 0; i < count && !gang__trace_full(r); i++) {
        struct gang__json job = gang__json_element(&jobs, i);
        GANG__TRACE_TRY(gang__trace_accept(r, read_job(r, &job, &profiles), 1));
    }
    return GANG_OK;
}

gang_result gang__trace_read_batsim(struct gang__trace_reader *r)
{
    static const struct gang__json_limits limits = {SIZE_MAX, 64, SIZE_MAX};
    json_t *tree;
    GANG__TRACE_TRY(gang__json_parse(r->text, r->length, &limits, &r->trace->mem, &tree, r->error));
    struct gang__json root = gang__json_root(tree, r->error);
    gang_result result = read_workload(r, &root);
    json_decref(tree);
    return result;
}
