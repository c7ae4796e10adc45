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

static const char *const numa_keys[] = {"os_index", "package", "mem_mib", "mem_bytes"};

static gang_result read_numa(struct gang__reader *r, const struct gang__json *at, void *element,
                             const void *owner)
{
    struct gang_numa_spec *numa = element;
    (void)owner;
    (void)r;
    numa->os_index = numa->package = -1;
    GANG__TRY(gang__read_int32(at, "os_index", 0, INT32_MAX, &numa->os_index));
    GANG__TRY(gang__read_int32(at, "package", 0, INT32_MAX, &numa->package));
    return gang__read_memory(at, "mem_mib", "mem_bytes", GANG__MAX_MEMORY, &numa->memory_bytes);
}

static const struct gang__list numa_list = GANG__LIST(
    "numas", GANG_MAX_NUMAS, struct gang_numa_spec, numa_keys, GANG__OBJECT_NONE, read_numa);

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

static const char *const device_keys[] = {"model", "mem_mib", "mem_bytes", "numa",      "pci",
                                          "uuid",  "healthy", "parent",    "mig_index", "pcie"};

static gang_result read_device(struct gang__reader *r, const struct gang__json *at, void *element,
                               const void *owner)
{
    struct gang_gpu_spec *gpu = element;
    const struct gang_node_spec *node = owner;
    GANG__TRY(gang__read_name_member(r, at, "model", &gpu->model));
    GANG__TRY(gang__read_name_member(r, at, "pci", &gpu->pci));
    GANG__TRY(gang__read_name_member(r, at, "uuid", &gpu->uuid));
    GANG__TRY(gang__read_memory(at, "mem_mib", "mem_bytes", GANG__MAX_MEMORY, &gpu->memory_bytes));
    GANG__TRY(read_numa_index(at, node, &gpu->numa));
    int32_t healthy = 1;
    GANG__TRY(gang__read_bool(at, "healthy", &healthy));
    gpu->state = healthy ? GANG_GPU_OK : GANG_GPU_UNHEALTHY;
    GANG__TRY(read_mig_index(r, at, gpu));
    return gang__read_int32(at, "pcie", 1, INT32_MAX, &gpu->pcie);
}

static const struct gang__list device_list = GANG__LIST(
    "devices", GANG_MAX_GPUS, struct gang_gpu_spec, device_keys, GANG__OBJECT_DEVICE, read_device);

