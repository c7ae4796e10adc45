/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots while other threads commit: each operation is in one wholly or not at all, in the order
 * in which they happened; with threads stopped at each step of a commit and of a take. */
#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include "base/atomic.h"
#include "chance.h"
#include "suite.h"

enum { NODES = 4, AREAS = 16 };

/* ---- stopping threads ------------------------------------------------------------------------ */

/* A thread with a stop waits at the n-th coming to a step until it is let go. */
struct stop {
    enum gang__step step;
    int n;
    sem_t there, go;
    _Atomic(int) done;
};

static _Thread_local struct stop *my_stop;
static _Thread_local struct taker *my_take;

static void taker_step(struct taker *t, enum gang__step step);

static void at_step(enum gang__step step)
{
    struct stop *s = my_stop;
    if (my_take)
        taker_step(my_take, step);
    if (!s || s->step != step || --s->n != 0)
        return;
    sem_post(&s->there);
    sem_wait(&s->go);
}

static void stop_init(struct stop *s, enum gang__step step, int n)
{
    s->step = step;
    s->n = n;
    atomic_store(&s->done, 0);
    sem_init(&s->there, 0, 0);
    sem_init(&s->go, 0, 0);
}

static void stop_end(struct stop *s)
{
    sem_destroy(&s->there);
    sem_destroy(&s->go);
}

/* ---- a small world --------------------------------------------------------------------------- */

static gang_cluster *cluster;
static gang_worker *worker[3];
static gang_node_id node[NODES];
static gang_request *gang; /* a task of 1000 millicores, 1 MiB and one GPU on each node */

static void add_node(gang_worker *w, const char *name, int64_t cpu, int32_t state, gang_node_id *id)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    struct gang_gpu_spec gpu[8];
    memset(gpu, 0, sizeof(gpu));
    for (int i = 0; i < 8; i++)
        gpu[i].numa = -1;
    spec.name = name;
    spec.cpu_milli = cpu;
    spec.memory_bytes = cpu * 4096;
    spec.gpus = gpu;
    spec.gpu_count = 8;
    spec.state = state;
    ck_assert_int_eq(gang_node_add(w, &spec, id, NULL), GANG_OK);
}

static void setup(void)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    ck_assert_int_eq(gang_cluster_new(NULL, &cluster, NULL), GANG_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(gang_worker_new(cluster, &worker[i]), GANG_OK);
    for (int i = 0; i < NODES; i++) {
        const char name[2] = {(char)('a' + i), 0};
        add_node(worker[0], name, 64000, GANG_NODE_UP, &node[i]);
    }
    g.count = g.min = NODES;
    g.max_per_node = 1; /* SPREAD alone may put two on one, when others commit while it reads */
    g.cpu_milli = 1000;
    g.memory_bytes = 1 << 20;
    g.gpu_milli = 1000;
    spec.groups = &g;
    spec.group_count = 1;
    spec.policy = GANG_POLICY_SPREAD;
    ck_assert_int_eq(gang_request_new(cluster, &spec, &gang, NULL), GANG_OK);
    atomic_store(&gang__hook_now, at_step);
}

static void teardown(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert_msg(gang_cluster_check(cluster, &error) == GANG_OK, "%s", error.text);
    gang_request_free(gang);
    gang_cluster_free(cluster);
}

static gang_snapshot *snapshot(void)
{
    gang_snapshot *s;
    ck_assert_int_eq(gang_snapshot_new(cluster, &s), GANG_OK);
    return s;
}

/* How many gangs a snapshot shows: the same on each node, and of each kind. */
static int64_t gangs_in(const gang_snapshot *s)
{
    int64_t gangs = -1;
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info info = {.size = sizeof(info)};
        ck_assert_int_eq(gang_snapshot_node_get(s, node[i], &info), GANG_OK);
        int64_t here = info.gpu_count - info.gpus_free;
        if (gangs < 0)
            gangs = here;
        ck_assert_int_eq(here, gangs);
        ck_assert_int_eq(info.cpu_milli - info.cpu_free, here * 1000);
        ck_assert_int_eq(info.memory_bytes - info.memory_free, here << 20);
    }
    return gangs;
}

