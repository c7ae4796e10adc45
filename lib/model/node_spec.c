/* SPDX-License-Identifier: Apache-2.0 */
/* Checking a specification by value, and what is read of an unchecked one. */
#include "model/node_spec.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "model/node_spec_in.h"

/* ---- text ------------------------------------------------------------------------------------ */

/* Length in bytes of the UTF-8 character at p; 0 if there is none, or a control character. */
static size_t character(const char *p)
{
    if (*p >= 0x20 && *p < 0x7f)
        return 1;
    return gang__is_control(p) ? 0 : gang__utf8_length(p, 4);
}

gang_result gang__text_check(const char *text, bool may_be_empty)
{
    if (!text || (!text[0] && !may_be_empty))
        return GANG_EINVAL;
    for (size_t at = 0; text[at];) {
        if (at >= GANG_MAX_NAME)
            return GANG_ELIMIT;
        size_t bytes = character(text + at);
        if (!bytes)
            return GANG_EINVAL;
        at += bytes;
        if (at > GANG_MAX_NAME)
            return GANG_ELIMIT;
    }
    return GANG_OK;
}

/* "0,64" or "0-3,8": decimal numbers and ascending ranges as in Linux' cpuset files. */
static bool is_cpu_list(const char *text)
{
    for (;;) {
        long bound[2] = {0, 0};
        int bounds = 0;
        do {
            size_t digits = strspn(text, "0123456789");
            if (digits == 0 || digits > 7)
                return false;
            for (; digits; digits--)
                bound[bounds] = bound[bounds] * 10 + (*text++ - '0');
            bounds++;
        } while (bounds == 1 && *text == '-' && text++);
        if (bounds == 2 && bound[1] < bound[0])
            return false;
        if (!*text)
            return true;
        if (*text++ != ',')
            return false;
    }
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Refuses "array[index].member"; `array` or `member` may be NULL. */
static gang_result refuse(struct gang_error *error, gang_result code, const char *array,
                          size_t index, const char *member, const char *text)
{
    char path[64];
    if (!array)
        snprintf(path, sizeof(path), "%s", member ? member : "");
    else
        snprintf(path, sizeof(path), "%s[%zu]%s%s", array, index, member ? "." : "",
                 member ? member : "");
    return gang__error(error, code, path, "%s", text);
}

static gang_result refuse_text(struct gang_error *error, gang_result code, const char *array,
                               size_t index, const char *member)
{
    return refuse(error, code, array, index, member,
                  code == GANG_ELIMIT ? "longer than 255 bytes"
                                      : "missing, empty, or not plain UTF-8 text");
}

/* Checks an array: present if it has elements, not too long, with elements of a possible size. */
static gang_result array_check(const void *array, size_t count, size_t max, const char *name,
                               struct gang_error *error)
{
    if (count > max)
        return gang__error(error, GANG_ELIMIT, name, "%zu are more than %zu", count, max);
    if (count > 0 && !array)
        return refuse(error, GANG_EINVAL, NULL, 0, name, "NULL with a count above 0");
    return GANG_OK;
}

static gang_result element_size_check(gang_result r, const char *array, size_t i,
                                      const char *size_name, struct gang_error *error)
{
    if (r == GANG_E2BIG)
        return refuse(error, r, array, i, NULL, "an unknown member is not zero");
    if (r != GANG_OK)
        return refuse(error, r, NULL, 0, size_name, "not the size of a known struct");
    return GANG_OK;
}

static bool numa_index_ok(const struct gang_node_spec *s, int32_t numa)
{
    return numa == -1 || (numa >= 0 && (size_t)numa < s->numa_count);
}

/* Checks text that may be unknown: NULL or "". */
static gang_result optional_text_check(const char *text)
{
    return text ? gang__text_check(text, true) : GANG_OK;
}

/* Checks that each slice has a parent and a position of its own in it. */
static gang_result slice_check(const struct gang_node_spec *s, const struct gang_gpu_spec *e,
                               size_t i, struct gang_error *error)
{
    gang_result r = optional_text_check(e->parent);
    if (r != GANG_OK)
        return refuse_text(error, r, "gpus", i, "parent");
    if (!gang__is_slice(e))
        return e->mig_index == 0
                   ? GANG_OK
                   : refuse(error, GANG_EINVAL, "gpus", i, "mig_index", "without a parent");
    if (e->mig_index < 0 || e->mig_index >= GANG__MAX_SLICES)
        return refuse(error, GANG_ERANGE, "gpus", i, "mig_index", "not from 0 to 63");
    for (size_t j = 0; j < i; j++) {
        struct gang_gpu_spec other = gang__node_spec_gpu(s, j);
        if (gang__is_slice(&other) && other.mig_index == e->mig_index &&
            strcmp(other.parent, e->parent) == 0)
            return refuse(error, GANG_EINVAL, "gpus", i, "mig_index", "twice in its parent");
    }
    return GANG_OK;
}

static gang_result gpu_state_check(int32_t state, size_t i, struct gang_error *error)
{
    if (state != GANG_GPU_OK && state != GANG_GPU_UNHEALTHY)
        return refuse(error, GANG_EINVAL, "gpus", i, "state", "neither ok nor unhealthy");
    return GANG_OK;
}

static gang_result gpus_check(const struct gang_node_spec *s, struct gang_error *error)
{
    gang_result r = array_check(s->gpus, s->gpu_count, GANG_MAX_GPUS, "gpus", error);
    for (size_t i = 0; r == GANG_OK && i < s->gpu_count; i++) {
        struct gang_gpu_spec e;
        r = element_size_check(
            gang__element_in(&e, sizeof(e), GPU_MIN_SIZE, s->gpus, s->gpu_size, i), "gpus", i,
            "gpu_size", error);
        if (r != GANG_OK)
            return r;
        if ((r = optional_text_check(e.model)) != GANG_OK)
            return refuse_text(error, r, "gpus", i, "model");
        if ((r = optional_text_check(e.pci)) != GANG_OK)
            return refuse_text(error, r, "gpus", i, "pci");
        if ((r = optional_text_check(e.uuid)) != GANG_OK)
            return refuse_text(error, r, "gpus", i, "uuid");
        if (e.memory_bytes < 0 || e.memory_bytes > GANG__MAX_MEMORY)
            return refuse(error, GANG_ERANGE, "gpus", i, "memory_bytes", "negative or too large");
        if (!numa_index_ok(s, e.numa))
            return refuse(error, GANG_EINVAL, "gpus", i, "numa", "no such NUMA domain");
        if (e.pcie < 0)
            return refuse(error, GANG_ERANGE, "gpus", i, "pcie", "negative");
        if ((r = gpu_state_check(e.state, i, error)) != GANG_OK)
            return r;
        r = slice_check(s, &e, i, error);
    }
    return r;
}

/* Would two profiles of one name apply to the same slice? */
static bool is_ambiguous(const struct gang_profile_spec *a, const struct gang_profile_spec *b)
{
    bool all = !a->model || !a->model[0] || !b->model || !b->model[0];
    return strcmp(a->name, b->name) == 0 && (all || strcmp(a->model, b->model) == 0);
}

static gang_result profile_check(const struct gang_profile_spec *e, size_t i,
                                 struct gang_error *error)
{
    gang_result r = gang__text_check(e->name, false);
    if (r != GANG_OK)
        return refuse_text(error, r, "profiles", i, "name");
    if ((r = optional_text_check(e->model)) != GANG_OK)
        return refuse_text(error, r, "profiles", i, "model");
    if (e->width < 1 || e->width > GANG__MAX_SLICES)
        return refuse(error, GANG_ERANGE, "profiles", i, "width", "not from 1 to 64");
    if (e->starts == 0)
        return refuse(error, GANG_EINVAL, "profiles", i, "starts", "none");
    if (e->starts >> (GANG__MAX_SLICES - e->width) > 1)
        return refuse(error, GANG_ERANGE, "profiles", i, "starts", "ends past slice 63");
    return GANG_OK;
}

static gang_result profiles_check(const struct gang_node_spec *s, struct gang_error *error)
{
    gang_result r = array_check(s->profiles, s->profile_count, GANG_MAX_ITEMS, "profiles", error);
    for (size_t i = 0; r == GANG_OK && i < s->profile_count; i++) {
        struct gang_profile_spec e;
        r = element_size_check(
            gang__element_in(&e, sizeof(e), PROFILE_MIN_SIZE, s->profiles, s->profile_size, i),
            "profiles", i, "profile_size", error);
        if (r == GANG_OK)
            r = profile_check(&e, i, error);
        for (size_t j = 0; r == GANG_OK && j < i; j++) {
            struct gang_profile_spec other;
            (void)gang__element_in(&other, sizeof(other), PROFILE_MIN_SIZE, s->profiles,
                                   s->profile_size, j);
            if (is_ambiguous(&e, &other))
                r = refuse(error, GANG_EINVAL, "profiles", i, "name", "twice for one model");
        }
    }
    return r;
}

static gang_result link_check(const struct gang_node_spec *s, const struct gang_link_spec *e,
                              size_t i, struct gang_error *error)
{
    if (e->a < 0 || (size_t)e->a >= s->gpu_count)
        return refuse(error, GANG_EINVAL, "links", i, "a", "no such GPU");
    if (e->b < 0 || (size_t)e->b >= s->gpu_count)
        return refuse(error, GANG_EINVAL, "links", i, "b", "no such GPU");
    if (e->a == e->b)
        return refuse(error, GANG_EINVAL, "links", i, "b", "a GPU linked to itself");
    if (e->type < GANG_LINK_NVLINK || e->type > GANG_LINK_OTHER)
        return refuse(error, GANG_EINVAL, "links", i, "type", "unknown type of link");
    if (e->hops < 0)
        return refuse(error, GANG_ERANGE, "links", i, "hops", "negative");
    if (e->bandwidth_mbps < 0)
        return refuse(error, GANG_ERANGE, "links", i, "bandwidth_mbps", "negative");
    return GANG_OK;
}

static gang_result links_check(const struct gang_node_spec *s, struct gang_error *error)
{
    uint64_t seen[GANG_MAX_GPUS] = {0}; /* bit b of seen[a], a < b: that pair has a link */
    size_t max = GANG_MAX_GPUS * (GANG_MAX_GPUS - 1) / 2;
    gang_result r = array_check(s->links, s->link_count, max, "links", error);
    for (size_t i = 0; r == GANG_OK && i < s->link_count; i++) {
        struct gang_link_spec e;
        r = element_size_check(
            gang__element_in(&e, sizeof(e), LINK_MIN_SIZE, s->links, s->link_size, i), "links", i,
            "link_size", error);
        if (r == GANG_OK)
            r = link_check(s, &e, i, error);
        if (r != GANG_OK)
            return r;
        int32_t low = e.a < e.b ? e.a : e.b;
        uint64_t high = UINT64_C(1) << (e.a < e.b ? e.b : e.a);
        if (seen[low] & high)
            return refuse(error, GANG_EINVAL, "links", i, NULL, "the pair has a link already");
        seen[low] |= high;
    }
    return r;
}

static gang_result numas_check(const struct gang_node_spec *s, struct gang_error *error)
{
    gang_result r = array_check(s->numas, s->numa_count, GANG_MAX_NUMAS, "numas", error);
    for (size_t i = 0; r == GANG_OK && i < s->numa_count; i++) {
        struct gang_numa_spec e;
        r = element_size_check(
            gang__element_in(&e, sizeof(e), NUMA_MIN_SIZE, s->numas, s->numa_size, i), "numas", i,
            "numa_size", error);
        if (r != GANG_OK)
            return r;
        if (e.os_index < -1)
            return refuse(error, GANG_ERANGE, "numas", i, "os_index", "negative");
        if (e.package < -1)
            return refuse(error, GANG_ERANGE, "numas", i, "package", "negative");
        if (e.memory_bytes < 0 || e.memory_bytes > GANG__MAX_MEMORY)
            return refuse(error, GANG_ERANGE, "numas", i, "memory_bytes", "negative or too large");
    }
    return r;
}

static gang_result core_check(const struct gang_node_spec *s, const struct gang_core_spec *e,
                              size_t i, struct gang_error *error)
{
    if (e->os_index < 0)
        return refuse(error, GANG_ERANGE, "cores", i, "os_index", "negative");
    if (!numa_index_ok(s, e->numa))
        return refuse(error, GANG_EINVAL, "cores", i, "numa", "no such NUMA domain");
    if (e->threads < 1)
        return refuse(error, GANG_ERANGE, "cores", i, "threads", "less than 1");
    if (e->reserved0 != 0)
        return refuse(error, GANG_EINVAL, "cores", i, "reserved0", "not 0");
    gang_result r = optional_text_check(e->cpuset);
    if (r != GANG_OK)
        return refuse_text(error, r, "cores", i, "cpuset");
    if (e->cpuset && !is_cpu_list(e->cpuset))
        return refuse(error, GANG_EINVAL, "cores", i, "cpuset", "not a list such as \"0,64\"");
    return GANG_OK;
}

static gang_result cores_check(const struct gang_node_spec *s, struct gang_error *error)
{
    int32_t os_index[GANG_MAX_CORES];
    gang_result r = array_check(s->cores, s->core_count, GANG_MAX_CORES, "cores", error);
    for (size_t i = 0; r == GANG_OK && i < s->core_count; i++) {
        struct gang_core_spec e;
        r = element_size_check(
            gang__element_in(&e, sizeof(e), CORE_MIN_SIZE, s->cores, s->core_size, i), "cores", i,
            "core_size", error);
        if (r == GANG_OK)
            r = core_check(s, &e, i, error);
        if (r != GANG_OK)
            return r;
        /* Two cores with the same thread would be granted twice. */
        for (size_t j = 0; j < i; j++)
            if (os_index[j] == e.os_index)
                return refuse(error, GANG_EINVAL, "cores", i, "os_index", "of two cores");
        os_index[i] = e.os_index;
    }
    return r;
}

static gang_result nics_check(const struct gang_node_spec *s, struct gang_error *error)
{
    gang_result r = array_check(s->nics, s->nic_count, GANG_MAX_ITEMS, "nics", error);
    for (size_t i = 0; r == GANG_OK && i < s->nic_count; i++) {
        struct gang_nic_spec e;
        r = element_size_check(
            gang__element_in(&e, sizeof(e), NIC_MIN_SIZE, s->nics, s->nic_size, i), "nics", i,
            "nic_size", error);
        if (r != GANG_OK)
            return r;
        if ((r = gang__text_check(e.name, false)) != GANG_OK)
            return refuse_text(error, r, "nics", i, "name");
        if ((r = optional_text_check(e.pci)) != GANG_OK)
            return refuse_text(error, r, "nics", i, "pci");
        if (!numa_index_ok(s, e.numa))
            return refuse(error, GANG_EINVAL, "nics", i, "numa", "no such NUMA domain");
        if (e.reserved0 != 0)
            return refuse(error, GANG_EINVAL, "nics", i, "reserved0", "not 0");
    }
    return r;
}

static bool is_built_in(const char *kind)
{
    return strcmp(kind, "cpu") == 0 || strcmp(kind, "memory") == 0 || strcmp(kind, "gpu") == 0;
}

static gang_result amounts_check(const struct gang_node_spec *s, struct gang_error *error)
{
    size_t max = GANG_MAX_KINDS - GANG_KIND_SITE;
    gang_result r = array_check(s->amounts, s->amount_count, max, "amounts", error);
    for (size_t i = 0; r == GANG_OK && i < s->amount_count; i++) {
        const struct gang_amount *e = &s->amounts[i];
        if ((r = gang__text_check(e->kind, false)) != GANG_OK)
            return refuse_text(error, r, "amounts", i, "kind");
        if (is_built_in(e->kind))
            return refuse(error, GANG_EINVAL, "amounts", i, "kind", "a built-in kind");
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->amounts[j].kind, e->kind) == 0)
                return refuse(error, GANG_EINVAL, "amounts", i, "kind", "given twice");
        if (e->amount < 0 || e->amount > GANG_MAX_AMOUNT)
            return refuse(error, GANG_ERANGE, "amounts", i, "amount", "negative or too large");
    }
    return r;
}

