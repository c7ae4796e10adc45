/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that had another name, or unit, in version 0.1. The reader moves the value to the new key
 * and adds a warning; so the other files know the new keys only. */
#include <string.h>

#include "scenario/read_in.h"

struct old_value {
    const char *old, *value;
};

struct old_key {
    enum gang__object object;
    const char *old, *key;
    const struct old_value *values; /* up to one without names; NULL: the values are the same */
    int divisor;                    /* of a number; 0: none */
};

static const struct old_value gpu_nodes_values[] = {
    {"prefer", "avoid"}, {"off", "allow"}, {"strict", "exclude"}, {NULL, NULL}};

static const struct old_key old_keys[] = {
    {GANG__OBJECT_NODE, "near", "gpu_locality", NULL, 0},
    {GANG__OBJECT_DEVICE, "slice", "mig_index", NULL, 0},
    {GANG__OBJECT_LINK, "kind", "type", NULL, 0},
    {GANG__OBJECT_QUEUE, "turn", "child_order", NULL, 0},
    {GANG__OBJECT_QUEUE, "preempt", "preempt_mode", NULL, 0},
    {GANG__OBJECT_QUEUE, "fixed", "no_preemption", NULL, 0},
    {GANG__OBJECT_QUEUE, "max_overtakes", "max_bypasses", NULL, 0},
    {GANG__OBJECT_QUEUE, "slice_s", "quantum_s", NULL, 0},
    {GANG__OBJECT_QUEUE, "slice_rows", "quantum_rows", NULL, 0},
    {GANG__OBJECT_QUEUE, "slice_gpus", "quantum_gpus", NULL, 0},
    {GANG__OBJECT_QUEUE, "user_limit_percent", "user_limit", NULL, 100},
    {GANG__OBJECT_QUOTA, "part", "fraction", NULL, 0},
    {GANG__OBJECT_JOB, "scarce", "gpu_nodes", gpu_nodes_values, 0},
    {GANG__OBJECT_JOB, "peers", "affinity", NULL, 0},
    {GANG__OBJECT_AFFINITY, "near", "colocate", NULL, 0},
    {GANG__OBJECT_AFFINITY, "wish", "soft", NULL, 0},
    {GANG__OBJECT_TASK, "slice", "subgroup_size", NULL, 0},
    {GANG__OBJECT_TASK, "slice_same", "subgroup_same", NULL, 0},
    {GANG__OBJECT_TASK, "slice_prefer", "subgroup_prefer", NULL, 0},
    {GANG__OBJECT_TASK, "spread_wish", "spread_soft", NULL, 0},
    {GANG__OBJECT_TASK, "most_per_node", "max_per_node", NULL, 0},
    {GANG__OBJECT_TASK, "most_per_domain", "max_per_domain", NULL, 0},
    {GANG__OBJECT_TASK, "most_level", "domain_level", NULL, 0},
    {GANG__OBJECT_RESERVATION, "prefer", "objective", NULL, 0},
    {GANG__OBJECT_STAGE, "gang", "gang_size", NULL, 0},
};

_Static_assert(GANG__COUNT(old_keys) <= 64, "gang__warnings.seen has a bit for each");

/* Each old key is reported where it is found first. */
static gang_result warn(struct gang__reader *r, const struct gang__json *at, size_t number)
{
    const struct old_key *k = &old_keys[number];
    struct gang__warnings *all = r->warnings;
    if (!all || (all->seen >> number & 1))
        return GANG_OK;
    struct gang__warning *w;
    GANG__KEEP(w, r, at, 1);
    char path[sizeof(((struct gang_error *)NULL)->path)];
    gang__json_path(at, path, sizeof(path));
    snprintf(w->text, sizeof(w->text), "%s%s'%s' is now '%s'", path, path[0] ? ": " : "", k->old,
             k->key);
    all->seen |= UINT64_C(1) << number;
    *all->last = w;
    all->last = &w->next;
    return GANG_OK;
}

static json_t *new_value(const struct old_key *k, json_t *value)
{
    const char *text = json_string_value(value);
    if (k->divisor && json_is_number(value))
        return json_real(json_number_value(value) / k->divisor);
    for (const struct old_value *v = k->values; v && v->old && text; v++)
        if (strcmp(text, v->old) == 0)
            return json_string(v->value);
    return json_incref(value);
}

gang_result gang__rename_old_keys(struct gang__reader *r, const struct gang__json *at,
                                  enum gang__object object)
{
    for (size_t i = 0; i < GANG__COUNT(old_keys); i++) {
        const struct old_key *k = &old_keys[i];
        struct gang__json member;
        if (k->object != object || !json_object_get(at->value, k->old))
            continue;
        gang__json_get(at, k->old, &member);
        if (json_object_get(at->value, k->key))
            return gang__json_fail(&member, GANG_EINVAL, "given beside '%s'", k->key);
        GANG__TRY(warn(r, at, i));
        if (json_object_set_new(at->value, k->key, new_value(k, member.value)) != 0)
            return gang__json_fail(at, GANG_ENOMEM, "out of memory");
        json_object_del(at->value, k->old);
    }
    return GANG_OK;
}
