/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/cli.h"
#include "gangsched/outline.h"
#include "gangsched/topo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CPUS = 16384 };

/* As topo_gpu_at(). */
static const struct gang_link_spec *link_at(const struct gang_node_spec *spec, size_t i)
{
    return (const void *)((const char *)spec->links + i * spec->link_size);
}

static const struct gang_numa_spec *numa_at(const struct gang_node_spec *spec, size_t i)
{
    return (const void *)((const char *)spec->numas + i * spec->numa_size);
}

static const struct gang_core_spec *core_at(const struct gang_node_spec *spec, size_t i)
{
    return (const void *)((const char *)spec->cores + i * spec->core_size);
}

static const struct gang_nic_spec *nic_at(const struct gang_node_spec *spec, size_t i)
{
    return (const void *)((const char *)spec->nics + i * spec->nic_size);
}

/* ---- ranges ---- */

/* "0-11,48-59" of the set numbers; cut with "..." if it does not fit. */
static void print_ranges(char *text, size_t cap, const bool *set, size_t count)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (!set[i]) {
            continue;
        }
        size_t first = i;
        while (i + 1 < count && set[i + 1]) {
            i++;
        }
        int n = first == i
                    ? snprintf(text + length, cap - length, "%s%zu", length > 0 ? "," : "", first)
                    : snprintf(text + length, cap - length, "%s%zu-%zu", length > 0 ? "," : "",
                               first, i);
        if (n < 0 || (size_t)n >= cap - length) {
            snprintf(text + (length < cap - 4 ? length : cap - 4), 4, "...");
            return;
        }
        length += (size_t)n;
    }
}

/* Set the numbers of a Linux list, "0-3,8". */
static void add_list(bool *set, const char *list)
{
    while (*list != '\0') {
        char *end;
        unsigned long first = strtoul(list, &end, 10);
        unsigned long last = first;
        if (end == list) {
            return;
        }
        if (*end == '-') {
            list = end + 1;
            last = strtoul(list, &end, 10);
        }
        for (unsigned long i = first; i <= last && i < MAX_CPUS; i++) {
            set[i] = true;
        }
        list = end + (*end == ',');
    }
}

/* ---- the tree ---- */

/* "cores 0-11 (CPUs 0-11,48-59)" of a NUMA domain (-1: of those without one); "" if it has none. */
static void describe_cores(const struct gang_node_spec *spec, int32_t numa, char *text, size_t cap)
{
    bool cores[GANG_MAX_CORES] = {false};
    bool cpus[MAX_CPUS] = {false};
    char core_text[512];
    char cpu_text[512];
    size_t count = 0;
    for (size_t i = 0; i < spec->core_count && i < GANG_MAX_CORES; i++) {
        const struct gang_core_spec *core = core_at(spec, i);
        if (core->numa != numa) {
            continue;
        }
        cores[i] = true;
        count++;
        if (core->cpuset != NULL) {
            add_list(cpus, core->cpuset);
        } else if (core->os_index >= 0 && core->os_index < MAX_CPUS) {
            cpus[core->os_index] = true;
        }
    }
    text[0] = '\0';
    if (count == 0) {
        return;
    }
    print_ranges(core_text, sizeof core_text, cores, GANG_MAX_CORES);
    print_ranges(cpu_text, sizeof cpu_text, cpus, MAX_CPUS);
    snprintf(text, cap, "%s %s (CPUs %s)", count == 1 ? "core" : "cores", core_text, cpu_text);
}

/* GPUs and network cards of a NUMA domain (-1: of those without one). */
static void add_devices(struct outline *outline, const struct gang_node_spec *spec, int32_t numa,
                        int depth)
{
    for (size_t i = 0; i < spec->gpu_count; i++) {
        const struct gang_gpu_spec *gpu = topo_gpu_at(spec, i);
        if (gpu->numa != numa) {
            continue;
        }
        outline_add(outline, depth, "GPU %zu: %s%s%s%s%s", i,
                    gpu->model != NULL && gpu->model[0] != '\0' ? gpu->model : "model unknown",
                    gpu->memory_bytes > 0 ? ", " : "",
                    gpu->memory_bytes > 0 ? cli_bytes(gpu->memory_bytes).s : "",
                    gpu->pci != NULL ? ", PCI " : "", gpu->pci != NULL ? gpu->pci : "");
    }
    for (size_t i = 0; i < spec->nic_count; i++) {
        const struct gang_nic_spec *nic = nic_at(spec, i);
        if (nic->numa == numa) {
            outline_add(outline, depth, "network %s%s%s", nic->name,
                        nic->pci != NULL ? ", PCI " : "", nic->pci != NULL ? nic->pci : "");
        }
    }
}

