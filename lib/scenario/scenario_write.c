/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing scenarios, in the plain format where it says enough and with extensions where not.
 *
 * A case is made into a tree, the tree is read like any other, and what was read is compared with
 * what was to be written; only then the tree is put out. So whatever is written reads back the
 * same, and whatever the format cannot say is an error and not a loss.
 */
#include "scenario/scenario_priv.h"

#include <stdio.h>
#include <string.h>

struct writer {
    struct gang__json_maker maker;
    const struct gang_mem *mem;
    bool max_tasks;                   /* the kind "tasks" can be said with `max_tasks` */
    struct gang__scenario_path where; /* what is being written */
    char *expect;                     /* the member in the form the reader gives it */
};

/* Load an element of a caller's array; a failure is noted. */
#define LOAD(w, to, last, array, index) load_noted(w, GANG__LOAD(to, last, array, index))

static bool load_noted(struct writer *w, gang_result result)
{
    if (result != GANG_OK)
        gang__json_note(&w->maker, result);
    return result == GANG_OK;
}

/* ---- members --------------------------------------------------------------------------- */

static void put(struct writer *w, json_t *object, const char *key, json_t *value)
{
    gang__json_put(&w->maker, object, key, value);
}

static void put_int(struct writer *w, json_t *object, const char *key, int64_t number)
{
    put(w, object, key, json_integer(number));
}

static void put_text(struct writer *w, json_t *object, const char *key, const char *text)
{
    put(w, object, key, gang__json_new_text(&w->maker, text));
}

/* Text that may be absent, "" meaning the same. */
static void put_optional(struct writer *w, json_t *object, const char *key, const char *text)
{
    if (text && text[0])
        put_text(w, object, key, text);
}

static void put_flag(struct writer *w, json_t *object, const char *key, int32_t flag)
{
    if (flag != 0 && flag != 1)
        gang__json_note(&w->maker, GANG_EINVAL);
    if (flag)
        put(w, object, key, json_true());
}

static void put_memory(struct writer *w, json_t *object, const char *mib_key, const char *bytes_key,
                       int64_t bytes)
{
    if (bytes % GANG__MIB == 0)
        put_int(w, object, mib_key, bytes / GANG__MIB);
    else
        put_int(w, object, bytes_key, bytes);
}

/* The word of a number that counts from `first`. */
static void put_word(struct writer *w, json_t *object, const char *key, const char *const *words,
                     size_t count, int32_t first, int32_t number)
{
    if (number < first || (size_t)(number - first) >= count)
        gang__json_note(&w->maker, GANG_EINVAL);
    else
        put_text(w, object, key, words[number - first]);
}

static json_t *names_of(struct writer *w, const char *const *names, size_t count)
{
    json_t *list = json_array();
    if (!names && count > 0)
        gang__json_note(&w->maker, GANG_EINVAL);
    for (size_t i = 0; names && i < count; i++)
        gang__json_push(&w->maker, list, gang__json_new_text(&w->maker, names[i]));
    return list;
}

static void put_names(struct writer *w, json_t *object, const char *key, const char *const *names,
                      size_t count)
{
    if (count > 0)
        put(w, object, key, names_of(w, names, count));
}

/* A list, unless there is nothing in it. */
static void put_list(struct writer *w, json_t *object, const char *key, json_t *list)
{
    if (!list || json_array_size(list) > 0)
        put(w, object, key, list);
    else
        json_decref(list);
}

static void put_amounts(struct writer *w, json_t *object, const struct gang_amount *amounts,
                        size_t count)
{
    if (count == 0)
        return;
    json_t *map = json_object();
    for (size_t i = 0; i < count; i++)
        put_int(w, map, amounts[i].kind, amounts[i].amount);
    put(w, object, "amounts", map);
}

static void put_labels(struct writer *w, json_t *object, const char *key,
                       const struct gang_label *labels, size_t count)
{
    json_t *map = json_object();
    if (!labels && count > 0)
        gang__json_note(&w->maker, GANG_EINVAL);
    for (size_t i = 0; labels && i < count; i++)
        put_text(w, map, labels[i].key, labels[i].value);
    put(w, object, key, map);
}

/* ---- max_tasks ------------------------------------------------------------------------- */

static bool is_tasks(const struct gang_amount *amounts, size_t count)
{
    return count > 0 && amounts && amounts[count - 1].kind &&
           strcmp(amounts[count - 1].kind, GANG__TASKS) == 0;
}

static bool every_task_counts(const struct gang_scenario *c)
{
    struct gang_job_spec job;
    struct gang_group_spec group;
    for (size_t i = 0; i < c->job_count; i++) {
        if (GANG__LOAD(job, group_order, c->jobs, i) != GANG_OK)
            return false;
        for (size_t k = 0; k < job.request.group_count; k++) {
            if (GANG__LOAD_BY(group, reserved0, job.request.groups, k, job.request.group_size) !=
                    GANG_OK ||
                !is_tasks(group.amounts, group.amount_count) ||
                group.amounts[group.amount_count - 1].amount != 1)
                return false;
        }
    }
    return true;
}

/* Is the kind "tasks" as the reader makes it of `max_tasks`? */
static bool kind_is_max_tasks(const struct gang_scenario *c)
{
    struct gang_kind_spec kind;
    struct gang_node_spec node;
    bool bounded = false;
    if (c->kind_count == 0 || GANG__LOAD(kind, capacity, c->kinds, c->kind_count - 1) != GANG_OK)
        return false;
    if (!kind.name || strcmp(kind.name, GANG__TASKS) != 0 || !kind.unit ||
        strcmp(kind.unit, GANG__TASKS) != 0 || kind.scope != GANG_SCOPE_NODE || kind.capacity)
        return false;
    for (size_t i = 0; i < c->node_count; i++) {
        if (GANG__LOAD(node, profile_count, c->nodes, i) != GANG_OK ||
            !is_tasks(node.amounts, node.amount_count))
            return false;
        bounded = bounded || node.amounts[node.amount_count - 1].amount != GANG_MAX_AMOUNT;
    }
    return bounded && every_task_counts(c);
}

