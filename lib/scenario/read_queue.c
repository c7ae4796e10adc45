/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one queue of a scenario, and the tree of queues. */
#include "scenario/read_in.h"

#include <stdio.h>
#include <string.h>

/* A queue made on demand has the keys behind NAME_KEYS. */
enum { NAME_KEYS = 2 };
static const char *const queue_keys[] = {"name",
                                         "parent",
                                         "guaranteed",
                                         "limit",
                                         "weight",
                                         "priority",
                                         "lending_limit",
                                         "within",
                                         "reclaim",
                                         "cells",
                                         "state",
                                         "order",
                                         "child_order",
                                         "block",
                                         "preempt_mode",
                                         "no_preemption",
                                         "max_running",
                                         "max_pending",
                                         "max_running_per_user",
                                         "default_time_limit_s",
                                         "max_time_limit_s",
                                         "user_limit",
                                         "user_limit_factor",
                                         "users",
                                         "submit_acl",
                                         "admin_acl",
                                         "grace_s",
                                         "min_runtime_s",
                                         "stale_s",
                                         "fence_s",
                                         "child",
                                         "max_children",
                                         "child_idle_s",
                                         "policy",
                                         "backfill",
                                         "plan_depth",
                                         "backfill_order",
                                         "overrun",
                                         "extend_s",
                                         "max_bypasses",
                                         "max_wait_s",
                                         "max_blocked_s",
                                         "quantum_s",
                                         "quantum_rows",
                                         "quantum_gpus",
                                         "across",
                                         "across_max_priority",
                                         "preempt_class",
                                         "preempts",
                                         "nonpreemptible",
                                         "priority_weight_age",
                                         "priority_weight_fair_share",
                                         "priority_weight_size",
                                         "priority_weight_queue",
                                         "priority_weight_job",
                                         "priority_max_age_s",
                                         "priority_period_s",
                                         "priority_factor",
                                         "priority_favor_small",
                                         "budgets",
                                         "surplus",
                                         "partitions",
                                         "partition_borrow",
                                         "partition_preempt"};

static const char *built_in_kind(const char *key)
{
    if (strcmp(key, "gpu") == 0)
        return "gpu";
    if (strcmp(key, "cpu") == 0)
        return "cpu";
    return strcmp(key, "mem_mib") == 0 || strcmp(key, "mem_bytes") == 0 ? "memory" : NULL;
}

/* The kind that a key of `guaranteed`, `limit`, `lending_limit` or `weight` names; NULL: none. */
static gang_result kind_of_key(struct gang__reader *r, const struct gang__json *at, const char *key,
                               const char **name)
{
    const struct gang_kind_spec *kind;
    *name = built_in_kind(key);
    if (*name)
        return GANG_OK;
    GANG__TRY(gang__kind_named(r, at, key, &kind));
    *name = kind ? kind->name : NULL;
    return GANG_OK;
}

/* How many of "fraction" and "weight" a quota may be given by. */
enum { IN_AMOUNTS = 0, IN_FRACTIONS = 1, IN_WEIGHTS = 2 };

/* A key of a quota: what stands for the kind, and behind an '@' the partition. */
struct quota_key {
    char word[GANG_MAX_NAME + 1];
    const char *kind;
    const char *partition; /* NULL: none */
};

/* The name of a kind may have an '@' in it, too: the first way to take the key apart counts.
 * Without a case, an unknown kind ends at the first '@'. */
static gang_result split_key(struct gang__reader *r, const struct gang__json *member,
                             struct quota_key *out)
{
    const char *key = member->key, *end = r->alone ? strchr(key, '@') : NULL;
    end = end ? end : key + strlen(key);
    *out = (struct quota_key){"", NULL, NULL};
    do {
        size_t length = (size_t)(end - key);
        if (length <= GANG_MAX_NAME) {
            memcpy(out->word, key, length);
            out->word[length] = '\0';
            GANG__TRY(kind_of_key(r, member, out->word, &out->kind));
            out->partition = *end ? end + 1 : NULL;
        }
        end = strchr(*end ? end + 1 : key, '@');
    } while (!out->kind && end);
    return GANG_OK;
}