/* Checks labels, and places in the topology: the same struct, but a place has no empty value. */
static gang_result labels_check(const struct gang_label *labels, size_t count, size_t max,
                                bool may_be_empty, const char *name, struct gang_error *error)
{
    gang_result r = array_check(labels, count, max, name, error);
    for (size_t i = 0; r == GANG_OK && i < count; i++) {
        if ((r = gang__text_check(labels[i].key, false)) != GANG_OK)
            return refuse_text(error, r, name, i, "key");
        if ((r = gang__text_check(labels[i].value, may_be_empty)) != GANG_OK)
            return refuse_text(error, r, name, i, "value");
        for (size_t j = 0; j < i; j++)
            if (strcmp(labels[j].key, labels[i].key) == 0)
                return refuse(error, GANG_EINVAL, name, i, "key", "given twice");
    }
    return r;
}

static gang_result partitions_check(const struct gang_node_spec *s, struct gang_error *error)
{
    gang_result r =
        array_check(s->partitions, s->partition_count, GANG_MAX_ITEMS, "partitions", error);
    for (size_t i = 0; r == GANG_OK && i < s->partition_count; i++) {
        if ((r = gang__text_check(s->partitions[i], false)) != GANG_OK)
            return refuse_text(error, r, "partitions", i, NULL);
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->partitions[j], s->partitions[i]) == 0)
                return refuse(error, GANG_EINVAL, "partitions", i, NULL, "given twice");
    }
    return r;
}

