/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/openb.h"

#include "gangsched/arrivals.h"
#include "gangsched/cli.h"
#include "gangsched/csv.h"
#include "gangsched/unpack.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(struct csv *csv)
{
    return csv_no_memory(csv);
}

/* ---- nodes and pods ---- */

static bool add_node(struct csv *csv, const int *column, struct openb *openb)
{
    if (!cli_grow((void **)&openb->nodes, &openb->node_cap, openb->node_count,
                  sizeof *openb->nodes)) {
        return no_memory(csv);
    }
    struct openb_node *node = &openb->nodes[openb->node_count];
    int64_t memory_mib = 0;
    memset(node, 0, sizeof *node);
    if (!trace_check_name(csv, column[0]) ||
        !csv_number(csv, column[1], 0, GANG_MAX_CPU_MILLI, &node->cpu_milli) ||
        !csv_number(csv, column[2], 0, TRACE_MAX_MEMORY_MIB, &memory_mib) ||
        !csv_number(csv, column[3], 0, OPENB_GPUS, &node->gpus) ||
        (csv->field[column[4]][0] != '\0' && !trace_check_name(csv, column[4]))) {
        return false;
    }
    node->memory_bytes = memory_mib * TRACE_MIB;
    snprintf(node->name, sizeof node->name, "%s", csv->field[column[0]]);
    snprintf(node->model, sizeof node->model, "%s", csv->field[column[4]]);
    for (int64_t i = 0; i < node->gpus; i++) {
        node->free[i] = 1000;
    }
    openb->node_count++;
    return true;
}

static bool same_kind(const struct openb_kind *a, const struct openb_kind *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           a->gpus == b->gpus && a->gpu_milli == b->gpu_milli && strcmp(a->spec, b->spec) == 0;
}

/* The number of a kind, added if it is new. Few kinds: looked through one by one. */
static bool intern_kind(struct openb *openb, const struct openb_kind *kind, size_t *index)
{
    for (*index = 0; *index < openb->kind_count; ++*index) {
        if (same_kind(&openb->kinds[*index], kind)) {
            openb->kinds[*index].count++;
            return true;
        }
    }
    if (!cli_grow((void **)&openb->kinds, &openb->kind_cap, openb->kind_count,
                  sizeof *openb->kinds)) {
        return false;
    }
    char *spec = strdup(kind->spec);
    if (spec == NULL) {
        return false;
    }
    struct openb_kind *fresh = &openb->kinds[openb->kind_count++];
    *fresh = *kind;
    fresh->spec = spec;
    fresh->count = 1;
    return true;
}

static bool add_pod(struct csv *csv, const int *column, struct openb *openb)
{
    struct openb_kind kind = {.spec = ""};
    int64_t memory_mib = 0;
    int spec = csv_column(csv, "gpu_spec");
    if (!csv_number(csv, column[0], 0, GANG_MAX_CPU_MILLI, &kind.cpu_milli) ||
        !csv_number(csv, column[1], 0, TRACE_MAX_MEMORY_MIB, &memory_mib) ||
        !csv_number(csv, column[2], 0, OPENB_GPUS, &kind.gpus) ||
        !csv_number(csv, column[3], kind.gpus > 0 ? 1 : 0, 1000, &kind.gpu_milli) ||
        (spec >= 0 && !trace_check_models(csv, spec))) {
        return false;
    }
    if (kind.gpus > 1 && kind.gpu_milli != 1000) {
        return csv_fail(csv, column[3], GANG_EINVAL, "a part of each of several GPUs");
    }
    kind.memory_bytes = memory_mib * TRACE_MIB;
    kind.gpu_milli = kind.gpus > 0 ? kind.gpu_milli : 0;
    kind.spec = spec >= 0 ? csv->field[spec] : kind.spec;
    if (!cli_grow((void **)&openb->pods, &openb->pod_cap, openb->pod_count, sizeof *openb->pods) ||
        !intern_kind(openb, &kind, &openb->pods[openb->pod_count])) {
        return no_memory(csv);
    }
    openb->pod_count++;
    return true;
}

/* A file of records with these columns. */
static int read_records(struct openb *openb, const char *path, const char *const *names,
                        size_t columns,
                        bool (*add)(struct csv *csv, const int *column, struct openb *openb))
{
    int column[8];
    int got = -1;
    size_t records = 0;
    struct csv *csv = malloc(sizeof *csv);
    if (csv == NULL) {
        return cli_no_memory();
    }
    if (csv_open(csv, path)) {
        if (trace_find_columns(csv, names, columns, column)) {
            while ((got = csv_read(csv)) == 1) {
                records++;
                if (!add(csv, column, openb)) {
                    got = -1;
                    break;
                }
            }
        }
        if (got == 0 && records == 0) {
            csv_fail(csv, -1, GANG_EINVAL, "nothing after the header");
            csv->error.line = 0;
            got = -1;
        }
        csv_close(csv);
    }
    if (got != 0) {
        cli_fail(csv->path, &csv->error);
    }
    free(csv);
    return got == 0 ? CLI_OK : CLI_WRONG;
}

