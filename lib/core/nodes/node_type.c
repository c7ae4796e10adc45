/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/node_type.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "core/commit/index.h"
#include "core/nodes/kind.h"
#include "core/nodes/parent.h"
#include "model/node_spec.h"

/* ---- what follows from a specification --------------------------------------------------------- */

static struct gang__layout layout_of(const struct gang_node_spec *spec)
{
    /* Cores are handed out by name only where they cover the millicores: a core that is not owned
     * is then always left for the tasks that share. */
    bool named = spec->cpu_milli <= 1000 * (int64_t)spec->core_count;
    size_t cores = named ? spec->core_count : 0;
    struct gang__layout l = {(uint8_t)spec->gpu_count,
                             (uint8_t)((cores + GANG__CORES_PER_WORD - 1) / GANG__CORES_PER_WORD),
                             (uint8_t)spec->amount_count, 0};
    return l;
}

/* Payloads of the node when nothing is taken. */
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

/* Which devices are of their own, and which slices of others. */
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

/* What two GPUs have in common besides a link. What is said of a linked pair's closeness hides it: there
 * their switches and NUMA domains tell. */
static uint64_t common_of(const struct gang_node_spec *spec, size_t i, size_t j, uint8_t near)
{
    int32_t a = spec->gpus[i].numa, b = spec->gpus[j].numa;
    int32_t x = spec->gpus[i].pcie, y = spec->gpus[j].pcie;
    if (near == GANG_NEAR_LINK)
        near = x && x == y        ? GANG_NEAR_PCI
               : a >= 0 && a == b ? GANG_NEAR_NUMA
               : package_of(spec, a) >= 0 && package_of(spec, a) == package_of(spec, b)
                   ? GANG_NEAR_PACKAGE
                   : GANG_NEAR_SYSTEM;
    return (uint64_t)(near >= GANG_NEAR_PCI) << GANG__WEIGHT_PCI |
           (uint64_t)(near >= GANG_NEAR_NUMA) << GANG__WEIGHT_NUMA |
           (uint64_t)(near >= GANG_NEAR_PACKAGE) << GANG__WEIGHT_PACKAGE;
}

static uint64_t link_weight(int64_t bandwidth_mbps)
{
    int64_t gbps = bandwidth_mbps / 1000;
    if (gbps > GANG__WEIGHT_LINK_MOST)
        gbps = GANG__WEIGHT_LINK_MOST;
    return (uint64_t)(gbps ? gbps : 1) << GANG__WEIGHT_LINK;
}

/* Closeness and weight of each pair of GPUs. */
static void fill_near(struct gang__node_type *type, uint8_t *near, uint64_t *weight)
{
    const struct gang_node_spec *spec = type->spec;
    size_t gpus = spec->gpu_count;
    type->near = near;
    type->weight = weight;
    for (size_t i = 0; i < gpus; i++) {
        for (size_t j = 0; j < gpus; j++) {
            uint8_t n = near[i * gpus + j] = gang__gpu_near(spec, i, j);
            if (i != j)
                weight[i * gpus + j] =
                    common_of(spec, i, j, n) | (n == GANG_NEAR_LINK ? link_weight(0) : 0);
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

/* Are all pairs of GPUs joined alike, and all in one domain? */
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

/* Are all GPUs and named cores in one domain? */
static bool is_flat(const struct gang__node_type *type)
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

/* What lies in each domain. */
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
    type->flat = is_flat(type);
}

/* ---- domains inside the machine ----------------------------------------------------------------- */

enum { PACKAGES, NUMAS, SWITCHES, ISLANDS };

/* Which part each GPU and each core is in, on one level; -1: none. */
struct parting {
    uint32_t count;
    int32_t gpu[GANG_MAX_GPUS];
    int32_t core[GANG_MAX_CORES];
};

/* By what the description says of NUMA domains. `number` of a domain is its part. */
static void part_by_numa(const struct gang_node_spec *spec, const int32_t *number, uint32_t count,
                         struct parting *p)
{
    p->count = count;
    for (size_t i = 0; i < spec->gpu_count; i++)
        p->gpu[i] = spec->gpus[i].numa < 0 ? -1 : number[spec->gpus[i].numa];
    for (size_t i = 0; i < spec->core_count; i++)
        p->core[i] = spec->cores[i].numa < 0 ? -1 : number[spec->cores[i].numa];
}

/* GPUs below each switch, where the description numbers them. */
static bool part_by_switch(const struct gang_node_spec *spec, struct parting *p)
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

/* GPUs that hang together by pairs of a closeness. */
static void part_by_near(const struct gang__node_type *type, uint8_t near, struct parting *p)
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
                if (p->gpu[k] >= 0 || type->near[list[at] * gpus + k] != near)
                    continue;
                p->gpu[k] = (int32_t)p->count;
                list[listed++] = k;
            }
        }
        p->count++;
    }
}

