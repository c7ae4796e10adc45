/* SPDX-License-Identifier: Apache-2.0 */
/* Node types: what machines of one make have in common, kept once. A cluster of 100,000 nodes
 * has a handful of types, so that planning reads the few that are hot. All functions run under
 * the structure mutex; reading a type needs only a read section. */
#ifndef GANG__CORE_NODE_TYPE_H
#define GANG__CORE_NODE_TYPE_H

#include "core/nodes/cluster_state.h"
#include "core/nodes/parent.h"

/* The domains of one level inside a machine (packages, NUMA domains, PCIe switches, islands). */
enum { GANG__INNER_LEVELS = 4 };
struct gang__inner_domains {
    uint32_t count;
    uint32_t max_gpus;     /* of one domain */
    const uint64_t *gpus;  /* devices of each domain */
    const uint64_t *cores; /* core words, at [i * core_words]; NULL: the level has GPUs only */
};

/* The type of a machine. Immutable; freed after a grace period when the last node of the type is
 * gone. */
struct gang__node_type {
    /* without the members that the site sets for one node, and without GPU uuids */
    struct gang_node_spec *spec;
    struct gang__layout layout;
    bool has_class; /* layout.class_id is set */
    /* all pairs of GPUs have the same weight, and all GPUs are in one NUMA domain */
    bool gpus_alike;
    /* all GPUs and named cores are in one NUMA domain: no core is nearer than another */
    bool single_numa;
    /* Number of NUMA domains; 1 for a node that describes none. GPUs and cores of an unknown domain
     * are in none of them. */
    uint16_t numas;
    uint8_t max_numa_gpus;             /* of one domain */
    uint8_t kind_word[GANG_MAX_KINDS]; /* word that counts a kind of the site; 0: none */
    uint64_t serial;                   /* number of the type in the cluster, from 1; never reused */
    uint64_t gpus;                     /* one bit for each whole GPU */
    /* one bit for each slice of a parent, see core/nodes/parent.h */
    uint64_t slices;
    uint64_t nic_gpus;             /* GPUs with a network card in their NUMA domain */
    struct gang__parents *parents; /* NULL: no slices */
    const uint8_t *locality;       /* GANG_LOCALITY_* of GPUs i, j at [i * gpus + j] */
    /* how well GPUs i, j are joined, in the same order; GANG__WEIGHT_* */
    const uint64_t *weight;
    const uint64_t *numa_gpus;  /* of each domain */
    const uint64_t *numa_cores; /* core words of domain d at [d * core_words], ... */
    /* first and end word of domain d in them, at [2 * d] and [2 * d + 1] */
    const uint8_t *numa_run;
    uint64_t *inner_words;                                /* a block of its own */
    struct gang__inner_domains inner[GANG__INNER_LEVELS]; /* by level, from GANG_LEVEL_PACKAGE on */
    struct gang__hash_link link; /* this and all below: under the structure mutex */
    size_t refs;
    uint64_t capacity[]; /* payload of each word when all is free; of the head: millicores */
};

/* How well a pair of GPUs is joined: bandwidth of its link in GB/s (an unknown bandwidth counts as
 * 1), then whether it shares a PCIe switch, a NUMA domain, a package. Sums over the pairs of a node
 * never carry from one field to the next, so that comparing sums compares the fields in order;
 * twice a sum fits, too. */
enum {
    GANG__WEIGHT_PACKAGE = 0, /* lowest bit of each field */
    GANG__WEIGHT_NUMA = 11,
    GANG__WEIGHT_PCI = 22,
    GANG__WEIGHT_LINK = 33,
    GANG__WEIGHT_LINK_MOST = (1 << 19) - 1 /* GB/s of one pair */
};
_Static_assert(GANG_MAX_GPUS *(GANG_MAX_GPUS - 1) / 2 < 1 << 11, "a field holds all pairs");

/* Finds the type of a checked specification, or makes it, and counts a reference for the caller.
 * GANG_ENOENT, GANG_EINVAL (kinds), GANG_ENOMEM. O(specification). */
gang_result gang__node_type_intern(gang_cluster *c, const struct gang_node_spec *spec,
                                   struct gang__node_type **type, struct gang_error *error);

/* Finds or makes the GPU class of the type, before the first of its nodes is published. Classes are
 * never removed, so a node that is refused makes none. GANG_ELIMIT (GPU models), GANG_ENOMEM. */
gang_result gang__node_type_gpu_class(gang_cluster *c, struct gang__node_type *type,
                                      struct gang_error *error);

/* Makes the classes of another cluster, with the same numbers, in a cluster without classes.
 * GANG_ENOMEM. */
gang_result gang__gpu_classes_copy(gang_cluster *c, const gang_cluster *from);

/* Another reference to the type of the node described last. */
struct gang__node_type *gang__node_type_ref_last(gang_cluster *c);

/* Gives up a reference. The last one frees the type, so call it after the grace period. */
void gang__node_type_unref(gang_cluster *c, struct gang__node_type *type);

void gang__node_types_free(gang_cluster *c);

/* The type of the node in a slot. Inside a read section. */
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
