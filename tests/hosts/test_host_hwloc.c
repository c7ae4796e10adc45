/* SPDX-License-Identifier: Apache-2.0 */
/* A host that describes its machines by hwloc and binds its tasks: jobs of whole cores, some of
 * which must lie in one NUMA domain. Its books are bitmaps of hardware threads by node.
 *   - A task's cpuset has all hardware threads of as many cores as the task asked for, lies in its
 *     machine, and is of no other task.
 *   - Its nodeset are the NUMA domains of these cores. Of GANG_NUMA_STRICT they
 *     are one, also of tasks that start after preemption, move or resume.
 *   - A task that resumes has the cpuset that it had. */
#include <gangsched/hwloc.h>

#include "hosts/books.h"

static const char *const shape[] = {"pack:2 numa:1 core:8 pu:2", "pack:1 numa:4 core:4 pu:1",
                                    "numa:2 core:6 pu:2", "core:5 pu:4"};

enum { NODES = sizeof(shape) / sizeof(shape[0]) };

static hwloc_topology_t topology[NODES];
static gang_node_id node[NODES];
static int32_t numa_of[BOOKS_JOBS]; /* GANG_NUMA_*, by place in the books */
static int64_t cores_of[BOOKS_JOBS];
static hwloc_bitmap_t cpuset, nodeset, wanted, all;
static int64_t bound;

static int node_index(gang_node_id id)
{
    for (int i = 0; i < NODES; i++)
        if (node[i] == id)
            return i;
    BOOKS_CHECK(false, "no such node");
    return -1;
}

/* The set of a task, checked against its machine and what it asked for. */
static void check_binding(const struct books_task *t)
{
    int64_t j = books_job_of(t->job) - books.job;
    hwloc_topology_t machine = topology[node_index(t->at.node)];
    test_must(gang_task_hwloc_cpuset(books.cluster, &t->at, cpuset));
    test_must(gang_task_hwloc_nodeset(books.cluster, &t->at, nodeset));
    BOOKS_CHECK(t->at.core_count == cores_of[j], "%d cores of %" PRId64, t->at.core_count,
                cores_of[j]);
    BOOKS_CHECK(hwloc_bitmap_isincluded(cpuset, hwloc_topology_get_topology_cpuset(machine)),
                "the cpuset is not of the machine");
    int whole = 0;
    hwloc_obj_t core = NULL;
    while ((core = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_CORE, core)) != NULL) {
        whole += hwloc_bitmap_isincluded(core->cpuset, cpuset);
        BOOKS_CHECK(hwloc_bitmap_isincluded(core->cpuset, cpuset) ||
                        !hwloc_bitmap_intersects(core->cpuset, cpuset),
                    "a core is split");
    }
    BOOKS_CHECK(whole == t->at.core_count, "the cpuset has %d cores", whole);
    hwloc_cpuset_to_nodeset(machine, cpuset, wanted);
    BOOKS_CHECK(hwloc_bitmap_isequal(nodeset, wanted), "the nodeset is not that of the cpuset");
    BOOKS_CHECK(numa_of[j] != GANG_NUMA_STRICT || hwloc_bitmap_weight(nodeset) == 1,
                "cores of several NUMA domains");
    bound++;
}

/* No hardware thread has two tasks, by hwloc's own sets. */
static void started(const struct gang_event *e)
{
    for (int n = 0; n < NODES; n++) {
        hwloc_bitmap_zero(all);
        for (size_t i = 0; i < books.tasks; i++) {
            if (books.task[i].at.node != node[n])
                continue;
            test_must(gang_task_hwloc_cpuset(books.cluster, &books.task[i].at, cpuset));
            BOOKS_CHECK(!hwloc_bitmap_intersects(all, cpuset), "a hardware thread has two tasks");
            hwloc_bitmap_or(all, all, cpuset);
        }
    }
    for (size_t i = 0; i < books.tasks; i++)
        if (books_concerns(&books.task[i], e) && books.task[i].run == books.runs)
            check_binding(&books.task[i]);
}

static void open_world(int manner)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    books_open(manner);
    books.started = started;
    cpuset = hwloc_bitmap_alloc();
    nodeset = hwloc_bitmap_alloc();
    wanted = hwloc_bitmap_alloc();
    all = hwloc_bitmap_alloc();
    for (int i = 0; i < NODES; i++) {
        struct gang_node_spec *spec;
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        test_assert(hwloc_topology_init(&topology[i]) == 0);
        test_assert(hwloc_topology_set_synthetic(topology[i], shape[i]) == 0);
        test_assert(hwloc_topology_load(topology[i]) == 0);
        test_must(gang_node_spec_from_hwloc(topology[i], name, &spec, NULL));
        test_must(gang_node_add(books.worker, spec, &node[i], NULL));
        gang_node_spec_free(spec);
    }
    books_open_sched(0, ops);
}

static void close_world(void)
{
    books_close();
    for (int i = 0; i < NODES; i++)
        hwloc_topology_destroy(topology[i]);
    hwloc_bitmap_free(cpuset);
    hwloc_bitmap_free(nodeset);
    hwloc_bitmap_free(wanted);
    hwloc_bitmap_free(all);
}

static void submit(void)
{
    static const int32_t loss[] = {GANG_LOSS_COUNT, GANG_LOSS_FAIL, GANG_LOSS_REFILL,
                                   GANG_LOSS_SHRINK, GANG_LOSS_RESTART};
    static const int32_t numa[] = {GANG_NUMA_PREFER, GANG_NUMA_NONE, GANG_NUMA_STRICT};
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    int64_t cores = 1 + below(5);
    group.cpu_milli = cores * 1000;
    group.count = 1 + below(6);
    group.min = one_in(2) ? group.count : 1;
    group.numa = numa[index_below(3)];
    job.request.groups = &group;
    job.request.group_count = 1;
    job.priority = below(4);
    job.loss = loss[index_below(5)];
    job.max_restarts = 2;
    job.time_limit_ns = one_in(4) ? (10 + below(100)) * BOOKS_SECOND : 0;
    struct books_job *j = books_submit(&job, tree_some_leaf());
    if (!j)
        return;
    cores_of[j - books.job] = cores;
    numa_of[j - books.job] = group.numa;
}

static void event(void)
{
    books_some_stop(5);
    struct books_task *t = books_some_task();
    int64_t what = below(7);
    if (what < 2 && books.jobs < 30)
        submit();
    else if (what < 4 && t)
        books_report(t, one_in(3) ? GANG_TASK_FAILED : GANG_TASK_SUCCEEDED);
    else if (what == 4 && t && one_in(3))
        books_end_job(t->job, 1);
    else if (what == 5 && t && one_in(2))
        test_must(gang_job_set_target(books.s, t->job, one_in(2) ? -1 : 1 + below(6)));
    else if (what == 6 && t && one_in(3))
        test_must(gang_job_requeue(books.s, t->job));
}

START_TEST(no_hardware_thread_has_two_tasks)
{
    books_play(16000, open_world, event, close_world);
    printf("%" PRId64 " tasks bound\n", bound);
    ck_assert_int_gt(bound, books.events / 50);
}
END_TEST

int main(void)
{
    return books_main("host_hwloc", no_hardware_thread_has_two_tasks);
}