/* ---- kinds ----------------------------------------------------------------------------- */

static void put_kinds(struct writer *w, json_t *object, const struct gang_scenario *c)
{
    size_t count = c->kind_count - (w->max_tasks ? 1 : 0);
    if (count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        struct gang_kind_spec kind;
        if (!LOAD(w, kind, capacity, c->kinds, i))
            break;
        json_t *item = json_object();
        put_text(w, item, "name", kind.name);
        put_optional(w, item, "unit", kind.unit);
        put_word(w, item, "scope", gang__scope_words, GANG__COUNT(gang__scope_words),
                 GANG_SCOPE_NODE, kind.scope);
        if (kind.scope == GANG_SCOPE_CLUSTER || kind.capacity)
            put_int(w, item, "capacity", kind.capacity);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "kinds", list);
}

/* ---- nodes ----------------------------------------------------------------------------- */

static bool load_gpu(const struct gang_node_spec *node, size_t index, struct gang_gpu_spec *gpu)
{
    return GANG__LOAD_BY(*gpu, pcie, node->gpus, index, node->gpu_size) == GANG_OK;
}

static bool same_optional(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Are the GPUs all alike, with nothing known but model and memory? */
static bool gpus_alike(const struct gang_node_spec *node)
{
    struct gang_gpu_spec first;
    struct gang_gpu_spec gpu;
    for (size_t i = 0; i < node->gpu_count; i++) {
        if (!load_gpu(node, 0, &first) || !load_gpu(node, i, &gpu) || gpu.numa != -1 ||
            !same_optional(gpu.pci, NULL) || !same_optional(gpu.uuid, NULL) ||
            !same_optional(gpu.parent, NULL) || gpu.state != GANG_GPU_OK || gpu.pcie ||
            !same_optional(gpu.model, first.model) || gpu.memory_bytes != first.memory_bytes)
            return false;
    }
    return true;
}

static void put_numa(struct writer *w, json_t *object, int32_t numa)
{
    if (numa != -1)
        put_int(w, object, "numa", numa);
}

static void put_slice(struct writer *w, json_t *item, const struct gang_gpu_spec *gpu)
{
    if (gpu->state == GANG_GPU_UNHEALTHY)
        put(w, item, "healthy", json_false());
    else if (gpu->state != GANG_GPU_OK)
        gang__json_note(&w->maker, GANG_EINVAL);
    put_optional(w, item, "parent", gpu->parent);
    if (gpu->mig_index)
        put_int(w, item, "mig_index", gpu->mig_index);
}

static void put_profiles(struct writer *w, json_t *object, const struct gang_node_spec *node)
{
    if (node->profile_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < node->profile_count; i++) {
        struct gang_profile_spec profile;
        if (!load_noted(w, GANG__LOAD_BY(profile, starts, node->profiles, i, node->profile_size)))
            break;
        json_t *item = json_object();
        json_t *starts = json_array();
        for (uint64_t left = profile.starts; left; left &= left - 1)
            gang__json_push(&w->maker, starts, json_integer(__builtin_ctzll(left)));
        put_text(w, item, "name", profile.name);
        put_optional(w, item, "model", profile.model);
        put_int(w, item, "width", profile.width);
        put(w, item, "starts", starts);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "profiles", list);
}

static void put_gpus(struct writer *w, json_t *object, const struct gang_node_spec *node)
{
    struct gang_gpu_spec gpu = GANG_GPU_SPEC_INIT;
    if (gpus_alike(node)) {
        put_int(w, object, "gpus", (int64_t)node->gpu_count);
        if (node->gpu_count == 0 || !load_gpu(node, 0, &gpu))
            return;
        if (gpu.memory_bytes)
            put_memory(w, object, "gpu_mem_mib", "gpu_mem_bytes", gpu.memory_bytes);
        put_optional(w, object, "gpu_model", gpu.model);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < node->gpu_count; i++) {
        if (!load_gpu(node, i, &gpu)) {
            gang__json_note(&w->maker, GANG_EINVAL);
            break;
        }
        json_t *item = json_object();
        put_optional(w, item, "model", gpu.model);
        if (gpu.memory_bytes)
            put_memory(w, item, "mem_mib", "mem_bytes", gpu.memory_bytes);
        put_numa(w, item, gpu.numa);
        put_optional(w, item, "pci", gpu.pci);
        put_optional(w, item, "uuid", gpu.uuid);
        put_slice(w, item, &gpu);
        if (gpu.pcie)
            put_int(w, item, "pcie", gpu.pcie);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "devices", list);
}

static void put_links(struct writer *w, json_t *object, const struct gang_node_spec *node)
{
    if (node->link_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < node->link_count; i++) {
        struct gang_link_spec link;
        if (!load_noted(w, GANG__LOAD_BY(link, bandwidth_mbps, node->links, i, node->link_size)))
            break;
        json_t *item = json_object();
        put_int(w, item, "a", link.a);
        put_int(w, item, "b", link.b);
        put_word(w, item, "type", gang__link_words, GANG__COUNT(gang__link_words), GANG_LINK_NVLINK,
                 link.type);
        if (link.hops)
            put_int(w, item, "hops", link.hops);
        if (link.bandwidth_mbps)
            put_int(w, item, "bandwidth_mbps", link.bandwidth_mbps);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "links", list);
}

static void put_near(struct writer *w, json_t *object, const struct gang_node_spec *node)
{
    size_t count = node->gpu_count;
    if (!node->gpu_locality || count == 0 || count > GANG_MAX_GPUS)
        return; /* more GPUs than that are refused when they are read back */
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        char row[GANG_MAX_GPUS + 1];
        for (size_t j = 0; j < count; j++) {
            uint8_t near = node->gpu_locality[i * count + j];
            row[j] = near <= 9 ? (char)('0' + near) : '?';
        }
        row[count] = '\0';
        gang__json_push(&w->maker, list, gang__json_new_text(&w->maker, row));
    }
    put(w, object, "gpu_locality", list);
}

