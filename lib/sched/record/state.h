/* SPDX-License-Identifier: Apache-2.0 */
/* All records of the scheduler. README.md says which folder owns which member. */
#ifndef GANG__SCHED_STATE_H
#define GANG__SCHED_STATE_H

#include "sched/record/heartbeat.h"
#include "sched/record/job_record.h"
#include "sched/record/patience.h"
#include "sched/record/sched_state.h"
#include "sched/record/stats.h"
#include "sched/record/untold.h"

#endif
