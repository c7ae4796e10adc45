/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one node of a scenario. */
#include "scenario/read_in.h"

#include <string.h>

static const char *const node_keys[] = {
    "name",          "cpus",          "mem_mib", "mem_bytes", "gpus",         "gpu_mem_mib",
    "gpu_mem_bytes", "gpu_model",     "devices", "links",     "gpu_locality", "numas",
    "cores",         "nics",          "amounts", "labels",    "topology",     "partitions",
    "max_tasks",     "unschedulable", "state",   "profiles"};

static gang_result read_numa_index(const struct gang__json *object,
                                   const struct gang_node_spec *node, int32_t *numa)
{
    struct gang__json at;
    *numa = -1;
    if (!gang__json_get(object, "numa", &at))
        return GANG_OK;
    if (node->numa_count == 0)
        return gang__json_fail(&at, GANG_EINVAL, "the node has no `numas`");
    return gang__json_int32(&at, 0, (int32_t)node->numa_count - 1, numa);
}

static gang_result read_numas(struct gang__reader *r, const struct gang__json *object,
                              struct gang_node_spec *node)
{
    static const char *const keys[] = {"os_index", "package", "mem_mib", "mem_bytes"};
    struct gang__json at;
    struct gang_numa_spec *list;
    size_t count;
    if (!gang__json_get(object, "numas", &at))
        return GANG_OK;
    GANG__TRY(gang__json_array(&at, GANG_MAX_NUMAS, &count));
    GANG__KEEP(list, r, &at, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&at, i);
        GANG__TRY(gang__json_object(&element, keys, GANG__COUNT(keys)));
        list[i].os_index = list[i].package = -1;
        GANG__TRY(gang__read_int32(&element, "os_index", 0, INT32_MAX, &list[i].os_index));
        GANG__TRY(gang__read_int32(&element, "package", 0, INT32_MAX, &list[i].package));
        GANG__TRY(gang__read_memory(&element, "mem_mib", "mem_bytes", GANG__MAX_MEMORY,
                                    &list[i].memory_bytes));
    }
    node->numas = list;
    node->numa_count = count;
    return GANG_OK;
}

/* `parent` and `mig_index` of a MIG instance. */
static gang_result read_mig_index(struct gang__reader *r, const struct gang__json *object,
                                  struct gang_gpu_spec *gpu)
{
    struct gang__json at;
    GANG__TRY(gang__read_name_member(r, object, "parent", &gpu->parent));
    if (!gang__json_get(object, "mig_index", &at))
        return GANG_OK;
    if (!gpu->parent)
        return gang__json_fail(&at, GANG_EINVAL, "given without 'parent'");
    return gang__json_int32(&at, 0, GANG__MAX_SLICES - 1, &gpu->mig_index);
}

static gang_result read_devices(struct gang__reader *r, const struct gang__json *at,
                                struct gang_node_spec *node)
{
    static const char *const keys[] = {"model", "mem_mib", "mem_bytes", "numa",      "pci",
                                       "uuid",  "healthy", "parent",    "mig_index", "pcie"};
    struct gang_gpu_spec *list;
    size_t count;
    GANG__TRY(gang__json_array(at, GANG_MAX_GPUS, &count));
    GANG__KEEP(list, r, at, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(at, i);
        GANG__TRY(gang__rename_old_keys(r, &element, GANG__OBJECT_DEVICE));
        GANG__TRY(gang__json_object(&element, keys, GANG__COUNT(keys)));
        GANG__TRY(gang__read_name_member(r, &element, "model", &list[i].model));
        GANG__TRY(gang__read_name_member(r, &element, "pci", &list[i].pci));
        GANG__TRY(gang__read_name_member(r, &element, "uuid", &list[i].uuid));
        GANG__TRY(gang__read_memory(&element, "mem_mib", "mem_bytes", GANG__MAX_MEMORY,
                                    &list[i].memory_bytes));
        GANG__TRY(read_numa_index(&element, node, &list[i].numa));
        int32_t healthy = 1;
        GANG__TRY(gang__read_bool(&element, "healthy", &healthy));
        list[i].state = healthy ? GANG_GPU_OK : GANG_GPU_UNHEALTHY;
        GANG__TRY(read_mig_index(r, &element, &list[i]));
        GANG__TRY(gang__read_int32(&element, "pcie", 1, INT32_MAX, &list[i].pcie));
    }
    node->gpus = list;
    node->gpu_count = count;
    return GANG_OK;
}