static void add_numas(struct outline *outline, const struct gang_node_spec *spec, int32_t package,
                      int depth)
{
    for (size_t i = 0; i < spec->numa_count; i++) {
        const struct gang_numa_spec *numa = numa_at(spec, i);
        char cores[1100];
        if (numa->package != package) {
            continue;
        }
        describe_cores(spec, (int32_t)i, cores, sizeof cores);
        outline_add(outline, depth, "NUMA domain %d: %s%s%s",
                    numa->os_index >= 0 ? (int)numa->os_index : (int)i,
                    numa->memory_bytes > 0 ? cli_bytes(numa->memory_bytes).s : "no memory",
                    cores[0] != '\0' ? ", " : "", cores);
        add_devices(outline, spec, (int32_t)i, depth + 1);
    }
}

/* Number of packages, that is the highest one named plus one. */
static int32_t package_count(const struct gang_node_spec *spec)
{
    int32_t count = 0;
    for (size_t i = 0; i < spec->numa_count; i++) {
        const struct gang_numa_spec *numa = numa_at(spec, i);
        count = numa->package >= count ? numa->package + 1 : count;
    }
    return count;
}

/* "8 GPUs, ", or nothing. */
static void add_count(char *text, size_t cap, size_t count, const char *one, const char *many)
{
    size_t length = strlen(text);
    if (count > 0) {
        snprintf(text + length, cap - length, "%zu %s, ", count, count == 1 ? one : many);
    }
}

static void add_machine(struct outline *outline, const struct gang_node_spec *spec)
{
    char text[256] = "";
    char cores[1100];
    int32_t packages = package_count(spec);
    add_count(text, sizeof text, (size_t)packages, "package", "packages");
    add_count(text, sizeof text, spec->numa_count, "NUMA domain", "NUMA domains");
    add_count(text, sizeof text, spec->core_count, "core", "cores");
    add_count(text, sizeof text, spec->gpu_count, "GPU", "GPUs");
    outline_add(outline, 0, "%s: %s%s", spec->name, text, cli_bytes(spec->memory_bytes).s);
    for (int32_t package = 0; package < packages; package++) {
        outline_add(outline, 1, "package %" PRId32, package);
        add_numas(outline, spec, package, 2);
    }
    add_numas(outline, spec, -1, 1);
    describe_cores(spec, -1, cores, sizeof cores);
    if (cores[0] != '\0') {
        outline_add(outline, 1, "%s", cores);
    }
    add_devices(outline, spec, -1, 1);
}

/* ---- how the GPUs are joined ---- */

/* Ways, best first; the first ones are the kinds of links. */
enum { NEAR_SELF, NEAR_PCI, NEAR_NUMA, NEAR_PACKAGE, NEAR_SYSTEM, WAYS };

static const struct {
    const char *sign;
    const char *meaning;
} links[] = {{"", ""}, {"NV", "NVLink"}, {"XGMI", "AMD Infinity Fabric"}, {"LINK", "a link"}},
  ways[WAYS] = {{"X", "itself"},
                {"PCI", "a common PCIe bridge"},
                {"NUMA", "the same NUMA domain"},
                {"PKG", "the same package"},
                {"SYS", "across packages"}};

enum { LINKS = sizeof links / sizeof links[0] };

/* The best link between two GPUs, NULL if there is none. */
static const struct gang_link_spec *find_link(const struct gang_node_spec *spec, size_t a, size_t b)
{
    const struct gang_link_spec *best = NULL;
    for (size_t i = 0; i < spec->link_count; i++) {
        const struct gang_link_spec *link = link_at(spec, i);
        bool joins = ((size_t)link->a == a && (size_t)link->b == b) ||
                     ((size_t)link->a == b && (size_t)link->b == a);
        if (joins && link->type > 0 && link->type < LINKS &&
            (best == NULL || link->type < best->type)) {
            best = link;
        }
    }
    return best;
}

