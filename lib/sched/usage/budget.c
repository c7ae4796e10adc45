/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets: how much of an amount times time is used, and may a gang use more (gang_queue_spec)?
 *
 * Each budget has a book, or one for each user. A book knows what is in use now (the rate), so that
 * its use is exact at any time without being updated: it is brought up to date when the rate
 * changes. For GANG_BUDGET_SAFE it also knows what the running gangs still need: the sum of
 * amount * (end - now), which is kept as the sum of amount * end. A gang notes the end with which
 * it was counted (gang->budget). */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "place/request/request.h"
#include "sched/usage/usage.h"

#define SECOND ((gang__u128)1000000000)

/* ---- books ----------------------------------------------------------------------------------- */

static bool is_of(const struct gang__budget_book *book, const struct gang__budget *b,
                  const char *user)
{
    return book->kind == b->kind && book->per_user == b->per_user &&
           book->period_ns == b->period_ns && strcmp(book->user, b->per_user ? user : "") == 0;
}

static uint64_t hash_of(const struct gang__budget *b, const char *user)
{
    uint64_t hash = gang__hash_number(gang__hash_number((uint64_t)b->kind, b->per_user),
                                      (uint64_t)b->period_ns);
    return b->per_user ? gang__hash(hash, user, strlen(user)) : hash;
}

static struct gang__budget_book *book_of(const struct gang__queue_state *q,
                                         const struct gang__budget *b, const char *user)
{
    uint64_t hash = hash_of(b, user);
    for (struct gang__hash_link *n = gang__hash_first(&q->budget.books, hash); n; n = n->next) {
        struct gang__budget_book *book = GANG__OF(struct gang__budget_book, link, n);
        if (n->hash == hash && is_of(book, b, user))
            return book;
    }
    return NULL;
}

/* The budget of a book as it is configured now; NULL: it is there no more. */
const struct gang__budget *gang__budget_of(const struct gang__budget_book *book)
{
    const struct gang__queue *q = book->timer.queue->q;
    for (size_t i = 0; i < q->budget_count; i++)
        if (is_of(book, &q->budgets[i], book->user))
            return &q->budgets[i];
    return NULL;
}

/* A book that is not there yet. False: out of memory. */
static bool make_book(gang_sched *s, struct gang__queue_state *state, const struct gang__budget *b,
                      const char *user)
{
    const char *name = b->per_user ? user : "";
    struct gang__budget_book *book = gang__zalloc(&s->mem, 1, sizeof(*book) + strlen(name) + 1);
    if (!book || gang__hash_reserve(&state->budget.books, &s->mem) != GANG_OK) {
        gang__release(&s->mem, book);
        return false;
    }
    memcpy(book->user, name, strlen(name) + 1);
    book->kind = b->kind;
    book->per_user = b->per_user;
    book->period_ns = b->period_ns;
    book->at_ns = s->now_ns;
    book->timer.queue = state;
    book->timer.book = book;
    gang__hash_insert(&state->budget.books, &book->link, hash_of(b, user));
    return true;
}

bool gang__budget_make(gang_sched *s, struct gang__queue_state *state, const struct gang__queue *q,
                       const char *user)
{
    for (size_t i = 0; i < q->budget_count; i++)
        if (!book_of(state, &q->budgets[i], user) && !make_book(s, state, &q->budgets[i], user))
            return false;
    return true;
}

bool gang__budgets_enter(gang_sched *s, struct gang__queue_state *leaf, const char *user)
{
    for (struct gang__queue_state *q = leaf; leaf->q->budgeted && q->parent; q = q->parent)
        if (!gang__budget_make(s, q, q->q, user))
            return false;
    return true;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* The last renewal, at or before that time. */
static int64_t period_start(int64_t period_ns, int64_t at_ns)
{
    return period_ns > 0 ? at_ns / period_ns * period_ns : 0;
}

/* The use as it is at that time. */
static gang__u128 used_at(const struct gang__budget_book *book, int64_t now_ns)
{
    gang__u128 used = book->used;
    int64_t since = book->at_ns, start = period_start(book->period_ns, now_ns);
    if (book->period_ns > 0 && since < start) {
        used = 0;
        since = start;
    }
    return used + gang__wide(book->rate) * gang__wide(now_ns - since);
}

static void advance(struct gang__budget_book *book, int64_t now_ns)
{
    if (now_ns <= book->at_ns)
        return;
    book->used = used_at(book, now_ns);
    book->at_ns = now_ns;
}

/* What running gangs, and those that are about to start, still use until their time limits. */
static gang__i128 committed(const struct gang__budget_book *book, int64_t now_ns)
{
    gang__i128 rest = book->ends - (gang__i128)now_ns * (book->rate - book->endless);
    return (rest > 0 ? rest : 0) + book->promised;
}

/* ---- timers ---------------------------------------------------------------------------------- */

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

static void set_timer(gang_sched *s, struct gang__budget_timer *timer, int64_t due_ns)
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
            due = gang__min(
                due, gang__add_sat(period_start(book->period_ns, book->at_ns), book->period_ns));
    }
    set_timer(s, &book->timer, due);
}

