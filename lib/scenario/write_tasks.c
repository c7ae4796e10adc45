/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the groups of tasks of a job, and its sets. */
#include "scenario/write_in.h"

#include <string.h>

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
static void write_set_reference(struct gang__writer *w, json_t *object, const char *key,
                                const struct gang_request_spec *request, int32_t index)
{
    struct gang_group_set_spec set;
    if (!load_set(request, index, &set))
        gang__json_note(&w->maker, GANG_EINVAL);
    else if (set.name)
        gang__write_text(w, object, key, set.name);
    else
        gang__write_int(w, object, key, index);
}

void gang__write_sets(struct gang__writer *w, json_t *object,
                      const struct gang_request_spec *request)
{
    if (request->group_set_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < request->group_set_count; i++) {
        struct gang_group_set_spec set;
        if (!gang__write_loaded(
                w, GANG__LOAD_BY(set, prefer, request->group_sets, i, request->group_set_size)))
            break;
        json_t *item = json_object();
        if (set.name)
            gang__write_text(w, item, "name", set.name);
        if (set.parent == -1)
            gang__write_value(w, item, "parent", json_null());
        else
            write_set_reference(w, item, "parent", request, set.parent);
        if (set.min)
            gang__write_int(w, item, "min", set.min);
        if (set.same)
            gang__write_text(w, item, "same", set.same);
        if (set.prefer)
            gang__write_text(w, item, "prefer", set.prefer);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "groups", list);
}

static json_t *make_values(struct gang__writer *w, const struct gang_label_rule *rule)
{
    if (rule->value_count == 1 && rule->values)
        return gang__json_new_text(&w->maker, rule->values[0]);
    return gang__make_names(w, rule->values, rule->value_count);
}

static json_t *make_rule(struct gang__writer *w, const struct gang_label_rule *rule)
{
    json_t *object = json_object();
    gang__write_text(w, object, "key", rule->key);
    gang__write_word(w, object, "op", &gang__op_words, rule->op);
    if (rule->op == GANG_LABEL_IN || rule->op == GANG_LABEL_NOT_IN || rule->value_count > 0)
        gang__write_value(w, object, "values",
                          gang__make_names(w, rule->values, rule->value_count));
    return object;
}

/* The first rules go into `selector` as long as it can express them, the others into `where`,
 * beside the expression. */
static void write_rules(struct gang__writer *w, json_t *object, const struct gang_group_spec *group)
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
        gang__write_value(w, selector, rule->key, make_values(w, rule));
    }
    json_t *where = json_array();
    for (; i < group->label_count; i++)
        gang__json_push(&w->maker, where, make_rule(w, &group->labels[i]));
    bool selects = json_object_size(selector) > 0;
    bool more = json_array_size(where) > 0;
    if (more && group->where)
        gang__json_push(&w->maker, where, gang__json_new_text(&w->maker, group->where));
    else if (group->where)
        gang__write_text(w, object, "where", group->where);
    if (selects)
        gang__write_value(w, object, "selector", selector);
    else
        json_decref(selector);
    if (more)
        gang__write_value(w, object, "where", where);
    else
        json_decref(where);
}

static void write_gpu_need(struct gang__writer *w, json_t *object,
                           const struct gang_group_spec *group)
{
    gang__write_value(w, object, "gpu", gang__json_new_milli(group->gpu_milli));
    if (group->gpu_memory_bytes)
        gang__write_memory(w, object, "gpu_mem_mib", "gpu_mem_bytes", group->gpu_memory_bytes);
    if (group->gpu_devices)
        gang__write_int(w, object, "gpu_devices", group->gpu_devices);
    gang__write_names(w, object, "gpu_models", group->gpu_models, group->gpu_model_count);
}

