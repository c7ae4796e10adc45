/* SPDX-License-Identifier: Apache-2.0 */
/* What others do to the cluster between runs: allocations of jobs cannot be changed from outside,
 * and what may be done (allocations of others, nodes that drain, go down and come back) leaves the
 * scheduler sound: every run succeeds, all books agree, and jobs end. */
#include "chance.h"
#include "sched/host.h"

enum { NODES = 4, GPUS = 4, STEPS = 400, MINE = 8 };

static struct host h;
static gang_worker *other; /* of a foreign thread */
static gang_alloc_id mine[MINE];
static gang_request *my_request;
static int64_t refused;

static void open_world(void)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    static struct gang_quota half = {"gpu", NODES * GPUS * 500, NULL, 0, 0};
    struct gang_group_spec g = host_gpus(3, 1);
    struct gang_request_spec spec = request_of(&g, 1);
    host_open(&h, NODES, GPUS);
    q[0].name = "a";
    q[1].name = "b";
    q[0].guaranteed = q[1].guaranteed = &half;
    q[0].guaranteed_count = q[1].guaranteed_count = 1;
    q[0].backfill = GANG_BACKFILL_EASY;
    q[1].grace_ns = 5 * (int64_t)HOST_SECOND;
    host_queues(&h, q, 2);
    MUST(gang_worker_new(h.stage.c, &other));
    MUST(gang_request_new(h.stage.c, &spec, &my_request, NULL));
    memset(mine, 0, sizeof(mine));
    refused = 0;
}

static void close_world(void)
{
    for (int i = 0; i < MINE; i++)
        if (mine[i])
            MUST(gang_alloc_free(other, mine[i]));
    gang_request_free(my_request);
    gang_worker_free(other);
    host_close(&h);
}

static gang_job_id any_job(void)
{
    gang_job_id id = gang_job_next(h.s, GANG_ID_NONE), found = id;
    for (int64_t n = 1; id; id = gang_job_next(h.s, id), n++)
        if (below(n) == 0)
            found = id;
    return found;
}

/* ---- foreign changes ------------------------------------------------------------------------- */

/* All that an allocation holds, as a number. */
static int32_t add_task(const struct gang_task *task, void *user)
{
    uint64_t *sum = user;
    uint64_t of_task = (uint64_t)task->task * 31 + task->node * 17 + task->gpus;
    *sum = chance_of(&of_task) + *sum;
    return 0;
}

static uint64_t print_of(gang_alloc_id id)
{
    uint64_t sum = 0;
    MUST(gang_alloc_each(h.stage.c, id, add_task, &sum));
    return sum;
}

/* Nothing that a job holds can be changed. */
static void attack(gang_job_id id)
{
    gang_alloc_id alloc = gang_job_alloc(h.s, id, 0);
    if (alloc == GANG_ID_NONE)
        return;
    const struct task_list *list = stage_tasks(&h.stage, alloc);
    if (list->count == 0)
        return;
    struct gang_task last = list->task[list->count - 1];
    struct gang_placement place = GANG_PLACEMENT_INIT;
    gang_alloc_id taken;
    uint64_t before = print_of(alloc);
    int64_t granted;
    ck_assert_int_eq(gang_alloc_free(other, alloc), GANG_EBUSY);
    ck_assert_int_eq(gang_alloc_free(h.stage.w, alloc), GANG_EBUSY);
    ck_assert_int_eq(gang_alloc_grow(other, alloc, 0, 1, &granted, NULL), GANG_EBUSY);
    ck_assert_int_eq(gang_alloc_grow_whole(other, alloc, 0, 1, NULL), GANG_EBUSY);
    ck_assert_int_eq(gang_alloc_shrink(other, alloc, &last.task, 1, NULL), GANG_EBUSY);
    place.node = last.node;
    place.any_devices = 0;
    place.gpus = last.gpus;
    ck_assert_int_eq(gang_alloc_adopt(other, my_request, &place, 1, &taken, NULL), GANG_ENOFIT);
    test_assert(print_of(alloc) == before);
    refused++;
}

