/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the gangs of a replay from a file, and compiles their requests. */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/arrivals.h"

#include "gangsched/cli.h"
#include "gangsched/csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TASKS ((int64_t)1 << 24)

bool trace_find_columns(struct csv *csv, const char *const *names, size_t count, int *column)
{
    for (size_t i = 0; i < count; i++) {
        column[i] = csv_column(csv, names[i]);
        if (column[i] < 0) {
            return csv_fail(csv, -1, GANG_ENOENT, "column '%s' is missing", names[i]);
        }
    }
    return true;
}

bool trace_check_name(struct csv *csv, int column)
{
    size_t length = strlen(csv->field[column]);
    if (length == 0) {
        return csv_fail(csv, column, GANG_EINVAL, "is empty");
    }
    if (length > GANG_MAX_NAME) {
        return csv_fail(csv, column, GANG_ELIMIT, "is longer than %d bytes", GANG_MAX_NAME);
    }
    return true;
}

enum {
    COLUMN_NAME,
    COLUMN_CPU,
    COLUMN_MEMORY,
    COLUMN_GPUS,
    COLUMN_GPU_MILLI,
    COLUMN_NEEDED,
    COLUMN_TASKS = COLUMN_NEEDED, /* the gang format only */
    COLUMN_MODEL,                 /* from here on -1 if it is not there */
    COLUMN_SUBMIT,
    COLUMN_DURATION,
    COLUMN_COUNT
};
static const char *const openb_columns[COLUMN_COUNT] = {
    "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", NULL, "gpu_spec", NULL, NULL};
static const char *const gang_columns[COLUMN_COUNT] = {"name",      "cpu_milli", "memory_mib",
                                                       "gpus",      "gpu_milli", "tasks",
                                                       "gpu_model", "submit_s",  "duration_s"};

/* Tell the format by the header and find its columns. */
static bool find_format(struct csv *csv, struct trace_gangs *gangs, int *column)
{
    bool openb = csv_column(csv, "num_gpu") >= 0;
    const char *const *names = openb ? openb_columns : gang_columns;
    gangs->format = openb ? "openb" : "gang";
    if (!openb && csv_column(csv, "tasks") < 0) {
        return csv_fail(csv, -1, GANG_ENOENT,
                        "neither column 'tasks' (gang format) nor 'num_gpu' (openb format)");
    }
    if (!trace_find_columns(csv, names, openb ? COLUMN_NEEDED : COLUMN_NEEDED + 1, column)) {
        return false;
    }
    for (int i = openb ? COLUMN_NEEDED : COLUMN_NEEDED + 1; i < COLUMN_COUNT; i++) {
        column[i] = names[i] != NULL ? csv_column(csv, names[i]) : -1;
    }
    if ((column[COLUMN_SUBMIT] < 0) != (column[COLUMN_DURATION] < 0)) {
        return csv_fail(csv, -1, GANG_ENOENT, "column '%s' is missing",
                        names[column[COLUMN_SUBMIT] < 0 ? COLUMN_SUBMIT : COLUMN_DURATION]);
    }
    /* openb's other columns are ignored; in the library's own format they are errors. */
    for (size_t i = 0; !openb && i < csv->field_count; i++) {
        bool known = false;
        for (int k = 0; k < COLUMN_COUNT; k++) {
            known = known || column[k] == (int)i;
        }
        if (!known) {
            return csv_fail(csv, -1, GANG_EINVAL, "unknown column '%.100s'", csv->header[i]);
        }
    }
    return true;
}

/* Put a text into the pool. */
static bool add_text(struct trace_gangs *gangs, const char *text, size_t *offset)
{
    size_t length = strlen(text) + 1;
    while (gangs->text_cap - gangs->text_used < length) {
        size_t cap = gangs->text_cap == 0 ? 4096 : gangs->text_cap * 2;
        char *larger = realloc(gangs->text, cap);
        if (larger == NULL) {
            return false;
        }
        gangs->text = larger;
        gangs->text_cap = cap;
    }
    memcpy(gangs->text + gangs->text_used, text, length);
    *offset = gangs->text_used;
    gangs->text_used += length;
    return true;
}

static uint64_t hash_shape(const struct trace_shape *shape, const char *models)
{
    uint64_t hash = trace_mix(trace_mix(0, (uint64_t)shape->tasks), (uint64_t)shape->cpu_milli);
    hash = trace_mix(trace_mix(hash, (uint64_t)shape->memory_bytes), (uint64_t)shape->gpus);
    hash = trace_mix(hash, (uint64_t)shape->gpu_milli);
    for (; *models != '\0'; models++) {
        hash = trace_mix(hash, (unsigned char)*models);
    }
    return hash;
}

