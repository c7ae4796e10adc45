/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what tasks request besides amounts: labels, devices, levels; and the affinity of a job to
 * other jobs. Refuses what gang_request_new() would refuse. */
#include <string.h>

#include "model/specs.h"
#include "scenario/read_in.h"

/* ---- labels of nodes --------------------------------------------------------------------- */

/* Text, or a list of at least one. */
static gang_result read_values(struct gang__reader *r, const struct gang__json *at,
                               struct gang_label_rule *rule)
{
    bool single = json_is_string(at->value);
    size_t count = 1;
    const char **list;
    if (!single)
        GANG__TRY(gang__json_array(at, GANG__MAX_LIST, &count));
    if (count == 0)
        return gang__json_fail(at, GANG_EINVAL, "must not be empty");
    GANG__KEEP(list, r, at, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = single ? *at : gang__json_element(at, i);
        const char *text;
        GANG__TRY(gang__json_name(&element, 0, GANG_MAX_NAME, &text));
        GANG__TRY(gang__keep_text(r, &element, text, &list[i]));
    }
    rule->values = list;
    rule->value_count = count;
    return GANG_OK;
}

/* An element of `where`. */
static gang_result read_rule(struct gang__reader *r, const struct gang__json *at,
                             struct gang_label_rule *rule)
{
    static const char *const keys[] = {"key", "op", "values"};
    struct gang__json member;
    GANG__TRY(gang__json_object(at, keys, GANG__COUNT(keys)));
    GANG__TRY(gang__json_need(at, "key", &member));
    GANG__TRY(gang__read_name(r, &member, &rule->key));
    GANG__TRY(gang__json_need(at, "op", &member));
    GANG__TRY(gang__read_word(at, "op", &gang__op_words, &rule->op));
    if (rule->op == GANG_LABEL_EXISTS || rule->op == GANG_LABEL_NOT_EXISTS) {
        if (gang__json_get(at, "values", &member))
            return gang__json_fail(&member, GANG_EINVAL, "does not go with '%s'",
                                   gang__op_words.list[rule->op - gang__op_words.first]);
        return GANG_OK;
    }
    GANG__TRY(gang__json_need(at, "values", &member));
    GANG__TRY(read_values(r, &member, rule));
    if (rule->op >= GANG_LABEL_LT && (rule->value_count != 1 || !gang__is_decimal(rule->values[0])))
        return gang__json_fail(&member, GANG_EINVAL, "must be one decimal number, as text");
    return GANG_OK;
}

static gang_result read_expression(struct gang__reader *r, const struct gang__json *at,
                                   const char **where)
{
    struct gang_error detail = GANG_ERROR_INIT;
    struct gang__block size = {NULL, 0};
    struct gang__label_expr expr;
    const char *text;
    GANG__TRY(gang__json_text(at, 0, GANG_MAX_WHERE, &text));
    gang_result result = gang__label_expr_compile(text, &size, &expr, &detail);
    if (result == GANG_OK)
        return gang__keep_text(r, at, text, where);
    gang__json_fail(at, result, "%s", detail.text);
    if (at->error && at->error->size >= sizeof(*at->error))
        at->error->column = detail.column;
    return result;
}

/* The list form: rules, and at most one expression among them. */
static gang_result read_where(struct gang__reader *r, const struct gang__json *where, size_t count,
                              struct gang_group_spec *group, struct gang_label_rule *list,
                              size_t *rules)
{
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(where, i);
        if (!json_is_string(element.value))
            GANG__TRY(read_rule(r, &element, &list[(*rules)++]));
        else if (group->where)
            return gang__json_fail(&element, GANG_EEXIST, "a second expression");
        else
            GANG__TRY(read_expression(r, &element, &group->where));
    }
    return GANG_OK;
}

