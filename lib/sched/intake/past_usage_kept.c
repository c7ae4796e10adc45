/* SPDX-License-Identifier: Apache-2.0 */
/* What a host keeps of past usage, and gives to a scheduler that is made anew: the decayed use of
 * queues and users, and what is used of budgets. */
#include <string.h>

#include "core/nodes/nodes.h"
#include "sched/intake/intake_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"

/* ---- reading --------------------------------------------------------------------------------- */

struct visit {
    gang_sched *s;
    gang_past_usage_fn fn;
    void *user;
    int32_t result; /* of the visitor; not 0: it ends the visit */
};

static struct gang_past_usage record_of(int32_t what, const struct gang__queue_state *q)
{
    struct gang_past_usage record = GANG_PAST_USAGE_INIT;
    record.what = what;
    record.queue = q->q ? q->q->name : NULL;
    return record;
}

static const char *kind_name(gang_sched *s, int32_t kind)
{
    struct gang_kind_info info = GANG_KIND_INFO_INIT;
    return gang_kind_get(s->cluster, kind, &info) == GANG_OK ? info.name : NULL;
}

static void set_value(struct gang_past_usage *record, gang__u128 value)
{
    record->high = (uint64_t)(value >> 64);
    record->low = (uint64_t)value;
}

static void visit_queue(struct visit *v, const struct gang__queue_state *q)
{
    for (uint32_t d = 0; q->past_use && d < v->s->dims && v->result == 0; d++) {
        struct gang_past_usage record = record_of(GANG_PAST_USAGE_QUEUE, q);
        const struct gang__partition *partition = v->s->queues->dim[d].partition;
        record.kind = kind_name(v->s, v->s->queues->dim[d].kind);
        record.partition = partition ? partition->name : NULL;
        record.at_ns = q->past_use[d].at_ns;
        set_value(&record, q->past_use[d].mean);
        if (q->past_use[d].mean > 0)
            v->result = v->fn(&record, v->user);
    }
}

static void visit_users(struct visit *v, const struct gang__queue_state *q)
{
    if (!gang__leaf_remembers(v->s, q->q))
        return;
    for (size_t b = 0; b < q->users.cap && v->result == 0; b++)
        for (struct gang__hash_link *n = q->users.bucket[b]; n && v->result == 0; n = n->next) {
            struct gang__user *user = GANG__OF(struct gang__user, link, n);
            struct gang_past_usage record = record_of(GANG_PAST_USAGE_USER, q);
            struct gang__decay past = gang__user_past(v->s, q, user);
            record.user = user->name;
            record.at_ns = past.at_ns;
            set_value(&record, past.mean);
            if (past.mean > 0)
                v->result = v->fn(&record, v->user);
        }
}

static void visit_budgets(struct visit *v, const struct gang__queue_state *q)
{
    for (size_t b = 0; b < q->budget.books.cap && v->result == 0; b++)
        for (struct gang__hash_link *n = q->budget.books.bucket[b]; n && v->result == 0;
             n = n->next) {
            const struct gang__budget_book *book = GANG__OF(struct gang__budget_book, link, n);
            struct gang_past_usage record = record_of(GANG_PAST_USAGE_BUDGET, q);
            struct gang__budget_book now = *book;
            gang__budget_bring_up(v->s, &now);
            record.per_user = book->per_user;
            record.user = book->per_user ? book->user : NULL;
            record.kind = kind_name(v->s, book->kind);
            record.period_ns = book->period_ns;
            record.at_ns = now.at_ns;
            set_value(&record, now.used);
            if (now.used > 0)
                v->result = v->fn(&record, v->user);
        }
}

gang_result gang_past_usage_each(gang_sched *sched, gang_past_usage_fn visit, void *user)
{
    struct visit v = {sched, visit, user, 0};
    if (!sched || !visit)
        return GANG_EINVAL;
    visit_queue(&v, &sched->root);
    for (uint32_t i = 0; i < sched->queues->count && v.result == 0; i++) {
        visit_queue(&v, sched->qs[i]);
        visit_users(&v, sched->qs[i]);
        visit_budgets(&v, sched->qs[i]);
    }
    return v.result;
}

/* ---- giving back ----------------------------------------------------------------------------- */

struct restore {
    gang_sched *s;
    struct gang_past_usage record;
    struct gang__queue_state *q;
    int32_t kind;
    const struct gang__partition *partition;
};

static gang__u128 value_of(const struct gang_past_usage *record)
{
    return (gang__u128)record->high << 64 | record->low;
}

/* A mean of capacity and one of use, in a dimension that some queue manages. */
static gang_result restore_queue(const struct restore *r)
{
    for (uint32_t d = 0; r->q->past_use && d < r->s->dims; d++)
        if (r->s->queues->dim[d].kind == r->kind &&
            r->s->queues->dim[d].partition == r->partition) {
            r->q->past_use[d] = (struct gang__decay){value_of(&r->record), r->record.at_ns};
            r->q->past_restored = true;
        }
    return GANG_OK;
}

