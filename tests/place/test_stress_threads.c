/* SPDX-License-Identifier: Apache-2.0 */
/* Threads call everything on one cluster (stress.h): as many as there are processors, and many
 * more. Now and then all stop and the cluster is audited; in the end all is free again. */
#include <pthread.h>
#include <sched.h>

#include "base/atomic.h"
#include "stress.h"

enum { MOST_THREADS = 8, ROUNDS = 12 };

static pthread_barrier_t barrier;
static int64_t acts; /* of each thread in each round */

struct thread {
    pthread_t thread;
    struct stress_actor actor;
    bool is_first;
};

static void yield_now_and_then(enum gang__step step)
{
    if (chance_of_thread() % 128 == (uint64_t)step)
        sched_yield();
}

static void *act(void *user)
{
    struct thread *t = user;
    for (int round = 0; round < ROUNDS; round++) {
        for (int64_t i = 0; i < acts; i++)
            stress_act(&t->actor);
        pthread_barrier_wait(&barrier);
        if (t->is_first)
            stress_check(t->actor.s);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* The counters of a worker are what its thread saw. */
static void check_stats(const struct stress_actor *a)
{
    struct gang_worker_stats stats = {.size = sizeof(stats)};
    test_must(gang_worker_get_stats(a->w, &stats));
    ck_assert_int_le(stats.commits, a->done);
    ck_assert_int_ge(stats.commits, a->done - a->resized);
    ck_assert_int_eq(stats.refusals, a->refused);
}

static void run_with(int threads, bool manual_recycle)
{
    static struct stress s;
    struct thread thread[MOST_THREADS];
    uint64_t seed = test_seed();
    int64_t done = 0, refused = 0;
    acts = (getenv("GANG_TEST_QUICK") ? 800 : 10000) / threads;
    stress_open(&s, seed, manual_recycle);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    atomic_store(&gang__hook_now, yield_now_and_then);
    for (int i = 0; i < threads; i++) {
        struct thread *t = &thread[i];
        *t = (struct thread){.is_first = i == 0};
        t->actor =
            (struct stress_actor){.s = &s, .seed = seed * 31 + (uint64_t)i * 2 + 1, .nodes = i < 3};
        test_must(gang_worker_new(s.c, &t->actor.w));
    }
    for (int i = 0; i < threads; i++)
        ck_assert_int_eq(pthread_create(&thread[i].thread, NULL, act, &thread[i]), 0);
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i].thread, NULL);
        check_stats(&thread[i].actor);
        done += thread[i].actor.done;
        refused += thread[i].actor.refused;
        gang_worker_free(thread[i].actor.w);
    }
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    printf("%lld calls took effect, %lld requests were refused\n", (long long)done,
           (long long)refused);
    ck_assert_int_gt(done, acts * threads);
    ck_assert_int_gt(refused, acts / 10);
    stress_free_all(&s);
    stress_check(&s);
    stress_check_free(&s);
    test_must(gang_cluster_recycle(s.c));
    stress_check(&s);
    pthread_barrier_destroy(&barrier);
    stress_close(&s);
}

START_TEST(one_thread_keeps_the_books)
{
    run_with(1, false);
}
END_TEST

START_TEST(two_threads_keep_the_books)
{
    run_with(2, false);
}
END_TEST

START_TEST(three_threads_keep_the_books_and_reclaim_later)
{
    run_with(3, true);
}
END_TEST

START_TEST(eight_threads_keep_the_books)
{
    run_with(8, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stress_threads");
    TCase *t = tcase_create("stress");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, one_thread_keeps_the_books);
    tcase_add_test(t, two_threads_keep_the_books);
    tcase_add_test(t, three_threads_keep_the_books_and_reclaim_later);
    tcase_add_test(t, eight_threads_keep_the_books);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
