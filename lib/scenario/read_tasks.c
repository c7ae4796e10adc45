/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the groups of tasks of a job, and its sets: the gangs inside the gang. */
#include "scenario/read_in.h"

#include <string.h>

static const char *const task_keys[] = {
    "name",           "count",         "min",           "cpu",
    "mem_mib",        "mem_bytes",     "gpu",           "gpu_devices",
    "gpu_mem_mib",    "gpu_mem_bytes", "gpu_models",    "selector",
    "where",          "partition",     "same",          "prefer",
    "group",          "protected",     "order",         "amounts",
    "numa",           "near_nic",      "same_devices",  "profile",
    "models_ranked",  "subgroup_size", "subgroup_same", "subgroup_prefer",
    "spread",         "max_skew",      "spread_soft",   "max_per_node",
    "max_per_domain", "domain_level",  "role",          "after"};

static const char *const group_keys[] = {"name", "parent", "min", "same", "prefer"};

/* The sets of a job while it is read; index i is the place in `groups`. */
struct sets {
    size_t count;
    struct gang__lookup names; /* of those that have one */
    size_t *named;             /* index into `groups` by index into `names` */
    size_t *parent;            /* index into `groups`, or SIZE_MAX */
    size_t *place;             /* index into gang_request_spec.sets */
    bool *has_min;             /* it or a set around it has a `min` */
};

/* ---- sets ------------------------------------------------------------------------------ */

/* A reference to a group: its name, or its index. */
static gang_result read_set_reference(const struct sets *sets, const struct gang__json *at,
                                      size_t *index)
{
    if (json_is_string(at->value)) {
        size_t found;
        const char *text = json_string_value(at->value);
        if (!gang__lookup_find(&sets->names, text, &found))
            return gang__json_fail(at, GANG_ENOENT, "no group '%s' in this job",
                                   gang__printable(text).s);
        *index = sets->named[found];
        return GANG_OK;
    }
    int64_t number = 0;
    if (!json_is_integer(at->value))
        return gang__json_fail(at, GANG_EINVAL, "must be the name or the index of a group");
    if (sets->count == 0)
        return gang__json_fail(at, GANG_ENOENT, "the job has no groups");
    GANG__TRY(gang__json_int(at, 0, (int64_t)sets->count - 1, &number));
    *index = (size_t)number;
    return GANG_OK;
}

static bool sets_cap(struct gang__reader *r, struct sets *sets)
{
    sets->named = gang__arena_alloc(&r->scratch, sets->count, sizeof(*sets->named));
    sets->parent = gang__arena_alloc(&r->scratch, sets->count, sizeof(*sets->parent));
    sets->place = gang__arena_alloc(&r->scratch, sets->count, sizeof(*sets->place));
    sets->has_min = gang__arena_alloc(&r->scratch, sets->count, sizeof(*sets->has_min));
    return sets->named && sets->parent && sets->place && sets->has_min;
}

static gang_result name_sets(struct gang__reader *r, const struct gang__json *at, struct sets *sets)
{
    const char **texts = gang__arena_alloc(&r->scratch, sets->count, sizeof(*texts));
    size_t named = 0;
    size_t twice;
    if (!texts)
        return gang__json_fail(at, GANG_ENOMEM, "out of memory");
    for (size_t i = 0; i < sets->count; i++) {
        struct gang__json element = gang__json_element(at, i);
        struct gang__json name;
        GANG__TRY(gang__json_object(&element, group_keys, GANG__COUNT(group_keys)));
        if (!gang__json_get(&element, "name", &name))
            continue;
        GANG__TRY(gang__json_name(&name, 1, GANG_MAX_NAME, &texts[named]));
        sets->named[named++] = i;
    }
    if (!gang__lookup_build(&sets->names, &r->scratch, texts, sizeof(*texts), named, &twice))
        return gang__json_fail(at, GANG_ENOMEM, "out of memory");
    if (twice != SIZE_MAX) {
        struct gang__json element = gang__json_element(at, sets->named[twice]);
        struct gang__json name;
        gang__json_get(&element, "name", &name);
        return gang__json_fail(&name, GANG_EEXIST, "'%s' is there twice",
                               gang__printable(texts[twice]).s);
    }
    return GANG_OK;
}

/* Number the sets so that a parent comes before its children and otherwise nothing moves.
 * `place` is SIZE_MAX until a set has its number. */
static gang_result order_sets(const struct gang__json *at, struct sets *sets, size_t *way)
{
    size_t next = 0;
    for (size_t i = 0; i < sets->count; i++)
        sets->place[i] = SIZE_MAX;
    for (size_t i = 0; i < sets->count; i++) {
        size_t length = 0;
        size_t up = i;
        for (; up != SIZE_MAX && sets->place[up] == SIZE_MAX; up = sets->parent[up]) {
            if (length == sets->count) {
                struct gang__json element = gang__json_element(at, up);
                struct gang__json parent;
                gang__json_get(&element, "parent", &parent);
                return gang__json_fail(&parent, GANG_ECYCLE, "the group is its own ancestor");
            }
            way[length++] = up;
        }
        while (length > 0)
            sets->place[way[--length]] = next++;
    }
    return GANG_OK;
}

