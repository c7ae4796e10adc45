/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs a machine has.
 *
 * hwloc knows a GPU as a PCI device and as the OS devices that its back ends found: "cuda0",
 * "nvml0", "rsmi0", "ze0", "opencl0d0". One back end reports a device once, so the k-th OS device
 * of each back end under one PCI device are one GPU; several of one back end are partitions (AMD's
 * CPX mode) and count each. OS devices whose PCI device is unknown (WSL, some OpenCL platforms) are
 * matched in the same way with the GPUs of their vendor.
 *
 * A PCI device that no back end reports is a GPU by its class, unless a back end reports other
 * devices of its vendor: then it is one that cannot compute, or is not ours to use. Outputs of the
 * kernel's DRM ("card0") and X screens (":0.0") say nothing: the VGA chip of a management
 * controller has them, too. */
#include "model/hwloc_scan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Back ends of hwloc, the best informed first. */
enum { NVML, CUDA, RSMI, LEVEL_ZERO, OPENCL };

enum { NVIDIA = 0x10de, AMD = 0x1002, INTEL = 0x8086 };

static const struct back_end {
    const char *name;      /* of hwloc's info attribute or subtype */
    const char *prefix;    /* of its OS devices */
    uint32_t vendor;       /* 0: any */
    const char *uuid;      /* info attribute */
    const char *memory[2]; /* info attributes, KiB */
} back_ends[GANG__BACK_ENDS] = {
    {"NVML", "nvml", NVIDIA, "NVIDIAUUID", {NULL, NULL}},
    {"CUDA", "cuda", NVIDIA, "CUDAUUID", {"CUDAGlobalMemorySize", NULL}},
    {"RSMI", "rsmi", AMD, "AMDUUID", {"RSMIVRAMSize", NULL}},
    {"LevelZero", "ze", INTEL, "LevelZeroUUID", {"LevelZeroHBMSize", "LevelZeroDDRSize"}},
    {"OpenCL", "opencl", 0, NULL, {"OpenCLGlobalMemorySize", NULL}},
};

/* ---- which OS devices ------------------------------------------------------------------------ */

static const char *info(hwloc_obj_t obj, const char *name)
{
    return hwloc_obj_get_info_by_name(obj, name);
}

static bool info_is_not(hwloc_obj_t obj, const char *name, const char *value)
{
    const char *text = info(obj, name);
    return text && strcmp(text, value) != 0;
}

/* A board that only drives the console of NVIDIA's DGX machines; it does not compute. */
static bool is_console(hwloc_obj_t osdev)
{
    const char *model = info(osdev, "GPUModel");
    return model && (strcmp(model, "NVIDIA DGX Display") == 0 || strcmp(model, "DGX Display") == 0);
}

/* The back end that reports this OS device as a GPU; -1: none does. */
static int back_end_of(hwloc_obj_t osdev)
{
    if (!GANG__OSDEV_IS(osdev, HWLOC_OBJ_OSDEV_GPU) &&
        !GANG__OSDEV_IS(osdev, HWLOC_OBJ_OSDEV_COPROC))
        return -1;
    if (osdev->parent && osdev->parent->type == HWLOC_OBJ_OS_DEVICE)
        return -1; /* a tile of the GPU above */
    /* FPGAs, processors that speak OpenCL, ... */
    if (info_is_not(osdev, "OpenCLDeviceType", "GPU") ||
        info_is_not(osdev, "LevelZeroDeviceType", "GPU") || is_console(osdev))
        return -1;
    const char *by = info(osdev, "Backend");
    if (!by)
        by = osdev->subtype;
    for (int b = 0; b < GANG__BACK_ENDS; b++) {
        size_t length = strlen(back_ends[b].prefix);
        if (by ? strcmp(by, back_ends[b].name) == 0
               : osdev->name && strncmp(osdev->name, back_ends[b].prefix, length) == 0 &&
                     isdigit((unsigned char)osdev->name[length]))
            return b;
    }
    return -1;
}

/* A bit for the back end; OpenCL has one for each platform, because each reports all devices
 * again. */
static uint64_t key_of(hwloc_obj_t osdev, int back_end)
{
    if (back_end != OPENCL)
        return UINT64_C(1) << back_end;
    unsigned platform = 0;
    const char *index = info(osdev, "OpenCLPlatformIndex");
    if (index)
        platform = (unsigned)strtoul(index, NULL, 10);
    else if (osdev->name)
        sscanf(osdev->name, "opencl%u", &platform);
    return UINT64_C(1) << (OPENCL + platform % (64 - OPENCL));
}

