/* SPDX-License-Identifier: Apache-2.0 */
/* While victims stop, what their taker needs beside them is kept for it: parts of GPUs, instances
 * of profiles, and countables of the site, too. Otherwise another job takes it, and the victims
 * have stopped in vain. */
#include "sched/host.h"

enum { LOW = 1, HIGH = 2 };

static struct host h;

/* A node of 8 cores: a GPU of 16 GiB, one that is cut into eight slices, and six NICs. */
static void setup(void)
{
    static const struct gang_profile_spec profile = {"all", NULL, 8, 0x01};
    static const struct gang_amount nics = {"nic", 6};
    struct gang_gpu_spec gpu[9];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    int32_t kind;
    gang_node_id id;
    host_open(&h, 0, 0);
    for (int i = 0; i < 9; i++) {
        gpu[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
        gpu[i].model = i ? "H100" : "A100";
        gpu[i].memory_bytes = i ? 0 : 16 * GIB;
        gpu[i].parent = i ? "p" : NULL;
        gpu[i].mig_index = i ? i - 1 : 0;
    }
    spec.name = "n";
    spec.cpu_milli = 8000;
    spec.memory_bytes = 64 * GIB;
    spec.gpus = gpu;
    spec.gpu_count = 9;
    spec.profiles = &profile;
    spec.profile_count = 1;
    spec.amounts = &nics;
    spec.amount_count = 1;
    MUST(gang_kind_add(h.stage.w, "nic", NULL, GANG_SCOPE_NODE, 0, &kind));
    MUST(gang_node_add(h.stage.w, &spec, &id, NULL));
    host_linger(&h, (int64_t)10 * HOST_SECOND);
    h.lingers = true;
}

static void teardown(void)
{
    host_close(&h);
}

/* What of the node does each of two jobs want? They do not fit beside each other. */
enum want { PART, TWO_PARTS, MEMORY, INSTANCE, NICS, WANTS };

static struct gang_group_spec group_that(enum want want, int64_t cpu)
{
    static const struct gang_amount nics = {"nic", 4};
    struct gang_group_spec g = group_of(1, cpu, 0);
    if (want == PART)
        g.gpu_milli = 600;
    if (want == TWO_PARTS) {
        g.count = g.min = 2;
        g.cpu_milli = cpu / 2;
        g.gpu_milli = 300;
    }
    if (want == MEMORY)
        g.gpu_memory_bytes = 9 * GIB;
    if (want == INSTANCE) {
        g.gpu_milli = 1000;
        g.profile = "all";
    }
    if (want == NICS) {
        g.amounts = &nics;
        g.amount_count = 1;
    }
    return g;
}

static gang_job_id submit(const struct gang_group_spec *group, int64_t priority)
{
    struct gang_job_spec job = host_job(group, 1);
    job.priority = priority;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    return id;
}

START_TEST(what_the_taker_needs_is_kept)
{
    struct gang_group_spec cores = group_of(1, 6000, 0);
    struct gang_group_spec all = group_that((enum want)_i, 6000), some;
    some = group_that((enum want)_i, 0);
    gang_job_id victim = submit(&cores, LOW), taker = submit(&all, HIGH);
    ck_assert_int_eq(host_job_state(&h, victim), GANG_JOB_STOPPING);
    gang_job_id other = submit(&some, LOW);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_PENDING);
    host_report(&h, victim, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, taker), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_PENDING);
}
END_TEST

/* And not more than that: what the taker leaves of the node goes to others meanwhile. */
START_TEST(what_the_taker_leaves_is_not_kept)
{
    struct gang_group_spec cores = group_of(1, 6000, 0), few = group_of(1, 1000, 0);
    struct gang_group_spec all = group_that((enum want)_i, 6000);
    if (_i == PART || _i == TWO_PARTS)
        few.gpu_milli = 400;
    if (_i == MEMORY)
        few.gpu_memory_bytes = 6 * GIB;
    submit(&cores, LOW);
    submit(&all, HIGH);
    ck_assert_int_eq(host_job_state(&h, submit(&few, LOW)), GANG_JOB_RUNNING);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept_parts");
    TCase *t = tcase_create("kept_parts");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, what_the_taker_needs_is_kept, 0, WANTS);
    tcase_add_loop_test(t, what_the_taker_leaves_is_not_kept, 0, WANTS);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
