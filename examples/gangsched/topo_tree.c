/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the tree of a cluster: adopts the running jobs of a case, sums what is taken and free of
 * each node, and orders nodes and domains by name. */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/topo_tree.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"

/* The library's structs may be longer than ours: step by the size they tell. */
static const struct gang_node_spec *node_at(const struct gang_scenario *scenario, size_t i)
{
    return (const void *)((const char *)scenario->nodes + i * scenario->nodes->size);
}

static const struct gang_job_spec *job_at(const struct gang_scenario *scenario, size_t i)
{
    return (const void *)((const char *)scenario->jobs + i * scenario->jobs->size);
}

static const struct gang_group_spec *group_at(const struct gang_request_spec *spec, size_t i)
{
    return (const void *)((const char *)spec->groups + i * spec->group_size);
}

static int fail_result(const struct view *view, gang_result result)
{
    return cli_failf(view->path, "%s", gang_strerror(result));
}

/* ---- jobs that run already ---- */

/* Devices of running jobs have labels of their own; the same label on a node is the same device.
 * The first label met on a node becomes its first GPU, and so on. */
struct device {
    const char *node;
    const char *label;
    int32_t gpu;
};

struct devices {
    struct device *at;
    size_t count;
    size_t cap;
};

/* GPU of a label, found or made; -1 without memory, GANG_MAX_GPUS if there are too many. */
static int32_t find_device(struct devices *devices, const char *node, const char *label)
{
    int32_t next = 0;
    for (size_t i = 0; i < devices->count; i++) {
        const struct device *device = &devices->at[i];
        if (strcmp(device->node, node) != 0) {
            continue;
        }
        if (strcmp(device->label, label) == 0) {
            return device->gpu;
        }
        next++;
    }
    if (!cli_grow((void **)&devices->at, &devices->cap, devices->count, sizeof *devices->at)) {
        return -1;
    }
    devices->at[devices->count++] = (struct device){node, label, next};
    return next;
}

/* Where one task runs. */
static int find_place(const struct view *view, struct devices *devices,
                      const struct gang_running_spec *from, int32_t group,
                      struct gang_placement *to)
{
    struct gang_placement place = GANG_PLACEMENT_INIT;
    place.group = group;
    place.any_devices = from->device_count == 0;
    gang_result result = gang_node_find(view->cluster, from->node, &place.node);
    if (result != GANG_OK) {
        return cli_failf(view->path, "node '%s': %s", from->node, gang_strerror(result));
    }
    for (size_t i = 0; i < from->device_count; i++) {
        int32_t gpu = find_device(devices, from->node, from->devices[i]);
        if (gpu < 0) {
            return cli_no_memory();
        }
        if (gpu >= GANG_MAX_GPUS) {
            return cli_failf(view->path, "node '%s': more than %d devices", from->node,
                             GANG_MAX_GPUS);
        }
        place.gpus |= (uint64_t)1 << gpu;
    }
    *to = place;
    return CLI_OK;
}

static bool has_devices(const struct gang_job_spec *job)
{
    for (size_t i = 0; i < job->place_count; i++) {
        if (job->places[i].node != NULL && job->places[i].device_count > 0) {
            return true;
        }
    }
    return false;
}

/* Let a running job hold its places. */
static int adopt_job(struct view *view, struct devices *devices, const struct gang_job_spec *job,
                     gang_request **request)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_placement *places = calloc(job->place_count + 1, sizeof *places);
    gang_alloc_id id;
    int64_t count = 0;
    size_t task = 0;
    int status = places != NULL ? CLI_OK : cli_no_memory();
    for (size_t g = 0; g < job->request.group_count && status == CLI_OK; g++) {
        int64_t tasks = group_at(&job->request, g)->count;
        for (int64_t i = 0; i < tasks && task < job->place_count && status == CLI_OK; i++, task++) {
            if (job->places[task].node != NULL) {
                status =
                    find_place(view, devices, &job->places[task], (int32_t)g, &places[count++]);
            }
        }
    }
    if (status == CLI_OK && count > 0) {
        gang_result result = gang_request_new(view->cluster, &job->request, request, &error);
        if (result == GANG_OK) {
            result = gang_alloc_adopt(view->worker, *request, places, count, &id, &error);
        }
        if (result != GANG_OK) {
            status = cli_failf(view->path, "job '%s': %s%s%s", job->name, error.path,
                               error.path[0] != '\0' ? ": " : "",
                               error.text[0] != '\0' ? error.text : gang_strerror(result));
        }
    }
    free(places);
    return status;
}

