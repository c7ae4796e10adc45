/* SPDX-License-Identifier: Apache-2.0 */
/* Copies are made while others submit and report: what each has left before is in it, once. */
#include <pthread.h>
#include <stdatomic.h>

#include "host.h"

enum { THREADS = 3, JOBS = 400 };

static struct host h;
static atomic_int at_work;
/* So many jobs were about to be submitted, and have been. */
static atomic_uint_fast64_t begun, submitted;

static void *submit_many(void *user)
{
    struct gang_group_spec g = group_of(1, 0, 1000);
    struct gang_job_spec job = host_job(&g, 1);
    (void)user;
    for (int i = 0; i < JOBS; i++) {
        gang_job_id first;
        unsigned count = 1 + (unsigned)i % 3;
        g.cpu_milli = 10 * (i % 7);
        job.priority = i % 3;
        atomic_fetch_add(&begun, count);
        MUST(gang_job_submit_array(h.s, &job, count, &first, NULL));
        atomic_fetch_add(&submitted, count);
        if (i % 5 == 0)
            MUST(gang_job_set_priority(h.s, first, i));
    }
    atomic_fetch_sub(&at_work, 1);
    return NULL;
}

/* No job ends: each job submitted before the copy is in it once, and none submitted after. */
static void check_copy(int64_t now_ns)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *c;
    gang_sched *s;
    uint64_t least = atomic_load(&submitted), count = 0;
    EXPECT_RESULT(gang_sched_copy(h.s, NULL, NULL, &c, &s, &error), GANG_OK, &error);
    uint64_t most = atomic_load(&begun);
    MUST(gang_sched_run(s, now_ns, NULL, NULL));
    EXPECT_RESULT(gang_sched_check(s, &error), GANG_OK, &error);
    for (gang_job_id id = gang_job_next(s, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_job_next(s, id))
        count++;
    ck_assert_uint_ge(count, least);
    ck_assert_uint_le(count, most);
    gang_sched_free(s);
    gang_cluster_free(c);
}

START_TEST(copies_while_others_submit)
{
    pthread_t thread[THREADS];
    int copies = 0;
    struct gang_cluster_opts cluster = GANG_CLUSTER_OPTS_INIT; /* with malloc(): others allocate */
    struct box box = {.name = "n0", .cpu = 64000, .memory = 64 * GIB, .gpus = 8};
    MUST(gang_cluster_new(&cluster, &h.stage.c, NULL));
    MUST(gang_worker_new(h.stage.c, &h.stage.w));
    stage_add(&h.stage, &box);
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    opts.default_queue = "default";
    MUST(gang_sched_new(h.stage.c, &opts, NULL, NULL, &h.s, NULL));
    atomic_store(&at_work, THREADS);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, submit_many, NULL), 0);
    while (atomic_load(&at_work) > 0 || copies < 3) {
        h.now_ns++;
        check_copy(h.now_ns);
        if (copies++ % 2)
            MUST(gang_sched_run(h.s, h.now_ns, NULL, NULL));
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    check_copy(h.now_ns);
    MUST(gang_sched_run(h.s, h.now_ns, NULL, NULL));
    host_check(&h);
    gang_sched_free(h.s);
    gang_worker_free(h.stage.w);
    gang_cluster_free(h.stage.c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy threads");
    TCase *tests = tcase_create("threads");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, copies_while_others_submit);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