static void put_numas(struct writer *w, json_t *object, const struct gang_node_spec *node)
{
    if (node->numa_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < node->numa_count; i++) {
        struct gang_numa_spec numa;
        if (!load_noted(w, GANG__LOAD_BY(numa, memory_bytes, node->numas, i, node->numa_size)))
            break;
        json_t *item = json_object();
        if (numa.os_index != -1)
            put_int(w, item, "os_index", numa.os_index);
        if (numa.package != -1)
            put_int(w, item, "package", numa.package);
        put_memory(w, item, "mem_mib", "mem_bytes", numa.memory_bytes);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "numas", list);
}

static void put_cores(struct writer *w, json_t *object, const struct gang_node_spec *node)
{
    if (node->core_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < node->core_count; i++) {
        struct gang_core_spec core;
        if (!load_noted(w, GANG__LOAD_BY(core, cpuset, node->cores, i, node->core_size)))
            break;
        json_t *item = json_object();
        put_int(w, item, "os_index", core.os_index);
        put_numa(w, item, core.numa);
        if (core.threads != 1)
            put_int(w, item, "threads", core.threads);
        put_optional(w, item, "cpuset", core.cpuset);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "cores", list);
}

static void put_nics(struct writer *w, json_t *object, const struct gang_node_spec *node)
{
    if (node->nic_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < node->nic_count; i++) {
        struct gang_nic_spec nic;
        if (!load_noted(w, GANG__LOAD_BY(nic, reserved0, node->nics, i, node->nic_size)))
            break;
        json_t *item = json_object();
        put_text(w, item, "name", nic.name);
        put_optional(w, item, "pci", nic.pci);
        put_numa(w, item, nic.numa);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "nics", list);
}

static void put_node_amounts(struct writer *w, json_t *object, const struct gang_node_spec *node)
{
    size_t count = node->amount_count;
    if (!node->amounts && count > 0) {
        gang__json_note(&w->maker, GANG_EINVAL);
        return;
    }
    if (w->max_tasks) {
        count--;
        if (node->amounts[count].amount != GANG_MAX_AMOUNT)
            put_int(w, object, "max_tasks", node->amounts[count].amount);
    }
    put_amounts(w, object, node->amounts, count);
}

static json_t *node_of(struct writer *w, const struct gang_node_spec *node)
{
    json_t *object = json_object();
    put_text(w, object, "name", node->name);
    put(w, object, "cpus", gang__json_new_milli(node->cpu_milli));
    put_memory(w, object, "mem_mib", "mem_bytes", node->memory_bytes);
    put_gpus(w, object, node);
    put_links(w, object, node);
    put_near(w, object, node);
    put_numas(w, object, node);
    put_cores(w, object, node);
    put_nics(w, object, node);
    put_profiles(w, object, node);
    put_node_amounts(w, object, node);
    put_labels(w, object, "labels", node->labels, node->label_count);
    put_labels(w, object, "topology", node->topology, node->topology_count);
    put_names(w, object, "partitions", node->partitions, node->partition_count);
    if (node->state == GANG_NODE_DRAINING)
        put(w, object, "unschedulable", json_true());
    else if (node->state != GANG_NODE_UP)
        put_word(w, object, "state", gang__state_words, GANG__COUNT(gang__state_words),
                 GANG_NODE_UP, node->state);
    return object;
}

/* ---- queues ---------------------------------------------------------------------------- */

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

static json_t *amount_of(const struct gang_quota *quota)
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

static void put_quota(struct writer *w, json_t *map, const struct gang_quota *quota)
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
            put(w, value, "fraction", gang__json_new_scaled(quota->fraction, GANG_WHOLE));
        if (quota->by_weight)
            put_int(w, value, "weight", quota->by_weight);
    } else {
        value = amount_of(quota);
    }
    put(w, map, kind, value);
}

static json_t *quota_of(struct writer *w, const struct gang_queue_spec *queue,
                        const struct gang_quota *list, size_t count)
{
    json_t *map = json_object();
    for (size_t i = 0; i < count; i++) {
        struct gang_quota quota;
        if (!load_noted(w, GANG__LOAD_BY(quota, by_weight, list, i, queue->quota_size)))
            break;
        put_quota(w, map, &quota);
    }
    return map;
}

static void put_weight(struct writer *w, json_t *object, const struct gang_queue_spec *queue)
{
    if (queue->weight_count == 0) {
        put(w, object, "weight", gang__json_new_real(&w->maker, queue->weight));
        return;
    }
    if (!queue->weights || !queue->weight_kinds) {
        gang__json_note(&w->maker, GANG_EINVAL);
        return;
    }
    json_t *map = json_object();
    for (size_t i = 0; i < queue->weight_count; i++) {
        const char *kind = queue->weight_kinds[i];
        put(w, map, is_kind(kind, "memory") ? "mem_mib" : kind,
            gang__json_new_real(&w->maker, queue->weights[i]));
    }
    if (!(queue->weight >= 1 && queue->weight <= 1))
        put(w, map, "default", gang__json_new_real(&w->maker, queue->weight));
    put(w, object, "weight", map);
}

