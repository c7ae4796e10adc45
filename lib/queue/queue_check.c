/* SPDX-License-Identifier: Apache-2.0 */
/* What can be wrong with the specification of a queue alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/nodes/nodes.h"
#include "model/specs.h"
#include "queue/queue_spec_in.h"
#include "queue/queues.h"

gang_result gang__quota_refuse(struct gang_error *error, gang_result code, const char *list,
                               const char *kind, const char *partition, const char *text)
{
    char path[2 * GANG_MAX_NAME + 32];
    snprintf(path, sizeof(path), "%s.%s%s%s", list, kind, partition ? "@" : "",
             partition ? partition : "");
    return gang__error(error, code, path, "%s", text);
}

/* A name, or another text that the model would take. */
static gang_result text_check(const char *text, struct gang_error *error, const char *path)
{
    gang_result r = gang__text_check(text, false);
    return r == GANG_OK ? r
                        : gang__error(error, r, path, "%s",
                                      r == GANG_ELIMIT ? "longer than 255 bytes"
                                                       : "missing, empty, or not plain UTF-8 text");
}

/* ---- quotas and weights -------------------------------------------------------------------- */

/* The lists of quotas, and what each may say. */
struct list {
    const char *name;
    const struct gang_quota *quota;
    size_t count;
    bool parts, weights;
};

static gang_result quota_text_check(const gang_cluster *c, const struct list *l, size_t i,
                                    const struct gang_quota *q, struct gang_error *error)
{
    char path[64];
    snprintf(path, sizeof(path), "%s[%zu].kind", l->name, i);
    gang_result r = text_check(q->kind, error, path);
    if (r != GANG_OK)
        return r;
    if (gang__kind_find(c, q->kind) < 0)
        return gang__quota_refuse(error, GANG_ENOENT, l->name, q->kind, NULL, "no such kind");
    if (!q->partition)
        return GANG_OK;
    snprintf(path, sizeof(path), "%s[%zu].partition", l->name, i);
    if ((r = text_check(q->partition, error, path)) != GANG_OK)
        return r;
    if (!gang__partition_find(c, q->partition))
        return gang__error(error, GANG_ENOENT, path, "no such partition");
    return GANG_OK;
}

/* The fault of a quota's numbers; NULL: none. */
static const char *quota_fault(const struct list *l, const struct gang_quota *q, gang_result *code)
{
    *code = GANG_ERANGE;
    if (q->amount < GANG_UNLIMITED || q->fraction < 0 || q->by_weight < 0)
        return "negative";
    if (q->amount > GANG__MAX_QUOTA_AMOUNT || q->by_weight > GANG__MAX_MILLIONTHS)
        return "too large";
    if (q->fraction > GANG_WHOLE)
        return "more than the whole";
    *code = GANG_EINVAL;
    if ((q->amount != 0) + (q->fraction != 0) + (q->by_weight != 0) > 1)
        return "two of amount, part and weight";
    if (q->fraction && !l->parts)
        return "not an amount";
    if (q->by_weight && !l->weights)
        return "by weight, as a guarantee alone may be";
    return NULL;
}

static bool is_same_pair(const struct gang_quota *a, const struct gang_quota *b)
{
    if (strcmp(a->kind, b->kind) != 0 || !a->partition != !b->partition)
        return false;
    return !a->partition || strcmp(a->partition, b->partition) == 0;
}

static gang_result list_check(const gang_cluster *c, const struct gang_queue_spec *s,
                              const struct list *l, struct gang_error *error)
{
    for (size_t i = 0; i < l->count; i++) {
        struct gang_quota q = gang__quota_at(s, l->quota, i);
        gang_result code = quota_text_check(c, l, i, &q, error);
        if (code != GANG_OK)
            return code;
        const char *fault = quota_fault(l, &q, &code);
        if (fault)
            return gang__quota_refuse(error, code, l->name, q.kind, q.partition, fault);
        for (size_t j = 0; j < i; j++) {
            struct gang_quota other = gang__quota_at(s, l->quota, j);
            if (is_same_pair(&q, &other))
                return gang__quota_refuse(error, GANG_EINVAL, l->name, q.kind, q.partition,
                                          "twice");
        }
    }
    return GANG_OK;
}

