/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing two cases. What means the same is equal: NULL and "" for what may be unknown, no list
 * and one of zeros, 0 rounds and 1. `expect` is text in the form that the reader gives it. */
#include "scenario/scenario_priv.h"

#include <stdio.h>
#include <string.h>

/* Load element `i` of both arrays, which have a size member; false if that fails. */
#define LOAD2(x, y, last, a, b, i) \
    (GANG__LOAD(x, last, a, i) == GANG_OK && GANG__LOAD(y, last, b, i) == GANG_OK)

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_real(double a, double b)
{
    return a >= b && a <= b;
}

static bool same_names(const char *const *a, size_t a_count, const char *const *b, size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (!same_text(a[i], b[i]))
            return false;
    return true;
}

static bool same_amounts(const struct gang_amount *a, size_t a_count, const struct gang_amount *b,
                         size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (!same_text(a[i].kind, b[i].kind) || a[i].amount != b[i].amount)
            return false;
    return true;
}

static bool same_labels(const struct gang_label *a, size_t a_count, const struct gang_label *b,
                        size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (!same_text(a[i].key, b[i].key) || !same_text(a[i].value, b[i].value))
            return false;
    return true;
}

static bool same_kind(const struct gang_kind_spec *a, const struct gang_kind_spec *b)
{
    return same_text(a->name, b->name) && gang__same_or_empty(a->unit, b->unit) &&
           a->scope == b->scope && a->reserved0 == b->reserved0 && a->capacity == b->capacity;
}

/* ---- nodes ----------------------------------------------------------------------------- */

static bool same_uuids(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    for (size_t i = 0; i < a->gpu_count; i++)
        if (!gang__same_or_empty(gang__node_spec_uuid(a, i), gang__node_spec_uuid(b, i)))
            return false;
    return true;
}

static bool same_node(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    return same_text(a->name, b->name) && a->state == b->state && a->reserved0 == b->reserved0 &&
           gang__same_machine(a, b) && same_uuids(a, b) &&
           gang__node_spec_unhealthy(a) == gang__node_spec_unhealthy(b) &&
           same_labels(a->labels, a->label_count, b->labels, b->label_count) &&
           same_names(a->partitions, a->partition_count, b->partitions, b->partition_count) &&
           same_labels(a->topology, a->topology_count, b->topology, b->topology_count);
}

/* ---- queues ---------------------------------------------------------------------------- */

