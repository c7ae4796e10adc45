/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that are repeated: once with the clock read around each, once in batches. */
#ifndef BENCH_LOOPS_H
#define BENCH_LOOPS_H

#include <stdatomic.h>

#include "histogram.h"
#include "stage.h"

enum { BATCH = 64 };

/* One thread of a loop. */
struct looper {
    struct stage *stage;
    const struct bench_loop *loop;
    const struct bench_impl *impl;
    void *worker;
    void *request;
    void *sizes[SHAPE_COUNT]; /* LOOP_CHURN */
    struct live *live;        /* this thread's share of what is live */
    size_t live_count, live_cap;
    uint64_t grown; /* LOOP_RESIZE: the allocation */
    uint64_t random;
    size_t batch;
    int64_t held_milli, target_milli;
    int64_t next_arrival, arrival_step; /* LOOP_OPEN */
    struct bench_histogram *histogram[BENCH_OPS];
    /* Picoseconds an operation, of each batch; [1]: of those during which some thread of the
     * loop did not run, since the processor was busy with something else. */
    struct bench_histogram *batches[BENCH_OPS][2];
    int64_t batch_ns[BENCH_OPS], batch_ops[BENCH_OPS], shortest_batch[BENCH_OPS];
    int64_t refused;
    int64_t timed_ns;           /* that all timed steps took together */
    long interruptions;         /* involuntary context switches so far */
    bool interrupted;           /* one of them during this batch */
    struct looper *mates;       /* all threads of the loop, this one too */
    char padding0[64];          /* a line of its own */
    _Atomic int64_t last_batch; /* when this thread's last batch ended */
    _Atomic int64_t together;   /* batches during which all threads ran */
    char padding1[64];
    double cpu_share; /* of the batches: CPU time / wall time */
};

struct loop_steps {
    void (*timed)(struct looper *l); /* one operation of each kind; records its latency */
    void (*batch)(struct looper *l); /* up to l->batch of them; NULL: none */
};

const struct loop_steps *loop_steps(const struct bench_loop *loop);

#endif
