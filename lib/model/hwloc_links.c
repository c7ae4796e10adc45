/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs are linked, and how close each pair is.
 *
 * hwloc has matrices of bandwidths in MB/s: 0 where there is no link, a large made-up number (or
 * 0) on the diagonal. NVLinkBandwidth may also have rows for other objects that GPUs are linked
 * to: processors of POWER machines, which join no GPUs to each other, and NVSwitches, which do.
 * hwloc does not see the links between switches; they count as one fabric, as hwloc itself does
 * in HWLOC_DISTANCES_TRANSFORM_TRANSITIVE_CLOSURE: a pair has the bandwidth of the GPU with less
 * bandwidth towards the switches. */
#include "model/hwloc_scan.h"

#include <string.h>

enum {
    MATRICES = 8,       /* of one name; there is one unless a user added more */
    MATRIX_OBJS = 1024, /* of a matrix; any after them are left out */
    NO_GPU = -1,
    A_SWITCH = -2
};

static const struct fabric {
    const char *bandwidth; /* names of hwloc's matrices */
    const char *hops;      /* NULL: there is none, all links are direct */
    int32_t kind;
} fabrics[] = {
    {"NVLinkBandwidth", NULL, GANG_LINK_NVLINK},
    {"XGMIBandwidth", "XGMIHops", GANG_LINK_XGMI},
    {"XeLinkBandwidth", NULL, GANG_LINK_OTHER},
};

/* The GPU that an object of a matrix is (a part of), A_SWITCH, or NO_GPU. */
static int16_t gpu_of(const struct gang__hwloc_scan *s, hwloc_obj_t obj)
{
    if (!obj)
        return NO_GPU;
    if (obj->type == HWLOC_OBJ_PCI_DEVICE && obj->subtype && strcmp(obj->subtype, "NVSwitch") == 0)
        return A_SWITCH;
    while (obj->type == HWLOC_OBJ_OS_DEVICE && obj->parent->type == HWLOC_OBJ_OS_DEVICE)
        obj = obj->parent; /* from a tile to the whole */
    for (size_t i = 0; i < s->spec.gpu_count; i++) {
        if (obj == s->gpu[i].pci)
            return (int16_t)i;
        for (int b = 0; b < GANG__BACK_ENDS; b++)
            if (obj == s->gpu[i].os_device[b])
                return (int16_t)i;
    }
    return NO_GPU;
}

/* A matrix whose objects have been looked up. */
struct matrix {
    const struct hwloc_distances_s *d;
    unsigned count;
    int16_t gpu_of_row[MATRIX_OBJS]; /* as gpu_of() */
};

