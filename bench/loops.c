/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RUSAGE_THREAD */

#include "loops.h"

#include <sys/resource.h>

__attribute__((noreturn, cold)) static void broken(const struct looper *l, const char *what)
{
    bench_die("%s: %s failed", l->loop->name[0], what);
}

/* Has something else had the processor since the last call? Waiting for a lock does not count. */
static bool was_interrupted(struct looper *l)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage))
        return false;
    bool more = usage.ru_nivcsw != l->interruptions;
    l->interruptions = usage.ru_nivcsw;
    return more;
}

/* Has every other thread ended a batch since as long before `start` as this batch took? */
static bool all_run(const struct looper *l, int64_t start, int64_t end)
{
    for (int32_t i = 0; i < l->loop->threads; i++)
        if (&l->mates[i] != l && atomic_load_explicit(&l->mates[i].last_batch,
                                                      memory_order_relaxed) < start - (end - start))
            return false;
    return true;
}

static void record_batch(struct looper *l, int op, int64_t start, int64_t end, size_t operations)
{
    int64_t ns = end - start;
    atomic_store_explicit(&l->last_batch, end, memory_order_relaxed);
    if (!operations)
        return;
    l->batch_ns[op] += ns;
    l->batch_ops[op] += (int64_t)operations;
    if (!l->shortest_batch[op] || ns < l->shortest_batch[op])
        l->shortest_batch[op] = ns;
    if (op == 0) /* both parts are over when the first is recorded */
        l->interrupted = l->loop->threads > 1 && was_interrupted(l);
    bool together = !l->interrupted && all_run(l, start, end);
    histogram_record(l->batches[op][!together], ns * 1000 / (int64_t)operations);
    if (together)
        atomic_fetch_add_explicit(&l->together, 1, memory_order_relaxed);
}

/* ---- allocate and free --------------------------------------------------------------------- */

static inline bool place(struct looper *l, void *request, uint64_t *id)
{
    int r = l->impl->place(l->worker, request, id);
    if (r == BENCH_BROKEN)
        broken(l, "allocating");
    l->refused += r == BENCH_REFUSED;
    return r == BENCH_PLACED;
}

static inline void give_back(struct looper *l, uint64_t id)
{
    if (!l->impl->give_back(l->worker, id))
        broken(l, "freeing");
}

static void newest_timed(struct looper *l)
{
    uint64_t id;
    int64_t t0 = bench_now();
    bool placed = place(l, l->request, &id);
    int64_t t1 = bench_now();
    if (!placed)
        return;
    give_back(l, id);
    int64_t t2 = bench_now();
    histogram_record(l->histogram[0], t1 - t0);
    histogram_record(l->histogram[1], t2 - t1);
}

static void newest_batch(struct looper *l)
{
    uint64_t id[BATCH];
    size_t n = 0;
    int64_t t0 = bench_now();
    for (size_t i = 0; i < l->batch; i++)
        n += place(l, l->request, &id[n]);
    int64_t t1 = bench_now();
    for (size_t i = n; i-- > 0;)
        give_back(l, id[i]);
    int64_t t2 = bench_now();
    record_batch(l, 0, t0, t1, n);
    record_batch(l, 1, t1, t2, n);
}

/* Takes one of the live allocations out of the list. */
static struct live draw(struct looper *l)
{
    size_t i = (size_t)bench_below(&l->random, l->live_count);
    struct live drawn = l->live[i];
    l->live[i] = l->live[--l->live_count];
    return drawn;
}

static void keep(struct looper *l, uint64_t id, enum bench_shape shape, int64_t tasks)
{
    if (l->live_count == l->live_cap)
        broken(l, "keeping count of what is live");
    l->live[l->live_count++] = (struct live){id, shape, tasks};
}

static void random_timed(struct looper *l)
{
    uint64_t id;
    int64_t t0 = bench_now();
    bool placed = place(l, l->request, &id);
    int64_t t1 = bench_now();
    if (!placed)
        return;
    struct live drawn = draw(l);
    int64_t t2 = bench_now();
    give_back(l, drawn.id);
    int64_t t3 = bench_now();
    keep(l, id, l->loop->request.shape, l->loop->request.tasks);
    histogram_record(l->histogram[0], t1 - t0);
    histogram_record(l->histogram[1], t3 - t2);
}

static void random_batch(struct looper *l)
{
    uint64_t id[BATCH], drawn[BATCH];
    size_t n = 0;
    int64_t t0 = bench_now();
    for (size_t i = 0; i < l->batch; i++)
        n += place(l, l->request, &id[n]);
    int64_t t1 = bench_now();
    for (size_t i = 0; i < n; i++)
        drawn[i] = draw(l).id;
    int64_t t2 = bench_now();
    for (size_t i = 0; i < n; i++)
        give_back(l, drawn[i]);
    int64_t t3 = bench_now();
    for (size_t i = 0; i < n; i++)
        keep(l, id[i], l->loop->request.shape, l->loop->request.tasks);
    record_batch(l, 0, t0, t1, n);
    record_batch(l, 1, t2, t3, n);
}

