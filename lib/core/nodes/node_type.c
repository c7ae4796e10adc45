/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/node_type.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "core/commit/commit.h"
#include "core/nodes/kind.h"
#include "core/nodes/node_type_fill.h"
#include "core/nodes/parent.h"
#include "model/specs.h"

/* Resolves the amounts to kinds. Their words stand in the order of the kinds, in whatever order
 * they were listed. */
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

/* The class of a node is the model of its GPUs, and whether it has whole GPUs, slices, or both,
 * since no task takes both. A node with several models, or an unknown one, is in class "": a search
 * for a model looks there too, and at each device. NULL: no GPUs. */
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

/* Finds or makes the number of a class. */
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

/* ---- one of each ----------------------------------------------------------------------------- */

static struct gang__node_type *type_of_link(struct gang__hash_link *n)
{
    return (struct gang__node_type *)((char *)n - offsetof(struct gang__node_type, link));
}

static uint64_t hash_number(uint64_t h, int64_t number)
{
    return gang__hash(h, &number, sizeof(number));
}

/* Hashes only what mostly differs between machines. */
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
        h = hash_number(h, g->memory_bytes ^ (int64_t)g->mig_index << 56);
    }
    for (size_t i = 0; i < spec->profile_count; i++) {
        h = gang__hash(h, spec->profiles[i].name, strlen(spec->profiles[i].name));
        h = hash_number(h, spec->profiles[i].width ^ (int64_t)spec->profiles[i].starts);
    }
    for (size_t i = 0; i < spec->amount_count; i++)
        h = hash_number(h, spec->amounts[i].amount);
    return h;
}

/* A copy of the specification of the machine alone, in the library's struct sizes. */
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

static void type_free(gang_cluster *c, struct gang__node_type *type)
{
    gang__release(&c->mem, type->parents);
    gang__node_type_discard(&c->mem, type);
}

static gang_result type_new(gang_cluster *c, struct gang_node_spec *machine,
                            struct gang__node_type **made, struct gang_error *error)
{
    struct gang__node_type *type = gang__node_type_build(&c->mem, machine);
    if (!type)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    bool kept = gang__widths_note(c, machine);
    if (type->slices && kept)
        type->parents = gang__parents_new(&c->mem, machine);
    gang_result r = GANG_OK;
    if (!kept || (type->slices && !type->parents) ||
        gang__hash_reserve(&c->nodes.types, &c->mem) != GANG_OK)
        r = gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (r == GANG_OK)
        r = find_kinds(c, type, error);
    if (r != GANG_OK) {
        type_free(c, type);
        return r;
    }
    type->serial = ++c->nodes.types_made;
    *made = type;
    return GANG_OK;
}

/* Notes the rows of the index in which such a node stands when it is wholly free. */
static void note_free_node_rows(gang_cluster *c, const struct gang__node_type *type)
{
    uint64_t payload[GANG__BUCKET_WORDS], rows = 0;
    unsigned words = GANG__WORD_SHARES + gang__share_words(type->layout);
    for (unsigned i = 0; i < words; i++)
        payload[i] = type->capacity[i];
    payload[GANG__WORD_HEAD] = gang__head(GANG__STATE_UP, payload[GANG__WORD_HEAD]);
    struct gang__buckets buckets = gang__buckets_of(type->layout, payload);
    if (buckets.gpu)
        rows |= UINT64_C(1) << gang__gpu_row(buckets.gpu);
    if (buckets.cpu)
        rows |= UINT64_C(1) << gang__cpu_row(buckets.cpu);
    /* release -> gang__load in lowest_whole() of place/search/index_walk.c */
    atomic_fetch_or_explicit(
        &gang__load(&c->commit.gpu_class[type->layout.class_id])->free_node_rows, rows,
        memory_order_release);
}

gang_result gang__node_type_gpu_class(gang_cluster *c, struct gang__node_type *type,
                                      struct gang_error *error)
{
    if (type->has_class)
        return GANG_OK;
    gang_result r = class_get(c, type, &type->layout.class_id);
    type->has_class = r == GANG_OK;
    if (r == GANG_OK)
        note_free_node_rows(c, type);
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