/* The slot of a shape, or the empty one where it belongs. */
static size_t *find_slot(const struct trace_gangs *gangs, const struct trace_shape *shape,
                         const char *models)
{
    size_t at = (size_t)hash_shape(shape, models) & (gangs->slot_count - 1);
    for (; gangs->slots[at] != 0; at = (at + 1) & (gangs->slot_count - 1)) {
        const struct trace_shape *other = &gangs->shapes[gangs->slots[at] - 1];
        if (other->tasks == shape->tasks && other->cpu_milli == shape->cpu_milli &&
            other->memory_bytes == shape->memory_bytes && other->gpus == shape->gpus &&
            other->gpu_milli == shape->gpu_milli &&
            strcmp(gangs->text + other->models, models) == 0) {
            break;
        }
    }
    return &gangs->slots[at];
}

static bool grow_slots(struct trace_gangs *gangs)
{
    if (gangs->shape_count * 2 < gangs->slot_count) {
        return true;
    }
    size_t *old = gangs->slots;
    size_t count = gangs->slot_count == 0 ? 256 : gangs->slot_count * 2;
    size_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    gangs->slots = slots;
    gangs->slot_count = count;
    for (size_t i = 0; i < gangs->shape_count; i++) {
        *find_slot(gangs, &gangs->shapes[i], gangs->text + gangs->shapes[i].models) = i + 1;
    }
    free(old);
    return true;
}

static bool grow_shapes(struct trace_gangs *gangs)
{
    return cli_grow((void **)&gangs->shapes, &gangs->shape_cap, gangs->shape_count,
                    sizeof *gangs->shapes);
}

static bool grow_gangs(struct trace_gangs *gangs)
{
    return cli_grow((void **)&gangs->gangs, &gangs->cap, gangs->count, sizeof *gangs->gangs);
}

/* Index of a shape, added if it is new. */
static bool intern_shape(struct trace_gangs *gangs, struct trace_shape *shape, const char *models,
                         size_t *index)
{
    if (!grow_slots(gangs)) {
        return false;
    }
    size_t *slot = find_slot(gangs, shape, models);
    if (*slot == 0) {
        if (!grow_shapes(gangs) || !add_text(gangs, models, &shape->models)) {
            return false;
        }
        gangs->shapes[gangs->shape_count++] = *shape;
        *slot = gangs->shape_count;
    }
    *index = *slot - 1;
    return true;
}

bool trace_check_models(struct csv *csv, int column)
{
    const char *text = csv->field[column];
    while (text[0] != '\0') {
        size_t length = strcspn(text, "|");
        if (length == 0 || (text[length] == '|' && text[length + 1] == '\0')) {
            return csv_fail(csv, column, GANG_EINVAL, "an empty GPU model");
        }
        if (length > GANG_MAX_NAME) {
            return csv_fail(csv, column, GANG_ELIMIT, "is longer than %d bytes", GANG_MAX_NAME);
        }
        text += length + (text[length] == '|');
    }
    return true;
}

static bool read_shape(struct csv *csv, const int *column, struct trace_shape *shape)
{
    bool openb = column[COLUMN_TASKS] < 0;
    int64_t memory_mib = 0;
    shape->tasks = 1;
    shape->line = csv->line;
    if ((!openb && !csv_number(csv, column[COLUMN_TASKS], 1, MAX_TASKS, &shape->tasks)) ||
        !csv_number(csv, column[COLUMN_CPU], 0, GANG_MAX_CPU_MILLI, &shape->cpu_milli) ||
        !csv_number(csv, column[COLUMN_MEMORY], 0, TRACE_MAX_MEMORY_MIB, &memory_mib) ||
        !csv_number(csv, column[COLUMN_GPUS], 0, GANG_MAX_GPUS, &shape->gpus)) {
        return false;
    }
    shape->memory_bytes = memory_mib * TRACE_MIB;
    shape->gpu_milli = shape->gpus > 0 ? 1000 : 0;
    /* In our own format an empty field is a whole device. */
    if ((openb || csv->field[column[COLUMN_GPU_MILLI]][0] != '\0') &&
        !csv_number(csv, column[COLUMN_GPU_MILLI], shape->gpus > 0 ? 1 : 0,
                    shape->gpus > 0 ? 1000 : 0, &shape->gpu_milli)) {
        return false;
    }
    return column[COLUMN_MODEL] < 0 || trace_check_models(csv, column[COLUMN_MODEL]);
}

/* Both times or none, and the same in all records. */
static bool read_times(struct csv *csv, const int *column, struct trace_gangs *gangs,
                       struct trace_gang *gang)
{
    int submit = column[COLUMN_SUBMIT];
    int duration = column[COLUMN_DURATION];
    if (submit < 0) {
        return true;
    }
    bool timed = gangs->count == 0 ? csv->field[submit][0] != '\0' : gangs->timed;
    if (!timed) {
        int filled = csv->field[submit][0] != '\0' ? submit : duration;
        return csv->field[filled][0] == '\0' ||
               csv_fail(csv, filled, GANG_EINVAL, "a time here and none in the records before");
    }
    gangs->timed = true;
    return csv_seconds(csv, submit, &gang->submit_us) &&
           csv_seconds(csv, duration, &gang->duration_us);
}

