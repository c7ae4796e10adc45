/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that come and go: each calls the library once or twice and ends, while grace periods run;
 * workers go from hand to hand; a thread is cancelled while it waits; one calls on its way out. */
#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"
#include "embed/sure.h"
#include "suite.h"

static const struct box machine = {.name = "m", .cpu = 64000, .memory = 64 * GIB, .gpus = 8};

/* ---- a world for many threads; the allocator counts -- */

static _Atomic(long) live_blocks;

static void *counting_alloc(size_t bytes, void *user)
{
    (void)user;
    atomic_fetch_add(&live_blocks, 1);
    return malloc(bytes);
}

static void counting_release(void *memory, void *user)
{
    (void)user;
    atomic_fetch_sub(&live_blocks, 1);
    free(memory);
}

struct world {
    gang_cluster *c;
    gang_worker *w; /* goes from thread to thread */
    gang_request *one;
    gang_node_id node;
};

static gang_node_id add_named(gang_worker *w, const char *name)
{
    struct box_arrays arrays;
    struct box box = machine;
    box.name = name;
    struct gang_node_spec spec = box_spec(&box, &arrays);
    gang_node_id id;
    MUST(gang_node_add(w, &spec, &id, NULL));
    return id;
}

static void world_init(struct world *w, int32_t max_workers)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    struct gang_mem mem = GANG_MEM_INIT;
    struct gang_group_spec g = group_of(1, 1000, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    mem.alloc = counting_alloc;
    mem.release = counting_release;
    opts.mem = &mem;
    opts.max_workers = max_workers;
    MUST(gang_cluster_new(&opts, &w->c, NULL));
    MUST(gang_worker_new(w->c, &w->w));
    w->node = add_named(w->w, "first");
    MUST(gang_request_new(w->c, &spec, &w->one, NULL));
}

static void world_end(struct world *w)
{
    MUST(gang_cluster_check(w->c, NULL));
    gang_request_free(w->one);
    gang_cluster_free(w->c);
    SURE(atomic_load(&live_blocks) == 0);
}

static void run_thread(void *(*body)(void *), void *user)
{
    pthread_t thread;
    SURE(pthread_create(&thread, NULL, body, user) == 0);
    SURE(pthread_join(thread, NULL) == 0);
}

