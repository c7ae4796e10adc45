/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gangsched topo`: topo.c reads the options and finds what to draw; topo_machine.c
 * and topo_cluster.c draw it. All return an exit status, after a message if it is not 0. */
#ifndef GANGSCHED_TOPO_H
#define GANGSCHED_TOPO_H

#include <gangsched/gangsched.h>

#include <stdbool.h>
#include <stddef.h>

/* The library's element structs may be longer than ours: step by the size it tells. */
static inline const struct gang_gpu_spec *topo_gpu_at(const struct gang_node_spec *spec, size_t i)
{
    return (const void *)((const char *)spec->gpus + i * spec->gpu_size);
}

/* One machine as a tree, and how its GPUs are joined. */
int topo_draw_machine(const struct gang_node_spec *spec);

/* All cases of a scenario file: domains and nodes with what is taken and free. */
int topo_show_clusters(const char *path, bool json);

#endif
