/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/cli.h"
#include "gangsched/outline.h"
#include "gangsched/topo.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Amounts of a kind in a node or a domain, in the unit of the kind. Free amounts on nodes that
 * are not up count as neither taken nor free. */
struct amounts {
    int64_t capacity;
    int64_t taken;
    int64_t free;
};

/* A node on its way into the tree. */
struct leaf {
    const struct gang_node_spec *spec;
    const char *const *path; /* its value at each level, "" if it has none */
    size_t order;
    int32_t state;
    struct amounts *amounts; /* by kind */
};

/* A line of the tree, in the order in which it is drawn. */
struct row {
    int depth;
    const char *level; /* NULL: a node, or the cluster itself */
    const char *name;
    const struct leaf *node; /* NULL: a domain */
    struct amounts *amounts;
};

struct view {
    gang_cluster *cluster;
    gang_worker *worker;
    const struct gang_scenario *scenario;
    int32_t level_count;
    int32_t kind_count;
    struct gang_kind_info *kinds;
    struct leaf *leaves;
    size_t leaf_count;
    const char **paths;
    struct amounts *amounts; /* of the leaves and, behind them, of the rows */
    size_t amounts_used;
    struct row *rows;
    size_t row_count;
    gang_request **requests; /* of the running jobs, by job */
    const char *path;        /* of the file */
};

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

static struct amounts *take_amounts(struct view *view)
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
    leaf->amounts = take_amounts(view);
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
    row->amounts = take_amounts(view);
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

/* ---- text ---- */

static struct cli_text amount_text(int32_t kind, int64_t amount)
{
    return kind == GANG_KIND_MEMORY                         ? cli_bytes(amount)
           : kind == GANG_KIND_CPU || kind == GANG_KIND_GPU ? cli_milli(amount)
                                                            : cli_number(amount);
}

/* Only kinds with capacity get columns. */
static bool is_shown(const struct view *view, int32_t kind)
{
    return view->kinds[kind].scope == GANG_SCOPE_NODE && view->rows[0].amounts[kind].capacity > 0;
}

static const char *state_text(int32_t state)
{
    return state == GANG_NODE_UP ? "" : state == GANG_NODE_DRAINING ? "draining" : "down";
}

/* "8 x V100", or the models of a mixed node, and its state if it is not up. */
static void describe_node(const struct leaf *leaf, char *text, size_t cap)
{
    const struct gang_node_spec *spec = leaf->spec;
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < spec->gpu_count && length < cap; i++) {
        const char *model = topo_gpu_at(spec, i)->model;
        bool seen = model == NULL || model[0] == '\0';
        for (size_t k = 0; k < i && !seen; k++) {
            const char *other = topo_gpu_at(spec, k)->model;
            seen = other != NULL && strcmp(other, model) == 0;
        }
        if (!seen) {
            length += (size_t)snprintf(text + length, cap - length, "%s%s", length > 0 ? ", " : "",
                                       model);
        }
    }
    if (leaf->state != GANG_NODE_UP && length < cap) {
        snprintf(text + length, cap - length, "%s%s", length > 0 ? ", " : "",
                 state_text(leaf->state));
    }
}

static void add_headings(struct outline *outline, const struct view *view)
{
    static const char *const names[] = {"cores", "memory", "GPUs"};
    outline_add(outline, -1, "%s", "");
    for (int32_t kind = 0; kind < view->kind_count; kind++) {
        if (is_shown(view, kind)) {
            outline_cell(outline, kind < GANG_KIND_SITE ? names[kind] : view->kinds[kind].name);
            outline_cell(outline, "");
        }
    }
    outline_add(outline, -1, "%s", "");
    for (int32_t kind = 0; kind < view->kind_count; kind++) {
        if (is_shown(view, kind)) {
            outline_cell(outline, "taken");
            outline_cell(outline, "free");
        }
    }
}

static void draw_row(struct outline *outline, const struct view *view, const struct row *row)
{
    char note[300];
    outline_add(outline, row->depth, "%s%s%s", row->level != NULL ? row->level : "",
                row->level != NULL ? " " : "", row->name);
    for (int32_t kind = 0; kind < view->kind_count; kind++) {
        if (is_shown(view, kind)) {
            bool any = row->amounts[kind].capacity > 0;
            outline_cell(outline, any ? amount_text(kind, row->amounts[kind].taken).s : "-");
            outline_cell(outline, any ? amount_text(kind, row->amounts[kind].free).s : "-");
        }
    }
    if (row->node != NULL) {
        describe_node(row->node, note, sizeof note);
        if (note[0] != '\0') {
            outline_note(outline, note);
        }
    }
}

static int draw(const struct view *view)
{
    struct outline outline = {0};
    if (view->leaf_count > 0) {
        add_headings(&outline, view);
    }
    for (size_t i = 0; i < view->row_count; i++) {
        draw_row(&outline, view, &view->rows[i]);
    }
    int status = outline_print(&outline);
    for (int32_t kind = 0; kind < view->kind_count; kind++) {
        const struct gang_kind_info *info = &view->kinds[kind];
        if (info->scope == GANG_SCOPE_CLUSTER) {
            cli_print_text(info->name);
            cli_printf(" of the whole cluster: %s taken, %s free\n",
                       cli_number(info->capacity - info->available).s,
                       cli_number(info->available).s);
        }
    }
    return status;
}