static gang_result locality_check(const struct gang_node_spec *s, struct gang_error *error)
{
    size_t n = s->gpu_count;
    for (size_t k = 0; s->gpu_locality && k < n * n; k++) {
        if (s->gpu_locality[k] > GANG_LOCALITY_LINK)
            return refuse(error, GANG_EINVAL, "gpu_locality", k, NULL,
                          "not one of GANG_LOCALITY_*");
        if (s->gpu_locality[k] != s->gpu_locality[k % n * n + k / n])
            return refuse(error, GANG_EINVAL, "gpu_locality", k, NULL, "not symmetric");
    }
    return GANG_OK;
}

static gang_result scalars_check(const struct gang_node_spec *s, struct gang_error *error)
{
    gang_result r = gang__text_check(s->name, false);
    if (r != GANG_OK)
        return refuse_text(error, r, NULL, 0, "name");
    if (s->cpu_milli < 0 || s->cpu_milli > GANG_MAX_CPU_MILLI)
        return refuse(error, GANG_ERANGE, NULL, 0, "cpu_milli", "negative or too large");
    if (s->memory_bytes < 0 || s->memory_bytes > GANG__MAX_MEMORY)
        return refuse(error, GANG_ERANGE, NULL, 0, "memory_bytes", "negative or too large");
    if (s->state < GANG_NODE_UP || s->state > GANG_NODE_DOWN)
        return refuse(error, GANG_EINVAL, NULL, 0, "state", "not up, draining or down");
    if (s->reserved0 != 0)
        return refuse(error, GANG_EINVAL, NULL, 0, "reserved0", "not 0");
    return GANG_OK;
}

