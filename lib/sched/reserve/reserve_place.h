/* SPDX-License-Identifier: Apache-2.0 */
/* Placing reservations: what reserve_place.c, reserve_question.c and owners.c share, and
 * intake/reservations.c asks of them. */
#ifndef GANG__SCHED_RESERVE_PLACE_H
#define GANG__SCHED_RESERVE_PLACE_H

#include "sched/reserve/reserve_in.h"

/* The stages of a reservation as plan/admit/admit.h asks for them. */
struct gang__reserve_question {
    struct gang__admit_request a;
    struct gang__admit_stage *stage;
    struct gang__time_group *group;
    uint64_t *mask;
    uint32_t *node;
};

/* ---- reserve_question.c ---------------------------------------------------------------------- */

bool gang__reserve_question_make(gang_sched *s, const struct gang__reserve *r,
                                 struct gang__reserve_question *question);
void gang__reserve_question_free(gang_sched *s, struct gang__reserve_question *question);
/* Nodes of a domain, ascending, without those that were removed. Returns how many. */
size_t gang__reserve_domain_nodes(gang_sched *s, int32_t level, uint32_t index, uint32_t *node);
/* What was found (reserve.all->got) becomes pieces of the reservation. `only`: the one stage that
 * was asked for; UINT32_MAX: all were. False: out of memory, and what was found is taken back. */
bool gang__reserve_accept_pieces(gang_sched *s, struct gang__reserve *r, int64_t instance,
                                 uint32_t only);
/* Later instances are placed as the first one was. False: out of memory. */
bool gang__reserve_note_parts(gang_sched *s, struct gang__reserve *r);

/* ---- reserve_place.c ---------------------------------------------------------------------- */

/* Place its first instances; those after `until_ns` (0: no bound) are not wanted. On an error
 * nothing is placed. */
gang_result gang__reserve_place_first(gang_sched *s, struct gang__reserve *r, int64_t until_ns,
                                      struct gang_error *error);

/* ---- owners.c -------------------------------------------------------------------------------- */

/* False, NULL: out of memory. */
bool gang__reserve_make_table(gang_sched *s);
struct gang__reserve_owner *gang__reserve_owner_get(gang_sched *s, const char *name);
/* The error for what gang__admit() answered. */
gang_result gang__reserve_refusal_text(const struct gang__admitted *got,
                                       const struct gang__reserve *r, gang_result w,
                                       struct gang_error *error);

#endif
