/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one queue, and the rules that map jobs to queues. */
#include "scenario/write_in.h"

#include <stdio.h>
#include <string.h>

#include "scenario/fields_in.h"

static bool is_kind(const char *kind, const char *name)
{
    return kind && strcmp(kind, name) == 0;
}

/* What stands for the kind in a key. */
static const char *kind_key(const struct gang_quota *quota)
{
    if (!is_kind(quota->kind, "memory"))
        return quota->kind;
    bool exact = quota->amount != GANG_UNLIMITED && quota->amount % GANG__MIB != 0;
    return exact ? "mem_bytes" : "mem_mib";
}

static json_t *make_amount(const struct gang_quota *quota)
{
    int64_t amount = quota->amount;
    if (amount == GANG_UNLIMITED)
        return json_integer(amount);
    if (is_kind(quota->kind, "cpu") || is_kind(quota->kind, "gpu"))
        return gang__json_new_milli(amount);
    if (is_kind(quota->kind, "memory") && amount % GANG__MIB == 0)
        return json_integer(amount / GANG__MIB);
    return json_integer(amount);
}

static void write_quota(struct gang__writer *w, json_t *map, const struct gang_quota *quota)
{
    char key[2 * GANG_MAX_NAME + 2];
    const char *kind = kind_key(quota);
    json_t *value;
    int length =
        quota->partition && kind ? snprintf(key, sizeof(key), "%s@%s", kind, quota->partition) : 0;
    if (!kind || length < 0 || (size_t)length >= sizeof(key)) {
        gang__json_note(&w->maker, GANG_EINVAL);
        return;
    }
    if (quota->partition)
        kind = key;
    if (quota->fraction || quota->by_weight) {
        value = json_object();
        if (quota->fraction)
            gang__write_value(w, value, "fraction",
                              gang__json_new_scaled(quota->fraction, GANG_WHOLE));
        if (quota->by_weight)
            gang__write_int(w, value, "weight", quota->by_weight);
    } else {
        value = make_amount(quota);
    }
    gang__write_value(w, map, kind, value);
}

static json_t *make_quotas(struct gang__writer *w, const struct gang_queue_spec *queue,
                           const struct gang_quota *list, size_t count)
{
    json_t *map = json_object();
    for (size_t i = 0; i < count; i++) {
        struct gang_quota quota;
        if (!gang__write_loaded(w, GANG__LOAD_BY(quota, by_weight, list, i, queue->quota_size)))
            break;
        write_quota(w, map, &quota);
    }
    return map;
}

static void write_weight(struct gang__writer *w, json_t *object,
                         const struct gang_queue_spec *queue)
{
    if (queue->weight_count == 0) {
        gang__write_value(w, object, "weight", gang__json_new_real(&w->maker, queue->weight));
        return;
    }
    if (!queue->weights || !queue->weight_kinds) {
        gang__json_note(&w->maker, GANG_EINVAL);
        return;
    }
    json_t *map = json_object();
    for (size_t i = 0; i < queue->weight_count; i++) {
        const char *kind = queue->weight_kinds[i];
        gang__write_value(w, map, is_kind(kind, "memory") ? "mem_mib" : kind,
                          gang__json_new_real(&w->maker, queue->weights[i]));
    }
    if (!(queue->weight >= 1 && queue->weight <= 1))
        gang__write_value(w, map, "default", gang__json_new_real(&w->maker, queue->weight));
    gang__write_value(w, object, "weight", map);
}

static void write_cells(struct gang__writer *w, json_t *object, const struct gang_queue_spec *queue)
{
    if (queue->cell_count == 0)
        return;
    json_t *list = json_array();
    if (!queue->cells)
        gang__json_note(&w->maker, GANG_EINVAL);
    for (size_t i = 0; queue->cells && i < queue->cell_count; i++) {
        json_t *item = json_object();
        gang__write_text(w, item, "level", queue->cells[i].level);
        gang__write_int(w, item, "count", queue->cells[i].count);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "cells", list);
}

static void write_budgets(struct gang__writer *w, json_t *object,
                          const struct gang_queue_spec *queue)
{
    if (queue->budget_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < queue->budget_count; i++) {
        struct gang_budget budget;
        struct gang_quota amount = {NULL, 0, NULL, 0, 0};
        if (!gang__write_loaded(
                w, GANG__LOAD_BY(budget, exhausted, queue->budgets, i, queue->budget_size)))
            break;
        json_t *item = json_object();
        if (!budget.kind)
            gang__json_note(&w->maker, GANG_EINVAL);
        amount.kind = budget.kind ? budget.kind : "";
        amount.amount = budget.amount;
        gang__write_text(w, item, "kind", kind_key(&amount));
        gang__write_value(w, item, "amount", make_amount(&amount));
        gang__fields_write(&w->maker, item, &gang__budget_fields, &budget);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "budgets", list);
}

