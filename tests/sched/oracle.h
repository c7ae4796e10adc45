/* SPDX-License-Identifier: Apache-2.0 */
/* A small, slow scheduler that follows the rules word by word and knows nothing of the library. It
 * computes which jobs run with how many tasks once nothing changes any more. Amounts are whole
 * units: cores, GiB, GPUs. A node has a number of each; devices have no identity. All sums are
 * computed from scratch whenever they are needed.
 *
 * Where the rules leave something open it follows the library's documentation
 * (lib/sched/README.md). */
#ifndef GANG_TESTS_ORACLE_H
#define GANG_TESTS_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ORACLE_NODES = 6,
    ORACLE_QUEUES = 6,
    ORACLE_JOBS = 12,
    ORACLE_GROUPS = 2,
    ORACLE_KINDS = 3, /* cpu, memory, gpu: the numbers of the library's kinds */
    ORACLE_UNLIMITED = -1
};

enum { ORACLE_FIXED = 0, ORACLE_PREEMPTIBLE = 1, ORACLE_SEMI = 2 };

struct oracle_queue {
    int parent; /* -1: top */
    int64_t guarantee[ORACLE_KINDS], limit[ORACLE_KINDS];
    int64_t lends[ORACLE_KINDS]; /* of its idle guarantee; ORACLE_UNLIMITED: all */
    int64_t weight, priority;
    bool to_limit; /* non-preemptible work is bounded by the limit, not by the guarantee */
    int64_t share[ORACLE_KINDS]; /* worked out */
};

struct oracle_job {
    int queue, groups;
    int64_t min[ORACLE_GROUPS], count[ORACLE_GROUPS], need[ORACLE_GROUPS][ORACLE_KINDS];
    int64_t priority;
    int preemptible;
    bool never_preempts;
    int64_t on[ORACLE_GROUPS][ORACLE_NODES]; /* tasks that run */
    /* The last try failed: not tried again until capacity comes free or `by` uses less. */
    bool tried;
    bool known; /* it was there when it was decided last */
    int by; /* the queue that forbade it; -1: there was no capacity; -2: others did not lend it */
    int64_t tried_at; /* oracle.changes then */
    /* oracle.stops when it was submitted, got more tasks, and was stopped for each queue: whole,
     * and tasks above its minimum; 0: never */
    bool barred; /* not to be taken in this try */
    bool stopped_for[ORACLE_JOBS];
    int64_t submitted_at, grown_at, stopped_at[2][ORACLE_QUEUES];
};

/* Queues and jobs are in the order of their age. */
struct oracle {
    bool preempts;
    int64_t changes; /* jobs that got something so far */
    int64_t stops;   /* so far */
    bool what_if;    /* a copy that only asks what would happen */
    int nodes, queues, jobs;
    int64_t capacity[ORACLE_NODES][ORACLE_KINDS];
    struct oracle_queue queue[ORACLE_QUEUES];
    struct oracle_job job[ORACLE_JOBS];
};

/* Tasks of a group that run. */
int64_t oracle_tasks(const struct oracle_job *job, int group);

/* Work out the fair shares. Of what runs, they depend on the non-preemptible work alone. */
void oracle_share(struct oracle *o);

/* Something happened outside after the cooldown: jobs that were stopped may be stopped again, also
 * by those that they were stopped for. */
void oracle_forget_stops(struct oracle *o);

/* Decide until nothing changes. Returns false if it goes on for ever. */
bool oracle_settle(struct oracle *o);

/* A queue that uses more than its limit, or more for non-preemptible work than its guarantee if it
 * is bounded by that, and more than before; -1: there is none. Rules 3 and 4. */
int oracle_exceeded(const struct oracle *o, const struct oracle *before);

/* Is there any set of victims that the job may take by its guarantees, one after the other, and
 * that lets it start? For jobs that wait; looks at gangs that fall whole and at none that is moved.
 */
bool oracle_may_reclaim(struct oracle *o, int job);

#endif
