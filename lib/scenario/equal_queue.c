/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two queues. */
#include "model/specs.h"
#include "scenario/equal_in.h"
#include "scenario/fields_in.h"

static bool same_real(double a, double b)
{
    return a >= b && a <= b;
}

static bool same_quota(const struct gang_quota *a, size_t a_count, size_t a_size,
                       const struct gang_quota *b, size_t b_count, size_t b_size)
{
    struct gang_quota x;
    struct gang_quota y;
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (!GANG__LOAD2_BY(x, y, by_weight, a, b, i, a_size, b_size) ||
            !gang__same_text(x.kind, y.kind) || !gang__same_text(x.partition, y.partition) ||
            x.amount != y.amount || x.fraction != y.fraction || x.by_weight != y.by_weight)
            return false;
    return true;
}

static bool same_quotas(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    return same_quota(a->guaranteed, a->guaranteed_count, a->quota_size, b->guaranteed,
                      b->guaranteed_count, b->quota_size) &&
           same_quota(a->limit, a->limit_count, a->quota_size, b->limit, b->limit_count,
                      b->quota_size) &&
           same_quota(a->lending_limit, a->lending_limit_count, a->quota_size, b->lending_limit,
                      b->lending_limit_count, b->quota_size);
}

static bool same_users(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    if (a->user_count != b->user_count)
        return false;
    for (size_t i = 0; i < a->user_count; i++)
        if (!gang__same_text(a->users[i].user, b->users[i].user) ||
            a->users[i].weight != b->users[i].weight)
            return false;
    return true;
}

static bool same_weights(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    if (!same_real(a->weight, b->weight) || a->weight_count != b->weight_count)
        return false;
    for (size_t i = 0; i < a->weight_count; i++)
        if (!gang__same_text(a->weight_kinds[i], b->weight_kinds[i]) ||
            !same_real(a->weights[i], b->weights[i]))
            return false;
    return true;
}

static bool same_cells(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    if (a->cell_count != b->cell_count)
        return false;
    for (size_t i = 0; i < a->cell_count; i++)
        if (!gang__same_text(a->cells[i].level, b->cells[i].level) ||
            a->cells[i].count != b->cells[i].count)
            return false;
    return true;
}

static bool same_budgets(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    struct gang_budget x;
    struct gang_budget y;
    if (a->budget_count != b->budget_count)
        return false;
    for (size_t i = 0; i < a->budget_count; i++)
        if (!GANG__LOAD2_BY(x, y, exhausted, a->budgets, b->budgets, i, a->budget_size,
                            b->budget_size) ||
            !gang__same_text(x.kind, y.kind) || x.amount != y.amount ||
            !gang__fields_equal(&gang__budget_fields, &x, &y))
            return false;
    return true;
}

static bool same_queue_body(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    return same_quotas(a, b) && same_weights(a, b) && a->within == b->within &&
           a->reclaim == b->reclaim && same_cells(a, b) && same_budgets(a, b) && same_users(a, b) &&
           gang__same_names(a->partitions, a->partition_count, b->partitions, b->partition_count) &&
           a->reserved0 == b->reserved0 && gang__fields_equal(&gang__queue_fields, a, b);
}

/* The queues made on demand lie in each other; names that they have do not count. */
bool gang__same_queue(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    struct gang_queue_spec x = *a;
    struct gang_queue_spec y = *b;
    if (!gang__same_text(a->name, b->name) || !gang__same_text(a->parent, b->parent))
        return false;
    for (size_t depth = 0; depth <= GANG_MAX_QUEUE_DEPTH; depth++) {
        const struct gang_queue_spec *x_child = x.child;
        const struct gang_queue_spec *y_child = y.child;
        if (!same_queue_body(&x, &y) || !x_child != !y_child)
            return false;
        if (!x_child)
            return true;
        if (!GANG__LOAD2(x, y, reserved0, x_child, y_child, 0))
            return false;
    }
    return false;
}