gang_result gang__read_labels(struct gang__reader *r, const struct gang__json *object,
                              struct gang_group_spec *group)
{
    struct gang__json selector;
    struct gang__json where;
    struct gang_label_rule *list;
    size_t rules = 0;
    size_t more = 0;
    if (gang__json_get(object, "selector", &selector))
        GANG__TRY(gang__json_map(&selector, GANG__MAX_LIST));
    bool text = gang__json_get(object, "where", &where) && json_is_string(where.value);
    if (where.value && !text)
        GANG__TRY(gang__json_array(&where, GANG__MAX_LIST, &more));
    size_t selected = json_object_size(selector.value);
    GANG__KEEP(list, r, object, selected + more);
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    for (; rules < selected && gang__json_next(&selector, &member); rules++) {
        list[rules].op = GANG_LABEL_IN;
        GANG__TRY(gang__json_key(&member, GANG_MAX_NAME));
        GANG__TRY(gang__keep_text(r, &member, member.key, &list[rules].key));
        GANG__TRY(read_values(r, &member, &list[rules]));
    }
    if (text)
        GANG__TRY(read_expression(r, &where, &group->where));
    else
        GANG__TRY(read_where(r, &where, more, group, list, &rules));
    group->labels = list;
    group->label_count = rules;
    return GANG_OK;
}

/* ---- devices and places -------------------------------------------------------------------- */

static gang_result read_device_demands(struct gang__reader *r, const struct gang__json *object,
                                       struct gang_group_spec *group)
{
    struct gang__json at;
    GANG__TRY(gang__read_word(object, "numa", &gang__numa_words, &group->numa));
    GANG__TRY(gang__read_bool(object, "near_nic", &group->near_nic));
    GANG__TRY(gang__read_bool(object, "same_devices", &group->same_devices));
    GANG__TRY(gang__read_bool(object, "models_ranked", &group->models_ranked));
    if (group->models_ranked && group->gpu_model_count > GANG__MAX_RANKS) {
        gang__json_get(object, "gpu_models", &at);
        return gang__json_fail(&at, GANG_ELIMIT, "more than %d in an order", GANG__MAX_RANKS);
    }
    if (!gang__json_get(object, "profile", &at))
        return GANG_OK;
    if (group->gpu_milli < 1000 || group->gpu_devices)
        return gang__json_fail(&at, GANG_EINVAL, "asks for whole 'gpu', without 'gpu_devices'");
    return gang__read_name(r, &at, &group->profile);
}

/* A level for the tasks of a group: those without GPUs have no place among switches and links. */
static gang_result read_task_level(struct gang__reader *r, const struct gang__json *object,
                                   const char *key, const struct gang_group_spec *group,
                                   const char **level)
{
    GANG__TRY(gang__read_level(r, object, key, GANG__LEVELS_ALL, level));
    bool gpus = group->gpu_milli || group->gpu_memory_bytes;
    if (!gpus && *level && gang__level_needs_gpus(*level)) {
        struct gang__json at;
        gang__json_get(object, key, &at);
        return gang__json_fail(&at, GANG_EINVAL, "a domain of GPUs, for tasks without any");
    }
    return GANG_OK;
}

static gang_result read_slice(struct gang__reader *r, const struct gang__json *object,
                              struct gang_group_spec *group)
{
    struct gang__json at;
    GANG__TRY(read_task_level(r, object, "subgroup_same", group, &group->subgroup_same));
    GANG__TRY(read_task_level(r, object, "subgroup_prefer", group, &group->subgroup_prefer));
    if (!gang__json_get(object, "subgroup_size", &at)) {
        const char *level = group->subgroup_same ? "subgroup_same" : "subgroup_prefer";
        if (!group->subgroup_same && !group->subgroup_prefer)
            return GANG_OK;
        gang__json_get(object, level, &at);
        return gang__json_fail(&at, GANG_EINVAL, "given without 'subgroup_size'");
    }
    GANG__TRY(gang__json_int(&at, 1, group->count, &group->subgroup_size));
    if (group->count % group->subgroup_size || group->min % group->subgroup_size)
        return gang__json_fail(&at, GANG_EINVAL, "does not divide 'count' and 'min'");
    if (!group->subgroup_same && !group->subgroup_prefer)
        return gang__json_fail(&at, GANG_EINVAL, "given without a level of the subgroups");
    return GANG_OK;
}

