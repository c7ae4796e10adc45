/* SPDX-License-Identifier: Apache-2.0 */
/* What tests use of this folder besides the public header <gangsched/scenario.h>. */
#ifndef GANG__SCENARIO_SCENARIO_IN_H
#define GANG__SCENARIO_SCENARIO_IN_H

#include <stdbool.h>

#include <gangsched/scenario.h>

#include "base/mem.h"

/* gang_scenarios_read() with an allocator. */
gang_result gang__scenarios_read_mem(const struct gang_mem *mem, const char *text, size_t length,
                                     gang_scenarios **scenarios, struct gang_error *error);

/* gang_scenario_write() with an allocator. */
gang_result gang__scenario_write_mem(const struct gang_mem *mem,
                                     const struct gang_scenario *scenario, int32_t indent,
                                     gang_write_fn write, void *user, struct gang_error *error);

struct gang__scenario_path {
    char path[64];
};

/* Compares two cases by meaning. false: `where` has the path of the first difference. */
bool gang__scenario_equal(const struct gang_scenario *a, const struct gang_scenario *b,
                          struct gang__scenario_path *where);

#endif
