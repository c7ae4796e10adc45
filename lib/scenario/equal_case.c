/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing two cases. What means the same is equal: NULL and "" for what may be unknown, no list
 * and one of zeros, 0 rounds and 1. `expect` is text in the form that the reader gives it. */
#include "scenario/scenario_in.h"

#include <stdio.h>
#include <string.h>

#include "model/specs.h"
#include "scenario/equal_in.h"
#include "scenario/fields_in.h"

bool gang__same_names(const char *const *a, size_t a_count, const char *const *b, size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (!gang__same_text(a[i], b[i]))
            return false;
    return true;
}

bool gang__same_labels(const struct gang_label *a, size_t a_count, const struct gang_label *b,
                       size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (!gang__same_text(a[i].key, b[i].key) || !gang__same_text(a[i].value, b[i].value))
            return false;
    return true;
}

static bool same_kind(const struct gang_kind_spec *a, const struct gang_kind_spec *b)
{
    return gang__same_text(a->name, b->name) && gang__same_or_empty(a->unit, b->unit) &&
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
    return gang__same_text(a->name, b->name) && a->state == b->state &&
           a->reserved0 == b->reserved0 && gang__same_machine(a, b) && same_uuids(a, b) &&
           gang__node_spec_unhealthy(a) == gang__node_spec_unhealthy(b) &&
           gang__same_labels(a->labels, a->label_count, b->labels, b->label_count) &&
           gang__same_names(a->partitions, a->partition_count, b->partitions, b->partition_count) &&
           gang__same_labels(a->topology, a->topology_count, b->topology, b->topology_count);
}

static bool same_rule(const struct gang_queue_rule *a, const struct gang_queue_rule *b)
{
    return a->match == b->match && a->fallback == b->fallback &&
           gang__same_text(a->pattern, b->pattern) && gang__same_text(a->queue, b->queue);
}

/* ---- the case -------------------------------------------------------------------------- */

static bool differ(struct gang__scenario_path *where, const char *list)
{
    snprintf(where->path, sizeof(where->path), "%s", list);
    return false;
}

static bool differ_at(struct gang__scenario_path *where, const char *list, size_t index)
{
    snprintf(where->path, sizeof(where->path), "%s[%zu]", list, index);
    return false;
}

static bool same_lists(const struct gang_scenario *a, const struct gang_scenario *b,
                       struct gang__scenario_path *where)
{
    for (size_t i = 0; i < a->kind_count; i++) {
        struct gang_kind_spec x;
        struct gang_kind_spec y;
        if (!GANG__LOAD2(x, y, capacity, a->kinds, b->kinds, i) || !same_kind(&x, &y))
            return differ_at(where, "kinds", i);
    }
    for (size_t i = 0; i < a->partition_count; i++) {
        struct gang_partition_spec x;
        struct gang_partition_spec y;
        if (!GANG__LOAD2(x, y, reserved0, a->partitions, b->partitions, i) ||
            !gang__same_text(x.name, y.name) || x.mode != y.mode || x.reserved0 != y.reserved0)
            return differ_at(where, "partitions", i);
    }
    for (size_t i = 0; i < a->node_count; i++) {
        struct gang_node_spec x;
        struct gang_node_spec y;
        if (!GANG__LOAD2(x, y, profile_count, a->nodes, b->nodes, i) || !same_node(&x, &y))
            return differ_at(where, "nodes", i);
    }
    for (size_t i = 0; i < a->queue_count; i++) {
        struct gang_queue_spec x;
        struct gang_queue_spec y;
        if (!GANG__LOAD2(x, y, reserved0, a->queues, b->queues, i) || !gang__same_queue(&x, &y))
            return differ_at(where, "queues", i);
    }
    for (size_t i = 0; i < a->job_count; i++) {
        struct gang_job_spec x;
        struct gang_job_spec y;
        if (!GANG__LOAD2(x, y, group_order, a->jobs, b->jobs, i) || !gang__same_job(&x, &y))
            return differ_at(where, "jobs", i);
    }
    return true;
}