static uint32_t vendor_of(hwloc_obj_t pci, hwloc_obj_t osdev, int back_end)
{
    if (pci && pci->attr->pcidev.vendor_id)
        return pci->attr->pcidev.vendor_id;
    if (back_ends[back_end].vendor)
        return back_ends[back_end].vendor;
    const char *name = info(osdev, "GPUVendor");
    if (!name)
        return 0;
    if (strstr(name, "NVIDIA"))
        return NVIDIA;
    if (strstr(name, "AMD") || strstr(name, "Advanced Micro Devices"))
        return AMD;
    return strstr(name, "Intel") ? INTEL : 0;
}

/* ---- one entry a device ---------------------------------------------------------------------- */

static struct gang__hwloc_gpu *new_gpu(struct gang__hwloc_scan *s, hwloc_obj_t pci, hwloc_obj_t in)
{
    if (s->spec.gpu_count == GANG_MAX_GPUS) {
        gang__error(s->error, GANG_ELIMIT, "gpus", "more than %d GPUs", GANG_MAX_GPUS);
        return NULL;
    }
    struct gang__hwloc_gpu *g = &s->gpu[s->spec.gpu_count++];
    g->pci = pci;
    g->local = hwloc_get_non_io_ancestor_obj(s->topology, in);
    return g;
}

static gang_result add_osdev(struct gang__hwloc_scan *s, hwloc_obj_t osdev, int back_end)
{
    hwloc_obj_t pci = osdev->parent->type == HWLOC_OBJ_PCI_DEVICE ? osdev->parent : NULL;
    uint64_t key = key_of(osdev, back_end);
    uint32_t vendor = vendor_of(pci, osdev, back_end);
    struct gang__hwloc_gpu *g = NULL;
    for (size_t i = 0; !g && i < s->spec.gpu_count; i++) {
        bool same =
            pci ? s->gpu[i].pci == pci : !vendor || !s->gpu[i].vendor || s->gpu[i].vendor == vendor;
        if (same && !(s->gpu[i].keys & key))
            g = &s->gpu[i];
    }
    if (!g && !(g = new_gpu(s, pci, osdev)))
        return GANG_ELIMIT;
    g->keys |= key;
    if (!g->os_device[back_end])
        g->os_device[back_end] = osdev;
    if (!g->vendor)
        g->vendor = vendor;
    return GANG_OK;
}

static gang_result add_osdevs(struct gang__hwloc_scan *s, bool with_pci)
{
    hwloc_obj_t o = NULL;
    while ((o = hwloc_get_next_osdev(s->topology, o)) != NULL) {
        int back_end = back_end_of(o);
        if (back_end < 0 || (o->parent->type == HWLOC_OBJ_PCI_DEVICE) != with_pci)
            continue;
        gang_result r = add_osdev(s, o, back_end);
        if (r != GANG_OK)
            return r;
    }
    return GANG_OK;
}

/* A GPU for computing, by its PCI class: a 3D controller; NVIDIA's graphics cards; AMD's and
 * Intel's devices that have no console (their VGA devices may be the processor's own graphics).
 * Processing accelerators are FPGAs and others, but AMD's are GPUs. */
static bool is_gpu_by_class(hwloc_obj_t pci)
{
    const struct hwloc_pcidev_attr_s *p = &pci->attr->pcidev;
    switch (p->class_id) {
    case 0x0300: /* VGA */
        return p->vendor_id == NVIDIA;
    case 0x0302: /* 3D controller */
        return true;
    case 0x0380: /* other display controller; 00:02.0 is the graphics of Intel's processors */
        return p->vendor_id == AMD || (p->vendor_id == INTEL && !(p->bus == 0 && p->dev == 2));
    case 0x1200: /* processing accelerator */
        return p->vendor_id == AMD;
    default:
        return false;
    }
}

static bool same_card(hwloc_obj_t a, hwloc_obj_t b)
{
    const struct hwloc_pcidev_attr_s *p = &a->attr->pcidev;
    const struct hwloc_pcidev_attr_s *q = &b->attr->pcidev;
    return p->domain == q->domain && p->bus == q->bus && p->dev == q->dev;
}

static gang_result add_unreported(struct gang__hwloc_scan *s)
{
    size_t reported = s->spec.gpu_count;
    hwloc_obj_t pci = NULL;
    while ((pci = hwloc_get_next_pcidev(s->topology, pci)) != NULL) {
        bool known = !is_gpu_by_class(pci);
        for (size_t i = 0; !known && i < s->spec.gpu_count; i++)
            known = i < reported ? s->gpu[i].vendor == pci->attr->pcidev.vendor_id
                                 : same_card(s->gpu[i].pci, pci);
        if (known)
            continue;
        struct gang__hwloc_gpu *g = new_gpu(s, pci, pci);
        if (!g)
            return GANG_ELIMIT;
        g->vendor = pci->attr->pcidev.vendor_id;
    }
    return GANG_OK;
}

