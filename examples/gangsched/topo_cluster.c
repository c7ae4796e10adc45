/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched topo FILE: prints the tree of each case as text or as JSON. */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/cli.h"
#include "gangsched/json_out.h"
#include "gangsched/outline.h"
#include "gangsched/topo.h"
#include "gangsched/topo_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
            json_put(object, info->name,
                     json_pack("{sI sI sI}", "capacity", (json_int_t)amounts->capacity, "taken",
                               (json_int_t)amounts->taken, "free", (json_int_t)amounts->free));
        }
    }
    return object;
}

static json_t *json_row(const struct view *view, const struct row *row)
{
    json_t *object = json_object();
    if (row->level != NULL) {
        json_put(object, "level", json_string(row->level));
    }
    json_put(object, "name", json_string(row->name));
    if (row->node != NULL) {
        json_put(
            object, "state",
            json_string(row->node->state == GANG_NODE_UP ? "up" : state_text(row->node->state)));
    }
    json_put(object, "kinds", json_amounts(view, row));
    if (row->node == NULL) {
        json_put(object, "domains", json_array());
        json_put(object, "nodes", json_array());
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
            json_put(object, "capacity", json_integer(info->capacity));
            json_put(object, "taken", json_integer(info->capacity - info->available));
            json_put(object, "free", json_integer(info->available));
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
    json_put(root, "levels", levels);
    json_put(root, "all_kinds", json_kinds(view));
    return root;
}

/* ---- cases ---- */

/* What to do with a case. */
enum output { CHECK, DRAW, ADD_JSON };

static int show_case(const char *path, const struct gang_scenario *scenario, enum output output,
                     json_t *array)
{
    struct view view = {.scenario = scenario, .path = path};
    int status = topo_tree_open(&view);
    if (status == CLI_OK && output == DRAW) {
        status = draw(&view);
    } else if (status == CLI_OK && output == ADD_JSON) {
        json_array_append_new(array, to_json(&view));
    }
    topo_tree_close(&view);
    return status;
}

static int show_cases(const char *path, const gang_scenarios *scenarios, enum output output,
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
        if (output == DRAW && i > 0) {
            cli_printf("\n");
        }
        status = show_case(path, &scenario, output, array);
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
        status = show_cases(name, scenarios, CHECK, NULL); /* print all or nothing */
    }
    if (status == CLI_OK) {
        status = show_cases(name, scenarios, json ? ADD_JSON : DRAW, array);
    }
    if (status == CLI_OK && json) {
        status = print_json(array);
    }
    json_decref(array);
    gang_scenarios_free(scenarios);
    return status;
}