static bool same_stage(const struct gang_reservation_stage *a,
                       const struct gang_reservation_stage *b)
{
    if (a->group_count != b->group_count || !gang__fields_equal(&gang__stage_fields, a, b) ||
        !gang__same_text(a->level, b->level) || !gang__same_text(a->domain, b->domain) ||
        !gang__same_names(a->nodes, a->node_count, b->nodes, b->node_count))
        return false;
    for (size_t i = 0; i < a->group_count; i++) {
        struct gang_group_spec x;
        struct gang_group_spec y;
        if (!GANG__LOAD2_BY(x, y, same_devices, a->groups, b->groups, i, a->group_size,
                            b->group_size) ||
            !gang__same_group(&x, &y))
            return false;
    }
    return true;
}

static bool same_reservation(const struct gang_reservation_spec *a,
                             const struct gang_reservation_spec *b)
{
    if (!gang__same_text(a->name, b->name) || !gang__same_or_empty(a->owner, b->owner) ||
        !gang__fields_equal(&gang__reserve_fields, a, b) || a->flags != b->flags ||
        !gang__same_or_empty(a->queue, b->queue) || a->job != b->job ||
        !gang__same_names(a->users, a->user_count, b->users, b->user_count) ||
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
        if (!GANG__LOAD2(x, y, notice_ns, a->reservations, b->reservations, i) ||
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
        if (!GANG__LOAD2(x, y, queue, a->rules, b->rules, i) || !same_rule(&x, &y))
            return differ_at(where, "rules", i);
    }
    if (!gang__same_names(a->excluded_kinds, a->excluded_kind_count, b->excluded_kinds,
                          b->excluded_kind_count))
        return differ(where, "excluded_kinds");
    if (!gang__fields_equal(&gang__case_fields, a, b))
        return differ(where, "half_life_s");
    if (a->after_count != b->after_count)
        return differ(where, "afters");
    for (size_t i = 0; i < a->after_count; i++) {
        struct gang_scenario_after x;
        struct gang_scenario_after y;
        if (!GANG__LOAD2(x, y, reserved0, a->afters, b->afters, i) || x.job != y.job ||
            x.after != y.after || x.when != y.when || x.reserved0 != y.reserved0)
            return differ_at(where, "afters", i);
    }
    if (a->time_count != b->time_count)
        return differ(where, "times");
    for (size_t i = 0; i < a->time_count; i++) {
        struct gang_scenario_time x;
        struct gang_scenario_time y;
        if (!GANG__LOAD2(x, y, run_time_count, a->times, b->times, i) || x.job != y.job ||
            x.ran_ns != y.ran_ns || x.run_time_count != y.run_time_count ||
            (x.run_time_count &&
             memcmp(x.run_time_ns, y.run_time_ns, x.run_time_count * sizeof(*x.run_time_ns)) != 0))
            return differ_at(where, "times", i);
    }
    if (a->arrival_count != b->arrival_count)
        return differ(where, "arrivals");
    for (size_t i = 0; i < a->arrival_count; i++) {
        struct gang_scenario_arrival x;
        struct gang_scenario_arrival y;
        if (!GANG__LOAD2(x, y, reserved0, a->arrivals, b->arrivals, i) || x.job != y.job ||
            x.at_ns != y.at_ns || x.count != y.count || x.group != y.group ||
            x.reserved0 != y.reserved0)
            return differ_at(where, "arrivals", i);
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
    if (!gang__same_names(a->needs, a->need_count, b->needs, b->need_count))
        return differ(where, "needs");
    if (!gang__same_names(a->levels, a->level_count, b->levels, b->level_count))
        return differ(where, "levels");
    if ((a->rounds ? a->rounds : 1) != (b->rounds ? b->rounds : 1))
        return differ(where, "rounds");
    if (a->quota_only != b->quota_only)
        return differ(where, "quota_only");
    if (a->reserved0 != b->reserved0 || !gang__same_text(a->expect, b->expect))
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
