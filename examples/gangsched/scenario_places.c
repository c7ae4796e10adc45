/* SPDX-License-Identifier: Apache-2.0 */
/* Where the running jobs of a case run: nodes and devices for the names that the case gives
 * them. */
#include "gangsched/scenario_run.h"

#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"

/* The device that a label stands for: the one of that number if it can be, else the first that no
 * label stands for. -1: the node has too few. -2: out of memory. */
static int device_of(struct run *run, size_t node, const char *name)
{
    int64_t number;
    int devices = (int)run->scenario->nodes[node].gpu_count;
    int device = 0;
    if (run->labels[node] == NULL) {
        run->labels[node] = calloc((size_t)devices + 1, sizeof *run->labels[node]);
    }
    const char **labels = run->labels[node];
    if (labels == NULL) {
        return -2;
    }
    for (int i = 0; i < devices; i++) {
        if (labels[i] != NULL && strcmp(labels[i], name) == 0) {
            return i;
        }
    }
    if (cli_parse_number(name, 0, devices - 1, &number) && labels[number] == NULL) {
        device = (int)number;
    }
    while (device < devices && labels[device] != NULL) {
        device++;
    }
    if (device >= devices) {
        return -1;
    }
    labels[device] = name;
    return device;
}

static int32_t group_of(const struct gang_job_spec *spec, int64_t task)
{
    int32_t group = 0;
    while (task >= spec->request.groups[group].count) {
        task -= spec->request.groups[group].count;
        group++;
    }
    return group;
}

static const char *const numbers[GANG_MAX_GPUS] = {
    "0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10", "11", "12", "13", "14", "15",
    "16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31",
    "32", "33", "34", "35", "36", "37", "38", "39", "40", "41", "42", "43", "44", "45", "46", "47",
    "48", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58", "59", "60", "61", "62", "63"};

static int make_place(struct run *run, size_t number, size_t task, const char **devices,
                      struct start_place *place)
{
    const struct gang_job_spec *spec = &run->scenario->jobs[number];
    const struct gang_running_spec *at = &spec->places[task];
    size_t node = name_index_find(&run->node_index, at->node);
    *place = (struct start_place){(int64_t)task, group_of(spec, (int64_t)task), run->ids[node], 0,
                                  at->device_count == 0};
    for (size_t i = 0; i < at->device_count; i++) {
        int device = device_of(run, node, at->devices[i]);
        if (device == -2) {
            return cli_no_memory();
        }
        if (device == -1) {
            return cli_failf(
                run->file, "case '%s': jobs[%zu].running_gpu[%zu]: node '%s' has only %zu devices",
                run->scenario->id, number, task, at->node, run->scenario->nodes[node].gpu_count);
        }
        place->gpus |= UINT64_C(1) << device;
        devices[i] = numbers[device];
    }
    return CLI_OK;
}

int scenario_places(struct run *run, size_t number, struct places *places)
{
    const struct gang_job_spec *spec = &run->scenario->jobs[number];
    struct job *job = &run->jobs[number];
    size_t devices = 0;
    for (size_t i = 0; i < spec->place_count; i++) {
        devices += spec->places[i].device_count;
    }
    places->list = calloc(spec->place_count + 1, sizeof *places->list);
    places->devices = calloc(devices + 1, sizeof *places->devices);
    job->places = calloc(spec->place_count + 1, sizeof *job->places);
    if (places->list == NULL || places->devices == NULL || job->places == NULL) {
        return cli_no_memory();
    }
    const char **next = places->devices;
    for (size_t i = 0; i < spec->place_count; i++) {
        const struct gang_running_spec *at = &spec->places[i];
        if (at->node == NULL) {
            continue;
        }
        int status = make_place(run, number, i, next, &job->places[job->place_count++]);
        if (status != CLI_OK) {
            return status;
        }
        places->list[i] = (struct gang_running_spec){
            .node = at->node, .devices = next, .device_count = at->device_count};
        next += at->device_count;
    }
    return CLI_OK;
}
