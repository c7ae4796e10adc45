/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file gangsched.h
 * @brief The whole library: includes all other public headers except gangsched/hwloc.h.
 *
 *   base.h      results, errors, memory, ids
 *   model.h     descriptions by value: kinds, machines, requests
 *   core.h      clusters, nodes, workers
 *   place.h     requests and allocations: where tasks run
 *   snapshot.h  the cluster at one instant, and what-if questions
 *   queue.h     descriptions of queues: guarantees, limits, order, preemption
 *   job.h       descriptions of jobs
 *   plan.h      descriptions of reservations; items of the plan
 *   sched.h     the scheduler: jobs in queues, the cycle, callbacks, explanations
 *   view.h      jobs and queues at one instant, for any thread
 *   forecast.h  expected starts of waiting jobs, on a private copy of the scheduler
 *   scenario.h  clusters, queues and jobs as JSON
 *   trace.h     workload traces: reading, making, writing
 *   sim.h       the scheduler on a virtual clock
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