static bool same_quota(const struct gang_quota *a, size_t a_count, size_t a_size,
                       const struct gang_quota *b, size_t b_count, size_t b_size)
{
    struct gang_quota x;
    struct gang_quota y;
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (!GANG__LOAD2_BY(x, y, by_weight, a, b, i, a_size, b_size) ||
            !same_text(x.kind, y.kind) || !same_text(x.partition, y.partition) ||
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
        if (!same_text(a->users[i].user, b->users[i].user) ||
            a->users[i].weight != b->users[i].weight)
            return false;
    return true;
}

static bool same_weights(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    if (!same_real(a->weight, b->weight) || a->weight_count != b->weight_count)
        return false;
    for (size_t i = 0; i < a->weight_count; i++)
        if (!same_text(a->weight_kinds[i], b->weight_kinds[i]) ||
            !same_real(a->weights[i], b->weights[i]))
            return false;
    return true;
}

static bool same_cells(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    if (a->cell_count != b->cell_count)
        return false;
    for (size_t i = 0; i < a->cell_count; i++)
        if (!same_text(a->cells[i].level, b->cells[i].level) ||
            a->cells[i].count != b->cells[i].count)
            return false;
    return true;
}

static bool same_queue_body(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    return same_quotas(a, b) && same_weights(a, b) && a->within == b->within &&
           a->reclaim == b->reclaim && same_cells(a, b) && same_users(a, b) &&
           a->reserved0 == b->reserved0 && gang__fields_equal(&gang__queue_fields, a, b);
}

/* The queues made on demand lie in each other; names that they have do not count. */
static bool same_queue(const struct gang_queue_spec *a, const struct gang_queue_spec *b)
{
    struct gang_queue_spec x = *a;
    struct gang_queue_spec y = *b;
    if (!same_text(a->name, b->name) || !same_text(a->parent, b->parent))
        return false;
    for (size_t depth = 0; depth <= GANG_MAX_QUEUE_DEPTH; depth++) {
        const struct gang_queue_spec *x_child = x.child;
        const struct gang_queue_spec *y_child = y.child;
        if (!same_queue_body(&x, &y) || !x_child != !y_child)
            return false;
        if (!x_child)
            return true;
        if (!LOAD2(x, y, reserved0, x_child, y_child, 0))
            return false;
    }
    return false;
}

static bool same_rule(const struct gang_queue_rule *a, const struct gang_queue_rule *b)
{
    return a->match == b->match && a->fallback == b->fallback &&
           same_text(a->pattern, b->pattern) && same_text(a->queue, b->queue);
}

/* ---- jobs ------------------------------------------------------------------------------ */

static bool same_rules(const struct gang_group_spec *a, const struct gang_group_spec *b)
{
    if (a->label_count != b->label_count)
        return false;
    for (size_t i = 0; i < a->label_count; i++) {
        const struct gang_label_rule *x = &a->labels[i];
        const struct gang_label_rule *y = &b->labels[i];
        if (!same_text(x->key, y->key) || x->op != y->op || x->reserved0 != y->reserved0 ||
            !same_names(x->values, x->value_count, y->values, y->value_count))
            return false;
    }
    return true;
}

static bool same_demands(const struct gang_group_spec *a, const struct gang_group_spec *b)
{
    return same_text(a->where, b->where) && same_text(a->partition, b->partition) &&
           same_text(a->profile, b->profile) && a->numa == b->numa && a->near_nic == b->near_nic &&
           a->models_ranked == b->models_ranked && same_text(a->same, b->same) &&
           same_text(a->prefer, b->prefer) && a->subgroup_size == b->subgroup_size &&
           same_text(a->subgroup_same, b->subgroup_same) &&
           same_text(a->subgroup_prefer, b->subgroup_prefer) && same_text(a->spread, b->spread) &&
           a->max_skew == b->max_skew && a->spread_soft == b->spread_soft &&
           a->max_per_node == b->max_per_node && a->max_per_domain == b->max_per_domain &&
           same_text(a->domain_level, b->domain_level);
}

static bool same_group(const struct gang_group_spec *a, const struct gang_group_spec *b)
{
    return same_text(a->name, b->name) && a->count == b->count && a->min == b->min &&
           a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           a->gpu_milli == b->gpu_milli && a->gpu_memory_bytes == b->gpu_memory_bytes &&
           a->gpu_devices == b->gpu_devices && a->group_set == b->group_set &&
           a->reserved0 == b->reserved0 && same_demands(a, b) &&
           same_amounts(a->amounts, a->amount_count, b->amounts, b->amount_count) &&
           same_rules(a, b) &&
           same_names(a->gpu_models, a->gpu_model_count, b->gpu_models, b->gpu_model_count);
}

static bool same_groups(const struct gang_request_spec *a, const struct gang_request_spec *b)
{
    struct gang_group_spec x;
    struct gang_group_spec y;
    if (a->group_count != b->group_count)
        return false;
    for (size_t i = 0; i < a->group_count; i++)
        if (!GANG__LOAD2_BY(x, y, reserved0, a->groups, b->groups, i, a->group_size,
                            b->group_size) ||
            !same_group(&x, &y))
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
            !same_text(x.name, y.name) || x.parent != y.parent || x.min != y.min ||
            x.reserved0 != y.reserved0 || !same_text(x.same, y.same) ||
            !same_text(x.prefer, y.prefer))
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
            !same_text(x.key, y.key) || !same_text(x.value, y.value) ||
            !same_text(x.level, y.level) || x.colocate != y.colocate || x.soft != y.soft)
            return false;
    return true;
}

static bool same_request(const struct gang_request_spec *a, const struct gang_request_spec *b)
{
    return a->min == b->min && same_text(a->same, b->same) && same_text(a->prefer, b->prefer) &&
           a->policy == b->policy && a->gpu_nodes == b->gpu_nodes && a->exclusive == b->exclusive &&
           a->score == b->score && a->score_user == b->score_user && a->reserved0 == b->reserved0 &&
           same_groups(a, b) && same_sets(a, b) &&
           same_labels(a->labels, a->label_count, b->labels, b->label_count) && same_peers(a, b);
}