static gang_result read_quota_key(struct gang__reader *r, const struct gang__json *map,
                                  const struct gang__json *member, struct quota_key *key)
{
    char mib[GANG_MAX_NAME + sizeof("mem_mib@")];
    GANG__TRY(split_key(r, member, key));
    if (!key->kind)
        return gang__json_fail(member, GANG_ENOENT, "no such resource");
    GANG__TRY(gang__json_key(member, 2 * GANG_MAX_NAME + 1));
    if (key->partition) {
        size_t length = strlen(key->partition);
        if (length == 0 || length > GANG_MAX_NAME)
            return gang__json_fail(member, GANG_EINVAL, "'@' without the name of a partition");
        GANG__TRY(gang__keep_text(r, member, key->partition, &key->partition));
    }
    if (strcmp(key->word, "mem_bytes") != 0)
        return GANG_OK;
    snprintf(mib, sizeof(mib), "mem_mib%s%s", key->partition ? "@" : "",
             key->partition ? key->partition : "");
    if (json_object_get(map->value, mib))
        return gang__json_fail(member, GANG_EINVAL, "given beside 'mem_mib'");
    return GANG_OK;
}

static gang_result read_amount(const struct gang__json *at, const char *word, int64_t *amount)
{
    if (json_is_number(at->value) && json_number_value(at->value) == -1) {
        *amount = GANG_UNLIMITED;
        return GANG_OK;
    }
    if (strcmp(word, "gpu") == 0 || strcmp(word, "cpu") == 0)
        return gang__json_milli(at, 0, GANG__MAX_QUOTA, amount);
    if (strcmp(word, "mem_mib") != 0)
        return gang__json_int(at, 0, GANG__MAX_QUOTA, amount);
    int64_t mib = 0;
    GANG__TRY(gang__json_int(at, 0, GANG__MAX_QUOTA / GANG__MIB, &mib));
    *amount = mib * GANG__MIB;
    return GANG_OK;
}

/* {"fraction": 0.25} or {"weight": 2}, as far as `ways` goes. */
static gang_result read_relative(struct gang__reader *r, const struct gang__json *at, size_t ways,
                                 struct gang_quota *quota)
{
    static const char *const keys[] = {"fraction", "weight"};
    struct gang__json fraction;
    struct gang__json weight;
    GANG__TRY(gang__rename_old_keys(r, at, GANG__OBJECT_QUOTA));
    GANG__TRY(gang__json_object(at, keys, ways));
    bool has_fraction = gang__json_get(at, "fraction", &fraction);
    if (gang__json_get(at, "weight", &weight)) {
        if (has_fraction)
            return gang__json_fail(&weight, GANG_EINVAL, "given beside 'fraction'");
        return gang__json_int(&weight, 1, GANG_MAX_AMOUNT, &quota->by_weight);
    }
    if (!has_fraction)
        return gang__json_fail(at, GANG_EINVAL, "must have a member 'fraction'%s",
                               ways == IN_WEIGHTS ? " or 'weight'" : "");
    return gang__json_scaled(&fraction, GANG_WHOLE, 1, GANG_WHOLE, &quota->fraction);
}

static gang_result read_quota(struct gang__reader *r, const struct gang__json *at, size_t ways,
                              const struct gang_quota **out, size_t *out_count)
{
    struct gang_quota *list;
    struct quota_key key;
    GANG__TRY(gang__json_map(at, GANG__MAX_LIST));
    size_t count = json_object_size(at->value);
    GANG__KEEP(list, r, at, count);
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    for (size_t i = 0; i < count && gang__json_next(at, &member); i++) {
        GANG__TRY(read_quota_key(r, at, &member, &key));
        list[i].kind = key.kind;
        list[i].partition = key.partition;
        if (ways > 0 && json_is_object(member.value))
            GANG__TRY(read_relative(r, &member, ways, &list[i]));
        else
            GANG__TRY(read_amount(&member, key.word, &list[i].amount));
    }
    *out = list;
    *out_count = count;
    return GANG_OK;
}

static gang_result read_quotas(struct gang__reader *r, const struct gang__json *object,
                               struct gang_queue_spec *queue)
{
    struct gang__json at;
    if (gang__json_get(object, "guaranteed", &at))
        GANG__TRY(read_quota(r, &at, IN_WEIGHTS, &queue->guaranteed, &queue->guaranteed_count));
    if (gang__json_get_or_null(object, "limit", &at))
        GANG__TRY(read_quota(r, &at, IN_FRACTIONS, &queue->limit, &queue->limit_count));
    if (gang__json_get_or_null(object, "lending_limit", &at))
        GANG__TRY(
            read_quota(r, &at, IN_AMOUNTS, &queue->lending_limit, &queue->lending_limit_count));
    return GANG_OK;
}