/* The amount that a list states of a kind or pair; GANG_UNLIMITED: it states none. */
static int64_t stated(const struct gang_queue_spec *s, const struct list *l,
                      const struct gang_quota *of)
{
    for (size_t i = 0; i < l->count; i++) {
        struct gang_quota q = gang__quota_at(s, l->quota, i);
        if (is_same_pair(&q, of))
            return q.fraction || q.by_weight ? GANG_UNLIMITED : q.amount;
    }
    return GANG_UNLIMITED;
}

/* No amount of `low` lies below the one of `high`, where both state one. */
static gang_result order_check(const struct gang_queue_spec *s, const struct list *low,
                               const struct list *high, const struct list *blame, const char *text,
                               struct gang_error *error)
{
    for (size_t i = 0; i < low->count; i++) {
        struct gang_quota q = gang__quota_at(s, low->quota, i);
        int64_t a = stated(s, low, &q), b = stated(s, high, &q);
        if (a != GANG_UNLIMITED && b != GANG_UNLIMITED && a > b)
            return gang__quota_refuse(error, GANG_EINVAL, blame->name, q.kind, q.partition, text);
    }
    return GANG_OK;
}

static gang_result quotas_check(const gang_cluster *c, const struct gang_queue_spec *s,
                                struct gang_error *error)
{
    const struct list guaranteed = {"guaranteed", s->guaranteed, s->guaranteed_count, true, true};
    const struct list limit = {"limit", s->limit, s->limit_count, true, false};
    const struct list lending = {"lending_limit", s->lending_limit, s->lending_limit_count, false,
                                 false};
    gang_result r;
    if ((r = list_check(c, s, &guaranteed, error)) != GANG_OK ||
        (r = list_check(c, s, &limit, error)) != GANG_OK ||
        (r = list_check(c, s, &lending, error)) != GANG_OK ||
        (r = order_check(s, &guaranteed, &limit, &limit, "below the guarantee", error)) != GANG_OK)
        return r;
    return order_check(s, &lending, &guaranteed, &lending, "above the guarantee", error);
}

/* NaN is no weight either. */
static bool is_weight(double weight)
{
    return isfinite(weight) && weight >= 0 && weight <= (double)(GANG__MAX_MILLIONTHS / GANG_WHOLE);
}

static gang_result weights_check(const gang_cluster *c, const struct gang_queue_spec *s,
                                 struct gang_error *error)
{
    static const char bad[] = "negative, too large, or not a number";
    if (!is_weight(s->weight))
        return gang__error(error, GANG_ERANGE, "weight", "%s", bad);
    for (size_t i = 0; i < s->weight_count; i++) {
        const char *kind = s->weight_kinds[i];
        char path[64];
        snprintf(path, sizeof(path), "weight_kinds[%zu]", i);
        gang_result r = text_check(kind, error, path);
        if (r != GANG_OK)
            return r;
        if (gang__kind_find(c, kind) < 0)
            return gang__quota_refuse(error, GANG_ENOENT, "weights", kind, NULL, "no such kind");
        if (!is_weight(s->weights[i]))
            return gang__quota_refuse(error, GANG_ERANGE, "weights", kind, NULL, bad);
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->weight_kinds[j], kind) == 0)
                return gang__quota_refuse(error, GANG_EINVAL, "weights", kind, NULL, "twice");
    }
    return GANG_OK;
}

/* ---- numbers ------------------------------------------------------------------------------- */

struct range {
    const char *name;
    int64_t value, least, most;
};