static int64_t value_of(const struct matrix *m, unsigned i, unsigned j)
{
    hwloc_uint64_t value = m->d->values[(size_t)i * m->d->nbobjs + j];
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* The value of a pair in the direction that has less, if both have any. */
static int64_t pair_value(const struct matrix *m, unsigned i, unsigned j)
{
    int64_t forward = value_of(m, i, j);
    int64_t backward = value_of(m, j, i);
    if (forward == 0 || backward == 0)
        return forward + backward;
    return forward < backward ? forward : backward;
}

/* Finds or makes the link of a pair. NULL if the pair has a link of another kind. */
static struct gang_link_spec *link_get(struct gang__hwloc_scan *s, int32_t a, int32_t b,
                                       int32_t kind)
{
    int32_t low = a < b ? a : b;
    int32_t high = a < b ? b : a;
    uint16_t *at = &s->link_of[low * GANG_MAX_GPUS + high];
    if (*at)
        return s->links[*at - 1].type == kind ? &s->links[*at - 1] : NULL;
    struct gang_link_spec *link = &s->links[s->spec.link_count++];
    *at = (uint16_t)s->spec.link_count;
    *link = (struct gang_link_spec){low, high, kind, 0, 0};
    return link;
}

/* Adds a pair joined through switches: two hops over a switch that both have, three if the path
 * takes two switches. A direct link is better. */
static void add_switched(struct gang__hwloc_scan *s, const struct matrix *m, unsigned i, unsigned j,
                         const struct fabric *f)
{
    int64_t from_i = 0;
    int64_t from_j = 0;
    bool common = false;
    for (unsigned k = 0; k < m->count; k++) {
        if (m->gpu_of_row[k] != A_SWITCH)
            continue;
        int64_t vi = pair_value(m, i, k);
        int64_t vj = pair_value(m, j, k);
        from_i = vi > INT64_MAX - from_i ? INT64_MAX : from_i + vi;
        from_j = vj > INT64_MAX - from_j ? INT64_MAX : from_j + vj;
        common = common || (vi > 0 && vj > 0);
    }
    int64_t least = from_i < from_j ? from_i : from_j;
    struct gang_link_spec *link =
        least > 0 ? link_get(s, m->gpu_of_row[i], m->gpu_of_row[j], f->kind) : NULL;
    if (link && link->bandwidth_mbps == 0) {
        link->bandwidth_mbps = least;
        link->hops = common ? 2 : 3;
    }
}

static void add_bandwidth(struct gang__hwloc_scan *s, const struct matrix *m, unsigned i,
                          unsigned j, const struct fabric *f)
{
    int64_t value = pair_value(m, i, j);
    struct gang_link_spec *link =
        value > 0 ? link_get(s, m->gpu_of_row[i], m->gpu_of_row[j], f->kind) : NULL;
    if (link) {
        /* Tiles of one GPU have rows of their own: the best of them. */
        link->bandwidth_mbps = value > link->bandwidth_mbps ? value : link->bandwidth_mbps;
        link->hops = f->hops ? link->hops : 1;
    }
}

static void add_hops(struct gang__hwloc_scan *s, const struct matrix *m, unsigned i, unsigned j,
                     const struct fabric *f)
{
    int64_t hops = pair_value(m, i, j);
    struct gang_link_spec *link =
        hops > 0 ? link_get(s, m->gpu_of_row[i], m->gpu_of_row[j], f->kind) : NULL;
    if (link)
        link->hops = hops > INT32_MAX ? 0 : (int32_t)hops;
}

typedef void (*add_fn)(struct gang__hwloc_scan *s, const struct matrix *m, unsigned i, unsigned j,
                       const struct fabric *f);

/* Calls `add` for each pair of GPUs of a matrix. */
static void each_pair(struct gang__hwloc_scan *s, const struct matrix *m, const struct fabric *f,
                      add_fn add)
{
    for (unsigned i = 0; i < m->count; i++)
        for (unsigned j = i + 1; j < m->count; j++)
            if (m->gpu_of_row[i] >= 0 && m->gpu_of_row[j] >= 0 &&
                m->gpu_of_row[i] != m->gpu_of_row[j])
                add(s, m, i, j, f);
}

/* Calls `add`, and then `more`, with the matrices of a name. */
static void each_matrix(struct gang__hwloc_scan *s, const char *name, const struct fabric *f,
                        add_fn add, add_fn more)
{
    struct hwloc_distances_s *d[MATRICES];
    unsigned count = MATRICES;
    if (hwloc_distances_get_by_name(s->topology, name, &count, d, 0) != 0)
        return;
    for (unsigned i = 0; i < count && i < MATRICES; i++) {
        struct matrix m = {d[i], d[i]->nbobjs < MATRIX_OBJS ? d[i]->nbobjs : MATRIX_OBJS, {0}};
        for (unsigned k = 0; k < m.count; k++)
            m.gpu_of_row[k] = gpu_of(s, d[i]->objs[k]);
        each_pair(s, &m, f, add);
        if (more)
            each_pair(s, &m, f, more);
        hwloc_distances_release(s->topology, d[i]);
    }
}

/* ---- closeness ------------------------------------------------------------------------------- */

static bool is_pci_bridge(hwloc_obj_t obj)
{
    return obj && obj->type == HWLOC_OBJ_BRIDGE &&
           obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

/* Are both under one bridge or switch? A host bridge belongs to the processor and does not
 * count. */
static bool share_bridge(hwloc_obj_t a, hwloc_obj_t b)
{
    if (!a || !b)
        return false;
    if (a == b)
        return true;
    for (hwloc_obj_t up = a->parent; is_pci_bridge(up); up = up->parent)
        for (hwloc_obj_t other = b->parent; is_pci_bridge(other); other = other->parent)
            if (up == other)
                return true;
    return false;
}

static bool share_package(struct gang__hwloc_scan *s, hwloc_obj_t a, hwloc_obj_t b)
{
    if (!a || !b || hwloc_bitmap_iszero(a->cpuset) || hwloc_bitmap_iszero(b->cpuset))
        return false;
    hwloc_obj_t p = NULL;
    while ((p = hwloc_get_next_obj_by_type(s->topology, HWLOC_OBJ_PACKAGE, p)) != NULL)
        if (hwloc_bitmap_isincluded(a->cpuset, p->cpuset) &&
            hwloc_bitmap_isincluded(b->cpuset, p->cpuset))
            return true;
    return false;
}

static uint8_t locality_of(struct gang__hwloc_scan *s, size_t i, size_t j)
{
    if (share_bridge(s->gpu[i].pci, s->gpu[j].pci))
        return GANG_LOCALITY_PCI;
    if (s->gpus[i].numa >= 0 && s->gpus[i].numa == s->gpus[j].numa)
        return GANG_LOCALITY_NUMA;
    return share_package(s, s->gpu[i].local, s->gpu[j].local) ? GANG_LOCALITY_PACKAGE
                                                              : GANG_LOCALITY_SYSTEM;
}

/* Numbers the switches that GPUs share, if they share any. */
static void number_switches(struct gang__hwloc_scan *s)
{
    size_t n = s->spec.gpu_count;
    int32_t switches = 0;
    bool shared = false;
    for (size_t i = 0; i < n; i++) {
        s->gpus[i].pcie = 0;
        for (size_t j = 0; j < i && !s->gpus[i].pcie; j++)
            if (share_bridge(s->gpu[i].pci, s->gpu[j].pci))
                s->gpus[i].pcie = s->gpus[j].pcie;
        shared = shared || s->gpus[i].pcie;
        if (!s->gpus[i].pcie)
            s->gpus[i].pcie = ++switches;
    }
    for (size_t i = 0; i < n && !shared; i++)
        s->gpus[i].pcie = 0;
}

void gang__hwloc_links(struct gang__hwloc_scan *s)
{
    for (size_t i = 0; i < sizeof(fabrics) / sizeof(fabrics[0]); i++) {
        each_matrix(s, fabrics[i].bandwidth, &fabrics[i], add_bandwidth, add_switched);
        if (fabrics[i].hops)
            each_matrix(s, fabrics[i].hops, &fabrics[i], add_hops, NULL);
    }
    number_switches(s);
    size_t n = s->spec.gpu_count;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            s->locality[i * n + j] = i == j ? GANG_LOCALITY_LINK : locality_of(s, i, j);
    for (size_t i = 0; i < s->spec.link_count; i++) {
        size_t a = (size_t)s->links[i].a;
        size_t b = (size_t)s->links[i].b;
        s->locality[a * n + b] = s->locality[b * n + a] = GANG_LOCALITY_LINK;
    }
}