/* ---- one thread stopped at a step, and let go in the middle of a take ------------------------ */

enum deed { ALLOC, FREE };
struct victim {
    struct stop stop;
    enum deed deed;
    gang_alloc_id id;
    pthread_t thread;
};

static void *be_victim(void *user)
{
    struct victim *v = user;
    my_stop = &v->stop;
    if (v->deed == ALLOC)
        ck_assert_int_eq(gang_alloc(worker[1], gang, &v->id, NULL), GANG_OK);
    else
        ck_assert_int_eq(gang_alloc_free(worker[1], v->id), GANG_OK);
    my_stop = NULL;
    atomic_store(&v->stop.done, 1);
    sem_post(&v->stop.there); /* it may never have come to the step */
    return NULL;
}

static void victim_start(struct victim *v, enum deed deed, enum gang__step step, int n)
{
    stop_init(&v->stop, step, n);
    v->deed = deed;
    if (deed == FREE)
        ck_assert_int_eq(gang_alloc(worker[1], gang, &v->id, NULL), GANG_OK);
}

static void victim_run(struct victim *v)
{
    pthread_create(&v->thread, NULL, be_victim, v);
    sem_wait(&v->stop.there);
}

static void victim_end(struct victim *v)
{
    sem_post(&v->stop.go);
    pthread_join(v->thread, NULL);
    stop_end(&v->stop);
}

/* What a take does to a victim as it goes along. */
struct taker {
    struct victim *v;
    enum gang__step from_step, to_step; /* runs it up to its stop; lets it go to its end */
    int from, to;                       /* at this coming to the step; 0: not in the take */
    int running, stopped, ended;
    void (*after_start)(void);
};

static void taker_start(struct taker *t)
{
    if (t->v) {
        victim_run(t->v);
        t->running = 1;
        t->stopped = !atomic_load(&t->v->stop.done);
    }
    if (t->after_start)
        t->after_start();
}

static void taker_end(struct taker *t)
{
    victim_end(t->v);
    t->ended = 1;
}

static void taker_step(struct taker *t, enum gang__step step)
{
    if (t->from && step == t->from_step && --t->from == 0)
        taker_start(t);
    if (t->to && step == t->to_step && --t->to == 0 && t->running)
        taker_end(t);
}

/* The victim starts before the take (from == 0) or at a step of it, stops at a step of its commit,
 * and goes on at a step of the take (to == 0: after it). Returns whether it came to its stop. */
static bool take_with(enum deed deed, enum gang__step step, int n, struct taker t)
{
    struct victim v;
    int64_t was = deed == FREE, is = 1 - was;
    bool before = t.from == 0;
    setup();
    gang_snapshot *s = snapshot();
    victim_start(&v, deed, step, n);
    t.v = &v;
    if (before)
        taker_start(&t);
    my_take = &t;
    ck_assert_int_eq(gang_snapshot_take(worker[0], s), GANG_OK);
    my_take = NULL;
    ck_assert(t.running);
    int64_t seen = gangs_in(s);
    if (!before)
        ck_assert_int_eq(seen, was); /* it began after the instant */
    else if (!t.stopped)
        ck_assert_int_eq(seen, is); /* it had returned before */
    if (!t.ended)
        taker_end(&t);
    ck_assert_int_eq(gang_snapshot_take(worker[0], s), GANG_OK);
    ck_assert_int_eq(gangs_in(s), is);
    gang_snapshot_free(s);
    teardown();
    return t.stopped;
}

static const enum gang__step commit_steps[] = {
    GANG__STEP_BUILD, GANG__STEP_CLAIM,  GANG__STEP_AGREE, GANG__STEP_RAISE, GANG__STEP_STAMP,
    GANG__STEP_LABEL, GANG__STEP_DECIDE, GANG__STEP_SAVE,  GANG__STEP_WRITE, GANG__STEP_RELEASE};