static void part(const struct gang__node_type *type, int level, struct parting *p)
{
    const struct gang_node_spec *spec = type->spec;
    int32_t number[GANG_MAX_NUMAS], package[GANG_MAX_NUMAS];
    uint32_t packages = 0;
    if (level == SWITCHES && part_by_switch(spec, p))
        return;
    if (level == SWITCHES || level == ISLANDS) {
        part_by_near(type, level == SWITCHES ? GANG_NEAR_PCI : GANG_NEAR_LINK, p);
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
    part_by_numa(spec, number, level == NUMAS ? (uint32_t)spec->numa_count : packages, p);
}

/* Lay the parts of all levels behind each other at `room`; NULL: only count the words. */
static size_t lay_parts(struct gang__node_type *type, uint64_t *room)
{
    size_t words = type->layout.core_words, used = 0;
    struct parting p;
    for (int level = 0; level < GANG__INNER_LEVELS; level++) {
        part(type, level, &p);
        size_t core_words = level <= NUMAS ? words : 0;
        if (room) {
            uint64_t *gpus = room + used, *cores = gpus + p.count;
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

/* Resolve the amounts to kinds. Their words stand in the order of the kinds, however they were
 * listed. */
static gang_result find_kinds(gang_cluster *c, struct gang__node_type *type,
                              struct gang_error *error)
{
    const struct gang_amount *amount[GANG_MAX_KINDS] = {NULL};
    for (unsigned i = 0; i < type->spec->amount_count; i++) {
        const char *name = type->spec->amounts[i].kind;
        int32_t kind = gang__kind_find(c, name);
        if (kind < GANG_KIND_SITE || c->nodes.kind[kind].scope != GANG_SCOPE_NODE) {
            gang_result code = kind < 0 ? GANG_ENOENT : GANG_EINVAL;
            gang__error(error, code, "kind", "\"%.64s\" is not a kind counted on nodes", name);
            return gang__error_at(error, code, "amounts[%u]", i);
        }
        amount[kind] = &type->spec->amounts[i];
    }
    unsigned word = gang__first_amount(type->layout);
    for (int32_t kind = GANG_KIND_SITE; kind < GANG_MAX_KINDS; kind++) {
        if (!amount[kind])
            continue;
        type->capacity[word] = (uint64_t)amount[kind]->amount;
        type->kind_word[kind] = (uint8_t)word++;
    }
    return GANG_OK;
}

/* The class of a node is its GPUs' model, and whether it has devices of their own, slices, or both, since
 * no task takes of both. A node with several models, or an unknown one, stands in class "": a search for a
 * model looks there too, and at each device. NULL: no GPUs. */
static const char *class_model(const struct gang_node_spec *spec)
{
    if (spec->gpu_count == 0)
        return NULL;
    const char *model = spec->gpus[0].model ? spec->gpus[0].model : "";
    for (size_t i = 1; i < spec->gpu_count; i++)
        if (strcmp(spec->gpus[i].model ? spec->gpus[i].model : "", model) != 0)
            return "";
    return model;
}

/* The number of a class, made if need be. */
static gang_result class_of(gang_cluster *c, const char *model, uint8_t holds, uint8_t *class_id)
{
    uint32_t count = gang__load(&c->commit.gpu_class_count);
    uint32_t id = 0;
    if (model) {
        for (id = 1; id < count; id++) {
            const struct gang__gpu_class *class = gang__load(&c->commit.gpu_class[id]);
            if (class->holds == holds && strcmp(class->model, model) == 0)
                break;
        }
    }
    if (id >= GANG__GPU_CLASSES)
        return GANG_ELIMIT;
    gang_result r = gang__index_make(&c->commit, id, NULL);
    if (r != GANG_OK)
        return r;
    if (id == count) {
        struct gang__gpu_class *class = gang__load(&c->commit.gpu_class[id]);
        memcpy(class->model, model, strlen(model) + 1);
        class->holds = holds;
        gang__store(&c->commit.gpu_class_count, count + 1);
    }
    *class_id = (uint8_t)id;
    return GANG_OK;
}

static gang_result class_get(gang_cluster *c, const struct gang__node_type *type, uint8_t *class_id)
{
    uint8_t holds =
        (uint8_t)((type->gpus ? GANG__HOLDS_DEVICES : 0) | (type->slices ? GANG__HOLDS_SLICES : 0));
    return class_of(c, class_model(type->spec), holds, class_id);
}

gang_result gang__gpu_classes_copy(gang_cluster *c, const gang_cluster *from)
{
    uint8_t made;
    gang_result r = GANG_OK;
    for (uint32_t id = 1; id < gang__load(&from->commit.gpu_class_count) && r == GANG_OK; id++) {
        const struct gang__gpu_class *class = gang__load(&from->commit.gpu_class[id]);
        r = class_of(c, class->model, class->holds, &made);
    }
    return r;
}

/* ---- one of each -------------------------------------------------------------------------------- */

static struct gang__node_type *type_of_link(struct gang__hash_link *n)
{
    return (struct gang__node_type *)((char *)n - offsetof(struct gang__node_type, link));
}

static uint64_t hash_number(uint64_t h, int64_t number)
{
    return gang__hash(h, &number, sizeof(number));
}

/* Not of everything: what mostly tells machines apart. */
static uint64_t machine_hash(const struct gang_node_spec *spec)
{
    uint64_t h = GANG__HASH_SEED;
    h = hash_number(h, spec->cpu_milli);
    h = hash_number(h, spec->memory_bytes);
    h = hash_number(h, (int64_t)(spec->gpu_count << 16 | spec->core_count));
    for (size_t i = 0; i < spec->gpu_count; i++) {
        const struct gang_gpu_spec *g = &spec->gpus[i];
        if (g->model)
            h = gang__hash(h, g->model, strlen(g->model));
        if (g->pci)
            h = gang__hash(h, g->pci, strlen(g->pci));
        if (g->parent)
            h = gang__hash(h, g->parent, strlen(g->parent));
        h = hash_number(h, g->memory_bytes ^ (int64_t)g->slice << 56);
    }
    for (size_t i = 0; i < spec->profile_count; i++) {
        h = gang__hash(h, spec->profiles[i].name, strlen(spec->profiles[i].name));
        h = hash_number(h, spec->profiles[i].width ^ (int64_t)spec->profiles[i].starts);
    }
    for (size_t i = 0; i < spec->amount_count; i++)
        h = hash_number(h, spec->amounts[i].amount);
    return h;
}

/* The specification of the machine alone, in the library's struct sizes. */
static struct gang_node_spec *machine_of(gang_cluster *c, const struct gang_node_spec *spec)
{
    struct gang_gpu_spec gpus[GANG_MAX_GPUS];
    struct gang_node_spec machine = *spec;
    for (size_t i = 0; i < spec->gpu_count; i++) {
        gpus[i] = gang__node_spec_gpu(spec, i);
        gpus[i].uuid = NULL;
        gpus[i].state = GANG_GPU_OK;
    }
    machine.gpus = gpus;
    machine.gpu_size = sizeof(gpus[0]);
    machine.name = NULL;
    machine.label_count = machine.partition_count = machine.topology_count = 0;
    machine.state = GANG_NODE_UP;
    return gang__node_spec_lay_mem(&c->mem, &machine);
}

static gang_result make_parts(gang_cluster *c, struct gang__node_type *type)
{
    size_t words = lay_parts(type, NULL);
    if (!words)
        return GANG_OK;
    type->inner_words = gang__zalloc(&c->mem, words, sizeof(*type->inner_words));
    if (!type->inner_words)
        return GANG_ENOMEM;
    lay_parts(type, type->inner_words);
    return GANG_OK;
}

static void type_free(gang_cluster *c, struct gang__node_type *type)
{
    gang__release(&c->mem, type->parents);
    gang__release(&c->mem, type->inner_words);
    gang__release(&c->mem, type);
}

static gang_result type_new(gang_cluster *c, struct gang_node_spec *machine,
                            struct gang__node_type **made, struct gang_error *error)
{
    struct gang__layout layout = layout_of(machine);
    size_t words = gang__word_count(layout), pairs = machine->gpu_count * machine->gpu_count;
    size_t numas = machine->numa_count ? machine->numa_count : 1, cores = numas * layout.core_words;
    size_t numbers = words + pairs + numas + cores;
    struct gang__node_type *type =
        gang__zalloc(&c->mem, 1, sizeof(*type) + numbers * sizeof(uint64_t) + pairs + 2 * numas);
    if (!type)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    uint64_t *number = &type->capacity[words];
    uint8_t *bytes = (uint8_t *)&type->capacity[numbers];
    type->spec = machine;
    type->layout = layout;
    type->numas = (uint16_t)numas;
    fill_capacity(type);
    fill_devices(type);
    fill_near(type, bytes, number);
    fill_numas(type, number + pairs, number + pairs + numas, bytes + pairs);
    bool kept = gang__widths_note(c, machine);
    if (type->slices && kept)
        type->parents = gang__parents_new(&c->mem, machine);
    gang_result r = !kept || (type->slices && !type->parents)
                        ? gang__error(error, GANG_ENOMEM, NULL, "out of memory")
                        : find_kinds(c, type, error);
    if (r == GANG_OK) {
        r = gang__hash_reserve(&c->nodes.types, &c->mem);
        if (r == GANG_OK)
            r = make_parts(c, type);
        if (r != GANG_OK)
            gang__error(error, r, NULL, "out of memory");
    }
    if (r != GANG_OK) {
        type_free(c, type);
        return r;
    }
    type->serial = ++c->nodes.types_made;
    *made = type;
    return GANG_OK;
}

/* The buckets of the index in which such a node stands when it is wholly free. */
static void note_whole(gang_cluster *c, const struct gang__node_type *type)
{
    uint64_t payload[GANG__BUCKET_WORDS], whole = 0;
    unsigned words = GANG__WORD_SHARES + gang__share_words(type->layout);
    for (unsigned i = 0; i < words; i++)
        payload[i] = type->capacity[i];
    payload[GANG__WORD_HEAD] = gang__head(GANG__STATE_UP, payload[GANG__WORD_HEAD]);
    struct gang__buckets levels = gang__buckets_of(type->layout, payload);
    if (levels.gpu)
        whole |= UINT64_C(1) << gang__gpu_row(levels.gpu);
    if (levels.cpu)
        whole |= UINT64_C(1) << gang__cpu_row(levels.cpu);
    atomic_fetch_or(&gang__load(&c->commit.gpu_class[type->layout.class_id])->whole, whole);
}

gang_result gang__node_type_gpu_class(gang_cluster *c, struct gang__node_type *type,
                                      struct gang_error *error)
{
    if (type->has_class)
        return GANG_OK;
    gang_result r = class_get(c, type, &type->layout.class_id);
    type->has_class = r == GANG_OK;
    if (r == GANG_OK)
        note_whole(c, type);
    if (r != GANG_OK)
        gang__error(error, r, NULL, "%s",
                    r == GANG_ELIMIT ? "too many GPU models" : "out of memory");
    return r;
}

struct gang__node_type *gang__node_type_ref_last(gang_cluster *c)
{
    c->nodes.last_type->refs++;
    return c->nodes.last_type;
}

gang_result gang__node_type_intern(gang_cluster *c, const struct gang_node_spec *spec,
                                   struct gang__node_type **type, struct gang_error *error)
{
    *type = NULL;
    struct gang_node_spec *machine = machine_of(c, spec);
    if (!machine)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    uint64_t hash = machine_hash(machine);
    for (struct gang__hash_link *n = gang__hash_first(&c->nodes.types, hash); n; n = n->next) {
        struct gang__node_type *there = type_of_link(n);
        if (n->hash == hash && gang__same_machine(there->spec, machine)) {
            gang__release(&c->mem, machine);
            c->nodes.last_type = there;
            *type = gang__node_type_ref_last(c);
            return GANG_OK;
        }
    }
    gang_result r = type_new(c, machine, type, error);
    if (r != GANG_OK) {
        gang__release(&c->mem, machine);
        return r;
    }
    gang__hash_insert(&c->nodes.types, &(*type)->link, hash);
    c->nodes.last_type = *type;
    (*type)->refs = 1;
    return GANG_OK;
}

void gang__node_type_unref(gang_cluster *c, struct gang__node_type *type)
{
    if (--type->refs)
        return;
    gang__hash_remove(&c->nodes.types, &type->link);
    if (c->nodes.last_type == type)
        c->nodes.last_type = NULL;
    gang__release(&c->mem, type->spec);
    type_free(c, type);
}

void gang__node_types_free(gang_cluster *c)
{
    for (size_t i = 0; i < c->nodes.types.cap; i++) {
        struct gang__hash_link *next;
        for (struct gang__hash_link *n = c->nodes.types.bucket[i]; n; n = next) {
            next = n->next;
            struct gang__node_type *type = type_of_link(n);
            gang__release(&c->mem, type->spec);
            type_free(c, type);
        }
    }
    gang__hash_free(&c->nodes.types, &c->mem);
}
