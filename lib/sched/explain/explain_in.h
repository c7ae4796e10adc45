/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job waits, from inside: the list of reasons that the gates of explain_*.c fill. */
#ifndef GANG__SCHED_EXPLAIN_IN_H
#define GANG__SCHED_EXPLAIN_IN_H

#include "sched/record/state.h"

/* The order in which reasons are listed: the decisive one first. */
enum rank { RANK_HELD, RANK_HANDOVER, RANK_NEVER, RANK_LAST, RANK_OTHER, RANK_ORDER };

struct gang__reason {
    struct gang_wait wait;
    enum rank rank;
    const struct gang__queue_state *queue; /* NULL: none */
    const char *group;                     /* NULL: none */
    char text[512];
};

struct gang__reasons {
    gang_sched *s;
    struct gang__gang *gang; /* the gang that is explained */
    struct gang__reason *reason;
    size_t count, cap;
    bool failed;
};

struct gang__amount_text {
    char s[64];
};

/* ---- explain_job.c --------------------------------------------------------------------------- */

/* Append a reason: GANG_WAIT_*, GANG_WAIT_CATEGORY_*. NULL: out of memory, and `failed` is set. */
struct gang__reason *gang__reason_add(struct gang__reasons *l, int32_t why, int32_t cls,
                                      const struct gang__queue_state *queue);

/* The text of a reason, cut if it is too long. */
void gang__reason_set_text(struct gang__reason *r, const char *fmt, ...) GANG__PRINTF(2, 3);

/* Is a reason of this kind in the list? */
bool gang__reasons_have(const struct gang__reasons *l, int32_t why);

/* Append a reason that holds the job back before any order. NULL: out of memory. */
struct gang__reason *gang__reason_add_held(struct gang__reasons *l, int32_t why);

/* Does the gang wait to start, to grow or to resume? */
bool gang__explain_waits(const struct gang__gang *g);

/* Ask all gates for each gang of the job. GANG_OK; GANG_ENOMEM. */
gang_result gang__reasons_collect(gang_sched *s, struct gang__job *job, struct gang__reasons *l);

/* ---- explain_text.c -------------------------------------------------------------------------- */

/* The words of JSON for GANG_WAIT_CATEGORY_*, GANG_WAIT_* and GANG_JOB_*. */
const char *gang__wait_category_word(int32_t category);

const char *gang__wait_reason_word(int32_t reason);

const char *gang__job_state_word(int32_t state);

/* A number of thousandths, without trailing zeros. */
struct gang__amount_text gang__text_milli(int64_t amount, const char *unit);

/* An amount of a kind in its unit, without the name of the unit. */
struct gang__amount_text gang__text_number(int32_t kind, int64_t amount);

/* Is the amount one unit, so that its verb is singular? */
bool gang__text_is_one(int32_t kind, int64_t amount);

/* "8 GPUs", "0.5 cores", "12 GiB of memory", "3 licences" */
void gang__text_amount(const gang_sched *s, int32_t kind, int64_t amount, char *text, size_t cap);

/* ---- explain_held.c -------------------------------------------------------------------------- */

/* Groups of the gang that wait for other groups of the job. */
void gang__explain_group_after(struct gang__reasons *l);

/* Hold, dependency, closed queue, begin time, back-off. */
void gang__explain_held(struct gang__reasons *l);

/* The victims that stop for the gang, or that it waits for before it starts elsewhere. */
void gang__explain_handover(struct gang__reasons *l, const struct gang__handover *handover);

/* ---- explain_queues.c ------------------------------------------------------------------------ */

/* The job that holds most of the dimension, among the first victims in order. */
gang_job_id gang__explain_holder(gang_sched *s, const struct gang__queue_state *top, uint32_t dim);

/* Limits and guarantees of the leaf and all above. */
void gang__explain_bounds(struct gang__reasons *l, const struct gang__take *take, uint32_t count);

/* What other queues do not lend. Asked if no other gate of the queues blocks the gang. */
void gang__explain_lending(struct gang__reasons *l, const struct gang__take *take, uint32_t count);

/* The user limit of the leaf. */
void gang__explain_user(struct gang__reasons *l, const struct gang__take *take, uint32_t count);

/* How many jobs may run at once, in a queue or of a user. */
void gang__explain_max_running(struct gang__reasons *l, const struct gang__take *take,
                               uint32_t count);
void gang__explain_budgets(struct gang__reasons *l, const struct gang__take *take, uint32_t count);

/* The gang is behind a blocked or a starved gang. */
void gang__explain_order(struct gang__reasons *l, const struct gang__take *take, uint32_t count);

/* ---- explain_capacity.c ---------------------------------------------------------------------- */

/* The gang has a planned start, or would delay one. */
void gang__explain_planned(struct gang__reasons *l, const struct gang__take *take, uint32_t count);

/* The gang waits for the reservation that it named, or its place is reserved for others. */
void gang__explain_reservation(struct gang__reasons *l, const struct gang__take *take,
                               uint32_t count);

/* The gang has its places, and waits for its quantum. */
void gang__explain_slice(struct gang__reasons *l);

/* No nodes have enough free capacity, or cells of other queues forbid them. GANG_OK;
 * GANG_ENOMEM. */
gang_result gang__explain_capacity(struct gang__reasons *l);

/* ---- audit_gangs.c --------------------------------------------------------------------------- */

/* Audit of each gang: state, stops, handovers, time slices. */
gang_result gang__gangs_check(gang_sched *s, struct gang_error *error);

#endif