/* ---- refusals ------------------------------------------------------------------------------ */

static inline void must_refuse(struct looper *l)
{
    uint64_t id;
    if (l->impl->place(l->worker, l->request, &id) != BENCH_REFUSED)
        broken(l, "refusing");
    l->refused++;
}

static void refuse_timed(struct looper *l)
{
    int64_t t0 = bench_now();
    must_refuse(l);
    histogram_record(l->histogram[0], bench_now() - t0);
}

static void refuse_batch(struct looper *l)
{
    int64_t t0 = bench_now();
    for (size_t i = 0; i < l->batch; i++)
        must_refuse(l);
    record_batch(l, 0, t0, bench_now(), l->batch);
}

/* ---- grow and shrink ----------------------------------------------------------------------- */

static inline bool grow(struct looper *l)
{
    int r = l->impl->grow(l->worker, l->grown);
    if (r == BENCH_BROKEN)
        broken(l, "growing");
    l->refused += r == BENCH_REFUSED;
    return r == BENCH_PLACED;
}

static inline void shrink(struct looper *l, int64_t task)
{
    if (!l->impl->shrink(l->worker, l->grown, task))
        broken(l, "shrinking");
}

static void newest_tasks(struct looper *l, int64_t *tasks, size_t count)
{
    if (count && !l->impl->newest(l->worker, l->grown, tasks, (int64_t)count))
        broken(l, "enumerating");
}

static void resize_timed(struct looper *l)
{
    int64_t task;
    int64_t t0 = bench_now();
    bool grown = grow(l);
    int64_t t1 = bench_now();
    if (!grown)
        return;
    newest_tasks(l, &task, 1);
    int64_t t2 = bench_now();
    shrink(l, task);
    int64_t t3 = bench_now();
    histogram_record(l->histogram[0], t1 - t0);
    histogram_record(l->histogram[1], t3 - t2);
}

static void resize_batch(struct looper *l)
{
    int64_t tasks[BATCH];
    size_t n = 0;
    int64_t t0 = bench_now();
    for (size_t i = 0; i < l->batch; i++)
        n += grow(l);
    int64_t t1 = bench_now();
    newest_tasks(l, tasks, n);
    /* The highest numbers first: a peer moves the last task into the gap. */
    if (n > 1 && tasks[0] < tasks[n - 1])
        for (size_t i = 0; i < n / 2; i++) {
            int64_t t = tasks[i];
            tasks[i] = tasks[n - 1 - i];
            tasks[n - 1 - i] = t;
        }
    int64_t t2 = bench_now();
    for (size_t i = 0; i < n; i++)
        shrink(l, tasks[i]);
    int64_t t3 = bench_now();
    record_batch(l, 0, t0, t1, n);
    record_batch(l, 1, t2, t3, n);
}

/* ---- nodes --------------------------------------------------------------------------------- */

static inline uint32_t any_node(struct looper *l)
{
    return (uint32_t)bench_below(&l->random, (uint64_t)l->stage->scene.nodes);
}

static inline void set_state(struct looper *l, uint32_t node, bool up)
{
    if (!l->impl->set_state(l->worker, node, up))
        broken(l, "changing a node");
}

static void state_timed(struct looper *l)
{
    uint32_t node = any_node(l);
    int64_t t0 = bench_now();
    set_state(l, node, false);
    int64_t t1 = bench_now();
    set_state(l, node, true);
    int64_t t2 = bench_now();
    histogram_record(l->histogram[0], t1 - t0);
    histogram_record(l->histogram[0], t2 - t1);
}

static void state_batch(struct looper *l)
{
    int64_t t0 = bench_now();
    for (size_t i = 0; i < l->batch; i += 2) {
        uint32_t node = any_node(l);
        set_state(l, node, false);
        set_state(l, node, true);
    }
    record_batch(l, 0, t0, bench_now(), (l->batch + 1) / 2 * 2);
}

static inline void read_node(struct looper *l, uint32_t node)
{
    int64_t milli = l->impl->read(l->worker, node);
    if (milli < 0 || milli > NODE_GPUS * 1000)
        broken(l, "reading");
}

static void read_timed(struct looper *l)
{
    uint32_t node = any_node(l);
    int64_t t0 = bench_now();
    read_node(l, node);
    histogram_record(l->histogram[0], bench_now() - t0);
}