static gang_result read_weights(struct gang__reader *r, const struct gang__json *at,
                                struct gang_queue_spec *queue)
{
    const char **kinds;
    double *weights;
    GANG__TRY(gang__json_map(at, GANG__MAX_LIST));
    size_t count = json_object_size(at->value);
    GANG__KEEP(kinds, r, at, count);
    GANG__KEEP(weights, r, at, count);
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    size_t used = 0;
    while (gang__json_next(at, &member)) {
        if (strcmp(member.key, "default") == 0) {
            GANG__TRY(gang__json_real(&member, 0, GANG__MAX_WEIGHT, &queue->weight));
            continue;
        }
        const char *kind;
        GANG__TRY(kind_of_key(r, &member, member.key, &kind));
        if (!kind || strcmp(member.key, "mem_bytes") == 0)
            return gang__json_fail(&member, GANG_ENOENT, "no such resource");
        kinds[used] = kind;
        GANG__TRY(gang__json_real(&member, 0, GANG__MAX_WEIGHT, &weights[used]));
        used++;
    }
    queue->weight_kinds = kinds;
    queue->weights = weights;
    queue->weight_count = used;
    return GANG_OK;
}

static gang_result read_weight(struct gang__reader *r, const struct gang__json *object,
                               struct gang_queue_spec *queue)
{
    struct gang__json at;
    queue->weight = 1;
    if (!gang__json_get(object, "weight", &at))
        return GANG_OK;
    if (json_is_object(at.value))
        return read_weights(r, &at, queue);
    return gang__json_real(&at, 0, GANG__MAX_WEIGHT, &queue->weight);
}

static const char *const cell_keys[] = {"level", "count"};

static gang_result read_cell(struct gang__reader *r, const struct gang__json *at, void *element,
                             const void *owner)
{
    struct gang_cell_spec *cell = element;
    (void)owner;
    struct gang__json member;
    GANG__TRY(gang__json_need(at, "level", &member));
    if (json_is_string(member.value) &&
        strcmp(json_string_value(member.value), GANG__NODE_LEVEL) == 0)
        cell->level = GANG__NODE_LEVEL;
    else
        GANG__TRY(gang__read_level(r, at, "level", GANG__LEVELS_SITE, &cell->level));
    if (!cell->level)
        return gang__json_fail(&member, GANG_EINVAL, "must be a string, not null");
    GANG__TRY(gang__json_need(at, "count", &member));
    return gang__json_int(&member, 1, GANG_MAX_AMOUNT, &cell->count);
}

static const struct gang__list cell_list = GANG__LIST(
    "cells", GANG__MAX_LIST, struct gang_cell_spec, cell_keys, GANG__OBJECT_NONE, read_cell);

static const char *const budget_keys[] = {"kind", "amount", "period_s", "per_user", "exhausted"};

/* An amount times seconds, in the unit of the key: GPUs, cores, MiB. */
static gang_result read_budget(struct gang__reader *r, const struct gang__json *at, void *element,
                               const void *owner)
{
    struct gang_budget *budget = element;
    struct gang__json member;
    const char *word;
    (void)owner;
    GANG__TRY(gang__json_need(at, "kind", &member));
    GANG__TRY(gang__read_name(r, &member, &word));
    GANG__TRY(kind_of_key(r, &member, word, &budget->kind));
    if (!budget->kind)
        return gang__json_fail(&member, GANG_ENOENT, "no such resource");
    GANG__TRY(gang__json_need(at, "amount", &member));
    GANG__TRY(read_amount(&member, word, &budget->amount));
    if (budget->amount < 0)
        return gang__json_fail(&member, GANG_ERANGE, "must be at least 0");
    return gang__fields_read(r, at, &gang__budget_fields, budget);
}

static const struct gang__list budget_list = GANG__LIST(
    "budgets", GANG_MAX_BUDGETS, struct gang_budget, budget_keys, GANG__OBJECT_NONE, read_budget);

/* Preemption by jobs of the queue: `within` and `reclaim`. */
static gang_result read_preemption(const struct gang__json *object, struct gang_queue_spec *queue)
{
    struct gang__json at;
    size_t index = 0;
    if (gang__json_get(object, "within", &at)) {
        GANG__TRY(
            gang__json_choice(&at, gang__within_words, GANG__COUNT(gang__within_words), &index));
        queue->within = gang__within_numbers[index];
    }
    if (gang__json_get(object, "reclaim", &at)) {
        GANG__TRY(
            gang__json_choice(&at, gang__reclaim_words, GANG__COUNT(gang__reclaim_words), &index));
        queue->reclaim = gang__reclaim_numbers[index];
    }
    return GANG_OK;
}

/* {name: weight} */
static gang_result read_users(struct gang__reader *r, const struct gang__json *object,
                              struct gang_queue_spec *queue)
{
    struct gang__json at;
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    struct gang_user_weight *list;
    if (!gang__json_get(object, "users", &at))
        return GANG_OK;
    GANG__TRY(gang__json_map(&at, GANG__MAX_LIST));
    size_t count = json_object_size(at.value);
    GANG__KEEP(list, r, &at, count);
    for (size_t i = 0; i < count && gang__json_next(&at, &member); i++) {
        GANG__TRY(gang__json_key(&member, GANG_MAX_NAME));
        GANG__TRY(gang__keep_text(r, &member, member.key, &list[i].user));
        GANG__TRY(gang__json_scaled(&member, GANG_WHOLE, 1, GANG_MAX_AMOUNT, &list[i].weight));
    }
    queue->users = list;
    queue->user_count = count;
    return GANG_OK;
}