struct gang_gpu_spec gang__node_spec_gpu(const struct gang_node_spec *spec, size_t i)
{
    struct gang_gpu_spec e;
    (void)gang__element_in(&e, sizeof(e), GPU_MIN_SIZE, spec->gpus, spec->gpu_size, i);
    return e;
}

const char *gang__node_spec_uuid(const struct gang_node_spec *spec, size_t i)
{
    const char *gpus = (const char *)spec->gpus;
    return ((const struct gang_gpu_spec *)(const void *)(gpus + i * spec->gpu_size))->uuid;
}

static int32_t gpu_state(const struct gang_node_spec *spec, size_t i)
{
    const char *gpus = (const char *)spec->gpus;
    return ((const struct gang_gpu_spec *)(const void *)(gpus + i * spec->gpu_size))->state;
}

uint64_t gang__node_spec_unhealthy(const struct gang_node_spec *spec)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < spec->gpu_count; i++)
        if (gpu_state(spec, i) == GANG_GPU_UNHEALTHY)
            mask |= UINT64_C(1) << i;
    return mask;
}

/* Checks what gang__same_machine() does not compare. */
static gang_result unshared_check(const struct gang_node_spec *s, struct gang_error *error)
{
    for (size_t i = 0; i < s->gpu_count; i++) {
        gang_result r = optional_text_check(gang__node_spec_uuid(s, i));
        if (r != GANG_OK)
            return refuse_text(error, r, "gpus", i, "uuid");
        r = gpu_state_check(gpu_state(s, i), i, error);
        if (r != GANG_OK)
            return r;
    }
    return GANG_OK;
}