/* First the jobs that name their devices, so that the others get what is left. */
static int adopt_jobs(struct view *view)
{
    const struct gang_scenario *scenario = view->scenario;
    struct devices devices = {0};
    int status = CLI_OK;
    view->requests = calloc(scenario->job_count + 1, sizeof(gang_request *));
    if (view->requests == NULL) {
        return cli_no_memory();
    }
    for (int named = 1; named >= 0; named--) {
        for (size_t i = 0; i < scenario->job_count && status == CLI_OK; i++) {
            const struct gang_job_spec *job = job_at(scenario, i);
            if (job->running && has_devices(job) == (named == 1)) {
                status = adopt_job(view, &devices, job, &view->requests[i]);
            }
        }
    }
    free(devices.at);
    return status;
}

/* ---- nodes ---- */

static const char *value_at(const struct gang_node_spec *spec, const char *level)
{
    for (size_t i = 0; i < spec->topology_count; i++) {
        if (strcmp(spec->topology[i].key, level) == 0) {
            return spec->topology[i].value;
        }
    }
    return "";
}

static void fill_amounts(const struct view *view, const struct gang_node_info *info,
                         struct amounts *amounts)
{
    bool up = info->state == GANG_NODE_UP;
    for (int32_t kind = 0; kind < view->kind_count; kind++) {
        int64_t capacity = 0;
        int64_t left = 0;
        switch (kind) {
        case GANG_KIND_CPU:
            capacity = info->cpu_milli;
            left = info->cpu_free;
            break;
        case GANG_KIND_MEMORY:
            capacity = info->memory_bytes;
            left = info->memory_free;
            break;
        case GANG_KIND_GPU:
            capacity = (int64_t)info->gpu_count * 1000;
            left = info->gpu_free;
            break;
        default:
            capacity = info->amount[kind];
            left = info->amount_free[kind];
        }
        amounts[kind] = (struct amounts){capacity, capacity - left, up ? left : 0};
    }
}

static struct amounts *next_amounts(struct view *view)
{
    struct amounts *amounts = view->amounts + view->amounts_used;
    view->amounts_used += (size_t)view->kind_count;
    return amounts;
}

static int read_leaf(struct view *view, size_t i)
{
    struct leaf *leaf = &view->leaves[i];
    struct gang_node_info *info = calloc(1, sizeof *info);
    gang_node_id id;
    if (info == NULL) {
        return cli_no_memory();
    }
    info->size = sizeof *info;
    leaf->spec = node_at(view->scenario, i);
    leaf->order = i;
    leaf->amounts = next_amounts(view);
    gang_result result = gang_node_find(view->cluster, leaf->spec->name, &id);
    if (result == GANG_OK) {
        result = gang_node_get(view->cluster, id, info);
    }
    if (result == GANG_OK) {
        leaf->state = info->state;
        fill_amounts(view, info, leaf->amounts);
    }
    free(info);
    const char **path = view->paths + i * (size_t)view->level_count;
    leaf->path = path;
    for (int32_t level = 0; level < view->level_count; level++) {
        path[level] = value_at(leaf->spec, gang_cluster_level_name(view->cluster, level));
    }
    return result == GANG_OK ? CLI_OK : fail_result(view, result);
}

static int read_kinds(struct view *view)
{
    struct gang_kind_info info = GANG_KIND_INFO_INIT;
    while (view->kind_count < GANG_MAX_KINDS &&
           gang_kind_get(view->cluster, view->kind_count, &info) == GANG_OK) {
        view->kind_count++;
    }
    view->kinds = calloc((size_t)view->kind_count, sizeof *view->kinds);
    if (view->kinds == NULL) {
        return cli_no_memory();
    }
    for (int32_t kind = 0; kind < view->kind_count; kind++) {
        view->kinds[kind].size = sizeof info;
        gang_result result = gang_kind_get(view->cluster, kind, &view->kinds[kind]);
        if (result != GANG_OK) {
            return fail_result(view, result);
        }
    }
    return CLI_OK;
}

/* ---- the tree ---- */

