/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of an allocation's tasks. The rank is the position in the order of numbers; what a task is
 * on its node comes from the same list sorted by node. */
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/mem.h"
#include "core/cluster.h"
#include "place/report/report.h"
#include "place/state/records.h"

/* A task by its node. */
struct at_node {
    gang_node_id node;
    size_t rank;
};

struct list {
    struct gang_rank *rank;
    size_t count;
    struct at_node *by_node;
    int64_t *of_group; /* tasks of each group so far */
};

static size_t count_listed(const struct gang__alloc *a, int32_t group)
{
    size_t count = 0;
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task))
        count += gang__task_is_listed(a, task, group);
    return count;
}

static int compare(const void *a, const void *b)
{
    const struct at_node *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Ranks and positions in groups, in the order of numbers. Tasks may have stopped since they were
 * counted. */
static void fill_in_order(const struct gang__alloc *a, int32_t group, struct list *l)
{
    size_t i = 0;
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task)) {
        if (i == l->count || !gang__task_is_listed(a, task, group))
            continue;
        struct gang_rank *r = &l->rank[i];
        memset(r, 0, sizeof(*r));
        r->task = gang__task_number(task);
        r->node = task[0];
        r->rank = (int64_t)i;
        r->group = (int32_t)gang__task_group(task);
        r->group_rank = l->of_group[r->group]++;
        l->by_node[i] = (struct at_node){r->node, i};
        i++;
    }
    l->count = i;
    for (i = 0; i < l->count; i++) {
        struct gang_rank *r = &l->rank[i];
        r->world_size = (int64_t)l->count;
        r->group_size = l->of_group[r->group];
        r->group = a->request->group[r->group].in_job;
    }
}

/* Positions on nodes. Returns how many nodes there are. */
static int64_t fill_local(struct list *l)
{
    int64_t nodes = 0;
    size_t end;
    for (size_t first = 0; first < l->count; first = end, nodes++) {
        for (end = first; end < l->count && l->by_node[end].node == l->by_node[first].node; end++)
            l->rank[l->by_node[end].rank].local_rank = (int64_t)(end - first);
        for (size_t i = first; i < end; i++)
            l->rank[l->by_node[i].rank].local_size = (int64_t)(end - first);
    }
    return nodes;
}

/* Nodes in the order of their first tasks. */
static void fill_nodes(struct list *l, int64_t nodes)
{
    int64_t next = 0, now = 0;
    for (size_t i = 0; i < l->count; i++) {
        l->rank[i].nodes = nodes;
        if (l->rank[i].local_rank == 0)
            l->rank[i].node_rank = next++;
    }
    for (size_t i = 0; i < l->count; i++) {
        struct gang_rank *r = &l->rank[l->by_node[i].rank];
        now = r->local_rank == 0 ? r->node_rank : now;
        r->node_rank = now;
    }
}

static void fill(const struct gang__alloc *a, int32_t group, struct list *l)
{
    fill_in_order(a, group, l);
    qsort(l->by_node, l->count, sizeof(*l->by_node), compare);
    fill_nodes(l, fill_local(l));
}

/* The caller's entries may be longer than ours. */
static void put_out(const struct list *l, void *out, size_t size)
{
    for (size_t i = 0; i < l->count; i++) {
        unsigned char *to = (unsigned char *)out + i * size;
        memcpy(to, &l->rank[i], sizeof(l->rank[i]));
        memset(to + sizeof(l->rank[i]), 0, size - sizeof(l->rank[i]));
    }
}

/* One block: what has the largest alignment is first. False: out of memory. */
static bool open_list(const struct gang_mem *mem, struct list *l, size_t groups)
{
    size_t bytes = l->count * (sizeof(*l->rank) + sizeof(*l->by_node));
    l->rank = gang__zalloc(mem, 1, bytes + groups * sizeof(*l->of_group));
    if (!l->rank)
        return false;
    l->by_node = (struct at_node *)(void *)(l->rank + l->count);
    l->of_group = (int64_t *)(void *)(l->by_node + l->count);
    return true;
}

static gang_result list_ranks(gang_cluster *c, const struct gang__alloc *a, int32_t group,
                              struct list *l)
{
    if (!gang__request_has_group(a->request, group))
        return GANG_EINVAL;
    l->count = count_listed(a, group);
    return open_list(&c->mem, l, a->request->group_count) ? GANG_OK : GANG_ENOMEM;
}

gang_result gang_alloc_ranks(gang_cluster *cluster, gang_alloc_id id, int32_t group,
                             struct gang_rank *ranks, size_t rank_size, size_t room, size_t *needed)
{
    struct gang__alloc *a;
    struct list l = {NULL, 0, NULL, NULL};
    if (needed)
        *needed = 0;
    if (!cluster || rank_size < sizeof(*ranks) || rank_size > 4096 || (room > 0 && !ranks))
        return GANG_EINVAL;
    gang_result r = gang__alloc_read(cluster, id, &a);
    if (r != GANG_OK)
        return r;
    r = list_ranks(cluster, a, group, &l);
    if (r == GANG_OK && l.count > room)
        r = GANG_ELIMIT;
    if (r == GANG_OK)
        fill(a, group, &l);
    gang__alloc_read_end(a);
    if (r == GANG_OK)
        put_out(&l, ranks, rank_size);
    if (needed && (r == GANG_OK || r == GANG_ELIMIT))
        *needed = l.count;
    gang__release(&cluster->mem, l.rank);
    return r;
}
