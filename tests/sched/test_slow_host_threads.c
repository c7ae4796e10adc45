/* SPDX-License-Identifier: Apache-2.0 */
/* A callback that never returns delays no other thread: while the owner is stuck in it, other
 * threads submit, command and report. The owner finds all of it when the callback returns. */
#include <gangsched/gangsched.h>

#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "suite.h"
#include "support.h"

enum { OTHERS = 4, EACH = 50 };

struct slow {
    struct stage stage;
    gang_sched *s;
    sem_t entered, leave;
    atomic_int started, ended;
    gang_job_id first;
    gang_result again; /* a run from within the callback */
};

static int32_t slow_start(const struct gang_event *event, void *user)
{
    struct slow *slow = user;
    atomic_fetch_add(&slow->started, 1);
    if (event->cookie == 1) {
        slow->again = gang_sched_run(slow->s, event->now_ns, NULL, NULL);
        sem_post(&slow->entered);
        sem_wait(&slow->leave);
    }
    return 0;
}

static int32_t note_end(const struct gang_event *event, void *user)
{
    struct slow *slow = user;
    atomic_fetch_add(&slow->ended, event->state == GANG_JOB_ENDED);
    return 0;
}

static struct gang_job_spec small_job(struct gang_group_spec *group, uint64_t cookie)
{
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    *group = (struct gang_group_spec)GANG_GROUP_SPEC_INIT;
    group->cpu_milli = 10;
    job.queue = "default";
    job.cookie = cookie;
    job.request.groups = group;
    job.request.group_count = 1;
    return job;
}

static void *own(void *user)
{
    struct slow *slow = user;
    MUST(gang_sched_run(slow->s, 1, NULL, NULL));
    return NULL;
}

static void *other(void *user)
{
    struct slow *slow = user;
    struct gang_group_spec group;
    struct gang_job_spec job = small_job(&group, 0);
    for (int i = 0; i < EACH; i++) {
        gang_job_id id;
        MUST(gang_job_submit(slow->s, &job, &id, NULL));
        MUST(gang_job_hold(slow->s, id));
        MUST(gang_job_set_priority(slow->s, id, i));
        MUST(
            gang_report_tasks(slow->s, slow->first, 0, GANG_ID_NONE, NULL, 0, GANG_TASK_HEARTBEAT));
        MUST(i % 2 ? gang_job_cancel(slow->s, id) : gang_job_release(slow->s, id));
    }
    return NULL;
}

START_TEST(submitters_do_not_wait_for_a_callback_that_never_returns)
{
    struct slow slow = {.again = GANG_OK};
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_group_spec group;
    struct gang_job_spec job = small_job(&group, 1);
    struct gang_run_info info = GANG_RUN_INFO_INIT;
    pthread_t owner, others[OTHERS];
    stage_open(&slow.stage, NULL, 0);
    stage_add(&slow.stage, &(struct box){.name = "n", .cpu = 64000, .memory = 64 * GIB});
    sem_init(&slow.entered, 0, 0);
    sem_init(&slow.leave, 0, 0);
    ops.start = slow_start;
    ops.state = note_end;
    MUST(gang_sched_new(slow.stage.c, NULL, &ops, &slow, &slow.s, NULL));
    MUST(gang_job_submit(slow.s, &job, &slow.first, NULL));
    ck_assert_int_eq(pthread_create(&owner, NULL, own, &slow), 0);
    sem_wait(&slow.entered); /* the owner is stuck from here on */
    for (int i = 0; i < OTHERS; i++)
        ck_assert_int_eq(pthread_create(&others[i], NULL, other, &slow), 0);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(others[i], NULL); /* would hang if they waited for it */
    sem_post(&slow.leave);
    pthread_join(owner, NULL);
    ck_assert_int_eq(slow.again, GANG_EBUSY);
    MUST(gang_sched_run(slow.s, 2, NULL, &info));
    MUST(gang_sched_check(slow.s, NULL));
    ck_assert_int_eq(atomic_load(&slow.started), 1 + OTHERS * EACH / 2);
    ck_assert_int_eq(atomic_load(&slow.ended), OTHERS * EACH / 2);
    gang_sched_free(slow.s);
    stage_close(&slow.stage);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slow host");
    TCase *tests = tcase_create("slow");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, submitters_do_not_wait_for_a_callback_that_never_returns);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
