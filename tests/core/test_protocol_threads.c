/* SPDX-License-Identifier: Apache-2.0 */
/* Interleavings of the commit that once went wrong, each forced by stopping threads at steps. */
#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "suite.h"

/* ---- stopping threads ------------------------------------------------------------------------ */

/* A thread with a stop waits at the n-th coming to a step until it is let go. */
struct stop {
    enum gang__step step;
    int n;
    sem_t there, go;
    struct stop *then; /* where it stops next, counted from here */
};

static _Thread_local struct stop *my_stop;

static void stop_here(enum gang__step step)
{
    struct stop *s = my_stop;
    if (!s || s->step != step || --s->n != 0)
        return;
    sem_post(&s->there);
    sem_wait(&s->go);
    my_stop = s->then;
}

static void stop_init(struct stop *s, enum gang__step step, int n)
{
    s->step = step;
    s->n = n;
    s->then = NULL;
    sem_init(&s->there, 0, 0);
    sem_init(&s->go, 0, 0);
}

/* ---- a small world --------------------------------------------------------------------------- */

static gang_cluster *cluster;
static gang_worker *worker[2];
static gang_node_id node[2];

static void setup(void)
{
    struct gang_gpu_spec gpu;
    memset(&gpu, 0, sizeof(gpu));
    gpu.numa = -1;
    ck_assert_int_eq(gang_cluster_new(NULL, &cluster, NULL), GANG_OK);
    for (int i = 0; i < 2; i++) {
        struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
        spec.name = i ? "b" : "a";
        spec.cpu_milli = 7000;
        spec.memory_bytes = (int64_t)1 << 36;
        spec.gpus = &gpu;
        spec.gpu_count = 1;
        ck_assert_int_eq(gang_worker_new(cluster, &worker[i]), GANG_OK);
        ck_assert_int_eq(gang_node_add(worker[i], &spec, &node[i], NULL), GANG_OK);
    }
    atomic_store(&gang__hook_now, stop_here);
}

static void teardown(void)
{
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    gang_cluster_free(cluster);
}

static gang_request *request(int64_t tasks, int64_t cpu_milli, int64_t gpu_milli)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *request;
    g.count = g.min = tasks;
    g.cpu_milli = cpu_milli;
    g.gpu_milli = gpu_milli;
    spec.groups = &g;
    spec.group_count = 1;
    ck_assert_int_eq(gang_request_new(cluster, &spec, &request, NULL), GANG_OK);
    return request;
}

/* ---- what the threads do --------------------------------------------------------------------- */

struct act {
    struct stop stop;
    gang_request *request;
    gang_alloc_id id;
    gang_node_id node; /* to look at */
    gang_result result;
    pthread_t thread;
};

static void *allocate(void *user)
{
    struct act *a = user;
    my_stop = &a->stop;
    ck_assert_int_eq(gang_alloc(worker[1], a->request, &a->id, NULL), GANG_OK);
    my_stop = NULL;
    return NULL;
}

static void *release(void *user)
{
    struct act *a = user;
    my_stop = &a->stop;
    ck_assert_int_eq(gang_alloc_free(worker[1], a->id), GANG_OK);
    my_stop = NULL;
    return NULL;
}

