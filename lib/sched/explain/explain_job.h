/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_EXPLAIN_H
#define GANG__SCHED_EXPLAIN_H

#include "sched/record/state.h"

gang_result gang__gangs_check(gang_sched *s, struct gang_error *error);

#endif
