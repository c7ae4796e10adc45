/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file gangsched.h
 * @brief The one header of libgangsched: takes in all the others but gangsched/hwloc.h.
 *
 *   base.h      results, errors, memory, ids
 *   model.h     what is there: kinds and the description of a machine
 *   core.h      what is taken: cluster, nodes, workers
 *   place.h     where: requests and allocations, gang and incremental
 *   snapshot.h  the whole at one instant, and what if
 *   queue.h     which job is next: the description of queues
 *   job.h       what is to run: the description of a job
 *   plan.h      when: the description of reservations, and what the plan is made of
 *   sched.h     what now: queues, jobs, the cycle, preemption, the host's callbacks
 *   view.h      what others read: jobs and queues at one instant, on any thread
 *   forecast.h  when will it start; what if
 *   scenario.h  clusters, queues and jobs as JSON
 *   trace.h     what was asked, and when: workload traces, read, made and written
 *   sim.h       what if: the scheduler on a virtual clock
 */
#ifndef GANGSCHED_GANGSCHED_H
#define GANGSCHED_GANGSCHED_H

#include <gangsched/base.h>
#include <gangsched/core.h>
#include <gangsched/forecast.h>
#include <gangsched/job.h>
#include <gangsched/model.h>
#include <gangsched/place.h>
#include <gangsched/plan.h>
#include <gangsched/queue.h>
#include <gangsched/scenario.h>
#include <gangsched/sched.h>
#include <gangsched/sim.h>
#include <gangsched/snapshot.h>
#include <gangsched/trace.h>
#include <gangsched/view.h>

#endif