static void read_batch(struct looper *l)
{
    int64_t t0 = bench_now();
    for (size_t i = 0; i < l->batch; i++)
        read_node(l, any_node(l));
    record_batch(l, 0, t0, bench_now(), l->batch);
}

static void snapshot_timed(struct looper *l)
{
    int64_t t0 = bench_now();
    if (!l->impl->snapshot(l->worker))
        broken(l, "taking a snapshot");
    histogram_record(l->histogram[0], bench_now() - t0);
}

static void beside_timed(struct looper *l)
{
    if (l == l->mates) {
        snapshot_timed(l);
        return;
    }
    uint64_t id;
    int64_t t0 = bench_now();
    bool placed = place(l, l->request, &id);
    int64_t t1 = bench_now();
    if (!placed)
        return;
    give_back(l, id);
    histogram_record(l->histogram[1], t1 - t0);
}

/* ---- churn --------------------------------------------------------------------------------- */

/* One decision; the time it took. Below the target a request of a random size, else a release. */
static inline int64_t decide(struct looper *l, int64_t start)
{
    static const enum bench_shape sizes[] = {SHAPE_GPU, SHAPE_GPU2, SHAPE_GPU4, SHAPE_NODE};
    if (l->held_milli >= l->target_milli || l->live_count == l->live_cap) {
        struct live drawn = draw(l);
        int64_t t0 = start ? start : bench_now();
        give_back(l, drawn.id);
        int64_t t1 = bench_now();
        l->held_milli -= bench_need[drawn.shape].gpu_milli;
        return t1 - t0;
    }
    enum bench_shape shape = sizes[bench_below(&l->random, 4)];
    uint64_t id;
    int64_t t0 = start ? start : bench_now();
    bool placed = place(l, l->sizes[shape], &id);
    int64_t t1 = bench_now();
    if (placed) {
        keep(l, id, shape, 1);
        l->held_milli += bench_need[shape].gpu_milli;
    } else if (l->live_count) { /* refused: too little is free; free some, untimed */
        struct live drawn = draw(l);
        give_back(l, drawn.id);
        l->held_milli -= bench_need[drawn.shape].gpu_milli;
    }
    return t1 - t0;
}

static void churn_timed(struct looper *l)
{
    histogram_record(l->histogram[0], decide(l, 0));
}

/* The same without clock reads; drawing random numbers is part of it. */
static void churn_batch(struct looper *l)
{
    static const enum bench_shape sizes[] = {SHAPE_GPU, SHAPE_GPU2, SHAPE_GPU4, SHAPE_NODE};
    size_t operations = l->batch;
    int64_t t0 = bench_now();
    for (size_t i = 0; i < l->batch; i++) {
        if (l->held_milli >= l->target_milli || l->live_count == l->live_cap) {
            struct live drawn = draw(l);
            give_back(l, drawn.id);
            l->held_milli -= bench_need[drawn.shape].gpu_milli;
            continue;
        }
        enum bench_shape shape = sizes[bench_below(&l->random, 4)];
        uint64_t id;
        if (place(l, l->sizes[shape], &id)) {
            keep(l, id, shape, 1);
            l->held_milli += bench_need[shape].gpu_milli;
        } else if (l->live_count) {
            struct live drawn = draw(l);
            give_back(l, drawn.id);
            l->held_milli -= bench_need[drawn.shape].gpu_milli;
            operations++;
        }
    }
    record_batch(l, 0, t0, bench_now(), operations);
}

/* Latency counts from the intended arrival, also when the thread is behind its schedule. */
static void open_timed(struct looper *l)
{
    int64_t arrival = l->next_arrival;
    if (!arrival)
        arrival = bench_now();
    l->next_arrival = arrival + l->arrival_step;
    while (bench_now() < arrival)
        ;
    histogram_record(l->histogram[0], decide(l, arrival));
}

/* ---- which is which ------------------------------------------------------------------------ */

const struct loop_steps *loop_steps(const struct bench_loop *loop)
{
    static const struct loop_steps steps[] = {
        [LOOP_NEWEST] = {newest_timed, newest_batch}, [LOOP_RANDOM] = {random_timed, random_batch},
        [LOOP_REFUSE] = {refuse_timed, refuse_batch}, [LOOP_RESIZE] = {resize_timed, resize_batch},
        [LOOP_STATE] = {state_timed, state_batch},    [LOOP_READ] = {read_timed, read_batch},
        [LOOP_CHURN] = {churn_timed, churn_batch},    [LOOP_OPEN] = {open_timed, NULL},
        [LOOP_SNAPSHOT] = {snapshot_timed, NULL},     [LOOP_BESIDE] = {beside_timed, NULL},
    };
    return &steps[loop->kind];
}
