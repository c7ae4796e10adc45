/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a scheduler: the same queues, jobs and allocations, under the same ids, on a copy of
 * its cluster (core/cluster.h). Both decide the same on the same events.
 *
 *   copy.c          the scheduler, its tables of jobs, and the order of all steps
 *   copy_job.c      one job with its gangs
 *   copy_stop.c     stops, and the handovers that wait for them
 *   copy_order.c    wait classes and what blocks them
 *   copy_slice.c    matrices of time slices
 *   copy_request.c  requests, compiled for the copy
 *   copy_reserve.c  reservations and their members
 *   copy_inbox.c    messages that no run has processed
 * State that follows from the jobs is computed again: usage (all jobs enter it, as after a
 * change of the queues) and the orders. History is copied: promises, notes, failed tries. Not
 * copied: the work of other threads. A copy for a forecast also leaves out unprocessed messages
 * and heartbeats, because all tasks live there and no thread sends anything. */
#ifndef GANG__SCHED_COPY_H
#define GANG__SCHED_COPY_H

#include "sched/record/state.h"

/* A copy of scheduler and cluster for a forecast, with ops of its own. The caller frees it with
 * gang_sched_free() and then gang_cluster_free() of its cluster. GANG_OK; GANG_EBUSY: another
 * thread changes an allocation; GANG_ENOMEM. On an error *copy is NULL. Called by the owner of
 * `from`, outside of a run, while no thread changes the cluster. O(nodes + jobs + their tasks).
 * For a host: gang_sched_copy(). */
gang_result gang__sched_copy(gang_sched *from, const struct gang_host_ops *ops, void *user,
                             gang_sched **copy, struct gang_error *error) GANG_MUST_CHECK;

#endif