/* The way between two GPUs that no link joins. */
static int find_way(const struct gang_node_spec *spec, size_t a, size_t b)
{
    int32_t numa_a = topo_gpu_at(spec, a)->numa;
    int32_t numa_b = topo_gpu_at(spec, b)->numa;
    if (a == b) {
        return NEAR_SELF;
    }
    if (spec->gpu_locality != NULL) {
        switch (spec->gpu_locality[a * spec->gpu_count + b]) {
        case GANG_LOCALITY_LINK: /* a link of unknown type */
        case GANG_LOCALITY_PCI:
            return NEAR_PCI;
        case GANG_LOCALITY_NUMA:
            return NEAR_NUMA;
        case GANG_LOCALITY_PACKAGE:
            return NEAR_PACKAGE;
        default:
            return NEAR_SYSTEM;
        }
    }
    if (numa_a < 0 || numa_b < 0) {
        return NEAR_SYSTEM;
    }
    if (numa_a == numa_b) {
        return NEAR_NUMA;
    }
    int32_t package = numa_at(spec, (size_t)numa_a)->package;
    return package >= 0 && package == numa_at(spec, (size_t)numa_b)->package ? NEAR_PACKAGE
                                                                             : NEAR_SYSTEM;
}

/* What was met on the way through the table, for the legend. */
struct legend {
    bool way[WAYS];
    bool link[LINKS];
    int64_t slowest[LINKS]; /* MB/s; 0: none known */
    int64_t fastest[LINKS];
};

static const char *describe_pair(const struct gang_node_spec *spec, size_t a, size_t b,
                                 struct legend *legend)
{
    const struct gang_link_spec *link = a != b ? find_link(spec, a, b) : NULL;
    if (link == NULL) {
        int way = find_way(spec, a, b);
        legend->way[way] = true;
        return ways[way].sign;
    }
    int64_t speed = link->bandwidth_mbps;
    int64_t *slowest = &legend->slowest[link->type];
    int64_t *fastest = &legend->fastest[link->type];
    legend->link[link->type] = true;
    if (speed > 0) {
        *slowest = *slowest == 0 || speed < *slowest ? speed : *slowest;
        *fastest = speed > *fastest ? speed : *fastest;
    }
    return links[link->type].sign;
}

static void print_legend(const struct legend *legend)
{
    for (size_t i = 1; i < LINKS; i++) {
        if (!legend->link[i]) {
            continue;
        }
        cli_printf("  %-5s %s", links[i].sign, links[i].meaning);
        if (legend->slowest[i] > 0) {
            cli_printf(", %s", cli_milli(legend->slowest[i]).s);
            if (legend->fastest[i] > legend->slowest[i]) {
                cli_printf(" to %s", cli_milli(legend->fastest[i]).s);
            }
            cli_printf(" GB/s");
        }
        cli_printf("\n");
    }
    for (size_t i = NEAR_PCI; i < WAYS; i++) {
        if (legend->way[i]) {
            cli_printf("  %-5s %s\n", ways[i].sign, ways[i].meaning);
        }
    }
}

static int print_links(const struct gang_node_spec *spec)
{
    struct outline table = {0};
    struct legend legend = {0};
    if (spec->gpu_count < 2) {
        return CLI_OK;
    }
    outline_add(&table, -1, "GPU");
    for (size_t b = 0; b < spec->gpu_count; b++) {
        outline_cell(&table, cli_number((int64_t)b).s);
    }
    for (size_t a = 0; a < spec->gpu_count; a++) {
        outline_add(&table, -1, "%3zu", a);
        for (size_t b = 0; b < spec->gpu_count; b++) {
            outline_cell(&table, describe_pair(spec, a, b, &legend));
        }
    }
    cli_printf("\n");
    int status = outline_print(&table);
    print_legend(&legend);
    return status;
}

int topo_draw_machine(const struct gang_node_spec *spec)
{
    struct outline tree = {0};
    add_machine(&tree, spec);
    int status = outline_print(&tree);
    return status == CLI_OK ? print_links(spec) : status;
}