/* All but the name and the parent; `depth` queues made on demand are around it. */
static gang_result read_body(struct gang__reader *r, const struct gang__json *at, size_t depth,
                             struct gang_queue_spec *queue)
{
    struct gang__json member;
    struct gang_queue_spec *child;
    void *list;
    GANG__TRY(read_quotas(r, at, queue));
    GANG__TRY(read_weight(r, at, queue));
    GANG__TRY(read_preemption(at, queue));
    GANG__TRY(gang__read_list_member(r, at, &cell_list, NULL, &list, &queue->cell_count));
    queue->cells = list;
    GANG__TRY(gang__read_list_member(r, at, &budget_list, NULL, &list, &queue->budget_count));
    queue->budgets = list;
    GANG__TRY(read_users(r, at, queue));
    if (gang__json_get(at, "partitions", &member))
        GANG__TRY(gang__read_names(r, &member, GANG_MAX_JOB_PARTITIONS, &queue->partitions,
                                   &queue->partition_count));
    GANG__TRY(gang__fields_read(r, at, &gang__queue_fields, queue));
    if (!gang__json_get(at, "child", &member))
        return GANG_OK;
    if (depth + 1 >= GANG_MAX_QUEUE_DEPTH)
        return gang__json_fail(&member, GANG_ELIMIT, "more than %d queues on a path",
                               GANG_MAX_QUEUE_DEPTH);
    GANG__KEEP(child, r, &member, 1);
    *child = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
    queue->child = child;
    GANG__TRY(gang__rename_old_keys(r, &member, GANG__OBJECT_QUEUE));
    GANG__TRY(
        gang__json_object(&member, queue_keys + NAME_KEYS, GANG__COUNT(queue_keys) - NAME_KEYS));
    return read_body(r, &member, depth + 1, child);
}

gang_result gang__read_queue(struct gang__reader *r, const struct gang__json *at,
                             struct gang_queue_spec *queue)
{
    struct gang__json member;
    *queue = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
    GANG__TRY(gang__rename_old_keys(r, at, GANG__OBJECT_QUEUE));
    GANG__TRY(gang__json_object(at, queue_keys, GANG__COUNT(queue_keys)));
    GANG__TRY(gang__json_need(at, "name", &member));
    GANG__TRY(gang__read_name(r, &member, &queue->name));
    if (gang__json_get_or_null(at, "parent", &member))
        GANG__TRY(gang__read_name(r, &member, &queue->parent));
    return read_body(r, at, 0, queue);
}

/* Follow the parents of each queue; `seen` holds in which walk a queue was met. */
static size_t find_cycle(const size_t *parent, size_t *seen, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        while (at != SIZE_MAX && seen[at] == 0) {
            seen[at] = i + 1;
            at = parent[at];
        }
        if (at != SIZE_MAX && seen[at] == i + 1)
            return at;
    }
    return SIZE_MAX;
}

gang_result gang__link_queues(struct gang__reader *r, const struct gang__json *queues,
                              const struct gang_queue_spec *list, size_t count)
{
    size_t *parent = gang__arena_alloc(&r->scratch, count, sizeof(*parent));
    size_t *seen = gang__arena_alloc(&r->scratch, count, sizeof(*seen));
    r->queue_inner = gang__arena_alloc(&r->scratch, count, sizeof(*r->queue_inner));
    if (!parent || !seen || !r->queue_inner)
        return gang__json_fail(queues, GANG_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct gang__json queue = gang__json_element(queues, i);
        struct gang__json at;
        parent[i] = SIZE_MAX;
        r->queue_inner[i] |= list[i].child != NULL;
        gang__json_get(&queue, "parent", &at);
        if (!list[i].parent)
            continue;
        if (!gang__lookup_find(&r->queues, list[i].parent, &parent[i]))
            return gang__json_fail(&at, GANG_ENOENT, "no queue '%s'",
                                   gang__printable(list[i].parent).s);
        r->queue_inner[parent[i]] = 1;
    }
    size_t cycle = find_cycle(parent, seen, count);
    if (cycle != SIZE_MAX) {
        struct gang__json queue = gang__json_element(queues, cycle);
        struct gang__json at;
        gang__json_get(&queue, "parent", &at);
        return gang__json_fail(&at, GANG_ECYCLE, "the queue is its own ancestor");
    }
    return GANG_OK;
}
