/* SPDX-License-Identifier: Apache-2.0 */
/* From a loaded hwloc topology to a node specification: NUMA domains, cores, network cards. GPUs
 * are in hwloc_gpu.c, their links in hwloc_links.c. */
#include "model/hwloc_scan.h"

#include <gangsched/hwloc.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* ---- PCI addresses --------------------------------------------------------------------------- */

const char *gang__hwloc_pci_text(hwloc_obj_t pci, char text[GANG__PCI_TEXT])
{
    const struct hwloc_pcidev_attr_s *p = &pci->attr->pcidev;
    snprintf(text, GANG__PCI_TEXT, "%04x:%02x:%02x.%x", (unsigned)p->domain, (unsigned)p->bus,
             (unsigned)p->dev, (unsigned)p->func);
    return text;
}

int gang__hwloc_pci_order(hwloc_obj_t a, hwloc_obj_t b)
{
    if (!a || !b)
        return (a == NULL) - (b == NULL);
    const struct hwloc_pcidev_attr_s *p = &a->attr->pcidev;
    const struct hwloc_pcidev_attr_s *q = &b->attr->pcidev;
    if (p->domain != q->domain)
        return p->domain < q->domain ? -1 : 1;
    if (p->bus != q->bus)
        return p->bus < q->bus ? -1 : 1;
    if (p->dev != q->dev)
        return p->dev < q->dev ? -1 : 1;
    return p->func == q->func ? 0 : p->func < q->func ? -1 : 1;
}

/* ---- NUMA domains ---------------------------------------------------------------------------- */

/* The one package that shares processors with `set`; -1: none or several. */
static int32_t package_of(hwloc_topology_t topology, hwloc_const_bitmap_t set)
{
    int32_t package = -1;
    hwloc_obj_t p = NULL;
    while ((p = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, p)) != NULL) {
        if (!hwloc_bitmap_intersects(p->cpuset, set))
            continue;
        if (package >= 0)
            return -1;
        package = (int32_t)p->logical_index;
    }
    return package;
}

static gang_result scan_numas(struct gang__hwloc_scan *s)
{
    hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(s->topology);
    hwloc_obj_t n = NULL;
    while ((n = hwloc_get_next_obj_by_type(s->topology, HWLOC_OBJ_NUMANODE, n)) != NULL) {
        if (allowed && !hwloc_bitmap_isset(allowed, n->os_index))
            continue;
        size_t i = s->spec.numa_count;
        if (i == GANG_MAX_NUMAS)
            return gang__error(s->error, GANG_ELIMIT, "numas", "more than %d NUMA domains",
                               GANG_MAX_NUMAS);
        uint64_t bytes = n->attr->numanode.local_memory;
        if (bytes > (uint64_t)GANG__MAX_MEMORY)
            return gang__error(s->error, GANG_ELIMIT, "numas", "a NUMA domain of %llu bytes",
                               (unsigned long long)bytes);
        s->numa_obj[i] = n;
        s->is_gpu_memory[i] = n->subtype && strcmp(n->subtype, "GPUMemory") == 0;
        s->numas[i].os_index = n->os_index <= INT32_MAX ? (int32_t)n->os_index : -1;
        s->numas[i].package = package_of(s->topology, n->cpuset);
        s->numas[i].memory_bytes = (int64_t)bytes;
        s->spec.numa_count++;
    }
    return GANG_OK;
}

int32_t gang__hwloc_numa_of(const struct gang__hwloc_scan *s, hwloc_obj_t obj)
{
    int32_t best = -1;
    if (!obj || !obj->cpuset || hwloc_bitmap_iszero(obj->cpuset))
        return -1;
    for (size_t i = 0; i < s->spec.numa_count; i++) {
        hwloc_const_cpuset_t set = s->numa_obj[i]->cpuset;
        if (s->is_gpu_memory[i] || hwloc_bitmap_iszero(set))
            continue;
        if (!hwloc_bitmap_isincluded(obj->cpuset, set)) {
            if (hwloc_bitmap_isincluded(set, obj->cpuset))
                return -1; /* the object spans several domains */
            continue;
        }
        /* Of nested domains the innermost; of several with the same processors (DRAM and
         * high-bandwidth memory) hwloc's first, which is the one memory comes from by default. */
        if (best < 0 || (hwloc_bitmap_isincluded(set, s->numa_obj[best]->cpuset) &&
                         !hwloc_bitmap_isequal(set, s->numa_obj[best]->cpuset)))
            best = (int32_t)i;
    }
    return best;
}