static gang_result fill_set(struct gang__reader *r, const struct gang__json *at,
                            const struct sets *sets, size_t index, struct gang_group_set_spec *set)
{
    *set = (struct gang_group_set_spec)GANG_GROUP_SET_SPEC_INIT;
    GANG__TRY(gang__read_name_member(r, at, "name", &set->name));
    GANG__TRY(gang__read_int(at, "min", 0, GANG__MAX_TASKS, &set->min));
    GANG__TRY(gang__read_level(r, at, "same", GANG__LEVELS_ALL, &set->same));
    GANG__TRY(gang__read_level(r, at, "prefer", GANG__LEVELS_ALL, &set->prefer));
    if (sets->parent[index] != SIZE_MAX)
        set->parent = (int32_t)sets->place[sets->parent[index]];
    return GANG_OK;
}

static gang_result read_sets(struct gang__reader *r, const struct gang__json *job,
                             struct sets *sets, struct gang_request_spec *request)
{
    struct gang__json at;
    struct gang_group_set_spec *list;
    *sets = (struct sets){0};
    if (!gang__json_get(job, "groups", &at))
        return GANG_OK;
    GANG__TRY(gang__json_array(&at, GANG__MAX_GROUPS, &sets->count));
    if (!sets_cap(r, sets))
        return gang__json_fail(&at, GANG_ENOMEM, "out of memory");
    GANG__TRY(name_sets(r, &at, sets));
    for (size_t i = 0; i < sets->count; i++) {
        struct gang__json element = gang__json_element(&at, i);
        struct gang__json parent;
        sets->parent[i] = SIZE_MAX;
        if (gang__json_get_or_null(&element, "parent", &parent))
            GANG__TRY(read_set_reference(sets, &parent, &sets->parent[i]));
    }
    size_t *way = gang__arena_alloc(&r->scratch, sets->count, sizeof(*way));
    if (!way)
        return gang__json_fail(&at, GANG_ENOMEM, "out of memory");
    GANG__TRY(order_sets(&at, sets, way));
    GANG__KEEP(list, r, &at, sets->count);
    for (size_t i = 0; i < sets->count; i++)
        way[sets->place[i]] = i;
    for (size_t i = 0; i < sets->count; i++) { /* in their new order, parents first */
        size_t index = way[i];
        size_t parent = sets->parent[index];
        struct gang__json element = gang__json_element(&at, index);
        GANG__TRY(fill_set(r, &element, sets, index, &list[i]));
        sets->has_min[index] = json_object_get(element.value, "min") != NULL ||
                               (parent != SIZE_MAX && sets->has_min[parent]);
    }
    request->group_sets = list;
    request->group_set_count = sets->count;
    return GANG_OK;
}

/* ---- tasks ----------------------------------------------------------------------------- */

/* `gpu`, `gpu_devices`, `gpu_mem_mib`: the three ways to ask for GPUs. */
static gang_result read_gpu(const struct gang__json *object, struct gang_group_spec *group)
{
    struct gang__json at;
    struct gang__json devices;
    int64_t milli = 0;
    if (gang__json_get(object, "gpu", &at)) {
        double number = json_number_value(at.value);
        GANG__TRY(gang__json_milli(&at, 0, GANG_MAX_GPUS * 1000, &milli));
        if (milli == 0 && number > 0)
            return gang__json_fail(&at, GANG_ERANGE, "is less than a thousandth of a device");
        if (milli >= 1000 && (milli % 1000 != 0 || number < 1))
            return gang__json_fail(&at, GANG_EINVAL, "must be whole devices or a share below 1");
    }
    group->gpu_milli = milli;
    GANG__TRY(gang__read_memory(object, "gpu_mem_mib", "gpu_mem_bytes", GANG__MAX_MEMORY,
                                &group->gpu_memory_bytes));
    if (milli > 0 && group->gpu_memory_bytes > 0)
        return gang__json_fail(&at, GANG_EINVAL, "given beside GPU memory");
    if (!gang__json_get(object, "gpu_devices", &devices))
        return GANG_OK;
    GANG__TRY(gang__json_int(&devices, 1, GANG_MAX_GPUS, &group->gpu_devices));
    if (milli == 0 && group->gpu_memory_bytes == 0)
        return gang__json_fail(&devices, GANG_EINVAL, "given without 'gpu' or GPU memory");
    if (milli >= 1000 && group->gpu_devices * 1000 != milli)
        return gang__json_fail(&devices, GANG_EINVAL, "contradicts 'gpu'");
    return GANG_OK;
}

static gang_result read_task_amounts(struct gang__reader *r, const struct gang__json *object,
                                     struct gang_group_spec *group)
{
    struct gang_amount *list;
    size_t count;
    GANG__TRY(gang__read_amounts(r, object, false, r->counts_tasks, &list, &count));
    if (r->counts_tasks)
        list[count++] = (struct gang_amount){gang__find_kind(r, GANG__TASKS)->name, 1};
    group->amounts = list;
    group->amount_count = count;
    return GANG_OK;
}

