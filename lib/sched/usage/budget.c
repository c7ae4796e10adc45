/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets: how much of an amount times time is used, and may a gang use more (gang_queue_spec)?
 *
 * Each budget has a book, or one for each user. A book knows what is in use now (the rate), so that
 * its use is exact at any time without being updated: it is brought up to date when the rate
 * changes. For GANG_BUDGET_SAFE it also knows what the running gangs still need: the sum of
 * amount * (end - now), which is kept as the sum of amount * end. A gang notes the end with which
 * it was counted (gang->budget). budget_book.c has the books, budget_timer.c the
 * times at which something is due. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "place/request/request.h"
#include "sched/usage/budget_in.h"

/* ---- counting -------------------------------------------------------------------------------- */

int64_t gang__budget_amount(const struct gang__gang *g, int32_t kind)
{
    const struct gang__request_class *class = g->request_class;
    int64_t amount = 0;
    for (uint32_t group = 0; group < class->request->group_count; group++)
        for (uint32_t i = 0; i < class->group[group].count; i++) {
            const struct gang__take *take = &class->take[class->group[group].from + i];
            amount += take->dim == (uint32_t)kind ? take->amount * g->has[group] : 0;
        }
    return amount;
}

static int64_t end_of(const gang_sched *s, const struct gang__job *job)
{
    return gang__time_limit_end(job, gang__time_limit_from(s, job));
}

static void count_in(gang_sched *s, struct gang__budget_book *book, int64_t amount, int64_t end_ns)
{
    gang__budget_advance(book, s->now_ns);
    book->rate += amount;
    if (end_ns == INT64_MAX)
        book->endless += amount;
    else
        book->ends += (gang__i128)amount * end_ns;
    gang__budget_time(s, book);
}

void gang__budget_count(gang_sched *s, struct gang__gang *g, int64_t sign)
{
    const char *user = g->job->user;
    if (g->tasks == 0)
        return;
    if (sign > 0)
        g->budget_end_ns = end_of(s, g->job);
    for (struct gang__queue_state *q = g->job->leaf; q->parent; q = q->parent)
        for (size_t i = 0; i < q->q->budget_count; i++) {
            int64_t amount = gang__budget_amount(g, q->q->budgets[i].kind);
            struct gang__budget_book *book =
                amount ? gang__budget_book_of(q, &q->q->budgets[i], user) : NULL;
            if (book)
                count_in(s, book, sign * amount, g->budget_end_ns);
        }
}

bool gang__budget_retime(gang_sched *s, struct gang__job *job)
{
    bool less = false;
    int64_t end = job->state == GANG_JOB_ENDED ? 0 : end_of(s, job);
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        if (g->tasks == 0 || g->budget_end_ns == end)
            continue;
        less = less || end < g->budget_end_ns;
        gang__budget_count(s, g, -1);
        gang__budget_count(s, g, 1);
    }
    return less;
}

/* How long the gang may use what it gets now. A job that is not running has its whole time limit,
 * also one that resumes. */
static int64_t span_of(const gang_sched *s, const struct gang__gang *g)
{
    const struct gang__job *job = g->job;
    bool runs = job->state == GANG_JOB_RUNNING;
    int64_t end = gang__time_limit_end(job, runs ? gang__time_limit_from(s, job) : s->now_ns);
    if (end == INT64_MAX)
        return end;
    return end > s->now_ns ? end - s->now_ns : 0;
}

void gang__budget_promise(const gang_sched *s, struct gang__gang *g, const struct gang__take *take,
                          uint32_t count, int64_t times)
{
    if (times > 0)
        g->budget_promised_ns = span_of(s, g);
    for (struct gang__queue_state *q = g->job->leaf; q->parent; q = q->parent)
        for (size_t i = 0; i < q->q->budget_count; i++) {
            struct gang__budget_book *book =
                gang__budget_book_of(q, &q->q->budgets[i], g->job->user);
            for (uint32_t t = 0; book && t < count; t++)
                if (take[t].dim == (uint32_t)book->kind)
                    book->promised += (gang__i128)take[t].amount * times * g->budget_promised_ns;
        }
}

/* ---- may a gang use more? -------------------------------------------------------------------- */