/* Sorts by PCI addresses, as the vendors' tools count; partitions in hwloc's order. */
static void sort(struct gang__hwloc_scan *s)
{
    for (size_t i = 1; i < s->spec.gpu_count; i++) {
        struct gang__hwloc_gpu g = s->gpu[i];
        size_t at = i;
        for (; at > 0 && gang__hwloc_pci_order(g.pci, s->gpu[at - 1].pci) < 0; at--)
            s->gpu[at] = s->gpu[at - 1];
        s->gpu[at] = g;
    }
}

/* ---- what is known of each ------------------------------------------------------------------- */

/* The text, if it is not empty and a specification may hold it; otherwise NULL. */
static const char *usable(const char *text)
{
    return gang__text_check(text, false) == GANG_OK ? text : NULL;
}

static const char *reported_model(const struct gang__hwloc_gpu *g)
{
    const char *model = NULL;
    for (int b = 0; !model && b < GANG__BACK_ENDS; b++)
        if (g->os_device[b])
            model = usable(info(g->os_device[b], b == LEVEL_ZERO ? "LevelZeroModel" : "GPUModel"));
    return model;
}

static const char *model_of(struct gang__hwloc_scan *s, size_t i)
{
    const struct gang__hwloc_gpu *g = &s->gpu[i];
    const char *model = reported_model(g);
    /* RSMI names the first partition of a device only. */
    for (size_t j = 0; !model && g->pci && j < s->spec.gpu_count; j++)
        if (s->gpu[j].pci == g->pci)
            model = reported_model(&s->gpu[j]);
    if (model || !g->pci)
        return model;
    model = usable(info(g->pci, "PCIDevice"));
    if (model || !g->pci->attr->pcidev.vendor_id)
        return model;
    snprintf(s->gpu_model[i], sizeof(s->gpu_model[i]), "%04x:%04x",
             (unsigned)g->pci->attr->pcidev.vendor_id, (unsigned)g->pci->attr->pcidev.device_id);
    return s->gpu_model[i];
}

/* Tools make files anonymous by writing zeros; drivers that do not know the uuid write zeros,
 * too. */
static const char *uuid_of(const struct gang__hwloc_gpu *g)
{
    for (int b = 0; b < GANG__BACK_ENDS; b++) {
        const char *uuid = g->os_device[b] && back_ends[b].uuid
                               ? usable(info(g->os_device[b], back_ends[b].uuid))
                               : NULL;
        if (!uuid)
            continue;
        const char *digits = strncmp(uuid, "GPU-", 4) == 0 ? uuid + 4 : uuid;
        if (digits[strspn(digits, "0-")])
            return uuid;
    }
    return NULL;
}

/* "16515072", or since hwloc 3 "16515072KiB"; 0: unknown. */
static int64_t kib_of(hwloc_obj_t obj, const char *name)
{
    const char *text = name ? info(obj, name) : NULL;
    char *end;
    if (!text || !isdigit((unsigned char)text[0]))
        return 0;
    unsigned long long kib = strtoull(text, &end, 10);
    if ((*end && strcmp(end, "KiB") != 0) || kib > (unsigned long long)GANG__MAX_MEMORY / 1024)
        return 0;
    return (int64_t)kib;
}

static int64_t memory_of(const struct gang__hwloc_gpu *g)
{
    int64_t kib = 0;
    for (int b = 0; kib == 0 && b < GANG__BACK_ENDS; b++)
        for (int i = 0; g->os_device[b] && i < 2; i++)
            kib += kib_of(g->os_device[b], back_ends[b].memory[i]);
    return kib > GANG__MAX_MEMORY / 1024 ? 0 : kib * 1024;
}

gang_result gang__hwloc_gpus(struct gang__hwloc_scan *s)
{
    gang_result r = add_osdevs(s, true);
    if (r == GANG_OK)
        r = add_osdevs(s, false);
    if (r == GANG_OK)
        r = add_unreported(s);
    if (r != GANG_OK)
        return r;
    sort(s);
    for (size_t i = 0; i < s->spec.gpu_count; i++) {
        const struct gang__hwloc_gpu *g = &s->gpu[i];
        s->gpus[i].model = model_of(s, i);
        s->gpus[i].pci = g->pci ? gang__hwloc_pci_text(g->pci, s->gpu_pci[i]) : NULL;
        s->gpus[i].uuid = uuid_of(g);
        s->gpus[i].memory_bytes = memory_of(g);
        s->gpus[i].numa = gang__hwloc_numa_of(s, g->local);
    }
    return GANG_OK;
}