/* Adds up the memory to hand out: all domains except a GPU's own memory, which POWER9 and Grace
 * Hopper machines show as NUMA domains without processors. hwloc marks them; files of old versions
 * have no marks, but the domain has exactly the size of a GPU's memory. */
static gang_result sum_memory(struct gang__hwloc_scan *s)
{
    uint64_t claimed = 0; /* bit: this GPU's domain has been found */
    int64_t sum = 0;
    for (size_t i = 0; i < s->spec.numa_count; i++) {
        bool no_cpus = hwloc_bitmap_iszero(s->numa_obj[i]->cpuset);
        for (size_t g = 0; no_cpus && !s->is_gpu_memory[i] && g < s->spec.gpu_count; g++) {
            if (claimed >> g & 1 || s->gpus[g].memory_bytes == 0 ||
                s->gpus[g].memory_bytes != s->numas[i].memory_bytes)
                continue;
            s->is_gpu_memory[i] = true;
            claimed |= UINT64_C(1) << g;
        }
        if (!s->is_gpu_memory[i])
            sum += s->numas[i].memory_bytes; /* no overflow: 2^8 domains of at most 2^52 */
    }
    if (sum > GANG__MAX_MEMORY)
        return gang__error(s->error, GANG_ELIMIT, "memory_bytes", "%lld bytes of memory",
                           (long long)sum);
    s->spec.memory_bytes = sum;
    return GANG_OK;
}

/* ---- cores ----------------------------------------------------------------------------------- */

static gang_result add_core(struct gang__hwloc_scan *s, hwloc_obj_t core_obj,
                            hwloc_const_cpuset_t set)
{
    size_t i = s->spec.core_count;
    if (i == GANG_MAX_CORES)
        return gang__error(s->error, GANG_ELIMIT, "cores", "more than %d cores", GANG_MAX_CORES);
    int first = hwloc_bitmap_first(set);
    int threads = hwloc_bitmap_weight(set);
    int length = hwloc_bitmap_list_snprintf(s->cpuset[i], sizeof(s->cpuset[i]), set);
    if (first < 0 || threads < 1 || length < 0 || (size_t)length >= sizeof(s->cpuset[i]))
        return gang__error(s->error, GANG_ELIMIT, "cores", "core %zu has too many threads", i);
    s->cores[i].os_index = first;
    s->cores[i].numa = gang__hwloc_numa_of(s, core_obj);
    s->cores[i].threads = threads;
    s->cores[i].cpuset = s->cpuset[i];
    s->spec.core_count++;
    return GANG_OK;
}

/* Collects every core with a processor that we may use; a processor without a core counts as a core
 * of its own. */
static gang_result scan_cores(struct gang__hwloc_scan *s)
{
    hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(s->topology);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set)
        return gang__error(s->error, GANG_ENOMEM, NULL, "out of memory");
    gang_result r = GANG_OK;
    hwloc_obj_t last = NULL; /* the threads of a core follow each other */
    hwloc_obj_t pu = NULL;
    while (r == GANG_OK &&
           (pu = hwloc_get_next_obj_by_type(s->topology, HWLOC_OBJ_PU, pu)) != NULL) {
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(s->topology, HWLOC_OBJ_CORE, pu);
        hwloc_obj_t core_obj = core ? core : pu;
        if (core_obj == last)
            continue;
        last = core_obj;
        if (!allowed)
            hwloc_bitmap_copy(set, core_obj->cpuset);
        else
            hwloc_bitmap_and(set, core_obj->cpuset, allowed);
        if (!hwloc_bitmap_iszero(set))
            r = add_core(s, core_obj, set);
    }
    hwloc_bitmap_free(set);
    s->spec.cpu_milli = 1000 * (int64_t)s->spec.core_count;
    return r;
}

/* ---- network cards --------------------------------------------------------------------------- */

