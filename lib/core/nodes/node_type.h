/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: what machines of one make have in common, kept once. A cluster of 100,000 nodes has a handful
 * of them, so that planning reads the few that are hot. All under the structure mutex, but for
 * reading a shape inside a read section. */
#ifndef GANG__CORE_SHAPE_H
#define GANG__CORE_SHAPE_H

#include "core/nodes/parent.h"
#include "core/nodes/state.h"

/* The domains of one level inside a machine (packages, NUMA domains, PCIe switches, islands). */
enum { GANG__INNER_LEVELS = 4 };
struct gang__inner_domains {
    uint32_t count;
    uint32_t max_gpus;     /* of one part */
    const uint64_t *gpus;  /* devices of each */
    const uint64_t *cores; /* core words, at [i * core_words]; NULL: a matter of GPUs alone */
};

/* What machines of one make have in common; see core/nodes/node_type.h. Immutable; freed after a grace period
 * when no node refers to it any more. */
struct gang__node_type {
    struct gang_node_spec *spec; /* without what the site says of one node, and GPU uuids */
    struct gang__layout layout;
    bool has_class;  /* layout.class_id is set */
    bool gpus_alike; /* all pairs of GPUs are joined alike, and all lie in one NUMA domain */
    bool flat;       /* so do the cores, with the GPUs: no core is nearer than another */
    /* NUMA domains: those of the specification, or one for a node that describes none. GPUs and cores
     * of unknown domain are in none of them. */
    uint16_t numas;
    uint8_t max_numa_gpus;             /* of one domain */
    uint8_t kind_word[GANG_MAX_KINDS]; /* word that counts a kind of the site; 0: none */
    uint64_t serial;                   /* of the shapes of the cluster, from 1; never used again */
    uint64_t gpus;                     /* one bit a device of its own */
    uint64_t slices;                   /* one bit a slice of a parent, see core/nodes/parent.h */
    uint64_t nic_gpus;                 /* those with a network card in their NUMA domain */
    struct gang__parents *parents;     /* NULL: no slices */
    const uint8_t *near;               /* GANG_NEAR_* of GPUs i, j at [i * gpus + j] */
    const uint64_t *weight;     /* how well they are joined, likewise; see core/nodes/node_type.h */
    const uint64_t *numa_gpus;  /* of each domain */
    const uint64_t *numa_cores; /* core words of domain d at [d * core_words], ... */
    const uint8_t *numa_run; /* ... of which only those from [2 * d] to before [2 * d + 1] count */
    uint64_t *inner_words;   /* a block of its own */
    struct gang__inner_domains
        inner[GANG__INNER_LEVELS]; /* in the order of GANG_LEVEL_PACKAGE and on */
    struct gang__hash_link link;   /* under the structure mutex, as all below */
    size_t refs;
    uint64_t capacity[]; /* payload of each word when nothing is taken; of the head: millicores */
};

/* How well a pair of GPUs is joined: bandwidth of its link in GB/s (one of unknown bandwidth counts as
 * 1), then whether it shares a PCIe switch, a NUMA domain, a package. Sums over pairs of a node never
 * carry from one field to the next, so that comparing sums is comparing fields one after the other;
 * and twice a sum fits. */
enum {
    GANG__WEIGHT_PACKAGE = 0, /* lowest bits of the fields */
    GANG__WEIGHT_NUMA = 11,
    GANG__WEIGHT_PCI = 22,
    GANG__WEIGHT_LINK = 33,
    GANG__WEIGHT_LINK_MOST = (1 << 19) - 1 /* GB/s of one pair */
};
_Static_assert(GANG_MAX_GPUS *(GANG_MAX_GPUS - 1) / 2 < 1 << 11, "a field holds all pairs");

/* The shape of a checked specification: one that is there, or a new one; counted for the caller.
 * GANG_ENOENT, GANG_EINVAL (kinds), GANG_ENOMEM. O(specification). */
gang_result gang__node_type_intern(gang_cluster *c, const struct gang_node_spec *spec,
                                   struct gang__node_type **type, struct gang_error *error);

/* Find or make the class of its nodes, before the first of them is published. Classes stay for ever:
 * a node that is refused takes none. GANG_ELIMIT (GPU models), GANG_ENOMEM. */
gang_result gang__node_type_gpu_class(gang_cluster *c, struct gang__node_type *type,
                                      struct gang_error *error);

/* Make the classes of another cluster, with the same numbers, where there are none yet. GANG_ENOMEM. */
gang_result gang__gpu_classes_copy(gang_cluster *c, const gang_cluster *from);

/* Once more the shape of the node described last. */
struct gang__node_type *gang__node_type_ref_last(gang_cluster *c);

/* Give up a reference: freed with the last one, so call it after the grace period. */
void gang__node_type_unref(gang_cluster *c, struct gang__node_type *type);

void gang__node_types_free(gang_cluster *c);

/* The shape of a slot that holds a node. Inside a read section. */
static inline const struct gang__node_type *gang__node_type_at(struct gang__chunk *chunk,
                                                               uint32_t slot)
{
    return gang__load(&gang__slot_at(chunk, slot)->type);
}

/* The NUMA domain of a GPU or core whose specification says `numa`; -1: unknown. */
static inline int32_t gang__numa_index(const struct gang__node_type *type, int32_t numa)
{
    return type->spec->numa_count ? numa : 0;
}

#endif
