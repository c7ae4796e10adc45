/* SPDX-License-Identifier: Apache-2.0 */
/* A host of searches: jobs of many trials, of which some run at a time, beside gangs that preempt
 * them. Trials end well or badly, are idle or not needed; the search changes its target. */
#include "hosts/books.h"

enum { NODES = 4, GPUS = 4, SEARCH = 1, PLAIN = 2 };

static int64_t parallelism[BOOKS_JOBS]; /* by place in the books */
static int64_t searches_done;

static int64_t running(const struct books_job *j)
{
    int64_t n = 0;
    for (size_t i = 0; i < books.tasks; i++)
        n += books.task[i].job == j->id && !books.task[i].asked;
    return n;
}

/* So many trials at a time, and no more. */
static void started(const struct gang_event *e)
{
    const struct books_job *j = books_job_of(e->job);
    int64_t most = parallelism[j - books.job];
    BOOKS_CHECK(most == 0 || running(j) <= most, "job %" PRIu64 " runs %" PRId64 " of %" PRId64,
                e->job, running(j), most);
}

static void ended(const struct books_job *j, const struct gang_event *e)
{
    if (j->what == SEARCH && e->end == GANG_END_SUCCESS)
        searches_done++;
}

static void open_world(int manner)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    books_open(manner);
    books.started = started;
    books.ended = ended;
    books_add_nodes(NODES, GPUS);
    books_open_sched((int64_t)NODES * GPUS, ops);
}

static void submit(void)
{
    static const int32_t loss[] = {GANG_LOSS_COUNT, GANG_LOSS_FAIL, GANG_LOSS_REFILL,
                                   GANG_LOSS_SHRINK, GANG_LOSS_RESTART};
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    bool search = !one_in(3);
    group.gpu_milli = 1000;
    group.cpu_milli = 1000;
    group.count = search ? 4 + below(9) : 1 + below(6);
    group.min = search ? 1 : group.count;
    job.request.groups = &group;
    job.request.group_count = 1;
    job.priority = search ? below(2) : below(4);
    job.preemptible = one_in(6) ? GANG_SEMI_PREEMPTIBLE : GANG_PREEMPTIBLE;
    job.loss = loss[index_below(5)];
    job.max_restarts = 2;
    job.start_full = one_in(3);
    job.parallelism = search && !one_in(4) ? 1 + below(4) : 0;
    job.time_limit_ns = one_in(4) ? (10 + below(100)) * BOOKS_SECOND : 0;
    struct books_job *j = books_submit(&job, tree_some_leaf());
    if (!j)
        return;
    j->what = search ? SEARCH : PLAIN;
    parallelism[j - books.job] = job.parallelism;
}

static void event(void)
{
    struct books_task *t = books_some_task();
    books_some_stop(5);
    t = books_some_task();
    switch (below(8)) {
    case 0:
    case 1:
        if (books.jobs < 30)
            submit();
        break;
    case 2:
    case 3:
        if (t)
            books_report(t, GANG_TASK_SUCCEEDED);
        break;
    case 4:
        if (t && one_in(2))
            books_report(t, GANG_TASK_FAILED);
        break;
    case 5:
        if (t)
            test_must(gang_job_set_target(books.s, t->job, one_in(2) ? -1 : 1 + below(6)));
        break;
    case 6:
        if (t && one_in(3))
            test_must(gang_job_cancel(books.s, t->job));
        else if (t && one_in(3))
            test_must(gang_job_requeue(books.s, t->job));
        else if (t && one_in(2))
            books_end_job(t->job, !one_in(3));
        break;
    default:
        break; /* time passes */
    }
}

START_TEST(searches_keep_to_their_numbers)
{
    books_play(20000, open_world, event, books_close);
    ck_assert_int_gt(books.starts, books.events / 50);
    ck_assert_int_gt(searches_done, books.events / 1000);
}
END_TEST

int main(void)
{
    return books_main("host_search", searches_keep_to_their_numbers);
}