static gang_result restore_user(const struct restore *r)
{
    if (!r->q->q->leaf || !gang__leaf_remembers(r->s, r->q->q))
        return GANG_OK;
    struct gang__user *user = gang__user_of(r->s, r->q, r->record.user);
    if (!user)
        return GANG_ENOMEM;
    user->past = (struct gang__decay){value_of(&r->record), r->record.at_ns};
    user->restored = true;
    return GANG_OK;
}

static gang_result restore_budget(const struct restore *r)
{
    const struct gang__budget budget = {
        .kind = r->kind, .per_user = r->record.per_user != 0, .period_ns = r->record.period_ns};
    struct gang__budget_book *book =
        gang__budget_book_for(r->s, r->q, &budget, r->record.user ? r->record.user : "");
    if (!book)
        return GANG_ENOMEM;
    book->used = value_of(&r->record);
    book->at_ns = r->record.at_ns;
    book->restored = true;
    return GANG_OK;
}

static gang_result check_values(const struct gang_past_usage *record, struct gang_error *error)
{
    bool budget = record->what == GANG_PAST_USAGE_BUDGET, user = budget && record->per_user;
    if (record->what < GANG_PAST_USAGE_QUEUE || record->what > GANG_PAST_USAGE_BUDGET)
        return gang__error(error, GANG_EINVAL, "what", "no such value");
    if (record->per_user < 0 || record->per_user > 1 || (record->per_user && !budget))
        return gang__error(error, GANG_EINVAL, "per_user", "not 0, and not 1 of a budget");
    user = user || record->what == GANG_PAST_USAGE_USER;
    if ((record->user != NULL) != user)
        return gang__error(error, GANG_EINVAL, "user", "missing, or not of a user");
    if (!record->queue && record->what != GANG_PAST_USAGE_QUEUE)
        return gang__error(error, GANG_EINVAL, "queue", "missing");
    if ((record->kind == NULL) != (record->what == GANG_PAST_USAGE_USER))
        return gang__error(error, GANG_EINVAL, "kind", "missing, or given with a user's share");
    if (record->partition && record->what != GANG_PAST_USAGE_QUEUE)
        return gang__error(error, GANG_EINVAL, "partition", "not of a queue's use");
    if (record->period_ns < 0 || (record->period_ns && !budget))
        return gang__error(error, GANG_ERANGE, "period_ns", "negative, or not of a budget");
    if (record->at_ns < 0)
        return gang__error(error, GANG_ERANGE, "at_ns", "negative");
    if (record->high > INT64_MAX) /* all sums of amounts and times stay below */
        return gang__error(error, GANG_ERANGE, "high", "too large");
    return GANG_OK;
}

/* Finds what the names of the record mean. */
static gang_result look_up(struct restore *r, struct gang_error *error)
{
    const struct gang_past_usage *record = &r->record;
    gang_queue_id id = GANG_ID_NONE;
    if (record->queue && gang_queue_find(r->s, record->queue, &id) != GANG_OK)
        return gang__error(error, GANG_ENOENT, "queue", "no queue \"%s\"", record->queue);
    r->q = record->queue ? gang__queue_state_of(r->s, id) : &r->s->root;
    r->kind = record->kind ? gang__kind_find(r->s->cluster, record->kind) : 0;
    if (r->kind < 0)
        return gang__error(error, GANG_ENOENT, "kind", "no kind \"%s\"", record->kind);
    r->partition =
        record->partition ? gang__partition_find(r->s->cluster, record->partition) : NULL;
    if (record->partition && !r->partition)
        return gang__error(error, GANG_ENOENT, "partition", "no partition \"%s\"",
                           record->partition);
    return GANG_OK;
}

gang_result gang_past_usage_restore(gang_sched *sched, const struct gang_past_usage *usage,
                                    struct gang_error *error)
{
    static gang_result (*const restore[])(const struct restore *) = {restore_queue, restore_user,
                                                                     restore_budget};
    struct restore r = {.s = sched};
    if (!sched || !usage)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler, or no record");
    if (sched->runs > 0)
        return gang__error(error, GANG_EBUSY, NULL, "a run has begun");
    gang_result result =
        gang__struct_in(&r.record, sizeof(r.record), sizeof(r.record), usage, usage->size);
    if (result != GANG_OK)
        return gang__error(error, result, NULL, "struct gang_past_usage is not set up");
    result = check_values(&r.record, error);
    if (result == GANG_OK)
        result = look_up(&r, error);
    if (result != GANG_OK)
        return result;
    if (restore[r.record.what](&r) != GANG_OK)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    sched->usage.restored = true;
    return GANG_OK;
}
