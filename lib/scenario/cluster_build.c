/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a cluster from a scenario: levels, kinds, partitions and nodes. */
#include <gangsched/scenario.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/nodes/nodes.h"

/* A node and where it was in the text, to be sorted by its place in the topology: neighbours in a
 * rack become neighbours in the node table and in the words of the index. */
struct placed_node {
    const struct gang_node_spec *spec;
    size_t index;
    const struct gang_scenario *scenario;
};

static const char *value_at(const struct gang_node_spec *spec, const char *level)
{
    for (size_t i = 0; i < spec->topology_count; i++)
        if (strcmp(spec->topology[i].key, level) == 0)
            return spec->topology[i].value;
    return "";
}

static int by_topology(const void *a, const void *b)
{
    const struct placed_node *x = a, *y = b;
    for (size_t i = 0; i < x->scenario->level_count; i++) {
        const char *level = x->scenario->levels[i];
        int order = strcmp(value_at(x->spec, level), value_at(y->spec, level));
        if (order)
            return order;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static gang_result add_kinds(gang_worker *w, const struct gang_scenario *s,
                             struct gang_error *error)
{
    for (size_t i = 0; i < s->kind_count; i++) {
        const struct gang_kind_spec *k = &s->kinds[i];
        gang_result r = gang_kind_add(w, k->name, k->unit, k->scope, k->capacity, NULL);
        if (r != GANG_OK) {
            gang__error(error, r, NULL, "%s", gang_strerror(r));
            return gang__error_at(error, r, "kinds[%zu]", i);
        }
    }
    return GANG_OK;
}

static gang_result set_partitions(gang_worker *w, const struct gang_scenario *s,
                                  struct gang_error *error)
{
    for (size_t i = 0; i < s->partition_count; i++) {
        gang_result r = gang_partition_set(w, s->partitions[i].name, s->partitions[i].mode);
        if (r != GANG_OK) {
            gang__error(error, r, NULL, "%s", gang_strerror(r));
            return gang__error_at(error, r, "partitions[%zu]", i);
        }
    }
    return GANG_OK;
}

static gang_result add_nodes(gang_worker *w, const struct gang_scenario *s,
                             struct gang_error *error)
{
    const struct gang_mem *mem = &w->cluster->mem;
    struct placed_node *order = gang__zalloc(mem, s->node_count, sizeof(*order));
    const struct gang_node_spec **list = gang__zalloc(mem, s->node_count, sizeof(*list));
    gang_result r =
        order && list ? GANG_OK : gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    for (size_t i = 0; r == GANG_OK && i < s->node_count; i++) {
        order[i].spec = &s->nodes[i];
        order[i].index = i;
        order[i].scenario = s;
    }
    if (r == GANG_OK && s->level_count)
        qsort(order, s->node_count, sizeof(*order), by_topology);
    for (size_t i = 0; r == GANG_OK && i < s->node_count; i++)
        list[i] = order[i].spec;
    if (r == GANG_OK && s->node_count) {
        size_t at;
        r = gang__nodes_add(w, (struct gang__specs){NULL, 0, list, s->node_count}, NULL, error,
                            &at);
        if (r != GANG_OK)
            gang__error_at(error, r, "nodes[%zu]", order[at].index);
    }
    gang__release(mem, list);
    gang__release(mem, order);
    return r;
}

gang_result gang_cluster_build(const struct gang_scenario *scenario,
                               const struct gang_cluster_opts *opts, gang_cluster **cluster,
                               struct gang_error *error)
{
    if (!cluster)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the cluster");
    *cluster = NULL;
    struct gang_cluster_opts o = GANG_CLUSTER_OPTS_INIT;
    struct gang_scenario s = GANG_SCENARIO_INIT;
    gang_result r = scenario
                        ? gang__struct_in(&s, sizeof(s), offsetof(struct gang_scenario, arrivals),
                                          scenario, scenario->size)
                        : GANG_EINVAL;
    if (r == GANG_OK && opts)
        r = gang__struct_in(&o, sizeof(o), sizeof(o), opts, opts->size);
    if (r != GANG_OK)
        return gang__error(error, r, "size", "a struct is not set up");
    if (o.level_count)
        return gang__error(error, GANG_EINVAL, "levels", "the levels come from the scenario");
    o.levels = s.levels;
    o.level_count = s.level_count;
    if (o.policy == GANG_POLICY_DEFAULT)
        o.policy = s.policy;
    gang_cluster *made = NULL;
    r = gang_cluster_new(&o, &made, error);
    gang_worker *w = NULL;
    if (r == GANG_OK) {
        r = gang_worker_new(made, &w);
        if (r != GANG_OK)
            gang__error(error, r, NULL, "%s", gang_strerror(r));
    }
    if (r == GANG_OK)
        r = add_kinds(w, &s, error);
    if (r == GANG_OK)
        r = set_partitions(w, &s, error);
    if (r == GANG_OK)
        r = add_nodes(w, &s, error);
    gang_worker_free(w);
    if (r != GANG_OK) {
        gang_cluster_free(made);
        return r;
    }
    *cluster = made;
    return GANG_OK;
}
