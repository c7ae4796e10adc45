/* SPDX-License-Identifier: Apache-2.0 */
/* Words that all files of the benchmark share: what is asked for, what is measured, the clock. */
#ifndef BENCH_H
#define BENCH_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* A machine: 8 GPUs in 2 NUMA domains, all joined by links alike, 64 cores, 512 GiB. */
enum {
    NODE_GPUS = 8,
    NODE_CORES = 64,
    NODE_NUMAS = 2,
    RACK_NODES = 32,
    RARE_STRIDE = 1000, /* one node of a thousand has the rare label, and one the rare GPU model: */
    RARE_LABEL_AT = 500,
    RARE_MODEL_AT = 501,
    MAX_THREADS = 64,
    MAX_NODES = 1000000
};
#define NODE_MEMORY ((int64_t)512 << 30)

/* What one task takes of a node. */
enum bench_shape {
    SHAPE_GPU,   /* 1 GPU, 4 cores, 32 GiB */
    SHAPE_GPU2,  /* 2 GPUs, 16 cores, 128 GiB */
    SHAPE_GPU4,  /* 4 GPUs, 32 cores, 256 GiB */
    SHAPE_NODE,  /* 8 GPUs, 64 cores, 512 GiB */
    SHAPE_HALF,  /* 8 GPUs, half of the cores and memory: no other task gets a GPU there */
    SHAPE_SHARE, /* a quarter of one GPU, 1 core, 8 GiB */
    SHAPE_COUNT
};

struct bench_need {
    const char *name;
    int32_t gpu_milli;
    int32_t cores;
    int64_t memory_bytes;
};
extern const struct bench_need bench_need[SHAPE_COUNT];

/* Nodes that alone may be used. */
enum bench_rare { RARE_NONE, RARE_LABEL, RARE_MODEL };

/* Where its tasks go beside each other; gangsched alone. */
enum bench_where { WHERE_ANY, WHERE_RACK, WHERE_PREFER, WHERE_TOPOLOGY, WHERE_COUNT };

/* A request: `tasks` tasks of one shape, all or nothing, that may grow by `extra`. */
struct bench_request {
    enum bench_shape shape;
    enum bench_rare rare;
    enum bench_where where;
    int64_t tasks;
    int64_t extra;
    bool restart;   /* peers: search each task of a gang from node 0 again */
    bool exclusive; /* ours: the nodes are for this request alone */
};

/* How what is taken lies. */
enum bench_pattern {
    PATTERN_NODES,      /* nodes chosen at random are taken whole, by gangs of fill_gang nodes */
    PATTERN_GPUS,       /* GPUs chosen at random are taken, by tasks of one */
    PATTERN_MIXED,      /* the same by tasks of 1, 2, 4 and 8 GPUs */
    PATTERN_FRAGMENTED, /* nodes chosen at random have 1..8 of their GPUs taken */
    PATTERN_COUNT
};

/* A cluster in a state: what loops that share it start from. */
struct bench_scene {
    const struct bench_impl *impl;
    int64_t nodes;
    int32_t fill; /* percent */
    enum bench_pattern pattern;
    int64_t fill_gang; /* nodes a gang, PATTERN_NODES */
    int64_t rack;      /* nodes a rack; 0: RACK_NODES */
    bool packed;       /* what is free lies last, which is what first-fit ends up with */
    bool rare;         /* some nodes have the rare label or model; they are left free */
    bool build;        /* nothing is there yet: loops build clusters of their own */
};

/* The operation that is repeated and measured. */
enum bench_kind {
    LOOP_NEWEST, /* allocate, free what was just allocated */
    LOOP_RANDOM, /* allocate, free any live allocation of the same shape */
    LOOP_REFUSE, /* allocate what does not fit */
    LOOP_RESIZE, /* grow by one task, shrink by it */
    LOOP_STATE,  /* drain a node, take it back */
    LOOP_READ,   /* read a node */
    LOOP_CHURN,  /* allocate 1, 2, 4, 8 GPUs or free, around the fill; a decision each */
    LOOP_OPEN,   /* the same by a fixed schedule */
    LOOP_SNAPSHOT,
    LOOP_BESIDE, /* the first thread takes snapshots, the others allocate and free */
    LOOP_BUILD,
    LOOP_BUILD_BULK
};

enum { BENCH_NAME = 160, BENCH_OPS = 2 };

/* One loop gives up to two results, such as "alloc_gpu" and "free". */
struct bench_loop {
    struct bench_scene scene;
    enum bench_kind kind;
    struct bench_request request;
    int32_t threads;
    int64_t rate; /* LOOP_OPEN: arrivals a second, all threads together */
    double seconds;
    char name[BENCH_OPS][BENCH_NAME]; /* "": no such result */
    bool wanted[BENCH_OPS];
};

struct bench_histogram;

/* What was measured of one operation. Times in ns; -1: does not apply. */
struct bench_result {
    char name[BENCH_NAME];
    int32_t threads;
    int64_t iterations;    /* operations that were timed one by one */
    double mean_ns;        /* of these */
    double ns_per_op;      /* without clock reads between operations: the median batch */
    int64_t batch;         /* operations a batch, at most */
    double together;       /* share of the batches during which all threads ran; 0: too few */
    double cpu_ns;         /* CPU time an operation, the mean of all batches */
    double ops_per_s;      /* of all threads together, each by its median batch */
    double wall_ops_per_s; /* the same over all batches */
    double bytes_per_node;
    double allocs_per_op;
    int64_t retries, helps, refused;
    struct bench_histogram *histogram;
};

/* Options of a run. */
struct bench_options {
    const char *json; /* NULL: none, "-": standard output */
    const char *filter;
    const char *hdr;
    bool quick, list;
    uint64_t seed;
    double seconds; /* < 0: as each case has it */
    int64_t threads[MAX_THREADS];
    size_t thread_count;
    int64_t nodes[16];
    size_t node_count;
    bool nodes_given; /* by --nodes */
    int64_t rate;     /* 0: the default */
};

/* ---- clock and random numbers ---- */

static inline int64_t bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* splitmix64; python_peer.py has the same, so that all start from the same cluster. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* 0 <= result < n < 2^32 */
static inline uint64_t bench_below(uint64_t *state, uint64_t n)
{
    return ((bench_random(state) >> 32) * n) >> 32;
}

/* ---- failures: a message and the end of the program ---- */

__attribute__((noreturn, format(printf, 1, 2))) void bench_die(const char *format, ...);
void *bench_calloc(size_t count, size_t size);

/* ---- --filter ---- */

/* Nothing is made where there is none. Ends the program if it is no expression. */
void bench_filter_open(const struct bench_options *options, regex_t *filter);
void bench_filter_close(const struct bench_options *options, regex_t *filter);

#endif