static void put_cells(struct writer *w, json_t *object, const struct gang_queue_spec *queue)
{
    if (queue->cell_count == 0)
        return;
    json_t *list = json_array();
    if (!queue->cells)
        gang__json_note(&w->maker, GANG_EINVAL);
    for (size_t i = 0; queue->cells && i < queue->cell_count; i++) {
        json_t *item = json_object();
        put_text(w, item, "level", queue->cells[i].level);
        put_int(w, item, "count", queue->cells[i].count);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "cells", list);
}

static void put_users(struct writer *w, json_t *object, const struct gang_queue_spec *queue)
{
    if (queue->user_count == 0)
        return;
    json_t *map = json_object();
    if (!queue->users)
        gang__json_note(&w->maker, GANG_EINVAL);
    for (size_t i = 0; queue->users && i < queue->user_count; i++)
        put(w, map, queue->users[i].user,
            gang__json_new_scaled(queue->users[i].weight, GANG_WHOLE));
    put(w, object, "users", map);
}

static void put_displace(struct writer *w, json_t *object, const struct gang_queue_spec *queue)
{
    if (queue->within != GANG_PREEMPT_DEFAULT)
        put_word(w, object, "within", gang__within_words, GANG__COUNT(gang__within_words),
                 GANG_PREEMPT_NEVER, queue->within);
    if (queue->reclaim == GANG_PREEMPT_ANY)
        put_text(w, object, "reclaim", gang__reclaim_words[2]);
    else if (queue->reclaim != GANG_PREEMPT_DEFAULT)
        put_word(w, object, "reclaim", gang__reclaim_words, 2, GANG_PREEMPT_NEVER, queue->reclaim);
}

static void put_queue_body(struct writer *w, json_t *object, const struct gang_queue_spec *queue)
{
    put(w, object, "guaranteed", quota_of(w, queue, queue->guaranteed, queue->guaranteed_count));
    if (queue->limit_count > 0)
        put(w, object, "limit", quota_of(w, queue, queue->limit, queue->limit_count));
    else
        put(w, object, "limit", json_null());
    put_weight(w, object, queue);
    if (queue->lending_limit_count > 0)
        put(w, object, "lending_limit",
            quota_of(w, queue, queue->lending_limit, queue->lending_limit_count));
    put_displace(w, object, queue);
    put_cells(w, object, queue);
    put_users(w, object, queue);
    gang__fields_put(&w->maker, object, &gang__queue_fields, queue);
}

/* The queues made on demand below this one lie in each other. */
static void put_children(struct writer *w, json_t *object, const struct gang_queue_spec *queue)
{
    struct gang_queue_spec child = *queue;
    for (size_t depth = 0; child.child; depth++) {
        const struct gang_queue_spec *next = child.child;
        json_t *inner = json_object();
        put(w, object, "child", inner);
        if (depth >= GANG_MAX_QUEUE_DEPTH)
            gang__json_note(&w->maker, GANG_EINVAL);
        if (w->maker.result != GANG_OK || !LOAD(w, child, reserved0, next, 0))
            return;
        put_queue_body(w, inner, &child);
        object = inner;
    }
}

static json_t *queue_of(struct writer *w, const struct gang_queue_spec *queue)
{
    json_t *object = json_object();
    put_text(w, object, "name", queue->name);
    if (queue->parent)
        put_text(w, object, "parent", queue->parent);
    else
        put(w, object, "parent", json_null());
    put_queue_body(w, object, queue);
    put_children(w, object, queue);
    return object;
}

static void put_mapping(struct writer *w, json_t *object, const struct gang_scenario *c)
{
    if (c->rule_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < c->rule_count; i++) {
        struct gang_queue_rule rule;
        if (!LOAD(w, rule, queue, c->rules, i))
            break;
        json_t *item = json_object();
        put_word(w, item, "match", gang__match_words, GANG__COUNT(gang__match_words),
                 GANG_MATCH_ALL, rule.match);
        if (rule.pattern)
            put_text(w, item, "pattern", rule.pattern);
        put_text(w, item, "queue", rule.queue);
        if (rule.fallback != GANG_FALLBACK_SKIP)
            put_word(w, item, "fallback", gang__fallback_words, GANG__COUNT(gang__fallback_words),
                     GANG_FALLBACK_SKIP, rule.fallback);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "rules", list);
}

/* ---- jobs ------------------------------------------------------------------------------ */

static bool load_set(const struct gang_request_spec *request, int32_t index,
                     struct gang_group_set_spec *set)
{
    return index >= 0 && (size_t)index < request->group_set_count &&
           GANG__LOAD_BY(*set, prefer, request->group_sets, (size_t)index,
                         request->group_set_size) == GANG_OK;
}

/* Is there a `min` in the set or in one around it? Parents have smaller indices. */
static bool set_has_min(const struct gang_request_spec *request, int32_t index)
{
    struct gang_group_set_spec set;
    while (load_set(request, index, &set)) {
        if (set.min != 0)
            return true;
        if (set.parent >= index)
            return false;
        index = set.parent;
    }
    return false;
}

/* By name, or by index if it has none. */
static void put_set_reference(struct writer *w, json_t *object, const char *key,
                              const struct gang_request_spec *request, int32_t index)
{
    struct gang_group_set_spec set;
    if (!load_set(request, index, &set))
        gang__json_note(&w->maker, GANG_EINVAL);
    else if (set.name)
        put_text(w, object, key, set.name);
    else
        put_int(w, object, key, index);
}