/* A bound and what it is of go together. */
static gang_result read_bounds(struct gang__reader *r, const struct gang__json *object,
                               struct gang_group_spec *group)
{
    GANG__TRY(gang__read_level(r, object, "spread", GANG__LEVELS_WIDE, &group->spread));
    GANG__TRY(gang__read_int(object, "max_skew", 1, GANG__MAX_TASKS, &group->max_skew));
    GANG__TRY(gang__read_bool(object, "spread_soft", &group->spread_soft));
    if (!group->spread) {
        const char *key = group->max_skew ? "max_skew" : "spread_soft";
        struct gang__json at;
        gang__json_get(object, key, &at);
        if (group->max_skew || group->spread_soft)
            return gang__json_fail(&at, GANG_EINVAL, "given without 'spread'");
    }
    GANG__TRY(gang__read_int(object, "max_per_node", 1, GANG__MAX_TASKS, &group->max_per_node));
    GANG__TRY(gang__read_int(object, "max_per_domain", 1, GANG__MAX_TASKS, &group->max_per_domain));
    GANG__TRY(gang__read_level(r, object, "domain_level", GANG__LEVELS_WIDE, &group->domain_level));
    /* The values, not the keys: a level of null says as little as none. */
    if (!group->max_per_domain == !group->domain_level)
        return GANG_OK;
    const char *given = group->domain_level ? "domain_level" : "max_per_domain";
    struct gang__json at;
    gang__json_get(object, given, &at);
    return gang__json_fail(&at, GANG_EINVAL, "given without '%s'",
                           group->domain_level ? "max_per_domain" : "domain_level");
}

gang_result gang__read_demands(struct gang__reader *r, const struct gang__json *object,
                               struct gang_group_spec *group)
{
    GANG__TRY(gang__read_name_member(r, object, "partition", &group->partition));
    GANG__TRY(read_device_demands(r, object, group));
    GANG__TRY(read_task_level(r, object, "same", group, &group->same));
    GANG__TRY(read_task_level(r, object, "prefer", group, &group->prefer));
    GANG__TRY(read_slice(r, object, group));
    return read_bounds(r, object, group);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static const char *const affinity_keys[] = {"key", "value", "level", "colocate", "soft"};

static gang_result read_affinity_rule(struct gang__reader *r, const struct gang__json *at,
                                      void *element, const void *owner)
{
    struct gang_affinity_rule *rule = element;
    (void)owner;
    struct gang__json member;
    GANG__TRY(gang__json_need(at, "key", &member));
    GANG__TRY(gang__read_name(r, &member, &rule->key));
    if (gang__json_get_or_null(at, "value", &member)) {
        const char *value;
        GANG__TRY(gang__json_name(&member, 0, GANG_MAX_NAME, &value));
        GANG__TRY(gang__keep_text(r, &member, value, &rule->value));
    }
    GANG__TRY(gang__read_level(r, at, "level", GANG__LEVELS_WIDE, &rule->level));
    GANG__TRY(gang__read_bool(at, "colocate", &rule->colocate));
    return gang__read_bool(at, "soft", &rule->soft);
}

static const struct gang__list affinity_list =
    GANG__LIST("affinity", GANG__MAX_JOB_LABELS, struct gang_affinity_rule, affinity_keys,
               GANG__OBJECT_AFFINITY, read_affinity_rule);

gang_result gang__read_job_demands(struct gang__reader *r, const struct gang__json *job,
                                   struct gang_request_spec *request)
{
    GANG__TRY(gang__read_level(r, job, "same", GANG__LEVELS_ALL, &request->same));
    GANG__TRY(gang__read_level(r, job, "prefer", GANG__LEVELS_ALL, &request->prefer));
    GANG__TRY(gang__read_word(job, "policy", &gang__place_policy_words, &request->policy));
    GANG__TRY(gang__read_word(job, "gpu_nodes", &gang__gpu_nodes_words, &request->gpu_nodes));
    GANG__TRY(gang__read_bool(job, "exclusive", &request->exclusive));
    GANG__TRY(gang__read_label_map(r, job, GANG__MAX_JOB_LABELS, &request->labels,
                                   &request->label_count));
    void *rules;
    GANG__TRY(
        gang__read_list_member(r, job, &affinity_list, NULL, &rules, &request->affinity_count));
    request->affinity = rules;
    return GANG_OK;
}
