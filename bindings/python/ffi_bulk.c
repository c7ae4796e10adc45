/* SPDX-License-Identifier: Apache-2.0 */
/* Reads many rows in one call, because a call from Python costs as much as a hundred calls from C.
 * cffi compiles this file into the extension; ffi_bulk.h declares it to Python. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Appends a text without NUL if it fits; returns the size that all texts need. */
static size_t gangsched_py_put(const char *text, char *buffer, size_t size, size_t used)
{
    size_t length = strlen(text);
    if (used <= size && length <= size - used)
        memcpy(buffer + used, text, length);
    return used + length;
}

static gang_result gangsched_py_sim_names(const gang_sim *sim, size_t count, char *buffer,
                                          size_t size, int64_t *ends)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct gang_sim_job job = {.size = sizeof(job)};
        char number[24];
        gang_result result = gang_sim_get_job(sim, i, &job);
        if (result != GANG_OK && result != GANG_ESTALE)
            return result;
        snprintf(number, sizeof(number), "%zu", i);
        if (result == GANG_OK) /* a job that was written away has no name */
            used = gangsched_py_put(job.name && *job.name ? job.name : number, buffer, size, used);
        ends[i] = (int64_t)used;
    }
    return used <= size ? GANG_OK : GANG_ELIMIT;
}

static gang_result gangsched_py_trace_words(gang_trace *trace, int32_t which, size_t count,
                                            char *buffer, size_t size, int64_t *ends)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct gang_trace_job job = GANG_TRACE_JOB_INIT;
        gang_result result = gang_trace_get(trace, i, &job);
        if (result != GANG_OK)
            return result;
        char number[24] = "";
        const char *text = which == 0   ? job.name
                           : which == 1 ? job.queue
                           : which == 2 ? job.user
                                        : job.groups[0].partition;
        if (which == 0)
            snprintf(number, sizeof(number), "%zu", i);
        used = gangsched_py_put(text && *text ? text : number, buffer, size, used);
        ends[i] = (int64_t)used;
    }
    return used <= size ? GANG_OK : GANG_ELIMIT;
}

static gang_result gangsched_py_allocations(const gang_sim *sim, size_t first, size_t count,
                                            struct gang_sim_allocation *rows)
{
    for (size_t i = 0; i < count; i++) {
        rows[i].size = sizeof(rows[i]);
        gang_result result = gang_sim_get_allocation(sim, first + i, &rows[i]);
        if (result != GANG_OK)
            return result;
    }
    return GANG_OK;
}

static gang_result gangsched_py_samples(const gang_sim *sim, size_t first, size_t count,
                                        struct gang_sim_sample *rows)
{
    for (size_t i = 0; i < count; i++) {
        rows[i].size = sizeof(rows[i]);
        gang_result result = gang_sim_get_sample(sim, first + i, &rows[i]);
        if (result != GANG_OK)
            return result;
    }
    return GANG_OK;
}

static int32_t gangsched_py_event(const struct gang_sim_event *event, void *user);

static int32_t gangsched_py_refusal(const struct gang_sim_event *event, void *user)
{
    return event->what == GANG_SIM_REFUSED ? gangsched_py_event(event, user) : 0;
}
