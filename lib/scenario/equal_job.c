/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two jobs. */
#include "model/specs.h"
#include "scenario/equal_in.h"
#include "scenario/fields_in.h"
#include "scenario/scenario_in.h"

static bool same_amounts(const struct gang_amount *a, size_t a_count, const struct gang_amount *b,
                         size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (!gang__same_text(a[i].kind, b[i].kind) || a[i].amount != b[i].amount)
            return false;
    return true;
}

static bool same_rules(const struct gang_group_spec *a, const struct gang_group_spec *b)
{
    if (a->label_count != b->label_count)
        return false;
    for (size_t i = 0; i < a->label_count; i++) {
        const struct gang_label_rule *x = &a->labels[i];
        const struct gang_label_rule *y = &b->labels[i];
        if (!gang__same_text(x->key, y->key) || x->op != y->op || x->reserved0 != y->reserved0 ||
            !gang__same_names(x->values, x->value_count, y->values, y->value_count))
            return false;
    }
    return true;
}

static bool same_demands(const struct gang_group_spec *a, const struct gang_group_spec *b)
{
    return gang__same_text(a->where, b->where) && gang__same_text(a->partition, b->partition) &&
           gang__same_text(a->profile, b->profile) && a->numa == b->numa &&
           a->near_nic == b->near_nic && a->same_devices == b->same_devices &&
           a->models_ranked == b->models_ranked && gang__same_text(a->same, b->same) &&
           gang__same_text(a->prefer, b->prefer) && a->subgroup_size == b->subgroup_size &&
           gang__same_text(a->subgroup_same, b->subgroup_same) &&
           gang__same_text(a->subgroup_prefer, b->subgroup_prefer) &&
           gang__same_text(a->spread, b->spread) && a->max_skew == b->max_skew &&
           a->spread_soft == b->spread_soft && a->max_per_node == b->max_per_node &&
           a->max_per_domain == b->max_per_domain &&
           gang__same_text(a->domain_level, b->domain_level);
}

bool gang__same_group(const struct gang_group_spec *a, const struct gang_group_spec *b)
{
    return gang__same_text(a->name, b->name) && a->count == b->count && a->min == b->min &&
           a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           a->gpu_milli == b->gpu_milli && a->gpu_memory_bytes == b->gpu_memory_bytes &&
           a->gpu_devices == b->gpu_devices && a->group_set == b->group_set && same_demands(a, b) &&
           same_amounts(a->amounts, a->amount_count, b->amounts, b->amount_count) &&
           same_rules(a, b) &&
           gang__same_names(a->gpu_models, a->gpu_model_count, b->gpu_models, b->gpu_model_count);
}

static bool same_groups(const struct gang_request_spec *a, const struct gang_request_spec *b)
{
    struct gang_group_spec x;
    struct gang_group_spec y;
    if (a->group_count != b->group_count)
        return false;
    for (size_t i = 0; i < a->group_count; i++)
        if (!GANG__LOAD2_BY(x, y, same_devices, a->groups, b->groups, i, a->group_size,
                            b->group_size) ||
            !gang__same_group(&x, &y))
            return false;
    return true;
}

static bool same_sets(const struct gang_request_spec *a, const struct gang_request_spec *b)
{
    struct gang_group_set_spec x;
    struct gang_group_set_spec y;
    if (a->group_set_count != b->group_set_count)
        return false;
    for (size_t i = 0; i < a->group_set_count; i++)
        if (!GANG__LOAD2_BY(x, y, prefer, a->group_sets, b->group_sets, i, a->group_set_size,
                            b->group_set_size) ||
            !gang__same_text(x.name, y.name) || x.parent != y.parent || x.min != y.min ||
            x.reserved0 != y.reserved0 || !gang__same_text(x.same, y.same) ||
            !gang__same_text(x.prefer, y.prefer))
            return false;
    return true;
}

