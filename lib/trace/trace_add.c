/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a job wrong; adding one. */
#include <gangsched/job.h>
#include <gangsched/sched.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/trace_in.h"

enum { MAX_ELEMENT = 65536, MAX_DEVICE_MILLI = GANG_MAX_GPUS * 1000 };

static gang_result check_range(struct gang_error *error, int64_t value, int64_t min, int64_t max,
                               const char *path)
{
    if (value < min)
        return gang__error(error, GANG_ERANGE, path, "must be at least %" PRId64, min);
    if (value > max)
        return gang__error(error, GANG_ERANGE, path, "must be at most %" PRId64, max);
    return GANG_OK;
}

static gang_result check_gpus(const struct gang__trace_group *g, struct gang_error *error)
{
    GANG__TRACE_TRY(check_range(error, g->gpu_milli, 0, MAX_DEVICE_MILLI, "gpu_milli"));
    GANG__TRACE_TRY(check_range(error, g->gpu_devices, 0, GANG_MAX_GPUS, "gpu_devices"));
    if (g->gpu_milli >= 1000 && g->gpu_milli % 1000)
        return gang__error(error, GANG_EINVAL, "gpu_milli",
                           "neither below 1000 nor a multiple of it");
    return GANG_OK;
}

static gang_result check_group(const struct gang__trace_group *g, struct gang_error *error)
{
    GANG__TRACE_TRY(check_range(error, g->count, 1, GANG__TRACE_MAX_TASKS, "count"));
    GANG__TRACE_TRY(check_range(error, g->min, 0, g->count, "min"));
    GANG__TRACE_TRY(check_range(error, g->cpu_milli, 0, GANG_MAX_CPU_MILLI, "cpu_milli"));
    GANG__TRACE_TRY(check_range(error, g->memory_bytes, 0, GANG__TRACE_MAX_MEMORY, "memory_bytes"));
    return check_gpus(g, error);
}

static gang_result check_job(const struct gang__trace_draft *d, struct gang_error *error)
{
    GANG__TRACE_TRY(
        check_range(error, d->submit_ns, -GANG__TRACE_MAX_NS, GANG__TRACE_MAX_NS, "submit_ns"));
    GANG__TRACE_TRY(check_range(error, d->run_ns, 0, GANG__TRACE_MAX_NS, "run_ns"));
    GANG__TRACE_TRY(check_range(error, d->limit_ns, 0, GANG__TRACE_MAX_NS, "limit_ns"));
    if (d->started_ns != GANG_TRACE_UNKNOWN)
        GANG__TRACE_TRY(check_range(error, d->started_ns, -GANG__TRACE_MAX_NS, GANG__TRACE_MAX_NS,
                                    "started_ns"));
    if (d->preemptible < GANG_NOT_PREEMPTIBLE || d->preemptible > GANG_SEMI_PREEMPTIBLE)
        return gang__error(error, GANG_EINVAL, "preemptible", "unknown");
    if (d->end < GANG_END_NONE || d->end > GANG_END_DEADLINE)
        return gang__error(error, GANG_EINVAL, "end", "unknown");
    if (d->group_count < 1 || d->group_count > GANG__TRACE_MAX_GROUPS)
        return gang__error(error, d->group_count ? GANG_ELIMIT : GANG_EINVAL, "groups",
                           "not 1 to %d", GANG__TRACE_MAX_GROUPS);
    int64_t together = 0;
    for (size_t i = 0; i < d->group_count; i++) {
        gang_result r = check_group(&d->groups[i], error);
        if (r != GANG_OK)
            return gang__error_at(error, r, "groups[%zu]", i);
        together += d->groups[i].min;
    }
    if (together == 0)
        return gang__error(error, GANG_EINVAL, "groups", "no tasks that start together");
    return GANG_OK;
}

static gang_result out_of_memory(struct gang_error *error)
{
    return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
}

