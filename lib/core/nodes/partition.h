/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions: one object for each name, so that nodes and requests are matched by pointer, and the
 * modes of all partitions. A name stays until the cluster ends. */
#ifndef GANG__CORE_PARTITION_H
#define GANG__CORE_PARTITION_H

#include <stddef.h>

#include "core/nodes/cluster_state.h"

struct gang__partition {
    struct gang__partition *next; /* in its hash bucket */
    /* Index in gang__modes.mode; 0: it never had a mode of its own. Stored before modes with this
     * index are published -> gang__load of their readers. Older modes have fewer entries. */
    gang__a32 number;
    char name[];
};

/* The modes of all partitions at one time. Immutable; a change replaces them (RCU), so that a plan
 * uses the modes of one instant. */
struct gang__modes {
    struct gang__node_rules
        rules; /* first: its version is part of the stamp (core/commit/cell.h) */
    struct gang__modes *next_retired;
    uint32_t lending, exclusive; /* the number of partitions of these modes */
    uint32_t count;
    uint8_t mode[]; /* GANG_PARTITION_*; [0] is for partitions without a number */
};

/* Finds or makes the partition of a name. NULL: out of memory. Any thread; lock-free. */
struct gang__partition *gang__partition_intern(gang_cluster *c, const char *name);
/* The same, or NULL if it is not there. */
struct gang__partition *gang__partition_find(const gang_cluster *c, const char *name);

/* The modes, or NULL if none was ever set. Inside a read section. */
static inline const struct gang__modes *gang__modes_all(const gang_cluster *c)
{
    return (const struct gang__modes *)gang__load(&c->commit.rules);
}

/* The modes, or NULL while all partitions are shared. Inside a read section. */
_Static_assert(offsetof(struct gang__modes, rules) == 0, "rules are the modes");

static inline const struct gang__modes *gang__modes_now(const gang_cluster *c)
{
    const struct gang__modes *m = gang__modes_all(c);
    return m && (m->lending || m->exclusive) ? m : NULL;
}

static inline int32_t gang__mode_of(const struct gang__modes *m, const struct gang__partition *p)
{
    uint32_t number = gang__load(&p->number);
    return number < m->count ? m->mode[number] : (int32_t)GANG_PARTITION_SHARED;
}

void gang__partitions_free(gang_cluster *c);

#endif
