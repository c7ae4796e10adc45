/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the specification of a machine alone: its words, the closeness of its GPUs, and
 * the domains inside of it. */
#include "core/nodes/node_type_fill.h"

#include <string.h>

#include "model/specs.h"

/* ---- words, devices and NUMA domains --------------------------------------------------------- */

static struct gang__layout layout_of(const struct gang_node_spec *spec)
{
    /* Cores have names only where they cover the millicores: then a core without an owner is always
     * left for the tasks that share. */
    bool named = spec->cpu_milli <= 1000 * (int64_t)spec->core_count;
    size_t cores = named ? spec->core_count : 0;
    struct gang__layout l = {(uint8_t)spec->gpu_count,
                             (uint8_t)((cores + GANG__CORES_PER_WORD - 1) / GANG__CORES_PER_WORD),
                             (uint8_t)spec->amount_count, 0};
    return l;
}

/* The payloads of the node when all is free. */
static void fill_capacity(struct gang__node_type *type)
{
    const struct gang_node_spec *spec = type->spec;
    struct gang__layout l = type->layout;
    type->capacity[GANG__WORD_HEAD] = (uint64_t)spec->cpu_milli;
    type->capacity[GANG__WORD_MEMORY] = (uint64_t)(spec->memory_bytes / GANG_PAGE_BYTES);
    for (unsigned i = 0; i < spec->gpu_count; i++)
        type->capacity[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD] |=
            gang__share_of(i % GANG__SHARES_PER_WORD, 1000);
    for (unsigned i = 0; l.core_words && i < spec->core_count; i++)
        type->capacity[gang__first_core(l) + i / GANG__CORES_PER_WORD] |=
            UINT64_C(1) << (i % GANG__CORES_PER_WORD);
}

/* Which devices are whole GPUs, and which are slices. */
static void fill_devices(struct gang__node_type *type)
{
    const struct gang_node_spec *spec = type->spec;
    for (size_t i = 0; i < spec->gpu_count; i++)
        *(gang__is_slice(&spec->gpus[i]) ? &type->slices : &type->gpus) |= UINT64_C(1) << i;
}

static int32_t package_of(const struct gang_node_spec *spec, int32_t numa)
{
    return numa >= 0 ? spec->numas[numa].package : -1;
}

/* What two GPUs have in common besides a link. The closeness of a linked pair hides it; there their
 * switches and NUMA domains decide. */
static uint64_t common_of(const struct gang_node_spec *spec, size_t i, size_t j, uint8_t locality)
{
    int32_t a = spec->gpus[i].numa, b = spec->gpus[j].numa;
    int32_t x = spec->gpus[i].pcie, y = spec->gpus[j].pcie;
    if (locality == GANG_LOCALITY_LINK)
        locality = x && x == y        ? GANG_LOCALITY_PCI
                   : a >= 0 && a == b ? GANG_LOCALITY_NUMA
                   : package_of(spec, a) >= 0 && package_of(spec, a) == package_of(spec, b)
                       ? GANG_LOCALITY_PACKAGE
                       : GANG_LOCALITY_SYSTEM;
    return (uint64_t)(locality >= GANG_LOCALITY_PCI) << GANG__WEIGHT_PCI |
           (uint64_t)(locality >= GANG_LOCALITY_NUMA) << GANG__WEIGHT_NUMA |
           (uint64_t)(locality >= GANG_LOCALITY_PACKAGE) << GANG__WEIGHT_PACKAGE;
}

static uint64_t link_weight(int64_t bandwidth_mbps)
{
    int64_t gbps = bandwidth_mbps / 1000;
    if (gbps > GANG__WEIGHT_LINK_MOST)
        gbps = GANG__WEIGHT_LINK_MOST;
    return (uint64_t)(gbps ? gbps : 1) << GANG__WEIGHT_LINK;
}

/* Fills in closeness and weight of each pair of GPUs. */
static void fill_locality(struct gang__node_type *type, uint8_t *locality, uint64_t *weight)
{
    const struct gang_node_spec *spec = type->spec;
    size_t gpus = spec->gpu_count;
    type->locality = locality;
    type->weight = weight;
    for (size_t i = 0; i < gpus; i++) {
        for (size_t j = 0; j < gpus; j++) {
            uint8_t n = locality[i * gpus + j] = gang__gpu_locality(spec, i, j);
            if (i != j)
                weight[i * gpus + j] =
                    common_of(spec, i, j, n) | (n == GANG_LOCALITY_LINK ? link_weight(0) : 0);
        }
    }
    for (size_t k = 0; k < spec->link_count; k++) {
        const struct gang_link_spec *link = &spec->links[k];
        size_t there = (size_t)link->a * gpus + (size_t)link->b;
        size_t back = (size_t)link->b * gpus + (size_t)link->a;
        uint64_t common = weight[there] & ((UINT64_C(1) << GANG__WEIGHT_LINK) - 1);
        weight[there] = weight[back] = common | link_weight(link->bandwidth_mbps);
    }
}