static gang_result ranges_check(const struct range *ranges, size_t count, gang_result code,
                                struct gang_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct range *e = &ranges[i];
        if (e->value < e->least || e->value > e->most)
            return gang__error(error, code, e->name, "%s",
                               code == GANG_EINVAL   ? "not one of its values"
                               : e->value < e->least ? "negative"
                                                     : "too large");
    }
    return GANG_OK;
}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static gang_result words_check(const struct gang_queue_spec *s, struct gang_error *error)
{
    const struct range words[] = {
        {"within", s->within, GANG_PREEMPT_DEFAULT, GANG_PREEMPT_USER_LIMIT},
        {"reclaim", s->reclaim, GANG_PREEMPT_DEFAULT, GANG_PREEMPT_ANY},
        {"state", s->state, GANG_QUEUE_OPEN, GANG_QUEUE_CLOSED},
        {"order", s->order, GANG_ORDER_PRIORITY, GANG__NAME_COUNT(GANG__ORDER_NAMES) - 1},
        {"child_order", s->child_order, GANG_CHILD_ORDER_FAIR,
         GANG__NAME_COUNT(GANG__CHILD_ORDER_NAMES) - 1},
        {"block", s->block, GANG_BLOCK_NONE, GANG_BLOCK_STRICT},
        {"preempt_mode", s->preempt_mode, GANG_PREEMPT_MODE_REQUEUE, GANG_PREEMPT_MODE_CANCEL},
        {"no_preemption", s->no_preemption, 0, 1},
        /* A host's policy is a function, and a queue has none. */
        {"policy", s->policy, GANG_POLICY_DEFAULT, GANG_POLICY_HOST - 1},
        {"reserved0", s->reserved0, 0, 0},
        {"backfill", s->backfill, GANG_BACKFILL_DEFAULT, GANG_BACKFILL_CONSERVATIVE},
        {"backfill_order", s->backfill_order, GANG_BACKFILL_ORDER_DEFAULT,
         GANG_BACKFILL_ORDER_SMALLEST},
        {"overrun", s->overrun, GANG_OVERRUN_DEFAULT, GANG_OVERRUN_ASK},
        {"quantum_gpus", s->quantum_gpus, 0, 1},
        {"reserved1", s->reserved1, 0, 0},
        {"reserved2", s->reserved2, 0, 0},
        {"across", s->across, GANG_ACROSS_DEFAULT, GANG_ACROSS_LOWER_CAPPED},
        {"nonpreemptible", s->nonpreemptible, GANG_NONPREEMPTIBLE_DEFAULT,
         GANG_NONPREEMPTIBLE_LIMIT},
        {"priority_favor_small", s->priority_favor_small, 0, 1},
        {"surplus", s->surplus, GANG_SURPLUS_BY_WEIGHT, GANG_SURPLUS_EVENLY},
        {"partition_borrow", s->partition_borrow, GANG_PARTITION_BORROW_IN_ORDER,
         GANG_PARTITION_BORROW_LAST},
        {"partition_preempt", s->partition_preempt, GANG_PARTITION_PREEMPT_LAST,
         GANG_PARTITION_PREEMPT_IN_ORDER},
    };
    gang_result r = ranges_check(words, COUNT(words), GANG_EINVAL, error);
    if (r == GANG_OK && s->within == GANG_PREEMPT_ANY)
        r = gang__error(error, GANG_EINVAL, "within", "not one of its values");
    if (r == GANG_OK && s->reclaim == GANG_PREEMPT_LOWER_OR_NEWER)
        r = gang__error(error, GANG_EINVAL, "reclaim", "not one of its values");
    return r;
}

