/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of budgets: when is one used up, when is one renewed? */
#include <string.h>

#include "sched/usage/budget_in.h"

#define SECOND ((gang__u128)1000000000)

static int compare_timers(const struct gang__set_link *a, const struct gang__set_link *b,
                          const void *ctx)
{
    const struct gang__budget_timer *x = GANG__OF(struct gang__budget_timer, link, a),
                                    *y = GANG__OF(struct gang__budget_timer, link, b);
    (void)ctx;
    if (x->due_ns != y->due_ns)
        return x->due_ns < y->due_ns ? -1 : 1;
    if (x->queue->q->id != y->queue->q->id)
        return x->queue->q->id < y->queue->q->id ? -1 : 1;
    if (!x->book || !y->book)
        return (x->book != NULL) - (y->book != NULL);
    if (x->book->kind != y->book->kind)
        return x->book->kind < y->book->kind ? -1 : 1;
    if (x->book->period_ns != y->book->period_ns)
        return x->book->period_ns < y->book->period_ns ? -1 : 1;
    int c = x->book->per_user - y->book->per_user;
    return c ? c : strcmp(x->book->user, y->book->user);
}

void gang__budgets_init(gang_sched *s)
{
    gang__set_init(&s->budget_timers, compare_timers, NULL);
}

void gang__budget_set_timer(gang_sched *s, struct gang__budget_timer *timer, int64_t due_ns)
{
    if (timer->listed && timer->due_ns == due_ns)
        return;
    if (timer->listed)
        gang__set_remove(&s->budget_timers, &timer->link);
    timer->due_ns = due_ns;
    timer->listed = due_ns != INT64_MAX;
    if (timer->listed)
        gang__set_insert(&s->budget_timers, &timer->link);
}

/* When the running jobs will have used up a budget that stops them. A renewal comes first: then it
 * is asked again. */
void gang__budget_time(gang_sched *s, struct gang__budget_book *book)
{
    const struct gang__budget *b = gang__budget_of(book);
    int64_t due = INT64_MAX;
    if (b && b->exhausted == GANG_BUDGET_KILL && book->rate > 0) {
        gang__u128 whole = gang__wide(b->amount) * SECOND, rate = gang__wide(book->rate);
        gang__u128 left = whole > book->used ? (whole - book->used + rate - 1) / rate : 0;
        due = left > INT64_MAX ? INT64_MAX : gang__add_sat(book->at_ns, (int64_t)left);
        if (book->period_ns > 0)
            due = gang__min(due,
                            gang__add_sat(gang__budget_period_start(book->period_ns, book->at_ns),
                                          book->period_ns));
    }
    gang__budget_set_timer(s, &book->timer, due);
}

int64_t gang__budget_renewal(const struct gang__queue_state *q, int64_t now_ns)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < q->q->budget_count; i++)
        if (q->q->budgets[i].period_ns > 0)
            due = gang__min(
                due, gang__add_sat(gang__budget_period_start(q->q->budgets[i].period_ns, now_ns),
                                   q->q->budgets[i].period_ns));
    return due;
}

/* A renewal that is due stays until it is carried out. */
void gang__budget_watch(gang_sched *s, struct gang__queue_state *q)
{
    struct gang__budget_timer *renewal = &q->budget.renewal;
    renewal->queue = q;
    if (q->pending > 0 && renewal->listed && renewal->due_ns <= s->now_ns)
        return;
    gang__budget_set_timer(s, renewal,
                           q->pending > 0 ? gang__budget_renewal(q, s->now_ns) : INT64_MAX);
}

void gang__budget_renewed(gang_sched *s, struct gang__queue_state *q)
{
    gang__budget_set_timer(s, &q->budget.renewal, INT64_MAX);
    gang__budget_watch(s, q);
}

bool gang__budget_is_used_up(gang_sched *s, struct gang__budget_book *book)
{
    const struct gang__budget *b = gang__budget_of(book);
    gang__budget_advance(book, s->now_ns);
    return b && book->used >= gang__wide(b->amount) * SECOND;
}
