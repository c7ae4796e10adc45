/* SPDX-License-Identifier: Apache-2.0 */
/* A host that uses liburcu itself, in all flavours at once, the library's own among them:
 * readers of each, callbacks, grace periods, and our calls inside its read sections. Not for
 * ThreadSanitizer, which does not see what liburcu orders. */
#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

#include "embed/sure.h"
#include "suite.h"

/* ---- a cluster -- */

struct world {
    gang_cluster *c;
    gang_request *one;
};

static gang_node_id add_named(gang_worker *w, const char *name)
{
    struct box_arrays arrays;
    struct box box = {.name = name, .cpu = 64000, .memory = 64 * GIB, .gpus = 8};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    gang_node_id id;
    MUST(gang_node_add(w, &spec, &id, NULL));
    return id;
}

static void world_init(struct world *w)
{
    struct gang_group_spec g = group_of(1, 1000, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_worker *worker;
    MUST(gang_cluster_new(NULL, &w->c, NULL));
    MUST(gang_worker_new(w->c, &worker));
    add_named(worker, "first");
    gang_worker_free(worker);
    MUST(gang_request_new(w->c, &spec, &w->one, NULL));
}

static void world_end(struct world *w)
{
    MUST(gang_cluster_check(w->c, NULL));
    gang_request_free(w->one);
    gang_cluster_free(w->c);
}

/* ---- each flavour -- */

/* Data that the host protects: poisoned before it is freed. */
struct guarded {
    struct rcu_head head;
    _Atomic(int) good;
};

static _Atomic(long) freed;

static void poison_and_free(struct rcu_head *head)
{
    struct guarded *old = (struct guarded *)(void *)head;
    atomic_store(&old->good, 0);
    free(old);
    atomic_fetch_add(&freed, 1);
}

/* Declared here: a program can include the headers of one flavour only. */
extern const struct rcu_flavor_struct urcu_memb_flavor, urcu_mb_flavor, urcu_qsbr_flavor,
    urcu_bp_flavor;

struct flavour {
    const char *name;
    const struct rcu_flavor_struct *rcu;
    _Atomic(struct guarded *) guarded;
};

static struct flavour flavours[] = {{"memb", &urcu_memb_flavor, NULL},
                                    {"mb", &urcu_mb_flavor, NULL},
                                    {"qsbr", &urcu_qsbr_flavor, NULL},
                                    {"bp", &urcu_bp_flavor, NULL}};
enum { FLAVOURS = 4, BP = 3 };

static struct guarded *fresh_guarded(void)
{
    struct guarded *g = calloc(1, sizeof(*g));
    SURE(g);
    atomic_store(&g->good, 1);
    return g;
}

/* ---- all together -- */

static struct world world;
static _Atomic(int) readers_left;
static _Atomic(int) ready;

/* Reads by one flavour, and calls us in and out of its read section. */
static void *read_and_allocate(void *user)
{
    struct flavour *f = user;
    gang_worker *w;
    gang_alloc_id id;
    int rounds = getenv("GANG_TEST_QUICK") ? 300 : 3000;
    f->rcu->register_thread();
    MUST(gang_worker_new(world.c, &w));
    /* Not before the writers had a turn: a machine with few cores may start them late. */
    for (int i = 0; i < rounds || atomic_load(&freed) < FLAVOURS; i++) {
        f->rcu->read_lock();
        struct guarded *g = atomic_load(&f->guarded);
        SURE(atomic_load(&g->good) == 1);
        MUST(gang_alloc(w, world.one, &id, NULL));
        MUST(gang_alloc_free(w, id));
        SURE(atomic_load(&g->good) == 1);
        f->rcu->read_unlock();
        f->rcu->read_quiescent_state();
    }
    gang_worker_free(w);
    f->rcu->unregister_thread();
    atomic_fetch_sub(&readers_left, 1);
    return NULL;
}

/* Replaces what they read: by callback, by waiting, and nodes of ours beside. */
static void *replace(void *user)
{
    struct flavour *f = user;
    gang_worker *w;
    MUST(gang_worker_new(world.c, &w));
    for (int i = 0; atomic_load(&readers_left) > 0; i++) {
        struct guarded *old = atomic_exchange(&f->guarded, fresh_guarded());
        if (i % 2) {
            f->rcu->update_call_rcu(&old->head, poison_and_free);
        } else {
            f->rcu->update_synchronize_rcu();
            poison_and_free(&old->head);
        }
        MUST(gang_node_remove(w, add_named(w, f->name)));
        MUST(gang_cluster_recycle(world.c));
        usleep(200);
    }
    gang_worker_free(w);
    return NULL;
}

START_TEST(all_flavours_of_the_host_at_once)
{
    pthread_t reader[FLAVOURS], writer[FLAVOURS];
    world_init(&world);
    atomic_store(&freed, 0);
    atomic_store(&readers_left, FLAVOURS);
    for (int i = 0; i < FLAVOURS; i++)
        atomic_store(&flavours[i].guarded, fresh_guarded());
    for (int i = 0; i < FLAVOURS; i++) {
        SURE(pthread_create(&reader[i], NULL, read_and_allocate, &flavours[i]) == 0);
        SURE(pthread_create(&writer[i], NULL, replace, &flavours[i]) == 0);
    }
    for (int i = 0; i < FLAVOURS; i++) {
        pthread_join(reader[i], NULL);
        pthread_join(writer[i], NULL);
    }
    for (int i = 0; i < FLAVOURS; i++) {
        flavours[i].rcu->barrier();
        free(atomic_load(&flavours[i].guarded));
    }
    SURE(atomic_load(&freed) >= FLAVOURS);
    world_end(&world);
}
END_TEST

/* Our grace periods wait for a read section of ours only: inside one of the host's, of another
 * flavour, nodes may be removed and reclaimed. */
START_TEST(reclaim_inside_a_read_section_of_another_flavour)
{
    gang_worker *w;
    world_init(&world);
    MUST(gang_worker_new(world.c, &w));
    for (int i = 0; i < BP; i++) {
        struct flavour *f = &flavours[i];
        f->rcu->register_thread();
        f->rcu->read_lock();
        MUST(gang_node_remove(w, add_named(w, "inside")));
        MUST(gang_cluster_recycle(world.c));
        f->rcu->read_unlock();
        f->rcu->unregister_thread();
    }
    world_end(&world);
}
END_TEST

/* ---- fork -- */

static void child_lives(void)
{
    gang_worker *w;
    gang_alloc_id id;
    alarm(60);
    if (gang_worker_new(world.c, &w) != GANG_OK || gang_alloc(w, world.one, &id, NULL) != GANG_OK ||
        gang_alloc_free(w, id) != GANG_OK || gang_cluster_recycle(world.c) != GANG_OK)
        _exit(1);
    urcu_bp_synchronize_rcu();
    _exit(0);
}

static void expect_good_end(pid_t child)
{
    int status = -1;
    SURE(waitpid(child, &status, 0) == child);
    SURE(status == 0);
}

/* A thread in a read section of bp for good, which the child is not to wait for. */
static void *read_for_good(void *user)
{
    urcu_bp_read_lock();
    atomic_store(&ready, 1);
    while (atomic_load((_Atomic(int) *)user))
        usleep(1000);
    urcu_bp_read_unlock();
    return NULL;
}

/* As core.h has it for a host that must call liburcu itself. Otherwise the library does. */
START_TEST(fork_of_a_host_that_uses_bp)
{
    pthread_t reader;
    _Atomic(int) go_on = 1;
    world_init(&world);
    atomic_store(&ready, 0);
    SURE(pthread_create(&reader, NULL, read_for_good, &go_on) == 0);
    while (!atomic_load(&ready))
        usleep(1000);
    if (_i) {
        urcu_bp_register_thread(); /* or else it would happen, and hang, behind their mutexes */
        urcu_bp_before_fork();
        urcu_bp_read_lock();
    }
    pid_t child = fork();
    if (_i) {
        urcu_bp_read_unlock();
        if (child == 0)
            urcu_bp_after_fork_child();
        else
            urcu_bp_after_fork_parent();
    }
    if (child == 0)
        child_lives();
    expect_good_end(child);
    atomic_store(&go_on, 0);
    pthread_join(reader, NULL);
    MUST(gang_cluster_recycle(world.c));
    world_end(&world);
}
END_TEST

/* Its workers of call_rcu stand still around the fork, as liburcu wants it. */
START_TEST(fork_of_a_host_with_callbacks_of_bp)
{
    world_init(&world);
    atomic_store(&freed, 0);
    for (int i = 0; i < 20; i++) {
        urcu_bp_call_rcu(&fresh_guarded()->head, poison_and_free);
        urcu_bp_call_rcu_before_fork();
        pid_t child = fork();
        if (child == 0) {
            urcu_bp_call_rcu_after_fork_child();
            child_lives();
        }
        urcu_bp_call_rcu_after_fork_parent();
        expect_good_end(child);
    }
    urcu_bp_barrier();
    SURE(atomic_load(&freed) == 20);
    world_end(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host with liburcu");
    TCase *host = tcase_create("host");
    tcase_add_test(host, all_flavours_of_the_host_at_once);
    tcase_add_test(host, reclaim_inside_a_read_section_of_another_flavour);
    tcase_add_loop_test(host, fork_of_a_host_that_uses_bp, 0, 2);
    tcase_add_test(host, fork_of_a_host_with_callbacks_of_bp);
    suite_add_tcase(suite, host);
    return run_suite(suite);
}