static gang_result numbers_check(const struct gang_queue_spec *s, struct gang_error *error)
{
    const struct range numbers[] = {
        {"max_running", s->max_running, 0, INT64_MAX},
        {"max_pending", s->max_pending, 0, INT64_MAX},
        {"max_running_per_user", s->max_running_per_user, 0, INT64_MAX},
        {"default_time_limit_ns", s->default_time_limit_ns, 0, INT64_MAX},
        {"max_time_limit_ns", s->max_time_limit_ns, 0, INT64_MAX},
        {"user_limit", s->user_limit, 0, GANG_WHOLE},
        {"user_limit_factor", s->user_limit_factor, 0, GANG__MAX_MILLIONTHS},
        {"grace_ns", s->grace_ns, -1, INT64_MAX},
        {"min_runtime_ns", s->min_runtime_ns, -1, INT64_MAX},
        {"stale_ns", s->stale_ns, -1, INT64_MAX},
        {"fence_ns", s->fence_ns, -1, INT64_MAX},
        {"max_children", s->max_children, 0, INT64_MAX},
        {"child_idle_ns", s->child_idle_ns, 0, INT64_MAX},
        {"plan_depth", s->plan_depth, 0, INT64_MAX},
        {"extend_ns", s->extend_ns, 0, INT64_MAX},
        {"max_bypasses", s->max_bypasses, 0, INT64_MAX},
        {"max_wait_ns", s->max_wait_ns, 0, INT64_MAX},
        {"max_blocked_ns", s->max_blocked_ns, -1, INT64_MAX},
        {"quantum_ns", s->quantum_ns, -1, INT64_MAX},
        {"quantum_rows", s->quantum_rows, 0, UINT16_MAX},
        {"priority_weight_age", s->priority_weight_age, 0, UINT32_MAX},
        {"priority_weight_fair_share", s->priority_weight_fair_share, 0, UINT32_MAX},
        {"priority_weight_size", s->priority_weight_size, 0, UINT32_MAX},
        {"priority_weight_queue", s->priority_weight_queue, 0, UINT32_MAX},
        {"priority_weight_job", s->priority_weight_job, 0, UINT32_MAX},
        {"priority_max_age_ns", s->priority_max_age_ns, 0, INT64_MAX},
        {"priority_period_ns", s->priority_period_ns, 0, INT64_MAX},
        {"priority_factor", s->priority_factor, 0, GANG_WHOLE},
    };
    gang_result r = ranges_check(numbers, COUNT(numbers), GANG_ERANGE, error);
    if (r == GANG_OK && s->max_time_limit_ns && s->default_time_limit_ns > s->max_time_limit_ns)
        r = gang__error(error, GANG_EINVAL, "default_time_limit_ns", "above max_time_limit_ns");
    if (r == GANG_OK && s->quantum_ns <= 0 && (s->quantum_rows || s->quantum_gpus))
        r = gang__error(error, GANG_EINVAL, s->quantum_rows ? "quantum_rows" : "quantum_gpus",
                        "without quantum_ns");
    if (r == GANG_OK && s->across != GANG_ACROSS_LOWER_CAPPED && s->across_max_priority)
        r = gang__error(error, GANG_EINVAL, "across_max_priority",
                        "without across = GANG_ACROSS_LOWER_CAPPED");
    return r;
}

/* ---- cells, users, template ---------------------------------------------------------------- */

static gang_result cells_check(const gang_cluster *c, const struct gang_queue_spec *s,
                               struct gang_error *error)
{
    char path[64];
    for (size_t i = 0; i < s->cell_count; i++) {
        const struct gang_cell_spec *e = &s->cells[i];
        snprintf(path, sizeof(path), "cells[%zu].level", i);
        gang_result r = text_check(e->level, error, path);
        if (r != GANG_OK)
            return r;
        if (strcmp(e->level, GANG_LEVEL_NODE) != 0 && gang__level_find(c, e->level) < 0)
            return gang__error(error, GANG_ENOENT, path, "no such level");
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->cells[j].level, e->level) == 0)
                return gang__error(error, GANG_EINVAL, path, "twice");
        snprintf(path, sizeof(path), "cells[%zu].count", i);
        if (e->count < 1 || e->count > GANG_MAX_AMOUNT)
            return gang__error(error, GANG_ERANGE, path, "less than 1, or too large");
    }
    return GANG_OK;
}

static gang_result budget_check(const gang_cluster *c, const struct gang_queue_spec *s, size_t i,
                                struct gang_error *error)
{
    char path[64];
    struct gang_budget b = gang__budget_at(s, i);
    int n = snprintf(path, sizeof(path), "budgets[%zu].", i);
    char *member = path + n;
    size_t left = sizeof(path) - (size_t)n;
    snprintf(member, left, "kind");
    gang_result r = text_check(b.kind, error, path);
    if (r != GANG_OK)
        return r;
    if (gang__kind_find(c, b.kind) < 0)
        return gang__error(error, GANG_ENOENT, path, "no such kind");
    for (size_t j = 0; j < i; j++) {
        struct gang_budget other = gang__budget_at(s, j);
        if (strcmp(b.kind, other.kind) == 0 && b.period_ns == other.period_ns &&
            b.per_user == other.per_user)
            return gang__error(error, GANG_EINVAL, path, "twice");
    }
    snprintf(member, left, "amount");
    if (b.amount < 0 || b.amount > GANG__MAX_QUOTA_AMOUNT)
        return gang__error(error, GANG_ERANGE, path, b.amount < 0 ? "negative" : "too large");
    snprintf(member, left, "period_ns");
    if (b.period_ns < 0)
        return gang__error(error, GANG_ERANGE, path, "negative");
    snprintf(member, left, "per_user");
    if (b.per_user != 0 && b.per_user != 1)
        return gang__error(error, GANG_EINVAL, path, "not one of its values");
    snprintf(member, left, "exhausted");
    if (b.exhausted < GANG_BUDGET_SAFE || b.exhausted > GANG_BUDGET_FINISH)
        return gang__error(error, GANG_EINVAL, path, "not one of its values");
    return GANG_OK;
}