gang_result gang__node_spec_in(const struct gang_node_spec *from,
                               const struct gang_node_spec *known, struct gang_node_spec *s,
                               bool *is_known, struct gang_error *error)
{
    *is_known = false;
    if (!from)
        return gang__error(error, GANG_EINVAL, NULL, "no specification");
    gang_result r = gang__struct_in(s, sizeof(*s), SPEC_MIN_SIZE, from, from->size);
    if (r == GANG_E2BIG)
        return gang__error(error, r, NULL, "an unknown member is not zero");
    if (r != GANG_OK)
        return gang__error(error, r, "size", "not the size of a known struct");
    if ((r = scalars_check(s, error)) != GANG_OK)
        return r;
    if (known && gang__same_machine(s, known)) {
        *is_known = true;
        r = unshared_check(s, error);
    } else if ((r = gpus_check(s, error)) == GANG_OK && (r = links_check(s, error)) == GANG_OK &&
               (r = numas_check(s, error)) == GANG_OK && (r = cores_check(s, error)) == GANG_OK &&
               (r = nics_check(s, error)) == GANG_OK && (r = amounts_check(s, error)) == GANG_OK &&
               (r = locality_check(s, error)) == GANG_OK) {
        r = profiles_check(s, error);
    }
    if (r != GANG_OK || (r = partitions_check(s, error)) != GANG_OK)
        return r;
    r = labels_check(s->labels, s->label_count, GANG_MAX_ITEMS, true, "labels", error);
    if (r == GANG_OK)
        r = labels_check(s->topology, s->topology_count, GANG_MAX_LEVELS, false, "topology", error);
    return r;
}