static bool refuses(const gang_sched *s, const struct gang__budget *b,
                    const struct gang__budget_book *book, const struct gang__take *take,
                    int64_t span_ns)
{
    gang__i128 whole = (gang__i128)b->amount * 1000000000;
    gang__i128 used = (gang__i128)gang__budget_used_at(book, s->now_ns);
    if (take->amount <= 0)
        return false;
    if (b->exhausted != GANG_BUDGET_SAFE)
        return used >= whole;
    if (span_ns == INT64_MAX || book->endless > 0)
        return true;
    return used + gang__budget_committed(book, s->now_ns) + (gang__i128)take->amount * span_ns >
           whole;
}

bool gang__budget_refuses(const gang_sched *s, const struct gang__gang *g,
                          const struct gang__queue_state *q, size_t i,
                          const struct gang__take *take)
{
    const struct gang__budget_book *book = gang__budget_book_of(q, &q->q->budgets[i], g->job->user);
    return book && take->dim == (uint32_t)book->kind &&
           refuses(s, &q->q->budgets[i], book, take, span_of(s, g));
}

struct gang__queue_state *gang__budgets_refuse(const gang_sched *s, const struct gang__gang *g,
                                               const struct gang__take *take, uint32_t count,
                                               uint32_t *dim)
{
    for (struct gang__queue_state *q = g->job->leaf; q->parent; q = q->parent)
        for (size_t i = 0; i < q->q->budget_count; i++)
            for (uint32_t t = 0; t < count; t++)
                if (gang__budget_refuses(s, g, q, i, &take[t])) {
                    *dim = take[t].dim;
                    return q;
                }
    return NULL;
}

struct gang__budget_view gang__budget_look(const gang_sched *s, const struct gang__gang *g,
                                           const struct gang__queue_state *q, size_t i,
                                           const struct gang__take *take)
{
    const struct gang__budget *b = &q->q->budgets[i];
    const struct gang__budget_book *book = gang__budget_book_of(q, b, g->job->user);
    gang__i128 taken = (gang__i128)gang__budget_used_at(book, s->now_ns);
    int64_t span = span_of(s, g);
    struct gang__budget_view view = {0, 0, span == INT64_MAX};
    if (b->exhausted == GANG_BUDGET_SAFE)
        taken += gang__budget_committed(book, s->now_ns);
    taken /= 1000000000;
    view.used = taken > INT64_MAX ? INT64_MAX : (int64_t)taken;
    if (b->exhausted == GANG_BUDGET_SAFE && !view.endless)
        view.requested = gang__mul_div_up(take->amount, span, 1000000000);
    return view;
}

/* ---- audit ----------------------------------------------------------------------------------- */

static bool is_below(const struct gang__queue_state *leaf, const struct gang__queue_state *q)
{
    while (leaf && leaf != q)
        leaf = leaf->parent;
    return leaf == q;
}

static bool check_book(const gang_sched *s, const struct gang__queue_state *q,
                       const struct gang__budget_book *book)
{
    int64_t rate = 0, endless = 0;
    gang__i128 ends = 0;
    if (!gang__budget_of(book))
        return !book->timer.listed && book->rate == 0;
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        if (!is_below(job->leaf, q) || (book->per_user && strcmp(book->user, job->user) != 0))
            continue;
        for (uint32_t i = 0; i < job->gang_count; i++) {
            int64_t amount = gang__budget_amount(&job->gang[i], book->kind);
            int64_t end = job->gang[i].budget_end_ns;
            rate += amount;
            endless += end == INT64_MAX ? amount : 0;
            ends += end == INT64_MAX ? 0 : (gang__i128)amount * end;
        }
    }
    return rate == book->rate && endless == book->endless && ends == book->ends &&
           book->promised >= 0;
}

gang_result gang__budgets_check(const gang_sched *s, struct gang_error *error)
{
    for (uint32_t i = 0; s->queues->budgets && i < s->queues->count; i++) {
        const struct gang__queue_state *q = s->qs[i];
        if (q->q->budget_count > 0 &&
            q->budget.renewal.listed !=
                (q->pending > 0 && gang__budget_renewal(q, s->now_ns) != INT64_MAX))
            return gang__error(
                error, GANG_EINVAL, q->q->name,
                "the renewal of its budgets is listed, and is not due; or the reverse");
        for (size_t b = 0; b < q->budget.books.cap; b++)
            for (struct gang__hash_link *n = q->budget.books.bucket[b]; n; n = n->next)
                if (!check_book(s, q, GANG__OF(struct gang__budget_book, link, n)))
                    return gang__error(error, GANG_EINVAL, q->q->name,
                                       "a budget does not count what runs");
    }
    return GANG_OK;
}
