/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that start after preemption get the cores that were planned for them: those of a task of
 * GANG_NUMA_STRICT are in one NUMA domain. */
#include "sched/host.h"

enum { LOW = 1, HIGH = 2 };

static struct host h;
static gang_node_id node;

/* One node of two NUMA domains with four cores each: 0 to 3, and 4 to 7. */
static void setup(void)
{
    static const struct box box = {
        .name = "n", .cpu = 8000, .memory = 64 * GIB, .cores = 8, .numas = 2};
    host_open(&h, 0, 0);
    node = stage_add(&h.stage, &box);
}

static void teardown(void)
{
    host_close(&h);
}

/* The host itself uses these cores. */
static void use_cores(uint64_t cores)
{
    struct gang_group_spec g = group_of(1, 1000 * __builtin_popcountll(cores), 0);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_placement at = GANG_PLACEMENT_INIT;
    gang_request *request = stage_request(&h.stage, &spec);
    gang_alloc_id id;
    at.node = node;
    at.any_cores = 0;
    at.cores[0] = cores;
    MUST(gang_alloc_adopt(h.stage.w, request, &at, 1, &id, NULL));
    gang_request_free(request);
}

static struct gang_group_spec cores_of(int64_t cores, int32_t numa)
{
    struct gang_group_spec g = group_of(1, 1000 * cores, 0);
    g.numa = numa;
    return g;
}

static gang_job_id submit(const struct gang_group_spec *groups, size_t count, int64_t priority)
{
    struct gang_job_spec job = host_job(groups, count);
    job.priority = priority;
    return host_submit(&h, &job);
}

static int32_t check_task(const struct gang_task *task, void *user)
{
    uint64_t *seen = user;
    ck_assert_msg(!(task->cores[0] & 0x0f) || !(task->cores[0] & 0xf0),
                  "task %" PRId64 " has the cores %" PRIx64, task->task, task->cores[0]);
    *seen |= task->cores[0];
    return 0;
}

/* The job runs, each task in one domain. Returns its cores. */
static uint64_t strict_cores(gang_job_id id)
{
    struct gang_job_info info = host_job_info(&h, id);
    uint64_t seen = 0;
    ck_assert_int_eq(info.state, GANG_JOB_RUNNING);
    MUST(gang_alloc_each(h.stage.c, info.alloc, check_task, &seen));
    return seen;
}

/* A task of two cores and one of three preempt all that runs in five cores, two of one domain and
 * three of the other. Either task fits either domain as long as the other has none. */
static void preempt_five(uint64_t used)
{
    struct gang_group_spec victim = cores_of(5, GANG_NUMA_NONE);
    struct gang_group_spec taker[2] = {cores_of(2, GANG_NUMA_STRICT),
                                       cores_of(3, GANG_NUMA_STRICT)};
    use_cores(used);
    submit(&victim, 1, LOW);
    host_run(&h, 1);
    gang_job_id id = submit(taker, 2, HIGH);
    host_run(&h, 1);
    ck_assert_uint_eq(strict_cores(id), 0xff & ~used);
}

START_TEST(tasks_that_preempt_get_the_domains_that_were_planned)
{
    preempt_five(_i == 0 ? 0x31 : 0x13);
}
END_TEST

/* While the victim stops, another job takes a free core: not the one that the gang needs. */
START_TEST(free_cores_of_the_planned_domain_are_kept)
{
    struct gang_group_spec three = cores_of(3, GANG_NUMA_STRICT);
    struct gang_group_spec four = cores_of(4, GANG_NUMA_STRICT), one = cores_of(1, GANG_NUMA_NONE);
    host_linger(&h, (int64_t)10 * HOST_SECOND);
    h.lingers = true;
    use_cores(_i == 0 ? 0x07 : 0x70);
    gang_job_id victim = submit(&three, 1, LOW);
    host_run(&h, 1);
    gang_job_id taker = submit(&four, 1, HIGH);
    host_run(&h, 1);
    gang_job_id other = submit(&one, 1, LOW);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, taker), GANG_JOB_PENDING);
    ck_assert_uint_eq(strict_cores(other), _i == 0 ? 0x08 : 0x80);
    host_report(&h, victim, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_uint_eq(strict_cores(taker), _i == 0 ? 0xf0 : 0x0f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strict_cores");
    TCase *t = tcase_create("strict_cores");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, tasks_that_preempt_get_the_domains_that_were_planned, 0, 2);
    tcase_add_loop_test(t, free_cores_of_the_planned_domain_are_kept, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
