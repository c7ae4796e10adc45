/* SPDX-License-Identifier: Apache-2.0 */
/* Queues at run time, from inside: what the files queue*.c share. */
#ifndef GANG__SCHED_QUEUES_LIVE_IN_H
#define GANG__SCHED_QUEUES_LIVE_IN_H

#include "sched/record/state.h"

struct gang__queue_list {
    struct gang_queue_spec *spec;
    bool *made;
    size_t count;
};

/* ---- queue_make.c ---------------------------------------------------------------------------- */

/* Memory for as many as there can ever be: a new dimension needs no more. */
bool gang__queue_make_amounts(gang_sched *s, struct gang__queue_state *q, uint32_t dims);

void gang__queue_free(gang_sched *s, struct gang__queue_state *q);

/* Count from zero again, in the dimensions in force. */
void gang__queue_reset(struct gang__queue_state *q, uint32_t dims);

/* ---- queues_view.c --------------------------------------------------------------------------- */

void gang__submit_view_release(const struct gang_mem *mem, struct gang__submit_view *d);

struct gang__submit_view *gang__submit_view_new(gang_sched *s, struct gang__queues *queues);

void gang__submit_view_free(gang_sched *s, struct gang__submit_view *d);

/* Waits until no submitter reads an old view. */
void gang__submit_view_free_retired(gang_sched *s);

/* ---- queues_swap.c --------------------------------------------------------------------------- */

gang_result gang__queues_swap(gang_sched *s, struct gang__queues *queues, struct gang_error *error);

/* ---- queues_live.c --------------------------------------------------------------------------- */

void gang__queue_list_free(gang_sched *s, struct gang__queue_list *l);

/* The specifications in force, with space for more. */
bool gang__queue_list_now(gang_sched *s, size_t more, struct gang__queue_list *l);

gang_result gang__queues_apply(gang_sched *s, const struct gang_queue_spec *specs, size_t count,
                               const bool *made, struct gang_error *error);

gang_result gang__queues_without(gang_sched *s, const struct gang__queue *q,
                                 struct gang_error *error);

#endif