/* ---- JSON ---- */

static json_t *json_amounts(const struct view *view, const struct row *row)
{
    json_t *object = json_object();
    for (int32_t kind = 0; kind < view->kind_count; kind++) {
        const struct gang_kind_info *info = &view->kinds[kind];
        if (info->scope == GANG_SCOPE_NODE) {
            const struct amounts *amounts = &row->amounts[kind];
            json_object_set_new(object, info->name,
                                json_pack("{sI sI sI}", "capacity", (json_int_t)amounts->capacity,
                                          "taken", (json_int_t)amounts->taken, "free",
                                          (json_int_t)amounts->free));
        }
    }
    return object;
}

static json_t *json_row(const struct view *view, const struct row *row)
{
    json_t *object = json_object();
    if (row->level != NULL) {
        json_object_set_new(object, "level", json_string(row->level));
    }
    json_object_set_new(object, "name", json_string(row->name));
    if (row->node != NULL) {
        json_object_set_new(
            object, "state",
            json_string(row->node->state == GANG_NODE_UP ? "up" : state_text(row->node->state)));
    }
    json_object_set_new(object, "kinds", json_amounts(view, row));
    if (row->node == NULL) {
        json_object_set_new(object, "domains", json_array());
        json_object_set_new(object, "nodes", json_array());
    }
    return object;
}

static json_t *json_kinds(const struct view *view)
{
    json_t *array = json_array();
    for (int32_t kind = 0; kind < view->kind_count; kind++) {
        const struct gang_kind_info *info = &view->kinds[kind];
        json_t *object =
            json_pack("{ss ss}", "name", info->name, "unit", info->unit != NULL ? info->unit : "");
        if (info->scope == GANG_SCOPE_CLUSTER) {
            json_object_set_new(object, "capacity", json_integer(info->capacity));
            json_object_set_new(object, "taken", json_integer(info->capacity - info->available));
            json_object_set_new(object, "free", json_integer(info->available));
        }
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *to_json(const struct view *view)
{
    json_t *open[GANG_MAX_LEVELS + 2] = {NULL}; /* the domain at each depth; borrowed */
    json_t *root = json_row(view, &view->rows[0]);
    json_t *levels = json_array();
    open[0] = root;
    for (size_t i = 1; i < view->row_count; i++) {
        const struct row *row = &view->rows[i];
        json_t *object = json_row(view, row);
        const char *list = row->node != NULL ? "nodes" : "domains";
        json_array_append_new(json_object_get(open[row->depth - 1], list), object);
        open[row->depth] = object;
    }
    for (int32_t level = 0; level < view->level_count; level++) {
        json_array_append_new(levels, json_string(gang_cluster_level_name(view->cluster, level)));
    }
    json_object_set_new(root, "levels", levels);
    json_object_set_new(root, "all_kinds", json_kinds(view));
    return root;
}

/* ---- cases ---- */

static void close_view(struct view *view)
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

static int open_view(struct view *view)
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

/* What to do with a case. */
enum step { CHECK, DRAW, ADD_JSON };

static int take_case(const char *path, const struct gang_scenario *scenario, enum step step,
                     json_t *array)
{
    struct view view = {.scenario = scenario, .path = path};
    int status = open_view(&view);
    if (status == CLI_OK && step == DRAW) {
        status = draw(&view);
    } else if (status == CLI_OK && step == ADD_JSON) {
        json_array_append_new(array, to_json(&view));
    }
    close_view(&view);
    return status;
}

static int take_cases(const char *path, const gang_scenarios *scenarios, enum step step,
                      json_t *array)
{
    size_t count = gang_scenarios_count(scenarios);
    int status = CLI_OK;
    for (size_t i = 0; i < count && status == CLI_OK; i++) {
        struct gang_scenario scenario = GANG_SCENARIO_INIT;
        gang_result result = gang_scenarios_get(scenarios, i, &scenario);
        if (result != GANG_OK) {
            return cli_failf(path, "%s", gang_strerror(result));
        }
        if (step == DRAW && i > 0) {
            cli_printf("\n");
        }
        status = take_case(path, &scenario, step, array);
    }
    return status;
}

static int print_json(json_t *array)
{
    json_t *what = json_array_size(array) == 1 ? json_array_get(array, 0) : array;
    int failed = json_dump_callback(what, cli_write, NULL, JSON_INDENT(2));
    cli_printf("\n");
    return failed && cli_output_ok() ? cli_no_memory() : CLI_OK;
}

int topo_show_clusters(const char *path, bool json)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios = NULL;
    gang_result result = cli_read_cases(path, &scenarios, &error);
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    if (result != GANG_OK) {
        error.code = result;
        return cli_fail(name, &error);
    }
    json_t *array = json ? json_array() : NULL;
    int status = CLI_OK;
    if (!json && gang_scenarios_count(scenarios) > 1) {
        status = take_cases(name, scenarios, CHECK, NULL); /* print all or nothing */
    }
    if (status == CLI_OK) {
        status = take_cases(name, scenarios, json ? ADD_JSON : DRAW, array);
    }
    if (status == CLI_OK && json) {
        status = print_json(array);
    }
    json_decref(array);
    gang_scenarios_free(scenarios);
    return status;
}