int64_t gang__budget_renewal(const struct gang__queue_state *q, int64_t now_ns)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < q->q->budget_count; i++)
        if (q->q->budgets[i].period_ns > 0)
            due = gang__min(due, gang__add_sat(period_start(q->q->budgets[i].period_ns, now_ns),
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
    set_timer(s, renewal, q->pending > 0 ? gang__budget_renewal(q, s->now_ns) : INT64_MAX);
}

void gang__budget_renewed(gang_sched *s, struct gang__queue_state *q)
{
    set_timer(s, &q->budget.renewal, INT64_MAX);
    gang__budget_watch(s, q);
}

bool gang__budget_is_used_up(gang_sched *s, struct gang__budget_book *book)
{
    const struct gang__budget *b = gang__budget_of(book);
    advance(book, s->now_ns);
    return b && book->used >= gang__wide(b->amount) * SECOND;
}

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
    advance(book, s->now_ns);
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
            struct gang__budget_book *book = amount ? book_of(q, &q->q->budgets[i], user) : NULL;
            if (book)
                count_in(s, book, sign * amount, g->budget_end_ns);
        }
}

void gang__budget_retime(gang_sched *s, struct gang__job *job)
{
    int64_t end = job->state == GANG_JOB_ENDED ? 0 : end_of(s, job);
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        if (g->tasks == 0 || g->budget_end_ns == end)
            continue;
        gang__budget_count(s, g, -1);
        gang__budget_count(s, g, 1);
    }
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
            struct gang__budget_book *book = book_of(q, &q->q->budgets[i], g->job->user);
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
    gang__i128 used = (gang__i128)used_at(book, s->now_ns);
    if (take->amount <= 0)
        return false;
    if (b->exhausted != GANG_BUDGET_SAFE)
        return used >= whole;
    if (span_ns == INT64_MAX || book->endless > 0)
        return true;
    return used + committed(book, s->now_ns) + (gang__i128)take->amount * span_ns > whole;
}

bool gang__budget_refuses(const gang_sched *s, const struct gang__gang *g,
                          const struct gang__queue_state *q, size_t i,
                          const struct gang__take *take)
{
    const struct gang__budget_book *book = book_of(q, &q->q->budgets[i], g->job->user);
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
    const struct gang__budget_book *book = book_of(q, b, g->job->user);
    gang__i128 taken = (gang__i128)used_at(book, s->now_ns);
    int64_t span = span_of(s, g);
    struct gang__budget_view view = {0, 0, span == INT64_MAX};
    if (b->exhausted == GANG_BUDGET_SAFE)
        taken += committed(book, s->now_ns);
    taken /= 1000000000;
    view.used = taken > INT64_MAX ? INT64_MAX : (int64_t)taken;
    if (b->exhausted == GANG_BUDGET_SAFE && !view.endless)
        view.requested = gang__mul_div_up(take->amount, span, 1000000000);
    return view;
}

/* ---- queues change, copies ------------------------------------------------------------------- */

void gang__budgets_advance(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (size_t b = 0; b < s->qs[i]->budget.books.cap; b++)
            for (struct gang__hash_link *n = s->qs[i]->budget.books.bucket[b]; n; n = n->next)
                advance(GANG__OF(struct gang__budget_book, link, n), s->now_ns);
}

void gang__budgets_reset(gang_sched *s, struct gang__queue_state *q)
{
    set_timer(s, &q->budget.renewal, INT64_MAX);
    for (size_t b = 0; b < q->budget.books.cap; b++)
        for (struct gang__hash_link *n = q->budget.books.bucket[b]; n; n = n->next) {
            struct gang__budget_book *book = GANG__OF(struct gang__budget_book, link, n);
            set_timer(s, &book->timer, INT64_MAX);
            book->rate = book->endless = 0;
            book->ends = book->promised = 0;
        }
}

void gang__budgets_free(gang_sched *s, struct gang__queue_state *q)
{
    set_timer(s, &q->budget.renewal, INT64_MAX);
    for (size_t b = 0; b < q->budget.books.cap; b++)
        while (q->budget.books.bucket[b]) {
            struct gang__budget_book *book =
                GANG__OF(struct gang__budget_book, link, q->budget.books.bucket[b]);
            set_timer(s, &book->timer, INT64_MAX);
            gang__hash_remove(&q->budget.books, &book->link);
            gang__release(&s->mem, book);
        }
    gang__hash_free(&q->budget.books, &s->mem);
}

bool gang__budgets_copy(gang_sched *s, const gang_sched *from)
{
    for (uint32_t i = 0; i < from->queues->count; i++) {
        const struct gang__queue_state *q = from->qs[i];
        struct gang__queue_state *to = gang__queue_state_of(s, q->q->id);
        for (size_t b = 0; b < q->budget.books.cap; b++)
            for (struct gang__hash_link *n = q->budget.books.bucket[b]; n; n = n->next) {
                const struct gang__budget_book *book = GANG__OF(struct gang__budget_book, link, n);
                /* also one without a budget now: a change of queues may bring it back */
                const struct gang__budget budget = {
                    .kind = book->kind, .per_user = book->per_user, .period_ns = book->period_ns};
                if (!book_of(to, &budget, book->user) && !make_book(s, to, &budget, book->user))
                    return false;
                struct gang__budget_book *copy = book_of(to, &budget, book->user);
                copy->used = used_at(book, s->now_ns);
                copy->at_ns = s->now_ns;
            }
    }
    return true;
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