static bool same_model(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* `gpus`, `gpu_mem_mib`, `gpu_model`: so many devices, all alike. */
static gang_result read_gpus_alike(struct gang__reader *r, const struct gang__json *object,
                                   const struct gang__json *at, struct gang_node_spec *node)
{
    int64_t count = 0;
    int64_t memory = 0;
    struct gang__json model_at;
    const char *model = NULL;
    GANG__TRY(gang__json_int(at, 0, INT64_MAX, &count));
    if (count > GANG_MAX_GPUS)
        return gang__json_fail(at, GANG_ELIMIT, "a node has at most %d GPUs", GANG_MAX_GPUS);
    GANG__TRY(gang__read_memory(object, "gpu_mem_mib", "gpu_mem_bytes", GANG__MAX_MEMORY, &memory));
    if (gang__json_get(object, "gpu_model", &model_at))
        GANG__TRY(gang__json_name(&model_at, 1, GANG_MAX_NAME, &model));
    if (count == 0)
        return GANG_OK;
    const struct gang_gpu_spec *alike = r->alike[count];
    if (!alike || alike->memory_bytes != memory || !same_model(alike->model, model)) {
        struct gang_gpu_spec *list;
        GANG__KEEP(list, r, at, (size_t)count);
        if (model)
            GANG__TRY(gang__keep_text(r, &model_at, model, &model));
        for (int64_t i = 0; i < count; i++) {
            list[i].model = model;
            list[i].memory_bytes = memory;
            list[i].numa = -1;
        }
        r->alike[count] = alike = list;
    }
    node->gpus = alike;
    node->gpu_count = (size_t)count;
    return GANG_OK;
}

static gang_result read_gpus(struct gang__reader *r, const struct gang__json *object,
                             struct gang_node_spec *node)
{
    static const char *const short_form[] = {"gpus", "gpu_mem_mib", "gpu_mem_bytes", "gpu_model"};
    struct gang__json devices;
    struct gang__json at;
    if (gang__json_get(object, "devices", &devices)) {
        for (size_t i = 0; i < GANG__COUNT(short_form); i++)
            if (gang__json_get(object, short_form[i], &at))
                return gang__json_fail(&at, GANG_EINVAL, "given beside 'devices'");
        return read_devices(r, &devices, node);
    }
    if (gang__json_get(object, "gpus", &at))
        return read_gpus_alike(r, object, &at, node);
    for (size_t i = 1; i < GANG__COUNT(short_form); i++)
        if (gang__json_get(object, short_form[i], &at))
            return gang__json_fail(&at, GANG_EINVAL, "given without 'gpus'");
    return GANG_OK;
}

static gang_result read_gpu_index(const struct gang__json *object, const char *key,
                                  const struct gang_node_spec *node, int32_t *gpu)
{
    struct gang__json at;
    GANG__TRY(gang__json_need(object, key, &at));
    if (node->gpu_count == 0)
        return gang__json_fail(&at, GANG_EINVAL, "the node has no GPUs");
    return gang__json_int32(&at, 0, (int32_t)node->gpu_count - 1, gpu);
}

static gang_result read_links(struct gang__reader *r, const struct gang__json *object,
                              struct gang_node_spec *node)
{
    static const char *const keys[] = {"a", "b", "type", "hops", "bandwidth_mbps"};
    struct gang__json at;
    struct gang__json member;
    struct gang_link_spec *list;
    size_t count;
    if (!gang__json_get(object, "links", &at))
        return GANG_OK;
    GANG__TRY(gang__json_array(&at, GANG__MAX_LIST, &count));
    GANG__KEEP(list, r, &at, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&at, i);
        GANG__TRY(gang__rename_old_keys(r, &element, GANG__OBJECT_LINK));
        GANG__TRY(gang__json_object(&element, keys, GANG__COUNT(keys)));
        GANG__TRY(read_gpu_index(&element, "a", node, &list[i].a));
        GANG__TRY(read_gpu_index(&element, "b", node, &list[i].b));
        if (list[i].a == list[i].b)
            return gang__json_fail(&element, GANG_EINVAL, "links a GPU to itself");
        GANG__TRY(gang__json_need(&element, "type", &member));
        GANG__TRY(gang__read_word(&element, "type", &gang__link_words, &list[i].type));
        GANG__TRY(gang__read_int32(&element, "hops", 0, INT32_MAX, &list[i].hops));
        GANG__TRY(gang__read_int(&element, "bandwidth_mbps", 0, GANG_MAX_AMOUNT,
                                 &list[i].bandwidth_mbps));
    }
    node->links = list;
    node->link_count = count;
    return GANG_OK;
}

