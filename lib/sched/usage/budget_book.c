/* SPDX-License-Identifier: Apache-2.0 */
/* Books of budgets: making and finding them, and what they say at a time. A book outlives the
 * configuration of its budget, and is copied with the scheduler. */
#include <string.h>

#include "sched/usage/budget_in.h"

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

struct gang__budget_book *gang__budget_book_of(const struct gang__queue_state *q,
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

/* A book that is not there yet. NULL: out of memory. */
static struct gang__budget_book *make_book(gang_sched *s, struct gang__queue_state *state,
                                           const struct gang__budget *b, const char *user)
{
    const char *name = b->per_user ? user : "";
    struct gang__budget_book *book = gang__zalloc(&s->mem, 1, sizeof(*book) + strlen(name) + 1);
    if (!book || gang__hash_reserve(&state->budget.books, &s->mem) != GANG_OK) {
        gang__release(&s->mem, book);
        return NULL;
    }
    memcpy(book->user, name, strlen(name) + 1);
    book->kind = b->kind;
    book->per_user = b->per_user;
    book->period_ns = b->period_ns;
    book->at_ns = s->now_ns;
    book->timer.queue = state;
    book->timer.book = book;
    gang__hash_insert(&state->budget.books, &book->link, hash_of(b, user));
    return book;
}

struct gang__budget_book *gang__budget_book_for(gang_sched *s, struct gang__queue_state *state,
                                                const struct gang__budget *b, const char *user)
{
    struct gang__budget_book *book = gang__budget_book_of(state, b, user);
    return book ? book : make_book(s, state, b, user);
}

bool gang__budget_make(gang_sched *s, struct gang__queue_state *state, const struct gang__queue *q,
                       const char *user)
{
    for (size_t i = 0; i < q->budget_count; i++)
        if (!gang__budget_book_for(s, state, &q->budgets[i], user))
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
int64_t gang__budget_period_start(int64_t period_ns, int64_t at_ns)
{
    return period_ns > 0 ? at_ns / period_ns * period_ns : 0;
}

/* The use as it is at that time. */
gang__u128 gang__budget_used_at(const struct gang__budget_book *book, int64_t now_ns)
{
    gang__u128 used = book->used;
    int64_t since = book->at_ns, start = gang__budget_period_start(book->period_ns, now_ns);
    if (book->period_ns > 0 && since < start) {
        used = 0;
        since = start;
    }
    return used + gang__wide(book->rate) * gang__wide(now_ns - since);
}

void gang__budget_advance(struct gang__budget_book *book, int64_t now_ns)
{
    if (now_ns <= book->at_ns || book->restored)
        return;
    book->used = gang__budget_used_at(book, now_ns);
    book->at_ns = now_ns;
}

/* What running gangs, and those that are about to start, still use until their time limits. */
gang__i128 gang__budget_committed(const struct gang__budget_book *book, int64_t now_ns)
{
    gang__i128 rest = book->ends - (gang__i128)now_ns * (book->rate - book->endless);
    return (rest > 0 ? rest : 0) + book->promised;
}

void gang__budget_bring_up(const gang_sched *s, struct gang__budget_book *book)
{
    gang__budget_advance(book, s->now_ns);
}

/* The restored jobs are there: their use counts since the book was kept. */
void gang__budgets_go_on(gang_sched *s, struct gang__queue_state *q)
{
    for (size_t b = 0; b < q->budget.books.cap; b++)
        for (struct gang__hash_link *n = q->budget.books.bucket[b]; n; n = n->next) {
            struct gang__budget_book *book = GANG__OF(struct gang__budget_book, link, n);
            if (!book->restored)
                continue;
            book->restored = false;
            gang__budget_advance(book, s->now_ns);
            gang__budget_time(s, book);
        }
}

/* ---- queues change, copies ------------------------------------------------------------------- */

void gang__budgets_advance(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (size_t b = 0; b < s->qs[i]->budget.books.cap; b++)
            for (struct gang__hash_link *n = s->qs[i]->budget.books.bucket[b]; n; n = n->next)
                gang__budget_advance(GANG__OF(struct gang__budget_book, link, n), s->now_ns);
}

void gang__budgets_reset(gang_sched *s, struct gang__queue_state *q)
{
    gang__budget_set_timer(s, &q->budget.renewal, INT64_MAX);
    for (size_t b = 0; b < q->budget.books.cap; b++)
        for (struct gang__hash_link *n = q->budget.books.bucket[b]; n; n = n->next) {
            struct gang__budget_book *book = GANG__OF(struct gang__budget_book, link, n);
            gang__budget_set_timer(s, &book->timer, INT64_MAX);
            book->rate = book->endless = 0;
            book->ends = book->promised = 0;
        }
}

void gang__budgets_free(gang_sched *s, struct gang__queue_state *q)
{
    gang__budget_set_timer(s, &q->budget.renewal, INT64_MAX);
    for (size_t b = 0; b < q->budget.books.cap; b++)
        while (q->budget.books.bucket[b]) {
            struct gang__budget_book *book =
                GANG__OF(struct gang__budget_book, link, q->budget.books.bucket[b]);
            gang__budget_set_timer(s, &book->timer, INT64_MAX);
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
                struct gang__budget_book *copy = gang__budget_book_for(s, to, &budget, book->user);
                if (!copy)
                    return false;
                copy->used = book->restored ? book->used : gang__budget_used_at(book, s->now_ns);
                copy->at_ns = book->restored ? book->at_ns : s->now_ns;
                copy->restored = book->restored;
            }
    }
    return true;
}