static void put_sets(struct writer *w, json_t *object, const struct gang_request_spec *request)
{
    if (request->group_set_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < request->group_set_count; i++) {
        struct gang_group_set_spec set;
        if (!load_noted(
                w, GANG__LOAD_BY(set, prefer, request->group_sets, i, request->group_set_size)))
            break;
        json_t *item = json_object();
        if (set.name)
            put_text(w, item, "name", set.name);
        if (set.parent == -1)
            put(w, item, "parent", json_null());
        else
            put_set_reference(w, item, "parent", request, set.parent);
        if (set.min)
            put_int(w, item, "min", set.min);
        if (set.same)
            put_text(w, item, "same", set.same);
        if (set.prefer)
            put_text(w, item, "prefer", set.prefer);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "groups", list);
}

static json_t *values_of(struct writer *w, const struct gang_label_rule *rule)
{
    if (rule->value_count == 1 && rule->values)
        return gang__json_new_text(&w->maker, rule->values[0]);
    return names_of(w, rule->values, rule->value_count);
}

static json_t *rule_of(struct writer *w, const struct gang_label_rule *rule)
{
    json_t *object = json_object();
    put_text(w, object, "key", rule->key);
    put_word(w, object, "op", gang__op_words, GANG__COUNT(gang__op_words), GANG_LABEL_IN, rule->op);
    if (rule->op == GANG_LABEL_IN || rule->op == GANG_LABEL_NOT_IN || rule->value_count > 0)
        put(w, object, "values", names_of(w, rule->values, rule->value_count));
    return object;
}

/* The first rules go into `selector` as long as it can say them, the others into `where`, beside the
 * expression. */
static void put_rules(struct writer *w, json_t *object, const struct gang_group_spec *group)
{
    size_t i = 0;
    if (group->label_count == 0 && !group->where)
        return;
    if (group->label_count > 0 && !group->labels) {
        gang__json_note(&w->maker, GANG_EINVAL);
        return;
    }
    json_t *selector = json_object();
    for (; i < group->label_count; i++) {
        const struct gang_label_rule *rule = &group->labels[i];
        if (rule->op != GANG_LABEL_IN || !rule->key || json_object_get(selector, rule->key) ||
            w->maker.result != GANG_OK)
            break;
        put(w, selector, rule->key, values_of(w, rule));
    }
    json_t *where = json_array();
    for (; i < group->label_count; i++)
        gang__json_push(&w->maker, where, rule_of(w, &group->labels[i]));
    bool selects = json_object_size(selector) > 0;
    bool more = json_array_size(where) > 0;
    if (more && group->where)
        gang__json_push(&w->maker, where, gang__json_new_text(&w->maker, group->where));
    else if (group->where)
        put_text(w, object, "where", group->where);
    if (selects)
        put(w, object, "selector", selector);
    else
        json_decref(selector);
    if (more)
        put(w, object, "where", where);
    else
        json_decref(where);
}

static void put_gpu_need(struct writer *w, json_t *object, const struct gang_group_spec *group)
{
    put(w, object, "gpu", gang__json_new_milli(group->gpu_milli));
    if (group->gpu_memory_bytes)
        put_memory(w, object, "gpu_mem_mib", "gpu_mem_bytes", group->gpu_memory_bytes);
    if (group->gpu_devices)
        put_int(w, object, "gpu_devices", group->gpu_devices);
    put_names(w, object, "gpu_models", group->gpu_models, group->gpu_model_count);
}

static void put_level(struct writer *w, json_t *object, const char *key, const char *level)
{
    if (level)
        put_text(w, object, key, level);
}

static void put_number(struct writer *w, json_t *object, const char *key, int64_t number)
{
    if (number)
        put_int(w, object, key, number);
}

/* Partition, devices, levels and bounds, as far as they are not the default. */
static void put_demands(struct writer *w, json_t *object, const struct gang_group_spec *group)
{
    put_level(w, object, "partition", group->partition);
    if (group->numa != GANG_NUMA_PREFER)
        put_word(w, object, "numa", gang__numa_words, GANG__COUNT(gang__numa_words),
                 GANG_NUMA_PREFER, group->numa);
    put_flag(w, object, "near_nic", group->near_nic);
    put_flag(w, object, "models_ranked", group->models_ranked);
    put_level(w, object, "profile", group->profile);
    put_level(w, object, "same", group->same);
    put_level(w, object, "prefer", group->prefer);
    put_number(w, object, "subgroup_size", group->subgroup_size);
    put_level(w, object, "subgroup_same", group->subgroup_same);
    put_level(w, object, "subgroup_prefer", group->subgroup_prefer);
    put_level(w, object, "spread", group->spread);
    put_number(w, object, "max_skew", group->max_skew);
    put_flag(w, object, "spread_soft", group->spread_soft);
    put_number(w, object, "max_per_node", group->max_per_node);
    put_number(w, object, "max_per_domain", group->max_per_domain);
    put_level(w, object, "domain_level", group->domain_level);
}

static json_t *group_of(struct writer *w, const struct gang_request_spec *request,
                        const struct gang_group_spec *group)
{
    json_t *object = json_object();
    if (group->name)
        put_text(w, object, "name", group->name);
    put_int(w, object, "count", group->count);
    bool has_min = request->min != 0 || set_has_min(request, group->group_set);
    if (group->min != (has_min ? 0 : group->count))
        put_int(w, object, "min", group->min);
    put(w, object, "cpu", gang__json_new_milli(group->cpu_milli));
    put_memory(w, object, "mem_mib", "mem_bytes", group->memory_bytes);
    put_gpu_need(w, object, group);
    if (!group->amounts && group->amount_count > 0)
        gang__json_note(&w->maker, GANG_EINVAL);
    else
        put_amounts(w, object, group->amounts, group->amount_count - (w->max_tasks ? 1 : 0));
    put_rules(w, object, group);
    put_demands(w, object, group);
    if (group->group_set != -1)
        put_set_reference(w, object, "group", request, group->group_set);
    return object;
}

