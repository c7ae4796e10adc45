/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions change their modes, and get new names, while other threads place work. One of two
 * partitions is open at any moment and a task fits in each, so that nothing is ever refused. */
#include <gangsched/gangsched.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "support.h"

enum { PLACERS = 3, PER_NODE = 2 * PLACERS };

static struct stage s;
static gang_request *anyone, *owner[2];
static const char *const name[2] = {"a", "b"};
static _Atomic(bool) over;
static _Atomic(int64_t) placed, flipped;

static void check(gang_result r, const char *what)
{
    if (r != GANG_OK)
        ck_abort_msg("%s: %s", what, gang_result_name(r));
}

/* First the closed one is opened, then the other closed, or lent. */
static void *flip(void *user)
{
    gang_worker *w = user;
    for (int i = 0; !atomic_load(&over); i++) {
        char other[20];
        int32_t mode;
        snprintf(other, sizeof(other), "other%d", i % 500);
        check(gang_partition_set(w, name[i % 2], GANG_PARTITION_SHARED), "open");
        check(gang_partition_set(w, name[1 - i % 2],
                                 i % 3 ? GANG_PARTITION_EXCLUSIVE : GANG_PARTITION_LENDING),
              "close");
        check(gang_partition_get(s.c, other, &mode), "get");
        check(gang_partition_set(w, other, GANG_PARTITION_LENDING), "other");
        atomic_fetch_add(&flipped, 1);
    }
    return NULL;
}

static gang_request *name_partition(int i)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    char other[20];
    gang_request *request = NULL;
    snprintf(other, sizeof(other), "other%d", i % 500);
    g.partition = other;
    g.where = "not age < 3";
    check(gang_request_new(s.c, &spec, &request, NULL), "request");
    return request;
}

static void *place(void *user)
{
    gang_worker *w = user;
    for (int i = 0; !atomic_load(&over); i++) {
        gang_alloc_id id[2];
        check(gang_alloc(w, anyone, &id[0], NULL), "anyone");
        check(gang_alloc(w, owner[i % 2], &id[1], NULL), "owner");
        check(gang_alloc_free(w, id[0]), "free");
        check(gang_alloc_free(w, id[1]), "free");
        gang_request *request = name_partition(i);
        if (gang_alloc_test(w, request, NULL) == GANG_OK)
            ck_abort_msg("a partition without nodes took work");
        gang_request_free(request);
        atomic_fetch_add(&placed, 2);
    }
    return NULL;
}

START_TEST(nothing_is_refused_while_modes_change)
{
    pthread_t thread[PLACERS + 1];
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    bool quick = getenv("GANG_TEST_QUICK") != NULL;
    MUST(gang_cluster_new(NULL, &s.c, NULL)); /* the stage's own counts for one thread alone */
    MUST(gang_worker_new(s.c, &s.w));
    anyone = stage_request(&s, &spec);
    for (int i = 0; i < 2; i++) {
        struct box box = {
            .name = name[i], .cpu = PER_NODE * 1000, .partitions = &name[i], .partition_count = 1};
        stage_add(&s, &box);
        g.partition = name[i];
        owner[i] = stage_request(&s, &spec);
    }
    MUST(gang_partition_set(s.w, "b", GANG_PARTITION_EXCLUSIVE));
    for (int i = 0; i <= PLACERS; i++) {
        gang_worker *w;
        MUST(gang_worker_new(s.c, &w));
        ck_assert_int_eq(pthread_create(&thread[i], NULL, i ? place : flip, w), 0);
    }
    int64_t turns = quick ? 1000 : 20000;
    while (atomic_load(&placed) < 2 * turns || atomic_load(&flipped) < turns)
        sched_yield();
    atomic_store(&over, true);
    for (int i = 0; i <= PLACERS; i++)
        pthread_join(thread[i], NULL);
    stage_check(&s);
    gang_request_free(anyone);
    gang_request_free(owner[0]);
    gang_request_free(owner[1]);
    gang_cluster_free(s.c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tiers with threads");
    TCase *tests = tcase_create("tiers");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, nothing_is_refused_while_modes_change);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