/* Kilobytes of the process that are resident. */
static long resident_kib(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    SURE(file);
    SURE(fscanf(file, "%ld %ld", &total, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ---- thousands -- */

static _Atomic(int) enough;

static void *change_nodes(void *user)
{
    struct world *w = user;
    gang_worker *worker;
    MUST(gang_worker_new(w->c, &worker));
    while (!atomic_load(&enough)) {
        gang_node_id id = add_named(worker, "second");
        MUST(gang_node_remove(worker, id));
        MUST(gang_cluster_recycle(w->c));
    }
    gang_worker_free(worker);
    return NULL;
}

static void *call_once(void *user)
{
    struct world *w = user;
    gang_worker *worker;
    gang_alloc_id id;
    MUST(gang_worker_new(w->c, &worker));
    MUST(gang_alloc(worker, w->one, &id, NULL));
    MUST(gang_alloc_free(worker, id));
    gang_worker_free(worker);
    return NULL;
}

START_TEST(thousands_of_threads_come_and_go_beside_grace_periods)
{
    struct world w;
    pthread_t changer, pair;
    int rounds = getenv("GANG_TEST_QUICK") ? 400 : 4000;
    world_init(&w, 0);
    atomic_store(&enough, 0);
    SURE(pthread_create(&changer, NULL, change_nodes, &w) == 0);
    long blocks = 0, resident = 0;
    for (int i = 0; i < rounds; i++) {
        SURE(pthread_create(&pair, NULL, call_once, &w) == 0);
        run_thread(call_once, &w);
        pthread_join(pair, NULL);
        if (i == rounds / 4) {
            blocks = atomic_load(&live_blocks);
            resident = resident_kib();
        }
    }
    /* Three workers at a time, held by any thread; a churned node or two more or less. */
    SURE(atomic_load(&live_blocks) <= blocks + 40);
    if (!getenv("GANG_TEST_QUICK")) /* under sanitizers memory is theirs */
        SURE(resident_kib() <= resident + 1024);
    atomic_store(&enough, 1);
    pthread_join(changer, NULL);
    world_end(&w);
}
END_TEST

/* ---- from hand to hand -- */

static gang_alloc_id handed_on;

static void *take_with_given(void *user)
{
    struct world *w = user;
    MUST(gang_alloc(w->w, w->one, &handed_on, NULL));
    return NULL;
}

static void *give_back_with_given(void *user)
{
    struct world *w = user;
    MUST(gang_alloc_free(w->w, handed_on));
    return NULL;
}

START_TEST(a_worker_goes_from_thread_to_thread)
{
    struct world w;
    world_init(&w, 1);
    for (int i = 0; i < 100; i++) {
        run_thread(take_with_given, &w);
        run_thread(give_back_with_given, &w);
    }
    gang_worker *none;
    SURE(gang_worker_new(w.c, &none) == GANG_ELIMIT);
    gang_worker_free(w.w);
    run_thread(call_once, &w);
    world_end(&w);
}
END_TEST

static void *want_worker(void *user)
{
    struct world *w = user;
    gang_worker *worker;
    /* Ten threads for three handles: wait for one to come back. */
    while (gang_worker_new(w->c, &worker) == GANG_ELIMIT)
        usleep(100);
    for (int i = 0; i < 20; i++) {
        gang_alloc_id id;
        MUST(gang_alloc(worker, w->one, &id, NULL));
        MUST(gang_alloc_free(worker, id));
    }
    gang_worker_free(worker);
    return NULL;
}

START_TEST(more_threads_than_workers_share_them)
{
    enum { THREADS = 10 };
    struct world w;
    pthread_t thread[THREADS];
    world_init(&w, 4);
    for (int i = 0; i < THREADS; i++)
        SURE(pthread_create(&thread[i], NULL, want_worker, &w) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    world_end(&w);
}
END_TEST

/* ---- on the way out -- */

static pthread_key_t last_words;

static void say_last_words(void *user)
{
    call_once(user);
}

static void *leave_last_words(void *user)
{
    call_once(user);
    SURE(pthread_setspecific(last_words, user) == 0);
    return NULL;
}

START_TEST(a_thread_destructor_may_call_the_library)
{
    struct world w;
    world_init(&w, 0);
    SURE(pthread_key_create(&last_words, say_last_words) == 0);
    for (int i = 0; i < 50; i++)
        run_thread(leave_last_words, &w);
    MUST(gang_cluster_recycle(w.c));
    pthread_key_delete(last_words);
    world_end(&w);
}
END_TEST

/* ---- cancelled -- */

static _Thread_local int is_victim;
static sem_t stopped, wake;

static void stop_victim(enum gang__step step)
{
    if (!is_victim || step != GANG__STEP_DECIDE)
        return;
    is_victim = 0;
    sem_post(&stopped);
    while (sem_wait(&wake) != 0)
        continue;
}

static void *stop_in_mid_commit(void *user)
{
    is_victim = 1;
    return call_once(user);
}

static void *reclaim_until_cancelled(void *user)
{
    struct world *w = user;
    sem_post(&stopped);
    MUST(gang_cluster_recycle(w->c)); /* does not end the thread half-way */
    pthread_testcancel();
    return NULL;
}

/* A thread that is cancelled while it waits for a grace period must not take liburcu's mutex, nor
 * what it was about to free, with it. */
START_TEST(a_thread_may_be_cancelled_while_it_waits_for_a_grace_period)
{
    struct world w;
    pthread_t reader, waiter;
    void *end = NULL;
    world_init(&w, 0);
    sem_init(&stopped, 0, 0);
    sem_init(&wake, 0, 0);
    MUST(gang_node_remove(w.w, add_named(w.w, "gone")));
    atomic_store(&gang__hook_now, stop_victim);
    SURE(pthread_create(&reader, NULL, stop_in_mid_commit, &w) == 0);
    sem_wait(&stopped);
    SURE(pthread_create(&waiter, NULL, reclaim_until_cancelled, &w) == 0);
    sem_wait(&stopped);
    usleep(50000); /* it is in poll() by now; if not, the test is only weaker */
    SURE(pthread_cancel(waiter) == 0);
    usleep(20000);
    sem_post(&wake);
    pthread_join(reader, NULL);
    pthread_join(waiter, &end);
    SURE(end == PTHREAD_CANCELED);
    atomic_store(&gang__hook_now, NULL);
    MUST(gang_node_remove(w.w, add_named(w.w, "gone")));
    MUST(gang_cluster_recycle(w.c));
    world_end(&w);
}
END_TEST

/* ---- two clusters -- */

static int32_t mirror_task(const struct gang_task *task, void *user)
{
    struct world *other = user;
    gang_alloc_id id;
    SURE(task->group == 0);
    MUST(gang_alloc(other->w, other->one, &id, NULL));
    gang_node_id node = add_named(other->w, "while visiting");
    MUST(gang_node_remove(other->w, node));
    MUST(gang_cluster_recycle(other->c));
    return 0;
}

START_TEST(a_visitor_of_one_cluster_works_on_another)
{
    struct world a, b;
    gang_alloc_id id;
    struct gang_group_spec g = group_of(4, 1000, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *four;
    struct gang_node_info info = {.size = sizeof(info)};
    world_init(&a, 0);
    world_init(&b, 0);
    MUST(gang_request_new(a.c, &spec, &four, NULL));
    MUST(gang_alloc(a.w, four, &id, NULL));
    MUST(gang_alloc_each(a.c, id, mirror_task, &b));
    MUST(gang_node_get(b.c, b.node, &info));
    SURE(info.gpu_free == 4000);
    MUST(gang_alloc_free(a.w, id));
    MUST(gang_node_get(a.c, a.node, &info));
    SURE(info.gpu_free == 8000);
    /* One ends, the other goes on. */
    gang_request_free(four);
    gang_request_free(a.one);
    gang_cluster_free(a.c);
    MUST(gang_alloc(b.w, b.one, &id, NULL));
    world_end(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("short-lived threads");
    TCase *threads = tcase_create("threads");
    tcase_add_test(threads, thousands_of_threads_come_and_go_beside_grace_periods);
    tcase_add_test(threads, a_worker_goes_from_thread_to_thread);
    tcase_add_test(threads, more_threads_than_workers_share_them);
    tcase_add_test(threads, a_thread_destructor_may_call_the_library);
    tcase_add_test(threads, a_thread_may_be_cancelled_while_it_waits_for_a_grace_period);
    tcase_add_test(threads, a_visitor_of_one_cluster_works_on_another);
    suite_add_tcase(suite, threads);
    return run_suite(suite);
}
