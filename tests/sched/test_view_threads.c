/* SPDX-License-Identifier: Apache-2.0 */
/* Threads hold, read and give up views while the owner runs a random host and publishes. What a
 * view says is of one instant, and stays as it is, also when the scheduler is gone.
 *   GANG_SEED           where the chances begin
 *   GANG_TEST_SECONDS   how long, 2 by default */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/atomic.h"
#include "sched/holding_host.h"
#include "sched/view_sums.h"

enum { READERS = 3, HELD = 4, STEPS = 150 };

struct reader {
    pthread_t thread;
    uint64_t seed;
    gang_view *held[HELD];
    uint64_t hash[HELD];
    int64_t reads, last_ns;
};

static gang_sched *sched;
static atomic_bool over;
static atomic_int begun;

/* A reader is slow where the owner must not free its view. */
static void be_slow(enum gang__step step)
{
    if (step == GANG__STEP_VIEW && chance_of_thread() % 8 == 0)
        sched_yield();
}

static void drop(struct reader *r, size_t i)
{
    if (r->held[i])
        test_assert(view_check(r->held[i]) == r->hash[i]);
    gang_view_unref(r->held[i]);
    r->held[i] = NULL;
}

static void *read_views(void *user)
{
    struct reader *r = user;
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&over)) {
        size_t i = (size_t)(chance_of(&r->seed) % HELD);
        gang_view *view = gang_sched_latest_view(sched);
        if (!view)
            continue;
        test_assert(gang_view_now_ns(view) >= r->last_ns); /* later ones do not become earlier */
        r->last_ns = gang_view_now_ns(view);
        r->reads++;
        if (chance_of(&r->seed) % 4) { /* many short holds: the race with the owner */
            gang_view_unref(gang_view_ref(view));
            gang_view_unref(view);
            continue;
        }
        drop(r, i);
        r->held[i] = view;
        r->hash[i] = view_check(view);
    }
    return NULL;
}

static void step(void)
{
    if (one_in(2))
        holding_submit();
    if (one_in(4))
        holding_one_ends();
    holding_some_stop(2);
    holding_run(below(4) * HOST_SECOND);
    for (int64_t n = below(3); n > 0; n--)
        MUST(gang_sched_publish_view(sched, NULL));
}

static int64_t live(uint64_t seed)
{
    struct reader reader[READERS];
    int64_t reads = 0;
    chance_state = seed;
    holding_open();
    sched = holding.h.s;
    atomic_store(&over, false);
    atomic_store(&begun, 0);
    memset(reader, 0, sizeof(reader));
    for (int i = 0; i < READERS; i++) {
        reader[i].seed = seed + (uint64_t)i;
        reader[i].last_ns = INT64_MIN;
        ck_assert_int_eq(pthread_create(&reader[i].thread, NULL, read_views, &reader[i]), 0);
    }
    while (atomic_load(&begun) < READERS)
        step();
    for (int i = 0; i < STEPS; i++)
        step();
    atomic_store(&over, true);
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_join(reader[i].thread, NULL), 0);
    gang_sched_free(sched);
    for (int i = 0; i < READERS; i++) {
        for (size_t k = 0; k < HELD; k++)
            drop(&reader[i], k);
        reads += reader[i].reads;
    }
    stage_close(&holding.h.stage); /* no view is left */
    return reads;
}

START_TEST(views_are_of_one_instant)
{
    const char *given = getenv("GANG_TEST_SECONDS");
    double seconds = given ? atof(given) : getenv("GANG_TEST_QUICK") ? 1 : 2;
    uint64_t seed = test_seed();
    int64_t worlds = 0, reads = 0;
    struct timespec from, now;
    timespec_get(&from, TIME_UTC);
    atomic_store(&gang__hook_now, be_slow);
    do {
        reads += live(seed + (uint64_t)worlds++);
        timespec_get(&now, TIME_UTC);
    } while ((double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9 <
             seconds);
    ck_assert_int_gt(reads, 0);
    printf("%lld worlds, %lld views read\n", (long long)worlds, (long long)reads);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("view threads");
    TCase *tests = tcase_create("threads");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, views_are_of_one_instant);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
