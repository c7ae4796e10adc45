/* SPDX-License-Identifier: Apache-2.0 */
/* fork(): the child of one thread goes on with a copy of its own; so does the child of many, at
 * whatever moment the others were. Not for ThreadSanitizer, which forbids that. A child that
 * hangs is ended by its alarm. */
#define _GNU_SOURCE
#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "embed/sure.h"
#include "suite.h"

enum { NODES = 4, GPUS = 8, CHILD_SECONDS = 60 };

/* For a child, where libcheck's own would return into the parent's runner. */
#define CHILD(what)                                                                  \
    do {                                                                             \
        if (!(what)) {                                                               \
            fprintf(stderr, "%s:%d: in the child: %s\n", __FILE__, __LINE__, #what); \
            _exit(1);                                                                \
        }                                                                            \
    } while (0)

static void expect_good_end(pid_t child)
{
    int status = -1;
    SURE(child > 0);
    SURE(waitpid(child, &status, 0) == child);
    SURE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- a cluster of four machines, and gangs over all of them -- */

struct world {
    gang_cluster *c;
    gang_worker *w;
    gang_request *gang; /* one GPU on each machine */
    gang_node_id node[NODES];
};

static gang_result add_node(gang_worker *w, const char *name, size_t gpus, gang_node_id *id)
{
    struct box_arrays arrays;
    struct box box = {.name = name, .cpu = 64000, .memory = 64 * GIB, .gpus = gpus};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    return gang_node_add(w, &spec, id, NULL);
}

static void world_init(struct world *w, const struct gang_cluster_opts *opts)
{
    memset(w, 0, sizeof(*w));
    MUST(gang_cluster_new(opts, &w->c, NULL));
    MUST(gang_worker_new(w->c, &w->w));
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        MUST(add_node(w->w, name, GPUS, &w->node[i]));
    }
    struct gang_group_spec g = group_of(NODES, 1000, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = GANG_POLICY_SPREAD;
    MUST(gang_request_new(w->c, &spec, &w->gang, NULL));
}

static void world_end(struct world *w)
{
    struct gang_error error = GANG_ERROR_INIT;
    ck_assert_msg(gang_cluster_check(w->c, &error) == GANG_OK, "%s", error.text);
    gang_request_free(w->gang);
    gang_cluster_free(w->c);
}

/* GPUs taken of each machine; -1: not the same of all. Helps what is under way. */
static int gpus_taken(const struct world *w)
{
    int taken = -1;
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info info = {.size = sizeof(info)};
        if (gang_node_get(w->c, w->node[i], &info) != GANG_OK)
            return -1;
        int here = (int)(GPUS - info.gpu_free / 1000);
        if (i && here != taken)
            return -1;
        taken = here;
    }
    return taken;
}

/* Everything a child may want to do, with a worker of its own, and a good end. `lost`: so many
 * gangs may belong to threads that no longer exist. */
static _Noreturn void live_as_child(struct world *w, int lost, bool audit)
{
    alarm(CHILD_SECONDS);
    gang_worker *worker;
    CHILD(gang_worker_new(w->c, &worker) == GANG_OK);
    CHILD(gpus_taken(w) >= 0);
    for (gang_alloc_id id = GANG_ID_NONE; (id = gang_alloc_next(w->c, id)) != GANG_ID_NONE;) {
        gang_result r = gang_alloc_free(worker, id);
        CHILD(r == GANG_OK || r == GANG_EBUSY); /* busy: it was being read */
    }
    CHILD(gpus_taken(w) >= 0 && gpus_taken(w) <= lost);
    for (int i = 0; i < 50; i++) {
        gang_alloc_id id;
        gang_node_id node;
        struct gang_alloc_info info = {.size = sizeof(info)};
        CHILD(gang_alloc(worker, w->gang, &id, NULL) == GANG_OK);
        CHILD(gang_alloc_get(w->c, id, &info) == GANG_OK && info.tasks == NODES);
        CHILD(gang_alloc_free(worker, id) == GANG_OK);
        CHILD(add_node(worker, "of the child", 0, &node) == GANG_OK);
        CHILD(gang_node_set_state(worker, w->node[0], GANG_NODE_DRAINING) == GANG_OK);
        CHILD(gang_node_set_state(worker, w->node[0], GANG_NODE_UP) == GANG_OK);
        CHILD(gang_node_remove(worker, node) == GANG_OK);
        if (i % 10 == 0)
            CHILD(gang_cluster_recycle(w->c) == GANG_OK);
    }
    CHILD(gpus_taken(w) <= lost);
    CHILD(!audit || gang_cluster_check(w->c, NULL) == GANG_OK);
    gang_request_free(w->gang);
    gang_cluster_free(w->c);
    _exit(0);
}

/* ---- one thread -- */

START_TEST(parent_and_child_continue_with_copies_of_their_own)
{
    struct world w;
    gang_alloc_id before, after;
    world_init(&w, NULL);
    MUST(gang_alloc(w.w, w.gang, &before, NULL));
    pid_t child = fork();
    if (child == 0)
        live_as_child(&w, 0, true);
    MUST(gang_alloc(w.w, w.gang, &after, NULL));
    expect_good_end(child);
    /* The gang that the child freed is still held here. */
    SURE(gpus_taken(&w) == 2);
    MUST(gang_alloc_free(w.w, before));
    MUST(gang_alloc_free(w.w, after));
    SURE(gpus_taken(&w) == 0);
    world_end(&w);
}
END_TEST

START_TEST(child_continues_with_the_worker_of_its_thread_and_forks_again)
{
    struct world w;
    gang_alloc_id id;
    world_init(&w, NULL);
    pid_t child = fork();
    if (child == 0) {
        int status = -1;
        alarm(CHILD_SECONDS);
        CHILD(gang_alloc(w.w, w.gang, &id, NULL) == GANG_OK);
        pid_t grandchild = fork();
        if (grandchild == 0)
            live_as_child(&w, 0, true);
        CHILD(waitpid(grandchild, &status, 0) == grandchild && status == 0);
        live_as_child(&w, 0, true);
    }
    expect_good_end(child);
    SURE(gpus_taken(&w) == 0);
    world_end(&w);
}
END_TEST

static int32_t fork_here(const struct gang_task *task, void *user)
{
    pid_t *child = user;
    if (task->task == 1)
        *child = fork();
    return 0;
}

START_TEST(a_visitor_may_fork)
{
    struct world w;
    gang_alloc_id id;
    pid_t child = -1;
    world_init(&w, NULL);
    MUST(gang_alloc(w.w, w.gang, &id, NULL));
    MUST(gang_alloc_each(w.c, id, fork_here, &child));
    if (child == 0)
        live_as_child(&w, 0, true);
    expect_good_end(child);
    world_end(&w);
}
END_TEST

/* ---- others stopped in mid-commit -- */

static _Thread_local int is_victim;
static struct {
    enum gang__step step;
    _Atomic(int) armed;
    sem_t stopped, wake;
} stop;

static void stop_victim(enum gang__step step)
{
    if (!is_victim || step != stop.step || atomic_exchange(&stop.armed, 0) == 0)
        return;
    sem_post(&stop.stopped);
    while (sem_wait(&stop.wake) != 0)
        continue;
}

enum act { ALLOC, FREE, DRAIN, ACT_COUNT };

struct victim {
    struct world *w;
    gang_worker *worker;
    enum act act;
    gang_alloc_id held;
};

static void *be_victim(void *user)
{
    struct victim *v = user;
    gang_alloc_id id;
    is_victim = 1;
    if (v->act == ALLOC)
        MUST(gang_alloc(v->worker, v->w->gang, &id, NULL));
    else if (v->act == FREE)
        MUST(gang_alloc_free(v->worker, v->held));
    else
        MUST(gang_node_set_state(v->worker, v->w->node[1], GANG_NODE_UP));
    is_victim = 0;
    sem_post(&stop.stopped); /* it may never have come to the step */
    return NULL;
}

static void fork_beside_a_victim(enum act act, enum gang__step step)
{
    struct world w;
    struct victim v = {.w = &w, .act = act};
    pthread_t thread;
    world_init(&w, NULL);
    MUST(gang_worker_new(w.c, &v.worker));
    MUST(gang_alloc(v.worker, w.gang, &v.held, NULL));
    stop.step = step;
    atomic_store(&stop.armed, 1);
    sem_init(&stop.stopped, 0, 0);
    sem_init(&stop.wake, 0, 0);
    atomic_store(&gang__hook_now, stop_victim);
    SURE(pthread_create(&thread, NULL, be_victim, &v) == 0);
    sem_wait(&stop.stopped);
    pid_t child = fork();
    if (child == 0)
        live_as_child(&w, 1, false);
    sem_post(&stop.wake);
    pthread_join(thread, NULL);
    atomic_store(&gang__hook_now, NULL);
    expect_good_end(child);
    SURE(gpus_taken(&w) == (act == ALLOC ? 2 : act == FREE ? 0 : 1));
    world_end(&w);
}

START_TEST(child_completes_commits_of_threads_that_are_gone)
{
    for (int step = 0; step < GANG__STEP_COUNT; step++)
        fork_beside_a_victim((enum act)_i, (enum gang__step)step);
}
END_TEST

/* ---- others behind the mutex -- */

/* An allocator that stops its caller, or forks, when the test asks for it. */
static struct {
    _Atomic(int) stop, fork;
    _Atomic(int) stop_release; /* the block is kept, its first bytes overwritten */
    unsigned char *released;
    sem_t stopped, wake;
    pid_t child;
} mem_act;

static void *acting_alloc(size_t bytes, void *user)
{
    (void)user;
    if (atomic_exchange(&mem_act.stop, 0)) {
        sem_post(&mem_act.stopped);
        while (sem_wait(&mem_act.wake) != 0)
            continue;
    }
    if (atomic_exchange(&mem_act.fork, 0)) {
        mem_act.child = fork();
        if (mem_act.child == 0) {
            alarm(CHILD_SECONDS);
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
    }
    return malloc(bytes);
}

enum { KEPT_BYTES = 8 };
static const unsigned char kept_bytes[KEPT_BYTES] = {9, 8, 7, 6, 5, 4, 3, 2};

static void acting_release(void *memory, void *user)
{
    (void)user;
    if (atomic_exchange(&mem_act.stop_release, 0)) {
        mem_act.released = memcpy(memory, kept_bytes, KEPT_BYTES);
        sem_post(&mem_act.stopped);
        while (sem_wait(&mem_act.wake) != 0)
            continue;
    }
    free(memory);
}

static struct gang_cluster_opts acting_opts(struct gang_mem *mem)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    *mem = (struct gang_mem)GANG_MEM_INIT;
    mem->alloc = acting_alloc;
    mem->release = acting_release;
    opts.mem = mem;
    sem_init(&mem_act.stopped, 0, 0);
    sem_init(&mem_act.wake, 0, 0);
    return opts;
}

static void *add_one(void *user)
{
    struct world *w = user;
    gang_worker *worker;
    MUST(gang_worker_new(w->c, &worker));
    atomic_store(&mem_act.stop, 1);
    MUST(add_node(worker, "slow", 0, NULL));
    gang_worker_free(worker);
    return NULL;
}

static void *wake_soon(void *user)
{
    usleep(50000);
    sem_post(user);
    return NULL;
}

START_TEST(fork_waits_for_a_node_that_is_being_added)
{
    struct world w;
    struct gang_mem mem;
    struct gang_cluster_opts opts = acting_opts(&mem);
    pthread_t adder, waker;
    gang_node_id id;
    world_init(&w, &opts);
    SURE(pthread_create(&adder, NULL, add_one, &w) == 0);
    sem_wait(&mem_act.stopped); /* it holds the mutex */
    SURE(pthread_create(&waker, NULL, wake_soon, &mem_act.wake) == 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        CHILD(gang_node_find(w.c, "slow", &id) == GANG_OK);
        live_as_child(&w, 0, true);
    }
    pthread_join(adder, NULL);
    pthread_join(waker, NULL);
    expect_good_end(child);
    world_end(&w);
}
END_TEST

/* Neither in the middle of adding a node, nor in a read section while another thread waits for its
 * end, may fork() wait for itself. */
START_TEST(fork_in_an_allocator_does_not_hang)
{
    struct world w;
    struct gang_mem mem;
    struct gang_cluster_opts opts = acting_opts(&mem);
    gang_alloc_id id;
    gang_worker *fresh;
    world_init(&w, &opts);
    alarm(CHILD_SECONDS);
    atomic_store(&mem_act.fork, 1);
    MUST(add_node(w.w, "forks", 0, NULL));
    SURE(atomic_load(&mem_act.fork) == 0);
    expect_good_end(mem_act.child);
    MUST(gang_worker_new(w.c, &fresh)); /* will want scratch memory */
    atomic_store(&mem_act.fork, 1);
    MUST(gang_alloc(fresh, w.gang, &id, NULL));
    SURE(atomic_load(&mem_act.fork) == 0);
    expect_good_end(mem_act.child);
    alarm(0);
    pid_t child = fork();
    if (child == 0)
        live_as_child(&w, 0, true);
    expect_good_end(child);
    world_end(&w);
}
END_TEST

static void *ask_for_another(void *user)
{
    struct world *w = user;
    struct gang_group_spec g = group_of(1, 1, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_worker *worker;
    gang_request *once;
    gang_alloc_id id;
    MUST(gang_worker_new(w->c, &worker));
    MUST(gang_request_new(w->c, &spec, &once, NULL));
    MUST(gang_alloc(worker, w->gang, &id, NULL)); /* all its arrays are large enough */
    MUST(gang_alloc_free(worker, id));
    MUST(gang_alloc(worker, once, &id, NULL));
    MUST(gang_alloc_free(worker, id));
    gang_request_free(once); /* the worker has the last reference */
    atomic_store(&mem_act.stop_release, 1);
    MUST(gang_alloc(worker, w->gang, &id, NULL));
    MUST(gang_alloc_free(worker, id));
    gang_worker_free(worker);
    return NULL;
}

/* A gang that a thread was freeing is not freed again when the child frees the cluster. */
START_TEST(child_does_not_reclaim_what_the_parent_retired)
{
    struct world w;
    struct gang_mem mem;
    struct gang_cluster_opts opts = acting_opts(&mem);
    pthread_t asker;
    world_init(&w, &opts);
    SURE(pthread_create(&asker, NULL, ask_for_another, &w) == 0);
    sem_wait(&mem_act.stopped);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        gang_request_free(w.gang);
        gang_cluster_free(w.c);
        CHILD(memcmp(mem_act.released, kept_bytes, KEPT_BYTES) == 0);
        _exit(0);
    }
    sem_post(&mem_act.wake);
    pthread_join(asker, NULL);
    expect_good_end(child);
    world_end(&w);
}
END_TEST

/* ---- others waiting for a grace period -- */

static _Atomic(int) reclaiming;

static void *reclaim(void *user)
{
    struct world *w = user;
    atomic_store(&reclaiming, 1);
    MUST(gang_cluster_recycle(w->c));
    return NULL;
}

/* The thread that waits finds the gate shut after its grace period: the child inherits what it was
 * about to free, and needs it, for the table of nodes is full. */
START_TEST(child_inherits_blocks_that_wait_for_a_grace_period)
{
    struct world w;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    struct victim v = {.w = &w, .act = ALLOC};
    pthread_t thread, waker, reclaimer;
    gang_node_id id;
    opts.max_nodes = NODES + 1;
    opts.manual_recycle = 1;
    world_init(&w, &opts);
    MUST(gang_worker_new(w.c, &v.worker));
    stop.step = GANG__STEP_DECIDE;
    atomic_store(&stop.armed, 1);
    sem_init(&stop.stopped, 0, 0);
    sem_init(&stop.wake, 0, 0);
    atomic_store(&gang__hook_now, stop_victim);
    SURE(pthread_create(&thread, NULL, be_victim, &v) == 0);
    sem_wait(&stop.stopped); /* in a read section */
    MUST(add_node(w.w, "once", 0, &id));
    MUST(gang_node_remove(w.w, id));
    SURE(pthread_create(&reclaimer, NULL, reclaim, &w) == 0);
    while (!atomic_load(&reclaiming))
        usleep(1000);
    usleep(20000);
    SURE(pthread_create(&waker, NULL, wake_soon, &stop.wake) == 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        gang_worker *worker;
        CHILD(gang_worker_new(w.c, &worker) == GANG_OK);
        CHILD(gang_cluster_recycle(w.c) == GANG_OK);
        CHILD(add_node(worker, "again", 0, &id) == GANG_OK);
        gang_request_free(w.gang);
        gang_cluster_free(w.c);
        _exit(0);
    }
    pthread_join(thread, NULL);
    pthread_join(waker, NULL);
    pthread_join(reclaimer, NULL);
    atomic_store(&gang__hook_now, NULL);
    expect_good_end(child);
    MUST(add_node(w.w, "again", 0, &id));
    world_end(&w);
}
END_TEST

/* ---- any moment -- */

static _Atomic(int) enough;

static void *do_everything(void *user)
{
    struct world *w = user;
    gang_worker *worker;
    gang_alloc_id id;
    gang_node_id node;
    char name[32];
    MUST(gang_worker_new(w->c, &worker));
    snprintf(name, sizeof(name), "of %p", (void *)worker);
    while (!atomic_load(&enough)) {
        gang_result r = gang_alloc(worker, w->gang, &id, NULL);
        if (r == GANG_OK)
            MUST(gang_alloc_free(worker, id));
        MUST(add_node(worker, name, 0, &node));
        MUST(gang_node_remove(worker, node));
        MUST(gang_cluster_recycle(w->c));
    }
    gang_worker_free(worker);
    return NULL;
}

static int rounds(int many, int few)
{
    return getenv("GANG_TEST_QUICK") ? few : many;
}

START_TEST(fork_at_any_moment)
{
    enum { THREADS = 3 };
    struct world w;
    pthread_t thread[THREADS];
#ifdef __SANITIZE_ADDRESS__
    /* The allocator of the sanitizer does not prepare for fork() while other threads are inside
     * it: sometimes the child waits for a lock without a living holder. */
    printf("skipped: AddressSanitizer's allocator cannot be forked at any moment\n");
    return;
#endif
    world_init(&w, NULL);
    atomic_store(&enough, 0);
    for (int i = 0; i < THREADS; i++)
        SURE(pthread_create(&thread[i], NULL, do_everything, &w) == 0);
    for (int i = rounds(150, 30); i > 0; i--) {
        pid_t child = fork();
        if (child == 0)
            live_as_child(&w, THREADS, false);
        expect_good_end(child);
    }
    atomic_store(&enough, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    world_end(&w);
}
END_TEST

static void *fork_and_exec(void *user)
{
    struct world *w = user;
    gang_worker *worker;
    gang_alloc_id id;
    MUST(gang_worker_new(w->c, &worker));
    for (int i = rounds(25, 5); i > 0; i--) {
        pid_t child = fork();
        if (child == 0) {
            alarm(CHILD_SECONDS);
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        MUST(gang_alloc(worker, w->gang, &id, NULL));
        MUST(gang_alloc_free(worker, id));
        MUST(gang_cluster_recycle(w->c));
        expect_good_end(child);
    }
    gang_worker_free(worker);
    return NULL;
}

START_TEST(many_threads_fork_and_exec)
{
    enum { THREADS = 4 };
    struct world w;
    pthread_t thread[THREADS], busy;
    sigset_t before, after;
    world_init(&w, NULL);
    atomic_store(&enough, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    SURE(pthread_create(&busy, NULL, do_everything, &w) == 0);
    for (int i = 0; i < THREADS; i++)
        SURE(pthread_create(&thread[i], NULL, fork_and_exec, &w) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    atomic_store(&enough, 1);
    pthread_join(busy, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int s = 1; s < SIGRTMIN; s++)
        SURE(sigismember(&before, s) == sigismember(&after, s));
    world_end(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fork");
    TCase *one = tcase_create("one thread");
    tcase_add_test(one, parent_and_child_continue_with_copies_of_their_own);
    tcase_add_test(one, child_continues_with_the_worker_of_its_thread_and_forks_again);
    tcase_add_test(one, a_visitor_may_fork);
    suite_add_tcase(suite, one);
    TCase *many = tcase_create("many threads");
    tcase_add_loop_test(many, child_completes_commits_of_threads_that_are_gone, 0, ACT_COUNT);
    tcase_add_test(many, fork_waits_for_a_node_that_is_being_added);
    tcase_add_test(many, fork_in_an_allocator_does_not_hang);
    tcase_add_test(many, child_does_not_reclaim_what_the_parent_retired);
    tcase_add_test(many, child_inherits_blocks_that_wait_for_a_grace_period);
    tcase_add_test(many, fork_at_any_moment);
    tcase_add_test(many, many_threads_fork_and_exec);
    suite_add_tcase(suite, many);
    return run_suite(suite);
}