/* One string of digits a GPU. */
static gang_result read_gpu_locality(struct gang__reader *r, const struct gang__json *object,
                                     struct gang_node_spec *node)
{
    struct gang__json at;
    size_t rows;
    uint8_t *near;
    if (!gang__json_get(object, "gpu_locality", &at))
        return GANG_OK;
    GANG__TRY(gang__json_array(&at, GANG_MAX_GPUS, &rows));
    if (rows == 0 || rows != node->gpu_count)
        return gang__json_fail(&at, GANG_EINVAL, "must have a row for each of %zu GPUs",
                               node->gpu_count);
    GANG__KEEP(near, r, &at, rows * rows);
    for (size_t i = 0; i < rows; i++) {
        struct gang__json row = gang__json_element(&at, i);
        const char *digits;
        GANG__TRY(gang__json_text(&row, 0, GANG_MAX_GPUS, &digits));
        if (strlen(digits) != rows || strspn(digits, "01234") != rows)
            return gang__json_fail(&row, GANG_EINVAL, "must be %zu digits from 0 to 4", rows);
        for (size_t j = 0; j < rows; j++)
            near[i * rows + j] = (uint8_t)(digits[j] - '0');
        for (size_t j = 0; j < i; j++)
            if (near[i * rows + j] != near[j * rows + i])
                return gang__json_fail(&row, GANG_EINVAL, "differs from column %zu", i);
    }
    node->gpu_locality = near;
    return GANG_OK;
}

static gang_result read_cores(struct gang__reader *r, const struct gang__json *object,
                              struct gang_node_spec *node)
{
    static const char *const keys[] = {"os_index", "numa", "threads", "cpuset"};
    struct gang__json at;
    struct gang__json member;
    struct gang_core_spec *list;
    size_t count;
    if (!gang__json_get(object, "cores", &at))
        return GANG_OK;
    GANG__TRY(gang__json_array(&at, GANG_MAX_CORES, &count));
    GANG__KEEP(list, r, &at, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&at, i);
        GANG__TRY(gang__json_object(&element, keys, GANG__COUNT(keys)));
        GANG__TRY(gang__json_need(&element, "os_index", &member));
        GANG__TRY(gang__json_int32(&member, 0, INT32_MAX, &list[i].os_index));
        GANG__TRY(read_numa_index(&element, node, &list[i].numa));
        list[i].threads = 1;
        GANG__TRY(gang__read_int32(&element, "threads", 1, INT32_MAX, &list[i].threads));
        GANG__TRY(gang__read_name_member(r, &element, "cpuset", &list[i].cpuset));
    }
    node->cores = list;
    node->core_count = count;
    return GANG_OK;
}

static gang_result read_nics(struct gang__reader *r, const struct gang__json *object,
                             struct gang_node_spec *node)
{
    static const char *const keys[] = {"name", "pci", "numa"};
    struct gang__json at;
    struct gang__json member;
    struct gang_nic_spec *list;
    size_t count;
    if (!gang__json_get(object, "nics", &at))
        return GANG_OK;
    GANG__TRY(gang__json_array(&at, GANG_MAX_ITEMS, &count));
    GANG__KEEP(list, r, &at, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&at, i);
        GANG__TRY(gang__json_object(&element, keys, GANG__COUNT(keys)));
        GANG__TRY(gang__json_need(&element, "name", &member));
        GANG__TRY(gang__read_name(r, &member, &list[i].name));
        GANG__TRY(gang__read_name_member(r, &element, "pci", &list[i].pci));
        GANG__TRY(read_numa_index(&element, node, &list[i].numa));
    }
    node->nics = list;
    node->nic_count = count;
    return GANG_OK;
}

static gang_result read_starts(const struct gang__json *object, struct gang_profile_spec *profile)
{
    struct gang__json at;
    size_t count;
    GANG__TRY(gang__json_need(object, "starts", &at));
    GANG__TRY(gang__json_array(&at, GANG__MAX_SLICES, &count));
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&at, i);
        int32_t start;
        GANG__TRY(gang__json_int32(&element, 0, GANG__MAX_SLICES - 1, &start));
        if (profile->starts >> start & 1)
            return gang__json_fail(&element, GANG_EEXIST, "%d is there twice", start);
        profile->starts |= UINT64_C(1) << start;
    }
    return GANG_OK;
}

static gang_result read_profiles(struct gang__reader *r, const struct gang__json *object,
                                 struct gang_node_spec *node)
{
    static const char *const keys[] = {"name", "model", "width", "starts"};
    struct gang__json at;
    struct gang__json member;
    struct gang_profile_spec *list;
    size_t count;
    if (!gang__json_get(object, "profiles", &at))
        return GANG_OK;
    GANG__TRY(gang__json_array(&at, GANG_MAX_ITEMS, &count));
    GANG__KEEP(list, r, &at, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&at, i);
        GANG__TRY(gang__json_object(&element, keys, GANG__COUNT(keys)));
        GANG__TRY(gang__json_need(&element, "name", &member));
        GANG__TRY(gang__read_name(r, &member, &list[i].name));
        GANG__TRY(gang__read_name_member(r, &element, "model", &list[i].model));
        GANG__TRY(gang__json_need(&element, "width", &member));
        GANG__TRY(gang__json_int(&member, 1, GANG__MAX_SLICES, &list[i].width));
        GANG__TRY(read_starts(&element, &list[i]));
    }
    node->profiles = list;
    node->profile_count = count;
    return GANG_OK;
}