static bool add_gang(struct csv *csv, const int *column, struct trace_gangs *gangs)
{
    struct trace_shape shape = {0};
    struct trace_gang gang = {0};
    if (!trace_check_name(csv, column[COLUMN_NAME]) || !read_shape(csv, column, &shape) ||
        !read_times(csv, column, gangs, &gang)) {
        return false;
    }
    /* A task without a GPU runs on any node, whatever the field says. */
    const char *models =
        column[COLUMN_MODEL] >= 0 && shape.gpus > 0 ? csv->field[column[COLUMN_MODEL]] : "";
    if (!intern_shape(gangs, &shape, models, &gang.shape) || !grow_gangs(gangs) ||
        !add_text(gangs, csv->field[column[COLUMN_NAME]], &gang.name)) {
        return csv_no_memory(csv);
    }
    gangs->gangs[gangs->count++] = gang;
    return true;
}

int64_t trace_task_gpu_milli(const struct trace_shape *shape)
{
    return shape->gpus * shape->gpu_milli;
}

size_t trace_cut_models(char *text, const char **models, size_t cap)
{
    size_t count = 0;
    while (text[0] != '\0' && count < cap) {
        size_t length = strcspn(text, "|");
        bool last = text[length] == '\0';
        models[count++] = text;
        text[length] = '\0';
        text += length + !last;
    }
    return count;
}

static gang_result compile(struct trace_shape *shape, const char *models, gang_cluster *cluster,
                           int32_t policy, struct gang_error *error)
{
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    size_t cap = strlen(models) / 2 + 1;
    char *copy = strdup(models);
    const char **names = calloc(cap, sizeof *names);
    gang_result result = GANG_ENOMEM;
    if (copy != NULL && names != NULL) {
        bool whole = shape->gpu_milli == 1000;
        group.count = group.min = shape->tasks;
        group.cpu_milli = shape->cpu_milli;
        group.memory_bytes = shape->memory_bytes;
        group.gpu_milli = whole ? 1000 * shape->gpus : shape->gpu_milli;
        group.gpu_devices = whole ? 0 : shape->gpus;
        group.gpu_model_count = trace_cut_models(copy, names, cap);
        group.gpu_models = names;
        spec.groups = &group;
        spec.group_count = 1;
        spec.policy = policy;
        result = gang_request_new(cluster, &spec, &shape->request, error);
    }
    free(names);
    free(copy);
    return result;
}

static int compile_all(const char *path, struct trace_gangs *gangs, gang_cluster *cluster,
                       int32_t policy)
{
    for (size_t i = 0; i < gangs->shape_count; i++) {
        struct trace_shape *shape = &gangs->shapes[i];
        struct gang_error error = GANG_ERROR_INIT;
        gang_result result = compile(shape, gangs->text + shape->models, cluster, policy, &error);
        if (result != GANG_OK) {
            error.code = result;
            error.line = shape->line;
            return cli_fail(path, &error);
        }
    }
    return CLI_OK;
}

/* By time of submission; qsort() is not stable, so that names decide: they lie in file order. */
static int compare_gangs(const void *left, const void *right)
{
    const struct trace_gang *a = left;
    const struct trace_gang *b = right;
    if (a->submit_us != b->submit_us) {
        return a->submit_us < b->submit_us ? -1 : 1;
    }
    return a->name < b->name ? -1 : a->name > b->name;
}

int trace_read_gangs(const char *path, int64_t limit, gang_cluster *cluster, int32_t policy,
                     struct trace_gangs *gangs)
{
    int column[COLUMN_COUNT];
    int got = -1;
    struct csv *csv = malloc(sizeof *csv);
    memset(gangs, 0, sizeof *gangs);
    if (csv == NULL) {
        return cli_no_memory();
    }
    if (!csv_open(csv, path)) {
        goto out;
    }
    if (find_format(csv, gangs, column)) {
        got = 0;
        while ((int64_t)gangs->count < limit && (got = csv_read(csv)) == 1) {
            if (!add_gang(csv, column, gangs)) {
                got = -1;
                break;
            }
        }
    }
    csv_close(csv);
    got = got == 1 ? 0 : got; /* the limit ended it */
    if (got == 0 && gangs->count == 0) {
        csv_fail(csv, -1, GANG_EINVAL, "nothing after the header");
        csv->error.line = 0;
        got = -1;
    }
out:
    if (got != 0) {
        cli_fail(csv->path, &csv->error);
    } else if (gangs->timed) {
        qsort(gangs->gangs, gangs->count, sizeof *gangs->gangs, compare_gangs);
    }
    int status = got == 0 ? compile_all(csv->path, gangs, cluster, policy) : CLI_WRONG;
    free(csv);
    return status;
}

void trace_gangs_free(struct trace_gangs *gangs)
{
    for (size_t i = 0; i < gangs->shape_count; i++) {
        gang_request_free(gangs->shapes[i].request);
    }
    free(gangs->gangs);
    free(gangs->shapes);
    free(gangs->text);
    free(gangs->slots);
    memset(gangs, 0, sizeof *gangs);
}