enum { COMMIT_STEPS = sizeof(commit_steps) / sizeof(commit_steps[0]), WALK = NODES + 1 };

/* Stopped before the instant, at any step; let go at any moment of the walk, or after it. */
START_TEST(commit_that_began_before_is_in_it_wholly_or_not_at_all)
{
    const enum gang__step step = commit_steps[_i / 2];
    int stops = 0;
    for (int n = 1; n <= 3 * NODES; n++) {
        struct taker t = {.from = 0};
        bool came = take_with((enum deed)(_i % 2), step, n, t);
        for (t.to = 1; came && t.to <= WALK; t.to++) {
            t.to_step = GANG__STEP_SCAN;
            take_with((enum deed)(_i % 2), step, n, t);
            t.to_step = GANG__STEP_COPY;
            take_with((enum deed)(_i % 2), step, n, t);
        }
        if (!came)
            break;
        stops++;
    }
    if (step == GANG__STEP_CLAIM || step == GANG__STEP_AGREE || step == GANG__STEP_RELEASE)
        ck_assert_int_eq(stops, NODES);
}
END_TEST

/* Begun in the middle of the walk, and stopped at any step. */
START_TEST(commit_that_begins_after_is_not_in_it)
{
    const enum gang__step step = commit_steps[_i / 2];
    int stops = 0;
    for (int n = 1; n <= 8 * NODES; n++) {
        bool came = false;
        for (int from = 1; from <= WALK; from++) {
            struct taker t = {.from = from, .from_step = GANG__STEP_SCAN};
            came |= take_with((enum deed)(_i % 2), step, n, t);
            t.from_step = GANG__STEP_COPY;
            take_with((enum deed)(_i % 2), step, n, t);
            t.to_step = GANG__STEP_SCAN; /* goes on one cell later */
            t.to = from + 1;
            take_with((enum deed)(_i % 2), step, n, t);
        }
        if (!came)
            break;
        stops++;
    }
    if (step == GANG__STEP_WRITE || step == GANG__STEP_SAVE)
        ck_assert_int_ge(stops, 3 * NODES);
}
END_TEST

/* ---- late helpers ---------------------------------------------------------------------------- */

static struct victim late;

/* Others change all nodes, then the late one goes on. */
static void allocate_and_end(void)
{
    gang_alloc_id id;
    ck_assert_int_eq(gang_alloc(worker[2], gang, &id, NULL), GANG_OK);
    ck_assert_int_eq(gang_alloc(worker[2], gang, &id, NULL), GANG_OK);
    victim_end(&late);
}

/* Saves the words of a cell for a snapshot for which all were saved and then changed. */
START_TEST(late_helper_does_not_save_again)
{
    setup();
    gang_snapshot *s = snapshot();
    victim_start(&late, ALLOC, GANG__STEP_SAVE, 1);
    struct taker t = {.v = &late,
                      .from_step = GANG__STEP_COPY,
                      .from = 2, /* the first node: its owner word was looked at */
                      .after_start = allocate_and_end};
    my_take = &t;
    ck_assert_int_eq(gang_snapshot_take(worker[0], s), GANG_OK);
    my_take = NULL;
    ck_assert_int_eq(gangs_in(s), 0);
    gang_snapshot_free(s);
    teardown();
}
END_TEST

/* Wakes up when its area serves another snapshot, for which the cell was saved. */
START_TEST(late_helper_saves_nothing_over_a_later_snapshot)
{
    setup();
    gang_snapshot *s = snapshot();
    victim_start(&late, ALLOC, GANG__STEP_SAVE, 1);
    struct taker first = {.v = &late, .from_step = GANG__STEP_SCAN, .from = 1};
    my_take = &first;
    ck_assert_int_eq(gang_snapshot_take(worker[0], s), GANG_OK);
    my_take = NULL;
    ck_assert_int_eq(first.stopped, 1);
    ck_assert_int_eq(gangs_in(s), 0);
    struct taker second = {
        .from_step = GANG__STEP_COPY, .from = 2, .after_start = allocate_and_end};
    my_take = &second;
    ck_assert_int_eq(gang_snapshot_take(worker[0], s), GANG_OK);
    my_take = NULL;
    ck_assert_int_eq(gangs_in(s), 1);
    gang_snapshot_free(s);
    teardown();
}
END_TEST