static gang_result check_name(const gang_trace *t, struct gang__span name, struct gang_error *error)
{
    size_t index;
    gang_result r = gang__trace_check_text(name);
    if (r != GANG_OK)
        return gang__error(error, r, "name", "longer than 255 bytes, or not plain UTF-8 text");
    if (gang__trace_name_find(t, name, &index))
        return gang__error(error, GANG_EEXIST, "name", "job %zu has this name already", index);
    if (t->count >= INT32_MAX)
        return gang__error(error, GANG_ELIMIT, NULL, "more than 2^31 - 1 jobs");
    return GANG_OK;
}

gang_result gang__trace_add(gang_trace *t, const struct gang__trace_draft *d,
                            struct gang_error *error)
{
    char position[24];
    struct gang__span name = d->name;
    struct gang__trace_row row = {
        d->submit_ns, d->run_ns, d->limit_ns, d->started_ns,           d->priority,     NULL,
        d->queue,     d->user,   0,           (uint8_t)d->preemptible, (uint8_t)d->end, 0};
    GANG__TRACE_TRY(check_job(d, error));
    if (name.n == 0) {
        name.n = (size_t)snprintf(position, sizeof(position), "%zu", t->count);
        name.s = position;
    }
    GANG__TRACE_TRY(check_name(t, name, error));
    gang_result r = gang__trace_mix_add(t, d->groups, d->group_count, &row.mix);
    if (r == GANG_ERANGE)
        return gang__error(error, r, "groups", "they ask for more together than a number tells");
    if (r != GANG_OK || gang__trace_reserve(t, name, d->group_count, &row.name) != GANG_OK)
        return out_of_memory(error);
    gang__trace_append(t, &row);
    return GANG_OK;
}

/* ---- from the caller's structs ---- */

static gang_result word_in(gang_trace *t, const char *text, const char *path, uint32_t *word,
                           struct gang_error *error)
{
    gang_result r = gang__trace_word(t, gang__span_of(text), word);
    if (r == GANG_ENOMEM)
        return out_of_memory(error);
    if (r != GANG_OK)
        return gang__error(error, r, path, "longer than 255 bytes, or not plain UTF-8 text");
    return GANG_OK;
}

/* A member that a trace does not keep; NULL: none. */
static const char *not_kept(const struct gang_group_spec *g)
{
    return g->gpu_memory_bytes                      ? "gpu_memory_bytes"
           : g->amount_count                        ? "amounts"
           : g->label_count                         ? "labels"
           : g->same                                ? "same"
           : g->prefer                              ? "prefer"
           : g->group_set >= 0                      ? "set"
           : g->numa                                ? "numa"
           : g->where                               ? "where"
           : g->profile                             ? "profile"
           : g->near_nic                            ? "near_nic"
           : g->same_devices                        ? "same_devices"
           : g->models_ranked                       ? "models_ranked"
           : g->subgroup_size                       ? "slice"
           : g->subgroup_same || g->subgroup_prefer ? "subgroup_same"
           : g->spread || g->max_skew               ? "spread"
           : g->max_per_node                        ? "max_per_node"
           : g->max_per_domain || g->domain_level   ? "max_per_domain"
           : g->spread_soft                         ? "spread_soft"
                                                    : NULL;
}

static gang_result models_in(gang_trace *t, const struct gang_group_spec *spec, uint32_t *number,
                             struct gang_error *error)
{
    size_t count = spec->gpu_model_count;
    *number = 0;
    if (count == 0)
        return GANG_OK;
    if (!spec->gpu_models)
        return gang__error(error, GANG_EINVAL, "gpu_models", "missing");
    if (count > GANG__TRACE_MAX_MODELS)
        return gang__error(error, GANG_ELIMIT, "gpu_models", "more than %d",
                           GANG__TRACE_MAX_MODELS);
    struct gang__span models[GANG__TRACE_MAX_MODELS];
    for (size_t i = 0; i < count; i++)
        models[i] = gang__span_of(spec->gpu_models[i]);
    gang_result r = gang__trace_models_add(t, models, count, number);
    if (r == GANG_ENOMEM)
        return out_of_memory(error);
    return r == GANG_OK ? r : gang__error(error, r, "gpu_models", "empty, or no names");
}

