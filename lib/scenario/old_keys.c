/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that had another name before version 0.2: a file with old names is read as one with new names,
 * and gang_scenarios_warning() names the first of them. */
#include "scenario/read.h"

#include <stdio.h>
#include <string.h>

struct renamed {
    enum gang__object object;
    const char *from;
    const char *to;
};

static const struct renamed keys[] = {
    {GANG__OBJECT_QUEUE, "turn", "child_order"},
    {GANG__OBJECT_QUEUE, "preempt", "preempt_mode"},
    {GANG__OBJECT_QUEUE, "fixed", "no_preemption"},
    {GANG__OBJECT_QUEUE, "max_overtakes", "max_bypasses"},
    {GANG__OBJECT_QUOTA, "part", "fraction"},
    {GANG__OBJECT_JOB, "peers", "affinity"},
    {GANG__OBJECT_JOB, "scarce", "gpu_nodes"},
    {GANG__OBJECT_RULE, "near", "colocate"},
    {GANG__OBJECT_RULE, "wish", "soft"},
    {GANG__OBJECT_TASK, "slice", "subgroup_size"},
    {GANG__OBJECT_TASK, "slice_same", "subgroup_same"},
    {GANG__OBJECT_TASK, "slice_prefer", "subgroup_prefer"},
    {GANG__OBJECT_TASK, "spread_wish", "spread_soft"},
    {GANG__OBJECT_TASK, "most_per_node", "max_per_node"},
    {GANG__OBJECT_TASK, "most_per_domain", "max_per_domain"},
    {GANG__OBJECT_TASK, "most_level", "domain_level"},
    {GANG__OBJECT_NODE, "near", "gpu_locality"},
    {GANG__OBJECT_DEVICE, "slice", "mig_index"},
    {GANG__OBJECT_LINK, "kind", "type"},
    {GANG__OBJECT_RESERVATION, "prefer", "objective"},
    {GANG__OBJECT_STAGE, "gang", "gang_size"},
};

/* Values of "scarce", and of "gpu_nodes" in their place. */
static const char *const values[][2] = {
    {"prefer", "avoid"}, {"off", "allow"}, {"strict", "exclude"}};

static json_t *new_value(const struct renamed *key, json_t *value)
{
    const char *text = json_string_value(value);
    for (size_t i = 0; text && strcmp(key->to, "gpu_nodes") == 0 && i < GANG__COUNT(values); i++)
        if (strcmp(text, values[i][0]) == 0)
            return json_string(values[i][1]);
    return json_incref(value);
}

static void warn(struct gang__reader *r, const struct gang__json *member, const char *to)
{
    char path[160];
    if (r->warning->count++ > 0)
        return;
    gang__json_path(member, path, sizeof(path));
    snprintf(r->warning->text, sizeof(r->warning->text), "%s: an old name of '%s'", path, to);
}

gang_result gang__read_old_keys(struct gang__reader *r, const struct gang__json *at,
                                enum gang__object object)
{
    for (size_t i = 0; json_is_object(at->value) && i < GANG__COUNT(keys); i++) {
        struct gang__json member;
        if (keys[i].object != object || json_object_get(at->value, keys[i].to) ||
            !gang__json_get(at, keys[i].from, &member))
            continue;
        warn(r, &member, keys[i].to);
        if (json_object_set_new(at->value, keys[i].to, new_value(&keys[i], member.value)) != 0)
            return gang__json_fail(&member, GANG_ENOMEM, "out of memory");
        json_object_del(at->value, keys[i].from);
    }
    return GANG_OK;
}