/* ---- a stopped thread adds a node or changes its description --------------------------------- */

enum change { ADD, DESCRIBE, DESCRIBE_TWICE, REMOVE, CHANGES };
struct builder {
    struct stop stop;
    enum change change;
    pthread_t thread;
    gang_node_id id;
};

static void describe(struct builder *b, int64_t cpu)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    spec.name = "x";
    spec.cpu_milli = cpu;
    spec.memory_bytes = cpu * 4096;
    ck_assert_int_eq(gang_node_change(worker[1], b->id, &spec, NULL), GANG_OK);
}

static void enter(struct builder *b)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    spec.name = "x";
    spec.cpu_milli = 500;
    spec.memory_bytes = 500 * 4096;
    spec.state = GANG_NODE_DOWN;
    ck_assert_int_eq(gang_node_add(worker[1], &spec, &b->id, NULL), GANG_OK);
}

static void *be_builder(void *user)
{
    struct builder *b = user;
    my_stop = &b->stop;
    if (b->change == ADD)
        enter(b);
    else if (b->change == REMOVE)
        ck_assert_int_eq(gang_node_remove(worker[1], b->id), GANG_OK);
    else
        describe(b, 700);
    if (b->change == DESCRIBE_TWICE)
        describe(b, 900);
    my_stop = NULL;
    atomic_store(&b->stop.done, 1);
    sem_post(&b->stop.there);
    return NULL;
}

/* The one node beside the four, if a snapshot shows it: wholly free, as it was described then.
 * Returns its millicores; 0: not there. */
static int64_t beside_in(const gang_snapshot *s)
{
    gang_node_id id = gang_snapshot_node_next(s, node[NODES - 1]);
    ck_assert_int_eq(gang_snapshot_node_count(s), id ? NODES + 1 : NODES);
    if (!id)
        return 0;
    struct gang_node_info info = {.size = sizeof(info)};
    ck_assert_int_eq(gang_snapshot_node_get(s, id, &info), GANG_OK);
    ck_assert_int_eq(info.cpu_free, info.cpu_milli);
    ck_assert_int_eq(info.memory_free, info.memory_bytes);
    ck_assert_int_eq(info.memory_bytes, info.cpu_milli * 4096);
    return info.cpu_milli;
}

/* The same as the live node says, which was looked at before: what is there stays there. */
START_TEST(node_is_there_as_soon_as_its_commit_is)
{
    const enum gang__step step =
        _i / CHANGES < COMMIT_STEPS ? commit_steps[_i / CHANGES] : GANG__STEP_UPDATE;
    for (int n = 1; n < 8; n++) {
        struct builder b = {.change = (enum change)(_i % CHANGES)};
        struct gang_node_info info = {.size = sizeof(info)};
        setup();
        gang_snapshot *s = snapshot();
        stop_init(&b.stop, step, n);
        if (b.change != ADD)
            enter(&b);
        pthread_create(&b.thread, NULL, be_builder, &b);
        sem_wait(&b.stop.there);
        gang_node_id live = gang_node_next(cluster, node[NODES - 1]);
        int64_t free = 0;
        if (live) {
            ck_assert_int_eq(gang_node_get(cluster, live, &info), GANG_OK);
            free = info.cpu_free;
        }
        ck_assert_int_eq(gang_snapshot_take(worker[0], s), GANG_OK);
        ck_assert_int_eq(beside_in(s), free);
        sem_post(&b.stop.go);
        pthread_join(b.thread, NULL);
        ck_assert_int_eq(gang_snapshot_take(worker[0], s), GANG_OK);
        static const int64_t end[] = {500, 700, 900, 0};
        ck_assert_int_eq(beside_in(s), end[b.change]);
        stop_end(&b.stop);
        gang_snapshot_free(s);
        teardown();
    }
}
END_TEST