static bool same_peers(const struct gang_request_spec *a, const struct gang_request_spec *b)
{
    struct gang_affinity_rule x;
    struct gang_affinity_rule y;
    if (a->affinity_count != b->affinity_count)
        return false;
    for (size_t i = 0; i < a->affinity_count; i++)
        if (!GANG__LOAD2_BY(x, y, soft, a->affinity, b->affinity, i, a->affinity_size,
                            b->affinity_size) ||
            !gang__same_text(x.key, y.key) || !gang__same_text(x.value, y.value) ||
            !gang__same_text(x.level, y.level) || x.colocate != y.colocate || x.soft != y.soft)
            return false;
    return true;
}

static bool same_request(const struct gang_request_spec *a, const struct gang_request_spec *b)
{
    return a->min == b->min && gang__same_text(a->same, b->same) &&
           gang__same_text(a->prefer, b->prefer) && a->policy == b->policy &&
           a->gpu_nodes == b->gpu_nodes && a->exclusive == b->exclusive && a->score == b->score &&
           a->score_user == b->score_user && a->reserved0 == b->reserved0 && same_groups(a, b) &&
           same_sets(a, b) &&
           gang__same_labels(a->labels, a->label_count, b->labels, b->label_count) &&
           same_peers(a, b);
}

static bool same_places(const struct gang_job_spec *a, const struct gang_job_spec *b)
{
    if (a->running != b->running || a->place_count != b->place_count)
        return false;
    for (size_t i = 0; i < a->place_count; i++) {
        struct gang_running_spec x = gang__place_at(a, i), y = gang__place_at(b, i);
        if (!gang__same_text(x.node, y.node) || x.numbered != y.numbered || x.what != y.what ||
            (x.numbered && x.task != y.task) || x.cores || y.cores || x.grouped || y.grouped ||
            !gang__same_names(x.devices, x.device_count, y.devices, y.device_count))
            return false;
    }
    return a->id == b->id && !a->past && !b->past; /* the format has neither past nor cores */
}

static bool same_group_extras(const struct gang_job_spec *a, const struct gang_job_spec *b)
{
    for (size_t i = 0; i < a->request.group_count; i++) {
        int32_t a_protected = a->protected_groups ? a->protected_groups[i] : 0;
        int32_t b_protected = b->protected_groups ? b->protected_groups[i] : 0;
        int64_t a_order = a->group_order ? a->group_order[i] : 0;
        int64_t b_order = b->group_order ? b->group_order[i] : 0;
        int32_t a_role = a->roles ? a->roles[i] : GANG_ROLE_MEMBER;
        int32_t b_role = b->roles ? b->roles[i] : GANG_ROLE_MEMBER;
        if (a_protected != b_protected || a_order != b_order || a_role != b_role)
            return false;
    }
    return true;
}

static bool same_group_after(const struct gang_job_spec *a, const struct gang_job_spec *b)
{
    struct gang_group_after x;
    struct gang_group_after y;
    if (a->group_after_count != b->group_after_count)
        return false;
    for (size_t i = 0; i < a->group_after_count; i++)
        if (!GANG__LOAD2_BY(x, y, reserved0, a->group_after, b->group_after, i, a->group_after_size,
                            b->group_after_size) ||
            x.group != y.group || x.after != y.after || x.when != y.when ||
            x.reserved0 != y.reserved0)
            return false;
    return true;
}

bool gang__same_job(const struct gang_job_spec *a, const struct gang_job_spec *b)
{
    return gang__same_text(a->name, b->name) && gang__same_text(a->queue, b->queue) &&
           a->priority == b->priority && a->submit == b->submit &&
           a->preemptible == b->preemptible && gang__same_or_empty(a->user, b->user) &&
           gang__same_names(a->user_groups, a->user_group_count, b->user_groups,
                            b->user_group_count) &&
           gang__same_names(a->partitions, a->partition_count, b->partitions, b->partition_count) &&
           gang__fields_equal(&gang__job_fields, a, b) &&
           gang__same_or_empty(a->reservation, b->reservation) &&
           same_request(&a->request, &b->request) && same_places(a, b) && same_group_extras(a, b) &&
           same_group_after(a, b) && a->after_count == b->after_count && a->cookie == b->cookie;
}