static json_t *wait_of(struct writer *w, int32_t when)
{
    json_t *item = json_object();
    put_word(w, item, "when", gang__when_words, GANG__COUNT(gang__when_words), GANG_AFTER_START,
             when);
    return item;
}

/* The `after` of all groups, which stand in the order of the groups: *next is the first that is not
 * written. Groups go by index, for names need not be unique. */
static void put_group_after(struct writer *w, json_t *object, const struct gang_job_spec *job,
                            size_t group, size_t *next)
{
    struct gang_group_after after;
    json_t *list = json_array();
    for (; *next < job->group_after_count; ++*next) {
        if (!load_noted(w, GANG__LOAD_BY(after, reserved0, job->group_after, *next,
                                         job->group_after_size)) ||
            after.group != (int64_t)group)
            break;
        json_t *item = wait_of(w, after.when);
        put_int(w, item, "group", after.after);
        gang__json_push(&w->maker, list, item);
    }
    put_list(w, object, "after", list);
}

static void put_tasks(struct writer *w, json_t *object, const struct gang_job_spec *job)
{
    json_t *list = json_array();
    size_t after = 0;
    for (size_t i = 0; i < job->request.group_count; i++) {
        struct gang_group_spec group;
        if (!load_noted(w, GANG__LOAD_BY(group, reserved0, job->request.groups, i,
                                         job->request.group_size)))
            break;
        json_t *item = group_of(w, &job->request, &group);
        if (job->protected_groups)
            put_flag(w, item, "protected", job->protected_groups[i]);
        if (job->group_order && job->group_order[i])
            put_int(w, item, "order", job->group_order[i]);
        if (job->roles && job->roles[i])
            put_word(w, item, "role", gang__role_words, GANG__COUNT(gang__role_words),
                     GANG_ROLE_MEMBER, job->roles[i]);
        put_group_after(w, item, job, i, &after);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "tasks", list);
}

static void put_places(struct writer *w, json_t *object, const struct gang_job_spec *job)
{
    json_t *on = json_array();
    json_t *gpus = json_array();
    bool labelled = false;
    for (size_t i = 0; job->places && i < job->place_count; i++) {
        const struct gang_running_spec *place = &job->places[i];
        labelled = labelled || place->device_count > 0;
        gang__json_push(&w->maker, on,
                        place->node ? gang__json_new_text(&w->maker, place->node) : json_null());
        gang__json_push(&w->maker, gpus,
                        place->device_count ? names_of(w, place->devices, place->device_count)
                                            : json_null());
    }
    if (!job->places && job->place_count > 0)
        gang__json_note(&w->maker, GANG_EINVAL);
    put(w, object, "running_on", on);
    if (labelled)
        put(w, object, "running_gpu", gpus);
    else
        json_decref(gpus);
}

static void put_peers(struct writer *w, json_t *object, const struct gang_request_spec *request)
{
    if (request->affinity_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < request->affinity_count; i++) {
        struct gang_affinity_rule peer;
        if (!load_noted(w, GANG__LOAD_BY(peer, soft, request->affinity, i, request->affinity_size)))
            break;
        json_t *item = json_object();
        put_text(w, item, "key", peer.key);
        if (peer.value)
            put_text(w, item, "value", peer.value);
        put_level(w, item, "level", peer.level);
        put_flag(w, item, "colocate", peer.colocate);
        put_flag(w, item, "soft", peer.soft);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "affinity", list);
}

/* Of the job as a whole, as far as it is not the default. */
static void put_job_demands(struct writer *w, json_t *object,
                            const struct gang_request_spec *request)
{
    put_level(w, object, "same", request->same);
    put_level(w, object, "prefer", request->prefer);
    if (request->policy != GANG_POLICY_DEFAULT) /* that of the host has a function */
        put_word(w, object, "policy", gang__policy_words, GANG_POLICY_HOST, GANG_POLICY_DEFAULT,
                 request->policy);
    if (request->gpu_nodes != GANG_GPU_NODES_AVOID)
        put_word(w, object, "gpu_nodes", gang__gpu_nodes_words, GANG__COUNT(gang__gpu_nodes_words),
                 GANG_GPU_NODES_AVOID, request->gpu_nodes);
    put_flag(w, object, "exclusive", request->exclusive);
    if (request->label_count > 0)
        put_labels(w, object, "labels", request->labels, request->label_count);
    put_peers(w, object, request);
}

static void put_preemptible(struct writer *w, json_t *object, int32_t preemptible)
{
    if (preemptible == GANG_SEMI_PREEMPTIBLE)
        put_text(w, object, "preemptible", GANG__ABOVE_MIN);
    else
        put(w, object, "preemptible", json_boolean(preemptible));
}

/* What the jobs before number `job` wait for is written; *next is the first that is not. */
static void put_job_after(struct writer *w, json_t *object, const struct gang_scenario *c,
                          size_t job, size_t *next)
{
    struct gang_scenario_after after;
    struct gang_job_spec other;
    json_t *list = json_array();
    for (; *next < c->after_count; ++*next) {
        if (!LOAD(w, after, reserved0, c->afters, *next) || after.job != job)
            break;
        json_t *item = wait_of(w, after.when);
        if (after.after >= c->job_count)
            gang__json_note(&w->maker, GANG_EINVAL);
        else if (LOAD(w, other, group_order, c->jobs, after.after))
            put_text(w, item, "job", other.name);
        gang__json_push(&w->maker, list, item);
    }
    put_list(w, object, "after", list);
}

