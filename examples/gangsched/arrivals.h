/* SPDX-License-Identifier: Apache-2.0 */
/* What `gangsched replay` reads: a file of nodes and a file of gangs, see gangsched-replay(1). */
#ifndef GANGSCHED_ARRIVALS_H
#define GANGSCHED_ARRIVALS_H

#include <gangsched/gangsched.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gangsched/csv.h"

#define TRACE_MIB ((int64_t)1 << 20)
/* The largest amount that the library accepts; a larger one is a mistake in the file. */
#define TRACE_MAX_MEMORY_MIB (GANG_MAX_AMOUNT / (TRACE_MIB / GANG_PAGE_BYTES))

/* Mixes a value into a hash. */
static inline uint64_t trace_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

/* ---- fields; false with csv->error set ---- */

/* Columns by name: all must be there. */
bool trace_find_columns(struct csv *csv, const char *const *names, size_t count, int *column);
/* A name as the library takes it: not empty, not too long. */
bool trace_check_name(struct csv *csv, int column);
/* "A|B": names, none of them empty. */
bool trace_check_models(struct csv *csv, int column);
/* Cut "A|B" into its names, in place. At most `cap` of them; returns how many. */
size_t trace_cut_models(char *text, const char **models, size_t cap);

/* ---- nodes ---- */

struct trace_model {
    char name[GANG_MAX_NAME + 1]; /* "": the file does not say */
    int64_t nodes;
    int64_t gpus;
};

struct trace_nodes {
    gang_node_id *ids; /* in the order of the file */
    int32_t *model;    /* index into models of each node, -1: it has no GPU */
    char **names;
    size_t count;
    size_t cap;
    struct trace_model *models;
    size_t model_count;
    int64_t gpus;
    int64_t cpu_milli;
    int64_t memory_bytes;
    size_t *slots; /* hash table of ids: index + 1, 0 is empty */
    size_t slot_count;
};

/* Read a file of nodes and add them to the worker's cluster. Returns an exit status, after a
 * message if it is not 0. To be freed with trace_nodes_free() in any case. */
int trace_read_nodes(const char *path, gang_worker *worker, struct trace_nodes *nodes);
void trace_nodes_free(struct trace_nodes *nodes);

/* Position of a node in the file, by its id; the id must be one of them. */
size_t trace_node_index(const struct trace_nodes *nodes, gang_node_id id);

/* ---- gangs ---- */

/* Gangs of the same shape share one request. */
struct trace_shape {
    int64_t tasks;
    int64_t cpu_milli; /* the numbers of one task */
    int64_t memory_bytes;
    int64_t gpus;      /* devices */
    int64_t gpu_milli; /* of each device; 1000: whole */
    size_t models;     /* offset in `text`: "A|B", "" for any */
    int64_t line;      /* where it is seen first */
    gang_request *request;
};

struct trace_gang {
    size_t name;  /* offset in `text` */
    size_t shape; /* index into shapes */
    int64_t submit_us;
    int64_t duration_us;
};

struct trace_gangs {
    const char *format; /* "openb" or "gang" */
    bool timed;         /* submit_us and duration_us are given; sorted by submit_us */
    struct trace_gang *gangs;
    size_t count;
    size_t cap;
    struct trace_shape *shapes;
    size_t shape_count;
    size_t shape_cap;
    char *text;
    size_t text_used;
    size_t text_cap;
    size_t *slots; /* hash table of shapes: index + 1, 0 is empty */
    size_t slot_count;
};

/* Read a file of gangs, no more than `limit` of them, and compile a request for each shape.
 * Returns an exit status, after a message if it is not 0. To be freed with trace_gangs_free() in
 * any case. */
int trace_read_gangs(const char *path, int64_t limit, gang_cluster *cluster, int32_t policy,
                     struct trace_gangs *gangs);
void trace_gangs_free(struct trace_gangs *gangs);

/* milli-GPUs of one task of a shape. */
int64_t trace_task_gpu_milli(const struct trace_shape *shape);

#endif
