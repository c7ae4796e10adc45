/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the nodes of a replay from a file, and adds them to a cluster. */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/arrivals.h"

#include "gangsched/cli.h"
#include "gangsched/csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_NAME, NODE_CPU, NODE_MEMORY, NODE_GPU, NODE_MODEL, NODE_COLUMN_COUNT };
static const char *const node_columns[NODE_COLUMN_COUNT] = {"sn", "cpu_milli", "memory_mib", "gpu",
                                                            "model"};

/* Index of a model, added if it is new; -1 without memory. There are few. */
static int32_t intern_model(struct trace_nodes *nodes, const char *name)
{
    for (size_t i = 0; i < nodes->model_count; i++) {
        if (strcmp(nodes->models[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    struct trace_model *larger =
        realloc(nodes->models, (nodes->model_count + 1) * sizeof *nodes->models);
    if (larger == NULL) {
        return -1;
    }
    nodes->models = larger;
    struct trace_model *model = &larger[nodes->model_count];
    memset(model, 0, sizeof *model);
    snprintf(model->name, sizeof model->name, "%s", name);
    return (int32_t)nodes->model_count++;
}

static bool grow_nodes(struct trace_nodes *nodes)
{
    size_t ids = nodes->cap, model = nodes->cap;
    return cli_grow((void **)&nodes->ids, &ids, nodes->count, sizeof *nodes->ids) &&
           cli_grow((void **)&nodes->model, &model, nodes->count, sizeof *nodes->model) &&
           cli_grow((void **)&nodes->names, &nodes->cap, nodes->count, sizeof(char *));
}

/* What the library says of a node, in the words of the file. */
static bool fail_node(struct csv *csv, const int *column, const char *name, gang_result result,
                      const struct gang_error *error)
{
    int where = strcmp(error->path, "name") == 0        ? column[NODE_NAME]
                : strstr(error->path, ".model") != NULL ? column[NODE_MODEL]
                                                        : -1;
    if (result == GANG_EEXIST) {
        return csv_fail(csv, column[NODE_NAME], result, "a node '%.100s' is there already", name);
    }
    return csv_fail(csv, where, result, "%s",
                    error->text[0] != '\0' ? error->text : gang_strerror(result));
}

/* Add the current record to the cluster and to `nodes`. */
static bool add_node(struct csv *csv, const int *column, gang_worker *worker,
                     struct trace_nodes *nodes)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    struct gang_gpu_spec gpus[GANG_MAX_GPUS] = {{0}};
    struct gang_error error = GANG_ERROR_INIT;
    const char *model = csv->field[column[NODE_MODEL]];
    int64_t memory_mib = 0;
    int64_t gpu_count = 0;
    if (!trace_check_name(csv, column[NODE_NAME]) ||
        !csv_number(csv, column[NODE_CPU], 0, GANG_MAX_CPU_MILLI, &spec.cpu_milli) ||
        !csv_number(csv, column[NODE_MEMORY], 0, TRACE_MAX_MEMORY_MIB, &memory_mib) ||
        !csv_number(csv, column[NODE_GPU], 0, GANG_MAX_GPUS, &gpu_count) ||
        (model[0] != '\0' && !trace_check_name(csv, column[NODE_MODEL]))) {
        return false;
    }
    for (int64_t i = 0; i < gpu_count; i++) {
        gpus[i].model = model;
        gpus[i].numa = -1;
    }
    spec.name = csv->field[column[NODE_NAME]];
    spec.memory_bytes = memory_mib * TRACE_MIB;
    spec.gpus = gpus;
    spec.gpu_count = (size_t)gpu_count;

    int32_t index = gpu_count > 0 ? intern_model(nodes, model) : -1;
    char *name = strdup(spec.name);
    if ((gpu_count > 0 && index < 0) || name == NULL || !grow_nodes(nodes)) {
        free(name);
        return csv_no_memory(csv);
    }
    gang_result result = gang_node_add(worker, &spec, &nodes->ids[nodes->count], &error);
    if (result != GANG_OK) {
        free(name);
        return fail_node(csv, column, spec.name, result, &error);
    }
    nodes->names[nodes->count] = name;
    nodes->model[nodes->count++] = index;
    nodes->gpus += gpu_count;
    nodes->cpu_milli += spec.cpu_milli;
    nodes->memory_bytes += spec.memory_bytes;
    if (gpu_count > 0) {
        nodes->models[index].nodes++;
        nodes->models[index].gpus += gpu_count;
    }
    return true;
}

static bool index_nodes(struct trace_nodes *nodes)
{
    nodes->slot_count = 64;
    while (nodes->slot_count < nodes->count * 2) {
        nodes->slot_count *= 2;
    }
    nodes->slots = calloc(nodes->slot_count, sizeof *nodes->slots);
    if (nodes->slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < nodes->count; i++) {
        size_t at = (size_t)trace_mix(0, nodes->ids[i]) & (nodes->slot_count - 1);
        while (nodes->slots[at] != 0) {
            at = (at + 1) & (nodes->slot_count - 1);
        }
        nodes->slots[at] = i + 1;
    }
    return true;
}

size_t trace_node_index(const struct trace_nodes *nodes, gang_node_id id)
{
    size_t at = (size_t)trace_mix(0, id) & (nodes->slot_count - 1);
    while (nodes->ids[nodes->slots[at] - 1] != id) {
        at = (at + 1) & (nodes->slot_count - 1);
    }
    return nodes->slots[at] - 1;
}

int trace_read_nodes(const char *path, gang_worker *worker, struct trace_nodes *nodes)
{
    int column[NODE_COLUMN_COUNT];
    int got = -1;
    struct csv *csv = malloc(sizeof *csv);
    memset(nodes, 0, sizeof *nodes);
    if (csv == NULL) {
        return cli_no_memory();
    }
    if (!csv_open(csv, path)) {
        goto out;
    }
    if (trace_find_columns(csv, node_columns, NODE_COLUMN_COUNT, column)) {
        while ((got = csv_read(csv)) == 1) {
            if (!add_node(csv, column, worker, nodes)) {
                got = -1;
                break;
            }
        }
    }
    csv_close(csv);
    if (got == 0 && nodes->count == 0) {
        csv_fail(csv, -1, GANG_EINVAL, "no node after the header");
        csv->error.line = 0;
        got = -1;
    }
    if (got == 0 && !index_nodes(nodes)) {
        csv_no_memory(csv);
        got = -1;
    }
out:
    if (got != 0) {
        cli_fail(csv->path, &csv->error);
    }
    free(csv);
    return got == 0 ? CLI_OK : CLI_WRONG;
}

void trace_nodes_free(struct trace_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        free(nodes->names[i]);
    }
    free(nodes->names);
    free(nodes->ids);
    free(nodes->model);
    free(nodes->models);
    free(nodes->slots);
    memset(nodes, 0, sizeof *nodes);
}