/* How many, and where they belong. */
static gang_result read_count(const struct gang__json *object, bool job_has_min, struct sets *sets,
                              struct gang_group_spec *group)
{
    struct gang__json at;
    bool has_min = job_has_min;
    GANG__TRY(gang__read_int(object, "count", 1, GANG__MAX_TASKS, &group->count));
    if (gang__json_get(object, "group", &at)) {
        size_t index = 0;
        GANG__TRY(read_set_reference(sets, &at, &index));
        group->group_set = (int32_t)sets->place[index];
        has_min = has_min || sets->has_min[index];
    }
    group->min = has_min ? 0 : group->count;
    if (!gang__json_get(object, "min", &at))
        return GANG_OK;
    return gang__json_int(&at, 0, GANG__MAX_TASKS, &group->min);
}

static gang_result read_group(struct gang__reader *r, const struct gang__json *at, bool job_has_min,
                              struct sets *sets, struct gang_group_spec *group)
{
    struct gang__json member;
    *group = (struct gang_group_spec)GANG_GROUP_SPEC_INIT;
    GANG__TRY(gang__rename_old_keys(r, at, GANG__OBJECT_TASK));
    GANG__TRY(gang__json_object(at, task_keys, GANG__COUNT(task_keys)));
    GANG__TRY(gang__read_name_member(r, at, "name", &group->name));
    GANG__TRY(read_count(at, job_has_min, sets, group));
    if (gang__json_get(at, "cpu", &member))
        GANG__TRY(gang__json_milli(&member, 0, GANG_MAX_CPU_MILLI, &group->cpu_milli));
    GANG__TRY(
        gang__read_memory(at, "mem_mib", "mem_bytes", GANG__MAX_TASK_MEMORY, &group->memory_bytes));
    GANG__TRY(read_gpu(at, group));
    if (gang__json_get(at, "gpu_models", &member))
        GANG__TRY(gang__read_names(r, &member, GANG__MAX_LIST, &group->gpu_models,
                                   &group->gpu_model_count));
    GANG__TRY(gang__read_labels(r, at, group));
    GANG__TRY(read_task_amounts(r, at, group));
    return gang__read_demands(r, at, group);
}

gang_result gang__read_group(struct gang__reader *r, const struct gang__json *at,
                             struct gang_group_spec *group)
{
    static const char *const of_jobs[] = {"group", "protected", "order", "role", "after", "min"};
    struct gang__json member;
    GANG__TRY(gang__rename_old_keys(r, at, GANG__OBJECT_TASK));
    GANG__TRY(gang__json_object(at, task_keys, GANG__COUNT(task_keys)));
    for (size_t i = 0; i < GANG__COUNT(of_jobs); i++)
        if (gang__json_get(at, of_jobs[i], &member))
            return gang__json_fail(&member, GANG_EINVAL, "not in a reservation");
    return read_group(r, at, false, NULL, group);
}

static gang_result read_groups(struct gang__reader *r, const struct gang__json *job,
                               struct sets *sets, struct gang_job_spec *out, int64_t *tasks)
{
    struct gang__json at;
    struct gang_group_spec *list;
    int32_t *protected_groups;
    int64_t *order;
    int32_t *roles;
    size_t count;
    bool has_min = json_object_get(job->value, "min") != NULL;
    GANG__TRY(gang__json_need(job, "tasks", &at));
    GANG__TRY(gang__json_array(&at, GANG__MAX_GROUPS, &count));
    if (count == 0)
        return gang__json_fail(&at, GANG_EINVAL, "must not be empty");
    GANG__KEEP(list, r, &at, count);
    GANG__KEEP(protected_groups, r, &at, count);
    GANG__KEEP(order, r, &at, count);
    GANG__KEEP(roles, r, &at, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&at, i);
        GANG__TRY(read_group(r, &element, has_min, sets, &list[i]));
        GANG__TRY(gang__read_bool(&element, "protected", &protected_groups[i]));
        GANG__TRY(gang__read_int(&element, "order", INT64_MIN, INT64_MAX, &order[i]));
        GANG__TRY(gang__read_word(&element, "role", &gang__role_words, &roles[i]));
        *tasks += list[i].count;
        if (*tasks > GANG__MAX_TASKS)
            return gang__json_fail(&at, GANG_ERANGE, "more than %d tasks", GANG__MAX_TASKS);
    }
    out->request.groups = list;
    out->request.group_count = count;
    out->protected_groups = protected_groups;
    out->group_order = order;
    out->roles = roles;
    return gang__read_group_after(r, &at, out);
}

gang_result gang__read_tasks(struct gang__reader *r, const struct gang__json *job,
                             struct gang_job_spec *out, int64_t *tasks)
{
    struct sets sets;
    GANG__TRY(read_sets(r, job, &sets, &out->request));
    return read_groups(r, job, &sets, out, tasks);
}