/* As with put_job_after(). */
static void put_job_times(struct writer *w, json_t *object, const struct gang_scenario *c,
                          size_t job, size_t *next)
{
    const int64_t second = 1000000000;
    struct gang_scenario_time time;
    if (*next >= c->time_count || !LOAD(w, time, run_time_count, c->times, *next) ||
        time.job != job)
        return;
    ++*next;
    if (time.ran_ns)
        gang__json_put(&w->maker, object, "ran_s", gang__json_new_scaled(time.ran_ns, second));
    if (time.run_time_count == 1)
        gang__json_put(&w->maker, object, "run_time_s",
                       gang__json_new_scaled(time.run_time_ns[0], second));
    json_t *list = json_array();
    for (size_t i = 0; time.run_time_count > 1 && i < time.run_time_count; i++)
        gang__json_push(&w->maker, list, gang__json_new_scaled(time.run_time_ns[i], second));
    put_list(w, object, "run_time_s", list);
}

static json_t *job_of(struct writer *w, const struct gang_job_spec *job)
{
    json_t *object = json_object();
    put_text(w, object, "name", job->name);
    if (job->queue)
        put_text(w, object, "queue", job->queue);
    put_int(w, object, "priority", job->priority);
    put_preemptible(w, object, job->preemptible);
    put_int(w, object, "submit", job->submit);
    put_optional(w, object, "user", job->user);
    put_names(w, object, "user_groups", job->user_groups, job->user_group_count);
    if (job->request.min)
        put_int(w, object, "min", job->request.min);
    put_tasks(w, object, job);
    put_sets(w, object, &job->request);
    put_job_demands(w, object, &job->request);
    put_text(w, object, "state", job->running ? "running" : "pending");
    if (job->running)
        put_places(w, object, job);
    gang__fields_put(&w->maker, object, &gang__job_fields, job);
    put_optional(w, object, "reservation", job->reservation);
    return object;
}

/* ---- the case -------------------------------------------------------------------------- */

/* Was this element the first that could not be written? */
static bool check_element(struct writer *w, const char *room, size_t index)
{
    if (w->maker.result != GANG_OK && !w->where.path[0])
        snprintf(w->where.path, sizeof(w->where.path), "%s[%zu]", room, index);
    return w->maker.result == GANG_OK;
}

static json_t *nodes_of(struct writer *w, const struct gang_scenario *c)
{
    json_t *list = json_array();
    struct gang_node_spec node;
    for (size_t i = 0; i < c->node_count; i++) {
        if (LOAD(w, node, profile_count, c->nodes, i))
            gang__json_push(&w->maker, list, node_of(w, &node));
        if (!check_element(w, "nodes", i))
            break;
    }
    return list;
}

static json_t *queues_of(struct writer *w, const struct gang_scenario *c)
{
    json_t *list = json_array();
    struct gang_queue_spec queue;
    for (size_t i = 0; i < c->queue_count; i++) {
        if (LOAD(w, queue, reserved0, c->queues, i))
            gang__json_push(&w->maker, list, queue_of(w, &queue));
        if (!check_element(w, "queues", i))
            break;
    }
    return list;
}

static json_t *jobs_of(struct writer *w, const struct gang_scenario *c)
{
    json_t *list = json_array();
    struct gang_job_spec job;
    size_t after = 0, time = 0;
    for (size_t i = 0; i < c->job_count; i++) {
        if (LOAD(w, job, group_order, c->jobs, i)) {
            json_t *item = job_of(w, &job);
            put_job_after(w, item, c, i, &after);
            put_job_times(w, item, c, i, &time);
            gang__json_push(&w->maker, list, item);
        }
        if (!check_element(w, "jobs", i))
            break;
    }
    return list;
}

static void put_partitions(struct writer *w, json_t *object, const struct gang_scenario *c)
{
    if (c->partition_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < c->partition_count; i++) {
        struct gang_partition_spec partition;
        if (!LOAD(w, partition, reserved0, c->partitions, i))
            break;
        json_t *item = json_object();
        put_text(w, item, "name", partition.name);
        put_word(w, item, "mode", gang__mode_words, GANG__COUNT(gang__mode_words),
                 GANG_PARTITION_SHARED, partition.mode);
        gang__json_push(&w->maker, list, item);
    }
    put(w, object, "partitions", list);
}

static json_t *stage_of(struct writer *w, const struct gang_reservation_stage *stage)
{
    const struct gang_request_spec none = GANG_REQUEST_SPEC_INIT;
    json_t *object = json_object(), *tasks = json_array();
    gang__fields_put(&w->maker, object, &gang__stage_fields, stage);
    for (size_t i = 0; i < stage->group_count; i++) {
        struct gang_group_spec group;
        if (!load_noted(w, GANG__LOAD_BY(group, reserved0, stage->groups, i, stage->group_size)))
            break;
        gang__json_push(&w->maker, tasks, group_of(w, &none, &group));
    }
    put_list(w, object, "tasks", tasks);
    put_level(w, object, "level", stage->level);
    put_level(w, object, "domain", stage->domain);
    put_names(w, object, "nodes", stage->nodes, stage->node_count);
    return object;
}

