/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of gang_job_explain_preemption(), from inside: the public structs, with the memory
 * that their texts and names lie in. */
#ifndef GANG__SCHED_EXPLAIN_PREEMPTION_H
#define GANG__SCHED_EXPLAIN_PREEMPTION_H

#include "sched/explain/explain_in.h"
#include "sched/preempt/preempt.h"

struct gang__rule_entry {
    struct gang_preemption_rule shown;
    char text[880];
};

struct gang__queue_entry {
    struct gang_preemption_queue shown;
    char name[GANG_MAX_NAME + 1];
};

struct gang__preemption_answer {
    struct gang_preemption shown;
    const gang_sched *s;
    struct gang_mem mem; /* of the scheduler: the answer may outlive it */
    struct gang__queue_entry queue[GANG_PREEMPTION_QUEUES];
    struct gang__rule_entry rule[GANG_PREEMPTION_RULES];
    struct gang_preemption_amount *amount; /* of each queue, as many as `take` */
    char (*partition)[GANG_MAX_NAME + 1];  /* names of partitions, one for each of `take` */
    const struct gang__user *user;         /* of the gang that waits; NULL: users do not count */
    struct gang__take take[GANG__DIMS];    /* what the gang requests */
    uint32_t take_count;
    char text[256], moves_text[128];
};

/* ---- explain_preemption.c -------------------------------------------------------------------- */

/* The answer for a job; the caller frees it with gang_preemption_free(). As
 * gang_job_explain_preemption(). */
gang_result gang__explain_preemption(gang_sched *s, struct gang__job *job,
                                     struct gang__preemption_answer **out);

/* Does the rule (GANG_PROTECTED_*) compare priorities? */
bool gang__protected_by_priority(int32_t rule);

/* ---- preemption_queues.c --------------------------------------------------------------------- */

/* List the queues of the job and of gangs that run, as many as there is space for. */
void gang__preemption_list_queues(gang_sched *s, struct gang__preemption_answer *a,
                                  const struct gang__queue_state *leaf);
bool gang__preemption_lists(const struct gang__preemption_answer *a, gang_queue_id id);
/* An amount as the public structs show it: GANG_UNLIMITED, if there is no bound. */
int64_t gang__preemption_bound(int64_t amount);

/* ---- explain_preemption_text.c --------------------------------------------------------------- */

/* The words of JSON for GANG_PREEMPTION_*, GANG_MOVES_* and GANG_PROTECTED_*. */
const char *gang__preemption_word(int32_t outcome);
const char *gang__moves_word(int32_t moves);
const char *gang__protected_word(int32_t rule);

/* Write the texts of the answer and of its entries. */
void gang__preemption_write_texts(struct gang__preemption_answer *a);

#endif