/* Do all pairs of GPUs have the same weight, and are all in one NUMA domain? */
static bool gpus_are_alike(const struct gang__node_type *type)
{
    size_t gpus = type->spec->gpu_count;
    for (size_t i = 0; i < gpus; i++)
        for (size_t j = 0; j < i; j++)
            if (type->weight[i * gpus + j] != type->weight[1] ||
                type->spec->gpus[i].numa != type->spec->gpus[j].numa)
                return false;
    return true;
}

/* Are all GPUs and named cores in one NUMA domain? */
static bool is_single_numa(const struct gang__node_type *type)
{
    const struct gang_node_spec *spec = type->spec;
    size_t cores = type->layout.core_words ? spec->core_count : 0;
    int32_t numa = spec->gpu_count ? spec->gpus[0].numa : cores ? spec->cores[0].numa : 0;
    for (size_t i = 0; i < spec->gpu_count; i++)
        if (spec->gpus[i].numa != numa)
            return false;
    for (size_t k = 0; k < cores; k++)
        if (spec->cores[k].numa != numa)
            return false;
    return true;
}

/* Fills in the GPUs and cores of each NUMA domain. */
static void fill_numas(struct gang__node_type *type, uint64_t *gpus, uint64_t *cores, uint8_t *run)
{
    const struct gang_node_spec *spec = type->spec;
    unsigned words = type->layout.core_words;
    uint64_t nics[(GANG_MAX_NUMAS + 63) / 64] = {0};
    type->numa_gpus = gpus;
    type->numa_cores = cores;
    type->numa_run = run;
    for (size_t i = 0; i < spec->nic_count; i++) {
        int32_t d = gang__numa_index(type, spec->nics[i].numa);
        if (d >= 0)
            nics[d / 64] |= UINT64_C(1) << d % 64;
    }
    for (size_t i = 0; i < spec->gpu_count; i++) {
        int32_t d = gang__numa_index(type, spec->gpus[i].numa);
        if (d < 0)
            continue;
        gpus[d] |= UINT64_C(1) << i;
        if (gang__popcount(gpus[d]) > type->max_numa_gpus)
            type->max_numa_gpus++;
        type->nic_gpus |= (nics[d / 64] >> d % 64 & 1) << i;
    }
    for (size_t k = 0; words && k < spec->core_count; k++) {
        int32_t d = gang__numa_index(type, spec->cores[k].numa);
        uint8_t word = (uint8_t)(k / GANG__CORES_PER_WORD);
        if (d < 0)
            continue;
        cores[(unsigned)d * words + word] |= UINT64_C(1) << (k % GANG__CORES_PER_WORD);
        if (run[2 * d + 1] == 0)
            run[2 * d] = word;
        run[2 * d + 1] = (uint8_t)(word + 1);
    }
    type->gpus_alike = gpus_are_alike(type);
    type->single_numa = is_single_numa(type);
}

/* ---- domains inside the machine -------------------------------------------------------------- */

enum { PACKAGES, NUMAS, SWITCHES, ISLANDS };

/* The inner domain of each GPU and each core, on one level; -1: none. */
struct inner_map {
    uint32_t count;
    int32_t gpu[GANG_MAX_GPUS];
    int32_t core[GANG_MAX_CORES];
};

/* Packages and NUMA domains, as described; `number` is the inner domain of a NUMA domain. */
static void inner_by_numa(const struct gang_node_spec *spec, const int32_t *number, uint32_t count,
                          struct inner_map *p)
{
    p->count = count;
    for (size_t i = 0; i < spec->gpu_count; i++)
        p->gpu[i] = spec->gpus[i].numa < 0 ? -1 : number[spec->gpus[i].numa];
    for (size_t i = 0; i < spec->core_count; i++)
        p->core[i] = spec->cores[i].numa < 0 ? -1 : number[spec->cores[i].numa];
}

/* GPUs below each switch, if the description numbers the switches. */
static bool inner_by_switch(const struct gang_node_spec *spec, struct inner_map *p)
{
    int32_t number[GANG_MAX_GPUS];
    p->count = 0;
    for (size_t i = 0; i < spec->gpu_count; i++) {
        uint32_t k = 0;
        p->gpu[i] = -1;
        if (spec->gpus[i].pcie == 0)
            continue;
        while (k < p->count && number[k] != spec->gpus[i].pcie)
            k++;
        if (k == p->count)
            number[p->count++] = spec->gpus[i].pcie;
        p->gpu[i] = (int32_t)k;
    }
    return p->count > 0;
}

