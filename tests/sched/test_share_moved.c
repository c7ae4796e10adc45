/* SPDX-License-Identifier: Apache-2.0 */
/* Shares that follow the leaves that changed are those of a division of everything: after each run
 * of a random life a copy of the scheduler divides anew, since its queues are set again. */
#include "chance.h"
#include "queue_tree.h"
#include "sched/host.h"

enum { NODES = 3, GPUS = 8, WORLDS = 60, STEPS = 60 };

static struct host h;
static struct queue_tree tree;
static int64_t compared, divided;

static bool is_leaf(int q)
{
    for (int i = 0; i < tree.count; i++)
        if (tree.parent[i] == q)
            return false;
    return true;
}

static void submit_some(void)
{
    for (int i = (int)below(3); i > 0; i--) {
        int q;
        do
            q = (int)index_below((size_t)tree.count);
        while (!is_leaf(q));
        /* Some demand more than there is: then shares are divided. */
        int64_t count = 1 + below(one_in(6) ? 3 * GPUS : 4);
        gang_job_id id;
        gang_result r =
            gang_job_submit(h.s, host_spec(tree.spec[q].name, count, count, 1), &id, NULL);
        ck_assert(r == GANG_OK || r == GANG_ENEVER); /* above a limit */
    }
}

static void end_some(void)
{
    for (gang_job_id id = GANG_ID_NONE; (id = gang_job_next(h.s, id)) != GANG_ID_NONE;)
        if (one_in(5))
            MUST(host_job_state(&h, id) == GANG_JOB_RUNNING ? gang_report_end(h.s, id, 1)
                                                            : gang_job_cancel(h.s, id));
}

static void compare(const char *name, gang_sched *anew)
{
    struct gang_queue_info here = host_queue(&h, name), there = GANG_QUEUE_INFO_INIT;
    gang_queue_id id;
    MUST(gang_queue_find(anew, name, &id));
    MUST(gang_queue_get(anew, id, &there));
    for (int k = 0; k < GANG_MAX_KINDS; k++) {
        ck_assert_msg(here.share[k] == there.share[k],
                      "queue %s, kind %d: share %lld, divided anew %lld", name, k,
                      (long long)here.share[k], (long long)there.share[k]);
        compared++;
        divided += here.share[k] != here.demand[k];
    }
}

static void check_shares(void)
{
    struct gang_host_ops none = GANG_HOST_OPS_INIT;
    struct gang_run_info info = GANG_RUN_INFO_INIT;
    gang_cluster *cluster;
    gang_sched *anew;
    MUST(gang_sched_copy(h.s, &none, NULL, &cluster, &anew, NULL));
    MUST(gang_sched_set_queues(anew, tree.spec, (size_t)tree.count, NULL));
    MUST(gang_sched_run(anew, h.now_ns, NULL, &info));
    ck_assert_int_eq(info.started, 0);
    for (int q = 0; q < tree.count; q++)
        compare(tree.spec[q].name, anew);
    gang_sched_free(anew);
    gang_cluster_free(cluster);
}

START_TEST(shares_of_changed_leaves_are_those_of_a_division_of_all)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.no_preemption = 1;
    chance_state = test_seed();
    for (int world = 0; world < WORLDS; world++) {
        memset(&tree, 0, sizeof(tree));
        tree_draw(&tree, NODES * GPUS);
        host_open_with(&h, NODES, GPUS, &opts, &ops);
        host_queues(&h, tree.spec, (size_t)tree.count);
        for (int i = 0; i < STEPS; i++) {
            submit_some();
            if (one_in(2))
                end_some();
            host_run(&h, HOST_SECOND);
            check_shares();
        }
        host_close(&h);
    }
    printf("%lld shares compared, %lld were not the demand\n", (long long)compared,
           (long long)divided);
    ck_assert_int_gt(divided, 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("share_moved");
    TCase *t = tcase_create("shares");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, shares_of_changed_leaves_are_those_of_a_division_of_all);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