static bool is_verbs(hwloc_obj_t osdev)
{
    return GANG__OSDEV_IS(osdev, HWLOC_OBJ_OSDEV_OPENFABRICS);
}

static bool is_nic(hwloc_obj_t osdev)
{
    return GANG__OSDEV_IS(osdev, HWLOC_OBJ_OSDEV_NETWORK) || is_verbs(osdev);
}

/* One entry for each PCI function, so that virtual interfaces have none, in the order of their
 * addresses. The name is that of verbs, or else the system's name of its interface. */
static gang_result scan_nics(struct gang__hwloc_scan *s)
{
    hwloc_obj_t o = NULL;
    while ((o = hwloc_get_next_osdev(s->topology, o)) != NULL) {
        hwloc_obj_t pci = o->parent;
        if (!is_nic(o) || !pci || pci->type != HWLOC_OBJ_PCI_DEVICE ||
            gang__text_check(o->name, false) != GANG_OK)
            continue;
        size_t i = 0;
        while (i < s->spec.nic_count && gang__hwloc_pci_order(s->nic[i]->parent, pci) < 0)
            i++;
        if (i < s->spec.nic_count && s->nic[i]->parent == pci) {
            if (is_verbs(o) && !is_verbs(s->nic[i]))
                s->nic[i] = o;
            continue;
        }
        if (s->spec.nic_count == GANG_MAX_ITEMS)
            return gang__error(s->error, GANG_ELIMIT, "nics", "more than %d network cards",
                               GANG_MAX_ITEMS);
        memmove(&s->nic[i + 1], &s->nic[i], (s->spec.nic_count++ - i) * sizeof(s->nic[0]));
        s->nic[i] = o;
    }
    for (size_t i = 0; i < s->spec.nic_count; i++) {
        hwloc_obj_t pci = s->nic[i]->parent;
        s->nics[i].name = s->nic[i]->name;
        s->nics[i].pci = gang__hwloc_pci_text(pci, s->nic_pci[i]);
        s->nics[i].numa = gang__hwloc_numa_of(s, hwloc_get_non_io_ancestor_obj(s->topology, pci));
    }
    return GANG_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

static const char *name_of(hwloc_topology_t topology)
{
    const char *name = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "HostName");
    return gang__text_check(name, false) == GANG_OK ? name : "node";
}

static gang_result scan_all(struct gang__hwloc_scan *s)
{
    gang_result r = scan_numas(s);
    if (r == GANG_OK)
        r = scan_cores(s);
    if (r == GANG_OK)
        r = gang__hwloc_gpus(s);
    if (r == GANG_OK)
        r = sum_memory(s);
    if (r == GANG_OK)
        r = scan_nics(s);
    if (r == GANG_OK)
        gang__hwloc_links(s);
    return r;
}

gang_result gang__hwloc_describe(const struct gang_mem *mem, hwloc_topology_t topology,
                                 const char *name, struct gang_node_spec **spec,
                                 struct gang_error *error)
{
    struct gang__hwloc_scan *s = gang__zalloc(mem, 1, sizeof(*s));
    if (!s)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    s->topology = topology;
    s->error = error;
    s->spec = (struct gang_node_spec)GANG_NODE_SPEC_INIT;
    s->spec.name = name ? name : name_of(topology);
    s->spec.numas = s->numas;
    s->spec.cores = s->cores;
    s->spec.gpus = s->gpus;
    s->spec.links = s->links;
    s->spec.nics = s->nics;
    s->spec.gpu_locality = s->locality;
    gang_result r = scan_all(s);
    if (r == GANG_OK)
        r = gang__node_spec_copy_mem(mem, &s->spec, spec, error);
    gang__release(mem, s);
    return r;
}

gang_result gang_node_spec_from_hwloc(hwloc_topology_t topology, const char *name,
                                      struct gang_node_spec **spec, struct gang_error *error)
{
    if (!spec)
        return gang__error(error, GANG_EINVAL, NULL, "nowhere to put the specification");
    *spec = NULL;
    if (!topology)
        return gang__error(error, GANG_EINVAL, NULL, "no topology");
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU) < 1)
        return gang__error(error, GANG_EINVAL, NULL, "the topology is not loaded");
    return gang__hwloc_describe(&gang__mem_libc, topology, name, spec, error);
}