/* GPUs that are connected by pairs of a closeness. */
static void inner_by_locality(const struct gang__node_type *type, uint8_t locality,
                              struct inner_map *p)
{
    int32_t gpus = (int32_t)type->spec->gpu_count;
    p->count = 0;
    for (int32_t i = 0; i < gpus; i++)
        p->gpu[i] = -1;
    for (int32_t i = 0; i < gpus; i++) {
        if (p->gpu[i] >= 0)
            continue;
        int32_t list[GANG_MAX_GPUS] = {i}, listed = 1;
        p->gpu[i] = (int32_t)p->count;
        for (int32_t at = 0; at < listed; at++) {
            for (int32_t k = 0; k < gpus; k++) {
                if (p->gpu[k] >= 0 || type->locality[list[at] * gpus + k] != locality)
                    continue;
                p->gpu[k] = (int32_t)p->count;
                list[listed++] = k;
            }
        }
        p->count++;
    }
}

static void inner_of(const struct gang__node_type *type, int level, struct inner_map *p)
{
    const struct gang_node_spec *spec = type->spec;
    int32_t number[GANG_MAX_NUMAS], package[GANG_MAX_NUMAS];
    uint32_t packages = 0;
    if (level == SWITCHES && inner_by_switch(spec, p))
        return;
    if (level == SWITCHES || level == ISLANDS) {
        inner_by_locality(type, level == SWITCHES ? GANG_LOCALITY_PCI : GANG_LOCALITY_LINK, p);
        return;
    }
    for (size_t i = 0; i < spec->numa_count; i++) {
        uint32_t k = 0;
        while (k < packages && package[k] != spec->numas[i].package)
            k++;
        if (k == packages)
            package[packages++] = spec->numas[i].package;
        number[i] = level == NUMAS ? (int32_t)i : (int32_t)k;
    }
    inner_by_numa(spec, number, level == NUMAS ? (uint32_t)spec->numa_count : packages, p);
}

/* Lays the inner domains of all levels one after the other at `at`; NULL: only counts the words. */
static size_t lay_inner(struct gang__node_type *type, uint64_t *at)
{
    size_t words = type->layout.core_words, used = 0;
    struct inner_map p;
    for (int level = 0; level < GANG__INNER_LEVELS; level++) {
        inner_of(type, level, &p);
        size_t core_words = level <= NUMAS ? words : 0;
        if (at) {
            uint64_t *gpus = at + used, *cores = gpus + p.count;
            for (size_t i = 0; i < type->spec->gpu_count; i++)
                if (p.gpu[i] >= 0)
                    gpus[p.gpu[i]] |= UINT64_C(1) << i;
            for (size_t i = 0; core_words && i < type->spec->core_count; i++)
                if (p.core[i] >= 0)
                    cores[(size_t)p.core[i] * core_words + i / GANG__CORES_PER_WORD] |=
                        UINT64_C(1) << (i % GANG__CORES_PER_WORD);
            struct gang__inner_domains made = {p.count, 0, gpus, level <= NUMAS ? cores : NULL};
            for (uint32_t k = 0; k < p.count; k++)
                if (gang__popcount(gpus[k]) > made.max_gpus)
                    made.max_gpus = gang__popcount(gpus[k]);
            type->inner[level] = made;
        }
        used += p.count * (1 + core_words);
    }
    return used;
}

static bool make_inner(const struct gang_mem *mem, struct gang__node_type *type)
{
    size_t words = lay_inner(type, NULL);
    if (!words)
        return true;
    type->inner_words = gang__zalloc(mem, words, sizeof(*type->inner_words));
    if (type->inner_words)
        lay_inner(type, type->inner_words);
    return type->inner_words != NULL;
}

/* ---- all of it ------------------------------------------------------------------------------- */

struct gang__node_type *gang__node_type_build(const struct gang_mem *mem,
                                              struct gang_node_spec *machine)
{
    struct gang__layout layout = layout_of(machine);
    size_t words = gang__word_count(layout), pairs = machine->gpu_count * machine->gpu_count;
    size_t numas = machine->numa_count ? machine->numa_count : 1, cores = numas * layout.core_words;
    size_t numbers = words + pairs + numas + cores;
    struct gang__node_type *type =
        gang__zalloc(mem, 1, sizeof(*type) + numbers * sizeof(uint64_t) + pairs + 2 * numas);
    if (!type)
        return NULL;
    uint64_t *number = &type->capacity[words];
    uint8_t *bytes = (uint8_t *)&type->capacity[numbers];
    type->spec = machine;
    type->layout = layout;
    type->numas = (uint16_t)numas;
    fill_capacity(type);
    fill_devices(type);
    fill_locality(type, bytes, number);
    fill_numas(type, number + pairs, number + pairs + numas, bytes + pairs);
    if (make_inner(mem, type))
        return type;
    gang__node_type_discard(mem, type);
    return NULL;
}

void gang__node_type_discard(const struct gang_mem *mem, struct gang__node_type *type)
{
    gang__release(mem, type->inner_words);
    gang__release(mem, type);
}