static void write_users(struct gang__writer *w, json_t *object, const struct gang_queue_spec *queue)
{
    if (queue->user_count == 0)
        return;
    json_t *map = json_object();
    if (!queue->users)
        gang__json_note(&w->maker, GANG_EINVAL);
    for (size_t i = 0; queue->users && i < queue->user_count; i++)
        gang__write_value(w, map, queue->users[i].user,
                          gang__json_new_scaled(queue->users[i].weight, GANG_WHOLE));
    gang__write_value(w, object, "users", map);
}

static void write_preempt(struct gang__writer *w, json_t *object,
                          const struct gang_queue_spec *queue)
{
    const char *found = NULL; /* a number without a word is noted */
    for (size_t i = 0; i < GANG__COUNT(gang__within_numbers); i++)
        if (queue->within == gang__within_numbers[i])
            found = gang__within_words[i];
    if (queue->within != GANG_PREEMPT_DEFAULT)
        gang__write_text(w, object, "within", found);
    found = NULL;
    for (size_t i = 0; i < GANG__COUNT(gang__reclaim_numbers); i++)
        if (queue->reclaim == gang__reclaim_numbers[i])
            found = gang__reclaim_words[i];
    if (queue->reclaim != GANG_PREEMPT_DEFAULT)
        gang__write_text(w, object, "reclaim", found);
}

static void write_queue_body(struct gang__writer *w, json_t *object,
                             const struct gang_queue_spec *queue)
{
    gang__write_value(w, object, "guaranteed",
                      make_quotas(w, queue, queue->guaranteed, queue->guaranteed_count));
    if (queue->limit_count > 0)
        gang__write_value(w, object, "limit",
                          make_quotas(w, queue, queue->limit, queue->limit_count));
    else
        gang__write_value(w, object, "limit", json_null());
    write_weight(w, object, queue);
    if (queue->lending_limit_count > 0)
        gang__write_value(w, object, "lending_limit",
                          make_quotas(w, queue, queue->lending_limit, queue->lending_limit_count));
    write_preempt(w, object, queue);
    write_cells(w, object, queue);
    write_budgets(w, object, queue);
    write_users(w, object, queue);
    gang__write_names(w, object, "partitions", queue->partitions, queue->partition_count);
    gang__fields_write(&w->maker, object, &gang__queue_fields, queue);
}

/* The queues made on demand below this one lie in each other. */
static void write_children(struct gang__writer *w, json_t *object,
                           const struct gang_queue_spec *queue)
{
    struct gang_queue_spec child = *queue;
    for (size_t depth = 0; child.child; depth++) {
        const struct gang_queue_spec *next = child.child;
        json_t *inner = json_object();
        gang__write_value(w, object, "child", inner);
        if (depth >= GANG_MAX_QUEUE_DEPTH)
            gang__json_note(&w->maker, GANG_EINVAL);
        if (w->maker.result != GANG_OK || !GANG__WRITE_LOAD(w, child, reserved0, next, 0))
            return;
        write_queue_body(w, inner, &child);
        object = inner;
    }
}

json_t *gang__make_queue(struct gang__writer *w, const struct gang_queue_spec *queue)
{
    json_t *object = json_object();
    gang__write_text(w, object, "name", queue->name);
    if (queue->parent)
        gang__write_text(w, object, "parent", queue->parent);
    else
        gang__write_value(w, object, "parent", json_null());
    write_queue_body(w, object, queue);
    write_children(w, object, queue);
    return object;
}

void gang__write_mapping(struct gang__writer *w, json_t *object, const struct gang_scenario *c)
{
    if (c->rule_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < c->rule_count; i++) {
        struct gang_queue_rule rule;
        if (!GANG__WRITE_LOAD(w, rule, queue, c->rules, i))
            break;
        json_t *item = json_object();
        gang__write_word(w, item, "match", &gang__match_words, rule.match);
        if (rule.pattern)
            gang__write_text(w, item, "pattern", rule.pattern);
        gang__write_text(w, item, "queue", rule.queue);
        if (rule.fallback != GANG_FALLBACK_SKIP)
            gang__write_word(w, item, "fallback", &gang__fallback_words, rule.fallback);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "rules", list);
}
