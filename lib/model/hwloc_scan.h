/* SPDX-License-Identifier: Apache-2.0 */
/* The state that the parts of the hwloc reader share: the description of a machine while it is
 * collected. */
#ifndef GANG__MODEL_HWLOC_SCAN_H
#define GANG__MODEL_HWLOC_SCAN_H

#include <hwloc.h>

#include "model/node_spec.h"

enum {
    GANG__PCI_TEXT = 24, /* space for "12345:67:89.0" */
    GANG__BACK_ENDS = 5, /* back ends of hwloc that report GPUs, see hwloc_gpu.c */
    GANG__LINKS = GANG_MAX_GPUS * (GANG_MAX_GPUS - 1) / 2
};

/* A GPU as hwloc's back ends see it. */
struct gang__hwloc_gpu {
    hwloc_obj_t pci;                        /* NULL: unknown */
    hwloc_obj_t local;                      /* the innermost object with a cpuset that holds it */
    hwloc_obj_t os_device[GANG__BACK_ENDS]; /* the OS device of each back end, or NULL */
    uint64_t keys;                          /* bit: a back end (for OpenCL: and platform) has it */
    uint32_t vendor;                        /* of the PCI id; 0: unknown */
};

struct gang__hwloc_scan {
    hwloc_topology_t topology;
    struct gang_error *error;
    struct gang_node_spec spec; /* its arrays are those below */

    struct gang_numa_spec numas[GANG_MAX_NUMAS];
    hwloc_obj_t numa_obj[GANG_MAX_NUMAS];
    bool is_gpu_memory[GANG_MAX_NUMAS]; /* the domain is the memory of a GPU */

    struct gang_core_spec cores[GANG_MAX_CORES];
    char cpuset[GANG_MAX_CORES][GANG_MAX_NAME + 1];

    struct gang__hwloc_gpu gpu[GANG_MAX_GPUS];
    struct gang_gpu_spec gpus[GANG_MAX_GPUS];
    char gpu_pci[GANG_MAX_GPUS][GANG__PCI_TEXT];
    char gpu_model[GANG_MAX_GPUS][GANG__PCI_TEXT]; /* "10de:2335" if hwloc knows no better name */
    struct gang_link_spec links[GANG__LINKS];
    uint16_t link_of[GANG_MAX_GPUS * GANG_MAX_GPUS]; /* 1 + index of the link of GPUs a < b */
    uint8_t locality[GANG_MAX_GPUS * GANG_MAX_GPUS];

    hwloc_obj_t nic[GANG_MAX_ITEMS]; /* OS device, the child of a PCI device */
    struct gang_nic_spec nics[GANG_MAX_ITEMS];
    char nic_pci[GANG_MAX_ITEMS][GANG__PCI_TEXT];
};

/* The type of OS devices is one value up to hwloc 2 and a set of bits since hwloc 3. */
#if HWLOC_API_VERSION >= 0x00030000
#define GANG__OSDEV_IS(obj, bit) (((obj)->attr->osdev.types & (bit)) != 0)
#else
#define GANG__OSDEV_IS(obj, value) ((obj)->attr->osdev.type == (value))
#endif

/* Finds the GPUs; the NUMA domains must be known. GANG_ELIMIT. */
gang_result gang__hwloc_gpus(struct gang__hwloc_scan *scan);

/* Finds their links, and how close each pair is. */
void gang__hwloc_links(struct gang__hwloc_scan *scan);

/* The NUMA domain of an object with a cpuset; -1: none or several. */
int32_t gang__hwloc_numa_of(const struct gang__hwloc_scan *scan, hwloc_obj_t obj);

/* "0000:07:00.0"; returns `text`. And the order of such addresses, NULL last. */
const char *gang__hwloc_pci_text(hwloc_obj_t pci, char text[GANG__PCI_TEXT]);
int gang__hwloc_pci_order(hwloc_obj_t a, hwloc_obj_t b);

/* Describes a loaded topology; all memory of the library's own comes from `mem`. */
gang_result gang__hwloc_describe(const struct gang_mem *mem, hwloc_topology_t topology,
                                 const char *name, struct gang_node_spec **spec,
                                 struct gang_error *error);

/* Loads a topology and describes it; the caller checked the arguments. */
gang_result gang__hwloc_describe_source(const struct gang_mem *mem, int32_t kind,
                                        const char *source, const char *name,
                                        struct gang_node_spec **spec, struct gang_error *error);

/* Is text an XML file that hwloc reads without crashing or writing to stderr? See hwloc_gate.c.
 * `text` ends with a NUL that `length` does not count. GANG_EPARSE with the line; GANG_ELIMIT. */
gang_result gang__hwloc_gate(const char *text, size_t length, struct gang_error *error);

#endif