/* ---- a thread stopped inside a take ---------------------------------------------------------- */

struct frozen {
    struct stop stop;
    gang_worker *w;
    gang_snapshot *s;
    int64_t gangs;
    pthread_t thread;
};

static void *be_frozen(void *user)
{
    struct frozen *f = user;
    my_stop = &f->stop;
    ck_assert_int_eq(gang_snapshot_take(f->w, f->s), GANG_OK);
    my_stop = NULL;
    f->gangs = gangs_in(f->s);
    atomic_store(&f->stop.done, 1);
    sem_post(&f->stop.there);
    return NULL;
}

static void *be_frozen_alone(void *user)
{
    struct frozen *f = user;
    my_stop = &f->stop;
    ck_assert_int_eq(gang_snapshot_take(f->w, f->s), GANG_OK);
    my_stop = NULL;
    return NULL;
}

/* Returns whether it came to its stop. */
static bool frozen_start(struct frozen *f, gang_worker *w, enum gang__step step, int n)
{
    f->w = w;
    f->s = snapshot();
    stop_init(&f->stop, step, n);
    pthread_create(&f->thread, NULL, be_frozen, f);
    sem_wait(&f->stop.there);
    return !atomic_load(&f->stop.done);
}

static void frozen_end(struct frozen *f)
{
    sem_post(&f->stop.go);
    pthread_join(f->thread, NULL);
    gang_snapshot_free(f->s);
    stop_end(&f->stop);
}

START_TEST(a_stopped_take_stops_no_other_and_shows_its_instant)
{
    static const enum gang__step steps[] = {GANG__STEP_TAKE, GANG__STEP_SCAN, GANG__STEP_COPY};
    for (int n = 1;; n++) {
        struct frozen f;
        gang_alloc_id id[3], kept;
        setup();
        gang_snapshot *s = snapshot();
        ck_assert_int_eq(gang_alloc(worker[1], gang, &kept, NULL), GANG_OK);
        bool came = frozen_start(&f, worker[0], steps[_i], n);
        for (int k = 0; k < 200; k++) {
            for (int i = 0; i < 3; i++) {
                ck_assert_int_eq(gang_alloc(worker[1], gang, &id[i], NULL), GANG_OK);
                ck_assert_int_eq(gang_snapshot_take(worker[2], s), GANG_OK);
                ck_assert_int_eq(gangs_in(s), i + 2);
            }
            for (int i = 0; i < 3; i++)
                ck_assert_int_eq(gang_alloc_free(worker[1], id[i]), GANG_OK);
        }
        ck_assert_int_eq(gang_alloc_free(worker[1], kept), GANG_OK);
        frozen_end(&f);
        ck_assert_int_eq(f.gangs, steps[_i] == GANG__STEP_TAKE && came ? 0 : 1);
        gang_snapshot_free(s);
        teardown();
        if (!came) {
            ck_assert_int_gt(n, 1);
            break;
        }
    }
}
END_TEST

/* A node removed while a snapshot was being taken is freed by one call of reclaim, though
 * that began while the snapshot still needed the node. */
static void *reclaim(void *user)
{
    ck_assert_int_eq(gang_cluster_recycle(cluster), GANG_OK);
    atomic_store((_Atomic(int) *)user, 1);
    return NULL;
}

