/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of budgets. */
#ifndef GANG__SCHED_BUDGET_IN_H
#define GANG__SCHED_BUDGET_IN_H

#include "sched/usage/usage.h"

/* The book of a budget of the queue, for the user; NULL: there is none yet. */
struct gang__budget_book *gang__budget_book_of(const struct gang__queue_state *q,
                                               const struct gang__budget *b, const char *user);

/* The restored jobs of the queue are there: its books go on. */
void gang__budgets_go_on(gang_sched *s, struct gang__queue_state *q);

/* The last renewal, at or before that time. */
int64_t gang__budget_period_start(int64_t period_ns, int64_t at_ns);

/* The use as it is at that time. */
gang__u128 gang__budget_used_at(const struct gang__budget_book *book, int64_t now_ns);

/* Bring the book up to date, before its rate changes. */
void gang__budget_advance(struct gang__budget_book *book, int64_t now_ns);

/* What running gangs, and those that are about to start, still use until their time limits. */
gang__i128 gang__budget_committed(const struct gang__budget_book *book, int64_t now_ns);

/* List a timer for that time; INT64_MAX: take it out. */
void gang__budget_set_timer(gang_sched *s, struct gang__budget_timer *timer, int64_t due_ns);

#endif