static gang_result budgets_check(const gang_cluster *c, const struct gang_queue_spec *s,
                                 struct gang_error *error)
{
    gang_result r = GANG_OK;
    for (size_t i = 0; r == GANG_OK && i < s->budget_count; i++)
        r = budget_check(c, s, i, error);
    return r;
}

/* Two users of one name are found after sorting (queues_check.c). */
static gang_result users_check(const struct gang_queue_spec *s, struct gang_error *error)
{
    char path[64];
    for (size_t i = 0; i < s->user_count; i++) {
        snprintf(path, sizeof(path), "users[%zu].user", i);
        gang_result r = text_check(s->users[i].user, error, path);
        if (r != GANG_OK)
            return r;
        snprintf(path, sizeof(path), "users[%zu].weight", i);
        if (s->users[i].weight < 1 || s->users[i].weight > GANG__MAX_MILLIONTHS)
            return gang__error(error, GANG_ERANGE, path, "less than 1, or too large");
    }
    return GANG_OK;
}

static gang_result classes_check(const struct gang_queue_spec *s, struct gang_error *error)
{
    if (!s->preempt_class)
        return s->preempts ? gang__error(error, GANG_EINVAL, "preempts", "without preempt_class")
                           : GANG_OK;
    gang_result r = text_check(s->preempt_class, error, "preempt_class");
    if (r == GANG_OK && strchr(s->preempt_class, ','))
        r = gang__error(error, GANG_EINVAL, "preempt_class", "a comma, which parts classes");
    return r == GANG_OK && s->preempts ? gang__preempts_check(s->preempts, error) : r;
}

static gang_result partitions_check(const struct gang_queue_spec *s, struct gang_error *error)
{
    char path[64];
    for (size_t i = 0; i < s->partition_count; i++) {
        snprintf(path, sizeof(path), "partitions[%zu]", i);
        gang_result r = text_check(s->partitions[i], error, path);
        if (r != GANG_OK)
            return r;
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->partitions[j], s->partitions[i]) == 0)
                return gang__error(error, GANG_EINVAL, path, "twice");
    }
    return GANG_OK;
}

/* All but names and template. */
static gang_result body_check(const gang_cluster *c, const struct gang_queue_spec *s,
                              struct gang_error *error)
{
    gang_result r;
    if ((r = quotas_check(c, s, error)) != GANG_OK || (r = weights_check(c, s, error)) != GANG_OK ||
        (r = cells_check(c, s, error)) != GANG_OK || (r = budgets_check(c, s, error)) != GANG_OK ||
        (r = words_check(s, error)) != GANG_OK || (r = numbers_check(s, error)) != GANG_OK ||
        (r = users_check(s, error)) != GANG_OK || (r = classes_check(s, error)) != GANG_OK ||
        (r = partitions_check(s, error)) != GANG_OK ||
        (r = gang__acl_check(s->submit_acl, "submit_acl", error)) != GANG_OK)
        return r;
    return gang__acl_check(s->admin_acl, "admin_acl", error);
}

/* A template that makes places for queues on demand would need names that no job can write. */
static gang_result template_check(const gang_cluster *c, const struct gang_queue_spec *from,
                                  struct gang_error *error)
{
    struct gang_queue_spec s;
    gang_result r = gang__queue_spec_in(from, &s, error);
    if (r == GANG_OK && s.child)
        return gang__error(error, GANG_EINVAL, "child", "a template in a template");
    return r == GANG_OK ? body_check(c, &s, error) : r;
}

gang_result gang__queue_spec_check(const gang_cluster *c, const struct gang_queue_spec *spec,
                                   struct gang_error *error)
{
    gang_result r = text_check(spec->name, error, "name");
    if (r == GANG_OK)
        r = body_check(c, spec, error);
    if (r != GANG_OK || !spec->child)
        return r;
    r = template_check(c, spec->child, error);
    return r == GANG_OK ? r : gang__error_at(error, r, "child");
}