START_TEST(reclaim_waits_for_a_take_and_frees_what_it_needed)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_cluster *c;
    gang_worker *w[2];
    gang_node_id id;
    pthread_t thread;
    _Atomic(int) reclaimed = 0;
    struct frozen f;
    opts.max_nodes = 1; /* its slot must be free before another is added */
    opts.manual_recycle = 1;
    setup();
    gang_cluster *usual = cluster;
    ck_assert_int_eq(gang_cluster_new(&opts, &c, NULL), GANG_OK);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(gang_worker_new(c, &w[i]), GANG_OK);
    cluster = c;
    add_node(w[1], "x", 1000, GANG_NODE_UP, &id);
    stop_init(&f.stop, GANG__STEP_SCAN, 1);
    f.w = w[0];
    f.s = snapshot();
    pthread_create(&f.thread, NULL, be_frozen_alone, &f);
    sem_wait(&f.stop.there);
    ck_assert_int_eq(gang_node_remove(w[1], id), GANG_OK);
    pthread_create(&thread, NULL, reclaim, &reclaimed);
    for (int i = 0; i < 200; i++) { /* let it come to where it waits; it must not get further */
        nanosleep(&(struct timespec){0, 100000}, NULL);
        ck_assert_int_eq(atomic_load(&reclaimed), 0);
    }
    sem_post(&f.stop.go);
    pthread_join(f.thread, NULL);
    pthread_join(thread, NULL);
    struct gang_node_info info = {.size = sizeof(info)};
    ck_assert_int_eq(gang_snapshot_node_get(f.s, id, &info), GANG_OK);
    ck_assert_int_eq(info.state, GANG_NODE_UP);
    add_node(w[1], "y", 1000, GANG_NODE_UP, &id);
    gang_snapshot_free(f.s);
    stop_end(&f.stop);
    gang_cluster_free(c);
    cluster = usual;
    teardown();
}
END_TEST

START_TEST(seventeenth_take_at_a_time_is_busy)
{
    static struct frozen f[AREAS];
    gang_worker *w[AREAS];
    setup();
    gang_snapshot *s = snapshot();
    for (int i = 0; i < AREAS; i++) {
        ck_assert_int_eq(gang_snapshot_take(worker[2], s), GANG_OK);
        ck_assert_int_eq(gang_worker_new(cluster, &w[i]), GANG_OK);
        ck_assert(frozen_start(&f[i], w[i], i % 2 ? GANG__STEP_TAKE : GANG__STEP_SCAN, 1));
    }
    gang_alloc_id id;
    ck_assert_int_eq(gang_snapshot_take(worker[2], s), GANG_EBUSY);
    ck_assert_int_eq(gangs_in(s), 0); /* the former content */
    ck_assert_int_eq(gang_alloc(worker[1], gang, &id, NULL), GANG_OK);
    frozen_end(&f[3]);
    ck_assert_int_eq(f[3].gangs, 1);
    ck_assert_int_eq(gang_snapshot_take(worker[2], s), GANG_OK);
    ck_assert_int_eq(gangs_in(s), 1);
    for (int i = 0; i < AREAS; i++) {
        if (i == 3)
            continue;
        frozen_end(&f[i]);
        ck_assert_int_eq(f[i].gangs, i % 2);
    }
    gang_snapshot_free(s);
    teardown();
}
END_TEST

/* ---- many threads, many commits -------------------------------------------------------------- */

static _Atomic(int64_t) begun, returned; /* gangs */
static _Atomic(int) stop_all;
static int rounds;

/* The number of gangs only rises; each takes a millicore and a page on each node. */
static void *only_allocate(void *user)
{
    gang_request *small = user;
    gang_worker *w;
    gang_alloc_id id;
    ck_assert_int_eq(gang_worker_new(cluster, &w), GANG_OK);
    for (int i = 0; i < rounds; i++) {
        atomic_fetch_add(&begun, 1);
        ck_assert_int_eq(gang_alloc(w, small, &id, NULL), GANG_OK);
        atomic_fetch_add(&returned, 1);
    }
    gang_worker_free(w);
    return NULL;
}

