/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by tests of one rule of a leaf: a queue that preempts nothing, a job of a user, and the
 * reason for which a job waits. */
#ifndef GANG_TESTS_SCHED_LEAF_H
#define GANG_TESTS_SCHED_LEAF_H

#include "sched/host.h"

static inline struct gang_queue_spec leaf_queue(const char *name)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = name;
    q.within = q.reclaim = GANG_PREEMPT_NEVER;
    return q;
}

/* One gang of so many tasks of a GPU each; good until the next call. */
static inline struct gang_job_spec *leaf_job(const char *leaf, const char *user, int64_t gpus,
                                             int64_t priority)
{
    struct gang_job_spec *job = host_spec(leaf, gpus, gpus, priority);
    job->user = user;
    return job;
}

/* The reason that leaf_explain() found, and its text; reason.reason is 0 if it found none. */
static struct gang_wait reason;
static char reason_text[256];

static inline int32_t leaf_note(const struct gang_wait *w, void *only)
{
    int32_t wanted = *(const int32_t *)only;
    if (reason.reason == 0 && (wanted == 0 || w->reason == wanted)) {
        reason = *w;
        snprintf(reason_text, sizeof(reason_text), "%s", w->text);
    }
    return 0;
}

/* Why a job waits: the first reason of all, or (only: not 0) the first of this value. */
static inline void leaf_explain(struct host *h, gang_job_id id, int32_t only)
{
    memset(&reason, 0, sizeof(reason));
    reason_text[0] = 0;
    MUST(gang_job_explain(h->s, id, leaf_note, &only));
}

#endif