static bool same_model(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* `gpus`, `gpu_mem_mib`, `gpu_model`: `gpus` devices, all alike. */
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
        void *list;
        GANG__TRY(gang__read_list(r, &devices, &device_list, node, &list, &node->gpu_count));
        node->gpus = list;
        return GANG_OK;
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

static const char *const link_keys[] = {"a", "b", "type", "hops", "bandwidth_mbps"};

static gang_result read_link(struct gang__reader *r, const struct gang__json *at, void *element,
                             const void *owner)
{
    struct gang_link_spec *link = element;
    const struct gang_node_spec *node = owner;
    struct gang__json member;
    (void)r;
    GANG__TRY(read_gpu_index(at, "a", node, &link->a));
    GANG__TRY(read_gpu_index(at, "b", node, &link->b));
    if (link->a == link->b)
        return gang__json_fail(at, GANG_EINVAL, "links a GPU to itself");
    GANG__TRY(gang__json_need(at, "type", &member));
    GANG__TRY(gang__read_word(at, "type", &gang__link_words, &link->type));
    GANG__TRY(gang__read_int32(at, "hops", 0, INT32_MAX, &link->hops));
    return gang__read_int(at, "bandwidth_mbps", 0, GANG_MAX_AMOUNT, &link->bandwidth_mbps);
}

static const struct gang__list link_list = GANG__LIST(
    "links", GANG__MAX_LIST, struct gang_link_spec, link_keys, GANG__OBJECT_LINK, read_link);

/* One string of digits a GPU. */
static gang_result read_gpu_locality(struct gang__reader *r, const struct gang__json *object,
                                     struct gang_node_spec *node)
{
    struct gang__json at;
    size_t rows;
    uint8_t *locality;
    if (!gang__json_get(object, "gpu_locality", &at))
        return GANG_OK;
    GANG__TRY(gang__json_array(&at, GANG_MAX_GPUS, &rows));
    if (rows == 0 || rows != node->gpu_count)
        return gang__json_fail(&at, GANG_EINVAL, "must have a row for each of %zu GPUs",
                               node->gpu_count);
    GANG__KEEP(locality, r, &at, rows * rows);
    for (size_t i = 0; i < rows; i++) {
        struct gang__json row = gang__json_element(&at, i);
        const char *digits;
        GANG__TRY(gang__json_text(&row, 0, GANG_MAX_GPUS, &digits));
        if (strlen(digits) != rows || strspn(digits, "01234") != rows)
            return gang__json_fail(&row, GANG_EINVAL, "must be %zu digits from 0 to 4", rows);
        for (size_t j = 0; j < rows; j++)
            locality[i * rows + j] = (uint8_t)(digits[j] - '0');
        for (size_t j = 0; j < i; j++)
            if (locality[i * rows + j] != locality[j * rows + i])
                return gang__json_fail(&row, GANG_EINVAL, "differs from column %zu", i);
    }
    node->gpu_locality = locality;
    return GANG_OK;
}

static const char *const core_keys[] = {"os_index", "numa", "threads", "cpuset"};

static gang_result read_core(struct gang__reader *r, const struct gang__json *at, void *element,
                             const void *owner)
{
    struct gang_core_spec *core = element;
    const struct gang_node_spec *node = owner;
    struct gang__json member;
    GANG__TRY(gang__json_need(at, "os_index", &member));
    GANG__TRY(gang__json_int32(&member, 0, INT32_MAX, &core->os_index));
    GANG__TRY(read_numa_index(at, node, &core->numa));
    core->threads = 1;
    GANG__TRY(gang__read_int32(at, "threads", 1, INT32_MAX, &core->threads));
    return gang__read_name_member(r, at, "cpuset", &core->cpuset);
}

static const struct gang__list core_list = GANG__LIST(
    "cores", GANG_MAX_CORES, struct gang_core_spec, core_keys, GANG__OBJECT_NONE, read_core);

static const char *const nic_keys[] = {"name", "pci", "numa"};

static gang_result read_nic(struct gang__reader *r, const struct gang__json *at, void *element,
                            const void *owner)
{
    struct gang_nic_spec *nic = element;
    const struct gang_node_spec *node = owner;
    struct gang__json member;
    GANG__TRY(gang__json_need(at, "name", &member));
    GANG__TRY(gang__read_name(r, &member, &nic->name));
    GANG__TRY(gang__read_name_member(r, at, "pci", &nic->pci));
    return read_numa_index(at, node, &nic->numa);
}

static const struct gang__list nic_list =
    GANG__LIST("nics", GANG_MAX_ITEMS, struct gang_nic_spec, nic_keys, GANG__OBJECT_NONE, read_nic);

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

static const char *const profile_keys[] = {"name", "model", "width", "starts"};

static gang_result read_profile(struct gang__reader *r, const struct gang__json *at, void *element,
                                const void *owner)
{
    struct gang_profile_spec *profile = element;
    (void)owner;
    struct gang__json member;
    GANG__TRY(gang__json_need(at, "name", &member));
    GANG__TRY(gang__read_name(r, &member, &profile->name));
    GANG__TRY(gang__read_name_member(r, at, "model", &profile->model));
    GANG__TRY(gang__json_need(at, "width", &member));
    GANG__TRY(gang__json_int(&member, 1, GANG__MAX_SLICES, &profile->width));
    return read_starts(at, profile);
}

static const struct gang__list profile_list =
    GANG__LIST("profiles", GANG_MAX_ITEMS, struct gang_profile_spec, profile_keys,
               GANG__OBJECT_NONE, read_profile);

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
        if (!list[i].key && !r->alone)
            return gang__json_fail(&member, GANG_ENOENT, "no such level in `levels`");
        if (!list[i].key) {
            GANG__TRY(gang__json_key(&member, GANG_MAX_NAME));
            GANG__TRY(gang__keep_text(r, &member, member.key, &list[i].key));
        }
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
        int64_t max = GANG_MAX_AMOUNT;
        GANG__TRY(gang__read_int(object, "max_tasks", 0, GANG_MAX_AMOUNT, &max));
        list[count++] = (struct gang_amount){gang__find_kind(r, GANG__TASKS)->name, max};
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

/* The optional lists of parts of a node. NUMA nodes come first: GPUs, cores and NICs name them. */
static gang_result read_parts(struct gang__reader *r, const struct gang__json *at,
                              struct gang_node_spec *node)
{
    void *list;
    GANG__TRY(gang__read_list_member(r, at, &numa_list, node, &list, &node->numa_count));
    node->numas = list;
    GANG__TRY(read_gpus(r, at, node));
    GANG__TRY(gang__read_list_member(r, at, &link_list, node, &list, &node->link_count));
    node->links = list;
    GANG__TRY(read_gpu_locality(r, at, node));
    GANG__TRY(gang__read_list_member(r, at, &core_list, node, &list, &node->core_count));
    node->cores = list;
    GANG__TRY(gang__read_list_member(r, at, &nic_list, node, &list, &node->nic_count));
    node->nics = list;
    GANG__TRY(gang__read_list_member(r, at, &profile_list, node, &list, &node->profile_count));
    node->profiles = list;
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
    GANG__TRY(read_parts(r, at, node));
    GANG__TRY(read_amounts(r, at, node));
    GANG__TRY(gang__read_label_map(r, at, GANG_MAX_ITEMS, &node->labels, &node->label_count));
    GANG__TRY(read_topology(r, at, node));
    if (gang__json_get(at, "partitions", &member))
        GANG__TRY(gang__read_names(r, &member, GANG_MAX_ITEMS, &node->partitions,
                                   &node->partition_count));
    GANG__TRY(read_state(at, node));
    /* Every node passes the same check; the rules it has are not repeated above. */
    char path[sizeof(at->error->path)];
    gang_result checked = gang_node_spec_check(node, at->error);
    if (checked == GANG_OK)
        return GANG_OK;
    gang__json_path(at, path, sizeof(path));
    return gang__error_at(at->error, checked, "%s", path);
}
