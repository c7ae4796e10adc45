/* SPDX-License-Identifier: Apache-2.0 */
/* The index never hides a node: an interleaving of three threads that once did, forced step by
 * step. The index's source is compiled into this program with a stop before each load and each
 * compare-and-swap. */
#include <semaphore.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"

struct stepper {
    int at, first_stop, second_stop;
    _Atomic(int) over;
    sem_t stopped, go;
};
static _Thread_local struct stepper *me;

static int tick(void)
{
    if (me && (++me->at == me->first_stop || me->at == me->second_stop)) {
        sem_post(&me->stopped);
        sem_wait(&me->go);
    }
    return 0;
}
#undef gang__load
#define gang__load(p)           \
    (_Generic((p), gang__a64 *  \
              : tick(), default \
              : (void)0),       \
     atomic_load_explicit((p), memory_order_acquire))
#define gang__cas(p, old, value) (tick(), (gang__cas)(p, old, value))
#include "core/commit/index.c"
#undef gang__load
#undef gang__cas

#include <check.h>
#include <pthread.h>

#include "suite.h"

enum { ROW = GANG__INDEX_ROWS - 1 };
static gang_cluster *cluster;

static void set(uint32_t slot)
{
    struct gang__index_words at = gang__index_words_of(&cluster->commit, 0, slot);
    gang__index_set(&at, ROW, 1u << slot % GANG__FAN);
}

static void *set_33(void *user)
{
    me = user;
    set(33);
    atomic_store(&me->over, 1);
    sem_post(&me->stopped);
    return NULL;
}

static void *clear_33(void *user)
{
    struct gang__index_words at = gang__index_words_of(&cluster->commit, 0, 33);
    uint64_t seen = atomic_load(&at.row[ROW]);
    me = user;
    gang__index_clear(&at, ROW, seen, 1u << 1);
    atomic_store(&me->over, 1);
    sem_post(&me->stopped);
    return NULL;
}

static void *set_34(void *user)
{
    me = user;
    set(34);
    atomic_store(&me->over, 1);
    sem_post(&me->stopped);
    return NULL;
}

static void start(struct stepper *s, void *(*act)(void *), int first_stop, int second_stop)
{
    pthread_t thread;
    s->first_stop = first_stop;
    s->second_stop = second_stop;
    sem_init(&s->stopped, 0, 0);
    sem_init(&s->go, 0, 0);
    pthread_create(&thread, NULL, act, s);
    pthread_detach(thread);
    sem_wait(&s->stopped);
}

static void go_on(struct stepper *s)
{
    if (atomic_load(&s->over))
        return;
    sem_post(&s->go);
    sem_wait(&s->stopped);
}

/* S sets 33; C clears it, closes the word and is about to clear its mark; S2 sets 34 and stops for
 * ever; S must not call the word open that S2 opened, for C then clears the mark; S3 sets 35. */
START_TEST(word_is_open_only_when_its_own_mark_is_safe)
{
    static struct stepper s[200], c[200], s2[200];
    int n = _i;
    ck_assert_int_eq(gang_cluster_new(NULL, &cluster, NULL), GANG_OK);
    set(100);
    /* The stops stand at a few steps around the critical ones, all combinations. */
    start(&s[n], set_33, 4 + n % 3, 6 + n / 3 % 3);
    start(&c[n], clear_33, 5 + n / 9 % 3, 0);
    start(&s2[n], set_34, 3, 0);
    go_on(&s[n]);
    go_on(&c[n]);
    go_on(&s[n]);
    set(35);
    uint32_t more, found = gang__index_next(&cluster->commit, 0, ROW, 0, &more);
    ck_assert_msg(found >= 33 && found <= 35, "found %u", found);
    /* The threads that stopped are left where they are: the process ends with the test. */
}
END_TEST

/* Empties the word of a slot, which stays marked. */
static gang__a64 *empty(uint32_t slot)
{
    struct gang__index_words at = gang__index_words_of(&cluster->commit, 0, slot);
    at.keeps_marks = true;
    set(slot);
    ck_assert(
        gang__index_clear(&at, ROW, atomic_load(&at.row[ROW]), UINT32_C(1) << slot % GANG__FAN));
    return &at.row[ROW];
}

/* A search of a worker that keeps apart leaves most emptied words marked; others repair all. */
START_TEST(workers_apart_pass_over_emptied_words)
{
    enum { EMPTY = 30, LAST = (EMPTY + 1) * GANG__FAN, PASSED = 24 };
    gang__a64 *word[EMPTY];
    uint32_t more;
    ck_assert_int_eq(gang_cluster_new(NULL, &cluster, NULL), GANG_OK);
    set(LAST);
    for (uint32_t i = 0; i < EMPTY; i++)
        word[i] = empty((i + 1) * GANG__FAN + 1);
    for (int open = PASSED; open >= 0; open -= PASSED) {
        uint32_t found = open ? gang__index_next_apart(&cluster->commit, 0, ROW, 0, &more)
                              : gang__index_next(&cluster->commit, 0, ROW, 0, &more);
        ck_assert_uint_eq(found, LAST);
        for (int i = 0; i < EMPTY; i++)
            ck_assert_uint_eq(STATE(atomic_load(word[i])), i < open ? OPEN : CLOSED);
    }
    for (uint32_t i = EMPTY; i > 0; i--) { /* a closed word is found again */
        set(i * GANG__FAN + 3);
        ck_assert_uint_eq(gang__index_next_apart(&cluster->commit, 0, ROW, 0, &more),
                          i * GANG__FAN + 3);
    }
    gang_cluster_free(cluster);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index_threads");
    TCase *t = tcase_create("interleavings");
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, word_is_open_only_when_its_own_mark_is_safe, 0, 27);
    tcase_add_test(t, workers_apart_pass_over_emptied_words);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