/* Partition, devices, levels and bounds, as far as they are not the default. */
static void write_demands(struct gang__writer *w, json_t *object,
                          const struct gang_group_spec *group)
{
    gang__write_given(w, object, "partition", group->partition);
    if (group->numa != GANG_NUMA_PREFER)
        gang__write_word(w, object, "numa", &gang__numa_words, group->numa);
    gang__write_flag(w, object, "near_nic", group->near_nic);
    gang__write_flag(w, object, "same_devices", group->same_devices);
    gang__write_flag(w, object, "models_ranked", group->models_ranked);
    gang__write_given(w, object, "profile", group->profile);
    gang__write_given(w, object, "same", group->same);
    gang__write_given(w, object, "prefer", group->prefer);
    gang__write_nonzero(w, object, "subgroup_size", group->subgroup_size);
    gang__write_given(w, object, "subgroup_same", group->subgroup_same);
    gang__write_given(w, object, "subgroup_prefer", group->subgroup_prefer);
    gang__write_given(w, object, "spread", group->spread);
    gang__write_nonzero(w, object, "max_skew", group->max_skew);
    gang__write_flag(w, object, "spread_soft", group->spread_soft);
    gang__write_nonzero(w, object, "max_per_node", group->max_per_node);
    gang__write_nonzero(w, object, "max_per_domain", group->max_per_domain);
    gang__write_given(w, object, "domain_level", group->domain_level);
}

json_t *gang__make_group(struct gang__writer *w, const struct gang_request_spec *request,
                         const struct gang_group_spec *group)
{
    json_t *object = json_object();
    if (group->name)
        gang__write_text(w, object, "name", group->name);
    gang__write_int(w, object, "count", group->count);
    bool has_min = request->min != 0 || set_has_min(request, group->group_set);
    if (group->min != (has_min ? 0 : group->count))
        gang__write_int(w, object, "min", group->min);
    gang__write_value(w, object, "cpu", gang__json_new_milli(group->cpu_milli));
    gang__write_memory(w, object, "mem_mib", "mem_bytes", group->memory_bytes);
    write_gpu_need(w, object, group);
    if (!group->amounts && group->amount_count > 0)
        gang__json_note(&w->maker, GANG_EINVAL);
    else
        gang__write_amounts(w, object, group->amounts,
                            group->amount_count - (w->max_tasks ? 1 : 0));
    write_rules(w, object, group);
    write_demands(w, object, group);
    if (group->group_set != -1)
        write_set_reference(w, object, "group", request, group->group_set);
    return object;
}

json_t *gang__make_wait(struct gang__writer *w, int32_t when)
{
    json_t *item = json_object();
    gang__write_word(w, item, "when", &gang__when_words, when);
    return item;
}

/* The `after` of all groups, which stand in the order of the groups: *next is the first that is not
 * written. Groups go by index, for names need not be unique. */
static void write_group_after(struct gang__writer *w, json_t *object,
                              const struct gang_job_spec *job, size_t group, size_t *next)
{
    struct gang_group_after after;
    json_t *list = json_array();
    for (; *next < job->group_after_count; ++*next) {
        if (!gang__write_loaded(w, GANG__LOAD_BY(after, reserved0, job->group_after, *next,
                                                 job->group_after_size)) ||
            after.group != (int64_t)group)
            break;
        json_t *item = gang__make_wait(w, after.when);
        gang__write_int(w, item, "group", after.after);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_list(w, object, "after", list);
}

void gang__write_tasks(struct gang__writer *w, json_t *object, const struct gang_job_spec *job)
{
    json_t *list = json_array();
    size_t after = 0;
    for (size_t i = 0; i < job->request.group_count; i++) {
        struct gang_group_spec group;
        if (!gang__write_loaded(w, GANG__LOAD_BY(group, same_devices, job->request.groups, i,
                                                 job->request.group_size)))
            break;
        json_t *item = gang__make_group(w, &job->request, &group);
        if (job->protected_groups)
            gang__write_flag(w, item, "protected", job->protected_groups[i]);
        if (job->group_order && job->group_order[i])
            gang__write_int(w, item, "order", job->group_order[i]);
        if (job->roles && job->roles[i])
            gang__write_word(w, item, "role", &gang__role_words, job->roles[i]);
        write_group_after(w, item, job, i, &after);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "tasks", list);
}