static void *watch_order(void *user)
{
    gang_worker *w;
    gang_snapshot *s = snapshot();
    (void)user;
    ck_assert_int_eq(gang_worker_new(cluster, &w), GANG_OK);
    int64_t last = 0;
    while (!atomic_load(&stop_all)) {
        int64_t least = atomic_load(&returned);
        ck_assert_int_eq(gang_snapshot_take(w, s), GANG_OK);
        int64_t most = atomic_load(&begun), seen = -1;
        for (int i = 0; i < NODES; i++) {
            struct gang_node_info info = {.size = sizeof(info)};
            ck_assert_int_eq(gang_snapshot_node_get(s, node[i], &info), GANG_OK);
            if (seen < 0)
                seen = info.cpu_milli - info.cpu_free;
            ck_assert_int_eq(info.cpu_milli - info.cpu_free, seen);
            ck_assert_int_eq(info.memory_bytes - info.memory_free, seen * 4096);
        }
        ck_assert_int_ge(seen, least);
        ck_assert_int_le(seen, most);
        ck_assert_int_ge(seen, last);
        last = seen;
    }
    gang_worker_free(w);
    gang_snapshot_free(s);
    return NULL;
}

START_TEST(gangs_are_seen_whole_and_in_order)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *small;
    pthread_t thread[4];
    setup();
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    g.count = g.min = NODES;
    g.max_per_node = 1;
    g.cpu_milli = 1;
    g.memory_bytes = 4096;
    spec.groups = &g;
    spec.group_count = 1;
    spec.policy = GANG_POLICY_SPREAD;
    ck_assert_int_eq(gang_request_new(cluster, &spec, &small, NULL), GANG_OK);
    rounds = getenv("GANG_TEST_QUICK") ? 1500 : 10000;
    atomic_store(&stop_all, 0);
    atomic_store(&begun, 0);
    atomic_store(&returned, 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, i < 2 ? only_allocate : watch_order, small);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    atomic_store(&stop_all, 1);
    for (int i = 2; i < 4; i++)
        pthread_join(thread[i], NULL);
    gang_request_free(small);
    teardown();
}
END_TEST

static _Atomic(int) visits; /* of watchers, to nodes that come and go */

/* A node that nothing is placed on comes, is described again, and goes, until a reader has seen
 * it. */
static void *churn(void *user)
{
    gang_worker *w;
    (void)user;
    ck_assert_int_eq(gang_worker_new(cluster, &w), GANG_OK);
    for (int i = 0; i < rounds || (atomic_load(&visits) == 0 && i < 1000 * rounds); i++) {
        gang_node_id id[2];
        struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
        add_node(w, "x", 1000, GANG_NODE_DRAINING, &id[0]);
        spec.name = "y"; /* a slot that is used by larger and smaller ones in turn */
        spec.state = GANG_NODE_DOWN;
        ck_assert_int_eq(gang_node_add(w, &spec, &id[1], NULL), GANG_OK);
        for (int64_t cpu = 1; cpu < 5; cpu++) {
            spec.cpu_milli = 7000 * cpu;
            spec.memory_bytes = 7000 * cpu * 4096;
            ck_assert_int_eq(gang_node_change(w, id[1], &spec, NULL), GANG_OK);
        }
        ck_assert_int_eq(gang_node_remove(w, id[i % 2]), GANG_OK);
        ck_assert_int_eq(gang_node_remove(w, id[1 - i % 2]), GANG_OK);
    }
    gang_worker_free(w);
    return NULL;
}

static void *take_and_free(void *user)
{
    gang_worker *w;
    uint64_t random = *(uint64_t *)user;
    gang_alloc_id id[4] = {0};
    ck_assert_int_eq(gang_worker_new(cluster, &w), GANG_OK);
    while (!atomic_load(&stop_all)) {
        unsigned k = (unsigned)(chance_of(&random) % 4);
        if (id[k]) {
            ck_assert_int_eq(gang_alloc_free(w, id[k]), GANG_OK);
            id[k] = GANG_ID_NONE;
        } else {
            gang_result r = gang_alloc(w, gang, &id[k], NULL);
            ck_assert(r == GANG_OK || r == GANG_ENOFIT);
        }
    }
    for (int k = 0; k < 4; k++)
        if (id[k])
            ck_assert_int_eq(gang_alloc_free(w, id[k]), GANG_OK);
    gang_worker_free(w);
    return NULL;
}