static bool same_places(const struct gang_job_spec *a, const struct gang_job_spec *b)
{
    if (a->running != b->running || a->place_count != b->place_count)
        return false;
    for (size_t i = 0; i < a->place_count; i++)
        if (!same_text(a->places[i].node, b->places[i].node) ||
            !same_names(a->places[i].devices, a->places[i].device_count, b->places[i].devices,
                        b->places[i].device_count))
            return false;
    return true;
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

static bool same_job(const struct gang_job_spec *a, const struct gang_job_spec *b)
{
    return same_text(a->name, b->name) && same_text(a->queue, b->queue) &&
           a->priority == b->priority && a->submit == b->submit &&
           a->preemptible == b->preemptible && gang__same_or_empty(a->user, b->user) &&
           same_names(a->user_groups, a->user_group_count, b->user_groups, b->user_group_count) &&
           gang__fields_equal(&gang__job_fields, a, b) &&
           gang__same_or_empty(a->reservation, b->reservation) &&
           same_request(&a->request, &b->request) && same_places(a, b) && same_group_extras(a, b) &&
           same_group_after(a, b) && a->after_count == b->after_count && a->cookie == b->cookie;
}

/* ---- the case -------------------------------------------------------------------------- */

static bool differ(struct gang__scenario_path *where, const char *room)
{
    snprintf(where->path, sizeof(where->path), "%s", room);
    return false;
}

static bool differ_at(struct gang__scenario_path *where, const char *room, size_t index)
{
    snprintf(where->path, sizeof(where->path), "%s[%zu]", room, index);
    return false;
}

static bool same_lists(const struct gang_scenario *a, const struct gang_scenario *b,
                       struct gang__scenario_path *where)
{
    for (size_t i = 0; i < a->kind_count; i++) {
        struct gang_kind_spec x;
        struct gang_kind_spec y;
        if (!LOAD2(x, y, capacity, a->kinds, b->kinds, i) || !same_kind(&x, &y))
            return differ_at(where, "kinds", i);
    }
    for (size_t i = 0; i < a->partition_count; i++) {
        struct gang_partition_spec x;
        struct gang_partition_spec y;
        if (!LOAD2(x, y, reserved0, a->partitions, b->partitions, i) ||
            !same_text(x.name, y.name) || x.mode != y.mode || x.reserved0 != y.reserved0)
            return differ_at(where, "partitions", i);
    }
    for (size_t i = 0; i < a->node_count; i++) {
        struct gang_node_spec x;
        struct gang_node_spec y;
        if (!LOAD2(x, y, profile_count, a->nodes, b->nodes, i) || !same_node(&x, &y))
            return differ_at(where, "nodes", i);
    }
    for (size_t i = 0; i < a->queue_count; i++) {
        struct gang_queue_spec x;
        struct gang_queue_spec y;
        if (!LOAD2(x, y, reserved0, a->queues, b->queues, i) || !same_queue(&x, &y))
            return differ_at(where, "queues", i);
    }
    for (size_t i = 0; i < a->job_count; i++) {
        struct gang_job_spec x;
        struct gang_job_spec y;
        if (!LOAD2(x, y, group_order, a->jobs, b->jobs, i) || !same_job(&x, &y))
            return differ_at(where, "jobs", i);
    }
    return true;
}

static bool same_stage(const struct gang_reservation_stage *a,
                       const struct gang_reservation_stage *b)
{
    if (a->group_count != b->group_count || !gang__fields_equal(&gang__stage_fields, a, b) ||
        !same_text(a->level, b->level) || !same_text(a->domain, b->domain) ||
        !same_names(a->nodes, a->node_count, b->nodes, b->node_count))
        return false;
    for (size_t i = 0; i < a->group_count; i++) {
        struct gang_group_spec x;
        struct gang_group_spec y;
        if (!GANG__LOAD2_BY(x, y, reserved0, a->groups, b->groups, i, a->group_size,
                            b->group_size) ||
            !same_group(&x, &y))
            return false;
    }
    return true;
}

static bool same_reservation(const struct gang_reservation_spec *a,
                             const struct gang_reservation_spec *b)
{
    if (!same_text(a->name, b->name) || !gang__same_or_empty(a->owner, b->owner) ||
        !gang__fields_equal(&gang__reserve_fields, a, b) || a->flags != b->flags ||
        !gang__same_or_empty(a->queue, b->queue) || a->job != b->job ||
        !same_names(a->users, a->user_count, b->users, b->user_count) ||
        a->stage_count != b->stage_count)
        return false;
    for (size_t i = 0; i < a->stage_count; i++) {
        struct gang_reservation_stage x;
        struct gang_reservation_stage y;
        if (!GANG__LOAD2_BY(x, y, node_count, a->stages, b->stages, i, a->stage_size,
                            b->stage_size) ||
            !same_stage(&x, &y))
            return false;
    }
    return true;
}

static bool same_reservations(const struct gang_scenario *a, const struct gang_scenario *b,
                              struct gang__scenario_path *where)
{
    if (a->reservation_count != b->reservation_count)
        return differ(where, "reservations");
    for (size_t i = 0; i < a->reservation_count; i++) {
        struct gang_reservation_spec x;
        struct gang_reservation_spec y;
        if (!LOAD2(x, y, notice_ns, a->reservations, b->reservations, i) ||
            !same_reservation(&x, &y))
            return differ_at(where, "reservations", i);
    }
    return true;
}

/* How jobs come to queues, and what they wait for. */
static bool same_mapping(const struct gang_scenario *a, const struct gang_scenario *b,
                         struct gang__scenario_path *where)
{
    if (!gang__same_or_empty(a->default_queue, b->default_queue))
        return differ(where, "default_queue");
    if (a->rule_count != b->rule_count)
        return differ(where, "rules");
    for (size_t i = 0; i < a->rule_count; i++) {
        struct gang_queue_rule x;
        struct gang_queue_rule y;
        if (!LOAD2(x, y, queue, a->rules, b->rules, i) || !same_rule(&x, &y))
            return differ_at(where, "rules", i);
    }
    if (!same_names(a->excluded_kinds, a->excluded_kind_count, b->excluded_kinds,
                    b->excluded_kind_count))
        return differ(where, "excluded_kinds");
    if (!gang__fields_equal(&gang__case_fields, a, b))
        return differ(where, "half_life_s");
    if (a->after_count != b->after_count)
        return differ(where, "afters");
    for (size_t i = 0; i < a->after_count; i++) {
        struct gang_scenario_after x;
        struct gang_scenario_after y;
        if (!LOAD2(x, y, reserved0, a->afters, b->afters, i) || x.job != y.job ||
            x.after != y.after || x.when != y.when || x.reserved0 != y.reserved0)
            return differ_at(where, "afters", i);
    }
    if (a->time_count != b->time_count)
        return differ(where, "times");
    for (size_t i = 0; i < a->time_count; i++) {
        struct gang_scenario_time x;
        struct gang_scenario_time y;
        if (!LOAD2(x, y, run_time_count, a->times, b->times, i) || x.job != y.job ||
            x.ran_ns != y.ran_ns || x.run_time_count != y.run_time_count ||
            (x.run_time_count &&
             memcmp(x.run_time_ns, y.run_time_ns, x.run_time_count * sizeof(*x.run_time_ns)) != 0))
            return differ_at(where, "times", i);
    }
    return true;
}

bool gang__scenario_equal(const struct gang_scenario *a, const struct gang_scenario *b,
                          struct gang__scenario_path *where)
{
    if (!gang__same_or_empty(a->id, b->id))
        return differ(where, "id");
    if (!gang__same_or_empty(a->source, b->source))
        return differ(where, "source");
    if (!same_names(a->needs, a->need_count, b->needs, b->need_count))
        return differ(where, "needs");
    if (!same_names(a->levels, a->level_count, b->levels, b->level_count))
        return differ(where, "levels");
    if ((a->rounds ? a->rounds : 1) != (b->rounds ? b->rounds : 1))
        return differ(where, "rounds");
    if (a->quota_only != b->quota_only)
        return differ(where, "quota_only");
    if (a->reserved0 != b->reserved0 || !same_text(a->expect, b->expect))
        return differ(where, "expect");
    if (a->policy != b->policy || a->reserved1 != b->reserved1)
        return differ(where, "policy");
    if (a->partition_count != b->partition_count)
        return differ(where, "partitions");
    if (a->kind_count != b->kind_count)
        return differ(where, "kinds");
    if (a->node_count != b->node_count)
        return differ(where, "nodes");
    if (a->queue_count != b->queue_count)
        return differ(where, "queues");
    if (a->job_count != b->job_count)
        return differ(where, "jobs");
    return same_mapping(a, b, where) && same_reservations(a, b, where) && same_lists(a, b, where);
}