static void *look(void *user)
{
    struct act *a = user;
    struct gang_node_info info = {.size = sizeof(info)};
    my_stop = &a->stop;
    a->result = gang_node_get(cluster, a->node, &info);
    my_stop = NULL;
    return NULL;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* A helper claims a cell for a commit that is long over, after its owner took a larger operation
 * array: the claim must be found over, not finished for ever over empty operations. */
START_TEST(late_claim_is_cleared_when_the_owner_grew_its_array)
{
    struct act owner, helper;
    struct gang_node_info info = {.size = sizeof(info)};
    stop_init(&owner.stop, GANG__STEP_AGREE, 1);
    stop_init(&helper.stop, GANG__STEP_CLAIM, 2);
    owner.request = request(2, 1000, 1000);
    pthread_create(&owner.thread, NULL, allocate, &owner);
    sem_wait(&owner.stop.there); /* has claimed a */
    helper.node = node[0];
    pthread_create(&helper.thread, NULL, look, &helper);
    sem_wait(&helper.stop.there); /* is about to claim b for the owner */
    sem_post(&owner.stop.go);
    pthread_join(owner.thread, NULL);
    ck_assert_int_eq(gang_worker_preallocate(worker[1], 100000), GANG_OK);
    sem_post(&helper.stop.go);
    pthread_join(helper.thread, NULL);
    ck_assert_int_eq(helper.result, GANG_OK);
    ck_assert_int_eq(gang_node_get(cluster, node[1], &info), GANG_OK);
    ck_assert_int_eq(info.gpus_free, 0);
    ck_assert_int_eq(gang_alloc_free(worker[0], owner.id), GANG_OK);
    gang_request_free(owner.request);
}
END_TEST

/* A release is decided and its thread stopped before it writes. The capacity counts as free:
 * a gang is placed though the old words have capacity for its first task only. */
START_TEST(decided_release_counts_though_it_is_not_written)
{
    struct act holder;
    gang_request *two = request(4, 3500, 0);
    gang_alloc_id id;
    stop_init(&holder.stop, GANG__STEP_WRITE, 1);
    holder.request = request(1, 2000, 0);
    ck_assert_int_eq(gang_alloc(worker[1], holder.request, &holder.id, NULL), GANG_OK);
    pthread_create(&holder.thread, NULL, release, &holder);
    sem_wait(&holder.stop.there);
    ck_assert_int_eq(gang_alloc(worker[0], two, &id, NULL), GANG_OK);
    sem_post(&holder.stop.go);
    pthread_join(holder.thread, NULL);
    ck_assert_int_eq(gang_cluster_check(cluster, NULL), GANG_OK);
    ck_assert_int_eq(gang_alloc_free(worker[0], id), GANG_OK);
    gang_request_free(two);
    gang_request_free(holder.request);
}
END_TEST

/* A task that takes nothing of its node is still refused when the node has gone meanwhile. */
static int32_t expect_node(const struct gang_task *task, void *user)
{
    return task->node == *(gang_node_id *)user ? 0 : GANG_EINVAL;
}

START_TEST(task_without_resources_does_not_land_on_a_removed_node)
{
    struct act late;
    stop_init(&late.stop, GANG__STEP_BUILD, 1);
    late.request = request(1, 0, 0);
    pthread_create(&late.thread, NULL, allocate, &late);
    sem_wait(&late.stop.there);
    ck_assert_int_eq(gang_node_remove(worker[0], node[0]), GANG_OK);
    sem_post(&late.stop.go);
    pthread_join(late.thread, NULL);
    ck_assert_int_eq(gang_alloc_each(cluster, late.id, expect_node, &node[1]), GANG_OK);
    ck_assert_int_eq(gang_alloc_free(worker[0], late.id), GANG_OK);
    gang_request_free(late.request);
}
END_TEST

/* Waiting for a stopped thread's read section delays only the waiter. */
static void *reclaim(void *user)
{
    (void)user;
    ck_assert_int_eq(gang_cluster_recycle(cluster), GANG_OK);
    return NULL;
}

START_TEST(nodes_are_added_while_a_reclaim_waits)
{
    struct act frozen;
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    pthread_t waiter;
    gang_node_id found;
    stop_init(&frozen.stop, GANG__STEP_AGREE, 1);
    frozen.request = request(1, 1000, 0);
    pthread_create(&frozen.thread, NULL, allocate, &frozen);
    sem_wait(&frozen.stop.there);
    ck_assert_int_eq(gang_node_remove(worker[0], node[1]), GANG_OK);
    pthread_create(&waiter, NULL, reclaim, NULL);
    /* Whether the waiter waits already or not: all of this goes through. */
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%d", i);
        spec.name = name;
        ck_assert_int_eq(gang_node_add(worker[0], &spec, NULL, NULL), GANG_OK);
        ck_assert_int_eq(gang_node_find(cluster, name, &found), GANG_OK);
        sched_yield();
    }
    sem_post(&frozen.stop.go);
    pthread_join(frozen.thread, NULL);
    pthread_join(waiter, NULL);
    ck_assert_int_eq(gang_alloc_free(worker[0], frozen.id), GANG_OK);
    gang_request_free(frozen.request);
}
END_TEST

/* A slot is reused for a node of more words. A helper that stands before its write for a commit
 * that is long over does not write to the new node, though the words are what they were then:
 * they keep their versions. (It helps at all since another helper left a late claim, and entered
 * after the grace period had begun.) */
enum { KINDS = 7 }; /* of the site; the sixth is the first word past the cell's own line */

static sem_t reclaimed;

