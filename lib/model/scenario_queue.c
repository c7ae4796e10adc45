/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one queue of a scenario, and the tree of queues. */
#include "model/scenario_priv.h"

#include <math.h>
#include <string.h>

static const char *const queue_keys[] = {"name",    "parent",   "guaranteed",    "limit",
                                         "weight",  "priority", "lending_limit", "within",
                                         "reclaim", "cells"};

/* What a key of `guaranteed`, `limit`, `lending_limit` or `weight` stands for: the name of the kind,
 * or NULL. */
static const char *kind_of_key(const struct gang__reader *r, const char *key)
{
    if (strcmp(key, "gpu") == 0)
        return "gpu";
    if (strcmp(key, "cpu") == 0)
        return "cpu";
    if (strcmp(key, "mem_mib") == 0 || strcmp(key, "mem_bytes") == 0)
        return "memory";
    const struct gang_kind_spec *kind = gang__find_kind(r, key);
    return kind ? kind->name : NULL;
}

static gang_result read_amount(const struct gang__json *at, const char *kind, int64_t *amount)
{
    if (json_is_number(at->value) && json_number_value(at->value) == -1) {
        *amount = GANG_UNLIMITED;
        return GANG_OK;
    }
    if (strcmp(kind, "gpu") == 0 || strcmp(kind, "cpu") == 0)
        return gang__json_milli(at, 0, GANG__MAX_QUOTA, amount);
    if (strcmp(at->key, "mem_mib") != 0)
        return gang__json_int(at, 0, GANG__MAX_QUOTA, amount);
    int64_t mib = 0;
    GANG__TRY(gang__json_int(at, 0, GANG__MAX_QUOTA / GANG__MIB, &mib));
    *amount = mib * GANG__MIB;
    return GANG_OK;
}

static gang_result read_quota(struct gang__reader *r, const struct gang__json *at,
                              const struct gang_quota **out, size_t *out_count)
{
    struct gang_quota *list;
    GANG__TRY(gang__json_map(at, GANG__MAX_LIST));
    size_t count = json_object_size(at->value);
    GANG__TAKE(list, r, at, count);
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    for (size_t i = 0; i < count && gang__json_next(at, &member); i++) {
        list[i].kind = kind_of_key(r, member.key);
        if (!list[i].kind)
            return gang__json_fail(&member, GANG_ENOENT, "no such resource");
        if (strcmp(member.key, "mem_bytes") == 0 && json_object_get(at->value, "mem_mib"))
            return gang__json_fail(&member, GANG_EINVAL, "given beside 'mem_mib'");
        GANG__TRY(read_amount(&member, list[i].kind, &list[i].amount));
    }
    *out = list;
    *out_count = count;
    return GANG_OK;
}

static gang_result read_weights(struct gang__reader *r, const struct gang__json *at,
                                struct gang_queue_spec *queue)
{
    const char **kinds;
    double *weights;
    GANG__TRY(gang__json_map(at, GANG__MAX_LIST));
    size_t count = json_object_size(at->value);
    GANG__TAKE(kinds, r, at, count);
    GANG__TAKE(weights, r, at, count);
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    size_t used = 0;
    while (gang__json_next(at, &member)) {
        if (strcmp(member.key, "default") == 0) {
            GANG__TRY(gang__json_real(&member, 0, GANG__MAX_WEIGHT, &queue->weight));
            continue;
        }
        const char *kind = kind_of_key(r, member.key);
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

static gang_result read_cells(struct gang__reader *r, const struct gang__json *object,
                              struct gang_queue_spec *queue)
{
    static const char *const keys[] = {"level", "count"};
    struct gang__json at;
    struct gang__json member;
    struct gang_cell_spec *list;
    size_t count;
    if (!gang__json_get(object, "cells", &at))
        return GANG_OK;
    GANG__TRY(gang__json_array(&at, GANG__MAX_LIST, &count));
    GANG__TAKE(list, r, &at, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&at, i);
        GANG__TRY(gang__json_object(&element, keys, GANG__COUNT(keys)));
        GANG__TRY(gang__json_need(&element, "level", &member));
        if (json_is_string(member.value) &&
            strcmp(json_string_value(member.value), GANG__NODE_LEVEL) == 0)
            list[i].level = GANG__NODE_LEVEL;
        else
            GANG__TRY(gang__take_level(r, &element, "level", GANG__LEVELS_SITE, &list[i].level));
        if (!list[i].level)
            return gang__json_fail(&member, GANG_EINVAL, "must be a string, not null");
        GANG__TRY(gang__json_need(&element, "count", &member));
        GANG__TRY(gang__json_int(&member, 1, GANG_MAX_AMOUNT, &list[i].count));
    }
    queue->cells = list;
    queue->cell_count = count;
    return GANG_OK;
}

/* Whom its jobs may displace. */
static gang_result read_displace(const struct gang__json *object, struct gang_queue_spec *queue)
{
    struct gang__json at;
    size_t index = 0;
    if (gang__json_get(object, "within", &at)) {
        GANG__TRY(
            gang__json_choice(&at, gang__within_words, GANG__COUNT(gang__within_words), &index));
        queue->within = GANG_DISPLACE_NEVER + (int32_t)index;
    }
    if (gang__json_get(object, "reclaim", &at)) {
        GANG__TRY(
            gang__json_choice(&at, gang__reclaim_words, GANG__COUNT(gang__reclaim_words), &index));
        queue->reclaim = gang__reclaim_numbers[index];
    }
    return GANG_OK;
}

gang_result gang__read_queue(struct gang__reader *r, const struct gang__json *at,
                             struct gang_queue_spec *queue)
{
    struct gang__json member;
    queue->size = sizeof(*queue);
    queue->priority = 100;
    GANG__TRY(gang__json_object(at, queue_keys, GANG__COUNT(queue_keys)));
    GANG__TRY(gang__json_need(at, "name", &member));
    GANG__TRY(gang__take_name(r, &member, &queue->name));
    if (gang__json_get_or_null(at, "parent", &member))
        GANG__TRY(gang__take_name(r, &member, &queue->parent));
    if (gang__json_get(at, "guaranteed", &member))
        GANG__TRY(read_quota(r, &member, &queue->guaranteed, &queue->guaranteed_count));
    if (gang__json_get_or_null(at, "limit", &member))
        GANG__TRY(read_quota(r, &member, &queue->limit, &queue->limit_count));
    if (gang__json_get_or_null(at, "lending_limit", &member))
        GANG__TRY(read_quota(r, &member, &queue->lending_limit, &queue->lending_limit_count));
    GANG__TRY(read_weight(r, at, queue));
    GANG__TRY(gang__take_int(at, "priority", INT64_MIN, INT64_MAX, &queue->priority));
    GANG__TRY(read_displace(at, queue));
    return read_cells(r, at, queue);
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
    size_t *parent = gang__arena_get(&r->scratch, count, sizeof(*parent));
    size_t *seen = gang__arena_get(&r->scratch, count, sizeof(*seen));
    r->queue_inner = gang__arena_get(&r->scratch, count, sizeof(*r->queue_inner));
    if (!parent || !seen || !r->queue_inner)
        return gang__json_fail(queues, GANG_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct gang__json queue = gang__json_element(queues, i);
        struct gang__json at;
        parent[i] = SIZE_MAX;
        gang__json_get(&queue, "parent", &at);
        if (!list[i].parent)
            continue;
        if (!gang__lookup_find(&r->queues, list[i].parent, &parent[i]))
            return gang__json_fail(&at, GANG_ENOENT, "no queue '%s'", gang__word(list[i].parent).s);
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