static json_t *reservation_of(struct writer *w, const struct gang_reservation_spec *spec)
{
    json_t *object = json_object(), *flags = json_array(), *stages = json_array();
    put_text(w, object, "name", spec->name);
    put_optional(w, object, "owner", spec->owner);
    gang__fields_put(&w->maker, object, &gang__reserve_fields, spec);
    for (size_t i = 0; i < gang__reserve_flag_count; i++)
        if (spec->flags >> i & 1)
            gang__json_push(&w->maker, flags,
                            gang__json_new_text(&w->maker, gang__reserve_flag_words[i]));
    put_list(w, object, "flags", flags);
    put_optional(w, object, "queue", spec->queue);
    put_names(w, object, "users", spec->users, spec->user_count);
    for (size_t i = 0; i < spec->stage_count; i++) {
        struct gang_reservation_stage stage;
        if (!load_noted(w, GANG__LOAD_BY(stage, node_count, spec->stages, i, spec->stage_size)))
            break;
        gang__json_push(&w->maker, stages, stage_of(w, &stage));
    }
    put(w, object, "stages", stages);
    return object;
}

static void put_reservations(struct writer *w, json_t *object, const struct gang_scenario *c)
{
    json_t *list = json_array();
    for (size_t i = 0; i < c->reservation_count; i++) {
        struct gang_reservation_spec spec;
        if (!LOAD(w, spec, notice_ns, c->reservations, i))
            break;
        gang__json_push(&w->maker, list, reservation_of(w, &spec));
    }
    put_list(w, object, "reservations", list);
}

static void put_expect(struct writer *w, json_t *object, const char *text)
{
    json_t *expect;
    gang_result result =
        gang__json_parse(text, strlen(text), &gang__scenario_limits, w->mem, &expect, NULL);
    if (result == GANG_OK) {
        w->expect = gang__json_compact(expect, w->mem);
        if (!w->expect)
            gang__json_note(&w->maker, GANG_ENOMEM);
        put(w, object, "expect", expect);
    } else {
        gang__json_note(&w->maker, result == GANG_ENOMEM ? GANG_ENOMEM : GANG_EINVAL);
    }
    if (w->maker.result != GANG_OK && !w->where.path[0])
        snprintf(w->where.path, sizeof(w->where.path), "expect");
}

static json_t *case_of(struct writer *w, const struct gang_scenario *c)
{
    json_t *object = json_object();
    w->max_tasks = kind_is_max_tasks(c);
    put_optional(w, object, "source", c->source);
    put_optional(w, object, "id", c->id);
    put_names(w, object, "needs", c->needs, c->need_count);
    put_flag(w, object, "quota_only", c->quota_only);
    put_names(w, object, "levels", c->levels, c->level_count);
    put_kinds(w, object, c);
    if (c->policy != GANG_POLICY_DEFAULT)
        put_word(w, object, "policy", gang__policy_words, GANG_POLICY_HOST, GANG_POLICY_DEFAULT,
                 c->policy);
    put_partitions(w, object, c);
    put(w, object, "nodes", nodes_of(w, c));
    put(w, object, "queues", queues_of(w, c));
    put_optional(w, object, "default_queue", c->default_queue);
    put_mapping(w, object, c);
    put_names(w, object, "excluded_kinds", c->excluded_kinds, c->excluded_kind_count);
    gang__fields_put(&w->maker, object, &gang__case_fields, c);
    put_reservations(w, object, c);
    put(w, object, "jobs", jobs_of(w, c));
    put_int(w, object, "rounds", c->rounds ? c->rounds : 1);
    if (c->expect)
        put_expect(w, object, c->expect);
    return object;
}

/* Does the tree read back as the case? */
static gang_result check_tree(const struct gang_mem *mem, json_t *tree,
                              const struct gang_scenario *scenario, struct gang_error *error)
{
    struct gang_error detail = GANG_ERROR_INIT;
    struct gang__json at = gang__json_root(tree, &detail);
    struct gang__arena arena = {mem, NULL};
    struct gang_scenario copy;
    struct gang__key_warning unused = {0, ""};
    struct gang__scenario_path where = {""};
    gang_result result = gang__read_case(&arena, &at, &copy, &unused);
    if (result == GANG_ENOMEM)
        gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    else if (result != GANG_OK)
        result = gang__error(error, GANG_EINVAL, detail.path, "%s", detail.text);
    else if (!gang__scenario_equal(scenario, &copy, &where))
        result = gang__error(error, GANG_EINVAL, where.path, "cannot be said in this format");
    gang__arena_free(&arena);
    return result;
}

gang_result gang__scenario_write_mem(const struct gang_mem *mem,
                                     const struct gang_scenario *scenario, int32_t indent,
                                     gang_write_fn write, void *user, struct gang_error *error)
{
    struct gang_scenario c;
    if (!scenario || !write || indent < 0 || indent > 31)
        return gang__error(error, GANG_EINVAL, NULL, "bad argument");
    gang_result result = gang__struct_in(
        &c, sizeof(c), offsetof(struct gang_scenario, reservations), scenario, scenario->size);
    if (result != GANG_OK)
        return gang__error(error, result, NULL, "bad size of struct gang_scenario");
    struct writer w = {.maker = {GANG_OK}, .mem = mem};
    json_t *tree = case_of(&w, &c);
    if (!tree)
        gang__json_note(&w.maker, GANG_ENOMEM);
    result = w.maker.result;
    c.expect = w.expect;
    if (result != GANG_OK)
        gang__error(error, result, w.where.path, "%s",
                    result == GANG_ENOMEM ? "out of memory" : "cannot be said in this format");
    else
        result = check_tree(mem, tree, &c, error);
    if (result == GANG_OK) {
        result = gang__json_write(tree, (size_t)indent, write, user);
        if (result != GANG_OK)
            gang__error(error, result, NULL, "%s", gang_strerror(result));
    }
    json_decref(tree);
    gang__release(mem, w.expect);
    return result;
}

gang_result gang_scenario_write(const struct gang_scenario *scenario, int32_t indent,
                                gang_write_fn write, void *user, struct gang_error *error)
{
    return gang__scenario_write_mem(&gang__mem_libc, scenario, indent, write, user, error);
}