static gang_result read_topology(struct gang__reader *r, const struct gang__json *object,
                                 struct gang_node_spec *node)
{
    struct gang__json at;
    struct gang_label *list;
    if (!gang__json_get(object, "topology", &at))
        return GANG_OK;
    GANG__TRY(gang__json_map(&at, GANG__MAX_LIST));
    size_t count = json_object_size(at.value);
    GANG__KEEP(list, r, &at, count);
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    for (size_t i = 0; i < count && gang__json_next(&at, &member); i++) {
        for (size_t level = 0; level < r->out->level_count && !list[i].key; level++)
            if (strcmp(member.key, r->out->levels[level]) == 0)
                list[i].key = r->out->levels[level];
        if (!list[i].key)
            return gang__json_fail(&member, GANG_ENOENT, "no such level in `levels`");
        GANG__TRY(gang__read_name(r, &member, &list[i].value));
    }
    node->topology = list;
    node->topology_count = count;
    return GANG_OK;
}

/* `amounts`, and `max_tasks` as an amount of the kind "tasks". */
static gang_result read_amounts(struct gang__reader *r, const struct gang__json *object,
                                struct gang_node_spec *node)
{
    struct gang_amount *list;
    size_t count;
    GANG__TRY(gang__read_amounts(r, object, true, r->counts_tasks, &list, &count));
    if (r->counts_tasks) {
        int64_t most = GANG_MAX_AMOUNT;
        GANG__TRY(gang__read_int(object, "max_tasks", 0, GANG_MAX_AMOUNT, &most));
        list[count++] = (struct gang_amount){gang__find_kind(r, GANG__TASKS)->name, most};
    }
    node->amounts = list;
    node->amount_count = count;
    return GANG_OK;
}

static gang_result read_state(const struct gang__json *object, struct gang_node_spec *node)
{
    struct gang__json at;
    struct gang__json flag;
    int32_t closed = 0;
    node->state = GANG_NODE_UP;
    GANG__TRY(gang__read_bool(object, "unschedulable", &closed));
    if (gang__json_get(object, "state", &at)) {
        if (gang__json_get(object, "unschedulable", &flag))
            return gang__json_fail(&at, GANG_EINVAL, "given beside 'unschedulable'");
        GANG__TRY(gang__read_word(object, "state", &gang__state_words, &node->state));
    }
    if (closed)
        node->state = GANG_NODE_DRAINING;
    return GANG_OK;
}

gang_result gang__read_node(struct gang__reader *r, const struct gang__json *at,
                            struct gang_node_spec *node)
{
    struct gang__json member;
    *node = (struct gang_node_spec)GANG_NODE_SPEC_INIT;
    GANG__TRY(gang__rename_old_keys(r, at, GANG__OBJECT_NODE));
    GANG__TRY(gang__json_object(at, node_keys, GANG__COUNT(node_keys)));
    GANG__TRY(gang__json_need(at, "name", &member));
    GANG__TRY(gang__read_name(r, &member, &node->name));
    if (gang__json_get(at, "cpus", &member))
        GANG__TRY(gang__json_milli(&member, 0, GANG_MAX_CPU_MILLI, &node->cpu_milli));
    GANG__TRY(gang__read_memory(at, "mem_mib", "mem_bytes", GANG__MAX_MEMORY, &node->memory_bytes));
    GANG__TRY(read_numas(r, at, node));
    GANG__TRY(read_gpus(r, at, node));
    GANG__TRY(read_links(r, at, node));
    GANG__TRY(read_gpu_locality(r, at, node));
    GANG__TRY(read_cores(r, at, node));
    GANG__TRY(read_nics(r, at, node));
    GANG__TRY(read_profiles(r, at, node));
    GANG__TRY(read_amounts(r, at, node));
    GANG__TRY(gang__read_label_map(r, at, GANG_MAX_ITEMS, &node->labels, &node->label_count));
    GANG__TRY(read_topology(r, at, node));
    if (gang__json_get(at, "partitions", &member))
        GANG__TRY(gang__read_names(r, &member, GANG_MAX_ITEMS, &node->partitions,
                                   &node->partition_count));
    GANG__TRY(read_state(at, node));
    /* The same judge as for every other node: what it finds was not looked for above. */
    char path[sizeof(at->error->path)];
    gang_result checked = gang_node_spec_check(node, at->error);
    if (checked == GANG_OK)
        return GANG_OK;
    gang__json_path(at, path, sizeof(path));
    return gang__error_at(at->error, checked, "%s", path);
}