/* ---- the order ---- */

enum { MAX_BYTES = 64 << 20 };

/* The numbers of an array, each below `end`. NULL after a message. */
static size_t *numbers(const char *path, const json_t *array, const char *name, size_t end)
{
    size_t count = json_array_size(array);
    size_t *list = json_is_array(array) ? calloc(count + 1, sizeof *list) : NULL;
    if (!json_is_array(array)) {
        cli_failf(path, "'%s' is missing, or no array", name);
    } else if (list == NULL) {
        cli_no_memory();
    }
    for (size_t i = 0; list != NULL && i < count; i++) {
        const json_t *number = json_array_get(array, i);
        json_int_t value = json_integer_value(number);
        if (!json_is_integer(number) || value < 0 || (uint64_t)value >= end) {
            cli_failf(path, "'%s', number %zu: not a whole number below %zu", name, i, end);
            free(list);
            return NULL;
        }
        list[i] = (size_t)value;
    }
    return list;
}

static bool is_permutation(const size_t *list, size_t count)
{
    bool *seen = calloc(count + 1, sizeof *seen);
    bool fine = seen != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        fine = !seen[list[i]];
        seen[list[i]] = true;
    }
    free(seen);
    return fine;
}

/* One entry of the file: {seed, node_rank, arrivals}. */
static int take_order(struct openb *openb, const json_t *entry)
{
    const char *path = openb->options.order_path;
    const json_t *rank = json_object_get(entry, "node_rank");
    const json_t *arrivals = json_object_get(entry, "arrivals");
    openb->seed = json_integer_value(json_object_get(entry, "seed"));
    openb->rank = numbers(path, rank, "node_rank", openb->node_count);
    openb->arrivals =
        openb->rank != NULL ? numbers(path, arrivals, "arrivals", openb->pod_count) : NULL;
    if (openb->arrivals == NULL) {
        return CLI_WRONG;
    }
    openb->arrival_count = json_array_size(arrivals);
    if (json_array_size(rank) != openb->node_count ||
        !is_permutation(openb->rank, openb->node_count)) {
        return cli_failf(path, "'node_rank' does not rank each of the %zu nodes once",
                         openb->node_count);
    }
    return CLI_OK;
}

static int read_order(struct openb *openb)
{
    const char *path = openb->options.order_path;
    size_t length = 0;
    json_error_t error;
    char *text = unpack_file(path, MAX_BYTES, &length);
    if (text == NULL) {
        return CLI_WRONG;
    }
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (root == NULL) {
        return cli_failf(path, "line %d, column %d: %s", error.line, error.column, error.text);
    }
    const json_t *found = NULL;
    for (size_t i = 0; i < json_array_size(root) && found == NULL; i++) {
        const json_t *entry = json_array_get(root, i);
        const json_t *seed = json_object_get(entry, "seed");
        if (json_is_integer(seed) &&
            (openb->options.seed < 0 || json_integer_value(seed) == openb->options.seed)) {
            found = entry;
        }
    }
    int status = CLI_WRONG;
    if (found != NULL) {
        status = take_order(openb, found);
    } else if (openb->options.seed < 0) {
        cli_failf(path, "no array of {seed, node_rank, arrivals}");
    } else {
        cli_failf(path, "no order of seed %" PRId64, openb->options.seed);
    }
    json_decref(root);
    return status;
}

int openb_read(struct openb *openb)
{
    static const char *const node_columns[] = {"sn", "cpu_milli", "memory_mib", "gpu", "model"};
    static const char *const pod_columns[] = {"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"};
    int status = read_records(openb, openb->options.nodes_path, node_columns, 5, add_node);
    if (status == CLI_OK) {
        status = read_records(openb, openb->options.tasks_path, pod_columns, 4, add_pod);
    }
    return status == CLI_OK ? read_order(openb) : status;
}

void openb_free(struct openb *openb)
{
    for (size_t i = 0; i < openb->kind_count; i++) {
        gang_request_free(openb->kinds[i].request);
        free(openb->kinds[i].spec);
    }
    gang_worker_free(openb->worker);
    gang_cluster_free(openb->cluster);
    free(openb->nodes);
    free(openb->kinds);
    free(openb->pods);
    free(openb->rank);
    free(openb->arrivals);
    memset(openb, 0, sizeof *openb);
}