/* Every node as it was described and as free as it was, at one moment. */
static void *watch_all(void *user)
{
    gang_worker *w;
    gang_snapshot *s = snapshot();
    (void)user;
    ck_assert_int_eq(gang_worker_new(cluster, &w), GANG_OK);
    while (!atomic_load(&stop_all)) {
        int64_t nodes = 0;
        ck_assert_int_eq(gang_snapshot_take(w, s), GANG_OK);
        int64_t gangs = gangs_in(s);
        struct gang_totals t = GANG_TOTALS_INIT;
        ck_assert_int_eq(gang_snapshot_totals(s, &t), GANG_OK);
        ck_assert_int_eq(t.cpu_free + gangs * NODES * 1000, t.cpu_milli);
        ck_assert_int_eq(t.gpus_free + gangs * NODES, t.gpus);
        ck_assert_int_eq(t.gpus_free_up + gangs * NODES, NODES * 8);
        for (gang_node_id id = gang_snapshot_node_next(s, GANG_ID_NONE); id;
             id = gang_snapshot_node_next(s, id)) {
            struct gang_node_info info = {.size = sizeof(info)};
            ck_assert_int_eq(gang_snapshot_node_get(s, id, &info), GANG_OK);
            ck_assert(nodes == NODES || strcmp(info.name, "y") == 0 || info.gpu_count == 8);
            if (++nodes <= NODES)
                continue;
            atomic_fetch_add(&visits, 1);
            ck_assert_int_eq(info.cpu_free, info.cpu_milli);
            ck_assert_int_eq(info.memory_free, info.memory_bytes);
            ck_assert_int_eq(info.memory_bytes, info.cpu_milli * 4096);
        }
        ck_assert_int_eq(nodes, gang_snapshot_node_count(s));
        ck_assert_int_le(nodes, NODES + 2);
    }
    gang_worker_free(w);
    gang_snapshot_free(s);
    return NULL;
}

START_TEST(nodes_come_and_go_between_snapshots_not_in_them)
{
    pthread_t thread[4];
    uint64_t seed = test_seed();
    setup();
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    rounds = getenv("GANG_TEST_QUICK") ? 300 : 3000;
    atomic_store(&stop_all, 0);
    atomic_store(&visits, 0);
    pthread_create(&thread[0], NULL, churn, NULL);
    pthread_create(&thread[1], NULL, take_and_free, &seed);
    pthread_create(&thread[2], NULL, watch_all, NULL);
    pthread_create(&thread[3], NULL, watch_all, NULL);
    pthread_join(thread[0], NULL);
    atomic_store(&stop_all, 1);
    for (int i = 1; i < 4; i++)
        pthread_join(thread[i], NULL);
    ck_assert_int_gt(atomic_load(&visits), 0);
    teardown();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshot_threads");
    TCase *t = tcase_create("stopped"), *many = tcase_create("many");
    tcase_set_timeout(t, 300);
    tcase_set_timeout(many, 300);
    tcase_add_loop_test(t, commit_that_began_before_is_in_it_wholly_or_not_at_all, 0,
                        2 * COMMIT_STEPS);
    tcase_add_loop_test(t, commit_that_begins_after_is_not_in_it, 0, 2 * COMMIT_STEPS);
    tcase_add_loop_test(t, node_is_there_as_soon_as_its_commit_is, 0, (COMMIT_STEPS + 1) * CHANGES);
    tcase_add_test(t, late_helper_does_not_save_again);
    tcase_add_test(t, late_helper_saves_nothing_over_a_later_snapshot);
    tcase_add_loop_test(t, a_stopped_take_stops_no_other_and_shows_its_instant, 0, 3);
    tcase_add_test(t, reclaim_waits_for_a_take_and_frees_what_it_needed);
    tcase_add_test(t, seventeenth_take_at_a_time_is_busy);
    tcase_add_test(many, gangs_are_seen_whole_and_in_order);
    tcase_add_test(many, nodes_come_and_go_between_snapshots_not_in_them);
    suite_add_tcase(suite, t);
    suite_add_tcase(suite, many);
    return run_suite(suite);
}