gang_result gang_node_spec_check(const struct gang_node_spec *spec, struct gang_error *error)
{
    struct gang_node_spec s;
    bool is_known;
    return gang__node_spec_in(spec, NULL, &s, &is_known, error);
}

/* ---- closeness ------------------------------------------------------------------------------- */

static int32_t package_of(const struct gang_node_spec *s, int32_t numa)
{
    struct gang_numa_spec e;
    if (numa < 0)
        return -1;
    (void)gang__element_in(&e, sizeof(e), NUMA_MIN_SIZE, s->numas, s->numa_size, (size_t)numa);
    return e.package;
}

uint8_t gang__gpu_locality(const struct gang_node_spec *spec, size_t i, size_t j)
{
    if (i == j)
        return GANG_LOCALITY_LINK;
    if (spec->gpu_locality)
        return spec->gpu_locality[i * spec->gpu_count + j];
    for (size_t k = 0; k < spec->link_count; k++) {
        struct gang_link_spec e;
        (void)gang__element_in(&e, sizeof(e), LINK_MIN_SIZE, spec->links, spec->link_size, k);
        if (((size_t)e.a == i && (size_t)e.b == j) || ((size_t)e.a == j && (size_t)e.b == i))
            return GANG_LOCALITY_LINK;
    }
    struct gang_gpu_spec a;
    struct gang_gpu_spec b;
    (void)gang__element_in(&a, sizeof(a), GPU_MIN_SIZE, spec->gpus, spec->gpu_size, i);
    (void)gang__element_in(&b, sizeof(b), GPU_MIN_SIZE, spec->gpus, spec->gpu_size, j);
    if (a.numa < 0 || b.numa < 0)
        return GANG_LOCALITY_SYSTEM;
    if (a.numa == b.numa)
        return GANG_LOCALITY_NUMA;
    int32_t package = package_of(spec, a.numa);
    return package >= 0 && package == package_of(spec, b.numa) ? GANG_LOCALITY_PACKAGE
                                                               : GANG_LOCALITY_SYSTEM;
}
