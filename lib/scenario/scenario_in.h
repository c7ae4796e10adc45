/* SPDX-License-Identifier: Apache-2.0 */
/* What tests use of this folder besides the public header <gangsched/scenario.h>. */
#ifndef GANG__SCENARIO_SCENARIO_IN_H
#define GANG__SCENARIO_SCENARIO_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <gangsched/scenario.h>

#include "base/mem.h"

/* gang_scenarios_read() with an allocator. */
gang_result gang__scenarios_read_mem(const struct gang_mem *mem, const char *text, size_t length,
                                     gang_scenarios **scenarios, struct gang_error *error);

/* gang_scenario_write() with an allocator. */
gang_result gang__scenario_write_mem(const struct gang_mem *mem,
                                     const struct gang_scenario *scenario, int32_t indent,
                                     gang_write_fn write, void *user, struct gang_error *error);

/* The objects of the format that are read alone, or have keys with an older name. */
enum gang__object {
    GANG__OBJECT_NONE, /* has none */
    GANG__OBJECT_NODE,
    GANG__OBJECT_DEVICE,
    GANG__OBJECT_LINK,
    GANG__OBJECT_QUEUE,
    GANG__OBJECT_QUOTA,
    GANG__OBJECT_JOB,
    GANG__OBJECT_AFFINITY,
    GANG__OBJECT_TASK,
    GANG__OBJECT_RESERVATION,
    GANG__OBJECT_STAGE
};

/* gang_node_read() and its like, and gang_node_write() and its like, with an allocator. */
struct gang__object_to {
    enum gang__object object;
    int32_t indent;
    gang_write_fn write;
    void *user;
};
gang_result gang__object_read_mem(const struct gang_mem *mem, const char *text, size_t length,
                                  enum gang__object object, gang_scenarios **scenarios,
                                  struct gang_error *error);
gang_result gang__object_write_mem(const struct gang_mem *mem, const struct gang__object_to *to,
                                   const void *spec, struct gang_error *error);

/* A place of a job, in the size that the library knows. */
static inline struct gang_running_spec gang__place_at(const struct gang_job_spec *job, size_t i)
{
    size_t size = job->place_size ? job->place_size : offsetof(struct gang_running_spec, numbered);
    struct gang_running_spec place;
    memset(&place, 0, sizeof(place));
    memcpy(&place, (const char *)job->places + i * size,
           size < sizeof(place) ? size : sizeof(place));
    return place;
}

struct gang__scenario_path {
    char path[64];
};

/* Compares two cases by meaning. false: `where` has the path of the first difference. */
bool gang__scenario_equal(const struct gang_scenario *a, const struct gang_scenario *b,
                          struct gang__scenario_path *where);

#endif