/* Allocations of others come and go. */
static void change_mine(void)
{
    gang_alloc_id *at = &mine[below(MINE)];
    if (!*at)
        (void)!gang_alloc(other, my_request, at, NULL);
    else if (below(2))
        (void)!gang_alloc_grow(other, *at, 0, 1 + below(2), NULL, NULL);
    else {
        MUST(gang_alloc_free(other, *at));
        *at = GANG_ID_NONE;
    }
}

static void change_node(void)
{
    static const int32_t states[] = {GANG_NODE_UP, GANG_NODE_UP, GANG_NODE_DRAINING,
                                     GANG_NODE_DOWN};
    gang_node_id node = host_node(&h, (int)below(NODES));
    MUST(gang_node_set_state(other, node, states[below(4)]));
}

static void change_gpu(void)
{
    gang_node_id node = host_node(&h, (int)below(NODES));
    MUST(gang_gpu_set_state(other, node, (int32_t)below(GPUS),
                            below(2) ? GANG_GPU_OK : GANG_GPU_UNHEALTHY));
}

/* ---- the host -------------------------------------------------------------------------------- */

static void submit(void)
{
    int64_t count = 1 + below(6);
    struct gang_job_spec *job = host_spec(below(2) ? "a" : "b", count, 1 + below(count), below(3));
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    job->loss = (int32_t)below(5);
    job->max_restarts = 3;
    job->start_full = (int32_t)below(2);
    job->time_limit_ns = below(3) ? 0 : (1 + below(60)) * HOST_SECOND;
    gang_result r = gang_job_submit(h.s, job, &id, &error);
    ck_assert_msg(r == GANG_OK || r == GANG_ENEVER, "%s", error.text);
}

static void report(void)
{
    gang_job_id id = any_job();
    if (!id)
        return;
    if (below(3) == 0)
        MUST(gang_report_end(h.s, id, (int32_t)below(2)));
    else if (below(2))
        MUST(gang_report_tasks(h.s, id, 0, GANG_ID_NONE, NULL, 0, GANG_TASK_STOPPED));
    else
        MUST(gang_job_set_target(h.s, id, below(6) - 1));
}

static void step(void)
{
    for (int64_t n = below(3); n > 0; n--)
        submit();
    for (int64_t n = below(4); n > 0; n--)
        report();
    for (int64_t n = below(4); n > 0; n--)
        if (any_job())
            attack(any_job());
    for (int64_t n = below(3); n > 0; n--)
        change_mine();
    if (below(4) == 0)
        change_node();
    if (below(8) == 0)
        change_gpu();
    h.lingers = below(2);
    h.refuse = below(8) ? NULL : below(2) ? "start" : "grow";
    h.count = 0;
    host_run(&h, below(3 * (int64_t)HOST_SECOND)); /* asserts GANG_OK, and that all books agree */
}

START_TEST(foreign_changes_are_refused_or_harmless)
{
    chance_state = test_seed() + (uint64_t)_i;
    open_world();
    for (int i = 0; i < STEPS; i++)
        step();
    ck_assert_int_gt(refused, 0);
    h.refuse = NULL;
    h.lingers = false;
    for (int i = 0; i < NODES; i++)
        MUST(gang_node_set_state(other, host_node(&h, i), GANG_NODE_UP));
    for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id; id = gang_job_next(h.s, id))
        MUST(gang_job_cancel(h.s, id));
    for (int i = 0; i < 10; i++)
        host_run(&h, 10 * (int64_t)HOST_SECOND);
    ck_assert_uint_eq(gang_job_next(h.s, GANG_ID_NONE), GANG_ID_NONE); /* all ends are processed */
    close_world();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("foreign");
    TCase *tests = tcase_create("foreign");
    tcase_add_loop_test(tests, foreign_changes_are_refused_or_harmless, 0, 8);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
