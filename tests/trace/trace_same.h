/* SPDX-License-Identifier: Apache-2.0 */
/* Are two traces the same? */
#ifndef GANG_TESTS_TRACE_SAME_H
#define GANG_TESTS_TRACE_SAME_H

#include <gangsched/trace.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static inline bool same_group(const struct gang_group_spec *a, const struct gang_group_spec *b)
{
    if (!same_text(a->name, b->name) || !same_text(a->partition, b->partition) ||
        a->count != b->count || a->min != b->min || a->cpu_milli != b->cpu_milli ||
        a->memory_bytes != b->memory_bytes || a->gpu_milli != b->gpu_milli ||
        a->gpu_devices != b->gpu_devices || a->gpu_model_count != b->gpu_model_count)
        return false;
    for (size_t i = 0; i < a->gpu_model_count; i++)
        if (!same_text(a->gpu_models[i], b->gpu_models[i]))
            return false;
    return true;
}

/* NULL; else the first member of a job in which they differ. */
static inline const char *job_difference(const struct gang_trace_job *a,
                                         const struct gang_trace_job *b)
{
    if (!same_text(a->name, b->name))
        return "name";
    if (!same_text(a->queue, b->queue) || !same_text(a->user, b->user))
        return "queue or user";
    if (a->submit_ns != b->submit_ns || a->run_ns != b->run_ns || a->limit_ns != b->limit_ns ||
        a->started_ns != b->started_ns)
        return "times";
    if (a->priority != b->priority || a->preemptible != b->preemptible || a->end != b->end)
        return "priority, preemptible, end";
    if (a->group_count != b->group_count)
        return "group_count";
    for (size_t i = 0; i < a->group_count; i++)
        if (!same_group(&a->groups[i], &b->groups[i]))
            return "groups";
    return NULL;
}

static inline const char *trace_difference(gang_trace *a, gang_trace *b)
{
    if (gang_trace_count(a) != gang_trace_count(b))
        return "count";
    for (size_t i = 0; i < gang_trace_count(a); i++) {
        struct gang_trace_job x = GANG_TRACE_JOB_INIT, y = GANG_TRACE_JOB_INIT;
        if (gang_trace_get(a, i, &x) != GANG_OK || gang_trace_get(b, i, &y) != GANG_OK)
            return "get";
        const char *difference = job_difference(&x, &y);
        if (difference)
            return difference;
    }
    return NULL;
}

/* Output of gang_trace_write(). */
struct trace_output {
    char *bytes;
    size_t length;
    size_t cap;
};

static inline int trace_append(const char *bytes, size_t length, void *user)
{
    struct trace_output *out = user;
    if (out->length + length + 1 > out->cap) {
        out->cap = 2 * (out->length + length + 1);
        out->bytes = realloc(out->bytes, out->cap);
        if (!out->bytes)
            abort();
    }
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
    out->bytes[out->length] = '\0';
    return 0;
}

#endif