static void *reclaim_and_tell(void *user)
{
    reclaim(user);
    sem_post(&reclaimed);
    return NULL;
}

static gang_node_id add_counted_node(const char *name, size_t kinds)
{
    static const char *kind[KINDS] = {"k0", "k1", "k2", "k3", "k4", "k5", "k6"};
    struct gang_amount amount[KINDS];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    gang_node_id id;
    int32_t number;
    for (size_t i = 0; i < kinds; i++) {
        amount[i].kind = kind[i];
        amount[i].amount = 1;
        if (gang_kind_find(cluster, kind[i], &number) != GANG_OK)
            ck_assert_int_eq(gang_kind_add(worker[0], kind[i], NULL, GANG_SCOPE_NODE, 0, NULL),
                             GANG_OK);
    }
    spec.name = name;
    spec.amounts = amount;
    spec.amount_count = kinds;
    ck_assert_int_eq(gang_node_add(worker[0], &spec, &id, NULL), GANG_OK);
    return id;
}

static gang_request *request_two_counted(void)
{
    struct gang_amount one = {"k5", 1};
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *request;
    g.count = g.min = 2;
    g.amounts = &one;
    g.amount_count = 1;
    spec.groups = &g;
    spec.group_count = 1;
    ck_assert_int_eq(gang_request_new(cluster, &spec, &request, NULL), GANG_OK);
    return request;
}

START_TEST(late_write_does_not_reach_a_larger_node_in_the_same_slot)
{
    struct act owner, late, writer;
    struct stop late_claims;
    struct timespec soon;
    pthread_t reclaimer;
    gang_node_id c = add_counted_node("c", KINDS - 1), d = add_counted_node("d", KINDS - 1), e;
    stop_init(&owner.stop, GANG__STEP_AGREE, 1);
    stop_init(&late.stop, GANG__STEP_CLAIM, 2);
    stop_init(&late_claims, GANG__STEP_AGREE, 1);
    late.stop.then = &late_claims;
    stop_init(&writer.stop, GANG__STEP_WRITE, 2);
    sem_init(&reclaimed, 0, 0);

    owner.request = request_two_counted();
    pthread_create(&owner.thread, NULL, allocate, &owner);
    sem_wait(&owner.stop.there); /* has claimed c */
    late.node = c;
    pthread_create(&late.thread, NULL, look, &late);
    sem_wait(&late.stop.there); /* is about to claim d for the owner */
    sem_post(&owner.stop.go);
    pthread_join(owner.thread, NULL);
    /* By another worker: the owner's descriptor stays as it is. */
    ck_assert_int_eq(gang_alloc_free(worker[0], owner.id), GANG_OK);
    sem_post(&late.stop.go);
    sem_wait(&late_claims.there); /* has claimed d, for a commit that is over */

    ck_assert_int_eq(gang_node_remove(worker[0], c), GANG_OK);
    pthread_create(&reclaimer, NULL, reclaim_and_tell, NULL);
    usleep(200000); /* it waits for `late` now */
    writer.node = d;
    pthread_create(&writer.thread, NULL, look, &writer);
    sem_wait(&writer.stop.there); /* is about to write the amount of c */
    sem_post(&late_claims.go);
    pthread_join(late.thread, NULL);
    ck_assert_int_eq(late.result, GANG_ESTALE);
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 10;
    bool recycled =
        sem_timedwait(&reclaimed, &soon) == 0; /* if not, it was late: waits for `writer` */

    e = add_counted_node("e", KINDS);
    ck_assert(!recycled || (uint32_t)e == (uint32_t)c);
    sem_post(&writer.stop.go);
    pthread_join(writer.thread, NULL);
    ck_assert_int_eq(writer.result, GANG_OK);
    pthread_join(reclaimer, NULL);
    ck_assert_int_eq(gang_cluster_check(cluster, NULL), GANG_OK);
    gang_request_free(owner.request);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("protocol_threads");
    TCase *t = tcase_create("interleavings");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, late_claim_is_cleared_when_the_owner_grew_its_array);
    tcase_add_test(t, decided_release_counts_though_it_is_not_written);
    tcase_add_test(t, task_without_resources_does_not_land_on_a_removed_node);
    tcase_add_test(t, nodes_are_added_while_a_reclaim_waits);
    tcase_add_test(t, late_write_does_not_reach_a_larger_node_in_the_same_slot);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
