/* SPDX-License-Identifier: Apache-2.0 */
/* Audit, between its files: what should be counted, and what is compared. */
#ifndef GANG__SCHED_AUDIT_IN_H
#define GANG__SCHED_AUDIT_IN_H

#include "base/error.h"
#include "sched/record/state.h"

/* What a queue should count. */
struct gang__audit_sums {
    int64_t used[GANG__DIMS], fixed[GANG__DIMS], want[GANG__DIMS];
    int64_t jobs, running, pending, tasks;
};

struct gang__audit {
    gang_sched *s;
    struct gang_error *error;
    struct gang__audit_sums *sum; /* of each queue; that of the root is last */
    int64_t *by_group;            /* of the gang at hand */
    size_t group_cap;
    bool some_stop;        /* a gang, or tasks of it, stop */
    size_t listed_victims; /* gangs in the orders of victims */
};

#define GANG__AUDIT_BAD(a, path, ...) gang__error((a)->error, GANG_EINVAL, (path), __VA_ARGS__)

static inline size_t gang__audit_index_of(const gang_sched *s, const struct gang__queue_state *q)
{
    return q->parent ? q->q->index : s->queues->count;
}

static inline const char *gang__audit_name_of(const struct gang__queue_state *q)
{
    return q->q ? q->q->name : "(all)";
}

/* ---- audit_jobs.c ---------------------------------------------------------------------------- */

/* Add what a gang uses and demands, and what a handover is about to give it. */
void gang__audit_add_gang(struct gang__audit *a, const struct gang__gang *g,
                          struct gang__audit_sums *sum);
void gang__audit_add_handover(const struct gang__gang *g, struct gang__audit_sums *sum);
/* Each job is found, its gangs are as they should be; adds up what each queue should count. */
gang_result gang__audit_jobs(struct gang__audit *a);

/* ---- audit_queues.c -------------------------------------------------------------------------- */

/* The queue counts what was added up; its users, wait classes and groups are right. */
gang_result gang__audit_queue(struct gang__audit *a, struct gang__queue_state *q);
gang_result gang__audit_arrays(struct gang__audit *a);

#endif
