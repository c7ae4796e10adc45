/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that compare two cases share. */
#ifndef GANG__SCENARIO_EQUAL_IN_H
#define GANG__SCENARIO_EQUAL_IN_H

#include <stdbool.h>
#include <string.h>

#include <gangsched/scenario.h>

#include "model/specs.h"

/* Loads element `i` of two arrays whose elements have a `size`; false if one cannot be loaded. */
#define GANG__LOAD2(x, y, last, a, b, i) \
    (GANG__LOAD(x, last, a, i) == GANG_OK && GANG__LOAD(y, last, b, i) == GANG_OK)

static inline bool gang__same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool gang__same_names(const char *const *a, size_t a_count, const char *const *b, size_t b_count);
bool gang__same_labels(const struct gang_label *a, size_t a_count, const struct gang_label *b,
                       size_t b_count);

/* ---- objects ---- */

bool gang__same_queue(const struct gang_queue_spec *a, const struct gang_queue_spec *b);
bool gang__same_group(const struct gang_group_spec *a, const struct gang_group_spec *b);
/* But for gang_scenario.afters, .times and .arrivals. */
bool gang__same_job(const struct gang_job_spec *a, const struct gang_job_spec *b);

#endif
