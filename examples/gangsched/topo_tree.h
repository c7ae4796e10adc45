/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a cluster that `gangsched topo` prints: domains and nodes, with what is taken and
 * free. */
#ifndef GANGSCHED_TOPO_TREE_H
#define GANGSCHED_TOPO_TREE_H

#include <gangsched/gangsched.h>

#include <stddef.h>
#include <stdint.h>

/* Amounts of a kind in a node or a domain, in the unit of the kind. Free amounts on nodes that
 * are not up count as neither taken nor free. */
struct amounts {
    int64_t capacity;
    int64_t taken;
    int64_t free;
};

/* A node on its way into the tree. */
struct leaf {
    const struct gang_node_spec *spec;
    const char *const *path; /* its value at each level, "" if it has none */
    size_t order;
    int32_t state;
    struct amounts *amounts; /* by kind */
};

/* A line of the tree, in the order in which it is drawn. */
struct row {
    int depth;
    const char *level; /* NULL: a node, or the cluster itself */
    const char *name;
    const struct leaf *node; /* NULL: a domain */
    struct amounts *amounts;
};

/* A cluster with the running jobs of its case, and its tree. */
struct view {
    gang_cluster *cluster;
    gang_worker *worker;
    const struct gang_scenario *scenario;
    int32_t level_count;
    int32_t kind_count;
    struct gang_kind_info *kinds;
    struct leaf *leaves;
    size_t leaf_count;
    const char **paths;
    struct amounts *amounts; /* of the leaves and, behind them, of the rows */
    size_t amounts_used;
    struct row *rows;
    size_t row_count;
    gang_request **requests; /* of the running jobs, by job */
    const char *path;        /* of the file */
};

/* Makes the cluster of view->scenario, lets its running jobs hold their places, and builds the
 * tree. topo_tree_close() is needed also after a failure. CLI_OK, or CLI_WRONG after a message
 * about view->path. */
int topo_tree_open(struct view *view);
void topo_tree_close(struct view *view);

#endif