static gang_result group_in(gang_trace *t, const struct gang_group_spec *spec,
                            struct gang__trace_group *g, struct gang_error *error)
{
    const char *left_out = not_kept(spec);
    if (left_out)
        return gang__error(error, GANG_ENOTSUP, left_out, "a trace does not keep this");
    *g = (struct gang__trace_group){.count = spec->count,
                                    .min = spec->min,
                                    .cpu_milli = spec->cpu_milli,
                                    .memory_bytes = spec->memory_bytes,
                                    .gpu_milli = spec->gpu_milli,
                                    .gpu_devices = spec->gpu_devices};
    GANG__TRACE_TRY(check_gpus(g, error));
    if (g->gpu_devices && !g->gpu_milli)
        return gang__error(error, GANG_EINVAL, "gpu_devices", "without gpu_milli");
    if (g->gpu_milli >= 1000 && g->gpu_devices && g->gpu_devices * 1000 != g->gpu_milli)
        return gang__error(error, GANG_EINVAL, "gpu_devices", "contradicts gpu_milli");
    if (g->gpu_milli >= 1000 || g->gpu_devices == 1)
        g->gpu_devices = 0; /* the same said twice */
    GANG__TRACE_TRY(word_in(t, spec->name, "name", &g->name, error));
    GANG__TRACE_TRY(word_in(t, spec->partition, "partition", &g->partition, error));
    return models_in(t, spec, &g->models, error);
}

static gang_result groups_in(gang_trace *t, const struct gang_trace_job *job,
                             struct gang__trace_group *groups, struct gang_error *error)
{
    for (size_t i = 0; i < job->group_count; i++) {
        struct gang_group_spec spec;
        size_t size;
        const char *from = (const char *)job->groups + i * job->group_size;
        memcpy(&size, from, sizeof(size));
        gang_result r = size > job->group_size
                            ? GANG_EINVAL
                            : gang__struct_in(&spec, sizeof(spec), sizeof(spec), from, size);
        if (r != GANG_OK)
            gang__error(error, r, "size", "not that of a group");
        else
            r = group_in(t, &spec, &groups[i], error);
        if (r != GANG_OK)
            return r == GANG_ENOMEM ? r : gang__error_at(error, r, "groups[%zu]", i);
    }
    return GANG_OK;
}

gang_result gang_trace_add(gang_trace *trace, const struct gang_trace_job *job,
                           struct gang_error *error)
{
    struct gang_trace_job in;
    struct gang__trace_draft draft = GANG__TRACE_DRAFT_INIT;
    if (!trace || !job)
        return gang__error(error, GANG_EINVAL, NULL, "no trace, or no job");
    gang_result r = gang__struct_in(&in, sizeof(in), sizeof(in), job, job->size);
    if (r != GANG_OK)
        return gang__error(error, r, "size", "not that of a job");
    if (in.group_count == 0 || !in.groups)
        return gang__error(error, GANG_EINVAL, "groups", "none");
    if (in.group_count > GANG__TRACE_MAX_GROUPS)
        return gang__error(error, GANG_ELIMIT, "groups", "more than %d", GANG__TRACE_MAX_GROUPS);
    if (in.group_size < sizeof(struct gang_group_spec) || in.group_size > MAX_ELEMENT)
        return gang__error(error, GANG_EINVAL, "group_size", "not that of a group");
    struct gang__trace_group *groups = gang__zalloc(&trace->mem, in.group_count, sizeof(*groups));
    if (!groups)
        return out_of_memory(error);
    draft.name = gang__span_of(in.name);
    draft.submit_ns = in.submit_ns;
    draft.run_ns = in.run_ns;
    draft.limit_ns = in.limit_ns;
    draft.started_ns = in.started_ns;
    draft.priority = in.priority;
    draft.preemptible = in.preemptible;
    draft.end = in.end;
    draft.groups = groups;
    draft.group_count = in.group_count;
    r = word_in(trace, in.queue, "queue", &draft.queue, error);
    if (r == GANG_OK)
        r = word_in(trace, in.user, "user", &draft.user, error);
    if (r == GANG_OK)
        r = groups_in(trace, &in, groups, error);
    if (r == GANG_OK)
        r = gang__trace_add(trace, &draft, error);
    gang__release(&trace->mem, groups);
    return r;
}