/* As people count: r2 before r10. */
static int compare_names(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t length_a = strspn(a, "0123456789");
            size_t length_b = strspn(b, "0123456789");
            int order =
                length_a != length_b ? (length_a < length_b ? -1 : 1) : strncmp(a, b, length_a);
            if (order != 0) {
                return order;
            }
            a += length_a;
            b += length_b;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

/* qsort() passes no context: how many levels the paths have. */
static int32_t compared_levels;

static int compare_leaves(const void *left, const void *right)
{
    const struct leaf *a = left;
    const struct leaf *b = right;
    for (int32_t level = 0; level < compared_levels; level++) {
        int order = compare_names(a->path[level], b->path[level]);
        order = order != 0 ? order : strcmp(a->path[level], b->path[level]);
        if (order != 0) {
            return order;
        }
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

static struct row *add_row(struct view *view, int depth, const char *level, const char *name)
{
    struct row *row = &view->rows[view->row_count++];
    *row = (struct row){depth, level, name, NULL, NULL};
    return row;
}

static void add_sum(struct view *view, struct row *row, const struct leaf *leaves, size_t count)
{
    row->amounts = next_amounts(view);
    for (size_t i = 0; i < count; i++) {
        for (int32_t kind = 0; kind < view->kind_count; kind++) {
            row->amounts[kind].capacity += leaves[i].amounts[kind].capacity;
            row->amounts[kind].taken += leaves[i].amounts[kind].taken;
            row->amounts[kind].free += leaves[i].amounts[kind].free;
        }
    }
}

/* Rows of a range of nodes that share the domains above `level`. */
static void add_rows(struct view *view, const struct leaf *leaves, size_t count, int32_t level,
                     int depth)
{
    if (level == view->level_count) {
        for (size_t i = 0; i < count; i++) {
            struct row *row = add_row(view, depth, NULL, leaves[i].spec->name);
            row->node = &leaves[i];
            row->amounts = leaves[i].amounts;
        }
        return;
    }
    for (size_t first = 0, next; first < count; first = next) {
        const char *value = leaves[first].path[level];
        for (next = first + 1; next < count; next++) {
            if (strcmp(leaves[next].path[level], value) != 0) {
                break;
            }
        }
        /* Skip a level "host" if each node is a domain of its own. */
        bool plain = value[0] == '\0' || (next - first == 1 && level + 1 == view->level_count &&
                                          strcmp(value, leaves[first].spec->name) == 0);
        if (!plain) {
            struct row *row =
                add_row(view, depth, gang_cluster_level_name(view->cluster, level), value);
            add_sum(view, row, leaves + first, next - first);
        }
        add_rows(view, leaves + first, next - first, level + 1, plain ? depth : depth + 1);
    }
}

static int build_tree(struct view *view)
{
    size_t nodes = view->scenario->node_count;
    size_t levels = (size_t)view->level_count;
    size_t rows = 1 + nodes * (levels + 1);
    view->leaves = calloc(nodes + 1, sizeof *view->leaves);
    view->paths = calloc(nodes * levels + 1, sizeof(char *));
    view->rows = calloc(rows, sizeof *view->rows);
    view->amounts = calloc((nodes + rows) * (size_t)view->kind_count, sizeof *view->amounts);
    if (view->leaves == NULL || view->paths == NULL || view->rows == NULL ||
        view->amounts == NULL) {
        return cli_no_memory();
    }
    for (size_t i = 0; i < nodes; i++) {
        int status = read_leaf(view, i);
        if (status != CLI_OK) {
            return status;
        }
    }
    view->leaf_count = nodes;
    compared_levels = view->level_count;
    qsort(view->leaves, nodes, sizeof *view->leaves, compare_leaves);
    const char *id = view->scenario->id;
    struct row *top = add_row(view, 0, NULL, id != NULL && id[0] != '\0' ? id : "cluster");
    add_sum(view, top, view->leaves, nodes);
    add_rows(view, view->leaves, nodes, 0, 1);
    return CLI_OK;
}

/* ---- the cluster ---- */

void topo_tree_close(struct view *view)
{
    for (size_t i = 0; view->requests != NULL && i < view->scenario->job_count; i++) {
        gang_request_free(view->requests[i]);
    }
    free(view->requests);
    gang_worker_free(view->worker);
    gang_cluster_free(view->cluster);
    free(view->kinds);
    free(view->leaves);
    free(view->paths);
    free(view->amounts);
    free(view->rows);
}

int topo_tree_open(struct view *view)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result result = gang_cluster_build(view->scenario, NULL, &view->cluster, &error);
    if (result != GANG_OK) {
        error.code = result;
        return cli_fail(view->path, &error);
    }
    result = gang_worker_new(view->cluster, &view->worker);
    if (result != GANG_OK) {
        return fail_result(view, result);
    }
    view->level_count = gang_cluster_level_count(view->cluster);
    int status = adopt_jobs(view);
    status = status == CLI_OK ? read_kinds(view) : status;
    return status == CLI_OK ? build_tree(view) : status;
}
